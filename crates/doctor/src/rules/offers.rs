//! Which mode of sleep `mem` is, where a text shows its file and no sleep
//! (kernel/power/main.c:mem_sleep_show, 6.12).

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::offered::bracketed;
use dormouse_base::say;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let file = case.values.iter().find(|v| v.path == "/sys/power/mem_sleep");
    // A log says itself how it slept, and of a machine that is looked at it is no news: its values
    // stand in no line.
    let alone = case.attempts.is_empty();
    let Some(v) = file.filter(|v| alone && v.line > 0) else { return };
    let modes: Vec<&str> = v.value.split_whitespace().map(|w| w.trim_matches(['[', ']'])).collect();
    let known = modes.iter().all(|m| matches!(*m, "s2idle" | "shallow" | "deep"));
    let Some(chosen) = bracketed(&v.value).filter(|_| known) else { return };
    let others: Vec<String> =
        modes.iter().filter(|m| **m != chosen).map(|m| (*m).to_owned()).collect();
    let f = Finding::new(("mode-offered", Area::Mode, Level::Note), Confidence::Certain);
    let f = match &others[..] {
        [] => f
            .says(format!(
                "{chosen} is the only mode that the kernel offers for a sleep to memory (mem_sleep)."
            ))
            .look("Whether firmware offers deep (ACPI S3), the kernel says at boot: dmesg | grep 'ACPI: PM: (supports'."),
        _ => f.says(format!(
            "A sleep to memory is {chosen} (mem_sleep); the kernel offers {} besides.",
            say::names(&others)
        )),
    };
    out.push(f.shown_by([value(v)]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn said(list: &str) -> Option<String> {
        let path = "/sys/power/mem_sleep".into();
        let values = vec![Value { line: 2, path, value: list.into() }];
        let mut out = Vec::new();
        judge(&Case { values, ..Case::default() }, &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn the_chosen_mode_and_what_else_there_is() {
        assert!(said("[s2idle]").is_some_and(|s| s.starts_with("s2idle is the only mode")));
        assert_eq!(
            said("s2idle shallow [deep]").as_deref(),
            Some(
                "A sleep to memory is deep (mem_sleep); the kernel offers s2idle and shallow besides."
            )
        );
        assert_eq!(said("[elm] oak"), None);
        assert_eq!(said("s2idle deep"), None);
    }
}
