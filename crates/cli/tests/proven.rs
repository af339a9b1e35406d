//! What a text proves besides the fault, and notes that are no all-clear: kinds of texts, as in
//! `kinds.rs`. The texts are made up.

use super::kinds::{says, sleep};

#[test]
fn a_timer_of_a_sleep_names_the_task_and_the_silence_before_it() {
    let text = "[ 5655.287196] PM: Preparing system for mem sleep\n\
        [ 5715.457194] *** Suspend timeout\n\
        [ 5715.457408] kworker/u:6     D c07fbe1c     0 14317      2 0x00000000\n\
        [ 5715.458140] [<c07fbe1c>](__schedule+0x840/0x928) from [<c07fd128>](__mutex_lock_slowpath+0x15c/0x1d0)\n\
        [ 5715.458537] [<c07fd128>](__mutex_lock_slowpath+0x15c/0x1d0) from [<c07fd1f0>](mutex_lock+0x54/0x6c)\n\
        [ 5715.458751] [<c07fd1f0>](mutex_lock+0x54/0x6c) from [<c01721b8>](elm_prepare+0x8/0x20)\n\
        [ 5715.459147] [<c01721b8>](elm_prepare+0x8/0x20) from [<c0172218>](elm_callback+0x28/0x40)\n";
    let must = ["kworker/u:6 (pid 14317) stood", "elm_prepare", "1 min 0 s passed between"];
    says("check", text, &must, &[]);
    let bare = "[ 5715.400000] PM: Preparing system for mem sleep\n\
        [ 5715.457194] *** Suspend timeout\n";
    says("check", bare, &["ended it."], &["passed between", "stood"]);
}

#[test]
fn a_wakeup_that_ended_a_late_phase_is_of_that_phase() {
    let text = |end: &str| {
        sleep(&format!(
            "[  101.000000] PM: Wakeup pending, aborting suspend\n[  101.200000] {end}\n"
        ))
    };
    let noirq = text("PM: noirq suspend of devices failed");
    says("check", &noirq, &["It was in its noirq phase then"], &[]);
    let all = text("PM: Some devices failed to suspend, or early wake event detected");
    says("check", &all, &["A wakeup ended the sleep"], &["phase then"]);
}

#[test]
fn units_that_do_not_freeze_are_counted() {
    let line = |day: u8, pid: u32| {
        format!(
            "Dec {day:02} 00:16:24 elm systemd-sleep[{pid}]: Failed to freeze unit 'user.slice': Connection timed out\n"
        )
    };
    let two = line(1, 31) + &line(2, 47);
    says("check", &two, &["before sleep, 2 times"], &[]);
    says("check", &line(1, 31), &["before sleep."], &["times"]);
    let again = line(1, 31) + "\nThat line again:\n\n" + &line(1, 31);
    says("check", &again, &["before sleep."], &["2 times"]);
}

#[test]
fn a_test_of_a_sleep_has_its_level() {
    let wait = "PM: suspend devices took 0.951 seconds\n\
        PM: suspend debug: Waiting for 5 second(s).\nPM: resume devices took 0.398 seconds\n\
        PM: suspend exit\n";
    let two = format!(
        "I ran two tests:\n\n```\npm_test=devices:\n{wait}```\n\nAnd\n\n```\n\
        # echo platform > /sys/power/pm_test\n{wait}```\n"
    );
    says("check", &two, &["pm_test was on (devices, platform)"], &[]);
    let one = format!("I ran two tests:\n\n```\npm_test=devices:\n{wait}```\n\n```\n{wait}```\n");
    says("check", &one, &["pm_test was on, so"], &["(devices"]);
}

#[test]
fn a_note_of_what_stays_on_or_was_missed_is_no_all_clear() {
    let pending =
        "[   12.000000] oak-gcc 100000.clock-controller: sync_state() pending due to 3d6a000.gmu\n";
    for verb in ["check", "show"] {
        says(
            verb,
            pending,
            &["No rule found a fault. 100000.clock-controller"],
            &["Nothing wrong"],
        );
    }
    let counters = "elm:/sys/devices/system/cpu/cpu0/cpuidle# grep -r . .\n./state3/name:C3\n\
        ./state3/latency:350\n./state3/residency:700\n./state3/usage:300\n./state3/time:900000\n\
        ./state3/above:150\n./state3/below:0\n./state3/rejected:0\n./state3/disable:0\n";
    let said = "C3 is too deep for 150 of its 300 sleeps (50 %)";
    says("check", counters, &["No rule found a fault. ", said], &["Nothing wrong"]);
    says("show", counters, &[said], &[]);
    let fits = counters.replace("above:150", "above:15");
    says("check", &fits, &["No rule found a fault in the values"], &["too deep"]);
}

#[test]
fn a_report_that_has_checks_alone_is_asked_for_its_cycles() {
    let text = "# s2idle report created on 2031-01-02 15:43:44 using amd-s2idle 0.2.20\n\n\
        ## Prerequisite checks\n    \u{2705} SMT enabled\n    \u{2705} PC6 and CC6 enabled\n\
        \u{20}   \u{1f6a6} Kernel is tainted: 12288\n";
    let must = ["No rule found a fault. None of the report's checks failed (2 hold)"];
    says("check", text, &must, &["nothing to analyse"]);
    says(
        "check",
        text,
        &["It warns of \"Kernel is tainted: 12288\"", "It has the results of no cycle"],
        &[],
    );
    let failed = text.to_owned() + "    \u{274c} ASPM policy set to 'elm'\n";
    says("check", &failed, &["Risk: The report says that 1 check failed: \"ASPM policy"], &[]);
    let cycle = text.to_owned()
        + "\u{2705} Userspace suspended for 0:05:00\n\u{2705} In a hardware sleep state for 0:04:50 (96.67%)\n";
    says("check", &cycle, &[], &["It has the results of no cycle"]);
}

#[test]
fn states_that_pay_from_the_same_time_on_are_a_doubt_without_latencies_too() {
    let state = |n: u8, us: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{n}");
        format!("{folder}/name:ELM{n}\n{folder}/residency:{us}\n{folder}/usage:{us}\n")
    };
    let doubt = "ELM1 and ELM2 are said to pay from the same time on";
    says("show", &(state(1, 600) + &state(2, 600)), &[doubt], &[]);
    says("show", &(state(1, 600) + &state(2, 900)), &["ELM2"], &["same time on"]);
}

#[test]
fn a_client_of_a_bus_and_its_node_are_one_device() {
    let sound = "[    9.000000] platform sound: deferred probe pending: wait for supplier /soc/i2c@7a0000/codec@18\n";
    let waits = |name: &str| {
        format!(
            "[   10.000000] i2c {name}: deferred probe pending: wait for supplier /soc/oak-regulator\n"
        )
    };
    let node = "the node /soc/i2c@7a0000/codec@18, which is no device yet";
    says("check", &(sound.to_owned() + &waits("3-0018")), &["/soc/oak-regulator"], &[node]);
    // Of two devices with that address none is meant for certain.
    says("check", &(sound.to_owned() + &waits("3-0018") + &waits("4-0018")), &[node], &[]);
    says("check", &(sound.to_owned() + &waits("3-0019")), &[node], &[]);
}
