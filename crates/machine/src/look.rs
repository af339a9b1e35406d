//! What the files of the running machine say of its sleep. Nothing is written, and
//! what would wait is not read: `wakeup_count` blocks while a source is active
//! (drivers/base/power/wakeup.c:pm_get_wakeup_count, 6.12).

use crate::kmsg::Kmsg;
use crate::machine;
pub use crate::root::File;
use crate::root::Root;
use crate::wakers;
use crate::writers::{Writer, Writers};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// A task that was in state D.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Looks at which it was so.
    pub looks: u32,
    /// The function that it waited in at the last of them; root alone is told.
    pub function: Option<String>,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Files, sorted by place.
    pub files: Vec<File>,
    /// The kernel's log since boot, as lines of `dmesg`; `None` if it may not be
    /// read.
    pub log: Option<Vec<u8>>,
    /// Tasks of users that were in state D.
    pub waiters: Vec<Waiter>,
    /// Tasks of users that ran under a real-time policy.
    pub spinners: Vec<Waiter>,
    /// Looks at the tasks.
    pub looks: u32,
    /// Armed timers of tasks.
    pub timers: Vec<Armed>,
    /// Processes whose descriptors may not be read; root may.
    pub hidden: usize,
    /// Disks that have data to write; root alone is told.
    pub writers: Vec<Writer>,
}

/// An armed timer of a task (fs/timerfd.c:timerfd_show, 6.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Armed {
    /// Whose.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Number of its clock.
    pub clock: u32,
    /// Due in so many ns.
    pub due_ns: i64,
}

/// Files of `/sys/power` that may be read at any time.
const POWER: [&str; 15] = [
    "state",
    "mem_sleep",
    "disk",
    "resume",
    "resume_offset",
    "image_size",
    "pm_test",
    "pm_trace",
    "pm_async",
    "hibernate_compression_threads",
    "pm_freeze_timeout",
    "pm_print_times",
    "sync_on_suspend",
    "freeze_filesystems",
    "autosleep",
];

/// What hibernation needs, and which kernel it is.
const OTHERS: [&str; 2] = ["/proc/sys/kernel/osrelease", "/sys/kernel/security/lockdown"];

/// Files of a device's `power/` folder that tell of runtime power management.
const RUNTIME: [&str; 8] = [
    "control",
    "runtime_status",
    "runtime_enabled",
    "runtime_active_time",
    "runtime_suspended_time",
    "autosuspend_delay_ms",
    "runtime_usage",
    "runtime_active_kids",
];

/// Levels of folders that are gone through, at most.
const DEPTH: usize = 24;

/// Looks `times` at the tasks, `pause` apart, and once at everything else.
pub fn look(root: &Root, times: u32, pause: Duration) -> Look {
    let mut out = Look { looks: times, log: Kmsg::whole(root), ..Look::default() };
    let disks = Writers::begin(root);
    let mut waiters: BTreeMap<u32, Waiter> = BTreeMap::new();
    let mut spinners: BTreeMap<u32, Waiter> = BTreeMap::new();
    for i in 0..times {
        if i > 0 {
            thread::sleep(pause);
        }
        tasks(root, &mut waiters, &mut spinners);
    }
    out.writers = disks.end(root);
    out.waiters = waiters.into_values().collect();
    out.spinners = spinners.into_values().collect();
    let servers;
    (out.timers, out.hidden, servers) = timers(root);
    let files = &mut out.files;
    for pid in servers {
        take(root, files, format!("/proc/{pid}/comm"));
        take(root, files, format!("/proc/{pid}/cgroup"));
    }
    for name in POWER {
        take(root, files, format!("/sys/power/{name}"));
    }
    for name in root.list("/sys/power/suspend_stats") {
        take(root, files, format!("/sys/power/suspend_stats/{name}"));
    }
    cpus(root, files);
    for name in root.list("/sys/class/wakeup") {
        for file in ["name", "active_time_ms", "active_count", "relax_count"] {
            take(root, files, format!("/sys/class/wakeup/{name}/{file}"));
        }
    }
    for name in root.list("/sys/class/rtc") {
        take(root, files, format!("/sys/class/rtc/{name}/device/power/wakeup"));
    }
    files.extend(machine::wakeup_limit(root));
    for file in OTHERS.iter().chain(&machine::SETTINGS).copied() {
        take(root, files, file.into());
    }
    lines(root, files);
    wakers::hooks(root, files);
    wakers::line(root, files);
    devices(root, files, "/sys/devices", DEPTH);
    out
}

fn take(root: &Root, out: &mut Vec<File>, path: String) {
    if let Some(text) = root.read(&path).filter(|t| !t.contains('\n')) {
        out.push((path, text));
    }
}

/// Idle states, and counters of sleep in hardware.
fn cpus(root: &Root, out: &mut Vec<File>) {
    let at = "/sys/devices/system/cpu";
    take(root, out, format!("{at}/online"));
    for file in
        ["current_driver", "low_power_idle_cpu_residency_us", "low_power_idle_system_residency_us"]
    {
        take(root, out, format!("{at}/cpuidle/{file}"));
    }
    for cpu in root.list(at) {
        let states = format!("{at}/{cpu}/cpuidle");
        for state in root.list(&states) {
            for file in ["name", "disable", "s2idle/usage"] {
                take(root, out, format!("{states}/{state}/{file}"));
            }
        }
    }
}

/// Lines of longer files: memory, and mounts whose sync asks a server.
fn lines(root: &Root, out: &mut Vec<File>) {
    for line in root.read("/proc/meminfo").unwrap_or_default().lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if ["MemTotal", "MemFree", "SwapFree", "Dirty", "Writeback"].contains(&name) {
            out.push((format!("/proc/meminfo/{name}"), value.trim().into()));
        }
    }
    let vmstat = root.read("/proc/vmstat").unwrap_or_default();
    const LIMIT: &str = "nr_dirty_threshold";
    if let Some(value) = vmstat.lines().find_map(|l| l.strip_prefix(LIMIT)) {
        out.push((format!("/proc/vmstat/{LIMIT}"), value.trim().into()));
    }
    for line in root.read("/proc/self/mountinfo").unwrap_or_default().lines() {
        // proc_pid_mountinfo(5): the fifth field is the place, the first after the
        // dash the type.
        let Some((front, back)) = line.split_once(" - ") else { continue };
        if back.split(' ').next() == Some("fuseblk") {
            let place = front.split(' ').nth(4).unwrap_or_default();
            out.push(("/proc/self/mountinfo/fuseblk".into(), place.into()));
        }
    }
}

/// Devices that are awake though runtime power management could suspend them.
fn devices(root: &Root, out: &mut Vec<File>, at: &str, depth: usize) {
    let power = format!("{at}/power");
    if root.read(&format!("{power}/runtime_status")).as_deref() == Some("active")
        && root
            .read(&format!("{power}/runtime_enabled"))
            .is_none_or(|e| ["enabled", "forbidden"].contains(&e.as_str()))
    {
        for name in RUNTIME {
            take(root, out, format!("{power}/{name}"));
        }
    }
    if depth == 0 {
        return;
    }
    for path in root.folders(at).iter().filter(|p| !p.ends_with("/power")) {
        devices(root, out, path, depth - 1);
    }
}

/// The most descriptors of a process that are looked at: a server may have a million.
const DESCRIPTORS: usize = 4_096;

/// Armed timers of all processes whose descriptors may be read, and how many may not.
/// And the servers of FUSE file systems, which hold its device open.
fn timers(root: &Root) -> (Vec<Armed>, usize, Vec<u32>) {
    let (mut out, mut hidden, mut servers) = (Vec::new(), 0, Vec::new());
    for pid in root.list("/proc").iter().filter_map(|n| n.parse::<u32>().ok()) {
        let at = format!("/proc/{pid}");
        if !root.may_list(&format!("{at}/fd")) {
            hidden += 1;
            continue;
        }
        for fd in root.list(&format!("{at}/fd")).iter().take(DESCRIPTORS) {
            let link = std::fs::read_link(root.resolve(&format!("{at}/fd/{fd}")));
            let target = link.ok().and_then(|l| l.to_str().map(str::to_string));
            if target.as_deref() == Some("/dev/fuse") {
                servers.push(pid);
            }
            if target.as_deref() != Some("anon_inode:[timerfd]") {
                continue;
            }
            let info = root.read(&format!("{at}/fdinfo/{fd}")).unwrap_or_default();
            let Some((clock, due_ns)) = armed(&info) else { continue };
            let name = root.read(&format!("{at}/comm")).unwrap_or_default();
            out.push(Armed { pid, name, clock, due_ns });
        }
    }
    out.sort_by_key(|t| (t.due_ns, t.pid));
    servers.dedup();
    (out, hidden, servers)
}

/// `clockid: 1` and `it_value: (59, 999000)` of a description; nothing if it is not armed.
fn armed(info: &str) -> Option<(u32, i64)> {
    let of = |word: &str| info.lines().find_map(|l| l.strip_prefix(word)).map(str::trim);
    let clock = of("clockid:")?.parse().ok()?;
    let (s, ns) = of("it_value:")?.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    let s: i64 = s.trim().parse().ok()?;
    let due = s.checked_mul(1_000_000_000)?.checked_add(ns.trim().parse().ok()?)?;
    (due > 0).then_some((clock, due))
}

/// The flag of a thread of the kernel (include/linux/sched.h, 6.12).
const PF_KTHREAD: u64 = 0x0020_0000;

/// Counts tasks of users in state D, thread by thread.
pub(crate) fn tasks(
    root: &Root,
    out: &mut BTreeMap<u32, Waiter>,
    spinners: &mut BTreeMap<u32, Waiter>,
) {
    let number = |n: &String| n.parse::<u32>().ok();
    for process in root.list("/proc").iter().filter_map(number) {
        let at = format!("/proc/{process}/task");
        for task in root.list(&at).iter().filter_map(number) {
            let Some(stat) = root.read(&format!("{at}/{task}/stat")) else { continue };
            if let Some(name) = spins(&stat) {
                let w = spinners.entry(task).or_insert_with(|| Waiter {
                    pid: task,
                    name: name.into(),
                    looks: 0,
                    function: None,
                });
                w.looks += 1;
            }
            let Some(name) = waits(&stat) else { continue };
            let w = out.entry(task).or_insert_with(|| Waiter {
                pid: task,
                name: name.into(),
                looks: 0,
                function: None,
            });
            w.looks += 1;
            let function = root.read(&format!("{at}/{task}/wchan"));
            w.function = function.filter(|f| f != "0" && !f.is_empty());
        }
    }
}

/// The name of a task of a user that runs under a real-time policy: field 41
/// of its `stat` is 1 or 2 (include/uapi/linux/sched.h, 6.12).
fn spins(stat: &str) -> Option<&str> {
    let (front, back) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1;
    let mut fields = back.split_whitespace();
    let state = fields.next()?;
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    let policy = fields.nth(31)?;
    let real_time = matches!(policy, "1" | "2");
    (state == "R" && flags & PF_KTHREAD == 0 && real_time).then_some(name)
}

/// The name of a task in state D that is none of the kernel's, by its `stat`
/// (proc_pid_stat(5): number, name in parentheses, state, …, flags as the ninth).
fn waits(stat: &str) -> Option<&str> {
    let (front, back) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1;
    let mut fields = back.split_whitespace();
    let state = fields.next()?;
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    (state == "D" && flags & PF_KTHREAD == 0).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &std::path::Path, path: &str, text: &str) {
        let place = root.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }

    #[test]
    fn a_look_reads_what_may_be_read_and_nothing_that_waits() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        put(at, "/sys/power/pm_test", "[none] core\n");
        put(at, "/sys/power/wakeup_count", "5\n");
        put(at, "/sys/power/hibernate_compression_threads", "2\n");
        put(at, "/sys/module/acpi_x86/parameters/check_lps0_constraints", "N\n");
        put(at, "/proc/sys/kernel/dpm_watchdog_timeout_secs", "75\n");
        put(at, "/sys/class/wakeup/wakeup3/relax_count", "8\n");
        std::fs::create_dir_all(at.join("dev")).unwrap();
        std::fs::write(at.join("dev/cpu_wakeup_latency"), 350i32.to_ne_bytes()).unwrap();
        put(at, "/sys/power/suspend_stats/fail", "2\n");
        put(at, "/proc/meminfo", "MemTotal: 10 kB\nDirty: 4 kB\nCached: 9 kB\n");
        put(
            at,
            "/proc/self/mountinfo",
            "36 35 8:1 / /mnt/usb\\040stick rw - fuseblk /dev/sdb1 rw\n37 35 8:2 / / rw - ext4 x rw\n",
        );
        put(at, "/proc/7/task/7/stat", "7 (a) b) D 1 7 7 0 -1 4194304 0 0\n");
        put(at, "/proc/7/task/7/wchan", "folio_wait_bit_common");
        put(at, "/proc/8/task/8/stat", "8 (kworker/0:1) D 2 0 0 0 -1 2129984 0 0\n");
        put(at, "/proc/7/comm", "sleeper\n");
        let info = |value: &str| format!("pos: 0\nclockid: 9\nticks: 0\nit_value: {value}\n");
        put(at, "/proc/7/fdinfo/3", &info("(1, 500000000)"));
        put(at, "/proc/7/fdinfo/4", &info("(0, 0)"));
        std::fs::create_dir_all(at.join("proc/7/fd")).unwrap();
        std::os::unix::fs::symlink("/dev/fuse", at.join("proc/7/fd/9")).unwrap();
        put(at, "/proc/7/cgroup", "0::/user.slice/x.service\n");
        // Fields 10 to 40, then the policy.
        let fifo = format!("9 (spin) R 1 9 9 0 -1 4194304 {}1 0 0 0", "0 ".repeat(31));
        put(at, "/proc/9/task/9/stat", &fifo);
        for fd in ["3", "4"] {
            std::os::unix::fs::symlink("anon_inode:[timerfd]", at.join("proc/7/fd").join(fd))
                .unwrap();
        }
        put(at, "/sys/devices/pci0/dev/power/runtime_status", "active\n");
        put(at, "/sys/devices/pci0/dev/power/control", "on\n");
        put(at, "/sys/devices/pci0/off/power/runtime_status", "suspended\n");
        put(at, "/sys/devices/pci0/off/power/control", "auto\n");
        let seen = look(&Root::below(at), 2, Duration::ZERO);
        let value = |p: &str| seen.files.iter().find(|f| f.0 == p).map(|f| f.1.as_str());
        assert_eq!(value("/sys/power/pm_test"), Some("[none] core"));
        assert_eq!(value("/sys/power/suspend_stats/fail"), Some("2"));
        assert_eq!(value("/sys/power/wakeup_count"), None);
        for (path, text) in [
            ("/sys/power/hibernate_compression_threads", "2"),
            ("/sys/module/acpi_x86/parameters/check_lps0_constraints", "N"),
            ("/proc/sys/kernel/dpm_watchdog_timeout_secs", "75"),
            ("/sys/class/wakeup/wakeup3/relax_count", "8"),
            ("/dev/cpu_wakeup_latency", "350"),
        ] {
            assert_eq!(value(path), Some(text), "{path}");
        }
        assert_eq!(value("/proc/meminfo/Dirty"), Some("4 kB"));
        assert_eq!(value("/proc/self/mountinfo/fuseblk"), Some("/mnt/usb\\040stick"));
        assert_eq!(value("/sys/devices/pci0/dev/power/control"), Some("on"));
        assert_eq!(value("/sys/devices/pci0/off/power/control"), None);
        assert_eq!(seen.log, None);
        let [w] = &seen.waiters[..] else { panic!("{:?}", seen.waiters) };
        assert_eq!((w.pid, w.name.as_str(), w.looks), (7, "a) b", 2));
        assert_eq!(w.function.as_deref(), Some("folio_wait_bit_common"));
        assert_eq!(value("/proc/7/cgroup"), Some("0::/user.slice/x.service"));
        let [spinner] = &seen.spinners[..] else { panic!("{:?}", seen.spinners) };
        assert_eq!((spinner.pid, spinner.name.as_str(), spinner.looks), (9, "spin", 2));
        assert_eq!(seen.hidden, 0, "process 8 is gone");
        let [t] = &seen.timers[..] else { panic!("{:?}", seen.timers) };
        assert_eq!((t.pid, t.name.as_str(), t.clock, t.due_ns), (7, "sleeper", 9, 1_500_000_000));
    }
}
