//! What a trace says of storage.

use crate::request::Request;
use crate::runtime::Runtime;
use crate::wait::{Span, Watched};
use serde::Serialize;
use std::collections::BTreeMap;

/// A change of a device's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockChange {
    /// When, ns.
    pub time: i64,
    /// Whose.
    pub device: String,
    /// Clock after it, Hz.
    pub hz: u64,
    /// Clock before it, Hz.
    pub hz_before: u64,
}

/// A completion so soon after its CPU left an idle state is what woke it, ns: an
/// interrupt's entry takes a few us, and the next idle state begins behind it.
pub const WOKEN: i64 = 20_000;

/// A completion that woke its CPU from an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// When the request was complete, ns.
    pub completed: i64,
    /// The CPU.
    pub cpu: u32,
    /// Number of the idle state.
    pub state: u32,
    /// How long it had been in it, ns.
    pub slept: i64,
}

/// What a trace says of storage.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// As the user named it.
    pub name: String,
    /// Which of several traces in one input, from 1; 0 if it is the only one.
    pub part: u32,
    /// Its events have no times: their order alone is known.
    pub timeless: bool,
    /// Time stamp of its first event of any kind, ns.
    pub begin: Option<i64>,
    /// Requests, complete ones first.
    pub requests: Vec<Request>,
    /// Times in which disks could not serve.
    pub spans: Vec<Span>,
    /// What was recorded at all.
    pub watched: Watched,
    /// Runtime power management.
    pub runtime: Runtime,
    /// Changes by devfreq.
    pub changes: Vec<ClockChange>,
    /// `block_rq_issue` events.
    pub issues: u64,
    /// `block_rq_complete` events.
    pub completions: u64,
    /// Completions of requests that were not issued in the trace.
    pub unissued: u64,
    /// Events of storage by name.
    pub events: BTreeMap<String, u64>,
    /// Events of other subjects.
    pub unused: u64,
    /// Times that UFS clocks were switched on, and how long that took, ns.
    pub ungates: Vec<i64>,
    /// When the delay before gating UFS clocks had passed, ns: the work item that
    /// gates them was queued, or where that is not recorded, the last of them was
    /// switched off.
    pub gates: Vec<i64>,
    /// Of each devfreq device, a look and the time between two, ns.
    pub looks: BTreeMap<String, (i64, i64)>,
    /// Completions that woke their CPU.
    pub woken: Vec<Woken>,
    /// Time stamp of the last event that was read, ns.
    pub until: i64,
    /// Lines with events of storage that could not be read.
    pub unread: u64,
    /// Who issued commands that have no sector, and how often, where the text says it.
    pub commands_by: BTreeMap<String, u64>,
}

impl Trace {
    /// Whether it says anything of storage.
    pub fn speaks(&self) -> bool {
        !self.requests.is_empty() || !self.runtime.devices.is_empty() || !self.changes.is_empty()
    }
}
