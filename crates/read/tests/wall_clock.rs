//! When a cycle was by the wall clock, and of which machine.

use super::kernel_log::capture;
use super::synthetic::{self, Generation};
use dormouse_base::cycle::PhaseSpan;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

#[test]
fn a_cycle_has_the_machine_and_the_wall_clock_that_its_lines_name() {
    type Dress = fn(u64, &str) -> String;
    let dresses: [(Dress, &str, bool); 6] = [
        (
            |us, t| {
                format!(
                    "Sep 01 10:11:{:02}.{:06} box kernel: {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            false,
        ),
        (
            |us, t| {
                format!("Sep 01 10:11:{:02}.{:06} kernel: {t}", us / 1_000_000 % 60, us % 1_000_000)
            },
            "",
            false,
        ),
        (
            |us, t| format!("[{:5}.{:06}] box-2.lan kernel: {t}", us / 1_000_000, us % 1_000_000),
            "box-2.lan",
            false,
        ),
        (|us, t| format!("[{:5}.{:06}] {t}", us / 1_000_000, us % 1_000_000), "", false),
        (
            |us, t| {
                format!(
                    "2024-02-06T04:26:{:02}.{:06}+01:00 box kernel: {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            true,
        ),
        (
            |us, t| {
                format!(
                    "<6>1 2024-02-06T04:26:{:02}.{:06}+01:00 box kernel - - - {t}",
                    us / 1_000_000 % 60,
                    us % 1_000_000
                )
            },
            "box",
            true,
        ),
    ];
    for (dress, host, dated) in dresses {
        let log = synthetic::log(Generation::Bare, dress);
        let c = capture(&log);
        assert_eq!(c.names.get(c.host_of(&c.cycles[0])), host, "{log}");
        let at = c.cycles[0].wall_clock().map(|t| t.0 / 60_000_000_000 * 60);
        assert_eq!(at, dated.then_some(1_707_189_960), "{log}");
    }
}

/// Once the embedded controller is let go of, nothing sleeps: an hour behind it is of a clock
/// that was set on.
#[test]
fn an_hour_that_passes_while_devices_resume_is_of_the_clock() {
    let log = |up: &str, hour: u32| {
        format!(
            "Mar 31 01:59:58.400000 elm kernel: PM: suspend entry (s2idle)\n\
             Mar 31 01:59:58.420000 elm kernel: Filesystems sync: 0.020 seconds\n\
             Mar 31 01:59:58.773000 elm kernel: PM: suspend devices took 0.344 seconds\n\
             Mar 31 01:59:58.783000 elm kernel: ACPI: EC: interrupt blocked\n\
             Mar 31 01:59:59.283000 elm kernel: {up}\n\
             Mar 31 0{hour}:00:00.293000 elm kernel: PM: resume devices took 0.505 seconds\n\
             Mar 31 0{hour}:00:00.295000 elm kernel: OOM killer enabled.\n\
             Mar 31 0{hour}:00:00.296000 elm kernel: PM: suspend exit\n"
        )
    };
    let length = |text: &str| {
        let c = capture(text);
        (c.cycles[0].end - c.cycles[0].start).0 / 1_000_000_000
    };
    assert_eq!(length(&log("ACPI: EC: interrupt unblocked", 2)), 1);
    assert_eq!(length(&log("ACPI: EC: interrupt unblocked", 3)), 1);
    // An hour of sleep is one.
    assert_eq!(length(&log("ACPI: button: The lid device is not compliant to SW_LID.", 3)), 3_601);
}

/// An attempt, by milliseconds.
const ATTEMPT: [(u64, &str); 14] = [
    (0, "PM: suspend entry (deep)"),
    (20, "Filesystems sync: 0.020 seconds"),
    (21, "Freezing user space processes"),
    (23, "Freezing user space processes completed (elapsed 0.002 seconds)"),
    (24, "printk: Suspending console(s) (use no_console_suspend to debug)"),
    (25, "gull 4460000.gull: PM: calling platform_pm_suspend @ 950, parent: soc"),
    (33, "gull 4460000.gull: PM: platform_pm_suspend returned 0 after 8000 usecs"),
    (34, "PM: suspend of devices complete after 9.000 msecs"),
    (40, "Disabling non-boot CPUs ..."),
    (3_040, "Enabling non-boot CPUs ..."),
    (3_050, "CPU1 is up"),
    (3_560, "PM: resume of devices complete after 505.000 msecs"),
    (3_562, "OOM killer enabled."),
    (3_564, "PM: suspend exit"),
];

/// A clock that is set on within an attempt takes no time, wherever on its two ways that is.
#[test]
fn an_hour_that_a_clock_is_set_on_is_no_time_of_an_attempt() {
    let log = |from: usize| -> String {
        let line = |(i, (ms, text)): (usize, &(u64, &str))| {
            let ms = ms + if i >= from { 3_600_000 } else { 0 };
            let (h, m, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
            format!("Jun 10 1{h}:{m:02}:{s:02}.{:03}000 elm kernel: {text}\n", ms % 1_000)
        };
        ATTEMPT.iter().enumerate().map(line).collect()
    };
    for from in (6..ATTEMPT.len()).filter(|i| ATTEMPT[*i].0 != 3_040) {
        let text = log(from);
        let case = dormouse_read::doctor::read_bytes("text", text.as_bytes()).case;
        assert_eq!(case.attempts[0].clock_set.0 / 1_000_000_000, 3_600, "{text}");
        let c = capture(&text);
        assert!((c.cycles[0].end - c.cycles[0].start).0 < 4_000_000_000, "{text}");
    }
    // Where the machine slept, an hour is an hour of sleep.
    let asleep = log(9);
    let case = dormouse_read::doctor::read_bytes("text", asleep.as_bytes()).case;
    assert_eq!(case.attempts[0].clock_set.0, 0);
}

/// A night into the new year is one attempt and no other log, whether the stamps are of whole
/// seconds or not.
#[test]
fn stamps_without_a_year_go_on_over_its_end() {
    let log = |part: &str| {
        [
            format!("Dec 31 23:59:58{part} elm kernel: PM: suspend entry (deep)"),
            format!("Dec 31 23:59:58{part} elm kernel: Filesystems sync: 0.012 seconds"),
            format!("Dec 31 23:59:58{part} elm kernel: Disabling non-boot CPUs ..."),
            format!("Jan 01 07:00:01{part} elm kernel: Enabling non-boot CPUs ..."),
            format!("Jan 01 07:00:01{part} elm kernel: CPU1 is up"),
            format!("Jan 01 07:00:02{part} elm kernel: PM: suspend exit"),
        ]
        .join("\n")
    };
    for part in ["", ".100000"] {
        let text = log(part);
        let case = dormouse_read::doctor::read_bytes("text", text.as_bytes()).case;
        assert_eq!((case.attempts.len(), case.attempts[0].closed), (1, true), "{text}");
        let report = dormouse_doctor::judge(&case);
        let said: Vec<&str> = report.findings.iter().map(|f| f.sentence.as_str()).collect();
        assert!(said.iter().any(|s| s.contains("took 7 h 0 min")), "{said:?}");
        assert!(report.logs.is_empty(), "{:?}", report.logs);
    }
    let c = capture(&log(".100000"));
    let length = (c.cycles[0].end - c.cycles[0].start).0 / 1_000_000_000;
    assert!((7 * 3_600 + 3..=7 * 3_600 + 4).contains(&length), "{length}");
}

/// Two neighbours of the core's lines that changed places are one attempt with the same times.
#[test]
fn lines_that_changed_places_are_read_in_their_order() {
    let lines: Vec<String> = ATTEMPT
        .iter()
        .map(|(ms, text)| format!("[{:5}.{:03}000] {text}", 100 + ms / 1_000, ms % 1_000))
        .collect();
    let of = |lines: &[String]| {
        let c = capture(&(lines.join("\n") + "\n"));
        let took = |p: &PhaseSpan| (p.phase, p.duration());
        let mut phases: Vec<(Phase, Ns)> = c.cycles[0].phases.iter().map(took).collect();
        phases.sort();
        (c.cycles.len(), phases)
    };
    let whole = of(&lines);
    let of_core =
        |line: &str| ["PM: ", "Free", "OOM", "File"].iter().any(|w| line[15..].starts_with(w));
    let mut swaps = 0;
    // Nobody knows of a first line that it stands too late.
    for i in 2..lines.len() {
        if of_core(&lines[i - 1]) && of_core(&lines[i]) {
            let mut swapped = lines.clone();
            swapped.swap(i - 1, i);
            assert_eq!(of(&swapped), whole, "line {i}");
            swaps += 1;
        }
    }
    assert!(swaps >= 4, "{swaps}");
}
