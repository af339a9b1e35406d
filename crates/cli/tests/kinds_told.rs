//! Kinds of texts by what they tell besides a sleep's own lines: errors of the way up, answers to
//! requests, checks of a report, reports of the kernel of itself. The texts are made up.

use super::kinds::{DOWN, says, sleep};

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
    says("check", cut, &["No rule found a fault. ", "It has no end there"], &["Nothing wrong"]);
    let failed = "[  100.000000] PM: suspend entry (s2idle)\n\
        [  100.300000] elm 0000:0a:00.0: PM: failed to suspend async: error -16\n\
        [  100.300100] PM: Some devices failed to suspend, or early wake event detected\n\
        [  100.400000] PM: suspend exit\n";
    says("check", failed, &["which device takes the time"], &["whether the hardware slept"]);
    let slept = sleep("").replace("(deep)", "(s2idle)");
    says("check", &slept, &["whether the hardware slept"], &[]);
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
