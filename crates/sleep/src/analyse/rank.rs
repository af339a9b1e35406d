//! Devices by their own time and by their share of the critical path.
//!
//! The two orders differ: a device that runs beside a longer one costs
//! nothing, and a short one on the critical path costs all of its time.

use super::PhaseView;
use super::local::Local;
use super::structure::Structure;
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// One device in one cycle. Arrays are indexed by `Direction as usize`:
/// suspend, resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTime {
    /// The device.
    pub device: DeviceId,
    /// Sum of its callbacks.
    pub busy: [Ns; 2],
    /// How much of that lies on critical paths.
    pub on_path: [Ns; 2],
    /// Sum over phases of what each would gain if the callback took no time.
    pub gain: [Ns; 2],
    /// Its longest callback: index into [`Cycle::callbacks`].
    pub longest: u32,
    /// Why busy time is not path time, for the longest callback off the path.
    pub hidden: Option<Hidden>,
}

impl DeviceTime {
    /// Both halves.
    pub fn total_busy(&self) -> Ns {
        self.busy[0] + self.busy[1]
    }

    /// Both halves.
    pub fn total_on_path(&self) -> Ns {
        self.on_path[0] + self.on_path[1]
    }

    /// Both halves.
    pub fn total_gain(&self) -> Ns {
        self.gain[0] + self.gain[1]
    }
}

/// Why a callback did not decide its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The phase.
    pub phase: Phase,
    /// The device of the critical path that ran longest beside it; `None` if
    /// none of them did.
    pub behind: Option<DeviceId>,
    /// How long the callback ran.
    pub time: Ns,
}

/// Devices of a cycle in both orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// Devices with callbacks, in list order.
    pub devices: Vec<DeviceTime>,
    /// Indices into `devices` by busy time, longest first.
    pub by_time: Vec<u32>,
    /// Indices into `devices` by time on the path, longest first; only those
    /// that are on it.
    pub by_path: Vec<u32>,
}

/// Collects the ranking phase by phase.
pub struct Builder<'a> {
    local: &'a Local,
    slots: Vec<Option<DeviceTime>>,
}

impl<'a> Builder<'a> {
    /// Nothing collected yet.
    pub fn new(local: &'a Local) -> Builder<'a> {
        Builder { local, slots: std::vec![None; local.ids.len()] }
    }

    /// Adds one phase.
    pub fn add(
        &mut self,
        cycle: &Cycle,
        span: &PhaseSpan,
        view: &PhaseView,
        s: &Structure,
        critical: &[u32],
        gains: &super::gain::Gains,
    ) {
        let half = span.phase.direction() as usize;
        let mut on_path = std::vec![false; view.callbacks.len()];
        // Callbacks of a view ascend, mostly without a gap.
        let from = view.callbacks.first().copied().unwrap_or(0);
        let place = |c: u32| {
            let guess = c.wrapping_sub(from) as usize;
            let found = view.callbacks.get(guess) == Some(&c);
            if found { Some(guess) } else { view.callbacks.binary_search(&c).ok() }
        };
        for (&i, &gain) in critical.iter().zip(&gains.each) {
            let node = &s.nodes[i as usize];
            let Some(c) = node.callback else { continue };
            if let Some(p) = place(c) {
                on_path[p] = true;
            }
            if let Some(d) = self.slot(cycle, c) {
                d.on_path[half] += node.end.since(node.start);
                d.gain[half] += gain;
            }
        }
        // The path's callbacks do not overlap, so the one that runs longest
        // beside a hidden callback is found among those around it.
        let mut longest = None;
        for (&c, &on) in view.callbacks.iter().zip(&on_path) {
            let cb = cycle.callbacks[c as usize];
            let behind = if on {
                None
            } else {
                longest.get_or_insert_with(|| Longest::of(view)).beside(cb.start, cb.end)
            };
            if let Some(d) = self.slot(cycle, c) {
                let time = cb.duration();
                d.busy[half] += time;
                if time > cycle.callbacks[d.longest as usize].duration() {
                    d.longest = c;
                }
                if !on && d.hidden.is_none_or(|h| time > h.time) {
                    d.hidden = Some(Hidden { phase: span.phase, behind, time });
                }
            }
        }
    }

    fn slot(&mut self, cycle: &Cycle, c: u32) -> Option<&mut DeviceTime> {
        let at = self.local.of_callback[c as usize] as usize;
        let slot = self.slots.get_mut(at)?;
        Some(slot.get_or_insert(DeviceTime {
            device: cycle.callbacks[c as usize].device,
            busy: [Ns::ZERO; 2],
            on_path: [Ns::ZERO; 2],
            gain: [Ns::ZERO; 2],
            longest: c,
            hidden: None,
        }))
    }

    /// Sorts.
    pub fn finish(self, _cycle: &Cycle) -> Ranking {
        let devices: Vec<DeviceTime> = self.slots.into_iter().flatten().collect();
        let mut by_time: Vec<u32> = (0..devices.len() as u32).collect();
        let key = |i: &u32| std::cmp::Reverse(devices[*i as usize].total_busy());
        by_time.sort_by_key(key);
        let mut by_path: Vec<u32> = (0..devices.len() as u32)
            .filter(|&i| devices[i as usize].total_on_path() > Ns::ZERO)
            .collect();
        by_path.sort_by_key(|&i| std::cmp::Reverse(devices[i as usize].total_on_path()));
        Ranking { devices, by_time, by_path }
    }
}

/// Longest segment of any range of the path, by doubling ranges of blocks.
struct Longest {
    /// Begin and end of each callback of the path, and whose it is.
    path: Vec<(Ns, Ns, DeviceId)>,
    /// The longest of 1, 2, 4, ... blocks from each block on.
    table: Vec<Vec<u32>>,
    /// Where the search for the last callback began.
    from: usize,
}

/// Segments in a block; within one they are looked at one by one.
const BLOCK: usize = 8;

impl Longest {
    fn of(view: &PhaseView) -> Longest {
        let of_devices = view.path.iter().filter_map(|s| s.device.map(|d| (s.start, s.end, d)));
        let path: Vec<_> = of_devices.collect();
        let starts = (0..path.len() / BLOCK).map(|b| b * BLOCK);
        let blocks: Vec<u32> = starts.map(|b| among(&path, b, b + BLOCK)).collect();
        let n = blocks.len();
        let mut table = std::vec![blocks];
        let mut width = 1;
        while width * 2 <= n {
            let below = &table[table.len() - 1];
            let row =
                (0..=n - width * 2).map(|i| longer(&path, below[i], below[i + width])).collect();
            table.push(row);
            width *= 2;
        }
        Longest { path, table, from: 0 }
    }

    /// The first of the longest segments of `from..to`, which is not empty.
    fn within(&self, from: usize, to: usize) -> u32 {
        let path = &self.path;
        let (a, b) = (from.div_ceil(BLOCK), to / BLOCK);
        if a >= b {
            return among(path, from, to);
        }
        let level = (b - a).ilog2();
        let row = &self.table[level as usize];
        let mut best = longer(path, row[a], row[b - (1 << level)]);
        if from < a * BLOCK {
            best = longer(path, among(path, from, a * BLOCK), best);
        }
        if b * BLOCK < to {
            best = longer(path, best, among(path, b * BLOCK, to));
        }
        best
    }

    /// The segment that overlaps `start..end` longest.
    fn beside(&mut self, start: Ns, end: Ns) -> Option<DeviceId> {
        let path = &self.path;
        // Callbacks come in order of their start, so it is near.
        let mut from = self.from;
        while from > 0 && path[from - 1].1 > start {
            from -= 1;
        }
        while from < path.len() && path[from].1 <= start {
            from += 1;
        }
        self.from = from;
        let to = from + path[from..].partition_point(|p| p.0 < end);
        if from >= to {
            return None;
        }
        let overlap = |i: usize| path[i].1.min(end).since(path[i].0.max(start));
        // Only the outer two can be cut off by the range.
        let mut best = if overlap(to - 1) > overlap(from) { to - 1 } else { from };
        if to - from > 2 {
            let inner = self.within(from + 1, to - 1) as usize;
            if overlap(inner) > overlap(best) {
                best = inner;
            }
        }
        Some(path[best].2)
    }
}

/// The first of the longest segments of `from..to`, one by one.
fn among(path: &[(Ns, Ns, DeviceId)], from: usize, to: usize) -> u32 {
    (from as u32 + 1..to as u32).fold(from as u32, |best, i| longer(path, best, i))
}

fn longer(path: &[(Ns, Ns, DeviceId)], a: u32, b: u32) -> u32 {
    let length = |i: u32| path[i as usize].1.since(path[i as usize].0);
    if length(b) > length(a) { b } else { a }
}
