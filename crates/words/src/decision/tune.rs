//! What `dormouse tune` found.

use super::{clip, device};
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::number::{ms, plural, share};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_sleep::analyse::per_mille;
use dormouse_sleep::evidence::Fidelity;
use dormouse_sleep::tune::evidence::Evidence;
use dormouse_sleep::tune::worth::{TooSmall, too_small};
use dormouse_sleep::tune::{Cost, Flip, Tuned};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many flips a terminal shows.
const SHOWN: usize = 20;

fn why_small(w: TooSmall) -> String {
    match w {
        TooSmall::Share => "less than 1 %".into(),
        TooSmall::WithinError(error) => format!("no more than the model is off here ({error})"),
        TooSmall::Unseen => "too little to be seen".into(),
    }
}

/// Devices of a reason that are named.
const SAFE_NAMED: usize = 6;

/// A flip is worth a line if it alone, or on top of the others, brings this
/// share of the whole gain, in tenths of a percent.
const WORTH: u32 = 50;

/// The result for a terminal, 80 columns. `bound` is what no schedule can beat.
/// Nothing is advised of what is `too_small` for the machine that `f` checks.
pub fn text(board: &Board, t: &Tuned, bound: Cost, f: &Fidelity, kernel: &str) -> String {
    let mut page = Page::new(false);
    let gain = t.before.total() - t.after.total();
    let small = too_small(t, f).map(why_small);
    let (listed, rest) = match small {
        Some(_) => (Vec::new(), &t.flips[..0]),
        None => rows(&t.flips, gain),
    };
    for (i, line) in answer(board, t, gain, small.as_deref()).iter().enumerate() {
        page.wrapped(if i == 0 { Ink::Strong } else { Ink::Plain }, 0, 2, line);
    }
    if t.free_flags == 0 {
        return page.finish();
    }
    page.wrapped(Ink::Plain, 0, 2, &format!("Kernel {kernel}. {}", how(t, bound)));
    let mut out = page.finish();
    let _ = writeln!(
        out,
        "\n{:<38}{:>11}{:>11}{:>11}",
        "Model, device phases, ms", "suspend", "resume", "both"
    );
    for (what, cost) in [
        ("  flags as they are", t.before),
        ("  all synchronous", t.all_sync),
        ("  all asynchronous (where allowed)", t.all_async),
        ("  best of random settings", t.random),
        ("  tuned", t.after),
        ("  floor (longest dependency chain)", bound),
    ] {
        let _ = writeln!(
            out,
            "{what:<38}{:>11}{:>11}{:>11}",
            ms(cost.suspend),
            ms(cost.resume),
            ms(cost.total())
        );
    }
    if !listed.is_empty() {
        let _ = writeln!(out, "\n{:<36}{:>8}{:>24}", "", "", "saves, ms");
        let _ = writeln!(out, "{:<36}{:>8}{:>12}{:>12}", "Device", "to", "alone", "added");
        listed.iter().for_each(|group| out.push_str(&row(board, group)));
        out.push_str("alone: this flag by itself; added: on top of those above it.\n");
    }
    if !rest.is_empty() {
        let more: Ns = rest.iter().map(|f| f.now).sum();
        let _ = writeln!(
            out,
            "{} {} {more} more together (--json lists all).",
            plural(rest.len(), "other flag"),
            if rest.len() == 1 { "saves" } else { "save" },
        );
    }
    out
}

/// The flips in the order in which they are made, cut behind each that brings
/// what is worth a line: what stands before it and brings nothing by itself goes
/// with it, because what it brings was only ever simulated on top of them. Then
/// what is left over.
fn rows(flips: &[Flip], gain: Ns) -> (Vec<&[Flip]>, &[Flip]) {
    let (mut listed, mut from) = (Vec::new(), 0);
    for (i, f) in flips.iter().enumerate() {
        if listed.len() < SHOWN && per_mille(f.now, gain) >= WORTH {
            listed.push(&flips[from..=i]);
            from = i + 1;
        }
    }
    (listed, &flips[from..])
}

/// A flag, or flags that were only found to help together, in the table.
fn row(board: &Board, group: &[Flip]) -> String {
    let Some((f, with)) = group.split_last() else { return String::new() };
    let to = |f: &Flip| if f.to_async { "async" } else { "sync" };
    let mut out = String::new();
    let name = device(board, f.device);
    let (what, alone) = match with.len() {
        0 => (format!("  {name}"), ms(f.alone)),
        n => {
            let more = format!(" and {n} more");
            (format!("  {}{more}", clip(&name, 33 - more.len())), "-".into())
        }
    };
    let added: Ns = group.iter().map(|f| f.now).sum();
    let _ = writeln!(out, "{:<36}{:>8}{alone:>12}{:>12}", clip(&what, 35), to(f), ms(added));
    if !with.is_empty() {
        let names: Vec<String> = with
            .iter()
            .take(SHOWN)
            .map(|w| {
                let name = safe(board.names.get(board.graph.get(w.device).name)).to_string();
                if w.to_async == f.to_async { name } else { format!("{name} {}", to(w)) }
            })
            .collect();
        let more = with.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let mut page = Page::new(false);
        let text = format!("together with {}{more}", names.join(", "));
        page.wrapped(Ink::Plain, 4, 6, &text);
        out.push_str(&page.finish());
    }
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for f in group {
        let why = safe_because(f.evidence);
        let name = safe(board.names.get(board.graph.get(f.device).name)).to_string();
        match reasons.iter_mut().find(|r| r.0 == why) {
            Some(r) => r.1.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let several = reasons.len() > 1;
    for (why, names) in reasons {
        let safe = if why.starts_with("not proven") { "" } else { "safe: " };
        let more = names.len().saturating_sub(SAFE_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = names[..names.len().min(SAFE_NAMED)].join(", ");
        let whose = if several { format!(" ({names}{more})") } else { String::new() };
        let mut page = Page::new(false);
        page.wrapped(Ink::Plain, 4, 6, &format!("{safe}{why}{whose}"));
        out.push_str(&page.finish());
    }
    out
}

/// Why a flag may be changed.
fn safe_because(e: Evidence) -> &'static str {
    match e {
        Evidence::AlreadyAsync => "it only adds order",
        Evidence::NothingRuns => "it has no callback that could run too early",
        Evidence::DeclaredLinks => "device links declare what it needs",
        Evidence::LikeOthers => "devices of this kind are async on this machine",
        Evidence::GraphSaysFree => "not proven: no link names it; check its driver",
        Evidence::Hope => "not proven: nothing supports it; check its driver",
    }
}

/// Why no flag is free, and what would free one.
fn nothing_free(t: &Tuned) -> String {
    match (t.kept, t.if_bold) {
        (n @ 1.., _) => format!(
            "--deny and --only leave none of the {} that could change.",
            plural(n, "async flag")
        ),
        (0, n @ 1..) => format!(
            "Nothing supports a change of the other {}: --bold tries them all the same. A log \
             does not show flags; a recording of dormouse record does.",
            plural(n, "async flag")
        ),
        (0, 0) => "No device of it is in the list that the kernel walks with a flag that matters. \
                   Record with dormouse record: a log does not show flags."
            .into(),
    }
}

/// The first lines: what to change, what it brings, and what it may cost.
fn answer(board: &Board, t: &Tuned, gain: Ns, small: Option<&str>) -> Vec<String> {
    if t.free_flags == 0 {
        return vec!["Cannot tune: no async flag is free to change here.".into(), nothing_free(t)];
    }
    let mut out = Vec::new();
    if let Some(small) = small {
        let all = match (gain, t.flips.len()) {
            (Ns::ZERO, _) | (_, 0) => String::new(),
            (g, 1) => format!(" The best change saves {g}, {small}."),
            (g, n) => format!(" The best {n} changes together save {g}, {small}."),
        };
        let bold = match t.if_bold {
            0 => String::new(),
            1 => " With --bold 1 more flag may change, which nothing proves safe.".into(),
            n => format!(" With --bold {n} more flags may change, which nothing proves safe."),
        };
        out.push(format!(
            "No flag is worth changing: suspend {}, resume {}.{all}{bold}",
            t.before.suspend, t.before.resume
        ));
        return out;
    }
    let share = share(gain, t.before.total());
    // Those that bring most, wherever they stand.
    let mut most: Vec<&Flip> = t.flips.iter().collect();
    most.sort_by_key(|f| -f.now.0);
    let names: Vec<String> = most
        .iter()
        .take(3)
        .map(|f| {
            let to = if f.to_async { "async" } else { "sync" };
            format!("{} {to}", safe(board.names.get(board.graph.get(f.device).name)))
        })
        .collect();
    let more = if most.len() > 3 { ", ..." } else { "" };
    let what = match (most.len(), t.pm_async) {
        (0, Some(_)) => "Setting pm_async to 0 is worth it".to_string(),
        (1, _) => format!("1 flag is worth changing ({})", names[0]),
        (n, _) => format!("{n} flags together ({}{more})", names.join(", ")),
    };
    let risk = t.if_exclusive.filter(|c| c.total() > t.before.total());
    match risk {
        Some(c) => out.push(format!(
            "{what}: {gain} less ({share}) if their drivers are independent, {} more if they \
             share a lock. Test before you keep it (--apply).",
            c.total() - t.before.total()
        )),
        None => out.push(format!(
            "{what}: {gain} less ({share}); suspend {} -> {}, resume {} -> {}.",
            t.before.suspend, t.after.suspend, t.before.resume, t.after.resume
        )),
    }
    if let (None, Some(c)) = (risk, t.if_exclusive) {
        let left = |c: Cost| Ns((t.before.total() - c.total()).0.max(0));
        let ordered = t
            .if_ordered
            .map_or(String::new(), |c| format!(" If each needs the one before: {}.", left(c)));
        out.push(format!(
            "Assumes that these callbacks can run in parallel. If they share a lock: {} remain.\
             {ordered}",
            left(c)
        ));
    }
    if t.pm_async == Some(false) && !t.flips.is_empty() {
        out.push("Also set /sys/power/pm_async to 0: queueing costs more than it saves.".into());
    }
    out
}

/// How far the search went.
fn how(t: &Tuned, bound: Cost) -> String {
    if t.exact {
        return format!("Every setting of {} was tried.", plural(t.free_flags, "free flag"));
    }
    format!(
        "{}, {}; the result is {} above the floor, which may be out of reach.",
        plural(t.free_flags, "free flag"),
        plural(t.simulations as usize, "simulation"),
        share(t.after.total() - bound.total(), bound.total())
    )
}

/// The same as JSON; nanoseconds.
pub fn json(board: &Board, t: &Tuned, bound: Cost) -> Value {
    let name = |n| board.names.get(n);
    let flip = |f: &Flip| {
        json!({
            "device": name(board.graph.get(f.device).name),
            "driver": name(board.graph.get(f.device).driver),
            "index": f.device.0,
            "async": f.to_async,
            "evidence": f.evidence,
            "alone_ns": f.alone.0,
            "now_ns": f.now.0,
        })
    };
    let mut out = json!(t);
    out["bound"] = json!(bound);
    out["flips"] = t.flips.iter().map(flip).collect();
    out
}
