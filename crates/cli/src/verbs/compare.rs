//! `dormouse compare`: recordings against each other, with honest statistics.

use crate::exit::{Nothing, Slower, Usage};
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_read::{Input, Options, Reading, read};
use dormouse_sleep::analyse::{CycleView, explain};
use dormouse_sleep::compare::contrast::Verdict;
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::{Comparison, Refusal, Subject, compare};
use dormouse_write::comparison::{json, lists, text};
use std::path::PathBuf;

/// Compare recordings: is there a difference, how sure is it, and why.
///
/// Every further input is compared with the first. An input is a capture, a
/// log, or a folder of either.
#[derive(Args)]
pub struct CompareArgs {
    /// The recording to compare with, then those that are compared.
    #[arg(required = true, num_args = 2.., value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Print JSON (docs/compare-json.md).
    #[arg(long, conflicts_with_all = ["markdown", "lists"])]
    json: bool,
    /// Print Markdown.
    #[arg(long, conflicts_with = "lists")]
    markdown: bool,
    /// Print only the table used on the kernel lists.
    #[arg(long)]
    lists: bool,
    /// Exit with code 4 if a total is slower by more than this, beyond the 5 %
    /// level; for example 3%.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_if_slower: Option<f64>,
    /// Compare although the sides used different sleep states.
    #[arg(long)]
    across_modes: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    text.strip_suffix('%')
        .unwrap_or(text)
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|p| p.is_finite() && *p >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a percentage such as 3%"))
}

/// Runs the verb.
pub fn run(args: &CompareArgs) -> Result<()> {
    let mut readings: Vec<(String, Reading)> = Vec::new();
    for path in &args.inputs {
        let reading = read(&[Input::from_arg(path)], &Options::default())?;
        readings.push((path.display().to_string(), reading));
    }
    let labels = short_labels(readings.iter().map(|(label, _)| label.as_str()).collect());
    let views: Vec<Vec<Vec<CycleView>>> =
        readings.iter().map(|(_, r)| r.captures.iter().map(explain).collect()).collect();
    let subjects: Vec<Subject<'_>> = readings
        .iter()
        .zip(&views)
        .zip(&labels)
        .map(|(((_, reading), views), label)| Subject {
            label: label.clone(),
            captures: reading.captures.iter().zip(views).map(|(c, v)| (c, v.as_slice())).collect(),
        })
        .collect();
    let comparison = match compare(&subjects, args.across_modes) {
        Ok(c) => c,
        Err(refusal) => return Err(short_refusal(refusal)),
    };
    let out = if args.json {
        serde_json::to_string_pretty(&json::json(&comparison))? + "\n"
    } else if args.markdown {
        text::markdown(&comparison)
    } else if args.lists {
        lists::lists(&comparison)
    } else {
        text::text(&comparison)
    };
    terminal::print(&out)?;
    match args.fail_if_slower {
        Some(limit) if slower(&comparison, limit) => Err(Slower(format!(
            "a total is slower by more than {limit} %, beyond the 5 % level (--fail-if-slower)"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// A refusal as the error of a verb, with what to do.
pub fn short_refusal(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::NothingToCompare { label } => Nothing(format!(
            "{label} has no complete cycle to compare; `dormouse show` says what is in it"
        ))
        .into(),
        Refusal::DifferentModes { modes } => Usage(format!(
            "the recordings slept in different ways ({}), so their phases do not mean the \
             same; record the same state, or insist with --across-modes",
            modes.join(", ")
        ))
        .into(),
    }
}

/// Whether a total of any side is slower than the first by more than `limit`
/// percent, and the difference is beyond doubt.
fn slower(c: &Comparison<'_>, limit: f64) -> bool {
    c.rows
        .iter()
        .filter(|r| matches!(r.figure, Figure::Total(_)))
        .flat_map(|r| &r.contrasts)
        .any(|k| k.verdict == Verdict::Slower && k.percent().is_some_and(|p| p > limit))
}

/// Labels without the folders that all of them share, nor the ending if all are
/// capture files.
fn short_labels(paths: Vec<&str>) -> Vec<String> {
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
        assert_eq!(short_labels(vec!["a/b/old", "a/b/new/"]), ["old", "new"]);
        assert_eq!(short_labels(vec!["x.log", "y.log"]), ["x.log", "y.log"]);
        assert_eq!(short_labels(vec!["a/x", "a/x"]), ["x", "x"]);
        assert_eq!(short_labels(vec!["a/x.tar.gz", "a/y.tar.gz"]), ["x", "y"]);
        assert_eq!(short_labels(vec!["a/x.tar.gz", "a/y"]), ["x.tar.gz", "y"]);
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("3%"), Ok(3.0));
        assert_eq!(percent("2.5"), Ok(2.5));
        assert!(percent("-1%").is_err());
        assert!(percent("fast").is_err());
    }
}
