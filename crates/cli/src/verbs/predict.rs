//! `dormouse predict`: what a machine's sleep would take if something changed.

use crate::changes::ChangeArgs;
use crate::exit::Usage;
use crate::{machine, terminal};
use anyhow::Result;
use clap::Args;
use dormouse_core::board::derive::Derived;
use dormouse_core::phase::{Direction, Phase};
use dormouse_core::simulate::Settings;
use dormouse_core::simulate::change::Change;
use dormouse_core::simulate::policy::{self, Policy};
use dormouse_core::simulate::predict::{
    Outlook, Prediction, Question, Scheduler, outlook, phase_words, predict,
};
use dormouse_core::time::Ns;
use dormouse_core::understand::path::Reason;
use dormouse_write::text::page::{Ink, Page};
use dormouse_write::text::safe;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Predict suspend and resume times under changes.
///
/// Prints before and after for every phase, both bounds (what no schedule can
/// beat; what synchronous devices in list order allow), what moved and why.
#[derive(Args)]
pub struct PredictArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Kernel that the input is taken to run now, where it does not say.
    #[arg(long, value_name = "V|POLICY")]
    from_kernel: Option<String>,
    /// Costs of the machinery: a file of `dormouse calibrate`, or x86, phone,
    /// zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    profile: String,
    /// Compare all generations of kernels.
    #[arg(long)]
    all_kernels: bool,
    /// Times the cycles are resampled for the range.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    samples: u32,
    /// Seed of the resampling.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: PredictArgs) -> Result<()> {
    let (derived, release) = machine::load(&args.input)?;
    let settings = machine::settings(&args.profile, args.changes.cpus)?;
    let (now, guess) = machine::kernel_now(args.from_kernel.as_deref(), &release)?;
    let then = args.changes.kernel.as_deref().map_or(Ok(now), machine::scheduler)?;
    let changes = args.changes.list()?;
    let text = if args.all_kernels {
        all_kernels(&args, &derived, &settings, &changes)?
    } else {
        let question = Question {
            derived: &derived,
            now,
            then,
            changes: &changes,
            settings: &settings,
            seed: args.seed,
            samples: args.samples,
        };
        let mut p = predict(&question).map_err(Usage)?;
        if let Some(guess) = guess {
            p.assumptions.insert(0, guess.into());
        }
        if args.json { to_json(&p, &derived)? } else { to_text(&p, &derived, &release) }
    };
    terminal::print(&text)
}

/// Milliseconds with three digits.
fn ms(t: Ns) -> String {
    let us = (t.0 + 500) / 1000;
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// `298 ms`, `29.8 ms`, `2.98 ms`: three figures.
fn short(t: Ns) -> String {
    let us = t.0.max(0) / 1000;
    match us {
        0..10_000 => format!("{}.{:02} ms", us / 1000, us % 1000 / 10),
        10_000..100_000 => format!("{}.{} ms", us / 1000, us % 1000 / 100),
        _ => format!("{} ms", (us + 500) / 1000),
    }
}

fn with_range(o: &Outlook, direction: Direction) -> String {
    let mut text = short(o.half(direction));
    if let Some(r) = o.range {
        let (low, high) = r[usize::from(direction == Direction::Resume)];
        let _ = write!(
            text,
            " ({} to {})",
            short(low).trim_end_matches(" ms"),
            short(high).trim_end_matches(" ms")
        );
    }
    text
}

fn to_text(p: &Prediction, derived: &Derived, release: &str) -> String {
    let mut out = String::new();
    let name = |o: &Outlook| match o.scheduler.kernel {
        Some(k) => format!("{k} ({})", o.scheduler.policy.name),
        None => o.scheduler.policy.name.to_string(),
    };
    let _ = writeln!(
        out,
        "now:  {}{}",
        name(&p.before),
        if release.is_empty() { String::new() } else { format!(", recorded on {release}") }
    );
    let _ = writeln!(out, "then: {}{}", name(&p.after), caution(p.after.scheduler.policy));
    let _ = writeln!(out);
    let observed = derived.observed.iter().any(Option::is_some);
    let _ = writeln!(
        out,
        "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
        "ms",
        if observed { "observed" } else { "" },
        "now",
        "then",
        "change",
        "no less",
        "in order"
    );
    for phase in Phase::DEVICE {
        let (was, is) = (p.before.phase(phase), p.after.phase(phase));
        let bound = p.after.bounds.phase(phase);
        let seen = phase.device_index().and_then(|i| derived.observed[i]);
        let _ = writeln!(
            out,
            "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
            phase_words(phase),
            seen.map_or(String::new(), ms),
            ms(was),
            ms(is),
            change(was, is),
            bound.map_or(String::new(), |b| ms(b.path)),
            bound.map_or(String::new(), |b| ms(b.order)),
        );
    }
    for direction in [Direction::Suspend, Direction::Resume] {
        let (was, is) = (p.before.half(direction), p.after.half(direction));
        let seen: Ns = Phase::DEVICE
            .iter()
            .filter(|p| p.direction() == direction)
            .filter_map(|p| p.device_index().and_then(|i| derived.observed[i]))
            .sum();
        let _ = writeln!(
            out,
            "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
            format!("all {}", direction.name()),
            if observed { ms(seen) } else { String::new() },
            ms(was),
            ms(is),
            change(was, is),
            ms(p.after.bounds.path(direction)),
            ms(p.after.bounds.order(direction)),
        );
    }
    let _ = writeln!(out, "\nno less: longest chain of dependent devices, no schedule beats it;");
    let _ = writeln!(out, "in order: with synchronous devices one after the other as well.");
    let _ = writeln!(out);
    for direction in [Direction::Suspend, Direction::Resume] {
        let _ = writeln!(
            out,
            "{:<8} {} now, {} then",
            direction.name(),
            with_range(&p.before, direction),
            with_range(&p.after, direction)
        );
    }
    if p.after.range.is_some() {
        let _ = writeln!(out, "(in brackets: nine of ten resampled cycles)");
    }
    path(&mut out, p);
    section(&mut out, "What changed", &p.notes);
    section(&mut out, "Assumed", &p.assumptions);
    out
}

/// The critical path after the change: pieces of at least one hundredth of
/// their half.
fn path(out: &mut String, p: &Prediction) {
    let _ = writeln!(out, "\nCritical path then");
    let board = &p.changed.board;
    for direction in [Direction::Suspend, Direction::Resume] {
        let half = p.after.half(direction);
        let mut small = Ns::ZERO;
        for piece in p.path.iter().filter(|s| s.phase.direction() == direction) {
            let Some(device) = piece.device.filter(|_| piece.time.0 * 100 >= half.0) else {
                small += piece.time;
                continue;
            };
            let _ = writeln!(
                out,
                "  {:<14}{:>11}  {} ({})",
                phase_words(piece.phase),
                ms(piece.time),
                dormouse_write::text::safe(board.names.get(board.graph.get(device).name)),
                reason_words(piece.reason)
            );
        }
        if small > Ns::ZERO {
            let _ = writeln!(
                out,
                "  {:<14}{:>11}  smaller pieces and gaps",
                direction.name(),
                ms(small)
            );
        }
    }
}

fn reason_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Child => "after a child",
        Reason::Parent => "after its parent",
        Reason::Consumer => "after a consumer",
        Reason::Supplier => "after a supplier",
        Reason::MainThread => "after the main thread's last device",
        Reason::Queue => "queued late by the walk",
        Reason::WorkerStart => "after its worker started",
        Reason::PhaseBegin => "first of its phase",
        Reason::PhaseEnd => "end of the phase",
        Reason::Unexplained => "not explained",
    }
}

fn caution(policy: &Policy) -> String {
    policy.caution().map_or(String::new(), |c| format!(" - {c}"))
}

fn change(was: Ns, is: Ns) -> String {
    if was == is {
        return "=".into();
    }
    let d = is - was;
    format!("{}{}", if d < Ns::ZERO { "-" } else { "+" }, ms(Ns(d.0.abs())))
}

/// A heading and sentences, wrapped at 80 columns.
fn section(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let mut page = Page::new(false);
    page.blank();
    page.line(&[(Ink::Plain, title)]);
    for line in lines {
        page.entry("- ", &safe(line));
    }
    out.push_str(&page.finish());
}

fn all_kernels(
    args: &PredictArgs,
    derived: &Derived,
    settings: &Settings,
    changes: &[Change],
) -> Result<String> {
    let changed = dormouse_core::simulate::change::apply(&derived.board, changes).map_err(Usage)?;
    let mut rows = Vec::new();
    for p in policy::KERNELS.into_iter().chain([&policy::DC, &policy::DCW]) {
        let by = Scheduler { policy: p, kernel: None };
        rows.push((p, outlook(&changed.board, by, settings)));
    }
    if args.json {
        let list: Vec<Value> = rows
            .iter()
            .map(|(p, o)| match o {
                Ok(o) => outlook_json(o),
                Err(e) => json!({ "policy": p.name, "error": e.to_string() }),
            })
            .collect();
        let value = json!({ "schema": "dormouse-predict-kernels/1", "kernels": list });
        return Ok(serde_json::to_string_pretty(&value)? + "\n");
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<6}{:>12}{:>12}{:>9}{:>9}{:>9}  evidence",
        "policy", "suspend ms", "resume ms", "workers", "parked", "waits"
    );
    for (p, o) in &rows {
        match o {
            Ok(o) => {
                let t = &o.run.tally;
                let _ = writeln!(
                    out,
                    "{:<6}{:>12}{:>12}{:>9}{:>9}{:>9}  {}",
                    p.name,
                    ms(o.half(Direction::Suspend)),
                    ms(o.half(Direction::Resume)),
                    t.workers_at_once,
                    t.parked_at_once,
                    t.blocked_waits,
                    match p.evidence {
                        policy::Evidence::Kernel(k) => format!("ran on {k}"),
                        _ => "not held to".into(),
                    }
                );
            }
            Err(e) => {
                let _ = writeln!(out, "{:<6}{e}", p.name);
            }
        }
    }
    if let Some((_, Ok(o))) = rows.iter().find(|(p, _)| p.name == "G4") {
        let _ = writeln!(
            out,
            "{:<6}{:>12}{:>12}  longest chain, no schedule beats it",
            "bound",
            ms(o.bounds.path(Direction::Suspend)),
            ms(o.bounds.path(Direction::Resume))
        );
        let _ = writeln!(
            out,
            "{:<6}{:>12}{:>12}  with synchronous devices in order",
            "order",
            ms(o.bounds.order(Direction::Suspend)),
            ms(o.bounds.order(Direction::Resume))
        );
        let _ = writeln!(
            out,
            "{:<6}{:>12}{:>12}  what-if: phases overlap for each device",
            "over",
            ms(o.bounds.overlapped.0),
            ms(o.bounds.overlapped.1)
        );
        let _ = writeln!(
            out,
            "{:<6}{:>12}{:>12}  what-if: prepare and complete in parallel",
            "ends",
            ms(o.bounds.parallel_ends.0),
            ms(o.bounds.parallel_ends.1)
        );
    }
    let _ = writeln!(out, "\n\"not held to\": not held against a kernel.");
    section(&mut out, "What changed", &changed.notes);
    section(&mut out, "Assumed", &derived.assumptions);
    Ok(out)
}

fn outlook_json(o: &Outlook) -> Value {
    let phases: Vec<Value> = o
        .run
        .cycle
        .phases
        .iter()
        .map(|s| {
            let b = o.bounds.phase(s.phase);
            json!({
                "name": s.phase.name(),
                "direction": s.phase.direction().name(),
                "start_ns": s.start.0,
                "duration_ns": s.duration().0,
                "path_bound_ns": b.map(|b| b.path.0),
                "order_bound_ns": b.map(|b| b.order.0),
            })
        })
        .collect();
    let t = &o.run.tally;
    let range = o.range.map(|r| {
        json!({
            "suspend_ns": [r[0].0.0, r[0].1.0],
            "resume_ns": [r[1].0.0, r[1].1.0],
        })
    });
    json!({
        "policy": o.scheduler.policy.name,
        "kernel": o.scheduler.kernel.map(|k| k.to_string()),
        "held_against_kernel": o.scheduler.policy.caution().is_none(),
        "outcome": o.run.cycle.outcome.name(),
        "suspend_ns": o.half(Direction::Suspend).0,
        "resume_ns": o.half(Direction::Resume).0,
        "range": range,
        "phases": phases,
        "counts": {
            "callbacks": t.callbacks,
            "items": t.items,
            "workers_created": t.workers_created,
            "workers_at_once": t.workers_at_once,
            "parked_at_once": t.parked_at_once,
            "blocked_waits": t.blocked_waits,
            "blocked_on_list_mutex": t.blocked_on_list,
            "blocked_on_locks": t.blocked_on_lock,
            "wakeups": t.wakeups,
            "context_switches": t.context_switches,
            "early_returns": {
                "syscore": t.early.syscore,
                "direct_complete": t.early.direct_complete,
                "not_suspended": t.early.not_suspended,
                "error": t.early.error,
                "no_callback": t.early.no_callback,
            },
        },
        "overlapped_bound_ns": [o.bounds.overlapped.0.0, o.bounds.overlapped.1.0],
        "parallel_prepare_complete_ns": [o.bounds.parallel_ends.0.0, o.bounds.parallel_ends.1.0],
    })
}

fn to_json(p: &Prediction, derived: &Derived) -> Result<String> {
    let name = |d: dormouse_core::device::DeviceId| {
        derived.board.names.get(derived.board.graph.get(d).name)
    };
    let moved: Vec<Value> = p
        .moved
        .iter()
        .map(|m| {
            json!({
                "device": name(m.device),
                "phase": m.phase.name(),
                "direction": m.phase.direction().name(),
                "before_ns": [m.before.0.0, m.before.1.0],
                "after_ns": [m.after.0.0, m.after.1.0],
            })
        })
        .collect();
    let observed: Vec<Option<i64>> = derived.observed.iter().map(|o| o.map(|t| t.0)).collect();
    let path: Vec<Value> = p
        .path
        .iter()
        .map(|s| {
            json!({
                "phase": s.phase.name(),
                "direction": s.phase.direction().name(),
                "device": s.device.map(|d| p.changed.board.names.get(p.changed.board.graph.get(d).name)),
                "time_ns": s.time.0,
                "reason": s.reason.name(),
            })
        })
        .collect();
    let value = json!({
        "schema": "dormouse-predict/1",
        "observed_ns": observed,
        "before": outlook_json(&p.before),
        "after": outlook_json(&p.after),
        "critical_path": path,
        "moved": moved,
        "notes": p.notes,
        "assumptions": p.assumptions,
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
