//! Freezing: how long it took, and who would not freeze.

use super::state::Log;
use super::steps::{CUT_OFF, end_lasting, seconds};
use crate::event::Stamp;
use crate::text;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::stack;

/// The task that a line of the dump after a failed freeze names.
pub(super) fn task(text: &[u8]) -> Option<String> {
    stack::task(&String::from_utf8_lossy(text)).map(|t| t.name)
}

/// `(elapsed 0.001 seconds)`.
pub(super) fn elapsed(text: &[u8]) -> Option<Ns> {
    let at = text::find(text, b"(elapsed ")?;
    seconds(&text[at + b"(elapsed ".len()..])
}

impl Log<'_> {
    /// The step of freezing that lasts.
    pub(super) fn freezing(&self) -> Option<Phase> {
        self.c.lasting.filter(|p| matches!(p, Phase::FreezeUser | Phase::FreezeKernel))
    }

    /// The log ends with a line that says how long the freezing took.
    pub(super) fn end_freezing(&mut self) {
        let Some(phase) = self.freezing().filter(|_| self.c.at_most < Ns::MAX) else { return };
        let time = self.now.max(self.c.at_most - CUT_OFF);
        let stamp = Stamp { time, pid: 0, comm: b"", cpu: u32::MAX, at: 0 };
        end_lasting(self, phase, &stamp);
    }
}
