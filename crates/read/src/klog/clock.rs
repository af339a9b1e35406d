//! The clock of a log inside an attempt: stamps that jump, stand or leave no room for
//! what the kernel measured.
//!
//! A duration that the kernel prints is a measurement. A stamp may be that of a keeper
//! who was frozen himself, or of a wall clock that somebody set (journald,
//! src/journal/journald-kmsg.c: what was printed while it was frozen has the time of its
//! thaw). So a stamp that contradicts a measurement is moved, with all that follow it
//! in the attempt.

use super::grain::{PAUSE, PRINTING};
use super::marks;
use super::number::seconds;
use super::phase;
use super::prefix::Record;
use super::stamp;
use super::state::Log;
use super::steps::settle;
use crate::event::Stamp;
use crate::text;
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::image::ImageWork;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

const HOUR: i64 = 3_600_000_000_000;

/// Beside whole hours so much time may have passed between two lines of an attempt.
const BESIDE: i64 = 60_000_000_000;

/// A keeper who was not frozen wrote each line within this time.
const KEEPING: Ns = Ns::from_ms(50);

/// A difference of two clocks that is less may be that of whole seconds and of a keeper who
/// writes late.
const STOOD: Ns = Ns::from_ms(3_000);

/// One that is more is of a clock that was set: a month.
const SET: Ns = Ns(30 * 24 * HOUR);

/// A keeper who was frozen writes what he missed within this time. Devices of a machine
/// need longer to go down and come back.
pub(super) const CATCHING_UP: Ns = Ns::from_ms(100);

/// From the image that was read to the line behind it a kernel needs less: stopping devices
/// and copying pages prints lines. More is between two clocks. Chosen, not measured.
const FROZEN: Ns = Ns(60_000_000_000);

/// A keeper who was frozen writes one line after another within this time.
const BURST: Ns = Ns::from_ms(1_000);

/// How long the clock stood still, by the line that says so as it goes on
/// (kernel/time/timekeeping_debug.c:tk_debug_account_sleep_time, 3.10 to 7.3).
fn slept(text: &[u8]) -> Option<Ns> {
    const WORDS: [&[u8]; 2] = [b"Timekeeping suspended for ", b"Suspended for "];
    let at = |w: &&[u8]| text::find(text, w).map(|at| at + w.len());
    seconds(&text[WORDS.iter().find_map(at)?..])
}

/// Whole hours that a clock was set on or back by `step`: summer time, or another zone.
fn hours(step: Ns) -> Option<Ns> {
    let count = step.0.saturating_add(HOUR / 2).div_euclid(HOUR);
    let set = Ns(count.saturating_mul(HOUR));
    let known = count != 0 && count.abs() <= 26 && (0..=BESIDE).contains(&(step - set).0);
    known.then_some(set)
}

/// Whether a line is of the way down, or of something that began before it: it is never the
/// first behind a sleep.
fn is_of_the_way_down(text: &[u8]) -> bool {
    const DOWN: [&[u8]; 17] = [
        b"Filesystems sync: ",
        b"Syncing filesystems",
        b"Freezing ",
        b"OOM killer disabled",
        b"Suspending console",
        b"suspend of devices ",
        b"suspend devices took ",
        b"Preparing to enter system sleep",
        b"Disabling non-boot CPUs",
        b" is now offline",
        b" killed (polled ",
        b"EC: interrupt blocked",
        b"reallocating image memory",
        b"Allocated ",
        b"Creating image",
        b"Need to copy ",
        // A callback that ends has run since the line before, or longer.
        b" returned ",
    ];
    // A callback of the way down begins.
    let called = || {
        let at = text::find(text, b"calling ")? + b"calling ".len();
        phase::told(text[at..].split(|b| matches!(b, b' ' | b'+')).next()?).0
    };
    DOWN.iter().any(|d| text::find(text, d).is_some())
        || text == b"PM: suspend-to-idle"
        || text.starts_with(b"CPU") && text.ends_with(b" is up")
        || called() == Some(Direction::Suspend)
}

impl Log<'_> {
    /// A line has the stamp `time`.
    pub(super) fn stamped(&mut self, time: Ns, text: &[u8], at: u64) {
        let open = self.t.open_serial() != 0 && self.c.serial() == self.t.open_serial();
        if !open && self.skew != Ns::ZERO {
            // Another attempt goes by the stamps again.
            let by = std::mem::take(&mut self.skew);
            self.c.late = by;
            self.now -= by;
            self.clocks.iter_mut().flatten().for_each(|c| *c -= by);
        }
        let calendar = time > Ns::CALENDAR;
        let below = at == std::mem::replace(&mut self.place.stamped, at) + 1;
        let mut time = time + self.skew;
        // A clock of the calendar may fall to that of 1970.
        let fallen = open && !calendar && self.clocks[0].is_none() && self.clocks[1].is_some();
        let fell = fallen && self.goes_on(below, text);
        let last = match self.clocks[usize::from(calendar || fell)] {
            Some(_) if (self.now > Ns::CALENDAR) == calendar => Some(self.now),
            last => last,
        };
        // What a program prints by the calendar between lines of the kernel.
        let beside = calendar && self.clocks[0].is_some();
        if open && !self.c.timed() && !beside {
            // Where its first lines stand on the clock nobody knew until now.
            let by = time - self.now;
            self.t.shift_open(Ns::MAX, by);
            self.c.shift(by);
        } else if let Some(last) = last.filter(|_| self.was_timed) {
            // What stood still is printed as it is over.
            let apart = (time - last).0.abs() > BURST.0;
            let slept = if apart { slept(text) } else { None };
            let step = time - last - slept.unwrap_or(Ns::ZERO);
            let set = hours(step).filter(|_| open && calendar && !beside);
            if !calendar && time - last > FROZEN && self.has_read_an_image() {
                // The clock of the kernel that wrote the image goes on where it stopped.
                self.skew -= time - last;
                time = last;
            } else if let Some(by) =
                set.filter(|by| *by < Ns::ZERO || slept.is_some() || self.is_awake(text))
            {
                self.skew -= by;
                time -= by;
                self.is_set(by, time);
            } else if time + PAUSE < last
                && (fell || open && calendar && !beside && self.goes_on(below, text))
            {
                // Somebody set the clock back.
                self.skew += last - time;
                time = last;
            } else if time + PAUSE < last {
                // The first stamp that a kernel has.
                if time == Ns::ZERO {
                    self.boot()
                } else {
                    self.jump_back(at)
                }
                self.clocks = [None; 2];
            }
        }
        self.clocks[usize::from(calendar)] = Some(time);
        if !beside {
            self.now = time;
        }
    }

    /// The clock was set on by `by`, before a line of `time`. Before tasks are known to be frozen
    /// its keeper may have been frozen with them instead: he writes the rest at once.
    fn is_set(&mut self, by: Ns, time: Ns) {
        let frozen = |p: &PhaseSpan| !matches!(p.phase, Phase::Sync | Phase::Freeze);
        match self.t.current() {
            Some(c) if c.cycle.phases.iter().any(frozen) => c.cycle.clock_set += by,
            _ => self.c.set_on = Some((by, time)),
        }
    }

    /// Whether the clock was set, as the cycle ends.
    pub(super) fn settle_set(&mut self) {
        const REST: Ns = Ns(2_000_000_000);
        let Some((by, time)) = self.c.set_on.take() else { return };
        let rest = self.now - time;
        if let Some(c) = self.t.current().filter(|_| rest >= REST) {
            c.cycle.clock_set += by;
        }
    }

    /// Whether a line tells of the next step of the same attempt, right below the line before: nobody
    /// put two texts together there.
    fn goes_on(&self, below: bool, text: &[u8]) -> bool {
        below && marks::way(text).is_some_and(|way| self.place.way.is_some_and(|far| way > far))
    }

    /// Whether the open cycle is that of a kernel that has read an image.
    fn has_read_an_image(&mut self) -> bool {
        let read = |c: &Cycle| c.reads_image && c.image.iter().any(|s| s.work == ImageWork::Read);
        self.t.current().is_some_and(|c| read(&c.cycle))
    }

    /// Whether the machine was awake all the time before a line: only the way down prints
    /// it, or the way up has begun.
    fn is_awake(&mut self, text: &[u8]) -> bool {
        // The embedded controller is let go of as devices resume (noirq), and until it is held
        // again nothing sleeps (drivers/acpi/ec.c:acpi_ec_resume_noirq).
        let let_go = self.c.quiet.1.is_some_and(|up| self.c.quiet.0.is_none_or(|down| down < up));
        // The other CPUs come up, or the core has left its loop.
        let back = self.c.woke.is_some_and(|woke| match self.c.cpu_from {
            Some(cpus) => cpus >= woke,
            None => self.c.idle_from.is_none(),
        });
        let cpu_on = |p: &PhaseSpan| p.phase == Phase::CpuOn;
        let cpus_on = self.t.current().is_some_and(|c| c.cycle.phases.iter().any(cpu_on));
        let is_up = let_go || back || cpus_on || self.came_up();
        is_of_the_way_down(text) || is_up || self.c.lasting == Some(Phase::Thaw)
    }

    /// What began at `from` and ends now took `took`, says the kernel: if the stamps leave
    /// less room, they are early.
    pub(super) fn make_room(&mut self, from: Ns, took: Ns, within: Ns) {
        let by = from + took - self.now;
        if self.timed && by > within {
            self.skew += by;
            self.now += by;
        }
    }

    /// What began at `from` and ends now took `took`: if the stamps of a keeper say more,
    /// he was frozen meanwhile.
    pub(super) fn close_up(&mut self, from: Ns, took: Ns) {
        self.make_room(from, took, PRINTING);
        let by = self.now - from - took;
        if self.timed && self.now > Ns::CALENDAR && by > KEEPING {
            self.skew -= by;
            self.now -= by;
            self.c.closed += by;
        }
    }

    /// The way down goes on, which ends the step that lasts. Where no line says how long the
    /// freezing of user space took, by stamps of a keeper, whom it froze too, what passed may
    /// be the whole sleep.
    pub(super) fn settle_frozen(&mut self, stamp: &Stamp<'_>) {
        let from = self.c.lasting_from;
        let waits = self.c.lasting == Some(Phase::FreezeUser) && self.c.at_most == Ns::MAX;
        let long = waits && self.timed && self.now > Ns::CALENDAR && self.now - from > PAUSE;
        if long {
            self.close_up(from, Ns::ZERO);
        }
        settle(self, stamp);
        let span = self.t.current().and_then(|c| c.cycle.phases.last_mut());
        if let Some(span) = span.filter(|_| long) {
            span.complete = false;
        }
    }

    /// The kernel's clock stands in a deep sleep, and that of whoever keeps the log goes on:
    /// so much more of it has passed as tasks run again than since the attempt began.
    pub(super) fn stood_still(&mut self, r: &Record<'_>) {
        let (Some(time), Some(began)) = (r.time.filter(|_| !r.beside.is_empty()), self.c.ahead)
        else {
            if let Some(time) = r.time {
                self.c.ahead = stamp::kept(r.beside).map(|kept| kept - time);
            }
            return;
        };
        let thaws = self.c.lasting == Some(Phase::Thaw);
        let up = self.came_up() || self.c.finishing;
        let Some(c) = self.t.current().filter(|c| thaws || c.over || up) else { return };
        let thaws = thaws || c.over;
        let told = &c.told;
        let ended = told.aborted || told.wakeup || told.pm_test || told.freeze_failed.is_some();
        let Some(kept) = stamp::kept(r.beside).filter(|_| !ended) else { return };
        let stood = kept - time - began;
        if (STOOD..SET).contains(&stood) && c.cycle.asleep_elsewhere.is_none() {
            if thaws {
                c.cycle.asleep_elsewhere = Some(stood);
            } else {
                // A keeper who was frozen writes all of it as he thaws: the last line tells.
                self.c.stood = Some(stood);
            }
        }
    }

    /// The same of an attempt of which no line tells that tasks run again.
    pub(super) fn stood_by_the_way_up(&mut self) {
        let stood = self.c.stood.take();
        if let Some((stood, c)) = stood.zip(self.t.current()) {
            c.cycle.asleep_elsewhere.get_or_insert(stood);
        }
    }

    /// Freezing begins, by a stamp of the calendar.
    pub(super) fn freezing_begins(&mut self) {
        let calendar = self.timed && self.now > Ns::CALENDAR;
        self.c.freezing = calendar.then_some((self.now - self.skew, self.now));
    }

    /// Whether all from the freezing of tasks to here came at once.
    pub(super) fn came_at_once(&self) -> bool {
        // A line below the log has no stamp: what counts is the last that has one.
        let within = |(stamp, _)| self.now - self.skew <= stamp + self.c.closed + CATCHING_UP;
        self.c.freezing.is_some_and(within)
    }

    /// Tasks run again, or the log ends. If all from their freezing to here came at once, the
    /// keeper was frozen before he wrote of it, and the sleep lies in the pause before that:
    /// it is no step of the kernel, and no later step has times.
    pub(super) fn caught_up(&mut self) {
        let at_once = self.came_at_once();
        let Some((_, from)) = self.c.freezing.take() else { return };
        let closed = std::mem::take(&mut self.c.closed);
        if !at_once && closed <= PAUSE {
            return self.caught_up_late(from);
        }
        self.c.missed = closed > PAUSE;
        let Some(c) = self.t.current().filter(|c| !c.told.wakeup && !c.told.aborted) else {
            return;
        };
        if c.told.pm_test || c.told.image_failed || c.told.freeze_failed.is_some() {
            return;
        }
        if at_once {
            // The keeper may have written of the entry alone before he was frozen.
            let earlier = c.cycle.phases.iter().filter(|p| p.start < from && p.end <= from);
            let mut ends =
                earlier.map(|p| (p.start, p.end)).chain([(from, from)]).collect::<Vec<_>>();
            ends.sort_unstable();
            let (mut until, mut before, mut pause) = (c.cycle.start, c.cycle.start, Ns::ZERO);
            for (start, end) in ends {
                if start - until > pause {
                    (before, pause) = (until, start - until);
                }
                until = until.max(end);
            }
            if pause > PAUSE {
                if (STOOD..SET).contains(&pause) && c.cycle.asleep_elsewhere.is_none() {
                    c.cycle.asleep_elsewhere = Some(pause);
                }
                self.move_on(before, pause);
                self.c.missed = true;
                return;
            }
        }
        if closed > PAUSE {
            self.frozen_with_tasks(closed);
        }
    }

    /// The keeper wrote of the freezing too before he was frozen, and of all the rest at once: the
    /// sleep lies in the pause before that.
    fn caught_up_late(&mut self, from: Ns) {
        let now = self.now;
        // What the embedded controller tells of the sleep is laid out later.
        let quiet = self.c.quiet.0.zip(self.c.quiet.1).filter(|q| q.1 <= now);
        let Some(c) = self.t.current().filter(|c| !c.told.wakeup && !c.told.aborted) else {
            return;
        };
        let told = c.told.pm_test || c.told.image_failed || c.told.freeze_failed.is_some();
        if told || c.cycle.asleep_elsewhere.is_some() {
            return;
        }
        let known = |p: &&PhaseSpan| p.complete || p.phase == Phase::Asleep;
        let step = |p: &&PhaseSpan| p.end <= now && known(p) && p.printed.is_none();
        let mut steps: Vec<(Ns, Ns)> =
            c.cycle.phases.iter().filter(step).map(|p| (p.start, p.end)).collect();
        if steps.len() < c.cycle.phases.iter().filter(|p| p.end <= now).count() {
            return;
        }
        steps.extend(quiet);
        steps.sort_unstable();
        let up = |p: &PhaseSpan| match p.phase {
            Phase::Asleep => Some(p.end),
            of => (of.direction() == Direction::Resume).then_some(p.start),
        };
        let back = c.cycle.phases.iter().filter_map(up).chain(quiet.map(|q| q.1));
        let back = back.filter(|b| *b <= now).min();
        let mut until = from;
        for (start, end) in steps {
            let pause = start - until;
            // Or the end of the way down and the begin of the way up came at once, behind a pause
            // that is longer than devices take.
            let turned = |b: Ns| b >= start && b - start <= CATCHING_UP && pause >= FROZEN;
            let at_once = now - start <= CATCHING_UP || back.is_some_and(turned);
            if (STOOD..SET).contains(&pause) && at_once {
                c.cycle.asleep_elsewhere = Some(pause);
                c.cycle.phases.retain(|p| p.phase != Phase::Asleep);
                self.move_on(until, pause);
                self.c.missed = true;
                return;
            }
            until = until.max(end);
        }
    }

    /// What lies at `until` or before comes later by `by`, and the beginning keeps its stamp.
    fn move_on(&mut self, until: Ns, by: Ns) {
        self.t.shift_open(until, by);
        if let Some(c) = self.t.current().filter(|c| c.cycle.start <= until + by) {
            c.cycle.moved += by;
        }
    }

    /// The keeper was frozen with the first tasks, for `closed`: devices and the sleep lie in
    /// that time, of which the stamps show no more. It stands where the two ways meet.
    fn frozen_with_tasks(&mut self, closed: Ns) {
        let now = self.now;
        let Some(c) = self.t.current() else { return };
        let phases = &mut c.cycle.phases;
        let froze = |p: &&PhaseSpan| matches!(p.phase, Phase::FreezeUser | Phase::FreezeKernel);
        let Some(frozen) = phases.iter().filter(froze).map(|p| p.end).max() else { return };
        // What the kernel measured behind the freezing is laid out by that.
        let measured = |p: &&PhaseSpan| p.printed.is_some() && p.end > frozen;
        let laid_out = phases.iter().filter(measured).map(PhaseSpan::duration).sum::<Ns>();
        let down = |p: &&PhaseSpan| {
            let known = p.complete || froze(p);
            p.phase.direction() == Direction::Suspend && p.phase != Phase::Asleep && known
        };
        let mut from = phases.iter().filter(down).map(|p| p.end).max().unwrap_or(frozen);
        if laid_out == Ns::ZERO {
            // Nobody knows what of it is the sleep.
            phases.retain(|p| p.phase != Phase::Asleep);
        } else if let Some(asleep) = phases.iter().find(|p| p.phase == Phase::Asleep) {
            from = asleep.start;
        }
        if closed > laid_out && from <= now {
            self.move_on(from, laid_out - closed);
            self.t.touch(&Stamp { time: now, pid: 0, comm: b"", cpu: u32::MAX, at: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_hours_of_a_step_are_those_of_a_day_at_most() {
        let step = |s: i64| hours(Ns(s * 1_000_000_000)).map(|h| h.0 / HOUR);
        assert_eq!(
            [3_601, -7_200, 1_800, 0, 27 * 3_600].map(step),
            [Some(1), Some(-2), None, None, None]
        );
        assert_eq!([Ns(i64::MAX), Ns(i64::MIN), Ns(i64::MIN + 1)].map(hours), [None; 3]);
    }

    #[test]
    fn clocks_are_set_by_whole_hours() {
        let s = |n: i64| Ns(n * 1_000_000_000);
        assert_eq!(hours(s(3_600)), Some(s(3_600)));
        assert_eq!(hours(s(3_603)), Some(s(3_600)));
        assert_eq!(hours(s(-3_599)), Some(s(-3_600)));
        assert_eq!(hours(s(-7_150)), Some(s(-7_200)));
        assert_eq!(hours(s(59)), None);
        assert_eq!(hours(s(1_800)), None);
        assert_eq!(hours(s(-1_500)), None);
        assert_eq!(hours(s(40 * 3_600)), None);
    }
}
