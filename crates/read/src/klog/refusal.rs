//! Ways down that were given up or break off, and what their lines do not say.
//!
//! Few kernels print when a phase began and ended. A device that refuses, a wakeup or
//! a timeout ends the way down with a line of its own (drivers/base/power/main.c:
//! pm_dev_err; kernel/power/suspend.c:suspend_devices_and_enter, suspend_enter, 6.12):
//! what lies before it is the way down, what follows is the way up.

use super::clock::CATCHING_UP;
use super::grain::PAUSE;
use super::held::Refusal;
use super::number::number;
use super::per_cycle::Returned;
use super::phase;
use super::prefix::Record;
use super::stamp;
use super::state::Log;
use crate::event::Stamp;
use crate::text;
use dormouse_base::cycle::{Mode, PhaseSpan};
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;

/// A way up that takes longer hangs, or its log goes on with something else.
pub(super) const LONGEST: Ns = Ns(900_000_000_000);

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
        if !(none || self.c.given_up || self.is_back()) {
            return false;
        }
        let told = (self.c.returned.take(), self.c.core_returned);
        self.open(stamp, false);
        self.sync();
        // What a callback returned stood ahead of the first line that opens an attempt.
        (self.c.returned, self.c.core_returned) = told;
        if let Some(c) = self.t.current() {
            c.cycle.lines.begun = false;
        }
        true
    }

    /// Whether a line that gives a sleep up is the last word of one that a device ended: the
    /// phases that went back are told before it, as a log of a phone's 3.x kernel shows.
    pub(super) fn sums_up(&mut self) -> bool {
        let aborted =
            self.t.current().is_some_and(|c| !c.over && (c.told.aborted || c.failed.is_some()));
        let is = self.t.open_serial() != 0 && aborted && !self.c.given_up && self.is_back();
        self.c.given_up |= is;
        is
    }

    /// What Android's kernels say once more of an attempt that was given up, as tasks run again
    /// (kernel/power/wakeup_reason.c:log_suspend_abort_reason): of no other attempt.
    pub(super) fn is_echo(&mut self, r: &Record<'_>) -> bool {
        if !r.text.strip_prefix(b"PM: ").unwrap_or(r.text).starts_with(b"Abort: ") {
            return false;
        }
        // What is over tells of no other attempt, and a text that begins with it of none.
        let over = self.t.current().is_none_or(|c| c.over || c.told.aborted || c.told.wakeup);
        self.c.given_up || over
    }

    /// A device failed in `phase` of a way up. Whether that is of an attempt of which the text
    /// has no more, because the open one was given up long before.
    pub(super) fn is_of_another(
        &mut self,
        r: &Record<'_>,
        phase: Phase,
        stamp: &Stamp<'_>,
    ) -> bool {
        const LONG: i64 = 900;
        let open = self.c.serial() != 0 && self.c.serial() == self.t.open_serial();
        let last = self.c.second.filter(|_| open).map(|s| s.1);
        let passed = stamp::order_of(r.said).zip(last).is_some_and(|(a, b)| a.1 - b > LONG);
        if !passed || !self.t.current().is_some_and(|c| c.told.aborted) {
            return false;
        }
        self.open(stamp, false);
        self.sync();
        self.unprinted(phase, PmEvent::Resume, self.now, self.now);
        true
    }

    /// Whether devices of the open cycle came back, so that what gives a way down up is of the
    /// next. A turn of s2idle goes down again after noirq, and a hibernation after its image.
    fn is_back(&mut self) -> bool {
        let Some(c) = self.t.current().filter(|c| c.cycle.mode != Mode::Disk) else { return false };
        let turns = c.cycle.mode == Mode::S2idle;
        let up = |p: &PhaseSpan| {
            p.complete && p.phase.has_devices() && p.phase.direction() == Direction::Resume
        };
        c.cycle.phases.iter().any(|p| up(p) && (!turns || p.phase == Phase::Resume))
    }

    /// The core gives the way down up. A callback returned an error just before: if no line says
    /// which device that was of, that one does.
    pub(super) fn blame(&mut self) {
        let told = self.c.refusal.is_some() || !self.c.core_returned;
        if let Some((owner, errno)) = self.c.returned.take_if(|_| !told) {
            self.t.note_failure(&super::steps::key_of(&owner), errno, self.now);
        }
    }

    /// A line may tell that a callback returned an error, and of whom. The core says it of both
    /// ways in the same words (drivers/base/power/main.c:dpm_run_callback), and only the name of
    /// the callback tells them apart: none of the way up ends a sleep.
    pub(super) fn returns(&mut self, text: &[u8]) {
        let Some((said, function)) = returned(text) else { return };
        let up = phase::told(function).0 == Some(Direction::Resume);
        self.c.core_returned = text::find(text, b"dpm_run_callback(): ").is_some();
        self.c.returned = (!up).then_some(said);
    }

    /// A wakeup ended the way down, wherever it was: while tasks freeze, the freezer says so.
    pub(super) fn interrupt(&mut self) {
        // A sync whose one line says that it is done ended nobody knows when: by now at latest.
        if self.c.lasting == Some(Phase::Sync) {
            let stamp = Stamp { time: self.now, pid: 0, comm: b"", cpu: u32::MAX, at: 0 };
            super::steps::end_lasting(self, Phase::Sync, &stamp);
            let span = self.t.current().and_then(|c| c.cycle.phases.last_mut());
            if let Some(span) = span.filter(|s| s.phase == Phase::Sync) {
                span.complete = false;
            }
        }
        let step = self.c.lasting.is_some_and(|l| l != Phase::Sync) && self.c.at_most == Ns::MAX;
        if !step {
            self.refuse(self.c.phase.unwrap_or(Phase::Suspend));
        }
    }

    /// What passed between the last line of the way down and this one, by stamps of whole seconds
    /// where no line has a better time. It may be a second more or less: one alone may be none.
    fn waited(&self) -> Ns {
        let (Some((year, second)), Some((other, last))) = (self.place.second, self.c.second) else {
            return Ns::ZERO;
        };
        let passed = Ns::from_ms((second - last).saturating_mul(1_000));
        let told = year == other && passed > PAUSE && passed < LONGEST;
        if told { passed } else { Ns::ZERO }
    }

    /// A line says that the way down was given up in `phase`.
    pub(super) fn refuse(&mut self, phase: Phase) {
        if self.t.open_serial() == 0 || self.c.woke.is_some() || self.came_up() {
            return;
        }
        if self.c.refusal.is_none() {
            self.now += self.waited();
        }
        let now = self.now;
        match &mut self.c.refusal {
            Some(r) if !r.laid_out => r.at = now,
            Some(_) => {}
            None => self.c.refusal = Some(Refusal { phase, at: now, laid_out: false }),
        }
    }

    /// `noirq suspend of devices failed`: the core says so when those that were down are back
    /// (kernel/power/suspend.c:suspend_enter behind drivers/base/power/main.c:
    /// dpm_suspend_noirq, dpm_suspend_late, 3.0 to 7.3). What passed since the device refused
    /// is of the way up.
    pub(super) fn step_failed(&mut self, phase: Phase) {
        let back = match phase {
            Phase::Noirq => Phase::ResumeNoirq,
            Phase::Late => Phase::ResumeEarly,
            _ => return self.refuse(phase),
        };
        let now = self.now;
        // Where no line began a phase, this one tells which it was.
        let guessed = self.c.phase.is_none();
        if let Some(r) = self.c.refusal.as_mut().filter(|r| guessed && !r.laid_out) {
            r.phase = phase;
        }
        let known = self.c.refusal.filter(|r| r.phase == phase && !r.laid_out && self.timed);
        let Some(r) = known.filter(|r| r.at < now && !self.came_up()) else {
            return self.refuse(phase);
        };
        self.turn();
        self.unprinted(back, PmEvent::Resume, r.at, now);
        self.c.covered = now;
        self.enter(super::phase::after(back, false));
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

    /// A cycle was entered and is not beyond its sync.
    pub(crate) fn is_entered(&mut self) -> bool {
        let open = self.t.in_whole_cycle();
        let begun = self.t.current().filter(|_| open);
        begun.is_some_and(|c| c.cycle.phases.iter().all(|p| p.phase == Phase::Sync))
    }

    /// `suspend-to-idle`, the last that the core says on its way down.
    pub(super) fn idles(&mut self, stamp: &Stamp<'_>) {
        // A text may begin there, and people leave out what stands between two sleeps.
        if self.idles_anew() {
            self.open(stamp, false);
            self.sync();
        }
        let frozen = |p: &PhaseSpan| matches!(p.phase, Phase::FreezeUser | Phase::FreezeKernel);
        let told = self.t.current().is_none_or(|c| c.cycle.phases.iter().any(frozen));
        if !told && self.c.lasting.is_none() {
            // Somebody left out the lines that tell when tasks froze.
            self.freezing_begins();
        }
    }

    /// Whether it is of a sleep that is not open: the one that is has woken, and its text
    /// has no beginning (kernel/power/suspend.c:s2idle_loop says it once a sleep).
    fn idles_anew(&mut self) -> bool {
        if self.t.open_serial() == 0 {
            return !self.reads_image;
        }
        let woken = self.c.serial() == self.t.open_serial() && self.c.woke.is_some();
        woken && self.t.current().is_some_and(|c| !c.whole && !c.cycle.lines.begun)
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
        // Where no line tells the phases apart, the first of them begins what was given up.
        let of_devices = |p: Phase| p.has_devices() && p.direction() == Direction::Suspend;
        let alone = matches!(phase, Phase::Late | Phase::Noirq)
            && !c.cycle.phases.iter().any(|p| of_devices(p.phase))
            && !c.cycle.callbacks.iter().any(|b| of_devices(b.phase));
        if c.cycle.callbacks.iter().any(|b| b.phase == phase) {
            self.t.reach(phase, at, at);
        } else if from < at {
            let phase = if alone { Phase::Suspend } else { phase };
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
        let up = |p: &&PhaseSpan| p.phase.direction() == Direction::Resume;
        let spans = self.t.current().map(|c| &c.cycle.phases).into_iter().flatten().filter(up);
        let (from, printed) =
            spans.fold((from, false), |(from, any), p| (from.max(p.end), any | p.complete));
        if !printed && !ran && from < now {
            self.unprinted(Phase::Resume, PmEvent::Resume, from, now);
        }
    }

    /// The cycle is over, or its log: a way down that breaks off reaches as far as its
    /// last line.
    pub(super) fn lay_out(&mut self) {
        if self.t.open_serial() == 0 || self.c.serial() != self.t.open_serial() {
            return;
        }
        self.breaks_down();
        self.turn();
        self.break_off();
        let untold = self.c.woke.is_none() && !self.c.missed && !self.came_up();
        let Some(at) = self.c.down.filter(|_| untold) else { return };
        let Some(c) = self.t.current() else { return };
        let after = |p: &PhaseSpan| p.start >= at || p.phase == Phase::Thaw;
        if c.cycle.phases.iter().any(after) {
            return;
        }
        let phase = if self.c.cpu_from.is_some() { Phase::CpuOff } else { Phase::Noirq };
        self.unprinted(phase, PmEvent::Suspend, at, at);
    }

    /// The attempt is over, and of its phases no line tells: each half lasted at least from its
    /// own end to where the embedded controller was silenced or woken, which is inside the noirq
    /// phases (drivers/acpi/ec.c:acpi_ec_suspend_noirq, acpi_ec_resume_noirq, 4.17 to 7.3).
    pub(super) fn bound_by_controller(&mut self) {
        let (Some(from), Some(to)) = self.c.quiet else { return };
        // A keeper who was frozen writes both as he thaws, which tells of no time.
        if self.now > Ns::CALENDAR && to - from <= CATCHING_UP {
            return;
        }
        super::steps::quiet_sleep(self);
        if self.c.woke != Some(to) {
            return;
        }
        let Some(c) = self.t.current() else { return };
        let has = |d: Direction| {
            c.cycle.phases.iter().any(|p| p.phase != Phase::Asleep && p.phase.direction() == d)
        };
        let (down, up) = (has(Direction::Suspend), has(Direction::Resume));
        let (start, now) = (c.cycle.start, self.now);
        // Where no line tells the phases apart, the first of them stands for all, as behind a
        // refusal.
        if !down && start < from {
            self.unprinted(Phase::Suspend, PmEvent::Suspend, start, from);
        }
        if !up && to < now {
            self.unprinted(Phase::Resume, PmEvent::Resume, to, now);
        }
    }

    /// A way up of devices that breaks off reaches as far as its last line, where callbacks of
    /// their own do not tell.
    fn break_off(&mut self) {
        let (from, to) = (self.c.covered, self.c.last_known);
        let up = self.c.phase.filter(|p| p.has_devices() && p.direction() == Direction::Resume);
        // No phase takes so long: that is another time.
        let near = from < to && to < from + LONGEST;
        let Some(phase) = up.filter(|_| self.timed && from > Ns::ZERO && near) else { return };
        let Some(c) = self.t.current().filter(|c| !c.over && c.cycle.callbacks.is_empty()) else {
            return;
        };
        let told = |p: &PhaseSpan| p.phase == phase || p.phase == Phase::Thaw;
        let went = c.cycle.phases.iter().any(|p| p.phase.direction() == Direction::Resume);
        if went && c.cycle.mode != Mode::Disk && !c.cycle.phases.iter().any(told) {
            self.unprinted(phase, PmEvent::Resume, from, to);
        }
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
/// __suspend_report_result), with the error, and the callback.
fn returned(text: &[u8]) -> Option<(Returned, &[u8])> {
    let (owner, rest) = text.split_at(text::find(text, b": PM: ")?);
    let (function, rest) = rest.split_at(text::find(rest, b" returns -")?);
    let errno = i32::try_from(number(&rest[b" returns ".len()..])?).ok()?;
    let function = text::rfind(function, b"): ").map_or(function, |at| &function[at + 3..]);
    Some(((owner.into(), errno), function))
}
