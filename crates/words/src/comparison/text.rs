//! A comparison for a terminal (80 columns) and as Markdown.

use super::grid::{plain_table, table};
use crate::text::page::{Ink, Page};
use crate::text::{fit_end, safe};
use crate::wording::{self, comparison as say, number};
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use dormouse_base::guest::guest_of;
use dormouse_base::time::Ns;
use dormouse_sleep::compare::account::NEWS;
use dormouse_sleep::compare::contrast::{Contrast, Verdict};
use dormouse_sleep::compare::figure::{Count, Figure};
use dormouse_sleep::compare::{Comparison, Row};
use std::fmt::Write as _;

/// How many devices a table lists.
const DEVICES: usize = 15;

/// The whole comparison as text. `files` are what was given, for the last line;
/// none if another verb prints this.
pub fn text(c: &Comparison<'_>, files: &[String]) -> String {
    let mut out = String::new();
    for i in 1..c.sides.len() {
        if c.sides.len() > 2 {
            let (a, b) = (&c.sides[0].label, &c.sides[i].label);
            let _ = writeln!(out, "{} compared with {}:", safe(b), safe(a));
        }
        let mut page = Page::new(false);
        for s in say::sentences(c, i) {
            page.wrapped(Ink::Plain, 0, 2, &safe(&s));
        }
        out.push_str(&page.finish());
    }
    let mut page = Page::new(false);
    for side in &c.sides {
        page.wrapped(
            Ink::Plain,
            0,
            2,
            &format!(
                "{}: {}{}{}{}.",
                safe(&side.label),
                number::plural(side.cycles, "cycle"),
                list(", kernel ", &side.kernels),
                list(
                    ", ",
                    &side.modes.iter().map(|m| wording::trust::state(*m)).collect::<Vec<_>>()
                ),
                match &side.machines[..] {
                    [one] => guest_of(one).map_or("".into(), |g| format!(", in {g}")),
                    _ => String::new(),
                },
            ),
        );
    }
    out.push_str(&page.finish());
    for i in 1..c.sides.len() {
        for (unit, counts) in UNITS {
            let rows = lines(c, i, counts);
            if !rows.is_empty() {
                out.push('\n');
                out.push_str(&plain_table(head(c, i, unit), rows));
            }
        }
        out.push_str(&super::account::accounts(&c.worth_reading(i)));
    }
    out.push_str(
        "Medians; change: second less first; *: beyond the 5 % level and 0.1 ms.\n\
         p: of the rows of a table together (Holm's correction), totals by themselves; so\n\
         a row whose own interval leaves out 0 may still be chance. exact: the cycles of\n\
         each side are all alike.\n",
    );
    if !files.is_empty() {
        out.push_str("For a mail to a kernel list: dormouse compare --lists\n");
    }
    out.push_str(&devices(c, NOTHING));
    let cautions = say::cautions(c);
    if !cautions.is_empty() {
        out.push_str("\nNotes:\n");
        for s in cautions {
            sentence(&mut out, &s);
        }
    }
    if files.is_empty() {
        return out;
    }
    let files: Vec<String> = files.iter().map(|f| wording::next::typed(f)).collect();
    let command = format!("report --compare {} -o report.html", files.join(" "));
    out + "\n" + &wording::next::next(&command)
}

/// Each half with its total, its phases and its gaps, so that rows add up;
/// then counts.
fn ordered<'a>(c: &'a Comparison<'_>) -> impl Iterator<Item = &'a Row> {
    use dormouse_base::phase::Direction::{Resume, Suspend};
    let place = |f: Figure| match f {
        Figure::Total(Suspend) => 0,
        Figure::Phase(p) if p.direction() == Suspend => 1,
        Figure::Gaps(Suspend) => 2,
        Figure::Total(Resume) => 3,
        Figure::Phase(_) => 4,
        Figure::Gaps(Resume) => 5,
        Figure::Count(_) => 6,
    };
    let mut rows: Vec<&Row> = c.rows.iter().collect();
    rows.sort_by_key(|r| place(r.figure));
    rows.into_iter()
}

/// The same for a bug report or a merge request.
pub fn markdown(c: &Comparison<'_>) -> String {
    let mut out = String::new();
    for i in 1..c.sides.len() {
        let (a, b) = (&c.sides[0].label, &c.sides[i].label);
        let _ = writeln!(out, "### {} compared with {}\n", escape(b), escape(a));
        for s in say::sentences(c, i) {
            let _ = writeln!(out, "- {}", escape(&s));
        }
        out.push('\n');
        for (unit, counts) in UNITS {
            let rows = lines(c, i, counts);
            if !rows.is_empty() {
                out.push_str(&table(ASCII_MARKDOWN, head(c, i, unit), rows));
                out.push('\n');
            }
        }
    }
    out.push_str(&devices(c, ASCII_MARKDOWN));
    for s in say::cautions(c) {
        let _ = writeln!(out, "\n> {}", escape(&s));
    }
    out
}

/// A table has one unit: times, then counts.
const UNITS: [(&str, bool); 2] = [("ms", false), ("count", true)];

/// Columns of a side's name.
const NARROW: usize = 11;

fn head(c: &Comparison<'_>, side: usize, unit: &str) -> Vec<String> {
    let begin = |s: &str| safe(s).chars().take(NARROW).collect::<String>();
    let (a, b) = (&c.sides[0].label, &c.sides[side].label);
    // Runs of pm-graph differ in the end of their names.
    let alike = begin(a) == begin(b);
    let name = |s: &str| if alike { fit_end(s, NARROW) } else { begin(s) };
    vec![
        unit.into(),
        name(&c.sides[0].label),
        name(&c.sides[side].label),
        "change".into(),
        "95 % interval".into(),
        "p".into(),
    ]
}

/// The lines of one table. Phases that are no news on either side stand
/// together, after the others of their half.
fn lines(c: &Comparison<'_>, side: usize, counts: bool) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut short: Vec<&Row> = Vec::new();
    let is_short = |r: &Row| {
        let k = &r.contrasts[side - 1];
        matches!(r.figure, Figure::Phase(_)) && k.median[0] < NEWS && k.median[1] < NEWS
    };
    for row in ordered(c).filter(|r| r.figure.is_time() != counts) {
        if is_short(row) {
            short.push(row);
            continue;
        }
        // Gaps are the last of their half.
        if matches!(row.figure, Figure::Gaps(_)) && !short.is_empty() {
            out.push(folded(&short, side));
            short.clear();
        }
        out.push(line(row, side));
    }
    out.extend(short.into_iter().map(|r| line(r, side)));
    out
}

/// Short rows as one, if there are several.
fn folded(short: &[&Row], side: usize) -> Vec<String> {
    if let [one] = short {
        return line(one, side);
    }
    let sum = |of: fn(&Contrast) -> f64| -> f64 {
        short.iter().map(|r| of(&r.contrasts[side - 1])).sum()
    };
    let (a, b) = (sum(|k| k.median[0]), sum(|k| k.median[1]));
    let name = number::plural(short.len(), "short row");
    vec![name, ms(a), ms(b), signed(ms(b - a)), String::new(), String::new()]
}

/// A difference with its sign, `=` if it is none.
fn signed(text: String) -> String {
    match text.as_str() {
        "0.00" | "-0.00" | "0" | "-0" => "=".into(),
        t if t.starts_with('-') => text,
        _ => format!("+{text}"),
    }
}

fn line(row: &Row, side: usize) -> Vec<String> {
    let c = &row.contrasts[side - 1];
    let time = row.figure.is_time();
    let value = |v: f64| if time { ms(v) } else { number(v) };
    let signed = |v: f64| signed(value(v));
    let d = c.difference;
    let change = match c.percent.filter(|p| signed(d) != "=" && p.abs() >= 0.05) {
        Some(p) => format!("{} ({})", signed(d), say::percent(p)),
        None => signed(d),
    };
    let interval = c.interval.map_or(String::new(), |(low, high)| {
        let (low, high) = (signed(low), signed(high));
        if low == high { low } else { format!("{low} .. {high}") }
    });
    let news = !time || d.abs() >= NEWS;
    let differs = matches!(c.verdict, Verdict::Faster | Verdict::Slower);
    let star = if differs && news { "*" } else { "" };
    // Without a spread there is no test, and a difference is what it is.
    let none = if differs { "exact" } else { "" };
    let p = c.welch.map_or(none.into(), |_| say::p_number(c.p_corrected));
    vec![
        figure(row.figure),
        value(c.median[0]),
        value(c.median[1]),
        change,
        interval,
        format!("{p}{star}"),
    ]
}

fn devices(c: &Comparison<'_>, preset: &str) -> String {
    if c.devices_tested == 0 {
        return String::new();
    }
    let mut out = format!(
        "\n{} of {} device times {} beyond the 5 % level (Holm's correction)",
        c.devices.len(),
        number::grouped(c.devices_tested as u64),
        if c.devices.len() == 1 { "differs" } else { "differ" }
    );
    if c.devices.is_empty() {
        return out + ".\n";
    }
    if c.devices.len() > DEVICES {
        let _ = write!(out, "; the {DEVICES} largest");
    }
    out.push_str(":\n\n");
    let head = ["device, ms", "phase", "before", "after", "change", "p"].map(String::from).to_vec();
    let body = c
        .devices
        .iter()
        .take(DEVICES)
        .map(|d| {
            let name = safe(d.figure.device.name);
            vec![
                if preset == NOTHING { name.chars().take(28).collect() } else { escape(&name) },
                figure(Figure::Phase(d.figure.phase)),
                ms(d.contrast.median[0]),
                ms(d.contrast.median[1]),
                ms(d.contrast.difference),
                say::p_number(d.contrast.p_corrected),
            ]
        })
        .collect();
    out + &table(preset, head, body)
}

fn figure(f: Figure) -> String {
    match f {
        Figure::Total(d) => format!("total {}", d.name()),
        Figure::Phase(p) => wording::phase(p),
        Figure::Gaps(_) => "gaps".into(),
        Figure::Count(n) => count(n).into(),
    }
}

/// What is counted, in words.
fn count(n: Count) -> &'static str {
    match n {
        Count::Callbacks => "callbacks that ended",
        Count::Failed => "callbacks that failed",
        Count::Workers => "worker threads used",
        Count::WorkersAtOnce => "workers busy at once",
        Count::Waits => "starts after a wait",
        Count::WorkersCreated => "workers created",
        Count::ParkedAtOnce => "workers parked at once",
        Count::BlockedWaits => "waits that blocked",
        Count::Wakeups => "wake-ups",
        Count::ContextSwitches => "context switches",
        Count::EarlyReturns => "early returns",
    }
}

fn ms(ns: f64) -> String {
    number::ms(Ns(ns.round() as i64))
}

fn number(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
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
