//! Sleeps that were kept, one row each; the nights that they make, and since when those are
//! worse ([`since`]).

pub mod past;
pub mod since;

use crate::depth::{Depth, Measured, depth};
use crate::night::charge::Gauge;
pub use crate::rules::night::again::TRIED;
use crate::rules::night::again::{TURNS, closest};
use crate::rules::night::cost::{FINEST, SHORT};
use crate::rules::night::required::HOT;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// A natural sleep: what was kept of it. Names of hosts and serial numbers never are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The boot that it was in (`/proc/sys/kernel/random/boot_id`); empty of a log.
    pub boot: String,
    /// When it began, ms of the epoch by the wall clock.
    pub began_ms: i64,
    /// When it ended; `None` of one that never came back.
    pub ended_ms: Option<i64>,
    /// Who told of it.
    pub source: String,
    /// `s2idle`, `deep`, `hibernation`; empty if nobody says, as of one that never came back.
    pub mode: String,
    /// How long the kernel's clock stood still.
    pub slept_ms: Option<i64>,
    /// From the hook before it to the hook after it, by the clock that no one sets.
    pub span_ms: Option<i64>,
    /// From its first message to its sleep.
    pub suspend_ms: Option<i64>,
    /// From its wake-up to its last message.
    pub resume_ms: Option<i64>,
    /// Time in hardware sleep (`suspend_stats/last_hw_sleep`).
    pub hardware_ms: Option<i64>,
    /// That counter counted at some time since boot.
    pub hardware_works: Option<i64>,
    /// Time that every CPU was in states of s2idle.
    pub cpus_ms: Option<i64>,
    /// What woke it.
    pub waker: String,
    /// `/sys/power/pm_wakeup_irq`.
    pub waker_irq: Option<i64>,
    /// Wakeup sources that counted meanwhile; those of keys typed since are among them.
    pub sources: String,
    /// Attempts that succeeded, by `suspend_stats/success`, which knows no hibernation.
    pub succeeded: Option<i64>,
    /// Attempts that failed meanwhile.
    pub failed: Option<i64>,
    /// The device that failed last of them; of a sleep that never came back the one that the
    /// kernel's last words name.
    pub failed_device: String,
    /// The step that it failed in; the phase in which the last words stand.
    pub failed_step: String,
    /// How, as a positive number of `errno`.
    pub failed_errno: Option<i64>,
    /// A charger was there, before or after.
    pub mains: Option<i64>,
    /// The wall clock was set by so much meanwhile.
    pub clock_set_ms: Option<i64>,
    /// Batteries.
    pub batteries: Vec<Battery>,
    /// Kernel, firmware and packages, by name.
    pub versions: BTreeMap<String, String>,
}

/// A battery before and after a sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Battery {
    /// `BAT0`.
    pub name: String,
    /// What the figures are of: energy, charge or per cent.
    pub gauge: Gauge,
    /// What was left before.
    pub before: Option<i64>,
    /// And after.
    pub after: Option<i64>,
    /// When full.
    pub full: Option<i64>,
}

impl Row {
    /// How long it was, in ms: what the clock stood; the whole trip, where it ran on or nobody
    /// says.
    pub fn length_ms(&self) -> Option<i64> {
        let wall = || self.ended_ms?.checked_sub(self.began_ms).filter(|n| *n >= 0);
        let trip = self.span_ms.or_else(wall);
        let stood = self.slept_ms.filter(|s| trip.is_none_or(|t| s.saturating_mul(RAN) >= t));
        stood.or(trip)
    }

    /// Whether it slept at all.
    pub fn slept(&self) -> bool {
        // pm_suspend of kernel/power/suspend.c counts what succeeded, hibernate of
        // kernel/power/hibernate.c does not (6.12): there the clock tells, which stood.
        let told = [self.succeeded.map(|n| n > 0), self.slept_ms.map(|ms| ms >= TRIED)];
        let slept = match told.iter().flatten().count() {
            0 => self.failed.unwrap_or(0) == 0,
            _ => told.contains(&Some(true)),
        };
        self.ended_ms.is_some() && slept
    }

    /// How deep it was.
    pub fn depth(&self) -> Option<Depth> {
        let ns = |ms: i64| Ns(ms.saturating_mul(1_000_000));
        let m = Measured {
            s2idle: self.mode == "s2idle",
            slept: self.slept(),
            length: ns(self.length_ms()?),
            stood: ns(self.slept_ms?),
            hardware: self.hardware_ms.map(ns),
            in_states: self.cpus_ms.map(ns),
            ..Measured::default()
        };
        depth(&m, self.hardware_works == Some(1))
    }

    /// What it drew, by gauges of these steps; nothing with a charger, and nothing of a sleep too
    /// short to tell.
    fn used(&self, gauges: &Steps<'_>) -> Option<Used> {
        let ms = self.length_ms().filter(|ms| *ms >= SHORT * 1_000)?;
        let gauge = self.batteries.first()?.gauge;
        // Watt-hours, ampere-hours and per cents make no sum.
        if self.mains == Some(1) || self.batteries.iter().any(|b| b.gauge != gauge) {
            return None;
        }
        let (mut sum, mut whole, mut steps) = (0i64, Some(0i64), 0);
        for b in &self.batteries {
            let used = b.before?.saturating_sub(b.after?);
            if used < 0 {
                return None;
            }
            let full = match b.gauge {
                Gauge::Percent => Some(100_000),
                _ => b.full.filter(|f| *f > 0),
            };
            sum = sum.saturating_add(used);
            whole = whole.zip(full).map(|(w, f)| w.saturating_add(f));
            steps += gauges.of(b);
        }
        Some(Used {
            ms,
            energy: (gauge == Gauge::Energy).then_some(sum),
            share: whole.map(|w| (sum, w)),
            coarse: sum < steps.saturating_mul(COARSE),
        })
    }
}

/// A clock that stood for less than one part in so many of a trip ran on in its sleep.
const RAN: i64 = 20;

/// A gauge that moved by fewer of its steps says little (chosen: a reading is off by up to one
/// step, so three are known to a third). Of several, all steps together.
const COARSE: i64 = 3;

/// The steps of gauges. No file of the kernel tells one: what all readings of a battery are
/// multiples of is its step, if it was read often enough.
#[derive(Default)]
struct Steps<'a>(BTreeMap<(&'a str, &'static str), i64>);

impl<'a> Steps<'a> {
    fn seen(rows: &'a [Row]) -> Steps<'a> {
        let mut all: BTreeMap<_, BTreeSet<i64>> = BTreeMap::new();
        for b in rows.iter().flat_map(|r| &r.batteries) {
            all.entry(key(b)).or_default().extend(b.before.iter().chain(&b.after));
        }
        all.retain(|_, read| read.len() >= OFTEN);
        let step = |read: BTreeSet<i64>| read.into_iter().fold(0, divisor);
        Steps(all.into_iter().map(|(k, read)| (k, step(read))).collect())
    }

    fn of(&self, b: &Battery) -> i64 {
        let least = if b.gauge == Gauge::Percent { 1_000 } else { FINEST };
        self.0.get(&key(b)).copied().unwrap_or(0).max(least)
    }
}

fn key(b: &Battery) -> (&str, &'static str) {
    let gauge = match b.gauge {
        Gauge::Energy => "energy",
        Gauge::Charge => "charge",
        _ => "per cent",
    };
    (&b.name, gauge)
}

/// The greatest that divides both.
fn divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// So many readings that differ show the step of a gauge: all of them are multiples of twice the
/// step with a chance of 1 in 256, if they are drawn at random.
const OFTEN: usize = 8;

/// What batteries gave in one sleep.
#[derive(Clone, Copy, Debug)]
struct Used {
    ms: i64,
    /// Microwatt-hours.
    energy: Option<i64>,
    /// Of how much, in the unit of the gauge.
    share: Option<(i64, i64)>,
    coarse: bool,
}

/// What a night drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// Microwatts.
    pub microwatts: Option<i64>,
    /// Thousandths of a per cent an hour.
    pub an_hour: Option<i64>,
    /// The gauge moved by so few of its steps that the figure says little of one night.
    pub coarse: bool,
}

/// What kind of night it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A sleep never came back.
    Cut,
    /// It tried, and was refused.
    Awake,
    /// One thing after another woke it, again and again.
    Loop,
    /// In most of its sleeps the counter of the hardware, which works, counted little or nothing,
    /// or the clock of the kernel ran on.
    NameOnly,
    /// It slept, and drew too much.
    Hot,
    /// It slept.
    Slept,
}

impl Kind {
    /// As screens and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Cut => "never came back",
            Kind::Awake => "awake",
            Kind::Loop => "loop",
            Kind::NameOnly => "in name only",
            Kind::Hot => "hot",
            Kind::Slept => "slept",
        }
    }
}

/// Sleeps that follow each other closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Night {
    /// The first of its rows.
    pub first: usize,
    /// How many they are.
    pub rows: usize,
    /// When the first began, ms of the epoch.
    pub began_ms: i64,
    /// How long it slept in all.
    pub slept_ms: i64,
    /// What kind it was.
    pub kind: Kind,
    /// What it drew.
    pub drain: Option<Drain>,
    /// Thousandths of its sleep that the hardware slept.
    pub hardware: Option<i64>,
    /// How often it woke and slept again.
    pub wakes: i64,
    /// Attempts that failed.
    pub failed: i64,
    /// The middle of its resumes.
    pub resume_ms: Option<i64>,
    /// What woke it most often; empty if nobody says.
    pub waker: String,
}

/// So long awake, in ms: what follows is another night.
const APART: i64 = 900_000;

/// The nights of rows in order of their times.
pub fn nights(rows: &[Row]) -> Vec<Night> {
    let mut out = Vec::new();
    let near = |a: &Row, b: &Row| {
        a.ended_ms.is_some_and(|end| (0..APART).contains(&b.began_ms.saturating_sub(end)))
    };
    let (mut first, steps) = (0, Steps::seen(rows));
    for of in rows.chunk_by(near) {
        out.push(night(first, of, &steps));
        first += of.len();
    }
    out
}

fn night(first: usize, rows: &[Row], steps: &Steps<'_>) -> Night {
    let failed: i64 = rows.iter().filter_map(|r| r.failed).sum();
    let slept: Vec<&Row> = rows.iter().filter(|r| r.slept()).collect();
    let counted = slept.iter().filter_map(|r| Some((r.hardware_ms?, r.slept_ms?, r.depth()?)));
    let counted: Vec<_> = counted.filter(|c| c.1 > 0 && c.2 != Depth::NotKnown).collect();
    let (hardware, of) = counted.iter().fold((0, 0), |(h, s), c| (h + c.0, s + c.1));
    let mut wakers: BTreeMap<&str, usize> = BTreeMap::new();
    for r in slept.iter().filter(|r| !r.waker.is_empty()) {
        *wakers.entry(&r.waker).or_default() += 1;
    }
    let waker = wakers.iter().max_by_key(|w| w.1).map_or("", |w| w.0);
    let mut resumes: Vec<i64> = slept.iter().filter_map(|r| r.resume_ms).collect();
    let drain = drain(&slept, steps);
    let shallow = slept.iter().filter(|r| {
        matches!(r.depth(), Some(Depth::NameOnly | Depth::Partial(..SHALLOW) | Depth::NotEvenCpus))
    });
    let kind = if rows.iter().any(|r| r.ended_ms.is_none()) {
        Kind::Cut
    } else if slept.is_empty() {
        Kind::Awake
    } else if has_loop(rows) {
        Kind::Loop
    } else if shallow.count() * 2 > slept.len() {
        Kind::NameOnly
    } else if drain.is_some_and(|d| !d.coarse && d.an_hour.is_some_and(|s| s >= HOT)) {
        Kind::Hot
    } else {
        Kind::Slept
    };
    Night {
        first,
        rows: rows.len(),
        began_ms: rows[0].began_ms,
        slept_ms: slept.iter().filter_map(|r| r.length_ms()).sum(),
        kind,
        drain,
        hardware: (of > 0).then(|| (hardware.saturating_mul(1_000) / of).min(1_000)),
        wakes: i64::try_from(slept.len()).unwrap_or(0).saturating_sub(1).max(0),
        failed,
        resume_ms: middle(&mut resumes, |a, b| a + (b - a) / 2),
        waker: waker.to_string(),
    }
}

/// Per cent of a sleep: less of hardware sleep makes a night one in name only.
const SHALLOW: i64 = 50;

/// Whether short sleeps follow each other so closely that nobody can have come.
fn has_loop(rows: &[Row]) -> bool {
    let times = |r: &Row| Some((r.began_ms, r.ended_ms?, r.length_ms().filter(|_| r.slept())?));
    closest(rows, times).len() >= TURNS
}

/// What the sleeps drew of which that is known.
fn drain(slept: &[&Row], steps: &Steps<'_>) -> Option<Drain> {
    let used: Vec<Used> = slept.iter().filter_map(|r| r.used(steps)).collect();
    let ms: i64 = used.iter().map(|u| u.ms).sum();
    if ms <= 0 {
        return None;
    }
    let rate = |n: i128| i64::try_from(n * 3_600_000 / i128::from(ms)).unwrap_or(i64::MAX);
    let energy: Option<i64> = used.iter().map(|u| u.energy).sum();
    let share = used.iter().try_fold(0, |sum: i128, u| {
        let (part, whole) = u.share.filter(|s| s.1 > 0)?;
        Some(sum + i128::from(part) * 100_000 / i128::from(whole))
    });
    Some(Drain {
        microwatts: energy.map(|e| rate(e.into())),
        an_hour: share.map(rate),
        coarse: used.iter().all(|u| u.coarse),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: i64 = 60_000;
    const H: i64 = 60 * MIN;

    /// A sleep of s2idle that began so late, slept so long and used so many mWh.
    fn sleep(at: i64, slept: i64, hardware: Option<i64>, used: i64) -> Row {
        let battery = Battery {
            name: "BAT1".into(),
            gauge: Gauge::Energy,
            before: Some(30_000_000),
            after: Some(30_000_000 - used * 1_000),
            full: Some(60_000_000),
        };
        Row {
            began_ms: at,
            ended_ms: Some(at + slept + 2_000),
            mode: "s2idle".into(),
            slept_ms: Some(slept),
            span_ms: Some(slept + 2_000),
            hardware_ms: hardware.map(|h| slept / 100 * h),
            hardware_works: hardware.map(|_| 1),
            succeeded: Some(1),
            failed: Some(0),
            mains: Some(0),
            batteries: vec![battery],
            ..Row::default()
        }
    }

    fn kinds(rows: &[Row]) -> Vec<Kind> {
        nights(rows).iter().map(|n| n.kind).collect()
    }

    #[test]
    fn every_kind_of_night_has_a_healthy_twin() {
        let good = sleep(0, 8 * H, Some(97), 4_000);
        assert_eq!(kinds(std::slice::from_ref(&good)), [Kind::Slept]);
        assert_eq!(kinds(&[sleep(0, 8 * H, Some(20), 4_000)]), [Kind::NameOnly]);
        assert_eq!(kinds(&[sleep(0, 8 * H, None, 4_000)]), [Kind::Slept], "no counter tells");
        let asleep = Row { mode: "deep".into(), ..sleep(0, 8 * H, Some(0), 4_000) };
        assert_eq!(kinds(&[asleep]), [Kind::Slept], "firmware sleeps, and its counter is not that");
        // 3 % of 60 Wh in an hour are 1.8 W.
        assert_eq!(kinds(&[sleep(0, 8 * H, None, 15_000)]), [Kind::Hot]);
        assert_eq!(kinds(&[sleep(0, 8 * H, None, 13_000)]), [Kind::Slept]);
        let plugged = Row { mains: Some(1), ..sleep(0, 8 * H, None, 15_000) };
        assert_eq!(kinds(&[plugged]), [Kind::Slept]);
        let refused =
            Row { succeeded: Some(0), slept_ms: Some(0), failed: Some(2), ..good.clone() };
        assert_eq!(kinds(&[refused]), [Kind::Awake]);
        let cut = Row { ended_ms: None, slept_ms: None, succeeded: None, ..good };
        assert_eq!(kinds(&[cut]), [Kind::Cut]);
        // Not even its clock stood.
        let ran = Row { slept_ms: Some(0), hardware_ms: None, ..sleep(0, 8 * H, None, 4_000) };
        assert_eq!((ran.length_ms(), kinds(&[ran])), (Some(8 * H + 2_000), vec![Kind::NameOnly]));
    }

    #[test]
    fn short_sleeps_in_a_row_are_a_loop_and_visits_are_none() {
        let turns = |awake: i64| {
            (0..4).map(|i| sleep(i * (5 * MIN + awake), 5 * MIN, None, 0)).collect::<Vec<_>>()
        };
        let looped = nights(&turns(20_000));
        assert_eq!((looped.len(), looped[0].kind, looped[0].wakes), (1, Kind::Loop, 3));
        assert_eq!(kinds(&turns(10 * MIN)), [Kind::Slept], "somebody looked at it");
        assert_eq!(kinds(&turns(H)).len(), 4, "four naps");
    }

    #[test]
    fn what_a_night_drew_is_known_as_far_as_its_gauges_tell() {
        let d = |r: Row| nights(&[r])[0].drain;
        let eight = d(sleep(0, 8 * H, None, 4_000)).unwrap();
        assert_eq!(
            (eight.microwatts, eight.an_hour, eight.coarse),
            (Some(500_000), Some(833), false)
        );
        assert!(d(sleep(0, H, None, 20)).unwrap().coarse);
        assert_eq!(d(sleep(0, 5 * MIN, None, 400)), None, "too short");
        assert_eq!(d(sleep(0, 8 * H, None, -10)), None, "charged");
        let mut two = sleep(0, 8 * H, None, 4_000);
        two.batteries.push(Battery { name: "BAT2".into(), ..two.batteries[0].clone() });
        assert_eq!(d(two).unwrap().microwatts, Some(1_000_000));
        let mut percent = sleep(0, 8 * H, None, 0);
        percent.batteries[0] = Battery {
            gauge: Gauge::Percent,
            before: Some(80_000),
            after: Some(72_000),
            full: Some(100_000),
            name: "b".into(),
        };
        let percent = d(percent).unwrap();
        assert_eq!((percent.microwatts, percent.an_hour), (None, Some(1_000)));
    }

    #[test]
    fn the_step_of_a_gauge_is_what_its_readings_are_multiples_of() {
        // 620 mWh a step: a night of two steps is not told to a third, one of five is.
        let step = 620;
        let mut left = 90 * step * 1_000;
        let mut rows = Vec::new();
        for (day, moved) in [5, 2, 7, 3, 5, 4, 1].into_iter().enumerate() {
            let mut row = sleep(day as i64 * 24 * H, 8 * H, None, 0);
            row.batteries[0].before = Some(left);
            left -= moved * step * 1_000;
            row.batteries[0].after = Some(left);
            rows.push(row);
        }
        let coarse = |rows: &[Row]| -> Vec<bool> {
            nights(rows).iter().map(|n| n.drain.unwrap().coarse).collect()
        };
        assert_eq!(coarse(&rows), [false, true, false, false, false, false, true]);
        // Of few readings nobody knows it, and one of a finer gauge is told by the least step.
        assert_eq!(coarse(&rows[1..2]), [false]);
        rows[3].batteries[0].after = rows[3].batteries[0].after.map(|n| n - 10_000);
        assert_eq!(coarse(&rows), [false; 7]);
    }

    #[test]
    fn a_hibernation_slept_though_no_counter_knows_it() {
        let night = Row {
            mode: "hibernation".into(),
            succeeded: Some(0),
            hardware_ms: None,
            ..sleep(0, 8 * H, None, 300)
        };
        assert_eq!(kinds(std::slice::from_ref(&night)), [Kind::Slept]);
        // Refused, with the clocks a little apart.
        assert_eq!(kinds(&[Row { slept_ms: Some(400), ..night }]), [Kind::Awake]);
    }

    #[test]
    fn a_battery_that_rests_makes_no_figure_rough_and_unlike_gauges_no_sum() {
        let used = |second: Battery| {
            let mut row = sleep(0, 8 * H, None, 4_000);
            row.batteries.push(second);
            nights(&[row])[0].drain
        };
        let rests = sleep(0, 8 * H, None, 0).batteries.remove(0);
        let both = used(rests.clone()).unwrap();
        assert_eq!((both.microwatts, both.coarse), (Some(500_000), false));
        assert_eq!(used(Battery { gauge: Gauge::Charge, ..rests }), None);
    }

    #[test]
    fn a_step_that_was_undone_is_no_verdict() {
        use since::{Measure, Since, Verdict, verdict};
        let step = |night, before: f64, after: f64| Since {
            measure: Measure::Drain,
            night,
            range: (night, night),
            p: 0.001,
            before,
            after,
            percent: false,
            worse: after > before,
            with: vec![],
        };
        let (worse, back, half) =
            (step(16, 500.0, 1_400.0), step(30, 1_400.0, 510.0), step(30, 1_400.0, 900.0));
        assert_eq!(verdict(std::slice::from_ref(&worse)), Verdict::Worse(&worse, 1_400.0));
        assert_eq!(verdict(&[worse.clone(), back.clone()]), Verdict::Better(&back));
        assert_eq!(verdict(&[worse.clone(), half]), Verdict::Worse(&worse, 900.0), "in part");
        // Another measure undoes nothing.
        let other = Since { measure: Measure::Resume, ..back };
        assert_eq!(verdict(&[worse.clone(), other]), Verdict::Worse(&worse, 1_400.0));
        assert_eq!(verdict(&[]), Verdict::Same);
    }

    #[test]
    fn nights_that_were_cut_short_count_no_wake_ups_and_no_failures() {
        let cut = Row { ended_ms: None, slept_ms: None, ..sleep(9 * H, 0, None, 0) };
        let night = nights(&[sleep(0, 8 * H + 55 * MIN, None, 4_000), cut]);
        assert_eq!((night.len(), night[0].kind), (1, Kind::Cut));
        use since::{Measure, known};
        let counts = [Measure::Wakes, Measure::Failures, Measure::Drain].map(|m| known(m, &night));
        assert_eq!(counts, [0, 0, 1]);
    }

    #[test]
    fn what_logs_do_not_know_is_not_new() {
        let rows: Vec<Row> = (0..30)
            .map(|i| {
                let used = if i < 16 { 4_000 } else { 9_000 } + i * 37 % 11 * 30;
                let mut r = sleep(i * 24 * H, 8 * H, Some(96), used);
                r.versions.insert("kernel".into(), if i < 17 { "6.14.9" } else { "6.15.0" }.into());
                if i < 16 {
                    r.source = past::LOG.into();
                } else {
                    r.versions.insert("firmware".into(), "1.9".into());
                }
                if i == 17 {
                    r.versions.insert("tlp".into(), "1.5".into());
                }
                r
            })
            .collect();
        let all = since::since(&rows, &nights(&rows));
        let with: Vec<_> = all[0].with.iter().map(|r| (r.name.as_str(), r.from.as_str())).collect();
        assert!(!with.iter().any(|w| w.0 == "firmware"), "{with:?}");
        assert!(with.contains(&("kernel", "6.14.9")) || all[0].range.1 < 17, "{with:?}");
    }

    #[test]
    fn a_worse_kernel_is_named_as_a_coincidence_and_one_of_other_nights_is_not() {
        let rows: Vec<Row> = (0..30)
            .map(|i| {
                let used = if i < 16 { 4_000 } else { 9_000 } + i * 37 % 11 * 30;
                let mut r = sleep(i * 24 * H, 8 * H, Some(96), used);
                let kernel = if i < 16 { "6.14.9" } else { "6.15.0" };
                r.versions.insert("kernel".into(), kernel.into());
                r.versions.insert("upower".into(), if i < 5 { "1.90" } else { "1.91" }.into());
                r
            })
            .collect();
        let nights = nights(&rows);
        let all = since::since(&rows, &nights);
        let [s] = &all[..] else { panic!("{all:?}") };
        assert_eq!((s.measure, s.night, s.worse), (since::Measure::Drain, 16, true));
        let with: Vec<_> = s.with.iter().map(|r| (r.name.as_str(), r.to.as_str())).collect();
        assert_eq!(with, [("kernel", "6.15.0")]);
        // The same in the other order became better.
        let mut back = rows.clone();
        back.iter_mut().zip(rows.iter().rev()).for_each(|(b, r)| b.batteries = r.batteries.clone());
        let all = since::since(&back, &super::nights(&back));
        assert_eq!(all.iter().map(|s| s.worse).collect::<Vec<_>>(), [false]);
    }
}
