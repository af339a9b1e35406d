//! What `dormouse tune` prints.

use crate::idle::numbers::percent;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time, unasked};
use dormouse_storage::summary::Latency;
use serde::Serialize;

/// One column.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Side {
    /// ns; `None` for never asleep.
    pub delay: Option<i64>,
    /// Latencies.
    #[serde(flatten)]
    pub latency: Latency,
    /// Times that requests had to wait for a waking storage.
    pub wakes: u64,
    /// Time asleep, ns; not known of a delay that is a bound.
    pub asleep: Option<i64>,
    /// Time awake and the break-even time of each wake-up, ns; as above.
    pub cost: Option<i64>,
}

/// What is printed, also as JSON (docs/storage-json.md).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Advice<'a> {
    /// The setting, in the kernel's word: `clkgate_delay_ms`.
    pub setting: &'static str,
    /// The budget: 99 of 100 requests take at most this, ns.
    pub p99: Option<i64>,
    /// It is met.
    pub met: bool,
    /// Something has to change.
    pub changed: bool,
    /// The delay in force is longer than this, ns.
    pub present_above: i64,
    /// And at most this.
    pub present_at_most: i64,
    /// It was seen which; else what is saved is told against the cheapest of them.
    pub present_known: bool,
    /// What the delay in force costs at least, ns.
    #[serde(skip)]
    pub least: i64,
    /// Mean latency as recorded, ns.
    pub recorded_mean: i64,
    /// What one wake-up takes, ns.
    pub wake: i64,
    /// Requests that waited for one in the recording.
    pub waited: u64,
    /// Wake-ups in the recording that no request waited for.
    pub woken_by_no_request: u64,
    /// The time asleep that saves as much as one wake-up costs, ns.
    pub break_even: i64,
    /// It was given.
    pub break_even_given: bool,
    /// The model of now.
    pub now: Side,
    /// The delay chosen.
    pub chosen: Side,
    /// As long as breaks even.
    pub break_even_rule: Side,
    /// What nobody undercuts, ns.
    pub least_cost: Option<i64>,
    /// From the first request to the last completion, ns.
    pub span: i64,
    /// Delays tried.
    pub delays_tried: usize,
    /// These are all that differ.
    pub all_delays_tried: bool,
    /// Files that were written.
    pub files: &'a [String],
    /// The command line again.
    #[serde(skip)]
    pub again: &'a str,
    /// The input as it was typed.
    #[serde(skip)]
    pub input: &'a str,
    /// Why clocks are not searched, as a sentence without its full stop.
    pub clocks_not_searched: &'a str,
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

fn asleep(a: &Advice, s: &Side) -> Option<String> {
    Some(percent(s.asleep?.max(0).unsigned_abs(), a.span.max(0).unsigned_abs()))
}

/// `12 % less`, `the same`, in parts of the cost of now.
fn cost(now: i64, then: i64) -> String {
    match percent(then.abs_diff(now), now.unsigned_abs()).as_str() {
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
    } else if !a.changed {
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
            asleep(a, &a.now).unwrap_or("unknown".into()),
            asleep(a, &a.chosen).unwrap_or_default(),
            if a.present_known { "" } else { "at least " },
            cost(a.least, a.chosen.cost.unwrap_or(i64::MAX)),
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
            time(a.recorded_mean),
            plural(a.now.latency.requests as usize, "request"),
            time(a.present_above),
            time(a.present_at_most),
            time(a.wake),
            grouped(a.waited)
        ),
    );
    if let Some(text) = unasked(a.woken_by_no_request) {
        p.wrapped(Ink::Plain, 0, 2, &text);
    }
    p.blank();
    let columns = ["now", "chosen", "break-even"];
    let [x, y, z] = columns;
    p.line(&[(Ink::Strong, &format!("{:<28}{x:>14}{y:>14}{z:>14}", "ms"))]);
    let sides = [&a.now, &a.chosen, &a.break_even_rule];
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
    row("asleep, share", &|s| asleep(a, s).unwrap_or("-".into()));
    row("energy, as time awake", &|s| s.cost.map_or("-".into(), ms3));
    p.blank();
    let even = if a.break_even_given {
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
            ms3(a.least_cost.unwrap_or(i64::MAX)),
            if a.all_delays_tried {
                format!("{} delays tried, all that differ.", grouped(a.delays_tried as u64))
            } else {
                format!(
                    "{} delays tried, not all that differ: the recording is long.",
                    grouped(a.delays_tried as u64)
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
    if !a.clocks_not_searched.is_empty() {
        p.wrapped(
            Ink::Plain,
            0,
            2,
            &format!("Clocks are not searched: {}.", safe(a.clocks_not_searched)),
        );
    }
    for path in a.files {
        p.wrapped(Ink::Plain, 0, 2, &format!("Wrote {}.", safe(path)));
    }
    p.blank();
    let command = match (a.met, a.changed, a.files.is_empty()) {
        (false, ..) | (_, false, _) => format!("show --only storage {}", a.input),
        (_, _, true) => format!("{} -o changes/", a.again),
        _ => "record --with storage --for 60s -o after.tar.gz".into(),
    };
    p.verbatim(Ink::Plain, &next(&command));
    p.finish()
}
