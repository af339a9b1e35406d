//! What the platform counted around a sleep, in tables and values that stand anywhere in a
//! text: residencies of Intel's and AMD's power management units
//! (drivers/platform/x86/intel/pmc/core.c, drivers/platform/x86/amd/pmc/pmc.c, 6.1 to 7.3),
//! and what Intel's S0ix self-test says.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, thousandths};
use crate::night::{Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// What a text says kept a machine from its deepest state.
pub(super) struct Kept {
    /// As a sentence.
    pub words: String,
    /// It names parts of an AMD chip that were active, which stand beside what they kept.
    pub of_parts: bool,
    /// The lines.
    pub evidence: Vec<Evidence>,
}

/// `SLP_S0_DBG: XHCI_D3    State: No`, as the driver prints it after a sleep that failed, and
/// as `slp_s0_debug_status` has it; and of `ltr_show` the device that asks for the least
/// latency.
pub(super) fn kept(case: &Case) -> Option<Kept> {
    let mut unmet: Vec<(&str, &Message)> = Vec::new();
    for (_, m) in case.messages.having("SLP_S0_DBG: ") {
        let Some(rest) = m.after("SLP_S0_DBG: ") else { continue };
        let Some((name, state)) = rest.split_once("State:") else { continue };
        let name = name.trim();
        if state.trim().starts_with("No") && !unmet.iter().any(|u| u.0 == name) {
            unmet.push((name, m));
        }
    }
    if unmet.is_empty() {
        return parts(case);
    }
    let names: Vec<&str> = unmet.iter().map(|u| u.0).collect();
    let words = match names[..] {
        [one] => format!("This condition of SLP_S0 was not met: {one}."),
        _ => format!("These conditions of SLP_S0 were not met: {}.", names.join(", ")),
    };
    let evidence = unmet.iter().take(8).map(|u| Evidence::from(u.1)).collect();
    Some(Kept { words, of_parts: false, evidence })
}

/// A part that was active for less, in microseconds, may have been so on the way down.
const ACTIVE: u64 = 1_000_000;

/// Parts of an AMD chip that were active while it was to sleep, by the table of its power
/// management unit (amd/pmc/pmc.c:smu_fw_info_show).
fn parts(case: &Case) -> Option<Kept> {
    let items = &case.night.items;
    if items.iter().any(|i| i.fact == Fact::Verdict { deep: true }) {
        return None;
    }
    let of = |i: &'_ Item| match &i.fact {
        Fact::Active { name, us } => Some((name.clone(), *us)),
        _ => None,
    };
    // The last table, back to where a name comes again.
    let mut table: Vec<(String, u64, &Item)> = Vec::new();
    for (i, (name, us)) in items.iter().rev().filter_map(|i| Some((i, of(i)?))) {
        if table.iter().any(|t| t.0 == name) {
            break;
        }
        table.push((name, us, i));
    }
    let most = table.iter().map(|t| t.1).max().filter(|us| *us >= ACTIVE)?;
    let on = |t: &&(String, u64, &Item)| t.1 >= ACTIVE && t.1 >= most / 2;
    let active: Vec<_> = table.iter().rev().filter(on).collect();
    let time = |us: u64| say::span(Ns(i64::try_from(us).unwrap_or(0).saturating_mul(1_000)));
    let list: Vec<String> = active.iter().map(|t| format!("{} ({})", t.0, time(t.1))).collect();
    let rest = table.iter().filter(|t| !on(t)).map(|t| t.1).max();
    let rest = match rest {
        Some(0) => "; all others that it lists are idle".to_string(),
        Some(us) => format!("; of the others none for more than {}", time(us)),
        None => String::new(),
    };
    Some(Kept {
        words: format!(
            "Its table has as active: {}{rest}. Whether that alone kept it is not proven.",
            list.join(", ")
        ),
        of_parts: true,
        evidence: active.iter().map(|t| Evidence::from(t.2)).collect(),
    })
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
    case.messages.having_any(&words).next().is_some()
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    // What a driver says of a sleep outranks what its tables say.
    if out
        .iter()
        .any(|f| f.area == Area::Mode && f.id != "mode-wake-source" && f.id != "mode-turns")
    {
        return;
    }
    selftest(case, out);
}

/// Adds what the text says kept it.
pub(super) fn because(case: &Case, f: Finding) -> Finding {
    match kept(case) {
        Some(k) => f.because(k.words).shown_by(k.evidence),
        None => f,
    }
}

/// A column of the row below a head of turbostat, in thousandths.
fn column<'a>(case: &'a Case, name: &str) -> Option<(&'a Message, u64)> {
    let mut best = None;
    for (at, m) in case.messages.having(name) {
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
fn selftest(case: &Case, out: &mut Vec<Finding>) {
    let find = |word: &str| case.messages.first_having(word);
    let is_test =
        find("S0ix Residency---").or_else(|| find("S0ix substate")).or_else(|| find("S2idle"));
    if is_test.is_none() {
        return;
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
        return;
    }
    if let Some(m) = find("Congratulations! Your system achieved") {
        let f = Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("The machine reached S0ix in the self-test.{spent}"))
            .shown_by(evidence(m));
        out.push(f);
        return;
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
    }
}

/// The deepest substate that the text names.
fn deepest(case: &Case) -> Option<&str> {
    let words = "why not deeper substate:";
    let needs = case.messages.first_having(words).and_then(|m| m.after(words));
    if let Some(name) = needs.and_then(|r| r.split_whitespace().next()) {
        return Some(name);
    }
    let is = |w: &&str| w.starts_with("S0i") && w[3..].starts_with(|c: char| c.is_ascii_digit());
    let names = |m: &'_ Message| -> Vec<String> {
        m.text.split_whitespace().filter(is).map(ToString::to_string).collect()
    };
    // A list of them goes from the shallowest to the deepest.
    let mut named = case.messages.having("S0i").map(|(_, m)| m);
    let list = named.find(|m| names(m).len() > 1)?;
    list.text.split_whitespace().rfind(is)
}

/// What to look at where nothing tells what kept a machine awake.
pub(crate) const CONSTRAINTS: &str = "Look for a CPU state that is switched off, a device that is not in D3, and events inside the sleep; pm_debug_messages lists the constraints that were not met.";

/// `1.19 %` of thousandths of a per cent.
pub(super) fn percent(thousandths: u64) -> String {
    let hundredths = thousandths.saturating_add(5) / 10;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
