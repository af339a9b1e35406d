//! Good recordings, damaged: what is claimed of them is never more than what
//! the whole recording gives.

use super::settings;
use crate::accuracy::recorded;
use crate::truth::log::log;
use dormouse_base::capture::Capture;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_read::Options;
use dormouse_sleep::evidence::machine;
use dormouse_sleep::simulate::change::{Change, Ratio};
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Prediction, Question, Scheduler, predict};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What is asked of a log: the newest kernel, half of the time for every callback,
/// one device after the other.
const QUESTIONS: usize = 3;

fn answer(capture: &Capture, question: usize) -> Option<Prediction> {
    let found = machine(capture, None).ok()?;
    let settings = settings();
    let (policy, kernel) = choose("7.3").expect("a kernel");
    let then = if question == 0 { Scheduler { policy, kernel } } else { found.scheduler };
    let changes = match question {
        0 => vec![],
        1 => vec![Change::Scale("*".into(), HALF)],
        _ => vec![Change::PmAsync(false)],
    };
    let question = Question {
        derived: &found.derived,
        now: found.scheduler,
        then,
        changes: &changes,
        settings: &settings,
        fidelity: &found.check(capture, &settings),
        doubt: &found.doubt(capture, then, &changes, &settings),
        seed: 1,
        samples: 0,
    };
    predict(&question).ok()
}

/// Half of the time.
const HALF: Ratio = Ratio { part: 1, whole: 2 };

/// How many of `all` draws are tried: as large a part as `PROPTEST_CASES` is of the 512
/// that no quick test asks for.
fn tries(all: usize) -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    (all * cases / 512).clamp(1, all)
}

/// What the whole log answers.
type Whole = [Prediction; QUESTIONS];

/// No phase of the log `text` may claim more than the whole recording gives, by
/// more than what counts as reproduced; nor, where both answer, another time.
fn holds(text: &str, whole: &Whole, what: &str) -> usize {
    let (claims, wrong) = judged(text, whole);
    assert!(wrong.is_empty(), "{what}: {}", wrong.join("; "));
    claims
}

/// How much the log `text` claims, and what of it is wrong.
fn judged(text: &str, whole: &Whole) -> (usize, Vec<String>) {
    let read = dormouse_read::read_bytes("damaged.dmesg", text.as_bytes(), &Options::default());
    let (mut claims, mut wrong) = (0, Vec::new());
    let Ok(reading) = read else { return (0, wrong) };
    for (capture, (number, whole)) in reading
        .captures
        .iter()
        .flat_map(|c| [c; QUESTIONS].into_iter().zip(whole.iter().enumerate()))
    {
        let Some(p) = answer(capture, number) else { continue };
        for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
            if !p.claims(phase) {
                continue;
            }
            claims += usize::from(p.before.phase(phase) > p.changed_to(phase));
            let (now, then) = (p.changed_to(phase), whole.changed_to(phase));
            let index = phase.device_index().unwrap_or(0);
            let (low, high) = whole.doubt.range[index].unwrap_or((then, then));
            let off = Ns::from_ms(1).max(Ns(then.0 / 20));
            if now < low.min(then) - off || now > high.max(then) + off {
                wrong.push(format!("{number} {} answers {now}, the whole {then}", phase.name()));
            }
        }
    }
    (claims, wrong)
}

/// The text of a file that may be compressed.
fn plain(path: &Path) -> String {
    let bytes = match path.extension().is_some_and(|e| e == "gz") {
        true => Command::new("gzip").arg("-dc").arg(path).output().expect("gzip").stdout,
        false => std::fs::read(path).expect("a log"),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cases() -> &'static [(String, Whole)] {
    static CASES: OnceLock<Vec<(String, Whole)>> = OnceLock::new();
    CASES.get_or_init(recorded_cases)
}

fn recorded_cases() -> Vec<(String, Whole)> {
    let of = |name: &str| {
        let file = format!("{}/../captures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let capture = recorded::capture(&file).expect("a capture of the repository");
        let whole = [0, 1, 2].map(|q| answer(&capture, q).expect("a prediction"));
        (log(&capture, |i| i == 1), whole)
    };
    ["am335x-6.12", "laptop-6.12"].map(of).into()
}

/// Whole logs of real machines; none where they are not at hand.
fn real() -> &'static [(String, Whole)] {
    static REAL: OnceLock<Vec<(String, Whole)>> = OnceLock::new();
    REAL.get_or_init(read_real)
}

fn read_real() -> Vec<(String, Whole)> {
    let data = std::env::var_os("DORMOUSE_DATA").map_or("../../shared/data".into(), PathBuf::from);
    let mut all = Vec::new();
    let names = [
        "pm-graph/devtest-3.15/suspend-061314-132459/skynet_mem_dmesg.txt",
        "mail/lenovo-2024-02-12.part1.i8042_suspend_resume_dmesg.txt",
        "real/lenovo-synaptics-6.3.1-2023-05.txt.gz",
        "real/xps13-9360-sleepgraph-2020-06-29.txt.gz",
    ];
    for name in &names[..tries(names.len())] {
        let path = data.join("logs").join(name);
        if !path.exists() {
            println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", path.display());
            continue;
        }
        let text = plain(&path);
        let read = dormouse_read::read_bytes(name, text.as_bytes(), &Options::default());
        let capture = read.expect("a log").captures.swap_remove(0);
        all.push((text, [0, 1, 2].map(|q| answer(&capture, q).expect("a prediction"))));
    }
    all
}

#[test]
fn a_good_log_may_claim() {
    let claims: usize = cases().iter().map(|(text, whole)| holds(text, whole, "as it is")).sum();
    assert!(claims > 0, "the property below would hold for a tool that claims nothing");
}

#[test]
fn a_cut_log_claims_no_more() {
    for (text, whole) in cases() {
        let lines: Vec<&str> = text.lines().collect();
        let mut r = Random::new(3);
        for _ in 0..tries(40) {
            let from = r.below(lines.len() as u64 / 2) as usize;
            let to = from + 1 + r.below((lines.len() - from) as u64) as usize;
            let part = lines[from..to.min(lines.len())].join("\n");
            holds(&part, whole, &format!("lines {from} to {to}"));
        }
    }
}

#[test]
fn a_log_without_the_head_of_a_phase_claims_no_more() {
    for (text, whole) in cases() {
        let lines: Vec<&str> = text.lines().collect();
        let mut r = Random::new(5);
        // The first lines of each phase are cut off, its end is there.
        let ends: Vec<usize> =
            (0..lines.len()).filter(|&i| lines[i].contains(" of devices complete after")).collect();
        let mut from = lines.iter().position(|l| l.contains("PM: calling")).expect("callbacks");
        for &end in &ends {
            for _ in 0..tries(6) {
                let cut = from + 1 + r.below((end - from).max(1) as u64) as usize;
                let left = [&lines[..from], &lines[cut..]].concat().join("\n");
                holds(&left, whole, &format!("without lines {from} to {cut}"));
                let left = lines[cut..].join("\n");
                holds(&left, whole, &format!("without all lines up to {cut}"));
            }
            from = end + 1;
        }
    }
}

#[test]
fn a_shuffled_log_claims_no_more() {
    for (text, whole) in cases() {
        for seed in (0..20).step_by(20 / tries(20)) {
            let mut lines: Vec<&str> = text.lines().collect();
            let mut r = Random::new(seed);
            if seed == 0 {
                r.shuffle(&mut lines);
            } else {
                for _ in 0..seed {
                    let n = lines.len() as u64;
                    lines.swap(r.below(n) as usize, r.below(n) as usize);
                }
            }
            holds(&lines.join("\n"), whole, &format!("shuffled with {seed}"));
        }
    }
}

#[test]
fn a_doubled_log_claims_no_more() {
    for (text, whole) in cases() {
        let each: Vec<&str> = text.lines().flat_map(|l| [l, l]).collect();
        holds(&each.join("\n"), whole, "each line twice");
        holds(&format!("{text}\n{text}"), whole, "all of it twice");
    }
}

#[test]
fn a_log_without_its_version_claims_no_more() {
    for (text, whole) in cases() {
        let kept: Vec<&str> = text.lines().filter(|l| !l.contains("Linux version")).collect();
        assert!(kept.len() < text.lines().count(), "the log names its kernel");
        holds(&kept.join("\n"), whole, "without the version");
    }
}

/// Where lines end that name the end of a device phase.
fn ends(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|&i| lines[i].contains(" of devices complete after")).collect()
}

#[test]
fn a_real_log_without_the_head_of_a_phase_answers_nothing_else() {
    for (text, whole) in real() {
        let lines: Vec<&str> = text.lines().collect();
        let mut r = Random::new(7);
        let called = |l: &&str| l.contains("calling ") && l.contains(" @ ");
        let mut from = lines.iter().position(called).expect("callbacks");
        for (i, end) in ends(&lines).into_iter().enumerate() {
            if end <= from {
                continue;
            }
            if i % 6 >= tries(6) {
                from = end + 1;
                continue;
            }
            let cut = from + 1 + r.below((end - from) as u64) as usize;
            let left = [&lines[..from], &lines[cut..]].concat().join("\n");
            holds(&left, whole, &format!("without lines {from} to {cut}"));
            holds(&lines[cut..].join("\n"), whole, &format!("without all lines up to {cut}"));
            from = end + 1;
        }
    }
}

#[test]
fn a_log_of_several_printers_claims_no_more() {
    // Lines of several CPUs stand in the order in which each got hold of the buffer:
    // neighbours change places, and each keeps its time. And a console thread prints
    // what somebody else says in between.
    for (text, whole) in cases().iter().chain(real()) {
        for seed in 0..tries(4) as u64 {
            let mut lines: Vec<&str> = text.lines().collect();
            let mut r = Random::new(seed);
            for i in 1..lines.len() {
                if r.chance(1, 10) {
                    lines.swap(i - 1, i);
                }
            }
            let other = |l: &&str| -> Vec<String> {
                let stamp = l.split(']').next().filter(|s| s.starts_with('[') && s.len() < 20);
                let said = stamp.map(|s| format!("{s}] usb 1-1: reset device number 3"));
                [l.to_string()].into_iter().chain(said).collect()
            };
            let more: Vec<String> = lines.iter().flat_map(other).collect();
            holds(&lines.join("\n"), whole, &format!("several printers {seed}"));
            holds(&more.join("\n"), whole, &format!("another speaker {seed}"));
        }
    }
}

#[test]
fn cycles_of_two_machines_claim_no_more_than_the_first() {
    let all = cases();
    for (a, b) in [(0, 1), (1, 0)] {
        let (first, second) = (&all[a].0, &all[b].0);
        let cut = |text: &str, part: usize| {
            let lines: Vec<&str> = text.lines().collect();
            let at = ends(&lines)[part];
            (lines[..=at].join("\n"), lines[at + 1..].join("\n"))
        };
        // The way down of one and the way up of another.
        for part in 0..5 {
            let text = format!("{}\n{}", cut(first, part).0, cut(second, part).1);
            let read = dormouse_read::read_bytes("mixed", text.as_bytes(), &Options::default());
            let found = read.map(|r| r.captures).unwrap_or_default();
            for capture in &found {
                let Some(p) = answer(capture, 2) else { continue };
                // Neither machine: no half of it is one that anybody has.
                let said = [Direction::Suspend, Direction::Resume].map(|d| p.claimed(d));
                assert!(said.contains(&None), "{part} phases of {a}, the rest of {b}: {said:?}");
            }
        }
    }
}
