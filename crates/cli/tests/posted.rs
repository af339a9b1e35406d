//! What must hold of every text about a sleep, over logs that are made up, in every dress
//! and cut, and over the logs of real machines: PROPTEST_CASES logs of each, or a few.

use crate::ran::output;
use crate::reality::data;
use dormouse_base::finding::Level;
use dormouse_base::stats::random::Random;
use dormouse_dress::{Damage, Dress, Kernel, Line, Story, Trouble, drawn, posted, story};
use dormouse_read::Options;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// A printed duration has microseconds.
const LAST_DIGIT: i64 = 1_000;

/// Texts longer than this are read in `make prove` alone.
const SHORT: u64 = 64 << 10;

fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

/// Whether nothing is left out; the quick tests ask for fewer cases.
fn whole() -> bool {
    cases() >= 512
}

/// Mode, end and phases of a sleep: their lengths, and what the kernel printed.
type Slept = (String, String, Vec<(String, i64, Option<i64>)>);

/// What a text says.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
    sleeps: Vec<Slept>,
    /// What is broken.
    broken: BTreeSet<&'static str>,
}

fn facts(text: &[u8]) -> Facts {
    let reading = dormouse_read::read_bytes("posted", text, &Options::default());
    let captures = reading.map(|r| r.captures).unwrap_or_default();
    let word = |d: &dyn Debug| format!("{d:?}").split([' ', '{', '(']).next().unwrap_or("").into();
    let sleeps = captures.iter().flat_map(|c| &c.cycles).map(|c| {
        let phases = c
            .phases
            .iter()
            .map(|p| (p.phase.name().to_string(), (p.end - p.start).0, p.printed.map(|t| t.0)));
        (format!("{:?}", c.mode), word(&c.outcome), phases.collect())
    });
    let sleeps = sleeps.collect();
    let case = dormouse_read::doctor::read_bytes("posted", text).case;
    let findings = dormouse_doctor::judge(&case).findings;
    let broken = findings.iter().filter(|f| f.level == Level::Broken).map(|f| f.id).collect();
    Facts { sleeps, broken }
}

/// Made-up logs with their seeds.
fn made(salt: u64) -> impl Iterator<Item = (u64, Story, Random)> {
    (0..cases()).map(move |i| {
        let seed = salt * 1_000_000 + i;
        let mut random = Random::new(seed);
        let kernel = Kernel::ALL[random.below(3) as usize];
        let sleeps = 1 + random.below(3) as usize;
        (seed, story(kernel, sleeps, &mut random), random)
    })
}

/// Logs of real machines in which a sleep is found; none where they are not. Each quick
/// test has another part of the short ones.
fn real(part: usize) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        let mut list: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        list.sort();
        for path in list {
            match path.is_dir() {
                true => walk(&path, out),
                false => out.push(path),
            }
        }
    }
    let Some(folder) = data("") else { return Vec::new() };
    let mut paths = Vec::new();
    walk(&folder, &mut paths);
    let most = if whole() { 4 << 20 } else { SHORT };
    let is_text = |p: &PathBuf| p.extension().is_some_and(|e| e == "txt" || e == "log");
    let fits = |p: &PathBuf| p.metadata().is_ok_and(|m| m.len() <= most);
    let read = paths.into_iter().filter(is_text).filter(fits).filter_map(|p| {
        let text = std::fs::read(&p).ok()?;
        Some((p, text))
    });
    let (first, every) = if whole() { (0, 1) } else { (part, 4) };
    let found: Vec<_> =
        read.skip(first).step_by(every).filter(|(_, t)| !facts(t).sleeps.is_empty()).collect();
    println!("{} logs of real machines", found.len());
    found
}

/// Panics with all that was found wrong.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn dressing_changes_no_fact() {
    let mut wrong = Vec::new();
    for (seed, story, mut random) in made(11) {
        let raw = facts(posted(&story.lines, Dress::Raw, &[], &mut random).bytes.as_bytes());
        for dress in Dress::ALL {
            let text = posted(&story.lines, dress, &[], &mut random);
            let other = facts(text.bytes.as_bytes());
            let ends = |f: &Facts| -> Vec<_> {
                f.sleeps.iter().map(|s| (s.0.clone(), s.1.clone())).collect()
            };
            if ends(&raw) != ends(&other) || raw.broken != other.broken {
                wrong.push(format!("{seed} {dress:?}: {raw:?}\n  {other:?}"));
            }
        }
    }
    none(&wrong);
}

/// A printed duration is a measurement, whatever the stamps say.
#[test]
fn a_printed_duration_is_not_contradicted() {
    let mut wrong = Vec::new();
    let check = |what: String, text: &[u8], wrong: &mut Vec<String>| {
        for (_, _, phases) in facts(text).sleeps {
            for (phase, length, printed) in phases {
                if printed.is_some_and(|p| (p - length).abs() > LAST_DIGIT) {
                    wrong.push(format!("{what}: {phase} {length} for {printed:?}"));
                }
            }
        }
    };
    for (seed, story, mut random) in made(12) {
        let text = drawn(&story.lines, &mut random);
        check(format!("{seed} {:?}", text.dress), text.bytes.as_bytes(), &mut wrong);
    }
    for (path, text) in real(0) {
        check(path.display().to_string(), &text, &mut wrong);
    }
    none(&wrong);
}

/// What a text that was cut may say in addition: that it has no end, or no reason.
const CUT: [&str; 4] =
    ["resume-no-end", "phase-resume-unfinished", "abort-unknown", "write-refused"];

/// The same trouble in weaker words: what a part says where the whole knows more.
const WEAKER: [(&str, &str); 2] =
    [("freeze-failed", "freeze-retry-loop"), ("phase-stall", "phase-device-lost")];

#[test]
fn cutting_only_takes_facts_away() {
    let mut wrong = Vec::new();
    let mut cut = |what: &str, whole: &[u8], random: &mut Random| {
        let all = facts(whole);
        let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
        let at = random.below(lines.len() as u64 + 1) as usize;
        for part in [lines[..at].concat(), lines[at..].concat()] {
            let some = facts(&part);
            let weaker = |id: &str| WEAKER.iter().any(|(w, s)| *w == id && all.broken.contains(s));
            let more = some.broken.difference(&all.broken);
            let new: Vec<_> = more.filter(|id| !CUT.contains(id) && !weaker(id)).collect();
            if some.sleeps.len() > all.sleeps.len() || !new.is_empty() {
                wrong.push(format!(
                    "{what} at line {at}: {} of {} sleeps, also {new:?}",
                    some.sleeps.len(),
                    all.sleeps.len()
                ));
            }
        }
    };
    for (seed, story, mut random) in made(13) {
        let dress = Dress::ALL[random.below(Dress::ALL.len() as u64) as usize];
        let text = posted(&story.lines, dress, &[], &mut random);
        cut(&format!("{seed} {dress:?}"), text.bytes.as_bytes(), &mut random);
    }
    for (i, (path, text)) in real(1).into_iter().enumerate() {
        cut(&path.display().to_string(), &text, &mut Random::new(i as u64));
    }
    none(&wrong);
}

#[test]
fn a_line_that_has_nothing_to_do_with_sleep_changes_nothing() {
    const OTHERS: [&str; 4] = [
        "usb 9-1: new full-speed USB device number 7 using xhci_hcd",
        "audit: type=1400 audit(1741597200.123:91): apparmor=\"ALLOWED\"",
        "EXT4-fs (sdz9): re-mounted. Quota mode: none.",
        "wlp9s0: associated",
    ];
    let mut wrong = Vec::new();
    for (seed, mut story, mut random) in made(14) {
        let dress = Dress::ALL[random.below(Dress::ALL.len() as u64) as usize];
        let before = facts(posted(&story.lines, dress, &[], &mut random).bytes.as_bytes());
        let at = 1 + random.below(story.lines.len() as u64 - 1) as usize;
        let line = Line {
            text: OTHERS[random.below(OTHERS.len() as u64) as usize].into(),
            ..story.lines[at - 1].clone()
        };
        let said =
            format!("{seed} {dress:?}: {:?} behind {:?}", line.text, story.lines[at - 1].text);
        story.lines.insert(at, line);
        let after = facts(posted(&story.lines, dress, &[], &mut random).bytes.as_bytes());
        if before != after {
            wrong.push(format!("{said}\n  {before:?}\n  {after:?}"));
        }
    }
    for (i, (path, text)) in real(2).into_iter().enumerate() {
        let mut random = Random::new(i as u64);
        let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
        let at = 1 + random.below(lines.len() as u64) as usize;
        // The stamp of the line before, if that is the kernel's own and all of its prefix.
        let last = String::from_utf8_lossy(lines[at - 1]).into_owned();
        let Some((stamp, rest)) = last.split_once("] ") else { continue };
        let is_stamp = |s: &str| {
            let s = s.strip_prefix('[').unwrap_or("x").trim();
            s.len() > 7 && s.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        };
        if !is_stamp(stamp) || rest.starts_with([' ', '[', '<', '(']) || !rest.ends_with('\n') {
            continue;
        }
        let other = format!("{stamp}] {}\n", OTHERS[random.below(OTHERS.len() as u64) as usize]);
        let more = [&lines[..at].concat(), other.as_bytes(), &lines[at..].concat()].concat();
        let (before, after) = (facts(&text), facts(&more));
        if before != after {
            wrong.push(format!("{} behind line {at}: {other}", path.display()));
        }
    }
    none(&wrong);
}

/// What `show --json` says of a text, by section.
fn shown(only: &str, file: &Path) -> Option<Value> {
    let args = ["show", "--only", only, "--json"].map(OsStr::new);
    serde_json::from_slice(&output(args.into_iter().chain([file.as_os_str()])).stdout).ok()
}

#[test]
fn views_count_the_same_and_rows_sum_to_totals() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("posted.txt");
    let mut wrong = Vec::new();
    for (seed, story, mut random) in made(15) {
        let text = drawn(&story.lines, &mut random);
        std::fs::write(&file, &text.bytes).expect("written");
        let Some(sleep) = shown("sleep", &file) else { continue };
        let sleep = crate::rows::expanded(sleep);
        let cycles = sleep["cycles"].as_array().cloned().unwrap_or_default();
        let counted = shown("findings", &file).map(|v| {
            let texts = v["texts"].as_array().cloned().unwrap_or_default();
            texts.iter().map(|t| t["sleeps"].as_u64().unwrap_or(0)).sum::<u64>()
        });
        if counted.is_some_and(|n| n != cycles.len() as u64) {
            wrong.push(format!(
                "{seed} {:?} {:?}: {} cycles, {counted:?} attempts",
                text.dress,
                text.damages,
                cycles.len()
            ));
        }
        for c in &cycles {
            let number = |v: &Value| v.as_i64().unwrap_or(0);
            for half in ["suspend", "resume"] {
                let rows = c["rows"].as_array().cloned().unwrap_or_default();
                let rows = rows.iter().filter(|r| r["direction"] == half && r["nested"] != true);
                let sum: i64 = rows.map(|r| number(&r["counted_ns"])).sum();
                let total = number(&c[format!("{half}_ns")]);
                if sum != total {
                    wrong.push(format!("{seed} {:?}: {half} {sum}, not {total}", text.dress));
                }
            }
        }
    }
    none(&wrong);
}

/// What a kernel says when something is badly wrong.
const TROUBLES: [&[&str]; 6] = [
    &[
        "BUG: unable to handle page fault for address: ffff8f0000001000",
        "#PF: supervisor read access in kernel mode",
        "Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "RIP: 0010:wibble_poke+0x1c/0x90 [wibble]",
    ],
    &[
        "------------[ cut here ]------------",
        "WARNING: CPU: 1 PID: 812 at drivers/wibble/core.c:91 wibble_poke+0x1c/0x90 [wibble]",
        "RIP: 0010:wibble_poke+0x1c/0x90 [wibble]",
        "---[ end trace 0000000000000000 ]---",
    ],
    &[
        "INFO: task fnordd:812 blocked for more than 120 seconds.",
        "      Not tainted 6.12.9-elm #1",
        "task:fnordd          state:D stack:0     pid:812   ppid:1      flags:0x00004006",
    ],
    &["wibble 0000:0a:00.0: PM: failed to suspend: error -5"],
    &["wibble 0000:0a:00.0: PM: failed to resume async: error -110"],
    &["Kernel panic - not syncing: Fatal exception in interrupt"],
];

#[test]
fn nothing_wrong_is_never_said_of_trouble_in_a_sleep() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("posted.txt");
    let mut wrong = Vec::new();
    for (seed, mut story, mut random) in made(16) {
        let one = random.below(story.attempts.len() as u64) as usize;
        let attempt = &story.attempts[one];
        if attempt.trouble != Trouble::None {
            continue;
        }
        let at = attempt.lines.start + 1 + random.below(attempt.lines.len() as u64 - 1) as usize;
        let trouble = TROUBLES[random.below(TROUBLES.len() as u64) as usize];
        let line = story.lines[at - 1].clone();
        let more = trouble.iter().map(|t| Line { text: (*t).into(), ..line.clone() });
        story.lines.splice(at..at, more.collect::<Vec<_>>());
        let dress = Dress::ALL[random.below(Dress::ALL.len() as u64) as usize];
        let damage = [Damage::Quoted, Damage::Indented, Damage::Prose, Damage::OlderBoot];
        let damage = damage[random.below(4) as usize];
        let text = posted(&story.lines, dress, &[damage], &mut random);
        std::fs::write(&file, &text.bytes).expect("written");
        let said = output([OsStr::new("check"), file.as_os_str()]);
        let screen = String::from_utf8_lossy(&said.stdout).into_owned();
        let found = screen.contains("Broken:") || screen.contains("Risk:");
        if !found {
            let head = screen.lines().next().unwrap_or_default();
            wrong.push(format!("{seed} {dress:?} {damage:?} {:?}: {head}", trouble[0]));
        }
    }
    none(&wrong);
}

/// What a screen says that a text does not show, and what must then not stand in it.
const NOT_SHOWN: [(&str, &[&str]); 3] = [
    ("no device callback", &["calling  ", "initcall ", " returned 0 after "]),
    (
        "the text shows no device's power/ folder and no rpm events",
        &["rpm_suspend:", "rpm_resume:"],
    ),
    ("The text names no kernel", &["Linux version "]),
];

#[test]
fn what_the_text_is_said_not_to_show_is_not_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("posted.txt");
    let mut wrong = Vec::new();
    let mut texts: Vec<(String, Vec<u8>)> = made(17)
        .map(|(seed, story, mut random)| {
            let text = drawn(&story.lines, &mut random);
            (seed.to_string(), text.bytes.into_bytes())
        })
        .collect();
    texts.extend(real(3).into_iter().map(|(p, t)| (p.display().to_string(), t)));
    for (name, text) in texts {
        std::fs::write(&file, &text).expect("written");
        for verb in ["show", "check"] {
            let said = output([OsStr::new(verb), file.as_os_str()]);
            let words = String::from_utf8_lossy(&said.stdout).into_owned();
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = String::from_utf8_lossy(&text);
            for (claim, needles) in NOT_SHOWN {
                let there = needles.iter().find(|n| text.contains(*n));
                if let (true, Some(n)) = (words.contains(claim), there) {
                    wrong.push(format!("{name}: {verb} says {claim:?}, and {n:?} is there"));
                }
            }
        }
    }
    none(&wrong);
}
