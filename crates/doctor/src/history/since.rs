//! Since when nights are worse, and what else changed there.

use super::past::LOG;
use super::{Kind, Night, Row};
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

    /// Whether the second of two levels is the worse one.
    fn is_worse(self, before: f64, after: f64) -> bool {
        (after > before) != (self == Measure::Hardware)
    }

    /// Whether a step between two levels is more than a curiosity.
    fn matters(self, before: f64, after: f64) -> bool {
        let by = (after - before).abs();
        let share = by / before.max(after).max(f64::MIN_POSITIVE);
        match self {
            Measure::Drain => share >= DRAIN,
            Measure::Hardware => by >= HARDWARE,
            Measure::Wakes => by >= WAKES,
            Measure::Failures => by >= FAILURES,
            Measure::Resume => share >= RESUME && by >= RESUME_MS,
        }
    }
}

/// Smaller steps are not told, however certain. All are chosen: less, a person would
/// not act on. A share of the greater level:
const DRAIN: f64 = 0.15;
/// Thousandths of hardware sleep.
const HARDWARE: f64 = 50.0;
/// A night: a wake-up in every second,
const WAKES: f64 = 0.5;
/// a failed attempt in every fifth.
const FAILURES: f64 = 0.2;
/// A share of the greater level, and
const RESUME: f64 = 0.15;
/// ms: less is not felt.
const RESUME_MS: f64 = 50.0;

/// The share of histories without a change that are said to have one: of all measures, at one
/// look. Whoever looks again and again at one that grows sees more.
pub const FALSE_ALARMS: f64 = 0.01;
/// Fewer nights can prove no change at that level: with 13, 7 after 6 all beyond them, two of
/// 1,716 orders are as extreme.
pub const NEEDED: usize = 13;
/// Nights that are looked at, the newest (chosen: almost three years).
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

/// Whether nights are worse now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<'a> {
    /// They are, since this step: a later one did not undo it. The level of its measure now is
    /// beside it.
    Worse(&'a Since, f64),
    /// They are not; the newest step was to the better.
    Better(&'a Since),
    /// Nothing is shown.
    Same,
}

/// What steps come to, in the order of their nights: a step to the worse stands as long as the
/// newest level of its measure is worse than the one before it.
pub fn verdict(all: &[Since]) -> Verdict<'_> {
    let now = |s: &Since| {
        let last = all.iter().rev().find(|l| l.measure == s.measure);
        last.map_or(s.after, |l| l.after)
    };
    let stands = |s: &&Since| {
        let (now, m) = (now(s), s.measure);
        s.worse && m.matters(s.before, now) && m.is_worse(s.before, now)
    };
    let standing: Vec<&Since> = all.iter().filter(stands).collect();
    let newest = standing.last().and_then(|l| standing.iter().find(|s| s.night == l.night));
    match (newest, all.iter().rev().find(|s| !s.worse)) {
        (Some(s), _) => Verdict::Worse(s, now(s)),
        (None, Some(s)) => Verdict::Better(s),
        (None, None) => Verdict::Same,
    }
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
        // A night that was cut short would have had more of them.
        Measure::Wakes => {
            (of(&|n| (n.slept_ms > 0 && n.kind != Kind::Cut).then_some(n.wakes)), false)
        }
        Measure::Failures => (of(&|n| (n.kind != Kind::Cut).then_some(n.failed)), false),
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
            worse: measure.is_worse(before, after),
            with: renewed
                .iter()
                .filter(|r| (range.0..=range.1).contains(&r.night))
                .cloned()
                .collect(),
        });
    }
    out
}

/// Versions that are others than those known before. A log knows the kernel alone: what it does
/// not name is neither new nor gone.
fn renewed(rows: &[Row], nights: &[Night]) -> Vec<Renewed> {
    let mut out = Vec::new();
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    let mut is_full = false;
    for (night, n) in nights.iter().enumerate() {
        let row = &rows[n.first];
        if row.versions.is_empty() {
            continue;
        }
        let mut say = |name: &str, from: &str, to: &str| {
            out.push(Renewed { night, name: name.into(), from: from.into(), to: to.into() });
        };
        for (name, to) in &row.versions {
            match last.insert(name, to) {
                Some(from) if from != to => say(name, from, to),
                None if is_full => say(name, "", to),
                _ => {}
            }
        }
        if row.source != LOG {
            last.retain(|name, from| {
                let is_there = row.versions.contains_key(*name);
                if !is_there {
                    say(name, from, "");
                }
                is_there
            });
            is_full = true;
        }
    }
    out
}
