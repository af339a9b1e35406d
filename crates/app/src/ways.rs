//! The whole ways of two journals, or of the two halves of one, beside each other.

use crate::compare::halves;
use crate::doctor::Judged;
use crate::failure::Nothing;
use crate::faults::checked;
use anyhow::Result;
use dormouse_base::say::{plural, span};
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_doctor::border;
use dormouse_doctor::whole::beside::{LEAST, both};
use dormouse_doctor::whole::{Mark, WholeWay};
use dormouse_read::Given;
use dormouse_sleep::compare::contrast::{Verdict, contrasts};
use dormouse_words::comparison::ways::{Beside, Ways};

/// Draws of the bootstrap: the same inputs give the same answer.
const SEED: u64 = 1;

/// The whole ways of an input.
fn ways_of(given: &Given) -> Result<Vec<WholeWay>> {
    let judged: Vec<Judged> = match checked(given) {
        Ok(all) => all,
        Err(e) if e.is::<Nothing>() => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    Ok(judged.into_iter().flat_map(|j| j.report.ways).collect())
}

/// Two inputs; nothing if one of them tells of no sleep as a whole, or they share no row.
///
/// # Errors
/// If an input cannot be read.
pub fn of_two(given: [&Given; 2], labels: [&str; 2]) -> Result<Option<Ways>> {
    let [a, b] = given;
    let sides = [ways_of(a)?, ways_of(b)?];
    Ok(beside([&sides[0], &sides[1]], labels.map(str::to_owned)))
}

/// The halves of one text, which headings part (`Before:`, `After:`): the last two that have
/// sleeps behind them.
///
/// # Errors
/// If it cannot be read.
pub fn of_one(given: &Given) -> Result<Option<Ways>> {
    let [path] = given.paths() else { return Ok(None) };
    if path.is_dir() {
        return Ok(None);
    }
    let ways = ways_of(given)?;
    if ways.len() < 2 {
        return Ok(None);
    }
    let bytes = given.raw(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = (1_u64..).zip(text.lines());
    let headings: Vec<(u64, &str)> =
        lines.filter_map(|(n, l)| Some((n, border::heading(l)?))).collect();
    let half = |i: usize| -> Vec<WholeWay> {
        let end = headings.get(i + 1).map_or(u64::MAX, |h| h.0);
        ways.iter().filter(|w| (headings[i].0..end).contains(&w.line)).cloned().collect()
    };
    let halves = (0..headings.len()).map(|i| (headings[i].1, half(i)));
    let halves: Vec<_> = halves.filter(|h| !h.1.is_empty()).collect();
    let [.., (a, first), (b, then)] = &halves[..] else { return Ok(None) };
    Ok(beside([first, then], [a, b].map(|l| (*l).to_owned())))
}

/// Whether headings of one text part two measurements, or whole ways.
pub fn is_parted(given: &Given) -> bool {
    halves(given).is_ok_and(|h| h.is_some()) || of_one(given).is_ok_and(|w| w.is_some())
}

fn beside(sides: [&[WholeWay]; 2], labels: [String; 2]) -> Option<Ways> {
    let rows = both(sides);
    if rows.is_empty() {
        return None;
    }
    let float = |t: &Vec<i64>| t.iter().map(|n| *n as f64).collect();
    let samples: Vec<[Vec<f64>; 2]> =
        rows.iter().map(|r| [float(&r.took[0]), float(&r.took[1])]).collect();
    let said = contrasts(&samples, LEAST, &mut Random::new(SEED));
    let rows: Vec<Beside> = rows
        .into_iter()
        .zip(said)
        .map(|(r, contrast)| Beside { from: r.from, until: r.until, contrast })
        .collect();
    let coarse = sides.iter().flat_map(|s| s.iter()).any(WholeWay::is_coarse);
    let sleeps = sides.map(<[WholeWay]>::len);
    Some(Ways { answer: answer(&rows, &labels, sleeps), labels, sleeps, coarse, rows })
}

/// The answer in words: of the way since the return, what is beyond doubt.
fn answer(rows: &[Beside], labels: &[String; 2], sleeps: [usize; 2]) -> String {
    let tested = |b: &&Beside| b.contrast.verdict != Verdict::Untested;
    if !rows.iter().any(|b| tested(&b)) {
        return format!(
            "Figures of {} and {}: with fewer than {LEAST} sleeps on a side that show the same, no difference is claimed.",
            plural(sleeps[0], "sleep"),
            plural(sleeps[1], "sleep")
        );
    }
    let of = |b: &Beside| {
        let how = match b.contrast.verdict {
            Verdict::Slower => "later",
            Verdict::Faster => "earlier",
            _ => return None,
        };
        let [was, is] = b.contrast.median.map(|m| span(Ns(m as i64)));
        Some(format!("{} {how} ({was}, then {is})", b.until.name()))
    };
    let moved: Vec<String> = rows.iter().filter(|b| b.from == Mark::Back).filter_map(of).collect();
    match moved.is_empty() {
        true => "No difference since the kernel's return that these sleeps could show, at the 5 % level.".into(),
        false => format!(
            "In {}, beyond the 5 % level: {}.",
            labels[1],
            moved.join("; ")
        ),
    }
}
