//! What became of attempts to probe (drivers/base/dd.c:really_probe,
//! call_driver_probe, driver_deferred_probe_check_state).

use dormouse_base::finding::Evidence;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A driver has it.
    Bound,
    /// `-517`: the core stopped it before the driver was asked; it costs 2 us.
    Blocked,
    /// `517`: the driver or its domain asked for another attempt.
    Deferred,
    /// Another error.
    Failed(i32),
    /// It gave up on a provider that never came.
    GaveUp,
}

/// The end of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The device.
    pub device: String,
    /// Its driver; empty if the text does not say.
    pub driver: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it took, us, if the text says.
    pub took_us: Option<u64>,
    /// The line.
    pub evidence: Evidence,
}

/// What drivers said of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// The device.
    pub device: String,
    /// The driver that spoke first.
    pub driver: String,
    /// Line of its first word.
    pub first: u64,
    /// Line of the last word.
    pub last: u64,
    /// The first message.
    pub evidence: Evidence,
    /// The first message of a failure.
    pub failure: Option<Evidence>,
}
