//! How much changes can take off the longest chain of a schedule at most: what
//! lets a search leave out sets without simulating them.
//!
//! The devices of a longest chain follow one another because they depend on one
//! another or because the main thread takes synchronous devices in order, so no
//! schedule is shorter than the chain. A change of one device takes its time off
//! the chain, and it may break the chain in two where the order held it
//! together; then at most the shorter piece goes as well. Several changes
//! together take off no more than the sum of what each does: of the pieces that
//! are left between breaks the longest counts, and every other piece was the
//! shorter side of some break. So `length - sum of the largest k reliefs` is a
//! bound for every set of k changes.

use super::candidate::{Candidate, Kind};
use crate::simulate::bounds::Link;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// What one schedule cannot be shorter than, and what changes can do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chains {
    /// Length of the chains on the way down and up.
    length: [i64; 2],
    /// What each candidate takes off them at most.
    relief: Vec<[i64; 2]>,
}

impl Chains {
    /// From the chains of a schedule whose devices are named as on the board of
    /// the candidates. `gone` says which devices go with the removal of a
    /// candidate's.
    pub(super) fn new(
        chains: &[(Phase, Vec<Link>)],
        candidates: &[Candidate],
        gone: &[Vec<bool>],
    ) -> Chains {
        let mut out = Chains { length: [0; 2], relief: vec![[0; 2]; candidates.len()] };
        for (phase, chain) in chains {
            let way = usize::from(phase.direction() == Direction::Resume);
            let ends = ends(chain);
            let length = ends.last().copied().unwrap_or(0);
            out.length[way] = out.length[way].saturating_add(length);
            for ((c, gone), relief) in candidates.iter().zip(gone).zip(&mut out.relief) {
                let r = relief_of(*c, gone, *phase, chain, &ends);
                relief[way] = relief[way].saturating_add(r.min(length));
            }
        }
        out
    }

    /// What the ways down and up cannot go below with at most `size` changes of
    /// `open`.
    pub(super) fn floor(&self, open: &[usize], size: usize) -> (Ns, Ns) {
        let way = |way: usize| {
            let mut list: Vec<i64> = open.iter().map(|&i| self.relief[i][way]).collect();
            list.sort_unstable_by(|a, b| b.cmp(a));
            let taken = list.iter().take(size).fold(0i64, |sum, r| sum.saturating_add(*r));
            Ns(self.length[way].saturating_sub(taken).max(0))
        };
        (way(0), way(1))
    }
}

/// When each link of a chain ends, from its begin.
fn ends(chain: &[Link]) -> Vec<i64> {
    let mut sum = 0i64;
    chain
        .iter()
        .map(|l| {
            sum = sum.saturating_add(l.time.0);
            sum
        })
        .collect()
}

/// Rounding of halved times, generously.
const ROUNDING: i64 = 1_000;

fn relief_of(c: Candidate, gone: &[bool], phase: Phase, chain: &[Link], ends: &[i64]) -> i64 {
    let length = ends.last().copied().unwrap_or(0);
    let own =
        |d: DeviceId| -> i64 { chain.iter().filter(|l| l.device == d).map(|l| l.time.0).sum() };
    match c.kind {
        Kind::SpeedUp => match own(c.device) {
            0 => 0,
            time => time / 2 + ROUNDING,
        },
        Kind::Defer => match phase {
            Phase::ResumeNoirq | Phase::ResumeEarly | Phase::Resume => own(c.device),
            _ => 0,
        },
        Kind::Async => {
            let Some(i) = chain.iter().position(|l| l.device == c.device) else { return 0 };
            if !phase.may_be_async() {
                return 0;
            }
            let before = chain[i].by_order;
            let after = chain.get(i + 1).is_some_and(|l| l.by_order);
            // It leaves the chain, it leaves what follows, or what it followed.
            match (before, after) {
                (true, true) => chain[i].time.0,
                (false, true) => ends[i].min(length - ends[i]),
                (true, false) => {
                    let begin = ends[i] - chain[i].time.0;
                    begin.min(length - begin)
                }
                (false, false) => 0,
            }
        }
        Kind::Remove | Kind::Domain => {
            let is_gone = |l: &Link| gone.get(l.device.index()).copied().unwrap_or(false);
            let mut sum = 0i64;
            let mut i = 0;
            while i < chain.len() {
                if !is_gone(&chain[i]) {
                    i += 1;
                    continue;
                }
                let run = chain[i..].iter().take_while(|l| is_gone(l)).count();
                let last = i + run - 1;
                let begin = ends[i] - chain[i].time.0;
                sum = sum.saturating_add(ends[last] - begin);
                // Order holds what is left together, a dependency does not.
                let held = chain[i].by_order && chain.get(last + 1).is_some_and(|l| l.by_order);
                if !held {
                    sum = sum.saturating_add(begin.min(length - ends[last]));
                }
                i = last + 1;
            }
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(links: &[(u32, i64, bool)]) -> Vec<Link> {
        links
            .iter()
            .map(|&(d, t, by_order)| Link { device: DeviceId(d), time: Ns(t), by_order })
            .collect()
    }

    fn relief(kind: Kind, device: u32, gone: &[u32], links: &[Link]) -> i64 {
        let c = Candidate { device: DeviceId(device), kind };
        let gone: Vec<bool> = (0..9).map(|d| gone.contains(&d)).collect();
        relief_of(c, &gone, Phase::Resume, links, &ends(links))
    }

    #[test]
    fn a_change_takes_its_time_and_at_most_the_shorter_side() {
        // 0 and 1 and 2 in order; 3 depends on 2; 4 in order after 3.
        let c =
            chain(&[(0, 10, false), (1, 20, true), (2, 30, true), (3, 40, false), (4, 50, true)]);
        assert_eq!(relief(Kind::SpeedUp, 1, &[], &c), 10 + ROUNDING);
        assert_eq!(relief(Kind::SpeedUp, 7, &[], &c), 0);
        assert_eq!(relief(Kind::Defer, 3, &[], &c), 40);
        // Between two that are held by order.
        assert_eq!(relief(Kind::Async, 1, &[], &c), 20);
        assert_eq!(relief(Kind::Remove, 1, &[1], &c), 20);
        // 2 no longer follows 1, but 3 still depends on it.
        assert_eq!(relief(Kind::Async, 2, &[], &c), 30);
        // 4 no longer follows 3.
        assert_eq!(relief(Kind::Async, 3, &[], &c), 50);
        // 3 goes with 2: 0, 1 | 4.
        assert_eq!(relief(Kind::Remove, 2, &[2, 3], &c), 70);
        // 3 alone: 0, 1, 2 | 4.
        assert_eq!(relief(Kind::Remove, 3, &[3], &c), 40 + 50);
        assert_eq!(relief(Kind::Remove, 0, &[0], &c), 10);
    }

    #[test]
    fn the_floor_takes_the_largest_reliefs() {
        let chains = Chains { length: [100, 50], relief: vec![[10, 0], [30, 1], [20, 49]] };
        assert_eq!(chains.floor(&[0, 1, 2], 2), (Ns(50), Ns(0)));
        assert_eq!(chains.floor(&[0, 1], 1), (Ns(70), Ns(49)));
        assert_eq!(chains.floor(&[], 3), (Ns(100), Ns(50)));
    }
}
