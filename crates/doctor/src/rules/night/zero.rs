//! Counters of hardware sleep that say nothing of a sleep: one that stands at 0, where no sleep
//! is shown that it could have counted, and a share that no time has.

use super::required::told_depth;
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::night::round::End;
use crate::night::table::{PLATFORM, is_impossible};
use crate::night::{Counts, Fact, Item};
use crate::rules::platform::percent;

/// The rules: neither finds a fault, and both forbid to say that nothing is wrong.
pub(crate) const RULES: [&str; 2] = ["mode-zero", "mode-no-share"];

/// What stands in the text of a counter of the whole platform: its name, and whether it is 0.
fn platform(item: &Item) -> Option<(&str, bool)> {
    match &item.fact {
        Fact::Count(c) if matches!(c.of, Counts::System | Counts::Substate) => {
            Some((&c.name, c.value == 0))
        }
        Fact::Share { name, thousandths } => Some((name, *thousandths == 0)),
        _ => None,
    }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    no_share(case, out);
    at_zero(case, out);
}

fn at_zero(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(&Item, &str, bool)> = case
        .night
        .items
        .iter()
        .filter_map(|i| platform(i).map(|(name, zero)| (i, name, zero)))
        .collect();
    // They count s2idle alone.
    let other = |mode: &str| matches!(mode, "deep" | "hibernation");
    let deep_only =
        !case.attempts.is_empty() && case.attempts.iter().all(|a| other(a.mode.as_str()));
    if all.is_empty() || all.iter().any(|r| !r.2) || deep_only || told_depth(out) {
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    for (_, name, _) in &all {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let told = slept(case, all[0].0.line);
    let shallow = |f: &Fact| matches!(f, Fact::Round(r) if r.end == End::Shallow);
    let tested = case.night.items.iter().any(|i| shallow(&i.fact));
    let said = match &names[..] {
        // Of a measurement, and not of all since the start.
        [PLATFORM] => format!(
            "{PLATFORM} is 0: the platform did not sleep while that was measured. Awake that is as it should be; over an s2idle sleep it slept in name only. No line that was read shows over which it was."
        ),
        names => format!(
            "The platform's own {} at 0 ({}): of its hardware's sleep nothing was counted since the start. Before the first s2idle sleep that is as it should be; behind one it slept in name only. {}",
            if names.len() > 1 { "counters of sleep stand" } else { "counter of sleep stands" },
            names.join(", "),
            match told {
                Some(_) => "The writer speaks of a sleep before that.",
                None if tested => "A test of s2idle in the text says so of its own.",
                None => "No line that was read shows such a sleep.",
            }
        ),
    };
    let (level, sure) = match (&names[..], told) {
        ([PLATFORM], _) | (_, None) => (Level::Note, Confidence::Certain),
        (_, Some(_)) => (Level::Risk, Confidence::Guess),
    };
    let f = Finding::new((RULES[0], Area::Mode, level), sure)
        .says(said)
        .shown_by(told.map(|m| Evidence { doubtful: true, ..Evidence::from(m) }))
        .look("Read it again right behind an s2idle sleep of a minute: rtcwake -m freeze -s 60.")
        .shown_by(all.iter().take(3).map(|r| Evidence::from(r.0)));
    out.push(f);
}

/// The sentence of the writer above a line that says that the machine was put to sleep: of what
/// he did, and not of what a machine should do.
fn slept(case: &Case, line: u64) -> Option<&Message> {
    const DID: [&str; 8] = [
        "after suspend",
        "after sleep",
        "after resum",
        "into suspend",
        "to sleep",
        "suspended",
        "wake the",
        "woke",
    ];
    let above = case.messages.iter().filter(|m| m.trust == Trust::Prose && m.line < line);
    above.into_iter().find(|m| {
        let lower = m.text.to_ascii_lowercase();
        let open = ["before", "should", "?", "never", "without", "not "];
        DID.iter().any(|w| lower.contains(w)) && !open.iter().any(|w| lower.contains(w))
    })
}

/// A share of turbostat's that no time has: the counter fell between its two readings, and the
/// difference was taken for a number without sign.
fn no_share(case: &Case, out: &mut Vec<Finding>) {
    let share = |f: &Fact| match f {
        Fact::Share { thousandths, .. } => Some(*thousandths),
        Fact::Shares(s) => s.get(PLATFORM),
        _ => None,
    };
    let mut all = case.night.of(share).filter(|s| is_impossible(s.1));
    let Some((item, figure)) = all.next() else { return };
    let figure = match u64::try_from(figure) {
        Ok(n) => percent(n),
        Err(_) => "less than 0 %".into(),
    };
    let f = Finding::new((RULES[1], Area::Mode, Level::Note), Confidence::Certain)
        .says(format!(
            "{PLATFORM} of {figure} is no share of a time: the counter behind it fell between its two readings, as one does that the firmware clears. So this figure does not tell whether the platform slept."
        ))
        .look("Read low_power_idle_system_residency_us before and after the sleep instead.")
        .shown_by([Evidence::from(item)]);
    out.push(f);
}
