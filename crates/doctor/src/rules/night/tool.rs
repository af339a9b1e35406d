//! What AMD's report says of its cycles: who woke each, and how deep it was.

use super::counted;
use super::owner;
use super::required::{depth_of, told_depth};
use crate::case::Case;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::night::asleep::Share;
use crate::night::report::Report;
use crate::night::{Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

fn reports(case: &Case) -> Vec<(&Item, &Report)> {
    case.night
        .items
        .iter()
        .filter_map(|i| match &i.fact {
            Fact::Report(r) => Some((i, r)),
            _ => None,
        })
        .collect()
}

fn span(ms: u64) -> String {
    say::span(Ns(i64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = reports(case);
    if all.is_empty() {
        return;
    }
    woke(case, &all, out);
    if !told_depth(out) {
        out.extend(depth(&all));
    }
}

fn woke(case: &Case, all: &[(&Item, &Report)], out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.id == "mode-wake-source") {
        return;
    }
    let named = |number: u32, name: &str| {
        let table = owner::irq(case, &number.to_string(), true);
        match (name, table) {
            ("", Some(r)) => format!("IRQ {number} ({})", r.words),
            ("", None) => format!("IRQ {number}"),
            (name, _) => format!("IRQ {number} ({name})"),
        }
    };
    let (mut by, mut came, mut shown): (Vec<String>, Vec<String>, Vec<Evidence>) =
        Default::default();
    let (mut rest, mut devices) = (String::new(), Vec::new());
    for (item, r) in all {
        let (list, word) = match r {
            Report::Woke { number, name } => (&mut by, named(*number, name)),
            Report::Triggered { number, name } => (&mut came, named(*number, name)),
            Report::Pins(pins) => {
                rest += &format!(" Active pins: {pins}.");
                shown.push(Evidence::from(*item));
                continue;
            }
            Report::Gpe { number, by } => {
                let who = owner::gpe(case, *number);
                let words = who.as_ref().map_or(String::new(), |r| format!(", {}", r.words));
                devices.extend(who.and_then(|r| r.device));
                rest += &format!(" GPE {number:#04x} came {} times{words}.", say::grouped(*by));
                shown.push(Evidence::from(*item));
                continue;
            }
            _ => continue,
        };
        if !list.contains(&word) {
            list.push(word);
            shown.push(Evidence::from(*item));
        }
    }
    came.retain(|c| !by.contains(c));
    let also = if came.is_empty() {
        String::new()
    } else {
        format!(" Meanwhile {} came too: it may have begun the wake-up.", came.join(" and "))
    };
    let early = all.iter().any(|r| matches!(r.1, Report::Slept { early: true, .. }));
    let early =
        if early { " It woke before its alarm: nobody asked for that wake-up." } else { "" };
    if by.is_empty() && came.is_empty() {
        return;
    }
    let first =
        if by.is_empty() { std::mem::take(&mut came).join(" or ") } else { by.join(", then by ") };
    let also = if by.is_empty() { String::new() } else { also };
    let level = if early.is_empty() { Level::Note } else { Level::Risk };
    let f = Finding::new(("mode-wake-source", Area::Mode, level), Confidence::Certain)
        .says(format!("Woken by {first}, says the report.{also}{rest}{early}"))
        .look("The interrupt of ACPI stands for the embedded controller, the lid, the battery and every device with a _PRW; that of a GPIO controller for any of its pins.")
        .of_devices(devices.into_iter().map(|name| Device { name, driver: String::new() }))
        .shown_by(shown.into_iter().take(6));
    out.push(f);
}

fn depth(all: &[(&Item, &Report)]) -> Option<Finding> {
    let slept: Vec<u64> = all
        .iter()
        .filter_map(|r| match r.1 {
            Report::Slept { ms, .. } => Some(*ms),
            _ => None,
        })
        .collect();
    let of = slept.last().map_or(String::new(), |ms| format!(" of {}", span(*ms)));
    let none: Vec<&Item> = all.iter().filter(|r| *r.1 == Report::NoHardware).map(|r| r.0).collect();
    if let Some(first) = none.first() {
        // What a table and a sentence both tell is one cycle.
        let each = none.len() > 1 && none.len() <= slept.len();
        let times = if each { format!(" in {} cycles", none.len()) } else { String::new() };
        return Some(
            Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain)
                .says(format!("The machine slept in name only{times}: the report says that the hardware's own state was not reached. What kept it, these lines do not name."))
                .look(crate::rules::platform::CONSTRAINTS)
                .shown_by([Evidence::from(*first)]),
        );
    }
    // The least of several cycles.
    let (item, ms, share) = all
        .iter()
        .filter_map(|(i, r)| match r {
            Report::Hardware { ms, share } => Some((*i, *ms, share.unwrap_or(100_000))),
            _ => None,
        })
        .min_by_key(|h| h.2)?;
    // The share is of the sleep, whose length may stand elsewhere.
    let length = ms.saturating_mul(100).checked_div(u64::try_from(share).unwrap_or(0));
    let rule = counted::rule(depth_of(ms * 1_000, Some(length.unwrap_or(1))));
    Some(
        Finding::new(rule, Confidence::Certain)
            .says(format!(
                "The hardware slept for {}{of} ({}.{:02} %), says the report.",
                span(ms),
                share / 1_000,
                share % 1_000 / 10
            ))
            .shown_by([Evidence::from(item)]),
    )
}

/// Shares of sleeps, as the report gives them.
pub(in crate::rules) fn slept_shares(case: &Case) -> Vec<Share> {
    let mut slept = None;
    let mut out = Vec::new();
    for (item, r) in reports(case) {
        let thousandths = match r {
            Report::Slept { ms, .. } => {
                slept = i64::try_from(*ms).ok().filter(|ms| *ms > 0);
                continue;
            }
            Report::NoHardware => Some(0),
            Report::Hardware { share: Some(s), .. } => Some(*s),
            Report::Hardware { ms, .. } => slept
                .and_then(|all| i64::try_from(*ms).ok()?.saturating_mul(100_000).checked_div(all)),
            _ => None,
        };
        out.extend(thousandths.map(|thousandths| Share {
            thousandths,
            ordered: false,
            line: item.line,
        }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn judged(list: Vec<Report>) -> Vec<Finding> {
        let items = (1..)
            .zip(list)
            .map(|(line, r)| Item { line, text: format!("line {line}"), fact: Fact::Report(r) })
            .collect();
        let mut out = Vec::new();
        judge(&Case { night: Night { items, ..Night::default() }, ..Case::default() }, &mut out);
        out
    }

    #[test]
    fn a_cycle_that_woke_early_names_what_ended_it_and_what_came_too() {
        let found = judged(vec![
            Report::Pins("18".into()),
            Report::Triggered { number: 9, name: "ACPI SCI".into() },
            Report::Woke { number: 7, name: "GPIO Controller".into() },
            Report::Slept { ms: 40_000, early: true },
            Report::Hardware { ms: 20_000, share: Some(50_000) },
        ]);
        let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
        assert_eq!(ids, ["mode-wake-source", "mode-partial"]);
        let words = &found[0].sentence;
        assert!(
            words.contains("IRQ 7 (GPIO Controller)")
                && words.contains("Meanwhile IRQ 9")
                && words.contains("pins: 18"),
            "{words}"
        );
        assert_eq!(judged(vec![Report::NoHardware])[0].id, "mode-name-only");
        let short = vec![
            Report::Slept { ms: 12_000, early: false },
            Report::Hardware { ms: 8_000, share: Some(66_000) },
        ];
        assert_eq!(judged(short)[0].id, "mode-hardware");
    }
}
