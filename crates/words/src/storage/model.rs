//! What `dormouse predict` prints of a disk that somebody described.

use crate::idle::numbers::{percent, seconds};
use crate::text::page::{Ink, Page};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time};
use dormouse_storage::simulate::disk::Outcome;
use dormouse_storage::simulate::energy::{BreakEven, Powers, State, states};
use dormouse_storage::simulate::settings::{Drive, Governor, Qos, Settings};
use dormouse_storage::summary::Latency;
use serde_json::{Value, json};

/// What came of one choice of settings.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The settings; nobody sets what the oracle does.
    pub settings: Option<&'a Settings>,
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
    /// What was recorded, if the disk is that of a recording.
    pub recorded: Option<Latency>,
    /// What the disk is like.
    pub drive: &'a Drive,
    /// What its states cost.
    pub powers: &'a Powers,
    /// When a rest pays.
    pub even: &'a BreakEven,
    /// Where that is from, as the end of a sentence.
    pub basis: &'static str,
    /// As the files say.
    pub before: Side<'a>,
    /// As asked for.
    pub after: Option<Side<'a>>,
    /// By one who knows every arrival.
    pub oracle: Side<'a>,
    /// By the rule that knows none.
    pub rule: Side<'a>,
}

/// A state in the words of docs/storage.md, and its clock.
fn named(drive: &Drive, state: State) -> (&'static str, Option<u64>) {
    match state {
        State::Busy(n) => ("busy", drive.levels.get(n).copied()),
        State::Idle(n) => ("idle", drive.levels.get(n).copied()),
        State::Gate(n) => (["gating", "gated", "ungating"][n.min(2)], None),
        State::Suspend(n) => (["suspending", "suspended", "resuming"][n.min(2)], None),
    }
}

/// `idle at 100 MHz`, `gated`.
pub fn state_text(drive: &Drive, state: State) -> String {
    let (name, hz) = named(drive, state);
    hz.map_or(name.to_string(), |hz| format!("{name} at {}", mhz(hz)))
}

fn mhz(hz: u64) -> String {
    if hz.is_multiple_of(1_000_000) {
        format!("{} MHz", hz / 1_000_000)
    } else {
        format!("{} kHz", hz / 1_000)
    }
}

/// Bytes a second as MB/s, rounded to one digit; to two below one.
pub(super) fn bandwidth(bytes: u64) -> String {
    let hundredths = bytes.saturating_add(5_000) / 10_000;
    match hundredths {
        0 if bytes > 0 => "<0.01".into(),
        1..100 => format!("0.{hundredths:02}"),
        _ => {
            let tenths = bytes.saturating_add(50_000) / 100_000;
            format!("{}.{}", grouped(tenths / 10), tenths % 10)
        }
    }
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
    let trust = match a.recorded {
        Some(recorded) => format!(
            "Model against the recording: {} on average, recorded {}. What a clock costs is from {} \
             of it: {} and {} for each 64 KiB at the fastest.",
            time(was.mean),
            time(recorded.mean),
            plural(recorded.requests as usize, "request"),
            time(a.drive.law.base),
            time(a.drive.law.transfer)
        ),
        None => format!(
            "Simulated from the description of a disk, {}: no recording stands behind it.",
            plural(was.requests as usize, "request")
        ),
    };
    p.wrapped(Ink::Plain, 0, 2, &trust);
    p.blank();
    let columns = columns(a);
    let row = |p: &mut Page, ink, name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|c| format!("{c:>13}")).collect();
        p.line(&[(ink, &format!("{name:<26}{cells}"))]);
    };
    let heads: Vec<String> = columns.iter().map(|c| c.0.to_string()).collect();
    row(&mut p, Ink::Strong, "ms", &heads);
    let mut line = |name: &str, cell: &dyn Fn(&Outcome) -> String| {
        let cells: Vec<String> = columns.iter().map(|c| cell(c.1.outcome)).collect();
        row(&mut p, Ink::Plain, &format!("  {name}"), &cells);
    };
    line("mean latency", &|o| ms3(o.latency().mean));
    line("p50", &|o| ms3(o.latency().p50));
    if was.tail().is_some() {
        line("p99", &|o| ms3(o.latency().p99));
    }
    line("max", &|o| ms3(o.latency().max));
    line("MB/s", &|o| bandwidth(o.bandwidth()));
    line("changes of the clock", &|o| grouped(o.changes));
    line("times ungated", &|o| grouped(o.ungates));
    line("times resumed", &|o| grouped(o.resumes));
    let costs: Vec<_> = columns.iter().map(|c| a.powers.energy(c.1.outcome)).collect();
    if costs.iter().any(Result::is_ok) {
        line("energy, mJ", &|o| a.powers.energy(o).map_or("-".into(), millijoules));
    }
    p.blank();
    row(&mut p, Ink::Strong, "Time per state, s", &[]);
    let tables: Vec<_> = columns.iter().map(|c| states(c.1.outcome)).collect();
    for (n, (state, _)) in tables[0].iter().enumerate() {
        if tables.iter().all(|t| t[n].1 == 0) {
            continue;
        }
        let cells: Vec<String> = tables
            .iter()
            .zip(&columns)
            .map(|(t, c)| {
                let part = t[n].1.max(0).unsigned_abs();
                let all = c.1.outcome.span.max(0).unsigned_abs();
                format!("{} {:>6}", seconds(part), percent(part, all))
            })
            .collect();
        row(&mut p, Ink::Plain, &format!("  {}", state_text(a.drive, *state)), &cells);
    }
    p.blank();
    p.wrapped(Ink::Plain, 0, 2, &bounds_of(a.even, a.basis));
    if let Some(state) = costs.iter().find_map(|c| c.as_ref().err()) {
        let text = if a.powers.any() {
            format!(
                "Energy is not known everywhere: no power of {} is given.",
                state_text(a.drive, *state)
            )
        } else {
            "Energy is not known: no powers are given (docs/storage.md).".to_string()
        };
        p.wrapped(Ink::Plain, 0, 2, &text);
    }
    p.blank();
    let more = if a.after.is_some() { "--json" } else { "--governor performance" };
    p.verbatim(Ink::Plain, &next::next(&format!("{} {more}", a.again)));
    p.finish()
}

fn columns<'a>(a: &Answer<'a>) -> Vec<(&'static str, Side<'a>)> {
    let mut list = match a.after {
        Some(after) => vec![("before", a.before), ("after", after)],
        None => vec![("now", a.before)],
    };
    list.push(("oracle", a.oracle));
    list.push(("rule", a.rule));
    list
}

/// What the columns of the oracle and the rule are; `basis` ends a sentence.
pub(super) fn bounds_of(even: &BreakEven, basis: &str) -> String {
    let even = [("the slow clock", even.clock), ("gating", even.gate), ("suspend", even.suspend)];
    let list: Vec<String> =
        even.iter().filter_map(|(n, t)| Some(format!("{n} {}", time((*t)?)))).collect();
    let list = if list.is_empty() { "none".to_string() } else { list.join(", ") };
    format!(
        "The oracle knows every request: it is fast and awake in time, and takes in each rest what \
         pays. The rule knows none, and enters a state after its break-even time: its rests cost at \
         most twice the least, and what waits. Break-even times{basis}: {list}."
    )
}

/// uJ as mJ with the digits that it has.
pub(super) fn millijoules(uj: u64) -> String {
    format!("{}.{:03}", grouped(uj / 1_000), uj % 1_000)
}

pub(super) fn settings(s: &Settings) -> Value {
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

fn side(a: &Answer<'_>, s: &Side<'_>) -> Value {
    let o = s.outcome;
    let l = o.latency();
    let states: Vec<Value> = states(o)
        .into_iter()
        .map(|(state, ns)| {
            let (name, hz) = named(a.drive, state);
            json!({ "state": name, "hz": hz, "ns": ns })
        })
        .collect();
    json!({
        "settings": s.settings.map(settings),
        "requests": l.requests, "mean": l.mean, "p50": l.p50, "p99": l.p99, "max": l.max,
        "latencies": o.latencies,
        "states": states,
        "energy_uj": a.powers.energy(o).ok(),
        "clock_changes": o.changes, "ungates": o.ungates, "resumes": o.resumes,
        "raises": o.raises,
        "bytes": o.bytes, "bytes_per_second": o.bandwidth(), "span": o.span,
    })
}

/// The same as JSON (docs/storage-json.md).
pub fn json(a: &Answer<'_>) -> Value {
    json!({
        "source": a.source,
        "recorded_mean": a.recorded.map(|l| l.mean),
        "break_even": a.even,
        "before": side(a, &a.before),
        "after": a.after.as_ref().map(|s| side(a, s)),
        "oracle": side(a, &a.oracle),
        "rule": side(a, &a.rule),
    })
}
