//! Which mode of sleep pays: how long a machine must sleep until a deeper mode costs
//! less, what sleeping less often gives, what CPUs that are switched off cost. By the
//! times of recorded cycles and powers that somebody measured.

use crate::analyse::answer::is_part;
use crate::energy::{Microwatts, Nanojoules, power_of, time_of};
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// The keys of [`Powers`].
const KEYS: [&str; 8] =
    ["awake", "suspending", "resuming", "s2idle", "deep", "disk", "off", "boot"];

/// What the machine draws, as docs/energy.md names it, with one figure a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    /// In use.
    pub awake: Option<Microwatts>,
    /// On the way down.
    pub suspending: Option<Microwatts>,
    /// On the way up; as on the way down if nobody says.
    pub resuming: Option<Microwatts>,
    /// In s2idle.
    pub s2idle: Option<Microwatts>,
    /// In deep sleep.
    pub deep: Option<Microwatts>,
    /// Hibernated: nothing, if nobody says.
    pub disk: Microwatts,
    /// Off: nothing, if nobody says.
    pub off: Microwatts,
    /// How long a cold boot takes.
    pub boot: Option<Ns>,
}

impl Powers {
    /// Reads `awake=6W,suspending=5W,s2idle=900mW,deep=300mW,boot=15s`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and what to write.
    pub fn parse(text: &str) -> Result<Powers, String> {
        let mut out = Powers::default();
        let mut seen = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
            let (key, value) = entry
                .split_once('=')
                .ok_or_else(|| format!("`{entry}`: write KEY=VALUE, such as awake=6W"))?;
            let (key, value) = (key.trim(), value.trim());
            if !KEYS.contains(&key) {
                return Err(format!("`{key}` is not known; the keys are {}", KEYS.join(", ")));
            }
            if seen.contains(&key) {
                return Err(format!("`{key}` is there twice: keep one"));
            }
            seen.push(key);
            if key == "boot" {
                out.boot = Some(time_of(key, value)?);
                continue;
            }
            let p = power_of(key, value)?;
            match key {
                "awake" => out.awake = Some(p),
                "suspending" => out.suspending = Some(p),
                "resuming" => out.resuming = Some(p),
                "s2idle" => out.s2idle = Some(p),
                "deep" => out.deep = Some(p),
                "disk" => out.disk = p,
                _ => out.off = p,
            }
        }
        Ok(out)
    }

    /// Drawn in this way of resting.
    pub fn asleep(&self, way: Way) -> Option<Microwatts> {
        match way {
            Way::S2idle => self.s2idle,
            Way::Deep => self.deep,
            Way::Disk => Some(self.disk),
            Way::Off => Some(self.off),
            Way::Standby | Way::Unnamed => None,
        }
    }
}

/// A way to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Suspend-to-idle.
    S2idle,
    /// Standby.
    Standby,
    /// Suspend-to-RAM.
    Deep,
    /// Hibernation.
    Disk,
    /// Switched off, and booted again.
    Off,
    /// A sleep whose mode no line names: Android's common kernels print a date in its place
    /// (kernel/power/suspend.c, 4.9 to 6.6), and people leave lines out.
    Unnamed,
}

impl Way {
    /// All that a machine may have, the shallowest first.
    pub const ALL: [Way; 5] = [Way::S2idle, Way::Standby, Way::Deep, Way::Disk, Way::Off];

    /// As `/sys/power` names it.
    pub fn name(self) -> &'static str {
        match self {
            Way::S2idle => "s2idle",
            Way::Standby => "standby",
            Way::Deep => "deep",
            Way::Disk => "hibernation",
            Way::Off => "off",
            Way::Unnamed => "unknown",
        }
    }

    fn of(mode: Mode) -> Option<Way> {
        match mode {
            Mode::S2idle => Some(Way::S2idle),
            Mode::Standby => Some(Way::Standby),
            Mode::Deep => Some(Way::Deep),
            Mode::Disk => Some(Way::Disk),
            Mode::Unknown => Some(Way::Unnamed),
            Mode::PmTest(_) | Mode::Simulated => None,
        }
    }
}

/// What cycles of one mode took. Medians of those that slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trips {
    /// Attempts that slept.
    pub slept: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Of the way down.
    pub down: Option<Ns>,
    /// Of the way up.
    pub up: Option<Ns>,
    /// Of the sync before it.
    pub sync: Option<Ns>,
    /// Of an attempt that failed, from begin to end.
    pub wasted: Option<Ns>,
}

impl Trips {
    /// Down and up.
    pub fn trip(&self) -> Option<Ns> {
        Some(self.down? + self.up?)
    }
}

fn median(mut list: Vec<Ns>) -> Option<Ns> {
    list.sort_unstable();
    let last = list.len().checked_sub(1)?;
    Some(Ns::mean(list[last / 2], list[list.len() / 2]))
}

/// The trips of `cycles`, by mode.
pub fn trips<'a>(cycles: impl IntoIterator<Item = &'a Cycle>) -> BTreeMap<Way, Trips> {
    let mut by: BTreeMap<Way, Vec<&Cycle>> = BTreeMap::new();
    for c in cycles {
        // Of a mode that is not named, a part tells nothing.
        let part = |way: Way| way == Way::Unnamed && c.outcome == Outcome::Partial;
        if let Some(way) = Way::of(c.mode).filter(|way| !part(*way)) {
            by.entry(way).or_default().push(c);
        }
    }
    let of = |list: Vec<&Cycle>| {
        let slept: Vec<&&Cycle> = list.iter().filter(|c| c.outcome == Outcome::Slept).collect();
        let failed = |c: &&&Cycle| !matches!(c.outcome, Outcome::Slept | Outcome::Partial);
        let took = |get: &dyn Fn(&Cycle) -> Option<Ns>| {
            median(slept.iter().filter_map(|c| get(c)).filter(|t| *t > Ns::ZERO).collect())
        };
        let sync = |c: &Cycle| {
            let s = c.phases.iter().find(|p| p.phase == Phase::Sync && p.complete)?;
            Some(s.duration())
        };
        Trips {
            slept: slept.len(),
            failed: list.iter().filter(failed).count(),
            // What is known in part is less than it took.
            down: took(&|c| c.suspend_time().filter(|_| !is_part(c, Direction::Suspend))),
            up: took(&|c| c.resume_time().filter(|_| !is_part(c, Direction::Resume))),
            sync: median(slept.iter().filter_map(|c| sync(c)).collect()),
            wasted: median(list.iter().filter(failed).map(|c| c.end.since(c.start)).collect()),
        }
    };
    by.into_iter().map(|(way, list)| (way, of(list))).collect()
}

/// When the deeper of two ways to rest costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Even {
    /// After sleeping so long.
    After(Ns),
    /// Always: its trip costs no more and it draws no more.
    Always,
    /// Never: it draws no less.
    Never,
}

/// Energy of the trip of a way to rest, and what it draws there.
pub type Cost = (Nanojoules, Microwatts);

/// When `b` costs less than `a`: (E_b - E_a) / (P_a - P_b).
pub fn break_even(a: Cost, b: Cost) -> Even {
    if b.1 >= a.1 {
        return if b.0 <= a.0 && b.1 == a.1 { Even::Always } else { Even::Never };
    }
    if b.0 <= a.0 {
        return Even::Always;
    }
    // A nanojoule is a million femtojoules, and a microwatt one of them each ns.
    let femto = u128::from(b.0.0 - a.0.0) * 1_000_000;
    let ns = femto.div_ceil(u128::from(a.1.0 - b.1.0));
    Even::After(Ns(i64::try_from(ns).unwrap_or(i64::MAX)))
}

/// What a trip costs: the way down and up, each at its power. A cold boot goes up alone.
pub fn cost(way: Way, trips: Option<&Trips>, powers: &Powers) -> Option<Cost> {
    let asleep = powers.asleep(way)?;
    let down = powers.suspending?;
    let up = powers.resuming.unwrap_or(down);
    let energy = match way {
        Way::Off => Nanojoules::of(up, powers.boot?),
        _ => {
            let t = trips?;
            let (a, b) = (Nanojoules::of(down, t.down?), Nanojoules::of(up, t.up?));
            Nanojoules(a.0.saturating_add(b.0))
        }
    };
    Some((energy, asleep))
}

/// Minutes between uses.
pub(crate) const INTERVALS: [u64; 7] = [1, 2, 5, 10, 15, 30, 60];

/// A day of a machine that wakes up every so many minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Minutes from one use to the next.
    pub minutes: u64,
    /// Trips a day.
    pub trips: u64,
    /// Attempts a day that fail, at the rate of those recorded; rounded up.
    pub failed: u64,
    /// Time a day spent syncing.
    pub sync: Ns,
    /// Time a day in failed attempts.
    pub wasted: Ns,
    /// Energy of a day: trips, failed attempts and sleep; not of the use itself.
    pub energy: Option<Nanojoules>,
}

const MINUTE: i64 = 60_000_000_000;

/// Days by interval. Energy only where powers are known; what does not fit between two
/// uses has none.
pub fn days(way: Way, trips: &Trips, powers: &Powers) -> Vec<Day> {
    let attempts = (trips.slept + trips.failed).max(1) as u64;
    let times = |t: Option<Ns>, n: u64| {
        let all = i128::from(t.unwrap_or(Ns::ZERO).0) * i128::from(n);
        Ns(i64::try_from(all).unwrap_or(i64::MAX))
    };
    let day = |minutes: u64| {
        let n = 24 * 60 / minutes;
        // A failed attempt is made again: n sleeps need more attempts.
        let failed = (n * trips.failed as u64).div_ceil(trips.slept.max(1) as u64);
        let wasted = times(trips.wasted, failed);
        let rest = Ns(24 * 60 * MINUTE).since(times(trips.trip(), n)).since(wasted);
        let energy = cost(way, Some(trips), powers).and_then(|(one, asleep)| {
            let lost = Nanojoules::of(powers.suspending?, wasted);
            let slept = Nanojoules::of(asleep, rest);
            let all = one.0.checked_mul(n)?.checked_add(lost.0)?.checked_add(slept.0)?;
            (trips.trip()?.0 < minutes as i64 * MINUTE).then_some(Nanojoules(all))
        });
        Day { minutes, trips: n, failed, sync: times(trips.sync, n), wasted, energy }
    };
    if trips.slept == 0 || attempts == 0 { Vec::new() } else { INTERVALS.map(day).into() }
}

/// What switching CPUs off and on costs, each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// CPUs switched off in a cycle.
    pub off_in_cycle: usize,
    /// Mean of switching one off.
    pub off: Ns,
    /// Mean of switching one on.
    pub on: Ns,
}

impl Cpus {
    /// The kernel goes CPU by CPU (kernel/cpu.c:freeze_secondary_cpus,
    /// thaw_secondary_cpus, 6.12 and 7.3): so much with `n` of them.
    pub fn deep(&self, n: u64) -> Ns {
        let others = i64::try_from(n.saturating_sub(1)).unwrap_or(i64::MAX);
        Ns((self.off.0.saturating_add(self.on.0)).saturating_mul(others))
    }

    /// At most so much where an idle state of s2idle switches each CPU off by the same
    /// firmware calls, and all come back at once: every step counts as firmware.
    pub fn fake_at_most(&self, n: u64) -> Ns {
        let others = i64::try_from(n.saturating_sub(1)).unwrap_or(i64::MAX);
        let on = if others > 0 { self.on.0 } else { 0 };
        Ns(self.off.0.saturating_mul(others).saturating_add(on))
    }
}

/// What CPUs cost in `cycles`; nothing if none was switched off.
pub fn cpus<'a>(cycles: impl IntoIterator<Item = &'a Cycle>) -> Option<Cpus> {
    let (mut off, mut on) = (Vec::new(), Vec::new());
    let mut most = 0;
    for c in cycles {
        let of = |phase: Phase| {
            c.phases.iter().filter(move |p| p.phase == phase && p.complete).map(|p| p.duration())
        };
        most = most.max(of(Phase::CpuOff).count());
        off.extend(of(Phase::CpuOff));
        on.extend(of(Phase::CpuOn));
    }
    let mean = |list: &[Ns]| {
        let sum: i64 = list.iter().fold(0, |s, t| s.saturating_add(t.0));
        Some(Ns(sum / i64::try_from(list.len()).ok().filter(|n| *n > 0)?))
    };
    Some(Cpus { off_in_cycle: most, off: mean(&off)?, on: mean(&on)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn powers() -> Powers {
        Powers::parse("awake=6W,suspending=5W,s2idle=900mW,deep=300mW,boot=15s").unwrap()
    }

    #[test]
    fn powers_are_read_and_wrong_ones_named() {
        assert_eq!(powers().s2idle, Some(Microwatts(900_000)));
        assert_eq!(powers().boot, Some(Ns(15 * S)));
        assert_eq!(powers().disk, Microwatts(0));
        for wrong in ["deep", "sleep=1W", "deep=1W,deep=2W", "deep=much"] {
            assert!(Powers::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// By hand: 1 s at 5 W against 2 s at 5 W are 5 J more; 600 mW less pay that in
    /// 8.33 s.
    #[test]
    fn break_even_is_energy_over_power() {
        let t = |down, up| Trips {
            slept: 1,
            down: Some(Ns(down * S / 2)),
            up: Some(Ns(up * S / 2)),
            ..Trips::default()
        };
        let a = cost(Way::S2idle, Some(&t(1, 1)), &powers()).unwrap();
        let b = cost(Way::Deep, Some(&t(2, 2)), &powers()).unwrap();
        assert_eq!(a.0, Nanojoules(5_000_000_000));
        assert_eq!(break_even(a, b), Even::After(Ns(8_333_333_334)));
        assert_eq!(break_even(b, a), Even::Never);
        let cheap = cost(Way::Deep, Some(&t(1, 1)), &powers()).unwrap();
        assert_eq!(break_even(a, cheap), Even::Always);
        let off = cost(Way::Off, None, &powers()).unwrap();
        assert_eq!(off, (Nanojoules(75_000_000_000), Microwatts(0)));
        assert_eq!(cost(Way::Standby, Some(&t(1, 1)), &powers()), None, "nobody gave its power");
    }

    /// By hand, every hour: 24 trips of 1 s at 5 W are 120 J; one in four attempts fails:
    /// 8 a day, 2 s each at 5 W are 80 J; the rest of the day at 300 mW.
    #[test]
    fn a_day_adds_up() {
        let trips = Trips {
            slept: 3,
            failed: 1,
            down: Some(Ns(S / 2)),
            up: Some(Ns(S / 2)),
            sync: Some(Ns(S / 10)),
            wasted: Some(Ns(2 * S)),
        };
        let list = days(Way::Deep, &trips, &powers());
        let hour = list[6];
        assert_eq!((hour.trips, hour.failed, hour.wasted), (24, 8, Ns(16 * S)));
        assert_eq!(hour.sync, Ns(24 * S / 10));
        let rest = (86_400 - 24 - 16) * 300_000_000;
        assert_eq!(hour.energy, Some(Nanojoules(120_000_000_000 + 80_000_000_000 + rest)));
        assert!(list[0].energy > hour.energy, "more often costs more");
        let none = Trips { slept: 0, ..trips };
        assert!(days(Way::Deep, &none, &powers()).is_empty());
    }

    #[test]
    fn cpus_cost_by_their_number() {
        let c = Cpus { off_in_cycle: 3, off: Ns(1_500_000), on: Ns(4_000_000) };
        assert_eq!(c.deep(8), Ns(38_500_000));
        assert_eq!(c.fake_at_most(8), Ns(14_500_000));
        assert_eq!((c.deep(1), c.fake_at_most(1)), (Ns::ZERO, Ns::ZERO));
    }
}
