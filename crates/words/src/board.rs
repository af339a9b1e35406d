//! What is in a board file, for a terminal.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::number::{grouped, ms, plural};
use dormouse_base::device::LinkKind;
use dormouse_base::phase::Phase;
use dormouse_board::summary::Summary;
use dormouse_board::{Board, CALLBACKS};
use std::fmt::Write as _;

/// The text of `check` of a board: whether the board is sound, then what is in it.
pub fn described(board: &Board, s: &Summary) -> String {
    let mut page = Page::new(false);
    let visited = s.devices - s.no_pm;
    let share = |n: u32| (n * 100 + visited / 2).checked_div(visited).unwrap_or(0);
    let count = |n: u32, one: &str| plural(n as usize, one);
    let name = |id| safe(board.names.get(board.graph.get(id).name));
    let mut warnings = Vec::new();
    if let Some(&first) = s.early_children.first() {
        let n = s.early_children.len();
        warnings.push(format!(
            "Warning: {} before {} parent, the first is `{}`; kernels register parents first. Move \
             the parent's line up.",
            if n == 1 {
                "1 device stands".into()
            } else {
                format!("{} devices stand", grouped(n as u64))
            },
            if n == 1 { "its" } else { "their" },
            name(first)
        ));
    }
    if let Some(&first) = s.early_consumers.first() {
        let link = board.graph.links[first as usize];
        let n = s.early_consumers.len();
        warnings.push(format!(
            "Warning: {} to a supplier further down, the first is `{}` to `{}`; some kernels do not \
             wait for these, others may hang. Move the supplier's line up.",
            if n == 1 { "1 link leads".into() } else { format!("{} links lead", grouped(n as u64)) },
            name(link.consumer),
            name(link.supplier)
        ));
    }
    let verdict = match warnings.len() {
        0 => "The board is sound".to_string(),
        n => format!("{} about the board", plural(n, "warning")),
    };
    page.wrapped(
        Ink::Strong,
        0,
        2,
        &format!(
            "{verdict}: {} ({}, depth {}), {}, pm_async {}.",
            count(s.devices, "device"),
            count(s.roots, "root"),
            s.depth,
            count(board.cpus, "CPU"),
            u8::from(board.pm_async)
        ),
    );
    for w in &warnings {
        page.wrapped(Ink::Plain, 0, 2, w);
    }
    if !board.graph.order_known {
        page.wrapped(Ink::Plain, 0, 2, "The order of devices is a guess.");
    }
    if !board.graph.links_known {
        page.wrapped(Ink::Plain, 0, 2, "There may be links that are not listed.");
    }
    page.blank();
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "The kernel visits {}: {} async ({} %), {} without callbacks ({} %); {} with a wakeup \
             source.",
            count(visited, "device"),
            s.asynchronous,
            share(s.asynchronous),
            s.no_callbacks,
            share(s.no_callbacks),
            s.wakeup
        ),
    );
    let all = s.links.iter().sum::<u32>();
    let kinds = s.links.iter().zip(LinkKind::ALL).filter(|k| *k.0 > 0);
    let kinds = kinds.map(|(n, kind)| format!("{n} {}", kind.name()));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {kinds}") };
    page.wrapped(Ink::Plain, 0, 2, &format!("{}{kinds}.", count(all, "link")));
    page.blank();
    let mut out = page.finish();
    let _ = writeln!(
        out,
        "{:<18}{:>10}{:>12}{:>12}{:>12}",
        "Phase, ms", "callbacks", "sleeping", "computing", "at least"
    );
    for phase in Phase::DEVICE {
        let Some(i) = phase.device_index() else { continue };
        let p = s.phases[i];
        let bound = if phase.may_be_async() { p.bound } else { p.sleep + p.compute };
        let _ = writeln!(
            out,
            "{:<18}{:>10}{:>12}{:>12}{:>12}",
            CALLBACKS[i],
            p.callbacks,
            ms(p.sleep),
            ms(p.compute),
            ms(bound)
        );
    }
    let mut page = Page::new(false);
    page.wrapped(
        Ink::Plain,
        0,
        0,
        "at least: the longest chain of callbacks that must follow each other; prepare and complete \
         are serial.",
    );
    out + &page.finish()
}
