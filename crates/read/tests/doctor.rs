//! The doctor against cases with the verdict of experts, and against damage.

use dormouse_doctor::Report;
use dormouse_doctor::finding::{Confidence, Level};
use dormouse_doctor::judge;
use dormouse_read::Given;
use dormouse_read::doctor::read_bytes;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// What the experts' verdict on a case means for the doctor.
#[derive(Clone, Copy)]
enum Verdict {
    /// The file proves it: this rule must find it, and be sure.
    Proven(&'static [&'static str]),
    /// The file makes it likely: it may be suspected, by this rule alone.
    Suspected(&'static [&'static str]),
    /// Healthy, or nothing in the file proves anything.
    Silent,
}
use Verdict::{Proven, Silent, Suspected};

/// Each case, and the rules that its verdict stands for.
const CASES: [(&str, Verdict); 61] = [
    ("ab-alarmtimer-chromeos", Suspected(&["clock-alarm-refused"])),
    ("ab-alarmtimer-cmos", Proven(&["clock-alarm-refused"])),
    ("ab-ata-second-suspend", Proven(&["phase-resume-unfinished", "device-failed"])),
    ("ab-hp-proone-wake-commitmsg", Proven(&["device-failed"])),
    ("ab-renesas-gpt-pwm", Proven(&["device-failed"])),
    ("ab-rmi4-reorder-5.11", Proven(&["device-failed"])),
    ("ab-rtsx-wakeup-count", Proven(&["abort-wakeup"])),
    ("ab-tegra-clk", Proven(&["device-failed"])),
    ("ab-xhci-ebusy-bug216601", Proven(&["device-failed"])),
    ("fz-ext4-fastcommit-5.16", Proven(&["freeze-failed"])),
    ("fz-fstrim-ext4-xps9310", Proven(&["freeze-failed"])),
    ("fz-kernelci-rk3288-rock2", Proven(&["freeze-retry-loop", "two-writers"])),
    ("fz-kthread-idleinject-imx8mq", Proven(&["freeze-failed"])),
    ("fz-udev-osmo-usbstorage", Proven(&["freeze-failed"])),
    ("fz-wqbusy-veyron-dwc2", Proven(&["freeze-failed"])),
    // Its hung tasks are of a journal a month after the sleep.
    ("fz-xps9360-sd-probe-mail", Proven(&["freeze-failed", "device-failed"])),
    (
        "fz-xps9360-sd-probe-then-s2idle",
        Proven(&["freeze-failed", "sync-retry-s2idle", "freeze-slow"]),
    ),
    ("hib-blockflush", Proven(&["hib-load-failed"])),
    ("hib-kexec-kasan", Suspected(&["hib-crash"])),
    ("hib-lz4-speeds", Silent),
    // A disk that stops keeps the way down waiting for 2.5 s.
    ("hib-mvsas", Proven(&["phase-device-lost", "phase-pause"])),
    ("hib-ucsi-good", Silent),
    // Of two sleeps the stamps stand still for 5.7 s before the controller answers again.
    (
        "hib-xps9360-image-short-dmesg",
        Proven(&["hib-image-short", "sync-retry-s2idle", "phase-pause"]),
    ),
    ("hib-xps9360-image-short-mail", Proven(&["hib-image-short", "sync-retry-s2idle"])),
    ("is-ab-usb2-surface-399", Proven(&["device-failed"])),
    ("is-fz-autofs-lkrg-464", Proven(&["freeze-failed"])),
    ("is-fz-cpuhog-systemd-19308", Proven(&["freeze-failed"])),
    ("is-fz-fuse-keybase-4112", Proven(&["freeze-failed"])),
    ("is-fz-fuse-syncthing-5020", Proven(&["freeze-failed", "sync-share"])),
    ("is-fz-pagefault-zulip-37590", Proven(&["freeze-failed"])),
    // A tool's list of prerequisites, all green: the fault is not in it.
    ("is-s2-amd-t14g3-579", Silent),
    ("is-s2-darp8-506", Proven(&["mode-name-only"])),
    ("is-s2-selftest-latitude-36", Silent),
    ("rpm-btusb-qca-dump-a", Suspected(&["rpm-usage-held"])),
    ("rpm-btusb-qca-powertop", Silent),
    ("rpm-ddr5-spd-dump", Silent),
    ("rpm-renesas-sdhi-trace", Silent),
    ("rpm-rk3399-supplier", Silent),
    ("rpm-usbc-adapter-powertop", Silent),
    ("rpm-xhci-cdns3-a", Proven(&["rpm-crash"])),
    ("rpm-xhci-cdns3-b", Proven(&["rpm-self-wait"])),
    ("s2-amd-ec-cpufreq", Suspected(&["mode-name-only"])),
    ("s2-asus-b1400-vmd", Silent),
    ("s2-ec-wake-2019", Proven(&["mode-wake-source"])),
    ("s2-elitebook845-timekeeping", Proven(&["mode-partial", "mode-turns"])),
    ("s2-hp-x360n-2019", Proven(&["mode-name-only"])),
    ("s2-lenovo-gpe-wake", Proven(&["mode-wake-source"])),
    ("s2-nvme-hostmanaged-a", Silent),
    ("s2-r8169-aspm", Suspected(&["mode-name-only"])),
    ("s2-strixhalo-firmware", Proven(&["mode-name-only"])),
    ("s2-surfacelaptop4-smu", Silent),
    ("s2-xps9360-hwsleep-zero", Suspected(&["mode-not-counted"])),
    ("s2-xps9360-s0ixselftest", Proven(&["mode-name-only"])),
    ("s2-xps9360-slps0-zero", Suspected(&["mode-not-counted"])),
    ("s2-xps9370-good-s0ixselftest", Proven(&["mode-hardware"])),
    ("sync-rockchip-4x", Proven(&["sync-share", "freeze-slow"])),
    ("tw-koelsch-cpufreq-a", Proven(&["phase-noirq-bus-gone"])),
    ("tw-ntp-rtc-commitmsg", Proven(&["phase-noirq-bus-gone"])),
    ("tw-qcom-geni-shutdown", Proven(&["phase-noirq-bus-gone"])),
    ("tw-t100ta-lpss", Proven(&["phase-noirq-bus-gone"])),
    ("tw-x13s-ps8830", Proven(&["phase-noirq-bus-gone"])),
];

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("doctor");
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", path.display());
        return None;
    }
    Some(path)
}

fn of(path: &Path) -> Report {
    let texts = Given::new(&[path.into()]).said().expect("a readable file");
    judge(&texts[0].case)
}

/// Prints a row for each case, and fails where the doctor and the verdict part:
/// something proven is not found, or something is claimed that is not there.
#[test]
fn cases_with_the_verdict_of_experts() {
    let Some(folder) = data() else { return };
    let mut wrong = Vec::new();
    println!("| case | found | verdict | agree |");
    println!("|---|---|---|---|");
    let (mut proven, mut missed) = (0, 0);
    for (name, verdict) in &CASES {
        let report = of(&folder.join(format!("{name}.txt")));
        let ids: Vec<&str> = report.findings.iter().map(|f| f.id).collect();
        let claims = |f: &&dormouse_doctor::finding::Finding| {
            f.level != Level::Note && f.confidence != Confidence::Guess
        };
        let (agree, words) = match verdict {
            Proven(rules) => {
                let found = rules.iter().all(|r| {
                    report.findings.iter().any(|f| f.id == *r && f.confidence != Confidence::Guess)
                });
                let more = report.findings.iter().filter(claims).any(|f| !rules.contains(&f.id));
                proven += 1;
                missed += usize::from(!found);
                (found && !more, "proven")
            }
            Suspected(rules) => {
                let sure =
                    |f: &&dormouse_doctor::finding::Finding| f.confidence == Confidence::Certain;
                let more = report.findings.iter().filter(claims).any(|f| !rules.contains(&f.id));
                (!more && !report.findings.iter().any(|f| sure(&f)), "suspected")
            }
            Silent => (!report.findings.iter().any(|f| claims(&f)), "silent"),
        };
        println!(
            "| {name} | {} | {words} | {} |",
            if ids.is_empty() { "-".into() } else { ids.join(", ") },
            if agree { "yes" } else { "NO" }
        );
        if !agree {
            wrong.push(*name);
        }
    }
    println!("\n{} of {proven} proven cases found, {} cases.", proven - missed, CASES.len());
    assert!(missed * 10 <= proven, "less than 90 % of what is proven is found");
    assert!(wrong.is_empty(), "the doctor parts from the experts on {wrong:?}");
}

/// Rules that a few lines prove.
fn ids(text: &str) -> Vec<&'static str> {
    judge(&read_bytes("text", text.as_bytes()).case).findings.iter().map(|f| f.id).collect()
}

/// A worker resumes a device, that resumes one below, and this one asks for the first again.
const SELF_WAIT: &str = "          <idle>-0     [000] d.h2    10.000000: rpm_resume: pad.1 flags-5 cnt-1  dep-0\n          <idle>-0     [000] dNh2    10.000010: rpm_return_int: rpm_resume+0x1/0x2:pad.1 ret=0\n     kworker/1:0-7     [001] d..1    10.000100: rpm_resume: pad.1 flags-2 cnt-1  dep-0\n     kworker/1:0-7     [001] d..1    10.000200: rpm_resume: child.1 flags-0 cnt-0  dep-0\n     kworker/1:0-7     [001] d..1    10.000300: rpm_resume: pad.1 flags-0 cnt-2  dep-0\n     sh-9     [001] d..1    14.000100: rpm_resume: other flags-0 cnt-1  dep-0\n";

/// A trace that was cut, that goes on in that thread, or that has no returns proves nothing.
#[test]
fn a_device_that_waits_for_itself_is_told_only_if_it_does() {
    assert_eq!(ids(SELF_WAIT), ["rpm-self-wait"]);
    let cut = SELF_WAIT.rsplit_once("     sh-9").unwrap().0;
    assert!(ids(cut).is_empty());
    let state = format!("{cut}/sys/bus/platform/devices/pad.1/power/runtime_status:resuming\n");
    assert_eq!(ids(&state), ["rpm-self-wait"]);
    let on = "     kworker/1:0-7     [001] d..1    13.000300: rpm_idle: pad.1 flags-0 cnt-2  dep-0\n     kworker/1:0-7     [001] d..1    13.000400: rpm_resume: next flags-0 cnt-2  dep-0\n";
    assert!(ids(&format!("{SELF_WAIT}{on}")).is_empty());
    let mut silent = String::new();
    for line in SELF_WAIT.lines().filter(|l| !l.contains("return_int")) {
        silent += line;
        silent.push('\n');
    }
    assert!(ids(&silent).is_empty());
    // Nobody waits who asks for it without waiting.
    assert!(ids(&SELF_WAIT.replace("pad.1 flags-0", "pad.1 flags-1")).is_empty());
}

#[test]
fn each_rule_and_its_healthy_twin() {
    let sick_and_healthy = [
        (
            "abort-wakeup",
            "[    1.000000] PM: Wakeup pending. Abort CPU freeze\n",
            "[    1.000000] PM: last active wakeup source: eventpoll\n",
        ),
        (
            "abort-wakeup",
            "[    1.000000] Abort: Last active Wakeup Source: eventpoll\n",
            "[    1.000000] PM: resume from suspend-to-idle\n",
        ),
        (
            "device-hang",
            "[    1.000000] nvme 0000:01:00.0: **** DPM device timeout ****\n",
            "[    1.000000] nvme 0000:01:00.0: timeout, completion polled\n",
        ),
        (
            "cpu-not-off",
            "[    1.000000] Error taking CPU3 down: -110\n",
            "[    1.000000] Error taking CPU3 up: -110\n",
        ),
        (
            "hib-no-swap",
            "[    1.000000] PM: Cannot find swap device, try swapon -a\n",
            "[    1.000000] PM: Image not found (code -22)\n",
        ),
        (
            "hib-other-kernel",
            "[    1.000000] PM: Image mismatch: version\n",
            "[    1.000000] PM: hibernation: Image created (1048969 pages copied)\n",
        ),
        (
            "rpm-underflow",
            "[    1.000000] i2c_hid 1-002c: Runtime PM usage count underflow!\n",
            "[    1.000000] i2c_hid 1-002c: probed\n",
        ),
        (
            "rpm-parent-off",
            "[    1.000000] usb usb2: runtime PM trying to activate child device usb2 but parent (7ffb0000.ohci) is not active\n",
            "[    1.000000] usb usb2: root hub lost power or was reset\n",
        ),
        (
            "sync-hung",
            "[    1.000000] PM: suspend entry (deep)\n[  123.000000] INFO: task systemd-sleep:77 blocked for more than 120 seconds.\n[  123.000001]  sync_inodes_sb+0x1/0x2\n",
            "[    1.000000] PM: suspend entry (deep)\n[  123.000000] INFO: task systemd-sleep:77 blocked for more than 120 seconds.\n[  123.000001]  nvme_wait+0x1/0x2\n",
        ),
        (
            "sync-hung",
            "[    1.000000] PM: suspend entry (deep)\n[  123.000000] INFO: task systemd-sleep:77 blocked for more than 122 seconds.\n[  123.000001]  folio_wait_writeback+0x1/0x2\n",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Freezing user space processes\n[  123.000000] INFO: task cp:77 blocked for more than 122 seconds.\n[  123.000001]  folio_wait_writeback+0x1/0x2\n",
        ),
        (
            "sync-not-abortable",
            "[    0.000000] Linux version 6.12.1-amd64 (x@y)\n[    1.000000] PM: suspend entry (deep)\n[    5.000000] Filesystems sync: 3.900 seconds\n[    6.000000] PM: suspend exit\n",
            "[    0.000000] Linux version 7.3.4-amd64 (x@y)\n[    1.000000] PM: suspend entry (deep)\n[    5.000000] Filesystems sync: 3.900 seconds\n[    6.000000] PM: suspend exit\n",
        ),
        (
            "sync-aborted",
            "[    0.000000] Linux version 7.3.4-amd64 (x@y)\n[    1.000000] PM: suspend entry (deep)\n[    2.500000] PM: suspend exit\n",
            "[    0.000000] Linux version 6.12.1-amd64 (x@y)\n[    1.000000] PM: suspend entry (deep)\n[    2.500000] PM: suspend exit\n",
        ),
        (
            "rpm-crash",
            "[    1.000000] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000240\n[    1.000001]  xhci_suspend+0x30/0x698\n[    1.000002]  xhci_plat_runtime_suspend+0x80/0x90\n[    1.000003]  pm_generic_runtime_suspend+0x30/0x48\n[    1.000004]  __rpm_callback+0x90/0x148\n",
            "[    1.000000] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000240\n[    1.000001]  nvme_timeout+0x30/0x698\n",
        ),
        (
            "phase-crash",
            "[   66.452730] PM: Timekeeping suspended for 0.005 seconds\n[   66.597724] PM: noirq resume of devices complete after 13.979 msecs\n[   66.700577] Bad mode in Error handler detected on CPU3, code 0xbf000002 -- SError\n[   66.700647] Kernel panic - not syncing: bad mode\n[   66.743598] Call trace:\n[   66.746232]  dump_backtrace+0x0/0x348\n[   66.752306]  a_phy_init+0xa8/0x228\n",
            "[   66.452730] PM: Timekeeping suspended for 0.005 seconds\n[   66.597724] PM: noirq resume of devices complete after 13.979 msecs\n[   66.800000] Restarting tasks ... done.\n[   66.810000] PM: suspend exit\n[  470.700647] Kernel panic - not syncing: bad mode\n",
        ),
        (
            "phase-crash",
            "[    1.000000] PM: suspend entry (deep)\n[    2.000000] printk: Suspending console(s) (use no_console_suspend to debug)\n[    2.500000] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP\n[    2.500001]  a_driver_suspend+0x1/0x2\n",
            "[    1.000000] PM: suspend entry (deep)\n[    2.000000] printk: Suspending console(s) (use no_console_suspend to debug)\n[    2.500000] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:285\n[    2.500001]  a_driver_suspend+0x1/0x2\n",
        ),
        (
            "write-refused",
            "Jun 09 17:10:10 h systemd-sleep[852]: Failed to suspend system. System resumed again: No space left on device\n",
            "Jun 09 17:10:10 h systemd-sleep[852]: System returned from sleep operation 'suspend'.\n",
        ),
        (
            "hib-device-refused",
            "[    1.000000] PM: Image successfully loaded\n[    1.100000] gpu 0000:64:00.0: PM: failed to quiesce async: error -5\n[    1.200000] PM: hibernation: Failed to load image, recovering.\n",
            "[    1.100000] gpu 0000:64:00.0: PM: failed to quiesce async: error -5\n[    1.200000] PM: hibernation: Failed to load image, recovering.\n",
        ),
        (
            "phase-noirq-bus-gone",
            "[    1.000000] PM: late suspend of devices complete after 9.000 msecs\n[    1.100000] i2c_designware 8C1:05: timeout waiting for bus ready\n[    1.200000] PM: noirq suspend of devices complete after 82.000 msecs\n",
            "[    1.000000] PM: late suspend of devices complete after 9.000 msecs\n[    1.200000] PM: noirq suspend of devices complete after 8.000 msecs\n[    2.000000] PM: noirq resume of devices complete after 9.000 msecs\n[    2.100000] i2c_designware 8C1:05: timeout waiting for bus ready\n",
        ),
        (
            "freeze-failed",
            "[ 1.0] PM: suspend entry (deep)\n[   21.000000] Freezing user space processes failed after 20.003 seconds (1 tasks refusing to freeze, wq_busy=0):\n[   21.000001] task:a state:D stack:0 pid:7 ppid:1\n[   21.000002]  request_wait_answer+0x1/0x2 [fuse]\n",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Freezing user space processes completed (elapsed 0.003 seconds)\n[    2.000000] PM: suspend exit\n",
        ),
        (
            "device-failed",
            "[    1.000000] xhci_hcd 0000:00:14.0: PM: failed to suspend async: error -16\n",
            "[    1.000000] xhci_hcd 0000:00:14.0: PM: calling pci_pm_suspend @ 7, parent: pci0000:00\n",
        ),
        (
            "clock-alarm-abort",
            "[    1.000000] alarmtimer alarmtimer.0.auto: PM: failed to suspend: error -16\n",
            "[    1.000000] alarmtimer alarmtimer.0.auto: PM: platform_pm_suspend returned 0 after 3 usecs\n",
        ),
        (
            "clock-alarm-refused",
            "[    1.000000] alarmtimer alarmtimer.0.auto: PM: failed to suspend: error -22\n",
            "[    1.000000] alarmtimer alarmtimer.0.auto: PM: failed to suspend: error -16\n",
        ),
        (
            "hib-image-short",
            "[    1.000000] PM: hibernation: Image allocation is 28906 pages short\n",
            "[    1.000000] PM: hibernation: Allocated 369227 pages for snapshot\n",
        ),
        (
            "mode-name-only",
            "[    1.000000] amd_pmc AMDI0005:00: Last suspend didn't reach deepest state\n",
            "[    1.000000] amd_pmc AMDI0005:00: Last suspend in deepest state for 758373565us\n",
        ),
        (
            "mode-name-only",
            "[    1.000000] intel_pmc_core INT33A1:00: CPU did not enter Package C10!!! (Package C10 cnt=0x0)\n",
            "[    1.000000] intel_pmc_core INT33A1:00:  initialized\n",
        ),
        (
            "phase-noirq-bus-gone",
            "[    1.000000] i2c i2c-2: Transfer while suspended\n",
            "[    1.000000] i2c i2c-2: adapter registered\n",
        ),
        (
            "sync-freeze-fs",
            "/sys/power/freeze_filesystems:1\n[    1.000000] PM: suspend entry (deep)\n[    1.100000] Filesystems sync: 0.090 seconds\n[    2.700000] Freezing user space processes\n[    6.000000] PM: suspend exit\n",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Filesystems sync: 0.090 seconds\n[    2.700000] Freezing user space processes\n[    6.000000] PM: suspend exit\n",
        ),
        (
            "sync-write-error",
            "[    1.000000] PM: suspend entry (deep)\n[    1.200000] Buffer I/O error on dev sdb1, logical block 12, lost async page write\n[    1.300000] Filesystems sync: 0.290 seconds\n[    6.000000] PM: suspend exit\n",
            "[    0.200000] Buffer I/O error on dev sdb1, logical block 12, lost async page write\n[    1.000000] PM: suspend entry (deep)\n[    1.300000] Filesystems sync: 0.290 seconds\n[    6.000000] PM: suspend exit\n",
        ),
        (
            "sync-write-error",
            "Jun 09 17:10:10 h dormouse[852]: /mnt cannot be written: Input/output error.\n",
            "Jun 09 17:10:10 h installer[852]: The licence in /mnt cannot be written: read only.\n",
        ),
        (
            "phase-supplier-order",
            "[    0.500000] panel 2-0048: Failed to create device link (0x180) with supplier 2-0010 for /bus/panel@48\n[    9.000000] panel 2-0048: PM: failed to suspend async: error -110\n",
            "[    0.500000] lamp 2-0050: Failed to create device link (0x180) with supplier 2-0010 for /bus/lamp@50\n[    9.000000] panel 2-0048: PM: failed to suspend async: error -110\n",
        ),
        (
            "phase-wake-window",
            "/sys/power/pm_wakeup_irq:45\n/sys/kernel/irq/45/actions:PAD1:00\n/sys/devices/i2c-1/i2c-PAD1:00/power/wakeup:enabled\n/sys/devices/i2c-1/i2c-PAD1:00/power/wakeup_active_count:0\n",
            "/sys/power/pm_wakeup_irq:45\n/sys/kernel/irq/45/actions:PAD1:00\n/sys/devices/i2c-1/i2c-PAD1:00/power/wakeup:enabled\n/sys/devices/i2c-1/i2c-PAD1:00/power/wakeup_active_count:3\n",
        ),
        (
            "phase-nosuspend-wake",
            "[    1.000000] WARNING: CPU: 0 PID: 1 at kernel/irq/pm.c:91 irq_pm_install_action+0x74/0x90\n[    1.000001]  irq_pm_install_action+0x74/0x90\n[    1.000002]  __setup_irq+0x400/0x700\n[    1.000003]  request_threaded_irq+0xe0/0x180\n[    1.000004]  pad_probe+0x120/0x200\n",
            "[    1.000000] WARNING: CPU: 0 PID: 1 at kernel/irq/manage.c:774 enable_irq+0x74/0x90\n[    1.000001]  enable_irq+0x74/0x90\n",
        ),
        // A device that refuses to be prepared, and one of which the callback alone is told.
        (
            "device-failed",
            "[    1.000000] hub serial0-0: PM: not prepared for power transition: code -110\n",
            "[    1.000000] hub serial0-0: PM: device_prepare(): hub_prepare returns 0\n",
        ),
        (
            "device-failed",
            "23:21:13  kernel: xhci_hcd 0000:13:00.0: PM: pci_pm_suspend(): hcd_pci_suspend returns -16\n",
            "23:21:13  kernel: xhci_hcd 0000:13:00.0: PM: pci_pm_suspend(): hcd_pci_suspend returns 0\n",
        ),
        (
            "abort-unknown",
            "[    1.000000] PM: Some devices failed to suspend, or early wake event detected\n[    1.300000] ata1: SATA link down\n",
            "[    1.000000] x 1-1: PM: failed to suspend: error -5\n[    1.000000] PM: Some devices failed to suspend, or early wake event detected\n",
        ),
        (
            "phase-device-lost",
            "[    1.000000] PM: suspend entry (s2idle)\n[    1.100000] printk: Suspending console(s) (use no_console_suspend to debug)\n[    9.000000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n[    9.100000] PM: suspend exit\n",
            "[    0.500000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n[    1.000000] PM: suspend entry (s2idle)\n[    1.100000] printk: Suspending console(s) (use no_console_suspend to debug)\n[    9.000000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n[    9.100000] PM: suspend exit\n",
        ),
        (
            "phase-device-lost",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Suspending console(s) (use no_console_suspend to debug)\n[    9.000000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n[    9.100000] PM: suspend exit\n",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Suspending console(s) (use no_console_suspend to debug)\n[    9.000000] xhci_hcd 0000:39:00.0: HC died; cleaning up\n[    9.100000] PM: suspend exit\n",
        ),
        (
            "sync-hung",
            "00:01:00  kernel: PM: suspend entry (s2idle)\n00:04:35  kernel: INFO: task kworker/u48:5 blocked for more than 122 seconds.\n          Workqueue: pm_fs_sync pm_fs_sync_work_fn\n",
            "00:01:00  kernel: PM: suspend entry (s2idle)\n00:04:35  kernel: INFO: task kworker/u48:5 blocked for more than 122 seconds.\n          Workqueue: events_unbound other_fn\n",
        ),
        (
            "sync-write-error",
            "[    1.000000] PM: suspend entry (s2idle)\n[    8.000000] EXT4-fs warning (device dm-4): ext4_end_bio:323: I/O error 10 writing to inode 34 (offset 0)\n[    9.000000] Filesystems sync: 8.000 seconds\n[    9.100000] Freezing user space processes\n",
            "[    1.000000] PM: suspend entry (s2idle)\n[    9.000000] Filesystems sync: 8.000 seconds\n[    9.100000] Freezing user space processes\n[    9.200000] EXT4-fs warning (device dm-4): ext4_end_bio:323: I/O error 10 writing to inode 34 (offset 0)\n",
        ),
        (
            "knob-pm-test",
            "root@h:/sys/power# grep -r . *\npm_async:1\npm_test:none core [freezer]\n",
            "root@h:/sys/power# grep -r . *\npm_async:1\npm_test:[none] core freezer\n",
        ),
        (
            "hib-load-failed",
            "[    1.000000] PM: Failed to load hibernation image, recovering.\n",
            "[    0.900000] PM: Image mismatch: version\n[    1.000000] PM: Failed to load hibernation image, recovering.\n",
        ),
        (
            "hib-other-kernel",
            "Oct 02 12:38:50 h systemd-hibernate-resume-generator[145]: HibernateLocation system identifier doesn't match currently running system, would not resume from it.\n",
            "Oct 02 12:38:50 h systemd-hibernate-resume-generator[145]: Reported hibernation image: ID=x kernel=6.16.8 offset=0\n",
        ),
        (
            "rpm-self-wait",
            SELF_WAIT,
            "     kworker/1:0-7     [001] d..1    10.000100: rpm_resume: pad.1 flags-2 cnt-1  dep-0\n     kworker/1:0-7     [001] d..1    10.000900: rpm_return_int: rpm_resume+0x1/0x2:pad.1 ret=0\n     kworker/1:0-7     [001] d..1    12.000100: rpm_resume: pad.1 flags-0 cnt-1  dep-0\n     sh-9     [001] d..1    14.000100: rpm_resume: other flags-0 cnt-1  dep-0\n",
        ),
        (
            "sync-share",
            "[    1.000000] PM: suspend entry (deep)\n[    5.000000] Filesystems sync: 3.900 seconds\n[    6.000000] PM: suspend exit\n",
            "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Filesystems sync: 0.090 seconds\n[    6.000000] PM: suspend exit\n",
        ),
    ];
    for (rule, sick, healthy) in sick_and_healthy {
        assert!(ids(sick).contains(&rule), "{rule} does not find {:?}", ids(sick));
        assert!(!ids(healthy).contains(&rule), "{rule} finds a fault in health");
    }
}

/// Of the queues that are listed the one whose work runs is named; a line with a date is
/// no rest of the one before; a time of day is no part of a message.
#[test]
fn logs_of_other_shapes_are_read() {
    let found = |text: &str| judge(&read_bytes("text", text.as_bytes()).case).findings;
    let queues = found(
        "[   21.000000] Freezing of tasks failed after 20.001 seconds (0 tasks refusing to freeze, wq_busy=1):\n\
         [   21.000001] workqueue writeback: flags=0x4e\n\
         [   21.000002]   pwq 8: cpus=0-3 flags=0x4 nice=0 active=0/0 refcnt=3\n\
         [   21.000003]     delayed: wb_workfn\n\
         [   21.000004] workqueue usb_hub_wq: flags=0x4\n\
         [   21.000005]   pwq 4: cpus=2 node=0 flags=0x0 nice=0 active=1/0 refcnt=2\n",
    );
    assert!(queues[0].sentence.starts_with("Workqueue usb_hub_wq was still busy"), "{queues:?}");
    let source = found(
        "Apr 28 14:21:35 h kernel: [ 8930.290825] PM: Wakeup pending, aborting suspend now, as it says\n\
         Apr 28 14:21:35 h kernel: [ 8930.290850] active wakeup source: WLAN timeout\n\
         Apr 28 14:21:35 h systemd-sleep[20988]: Interrupted system call\n",
    );
    assert_eq!(source[0].about.devices[0].name, "WLAN timeout");
    let clock = "00:24:13  PM: suspend entry (deep)\n\
        00:24:17  xhci_hcd 0000:13:00.0: PM: failed to suspend async: error -16\n\
        00:24:17  PM: suspend exit\n";
    assert_eq!(ids(clock), ["device-failed"]);
}

/// What stands in the image's way is said: the map of memory, or a device that does not
/// stop for it, not a disk.
#[test]
fn an_image_that_is_refused_is_not_called_unread() {
    let found = |text: &str| judge(&read_bytes("text", text.as_bytes()).case).findings;
    let map = found(
        "[    1.000000] Hibernate inconsistent memory map detected!\n\
         [    1.000001] PM: Image mismatch: architecture specific data\n",
    );
    assert_eq!(map[0].id, "hib-other-kernel");
    assert!(map[0].sentence.contains("memory map"), "{map:?}");
    let device = found(
        "[    1.000000] PM: Image successfully loaded\n\
         [    1.100000] gpu 0000:64:00.0: PM: failed to quiesce async: error -5\n\
         [    1.200000] PM: hibernation: Failed to load image, recovering.\n",
    );
    let (d, error) = (&device[0].about.devices[0], device[0].about.error);
    assert_eq!((d.name.as_str(), d.driver.as_str(), error), ("0000:64:00.0", "gpu", Some(-5)));
    assert!(!device.iter().any(|f| f.id == "hib-load-failed"));
}

/// A probe that does not end holds the lock that another task waits for.
#[test]
fn one_deadlock_is_one_finding() {
    let text = "[  118.822270] Freezing user space processes failed after 20.003 seconds (2 tasks refusing to freeze, wq_busy=0):\n\
        [  118.822281] task:systemd-journal state:D stack:0     pid:474   tgid:474   ppid:1\n\
        [  118.822306]  uevent_show+0x99/0x150\n\
        [  118.822430] task:(udev-worker)   state:D stack:0     pid:2453  tgid:2453  ppid:520\n\
        [  118.822440]  async_synchronize_cookie_domain+0x116/0x160\n";
    let found = judge(&read_bytes("text", text.as_bytes()).case).findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].about.tasks[0].pid, 2453);
    let said = &found[0].sentence;
    assert!(
        said.contains("async_synchronize") && said.contains("systemd-journal (pid 474)"),
        "{said}"
    );
    let lines: Vec<u64> = found[0].evidence.iter().map(|e| e.line).collect();
    assert_eq!(lines, [1, 4, 2]);
}

#[test]
fn a_device_that_did_not_suspend_is_named_before_a_wakeup_is_blamed() {
    let text = "[    1.000000] usb 4-1-port2: device 4-1.2 not suspended yet\n\
        [    2.000000] xhci_hcd 0000:39:00.0: PM: failed to suspend async: error -16\n";
    let found = judge(&read_bytes("text", text.as_bytes()).case).findings;
    assert!(found[0].sentence.contains("4-1.2 below it was not suspended"), "{found:?}");
    assert_eq!(found[0].evidence[0].line, 1);
}

#[test]
fn a_sleep_of_the_hardware_is_said() {
    let test = |share| format!("S0ix residency after S2idle is: {share}\n");
    assert_eq!(ids(&test("92.12")), ["mode-hardware"]);
    assert_eq!(ids(&test("42.12")), ["mode-partial"]);
    let slept = "[    1.0] PM: suspend entry (s2idle)\n\
        [    2.0] Timekeeping suspended for 760.000 seconds\n\
        [    3.0] amd_pmc AMDI0005:00: Last suspend in deepest state for 758373565us\n\
        [    4.0] PM: suspend exit\n";
    assert_eq!(ids(slept), ["mode-hardware", "night-slept"]);
}

/// Logs that show one line of each attempt, and those of kernels before 5.0.
#[test]
fn attempts_are_counted_by_what_each_has_once() {
    let report = |text: &str| judge(&read_bytes("text", text.as_bytes()).case);
    let twice = "[    1.000000] Freezing user space processes\n\
        [    1.001000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
        [  900.000000] Freezing user space processes\n\
        [  900.001000] Freezing user space processes completed (elapsed 0.001 seconds)\n";
    assert_eq!(report(twice).sleeps.len(), 2);
    let old = "[    1.000000] PM: Syncing filesystems ... done.\n\
        [    1.100000] PM: Preparing system for sleep (freeze)\n\
        [    1.200000] Freezing user space processes ... (elapsed 0.001 seconds) done.\n\
        [    3.000000] PM: resume of devices complete after 16.226 msecs\n\
        [    3.100000] PM: Finishing wakeup.\n";
    let sleeps = report(old).sleeps;
    let [s] = &sleeps[..] else { panic!("{sleeps:?}") };
    assert_eq!((s.mode.as_str(), s.begun, s.closed, s.line), ("s2idle", true, true, 1));
    // Newer kernels say both, and it is one attempt.
    let new = "[    1.000000] PM: suspend entry (deep)\n\
        [    1.100000] PM: Preparing system for sleep (deep)\n\
        [    1.200000] Freezing user space processes\n\
        [    3.100000] PM: Finishing wakeup.\n\
        [    3.200000] PM: suspend exit\n";
    assert_eq!(report(new).sleeps.len(), 1);
    assert_eq!(report(new).sleeps[0].mode, "deep");
}

/// Callbacks that call each other are one failure; one that stops for an image ends no sleep.
#[test]
fn a_callback_is_told_once() {
    let found = |text: &str| judge(&read_bytes("text", text.as_bytes()).case).findings;
    let nested = "[    1.000000] usb 1-1: PM: usb_suspend(): pad_suspend returns -5\n\
        [    1.000010] usb 1-1: PM: dpm_run_callback(): usb_suspend returns -5\n";
    let about = &found(nested)[0].about;
    assert_eq!((about.times, about.error), (Some(1), Some(-5)));
    let image = "[    1.000000] PM: Image successfully loaded\n\
        [    1.100000] gpu 0000:64:00.0: PM: pci_pm_freeze(): gpu_freeze returns -5\n\
        [    1.100001] gpu 0000:64:00.0: PM: failed to quiesce async: error -5\n\
        [    1.200000] PM: hibernation: Failed to load image, recovering.\n";
    let ids: Vec<&str> = found(image).iter().map(|f| f.id).collect();
    assert_eq!(ids, ["hib-device-refused"]);
}

/// Kernels of telephones: the CPU behind the time, each end twice, and sources that held
/// the machine awake at another time.
#[test]
fn logs_of_telephones_are_read() {
    let text = "[  404.694100,0] PM: PM: suspend entry 2020-06-07 17:25:14.761932690 UTC\n\
        [  404.694116,0] PM: suspend entry (deep)\n\
        [  404.731072,0] PM: Wakeup pending, aborting suspend\n\
        [  404.731083,0] PM: active wakeup source: radio tx\n\
        [  404.779771,3] PM: PM: suspend exit 2020-06-07 17:25:14.861932690 UTC\n\
        [  404.779778,3] PM: suspend exit\n\
        [  406.380832@1] PM: active wakeup source: Display\n";
    let report = judge(&read_bytes("text", text.as_bytes()).case);
    let sources = &report.findings[0].about.devices;
    assert_eq!((sources.len(), sources[0].name.as_str()), (1, "radio tx"));
    assert_eq!(report.sleeps.len(), 1, "{:?}", report.sleeps);
    assert!(report.sleeps[0].closed && report.sleeps[0].mode == "deep");
    assert_eq!(report.findings.len(), 1, "no second writer: {:?}", report.findings);
    // An exit alone shows nothing of a sleep.
    let two = "[  1.000000][ T3638] PM: suspend exit 2023-12-10 11:20:46.356796641 UTC\n\
        [  1.000100][ T3638] modem: Resume done\n\
        [  1.000200][ T3638] PM: suspend exit\n";
    assert!(judge(&read_bytes("text", two.as_bytes()).case).sleeps.is_empty());
}

/// The fence of a quoted log is no part of its last line.
#[test]
fn a_fence_is_no_rest_of_a_line() {
    let text =
        "```\n[  166.045308] snd-soc-dummy snd-soc-dummy: Runtime PM usage count underflow!\n```\n";
    let found = judge(&read_bytes("text", text.as_bytes()).case).findings;
    assert!(found[0].evidence[0].text.ends_with("underflow!"), "{found:?}");
}

#[test]
fn a_sync_line_of_an_earlier_attempt_is_not_counted_twice() {
    let text = "[    0.100000] PM: suspend entry (s2idle)\n\
        [    0.900000] PM: suspend exit\n\
        [    1.000000] PM: suspend entry (s2idle)\n\
        [    1.500000] Filesystems sync: 6.899 seconds\n\
        [    9.000000] PM: suspend exit\n";
    assert!(!ids(text).contains(&"sync-share"));
}

#[test]
fn one_sync_of_several_that_takes_seconds_is_told() {
    let sleep = |at: u32, sync: &str| {
        format!(
            "[ {at}.100000] PM: suspend entry (deep)\n\
             [ {at}.900000] Filesystems sync: {sync} seconds\n\
             [ {at}.950000] PM: suspend exit\n"
        )
    };
    let of = |middle: &str| {
        let text = sleep(10, "0.011") + &sleep(40, middle) + &sleep(70, "0.018");
        let found = judge(&read_bytes("text", text.as_bytes()).case).findings;
        found.into_iter().find(|f| f.id == "sync-share").map(|f| f.sentence)
    };
    let told = of("8.240").expect("a finding");
    assert!(told.contains("before one sleep of 3"), "{told}");
    assert_eq!(of("1.240"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the bytes are, the doctor answers.
    #[test]
    fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = judge(&read_bytes("noise", &bytes).case);
    }

    /// Lines of logs in any order, cut anywhere.
    #[test]
    fn shuffled_lines_are_no_panic(
        lines in proptest::collection::vec(0usize..10, 0..40),
        cut in 0usize..4000,
    ) {
        const LINES: [&str; 10] = [
            "[    9.000000] PM: suspend entry (deep)",
            "[    1.000000] PM: suspend exit",
            "[    5.000000] Freezing of tasks failed after 99999999999999999.0 seconds (99999999 tasks refusing to freeze, wq_busy=1):",
            "[    5.100000] task:x state:D stack:0 pid:99999999999 ppid:2",
            "[    5.200000] Timekeeping suspended for 9223372036854775807.999 seconds",
            "[    5.300000] amd_pmc: Last suspend in deepest state for 9223372036854775807us",
            "[    5.400000] x y: PM: failed to suspend: error -99999999999",
            "[    5.500000] i2c: Transfer while suspended",
            "/sys/devices/a/power/runtime_active_time:18446744073709551615",
            "PM: hibernation: hibernation entry",
        ];
        let text: String = lines.iter().flat_map(|i| [LINES[*i], "\n"]).collect();
        let text = &text.as_bytes()[..cut.min(text.len())];
        let _ = judge(&read_bytes("shuffled", text).case);
    }
}
