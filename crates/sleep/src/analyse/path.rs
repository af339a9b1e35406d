//! The critical path of a phase: what, from its end back to its start, decided
//! how long it took.

use super::structure::{JUST, Relation, Structure};
use dormouse_base::cycle::{Cycle, PhaseSpan, ThreadId};
use dormouse_base::device::DeviceId;
use dormouse_base::time::Ns;

/// Why a segment did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Waited for a child (suspend).
    Child,
    /// Waited for its parent (resume).
    Parent,
    /// Waited for a consumer (suspend).
    Consumer,
    /// Waited for a supplier (resume).
    Supplier,
    /// The main thread was busy with the device before it.
    MainThread,
    /// Async, but queued only after the main thread's walk had passed a
    /// synchronous device.
    Queue,
    /// Ready, but its worker thread was not running yet.
    WorkerStart,
    /// The first of its phase.
    PhaseBegin,
    /// After the last callback, until the phase was over.
    PhaseEnd,
    /// Not explained by this log.
    Unexplained,
}

impl Reason {
    /// All, in the order of their numbers.
    pub const ALL: [Reason; 10] = [
        Reason::Child,
        Reason::Parent,
        Reason::Consumer,
        Reason::Supplier,
        Reason::MainThread,
        Reason::Queue,
        Reason::WorkerStart,
        Reason::PhaseBegin,
        Reason::PhaseEnd,
        Reason::Unexplained,
    ];

    /// The reason that an edge is.
    pub fn of(relation: Relation) -> Reason {
        match relation {
            Relation::Child => Reason::Child,
            Relation::Parent => Reason::Parent,
            Relation::Consumer => Reason::Consumer,
            Relation::Supplier => Reason::Supplier,
            Relation::MainThread => Reason::MainThread,
            Relation::Queue => Reason::Queue,
        }
    }

    /// The word used in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Child => "child",
            Reason::Parent => "parent",
            Reason::Consumer => "consumer",
            Reason::Supplier => "supplier",
            Reason::MainThread => "main_thread_order",
            Reason::Queue => "main_thread_queue",
            Reason::WorkerStart => "worker_start",
            Reason::PhaseBegin => "phase_begin",
            Reason::PhaseEnd => "phase_end",
            Reason::Unexplained => "unexplained",
        }
    }
}

/// A piece of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The device whose callback ran; `None` while no callback of the path ran.
    pub device: Option<DeviceId>,
    /// Index into [`Cycle::callbacks`].
    pub callback: Option<u32>,
    /// Where it ran; for a gap, where the next callback of the path ran.
    pub thread: Option<ThreadId>,
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// Why it could not start earlier.
    pub reason: Reason,
    /// Every edge is named by the source and what was waited for ended just
    /// before the start. If not, the reason is assumed.
    pub proven: bool,
    /// The device that was waited for, if the reason is one.
    pub waited_for: Option<DeviceId>,
    /// A device without callback here passed the wait on: the device waited
    /// for itself, or for the main thread one that lies between.
    pub through_silent: bool,
    /// The device whose callback is before this one on the path.
    pub after: Option<DeviceId>,
}

impl Segment {
    /// How long it is.
    pub fn duration(&self) -> Ns {
        self.end.since(self.start)
    }

    /// No callback of the path ran.
    pub fn is_gap(&self) -> bool {
        self.callback.is_none()
    }
}

/// How long a worker may take to start when `devices` are queued at once: a
/// cold pool creates its threads one after another, 0.03 to 0.15 ms each.
fn worker_start_at_most(devices: usize) -> Ns {
    Ns(1_000_000 + 150_000 * devices as i64)
}

/// How long the walk over devices without callback may take.
fn walk_at_most(devices: usize) -> Ns {
    Ns(1_000_000 + 5_000 * devices as i64)
}

/// What the kernel does at both ends of a phase by itself (cpufreq and devfreq
/// among others).
const EDGE_OF_PHASE: Ns = Ns(5_000_000);

/// The path as segments that partition the phase to the nanosecond.
pub(crate) fn segments(
    cycle: &Cycle,
    span: &PhaseSpan,
    s: &Structure,
    critical: &[u32],
) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::with_capacity(critical.len() * 2 + 1);
    let workers = s.workers as usize;
    let walk = walk_at_most(s.nodes.len());
    let mut at = span.start;
    // The first device without callback since the last callback of the path:
    // it is what the next callback waited for, as far as edges say.
    let mut known = true;
    let mut seen_callback = false;
    let mut after = None;
    for (k, &i) in critical.iter().enumerate() {
        let node = &s.nodes[i as usize];
        let edge = node.binding.map(|e| s.edges[e as usize]);
        known &= edge.is_none_or(|e| e.known);
        let Some(callback) = node.callback else { continue };
        let cb = &cycle.callbacks[callback as usize];
        let gap = node.start.since(at);
        let (mut reason, mut waited_for, mut through) = (Reason::PhaseBegin, None, false);
        if let (Some(e), true) = (edge, seen_callback || k > 0) {
            let from = &s.nodes[e.from as usize];
            // A chain of silent devices on the main thread says no more than
            // the callback before it; a silent child or parent does.
            through = from.callback.is_none() || (e.relation == Relation::MainThread && !from.main);
            waited_for = from.device;
            if through && matches!(e.relation, Relation::MainThread | Relation::Queue) {
                let spoken = held_by(s, e.from);
                waited_for = spoken.and_then(|n| s.nodes[n as usize].device);
                through = spoken.is_some_and(|n| {
                    let n = &s.nodes[n as usize];
                    n.callback.is_none() || !n.main
                });
            }
            reason = Reason::of(e.relation);
            if waited_for.is_none() || !seen_callback {
                // Only silent devices lie before it: it was among the first.
                (reason, waited_for, through) = (Reason::PhaseBegin, None, false);
            }
        }
        if reason == Reason::PhaseBegin && gap > EDGE_OF_PHASE {
            // It began too late for one of the first, and nothing says why.
            reason = Reason::Unexplained;
        }
        if gap > Ns::ZERO {
            let (why, most) = match (reason, node.main) {
                (Reason::PhaseBegin | Reason::Unexplained, _) => (reason, EDGE_OF_PHASE),
                (_, true) => (Reason::MainThread, walk),
                (_, false) => (Reason::WorkerStart, worker_start_at_most(workers)),
            };
            out.push(Segment {
                device: None,
                callback: None,
                thread: Some(cb.thread),
                start: at,
                end: node.start,
                reason: if gap <= most { why } else { Reason::Unexplained },
                proven: gap <= JUST,
                waited_for: None,
                through_silent: false,
                after,
            });
        }
        out.push(Segment {
            device: node.device,
            callback: Some(callback),
            thread: Some(cb.thread),
            start: node.start,
            end: node.end,
            reason,
            proven: known && gap <= JUST,
            waited_for,
            through_silent: through,
            after,
        });
        at = node.end;
        after = node.device;
        known = true;
        seen_callback = true;
    }
    if span.end > at || out.is_empty() {
        let gap = span.end.since(at);
        let most = if out.is_empty() { JUST } else { EDGE_OF_PHASE };
        out.push(Segment {
            device: None,
            callback: None,
            thread: None,
            start: at,
            end: span.end.max(at),
            reason: if gap <= most { Reason::PhaseEnd } else { Reason::Unexplained },
            proven: gap <= JUST,
            waited_for: None,
            through_silent: false,
            after,
        });
    }
    out
}

/// Follows a chain of silent devices that the main thread passed back to the
/// callback that it ran, or to the silent device that it had to wait at.
fn held_by(s: &Structure, mut i: u32) -> Option<u32> {
    loop {
        let node = &s.nodes[i as usize];
        if node.callback.is_some() {
            return Some(i);
        }
        let e = s.edges[node.binding? as usize];
        match e.relation {
            Relation::MainThread | Relation::Queue => i = e.from,
            _ => return Some(e.from),
        }
    }
}

/// A phase without devices: one segment that says nothing more.
pub fn whole(span: &PhaseSpan) -> Vec<Segment> {
    std::vec![Segment {
        device: None,
        callback: None,
        thread: None,
        start: span.start,
        end: span.end.max(span.start),
        reason: Reason::Unexplained,
        proven: false,
        waited_for: None,
        through_silent: false,
        after: None,
    }]
}
