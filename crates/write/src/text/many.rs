//! Several cycles: what they have in common, and which stand out.

use super::cycle::{halves_in_words, outcome, state};
use super::page::{Ink, Page, WIDTH};
use super::safe::{fit_end, left, right, safe};
use crate::words::{self, percent, plural};
use crate::{Explained, Selection};
use dormouse_model::capture::Capture;
use dormouse_model::phase::Direction;
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::decode::decode;
use dormouse_sleep::analyse::per_mille;
use dormouse_sleep::analyse::spread::{DeviceKey, DeviceSpread, Group, Spread, groups};

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
    let groups = groups(&pairs);
    for g in &groups {
        group(page, all, g, selection);
    }
    list(page, cycles, selection, groups.is_empty());
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
        state(g.mode),
        plural(g.cycles.len(), "cycle")
    ));
    for direction in [Direction::Suspend, Direction::Resume] {
        let half = direction as usize;
        let time = [g.suspend, g.resume][half];
        let common = g.devices.iter().filter(|d| d.busy.count as usize * 2 > g.cycles.len());
        let best = common.max_by_key(|d| d.on_path[half].median);
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
    on_path(page, g, selection);
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
            let place = p.map_or("the gaps between phases".to_string(), words::phase);
            text.push_str(&format!(", {over} more in {place}"));
        }
        match &o.device {
            Some((d, over)) => text.push_str(&format!("; {over} more by {}.", key(d))),
            None if g.devices.is_empty() => text.push('.'),
            None => text.push_str("; no device made it so."),
        }
        page.paragraph(2, &safe(&text));
    }
}

/// Devices that most cycles have, with at least 1 % of a half.
fn on_path(page: &mut Page, g: &Group<'_>, selection: &Selection) {
    for half in [0, 1] {
        let total = [g.suspend, g.resume][half].median;
        let typical = |d: &&DeviceSpread<'_>| {
            d.busy.count as usize * 2 > g.cycles.len()
                && per_mille(d.on_path[half].median, total) >= 10
        };
        let mut list: Vec<&DeviceSpread<'_>> = g.devices.iter().filter(typical).collect();
        list.sort_by_key(|d| std::cmp::Reverse(d.on_path[half].median));
        if list.is_empty() {
            continue;
        }
        columns(page, ["Critical path, suspend", "Critical path, resume"][half]);
        for d in list.into_iter().take(selection.top) {
            spread(page, &format!("    {}", key(&d.key)), &d.on_path[half], Ink::Plain);
        }
    }
}

fn columns(page: &mut Page, what: &str) {
    let names: String = ["median", "p95", "spread", "max"].map(|n| right(n, 11)).concat();
    page.line(&[(Ink::Faint, &format!("  {}{names}", left(what, 34)))]);
}

fn spread(page: &mut Page, label: &str, s: &Spread, ink: Ink) {
    let text: String =
        [s.median, s.p95, s.mad, s.max].iter().map(|t| right(&t.to_string(), 11)).collect();
    page.line(&[(ink, &left(label, 36)), (Ink::Plain, &text)]);
}

/// One line a cycle; with its answer where no group gives one.
fn list(
    page: &mut Page,
    cycles: &[(usize, &Explained, usize)],
    selection: &Selection,
    answers: bool,
) {
    page.heading("Cycles (--cycle N shows one)");
    let most = selection.top.max(10);
    for (n, e, i) in cycles.iter().take(most) {
        let (c, v) = (&e.capture.cycles[*i], &e.views[*i]);
        let t = |d| right(&v.rows.counted(d).to_string(), 10);
        let front = format!("{n:>5}{}{}  ", t(Direction::Suspend), t(Direction::Resume));
        let near = [i.checked_sub(1), Some(i + 1)].into_iter().flatten();
        let several = near.filter_map(|k| e.capture.cycles.get(k)).any(|o| o.source == c.source);
        let at = if several { format!("at {}: ", c.start) } else { String::new() };
        let front = front + &at;
        let source = e.capture.names.get(c.source);
        let rest = if c.outcome == dormouse_model::cycle::Outcome::Slept {
            fit_end(source, WIDTH - front.len())
        } else {
            outcome(&e.capture, c)
        };
        page.line(&[(Ink::Plain, &front), (Ink::Plain, &rest)]);
        if answers {
            halves_in_words(page, 7, &e.capture, v);
        }
    }
    if cycles.len() > most {
        page.line(&[(Ink::Faint, &format!("      and {} more", cycles.len() - most))]);
    }
}
