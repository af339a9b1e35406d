//! CPUs that could not be switched off for a sleep, or did not come back behind it.

use super::host::NEAR;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::refusal;
use dormouse_base::phase::Direction;
use dormouse_base::say;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    processors(case, out);
    missing(case, out);
}

/// A CPU that could not be switched off (kernel/cpu.c:freeze_secondary_cpus).
fn processors(case: &Case, out: &mut Vec<Finding>) {
    let down = case.messages.having(" down: ").map(|(_, m)| m);
    let said: Vec<&Message> = down.filter(|m| refusal::cpu(&m.text).is_some()).collect();
    let Some((cpu, error)) = said.first().and_then(|m| refusal::cpu(&m.text)) else { return };
    let rule = ("cpu-not-off", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!(
            "{cpu} could not be switched off, so the machine did not sleep: {}.",
            say::refused(error)
        ))
        .of_error(error)
        .look("Try it awake: echo 0 > /sys/devices/system/cpu/cpuN/online. Pinned real-time or deadline tasks and faulty CPU hotplug drivers do this.")
        .at("CPUs off")
        .when(Some(Direction::Suspend), None)
        .shown_by(lines(said));
    out.push(f);
}

/// CPUs that did not come back behind a sleep, or behind one that was given up
/// (kernel/cpu.c:thaw_secondary_cpus, 2.6.32 to 7.3): the kernel goes on without them.
fn missing(case: &Case, out: &mut Vec<Finding>) {
    let up = case.messages.having(" up: ").filter(|(_, m)| refusal::cpu_up(&m.text).is_some());
    let said: Vec<(usize, &Message)> = up.collect();
    let Some((_, error)) = said.first().and_then(|(_, m)| refusal::cpu_up(&m.text)) else { return };
    let mut names: Vec<&str> = Vec::new();
    for (_, m) in &said {
        names.extend(refusal::cpu_up(&m.text).map(|c| c.0).filter(|c| !names.contains(c)));
    }
    let (first, last) = (said[0].0, said[said.len() - 1].0);
    // kernel/cpu.c:cpuhp_invoke_callback_range_nofail and its kin name the step.
    let step = case.messages[first.saturating_sub(NEAR)..=last].iter().find_map(|m| {
        let (cpu, rest) = m.text.strip_prefix("CPU ")?.split_once(" UP state ")?;
        names.iter().any(|n| n.strip_prefix("CPU") == Some(cpu)).then_some(())?;
        Some((m, rest.split(' ').next()?))
    });
    let named = step.map_or(String::new(), |(_, s)| format!(" The step that failed is {s}."));
    let again = |name: &&str| {
        let up = |m: &Message| m.text.strip_prefix(*name).is_some_and(|r| r.trim_end() == " is up");
        case.messages[last..].iter().any(up)
    };
    let (level, end) = match names.iter().all(again) {
        true => (Level::Risk, "later it was there again"),
        false => (Level::Broken, "the machine went on without it"),
    };
    let end = match names.len() {
        1 => end.to_string(),
        _ => end.replace("it was", "they were").replace("without it", "without them"),
    };
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let f = Finding::new(("cpu-not-on", Area::Phase, level), Confidence::Certain)
        .says(format!(
            "{} did not come back when the CPUs were switched on again: {}; {end}.{named}",
            say::names(&names),
            say::told(error)
        ))
        .of_error(error)
        .look("Compare /sys/devices/system/cpu/online with present, and try it awake: echo 1 > /sys/devices/system/cpu/cpuN/online. The lines just before tell which step refused: firmware that does not start the CPU, or a driver that gets no memory or interrupt for it.")
        .at("CPUs on")
        .when(Some(Direction::Resume), None)
        .shown_by(lines(step.map(|s| s.0).into_iter().chain(said.iter().map(|s| s.1))));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[&str]) -> Vec<(&'static str, Level, String)> {
        let log: Vec<(i64, &str)> = (1..).map(|n| n * 100).zip(lines.iter().copied()).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        out.into_iter().map(|f| (f.id, f.level, f.sentence)).collect()
    }

    #[test]
    fn cpus_that_do_not_come_back_are_told() {
        let one = found(&[
            "Enabling non-boot CPUs ...",
            "CPU1 is up",
            "CPU 2 UP state elm:online (173) failed (-12)",
            "Error taking CPU2 up: -12",
        ]);
        let [(id, level, said)] = &one[..] else { panic!("{one:?}") };
        assert_eq!((*id, *level), ("cpu-not-on", Level::Broken));
        assert!(said.starts_with("CPU2 did not come back"), "{said}");
        assert!(said.contains("ENOMEM") && said.contains("went on without it"), "{said}");
        assert!(said.ends_with("The step that failed is elm:online."), "{said}");
        let two = found(&["Error taking CPU2 up: -5", "Error taking CPU3 up: -5"]);
        assert!(two[0].2.starts_with("CPU2 and CPU3 did not"), "{two:?}");
        assert!(two[0].2.contains("without them"), "{two:?}");
    }

    #[test]
    fn a_cpu_that_is_there_again_later_is_no_lost_one() {
        let late = found(&["Error taking CPU12 up: -5", "CPU1 is up", "CPU12 is up"]);
        assert_eq!(
            (late[0].1, late[0].2.contains("later it was there again")),
            (Level::Risk, true)
        );
        let other = found(&["Error taking CPU12 up: -5", "CPU1 is up"]);
        assert_eq!(other[0].1, Level::Broken);
        assert!(found(&["CPU12 is up", "Enabling non-boot CPUs ..."]).is_empty());
        let down = found(&["Error taking CPU12 down: -16"]);
        assert_eq!(down.iter().map(|f| f.0).collect::<Vec<_>>(), ["cpu-not-off"]);
    }
}
