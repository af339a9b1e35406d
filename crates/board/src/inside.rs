//! What callbacks wait for, where a recording says it: part of their times.

use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_base::trip;
use std::collections::BTreeMap;

/// Calls of one function by one caller, in the callbacks of one device in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Whose callbacks: a place in [`super::Board::devices`].
    pub device: DeviceId,
    /// Their phase, by [`dormouse_base::phase::Phase::device_index`].
    pub index: usize,
    /// The function.
    pub function: Sym,
    /// Who called it; empty if the recording does not say.
    pub caller: Sym,
    /// How long all calls took together.
    pub time: Ns,
}

/// The middle over `cycles`, where one without such a call counts as no time; `place` says where
/// each device of the capture stands on the board.
pub(crate) fn waited(cycles: &[&Cycle], place: &[u32]) -> Vec<Waited> {
    let mut all: BTreeMap<(u32, usize, u32, u32), Vec<Ns>> = BTreeMap::new();
    // Of a hibernation that goes down twice nobody knows which time a wait was of.
    for (n, cycle) in cycles.iter().enumerate().filter(|(_, c)| trip::count(c) == 1) {
        for w in &cycle.waits {
            let (Some(index), Some(&d)) = (w.phase.device_index(), place.get(w.device.index()))
            else {
                continue;
            };
            let times = all.entry((d, index, w.function.0, w.caller.0)).or_default();
            times.resize(cycles.len(), Ns::ZERO);
            times[n] += w.total;
        }
    }
    let one = |((d, index, function, caller), mut times): ((u32, usize, u32, u32), Vec<Ns>)| {
        let time = middle(&mut times, Ns::mean)?;
        let (device, function, caller) = (DeviceId(d), Sym(function), Sym(caller));
        (time > Ns::ZERO).then_some(Waited { device, index, function, caller, time })
    };
    all.into_iter().filter_map(one).collect()
}
