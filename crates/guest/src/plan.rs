//! What the host asks of the guest: written as JSON into the initramfs.

use dormouse_machine::options::Detail;
use dormouse_storage::simulate::load;
use serde::{Deserialize, Serialize};

/// Word on the kernel command line without which the guest does nothing.
pub const MARKER: &str = "dormouse.lab=1";
/// How lines of the guest's program begin on the console.
pub const GUEST_SPEAKS: &str = "dormouse guest: ";
/// Directory of the guest that holds the plan, the module and the boards.
pub const DIRECTORY: &str = "/lab";
/// The plan, in [`DIRECTORY`].
pub const PLAN: &str = "plan.json";
/// The board module, in [`DIRECTORY`].
pub const MODULE: &str = "dormouse_board.ko";
/// The module with idle states, in [`DIRECTORY`].
pub const IDLE_MODULE: &str = "dormouse_idle.ko";
/// What writes decisions of the governor of power domains down, in [`DIRECTORY`].
pub const GOVERNOR_MODULE: &str = "dormouse_governor.ko";
/// The drivers of SoC-9000, in [`DIRECTORY`].
pub const SOC_MODULE: &str = "soc9000.ko";
/// Suspend to memory where no firmware has it, in [`DIRECTORY`].
pub const DEEP_MODULE: &str = "dormouse_deep.ko";
/// Drivers in an order that the device tree tells, in [`DIRECTORY`].
pub const PROBES_MODULE: &str = "dormouse_probes.ko";
/// The disk whose power states cost what they are told to, in [`DIRECTORY`].
pub const PDISK_MODULE: &str = "dormouse_pdisk.ko";
/// What raises a disk's clock while somebody waits, in [`DIRECTORY`].
pub const FQOS_MODULE: &str = "dormouse_fqos.ko";
/// What counts the cycles of a request, in [`DIRECTORY`].
pub const COUNT_MODULE: &str = "dormouse_count.ko";
/// The kernel's own governor of devfreq, in [`DIRECTORY`], where it is a module.
pub const ONDEMAND_MODULE: &str = "governor_simpleondemand.ko";
/// The kernel's own driver of the disk, in [`DIRECTORY`]: with what it depends on, in
/// the order of their names.
pub const DISK_MODULES: &str = "disk-";

/// How deep a cycle goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sleep {
    /// `pm_test=devices`: prepare, suspend, resume, complete.
    #[default]
    Devices,
    /// `pm_test=platform`: late, noirq and early too.
    Platform,
    /// `pm_test=core`: also CPUs off and system core.
    Core,
    /// Real suspend-to-idle, ended by a timer of the board module.
    S2idle,
    /// Real suspend-to-RAM, ended by QEMU.
    Deep,
    /// Hibernation that restores its own image (`/sys/power/disk` =
    /// `test_resume`). The restored kernel remembers freeze and restore alone.
    Hibernate,
    /// Hibernation that a wake-up event undoes when every device is off, by the
    /// board module: freeze, thaw, poweroff and restore, all remembered.
    Rollback,
}

impl Sleep {
    /// Every depth.
    pub const ALL: [Sleep; 7] = [
        Sleep::Devices,
        Sleep::Platform,
        Sleep::Core,
        Sleep::S2idle,
        Sleep::Deep,
        Sleep::Hibernate,
        Sleep::Rollback,
    ];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Sleep::Devices => "devices",
            Sleep::Platform => "platform",
            Sleep::Core => "core",
            Sleep::S2idle => "s2idle",
            Sleep::Deep => "deep",
            Sleep::Hibernate => "hibernate",
            Sleep::Rollback => "rollback",
        }
    }

    /// The depth called `name`.
    pub fn find(name: &str) -> Option<Sleep> {
        Sleep::ALL.into_iter().find(|s| s.name() == name)
    }

    /// What is written to `/sys/power/disk`; none for a suspend.
    pub fn disk(self) -> Option<&'static str> {
        match self {
            Sleep::Hibernate => Some("test_resume"),
            Sleep::Rollback => Some("platform"),
            _ => None,
        }
    }

    /// Whether the kernel only tests the way down and up.
    pub fn is_test(self) -> bool {
        self.pm_test() != "none"
    }

    /// What goes into `/sys/power/pm_test`.
    pub fn pm_test(self) -> &'static str {
        match self {
            Sleep::Devices => "devices",
            Sleep::Platform => "platform",
            Sleep::Core => "core",
            Sleep::S2idle | Sleep::Deep | Sleep::Hibernate | Sleep::Rollback => "none",
        }
    }
}

/// What a step sends back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    /// The bare trace.
    #[default]
    No,
    /// A capture, as `dormouse record` makes it.
    Full,
    /// The same without callbacks: `dormouse record --phases`.
    Phases,
}

/// One board, some cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name that its results carry.
    pub name: String,
    /// File with the description in [`DIRECTORY`]; none runs with the guest's
    /// own devices.
    pub description: Option<String>,
    /// How deep.
    pub sleep: Sleep,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// How many cycles.
    pub cycles: u32,
    /// Events beyond those of suspend, if it is recorded.
    #[serde(default)]
    pub detail: Vec<Detail>,
    /// Size of the trace buffer of each CPU.
    pub buffer_kb: u32,
    /// What to send.
    pub record: Record,
    /// Let the bare trace hold nothing but when each phase began and ended, and
    /// take it beside a recording too: what does recording cost?
    #[serde(default)]
    pub phases: bool,
}

/// udev at work on a board: it runs when the devices appear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Name that its results carry.
    pub name: String,
    /// File with the description in [`DIRECTORY`].
    pub description: String,
    /// File with the rules in [`DIRECTORY`].
    pub rules: String,
}

/// modprobe at work on the board module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Name that its results carry.
    pub name: String,
    /// File with configuration of modprobe in [`DIRECTORY`].
    pub configuration: String,
}

/// Idle governors at work on made-up states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Name that its results carry.
    pub name: String,
    /// `LATENCY:RESIDENCY,...` in microseconds, after the polling state.
    pub states: String,
    /// Exit latencies vary by so many percent.
    pub jitter: u32,
    /// Of exit latencies and workloads.
    pub seed: u64,
    /// Governors by name.
    pub governors: Vec<String>,
    /// Decisions of each governor, at least.
    pub decisions: u64,
}

/// How idle states are chosen while something is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleSetting {
    /// Governor by name.
    pub governor: String,
    /// Latency limit of every CPU in microseconds; 0 is none.
    pub limit_us: u32,
    /// A state that may not be entered, by number.
    pub disabled: Option<u32>,
}

impl IdleSetting {
    /// A name without blanks.
    pub fn name(&self) -> String {
        let mut out = self.governor.clone();
        if self.limit_us > 0 {
            out += &format!("-limit{}us", self.limit_us);
        }
        if let Some(i) = self.disabled {
            out += &format!("-without{i}");
        }
        out
    }

    /// The setting called `name`, such as `menu`, `menu-limit150us` or
    /// `ladder-without2`.
    pub fn find(name: &str) -> Option<IdleSetting> {
        let mut words = name.split('-');
        let governor = words.next().filter(|g| !g.is_empty())?.to_owned();
        let mut out = IdleSetting { governor, limit_us: 0, disabled: None };
        for word in words {
            if let Some(us) = word.strip_prefix("limit").and_then(|w| w.strip_suffix("us")) {
                out.limit_us = us.parse().ok()?;
            } else {
                out.disabled = Some(word.strip_prefix("without")?.parse().ok()?);
            }
        }
        Some(out)
    }
}

/// What wakes the CPUs of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Threads that sleep for the same time, over and over.
    Periodic,
    /// Some short sleeps, then a long one.
    Bursts,
    /// Timers that may be late, so that one wake-up serves several.
    Slack,
    /// Reads of a virtio disk, one at a time.
    Disk,
    /// All sorts of timers.
    Mixed,
}

impl Work {
    /// Every kind.
    pub const ALL: [Work; 5] = [Work::Periodic, Work::Bursts, Work::Slack, Work::Disk, Work::Mixed];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Work::Periodic => "periodic",
            Work::Bursts => "bursts",
            Work::Slack => "slack",
            Work::Disk => "disk",
            Work::Mixed => "mixed",
        }
    }

    /// The work called `name`.
    pub fn find(name: &str) -> Option<Work> {
        Work::ALL.into_iter().find(|w| w.name() == name)
    }
}

/// The same work under several settings of CPU idle, recorded each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loops {
    /// Name that its results carry, without blanks.
    pub name: String,
    /// `LATENCY:RESIDENCY,...` in microseconds, after the polling state.
    pub states: String,
    /// Exit latencies vary by so many percent.
    pub jitter: u32,
    /// Of exit latencies and work.
    pub seed: u64,
    /// Kinds of work.
    pub works: Vec<Work>,
    /// Settings; each kind of work runs under all of them.
    pub settings: Vec<IdleSetting>,
    /// Length of a recording, ms of the guest.
    pub span_ms: u64,
}

impl Loops {
    /// Name of the guest's answer to one recording.
    pub fn answer(&self, work: Work, setting: &IdleSetting) -> String {
        format!("loop {} {} {}", self.name, work.name(), setting.name())
    }

    /// Whether a disk is read.
    pub fn reads_disk(&self) -> bool {
        self.works.contains(&Work::Disk)
    }
}

/// A script of the shell in a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// File with the script in [`DIRECTORY`]; modules that it loads lie beside it.
    pub file: String,
    /// Parameters of the module with idle states, if it is to be loaded.
    pub idle: Option<String>,
    /// File with a second one in [`DIRECTORY`], which runs after it and is recorded as by
    /// `dormouse record --with LIST -- /bin/sh FILE`.
    #[serde(default)]
    pub recorded: Option<(String, Vec<Detail>)>,
}

/// Folder of the guest, in [`DIRECTORY`], whose files come back from a script.
pub const KEPT: &str = "kept";

/// A disk of chosen power states, and a load on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Name that its results carry, without blanks.
    pub name: String,
    /// Parameters of the disk's module.
    pub disk: String,
    /// Parameters of what raises the clock, and its time-out in microseconds (0: it
    /// finds one), if it is to be loaded.
    pub fqos: Option<(String, u64)>,
    /// Attributes of the devfreq device and what is written to them, in order.
    pub devfreq: Vec<(String, String)>,
    /// Who asks for requests.
    pub load: load::Load,
    /// Of the places that are read.
    pub seed: u64,
}

/// Many short sleeps of one board, with trouble at random.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soak {
    /// File with the board's description in [`DIRECTORY`].
    pub description: String,
    /// How many cycles.
    pub cycles: u32,
    /// Of all that is left to chance.
    pub seed: u64,
    /// So many of a thousand callbacks fail.
    pub fail: u32,
    /// So many of a thousand callbacks see a wake-up event.
    pub wake: u32,
    /// So many of a thousand callbacks add or remove a device below their own.
    pub plug: u32,
    /// Ask kmemleak at the end.
    pub leaks: bool,
}

/// One thing that a guest does. What it needs in [`DIRECTORY`] is packed by
/// `run::play` of `crates/lab`, which goes by the tasks alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Registers the drivers of the device tree, and watches them for so many seconds.
    Drivers(u64),
    /// Sends the device links, and what devices say of them.
    Links,
    /// Has modprobe try each of these configurations.
    Modprobe(Vec<Load>),
    /// Loads the board module. It leaves at the end: unloading is part of what every run
    /// proves.
    Module,
    /// Gives suspend to memory where the machine's firmware has none.
    Deep,
    /// Turns swap on, on a disk with [`DISK_MODULES`].
    Swap,
    /// Has idle governors decide.
    Idle(Idle),
    /// Records the same work under several settings of CPU idle.
    Loops(Loops),
    /// Puts a load on a disk of chosen power states.
    Storage(Storage),
    /// Runs a script.
    Script(Script),
    /// Sleeps often, with trouble.
    Soak(Soak),
    /// Loads the drivers of SoC-9000 with these parameters.
    Soc(String),
    /// Has a governor of power domains decide, once for each parameters of its module.
    Governor(Vec<String>),
    /// Has the board module build this file of [`DIRECTORY`] and take it away again, to
    /// see what it says.
    Build(String),
    /// Has udev see a board appear.
    Udev(Trial),
    /// Idles for so many seconds. Where instructions are counted that costs next to
    /// nothing, and after five minutes the kernel has no idle workers left: the next cycle
    /// is cold.
    Rest(u64),
    /// A board and some cycles.
    Step(Step),
}

/// Everything one boot does, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Terminal that takes the results.
    pub results: String,
    /// What is done.
    pub tasks: Vec<Task>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_settings_are_found_by_their_names() {
        for name in ["menu", "ladder", "menu-limit150us", "menu-without2", "menu-limit9us-without1"]
        {
            assert_eq!(IdleSetting::find(name).map(|s| s.name()).as_deref(), Some(name));
        }
        for bad in ["", "menu-limit", "menu-limitus", "menu-x", "menu-without"] {
            assert_eq!(IdleSetting::find(bad), None, "{bad}");
        }
    }
}
