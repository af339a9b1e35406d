//! Which devices start in another order than predicted, and why.
//!
//! A pair is in the wrong order if one device started first, by more than a
//! tie, in every warm cycle recorded, and the prediction has the other one
//! first by more than a tie. Where the kernel's own repeats differ there is no
//! order to be predicted. The devices counted are those that must be taken away
//! until no pair is wrong, those with most wrong pairs first: one device that
//! comes late counts once, not with every device it should have come before.

use dormouse_base::time::Ns;
use dormouse_sleep::evaluate::TIE;

/// A start of one device in one phase, relative to the phase.
pub(crate) struct Start {
    pub device: u32,
    /// In every warm cycle.
    pub seen: Vec<Ns>,
    pub predicted: Ns,
}

impl Start {
    /// In the middle of the warm cycles.
    pub(crate) fn usual(&self) -> Ns {
        let mut seen = self.seen.clone();
        seen.sort_unstable();
        seen[seen.len() / 2]
    }

    /// This one was first every time, by more than a tie.
    fn before(&self, other: &Start) -> bool {
        self.seen.iter().zip(&other.seen).all(|(a, b)| *b - *a > TIE)
    }
}

/// The places in `starts` of the devices that are out of order.
pub(crate) fn out_of_order(starts: &[Start]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_key(|&i| starts[i].predicted);
    let mut wrong: Vec<Vec<usize>> = vec![Vec::new(); starts.len()];
    for (at, &first) in order.iter().enumerate() {
        for &second in &order[at + 1..] {
            let gap = starts[second].predicted - starts[first].predicted;
            if gap > TIE && starts[second].before(&starts[first]) {
                wrong[first].push(second);
                wrong[second].push(first);
            }
        }
    }
    let mut left: Vec<usize> = wrong.iter().map(Vec::len).collect();
    let mut taken = Vec::new();
    while let Some(most) = (0..left.len()).max_by_key(|&i| left[i]).filter(|&i| left[i] > 0) {
        taken.push(most);
        left[most] = 0;
        for &other in &wrong[most] {
            left[other] = left[other].saturating_sub(1);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(device: u32, seen: &[i64], predicted: i64) -> Start {
        let us = |t: i64| Ns(t * 1000);
        Start { device, seen: seen.iter().copied().map(us).collect(), predicted: us(predicted) }
    }

    #[test]
    fn a_late_device_counts_once() {
        let starts = [
            start(0, &[900, 900], 100),
            start(1, &[200, 210], 200),
            start(2, &[300, 290], 300),
            start(3, &[400, 400], 400),
        ];
        assert_eq!(out_of_order(&starts), [0]);
    }

    #[test]
    fn ties_and_what_does_not_repeat_are_no_order() {
        let ties = [start(0, &[140], 100), start(1, &[100], 400)];
        assert!(out_of_order(&ties).is_empty());
        let ties = [start(0, &[900], 100), start(1, &[100], 140)];
        assert!(out_of_order(&ties).is_empty());
        let repeats = [start(0, &[900, 100], 100), start(1, &[100, 900], 400)];
        assert!(out_of_order(&repeats).is_empty());
        let wrong = [start(0, &[900, 900], 100), start(1, &[100, 100], 400)];
        assert_eq!(out_of_order(&wrong).len(), 1);
    }
}
