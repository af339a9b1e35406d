//! A finding: what is wrong, how that is known, and what to do.

use crate::fact::Fact;
use crate::message::Message;
use alloc::string::String;
use alloc::vec::Vec;
use dormouse_model::time::Ns;

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

/// How bad it is; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The machine did not sleep, or did not come back whole.
    Broken,
    /// It works, and costs time.
    Slow,
    /// It works here, and can fail or cost energy.
    Risk,
    /// Good to know.
    Note,
}

impl Level {
    /// As JSON and the screen name it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Broken => "broken",
            Level::Slow => "slow",
            Level::Risk => "risk",
            Level::Note => "note",
        }
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The kernel said so.
    Certain,
    /// One reading of the messages fits.
    Likely,
    /// A suspicion.
    Guess,
}

impl Confidence {
    /// As JSON and the screen name it.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Guess => "guess",
        }
    }
}

/// A line that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Line of the text, from 1.
    pub line: u64,
    /// Its time, if it has one.
    pub time: Option<Ns>,
    /// The message.
    pub text: String,
    /// It may be a person's words, or about another machine.
    pub doubtful: bool,
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
}
