//! Real laptops' logs replayed on other kernels: each run completes, resembles
//! the original, and stands beside it. Boots guests, so ignored by default:
//! `make prove SUBJECT=cases` runs it. Six boots take about 90 s
//! of processor time.

use crate::ran::output;
use std::path::{Path, PathBuf};

/// Logs by the kernel they were recorded on.
const LOGS: [&str; 3] = ["devtest-3.15", "i915-4.6", "multitest-5.3"];
/// The first waits for devices that the log does not list, so it is replayed
/// only if asked twice.
const NOT_REPRODUCED: &str = "devtest-3.15";
const KERNELS: [&str; 2] = ["6.12", "7.3"];

fn data() -> PathBuf {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("DORMOUSE_DATA").map_or(usual, PathBuf::from)
}

fn dormouse(args: &[&str]) -> String {
    let out = output(args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "dormouse {args:?}: {said}");
    String::from_utf8(out.stdout).unwrap()
}

/// A row of the table: recorded time in ms and calls, replayed time and calls.
fn row(table: &str, name: &str) -> Option<[f64; 4]> {
    let line = table.lines().find(|l| l.starts_with(&format!("{name} ")))?;
    let words: Vec<&str> = line[name.len()..].split_whitespace().collect();
    let [a, n, b, m] = words[..] else { return None };
    let number = |t: &str| t.replace(',', "").parse().ok();
    Some([number(a)?, number(n)?, number(b)?, number(m)?])
}

#[test]
#[ignore = "boots guests: `make prove` runs it"]
fn recorded_laptops_replay_on_other_kernels_and_stand_beside_the_original() {
    let logs = data().join("logs/pm-graph");
    if !logs.is_dir() {
        println!("SKIPPED: {} is not there; set DORMOUSE_DATA", logs.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for log in LOGS {
        let original = logs.join(log);
        let original = original.to_str().unwrap();
        for kernel in KERNELS {
            let capture = folder.path().join(format!("{log}-on-{kernel}.tar.gz"));
            let capture = capture.to_str().unwrap();
            let mut args = vec!["replay", original, "--kernel", kernel, "-o", capture];
            if log == NOT_REPRODUCED {
                assert_eq!(output(&args).status.code(), Some(5));
                args.push("--force");
            }
            let table = dormouse(&args);
            println!("{log} on {kernel}\n{table}");
            for name in ["suspend", "resume"] {
                let [was, calls, is, replayed] = row(&table, name).expect(name);
                // Other rules, other times; but the same devices and callbacks.
                assert!((0.5..2.0).contains(&(is / was)), "{name}: {was} ms, {is} ms");
                assert!(replayed >= 0.7 * calls, "{name}: {replayed} of {calls} callbacks");
            }
            // A laptop that slept beside a guest that tests its way down and up.
            let beside = dormouse(&["compare", "--across-modes", original, capture]);
            assert!(beside.contains("total resume"), "{beside}");
            assert!(dormouse(&["show", capture]).contains("6.12") || kernel != "6.12");
        }
    }
}
