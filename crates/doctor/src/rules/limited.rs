//! Low-power states that a kernel says at boot it leaves out: of links of SATA, of processors.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    links(case, out);
    states(case, out);
}

/// Whose line it is: `ata3: …`.
fn port(m: &Message) -> Option<&str> {
    let who = m.text.split_once(": ")?.0.trim_start_matches(['>', ' ', '\t']);
    let digits = who.strip_prefix("ata")?;
    digits.bytes().all(|b| b.is_ascii_digit() || b == b'.').then_some(who)
}

/// Links that the driver keeps awake, in the words that kernels from 6.17 on print.
fn links(case: &Case, out: &mut Vec<Finding>) {
    const OFF: &str = "link power management disabled due to";
    let said = case.messages.having(OFF).map(|(_, m)| m);
    let said: Vec<(&Message, &str)> = said.filter_map(|m| Some((m, port(m)?))).collect();
    if said.is_empty() {
        return;
    }
    let mut ports: Vec<&str> = said.iter().map(|s| s.1).collect();
    ports.dedup();
    let device = |name: &&str| Device { name: (*name).to_string(), driver: String::new() };
    out.push(
        Finding::new(("sata-links-awake", Area::Storage, Level::Risk), Confidence::Certain)
            .says(format!(
                "The kernel switched power management of SATA links off ({}): they never sleep, which can keep the processor's package out of its deep states.",
                ports.join(", ")
            ))
            .look("Compare Pkg%pc of turbostat with a kernel that leaves it on; link_power_management_policy of /sys/class/scsi_host changes nothing while it is off.")
            .of_devices(ports.iter().map(device))
            .shown_by(lines(said.iter().map(|s| s.0))),
    );
}

/// States of processors that the command line or the firmware leaves out
/// (drivers/idle/intel_idle.c, 6.1 to 7.3; drivers/acpi/processor_idle.c).
fn states(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: [&str; 3] =
        ["intel_idle: max_cstate ", "intel_idle: state ", "processor limited to max C-state "];
    let what = |m: &Message| {
        let name = |text: &str| text.split_whitespace().next().map(str::to_string);
        if let Some(rest) = m.after(WORDS[0]).filter(|r| r.ends_with(" reached")) {
            return Some(format!("intel_idle uses no state deeper than number {}", name(rest)?));
        }
        if let Some(rest) = m.after(WORDS[1]).filter(|r| r.ends_with(" is disabled")) {
            return Some(format!("intel_idle leaves {} out", name(rest)?));
        }
        Some(format!("the ACPI driver uses no state deeper than C{}", name(m.after(WORDS[2])?)?))
    };
    let said = case.messages.having_any(&WORDS).map(|(_, m)| m);
    let mut said: Vec<(&Message, String)> = said.filter_map(|m| Some((m, what(m)?))).collect();
    said.dedup_by(|a, b| a.1 == b.1);
    if said.is_empty() {
        return;
    }
    let list: Vec<&str> = said.iter().map(|s| s.1.as_str()).collect();
    out.push(
        Finding::new(("idle-states-left-out", Area::Idle, Level::Note), Confidence::Certain)
            .says(format!("Idle states of the processors are left out: {}.", list.join(", ")))
            .look("intel_idle.max_cstate=, intel_idle.states_off= and processor.max_cstate= of the command line do that; without deep states of all cores the package has none, and s2idle stays shallow.")
            .shown_by(lines(said.iter().map(|s| s.0))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(said: &[&str]) -> Vec<(&'static str, String)> {
        let lines: Vec<(i64, &str)> = said.iter().map(|s| (0, *s)).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&lines), &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn links_and_states_that_are_left_out_are_told() {
        let off = "SATA link power management disabled due to platform quirk";
        let found = judged(&[&format!("ata3: {off}"), &format!("ata4: {off}")]);
        assert_eq!(found[0].0, "sata-links-awake");
        assert!(found[0].1.contains("(ata3, ata4)"), "{}", found[0].1);
        let found =
            judged(&["intel_idle: max_cstate 2 reached", "intel_idle: state C6 is disabled"]);
        assert!(found[0].1.contains("deeper than number 2, intel_idle leaves C6 out"));
        assert!(judged(&["intel_idle: state C6 is fine", "the max_cstate 2 reached"]).is_empty());
    }
}
