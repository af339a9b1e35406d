//! A prediction for a terminal, 80 columns.

use super::KernelRow;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::comparison::percent;
use crate::wording::number::{change as change_words, ms, ms_change as change};
use crate::wording::reason::alone;
use dormouse_board::derive::Derived;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;
use dormouse_sleep::simulate::policy::{Evidence, Policy};
use dormouse_sleep::simulate::predict::{Outlook, Prediction, phase_words};
use std::fmt::Write as _;

/// In a sentence.
fn short(t: Ns) -> String {
    t.to_string()
}

/// The answer: both halves, the one that changes more first.
fn answer(p: &Prediction) -> String {
    let half = |d: Direction| (p.before.half(d), p.claimed(d));
    let by = |d: Direction| (half(d).1 - half(d).0).0.abs();
    let mut order = [Direction::Resume, Direction::Suspend];
    if by(order[1]) > by(order[0]) {
        order.reverse();
    }
    let shown = order.into_iter().filter(|d| half(*d) != (Ns::ZERO, Ns::ZERO));
    let said = shown.map(|d| {
        let (was, is) = half(d);
        let held = Phase::DEVICE.iter().any(|x| x.direction() == d && !p.claims(*x));
        if was == is && held {
            return format!("{}: no change is claimed, the model misses the recording", d.name());
        }
        if was == is {
            return format!("{} stays at {was}", d.name());
        }
        format!("{} {was} -> {is} ({})", d.name(), change_words(was, is))
    });
    let text = said.collect::<Vec<_>>().join(", ");
    let Some(first) = text.get(..1) else { return "No phase of devices is simulated.".into() };
    first.to_uppercase() + &text[1..] + "."
}

/// The second line: how far the model misses the recording as it was.
fn trust(p: &Prediction, derived: &Derived) -> String {
    let mut errors = Vec::new();
    for d in [Direction::Resume, Direction::Suspend] {
        let phases = Phase::DEVICE.iter().filter(|p| p.direction() == d);
        let seen: Ns =
            phases.filter_map(|p| p.device_index().and_then(|i| derived.observed[i])).sum();
        if seen > Ns::ZERO {
            let off = (p.before.half(d) - seen).0 as f64 / seen.0 as f64 * 100.0;
            errors.push(format!("{} {}", d.name(), percent(off)));
        }
    }
    match errors.is_empty() {
        true => "Model, device phases only; there is no recording to check it against.".into(),
        false => format!("Device phases only. Model error here: {}.", errors.join(", ")),
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

/// Before and after, bounds, the critical path and why. `release` is the kernel
/// that was recorded, empty if none was.
pub fn text(p: &Prediction, derived: &Derived, release: &str) -> String {
    let mut out = String::new();
    let name = |o: &Outlook| match o.scheduler.kernel {
        Some(k) => format!("{k} ({})", o.scheduler.policy.name),
        None => o.scheduler.policy.name.to_string(),
    };
    let mut page = Page::new(false);
    page.wrapped(Ink::Strong, 0, 2, &answer(p));
    page.wrapped(Ink::Plain, 0, 2, &trust(p, derived));
    let recorded =
        if release.is_empty() { String::new() } else { format!(", recorded on {}", safe(release)) };
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "Kernel {} -> {}{recorded}{}.",
            name(&p.before),
            name(&p.after),
            caution(p.after.scheduler.policy)
        ),
    );
    out.push_str(&page.finish());
    let trip = derived.board.trip;
    if trip.hibernates() {
        let _ = writeln!(out, "of:   the part of a hibernation that calls {}", trip.name());
    }
    let _ = writeln!(out);
    let observed = derived.observed.iter().any(Option::is_some);
    let _ = writeln!(
        out,
        "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
        "ms",
        if observed { "recorded" } else { "" },
        "model",
        "changed",
        "diff",
        "floor",
        "in order"
    );
    // A trip that ends below has no way up.
    let runs = |d: Direction| d == Direction::Suspend || trip.up.is_some();
    for phase in Phase::DEVICE.into_iter().filter(|p| runs(p.direction())) {
        let (was, is) = (p.before.phase(phase), p.after.phase(phase));
        let bound = p.after.bounds.phase(phase);
        let seen = phase.device_index().and_then(|i| derived.observed[i]);
        let _ = writeln!(
            out,
            "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
            phase_words(phase),
            seen.map_or(String::new(), ms),
            ms(was),
            if p.claims(phase) { ms(is) } else { "-".into() },
            if p.claims(phase) { change(was, is) } else { "-".into() },
            bound.map_or(String::new(), |b| ms(b.path)),
            bound.map_or(String::new(), |b| ms(b.order)),
        );
    }
    for direction in [Direction::Suspend, Direction::Resume].into_iter().filter(|d| runs(*d)) {
        let (was, is) = (p.before.half(direction), p.claimed(direction));
        let seen: Ns = Phase::DEVICE
            .iter()
            .filter(|p| p.direction() == direction)
            .filter_map(|p| p.device_index().and_then(|i| derived.observed[i]))
            .sum();
        let _ = writeln!(
            out,
            "{:<15}{:>10}{:>10}{:>10}{:>10}{:>11}{:>10}",
            format!("total {}", direction.name()),
            if observed { ms(seen) } else { String::new() },
            ms(was),
            ms(is),
            change(was, is),
            ms(p.after.bounds.path(direction)),
            ms(p.after.bounds.order(direction)),
        );
    }
    for step in &derived.image {
        let took = ms(step.end.since(step.start));
        let _ = writeln!(
            out,
            "{:<15}{took:>10}{took:>10}{took:>10}{:>10}   {} MB",
            format!("image {}", step.work.name()),
            change(Ns::ZERO, Ns::ZERO),
            step.bytes / 1_000_000
        );
    }
    if Phase::DEVICE.into_iter().any(|phase| !p.claims(phase)) {
        let _ =
            writeln!(out, "\n-: no change is claimed there; the self-check below says why, and");
        let _ = writeln!(out, "the sums take such a phase as it is now.");
    }
    let _ = writeln!(out, "\nBoth after the change. floor: longest chain of dependent devices;");
    let _ = writeln!(out, "in order: with synchronous devices one after the other as well.");
    let _ = writeln!(out);
    for direction in [Direction::Suspend, Direction::Resume].into_iter().filter(|d| runs(*d)) {
        let whole = p.claimed(direction) == p.after.half(direction);
        let then =
            if whole { with_range(&p.after, direction) } else { short(p.claimed(direction)) };
        let _ = writeln!(
            out,
            "{:<8} {} now, {then} then",
            direction.name(),
            with_range(&p.before, direction),
        );
    }
    if p.after.range.is_some() {
        let _ = writeln!(out, "(in brackets: nine of ten resampled cycles)");
    }
    out.push_str(&crate::fidelity::text(&p.fidelity, &derived.board));
    path(&mut out, p);
    section(&mut out, "What changed", &p.notes);
    section(&mut out, "Assumed", &p.assumptions);
    out
}

/// The critical path after the change: pieces of at least one hundredth of
/// their half.
fn path(out: &mut String, p: &Prediction) {
    let _ = writeln!(out, "\nCritical path after the change, ms");
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
                safe(board.names.get(board.graph.get(device).name)),
                alone(piece.reason)
            );
        }
        if small > Ns::ZERO {
            let _ = writeln!(out, "  {:<14}{:>11}  rest of this half", direction.name(), ms(small));
        }
    }
}

fn caution(policy: &Policy) -> String {
    policy.caution().map_or(String::new(), |c| format!(" - {c}"))
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

/// One line a generation of kernels, the bounds, and what was changed.
pub fn kernels(rows: &[KernelRow], notes: &[String], assumptions: &[String]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<6}{:>12}{:>12}{:>9}{:>9}{:>9}  evidence",
        "policy", "suspend ms", "resume ms", "workers", "parked", "waits"
    );
    for (p, o) in rows {
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
                        Evidence::Kernel(k) => format!("ran on {k}"),
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
        let b = &o.bounds;
        let ways = |of: &dyn Fn(Direction) -> Ns| (of(Direction::Suspend), of(Direction::Resume));
        for (name, (down, up), what) in [
            ("bound", ways(&|d| b.path(d)), "longest chain, no schedule beats it"),
            ("order", ways(&|d| b.order(d)), "with synchronous devices in order"),
            ("over", b.overlapped, "what-if: phases overlap for each device"),
            ("ends", b.parallel_ends, "what-if: prepare and complete in parallel"),
        ] {
            let _ = writeln!(out, "{name:<6}{:>12}{:>12}  {what}", ms(down), ms(up));
        }
    }
    let _ = writeln!(out, "\n\"not held to\": not held against a kernel.");
    section(&mut out, "What changed", notes);
    section(&mut out, "Assumed", assumptions);
    out
}
