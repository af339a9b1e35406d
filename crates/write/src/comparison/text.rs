//! A comparison for a terminal (80 columns) and as Markdown.

use super::lists::lists;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};
use dormouse_model::time::Ns;
use dormouse_sleep::compare::contrast::{Contrast, Verdict};
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::{Comparison, Row, say};
use std::fmt::Write as _;

/// How many devices a table lists.
const DEVICES: usize = 15;

/// A table without lines; the first column is left-aligned, the others right.
pub(super) fn plain_table(head: Vec<String>, body: Vec<Vec<String>>) -> String {
    table(NOTHING, head, body)
}

fn table(preset: &str, head: Vec<String>, body: Vec<Vec<String>>) -> String {
    let mut t = Table::new();
    t.load_preset(preset).set_header(head).add_rows(body);
    for (i, column) in t.column_iter_mut().enumerate() {
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        if preset == NOTHING {
            column.set_padding((0, 1));
        }
    }
    let mut out: String = t.lines().map(|l| l.trim_end().to_string() + "\n").collect();
    if out.is_empty() {
        out.push('\n');
    }
    out
}

/// The whole comparison as text.
pub fn text(c: &Comparison<'_>) -> String {
    let mut out = String::new();
    for side in &c.sides {
        let _ = writeln!(
            out,
            "{}: {} cycles{}{}",
            safe(&side.label),
            side.used,
            list(", kernel ", &side.kernels),
            list(", ", &side.modes.iter().map(|m| m.name().to_string()).collect::<Vec<_>>()),
        );
    }
    for i in 1..c.sides.len() {
        out.push('\n');
        if c.sides.len() > 2 {
            let (a, b) = (&c.sides[0].label, &c.sides[i].label);
            let _ = writeln!(out, "{} against {}:", safe(b), safe(a));
        }
        for s in say::sentences(c, i) {
            sentence(&mut out, &s);
        }
        out.push('\n');
        out.push_str(&plain_table(head(c, i), c.rows.iter().map(|r| line(r, i)).collect()));
    }
    out.push_str(&devices(c, NOTHING));
    out.push_str("\nMedians in ms, as on the kernel lists:\n");
    out.push_str(&lists(c));
    let cautions = say::cautions(c);
    if !cautions.is_empty() {
        out.push_str("\nBefore you believe this:\n");
        for s in cautions {
            sentence(&mut out, &s);
        }
    }
    out
}

/// The same for a bug report or a merge request.
pub fn markdown(c: &Comparison<'_>) -> String {
    let mut out = String::new();
    for i in 1..c.sides.len() {
        let (a, b) = (&c.sides[0].label, &c.sides[i].label);
        let _ = writeln!(out, "### {} against {}\n", escape(b), escape(a));
        for s in say::sentences(c, i) {
            let _ = writeln!(out, "- {}", escape(&s));
        }
        out.push('\n');
        let body = c.rows.iter().map(|r| line(r, i)).collect();
        out.push_str(&table(ASCII_MARKDOWN, head(c, i), body));
        out.push('\n');
    }
    out.push_str(&devices(c, ASCII_MARKDOWN));
    for s in say::cautions(c) {
        let _ = writeln!(out, "\n> {}", escape(&s));
    }
    out
}

fn head(c: &Comparison<'_>, side: usize) -> Vec<String> {
    let name = |s: &str| safe(s).chars().take(14).collect::<String>();
    vec![
        String::new(),
        name(&c.sides[0].label),
        name(&c.sides[side].label),
        "change".into(),
        "95 % interval".into(),
        "p".into(),
        "".into(),
    ]
}

fn line(row: &Row, side: usize) -> Vec<String> {
    let c = &row.contrasts[side - 1];
    let value = |v: f64| if row.figure.is_time() { time(v) } else { number(v) };
    let interval = c.interval.map_or(String::new(), |(low, high)| {
        if row.figure.is_time() {
            format!("{:+.2} .. {:+.2} ms", low / 1e6, high / 1e6)
        } else {
            format!("{low:+.1} .. {high:+.1}")
        }
    });
    vec![
        figure(row.figure),
        value(c.median_a),
        value(c.median_b),
        c.percent().map_or(String::new(), |p| format!("{p:+.1} %")),
        interval,
        c.welch.map_or(String::new(), |_| p_value(c.p_corrected)),
        mark(row.figure, c),
    ]
}

fn devices(c: &Comparison<'_>, preset: &str) -> String {
    if c.devices_tested == 0 {
        return String::new();
    }
    let mut out = format!(
        "\n{} of {} device times differ beyond the 5 % level (Holm's correction)",
        c.devices.len(),
        c.devices_tested
    );
    if c.devices.is_empty() {
        return out + ".\n";
    }
    if c.devices.len() > DEVICES {
        let _ = write!(out, "; the {DEVICES} largest");
    }
    out.push_str(":\n\n");
    let head = ["device", "phase", "before", "after", "change", "p"].map(String::from).to_vec();
    let body = c
        .devices
        .iter()
        .take(DEVICES)
        .map(|d| {
            let name = safe(d.figure.device.name);
            vec![
                if preset == NOTHING { name.chars().take(28).collect() } else { escape(&name) },
                figure(Figure::Phase(d.figure.phase)),
                time(d.contrast.median_a),
                time(d.contrast.median_b),
                time(d.contrast.difference()),
                p_value(d.contrast.p_corrected),
            ]
        })
        .collect();
    out + &table(preset, head, body)
}

fn figure(f: Figure) -> String {
    match f {
        Figure::Total(d) => format!("total {}", d.name()),
        Figure::Phase(p) if matches!(p.name(), "noirq" | "syscore") => {
            format!("{} {}", p.direction().name(), p.name())
        }
        Figure::Phase(p) => p.name().to_string(),
        Figure::Count(n) => n.name().replace('_', " "),
    }
}

fn mark(figure: Figure, c: &Contrast) -> String {
    match (c.verdict, figure.is_time()) {
        (Verdict::NoDifference | Verdict::Untested, _) => "",
        (Verdict::Slower, false) => "more",
        (Verdict::Faster, false) => "fewer",
        (v, true) => v.name(),
    }
    .to_string()
}

fn time(ns: f64) -> String {
    Ns(ns.round() as i64).to_string()
}

fn number(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") }
}

fn list(before: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("{before}{}", items.join(", ")) }
}

/// Safe text, and nothing that Markdown or HTML would take as markup.
fn escape(s: &str) -> String {
    safe(s)
        .chars()
        .flat_map(|c| {
            let special = "\\`*_{}[]<>|#&".contains(c);
            special.then_some('\\').into_iter().chain([c])
        })
        .collect()
}

/// A sentence of the comparison, wrapped like every other text.
fn sentence(out: &mut String, text: &str) {
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 2, 2, &safe(text));
    out.push_str(&page.finish());
}
