//! Why each callback started when it did: the critical path answers this for
//! the callbacks on it; a reader who selects any other asks the same.

use super::CycleView;
use super::local::{Local, Scratch};
use super::path::Reason;
use super::structure::{JUST, Relation, Room, Seen, Structure, main_threads};
use crate::simulate::kernel::rules;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;

/// Why a callback started when it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The callback that it came after: index into [`Cycle::callbacks`].
    pub after: Option<u32>,
    /// Why it came after that; `None` for a callback outside every phase.
    pub reason: Option<Reason>,
}

/// One entry a callback of `cycle`. What `view` says of the critical path is
/// said here in the same words.
pub fn starts(capture: &Capture, cycle: &Cycle, view: &CycleView) -> Vec<Start> {
    let mut out = std::vec![Start::default(); cycle.callbacks.len()];
    let local = Local::of(&capture.graph, cycle, &mut Scratch::default());
    let mains = main_threads(cycle);
    let rules = rules(capture.names.get(cycle.kernel));
    let seen = Seen { capture, cycle, local: &local, mains: &mains, rules };
    let mut room = Room::default();
    for (span, phase) in cycle.phases.iter().zip(&view.phases) {
        if !span.phase.has_devices() {
            continue;
        }
        let s = Structure::of(&seen, span, &phase.callbacks, &mut room);
        // The callback that each node hangs on, through devices without one.
        // Edges lead forwards, so one pass is enough.
        let mut held: Vec<(Option<u32>, Option<Relation>)> = Vec::with_capacity(s.nodes.len());
        for node in &s.nodes {
            let entry = match node.binding.map(|e| s.edges[e as usize]) {
                None => (None, None),
                Some(e) => {
                    let from = &s.nodes[e.from as usize];
                    let through = held.get(e.from as usize).copied().unwrap_or_default();
                    (from.callback.or(through.0), Some(e.relation))
                }
            };
            held.push(entry);
            let Some(start) = node.callback.and_then(|c| out.get_mut(c as usize)) else {
                continue;
            };
            start.after = entry.0;
            start.reason = Some(match entry.1 {
                None if node.lag <= JUST => Reason::PhaseBegin,
                None => Reason::Unexplained,
                Some(relation) => Reason::of(relation),
            });
        }
        for segment in &phase.path {
            if let Some(start) = segment.callback.and_then(|c| out.get_mut(c as usize)) {
                start.reason = Some(segment.reason);
            }
        }
        room.reuse(s);
    }
    out
}
