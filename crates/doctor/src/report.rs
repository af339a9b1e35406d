//! What the doctor says of a text or a recording.

use crate::finding::{Area, Confidence, Finding, Level, Unchecked};
use crate::said::Printed;

/// What the doctor says of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Worst first; equal ones in order of the text.
    pub findings: Vec<Finding>,
    /// What the text cannot show.
    pub unchecked: Vec<Unchecked>,
    /// Attempts to sleep in the text, in its order.
    pub sleeps: Vec<Sleep>,
    /// Lines of a kernel log in the text.
    pub logged: usize,
    /// Where a further log begins in the text, by its lines: of a later boot, or of
    /// another machine.
    pub logs: Vec<u64>,
    /// Which kernels print what the text shows, where it names none.
    pub printed: Option<Printed>,
    /// It is a recording, a trace or a capture, not a text.
    pub recorded: bool,
}

/// An attempt to sleep, for a reader who wants to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// `s2idle`, `deep`, `hibernation`; empty if the text does not say.
    pub mode: String,
    /// Line of its first message, from 1.
    pub line: u64,
    /// The text has its beginning.
    pub begun: bool,
    /// The text has its end.
    pub closed: bool,
}

/// The worst first; of what costs time the dearest comes first.
pub(crate) fn sorted(findings: &mut [Finding]) {
    let cost = |f: &Finding| f.costs.filter(|_| f.level == Level::Slow);
    findings.sort_by_key(|f| (f.level, f.confidence, std::cmp::Reverse(cost(f))));
}

/// The finding that answers for a sleep whose devices no line times, if one does: what went
/// wrong, or who woke it. `waited` says that its lines name what was waited for, which
/// answers before anything that only costs time.
pub fn answer<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    waited: bool,
) -> Option<&'a Finding> {
    findings.into_iter().find(|f| {
        let wakes = f.id == "mode-wake-source";
        let weighs = f.level != Level::Note && f.confidence != Confidence::Guess;
        let ends = f.level == Level::Broken || matches!(f.area, Area::Mode | Area::Abort);
        (weighs || wakes) && (ends || !waited)
    })
}

impl Report {
    /// Takes in what another reading of the same machine says: what neither could show
    /// stays unchecked, and no rule speaks of both.
    pub fn join(&mut self, other: Vec<Finding>) {
        let known: Vec<&str> = self.findings.iter().map(|x| x.id).collect();
        self.findings.extend(other.into_iter().filter(|f| !known.contains(&f.id)));
        sorted(&mut self.findings);
    }
}
