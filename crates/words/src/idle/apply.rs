//! What `dormouse tune --apply` found: does the setting help?

use super::wrapped::wrap;
use crate::wording::comparison::p_number;
use crate::wording::next::next;
use crate::wording::number::plural;
use dormouse_sleep::acceptance::{Effect, LEAST_PAIRS};
use serde_json::{Value, json};

/// Why a setting stays or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What had to get better did, and the budget is met.
    Helps,
    /// It did not, beyond doubt.
    NotShown,
    /// The budget is not met with it.
    OverBudget,
    /// Fewer pairs than can prove anything.
    TooFewPairs,
}

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Why it stays or not.
    pub why: Why,
    /// Delays had to get shorter; else energy had to fall.
    pub for_delay: bool,
    /// 99th percentile of wake-up delays, ns.
    pub delay: &'a Effect,
    /// Energy, in any unit.
    pub energy: &'a Effect,
    /// Pairs that count.
    pub pairs: usize,
    /// Settings that stay.
    pub kept: usize,
    /// The budget, ns.
    pub p99: i64,
    /// Seconds of a recording.
    pub span: u64,
    /// For each pair, whether the setting came first, and the number that this is
    /// made of.
    pub order: (&'a [bool], u64),
    /// The command with more pairs.
    pub more: &'a str,
}

impl Trial<'_> {
    fn why(&self) -> String {
        let what = if self.for_delay { "wake-up delays" } else { "energy of idle states" };
        match self.why {
            Why::Helps => {
                format!("{what} fell, beyond the 1 % level, and the budget is met")
            }
            Why::NotShown => format!(
                "{} of recordings do not show, at the 1 % level, that {what} fall{}",
                plural(self.pairs, "pair"),
                if self.for_delay { "" } else { "s" }
            ),
            Why::OverBudget => format!("p99 is over {} us with it", self.p99 / 1_000),
            Why::TooFewPairs => format!(
                "wake-up delays could be measured in {}; at least {LEAST_PAIRS} are needed",
                plural(self.pairs, "pair")
            ),
        }
    }
}

/// The page.
pub fn text(t: &Trial) -> String {
    let mut out = wrap(&if t.why == Why::Helps {
        format!("Kept: {}. {} until the next start.", t.why(), plural_are(t.kept))
    } else {
        format!("Put back: {}. Everything is as it was.", t.why())
    });
    let (with_first, seed) = t.order;
    let order: String = with_first.iter().map(|first| if *first { 'w' } else { 'o' }).collect();
    out += &wrap(&format!(
        "In {} of recordings of {} s, ordered by a coin (--order-seed {seed}: {order}, w = with \
         the setting first, o = without it first); the machine stayed awake.",
        plural(t.pairs, "pair"),
        t.span
    ));
    if t.pairs > 0 {
        let us = |ns: f64| format!("{:.0}", ns / 1_000.0);
        out += "\n                              without    with  difference, at 99 %        p\n";
        out += &row("p99 of wake-up delays, us", t.delay, us);
        out += &row("energy, thousandths of P0", t.energy, |e| format!("{e:.0}"));
    }
    out + "\n" + &next(if t.why == Why::Helps { "restore --kept" } else { t.more })
}

fn plural_are(n: usize) -> String {
    if n == 1 { "1 setting stays".into() } else { format!("{n} settings stay") }
}

fn row(what: &str, e: &Effect, number: impl Fn(f64) -> String) -> String {
    let range = e
        .interval
        .map_or_else(|| "-".into(), |(low, high)| format!("{} to {}", number(low), number(high)));
    let p = (2.0 * e.test.p_below.min(e.test.p_above)).min(1.0);
    format!(
        "{what:<26} {:>10} {:>7} {range:>20} {:>8}\n",
        number(e.without),
        number(e.with),
        p_number(p)
    )
}

/// The same for programs.
pub fn json(t: &Trial) -> Value {
    let number = |x: f64| if x.is_nan() { Value::Null } else { json!(x) };
    let effect = |e: &Effect| {
        json!({
            "without": number(e.without),
            "with": number(e.with),
            "difference": number(e.test.estimate),
            "interval_99": e.interval.map(|(low, high)| [low, high]),
            "p_less": e.test.p_below,
            "p_more": e.test.p_above,
        })
    };
    json!({
        "kept": t.why == Why::Helps,
        "why": t.why(),
        "settings_kept": t.kept,
        "pairs": t.pairs,
        "span_s": t.span,
        "order_seed": t.order.1,
        "with_first": t.order.0,
        "delay_p99_ns": effect(t.delay),
        "energy": effect(t.energy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_sleep::acceptance::effect;

    fn page(why: Why, pairs: usize) -> String {
        let of = |without: f64, with: f64| {
            effect(&(0..pairs).map(|n| (without + n as f64, with)).collect::<Vec<_>>())
        };
        let (delay, energy) = (of(576_000.0, 10_000.0), of(214.0, 659.0));
        let order = [true, false, false, true, false, true, true, false, true, true];
        text(&Trial {
            why,
            for_delay: true,
            delay: &delay,
            energy: &energy,
            pairs,
            kept: 1,
            p99: 60_000,
            span: 10,
            order: (&order, 7),
            more: "tune x --p99 60us --apply --yes --pairs 20",
        })
    }

    #[test]
    fn the_first_word_says_what_became_of_the_setting() {
        let kept = page(Why::Helps, 10).replace("\n  ", " ");
        assert!(kept.starts_with("Kept: wake-up delays fell, beyond the 1 % level"), "{kept}");
        let flowing = kept.replace("\n  ", " ");
        assert!(flowing.contains("1 setting stays until the next start"), "{kept}");
        assert!(kept.ends_with("Next: dormouse restore --kept\n"), "{kept}");
        for (why, said) in [
            (Why::NotShown, "10 pairs of recordings do not show"),
            (Why::OverBudget, "p99 is over 60 us with it"),
            (Why::TooFewPairs, "at least 8 are needed"),
        ] {
            let text = page(why, 10);
            assert!(text.starts_with("Put back: "), "{text}");
            assert!(text.replace("\n  ", " ").contains(said), "{text}");
            assert!(text.ends_with("--pairs 20\n"), "{text}");
            assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        }
        // Nothing is said of what was not measured.
        assert!(!page(Why::TooFewPairs, 0).contains("NaN"));
    }
}
