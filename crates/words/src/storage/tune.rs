//! What `dormouse tune` prints.

use crate::idle::numbers::percent;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time, unasked};
use dormouse_storage::summary::Latency;
use serde_json::{Value, json};

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// ns; `None` for never asleep.
    pub delay: Option<i64>,
    /// Latencies.
    pub latency: Latency,
    /// Times that requests had to wait for a waking storage.
    pub wakes: u64,
    /// Time asleep, ns.
    pub asleep: i64,
    /// Time awake and the break-even time of each wake-up, ns.
    pub cost: i128,
}

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// The setting, in the kernel's word: `clkgate_delay_ms`.
    pub setting: &'static str,
    /// The budget: 99 of 100 requests take at most this, ns.
    pub p99: Option<i64>,
    /// It is met.
    pub met: bool,
    /// Nothing has to change.
    pub stays: bool,
    /// The delay in force is longer than the first, at most the second, ns.
    pub present: (i64, i64),
    /// It was seen which; else what is saved is told against the cheapest of them.
    pub known: bool,
    /// What the delay in force costs at least, ns.
    pub least: i128,
    /// Mean latency as recorded, ns.
    pub recorded: i64,
    /// What one wake-up takes, ns.
    pub wake: i64,
    /// Requests that waited for one in the recording.
    pub woken: u64,
    /// Wake-ups in the recording that no request waited for.
    pub unasked: u64,
    /// The time asleep that saves as much as one wake-up costs, ns.
    pub break_even: i64,
    /// It was given.
    pub given: bool,
    /// The model of now.
    pub now: Side,
    /// The delay chosen.
    pub chosen: Side,
    /// As long as breaks even.
    pub rule: Side,
    /// What nobody undercuts, ns.
    pub best: i128,
    /// From the first request to the last completion, ns.
    pub span: i64,
    /// Delays tried, and whether these are all that differ.
    pub tried: (usize, bool),
    /// Files that were written.
    pub written: &'a [String],
    /// The command line again.
    pub again: &'a str,
    /// The input as it was typed.
    pub input: &'a str,
    /// Why clocks are not searched, as a sentence without its full stop.
    pub clocks: &'a str,
}

impl Advice<'_> {
    /// `p99`, or the longest of fewer than 100 requests, which is the same.
    fn tail(&self) -> &'static str {
        if self.now.latency.tail().is_some() { "p99" } else { "longest" }
    }
}

fn delay(ns: Option<i64>) -> String {
    // Settings are whole milliseconds.
    ns.map_or("never".into(), |ns| match ns % 1_000_000 {
        0 => format!("{} ms", grouped((ns / 1_000_000).unsigned_abs())),
        _ => time(ns),
    })
}

fn asleep(a: &Advice, s: &Side) -> String {
    percent(s.asleep.max(0).unsigned_abs(), a.span.max(0).unsigned_abs())
}

/// `12 % less`, `the same`, in parts of the cost of now.
fn cost(now: i128, then: i128) -> String {
    let diff = (then - now).unsigned_abs().min(u128::from(u64::MAX)) as u64;
    let all = now.unsigned_abs().min(u128::from(u64::MAX)) as u64;
    match percent(diff, all).as_str() {
        "0 %" | "-" => "the same".into(),
        p if then < now => format!("{p} less"),
        p => format!("{p} more"),
    }
}

/// The page.
pub fn text(a: &Advice, colour: bool) -> String {
    let mut p = Page::new(colour);
    let tail = a.tail();
    let line = if !a.met {
        format!(
            "Not possible: {tail} is {} even if the storage never sleeps, {} is asked.",
            time(a.chosen.latency.p99),
            a.p99.map_or_else(String::new, time),
        )
    } else if a.stays {
        let budget =
            a.p99.map_or(String::new(), |ns| format!(" {tail} stays within {}, and", time(ns)));
        format!("Leave {} as it is:{budget} no other delay costs 1 % less energy.", a.setting)
    } else {
        format!(
            "Set {} to {}: {tail} {} -> {}, asleep {} -> {}, energy {}{}.",
            a.setting,
            delay(a.chosen.delay),
            time(a.now.latency.p99),
            time(a.chosen.latency.p99),
            if a.known { asleep(a, &a.now) } else { "unknown".into() },
            asleep(a, &a.chosen),
            if a.known { "" } else { "at least " },
            cost(a.least, a.chosen.cost),
        )
    };
    p.wrapped(Ink::Strong, 0, 2, &line);
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "The model has {} on average where {} were recorded, over {}. The delay in force was \
             between {} and {}; a wake-up takes {}, the median of {}.",
            time(a.now.latency.mean),
            time(a.recorded),
            plural(a.now.latency.count as usize, "request"),
            time(a.present.0),
            time(a.present.1),
            time(a.wake),
            grouped(a.woken)
        ),
    );
    if let Some(text) = unasked(a.unasked) {
        p.wrapped(Ink::Plain, 0, 2, &text);
    }
    p.blank();
    let columns = ["now", "chosen", "break-even"];
    let [x, y, z] = columns;
    p.line(&[(Ink::Strong, &format!("{:<28}{x:>14}{y:>14}{z:>14}", "ms"))]);
    let sides = [&a.now, &a.chosen, &a.rule];
    let mut row = |name: &str, cell: &dyn Fn(&Side) -> String| {
        let [x, y, z] = sides.map(cell);
        p.line(&[(Ink::Plain, &format!("  {name:<26}{x:>14}{y:>14}{z:>14}"))]);
    };
    row("delay", &|s| s.delay.map_or("never".into(), ms3));
    row("mean latency", &|s| ms3(s.latency.mean));
    row("p50", &|s| ms3(s.latency.p50));
    if a.now.latency.tail().is_some() {
        row("p99", &|s| ms3(s.latency.p99));
    }
    row("longest", &|s| ms3(s.latency.max));
    row("requests that woke it", &|s| grouped(s.wakes));
    // Of a delay that is a bound neither is known.
    let known = |s: &Side| a.known || !std::ptr::eq(s, &a.now);
    row("asleep, share", &|s| if known(s) { asleep(a, s) } else { "-".into() });
    row("energy, as time awake", &|s| match known(s) {
        true => ms3(i64::try_from(s.cost).unwrap_or(i64::MAX)),
        false => "-".into(),
    });
    p.blank();
    let even = if a.given {
        format!("A wake-up costs what {} awake do, as given.", time(a.break_even))
    } else {
        format!(
            "Assumed: a wake-up costs what being awake for its {} does. Give --break-even: the energy \
             of a wake-up, divided by the power that sleep saves.",
            time(a.break_even)
        )
    };
    p.wrapped(Ink::Plain, 0, 2, &even);
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "Who knew every request would need {} ms; a delay of the break-even time needs at most \
             twice that, its waits and once the delay at the end, whatever comes. {}",
            ms3(i64::try_from(a.best).unwrap_or(i64::MAX)),
            if a.tried.1 {
                format!("{} delays tried, all that differ.", grouped(a.tried.0 as u64))
            } else {
                format!(
                    "{} delays tried, not all that differ: the recording is long.",
                    grouped(a.tried.0 as u64)
                )
            }
        ),
    );
    if a.setting == "autosuspend_delay_ms" {
        p.wrapped(
            Ink::Plain,
            0,
            2,
            "The kernel may begin a runtime suspend a quarter of the delay later: then it sleeps \
             less, and no request waits more.",
        );
    }
    if !a.clocks.is_empty() {
        p.wrapped(Ink::Plain, 0, 2, &format!("Clocks are not searched: {}.", safe(a.clocks)));
    }
    for path in a.written {
        p.wrapped(Ink::Plain, 0, 2, &format!("Wrote {}.", safe(path)));
    }
    p.blank();
    let command = match (a.met, a.stays, a.written.is_empty()) {
        (false, ..) | (_, true, _) => format!("show --only storage {}", a.input),
        (_, _, true) => format!("{} -o changes/", a.again),
        _ => "record --with storage --for 60s -o after.tar.gz".into(),
    };
    p.verbatim(Ink::Plain, &next(&command));
    p.finish()
}

/// The same for programs (docs/storage-json.md).
pub fn json(a: &Advice) -> Value {
    let side = |s: &Side| {
        let known = a.known || !std::ptr::eq(s, &a.now);
        json!({
            "delay": s.delay, "mean": s.latency.mean, "p50": s.latency.p50, "p99": s.latency.p99,
            "max": s.latency.max, "requests": s.latency.count, "wakes": s.wakes,
            "asleep": known.then_some(s.asleep),
            "cost": i64::try_from(s.cost).ok().filter(|_| known),
        })
    };
    json!({
        "setting": a.setting,
        "p99": a.p99,
        "met": a.met,
        "changed": !a.stays,
        "present_above": a.present.0,
        "present_at_most": a.present.1,
        "present_known": a.known,
        "recorded_mean": a.recorded,
        "wake": a.wake,
        "waited": a.woken,
        "woken_by_no_request": a.unasked,
        "break_even": a.break_even,
        "break_even_given": a.given,
        "span": a.span,
        "now": side(&a.now),
        "chosen": side(&a.chosen),
        "break_even_rule": side(&a.rule),
        "least_cost": i64::try_from(a.best).ok(),
        "delays_tried": a.tried.0,
        "all_delays_tried": a.tried.1,
        "clocks_not_searched": a.clocks,
        "files": a.written,
    })
}
