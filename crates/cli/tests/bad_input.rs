//! What every verb says of an input that it cannot use: what, where, and what to
//! do, and the code that scripts see.

use crate::ran::{ended, output};
use std::ffi::OsStr;
use std::path::Path;

/// How each verb takes an input.
const VERBS: [&[&str]; 9] = [
    &["show"],
    &["report", "-o", "-"],
    &["export", "--to", "csv"],
    &["predict"],
    &["calibrate"],
    &["replay", "--kernel", "6.12", "-o", "never"],
    &["plan", "--resume", "10ms"],
    &["tune"],
    &["board", "from"],
];

fn said(verb: &[&str], input: &Path) -> (Option<i32>, String) {
    let out = output(verb.iter().map(OsStr::new).chain([input.as_os_str()]));
    (out.status.code(), String::from_utf8(out.stderr).expect("text"))
}

#[test]
fn an_input_that_holds_nothing_is_named_with_what_would_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("letter.txt");
    std::fs::write(&text, "Dear Sir or Madam,\n").expect("written");
    let whole = include_bytes!("../../../captures/am335x-6.12.tar.gz");
    let broken = folder.path().join("broken.tar.gz");
    std::fs::write(&broken, &whole[..10_000]).expect("written");
    for verb in VERBS {
        for file in [&text, folder.path().join("empty").as_path()] {
            if !file.exists() {
                std::fs::write(file, "").expect("written");
            }
            let (code, message) = said(verb, file);
            assert_eq!(code, Some(1), "{verb:?}: {message}");
            let name = file.file_name().expect("a name").to_str().expect("text");
            let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(name) && words.contains("give a kernel log"), "{message}");
            let empty = words.contains("is empty");
            assert_eq!(empty, name == "empty", "{message}");
        }
        // These show what there is.
        if !["show", "report", "export"].contains(&verb[0]) {
            let (code, message) = said(verb, &broken);
            assert_eq!(code, Some(3), "{verb:?}: {message}");
            let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("broken.tar.gz is damaged or ends early"), "{verb:?}: {words}");
            assert!(words.contains("Copy it again"), "{verb:?}: {words}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_said_once() {
    for verb in VERBS {
        let (code, message) = said(verb, Path::new("no/such/file"));
        assert_eq!(code, Some(3), "{verb:?}: {message}");
        assert!(message.contains("no/such/file"), "{verb:?}: {message}");
        assert_eq!(message.matches("No such file").count(), 1, "{verb:?}: {message}");
    }
}

#[test]
fn a_board_file_is_sent_to_the_verbs_that_take_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let board = folder.path().join("small.board");
    std::fs::write(&board, "# a board\nboard 1\ndevice a resume=1ms\n").expect("written");
    for verb in &VERBS[..3] {
        let (code, message) = said(verb, &board);
        assert_eq!(code, Some(1), "{verb:?}: {message}");
        assert!(
            message
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("give it to predict, tune or lab run"),
            "{verb:?}: {message}"
        );
    }
}

/// What the command complains of, in one line.
fn complaint(words: &[&str]) -> (i32, String) {
    let (code, _, error) = ended(words);
    (code, error.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_verdict_on_a_recording_that_is_cut_is_none_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cut, plain) = (folder.path().join("cut.tar.gz"), folder.path().join("plain.txt"));
    let whole = include_bytes!("../../../captures/am335x-6.12.tar.gz");
    std::fs::write(&cut, &whole[..3_000]).expect("written");
    let (code, error) = complaint(&["check", cut.to_str().expect("a path")]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("cut.tar.gz is damaged or ends early"), "{error}");
    // A text without a word of a kernel is judged neither alone nor beside others.
    std::fs::write(&plain, "hello world\n").expect("written");
    let plain = plain.to_str().expect("a path");
    assert_eq!(complaint(&["check", plain]).0, 1);
    let (_, screen, _) = ended(&["check", plain, "captures/am335x-6.12.tar.gz"]);
    assert!(!screen.contains("No rule found a fault"), "{screen}");
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.contains("Caution: not judged, because no kernel message is in it"), "{screen}");
}

#[test]
fn what_is_typed_wrong_is_named_with_what_could_be_typed() {
    let capture = "captures/am335x-6.12.tar.gz";
    for (words, code, want) in [
        (
            &["show", "--set", "foo=1", capture][..],
            2,
            "show has no setting foo; its settings are: ",
        ),
        (&["predict", capture, "captures/laptop-7.3.tar.gz"], 2, "of which it takes one at a time"),
        (&["check", capture, "--max-power", "1"], 2, "such as 600mW"),
        (&["check", capture, "--hardware-sleep", "0.9"], 2, "write a percentage such as 90%"),
        (&["record", "--campaign", "x", "--within", "24x"], 2, "a number and h, min, s, ms or us"),
        // Looked for before a kernel is fetched.
        (&["lab", "run", "--only", "graft", "no.dtb", "--kernel", "9.9"], 3, "cannot read no.dtb"),
        (
            &["lab", "run", "--only", "storage", "no.disk", "--kernel", "9.9", "-o", "never"],
            3,
            "cannot read no.disk",
        ),
    ] {
        let (ended, error) = complaint(words);
        assert_eq!(ended, code, "{words:?}: {error}");
        assert!(error.contains(want), "{words:?}: {error}");
        assert!(!error.contains("fetching"), "{error}");
    }
}

#[test]
fn a_device_tree_blob_is_named_with_who_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let blob = folder.path().join("heron.dtb");
    std::fs::write(&blob, [&[0xd0, 0x0d, 0xfe, 0xed][..], &[0; 60]].concat()).expect("written");
    let (code, message) = said(&["show"], &blob);
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("is a device tree blob: dormouse check reads it"), "{words}");
}
