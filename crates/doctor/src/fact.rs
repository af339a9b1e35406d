//! What a rule found, as facts. The sentences and the advice are made of them
//! where all words are (`crates/words/src/wording/doctor.rs`).

use crate::depth::Depth;
use crate::freezing::Why;
use crate::now::Now;
use crate::phases::Misplaced;
use dormouse_base::time::Ns;

/// A device, as a message names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its driver; empty if the message does not say.
    pub driver: String,
}

/// A task that would not freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// 0 if the text does not say.
    pub pid: u32,
}

/// What a task that did not freeze was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A request to the server of a FUSE file system.
    Fuse,
    /// A request to the server of a network file system.
    NetworkFiles,
    /// Trimming of a file system.
    Trim,
    /// A fast commit of ext4.
    FastCommit,
    /// An automatic mount.
    Automount,
    /// A page of a file, in a page fault.
    PageFault,
    /// A device that a module looks for (`async_synchronize_full`).
    ModuleLoad,
    /// A device that answers a probe.
    Probe,
    /// The lock of a device that is being probed.
    DeviceLock,
    /// Dirty data.
    Writeback,
    /// A file system that somebody froze.
    FrozenFiles,
    /// A disk.
    Disk,
    /// Nothing: a thread of the kernel that never asks to be frozen.
    KernelLoop,
    /// State D, and the text does not show why.
    Uninterruptible,
    /// It ran in the kernel.
    Running,
    /// A thread of the kernel; nothing more is known.
    KernelThread,
    /// Nothing is known.
    Unknown,
}

/// Who used a bus that was suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// A work item, by its function.
    Work(String),
    /// An operation region of the firmware (ACPI).
    Firmware,
    /// A function.
    Function(String),
    /// The text does not say.
    Unknown,
}

/// What drivers/base/power/runtime.c complains of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it, with their variant's comment")]
pub enum RpmFault {
    /// Put more often than got.
    Underflow,
    /// Called active under a suspended parent.
    ParentOff,
    /// Enabled twice.
    Unbalanced,
    /// The kernel crashed in a callback; the device is the function.
    Crash,
    /// A callback failed with this error; whether a later one did not.
    Failed { resume: bool, error: i32, again: bool },
    /// `runtime_status` is `error`.
    Error,
    /// `runtime_status` stays at `resuming`, or else at `suspending`.
    Stuck { resuming: bool },
}

/// What was found. Counts are of the text; times are ns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it, with their variant's comment")]
pub enum Fact {
    /// A callback never returned.
    CallbackHung { device: String },
    /// A CPU could not be switched off; empty if the text does not say which.
    CpuStayedOn { cpu: String },
    /// A device ended attempts to sleep; a hub said just before that this device
    /// below it was not suspended.
    DeviceFailed { device: Device, error: i32, times: usize, usb: bool, awake: Option<String> },
    /// Devices that failed on the way up, all with one error.
    DevicesNotResumed { devices: Vec<Device>, error: i32 },
    /// Devices that did not answer when their power was to come back from this state.
    NotPowered { devices: Vec<Device>, from: String },
    /// A wakeup ended the sleep, perhaps set off inside a suspend callback.
    WakeupPending { sources: Vec<String>, in_callback: bool },
    /// Devices came back, and tasks were not started again, as far as the text goes; the
    /// line where that attempt began.
    NoWayBack { line: u64 },
    /// A program's write to `/sys/power/state` failed so often, first with this error.
    WriteRefused { error: i32, times: usize },
    /// A device or a wakeup ended this many sleeps.
    EndedUnknown { sleeps: usize },
    /// After a failure somebody took another mode.
    OtherMode { failed: String, gap: Ns, instead: String, slept: bool },
    /// A second sleep was asked for inside one.
    TwoWriters,
    /// An alarm was due at once.
    AlarmDue,
    /// The RTC took no alarm; it may say that the alarm lies too far ahead.
    AlarmRefused { too_far: bool },
    /// Tasks that refused together for one reason; and those that waited for the
    /// lock of a device, where these were in a probe.
    /// And how many more refused then that the text does not show.
    TasksRefused {
        tasks: Vec<Named>,
        after: Ns,
        times: usize,
        wait: Wait,
        behind: Vec<Named>,
        unnamed: u64,
    },
    /// Tasks refused, and the text does not list them.
    TasksUnnamed { tasks: u64, after: Ns, times: usize },
    /// A workqueue was busy; meanwhile a device may have timed out.
    WorkqueueBusy { name: Option<String>, after: Ns, timed_out: Option<String> },
    /// systemd could not freeze the session.
    SessionNotFrozen,
    /// Freezing took long.
    FreezingSlow { worst: Ns, slow: usize, of: usize },
    /// Memory could not hold the image; empty if the text does not say how much.
    ImageShort { pages: String },
    /// No swap at all, or no room in it; or only a program says so.
    NoSwap { none: bool, program: bool },
    /// The image is another kernel's, or of another map of memory.
    ImageOfOther { memory: bool },
    /// The image was read, and a device of the kernel that read it did not stop.
    ImageRefused { device: Device, error: i32 },
    /// The image could not be read.
    ImageUnread,
    /// The kernel is locked down and lets nobody hibernate.
    LockedDown,
    /// The disk with the image failed: of this number, such as `8:0`, while the image was
    /// written or read.
    ImageDisk { disk: String, write: bool },
    /// An old kernel of Android gave up a sleep that did not get on; where its thread
    /// stood, if the text shows it.
    SuspendTimeout { place: Option<String> },
    /// A crash after the image was made.
    HibernationCrash,
    /// The kernel crashed while devices went down, or came back; in which function, if
    /// its stack is in the text.
    SleepCrash { function: Option<String>, back: bool },
    /// The platform said that it stayed awake; or already the processor did.
    NotDeepest { times: usize, processor: bool },
    /// A driver says that the machine is not set up for s2idle: its firmware, else the kernel
    /// (without the driver of the power management unit).
    NotPrepared { firmware: bool },
    /// Seconds in hardware sleep of those that it lasted, and per cent.
    DeepShare { deep_s: i64, of_s: i64, percent: i64 },
    /// The processor slept, and the platform never did.
    PlatformAwake,
    /// The platform's counters stand at 0.
    NothingCounted,
    /// Result of a self-test, in thousandths of a per cent; whether that is a sleep
    /// of the hardware.
    SelfTest { s0ix: u64, package: Option<u64>, slept: bool },
    /// What woke an s2idle sleep.
    WokenBy { irqs: Vec<(String, usize)>, acpi: bool, gpes: Vec<String> },
    /// One sleep was interrupted this often.
    Turns { interruptions: usize },
    /// A bus was used while it was suspended, or marked so outside a sleep.
    BusUsed { bus: String, user: User, awake: bool },
    /// A bus timed out while interrupts of devices were off.
    BusTimedOut { device: String, times: usize },
    /// `pm_trace` was on in a sleep.
    TraceWasOn,
    /// The next sleep began before a disk was back.
    DiskNotBack { gap: Ns, disk: String },
    /// A device is gone since a sleep, seconds after it, negative inside it; a driver may have reported errors before.
    DeviceLost { after_s: i64, reported: Option<String> },
    /// Runtime power management complained.
    RpmFault { device: String, fault: RpmFault },
    /// A device may not suspend at run time. `folder` is its `power/`.
    RpmForbidden { device: String, folder: String, awake_percent: u64 },
    /// A device may suspend at run time and does not; its usage count, unless 0.
    RpmHeld { device: String, usage: Option<String> },
    /// What the files of the machine say of its next sleep.
    Now(Now),
    /// A sync that did not end, perhaps for a FUSE file system.
    SyncHung { fuse: bool },
    /// A sync that takes long.
    SyncLong { median: Ns, of: usize, worst: Ns },
    /// Devices whose callbacks run long where device interrupts are off, and the longest
    /// callback.
    WaitsInNoirq { devices: Vec<Device>, worst: Ns },
    /// A power domain that was switched in the callback of the device that came first of
    /// it, or last. Without a name it is inferred of that callback. Whether nobody used it
    /// before; how long after nobody had; devices that waited meanwhile.
    DomainSwitched {
        domain: Option<String>,
        on: bool,
        time: Ns,
        device: Option<Device>,
        unused: bool,
        idle_after: Option<Ns>,
        waited: Vec<String>,
    },
    /// A callback in the wrong phase, or a sync.
    Misplaced(Misplaced),
    /// So deep were so many s2idle sleeps, by what was measured around them.
    SleptAs { depth: Depth, times: usize, of: usize },
    /// A task that all others waited for: by how much, and what of the kernel's sleep was
    /// left then. `function` is what it waited in before.
    FreezeBlocker { task: Named, cost: Ns, polling: Ns, why: Why, function: Option<String> },
    /// Everything was frozen this long before the kernel looked.
    FreezePolling { worst: Ns },
    /// A device was resumed at run time, only to be suspended for the sleep.
    WokenToSuspend { device: Device, saving: Ns },
    /// The same of one that was resumed because a child was.
    WokenWithChild { device: Device, child: Device, saving: Ns },
    /// Devices that were suspended at run time and not left alone, and who below the
    /// first ran.
    DirectMissed { devices: Vec<Device>, by: Option<Device> },
    /// A device was suspended again right after the sleep, unused.
    SuspendedAfter { device: Device, saving: Ns },
    /// A device was asked for when runtime PM was off.
    LateUse { device: Device },
    /// The clock of the recording went on by the time asleep inside a resume phase.
    ClockStepped { times: usize, of: usize },
}
