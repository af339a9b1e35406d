//! A finding: what is wrong, how that is known, and what to do about it. One engine for
//! every subject; each rule says all of it in its own file, and whoever prints adds no
//! word.
//!
//! ```
//! use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
//!
//! let line = Evidence { line: 7, text: "pm_async: 0".into(), ..Evidence::default() };
//! let f = Finding::new(("knob-pm-async", Area::Phase, Level::Slow), Confidence::Certain)
//!     .says("Devices suspend and resume one after the other: pm_async is 0.")
//!     .change("echo 1 > /sys/power/pm_async", "Write the old value back.", "")
//!     .shown_by([line]);
//! assert_eq!(f.row, "suspend");
//! ```

use crate::phase::{Direction, Phase};
use crate::time::Ns;
use serde::{Serialize, Serializer};

/// How bad it is; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It did not work, or not whole.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The kernel said so.
    Certain,
    /// One reading of the lines fits.
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

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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
    /// Devices that go down and come back.
    Phase,
    /// Hibernation.
    Hibernation,
    /// Runtime power management.
    Rpm,
    /// Power domains, clocks and regulators.
    Domain,
    /// Devices that are found, and what they wait for.
    Probe,
    /// Idle states of CPUs.
    Idle,
    /// Power states of disks.
    Storage,
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
            Area::Domain => "domain",
            Area::Probe => "probe",
            Area::Idle => "idle",
            Area::Storage => "storage",
        }
    }

    /// The row of a cycle that a finding of this area concerns, as `show` calls it; nothing
    /// if none.
    fn row(self) -> &'static str {
        match self {
            Area::Sync => "sync",
            Area::Freezer => "freeze",
            Area::Mode | Area::Clock => "asleep",
            Area::Hibernation => "image",
            Area::Abort | Area::Phase | Area::Rpm => "suspend",
            Area::Domain | Area::Probe | Area::Idle | Area::Storage => "",
        }
    }
}

/// A line that shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Line of the text, from 1; 0 of a file of the machine, which has none.
    #[serde(serialize_with = "line")]
    pub line: u64,
    /// Its time, if it has one.
    #[serde(rename = "time_ns")]
    pub time: Option<Ns>,
    /// The message.
    pub text: String,
    /// It may be a person's words, or about another machine.
    pub doubtful: bool,
}

fn line<S: Serializer>(line: &u64, to: S) -> Result<S::Ok, S::Error> {
    Some(*line).filter(|l| *l > 0).serialize(to)
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// In words.
    pub text: String,
    /// How to take it back; empty if it changes nothing.
    pub undo: String,
    /// What it may cost; empty if nothing.
    pub risk: String,
}

/// A device, as a message names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its driver; empty if the message does not say.
    pub driver: String,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// 0 if the text does not say.
    pub pid: u32,
}

/// Whom a finding is about, and when, for whoever goes on with it: the sentence says the
/// same to a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// Devices, the first before all others.
    pub devices: Vec<Device>,
    /// Tasks, the first before all others.
    pub tasks: Vec<Task>,
    /// The function that is to blame, or that somebody waited in.
    pub function: Option<String>,
    /// The error, as the kernel prints it.
    pub error: Option<i32>,
    /// The phase.
    #[serde(serialize_with = "phase")]
    pub phase: Option<Phase>,
    /// The half.
    pub direction: Option<Direction>,
    /// How often.
    pub times: Option<usize>,
}

fn phase<S: Serializer>(p: &Option<Phase>, to: S) -> Result<S::Ok, S::Error> {
    p.map(Phase::title).serialize(to)
}

/// A change that the simulator of system sleep can try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Leave this device suspended.
    LeaveSuspended(String),
    /// Do this device's work of one phase in another.
    Move(String, Phase, Phase),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub id: &'static str,
    /// What it is about.
    pub area: Area,
    /// The row of a cycle that it concerns, as `show` calls it.
    pub row: &'static str,
    /// How bad.
    pub level: Level,
    /// How sure.
    pub confidence: Confidence,
    /// What is wrong, in one or two sentences.
    pub sentence: String,
    /// What the text itself says of the reason; empty if nothing.
    pub why: String,
    /// Whom it is about.
    pub about: About,
    /// What to do, best first.
    pub advice: Vec<Advice>,
    /// Lines that show it, at least one.
    pub evidence: Vec<Evidence>,
    /// Time of one sleep that it costs, if the text says.
    #[serde(rename = "costs_ns")]
    pub costs: Option<Ns>,
    /// What its remedy takes off one sleep, by simulation of the recording; nobody asked
    /// the simulator, or it does not reproduce that phase, if nothing.
    #[serde(rename = "saves_ns")]
    pub saves: Option<Ns>,
    /// What the simulator is to try.
    #[serde(skip)]
    pub remedies: Vec<Remedy>,
    /// The writer of the text says that it is over.
    #[serde(skip)]
    pub over: bool,
}

impl Finding {
    /// A finding of a rule, without words yet.
    pub fn new((id, area, level): (&'static str, Area, Level), confidence: Confidence) -> Finding {
        Finding {
            id,
            area,
            row: area.row(),
            level,
            confidence,
            sentence: String::new(),
            why: String::new(),
            about: About::default(),
            advice: Vec::new(),
            evidence: Vec::new(),
            costs: None,
            saves: None,
            remedies: Vec::new(),
            over: false,
        }
    }

    /// What is wrong, in one or two sentences.
    pub fn says(mut self, sentence: impl Into<String>) -> Finding {
        self.sentence = sentence.into();
        self
    }

    /// What the text itself says of the reason.
    pub fn because(mut self, why: impl Into<String>) -> Finding {
        self.why = why.into();
        self
    }

    /// Something to look at, or to do by hand.
    pub fn look(mut self, text: impl Into<String>) -> Finding {
        self.advice.push(Advice { text: text.into(), ..Advice::default() });
        self
    }

    /// Something to change, how to take it back, and what it may cost.
    pub fn change(
        mut self,
        text: impl Into<String>,
        undo: impl Into<String>,
        risk: impl Into<String>,
    ) -> Finding {
        self.advice.push(Advice { text: text.into(), undo: undo.into(), risk: risk.into() });
        self
    }

    /// Lines that show it.
    pub fn shown_by(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Finding {
        self.evidence.extend(evidence);
        self
    }

    /// The row of a cycle that it concerns, where its area alone does not tell.
    pub fn at(mut self, row: &'static str) -> Finding {
        self.row = row;
        self
    }

    /// The devices that it is about.
    pub fn of_devices(mut self, devices: impl IntoIterator<Item = Device>) -> Finding {
        self.about.devices.extend(devices);
        self
    }

    /// The tasks that it is about.
    pub fn of_tasks(mut self, tasks: impl IntoIterator<Item = Task>) -> Finding {
        self.about.tasks.extend(tasks);
        self
    }

    /// The function that is to blame, if it is known.
    pub fn of_function(mut self, function: Option<&str>) -> Finding {
        self.about.function = function.map(ToString::to_string);
        self
    }

    /// The error that the kernel printed.
    pub fn of_error(mut self, error: i32) -> Finding {
        self.about.error = Some(error);
        self
    }

    /// The half and the phase, where they are known.
    pub fn when(mut self, direction: Option<Direction>, phase: Option<Phase>) -> Finding {
        (self.about.direction, self.about.phase) = (direction, phase);
        // Of an area that lies in both halves.
        if direction == Some(Direction::Resume) && self.row == "suspend" {
            self.row = "resume";
        }
        self
    }

    /// How often.
    pub fn times(mut self, n: usize) -> Finding {
        self.about.times = Some(n);
        self
    }

    /// What it costs of one sleep.
    pub fn costs(mut self, t: Ns) -> Finding {
        self.costs = Some(t);
        self
    }

    /// What the simulator is to try.
    pub fn remedy(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Finding {
        self.remedies.extend(remedies);
        self
    }
}

/// How to undo what was written to a file.
pub const OLD: &str = "Write the old value back.";
