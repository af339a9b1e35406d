//! What the screens say of recordings of real machines, against what the
//! recordings themselves hold.
//!
//! The recordings are not part of the project: `DORMOUSE_DATA` names their folder
//! (by default `../shared/data`).

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file or folder of the recordings, or `None` after saying so.
fn data(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("DORMOUSE_DATA").map_or(root.join("../shared/data"), PathBuf::from);
    let path = data.join(name);
    if !path.exists() {
        eprintln!("SKIPPED: no {}; set DORMOUSE_DATA", path.display());
        return None;
    }
    Some(path)
}

/// What a verb prints of `input`, in one line of single blanks.
fn said(args: &[&str], input: &Path) -> String {
    let text = printed(args, input);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn printed(args: &[&str], input: &Path) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_dormouse")).args(args).arg(input).output().unwrap();
    String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
}

fn json(args: &[&str], input: &Path) -> Value {
    serde_json::from_str(&printed(args, input)).unwrap()
}

/// Two cycles together gain what each gains alone, though a third, which was
/// aborted, had its devices in another order.
#[test]
fn cycles_together_say_what_each_says() {
    let Some(all) = data("logs/pm-graph/i915-4.6") else { return };
    let ask = ["predict", "--json", "--samples", "0", "--kernel", "7.3"];
    let gain = |input: &Path| {
        let value = json(&ask, input);
        let time = |when: &str| {
            let phases = value[when]["phases"].as_array().unwrap();
            phases.iter().find(|p| p["name"] == "suspend").unwrap()["duration_ns"].as_i64().unwrap()
        };
        time("after") - time("before")
    };
    let runs =
        ["suspend-160422-155735-ivybridge-dev-late", "suspend-160422-162700-ivybridge-dev-noirq"];
    let alone: Vec<i64> = runs.iter().map(|r| gain(&all.join(r))).collect();
    let (low, high) = (alone[0].min(alone[1]), alone[0].max(alone[1]));
    let together = gain(&all);
    assert!((low - 500_000..=high + 500_000).contains(&together), "{together}: {alone:?}");
    let text = said(&["predict", "--kernel", "7.3"], &all);
    assert!(text.contains("median of 2 of 3 cycles"), "{text}");
    assert!(
        text.contains("1 of 3 cycles is left out: the suspend failed or was aborted."),
        "{text}"
    );
    // The whole of a half that is claimed is one figure on both screens.
    let total = text.split("total resume").nth(1).unwrap().split(' ').nth(3).unwrap();
    let tuned = said(&["tune", "--kernel", "7.3"], &all);
    assert!(tuned.split(" all synchronous").next().unwrap().contains(total), "{total}: {tuned}");
}
