//! What sleeps of a guest meet, drawn by seed: the truth, written before any log is.

use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::random::Random;
use std::fmt::Write;

/// Devices of kernel/trouble, by their drivers.
const DRIVERS: [&str; 8] = [
    "quux-phy",
    "vexnet",
    "zorb_codec",
    "wibble-hub",
    "elm-gpio",
    "firdsp",
    "yew_mmc",
    "oak-bridge",
];

/// Functions of kernel/trouble in which one waits, in state D. The last computes.
const WAITS: [&str; 11] = [
    "quux_wait_reply",
    "zorb_wait_idle",
    "wibble_lock_bus",
    "fnord_begin_read",
    "fnord_begin_write",
    "vexnet_take_slot",
    "yewfs_read_sector",
    "elm_poll_mailbox",
    "firdsp_load_blob",
    "oak_flush_cache",
    "ash_scrub_pages",
];
const SPINS: &str = WAITS[10];
/// Those of which a task never looks around, so that it counts as hung.
const STANDS: [&str; 8] =
    [WAITS[0], WAITS[1], WAITS[2], WAITS[3], WAITS[4], WAITS[5], WAITS[8], WAITS[9]];

/// [`Trouble::ends`] of a hibernation that comes to its image, behind all phases down.
const IMAGE: usize = 6;

const TASKS: [&str; 6] =
    ["fnordd", "zorble-sync", "mount.quux", "vexplayer", "backup job", "elm_scan"];
const THREADS: [&str; 4] = ["yewfs_commit/3", "vexnet-rx", "quux_flushd", "md7_scrub"];

/// Phases as kernel/trouble names them, those of the way down first.
const PHASES: [(&str, Phase); 8] = [
    ("prepare", Phase::Prepare),
    ("suspend", Phase::Suspend),
    ("late", Phase::Late),
    ("noirq", Phase::Noirq),
    ("resume_noirq", Phase::ResumeNoirq),
    ("early", Phase::ResumeEarly),
    ("resume", Phase::Resume),
    ("complete", Phase::Complete),
];

/// A CPU counts as stuck when it did not get on for longer than 2 s, in units of 2^30 ns
/// (kernel/watchdog.c:is_softlockup, with a threshold of 1 s), and is looked at every 0.4 s; a wake-up begins the count anew.
const STALLS: i64 = 4_400;

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A callback returns an error.
    Fail { device: usize, phase: usize, errno: i32 },
    /// A callback takes long.
    Slow { device: usize, phase: usize, ms: u64 },
    /// A callback warns.
    Warn { device: usize, phase: usize },
    /// A callback is a wake-up.
    Wake { device: usize, phase: usize },
    /// A callback ends the kernel.
    Crash { device: usize, phase: usize, bug: bool },
    /// A task of user space does not freeze.
    Task { name: &'static str, function: &'static str },
    /// A thread of the kernel does not.
    Thread { name: &'static str, function: &'static str },
    /// A work of a queue that is to freeze does not end.
    Work,
    /// While a task does not freeze the machine is woken.
    WakeFreezing { name: &'static str, function: &'static str },
    /// A test level was left on.
    Test { level: &'static str },
    /// A task that does not freeze was reported as hung before.
    Hung { name: &'static str, function: &'static str },
    /// A callback computes for so long that the kernel says so.
    Stall { device: usize, phase: usize },
    /// Writing of dirty data takes long.
    Sync { ms: u64 },
    /// One device ends several sleeps, one after the other.
    Again { device: usize, phase: usize, times: usize },
    /// A hibernation finds no swap for its image.
    NoSwap,
    /// No sleep: a callback of runtime power management fails, and a driver or a trace
    /// says so.
    Runtime { device: usize, up: bool, errno: i32, traced: bool },
    /// No sleep: the log of a start, in which a device waits for what never comes.
    Deferred,
}

/// A device of kernel/trouble.
pub(super) fn device(number: usize) -> String {
    format!("{}.0", DRIVERS[number])
}

/// A phase of kernel/trouble.
pub(super) fn phase(number: usize) -> Phase {
    PHASES[number].1
}

impl Trouble {
    /// What the table calls it.
    pub(super) fn name(&self) -> String {
        let of = |p: usize| PHASES[p].0;
        match self {
            Trouble::Fail { phase, .. } => format!("{} fails", of(*phase)),
            Trouble::Slow { ms, .. } if *ms < 10_000 => "a slow callback".into(),
            Trouble::Slow { .. } => "a callback of 10 s and more".into(),
            Trouble::Warn { phase, .. } => format!("WARN in {}", of(*phase)),
            Trouble::Wake { phase, .. } => format!("wake-up in {}", of(*phase)),
            Trouble::Crash { bug, phase, .. } => {
                format!("{} in {}", if *bug { "BUG" } else { "oops" }, of(*phase))
            }
            Trouble::Task { function, .. } => match *function == SPINS {
                true => "task in state R".into(),
                false => "task that waits".into(),
            },
            Trouble::Thread { .. } => "kernel thread".into(),
            Trouble::Work => "workqueue".into(),
            Trouble::WakeFreezing { .. } => "wake-up while freezing".into(),
            Trouble::Test { .. } => "test level left on".into(),
            Trouble::Hung { .. } => "hung task before".into(),
            Trouble::Stall { phase, .. } => format!("stall in {}", of(*phase)),
            Trouble::Sync { .. } => "a long sync".into(),
            Trouble::Again { .. } => "the same wake-up again".into(),
            Trouble::NoSwap => "hibernation without swap".into(),
            Trouble::Runtime { traced: true, .. } => "runtime PM fails, traced".into(),
            Trouble::Runtime { .. } => "runtime PM fails, said".into(),
            Trouble::Deferred => "probe deferred for ever".into(),
        }
    }

    /// When on the way down it ends the sleep; nothing if it does not.
    pub(super) fn ends(&self) -> Option<usize> {
        match self {
            Trouble::Runtime { .. } | Trouble::Deferred => Some(0),
            Trouble::Task { .. } | Trouble::WakeFreezing { .. } | Trouble::Hung { .. } => Some(0),
            Trouble::Thread { .. } | Trouble::Work => Some(1),
            Trouble::Fail { phase, .. }
            | Trouble::Wake { phase, .. }
            | Trouble::Again { phase, .. }
                if down(*phase) =>
            {
                Some(2 + phase)
            }
            Trouble::NoSwap => Some(IMAGE),
            _ => None,
        }
    }
}

fn down(p: usize) -> bool {
    phase(p).direction() == Direction::Suspend
}

/// One sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sleep {
    /// `s2idle`, `deep` or `disk`; `none` if nobody sleeps.
    pub(super) mode: &'static str,
    /// pm_debug_messages.
    pub(super) debug: bool,
    /// pm_print_times.
    pub(super) times: bool,
    console: bool,
    timeout: u64,
    idle: u64,
    wake: Option<u64>,
    /// Whether wake-ups are counted from before the write on (/sys/power/wakeup_count).
    armed: bool,
    /// What it meets.
    pub(super) troubles: Vec<Trouble>,
}

fn one<T: Copy>(list: &[T], random: &mut Random) -> T {
    list[random.below(list.len() as u64) as usize]
}

impl Sleep {
    /// The sleeps of a guest: the log of its start comes first, and the last sleep is its
    /// end.
    pub(super) fn plan(number: usize, random: &mut Random) -> Vec<Sleep> {
        (0..number).map(|i| Sleep::drawn(i == 0, i + 1 == number, random)).collect()
    }

    fn drawn(first: bool, last: bool, random: &mut Random) -> Sleep {
        let mut sleep = Sleep {
            mode: one(&["s2idle", "s2idle", "deep"], random),
            debug: random.below(4) > 0,
            times: random.below(3) == 0,
            console: random.below(2) == 0,
            timeout: one(&[1_000, 5_000, 20_000, 20_000], random),
            idle: random.between(50, 5_000),
            wake: None,
            armed: random.below(4) > 0,
            troubles: Vec::new(),
        };
        if first {
            (sleep.mode, sleep.troubles) = ("none", Vec::from([Trouble::Deferred]));
            return sleep;
        }
        if last {
            let (device, phase) = (random.below(8) as usize, random.below(7) as usize);
            sleep.troubles.push(Trouble::Crash { device, phase, bug: random.below(2) == 0 });
            return sleep;
        }
        let number = one(&[0, 0, 1, 1, 1, 1, 1, 2], random);
        for _ in 0..number {
            let mut with = sleep.clone();
            let trouble = with.trouble(random);
            if sleep.bears(&trouble) {
                with.troubles.push(trouble);
                sleep = with;
            }
        }
        // The guest has no swap.
        if sleep.mode == "disk" && sleep.bears(&Trouble::NoSwap) {
            sleep.troubles.push(Trouble::NoSwap);
        }
        sleep
    }

    /// Whether there is a place for one more trouble: what ends the sleep leaves nothing
    /// for a second to do it, and what is not of one sleep stands alone.
    fn bears(&self, trouble: &Trouble) -> bool {
        let alone = |t: &Trouble| {
            matches!(
                t,
                Trouble::Test { .. }
                    | Trouble::Again { .. }
                    | Trouble::Runtime { .. }
                    | Trouble::Deferred
            )
        };
        let early = matches!(trouble, Trouble::Warn { phase: 0, .. });
        let sync = matches!(trouble, Trouble::Sync { .. });
        let lets = |t: &Trouble| {
            !alone(t) && t.ends().is_none_or(|e| sync || e >= IMAGE || e >= 3 && early)
        };
        // A hibernation comes to its image in spite of what does not end it.
        let last = trouble.ends().is_none_or(|e| e >= IMAGE);
        self.troubles.is_empty() || !alone(trouble) && last && self.troubles.iter().all(lets)
    }

    fn trouble(&mut self, random: &mut Random) -> Trouble {
        let device = random.below(8) as usize;
        let function = one(&WAITS[..10], random);
        match random.below(27) {
            0..=6 => {
                if random.below(6) == 0 {
                    self.mode = "disk";
                }
                Trouble::Fail {
                    device,
                    phase: random.below(7) as usize,
                    errno: one(&[-16, -110, -5, -19, -22], random),
                }
            }
            7..=8 => {
                let ms = one(&[40, 300, 2_000, 12_000, 30_000], random);
                Trouble::Slow { device, phase: 1 + random.below(6) as usize, ms }
            }
            9..=11 => Trouble::Warn { device, phase: random.below(8) as usize },
            12..=13 => Trouble::Wake { device, phase: random.below(4) as usize },
            14..=15 => {
                if random.below(6) == 0 {
                    // It computes all the time.
                    self.timeout = 1_000;
                    return Trouble::Task { name: one(&TASKS, random), function: SPINS };
                }
                Trouble::Task { name: one(&TASKS, random), function }
            }
            16 => Trouble::Thread { name: one(&THREADS, random), function },
            17 => Trouble::Work,
            18 => {
                self.timeout = 20_000;
                self.wake = Some(random.between(20, 3_000));
                Trouble::WakeFreezing { name: one(&TASKS, random), function }
            }
            19 => Trouble::Test { level: one(&["freezer", "devices", "platform", "core"], random) },
            20 => Trouble::Hung { name: one(&TASKS, random), function: one(&STANDS, random) },
            21 => Trouble::Stall { device, phase: random.below(8) as usize },
            22 => Trouble::Sync { ms: one(&[900, 3_000, 12_000, 30_000], random) },
            23 => {
                let times = random.between(3, 6) as usize;
                Trouble::Again { device, phase: random.below(4) as usize, times }
            }
            24 => {
                self.mode = "disk";
                Trouble::NoSwap
            }
            _ => {
                self.mode = "none";
                let (up, traced) = (random.below(2) == 0, random.below(2) == 0);
                Trouble::Runtime { device, up, errno: one(&[-5, -19, -110], random), traced }
            }
        }
    }

    /// How many sleeps are asked for.
    pub(super) fn attempts(&self) -> usize {
        let again = self.troubles.iter().find_map(|t| match t {
            Trouble::Again { times, .. } => Some(*times),
            _ => None,
        });
        if self.mode == "none" { 0 } else { again.unwrap_or(1) }
    }

    /// Whether it ends the kernel.
    pub(super) fn is_fatal(&self) -> bool {
        self.troubles.iter().any(|t| matches!(t, Trouble::Crash { .. }))
    }

    /// Its line of the guest's plan.
    pub(super) fn line(&self, id: usize) -> String {
        let bit = |b: bool| if b { "1" } else { "0" };
        let mut test = "none";
        let mut steps = Vec::new();
        let mut more = String::new();
        for t in &self.troubles {
            let mut step = |device: usize, phase: usize, what: &str, n: i64| {
                steps.push(format!("{} {} {what} {n}", DRIVERS[device], PHASES[phase].0));
            };
            match t {
                Trouble::Fail { device, phase, errno } => {
                    step(*device, *phase, "fail", i64::from(-errno));
                }
                Trouble::Slow { device, phase, ms } => step(*device, *phase, "sleep", *ms as i64),
                Trouble::Warn { device, phase } => step(*device, *phase, "warn", 0),
                Trouble::Wake { device, phase } => step(*device, *phase, "wake", 0),
                Trouble::Again { device, phase, times } => {
                    step(*device, *phase, "wake", 0);
                    let _ = write!(more, "\tagain={times}");
                }
                Trouble::Stall { device, phase } => {
                    step(*device, *phase, "stall", STALLS);
                    more += "\tlimit=watchdog_thresh";
                }
                Trouble::Hung { name, function } => {
                    let _ = write!(more, "\ttask={name}:{function}\tlimit=hung_task_timeout_secs");
                }
                Trouble::Sync { ms } => {
                    let _ = write!(more, "\tsync={ms}");
                }
                Trouble::NoSwap => {}
                Trouble::Deferred => more += "\tboot=1",
                Trouble::Runtime { device, up, errno, traced } => {
                    let what = if *up { "resume" } else { "suspend" };
                    let (driver, n) = (DRIVERS[*device], -errno);
                    let _ = write!(more, "\truntime={driver} {n} {what}");
                    let _ = write!(more, "\ttraced={}", bit(*traced));
                }
                Trouble::Crash { device, phase, bug } => {
                    step(*device, *phase, if *bug { "bug" } else { "oops" }, 0);
                    more += "\tfatal=1";
                }
                Trouble::Task { name, function } | Trouble::WakeFreezing { name, function } => {
                    let _ = write!(more, "\ttask={name}:{function}");
                }
                Trouble::Thread { name, function } => {
                    let _ = write!(more, "\tthread={name}:{function}");
                }
                Trouble::Work => more += "\twork=1",
                Trouble::Test { level } => test = level,
            }
        }
        let wake = self.wake.map_or(String::new(), |ms| format!("\twake={ms}"));
        format!(
            "id={id}\tmode={}\tarmed={}\tdebug={}\ttimes={}\tconsole={}\ttimeout={}\tidle={}\ttest={test}\tplan={}{wake}{more}\n",
            self.mode,
            bit(self.armed),
            bit(self.debug),
            bit(self.times),
            if self.console { "Y" } else { "N" },
            self.timeout,
            self.idle,
            steps.join(";"),
        )
    }
}
