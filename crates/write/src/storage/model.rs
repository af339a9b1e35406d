//! What `dormouse storage predict` prints of a disk that somebody described.

use crate::idle::numbers::{percent, seconds};
use crate::text::page::{Ink, Page};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time};
use dormouse_storage::simulate::disk::Outcome;
use dormouse_storage::simulate::settings::{Drive, Governor, Qos, Settings};
use serde_json::{Value, json};

/// What came of one choice of settings.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// What came of them.
    pub outcome: &'a Outcome,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The file of the disk.
    pub source: &'a str,
    /// The command as it was typed, without the program's name.
    pub again: &'a str,
    /// What the disk is like.
    pub drive: &'a Drive,
    /// As the files say.
    pub before: Side<'a>,
    /// As asked for.
    pub after: Option<Side<'a>>,
}

/// States that a disk can be in, and the time in each, ns.
fn states(drive: &Drive, o: &Outcome) -> Vec<(&'static str, Option<u64>, i64)> {
    let mut list = Vec::new();
    for (name, times) in [("busy", &o.times.busy), ("idle", &o.times.idle)] {
        list.extend(drive.levels.iter().zip(times).map(|(hz, t)| (name, Some(*hz), *t)));
    }
    let naps = [
        (["gating", "gated", "ungating"], o.times.gate),
        (["suspending", "suspended", "resuming"], o.times.suspend),
    ];
    for (names, times) in naps {
        list.extend(names.into_iter().zip(times).map(|(name, t)| (name, None, t)));
    }
    list
}

fn mhz(hz: u64) -> String {
    if hz.is_multiple_of(1_000_000) {
        format!("{} MHz", hz / 1_000_000)
    } else {
        format!("{} kHz", hz / 1_000)
    }
}

/// Bytes a second as MB/s with one digit.
fn bandwidth(bytes: u64) -> String {
    format!("{}.{}", grouped(bytes / 1_000_000), bytes % 1_000_000 / 100_000)
}

/// The page.
pub fn model(a: &Answer<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    let was = a.before.outcome.latency();
    let first = match a.after {
        None => format!(
            "These requests would take {} on average on this disk, at most {}.",
            time(was.mean),
            time(was.max)
        ),
        Some(after) => {
            let is = after.outcome.latency();
            let change = match is.mean - was.mean {
                0 => "no change".to_string(),
                d if d > 0 => format!("+{}", time(d)),
                d => format!("-{}", time(-d)),
            };
            format!(
                "With these settings requests would take {} on average, not {} ({change}).",
                time(is.mean),
                time(was.mean)
            )
        }
    };
    p.wrapped(Ink::Strong, 0, 2, &first);
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "Simulated from the description of a disk, {}: no recording stands behind it.",
            plural(was.count as usize, "request")
        ),
    );
    p.blank();
    let names = match a.after {
        Some(_) => ["before", "after"].as_slice(),
        None => ["ms"].as_slice(),
    };
    let sides: Vec<&Outcome> =
        [Some(a.before), a.after].iter().flatten().map(|s| s.outcome).collect();
    let row = |p: &mut Page, ink, name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|c| format!("{c:>16}")).collect();
        p.line(&[(ink, &format!("{name:<34}{cells}"))]);
    };
    let heads: Vec<String> = names.iter().map(|n| n.to_string()).collect();
    row(&mut p, Ink::Strong, if a.after.is_some() { "ms" } else { "" }, &heads);
    let mut line = |name: &str, cell: &dyn Fn(&Outcome) -> String| {
        let cells: Vec<String> = sides.iter().map(|o| cell(o)).collect();
        row(&mut p, Ink::Plain, &format!("  {name}"), &cells);
    };
    line("mean latency", &|o| ms3(o.latency().mean));
    line("p50", &|o| ms3(o.latency().p50));
    if was.count >= 100 {
        line("p99", &|o| ms3(o.latency().p99));
    }
    line("max", &|o| ms3(o.latency().max));
    line("MB/s", &|o| bandwidth(o.bandwidth()));
    line("changes of the clock", &|o| grouped(o.changes));
    line("times ungated", &|o| grouped(o.ungates));
    line("times resumed", &|o| grouped(o.resumes));
    p.blank();
    row(
        &mut p,
        Ink::Strong,
        "Time per state, s",
        &heads.iter().map(|_| String::new()).collect::<Vec<_>>(),
    );
    let tables: Vec<_> = sides.iter().map(|o| states(a.drive, o)).collect();
    for (n, (name, hz, _)) in tables[0].iter().enumerate() {
        if tables.iter().all(|t| t[n].2 == 0) {
            continue;
        }
        let cells: Vec<String> = tables
            .iter()
            .zip(&sides)
            .map(|(t, o)| {
                let part = t[n].2.max(0).unsigned_abs();
                format!("{} {:>6}", seconds(part), percent(part, o.span.max(0).unsigned_abs()))
            })
            .collect();
        let name = hz.map_or((*name).to_string(), |hz| format!("{name} at {}", mhz(hz)));
        row(&mut p, Ink::Plain, &format!("  {name}"), &cells);
    }
    p.blank();
    let more = if a.after.is_some() { "--json" } else { "--governor performance" };
    p.verbatim(Ink::Plain, &next::next(&format!("{} {more}", a.again)));
    p.finish()
}

fn settings(s: &Settings) -> Value {
    let d = &s.devfreq;
    let (governor, up, down) = match d.governor {
        Governor::SimpleOndemand(t) => ("simple_ondemand", Some(t.up), Some(t.down)),
        Governor::Performance => ("performance", None, None),
        Governor::Powersave => ("powersave", None, None),
    };
    json!({
        "governor": governor, "up": up, "down": down, "poll": d.poll,
        "min_hz": d.least, "max_hz": (d.most < u64::MAX).then_some(d.most),
        "qos": match s.qos {
            Qos::Off => "off",
            Qos::Host { .. } => "parent",
            Qos::Disk { .. } => "lun",
        },
        "timeout": s.qos.timeout(),
        "gate_delay": s.gate, "autosuspend": s.autosuspend, "slack_percent": s.slack,
    })
}

fn side(drive: &Drive, s: &Side<'_>) -> Value {
    let o = s.outcome;
    let l = o.latency();
    let states: Vec<Value> = states(drive, o)
        .into_iter()
        .map(|(name, hz, ns)| json!({ "state": name, "hz": hz, "ns": ns }))
        .collect();
    json!({
        "settings": settings(s.settings),
        "requests": l.count, "mean": l.mean, "p50": l.p50, "p99": l.p99, "max": l.max,
        "latencies": o.latencies,
        "states": states,
        "clock_changes": o.changes, "ungates": o.ungates, "resumes": o.resumes,
        "raises": o.raises,
        "bytes": o.bytes, "bytes_per_second": o.bandwidth(), "span": o.span,
    })
}

/// The same as JSON (docs/storage-json.md).
pub fn json(a: &Answer<'_>) -> Value {
    json!({
        "schema": "dormouse-storage-model/1",
        "source": a.source,
        "before": side(a.drive, &a.before),
        "after": a.after.as_ref().map(|s| side(a.drive, s)),
    })
}
