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

/// A sleep that is shorter may be too short for the hardware's own state, in ms.
const SHORT: u64 = 10_000;

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
    tests(&all, out);
    woke(case, &all, out);
    if !told_depth(out) {
        out.extend(depth(&all));
    }
}

/// What tests say of sleeps that were too short, or never began.
fn tests(all: &[(&Item, &Report)], out: &mut Vec<Finding>) {
    let early = all.iter().find_map(|(i, r)| match r {
        Report::Early { seconds, of } => Some((*i, *seconds, *of)),
        _ => None,
    });
    if let Some((item, seconds, of)) = early {
        let of = of.map_or(String::new(), |of| {
            format!(
                " of the {} that were ordered, {} too early",
                span(of * 1_000),
                span(of.saturating_sub(seconds) * 1_000)
            )
        });
        out.push(
            Finding::new(("night-woke-early", Area::Mode, Level::Risk), Confidence::Certain)
                .says(format!("Something woke the machine before its alarm: it slept {}{of}, says the test. What woke it is not in the text.", span(seconds * 1_000)))
                .look("Name the waker: cat /sys/power/pm_wakeup_irq after it, and pm_debug_messages; compare /sys/kernel/debug/wakeup_sources before and after.")
                .shown_by([Evidence::from(item)]),
        );
    }
    let not_run: Vec<&Item> = all.iter().filter(|r| *r.1 == Report::NotRun).map(|r| r.0).collect();
    if let Some(first) = not_run.first() {
        out.push(
            Finding::new(("night-not-run", Area::Mode, Level::Risk), Confidence::Certain)
                .says(format!("The test never sent the machine to sleep: \"{}\". Counters of this run tell of no sleep.", not_run.last().unwrap_or(first).text.trim()))
                .look("See who holds the clock: fuser -v /dev/rtc0; rtcwake -d names another, and rtcwake -m no tries the alarm alone.")
                .shown_by(not_run.iter().take(3).map(|i| Evidence::from(*i))),
        );
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
                let came = format!(" GPE {number:#04x} came {} times{words}.", say::grouped(*by));
                if !rest.contains(&came) {
                    rest += &came;
                    shown.push(Evidence::from(*item));
                }
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
    let cycles = cycles(all);
    let none: Vec<&Item> = all.iter().filter(|r| *r.1 == Report::NoHardware).map(|r| r.0).collect();
    if let Some(first) = none.first() {
        // What a table and a sentence both tell is one cycle.
        let each = none.len() > 1 && none.len() <= slept.len();
        let times = if each { format!(" in {} cycles", none.len()) } else { String::new() };
        if let Some(ms) = slept.iter().max().filter(|ms| **ms < SHORT && none.len() >= slept.len())
        {
            return Some(
                Finding::new(("mode-name-only", Area::Mode, Level::Note), Confidence::Likely)
                    .says(format!("The hardware's own state was not reached in a sleep of {}, says the report. Entering it takes some seconds, so that short a sleep may be too short for it, and proves no fault.", span(*ms)))
                    .look("Try again with a longer sleep (--duration 60): only that tells whether the hardware sleeps.")
                    .shown_by([Evidence::from(*first)]),
            );
        }
        return Some(
            Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain)
                .says(format!("The machine slept in name only{times}: the report says that the hardware's own state was not reached. What kept it, these lines do not name."))
                .look(crate::rules::platform::CONSTRAINTS)
                .shown_by([Evidence::from(*first)]),
        );
    }
    // The least of several cycles.
    let least = cycles.iter().min_by_key(|c| c.share)?;
    // The share is of the sleep, whose length may stand elsewhere.
    let share = u64::try_from(least.share).unwrap_or(0);
    let length = least.deep.saturating_mul(100).checked_div(share);
    let rule = counted::rule(depth_of(least.deep * 1_000, Some(length.unwrap_or(1))));
    let list: Vec<String> = cycles.iter().map(Cycle::words).collect();
    let (each, list) = match &list[..] {
        [one] => ("The hardware slept for ", one.clone()),
        _ => ("Cycle by cycle the hardware slept for ", list.join("; ")),
    };
    Some(
        Finding::new(rule, Confidence::Certain)
            .says(format!("{each}{list}, says the report."))
            .shown_by(cycles.iter().map(|c| Evidence::from(c.item)).take(6)),
    )
}

/// A cycle in which the hardware slept.
struct Cycle<'a> {
    item: &'a Item,
    /// In its own state, in ms.
    deep: u64,
    /// Of the sleep, in thousandths of a per cent.
    share: i64,
    /// How long the sleep was, in ms, if the report says.
    slept: Option<u64>,
    /// So often it entered that state.
    entries: u64,
}

impl Cycle<'_> {
    /// `8.7 s of 12.4 s (70.18 %)`.
    fn words(&self) -> String {
        let of = self.slept.map_or(String::new(), |ms| format!(" of {}", span(ms)));
        let pieces = match self.entries {
            0 | 1 => String::new(),
            n => format!(", in {} pieces", say::grouped(n)),
        };
        let (whole, rest) = (self.share / 1_000, self.share % 1_000 / 10);
        format!("{}{of} ({whole}.{rest:02} %{pieces})", span(self.deep))
    }
}

fn cycles<'a>(all: &[(&'a Item, &Report)]) -> Vec<Cycle<'a>> {
    let (mut slept, mut entries) = (None, 0);
    let mut out = Vec::new();
    for (item, r) in all {
        match r {
            Report::Slept { ms, .. } => slept = Some(*ms),
            Report::Entries(n) => entries = *n,
            Report::Hardware { ms, share } => out.push(Cycle {
                item,
                deep: *ms,
                share: share.unwrap_or(100_000),
                slept: slept.take(),
                entries: std::mem::take(&mut entries),
            }),
            _ => {}
        }
    }
    out
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
        let early = judged(vec![Report::Early { seconds: 51, of: Some(60) }]);
        assert!(early[0].sentence.contains("51.0 s of the 1 min 0 s"), "{}", early[0].sentence);
        assert_eq!(judged(vec![Report::NotRun])[0].id, "night-not-run");
        let brief = vec![Report::Slept { ms: 7_000, early: false }, Report::NoHardware];
        assert_eq!(judged(brief)[0].level, Level::Note);
        let long = vec![Report::Slept { ms: 21_000, early: false }, Report::NoHardware];
        assert_eq!(judged(long)[0].level, Level::Risk);
        let two = vec![
            Report::Slept { ms: 30_000, early: false },
            Report::Hardware { ms: 27_000, share: Some(90_000) },
            Report::Entries(4),
            Report::Slept { ms: 31_000, early: false },
            Report::Hardware { ms: 6_200, share: Some(20_000) },
        ];
        let found = judged(two);
        let words = &found[0].sentence;
        assert!(
            words.contains("27.0 s of 30.0 s (90.00 %); 6.2 s of 31.0 s (20.00 %, in 4 pieces)"),
            "{words}"
        );
    }
}
