//! The worked cases in the zoo say the same as the table they come from. The
//! table is read here a second time, without the reader under test.

use dormouse_base::time::Ns;
use dormouse_board::{Board, Work, parse};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(v: &Value) -> &str {
    v.as_str().expect("a string")
}

fn sleep(v: &Value, ret: i32) -> Option<Work> {
    let ms = v.as_i64().expect("milliseconds");
    Some(Work { sleep: Ns(ms * 1_000_000), compute: Ns(0), ret, lock: 0 })
}

fn name(b: &Board, i: usize) -> &str {
    b.names.get(b.graph.devices[i].name)
}

#[test]
fn the_board_files_of_the_cases_equal_the_table() {
    let json = fs::read(root().join("crates/sleep/tests/fixtures/dpm-cases.json")).unwrap();
    let table: Value = serde_json::from_slice(&json).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 19);
    let folder = root().join("boards/cases");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), cases.len(), "one file for each case");
    for case in cases {
        let id = text(&case["id"]);
        let file = fs::read_to_string(folder.join(format!("{id}.board"))).unwrap();
        assert!(file.starts_with(&format!("# {id}: {}\n", text(&case["title"]))), "{id}");
        let b = parse(&file).unwrap_or_else(|e| panic!("{id}: {e}"));
        assert!(b.pm_async && b.graph.order_known && b.graph.links_known, "{id}");
        let devices = case["devices"].as_array().unwrap();
        assert_eq!(devices.len(), b.devices.len(), "{id}");
        for (i, d) in devices.iter().enumerate() {
            let flags = text(&d[2]);
            assert_eq!(text(&d[0]), name(&b, i), "{id}");
            let parent = b.graph.devices[i].parent.map_or("", |p| name(&b, p.index()));
            assert_eq!(text(&d[1]), parent, "{id} {d}");
            assert_eq!(b.graph.devices[i].async_flag, Some(flags.contains('a')), "{id} {d}");
            assert_eq!(b.devices[i].wakeup, flags.contains('w'), "{id} {d}");
            let mut work = [None; 8];
            if !flags.contains('n') {
                work[1] = sleep(&d[3], if flags.contains('e') { -5 } else { 0 });
                work[6] = sleep(&d[4], 0);
            }
            assert_eq!(b.devices[i].work, work, "{id} {d}");
        }
        let want: Vec<_> = case["links"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| {
                let kind = match text(&l[2]) {
                    "s" => "stateless",
                    "d" => "dormant",
                    "y" => "sync_state_only",
                    other => panic!("{id}: kind {other}"),
                };
                (text(&l[0]), text(&l[1]), kind)
            })
            .collect();
        let got: Vec<_> = b
            .graph
            .links
            .iter()
            .map(|l| (name(&b, l.consumer.index()), name(&b, l.supplier.index()), l.kind.name()))
            .collect();
        assert_eq!(got, want, "{id}");
    }
}
