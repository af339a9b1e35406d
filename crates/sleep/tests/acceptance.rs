//! Simulated machines: what is kept wrongly, and what is found.

use dormouse_base::phase::Direction;
use dormouse_base::stats::random::Random;
use dormouse_base::stats::test::{mann_whitney, welch};
use dormouse_base::time::Ns;
use dormouse_sleep::acceptance::{LEVEL, Pair, Reason, Slept, judge, order};

/// A machine whose time changes for reasons of its own. It answers one sleep
/// after the other.
struct Machine {
    random: Random,
    /// Nanoseconds that each further sleep takes longer.
    trend: f64,
    /// Largest step of a random walk.
    walk: f64,
    /// Chance that a burst begins, and what it adds.
    burst: (f64, f64),
    /// Period of a job in sleeps, and what it adds every other half.
    job: (u64, f64),
    /// Range of the noise of one sleep; a tenth of them have ten times as much.
    noise: f64,
    now: f64,
    in_burst: bool,
    sleeps: u64,
}

const SUSPEND: f64 = 400e6;
const RESUME: f64 = 600e6;

impl Machine {
    /// Steady but for noise.
    fn steady(seed: u64) -> Machine {
        Machine {
            random: Random::new(seed),
            trend: 0.0,
            walk: 0.0,
            burst: (0.0, 0.0),
            job: (1, 0.0),
            noise: 10e6,
            now: 0.0,
            in_burst: false,
            sleeps: 0,
        }
    }

    /// With drift, bursts and jobs of any strength.
    fn restless(seed: u64) -> Machine {
        let mut r = Random::new(seed ^ 0xd1f7);
        let mut of = |most: f64| most * r.unit();
        Machine {
            trend: of(40e6) - 20e6,
            walk: of(30e6),
            burst: (of(0.2), of(500e6)),
            job: (2 + (of(6.0) as u64), of(100e6)),
            noise: of(20e6),
            ..Machine::steady(seed)
        }
    }

    /// One sleep; the change takes `gain` of the total off.
    fn sleep(&mut self, gain: f64) -> Slept {
        self.sleeps += 1;
        self.now += self.trend + self.walk * (2.0 * self.random.unit() - 1.0);
        // A burst ends in one of three sleeps.
        let p = if self.in_burst { 2.0 / 3.0 } else { self.burst.0 };
        self.in_burst = self.random.unit() < p;
        let mut extra = self.now;
        extra += if self.in_burst { self.burst.1 } else { 0.0 };
        extra += if self.sleeps % self.job.0 < self.job.0 / 2 { self.job.1 } else { 0.0 };
        let mut time = |usual: f64, share: f64| {
            let wide = if self.random.below(10) == 0 { 10.0 } else { 1.0 };
            let noise = wide * self.noise * (self.random.unit() - 0.5);
            Ns((usual * (1.0 - gain) + share * extra + noise).max(0.0) as i64)
        };
        Slept { suspend: time(SUSPEND, 0.4), resume: time(RESUME, 0.6) }
    }

    fn pairs(&mut self, order: &[bool], gain: f64) -> Vec<Pair> {
        let pair = |with_first: &bool| {
            let (first, second) = if *with_first { (gain, 0.0) } else { (0.0, gain) };
            let (first, second) = (Some(self.sleep(first)), Some(self.sleep(second)));
            let (without, with) = if *with_first { (second, first) } else { (first, second) };
            Pair { without, with }
        };
        order.iter().map(pair).collect()
    }
}

const MACHINES: u64 = 10_000;
const PAIRS: usize = 10;

/// How many of `machines` keep a change that gains so much.
fn kept(machines: u64, make: fn(u64) -> Machine, pairs: usize, gain: f64) -> usize {
    (0..machines)
        .filter(|&seed| {
            let order = order(pairs, seed + 1_000_000);
            judge(&make(seed).pairs(&order, gain)).keep()
        })
        .count()
}

#[test]
fn of_10_000_machines_that_drift_at_most_1_percent_keep_a_change_that_does_nothing() {
    for (what, make) in [
        ("steady", Machine::steady as fn(u64) -> Machine),
        ("drift alone", |s| Machine { trend: 20e6, ..Machine::steady(s) }),
        ("bursts alone", |s| Machine { burst: (0.1, 500e6), ..Machine::steady(s) }),
        ("drift, bursts and jobs", Machine::restless),
    ] {
        let wrong = kept(MACHINES, make, PAIRS, 0.0);
        println!("{what}: {wrong} of {MACHINES} keep a change that does nothing");
        assert!(wrong <= MACHINES as usize / 100, "{what}: {wrong}");
        // A test that never keeps anything would pass as well: half of 1 % is
        // what it allows, because one direction of two is kept.
        assert!(wrong > 5, "{what}: {wrong}");
    }
}

#[test]
fn without_the_coin_such_machines_keep_far_more() {
    // Always first without, then with: a machine that gets faster gives the
    // change the praise.
    let faster = |s| Machine { trend: -20e6, ..Machine::steady(s) };
    let wrong = (0..1_000).filter(|&s| judge(&faster(s).pairs(&[false; PAIRS], 0.0)).keep());
    let wrong = wrong.count();
    println!("in a fixed order {wrong} of 1000 keep a change that does nothing");
    assert!(wrong > 300, "{wrong}");
    // Four blocks, as they are, changed, changed, as they are: a straight drift
    // cancels out, but bursts and what a random walk does are counted as if
    // every sleep were a sample of its own.
    let blocks = (0..1_000).filter(|&seed| {
        let mut machine = Machine { walk: 30e6, burst: (0.1, 500e6), ..Machine::steady(seed) };
        let mut sides = [Vec::new(), Vec::new()];
        for with in [0, 1, 1, 0] {
            for _ in 0..PAIRS / 2 {
                let s = machine.sleep(0.0);
                sides[with].push((s.suspend.0 + s.resume.0) as f64);
            }
        }
        welch(&sides[0], &sides[1]).is_some_and(|w| w.difference < 0.0 && w.p < LEVEL)
            && mann_whitney(&sides[0], &sides[1]).is_some_and(|m| m.p < LEVEL)
    });
    let blocks = blocks.count();
    println!("in four blocks {blocks} of 1000 keep a change that does nothing");
    assert!(blocks > 10, "{blocks}");
}

#[test]
fn a_real_gain_is_found() {
    // 3 % on a machine with noise of about 1 %, 20 % on one that is restless.
    for (what, make, gain) in [
        ("steady", Machine::steady as fn(u64) -> Machine, 0.03),
        ("drift alone", |s| Machine { trend: 20e6, ..Machine::steady(s) }, 0.06),
        ("drift, bursts and jobs", Machine::restless, 0.4),
    ] {
        let found = kept(1_000, make, PAIRS, gain);
        println!("{what}: {found} of 1000 find a gain of {:.0} %", 100.0 * gain);
        assert!(found >= 800, "{what}: {found}");
    }
}

fn pair(without: [i64; 2], with: [i64; 2]) -> Pair {
    let slept = |t: [i64; 2]| Some(Slept { suspend: Ns(t[0]), resume: Ns(t[1]) });
    Pair { without: slept(without), with: slept(with) }
}

#[test]
fn reasons() {
    let faster = pair([100, 100], [90, 80]);
    assert_eq!(judge(&[faster; 8]).reason, Reason::Faster);
    assert_eq!(judge(&[faster; 7]).reason, Reason::TooFewPairs);
    assert_eq!(judge(&[]).reason, Reason::TooFewPairs);
    assert_eq!(judge(&[pair([9, 9], [9, 9]); 8]).reason, Reason::NotShown);
    let traded = pair([100, 100], [110, 20]);
    assert_eq!(judge(&[traded; 8]).reason, Reason::DirectionSlower(Direction::Suspend));
    let mut failing = vec![faster; 12];
    failing[3].with = None;
    let j = judge(&failing);
    assert_eq!((j.reason, j.pairs), (Reason::MoreFailures { without: 0, with: 1 }, 11));
    failing[7].without = None;
    assert!(judge(&failing).keep());
    for p in &mut failing {
        std::mem::swap(&mut p.with, &mut p.without);
    }
    assert_eq!(judge(&failing).reason, Reason::DirectionSlower(Direction::Suspend));
    let e = judge(&[faster; 10]).effect;
    assert_eq!((e.without, e.with, e.test.estimate), (200.0, 170.0, -30.0));
    assert_eq!(e.interval, Some((-30.0, -30.0)));
}

#[test]
fn the_order_is_that_of_the_seed_and_fair() {
    assert_eq!(order(20, 7), order(20, 7));
    assert_ne!(order(20, 7), order(20, 8));
    let first = order(10_000, 3).iter().filter(|f| **f).count();
    assert!((4_800..5_200).contains(&first), "{first}");
}
