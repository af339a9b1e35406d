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
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Prediction, Question, Scheduler, predict};
use dormouse_stats::random::Random;

/// What the newest kernel is predicted to do for `capture`; `None` if there is
/// nothing to predict from.
fn newest(capture: &Capture) -> Option<Prediction> {
    let found = machine(capture, None).ok()?;
    let settings = settings();
    let (policy, kernel) = choose("7.3").expect("a kernel");
    let question = Question {
        derived: &found.derived,
        now: found.scheduler,
        then: Scheduler { policy, kernel },
        changes: &[],
        settings: &settings,
        fidelity: &found.check(capture, &settings),
        seed: 1,
        samples: 0,
    };
    predict(&question).ok()
}

/// What is claimed to be saved in `phase`.
fn claimed(p: &Prediction, phase: Phase) -> Ns {
    let saved = p.before.phase(phase) - p.after.phase(phase);
    if p.claims(phase) { saved.max(Ns::ZERO) } else { Ns::ZERO }
}

/// No phase of the log `text` may claim more than the whole recording gives, by
/// more than what counts as reproduced.
fn holds(text: &str, whole: &Prediction, what: &str) -> usize {
    let read = dormouse_read::read_bytes("damaged.dmesg", text.as_bytes(), &Options::default());
    let Ok(reading) = read else { return 0 };
    let mut claims = 0;
    for p in reading.captures.iter().filter_map(newest) {
        for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
            let (is, may) = (claimed(&p, phase), claimed(whole, phase));
            let off = Ns::from_ms(1).max(Ns(whole.before.phase(phase).0 * 3 / 100));
            assert!(is <= may + off, "{what}: {} claims {is}, the whole gives {may}", phase.name());
            claims += usize::from(is > Ns::ZERO);
        }
    }
    claims
}

fn cases() -> Vec<(String, Prediction)> {
    let of = |name: &str| {
        let file = format!("{}/../captures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let capture = recorded::capture(&file).expect("a capture of the repository");
        let whole = newest(&capture).expect("a prediction");
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
