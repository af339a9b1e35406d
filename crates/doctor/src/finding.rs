//! A finding: what is wrong, how that is known, and what to do.

use crate::fact::Fact;
use crate::message::Message;
pub use dormouse_base::finding::{Confidence, Evidence, Level};
use dormouse_base::time::Ns;

/// Where in a sleep it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Writing of dirty data before the sleep.
    Sync,
    /// Freezing of tasks.
    Freezer,
    /// An attempt that was ended.
    Abort,
    /// How deep the machine slept.
    Mode,
    /// Clocks and alarms.
    Clock,
    /// A callback in the wrong phase.
    Phase,
    /// Hibernation.
    Hibernation,
    /// Runtime power management.
    Rpm,
}

impl Area {
    /// As JSON and the screen name it.
    pub fn name(self) -> &'static str {
        match self {
            Area::Sync => "sync",
            Area::Freezer => "freezer",
            Area::Abort => "abort",
            Area::Mode => "mode",
            Area::Clock => "clock",
            Area::Phase => "phase",
            Area::Hibernation => "hibernation",
            Area::Rpm => "rpm",
        }
    }
}

impl From<&Message> for Evidence {
    fn from(m: &Message) -> Evidence {
        Evidence {
            line: m.line,
            time: m.time,
            text: m.text.clone(),
            doubtful: !m.trust.is_of_a_kernel(),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub id: &'static str,
    /// Where it belongs.
    pub area: Area,
    /// How bad.
    pub level: Level,
    /// What it is: sentence and advice are made of it.
    pub fact: Fact,
    /// Lines that show it, at least one.
    pub evidence: Vec<Evidence>,
    /// Time of one sleep that it costs, if the text says.
    pub costs: Option<Ns>,
    /// What its remedy takes off one sleep, by simulation of the recording; nobody asked
    /// the simulator, or it does not reproduce that phase, if nothing.
    pub saves: Option<Ns>,
    /// How sure.
    pub confidence: Confidence,
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
