//! The plain-text table in which suspend patches are discussed on the kernel
//! lists: rows s/r, noRPM and noIRQ, a suspend and a resume column for each
//! kernel, milliseconds.

use super::grid::plain_table;
use crate::wording::number::tenths;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::compare::figure::Figure;

const ROWS: [(&str, Phase, Phase); 3] = [
    ("s/r", Phase::Suspend, Phase::Resume),
    ("noRPM", Phase::Late, Phase::ResumeEarly),
    ("noIRQ", Phase::Noirq, Phase::ResumeNoirq),
];

/// The table, with the median of every phase.
pub fn lists(c: &Comparison<'_>) -> String {
    let mut head = vec![String::new()];
    for side in &c.sides {
        head.push(format!("{} suspend", side.label));
        head.push("resume".into());
    }
    let body = ROWS
        .iter()
        .map(|(name, down, up)| {
            let mut row = vec![(*name).to_string()];
            for side in 0..c.sides.len() {
                row.extend([down, up].map(|p| cell(c, side, *p)));
            }
            row
        })
        .collect();
    plain_table(head, body)
}

fn cell(c: &Comparison<'_>, side: usize, phase: Phase) -> String {
    let Some(row) = c.rows.iter().find(|r| r.figure == Figure::Phase(phase)) else {
        return "-".into();
    };
    let first = row.contrasts.first().map(|k| k.median[0]);
    let ns = if side == 0 { first } else { row.contrasts.get(side - 1).map(|k| k.median[1]) };
    ns.map_or("-".into(), |ns| tenths(Ns(ns.round() as i64)))
}
