//! Messages of failures inside of a cycle: what is kept of them, and how far a way down reaches
//! that ends with one.

use super::held::Refusal;
use super::prefix::Record;
use super::refusal::LONGEST;
use super::state::Log;
use dormouse_base::cycle::{Complaint, Cycle};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_doctor::message::CRASHES;

/// So many messages of failures are kept of a cycle.
const COMPLAINTS: usize = 32;

/// A log ends with a line if nothing comes so long behind it.
const SOON: Ns = Ns::from_ms(1_000);

/// So does a kernel that may not go on, as one that crashed: kernel/watchdog.c,
/// kernel/rcu/tree_stall.h, kernel/hung_task.c, 6.12.
const STALLS: [&str; 4] =
    ["soft lockup", "hard LOCKUP", "detected stall", " blocked for more than "];

impl Log<'_> {
    /// Keeps a message that tells of a failure: why a callback does not end, or returns
    /// an error, is often only said there.
    pub(super) fn complaint(&mut self, r: &Record<'_>, at: u64) {
        const WORDS: [&[u8]; 5] = [b"ailed", b"rror", b"imed out", b" -E", b" is -"];
        if r.time.is_none() || self.t.open_serial() == 0 {
            return;
        }
        let crash = CRASHES.iter().chain(&STALLS).any(|w| r.has(w.as_bytes()));
        let fails = WORDS.iter().any(|w| r.has(w));
        let crashed = self.c.died.is_some_and(|d| d.1);
        // What says that it is of the way up ends no way down.
        let up = [&b"resume"[..], b"restore", b"thaw"].iter().any(|w| r.has(w));
        if r.fresh && (crash || fails && !crashed && !up) {
            self.c.died = Some((self.now, crash));
        }
        let full = |c: &Cycle| c.complaints.len() == COMPLAINTS;
        if self.t.current().is_none_or(|c| full(&c.cycle)) || !fails {
            return;
        }
        let text = self.t.names().add(&String::from_utf8_lossy(r.text.trim_ascii()));
        let time = self.now;
        let Some(c) = self.t.current() else { return };
        let list = &mut c.cycle.complaints;
        if list.last().is_none_or(|l| l.line != at) {
            list.push(Complaint { time, text, line: at });
        }
    }

    /// A way down of devices that a crash ends, or a driver's own last word at the end of the
    /// log, lasted at least until then: no step of the core is told behind it.
    pub(super) fn breaks_down(&mut self) {
        let down = self.c.phase.filter(|p| p.has_devices() && p.direction() == Direction::Suspend);
        let (Some((at, crash)), Some(phase)) = (self.c.died, down) else { return };
        let over = self.c.refusal.is_some() || self.c.woke.is_some() || self.c.missed;
        let ends = crash || self.now <= at + SOON;
        if over || !ends || self.came_up() {
            return;
        }
        let near = |start: Ns| start < at && at < start + LONGEST;
        if self.t.current().is_some_and(|c| !c.over && near(c.cycle.start)) {
            self.c.refusal = Some(Refusal { phase, at, laid_out: false });
        }
    }
}
