//! The rules, a file an area. Each names the messages it rests on.

mod abort;
mod clock;
mod freezer;
mod hibernation;
mod mode;
mod phase;
mod rpm;
mod sync;

use crate::Case;
use crate::finding::{Advice, Area, Confidence, Evidence, Finding, Level, Unchecked};
use crate::message::Message;
use alloc::string::String;
use alloc::vec::Vec;

/// A rule reads the case and adds what it finds.
type Rule = fn(&Case, &mut Vec<Finding>);

/// All rules.
pub const ALL: [Rule; 8] = [
    freezer::judge,
    abort::judge,
    clock::judge,
    mode::judge,
    phase::judge,
    hibernation::judge,
    sync::judge,
    rpm::judge,
];

/// A finding without advice and cost.
fn found(
    (id, area, level): (&'static str, Area, Level),
    confidence: Confidence,
    sentence: String,
    evidence: Vec<Evidence>,
) -> Finding {
    Finding { id, area, level, sentence, evidence, advice: Vec::new(), costs: None, confidence }
}

impl Finding {
    fn with(mut self, advice: Advice) -> Finding {
        self.advice.push(advice);
        self
    }
}

/// Evidence of `messages`, at most three of them.
fn lines<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Evidence> {
    messages.into_iter().take(3).map(Evidence::from).collect()
}

/// Checks that this text cannot answer.
pub fn unchecked(case: &Case) -> Vec<Unchecked> {
    let has = |word: &str| case.messages.iter().any(|m| m.has(word));
    let mut out = Vec::new();
    if !case.attempts.is_empty() && !mode::has_counters(case) {
        out.push(Unchecked {
            what: "whether the hardware slept",
            why: "the text shows no counter: add /sys/power/suspend_stats/last_hw_sleep, read after the sleep",
        });
    }
    if !case.attempts.is_empty() && !has("calling ") {
        out.push(Unchecked {
            what: "which device takes the time",
            why: "no callbacks: boot with initcall_debug, or dormouse record",
        });
    }
    if !has("rpm_resume") && !case.values.iter().any(|v| v.name() == "runtime_status") {
        out.push(Unchecked {
            what: "runtime power management",
            why: "the text shows no device's power/ folder and no rpm events",
        });
    }
    out
}
