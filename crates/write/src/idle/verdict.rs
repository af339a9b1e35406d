//! What `dormouse idle verify` prints: predictions beside recordings.

use super::numbers::us;
use super::show::wrap;
use crate::text::safe;
use crate::wording::number::grouped;
use crate::wording::plural;
use dormouse_idle::decided::Again;
use dormouse_idle::verdict::{DELAY, RELATIVE, Row, SHARE};
use std::fmt::Write as _;

/// Predictions of each kernel and a last line that says how many were right.
pub fn verdicts(kernels: &[(&str, &[Row], Again)]) -> String {
    let mut out = String::new();
    let all: Vec<&Row> = kernels.iter().flat_map(|k| k.1).collect();
    let met = all.iter().filter(|r| r.met()).count();
    let missed = all.len() - met;
    out += &wrap(&match missed {
        0 => format!("All {} are right.", plural(all.len(), "prediction")),
        _ => format!("{missed} of {} missed.", plural(all.len(), "prediction")),
    });
    out += &wrap(&format!(
        "Right: shares of states within {} points; p50 and p99 of wake-up delays within {RELATIVE} % \
         or {} us; energy within {RELATIVE} %; and the direction of every clear change.",
        SHARE / 100,
        us(DELAY)
    ));
    for (kernel, rows, again) in kernels {
        let _ = write!(
            out,
            "\nKernel {}; each pair is predicted, recorded\n\
             Work      Setting          points    p50 us        p99 us        energy    verdict\n",
            safe(kernel)
        );
        for r in *rows {
            let _ = writeln!(out, "{}", line(r));
        }
        out += &wrap(&format!(
            "{} of {} recorded decisions are made again from what the governor was told.",
            grouped(again.equal),
            grouped(again.decisions)
        ));
    }
    out += "points: largest error of a state's share of the time. energy: power assumed,\n  \
            thousandths of always polling. The first setting of each work is the one\n  \
            that all are predicted from.\n";
    out
}

fn line(r: &Row) -> String {
    let (p, a) = (&r.predicted, &r.after);
    let points = r.share_error();
    let two = |p: i64, a: i64| format!("{:>6} {:<6}", us(p), us(a));
    let mut missed = Vec::new();
    if !r.states_met() {
        missed.push("states");
    }
    for (met, name) in r.delays_met().into_iter().zip(["p50", "p99"]) {
        if !met {
            missed.push(name);
        }
    }
    if !r.energy_met() {
        missed.push("energy");
    }
    if !r.direction_met() {
        missed.push("direction");
    }
    let verdict = if missed.is_empty() { "right".into() } else { missed.join(" ") };
    format!(
        "{:<9} {:<16} {:>4}.{:02} {} {} {:>4} {:<4} {verdict}",
        safe(&r.work),
        safe(&r.settings[1]),
        points / 100,
        points % 100,
        two(p.p50, a.p50),
        two(p.p99, a.p99),
        p.energy,
        a.energy
    )
}
