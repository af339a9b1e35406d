//! What a kernel log says of when something was, and where it does not.

use dormouse_base::capture::Capture;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::Began;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_read::{Options, read_bytes};

fn capture(log: &str) -> Capture {
    let reading = read_bytes("test", log.as_bytes(), &Options::default()).expect("a log");
    reading.captures.into_iter().next().expect("a capture")
}

/// One cycle of totals, each line with the dress of `stamp`.
fn cycle(stamp: &str, ms: u32) -> String {
    let lines = [
        "PM: suspend entry (s2idle)".to_string(),
        "Freezing user space processes".into(),
        "Freezing user space processes completed (elapsed 0.002 seconds)".into(),
        format!("PM: suspend of devices complete after {ms}.000 msecs"),
        "PM: suspend-to-idle".into(),
        "PM: resume from suspend-to-idle".into(),
        "PM: resume of devices complete after 20.000 msecs".into(),
        "Restarting tasks ... done.".into(),
        "PM: suspend exit".into(),
    ];
    lines.map(|l| format!("{stamp}{l}\n")).concat()
}

/// When each cycle began, in the words of whoever kept the log, and its log.
fn told(c: &Capture) -> Vec<(&str, u32)> {
    let words = |w| match w {
        Began::Stamped => "stamped",
        Began::Unsaid => "unsaid",
        Began::Words(s) => c.names.get(s),
    };
    c.cycles.iter().map(|c| (words(c.when), c.log)).collect()
}

#[test]
fn logs_of_one_mail_keep_their_dates_and_stand_in_their_order() {
    let day = |d: u32, min: u32| format!("2024-09-{d} 20:{min}:41,992 DEBUG:\t");
    let stamped = "[   37.585842] PM: suspend entry (s2idle)\n[   40.585842] PM: suspend exit\n";
    let log = [
        stamped,
        "\nThis is without the patch:\n",
        &cycle(&day(20, 10), 100),
        &cycle(&day(20, 12), 110),
        "\nAnd this is with it:\n",
        &cycle(&day(19, 50), 200),
    ];
    let c = capture(&log.concat());
    let want = [
        ("stamped", 0),
        ("2024-09-19 20:50:41", 1),
        ("2024-09-20 20:10:41", 2),
        ("2024-09-20 20:12:41", 2),
    ];
    assert_eq!(told(&c), want);
    assert_eq!(c.losses.count("several_logs"), 2);
    let suspend: Vec<Ns> =
        c.cycles.iter().filter_map(|c| c.phase(Phase::Suspend)).map(|p| p.duration()).collect();
    assert_eq!(suspend, [200, 100, 110].map(Ns::from_ms));
    // One log of cycles that follow each other is one, also over New Year.
    let year = ["Dec 31 23:59:58 box kernel: ", "Jan  1 00:00:12 box kernel: "];
    let c = capture(&year.map(|s| cycle(s, 50)).concat());
    assert_eq!(told(&c), [("Dec 31 23:59:58", 0), ("Jan  1 00:00:12", 0)]);
    assert_eq!(c.losses.count("several_logs"), 0);
    assert_eq!(told(&capture(&cycle("", 50).repeat(2))), [("unsaid", 0); 2]);
}

#[test]
fn a_line_without_a_stamp_is_no_time_zero() {
    let log = "PM: suspend entry (deep)
[ 9838.531101] PM: Syncing filesystems ... done.
[ 9841.782280] Freezing user space processes ...
[ 9861.789184] Freezing of tasks failed after 20.006 seconds (2 tasks refusing to freeze, wq_busy=0):
[ 9861.791238] syncthing       D    0  1301   1273 0x00000004
";
    let c = capture(log);
    assert_eq!(c.cycles.len(), 1);
    let took = c.cycles[0].suspend_time().expect("a way down");
    assert_eq!(took, Ns(9_861_789_184_000 - 9_838_531_101_000));
    // What the first lines say of durations stays.
    let log = "PM: suspend entry (deep)
PM: Filesystems sync: 0.033 seconds
[   50.000000] Freezing user space processes
[   50.002000] Freezing user space processes completed (elapsed 0.001 seconds)
";
    let c = capture(log);
    assert_eq!(c.cycles[0].start, Ns::from_ms(50_000 - 33));
    let sync = c.cycles[0].phase(Phase::Sync).expect("a sync");
    assert_eq!((sync.start, sync.end), (Ns::from_ms(49_967), Ns::from_ms(50_000)));
}

#[test]
fn a_line_that_goes_on_in_a_later_one_is_a_hole() {
    let log = "[    1.000000] PM: suspend entry (deep)
[    1.100000] drv a: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.110000] drv a: PM: f_suspend+0x0/0x10 returned 0 after 10000 usecs
[    1.120000] drv a: PM: calling f_suspend_noirq+0x0/0x10 @ 7, parent: platform
[    1.130000] drv a: PM: f_suspend_noirq+0x0/0x10 returned 0 after 10000 usecs
[    1.140000] drv b: PM: calling f_suspend_noirq+0x0/0x10 @ 7, paren\\FA\\00[    1.340000] drv a: PM: calling f_resume+0x0/0x10 @ 7, parent: platform
[    1.350000] drv a: PM: f_resume+0x0/0x10 returned 0 after 10000 usecs
[    1.360000] OOM killer enabled.
[    1.370000] Restarting tasks ... done.
[    1.380000] PM: suspend exit
";
    let c = capture(log);
    assert_eq!((c.losses.count("log_hole"), c.losses.count("cut_line")), (1, 0));
    let cycle = &c.cycles[0];
    assert!(cycle.lost.iter().any(|l| l.kind == LostKind::Holes && l.phase == Some(Phase::Noirq)));
    assert!(cycle.has_hole(Direction::Suspend) && cycle.has_hole(Direction::Resume));
    // A line that a mail client broke is none: its rest stands on the next line.
    let log = log.replace("paren\\FA\\00[", "parent\n[");
    let c = capture(&log);
    assert_eq!((c.losses.count("log_hole"), c.losses.count("cut_line")), (0, 1));
}

/// A callback that began on one CPU and ended on another; `late` says how long
/// after its end it begins by the clocks of these CPUs.
fn crossed(late_us: u32) -> Capture {
    let step = |us: u32, what: &str| format!("  sh-12 [000] .... 1.{us:06}: {what}\n");
    let call = "device_pm_callback";
    capture(
        &[
            step(0, "suspend_resume: dpm_suspend[2] begin"),
            step(100, &format!("{call}_start: x a, parent: p, bus [suspend]")),
            step(200, &format!("{call}_end: x a, err=0")),
            step(300, &format!("{call}_end: x b, err=0")),
            step(300 + late_us, &format!("{call}_start: x b, parent: p, bus [suspend]")),
            step(900_000, "suspend_resume: dpm_suspend[2] end"),
        ]
        .concat(),
    )
}

#[test]
fn an_end_just_before_its_start_is_one_short_callback() {
    let c = crossed(3);
    let b = c.cycles[0].callbacks[1];
    assert!(b.complete && b.end == b.start, "{b:?}");
    for kind in ["callback_without_end", "end_without_start"] {
        assert_eq!(c.losses.count(kind), 0, "{kind}");
    }
    assert_eq!(c.losses.count("time_backwards"), 1);
    assert_eq!(c.cycles[0].lost.len(), 1);
    assert!(c.cycles[0].completeness(0).is_complete());
    // Clocks do not differ by this much: one start and one end are missing.
    let c = crossed(400);
    assert!(!c.cycles[0].callbacks[1].complete);
    for kind in ["callback_without_end", "end_without_start"] {
        assert_eq!(c.losses.count(kind), 1, "{kind}");
    }
}

#[test]
fn a_journal_that_was_frozen_behind_the_entry_makes_no_wait_of_the_sleep() {
    let capture = capture(
        "Nov 12 22:00:00.400000 elm kernel: PM: suspend entry (deep)\n\
         Nov 12 22:30:00.200000 elm kernel: Filesystems sync: 0.020 seconds\n\
         Nov 12 22:30:00.200300 elm kernel: Freezing user space processes completed (elapsed 0.001 seconds)\n\
         Nov 12 22:30:00.200400 elm kernel: ACPI: PM: Waking up from system sleep state S3\n\
         Nov 12 22:30:00.200500 elm kernel: PM: resume devices took 0.300 seconds\n\
         Nov 12 22:30:00.200600 elm kernel: PM: suspend exit\n",
    );
    let c = &capture.cycles[0];
    assert!(c.phase(Phase::Sync).expect("a sync").start - c.start < Ns::from_ms(100), "{c:?}");
    assert!(c.asleep_elsewhere.is_some_and(|a| a > Ns(1_700_000_000_000)), "{c:?}");
}

#[test]
fn what_half_a_sleep_took_stands_once_where_stamps_are_whole_seconds() {
    let capture = capture(
        "Nov 12 22:00:00 elm kernel: PM: suspend entry (deep)\n\
         Nov 12 22:00:00 elm kernel: Filesystems sync: 0.010 seconds\n\
         Nov 12 22:00:00 elm kernel: PM: suspend devices took 0.250 seconds\n\
         Nov 12 22:00:01 elm kernel: PM: resume devices took 0.400 seconds\n\
         Nov 12 22:00:01 elm kernel: PM: suspend exit\n",
    );
    let c = &capture.cycles[0];
    let (sync, down) = (c.phase(Phase::Sync).unwrap(), c.phase(Phase::Suspend).unwrap());
    assert_eq!(down.start - sync.end, Ns::ZERO);
    assert_eq!(down.end - down.start, Ns::from_ms(250));
}

#[test]
fn callbacks_whose_device_was_left_out_keep_their_times() {
    let capture = capture(
        "PM: suspend entry (deep)\nPM: suspend exit\n\
         ... PM: calling pci_pm_suspend @ 77, parent: pci0000:00\n\
         ... PM: pci_pm_resume returned 0 after 250000 usecs   <- nouveau 0000:01:00.0\n\
         ... PM: platform_pm_resume returned 0 after 90 usecs\n",
    );
    let names: Vec<&str> =
        capture.graph.devices.iter().map(|d| capture.names.get(d.name)).collect();
    assert!(names.contains(&"0000:01:00.0") && !names.contains(&"PM"), "{names:?}");
    let longest = capture.ranked.iter().flat_map(|r| &r.rows).map(|r| r.took).max();
    assert_eq!(longest, Some(Ns::from_ms(250)), "usecs of that form are microseconds");
}
