//! What goes into the page when not all of it can.

use crate::Options;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::spread::Group;

/// Cycles that statistics are made of: those of the largest of `groups`, which the head of
/// the page speaks of; without a group those that slept, without the first after boot; all
/// of them if that leaves none.
pub(crate) fn counted(capture: &Capture, groups: &[Group<'_>]) -> Vec<usize> {
    if let Some(g) = groups.iter().max_by_key(|g| g.cycles.len()) {
        return g.cycles.iter().map(|c| c.1 as usize).collect();
    }
    let slept = |c: &Cycle| c.outcome == Outcome::Slept;
    let pick = |f: &dyn Fn(&Cycle) -> bool| -> Vec<usize> {
        (0..capture.cycles.len()).filter(|&i| f(&capture.cycles[i])).collect()
    };
    let best = pick(&|c| slept(c) && !c.first_after_boot);
    if !best.is_empty() {
        return best;
    }
    let any = pick(&slept);
    if any.is_empty() { pick(&|_| true) } else { any }
}

/// The cycle whose latency is nearest to the median; the first of equals.
pub(crate) fn median_cycle(views: &[CycleView], counted: &[usize]) -> usize {
    let time = |i: usize| views[i].rows.total;
    let mut sorted: Vec<Ns> = counted.iter().map(|&i| time(i)).collect();
    sorted.sort_unstable();
    let Some(&middle) = sorted.get(sorted.len().saturating_sub(1) / 2) else { return 0 };
    counted.iter().copied().min_by_key(|&i| ((time(i) - middle).0.abs(), i)).unwrap_or(0)
}

/// Cycles whose callbacks are embedded, in order of input: the median cycle
/// first, then outliers, then the others while there is room.
pub(crate) fn embedded(
    capture: &Capture,
    median: usize,
    outliers: &[usize],
    room: &mut usize,
    options: &Options,
) -> Vec<bool> {
    let n = capture.cycles.len();
    let mut chosen = vec![false; n];
    for i in [median].into_iter().chain(outliers.iter().copied()).chain(0..n) {
        let need = capture.cycles.get(i).map_or(0, |c| c.callbacks.len());
        let need = need.min(options.cycle_callbacks);
        if i >= n || chosen[i] || (need > *room && i != median) {
            continue;
        }
        chosen[i] = true;
        *room = room.saturating_sub(need);
    }
    chosen
}

/// Which devices the page names, and their new indices.
#[derive(Debug)]
pub struct Kept {
    /// New index by old, `u32::MAX` for a device that is left out.
    pub new: Vec<u32>,
    /// Old index by new.
    pub old: Vec<u32>,
    /// How many devices with callbacks are left out.
    pub left_out: usize,
}

impl Kept {
    /// The new index of a device.
    pub fn get(&self, old: usize) -> Option<u32> {
        self.new.get(old).copied().filter(|&n| n != u32::MAX)
    }
}

/// Chooses devices: those that ran a callback, their ancestors, and both ends
/// of their links; of too many, those that took longest.
pub(crate) fn devices(capture: &Capture, options: &Options) -> Kept {
    let graph = &capture.graph;
    let n = graph.devices.len();
    let mut time = vec![-1i64; n];
    for cb in capture.cycles.iter().flat_map(|c| &c.callbacks) {
        if let Some(t) = time.get_mut(cb.device.index()) {
            *t = (*t).max(0).saturating_add(cb.duration().0);
        }
    }
    let mut ran: Vec<u32> = (0..n as u32).filter(|&i| time[i as usize] >= 0).collect();
    let all = ran.len();
    if all > options.devices {
        ran.sort_by_key(|&i| (std::cmp::Reverse(time[i as usize]), i));
        ran.truncate(options.devices);
    }
    let left_out = all - ran.len();
    let mut keep = vec![false; n];
    let mut left = options.devices.saturating_mul(2);
    let mut mark = |keep: &mut Vec<bool>, from: u32| {
        let mut at = Some(from as usize);
        while let Some(i) = at.filter(|&i| i < n && !keep[i] && left > 0) {
            keep[i] = true;
            left -= 1;
            at = graph.devices[i].parent.map(|p| p.index());
        }
    };
    for &i in &ran {
        mark(&mut keep, i);
    }
    for l in &graph.links {
        let (c, s) = (l.consumer.0, l.supplier.0);
        if keep.get(c as usize) == Some(&true) || keep.get(s as usize) == Some(&true) {
            mark(&mut keep, c);
            mark(&mut keep, s);
        }
    }
    let old: Vec<u32> = (0..n as u32).filter(|&i| keep[i as usize]).collect();
    let mut new = vec![u32::MAX; n];
    for (k, &i) in old.iter().enumerate() {
        new[i as usize] = k as u32;
    }
    Kept { new, old, left_out }
}

/// Callbacks of a cycle that are embedded, in order: all of them, or those on
/// the critical path and the longest.
pub(crate) fn callbacks(cycle: &Cycle, on_path: &[bool], kept: &Kept, most: usize) -> Vec<u32> {
    let mut list: Vec<u32> = (0..cycle.callbacks.len() as u32)
        .filter(|&i| kept.get(cycle.callbacks[i as usize].device.index()).is_some())
        .collect();
    if list.len() > most {
        list.sort_by_key(|&i| {
            let path = on_path.get(i as usize).copied().unwrap_or(false);
            (!path, std::cmp::Reverse(cycle.callbacks[i as usize].duration()), i)
        });
        list.truncate(most);
        list.sort_unstable();
    }
    list
}
