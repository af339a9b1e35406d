//! What messages mean.

/// What a message of the core means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An attempt to sleep, or to read an image, begins.
    Begin,
    /// It goes on.
    Attempt,
    /// It is over.
    End,
    /// Data was written to disks.
    Sync,
    /// Tasks are stopped.
    Freeze,
    /// Tasks did not stop.
    Refused,
    /// Tasks go on.
    Thaw,
    /// A phase of devices is over.
    Phase,
    /// A callback of a device begins or is over.
    Callback,
    /// Devices change places in the list of dpm.
    Order,
    /// What a half of the devices took.
    Took,
    /// A device, or the core, gave the attempt up.
    Failed,
    /// A callback does not come back.
    Stuck,
    /// Something wakes the machine, or kept it from sleeping.
    Wakeup,
    /// CPUs go or come back.
    Cpus,
    /// One of them does not.
    CpusFailed,
    /// Callbacks of the system core.
    Core,
    /// Firmware is told, or a step of the platform.
    Platform,
    /// It refused, or did not answer.
    PlatformFailed,
    /// How deep the hardware slept.
    Depth,
    /// What the firmware wants of a device before it sleeps deep.
    Constraint,
    /// A device changes its power state.
    State,
    /// It does not.
    StateFailed,
    /// Time that stood still, and the clock that knows it.
    Clock,
    /// When the machine wakes by itself.
    Timer,
    /// A step of a hibernation's image.
    Image,
    /// The image was not made, written, found or read.
    ImageFailed,
    /// Part of a test of sleep.
    Test,
    /// A driver takes a device, or waits to.
    Probe,
    /// It does not.
    ProbeFailed,
    /// Devices that others need.
    Supplier,
    /// Runtime power management.
    Runtime,
    /// Power domains.
    Domain,
    /// Limits that keep states out.
    Qos,
    /// Registers are written back.
    Registers,
    /// Firmware is loaded.
    Firmware,
    /// It is not.
    FirmwareFailed,
    /// The machine stops for good.
    Shutdown,
    /// The kernel gives up, or finds itself wrong.
    Crash,
    /// A setting, or what a driver does for a kind of machine.
    Setting,
    /// Nothing to do with sleep.
    Nothing,
    /// A line of a file, read with its table.
    Value,
}

/// Each by its name in the table.
const NAMES: [(&str, Meaning); 42] = [
    ("begin", Meaning::Begin),
    ("attempt", Meaning::Attempt),
    ("end", Meaning::End),
    ("sync", Meaning::Sync),
    ("freeze", Meaning::Freeze),
    ("refused", Meaning::Refused),
    ("thaw", Meaning::Thaw),
    ("phase", Meaning::Phase),
    ("callback", Meaning::Callback),
    ("order", Meaning::Order),
    ("took", Meaning::Took),
    ("failed", Meaning::Failed),
    ("stuck", Meaning::Stuck),
    ("wakeup", Meaning::Wakeup),
    ("cpus", Meaning::Cpus),
    ("cpus-failed", Meaning::CpusFailed),
    ("core", Meaning::Core),
    ("platform", Meaning::Platform),
    ("platform-failed", Meaning::PlatformFailed),
    ("depth", Meaning::Depth),
    ("constraint", Meaning::Constraint),
    ("state", Meaning::State),
    ("state-failed", Meaning::StateFailed),
    ("clock", Meaning::Clock),
    ("timer", Meaning::Timer),
    ("image", Meaning::Image),
    ("image-failed", Meaning::ImageFailed),
    ("test", Meaning::Test),
    ("probe", Meaning::Probe),
    ("probe-failed", Meaning::ProbeFailed),
    ("supplier", Meaning::Supplier),
    ("runtime", Meaning::Runtime),
    ("domain", Meaning::Domain),
    ("qos", Meaning::Qos),
    ("registers", Meaning::Registers),
    ("firmware", Meaning::Firmware),
    ("firmware-failed", Meaning::FirmwareFailed),
    ("shutdown", Meaning::Shutdown),
    ("crash", Meaning::Crash),
    ("setting", Meaning::Setting),
    ("nothing", Meaning::Nothing),
    ("value", Meaning::Value),
];

impl Meaning {
    /// By its name in the table.
    pub(crate) fn named(name: &str) -> Option<Meaning> {
        NAMES.iter().find(|n| n.0 == name).map(|n| n.1)
    }

    /// As the table names it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|n| n.1 == self).map_or("", |n| n.0)
    }
}
