//! Limits that somebody asked for: how much of a sleep the hardware must sleep, what a sleep
//! may draw, which findings fail a check. What an input does not hold is not known, and
//! neither met nor missed.

use crate::case::Case;
use crate::depth::{self, Depth, Measured};
use crate::finding::{Confidence, Finding, Level};
use crate::night::asleep::{Power, Share};
use crate::report::Report;
use crate::rules::night;
use dormouse_base::gate::{Counted, Figure, Gate, NANO, Unit, Verdict};
use dormouse_base::say::plural;
use dormouse_base::time::Ns;

/// What is known of one input.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// What was found in it.
    pub report: &'a Report,
    /// Its text; none of a trace.
    pub case: Option<&'a Case>,
    /// What a recorder measured around its cycles.
    pub measured: &'a [Measured],
}

/// Whether a finding fails a check that fails on `worst`: it is as bad, and no guess.
pub fn counts(f: &Finding, worst: Level) -> bool {
    f.level <= worst && f.confidence != Confidence::Guess
}

/// The gate of findings: met if the inputs show sleeps and nothing counts.
pub fn findings(told: &[Told<'_>], worst: Level) -> Gate {
    let of = |t: &Told<'_>| -> Vec<Counted> {
        let list = t.report.findings.iter().filter(|f| counts(f, worst));
        list.map(|f| Counted::new(t.name, f)).collect()
    };
    let counted: Vec<Counted> = told.iter().flat_map(of).collect();
    let speaks = |t: &Told<'_>| {
        !t.report.sleeps.is_empty()
            || !t.measured.is_empty()
            || t.case.is_some_and(|c| c.night.speaks())
    };
    let guesses = |t: &Told<'_>| {
        let guess = |f: &&Finding| f.level <= worst && f.confidence == Confidence::Guess;
        t.report.findings.iter().filter(guess).count()
    };
    let silent = told.iter().filter(|t| !speaks(t)).count();
    let open = match told.iter().map(guesses).sum() {
        0 => String::new(),
        1 => "1 finding is a guess, and does not count.".into(),
        n => format!("{n} findings are guesses, and do not count."),
    };
    let bad = match worst {
        Level::Broken => "that something is broken",
        Level::Slow => "that something is broken or slow",
        Level::Risk => "that something is broken, slow or a risk",
        Level::Note => "anything",
    };
    let (verdict, sentence) = match (counted.len(), silent) {
        (1, _) => (Verdict::Missed, format!("1 finding says {bad}.")),
        (n @ 2.., _) => (Verdict::Missed, format!("{n} findings say {bad}.")),
        (_, 0) if !told.is_empty() => (Verdict::Met, format!("No finding says {bad}.")),
        (_, n) => {
            let which = match told.len() {
                0 | 1 => "the input shows".to_string(),
                all => format!("{n} of {all} inputs show"),
            };
            let why = format!("Whether something is wrong is not known: {which} no sleep.");
            (Verdict::Unknown, why)
        }
    };
    let found = (verdict != Verdict::Unknown).then_some(Figure {
        nano: i64::try_from(counted.len()).unwrap_or(i64::MAX).saturating_mul(NANO),
        unit: Unit::Findings,
    });
    let gate = Gate::new("findings", worst.name()).found(verdict, found).says(sentence).but(open);
    Gate { counted, ..gate }
}

/// Thousandths in a per cent, and what makes billionths of them.
const PER_CENT: i64 = NANO / 1_000;

/// `93.1` of thousandths.
fn tenths(thousandths: i64) -> String {
    let t = thousandths.saturating_add(50) / 100;
    format!("{}.{}", t / 10, t % 10)
}

/// ` (line 12)`; nothing of a recording.
fn at(line: u64) -> String {
    if line > 0 { format!(" (line {line})") } else { String::new() }
}

/// What recorders measured, and how many sleeps told nothing.
fn measured(all: &[Measured]) -> (Vec<Share>, usize) {
    let works = all.iter().any(|m| m.hardware.is_some_and(|h| h > Ns::ZERO));
    let slept = all.iter().filter(|m| m.slept && !m.test);
    let known = |m: &&Measured| {
        matches!(
            depth::depth(m, works),
            Some(Depth::Hardware | Depth::Partial(_) | Depth::NameOnly)
        )
    };
    let (known, unknown): (Vec<&Measured>, Vec<&Measured>) = slept.partition(known);
    let share = |m: &&Measured| {
        let part = i128::from(m.hardware?.0) * 100_000 / i128::from(m.length.0.max(1));
        Some(Share { thousandths: i64::try_from(part).ok()?, ordered: false, line: 0 })
    };
    (known.iter().filter_map(share).collect(), unknown.len())
}

/// What a text tells.
fn shares(case: &Case) -> Vec<Share> {
    let told = night::slept_shares(case);
    if !told.is_empty() {
        return told;
    }
    let none = Share { thousandths: 0, ordered: false, line: 0 };
    match depth::last(case) {
        Some((m, works)) if works || m.hardware > Some(Ns::ZERO) => {
            let share = |h: Ns| i128::from(h.0) * 100_000 / i128::from(m.length.0.max(1));
            let all = m.hardware.and_then(|h| i64::try_from(share(h)).ok());
            all.map(|thousandths| Share { thousandths, ..none }).into_iter().collect()
        }
        Some(_) => Vec::new(),
        None => depth::is_refused(case).then_some(none).into_iter().collect(),
    }
}

/// The gate of hardware sleep: every sleep of which a counter tells has this share at least,
/// in thousandths of a per cent.
pub fn hardware_sleep(told: &[Told<'_>], least: i64) -> Gate {
    let (mut all, mut unknown) = (Vec::new(), 0);
    for t in told {
        let (some, open) = measured(t.measured);
        unknown += open;
        let text = if t.measured.is_empty() { t.case.map(shares) } else { None };
        all.extend(some);
        all.extend(text.unwrap_or_default());
    }
    let limit = format!("{} %", tenths(least));
    let gate = Gate::new("hardware-sleep", limit.clone());
    let open = match unknown {
        0 => String::new(),
        n => format!("Of {} no counter tells.", plural(n, "sleep")),
    };
    let Some(worst) = all.iter().min_by_key(|s| s.thousandths) else {
        return gate.says(format!("Whether the hardware slept {limit} of the time is not known: the input has no counter of hardware sleep with the length of a sleep.")).but(open);
    };
    let proven = all.iter().filter(|s| !s.ordered && s.thousandths < least).count();
    let n = all.len();
    let of = match n {
        1 => "the one sleep that a counter tells of".to_string(),
        _ => format!("all {n} sleeps that a counter tells of"),
    };
    let share = format!("{} %{}", tenths(worst.thousandths), at(worst.line));
    let (verdict, sentence) = match (proven, worst.thousandths < least) {
        (1.., _) => {
            let which = match n {
                1 => "in the one sleep that a counter tells of".to_string(),
                _ => format!("in {proven} of {n} sleeps"),
            };
            let text = format!(
                "The hardware slept less than {limit} of the time {which}; the least, {share}."
            );
            (Verdict::Missed, text)
        }
        (0, true) => (
            Verdict::Unknown,
            format!(
                "Whether the hardware slept {limit} of the time is not known: {share} of a sleep as it was ordered, and something may have ended it earlier."
            ),
        ),
        (0, false) => (
            Verdict::Met,
            format!("The hardware slept at least {limit} of the time in {of}: the least, {share}."),
        ),
    };
    let found = Figure { nano: worst.thousandths.saturating_mul(PER_CENT), unit: Unit::Percent };
    gate.found(verdict, Some(found)).says(sentence).but(open)
}

/// The gate of power: no sleep of which a gauge or a program tells drew more, in uW.
pub fn max_power(told: &[Told<'_>], most: i64) -> Gate {
    let all: Vec<Power> = told.iter().filter_map(|t| t.case).flat_map(night::powers).collect();
    let drawn: Vec<(i64, i64, i64, u64)> = all
        .iter()
        .filter_map(|p| match p {
            Power::Drawn { least, about, most, line } => Some((*about, *least, *most, *line)),
            _ => None,
        })
        .collect();
    let limit = watts(most);
    let gate = Gate::new("max-power", limit.clone());
    let open = match all.len() - drawn.len() {
        0 => String::new(),
        _ if drawn.is_empty() => String::new(),
        n => format!("Of {} the input does not give the power.", plural(n, "sleep")),
    };
    let not_known =
        |why: &str| format!("Whether a sleep draws at most {limit} is not known: {why}.");
    let Some(&(about, low, high, line)) = drawn.iter().max() else {
        let why = match all.first() {
            Some(Power::NoWatts) => {
                "the gauge counts charge or per cent, and the input has no energy_full that would make watts of it"
            }
            Some(Power::NoTime) => "the input does not say how long the sleep was",
            Some(Power::Charged) => "the battery had more after the sleep than before",
            Some(Power::Told) => "a person tells the drain in words, and no gauge was read",
            _ => "the input has no battery before and after a sleep",
        };
        return gate.says(not_known(why)).but(open);
    };
    let over = drawn.iter().filter(|d| d.1 > most).count();
    let doubt = drawn.iter().any(|d| d.2 > most);
    let drew = format!("{}{}", watts(about), at(line));
    let n = drawn.len();
    let (verdict, sentence) = match (over, doubt) {
        (1.., _) => {
            let which = match n {
                1 => "The sleep draws".to_string(),
                _ => format!("In {over} of {n} sleeps the machine draws"),
            };
            (Verdict::Missed, format!("{which} more than {limit}: {drew}."))
        }
        (0, true) => {
            let why = format!("the steps of the gauge allow {} to {}", watts(low), watts(high));
            (Verdict::Unknown, not_known(&why))
        }
        (0, false) => {
            let which = match n {
                1 => "The sleep draws".to_string(),
                _ => format!("In all {n} sleeps the machine draws"),
            };
            (Verdict::Met, format!("{which} at most {limit}: {drew}."))
        }
    };
    let found = Figure { nano: about.saturating_mul(1_000), unit: Unit::Watts };
    gate.found(verdict, Some(found)).says(sentence).but(open)
}

/// `1.25 W`, `80 mW` of uW.
fn watts(micro: i64) -> String {
    if micro < 1_000_000 {
        let milli = Figure { nano: (micro + 50) / 100 * 100 * 1_000_000, unit: Unit::Watts };
        return format!("{} mW", milli.decimal());
    }
    let rounded = (micro + 5_000) / 10_000 * 10_000;
    format!("{} W", Figure { nano: rounded.saturating_mul(1_000), unit: Unit::Watts }.decimal())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Area, Evidence};
    use crate::report::Sleep;

    const S: i64 = 1_000_000_000;

    fn report(findings: Vec<Finding>, sleeps: usize) -> Report {
        let sleep = Sleep { mode: "s2idle".into(), line: 1, begun: true, closed: true };
        Report { findings, sleeps: vec![sleep; sleeps], ..Report::default() }
    }

    fn told<'a>(report: &'a Report, measured: &'a [Measured]) -> Told<'a> {
        Told { name: "night", report, case: None, measured }
    }

    fn slept(hardware: Option<i64>) -> Measured {
        Measured {
            number: 1,
            s2idle: true,
            slept: true,
            length: Ns(20 * S),
            stood: Ns(20 * S),
            hardware: hardware.map(|tenths| Ns(tenths * S / 10)),
            ..Measured::default()
        }
    }

    #[test]
    fn findings_count_by_level_and_guesses_never() {
        let f = |level, sure| {
            let e = Evidence { line: 7, ..Evidence::default() };
            Finding::new(("rule", Area::Mode, level), sure).says("It.").shown_by([e])
        };
        let gate = |list: Vec<Finding>, sleeps, worst| {
            let r = report(list, sleeps);
            findings(&[told(&r, &[])], worst)
        };
        let risk = || vec![f(Level::Risk, Confidence::Likely)];
        assert_eq!(gate(risk(), 1, Level::Broken).verdict, Verdict::Met);
        let missed = gate(risk(), 1, Level::Risk);
        assert_eq!((missed.verdict, missed.counted[0].line), (Verdict::Missed, Some(7)));
        let guess = gate(vec![f(Level::Broken, Confidence::Guess)], 1, Level::Broken);
        assert_eq!(guess.verdict, Verdict::Met);
        assert!(guess.open.contains("a guess"), "{}", guess.open);
        assert_eq!(gate(Vec::new(), 0, Level::Broken).verdict, Verdict::Unknown, "no sleep");
        assert_eq!(findings(&[], Level::Broken).verdict, Verdict::Unknown, "no input");
        // One input of two that shows no sleep leaves the whole open.
        let (one, none) = (report(Vec::new(), 1), report(Vec::new(), 0));
        let both = findings(&[told(&one, &[]), told(&none, &[])], Level::Broken);
        assert_eq!(both.verdict, Verdict::Unknown);
        assert!(both.sentence.contains("1 of 2 inputs"), "{}", both.sentence);
    }

    #[test]
    fn the_worst_sleep_decides_and_a_counter_that_never_moved_tells_nothing() {
        let r = report(Vec::new(), 1);
        let gate = |list: &[Measured], least| hardware_sleep(&[told(&r, list)], least);
        let two = [slept(Some(196)), slept(Some(150))];
        assert_eq!(gate(&two, 75_000).verdict, Verdict::Met);
        let missed = gate(&two, 90_000);
        assert_eq!(missed.verdict, Verdict::Missed);
        assert_eq!(missed.found.map(Figure::decimal), Some("75".into()));
        assert!(missed.sentence.contains("in 1 of 2 sleeps"), "{}", missed.sentence);
        assert_eq!(gate(&[slept(Some(0))], 90_000).verdict, Verdict::Unknown);
        assert_eq!(gate(&[slept(None)], 90_000).verdict, Verdict::Unknown);
        // Firmware sleeps in deep, and counts nothing.
        let deep = Measured { s2idle: false, ..slept(Some(0)) };
        let open = gate(&[deep, slept(Some(199))], 90_000);
        assert_eq!(open.verdict, Verdict::Met);
        assert!(open.open.contains("1 sleep no counter"), "{}", open.open);
    }

    #[test]
    fn powers_are_said_in_their_unit() {
        assert_eq!(
            [watts(80_000), watts(1_254_999), watts(500_000)],
            ["80 mW", "1.25 W", "500 mW"]
        );
    }
}
