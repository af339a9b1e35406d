//! Reports of a tool: of one cycle, and of the machine.

/// A line of AMD's report of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The interrupt that ended it.
    Woke {
        /// Its number.
        number: u32,
        /// What the tool calls it.
        name: String,
    },
    /// An interrupt that came while it slept.
    Triggered {
        /// Its number.
        number: u32,
        /// What the tool calls it.
        name: String,
    },
    /// Pins that were active.
    Pins(String),
    /// A GPE whose count grew.
    Gpe {
        /// Its number.
        number: u32,
        /// By so much.
        by: u64,
    },
    /// How long it slept.
    Slept {
        /// In ms.
        ms: u64,
        /// It woke before it was to.
        early: bool,
    },
    /// Time in the hardware's own state.
    Hardware {
        /// In ms.
        ms: u64,
        /// Its share of the sleep, in thousandths of a per cent.
        share: Option<i64>,
    },
    /// The hardware never slept.
    NoHardware,
    /// It slept for so many seconds of as many as were asked for, if the line says how many.
    Early {
        /// It slept.
        seconds: u64,
        /// It was to sleep.
        of: Option<u64>,
    },
    /// Its timer was to end the sleep after so long.
    Timer {
        /// In ms.
        ms: u64,
    },
    /// What the report marks as wrong besides the sleep itself.
    Marked(String),
    /// It entered its own state so often in the cycle.
    Entries(u64),
}

/// What a tool checks of a machine before a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Its report begins.
    Head,
    /// It is as a sleep needs it.
    Held,
    /// It may matter.
    Warned(String),
    /// It is not as a sleep needs it.
    Failed(String),
}
