//! The settings of a disk that meet a budget at least cost: delays, looks, limits and
//! quality of service together, each tried by simulating the load.

use crate::simulate::disk::{Outcome, simulate};
use crate::simulate::energy::{BreakEven, Powers, State, states};
use crate::simulate::load::Load;
use crate::simulate::ondemand::Thresholds;
use crate::simulate::settings::{Drive, Governor, Qos, Settings};

const MS: i64 = 1_000_000;

/// What a setting costs.
#[derive(Clone, Copy, Debug)]
pub enum Price<'a> {
    /// Energy, uJ.
    Powers(&'a Powers),
    /// Without powers, ns: the slowest clock, gating and suspend are taken to save the
    /// same power each, and a way there and back costs what its break-even time does.
    Times(&'a BreakEven),
}

impl Price<'_> {
    /// Of an outcome; `None` if it was in a state whose power is not known.
    pub fn of(&self, o: &Outcome) -> Option<i128> {
        match self {
            Price::Powers(p) => p.energy(o).ok().map(i128::from),
            Price::Times(even) => {
                let of = |state: State| match state {
                    State::Busy(0) | State::Idle(0) => 2,
                    State::Busy(_) | State::Idle(_) => 3,
                    // On the way it saves nothing yet.
                    State::Gate(1) => 1,
                    State::Suspend(1) => 0,
                    State::Gate(_) | State::Suspend(_) => 2,
                };
                let time: i128 = states(o).iter().map(|(s, t)| of(*s) * i128::from(*t)).sum();
                let once = |n: u64, t: Option<i64>| i128::from(n) * i128::from(t.unwrap_or(0));
                // Two changes are one way there and back.
                let ways = once(o.changes, even.clock) / 2
                    + once(o.ungates, even.gate)
                    + once(o.resumes, even.suspend);
                Some(time + ways)
            }
        }
    }
}

/// What may be chosen of each setting; what is in force comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Delays before runtime suspend, ns.
    pub autosuspend: Vec<Option<i64>>,
    /// Delays before the clock is gated, ns.
    pub gate: Vec<Option<i64>>,
    /// Intervals of devfreq, ns.
    pub poll: Vec<i64>,
    /// Lower and upper limits, Hz.
    pub limits: Vec<(u64, u64)>,
    /// Thresholds; one alone stays.
    pub thresholds: Vec<Thresholds>,
    /// Quality of service.
    pub qos: Vec<Qos>,
}

/// Delays of sleep that are tried besides those of the load's own rests, ms.
const DELAYS: [i64; 11] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 1_000, 5_000];

/// Intervals of devfreq, ms.
const POLLS: [i64; 9] = [4, 8, 16, 20, 30, 40, 60, 100, 200];

/// Time-outs of quality of service, ms.
const TIMEOUTS: [i64; 7] = [1, 2, 4, 8, 16, 30, 64];

/// Shares of the rests that a delay should outlast, percent.
const SHARES: [usize; 6] = [25, 50, 75, 90, 99, 100];

fn with<T: PartialEq>(first: T, more: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut out = vec![first];
    for x in more {
        if !out.contains(&x) {
            out.push(x);
        }
    }
    out
}

impl Space {
    /// Of a disk: what it has, in whole milliseconds, as the kernel takes them. `gaps`
    /// are the rests of the load. Thresholds are the driver's and are chosen only if
    /// `thresholds` asks for it.
    pub fn of(
        drive: &Drive,
        s: &Settings,
        even: &BreakEven,
        gaps: &[i64],
        thresholds: bool,
    ) -> Space {
        let up = |ns: i64| ns.saturating_add(MS - 1) / MS * MS;
        let mut rests: Vec<i64> = gaps.to_vec();
        rests.sort_unstable();
        let own = |n: &usize| (!rests.is_empty()).then(|| up(rests[(rests.len() - 1) * n / 100]));
        let delays = |now: Option<i64>, even: Option<i64>| {
            let list = DELAYS.iter().map(|ms| ms * MS).chain(SHARES.iter().filter_map(own));
            with(now, list.chain(even.map(up)).map(Some).chain([None]))
        };
        let one = drive.levels.len() == 1;
        let ondemand = matches!(s.devfreq.governor, Governor::SimpleOndemand(_));
        let d = &s.devfreq;
        let last = drive.levels.len() - 1;
        let limits = drive.levels.iter().enumerate().flat_map(|(n, low)| {
            let least = if n == 0 { 0 } else { *low };
            drive.levels[n..]
                .iter()
                .enumerate()
                .map(move |(m, high)| (least, if n + m == last { u64::MAX } else { *high }))
        });
        let lists = [10, 30, 50, 70, 80, 90, 95]
            .into_iter()
            .flat_map(|up| [5, 20].into_iter().map(move |down| Thresholds { up, down }))
            .filter(|t| t.up > t.down);
        Space {
            autosuspend: match drive.suspend.wake {
                0 => vec![s.autosuspend],
                // With 0 a suspend that finds a request under way is not tried again
                // (`rpm_suspend`, drivers/base/power/runtime.c, 6.12).
                _ => {
                    let list = delays(s.autosuspend, even.suspend).into_iter();
                    list.filter(|d| *d != Some(0) || s.autosuspend == *d).collect()
                }
            },
            gate: if drive.gate.wake == 0 { vec![s.gate] } else { delays(s.gate, even.gate) },
            poll: if one || !ondemand {
                vec![d.poll]
            } else {
                with(d.poll, POLLS.iter().map(|ms| ms * MS))
            },
            limits: if one { vec![(d.least, d.most)] } else { with((d.least, d.most), limits) },
            thresholds: match d.governor {
                Governor::SimpleOndemand(t) if thresholds && !one => with(t, lists),
                Governor::SimpleOndemand(t) => vec![t],
                _ => vec![Thresholds::default()],
            },
            qos: if one {
                vec![s.qos]
            } else {
                let list = TIMEOUTS.iter().map(|ms| ms * MS).chain(even.clock.map(up));
                let host = list.map(|timeout| Qos::Host { timeout });
                with(s.qos, host.chain([Qos::Off]))
            },
        }
    }

    fn sizes(&self) -> [usize; KNOBS] {
        [
            self.autosuspend.len(),
            self.gate.len(),
            self.poll.len(),
            self.limits.len(),
            self.thresholds.len(),
            self.qos.len(),
        ]
    }

    /// How many choices there are.
    pub fn size(&self) -> u64 {
        self.sizes().iter().fold(1, |n, s| n.saturating_mul(*s as u64))
    }

    fn settings(&self, s: &Settings, at: Point) -> Settings {
        let mut s = *s;
        s.autosuspend = self.autosuspend[at[0]];
        s.gate = self.gate[at[1]];
        s.devfreq.poll = self.poll[at[2]];
        (s.devfreq.least, s.devfreq.most) = self.limits[at[3]];
        if let Governor::SimpleOndemand(t) = &mut s.devfreq.governor {
            *t = self.thresholds[at[4]];
        }
        s.qos = self.qos[at[5]];
        s
    }
}

/// Settings that are chosen.
const KNOBS: usize = 6;

/// An index into each list of a [`Space`].
type Point = [usize; KNOBS];

/// Settings and what comes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The settings.
    pub settings: Settings,
    /// What comes of them.
    pub outcome: Outcome,
    /// What that costs; `None` if it was in a state whose power is not known.
    pub cost: Option<i128>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// As it is.
    pub now: Choice,
    /// The cheapest that meets the budget, or the nearest to it.
    pub chosen: Choice,
    /// The budget is met.
    pub met: bool,
    /// Settings that were simulated.
    pub tried: u64,
    /// Those are all.
    pub all: bool,
}

/// A saving of less than one part of so many is none: what is in force stays.
const WORTH: i128 = 100;

/// Better is less: over the budget or unknown, then how far, then the cost.
type Rank = (bool, i128);

struct Search<'a> {
    drive: &'a Drive,
    base: &'a Settings,
    load: &'a Load,
    price: Price<'a>,
    p99: Option<i64>,
    space: &'a Space,
    seen: std::collections::BTreeMap<Point, Rank>,
}

impl Search<'_> {
    fn choice(&self, at: Point) -> Choice {
        let settings = self.space.settings(self.base, at);
        let outcome = simulate(self.drive, &settings, self.load);
        let cost = self.price.of(&outcome);
        Choice { settings, outcome, cost }
    }

    fn rank(&mut self, at: Point) -> Rank {
        if let Some(r) = self.seen.get(&at) {
            return *r;
        }
        let c = self.choice(at);
        let late = self.p99.map_or(0, |ns| (c.outcome.latency().p99 - ns).max(0));
        let rank = match (late, c.cost) {
            (0, Some(cost)) => (false, cost),
            (0, None) => (true, i128::MAX),
            (late, _) => (true, i128::from(late)),
        };
        self.seen.insert(at, rank);
        rank
    }

    /// Whether it is better beyond doubt.
    fn beats(a: Rank, b: Rank) -> bool {
        match (a, b) {
            ((false, x), (false, y)) => (y - x) * WORTH > y.max(1),
            ((false, _), (true, _)) => true,
            ((true, _), (false, _)) => false,
            ((true, x), (true, y)) => x < y,
        }
    }

    /// From a point: each setting alone, then each two, until nothing is better.
    fn descend(&mut self, mut at: Point, most: u64) -> Point {
        let sizes = self.space.sizes();
        loop {
            let mut best = (self.rank(at), at);
            let mut take = |s: &mut Self, p: Point| {
                let r = s.rank(p);
                if r < best.0 {
                    best = (r, p);
                }
            };
            for k in 0..KNOBS {
                for n in 0..sizes[k] {
                    let mut p = at;
                    p[k] = n;
                    take(self, p);
                }
            }
            if best.1 == at {
                for (k, l) in (0..KNOBS).flat_map(|k| (k + 1..KNOBS).map(move |l| (k, l))) {
                    for (n, m) in (0..sizes[k]).flat_map(|n| (0..sizes[l]).map(move |m| (n, m))) {
                        if self.seen.len() as u64 >= most {
                            break;
                        }
                        let mut p = at;
                        (p[k], p[l]) = (n, m);
                        let r = self.rank(p);
                        if r < best.0 {
                            best = (r, p);
                        }
                    }
                }
            }
            if best.1 == at || self.seen.len() as u64 >= most {
                return best.1;
            }
            at = best.1;
        }
    }
}

/// Searches: all choices, if they are at most `most` simulations; else from what is in
/// force and from the ends of each list, one setting and two at once. Of what is found,
/// a setting goes back to what is in force wherever that costs less than 1 %.
pub fn search(
    drive: &Drive,
    s: &Settings,
    load: &Load,
    price: Price<'_>,
    p99: Option<i64>,
    space: &Space,
    most: u64,
) -> Found {
    let mut x = Search { drive, base: s, load, price, p99, space, seen: Default::default() };
    let sizes = space.sizes();
    let now = [0; KNOBS];
    let all = space.size() <= most;
    let mut best = now;
    if all {
        for n in 0..space.size() {
            let mut rest = n;
            let p = sizes.map(|s| {
                let at = (rest % s as u64) as usize;
                rest /= s as u64;
                at
            });
            if x.rank(p) < x.rank(best) {
                best = p;
            }
        }
    } else {
        let last = sizes.map(|s| s - 1);
        let quick = sizes.map(|s| usize::from(s > 1));
        for start in [now, last, quick] {
            let p = x.descend(start, most);
            if x.rank(p) < x.rank(best) {
                best = p;
            }
        }
    }
    // What does not matter stays; the whole first, since two may matter only together.
    let found = x.rank(best);
    if !Search::beats(found, x.rank(now)) {
        best = now;
    }
    for k in 0..KNOBS {
        let mut p = best;
        p[k] = 0;
        if p != best && !Search::beats(found, x.rank(p)) {
            best = p;
        }
    }
    let met = !x.rank(best).0;
    let tried = x.seen.len() as u64;
    Found { now: x.choice(now), chosen: x.choice(best), met, tried, all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::energy::rests;
    use crate::simulate::settings::{Nap, laboratory};

    fn disk() -> (Drive, Settings, Powers) {
        let (mut d, s) = laboratory();
        d.gate = Nap { enter: 0, wake: MS };
        let p = Powers {
            busy: vec![Some(300_000), Some(900_000)],
            idle: vec![Some(60_000), Some(100_000)],
            gate: [None, Some(20_000), None],
            suspend: [None, Some(2_000), None],
            change: Some(10_000),
            ungate: Some(200_000),
            resume: Some(6_000_000),
        };
        (d, s, p)
    }

    fn even(d: &Drive, p: &Powers) -> BreakEven {
        BreakEven::of(&rests(d, p).unwrap())
    }

    #[test]
    fn a_burst_needs_its_clock_raised_and_a_rest_its_sleep() {
        let (d, s, p) = disk();
        let load = Load::paced(400, 8, 500 * MS);
        let even = even(&d, &p);
        let gaps = simulate(&d, &s, &load).gaps;
        let space = Space::of(&d, &s, &even, &gaps, false);
        let f = search(&d, &s, &load, Price::Powers(&p), None, &space, 20_000);
        assert!(f.met && f.chosen.cost < f.now.cost, "{f:?}");
        assert!(f.chosen.settings.autosuspend.is_some() || f.chosen.settings.gate.is_some());
        // The first request of a burst waits for a change: 99 of 100 within 5 ms of sleep.
        let f = search(&d, &s, &load, Price::Powers(&p), Some(600_000), &space, 20_000);
        assert!(f.met && f.chosen.outcome.latency().p99 <= 600_000);
        // Nothing serves a read in 100 us.
        let f = search(&d, &s, &load, Price::Powers(&p), Some(100_000), &space, 20_000);
        assert!(!f.met);
    }

    #[test]
    fn what_saves_nothing_is_left_alone() {
        let (mut d, s, _) = disk();
        (d.gate, d.suspend) = (Nap::default(), Nap::default());
        // Always slow, never raised: the cheapest already.
        let load = Load::paced(50, 1, 500 * MS);
        let even = BreakEven::of_times(&d);
        let space = Space::of(&d, &s, &even, &[], false);
        assert_eq!((space.autosuspend.len(), space.gate.len()), (1, 1));
        let f = search(&d, &s, &load, Price::Times(&even), None, &space, 20_000);
        assert_eq!(f.chosen.settings, s);
        assert_eq!(f.now, f.chosen);
    }

    #[test]
    fn descending_finds_what_trying_all_finds() {
        let (d, s, p) = disk();
        let even = even(&d, &p);
        let mut worse = 0;
        for seed in 0..6_i64 {
            let burst = 1 + (seed * 7 % 12) as u32;
            let load = Load::paced(48, burst, (3 + seed * seed * 11) * MS);
            let gaps = simulate(&d, &s, &load).gaps;
            let mut space = Space::of(&d, &s, &even, &gaps, false);
            space.autosuspend.truncate(5);
            space.gate.truncate(5);
            space.poll.truncate(4);
            let p99 = (seed % 2 == 0).then_some(400_000 + seed * 300_000);
            let of = |most| search(&d, &s, &load, Price::Powers(&p), p99, &space, most);
            let (every, some) = (of(u64::MAX), of(space.size() - 1));
            assert!(every.all && !some.all && some.tried < space.size());
            assert_eq!(every.met, some.met, "load {seed}");
            let cost = |f: &Found| f.chosen.cost.unwrap();
            // Within what the choice itself takes for the same.
            worse += i32::from(cost(&some) * 100 > cost(&every) * 102);
        }
        assert_eq!(worse, 0);
    }

    #[test]
    fn a_power_that_is_not_known_is_no_choice() {
        let (d, s, mut p) = disk();
        p.gate = [None; 3];
        let load = Load::paced(40, 1, 500 * MS);
        let even = BreakEven::of_times(&d);
        let mut space = Space::of(&d, &s, &even, &[], false);
        space.autosuspend.truncate(1);
        let f = search(&d, &s, &load, Price::Powers(&p), None, &space, u64::MAX);
        assert_eq!(f.chosen.settings.gate, None);
        assert_eq!(f.chosen.outcome.ungates, 0);
    }
}
