//! Sleeps that older logs tell of, as rows.

use super::Row;
use crate::case::Case;
use crate::message::timekeeping;
use crate::rules::irq;
use crate::rules::night::turns::{Turn, turns, was_refused};
use dormouse_base::time::Ns;

/// Who tells of rows that logs filled.
pub const LOG: &str = "log";
/// 2005, in ms: readers put logs that name no year into an earlier one.
const DATED: i64 = 1_104_537_600_000;

/// The sleeps of a log by the wall clock, and how many have no date with a year.
pub fn rows(case: &Case) -> (Vec<Row>, usize) {
    let (dated, undated): (Vec<Turn<'_>>, Vec<Turn<'_>>) =
        turns(case).into_iter().partition(|t| t.from >= DATED);
    (dated.iter().map(|t| row(case, t)).collect(), undated.len())
}

fn row(case: &Case, t: &Turn<'_>) -> Row {
    let first = case.messages.partition_point(|m| m.line < t.begin.line);
    let end = case.messages.partition_point(|m| m.line <= t.end.line);
    let inside = case.messages.get(first..end).unwrap_or_default();
    let refused = was_refused(case, t);
    let stood: Vec<Ns> = inside.iter().filter_map(timekeeping).collect();
    let stood: Option<Ns> = (!stood.is_empty()).then(|| stood.into_iter().sum());
    let attempt = case.attempts.iter().find(|a| (first..end.max(first + 1)).contains(&a.first));
    let version = |m: &crate::message::Message| {
        m.after("Linux version ").and_then(|r| r.split(' ').next()).map(str::to_string)
    };
    let kernel = case.messages.get(..first).unwrap_or_default().iter().rev().find_map(version);
    // Whoever keeps a log may be frozen before he writes that it begins: the kernel's clock and
    // how long that stood tell when it did.
    let ran = inside.first().and_then(|m| m.time).zip(inside.last().and_then(|m| m.time));
    let trip = stood.zip(ran).map(|(s, (from, to))| (s + to.since(from)).0 / 1_000_000);
    Row {
        began_ms: trip.filter(|ms| *ms > t.to - t.from).map_or(t.from, |ms| t.to - ms),
        ended_ms: Some(t.to),
        source: LOG.into(),
        mode: attempt.map_or(String::new(), |a| a.mode.clone()),
        slept_ms: stood.map(|s| s.0 / 1_000_000).or(refused.then_some(0)),
        succeeded: Some(i64::from(!refused)),
        failed: Some(i64::from(refused)),
        waker: irq::named_in(inside).into_iter().next().unwrap_or_default(),
        versions: kernel.map(|k| ("kernel".to_string(), k)).into_iter().collect(),
        ..Row::default()
    }
}
