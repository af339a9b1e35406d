//! Since when nights are worse, and what else changed there.

use super::{Night, Row};
use dormouse_base::stats::change::{Change, changes};
use dormouse_base::stats::describe::mean;
use std::collections::BTreeMap;

/// What is asked of each night.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// What it drew, in mW, or in thousandths of a per cent an hour where no gauge tells watts.
    Drain,
    /// Thousandths of it in hardware sleep.
    Hardware,
    /// Wake-ups after which it slept again.
    Wakes,
    /// Attempts that failed.
    Failures,
    /// Time of a resume, ms.
    Resume,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 5] =
        [Measure::Drain, Measure::Hardware, Measure::Wakes, Measure::Failures, Measure::Resume];

    /// As JSON names it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Drain => "drain",
            Measure::Hardware => "hardware_sleep",
            Measure::Wakes => "wakes",
            Measure::Failures => "failures",
            Measure::Resume => "resume",
        }
    }

    /// Whether a step between two levels is more than a curiosity.
    fn matters(self, before: f64, after: f64) -> bool {
        let by = (after - before).abs();
        let share = by / before.max(after).max(f64::MIN_POSITIVE);
        match self {
            Measure::Drain => share >= 0.15,
            Measure::Hardware => by >= 50.0,
            Measure::Wakes => by >= 0.5,
            Measure::Failures => by >= 0.2,
            Measure::Resume => share >= 0.15 && by >= 50.0,
        }
    }
}

/// The share of histories without a change that are said to have one: of all measures.
pub const FALSE_ALARMS: f64 = 0.01;
/// Fewer nights can prove no change at that level: with 13, 7 after 6 all beyond them, two of
/// 1,716 orders are as extreme.
pub const NEEDED: usize = 13;
/// Nights that are looked at, the newest.
const LAST: usize = 1_000;

/// A change of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    /// Of what.
    pub measure: Measure,
    /// The first night of the new level.
    pub night: usize,
    /// It is one of these nights with 95 % confidence; both ends belong to it.
    pub range: (usize, usize),
    /// How often chance does the same.
    pub p: f64,
    /// The level before, in the unit of the measure: a median; of counts the mean.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// The drain is in thousandths of a per cent an hour.
    pub percent: bool,
    /// It is worse since.
    pub worse: bool,
    /// What has another version since a night of the range.
    pub with: Vec<Renewed>,
}

/// A version that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The first night with the new one.
    pub night: usize,
    /// `kernel`.
    pub name: String,
    /// The version before; empty if it was not there.
    pub from: String,
    /// And since; empty if it is not there any more.
    pub to: String,
}

/// The changes of nights, in their order.
pub fn since(rows: &[Row], nights: &[Night]) -> Vec<Since> {
    let renewed = renewed(rows, nights);
    let mut out: Vec<Since> =
        Measure::ALL.iter().flat_map(|m| of_measure(*m, nights, &renewed)).collect();
    out.sort_by_key(|s| (s.night, !s.worse));
    out
}

/// Of how many nights a measure is known.
pub fn known(measure: Measure, nights: &[Night]) -> usize {
    values(measure, nights).0.len()
}

/// The measure of each night that has it, with the night's number, and whether it is a share.
fn values(measure: Measure, nights: &[Night]) -> (Vec<(usize, f64)>, bool) {
    let of = |f: &dyn Fn(&Night) -> Option<i64>| -> Vec<(usize, f64)> {
        let skip = nights.len().saturating_sub(LAST);
        let all = nights.iter().enumerate().skip(skip);
        all.filter_map(|(i, n)| Some((i, f(n)? as f64))).collect()
    };
    match measure {
        Measure::Drain => {
            let watts = of(&|n| n.drain?.microwatts.map(|w| w / 1_000));
            let share = of(&|n| n.drain?.an_hour);
            let percent = share.len() > watts.len();
            (if percent { share } else { watts }, percent)
        }
        Measure::Hardware => (of(&|n| n.hardware), false),
        Measure::Wakes => (of(&|n| (n.slept_ms > 0).then_some(n.wakes)), false),
        Measure::Failures => (of(&|n| Some(n.failed)), false),
        Measure::Resume => (of(&|n| n.resume_ms), false),
    }
}

fn of_measure(measure: Measure, nights: &[Night], renewed: &[Renewed]) -> Vec<Since> {
    let (known, percent) = values(measure, nights);
    let plain: Vec<f64> = known.iter().map(|v| v.1).collect();
    let level = FALSE_ALARMS / Measure::ALL.len() as f64;
    let found: Vec<Change> = changes(&plain, level);
    let counts = matches!(measure, Measure::Wakes | Measure::Failures);
    let edge = |i: Option<usize>, none: usize| i.and_then(|i| found.get(i)).map_or(none, |c| c.at);
    let mut out = Vec::new();
    for (i, c) in found.iter().enumerate() {
        let from = i.checked_sub(1).map_or(0, |i| found[i].at);
        let to = edge(Some(i + 1), plain.len());
        let (before, after) = match counts {
            // The middle of counts is most often 0.
            true => (mean(&plain[from..c.at]), mean(&plain[c.at..to])),
            false => (c.before, c.after),
        };
        if !measure.matters(before, after) {
            continue;
        }
        // Nights of which the measure is not known may be the first of the new level.
        let low = c.range.0.checked_sub(1).map_or(0, |i| known[i].0 + 1);
        let range = (low, known[c.range.1].0);
        out.push(Since {
            measure,
            night: known[c.at].0,
            range,
            p: c.p,
            before,
            after,
            percent,
            worse: (after > before) != (measure == Measure::Hardware),
            with: renewed
                .iter()
                .filter(|r| (range.0..=range.1).contains(&r.night))
                .cloned()
                .collect(),
        });
    }
    out
}

/// Versions that are others than in the night before that knew any.
fn renewed(rows: &[Row], nights: &[Night]) -> Vec<Renewed> {
    let mut out = Vec::new();
    let mut last = None;
    for (night, n) in nights.iter().enumerate() {
        let of = &rows[n.first].versions;
        if of.is_empty() {
            continue;
        }
        if let Some(before) = last.replace(of) {
            let names = of.keys().chain(before.keys().filter(|k| !of.contains_key(*k)));
            for name in names {
                let at = |m: &BTreeMap<String, String>| m.get(name).cloned().unwrap_or_default();
                let (from, to) = (at(before), at(of));
                if from != to {
                    out.push(Renewed { night, name: name.clone(), from, to });
                }
            }
        }
    }
    out
}
