//! Freezing that did not succeed (kernel/power/process.c:try_to_freeze_tasks, 3.15 to 7.3).

use super::number::seconds;
use super::state::Log;
use super::steps::{advance, lasting, settle};
use crate::event::Stamp;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

impl Log<'_> {
    /// Freezing did not succeed; whether `rest` says so, and with it how long it was tried.
    pub(super) fn freezing_failed(&mut self, phase: Phase, rest: &[u8], stamp: &Stamp<'_>) -> bool {
        let aborted = rest.starts_with(b"aborted after ");
        let Some(took) =
            rest.strip_prefix(b"aborted after ").or(rest.strip_prefix(b"failed after "))
        else {
            return false;
        };
        if self.is_piece(stamp) {
            let now = self.now;
            self.now -= seconds(took).filter(|_| self.timed).unwrap_or(Ns::ZERO);
            lasting(self, phase, stamp);
            self.now = now;
            if let Some(c) = self.t.current() {
                c.whole = false;
            }
        } else if self.c.lasting.is_none() && !self.is_beyond_freezing() {
            // Somebody left out the line that begins it.
            let (now, from) = (self.now, self.t.entered().unwrap_or(self.now));
            if let Some(took) = seconds(took).filter(|_| self.timed) {
                self.now = (now - took).max(from);
            }
            lasting(self, phase, stamp);
            self.now = now;
        }
        self.c.given_up = true;
        if let Some(took) = seconds(took) {
            advance(self, took);
            if matches!(self.c.lasting, Some(Phase::FreezeUser | Phase::FreezeKernel)) {
                self.close_up(self.c.lasting_from, took);
            }
        }
        settle(self, stamp);
        if let Some(c) = self.t.current() {
            if aborted {
                c.told.wakeup = true;
                c.told.aborted = true;
            } else {
                // The only value the freezer returns.
                c.told.freeze_failed = Some(-16);
            }
        }
        self.c.listing = !aborted;
        true
    }
}
