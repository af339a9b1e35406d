//! Traces and logs made for tests: one cycle of any size, in any dress.

use std::fmt::Write as _;

/// A text trace of one cycle of suspend-to-RAM with `devices` devices in a
/// tree, every third async. Each has prepare, suspend, resume and complete.
pub(crate) fn trace(devices: usize) -> String {
    trace_at(devices, 100.0)
}

/// The same, beginning at `start` seconds.
pub(crate) fn trace_at(devices: usize, start: f64) -> String {
    let mut t = Trace { out: String::new(), now: (start * 1e6) as u64 };
    t.out.push_str("# tracer: nop\n#\n");
    t.step("suspend_enter[3] begin");
    t.step("sync_filesystems[0] begin");
    t.step("sync_filesystems[0] end");
    t.step("freeze_processes[0] begin");
    t.step("freeze_processes[0] end");
    t.step("suspend_enter[3] end");
    t.phase("dpm_prepare[2]", (0..devices).collect(), "", "suspend");
    t.phase("dpm_suspend[2]", (0..devices).rev().collect(), "bus ", "suspend");
    t.phase("dpm_suspend_late[2]", vec![], "", "suspend");
    t.phase("dpm_suspend_noirq[2]", vec![0], "noirq driver ", "suspend");
    for step in
        ["CPU_OFF[1]", "syscore_suspend[0]", "machine_suspend[3]", "syscore_resume[0]", "CPU_ON[1]"]
    {
        t.step(&format!("{step} begin"));
        t.step(&format!("{step} end"));
    }
    t.phase("dpm_resume_noirq[16]", vec![0], "noirq driver ", "resume");
    t.phase("dpm_resume_early[16]", vec![], "", "resume");
    t.phase("dpm_resume[16]", (0..devices).collect(), "bus ", "resume");
    t.phase("dpm_complete[16]", (0..devices).rev().collect(), "", "resume");
    t.step("thaw_processes[0] begin");
    t.step("thaw_processes[0] end");
    t.out
}

struct Trace {
    out: String,
    now: u64,
}

impl Trace {
    fn line(&mut self, task: &str, text: &str) {
        self.now += 7;
        let (s, us) = (self.now / 1_000_000, self.now % 1_000_000);
        writeln!(self.out, "{task:>20}  [001] .... {s:5}.{us:06}: {text}").unwrap();
    }

    fn step(&mut self, text: &str) {
        self.line("rtcwake-500", &format!("suspend_resume: {text}"));
    }

    fn phase(&mut self, action: &str, order: Vec<usize>, ops: &str, event: &str) {
        self.step(&format!("{action} begin"));
        for d in order {
            let task = if d % 3 == 1 && !ops.is_empty() {
                format!("kworker/u8:{}-{}", d % 5, 60 + d % 5)
            } else {
                "rtcwake-500".to_string()
            };
            let parent = if d == 0 { "none".to_string() } else { format!("dev{}", (d - 1) / 4) };
            self.line(
                &task,
                &format!(
                    "device_pm_callback_start: drv{} dev{d}, parent: {parent}, {ops}[{event}]",
                    d % 7
                ),
            );
            self.line(&task, &format!("device_pm_callback_end: drv{} dev{d}, err=0", d % 7));
        }
        self.step(&format!("{action} end"));
    }
}

/// Generation of the callback lines of a kernel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// `calling  DEV+ @ 1, parent: P`.
    Device,
    /// `DRV DEV: calling FN+0x0/0x10 @ 1, parent: P`.
    Function,
    /// The same with `PM: `.
    FunctionPm,
    /// The same without offsets.
    Bare,
}

impl Generation {
    pub(crate) const ALL: [Generation; 4] =
        [Generation::Device, Generation::Function, Generation::FunctionPm, Generation::Bare];
}

/// A kernel log of one cycle with four devices, in one of four generations.
/// `dress` makes a line of a time in microseconds and a message.
pub(crate) fn log(generation: Generation, dress: impl Fn(u64, &str) -> String) -> String {
    let mut l = Log { out: String::new(), now: 50_000_000, dress };
    l.line(10, "PM: suspend entry (deep)");
    l.line(40_000, "Filesystems sync: 0.040 seconds");
    l.line(10, "Freezing user space processes");
    l.line(2_000, "Freezing user space processes completed (elapsed 0.002 seconds)");
    l.line(10, "OOM killer disabled.");
    l.line(10, "Freezing remaining freezable tasks");
    l.line(1_000, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)");
    l.line(10, "printk: Suspending console(s) (use no_console_suspend to debug)");
    let devices = [
        ("usb", "1-1", "usb1"),
        ("usb", "usb1", "0000:00:14.0"),
        ("xhci_hcd", "0000:00:14.0", "pci0000:00"),
        ("leds", "mmc1::", "none"),
    ];
    for (step, suffix, printed) in [
        ("suspend", "suspend", "PM: suspend of devices complete after 8.000 msecs"),
        ("late suspend", "suspend_late", "PM: late suspend of devices complete after 8.000 msecs"),
        (
            "noirq suspend",
            "suspend_noirq",
            "PM: noirq suspend of devices complete after 8.000 msecs",
        ),
    ] {
        l.phase(generation, &devices, suffix, printed);
        if step == "suspend" {
            l.line(10, "PM: start suspend of devices complete after 9.000 msecs");
        }
    }
    l.line(10, "Disabling non-boot CPUs ...");
    l.line(2_000, "smpboot: CPU 1 is now offline");
    l.line(500, "ACPI: PM: Low-level resume complete");
    l.line(10, "Timekeeping suspended for 9.000 seconds");
    l.line(10, "Enabling non-boot CPUs ...");
    l.line(2_000, "CPU1 is up");
    for (suffix, printed) in [
        ("resume_noirq", "PM: noirq resume of devices complete after 8.000 msecs"),
        ("resume_early", "PM: early resume of devices complete after 8.000 msecs"),
        ("resume", "PM: resume of devices complete after 8.000 msecs"),
    ] {
        l.phase(generation, &devices, suffix, printed);
    }
    l.line(300, "OOM killer enabled.");
    l.line(10, "Restarting tasks ... done.");
    l.line(5_000, "PM: suspend exit");
    l.out
}

struct Log<F> {
    out: String,
    now: u64,
    dress: F,
}

impl<F: Fn(u64, &str) -> String> Log<F> {
    fn line(&mut self, later: u64, text: &str) {
        self.now += later;
        let line = (self.dress)(self.now, text);
        self.out.push_str(&line);
        self.out.push('\n');
    }

    /// Two devices interleave: the second begins before the first has ended.
    fn phase(
        &mut self,
        g: Generation,
        devices: &[(&str, &str, &str)],
        suffix: &str,
        printed: &str,
    ) {
        for pair in devices.chunks(2) {
            for (n, (driver, device, parent)) in pair.iter().enumerate() {
                let pid = 300 + n;
                let text = match g {
                    Generation::Device => format!("calling  {device}+ @ {pid}, parent: {parent}"),
                    Generation::Function => format!(
                        "{driver} {device}: calling {driver}_{suffix}+0x0/0x10 [{driver}] @ {pid}, parent: {parent}"
                    ),
                    Generation::FunctionPm => format!(
                        "{driver} {device}: PM: calling {driver}_{suffix}+0x0/0x10 @ {pid}, parent: {parent}"
                    ),
                    Generation::Bare => format!(
                        "{driver} {device}: PM: calling {driver}_{suffix} [{driver}] @ {pid}, parent: {parent}"
                    ),
                };
                self.line(10, &text);
            }
            for (driver, device, _) in pair {
                let text = match g {
                    Generation::Device => format!("call {device}+ returned 0 after 1500 usecs"),
                    Generation::Function => format!(
                        "{driver} {device}: {driver}_{suffix}+0x0/0x10 [{driver}] returned 0 after 1500 usecs"
                    ),
                    Generation::FunctionPm => format!(
                        "{driver} {device}: PM: {driver}_{suffix}+0x0/0x10 returned 0 after 1500 usecs"
                    ),
                    Generation::Bare => format!(
                        "{driver} {device}: PM: {driver}_{suffix} [{driver}] returned 0 after 1500 usecs"
                    ),
                };
                self.line(1_990, &text);
            }
        }
        self.line(5, printed);
    }
}

/// `[   50.000010] text`.
pub(crate) fn stamped(us: u64, text: &str) -> String {
    format!("[{:5}.{:06}] {text}", us / 1_000_000, us % 1_000_000)
}

/// A small generator of pseudo-random numbers, the same everywhere.
pub(crate) struct Random(pub u64);

impl Random {
    /// The next number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}
