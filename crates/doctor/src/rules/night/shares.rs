//! Tables of turbostat: how deep the package and the platform went, and which change made the
//! difference.

use super::latency::{command_of, ignored, is_change};
use super::required::told_depth;
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::night::table::{Shares, WORTH};
use crate::night::{Fact, Item};
use crate::rules::platform::percent;

/// One measurement.
struct Table<'a> {
    /// Place of its first row among the facts.
    at: usize,
    rows: Vec<(&'a Item, &'a Shares)>,
    /// It covers a sleep, or was measured awake, or nobody says.
    asleep: Option<bool>,
    /// The words above it.
    caption: Option<String>,
    /// The package state that these words name.
    named: Option<u32>,
}

impl Table<'_> {
    /// Whether each of its rows breaks off: what it does not show it may have.
    fn is_cut(&self) -> bool {
        self.rows.iter().all(|r| r.1.cut)
    }

    /// How deep the package went.
    fn package(&self) -> String {
        match self.deepest() {
            Some((n, s)) if self.is_deepest() => {
                format!("the package was in C{n} for {}", share(s))
            }
            Some((n, s)) => format!("the package was in C{n} for {} and never deeper", share(s)),
            None => "the package entered no state of its own".into(),
        }
    }

    /// What a table that breaks off shows.
    fn shown(&self) -> String {
        let states = self.best().1.package();
        let each = states.iter().map(|(n, s)| format!("C{n} ({})", share(*s)));
        match states.is_empty() {
            true => "no state of the package".into(),
            false => format!("of the package {} alone", each.collect::<Vec<_>>().join(", ")),
        }
    }

    /// The words above it, behind a noun.
    fn named(&self) -> String {
        self.caption.as_ref().map_or(String::new(), |c| format!(" (\"{c}\")"))
    }

    /// The row that went deepest.
    fn best(&self) -> (&Item, &Shares) {
        let depth = |s: &Shares| (s.system().unwrap_or(0), s.deepest().unwrap_or((0, 0)));
        let best = self.rows.iter().max_by_key(|r| depth(r.1));
        best.copied().unwrap_or(self.rows[0])
    }

    fn system(&self) -> Option<i64> {
        self.rows.iter().filter_map(|r| r.1.system()).max()
    }

    fn deepest(&self) -> Option<(u32, i64)> {
        self.rows.iter().filter_map(|r| r.1.deepest()).max()
    }

    /// Whether the deepest state that it shows is the deepest that it has.
    fn is_deepest(&self) -> bool {
        let has = self.rows.iter().flat_map(|r| r.1.package()).map(|p| p.0).max();
        self.deepest().is_some_and(|d| Some(d.0) == has)
    }
}

/// A state that took this share of a measurement is where the package was, thousandths of a per
/// cent. Ours.
const MOST: i64 = 50_000;

/// What a share is in words.
fn share(n: i64) -> String {
    percent(u64::try_from(n).unwrap_or(0))
}

fn tables(case: &Case) -> Vec<Table<'_>> {
    let mut out: Vec<Table<'_>> = Vec::new();
    let mut last = None;
    let mut end = 0;
    for (at, item) in case.night.items.iter().enumerate() {
        let Fact::Shares(s) = &item.fact else { continue };
        if s.package().is_empty() && s.system().is_none() {
            continue;
        }
        if last == Some(s.table) {
            if let Some(t) = out.last_mut() {
                // Of one measurement the first row is the machine's.
                if s.ms.is_none() {
                    t.rows.push((item, s));
                }
            }
        } else {
            let above = &case.night.items[end..at];
            out.push(Table {
                at,
                rows: vec![(item, s)],
                asleep: asleep(above),
                caption: caption(above),
                named: named(above),
            });
        }
        last = Some(s.table);
        end = at + 1;
    }
    out
}

/// Headings of Intel's self-test (S0ixSelftestTool, s0ix-selftest-tool.sh) above what it
/// measures in a sleep, and awake.
const ASLEEP: &str = "S2idle path S0ix Residency";
const AWAKE: &str = "Screen ON";

/// Whether what was measured is a sleep, by what stands above.
fn asleep(above: &[Item]) -> Option<bool> {
    above.iter().rev().find_map(|i| match &i.fact {
        Fact::Slept(_) => Some(true),
        Fact::Idled(_) => Some(false),
        Fact::Words(w) if w.to_lowercase().contains(&AWAKE.to_lowercase()) => Some(false),
        Fact::Words(w) if w.contains(ASLEEP) => Some(true),
        _ => None,
    })
}

/// The words above a table that name it: its heading, else the last words.
fn caption(above: &[Item]) -> Option<String> {
    let words = || {
        above.iter().filter_map(|i| match &i.fact {
            Fact::Words(w) => Some(w),
            _ => None,
        })
    };
    let heading = words().rev().find_map(|w| w.strip_prefix("# "));
    let words = heading.or_else(|| words().next_back().map(String::as_str))?;
    let words = words.trim_end_matches([':', '.', ' ']);
    let short: String = words.chars().take(CAPTION).collect();
    Some(if short.len() < words.len() { format!("{short}…") } else { short })
}

/// So many letters of a caption are shown.
const CAPTION: usize = 80;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut tables = tables(case);
    for t in &mut tables {
        if !t.is_cut() {
            t.rows.retain(|r| !r.1.cut);
        }
    }
    let (cut, tables): (Vec<Table<'_>>, Vec<Table<'_>>) =
        tables.into_iter().partition(Table::is_cut);
    if tables.is_empty() {
        out.extend(cut.first().filter(|_| !told_depth(out)).map(breaks_off));
        return;
    }
    let changed = tables.windows(2).filter_map(|t| changed(case, &t[0], &t[1])).next();
    if let Some(f) = changed {
        out.push(f);
    } else if tables.len() > 1 {
        out.extend(beside(&tables));
    }
    if told_depth(out) {
        return;
    }
    let last = tables.iter().rfind(|t| t.asleep == Some(true)).or(tables.last());
    // A table of which nobody says that it is of a sleep is about idle states.
    let told = |t: &&Table<'_>| {
        let alone = t.rows.iter().all(|r| r.1.columns.iter().all(|c| c.0.starts_with("Pk")));
        t.asleep.is_some() || alone || t.system().is_some_and(|s| s >= WORTH)
    };
    let Some(last) = last.filter(told) else { return };
    let mut f = depth(last);
    // The one that went deep is no word for the others.
    let system = |t: &Table<'_>| t.system().is_some_and(|s| s >= WORTH);
    let shallow = tables.iter().find(|t| system(last) && t.system().is_some() && !system(t));
    if let Some(t) = shallow {
        f.sentence += &format!(
            " In another measurement of the text{} it did not: SYS%LPI was {} at most, and {}.",
            t.named(),
            share(t.system().unwrap_or(0)),
            t.package()
        );
        f.evidence.push(Evidence::from(t.best().0));
    } else if f.id == "block-package" && !out.iter().any(|f| f.id == "block-change") {
        // None of several is passed over.
        for t in tables.iter().filter(|t| t.at != last.at && told(t)).take(SEVERAL) {
            f.sentence +=
                &format!(" In another measurement of the text{} {}.", t.named(), t.package());
            f.evidence.push(Evidence::from(t.best().0));
        }
    }
    for t in cut.iter().take(SEVERAL) {
        f.sentence +=
            &format!(" Another table of the text{} breaks off: it shows {}.", t.named(), t.shown());
        f.evidence.push(Evidence::from(t.best().0));
    }
    out.push(f);
}

/// So many other measurements are told.
const SEVERAL: usize = 2;

/// A table that breaks off, where the text has no whole one.
fn breaks_off(t: &Table<'_>) -> Finding {
    let last = t.best().1.package().last().map_or(0, |p| p.0);
    let says = match t.deepest() {
        Some((n, s)) => format!(
            "In this measurement the package was in C{n} for {}; the table breaks off and shows no \
             state deeper than C{last}.",
            share(s)
        ),
        None => format!(
            "The table of the package's states breaks off: it shows {}. How deep the package went \
             is not known.",
            t.shown()
        ),
    };
    Finding::new(("block-package", Area::Mode, Level::Note), Confidence::Certain)
        .says(if t.asleep == Some(false) { format!("Awake: {says}") } else { says })
        .look("Post the whole table.")
        .shown_by([Evidence::from(t.best().0)])
}

/// Platforms that sleep have their package in one of these states or deeper.
const SLEEPS: u32 = 8;

/// How deep one measurement went.
fn depth(t: &Table<'_>) -> Finding {
    let (item, _) = t.best();
    let rows = match t.rows.len() {
        1 => String::new(),
        n => format!(" at most, of {n} rows"),
    };
    let package = match t.deepest() {
        Some((n, s)) => format!("the package was in C{n} for {}", share(s)),
        None => "the package entered no state of its own".into(),
    };
    let f =
        |id, level, c| Finding::new((id, Area::Mode, level), c).shown_by([Evidence::from(item)]);
    let asleep = t.asleep == Some(true);
    let last = t.is_deepest();
    let deeper = match t.deepest() {
        Some(_) if last => ", the deepest state that the table has",
        Some(_) => ", never deeper",
        None => "",
    };
    match (t.system(), t.deepest()) {
        (Some(s), _) if s >= WORTH => f("mode-hardware", Level::Note, Confidence::Certain).says(format!(
            "The platform reached its own low-power state: SYS%LPI is {}{rows}; {package}.",
            share(s)
        )),
        (Some(s), Some((10, _))) if asleep => f("mode-name-only", Level::Risk, Confidence::Likely)
            .says(format!("The machine slept in name only: {package}, and SYS%LPI was {} at most. What keeps the platform awake is outside the processor; no line that was read names it.", share(s)))
            .look("Read slp_s0_debug_status or substate_requirements of pmc_core after such a sleep: what is not met names the part."),
        // Nothing is deeper, by this table; of the platform it says nothing.
        (None, Some((n, s))) if asleep && last && n >= SLEEPS && s >= MOST => f("mode-hardware", Level::Note, Confidence::Likely)
            .says(format!("Asleep {package}{deeper}. Of the platform itself the table shows no counter.")),
        (None, Some((_, s))) if !asleep && last && s >= MOST => f("block-package", Level::Note, Confidence::Certain)
            .says(format!("{}In this measurement {package}{deeper}. It says nothing of a sleep.", if t.asleep == Some(false) { "Awake: " } else { "" })),
        (system, _) if asleep => f("mode-name-only", Level::Risk, Confidence::Likely)
            .says(format!("The machine slept in name only: {package}{}. What keeps it is on the processor's side, or a device that asks for a short latency; no line that was read names it.", system.map_or(if last { " and no more".into() } else { " and never deeper".into() }, |s| format!(" and SYS%LPI was {} at most", share(s)))))
            .look("ltr_show of pmc_core lists what devices ask for; lspci -vv shows which links have ASPM off."),
        _ => f("block-package", Level::Note, Confidence::Certain)
            .says(format!("{}In this measurement {package}{deeper}. It says nothing of a sleep{}.", if t.asleep == Some(false) { "Awake: " } else { "" }, if last { "" } else { ", and the text does not prove what kept it" }))
            .look("Measure a sleep: turbostat --show Pkg%pc2,Pkg%pc6,Pkg%pc8,Pk%pc10,SYS%LPI rtcwake -m freeze -s 60."),
    }
}

/// Two tables, and the command between them that made the difference.
fn changed(case: &Case, a: &Table<'_>, b: &Table<'_>) -> Option<Finding> {
    let command = case
        .night
        .between(a.at, b.at)
        .iter()
        .rev()
        .find(|i| matches!(&i.fact, Fact::Command(c) if is_change(c)))?;
    let (first, second) = (a.best(), b.best());
    let (from, to) = (a.deepest().map_or(0, |d| d.0), b.deepest()?.0);
    let system = |t: &Table<'_>| t.system().unwrap_or(0);
    let deeper = to > from || system(b) >= WORTH && system(a) < WORTH;
    if !deeper {
        return None;
    }
    let of = |s: &Shares, n: u32| s.package().iter().find(|p| p.0 == n).map_or(0, |p| p.1);
    let who = ignored(case, command_of(command));
    let named = match &who {
        Some((_, l)) => format!(
            " Number {} is {}, which asks for {} ns.",
            number_of(command_of(command)),
            l.ip,
            dormouse_base::say::grouped(l.asked().unwrap_or(0))
        ),
        None => String::new(),
    };
    // What came after a change need not come of it; of these three the kernel's documents say so.
    let switch = ["ltr_ignore", "/remove", "pcie_aspm/parameters/policy"];
    let blame = match &who {
        Some((_, l)) => format!(": the latency that {} asks for kept the package from C{to}", l.ip),
        None if switch.iter().any(|s| command_of(command).contains(s)) => {
            ": what it changed had kept the package from there".into()
        }
        None => String::new(),
    };
    let left = match (system(a), system(b), b.rows[0].1.system()) {
        (r, s, Some(_)) if s < WORTH => format!(
            " SYS%LPI was {} before it and {} after: something else still keeps the platform awake, and no line that was read names it.",
            share(r),
            share(s)
        ),
        (s, t, Some(_)) => format!(" SYS%LPI went from {} to {}.", share(s), share(t)),
        _ => String::new(),
    };
    let rule = ("block-change", Area::Mode, Level::Risk);
    let mut f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "C{to} of the package rose from {} to {} after `{}`{blame}.{named}{left}",
            share(of(first.1, to)),
            share(of(second.1, to)),
            command_of(command)
        ))
        .look("Keep the change where it may stay (a udev rule, a service, the kernel's command line), and find the device behind what it changed.")
        .shown_by([Evidence::from(first.0), Evidence::from(command), Evidence::from(second.0)]);
    f = f.shown_by(who.map(|w| Evidence::from(w.0)));
    Some(f)
}

fn number_of(command: &str) -> &str {
    command.split_whitespace().find(|w| w.bytes().all(|b| b.is_ascii_digit())).unwrap_or("")
}

/// Tables with captions alone between them.
fn beside(tables: &[Table<'_>]) -> Option<Finding> {
    let depth = |t: &Table<'_>| t.deepest().map_or(0, |d| d.0);
    let (least, most) = (tables.iter().map(depth).min()?, tables.iter().map(depth).max()?);
    if least == most || tables.iter().any(|t| t.caption.is_none() || t.asleep != Some(true)) {
        return None;
    }
    let said: Vec<String> = tables
        .iter()
        .map(|t| {
            let (n, s) = t.deepest().unwrap_or((0, 0));
            let what =
                if n == 0 { "no package state".into() } else { format!("C{n} for {}", share(s)) };
            format!("{what} (\"{}\")", t.caption.as_deref().unwrap_or(""))
        })
        .collect();
    let rule = ("block-change", Area::Mode, Level::Risk);
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "The package went to {}. What these words tell apart makes the difference between C{least} and C{most}.{}",
            say_list(&said),
            other_words(tables)
        ))
        .look("Take that part away, or switch its runtime power management on (power/control auto), and measure again.")
        .shown_by(tables.iter().take(4).map(|t| Evidence::from(t.best().0)));
    Some(f)
}

/// States that the words above the tables name, and the columns do not.
fn other_words(tables: &[Table<'_>]) -> String {
    let wrong: Vec<String> = tables
        .iter()
        .filter_map(|t| {
            let said = t.named?;
            let (n, _) = t.deepest()?;
            (said != n).then(|| format!("C{said} for what the columns call C{n}"))
        })
        .collect();
    let mut once = wrong.clone();
    once.dedup();
    if once.is_empty() { String::new() } else { format!(" The writer says {}.", once.join(", ")) }
}

/// The package state that the last words above a table say is reached: `PC6 is reached`.
fn named(above: &[Item]) -> Option<u32> {
    above.iter().rev().find_map(|i| match &i.fact {
        Fact::Words(w) if w.contains("reached") => {
            let (_, rest) = w.split_once("PC").or_else(|| w.split_once("pc"))?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().ok()
        }
        _ => None,
    })
}

fn say_list(all: &[String]) -> String {
    match all {
        [rest @ .., last] if !rest.is_empty() => format!("{} and to {last}", rest.join(", to ")),
        _ => all.join(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;
    use crate::night::table::Latency;

    fn table(n: usize, pc8: i64, pc10: i64, lpi: i64) -> Fact {
        let columns = [("Pkg%pc8", pc8), ("Pk%pc10", pc10), ("SYS%LPI", lpi)];
        let columns = columns.iter().map(|c| (c.0.to_string(), c.1)).collect();
        Fact::Shares(Shares { columns, table: n, ms: Some(9_000), cut: false })
    }

    fn judged(facts: Vec<Fact>) -> Vec<Finding> {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let mut out = Vec::new();
        judge(&Case { night: Night { items, ..Night::default() }, ..Case::default() }, &mut out);
        out
    }

    #[test]
    fn a_change_between_two_tables_is_named_with_what_it_left() {
        let ltr = Latency {
            index: Some(5),
            ip: "SOUTHPORT_F".into(),
            snoop: 400_000,
            ..Latency::default()
        };
        let found = judged(vec![
            Fact::Slept(Some(20)),
            table(1, 91_000, 0, 0),
            Fact::Latency(ltr),
            Fact::Command("echo 5 | tee /sys/kernel/debug/pmc_core/ltr_ignore".into()),
            Fact::Slept(Some(20)),
            table(2, 1_000, 88_500, 0),
        ]);
        let said = &found[0].sentence;
        assert!(
            said.contains("from 0.00 % to 88.50 %")
                && said.contains("SOUTHPORT_F")
                && said.contains("something else"),
            "{said}"
        );
        assert!(found.iter().any(|f| f.id == "mode-name-only"));
    }

    #[test]
    fn a_platform_that_counts_is_healthy_and_an_idle_one_is_no_sleep() {
        assert_eq!(judged(vec![table(1, 9_000, 40_000, 31_000)])[0].id, "mode-hardware");
        let awake = judged(vec![Fact::Idled(30), table(1, 91_000, 0, 0)]);
        assert_eq!((awake[0].id, awake[0].level), ("block-package", Level::Note));
        let asleep = judged(vec![Fact::Slept(None), table(1, 91_000, 0, 0)]);
        assert_eq!(asleep[0].id, "mode-name-only");
    }

    #[test]
    fn a_table_that_breaks_off_denies_no_state() {
        let cut = |shares: &[(&str, i64)]| {
            let columns = shares.iter().map(|c| (c.0.to_string(), c.1)).collect();
            Fact::Shares(Shares { columns, table: 1, ms: None, cut: true })
        };
        let said = |facts: Vec<Fact>| judged(facts)[0].sentence.clone();
        let deep = said(vec![Fact::Idled(30), cut(&[("Pkg%pc2", 81_000), ("Pkg%pc6", 0)])]);
        let all = "Awake: In this measurement the package was in C2 for 81.00 %; the table breaks \
                   off and shows no state deeper than C6.";
        assert_eq!(deep, all);
        let none = said(vec![Fact::Slept(None), cut(&[("Pkg%pc2", 0)])]);
        assert!(none.contains("C2 (0.00 %) alone") && none.contains("is not known"), "{none}");
    }

    #[test]
    fn captions_tell_tables_apart() {
        let words = |w: &str| Fact::Words(w.into());
        let found = judged(vec![
            words("# With the hub"),
            Fact::Slept(None),
            table(1, 0, 0, 0),
            words("# Without"),
            Fact::Slept(None),
            table(2, 70_000, 0, 0),
        ]);
        assert_eq!(found[0].id, "block-change");
        assert!(found[0].sentence.contains("With the hub"), "{}", found[0].sentence);
    }
}
