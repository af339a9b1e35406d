//! Since when values are others: change points of a sequence, with their uncertainty.
//!
//! The statistic is the greatest standardised sum of centred ranks over all places to cut at
//! (Pettitt 1979, Applied Statistics 28:126, with the weights of a two-sample rank test, so
//! that changes near the ends count alike). Its p-value comes from permutations of the same
//! values (Antoch and Hušková 2001, Statistics & Probability Letters 53:37): of values in
//! random order at most the asked share is called changed, whatever their distribution, ties
//! and outliers among them. A test that is lost early stops early (Besag and Clifford 1991,
//! Biometrika 78:301). Several changes are found by binary segmentation (Vostrikova 1981). The
//! range of a place holds 95 % of the likelihood of all places (Smith 1975, Biometrika 62:407)
//! for deviations from two medians. Ranks are whole numbers, so all machines agree.

use super::describe::median;
use super::random::Random;

/// A place from which on the values are others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first value of the new level.
    pub at: usize,
    /// The first value of the new level lies in this range with 95 % confidence; both ends
    /// belong to it.
    pub range: (usize, usize),
    /// How often chance does the same.
    pub p: f64,
    /// The median since the change before this one.
    pub before: f64,
    /// The median until the next change.
    pub after: f64,
}

/// So many values at least lie on either side of a change.
const SIDE: usize = 3;
/// Orders that are tried. With 1 more, 10 of them are the 2 in 1,000 of a history.
const ORDERS: u32 = 4_999;
/// What the range of a place holds of the likelihood of all places.
const HELD: f64 = 0.95;
/// A step counts as no more than so many mean deviations (chosen; `make prove
/// SUBJECT=history` counts how often ranges hold the true place).
const CLEAREST: f64 = 3.0;
/// The same values give the same answer.
const SEED: u64 = 0x5ee_d0f_c4a_46e;

/// The changes of `values`, in order, of which chance would show one in a share `level` of
/// sequences that have none.
pub fn changes(values: &[f64], level: f64) -> Vec<Change> {
    let mut random = Random::new(SEED);
    let mut cuts = Vec::new();
    segment(values, 0, level, &mut random, &mut cuts);
    cuts.sort_unstable_by_key(|c| c.0);
    let around = |cuts: &[(usize, f64)], i: usize| {
        let from = i.checked_sub(1).map_or(0, |i| cuts[i].0);
        (from, cuts.get(i + 1).map_or(values.len(), |c| c.0))
    };
    // A first cut was found among the levels of later ones (Bai 1997, Econometric Theory 13:315).
    for i in 0..cuts.len() {
        let (from, to) = around(&cuts, i);
        let of = &values[from..to];
        let at = best_cut(&centred_ranks(of)).map_or(cuts[i].0 - from, |c| c.0);
        cuts[i].0 = from + between(of, at);
    }
    let change = |(i, &(at, p)): (usize, &(usize, f64))| {
        let (from, to) = around(&cuts, i);
        let (low, high) = place(&values[from..to], at - from);
        let range = (from + low, from + high);
        Change { at, range, p, before: median(&values[from..at]), after: median(&values[at..to]) }
    };
    cuts.iter().enumerate().map(change).collect()
}

/// Adds the cuts of `values`, of which the first has the number `first`.
fn segment(
    values: &[f64],
    first: usize,
    level: f64,
    random: &mut Random,
    out: &mut Vec<(usize, f64)>,
) {
    let mut ranks = centred_ranks(values);
    let Some((at, greatest)) = best_cut(&ranks) else { return };
    let most = (f64::from(ORDERS + 1) * level) as u32;
    let mut as_great = 0;
    for _ in 0..ORDERS {
        random.shuffle(&mut ranks);
        as_great += u32::from(best_cut(&ranks).is_some_and(|c| c.1 >= greatest));
        if as_great >= most {
            return;
        }
    }
    out.push((first + at, f64::from(as_great + 1) / f64::from(ORDERS + 1)));
    segment(&values[..at], first, level, random, out);
    segment(&values[at..], first + at, level, random, out);
}

/// Twice the rank of each value less the mean of that: whole numbers that add up to 0. Values
/// that are alike share their rank.
fn centred_ranks(values: &[f64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut below = 0;
    for alike in order.chunk_by(|a, b| values[*a] == values[*b]) {
        for i in alike {
            ranks[*i] = (2 * below + alike.len()) as i64 - values.len() as i64;
        }
        below += alike.len();
    }
    ranks
}

/// Where the sum of the ranks before is furthest from what chance gives, and how far: the
/// square of the sum over its variance, but for a factor that all orders share. `None` of too
/// few values, and of values that are all alike.
fn best_cut(ranks: &[i64]) -> Option<(usize, f64)> {
    let n = ranks.len();
    let (mut sum, mut best) = (0i64, (0, 0.0));
    for at in 1..(n + 1).saturating_sub(SIDE) {
        sum += ranks[at - 1];
        if at < SIDE {
            continue;
        }
        let far = (sum * sum) as f64 / (at * (n - at)) as f64;
        if far > best.1 {
            best = (at, far);
        }
    }
    (best.1 > 0.0).then_some(best)
}

/// Where one level goes over into the other, which lie on the two sides of `near`: the place
/// with the least absolute deviations from their medians (Bai 1995, Econometric Theory 11:403).
/// Ranks tell that there is a step, and not how high it is, so they place it too near the middle.
fn between(values: &[f64], near: usize) -> usize {
    let mut at = near;
    for _ in 0..TURNS {
        let (low, high) = (median(&values[..at]), median(&values[at..]));
        if low == high {
            return near;
        }
        let best = costs(values, low, high).min_by(|a, b| a.1.total_cmp(&b.1));
        let best = best.unwrap_or((near, 0.0));
        if best.0 == at {
            break;
        }
        at = best.0;
    }
    at
}

/// Levels move with the place, which settles soon.
const TURNS: usize = 4;

/// Every place for a cut, and how far the values are in all from `low` before it and from
/// `high` after it, but for a sum that all places share.
fn costs(values: &[f64], low: f64, high: f64) -> impl Iterator<Item = (usize, f64)> {
    let mut sum = 0.0;
    let last = values.len().saturating_sub(SIDE);
    values.iter().enumerate().filter_map(move |(i, v)| {
        let here = sum;
        sum += (v - low).abs() - (v - high).abs();
        (SIDE..=last).contains(&i).then_some((i, here))
    })
}

/// The range of the cut of `values` that is about `at`.
fn place(values: &[f64], at: usize) -> (usize, usize) {
    let (low, high) = (median(&values[..at]), median(&values[at..]));
    let away: f64 = values[..at].iter().map(|v| (v - low).abs()).sum::<f64>()
        + values[at..].iter().map(|v| (v - high).abs()).sum::<f64>();
    // A count of few kinds has deviations that are rare and whole: so small a mean of them
    // would claim more than a handful of values can prove.
    let scale = (away / values.len() as f64).max((high - low).abs() / CLEAREST);
    let mut all: Vec<(usize, f64)> = costs(values, low, high).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let least = all.first().map_or(0.0, |c| c.1);
    for c in &mut all {
        c.1 = if c.1 == least { 1.0 } else { libm::exp((least - c.1) / scale) };
    }
    let whole: f64 = all.iter().map(|c| c.1).sum();
    let (mut held, mut range) = (0.0, (at, at));
    for (i, likely) in all {
        if held >= HELD * whole {
            break;
        }
        held += likely;
        range = (range.0.min(i), range.1.max(i));
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut r = Random::new(seed);
        (0..n).map(|_| r.unit()).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_twice_gives_the_same() {
        let mut values = noise(40, 1);
        values[25..].iter_mut().for_each(|v| *v += 2.0);
        let found = changes(&values, 0.002);
        assert_eq!(found.len(), 1, "{found:?}");
        let c = found[0];
        assert_eq!((c.at, c.range.0 <= 25 && 25 <= c.range.1), (25, true), "{c:?}");
        assert!(c.p <= 0.002 && c.after - c.before > 1.5, "{c:?}");
        assert_eq!(found, changes(&values, 0.002));
    }

    #[test]
    fn two_steps_are_two_changes() {
        let mut values = noise(60, 2);
        values[20..40].iter_mut().for_each(|v| *v += 3.0);
        let at: Vec<usize> = changes(&values, 0.002).iter().map(|c| c.at).collect();
        assert_eq!(at, [20, 40]);
    }

    #[test]
    fn nothing_is_found_in_what_is_alike_or_too_short() {
        for values in [vec![], vec![1.0], vec![4.0; 50], vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0]] {
            assert!(changes(&values, 0.002).is_empty(), "{values:?}");
        }
    }

    #[test]
    fn values_in_random_order_are_called_changed_no_more_often_than_asked() {
        // 1,000 sequences at 1 %: 10 are expected, more than 24 have a chance of 1 in 20,000.
        let quiet = |seed| {
            let mut values = noise(30, seed);
            // Ties and outliers, as gauges have them.
            values
                .iter_mut()
                .for_each(|v| *v = (*v * 8.0).floor() + if *v > 0.97 { 50.0 } else { 0.0 });
            usize::from(!changes(&values, 0.01).is_empty())
        };
        let called: usize = (0..1_000).map(quiet).sum();
        assert!((1..=24).contains(&called), "{called}");
    }

    #[test]
    fn ranks_add_up_to_nothing_and_share_ties() {
        assert_eq!(centred_ranks(&[5.0, 1.0, 5.0, 9.0]), [0, -3, 0, 3]);
        assert_eq!(best_cut(&[-3, -1, 1]), None);
    }
}
