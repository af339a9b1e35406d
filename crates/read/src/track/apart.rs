//! Inputs that do not name their host, told apart: two logs of one folder may be of
//! two machines, and what is found out about one of them is no fact of the other.

use super::said::Said;
use super::{Tracker, finish};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Outcome;
use dormouse_base::device::{DeviceGraph, DeviceId};
use dormouse_base::names::Sym;
use std::collections::BTreeMap;

impl Tracker {
    /// Puts away what the source that ends said.
    pub(super) fn put_away(&mut self) {
        let at = self.source_index as usize;
        self.said.resize_with(self.said.len().max(at + 1), Said::default);
        let losses = std::mem::take(&mut self.losses);
        let machine = std::mem::take(&mut self.machine);
        self.said[at].add(Said { losses, machine });
    }

    /// What all sources said is of one machine.
    pub(super) fn take_together(&mut self) {
        let mut all = Said::default();
        std::mem::take(&mut self.said).into_iter().for_each(|s| all.add(s));
        (self.losses, self.machine) = (all.losses, all.machine);
    }

    /// Everything, when all sources were read: one capture for all of them if `one`
    /// says that they are of one machine, else one for each kernel, and for each source
    /// that names none.
    pub(crate) fn finish_apart(mut self, one: bool) -> Vec<Capture> {
        self.end_source();
        let joined = crate::merge::merge(&mut self.done, &mut self.notes, self.source_index);
        let part = parts(&self, &joined);
        let parts = part.iter().copied().max().unwrap_or(0) + 1;
        if one || parts == 1 {
            self.take_together();
            return vec![finish::capture(self)];
        }
        (0..parts).map(|n| finish::capture(one_of(&mut self, &part, n))).collect()
    }
}

/// The part of each source, numbered in order of first appearance. Sources with
/// neither cycle nor list are one part together.
fn parts(t: &Tracker, joined: &[(u32, u32)]) -> Vec<usize> {
    let sources = t.said.len();
    // The log and the trace of one cycle are of one machine.
    let mut same: Vec<usize> = (0..sources).collect();
    for &(log, trace) in joined {
        let (a, b) = (same[log as usize], same[trace as usize]);
        let (low, high) = (a.min(b), a.max(b));
        same.iter_mut().filter(|s| **s == high).for_each(|s| *s = low);
    }
    let mut kernel: Vec<Option<Option<Sym>>> = vec![None; sources];
    let mut name = |source: u32, k: Sym| {
        let of = &mut kernel[same[source as usize]];
        let k = Some(k).filter(|k| !k.is_empty());
        *of = Some(of.map_or(k, |known| known.filter(|known| Some(*known) == k)));
    };
    for (cycle, note) in t.done.iter().zip(&t.notes) {
        name(note.source, cycle.kernel);
    }
    for (r, source) in t.ranked.iter().zip(&t.ranked_in) {
        name(*source, r.kernel);
    }
    let key = |source: usize| match kernel[same[source]] {
        None => (0, 0),
        Some(Some(k)) => (1, k.0),
        Some(None) => (2, same[source] as u32),
    };
    let mut told: Vec<(u8, u32)> = (0..sources).map(key).filter(|k| k.0 > 0).collect();
    told.dedup();
    if told.iter().all(|k| *k == told[0]) {
        return vec![0; sources];
    }
    let mut numbers: BTreeMap<(u8, u32), usize> = BTreeMap::new();
    let number = |source: usize| {
        let next = numbers.len();
        *numbers.entry(key(source)).or_insert(next)
    };
    // Nothing comes from before the first source.
    let mut list: Vec<usize> = (1..sources).map(number).collect();
    list.insert(0, 0);
    list
}

/// Takes part `n` out of `t`.
fn one_of(t: &mut Tracker, part: &[usize], n: usize) -> Tracker {
    let is_of = |source: u32| part.get(source as usize) == Some(&n);
    let mut out = Tracker {
        names: t.names.clone(),
        split_seen: t.split_seen,
        listed: t.listed.clone(),
        async_by_name: t.async_by_name.clone(),
        unused: std::mem::take(&mut t.unused),
        ..Tracker::new()
    };
    let (done, notes) = (std::mem::take(&mut t.done), std::mem::take(&mut t.notes));
    for (cycle, note) in done.into_iter().zip(notes) {
        let to = if is_of(note.source) { &mut out } else { &mut *t };
        to.done.push(cycle);
        to.notes.push(note);
    }
    let ranked = std::mem::take(&mut t.ranked);
    for (r, source) in ranked.into_iter().zip(std::mem::take(&mut t.ranked_in)) {
        let to = if is_of(source) { &mut out } else { &mut *t };
        to.ranked.push(r);
        to.ranked_in.push(source);
    }
    let mut said = Said::default();
    for (_, s) in t.said.iter_mut().enumerate().filter(|(s, _)| is_of(*s as u32)) {
        said.add(std::mem::take(s));
    }
    (out.losses, out.machine) = (said.losses, said.machine);
    out.graph = of_part(&mut out, &t.graph);
    out
}

/// The devices that `part` speaks of, and its numbers of them set to those.
fn of_part(part: &mut Tracker, all: &DeviceGraph) -> DeviceGraph {
    let mut used = vec![false; all.devices.len()];
    each(part, &mut |d| used[d.index()] = true);
    let mut place = vec![DeviceId(0); all.devices.len()];
    let mut graph = DeviceGraph { order_known: all.order_known, ..DeviceGraph::default() };
    for id in all.ids().filter(|id| used[id.index()]) {
        place[id.index()] = graph.push(all.get(id).clone());
    }
    for d in &mut graph.devices {
        d.parent = d.parent.filter(|p| used[p.index()]).map(|p| place[p.index()]);
    }
    each(part, &mut |d| *d = place[d.index()]);
    graph
}

/// Every mention of a device.
fn each(t: &mut Tracker, f: &mut dyn FnMut(&mut DeviceId)) {
    for c in &mut t.done {
        c.callbacks.iter_mut().for_each(|b| f(&mut b.device));
        if let Outcome::AbortedByDevice { device: Some(d), .. } = &mut c.outcome {
            f(d);
        }
    }
    t.ranked.iter_mut().flat_map(|r| &mut r.rows).for_each(|r| f(&mut r.device));
}
