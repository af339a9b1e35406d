//! Several cycles: what they have in common, and which stand out.

use super::cycle::facts;
use super::page::{Ink, Page, WIDTH};
use super::safe::{fit_end, left, right, safe};
use crate::words::{self, percent, plural};
use crate::{Explained, Selection};
use dormouse_core::capture::Capture;
use dormouse_core::phase::Direction;
use dormouse_core::time::Ns;
use dormouse_core::understand::CycleView;
use dormouse_core::understand::decode::decode;
use dormouse_core::understand::spread::{DeviceKey, Group, Spread, groups};

/// All cycles: groups that may be compared, then one line a cycle.
pub fn show(
    page: &mut Page,
    all: &[Explained],
    cycles: &[(usize, &Explained, usize)],
    selection: &Selection,
) {
    page.line(&[(Ink::Strong, &format!("{} read", plural(cycles.len(), "cycle")))]);
    let pairs: Vec<(&Capture, &[CycleView])> =
        all.iter().map(|e| (&e.capture, e.views.as_slice())).collect();
    for g in groups(&pairs) {
        group(page, all, &g, selection);
    }
    list(page, cycles, selection);
}

fn key(k: &DeviceKey<'_>) -> String {
    let meaning = decode(k.name, k.driver).map(|m| m.text());
    let inside: Vec<&str> = [k.driver, meaning.as_deref().unwrap_or("")]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect();
    if inside.is_empty() {
        k.name.to_string()
    } else {
        format!("{} ({})", k.name, inside.join("; "))
    }
}

fn group(page: &mut Page, all: &[Explained], g: &Group<'_>, selection: &Selection) {
    let kernel = if g.kernel.is_empty() { "kernel unknown" } else { g.kernel };
    page.heading(&format!(
        "{}, {}: {}",
        safe(kernel),
        g.mode.name(),
        plural(g.cycles.len(), "cycle")
    ));
    for direction in [Direction::Suspend, Direction::Resume] {
        let half = direction as usize;
        let time = [g.suspend, g.resume][half];
        let best = g.devices.iter().max_by_key(|d| d.on_path[half].median);
        if let Some(d) = best.filter(|d| d.on_path[half].median > Ns::ZERO) {
            let t = d.on_path[half].median;
            let text = format!(
                "{} {} in the middle: attack {} first, {t} ({}) on the critical path.",
                words::capitalised(direction),
                time.median,
                key(&d.key),
                percent(t, time.median)
            );
            page.paragraph(2, &safe(&text));
        }
    }
    columns(page, "Time of");
    spread(page, "  suspend", &g.suspend, Ink::Strong);
    spread(page, "  resume", &g.resume, Ink::Strong);
    for p in &g.phases {
        spread(page, &format!("    {}", words::phase(p.phase)), &p.time, Ink::Plain);
    }
    columns(page, "On the critical path (median not 0)");
    for d in g.devices.iter().take(selection.top) {
        for half in [0, 1] {
            let s = &d.on_path[half];
            if s.median > Ns::ZERO {
                let way = ["suspend", "resume"][half];
                let label = format!("  {way} {}", key(&d.key));
                spread(page, &label, s, Ink::Plain);
            }
        }
    }
    for &(k, i) in &g.first {
        let c = &all[k as usize].views[i as usize];
        let text = format!(
            "First cycle after boot, not in these figures: suspend {}, resume {}.",
            c.rows.counted(Direction::Suspend),
            c.rows.counted(Direction::Resume)
        );
        page.paragraph(2, &text);
    }
    for o in g.outliers.iter().take(selection.top) {
        let (k, i) = (o.cycle.0 as usize, o.cycle.1 as usize);
        let number = all[..k].iter().map(|e| e.views.len()).sum::<usize>() + i + 1;
        let mut text = format!("Cycle {number} stands out: {} {}", o.direction.name(), o.time);
        if let Some((p, over)) = o.phase {
            text.push_str(&format!(", {over} more in {}", words::phase(p)));
        }
        match &o.device {
            Some((d, over)) => text.push_str(&format!("; {over} more by {}.", key(d))),
            None => text.push_str("; no device made it so."),
        }
        page.paragraph(2, &safe(&text));
    }
}

fn columns(page: &mut Page, what: &str) {
    let text = format!("  {}{}", left(what, 34), "     median        p95    +- (MAD)         max");
    page.line(&[(Ink::Faint, &text.replace("    +- (MAD)         max", "     spread        max"))]);
}

fn spread(page: &mut Page, label: &str, s: &Spread, ink: Ink) {
    let text: String =
        [s.median, s.p95, s.mad, s.max].iter().map(|t| right(&t.to_string(), 11)).collect();
    page.line(&[(ink, &left(label, 36)), (Ink::Plain, &text)]);
}

fn list(page: &mut Page, cycles: &[(usize, &Explained, usize)], selection: &Selection) {
    page.heading("Cycles (--cycle N shows one)");
    let most = selection.top.max(10);
    for (n, e, i) in cycles.iter().take(most) {
        let (c, v) = (&e.capture.cycles[*i], &e.views[*i]);
        let t = |d| right(&v.rows.counted(d).to_string(), 10);
        let front = format!("{n:>5}{}{}  ", t(Direction::Suspend), t(Direction::Resume));
        let source = e.capture.names.get(c.source);
        let rest = if c.outcome == dormouse_core::cycle::Outcome::Slept {
            fit_end(source, WIDTH - front.len())
        } else {
            facts(&e.capture, c)
        };
        page.line(&[(Ink::Plain, &front), (Ink::Plain, &rest)]);
    }
    if cycles.len() > most {
        page.line(&[(Ink::Faint, &format!("      and {} more", cycles.len() - most))]);
    }
}
