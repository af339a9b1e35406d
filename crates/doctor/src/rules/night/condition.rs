//! Conditions of the platform's sleep, constraints of the firmware, power resources: what was
//! not met, and when that is no blocker.

use super::required::is_deep;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::night::machine::Hardware;
use crate::night::{Conditions, Fact, Item};
use dormouse_base::say;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    tables(case, out);
    ports(case, out);
    constraints(case, out);
    resources(case, out);
    mask(case, out);
    aspm(case, out);
}

/// Tables of conditions: a blocker only where the sleep is known to have failed.
fn tables(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(&Item, Conditions, &str, bool)> = case
        .night
        .items
        .iter()
        .filter_map(|i| match &i.fact {
            Fact::Condition { table, name, met } => Some((i, *table, name.as_str(), *met)),
            _ => None,
        })
        .collect();
    let Some((_, table, ..)) = all.first() else { return };
    let of: Vec<_> = all.iter().filter(|c| c.1 == *table).collect();
    let mut names: Vec<&str> = of.iter().filter(|c| !c.3).map(|c| c.2).collect();
    names.dedup();
    let shown = || of.iter().filter(|c| !c.3).take(6).map(|c| Evidence::from(c.0));
    let file = table.file();
    if names.is_empty() {
        let f = Finding::new(("block-condition", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "All {} of {file} that the text shows are met.",
                say::plural(of.len(), "condition")
            ))
            .shown_by(of.first().map(|c| Evidence::from(c.0)));
        out.push(f);
        return;
    }
    let list = short(&names);
    let passed = case.night.items.iter().find(|i| i.fact == Fact::Passed);
    let deep =
        is_deep(out) || case.night.items.iter().any(|i| i.fact == Fact::Verdict { deep: true });
    let failed = out.iter().any(|f| matches!(f.id, "mode-name-only" | "mode-partial"));
    let (rule, confidence) = match (deep, failed, table) {
        (false, true, Conditions::SlpS0 | Conditions::Requirement) => {
            (("block-condition", Area::Mode, Level::Risk), Confidence::Likely)
        }
        _ => (("block-condition", Area::Mode, Level::Note), Confidence::Certain),
    };
    let count = format!("{} of the {} conditions of {file} in the text", names.len(), of.len());
    let words = match (deep, rule.2) {
        (true, _) => format!(
            "Not met were {count} ({list}). They blocked nothing: the text says that the deep state was reached. A part that works while the machine sleeps may stay on."
        ),
        (_, Level::Risk) => format!(
            "What the deepest state requires and did not get: {list}. One of these parts kept the machine awake."
        ),
        _ if passed.is_some() => format!(
            "Not met were {count} ({list}), when it was read. They blocked nothing if the S0ix test passed, as the writer says: a part that works while the machine sleeps may stay on."
        ),
        _ => format!(
            "Not met were {count} ({list}), when it was read. That alone proves no blocker: no line that was read shows that a sleep failed, and a machine that is awake meets few of them."
        ),
    };
    let passed = passed.filter(|_| !deep && rule.2 == Level::Note);
    let f = Finding::new(rule, confidence).says(words).shown_by(shown());
    let f = f.shown_by(passed.map(Evidence::from));
    let advice = "Read it right after a sleep, with /sys/module/intel_pmc_core/parameters/warn_on_s0ix_failures at Y, and compare slp_s0_residency_usec before and after.";
    out.push(if deep { f } else { f.look(advice) });
}

fn short(names: &[&str]) -> String {
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(8);
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Root ports that Intel's self-test saw outside of D3cold.
fn ports(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(&Item, &str)> = case
        .night
        .of(|f| match f {
            Fact::Port(p) => Some(p.as_str()),
            _ => None,
        })
        .collect();
    let Some((_, first)) = all.first() else { return };
    let names: Vec<&str> = all.iter().map(|p| p.1).collect();
    let failed = out.iter().any(|f| matches!(f.id, "mode-name-only" | "mode-partial"));
    let level = if failed { Level::Risk } else { Level::Note };
    let f = Finding::new(("block-port", Area::Mode, level), Confidence::Guess)
        .says(format!("The self-test saw {} outside of D3cold in the sleep: {}. What is behind stayed powered, which keeps many platforms from their deepest state; that it did here, the text does not prove.", say::plural(all.len(), "root port"), short(&names)))
        .look(format!("lspci -t names the device behind {first}; see its power/control, its link (lspci -vv: ASPM), and its power/d3cold_allowed."))
        .change(
            "To try: echo powersupersave > /sys/module/pcie_aspm/parameters/policy.",
            "echo default > the same file.",
            "A device with a bad link may vanish.",
        )
        .shown_by(all.iter().take(3).map(|p| Evidence::from(p.0)));
    out.push(f);
}

/// `LPI: Constraint not met; min power state:D3hot current power state:D0`, `LPI: Device not
/// power manageable` (drivers/acpi/x86/s2idle.c:lpi_check_constraints, 5.4 to 7.3).
fn constraints(case: &Case, out: &mut Vec<Finding>) {
    let with = |word: &str| -> Vec<&Message> { case.messages.all_having(word) };
    let unmet = with(": LPI: Constraint not met");
    let exempt = with(": LPI: Device not power manageable");
    let name = |m: &Message| {
        let before = m.text.split(": LPI:").next().unwrap_or("");
        before.rsplit(' ').next().unwrap_or(before).to_owned()
    };
    if unmet.is_empty() {
        if exempt.is_empty() {
            return;
        }
        let f = Finding::new(("block-constraint", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("{} say \"Device not power manageable\". The kernel checks nothing of such a device, so none of them is a constraint that failed: these lines name no blocker.", say::plural(exempt.len(), "line")))
            .look("A constraint that failed has the words \"Constraint not met\".")
            .shown_by(lines(exempt));
        out.push(f);
        return;
    }
    let mut names: Vec<String> = unmet.iter().map(|m| name(m)).collect();
    names.sort();
    names.dedup();
    let state = |m: &Message| {
        let needs = m.after("min power state:")?.split_whitespace().next()?.to_owned();
        let is = m.after("current power state:")?.split_whitespace().next()?.to_owned();
        Some(format!("{} is in {is} and must be in {needs}", name(m)))
    };
    let said: Vec<String> = {
        let mut all: Vec<String> = unmet.iter().filter_map(|m| state(m)).collect();
        all.sort();
        all.dedup();
        all
    };
    let list = if said.is_empty() {
        names.join(", ")
    } else {
        said.iter().take(4).cloned().collect::<Vec<_>>().join("; ")
    };
    let failed = out.iter().any(|f| matches!(f.id, "mode-name-only" | "mode-partial"));
    let reached = [Fact::Verdict { deep: true }, Fact::Reached];
    let slept =
        is_deep(out) || !failed && case.night.items.iter().any(|i| reached.contains(&i.fact));
    let level = if slept { Level::Note } else { Level::Risk };
    let tail = match (slept, failed) {
        (true, _) => " The hardware slept all the same: they blocked nothing.",
        (_, true) => " Each of them can have kept the platform awake.",
        _ => " No line that was read shows that a sleep failed.",
    };
    let confidence = if failed { Confidence::Likely } else { Confidence::Guess };
    let f = Finding::new(
        ("block-constraint", Area::Mode, level),
        if slept { Confidence::Certain } else { confidence },
    )
    .says(format!("The firmware's constraints of the deep state were not met: {list}.{tail}"))
    .look("Look at the driver of that device: it must let it go to that state in a sleep.")
    .shown_by(lines(unmet));
    out.push(f);
}

/// `Power resource [P0SA] still in use`, `\_SB.P0SA: Power resource still in use`
/// (drivers/acpi/power.c:acpi_power_off_unlocked).
fn resources(case: &Case, out: &mut Vec<Finding>) {
    let name = |m: &Message| match m.after("Power resource [") {
        Some(rest) => rest.split(']').next().unwrap_or("").to_owned(),
        None => m
            .text
            .split(": Power resource")
            .next()
            .and_then(|t| t.rsplit([' ', '.']).next())
            .unwrap_or("")
            .to_owned(),
    };
    // Who went down just before, or what did just behind.
    let down =
        |at: usize| case.messages[at.saturating_sub(2)..at].iter().rev().find(|m| m.has("-> D3"));
    let falls = |at: usize| {
        let next = case.messages.get(at + 1);
        down(at).is_some() || next.is_some_and(|m| m.has("state changed to D3"))
    };
    // The kernel says so of every resource that two devices share, at boot too. One that is
    // still on when all of a sleep's devices are down is another matter.
    let stays = |(at, m): &(usize, &Message)| {
        if !(m.has("Power resource") && m.has("still in use")) {
            return false;
        }
        let sleep = case.attempts.iter().find(|a| (a.first..a.end).contains(at));
        let end = sleep.map_or(case.messages.len(), |a| a.end);
        let off = |o: &Message| o.has("turned off") && name(o) == name(m);
        (sleep.is_some() || falls(*at)) && !case.messages[at + 1..end].iter().any(off)
    };
    let Some((at, first)) = case.messages.having("still in use").find(stays) else { return };
    let (name, down) = (name(first), down(at));
    let deep = is_deep(out);
    let who = down
        .map(|m| m.text.split_once(": ").map_or(m.text.as_str(), |t| t.1))
        .and_then(|t| t.split(": ").next());
    let after = who.map_or(String::new(), |w| format!(" when {w} went to D3cold"));
    let shown = down.into_iter().chain([first]);
    let level = if deep { Level::Note } else { Level::Risk };
    let all_the_same =
        if deep { " The hardware slept all the same: it blocked nothing." } else { "" };
    let f = Finding::new(("block-resource", Area::Mode, level), Confidence::Likely)
        .says(format!("Power resource {name} stays on{after}: another node of the firmware uses it too, and did not let go of it. The kernel does not print which; a node without a device, which no driver puts to sleep, is one reading.{all_the_same}"))
        .look(format!("Find {name} in the _PR0 and _PR3 of the ACPI tables: every node that lists it must go to D3cold. /sys/bus/acpi/devices/*/real_power_state shows who did not."))
        .shown_by(lines(shown));
    out.push(f);
}

/// What `lspci -vv` says of links: one without ASPM is a suspicion, no blocker.
fn aspm(case: &Case, out: &mut Vec<Finding>) {
    let off: Vec<(&Item, &str)> = case
        .night
        .of(|f| match f {
            Fact::Hardware(Hardware::Aspm { address, enabled: false }) => Some(address.as_str()),
            _ => None,
        })
        .collect();
    if off.is_empty() {
        return;
    }
    let names: Vec<&str> =
        off.iter().map(|o| if o.1.is_empty() { "a device" } else { o.1 }).collect();
    let f = Finding::new(("block-aspm", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("These links have ASPM off: {}. While such a link is up, many platforms stay above their deepest state; a device in D3cold has no link. That it blocked a sleep, these lines do not prove.", short(&names)))
        .change(
            "To try: echo powersupersave > /sys/module/pcie_aspm/parameters/policy.",
            "echo default > the same file.",
            "A device with a bad link may vanish.",
        )
        .shown_by(off.iter().take(3).map(|o| Evidence::from(o.0)));
    out.push(f);
}

/// `SMU idlemask s0i3: 0x1ffb3ebd` (drivers/platform/x86/amd/pmc/pmc.c:amd_pmc_idlemask_read):
/// parts that were idle when it was read; its bits are in no document.
fn mask(case: &Case, out: &mut Vec<Finding>) {
    let Some(m) = case.messages.first_having("SMU idlemask") else { return };
    if !out.is_empty() || !case.attempts.is_empty() {
        return;
    }
    let f = Finding::new(("block-mask", Area::Mode, Level::Note), Confidence::Certain)
        .says("The idle mask of the SMU is in the text. AMD documents none of its bits: it is worth comparing with that of a sleep that went deep, and proves nothing alone.")
        .shown_by(lines([m]));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Trust;
    use crate::night::Night;

    fn condition(name: &str, met: bool) -> Fact {
        Fact::Condition { table: Conditions::SlpS0, name: name.into(), met }
    }

    fn case(facts: Vec<Fact>, said: &[&str]) -> Case {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let messages = (1..)
            .zip(said)
            .map(|(line, t)| Message {
                line,
                time: None,
                second: None,
                text: (*t).into(),
                trust: Trust::Shown,
            })
            .collect();
        Case { night: Night { items, ..Night::default() }, messages, ..Case::default() }
    }

    fn first(case: &Case, mut out: Vec<Finding>) -> Finding {
        judge(case, &mut out);
        out.pop().expect("a finding")
    }

    #[test]
    fn a_no_is_a_blocker_only_where_the_sleep_failed() {
        let facts = || vec![condition("XHCI_D3", false), condition("SATA_D3", true)];
        let alone = first(&case(facts(), &[]), Vec::new());
        assert!(alone.level == Level::Note && alone.sentence.contains("proves no blocker"));
        let mut passed = facts();
        passed.push(Fact::Verdict { deep: true });
        assert!(first(&case(passed, &[]), Vec::new()).sentence.contains("blocked nothing"));
        let failed = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain);
        let blamed = first(&case(facts(), &[]), vec![failed]);
        assert!(blamed.level == Level::Risk && blamed.sentence.contains("XHCI_D3"));
    }

    #[test]
    fn devices_that_cannot_be_managed_break_no_constraint() {
        let exempt = first(
            &case(vec![], &["ACPI: \\_SB.X.C001: LPI: Device not power manageable"]),
            Vec::new(),
        );
        assert_eq!(exempt.level, Level::Note);
        let line = "ACPI: \\_SB.PCI0.GP7: LPI: Constraint not met; min power state:D3hot current power state:D0";
        let unmet = first(&case(vec![], &[line]), Vec::new());
        assert!(
            unmet.sentence.contains("\\_SB.PCI0.GP7 is in D0 and must be in D3hot"),
            "{}",
            unmet.sentence
        );
    }

    #[test]
    fn a_shared_power_resource_is_named_in_both_forms() {
        for line in [
            "ACPI: PM: Power resource [PXY1] still in use",
            "ACPI: \\_SB_.PCI0.PXY1: Power resource still in use",
        ] {
            let down = "ACPI: \\_SB_.PCI0.ABC1: ACPI: PM: Power state change: D0 -> D3cold";
            let f = first(&case(vec![], &[down, line]), Vec::new());
            assert!(f.sentence.contains("PXY1 stays on when \\_SB_.PCI0.ABC1"), "{}", f.sentence);
            let judged = |said: &[&str]| {
                let mut out = Vec::new();
                judge(&case(vec![], said), &mut out);
                out.len()
            };
            assert_eq!(judged(&[line]), 0, "at boot it is no fault");
            let off = "ACPI: PM: Power resource [PXY1] turned off";
            assert_eq!(judged(&[down, line, off]), 0, "it went off after all");
        }
    }
}
