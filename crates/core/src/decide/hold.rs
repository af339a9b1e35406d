//! Whether a prediction held: what a change was predicted to do beside what a
//! kernel did.
//!
//! Only *changes* are held against each other. The guest of the laboratory has
//! devices of its own, which make every phase longer before and after, and
//! drop out of the difference.

use super::compare::Comparison;
use super::compare::contrast::{Contrast, Verdict};
use super::compare::figure::Figure;
use crate::phase::{Direction, Phase};
use crate::random::Random;
use crate::simulate::predict::Outlook;
use crate::time::Ns;
use alloc::vec::Vec;
use libm::fabs;

/// A change is judged where more than this share of its time is predicted to
/// go or to come.
pub const JUDGED: f64 = 0.02;

/// And where it is more than this: no more is asked of the prediction of a
/// phase (docs/simulator.md, Accuracy). For the same reason a size that is
/// nearer than this is right, however short the phase.
pub const FLOOR: Ns = Ns(100_000);

/// How far the measured change may be from the predicted one, as a share of
/// the measured time before.
pub const TOLERANCE: f64 = 0.05;

/// Time that is predicted and measured: one phase, or all device phases of a
/// direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All device phases on the way down or up.
    All(Direction),
    /// One device phase.
    One(Phase),
}

impl Part {
    fn phases(self) -> impl Iterator<Item = Phase> {
        Phase::DEVICE.into_iter().filter(move |p| match self {
            Part::All(d) => p.direction() == d,
            Part::One(one) => *p == one,
        })
    }
}

/// One part before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which time.
    pub part: Part,
    /// Predicted before and after.
    pub predicted: (Ns, Ns),
    /// Measured, after against before.
    pub measured: Contrast,
}

impl Row {
    /// Predicted change in nanoseconds.
    pub fn predicted_change(&self) -> f64 {
        (self.predicted.1 - self.predicted.0).0 as f64
    }

    /// Whether so much is predicted that the prediction can be wrong.
    pub fn is_judged(&self) -> bool {
        let change = fabs(self.predicted_change());
        change > JUDGED * self.predicted.0.0 as f64 && change > FLOOR.0 as f64
    }

    /// Whether the measured change goes the predicted way.
    pub fn right_direction(&self) -> bool {
        self.measured.difference() * self.predicted_change() > 0.0
    }

    /// How far the measured change is from the predicted one, in percent of
    /// the measured time before.
    pub fn off(&self) -> f64 {
        let before = if self.measured.median_a > 0.0 { self.measured.median_a } else { 1.0 };
        100.0 * (self.measured.difference() - self.predicted_change()) / before
    }

    /// Whether the measured change is as large as the predicted one, within
    /// [`TOLERANCE`] of the phase or [`FLOOR`].
    pub fn right_size(&self) -> bool {
        let apart = fabs(self.measured.difference() - self.predicted_change());
        fabs(self.off()) <= 100.0 * TOLERANCE || apart <= FLOOR.0 as f64
    }

    /// Whether the prediction held: always, where it is not judged.
    pub fn held(&self) -> bool {
        !self.is_judged() || (self.right_direction() && self.right_size())
    }
}

/// Everything in one sentence's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was predicted that is large enough to be judged.
    NothingPredicted,
    /// Direction and size are right wherever they are judged.
    Held,
    /// The kernel gained or lost another amount than predicted.
    OtherSize,
    /// Somewhere the kernel went the other way, or did not move.
    OtherDirection,
}

impl Outcome {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::NothingPredicted => "nothing_predicted",
            Outcome::Held => "held",
            Outcome::OtherSize => "other_size",
            Outcome::OtherDirection => "other_direction",
        }
    }
}

/// A prediction beside a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Both directions, then every device phase that ran.
    pub rows: Vec<Row>,
}

impl Held {
    /// What all rows together say.
    pub fn outcome(&self) -> Outcome {
        let judged = || self.rows.iter().filter(|r| r.is_judged());
        if judged().any(|r| !r.right_direction()) {
            Outcome::OtherDirection
        } else if judged().any(|r| !r.held()) {
            Outcome::OtherSize
        } else if judged().next().is_some() {
            Outcome::Held
        } else {
            Outcome::NothingPredicted
        }
    }

    /// Suspend plus resume: the predicted change, and the difference of the
    /// measured medians, in nanoseconds.
    pub fn total(&self) -> (f64, f64) {
        self.rows
            .iter()
            .filter(|r| matches!(r.part, Part::All(_)))
            .fold((0.0, 0.0), |(p, m), r| (p + r.predicted_change(), m + r.measured.difference()))
    }

    /// Whether the measured difference is beyond doubt in either direction.
    pub fn beyond_doubt(&self) -> bool {
        self.rows
            .iter()
            .filter(|r| matches!(r.part, Part::All(_)))
            .any(|r| matches!(r.measured.verdict, Verdict::Slower | Verdict::Faster))
    }
}

/// Holds the medians of the simulated cycles `before` and `after`
/// ([`draws`](crate::simulate::predict::draws)) against the second side of `measured` compared with its first.
pub fn hold(before: &[Outlook], after: &[Outlook], measured: &Comparison<'_>) -> Held {
    let mut random = Random::new(1);
    let directions = [Direction::Suspend, Direction::Resume].map(Part::All);
    let rows = directions
        .into_iter()
        .chain(Phase::DEVICE.into_iter().map(Part::One))
        .filter_map(|part| {
            let time = |draws: &[Outlook]| -> Ns {
                let sum = |o: &Outlook| -> Ns { part.phases().map(|p| o.phase(p)).sum() };
                let mut sums: Vec<Ns> = draws.iter().map(sum).collect();
                sums.sort_unstable();
                sums.get(sums.len() / 2).copied().unwrap_or_default()
            };
            let sides = [0, 1].map(|side| samples(measured, part, side));
            let [a, b] = sides;
            if a.is_empty() || b.is_empty() {
                return None;
            }
            Some(Row {
                part,
                predicted: (time(before), time(after)),
                measured: Contrast::new(&a, &b, &mut random),
            })
        })
        .collect();
    Held { rows }
}

/// The time of `part` in every cycle of a side.
fn samples(c: &Comparison<'_>, part: Part, side: usize) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for phase in part.phases() {
        let Some(row) = c.rows.iter().find(|r| r.figure == Figure::Phase(phase)) else { continue };
        let Some(values) = row.samples.get(side) else { continue };
        if sum.is_empty() {
            sum.clone_from(values);
        } else {
            // Cycles that lack a phase would be added to others.
            if sum.len() != values.len() {
                return Vec::new();
            }
            sum.iter_mut().zip(values).for_each(|(s, v)| *s += v);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(predicted: (i64, i64), measured: (f64, f64)) -> Row {
        let side = |m: f64| [m - 1e3, m, m + 1e3];
        Row {
            part: Part::All(Direction::Suspend),
            predicted: (Ns::from_ms(predicted.0), Ns::from_ms(predicted.1)),
            measured: Contrast::new(
                &side(measured.0 * 1e6),
                &side(measured.1 * 1e6),
                &mut Random::new(1),
            ),
        }
    }

    fn outcome(rows: &[Row]) -> Outcome {
        Held { rows: rows.to_vec() }.outcome()
    }

    #[test]
    fn size_and_direction_are_judged_beyond_two_percent() {
        let good = row((100, 70), (110.0, 81.0));
        assert!(good.is_judged() && good.held());
        assert_eq!(outcome(core::slice::from_ref(&good)), Outcome::Held);
        let small = row((100, 70), (110.0, 88.0));
        assert_eq!(outcome(&[good.clone(), small]), Outcome::OtherSize);
        let other = row((100, 97), (110.0, 110.5));
        assert!((other.off() - 100.0 * 3.5 / 110.0).abs() < 1e-6, "{}", other.off());
        assert_eq!(outcome(&[good, other]), Outcome::OtherDirection, "near, but the wrong way");
        let little = row((100, 99), (110.0, 112.0));
        assert!(!little.is_judged());
        assert_eq!(outcome(&[little]), Outcome::NothingPredicted);
        let mut tiny = row((1, 0), (1.0, 2.0));
        tiny.predicted.1 = tiny.predicted.0 - FLOOR;
        assert!(!tiny.is_judged(), "a tenth of a phase, but only 0.1 ms");
        let mut short = row((1, 0), (1.0, 0.75));
        short.predicted.1 = short.predicted.0 - FLOOR - Ns(50_000);
        assert!(short.is_judged() && short.off() < -9.0 && short.held(), "0.1 ms apart is near");
        short.predicted.1 = short.predicted.0 - FLOOR - Ns(49_000);
        assert_eq!(outcome(&[short]), Outcome::OtherSize, "and no more");
    }

    #[test]
    fn a_gain_that_is_not_there_is_not_held() {
        assert_eq!(outcome(&[row((100, 50), (100.0, 100.0))]), Outcome::OtherDirection);
    }
}
