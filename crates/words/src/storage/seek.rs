//! What `dormouse tune` prints where clocks are known.

use super::handover::Set;
use super::model::{bandwidth, bounds_of, millijoules, settings};
use crate::idle::numbers::percent;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{ms3, time};
use dormouse_storage::search::{Choice, Found};
use dormouse_storage::simulate::energy::BreakEven;
use dormouse_storage::simulate::settings::{Governor, Qos, Settings};
use dormouse_storage::summary::Latency;
use serde_json::{Value, json};

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// The recording, or the file of the disk.
    pub source: &'a str,
    /// As recorded, if it was.
    pub recorded: Option<Latency>,
    /// The budget: 99 of 100 requests take at most this, ns.
    pub p99: Option<i64>,
    /// What was found.
    pub found: &'a Found,
    /// What has to be set.
    pub sets: &'a [Set],
    /// By one who knows every request.
    pub oracle: &'a Choice,
    /// By the rule that knows none.
    pub rule: &'a Choice,
    /// When a rest pays.
    pub even: &'a BreakEven,
    /// Where that is from, as the end of a sentence.
    pub basis: &'static str,
    /// Costs are energies, uJ; else times, ns.
    pub powers: bool,
    /// Clocks, gate and runtime suspend: whether the disk has them.
    pub has: [bool; 3],
    /// Files that were written.
    pub written: &'a [String],
    /// The folder of the descriptions among them.
    pub lab: Option<&'a str>,
    /// The command line again.
    pub again: &'a str,
}

/// `12 % less`, in parts of the cost of now.
fn cost(now: Option<i128>, then: Option<i128>) -> String {
    let (Some(now), Some(then)) = (now, then) else { return "not known".into() };
    let small = |n: i128| u64::try_from(n.unsigned_abs()).unwrap_or(u64::MAX);
    match percent(small(then - now), small(now)).as_str() {
        "0 %" | "-" => "the same".into(),
        p if then < now => format!("{p} less"),
        p => format!("{p} more"),
    }
}

fn delay(d: Option<i64>) -> String {
    d.map_or("never".into(), |ns| grouped((ns.max(0) / 1_000_000).unsigned_abs()))
}

fn mhz(hz: u64) -> String {
    match hz {
        0 | u64::MAX => "none".into(),
        hz => grouped(hz / 1_000_000),
    }
}

fn raised(q: Qos) -> String {
    let ms = |ns: i64| ns / 1_000_000;
    match q {
        Qos::Off => "no".into(),
        Qos::Host { timeout } => format!("{} ms", ms(timeout)),
        Qos::Disk { timeout } => format!("lun {} ms", ms(timeout)),
    }
}

/// `energy`, or what stands for it.
fn named(a: &Advice<'_>) -> &'static str {
    if a.powers { "energy" } else { "cost" }
}

/// The first line.
fn answer(a: &Advice<'_>) -> String {
    let (now, then) = (&a.found.now, &a.found.chosen);
    let (was, is) = (now.outcome.latency(), then.outcome.latency());
    let tail = if was.tail().is_some() { "p99" } else { "longest" };
    if !a.found.met {
        return match a.p99 {
            Some(ns) => format!(
                "Not possible: {tail} is {} with the best settings, {} is asked.",
                time(is.p99),
                time(ns)
            ),
            None => "Not possible: no setting was tried whose powers are all known.".into(),
        };
    }
    if a.sets.is_empty() {
        let budget =
            a.p99.map_or(String::new(), |ns| format!(" {tail} stays within {}, and", time(ns)));
        return format!("Leave the settings as they are:{budget} no others cost 1 % less.");
    }
    let list: Vec<String> = a.sets.iter().map(Set::words).collect();
    let list = match list.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    };
    format!(
        "Set {list}: {tail} {} -> {}, {} {}.",
        time(was.p99),
        time(is.p99),
        named(a),
        cost(now.cost, then.cost)
    )
}

fn choices(p: &mut Page, a: &Advice<'_>) {
    let sides = [&a.found.now.settings, &a.found.chosen.settings];
    let mut row = |name: &str, cell: &dyn Fn(&Settings) -> String| {
        let [x, y] = sides.map(cell);
        p.line(&[(Ink::Plain, &format!("  {name:<36}{x:>14}{y:>14}"))]);
    };
    let [clocks, gate, suspend] = a.has;
    if suspend {
        row("autosuspend_delay_ms", &|s| delay(s.autosuspend));
    }
    if gate {
        row("clkgate_delay_ms", &|s| delay(s.gate));
    }
    if clocks {
        row("polling_interval, ms", &|s| delay(Some(s.devfreq.poll)));
        row("min_freq, MHz", &|s| mhz(s.devfreq.least));
        row("max_freq, MHz", &|s| mhz(s.devfreq.most));
        row("thresholds up and down, %", &|s| match s.devfreq.governor {
            Governor::SimpleOndemand(t) => format!("{} and {}", t.up, t.down),
            _ => "-".into(),
        });
        row("clock raised by requests, for", &|s| raised(s.qos));
    }
}

/// The page.
pub fn text(a: &Advice<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    p.wrapped(Ink::Strong, 0, 2, &answer(a));
    let was = a.found.now.outcome.latency();
    let requests = plural(was.requests as usize, "request");
    let trust = match a.recorded {
        Some(r) => format!(
            "The model has {} on average where {} were recorded, over {requests}.",
            time(was.mean),
            time(r.mean)
        ),
        None => format!(
            "Simulated from the description of a disk, {requests}: no recording stands behind it."
        ),
    };
    p.wrapped(Ink::Plain, 0, 2, &trust);
    p.blank();
    p.line(&[(Ink::Strong, &format!("{:<38}{:>14}{:>14}", "Settings", "now", "chosen"))]);
    choices(&mut p, a);
    p.blank();
    let columns = [
        ("now", &a.found.now),
        ("chosen", &a.found.chosen),
        ("oracle", a.oracle),
        ("rule", a.rule),
    ];
    let heads: String = columns.iter().map(|c| format!("{:>13}", c.0)).collect();
    p.line(&[(Ink::Strong, &format!("{:<26}{heads}", "ms"))]);
    let mut line = |name: &str, cell: &dyn Fn(&Choice) -> String| {
        let cells: String = columns.iter().map(|c| format!("{:>13}", cell(c.1))).collect();
        p.line(&[(Ink::Plain, &format!("  {name:<24}{cells}"))]);
    };
    line("mean latency", &|c| ms3(c.outcome.latency().mean));
    line("p50", &|c| ms3(c.outcome.latency().p50));
    if was.tail().is_some() {
        line("p99", &|c| ms3(c.outcome.latency().p99));
    }
    line("longest", &|c| ms3(c.outcome.latency().max));
    line("MB/s", &|c| bandwidth(c.outcome.bandwidth()));
    let [clocks, gate, suspend] = a.has;
    if clocks {
        line("changes of the clock", &|c| grouped(c.outcome.changes));
    }
    if gate {
        line("times ungated", &|c| grouped(c.outcome.ungates));
    }
    if suspend {
        line("times resumed", &|c| grouped(c.outcome.resumes));
    }
    let small = |n: i128| u64::try_from(n.max(0)).unwrap_or(u64::MAX);
    let name = if a.powers { "energy, mJ" } else { "cost, as ms" };
    line(name, &|c| match (c.cost, a.powers) {
        (None, _) => "-".into(),
        (Some(n), true) => millijoules(small(n)),
        (Some(n), false) => ms3(i64::try_from(n).unwrap_or(i64::MAX)),
    });
    p.blank();
    if !a.powers {
        p.wrapped(
            Ink::Plain,
            0,
            2,
            "Without powers a cost is time: at the slowest clock, gated and suspended are taken to \
             save the same power each, and a way there and back costs its break-even time. Lines \
             `power …` say more (docs/storage.md).",
        );
    }
    p.wrapped(Ink::Plain, 0, 2, &bounds_of(a.even, a.basis));
    let tried = grouped(a.found.tried);
    p.wrapped(
        Ink::Plain,
        0,
        2,
        &if a.found.all {
            format!("{tried} settings simulated, all that were thought of.")
        } else {
            format!(
                "{tried} settings simulated: each alone and each two, from three starts; a better one \
                 may be left."
            )
        },
    );
    if a.sets.iter().any(|s| matches!(s, Set::Poll(_))) {
        p.wrapped(Ink::Plain, 0, 2, "A look wakes a CPU; what that costs is in no figure here.");
    }
    if a.sets.iter().any(|s| matches!(s, Set::Thresholds(_))) {
        p.wrapped(
            Ink::Plain,
            0,
            2,
            "Thresholds are in the driver (devfreq_simple_ondemand_data); no file of sysfs sets them.",
        );
    }
    for path in a.written {
        p.wrapped(Ink::Plain, 0, 2, &format!("Wrote {}.", safe(path)));
    }
    p.blank();
    let command = match (a.found.met && !a.sets.is_empty(), a.lab) {
        (false, _) if a.recorded.is_some() => format!("show --only storage {}", word(a.source)),
        (false, _) => format!("predict --disk {}", word(a.source)),
        (true, Some(lab)) => format!("lab run --only storage {lab}/*.disk -o measured/"),
        (true, None) if a.written.is_empty() => format!("{} -o changes/", a.again),
        (true, None) => "record --with storage --for 60s -o after.tar.gz".into(),
    };
    p.verbatim(Ink::Plain, &next(&command));
    p.finish()
}

fn word(path: &str) -> String {
    crate::wording::next::word(path)
}

/// The same for programs (docs/storage-json.md).
pub fn json(a: &Advice<'_>) -> Value {
    let side = |c: &Choice, has: bool| {
        let (o, l) = (&c.outcome, c.outcome.latency());
        json!({
            "settings": has.then(|| settings(&c.settings)),
            "requests": l.requests, "mean": l.mean, "p50": l.p50, "p99": l.p99, "max": l.max,
            "bytes_per_second": o.bandwidth(), "clock_changes": o.changes,
            "ungates": o.ungates, "resumes": o.resumes, "raises": o.raises, "span": o.span,
            "cost": c.cost.and_then(|n| i64::try_from(n).ok()),
        })
    };
    json!({
        "source": a.source,
        "recorded_mean": a.recorded.map(|l| l.mean),
        "p99": a.p99,
        "met": a.found.met,
        "changed": a.sets.iter().map(Set::words).collect::<Vec<_>>(),
        "cost_unit": if a.powers { "uJ" } else { "ns" },
        "break_even": a.even,
        "now": side(&a.found.now, true),
        "chosen": side(&a.found.chosen, true),
        "oracle": side(a.oracle, false),
        "rule": side(a.rule, true),
        "settings_tried": a.found.tried,
        "all_settings_tried": a.found.all,
        "files": a.written,
    })
}
