//! `dormouse domains show`: the screen, the JSON and the exit codes.

use super::paths;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Tables and messages of one machine.
pub const TEXT: &str = "\
# cat /sys/kernel/debug/pm_genpd/pm_genpd_summary
domain                          status          children        performance
    /device                         runtime status                  managed by
------------------------------------------------------------------------------
gpu                             on                              0
                                                shader
    10.gpu                          suspended                   0           SW
shader                          off-0                           0

# cat /sys/kernel/debug/devices_deferred
1.phy\tplatform: supplier 2.ctrl not ready
2.ctrl\tmy-ctrl: failed to get entries

[    9.000000] /soc/a@1: Fixed dependency cycle(s) with /soc/b@2
[    9.100000] clk 3.clk: sync_state() pending due to 4.video
";

const SCREEN: &str = "\
Broken: 2.ctrl waits for what the driver says: failed to get entries. 1 more
  waits for those.
The lines below say so; they do not say that it is the cause of anything else. 3
  further findings below.
  rule probe-waits, certain
    line 12: 2.ctrl my-ctrl: failed to get entries
    line 11: 1.phy platform: supplier 2.ctrl not ready
  Do: Search the driver for that text: the line before it asks for what is
      missing.
";

fn dormouse(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_dormouse")).args(args).output().expect("dormouse");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

fn file(dir: &Path, text: &str) -> String {
    let path = dir.join("mail.txt");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn the_screen_answers_first_and_fits() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, out, _) = dormouse(&["domains", "show", &file(dir.path(), TEXT)]);
    assert_eq!(code, 0);
    assert!(out.starts_with(SCREEN), "{out}");
    assert!(out.contains("\n  gpu on: no user shown\n  - shader off-0\n"), "{out}");
    assert!(out.ends_with("\nNext: grep . /sys/class/devlink/*/status\n"), "{out}");
    // What comes next is what the text lacks.
    let part = |from: usize, to: usize| {
        let lines = TEXT.lines().skip(from).take(to - from);
        let path = file(dir.path(), &lines.map(|l| format!("{l}\n")).collect::<String>());
        dormouse(&["domains", "show", &path]).1
    };
    let out = part(0, 8);
    assert!(out.ends_with("\nNext: cat /sys/kernel/debug/devices_deferred\n"), "{out}");
    let out = part(10, 12);
    assert!(out.ends_with("\nNext: cat /sys/kernel/debug/pm_genpd/pm_genpd_summary\n"), "{out}");
    let (_, out, _) = dormouse(&["domains", "show", &file(dir.path(), TEXT)]);
    let wide: Vec<&str> = out.lines().filter(|l| l.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

#[test]
fn nothing_has_its_code_and_other_verbs_point_here() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, _, error) = dormouse(&["domains", "show", &file(dir.path(), "hello\n")]);
    assert_eq!(code, 1);
    assert!(error.contains("no table of domains"), "{error}");
    assert_eq!(dormouse(&["domains", "show", "/nowhere/at/all"]).0, 3);
    let table: String = TEXT.lines().take(8).map(|l| format!("{l}\n")).collect();
    for verb in ["show", "doctor"] {
        let (code, _, error) = dormouse(&[verb, &file(dir.path(), &table)]);
        assert_eq!(code, 1);
        assert!(error.contains("dormouse domains show"), "{error}");
    }
}

#[test]
fn the_json_is_what_the_page_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut seen = BTreeSet::new();
    for text in [TEXT, "\0binary"] {
        let path = file(dir.path(), text);
        let other = dir.path().join("other.txt");
        std::fs::write(&other, TEXT).expect("a file");
        let args = ["domains", "show", "--json", &path, &other.display().to_string()];
        let (code, out, _) = dormouse(&args);
        assert_eq!(code, 0);
        assert_eq!(dormouse(&args).1, out);
        paths::add(&out, &mut seen);
    }
    assert_eq!(seen, paths::of_page(include_str!("../../../docs/domains-json.md")));
}

#[test]
fn a_log_that_ends_in_a_crash_says_so_first() {
    let log = "[    0.000000] Kernel command line: quiet pd_ignore_unused\n\
               [    7.892929] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010\n";
    let text = super::words::words(&["domains", "show", "-"], log);
    let first = "The kernel crashed in line 2; nothing of power domains and probing is shown to be its reason.";
    assert!(text.starts_with(first), "{text}");
}
