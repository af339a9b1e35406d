//! Counts behind the times, where the source shows them.

use super::PhaseView;
use super::local::Local;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, ThreadId};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Which device phases each device of a capture ever had a callback in, as
/// bits by [`Phase::device_index`].
pub struct Known {
    bits: Vec<u8>,
}

/// Looks through all cycles.
pub(crate) fn known_callbacks(capture: &Capture) -> Known {
    let mut bits = std::vec![0u8; capture.graph.devices.len()];
    for cycle in &capture.cycles {
        for cb in &cycle.callbacks {
            if let (Some(b), Some(i)) = (bits.get_mut(cb.device.index()), cb.phase.device_index()) {
                *b |= 1 << i;
            }
        }
    }
    Known { bits }
}

/// Callbacks by thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLoad {
    /// The thread.
    pub thread: ThreadId,
    /// It is the main thread, as far as known.
    pub main: bool,
    /// How many callbacks it ran.
    pub callbacks: u32,
    /// How long they took together.
    pub busy: Ns,
}

/// Counts of one cycle. `None` and empty lists mean that the source does not
/// show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Callbacks that ended inside the log, prepare and complete included.
    pub callbacks: u32,
    /// Most worker threads that ran callbacks at the same moment. Workers that
    /// waited inside the kernel at that moment are not seen, so it is a lower
    /// bound of the workers in use.
    pub workers_at_once: u32,
    /// Different threads other than the main thread.
    pub workers: u32,
    /// Threads by number of callbacks, most first.
    pub threads: Vec<ThreadLoad>,
    /// Callbacks that started just after a device they depend on had ended.
    pub waits: u32,
    /// Devices that had suspend callbacks in another cycle of this capture, but
    /// none in this one: left asleep (direct-complete). `None` if there is no
    /// other cycle to know it from.
    pub skipped: Option<Vec<DeviceId>>,
    /// Devices that were resumed from runtime suspend during prepare or
    /// suspend, only to be suspended. `None` if the source has no `rpm_*`
    /// events.
    pub resumed_to_suspend: Option<Vec<DeviceId>>,
    /// The same for names that are not in the device list.
    pub resumed_unknown: u32,
    /// Known edges that the times contradict.
    pub contradictions: u32,
    /// Callbacks that returned an error.
    pub failed: u32,
}

impl Tally {
    /// Counts `cycle`.
    pub fn of(
        capture: &Capture,
        cycle: &Cycle,
        phases: &[PhaseView],
        local: &Local,
        mains: &[bool],
        known: &Known,
    ) -> Tally {
        let mut threads: Vec<ThreadLoad> = (0..cycle.threads.len())
            .map(|i| ThreadLoad {
                thread: ThreadId(i as u16),
                main: mains[i],
                callbacks: 0,
                busy: Ns::ZERO,
            })
            .collect();
        let mut tally = Tally::default();
        for cb in &cycle.callbacks {
            tally.callbacks += u32::from(cb.complete);
            tally.failed += u32::from(cb.error != 0);
            if let Some(t) = threads.get_mut(usize::from(cb.thread.0)) {
                t.callbacks += 1;
                t.busy += cb.duration();
            }
        }
        threads.retain(|t| t.callbacks > 0);
        threads.sort_by_key(|t| (std::cmp::Reverse(t.callbacks), t.thread));
        tally.workers = threads.iter().filter(|t| !t.main).count() as u32;
        tally.threads = threads;
        tally.workers_at_once = phases.iter().map(|p| p.workers_at_once).max().unwrap_or(0);
        tally.waits = phases.iter().map(|p| p.waits).sum();
        tally.contradictions = phases.iter().map(|p| p.contradictions).sum();
        if capture.cycles.len() > 1 && cycle.phase(Phase::Suspend).is_some_and(|p| p.complete) {
            tally.skipped = Some(skipped(local, known));
        }
        runtime_resumed(capture, cycle, local, &mut tally);
        tally
    }
}

/// Devices with a suspend callback elsewhere and none of the six middle ones
/// here, though they were there (prepared, if the source shows that).
fn skipped(local: &Local, known: &Known) -> Vec<DeviceId> {
    let bit = |p: Phase| 1u8 << p.device_index().unwrap_or(0);
    let suspends = bit(Phase::Suspend) | bit(Phase::Late) | bit(Phase::Noirq);
    let middle = !(bit(Phase::Prepare) | bit(Phase::Complete));
    let here = |i: usize| local.seen[i];
    (0..local.ids.len())
        .filter(|&i| here(i) != 0 && here(i) & middle == 0)
        .filter(|&i| known.bits[local.ids[i].index()] & suspends != 0)
        .map(|i| local.ids[i])
        .collect()
}

/// `rpm_resume` that ended with 0 between the begin of prepare and the end of
/// suspend: the device was suspended at run time and had to be woken. An
/// asynchronous request (flag 1) only asks for it.
fn runtime_resumed(capture: &Capture, cycle: &Cycle, local: &Local, tally: &mut Tally) {
    const MOST_NESTED: usize = 64;
    let (Some(resume), Some(ret)) =
        (capture.names.find("rpm_resume"), capture.names.find("rpm_return_int"))
    else {
        return;
    };
    let begin = cycle.phase(Phase::Prepare).or(cycle.phase(Phase::Suspend)).map(|p| p.start);
    let end = cycle.phase(Phase::Suspend).map(|p| p.end);
    let (Some(begin), Some(end)) = (begin, end) else { return };
    let from = cycle.events.partition_point(|e| e.time < begin);
    let to = cycle.events.partition_point(|e| e.time <= end);
    let mut open: BTreeMap<ThreadId, Vec<&str>> = BTreeMap::new();
    let mut woken: BTreeMap<&str, ()> = BTreeMap::new();
    for e in cycle.events.get(from..to).unwrap_or(&[]) {
        let text = capture.names.get(e.text);
        let stack = || -> &str { text.split_ascii_whitespace().next().unwrap_or("") };
        if e.name == resume {
            let asynchronous = text
                .split_once("flags-")
                .and_then(|(_, f)| f.split_ascii_whitespace().next())
                .and_then(|f| u32::from_str_radix(f, 16).ok())
                .is_some_and(|f| f & 1 != 0);
            let list = open.entry(e.thread).or_default();
            if list.len() == MOST_NESTED {
                list.remove(0);
            }
            list.push(if asynchronous { "" } else { stack() });
        } else if e.name == ret
            && let Some((place, code)) = text.rsplit_once(" ret=")
            && let Some(list) = open.get_mut(&e.thread)
            && let Some(&device) = list.last()
            && (device.is_empty() || place.ends_with(device))
        {
            // The device follows the address that the function returns to.
            list.pop();
            if code.trim() == "0" && !device.is_empty() {
                woken.insert(device, ());
            }
        }
    }
    let mut names: BTreeMap<&str, DeviceId> = BTreeMap::new();
    for &id in &local.ids {
        names.entry(capture.names.get(capture.graph.get(id).name)).or_insert(id);
    }
    let mut list = Vec::new();
    for name in woken.keys() {
        match names.get(name) {
            Some(&id) => list.push(id),
            None => tally.resumed_unknown += 1,
        }
    }
    list.sort_unstable();
    tally.resumed_to_suspend = Some(list);
}

/// Most callbacks that ran at the same moment on threads other than the main.
pub fn workers_at_once(cycle: &Cycle, callbacks: &[u32], mains: &[bool]) -> u32 {
    let mut edges: Vec<(Ns, bool)> = Vec::new();
    for &c in callbacks {
        let cb = &cycle.callbacks[c as usize];
        if !mains.get(usize::from(cb.thread.0)).copied().unwrap_or(false) && cb.end > cb.start {
            edges.push((cb.start, true));
            edges.push((cb.end, false));
        }
    }
    // Ends come before begins at the same moment: false sorts first.
    edges.sort_unstable();
    let (mut now, mut most) = (0u32, 0u32);
    for (_, begin) in edges {
        now = if begin { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}
