//! Commands that screens and help texts print, as they could be typed: each parses, and what
//! a screen says is next answers.

use crate::{Kept, run, surface};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The words of a command as a shell hands them over.
fn shell(command: &str) -> Vec<String> {
    let (mut out, mut quoted, mut any) = (vec![String::new()], false, false);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                any = true;
            }
            '\\' if !quoted => match chars.next() {
                Some('\n') | None => {}
                Some(c) => out.last_mut().expect("a word").push(c),
            },
            ' ' | '\n' if !quoted => {
                if any || !out.last().expect("a word").is_empty() {
                    out.push(String::new());
                    any = false;
                }
            }
            c => out.last_mut().expect("a word").push(c),
        }
    }
    out.retain(|w| !w.is_empty());
    out
}

/// The last line of every golden screen is a command as it could be typed:
/// whole, and with options that exist.
#[test]
fn each_next_command_of_a_golden_screen_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("golden files").flatten() {
        let name = entry.file_name();
        let text = std::fs::read_to_string(entry.path()).expect("text");
        for command in following(&text) {
            seen += 1;
            parses(&name.to_string_lossy(), &command);
        }
    }
    assert!(seen >= 30, "{seen}");
}

/// Every verb that takes an input shows two commands, and these are valid.
#[test]
fn each_verb_has_two_examples_that_parse() {
    for verb in surface::VERBS.iter().map(|v| v.command()) {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = help.lines().filter(|l| l.starts_with("  dormouse ")).collect();
        assert!(lines.len() >= 2, "{}: {help}", verb.get_name());
        for line in lines {
            assert!(line.len() <= 80, "{line}");
            if let Err(e) = surface::parses(&shell(line.trim())) {
                panic!("{line}: {e}");
            }
        }
    }
}

/// The commands of the files for test systems, and of their page, with what stands for their
/// variables there.
#[test]
fn each_command_of_the_files_for_test_systems_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for file in ["action.yml", "ci/lava.yaml", "docs/ci.md"] {
        let text = fs::read_to_string(root.join(file)).expect(file);
        let limits = text.lines().find_map(|l| {
            let l = l.trim();
            l.strip_prefix("default: --").or(l.strip_prefix("LIMITS: --"))
        });
        let limits = limits.map_or(String::new(), |l| format!("--{l}"));
        for line in text.lines().map(|l| l.trim().trim_start_matches("- ")) {
            let line = line.strip_prefix("sudo ").unwrap_or(line);
            if !line.starts_with("dormouse ") {
                continue;
            }
            let command = line.split([';', '>', '|', '#']).next().unwrap_or(line).trim();
            let command = command.replace("\"$INPUT\"", "night.log").replace("$LIMITS", &limits);
            parses(file, &command.replace("\"$CYCLES\"", "5"));
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

/// The commands after `Next:`, whole: a line goes on where a shell would read on.
fn following(text: &str) -> Vec<String> {
    let begins = text.match_indices("\nNext: ").map(|(at, word)| &text[at + word.len()..]);
    begins
        .map(|rest| {
            let more = rest.lines().take_while(|l| l.ends_with(" \\")).count();
            rest.lines().take(more + 1).collect::<Vec<_>>().join("\n")
        })
        .collect()
}

/// A command of ours is one that is accepted; of others only these are named.
fn parses(screen: &str, command: &str) {
    if command.starts_with("dormouse ") {
        if let Err(e) = surface::parses(&shell(command)) {
            panic!("{screen}: {command}: {e}");
        }
        return;
    }
    let others = ["trace-cmd ", "grep ", "cat ", "cyclictest ", "less ", "dmesg ", "echo ", "cd "];
    assert!(others.iter().any(|o| command.starts_with(o)), "{screen}: {command}");
}

/// What a command prints on both streams, and its exit code; in the root of the tree.
fn printed(words: &[String]) -> (u8, String) {
    static AT_ROOT: Once = Once::new();
    AT_ROOT.call_once(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::env::set_current_dir(root).expect("the tree");
    });
    let kept = Kept::default();
    let code = run(words, kept.clone(), kept.clone());
    (code, String::from_utf8_lossy(&kept.taken()).into_owned())
}

/// Whether a command only reads, and names what it reads: `FILE` is for the reader to fill in.
fn answers_by_itself(words: &[String]) -> bool {
    let touches = ["record", "restore", "hold", "sync", "mark", "lab", "report", "export"];
    let writes = ["-o", "--output", "--apply", "--yes", "--verify", "--now"];
    let verb = words.first().map_or("", String::as_str);
    let blank = |w: &String| w.len() > 2 && w.bytes().all(|b| b.is_ascii_uppercase());
    !touches.contains(&verb)
        && !words.iter().any(|w| writes.contains(&w.as_str()) || w == "-" || blank(w))
}

/// Files of a folder of the tree, in order.
fn inputs(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = fs::read_dir(root.join(folder)).expect("a folder").flatten();
    let files = all.filter(|e| e.path().is_file() && e.file_name() != "README.md");
    let mut files: Vec<_> = files.map(|e| Path::new(folder).join(e.file_name())).collect();
    files.sort();
    files
}

/// Every screen that these verbs print of what lies in the tree leads to a command that
/// answers: with exit code 0, or 4 where it gives a verdict. What needs a root, a kernel or a
/// guest, or writes files, at least parses.
#[test]
fn what_a_screen_says_is_next_answers() {
    let reports = inputs("crates/read/tests/fixtures/reports");
    let fixtures = inputs("crates/cli/tests/fixtures");
    let (captures, boards) = (inputs("captures"), inputs("boards/cases"));
    let jobs: [(&[PathBuf], &[&str]); 4] = [
        (&reports, &["show", "check", "show --only domains", "show --only rpm"]),
        (
            &fixtures,
            &["show", "check", "predict", "tune", "show --only idle", "show --only storage"],
        ),
        (&captures[..1], &["show", "check", "predict", "tune", "show --only domains", "compare"]),
        (&boards, &["show", "predict", "tune"]),
    ];
    let (mut screens, mut ran, mut parsed) = (0, std::collections::BTreeSet::new(), 0);
    for (files, verbs) in jobs {
        for (file, verb) in files.iter().flat_map(|f| verbs.iter().map(move |v| (f, *v))) {
            let mut words: Vec<String> = verb.split(' ').map(String::from).collect();
            words.push(file.to_string_lossy().into_owned());
            let (_, screen) = printed(&words);
            let of = words.join(" ");
            for command in following(&screen) {
                screens += 1;
                parses(&of, &command);
                let words = shell(&command)[1..].to_vec();
                if !command.starts_with("dormouse ") || !answers_by_itself(&words) {
                    parsed += 1;
                } else if ran.insert(words.clone()) {
                    let (code, said) = printed(&words);
                    assert!(matches!(code, 0 | 4), "{of}: {command}: exit {code}\n{said}");
                }
            }
        }
    }
    println!(
        "{screens} screens lead to {} commands that ran; {parsed} were parsed alone",
        ran.len()
    );
    assert!(ran.len() >= 60, "{}", ran.len());
}

/// A recording too short to answer leads to a longer one, not to a refusal.
#[test]
fn a_short_recording_leads_to_a_longer_one() {
    let request = |tag: u32, gated: bool, at: f64| {
        let line = |more: f64, task: &str, text: &str| {
            format!("{task:>20} [003] ..... {:>12.6}: {text}\n", at + more)
        };
        let gate = "ufshcd_clk_gating: 8804000.ufshc: gating state changed to";
        let mut out = line(
            0.0,
            "fsync-21",
            &format!("block_rq_issue: 8,16 R 8192 () {tag}16 + 16 none,0,0 [fsync]"),
        );
        if gated {
            out += &line(0.000_004, "kworker/u9:2-90", &format!("{gate} REQ_CLKS_ON"));
            out += &line(0.000_290, "kworker/u9:2-90", &format!("{gate} CLKS_ON"));
        }
        out + &line(
            0.000_450,
            "<idle>-0",
            &format!("block_rq_complete: 8,16 R () {tag}16 + 16 none,0,0 [0]"),
        )
    };
    let idle = |at: f64, state: u32| {
        format!("          <idle>-0     [001] d..1. {at:>12.6}: cpu_idle: state={state} cpu_id=1\n")
    };
    let states = "/sys/devices/system/cpu/cpu1/cpuidle/";
    let table = |n: u32, name: &str, us: u32| {
        format!(
            "{states}state{n}/name:{name}\n{states}state{n}/latency:{us}\n{states}state{n}/residency:{us}0\n"
        )
    };
    let sleeps: String = (0..4)
        .map(|i| idle(9.0 + f64::from(i), i % 2) + &idle(9.6 + f64::from(i), u32::MAX))
        .collect();
    for (name, text, only) in [
        ("ufs.txt", request(1, true, 77.0), "storage"),
        ("idle.txt", table(0, "WFI", 1) + &table(1, "sleep", 90) + &sleeps, "idle"),
    ] {
        let file = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
        fs::write(&file, text).expect("written");
        let words = ["show", "--only", only, &file.to_string_lossy()].map(String::from);
        let (_, screen) = printed(&words);
        fs::remove_file(&file).expect("there");
        let next = following(&screen);
        assert!(matches!(&next[..], [n] if n.starts_with("dormouse record --with ")), "{screen}");
    }
}
