//! Logs whose keeper was frozen with everybody else: his stamps are no times of the kernel.

use super::pieces::cycles;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// What is printed from the freezing on to the way up.
const DOWN: [&str; 8] = [
    "Freezing user space processes",
    "Freezing user space processes completed (elapsed 0.003 seconds)",
    "OOM killer disabled.",
    "Freezing remaining freezable tasks",
    "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)",
    "printk: Suspending console(s) (use no_console_suspend to debug)",
    "ACPI: EC: interrupt blocked",
    "ACPI: EC: interrupt unblocked",
];

/// A night whose keeper wrote all from the freezing on in the morning, `step` microseconds a
/// line.
fn caught_up(step: usize) -> String {
    let evening = ["PM: suspend entry (s2idle)", "Filesystems sync: 0.011 seconds"];
    let up = [
        "OOM killer enabled.",
        "Restarting tasks: Starting",
        "Restarting tasks: Done",
        "PM: suspend exit",
    ];
    let first = evening.iter().enumerate().map(|(i, t)| {
        format!("2026-03-05T23:10:02.{:06}+0100 crake kernel: {t}\n", 100_000 + i * 12_000)
    });
    let last = DOWN.iter().chain(&up).enumerate().map(|(i, t)| {
        format!("2026-03-06T06:31:40.{:06}+0100 crake kernel: {t}\n", 5_000 + i * step)
    });
    first.chain(last).collect()
}

#[test]
fn a_night_before_the_freezing_is_the_keepers() {
    let list = cycles(&caught_up(400));
    let c = &list[0];
    assert_eq!((list.len(), c.outcome, c.asleep), (1, Outcome::Slept, None));
    assert!(c.end - c.start < Ns::from_ms(40), "{c:?}");
    assert!(c.exit.is_some_and(|e| e - c.end < Ns::from_ms(40)), "{c:?}");
    // The log breaks off before anybody thaws, or has no more of that than its last line.
    let night = Ns::from_ms(26_497_893);
    let text = caught_up(20);
    for kept in [3, 5, 8] {
        let cut: String = text.lines().take(kept).map(|l| format!("{l}\n")).collect();
        let end = text.lines().last().expect("a line");
        // What a person puts below a log has no stamp.
        let (fence, prose) = (format!("{cut}```\n"), format!("{cut}That is all I have of it.\n"));
        for text in [cut.clone(), format!("{cut}{end}\n"), fence, prose] {
            let c = &cycles(&text)[0];
            let until = c.exit.unwrap_or(c.end).max(c.end);
            assert!(until - c.start < Ns::from_ms(40), "{text}\n{c:?}");
            let slept = c.asleep_elsewhere.expect("a night");
            assert!((slept - night).0.abs() < 20_000_000, "{slept:?}");
        }
    }
    // A keeper who was awake saw devices come back, so his pause is one.
    let slow = cycles(&caught_up(40_000));
    assert!(slow[0].end - slow[0].start > Ns::from_ms(3_600_000), "{slow:?}");
}

/// A sleep whose keeper was frozen with the tasks after he had `Freezing user space processes`:
/// all else up to `thaw` microseconds later came when they ran again.
fn frozen_keeper(lines: &[&str], thaw: &[(u32, &str)]) -> Vec<Cycle> {
    let at = |us: u32, t: &str| format!("2027-01-08T21:00:07.{us:06}+02:00 wren kernel: {t}\n");
    let late = |us: u32, t: &str| format!("2027-01-08T21:00:31.{us:06}+02:00 wren kernel: {t}\n");
    let first = at(100_000, "PM: suspend entry (s2idle)")
        + &at(120_000, "Filesystems sync: 0.018 seconds")
        + &at(121_000, "Freezing user space processes");
    let rest = lines.iter().enumerate().map(|(i, t)| late(300_000 + i as u32 * 3, t));
    let thaw = thaw.iter().map(|(us, t)| late(300_000 + us, t));
    cycles(&(first + &rest.chain(thaw).collect::<String>()))
}

#[test]
fn the_time_for_which_a_keeper_was_frozen_is_no_phase() {
    let measured = &DOWN[1..];
    let untold: Vec<&str> = measured.iter().copied().filter(|l| !l.contains("completed")).collect();
    let asleep = ["PM: suspend-to-idle", "PM: resume from suspend-to-idle"];
    let thaw = |us: u32| {
        [
            (us, "OOM killer enabled."),
            (us + 100, "Restarting tasks: Starting"),
            (us + 900, "Restarting tasks: Done"),
            (us + 2_000, "PM: suspend exit"),
        ]
    };
    for lines in [measured, &untold[..], &[&measured[..6], &asleep[..]].concat()[..]] {
        // The log breaks off, tasks run at once, or a third of a second later.
        for end in [vec![], thaw(40).to_vec(), thaw(330_000).to_vec()] {
            let list = frozen_keeper(lines, &end);
            let c = &list[0];
            let longest = c.phases.iter().filter(|p| p.phase != Phase::Asleep);
            let longest = longest.map(|p| p.duration()).max();
            assert!(longest < Some(Ns::from_ms(50)), "{lines:?} {end:?} {c:#?}");
            let all = c.end.since(c.start);
            assert!((24_000..25_000).contains(&(all.0 / 1_000_000)), "{lines:?} {end:?} {c:#?}");
            // Nothing that is counted holds it.
            let down = c.suspend_time().unwrap_or_default();
            assert!(down < Ns::from_ms(100), "{down:?} {lines:?} {end:?} {c:#?}");
        }
    }
}
