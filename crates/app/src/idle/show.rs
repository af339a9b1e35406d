//! What inputs say of idle states.

use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_idle::beside::{Beside, Measurement, beside, just_two};
use dormouse_idle::late;
use dormouse_idle::pack::{Packed, packed};
use dormouse_idle::snapshot::Snapshot;
use dormouse_read::Given;
use dormouse_read::idle::{IdleReading, Keep};
use dormouse_words::text::safe;
use std::rc::Rc;

/// Inputs, read.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All that was read.
    pub reading: Rc<IdleReading>,
    /// What was counted between the two snapshots, if there are two and the
    /// second is the later one of the same machine.
    pub difference: Option<Snapshot>,
    /// Two measurements of one kind beside each other, if there are just two.
    pub beside: Option<Beside>,
    /// Two tests of wake-ups beside each other, if there are just two.
    pub late: Option<late::Beside>,
    /// What work comes to on fewer CPUs, by trace; empty if not asked for.
    pub packed: Vec<Vec<Packed>>,
}

/// Reads what `inputs` say of idle states. With `packing` it also says what the
/// work of all CPUs comes to on fewer of them; memory then grows with the trace.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none speaks of idle states.
pub fn show(given: &Given, packing: bool) -> Result<Shown> {
    let keep = if packing { Keep::Episodes } else { Keep::Counts };
    shown(given, packing, keep)
}

/// The same with every sleep, for the page of the report.
///
/// # Errors
/// As [`show`].
pub fn show_sleeps(given: &Given) -> Result<Shown> {
    shown(given, false, Keep::Episodes)
}

fn shown(given: &Given, packing: bool, keep: Keep) -> Result<Shown> {
    let reading = given.idle(keep)?;
    if packing && reading.traces.iter().all(|t| t.episodes.len() < 2) {
        let why = "--pack needs a trace with the sleeps of several CPUs";
        return Err(Usage(why.into()).into());
    }
    if !reading.speaks_besides_traces() && reading.traces.iter().all(|t| t.tally.sleeps() == 0) {
        let mut why = String::from("no idle states in the input");
        for l in &reading.losses.list {
            why += &format!("\n  {}: {}", l.severity.name(), safe(&l.advice));
        }
        return Err(Nothing(why).into());
    }
    let difference = match &reading.snapshots[..] {
        // Counters that ran backwards are of another boot or another machine.
        [before, after] => {
            after.since(before).ok().filter(|(_, backwards)| *backwards == 0).map(|(d, _)| d)
        }
        _ => None,
    };
    let traces = reading.traces.iter().filter(|_| packing);
    let packed = traces.map(packed).collect();
    let late = match &reading.late[..] {
        [a, b] => late::beside(a, b),
        _ => None,
    };
    let (runs, traces, dumps) = (&reading.runs, &reading.traces, &reading.snapshots);
    let beside = just_two(runs, traces, dumps, difference.is_some());
    Ok(Shown { reading, difference, beside, late, packed })
}

/// Measurements of idle states in two inputs beside each other: of tables of turbostat,
/// else of traces, else of dumps, the first of each; nothing if they have none in common.
///
/// # Errors
/// If an input cannot be read.
pub fn compare(sides: [&Given; 2], labels: [&str; 2]) -> Result<Option<Beside>> {
    let (a, b) = (sides[0].idle(Keep::Counts)?, sides[1].idle(Keep::Counts)?);
    let first = |r: &IdleReading, kind: usize| -> Option<Measurement> {
        match kind {
            0 => r.runs.first().map(Measurement::of_run),
            1 => r.traces.iter().find(|t| t.tally.sleeps() > 0).map(Measurement::of_trace),
            _ => r.snapshots.first().map(Measurement::of_snapshot),
        }
    };
    let both = (0..3).find_map(|kind| first(&a, kind).zip(first(&b, kind)));
    let named = |m: Measurement, label: &str| Measurement { label: label.into(), ..m };
    Ok(both.and_then(|(a, b)| beside(&named(a, labels[0]), &named(b, labels[1]))))
}

/// Whether one answer of an input is that there are no idle states: nothing can be put beside it.
///
/// # Errors
/// If the input cannot be read.
pub fn says_none(given: &Given) -> Result<bool> {
    Ok(!given.idle(Keep::Counts)?.absent.is_empty())
}

/// The two measurements of idle states in one input beside each other; nothing if there are no
/// two.
///
/// # Errors
/// If the input cannot be read.
pub fn compare_one(given: &Given) -> Result<Option<Beside>> {
    let r = given.idle(Keep::Counts)?;
    let slept = r.traces.iter().filter(|t| t.tally.sleeps() > 0);
    let traces: Vec<_> = slept.cloned().collect();
    let found = just_two(&r.runs[..r.runs.len().min(2)], &traces, &r.snapshots, false);
    // Counters that only grew hold what the first dump says: what came after it is compared.
    let [before, after] = &r.snapshots[..] else { return Ok(found) };
    let later = after.since(before).ok().filter(|(_, backwards)| *backwards == 0);
    let Some((later, _)) = later.filter(|_| r.runs.is_empty() && traces.is_empty()) else {
        return Ok(found);
    };
    let named = |s: &Snapshot, label: &str| Measurement {
        label: label.into(),
        ..Measurement::of_snapshot(s)
    };
    let since = "between the two dumps";
    Ok(beside(&named(before, "until the first dump"), &named(&later, since)).or(found))
}

/// Tests of how late wake-ups come, of two inputs beside each other: the first of each.
///
/// # Errors
/// If an input cannot be read.
pub fn compare_late(sides: [&Given; 2], labels: [&str; 2]) -> Result<Option<late::Beside>> {
    let (a, b) = (sides[0].idle(Keep::Counts)?, sides[1].idle(Keep::Counts)?);
    let found = a.late.first().zip(b.late.first()).and_then(|(a, b)| late::beside(a, b));
    Ok(found.map(|f| late::Beside { labels: labels.map(String::from), ..f }))
}

/// The first two tests of one input beside each other.
///
/// # Errors
/// If the input cannot be read.
pub fn compare_late_one(given: &Given) -> Result<Option<late::Beside>> {
    let r = given.idle(Keep::Counts)?;
    Ok(r.late.first().zip(r.late.get(1)).and_then(|(a, b)| late::beside(a, b)))
}
