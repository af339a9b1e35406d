//! What every trace format turns its records into, and who takes them.
//!
//! Text traces, `trace.dat` and Perfetto all carry the same kernel events; a
//! format's parser only finds them and hands them to an [`EventSink`], which
//! assembles cycles. Nothing here owns text: the hot path allocates nothing.

use dormouse_model::phase::PmEvent;
use dormouse_model::time::Ns;

/// Who recorded an event, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Time by the trace's clock.
    pub time: Ns,
    /// Thread id.
    pub pid: i32,
    /// Thread name; empty or `<...>` if the source lost it.
    pub comm: &'a [u8],
    /// CPU; `u32::MAX` if the source does not say.
    pub cpu: u32,
    /// Line (text, from 1) or byte offset (binary) for messages.
    pub at: u64,
}

/// A kernel event that matters for sleep (spec/dpm.md D.1, D.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent<'a> {
    /// `power:suspend_resume`.
    SuspendResume {
        /// Such as `dpm_suspend`.
        action: &'a [u8],
        /// The number in brackets.
        value: i64,
        /// `begin` or `end`.
        begin: bool,
    },
    /// `power:device_pm_callback_start`.
    CallbackStart {
        /// Driver, else bus, else class, else empty.
        driver: &'a [u8],
        /// Device name; may contain blanks.
        device: &'a [u8],
        /// Parent's name, `none` without one.
        parent: &'a [u8],
        /// Such as `noirq driver `; empty in prepare and complete.
        ops: &'a [u8],
        /// The word in brackets.
        event: PmEvent,
    },
    /// `power:device_pm_callback_end`.
    CallbackEnd {
        /// As at the start.
        driver: &'a [u8],
        /// As at the start.
        device: &'a [u8],
        /// Return value.
        error: i32,
    },
    /// Any other event worth keeping (sched, workqueue, rpm, cpu_idle, block).
    Other {
        /// Event name.
        name: &'a [u8],
        /// Its text as `trace` prints it.
        text: &'a [u8],
    },
    /// The tracer lost events here; `None` if it does not say how many.
    Lost {
        /// How many.
        count: Option<u64>,
    },
}

/// Takes events in the order of their time stamps.
pub trait EventSink {
    /// One event.
    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>);
}

/// Whether events of this name explain waits, worker counts or idle time and
/// are kept as [`TraceEvent::Other`]; the same for every trace format.
pub fn is_side_event(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 6] =
        [b"sched_", b"workqueue_", b"rpm_", b"cpu_idle", b"block_", b"wakeup_source_"];
    PREFIXES.iter().any(|p| name.starts_with(p))
}
