//! `dormouse board` as a person uses it.

use crate::ran::{output, root};
use assert_cmd::assert::OutputAssertExt as _;
use std::fs;
use std::path::{Path, PathBuf};

fn dormouse(args: &[&str]) -> assert_cmd::assert::Assert {
    output(args).assert()
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(dormouse(args).success().get_output().stdout.clone()).unwrap()
}

#[test]
fn the_documented_command_makes_the_cases_of_the_zoo() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    dormouse(&["board", "from", "crates/sleep/tests/fixtures/dpm-cases.json", "-o", out]).success();
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
    for part in ["The board is sound: 5 devices (1 root, depth 2)", "2 async (40 %)", "2 stateless"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = text.lines().find(|l| l.starts_with("suspend ")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["suspend", "4", "400.00", "0.00", "200.00"]);
}

#[test]
fn a_bad_board_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.board");
    fs::write(&file, "board 1\ndevice a asinc\n").unwrap();
    let path = file.to_str().unwrap();
    let assert = dormouse(&["board", "check", path]).failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("bad.board: line 2: unknown word `asinc`"), "{said}");
    assert!(said.contains("did you mean `async`?"), "{said}");
    fs::write(&file, b"board 1\n\xff\n").unwrap();
    let assert = dormouse(&["board", "check", path]).failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("line 2: not UTF-8"), "{said}");
}

/// The commands of boards/README.md, first word of the command onwards.
fn recipes() -> Vec<Vec<String>> {
    let readme = fs::read_to_string(root().join("boards/README.md")).unwrap();
    let rows = readme.lines().filter(|l| l.starts_with("| `"));
    rows.filter_map(|row| {
        let (_, command) = row.split_once("| `dormouse ")?;
        Some(command.split_once('`')?.0.split(' ').map(String::from).collect())
    })
    .collect()
}

#[test]
fn every_recipe_of_the_zoo_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    for mut words in recipes() {
        let kept = PathBuf::from(words.last().unwrap());
        if kept == Path::new("boards/cases") {
            continue;
        }
        let made = folder.path().join(kept.file_name().unwrap());
        *words.last_mut().unwrap() = made.to_str().unwrap().into();
        dormouse(&words.iter().map(String::as_str).collect::<Vec<_>>()).success();
        let same = fs::read(&made).unwrap() == fs::read(root().join(&kept)).unwrap();
        assert!(same, "{} is not what its command makes", kept.display());
        files += 1;
    }
    // The three machines; the cases have a test of their own.
    assert_eq!(files, 3);
}

#[test]
fn every_board_of_the_zoo_is_in_order_and_documented() {
    let readme = fs::read_to_string(root().join("boards/README.md")).unwrap();
    let mut sizes = Vec::new();
    for entry in fs::read_dir(root().join("boards")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "board") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        assert!(readme.contains(&format!("`{name}`")), "boards/README.md does not name {name}");
        assert!(fs::metadata(&path).unwrap().len() < 400_000, "{name} is large");
        let text = stdout(&["board", "check", path.to_str().unwrap()]);
        assert!(!text.contains("Warning"), "{name}: {text}");
        let devices = text.strip_prefix("The board is sound: ").and_then(|t| t.split(' ').next());
        let devices: u32 = devices.unwrap().replace(',', "").parse().unwrap();
        sizes.push((name, devices));
    }
    sizes.sort();
    let near = |i: usize, want: u32| sizes[i].1.abs_diff(want) * 20 < want;
    assert_eq!(sizes.len(), 4);
    assert!(near(1, 900) && near(2, 800) && near(3, 4000), "{sizes:?}");
}

#[test]
fn the_am335x_has_the_published_resume_times() {
    let text = fs::read_to_string(root().join("boards/am335x.board")).unwrap();
    let board = dormouse_board::parse(&text).unwrap();
    let mut resume: Vec<i64> =
        board.devices.iter().filter_map(|d| d.work[6]).map(|w| (w.sleep + w.compute).0).collect();
    resume.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(resume[..4], [109_000_000, 61_000_000, 58_000_000, 16_000_000]);
    assert!(resume[4] < 1_000_000, "no other device is slow");
}

/// A trace of one cycle, of which a board is made: two devices, one of them
/// async, as the kernel writes it.
const TRACE: &str = "\
# tracer: nop
     kworker/0:1-11    [000] ....    10.000000: suspend_resume: suspend_enter[3] begin
           tool-900   [000] ....    10.000100: suspend_resume: suspend_enter[3] end
           tool-900   [000] ....    10.001000: suspend_resume: dpm_prepare[2] begin
           tool-900   [000] ....    10.001010: device_pm_callback_start: usb usb1, parent: none, [suspend]
           tool-900   [000] ....    10.001011: device_pm_callback_end: usb usb1, err=0
           tool-900   [000] ....    10.001020: device_pm_callback_start: hub 1-1, parent: usb1, [suspend]
           tool-900   [000] ....    10.001021: device_pm_callback_end: hub 1-1, err=0
           tool-900   [000] ....    10.001100: suspend_resume: dpm_prepare[2] end
           tool-900   [000] ....    10.002000: suspend_resume: dpm_suspend[2] begin
     kworker/u8:1-77   [001] ....    10.002100: device_pm_callback_start: hub 1-1, parent: usb1, type [suspend]
     kworker/u8:1-77   [001] ....    10.014100: device_pm_callback_end: hub 1-1, err=0
           tool-900   [000] ....    10.014200: device_pm_callback_start: usb usb1, parent: none, type [suspend]
           tool-900   [000] ....    10.019200: device_pm_callback_end: usb usb1, err=0
           tool-900   [000] ....    10.019300: suspend_resume: dpm_suspend[2] end
           tool-900   [000] ....    10.020000: suspend_resume: machine_suspend[3] begin
           tool-900   [000] ....    11.020000: suspend_resume: machine_suspend[3] end
           tool-900   [000] ....    11.030000: suspend_resume: dpm_resume[16] begin
           tool-900   [000] ....    11.030100: device_pm_callback_start: usb usb1, parent: none, type [resume]
           tool-900   [000] ....    11.038100: device_pm_callback_end: usb usb1, err=0
     kworker/u8:1-77   [001] ....    11.038200: device_pm_callback_start: hub 1-1, parent: usb1, type [resume]
     kworker/u8:1-77   [001] ....    11.058200: device_pm_callback_end: hub 1-1, err=0
           tool-900   [000] ....    11.058300: suspend_resume: dpm_resume[16] end
           tool-900   [000] ....    11.059000: suspend_resume: thaw_processes[0] begin
           tool-900   [000] ....    11.059100: suspend_resume: thaw_processes[0] end
";

#[test]
fn a_recording_becomes_a_board() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.txt");
    fs::write(&trace, TRACE).unwrap();
    let text = stdout(&["board", "from", trace.to_str().unwrap()]);
    assert!(text.starts_with("# Made from a recording"), "{text}");
    assert!(text.contains("# Assumed: "), "{text}");
    let board = dormouse_board::parse(&text).unwrap();
    let names: Vec<&str> = board.graph.devices.iter().map(|d| board.names.get(d.name)).collect();
    assert_eq!(names, ["usb1", "1-1"]);
    let sleep = |i: usize, phase: usize| board.devices[i].work[phase].unwrap().sleep.0 / 1_000_000;
    assert_eq!([sleep(0, 1), sleep(1, 1), sleep(0, 6), sleep(1, 6)], [5, 12, 8, 20]);
    assert_eq!(board.graph.devices[1].async_flag, Some(true));
    assert_eq!(board.graph.devices[1].parent.map(|p| p.index()), Some(0));
}
