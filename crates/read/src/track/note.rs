//! What the tracker remembers of a finished cycle.

use dormouse_base::names::Sym;

/// What kind of source a cycle came from; decides which of two descriptions of
/// the same cycle is the base when they are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Trace events: exact brackets.
    #[default]
    Trace,
    /// Kernel log lines.
    Log,
}

/// What the tracker remembers of a finished cycle beside the cycle itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct CycleNote {
    pub kind: Kind,
    /// Position in the order of inputs.
    pub source: u32,
    /// `# suspend-…` stamp of pm-graph, equal in the log and the trace of one run.
    pub stamp: Sym,
    /// The folder of the source.
    pub folder: Sym,
}
