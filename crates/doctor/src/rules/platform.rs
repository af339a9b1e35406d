//! What the platform counted around a sleep, in tables and values that stand anywhere in a
//! text: residencies of Intel's and AMD's power management units
//! (drivers/platform/x86/intel/pmc/core.c, drivers/platform/x86/amd/pmc/pmc.c, 6.1 to 7.3),
//! and what Intel's S0ix self-test says.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust, thousandths};
use crate::night::{Fact, Item};
use crate::rules::night::latency::{command_of, is_change};
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

/// A column of the row below a head of turbostat, in thousandths: of the last of `messages` that
/// have one.
fn column<'a>(messages: &'a [Message], name: &str) -> Option<(&'a Message, u64)> {
    let heads = messages.iter().enumerate().filter(|(_, m)| m.has(name));
    let below = |(at, m): (usize, &Message)| {
        let heads: Vec<&str> = m.text.split_whitespace().collect();
        let place = heads.iter().position(|h| *h == name)?;
        messages[at + 1..].iter().take(3).find_map(|row| {
            let cells: Vec<&str> = row.text.split_whitespace().collect();
            let cell = cells.get(place).filter(|_| cells.len() == heads.len())?;
            Some((row, thousandths(cell)?))
        })
    };
    heads.rev().find_map(below)
}

/// What Intel's S0ix self-test (S0ixSelftestTool, s0ix-selftest-tool.sh) concludes of substates.
const SHALLOW: &str = "only get shallower S0ix substate residency";
const DEEPEST: &str = "Congratulations! Your system achieved";

/// One test, with what it measured.
struct Test<'a> {
    verdict: &'a Message,
    /// The shallower state that was reached, empty if the line does not name it; nothing if the
    /// deepest was.
    shallow: Option<&'a str>,
    share: Option<(&'a Message, u64)>,
    package: Option<(&'a Message, u64)>,
}

impl Test<'_> {
    /// The verdict and the rows it is of; the test prints on a terminal, without the prefix of
    /// a log.
    fn shown(&self) -> Vec<Evidence> {
        let rows = self.share.iter().chain(&self.package).map(|r| r.0);
        let mut all = lines([self.verdict].into_iter().chain(rows));
        all.dedup_by_key(|e| e.line);
        all.iter_mut().for_each(|e| e.doubtful = false);
        all
    }

    /// ` (S0ix for 58.84 % of the test)`.
    fn share(&self) -> String {
        let of = |s: &(&Message, u64)| format!(" (S0ix for {} of the test)", percent(s.1));
        self.share.as_ref().map_or(String::new(), of)
    }
}

/// Whether a self-test of the text missed the deepest substate.
pub(super) fn reached_shallower(case: &Case) -> bool {
    tests(case).iter().any(|t| t.shallow.is_some())
}

/// The tests of a text that conclude something of substates, in order. A line that repeats a
/// verdict without a measurement above it, in a title or a remark, is no test of its own.
fn tests(case: &Case) -> Vec<Test<'_>> {
    let mut from = 0;
    let mut out: Vec<Test<'_>> = Vec::new();
    let title = |m: &Message| m.trust == Trust::Prose && m.text.starts_with("#");
    for (at, m) in case.messages.having_any(&[SHALLOW, DEEPEST]).filter(|(_, m)| !title(m)) {
        let above = &case.messages[from..at];
        let share = column(above, "SYS%LPI");
        let package = column(above, "Pk%pc10").or_else(|| column(above, "Pkg%pc10"));
        let which = m.after(SHALLOW).map(|r| r.trim_start_matches([':', ' ']));
        let shallow = which.map(|r| r.split_whitespace().next().unwrap_or(""));
        out.push(Test { verdict: m, shallow, share, package });
        from = at + 1;
    }
    if out.iter().any(|t| t.share.is_some()) {
        out.retain(|t| t.share.is_some());
    }
    out
}

/// What was changed between two tests, by a command.
fn changed<'a>(case: &'a Case, a: &Test<'_>, b: &Test<'_>) -> Option<&'a Item> {
    let between = |i: &&Item| a.verdict.line < i.line && i.line < b.verdict.line;
    let change = |i: &&Item| matches!(&i.fact, Fact::Command(c) if is_change(c));
    case.night.items.iter().filter(between).rfind(change)
}

/// Tests of one text that came out differently: none of them is the verdict.
fn apart(case: &Case, tests: &[Test<'_>], out: &mut Vec<Finding>) {
    let deepest = deepest(case).map_or(String::new(), |d| format!(", {d}"));
    let words = |t: &Test<'_>| match t.shallow {
        Some("") => format!("only a shallower state{}", t.share()),
        Some(which) => format!("only {which}{}", t.share()),
        None => format!("the deepest{deepest}{}", t.share()),
    };
    let list: Vec<String> = tests.iter().map(words).collect();
    let f = Finding::new(("mode-partial", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!(
            "The tests of the text came out differently. In their order the machine reached {}.",
            list.join("; then ")
        ))
        .shown_by(tests.iter().flat_map(Test::shown).take(8));
    out.push(f);
    let step = tests.windows(2).find(|w| w[0].shallow.is_some() != w[1].shallow.is_some());
    let Some([a, b]) = step else { return };
    let Some(command) = changed(case, a, b) else { return };
    let how = if b.shallow.is_none() { "came" } else { "was missed" };
    let f = Finding::new(("block-change", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!(
            "The deepest state of S0ix{deepest} {how} in the test after `{}`: what that changed makes the difference.",
            command_of(command)
        ))
        .look("Keep the change where it may stay (a udev rule, a service, the kernel's command line), and find the device behind what it changed.")
        .shown_by([Evidence::from(a.verdict), Evidence::from(command), Evidence::from(b.verdict)]);
    out.push(f);
}

/// What Intel's S0ix self-test concludes.
fn selftest(case: &Case, out: &mut Vec<Finding>) {
    let find = |word: &str| case.messages.first_having(word);
    let is_test =
        find("S0ix Residency---").or_else(|| find("S0ix substate")).or_else(|| find("S2idle"));
    if is_test.is_none() {
        return;
    }
    let tests = tests(case);
    if tests.iter().any(|t| t.shallow.is_some()) && tests.iter().any(|t| t.shallow.is_none()) {
        apart(case, &tests, out);
        return;
    }
    if let Some(t) = tests.last() {
        let spent = t.share.map_or(String::new(), |s| {
            format!(" It was in S0ix for {} of the test.", percent(s.1))
        });
        let f = |id, level| Finding::new((id, Area::Mode, level), Confidence::Certain);
        let Some(which) = t.shallow else {
            let words = format!("The machine reached S0ix in the self-test.{spent}");
            out.push(f("mode-hardware", Level::Note).says(words).shown_by(t.shown()));
            return;
        };
        let which = if which.is_empty() { String::new() } else { format!(" {which}") };
        let deepest = deepest(case).map_or(String::new(), |d| format!(", not the deepest ({d})"));
        let f = f("mode-partial", Level::Risk)
            .says(format!("The machine reached only a shallower state of S0ix{which}{deepest}.{spent}"))
            .look("substate_status_registers of pmc_core, read after the sleep, lists what the deeper state requires and did not get.")
            .shown_by(t.shown());
        out.push(because(case, f));
        return;
    }
    if missed(case, out) {
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
        let all = &case.messages[..];
        let package = column(all, "Pk%pc10").or_else(|| column(all, "Pkg%pc10"));
        let share = column(all, "SYS%LPI");
        let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain);
        let f = match package.map(|p| p.1) {
            Some(0) => f.says("The machine slept in name only: the self-test counted no S0ix, and the processor's package never reached C10."),
            Some(n) => f.says(format!(
                "The machine slept in name only: the self-test counted no S0ix, while the processor's package was in C10 for {}.",
                percent(n)
            )),
            None => f.says("The machine slept in name only: the self-test counted no S0ix."),
        };
        let test = Test { verdict: m, shallow: None, share, package };
        out.push(because(case, f.look(CONSTRAINTS).shown_by(test.shown())));
    }
}

/// What the test says where a shallower substate was reached, and above the parts whose condition
/// was not met.
const MISSED: &str = "did not achieve the deepest S0ix substate";
const PARTS: &str = "S0ix substate required IPs did not show YES";

/// A test that quotes its end alone: which substate it missed, and what that requires and did not
/// get. Whether it says so.
fn missed(case: &Case, out: &mut Vec<Finding>) -> bool {
    // The script that prints it, and sentences about it, do not name a state.
    let states = |m: &Message| {
        let name = m.after(MISSED).and_then(|t| t.split_once("residency: ")).map(|t| t.1.trim());
        name.is_some_and(|n| n.starts_with("S0i")) && !m.has("echo") && !m.has("\"")
    };
    let verdict = case.messages.having(MISSED).map(|m| m.1).find(|m| states(m));
    let heading = case.messages.having(PARTS).find(|(at, m)| {
        let row =
            case.messages.get(at + 1).is_some_and(|m| m.text.trim_end().ends_with("Required"));
        row && !m.has("echo")
    });
    if verdict.is_none() && heading.is_none() {
        return false;
    }
    let name = verdict.and_then(|m| m.after(MISSED)?.split_once(':')).map(|(_, n)| n.trim());
    let name = name.and_then(|n| n.split_whitespace().next()).or_else(|| deepest(case));
    let name = name.map_or(String::new(), |n| format!(" ({})", n.trim_end_matches('.')));
    let row = |m: &&Message| {
        let (name, required) = m.text.trim().split_once(char::is_whitespace)?;
        let is = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_/.-".contains(c);
        let fits = required.trim() == "Required" && name.chars().all(is);
        fits.then(|| name.to_owned())
    };
    let below = heading.map_or(&[][..], |(at, _)| &case.messages[at + 1..]);
    let rows: Vec<(&Message, String)> = below.iter().map_while(|m| Some((m, row(&m)?))).collect();
    let shown = |m: &Message| Evidence { doubtful: false, ..Evidence::from(m) };
    let f = Finding::new(("mode-partial", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!("The self-test did not reach the deepest state of S0ix{name}."))
        .shown_by(verdict.or(heading.map(|h| h.1)).map(shown));
    out.push(because(case, f));
    let names: Vec<String> = rows.iter().map(|r| r.1.clone()).collect();
    if !names.is_empty() {
        let f = Finding::new(("block-condition", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!(
                "What the deepest state requires and did not get: {}. One of these parts kept the \
                 machine from it.",
                say::names(&names)
            ))
            .look("Each name is a part of the chipset: see which device is behind it (USB, PCIe, audio, storage), and whether that suspends at run time (power/runtime_status).")
            .shown_by(rows.iter().take(6).map(|r| shown(r.0)));
        out.push(f);
    }
    true
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        selftest(&Case::of_prose(text), &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn a_self_test_that_names_what_was_missing_is_read_by_its_end_alone() {
        let rows = "Below are the deeper S0ix substate required IPs did not show YES:\n\n   ELM_PG_STS    Required\n   OAK3_PG_STS   Required\n   so it goes\n";
        let said = told(rows);
        assert_eq!((said.len(), said[0].0, said[1].0), (2, "mode-partial", "block-condition"));
        assert!(said[1].1.contains("did not get: ELM_PG_STS and OAK3_PG_STS."), "{said:?}");
        let verdict = "Your system did not achieve the deepest S0ix substate residency: S0i3.7\n";
        assert_eq!(
            told(verdict),
            [(
                "mode-partial",
                "The self-test did not reach the deepest state of S0ix (S0i3.7).".into()
            )]
        );
        assert_eq!(told("   ELM_PG_STS    Required\n"), []);
    }
}
