//! What the files of a machine say of its next sleep, without words.

/// A task that waited where it cannot be frozen, in several looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Looks at which it was in state D, and looks in all.
    pub looks: (u32, u32),
    /// The function that it waited in, if the kernel tells.
    pub function: Option<String>,
}

/// A disk that has data to write, as it was seen while the machine was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Its name, such as `sdb`.
    pub name: String,
    /// Its number, such as `8:16`.
    pub number: String,
    /// Bytes that a sync would wait for.
    pub left: u64,
    /// Bytes a second; `None` if it did not write all the time.
    pub rate: Option<u64>,
    /// It can be taken out, or is on USB.
    pub removable: bool,
}

/// A setting of `/sys/power` that changes what a sleep is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `pm_test` is at this level: a sleep ends after 5 s.
    Test(String),
    /// `pm_trace` is on.
    Trace,
    /// `pm_async` is off.
    Synchronous,
    /// `pm_freeze_timeout`, ms.
    FreezeTimeout(u64),
    /// `pm_print_times` is on.
    PrintTimes,
    /// `sync_on_suspend` is off.
    SyncOff,
    /// `freeze_filesystems` is on.
    FreezeFiles,
    /// `autosleep` goes to this state.
    Autosleep(String),
}

/// Why a CPU has no idle state that s2idle can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shallow {
    /// The driver has no such state; its name.
    Driver(String),
    /// This state is one, and somebody switched it off.
    Disabled(String),
}

/// What is so now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it, with their variant's comment")]
pub enum Now {
    /// `/sys/power/state` names no state: this kernel cannot sleep here.
    NoState,
    /// A setting is not as usual.
    Knob(Knob),
    /// CPUs without an idle state for s2idle, of so many.
    NoS2idleState { cpus: Vec<u32>, of: usize, why: Shallow },
    /// Attempts failed since boot; the last device, its error and the step, if the
    /// kernel tells.
    AttemptsFailed { failed: u64, slept: u64, device: String, error: i32, step: String },
    /// Wakeup sources that are active now.
    SourcesActive { names: Vec<String> },
    /// Clocks that may not wake the machine: all there are.
    NoAlarm { clocks: Vec<String> },
    /// Alarms of these tasks are due within 2 s.
    AlarmSoon { holders: Vec<String> },
    /// No device to resume from.
    NoResumeDevice,
    /// Swap is smaller than an image may be, bytes; 0 if there is none.
    SwapSmall { free: u64, image: u64 },
    /// A task that freezing would wait for.
    TaskWaits(Waiting),
    /// A task that runs under a real-time policy without a pause.
    Spins(Waiting),
    /// Servers of FUSE file systems in the user's session, with names and numbers.
    FuseServers { servers: Vec<(String, u32)> },
    /// Data that a sync before sleep would write, bytes.
    Dirty { bytes: u64 },
    /// One disk has nearly all of what a sync would wait for, and is slow.
    SlowDisk(Writer),
    /// So many bytes may be dirty before writers wait, for this slowest disk.
    DirtyLimit { limit: u64, disk: Writer },
    /// A kernel that gives up a sync for a wakeup, and nobody arms it.
    NobodyArms { kernel: String },
    /// The line of this device woke the machine, and the device counted no event.
    WakeNotCounted { device: String, irq: String },
    /// File systems on fuseblk, on a kernel whose sync asks their servers.
    FuseBlock { mounts: Vec<String> },
    /// Devices that may not suspend at run time; the share of the first, per cent.
    ManyForbidden { devices: Vec<String>, awake_percent: u64 },
}
