//! `dormouse compare`: recordings against each other, with honest statistics.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::compare::{Side, halves, is_comparable, is_slower, parts, short_labels, sides};
use dormouse_app::failure::{NotMet, Usage};
use dormouse_app::nothing::nothing_in;
use dormouse_app::tables;
use dormouse_app::ways::{of_one, of_two};
use dormouse_read::Given;
use dormouse_words::comparison::ways::{self, Ways};
use dormouse_words::comparison::{self, account, lists, text};
use dormouse_words::document::{COMPARE, document};
use dormouse_words::wording::next::{next as next_line, word};
use dormouse_words::{idle, storage};
use serde_json::json;
use std::path::PathBuf;
use std::slice::from_ref;

/// Compare recordings: is there a difference, how sure, and why.
///
/// Every further input is compared with the first. An input is a capture, a
/// log, or a folder of either. Two traces of storage, or two tables of one kind
/// (turbostat, idle states, cyclictest, fio, NVMe power states, trans_stat,
/// pm_genpd_summary, regulator_summary, files of sysfs), of two inputs or of one mail, are put
/// beside each other, what changed most first.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse compare before.tar.gz after.tar.gz\n  dormouse compare --fail-if-slower 3% before.tar.gz after.tar.gz"
)]
pub(crate) struct CompareArgs {
    /// The recording to compare with, then those that are compared.
    #[arg(required = true, num_args = 1.., value_name = "INPUT")]
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
    let ranked = |s: &Side| s.captures().any(|c| !c.ranked.is_empty());
    let lists = read.as_ref().is_ok_and(|sides| sides.iter().any(ranked));
    if !lists && read.as_ref().map_or(true, |sides| sides.iter().all(none)) {
        let said = match (&each[..], &labels[..]) {
            ([a, b], [of_a, of_b]) => measurements([a, b], [of_a, of_b], args.json)?,
            ([one], _) => two_in(one, args.json)?,
            _ => None,
        };
        if let Some(said) = said {
            return terminal::print(&said);
        }
    }
    let ways = whole_ways(&each, &labels)?;
    let whole = |s: &Side| s.captures().flat_map(|c| &c.cycles).any(is_comparable);
    if let Some(ways) = &ways
        && args.fail_if_slower.is_none()
        && (each.len() == 1 || !read.as_ref().is_ok_and(|sides| sides.iter().all(whole)))
    {
        let next = next_line(&format!("show {}", word(&paths[paths.len() - 1])));
        return terminal::print(&match args.json {
            true => document(COMPARE, "ways", ways),
            false => ways::text(ways) + "\n" + &next,
        });
    }
    if let [one] = &args.inputs[..] {
        if let Some(two) = halves(&each[0])? {
            let [a, b] = &two;
            if let Some(found) = parts(a, b) {
                let labels = [a.label(), b.label()];
                return terminal::print(&match args.json {
                    true => document(COMPARE, "excerpts", account::excerpts_json(&found, labels)),
                    false => account::excerpts(&found, labels, &paths),
                });
            }
            if [a, b].into_iter().all(whole) {
                return recordings(&two, ways.as_ref(), args, &paths);
            }
        }
        if dormouse_app::idle::says_none(&each[0])? {
            return Err(Usage(format!(
                "{} says that a machine has no idle states, and nothing can be put beside that; \
                 dormouse show says more",
                one.display()
            ))
            .into());
        }
        return Err(Usage(format!(
            "{} has no two tables of one kind to compare; give the other recording too",
            one.display()
        ))
        .into());
    }
    let read = read?;
    // A limit is judged on totals, which excerpts have not.
    if let ([a, b], [of_a, of_b], None) = (&read[..], &labels[..], args.fail_if_slower)
        && let Some(found) = parts(a, b)
    {
        let labels = [of_a.as_str(), of_b.as_str()];
        return terminal::print(&match args.json {
            true => document(COMPARE, "excerpts", account::excerpts_json(&found, labels)),
            false => account::excerpts(&found, labels, &paths),
        });
    }
    for (given, side) in each.iter().zip(&read) {
        if none(side) {
            return Err(nothing_in(given, side.captures()));
        }
    }
    recordings(&read, ways.as_ref(), args, &paths)
}

/// Sides with whole cycles beside each other.
fn recordings(
    read: &[Side],
    ways: Option<&Ways>,
    args: &CompareArgs,
    paths: &[String],
) -> Result<()> {
    let comparison = sides(read, args.across_modes)?;
    let out = if args.json {
        let mut answer = comparison::json::json(&comparison);
        if let Some(ways) = ways {
            answer["ways"] = serde_json::to_value(ways)?;
        }
        document(COMPARE, "recordings", answer)
    } else if args.markdown {
        text::markdown(&comparison)
    } else if args.lists {
        lists::lists(&comparison)
    } else {
        let beside = ways.map_or(String::new(), |w| ways::text(w) + "\n");
        beside + &text::text(&comparison, paths)
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

/// The whole ways of two inputs, or of the halves of one, where both tell of some.
fn whole_ways(each: &[Given], labels: &[String]) -> Result<Option<Ways>> {
    match (each, labels) {
        ([a, b], [of_a, of_b]) => of_two([a, b], [of_a, of_b]),
        ([one], _) => of_one(one),
        _ => Ok(None),
    }
}

/// Two measurements of idle states, two traces of storage or two tables beside each other.
fn measurements(sides: [&Given; 2], labels: [&str; 2], json: bool) -> Result<Option<String>> {
    let said = |subject, text, found| said(&sides, json, subject, text, found);
    if let Ok(Some(found)) = dormouse_app::idle::compare(sides, labels) {
        return Ok(Some(said("idle", idle::beside(&found), serde_json::to_value(&found)?)));
    }
    if let Ok(Some(found)) = dormouse_app::idle::compare_late(sides, labels) {
        return Ok(Some(said("idle", idle::late_beside(&found), serde_json::to_value(&found)?)));
    }
    if let Ok(Some(found)) = dormouse_app::storage::compare(sides, labels) {
        return Ok(Some(said("storage", storage::beside(&found), serde_json::to_value(&found)?)));
    }
    let found = tables::compare(sides, labels)?;
    let tables = |b| Ok(said("tables", comparison::tables::tables(&b), serde_json::to_value(&b)?));
    found.map(tables).transpose()
}

/// The two measurements or tables of one input.
fn two_in(given: &Given, json: bool) -> Result<Option<String>> {
    let said = |subject, text, found| said(&[given], json, subject, text, found);
    if let Ok(Some(found)) = dormouse_app::idle::compare_one(given) {
        return Ok(Some(said("idle", idle::beside(&found), serde_json::to_value(&found)?)));
    }
    if let Ok(Some(found)) = dormouse_app::idle::compare_late_one(given) {
        return Ok(Some(said("idle", idle::late_beside(&found), serde_json::to_value(&found)?)));
    }
    if let Some(found) = tables::counters(given)? {
        let text = comparison::tables::steps(&found);
        return Ok(Some(said("tables", text, json!({ "steps": found }))));
    }
    let found = tables::compare_one(given)?;
    let tables = |b| Ok(said("tables", comparison::tables::tables(&b), serde_json::to_value(&b)?));
    found.map(tables).transpose()
}

/// The comparison as asked for, with the next command.
fn said(
    given: &[&Given],
    json: bool,
    subject: &'static str,
    text: String,
    found: serde_json::Value,
) -> String {
    if json {
        return document(COMPARE, subject, json!({ "beside": found }));
    }
    let typed: Vec<String> =
        given.iter().map(|g| word(&g.paths()[0].display().to_string())).collect();
    // What tables are of, `show` finds out itself.
    let only = if subject == "tables" { String::new() } else { format!("--only {subject} ") };
    text + "\n" + &next_line(&format!("show {only}{}", typed.join(" ")))
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
