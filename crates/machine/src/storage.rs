//! Settings of storage beside a recording: devfreq, runtime power management of disks
//! and what they hang on, gating of clocks, exit latencies of CPUs.

use crate::machine;
use crate::root::Root;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Files of a folder `power`.
const POWER: [&str; 8] = [
    "control",
    "runtime_status",
    "runtime_usage",
    "runtime_active_kids",
    "runtime_active_time",
    "runtime_suspended_time",
    "autosuspend_delay_ms",
    "pm_qos_resume_latency_us",
];

/// Files of a devfreq device.
const DEVFREQ: [&str; 6] =
    ["governor", "polling_interval", "timer", "min_freq", "max_freq", "available_frequencies"];

const CPUS: &str = "/sys/devices/system/cpu";

/// What sysfs says: a line `PATH:VALUE` for each file.
pub fn dump(root: &Root) -> Vec<u8> {
    let mut out = String::new();
    let mut add = |path: String| {
        for line in root.read(&path).iter().flat_map(|v| v.lines()) {
            let _ = writeln!(out, "{path}:{line}");
        }
    };
    for device in root.list("/sys/class/devfreq") {
        for file in DEVFREQ {
            add(format!("/sys/class/devfreq/{device}/{file}"));
        }
    }
    // Disks, and everything above them.
    let mut above = BTreeSet::new();
    for disk in root.list("/sys/block") {
        for file in ["dev_freq_timeout_ms", "stat", "queue/scheduler"] {
            add(format!("/sys/block/{disk}/{file}"));
        }
        let mut path = root.usual(&root.resolve(&format!("/sys/block/{disk}"))).unwrap_or_default();
        // Disks that are no device, such as loop0, have nothing to sleep.
        while let Some((parent, _)) = path.rsplit_once('/')
            && path.starts_with("/sys/devices/")
            && !path.starts_with("/sys/devices/virtual/")
        {
            let parent = parent.to_string();
            above.insert(path);
            path = parent;
        }
    }
    for device in above {
        for file in POWER {
            add(format!("{device}/power/{file}"));
        }
        add(format!("{device}/clkgate_delay_ms"));
    }
    for n in machine::cpu_numbers(&root.read(&format!("{CPUS}/online")).unwrap_or_default()) {
        for state in root.list(&format!("{CPUS}/cpu{n}/cpuidle")) {
            add(format!("{CPUS}/cpu{n}/cpuidle/{state}/latency"));
        }
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn disks_and_what_they_hang_on_are_told_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, value: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        };
        put("sys/devices/platform/1d84000.ufshc/power/control", "auto\n");
        put("sys/devices/platform/1d84000.ufshc/clkgate_delay_ms", "150\n");
        put("sys/devices/platform/1d84000.ufshc/host0/block/sda/size", "1\n");
        put("sys/devices/platform/1d84000.ufshc/host0/power/autosuspend_delay_ms", "50\n");
        put("sys/devices/platform/other/power/control", "on\n");
        put("sys/devices/virtual/block/loop0/power/control", "auto\n");
        put("sys/class/devfreq/1d84000.ufshc/polling_interval", "60\n");
        put("sys/devices/system/cpu/online", "0\n");
        put("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n");
        fs::create_dir_all(folder.path().join("sys/block")).unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(
                format!("../devices/{to}"),
                folder.path().join("sys/block").join(name),
            )
            .unwrap();
        };
        link("platform/1d84000.ufshc/host0/block/sda", "sda");
        link("virtual/block/loop0", "loop0");
        let text = String::from_utf8(dump(&Root::below(folder.path()))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "/sys/class/devfreq/1d84000.ufshc/polling_interval:60",
                "/sys/devices/platform/1d84000.ufshc/power/control:auto",
                "/sys/devices/platform/1d84000.ufshc/clkgate_delay_ms:150",
                "/sys/devices/platform/1d84000.ufshc/host0/power/autosuspend_delay_ms:50",
                "/sys/devices/system/cpu/cpu0/cpuidle/state1/latency:2",
            ]
        );
    }
}
