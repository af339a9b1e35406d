//! Logs of sleeps that are made up, and what is true of them. The words are those of the
//! kernels; names, times and causes are drawn.

use crate::Line;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;

/// Whose words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// 6.1.
    V6_1,
    /// 6.12.
    V6_12,
    /// 7.3.
    V7_3,
}

impl Kernel {
    /// Each, oldest first.
    pub const ALL: [Kernel; 3] = [Kernel::V6_1, Kernel::V6_12, Kernel::V7_3];

    /// As `uname -r` begins.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::V6_1 => "6.1",
            Kernel::V6_12 => "6.12",
            Kernel::V7_3 => "7.3",
        }
    }
}

/// What goes wrong in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// A device refuses.
    Device {
        /// Its driver.
        driver: &'static str,
        /// It.
        device: &'static str,
        /// `suspend`, `suspend late`, `suspend noirq`.
        phase: &'static str,
        /// What the callback returned.
        error: i32,
    },
    /// A task does not freeze.
    Task {
        /// Its name.
        task: &'static str,
    },
    /// A wake-up while tasks freeze.
    WakeupFreezing,
    /// A wake-up while devices go down.
    WakeupDevices {
        /// What woke.
        source: &'static str,
    },
}

/// One attempt, and what is true of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// `deep` or `s2idle`.
    pub mode: &'static str,
    /// What went wrong.
    pub trouble: Trouble,
    /// What the kernel says that the devices took on their way down, where it says so.
    pub suspend: Option<Ns>,
    /// The same on their way up.
    pub resume: Option<Ns>,
    /// Lines of the log that are of it.
    pub lines: std::ops::Range<usize>,
}

/// A log, and what is true of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Whose words.
    pub kernel: Kernel,
    /// The log.
    pub lines: Vec<Line>,
    /// In its order.
    pub attempts: Vec<Attempt>,
}

const DEVICES: [(&str, &str); 8] = [
    ("nvme", "0000:3b:00.0"),
    ("vexsnd", "0000:00:1c.7"),
    ("i2c_hid_acpi", "i2c-ZORB7780:00"),
    ("usb", "5-2.3"),
    ("dwc3-fnord", "fe300000.usb"),
    ("sdhci-quux", "fe2b0000.mmc"),
    ("r8169", "0000:07:00.0"),
    ("tpm_tis", "ZRB0101:00"),
];
const TASKS: [&str; 6] =
    ["fnordd", "zorble-sync", "kworker/u16:9", "mount.quux", "vexplayer", "md7_resync"];
const SOURCES: [&str; 4] = ["ZRB0C0D:00", "0000:00:14.0", "alarmtimer.4.auto", "wibble-gpio"];

/// A log of `sleeps` attempts, the troubles of which are drawn.
pub fn story(kernel: Kernel, sleeps: usize, random: &mut Random) -> Story {
    let time = 1_000_000 * random.between(40, 9_000) as i64;
    let mut t = Teller { kernel, time, frozen: false, lines: Vec::new(), random };
    let mut attempts = Vec::new();
    for _ in 0..sleeps {
        for _ in 0..t.random.below(3) {
            t.say(300_000, "usb 5-1: new full-speed USB device number 9 using xhci_hcd");
        }
        attempts.push(t.attempt());
        t.time += 1_000_000 * t.random.between(3, 900) as i64;
    }
    Story { kernel, lines: t.lines, attempts }
}

struct Teller<'a> {
    kernel: Kernel,
    /// Microseconds.
    time: i64,
    frozen: bool,
    lines: Vec<Line>,
    random: &'a mut Random,
}

impl Teller<'_> {
    /// Prints `text` at most `within` microseconds later.
    fn say(&mut self, within: u64, text: impl Into<String>) {
        self.time += 20 + self.random.below(within + 1) as i64;
        let time = Ns(self.time * 1_000);
        self.lines.push(Line {
            time,
            level: 6,
            thread: 2_417,
            frozen: self.frozen,
            text: text.into(),
        });
    }

    fn one<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }

    /// A phase of devices that takes so many milliseconds, as its line says.
    fn phase(&mut self, name: &str, low: u64, high: u64) -> Ns {
        let us = self.random.between(low * 1_000, high * 1_000) as i64;
        self.time += us;
        self.say(
            5,
            format!("PM: {name} of devices complete after {}.{:03} msecs", us / 1_000, us % 1_000),
        );
        Ns(us * 1_000)
    }

    fn attempt(&mut self) -> Attempt {
        let first = self.lines.len();
        let mode = self.one(&["deep", "s2idle"]);
        let (driver, device) = self.one(&DEVICES);
        let trouble = match self.random.below(8) {
            0 | 1 => Trouble::Device {
                driver,
                device,
                phase: self.one(&["suspend", "suspend late", "suspend noirq"]),
                error: self.one(&[-16, -110, -5, -19]),
            },
            2 => Trouble::Task { task: self.one(&TASKS) },
            3 => Trouble::WakeupFreezing,
            4 => Trouble::WakeupDevices { source: self.one(&SOURCES) },
            _ => Trouble::None,
        };
        let mut out = Attempt { mode, trouble, suspend: None, resume: None, lines: first..first };
        self.say(900, format!("PM: suspend entry ({mode})"));
        let sync = self.random.below(90);
        self.time += sync as i64 * 1_000;
        self.say(9, format!("Filesystems sync: 0.{sync:03} seconds"));
        if self.freeze(&out.trouble) {
            self.devices(&mut out);
            self.say(90, "OOM killer enabled.");
        }
        self.thaw();
        self.say(400, "PM: suspend exit");
        out.lines.end = self.lines.len();
        out
    }

    /// Whether all tasks stopped.
    fn freeze(&mut self, trouble: &Trouble) -> bool {
        self.say(200, "Freezing user space processes");
        let failed = match self.kernel {
            Kernel::V6_1 => "Freezing of tasks",
            _ => "Freezing user space processes",
        };
        match trouble {
            Trouble::Task { task } => {
                let ms = self.random.below(20);
                self.time += 20_000_000 + ms as i64 * 1_000;
                self.say(5, format!("{failed} failed after 20.{ms:03} seconds (1 tasks refusing to freeze, wq_busy=0):"));
                self.say(5, format!("task:{task:<15} state:D stack:0     pid:1907  tgid:1907  ppid:1      flags:0x00004006"));
                self.say(5, "Call Trace:");
                self.say(2, " <TASK>");
                self.say(2, " __schedule+0x3c3/0xb00");
                self.say(2, " schedule+0x5a/0xd0");
                self.say(2, " wibble_wait_reply+0x91/0x1c0 [wibble]");
                self.say(2, " </TASK>");
                return false;
            }
            Trouble::WakeupFreezing => {
                let ms = self.random.between(1, 900);
                self.time += ms as i64 * 1_000;
                self.say(5, format!("{failed} aborted after 0.{ms:03} seconds (4 tasks refusing to freeze, wq_busy=0):"));
                return false;
            }
            _ => {}
        }
        self.frozen = true;
        self.time += 1_000;
        self.say(800, "Freezing user space processes completed (elapsed 0.001 seconds)");
        self.say(20, "OOM killer disabled.");
        self.say(20, "Freezing remaining freezable tasks");
        self.time += 1_000;
        self.say(500, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)");
        true
    }

    fn thaw(&mut self) {
        self.frozen = false;
        if self.kernel == Kernel::V7_3 {
            self.say(90, "Restarting tasks: Starting");
            self.say(2_000, "Restarting tasks: Done");
        } else {
            self.say(900, "Restarting tasks ... done.");
        }
    }

    fn devices(&mut self, a: &mut Attempt) {
        self.say(90, "printk: Suspending console(s) (use no_console_suspend to debug)");
        let fails =
            |name: &str| matches!(&a.trouble, Trouble::Device { phase, .. } if *phase == name);
        let (suspend, late, noirq) =
            (fails("suspend"), fails("suspend late"), fails("suspend noirq"));
        if let Trouble::WakeupDevices { source } = a.trouble {
            self.time += self.random.between(2_000, 200_000) as i64;
            self.say(9, "PM: Wakeup pending, aborting suspend");
            self.say(9, format!("PM: last active wakeup source: {source}"));
            self.say(9, "PM: Some devices failed to suspend, or early wake event detected");
            a.resume = Some(self.phase("resume", 20, 900));
            return;
        }
        if suspend {
            self.refuse(a);
            self.say(9, "PM: Some devices failed to suspend, or early wake event detected");
            a.resume = Some(self.phase("resume", 20, 900));
            return;
        }
        a.suspend = Some(self.phase("suspend", 30, 900));
        if late {
            self.refuse(a);
            self.say(9, "PM: late suspend of devices failed");
            a.resume = Some(self.phase("resume", 20, 900));
            return;
        }
        self.phase("late suspend", 1, 20);
        if noirq {
            self.refuse(a);
            self.say(9, "PM: noirq suspend of devices failed");
        } else {
            self.phase("noirq suspend", 1, 60);
            self.asleep(a.mode);
            self.phase("noirq resume", 1, 90);
        }
        self.phase("early resume", 1, 20);
        a.resume = Some(self.phase("resume", 20, 900));
    }

    fn refuse(&mut self, a: &Attempt) {
        let Trouble::Device { driver, device, phase, error } = &a.trouble else { return };
        self.time += self.random.between(1_000, 300_000) as i64;
        let function = format!("{}_suspend", driver.replace('-', "_"));
        self.say(
            9,
            format!("{driver} {device}: PM: dpm_run_callback(): {function} returns {error}"),
        );
        self.say(9, format!("{driver} {device}: PM: failed to {phase}: error {error}"));
    }

    fn asleep(&mut self, mode: &str) {
        if mode == "s2idle" {
            self.say(90, "PM: suspend-to-idle");
            let ms = self.random.between(1_000, 90_000);
            self.say(
                9,
                format!("PM: Timekeeping suspended for {}.{:03} seconds", ms / 1_000, ms % 1_000),
            );
            self.say(90, "PM: resume from suspend-to-idle");
            return;
        }
        self.say(200, "ACPI: PM: Preparing to enter system sleep state S3");
        self.say(200, "Disabling non-boot CPUs ...");
        self.say(9_000, "smpboot: CPU 1 is now offline");
        self.say(90, "ACPI: PM: Low-level resume complete");
        let ms = self.random.between(1_000, 90_000);
        self.say(
            9,
            format!("PM: Timekeeping suspended for {}.{:03} seconds", ms / 1_000, ms % 1_000),
        );
        self.say(90, "Enabling non-boot CPUs ...");
        self.say(9_000, "CPU1 is up");
        self.say(90, "ACPI: PM: Waking up from system sleep state S3");
    }
}
