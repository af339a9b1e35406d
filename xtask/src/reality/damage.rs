//! Good recordings, damaged: what is claimed of them is never more than what
//! the whole recording gives.

use super::settings;
use crate::accuracy::recorded;
use crate::truth::log::log;
use dormouse_model::capture::Capture;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_read::Options;
use dormouse_sleep::evidence::machine;
use dormouse_sleep::simulate::change::{Change, Ratio};
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Prediction, Question, Scheduler, predict};
use dormouse_stats::random::Random;

/// What is predicted of `capture` on the newest kernel, or on its own if every
/// callback took half of its time; `None` if there is nothing to predict from.
fn answer(capture: &Capture, newest: bool) -> Option<Prediction> {
    let found = machine(capture, None).ok()?;
    let settings = settings();
    let (policy, kernel) = choose("7.3").expect("a kernel");
    let then = if newest { Scheduler { policy, kernel } } else { found.scheduler };
    let changes = if newest { vec![] } else { vec![Change::Scale("*".into(), HALF)] };
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

/// What is claimed to be saved in `phase`.
fn claimed(p: &Prediction, phase: Phase) -> Ns {
    let saved = p.before.phase(phase) - p.changed_to(phase);
    if p.claims(phase) { saved.max(Ns::ZERO) } else { Ns::ZERO }
}

/// No phase of the log `text` may claim more than the whole recording gives, by
/// more than what counts as reproduced.
fn holds(text: &str, whole: &[Prediction; 2], what: &str) -> usize {
    let read = dormouse_read::read_bytes("damaged.dmesg", text.as_bytes(), &Options::default());
    let Ok(reading) = read else { return 0 };
    let mut claims = 0;
    let both = |c: &Capture| [true, false].map(|newest| answer(c, newest));
    let all = reading.captures.iter().flat_map(|c| both(c).into_iter().zip(whole));
    for (p, whole) in all.filter_map(|(p, whole)| Some((p?, whole))) {
        for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
            let (is, may) = (claimed(&p, phase), claimed(whole, phase));
            let off = Ns::from_ms(1).max(Ns(whole.before.phase(phase).0 * 3 / 100));
            assert!(is <= may + off, "{what}: {} claims {is}, the whole gives {may}", phase.name());
            claims += usize::from(is > Ns::ZERO);
        }
    }
    claims
}

fn cases() -> Vec<(String, [Prediction; 2])> {
    let of = |name: &str| {
        let file = format!("{}/../captures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let capture = recorded::capture(&file).expect("a capture of the repository");
        let whole = [true, false].map(|newest| answer(&capture, newest).expect("a prediction"));
        (log(&capture, |i| i == 1), whole)
    };
    ["am335x-6.12", "laptop-6.12"].map(of).into()
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
        for _ in 0..40 {
            let from = r.below(lines.len() as u64 / 2) as usize;
            let to = from + 1 + r.below((lines.len() - from) as u64) as usize;
            let part = lines[from..to.min(lines.len())].join("\n");
            holds(&part, &whole, &format!("lines {from} to {to}"));
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
            for _ in 0..6 {
                let cut = from + 1 + r.below((end - from).max(1) as u64) as usize;
                let left = [&lines[..from], &lines[cut..]].concat().join("\n");
                holds(&left, &whole, &format!("without lines {from} to {cut}"));
                let left = lines[cut..].join("\n");
                holds(&left, &whole, &format!("without all lines up to {cut}"));
            }
            from = end + 1;
        }
    }
}

#[test]
fn a_shuffled_log_claims_no_more() {
    for (text, whole) in cases() {
        for seed in 0..20 {
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
            holds(&lines.join("\n"), &whole, &format!("shuffled with {seed}"));
        }
    }
}

#[test]
fn a_doubled_log_claims_no_more() {
    for (text, whole) in cases() {
        let each: Vec<&str> = text.lines().flat_map(|l| [l, l]).collect();
        holds(&each.join("\n"), &whole, "each line twice");
        holds(&format!("{text}\n{text}"), &whole, "all of it twice");
    }
}

#[test]
fn a_log_without_its_version_claims_no_more() {
    for (text, whole) in cases() {
        let kept: Vec<&str> = text.lines().filter(|l| !l.contains("Linux version")).collect();
        assert!(kept.len() < text.lines().count(), "the log names its kernel");
        holds(&kept.join("\n"), &whole, "without the version");
    }
}
