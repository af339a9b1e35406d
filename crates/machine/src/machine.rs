//! Facts of the machine and the kernel that do not change while recording.

use crate::kmsg::Kmsg;
use crate::root::Root;
use dormouse_base::tick::tick;
use dormouse_capture::schema::{Cpu, Kernel, Machine};
use std::collections::BTreeMap;

/// Hardware.
pub fn machine(root: &Root) -> Machine {
    let text = |p: &str| root.read(p).unwrap_or_default();
    let dmi = |f: &str| text(&format!("/sys/class/dmi/id/{f}"));
    let mut model = dmi("product_name");
    if model.is_empty() {
        // Device-tree strings end with a zero byte.
        model = text("/proc/device-tree/model").trim_end_matches('\0').into();
    }
    Machine {
        host: text("/proc/sys/kernel/hostname"),
        vendor: dmi("sys_vendor"),
        model,
        firmware: dmi("bios_version"),
        architecture: std::env::consts::ARCH.into(),
        cpus_online: text("/sys/devices/system/cpu/online"),
        cpus_possible: text("/sys/devices/system/cpu/possible"),
        topology: cpu_numbers(&text("/sys/devices/system/cpu/online"))
            .into_iter()
            .map(|n| cpu(root, n))
            .collect(),
        memory_bytes: meminfo(root, "MemTotal"),
    }
}

/// The id that the kernel draws at each boot; empty if it does not say.
pub fn boot_id(root: &Root) -> String {
    root.read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Numbers in a CPU list such as `0-3,8`.
pub(crate) fn cpu_numbers(list: &str) -> Vec<u32> {
    let mut out = Vec::new();
    for part in list.trim().split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(a), Ok(b)) = (a.parse::<u32>(), b.parse::<u32>()) {
            // The kernel's own limit is 8,192.
            out.extend(a..=b.min(a.saturating_add(65_535)));
        }
    }
    out
}

fn cpu(root: &Root, n: u32) -> Cpu {
    let at = format!("/sys/devices/system/cpu/cpu{n}");
    let cache = format!("{at}/cache");
    let last_level = root
        .list(&cache)
        .into_iter()
        .filter(|i| i.starts_with("index"))
        .max_by_key(|i| root.read_number::<u32>(&format!("{cache}/{i}/level")).unwrap_or(0))
        .and_then(|i| root.read(&format!("{cache}/{i}/shared_cpu_list")));
    Cpu {
        cpu: n,
        package: root.read_number(&format!("{at}/topology/physical_package_id")),
        core: root.read_number(&format!("{at}/topology/core_id")),
        siblings: root
            .read(&format!("{at}/topology/core_cpus_list"))
            .or_else(|| root.read(&format!("{at}/topology/thread_siblings_list")))
            .unwrap_or_default(),
        last_level_cache: last_level.unwrap_or_default(),
        node: root.list(&at).iter().find_map(|name| name.strip_prefix("node")?.parse().ok()),
        max_khz: root.read_number(&format!("{at}/cpufreq/cpuinfo_max_freq")),
        capacity: root.read_number(&format!("{at}/cpu_capacity")),
    }
}

/// The kernel.
pub fn kernel(root: &Root) -> Kernel {
    let text = |p: &str| root.read(p).unwrap_or_default();
    Kernel {
        release: text("/proc/sys/kernel/osrelease"),
        version: text("/proc/sys/kernel/version"),
        command_line: text("/proc/cmdline"),
        tick_ns: length_of_tick(root),
        tainted: text("/proc/sys/kernel/tainted"),
        states: text("/sys/power/state"),
        mem_sleep: text("/sys/power/mem_sleep"),
    }
}

/// The length of a tick: the kernel's configuration says it, or what is left of the
/// messages of the boot.
fn length_of_tick(root: &Root) -> Option<i64> {
    let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let configs = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    let said = |text: &str| text.lines().find_map(|line| tick(line.as_bytes()));
    let configured = configs.iter().find_map(|file| said(&root.read(file)?));
    // A message stands behind its time.
    let message = |line: &[u8]| tick(&line[line.windows(2).position(|w| w == b"] ")? + 2..]);
    let printed = || Kmsg::whole(root)?.split(|b| *b == b'\n').find_map(message);
    configured.or_else(printed).map(|tick| tick.0)
}

/// A line of `/proc/meminfo`, in bytes.
pub fn meminfo(root: &Root, name: &str) -> Option<u64> {
    let text = root.read("/proc/meminfo")?;
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024)
}

/// Settings outside `/sys/power` that change what a sleep is or what is told of it. The
/// watchdog of device sleep has its own from 7.0 on (drivers/base/power/main.c, 7.3);
/// drivers/acpi/x86/s2idle.c was of the module acpi in 6.1.
pub(crate) const SETTINGS: [&str; 10] = [
    "/proc/sys/kernel/dpm_watchdog_timeout_secs",
    "/proc/sys/kernel/dpm_watchdog_warning_timeout_secs",
    "/sys/module/pm/parameters/dpm_watchdog_enabled",
    "/sys/module/pm/parameters/dpm_watchdog_all_cpu_backtrace",
    "/sys/module/acpi_x86/parameters/check_lps0_constraints",
    "/sys/module/acpi_x86/parameters/sleep_no_lps0",
    "/sys/module/acpi/parameters/sleep_no_lps0",
    "/sys/module/hibernate/parameters/compressor",
    "/sys/module/hibernate/parameters/pm_test_delay",
    "/proc/cmdline",
];

/// What `/dev/cpu_wakeup_latency` allows, us: four bytes in the order of this machine
/// (kernel/power/qos.c:cpu_wakeup_latency_qos_read, 7.3). Who opens the file asks for
/// nothing by that; without a limit it says the largest number.
pub(crate) fn wakeup_limit(root: &Root) -> Option<(String, String)> {
    let bytes = std::fs::read(root.resolve(WAKEUP_LIMIT)).ok()?;
    let limit = i32::from_ne_bytes(bytes.try_into().ok()?);
    Some((WAKEUP_LIMIT.into(), limit.to_string()))
}

/// A limit on the time that CPUs take to wake, in s2idle too (kernel/sched/idle.c, 7.3).
pub const WAKEUP_LIMIT: &str = "/dev/cpu_wakeup_latency";

/// Everything in `/sys/power` that can be read, and the parameters elsewhere
/// that change a cycle.
pub fn knobs(root: &Root) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let power = root.list("/sys/power").into_iter().map(|f| format!("/sys/power/{f}"));
    let others = [
        "/sys/module/suspend/parameters/pm_test_delay",
        "/sys/module/printk/parameters/console_suspend",
        "/sys/module/workqueue/parameters/power_efficient",
        "/proc/sys/kernel/printk",
        "/proc/sys/vm/dirty_ratio",
        "/proc/sys/vm/dirty_background_ratio",
    ];
    found.extend(wakeup_limit(root));
    let others = others.iter().chain(&SETTINGS).map(ToString::to_string);
    // wakeup_count waits until wakeup events are over: reading it may block.
    for path in power.filter(|p| !p.ends_with("/wakeup_count")).chain(others) {
        if !root.resolve(&path).is_file() {
            continue;
        }
        if let Some(value) = root.read(&path) {
            found.insert(path, value);
        }
    }
    found
}

/// `/sys/power/suspend_stats`, or its older form in debugfs.
pub fn suspend_stats(root: &Root) -> BTreeMap<String, String> {
    const FOLDER: &str = "/sys/power/suspend_stats";
    let mut stats: BTreeMap<String, String> = root
        .list(FOLDER)
        .into_iter()
        .filter_map(|f| root.read(&format!("{FOLDER}/{f}")).map(|v| (f, v)))
        .collect();
    if stats.is_empty() {
        for line in root.read("/sys/kernel/debug/suspend_stats").unwrap_or_default().lines() {
            if let Some((name, value)) = line.split_once(':') {
                stats.insert(name.trim().into(), value.trim().into());
            }
        }
    }
    stats
}

/// Suspends since boot, successful or not.
pub fn suspends(stats: &BTreeMap<String, String>) -> Option<u64> {
    let number = |name: &str| stats.get(name)?.parse::<u64>().ok();
    Some(number("success")? + number("fail")?)
}

/// What each wakeup source says in `file`, by its folder's name and its own.
pub(crate) fn wakeup_counts(root: &Root, file: &str) -> BTreeMap<(String, String), u64> {
    const FOLDER: &str = "/sys/class/wakeup";
    root.list(FOLDER)
        .into_iter()
        .filter_map(|f| {
            let name = root.read(&format!("{FOLDER}/{f}/name"))?;
            let count = root.read_number(&format!("{FOLDER}/{f}/{file}"))?;
            Some(((f, name), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(cpu_numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_numbers("0"), [0]);
        assert!(cpu_numbers("").is_empty());
        assert!(cpu_numbers("x-2").is_empty());
    }
}
