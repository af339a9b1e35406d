//! What `dormouse plan` found.

use super::{clip, device};
use crate::text::safe;
use dormouse_board::Board;
use dormouse_model::device::DeviceId;
use dormouse_model::time::Ns;
use dormouse_sleep::plan::candidate::{Candidate, Kind, goes_with};
use dormouse_sleep::plan::essential::Stays;
use dormouse_sleep::plan::obstacle::Obstacle;
use dormouse_sleep::plan::{Goal, Plan, Reached};
use dormouse_sleep::simulate::predict::phase_words;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What limits a plan, for its reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What decides the time that is left, longest first, where the budget is
    /// not met.
    pub in_the_way: Vec<Obstacle>,
    /// The longest devices that were not offered for removal, why, and how
    /// long they take.
    pub withheld: Vec<(DeviceId, Stays, Ns)>,
}

fn reason(board: &Board, id: DeviceId, why: Stays) -> String {
    match why {
        Stays::Essential => {
            format!("essential: {}", safe(board.names.get(board.graph.get(id).facts.essential)))
        }
        Stays::WakeSource => "wakes the machine".into(),
        Stays::Kept => "to be kept".into(),
        Stays::NeededBy(d) => format!("needed by {}", device(board, d)),
    }
}

/// The change in words.
pub(super) fn change(board: &Board, c: Candidate) -> String {
    let name = device(board, c.device);
    match c.kind {
        Kind::Remove => format!("remove {name}"),
        Kind::Async => format!("make {name} async"),
        Kind::Defer => format!("defer the resume of {name}"),
        Kind::SpeedUp => format!("halve the time of {name}"),
    }
}

fn goal_lines(board: &Board, goal: &Goal, is: &Reached) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(t) = goal.suspend {
        out.push(format!("suspend {} (budget {t})", is.suspend));
    }
    if let Some(t) = goal.resume {
        out.push(format!("resume {} (budget {t})", is.resume));
    }
    for ((d, t), at) in goal.ready.iter().zip(&is.ready) {
        out.push(format!("{} ready after {at} (budget {t})", device(board, *d)));
    }
    out
}

/// The plan for a terminal, 80 columns.
pub fn text(board: &Board, goal: &Goal, p: &Plan, limits: &Limits) -> String {
    let mut out = String::new();
    let verdict = match (p.met, p.steps.len()) {
        (true, 0) => "The budget is met without any change.".to_string(),
        (true, 1) => "One change meets the budget.".to_string(),
        (true, n) => format!("{n} changes meet the budget."),
        (false, _) if p.gap.0 > 0 => format!(
            "No set of these changes meets the budget: {} is missing whatever is done.",
            p.gap
        ),
        (false, _) => "No set that was looked at meets the budget; this is the closest.".into(),
    };
    let _ = writeln!(out, "{verdict}");
    for (title, reached) in [("now", &p.before), ("then", &p.after)] {
        for (i, line) in goal_lines(board, goal, reached).into_iter().enumerate() {
            let _ = writeln!(out, "  {:<6}{line}", if i == 0 { title } else { "" });
        }
    }
    if !p.steps.is_empty() {
        let _ = writeln!(
            out,
            "\n{:<44}{:>9}{:>9}{:>9}{:>9}",
            "change", "alone", "now", "suspend", "resume"
        );
        for s in &p.steps {
            let _ = writeln!(
                out,
                "{:<44}{:>9}{:>9}{:>9}{:>9}",
                clip(&change(board, s.candidate), 43),
                short(-s.alone.0),
                short(-s.now.0),
                short(s.reached.suspend.0),
                short(s.reached.resume.0)
            );
            if s.candidate.kind == Kind::Remove {
                let along = goes_with(board, s.candidate.device);
                if along.len() > 1 {
                    let names: Vec<String> = along
                        .iter()
                        .filter(|&&d| d != s.candidate.device)
                        .take(4)
                        .map(|&d| clip(&device(board, d), 24))
                        .collect();
                    let more = along.len() - 1 - names.len();
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let _ = writeln!(out, "    takes along {}{more}", names.join(", "));
                }
            }
        }
        out.push_str(
            "Milliseconds, less is better. alone: by this change only; now: after those\nabove it.\n",
        );
    }
    let how = if !p.met && p.exact {
        format!("\n{} candidates, {} simulations.\n", p.candidates.len(), p.evaluated)
    } else if !p.met {
        format!(
            "\n{} candidates, {} simulations: no set of fewer than {} meets the budget;\nlarger ones were looked at best-first only.\n",
            p.candidates.len(),
            p.evaluated,
            p.least
        )
    } else if p.exact {
        format!(
            "\nNo smaller set of the {} candidates does it: every set was judged by\nsimulation or excluded by a bound ({} simulations).\n",
            p.candidates.len(),
            p.evaluated
        )
    } else {
        format!(
            "\nFound best-first among {} candidates ({} simulations): at least {}\nchanges are needed, these are {}.\n",
            p.candidates.len(),
            p.evaluated,
            p.least,
            p.steps.len()
        )
    };
    out.push_str(&how);
    if !limits.in_the_way.is_empty() {
        out.push_str("\nIn the way, whatever of these is done:\n");
        for o in &limits.in_the_way {
            let _ = writeln!(
                out,
                "  {:<44}{:>9} ms in {}",
                clip(&device(board, o.device), 43),
                short(o.time.0),
                phase_words(o.phase)
            );
        }
    }
    if !limits.withheld.is_empty() {
        out.push_str("\nNot offered for removal (--offer PATTERN does):\n");
        for &(d, why, t) in &limits.withheld {
            let why = reason(board, d, why);
            let _ = writeln!(
                out,
                "  {:<34}{:>9} ms  {}",
                clip(&device(board, d), 33),
                short(t.0),
                clip(&why, 31)
            );
        }
    }
    out
}

/// Milliseconds with two decimals.
fn short(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let n = ns.unsigned_abs() / 10_000;
    format!("{sign}{}.{:02}", n / 100, n % 100)
}

/// The same as JSON: schema `dormouse.plan`, version 1; nanoseconds.
pub fn json(board: &Board, goal: &Goal, p: &Plan, limits: &Limits) -> Value {
    let name = |d: DeviceId| board.names.get(board.graph.get(d).name);
    let reached = |r: &Reached| {
        json!({
            "suspend_ns": r.suspend.0,
            "resume_ns": r.resume.0,
            "ready_ns": r.ready.iter().map(|t| t.0).collect::<Vec<_>>(),
        })
    };
    let candidate = |c: Candidate| {
        json!({
            "change": c.kind.name(),
            "device": name(c.device),
            "index": c.device.0,
            "takes_along": if c.kind == Kind::Remove {
                goes_with(board, c.device)
                    .into_iter()
                    .filter(|&d| d != c.device)
                    .map(name)
                    .collect()
            } else {
                Vec::new()
            },
        })
    };
    json!({
        "schema": "dormouse.plan",
        "version": 1,
        "goal": {
            "suspend_ns": goal.suspend.map(|t| t.0),
            "resume_ns": goal.resume.map(|t| t.0),
            "ready": goal.ready.iter().map(|(d, t)| json!({
                "device": name(*d), "ns": t.0
            })).collect::<Vec<_>>(),
        },
        "met": p.met,
        "exact": p.exact,
        "least_changes": p.least,
        "gap_ns": p.gap.0,
        "before": reached(&p.before),
        "after": reached(&p.after),
        "steps": p.steps.iter().map(|s| json!({
            "candidate": candidate(s.candidate),
            "alone_ns": s.alone.0,
            "now_ns": s.now.0,
            "reached": reached(&s.reached),
        })).collect::<Vec<_>>(),
        "candidates": p.candidates.iter().map(|&c| candidate(c)).collect::<Vec<_>>(),
        "simulations": p.evaluated,
        "in_the_way": limits.in_the_way.iter().map(|o| json!({
            "device": name(o.device), "index": o.device.0,
            "phase": o.phase.name(), "ns": o.time.0,
        })).collect::<Vec<_>>(),
        "withheld": limits.withheld.iter().map(|&(d, why, t)| json!({
            "device": name(d), "index": d.0, "why": reason(board, d, why), "ns": t.0,
        })).collect::<Vec<_>>(),
    })
}
