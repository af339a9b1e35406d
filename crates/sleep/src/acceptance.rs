//! Whether a change that was tried on a machine is better beyond doubt.
//!
//! The machine sleeps in pairs, once without the change and once with it, and
//! a coin decides which comes first ([`order`]). So whatever else changes
//! meanwhile (heat, load, a job in the background) meets both sides alike, and
//! the test of the differences ([`signed_rank`]) is exact without knowing how
//! the machine drifts.

use dormouse_base::phase::Direction;
use dormouse_base::stats::describe::median;
use dormouse_base::stats::paired::{SignedRank, interval, signed_rank};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;

/// Fewest pairs: seven fair coins fall alike once in 128 times on a given
/// side, eight once in 256, which is below half of [`LEVEL`].
pub const LEAST_PAIRS: usize = 8;

/// Two-sided level at which a change is kept. Stricter than that of a
/// comparison: what is kept stays.
pub const LEVEL: f64 = 0.01;

/// Two-sided level at which one direction alone is slower.
const SLOWER_LEVEL: f64 = 0.05;

/// One sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    /// Total of suspend.
    pub suspend: Ns,
    /// Total of resume.
    pub resume: Ns,
}

/// Two sleeps, one right after the other. `None` did not sleep, or not all of
/// it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Without the change.
    pub without: Option<Slept>,
    /// With it.
    pub with: Option<Slept>,
}

/// For each of `pairs` pairs, whether the sleep with the change comes first.
pub fn order(pairs: usize, seed: u64) -> Vec<bool> {
    let mut random = Random::new(seed);
    (0..pairs).map(|_| random.below(2) == 1).collect()
}

/// One figure of the pairs: suspend plus resume, or what else was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Median without the change, nanoseconds; NaN without pairs.
    pub without: f64,
    /// Median with it.
    pub with: f64,
    /// The differences, with minus without, in nanoseconds.
    pub test: SignedRank,
    /// Where the difference lies, at `1 - LEVEL`; `None` with too few pairs.
    pub interval: Option<(f64, f64)>,
}

/// Why the change stays or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Suspend plus resume is faster.
    Faster,
    /// Fewer than [`LEAST_PAIRS`] pairs are whole.
    TooFewPairs,
    /// More sleeps failed with the change than without.
    MoreFailures {
        /// Without it.
        without: usize,
        /// With it.
        with: usize,
    },
    /// This direction alone is slower.
    DirectionSlower(Direction),
    /// Suspend plus resume is slower.
    Slower,
    /// Neither can be told.
    NotShown,
}

/// What was found, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Suspend plus resume.
    pub effect: Effect,
    /// Pairs in which both slept.
    pub pairs: usize,
    /// Why it stays or not.
    pub reason: Reason,
}

impl Judgement {
    /// The change stays.
    pub fn keep(&self) -> bool {
        self.reason == Reason::Faster
    }
}

/// What a change does to a figure that was measured in pairs, without it and with
/// it.
pub fn effect(pairs: &[(f64, f64)]) -> Effect {
    let differences: Vec<f64> = pairs.iter().map(|(without, with)| with - without).collect();
    let side = |of: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(of).collect::<Vec<f64>>());
    Effect {
        without: side(|p| p.0),
        with: side(|p| p.1),
        test: signed_rank(&differences),
        interval: interval(&differences, LEVEL),
    }
}

impl Effect {
    /// It is less with the change, beyond [`LEVEL`].
    pub fn is_less(&self) -> bool {
        self.test.p_below <= LEVEL / 2.0
    }
}

/// Judges the pairs. The change is kept if suspend plus resume together is
/// faster beyond [`LEVEL`], and neither direction alone is slower.
pub fn judge(pairs: &[Pair]) -> Judgement {
    let whole: Vec<(Slept, Slept)> =
        pairs.iter().filter_map(|p| Some((p.without?, p.with?))).collect();
    let differences = |of: fn(Slept) -> Ns| -> Vec<f64> {
        whole.iter().map(|(a, b)| of(*b).0 as f64 - of(*a).0 as f64).collect()
    };
    let both = |s: Slept| Ns(s.suspend.0.saturating_add(s.resume.0));
    let together: Vec<(f64, f64)> =
        whole.iter().map(|(a, b)| (both(*a).0 as f64, both(*b).0 as f64)).collect();
    let effect = effect(&together);
    let slower = |of| signed_rank(&differences(of)).p_above <= SLOWER_LEVEL / 2.0;
    let failed = |of: fn(&Pair) -> bool| pairs.iter().filter(|p| of(p)).count();
    let (without, with) = (failed(|p| p.without.is_none()), failed(|p| p.with.is_none()));
    let reason = if with > without {
        Reason::MoreFailures { without, with }
    } else if whole.len() < LEAST_PAIRS {
        Reason::TooFewPairs
    } else if slower(|s| s.suspend) {
        Reason::DirectionSlower(Direction::Suspend)
    } else if slower(|s| s.resume) {
        Reason::DirectionSlower(Direction::Resume)
    } else if effect.is_less() {
        Reason::Faster
    } else if effect.test.p_above <= SLOWER_LEVEL / 2.0 {
        Reason::Slower
    } else {
        Reason::NotShown
    };
    Judgement { effect, pairs: whole.len(), reason }
}
