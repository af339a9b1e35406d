//! The smallest set of changes that meets a budget.

/// What the search asks of its caller. Excess is how far a choice is over the
/// budget, in nanoseconds; zero or less meets it.
pub trait Budget {
    /// Excess when exactly the changes of `chosen` (ascending) are made.
    fn excess(&mut self, chosen: &[usize]) -> i64;

    /// A value that the excess of `chosen` together with *any* `size` or fewer of
    /// `open` cannot go below. A weak bound is slow, a wrong one makes the answer
    /// wrong.
    fn bound(&mut self, chosen: &[usize], open: &[usize], size: usize) -> i64;
}

/// Result of [`smallest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The set, ascending. If the budget cannot be met, the closest set seen.
    pub chosen: Vec<usize>,
    /// Its excess; zero or less meets the budget.
    pub excess: i64,
    /// No smaller set meets the budget (or none at all does): proven by
    /// looking at, or excluding by a bound, every set.
    pub exact: bool,
    /// No set of fewer members meets the budget: proven. More than there are
    /// candidates if no set at all does.
    pub least: usize,
    /// No choice at all can have an excess below this.
    pub bound: i64,
    /// Choices that were evaluated, and bounds that were asked for.
    pub evaluated: u64,
}

impl Found {
    /// Whether the budget is met.
    pub fn met(&self) -> bool {
        self.excess <= 0
    }
}

/// Finds the smallest subset of `0..count` whose excess is zero or less; among
/// sets of that size the one with the least excess, then the first in
/// lexical order. Looks at sets in order of size, leaving out those that
/// [`Budget::bound`] excludes. After `limit` evaluations it gives up being
/// exact and continues best-first from what it knows.
pub fn smallest(problem: &mut impl Budget, count: usize, limit: u64) -> Found {
    let all: Vec<usize> = (0..count).collect();
    let floor = problem.bound(&[], &all, count);
    let mut best = Best { chosen: Vec::new(), excess: i64::MAX, evaluated: 0, limit };
    for size in 0..=count {
        let mut chosen = Vec::with_capacity(size);
        let finished = best.sets_of(problem, &all, size, &mut chosen);
        if best.excess <= 0 {
            // All smaller sets were looked at, even if not all of this size.
            return best.found(true, size, floor);
        }
        if !finished {
            best.best_first(problem, count);
            let exact = best.excess <= 0 && best.chosen.len() == size;
            return best.found(exact, size, floor);
        }
        if floor > 0 {
            // Nothing meets the budget, and no further set need be looked at
            // to know it.
            break;
        }
    }
    // Proven out of reach; the closest set that is worth its size remains.
    best.best_first(problem, count);
    best.found(true, count + 1, floor)
}

/// Rounds of the best-first search that are always made.
const ROUNDS: usize = 10;

struct Best {
    chosen: Vec<usize>,
    excess: i64,
    evaluated: u64,
    limit: u64,
}

impl Best {
    fn found(self, exact: bool, least: usize, bound: i64) -> Found {
        Found {
            chosen: self.chosen,
            excess: self.excess,
            exact,
            least,
            bound: bound.min(self.excess),
            evaluated: self.evaluated,
        }
    }

    fn look(&mut self, problem: &mut impl Budget, chosen: &[usize]) -> i64 {
        self.evaluated += 1;
        let excess = problem.excess(chosen);
        // Sets come in order of size and then lexically: the first of equals
        // stays. Once the budget is met only sets of that size are looked at.
        if excess < self.excess {
            self.excess = excess;
            self.chosen = chosen.to_vec();
        }
        excess
    }

    /// Visits every set of `size` more members of `open`; false when the limit
    /// was reached.
    fn sets_of(
        &mut self,
        problem: &mut impl Budget,
        open: &[usize],
        size: usize,
        chosen: &mut Vec<usize>,
    ) -> bool {
        if size == 0 {
            if self.evaluated >= self.limit {
                return false;
            }
            self.look(problem, chosen);
            return true;
        }
        // A subtree in which not even the best `size` of what is open would meet
        // the budget holds no answer.
        if open.len() > size {
            if self.evaluated >= self.limit {
                return false;
            }
            self.evaluated += 1;
            if problem.bound(chosen, open, size) > 0 {
                return true;
            }
        }
        for i in 0..=open.len().saturating_sub(size) {
            if i >= open.len() {
                break;
            }
            chosen.push(open[i]);
            let finished = self.sets_of(problem, &open[i + 1..], size - 1, chosen);
            chosen.pop();
            if !finished {
                return false;
            }
        }
        true
    }

    /// Adds the change that helps most until the budget is met or nothing
    /// helps, then takes away what is not needed.
    fn best_first(&mut self, problem: &mut impl Budget, count: usize) {
        let mut chosen: Vec<usize> = Vec::new();
        let mut excess = self.look(problem, &chosen);
        // Some rounds, and then no more work than the search before it.
        let most = self.limit.saturating_mul(2).saturating_add((ROUNDS * count) as u64);
        while excess > 0 && self.evaluated < most {
            let mut next: Option<(i64, Vec<usize>)> = None;
            for i in (0..count).filter(|i| !chosen.contains(i)).collect::<Vec<_>>() {
                let mut with = chosen.clone();
                with.insert(with.partition_point(|&c| c < i), i);
                let e = self.look(problem, &with);
                if next.as_ref().is_none_or(|n| e < n.0) {
                    next = Some((e, with));
                }
            }
            match next {
                // A step that gains nothing may still prepare one that does
                // (two equal chains side by side), so only a loss ends it.
                Some((e, with)) if e <= excess && chosen.len() < count => {
                    excess = e;
                    chosen = with;
                }
                _ => break,
            }
        }
        let mut i = 0;
        while i < chosen.len() {
            let mut without = chosen.clone();
            without.remove(i);
            let e = self.look(problem, &without);
            // What brings less than a thousandth of what is missing is not
            // worth making.
            if (excess <= 0 && e <= 0) || e <= excess.saturating_add(excess.max(0) / 1000) {
                chosen = without;
                excess = e;
            } else {
                i += 1;
            }
        }
        // Earlier looks may have met the budget with fewer changes; a set that
        // does not meet it is replaced by the trimmed one.
        if self.excess > 0 || (excess <= 0 && chosen.len() < self.chosen.len()) {
            self.chosen = chosen;
            self.excess = excess;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// Two chains side by side: the longer one decides.
    struct Chains {
        left: Vec<i64>,
        right: Vec<i64>,
        budget: i64,
    }

    impl Budget for Chains {
        fn excess(&mut self, chosen: &[usize]) -> i64 {
            let n = self.left.len();
            let sum = |v: &[i64], base: usize| -> i64 {
                v.iter()
                    .enumerate()
                    .filter(|(i, _)| !chosen.contains(&(base + i)))
                    .map(|(_, d)| d)
                    .sum()
            };
            sum(&self.left, 0).max(sum(&self.right, n)) - self.budget
        }

        fn bound(&mut self, chosen: &[usize], open: &[usize], _: usize) -> i64 {
            let mut all: Vec<usize> = chosen.iter().chain(open).copied().collect();
            all.sort_unstable();
            self.excess(&all)
        }
    }

    /// The dumbest possible oracle: every subset.
    fn exhaustive(p: &mut Chains, count: usize) -> Option<usize> {
        (0u32..1 << count)
            .filter(|m| {
                let set: Vec<usize> = (0..count).filter(|i| m >> i & 1 == 1).collect();
                p.excess(&set) <= 0
            })
            .map(|m| m.count_ones() as usize)
            .min()
    }

    #[test]
    fn agrees_with_looking_at_every_subset() {
        let mut r = Random::new(5);
        for _ in 0..200 {
            let mut side = || (0..5).map(|_| r.between(1, 40) as i64).collect::<Vec<_>>();
            let (left, right) = (side(), side());
            let budget = r.between(0, 120) as i64;
            let mut p = Chains { left, right, budget };
            let found = smallest(&mut p, 10, u64::MAX);
            assert!(found.exact);
            let want = exhaustive(&mut p, 10);
            assert_eq!(found.met().then_some(found.chosen.len()), want);
            assert_eq!(found.least, want.unwrap_or(11));
        }
    }

    #[test]
    fn beyond_the_limit_it_says_so_and_still_answers() {
        let mut p = Chains { left: vec![3; 20], right: vec![3; 20], budget: 30 };
        let found = smallest(&mut p, 40, 500);
        assert!(!found.exact);
        assert!(found.met());
        assert_eq!(found.chosen.len(), 20, "ten of each chain");
        assert!(found.least > 1 && found.least <= 20, "{found:?}");
    }

    #[test]
    fn what_cannot_be_met_gives_the_closest_and_the_floor() {
        let mut p = Chains { left: vec![10, 5], right: vec![1], budget: -3 };
        let found = smallest(&mut p, 3, u64::MAX);
        assert!(!found.met());
        assert_eq!((found.excess, found.bound, found.exact), (3, 3, true));
    }
}
