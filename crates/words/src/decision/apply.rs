//! What `tune --apply` found: is the machine faster with the flags?

use crate::text::page::{Ink, Page};
use crate::wording::comparison::p_number;
use crate::wording::next::next;
use crate::wording::number::plural;
use dormouse_base::time::Ns;
use dormouse_sleep::acceptance::{Judgement, LEAST_PAIRS, Reason};

/// Why the flags stay or not, without a full stop.
pub fn why(j: &Judgement) -> String {
    let pairs = j.pairs;
    match j.reason {
        Reason::Faster => "suspend and resume together are faster, beyond the 1 % level".into(),
        Reason::TooFewPairs => format!(
            "only {} of sleeps can be compared; at least {LEAST_PAIRS} are needed",
            plural(pairs, "pair")
        ),
        Reason::MoreFailures { without, with } => format!(
            "{} with the flags failed or were not recorded, and {without} without",
            plural(with, "sleep")
        ),
        Reason::DirectionSlower(d) => format!("{} is slower, beyond the 5 % level", d.name()),
        Reason::Slower => "suspend and resume together are slower".into(),
        Reason::NotShown => format!(
            "{} of sleeps do not show that it is faster, at the 1 % level",
            plural(pairs, "pair")
        ),
    }
}

/// The answer: kept or put back, and why. `kept` flags are set now.
pub fn verdict(j: &Judgement, kept: usize) -> String {
    let mut page = Page::new(false);
    let text = if j.keep() {
        let flags = if kept == 1 { "1 flag is".to_string() } else { format!("{kept} flags are") };
        format!("Kept: {}. {flags} set until the next start.", why(j))
    } else {
        format!("Put back: {}. Every flag is as it was.", why(j))
    };
    page.wrapped(Ink::Strong, 0, 2, &text);
    page.finish()
}

/// What the pairs say, and in which order they slept: `with_first` for each.
pub fn in_pairs(j: &Judgement, with_first: &[bool], seed: u64) -> String {
    let order: String = with_first.iter().map(|first| if *first { 'w' } else { 'o' }).collect();
    let mut text = format!(
        "In {} of sleeps, ordered by a coin (--order-seed {seed}: {order}, w = with the flags \
         first, o = without them first)",
        plural(j.pairs, "pair")
    );
    let time = |ns: f64| Ns(ns.abs().round() as i64);
    let sign = |ns: f64| if ns < 0.0 { "-" } else { "+" };
    let e = &j.effect;
    if j.pairs > 0 {
        let (name, p) = match e.test.estimate {
            d if d < 0.0 => (format!("{} faster", time(d)), e.test.p_below),
            d if d > 0.0 => (format!("{} slower", time(d)), e.test.p_above),
            _ => ("no difference".into(), e.test.p_above),
        };
        text.push_str(&format!(
            ", suspend plus resume took {} without and {} with the flags: {name}",
            time(e.without),
            time(e.with)
        ));
        if let Some((low, high)) = e.interval.filter(|&i| i != (0.0, 0.0)) {
            text.push_str(&format!(
                " ({}{} to {}{} at 99 %)",
                sign(low),
                time(low),
                sign(high),
                time(high)
            ));
        }
        let p = p_number((2.0 * p).min(1.0));
        text.push_str(&format!("; by the coin alone p = {p}"));
    }
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, &(text + "."));
    page.finish()
}

/// How to undo what was kept.
pub fn undo() -> String {
    next("restore --kept")
}
