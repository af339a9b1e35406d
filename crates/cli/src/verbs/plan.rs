//! `dormouse plan`: the smallest set of changes that meets a budget.

use crate::asked::{Asked, AskedArgs};
use crate::exit::Usage;
use crate::{machine, terminal};
use anyhow::{Context, Result};
use clap::Args;
use dormouse_board::{Board, parse_duration};
use dormouse_model::device::DeviceId;
use dormouse_model::time::Ns;
use dormouse_sleep::energy::{Usage as Energy, Worth};
use dormouse_sleep::plan::candidate::{Candidate, Kind, apply, candidates};
use dormouse_sleep::plan::essential::{Wishes, essential, withheld};
use dormouse_sleep::plan::handover;
use dormouse_sleep::plan::obstacle::obstacles;
use dormouse_sleep::plan::{Goal, Plan, plan, shortlist};
use dormouse_sleep::simulate::change::glob;
use dormouse_sleep::simulate::predict::hang;
use dormouse_write::decision::{energy, plan as written};
use dormouse_write::text::safe;
use std::fs;
use std::path::{Path, PathBuf};

/// Find the smallest set of changes that meets a budget.
///
/// Every set is judged by simulation, because savings do not add up. What the
/// root file system, consoles and wake sources need is not offered, unless you
/// say so.
#[derive(Args)]
pub struct PlanArgs {
    /// Budget of all device phases on the way up, such as 250ms.
    #[arg(long, value_name = "TIME", value_parser = time)]
    resume: Option<Ns>,
    /// Budget of all device phases on the way down.
    #[arg(long, value_name = "TIME", value_parser = time)]
    suspend: Option<Ns>,
    /// A device must be ready this long after the begin of the way up; may be
    /// repeated.
    #[arg(long, value_name = "PATTERN=TIME", value_parser = ready)]
    ready: Vec<(String, Ns)>,
    /// Matching devices (and what they need) must stay; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,
    /// Matching devices may go although they wake the machine or carry the
    /// console or the root file system; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    offer: Vec<String>,
    /// Kinds of change: remove, async, defer, speedup.
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind,
          default_value = "remove,async")]
    allow: Vec<Kind>,
    /// Most candidates; up to 12 the answer is exact, and beyond that where
    /// bounds exclude enough sets (20 as a rule).
    #[arg(long, value_name = "N", default_value_t = 12,
          value_parser = clap::value_parser!(u16).range(1..=200))]
    candidates: u16,
    /// What sleeping costs, as KEY=VALUE,… or a file of such lines: suspending,
    /// resuming, awake, asleep (600mW), awake_for, asleep_for (20s) or
    /// cycles_a_day, other (100ms), battery (7.4Wh). See docs/energy.md.
    #[arg(long, value_name = "FILE|KEY=VALUE,…")]
    energy: Option<String>,
    /// Write the files that make the changes into this folder
    /// (docs/handover.md).
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    asked: AskedArgs,
    /// Print JSON (docs/plan-json.md).
    #[arg(long)]
    json: bool,
}

/// How many devices are named that stand in the way, or are not offered.
const SHOWN: usize = 5;

fn time(text: &str) -> Result<Ns, String> {
    parse_duration(text)
}

fn ready(text: &str) -> Result<(String, Ns), String> {
    let (pattern, t) = text.rsplit_once('=').ok_or("write PATTERN=TIME, such as display=100ms")?;
    Ok((pattern.to_string(), parse_duration(t)?))
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::ALL
        .into_iter()
        .find(|k| k.name() == text)
        .ok_or_else(|| format!("`{text}` is not one of remove, async, defer, speedup"))
}

/// Runs the verb.
pub fn run(args: &PlanArgs) -> Result<()> {
    let usage = args.energy.as_deref().map(usage).transpose()?;
    let Asked { board, lab, by, guess, settings } = args.asked.open()?;
    let board = &board;
    let goal = goal(board, args)?;
    let marked = |patterns: &[String]| -> Result<Vec<bool>> {
        let mut mark = vec![false; board.devices.len()];
        for p in patterns {
            matching(board, p)?.iter().for_each(|d| mark[d.index()] = true);
        }
        Ok(mark)
    };
    let stay = essential(board, &Wishes { keep: marked(&args.keep)?, offer: marked(&args.offer)? });
    let most = usize::from(args.candidates);
    let long = candidates(board, &args.allow, &stay, &goal.directions(), 8 * most);
    let offered = shortlist(board, by.policy, &settings, &goal, &long, most)
        .map_err(|e| Usage(hang(board, &e)))?;
    // A bound on work, not on time, so that the answer is the same everywhere.
    // At most half a minute on one core, whatever the board.
    let limit = 30_000_000 / board.devices.len().max(100) as u64;
    let found = plan(board, by.policy, &settings, &goal, &offered, limit)
        .map_err(|e| Usage(hang(board, &e)))?;
    let worth = usage
        .map(|u| Worth::of(&u, &found).map_err(|e| Usage(format!("--energy: {e}"))))
        .transpose()?;
    let limits = written::Limits {
        in_the_way: if found.met {
            Vec::new()
        } else {
            obstacles(board, by, &settings, &goal, &found, SHOWN)
                .map_err(|e| Usage(hang(board, &e)))?
        },
        withheld: if args.allow.iter().any(|k| matches!(k, Kind::Remove | Kind::Defer)) {
            withheld(board, &stay, &goal.directions(), SHOWN)
        } else {
            Vec::new()
        },
    };
    let verified = match &lab {
        Some(lab) => {
            let changes: Vec<Candidate> = found.steps.iter().map(|s| s.candidate).collect();
            Some(lab.verify(board, &apply(board, &changes).0, &args.asked.profile)?)
        }
        None => None,
    };
    let mut text = if args.json {
        let mut value = written::json(board, &goal, &found, &limits);
        if let Some(worth) = &worth {
            value["energy"] = energy::json(worth);
        }
        if let Some(v) = &verified {
            value["verified"] = v.json.clone();
        }
        serde_json::to_string_pretty(&value)? + "\n"
    } else {
        let account = worth.map_or(String::new(), |w| energy::text(board, &found, &w));
        written::text(board, &goal, &found, &limits) + &account
    };
    if let Some(folder) = &args.output {
        let said = hand_over(folder, board, &found)?;
        if !args.json {
            text.push_str(&said);
        }
    }
    if !args.json {
        text.push_str(&machine::kernel_notes(by, guess));
    }
    if let (Some(v), false) = (verified, args.json) {
        text.push_str(&v.text);
    }
    terminal::print(&text)
}

/// Power figures and pattern of use, given in the argument or in a file.
fn usage(given: &str) -> Result<Energy> {
    if given.contains('=') {
        return Ok(Energy::parse(given).map_err(|e| Usage(format!("--energy: {e}")))?);
    }
    let text = fs::read_to_string(given).with_context(|| {
        format!("--energy: cannot read {given} (give a file, or KEY=VALUE,…: docs/energy.md)")
    })?;
    Ok(Energy::parse(&text).map_err(|e| Usage(format!("{given}: {e}")))?)
}

fn matching(board: &Board, pattern: &str) -> Result<Vec<DeviceId>> {
    let found: Vec<DeviceId> = board
        .graph
        .ids()
        .filter(|d| glob(pattern, board.names.get(board.graph.get(*d).name)))
        .collect();
    if found.is_empty() {
        return Err(
            Usage(format!("no device matches `{pattern}`; patterns match the whole name")).into()
        );
    }
    Ok(found)
}

fn goal(board: &Board, args: &PlanArgs) -> Result<Goal> {
    let mut goal = Goal { suspend: args.suspend, resume: args.resume, ready: Vec::new() };
    for (pattern, t) in &args.ready {
        goal.ready.extend(matching(board, pattern)?.into_iter().map(|d| (d, *t)));
    }
    if goal == Goal::default() {
        return Err(Usage(
            "no budget: give --resume 250ms, --suspend TIME or --ready PATTERN=TIME".into(),
        )
        .into());
    }
    Ok(goal)
}

/// Writes the files, and says which and what they leave to do by hand.
fn hand_over(folder: &Path, board: &Board, found: &Plan) -> Result<String> {
    let changes: Vec<Candidate> = found.steps.iter().map(|s| s.candidate).collect();
    let (files, out_of_reach) = handover::files(board, &changes);
    if changes.is_empty() {
        return Ok("\nNo file is written: nothing is to change.\n".into());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for f in &files {
        let path = folder.join(f.name);
        fs::write(&path, &f.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let names: Vec<&str> = files.iter().map(|f| f.name).collect();
    let mut text = match names.is_empty() {
        false => format!("\nWritten to {}: {}\n", folder.display(), names.join(", ")),
        true => "\nNo file is written.\n".to_string(),
    };
    for d in &out_of_reach {
        text.push_str(&format!(
            "No file takes away {}: the input names no device-tree node, no\nmodule and no driver \
             of it (of=, module=, driver= in a board file).\n",
            safe(board.names.get(board.graph.get(*d).name))
        ));
    }
    let by_hand = |k: Kind| matches!(k, Kind::Defer | Kind::SpeedUp);
    if changes.iter().any(|c| by_hand(c.kind)) {
        text.push_str(
            "What is to be deferred or sped up is work on the driver; no file does it.\n",
        );
    }
    Ok(text)
}
