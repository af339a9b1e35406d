//! What a device of a class probably does in a sleep cycle, where a source
//! names the devices but not their times (device lists, device trees).
//!
//! Times are the tenth to ninetieth percentile of 40 cycles of a Dell XPS 13
//! 9360 (kernel 5.3, suspend to memory, the pm-graph project's "multitest"
//! recordings), grouped by class. Rows marked E have no example on that machine
//! and are estimates. Which classes are asynchronous is what their subsystems
//! ask for in kernels 6.1 to 7.3; drivers that ask on their own are not known.

use super::generate::Durations;
use super::{BoardDevice, Work};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;

/// What is known of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Described<'a> {
    /// Bus or class.
    pub subsystem: &'a str,
    /// `DEVTYPE`, such as `usb_interface`; empty if not known.
    pub devtype: &'a str,
    /// Name.
    pub name: &'a str,
    /// Driver; empty if none is bound.
    pub driver: &'a str,
}

/// A callback that a class has: which (by `Phase::device_index`), in how many
/// of 100 devices, and its shortest and longest usual time in nanoseconds.
type Callback = (usize, u32, i64, i64);

const SUSPEND: usize = 1;
const LATE: usize = 2;
const NOIRQ: usize = 3;
const RESUME_NOIRQ: usize = 4;
const EARLY: usize = 5;
const RESUME: usize = 6;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// A callback shorter than this computes; a longer one waits for hardware.
const COMPUTING_BELOW: Ns = Ns(10 * US);

/// A bus with callbacks of its own and nothing to do.
const IDLE: &[Callback] = &[(SUSPEND, 100, 200, US), (RESUME, 100, 200, US)];

/// Whether the class is asynchronous by default, and its callbacks.
fn class(d: &Described<'_>) -> (bool, &'static [Callback]) {
    let bound = !d.driver.is_empty();
    match d.subsystem {
        "pci" if d.driver == "pcieport" => (
            true,
            &[
                (SUSPEND, 100, US, 6 * US),
                (NOIRQ, 100, 100 * US, 20 * MS),
                (RESUME_NOIRQ, 100, 350 * US, 20 * MS),
                (RESUME, 100, 2 * US, 1400 * US),
            ],
        ),
        "pci" if bound => (
            true,
            &[
                (SUSPEND, 100, US, 100 * MS),
                (LATE, 100, 300, US),
                (NOIRQ, 100, 17 * MS, 21 * MS),
                (RESUME_NOIRQ, 100, 16 * MS, 45 * MS),
                (EARLY, 20, 5 * US, 600 * US),
                (RESUME, 100, US, 15 * MS),
            ],
        ),
        "pci" => (
            true,
            &[
                (SUSPEND, 100, 300, US),
                (NOIRQ, 100, 750 * US, 1800 * US),
                (RESUME_NOIRQ, 100, 50 * US, 200 * US),
                (RESUME, 100, 300, 2 * US),
            ],
        ),
        "pci_express" | "mei" => (true, &[]),
        "usb" if d.devtype == "usb_interface" || d.name.contains(':') => (true, &[]),
        "usb" => (true, &[(SUSPEND, 100, 70 * US, 45 * MS), (RESUME, 100, 270 * US, 170 * MS)]),
        "ieee80211" => (true, &[(SUSPEND, 100, MS, 100 * MS), (RESUME, 100, MS, 640 * MS)]),
        "hdaudio" => (false, &[(SUSPEND, 100, US, 25 * MS), (RESUME, 100, US, 47 * MS)]),
        "i2c" if bound => (
            true,
            &[
                (SUSPEND, 100, 300, 5 * MS),
                (NOIRQ, 30, US, 3 * US),
                (RESUME_NOIRQ, 30, US, 3 * US),
                (RESUME, 100, 300, 7 * MS),
            ],
        ),
        "i2c" => (true, &[]),
        // E: no such device on that machine.
        "hid" if bound => (true, &[(SUSPEND, 100, 300, 100 * US), (RESUME, 100, 300, MS)]),
        "hid" => (true, &[]),
        "platform" | "amba" if bound => (
            false,
            &[
                (SUSPEND, 100, 300, MS),
                (LATE, 20, 300, 65 * US),
                (NOIRQ, 20, US, 2500 * US),
                (RESUME_NOIRQ, 20, US, 2500 * US),
                (EARLY, 20, 300, 12 * US),
                (RESUME, 100, 300, MS),
            ],
        ),
        "platform" | "amba" => (false, IDLE),
        "pnp" if bound => (false, &[(SUSPEND, 100, 200, 83 * US), (RESUME, 100, 200, 170 * US)]),
        "pnp" => (false, IDLE),
        "acpi" if bound && d.driver != "processor" => {
            (false, &[(SUSPEND, 50, 200, US), (RESUME, 50, US, 3 * MS)])
        }
        "serio" if bound => {
            (false, &[(SUSPEND, 100, 140 * US, 1700 * US), (RESUME, 100, US, 740 * US)])
        }
        // input5 has callbacks; its children event5 and mouse1 have none.
        "input" if d.name.starts_with("input") => (false, IDLE),
        "sound" if d.name.starts_with("card") => (false, &[(SUSPEND, 100, 200, US)]),
        "leds" => (false, IDLE),
        "rfkill" => (false, &[(SUSPEND, 100, 200, US), (RESUME, 100, 3 * US, 6 * US)]),
        "regulator" => (false, &[(SUSPEND, 100, 300, US), (RESUME, 100, US, 2 * US)]),
        // E from here on.
        "rtc" => (false, &[(SUSPEND, 100, US, 10 * US), (RESUME, 100, US, 10 * US)]),
        "mmc" => (true, &[(SUSPEND, 100, MS, 20 * MS), (RESUME, 100, 10 * MS, 60 * MS)]),
        "sdio" => (true, IDLE),
        "mdio_bus" if bound => (false, &[(SUSPEND, 100, 100 * US, MS), (RESUME, 100, MS, 50 * MS)]),
        "scsi" if d.driver == "ufs_device_wlun" => {
            (true, &[(SUSPEND, 100, 2 * MS, 15 * MS), (RESUME, 100, 2 * MS, 15 * MS)])
        }
        "scsi" if d.devtype == "scsi_device" && bound => {
            (true, &[(SUSPEND, 100, 5 * MS, 500 * MS), (RESUME, 100, 10 * US, 10 * MS)])
        }
        "scsi" => (true, IDLE),
        // Not the class `ata_port`, but the port itself, which has no bus.
        "ata" => (true, &[(SUSPEND, 100, 100 * US, 10 * MS), (RESUME, 100, 10 * MS, 700 * MS)]),
        "virtio" if bound => (false, &[(SUSPEND, 100, 50 * US, MS), (RESUME, 100, 50 * US, MS)]),
        "spi" | "auxiliary" if bound => (false, &[(SUSPEND, 100, 300, MS), (RESUME, 100, 300, MS)]),
        _ => (false, &[]),
    }
}

/// Whether devices like this are asynchronous by default.
pub fn is_async(device: &Described<'_>) -> bool {
    class(device).0
}

/// Draws the callbacks of a device like this.
pub fn draw(device: &Described<'_>, random: &mut Random) -> BoardDevice {
    let mut out = BoardDevice::default();
    for &(phase, percent, low, high) in class(device).1 {
        if random.chance(u64::from(percent), 100) {
            out.work[phase] = Some(work(Durations { low: Ns(low), high: Ns(high) }, random));
        }
    }
    out
}

/// Draws one callback.
pub(super) fn work(durations: Durations, random: &mut Random) -> Work {
    let time = durations.draw(random);
    if time < COMPUTING_BELOW {
        Work { compute: time, ..Work::default() }
    } else {
        Work { sleep: time, ..Work::default() }
    }
}

/// What a file says about times that were drawn this way.
pub fn assumption(seed: u64) -> std::string::String {
    std::format!(
        "ASSUMED, NOT MEASURED: every time below, which callbacks exist, and which devices are\n\
         async. Drawn by class with seed {seed}; the classes are those of a Dell XPS 13 9360\n\
         (kernel 5.3) and estimates, see docs/board-format.md. Use a recording for real times."
    )
}
