//! What README.md shows is what the command prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_output_in_the_readme_is_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let (_, rest) = readme.split_once("<!-- demo begin -->\n").expect("a place for the demo");
    let (shown, _) = rest.split_once("<!-- demo end -->").expect("its end");
    let body: Vec<&str> =
        shown.lines().filter(|l| !l.starts_with("```")).skip_while(|l| l.is_empty()).collect();
    let words: Vec<&str> =
        body[0].strip_prefix("$ dormouse ").expect("a command").split(' ').collect();
    let out = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(words)
        .current_dir(&root)
        .output()
        .expect("the command runs");
    assert!(out.status.success());
    let printed = String::from_utf8(out.stdout).expect("text");
    let want = body[1..].join("\n");
    assert_eq!(want.trim(), printed.trim(), "run the command and put its output into README.md");
}
