//! The cycle being assembled.

use super::devices::DeviceKey;
use super::note::{CycleNote, Kind};
use super::probed::Probes;
use super::threads::{MAX_OPEN, Threads};
use super::{MAX_CYCLES, Tracker, finish, rules};
use crate::event::{self, Stamp};
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Callback, Cycle, Mode, PhaseSpan, SideEvent, ThreadId};
use dormouse_base::device::DeviceId;
use dormouse_base::loss::Severity;
use dormouse_base::names::Sym;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;

/// A callback that begins.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Whose.
    pub key: DeviceKey<'a>,
    /// Function or kind of operation; may be empty.
    pub function: &'a [u8],
    /// For which event.
    pub event: PmEvent,
    /// In which phase.
    pub phase: Phase,
}

/// A callback of the cycle being assembled, for sources that match the end of
/// a callback to its begin by themselves. Stale once that cycle is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRef {
    pub(super) cycle: u64,
    pub(super) index: u32,
}

/// Most phase brackets kept of one cycle: a few per CPU and per turn of the
/// suspend-to-idle loop in practice.
const MAX_SPANS: usize = 100_000;

/// Most brackets open at once; deeper nesting is damage.
const MAX_NESTED: usize = 8;

/// Side events kept of one machine, beyond two for every callback.
const MAX_SIDE_EVENTS: usize = 200_000;

/// How long after a sleep runtime PM still does what the sleep is the cause of: that of the
/// recorder.
const AFTER: Ns = Ns(2_000_000_000);
/// Bytes of different side event texts kept of one machine.
const MAX_SIDE_TEXT: usize = 8 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Current {
    pub cycle: Cycle,
    pub threads: Threads,
    /// Distinguishes cycles for [`CallRef`].
    pub serial: u64,
    /// Open brackets, outermost first: index into `cycle.phases`, and whether
    /// its end is already fixed because another phase began inside it.
    stack: Vec<(u32, bool)>,
    /// The begin of the cycle was seen.
    pub whole: bool,
    /// Tasks run again: the next begin opens another cycle.
    pub over: bool,
    /// Time of the last event that belongs to the cycle.
    pub last: Ns,
    /// First failing callback on the way down.
    pub failed: Option<(DeviceId, i32)>,
    /// Events of hibernation were seen.
    pub disk: bool,
    /// Thaw began inside the freeze bracket: tasks would not freeze.
    pub freeze_undone: bool,
    /// What a kernel log says outright.
    pub told: Told,
    last_function: Option<Sym>,
    pub(super) probes: Probes,
    /// Ends whose start did not come yet.
    pub(super) early: Vec<Early>,
    /// First and last moment that ends without a start prove of each phase.
    pub(super) reaches: Vec<(Phase, Ns, Ns)>,
}

/// What only a kernel log says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// `suspend debug: Waiting for …`: this is `pm_test`.
    pub pm_test: bool,
    /// How long it says it waits.
    pub pm_test_wait: Ns,
    /// Freezing failed with this errno (0 if not given).
    pub freeze_failed: Option<i32>,
    /// The image of a hibernation could not be made or written.
    pub image_failed: bool,
    /// A wakeup event stopped it.
    pub wakeup: bool,
    /// Some phase was aborted.
    pub aborted: bool,
    /// With this error, of no device.
    pub error: Option<i32>,
    /// The source is a kernel log, which prints why a cycle was given up: no
    /// reason given means that there was none.
    pub is_log: bool,
}

impl Tracker {
    /// Begins a cycle; an open one is closed. `whole` says that this really is
    /// its first event.
    pub(crate) fn open_cycle(&mut self, stamp: &Stamp<'_>, whole: bool) -> &mut Current {
        self.close_cycle();
        self.serial += 1;
        let mut current = Box::<Current>::default();
        current.serial = self.serial;
        current.whole = whole;
        current.cycle.source = self.source;
        current.cycle.kernel = self.kernel;
        current.cycle.mode = self.mode_hint.unwrap_or_default();
        current.cycle.first_after_boot = std::mem::take(&mut self.after_boot);
        current.told.is_log = self.kind == Kind::Log;
        current.cycle.start = stamp.time;
        current.last = stamp.time;
        // An excerpt may begin with what ended the sleep.
        if whole {
            self.tell_attempt();
        }
        current.failed = self.failed_before.take().map(|(device, errno, _)| (device, errno));
        self.devices.begin_phase();
        self.current.insert(current)
    }

    /// The open cycle; a fragment's cycle begins with whatever came first.
    pub(crate) fn cycle_at(&mut self, stamp: &Stamp<'_>) -> &mut Current {
        if self.current.as_ref().is_none_or(|c| c.over) {
            self.open_cycle(stamp, false);
        }
        let current = self.current.as_mut().expect("opened above");
        current.last = current.last.max(stamp.time);
        current
    }

    /// The times of the open cycle so far were laid out from durations; now a stamp
    /// says what `by` they are wrong by. It moves what lies at `until` or before; what only
    /// begins at `until` stays as long as it was, but for the sleep, which is what passed.
    pub(crate) fn shift_open(&mut self, until: Ns, by: Ns) {
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) else { return };
        let cycle = &mut c.cycle;
        let asleep = |p: &PhaseSpan| p.phase == Phase::Asleep;
        let spans = cycle.phases.iter_mut().map(|p| (asleep(p), &mut p.start, &mut p.end));
        let calls = cycle.callbacks.iter_mut().map(|b| (false, &mut b.start, &mut b.end));
        let image = cycle.image.iter_mut().map(|i| (false, &mut i.start, &mut i.end));
        for (sleeps, start, end) in spans.chain(calls).chain(image) {
            if *start < until || *end <= until || sleeps && *start == until {
                *start += by;
            }
            if *end <= until {
                *end += by;
            }
        }
        let events = cycle.events.iter_mut().map(|e| &mut e.time);
        for time in events.chain([&mut cycle.start, &mut c.last]).filter(|t| **t <= until) {
            *time += by;
        }
    }

    /// Whether a cycle is open whose begin was seen.
    pub(crate) fn in_whole_cycle(&self) -> bool {
        self.current.as_ref().is_some_and(|c| c.whole && !c.over)
    }

    /// The open cycle, if there is one.
    pub(crate) fn current(&mut self) -> Option<&mut Current> {
        self.current.as_deref_mut()
    }

    /// An event of the cycle that says nothing else.
    pub(crate) fn touch(&mut self, stamp: &Stamp<'_>) {
        if let Some(c) = &mut self.current
            && !c.over
        {
            c.last = c.last.max(stamp.time);
        }
    }

    /// Whether the open cycle has a callback of `function` of this device in
    /// `phase`.
    pub(crate) fn ran_before(&self, key: &DeviceKey<'_>, function: &[u8], phase: Phase) -> bool {
        let Some(c) = self.current.as_deref() else { return false };
        let bytes = |sym| self.names.bytes(sym);
        c.cycle.callbacks.iter().filter(|b| b.phase == phase).any(|b| {
            let d = self.graph.get(b.device);
            bytes(b.function) == function
                && bytes(d.name) == key.device
                && (!key.driver_known || bytes(d.driver) == key.driver)
        })
    }

    /// A callback of `phase` in the open cycle ran from `start` to `end`, and nothing
    /// else is known of it: the phase is at least as long.
    pub(crate) fn reach(&mut self, phase: Phase, start: Ns, end: Ns) {
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) else { return };
        c.last = c.last.max(end);
        match c.reaches.iter_mut().find(|r| r.0 == phase) {
            Some(r) => (r.1, r.2) = (r.1.min(start), r.2.max(end)),
            None => c.reaches.push((phase, start, end)),
        }
    }

    /// The open cycle lost something of `phase`.
    pub(crate) fn lose_of_cycle(&mut self, phase: Option<Phase>, kind: LostKind, count: u64) {
        if let Some(c) = self.current.as_deref_mut().filter(|c| !c.over) {
            c.cycle.lose(phase, kind, count);
        }
    }

    /// The sleep state, once events tell.
    pub fn set_mode(&mut self, mode: Mode) {
        if let Some(c) = &mut self.current
            && mode != Mode::Unknown
        {
            c.cycle.mode = mode;
        }
    }

    pub(super) fn note_hibernation(&mut self) {
        if let Some(c) = &mut self.current {
            c.disk = true;
        }
    }

    /// The thread of `stamp` drives the cycle.
    pub(crate) fn note_main(&mut self, stamp: &Stamp<'_>) {
        if let Some(c) = &mut self.current
            && stamp.pid != 0
        {
            let id = c.threads.id(stamp.pid, stamp.comm, &mut self.names);
            c.threads.list[usize::from(id.0)].is_main = Some(true);
        }
    }

    /// The device phase whose bracket is open now.
    pub(super) fn bracket(&self) -> Option<Phase> {
        let c = self.current.as_ref().filter(|c| !c.over)?;
        let (index, _) = c.stack.last()?;
        let phase = c.cycle.phases[*index as usize].phase;
        phase.has_devices().then_some(phase)
    }

    /// A bracket begins. Phases never overlap: where the kernel undoes a failed
    /// phase inside its own bracket (`dpm_resume_early` inside
    /// `dpm_suspend_late`, before 4.18 also noirq), the outer one ends here.
    pub(crate) fn begin_phase(
        &mut self,
        stamp: &Stamp<'_>,
        phase: Phase,
        event: PmEvent,
        cpu: u32,
    ) {
        self.devices.begin_phase();
        let current = self.cycle_at(stamp);
        if rules::is_hibernation(event) {
            current.disk = true;
        }
        if current.cycle.phases.is_empty()
            && matches!(phase, Phase::Freeze | Phase::Sync)
            && !current.whole
        {
            // Hibernation has no `suspend_enter`; it begins like this.
            current.whole = true;
        }
        let mut undone = false;
        for (index, fixed) in &mut current.stack {
            let outer = &mut current.cycle.phases[*index as usize];
            if !*fixed {
                outer.end = stamp.time.max(outer.start);
                *fixed = true;
            }
            undone |= outer.phase == Phase::Freeze && phase == Phase::Thaw;
        }
        current.freeze_undone |= undone;
        if current.cycle.phases.len() >= MAX_SPANS {
            self.lose(
                "too_many_phases",
                Severity::Warning,
                "a cycle has more phase brackets than any real one; look at the input by hand",
                stamp.at,
            );
            return;
        }
        if current.stack.len() >= MAX_NESTED {
            current.stack.remove(0);
        }
        current.stack.push((current.cycle.phases.len() as u32, false));
        current.cycle.phases.push(PhaseSpan {
            phase,
            event,
            start: stamp.time,
            end: stamp.time,
            cpu,
            complete: false,
            printed: None,
        });
    }

    /// A bracket ends. Without its begin it reaches back to the last thing
    /// that is known, and is marked.
    pub(crate) fn end_phase(&mut self, stamp: &Stamp<'_>, phase: Phase, event: PmEvent, cpu: u32) {
        if let Some(c) = &mut self.current {
            let found = c.stack.iter().rposition(|(index, _)| {
                let span = &c.cycle.phases[*index as usize];
                span.phase == phase && span.cpu == cpu
            });
            if let Some(at) = found {
                let (index, fixed) = c.stack[at];
                c.stack.truncate(at);
                let span = &mut c.cycle.phases[index as usize];
                span.complete = true;
                if !fixed {
                    span.end = stamp.time.max(span.start);
                }
                c.last = c.last.max(stamp.time);
                if phase == Phase::Thaw {
                    c.over = true;
                }
                return;
            }
        }
        let current = self.cycle_at(stamp);
        let start = current.cycle.phases.last().map_or(current.cycle.start, |p| p.end);
        let start = start.min(stamp.time);
        let span =
            PhaseSpan { phase, event, start, end: stamp.time, cpu, complete: false, printed: None };
        if current.cycle.phases.len() < MAX_SPANS {
            current.cycle.phases.push(span);
        }
        current.over |= phase == Phase::Thaw;
        self.lose(
            "end_without_begin",
            Severity::Warning,
            "a phase ended whose begin is missing: start recording before the suspend",
            stamp.at,
        );
    }

    /// A callback begins.
    pub(crate) fn start_callback(&mut self, stamp: &Stamp<'_>, call: &Call<'_>) -> CallRef {
        self.cycle_at(stamp);
        let Tracker { current, devices, graph, names, .. } = self;
        let current = current.as_mut().expect("opened above");
        let (device, driver) = devices.resolve(&call.key, call.phase, graph, names);
        let thread = current.threads.id(stamp.pid, stamp.comm, names);
        let function = match current.last_function {
            // Runs of the same operation are the rule: look it up once.
            Some(f) if names.bytes(f) == call.function => f,
            _ => names.add_bytes(call.function),
        };
        current.last_function = Some(function);
        current.disk |= rules::is_hibernation(call.event);
        let index = u32::try_from(current.cycle.callbacks.len()).unwrap_or(u32::MAX);
        current.cycle.callbacks.push(Callback {
            device,
            phase: call.phase,
            event: call.event,
            thread,
            function,
            start: stamp.time,
            end: stamp.time,
            error: 0,
            complete: false,
        });
        let open = &mut current.threads.open[usize::from(thread.0)];
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push((index, driver));
        CallRef { cycle: current.serial, index }
    }

    /// A callback ends: the innermost open one of the same thread and text.
    pub(crate) fn end_callback(
        &mut self,
        stamp: &Stamp<'_>,
        driver: &[u8],
        device: &[u8],
        error: i32,
    ) {
        let key = DeviceKey { driver, device, parent: b"", driver_known: true };
        if let Some(c) = self.current.as_deref_mut() {
            let thread = c.threads.id(stamp.pid, stamp.comm, &mut self.names);
            let open = &mut c.threads.open[usize::from(thread.0)];
            let found = open.iter().rposition(|&(i, driver)| {
                let d = self.graph.get(c.cycle.callbacks[i as usize].device);
                super::devices::same_text(self.names.bytes(driver), self.names.bytes(d.name), &key)
            });
            if let Some(at) = found {
                let (index, _) = open[at];
                open.truncate(at);
                c.complete(index, stamp.time, error);
                return;
            }
        }
        self.cycle_at(stamp);
        self.end_alone(stamp, driver, device, error);
    }

    /// Ends a callback that the caller matched itself. `start` replaces the
    /// begin where the source knows it better.
    pub(crate) fn finish_callback(
        &mut self,
        call: CallRef,
        start: Option<Ns>,
        end: Ns,
        error: i32,
    ) {
        let Some(c) = self.current.as_deref_mut().filter(|c| c.serial == call.cycle) else {
            return;
        };
        let Some(callback) = c.cycle.callbacks.get_mut(call.index as usize) else { return };
        callback.start = start.unwrap_or(callback.start);
        let thread = usize::from(callback.thread.0);
        c.threads.open[thread].retain(|&(i, _)| i != call.index);
        c.complete(call.index, end, error);
    }

    /// The function that a callback runs; empty for a stale reference.
    pub(crate) fn function_of(&self, call: CallRef) -> &[u8] {
        let current = self.current.as_deref().filter(|c| c.serial == call.cycle);
        let callback = current.and_then(|c| c.cycle.callbacks.get(call.index as usize));
        callback.map_or(b"", |b| self.names.bytes(b.function))
    }

    /// Keeps an event beside the callbacks, as far as memory allows.
    pub(crate) fn side_event(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) {
        // What runtime PM does right after a sleep belongs to it.
        let after = |c: &Current| name.starts_with(b"rpm_") && stamp.time.since(c.last) <= AFTER;
        let Some(c) = self.current.as_deref_mut().filter(|c| !c.over || after(c)) else {
            self.unused.add(event::Kind::of(name), 1);
            return;
        };
        let known = self.names.len();
        let room = self.side_events < MAX_SIDE_EVENTS + 2 * c.cycle.callbacks.len()
            && self.side_text < MAX_SIDE_TEXT;
        if !room {
            self.losses.add(
                "side_events_dropped",
                1,
                Severity::Info,
                "more scheduler, workqueue or runtime-PM events than are kept: record fewer kinds",
                Some(stamp.at),
            );
            return;
        }
        let text_sym = self.names.add_bytes(text);
        if self.names.len() > known {
            self.side_text += text.len() + 96;
        }
        self.side_events += 1;
        let thread = c.threads.id(stamp.pid, stamp.comm, &mut self.names);
        c.cycle.events.push(SideEvent {
            time: stamp.time,
            name: self.names.add_bytes(name),
            thread,
            cpu: stamp.cpu,
            text: text_sym,
        });
    }

    /// The source itself names a device whose callback failed.
    pub(crate) fn note_failure(&mut self, key: &DeviceKey<'_>, errno: i32, at: Ns) {
        let Tracker { current, devices, graph, names, failed_before, .. } = self;
        match current.as_deref_mut().filter(|c| !c.over) {
            Some(c) if c.failed.is_none() => {
                let (device, _) = devices.resolve(key, Phase::Suspend, graph, names);
                c.failed = Some((device, errno));
            }
            None if failed_before.is_none() => {
                let (device, _) = devices.resolve(key, Phase::Suspend, graph, names);
                *failed_before = Some((device, errno, at));
            }
            _ => {}
        }
    }

    /// A failure that belongs to no cycle was an attempt of which the log has no more.
    pub(crate) fn tell_attempt(&mut self) {
        let Some((device, errno, at)) = self.failed_before.take() else { return };
        let name = self.names.get(self.graph.get(device).name);
        let us = at.0 / 1_000;
        let advice = format!(
            "an attempt of which the log has no more, at {}.{:06} s, ended because {name} failed \
             to suspend (error {errno}): give the log from its begin",
            us / 1_000_000,
            us % 1_000_000
        );
        self.losses.add("attempt_in_part", 1, Severity::Warning, advice, None);
    }

    /// Adds a bracket whose both ends are known at once.
    pub(crate) fn push_span(&mut self, span: PhaseSpan) {
        if let Some(c) = &mut self.current
            && c.cycle.phases.len() < MAX_SPANS
        {
            c.last = c.last.max(span.end);
            c.cycle.phases.push(span);
        }
    }

    /// Forgets the open cycle: there was none.
    pub(crate) fn drop_cycle(&mut self) {
        self.current = None;
    }

    /// Closes the open cycle as it stands.
    pub(crate) fn close_cycle(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        self.settle_early(&mut current);
        if self.done.len() >= MAX_CYCLES {
            self.lose(
                "too_many_cycles",
                Severity::Warning,
                "more cycles than are kept of one machine: give the inputs in smaller groups",
                0,
            );
            return;
        }
        let mut cycle = finish::cycle(*current, &mut self.losses);
        if let Some((down, up)) = self.firmware.filter(|_| self.kind == Kind::Trace) {
            self.firmware =
                finish::add_firmware(&mut cycle, down, up).is_none().then_some((down, up));
        }
        self.done.push(cycle);
        self.notes.push(CycleNote {
            kind: self.kind,
            source: self.source_index,
            stamp: self.stamp,
            folder: self.folder,
        });
    }
}

impl Current {
    pub(super) fn complete(&mut self, index: u32, end: Ns, error: i32) {
        let callback = &mut self.cycle.callbacks[index as usize];
        callback.end = end.max(callback.start);
        callback.error = error;
        callback.complete = true;
        self.last = self.last.max(end);
        if error < 0 && callback.phase.direction() == Direction::Suspend && self.failed.is_none() {
            self.failed = Some((callback.device, error));
        }
    }
}

/// An end whose start did not come yet.
#[derive(Clone, Debug)]
pub(super) struct Early {
    pub(super) thread: ThreadId,
    pub(super) driver: Box<[u8]>,
    pub(super) device: Box<[u8]>,
    pub(super) time: Ns,
    pub(super) error: i32,
    /// Where it stands in the input.
    pub(super) at: u64,
    /// The device phase it came in.
    pub(super) phase: Option<Phase>,
}
