//! `dormouse board` as a person uses it.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn dormouse(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("dormouse").unwrap().current_dir(root()).args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(dormouse(args).success().get_output().stdout.clone()).unwrap()
}

#[test]
fn the_documented_command_makes_the_cases_of_the_zoo() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    dormouse(&["board", "from", "crates/core/tests/fixtures/dpm-cases.json", "-o", out]).success();
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 19);
    for name in names {
        let made = fs::read(folder.path().join(&name)).unwrap();
        let kept = fs::read(root().join("boards/cases").join(&name)).unwrap();
        assert!(made == kept, "{name:?} differs from boards/cases");
    }
}

#[test]
fn a_generated_board_carries_its_recipe() {
    let args = ["board", "generate", "--seed", "9", "--devices", "40", "--durations", "1us..2.5ms"];
    let first = stdout(&args);
    // The comment is a command line that gives the same file.
    let comment: String = first
        .lines()
        .map_while(|l| l.strip_prefix("# "))
        .map(|l| l.trim_end_matches('\\').to_string() + " ")
        .collect();
    let words: Vec<&str> = comment.split_whitespace().skip(1).collect();
    assert_eq!(stdout(&words), first);
    assert!(words.contains(&"--seed") && words.contains(&"1us..2.5ms"));
}

#[test]
fn check_says_what_is_in_a_board() {
    let text = stdout(&["board", "check", "boards/cases/c19.board"]);
    for part in ["5 devices (1 roots, depth 2)", "2 async (40 %)", "2 stateless"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = text.lines().find(|l| l.starts_with("suspend ")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["suspend", "4", "400.00", "ms", "0", "ns", "200.00", "ms"]);
}

#[test]
fn a_bad_board_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.board");
    fs::write(&file, "board 1\ndevice a asinc\n").unwrap();
    let path = file.to_str().unwrap();
    let assert = dormouse(&["board", "check", path]).failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("bad.board: line 2: unknown word `asinc`"), "{said}");
    assert!(said.contains("did you mean `async`?"), "{said}");
    fs::write(&file, b"board 1\n\xff\n").unwrap();
    let assert = dormouse(&["board", "check", path]).failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("line 2: not UTF-8"), "{said}");
}
