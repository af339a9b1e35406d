//! One sleep cycle: observed in a log or made by the simulator. The same type,
//! so that everything which explains, draws or compares one does it for both.

use crate::device::DeviceId;
use crate::image::{ImageStep, ImageWork};
use crate::inside::{Inside, Wait};
use crate::lost::Lost;
use crate::names::Sym;
use crate::phase::{Direction, Phase, PmEvent};
use crate::time::Ns;
use serde::{Serialize, Serializer};

/// Index into [`Cycle::threads`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u16);

/// A thread that ran callbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Process id; 0 if the source does not say.
    pub pid: i32,
    /// Name such as `kworker/u8:3`; empty if the source does not say.
    pub name: Sym,
    /// The main thread is the one that wrote `/sys/power/state`: it runs every
    /// synchronous device. `None` where the log does not prove it.
    pub is_main: Option<bool>,
}

/// One callback of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Whose callback.
    pub device: DeviceId,
    /// Which phase.
    pub phase: Phase,
    /// Which event the phase was run for.
    pub event: PmEvent,
    /// Where it ran.
    pub thread: ThreadId,
    /// The function (kernel logs), or the kind of operation such as `bus` or
    /// `noirq driver` (traces); may be empty.
    pub function: Sym,
    /// Begin, after all waiting.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// Return value: 0 or a negative errno.
    pub error: i32,
    /// `end` was seen. If not, `end` is the end of the phase or of the log.
    pub complete: bool,
}

impl Callback {
    /// How long it ran.
    pub fn duration(&self) -> Ns {
        self.end.since(self.start)
    }
}

/// A power domain that was switched (`_genpd_power_on()`, `_genpd_power_off()` in
/// drivers/pmdomain/core.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub domain: Sym,
    /// Switched on, not off.
    pub on: bool,
    /// The phase in whose callback it was; none elsewhere.
    pub phase: Option<Phase>,
    /// The device in whose callback it was. Where devices run at the same time it is
    /// chance which of a domain's devices that is.
    pub device: Option<DeviceId>,
    /// Where it ran.
    pub thread: ThreadId,
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// `end` was seen.
    pub complete: bool,
}

impl Switch {
    /// How long it took.
    pub fn duration(&self) -> Ns {
        self.end.since(self.start)
    }
}

/// A phase as bracketed by the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// Which phase.
    pub phase: Phase,
    /// Which event; [`PmEvent::Suspend`] or [`PmEvent::Resume`] for phases
    /// without devices.
    pub event: PmEvent,
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// CPU number of [`Phase::CpuOff`] and [`Phase::CpuOn`], else 0.
    pub cpu: u32,
    /// Both brackets were seen. If not, the missing one was inferred.
    pub complete: bool,
    /// The duration the kernel itself printed ("complete after"), if any.
    pub printed: Option<Ns>,
}

impl PhaseSpan {
    /// How long it took.
    pub fn duration(&self) -> Ns {
        self.end.since(self.start)
    }

    /// How long it took, and whether the clock of the trace jumped inside it: the
    /// time asleep is added to the boot clock where the RTC driver resumes
    /// (`rtc_resume()` in `drivers/rtc/class.c`), which the kernel's own figure
    /// does not count.
    pub fn measured(&self) -> (Ns, bool) {
        match self.printed {
            Some(printed) if self.duration() - printed > JUMP => (printed, true),
            _ => (self.duration(), false),
        }
    }
}

/// A clock that jumped makes a phase longer than the kernel printed by more than
/// this.
const JUMP: Ns = Ns(20_000_000);

/// Which sleep state was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Suspend-to-idle.
    S2idle,
    /// ACPI S1 or platform standby.
    Standby,
    /// Suspend-to-RAM.
    Deep,
    /// Hibernation.
    Disk,
    /// `pm_test`, which comes back by itself.
    PmTest(PmTestLevel),
    /// Only the simulator made this cycle.
    Simulated,
    /// The source does not say.
    #[default]
    Unknown,
}

/// Level of `/sys/power/pm_test` (kernel/power/main.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PmTestLevel {
    /// Freezes tasks only.
    Freezer,
    /// Devices' prepare and suspend.
    Devices,
    /// … late and noirq.
    Platform,
    /// … CPUs off.
    Processors,
    /// … system core.
    Core,
}

impl PmTestLevel {
    /// The word sysfs uses.
    pub fn name(self) -> &'static str {
        match self {
            PmTestLevel::Freezer => "freezer",
            PmTestLevel::Devices => "devices",
            PmTestLevel::Platform => "platform",
            PmTestLevel::Processors => "processors",
            PmTestLevel::Core => "core",
        }
    }

    /// The level called `name`.
    pub fn find(name: &str) -> Option<PmTestLevel> {
        [
            PmTestLevel::Freezer,
            PmTestLevel::Devices,
            PmTestLevel::Platform,
            PmTestLevel::Processors,
            PmTestLevel::Core,
        ]
        .into_iter()
        .find(|l| l.name() == name)
    }
}

impl Mode {
    /// Whether every CPU stays online, so that none has to come back up before
    /// devices are resumed.
    pub fn keeps_cpus(self) -> bool {
        use PmTestLevel::{Devices, Freezer, Platform};
        matches!(self, Mode::S2idle | Mode::PmTest(Freezer | Devices | Platform))
    }

    /// `s2idle`, `standby`, `deep`, `disk`, `pm_test:LEVEL`, `simulated` or
    /// `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Mode::S2idle => "s2idle",
            Mode::Standby => "standby",
            Mode::Deep => "deep",
            Mode::Disk => "disk",
            Mode::PmTest(PmTestLevel::Freezer) => "pm_test:freezer",
            Mode::PmTest(PmTestLevel::Devices) => "pm_test:devices",
            Mode::PmTest(PmTestLevel::Platform) => "pm_test:platform",
            Mode::PmTest(PmTestLevel::Processors) => "pm_test:processors",
            Mode::PmTest(PmTestLevel::Core) => "pm_test:core",
            Mode::Simulated => "simulated",
            Mode::Unknown => "unknown",
        }
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// What the source tells of when a cycle began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Began {
    /// [`Cycle::start`] is a time stamp of the source.
    #[default]
    Stamped,
    /// The times are laid out from durations. Whoever kept the log wrote these words
    /// before the line (`2024-09-20 20:39:41`).
    Words(Sym),
    /// The times are laid out from durations, and nothing says when it was.
    Unsaid,
}

/// How the cycle ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Went down as far as asked and came back.
    Slept,
    /// A device's callback failed.
    AbortedByDevice {
        /// The device, where the source names it.
        device: Option<DeviceId>,
        /// Negative errno; 0 if unknown.
        errno: i32,
    },
    /// A wakeup event arrived on the way down.
    AbortedByWakeup,
    /// Tasks would not freeze.
    FreezeFailed {
        /// Negative errno; 0 if unknown.
        errno: i32,
    },
    /// The image of a hibernation was not written, so the machine came back at once.
    ImageFailed,
    /// The source shows only part of the cycle.
    #[default]
    Partial,
}

impl Outcome {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Slept => "slept",
            Outcome::AbortedByDevice { .. } => "aborted_by_device",
            Outcome::AbortedByWakeup => "aborted_by_wakeup",
            Outcome::FreezeFailed { .. } => "freeze_failed",
            Outcome::ImageFailed => "image_failed",
            Outcome::Partial => "partial",
        }
    }
}

/// A further event that the source recorded beside the device callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideEvent {
    /// When.
    pub time: Ns,
    /// Event name such as `workqueue_execute_start`.
    pub name: Sym,
    /// Which thread's line it was.
    pub thread: ThreadId,
    /// CPU; `u32::MAX` if unknown.
    pub cpu: u32,
    /// The event's own text.
    pub text: Sym,
}

/// Counts that only some sources know; `None` is "not known", never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Worker threads created during the cycle.
    pub workers_created: Option<u64>,
    /// Most workers that were occupied at once.
    pub workers_at_once: Option<u64>,
    /// Most workers that were occupied but blocked at once.
    pub parked_at_once: Option<u64>,
    /// Waits that really blocked.
    pub blocked_waits: Option<u64>,
    /// Wake-ups of worker threads and of the main thread.
    pub wakeups: Option<u64>,
    /// Context switches of the same.
    pub context_switches: Option<u64>,
    /// Devices that returned at once, for whatever cause.
    pub early_returns: Option<u64>,
    /// Bytes dirty before the file systems were synced.
    pub dirty_bytes: Option<u64>,
    /// Bytes under writeback before the sync.
    pub writeback_bytes: Option<u64>,
}

/// The last words of a sleep that never came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// The phase that they stand in.
    pub phase: Option<Phase>,
    /// The device that the kernel waited for too long, or whose callback ran.
    pub device: Option<String>,
}

/// A message of a log that tells of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// When.
    pub time: Ns,
    /// What it says.
    pub text: Sym,
    /// Its line, from 1.
    pub line: u64,
}

/// A task in state D, as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub name: Sym,
    /// The function that it waits in; empty if the kernel does not tell.
    pub function: Sym,
}

/// Where an attempt to sleep stands in its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Its first line, from 1; 0 if the source has no lines.
    pub first: u64,
    /// Its last line.
    pub last: u64,
    /// The source has its beginning.
    pub begun: bool,
    /// The source has its end.
    pub closed: bool,
}

/// One trip to sleep and back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Where it comes from (file name, `stdin`, `predicted`), as shown.
    pub source: Sym,
    /// Kernel release; empty if unknown.
    pub kernel: Sym,
    /// The machine, as whoever kept the log wrote it before the first line; empty if nobody did.
    pub host: Sym,
    /// Its place in a log.
    pub lines: Lines,
    /// It is no attempt to sleep: a kernel that has just booted reads the image of a
    /// hibernation.
    pub reads_image: bool,
    /// Sleep state.
    pub mode: Mode,
    /// How it ended.
    pub outcome: Outcome,
    /// `suspend_enter` begin (or the first line of the cycle).
    pub start: Ns,
    /// Thaw end (or the last line of the cycle).
    pub end: Ns,
    /// When the kernel said that it was done, after the tasks ran again ("suspend exit").
    pub exit: Option<Ns>,
    /// Wall clock (Unix time) when the machine was told to sleep, where a real
    /// machine's recording says so.
    pub began: Option<Ns>,
    /// How the source tells when it began.
    pub when: Began,
    /// So much later than its stamp `start` is, so that a time asleep in which the keeper of the
    /// log was frozen is none of its phases.
    pub moved: Ns,
    /// Wakeup sources whose count rose meanwhile, where a recording lists them.
    pub wakers: Option<Vec<Sym>>,
    /// Which log of its source, from 0: a mail may hold several, each with a clock
    /// of its own.
    pub log: u32,
    /// Begin and end of the bracket that goes to sleep: `machine_suspend`
    /// begin of the first and end of the last turn.
    pub asleep: Option<(Ns, Ns)>,
    /// Time asleep by a clock that keeps running ("Timekeeping suspended for"),
    /// where the trace's own clock stood still or the log says so.
    pub asleep_elsewhere: Option<Ns>,
    /// How far somebody set the clock of the log on meanwhile: stamps behind that are later by
    /// as much, and times of the cycle are not.
    pub clock_set: Ns,
    /// Phases in order of `start`; a phase may occur more than once.
    pub phases: Vec<PhaseSpan>,
    /// Callbacks in order of `start`.
    pub callbacks: Vec<Callback>,
    /// Power domains that were switched, in order of `start`; only recordings that
    /// asked for it have any.
    pub switches: Vec<Switch>,
    /// What probed functions took inside callbacks, by device and phase in the order in which
    /// they first ran.
    pub inside: Vec<Inside>,
    /// The same by who called them, without those that another probed function called.
    pub waits: Vec<Wait>,
    /// Threads that the callbacks refer to.
    pub threads: Vec<Thread>,
    /// Other events kept from the source, in order of time.
    pub events: Vec<SideEvent>,
    /// Counts the source knows.
    pub counts: Counts,
    /// Tasks of users that waited where they cannot be frozen, just before the sleep.
    pub waiting: Vec<Waiting>,
    /// First cycle after boot (cold worker pools, late work): shown apart.
    pub first_after_boot: bool,
    /// Tasks that delayed or refused freezing, as the log names them.
    pub freeze_delays: Vec<Sym>,
    /// Messages that tell of a failure, in order; the first few.
    pub complaints: Vec<Complaint>,
    /// Steps of a hibernation image, in order of their ends.
    pub image: Vec<ImageStep>,
    /// What the source shows to have lost of this cycle.
    pub lost: Vec<Lost>,
    /// Other kinds of losses ([`crate::loss::Loss::kind`]) that are of this cycle, and how
    /// often.
    pub warned: Vec<(&'static str, u64)>,
}

impl Cycle {
    /// Gives every device another number: all that a cycle says of devices, so that none is
    /// forgotten. A device without a new one must not occur but as who failed or held.
    pub fn renumber(&mut self, new: impl Fn(DeviceId) -> Option<DeviceId>) {
        let callbacks = self.callbacks.iter_mut().map(|b| &mut b.device);
        let inside = self.inside.iter_mut().map(|i| &mut i.device);
        let waits = self.waits.iter_mut().map(|w| &mut w.device);
        for device in callbacks.chain(inside).chain(waits) {
            *device = new(*device).unwrap_or(DeviceId(0));
        }
        let switches = self.switches.iter_mut().map(|s| &mut s.device);
        let held = self.waits.iter_mut().map(|w| &mut w.holds_for);
        for device in switches.chain(held) {
            *device = device.and_then(&new);
        }
        if let Outcome::AbortedByDevice { device, .. } = &mut self.outcome {
            *device = device.and_then(&new);
        }
    }

    /// Whether the source times none of its phases but the start of tasks, with which it ends.
    pub fn shows_its_end_alone(&self) -> bool {
        self.callbacks.is_empty() && self.phases.iter().all(|p| p.phase == Phase::Thaw)
    }

    /// Whether the source times no more of it than the sync and tasks that freeze and thaw: no
    /// answer to where the time of a sleep went.
    pub fn times_tasks_alone(&self) -> bool {
        let tasks = [Phase::Sync, Phase::FreezeUser, Phase::FreezeKernel, Phase::Thaw];
        self.callbacks.is_empty() && self.phases.iter().all(|p| tasks.contains(&p.phase))
    }

    /// Whether its way up is no resume: CPUs and devices come back so that the image of a
    /// hibernation can be written (kernel/power/hibernate.c:hibernation_snapshot, 6.12), and the
    /// source has no more of the machine.
    pub fn is_back_to_write(&self) -> bool {
        let has = |work: ImageWork| self.image.iter().any(|s| s.work == work);
        let back = self.exit.is_some() || self.phases.iter().any(|p| p.phase == Phase::Thaw);
        self.mode == Mode::Disk && has(ImageWork::Write) && !has(ImageWork::Read) && !back
    }

    /// When it began by the wall clock (Unix time), as far as the source tells: the stamps of a
    /// log are of that clock if they are late enough: others count from the boot, or are of the
    /// year 2000, which lines that name none are given.
    pub fn wall_clock(&self) -> Option<Ns> {
        const YEAR_2005: Ns = Ns(1_104_537_600_000_000_000);
        let stamp =
            Some(self.start - self.moved).filter(|t| self.when == Began::Stamped && *t > YEAR_2005);
        self.began.or(stamp)
    }

    /// `suspend_enter` begin to `machine_suspend` begin; `None` if either is
    /// missing. For an aborted cycle or a `pm_test` that never gets there, to
    /// the end of the last suspend phase.
    pub fn suspend_time(&self) -> Option<Ns> {
        if let Some((down, _)) = self.asleep {
            return Some(down.since(self.start));
        }
        self.phases
            .iter()
            .filter(|p| p.phase.direction() == Direction::Suspend)
            .map(|p| p.end)
            .max()
            .map(|e| e.since(self.start))
    }

    /// `machine_suspend` end to thaw end; for a cycle that never slept, from
    /// the begin of the first resume phase. `None` if nothing was resumed.
    pub fn resume_time(&self) -> Option<Ns> {
        if let Some((_, up)) = self.asleep {
            return Some(self.end.since(up));
        }
        self.phases
            .iter()
            .filter(|p| p.phase.direction() == Direction::Resume)
            .map(|p| p.start)
            .min()
            .map(|s| self.end.since(s))
    }

    /// A loss of this kind is of this cycle.
    pub fn warn(&mut self, kind: &'static str) {
        match self.warned.iter_mut().find(|w| w.0 == kind) {
            Some(w) => w.1 += 1,
            None => self.warned.push((kind, 1)),
        }
    }

    /// The span of `phase`, the first if there are several.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseSpan> {
        self.phases.iter().find(|p| p.phase == phase)
    }
}
