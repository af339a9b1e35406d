//! The best setting of many flags.

use crate::stats::random::Random;

/// Up to this many free flags every setting is looked at.
pub(crate) const EXHAUSTIVE: usize = 12;

/// Result of [`best`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// One value a flag.
    pub flags: Vec<bool>,
    /// Its cost.
    pub cost: i64,
    /// Every setting was looked at.
    pub exact: bool,
    /// Settings that were evaluated.
    pub evaluated: u64,
}

/// Finds a setting of low `cost`.
///
/// `starts` are settings to begin with (at least one, all of the same length);
/// `weight` says which flags are likely to matter: heavier ones are tried
/// first. With at most [`EXHAUSTIVE`] flags every setting is evaluated and the
/// answer is the best there is. Beyond, the best start is improved by flipping
/// ever smaller groups of flags, then single ones, then random pairs, until
/// `limit` evaluations are used or nothing helps any more. Never worse than
/// the best start; of equals the one seen first.
///
/// `cost` is also told the lowest cost so far: above it, any greater value will
/// do, so it may stop early.
pub fn best(
    mut cost: impl FnMut(&[bool], i64) -> i64,
    starts: &[Vec<bool>],
    weight: &[i64],
    limit: u64,
    random: &mut Random,
) -> Setting {
    let count = starts.first().map_or(0, Vec::len);
    let mut search = Search { flags: Vec::new(), cost: i64::MAX, evaluated: 0, limit };
    for s in starts {
        search.look(&mut cost, s);
    }
    if count <= EXHAUSTIVE {
        for mask in 0..1u32 << count {
            let flags: Vec<bool> = (0..count).map(|i| mask >> i & 1 == 1).collect();
            search.look(&mut cost, &flags);
        }
        return search.setting(true);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| (-weight.get(i).copied().unwrap_or(0), i));
    loop {
        let before = search.cost;
        let mut size = count / 2;
        while size >= 1 && search.open() {
            for group in order.chunks(size) {
                search.flip(&mut cost, group);
            }
            size /= 2;
        }
        if search.cost == before || !search.open() {
            break;
        }
    }
    // What one flip cannot do two may: the async child of a synchronous
    // parent gains only when both change.
    let mut idle = 0;
    while search.open() && idle < 4 * count {
        let pair = [random.below(count as u64) as usize, random.below(count as u64) as usize];
        if pair[0] != pair[1] && search.flip(&mut cost, &pair) {
            idle = 0;
        } else {
            idle += 1;
        }
    }
    search.setting(false)
}

struct Search {
    flags: Vec<bool>,
    cost: i64,
    evaluated: u64,
    limit: u64,
}

impl Search {
    fn open(&self) -> bool {
        self.evaluated < self.limit
    }

    fn look(&mut self, cost: &mut impl FnMut(&[bool], i64) -> i64, flags: &[bool]) -> bool {
        self.evaluated += 1;
        let c = cost(flags, self.cost);
        let better = c < self.cost || self.flags.is_empty();
        if better {
            self.cost = c;
            self.flags = flags.to_vec();
        }
        better
    }

    /// Flips a group three ways - invert, all on, all off - and keeps the best.
    fn flip(&mut self, cost: &mut impl FnMut(&[bool], i64) -> i64, group: &[usize]) -> bool {
        let base = self.flags.clone();
        let mut seen = vec![base.clone()];
        let mut better = false;
        for way in [None, Some(true), Some(false)] {
            let mut flags = base.clone();
            for &i in group {
                flags[i] = way.unwrap_or(!flags[i]);
            }
            if self.open() && !seen.contains(&flags) {
                better |= self.look(cost, &flags);
                seen.push(flags);
            }
        }
        better
    }

    fn setting(self, exact: bool) -> Setting {
        Setting { flags: self.flags, cost: self.cost, exact, evaluated: self.evaluated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs with pairwise interactions, so that flags do not stand alone.
    fn rugged(seed: u64, count: usize) -> impl Fn(&[bool], i64) -> i64 {
        let mut r = Random::new(seed);
        let single: Vec<i64> = (0..count).map(|_| r.below(200) as i64 - 100).collect();
        let pairs: Vec<(usize, usize, i64)> = (0..count)
            .map(|_| {
                (
                    r.below(count as u64) as usize,
                    r.below(count as u64) as usize,
                    r.below(300) as i64 - 150,
                )
            })
            .collect();
        move |f: &[bool], ceiling| {
            let s: i64 = f.iter().zip(&single).filter(|(b, _)| **b).map(|(_, c)| c).sum();
            let pairs = pairs.iter().filter(|(a, b, _)| f[*a] && f[*b]);
            let sum = s + pairs.map(|(_, _, c)| c).sum::<i64>();
            // As a caller may that gives up early.
            if sum > ceiling { i64::MAX } else { sum }
        }
    }

    #[test]
    fn few_flags_are_solved_exactly() {
        let cost = rugged(1, 10);
        let found = best(&cost, &[vec![false; 10]], &[], u64::MAX, &mut Random::new(0));
        let want = (0..1024u32)
            .map(|m| cost(&(0..10).map(|i| m >> i & 1 == 1).collect::<Vec<_>>(), i64::MAX))
            .min();
        assert!(found.exact);
        assert_eq!(Some(found.cost), want);
    }

    #[test]
    fn many_flags_beat_random_search_with_the_same_number_of_questions() {
        for seed in 0..10 {
            let count = 60;
            let cost = rugged(seed, count);
            let starts = [vec![false; count], vec![true; count]];
            let found = best(&cost, &starts, &[], 3_000, &mut Random::new(seed));
            assert!(found.evaluated <= 3_000);
            let mut r = Random::new(seed + 100);
            let random = (0..3_000)
                .map(|_| cost(&(0..count).map(|_| r.chance(1, 2)).collect::<Vec<_>>(), i64::MAX))
                .min()
                .unwrap();
            assert!(found.cost < random, "{} is not below {random}", found.cost);
        }
    }

    #[test]
    fn never_worse_than_the_best_start() {
        let cost = rugged(9, 30);
        let starts = [vec![false; 30], vec![true; 30]];
        let floor = starts.iter().map(|s| cost(s, i64::MAX)).min().unwrap();
        let found = best(&cost, &starts, &[], 2, &mut Random::new(0));
        assert!(found.cost <= floor);
    }
}
