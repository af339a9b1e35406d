//! Events of the firmware that nothing handles.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// `ACPI Error: No handler or method for GPE 2E, disabling event`, with a bracket around the
/// number before 3.14 (drivers/acpi/acpica/evgpe.c:acpi_ev_gpe_dispatch, 2.6.16 to 7.3).
const WORDS: &str = "No handler or method for GPE";

/// An event this long after the machine was back is of the wake-up.
const NEAR: Ns = Ns::from_ms(2_000);

/// What stands behind the words: the number of the event.
fn number(m: &Message) -> Option<u32> {
    let rest = m.after(WORDS)?.trim_start_matches([' ', '[']);
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    u32::from_str_radix(&rest[..end], 16).ok()
}

/// The embedded controller is shut off on the way down and opened on the way up
/// (drivers/acpi/ec.c:acpi_ec_disable_event, 4.19 to 7.3): the time between is the sleep, as far
/// as the clock of the log ran in it.
fn away<'a>(case: &'a Case, event: &Message) -> Option<(Ns, [&'a Message; 2])> {
    let at = event.time?;
    let of = |word: &'static str| case.messages.having(word).map(|(_, m)| m);
    let near = |m: &&Message| m.time.is_some_and(|t| t <= at && at - t <= NEAR);
    let up = of("EC: interrupt unblocked").rfind(near)?;
    let down = of("EC: interrupt blocked").rfind(|m| m.line < up.line)?;
    let took = up.time? - down.time?;
    (took > Ns::ZERO).then_some((took, [down, up]))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having(WORDS).filter(|(_, m)| m.trust != Trust::Prose);
    let events: Vec<(u32, &Message)> = said.filter_map(|(_, m)| Some((number(m)?, m))).collect();
    let Some(&(_, first)) = events.first() else { return };
    let mut numbers: Vec<u32> = events.iter().map(|e| e.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let names: Vec<String> = numbers.iter().map(|n| format!("{n:#04x}")).collect();
    let away = events.iter().find_map(|e| away(case, e.1));
    let when = match &away {
        Some((took, _)) => format!(
            " It came as the machine woke up: between the lines of the embedded controller it was away for {}.",
            say::span(*took)
        ),
        None => String::new(),
    };
    let asleep = away.is_some() || !case.attempts.is_empty();
    if !asleep {
        return;
    }
    let f = Finding::new(("wake-gpe-unhandled", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!(
            "The firmware raised GPE {}, for which neither a driver nor a method of its tables is there: the kernel switched that event off.{when} The sleep itself did not fail by it; what stands behind the event no longer tells of itself, and does not wake the machine, until the next start.",
            names.join(" and ")
        ))
        .look("/proc/acpi/wakeup and the _PRW of the ACPI tables name the device of a GPE; /sys/firmware/acpi/interrupts/gpeNN counts it. A newer firmware may bring the method that is missing.")
        .times(events.len())
        .shown_by(lines([first]))
        .shown_by(away.into_iter().flat_map(|a| lines(a.1)));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_nothing_handles_is_told_around_a_sleep() {
        let judged = |log: &[(i64, &str)]| {
            let mut out = Vec::new();
            judge(&Case::of_log(log), &mut out);
            out.pop().map(|f| f.sentence)
        };
        let event =
            "ACPI Error: No handler or method for GPE 2E, disabling event (20250404/evgpe-839)";
        let said = judged(&[
            (1_000, "ACPI: EC: interrupt blocked"),
            (61_000, "ACPI: EC: interrupt unblocked"),
            (61_050, event),
        ])
        .expect("a finding");
        assert!(said.contains("GPE 0x2e") && said.contains("1 min 0 s"), "{said}");
        assert_eq!(judged(&[(1_000, event)]), None, "a boot is no sleep");
        let late = [(0, "ACPI: EC: interrupt blocked"), (9_000, "ACPI: EC: interrupt unblocked")];
        assert_eq!(judged(&[late[0], late[1], (60_000, event)]), None);
    }
}
