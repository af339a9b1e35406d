//! What callbacks did, where functions inside them were probed.

use super::per_mille;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::inside::{Inside, Wait};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// The callbacks of a device in one phase, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callbacks<'a> {
    /// The device.
    pub device: DeviceId,
    /// The phase.
    pub phase: Phase,
    /// What its callbacks of that phase took.
    pub time: Ns,
    /// Probed functions, longest own time first.
    pub functions: Vec<&'a Inside>,
    /// What they waited for by who called it, longest first.
    pub waits: Vec<&'a Wait>,
}

impl Callbacks<'_> {
    /// Time in no probed function.
    pub fn outside(&self) -> Ns {
        self.time.since(self.functions.iter().map(|i| i.own).sum())
    }

    /// Own time of calls that are long ([`dormouse_base::inside::LONG`]).
    pub fn long(&self) -> Ns {
        self.functions.iter().map(|i| i.long).sum()
    }

    /// What share of the callbacks a time is, in tenths of a percent.
    pub fn share(&self, time: Ns) -> u32 {
        per_mille(time, self.time)
    }
}

/// Callbacks with probed functions, those first whose functions took longest.
pub fn callbacks(cycle: &Cycle) -> Vec<Callbacks<'_>> {
    let mut list: Vec<&Inside> = cycle.inside.iter().collect();
    list.sort_by_key(|i| (i.device, i.phase, std::cmp::Reverse(i.own), i.function.0));
    let mut out: Vec<Callbacks<'_>> = Vec::new();
    for i in list {
        match out.last_mut() {
            Some(c) if (c.device, c.phase) == (i.device, i.phase) => c.functions.push(i),
            _ => out.push(Callbacks {
                device: i.device,
                phase: i.phase,
                time: Ns::ZERO,
                functions: std::vec![i],
                waits: Vec::new(),
            }),
        }
    }
    for cb in &cycle.callbacks {
        let at = out.binary_search_by_key(&(cb.device, cb.phase), |c| (c.device, c.phase));
        if let Ok(at) = at {
            out[at].time += cb.duration();
        }
    }
    for w in &cycle.waits {
        let at = out.binary_search_by_key(&(w.device, w.phase), |c| (c.device, c.phase));
        if let Ok(at) = at {
            out[at].waits.push(w);
        }
    }
    for c in &mut out {
        // Those that are equally long stay in the order in which they came.
        c.waits.sort_by_key(|w| std::cmp::Reverse(w.total));
    }
    let probed = |c: &Callbacks<'_>| c.functions.iter().map(|i| i.own).sum::<Ns>();
    out.sort_by_key(|c| (std::cmp::Reverse(probed(c)), c.device, c.phase));
    out
}

/// What the callbacks of a device waited for longest in one half.
pub fn longest(cycle: &Cycle, device: DeviceId, half: Direction) -> Option<&Wait> {
    let of = |w: &&Wait| w.device == device && w.phase.direction() == half;
    // The first of those that are equally long.
    cycle.waits.iter().filter(of).min_by_key(|w| std::cmp::Reverse(w.total))
}
