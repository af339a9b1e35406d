//! Whether a change that was tried on a machine is better beyond doubt.

use super::compare::Comparison;
use super::compare::contrast::{Contrast, Verdict};
use super::compare::figure::Figure;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dormouse_model::phase::Direction;
use dormouse_stats::random::Random;

/// Fewest cycles a side: the order of four and four can happen by chance once
/// in 35 times, that of five and five once in 126, which is below [`LEVEL`].
pub const LEAST_CYCLES: usize = 5;

/// Two-sided level at which a change is kept. Stricter than that of a
/// comparison: what is kept stays.
pub const LEVEL: f64 = 0.01;

/// What was found, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The change stays.
    pub keep: bool,
    /// Suspend plus resume of each cycle, before against after.
    pub both: Contrast,
    /// Why, as a sentence.
    pub why: String,
}

/// Judges the second side of `c` against the first. The change is kept if
/// suspend plus resume together is faster beyond [`LEVEL`] by the means and by
/// the order of the cycles, the interval of its difference lies below zero, and
/// neither direction alone is slower.
pub fn judge(c: &Comparison<'_>) -> Judgement {
    let total = |d: Direction| {
        let row = c.rows.iter().find(|r| r.figure == Figure::Total(d));
        row.map(|r| (r.samples.as_slice(), r.contrasts.first()))
    };
    let (down, up) = (total(Direction::Suspend), total(Direction::Resume));
    let side = |i: usize| -> Vec<f64> {
        let of = |t: Option<(&[Vec<f64>], _)>| t.and_then(|(s, _)| s.get(i).cloned());
        let (down, up) = (of(down).unwrap_or_default(), of(up).unwrap_or_default());
        down.iter().zip(&up).map(|(a, b)| a + b).collect()
    };
    let slower =
        [(Direction::Suspend, down), (Direction::Resume, up)].into_iter().find(|(_, t)| {
            t.and_then(|(_, contrast)| contrast).is_some_and(|k| k.verdict == Verdict::Slower)
        });
    let both = Contrast::new(&side(0), &side(1), &mut Random::new(1));
    let fewest = both.count_a.min(both.count_b);
    let (keep, why) = if fewest < LEAST_CYCLES {
        (
            false,
            format!(
                "only {fewest} cycles a side can be compared; at least {LEAST_CYCLES} are needed"
            ),
        )
    } else if let Some((d, _)) = slower {
        (false, format!("{} is slower, beyond the 5 % level", d.name()))
    } else if is_faster(&both) {
        (true, String::from("suspend and resume together are faster, beyond the 1 % level"))
    } else if both.verdict == Verdict::Slower {
        (false, String::from("suspend and resume together are slower"))
    } else {
        (false, format!("{fewest} cycles a side do not show that it is faster, at the 1 % level"))
    };
    Judgement { keep, both, why }
}

fn is_faster(both: &Contrast) -> bool {
    let below = both.interval.is_some_and(|(_, high)| high < 0.0);
    let by_means = match both.welch {
        Some(w) => w.difference < 0.0 && w.p < LEVEL,
        // Constants on both sides need no test.
        None => both.verdict == Verdict::Faster,
    };
    let by_order = match both.mann_whitney {
        Some(m) => m.p < LEVEL,
        None => both.welch.is_none(),
    };
    below && by_means && by_order
}

#[cfg(test)]
mod tests {
    use super::super::compare::Row;
    use super::*;
    use alloc::vec;

    fn comparison(down: [Vec<f64>; 2], up: [Vec<f64>; 2]) -> Comparison<'static> {
        let mut random = Random::new(1);
        let mut row = |d, s: [Vec<f64>; 2]| Row {
            figure: Figure::Total(d),
            contrasts: vec![Contrast::new(&s[0], &s[1], &mut random)],
            samples: s.to_vec(),
            needed: vec![None],
        };
        let rows = vec![row(Direction::Suspend, down), row(Direction::Resume, up)];
        Comparison {
            sides: Vec::new(),
            rows,
            devices: Vec::new(),
            devices_tested: 0,
            why: Vec::new(),
            different_machines: false,
        }
    }

    fn noisy(random: &mut Random, n: usize, mean: f64) -> Vec<f64> {
        (0..n).map(|_| mean + (0..12).map(|_| random.unit()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn a_clear_gain_is_kept_and_nothing_else() {
        let mut r = Random::new(7);
        let mut n = |mean| noisy(&mut r, 8, mean);
        let same = [n(100.0), n(100.0)];
        let faster = [n(100.0), n(80.0)];
        let slower = [n(100.0), n(110.0)];
        assert!(judge(&comparison(same.clone(), faster.clone())).keep);
        let j = judge(&comparison(slower.clone(), faster.clone()));
        assert!(!j.keep && j.why.contains("suspend is slower"), "{j:?}");
        assert!(!judge(&comparison(same.clone(), slower)).keep);
        let few = faster.map(|s| s[..4].to_vec());
        let j = judge(&comparison(few.clone(), few));
        assert!(!j.keep && j.why.contains("only 4 cycles"), "{j:?}");
        let empty = [Vec::new(), Vec::new()];
        assert!(!judge(&comparison(empty.clone(), empty)).keep);
    }

    #[test]
    fn constants_and_the_fewest_cycles_can_be_kept() {
        let flat = |x| vec![x; 5];
        assert!(judge(&comparison([flat(9.0), flat(9.0)], [flat(9.0), flat(5.0)])).keep);
        assert!(!judge(&comparison([flat(9.0), flat(9.0)], [flat(5.0), flat(5.0)])).keep);
        let mut r = Random::new(3);
        let (a, b) = (noisy(&mut r, 5, 100.0), noisy(&mut r, 5, 50.0));
        assert!(judge(&comparison([flat(9.0), flat(9.0)], [a, b])).keep);
    }

    #[test]
    fn without_a_difference_hardly_anything_is_kept() {
        let mut r = Random::new(21);
        let draws = 120;
        let kept = (0..draws)
            .filter(|_| {
                let mut n = || noisy(&mut r, 10, 100.0);
                judge(&comparison([n(), n()], [n(), n()])).keep
            })
            .count();
        // Half of 1 %, because only one direction is kept.
        assert!(kept <= 3, "{kept} of {draws}");
    }
}
