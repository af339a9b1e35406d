//! What services, firmware and people say of a whole wake-up: the wait and who owns it, and
//! no more than the text proves.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

fn findings(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

fn one(text: &str, id: &str) -> Finding {
    let all = findings(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    all.into_iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{id} is not in {ids:?}"))
}

/// Seconds behind seven, and lines of a journal.
fn journal(lines: &[(&str, &str)]) -> String {
    lines.iter().map(|(s, text)| format!("Feb 03 07:00:{s} elm {text}\n")).collect()
}

const BACK: (&str, &str) =
    ("00.100000", "systemd-sleep[700]: System returned from sleep operation 'suspend'.");

#[test]
fn a_wait_behind_the_kernel_is_named_by_its_lines() {
    let text = journal(&[
        BACK,
        ("00.300000", "systemd-sleep[700]: Successfully thawed unit 'user.slice'."),
        ("31.300000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
    ]);
    let f = one(&text, "way-wait");
    assert_eq!((f.level, f.confidence), (Level::Slow, Confidence::Certain));
    assert!(f.sentence.starts_with("31.0 s pass between"), "{}", f.sentence);
    assert!(f.sentence.contains("No line says what ran in between"), "{}", f.sentence);
}

#[test]
fn a_quick_wake_up_is_not_slow() {
    let text = journal(&[
        BACK,
        ("00.300000", "systemd-sleep[700]: Successfully thawed unit 'user.slice'."),
        ("00.400000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
    ]);
    let all = findings(&text);
    assert!(all.iter().all(|f| f.level >= Level::Note), "{all:?}");
    assert!(one(&text, "way-rows").sentence.contains("nothing in it is slow"));
}

#[test]
fn who_holds_the_sleep_back_is_a_task() {
    let text = journal(&[
        ("10.000000", "systemd-logind[1]: The system will suspend now!"),
        (
            "15.000000",
            "systemd-logind[1]: Delay lock is active (UID 1000/kim, PID 812/backupd) but inhibitor timeout is reached.",
        ),
        ("15.100000", "systemd-sleep[700]: Performing sleep operation 'suspend'..."),
    ]);
    let f = one(&text, "way-delay-lock");
    assert!(f.sentence.starts_with("backupd held a delay lock"), "{}", f.sentence);
}

#[test]
fn what_people_measured_is_told_and_no_cause() {
    let text = "Time from lid open to usable after suspend\n\n| hook | resume |\n|---|---|\n\
                | fan hook | 41.2 s |\n| none | 90 ms |\n";
    let f = one(text, "way-table");
    assert!(f.sentence.contains("41.2 s") && f.sentence.contains("90 ms"), "{}", f.sentence);
    assert_eq!((f.level, f.confidence), (Level::Note, Confidence::Likely));
    assert!(findings("The recipe takes 40 seconds and tastes of nothing.\n").is_empty());
}

/// Newer Androids do not say how long all of it took.
#[test]
fn a_screen_that_was_held_back_is_on_by_its_stamp() {
    let text = "03-02 10:00:00.500  900  912 I PowerManagerService: Waking up from Dozing (uid=1000, reason=WAKE_REASON_LID, details=lid)...\n\
        03-02 10:00:00.540  900  930 I DisplayPowerController[0]: Blocking screen on until initial contents have been drawn.\n\
        03-02 10:00:02.240  900  930 I DisplayPowerController[0]: Unblocked screen on after 1700 ms\n";
    let f = one(text, "way-screen");
    assert_eq!(f.level, Level::Slow);
    assert!(
        f.sentence.contains("on 1.7 s after") && f.sentence.contains("1.7 s of them"),
        "{}",
        f.sentence
    );
}

#[test]
fn a_network_has_its_row_whoever_tells_of_the_wake_up() {
    let kernel = |at: f64| {
        format!(
            "[  901.200000] PM: suspend exit\n[  {at:.6}] wlan7: authenticated\n\
             [  {at:.6}] wlan7: associated\n"
        )
    };
    let f = one(&kernel(905.5), "way-network");
    assert_eq!(f.level, Level::Note, "a link alone may have been switched on late");
    assert!(
        f.sentence.contains("link 4.3 s after") && f.sentence.contains("No line that was read")
    );
    // That the machine came back is all that is left.
    assert!(findings(&kernel(1_100.0)).iter().all(|f| f.id == "night-woke"));
    let late = [
        "systemd-networkd[31]: end0: DHCPv4 address 10.9.0.7/24 acquired from 10.9.0.1",
        "NetworkManager[31]: <info>  dhcp4 (end0): state changed unknown -> bound",
        "dhcpcd[31]: end0: leased 10.9.0.7 for 3600 seconds",
    ];
    for address in late {
        for back in [
            "kernel: PM: suspend exit",
            BACK.1,
            "NetworkManager[31]: <info> manager: sleep: wake requested (sleeping: yes)",
        ] {
            let text = journal(&[
                ("00", back),
                ("04", "kernel: end0: Link is Up - 1Gbps/Full"),
                ("09", address),
            ]);
            let f = one(&text, "way-network");
            assert_eq!(f.level, Level::Slow, "{text}");
            assert!(
                f.sentence.contains("address 9.0 s") && f.sentence.contains("5.0 s"),
                "{}",
                f.sentence
            );
        }
    }
    let awake = journal(&[
        ("10", "systemd-networkd[31]: end0: Lost carrier"),
        ("12", "systemd-networkd[31]: end0: Gained carrier"),
        ("13", late[0]),
    ]);
    let f = one(&awake, "way-network");
    assert!(f.level == Level::Note && f.sentence.contains("do not speak of a sleep"));
    assert!(findings(&awake.replace("end0", "docker0")).is_empty());
}

#[test]
fn logind_alone_tells_of_a_night_and_of_a_request_that_failed() {
    let night = "Nov 08 22:10:05 rook systemd-logind[40]: Lid closed.\n\
        Nov 08 22:10:05 rook systemd-logind[40]: Suspending...\n\
        Nov 09 06:40:05 rook systemd-logind[40]: Lid opened.\n\
        Nov 09 06:40:07 rook systemd-logind[40]: Operation 'sleep' finished.\n";
    let f = one(night, "way-slept");
    assert!(f.level == Level::Note && f.sentence.contains("8 h 30 min"), "{}", f.sentence);
    let failed = "Nov 09 12:00:00 rook systemd-logind[40]: Error during inhibitor-delayed operation (already returned success to client): Unit suspend.target is masked.\n";
    let all = findings(&format!("{night}{failed}"));
    let ids: Vec<_> = all.iter().map(|f| (f.id, f.level)).collect();
    assert_eq!(ids, [("way-refused", Level::Broken), ("way-slept", Level::Note)]);
    let words = &all[0].sentence;
    assert!(words.ends_with("asked: Unit suspend.target is masked."), "{words}");
    assert!(!all[1].sentence.contains("fault"), "{}", all[1].sentence);
    // Somebody asked the kernel itself.
    let entry = "Nov 09 12:00:03 rook kernel: PM: suspend entry (deep)\n";
    let f = one(&format!("{failed}{entry}"), "way-refused");
    assert!(f.sentence.contains("entry (deep)\" comes after 3.0 s"), "{}", f.sentence);
    // `systemctl enable` says so too.
    let enable = failed.replace(
        "Error during inhibitor-delayed operation (already returned success to client): Unit",
        "Failed to execute operation: Unit",
    );
    assert!(findings(&enable).iter().all(|f| f.id != "way-refused"));
}

#[test]
fn hooks_and_the_way_to_the_kernel_have_their_lines() {
    let of = |words: &str, s: &str| {
        journal(&[
            ("00", words),
            (s, "kernel: PM: suspend entry (s2idle)"),
            (s, "kernel: Filesystems sync: 0.004 seconds"),
        ])
    };
    for words in [
        "systemd-sleep[88]: Performing sleep operation 'suspend'...",
        "systemd-sleep[88]: Suspending system...",
    ] {
        let f = one(&of(words, "45"), "way-to-kernel");
        assert!(f.sentence.starts_with("45.0 s") && f.level == Level::Slow, "{}", f.sentence);
        assert!(findings(&of(words, "01")).iter().all(|f| f.id != "way-to-kernel"));
    }
    let text = journal(&[
        ("00", "(sd-exec)[90]: /usr/lib/systemd/system-sleep/lamp.sh failed with exit status 7."),
        ("01", "systemd-sleep[88]: Performing sleep operation 'suspend'..."),
        ("03", BACK.1),
        (
            "48",
            "systemd[1]: systemd-suspend.service: Killing process 512 (lamp.sh) with signal SIGKILL.",
        ),
    ]);
    let hook = one(&text, "way-hook-failed");
    assert!(
        hook.level == Level::Note && hook.sentence.contains("lamp.sh failed with exit status 7")
    );
    let f = one(&text, "way-killed");
    assert!(f.about.tasks[0].pid == 512 && f.sentence.contains("45.0 s"), "{}", f.sentence);
}

/// `logcat -v brief` has no times, and lines that say how long something took.
#[test]
fn a_brief_log_of_android_tells_what_its_lines_measure() {
    let of = |line: &str| {
        one(&format!("I/PowerManagerService( 77): Waking up from sleep...\n{line}\n"), "way-screen")
    };
    let f = of("W/PowerManagerService( 77): Screen on took 1400 ms");
    assert!(f.level == Level::Slow && f.sentence.contains("1.4 s after"), "{}", f.sentence);
    let f = of(
        "D/SurfaceControl( 77): Excessive delay in unblankDisplay() while turning screen on: 410ms",
    );
    assert!(
        f.level == Level::Note && f.sentence.contains("panel on took 410 ms"),
        "{}",
        f.sentence
    );
}

#[test]
fn an_address_behind_a_clock_that_was_set_has_no_time() {
    let text = |address: &str| {
        format!(
            "Feb 03 22:00:00 elm kernel: PM: suspend entry (deep)\n\
            Feb 03 22:00:02 elm kernel: PM: suspend exit\n\
            Feb 03 22:00:03 elm systemd-networkd[4]: end0: Gained carrier\n{address}"
        )
    };
    let set = text(
        "Feb 04 05:10:00 elm systemd-timesyncd[5]: Contacted time server 10.9.0.1:123.\n\
        Feb 04 05:10:01 elm systemd-networkd[4]: end0: DHCPv4 address 10.9.0.7/24 acquired\n",
    );
    let f = one(&set, "way-network");
    assert!(f.sentence.contains("behind line 4, where the clock was set"), "{}", f.sentence);
    let soon = text(
        "Feb 03 22:00:05 elm systemd-networkd[4]: end0: DHCPv4 address 10.9.0.7/24 acquired\n",
    );
    assert!(one(&soon, "way-network").sentence.contains("address 3.0 s"));
}

#[test]
fn elogind_tells_of_hooks_that_cancel_and_of_a_sleep_asked_for_again() {
    let hook = "(sd-executor)[31]: /etc/elogind/system-sleep/10-dock failed with exit status 3.";
    let text = journal(&[
        ("00.100000", "elogind-daemon[8]: The system will suspend now!"),
        ("00.200000", hook),
        ("00.300000", "elogind-daemon[8]: The system suspend has been cancelled!"),
    ]);
    let f = one(&text, "way-hook-failed");
    assert_eq!(f.level, Level::Broken);
    assert!(f.sentence.contains("10-dock") && f.sentence.contains("given up"), "{}", f.sentence);
    let went_on = journal(&[
        ("00.200000", "(sd-exec-[31]: /etc/elogind/system-sleep/10-dock: Operation canceled"),
        ("00.300000", "e-suspend[30]: Performing sleep operation 'suspend'..."),
    ]);
    let f = one(&went_on, "way-hook-failed");
    assert_eq!(f.level, Level::Note);
    assert!(f.sentence.contains("elogind went on"), "{}", f.sentence);
    let again = |at: &str| {
        format!(
            "[  500.100000] PM: suspend exit\n[  500.100100] elogind-daemon[8]: System resumed.\n\
            [  {at}] elogind-daemon[8]: Suspending system...\n[  {at}] PM: suspend entry (deep)\n"
        )
    };
    let f = one(&again("500.140100"), "way-again");
    assert!(f.sentence.contains("again 40 ms after it was back"), "{}", f.sentence);
    assert!(findings(&again("620.140100")).iter().all(|f| f.id != "way-again"));
}

#[test]
fn a_graph_with_columns_of_time_and_task_tells_a_wait_for_others() {
    let graph = |wait: &str| {
        format!(
            "# tracer: function_graph\n\
            \x20 88.100000 |   1)  kworker-44    |               |  device_resume() {{\n\
            \x20 88.100010 |   1)  kworker-44    |               |    dpm_wait_for_superior() {{\n\
            \x20 88.400010 |   1)  kworker-44    | @ {wait} us |    }}\n\
            \x20 88.400020 |   1)  kworker-44    |               |    dpm_run_callback() {{\n\
            \x20 88.400030 |   1)  kworker-44    |               |      /* device_pm_callback_start: x */\n\
            \x20 88.400040 |   1)  kworker-44    | * 9000.500 us |      foo_resume();\n\
            \x20 88.410040 |   1)  kworker-44    | * 9010.500 us |    }}\n\
            \x20 88.410050 |   1)  kworker-44    | @ 310000.0 us |  }}\n"
        )
    };
    let f = one(&graph("300000.1"), "way-calls");
    for part in
        ["device_resume 310.00 ms", "its parent or a supplier", "its own callback took 9.01 ms"]
    {
        assert!(f.sentence.contains(part), "{part}: {}", f.sentence);
    }
    assert!(!one(&graph("900.1"), "way-calls").sentence.contains("waited for"));
}

#[test]
fn a_time_asleep_in_a_table_is_no_wait() {
    let table = |what: &str| {
        format!("Suspend works.\n\n| Metric | Value |\n|---|---|\n| {what} | 9.100 seconds |\n")
    };
    assert!(findings(&table("Timekeeping suspended")).iter().all(|f| f.id != "way-table"));
    assert_eq!(one(&table("Resume of devices"), "way-table").level, Level::Note);
}

#[test]
fn a_hook_that_names_itself_at_both_ends_ran() {
    let text = journal(&[
        ("00.000000", "systemd-logind[7]: The system will suspend now!"),
        ("00.200000", "systemd-sleep[70]: /usr/lib/systemd/system-sleep/vpn: closing"),
        ("09.200000", "systemd-sleep[70]: /usr/lib/systemd/system-sleep/vpn: closed"),
        ("09.300000", "systemd-sleep[69]: Performing sleep operation 'suspend'..."),
    ]);
    let f = one(&text, "way-wait");
    assert!(f.sentence.contains("Both lines are of the sleep hook vpn"), "{}", f.sentence);
}

#[test]
fn one_wake_up_with_two_words_of_its_end_is_told_once_with_what_came_when() {
    let text = journal(&[
        ("00.000000", "kernel: PM: suspend exit"),
        ("00.100000", "systemd-logind[7]: Operation 'sleep' finished."),
        ("00.200000", "NetworkManager[9]: <info> manager: sleep: wake requested (sleeping: yes)"),
        ("04.000000", "kernel: wlan0: associated"),
        ("04.100000", "NetworkManager[9]: <info> dhcp4 (wlan0): activation: beginning transaction"),
        ("13.100000", "NetworkManager[9]: <info> dhcp4 (wlan0): state changed new lease"),
    ]);
    let all = findings(&text);
    assert_eq!(all.iter().filter(|f| f.id == "way-lease").count(), 1, "{all:?}");
    let f = one(&text, "way-lease");
    let why = f.why.clone();
    assert!(why.contains("the link came after 4.0 s, the address came after 13.1 s"), "{why}");
}

#[test]
fn a_wait_before_sleeps_that_came_to_nothing_is_a_note() {
    let text = "06-11 01:02:00.000  900  901 I PowerManagerService: Going to sleep due to timeout\n\
        06-11 01:02:20.000     0     0 I PM      : suspend entry (deep)\n\
        06-11 01:02:20.050     0     0 I PM      : Wakeup pending, aborting suspend\n\
        06-11 01:02:20.050     0     0 I PM      : active wakeup source: gpio-keys\n\
        06-11 01:02:20.060     0     0 I PM      : suspend exit\n";
    let all = findings(text);
    assert_eq!(all[0].id, "abort-wakeup", "{all:?}");
    let f = one(text, "way-wait");
    assert_eq!(f.level, Level::Note);
    assert!(f.advice.iter().any(|a| a.text.contains("dumpsys")), "{:?}", f.advice);
}

#[test]
fn a_wrapped_line_of_a_service_says_which_unit_and_how_long() {
    let text = "> Sep 14 21:40:00 birch systemd[1]: NetworkManager-dispatcher.service:\n\
        > Deactivated successfully.\n\
        > Sep 14 21:40:45 birch systemd-sleep[3321]: Failed to freeze unit\n\
        > 'user.slice': Connection timed out\n";
    let f = one(text, "freeze-user-slice");
    let whole = |t: &str| {
        t.ends_with("user.slice': Connection timed out") && t.starts_with("Sep 14 21:40:45")
    };
    assert!(f.evidence.iter().any(|e| whole(&e.text)), "{:?}", f.evidence);
    assert!(f.why.clone().starts_with("45"), "{:?}", f.why);
}

#[test]
fn two_lines_of_one_waker_are_one_wake_up() {
    let once = "[   70.100000] PM: suspend entry (deep)\n\
        [   70.500000] PM: pm_system_irq_wakeup: 51 triggered 4000.rtc\n\
        [   70.900000] Resume caused by IRQ 51, 4000.rtc\n[   71.000000] PM: suspend exit\n";
    assert!(one(once, "mode-wake-source").sentence.contains("IRQ 51 of 4000.rtc."));
    let twice = format!("{once}{}", once.replace("[   7", "[   9"));
    assert!(one(&twice, "mode-wake-source").sentence.contains("(2 times)"));
}

#[test]
fn tenths_are_told_of_tenths_alone_and_the_packed_size_is() {
    let text = "[   31.000000] PM: Image saving progress:   0%\n\
        [   33.000000] PM: Image saving progress:  10%\n\
        [   33.900000] PM: Image saving progress:  40%\n\
        [   34.800000] PM: Image saving progress:  70%\n\
        [   35.700000] PM: Image saving progress: 100%\n\
        [   35.800000] PM: hibernation: Wrote 90000 kbytes in 4.80 seconds (18.75 MB/s)\n\
        [   35.900000] PM: Image size after compression: 30000 kbytes\n";
    let f = one(text, "hib-image-time");
    let why = f.why.clone();
    assert!(!f.sentence.contains("tenth") && !why.contains("tenth"), "{f:?}");
    assert!(why.contains("30000 kbytes: 3.0 to 1"), "{why}");
}

#[test]
fn an_interrupt_that_another_sleep_did_not_count_may_have_begun_the_first() {
    let row =
        |n: u32| format!("# cat /proc/interrupts | grep KEY\n 77:  {n}  0  gpio 3 Edge  KEY\n");
    let sleep = |s: u32| {
        format!("[  {s}.100000] PM: suspend entry (deep)\n[  {s}.900000] PM: suspend exit\n")
    };
    let text = [row(0), sleep(110), row(1), sleep(450), row(1)].concat();
    let f = one(&text, "wake-counted");
    assert!(f.sentence.contains("over another of the text it did not"), "{}", f.sentence);
    let first = [row(0), sleep(110), row(1)].concat();
    assert!(one(&first, "mode-wake-source").sentence.contains("the key that begins a sleep"));
}

#[test]
fn what_a_driver_said_above_a_failed_resume_is_quoted_of_a_quoted_log_too() {
    let text = "> dwc-pcie 5c000000.pcie: Link is stuck\n\
        > dwc-pcie 5c000000.pcie: PM: dpm_run_callback(): genpd_resume_noirq returns -110\n\
        > dwc-pcie 5c000000.pcie: PM: failed to resume noirq: error -110\n";
    let f = one(text, "device-not-resumed");
    assert!(f.why.clone().contains("Link is stuck"), "{f:?}");
}

const ASKED: (&str, &str) = ("10.000000", "systemd-logind[1]: The system will suspend now!");

#[test]
fn hooks_of_systemd_sleep_own_the_time_between_its_words() {
    let down = journal(&[
        ASKED,
        ("10.100000", "systemd[1]: Starting systemd-suspend.service - System Suspend..."),
        ("10.200000", "systemd-sleep[700]: Successfully froze unit 'user.slice'."),
        ("12.900000", "systemd-sleep[700]: Performing sleep operation 'suspend'..."),
    ]);
    let up = journal(&[
        BACK,
        ("02.400000", "systemd[1]: user.slice: Unit now thawed."),
        ("02.500000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
    ]);
    // The kernel's last word may have the later stamp.
    let other =
        up.replace("02.400000", "00.100500 elm kernel: PM: suspend exit\nFeb 03 07:00:02.400000");
    for (text, took) in [(&down, "2.7 s pass"), (&up, "2.3 s pass"), (&other, "2.3 s pass")] {
        let f = one(text, "way-wait");
        assert!(f.sentence.contains(took), "{}", f.sentence);
        assert!(f.sentence.contains("/usr/lib/systemd/system-sleep"), "{}", f.sentence);
    }
}

#[test]
fn hooks_are_told_beside_a_longer_wait() {
    let text = journal(&[
        ASKED,
        (
            "15.000000",
            "systemd-logind[1]: Delay lock is active (UID 0/root, PID 8/backupd) but inhibitor timeout is reached.",
        ),
        ("15.100000", "systemd[1]: Starting systemd-suspend.service - System Suspend..."),
        ("15.200000", "systemd-sleep[700]: Successfully froze unit 'user.slice'."),
        ("17.500000", "systemd-sleep[700]: Performing sleep operation 'suspend'..."),
    ]);
    assert!(one(&text, "way-wait").sentence.contains("5.0 s pass"));
    let f = one(&text, "way-unit-work");
    assert_eq!(f.level, Level::Slow);
    assert!(f.sentence.starts_with("Hooks of systemd-sleep ran 2.3 s before"), "{}", f.sentence);
}

#[test]
fn one_second_by_stamps_of_whole_seconds_is_no_time() {
    let lines = [
        ("20", "systemd-sleep[700]: System returned from sleep operation 'suspend'."),
        ("21", "systemd[1]: systemd-suspend.service: Deactivated successfully."),
        ("21", "systemd[1]: Starting oak.service - Oak..."),
        ("22", "systemd[1]: Finished oak.service - Oak."),
    ];
    let all = findings(&journal(&lines));
    assert!(all.iter().all(|f| f.level == Level::Note && f.id != "way-unit-work"), "{all:#?}");
    let two = [lines[0], ("22", lines[1].1)];
    assert!(findings(&journal(&two)).iter().any(|f| f.level == Level::Slow));
}

#[test]
fn a_unit_before_the_sleep_holds_it_up_and_one_behind_it_need_not() {
    let before = [
        ASKED,
        // Longer than the unit, and told of as the wait.
        (
            "15.000000",
            "systemd-logind[1]: Delay lock is active (UID 0/root, PID 8/backupd) but inhibitor timeout is reached.",
        ),
        ("15.010000", "systemd[1]: Starting park-heads.service - Park the heads..."),
        ("17.510000", "systemd[1]: Finished park-heads.service - Park the heads."),
        ("17.520000", "systemd[1]: Reached target sleep.target - Sleep."),
        ("17.530000", "systemd[1]: Starting systemd-suspend.service - System Suspend..."),
        ("17.600000", "systemd-sleep[700]: Performing sleep operation 'suspend'..."),
    ];
    let f = one(&journal(&before), "way-unit-work");
    assert_eq!((f.level, f.confidence), (Level::Slow, Confidence::Certain));
    assert!(f.sentence.starts_with("park-heads.service ran 2.5 s before"), "{}", f.sentence);
    assert!(f.sentence.contains("sleep.target - Sleep.\" follows at once"), "{}", f.sentence);

    let behind = [
        BACK,
        ("00.300000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
        ("00.310000", "systemd[1]: Reached target suspend.target - Suspend."),
        ("00.320000", "systemd[1]: Starting unpark-heads.service - Unpark the heads..."),
        ("04.320000", "systemd[1]: unpark-heads.service: Deactivated successfully."),
    ];
    let f = one(&journal(&behind), "way-unit-work");
    assert_eq!(f.level, Level::Note);
    assert!(f.sentence.contains("ran 4.0 s behind the sleep"), "{}", f.sentence);

    // Of several sleeps the longest is told, and how many there were.
    let mut twice = before.to_vec();
    twice.extend([("18.000000", BACK.1), ("18.100000", "systemd[1]: Finished Suspend.")]);
    let second: Vec<(String, &str)> = before
        .iter()
        .map(|(s, t)| (format!("{:09.6}", s.parse::<f64>().expect("seconds") + 30.0), *t))
        .collect();
    let second: Vec<(&str, &str)> = second.iter().map(|(s, t)| (s.as_str(), *t)).collect();
    let all = findings(&(journal(&twice) + &journal(&second)));
    let own: Vec<&Finding> = all.iter().filter(|f| f.id == "way-unit-work").collect();
    assert_eq!((own.len(), own[0].about.times), (1, Some(2)), "{all:?}");
}

#[test]
fn lines_of_the_kernel_that_were_taken_in_behind_the_sleep_tell_nothing_of_its_begin() {
    // Over an hour, over midnight, and over days.
    for (begin, end, day) in
        [("07", "08", "03"), ("23", "06", "04"), ("07", "06", "04"), ("07", "09", "06")]
    {
        let text = format!(
            "Feb 03 {begin}:00:10.000000 elm systemd-logind[1]: The system will suspend now!\n\
             Feb 03 {begin}:00:10.100000 elm systemd-sleep[700]: Successfully froze unit 'user.slice'.\n\
             Feb {day} {end}:00:40.000000 elm kernel: PM: suspend entry (deep)\n\
             Feb {day} {end}:00:40.000010 elm kernel: Filesystems sync: 0.010 seconds\n\
             Feb 03 {begin}:00:10.102000 elm systemd-sleep[700]: Performing sleep operation 'suspend'...\n\
             Feb {day} {end}:00:40.002000 elm systemd-sleep[700]: System returned from sleep operation 'suspend'.\n\
             Feb {day} {end}:00:40.003000 elm kernel: PM: suspend exit\n\
             Feb {day} {end}:00:40.300000 elm systemd[1]: Finished systemd-suspend.service - System Suspend.\n"
        );
        let report = judge(&read_bytes("text", text.as_bytes()).case);
        let ids: Vec<_> = report.findings.iter().map(|f| (f.id, &f.sentence)).collect();
        assert!(report.findings.iter().all(|f| f.level == Level::Note), "{ids:?}");
        let [way] = &report.ways[..] else { panic!("{:?}", report.ways) };
        let rows: Vec<_> = way.rows.iter().map(|r| (r.until, r.took_ns.0 / 1_000_000)).collect();
        use dormouse_doctor::whole::Mark;
        let asleep = rows.iter().find(|r| r.0 == Mark::Back).map(|r| r.1);
        assert!(asleep.is_some_and(|ms| ms > 3_000_000), "{rows:?}");
        assert!(rows.iter().all(|r| r.0 == Mark::Back || r.1 < 1_000), "{rows:?}");
    }
}
