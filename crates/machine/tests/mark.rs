//! A program's mark: where its line stands, and that nothing else changes.

use crate::fake::Fake;
use dormouse_base::mark::Name;
use dormouse_machine::mark::mark;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const TRACES: &str = "/sys/kernel/tracing/trace_marker";
const LOG: &str = "/dev/kmsg";

/// Every file of a tree.
fn files(at: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(at).expect("a folder").flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            files(&entry.path(), out);
        } else if kind.is_file() {
            out.insert(entry.path(), fs::read(entry.path()).expect("a file"));
        }
    }
}

fn changed(fake: &Fake) -> Vec<String> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(fake.dir.path(), &mut before);
    mark(&fake.root, Name::new("scanner").expect("a name"));
    files(fake.dir.path(), &mut after);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "no new file");
    let differ = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    differ.map(|(path, _)| fake.root.usual(path).expect("below the tree")).collect()
}

#[test]
fn a_mark_is_one_line_in_two_files_and_nothing_else() {
    let fake = Fake::new();
    fake.put(TRACES, "");
    assert_eq!(changed(&fake), [LOG, TRACES]);
    let text = |path: &str| fs::read_to_string(fake.at(path)).expect("text");
    assert_eq!(text(TRACES), "dormouse: mark scanner\n");
    assert_eq!(text(LOG), "<6>dormouse: mark scanner\n");
    let marked = mark(&fake.root, Name::new("frame").expect("a name"));
    assert_eq!((&marked.written[..], marked.refused.len()), (&[TRACES.into(), LOG.into()][..], 0));
}

#[test]
fn what_cannot_be_written_is_named_and_the_other_is_written() {
    let fake = Fake::new();
    assert_eq!(changed(&fake), [LOG], "no trace_marker is made");
    let name = Name::new("scanner").expect("a name");
    let marked = mark(&fake.root, name);
    assert_eq!((&marked.written[..], &*marked.refused[0].path), (&[LOG.into()][..], TRACES));
    // A kernel that throws such lines away has not got one.
    fake.put("/proc/sys/kernel/printk_devkmsg", "off\n");
    fake.put(TRACES, "");
    let marked = mark(&fake.root, name);
    assert_eq!(marked.written, [TRACES]);
    assert!(marked.refused[0].reason.contains("printk_devkmsg is off"), "{marked:?}");
    fs::remove_file(fake.at(TRACES)).expect("gone");
    fs::remove_file(fake.at(LOG)).expect("gone");
    let none = mark(&fake.root, name);
    assert!(none.written.is_empty() && none.refused.len() == 2, "{none:?}");
}
