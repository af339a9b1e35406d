//! Where in a cycle the log is, and the callbacks it names.

use super::calls::{self, Form, Line};
use super::grain::{LAST_DIGIT, PAUSE};
use super::held::{Loose, Place, Restore};
use super::marks;
use super::per_cycle::{OpenCall, PerCycle};
use super::phase;
use super::prefix::{self, Record};
use super::stamp;
use crate::event::Stamp;
use crate::track::{Call, DeviceKey, Tracker};
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Began, Cycle, Mode, PhaseSpan};
use dormouse_base::loss::Severity;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;
use std::collections::HashSet;

/// Callbacks of one device that have not ended; more are damage.
const MAX_OPEN: usize = 8;

/// State while a log is read.
pub(super) struct Log<'t> {
    pub t: &'t mut Tracker,
    /// Kernel version, if known.
    pub(super) version: Option<(u32, u32)>,
    /// Durations were read in units of 1,024 ns.
    pub(super) shifted: bool,
    /// The log itself shows that its kernel prints microseconds.
    pub(super) micro: bool,
    /// Time of the last line; without time stamps, the sum of durations.
    pub now: Ns,
    /// The line has a time.
    pub timed: bool,
    untimed: u64,
    first_untimed: u64,
    /// Some line of the log had a time.
    ever_timed: bool,
    /// The line before had a time.
    pub(super) was_timed: bool,
    /// What stamps of the open cycle are wrong by.
    pub(super) skew: Ns,
    /// Where the last lines stand.
    pub(super) place: Place,
    /// The last time of the kernel's clock and of the calendar: programs that print
    /// between kernel lines may have the other one.
    pub(super) clocks: [Option<Ns>; 2],
    /// A second writer's attempt is refused while the first one goes on
    /// (kernel/power/suspend.c:enter_state).
    pub refused: bool,
    /// Lines of begin and end of such attempts.
    pub refusals: Vec<(u64, u64)>,
    /// The state that was asked for last, `Deep` where that was `mem`.
    pub asked: Option<Mode>,
    /// When an attempt began that was given up while its data was written: the sync goes
    /// on.
    pub unsynced: Option<Ns>,
    /// Another kernel reads the image of the open cycle.
    pub(super) restore: Option<Restore>,
    /// The logs of the source so far: how each says when its first cycle began.
    pub(super) logs: Vec<When>,
    /// How the cycle before this one said it, and the line of the first log but one.
    pub(super) when: Option<When>,
    second_log: u64,
    /// A sentence that is no message stands after cycle `.0`, in line `.1`.
    pub(super) prose: Option<(u64, u64)>,
    /// The last heading that parts measurements.
    pub(super) border: Option<Box<str>>,
    /// Ends of callbacks whose begin did not come.
    pub(super) loose: Vec<Loose>,
    /// `calling` lines since those were looked at last.
    pub(super) called: u64,
    /// The last line is a callback that breaks off, or may be one.
    pub(super) cut: bool,
    /// The kernel reads an image of hibernation (kernel/power/hibernate.c:
    /// software_resume): what it freezes for that belongs to no way down.
    pub reads_image: bool,
    /// Ends of phases that were read, by their time.
    pub(super) ends: HashSet<(Ns, Box<[u8]>)>,
    /// What belongs to the open cycle only.
    pub c: PerCycle,
}

/// How the first line of a cycle says when it was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// By a time stamp.
    Stamp,
    /// In words: whether they name the year, and their order.
    Words(bool, i64),
    /// Not at all.
    Nothing,
}

impl<'t> Log<'t> {
    pub(super) fn new(t: &'t mut Tracker) -> Log<'t> {
        Log {
            t,
            version: None,
            shifted: false,
            micro: false,
            now: Ns::ZERO,
            timed: false,
            untimed: 0,
            first_untimed: 0,
            ever_timed: false,
            prose: None,
            border: None,
            was_timed: false,
            skew: Ns::ZERO,
            place: Place::default(),
            clocks: [None; 2],
            refused: false,
            refusals: Vec::new(),
            asked: None,
            unsynced: None,
            restore: None,
            logs: Vec::new(),
            when: None,
            second_log: 0,
            loose: Vec::new(),
            called: 0,
            cut: false,
            reads_image: false,
            ends: HashSet::new(),
            c: PerCycle::default(),
        }
    }

    /// The kernel release, such as `6.1.0-47-amd64`.
    pub(crate) fn set_version(&mut self, release: &[u8]) {
        let mut parts = release.split(|b| !b.is_ascii_digit());
        let mut next = || parts.next().and_then(|p| std::str::from_utf8(p).ok()?.parse().ok());
        if let (Some(major), Some(minor)) = (next(), next()) {
            self.version = Some((major, minor));
        }
    }

    /// One line; whether it meant anything.
    pub(super) fn line(&mut self, r: &Record<'_>, at: u64) -> bool {
        if let Some(known) = self.restoring(r) {
            self.cut = calls::of(r) == Some(Line::Cut);
            return known;
        }
        if self.is_pasted_again(r) || self.is_echo(r) {
            return false;
        }
        self.timed = r.time.is_some();
        if let Some(time) = r.time {
            self.stamped(time, r.text, at);
        }
        // Prose between two excerpts has no time either.
        self.was_timed |= self.timed;
        self.ever_timed |= self.timed;
        let newest = |log: &mut Self| log.t.current().map_or(0, |c| c.serial);
        let (before, last) = (self.t.open_serial(), newest(self));
        self.place.second = stamp::order_of(r.said).filter(|_| !self.timed);
        let known = self.meaning(r, at);
        // What a report names is no step of the core.
        let step = || marks::way(r.text).is_some() || r.has(b"calling ") || r.has(b" returned ");
        if known && step() {
            self.c.died = None;
        }
        let open = self.t.open_serial();
        // The line that ends a sleep may be the first of it in the text.
        let alone = open == 0 && newest(self) > last;
        if known && (before.max(open) != 0 || alone) {
            self.place(r, at);
        }
        self.sync();
        self.c.timed |= self.timed;
        if open != before && open != 0 || alone {
            self.began(r, at);
        }
        known
    }

    /// A line of the cycle that is open, or was until now.
    fn place(&mut self, r: &Record<'_>, at: u64) {
        let Some(c) = self.t.current() else { return };
        let lines = &mut c.cycle.lines;
        lines.first = if lines.first == 0 { at } else { lines.first };
        lines.last = at;
        self.c.last_known = self.now;
        self.c.second = stamp::order_of(r.said).or(self.c.second);
        let (over, empty, serial) = (c.over, c.cycle.callbacks.is_empty(), c.serial);
        if self.c.serial != serial {
            self.sync();
        }
        self.c.known += 1;
        self.c.logged |= r.fresh;
        self.stood_still(r);
        if over && empty && self.c.is_quote() && !self.is_pair() {
            self.t.drop_cycle();
        }
    }

    /// Entry and exit one below the other, which nobody types so: somebody looked for these.
    fn is_pair(&mut self) -> bool {
        self.t.current().is_some_and(|c| {
            let lines = c.cycle.lines;
            c.over && c.whole && lines.last == lines.first + 1
        })
    }

    /// A cycle began with `r`: how does it say when, and is that another log?
    fn began(&mut self, r: &Record<'_>, at: u64) {
        if let Some(mode) = self.asked.take_if(|m| *m != Mode::Deep) {
            self.is_of(mode);
        }
        let when = match (r.time, stamp::order_of(r.said)) {
            (Some(_), _) if r.since.is_some() => When::Nothing,
            (Some(_), _) => When::Stamp,
            (None, Some((year, order))) => When::Words(year, order),
            (None, None) => When::Nothing,
        };
        let another = match (self.when, when) {
            (None, _) => true,
            (Some(When::Words(y, a)), When::Words(z, b)) => {
                // Without the year, December comes before January.
                y != z || b < a && (y || a - b < 200 * 86_400)
            }
            (Some(a), b) => a != b && a != When::Nothing && b != When::Nothing,
        };
        if another {
            self.another_log(when, at);
        }
        self.when = Some(when);
        let words = self.t.names().add_bytes(r.said);
        let host = if prefix::is_host(r.host) { r.host } else { b"" };
        let host = self.t.names().add_bytes(host);
        let log = self.logs.len() as u32 - 1;
        if let Some(c) = self.t.current() {
            c.cycle.log = log;
            c.cycle.host = host;
            c.cycle.when = match when {
                When::Stamp => Began::Stamped,
                When::Words(..) => Began::Words(words),
                When::Nothing => Began::Unsaid,
            };
        }
    }

    fn another_log(&mut self, when: When, at: u64) {
        self.logs.push(when);
        if self.logs.len() == 2 {
            self.second_log = at;
        }
    }

    /// The place of each log of the source, if they stood in order of time: those
    /// that say it in words of a calendar change places among themselves.
    fn order_of_logs(&self) -> Vec<u32> {
        let told = |w: &When| match *w {
            When::Words(true, order) => Some(order),
            _ => None,
        };
        let places: Vec<usize> =
            (0..self.logs.len()).filter(|&l| told(&self.logs[l]).is_some()).collect();
        let mut sorted = places.clone();
        sorted.sort_by_key(|&l| told(&self.logs[l]));
        let mut rank: Vec<u32> = (0..self.logs.len() as u32).collect();
        for (place, log) in places.into_iter().zip(sorted) {
            rank[log] = place as u32;
        }
        rank
    }

    fn meaning(&mut self, r: &Record<'_>, at: u64) -> bool {
        if self.c.serial != self.t.open_serial() {
            self.c =
                PerCycle { serial: self.t.open_serial(), base: self.now, ..PerCycle::default() };
        }
        if let Some((serial, line)) = self.prose
            && self.t.open_serial() > serial
        {
            self.prose = None;
            self.t.losses().add(
                "text_between",
                1,
                Severity::Warning,
                "a sentence stands between two cycles: they may be of two kernels or machines; give each log a file of its own",
                Some(line),
            );
        }
        let call = calls::of(r);
        self.cut = call == Some(Line::Cut);
        match call {
            Some(Line::Call { driver, device, parent, function, pid }) => {
                self.count_untimed(at);
                let driver_known = !function.is_empty();
                let key = DeviceKey { driver, device, parent, driver_known };
                self.call(r, at, &key, function, pid);
                true
            }
            Some(Line::Return { owner, function, error, usecs, form }) => {
                self.returned(owner, function, error, usecs, form, at);
                true
            }
            Some(Line::Row { owner, function, usecs, form }) => {
                let took = self.took(usecs, form);
                self.loose(owner, function, 0, took, true, at);
                true
            }
            Some(Line::Slow { operation, driver, device, took }) => {
                self.slow(driver, device, operation, took, at);
                true
            }
            Some(Line::Cut) | None => {
                let known = super::steps::line(self, r, at);
                if known {
                    self.place.way = marks::way(r.text).or(self.place.way);
                } else {
                    self.complaint(r, at);
                    self.introduction(r, at);
                }
                known
            }
        }
    }

    /// Time runs backwards: another excerpt of a log, or another boot. A
    /// hibernation comes back with the clock of its image, if it was written.
    pub(super) fn jump_back(&mut self, at: u64) {
        if self
            .t
            .current()
            .is_some_and(|c| c.cycle.mode == Mode::Disk && !c.over && !c.told.image_failed)
        {
            return;
        }
        // What comes next is of another log, if it is of a cycle.
        if !self.logs.is_empty() {
            self.when = None;
        }
        if self.t.open_serial() != 0 {
            self.t.losses().add(
                "another_excerpt",
                1,
                Severity::Warning,
                "time runs backwards inside a cycle, so what follows is taken for another: give one log a file",
                Some(at),
            );
        }
        self.close();
        self.settle_loose();
    }

    /// The open cycle ends as it stands.
    pub(super) fn close(&mut self) {
        self.settle_cycle();
        self.t.close_cycle();
    }

    /// A cycle begins; an open one ends as it stands.
    pub(super) fn open(&mut self, stamp: &Stamp<'_>, whole: bool) {
        self.settle_cycle();
        let beyond = |p: &PhaseSpan| p.phase != Phase::Thaw;
        let given_up = self.t.current().filter(|c| !c.cycle.phases.iter().any(beyond));
        self.unsynced = given_up.map(|c| c.cycle.start);
        self.t.open_cycle(stamp, whole);
    }

    /// What is known of the open cycle when no more of it comes.
    fn settle_cycle(&mut self) {
        if self.c.serial == 0 || self.t.current().is_none_or(|c| c.serial != self.c.serial) {
            return;
        }
        let empty = |c: &Cycle| c.callbacks.is_empty();
        let quote = self.c.is_quote()
            && !self.is_pair()
            && self.t.current().is_some_and(|c| empty(&c.cycle));
        let reader = |c: &Cycle| c.reads_image && c.image.is_empty();
        if quote || self.t.current().is_some_and(|c| reader(&c.cycle)) {
            return self.t.drop_cycle();
        }
        self.end_freezing();
        self.settle_set();
        self.caught_up();
        self.stood_by_the_way_up();
        super::steps::quiet_sleep(self);
        self.end_refused();
        self.lay_out();
        let finishing = self.c.finishing;
        if let Some(c) = self.t.current() {
            c.over |= finishing;
        }
    }

    /// Another boot begins.
    pub(super) fn boot(&mut self) {
        self.boot_of(b"");
    }

    /// Another boot begins, of the kernel `release`, or one that reads an image.
    pub(super) fn boot_of(&mut self, release: &[u8]) {
        if self.reads_its_image(release) {
            return;
        }
        self.close();
        self.settle_loose();
        self.t.set_kernel(b"");
        self.t.begin_boot();
        self.version = None;
        self.was_timed = false;
        self.reads_image = false;
        if !release.is_empty() {
            self.t.set_kernel(release);
            self.set_version(release);
            self.t.set_after_boot();
        }
    }

    /// A line was torn or dropped, or lines were left out.
    pub(super) fn lose(&mut self, kind: LostKind, count: u64) {
        let phase = if kind == LostKind::Places { None } else { self.c.phase };
        self.lose_in(phase, kind, count);
    }

    /// The begin of a callback of `function` that ends now is missing.
    pub(super) fn lose_start(&mut self, function: &[u8], took: Ns) {
        let phase = self.c.phase.map(|now| phase::of(function, now, self.c.proven));
        self.lose_in(phase, LostKind::Starts, 1);
        let open = self.t.open_serial() != 0 && self.c.serial == self.t.open_serial();
        if let Some(phase) = phase.filter(|p| open && self.timed && p.has_devices()) {
            self.t.reach(phase, self.now - took, self.now);
        }
    }

    fn lose_in(&mut self, phase: Option<Phase>, kind: LostKind, count: u64) {
        let open = self.t.open_serial() != 0 && self.c.serial == self.t.open_serial();
        if let Some(c) = self.t.current().filter(|_| open) {
            c.cycle.lose(phase, kind, count);
        }
    }

    /// A cycle was entered a moment ago and is not beyond its sync: nobody got out of it
    /// since.
    pub(crate) fn is_just_entered(&mut self) -> bool {
        const MOMENT: Ns = Ns::from_ms(100);
        let (now, timed, entered) = (self.now, self.timed, self.is_entered());
        let begun = self.t.current().filter(|_| timed && entered);
        begun.is_some_and(|c| now >= c.cycle.start && now - c.cycle.start < MOMENT)
    }

    /// A loss of this kind is of the open cycle.
    pub(super) fn warn(&mut self, kind: &'static str) {
        let open = self.t.open_serial() != 0 && self.c.serial == self.t.open_serial();
        if let Some(c) = self.t.current().filter(|_| open) {
            c.cycle.warn(kind);
        }
    }

    fn count_untimed(&mut self, at: u64) {
        if !self.timed {
            self.untimed += 1;
            self.warn("times_missing");
            if self.first_untimed == 0 {
                self.first_untimed = at;
            }
        }
    }

    pub(super) fn stamp<'a>(&self, r: &Record<'a>, at: u64) -> Stamp<'a> {
        Stamp {
            time: self.now,
            pid: r.pid.unwrap_or(0),
            comm: r.comm,
            cpu: r.cpu.unwrap_or(u32::MAX),
            at,
        }
    }

    /// The cycle may have been opened by the line itself.
    pub(super) fn sync(&mut self) {
        if self.c.serial != self.t.open_serial() {
            self.c =
                PerCycle { serial: self.t.open_serial(), base: self.now, ..PerCycle::default() };
        }
    }

    fn call(&mut self, r: &Record<'_>, at: u64, key: &DeviceKey<'_>, function: &[u8], pid: i32) {
        let known = self.c.phase;
        let phase = phase::of(function, known.unwrap_or(Phase::Suspend), self.c.proven);
        let comm = if r.pid == Some(pid) { r.comm } else { b"" };
        let stamp = Stamp { pid, comm, ..self.stamp(r, at) };
        self.called += 1;
        self.t.cycle_at(&stamp);
        self.sync();
        self.again(key, function, phase, &stamp);
        let up_then_down = self.c.phase.is_some_and(|p| p.direction() == Direction::Resume)
            && phase.direction() == Direction::Suspend;
        if up_then_down && self.t.current().is_some_and(|c| c.cycle.mode != Mode::Disk) {
            // The lines between two cycles are missing.
            self.open(&stamp, false);
            self.sync();
        }
        if self.c.phase != Some(phase) {
            self.enter(phase);
        }
        let start = if self.timed {
            self.now
        } else {
            self.c.cursors.get(&pid).copied().unwrap_or(self.c.base)
        };
        let event = self.event(function, phase);
        let stamp = Stamp { time: start, ..stamp };
        let call = self.t.start_callback(&stamp, &Call { key: *key, function, event, phase });
        let mut owner = Vec::with_capacity(key.driver.len() + key.device.len() + 1);
        if key.driver_known {
            owner.extend_from_slice(key.driver);
            owner.push(b' ');
        }
        owner.extend_from_slice(key.device);
        let list = self.c.open.entry(owner.into()).or_insert_with(|| Vec::with_capacity(1));
        if list.len() >= MAX_OPEN {
            list.remove(0);
        }
        list.push((call, pid, start));
    }

    /// The same callback of the same device after a pause begins another cycle,
    /// except where suspend-to-idle goes round.
    fn again(&mut self, key: &DeviceKey<'_>, function: &[u8], phase: Phase, stamp: &Stamp<'_>) {
        let paused = self.timed && self.c.last_call + PAUSE < self.now;
        self.c.last_call = self.now;
        if !paused {
            return;
        }
        let goes_round =
            |m: Mode| matches!(m, Mode::S2idle | Mode::Disk) && phase != Phase::Suspend;
        let ran = self.t.ran_before(key, function, phase);
        if ran && !self.t.current().is_some_and(|c| goes_round(c.cycle.mode)) {
            self.open(stamp, false);
            self.sync();
        }
    }

    /// The event of a callback: what its name says, else what another name of
    /// the same direction said. A later `complete after` line proves it.
    fn event(&mut self, function: &[u8], phase: Phase) -> PmEvent {
        let direction = phase.direction();
        let plain = match direction {
            Direction::Suspend => PmEvent::Suspend,
            Direction::Resume => PmEvent::Resume,
        };
        let c = &mut self.c;
        let Some(current) = self.t.current() else { return plain };
        let callbacks = &mut current.cycle.callbacks;
        let turned = callbacks.last().is_some_and(|b| b.phase.direction() != direction);
        if turned {
            c.event = (None, callbacks.len());
        }
        // Drivers call what they do in a plain suspend or resume by any name; only
        // a cycle that may be a hibernation is asked.
        let may = match current.cycle.mode {
            Mode::Disk => true,
            Mode::Unknown => phase::is_of_a_bus(function),
            _ => false,
        };
        if let Some(said) = phase::event(function).filter(|e| may && e.direction() == direction)
            && c.event.0.is_none()
        {
            c.event.0 = Some(said);
            current.cycle.mode = Mode::Disk;
            for b in callbacks.iter_mut().skip(c.event.1).filter(|b| b.event == plain) {
                b.event = said;
            }
        }
        c.event.0.unwrap_or(plain)
    }

    fn returned(
        &mut self,
        owner: &[u8],
        function: &[u8],
        error: i32,
        usecs: i64,
        form: Form,
        at: u64,
    ) {
        let spaced;
        let owner = if form == Form::Device || owner.contains(&b' ') {
            owner
        } else {
            spaced = [b" ", owner].concat();
            &spaced[..]
        };
        let Some(((call, pid, start), last)) = self.take_open(owner, function) else {
            let took = self.took(usecs, form);
            self.loose(owner, function, error, took, false, at);
            return;
        };
        self.learns_unit(usecs, self.now - start);
        let took = self.took(usecs, form);
        if last {
            self.c.open.remove(owner);
        }
        if self.timed {
            // The kernel takes the time after it has printed the first line
            // (which may take milliseconds on a serial console) and before it
            // prints the second.
            let end = self.now.max(start);
            self.t.finish_callback(call, Some((end - took).max(start)), end, error);
        } else {
            let end = start + took;
            self.t.finish_callback(call, None, end, error);
            self.c.cursors.insert(pid, end);
            self.now = self.now.max(end);
        }
    }

    /// The latest open callback of `owner` that runs `function`, and whether it
    /// was the only one.
    fn take_open(&mut self, owner: &[u8], function: &[u8]) -> Option<(OpenCall, bool)> {
        let list = self.c.open.get_mut(owner)?;
        let at = list.iter().rposition(|(call, _, _)| self.t.function_of(*call) == function)?;
        let found = list.remove(at);
        Some((found, list.is_empty()))
    }

    /// The device phase changes without a line that says when.
    pub(super) fn enter(&mut self, phase: Phase) {
        self.c.phase = Some(phase);
        self.c.base = self.now;
        self.c.cursors.clear();
    }

    /// A "complete after" line: the phase ends now and took `took`.
    pub(crate) fn phase_over(
        &mut self,
        phase: Phase,
        event: PmEvent,
        took: Ns,
        aborted: bool,
        at: u64,
    ) {
        if self.c.refusal.is_some_and(|r| r.phase == phase) {
            // Its own line says how long the phase was.
            self.c.refusal = None;
        }
        if self.quiesces(phase, event, took) {
            return;
        }
        if phase.direction() == Direction::Resume {
            self.turn();
        }
        let start = if self.timed {
            let from = self.done_until();
            self.make_room(from, took, LAST_DIGIT);
            (self.now - took).max(self.c.covered)
        } else {
            self.count_untimed(at);
            if self.c.phase.is_none() {
                // What was printed before is no part of the phase.
                self.c.base = self.now;
            }
            self.now = self.now.max(self.c.base + took);
            self.c.base
        };
        if phase == Phase::ResumeNoirq {
            self.wake(start);
        }
        self.t.push_span(PhaseSpan {
            phase,
            event,
            start,
            end: self.now,
            cpu: 0,
            complete: true,
            printed: Some(took),
        });
        self.c.covered = self.now;
        self.confirm(phase, event);
        self.c.proven = true;
        if phase == Phase::Noirq {
            self.c.sleep_from = Some(self.now);
        }
        self.enter(phase::after(phase, aborted));
    }

    /// `start suspend of devices complete after`: prepare and suspend together.
    pub(crate) fn prepare_over(&mut self, event: PmEvent, took: Ns, suspend: Option<Ns>) {
        let Some(end) = suspend else { return };
        if self.timed {
            let start = (self.now - took).min(end);
            self.t.push_span(PhaseSpan {
                phase: Phase::Prepare,
                event,
                start,
                end,
                cpu: 0,
                complete: true,
                printed: None,
            });
        }
    }

    /// All callbacks of the same direction since the last such line were in
    /// `phase`: every phase waits for its callbacks before it prints.
    fn confirm(&mut self, phase: Phase, event: PmEvent) {
        let mark = self.c.mark;
        if let Some(c) = self.t.current() {
            for b in c.cycle.callbacks.iter_mut().skip(mark) {
                // A callback without a function is of the half whose line follows.
                if b.phase.direction() == phase.direction() || b.function.is_empty() {
                    b.phase = phase;
                    b.event = event;
                }
            }
            self.c.mark = c.cycle.callbacks.len();
        }
    }

    /// The first sign of life after sleep, at `when`.
    pub(super) fn wake(&mut self, when: Ns) {
        if self.c.woke.is_some() || self.c.idle_from.is_some() || self.came_at_once() {
            return;
        }
        let Some(from) = self.c.sleep_from else { return };
        if self.t.current().is_some_and(|c| c.told.aborted || c.told.pm_test) {
            // It turned round before it slept.
            return;
        }
        self.c.woke = Some(when);
        // Firmware slept, and its clock may have stood still: without the lines of CPUs all that
        // passed is work of one CPU, or sleep, or both.
        let untold = self.c.firmware && self.c.cpu_from.is_none();
        if untold && self.t.current().is_some_and(|c| c.cycle.mode == Mode::Unknown) {
            return;
        }
        if let Some((first, last)) = self.c.syscore.take() {
            self.plain(Phase::SyscoreSuspend, first, last, 0);
        }
        self.plain(Phase::Asleep, from.min(when), when, 0);
    }

    /// A phase without devices, both ends known.
    pub(super) fn plain(&mut self, phase: Phase, start: Ns, end: Ns, cpu: u32) {
        let event = match phase.direction() {
            Direction::Suspend => PmEvent::Suspend,
            Direction::Resume => PmEvent::Resume,
        };
        self.t.push_span(PhaseSpan {
            phase,
            event,
            start: start.min(end),
            end,
            cpu,
            complete: true,
            printed: None,
        });
    }

    /// The log ends. Gives the place of each log of the source in order of time.
    pub(super) fn finish(mut self) -> Vec<u32> {
        self.settle_cycle();
        self.settle_loose();
        let (kind, advice) = if self.ever_timed {
            (
                "times_missing",
                "lines without a time stamp: times are laid out from the durations alone there, so gaps and overlaps are guesses; boot with printk.time=1",
            )
        } else {
            (
                "no_timestamps",
                "no time stamps: times are laid out from the durations alone, so gaps and overlaps are guesses; boot with printk.time=1",
            )
        };
        self.t.losses().add(
            "several_logs",
            (self.logs.len() as u64).saturating_sub(1),
            Severity::Warning,
            "logs with clocks of their own stand one after another: give each a file of its own",
            Some(self.second_log),
        );
        let at = Some(self.first_untimed);
        self.t.losses().add(kind, self.untimed, Severity::Warning, advice, at);
        self.order_of_logs()
    }
}
