//! A long time between two lines on a way down that was gone to its end, by the kernel's own
//! clock. A way down that was given up is told in [`super::pause`].

use super::abort::gives_up;
use super::pause::{JUMP, SLOW, by_own_clock, down};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::finding::{Finding, Level};
use crate::message::Message;
use crate::stage;
use crate::waits;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// From this line on devices go down (kernel/printk/printk.c:console_suspend_all); with
/// no_console_suspend the last one of the freezer stands before them, which counts its time itself.
const CONSOLE: &str = "Suspending console(s)";
const FREEZER: &str = "Freezing remaining freezable tasks";

/// Lines that no kernel prints before its devices are down (drivers/acpi/sleep.c, drivers/acpi/ec.c:
/// acpi_ec_suspend_noirq, kernel/cpu.c:freeze_secondary_cpus, kernel/power/suspend.c:s2idle_loop,
/// 3.15 to 7.3).
const DOWN: [&str; 6] = [
    "Preparing to enter system sleep state",
    "EC: interrupt blocked",
    "Disabling non-boot CPUs",
    "Saving platform NVS memory",
    "suspend-to-idle",
    "noirq suspend of devices complete",
];

/// The longest time between two lines of devices on the way down of `a`, and whether their stamps
/// are of whole seconds.
fn longest<'a>(case: &'a Case, a: &Attempt) -> Option<((Ns, bool), [&'a Message; 2])> {
    let kernel: Vec<&Message> = case.of(a).iter().filter(|m| m.trust.is_of_a_kernel()).collect();
    // `resume from suspend-to-idle` comes behind the sleep.
    let is_down = |m: &Message| DOWN.iter().any(|w| m.has(w)) && !m.has("resume from ");
    // An image is made and written on its way down, and counts its time itself.
    let image =
        |m: &Message| m.has("hibernation") || m.has("Creating image") || m.has("image data");
    if kernel.iter().any(|m| gives_up(m) || image(m)) {
        return None;
    }
    let console = kernel.iter().position(|m| m.has(CONSOLE));
    let from = console.or_else(|| kernel.iter().rposition(|m| m.has(FREEZER)))?;
    let end = from + kernel[from..].iter().position(|m| is_down(m))?;
    let pairs = kernel[from..=end].windows(2).map(|p| [p[0], p[1]]);
    let gaps = pairs.filter_map(|[a, b]| Some((by_own_clock(case, a, b)?, [a, b])));
    // Old kernels put what freezing took into the line that begins it, and a phase says itself how
    // long it was.
    let told = |[a, b]: [&Message; 2]| a.has("(elapsed ") || stage::phase_took(b).is_some();
    let slow = |g: &((Ns, bool), [&Message; 2])| (SLOW..JUMP).contains(&g.0.0.0) && !told(g.1);
    gaps.filter(slow).max_by_key(|g| g.0)
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = case.attempts.iter().filter(|a| !a.inside && !a.failed);
    let Some((gap, [a, b])) = all.filter_map(|a| longest(case, a)).max_by_key(|g| g.0) else {
        return;
    };
    let knows = |f: &Finding| {
        let here = f.evidence.iter().any(|e| e.line == a.line || e.line == b.line);
        here && f.level <= Level::Slow
    };
    if out.iter().any(knows) {
        return;
    }
    let (late, begun) = (waits::late(&b.text), waits::begun(&a.text));
    let who = match (&late, &begun) {
        (Some(d), _) => {
            format!(" The line at its end says who was waited for: {}.", say::device(d))
        }
        (None, Some(d)) => format!(" The last line before is of {}.", say::device(d)),
        (None, None) => String::from(" No line says which device that was."),
    };
    out.push(down(gap, [a, b], &who, late.or(begun)).look("Boot with initcall_debug and no_console_suspend, or record with dormouse record: then each callback has its time."));
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: (i64, &str) = (1_000, "PM: suspend entry (deep)");
    const CONSOLE: (i64, &str) =
        (1_100, "printk: Suspending console(s) (use no_console_suspend to debug)");
    const DOWN: (i64, &str) = (8_100, "ACPI: PM: Preparing to enter system sleep state S3");
    const UP: (i64, &str) = (8_200, "ACPI: PM: Low-level resume complete");
    const EXIT: (i64, &str) = (8_900, "PM: suspend exit");

    fn told(log: &[(i64, &str)], closed: bool) -> Vec<String> {
        let attempt = Attempt { end: log.len(), closed, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(log) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn a_way_down_that_says_nothing_for_seconds_is_slow() {
        for end in [&[DOWN, UP, EXIT][..], &[DOWN]] {
            let found = told(&[&[ENTRY, CONSOLE], end].concat(), end.len() > 1);
            let [said] = &found[..] else { panic!("{found:?}") };
            assert!(said.starts_with("7.0 s pass on the way down between \"printk"), "{said}");
            assert!(said.contains("No line says which device"), "{said}");
        }
        let disk = (1_200, "sd 7:0:0:0: [sdq] Stopping disk");
        let [said] = &told(&[ENTRY, CONSOLE, disk, DOWN, UP, EXIT], true)[..] else { panic!() };
        assert!(said.ends_with("The last line before is of 7:0:0:0 (sd)."), "{said}");
        let ready = (8_000, "elm7: link not ready in 6000 ms");
        assert_eq!(told(&[ENTRY, CONSOLE, ready, DOWN, EXIT], true).len(), 1);
    }

    #[test]
    fn time_asleep_and_what_counts_itself_is_no_pause_of_a_device() {
        // The keeper's clock, the sleep itself, the freezer, an image, an attempt that was given up.
        for log in [
            vec![ENTRY, CONSOLE, (1_500, DOWN.1), (9_000, UP.1), EXIT],
            vec![
                ENTRY,
                CONSOLE,
                (1_500, "PM: suspend-to-idle"),
                (9_000, "PM: resume from suspend-to-idle"),
                EXIT,
            ],
            vec![
                ENTRY,
                (8_000, "Freezing remaining freezable tasks"),
                (8_050, CONSOLE.1),
                DOWN,
                EXIT,
            ],
            vec![ENTRY, CONSOLE, (8_000, "PM: hibernation: Creating image:"), DOWN, EXIT],
            vec![
                ENTRY,
                CONSOLE,
                (8_000, "PM: Some devices failed to suspend, or early wake event detected"),
                DOWN,
                EXIT,
            ],
            vec![
                ENTRY,
                CONSOLE,
                (8_000, "PM: noirq suspend of devices complete after 6800.000 msecs"),
                DOWN,
                EXIT,
            ],
            vec![ENTRY, CONSOLE, (8_900, "PM: suspend exit")],
            vec![
                ENTRY,
                (1_050, "Freezing remaining freezable tasks ... (elapsed 6.900 seconds) done."),
                (8_000, "elm 0000:0b:00.0: quiet"),
                DOWN,
                EXIT,
            ],
            vec![
                ENTRY,
                CONSOLE,
                (8_000, "PM: Triggering wakeup from IRQ 7"),
                (8_001, "PM: resume from suspend-to-idle"),
                EXIT,
            ],
        ] {
            assert!(told(&log, true).is_empty(), "{log:?}");
        }
    }
}
