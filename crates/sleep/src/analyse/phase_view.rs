//! What there is to say about one phase of a cycle.

use super::path;
use dormouse_base::device::DeviceId;

/// One phase of one cycle.
#[derive(Clone, Debug, Default)]
pub struct PhaseView {
    /// Indices into [`Cycle::callbacks`], in order of start.
    pub callbacks: Vec<u32>,
    /// How many of them ended inside the log.
    pub completed: u32,
    /// The critical path in order of time; its segments partition the phase.
    pub path: Vec<path::Segment>,
    /// Most worker threads that ran callbacks at the same moment.
    pub workers_at_once: u32,
    /// Known edges that the times contradict (a child that ended after its
    /// parent had started, for example); they were not used.
    pub contradictions: u32,
    /// The device of the path whose callback saves most, and the one that would
    /// be the bottleneck in its stead.
    pub rival: Option<(DeviceId, DeviceId)>,
    /// Callbacks that started within [`super::structure::JUST`] of the end of a
    /// device they depend on: waits that very likely blocked.
    pub waits: u32,
}
