//! Durations without a schedule: what callbacks took, from sources that do not
//! say when they began beside which others.
//!
//! People quote the `returned` lines of a log alone, or sort them into a table.
//! Such a list tells what a callback took and nothing of waiting, so it has no
//! cycle and no time line: only a rank, and a bound on what can be gained.

use crate::device::DeviceId;
use crate::names::Sym;
use crate::phase::{Direction, Phase};
use crate::time::Ns;

/// A callback of which only the duration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Whose callback.
    pub device: DeviceId,
    /// The function; empty if the source does not say.
    pub function: Sym,
    /// The half of the cycle, where the function's name tells.
    pub direction: Option<Direction>,
    /// The phase, where the function's name tells. A plain `…_suspend` may be
    /// called in several and is then `None`.
    pub phase: Option<Phase>,
    /// What the kernel printed.
    pub took: Ns,
    /// Return value: 0 or a negative errno.
    pub error: i32,
}

/// Callbacks that were listed together, longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// Where it comes from, as shown.
    pub source: Sym,
    /// Kernel release; empty if unknown.
    pub kernel: Sym,
    /// Line of the first, from 1.
    pub at: u64,
    /// The callbacks. Equal ones keep the order of the source.
    pub rows: Vec<Ranked>,
}

impl Ranking {
    /// What removing `device` saves at most: the durations of its callbacks.
    /// Nothing waits longer for a callback than it runs, so each phase gets
    /// shorter by no more; if something else ran beside it, by less or nothing.
    pub fn bound(&self, device: DeviceId) -> Ns {
        self.rows.iter().filter(|r| r.device == device).map(|r| r.took).sum()
    }

    /// Devices by [`Ranking::bound`], largest first.
    pub fn devices(&self) -> Vec<(DeviceId, Ns)> {
        let mut list: Vec<(DeviceId, Ns)> = Vec::new();
        let mut ids: Vec<(DeviceId, Ns)> = self.rows.iter().map(|r| (r.device, r.took)).collect();
        ids.sort_by_key(|&(id, _)| id);
        for (id, took) in ids {
            match list.last_mut() {
                Some((last, sum)) if *last == id => *sum += took,
                _ => list.push((id, took)),
            }
        }
        list.sort_by_key(|&(id, sum)| (std::cmp::Reverse(sum), id));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_saves_no_more_than_its_callbacks_took() {
        let row = |id, us| Ranked {
            device: DeviceId(id),
            function: Sym::EMPTY,
            direction: None,
            phase: None,
            took: Ns::from_us(us),
            error: 0,
        };
        let list =
            Ranking { rows: std::vec![row(0, 5), row(1, 4), row(1, 3)], ..Ranking::default() };
        assert_eq!(list.bound(DeviceId(1)), Ns::from_us(7));
        assert_eq!(list.devices(), [(DeviceId(1), Ns::from_us(7)), (DeviceId(0), Ns::from_us(5))]);
    }
}
