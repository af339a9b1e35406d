//! What a text shows of the way from the button to a machine that can be used, besides the
//! messages of a kernel: lines of services with their times, figures that people measured,
//! marks of a firmware.

use crate::finding::Evidence;

/// Everything of one text.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Lines with a time, in order, around what asks for a sleep or ends one.
    pub steps: Vec<Step>,
    /// Times that people or tools measured.
    pub figures: Vec<Figure>,
    /// Marks of a firmware.
    pub marks: Vec<Mark>,
    /// Calls of a graph, each behind what it called.
    pub calls: Vec<Call>,
}

/// A line of a service, or of a kernel beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line, without its time.
    pub text: String,
    /// Milliseconds; lines of another `run` have another zero.
    pub ms: i64,
    /// Stamps are so coarse, in ms.
    pub grain: i64,
    /// Lines whose times can be compared have the same.
    pub run: u32,
    /// Its clock goes on while a firmware works.
    pub wall: bool,
    /// What it is.
    pub kind: Kind,
}

/// What a line of a service says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sleep is asked for.
    Asked,
    /// A lid was opened.
    Opened,
    /// A row of a table of times, of no other kind.
    Row,
    /// A delay lock was held until logind's limit.
    Lock,
    /// A unit was not frozen.
    NotFrozen,
    /// The kernel is asked to sleep.
    Sleeps,
    /// The kernel begins.
    Entry,
    /// The kernel is back.
    Back,
    /// The session runs again.
    Thawed,
    /// The unit of the sleep ended.
    Ended,
    /// A network has an address.
    Address,
    /// It has a link.
    Link,
    /// It has none any more, or nothing is connected.
    NoAddress,
    /// It lost its link.
    NoLink,
    /// A request to sleep failed.
    Refused,
    /// A sleep hook failed.
    Hook,
    /// A process that hung was killed.
    Killed,
    /// The display is asked for.
    Screen,
    /// The line says how long something took, in ms.
    Took(i64),
    /// Something was waited for in vain.
    TimedOut,
    /// A kernel's.
    Kernel,
    /// A program marks that it is ready.
    App,
    /// A service of the time of day reached its server, or the clock was set.
    ClockSet,
    /// Any other.
    Other,
}

/// A time that somebody measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// What it is of.
    pub what: String,
    /// As it stands there.
    pub value: String,
    /// Who tells it.
    pub by: Teller,
}

/// Who tells a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// A row of a table.
    Table,
    /// fwts.
    Tool,
}

/// A mark of a firmware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// What it marks.
    pub name: String,
    /// In ns since its clock began, or how long it took.
    pub ns: i64,
    /// Which table it is of.
    pub of: Table,
}

/// Tables of firmware times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `cbmem -t`.
    Cbmem,
    /// What a kernel or a loader prints of FPDT.
    Fpdt,
    /// /sys/firmware/acpi/fpdt/suspend and resume.
    Sleep,
    /// What pm-graph writes of it above a recording.
    Above,
}

/// A call of a graph of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Line where it begins, from 1.
    pub line: u64,
    /// Line where it ends.
    pub end: u64,
    /// The line that has its time.
    pub text: String,
    /// The function.
    pub name: String,
    /// How long it took, in ns.
    pub ns: i64,
    /// What of that is in no call that the graph shows; nothing if lines are missing.
    pub own: Option<i64>,
    /// So many calls are above it.
    pub depth: usize,
}

impl Way {
    /// Gives each line another number.
    pub fn renumber(&mut self, number: impl Fn(u64) -> u64) {
        let steps = self.steps.iter_mut().map(|s| &mut s.line);
        let figures = self.figures.iter_mut().map(|f| &mut f.line);
        let marks = self.marks.iter_mut().map(|m| &mut m.line);
        let calls = self.calls.iter_mut().flat_map(|c| [&mut c.line, &mut c.end]);
        for line in steps.chain(figures).chain(marks).chain(calls) {
            *line = number((*line).max(1));
        }
    }

    /// Whether the text shows anything of this kind.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
            && self.figures.is_empty()
            && self.marks.is_empty()
            && self.calls.is_empty()
    }
}

impl Step {
    /// Steps for tests: milliseconds, words and kind of each.
    #[cfg(test)]
    pub(crate) fn of(lines: &[(i64, &str, Kind)]) -> Vec<Step> {
        let step = |(line, (ms, text, kind)): (u64, &(i64, &str, Kind))| Step {
            line,
            text: (*text).into(),
            ms: *ms,
            grain: 1,
            run: 0,
            wall: true,
            kind: *kind,
        };
        (1..).zip(lines).map(step).collect()
    }

    /// Its line as evidence.
    pub(crate) fn shown(&self) -> Evidence {
        shown(self.line, &self.text)
    }
}

/// Evidence of a line and its words.
pub(crate) fn shown(line: u64, text: &str) -> Evidence {
    Evidence { line, text: text.into(), ..Evidence::default() }
}

/// The interface that a line names: `enp0s31f6`, `wlan0`, `eth0`.
pub(crate) fn interface(text: &str) -> Option<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().find(|w| {
        let begins = ["en", "eth", "wl", "ww", "usb"].iter().any(|p| w.starts_with(p));
        begins && w.len() > 3 && w.contains(|c: char| c.is_ascii_digit())
    })
}
