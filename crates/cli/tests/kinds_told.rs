//! Kinds of texts by what they tell besides a sleep's own lines: errors of the way up, answers to
//! requests, checks of a report, reports of the kernel of itself. The texts are made up.

use super::kinds::{DOWN, says, sleep};
use super::words::words;

#[test]
fn a_callback_that_fails_on_the_way_up_ends_no_sleep() {
    for (function, words) in [
        ("pci_pm_resume+0x0/0x1", "failed to resume async"),
        ("pci_pm_resume_noirq+0x0/0x1", "failed to resume noirq"),
        ("elm_resume+0x0/0xd0 [elm]", "failed to resume"),
        ("acpi_subsys_resume", "failed to resume async"),
    ] {
        let text = format!(
            "{DOWN}[  101.500000] elm 0000:0a:00.0: PM: dpm_run_callback(): {function} returns -5\n"
        );
        let both = format!("{text}[  101.500020] elm 0000:0a:00.0: PM: {words}: error -5\n");
        for text in [&text, &both] {
            let must = ["0000:0a:00.0 (elm) failed to resume: error -5"];
            says("show", text, &must, &["aborted by", "sleep failed", "in its suspend phase"]);
            says("check", text, &must, &["ended the sleep"]);
        }
    }
    // The same line of the way down ends it.
    let down = format!(
        "{DOWN}[  101.500000] elm 0000:0a:00.0: PM: dpm_run_callback(): pci_pm_suspend+0x0/0x1 returns -5\n"
    );
    says("show", &down, &["aborted by 0000:0a:00.0 (error -5)"], &[]);
}

#[test]
fn a_slow_sync_of_a_kernel_that_does_not_measure_it_is_slow() {
    let behind = "[  130.000300] Freezing user space processes ... (elapsed 0.003 seconds) done.\n\
        [  130.004000] OOM killer disabled.\n\
        [  130.010000] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.\n\
        [  130.220000] PM: suspend of devices complete after 200.000 msecs\n\
        [  130.500000] PM: resume of devices complete after 200.000 msecs\n\
        [  130.510000] Restarting tasks ... done.\n[  130.520000] PM: suspend exit\n";
    let entry =
        "[  100.000000] PM: suspend entry (deep)\n[  100.000100] PM: Syncing filesystems ... ";
    let split = format!("{entry}\n[  130.000100] done.\n{behind}");
    let must = "Slow: Writing dirty data took 30.0 s before the sleep";
    says("check", &split, &[must, "line 3 at 130.000100 s"], &["Nothing wrong"]);
    let whole = format!("{entry}done.\n{behind}");
    says(
        "check",
        &whole,
        &[must, "what drivers prepared in it is counted too"],
        &["Nothing wrong"],
    );
    let quick = whole.replace("[  100.0", "[  129.9");
    says("check", &quick, &["Nothing wrong"], &["Slow"]);
    // Who is frozen before he reads the end tells nothing of it.
    let kept = "Mar 04 08:00:00 elm kernel: PM: suspend entry (deep)\n\
        Mar 04 08:00:00 elm kernel: PM: Syncing filesystems ... \n\
        Mar 04 08:03:00 elm kernel: PM: done.\n\
        Mar 04 08:03:00 elm kernel: Freezing user space processes ... (elapsed 0.003 seconds) done.\n\
        Mar 04 08:03:00 elm kernel: OOM killer disabled.\n";
    says("check", kept, &[], &["Slow"]);
    says("show", kept, &["freeze_user"], &["sync"]);
}

#[test]
fn checks_of_a_report_count_by_their_marks_wherever_it_is_cut() {
    let head = "\u{1f4bb} Oak Elm 5 (family 25 model 116)\n\u{1f427} Kernel 6.12.1\n\
        \u{2705} ASPM policy set to 'default'\n";
    let failed = format!("{head}\u{274c} Elm driver oak not loaded\n\u{2705} SMT enabled\n");
    let must = ["Risk: The report says that 1 check failed: \"Elm driver oak not loaded\""];
    says("check", &failed, &must, &["No rule found a fault"]);
    says("show", &failed, &must, &["nothing to analyse"]);
    let held = format!(
        "{head}\u{2705} LPS0 _DSM enabled\n\u{1f5e3} Suspend cycle 1: Started at 2031-01-04 08:41:34\n\
         \u{1f5e3} Results from last s2idle cycle\n"
    );
    says("check", &held, &["None of the report's checks failed (2 hold)", "is not told"], &[]);
    let other = "My list:\n\u{2705} sound works\n\u{274c} the fan is loud\n";
    says("check", other, &["no kernel message"], &["check failed"]);
}

#[test]
fn answers_to_requests_are_told_each_with_its_reason() {
    let via = |why: &str| format!("Failed to suspend system via logind: {why}\n");
    let masked = via("Unit systemd-logind.service is masked.");
    let verb = via("Sleep verb \"suspend\" not supported");
    let must = [
        "systemctl could not reach logind to put the machine to sleep: \"Unit systemd-logind",
        "Later in the text logind refused to put the machine to sleep: \"Sleep verb",
        "this kernel offers no suspend",
    ];
    let both = format!("First:\n{masked}After that:\n{verb}");
    says("check", &both, &must, &["2 times"]);
    says("check", &verb, &["/sys/power/state"], &["/proc/swaps"]);
    let twice = via("Access denied").repeat(2);
    says("check", &twice, &["2 times: \"Access denied\""], &["Later"]);
    let verbs = "Call to Suspend failed: Access denied\nCall to Hibernate failed: Access denied\n";
    says(
        "check",
        verbs,
        &["to put the machine to sleep: ", "to hibernate the machine: "],
        &["2 times"],
    );
}

#[test]
fn a_finding_of_another_sort_hides_no_machine_that_dies() {
    let said =
        "My elm reboots instead of waking up from suspend, black screen, hard reset needed.\n\n";
    let trouble = "trouble that no finding explains";
    for shown in [
        "[  10.000000] PM: suspend debug: Waiting for 5 second(s).\n",
        "[  96.844864] PM: Device alarmtimer failed to suspend: error -16\n",
        "/sys/power/mem_sleep: [s2idle] deep\n",
        "[  100.000000] PM: suspend entry (deep)\n\
         [  100.010000] PM: Wakeup pending, aborting suspend\n[  100.020000] PM: suspend exit\n",
    ] {
        says("check", &format!("{said}{shown}"), &[trouble], &[]);
        says("check", &format!("This is my elm after a day.\n\n{shown}"), &[], &[trouble]);
    }
    // Words alone are nothing to judge.
    says("check", said, &["nothing to analyse"], &[trouble]);
    let image = "[    2.000000] PM: hibernation: Image not found (code -22)\n";
    says("check", &format!("{said}{image}"), &["looked for an image"], &[trouble]);
    // What kills a machine explains it.
    let crash = sleep(
        "[  101.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n\
         [  101.000010] RIP: 0010:elm_read+0xdf/0xf0 [elm]\n",
    );
    says("check", &format!("{said}{crash}"), &["crashed"], &[trouble]);
}

#[test]
fn no_figure_comes_from_the_dress_of_a_log() {
    let text = "[Feb02 09:15] elm i2c-ELM1234:00: resume error\n\
        [  +0.000020] PM: dpm_run_callback(): elm_resume+0x0/0xd0 [elm] returns -19\n\
        [  +0.000007] PM: Device i2c-ELM1234:00 failed to resume: error -19\n";
    says("check", text, &["line 3: PM: Device i2c-ELM1234:00"], &["at 1.0000"]);
    let cut = "May 01 08:00:00 elm kernel: PM: hibernation: hibernation entry\n\
        May 01 11:03:00 elm kernel: Filesystems sync: 0.105 seconds\n\
        May 01 11:03:00 elm kernel: Freezing user space processes ... (elapsed 0.003 seconds) done.\n";
    says(
        "check",
        cut,
        &["No rule found a fault. ", "It has no end in the text"],
        &["Nothing wrong"],
    );
    let failed = "[  100.000000] PM: suspend entry (s2idle)\n\
        [  100.300000] elm 0000:0a:00.0: PM: failed to suspend async: error -16\n\
        [  100.300100] PM: Some devices failed to suspend, or early wake event detected\n\
        [  100.400000] PM: suspend exit\n";
    says("check", failed, &["which device takes the time"], &["whether the hardware slept"]);
    let slept = sleep("").replace("(deep)", "(s2idle)");
    says("check", &slept, &["whether the hardware slept"], &[]);
}

#[test]
fn a_report_of_the_kernel_is_of_a_sleep_by_its_task_or_its_functions() {
    let stuck = "Jun 01 10:00:00 elm kernel: watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [rtcwake:4711]\n\
        Jun 01 10:00:28 elm kernel: watchdog: BUG: soft lockup - CPU#2 stuck for 48s! [rtcwake:4711]\n";
    let must = ["A CPU was stuck 2 times in a sleep that was asked for", "48s!"];
    says("check", stuck, &must, &[]);
    let other = stuck.replace("rtcwake", "elm");
    let silent = ["nothing to analyse", "a CPU was stuck in line 1"];
    says("check", &other, &silent, &["put to sleep"]);
    let rcu = "[  500.000000] rcu: INFO: rcu_preempt self-detected stall on CPU\n\
        [  500.000020] CPU: 1 PID: 777 Comm: rtcwake Not tainted 6.8.0\n\
        [  500.000030] RIP: 0010:acpi_os_read_port+0x20/0x60\n";
    says("check", rcu, &["on the way down or up, no line shows), in acpi_os_read_port"], &[]);
    let xen = "[  256.000000] INFO: task xenwatch:116 blocked for more than 40 seconds.\n\
        [  256.000020] task:xenwatch state:D stack:0 pid:116 ppid:2\n\
        [  256.000040]  async_synchronize_cookie_domain+0xa9/0x160\n";
    says("check", xen, &["xenwatch (pid 116) had waited", "no line shows"], &["put to sleep"]);
    let core = format!("{xen}[  256.000060]  dpm_resume_start+0x10/0x20\n");
    says("check", &core, &["while devices resumed"], &[]);
    let warning = "[  400.000000] WARNING: CPU: 3 PID: 900 at drivers/elm/oak.c:77 oak_suspend+0x30/0x90 [oak]\n\
        [  400.000010] Call Trace:\n";
    let run = format!("{warning}[  400.000020]  dpm_run_callback+0x5a/0x150\n");
    says("check", &run, &["warned while devices suspended, in oak_suspend (oak)"], &[]);
    says("check", warning, &["the kernel warned of itself in line 1"], &["while devices"]);
}

#[test]
fn names_of_callbacks_tell_of_a_sleep_and_runtime_power_of_none() {
    let dump = |kind: &str, frames: &[&str]| {
        let frames = frames.iter().map(|f| format!("[  351.400020]  {f}\n")).collect::<String>();
        format!(
            "[  351.400000] {kind}\n[  351.400010] RIP: 0010:elm_read8+0xdf/0xf0 [elm]\n{frames}"
        )
    };
    let warned = "WARNING: CPU: 4 PID: 2059 at /home/x/elm/pci.c:1454 elm_read8+0xdf/0xf0 [elm]";
    let (up, down) = ("elm_pci_resume+0x14b/0x1d0 [elm]", "elm_pci_suspend+0x14b/0x1d0 [elm]");
    let runtime = "pci_pm_runtime_resume+0xa0/0x100";
    let name = "(by the name of a function)";
    says("check", &dump(warned, &[down]), &["while a device suspended", name], &[]);
    says("check", &dump(warned, &[up]), &["while a device resumed", name], &[]);
    says("check", &dump(warned, &[up, runtime]), &["nothing to analyse"], &[name]);
    says("check", &dump(warned, &["elm_queue_resume+0x1/0x2 [elm]"]), &["nothing"], &[name]);
    let oops = "BUG: kernel NULL pointer dereference, address: 0000000000000010";
    let crash = dump(oops, &[up, runtime]);
    says("check", &crash, &["as a callback of runtime power management"], &["while a device"]);
    // A device that is lost right before was lost in that resume.
    let lost = "[  349.400000] elm 0000:0a:00.0: can't change power state from D3hot to D0 (config space inaccessible)\n";
    let with = format!("{lost}{}", dump(warned, &[up]));
    says("check", &with, &["could not be brought back from D3hot"], &["The text shows no sleep"]);
    says("check", lost, &["The text shows no sleep"], &[]);
}

#[test]
fn a_device_is_one_before_and_behind_the_binding_of_its_driver() {
    let lost = |owner: &str, from: &str| {
        format!(
            "[  104.400000] {owner} 0000:0a:00.0: Unable to change power state from {from} to D0, device inaccessible\n"
        )
    };
    let text = sleep(&(lost("pci", "unknown") + &lost("elm", "D3hot")));
    let must = ["Broken: 0000:0a:00.0 (elm) could not be brought back from D3hot: it"];
    says("check", &text, &must, &["(pci)", "back from unknown"]);
}

#[test]
fn a_warning_that_names_nothing_is_told_with_the_line_before_it() {
    let text = "[  139.390000] Suspending console(s) (use no_console_suspend to debug)\n\
        [  139.400000] elm_lcd suspend\n\
        [  139.400000] BUG: scheduling while atomic: sh/784/0x00000002\n";
    let must =
        ["The line before it says: \"elm_lcd suspend\"", "code which must not wait did wait"];
    says("check", text, &must, &["two marks", "The sleep goes on"]);
}

#[test]
fn how_a_start_goes_on_whose_image_was_refused_is_known() {
    let text = "[    2.000000] PM: Image mismatch: architecture specific data\n\
        [    2.000100] PM: Error -1 resuming\n\
        [    2.000200] PM: Failed to load hibernation image, recovering.\n";
    says("check", text, &["Broken: "], &["no rule knows"]);
}

#[test]
fn tasks_that_are_frozen_for_a_module_are_of_no_attempt() {
    let line = "[ 5000.000000] Freezing of tasks failed after 20.010 seconds (1 tasks refusing to freeze, wq_busy=0):\n";
    let module = format!("When I rmmod oak I get\n{line}");
    let shows = ["1 task did not freeze in 20.0 s", "The text shows no sleep"];
    says("check", &module, &shows, &["attempt to sleep"]);
    says("show", &module, &shows[..1], &["sleep failed"]);
    let sleeps = format!("When I suspend after rmmod oak I get\n{line}");
    says("check", &sleeps, &["1 attempt to sleep"], &["The text shows no sleep"]);
    says("check", line, &["1 attempt to sleep"], &["The text shows no sleep"]);
}

#[test]
fn a_time_that_ran_out_before_a_cut_is_told() {
    let late = "[  108.800000] elm_hub serial1-0: backlight off failed: -110\n";
    let must =
        ["Slow: 8.8 s pass without a word", "serial1-0 (elm_hub) says that its time ran out"];
    says("check", &format!("{DOWN}[  100.020000] oak: off\n{late}"), &must, &["not-judged"]);
    // Another error is no time-out, and behind the last device a sleep may lie.
    let other = late.replace("-110", "-19");
    says("check", &format!("{DOWN}{other}"), &[], &["pass without a word"]);
    let slept = "[  100.400000] PM: noirq suspend of devices complete after 2.000 msecs\n";
    says("check", &format!("{DOWN}{slept}{late}"), &[], &["pass without a word"]);
}

#[test]
fn a_sleep_that_was_over_at_once_is_no_comfort() {
    for (long, told) in [("0.412", "A sleep was over after 412 ms"), ("4.200", "over after 4.2 s")]
    {
        let text = sleep(&format!("[  101.000000] Timekeeping suspended for {long} seconds\n"));
        says("check", &text, &[told], &["Nothing wrong", "No rule found"]);
    }
    let night = sleep("[  101.000000] Timekeeping suspended for 7300.000 seconds\n");
    says("check", &night, &["Nothing wrong found. The sleep"], &[]);
}

#[test]
fn a_method_of_the_firmware_that_was_aborted_is_no_all_clear() {
    let aborted = "ACPI Error: Aborting method \\_PTS due to previous error (AE_NOT_FOUND) (20210730/psparse-529)";
    let text = sleep(&format!("[  101.000000] {aborted}\n"));
    let must = ["No rule found a fault. The firmware's method _PTS, which prepares the sleep"];
    says("check", &text, &must, &["Nothing wrong"]);
}

#[test]
fn a_writer_who_counts_seconds_or_gives_his_cure_leaves_no_trouble_open() {
    let counts = "`sleep 30` took 95 seconds by the clock, so it was suspended for 65 of them.";
    says("check", &format!("{counts}\n\n{DOWN}[  165.000000] PM: suspend exit\n"), &[], &[counts]);
    let slow = "Waking up takes 40 seconds on my laptop.";
    says("check", &format!("{slow}\n\n{}", sleep("")), &["tells of trouble", slow], &[]);
    let table = |state: &str| {
        format!(
            "$ head -n 2 /proc/acpi/wakeup\nDevice S-state Status Sysfs node\nELM1 S3 *{state} pci:0000:00:14.0\n\n"
        )
    };
    let cure = |words: &str| {
        format!(
            "# my laptop wakes from suspend at once\n\n{words}\n\n{}$ echo ELM1 > /proc/acpi/wakeup\n\n{}",
            table("enabled"),
            table("disabled")
        )
    };
    let told = "woke the machine, by what the writer tried: \"This solves it for me\"";
    says("check", &cure("This solves it for me:"), &[told], &["no finding explains"]);
    says("check", &cure("This does not fix it:"), &[], &["woke the machine, by what"]);
}

#[test]
fn show_says_first_that_the_machine_did_not_come_back() {
    let log = "It never comes back from sleep: the screen is dead, I have to power it off.\n\n\
        PM: Syncing filesystems ... done.\n\
        Freezing user space processes ... (elapsed 0.007 seconds) done.\n\
        PM: suspend of devices complete after 77.228 msecs\n\
        PM: noirq suspend of devices complete after 0.707 msecs\n\
        Disabling non-boot CPUs ...\n\
        CPU3: shutdown\n";
    let said = words(&["show", "-"], log);
    assert!(said.starts_with("Risk: The log ends in the sleep of line 3"), "{said}");
    let back =
        format!("{log}PM: resume of devices complete after 77.000 msecs\nPM: suspend exit\n");
    let said = words(&["show", "-"], &back);
    assert!(!said.contains("The log ends in the sleep"), "{said}");
}

#[test]
fn a_refusal_is_told_with_the_words_of_the_log_and_beside_what_the_kernel_ended() {
    let refused = "$ systemctl hibernate\n\
        Failed to hibernate system via logind: Resume not configured, can't hibernate\n\
        systemd-logind[77]: Cannot read boot configuration from ESP, assuming hibernation is not possible.\n";
    says("check", refused, &["The log of logind says: \"Cannot read boot"], &[]);
    let both = "It says `Failed to hibernate system via logind: Not enough swap space for hibernation`, or \
        comes back with `systemd-sleep[7]: Failed to suspend system. System resumed again: No space left on device`\n";
    says(
        "check",
        both,
        &["Hibernation was refused before", "the kernel tried it and ended it"],
        &[],
    );
}
