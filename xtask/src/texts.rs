//! Made-up logs in every dress and damage, read and judged, held against what is true of
//! them.

use anyhow::{Context, Result, bail};
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Finding, Level};
use dormouse_doctor::judge;
use dormouse_dress::{Attempt, Kernel, Story, Text, Trouble, drawn, story};
use dormouse_read::Options;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Printed durations have microseconds.
const PRINTED: Ns = Ns(1_000);

const USAGE: &str =
    "usage: xtask texts [-n NUMBER] [--seed FIRST] [--wrong] [--text SEED] [-o FILE]";

/// What was right, of what there was to say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    right: u32,
    of: u32,
}

impl Score {
    pub(crate) fn count(&mut self, right: bool) {
        self.right += u32::from(right);
        self.of += 1;
    }

    fn shown(self) -> String {
        match self.of {
            0 => "–".into(),
            of => format!("{} of {of}", self.right),
        }
    }
}

/// What is asked of a text.
pub(crate) const ASKED: [&str; 6] =
    ["attempts", "mode", "end", "figures", "trouble named", "no false finding"];

pub(crate) type Scores = [Score; ASKED.len()];

/// Scores by group and row.
pub(crate) type Table = BTreeMap<(&'static str, String), Scores>;

/// Adds what came of a text to its rows.
pub(crate) fn add(table: &mut Table, rows: Vec<(&'static str, String)>, scores: &Scores) {
    for row in rows {
        let sums = table.entry(row).or_default();
        for (sum, score) in sums.iter_mut().zip(scores) {
            sum.right += score.right;
            sum.of += score.of;
        }
    }
}

/// The rows of a text by its dress and its damages.
pub(crate) fn rows_of(text: &Text) -> Vec<(&'static str, String)> {
    let mut rows = vec![("2 dress", format!("{:?}", text.dress))];
    rows.extend(text.damages.iter().map(|d| ("3 damage", format!("{d:?}"))));
    if text.damages.is_empty() {
        rows.push(("3 damage", "none".into()));
    }
    rows
}

/// Prints how many of the made-up logs are read and judged right.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut number, mut first, mut wrong, mut file) = (2_000, 1, false, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().context(USAGE);
        match arg.as_str() {
            "-n" => number = value()?.parse()?,
            "--seed" => first = value()?.parse()?,
            "--wrong" => wrong = true,
            "--text" => {
                print!("{}", made(value()?.parse()?).1.bytes);
                return Ok(());
            }
            "-o" => file = Some(value()?.clone()),
            _ => bail!(USAGE),
        }
    }
    let mut table = Table::new();
    for seed in first..first + number {
        let (story, text) = made(seed);
        let (scores, said) = scored(&story, &text);
        if wrong && !said.is_empty() {
            eprintln!("seed {seed}, {:?} {:?}: {}", text.dress, text.damages, said.join("; "));
        }
        let mut rows = vec![("0 all", "all".to_string()), ("1 kernel", story.kernel.name().into())];
        rows.extend(rows_of(&text));
        add(&mut table, rows, &scores);
    }
    let page = page(&table, number, first);
    match file {
        Some(file) => std::fs::write(file, page)?,
        None => print!("{page}"),
    }
    Ok(())
}

/// The story of a seed, and as it was posted.
fn made(seed: u64) -> (Story, Text) {
    let mut random = Random::new(seed);
    let kernel = Kernel::ALL[random.below(3) as usize];
    let sleeps = 1 + random.below(3) as usize;
    let story = story(kernel, sleeps, &mut random);
    let text = drawn(&story.lines, &mut random);
    (story, text)
}

/// What of a text is right, and what is wrong in words. Of a text that lost lines nothing
/// is asked but what must never be said.
fn scored(story: &Story, text: &Text) -> (Scores, Vec<String>) {
    let mut scores = Scores::default();
    let mut wrong = Vec::new();
    let reading = dormouse_read::read_bytes("posted", text.bytes.as_bytes(), &Options::default());
    let cycles: Vec<&Cycle> = match &reading {
        Ok(r) => r.captures.iter().flat_map(|c| &c.cycles).collect(),
        Err(_) => Vec::new(),
    };
    let case = dormouse_read::doctor::read_bytes("posted", text.bytes.as_bytes()).case;
    let findings = judge(&case).findings;
    let mut ask = |what: usize, right: bool, words: String| {
        scores[what].count(right);
        if !right {
            wrong.push(format!("{}: {words}", ASKED[what]));
        }
    };
    if story.attempts.iter().all(|a| a.trouble == Trouble::None) {
        let bad: Vec<&str> =
            findings.iter().filter(|f| f.level == Level::Broken).map(|f| f.id).collect();
        ask(5, bad.is_empty(), bad.join(" "));
    }
    if !text.kept.iter().all(|k| *k) {
        return (scores, wrong);
    }
    ask(
        0,
        cycles.len() == story.attempts.len(),
        format!("{} of {}", cycles.len(), story.attempts.len()),
    );
    if cycles.len() == story.attempts.len() {
        for (a, c) in story.attempts.iter().zip(&cycles) {
            ask(1, mode(c) == a.mode, format!("{} for {}", mode(c), a.mode));
            ask(2, ended(a, c), format!("{:?} for {:?}", c.outcome, a.trouble));
            for (phase, true_one) in [(Phase::Suspend, a.suspend), (Phase::Resume, a.resume)] {
                let Some(length) = true_one else { continue };
                let span = c.phases.iter().find(|p| p.phase == phase);
                let read = span.map(|p| p.end - p.start);
                let near = read.is_some_and(|r| (r.0 - length.0).abs() <= PRINTED.0);
                ask(3, near, format!("{phase:?} {read:?} for {length:?}"));
            }
        }
    }
    for a in &story.attempts {
        let Some((id, name)) = culprit(&a.trouble) else { continue };
        let names =
            |f: &Finding| f.id.starts_with(id) && f.evidence.iter().any(|e| e.text.contains(name));
        let ids: Vec<&str> = findings.iter().map(|f| f.id).collect();
        ask(4, findings.iter().any(names), format!("{:?}: {}", a.trouble, ids.join(" ")));
    }
    (scores, wrong)
}

fn mode(c: &Cycle) -> &'static str {
    match c.mode {
        Mode::Deep => "deep",
        Mode::S2idle => "s2idle",
        _ => "another",
    }
}

fn ended(a: &Attempt, c: &Cycle) -> bool {
    match a.trouble {
        Trouble::None => c.outcome == Outcome::Slept,
        Trouble::Device { error, .. } => {
            matches!(c.outcome, Outcome::AbortedByDevice { errno, .. } if errno == error)
        }
        Trouble::Task { .. } => matches!(c.outcome, Outcome::FreezeFailed { .. }),
        Trouble::WakeupFreezing | Trouble::WakeupDevices { .. } => {
            c.outcome == Outcome::AbortedByWakeup
        }
    }
}

/// How the rules begin one of which must speak, and what it must show.
fn culprit(trouble: &Trouble) -> Option<(&'static str, &'static str)> {
    match *trouble {
        Trouble::Device { device, .. } => Some(("device-failed", device)),
        Trouble::Task { task } => Some(("freeze-", task)),
        Trouble::WakeupDevices { source } => Some(("abort-wakeup", source)),
        Trouble::None | Trouble::WakeupFreezing => None,
    }
}

fn page(table: &Table, number: u64, first: u64) -> String {
    let mut out = format!(
        "# Made-up logs as people post them\n\n`TEXTS={number} SEED={first} make prove SUBJECT=texts` prints this page: \
         {number} logs of one to three sleeps in the words of 6.1, 6.12 and 7.3, made by `crates/dress`, in drawn dresses and \
         with at most two kinds of damage, read and judged. Of a text that lost lines only false findings are counted. `--wrong` \
         lists what is wrong, `--text SEED` prints a text.\n\n"
    );
    out += &tables(table);
    out
}

/// A table for each group of rows.
pub(crate) fn tables(table: &Table) -> String {
    let mut out = String::new();
    let groups: std::collections::BTreeSet<&str> = table.keys().map(|(g, _)| *g).collect();
    for group in groups {
        let _ = writeln!(out, "| {} | {} |", &group[2..], ASKED.join(" | "));
        let _ = writeln!(out, "|---|{}", "---|".repeat(ASKED.len()));
        for ((_, name), scores) in table.iter().filter(|((g, _), _)| *g == group) {
            let cells: Vec<String> = scores.iter().map(|s| s.shown()).collect();
            let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len() + 1);
    out
}
