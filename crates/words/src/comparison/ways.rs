//! The whole ways of two sides beside each other.

use crate::text::page::{Ink, Page};
use crate::text::{left, right, safe};
use crate::wording::number::plural;
use dormouse_base::say::span;
use dormouse_base::time::Ns;
use dormouse_doctor::whole::Mark;
use dormouse_sleep::compare::contrast::{Contrast, Verdict};
use serde::Serialize;

/// Two sides.
#[derive(Clone, Debug, Serialize)]
pub struct Ways {
    /// The answer, in words.
    pub answer: String,
    /// What they are called.
    pub labels: [String; 2],
    /// Sleeps that each tells of as a whole.
    pub sleeps: [usize; 2],
    /// Some stamps are of whole seconds.
    pub coarse: bool,
    /// What both have.
    pub rows: Vec<Beside>,
}

/// A stretch of the way back on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// What begins it.
    pub from: Mark,
    /// What ends it.
    pub until: Mark,
    /// What may be said of it.
    pub contrast: Contrast,
}

/// Columns of a row's name.
const NAME: usize = 35;

/// The screen.
pub fn text(w: &Ways) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Strong, 0, 2, &safe(&w.answer));
    let stamps = if w.coarse { ", by stamps of whole seconds" } else { "" };
    let [a, b] = [0, 1].map(|i| format!("{}, {}", w.labels[i], plural(w.sleeps[i], "sleep")));
    page.wrapped(Ink::Plain, 0, 2, &safe(&format!("First: {a}. Then: {b}. Medians{stamps}.")));
    let since = |b: &&Beside| b.from == Mark::Back;
    let groups: [(&str, Vec<&Beside>); 2] = [
        ("Since the kernel was back, until", w.rows.iter().filter(since).collect()),
        ("Between two of these", w.rows.iter().filter(|b| !since(b)).collect()),
    ];
    for (heading, rows) in groups.into_iter().filter(|g| !g.1.is_empty()) {
        page.heading(heading);
        let head = ["first", "then", "change"].map(|h| right(h, 12)).concat();
        page.line(&[(Ink::Faint, &format!("{}{head}  of", left("", NAME)))]);
        rows.into_iter().for_each(|b| row(&mut page, b));
    }
    page.finish()
}

fn row(page: &mut Page, b: &Beside) {
    let c = &b.contrast;
    let of = |ns: f64| span(Ns(ns as i64));
    let sign = match (c.difference as i64).signum() {
        -1 => "-",
        0 => "",
        _ => "+",
    };
    let change = format!("{sign}{}", of(c.difference.abs()));
    let beyond = matches!(c.verdict, Verdict::Slower | Verdict::Faster);
    let ink = if beyond { Ink::Strong } else { Ink::Plain };
    if b.from != Mark::Back {
        page.line(&[(Ink::Faint, &format!("  {}, then", b.from.name()))]);
    }
    let cells = [
        left(&format!("  {}", b.until.name()), NAME),
        right(&of(c.median[0]), 12),
        right(&of(c.median[1]), 12),
        right(&change, 12),
        format!("  {}/{}", c.cycles[0], c.cycles[1]),
    ];
    page.line(&[(ink, &cells.concat())]);
}
