//! A board: devices with the work of each callback. What the simulator runs,
//! what the lab builds in a guest, and what a board file describes.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod assumed;
pub mod classes;
pub mod derive;
pub mod domain;
pub mod generate;
pub mod inside;
pub mod machine;
pub mod order;
mod parents;
pub mod printing;
mod read;
pub mod rest;
pub mod soc;
pub mod summary;
mod switched;
pub mod threads;
pub mod trips;
pub mod walk;
mod words;
mod write;

pub use read::{BoardError, CALLBACKS, VERSION, parse};
pub use words::{parse_duration, print_duration};
pub use write::print;

use dormouse_base::device::DeviceGraph;
use dormouse_base::names::Names;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_base::trip::Trip;

/// What one callback does. Absent callbacks are `None` in [`BoardDevice::work`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Work {
    /// Time spent sleeping (waiting for hardware): needs no CPU.
    pub sleep: Ns,
    /// Time spent computing on a CPU of speed 1.
    pub compute: Ns,
    /// Return value: 0, a negative errno, or positive from `prepare` to ask
    /// for direct-complete.
    pub ret: i32,
    /// Lock (from 1) held for the whole callback; 0 for none. Callbacks with
    /// the same lock exclude each other.
    pub lock: u32,
}

/// What a board adds to a device of the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoardDevice {
    /// Work of each callback by [`Phase::device_index`]: prepare, suspend,
    /// late, noirq, noirq, early, resume, complete. All `None` is the kernel's
    /// `no_pm_callbacks`.
    pub work: [Option<Work>; 8],
    /// Has a wakeup source: a `no_pm` child that counts in the leaf test from
    /// 6.16 on (device_find_any_child(), drivers/base/core.c), and `device_may_wakeup`.
    pub wakeup: bool,
    /// Runtime-suspended when the cycle begins.
    pub runtime_suspended: bool,
    /// `DPM_FLAG_NO_DIRECT_COMPLETE`.
    pub no_direct_complete: bool,
    /// The power domain it is in, as a place in [`Board::domains`].
    pub domain: Option<u32>,
    /// Its driver never enabled runtime power management, so at run time its domain
    /// stays on (debugfs says `unsupported`).
    pub rpm_disabled: bool,
    /// Resume latency QoS: how long its users may wait until it works again
    /// (`power/pm_qos_resume_latency_us`); 0 forbids that it is suspended at run time,
    /// and without there is no limit.
    pub qos: Option<Ns>,
    /// Runtime power management, of devices that have it.
    pub runtime: Runtime,
}

/// Runtime power management of a device. It is enabled where either callback exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// What `runtime_suspend` and `runtime_resume` do.
    pub work: [Option<Work>; 2],
    /// The suspend callback first resumes the device, as that of the PCI bus does without
    /// `DPM_FLAG_SMART_SUSPEND` (drivers/pci/pci-driver.c:pci_pm_suspend, 6.1 to 7.3).
    pub first: bool,
    /// Usage count that somebody holds.
    pub usage: u32,
    /// Delay of autosuspend in milliseconds, if it is used.
    pub autosuspend_ms: Option<u32>,
}

impl Runtime {
    /// Whether it is enabled.
    pub fn enabled(&self) -> bool {
        self.work.iter().any(Option::is_some)
    }
}

impl BoardDevice {
    /// No system-sleep callback at all.
    pub fn no_callbacks(&self) -> bool {
        self.work.iter().all(Option::is_none)
    }

    /// The work of `phase`, if it has that callback.
    pub fn in_phase(&self, phase: Phase) -> Option<Work> {
        phase.device_index().and_then(|i| self.work[i])
    }
}

/// Where the times of a board come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// Recorded, or written by whoever wrote the board.
    #[default]
    Measured,
    /// Drawn by class for a machine that only udev or a device tree describes: its real
    /// times are others.
    Assumed,
    /// Drawn by class for an invented machine: it has no others.
    Invented,
}

/// A machine as the simulator sees it. `graph.devices[i]` and `devices[i]` are
/// the same device; `graph` is in `dpm_list` order. A device's
/// `async_flag: None` counts as synchronous.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Where its times come from. Whatever is answered of the board says so.
    pub times: Times,
    /// Names that `graph` refers to.
    pub names: Names,
    /// Devices and links.
    pub graph: DeviceGraph,
    /// Work, parallel to `graph.devices`.
    pub devices: Vec<BoardDevice>,
    /// Number of CPUs.
    pub cpus: u32,
    /// `/sys/power/pm_async`.
    pub pm_async: bool,
    /// Power domains, parents before what is inside them.
    pub domains: Vec<domain::Domain>,
    /// What callbacks wait for, as far as a recording says it: part of the sleep in `devices`. A
    /// board file has none.
    pub inside: Vec<inside::Waited>,
    /// Which callbacks `devices` has the work of: those of suspend and resume, or
    /// of a part of a hibernation. A board file is of the first kind.
    pub trip: Trip,
}
