//! Rounds of endurance runs, as the programs that drive them print them.

/// One round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Which one, from 1.
    pub number: u64,
    /// Of how many, if the line says.
    pub of: Option<u64>,
    /// How it ended, as far as the text shows.
    pub end: End,
    /// What the program says of it.
    pub said: String,
}

/// How a round ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The line only begins it, or says no more.
    #[default]
    Unknown,
    /// It came back.
    Back,
    /// It failed.
    Failed,
    /// It came back, and was not deep.
    Shallow,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rounds that were done.
    pub done: Option<u64>,
    /// Failures by name: `Suspend_failures`.
    pub failed: Option<(String, u64)>,
}
