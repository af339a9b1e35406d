//! Completions and manual pages name every verb.

use crate::ran::output;
use std::fs;

fn stdout(args: &[&str]) -> String {
    let out = output(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The commands as `--help` lists them, in groups.
fn verbs() -> Vec<String> {
    let help = stdout(&["--help"]);
    let list = help.split("\nOptions:").next().expect("a list");
    list.lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.trim().split("  ").next())
        .map(|words| words.replace(' ', "-"))
        .collect()
}

#[test]
fn every_verb_is_completed_and_has_a_page() {
    let verbs = verbs();
    assert!(verbs.len() >= 13, "{verbs:?}");
    let script = stdout(&["completions", "bash"]);
    let folder = tempfile::tempdir().unwrap();
    let said = stdout(&["man", "-o", folder.path().to_str().unwrap()]);
    assert!(said.contains("Wrote "), "{said}");
    for verb in &verbs {
        assert!(
            script.contains(verb.split('-').next_back().expect("a word")),
            "no completion for {verb}"
        );
        let page = fs::read_to_string(folder.path().join(format!("dormouse-{verb}.1")));
        let page = page.unwrap_or_else(|e| panic!("no page for {verb}: {e}"));
        assert!(page.contains(".SH SYNOPSIS"), "{verb}: {page}");
    }
    let whole = stdout(&["man"]);
    assert!(whole.starts_with(".ie") || whole.contains(".TH dormouse"), "{whole}");
}
