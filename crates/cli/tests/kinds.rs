//! Kinds of texts that people post: what must be said of each, and what must not. The texts are
//! made up.

use super::words::words;

/// The way down of a sleep, up to its devices.
pub(super) const DOWN: &str = "\
[  100.000000] PM: suspend entry (deep)
[  100.010000] Filesystems sync: 0.009 seconds
[  100.011000] Freezing user space processes
[  100.014000] Freezing user space processes completed (elapsed 0.003 seconds)
[  100.014010] OOM killer disabled.
[  100.014020] Freezing remaining freezable tasks
[  100.015400] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)
[  100.015500] printk: Suspending console(s) (use no_console_suspend to debug)
";

/// Tasks run again.
const UP: &str = "\
[  104.500000] OOM killer enabled.
[  104.500010] Restarting tasks ... done.
[  104.503000] PM: suspend exit
";

/// A sleep with `middle` between its way down and the thaw.
pub(crate) fn sleep(middle: &str) -> String {
    format!("{DOWN}{middle}{UP}")
}

/// What the words of `verb` say of `text`: all of `must`, none of `must_not`.
pub(crate) fn says(verb: &str, text: &str, must: &[&str], must_not: &[&str]) {
    let verb: Vec<&str> = verb.split(' ').chain(["-"]).collect();
    let said = words(&verb, text);
    for m in must {
        assert!(said.contains(m), "{m:?} is missing in {said}");
    }
    for m in must_not {
        assert!(!said.contains(m), "{m:?} stands in {said}");
    }
}

#[test]
fn a_wakeup_between_the_lines_of_the_controller_is_no_sleep() {
    let text = sleep(
        "[  101.000000] ACPI: EC: interrupt blocked\n\
         [  104.000000] PM: Wakeup pending, aborting suspend\n\
         [  104.000010] PM: active wakeup source: elm-lid\n\
         [  104.000100] PM: noirq suspend of devices failed\n\
         [  104.100000] ACPI: EC: interrupt unblocked\n",
    );
    says("show", &text, &["aborted by a wakeup event", "Suspend 4.000 s"], &["asleep (not"]);
    // Android's kernels say it as tasks run again.
    let text = sleep("[  101.000000] Abort: Pending Wakeup Sources: elm_rx\n");
    says("show --json", &text, &["\"outcome\":\"aborted_by_wakeup\""], &[]);
    let echo = "[  10.000000] Freezing of tasks aborted after 0.000 seconds\n\
        [  10.000100] Restarting tasks ... done.\n\
        [  10.001000] Abort: Pending Wakeup Sources: elm_rx\n[  10.001100] PM: suspend exit\n";
    says("show --json", echo, &["\"number\":1"], &["\"number\":2"]);
}

#[test]
fn another_machine_goes_on_with_no_sleep_of_the_one_before() {
    let host = |text: &str, host: &str| -> String {
        let of = |l: &str| format!("Nov 03 10:01:{} {host} kernel: {}\n", &l[4..13], &l[15..]);
        text.lines().map(of).collect()
    };
    let mixed = host(&DOWN.replace("[  100", "[   00"), "elm")
        + &host(&UP.replace("[  104", "[   04"), "oak");
    says("show", &mixed, &["2 cycles"], &[]);
}

#[test]
fn what_the_core_brings_down_behind_devices_bounds_them() {
    let cut = format!(
        "{DOWN}[  102.500000] Disabling non-boot CPUs ...\n[  102.510000] CPU1: shutdown\n"
    );
    says("show", &cut, &["Suspend at least 2.510 s"], &["time unknown"]);
    let firmware = "[  100.000000] PM: suspend entry (deep)\n\
        [  101.100000] Filesystems sync: 1.100 seconds\n\
        [  104.900000] ACPI: PM: Saving platform NVS memory\n\
        [  104.930000] ACPI: PM: Low-level resume complete\n\
        [  105.800000] PM: suspend exit\n";
    says("show", firmware, &["Suspend 4.900 s", "way up, until suspend exit"], &["after thaw"]);
}

#[test]
fn a_keeper_that_was_frozen_late_counts_the_sleep_as_none_of_suspend() {
    let line = |at: &str, text: &str| format!("May 02 {at} elm kernel: {text}\n");
    let mut text: String =
        DOWN.lines().map(|l| line(&format!("03:11:40.{}", &l[7..13]), &l[15..])).collect();
    for (ms, said) in [
        "Disabling non-boot CPUs ...",
        "Enabling non-boot CPUs ...",
        "OOM killer enabled.",
        "Restarting tasks ... done.",
        "PM: suspend exit",
    ]
    .iter()
    .enumerate()
    {
        text += &line(&format!("03:14:02.{:03}000", 500 + ms * 9), said);
    }
    says("show", &text, &["142.485 s asleep"], &["Suspend 142"]);
}

#[test]
fn a_reply_that_quotes_lines_of_a_log_adds_no_sleep() {
    let text = sleep("")
        + "\nYou wrote:\n> [  100.000000] PM: suspend entry (deep)\n\
        Then nothing until\n> [  104.503000] PM: suspend exit\n";
    says("check --json", &text, &["\"sleeps\": 1"], &["\"sleeps\": 2"]);
}

#[test]
fn code_in_marks_of_emphasis_is_read() {
    let listed = |l: &str| match l.contains("devices complete") {
        true => format!("* __`{l}`__\n"),
        false => format!("* `{l}`\n"),
    };
    let text = sleep("[  100.900000] PM: suspend of devices complete after 880.500 msecs\n");
    let text: String = text.lines().map(listed).collect();
    says("show --json", &text, &["\"printed_ns\":880500000"], &[]);
}

#[test]
fn messages_that_went_missing_are_said() {
    let one =
        "[  104.400000] elm 1-1: PM: elm_resume+0x0/0x10 [elm] returned 0 after 140000 usecs\n";
    let done = "[  104.450000] PM: resume of devices complete after 200.500 msecs\n";
    let up = "[  104.100000] Enabling non-boot CPUs ...\n[  104.200000] PM: noirq resume of devices complete after 0.600 msecs\n[  104.210000] PM: early resume of devices complete after 0.300 msecs\n";
    for lost in [
        "** 27 printk messages dropped ** ",
        "elm systemd-journald[410]: Missed 27 kernel messages\n",
    ] {
        let text = sleep(&format!("{up}{lost}{one}{done}"));
        says("show", &text, &["27"], &["no device callback of it"]);
    }
}

#[test]
fn a_task_reads_an_attribute_and_waits_for_no_lock() {
    let frames = |inner: &str| {
        format!(
            "[  120.100000] Freezing of tasks failed after 20.007 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
             [  120.100010] task:elmd            state:D stack:0     pid:1204  ppid:1      flags:0x00000006\n\
             [  120.100020] Call trace:\n{inner}\
             [  120.100090]  dev_attr_show+0x20/0x70\n"
        )
    };
    let freezing = DOWN.split_inclusive('\n').take(3).collect::<String>();
    let own = frames(
        "[  120.100030]  schedule+0x58/0xf0\n[  120.100040]  elm_transfer+0x5c/0xa8 [elm]\n",
    );
    says("check", &format!("{freezing}{own}"), &["elm_transfer"], &["probe holds"]);
    let power = frames(
        "[  120.100030] [c00000003a4b7a90] [c000000000b8c904] schedule+0x74/0x140\n\
        [  120.100040] [c00000003a4b7ac0] [c0000000000c1208] elm_wait+0xb8/0x140\n",
    );
    says("check", &format!("{freezing}{power}"), &["elm_wait"], &["not in the text"]);
}

#[test]
fn devices_that_keep_their_power_state_are_named() {
    let down =
        "[  100.500000] elm_hcd 0000:c3:00.4: refused to change power state from D0 to D3hot\n";
    says(
        "check",
        &sleep(down),
        &["Risk: 0000:c3:00.4 (elm_hcd) refused to leave D0 for D3hot"],
        &[],
    );
    let up = "[  104.000000] elm 0000:01:00.0: Refused to change power state, currently in D3\n";
    says("check", &sleep(up), &["Broken: 0000:01:00.0 (elm) refused to leave D3"], &[]);
    // Older kernels begin an attempt in words that not every text has.
    let part = "[  100.400000] Suspending console(s) (use no_console_suspend to debug)\n\
        [  100.500000] elm 0000:02:00.0: Refused to change power state, currently in D0\n\
        [  100.600000] PM: suspend of devices complete after 371.380 msecs\n\
        [  104.500000] PM: resume of devices complete after 329.100 msecs\n\
        [  104.600000] elm 0000:02:00.1: Refused to change power state, currently in D0\n\
        [  104.700000] Restarting tasks ... done.\n";
    says("check", part, &["0000:02:00.0 (elm) refused to leave D0"], &["0000:02:00.1", "Nothing"]);
    let stats = "/sys/kernel/debug/suspend_stats:\nsuccess: 18\nfail: 0\nfailed_resume: 2\n\
        last_failed_dev: elm.usb\nlast_failed_errno: -110\nlast_failed_step: resume\n";
    says("check", stats, &["failed to resume 2 times", "elm.usb, error -110"], &["Nothing wrong"]);
    let runtime =
        "[   10.000000] elm 0000:03:00.0: can't suspend (elm_runtime_suspend [elm] returned -5)\n";
    says("check", runtime, &["0000:03:00.0 failed to suspend at run time, with error -5"], &[]);
}

#[test]
fn a_test_of_hibernation_is_told_by_its_wait() {
    let text = "[  100.000000] PM: hibernation: hibernation entry\n\
        [  100.500000] PM: hibernation: debug: Waiting for 5 seconds.\n\
        [  105.600000] PM: hibernation: hibernation exit\n";
    says("check", text, &["pm_test was on"], &["Nothing wrong"]);
}

#[test]
fn an_interrupt_is_named_by_the_controllers_function() {
    let text = sleep("[  103.000000] elm_show_resume_irq: 57 triggered oak,modem\n");
    says("check", &text, &["IRQ 57"], &[]);
}

#[test]
fn a_phase_counts_for_itself_how_long_it_took() {
    let text = sleep(
        "[  100.100000] PM: suspend of devices complete after 80.000 msecs\n\
         [  101.000000] PM: resume from suspend-to-idle\n\
         [  101.010000] PM: early resume of devices complete after 3.903 msecs\n\
         [  104.400000] PM: resume of devices complete after 402.118 msecs\n",
    );
    says("check", &text, &["Its devices took 402 ms of that"], &["Devices took it"]);
}

#[test]
fn counters_without_a_name_are_no_readings_of_one() {
    let block = |name: &str, count: u32| {
        format!(
            "{name}Count: {count}\nLast Entered At: 1\nLast Exited At: 2\nAccumulated Duration: 3\n"
        )
    };
    let named = block("== aosd\n", 0) + &block("== cxsd\n", 0) + &block("== ddr\n", 14);
    says(
        "check",
        &named,
        &["never entered their sleep since the start: aosd, cxsd", "ddr did"],
        &[],
    );
    let unnamed = block("", 4) + "\n" + &block("", 4_026);
    says("check", &unnamed, &["unnamed"], &["4022 times", "4,022"]);
}

#[test]
fn what_is_wrong_by_a_table_stands_above_it() {
    let table = "Core\tCPU\tBusy%\tCPU%c1\tCPU%c6\tCPU%c7\tPkg%pc2\tPkg%pc3\tPkg%pc6\tPkg%pc8\tPk%pc10\tPkgWatt\n\
        -\t-\t0.61\t1.20\t2.01\t96.18\t91.20\t0.00\t0.00\t0.00\t0.00\t4.91\n\
        0\t0\t0.61\t1.20\t2.01\t96.18\t91.20\t0.00\t0.00\t0.00\t0.00\t4.91\n";
    let text = format!("lspci: LnkCtl: ASPM Disabled for the oak-225.\n\n{table}");
    says(
        "show",
        &text,
        &["Risk: The cores sleep deep, and the package goes no deeper than Pkg%pc2"],
        &[],
    );
    let torn = "0\t0\t2.00\t3.0[ 8123.441009] elm 1-4: reset\n";
    says("show --only idle", &format!("{table}{torn}"), &["could not be read"], &[]);
}

#[test]
fn fields_of_perf_alone_are_a_trace() {
    let text = " 8123.100000:     power:cpu_idle: state=2 cpu_id=0\n \
        8123.102700:     power:cpu_idle: state=4294967295 cpu_id=0\n";
    says("show --only idle", text, &["1 sleep"], &[]);
}

#[test]
fn a_recording_in_place_of_a_command_is_shown() {
    let shown = words(&["show", "captures/am335x-6.12.tar.gz"], "");
    assert_eq!(words(&["captures/am335x-6.12.tar.gz"], ""), shown);
    assert!(words(&["nothing-there"], "").contains("unrecognized subcommand"));
}

#[test]
fn a_domain_that_is_refused_its_state_is_told() {
    let text = "$ cat /sys/kernel/debug/pm_genpd/elm-cluster0/idle_states\n\
        State          Time Spent(ms) Usage          Rejected\n\
        S0             0              0              48122\n";
    let told = "elm-cluster0 was refused its idle state S0 48122 times; it was never entered";
    says("check", text, &[told], &["No rule found a fault"]);
}

#[test]
fn what_is_told_as_of_then_is_no_fault_of_now() {
    let then = DOWN.replace("[  1", "> [  3")
        + "> [  300.500000] elm 1-1: PM: failed to suspend async: error -110\n\
           > [  300.500100] PM: Some devices failed to suspend, or early wake event detected\n\
           > [  300.600000] PM: suspend exit\n\
           With the new firmware it is GONE, this is from today:\n";
    says(
        "check",
        &(then.replace("\n[", "\n> [") + &sleep("")),
        &["as of an earlier time"],
        &["Broken:"],
    );
    let frozen = "Apr 30 12:00:46.301118 elm systemd-sleep[6120]: Failed to freeze unit 'user.slice': Connection timed out\n";
    let host = |l: &str| {
        format!(
            "Apr 30 12:01:{} elm kernel: {}\n",
            &l[6..13].replace("100", "00").replace("104", "04"),
            &l[15..]
        )
    };
    let slept: String = sleep("")
        .lines()
        .map(|l| host(&l.replace("[  100", "[   00").replace("[  104", "[   04")))
        .collect();
    says("check", &format!("{frozen}{slept}"), &["The sleep went on all the same"], &["Broken:"]);
}

#[test]
fn tables_of_locks_and_failures_behind_a_sleep_are_read() {
    let table = "WHO UID USER PID COMM WHAT WHY MODE\n\
        NetworkManager 0 root 776 NetworkManager sleep NetworkManager needs to turn off networks delay\n\
        ada 1000 ada 6866 oak-power handle-lid-switch Multiple displays attached block\n";
    says(
        "check",
        table,
        &[
            "No lock of this table blocks a sleep; NetworkManager (PID 776) delays sleep",
            "oak-power",
        ],
        &["Broken", "Risk"],
    );
    let dead = "The firmware of my card fails to load after resuming, every time.\n\n\
        [  200.100000] elm 0000:03:00.0: Failed to start INIT: -5\n\
        [  200.200000] elm 0000:03:00.0: Failed to run INIT: -5\n";
    says("check", dead, &["0000:03:00.0 (elm) reported 2 errors"], &[]);
    let load = "[    1.000000] PM: Image signature found, resuming\n\
        [    1.010000] PM: hibernation: Loading hibernation image.\n";
    says("check", load, &["began to load it"], &["nothing to analyse"]);
    let hook = "jun 09 17:12:01 elm systemd[1]: Starting Hibernate...\n\
        jun 09 17:12:02 elm systemd-sleep[852]: setting standby to 36 (3 minutes)\n\
        jun 09 17:12:03 elm systemd[1]: systemd-hibernate.service: Failed with result 'exit-code'.\n";
    says("check", hook, &["could not put the machine to sleep"], &["setting standby to 36\"."]);
}

#[test]
fn disks_that_are_given_up_and_counts_of_the_hardware_are_told() {
    let disk = sleep("")
        + "[  110.000000] ata3: COMRESET failed (errno=-16)\n\
        [  110.000100] ata3: reset failed, giving up\n[  110.000200] ata3.00: disabled\n";
    says(
        "check",
        &disk,
        &["The kernel gave ata3 up behind the sleep of line 1", "switched off"],
        &[],
    );
    let hardware = DOWN.replace("(deep)", "(s2idle)")
        + "[  100.400000] ACPI: EC: interrupt blocked\n\
           [  220.400000] ACPI: EC: interrupt unblocked\n\
           [  220.402000] amd_pmc AMDI000A:00: Last suspend in deepest state for 758us\n\
           [  220.700000] OOM killer enabled.\n\
           [  220.703000] PM: suspend exit\n";
    says("check", &hardware, &["in name only"], &["Nothing wrong"]);
    let many: String = [
        "error: ipc timed out",
        "error: status = 1",
        "error: ctx_save error -110",
        "error: reset failed",
    ]
    .iter()
    .enumerate()
    .map(|(i, t)| format!("[  101.{i}00000] elm-audio 0000:00:0e.0: {t}\n"))
    .collect();
    says("check", &sleep(&many), &["Risk: 0000:00:0e.0 (elm-audio) reported 4 errors"], &[]);
}

#[test]
fn forms_of_other_kernels_are_read() {
    let power = sleep(
        "[  104.000000] elm 0001:01:00.0: can't change power state from D3cold to D0 (config space inaccessible)\n",
    );
    says("check", &power, &["0001:01:00.0 (elm) could not be brought back from D3cold"], &[]);
    let woken = sleep("[  103.000000] PM: pm_system_irq_wakeup: 91 triggered oak\n");
    says("check", &woken, &["Woken by IRQ 91 of oak"], &[]);
    let off = format!(
        "{DOWN}[  101.500000] Disabling non-boot CPUs ...\n[  101.502000] CPU1: off\n\
         [  101.503000] PM: Wakeup pending, aborting suspend\n[  101.503100] Enabling non-boot CPUs ...\n\
         [  101.506000] CPU1 is up\n{UP}"
    );
    says("show", &off, &["Suspend 1.50"], &[]);
    let old = |at: u32| {
        format!(
            "2013-07-0{at}T23:10:04+0200 elm kernel: PM: Entering mem sleep\n\
             2013-07-0{at}T23:48:31+0200 elm kernel: ACPI: Low-level resume complete\n\
             2013-07-0{at}T23:48:31+0200 elm kernel: PM: Finishing wakeup.\n"
        )
    };
    says("show", &(old(2) + &old(3)), &["2 cycles"], &[]);
}

#[test]
fn bios_of_a_disk_without_requests_end_by_themselves() {
    let text = "  elm-1 [000] ..... 1201.000000: block_bio_queue: 252,3 R 8192 + 8 [elm]\n\
        <idle>-0 [000] ..s.. 1201.002400: block_bio_complete: 252,3 R 8192 + 8 [0]\n";
    says("show --only storage", text, &["not seen to be issued", "2.40 ms"], &["no completion is"]);
}

#[test]
fn a_boot_behind_the_way_down_is_no_return() {
    let text = "Apr 26 10:24:30 elm systemd-logind[787]: Lid closed.\n\
        Apr 26 10:24:31 elm systemd[1]: Starting Suspend...\n\
        Apr 26 10:24:31 elm systemd-sleep[2904]: Suspending system...\n-- Reboot --\n\
        Apr 26 10:24:57 elm systemd-journald[469]: Runtime journal is using 8.0M\n";
    says("check", text, &["did not come back by itself"], &["No rule found a fault"]);
    let kernel = text
        .replace("-- Reboot", "Apr 26 10:24:31 elm kernel: PM: suspend entry (deep)\n-- Reboot");
    says("check", &kernel, &["did not come back by itself"], &[]);
}

#[test]
fn a_crash_behind_a_long_sleep_is_of_its_return() {
    let crash = |at: u32| {
        format!(
            "[ {at}.000000] ------------[ cut here ]------------\n\
             [ {at}.000010] WARNING: CPU: 6 PID: 204 at drivers/elm/core.c:512 elm_start+0x2b1/0x2d0 [elm]\n\
             [ {at}.000020] Call Trace:\n[ {at}.000030]  elm_ops_start+0x22/0x40 [elm]\n\
             [ {at}.000040] ---[ end trace 0000000000000000 ]---\n\
             [ {at}.100000] OOM killer enabled.\n[ {at}.100010] Restarting tasks ... done.\n\
             [ {at}.103000] PM: suspend exit\n"
        )
    };
    let down = DOWN.replace("(deep)", "(s2idle)");
    let ec = "[  100.400000] ACPI: EC: interrupt blocked\n[ 2649.000000] ACPI: EC: interrupt unblocked\n";
    for text in [format!("{down}{ec}{}", crash(2650)), format!("{down}{}", crash(2650))] {
        says("check", &text, &["elm_start"], &["Nothing wrong"]);
    }
}

#[test]
fn a_number_in_parentheses_is_no_round() {
    for text in [
        "Failed to set elm state: RESUME(7) ret: -110 blocks suspend\n",
        "# Failed after update: Oakland (41) suspend\n",
        "[BUG] failed to resume: error -110 after RESUME(7)\n",
    ] {
        says("check", text, &[], &["Round"]);
    }
}

#[test]
fn a_restore_that_fails_is_no_sleep_that_failed() {
    let text = "[   19.124757] PM: resume from hibernation\n\
        [   19.185972] Freezing user space processes ... \n\
        [   39.188867] Freezing of tasks failed after 20.002 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
        [   39.198921] elmd            D    0   592    368 0x00004006\n\
        [   39.350895] OOM killer enabled.\n\
        [   39.350895] Restarting tasks ... done.\n\
        [   39.420402] PM: resume from hibernation failed (-16)\n";
    let told = "The restore from hibernation failed: ";
    says("check", text, &[told, "The reason stands before it: elmd"], &["This sleep"]);
    says("show", text, &[told], &["This sleep failed"]);
    let last = text.lines().last().unwrap_or_default();
    says("check", last, &[told, "error -16 (EBUSY"], &["nothing to analyse"]);
    let boot = "[    2.832865] PM: Image not found (code -22)\n[    3.100000] elm 1-4: found\n";
    says("check", boot, &["A boot looked for an image", "found none"], &["Broken", "failed"]);
}

#[test]
fn an_attempt_whose_mode_no_line_names_is_counted() {
    let old = "[   10.000000] PM: suspend entry 2016-04-27 04:00:00.448241184 UTC\n\
        [   10.020000] Freezing user space processes ... (elapsed 0.006 seconds) done.\n\
        [   10.040000] Suspending console(s) (use no_console_suspend to debug)\n\
        [   10.060000] PM: Device elm.serial failed to suspend: error -16\n\
        [   10.060100] PM: Some devices failed to suspend\n\
        [   10.090000] Restarting tasks ... done.\n\
        [   10.100000] PM: suspend exit 2016-04-27 04:00:00.536413901 UTC\n";
    let json = "\"mode\": \"unknown\"";
    says("show --only modes", old, &["unknown seen 0 1"], &[]);
    says("show --only modes --json", old, &[json], &[]);
    says("show --only modes --json", &sleep(""), &[], &[json]);
}

#[test]
fn a_clock_that_is_set_on_lengthens_no_sleep() {
    let line = |at: &str, text: &str| format!("Mar 30 {at} elm kernel: {text}\n");
    let down: String =
        DOWN.lines().map(|l| line(&format!("01:59:40.{}", &l[7..13]), &l[15..])).collect();
    let text = down
        + &line("01:59:40.600000", "Disabling non-boot CPUs ...")
        + &line("03:00:01.600000", "PM: Timekeeping suspended for 20.112 seconds")
        + &line("03:00:01.610000", "Enabling non-boot CPUs ...")
        + &line("03:00:01.900000", "Restarting tasks ... done.")
        + &line("03:00:01.910000", "PM: suspend exit");
    says("check", &text, &["1 attempt to sleep"], &["1 h"]);
    says("show", &text, &["20.112 s asleep"], &["3620", "1 h"]);
    // Tasks froze in a moment, and no line prints the sleep.
    let text = line("01:59:57.900000", "PM: suspend entry (s2idle)")
        + &line("01:59:58.200000", "Freezing user space processes")
        + &line("03:00:00.202", "Freezing user space processes completed (elapsed 0.002 seconds)")
        + &line("03:00:00.207000", "Suspending console(s) (use no_console_suspend to debug)")
        + &line("03:07:40.900000", "OOM killer enabled.")
        + &line("03:07:40.903000", "PM: suspend exit");
    says("check", &text, &["The sleep of the text took 7 min 43 s"], &["1 h"]);
}

#[test]
fn what_two_machines_log_side_by_side_is_two_sleeps() {
    let line = |at: &str, host: &str, text: &str| {
        format!("2025-01-21T19:14:{at}+01:00 {host} kernel: {text}\n")
    };
    let text = line("05.001004", "elm", "PM: suspend entry (s2idle)")
        + &line("05.090004", "oak", "PM: suspend entry (deep)")
        + &line("05.021220", "elm", "Freezing user space processes")
        + &line("05.118330", "oak", "Filesystems sync: 0.027 seconds")
        + &line("05.404120", "elm", "a 1-2: PM: failed to suspend async: error -16")
        + &line("05.520004", "oak", "PM: suspend devices took 0.390 seconds")
        + &line("05.501110", "elm", "PM: suspend exit")
        + &line("21.774110", "oak", "PM: suspend exit");
    says("check", &text, &["The text has 2 attempts to sleep.", "line 5"], &["no end there"]);
}

#[test]
fn a_bar_quotes_as_a_mail_does() {
    let barred = |text: &str| text.lines().map(|l| format!("| {l}\n")).collect::<String>();
    let calls = "rtw 0000:3b:00.0: PM: calling pci_pm_resume @ 5120, parent: 0000:00:1c.4\n\
        rtw 0000:3b:00.0: PM: pci_pm_resume returned 0 after 1480233 usecs\n\
        PM: resume of devices complete after 1502.114 msecs\n";
    let must = ["Resume at least 1.502 s: 0000:3b:00.0 (rtw) took longest, 1.480 s"];
    says("show", &format!("Without stamps:\n\n{}", barred(calls)), &must, &["| rtw"]);
    let file = "/sys/devices/platform/ff96.i2c/power";
    let files =
        format!("{file}/control:auto\n{file}/runtime_status:active\n{file}/runtime_usage:1\n");
    let text = format!("The controller:\n\n{}", barred(&files));
    says("show --only runtime", &text, &["ff96.i2c", "in use, count 1"], &[]);
}

#[test]
fn a_line_of_turbostat_that_breaks_off_is_lost() {
    let head = "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tCPU%c1\tCPU%c7\tPkg%pc8\tPkgWatt\n\
        -\t-\t402\t20.11\t2001\t4.20\t74.10\t0.40\t6.80\n\
        0\t0\t31\t2.10\t1490\t5.10\t92.00\t0.40\t6.80\n\
        0\t1\t22\t1.50\t1480\t3.40\t94.10\n";
    let rest = "1\t3\t25\t1.70\t1470\t3.30\t94.00\n";
    let lost = "1 line of this table could not be read";
    let cut = format!("{head}1\t2\t1531\n{rest}");
    says("show --only idle", &cut, &[lost, "nothing is claimed"], &["CPU 0 was awake most"]);
    let whole = format!("{head}1\t2\t25\t1.80\t1470\t3.20\t94.00\n{rest}");
    says("show --only idle", &whole, &[], &[lost]);
}

#[test]
fn firmware_wakes_once_a_sleep() {
    let one = |s: u32, device: &str| {
        format!(
            "    [   {s}3.748299] ACPI: PM: Waking up from system sleep state S3\n    \
            [   {s}3.767111] sd 2:0:0:0: [sdc] Starting disk\n    \
            [   {s}3.867111] sd {device}: PM: failed to resume async: error -5\n"
        )
    };
    let text = format!("Bad:\n\n{}\nand worse:\n\n{}", one(2, "1:0:0:0"), one(6, "3:0:0:0"));
    says("check", &text, &["2 attempts to sleep"], &[]);
    let bare: String = text.lines().map(|l| format!("{}\n", l.replace("[   ", "[ "))).collect();
    let bare = bare.replace("[ 23.748299] ", "").replace("[ 63.748299] ", "");
    says("check", &bare, &["2 attempts to sleep"], &[]);
}

#[test]
fn a_line_shown_ahead_of_its_log_is_no_second_failure() {
    let failed = "[  100.300000] elm 4-0038: PM: failed to suspend: error -121\n";
    let text = format!("The line that matters is\n\n{failed}\nand the whole:\n\n{}", sleep(failed));
    says("check", &text, &["4-0038 (elm) ended the sleep: error -121"], &["2 times"]);
    says("show", &text, &[], &["two kernels"]);
}

#[test]
fn a_machine_that_writes_its_image_does_not_resume() {
    let text = "[ 4402.110004] PM: Hibernation mode set to 'platform'\n\
        [ 4402.140110] PM: Syncing filesystems ... done.\n\
        [ 4402.402004] Freezing user space processes ... (elapsed 0.004 seconds) done.\n\
        [ 4403.720110] PM: freeze of devices complete after 407.110 msecs\n\
        [ 4403.723004] Disabling non-boot CPUs ...\n\
        [ 4403.740110] PM: Creating hibernation image:\n\
        [ 4404.340004] Enabling non-boot CPUs ...\n\
        [ 4404.350110] CPU1 is up\n\
        [ 4404.720004] PM: Saving image data pages (270630 pages)...\n\
        [ 4445.744110] PM: Wrote 1082520 kbytes in 41.02 seconds (26.39 MB/s)\n";
    says("show", text, &["Back to write the image, at least 10.1 ms"], &["Resume", "total resume"]);
}

#[test]
fn a_command_that_nobody_answered_is_no_refusal() {
    let text = sleep(
        "[  101.480220] amd_pmc AMDI0007:00: SMU response timed out\n\
         [  101.480230] amd_pmc AMDI0007:00: suspend failed: -110\n",
    );
    says("check", &text, &["unit did not answer its driver in a sleep"], &["refused", "2 times"]);
    let text = sleep("[  101.480220] amd_pmc AMDI0007:00: SMU cmd failed. err: 0xff\n");
    says("check", &text, &["unit refused what its driver asked"], &[]);
}

#[test]
fn polling_is_none_of_the_work() {
    let text = "5.003012 sec\nBusy%\tBzy_MHz\tPOLL\tC1\tC6\tPOLL%\tC1%\tC6%\tPkgWatt\n\
        62.00\t3100\t88120\t3100\t4410\t41.00\t8.00\t30.00\t18.40\n";
    let told = "which Busy% counts and the share of work does not";
    says("show --only idle", text, &["CPUs worked for 21.0 %", told], &[]);
}

#[test]
fn a_test_that_was_not_deep_is_the_sleep_of_its_counter() {
    let text = "s2idle cycle 1 of 1\npm-action returned 0 after 5 seconds.\n\
        FAILED [CRITICAL] S2idleNotDeepest: Test 1, Expected /sys/power/suspend_stats\n\
        /total_hw_sleep to increase from 0, got 0.\n";
    says("check", text, &["Round 1 of 1 came back, and was not deep"], &["No line that was read"]);
}

#[test]
fn devices_of_the_kernel_that_read_the_image_are_part_of_the_way_back() {
    let text = "[   52.000000] PM: hibernation: resume from hibernation\n\
        [   55.230000] PM: hibernation: Read 1048576 kbytes in 3.00 seconds (349.52 MB/s)\n\
        [   55.240000] PM: Image successfully loaded\n\
        [   55.950000] PM: quiesce of devices complete after 690.000 msecs\n\
        [   55.960000] PM: late quiesce of devices complete after 2.000 msecs\n\
        [   55.990000] PM: noirq quiesce of devices complete after 20.000 msecs\n\
        [  120.100000] PM: noirq restore of devices complete after 30.000 msecs\n\
        [  120.110000] PM: early restore of devices complete after 3.000 msecs\n\
        [  121.110000] PM: restore of devices complete after 990.000 msecs\n\
        [  121.130000] Restarting tasks ... done.\n\
        [  121.140000] PM: hibernation: hibernation exit\n";
    says("show", text, &["image: quiesce"], &["Suspend at least", "noirq suspend"]);
    says("show --json", text, &["\"suspend_ns\":null"], &[]);
}

#[test]
fn a_line_that_is_shown_again_below_its_log_is_no_other_attempt() {
    let again = "\nSo between\n\n[  100.000000] PM: suspend entry (deep)\n\nand\n\n\
        [  104.503000] PM: suspend exit\n\nthere are only four seconds.\n";
    let text = sleep("[  102.000000] ACPI: EC: interrupt blocked\n") + again;
    says("show --json", &text, &["\"number\":1"], &["\"number\":2"]);
    says("check", &text, &["1 attempt"], &["2 attempts"]);
}

#[test]
fn a_keeper_that_was_frozen_stretches_no_phase_of_the_way_up() {
    let line = |at: &str, text: &str| format!("2025-02-11 {at} elm kernel: {text}\n");
    let down: String =
        DOWN.lines().take(3).map(|l| line("07:00:01.204110", &l[15..])).collect::<String>();
    let rest = "Freezing user space processes completed (elapsed 0.003 seconds)\n\
        PM: suspend of devices complete after 702.331 msecs\n\
        PM: late suspend of devices complete after 9.108 msecs\n\
        PM: noirq suspend of devices complete after 21.770 msecs\n\
        Disabling non-boot CPUs ...\nEnabling non-boot CPUs ...\n\
        PM: noirq resume of devices complete after 30.442 msecs\n\
        PM: early resume of devices complete after 4.004 msecs\n\
        PM: resume of devices complete after 5310.442 msecs\n\
        Restarting tasks ... done.\nPM: suspend exit\n";
    let text = down + &rest.lines().map(|l| line("07:44:10.830101", l)).collect::<String>();
    says("show", &text, &["Resume 5.3", "s asleep"], &["2648", "Resume 26"]);
}

#[test]
fn printing_costs_no_more_than_lies_between_two_callbacks() {
    let call = |from: u32, device: &str, ms: u32| {
        format!(
            "[  {}.{:06}] calling  {device}+ @ 11, parent: elm\n\
             [  {}.{:06}] call {device}+ returned 0 after {} usecs\n",
            from / 1_000_000,
            from % 1_000_000,
            (from + ms * 1_024) / 1_000_000,
            (from + ms * 1_024) % 1_000_000,
            ms * 1_000
        )
    };
    let phase = |at: u32, gap: u32, name: &str| {
        let step = 4 * 1_024 + gap;
        let calls: String = (0..5).map(|n| call(at + n * step, &format!("4-000{n}"), 4)).collect();
        let end = at + 5 * step;
        format!(
            "{calls}[  {}.{:06}] PM: {name} of devices complete after {}.000 msecs\n",
            end / 1_000_000,
            end % 1_000_000,
            (end - at) / 1_000
        )
    };
    let text = sleep(&(phase(101_000_000, 30, "suspend") + &phase(103_000_000, 4_000, "resume")));
    let said = words(&["show", "-"], &text);
    let (_, suspend) = said.split_once("Suspend ").expect("a half");
    let (suspend, _) = suspend.split_once("Kernel ").expect("an end");
    assert!(!suspend.contains("printing"), "{suspend}");
}

#[test]
fn a_unit_that_a_sleep_needs_and_that_failed_is_why_there_was_none() {
    let text = "Jan 04 11:51:53 elm systemd[1]: Starting Elm suspend actions...\n\
        Jan 04 11:51:53 elm systemd[1]: elm-down.service: Main process exited, code=exited, status=1/FAILURE\n\
        Jan 04 11:51:53 elm systemd[1]: elm-down.service: Failed with result 'exit-code'.\n\
        Jan 04 11:51:53 elm systemd[1]: Failed to start Elm suspend actions.\n\
        Jan 04 11:51:53 elm systemd[1]: Dependency failed for System Suspend.\n";
    says(
        "check",
        text,
        &["Broken: elm-down.service failed (status 1/FAILURE)", "no kernel was asked"],
        &[],
    );
    let newer = text.replace("System Suspend", "systemd-suspend.service - System Suspend");
    says("check", &newer, &["Broken: elm-down.service failed"], &[]);
    let other = text.replace("System Suspend", "Network");
    assert!(!super::words::said(&["check", "-"], &other).1.contains("Broken"));
}

#[test]
fn a_program_that_outlives_its_unit_stood_in_the_way() {
    let text = "May 26 15:14:09 elm systemd[1]: systemd-suspend.service: Killing process 104 (elm.sh) with signal SIGKILL.\n\
        May 26 15:14:24 elm systemd[1]: systemd-suspend.service: Failed with result 'exit-code'.\n\
        May 26 15:14:24 elm systemd[1]: systemd-suspend.service: Unit process 104 (elm.sh) remains running after unit stopped.\n";
    says("check", text, &["elm.sh (process 104) stood in its way"], &["systemd killed"]);
}

#[test]
fn a_short_sleep_is_told_beside_what_failed_in_it() {
    let short = "[  101.000000] Suspended for 7.119 seconds\n";
    let failed = "[  101.500000] elm 1-004c: PM: failed to resume: error -110\n";
    for middle in [short.to_string(), format!("{short}{failed}")] {
        says("check", &sleep(&middle), &["The one sleep of the text was over after 7.1 s"], &[]);
    }
    let again = sleep(short).replace("[  10", "[  20");
    says("check", &(sleep(short) + &again), &["The 2 sleeps of the text were over after"], &[]);
}

#[test]
fn locks_of_old_phones_are_counted_in_nanoseconds() {
    let text = "name count expire_count wake_count active_since total_time sleep_time max_time last_change\n\
        \"elm_bus\" 1 0 0 3810788275180 3810788275180 1987984225842 3810788275180 10546225000\n\
        \"elm_test\" 1 0 0 13683194903 13683194903 13683191569 13683194903 3807651245277\n\
        \"elm_test\" 1 0 0 0 29683194903 13683191569 29683194903 4117651245277\n";
    let must = ["elm_bus for 1 h 4 min (92 %)", "Wakeup source elm_bus is active now"];
    says("check", text, &must, &["prevent_suspend_time"]);
}

#[test]
fn the_history_of_a_phone_tells_what_woke_it() {
    let line = |at: &str| {
        format!("  11-24 {at} 096 charge=3568 +running wake_reason=0:\"274 elm_rtc_alarm\"\n")
    };
    let text = line("09:11:37.440") + &line("12:01:38.373");
    says("check", &text, &["274 elm_rtc_alarm (2 times)"], &[]);
}

#[test]
fn a_keeper_that_wrote_both_ways_at_once_slept_before() {
    let line = |day: u32, at: &str, text: &str| format!("2025-09-{day}T{at} elm kernel: {text}\n");
    let text = line(14, "01:10:02.380510+0200", "PM: suspend entry (s2idle)")
        + &line(14, "01:10:02.392500+0200", "Freezing user space processes")
        + &line(
            14,
            "01:10:02.394610+0200",
            "Freezing user space processes completed (elapsed 0.002 seconds)",
        )
        + &line(
            14,
            "01:10:02.396000+0200",
            "printk: Suspending console(s) (use no_console_suspend to debug)",
        )
        + &line(14, "08:40:11.200100+0200", "ACPI: EC: interrupt blocked")
        + &line(14, "08:40:11.200130+0200", "ACPI: EC: interrupt unblocked")
        + &line(14, "08:40:11.610470+0200", "Restarting tasks ... done.")
        + &line(14, "08:40:11.614400+0200", "PM: suspend exit");
    says("show", &text, &["7 h 30 min"], &["Suspend 27008", "27008.820"]);
}
