//! What `dormouse predict` prints.

use crate::idle::numbers::{percent, seconds};
use crate::text::page::{Ink, Page};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time, unasked};
use dormouse_storage::summary::Latency;
use serde::Serialize;

/// One column: latencies, wakes, and time asleep in ns, where it is known.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Side {
    /// Latencies.
    #[serde(flatten)]
    pub latency: Latency,
    /// Times that requests had to wait for a waking storage.
    pub wakes: u64,
    /// Time asleep, ns.
    pub asleep: Option<i64>,
}

/// What is shown, and printed as JSON (docs/storage-json.md).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer<'a> {
    /// The recording.
    pub source: &'a str,
    /// The setting, in the kernel's word: `clkgate_delay_ms`.
    pub setting: &'static str,
    /// The delay asked for, ns; `None` for never.
    pub delay: Option<i64>,
    /// The delay in force is longer than this, ns.
    pub present_above: i64,
    /// And at most this.
    pub present_at_most: i64,
    /// The delay that the model takes, ns.
    pub taken: i64,
    /// It was seen; else it is a bound.
    pub taken_known: bool,
    /// One wait, ns.
    pub wake: i64,
    /// Wake-ups in the recording that no request waited for.
    #[serde(skip)]
    pub unasked: u64,
    /// As recorded.
    pub recorded: Side,
    /// The model of the recording.
    pub model: Side,
    /// The model with the delay asked for.
    pub changed: Side,
    /// Who knows every request.
    pub oracle: Side,
    /// A delay of the time that waking takes.
    pub rule: Side,
    /// From the first request to the last completion, ns.
    pub span: i64,
}

/// The page.
pub fn predict(a: &Answer<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    let delay = a.delay.map_or("never".to_string(), time);
    let (was, is) = (a.model.latency.mean, a.changed.latency.mean);
    let change = match is - was {
        0 => "no change".to_string(),
        d if d > 0 => format!("+{}", time(d)),
        d => format!("-{}", time(-d)),
    };
    let text = if time(is) == time(was) {
        format!(
            "{} at {delay} changes nothing for these requests: {} on average.",
            a.setting,
            time(is)
        )
    } else {
        format!(
            "With {} at {delay} requests would take {} on average, not {} ({change}).",
            a.setting,
            time(is),
            time(was)
        )
    };
    p.wrapped(Ink::Strong, 0, 2, &text);
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "Model against the recording: {} on average, recorded {}. The delay in force was between \
             {} and {}; {}. One wait takes {}.",
            time(was),
            time(a.recorded.latency.mean),
            time(a.present_above),
            time(a.present_at_most),
            match a.taken_known {
                true => format!("the model takes {}, which was seen", time(a.taken)),
                false => "which one is not known, so neither is what another saves".into(),
            },
            time(a.wake)
        ),
    );
    if let Some(text) = unasked(a.unasked) {
        p.wrapped(Ink::Plain, 0, 2, &text);
    }
    p.blank();
    let cells = |list: [String; 5]| list.map(|c| format!("{c:>11}")).concat();
    let names = ["recorded", "model", "changed", "oracle", "rule"];
    let head = format!("{:<25}{}", "ms", cells(names.map(String::from)));
    p.line(&[(Ink::Strong, &head)]);
    let sides = [&a.recorded, &a.model, &a.changed, &a.oracle, &a.rule];
    let mut row = |name: &str, cell: &dyn Fn(&Side) -> String| {
        p.line(&[(Ink::Plain, &format!("  {name:<23}{}", cells(sides.map(cell))))]);
    };
    row("mean latency", &|s| ms3(s.latency.mean));
    row("p50", &|s| ms3(s.latency.p50));
    if a.recorded.latency.tail().is_some() {
        row("p99", &|s| ms3(s.latency.p99));
    }
    row("max", &|s| ms3(s.latency.max));
    row("requests that woke it", &|s| grouped(s.wakes));
    row("asleep, s", &|s| s.asleep.map_or("-".into(), |t| seconds(t.max(0).unsigned_abs())));
    row("asleep, share", &|s| {
        s.asleep
            .map_or("-".into(), |t| percent(t.max(0).unsigned_abs(), a.span.max(0).unsigned_abs()))
    });
    p.blank();
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "{}: arrivals and service are the recorded ones, and only the time at which the storage \
             falls asleep is decided again. Energy is not known from a trace.",
            plural(a.recorded.latency.requests as usize, "request")
        ),
    );
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "The oracle knows every request: it sleeps in rests longer than {}, and is awake in time. \
             The rule knows none, and waits so long before it sleeps: at most twice what is least, if \
             a wake-up costs what being awake for its time does.",
            time(a.wake)
        ),
    );
    p.blank();
    p.verbatim(Ink::Plain, &next::next(&format!("show --only storage {}", next::word(a.source))));
    p.finish()
}
