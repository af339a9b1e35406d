//! Low-power states that a kernel says at boot it leaves out: of links of SATA, of processors.

use crate::case::Case;
use crate::evidence::{lines, value};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
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
    let f = |level, sure| Finding::new(("idle-states-left-out", Area::Idle, level), sure);
    let told = format!("Idle states of the processors are left out: {}.", list.join(", "));
    let shown = lines(said.iter().map(|s| s.0));
    // A word for one driver orders nothing of the other.
    let mut orders: Vec<(&str, Evidence)> = ordered(case);
    let own = |w: &str| {
        let acpi = w.starts_with("processor.");
        list.iter().any(|l| l.starts_with("the ACPI driver") == acpi)
    };
    if !orders.iter().any(|o| own(o.0)) {
        orders.clear();
    }
    let words: Vec<&str> = orders.iter().map(|o| o.0).collect();
    out.push(match &words[..] {
        [] => f(Level::Note, Confidence::Certain).says(told)
            .look("intel_idle.max_cstate=, intel_idle.states_off= and processor.max_cstate= of the command line do that; without deep states of all cores the package has none, and s2idle stays shallow.")
            .shown_by(shown),
        // Somebody ordered it, and it costs energy.
        words => f(Level::Risk, Confidence::Certain)
            .says(format!("{told} The kernel's command line orders that: {}.", words.join(" ")))
            .look("Without deep states of all cores the package has none, and s2idle stays shallow. Take those words off the command line (GRUB_CMDLINE_LINUX of /etc/default/grub, or the boot loader's entry), and look who added them and why.")
            .shown_by(shown)
            .shown_by(orders.iter().map(|o| o.1.clone()).take(1)),
    });
}

/// Words of the command line that leave states out (Documentation/admin-guide/
/// kernel-parameters.txt, 6.12): of each the last one holds.
fn ordered(case: &Case) -> Vec<(&str, Evidence)> {
    const WORDS: [&str; 3] =
        ["intel_idle.max_cstate=", "intel_idle.states_off=", "processor.max_cstate="];
    let said = case.messages.having("ommand line: ").map(|(_, m)| m);
    let said = said.filter(|m| m.trust.is_of_a_kernel());
    let said = said.filter_map(|m| Some((m.after("ommand line: ")?, Evidence::from(m))));
    let file = case.values.iter().filter(|v| v.path == "/proc/cmdline");
    let mut out: Vec<(&str, Evidence)> = Vec::new();
    for (line, shown) in said.chain(file.map(|v| (v.value.as_str(), value(v)))) {
        for word in line.split_whitespace() {
            let Some(name) = WORDS.iter().find(|w| word.starts_with(**w)) else { continue };
            out.retain(|o| !o.0.starts_with(name));
            out.push((word, shown.clone()));
        }
    }
    out
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
        let ordered = judged(&[
            "Command line: root=/dev/oak intel_idle.max_cstate=4 elm=1 intel_idle.max_cstate=2",
            "intel_idle: max_cstate 2 reached",
        ]);
        let told = &ordered[0].1;
        assert!(told.ends_with("The kernel's command line orders that: intel_idle.max_cstate=2."));
        assert!(judged(&["Command line: intel_idle.max_cstate=1"]).is_empty());
        let other = judged(&[
            "Command line: root=/dev/oak processor.max_cstate=9",
            "intel_idle: max_cstate 2 reached",
        ]);
        assert!(!other[0].1.contains("orders"), "{}", other[0].1);
        assert!(judged(&["intel_idle: state C6 is fine", "the max_cstate 2 reached"]).is_empty());
    }
}
