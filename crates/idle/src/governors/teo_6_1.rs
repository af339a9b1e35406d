//! `teo` of 6.1 (drivers/cpuidle/governors/teo.c, read in 6.1.192): what differs
//! from later versions.
//!
//! The deepest state that the next timer asks for is taken, unless intercepts of
//! shallower states outweigh what is left, or five of the last nine wake-ups were
//! such intercepts.

use super::recent::RECENT;
use super::teo::{DECAY, PULSE, Teo};
use super::{Decision, Question};

/// Sums over the states below one.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    intercepts: u32,
    recent: u32,
    hits: u32,
}

impl Teo {
    /// `teo_update`.
    pub(super) fn learn_6_1(&mut self, q: &Question, last: usize) {
        let slept = self.slept(q, last);
        self.total = 0;
        let (mut timer, mut paid) = (0, 0);
        for (i, s) in q.states().iter().enumerate() {
            self.hits[i] -= self.hits[i] >> DECAY;
            self.intercepts[i] -= self.intercepts[i] >> DECAY;
            self.total = self.total.wrapping_add(self.hits[i]).wrapping_add(self.intercepts[i]);
            if s.residency <= self.sleep_length {
                timer = i;
                if s.residency as u64 <= slept {
                    paid = i;
                }
            }
        }
        let hit = timer == paid;
        self.recent.push((!hit).then_some(paid));
        *(if hit { &mut self.hits[timer] } else { &mut self.intercepts[paid] }) += PULSE;
        self.total = self.total.wrapping_add(PULSE);
    }

    /// `teo_select`.
    pub(super) fn choose_6_1(&mut self, q: &Question) -> Decision {
        let states = q.states();
        let duration = q.sleep.timer;
        self.sleep_length = duration;
        let only_first = states.len() < 2 || (q.enabled(0) && states[1].residency > duration);
        if only_first {
            return finish(q, 0, 0, duration);
        }
        let mut found = q.enabled(0).then_some(0);
        let (mut first, mut cap) = (0, 0);
        let (mut sum, mut below) = (Below::default(), Below::default());
        for (i, s) in states.iter().enumerate().skip(1) {
            sum.intercepts = sum.intercepts.wrapping_add(self.intercepts[i - 1]);
            sum.hits = sum.hits.wrapping_add(self.hits[i - 1]);
            sum.recent += self.recent.count[i - 1];
            if !q.enabled(i) {
                continue;
            }
            if found.is_none() {
                (found, first) = (Some(i), i);
            }
            if s.residency > duration {
                break;
            }
            found = Some(i);
            if s.latency <= q.limit {
                cap = i;
            }
            below = sum;
        }
        let Some(state) = found else { return finish(q, 0, first, duration) };
        if state == first {
            return finish(q, state, first, duration);
        }
        let (state, duration) = self.step_back_6_1(q, state, below, duration);
        finish(q, state.min(cap), first, duration)
    }

    /// If the CPU is likely to wake early: the deepest state which most early
    /// wake-ups would have paid for, and how long it will sleep.
    fn step_back_6_1(
        &self,
        q: &Question,
        state: usize,
        below: Below,
        duration: i64,
    ) -> (usize, i64) {
        let often = below.intercepts.wrapping_mul(2) > self.total.wrapping_sub(below.hits);
        let lately = below.recent > RECENT as u32 / 2;
        if !often && !lately {
            return (state, duration);
        }
        let states = q.states();
        let mut suitable = (state, duration);
        let (mut intercepts, mut recent) = (0u32, 0u32);
        for i in (0..state).rev() {
            intercepts = intercepts.wrapping_add(self.intercepts[i]);
            recent += self.recent.count[i];
            // The middle between two states.
            let span = states[i].residency.saturating_add(states[i + 1].residency) / 2;
            // A stopped tick will not end a sleep that was thought short.
            let suits = !q.tick_stopped || span >= q.tick;
            let most = (!lately || 2 * recent > below.recent)
                && (!often || intercepts.wrapping_mul(2) > below.intercepts);
            if most {
                return if suits && q.enabled(i) { (i, span) } else { suitable };
            }
            if !q.enabled(i) {
                continue;
            }
            if suits {
                suitable = (i, span);
            } else if suitable.0 == state {
                break;
            }
        }
        (state, duration)
    }
}

/// Keeps the tick unless the sleep is expected to outlast it.
fn finish(q: &Question, state: usize, first: usize, duration: i64) -> Decision {
    let states = q.states();
    if q.tick_stopped || (!states[state].polls && duration >= q.tick) {
        return Decision { state, stop_tick: true, asked: true };
    }
    let state = if state > first && states[state].residency > q.sleep.event {
        q.shallower(state, q.sleep.event)
    } else {
        state
    };
    Decision { state, stop_tick: false, asked: true }
}
