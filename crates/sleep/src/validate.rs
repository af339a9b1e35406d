//! Whether a prediction held: what a change was predicted to do beside what a
//! kernel did.
//!
//! Only *changes* are held against each other. The guest of the laboratory has
//! devices of its own, which make every phase longer before and after. From a
//! prediction they may be left out: then they drop out of the difference but for
//! some tenths of a millisecond, because they compute while others wait.
//!
//! What is chance in a boot (which CPU each worker ran on last) stays for all
//! its cycles, so a boot is one value: the median of its cycles. The size of a
//! change is right within [`TOLERANCE`] of the time before, or [`FLOOR`]; where
//! boots of the same thing are further apart than that, within twice their
//! spread. That is the rule of `make prove SUBJECT=accuracy`, and asks more than a test would:
//! of three boots a side the means of one and the same thing are further apart
//! than 2.3 times the spread (0.82 times, for the mean of three on both sides,
//! times t of 2.78) once in twenty. A direction is wrong if the kernel went the
//! other way by more than twice the spread beyond what was predicted.

use super::compare::Comparison;
use super::compare::contrast::{Contrast, Verdict};
use super::compare::figure::Figure;
use crate::simulate::predict::Outlook;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::describe::{median, variance};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use libm::{fabs, sqrt};
use serde::Serialize;

/// A change is judged where more than this share of its time is predicted to
/// go or to come.
pub const JUDGED: f64 = 0.02;

/// And where it is more than this: no more is asked of the prediction of a
/// phase (docs/validation/accuracy.md). For the same reason a size that is
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
    /// Standard deviation of the predicted change between draws of what chance
    /// decides; zero where nothing is drawn. It allows nothing.
    pub drawn: f64,
    /// Measured, after against before: a value a boot where there are several
    /// on both sides, else one a cycle.
    pub measured: Contrast,
    /// Standard deviation between boots of the same thing, of both sides
    /// together; zero where it is not known, because a side has one boot.
    pub spread: f64,
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

    /// Whether the measured change goes the predicted way, or is no further
    /// from it than boots are from one another.
    pub fn right_direction(&self) -> bool {
        self.same_sign() || self.apart() <= 2.0 * self.spread
    }

    fn same_sign(&self) -> bool {
        self.measured.difference * self.predicted_change() > 0.0
    }

    fn apart(&self) -> f64 {
        fabs(self.measured.difference - self.predicted_change())
    }

    /// How far the measured change is from the predicted one, in percent of
    /// the measured time before.
    pub fn off(&self) -> f64 {
        let before = if self.measured.median[0] > 0.0 { self.measured.median[0] } else { 1.0 };
        100.0 * (self.measured.difference - self.predicted_change()) / before
    }

    /// Whether the measured change is as large as the predicted one, within
    /// [`TOLERANCE`] of the phase or [`FLOOR`], or within twice the spread of
    /// boots where that is larger than both.
    pub fn right_size(&self) -> bool {
        let asked = self.asked();
        let allowed = if self.spread > asked { 2.0 * self.spread } else { asked };
        self.apart() <= allowed
    }

    fn asked(&self) -> f64 {
        let before = self.measured.median[0].max(1.0);
        (TOLERANCE * before).max(FLOOR.0 as f64)
    }

    /// Whether it held only because boots of the same thing are so far apart.
    pub fn rests_on_spread(&self) -> bool {
        self.is_judged() && self.held() && !(self.same_sign() && self.apart() <= self.asked())
    }

    /// Whether the prediction held: always, where it is not judged.
    pub fn held(&self) -> bool {
        !self.is_judged() || (self.right_direction() && self.right_size())
    }
}

/// Everything in one sentence's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
            .fold((0.0, 0.0), |(p, m), r| (p + r.predicted_change(), m + r.measured.difference))
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
            let drawn = [before, after].map(|draws| -> Vec<f64> {
                let sum = |o: &Outlook| -> Ns { part.phases().map(|p| o.phase(p)).sum() };
                draws.iter().map(|o| sum(o).0 as f64).collect()
            });
            let sides = [0, 1].map(|side| boots(measured, part, side));
            let [a, b] = &sides;
            if a.is_empty() || b.is_empty() {
                return None;
            }
            let several = sides.iter().all(|s| s.len() > 1);
            let [a, b] = sides.map(|boots| match several {
                true => boots.iter().map(|cycles| median(cycles)).collect(),
                false => boots.concat(),
            });
            Some(Row {
                part,
                predicted: (Ns(median(&drawn[0]) as i64), Ns(median(&drawn[1]) as i64)),
                drawn: sqrt(
                    drawn.iter().map(|d| if d.len() > 1 { variance(d) } else { 0.0 }).sum(),
                ),
                measured: Contrast::new(&a, &b, &mut random),
                spread: if several { spread(&a, &b) } else { 0.0 },
            })
        })
        .collect();
    Held { rows }
}

/// Standard deviation of values around the mean of their side.
fn spread(a: &[f64], b: &[f64]) -> f64 {
    let squares = |s: &[f64]| variance(s) * (s.len() - 1) as f64;
    sqrt((squares(a) + squares(b)) / (a.len() + b.len() - 2) as f64)
}

/// The time of `part` in every cycle of a side, boot by boot.
fn boots(c: &Comparison<'_>, part: Part, side: usize) -> Vec<Vec<f64>> {
    let cycles = samples(c, part, side);
    let of = c.sides.get(side).map_or(&[][..], |s| &s.boots);
    if of.len() != cycles.len() {
        // A phase that some cycles lack: whose they are is not known.
        return if cycles.is_empty() { Vec::new() } else { vec![cycles] };
    }
    of.chunk_by(|a, b| a == b)
        .scan(0, |at, boot| {
            let from = *at;
            *at += boot.len();
            cycles.get(from..*at).map(<[f64]>::to_vec)
        })
        .collect()
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
            spread: 0.0,
            drawn: 0.0,
        }
    }

    fn outcome(rows: &[Row]) -> Outcome {
        Held { rows: rows.to_vec() }.outcome()
    }

    #[test]
    fn size_and_direction_are_judged_beyond_two_percent() {
        let good = row((100, 70), (110.0, 81.0));
        assert!(good.is_judged() && good.held());
        assert_eq!(outcome(std::slice::from_ref(&good)), Outcome::Held);
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

    #[test]
    fn boots_that_differ_by_chance_allow_twice_their_spread_and_no_more() {
        let mut r = row((100, 90), (100.0, 99.0));
        assert!(!r.held() && !r.rests_on_spread(), "9 ms apart where 5 are allowed");
        r.spread = 4.9e6;
        assert!(!r.held(), "a spread below what is asked allows nothing more");
        r.spread = 5.1e6;
        assert!(r.held() && r.rests_on_spread());
        let mut back = row((100, 97), (100.0, 100.5));
        back.spread = 1.7e6;
        assert!(!back.right_direction(), "3.5 ms apart, the other way");
        back.spread = 1.8e6;
        assert!(back.held() && back.rests_on_spread());
        assert!(!row((100, 70), (100.0, 70.0)).rests_on_spread());
    }

    #[test]
    fn a_boot_is_one_value() {
        use super::super::compare::{self, Side};
        let side = |boots: &[usize]| Side { boots: boots.to_vec(), ..Side::default() };
        let row = |a: &[f64], b: &[f64]| compare::Row {
            figure: Figure::Phase(Phase::Late),
            samples: vec![a.to_vec(), b.to_vec()],
            contrasts: Vec::new(),
            needed: Vec::new(),
        };
        let mut c = Comparison {
            accounts: Vec::new(),
            sides: vec![side(&[0, 0, 0, 1, 1]), side(&[0, 2])],
            rows: vec![row(&[1.0, 9.0, 2.0, 4.0, 8.0], &[5.0, 9.0])],
            devices: Vec::new(),
            devices_tested: 0,
            why: Vec::new(),
            different_machines: false,
            in_blocks: Vec::new(),
        };
        let late = |c: &Comparison<'_>| {
            let held = hold(&[], &[], c);
            held.rows.into_iter().find(|r| r.part == Part::One(Phase::Late)).unwrap()
        };
        let r = late(&c);
        assert_eq!((r.measured.cycles[0], r.measured.median[0]), (2, 4.0), "boots of 2 and of 6");
        assert_eq!((r.measured.cycles[1], r.measured.median[1]), (2, 7.0));
        assert_eq!(r.spread, sqrt(8.0), "both sides differ by 4 between boots");
        c.sides[1] = side(&[0, 0]);
        let r = late(&c);
        assert_eq!((r.measured.cycles[0], r.measured.cycles[1]), (5, 2), "one boot: its cycles");
        assert_eq!(r.spread, 0.0, "and how boots differ is not known");
    }
}
