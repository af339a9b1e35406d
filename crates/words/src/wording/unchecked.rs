//! What the doctor did not check, and why not.

use dormouse_doctor::finding::Unchecked;

/// What was not checked, and why not.
pub fn unchecked(u: Unchecked) -> (&'static str, &'static str) {
    match u {
        Unchecked::Hardware => (
            "whether the hardware slept",
            "the text shows no counter: add /sys/power/suspend_stats/last_hw_sleep, read after the sleep",
        ),
        Unchecked::Callbacks => (
            "which device takes the time",
            "no callbacks: boot with initcall_debug, or dormouse record",
        ),
        Unchecked::RuntimePm => (
            "runtime power management",
            "the text shows no device's power/ folder and no rpm events",
        ),
        Unchecked::Messages => (
            "what the kernel said meanwhile",
            "a recording has times alone: give the kernel's log of that moment too",
        ),
        Unchecked::Log => {
            ("what the kernel said since boot", "its log may not be read: run the doctor as root")
        }
        Unchecked::NoLog => {
            ("what the kernel said since boot", "there is no /dev/kmsg here (a container?)")
        }
        Unchecked::NoSleep => {
            ("modes of sleep", "this kernel has none: /sys/power/mem_sleep is missing")
        }
        Unchecked::Debugfs => (
            "what the platform counts (pmc_core, amd_pmc)",
            "debugfs may not be read: run the doctor as root",
        ),
        Unchecked::NoDebugfs => (
            "what the platform counts (pmc_core, amd_pmc)",
            "debugfs is not mounted: mount -t debugfs none /sys/kernel/debug",
        ),
    }
}
