//! How deep an s2idle sleep was, by what a recorder measured around it: the counter of
//! the hardware, time in idle states that only s2idle enters, and the two clocks of
//! which one stands while every CPU sleeps.

use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::timekeeping;
use crate::rules::mode;
use dormouse_base::time::Ns;

/// Per cent of the time asleep from which a counter says that it was slept.
const WHOLE: i64 = 90;
/// Below this it says that it was not.
const NOTHING: i64 = 5;
/// A counter of 0 says something of a sleep this long.
const COUNTED: Ns = Ns(10_000_000_000);
/// So long a sleep tells whether a clock stood.
const TOLD: Ns = Ns(100_000_000);
/// So many cycles are shown.
const LINES: usize = 3;

/// What was measured around one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The cycle, from 1.
    pub number: u32,
    /// It was s2idle, not deep or standby.
    pub s2idle: bool,
    /// `pm_test` was on: nothing slept.
    pub test: bool,
    /// The write to `/sys/power/state` succeeded.
    pub slept: bool,
    /// Time asleep, by the marks of the trace; else of the whole trip.
    pub length: Ns,
    /// How long `CLOCK_MONOTONIC` stood.
    pub stood: Ns,
    /// Time in hardware sleep, where there is such a counter
    /// (`suspend_stats/last_hw_sleep`).
    pub hardware: Option<Ns>,
    /// Time that the CPU which slept least was in idle states of s2idle.
    pub in_states: Option<Ns>,
}

/// What a sleep really was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The hardware slept.
    Hardware,
    /// It slept a part of the time, per cent.
    Partial(i64),
    /// Its counter works, and counted nothing.
    NameOnly,
    /// All CPUs were in their idle states for s2idle; of the platform nothing is known.
    CpusOnly,
    /// A CPU idled as usual: its clock ran on.
    NotEvenCpus,
    /// No counter tells.
    NotKnown,
}

impl Depth {
    /// As screens and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            Depth::Hardware => "hardware",
            Depth::Partial(_) => "partial",
            Depth::NameOnly => "in name only",
            Depth::CpusOnly => "CPUs only",
            Depth::NotEvenCpus => "not even CPUs",
            Depth::NotKnown => "not known",
        }
    }
}

/// What the counter of the hardware says of a sleep of this `length`: nothing of one that is
/// longer than it counts, because it wraps. `most` is `suspend_stats/max_hw_sleep`, us; AMD's
/// is the largest number there is (kernel/power/main.c:max_hw_sleep_show, 6.12).
pub fn in_range(counted: Option<Ns>, length: Ns, most: Option<u64>) -> Option<Ns> {
    let most = most.filter(|us| *us > 0).unwrap_or(u64::MAX).saturating_mul(1_000);
    counted.filter(|_| u64::try_from(length.0).unwrap_or(0) <= most)
}

/// `part` of `all`, per cent.
fn share(part: Ns, all: Ns) -> i64 {
    let percent = i128::from(part.0) * 100 / i128::from(all.0.max(1));
    i64::try_from(percent).unwrap_or(i64::MAX)
}

/// How deep `m` was; nothing of a test, a failed attempt, or a sleep that firmware
/// does. `works`: the counter of the hardware counted in another cycle.
pub fn depth(m: &Measured, works: bool) -> Option<Depth> {
    if !m.s2idle || m.test || !m.slept {
        return None;
    }
    match m.hardware.map(|h| share(h, m.length)) {
        Some(WHOLE..) => return Some(Depth::Hardware),
        Some(s @ NOTHING..) => return Some(Depth::Partial(s)),
        // 0 of a counter that never moved may be a driver that is missing.
        Some(_) if works && m.length >= COUNTED => return Some(Depth::NameOnly),
        _ => {}
    }
    if m.length < TOLD {
        return Some(Depth::NotKnown);
    }
    if share(m.stood, m.length) < NOTHING {
        return Some(Depth::NotEvenCpus);
    }
    let cpus = m.in_states.is_some_and(|t| share(t, m.length) >= WHOLE);
    Some(if cpus { Depth::CpusOnly } else { Depth::NotKnown })
}

/// Cycles of s2idle with their depth.
pub fn depths(all: &[Measured]) -> Vec<(Measured, Depth)> {
    let works = all.iter().any(|m| m.hardware.is_some_and(|h| h > Ns::ZERO));
    all.iter().filter_map(|m| Some((*m, depth(m, works)?))).collect()
}

/// How deep the last s2idle sleep of a log was, by the counter of the hardware that was
/// read after it and the time that stood still meanwhile.
pub fn said(case: &Case) -> Option<Depth> {
    // Without a counter the drivers of power management units say it themselves.
    if of_stats(case, "last_hw_sleep").is_none() {
        return is_refused(case).then_some(Depth::NameOnly);
    }
    let (m, works) = last(case)?;
    depth(&m, works)
}

/// Whether a driver of the power management unit says that the last sleep was not deep.
pub(crate) fn is_refused(case: &Case) -> bool {
    !mode::said_so(case).is_empty()
}

/// The newest value of this name, in us.
fn of_stats(case: &Case, name: &str) -> Option<Ns> {
    let v = case.values.iter().rev().find(|v| v.name() == name)?;
    v.value.parse::<i64>().ok().map(|us| Ns(us.saturating_mul(1_000)))
}

/// The last s2idle sleep of a log with `suspend_stats/last_hw_sleep` and the time that stood
/// still meanwhile (kernel/time/timekeeping_debug.c), and whether that counter works.
pub(crate) fn last(case: &Case) -> Option<(Measured, bool)> {
    let hardware = of_stats(case, "last_hw_sleep")?;
    let last = case.attempts.iter().rev().find(|a| a.closed)?;
    let stood: Ns = case.of(last).iter().filter_map(timekeeping).sum();
    if last.mode != "s2idle" || stood == Ns::ZERO {
        return None;
    }
    let works = of_stats(case, "total_hw_sleep").is_some_and(|t| t > Ns::ZERO);
    let most = case.values.iter().rev().find(|v| v.name() == "max_hw_sleep");
    let most = most.and_then(|v| v.value.parse().ok());
    let m = Measured {
        s2idle: true,
        slept: true,
        length: stood,
        stood,
        hardware: in_range(Some(hardware), stood, most),
        ..Measured::default()
    };
    Some((m, works))
}

/// What the measured cycles say, the shallowest depth in most of them.
pub fn judge(all: &[Measured]) -> Vec<Finding> {
    let list = depths(all);
    let mut out = Vec::new();
    let is = |d: Depth, like: Depth| match (d, like) {
        (Depth::Partial(_), Depth::Partial(_)) => true,
        (a, b) => a == b,
    };
    let kinds =
        [Depth::NotEvenCpus, Depth::NameOnly, Depth::Partial(0), Depth::CpusOnly, Depth::Hardware];
    for like in kinds {
        let some: Vec<&(Measured, Depth)> = list.iter().filter(|(_, d)| is(*d, like)).collect();
        // Once of many may be chance: an event that came at once.
        if some.is_empty() || some.len() * 2 < list.len() {
            continue;
        }
        let (id, area, level) = match like {
            Depth::NotEvenCpus => ("clock-mono-runs", Area::Clock, Level::Risk),
            Depth::NameOnly => ("mode-name-only", Area::Mode, Level::Risk),
            Depth::Partial(_) => ("mode-partial", Area::Mode, Level::Risk),
            Depth::CpusOnly => ("mode-cpus-only", Area::Mode, Level::Note),
            _ => ("mode-hardware", Area::Mode, Level::Note),
        };
        let f = Finding::new((id, area, level), Confidence::Certain)
            .says(slept_as(some[0].1, some.len(), list.len()))
            .shown_by(some.iter().take(LINES).map(|(m, _)| shown(m)));
        out.push(match like {
            Depth::Hardware | Depth::CpusOnly | Depth::NotKnown => f,
            Depth::NotEvenCpus => f.look("See which CPU has no idle state for s2idle: dormouse check on that machine; a state that somebody switched off (disable) counts as none."),
            Depth::NameOnly | Depth::Partial(_) => f.look(crate::rules::platform::CONSTRAINTS),
        });
    }
    out
}

/// So deep were so many s2idle sleeps of all, as a sentence.
fn slept_as(d: Depth, times: usize, of: usize) -> String {
    let sleeps = match of {
        1 => "In the one s2idle sleep".into(),
        _ => format!("In {times} of {of} s2idle sleeps"),
    };
    match d {
        Depth::Hardware => format!("{sleeps} the hardware slept, by its own counter."),
        Depth::Partial(share) => {
            format!("{sleeps} the hardware slept only a part of the time ({share} %).")
        }
        Depth::NameOnly => format!(
            "{sleeps} the machine slept in name only: the counter of the hardware, which works, counted nothing."
        ),
        Depth::CpusOnly => format!(
            "{sleeps} all CPUs slept; no counter tells whether the rest of the hardware did."
        ),
        Depth::NotEvenCpus => format!(
            "{sleeps} not even the CPUs slept: CLOCK_MONOTONIC ran on, so a CPU idled as usual. Its timers fire and end idle states, and time-outs run while the machine seems asleep."
        ),
        Depth::NotKnown => format!("{sleeps} no counter tells how deep it was."),
    }
}

fn shown(m: &Measured) -> Evidence {
    let ms = |t: Ns| t.0 / 1_000_000;
    let mut text = format!(
        "cycle {}: asleep {} ms, CLOCK_MONOTONIC stood {} ms",
        m.number,
        ms(m.length),
        ms(m.stood)
    );
    if let Some(h) = m.hardware {
        text += &format!(", in hardware sleep {} ms", ms(h));
    }
    if let Some(t) = m.in_states {
        text += &format!(", every CPU at least {} ms in a state of s2idle", ms(t));
    }
    Evidence { line: 0, time: None, text, doubtful: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn sleep(stood: i64, hardware: Option<i64>, in_states: Option<i64>) -> Measured {
        let at = |n: i64| Ns(n * S / 10);
        Measured {
            number: 1,
            s2idle: true,
            slept: true,
            length: Ns(20 * S),
            stood: at(stood),
            hardware: hardware.map(at),
            in_states: in_states.map(at),
            ..Measured::default()
        }
    }

    #[test]
    fn every_depth_has_its_counter() {
        let d = |m: Measured, works| depth(&m, works);
        assert_eq!(d(sleep(199, Some(181), None), true), Some(Depth::Hardware));
        assert_eq!(d(sleep(199, Some(100), None), true), Some(Depth::Partial(50)));
        assert_eq!(d(sleep(199, Some(9), None), true), Some(Depth::NameOnly));
        // A counter that never counted says nothing.
        assert_eq!(d(sleep(199, Some(0), Some(190)), false), Some(Depth::CpusOnly));
        assert_eq!(d(sleep(199, None, Some(190)), false), Some(Depth::CpusOnly));
        assert_eq!(d(sleep(199, None, None), false), Some(Depth::NotKnown));
        assert_eq!(d(sleep(3, None, Some(0)), false), Some(Depth::NotEvenCpus));
        let deep = Measured { s2idle: false, ..sleep(199, Some(0), None) };
        assert_eq!(d(deep, true), None, "0 after deep is as it should be");
        assert_eq!(d(Measured { test: true, ..sleep(0, None, None) }, false), None);
        assert_eq!(d(Measured { slept: false, ..sleep(0, None, None) }, false), None);
        let short = Measured { length: Ns(9 * S), ..sleep(89, Some(0), None) };
        assert_eq!(d(short, true), Some(Depth::NotKnown), "too short for a counter of 0");
    }

    #[test]
    fn a_counter_that_wraps_says_nothing_of_a_longer_sleep() {
        // 32 bits of 30.5 us: a day and a half.
        let most = Some(131_000_000_000);
        let hour = Ns(3_600 * S);
        assert_eq!(in_range(Some(Ns(S)), hour, most), Some(Ns(S)));
        assert_eq!(in_range(Some(Ns(S)), Ns(40 * hour.0), most), None);
        assert_eq!(in_range(Some(Ns(S)), Ns(40 * hour.0), Some(u64::MAX)), Some(Ns(S)));
        assert_eq!(in_range(Some(Ns(S)), Ns(40 * hour.0), None), Some(Ns(S)), "not said");
        let long = Measured {
            length: Ns(40 * hour.0),
            stood: Ns(40 * hour.0),
            hardware: in_range(Some(Ns(S)), Ns(40 * hour.0), most),
            ..sleep(0, None, None)
        };
        assert_eq!(depth(&long, true), Some(Depth::NotKnown));
    }

    #[test]
    fn a_finding_needs_half_of_the_cycles() {
        let ids = |all: &[Measured]| judge(all).iter().map(|f| f.id).collect::<Vec<_>>();
        let (ran, stood) = (sleep(0, None, None), sleep(199, None, None));
        assert_eq!(ids(&[ran, stood]), ["clock-mono-runs"]);
        assert!(ids(&[ran, stood, stood]).is_empty());
        let good = sleep(199, Some(190), None);
        assert_eq!(ids(&[good, good, sleep(199, Some(0), None)]), ["mode-hardware"]);
    }
}
