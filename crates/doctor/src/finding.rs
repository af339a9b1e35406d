//! What the doctor's findings are made of, and what it could not check.

use crate::message::Message;
pub use dormouse_base::finding::{
    Advice, Area, Confidence, Device, Evidence, Finding, Level, OLD, Remedy, Task,
};

impl From<&Message> for Evidence {
    fn from(m: &Message) -> Evidence {
        Evidence {
            line: m.line,
            time: m.time,
            text: m.text.to_string(),
            doubtful: !m.trust.is_of_a_kernel(),
        }
    }
}

/// A check that the text does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// Whether the hardware slept: the text shows no counter.
    Hardware,
    /// Which device takes the time: no callbacks.
    Callbacks,
    /// Runtime power management: neither `power/` folders nor rpm events.
    RuntimePm,
    /// What the kernel said: a recording has times alone.
    Messages,
    /// What the kernel said since boot: its log may not be read.
    Log,
    /// The same: there is no such file.
    NoLog,
    /// Modes of sleep: this kernel has none.
    NoSleep,
    /// Counters of the platform: debugfs may not be read.
    Debugfs,
    /// The same: debugfs is not mounted.
    NoDebugfs,
}
