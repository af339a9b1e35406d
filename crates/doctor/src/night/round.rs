//! Rounds of endurance runs, as the programs that drive them print them and people tell them.

/// One round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Which one, from 1; 0 if the line does not say.
    pub number: u64,
    /// Of how many, if the line says.
    pub of: Option<u64>,
    /// How it ended, as far as the text shows.
    pub end: End,
    /// What the program says of it.
    pub said: String,
    /// Who numbers it.
    pub by: Teller,
}

/// Who tells of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Teller {
    /// A program, in a line that says itself that it is about sleep.
    #[default]
    OfSleep,
    /// A program that numbers anything.
    OfAnything,
    /// A person, in a sentence about sleep.
    Person,
    /// A person, in a sentence that does not say what failed.
    Unclear,
}

/// How a round ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The line only begins it, or says no more.
    #[default]
    Unknown,
    /// The machine was sent to sleep, and no more is said of it.
    Asked,
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
    /// A program counted them; else a person did.
    pub by_program: bool,
}
