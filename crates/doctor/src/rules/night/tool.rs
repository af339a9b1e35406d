//! What AMD's report says of its cycles: who woke each, and how deep it was.

use super::counted;
use super::owner;
use super::required::{depth_of, told_depth};
use crate::case::Case;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::night::asleep::Share;
use crate::night::report::Report;
use crate::night::{Fact, Item};
use crate::rules::wake;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A sleep that is shorter may be too short for the hardware's own state, in ms.
const SHORT: u64 = 10_000;

fn reports(case: &Case) -> Vec<(&Item, &Report)> {
    case.night
        .of(|f| match f {
            Fact::Report(r) => Some(r),
            _ => None,
        })
        .collect()
}

fn span(ms: u64) -> String {
    say::span(Ns(i64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    not_run(case, out);
    let all = reports(case);
    if all.is_empty() {
        return;
    }
    woke(case, &all, out);
    early(&all, out);
    if !told_depth(out) {
        out.extend(depth(&all));
    }
    marked(&all, out);
}

/// So many marks of a report are told.
const MARKS: usize = 3;

/// Adds to a sleep in name only what the report of it marks as wrong.
fn marked(all: &[(&Item, &Report)], out: &mut [Finding]) {
    let of = |(i, r): &(&'_ Item, &Report)| match r {
        Report::Marked(words) => Some((Evidence::from(*i), words.clone())),
        _ => None,
    };
    let marks: Vec<(Evidence, String)> = all.iter().filter_map(of).take(MARKS).collect();
    // Other programs have such marks, too.
    if marks.is_empty() || all.iter().all(|a| of(a).is_some()) {
        return;
    }
    let words: Vec<String> = marks.iter().map(|m| format!("\"{}\"", m.1)).collect();
    let only = |f: &&mut Finding| f.id == "mode-name-only" && f.level == Level::Risk;
    for f in out.iter_mut().filter(only) {
        f.sentence += &format!(
            " The report marks as wrong: {}; that it kept the hardware awake, no line that was read says.",
            words.join(", ")
        );
        f.evidence.extend(marks.iter().map(|m| m.0.clone()));
    }
}

/// What a test says of a sleep that was too short.
fn early(all: &[(&Item, &Report)], out: &mut Vec<Finding>) {
    let early = all.iter().find_map(|(i, r)| match r {
        Report::Early { seconds, of } => Some((*i, *seconds, *of)),
        _ => None,
    });
    let Some((item, seconds, of)) = early else { return };
    let of = of.map_or(String::new(), |of| {
        format!(
            " of the {} that were ordered, {} too early",
            span(of.saturating_mul(1_000)),
            span(of.saturating_sub(seconds).saturating_mul(1_000))
        )
    });
    let named = out.iter().any(wake::names_a_waker);
    let unnamed = if named { "" } else { " No rule finds what woke it." };
    out.push(
        Finding::new(("night-woke-early", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!("Something woke the machine before its alarm: it slept {}{of}, says the test.{unnamed}", span(seconds.saturating_mul(1_000))))
            .look("Name the waker: cat /sys/power/pm_wakeup_irq after it, and pm_debug_messages; compare /sys/kernel/debug/wakeup_sources before and after.")
            .shown_by([Evidence::from(item)]),
    );
}

/// What a test says of a sleep that never began.
fn not_run(case: &Case, out: &mut Vec<Finding>) {
    let not_run = || case.night.items.iter().filter(|i| i.fact == Fact::NotRun);
    let Some(last) = not_run().next_back() else { return };
    let came_back = |first: usize| case.messages[first].line < last.line;
    let slept = case.attempts.iter().filter(|a| a.closed && a.devices).map(|a| a.first);
    let parts = case.parts.iter().filter(|p| p.1).map(|p| p.0);
    if slept.chain(parts).any(came_back) {
        out.push(
            Finding::new(("night-not-run", Area::Mode, Level::Note), Confidence::Certain)
                .says(format!(
                    "The test ended with an error behind a sleep that came back: \"{}\".",
                    last.text.trim()
                ))
                .look("Look at the sleep, and not at the test: dormouse show.")
                .shown_by([Evidence::from(last)]),
        );
        return;
    }
    // Other sleeps of the text may have counted.
    let none = case.attempts.is_empty() && case.parts.is_empty();
    let none = if none { " Counters of this run tell of no sleep." } else { "" };
    out.push(
        Finding::new(("night-not-run", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!("The test never sent the machine to sleep: \"{}\".{none}", last.text.trim()))
            .look("See who holds the clock: fuser -v /dev/rtc0; rtcwake -d names another, and rtcwake -m no tries the alarm alone.")
            .shown_by(not_run().take(3).map(Evidence::from)),
    );
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
    let early = if early { " It woke before its alarm." } else { "" };
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
        // A person who tells of a report is no report.
        let printed = |i: &&Item| {
            let text = i.text.trim_start_matches(|c: char| !c.is_alphanumeric());
            text.starts_with("Did not reach")
        };
        let sure = if none.iter().any(printed) { Confidence::Certain } else { Confidence::Guess };
        return Some(
            Finding::new(("mode-name-only", Area::Mode, Level::Risk), sure)
                .says(format!("The machine slept in name only{times}: the report says that the hardware's own state was not reached. No rule finds what kept it."))
                .look(crate::rules::platform::CONSTRAINTS)
                .shown_by([Evidence::from(*first)]),
        );
    }
    // The least of several cycles.
    let known = cycles.iter().filter(|c| c.share.is_some()).min_by_key(|c| c.share);
    let least = known.or(cycles.iter().min_by_key(|c| c.deep))?;
    // The share is of the sleep, whose length may stand elsewhere.
    let length = least.share.map(|share| {
        let share = u64::try_from(share).unwrap_or(0);
        least.deep.saturating_mul(100).checked_div(share).unwrap_or(1)
    });
    let rule = counted::rule(depth_of(least.deep.saturating_mul(1_000), length));
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
    /// Of the sleep, in thousandths of a per cent, if the report says that or how long it was.
    share: Option<i64>,
    /// How long the sleep was, in ms, if the report says.
    slept: Option<u64>,
    /// So often it entered that state.
    entries: u64,
}

impl Cycle<'_> {
    /// `8.7 s of 12.4 s (70.18 %)`.
    fn words(&self) -> String {
        let of = self.slept.map_or(String::new(), |ms| format!(" of {}", span(ms)));
        let share = self.share.map(|s| format!("{}.{:02} %", s / 1_000, s % 1_000 / 10));
        let pieces =
            (self.entries > 1).then(|| format!("in {} pieces", say::grouped(self.entries)));
        let more: Vec<String> = share.into_iter().chain(pieces).collect();
        let more = if more.is_empty() { more.concat() } else { format!(" ({})", more.join(", ")) };
        format!("{}{of}{more}", span(self.deep))
    }
}

/// Which share of a sleep that was: as the report says, else by how long the sleep was.
fn share_of(deep: u64, told: Option<i64>, slept: Option<u64>) -> Option<i64> {
    let by_length = || i64::try_from(deep.saturating_mul(100_000).checked_div(slept?)?).ok();
    told.or_else(by_length)
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
                share: share_of(*ms, *share, slept),
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
    let all = reports(case);
    // What a sentence says of a cycle, a row of the table says again.
    let mut rows = all.iter().filter(|r| matches!(r.1, Report::Hardware { ms: 0, .. })).count();
    for (item, r) in all {
        let thousandths = match r {
            Report::Slept { ms, .. } => {
                slept = Some(*ms);
                continue;
            }
            Report::NoHardware if rows > 0 => {
                rows -= 1;
                continue;
            }
            Report::NoHardware => Some(0),
            Report::Hardware { ms, share } => share_of(*ms, *share, slept),
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

    fn case(facts: impl IntoIterator<Item = Fact>) -> Case {
        let item = |(line, fact)| Item { line, text: format!("line {line}"), fact };
        let items = (1..).zip(facts).map(item).collect();
        Case { night: Night { items, ..Night::default() }, ..Case::default() }
    }

    fn judged(list: Vec<Report>) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&case(list.into_iter().map(Fact::Report)), &mut out);
        out
    }

    #[test]
    fn a_test_that_did_not_run_proves_no_sleep() {
        let mut out = Vec::new();
        let mut case = case([Fact::NotRun]);
        judge(&case, &mut out);
        assert_eq!(out[0].id, "night-not-run");
        assert!(out[0].sentence.ends_with("tell of no sleep."), "{}", out[0].sentence);
        assert!(!super::super::has_counters(&case));
        case.attempts.push(crate::attempt::Attempt::default());
        judge(&case, &mut out);
        assert!(out[1].sentence.ends_with("\"line 1\"."), "{}", out[1].sentence);
    }

    #[test]
    fn what_the_report_names_is_not_said_to_be_missing() {
        let early = || Report::Early { seconds: 51, of: Some(60) };
        let missing = |list| judged(list).iter().any(|f| f.sentence.contains("No rule finds"));
        assert!(missing(vec![early()]));
        assert!(!missing(vec![early(), Report::Woke { number: 7, name: "pinctrl".into() }]));
        // Nobody says which share it was.
        let found = judged(vec![Report::Hardware { ms: 40_000, share: None }]);
        assert_eq!(found[0].sentence, "The hardware slept for 40.0 s, says the report.");
        let list = [
            Report::Slept { ms: 80_000, early: false },
            Report::Hardware { ms: 40_000, share: None },
        ];
        assert!(judged(list.into())[0].sentence.contains("40.0 s of 1 min 20 s (50.00 %)"));
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
