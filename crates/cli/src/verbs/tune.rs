//! `dormouse tune`: the async flags that make suspend and resume fastest.

use crate::apply::ApplyArgs;
use crate::asked::AskedArgs;
use crate::number::any;
use crate::terminal;
use crate::verify::{progress, said};
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::apply::{can_be_of_a_machine, is_of_this_machine};
use dormouse_app::failure::Usage;
use dormouse_app::machine::{Machine, certain};
use dormouse_app::tune::{Ask, Found, as_predicted, by_series, changes, rules, tune};
use dormouse_base::phase::Direction;
use dormouse_board::Board;
use dormouse_read::Given;
use dormouse_sleep::plan::handover::pm_async_at_start;
use dormouse_sleep::tune::Tuned;
use dormouse_sleep::tune::offer::offers;
use dormouse_sleep::tune::worth::too_small;
use dormouse_words::decision::apply::undo;
use dormouse_words::decision::domains;
use dormouse_words::decision::{series, tune as written};
use dormouse_words::document::{TUNE, document};
use dormouse_words::fidelity;
use dormouse_words::wording::assumed::{is_kernel_guessed, section, sentences};
use dormouse_words::wording::next::{next, typed};
use dormouse_words::wording::phase::kernel as kernel_name;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Choose the async flags that make suspend and resume fastest.
///
/// Careful by default: async is proposed only for devices without callbacks,
/// of a kind that is async already on this machine, or whose device links
/// declare what they need.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse tune recording.tar.gz\n  dormouse tune recording.tar.gz --kernel 7.3 -o 90-dormouse-async.rules"
)]
pub(crate) struct TuneArgs {
    /// Also propose async without proof: where nothing says that a device needs
    /// another.
    #[arg(long)]
    bold: bool,
    /// Only flags of matching devices may change (name, * and ?).
    #[arg(long = "among", value_name = "PATTERN")]
    only: Vec<String>,
    /// Flags of matching devices stay as they are.
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,
    /// At most N simulations.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = any)]
    simulations: u64,
    /// Seed of the search.
    #[arg(long, default_value_t = 1, value_parser = any)]
    seed: u64,
    /// Write the udev rule that makes it last.
    #[arg(short = 'o', long = "output", alias = "udev", value_name = "FILE")]
    udev: Option<PathBuf>,
    #[command(flatten)]
    asked: AskedArgs,
    /// Print JSON (docs/tune-json.md).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    apply: ApplyArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &TuneArgs, given: &Given) -> Result<()> {
    let on_this_machine = args.apply.is_asked(args.json)?;
    args.asked.check(on_this_machine)?;
    let machine = args.asked.open(given)?;
    let Machine { board, lab, now, settings, fidelity: checked, assumptions, recorded } = &machine;
    if on_this_machine {
        let file = args.asked.input();
        let other = recorded.as_ref().filter(|(c, _)| !is_of_this_machine(c));
        if let Some(guest) = other.and_then(|(c, _)| c.guest()) {
            return Err(Usage(format!(
                "--apply needs a recording of this machine; {} is of {guest}",
                file.display()
            ))
            .into());
        }
        can_be_of_a_machine(board, file)?;
    }
    let ask = Ask {
        bold: args.bold,
        only: args.only.clone(),
        deny: args.deny.clone(),
        simulations: args.simulations,
        seed: args.seed,
    };
    let found = tune(board, now.by, settings, &ask)?;
    let Found { tuned, bound } = as_predicted(found, &machine);
    let mut halves = vec![Direction::Suspend, Direction::Resume];
    halves.retain(|d| checked.has(*d));
    let flips = changes(board, &tuned);
    let halves: Vec<_> = halves.into_iter().map(|d| (d, None)).collect();
    let (how, what) = ((now.by, settings), (&flips[..], &halves[..]));
    certain(recorded.as_ref(), checked, how, what, args.asked.force())?;
    if let Some(path) = args.udev.as_ref().filter(|_| !on_this_machine) {
        write_rules(path, board, &tuned)?;
    }
    let verified = match lab {
        Some(lab) => {
            let after = tuned.apply(board);
            Some(said(&lab.verify(board, &after, &args.asked.profile, &progress)?)?)
        }
        None => None,
    };
    let (as_is, list) = offers(board, now.by, settings);
    if args.json {
        let mut value = written::json(board, &tuned, bound);
        value["domains"] = domains::json(board, &list);
        value["assumptions"] = sentences(assumptions).into();
        if let Some(v) = &verified {
            value["verified"] = v.json.clone();
        }
        value["fidelity"] = fidelity::json(checked, board);
        value["series"] = by_series(board, now.by, settings)
            .map_or(Value::Null, |s| series::json(tuned.before, s.cost, &s.assumed, checked));
        if on_this_machine
            && let Some(done) =
                args.apply.run(board, &tuned, args.asked.verify.keep_recordings())?
        {
            if let (true, Some(path)) = (done.kept, &args.udev) {
                write_rules(path, board, &tuned)?;
            }
            value["applied"] = done.json;
        }
        terminal::print(&document(TUNE, "flags", &value))?;
        return verified.map_or(Ok(()), |v| v.must_hold());
    }
    let guess = if is_kernel_guessed(assumptions) { "unknown, taken as " } else { "" };
    let kernel = format!("{guess}{}", kernel_name(now.by));
    let mut text = written::text(board, &tuned, bound, checked, &kernel);
    if let Some(s) = by_series(board, now.by, settings) {
        text.push_str(&series::text(tuned.before, s.cost, &s.assumed, checked));
    }
    text.push_str(&domains::text(board, as_is, &list));
    text.push_str(&fidelity::text(checked, board));
    text.push_str(&section(assumptions));
    if let Some(v) = &verified {
        text.push_str(&v.text);
    }
    if !on_this_machine {
        // What --bold would find is proposed only if it would not be refused.
        let boldly = || {
            let ask = Ask { bold: true, ..ask.clone() };
            let found = tune(board, now.by, settings, &ask).ok()?;
            let flips = changes(board, &as_predicted(found, &machine).tuned);
            let what = (&flips[..], &halves[..]);
            certain(recorded.as_ref(), checked, how, what, args.asked.force()).ok()
        };
        let worth_it = too_small(&tuned, checked).is_none();
        text.push_str(&next_command(args, &tuned, worth_it, &boldly));
    }
    terminal::print(&text)?;
    if on_this_machine
        && let Some(done) = args.apply.run(board, &tuned, args.asked.verify.keep_recordings())?
    {
        terminal::print(&done.text)?;
        if done.kept {
            terminal::print(&to_last(args.udev.as_deref(), board, &tuned)?)?;
            terminal::print(&format!("\n{}", undo()))?;
        } else {
            terminal::print(&format!("\n{}", args.apply.more_pairs()))?;
        }
    }
    verified.map_or(Ok(()), |v| v.must_hold())
}

/// Which file was written, and what to do next.
fn next_command<T>(
    args: &TuneArgs,
    tuned: &Tuned,
    worth_it: bool,
    boldly: &dyn Fn() -> Option<T>,
) -> String {
    let mut text = match &args.udev {
        Some(path) => format!("\nWrote {}.\n", path.display()),
        None => String::new(),
    };
    let again = crate::asked::again();
    let file = typed(&args.asked.input().display().to_string());
    let command = match (!worth_it, args.udev.is_some()) {
        // What was forbidden comes first: with it, nothing is left to be bold about.
        (true, _) if tuned.free_flags == 0 && tuned.kept > 0 => freely(&again),
        (true, _) if tuned.if_bold > 0 && boldly().is_some() => {
            format!("{} --bold", again.join(" "))
        }
        (true, _) => format!("predict {file} --all-kernels"),
        (false, false) => format!("{} -o 90-dormouse-async.rules", again.join(" ")),
        // The rule is written; whether it holds, a recording tells.
        (false, true) => "record --yes -o after.tar.gz".into(),
    };
    text.push_str(&format!("\n{}", next(&command)));
    text
}

/// The command line without its `--deny` and `--among`.
fn freely(again: &[String]) -> String {
    let mut out = Vec::new();
    let mut words = again.iter();
    while let Some(w) = words.next() {
        match w.as_str() {
            "--deny" | "--among" => {
                words.next();
            }
            w if w.starts_with("--deny=") || w.starts_with("--among=") => {}
            w => out.push(w),
        }
    }
    out.join(" ")
}

/// `/sys/power/pm_async` belongs to no device, so udev cannot set it.
const FOR_PM_ASYNC: &str = "For pm_async put this line into /etc/tmpfiles.d/dormouse.conf:";

/// What makes kept flags last beyond the next start: the rule in its file, or
/// as text.
fn to_last(path: Option<&Path>, board: &Board, tuned: &Tuned) -> Result<String> {
    let mut text = match path {
        Some(path) => {
            write_rules(path, board, tuned)?;
            format!("Wrote {}. It makes the flags last, and says how.\n", path.display())
        }
        None => match rules(board, tuned) {
            Some(text) => format!("\nA udev rule makes it last:\n\n{text}"),
            None => String::new(),
        },
    };
    if let Some(on) = tuned.pm_async {
        text.push_str(&format!("{FOR_PM_ASYNC}\n{}\n", pm_async_at_start(on)));
    }
    Ok(text)
}

fn write_rules(path: &Path, board: &Board, tuned: &Tuned) -> Result<()> {
    let mut text =
        rules(board, tuned).unwrap_or_else(|| "# dormouse: no flag needs to change.\n".to_string());
    if let Some(on) = tuned.pm_async {
        text.push_str(&format!("\n# {FOR_PM_ASYNC}\n# {}\n", pm_async_at_start(on)));
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
