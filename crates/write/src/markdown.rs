//! `show --markdown`: tables for a report or an issue.

use crate::words::{self, percent};
use crate::{Explained, Selection};
use dormouse_model::capture::Capture;
use dormouse_model::phase::Direction;
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::rows::What;
use std::fmt::Write as _;

/// One section a cycle.
pub fn show(all: &[Explained], selection: &Selection) -> String {
    let mut out = String::new();
    for (number, e, i) in selection.cycles(all) {
        cycle(&mut out, number, &e.capture, i, &e.views[i], selection);
    }
    out
}

fn cycle(
    out: &mut String,
    number: usize,
    capture: &Capture,
    i: usize,
    view: &CycleView,
    selection: &Selection,
) {
    let cycle = &capture.cycles[i];
    let source = cell(capture.names.get(cycle.source));
    let _ = writeln!(out, "## Cycle {number}: {source}\n");
    for half in [view.answer.suspend, view.answer.resume].iter().flatten() {
        let _ = writeln!(out, "{}\n", cell(&words::answer(capture, view, half)));
    }
    let _ = writeln!(out, "| phase | direction | time | share |\n|---|---|---:|---:|");
    for r in &view.rows.list {
        if matches!(r.what, What::Asleep { .. } | What::Turn) {
            continue;
        }
        let total = view.rows.counted(r.direction);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            words::row(r.what, &cycle.phases),
            r.direction.name(),
            r.counted,
            percent(r.counted, total)
        );
    }
    for d in [Direction::Suspend, Direction::Resume] {
        let total = view.rows.counted(d);
        if total > Ns::ZERO {
            let _ = writeln!(out, "| **all** | {} | {total} | 100.0 % |", d.name());
        }
    }
    let _ = writeln!(
        out,
        "\n| device | own time | on the critical path | gain without it |\n|---|---:|---:|---:|"
    );
    let list = view.ranking.by_path.iter().take(selection.top);
    for d in list.map(|&i| &view.ranking.devices[i as usize]) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            cell(&words::device(capture, d.device)),
            d.total_busy(),
            d.total_on_path(),
            d.total_gain()
        );
    }
    out.push('\n');
}

/// Text that cannot end a cell, start a tag or be a link.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in crate::text::safe(text).chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '#' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}
