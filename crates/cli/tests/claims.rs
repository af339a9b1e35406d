//! What a screen claims of what its input does not say.

use super::reality::{data, printed, said as of};
use super::words::{CLOCK, said, words};
use std::path::Path;

const SMALL: &str = "captures/am335x-6.12.tar.gz";

#[test]
fn a_guessed_kernel_is_no_fact() {
    let text = words(&["predict", "boards/am335x.board", "--without", "usb1"], "");
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4)"), "{text}");
    let text = words(&["predict", "boards/am335x.board", "--all-kernels"], "");
    assert!(text.contains("The input names no kernel; on 6.17.8 to 7.3: 128.4 ms."), "{text}");
    assert!(text.contains("longest up to 6.7"), "{text}");
    let text = words(&["tune", SMALL], "");
    assert!(text.contains("Kernel 6.12.117 (G1). "), "{text}");
    assert!(!text.contains(" today "), "{text}");
    let Some(log) = data("logs/mail/tegra30-5.5rc-ftrace.part1.trace.txt") else { return };
    let text = of(&["predict", "--without", "drm"], &log);
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4)."), "{text}");
    let text = of(&["predict", "--kernel", "5.5"], &log);
    assert!(text.contains("Kernel unknown, taken as 6.17.8 to 7.3 (G4) -> 5.5 (G1)."), "{text}");
}

/// What follows `Next: dormouse`, without what is printed below it.
fn next(text: &str) -> String {
    let next = text.split("Next: dormouse ").nth(1).unwrap_or_default();
    next.split(" dormouse: ").next().unwrap_or_default().replace("\\ ", "")
}

#[test]
fn what_a_prediction_of_another_kernel_leads_to_answers() {
    for more in [&["--kernel", "7.3"][..], &["--all-kernels"]] {
        let text = words(&[&["predict", SMALL], more].concat(), "");
        let command = next(&text);
        let (code, after) = said(&command.split_whitespace().collect::<Vec<_>>(), "");
        assert_eq!(code, Some(0), "{command}: {after}");
    }
}

#[test]
fn two_devices_of_one_name_are_not_one_said_twice() {
    let text = words(&["predict", CLOCK, "--without", "0000:00:00.0"], "");
    assert!(text.contains("Removed: 0000:00:00.0 (2 devices of that name)."), "{text}");
}

#[test]
fn a_prediction_keeps_80_columns() {
    let keeps = |text: &str| {
        let wide = text.lines().filter(|l| l.chars().count() > 80).collect::<Vec<_>>();
        assert!(wide.is_empty(), "{wide:#?}");
    };
    let (_, text) = said(&["predict", CLOCK, "--without", "phy0"], "");
    assert!(text.contains("(async, but queued late by the main thread)"), "{text}");
    keeps(&text);
    for (log, without) in [
        ("logs/real/ti-j7200-8250-omap-2023-10.txt.gz", "*"),
        ("logs/real/xps13-9360-sleepgraph-2020-06-29.txt.gz", "0000:00:02.0"),
    ] {
        let Some(log) = data(log) else { continue };
        keeps(&printed(&["predict", "--without", without], &log));
    }
}

/// Callbacks of this piece ended on worker threads; none of them begins in it.
#[test]
fn a_thread_that_is_not_seen_is_not_said_to_be_off() {
    let name = "logs/pm-graph/usb-4.9/suspend-usb-default/ivybridge_mem_ftrace.txt";
    let Some(trace) = data(name) else { return };
    let bytes = std::fs::read(trace).expect("a trace");
    let folder = tempfile::tempdir().expect("a folder");
    let piece = folder.path().join("piece.txt");
    std::fs::write(&piece, &bytes[bytes.len() - 400_000..]).expect("written");
    let text = of(&["plan", "--resume", "100ms"], Path::new(&piece));
    assert!(!text.contains("pm_async was off"), "{text}");
    assert!(text.contains("No callback in the recording began on a worker thread"), "{text}");
}

/// What `check` says of a text.
fn checked(text: &str) -> String {
    words(&["check", "-"], text)
}

#[test]
fn a_text_that_begins_inside_a_resume_has_what_its_devices_said() {
    let text = checked(
        "[  901.100000] elm 0000:29:00.0: [drm:elm_ring_test] *ERROR* ring 1 test failed (-110)\n\
         [  901.340000] elm 0000:29:00.0: [drm:elm_ring_test] *ERROR* ring 2 test failed (-110)\n\
         [  902.310000] PM: resume devices took 2.306 seconds\n\
         [  902.400000] PM: suspend exit\n",
    );
    assert!(text.contains("2 lines tell of errors that no rule knows"), "{text}");
}

#[test]
fn a_sync_without_the_line_before_it_begins_an_attempt() {
    let log = "[   75.000000] PM: resume devices took 0.100 seconds\n\
               [   75.095540] PM: suspend exit\n\
               [ 3702.682122] Filesystems sync: 33.416 seconds\n\
               [ 3702.690000] Freezing user space processes completed (elapsed 0.001 seconds)\n\
               [ 3702.840000] PM: resume devices took 0.110 seconds\n\
               [ 3702.950723] PM: suspend exit\n";
    let text = checked(log);
    assert!(text.contains("Writing dirty data took 33.4 s"), "{text}");
    let text = words(&["show", "-"], log);
    assert!(text.contains("2 cycles") && !text.contains("3597"), "{text}");
}

#[test]
fn a_device_that_firmware_did_not_switch_on_is_told_without_a_sleep() {
    let log = "[   58.729904] ACPI Error: Aborting method \\_SB.PEG0.PG00._ON due to previous error (AE_AML_LOOP_TIMEOUT) (20220331/psparse-529)\n\
               [   60.083261] elm 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible\n";
    let text = checked(log);
    let at_run_time = "could not be brought back from D3cold at run time";
    assert!(text.contains(at_run_time) && text.contains("\\_SB.PEG0.PG00._ON"), "{text}");
    // What is pulled out is gone too.
    let text = checked(log.lines().last().unwrap_or_default());
    assert!(!text.contains("could not be brought back"), "{text}");
}

#[test]
fn the_stack_of_the_watchdog_is_not_where_the_callback_stood() {
    let text = checked(
        "[   10.000000] PM: suspend entry (deep)\n\
         [   22.000000] elm phy0: PM: **** DPM device timeout ****\n\
         [   22.000001] Call Trace:\n\
         [   22.000002]  panic+0x125/0x315\n\
         [   22.000003]  dpm_watchdog_handler+0x57/0x57\n\
         [   22.000004]  call_timer_fn+0x31/0x13c\n",
    );
    assert!(text.contains("never returned") && !text.contains("stood in"), "{text}");
}

#[test]
fn the_title_of_a_report_is_no_evidence_where_the_log_says_it() {
    let text = checked(
        "   Summary: elm 0000:03:00.0: PM: **** DPM device timeout ****\n\n\
         [  469.667476] elm 0000:03:00.0: PM: **** DPM device timeout ****\n\
         [  469.715096]  elm_pm_thaw+0x16/0x20 [elm]\n",
    );
    assert!(text.contains("line 3 at 469.667476 s") && !text.contains("Summary"), "{text}");
}

#[test]
fn a_test_whose_end_fails_behind_a_sleep_did_send_the_machine_to_sleep() {
    let sleep = "[   10.000000] PM: suspend entry (deep)\n\
                 [   10.100000] printk: Suspending console(s) (use no_console_suspend to debug)\n\
                 [   12.000000] PM: resume devices took 1.100 seconds\n\
                 [   12.100000] PM: suspend exit\n";
    let failed = "rtcwake: read rtc alarm failed: Invalid argument\n";
    let never = "never sent the machine to sleep";
    assert!(checked(failed).contains(never));
    assert!(!checked(&format!("{sleep}{failed}")).contains(never));
}

#[test]
fn a_callback_that_is_open_is_over_once_a_later_phase_runs() {
    let text = words(
        &["show", "-"],
        "[  674.000257] elm 0000:00:00.0: PM: calling pci_pm_resume_noirq @ 600, parent: none\n\
         [  674.114000] usb 4-1: PM: calling usb_dev_resume @ 6126, parent: usb4\n",
    );
    assert!(text.contains("4-1") && !text.contains("0000:00:00.0 (elm) began"), "{text}");
}

#[test]
fn events_without_a_column_of_the_cpu_are_of_their_tasks() {
    let trace = "    kworker/u16:0-7      0.880019: rpm_suspend: 0:0:0:0 flags-8 cnt-0  dep-0  auto-1 p-0 irq-0 child-0\n\
                 \x20   kworker/u16:2-142    0.880024: rpm_resume: 0:0:0:0 flags-4 cnt-1  dep-0  auto-1 p-0 irq-0 child-0\n\
                 \x20   kworker/u16:0-7      0.880063: rpm_return_int: rpm_suspend+0x68:0:0:0:0 ret=0\n\
                 \x20   kworker/u16:2-142    0.880067: rpm_return_int: rpm_resume+0x690:0:0:0:0 ret=0\n";
    let text = words(&["show", "-"], trace);
    assert!(text.contains("0:0:0:0 took 0.04 ms to resume at run time"), "{text}");
    assert!(!checked(trace).contains("no rpm events"));
}

#[test]
fn phases_of_two_sleeps_without_entry_and_exit_are_two() {
    let text = "[  100.021000] PM: noirq resume of devices complete after 21.310 msecs\n\
                [  101.912000] PM: resume of devices complete after 1891.007 msecs\n\
                [  190.000000] PM: suspend of devices complete after 20.988 msecs\n\
                [  195.200000] PM: noirq resume of devices complete after 20.988 msecs\n\
                [  195.700000] PM: resume of devices complete after 402.551 msecs\n";
    assert!(words(&["show", "-"], text).contains("2 cycles."), "{text}");
    assert!(!checked(text).contains("pass on the way up"), "{}", checked(text));
    // Nor where nobody wrote a time.
    let bare: String = text.lines().map(|l| l[15..].to_string() + "\n").collect();
    let text = words(&["show", "-"], &bare.replace("PM: suspend of", "PM: early resume of"));
    assert!(text.contains("402.6 ms (91 %) in its resume phase"), "{text}");
}

#[test]
fn what_is_said_once_more_of_a_failure_is_no_other_attempt() {
    let text = "PM: suspend entry (deep)\nPM: Device 1-0020 failed to suspend: error -16\n\
                PM: Some devices failed to suspend, or early wake event detected\n\
                Abort: Device 1-0020 failed to suspend: error -16\nPM: suspend exit\n";
    let text = checked(text);
    assert!(text.contains("1 attempt") && !text.contains("no end there"), "{text}");
}

#[test]
fn a_phase_that_failed_ends_its_attempt() {
    let text = "[  385.634855] PM: Device 2090000.can failed to suspend: error -110\n\
                [  385.634897] PM: Some devices failed to suspend, or early wake event detected\n\
                [  395.856251] PM: noirq suspend of devices failed\n\
                [  397.574571] PM: noirq suspend of devices failed\n";
    let text = words(&["show", "-"], text);
    assert!(text.contains("3 cycles.") && !text.contains("12.") && !text.contains("10."), "{text}");
}

#[test]
fn what_a_program_prints_by_happened_to_no_machine() {
    let text = "The line that goes:\n\n> -\tdev_warn(dev, \"CPU did not enter SLP_S0!!! \
                (S0ix cnt=%llu)\\n\",\n> +\tdev_dbg(dev, \"PM: suspend entry (%s)\\n\",\n";
    assert!(checked(text).contains("nothing to analyse"), "{}", checked(text));
}

#[test]
fn a_diary_shows_messages_in_marks_of_code() {
    let text = checked(
        "1. 18:06 it went down\n2. **18:20** \u{66f8} **`PM: Cannot get swap writer` \u{2192} ENOSPC**\n",
    );
    assert!(text.contains("Hibernation failed"), "{text}");
}

#[test]
fn an_attempt_that_did_not_freeze_is_none_of_the_sleeps_of_a_text() {
    let text = checked(
        "Aug 03 09:30:12 box kernel: PM: suspend entry (s2idle)\n\
         Aug 03 10:02:41 box kernel: Freezing user space processes completed (elapsed 0.003 seconds)\n\
         Aug 03 10:02:41 box kernel: PM: suspend exit\n\
         Aug 03 14:40:00 box kernel: PM: suspend entry (s2idle)\n\
         Aug 03 14:40:20 box kernel: Freezing user space processes failed after 20.008 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
         Aug 03 14:40:20 box kernel: PM: suspend exit\n",
    );
    assert!(text.contains("The sleep of the text took 32 min 29 s"), "{text}");
}

#[test]
fn the_second_of_two_tables_of_domains_is_another() {
    let table = "host # cat /sys/kernel/debug/pm_genpd/pm_genpd_summary\ngx\t\ton\t\t0\n    \
                 /devices/genpd:1:gmu\t\tactive\t\t0\ncx\t\ton\t\t0\n    /devices/iommu\tactive\t\t0\n";
    let text = words(&["show", "-", "--only", "domains"], &format!("{table}\nAfter:\n{table}"));
    assert!(
        text.contains("Domains (line 1): 2 of 2") && text.contains("Domains (line 8)"),
        "{text}"
    );
}

#[test]
fn the_deeper_of_two_measurements_is_no_word_for_the_other() {
    let text = checked(
        "Before, with the enclosure plugged in:\n\n\
         # turbostat --show Pkg%pc2,Pk%pc10,SYS%LPI -i 10 -n 1\n\
         Pkg%pc2\tPk%pc10\tSYS%LPI\n42.30\t0.00\t0.00\n\n\
         After unplugging it:\n\n\
         # turbostat --show Pkg%pc2,Pk%pc10,SYS%LPI -i 10 -n 1\n\
         Pkg%pc2\tPk%pc10\tSYS%LPI\n5.80\t82.14\t79.66\n",
    );
    assert!(text.contains("SYS%LPI is 79.66 %"), "{text}");
    assert!(text.contains("it did not: SYS%LPI was 0.00 % at most"), "{text}");
    assert!(text.contains("was in C2 for 42.30 %"), "{text}");
}

#[test]
fn a_log_that_ends_at_the_entry_of_a_sleep_is_no_all_clear() {
    let text = checked(
        "It goes down and never comes back: the laptop is dead until I hold the button.\n\n\
         Aug 10 14:11:23 box kernel: Lockdown: systemd-logind: hibernation is restricted; see man kernel_lockdown.7\n\
         Aug 10 14:11:24 box systemd-sleep[48965]: Suspending system...\n\
         Aug 10 14:11:24 box kernel: PM: suspend entry (s2idle)\n",
    );
    assert!(
        text.starts_with("No rule found a fault, but the text proves no healthy sleep"),
        "{text}"
    );
    assert!(text.contains("whether the machine came back"), "{text}");
}

#[test]
fn a_report_that_its_writer_closes_is_of_an_earlier_time() {
    let log = "> [ 4021.550117] PM: suspend entry (s2idle)\n\
         > [ 4022.118231] elm_hc 0000:00:14.0: PM: failed to suspend async: error -16\n\
         > [ 4022.140011] PM: Some devices failed to suspend, or early wake event detected\n\
         > [ 4022.601113] PM: suspend exit\n";
    let text = checked(&format!(
        "Closing this: thirty sleeps in a row were fine with 6.12. For the record, what\n\
         it looked like on 6.11:\n\n{log}\nThanks.\n"
    ));
    assert!(text.contains("as of an earlier time"), "{text}");
    let text = checked(&format!("Here is my log:\n\n{log}\nEDIT: solved by new firmware\n"));
    assert!(text.contains("The writer says that it is over: \"EDIT: solved"), "{text}");
}

#[test]
fn a_kernel_that_refuses_at_once_is_told() {
    let refused = "# echo mem > /sys/power/state\n\
         [    9.098089] PM: suspend entry (deep)\n\
         [    9.102033] PM: suspend exit\n\
         sh: write error: Invalid argument\n";
    let text = checked(refused);
    assert!(text.contains("could not put the machine to sleep: error -22"), "{text}");
    let text = checked(
        "[    1.092812] PM: test RTC wakeup from 'mem' suspend\n\
         [    1.098089] PM: suspend entry (deep)\n\
         [    1.102033] PM: suspend exit\n\
         [    1.105205] PM: suspend test failed, error -22\n",
    );
    assert!(text.contains("The kernel's own test at boot could not"), "{text}");
}

#[test]
fn a_drive_that_went_away_is_told_without_a_stamp_as_a_suspicion() {
    let text = checked(
        "I get this when I unplug the power:\n\
         > nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n\
         and then it is over.\n",
    );
    assert!(text.contains("nvme2 (nvme) answered no more"), "{text}");
    assert!(text.contains("That is a suspicion"), "{text}");
}

#[test]
fn a_loop_stands_before_a_moment_of_the_way() {
    let sleep = |at: &str| {
        format!(
            "Mar 02 {at}:07.121904 kea systemd-logind[901]: Suspending...\n\
             Mar 02 {at}:08.734412 kea systemd-sleep[7021]: Performing sleep operation 'suspend'...\n\
             Mar 02 {at}:08.736118 kea kernel: PM: suspend entry (s2idle)\n\
             Mar 02 {at}:11.900318 kea kernel: PM: suspend-to-idle\n\
             Mar 02 {at}:11.900355 kea kernel: Timekeeping suspended for 1.604 seconds\n\
             Mar 02 {at}:11.900381 kea kernel: PM: Triggering wakeup from IRQ 7\n\
             Mar 02 {at}:11.900461 kea kernel: PM: suspend exit\n"
        )
    };
    let text = words(&["show", "-"], &["21:44", "21:45", "21:46"].map(sleep).concat());
    assert!(text.starts_with("Risk: A loop: 3 sleeps in a row"), "{text}");
    // What passed between the entry and the line that a frozen keeper wrote of is the sleep.
    assert!(!text.contains("Suspend, median 1."), "{text}");
}

#[test]
fn a_phone_says_what_its_power_manager_counted() {
    let text = words(
        &["show", "-"],
        "<6>[ 8842.330118][ T912] [name:suspend&]PM: suspend entry (deep)\n\
         <6>[ 8842.371000][ T912] [name:process&]Freezing user space processes ... (elapsed 0.019 seconds) done.\n\
         <6>[ 8842.602114][ T912] [name:spm&][SPM] suspend wake up by  R12_CONN_WAKE, timer_out = 3276800, r13 = 0x1, 26M_off_pct = 0\n\
         <6>[ 8842.720331][ T912] [name:process&]Restarting tasks ... done.\n\
         <6>[ 8842.731114][ T912] [name:suspend&]PM: suspend exit\n",
    );
    assert!(text.contains("Woken by R12_CONN_WAKE"), "{text}");
    assert!(text.contains("26 MHz) was off for 0 %"), "{text}");
}

#[test]
fn what_a_kernel_of_android_says_of_pending_sources_ends_an_attempt() {
    let text = words(
        &["show", "-"],
        "[  251.681091][C5 t2624] PM: suspend entry (deep)\n\
         [  251.803701][C5 t2624] PM: dpm_run_callback(): platform_pm_suspend+0x0/0x8 returns -16\n\
         [  251.803779][C5 t2624] PM: PM: Pending Wakeup Sources: elm_timer\n\
         [  251.803928][C5 t2624] PM: Some devices failed to suspend, or early wake event detected\n\
         [  251.906141][C5 t2624] PM: suspend exit\n",
    );
    assert!(text.starts_with("This sleep failed: aborted by a wakeup event"), "{text}");
}

#[test]
fn a_test_that_turns_round_proves_no_depth() {
    let text = checked(
        "PM: suspend devices took 1.677 seconds\n\
         ACPI: EC: interrupt blocked\n\
         PM: suspend debug: Waiting for 5 second(s).\n\
         amd_pmc AMDI0005:00: Last suspend didn't reach deepest state\n\
         ACPI: EC: interrupt unblocked\n\
         PM: resume devices took 2.342 seconds\n\
         PM: suspend exit\n",
    );
    assert!(!text.contains("in name only"), "{text}");
}

#[test]
fn a_service_that_returns_ends_a_sleep_too() {
    let text = checked(
        "Jun 08 19:56:10 box systemd-sleep[8527]: Performing sleep operation 'suspend'...\n\
         Jun 08 19:56:10 box kernel: PM: suspend entry (s2idle)\n\
         Jun 08 19:56:56 box kernel: Freezing user space processes\n\
         Jun 08 19:56:56 box systemd-sleep[8527]: System returned from sleep operation 'suspend'.\n",
    );
    assert!(!text.contains("whether the machine came back"), "{text}");
}

#[test]
fn a_log_typed_off_is_one_with_the_lines_of_its_drivers() {
    let text = checked(
        "Typed off a photograph:\n\n\
         PM: suspend entry (deep)\n\
         Freezing user space processes ... (elapsed 0.002 seconds) done.\n\
         PM: suspend of devices complete after 412.118 msecs\n\
         ata4: link is slow to respond, please be patient (ready=0)\n\
         sd 3:0:0:0: [sdb] Starting disk\n\
         PM: resume of devices complete after 31870.402 msecs\n\
         Restarting tasks ... done.\n\
         PM: suspend exit\n",
    );
    assert!(text.starts_with("Slow: The resume of devices took 31.9 s"), "{text}");
}

#[test]
fn two_logs_of_a_source_that_begin_alike_are_two_attempts_and_one_verdict() {
    let text = "BAD = '''\n\
                [  540.000000] PM: Syncing filesystems ... done.\n\
                [  540.250000] PM: Creating hibernation image:\n\
                [  540.500000] Error -28 creating hibernation image\n'''\n\
                GOOD = '''\n\
                [  540.000000] PM: Syncing filesystems ... done.\n\
                [  540.250000] PM: Creating hibernation image:\n\
                [  543.500000] PM: Wrote 409600 kbytes in 3.00 seconds (136.53 MB/s)\n";
    let shown = words(&["show", "-"], text);
    assert!(shown.contains("2 cycles."), "{shown}");
    let text = checked(text);
    assert!(text.contains("could not make the image of the memory: error -28"), "{text}");
    assert!(text.contains("The text has 2 attempts to sleep."), "{text}");
    assert!(text.contains("(136.53 MB/s).") && !text.contains(").."), "{text}");
}

#[test]
fn a_callback_that_took_the_phase_is_named_and_nobody_is_told_to_ask_for_it() {
    let text = checked(
        "[  610.220000] PM: noirq resume of devices complete after 20.110 msecs\n\
         [  610.410000] ahci 0000:00:17.0: PM: pci_pm_resume+0x0/0xf0 returned 0 after 150200 usecs\n\
         [  614.640000] oak 0000:05:00.0: PM: pci_pm_resume+0x0/0xf0 returned 0 after 4390000 usecs\n\
         [  614.700000] PM: resume of devices complete after 4462.900 msecs\n",
    );
    assert!(text.contains("pci_pm_resume of 0000:05:00.0 (oak) took 4.4 s of it."), "{text}");
    assert!(!text.contains("initcall_debug") && !text.contains("No line says"), "{text}");
}

#[test]
fn rows_of_turbostat_with_bars_and_a_label_are_measurements_with_a_name() {
    let text = words(
        &["show", "-"],
        "| case | Busy% | Bzy_MHz | Pkg%pc2 | Pk%pc10 | PkgWatt |\n|---|---|---|---|---|---|\n\
         | camera on | 1.20 | 900 | 71.30 | 0.00 | 1.90 |\n| camera off | 1.10 | 880 | 4.00 | 88.10 | 0.61 |\n",
    );
    assert!(text.contains("\"camera on\" beside \"camera off\""), "{text}");
    assert!(text.contains("Pk%pc10: 0.00 % -> 88.10 %"), "{text}");
    assert!(text.contains("1.90 -> 0.61 W"), "{text}");
}

#[test]
fn a_screen_of_an_old_powertop_tells_states_and_wakeups() {
    let text = words(
        &["show", "-"],
        "Cn                Avg residency       P-states (frequencies)\n\
         C0 (cpu running)        (12.9%)\n\
         C6 mwait          5.1ms (84.2%)\n\n\
         Wakeups-from-idle per second : 164.2    interval: 10.0s\n\
         Power usage (ACPI estimate): 11.7W (5.0 hours)\n\n\
         Top causes for wakeups:\n  61.5% (101.0)   [elm0] <interrupt>\n",
    );
    assert!(text.contains("CPUs were woken 164.2 times a second, counted for 10.0 s."), "{text}");
    assert!(text.contains("[elm0] <interrupt> (61.5 %, 101.0 a second)"), "{text}");
    assert!(text.contains("CPUs worked for 12.9 % of the time"), "{text}");
    assert!(text.contains("The battery gave 11.7 W"), "{text}");
}

#[test]
fn an_error_in_a_comment_of_a_configuration_that_mends_it_is_no_state() {
    let text = |word: &str| {
        checked(&format!(
            "{{ config, ... }}:\n{{\n  # nvme nvme2: controller is down; will reset: \
             CSTS=0xffffffff, PCI_STATUS=0xffff\n  boot.kernelParams = [\n    \"{word}\"\n  ];\n}}\n"
        ))
    };
    let mended = text("nvme_core.default_ps_max_latency_us=0");
    assert!(mended.contains("tells of it: nvme2 (nvme) answered no more"), "{mended}");
    assert!(mended.contains("Nothing wrong found") && !mended.contains("Do:"), "{mended}");
    let open = text("quiet");
    assert!(
        open.contains("Broken: nvme2 (nvme)") && open.contains("rule drive-gone, guess"),
        "{open}"
    );
}

#[test]
fn a_device_that_does_not_thaw_ends_a_hibernation() {
    let text = checked(
        "[   77.100000] oak 0000:0b:00.0: PM: dpm_run_callback(): pci_pm_thaw returns -5\n\
         [   77.300000] PM: Image saving failed: -11\n",
    );
    assert!(text.contains("0000:0b:00.0 (oak) failed to thaw"), "{text}");
    assert!(text.contains("nothing was hibernated"), "{text}");
}

#[test]
fn a_program_for_hibernation_says_why_in_words_or_by_its_status() {
    let unit = "Mar  2 09:10:11 box systemd[1]: systemd-hibernate.service: Main process exited, code=exited, status=28/n/a\n\
                Mar  2 09:10:11 box systemd[1]: systemd-hibernate.service: Failed with result 'exit-code'.\n";
    let text = checked(unit);
    assert!(text.contains("status 28") && text.contains("ENOSPC"), "{text}");
    let text = checked(&format!("open the resume device. Reason: No such device\n{unit}"));
    assert!(text.contains("says why") && text.contains("error -19"), "{text}");
    let own = unit.replace("status=28/n/a", "status=1/FAILURE");
    assert!(checked(&own).contains("No rule finds what stood in its way."), "{}", checked(&own));
}

#[test]
fn the_first_of_a_devices_failures_is_told_with_the_last() {
    let text = checked(
        "[   40.100000] oak 0000:0c:00.0: firmware failed to start after resume -62\n\
         [   55.100000] oak 0000:0c:00.0: link is odd\n\
         [   55.200000] oak 0000:0c:00.0: failed to stop -62\n\
         [   55.300000] oak 0000:0c:00.0: PM: failed to suspend async: error -62\n\
         [   55.400000] PM: Some devices failed to suspend, or early wake event detected\n",
    );
    assert!(
        text.contains("It had failed with that error before: \"oak 0000:0c:00.0: firmware"),
        "{text}"
    );
}

#[test]
fn a_setting_echoed_before_fio_names_its_run() {
    let run = |policy: &str, mean: &str| {
        format!(
            "# echo {policy} > /sys/module/oak/parameters/policy\n\
             # fio --name=a --rw=randread --iodepth=1 --thinktime=20ms --filename=/dev/sdx\n\
             a: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\n\
             a: (groupid=0, jobs=1): err= 0: pid=77: Mon Mar  2 09:00:00 2026\n\
             \x20 read: IOPS=40, BW=160KiB/s (164kB/s)(4764KiB/30001msec)\n\
             \x20   clat (usec): min=90, max=700, avg={mean}, stdev=9.10\n"
        )
    };
    let text = words(&["show", "-"], &(run("busy", "120.40") + &run("calm", "480.20")));
    assert!(
        text.contains("from a, busy (policy)") && text.contains("to a, calm (policy)"),
        "{text}"
    );
    assert!(text.contains("its own options let time pass"), "{text}");
}

#[test]
fn a_device_of_which_the_writer_says_that_it_is_dead_behind_the_sleep_is_the_answer() {
    let log = "May 12 07:40:01 box kernel: PM: suspend exit\n\
        May 12 07:40:02 box systemd[1]: systemd-suspend.service: Deactivated successfully.\n\
        May 12 07:40:02 box kernel: radio 0000:03:00.0: Failed to send a command: -5\n\
        May 12 07:40:02 box kernel: radio 0000:03:00.0: channel error. ret=-5\n\
        May 12 07:40:03 box NetworkManager[9]: <info> [1778564403.4] device (wl0): state change: unmanaged -> unavailable\n\
        May 12 07:40:48 box NetworkManager[9]: <warn> [1778564448.2] dhcp4 (wl0): request timed out\n";
    let dead = format!("The wifi is dead after resume, only a reboot helps.\n\n{log}");
    let text = checked(&dead);
    assert!(text.contains("Risk: 0000:03:00.0 (radio) reported 2 errors"), "{text}");
    assert!(text.contains("The writer says: \"The wifi is dead after resume\"."), "{text}");
    for other in [
        "The wifi is not dead after resume.",
        "Last year the wifi was dead after resume.",
        "The flicker is gone after resume.",
        "On Windows the wifi is dead after resume.",
    ] {
        let text = checked(&format!("{other}\n\n{log}"));
        assert!(!text.contains("reported 2 errors"), "{other}: {text}");
    }
    assert!(text.contains("Why nobody answered, these lines do not say."), "{text}");
    // Without that word two errors in the minute behind a sleep are none of it.
    let text = checked(log);
    assert!(!text.contains("reported 2 errors"), "{text}");
}

#[test]
fn a_drain_and_a_wakeup_of_which_only_the_writer_tells_are_no_all_clear() {
    let text =
        checked("It lost 34% overnight (9 hours).\n\n$ cat /sys/power/mem_sleep\n[s2idle] deep\n");
    assert!(text.contains("34 % of the battery") && text.contains("3.8 % an hour"), "{text}");
    let log = "Jun 23 08:55:22 box kernel: PM: suspend entry (deep)\n\
        Jun 23 08:55:24 box kernel: PM: suspend exit\n";
    let text = checked(&format!("Whenever I suspend it, it instantly wakes up again.\n\n{log}"));
    assert!(
        text.starts_with("No rule found a fault, but the text proves no healthy sleep."),
        "{text}"
    );
    let calm = "It was losing battery overnight in suspend. Turns out nothing is broken.";
    let text = checked(&format!("{calm}\n\n{log}"));
    assert!(!text.contains("no all-clear"), "{text}");
    let text = checked(&format!("When I open the lid it wakes instantly from suspend.\n\n{log}"));
    assert!(!text.contains("no all-clear"), "{text}");
}

/// The clock of a log stands still in the firmware's sleep, also where the lines of CPUs are
/// missing.
#[test]
fn what_lies_between_the_ways_into_and_out_of_the_firmwares_sleep_is_no_time_asleep() {
    let text = words(
        &["show", "-"],
        "[20932.566863] ACPI: Preparing to enter system sleep state S3\n\
         [20932.569453] ACPI: EC: EC stopped\n\
         [20932.580783] ACPI: Low-level resume complete\n\
         [20932.586689] ACPI: Waking up from system sleep state S3\n",
    );
    assert!(text.contains("time asleep not known") && !text.contains("ms asleep"), "{text}");
}

/// A kernel of the 3.x tells last that it gives the sleep up, behind the phases that went back.
#[test]
fn a_sleep_that_a_device_ended_is_one_where_the_core_says_so_behind_its_way_back() {
    let log = "[ 2215.577514] PM: Device elm.0 failed to suspend noirq: error -11\n\
        [ 2215.579010] PM: noirq resume of devices complete after 1.464 msecs\n\
        [ 2215.582183] PM: early suspend of devices complete after 1.464 msecs\n\
        [ 2215.582214] PM: Some devices failed to power down\n\
        [ 2215.591827] PM: resume of devices complete after 9.613 msecs\n\
        [ 2215.656738] PM: suspend exit\n";
    let text = words(&["show", "-"], log);
    assert!(text.starts_with("This sleep failed: aborted by elm.0 (error -11)."), "{text}");
    assert!(checked(log).contains("The text has 1 attempt to sleep."), "{text}");
}

#[test]
fn a_writer_who_switched_a_waker_off_is_believed_as_far_as_words_go() {
    let table = "Device  S-state   Status   Sysfs node\n\
        XHC       S3    *enabled   pci:0000:00:14.0\n\
        RP01      S4    *disabled\n\
        LID0      S3    *enabled   platform:PNP0C0D:00\n";
    let with = |words: &str| checked(&format!("$ cat /proc/acpi/wakeup\n{table}\n{words}\n"));
    let text = with("If I do `echo XHC > /proc/acpi/wakeup` it stays asleep. So it is USB.");
    assert!(text.starts_with("Risk: XHC wakes the machine, by what the writer tried:"), "{text}");
    assert!(text.contains("That is a suspicion"), "{text}");
    for other in
        ["I would like to know whether XHC no longer wakes it?", "LID1 no longer wakes it."]
    {
        assert!(!with(other).contains("by what the writer tried"), "{other}");
    }
}

#[test]
fn two_levels_with_their_times_in_one_sentence_are_a_night() {
    let text = checked(
        "The battery had 81 % at 23:10 and 47 % at 07:02, it was suspended all night.\n\n\
         $ cat /sys/power/mem_sleep\n[s2idle] deep\n",
    );
    assert!(text.contains("34.0 %") && text.contains("4.3 % an hour"), "{text}");
}
