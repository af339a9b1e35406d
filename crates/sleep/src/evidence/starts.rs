//! When callbacks began, by what a log calls them: machines whose devices stand
//! in another order can so be held against one recording.

use super::expected::Recorded;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::Device;
use dormouse_base::names::Sym;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use std::collections::BTreeMap;

/// Driver, name and parent of a device, and the phase by its index.
type Key = (Sym, Sym, Sym, usize);

/// Begins of callbacks relative to their phase; several where devices share
/// their names, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts(BTreeMap<Key, Vec<Ns>>);

fn key(device: &Device, phase: usize) -> Key {
    (device.driver, device.name, device.parent_name, phase)
}

impl Starts {
    fn of(all: impl Iterator<Item = (Key, Ns)>) -> Starts {
        let mut starts = Starts::default();
        all.for_each(|(key, start)| starts.0.entry(key).or_default().push(start));
        starts.0.values_mut().for_each(|list| list.sort_unstable());
        starts
    }

    /// As simulated: `cycle` is a run of `board`.
    pub(super) fn simulated(board: &Board, cycle: &Cycle) -> Starts {
        let inside = cycle.callbacks.iter().filter(|c| c.phase.may_be_async());
        Starts::of(inside.filter_map(|c| {
            let (index, span) = (c.phase.device_index()?, cycle.phase(c.phase)?);
            Some((key(board.graph.get(c.device), index), c.start - span.start))
        }))
    }

    /// As recorded: the median where several cycles have the callback. `board` is
    /// what was derived of them.
    pub(super) fn recorded(board: &Board, phases: &[Recorded]) -> Starts {
        let mut each: BTreeMap<(usize, usize), Vec<Ns>> = BTreeMap::new();
        for r in phases {
            let Some(index) = r.phase.device_index() else { continue };
            for (d, s) in r.seen.iter().enumerate() {
                if let Some(s) = s {
                    each.entry((d, index)).or_default().push(s.start);
                }
            }
        }
        Starts::of(each.into_iter().filter_map(|((d, index), mut list)| {
            Some((key(&board.graph.devices[d], index), middle(&mut list, Ns::mean)?))
        }))
    }

    /// Whether `other` is nowhere further from this than `claimed` is, by more
    /// than `slack` allows of each phase.
    pub(crate) fn explained_alike(
        &self,
        other: &Starts,
        claimed: &Starts,
        slack: impl Fn(usize) -> Option<Ns>,
    ) -> bool {
        self.0.iter().all(|(key, seen)| {
            let (Some(slack), Some(is), Some(was)) =
                (slack(key.3), other.0.get(key), claimed.0.get(key))
            else {
                return true;
            };
            let off = |a: Ns, b: Ns| (a - b).0.abs();
            let pairs = seen.iter().zip(is).zip(was);
            pairs.into_iter().all(|((s, is), was)| off(*is, *s) <= off(*was, *s) + slack.0)
        })
    }
}
