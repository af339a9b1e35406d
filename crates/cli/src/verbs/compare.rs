//! `dormouse compare`: recordings against each other, with honest statistics.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::compare::{Side, is_slower, short_labels, sides};
use dormouse_app::failure::{NotMet, Usage};
use dormouse_app::nothing::nothing_in;
use dormouse_read::Given;
use dormouse_words::comparison::{self, lists, text};
use dormouse_words::document::{COMPARE, document};
use dormouse_words::wording::next::{next as next_line, word};
use dormouse_words::{idle, storage};
use serde_json::json;
use std::path::PathBuf;
use std::slice::from_ref;

/// Compare recordings: is there a difference, how sure, and why.
///
/// Every further input is compared with the first. An input is a capture, a
/// log, or a folder of either. Two tables of turbostat, idle traces, dumps of idle
/// states or traces of storage are put beside each other, what changed most first.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse compare before.tar.gz after.tar.gz\n  dormouse compare --fail-if-slower 3% before.tar.gz after.tar.gz"
)]
pub(crate) struct CompareArgs {
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

/// A share such as `3%`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    text.strip_suffix('%')
        .unwrap_or(text)
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|p| p.is_finite() && *p >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a percentage such as 3%"))
}

/// Runs the verb.
pub(crate) fn run(args: &CompareArgs, given: &Given) -> Result<()> {
    let paths: Vec<String> = args.inputs.iter().map(|p| p.display().to_string()).collect();
    let real = |p: &PathBuf| p.canonicalize().ok();
    if let [a, b] = &args.inputs[..]
        && real(a).is_some_and(|a| Some(a) == real(b))
    {
        return Err(Usage("both inputs are the same file".into()).into());
    }
    let labels = short_labels(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    let each: Vec<Given> = args.inputs.iter().map(|p| given.only(from_ref(p))).collect();
    let read: Result<Vec<Side>> = labels.iter().zip(&each).map(|(l, g)| Side::read(l, g)).collect();
    let none = |s: &Side| s.captures().all(|c| c.cycles.is_empty());
    // Without a cycle of sleep in either they may be measurements of something else.
    if read.as_ref().map_or(true, |sides| sides.iter().all(none))
        && let ([a, b], [of_a, of_b]) = (&each[..], &labels[..])
        && let Some(said) = measurements([a, b], [of_a, of_b], args.json)?
    {
        return terminal::print(&said);
    }
    let read = read?;
    for (given, side) in each.iter().zip(&read) {
        if none(side) {
            return Err(nothing_in(given, side.captures()));
        }
    }
    let comparison = sides(&read, args.across_modes)?;
    let out = if args.json {
        document(COMPARE, "recordings", comparison::json::json(&comparison))
    } else if args.markdown {
        text::markdown(&comparison)
    } else if args.lists {
        lists::lists(&comparison)
    } else {
        text::text(&comparison, &paths)
    };
    terminal::print(&out)?;
    match args.fail_if_slower {
        Some(limit) if is_slower(&comparison, limit) => Err(NotMet(format!(
            "a total is slower by more than {limit} %, beyond the 5 % level (--fail-if-slower)"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Two measurements of idle states, or two traces of storage, beside each other.
fn measurements(sides: [&Given; 2], labels: [&str; 2], json: bool) -> Result<Option<String>> {
    let typed = sides.map(|g| word(&g.paths()[0].display().to_string()));
    let said = |subject: &'static str, text: String, found: serde_json::Value| {
        if json {
            return document(COMPARE, subject, json!({ "beside": found }));
        }
        let next = format!("show --only {subject} {} {}", typed[0], typed[1]);
        text + "\n" + &next_line(&next)
    };
    if let Ok(Some(found)) = dormouse_app::idle::compare(sides, labels) {
        return Ok(Some(said("idle", idle::beside(&found), serde_json::to_value(&found)?)));
    }
    if let Ok(Some(found)) = dormouse_app::storage::compare(sides, labels) {
        return Ok(Some(said("storage", storage::beside(&found), serde_json::to_value(&found)?)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!(percent("3%"), Ok(3.0));
        assert_eq!(percent("2.5"), Ok(2.5));
        assert!(percent("-1%").is_err());
        assert!(percent("fast").is_err());
    }
}
