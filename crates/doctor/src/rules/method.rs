//! Methods of the firmware's tables that a sleep runs and that the kernel had to abort.

use super::host::NEAR;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;

/// The name of the rule.
pub(crate) const METHOD: &str = "firmware-method";

/// What a sleep runs of the firmware, and what that is for (drivers/acpi/acpica/hwxfsleep.c:
/// acpi_enter_sleep_state_prep, acpi_leave_sleep_state; drivers/acpi/sleep.c:acpi_sleep_tts_switch,
/// 6.12). None of them ends the sleep where it fails.
const METHODS: [(&str, &str); 4] = [
    ("_PTS", "prepares the sleep"),
    ("_TTS", "is told that a sleep begins or is over"),
    ("_WAK", "sets the machine up again behind the sleep"),
    ("_SST", "sets the light of the state"),
];

/// The method of a message that says that it was aborted, and the error
/// (drivers/acpi/acpica/psparse.c:acpi_ps_parse_aml, `Aborting method`; older ones have the other words).
fn aborted(m: &Message) -> Option<(&str, &str)> {
    let of = |text| match m.after(text) {
        Some(rest) => rest.split_once(' '),
        None => None,
    };
    let (path, rest) = of("Aborting method ").or_else(|| of("Method parse/execution failed "))?;
    let name = path.trim_matches(['[', ']', ',', '\\']);
    let error = rest.split(|c: char| !c.is_ascii_uppercase() && c != '_');
    Some((name, error.into_iter().find(|w| w.starts_with("AE_"))?))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let words = ["Aborting method ", "Method parse/execution failed "];
    let mut told: Vec<&str> = Vec::new();
    for (at, m) in case.messages.having_any(&words).filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let Some((name, error)) = aborted(m) else { continue };
        let Some((_, what)) = METHODS.iter().find(|k| k.0 == name) else { continue };
        if told.contains(&name) {
            continue;
        }
        told.push(name);
        // Just before stands what it looked for.
        const SYMBOL: &str = "Could not resolve symbol [";
        let near = case.messages[at.saturating_sub(NEAR)..at].iter().rev();
        let symbol = near.into_iter().find_map(|m| Some((m, m.after(SYMBOL)?.split(']').next()?)));
        let missing = symbol.map_or(String::new(), |(_, s)| {
            format!(" It looks for {s}, which the tables do not have.")
        });
        out.push(
            Finding::new((METHOD, Area::Mode, Level::Note), Confidence::Certain)
                .says(format!(
                    "The firmware's method {name}, which {what}, was aborted ({error}): the rest of what it does was not done. The kernel goes on without it.{missing}"
                ))
                .look("It is a fault of the firmware's tables: look for an update of the firmware. If the machine sleeps and wakes well, nothing need be done.")
                .shown_by(lines(symbol.map(|s| s.0).into_iter().chain([m]))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str]) -> Vec<String> {
        let log: Vec<(i64, &str)> = (1..).zip(lines.iter().copied()).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn methods_of_a_sleep_that_were_aborted_are_told() {
        let new = said(&[
            "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.ELM0.OAK1], AE_NOT_FOUND (20210730/psargs-330)",
            "ACPI Error: Aborting method \\_PTS due to previous error (AE_NOT_FOUND) (20210730/psparse-529)",
        ]);
        assert!(
            new[0].starts_with("The firmware's method _PTS, which prepares the sleep"),
            "{new:?}"
        );
        assert!(new[0].contains("(AE_NOT_FOUND)") && new[0].contains("\\_SB.ELM0.OAK1"), "{new:?}");
        let old = said(&[
            "ACPI Error: Method parse/execution failed \\_WAK, AE_TIME (20160831/psparse-543)",
        ]);
        assert!(old[0].contains("_WAK") && old[0].contains("(AE_TIME)"), "{old:?}");
        for other in [
            "ACPI Error: Aborting method \\_SB.PCI0.ELM._STA due to previous error (AE_NOT_FOUND) (20210730/psparse-529)",
            "ACPI Error: Aborting method",
            "ACPI Error: Aborting method \\_PTS due to previous",
        ] {
            assert!(said(&[other]).is_empty(), "{other}");
        }
    }
}
