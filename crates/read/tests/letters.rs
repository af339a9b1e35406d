//! What the words of a person around a log change.

use crate::pieces::cycles;
use dormouse_doctor::finding::Level;
use dormouse_doctor::{Report, judge};
use dormouse_read::doctor::read_bytes as heard;

fn judged(text: &str) -> Report {
    judge(&heard("letter", text.as_bytes()).case)
}

fn said(text: &str) -> Vec<(&'static str, String)> {
    judged(text).findings.into_iter().map(|f| (f.id, f.sentence)).collect()
}

/// A sleep without a fault.
const GOOD: &str = "[  100.000000] PM: suspend entry (s2idle)\n\
    [  100.010000] Filesystems sync: 0.008 seconds\n\
    [  130.000000] PM: suspend exit\n";

#[test]
fn who_complains_in_another_tongue_is_no_proof_of_health() {
    let doubts =
        |words: &str| said(&format!("{words}\n\n{GOOD}")).iter().any(|f| f.0 == "no-all-clear");
    for words in [
        "# Suspend not working on my laptop",
        "Mein Laptop verliert über Nacht 30 % und ich weiß nicht warum.",
        "Mon portable se réveille tout seul après la mise en veille.",
        "El portátil no se suspende bien y la batería se agota.",
        "合上笔记本屏幕以后过几秒种就立即启动起来了",
    ] {
        assert!(doubts(words), "{words}");
    }
    for words in [
        "# Notes on how my laptop sleeps",
        "Mein Laptop schläft gut und ist nach dem Aufwachen sofort da.",
        "Here is the log of a good night, for the record.",
    ] {
        assert!(!doubts(words), "{words}");
    }
}

#[test]
fn what_is_slow_explains_no_failure() {
    let log = "[  100.000000] PM: suspend entry (deep)\n\
        [  101.000000] ACPI: PM: Low-level resume complete\n\
        [  108.300000] PM: resume devices took 7.214 seconds\n\
        [  108.400000] PM: suspend exit\n";
    let doubts = |words: &str| {
        let report = judged(&format!("{words}\n\n{log}"));
        let slow = report.findings.first().is_some_and(|f| f.level == Level::Slow);
        assert!(slow, "it stays first: {:?}", report.findings);
        report.findings.iter().any(|f| f.id == "no-all-clear")
    };
    assert!(doubts("Resume fails on both of my laptops."));
    assert!(!doubts("Resume takes 40 seconds on both of my laptops."));
}

#[test]
fn a_program_that_could_not_sleep_quotes_what_the_kernel_said_before() {
    let text = "Nov 02 03:12:46 elm systemd-sleep[20112]: Performing sleep operation 'hibernate'...\n\
        Nov 02 03:12:46 elm kernel: Lockdown: systemd-sleep: hibernation is restricted; see man kernel_lockdown.7\n\
        Nov 02 03:12:46 elm systemd-sleep[20112]: Failed to put system to sleep. System resumed again: Operation not permitted\n";
    let told = said(text);
    let refused = told.iter().find(|f| f.0 == "hib-locked").expect("a refusal");
    assert!(refused.1.contains("lets nobody hibernate"), "{refused:?}");
    let alone: String =
        text.lines().filter(|l| !l.contains("Lockdown")).map(|l| format!("{l}\n")).collect();
    let told = said(&alone);
    let refused = told.iter().find(|f| f.0 == "write-refused").expect("a refusal");
    assert!(refused.1.contains("has no line of the kernel that says more"), "{refused:?}");
}

#[test]
fn a_lock_that_refused_a_sleep_is_named_with_its_owner() {
    let text = "may 14 20:31:07 elm systemd-logind[891]: Lid closed.\n\
        may 14 20:31:07 elm systemd-logind[891]: Refusing operation, as it is inhibited.\n\n\
        WHO            UID  USER PID  COMM           WHAT                         WHY                 MODE\n\
        ModemManager   0    root 1012 ModemManager   sleep                        reset devices       delay\n\
        oak player     1000 ana  5521 oak            sleep:handle-lid-switch      Playing some media. block\n";
    let told = said(text);
    let lock = told.iter().find(|f| f.0 == "way-locked").expect("a lock");
    let whole =
        "oak player (PID 5521) blocks sleep:handle-lid-switch, because: \"Playing some media.\"";
    assert!(lock.1.contains(whole), "{lock:?}");
    // The refusal may name who holds it; one of anything else is none of sleep.
    let refusal = |what: &str| {
        format!(
            "Mar 04 07:00:01 elm systemd-logind[800]: Refusing {what} operation, {what} is inhibited by UID 1000/ada, PID 2100/oak.\n"
        )
    };
    let told = said(&refusal("suspend"));
    let lock = told.iter().find(|f| f.0 == "way-locked").expect("a lock");
    assert!(lock.1.contains("oak (PID 2100) holds it"), "{lock:?}");
    assert!(said(&refusal("poweroff")).iter().all(|f| f.0 != "way-locked"));
    // A desktop that handles the lid holds that lock all the time.
    let desktop =
        "elm    1000 ana  5521 gsd-power  handle-lid-switch  External monitor attached block\n";
    assert!(said(desktop).iter().all(|f| f.0 != "way-locked"));
}

#[test]
fn an_image_that_no_start_found_is_told() {
    let lines = "PM: Image not found (code -22)\nPM: Image not found (code -16)\n";
    let told = said(&format!("After hibernation the instance boots cold:\n\n{lines}"));
    let f = told.iter().find(|f| f.0 == "hib-none-found").expect("a start");
    assert!(f.1.contains("-22 (EINVAL") && f.1.contains("-16 (EBUSY"), "{f:?}");
    // The kernel's own log needs no writer.
    let log =
        said("[    2.800000] PM: Image not found (code -22)\n[    3.100000] elm 1-4: found\n");
    assert!(log.iter().any(|f| f.0 == "hib-none-found"));
}

#[test]
fn a_denial_in_other_words_lowers_what_is_quoted() {
    let text = |words: &str| {
        format!(
            "> [81200.100] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n\
             > [81200.202] nvme nvme0: Removing after probe failure status: -19\n\n{words}\n\n{GOOD}"
        )
    };
    let first = |words: &str| judged(&text(words)).findings[0].confidence;
    use dormouse_doctor::finding::Confidence::Guess;
    assert_eq!(first("I can't confirm, same drive here, never seen that."), Guess);
    assert_ne!(first("The log of the drive is above."), Guess);
}

#[test]
fn the_clock_of_a_restored_kernel_is_no_time_of_resume() {
    let log = |later: &str| {
        format!(
            "[    2.310911] PM: Image signature found, resuming\n\
             [    2.320140] Freezing user space processes completed (elapsed 0.000 seconds)\n\
             [    2.320210] PM: Loading and decompressing image data (794120 pages)...\n\
             [    4.410240] PM: Image loading done\n\
             [    4.410244] PM: hibernation: Read 3176480 kbytes in 2.08 seconds (1527.15 MB/s)\n\
             [ {later}.102000] Restarting tasks ... done.\n\
             [ {later}.103100] PM: hibernation: hibernation exit\n"
        )
    };
    let longest = |later: &str| {
        let list = cycles(&log(later));
        let spans = list.iter().flat_map(|c| [c.end - c.start]);
        spans.map(|t| t.0 / 1_000_000_000).max()
    };
    assert_eq!(longest("9120"), longest("   4"), "hours of a clock that went on");
}

#[test]
fn the_way_of_a_sleep_is_of_one_machine_and_one_clock() {
    let way = |lines: &[(&str, &str)]| {
        let line = |l: &(&str, &str)| format!("Mar 04 07:{}\n", [l.0, l.1].join(" "));
        judged(&lines.iter().map(line).collect::<String>()).ways
    };
    let entry = ("00:01.000000", "elm kernel: PM: suspend entry (s2idle)");
    let exit = ("01:41.000000", "elm kernel: PM: suspend exit");
    let lease = |at: &'static str, host: &str| {
        (at, format!("{host} NetworkManager[9]: <info> dhcp4 (wlp2s0): state changed new lease"))
    };
    let (at, text) = lease("01:42.000000", "elm");
    let good = way(&[entry, exit, (at, &text)]);
    assert_eq!(good[0].rows.len(), 2, "{good:?}");
    let (at, text) = lease("01:42.000000", "oak");
    assert!(way(&[entry, exit, (at, &text)]).is_empty(), "another machine's address");
    let (at, text) = lease("02:13.000000", "elm");
    let set = ("02:12.000000", "elm chronyd[7]: System clock was stepped by 30.000000 seconds");
    assert!(way(&[entry, exit, set, (at, &text)]).is_empty(), "a clock that was set");
    let failed = (
        "00:21.000000",
        "elm kernel: Freezing user space processes failed after 20.006 seconds (1 tasks refusing to freeze, wq_busy=0):",
    );
    let (at, text) = lease("01:42.000000", "elm");
    assert!(way(&[entry, failed, exit, (at, &text)]).is_empty(), "a sleep that failed");
    let lo = (
        "01:41.500000",
        "elm NetworkManager[9]: <info> device (lo): Activation: successful, device activated.",
    );
    let (at, text) = lease("02:20.000000", "elm");
    let late = way(&[entry, exit, lo, (at, &text)]);
    assert_eq!(late[0].rows[1].took_ns.0, 39_000_000_000, "a virtual link is no network");
}

/// A sleep that a device refused, quoted as a reply quotes it or not.
fn refused(quote: &str) -> String {
    "[  200.000000] PM: suspend entry (s2idle)\n\
     [  200.100000] elmuart elm-uart.2: PM: failed to suspend: error -16\n\
     [  200.200000] PM: Some devices failed to suspend, or early wake event detected\n\
     [  200.900000] PM: suspend exit\n"
        .lines()
        .map(|l| format!("{quote}{l}\n"))
        .collect()
}

#[test]
fn who_answers_that_it_works_with_a_change_is_heard_beside_what_he_quotes() {
    let quoted = refused("> ");
    let of = |words: &str| {
        let text = format!("On Tue, Ada wrote:\n> It fails:\n>\n{quoted}\n{words}\n");
        judged(&text).findings.into_iter().find(|f| f.id == "device-failed").expect("a failure")
    };
    let answered = of("With v3 applied it suspends and resumes here, 20 cycles out of 20.");
    assert_eq!(answered.level, Level::Risk);
    assert!(answered.sentence.contains("who answers says \"With v3 applied"), "{answered:?}");
    let open = of("With v3 applied it still fails to suspend.");
    assert_eq!(open.level, Level::Broken);
    assert!(!open.sentence.contains("who answers says"), "{open:?}");
}

#[test]
fn a_patch_with_the_change_that_it_mends_is_one_without_a_signature() {
    let text = format!(
        "mmc: Wait for the queue\n\nSuspend fails now and then:\n\n{}\nWith this change 500 \
         suspends passed on a board.\n\nFixes: 0123456789ab (\"mmc: Add suspend\")\n",
        refused("  ")
    );
    let failed = said(&text).into_iter().find(|f| f.0 == "device-failed").expect("a failure");
    assert!(failed.1.contains("The text is a patch"), "{failed:?}");
    assert!(failed.1.contains("says: \"With this change 500 suspends passed"), "{failed:?}");
    let shown = format!(
        "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Ada <ada@example.org>\n\n    \
         mmc: Wait\n\n    Suspend fails:\n\n{}",
        refused("      ")
    );
    let failed = said(&shown).into_iter().find(|f| f.0 == "device-failed").expect("a failure");
    assert!(failed.1.contains("The text is a patch"), "{failed:?}");
    let still = text.replace("With this change", "It still fails now and then. With this change");
    let failed = said(&still).into_iter().find(|f| f.0 == "device-failed").expect("a failure");
    assert!(!failed.1.contains("without it"), "what is left with it: {failed:?}");
}

#[test]
fn alarms_that_refuse_every_sleep_are_no_note() {
    let alarm = |at: u64| {
        format!(
            "[  {at}.000000] PM: suspend entry (deep)\n\
             [  {at}.100000] PM: Device alarmtimer failed to suspend: error -16\n\
             [  {at}.200000] PM: Some devices failed to suspend, or early wake event detected\n\
             [  {at}.300000] PM: suspend exit\n"
        )
    };
    let told = |text: &str| {
        let all = judged(text).findings;
        all.into_iter().find(|f| f.id == "clock-alarm-abort").expect("an alarm")
    };
    let never = told(&[alarm(100), alarm(101)].concat());
    assert_eq!(never.level, Level::Risk);
    assert!(never.sentence.starts_with("None of the 2 attempts"), "{never:?}");
    let once = told(&[&alarm(100)[..], GOOD].concat());
    assert_eq!(once.level, Level::Note, "it slept the next time");
}

#[test]
fn a_unit_whose_time_was_over_in_a_wake_up_is_named() {
    let night = "maj 11 08:02:15 elm kernel: PM: suspend exit\n\
        maj 11 08:02:15 elm systemd-sleep[99]: System returned from sleep operation 'suspend'.\n\
        maj 11 08:02:16 elm systemd[1]: Starting oak-restore.service - Restore what sleeps...\n\
        maj 11 08:02:19 elm NetworkManager[81]: <info>  state is now CONNECTED_GLOBAL\n\
        maj 11 08:03:46 elm systemd[1]: oak-restore.service: start operation timed out. Terminating.\n\
        maj 11 08:03:46 elm systemd[1]: oak-restore.service: Failed with result 'timeout'.\n";
    let told = said(night);
    let unit = told.iter().find(|f| f.0 == "way-unit-timeout").expect("a unit");
    assert!(unit.1.contains("oak-restore.service") && unit.1.contains("1 min 30 s"), "{unit:?}");
    let fine = night.replace("start operation timed out. Terminating", "Deactivated successfully");
    let fine = fine.replace("Failed with result 'timeout'", "Consumed 8ms CPU time");
    assert!(said(&fine).iter().all(|f| f.0 != "way-unit-timeout"));
    let failed = night.replace("08:03:46", "08:02:20").replace("'timeout'", "'exit-code'");
    let failed = failed.replace("start operation timed out. Terminating", "Main process exited");
    let told = said(&failed);
    let unit = told.iter().find(|f| f.0 == "way-unit-failed").expect("a unit");
    assert!(unit.1.contains("oak-restore.service failed 5.0 s"), "{unit:?}");
    // One that was started long after the wake-up is of something else.
    let late = night.replace("08:02:16", "08:42:16").replace("08:03:46", "08:43:46");
    assert!(said(&late).iter().all(|f| f.0 != "way-unit-timeout"));
}

#[test]
fn who_says_that_one_thing_works_does_not_close_the_report() {
    let over = |words: &str| {
        judged(&format!("{}\n{words}\n", refused(""))).findings.iter().any(|f| f.over)
    };
    assert!(over("Incredible, without that suspend works. Thanks!"));
    for open in [
        "Suspend works, thanks to Ada's hint, resume hangs.",
        "Hibernate works, thanks!",
        "Thanks for any help!",
        "Suspend works. Resume does not. Thanks!",
        "Before the update suspend works. Thanks!",
        "I thought it was fixed on main. It is not.",
    ] {
        assert!(!over(open), "{open}");
    }
}

#[test]
fn a_boot_ends_the_way_of_a_sleep() {
    let two = |boot: &str| {
        format!(
            "Mar 03 09:00:00 elm systemd-sleep[9]: Performing sleep operation 'suspend'...\n\
             Mar 03 09:00:01 elm kernel: PM: suspend entry (s2idle)\n{boot}\
             Mar 03 09:04:01 elm kernel: PM: suspend exit\n\
             Mar 03 09:04:02 elm systemd[1]: Finished systemd-suspend.service.\n"
        )
    };
    let back = |text: &str| judged(text).ways.iter().any(|w| w.rows.len() > 2);
    assert!(back(&two("")));
    for boot in [
        "-- Boot 0123456789abcdef0123456789abcdef --\n",
        "Mar 03 09:04:00 elm kernel: Linux version 9.9.9 (a@b)\n",
    ] {
        assert!(!back(&two(boot)), "{boot}");
    }
}

#[test]
fn two_measurements_may_stand_in_sentences() {
    let text = "Hibernating is slow in the allocation.\n\n\
        Before: `PM: hibernation: Allocated 900000 kbytes in 30.00 seconds (30.00 MB/s)` - as is.\n\n\
        After: `PM: hibernation: Allocated 900000 kbytes in 15.00 seconds (60.00 MB/s)` - with a hook.\n";
    let told = said(text);
    let both = told.iter().find(|f| f.0 == "two-measurements").expect("two measurements");
    assert!(both.1.contains("30000.00 -> 15000.00 ms (-50 %)"), "{both:?}");
    assert_eq!(told[0].0, "two-measurements", "neither of them is the state: {told:?}");
}

#[test]
fn a_table_of_cycles_has_their_begins_and_what_the_battery_gave() {
    let text = "Summary\n\
        │ Start Time          │ Duration   │ Hardware Sleep   │ Battery Start   │ Battery Ave Rate   │\n\
        │ 2031-03-04 23:41:34 │ 0:00:14    │ 93.00%           │ 62.11%          │ 5.10W              │\n\
        │ 2031-03-04 23:42:10 │ 0:00:20    │ 92.00%           │ 62.06%          │ 4.70W              │\n";
    let told = said(text);
    let depth = told.iter().find(|f| f.0 == "mode-hardware").expect("a depth");
    assert!(depth.1.contains("13.0 s of 14.0 s (93.00 %); 18.4 s of 20.0 s"), "{depth:?}");
    let cost = told.iter().find(|f| f.0 == "night-cost").expect("a cost");
    assert!(cost.1.contains("5.10 W in 14.0 s; 4.70 W in 20.0 s"), "{cost:?}");
}

#[test]
fn a_boot_loader_on_a_console_without_stamps_says_why_it_was_reset() {
    let text = "With `echo mem` the board goes down and never comes back:\n\n\
        root@elm:~# echo mem > /sys/power/state\n\
        PM: Syncing filesystems ... done.\n\
        Freezing user space processes ... (elapsed 0.001 seconds) done.\n\
        PM: suspend of devices complete after 49.228 msecs\n\
        Disabling non-boot CPUs ...\n\
        CPU1: shutdown\n\n\n\
        U-Boot SPL 2099.01 (Jan 03 2099 - 11:02:14)\n\
        Reset cause: WDOG\n";
    let told = said(text);
    let reset = told.iter().find(|f| f.0 == "no-return").expect("a reset");
    assert!(reset.1.contains("a boot loader speaks next"), "{reset:?}");
    assert!(reset.1.contains("the cause of its reset: WDOG"), "{reset:?}");
}

#[test]
fn a_clock_that_goes_on_in_s2idle_tells_how_long_it_slept() {
    let text = "[  100.000000] PM: suspend entry (s2idle)\n\
        [  100.500000] ACPI: EC: interrupt blocked\n\
        [ 4000.000000] ACPI: EC: interrupt unblocked\n\
        [ 4000.400000] PM: suspend exit\n\n\
        $ cat /sys/power/suspend_stats/last_hw_sleep\n3890000000\n";
    let told = said(text);
    let depth = told.iter().find(|f| f.0 == "mode-hardware").expect("a depth");
    assert!(depth.1.contains("1 h 5 min of 1 h 5 min"), "{depth:?}");
}

#[test]
fn a_device_is_named_by_the_kernel_and_by_no_title() {
    let line = "[   61.400000] elm_ts 3-004b: Runtime PM usage count underflow!\n";
    let told = |text: &str| -> Vec<String> {
        said(text).into_iter().filter(|f| f.0 == "rpm-underflow").map(|f| f.1).collect()
    };
    for words in [
        "",
        "# elm: \"Runtime PM usage count underflow!\" since the update\n\n",
        "Who else sees \"Runtime PM usage count underflow!\" here? Mine:\n",
        "I get this: Runtime PM usage count underflow!\n\n",
    ] {
        let told = told(&format!("{words}{line}"));
        assert_eq!(told.len(), 1, "{words}: {told:?}");
        assert!(told[0].starts_with("3-004b was put more often"), "{words}: {told:?}");
        assert!(!told[0].contains("its driver calls"), "{told:?}");
    }
    let other = line.replace("3-004b", "3-004c");
    assert_eq!(told(&format!("{line}{other}{line}")).len(), 2);
    // A person may leave the stamp out, and may tell of no device.
    assert_eq!(told("elm_ts 3-004b: Runtime PM usage count underflow!\n").len(), 1);
    assert!(told("I get this: Runtime PM usage count underflow!\n").is_empty());
}

#[test]
fn a_fence_is_no_last_line_of_a_log() {
    let log = "PM: suspend entry (deep)\nPM: suspend of devices complete after 31.002 msecs\n\
        Disabling non-boot CPUs ...\nCPU5: shutdown\n";
    let text = format!("It is what the board says.\n```\n{log}```\nThat is all of it.\n");
    let report = judged(&text);
    let doubt = report.findings.iter().find(|f| f.id == "no-all-clear").expect("a doubt");
    let shown: Vec<u64> = doubt.evidence.iter().map(|e| e.line).collect();
    assert_eq!(shown, [3, 6], "{doubt:?}");
}

#[test]
fn a_log_that_ends_on_its_way_down_needs_no_entry_to_tell_of_a_hang() {
    let log = "PM: noirq suspend of devices complete after 1.200 msecs\n\
        Disabling non-boot CPUs ...\nCPU5: shutdown\n";
    let found = said(&format!("Only a power cycle brings my board back from mem.\n\n{log}"));
    assert!(
        found.iter().any(|f| f.0 == "no-return" && f.1.contains("CPU5: shutdown")),
        "{found:?}"
    );
    let found = said(&format!("This is what my board prints, and it is fine.\n\n{log}"));
    assert!(found.iter().all(|f| f.0 != "no-return"), "{found:?}");
}
