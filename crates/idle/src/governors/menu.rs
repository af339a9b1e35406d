//! `menu`: the next timer, corrected by how early the CPU woke before it lately,
//! or a typical interval of the last eight sleeps, whichever is shorter
//! (drivers/cpuidle/governors/menu.c).
//!
//! | step | function |
//! |---|---|
//! | learning from the last sleep | `menu_update` |
//! | typical interval | `get_typical_interval` |
//! | prediction and choice | `menu_select` |
//!
//! 6.12 and 7.2 differ in three places, marked there: which samples a typical
//! interval leaves out, how it rounds the variance, and when a stopped tick
//! overrules a short prediction. 6.1 looks at the timers first, corrects apart
//! while tasks wait for I/O, and lets no state take longer to leave than a part of
//! the prediction.

use super::{Decision, Outcome, Question, SHALLOW, UNKNOWN, Version};
use crate::state::State;

/// Sleeps that are remembered (`INTERVALS`).
const INTERVALS: usize = 8;
/// With so many samples or fewer none more is left out.
const FEWEST: u32 = 3 * INTERVALS as u32 / 4;
/// Classes of sleep length with a correction each.
const BUCKETS: usize = 6;
/// 6.1 has them twice: without and with tasks that wait for I/O (`BUCKETS`).
const ALL_BUCKETS: usize = 2 * BUCKETS;
/// Unit of a correction factor (`RESOLUTION`) …
const RESOLUTION: u64 = 1024;
/// … which is kept this many times as large, to forget slowly (`DECAY`).
const DECAY: u64 = 8;
/// A sleep this long says nothing about early wake-ups, ns (`MAX_INTERESTING`).
const LONG: u64 = 50_000_000;
/// Taken for the length of a sleep that the tick ended though it should have
/// been stopped, ns: nine tenths of [`LONG`].
const ENDED_BY_TICK: u64 = 45_000_000;
/// A sample that stands for none, us, and the answer "no typical interval".
const NONE: u32 = u32::MAX;

/// Memory of one CPU.
#[derive(Clone, Debug)]
pub struct Menu {
    version: Version,
    /// Correction by bucket, in units of `RESOLUTION * DECAY`.
    factor: [u32; ALL_BUCKETS],
    /// Last sleeps, us.
    intervals: [u32; INTERVALS],
    /// Sums over those that count as samples.
    all: Samples,
    /// Where the next sleep goes.
    place: usize,
    /// Next timer at the last decision, ns.
    next_timer: i64,
    /// Its class.
    bucket: usize,
    /// The last episode has not been learned from.
    pending: bool,
    /// State of the last episode.
    last: usize,
    /// Its residency, ns.
    residency: i64,
    poll_limit: bool,
    tick: bool,
}

impl Menu {
    /// Without memory.
    pub fn new(version: Version) -> Menu {
        Menu {
            version,
            factor: [(RESOLUTION * DECAY) as u32; ALL_BUCKETS],
            intervals: [0; INTERVALS],
            all: Samples { n: INTERVALS as u32, sum: 0, squares: 0 },
            place: 0,
            next_timer: 0,
            bucket: 0,
            pending: false,
            last: 0,
            residency: 0,
            poll_limit: false,
            tick: false,
        }
    }

    pub(super) fn carry(&mut self, residency: i64) {
        self.residency = residency;
    }

    pub(super) fn select(&mut self, q: &Question) -> Decision {
        let states = q.states();
        if self.pending {
            self.learn(q);
            self.pending = false;
        } else if self.residency == 0 {
            self.remember(NONE);
        }
        if self.version == Version::V6_1 {
            return self.select_6_1(q);
        }

        let mut predicted = i64::from(self.typical()) * 1_000;
        let asked = predicted > SHALLOW || q.tick_stopped;
        // Where the timers are not looked at, half a tick bounds the state
        // that a running tick allows.
        let mut event = q.tick / 2;
        if asked {
            let known = q.sleep.timer >= 0;
            self.next_timer = if known { q.sleep.timer } else { 0 };
            event = if known { q.sleep.event } else { 0 };
            self.bucket = bucket(self.next_timer);
            let timer = self.corrected() * 1_000;
            predicted = predicted.min(timer);
            // A tick that is stopped will not end a sleep which was predicted
            // too short. 7.2 leaves that alone if a timer is near anyway.
            let far = match self.version {
                Version::V6_1 | Version::V6_12 => true,
                Version::V7_2 => self.next_timer > q.tick.saturating_mul(2),
            };
            if q.tick_stopped && predicted < q.tick && far {
                predicted = self.next_timer;
            }
        } else {
            self.next_timer = UNKNOWN;
            self.bucket = BUCKETS - 1;
        }

        if self.only_first(q) {
            return Decision { state: 0, stop_tick: !states[0].polls, asked };
        }
        match self.walk(q, &mut predicted, event) {
            Walk::Settled(state) => Decision { state, stop_tick: true, asked },
            Walk::Found(state) => self.with_tick(q, state, predicted, event, asked),
        }
    }

    /// State 0 is taken whatever is predicted. State 1 is looked up as the kernel
    /// does, even where it is disabled.
    fn only_first(&self, q: &Question) -> bool {
        let states = q.states();
        let blocked =
            |deeper: &State| self.next_timer < deeper.residency || q.limit < deeper.latency;
        states.len() == 1 || q.limit == 0 || (q.enabled(0) && blocked(&states[1]))
    }

    fn select_6_1(&mut self, q: &Question) -> Decision {
        let states = q.states();
        let known = q.sleep.timer >= 0;
        self.next_timer = if known { q.sleep.timer } else { 0 };
        let event = if known { q.sleep.event } else { 0 };
        self.bucket = bucket(self.next_timer) + if q.iowait > 0 { BUCKETS } else { 0 };
        if self.only_first(q) {
            return Decision { state: 0, stop_tick: !states[0].polls, asked: true };
        }
        let timer = self.corrected();
        let typical = self.typical_6_1(timer as u32);
        let mut predicted = timer.min(i64::from(typical)) * 1_000;
        let mut limit = q.limit;
        if !q.tick_stopped {
            // Leaving may take a part of the sleep, less while others wait.
            limit = limit.min(predicted / (1 + 10 * i64::from(q.iowait)));
        } else if predicted < q.tick {
            predicted = self.next_timer;
        }
        match self.walk_6_1(q, &mut predicted, limit, event) {
            Walk::Settled(state) => Decision { state, stop_tick: true, asked: true },
            Walk::Found(state) => self.with_tick(q, state, predicted, event, true),
        }
    }

    /// 6.1: the limit counts only for states that pay.
    fn walk_6_1(&self, q: &Question, predicted: &mut i64, limit: i64, event: i64) -> Walk {
        let states = q.states();
        let mut found: Option<usize> = None;
        for (i, s) in states.iter().enumerate().filter(|(i, _)| q.enabled(*i)) {
            let taken = *found.get_or_insert(i);
            if s.residency <= *predicted {
                if s.latency > limit {
                    break;
                }
                found = Some(i);
                continue;
            }
            let sleeps =
                states[taken].polls && s.latency <= limit && s.residency <= self.next_timer;
            if sleeps {
                *predicted = s.residency;
                found = Some(i);
                break;
            }
            return beyond(q, taken, i, predicted, event);
        }
        Walk::Found(found.unwrap_or(0))
    }

    /// 6.1: none either where the shortest sample is no shorter than the time to
    /// the next timer, us; sleeps of no length are samples like others.
    fn typical_6_1(&self, timer: u32) -> u32 {
        let mut kept = self.all;
        let mut most = self.longest();
        while kept.n > 0 {
            let (min, max) = self.extremes(0, most);
            if min >= timer {
                return NONE;
            }
            let mean = divide(kept.sum, kept.n);
            if agrees(mean, self.variance(&kept, mean), kept.n) {
                return mean as u32;
            }
            if kept.n <= FEWEST {
                return NONE;
            }
            most = max - 1;
            let times = self.intervals.iter().map(|&x| u32::from(x == max)).sum();
            kept.drop_some(max, times);
        }
        NONE
    }

    /// The deepest state that the prediction and the limit allow.
    fn walk(&self, q: &Question, predicted: &mut i64, event: i64) -> Walk {
        let states = q.states();
        let mut found: Option<usize> = None;
        for (i, s) in states.iter().enumerate() {
            if !q.enabled(i) {
                continue;
            }
            let taken = *found.get_or_insert(i);
            if s.latency > q.limit {
                break;
            }
            if s.residency <= *predicted {
                found = Some(i);
                continue;
            }
            // Better a shallow sleep than spinning up to the next timer.
            let sleeps = states[taken].polls
                && s.residency < SHALLOW
                && s.residency <= self.next_timer
                && s.latency <= *predicted;
            if sleeps {
                *predicted = s.residency;
                found = Some(i);
                break;
            }
            return beyond(q, taken, i, predicted, event);
        }
        Walk::Found(found.unwrap_or(0))
    }

    /// Keeps the tick where the sleep will be short, and then a state that
    /// does not outlast it.
    fn with_tick(
        &self,
        q: &Question,
        state: usize,
        predicted: i64,
        event: i64,
        asked: bool,
    ) -> Decision {
        let states = q.states();
        if q.tick_stopped || !(states[state].polls || predicted < q.tick) {
            return Decision { state, stop_tick: true, asked };
        }
        let state = if state > 0 && states[state].residency > event {
            q.shallower(state, event)
        } else {
            state
        };
        Decision { state, stop_tick: false, asked }
    }

    /// Learns from the last sleep: how much of the time to the next timer it
    /// lasted, and how long it was.
    fn learn(&mut self, q: &Question) {
        let last = &q.states()[self.last.min(q.table.deepest())];
        let next = self.next_timer;
        let slept = if self.tick && next > q.tick {
            ENDED_BY_TICK as i64
        } else if last.polls && self.poll_limit {
            next
        } else if self.residency > last.latency.saturating_mul(2) {
            self.residency - last.latency
        } else {
            self.residency / 2
        };
        let slept = slept.min(next);
        let old = self.factor[self.bucket];
        // Residencies are not negative; a caller's mistake must not wrap.
        let (slept_u, next_u) = (slept.max(0) as u64, next as u64);
        let gained = if next > 0 && slept_u < LONG {
            (RESOLUTION * slept_u).checked_div(next_u).unwrap_or(0)
        } else {
            RESOLUTION
        };
        self.factor[self.bucket] = old - old / DECAY as u32 + gained as u32;
        self.remember((slept / 1_000) as u32);
    }

    fn remember(&mut self, us: u32) {
        let forgotten = std::mem::replace(&mut self.intervals[self.place], us);
        self.place = (self.place + 1) % INTERVALS;
        let longest = self.longest();
        if forgotten <= longest {
            self.all.drop_some(forgotten, 1);
        }
        if us <= longest {
            self.all.add(us);
        }
    }

    /// Longer than this is no sample, us.
    fn longest(&self) -> u32 {
        match self.version {
            Version::V6_1 | Version::V6_12 => i32::MAX as u32,
            Version::V7_2 => NONE - 1,
        }
    }

    /// The time to the next timer, corrected, us.
    fn corrected(&self) -> i64 {
        let unit = RESOLUTION * DECAY * 1_000;
        let d = self.next_timer as u64;
        let scaled = d.wrapping_mul(u64::from(self.factor[self.bucket])).wrapping_add(unit / 2);
        i64::from((scaled / unit) as u32)
    }

    /// A typical interval of the last sleeps, us, or [`NONE`]: their mean, if
    /// they agree, or else if they agree without one extreme or two.
    fn typical(&self) -> u32 {
        let mut kept = self.all;
        let (mut least, mut most) = (0, self.longest());
        loop {
            if kept.sum == 0 {
                return NONE;
            }
            let mean = divide(kept.sum, kept.n);
            if agrees(mean, self.variance(&kept, mean), kept.n) {
                return mean as u32;
            }
            if kept.n <= FEWEST {
                return NONE;
            }
            let (min, max) = self.extremes(least, most);
            // 6.12 leaves out the longest sleeps only, 7.2 whichever extreme
            // is farther from the mean.
            let low =
                self.version == Version::V7_2 && mean - u64::from(min) > u64::from(max) - mean;
            let out = if low { min } else { max };
            if low {
                least = min + 1;
            } else {
                most = max - 1;
            }
            let times = self.intervals.iter().map(|&x| u32::from(x == out)).sum();
            kept.drop_some(out, times);
        }
    }

    /// How far samples are from their mean, us squared. The versions round
    /// differently, and wrap alike.
    fn variance(&self, s: &Samples, mean: u64) -> u64 {
        let square = mean.wrapping_mul(mean);
        match self.version {
            Version::V6_1 | Version::V6_12 => {
                let spread = s
                    .squares
                    .wrapping_sub(s.sum.wrapping_mul(2 * mean))
                    .wrapping_add(square.wrapping_mul(u64::from(s.n)));
                divide(spread, s.n)
            }
            Version::V7_2 => divide(s.squares, s.n).wrapping_sub(square),
        }
    }

    /// Shortest and longest sample from `least` to `most`, which hold one.
    fn extremes(&self, least: u32, most: u32) -> (u32, u32) {
        let (mut min, mut max) = (u32::MAX, 0);
        // Without a branch for each: decisions are made by the million.
        for &x in &self.intervals {
            let mask = u32::from(x.wrapping_sub(least) <= most - least).wrapping_neg();
            min = min.min(x | !mask);
            max = max.max(x & mask);
        }
        (min, max)
    }

    pub(super) fn reflect(&mut self, o: &Outcome) {
        self.last = o.entered;
        self.pending = true;
        self.tick = o.tick;
        self.residency = o.residency;
        self.poll_limit = o.poll_limit;
    }

    pub(super) fn reject(&mut self) {
        self.residency = 0;
    }
}

/// Sums over samples, us.
#[derive(Clone, Copy, Debug)]
struct Samples {
    n: u32,
    sum: u64,
    /// Of squares; wraps as the kernel's.
    squares: u64,
}

impl Samples {
    fn add(&mut self, us: u32) {
        let wide = u64::from(us);
        self.n += 1;
        self.sum += wide;
        self.squares = self.squares.wrapping_add(wide * wide);
    }

    /// Takes out a sample that was added `times` times.
    fn drop_some(&mut self, us: u32, times: u32) {
        let (wide, times) = (u64::from(us), u64::from(times));
        self.n -= times as u32;
        self.sum -= wide * times;
        self.squares = self.squares.wrapping_sub((wide * wide).wrapping_mul(times));
    }
}

/// How the walk over the states ended.
enum Walk {
    /// The tick is decided too: it stays stopped.
    Settled(usize),
    /// The tick is still to be decided.
    Found(usize),
}

/// Class of a sleep length, ns (`which_bucket`).
fn bucket(ns: i64) -> usize {
    const ENDS: [i64; BUCKETS - 1] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    ENDS.iter().filter(|&&end| ns >= end).count()
}

/// `x / n` for 1 to 8 samples. Named divisors let the compiler multiply
/// instead, which is most of a decision's time.
fn divide(x: u64, n: u32) -> u64 {
    match n {
        8 => x / 8,
        7 => x / 7,
        6 => x / 6,
        5 => x / 5,
        4 => x / 4,
        3 => x / 3,
        2 => x / 2,
        _ => x,
    }
}

/// Are `n` samples close enough to their mean to be typical?
fn agrees(mean: u64, variance: u64, n: u32) -> bool {
    let close = variance <= u64::MAX / 36 && mean.wrapping_mul(mean) > variance * 36 && n >= FEWEST;
    close || variance <= 400
}
/// The walk ends at `taken`, because the next state must last longer than is
/// predicted.
fn beyond(q: &Question, taken: usize, next: usize, predicted: &mut i64, event: i64) -> Walk {
    let states = q.states();
    if *predicted < q.tick {
        return Walk::Found(taken);
    }
    if !q.tick_stopped {
        *predicted = states[taken].residency;
        return Walk::Found(taken);
    }
    // Without a tick a state that is too shallow stays for long.
    let deeper = states[taken].residency < q.tick && states[next].residency <= event;
    Walk::Settled(if deeper { next } else { taken })
}
