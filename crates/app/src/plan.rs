//! The smallest set of changes that meets a budget.

use crate::failure::Usage;
use crate::machine::matching;
use anyhow::{Context, Result};
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::chosen_cycles;
use dormouse_sleep::energy::{Usage as Energy, Worth};
use dormouse_sleep::evidence::Machine as Shown;
use dormouse_sleep::plan::candidate::{Candidate, Kind, apply, candidates};
use dormouse_sleep::plan::essential::{Stays, Wishes, essential, withheld};
use dormouse_sleep::plan::handover;
use dormouse_sleep::plan::obstacle::obstacles;
use dormouse_sleep::plan::recorded::Judged;
use dormouse_sleep::plan::{
    Goal, Plan, Reached, WORTH_MAKING, lesser, plan as search, shortlist, unchanged,
};
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::change::{Change, Ratio};
use dormouse_sleep::simulate::predict::{Scheduler, hang};
use dormouse_words::decision::plan::{Limits, domain_of};
use std::fs;
use std::path::Path;

/// A budget and what may change to meet it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Budget of all device phases of resume.
    pub resume: Option<Ns>,
    /// Budget of all device phases of suspend.
    pub suspend: Option<Ns>,
    /// Devices that must be ready so long after the start of resume.
    pub ready: Vec<(String, Ns)>,
    /// Devices that must stay, with what they need.
    pub keep: Vec<String>,
    /// Devices that may be removed although they wake the machine or carry the
    /// console or the root file system.
    pub offer: Vec<String>,
    /// Kinds of change.
    pub kinds: Vec<Kind>,
    /// Most candidates.
    pub candidates: u16,
}

/// A plan, what it does not reach, and what it is worth.
#[derive(Debug)]
pub struct Found {
    /// The budget.
    pub goal: Goal,
    /// The changes.
    pub plan: Plan,
    /// What stands in the way, and what was not offered.
    pub limits: Limits,
    /// In a charge of the battery, if asked.
    pub worth: Option<Worth>,
    /// If the budget is not met: what else to allow. It was searched, and it
    /// meets the budget or comes closer.
    pub help: Option<Helped>,
}

/// What to allow, and how far it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helped {
    /// What to allow, all of it together.
    pub ways: Vec<Help>,
    /// Whether the budget is met then.
    pub met: bool,
    /// What is reached then.
    pub reached: Reached,
}

/// What a plan may be allowed to do on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// Search so many candidates.
    Candidates(u16),
    /// Remove this device too, which wakes the machine.
    Offer(DeviceId),
    /// Every kind of change.
    Kinds,
}

/// How many devices are named that stand in the way, or are not offered.
const SHOWN: usize = 5;

/// Simulations times devices of one plan: a bound on work, not on time, so that the
/// answer is the same everywhere. With what is asked for help at most 10 s on one core.
const WORK: u64 = 4_000_000;

/// The part of it that each way which may help gets, for a glance.
const GLANCE: u64 = 20;

/// Power figures and pattern of use, given in the argument or in a file.
///
/// # Errors
/// If the file cannot be read, or a figure is none.
pub fn energy(given: &str) -> Result<Energy> {
    if given.contains('=') {
        return Ok(Energy::parse(given).map_err(|e| Usage(format!("--energy: {e}")))?);
    }
    let text = fs::read_to_string(given).with_context(|| {
        format!("--energy: cannot read {given} (give a file, or KEY=VALUE,…: docs/energy.md)")
    })?;
    Ok(Energy::parse(&text).map_err(|e| Usage(format!("{given}: {e}")))?)
}

/// Finds the changes of `board`. `energy` is what [`energy`] made of the
/// request, before anything was computed.
///
/// # Errors
/// [`Usage`]: no budget, a pattern that no device matches, or a board without a
/// schedule.
pub fn plan(
    board: &Board,
    by: Scheduler,
    settings: &Settings,
    recorded: Option<&(Capture, Shown)>,
    ask: &Ask,
    energy: Option<&Energy>,
    tell: &dyn Fn(&str),
) -> Result<Found> {
    let mut goal = goal(board, ask)?;
    let judged = recorded.map(|r| judged(board, settings, r, &goal)).transpose()?.flatten();
    goal.slower = judged.as_ref().map(Judged::slower).unwrap_or_default();
    tell("looking for the smallest set of changes");
    let Searched { stay, plan, cut } = searched(board, by, settings, ask, &goal, WORK)?;
    let hangs = |e| Usage(hang(board, &e));
    let worth = energy
        .map(|u| Worth::of(u, &plan).map_err(|e| Usage(format!("--energy: {e}"))))
        .transpose()?;
    let takes_away =
        ask.kinds.iter().any(|k| matches!(k, Kind::Remove | Kind::Domain | Kind::Defer));
    let mut left_out = if takes_away {
        withheld(board, &stay, &goal.directions(), board.devices.len())
    } else {
        Vec::new()
    };
    // What was asked to stay needs no word, and no offer would free it.
    let changed = |d: DeviceId| plan.steps.iter().any(|s| s.candidate.device == d);
    // Nor is one worth a line that takes less than a hundredth of what is asked about.
    let whole = plan.before.counted(&goal);
    let kept = |d: DeviceId| stay[d.index()] == Some(Stays::Kept);
    let asked = |d, why| kept(d) || matches!(why, Stays::NeededBy(by) if kept(by));
    left_out.retain(|&(d, why, t)| !asked(d, why) && !changed(d) && t.is_share_of(1, whole));
    let every_kind = Kind::of(board).all(|k| ask.kinds.contains(&k));
    let help = if plan.met {
        None
    } else {
        let offers = left_out.iter().filter(|w| w.1 == Stays::WakeSource).take(SHOWN);
        let more = ask.candidates.saturating_mul(3).saturating_add(4).min(MOST);
        let mut ways: Vec<Help> = Vec::new();
        ways.extend((cut > 0 && more > ask.candidates).then_some(Help::Candidates(more)));
        ways.extend(offers.map(|w| Help::Offer(w.0)));
        ways.extend((!every_kind).then_some(Help::Kinds));
        tell("looking for what else to allow");
        helpful(board, by, settings, ask, &goal, &plan, &ways)?
    };
    let limits = Limits {
        in_the_way: if plan.met {
            Vec::new()
        } else {
            obstacles(board, by, settings, &goal, &plan, SHOWN).map_err(hangs)?
        },
        all_searched: cut == 0 && every_kind && left_out.is_empty(),
        withheld: left_out.into_iter().take(SHOWN).collect(),
        lesser: lesser(board, by.policy, settings, &goal, &plan).map_err(hangs)?,
        open: Vec::new(),
        judged,
    };
    Ok(Found { goal, plan, limits, worth, help })
}

/// The recording beside what the model says of it, by the rules of the kernel that was
/// recorded.
fn judged(
    board: &Board,
    settings: &Settings,
    (capture, shown): &(Capture, Shown),
    goal: &Goal,
) -> Result<Option<Judged>> {
    let model = unchanged(board, shown.scheduler.policy, settings, goal)
        .map_err(|e| Usage(hang(board, &e)))?;
    Ok(Judged::of(board, &chosen_cycles(capture), &shown.derived.place, goal, model))
}

/// Most candidates that may be asked for.
const MOST: u16 = 200;

/// One search.
struct Searched {
    /// Why devices stay.
    stay: Vec<Option<Stays>>,
    /// What was found.
    plan: Plan,
    /// Candidates that were cut off before the search.
    cut: usize,
}

/// Searches what `ask` allows.
fn searched(
    board: &Board,
    by: Scheduler,
    settings: &Settings,
    ask: &Ask,
    goal: &Goal,
    work: u64,
) -> Result<Searched> {
    let marked = |patterns: &[String]| -> Result<Vec<bool>> {
        let mut mark = vec![false; board.devices.len()];
        for p in patterns {
            matching(board, p)?.iter().for_each(|d| mark[d.index()] = true);
        }
        Ok(mark)
    };
    let mut keep = marked(&ask.keep)?;
    // What must be ready must be there.
    goal.ready.iter().for_each(|(d, _)| keep[d.index()] = true);
    let stay = essential(board, &Wishes { keep, offer: marked(&ask.offer)? });
    let hangs = |e| Usage(hang(board, &e));
    let most = usize::from(ask.candidates);
    let all = candidates(board, &ask.kinds, &stay, &goal.directions(), usize::MAX);
    // A third of the work chooses what is offered.
    let simulations = work / board.devices.len().max(1) as u64;
    let third = usize::try_from(simulations / 3).unwrap_or(usize::MAX);
    let long = &all[..all.len().min((8 * most).min(third.max(most)))];
    let offered = shortlist(board, by.policy, settings, goal, long, most).map_err(hangs)?;
    // A set that is looked at or excluded costs up to two simulations.
    let limit = (simulations - simulations / 3) / 2;
    let plan = search(board, by.policy, settings, goal, &offered, limit).map_err(hangs)?;
    Ok(Searched { stay, plan, cut: all.len() - offered.len() })
}

/// Of `ways`, the first that meets the budget, or all of them if only that does;
/// else what comes closest, if that is closer than `plan` by more than a hair.
fn helpful(
    board: &Board,
    by: Scheduler,
    settings: &Settings,
    ask: &Ask,
    goal: &Goal,
    plan: &Plan,
    ways: &[Help],
) -> Result<Option<Helped>> {
    let missing = plan.after.excess(goal);
    let mut best = (missing - missing / WORTH_MAKING, None);
    let one = ways.iter().map(|way| vec![*way]);
    for ways in one.chain((ways.len() > 1).then(|| ways.to_vec())) {
        let mut wider = ask.clone();
        for way in &ways {
            match *way {
                Help::Candidates(n) => wider.candidates = n,
                Help::Offer(d) => wider.offer.push(board.names.get(board.graph.get(d).name).into()),
                Help::Kinds => wider.kinds = Kind::of(board).collect(),
            }
        }
        let wider = searched(board, by, settings, &wider, goal, WORK / GLANCE)?.plan;
        let helped = Helped { ways, met: wider.met, reached: wider.after };
        if helped.met {
            return Ok(Some(helped));
        }
        let over = helped.reached.excess(goal);
        if over < best.0 {
            best = (over, Some(helped));
        }
    }
    Ok(best.1)
}

fn goal(board: &Board, ask: &Ask) -> Result<Goal> {
    let mut goal = Goal { suspend: ask.suspend, resume: ask.resume, ..Goal::default() };
    for (pattern, t) in &ask.ready {
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

/// The changes of a plan.
pub fn changes(plan: &Plan) -> Vec<Candidate> {
    plan.steps.iter().map(|s| s.candidate).collect()
}

/// The board with the changes of a plan.
pub fn changed(board: &Board, plan: &Plan) -> Board {
    apply(board, &changes(plan)).0
}

/// What [`hand_over`] wrote and what no file does.
#[derive(Debug)]
pub struct Handed {
    /// Names of the files in the folder.
    pub files: Vec<&'static str>,
    /// Devices that no file can remove.
    pub out_of_reach: Vec<DeviceId>,
    /// Some changes are work on a driver.
    pub by_hand: bool,
}

/// Writes the files that make the changes into `folder`. `None` if nothing is
/// to change.
///
/// # Errors
/// If they cannot be written.
pub fn hand_over(folder: &Path, board: &Board, plan: &Plan) -> Result<Option<Handed>> {
    let changes = changes(plan);
    if changes.is_empty() {
        return Ok(None);
    }
    let (files, out_of_reach) = handover::files(board, &changes);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for f in &files {
        let path = folder.join(f.name);
        fs::write(&path, &f.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let by_hand = |c: &Candidate| matches!(c.kind, Kind::Defer | Kind::SpeedUp);
    Ok(Some(Handed {
        files: files.iter().map(|f| f.name).collect(),
        out_of_reach,
        by_hand: changes.iter().any(by_hand),
    }))
}

/// The steps as changes that a prediction can be asked about, by name. What is
/// deferred takes no time on the way up, nor here on the way down.
pub fn asked_of(board: &Board, found: &Plan) -> Vec<Change> {
    let change = |c: Candidate| {
        let name = board.names.get(board.graph.get(c.device).name).to_owned();
        match c.kind {
            Kind::Remove => Change::Without(name),
            Kind::Domain => Change::Without(format!("domain:{}", domain_of(board, c.device))),
            Kind::Async => Change::Async(name),
            Kind::Defer => Change::Scale(name, Ratio { part: 0, whole: 1 }),
            Kind::SpeedUp => Change::Scale(name, Ratio { part: 1, whole: 2 }),
        }
    };
    found.steps.iter().map(|s| change(s.candidate)).collect()
}
