//! Logs whose keeper was frozen with everybody else: his stamps are no times of the kernel.

use super::pieces::cycles;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

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
    let measured = [
        "Freezing user space processes completed (elapsed 0.002 seconds)",
        "OOM killer disabled.",
        "Freezing remaining freezable tasks",
        "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)",
        "printk: Suspending console(s) (use no_console_suspend to debug)",
        "ACPI: EC: interrupt blocked",
        "ACPI: EC: interrupt unblocked",
    ];
    let untold: Vec<&str> = measured.into_iter().filter(|l| !l.contains("completed")).collect();
    let asleep = ["PM: suspend-to-idle", "PM: resume from suspend-to-idle"];
    let thaw = |us: u32| {
        [
            (us, "OOM killer enabled."),
            (us + 100, "Restarting tasks: Starting"),
            (us + 900, "Restarting tasks: Done"),
            (us + 2_000, "PM: suspend exit"),
        ]
    };
    for lines in [&measured[..], &untold[..], &[&measured[..6], &asleep[..]].concat()[..]] {
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
