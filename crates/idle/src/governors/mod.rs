//! The kernel's cpuidle governors, one file each, as integer arithmetic.
//!
//! A governor is asked before a CPU sleeps ([`Governor::select`]) and told
//! afterwards how that went ([`Governor::reflect`] or [`Governor::reject`]), as
//! the idle loop does it (`cpuidle_idle_call`, kernel/sched/idle.c). Its inputs
//! are plain values, so a recording, a simulation and a test ask alike.

mod haltpoll;
mod ladder;
mod menu;
mod recent;
mod teo;
mod teo_6_1;

use crate::state::{State, StateSet, Table};

pub use haltpoll::Haltpoll;
pub use ladder::Ladder;
pub use menu::Menu;
pub use teo::Teo;

/// A target residency below this does not make a state deep: menu does not look
/// at the timers for it (`RESIDENCY_THRESHOLD_NS`, drivers/cpuidle/governors/gov.h).
const SHALLOW: i64 = 15_000;

/// Sleep length that stands for "the timers were not looked at" (`KTIME_MAX`).
const UNKNOWN: i64 = i64::MAX;

/// Which kernel's rules a governor follows. Read in Debian's linux-source of
/// these versions; a governor's file names each difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// 6.1 (read in 6.1.192). teo and haltpoll are not held against a kernel, but worked
    /// out by hand.
    V6_1,
    /// 6.12 (read in 6.12.117).
    V6_12,
    /// 7.2 (read in 7.2.12).
    V7_2,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Version; 3] = [Version::V6_1, Version::V6_12, Version::V7_2];

    /// The version whose rules are called so.
    pub fn named(name: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|v| v.name() == name)
    }

    /// The version whose governors a kernel of this release has, such as
    /// `6.12.74-amd64`; none if they were not read.
    pub fn of(release: &str) -> Option<Version> {
        let mut numbers = release.split(['.', '-']).map(|n| n.parse::<u32>().ok());
        match (numbers.next()??, numbers.next()??) {
            (6, 1) => Some(Version::V6_1),
            (6, 12) => Some(Version::V6_12),
            // Those of 7.3-rc7 are the same files.
            (7, 2 | 3) => Some(Version::V7_2),
            _ => None,
        }
    }

    /// The same, and for other releases the version that is taken in its stead:
    /// the newest for 7, else 6.12.
    pub fn nearest(release: &str) -> Version {
        let major = release.split('.').next().and_then(|n| n.parse::<u32>().ok());
        let newer = major.is_some_and(|major| major >= 7);
        Version::of(release).unwrap_or(if newer { Version::V7_2 } else { Version::V6_12 })
    }

    /// The release that the rules were read in.
    pub fn name(self) -> &'static str {
        match self {
            Version::V6_1 => "6.1",
            Version::V6_12 => "6.12",
            Version::V7_2 => "7.2",
        }
    }

    /// Decisions of this governor were held against those of this kernel.
    pub fn is_verified(self, kind: Kind) -> bool {
        self != Version::V6_1 || matches!(kind, Kind::Menu | Kind::Ladder)
    }
}

/// The governors that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `menu`: the usual choice with a dynamic tick (rating 20).
    Menu,
    /// `teo`, timer events oriented (rating 19). Debian does not build it.
    Teo,
    /// `ladder`: the choice with a periodic tick (rating 10, then 25).
    Ladder,
    /// `haltpoll`: guests of KVM (rating 9).
    Haltpoll,
}

impl Kind {
    /// Every governor, in the order of their ratings.
    pub const ALL: [Kind; 4] = [Kind::Menu, Kind::Teo, Kind::Ladder, Kind::Haltpoll];

    /// The governor of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The name in sysfs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Menu => "menu",
            Kind::Teo => "teo",
            Kind::Ladder => "ladder",
            Kind::Haltpoll => "haltpoll",
        }
    }
}

/// What the timer code answers (`tick_nohz_get_sleep_length`), both from the
/// moment the idle loop was entered; negative where the event is already late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepLength {
    /// ns until the next timer, the tick left out where it may be stopped.
    pub timer: i64,
    /// ns until the programmed clock event, the tick included while it runs.
    pub event: i64,
}

/// What a governor is asked with.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The states of this CPU.
    pub table: &'a Table,
    /// Those that are disabled now.
    pub disabled: StateSet,
    /// Largest exit latency allowed, ns (`cpuidle_governor_latency_req`); 0
    /// allows none.
    pub limit: i64,
    /// Length of a tick, ns (`TICK_NSEC`); at least 1.
    pub tick: i64,
    /// The tick is already stopped.
    pub tick_stopped: bool,
    /// What the timer code would answer. A governor need not look:
    /// [`Decision::asked`] tells.
    pub sleep: SleepLength,
    /// Local clock, ns. Only teo of 6.1 and 6.12 looks.
    pub now: i64,
    /// Tasks that slept on this CPU and wait for I/O (`nr_iowait_cpu`). Only menu
    /// of 6.1 looks.
    pub iowait: u32,
}

impl Question<'_> {
    fn states(&self) -> &[State] {
        self.table.states()
    }

    fn enabled(&self, i: usize) -> bool {
        !self.disabled.has(i)
    }

    /// Walks from `from` (left out) to state 0 over enabled states and takes
    /// each, until one has a target residency of at most `span`.
    fn shallower(&self, from: usize, span: i64) -> usize {
        let mut taken = from;
        for i in (0..from).rev() {
            if !self.enabled(i) {
                continue;
            }
            taken = i;
            if self.states()[i].residency <= span {
                break;
            }
        }
        taken
    }
}

/// A governor's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Index of the state to enter.
    pub state: usize,
    /// May the tick be stopped?
    pub stop_tick: bool,
    /// Did the governor look at [`Question::sleep`]?
    pub asked: bool,
}

/// How an idle episode went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Index of the state that the driver entered.
    pub entered: usize,
    /// Measured residency, ns; the exit latency is part of it.
    pub residency: i64,
    /// A polling state gave up at its time limit (`poll_time_limit`).
    pub poll_limit: bool,
    /// The tick interrupt woke the CPU (`tick_nohz_idle_got_tick`).
    pub tick: bool,
    /// Local clock afterwards, ns. Only teo of 6.1 and 6.12 looks.
    pub now: i64,
}

/// What the kernel keeps with the CPU, not with the governor (`last_state_idx`,
/// `last_residency_ns` and `poll_time_limit` of `struct cpuidle_device`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Index of the state that was entered last.
    pub entered: usize,
    /// How long, ns; nothing where work came first.
    pub residency: i64,
    /// Polling ended at its limit.
    pub poll_limit: bool,
}

impl Carried {
    /// After another sleep, or a decision that none followed (`entered` negative).
    pub fn and(self, entered: i64, residency: i64, poll_limit: bool) -> Carried {
        let entered = usize::try_from(entered).unwrap_or(self.entered);
        Carried { entered, residency, poll_limit }
    }
}

/// One governor with its memory of one CPU.
#[derive(Clone, Debug)]
pub enum Governor {
    /// See [`Menu`].
    Menu(Menu),
    /// See [`Teo`].
    Teo(Teo),
    /// See [`Ladder`].
    Ladder(Ladder),
    /// See [`Haltpoll`].
    Haltpoll(Haltpoll),
}

impl Governor {
    /// A governor without memory, as after it was selected in sysfs.
    pub fn new(kind: Kind, version: Version, table: &Table) -> Governor {
        match kind {
            Kind::Menu => Governor::Menu(Menu::new(version)),
            Kind::Teo => Governor::Teo(Teo::new(version)),
            Kind::Ladder => Governor::Ladder(Ladder::new(table)),
            Kind::Haltpoll => Governor::Haltpoll(Haltpoll::new(version)),
        }
    }

    /// How the CPU slept last, before this governor was selected. Without, it has
    /// never slept.
    pub fn carry(&mut self, before: &Carried) {
        match self {
            Governor::Menu(g) => g.carry(before.residency),
            Governor::Teo(g) => g.carry(before),
            Governor::Ladder(g) => g.carry(before.residency),
            // It halts before it looks at it.
            Governor::Haltpoll(_) => {}
        }
    }

    /// Which state to enter.
    pub fn select(&mut self, q: &Question) -> Decision {
        match self {
            Governor::Menu(g) => g.select(q),
            Governor::Teo(g) => g.select(q),
            Governor::Ladder(g) => g.select(q),
            Governor::Haltpoll(g) => g.select(q),
        }
    }

    /// Tells how the episode went. An `entered` beyond the table is a mistake of
    /// the caller and counts as rejected.
    pub fn reflect(&mut self, o: &Outcome) {
        match self {
            Governor::Menu(g) => g.reflect(o),
            Governor::Teo(g) => g.reflect(o),
            Governor::Ladder(g) => g.reflect(o),
            Governor::Haltpoll(g) => g.reflect(o),
        }
    }

    /// The CPU did not sleep: work came first, or the driver refused the state.
    /// `poll_limit` as in [`Outcome`]; false unless a polling state was entered.
    pub fn reject(&mut self, poll_limit: bool) {
        match self {
            Governor::Menu(g) => g.reject(),
            Governor::Teo(g) => g.reject(),
            Governor::Ladder(g) => g.reject(),
            Governor::Haltpoll(g) => g.reject(poll_limit),
        }
    }
}
