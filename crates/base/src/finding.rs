//! What findings of every subject have in common: how bad, how sure, and the
//! lines that show it. What was found is each subject's own.

use crate::time::Ns;

/// How bad it is; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// A line that shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
