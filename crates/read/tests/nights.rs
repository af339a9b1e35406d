//! Texts with several tests, sleeps, batteries or files, made up: each is told as itself, and
//! none is the measure of the others.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

pub(crate) fn found(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

pub(crate) fn one(text: &str, rule: &str) -> Finding {
    let all = found(text);
    let f = all.iter().find(|f| f.id == rule);
    f.cloned().unwrap_or_else(|| panic!("no {rule} in {all:#?}"))
}

fn holds(words: &str, parts: &[&str]) {
    for p in parts {
        assert!(words.contains(p), "{p:?} is not in {words:?}");
    }
}

/// What Intel's self-test prints of a test that was in S0ix for so much of it.
fn selftest(share: &str, verdict: &str) -> String {
    format!(
        "S0ix substate residency before S2idle:\n  12 40\nTurbostat output: \n20.500000 sec\n\
         CPU%c1\tCPU%c7\tPkg%pc2\tPk%pc10\tSYS%LPI\n1.00\t90.00\t9.00\t81.00\t{share}\n1.10\t91.00\t9.00\t81.00\t{share}\n\n\
         CPU Package C-state 10 residency after S2idle is: 81.00\nS0ix residency after S2idle is: {share}\n\n\
         S0ix substate after S2idle:\n  S0i2.1 S0i3.2\n{verdict}\n"
    )
}

const SHALLOW: &str = "Your system only get shallower S0ix substate residency: S0i2.1 7000123";
const DEEP: &str = "Congratulations! Your system achieved the deepest S0ix substate!";

#[test]
fn a_test_that_missed_the_deepest_state_is_no_success_whatever_its_share_or_a_later_test() {
    let f = one(&selftest("63.10", SHALLOW), "mode-partial");
    assert_eq!((f.level, f.confidence), (Level::Risk, Confidence::Certain));
    holds(&f.sentence, &["S0i2.1", "not the deepest (S0i3.2)", "63.10 %"]);
    let change = "\n$ echo on | sudo tee /sys/class/elm/oak/power\n";
    let both = [&selftest("63.10", SHALLOW), change, &selftest("88.20", DEEP)].concat();
    holds(
        &one(&both, "mode-partial").sentence,
        &["only S0i2.1 (S0ix for 63.10 %", "then the deepest, S0i3.2 (S0ix for 88.20 %"],
    );
    let made = one(&both, "block-change");
    assert_eq!(made.confidence, Confidence::Likely);
    holds(&made.sentence, &["tee /sys/class/elm/oak/power"]);
    assert!(found(&both).iter().all(|f| f.id != "mode-hardware"));
    assert_eq!(one(&selftest("88.20", DEEP), "mode-hardware").level, Level::Note);
    let none = "S0ix residency after S2idle is: 0.00\n";
    let apart = [none, change, &selftest("88.20", "")].concat();
    holds(&one(&apart, "mode-partial").sentence, &["0.00 %, then 88.20 %"]);
}

#[test]
fn sleeps_that_cost_otherwise_are_told_one_by_one() {
    let text = "Mar 02 20:00:00 box systemd-sleep[40]: Current battery charge percentage: 88%\n\
        Mar 02 20:20:00 box systemd-sleep[40]: Current battery charge percentage after wakeup: 80%\n\
        Mar 02 20:20:00 box systemd-sleep[40]: Current battery charge percentage: 80%\n\
        Mar 03 02:20:00 box systemd-sleep[40]: Current battery charge percentage after wakeup: 79%\n";
    let f = one(text, "night-cost");
    assert_eq!(f.level, Level::Note, "the long one was cheap");
    holds(
        &f.sentence,
        &["8.0 % in 20 min", "(24.0 % an hour)", "in 6 h 0 min (less than 0.3 % an hour)"],
    );
    assert!(!f.sentence.contains("would last"), "{}", f.sentence);
    let rates = "Mar 02 20:00:00 box systemd-sleep[40]: Current battery charge percentage: 50%\n\
        Mar 02 21:00:00 box systemd-sleep[40]: Current battery charge percentage: 47%\n\
        Mar 02 21:00:00 box systemd-sleep[40]: 3% battery discharged in 3590.000000 seconds time\n\
        Mar 02 23:30:00 box systemd-sleep[44]: Current battery charge percentage: 40%\n\
        Mar 02 23:30:00 box systemd-sleep[44]: 4% battery discharged in 7200.000000 seconds time\n";
    let f = one(rates, "night-cost");
    holds(&f.sentence, &["3.0 % in 59 min", "4.0 % in 2 h 0 min (2.0 % an hour)"]);
    let rows = "(suspend) dT = 7200 (s), dQ = -40 (mAh) = 600 (mWh), P = -300 (mW)\n\
        (at work) dT = 600 (s), dQ = -200 (mAh) = 3000 (mWh), P = -18000 (mW)\n";
    let said = one(rows, "night-cost").sentence;
    assert!(said.contains("0.30 W") && !said.contains("18.00 W"), "{said}");
}

#[test]
fn two_batteries_of_one_machine_are_one_sleep() {
    let text = "It was in standby with the lid shut.\n\n\
        21:10  BAT0: 20,50 Wh  BAT1: 40,00 Wh\n07:10  BAT0: 20,50 Wh  BAT1: 36,00 Wh\n";
    let f = one(text, "night-cost");
    assert_eq!(f.confidence, Confidence::Guess);
    holds(&f.sentence, &["4.000 Wh in 10 h 0 min: 0.40 W", "56.50 Wh"]);
}

#[test]
fn files_that_a_shell_names_at_once_answer_by_their_own_names() {
    let text = |n: u32| {
        format!(
            "# tail -n 4 /sys/kernel/debug/qcom_stats/{{oak,elm}}\n\
             ==> /sys/kernel/debug/qcom_stats/oak <==\nCount: {}\nLast Entered At: 7\nLast Exited At: 9\nAccumulated Duration: 2\n\n\
             ==> /sys/kernel/debug/qcom_stats/elm <==\nCount: {}\nLast Entered At: 7\nLast Exited At: 9\nAccumulated Duration: 2\n",
            4 + n,
            8 + 2 * n
        )
    };
    let both = [text(0), text(3)].concat();
    holds(&one(&both, "block-domain").sentence, &["oak (3 times), elm (6 times)."]);
    let plain = |text: String| {
        text.lines().filter(|l| !l.starts_with("==>")).collect::<Vec<_>>().join("\n")
    };
    let both =
        [plain(text(0)).replace("tail -n 4", "cat"), plain(text(3)).replace("tail -n 4", "cat")]
            .join("\n");
    holds(&one(&both, "block-domain").sentence, &["oak (3 times), elm (6 times)."]);
    let sources = "$ head -n1 /sys/class/wakeup/wakeup{4,6}/*\n\
        ==> /sys/class/wakeup/wakeup4/name <==\nelm\n\n==> /sys/class/wakeup/wakeup4/wakeup_count <==\n0\n\n\
        ==> /sys/class/wakeup/wakeup6/name <==\noak\n\n==> /sys/class/wakeup/wakeup6/wakeup_count <==\n12\n";
    let f = one(sources, "abort-source-woke");
    assert!(f.sentence.contains("oak 12 times") && !f.sentence.contains("elm"), "{}", f.sentence);
    assert!(f.evidence[0].text.contains("wakeup_count"), "{:?}", f.evidence);
    let grouped = "/sys/class/wakeup/wakeup4/name:elm\n/sys/class/wakeup/wakeup6/name:oak\n\
        /sys/class/wakeup/wakeup4/wakeup_count:0\n/sys/class/wakeup/wakeup6/wakeup_count:12\n";
    holds(&one(grouped, "abort-source-woke").sentence, &["oak 12 times"]);
}

#[test]
fn a_source_keeps_the_commas_of_its_name() {
    let log = "[   10.000000] PM: suspend entry (deep)\n\
        [   10.100000] Abort: Pending Wakeup Sources: soc:elm,oak-7 charger lock\"\n";
    holds(&one(log, "abort-wakeup").sentence, &["source soc:elm,oak-7 charger lock."]);
    let vendor = log.replace("soc:elm,oak-7 charger lock\"", "oak, 12, 3");
    holds(&one(&vendor, "abort-wakeup").sentence, &["source oak."]);
    let counted = log.replace("soc:elm,oak-7 charger lock\"", "oak_lock: 31");
    holds(&one(&counted, "abort-wakeup").sentence, &["source oak_lock."]);
}

#[test]
fn the_kernels_own_word_tells_how_long_a_sleep_was() {
    let log = "[ 2000.100000] PM: suspend entry (s2idle)\n\
        [ 2000.500000] PM: Timekeeping suspended for 7199.500 seconds\n[ 2000.600000] PM: suspend exit\n";
    let counter = "$ cat /sys/power/suspend_stats/last_hw_sleep\n7190000000\n";
    let f = one(&[log, counter].concat(), "mode-hardware");
    holds(&f.sentence, &["2 h 0 min of 2 h 0 min"]);
    let battery = "\nIt slept, and the battery went from 90 % to 80 %.\n";
    holds(&one(&[log, battery].concat(), "night-cost").sentence, &["in 2 h 0 min: 5.0 % an hour"]);
    holds(&one(log, "night-slept").sentence, &["took 2 h 0 min (s2idle)"]);
}

#[test]
fn readings_on_both_sides_of_the_one_sleep_of_a_log_are_of_it() {
    let text = "$ date; cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec /sys/class/power_supply/BAT0/energy_now\n\
        Mon Feb  3 22:00:10 CET 2031\n5000\n41000000\n(shut it)\n\
        $ date; cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec /sys/class/power_supply/BAT0/energy_now\n\
        Tue Feb  4 06:00:40 CET 2031\n28780005000\n39000000\n\n\
        Feb 03 22:00:20 elm systemd-logind[9]: Lid closed.\n\
        Feb 03 22:00:21 elm kernel: PM: suspend entry (s2idle)\n\
        Feb 04 06:00:25 elm kernel: Restarting tasks ... done.\n\
        Feb 04 06:00:25 elm kernel: PM: suspend exit\n\
        Feb 04 06:00:25 elm systemd-logind[9]: Lid opened.\n";
    let f = one(text, "mode-hardware");
    holds(&f.sentence, &["grew by 8 h 0 min of 8 h 0 min"]);
    assert!(!f.sentence.contains("does not say"), "{}", f.sentence);
    holds(&one(text, "night-cost").sentence, &["2.000 Wh in 8 h 1 min: 0.25 W"]);
    holds(&one(text, "night-slept").sentence, &["The lid was opened at that moment"]);
}

#[test]
fn a_sleep_that_ended_long_before_its_alarm_says_so() {
    let text = |back: &str| {
        format!(
            "$ sudo rtcwake -m freeze -s 1800\nrtcwake: wakeup from \"freeze\" using /dev/rtc0 at Mon Feb  3 10:30:00 2031\n\
             Feb 03 10:00:00 elm kernel: PM: suspend entry (s2idle)\nFeb 03 {back} elm kernel: PM: suspend exit\n"
        )
    };
    let f = one(&text("10:02:00"), "night-woke-early");
    holds(&f.sentence, &["for 30 min 0 s", "after 2 min 0 s", "No rule finds"]);
    assert!(found(&text("10:30:01")).iter().all(|f| f.id != "night-woke-early"));
}

#[test]
fn a_log_that_stands_newest_first_has_its_way_down_and_its_length() {
    let forward = "Feb 03 22:00:00 elm systemd-logind[9]: Power key pressed short.\n\
        Feb 03 22:00:00 elm systemd[1]: Starting systemd-suspend.service - System Suspend...\n\
        Feb 03 22:00:31 elm systemd-sleep[70]: Performing sleep operation 'suspend'...\n\
        Feb 03 22:00:32 elm kernel: PM: suspend entry (deep)\n\
        Feb 03 22:00:32 elm kernel: Filesystems sync: 0.020 seconds\n\
        Feb 04 07:00:32 elm kernel: Freezing user space processes\n\
        Feb 04 07:00:32 elm kernel: Freezing remaining freezable tasks\n\
        Feb 04 07:00:33 elm kernel: Restarting tasks ... done.\n\
        Feb 04 07:00:34 elm kernel: PM: suspend exit\n";
    let back: Vec<&str> = forward.lines().rev().collect();
    for text in [forward.to_string(), back.join("\n")] {
        let f = one(&text, "way-wait");
        assert!(f.sentence.starts_with("31.0 s by stamps"), "{}", f.sentence);
        assert!(
            f.evidence.iter().all(|e| text
                .lines()
                .nth(e.line as usize - 1)
                .is_some_and(|l| l.contains(&e.text[..20]))),
            "{:?}",
            f.evidence
        );
        holds(&one(&text, "night-slept").sentence, &["9 h 0 min (deep)"]);
    }
}

#[test]
fn a_hook_and_a_unit_own_the_time_before_the_line_that_ends_them_on_both_ways() {
    let text = "2031-02-03T22:00:00.100000+0100 elm systemd-logind[9]: The system will suspend now!\n\
        2031-02-03T22:00:00.200000+0100 elm systemd[1]: Starting systemd-suspend.service - System Suspend...\n\
        2031-02-03T22:00:09.200000+0100 elm (sd-executor)[71]: /usr/lib/systemd/system-sleep/oak succeeded.\n\
        2031-02-03T22:00:09.200000+0100 elm systemd-sleep[70]: Entering sleep state 'suspend'...\n\
        2031-02-03T22:00:09.300000+0100 elm kernel: PM: suspend entry (s2idle)\n\
        2031-02-04T06:00:00.100000+0100 elm kernel: PM: suspend exit\n\
        2031-02-04T06:00:00.200000+0100 elm systemd-sleep[70]: System returned from sleep operation 'suspend'.\n\
        2031-02-04T06:00:06.200000+0100 elm (sd-executor)[73]: /usr/lib/systemd/system-sleep/oak succeeded.\n\
        2031-02-04T06:00:06.300000+0100 elm systemd[1]: Finished systemd-suspend.service - System Suspend.\n";
    let waits: Vec<String> =
        found(text).into_iter().filter(|f| f.id == "way-wait").map(|f| f.sentence).collect();
    assert_eq!(waits.len(), 2, "{waits:#?}");
    holds(&waits[0], &["9.0 s pass", "The sleep hook oak ran in that time"]);
    holds(&waits[1], &["6.0 s pass", "The sleep hook oak ran in that time"]);
    let unit = "Feb 03 06:00:00.100000 elm systemd-sleep[70]: System returned from sleep operation 'suspend'.\n\
        Feb 03 06:00:00.200000 elm systemd[1]: systemd-suspend.service: Deactivated successfully.\n\
        Feb 03 06:00:00.300000 elm systemd[1]: Starting oak-resume.service - Oak resume actions...\n\
        Feb 03 06:00:04.300000 elm systemd[1]: Finished oak-resume.service - Oak resume actions.\n";
    holds(&one(unit, "way-wait").sentence, &["4.0 s pass", "oak-resume.service ran in that time"]);
}

#[test]
fn logind_alone_tells_nights_requests_that_follow_at_once_and_lids_in_any_months() {
    let text = "Feb 03 22:00:00 elm systemd-logind[9]: The system will suspend and later hibernate now!\n\
        Feb 04 06:00:00 elm systemd-logind[9]: Operation 'suspend-then-hibernate' finished.\n\
        Feb 04 06:00:00 elm systemd-logind[9]: The system will suspend and later hibernate now!\n\
        Feb 04 06:00:20 elm systemd-logind[9]: Operation 'suspend-then-hibernate' finished.\n";
    let f = one(text, "way-again");
    holds(&f.sentence, &["in the moment that it was back"]);
    holds(&one(text, "way-slept").sentence, &["about 8 h 0 min"]);
    for month in ["Feb", "févr.", "2月", "ഫെബ്രു", "фев"] {
        let text = format!(
            "{month} 03 22:00:00 elm systemd-logind[9]: Lid closed.\n{month} 03 22:00:00 elm systemd-logind[9]: Suspending...\n\
             {month} 03 22:09:00 elm systemd-logind[9]: Operation 'sleep' finished.\n"
        );
        let said = one(&text, "way-slept").sentence;
        holds(&said, &["about 9 min", "No line of the text opens the lid"]);
        let opened = text.replace(
            "22:09:00 elm systemd-logind[9]: Op",
            "22:09:00 elm systemd-logind[9]: Lid opened.\nx 03 22:09:00 elm systemd-logind[9]: Op",
        );
        assert!(
            found(&opened).iter().all(|f| !f.sentence.contains("opens the lid that was closed")),
            "{month}"
        );
    }
}

#[test]
fn a_short_cycle_of_a_report_is_early_by_its_own_line_and_no_cost_of_a_night() {
    let text = "Suspend timer programmed for 90 seconds\nResults from last s2idle cycle\n\
        Woke up from IRQ 7: GPIO Controller\nUserspace suspended for 0:00:09.500000\n\
        In a hardware sleep state for 0:00:08.000000 (84.21%)\n\
        Battery BAT0 lost 20000 µWh (0.04%) [Average rate 7.58W]\n";
    let cross = "Userspace wasn't asleep at least 0:01:20\n";
    let f = one(text, "night-cost");
    assert!(!f.sentence.contains("an hour") && f.sentence.contains("9.0 s"), "{}", f.sentence);
    assert_eq!(one(text, "mode-wake-source").level, Level::Note);
    let early = one(&[text, cross].concat(), "mode-wake-source");
    assert_eq!(early.level, Level::Risk);
    holds(&early.sentence, &["It woke before its alarm"]);
}

#[test]
fn a_history_of_android_tells_what_the_battery_gave_between_two_chargers() {
    let text = "  01-31 22:00:00.100 080 status=discharging health=good plug=none charge=4000 -plugged\n\
        \x20 01-31 23:00:00.200 079 charge=3990 wake_reason=0:\"31 oak\"\n\
        \x20 02-01 06:00:00.300 072 status=charging plug=ac charge=3600 +plugged\n";
    holds(&one(text, "night-cost").sentence, &["50.0 mA, 1.00 % an hour in 8 h 0 min"]);
}

#[test]
fn a_sleep_of_seconds_that_was_not_deep_says_how_short_it_was() {
    let text = |back: &str| {
        format!(
            "Feb 03 10:00:00 elm kernel: PM: suspend entry (s2idle)\n\
             Feb 03 {back} elm kernel: amd_pmc AMDI000A:00: Last suspend didn't reach deepest state\n\
             Feb 03 {back} elm kernel: PM: suspend exit\n"
        )
    };
    holds(
        &one(&text("10:00:04"), "mode-name-only").sentence,
        &["over after 4.0 s: that may be too short"],
    );
    let long = one(&text("10:20:00"), "mode-name-only").sentence;
    assert!(!long.contains("too short"), "{long}");
}

#[test]
fn a_person_who_tells_of_a_report_is_no_report() {
    let printed = "Userspace suspended for 0:01:03.100000\n❌ Did not reach hardware sleep state\n";
    assert_eq!(one(printed, "mode-name-only").confidence, Confidence::Certain);
    let told = "Userspace suspended for 0:01:03.100000\nIt always tells us ❌ Did not reach hardware sleep state here\n";
    assert_eq!(one(told, "mode-name-only").confidence, Confidence::Guess);
}
