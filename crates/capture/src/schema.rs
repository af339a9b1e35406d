//! What a capture file holds, version 1. The recorder writes these types and
//! the reader reads them, so the format has one definition
//! (docs/capture-format.md explains it for people).
//!
//! Every field has a default: a file with fewer fields is an older or a partly
//! failed recording, not an error. Unknown fields are skipped, so a newer
//! writer of the same version may add some.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The word in [`Document::format`].
pub const FORMAT: &str = "dormouse-capture";
/// The newest version this program reads and the one it writes.
pub const VERSION: u32 = 1;

/// The member `capture.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Program and version that wrote the file.
    pub recorder: String,
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub kernel: Kernel,
    /// What was asked of the recorder.
    pub settings: Settings,
    /// Files of `/sys/power` and related parameters as found before anything
    /// was changed: path below `/sys` or `/proc`, value.
    pub knobs_found: BTreeMap<String, String>,
    /// Every knob that was changed while recording, in order.
    pub knobs_changed: Vec<KnobChange>,
    /// `/sys/power/suspend_stats` before the first cycle.
    pub suspend_stats_before: BTreeMap<String, String>,
    /// The same after the last cycle.
    pub suspend_stats_after: BTreeMap<String, String>,
    /// Clock of the trace's time stamps, such as `boot`.
    pub trace_clock: String,
    /// Number of cycles in the file.
    pub cycles: u32,
    /// What the recorder could not record.
    pub losses: Vec<RecordedLoss>,
    /// How the laboratory made this file; absent for a real machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<serde_json::Value>,
}

/// The machine's hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Maker, from DMI.
    pub vendor: String,
    /// Model, from DMI or the device tree.
    pub model: String,
    /// Firmware version, from DMI.
    pub firmware: String,
    /// Such as `x86_64`.
    pub architecture: String,
    /// Online CPUs as the kernel lists them, such as `0-3`.
    pub cpus_online: String,
    /// Possible CPUs.
    pub cpus_possible: String,
    /// One entry for each online CPU, by number.
    pub topology: Vec<Cpu>,
    /// `MemTotal`, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Where a CPU sits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Number.
    pub cpu: u32,
    /// Package, `None` if the kernel does not say.
    pub package: Option<i64>,
    /// Core within the package.
    pub core: Option<i64>,
    /// CPUs that share the core, as a list such as `0,4`.
    pub siblings: String,
    /// CPUs that share the last-level cache, which is where worker pools end.
    pub last_level_cache: String,
    /// NUMA node.
    pub node: Option<u32>,
    /// Highest frequency in kHz.
    pub max_khz: Option<u64>,
    /// `cpu_capacity` of machines with unequal CPUs.
    pub capacity: Option<u64>,
}

/// The kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Command line.
    pub command_line: String,
    /// Length of a tick in nanoseconds (CONFIG_HZ), `None` if nothing says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<i64>,
    /// `/proc/sys/kernel/tainted`, 0 if not tainted.
    pub tainted: String,
    /// `/sys/power/state`.
    pub states: String,
    /// `/sys/power/mem_sleep`.
    pub mem_sleep: String,
}

/// What was asked of the recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Word written to `/sys/power/state`.
    pub state: String,
    /// `deep`, `s2idle`, or empty if it was left alone.
    pub mem_sleep: String,
    /// Level of `pm_test`; empty or `none` for a real sleep.
    pub pm_test: String,
    /// How the machine was woken.
    pub wake: String,
    /// Seconds between cycles.
    pub interval_s: u64,
    /// Cycles asked for.
    pub cycles: u32,
    /// Groups of additional events.
    pub detail: Vec<String>,
    /// Callbacks were left out on purpose.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub phases_only: bool,
}

/// A knob and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnobChange {
    /// Path of the file.
    pub path: String,
    /// Value before.
    pub old: String,
    /// Value while recording.
    pub new: String,
}

/// Something the recorder could not record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedLoss {
    /// A stable word.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// What the user can do about it.
    pub advice: String,
}

/// The member `stats.json` of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CycleStats {
    /// Number of the cycle, from 1.
    pub number: u32,
    /// Suspends (failed or not) since boot before this cycle; 0 marks the
    /// first one after boot.
    pub suspends_before: Option<u64>,
    /// 0 or the negative errno of the write to `/sys/power/state`.
    pub result: i32,
    /// Word written to `/sys/power/state`.
    pub state: String,
    /// `mem_sleep` in force: `deep`, `s2idle`, `shallow`.
    pub mem_sleep: String,
    /// `pm_test` in force.
    pub pm_test: String,
    /// `pm_async` in force.
    pub pm_async: Option<bool>,
    /// The clocks around the cycle.
    pub clocks: Clocks,
    /// Bytes of `Dirty` in `/proc/meminfo` just before.
    pub dirty_bytes: Option<u64>,
    /// Bytes of `Writeback` just before.
    pub writeback_bytes: Option<u64>,
    /// Files of `suspend_stats` whose value changed: after the cycle.
    pub suspend_stats_changed: BTreeMap<String, String>,
    /// What the CPU that spent least time in idle states of s2idle spent there during
    /// the cycle, us (`cpuidle/state*/s2idle/time`); `None` if there is no such state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s2idle_us: Option<u64>,
    /// Interrupt that woke the machine (`pm_wakeup_irq`), if it is known.
    pub wakeup_irq: Option<u32>,
    /// Names of wakeup sources whose count rose during the cycle.
    pub wakeup_sources: Vec<String>,
    /// Files that tell of the line that woke the machine: path and content.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub wake_line: BTreeMap<String, String>,
    /// Events that each CPU's trace buffer lost; CPUs without loss are left
    /// out.
    pub lost_events: BTreeMap<String, u64>,
    /// Kernel log records that were overwritten before they were read.
    pub log_records_lost: u64,
    /// The kernel's own counts over the cycle.
    pub counts: KernelCounts,
    /// Tasks in state D just before, of a recording with `freeze`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingTask>,
    /// What the probes of a recording with `inside` cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbeCost>,
    /// What was watched, if this is no sleep cycle but a recording of a machine
    /// that stayed awake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
}

/// Function probes over one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeCost {
    /// How often the kernel came by one, recorded or not.
    pub hits: u64,
    /// How often it could not follow one, because too many ran at once.
    pub missed: u64,
    /// What one of them took on that machine, ns, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each_ns: Option<u64>,
}

/// A task of a user that waited where it cannot be frozen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitingTask {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// What it waited in (`wchan`); empty if the kernel does not tell.
    pub function: String,
}

/// A recording of a machine that stays awake (`record --for` or `-- COMMAND`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    /// How long, in nanoseconds of the boot clock.
    pub ns: u64,
    /// The command that ran meanwhile, with its arguments; empty if none.
    pub command: Vec<String>,
    /// Its exit code; `None` without a command, or if a signal ended it.
    pub exit: Option<i32>,
    /// What one event took on that machine, ns, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_ns: Option<u64>,
    /// What one function probe took, ns, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_ns: Option<u64>,
}

/// Counts over one cycle from `/proc`, whoever caused them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelCounts {
    /// `kworker` threads that were not there before.
    pub workers_created: Option<u64>,
    /// `kworker` threads afterwards.
    pub workers: Option<u64>,
    /// `ctxt` of `/proc/stat`, all CPUs.
    pub context_switches: Option<u64>,
    /// `processes` of `/proc/stat`: every task created.
    pub tasks_created: Option<u64>,
}

/// Readings of three clocks just before and after the write that sleeps, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clocks {
    /// `CLOCK_MONOTONIC` before.
    pub monotonic_before: i64,
    /// `CLOCK_MONOTONIC` after.
    pub monotonic_after: i64,
    /// `CLOCK_BOOTTIME` before.
    pub boottime_before: i64,
    /// `CLOCK_BOOTTIME` after.
    pub boottime_after: i64,
    /// `CLOCK_REALTIME` before.
    pub realtime_before: i64,
    /// `CLOCK_REALTIME` after.
    pub realtime_after: i64,
}

impl Clocks {
    /// How long `CLOCK_MONOTONIC` stood still, in nanoseconds: 0 if it ran all
    /// the time.
    pub fn monotonic_stood_still(&self) -> i64 {
        let boot = self.boottime_after.saturating_sub(self.boottime_before);
        let mono = self.monotonic_after.saturating_sub(self.monotonic_before);
        boot.saturating_sub(mono).max(0)
    }
}

/// A row of `devices.tsv`. Text as sysfs has it; empty and `None` mean that
/// sysfs did not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceRow {
    /// Path below `/sys`, such as `/devices/pci0000:00/0000:00:1f.2`.
    pub devpath: String,
    /// The kernel's name of the device.
    pub name: String,
    /// `devpath` of the parent device; empty for none.
    pub parent: String,
    /// Bus or class.
    pub subsystem: String,
    /// Bound driver.
    pub driver: String,
    /// Module of the driver.
    pub module: String,
    /// `power/async`.
    pub async_flag: Option<bool>,
    /// `power/wakeup`: `Some` only for devices that can wake the system.
    pub wakeup: Option<bool>,
    /// `power/control`.
    pub control: String,
    /// `power/runtime_status`.
    pub runtime_status: String,
    /// `power/runtime_enabled`.
    pub runtime_enabled: String,
    /// `power/runtime_usage`.
    pub runtime_usage: String,
    /// `power/runtime_active_kids`.
    pub runtime_active_kids: String,
    /// `power/autosuspend_delay_ms`.
    pub autosuspend_delay_ms: String,
    /// Has no `power/` directory, so the PM core never visits it.
    pub no_pm: bool,
    /// `OF_FULLNAME` of `uevent`.
    pub of_fullname: String,
    /// Path of the firmware node (ACPI), from `firmware_node/path`.
    pub firmware_node: String,
    /// `MODALIAS` of `uevent`.
    pub modalias: String,
    /// What depends on the device: `root`, `console`, joined by commas.
    pub essential: String,
    /// A device of the laboratory's guest, not of the machine it plays.
    pub guest: bool,
    /// Belongs to a class (`Some(false)`: to a bus).
    pub class: Option<bool>,
}

/// A row of `links.tsv`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRow {
    /// `devpath` of the supplier.
    pub supplier: String,
    /// `devpath` of the consumer.
    pub consumer: String,
    /// `status`, such as `not tracked` or `active`.
    pub status: String,
    /// `sync_state_only`.
    pub sync_state_only: Option<bool>,
    /// `runtime_pm`.
    pub runtime_pm: Option<bool>,
    /// `auto_remove_on`.
    pub auto_remove_on: String,
}

/// A row of `names.tsv`: a device that stands for one of another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameRow {
    /// Name of the device in this recording; unique.
    pub guest: String,
    /// Name of the device it stands for.
    pub name: String,
    /// Driver (or what a trace prints in its place) of that device.
    pub driver: String,
    /// Bus or class of that device.
    pub subsystem: String,
    /// `devpath` of that device, if it was known.
    pub devpath: String,
}

/// One cycle of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CycleMembers {
    /// The text of the tracefs file `trace`.
    pub trace: Vec<u8>,
    /// The kernel log of the cycle, one record a line in the form of `dmesg`.
    pub dmesg: Vec<u8>,
    /// Everything else.
    pub stats: CycleStats,
    /// What sysfs says of idle states, before and after: a line `PATH:VALUE` for
    /// each file. Empty unless they were recorded.
    pub idle: [Vec<u8>; 2],
    /// What sysfs says of storage, in the same form, when the recording ended. Empty
    /// unless it was recorded.
    pub sysfs: Vec<u8>,
}

/// A whole capture file in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureFile {
    /// `capture.json`.
    pub document: Document,
    /// `devices.tsv`, in order of registration where sysfs told it.
    pub devices: Vec<DeviceRow>,
    /// `links.tsv`, in order of creation where sysfs told it.
    pub links: Vec<LinkRow>,
    /// `names.tsv`; empty for a machine recorded as itself.
    pub names: Vec<NameRow>,
    /// `domains.txt`: what sysfs and debugfs said of domains and suppliers.
    pub domains: Vec<u8>,
    /// `device-tree.dtb`; empty for a machine without.
    pub tree: Vec<u8>,
    /// The cycles, in order.
    pub cycles: Vec<CycleMembers>,
}

impl CaptureFile {
    /// The names of the devices that those of a guest stand for, by theirs; none of a machine
    /// that was recorded as itself.
    pub fn of_board(&self) -> HashMap<&str, &str> {
        let named = self.names.iter().filter(|r| !r.name.is_empty());
        named.map(|r| (r.guest.as_str(), r.name.as_str())).collect()
    }
}

/// `BUS:SUPPLIER--BUS:CONSUMER` (drivers/base/core.c:device_link_add), which is what a device
/// link is called, with the names of the board; `None` if it is none, or names no device of it.
pub fn link_of_board(name: &str, of_board: &HashMap<&str, &str>) -> Option<String> {
    let end = |text: &str| {
        let (bus, device) = text.split_once(':')?;
        Some(format!("{bus}:{}", of_board.get(device).unwrap_or(&device)))
    };
    let (supplier, consumer) = name.split_once("--")?;
    let renamed = format!("{}--{}", end(supplier)?, end(consumer)?);
    (renamed != name).then_some(renamed)
}
