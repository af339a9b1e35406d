//! Two tables beside each other, for a terminal.

use super::grid::plain_table;
use crate::text::page::{Ink, Page};
use crate::text::{fit, fit_end, safe};
use crate::wording::number::{grouped, plural};
use dormouse_base::beside::{Beside, Cell, Moved, Steps};

/// Most cells listed.
const LISTED: usize = 30;

/// The comparison: what changed most, then every cell that both have.
pub fn tables(b: &Beside) -> String {
    let mut page = Page::new(false);
    let [a, z] = b.labels.each_ref().map(|l| safe(l));
    let changed = b.moved.iter().filter(|m| m.weight() > 0).count();
    let answer = match b.moved.first().filter(|m| m.weight() > 0) {
        Some(m) => format!(
            "What changed most is {}: {} -> {}{}.",
            m.name,
            cell(&m.cells[0]),
            cell(&m.cells[1]),
            if matches!(m.cells[0], Cell::Number { .. }) { percent(m) } else { String::new() }
        ),
        None => "Nothing that both tables have changed.".into(),
    };
    page.wrapped(Ink::Plain, 0, 2, &safe(&answer));
    let trust = format!(
        "\"{a}\" beside \"{z}\" ({}): two measurements, each once; whether they differ by chance \
         they do not say. {changed} of {} cells changed.",
        b.kind,
        b.moved.len()
    );
    page.wrapped(Ink::Plain, 0, 2, &trust);
    let mut out = page.finish();
    out.push('\n');
    let head = [b.kind, "first", "second", "change"].map(String::from).to_vec();
    let rows = b.moved.iter().take(LISTED).map(|m| {
        let [x, y] = m.cells.each_ref().map(|c| fit(&safe(&cell(c)), 16).trim_end().to_owned());
        // Of a path the end tells it from others.
        let name = safe(&m.name);
        let name = if name.contains('/') { fit_end(&name, 36) } else { fit(&name, 36) };
        let name = name.trim_end().to_owned();
        vec![name, x, y, percent(m).trim_start_matches(", ").to_owned()]
    });
    out.push_str(&plain_table(head, rows.collect()));
    let mut page = Page::new(false);
    if let more @ 1.. = b.moved.len().saturating_sub(LISTED) {
        page.wrapped(Ink::Plain, 0, 2, &format!("and {more} more that changed no more than these"));
    }
    for (label, alone) in [a, z].iter().zip(&b.alone).filter(|(_, l)| !l.is_empty()) {
        let named: Vec<&str> = alone.iter().take(6).map(String::as_str).collect();
        let more = if alone.len() > named.len() { ", ..." } else { "" };
        let text = format!("In \"{label}\" alone: {}{more}.", named.join(", "));
        page.wrapped(Ink::Plain, 0, 2, &safe(&text));
    }
    out + &page.finish()
}

/// Counters, and what each step between two readings added.
pub fn steps(s: &Steps) -> String {
    let mut page = Page::new(false);
    let file = s.name.rsplit('/').next().unwrap_or(&s.name);
    let n = s.labels.len();
    let still = s.rows.iter().filter(|(_, grown)| grown.iter().all(|n| *n == 0)).count();
    let answer =
        format!("{file} was read {n} times; of its {} counters {still} never grew.", s.rows.len());
    page.wrapped(Ink::Plain, 0, 2, &safe(&answer));
    let labels: Vec<&str> = s.labels.iter().map(String::as_str).collect();
    let read = format!(
        "Counters only grow: what is shown is what each step added, from one reading to the next \
         ({}).",
        labels.join(", ")
    );
    page.wrapped(Ink::Plain, 0, 2, &safe(&read));
    let shown = (n - 1).min(STEPS);
    let mut head = vec![file.to_owned()];
    head.extend((1..=shown).map(|i| format!("step {i}")));
    let rows = s.rows.iter().take(LISTED).map(|(name, grown)| {
        let name = name.strip_prefix(&format!("{file}, ")).unwrap_or(name);
        let mut row = vec![fit(&safe(name), 30).trim_end().to_owned()];
        row.extend(grown.iter().take(shown).map(|n| format!("+{}", grouped(*n))));
        row
    });
    let mut out = page.finish() + "\n" + &plain_table(head, rows.collect());
    let mut page = Page::new(false);
    for (what, left) in [("step", n - 1 - shown), ("counter", s.rows.len().saturating_sub(LISTED))]
    {
        if left > 0 {
            page.wrapped(
                Ink::Plain,
                0,
                2,
                &format!("and {}", plural(left, &format!("more {what}"))),
            );
        }
    }
    out += &page.finish();
    out
}

/// Most steps side by side.
const STEPS: usize = 4;

fn cell(c: &Cell) -> String {
    match c {
        Cell::Word(w) => w.clone(),
        Cell::Number { thousandths, unit } => {
            let (whole, rest) = (thousandths / 1_000, thousandths.unsigned_abs() % 1_000);
            let sign = if *thousandths < 0 && whole == 0 { "-" } else { "" };
            let part = match rest {
                0 => String::new(),
                n => format!(".{n:03}").trim_end_matches('0').to_owned(),
            };
            format!("{sign}{whole}{part} {unit}").trim_end().to_owned()
        }
    }
}

/// `, +12.5 %` of the first; of shares of one whole the points between them.
fn percent(m: &Moved) -> String {
    let [Cell::Number { thousandths: a, unit }, Cell::Number { thousandths: b, .. }] = &m.cells
    else {
        return if m.weight() > 0 { ", changed".into() } else { ", =".into() };
    };
    if a == b {
        return ", =".into();
    }
    if *unit == "%" {
        return format!(", {:+.1} points", (*b as f64 - *a as f64) / 1_000.0);
    }
    if *a == 0 {
        return ", from nothing".into();
    }
    format!(", {:+.1} %", 100.0 * (*b as f64 - *a as f64) / a.unsigned_abs() as f64)
}
