//! `dormouse tune`: the smallest set of changes that meets a budget.

use crate::asked::{AskedArgs, again, without};
use crate::number::number;
use crate::terminal;
use crate::verify::{Said, progress, said};
use anyhow::{Result, bail};
use clap::Args;
use dormouse_app::failure::{NotMet, NotReproduced, Nothing, Usage};
use dormouse_app::machine::{Machine, certain, measured};
use dormouse_app::plan::{
    Ask, Found, Handed, Help, Helped, asked_of, changed, energy as energy_of, hand_over, plan,
};
use dormouse_app::ready::{marks, ready as ready_as_whole};
use dormouse_base::gate::Verdict;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::{Board, parse_duration};
use dormouse_read::Given;
use dormouse_sleep::plan::candidate::Kind;
use dormouse_sleep::plan::{Goal, Plan};
use dormouse_words::decision::{back as written_back, energy, plan as written};
use dormouse_words::document::{TUNE, document};
use dormouse_words::fidelity;
use dormouse_words::text::safe;
use dormouse_words::wording::assumed::{section, sentences};
use dormouse_words::wording::next::{next, typed, word};
use std::path::{Path, PathBuf};

/// Find the smallest set of changes that meets a budget.
///
/// Every set is judged by simulation, because savings do not add up. What the
/// root file system, consoles and wake sources need is not offered, unless you
/// say so.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse tune recording.tar.gz --resume 250ms\n  dormouse tune recording.tar.gz --resume 250ms --keep usb1 -o files"
)]
pub(crate) struct PlanArgs {
    /// Budget of all of resume, such as 250ms; of a board file its device phases.
    #[arg(long, value_name = "TIME", value_parser = time)]
    resume: Option<Ns>,
    /// Budget of all of suspend but the time asleep.
    #[arg(long, value_name = "TIME", value_parser = time)]
    suspend: Option<Ns>,
    /// A device must be ready this long after the start of resume; it is never
    /// removed. Of a journal: what must be there so long after the kernel's return, as
    /// `check --ready` names it (net=2s). May be repeated.
    #[arg(long, value_name = "PATTERN=TIME", value_parser = ready)]
    ready: Vec<(String, Ns)>,
    /// Never remove matching devices or what they need; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,
    /// Allow to remove matching devices although they can wake the machine or
    /// carry the console or the root file system; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    offer: Vec<String>,
    /// Kinds of change: remove (a device and what depends on it), domain (every device
    /// of a power domain, so that no sleep switches it), async, defer
    /// (resume it after the rest), speedup (assume half its time).
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind,
          default_value = "remove,domain,async")]
    change: Vec<Kind>,
    /// Search at most N candidates. Up to 12, the result is proven minimal;
    /// often up to 20.
    #[arg(long, value_name = "N", default_value_t = 12,
          value_parser = number::<u16>(1, 200))]
    candidates: u16,
    /// What sleeping costs, as KEY=VALUE,… or a file of such lines: suspending,
    /// resuming, awake, asleep (600mW), awake_for, asleep_for (20s) or
    /// cycles_a_day, other (100ms), battery (7.4Wh). See docs/energy.md.
    #[arg(long, value_name = "FILE|KEY=VALUE,…")]
    energy: Option<String>,
    /// Write the files that make the changes into this folder
    /// (docs/handover.md).
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    asked: AskedArgs,
    /// Print JSON (docs/plan-json.md).
    #[arg(long)]
    json: bool,
}

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
        .ok_or_else(|| format!("`{text}` is not one of {}", Kind::ALL.map(Kind::name).join(", ")))
}

/// Runs the verb.
pub(crate) fn run(args: &PlanArgs, given: &Given) -> Result<()> {
    args.asked.check(false)?;
    if let Some(said) = back(args, given)? {
        return said;
    }
    let usage = args.energy.as_deref().map(energy_of).transpose()?;
    let Machine { board, lab, now, settings, fidelity: checked, assumptions, recorded } =
        args.asked.open(given).map_err(|e| no_way(args, e))?;
    let board = &board;
    measured(board, args.asked.force())?;
    let ask = Ask {
        resume: args.resume,
        suspend: args.suspend,
        ready: args.ready.clone(),
        keep: args.keep.clone(),
        offer: args.offer.clone(),
        kinds: args.change.clone(),
        candidates: args.candidates,
    };
    let Found { goal, plan: found, mut limits, worth, help } =
        plan(board, now.by, &settings, recorded.as_ref(), &ask, usage.as_ref(), &stage)?;
    let mut halves = Vec::new();
    // What the model leaves out is no part of what other machines say either.
    let slower = [goal.slower.suspend, goal.slower.resume];
    halves.extend(args.suspend.map(|t| (Direction::Suspend, Some(t - slower[0]))));
    if args.resume.is_some() || !args.ready.is_empty() {
        // When a device is ready no range of the whole half tells.
        let budget = args.resume.filter(|_| args.ready.is_empty());
        halves.push((Direction::Resume, budget.map(|t| t - slower[1])));
    }
    let (steps, how) = (asked_of(board, &found), (now.by, &settings));
    let force = args.asked.force();
    limits.open = certain(recorded.as_ref(), &checked, how, (&steps[..], &halves[..]), force)?;
    for (half, (low, high)) in &mut limits.open {
        let more = slower[usize::from(*half == Direction::Resume)];
        (*low, *high) = (*low + more, *high + more);
    }
    let verified = match &lab {
        Some(lab) => {
            let after = changed(board, &found);
            Some(said(&lab.verify(board, &after, &args.asked.profile, &progress)?)?)
        }
        None => None,
    };
    let handed = match &args.output {
        Some(folder) => Some((folder, hand_over(folder, board, &found)?)),
        None => None,
    };
    if args.json {
        let mut value = written::json(board, &goal, &found, &limits);
        if let Some(worth) = &worth {
            value["energy"] = energy::json(worth);
        }
        if let Some(v) = &verified {
            value["verified"] = v.json.clone();
        }
        value["fidelity"] = fidelity::json(&checked, board);
        value["assumptions"] = sentences(&assumptions).into();
        terminal::print(&document(TUNE, "plan", &value))?;
        return is_met(&found, verified.as_ref());
    }
    let mut text = written::text(board, &goal, &found, &limits);
    if let Some(worth) = &worth {
        text.push_str(&energy::text(board, &found, worth));
    }
    if let Some((folder, handed)) = handed {
        text.push_str(&handed_over(folder, board, handed.as_ref()));
    }
    text.push_str(&fidelity::text(&checked, board));
    text.push_str(&section(&assumptions));
    if let Some(v) = &verified {
        text.push_str(&v.text);
    }
    text.push_str(&next_command(args, board, (&goal, &found), help));
    terminal::print(&text)?;
    is_met(&found, verified.as_ref())
}

/// The answer for limits on the way back as a whole, if the input tells of one.
fn back(args: &PlanArgs, given: &Given) -> Result<Option<Result<()>>> {
    let asked = marks(&args.ready).filter(|a| !a.is_empty());
    let Some(asked) = asked else { return Ok(None) };
    let Some(found) = ready_as_whole(given, &asked)? else { return Ok(None) };
    let others = [
        ("--resume", args.resume.is_some()),
        ("--suspend", args.suspend.is_some()),
        ("--keep", !args.keep.is_empty()),
        ("--offer", !args.offer.is_empty()),
        ("--energy", args.energy.is_some()),
        ("-o", args.output.is_some()),
        ("--kernel", args.asked.kernel().is_some()),
        ("--verify", args.asked.verify.is_asked()),
    ];
    if let Some((option, _)) = others.into_iter().find(|o| o.1) {
        let text = format!(
            "{option} is for recordings, which are simulated; --ready {} of this input is \
             arithmetic on the rows of its sleeps",
            asked[0].mark.asked()
        );
        return Err(Usage(text).into());
    }
    if found.coarse && !args.asked.force() {
        return Err(NotReproduced(format!(
            "{} Stamps of whole seconds allow both: journalctl -o short-precise has exact ones; \
             --force shows the rows all the same",
            found.answer
        ))
        .into());
    }
    if args.json {
        terminal::print(&document(TUNE, "ready", &found))?;
    } else {
        let typed = typed(&args.asked.input().display().to_string());
        terminal::print(&written_back::text(&found, &typed, terminal::wants_colour()))?;
    }
    Ok(Some(match found.verdict {
        Verdict::Met => Ok(()),
        Verdict::Missed => Err(NotMet("no set of changes keeps the limit".into()).into()),
        Verdict::Unknown => Err(Nothing(
            "no verdict: the recorded rows do not tell whether the limit would be kept".into(),
        )
        .into()),
    }))
}

/// What is missing where a mark of the way back was asked for, and no text tells of one.
fn no_way(args: &PlanArgs, e: anyhow::Error) -> anyhow::Error {
    match marks(&args.ready) {
        Some(asked) if !asked.is_empty() && e.is::<Nothing>() => Nothing(format!(
            "{}: no line with a time tells both the kernel's return and {}; a journal does: \
             journalctl -b -o short-precise",
            args.asked.input().display(),
            asked[0].mark.asked()
        ))
        .into(),
        _ => e,
    }
}

/// Says on a terminal what takes time.
fn stage(what: &str) {
    if terminal::shows_progress() {
        remark!("dormouse: {what}");
    }
}

/// An error if the budget is not met, or the kernel did not confirm the plan.
fn is_met(found: &Plan, verified: Option<&Said>) -> Result<()> {
    if !found.met {
        bail!(NotMet("the budget is not met".into()));
    }
    verified.map_or(Ok(()), Said::must_hold)
}

/// What to ask next: the files of a plan, or for what was found to help.
fn next_command(
    args: &PlanArgs,
    board: &Board,
    (goal, found): (&Goal, &Plan),
    help: Option<Helped>,
) -> String {
    let again = again();
    let file = typed(&args.asked.input().display().to_string());
    let Some(help) = help.filter(|_| !found.met) else {
        // When a device is ready only a plan tells.
        if !found.met && !goal.ready.is_empty() {
            let (_, budgets) = written::closest(board, "", goal, &found.after);
            let command = with_budgets(again, &budgets);
            return format!("\n{}", next(&command.join(" ")));
        }
        let kernel = args.asked.kernel().map(|v| format!(" --kernel {}", word(v)));
        let kernel = kernel.unwrap_or_default();
        let command = match found.met {
            true if found.steps.is_empty() => format!("tune {file}{kernel}"),
            true if args.output.is_none() => format!("{} -o plan", again.join(" ")),
            // The files are there; whether the plan holds, a recording tells.
            true => "record --yes -o after.tar.gz".into(),
            false => format!("predict {file} --all-kernels"),
        };
        return format!("\n{}", next(&command));
    };
    let mut words = again;
    let mut options: Vec<String> = Vec::new();
    for way in &help.ways {
        let (option, value) = match *way {
            Help::Candidates(n) => ("--candidates", n.to_string()),
            Help::Offer(d) => ("--offer", word(board.names.get(board.graph.get(d).name))),
            Help::Kinds => {
                let kinds: Vec<&str> = Kind::of(board).map(Kind::name).collect();
                ("--change", kinds.join(","))
            }
        };
        // An offer is one more; of the others the last is what counts.
        if !matches!(way, Help::Offer(_)) {
            words = without(&words, option);
        }
        options.push(format!("{option} {value}"));
    }
    let options = options.join(" ");
    if help.met {
        return format!("\n{}", next(&format!("{} {options}", words.join(" "))));
    }
    let (said, budgets) = written::closest(board, &options, goal, &help.reached);
    let command = format!("{} {options}", with_budgets(words, &budgets).join(" "));
    format!("\n{said}\n\n{}", next(&command))
}

/// The words of a command with other budgets, each with its option.
fn with_budgets(mut words: Vec<String>, budgets: &[(&'static str, String)]) -> Vec<String> {
    for (option, _) in budgets {
        words = without(&words, option);
    }
    words.extend(budgets.iter().map(|(option, value)| format!("{option} {value}")));
    words
}

/// Which files were written, and what they leave to do by hand.
fn handed_over(folder: &Path, board: &Board, handed: Option<&Handed>) -> String {
    let Some(handed) = handed else {
        return "\nNo file is written: nothing is to change.\n".into();
    };
    let mut text = match handed.files.is_empty() {
        false => format!("\nWrote to {}: {}\n", folder.display(), handed.files.join(", ")),
        true => "\nNo file is written.\n".to_string(),
    };
    for d in &handed.out_of_reach {
        text.push_str(&format!(
            "No file removes {}: the input names no device-tree node, no\nmodule and no driver \
             of it (of=, module=, driver= in a board file).\n",
            safe(board.names.get(board.graph.get(*d).name))
        ));
    }
    if handed.by_hand {
        text.push_str(
            "What is to be deferred or sped up is work on the driver; no file does it.\n",
        );
    }
    text
}
