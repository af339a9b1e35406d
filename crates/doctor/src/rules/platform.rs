//! What the platform counted around a sleep, in tables and values that stand anywhere in a
//! text: residencies of Intel's and AMD's power management units
//! (drivers/platform/x86/intel/pmc/core.c, drivers/platform/x86/amd/pmc/pmc.c, 6.1 to 7.3),
//! of the ACPI table LPIT (drivers/acpi/acpi_lpit.c), and what Intel's S0ix self-test says.

use crate::case::Case;
use crate::evidence::{lines, value};
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, thousandths};
use crate::value::Value;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Files that count time of the whole system in hardware sleep, and only grow.
const SYSTEM: [&str; 3] =
    ["slp_s0_residency_usec", "low_power_idle_system_residency_us", "total_hw_sleep"];

/// The file that counts time of the processor's package in its deepest state.
const PROCESSOR: &str = "low_power_idle_cpu_residency_us";

fn number(v: &Value) -> Option<u64> {
    v.value.parse().ok()
}

/// What a text says kept a machine from its deepest state.
pub(super) struct Kept {
    /// As a sentence.
    pub words: String,
    /// The lines.
    pub evidence: Vec<Evidence>,
}

/// `SLP_S0_DBG: XHCI_D3    State: No`, as the driver prints it after a sleep that failed, and
/// as `slp_s0_debug_status` has it; and of `ltr_show` the device that asks for the least
/// latency.
pub(super) fn kept(case: &Case) -> Option<Kept> {
    let mut unmet: Vec<(&str, &Message)> = Vec::new();
    for m in &case.messages {
        let Some(rest) = m.after("SLP_S0_DBG: ") else { continue };
        let Some((name, state)) = rest.split_once("State:") else { continue };
        let name = name.trim();
        if state.trim().starts_with("No") && !unmet.iter().any(|u| u.0 == name) {
            unmet.push((name, m));
        }
    }
    if unmet.is_empty() {
        return None;
    }
    let names: Vec<&str> = unmet.iter().map(|u| u.0).collect();
    let words = match names[..] {
        [one] => format!("This condition of SLP_S0 was not met: {one}."),
        _ => format!("These conditions of SLP_S0 were not met: {}.", names.join(", ")),
    };
    let evidence = unmet.iter().take(8).map(|u| Evidence::from(u.1)).collect();
    Some(Kept { words, evidence })
}

/// Whether the text has any of these tables.
pub(super) fn has_tables(case: &Case) -> bool {
    let words = [
        "Time (in us) in S0i3",
        "S0ix substate",
        "SYS%LPI",
        "SLP_S0_DBG: ",
        "Residency Time: ",
        "Last S0i3 Status",
    ];
    case.messages.iter().any(|m| words.iter().any(|w| m.has(w)))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    // What a driver says of a sleep outranks what its tables say.
    if out
        .iter()
        .any(|f| f.area == Area::Mode && f.id != "mode-wake-source" && f.id != "mode-turns")
    {
        return;
    }
    if grown(case, out) || selftest(case, out) || substates(case, out) {
        return;
    }
    smu(case, out);
}

/// The first and the last value of a file that stands in the text more than once.
fn pair<'a>(case: &'a Case, name: &str) -> Option<(&'a Value, &'a Value)> {
    let mut of = case.values.iter().filter(|v| v.name() == name && number(v).is_some());
    let first = of.next()?;
    let last = of.rfind(|v| v.path == first.path)?;
    Some((first, last))
}

fn by(p: (&Value, &Value)) -> i128 {
    i128::from(number(p.1).unwrap_or(0)) - i128::from(number(p.0).unwrap_or(0))
}

/// `28,784.6 s` of microseconds.
fn seconds(us: i128) -> String {
    say::span(Ns(i64::try_from(us).unwrap_or(i64::MAX / 1_000).saturating_mul(1_000)))
}

/// Counters before and after a sleep: what did not grow in it did not count.
fn grown(case: &Case, out: &mut Vec<Finding>) -> bool {
    let pairs: Vec<_> = SYSTEM.iter().filter_map(|n| pair(case, n)).collect();
    if pairs.is_empty() {
        return false;
    }
    let shown = |p: &(&Value, &Value)| [value(p.0), value(p.1)];
    let evidence = pairs.iter().flat_map(shown);
    let name = pairs[0].0.name();
    if let Some(most) = pairs.iter().map(|p| by(*p)).max().filter(|&us| us > 0) {
        let f = Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "The hardware slept: its counter ({name}) grew by {} between the two times that the text shows it.",
                seconds(most)
            ))
            .shown_by(evidence);
        out.push(f);
        return true;
    }
    // It must have slept in between: a success more, a processor that counted, a log of it.
    let success = pair(case, "success").filter(|p| by(*p) > 0);
    let processor = pair(case, PROCESSOR).filter(|p| by(*p) > 0);
    let slept = success.is_some()
        || processor.is_some()
        || case.attempts.iter().any(|a| a.mode == "s2idle");
    if !slept {
        return false;
    }
    let mut evidence: Vec<Evidence> = evidence.collect();
    evidence.extend(success.iter().flat_map(shown));
    evidence.extend(processor.iter().flat_map(shown));
    let meanwhile = match (processor, success) {
        (Some(p), _) => format!(
            ", while the processor counted {} in its deepest package state: what kept it is outside the processor",
            seconds(by(p))
        ),
        (None, Some(p)) => format!(
            ", while {} succeeded",
            say::plural(usize::try_from(by(p)).unwrap_or(0), "sleep")
        ),
        (None, None) => String::new(),
    };
    let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!(
            "The machine slept in name only: the counter of the hardware ({name}) stood still{meanwhile}."
        ))
        .look(CONSTRAINTS)
        .shown_by(evidence);
    out.push(because(case, f));
    true
}

/// Adds what the text says kept it.
fn because(case: &Case, f: Finding) -> Finding {
    match kept(case) {
        Some(k) => f.because(k.words).shown_by(k.evidence),
        None => f,
    }
}

/// A column of the row below a head of turbostat, in thousandths.
fn column<'a>(case: &'a Case, name: &str) -> Option<(&'a Message, u64)> {
    let mut best = None;
    for (at, m) in case.messages.iter().enumerate().filter(|(_, m)| m.has(name)) {
        let heads: Vec<&str> = m.text.split_whitespace().collect();
        let Some(place) = heads.iter().position(|h| *h == name) else { continue };
        for row in case.messages[at + 1..].iter().take(3) {
            let cells: Vec<&str> = row.text.split_whitespace().collect();
            let number = cells
                .get(place)
                .filter(|_| cells.len() == heads.len())
                .and_then(|c| thousandths(c));
            if let Some(n) = number {
                best = Some((row, n));
                break;
            }
        }
    }
    best
}

/// What Intel's S0ix self-test concludes (its script s0ix-selftest-tool.sh).
fn selftest(case: &Case, out: &mut Vec<Finding>) -> bool {
    let find = |word: &str| case.messages.iter().find(|m| m.has(word));
    let is_test =
        find("S0ix Residency---").or_else(|| find("S0ix substate")).or_else(|| find("S2idle"));
    if is_test.is_none() {
        return false;
    }
    let share = column(case, "SYS%LPI");
    let package = column(case, "Pk%pc10").or_else(|| column(case, "Pkg%pc10"));
    let percent = |p: Option<(&Message, u64)>| p.map(|(_, n)| percent(n));
    let spent =
        percent(share).map_or(String::new(), |p| format!(" It was in S0ix for {p} of the test."));
    let evidence = |m: &Message| {
        let rows = share.iter().chain(&package).map(|r| r.0);
        let mut all = lines([m].into_iter().chain(rows));
        all.dedup_by_key(|e| e.line);
        // The test prints on a terminal, without the prefix of a log.
        all.iter_mut().for_each(|e| e.doubtful = false);
        all
    };
    if let Some(m) = find("only get shallower S0ix substate residency") {
        let rest = m.after("residency:").unwrap_or("").split_whitespace().next().unwrap_or("");
        let which = if rest.is_empty() { String::new() } else { format!(" {rest}") };
        let deepest = deepest(case).map_or(String::new(), |d| format!(", not the deepest ({d})"));
        let f = Finding::new(("mode-partial", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!("The machine reached only a shallower state of S0ix{which}{deepest}.{spent}"))
            .look("substate_status_registers of pmc_core, read after the sleep, lists what the deeper state requires and did not get.")
            .shown_by(evidence(m));
        out.push(because(case, f));
        return true;
    }
    if let Some(m) = find("Congratulations! Your system achieved") {
        let f = Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("The machine reached S0ix in the self-test.{spent}"))
            .shown_by(evidence(m));
        out.push(f);
        return true;
    }
    let none = [
        "did not achieve the shallowest",
        "no S0ix residency",
        "but no PC8 residency",
        "did not achieve PC2 state",
        "blocked S0ix since PC10",
    ];
    if let Some(m) = none.iter().find_map(|w| find(w)) {
        let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain);
        let f = match package.map(|p| p.1) {
            Some(0) => f.says("The machine slept in name only: the self-test counted no S0ix, and the processor's package never reached C10."),
            Some(_) => f.says(format!(
                "The machine slept in name only: the self-test counted no S0ix, while the processor's package was in C10 for {}.",
                percent(package).unwrap_or_default()
            )),
            None => f.says("The machine slept in name only: the self-test counted no S0ix."),
        };
        out.push(because(case, f.look(CONSTRAINTS).shown_by(evidence(m))));
        return true;
    }
    false
}

/// The deepest substate that the text names.
fn deepest(case: &Case) -> Option<&str> {
    let needs = case.messages.iter().find_map(|m| m.after("why not deeper substate:"));
    if let Some(name) = needs.and_then(|r| r.split_whitespace().next()) {
        return Some(name);
    }
    let is = |w: &&str| w.starts_with("S0i") && w[3..].starts_with(|c: char| c.is_ascii_digit());
    let names = |m: &'_ Message| -> Vec<String> {
        m.text.split_whitespace().filter(is).map(ToString::to_string).collect()
    };
    // A list of them goes from the shallowest to the deepest.
    let list = case.messages.iter().find(|m| names(m).len() > 1)?;
    list.text.split_whitespace().rfind(is)
}

/// The rows of `substate_residencies`: name and microseconds.
fn rows(case: &Case) -> Vec<(&str, u64, &Message)> {
    let mut out = Vec::new();
    for m in &case.messages {
        let words: Vec<&str> = m.text.split_whitespace().collect();
        let words = words.strip_prefix(&["Enabled"][..]).unwrap_or(&words);
        let [name, number] = words else { continue };
        let is = name.starts_with("S0i") && name[3..].starts_with(|c: char| c.is_ascii_digit());
        if let (true, Ok(n)) = (is, number.parse()) {
            out.push((*name, n, m));
        }
    }
    out
}

/// Substates of S0ix: the deepest never entered, though a shallower one was.
fn substates(case: &Case, out: &mut Vec<Finding>) -> bool {
    let all = rows(case);
    let Some(&(last, _, m)) = all.last() else { return false };
    // Two tables: what grew between them.
    let grew = |name: &str| {
        let of: Vec<u64> = all.iter().filter(|r| r.0 == name).map(|r| r.1).collect();
        match of[..] {
            [one] => one,
            [first, .., end] => end.saturating_sub(first),
            [] => 0,
        }
    };
    let shallower: Vec<&str> = {
        let mut names: Vec<&str> =
            all.iter().map(|r| r.0).filter(|n| *n != last && grew(n) > 0).collect();
        names.dedup();
        names
    };
    if grew(last) > 0 {
        let f = Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "The hardware slept in its deepest state {last}, for {}.",
                seconds(i128::from(grew(last)))
            ))
            .shown_by(lines([m]));
        out.push(f);
        return true;
    }
    let Some(name) = shallower.last() else { return false };
    let f = Finding::new(("mode-partial", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!(
            "The hardware slept only in the shallower state {name} ({}), never in its deepest, {last}.",
            seconds(i128::from(grew(name)))
        ))
        .look("substate_status_registers of pmc_core, read after the sleep, lists what the deeper state requires and did not get.")
        .shown_by(lines([m]));
    out.push(because(case, f));
    true
}

/// What AMD's power management unit says of the last sleep: `smu_fw_info` and `s0ix_stats`
/// in debugfs (drivers/platform/x86/amd/pmc/pmc.c:smu_fw_info_show, s0ix_stats_show).
fn smu(case: &Case, out: &mut Vec<Finding>) {
    let read = |m: &Message| {
        let rest = m.after("Time (in us) in S0i3: ").or_else(|| m.after("Residency Time: "))?;
        rest.trim().parse::<u64>().ok()
    };
    let Some((m, us)) = case.messages.iter().rev().find_map(|m| Some((m, read(m)?))) else {
        return;
    };
    let status = case.messages.iter().rev().find(|m| m.has("Last S0i3 Status:"));
    if us > 0 {
        let f = Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "The hardware slept: {} in S0i3, by its own table.",
                seconds(i128::from(us))
            ))
            .shown_by(lines([m]));
        out.push(f);
        return;
    }
    // Before the first sleep of a boot the table is as empty.
    let success =
        case.values.iter().rfind(|v| v.name() == "success" && number(v).is_some_and(|n| n > 0));
    let slept = case.attempts.iter().any(|a| a.mode != "deep" && a.mode != "hibernation");
    if success.is_none() && !slept {
        return;
    }
    let said = status.and_then(|s| s.after("Status:")).map_or("", str::trim);
    let said = if said.is_empty() { String::new() } else { format!(" (status {said})") };
    let mut evidence = lines(status.into_iter().chain([m]));
    evidence.extend(success.map(value));
    evidence.iter_mut().for_each(|e| e.doubtful = false);
    let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!(
            "The machine slept in name only: its power management unit counted no time in S0i3 in the last sleep{said}."
        ))
        .look(CONSTRAINTS)
        .shown_by(evidence);
    out.push(f);
}

/// What to look at where nothing tells what kept a machine awake.
pub(crate) const CONSTRAINTS: &str = "Look for a CPU state that is switched off, a device that is not in D3, and events inside the sleep; pm_debug_messages lists the constraints that were not met.";

/// `1.19 %` of thousandths of a per cent.
pub(super) fn percent(thousandths: u64) -> String {
    let hundredths = thousandths.saturating_add(5) / 10;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
