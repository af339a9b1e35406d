//! Two tables with a sleep between them: which interrupts and wakeup sources counted over it.

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::night::machine::Owner;
use crate::night::{Fact, Item};
use crate::value::Value;
use dormouse_base::say;
use std::collections::HashMap;

/// Something that counted over a sleep.
struct Grown {
    name: String,
    by: u64,
    /// It is the machine's own clock, or may stand for it.
    alarm: bool,
    /// Over another sleep of the text it did not count.
    not_always: bool,
    shown: [Evidence; 2],
}

/// So many are named.
const NAMED: usize = 3;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.id == "mode-wake-source") {
        return;
    }
    // A wakeup source says more than the interrupt that it came by.
    let sources = sources(case);
    let (mut grown, what) = match sources.is_empty() {
        true => (interrupts(case), "interrupts"),
        false => (sources, "wakeup sources"),
    };
    grown.sort_by_key(|g| std::cmp::Reverse(g.by));
    let Some(first) = grown.first() else { return };
    // Whoever orders a sleep of some length is woken by the clock.
    if grown.iter().any(|g| g.alarm) && is_ordered(case) {
        return;
    }
    let named =
        |g: &Grown| format!("{} ({})", g.name, say::once(usize::try_from(g.by).unwrap_or(0)));
    let all: Vec<String> = grown.iter().take(NAMED).map(named).collect();
    let more = match grown.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let (id, words) = match grown.len() {
        // The first reading stands before the sleep, so what began it counts as well.
        1 if first.not_always => (
            "wake-counted",
            format!(
                "Over one sleep {} alone counted, of the {what} that can wake a machine, and over another of the text it did not: it woke the machine, or it is what began that sleep, as a key does.",
                all[0]
            ),
        ),
        1 => (
            "mode-wake-source",
            format!(
                "Over the sleep {} alone counted, of the {what} that can wake a machine: it woke it, or it came while the machine was awake between the two readings: just after, or before, as the key that begins a sleep does.",
                all[0]
            ),
        ),
        _ => (
            "wake-counted",
            format!(
                "Over the sleep these {what} counted: {}{more}. What woke it is among them; some came while it was awake.",
                all.join(", ")
            ),
        ),
    };
    let device = Device { name: first.name.clone(), driver: String::new() };
    let f = Finding::new((id, Area::Mode, Level::Note), Confidence::Likely)
        .says(words)
        .look("/sys/power/pm_wakeup_irq, read right after the sleep, names the interrupt that ended it; switch the power/wakeup of one device off, to try.")
        .of_devices([device])
        .shown_by(grown.into_iter().take(NAMED).flat_map(|g| g.shown));
    out.push(f);
}

/// Whether the text orders a sleep of some length.
fn is_ordered(case: &Case) -> bool {
    case.night.items.iter().any(|i| match &i.fact {
        Fact::Slept(Some(_)) => true,
        Fact::Slept(None) => i.text.starts_with("rtcwake:"),
        _ => false,
    })
}

/// Whether the machine slept between two lines.
fn slept(case: &Case, first: u64, last: u64) -> bool {
    let within = |line: u64| first < line && line < last;
    case.night.items.iter().any(|i| matches!(i.fact, Fact::Slept(_)) && within(i.line))
        || case.attempts.iter().any(|a| within(case.messages[a.first].line))
}

/// Whether words between two lines say that the second was read after a sleep.
fn says_after(case: &Case, first: u64, last: u64) -> bool {
    let sleep = ["suspend", "resum", "sleep", "wake", "woke"];
    case.night.items.iter().any(|i| match &i.fact {
        Fact::Words(w) if first < i.line && i.line < last => {
            let lower = w.to_lowercase();
            let after = lower.split_once("after").map(|t| t.1);
            after.is_some_and(|rest| sleep.iter().any(|s| rest.contains(s)))
        }
        _ => false,
    })
}

/// A row of `/proc/interrupts`.
struct Row<'a> {
    item: &'a Item,
    number: u32,
    chip: &'a str,
    names: &'a str,
    count: u64,
}

/// The tables of the text: numbers rise in each.
fn tables(case: &Case) -> Vec<Vec<Row<'_>>> {
    let mut out: Vec<Vec<Row<'_>>> = Vec::new();
    for item in &case.night.items {
        let Fact::Owner(Owner::Interrupt { number, chip, names, count, .. }) = &item.fact else {
            continue;
        };
        let row = Row { item, number: *number, chip, names, count: *count };
        match out.last_mut().filter(|t| t.last().is_some_and(|l| l.number < *number)) {
            Some(table) => table.push(row),
            None => out.push(vec![row]),
        }
    }
    out
}

/// What counted between the first two tables that have a sleep between them. Messages of PCI
/// devices wake nothing: their PME does, by a line of its own (Documentation/power/pci.rst);
/// clocks of CPUs count whenever one is awake.
fn interrupts(case: &Case) -> Vec<Grown> {
    let tables = tables(case);
    let pair = tables.windows(2).find(|w| match (w[0].last(), w[1].first()) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.item.line, b.item.line);
            slept(case, a, b) || says_after(case, a, b)
        }
        _ => false,
    });
    let Some([before, after]) = pair else { return Vec::new() };
    let old: HashMap<(u32, &str), &Row<'_>> =
        before.iter().map(|r| ((r.number, r.names), r)).collect();
    let mut out = Vec::new();
    for row in after {
        let Some(was) = old.get(&(row.number, row.names)) else { continue };
        // A count that fell is of another boot.
        let Some(by) = row.count.checked_sub(was.count) else { return Vec::new() };
        if by == 0 || row.chip.contains("MSI") || row.names.contains("timer") {
            continue;
        }
        out.push(Grown {
            name: format!("IRQ {} of {}", row.number, row.names),
            by,
            alarm: row.names.contains("rtc") || row.names == "acpi",
            not_always: still(case, &tables, row),
            shown: [Evidence::from(was.item), Evidence::from(row.item)],
        });
    }
    out
}

/// Whether a row of a table counted nothing over another sleep of the text.
fn still(case: &Case, tables: &[Vec<Row<'_>>], of: &Row<'_>) -> bool {
    let own = |t: &[Row<'_>]| {
        let row = t.iter().find(|r| (r.number, r.names) == (of.number, of.names))?;
        Some((row.item.line, row.count))
    };
    let pairs = tables.windows(2).filter_map(|w| own(&w[0]).zip(own(&w[1])));
    pairs.into_iter().any(|(a, b)| a.1 == b.1 && slept(case, a.0, b.0))
}

/// What counted of `/sys/class/wakeup` between two readings of a file (drivers/base/power/
/// wakeup_stats.c, 5.4 to 7.3).
fn sources(case: &Case) -> Vec<Grown> {
    let of = |v: &&Value| v.path.contains("/wakeup/wakeup") || v.path.contains("/class/wakeup/");
    let names: HashMap<&str, &str> = case
        .values
        .iter()
        .filter(of)
        .filter(|v| v.name() == "name")
        .map(|v| (v.folder(), v.value.as_str()))
        .collect();
    let mut last: HashMap<&str, &Value> = HashMap::new();
    let mut out: Vec<Grown> = Vec::new();
    for v in case.values.iter().filter(of).filter(|v| v.name() == "active_count") {
        let Some(was) = last.insert(&v.path, v) else { continue };
        let by = v.count().zip(was.count()).and_then(|(b, a)| b.checked_sub(a));
        let Some(by) = by.filter(|by| *by > 0 && slept(case, was.line, v.line)) else { continue };
        let folder = v.folder().rsplit('/').next().unwrap_or("");
        let name = names.get(v.folder()).copied().unwrap_or(folder).to_string();
        let alarm = name.contains("rtc") || name.contains("alarm");
        out.push(Grown { name, by, alarm, not_always: false, shown: [value(was), value(v)] });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn row(number: u32, chip: &str, names: &str, count: u64) -> Fact {
        let (chip, names, line) = (chip.into(), names.into(), "1-edge".into());
        Fact::Owner(Owner::Interrupt { number, chip, line, names, count })
    }

    fn judged(facts: Vec<Fact>, values: Vec<Value>) -> Vec<Finding> {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let night = Night { items, ..Night::default() };
        let mut out = Vec::new();
        judge(&Case { night, values, ..Case::default() }, &mut out);
        out
    }

    fn twice(sleep: Option<Fact>, by: [u64; 3]) -> Vec<Fact> {
        let table = |by: [u64; 3]| {
            [
                row(8, "IO-APIC", "rtc0", 1 + by[0]),
                row(44, "IO-APIC", "SYNA9:00", 70 + by[1]),
                row(131, "IR-PCI-MSIX-0000:02:00.0", "nvme0q1", 900 + by[2]),
            ]
        };
        table([0; 3]).into_iter().chain(sleep).chain(table(by)).collect()
    }

    #[test]
    fn the_line_that_counted_over_a_sleep_is_named() {
        let found = judged(twice(Some(Fact::Slept(None)), [0, 21, 3_000]), Vec::new());
        assert_eq!(found[0].id, "mode-wake-source");
        assert!(found[0].sentence.contains("IRQ 44 of SYNA9:00 (21 times) alone"));
        let several = judged(twice(Some(Fact::Slept(None)), [1, 21, 0]), Vec::new());
        assert_eq!(several[0].id, "wake-counted");
        assert!(several[0].sentence.contains("SYNA9:00 (21 times), IRQ 8 of rtc0 (once)"));
        let told = judged(twice(Some(Fact::Words("# After resume".into())), [0, 2, 0]), Vec::new());
        assert_eq!(told[0].id, "mode-wake-source");
        let other = judged(twice(Some(Fact::Words("# Another kernel".into())), [0, 2, 0]), vec![]);
        assert!(other.is_empty());
        let ordered = judged(twice(Some(Fact::Slept(Some(60))), [1, 21, 9]), Vec::new());
        assert!(ordered.is_empty(), "its alarm");
        assert!(judged(twice(None, [1, 21, 9]), Vec::new()).is_empty(), "it did not sleep");
    }

    #[test]
    fn a_wakeup_source_that_counted_over_a_sleep_is_named() {
        let v = |line, file: &str, value: &str| Value {
            line,
            path: format!("/sys/class/wakeup/wakeup7/{file}"),
            value: value.into(),
        };
        let values = |second: u64| {
            vec![v(0, "name", "2-1.4"), v(0, "active_count", "3"), v(second, "active_count", "5")]
        };
        let found = judged(vec![Fact::Slept(None)], values(2));
        assert!(found[0].sentence.contains("2-1.4 (2 times) alone"), "{}", found[0].sentence);
        assert!(judged(vec![Fact::Slept(None)], values(1)).is_empty(), "read before the sleep");
        assert!(judged(Vec::new(), values(2)).is_empty());
    }
}
