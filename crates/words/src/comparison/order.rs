//! Starts that changed their order, and boards beside one another.

use super::grid::plain_table;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::comparison::device;
use crate::wording::number::{ms, ms_change, plural};
use crate::wording::reason;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::compare::contrast::Verdict;
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::order::{AT_LEAST, Begin, Moved};

/// How many starts are listed.
const LISTED: usize = 10;

/// Which callbacks start among others than before, and why on each side. `labels` are
/// the sides.
pub fn starts(moved: &[Moved<'_>], labels: [&str; 2]) -> String {
    if moved.is_empty() {
        return format!(
            "No callback starts both in another order and {AT_LEAST} earlier or later.\n"
        );
    }
    let mut page = Page::new(false);
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "{} in another order, by {AT_LEAST} or more; those that pass most:",
            match moved.len() {
                1 => "1 callback starts".into(),
                n => format!("{n} callbacks start"),
            }
        ),
    );
    for m in moved.iter().take(LISTED) {
        let who = device(&m.figure.device);
        let who = safe(&who);
        let [was, is] = m.begin;
        page.wrapped(
            Ink::Plain,
            0,
            2,
            &format!(
                "{who}, {}: {} -> {} ms ({}); {}.",
                m.figure.phase.name(),
                ms(was.at),
                ms(is.at),
                ms_change(was.at, is.at),
                passed(m)
            ),
        );
        for (label, begin) in labels.iter().zip([was, is]) {
            page.wrapped(Ink::Plain, 2, 4, &format!("{}: {}.", safe(label), why(&begin)));
        }
    }
    if let more @ 1.. = moved.len().saturating_sub(LISTED) {
        page.wrapped(Ink::Plain, 0, 2, &format!("and {more} more"));
    }
    page.finish()
}

fn passed(m: &Moved<'_>) -> String {
    let others = |n: u32| match n {
        1 => "1 other".to_owned(),
        n => format!("{n} others"),
    };
    match (m.passes, m.passed_by) {
        (n, 0) => format!("it now passes {}", others(n)),
        (0, 1) => "1 other now passes it".into(),
        (0, n) => format!("{} now pass it", others(n)),
        (n, k) => format!("it now passes {}, and is passed by {}", others(n), others(k)),
    }
}

fn why(begin: &Begin<'_>) -> String {
    match (begin.reason, begin.after) {
        (Some(r), Some(d)) if reason::names_device(r) => {
            format!("{} {}", reason::stem(r), safe(&device(&d)))
        }
        (Some(r), _) => reason::alone(r).into(),
        (None, _) => "nothing is said of it".into(),
    }
}

/// One board on two sides.
#[derive(Clone, Debug)]
pub struct OfBoard<'a> {
    /// Its name.
    pub board: &'a str,
    /// What was compared.
    pub comparison: &'a Comparison<'a>,
    /// Callbacks that start in another order.
    pub moved: usize,
}

/// A row a board: medians of both halves, and whether they differ.
pub fn boards(list: &[OfBoard<'_>], labels: [&str; 2]) -> String {
    let slower = list.iter().filter(|b| has(b.comparison, Verdict::Slower)).count();
    let faster = list.iter().filter(|b| has(b.comparison, Verdict::Faster)).count();
    let mut page = Page::new(false);
    let [a, b] = labels.map(safe);
    page.wrapped(
        Ink::Plain,
        0,
        2,
        &format!(
            "{b} beside {a} on {}: a total is longer beyond doubt on {slower}, shorter on {faster}.",
            plural(list.len(), "board")
        ),
    );
    let mut out = page.finish();
    out.push('\n');
    let head = ["board, ms", "suspend", "then", "change", "resume", "then", "change", "reordered"];
    let rows = list.iter().map(|b| {
        let mut row = vec![safe(b.board).into_owned()];
        for direction in [Direction::Suspend, Direction::Resume] {
            row.extend(total(b.comparison, direction));
        }
        row.push(b.moved.to_string());
        row
    });
    out.push_str(&plain_table(head.map(String::from).to_vec(), rows.collect()));
    out.push_str(
        "Medians over all cycles; *: beyond the 5 % level and 0.1 ms. reordered: callbacks\n\
         that start in another order, by 0.1 ms or more.\n",
    );
    out
}

fn has(c: &Comparison<'_>, verdict: Verdict) -> bool {
    let totals = c.rows.iter().filter(|r| matches!(r.figure, Figure::Total(_)));
    totals.flat_map(|r| &r.contrasts).any(|k| k.verdict == verdict)
}

fn total(c: &Comparison<'_>, direction: Direction) -> [String; 3] {
    let Some(row) = c.rows.iter().find(|r| r.figure == Figure::Total(direction)) else {
        return ["-", "-", "-"].map(String::from);
    };
    let contrast = &row.contrasts[0];
    let [was, is] = [contrast.median[0], contrast.median[1]].map(|t| Ns(t as i64));
    let sure = matches!(contrast.verdict, Verdict::Slower | Verdict::Faster);
    let change = ms_change(was, is) + if sure { "*" } else { "" };
    [ms(was), ms(is), change]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::phase::Phase;
    use dormouse_sleep::analyse::path::Reason;
    use dormouse_sleep::compare::figure::DeviceFigure;
    use dormouse_sleep::compare::seen::DeviceName;

    fn device(name: &str) -> DeviceName<'_> {
        DeviceName { name, parent: "", nth: 1 }
    }

    fn radio(passes: u32, passed_by: u32) -> Moved<'static> {
        let was = Begin {
            at: Ns::from_us(30_250),
            reason: Some(Reason::MainThread),
            after: Some(device("disk")),
        };
        let is = Begin { at: Ns::from_us(50), reason: Some(Reason::PhaseBegin), after: None };
        let figure = DeviceFigure { phase: Phase::Resume, device: device("radio") };
        Moved { figure, begin: [was, is], passes, passed_by }
    }

    #[test]
    fn a_start_says_where_it_was_where_it_is_and_why() {
        let text = starts(&[radio(3, 0)], ["plain", "mine"]);
        assert_eq!(
            text,
            "1 callback starts in another order, by 0.10 ms or more; those that pass most:\n\
             radio, resume: 30.25 -> 0.05 ms (-30.20); it now passes 3 others.\n  \
             plain: ran on the main thread after disk.\n  \
             mine: first callback of the phase.\n"
        );
        let said = |m| passed(&m);
        assert_eq!(said(radio(0, 1)), "1 other now passes it");
        assert_eq!(said(radio(0, 2)), "2 others now pass it");
        assert_eq!(said(radio(1, 2)), "it now passes 1 other, and is passed by 2 others");
    }

    #[test]
    fn a_long_list_ends_with_how_many_are_left() {
        let list = vec![radio(1, 0); LISTED + 2];
        assert!(starts(&list, ["a", "b"]).ends_with("and 2 more\n"));
        assert!(starts(&[], ["a", "b"]).starts_with("No callback starts"));
    }
}
