//! Recordings against each other.

use crate::failure::{Nothing, Usage};
use anyhow::Result;
use dormouse_base::capture::Capture;
use dormouse_doctor::{MEASURED, border};
use dormouse_machine::recording::Recording;
use dormouse_read::{Given, Options, read_bytes};
pub use dormouse_sleep::analyse::answer::is_comparable;
use dormouse_sleep::analyse::{CycleView, explain};
use dormouse_sleep::compare::contrast::Verdict;
use dormouse_sleep::compare::excerpt::{Excerpts, excerpts};
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::order::{self, Moved};
use dormouse_sleep::compare::{Comparison, Refusal, Subject, compare};
use std::sync::Arc;

/// One side of a comparison: captures with what is said of their cycles.
#[derive(Debug)]
pub struct Side {
    label: String,
    captures: Vec<(Arc<Capture>, Vec<CycleView>)>,
}

impl Side {
    /// Captures that are in memory.
    pub fn new(label: &str, captures: Vec<Capture>) -> Side {
        Side::of(label, captures.into_iter().map(Arc::new))
    }

    /// A capture, a log, or a folder of either.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(label: &str, given: &Given) -> Result<Side> {
        Ok(Side::of(label, given.sleep()?.captures.iter().cloned()))
    }

    fn of(label: &str, captures: impl Iterator<Item = Arc<Capture>>) -> Side {
        let captures = captures.map(|c| {
            let views = explain(&c);
            (c, views)
        });
        Side { label: label.into(), captures: captures.collect() }
    }

    /// What was just recorded.
    ///
    /// # Errors
    /// If a recording cannot be read back.
    pub fn of_recordings(label: &str, recordings: &[Recording]) -> Result<Side> {
        let mut captures = Vec::new();
        for r in recordings {
            let bytes = dormouse_machine::file::encode(r, Vec::new())?;
            captures.extend(read_bytes(label, &bytes, &Options::default())?.captures);
        }
        Ok(Side::new(label, captures))
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its captures.
    pub fn captures(&self) -> impl Iterator<Item = &Capture> {
        self.captures.iter().map(|c| &*c.0)
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            label: self.label.clone(),
            captures: self.captures.iter().map(|(c, v)| (&**c, v.as_slice())).collect(),
        }
    }
}

/// Compares every further side with the first.
///
/// # Errors
/// [`Nothing`] if a side has no complete cycle, [`Usage`] if the sides slept in
/// different ways and `across_modes` does not insist.
pub fn sides(sides: &[Side], across_modes: bool) -> Result<Comparison<'_>> {
    let subjects: Vec<Subject<'_>> = sides.iter().map(Side::subject).collect();
    compare(&subjects, across_modes).map_err(refused)
}

/// Two sides that show no whole cycle: the callbacks and phases that both show. `None` if
/// either shows a whole one, or nothing stands in both.
pub fn parts<'a>(a: &'a Side, b: &'a Side) -> Option<Excerpts<'a>> {
    let whole = |s: &Side| s.captures().flat_map(|c| &c.cycles).any(is_comparable);
    if whole(a) && whole(b) { None } else { excerpts(&a.subject(), &b.subject()) }
}

/// Two measurements of one text that headings part (`Before:`, `After:`, `Linux 6.12:`), with
/// those as labels.
///
/// # Errors
/// If the text cannot be read.
pub fn halves(given: &Given) -> Result<Option<[Side; 2]>> {
    let captures = &given.sleep()?.captures;
    let between = |from: u64, to: u64| -> Vec<Capture> {
        let half = captures.iter().map(|c| {
            let mut c = Capture::clone(c);
            c.cycles.retain(|x| (from..to).contains(&x.lines.first));
            c
        });
        half.collect()
    };
    let told = given.said()?.iter().find_map(|t| {
        let findings = &t.case.report().findings;
        findings.iter().find(|f| f.id == MEASURED).map(|f| f.evidence.clone())
    });
    if let Some([.., a, b]) = told.as_deref() {
        let label = |text: &str| border::heading(text).unwrap_or(text).to_string();
        let side = |text: &str, from, to| Side::new(&label(text), between(from, to));
        // A change is told from what was before, whatever stands first.
        let (first, later) = (a.line.min(b.line), a.line.max(b.line));
        let of = |line: u64| if line == first { (0, later) } else { (later, u64::MAX) };
        let ((from, to), (since, end)) = (of(a.line), of(b.line));
        return Ok(Some([side(&a.text, from, to), side(&b.text, since, end)]));
    }
    let [path] = given.paths() else { return Ok(None) };
    let cycles = || captures.iter().flat_map(|c| &c.cycles);
    if path.is_dir() || cycles().filter(|c| is_comparable(c)).count() < 2 {
        return Ok(None);
    }
    let bytes = given.raw(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let named = |l: &str| border::heading(l).or_else(|| border::release(l)).map(str::to_owned);
    let lines = (1_u64..).zip(text.lines());
    let headings: Vec<(u64, String)> = lines.filter_map(|(n, l)| Some((n, named(l)?))).collect();
    let sides = headings.iter().enumerate().map(|(i, (from, label))| {
        let to = headings.get(i + 1).map_or(u64::MAX, |h| h.0);
        Side::new(label, between(*from, to))
    });
    let whole = |s: &Side| s.captures().flat_map(|c| &c.cycles).any(is_comparable);
    let mut sides: Vec<Side> = sides.filter(whole).collect();
    // Three measurements are no two.
    if sides.len() != 2 || sides[0].label.eq_ignore_ascii_case(&sides[1].label) {
        return Ok(None);
    }
    if border::is_later(&sides[0].label) && !border::is_later(&sides[1].label) {
        sides.swap(0, 1);
    }
    Ok(<[Side; 2]>::try_from(sides).ok())
}

/// Callbacks of two sides that start in another order; those that pass most first.
pub fn moved<'a>(a: &'a Side, b: &'a Side) -> Vec<Moved<'a>> {
    order::moved(&a.subject(), &b.subject())
}

/// A refusal as an error, with what to do.
pub fn refused(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::NothingToCompare { label } => Nothing(format!(
            "{label} has no complete cycle to compare; `dormouse show` says what is in it"
        ))
        .into(),
        Refusal::DifferentModes { modes } => Usage(format!(
            "the recordings slept in different ways ({}), so their phases do not mean the \
             same; record the same state, or insist with --across-modes",
            modes.join(", ").replace("pm_test:", "pm_test=")
        ))
        .into(),
    }
}

/// Whether a total of any side is slower than the first by more than `limit`
/// percent, and the difference is beyond doubt.
pub fn is_slower(c: &Comparison<'_>, limit: f64) -> bool {
    c.rows
        .iter()
        .filter(|r| matches!(r.figure, Figure::Total(_)))
        .flat_map(|r| &r.contrasts)
        .any(|k| k.verdict == Verdict::Slower && k.percent.is_some_and(|p| p > limit))
}

/// Labels without the folders that all of them share, nor the ending if all are
/// capture files.
pub fn short_labels(paths: &[&str]) -> Vec<String> {
    let split: Vec<Vec<&str>> =
        paths.iter().map(|p| p.trim_end_matches('/').split('/').collect()).collect();
    let shortest = split.iter().map(Vec::len).min().unwrap_or(0);
    let shared = (0..shortest.saturating_sub(1))
        .take_while(|&i| split.iter().all(|s| s[i] == split[0][i]))
        .count();
    let labels: Vec<String> = split.iter().map(|s| s[shared..].join("/")).collect();
    // Columns are narrow.
    let bare: Option<Vec<String>> =
        labels.iter().map(|l| Some(l.strip_suffix(".tar.gz")?.to_string())).collect();
    bare.unwrap_or(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lose_what_they_share() {
        assert_eq!(short_labels(&["a/b/old", "a/b/new/"]), ["old", "new"]);
        assert_eq!(short_labels(&["x.log", "y.log"]), ["x.log", "y.log"]);
        assert_eq!(short_labels(&["a/x", "a/x"]), ["x", "x"]);
        assert_eq!(short_labels(&["a/x.tar.gz", "a/y.tar.gz"]), ["x", "y"]);
        assert_eq!(short_labels(&["a/x.tar.gz", "a/y"]), ["x.tar.gz", "y"]);
    }
}
