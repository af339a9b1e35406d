//! A sleep as a whole, by the lines of services and of the kernel beside them: from the request
//! to a machine that can be used, as rows that add up.
//!
//! | row | from | until |
//! |---|---|---|
//! | before | somebody asks (logind, the lid, a key) | systemd-sleep begins |
//! | hooks down | systemd-sleep begins | the kernel begins |
//! | kernel | the kernel begins | it is back: its two halves, firmware, and the time asleep |
//! | what follows | each of these in the order in which it came: the session, the unit's end, the link, the address, the screen, a program's own mark | |
//!
//! A row of which the text has no begin or no end is part of its neighbour, which then says from
//! and until which of them it is.

pub mod beside;
pub mod budget;
pub(crate) mod firmware;
pub mod pieces;
pub mod ready;

use crate::case::Case;
use crate::rules::abort::ended_early;
use crate::rules::way::network::{SOON, taken_back};
use crate::way::{Kind, Step, interface};
use dormouse_base::mark::Name;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a sleep has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Somebody asked for it.
    Asked,
    /// systemd-sleep, elogind or pm-utils began.
    Service,
    /// The kernel began.
    Kernel,
    /// The kernel was back.
    Back,
    /// The session ran again.
    Session,
    /// The unit of the sleep ended, with its hooks.
    Unit,
    /// The screen was on.
    Screen,
    /// The network had its link.
    Link,
    /// The network had its address.
    Address,
    /// A program said that it was ready.
    App(Name),
}

impl Mark {
    /// Behind the kernel's return, as `check --ready` names them and their gates.
    pub const AFTER: [(&'static str, &'static str, Mark); 5] = [
        ("session", "ready-session", Mark::Session),
        ("unit", "ready-unit", Mark::Unit),
        ("screen", "ready-screen", Mark::Screen),
        ("link", "ready-link", Mark::Link),
        ("net", "ready-net", Mark::Address),
    ];

    /// In words, behind "until".
    pub fn name(self) -> Cow<'static, str> {
        let text = match self {
            Mark::App(name) => return format!("{name} was ready").into(),
            Mark::Asked => "somebody asked",
            Mark::Service => "the service of the sleep began",
            Mark::Kernel => "the kernel began",
            Mark::Back => "the kernel was back",
            Mark::Session => "the session ran again",
            Mark::Unit => "the unit of the sleep ended",
            Mark::Screen => "the screen was on",
            Mark::Link => "the network had its link",
            Mark::Address => "the network had its address",
        };
        text.into()
    }

    /// As documents name it.
    fn key(self) -> Cow<'static, str> {
        let text = match self {
            Mark::Asked => "asked",
            Mark::Service => "service",
            Mark::Kernel => "kernel",
            Mark::Back => "back",
            Mark::Session => "session",
            Mark::Unit => "unit",
            Mark::Screen => "screen",
            Mark::Link => "link",
            Mark::Address => "address",
            Mark::App(name) => return format!("{APP}{name}").into(),
        };
        text.into()
    }

    /// As it is asked for.
    pub fn asked(self) -> Cow<'static, str> {
        Mark::AFTER.iter().find(|m| m.2 == self).map_or_else(|| self.key(), |m| m.0.into())
    }

    /// What its gate is called.
    pub(crate) fn gate(self) -> Cow<'static, str> {
        let app = || self.asked().replace(':', "-");
        let own = Mark::AFTER.iter().find(|m| m.2 == self).map(|m| m.1.into());
        own.unwrap_or_else(|| format!("ready-{}", app()).into())
    }

    /// What is asked for by this name.
    pub fn find(name: &str) -> Option<Mark> {
        if let Some(app) = name.strip_prefix(APP) {
            return Name::new(app).ok().map(Mark::App);
        }
        Mark::AFTER.into_iter().find(|m| m.0 == name).map(|m| m.2)
    }

    pub(crate) fn of(s: &Step) -> Option<Mark> {
        Some(match s.kind {
            Kind::Asked => Mark::Asked,
            Kind::Sleeps => Mark::Service,
            Kind::Entry => Mark::Kernel,
            Kind::Back => Mark::Back,
            Kind::Thawed => Mark::Session,
            Kind::Ended => Mark::Unit,
            Kind::Link => Mark::Link,
            Kind::Address => Mark::Address,
            Kind::App => Mark::App(Name::of_line(&s.text)?),
            Kind::Took(_) if s.text.contains("Screen on took") => Mark::Screen,
            _ if s.text.contains("Enabling monitor ") => Mark::Screen,
            _ => return None,
        })
    }
}

/// How marks of programs are asked for.
const APP: &str = "app:";

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.key())
    }
}

/// The longest time in a row in which nobody said anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Silence {
    /// How long.
    pub took_ns: Ns,
    /// Line before it, from 1.
    pub after_line: u64,
    /// Line behind it.
    pub line: u64,
    /// What that line says.
    pub text: String,
}

/// From one mark to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What ends it.
    pub until: Mark,
    /// How long.
    pub took_ns: Ns,
    /// Line that ends it, from 1.
    pub line: u64,
    /// The greatest part of it, where that is a silence of a second and more.
    pub silence: Option<Silence>,
    /// Of the row until the kernel was back: what of it the firmware took.
    pub firmware: Option<Firmware>,
}

/// What a firmware took of one sleep, by its own clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Firmware {
    /// On both sides of the sleep, as far as the text tells.
    pub took_ns: Ns,
    /// It is part of the row; else the clock of the stamps stood still meanwhile, and it comes
    /// on top.
    pub inside: bool,
    /// The line that tells, from 1.
    pub line: u64,
}

/// One sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WholeWay {
    /// What begins it.
    pub from: Mark,
    /// Line of that, from 1.
    pub line: u64,
    /// Times are as exact as the stamps of the text: each row may be longer or shorter by this.
    pub grain_ns: Ns,
    /// In order.
    pub rows: Vec<Row>,
}

impl WholeWay {
    /// Whether its stamps are of whole seconds.
    pub fn is_coarse(&self) -> bool {
        self.grain_ns >= SECOND
    }

    /// From the kernel's return to a mark; nothing where the text has one of them not.
    pub fn ready(&self, mark: Mark) -> Option<Ns> {
        let back = match self.from {
            Mark::Back => 0,
            _ => self.rows.iter().position(|r| r.until == Mark::Back)? + 1,
        };
        let end = self.rows.iter().position(|r| r.until == mark)?;
        let rows = self.rows.get(back..=end)?;
        Some(rows.iter().fold(Ns::ZERO, |sum, r| Ns(sum.0.saturating_add(r.took_ns.0))))
    }
}

/// What a row takes in several sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// What ends it.
    pub until: Mark,
    /// Sleeps that have it.
    pub sleeps: usize,
    /// Its median.
    pub median: Ns,
    /// The longest.
    pub most: Ns,
    /// Line that ends that one.
    pub line: u64,
}

/// The rows of several sleeps, in order of their marks.
pub fn common<'a>(ways: impl IntoIterator<Item = &'a WholeWay>) -> Vec<Common> {
    let mut all: BTreeMap<Mark, Vec<(Ns, u64)>> = BTreeMap::new();
    for row in ways.into_iter().flat_map(|w| &w.rows) {
        all.entry(row.until).or_default().push((row.took_ns, row.line));
    }
    let of = |(until, rows): (Mark, Vec<(Ns, u64)>)| {
        let mut took: Vec<i64> = rows.iter().map(|r| r.0.0).collect();
        let median = Ns(middle(&mut took, i64::midpoint)?);
        let (most, line) = rows.iter().copied().max_by_key(|r| r.0)?;
        Some(Common { until, sleeps: rows.len(), median, most, line })
    };
    all.into_iter().filter_map(of).collect()
}

/// Stamps this coarse are of whole seconds.
pub(crate) const SECOND: Ns = Ns(1_000_000_000);
/// What ends so long after the kernel came back is no part of it, in ms.
const WAKE: i64 = 300_000;
/// What is asked so long before systemd-sleep begins is another request, in ms.
const ASKED: i64 = 600_000;
/// A silence is one from here on, in ms.
const SILENT: i64 = 1_000;

/// The sleeps of a text, in its order: those of which it has two rows and more, or one behind the
/// kernel's return, and that did not fail.
pub(crate) fn of(case: &Case) -> Vec<WholeWay> {
    let steps = &case.way.steps;
    if steps.is_empty() {
        return Vec::new();
    }
    let failed = failures(case);
    let fails = |first: u64, last: u64| {
        failed.get(failed.partition_point(|l| *l < first)).is_some_and(|l| *l <= last)
    };
    let (mut out, mut at) = (Vec::new(), 0);
    while at < steps.len() {
        let (marks, end) = one(steps, at);
        let back = marks.iter().find(|m| m.0 == Mark::Back).or(marks.last());
        let lines = marks.first().zip(back).map(|(a, b)| (steps[a.1].line, steps[b.1].line));
        if lines.is_some_and(|(first, last)| !fails(first, last)) {
            out.extend(whole(steps, &marks));
        }
        at = end.max(at + 1);
    }
    out
}

/// How many attempts of a text came back from a sleep: each may have a way.
pub(crate) fn slept(case: &Case) -> usize {
    case.attempts.iter().filter(|a| !a.inside && a.closed && !ended_early(case, a)).count()
}

/// The marks of the sleep that begins at `at` or later, by step, and the step behind it.
fn one(steps: &[Step], at: usize) -> (Vec<(Mark, usize)>, usize) {
    let mut marks: Vec<(Mark, usize)> = Vec::new();
    for (i, s) in steps.iter().enumerate().skip(at) {
        let back = marks.iter().find(|m| m.0 == Mark::Back).map(|m| m.1);
        // Behind a clock that was set no time is compared.
        if back.is_some() && is_set(&steps[i - 1], s) {
            return (marks, i);
        }
        let Some(mark) = Mark::of(s) else { continue };
        let Some(&(last, from)) = marks.last() else {
            // What follows a return alone is of that.
            if mark <= Mark::Back {
                marks.push((mark, i));
            }
            continue;
        };
        let far = match back {
            Some(back) => s.ms - steps[back].ms > WAKE,
            // Whom systemd-sleep asked may sleep for hours.
            None => last < Mark::Service && s.ms - steps[from].ms > ASKED,
        };
        if s.run != steps[from].run || far {
            return (marks, i);
        }
        if mark < Mark::Back && (back.is_some() || last == Mark::Kernel && mark == Mark::Asked) {
            return (marks, i);
        }
        let new = marks.iter().all(|m| m.0 != mark);
        let in_order = if mark <= Mark::Back { mark > last } else { back.is_some() };
        let stays = match mark {
            Mark::Link => !is_taken_back(steps, i, Kind::NoLink),
            Mark::Address => !is_taken_back(steps, i, Kind::NoAddress),
            _ => true,
        };
        if new && in_order && stays {
            marks.push((mark, i));
        }
    }
    (marks, steps.len())
}

/// Whether a clock was set between two lines: the second says so, or is of a service of the time
/// of day that reached its server, and a time without a line stands before it.
fn is_set(a: &Step, b: &Step) -> bool {
    let says = b.text.contains("stepped by") || b.text.contains("Time has been changed");
    b.kind == Kind::ClockSet && (says || b.ms - a.ms >= SILENT)
}

/// What only a sleep that failed says.
const FAILED: [&str; 7] = [
    "refusing to freeze",
    "Freezing of tasks failed",
    "processes failed after",
    "Some devices failed to",
    "Failed to put system to sleep",
    "Failed to suspend system",
    "System resumed again",
];

/// The lines of a text that are of a sleep that failed, in order.
fn failures(case: &Case) -> Vec<u64> {
    let says = |s: &&Step| FAILED.iter().any(|w| s.text.contains(w)) || s.kind == Kind::Refused;
    let attempts = case.attempts.iter().filter(|a| a.closed && ended_early(case, a));
    let mut all: Vec<u64> = attempts.map(|a| case.messages[a.first].line).collect();
    all.extend(case.way.steps.iter().filter(says).map(|s| s.line));
    all.extend(case.messages.having_any(&FAILED).map(|(_, m)| m.line));
    all.sort_unstable();
    all
}

fn is_taken_back(steps: &[Step], at: usize, by: Kind) -> bool {
    let s = &steps[at];
    let near = |x: &&Step| x.run == s.run && x.ms - s.ms < SOON;
    let rest: Vec<&Step> = steps[at..].iter().take_while(near).collect();
    taken_back(s, &rest, by).is_some()
}

/// The rows between marks.
fn whole(steps: &[Step], marks: &[(Mark, usize)]) -> Option<WholeWay> {
    // A link behind the address is that of another interface.
    let place = |m: Mark| marks.iter().find(|x| x.0 == m).map(|x| x.1);
    let (link, address) = (place(Mark::Link), place(Mark::Address));
    let of = |at: Option<usize>| at.and_then(|at| interface(&steps[at].text));
    let apart = of(link).zip(of(address)).is_some_and(|(a, b)| a != b);
    let late = address.is_some() && (link > address || apart);
    let marks: Vec<(Mark, usize)> =
        marks.iter().filter(|m| m.0 != Mark::Link || !late).copied().collect();
    let first = *marks.first()?;
    let row = |w: &[(Mark, usize)]| {
        let (a, b) = (w[0], w[1]);
        let of_kernel = b.0 == Mark::Back && a.0 == Mark::Kernel;
        let took = steps[b.1].ms - steps[a.1].ms;
        let pairs = steps[a.1..=b.1].windows(2).filter(|_| !of_kernel);
        let longest = pairs.max_by_key(|p| (p[1].ms - p[0].ms, std::cmp::Reverse(p[0].line)));
        let silence = longest.map(|p| (p, p[1].ms - p[0].ms));
        // The whole row is no part of it.
        let part = |p: &[Step], ms: i64| ms < took || p[1].line != steps[b.1].line;
        let silence = silence.filter(|(p, ms)| *ms >= SILENT && 2 * ms >= took && part(p, *ms));
        Row {
            until: b.0,
            took_ns: ms(took),
            line: steps[b.1].line,
            firmware: None,
            silence: silence.map(|(p, took)| Silence {
                took_ns: ms(took),
                after_line: p[0].line,
                line: p[1].line,
                text: p[1].text.clone(),
            }),
        }
    };
    let rows: Vec<Row> = marks.windows(2).map(row).collect();
    let grain = marks.iter().map(|m| steps[m.1].grain).max().unwrap_or(1);
    // What the kernel took with the time asleep alone is no way.
    let timed = rows.iter().any(|r| r.took_ns > Ns::ZERO && r.until != Mark::Back);
    ((rows.len() > 1 || first.0 == Mark::Back && !rows.is_empty()) && timed).then(|| WholeWay {
        from: first.0,
        line: steps[first.1].line,
        grain_ns: ms(grain),
        rows,
    })
}

fn ms(n: i64) -> Ns {
    Ns(n.saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: u64, ms: i64, kind: Kind) -> Step {
        Step { line, text: format!("line {line}"), ms, grain: 1, run: 0, wall: true, kind }
    }

    fn ways(steps: Vec<Step>) -> Vec<WholeWay> {
        let mut case = Case::new(Vec::new(), &[]);
        case.way.steps = steps;
        of(&case)
    }

    fn night() -> Vec<Step> {
        vec![
            step(1, 0, Kind::Asked),
            step(2, 40, Kind::Asked),
            step(3, 5_100, Kind::Sleeps),
            step(4, 5_300, Kind::Entry),
            step(5, 65_300, Kind::Back),
            step(6, 65_310, Kind::Other),
            step(7, 66_900, Kind::Ended),
            step(8, 67_000, Kind::Link),
            step(9, 69_000, Kind::Address),
        ]
    }

    #[test]
    fn rows_add_up_and_name_the_greatest_silence() {
        let all = ways(night());
        let [w] = &all[..] else { panic!("one sleep: {all:?}") };
        let rows: Vec<(Mark, i64)> =
            w.rows.iter().map(|r| (r.until, r.took_ns.0 / 1_000_000)).collect();
        assert_eq!(
            rows,
            [
                (Mark::Service, 5_100),
                (Mark::Kernel, 200),
                (Mark::Back, 60_000),
                (Mark::Unit, 1_600),
                (Mark::Link, 100),
                (Mark::Address, 2_000),
            ]
        );
        let all: i64 = w.rows.iter().map(|r| r.took_ns.0).sum();
        assert_eq!(all, 69_000_000_000, "rows add up");
        let silence = w.rows[0].silence.as_ref().expect("a lock");
        assert_eq!((silence.after_line, silence.line), (2, 3));
        assert!(w.rows[2].silence.is_none(), "what the kernel did is not a silence");
        assert!(w.rows[5].silence.is_none(), "nor is a whole row");
        assert_eq!(w.ready(Mark::Address), Some(Ns(3_700_000_000)));
        assert_eq!(w.ready(Mark::Screen), None);
    }

    #[test]
    fn two_sleeps_are_two_and_a_request_that_came_to_nothing_is_none() {
        let later = |s: Step| Step { ms: s.ms + 400_000, line: s.line + 10, ..s };
        let mut two = night();
        two.extend(night().into_iter().map(later));
        let both = ways(two);
        assert_eq!(both.len(), 2);
        let rows = common(&both);
        assert_eq!((rows.len(), rows[0].sleeps, rows[0].median), (6, 2, Ns(5_100_000_000)));
        let asked = vec![step(1, 0, Kind::Asked), step(2, 9, Kind::Refused)];
        assert!(ways(asked).is_empty());
        let apart: Vec<Step> =
            night().into_iter().map(|s| Step { run: s.line as u32, ..s }).collect();
        assert!(ways(apart).is_empty(), "times of several clocks are not compared");
    }

    #[test]
    fn a_network_that_is_lost_again_was_not_reached() {
        let mut steps = night();
        steps.insert(8, step(9, 67_100, Kind::NoLink));
        let all = ways(steps);
        assert!(all[0].rows.iter().all(|r| r.until != Mark::Link));
        let back = ways(night().split_off(4));
        assert_eq!(
            (back[0].from, back[0].ready(Mark::Unit)),
            (Mark::Back, Some(Ns(1_600_000_000)))
        );
    }
}
