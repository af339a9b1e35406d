//! Guests with systemd in which `dormouse watch --install` keeps natural sleeps: what each costs,
//! what trouble loses, what is left of an installation, and what drains are said to be.

mod drain;
mod guest;
mod natural;
mod told;
mod trouble;

use anyhow::{Context, Result, anyhow, bail};
use guest::Guests;
use std::process::ExitCode;
use std::thread;
use told::Told;

const USAGE: &str =
    "write: nights DORMOUSE [--seed SEED] [--drains N] [--kernel SERIES] [--only PART]";

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (mut seed, mut drains, mut series, mut only) = (1, 200, "6.12".to_owned(), String::new());
    let (program, args) = args.split_first().context(USAGE)?;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().context(USAGE)?;
        match arg.as_str() {
            "--seed" => seed = value.parse()?,
            "--drains" => drains = value.parse()?,
            "--kernel" => series.clone_from(value),
            "--only" => only.clone_from(value),
            _ => bail!(USAGE),
        }
    }
    let guests = Guests::new(program, &series, seed)?;
    println!("# Natural sleeps\n");
    println!(
        "Guests of {} with Debian's systemd, seed {seed}; one instruction is one ns there.",
        guests.release()
    );
    let parts: [(&str, &(dyn Fn() -> Result<Told> + Sync)); 3] = [
        ("natural", &|| natural::told(&guests)),
        ("trouble", &|| trouble::told(&guests)),
        ("drain", &|| drain::told(&guests, seed, drains)),
    ];
    let parts = parts.into_iter().filter(|p| only.is_empty() || only == p.0);
    // A guest has one CPU, and its own time: several at once say the same.
    let all: Vec<_> = thread::scope(|s| {
        let begun: Vec<_> = parts.map(|(name, part)| (name, s.spawn(part))).collect();
        begun.into_iter().map(|(name, told)| (name, told.join())).collect()
    });
    let mut wrong = Vec::new();
    for (name, told) in all {
        let told = told.map_err(|_| anyhow!("a thread panicked"));
        let told = told.and_then(|t| t).with_context(|| format!("the guests of {name}"))?;
        println!("\n{}", told.text.trim_end());
        wrong.extend(told.wrong);
    }
    println!();
    for w in &wrong {
        println!("- Wrong: {w}");
    }
    if wrong.is_empty() {
        println!("All of it is as it should be.");
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
