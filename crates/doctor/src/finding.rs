//! A finding: what is wrong, how that is known, and what to do.

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

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// In words.
    pub text: String,
    /// How to take it back, if it changes something.
    pub undo: &'static str,
    /// What it may cost; empty if nothing.
    pub risk: &'static str,
}

impl Advice {
    /// Advice that changes nothing.
    pub fn look(text: impl Into<String>) -> Advice {
        Advice { text: text.into(), undo: "", risk: "" }
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
    /// One or two sentences.
    pub sentence: String,
    /// Lines that show it, at least one.
    pub evidence: Vec<Evidence>,
    /// What to do, best first.
    pub advice: Vec<Advice>,
    /// Time of one sleep that it costs, if the text says.
    pub costs: Option<Ns>,
    /// How sure.
    pub confidence: Confidence,
}

/// A check that could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// What.
    pub what: &'static str,
    /// Why not, and what would help.
    pub why: &'static str,
}
