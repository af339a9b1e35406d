//! In which order the cycles of two sides were recorded.

use dormouse_base::time::Ns;

/// Up to so many runs the two sides are blocks: one after the other makes two,
/// one in the middle of the other three. A coin for each of six pairs, which the
/// 5 % level needs, makes seven at least.
const BLOCKS: usize = 3;

/// Whether the sides were recorded in blocks instead of in turns, by the wall
/// clock at the begin of each cycle. `None` where a cycle has no such time, or
/// a side has a single one.
pub fn in_blocks(a: &[Option<Ns>], b: &[Option<Ns>]) -> Option<bool> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let mut all = std::vec::Vec::with_capacity(a.len() + b.len());
    for (side, began) in [(false, a), (true, b)] {
        for t in began {
            all.push(((*t)?, side));
        }
    }
    all.sort_unstable();
    let runs = 1 + all.windows(2).filter(|w| w[0].1 != w[1].1).count();
    Some(runs <= BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(times: &[i64]) -> std::vec::Vec<Option<Ns>> {
        times.iter().map(|t| Some(Ns(*t))).collect()
    }

    #[test]
    fn blocks_are_told_from_turns() {
        let say = |a: &[i64], b: &[i64]| in_blocks(&at(a), &at(b));
        assert_eq!(say(&[1, 2, 3], &[4, 5, 6]), Some(true));
        assert_eq!(say(&[4, 5, 6], &[1, 2, 3]), Some(true));
        assert_eq!(say(&[1, 2, 7, 8], &[3, 4, 5, 6]), Some(true));
        assert_eq!(say(&[1, 3, 6], &[2, 4, 5]), Some(false));
    }

    #[test]
    fn without_times_nothing_is_said() {
        assert_eq!(in_blocks(&at(&[1, 2]), &[Some(Ns(3)), None]), None);
        assert_eq!(in_blocks(&at(&[1]), &at(&[2, 3])), None);
    }
}
