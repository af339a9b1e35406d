//! Texts that hold a piece of a sleep.

use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::Level;
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes as heard;
use dormouse_read::{Options, read_bytes};

pub(crate) fn cycles(text: &str) -> Vec<Cycle> {
    let reading = read_bytes("log", text.as_bytes(), &Options::default());
    reading.map_or(Vec::new(), |r| r.captures.into_iter().flat_map(|c| c.cycles).collect())
}

#[test]
fn delta_stamps_alone_are_times() {
    let log = [
        (0, "PM: suspend entry (deep)"),
        (31, "Filesystems sync: 0.030 seconds"),
        (2, "Freezing user space processes"),
        (5, "Freezing user space processes completed (elapsed 0.005 seconds)"),
        (610, "PM: suspend of devices complete after 603.000 msecs"),
    ];
    for calendar in ["", "Thu Apr  2 20:58:01 2026 "] {
        let line =
            |(ms, t): &(u32, &str)| format!("[{calendar}<{:12.6}>] {t}\n", f64::from(*ms) / 1e3);
        let list = cycles(&log.iter().map(line).collect::<String>());
        assert_eq!(list[0].suspend_time(), Some(Ns::from_ms(648)), "{calendar}");
    }
}

#[test]
fn months_in_numbers_tell_which_line_is_the_newest() {
    let text = "9月 14 22:30:15 kite kernel: Freezing user space processes completed (elapsed 0.007 seconds)\n\
        9月 14 22:30:15 kite kernel: Freezing user space processes\n\
        9月 13 08:12:09 kite kernel: Freezing user space processes completed (elapsed 0.002 seconds)\n\
        9月 13 08:12:09 kite kernel: Freezing user space processes\n\
        9月 11 09:00:41 kite kernel: Freezing user space processes completed (elapsed 0.004 seconds)\n\
        9月 11 09:00:41 kite kernel: Freezing user space processes\n\
        8月 31 17:20:02 kite kernel: Freezing user space processes completed (elapsed 0.009 seconds)\n\
        8月 31 17:20:02 kite kernel: Freezing user space processes\n";
    let took: Vec<i64> =
        cycles(text).iter().map(|c| c.phases[0].duration().0 / 1_000_000).collect();
    assert_eq!(took, [9, 4, 2, 7]);
}

#[test]
fn lines_of_failed_freezing_are_attempts() {
    let text = "71200.100000] Freezing of tasks failed after 20.006 seconds (3 tasks refusing to freeze, wq_busy=0):\n\
        [71290.100000] Freezing of tasks failed after 20.002 seconds (0 tasks refusing to freeze, wq_busy=1):\n\
        [71380.100000] Freezing user space processes failed after 7.004 seconds (1 tasks refusing to freeze, wq_busy=0):\n";
    let list = cycles(text);
    let took: Vec<i64> =
        list.iter().map(|c| c.suspend_time().map_or(0, |t| t.0 / 1_000_000)).collect();
    assert_eq!(took, [20_006, 20_002, 7_004]);
    assert!(list.iter().all(|c| c.outcome == Outcome::FreezeFailed { errno: -16 }));
    let sleeps = judge(&heard("log", text.as_bytes()).case).sleeps;
    assert_eq!(sleeps.len(), 3);
    assert!(sleeps.iter().all(|s| !s.begun && !s.closed), "{sleeps:?}");
}

#[test]
fn lines_of_refusals_are_attempts() {
    let device = "PM: Device usb4 failed to suspend async: error -16";
    let other = "atmel_mxt_ts 3-004a: PM: failed to suspend: error -121";
    let summed = "PM: Some devices failed to suspend, or early wake event detected";
    let text = |lines: &[&str]| -> String {
        let line = |(i, l): (usize, &&str)| format!("Jan  9 10:{i:02}:00 wren kernel: {l}\n");
        lines.iter().enumerate().map(line).collect()
    };
    // Two devices of one attempt, one of another, and one that nobody names.
    let text = text(&[device, other, summed, device, summed, summed]);
    let named: Vec<bool> = cycles(&text)
        .iter()
        .map(|c| match c.outcome {
            Outcome::AbortedByDevice { device, .. } => device.is_some(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(named, [true, true, false]);
    let sleeps = |text: &str| judge(&heard("log", text.as_bytes()).case).sleeps.len();
    assert_eq!(sleeps(&text), 3);
    // Of a mail that quotes its worst line above the log.
    let whole = "Jan  9 11:00:00 wren kernel: PM: suspend entry (deep)\n";
    assert_eq!(
        (sleeps(&format!("{text}{whole}")), cycles(&format!("{text}{whole}")).len()),
        (1, 1)
    );
}

/// The words of kernels before 5.5.
#[test]
fn an_old_kernel_that_reads_an_image_does_not_sleep() {
    let text = "[    4.100000] PM: Looking for hibernation image.\n\
        [    4.100300] PM: Image signature found, resuming\n\
        [    4.103000] PM: Preparing processes for restore.\n\
        [    4.103100] Freezing user space processes ... (elapsed 0.000 seconds) done.\n\
        [    4.103900] OOM killer disabled.\n\
        [    4.104000] PM: Loading hibernation image.\n\
        [    5.300000] PM: Image mismatch: version\n\
        [    5.300200] PM: Failed to load hibernation image, recovering.\n\
        [    5.300400] OOM killer enabled.\n\
        [    5.300500] Restarting tasks ... done.\n";
    assert!(cycles(text).iter().all(|c| c.reads_image));
    assert!(judge(&heard("log", text.as_bytes()).case).sleeps.is_empty());
}

#[test]
fn a_hibernation_without_its_image_did_not_sleep() {
    let of = |why: &str| {
        let text = format!(
            "[  300.000000] PM: hibernation: hibernation entry\n\
             [  300.030000] Filesystems sync: 0.030 seconds\n\
             [  300.031000] Freezing user space processes\n\
             [  300.034000] Freezing user space processes completed (elapsed 0.003 seconds)\n\
             [  304.500000] PM: hibernation: Allocated 400000 kbytes in 4.40 seconds (90.90 MB/s)\n\
             [  304.900000] PM: hibernation: Creating image:\n\
             [  305.100000] {why}\n\
             [  305.400000] OOM killer enabled.\n\
             [  305.401000] Restarting tasks: Starting\n\
             [  305.403000] Restarting tasks: Done\n\
             [  305.404000] PM: hibernation: hibernation exit\n"
        );
        cycles(&text)[0].outcome
    };
    assert_eq!(of("PM: Not enough free swap"), Outcome::ImageFailed);
    assert_eq!(of("PM: hibernation: Error -12 creating image"), Outcome::ImageFailed);
    assert_eq!(of("PM: hibernation: Need to copy 99000 pages"), Outcome::Slept);
}

#[test]
fn a_device_that_is_gone_after_a_sleep_is_found_without_its_begin() {
    let gone = "snd_hda_intel 0000:0b:00.1: Unable to change power state from D3hot to D0, device inaccessible";
    let found = |before: &str| {
        let text = format!("[  812.300000] {before}\n[  813.000000] {gone}\n");
        let findings = judge(&heard("log", text.as_bytes()).case).findings;
        findings.iter().any(|f| f.id == "device-not-powered" && f.level == Level::Broken)
    };
    assert!(found("PM: suspend exit") && found("PM: hibernation: hibernation exit"));
    assert!(!found("usb 3-1: USB disconnect, device number 4"), "awake it may be pulled out");
}

/// Kernels before 3.15 name the source of a wakeup and say nothing else of it.
#[test]
fn an_excerpt_that_begins_on_the_way_down_has_its_time() {
    let text = "[   71.200000] PM: Entering mem sleep\n\
        [   71.204000] Suspending console(s) (use no_console_suspend to debug)\n\
        [   71.480000] active wakeup source: event9-311\n\
        [   71.480100] PM: Some devices failed to suspend\n\
        [   71.520000] PM: resume of devices complete after 39.500 msecs\n";
    let list = cycles(text);
    let c = &list[0];
    assert_eq!((list.len(), c.mode, c.outcome), (1, Mode::Deep, Outcome::AbortedByWakeup));
    assert_eq!(c.start, Ns(71_200_000_000));
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].id, found[0].about.devices[0].name.as_str()),
        ("abort-wakeup", "event9-311")
    );
    // Another kernel says more, and a source that is active ends nothing by itself.
    let failed = text
        .replace("active wakeup source: event9-311", "PM: Device 3-1 failed to suspend: error -16");
    assert!(matches!(cycles(&failed)[0].outcome, Outcome::AbortedByDevice { errno: -16, .. }));
    let awake =
        "[   71.480000] active wakeup source: event9-311\n[   72.000000] usb 3-1: new device\n";
    assert!(
        cycles(awake).is_empty() && judge(&heard("log", awake.as_bytes()).case).findings.is_empty()
    );
}

#[test]
fn freezing_that_a_wakeup_ended_is_an_attempt_of_its_own() {
    let text = "[   40.000000] Freezing of tasks aborted after 0.002 seconds\n\
        [   40.000100] Restarting tasks ... done.\n\
        [   40.000900] Abort: Pending Wakeup Sources: qpnp-vadc \n";
    assert_eq!(cycles(text)[0].outcome, Outcome::AbortedByWakeup);
}

/// The clock of whoever keeps the log goes on while the kernel's stands.
#[test]
fn two_clocks_tell_how_long_a_deep_sleep_was() {
    let lines = [
        (0, 500.0, "PM: suspend entry (deep)"),
        (0, 500.02, "Filesystems sync: 0.010 seconds"),
        (0, 500.4, "PM: suspend of devices complete after 300.000 msecs"),
        (3_600, 501.0, "PM: resume of devices complete after 200.000 msecs"),
        (3_600, 501.1, "OOM killer enabled."),
        (3_600, 501.1, "Restarting tasks ... done."),
        (3_600, 501.2, "PM: suspend exit"),
    ];
    let day = |s: i64| format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60);
    let of = |stamp: &dyn Fn(i64) -> String, slept: i64| -> String {
        let line = |&(at, kernel, text): &(i64, f64, &str)| {
            let outer = 68_400 + at / 3_600 * slept + (kernel - 500.0) as i64;
            format!("{}[{kernel:12.6}] {text}\n", stamp(outer))
        };
        lines.iter().map(line).collect()
    };
    let syslog = |t: i64| format!("Feb 28 {} vole kernel: ", day(t));
    let logcat = |t: i64| format!("02-28 {}.000     0     0 I ", day(t));
    let asleep =
        |text: &str| cycles(text)[0].asleep_elsewhere.map(|t| (t.0 + 500_000_000) / 1_000_000_000);
    assert_eq!(asleep(&of(&syslog, 5_000)), Some(5_000));
    assert_eq!(asleep(&of(&logcat, 5_000)), Some(5_000));
    assert_eq!(asleep(&of(&syslog, 50 * 86_400)), None, "somebody set the clock");
    // Where both clocks went on, nobody knows; an attempt that was given up did not sleep.
    assert_eq!(asleep(&of(&syslog, 1)), None);
    let given_up = of(&syslog, 5_000).replace(
        "PM: suspend of devices complete after 300.000 msecs",
        "PM: Some devices failed to suspend",
    );
    assert_eq!(asleep(&given_up), None);
    // A journal keeps both.
    let entry = |&(at, kernel, text): &(i64, f64, &str)| {
        let kept = 1_700_000_000_000_000 + at * 1_000_000 + (kernel * 1e6) as i64;
        format!(
            "__REALTIME_TIMESTAMP={kept}\n_TRANSPORT=kernel\nMESSAGE={text}\n_SOURCE_MONOTONIC_TIMESTAMP={}\n\n",
            (kernel * 1e6) as i64
        )
    };
    assert_eq!(asleep(&lines.iter().map(entry).collect::<String>()), Some(3_600));
}

#[test]
fn a_boot_that_ends_in_a_sleep_is_told() {
    let sleep = "Mar 02 23:00:01 wren kernel: usb 1-3: new full-speed USB device\n\
        Mar 02 23:10:01 wren kernel: PM: suspend entry (deep)\n";
    let boot = "-- Boot 9d0f --\n\
        Mar 03 07:01:09 wren kernel: Linux version 6.9.4 (b@x) #1 SMP\n\
        Mar 03 07:01:09 wren kernel: Command line: quiet\n";
    let ids = |text: &str| -> Vec<&str> {
        judge(&heard("log", text.as_bytes()).case).findings.iter().map(|f| f.id).collect()
    };
    assert_eq!(ids(&[sleep, boot].concat()), ["no-return"]);
    let back = "Mar 02 23:40:01 wren kernel: PM: suspend exit\n";
    assert_eq!(ids(&[sleep, back, boot].concat()), ["night-slept"]);
    assert_eq!(
        ids(&[sleep, boot]
            .concat()
            .replace("suspend entry (deep)", "hibernation: hibernation entry")),
        [""; 0]
    );
    // Lines that were left out may hold its end.
    assert_eq!(ids(&[sleep, "[...]\n", boot].concat()), [""; 0]);
    assert_eq!(ids(&[sleep, "(I cut some here ...)\n", boot].concat()), [""; 0]);
    // Lines that somebody looked for have no others, and no ends.
    let found = "Mar 02 23:10:01 wren kernel: PM: suspend entry (deep)\n\
        Mar 03 07:01:09 wren kernel: Linux version 6.9.4 (b@x) #1 SMP\n";
    assert_eq!(ids(found), [""; 0]);
}

#[test]
fn a_callback_that_the_watchdog_ended_ran_until_then() {
    let text = "[   30.000000] PM: suspend entry (s2idle)\n\
        [   30.010000] Freezing user space processes completed (elapsed 0.002 seconds)\n\
        [   30.020000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [   90.030000] dwmmc fe2b0000.mmc: **** DPM device timeout ****\n\
        [   90.030100] Call trace:\n\
        [   90.030200]  clk_disable_lock+0x30/0x80\n\
        [   90.030300] Kernel panic - not syncing: dwmmc fe2b0000.mmc: unrecoverable failure\n";
    let list = cycles(text);
    let down = list[0].phase(Phase::Suspend).map(|p| p.duration());
    assert!(down.is_some_and(|d| d > Ns::from_ms(60_000)), "{list:?}");
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
    assert_eq!(ids, ["device-hang"], "{found:?}");
}

#[test]
fn what_a_loop_over_wakeup_sources_prints_is_their_table() {
    let text = "$ for d in /sys/class/wakeup/wakeup*; do echo $(cat $d/name) $(cat $d/active_count) $(cat $d/wakeup_count); done\n\
        PNP0C0E:00 9 0\n\
        3-2 12 7\n\
        0000:04:00.3 7 7\n";
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].sentence.contains("3-2 7 times, 0000:04:00.3 7 times."), "{found:?}");
}

#[test]
fn rows_of_qcom_stats_that_somebody_joined_are_read() {
    let text = |n: u32| {
        format!(
            "# cat /sys/kernel/debug/qcom_stats/cxsd\nCount: {n} Last Entered At: 0 Last Exited At: 0 Accumulated Duration: 0  # since boot\n"
        )
    };
    let ids = |text: &str| -> Vec<&str> {
        judge(&heard("log", text.as_bytes()).case).findings.iter().map(|f| f.id).collect()
    };
    assert_eq!(ids(&text(0)), ["block-domain"]);
    assert!(
        judge(&heard("log", text(12).as_bytes()).case)
            .findings
            .iter()
            .all(|f| f.level == Level::Note)
    );
}

fn ids(text: &str) -> Vec<&'static str> {
    judge(&heard("log", text.as_bytes()).case).findings.iter().map(|f| f.id).collect()
}

/// A copy ends in the midst of the line that names the failure.
#[test]
fn a_refusal_that_breaks_off_is_told_by_the_line_before() {
    let text = "[  310.000000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [  310.100000] GPUX: card 0000:03:00.0: no interface of procfs was used\n\
        [  310.100020] gpux 0000:03:00.0: PM: pci_pm_suspend(): gx_suspend [gpux] returns -5\n\
        [  310.100500] e1000e: EEE TX LPI TIMER: 00000011\n\
        [  310.101000] gpux 0000:03:00.0: PM: dpm_run_callback(): pci_pm_suspend returns -5\n\
        [  310.101010] gpux 0000:03:00.0: PM: failed to sus";
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    assert_eq!((found.len(), found[0].id, found[0].about.times), (1, "device-failed", Some(1)));
    assert!(found[0].why.contains("no interface of procfs"), "{found:?}");
    let outcome = cycles(text)[0].outcome;
    assert!(
        matches!(outcome, Outcome::AbortedByDevice { device: Some(_), errno: -5 }),
        "{outcome:?}"
    );
    // What an inner function returns, its caller may not.
    let inner: String = text.split('\n').take(3).map(|l| format!("{l}\n")).collect();
    assert_eq!(cycles(&inner)[0].outcome, Outcome::Partial);
    // What was said minutes before is no reason.
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.swap(0, 1);
    let old = lines.join("\n").replacen("310.1", "210.1", 1);
    assert!(!judge(&heard("log", old.as_bytes()).case).findings[0].why.contains("procfs"));
}

#[test]
fn a_unit_that_refuses_its_driver_in_a_sleep_is_told_and_at_boot_it_is_not() {
    let said = "[   61.200000] amd_pmc AMDI0009:00: SMU cmd failed. err: 0xff\n";
    let sleep = "[   61.000000] PM: suspend entry (s2idle)\n[   61.100000] Filesystems sync: 0.010 seconds\n";
    let end = "[   64.000000] Restarting tasks ... done.\n[   64.100000] PM: suspend exit\n";
    assert_eq!(ids(&[sleep, said, end].concat()), ["mode-name-only"]);
    let boot = said.replace("61.2", " 3.2");
    assert_eq!(ids(&[&boot, sleep, end].concat()), [""; 0]);
}

#[test]
fn a_cpu_that_stands_while_services_put_the_machine_to_sleep_is_told() {
    let asked = "Mar 05 07:10:02 wren systemd[1]: Starting System Suspend...\n";
    let stall = "Mar 05 07:10:31 wren kernel: watchdog: BUG: soft lockup - CPU#6 stuck for 22s! [comp:812]\n";
    assert_eq!(ids(&[asked, stall].concat()), ["phase-stall"]);
    let other = asked.replace("System Suspend", "Cleanup of Temporary Directories");
    assert_eq!(ids(&[&other, stall].concat()), [""; 0]);
}

#[test]
fn a_function_on_the_line_of_its_task_counts() {
    let text = "[   90.000000] Freezing user space processes failed after 20.004 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
        [   90.000100] task:rsync  state:D ... nfs_wait_bit_killable+0x11/0x60 [nfs]\n";
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    assert!(found[0].sentence.contains("nfs_wait_bit_killable (nfs)"), "{found:?}");
}

#[test]
fn a_pause_that_ends_with_a_device_that_is_late_names_it() {
    let text = |end: &str| {
        format!(
            "[  700.000000] ACPI: PM: Waking up from system sleep state S3\n\
             [  700.100000] ata1: SATA link down (SStatus 0 SControl 300)\n\
             [  705.300000] {end}\n[  705.400000] PM: suspend exit\n"
        )
    };
    let of = |end: &str| {
        let found = judge(&heard("log", text(end).as_bytes()).case).findings;
        let f = found.into_iter().find(|f| f.id == "phase-pause").expect("a pause");
        f.about.devices.iter().map(|d| d.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("ata7: link is slow to respond, please be patient (ready=0)"), ["ata7"]);
    assert_eq!(of("usb 2-1: reset high-speed USB device number 2"), [""; 0]);
}

#[test]
fn an_address_that_comes_late_is_slow_and_one_that_comes_soon_is_not() {
    let text = |at: u32| {
        format!(
            "May 02 06:00:00.100000 wren kernel: PM: suspend exit\n\
             May 02 06:00:00.200000 wren systemd[1]: Finished systemd-suspend.service - System Suspend.\n\
             May 02 06:00:02.000000 wren NetworkManager[80]: <info>  dhcp4 (enp3s0): activation: beginning transaction\n\
             May 02 06:00:02.100000 wren avahi-daemon[70]: New relevant interface\n\
             May 02 06:00:{at:02}.000000 wren NetworkManager[80]: <info>  dhcp4 (enp3s0): state changed new lease\n"
        )
    };
    assert_eq!(ids(&text(13)), ["way-lease"]);
    assert_eq!(ids(&text(4)), ["way-rows", "way-network"]);
    let gone = text(13).replace(
        "avahi-daemon[70]: New relevant interface",
        "NetworkManager[80]: <info>  device (enp3s0): carrier: link connected",
    );
    assert_eq!(ids(&gone), ["way-network"], "the cable was away");
}

#[test]
fn a_checker_of_memory_names_the_function_that_it_caught() {
    let text = "[   41.000000] PM: suspend entry (s2idle)\n\
        [   41.100000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
        [   41.200000] BUG: KASAN: slab-out-of-bounds in codec_suspend+0x1c/0x80 [codec]\n\
        [   41.200010] CPU: 1 UID: 0 PID: 70 Comm: kworker/1:1 Not tainted 6.13.4 #1\n\
        [   41.200020] Call Trace:\n\
        [   41.200030]  dump_stack_lvl+0x60/0x90\n\
        [   41.200040]  print_report+0xcc/0x610\n\
        [   41.200050]  kasan_report+0xd0/0x110\n\
        [   41.200060]  codec_suspend+0x1c/0x80 [codec]\n";
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    let crash = found.iter().find(|f| f.id == "phase-crash").expect("a crash");
    assert_eq!(crash.about.function.as_deref(), Some("codec_suspend"), "{crash:?}");
}

/// A commit message quotes a fault without a stamp.
#[test]
fn a_fault_above_addresses_of_functions_is_a_kernels() {
    let text = "The clock is off by then:\n\n\
        Unhandled fault: external abort on non-linefetch (0x1028) at 0xf0084010\n...\n\
        [<c0611230>] (foo_readl) from [<c0611408>] (foo_suspend+0x30/0x90)\n\
        [<c0611408>] (foo_suspend) from [<c0500110>] (platform_pm_suspend+0x2c/0x54)\n\n\
        Enable it first.\n";
    let found = judge(&heard("log", text.as_bytes()).case).findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].about.function.as_deref(), Some("foo_readl"));
    let words = text.replace("[<c0611230>] (foo_readl) from [<c0611408>]", "foo_readl from");
    let words = words.replace("[<c0611408>] (foo_suspend) from [<c0500110>]", "foo_suspend from");
    assert_eq!(ids(&words), [""; 0]);
}

#[test]
fn room_for_an_image_that_is_not_free_is_slow() {
    let text = |s: &str| {
        format!(
            "[  200.000000] PM: hibernation: Allocated 6000000 kbytes in {s} seconds (90.00 MB/s)\n"
        )
    };
    assert!(ids(&text("66.10")).contains(&"hib-allocate-slow"));
    assert!(!ids(&text("1.94")).contains(&"hib-allocate-slow"));
}

/// A text begins in the midst of what a kernel says of a fault.
#[test]
fn a_report_whose_first_lines_are_cut_off_is_told() {
    let head = "[   92.104901] CPU: 2 PID: 2365 Comm: systemd-sleep Not tainted 6.8.0 #1\n\
        [   92.104905] RIP: 0010:ec_event+0x12f/0x150 [ec]\n\
        [   92.104926] Call Trace:\n\
        [   92.104940]  ? __warn+0x89/0x160\n";
    let found = judge(&heard("log", head.as_bytes()).case).findings;
    assert_eq!((found.len(), found[0].id), (1, "phase-warning"));
    assert_eq!(found[0].about.function.as_deref(), Some("ec_event"));
    assert_eq!(ids(&head.replace("RIP: 0010:", "RIP: 0033:")), [""; 0], "a program");
    let end = "[   91.020000]  ret_from_fork+0x25/0x30\n\
        [   91.020297] ---[ end trace abe9 ]---\n\
        [   91.126047] PM: resume of devices complete after 123.878 msecs\n\
        [   91.126743] OOM killer enabled.\n\
        [   91.126744] Restarting tasks ... done.\n";
    assert_eq!(ids(end), ["phase-warning"]);
    let before = end.replace("[   91.02", "[   81.02");
    assert_eq!(ids(&before), [""; 0], "it came before the resume");
}

#[test]
fn a_hibernation_whose_boot_finds_no_image_is_told() {
    let entry = "Nov 08 23:10:02 rook kernel: PM: hibernation: hibernation entry\n\
        Nov 08 23:10:02 rook kernel: Filesystems sync: 0.011 seconds\n\
        Nov 08 23:10:03 rook kernel: PM: hibernation: Preallocating image memory\n";
    let boot = "Nov 09 07:00:11 rook kernel: Linux version 6.11.4 (b@x) #1 SMP\n\
        Nov 09 07:00:13 rook kernel: PM: Image not found (code -22)\n";
    assert_eq!(ids(&[entry, boot].concat()), ["hib-no-image"]);
    assert_eq!(ids(boot), ["hib-none-found"], "every boot without an image says so");
    assert_eq!(found(boot), [("hib-none-found", Level::Note)]);
    let loaded = boot.replace("Image not found (code -22)", "Image loading progress:   0%");
    assert!(!ids(&[entry, &loaded].concat()).contains(&"hib-no-image"));
}

/// Lines with stamps in milliseconds.
fn stamped(lines: &[(u32, &str)]) -> String {
    lines.iter().map(|(ms, t)| format!("[{:12.6}] {t}\n", f64::from(*ms) / 1e3)).collect()
}

fn found(text: &str) -> Vec<(&'static str, Level)> {
    judge(&heard("log", text.as_bytes()).case).findings.iter().map(|f| (f.id, f.level)).collect()
}

const DOWN: [(u32, &str); 5] = [
    (9_100, "PM: suspend entry (deep)"),
    (9_110, "Filesystems sync: 0.008 seconds"),
    (9_112, "Freezing user space processes ... (elapsed 0.002 seconds) done."),
    (9_115, "Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done."),
    (9_117, "printk: Suspending console(s) (use no_console_suspend to debug)"),
];
const UP: [(u32, &str); 3] = [
    (9_800, "OOM killer enabled."),
    (9_801, "Restarting tasks ... done."),
    (9_810, "PM: suspend exit"),
];

#[test]
fn what_the_core_gives_up_is_no_sleep() {
    let ends: [(&str, &str, i32); 5] = [
        ("Error taking CPU6 down: -16", "cpu-not-off", -16),
        (
            "PM: System core suspend callback irq_gic_suspend+0x0/0x40 failed.",
            "core-not-suspended",
            0,
        ),
        ("PM: Some devices failed to power down", "abort-unknown", 0),
        ("PM: Failed to prepare device 7-2 for power transition: error -11", "device-failed", -11),
        ("PM: Device 7-0031 not prepared for power transition: code -512", "device-failed", -512),
    ];
    for (line, id, error) in ends {
        let middle = [(9_300, "Disabling non-boot CPUs ..."), (9_310, line)];
        let text = stamped(&[&DOWN[..], &middle, &UP].concat());
        let list = cycles(&text);
        let refused =
            matches!(list[0].outcome, Outcome::AbortedByDevice { errno, .. } if errno == error);
        assert!(refused && list[0].asleep.is_none(), "{line}: {:?}", list[0].outcome);
        assert_eq!(found(&text), [(id, Level::Broken)], "{line}");
    }
    let slept = stamped(&[&DOWN[..], &[(9_300, "Disabling non-boot CPUs ...")], &UP].concat());
    assert_eq!((cycles(&slept)[0].outcome, found(&slept)), (Outcome::Slept, vec![]));
    // The last source is named where nothing else is.
    let middle = [
        (9_300, "PM: last active wakeup source: wlan3"),
        (9_301, "PM: Some devices failed to suspend, or early wake event detected"),
    ];
    let text = stamped(&[&DOWN[..], &middle, &UP].concat());
    assert_eq!(cycles(&text)[0].outcome, Outcome::AbortedByWakeup);
    let case = heard("log", text.as_bytes()).case;
    assert!(judge(&case).findings[0].sentence.contains("wlan3"));
}

#[test]
fn the_end_of_a_sleep_is_one_without_a_beginning() {
    let text = stamped(&UP);
    let list = cycles(&text);
    assert_eq!((list.len(), list[0].outcome), (1, Outcome::Partial));
    assert!(!list[0].lines.begun && list[0].lines.closed);
    assert_eq!(list[0].phase(Phase::Thaw).map(|p| p.duration()), Some(Ns::from_ms(1)));
    // What begins behind it at once is another.
    let again = [(9_811, "PM: suspend entry (shallow)")];
    assert_eq!(cycles(&stamped(&[&UP[..], &again].concat())).len(), 2);
    assert_eq!(cycles("He says that PM: suspend exit comes.\nOOM killer enabled. Why?\n").len(), 0);
    let restore = [(4_000, "PM: hibernation: Failed to load image, recovering.")];
    assert_eq!(cycles(&stamped(&[&restore[..], &UP[..2]].concat())).len(), 0);
}

#[test]
fn an_image_that_is_not_made_ends_the_way_down() {
    let lines = [
        (1_000, "PM: hibernation: Preallocating image memory"),
        (3_000, "PM: hibernation: Allocated 700000 kbytes in 2.00 seconds (350.00 MB/s)"),
        (3_500, "PM: hibernation: Creating image:"),
        (3_600, "PM: hibernation: Need to copy 170000 pages"),
        (3_610, "PM: hibernation: Not enough free memory"),
        (3_620, "PM: hibernation: Error -12 creating image"),
        (4_000, "OOM killer enabled."),
        (4_010, "Restarting tasks ... done."),
        (4_020, "PM: hibernation: hibernation exit"),
    ];
    let text = stamped(&lines);
    let list = cycles(&text);
    assert_eq!((list.len(), list[0].outcome), (1, Outcome::ImageFailed));
    assert_eq!(list[0].suspend_time(), Some(Ns::from_ms(2_620)));
    assert_eq!(found(&text), [("hib-not-made", Level::Broken)]);
    // Its line alone, beside the program's that a pager cut.
    let alone = "Jun  3 07:12:40 fulmar kernel: PM: hibernation: Error -12 creating image\n\
        Jun  3 07:12:40 fulmar systemd-sleep[3115]: Failed to put system to sleep. System resumed again: Cannot alloc>\n";
    assert_eq!(
        (cycles(alone)[0].outcome, found(alone)),
        (Outcome::ImageFailed, vec![("hib-not-made", Level::Broken)])
    );
    let program = alone.lines().nth(1).unwrap_or_default();
    assert_eq!(found(program), [("write-refused", Level::Broken)]);
    let changed = "[  700.100000] ACPI: PM: Hardware changed while hibernated, success doubtful!\n";
    assert_eq!(found(changed), [("hib-hardware-changed", Level::Risk)]);
}

#[test]
fn the_sync_of_an_old_hibernation_ends_before_its_image() {
    let lines = [
        (50_000, "PM: Syncing filesystems ... done."),
        (50_020, "PM: Preallocating image memory... done (allocated 90000 pages)"),
        (53_020, "PM: Allocated 360000 kbytes in 3.00 seconds (120.00 MB/s)"),
        (53_620, "PM: freeze of devices complete after 590.000 msecs"),
        (53_625, "PM: late freeze of devices complete after 1.000 msecs"),
        (53_700, "PM: Creating hibernation image:"),
        (53_900, "PM: noirq restore of devices complete after 2.000 msecs"),
    ];
    let list = cycles(&stamped(&lines));
    assert_eq!(list[0].phase(Phase::Sync).map(|p| p.duration()), Some(Ns::from_ms(20)));
    // Up to the image, by the stamps.
    assert_eq!(list[0].suspend_time(), Some(Ns::from_ms(3_700)));
}

#[test]
fn lines_of_the_platform_and_commands_tell_the_sleep_state() {
    let down = [
        (7_000, "PM: Syncing filesystems ... done."),
        (7_020, "Freezing user space processes ... (elapsed 0.001 seconds) done."),
    ];
    let log = |more: &[(u32, &str)]| stamped(&[&down[..], more].concat());
    let mode = |text: &str| cycles(text).first().map(|c| c.mode);
    assert_eq!(mode(&log(&[])), Some(Mode::Unknown));
    assert_eq!(
        mode(&log(&[(7_100, "ACPI: PM: Preparing to enter system sleep state S3")])),
        Some(Mode::Deep)
    );
    assert_eq!(mode(&log(&[(7_100, "ACPI: Low-level resume complete")])), Some(Mode::Deep));
    assert_eq!(
        mode(&log(&[(7_100, "ACPI: PM: Waking up from system sleep state S1")])),
        Some(Mode::Standby)
    );
    assert_eq!(mode(&log(&[(7_100, "PM: resume from suspend-to-idle")])), Some(Mode::S2idle));
    // The last word counts.
    let asked = "# echo freeze > /sys/power/state\n# echo disk > /sys/power/state\n";
    assert_eq!(mode(&format!("{asked}{}", log(&[]))), Some(Mode::Disk));
    assert_eq!(
        mode(&format!("# echo freeze > /sys/power/state\n{}", log(&[]))),
        Some(Mode::S2idle)
    );
    let inside = "oak@board /sys/power$ echo standby > state\n";
    assert_eq!(mode(&format!("{inside}{}", log(&[]))), Some(Mode::Standby));
    let elsewhere = inside.replace("/sys/power", "/sys/elm");
    assert_eq!(mode(&format!("{elsewhere}{}", log(&[]))), Some(Mode::Unknown));
    let prompt = "root@board:~# echo -n mem > /sys/power/state\n";
    let off = log(&[(7_100, "Disabling non-boot CPUs ...")]);
    assert_eq!(mode(&format!("{prompt}{}", log(&[]))), Some(Mode::Unknown), "mem may be any");
    assert_eq!(mode(&format!("{prompt}{off}")), Some(Mode::Deep));
    let rtcwake = "rtcwake: wakeup from \"freeze\" using /dev/rtc1 at Mon Jan  4 10:00:00 2021\n";
    assert_eq!(mode(&format!("{rtcwake}{}", log(&[]))), Some(Mode::S2idle));
    assert_eq!(
        mode(&format!("I tried echo freeze > /sys/power/state too.\n{}", log(&[]))),
        Some(Mode::Unknown)
    );
    let shallow = judge(
        &heard(
            "log",
            log(&[]).replace("Syncing filesystems ... done.", "suspend entry (shallow)").as_bytes(),
        )
        .case,
    )
    .sleeps;
    assert_eq!(shallow[0].mode, "standby");
}

#[test]
fn items_of_a_list_are_lines_of_a_log() {
    let text = "The last one:\n\n- `PM: suspend entry 2025-01-02 10:00:00.100000000 UTC`\n\
        - `PM: Suspending system (mem)`\n- `PM: Device 1c000.lcd failed to suspend: error -62`\n\
        - `PM: suspend exit 2025-01-02 10:00:00.900000000 UTC`\n";
    for text in [text.to_string(), text.replace('`', ""), text.replace("- ", "* ")] {
        let list = cycles(&text);
        assert_eq!(
            (list.len(), list[0].mode, list[0].lines.closed),
            (1, Mode::Deep, true),
            "{text}"
        );
        assert!(matches!(list[0].outcome, Outcome::AbortedByDevice { errno: -62, .. }), "{text}");
    }
    let stamps = text.replace("`PM:", "[   12.000000] PM:").replace("UTC`", "UTC").replace('`', "");
    assert_eq!(cycles(&stamps).len(), 1);
    assert_eq!(cycles("- PM: suspend entry (deep) is the last line\n- it hangs then\n").len(), 0);
}

#[test]
fn quoted_refusals_without_stamps_are_attempts() {
    let text = "> $ echo mem > /sys/power/state\n\
        > pca 3-0020: PM: dpm_run_callback(): pca_suspend+0x1/0xa8 returns -71\n\
        > pca 3-0020: PM: failed to suspend: error -71\n\
        > PM: Some devices failed to suspend, or early wake event detected\n";
    assert!(matches!(cycles(text)[0].outcome, Outcome::AbortedByDevice { errno: -71, .. }));
    assert_eq!(
        cycles("It says PM: failed to suspend: error -71\nSome devices failed to suspend\n").len(),
        0
    );
}

#[test]
fn a_console_that_goes_on_with_a_boot_loader_tells_of_no_return() {
    let down = stamped(&DOWN).replace('[', "[2026-02-03 04:05:06.100] [");
    let boot = "U-Boot SPL 2024.10 (Jan 08 2025 - 02:00:00 +0000)\nTrying to boot from MMC2\n\
        [2026-02-03 04:05:16.100] [    0.000000] Booting Linux on physical CPU 0x0\n\
        [2026-02-03 04:05:16.100] [    0.000000] Linux version 6.6.9 (a@b) #1 SMP\n";
    assert_eq!(ids(&format!("{down}{boot}")), ["no-return"]);
}

#[test]
fn only_queues_that_freeze_are_named() {
    let text = |flags: &str| {
        format!(
            "[  61.000000] Freezing remaining freezable tasks ...\n\
             [  81.004000] Freezing of tasks failed after 20.004 seconds (0 tasks refusing to freeze, wq_busy=1):\n\
             [  81.005000] Showing busy workqueues and worker pools:\n\
             [  81.006000] workqueue events: flags=0x0\n\
             [  81.007000]   pwq 2: cpus=1 node=0 flags=0x0 nice=0 active=3/256 refcnt=4\n\
             [  81.008000] workqueue usb_hub_wq: flags={flags}\n\
             [  81.009000]   pwq 0: cpus=0 node=0 flags=0x0 nice=0 active=1/256 refcnt=2\n\
             [  81.010000]     in-flight: 77:hub_event\n"
        )
    };
    let said = |flags: &str| {
        judge(&heard("log", text(flags).as_bytes()).case).findings[0].sentence.clone()
    };
    assert!(
        said("0x4").starts_with("Workqueue usb_hub_wq was still busy with hub_event"),
        "{}",
        said("0x4")
    );
    assert!(!said("0x4").contains("events had"), "{}", said("0x4"));
    assert!(said("0x2").contains("shows which"), "{}", said("0x2"));
    // One whose work only waits for a worker is not the one that is waited for.
    let text = text("0x4").replace("events: flags=0x0", "events_freezable: flags=0x4");
    let sentence = &judge(&heard("log", text.as_bytes()).case).findings[0].sentence;
    assert!(sentence.starts_with("Workqueue usb_hub_wq was still busy"), "{sentence}");
    assert!(sentence.contains("Busy too: events_freezable"), "{sentence}");
}

#[test]
fn a_sleep_of_less_than_a_second_is_told() {
    let text = |s: &str| {
        format!(
            "[  50.000000] ACPI: Low-level resume complete\n[  50.000100] Suspended for {s} seconds\n"
        )
    };
    assert_eq!(ids(&text("0.204")), ["wake-at-once"]);
    assert_eq!(ids(&text("61.204")), [""; 0]);
}

#[test]
fn a_warning_is_told_with_its_words_and_its_half() {
    let warning = [
        (8_000, "------------[ cut here ]------------"),
        (8_001, "WARNING: at kernel/irq/manage.c:471 resume_device_irqs+0x50/0x78()"),
        (8_002, "Unbalanced enable for IRQ 83"),
        (8_003, "Modules linked in: snd_x"),
        (8_004, "CPU: 0 PID: 922 Comm: sh Not tainted 3.18.20 #3"),
    ];
    let first = |text: &str| judge(&heard("log", text.as_bytes()).case).findings.remove(0);
    let up = [(7_900, "PM: noirq resume of devices complete after 0.612 msecs")];
    let f = first(&stamped(&[&up[..], &warning].concat()));
    assert!(f.why.contains("Unbalanced enable for IRQ 83"), "{f:?}");
    let silent = [&up[..], &warning[..2], &warning[3..]].concat();
    assert_eq!(first(&stamped(&silent)).why, "");
    // A test turns round where it waits.
    let test = [
        (1_000, "PM: suspend of devices complete after 40.000 msecs"),
        (1_010, "PM: suspend debug: Waiting for 5 second(s)."),
    ];
    let f = first(&stamped(&[&test[..], &warning].concat()));
    assert!(f.sentence.contains("while devices resumed"), "{}", f.sentence);
}
