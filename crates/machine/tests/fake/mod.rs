//! A made-up `/sys`, `/proc` and `/dev` in a temporary folder, and a kernel
//! that reacts to the recorder's steps where a plain folder cannot.

use dormouse_machine::guard::{Observer, Step};
use dormouse_machine::root::Root;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(crate) const INSTANCE: &str = "/sys/kernel/tracing/instances/dormouse";
pub(crate) const EVENTS: &str = "/sys/kernel/tracing/dynamic_events";
pub(crate) const ALARM: &str = "/sys/class/rtc/rtc0/wakealarm";

pub(crate) struct Fake {
    pub dir: tempfile::TempDir,
    pub root: Root,
}

impl Fake {
    pub(crate) fn new() -> Fake {
        // In memory where there is such a place: every step of the recorder is
        // synced, and hundreds of trees are made.
        let memory = Path::new("/dev/shm");
        let dir = match tempfile::tempdir_in(memory) {
            Ok(dir) => dir,
            Err(_) => tempfile::tempdir().unwrap(),
        };
        let fake = Fake { root: Root::below(dir.path()), dir };
        for (path, text) in [
            ("/proc/sys/kernel/random/boot_id", "boot-1\n"),
            ("/proc/sys/kernel/osrelease", "6.12.0-test\n"),
            ("/proc/sys/kernel/version", "#1 SMP\n"),
            ("/proc/sys/kernel/hostname", "box\n"),
            ("/proc/sys/kernel/printk", "7\t4\t1\t7\n"),
            ("/proc/cmdline", "quiet root=/dev/vda1\n"),
            (
                "/proc/meminfo",
                "MemTotal: 2048 kB\nMemAvailable: 80000000 kB\nDirty: 12 kB\nWriteback: 4 kB\n",
            ),
            ("/proc/stat", "cpu 1 2\nctxt 100\nprocesses 50\n"),
            ("/proc/7/comm", "kworker/0:0\n"),
            ("/proc/8/comm", "bash\n"),
            ("/proc/swaps", "Filename\tType\tSize\n"),
            (
                "/proc/self/mountinfo",
                "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 22 0:5 / /proc rw - proc proc rw\n",
            ),
            ("/sys/power/state", "freeze mem disk\n"),
            ("/sys/power/mem_sleep", "[s2idle] deep\n"),
            ("/sys/power/disk", "[platform] shutdown reboot suspend test_resume\n"),
            ("/sys/power/pm_test", "[none] core processors platform devices freezer\n"),
            ("/sys/power/pm_async", "1\n"),
            ("/sys/power/pm_print_times", "1\n"),
            ("/sys/power/pm_debug_messages", "0\n"),
            ("/sys/power/sync_on_suspend", "1\n"),
            ("/sys/power/suspend_stats/success", "0\n"),
            ("/sys/power/suspend_stats/fail", "0\n"),
            ("/sys/module/suspend/parameters/pm_test_delay", "5\n"),
            ("/sys/module/printk/parameters/console_suspend", "Y\n"),
            ("/sys/kernel/tracing/saved_cmdlines_size", "128\n"),
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/possible", "0-1\n"),
            ("/dev/kmsg", ""),
        ] {
            fake.put(path, text);
        }
        fs::create_dir_all(fake.at("/sys/kernel/tracing/instances")).unwrap();
        fs::create_dir_all(fake.at("/sys/class/rtc")).unwrap();
        fake.device("/devices/platform", "", "", "disabled");
        fake.device("/devices/platform/rtc_cmos", "platform", "rtc_cmos", "enabled");
        fake.put("/sys/devices/platform/rtc_cmos/power/wakeup", "disabled\n");
        fake.device("/devices/platform/rtc_cmos/rtc/rtc0", "rtc", "", "disabled");
        fake.put("/sys/devices/platform/rtc_cmos/rtc/rtc0/wakealarm", "\n");
        fake.put("/sys/devices/platform/rtc_cmos/rtc/rtc0/since_epoch", "1000\n");
        fake.link(
            "/sys/devices/platform/rtc_cmos/rtc/rtc0/device",
            "/sys/devices/platform/rtc_cmos",
        );
        fake.link("/sys/class/rtc/rtc0", "/sys/devices/platform/rtc_cmos/rtc/rtc0");
        fake.device("/devices/platform/soc", "platform", "", "disabled");
        fake.device("/devices/platform/soc/vda", "block", "virtio_blk", "enabled");
        fake.device("/devices/platform/soc/vda/vda1", "block", "", "enabled");
        fake.link("/sys/dev/block/254:1", "/sys/devices/platform/soc/vda/vda1");
        // A device that the PM core never visits.
        fs::create_dir_all(fake.at("/sys/devices/platform/soc/wakeup/wakeup3")).unwrap();
        fake.put("/sys/devices/platform/soc/wakeup/wakeup3/uevent", "");
        // A link, as the kernel makes it.
        let link = "/sys/devices/virtual/devlink/platform:soc--platform:rtc_cmos";
        fake.put(&format!("{link}/uevent"), "");
        fake.put(&format!("{link}/status"), "active\n");
        fake.put(&format!("{link}/sync_state_only"), "0\n");
        fake.put(&format!("{link}/runtime_pm"), "1\n");
        fake.put(&format!("{link}/auto_remove_on"), "never\n");
        fake.link(&format!("{link}/supplier"), "/sys/devices/platform/soc");
        fake.link(&format!("{link}/consumer"), "/sys/devices/platform/rtc_cmos");
        fake.link("/sys/class/devlink/platform:soc--platform:rtc_cmos", link);
        fake
    }

    /// A kernel with function probes and these functions; somebody else has a probe.
    pub(crate) fn with_functions(self, functions: &[&str]) -> Fake {
        let lines: Vec<String> = functions.iter().map(|f| format!("0000 T {f}\n")).collect();
        self.put("/proc/kallsyms", &lines.concat());
        self.put(EVENTS, "p:other/theirs vfs_read\n");
        self.put("/sys/kernel/tracing/kprobe_profile", "");
        self
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.resolve(path)
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(self.at(target), place).unwrap();
    }

    pub(crate) fn device(&self, devpath: &str, subsystem: &str, driver: &str, async_flag: &str) {
        let at = |f: &str| format!("/sys{devpath}/{f}");
        self.put(
            &at("uevent"),
            &format!("DRIVER={driver}\nMODALIAS=x:{driver}\nOF_FULLNAME=/n{devpath}\n"),
        );
        self.put(&at("power/async"), &format!("{async_flag}\n"));
        self.put(&at("power/control"), "auto\n");
        self.put(&at("power/runtime_status"), "active\n");
        if !subsystem.is_empty() {
            fs::create_dir_all(self.at(&format!("/sys/bus/{subsystem}"))).unwrap();
            self.link(&at("subsystem"), &format!("/sys/bus/{subsystem}"));
        }
        if !driver.is_empty() {
            let place = format!("/sys/bus/{subsystem}/drivers/{driver}");
            fs::create_dir_all(self.at(&place)).unwrap();
            self.link(&at("driver"), &place);
        }
    }

    /// Every file of the tree and what it holds, without what time changes.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, String> {
        fn walk(top: &Path, at: &Path, out: &mut BTreeMap<String, String>) {
            for e in fs::read_dir(at).unwrap().flatten() {
                let path = e.path();
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_string();
                let kind = e.file_type().unwrap();
                if kind.is_dir() {
                    out.insert(name, "(folder)".into());
                    walk(top, &path, out);
                } else if kind.is_file() {
                    // Selectors and numbers, as the kernel would print them
                    // again: a plain file loses brackets and the newline.
                    let text = fs::read_to_string(&path).unwrap();
                    out.insert(name, dormouse_machine::knob::in_force(&text).to_string());
                }
            }
        }
        let mut out = BTreeMap::new();
        walk(self.dir.path(), self.dir.path(), &mut out);
        // Not knobs: the last sleep state asked for and the log.
        out.remove("sys/power/state");
        out.remove("dev/kmsg");
        out.retain(|name, _| !name.starts_with("run"));
        // An alarm that is off reads as nothing on a real kernel.
        for (name, value) in &mut out {
            if name.ends_with("wakealarm") && value == "0" {
                value.clear();
            }
        }
        out
    }
}

/// What the kernel does when the recorder acts: fills a new tracefs instance,
/// empties it before removal, turns `+20` into an alarm, and "sleeps".
pub(crate) struct Kernel<'a> {
    pub fake: &'a Fake,
    pub steps: Vec<Step>,
    /// Stop before this step (from 0), as if the process had been killed.
    pub die_at: Option<usize>,
    pub sleep_result: Option<i32>,
    pub trace: String,
    pub asleep: u32,
    /// The alarm does not take.
    pub broken_alarm: bool,
    /// `pm_test` and `disk` do not take.
    pub broken_test: bool,
}

impl<'a> Kernel<'a> {
    pub(crate) fn new(fake: &'a Fake) -> Kernel<'a> {
        Kernel {
            fake,
            steps: Vec::new(),
            die_at: None,
            sleep_result: None,
            trace: "# tracer: nop\n".into(),
            asleep: 0,
            broken_alarm: false,
            broken_test: false,
        }
    }

    /// What a line written to the list of events does: it makes one or removes one.
    fn dynamic_event(&self, line: &str) {
        let text = fs::read_to_string(self.fake.at(EVENTS)).unwrap();
        let (_, name) = line.split_once(':').unwrap();
        let name = name.split(' ').next().unwrap();
        let is = |l: &str| l.split_once(':').is_some_and(|l| l.1.split(' ').next() == Some(name));
        if line.starts_with('-') {
            let in_use = self.fake.at(&format!("{INSTANCE}/events/{name}/enable")).exists();
            assert!(!in_use, "{name} is in use: a kernel would not remove it");
            let kept: Vec<&str> = text.lines().filter(|l| !is(l)).collect();
            self.fake.put(EVENTS, &(kept.join("\n") + "\n"));
        } else {
            for file in ["enable", "filter"] {
                self.fake.put(&format!("{INSTANCE}/events/{name}/{file}"), "0");
            }
        }
    }

    pub(crate) fn empty_instance(fake: &Fake) {
        let _ = fs::remove_dir_all(fake.at(INSTANCE));
        fs::create_dir_all(fake.at(INSTANCE)).unwrap();
    }
}

impl Observer for Kernel<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if self.die_at.is_some_and(|n| self.steps.len() >= n) {
            return Err(io::Error::other("killed"));
        }
        self.steps.push(step.clone());
        match step {
            Step::RemoveDir(path) if path == INSTANCE => Kernel::empty_instance(self.fake),
            Step::Write { path, .. } if path == "/sys/power/state" => {
                if let Some(errno) = self.sleep_result {
                    return Err(io::Error::from_raw_os_error(errno));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn after(&mut self, step: &Step) {
        match step {
            Step::MakeDir(path) if path == INSTANCE => {
                for file in
                    ["tracing_on", "trace_clock", "trace_options", "buffer_size_kb", "trace"]
                {
                    self.fake.put(&format!("{path}/{file}"), "");
                }
                for event in
                    ["suspend_resume", "device_pm_callback_start", "device_pm_callback_end"]
                {
                    self.fake.put(&format!("{path}/events/power/{event}/enable"), "0");
                }
                self.fake
                    .put(&format!("{path}/per_cpu/cpu0/stats"), "overrun: 0\ndropped events: 0\n");
            }
            Step::Write { path, value } if path == EVENTS => self.dynamic_event(value),
            Step::Write { path, value } if path == ALARM => {
                let seconds: u64 = value.trim_start_matches('+').parse().unwrap();
                let text = match seconds {
                    0 => String::new(),
                    s if value.starts_with('+') => (1_000 + s).to_string(),
                    s => s.to_string(),
                };
                self.fake.put(path, if self.broken_alarm { "" } else { &text });
            }
            Step::Write { path, .. } if path == "/sys/power/pm_test" && self.broken_test => {
                self.fake.put(path, "[none] core processors platform devices freezer\n");
            }
            // A selector shows all its words, with brackets around the one in
            // force.
            Step::Write { path, value } if path == "/sys/power/pm_test" => {
                let all = "none core processors platform devices freezer";
                self.fake.put(path, &(all.replace(value, &format!("[{value}]")) + "\n"));
            }
            Step::Write { path, .. } if path == "/sys/power/disk" && self.broken_test => {
                self.fake.put(path, "[platform] shutdown reboot suspend test_resume\n");
            }
            Step::Write { path, value } if path == "/sys/power/disk" => {
                let all = "platform shutdown reboot suspend test_resume";
                self.fake.put(path, &(all.replace(value, &format!("[{value}]")) + "\n"));
            }
            Step::Write { path, value } if path == "/sys/power/mem_sleep" => {
                self.fake.put(path, &("s2idle deep".replace(value, &format!("[{value}]")) + "\n"));
            }
            Step::Write { path, .. } if path == "/sys/power/state" => {
                self.asleep += 1;
                self.fake.put(path, "freeze mem disk\n");
                self.fake.put(&format!("{INSTANCE}/trace"), &self.trace.clone());
                self.fake.put("/sys/power/suspend_stats/success", "0\n");
                let mut log =
                    fs::OpenOptions::new().append(true).open(self.fake.at("/dev/kmsg")).unwrap();
                writeln!(log, "6,{},5000000,-;PM: suspend exit", self.asleep).unwrap();
            }
            _ => {}
        }
    }
}
