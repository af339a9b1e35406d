//! What a plan is worth in energy.

use super::clip;
use super::plan::change;
use dormouse_board::Board;
use dormouse_sleep::energy::{Account, Worth};
use dormouse_sleep::plan::Plan;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The account for a terminal, 80 columns: a line for the machine as it is and
/// one for each step of the plan.
pub fn text(board: &Board, plan: &Plan, worth: &Worth) -> String {
    let mut out = String::new();
    let battery = worth.before.cycles_a_charge().is_some();
    let (title, gain) = if battery { ("cycles/charge", "gain") } else { ("", "") };
    let _ =
        writeln!(out, "\n{:<36}{:>11}{:>11}{title:>15}{gain:>7}", "energy", "transition", "cycle");
    let mut last = worth.before;
    line(&mut out, "as it is", &worth.before, &last);
    for (step, account) in plan.steps.iter().zip(&worth.steps) {
        line(&mut out, &change(board, step.candidate), account, &last);
        last = *account;
    }
    let (was, is) = (worth.before, worth.after());
    if let (Some(a), Some(b)) = (was.cycles_a_charge(), is.cycles_a_charge()) {
        let _ =
            writeln!(out, "A charge gives {}.", instead(b.to_string(), a.to_string(), "cycles"));
    }
    if let (Some(a), Some(b)) = (was.seconds_a_charge(), is.seconds_a_charge()) {
        let _ = writeln!(out, "It lasts {}.", instead(lasts(b), lasts(a), ""));
    }
    out
}

fn line(out: &mut String, what: &str, is: &Account, was: &Account) {
    let _ = write!(
        out,
        "{:<36}{:>11}{:>11}",
        clip(what, 35),
        is.transition().to_string(),
        is.total().to_string()
    );
    if let Some(n) = is.cycles_a_charge() {
        let _ = write!(out, "{n:>15}");
        let gain = i128::from(n) - i128::from(was.cycles_a_charge().unwrap_or(n));
        if gain != 0 {
            let _ = write!(out, "{gain:>+7}");
        }
    }
    out.push('\n');
}

fn instead(now: String, before: String, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if now == before {
        format!("{now}{unit}, as before")
    } else {
        format!("{now}{unit} instead of {before}")
    }
}

/// `17 h 32 min`, `3 d 4 h`, `40 s`.
fn lasts(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// The same as JSON: `energy` of docs/plan-json.md; nanojoules.
pub fn json(worth: &Worth) -> Value {
    let account = |a: &Account| {
        json!({
            "suspend_nj": a.suspend.0,
            "resume_nj": a.resume.0,
            "other_nj": a.other.0,
            "awake_nj": a.awake.0,
            "asleep_nj": a.asleep.0,
            "cycle_nj": a.total().0,
            "period_ns": a.period.0,
            "cycles_per_charge": a.cycles_a_charge(),
            "seconds_per_charge": a.seconds_a_charge(),
        })
    };
    json!({
        "before": account(&worth.before),
        "after": account(&worth.after()),
        "steps": worth.steps.iter().map(account).collect::<Vec<_>>(),
    })
}
