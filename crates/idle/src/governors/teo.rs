//! `teo`, timer events oriented: the state that the next timer asks for, unless
//! most wake-ups lately came before it would have paid
//! (drivers/cpuidle/governors/teo.c).
//!
//! | step | function |
//! |---|---|
//! | learning from the last sleep | `teo_update` |
//! | choice | `teo_select` |
//! | a shallower state | `teo_find_shallower_state` |
//!
//! A wake-up at the timer is a hit of the state that the timer asked for; one
//! before it is an intercept of the deepest state it would still have paid for.
//! 6.12 and 7.2 learn differently and share the counting over states. 6.1 looks at
//! the timers first, counts the last nine intercepts too, and expects a sleep in
//! the middle between two states; it is in `teo_6_1`.

use super::recent::Recent;
use super::{Carried, Decision, Outcome, Question, SHALLOW, UNKNOWN, Version};
use crate::state::{STATES_MAX, State};

/// What one wake-up adds to a metric (`PULSE`).
pub(super) const PULSE: u32 = 1024;
/// Metrics lose this part of themselves at each wake-up: an eighth (`DECAY_SHIFT`).
pub(super) const DECAY: u32 = 3;
/// A latency limit below this asks for a quick answer, ns (7.2: half of
/// `RESIDENCY_THRESHOLD_NS`).
const QUICK: i64 = SHALLOW / 2;

/// Memory of one CPU.
#[derive(Clone, Debug)]
pub struct Teo {
    pub(super) version: Version,
    pub(super) hits: [u32; STATES_MAX],
    pub(super) intercepts: [u32; STATES_MAX],
    /// Sum of all metrics.
    pub(super) total: u32,
    /// Sleep length at the last decision, ns.
    pub(super) sleep_length: i64,
    /// State of an episode that has not been learned from.
    last: Option<usize>,
    residency: i64,
    /// 6.12: wake-ups by the tick.
    tick_hits: u32,
    /// 6.12: from the decision to the wake-up, ns.
    span: i64,
    /// 6.12: local clock at the decision, ns.
    selected_at: i64,
    /// 7.2: intercepts before the next tick.
    tick_intercepts: u32,
    /// 7.2: sleeps that were short.
    short: u32,
    /// 7.2: wake-ups by the tick.
    tick_wakeups: u32,
    /// The tick ended the last episode.
    woken_by_tick: bool,
    /// Polling ended at its limit in the last episode.
    poll_limit: bool,
    /// 6.1: the last wake-ups.
    pub(super) recent: Recent,
}

/// What the counting over states found.
#[derive(Default)]
struct Count {
    /// Deepest enabled state.
    state: usize,
    /// Shallowest enabled state.
    first: usize,
    /// Deepest state within the latency limit.
    cap: usize,
    /// Intercepts of the states below `state`.
    intercepts: u32,
    /// Intercepts of all states.
    all_intercepts: u32,
    /// Hits of the states below `state`.
    hits: u32,
    /// 7.2: the state with most intercepts.
    peak: usize,
}

impl Teo {
    /// Without memory.
    pub fn new(version: Version) -> Teo {
        Teo {
            version,
            hits: [0; STATES_MAX],
            intercepts: [0; STATES_MAX],
            total: 0,
            sleep_length: 0,
            // A device starts with state 0 as its last one, so the first
            // decision learns from a sleep that never was.
            last: Some(0),
            residency: 0,
            tick_hits: 0,
            span: 0,
            selected_at: 0,
            tick_intercepts: 0,
            short: 0,
            tick_wakeups: 0,
            woken_by_tick: false,
            poll_limit: false,
            recent: Recent::default(),
        }
    }

    /// The first decision learns from the last sleep under another governor.
    pub(super) fn carry(&mut self, before: &Carried) {
        self.last = Some(before.entered);
        self.residency = before.residency;
        self.poll_limit = before.poll_limit;
    }

    pub(super) fn select(&mut self, q: &Question) -> Decision {
        if let Some(last) = self.last.take() {
            let last = last.min(q.table.deepest());
            match self.version {
                Version::V6_1 => self.learn_6_1(q, last),
                Version::V6_12 => self.learn_6_12(q, last),
                Version::V7_2 => self.learn_7_2(q.states(), q.tick, last),
            }
        }
        self.selected_at = q.now;
        if self.version == Version::V6_1 {
            return self.choose_6_1(q);
        }
        self.sleep_length = UNKNOWN;
        let keep = |state, asked| Decision { state, stop_tick: false, asked };
        if self.version == Version::V6_12 && q.states().len() < 2 {
            return keep(0, false);
        }
        let Some(count) = self.count(q) else { return keep(0, false) };
        if count.state == count.first {
            let duration = q.states()[count.state].residency;
            return with_tick(q, &count, count.state, duration, q.tick / 2, false);
        }
        match self.version {
            Version::V6_1 | Version::V6_12 => self.choose_6_12(q, &count),
            Version::V7_2 => self.choose_7_2(q, &count),
        }
    }

    /// Sums metrics up to the deepest enabled state.
    fn count(&self, q: &Question) -> Option<Count> {
        let states = q.states();
        let mut c = Count::default();
        let mut found = q.enabled(0);
        let (mut hits, mut intercepts, mut most) = (0u32, 0u32, 0u32);
        for (i, s) in states.iter().enumerate().skip(1) {
            hits = hits.wrapping_add(self.hits[i - 1]);
            intercepts = intercepts.wrapping_add(self.intercepts[i - 1]);
            if self.intercepts[i - 1] >= most {
                (most, c.peak) = (self.intercepts[i - 1], i - 1);
            }
            if !q.enabled(i) {
                continue;
            }
            if !found {
                (found, c.first) = (true, i);
            }
            c.state = i;
            if s.latency <= q.limit {
                c.cap = i;
            }
            (c.intercepts, c.hits) = (intercepts, hits);
        }
        c.all_intercepts = intercepts.wrapping_add(self.intercepts[states.len() - 1]);
        found.then_some(c)
    }

    /// Do early wake-ups dominate what the deepest state would not pay for?
    fn intercepted(&self, c: &Count) -> bool {
        c.intercepts.wrapping_mul(2) > self.total.wrapping_sub(c.hits)
    }

    fn choose_6_12(&mut self, q: &Question, c: &Count) -> Decision {
        let states = q.states();
        let mut state = c.state;
        if self.intercepted(c) {
            state = self.step_back_6_12(q, c);
            if state == 0 {
                self.sleep_length = q.sleep.timer;
                return Decision { state: 0, stop_tick: false, asked: true };
            }
        }
        state = state.min(c.cap);
        if state == 0 || (states[0].polls && states[state].residency < SHALLOW) {
            return Decision { state, stop_tick: false, asked: false };
        }
        let mut duration = q.sleep.timer;
        self.sleep_length = duration;
        if states[state].residency > duration {
            state = q.shallower(state, duration);
        }
        let early = c.all_intercepts > self.total / 2 + self.total / 8;
        if states[state].residency < q.tick && early {
            duration = q.tick / 2;
        }
        with_tick(q, c, state, duration, q.sleep.event, true)
    }

    /// 6.12: the deepest state which most early wake-ups would have paid for;
    /// without a tick none whose residency is below one.
    fn step_back_6_12(&self, q: &Question, c: &Count) -> usize {
        let states = q.states();
        let suits = |i: usize| !q.tick_stopped || states[i].residency >= q.tick;
        let (mut first, mut sum) = (c.state, 0u32);
        for i in (0..c.state).rev() {
            sum = sum.wrapping_add(self.intercepts[i]);
            if sum.wrapping_mul(2) > c.intercepts {
                return if suits(i) && q.enabled(i) { i } else { first };
            }
            if !q.enabled(i) {
                continue;
            }
            if suits(i) {
                first = i;
            } else if first == c.state {
                break;
            }
        }
        c.state
    }

    fn choose_7_2(&mut self, q: &Question, c: &Count) -> Decision {
        let states = q.states();
        let mut state = c.state;
        if self.intercepted(c) {
            let mut sum = 0u32;
            for i in (c.first..c.state).rev() {
                sum = sum.wrapping_add(self.intercepts[i]);
                if !q.enabled(i) {
                    continue;
                }
                state = i;
                if sum.wrapping_mul(2) > c.intercepts && i <= c.peak {
                    break;
                }
            }
        }
        state = state.min(c.cap);
        let shallow = state == 0 || states[state].residency < SHALLOW;
        let hurried = self.short.wrapping_mul(2) >= self.total || q.limit < QUICK;
        if !q.tick_stopped && shallow && hurried {
            return Decision { state, stop_tick: false, asked: false };
        }
        let mut duration = q.sleep.timer;
        self.sleep_length = duration;
        let far = duration > q.tick.saturating_mul(2);
        if q.tick_stopped && far && states[state].residency < q.tick {
            // No tick will end a sleep that is too shallow.
            let deeper = (state + 1..=c.cap)
                .rev()
                .find(|&i| q.enabled(i) && states[i].residency <= duration);
            return Decision { state: deeper.unwrap_or(state), stop_tick: true, asked: true };
        }
        if state == 0 {
            return Decision { state, stop_tick: false, asked: true };
        }
        if states[state].residency > duration {
            state = q.shallower(state, duration);
        }
        let early = self.tick_intercepts.wrapping_mul(3) >= self.total.wrapping_mul(2);
        if states[state].residency < q.tick && early {
            duration = q.tick / 2;
        }
        with_tick(q, c, state, duration, q.sleep.event, true)
    }

    /// 6.1 and 6.12: how long the last sleep was, ns, up to the largest number for
    /// one that the timer ended.
    pub(super) fn slept(&self, q: &Question, last: usize) -> u64 {
        // Woken by a tick that should have been stopped, or polling to its
        // limit, counts as woken by the timer.
        let at_timer = self.poll_limit || (self.woken_by_tick && self.sleep_length > q.tick);
        if at_timer || self.span >= self.sleep_length {
            return u64::MAX;
        }
        let latency = q.states()[last].latency;
        let r = self.residency;
        (if r >= latency { r - latency / 2 } else { r / 2 }) as u64
    }

    fn learn_6_12(&mut self, q: &Question, last: usize) {
        let states = q.states();
        let n = states.len();
        let sleep_length = self.sleep_length;
        let slept = self.slept(q, last);
        self.total = 0;
        let (mut timer, mut paid) = (0, 0);
        for (i, s) in states.iter().enumerate() {
            self.hits[i] -= self.hits[i] >> DECAY;
            self.intercepts[i] -= self.intercepts[i] >> DECAY;
            self.total = self.total.wrapping_add(self.hits[i]).wrapping_add(self.intercepts[i]);
            if s.residency <= sleep_length {
                timer = i;
                if s.residency as u64 <= slept {
                    paid = i;
                }
            }
        }
        if states[n - 1].residency < q.tick {
            // The tick acts like one more state, deeper than all.
            self.tick_hits -= self.tick_hits >> DECAY;
            self.total = self.total.wrapping_add(self.tick_hits);
            if q.tick <= sleep_length {
                timer = n;
                if q.tick as u64 <= slept {
                    self.tick_hits += PULSE;
                    self.total = self.total.wrapping_add(PULSE);
                    return;
                }
            }
        }
        let metric = if timer == paid { &mut self.hits[paid] } else { &mut self.intercepts[paid] };
        *metric += PULSE;
        self.total = self.total.wrapping_add(PULSE);
    }

    fn learn_7_2(&mut self, states: &[State], tick: i64, last: usize) {
        let latency = states[last].latency;
        fade(&mut self.short);
        let slept = if self.poll_limit {
            i64::MAX
        } else if self.residency >= latency {
            let slept = self.residency - latency / 2;
            if slept < SHALLOW {
                self.short += PULSE;
            }
            slept
        } else {
            self.short += PULSE;
            self.residency / 2
        };
        let mut sum = 0u32;
        let (mut timer, mut paid) = (0, 0);
        for (i, s) in states.iter().enumerate() {
            fade(&mut self.hits[i]);
            fade(&mut self.intercepts[i]);
            sum = sum.wrapping_add(self.hits[i]).wrapping_add(self.intercepts[i]);
            if s.residency <= self.sleep_length {
                timer = i;
                if s.residency <= slept {
                    paid = i;
                }
            }
        }
        self.total = sum.wrapping_add(PULSE);
        fade(&mut self.tick_intercepts);
        fade(&mut self.tick_wakeups);
        if self.woken_by_tick {
            self.tick_wakeups += PULSE;
            if self.tick_wakeups.wrapping_mul(3) > self.total.wrapping_mul(2) {
                self.hits[states.len() - 1] += PULSE;
                return;
            }
            if self.tick_intercepts.wrapping_mul(3) < sum.wrapping_mul(2) {
                self.hits[timer] += PULSE;
                return;
            }
        }
        // The kernel's difference wraps where the timer was late and polling
        // ended at its limit; it then counts as an intercept.
        if timer == paid && self.sleep_length.wrapping_sub(slept) < latency / 2 {
            self.hits[timer] += PULSE;
        } else {
            self.intercepts[paid] += PULSE;
            if slept <= tick {
                self.tick_intercepts += PULSE;
            }
        }
    }

    pub(super) fn reflect(&mut self, o: &Outcome) {
        self.last = Some(o.entered);
        self.residency = o.residency;
        self.woken_by_tick = o.tick;
        self.poll_limit = o.poll_limit;
        self.span = o.now.wrapping_sub(self.selected_at);
    }

    /// Nothing is learned from an episode that did not happen.
    pub(super) fn reject(&mut self) {}
}

/// Keeps the tick unless the sleep is expected to outlast it, and with it a
/// state that does not.
fn with_tick(
    q: &Question,
    c: &Count,
    state: usize,
    duration: i64,
    event: i64,
    asked: bool,
) -> Decision {
    let states = q.states();
    if q.tick_stopped || (!states[state].polls && duration >= q.tick) {
        return Decision { state, stop_tick: true, asked };
    }
    let state = if state > c.first && states[state].residency > event {
        q.shallower(state, event)
    } else {
        state
    };
    Decision { state, stop_tick: false, asked }
}

/// 7.2: a metric loses an eighth, and what is too small to lose any is gone.
fn fade(metric: &mut u32) {
    let part = *metric >> DECAY;
    *metric = if part == 0 { 0 } else { *metric - part };
}
