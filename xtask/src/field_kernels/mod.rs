//! Logs of real kernels whose trouble is known, dressed and damaged, read and judged.
//!
//! | step | file |
//! |---|---|
//! | what each sleep meets, by seed | `plan` |
//! | guests that sleep, and what they send | `guest` |
//! | what is right of a text | `judge` |
//!
//! A plan is written before the guest boots, and what the write to /sys/power/state gave
//! and what steps took is measured in the guest: nothing of the truth is read from a log.

mod guest;
mod judge;
mod plan;

use crate::texts::{self, Table};
use anyhow::{Context, Result, bail};
use dormouse_base::stats::random::Random;
use dormouse_dress::{Text, drawn};
use guest::Slept;
use plan::Sleep;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const USAGE: &str = "use: field-kernels PROGRAMS SERIES,SERIES… [--seed FIRST] [--boots N] [--sleeps N] [--texts N] [--wrong] [--text NUMBER] [--keep FOLDER] [-o FILE]";

/// Boots guests, and prints how much of their logs is read right.
pub(super) fn run(args: &[String]) -> Result<()> {
    let [programs, series, rest @ ..] = args else { bail!(USAGE) };
    let (mut seed, mut boots, mut sleeps, mut number) = (1u64, 2u64, 30usize, 2_000u64);
    let (mut wrong, mut only, mut file) = (false, None, None);
    let mut keep = PathBuf::from("target/field-kernels");
    let mut args = rest.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().context(USAGE);
        match arg.as_str() {
            "--seed" => seed = value()?.parse()?,
            "--boots" => boots = value()?.parse()?,
            "--sleeps" => sleeps = value()?.parse()?,
            "--texts" => number = value()?.parse()?,
            "--wrong" => wrong = true,
            "--text" => only = Some(value()?.parse()?),
            "--keep" => keep = value()?.into(),
            "-o" => file = Some(value()?.clone()),
            _ => bail!(USAGE),
        }
    }
    std::fs::create_dir_all(&keep)?;
    let mut logs: Vec<(&str, Vec<Slept>)> = Vec::new();
    for series in series.split(',') {
        for boot in seed..seed + boots {
            let mut random = Random::new(boot);
            let plan = Sleep::plan(sleeps, &mut random);
            let kept = keep.join(format!("{series}-{boot}-{sleeps}"));
            let sent = match std::fs::read_to_string(&kept) {
                Ok(sent) => sent,
                Err(_) => {
                    let sent = guest::boot(programs, series, &plan)?;
                    std::fs::write(&kept, &sent)?;
                    sent
                }
            };
            logs.push((series, guest::slept(&plan, &sent)));
        }
    }
    if let Some(text) = only {
        print!("{}", text_of(&logs, seed, text).map_or(String::new(), |t| t.2.bytes));
        return Ok(());
    }
    let page = judged(&logs, number, seed, wrong);
    match file {
        Some(file) => std::fs::write(file, page)?,
        None => print!("{page}"),
    }
    Ok(())
}

/// Text number `i`: the kernel, the sleeps that it shows, and what was posted of them.
fn text_of<'a>(
    logs: &'a [(&'a str, Vec<Slept>)],
    seed: u64,
    i: u64,
) -> Option<(&'a str, &'a [Slept], Text)> {
    let mut random = Random::new(seed ^ (i << 20));
    let (series, boot) = &logs[random.below(logs.len() as u64) as usize];
    if boot.is_empty() {
        return None;
    }
    let first = random.below(boot.len() as u64) as usize;
    let most = [1, 1, 2, 3][random.below(4) as usize];
    let some = &boot[first..(first + most).min(boot.len())];
    let lines: Vec<_> = some.iter().flat_map(|s| s.lines.iter().cloned()).collect();
    let text = drawn(&lines, &mut random);
    Some((series, some, text))
}

/// Draws texts of the logs, and prints what is right of them.
fn judged(logs: &[(&str, Vec<Slept>)], number: u64, seed: u64, wrong: bool) -> String {
    let mut table = Table::new();
    let mut missed: BTreeMap<(String, String), u32> = BTreeMap::new();
    let whole: usize = logs.iter().map(|l| l.1.len()).sum();
    for i in 0..number {
        let Some((series, some, text)) = text_of(logs, seed, i) else { continue };
        let (scores, said) = judge::scored(some, &text);
        let mut rows = vec![("0 all", "all".into()), ("1 kernel", series.to_string())];
        rows.extend(texts::rows_of(&text));
        // What is asked of one sleep alone goes to the row of its trouble.
        if let [one] = some {
            let healthy = vec!["none".to_string()];
            let names: Vec<String> = one.sleep.troubles.iter().map(plan::Trouble::name).collect();
            let names = if names.is_empty() { healthy } else { names };
            rows.extend(names.into_iter().map(|n| ("4 trouble", n)));
        }
        texts::add(&mut table, rows, &scores);
        for (what, told) in said {
            if wrong {
                let at = some[0].id;
                eprintln!(
                    "{i}: {series}, sleep {at} of its boot, {:?} {:?}: {what}: {told}",
                    text.dress, text.damages
                );
            }
            *missed.entry((what, told)).or_default() += 1;
        }
    }
    let mut page = format!(
        "# Logs of real kernels whose trouble is known\n\n{whole} sleeps of guests, {number} texts of them in drawn dresses and damages, seed {seed}. Of a text that lost lines only false findings are counted.\n\n{}",
        texts::tables(&table)
    );
    let mut list: Vec<_> = missed.into_iter().collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    if !list.is_empty() {
        page += "\n| what was there | what was told | texts |\n|---|---|---|\n";
    }
    for ((what, told), texts) in list.iter().take(40) {
        let _ = writeln!(page, "| {what} | {told} | {texts} |");
    }
    page
}
