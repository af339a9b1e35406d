//! Ways down that were given up or break off, and what their lines do not say.
//!
//! Few kernels print when a phase began and ended. A device that refuses, a wakeup or
//! a timeout ends the way down with a line of its own (drivers/base/power/main.c:
//! pm_dev_err; kernel/power/suspend.c:suspend_devices_and_enter, suspend_enter, 6.12):
//! what lies before it is the way down, what follows is the way up.

use super::held::Refusal;
use super::number::number;
use super::state::Log;
use crate::event::Stamp;
use crate::text;
use dormouse_base::cycle::PhaseSpan;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;

impl Log<'_> {
    /// The step of freezing that lasts.
    pub(super) fn freezing(&self) -> Option<Phase> {
        self.c.lasting.filter(|p| matches!(p, Phase::FreezeUser | Phase::FreezeKernel))
    }

    /// The log breaks off behind the core's line that a callback returned an error, and ahead
    /// of the one that the sleep is given up (drivers/base/power/main.c:dpm_run_callback).
    pub(super) fn end_refused(&mut self) {
        let down = self.c.phase.filter(|p| p.direction() == Direction::Suspend);
        let (Some(phase), None) = (down, self.c.refusal) else { return };
        if self.came_up() || self.t.current().is_none_or(|c| c.over) {
            return;
        }
        if let Some((owner, errno)) = self.c.returned.take_if(|_| self.c.core_returned) {
            self.t.note_failure(&super::steps::key_of(&owner), errno, self.now);
            self.refuse(phase);
        }
    }

    /// The log ends with a line that says how long the freezing took.
    pub(super) fn end_freezing(&mut self) {
        let Some(phase) = self.freezing().filter(|_| self.c.at_most < Ns::MAX) else { return };
        let time = self.now.max(self.c.at_most - super::steps::CUT_OFF);
        let stamp = Stamp { time, pid: 0, comm: b"", cpu: u32::MAX, at: 0 };
        super::steps::end_lasting(self, phase, &stamp);
    }

    /// A line says that an attempt was given up. Whether the text has no more of this attempt
    /// before it: none is open, or the open one was given up by a line of the same kind.
    pub(super) fn is_piece(&mut self, stamp: &Stamp<'_>) -> bool {
        let none = self.t.open_serial() == 0;
        if !(none || self.c.given_up) {
            return false;
        }
        self.open(stamp, false);
        if let Some(c) = self.t.current() {
            c.cycle.lines.begun = false;
        }
        true
    }

    /// A line may tell that a callback returned an error, and of whom.
    pub(super) fn returns(&mut self, text: &[u8]) {
        if let Some(said) = returned(text) {
            self.c.core_returned = text::find(text, b"dpm_run_callback(): ").is_some();
            self.c.returned = Some(said);
        }
    }

    /// A wakeup ended the way down, wherever it was: while tasks freeze, the freezer says so.
    pub(super) fn interrupt(&mut self) {
        let step = self.c.lasting.is_some_and(|l| l != Phase::Sync) && self.c.at_most == Ns::MAX;
        if !step {
            self.refuse(self.c.phase.unwrap_or(Phase::Suspend));
        }
    }

    /// A line says that the way down was given up in `phase`.
    pub(super) fn refuse(&mut self, phase: Phase) {
        let now = self.now;
        if self.t.open_serial() == 0 || self.c.woke.is_some() || self.came_up() {
            return;
        }
        match &mut self.c.refusal {
            Some(r) if !r.laid_out => r.at = now,
            Some(_) => {}
            None => self.c.refusal = Some(Refusal { phase, at: now, laid_out: false }),
        }
    }

    /// Where the last step that is known ended.
    pub(super) fn done_until(&mut self) -> Ns {
        let covered = self.c.covered;
        let ends = self.t.current().map(|c| c.cycle.phases.iter().filter(|p| p.complete));
        ends.into_iter().flatten().map(|p| p.end).fold(covered, Ns::max)
    }

    /// Whether the open cycle has frozen tasks, so that it does not begin with that.
    pub(super) fn is_beyond_freezing(&mut self) -> bool {
        let frozen = |p: &PhaseSpan| p.phase == Phase::FreezeUser || p.phase.has_devices();
        self.t.current().is_some_and(|c| c.cycle.phases.iter().any(frozen))
    }

    /// Whether a device phase of the way down is known.
    pub(super) fn went_down(&mut self) -> bool {
        self.t.current().is_some_and(|c| c.cycle.phases.iter().any(|p| p.phase.has_devices()))
    }

    /// Whether a phase of the way up is known.
    pub(super) fn came_up(&mut self) -> bool {
        let up = |p: &PhaseSpan| p.phase.direction() == Direction::Resume && p.phase.has_devices();
        self.t.current().is_some_and(|c| c.cycle.phases.iter().any(up))
    }

    /// The way up begins: what lies between the last step and the refusal is the phase
    /// that refused.
    pub(super) fn turn(&mut self) {
        let Some(r) = self.c.refusal.as_mut().filter(|r| !r.laid_out) else { return };
        r.laid_out = true;
        let Refusal { phase, at, .. } = *r;
        self.end_lasting(at);
        let Some(c) = self.t.current() else { return };
        let down = |p: &&PhaseSpan| p.phase.direction() == Direction::Suspend;
        let from = c.cycle.phases.iter().filter(down).map(|p| p.end).max();
        let from = from.unwrap_or(c.cycle.start);
        c.last = c.last.max(at);
        if c.cycle.callbacks.iter().any(|b| b.phase == phase) {
            self.t.reach(phase, at, at);
        } else if from < at {
            self.unprinted(phase, PmEvent::Suspend, from, at);
        }
    }

    /// Tasks run again: if no line tells of devices on the way up after a refusal, they
    /// came up since.
    pub(super) fn up(&mut self) {
        self.turn();
        let Some(r) = self.c.refusal else { return };
        let now = self.now;
        let called = |p: Phase| p.direction() == Direction::Resume;
        let ran =
            self.t.current().is_some_and(|c| c.cycle.callbacks.iter().any(|b| called(b.phase)));
        // A test of the way down waits before it turns round.
        let from = r.at + self.t.current().map_or(Ns::ZERO, |c| c.told.pm_test_wait);
        if !self.came_up() && !ran && from < now {
            self.unprinted(Phase::Resume, PmEvent::Resume, from, now);
        }
    }

    /// The cycle is over, or its log: a way down that breaks off reaches as far as its
    /// last line.
    pub(super) fn lay_out(&mut self) {
        if self.t.open_serial() == 0 || self.c.serial() != self.t.open_serial() {
            return;
        }
        self.turn();
        let Some(at) = self.c.down.filter(|_| self.c.woke.is_none() && !self.came_up()) else {
            return;
        };
        let Some(c) = self.t.current() else { return };
        let after = |p: &PhaseSpan| p.start >= at || p.phase == Phase::Thaw;
        if c.cycle.phases.iter().any(after) {
            return;
        }
        let phase = if self.c.cpu_from.is_some() { Phase::CpuOff } else { Phase::Noirq };
        self.unprinted(phase, PmEvent::Suspend, at, at);
    }

    /// A phase whose ends no line prints.
    fn unprinted(&mut self, phase: Phase, event: PmEvent, start: Ns, end: Ns) {
        let span = PhaseSpan { phase, event, start, end, cpu: 0, complete: false, printed: None };
        self.t.push_span(span);
    }

    /// A step without an end of its own ends where the refusal of a later one came, at
    /// most; a sync that says that it is done ended then.
    fn end_lasting(&mut self, at: Ns) {
        let Some(phase) = self.c.lasting.filter(|l| *l != Phase::Thaw) else { return };
        let done = self.c.sync_done.filter(|_| phase == Phase::Sync);
        let stamp = Stamp { time: done.unwrap_or(at), pid: 0, comm: b"", cpu: u32::MAX, at: 0 };
        super::steps::end_lasting(self, phase, &stamp);
    }
}

/// Who stands before `…: PM: f(): g returns -16` (drivers/base/power/main.c:
/// __suspend_report_result), and the error.
fn returned(text: &[u8]) -> Option<(Box<[u8]>, i32)> {
    let (owner, rest) = text.split_at(text::find(text, b": PM: ")?);
    let errno = &rest[text::find(rest, b" returns -")? + b" returns ".len()..];
    Some((owner.into(), i32::try_from(number(errno)?).ok()?))
}
