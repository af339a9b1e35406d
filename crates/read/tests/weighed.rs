//! Texts, made up, that tell two things at once: of a fault that is over, of a counter that
//! says the opposite, of a reason that no rule knows. What is said first, and how surely.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::{First, Report, judge};
use dormouse_read::doctor::read_bytes as heard;
use dormouse_read::{Options, read_bytes};

fn report(text: &str) -> Report {
    judge(&heard("text", text.as_bytes()).case)
}

fn told(text: &str, id: &str) -> Option<Finding> {
    report(text).findings.into_iter().find(|f| f.id == id)
}

/// An s2idle sleep of an hour that went well, with a line in it.
fn night(inside: &str) -> String {
    format!(
        "kernel: PM: suspend entry (s2idle)\nkernel: PM: suspend-to-idle\n\
         kernel: Timekeeping suspended for 3600.000 seconds\n{inside}\
         kernel: PM: resume from suspend-to-idle\nkernel: PM: suspend exit\n"
    )
}

const SHALLOW: &str = "amd_pmc AMDI0009:00: Last suspend didn't reach deepest state\n";
const COUNTED: &str = "$ cat /sys/power/suspend_stats/last_hw_sleep\n3590000000\n";

#[test]
fn a_counter_is_heard_beside_a_line_that_accuses() {
    // Of another sleep: no fault of the one that is shown.
    let past = format!("In spring it said\n    {SHALLOW}each time. Now:\n\n{}{COUNTED}", night(""));
    let report = report(&past);
    assert!(report.findings.iter().all(|f| f.level == Level::Note), "{:#?}", report.findings);
    let Some(First::Note(f)) = report.first() else { panic!("{:#?}", report.findings) };
    assert_eq!(f.id, "mode-hardware", "{}", f.sentence);
    // In the same sleep: both, and neither for certain.
    let line = format!("kernel: {SHALLOW}");
    let f = told(&format!("{}{COUNTED}", night(&line)), "mode-name-only").expect("it is told");
    assert_eq!((f.level, f.confidence), (Level::Risk, Confidence::Likely));
    assert!(f.sentence.contains("says otherwise"), "{}", f.sentence);
    // Nothing refutes it.
    let f = told(&night(&line), "mode-name-only").expect("it is told");
    assert_eq!((f.level, f.confidence), (Level::Risk, Confidence::Certain));
}

const FAILED: &str = "[  100.000000] PM: suspend entry (deep)\n\
    [  100.020000] Filesystems sync: 0.004 seconds\n\
    [  103.000000] sdhci-foo 0000:02:00.0: PM: failed to resume async: error -110\n\
    [  103.100000] PM: suspend exit\n";

#[test]
fn a_fault_of_an_earlier_time_breaks_nothing_now() {
    let quoted: String = FAILED.lines().map(|l| format!(">> {l}\n")).collect();
    for text in [
        format!("On the old kernel each resume gave:\n\n{FAILED}\nAll quiet since.\n"),
        format!("Hi,\n\n{quoted}\nThis is fixed in the latest firmware, thank you.\n"),
        format!("> On Monday A wrote:\n>> I used to see this:\n{quoted}\nI cannot reproduce it.\n"),
        format!("{FAILED}\nWith the update it no longer happens.\n"),
    ] {
        let f = told(&text, "device-not-resumed").expect("it is told");
        assert_eq!((f.level, f.confidence), (Level::Risk, Confidence::Guess), "{text}");
        assert!(f.sentence.contains("as of an earlier time"), "{}", f.sentence);
    }
    for text in [
        FAILED.to_string(),
        format!("This used to work with 6.1. Now:\n\n{FAILED}\nThe card no longer works.\n"),
        format!("{FAILED}\nIt is not fixed in 6.12. Is that fixed in 6.13?\n"),
    ] {
        let f = told(&text, "device-not-resumed").expect("it is told");
        assert_eq!((f.level, f.confidence), (Level::Broken, Confidence::Certain), "{text}");
    }
}

#[test]
fn an_event_that_comes_without_end_is_told() {
    let rows = |gpe: u64| {
        format!(
            "/sys/firmware/acpi/interrupts/gpe_all:{:>8}\n\
             /sys/firmware/acpi/interrupts/gpe03:       7  EN     enabled      unmasked\n\
             /sys/firmware/acpi/interrupts/gpe6F:{gpe:>8}  EN STS enabled      unmasked\n",
            gpe + 7
        )
    };
    let f = told(&rows(3_200_100), "wake-gpe-storm").expect("a storm");
    assert!(f.sentence.contains("GPE 6F") && f.sentence.contains("3,200,100"), "{}", f.sentence);
    assert!(told(&rows(41_000), "wake-gpe-storm").is_none());
    let top = "  812 root 20 0 0 0 0 R 64.5 0.0 1:02.11 kworker/1:2-kacpi_notify\n";
    let f = told(&format!("{top}{}", rows(41_000)), "wake-gpe-storm").expect("a busy worker");
    assert!(f.sentence.contains("64.5 %"), "{}", f.sentence);
}

#[test]
fn a_counter_of_nothing_after_a_sleep_in_words_is_no_comfort() {
    let file = "/sys/kernel/debug/pmc_core/slp_s0_residency_usec";
    let told_of = "The box resumes from s2idle without a fault, but:\n\n";
    for value in [format!("{file} = 0\n"), format!("$ cat {file}\n0\n")] {
        assert!(told(&format!("{told_of}{value}"), "mode-not-counted").is_some(), "{value}");
        assert!(told(&value, "mode-not-counted").is_none(), "nobody says that it slept");
    }
}

#[test]
fn a_source_that_was_active_most_of_the_time_is_told() {
    let table = |total: u64| {
        format!(
            "name\t\tactive_count\tevent_count\twakeup_count\texpire_count\tactive_since\t\
             total_time\tmax_time\tlast_change\tprevent_suspend_time\n\
             nfc_wl\t12\t12\t0\t0\t0\t{total}\t900000\t7200100\t0\n\
             alarmtimer\t4\t4\t0\t0\t0\t80\t30\t7180000\t0\n"
        )
    };
    let f = told(&table(6_000_000), "abort-source-held").expect("a holder");
    assert!(f.sentence.contains("nfc_wl for 1 h 40 min (83 %)"), "{}", f.sentence);
    assert!(told(&table(600_000), "abort-source-held").is_none());
}

#[test]
fn errors_of_a_part_of_a_sleep_are_not_passed_over() {
    let up = "[   50.100000] ACPI: PM: Waking up from system sleep state S3\n\
        [   50.102000] ACPI: EC: interrupt unblocked\n";
    for error in [
        "[   50.400000] [drm:foo_enable [foo]] *ERROR* link training of head 2 gave up\n",
        "[   50.400000] xhci_hcd 0000:05:00.0: xHC error in resume, USBSTS 0x411, Reinit\n",
    ] {
        let report = report(&format!("{up}{error}"));
        assert!(matches!(report.first(), Some(First::NotJudged(_))), "{:#?}", report.findings);
        assert_eq!(report.findings[0].row, "resume");
    }
    let acpi = "[   50.400000] ACPI Error: AE_TIME, Returned by Handler for [FooSpace]\n";
    let f = told(&format!("{up}{acpi}"), "not-judged").expect("an error");
    assert!(f.about.devices.is_empty() && !f.sentence.contains("of Error"), "{}", f.sentence);
}

#[test]
fn what_the_text_gives_as_the_reason_is_no_lack_of_one() {
    let said = "s2idle gives ❌ Did not reach hardware sleep state each time. The root\n\
        cause is a dock with old firmware. Without it all sleeps are deep.\n";
    let f = told(said, "mode-name-only").expect("a shallow sleep");
    assert!(f.sentence.contains("The root cause is a dock with old firmware"), "{}", f.sentence);
    let unit = "Mar 01 10:00:00 h systemd[1]: Starting systemd-suspend.service - Suspend...\n\
        Mar 01 10:00:00 h systemd-sleep[41]: Performing sleep operation 'suspend'...\n\
        Mar 01 10:00:00 h systemd-sleep[41]: free(): invalid pointer\n";
    let log = "Mar 01 10:00:01 h systemd[1]: systemd-suspend.service: Main process exited, \
        code=dumped, status=11/SEGV\n\
        Mar 01 10:00:01 h systemd[1]: systemd-suspend.service: Failed with result 'core-dump'.\n";
    let f = told(&format!("{unit}{log}"), "write-refused").expect("a failure");
    assert!(f.sentence.contains("ended by SIGSEGV"), "{}", f.sentence);
    assert!(f.sentence.contains("free(): invalid pointer"), "{}", f.sentence);
    let quiet =
        "Mar 01 10:00:01 h systemd[1]: systemd-suspend.service: Failed with result 'exit-code'.\n";
    let f = told(quiet, "write-refused").expect("a failure");
    assert!(f.sentence.contains("No rule finds what stood in its way."), "{}", f.sentence);
}

#[test]
fn a_phase_that_the_kernel_measured_is_kept_where_the_begin_is_cut() {
    let up = |head: &str| {
        let text = format!(
            "[  300.700000] foo 0000:03:00.0: PM: failed to resume async: error -5\n{head}\
             [  300.910000] OOM killer enabled.\n[  300.910010] Restarting tasks ... done.\n\
             [  300.930000] PM: suspend exit\n"
        );
        read_bytes("text", text.as_bytes(), &Options::default()).expect("a text").captures
    };
    let captures = up("[  300.900000] PM: resume devices took 1.700 seconds\n");
    let phases = &captures[0].cycles[0].phases;
    let resume = phases.iter().find(|p| p.phase == dormouse_base::phase::Phase::Resume);
    let took = resume.map(|p| p.duration().0 / 1_000_000);
    assert_eq!(took, Some(1_700), "{phases:?}");
}

#[test]
fn a_code_of_the_device_is_read_with_what_its_driver_says() {
    let text = "[    7.100000] PM: suspend entry (deep)\n\
        [    7.200000] foo_hsm hsm0: Error (51) saving state before suspend\n\
        [    7.200100] PM: Device 00:0c failed to suspend: error 51\n\
        [    7.300000] PM: suspend exit\n";
    let f = told(text, "device-failed").expect("a failure");
    assert!(f.why.contains("foo_hsm hsm0: Error (51)"), "{}", f.why);
    assert!(f.advice[0].text.contains("a code of the device"), "{:?}", f.advice);
    let other = text.replace("(51)", "(3)");
    let f = told(&other, "device-failed").expect("a failure");
    assert!(f.advice[0].text.contains("must return 0"), "{:?}", f.advice);
}

#[test]
fn energy_of_an_evening_and_a_morning_is_what_the_night_cost() {
    let readings = "$ upower -i /org/freedesktop/UPower/devices/battery_BAT1 | grep energy:\n\
        \x20   energy:              52.0 Wh\n    percentage:          91%\n$ # next morning\n\
        \x20   energy:              28.0 Wh\n    percentage:          49%\n\n";
    let log = "May 02 23:00:00 h systemd-logind[9]: The system will suspend now!\n\
        May 02 23:00:03 h kernel: PM: suspend entry (s2idle)\n\
        May 03 07:00:00 h kernel: Timekeeping suspended for 28790.000 seconds\n\
        May 03 07:00:00 h kernel: PM: suspend exit\n";
    let report = report(&format!("{readings}{log}"));
    let cost = report.findings.iter().find(|f| f.id == "night-cost").expect("a cost");
    assert!(
        cost.sentence.contains("24.0 Wh") || cost.sentence.contains("3.0"),
        "{}",
        cost.sentence
    );
    assert!(!report.findings[0].id.starts_with("way-"), "{:#?}", report.findings);
}

#[test]
fn attempts_that_were_over_at_once_are_counted() {
    let pair = |from: &str, to: &str| {
        format!(
            "Jul {from} h systemd-logind[5]: The system will suspend now!\n\
             Jul {to} h systemd-logind[5]: Operation 'suspend' finished.\n"
        )
    };
    let text = pair("02 01:00:00", "02 08:00:00") + &pair("02 08:00:00", "02 08:00:12");
    let f = told(&text, "way-slept").expect("a sleep");
    assert!(f.sentence.contains("A further one took 12.0 s only."), "{}", f.sentence);
    let text = text + &pair("03 01:00:00", "03 08:00:00") + &pair("03 08:00:00", "03 08:00:09");
    let f = told(&text, "way-again").expect("it was sent again");
    assert!(f.sentence.contains("2 times"), "{}", f.sentence);
}

#[test]
fn what_systemctl_prints_is_heard() {
    let refused = "```\n$ systemctl hibernate\nCall to Hibernate failed: Not enough suitable swap \
        space for hibernation available\n$ cat /proc/swaps\n\
        Filename\tType\tSize\tUsed\tPriority\n/dev/dm-3\tpartition\t8388604\t0\t-2\n```\n";
    let f = told(refused, "write-refused").expect("a refusal");
    assert!(f.sentence.contains("8,191 MiB of swap are free"), "{}", f.sentence);
    let failed = "$ systemctl --failed\n  UNIT LOAD ACTIVE SUB DESCRIPTION\n\
        ● systemd-hibernate-resume@dev-sda9.service loaded failed failed Resume from hibernation\n";
    assert!(told(failed, "image-unit-failed").is_some());
    let sleep = "× systemd-hybrid-sleep.service - System Hybrid Suspend+Hibernate\n\
        \x20    Loaded: loaded (/usr/lib/systemd/system/systemd-hybrid-sleep.service; static)\n\
        \x20    Active: failed (Result: exit-code) since Mon 2031-01-06 07:00:00 CET; 2min ago\n";
    assert!(told(sleep, "write-refused").is_some());
    assert!(
        told(&sleep.replace("failed (Result: exit-code)", "inactive (dead)"), "write-refused")
            .is_none()
    );
}

#[test]
fn words_right_ahead_of_a_message_do_not_hide_a_sleep() {
    let text = "It sleeps and wakes at once.\n\nWhat I found:ACPI: PM: Preparing to enter system sleep \
        state S3\nACPI: PM: Waking up from system sleep state S3\nPM: suspend entry (deep)\n\
        PM: suspend exit\n\nThat is all.\n";
    assert!(!report(text).sleeps.is_empty());
}

#[test]
fn a_sleep_that_was_over_at_once_is_told() {
    let up = |s: &str| {
        format!(
            "[   80.1] ACPI: Low-level resume complete\n[   80.1] Suspended for {s} seconds\n\
             [   80.2] Enabling non-boot CPUs ...\n[   80.3] CPU1 is up\n"
        )
        .replace(".1]", ".100000]")
        .replace(".2]", ".200000]")
        .replace(".3]", ".300000]")
    };
    let f = told(&up("3.104"), "night-short").expect("it is told");
    assert!(f.sentence.contains("over after 3.1 s"), "{}", f.sentence);
    assert!(told(&up("49.104"), "night-slept").is_none());
}

fn capture(text: &str) -> dormouse_base::capture::Capture {
    let read = read_bytes("text", text.as_bytes(), &Options::default());
    read.expect("a reading").captures.remove(0)
}

/// A sleep whose stamps are `times`, one a line.
fn stamped(times: [&str; 7]) -> String {
    let said = [
        "PM: suspend entry (deep)",
        "Freezing user space processes",
        "printk: Suspending console(s) (use no_console_suspend to debug)",
        "PM: noirq suspend of devices complete after 14.000 msecs",
        "PM: resume of devices complete after 480.000 msecs",
        "Restarting tasks ... done.",
        "PM: suspend exit",
    ];
    times.iter().zip(said).map(|(t, said)| format!("{t} oak kernel: {said}\n")).collect()
}

#[test]
fn a_clock_that_is_set_back_inside_an_attempt_makes_no_second_one() {
    let of = |date: &str, ms: &str| format!("{date}{ms}");
    let (day, old) = ("2025-08-09T10:00:", "1970-01-01T00:00:");
    for back in ["2025-08-09T09:59:", "2025-08-09T09:40:", "2024-08-09T10:00:", old] {
        let times = [
            of(day, "00.000000"),
            of(day, "00.010000"),
            of(day, "00.020000"),
            of(day, "00.300000"),
            of(back, "09.800000"),
            of(back, "09.810000"),
            of(back, "09.820000"),
        ];
        let text = stamped(times.each_ref().map(String::as_str));
        let read = capture(&text);
        assert_eq!(read.cycles.len(), 1, "{back}");
        let cycle = &read.cycles[0];
        let end = cycle.exit.expect("it ended") - cycle.start;
        assert!(end.0 < 2_000_000_000, "{back}: {end:?}");
        // Somebody left lines out, or another text follows: nothing says that it is the same.
        let parted = text.replacen(back, &format!("...\n{back}"), 1);
        let read = capture(&parted);
        assert!(read.cycles.len() == 2 || back == old, "{back}");
    }
}

#[test]
fn whole_seconds_tell_how_long_a_device_took_to_refuse() {
    let line = |second: &str, said: &str| format!("Dec 24 18:00:{second} oak kernel: {said}\n");
    let log = |second: &str| {
        [
            line("07", "PM: suspend entry (deep)"),
            line("07", "printk: Suspending console(s) (use no_console_suspend to debug)"),
            line(second, "elm 1-1: PM: failed to suspend async: error -5"),
            line(second, "PM: Some devices failed to suspend, or early wake event detected"),
            line(second, "PM: suspend exit"),
        ]
        .concat()
    };
    let down = |second: &str| {
        let read = capture(&log(second));
        let (cycle, suspend) = (&read.cycles[0], dormouse_base::phase::Direction::Suspend);
        let down = cycle.phases.iter().filter(|p| p.phase.direction() == suspend);
        down.map(|p| p.duration().0 / 1_000_000_000).sum::<i64>()
    };
    assert_eq!((down("08"), down("13"), down("27")), (0, 6, 20), "one second may be none");
}
