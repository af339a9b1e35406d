//! `show --markdown`: tables for a report or an issue.

use crate::wording::bottleneck::OWN_PATH_SAVING;
use crate::wording::next::file_of;
use crate::wording::number::ms;
use crate::wording::{self, bottleneck, percent};
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::phase::Direction;
use dormouse_base::ranked::Ranking;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::rows::What;
use std::fmt::Write as _;

/// One section a cycle.
pub fn show(all: &[Explained], selection: &Selection) -> String {
    let mut out = String::new();
    for (number, e, i) in selection.cycles(all) {
        cycle(&mut out, number, &e.capture, i, &e.views[i], selection);
    }
    for e in all {
        for list in &e.capture.ranked {
            ranked(&mut out, &e.capture, list, selection);
        }
    }
    out
}

/// Durations without a schedule.
fn ranked(out: &mut String, capture: &Capture, list: &Ranking, selection: &Selection) {
    let source = cell(capture.names.get(list.source));
    let _ = writeln!(out, "## Durations alone: {source}, line {}\n", list.at);
    let _ = writeln!(out, "| callback of | function | ms |\n|---|---|---:|");
    for r in list.rows.iter().take(selection.top) {
        let (device, function) =
            (wording::device(capture, r.device), capture.names.get(r.function));
        let _ = writeln!(out, "| {} | {} | {} |", cell(&device), cell(function), ms(r.took));
    }
    let _ = writeln!(out, "\n| device | removing it saves at most, ms |\n|---|---:|");
    for (id, bound) in list.devices().into_iter().take(selection.top) {
        let _ = writeln!(out, "| {} | {} |", cell(&wording::device(capture, id)), ms(bound));
    }
    let _ = writeln!(out);
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
    let source = cell(file_of(capture.names.get(cycle.source)));
    let _ = writeln!(out, "## Cycle {number}: {source}\n");
    for half in view.answer.halves() {
        let open = bottleneck::Open { cycle, known: half.known };
        let text = bottleneck::half(capture, cycle.mode, view, half, open).join(" ");
        let _ = writeln!(out, "{}\n", cell(text.trim_end()));
    }
    let _ = writeln!(out, "| phase | direction | ms | share |\n|---|---|---:|---:|");
    for r in &view.rows.list {
        if matches!(r.what, What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump) {
            continue;
        }
        if r.counted.hundredths_of_ms() == 0 {
            continue;
        }
        let total = view.rows.counted(r.direction);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            wording::row(r.what, cycle.mode, &cycle.phases),
            r.direction.name(),
            ms(r.counted),
            percent(r.counted, total)
        );
    }
    for d in [Direction::Suspend, Direction::Resume] {
        let total = view.rows.counted(d);
        if total > Ns::ZERO {
            let _ = writeln!(out, "| **total** | {} | {} | 100.0 % |", d.name(), ms(total));
        }
    }
    let _ = writeln!(
        out,
        "\n| device | suspend, ms: own | path | saving | resume, ms: own | path | saving |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    // A zero says less than nothing does.
    let time = |t: Ns| if t.hundredths_of_ms() == 0 { "-".into() } else { ms(t) };
    let list = view.ranking.by_path.iter().take(selection.top);
    for d in list.map(|&i| &view.ranking.devices[i as usize]) {
        let half = |h: usize| [d.busy[h], d.on_path[h], d.gain[h]].map(time).join(" | ");
        let name = cell(&wording::device(capture, d.device));
        let _ = writeln!(out, "| {name} | {} | {} |", half(0), half(1));
    }
    let _ = writeln!(out, "\n{}", cell(OWN_PATH_SAVING));
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
