//! The machine that a verb is asked about: a board file, or what is recorded of
//! a machine; with the kernel it runs and what that kernel's machinery costs.

use crate::failure::{NotReproduced, Nothing, Usage};
use crate::kernels::{Now, scheduler};
use crate::nothing::{nothing_in, nothing_of};
use crate::subject::board_text;
use crate::verify::{How, Lab};
use anyhow::{Result, anyhow, bail};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Mode, Outcome};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::{Derived, chosen_cycles};
use dormouse_board::trips::trips;
use dormouse_board::{Board, Times};
use dormouse_read::Given;
use dormouse_sleep::analyse::rows::Rows;
use dormouse_sleep::analyse::spread::Spread;
use dormouse_sleep::evidence::{self, Fidelity, Machine as Shown, generation};
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::change::{Change, glob};
use dormouse_sleep::simulate::predict::{Scheduler, hang, outlook};
use dormouse_words::fidelity::{reasons, refusal};
use dormouse_words::text::safe;
use dormouse_words::wording::doubt::{doubt as doubts, open as open_half};
use dormouse_words::wording::number::names;
use dormouse_words::wording::trust::emulated;
use std::sync::Arc;

/// The machine that an input shows.
#[derive(Debug)]
pub struct Loaded {
    /// Its board with its cycles.
    pub derived: Derived,
    /// The kernel release that the input names; empty if it names none.
    pub release: String,
    /// The rules that the times of a recording support which names no kernel.
    pub shown: Option<Scheduler>,
    /// What was recorded, and the machine made of it; `None` for a board file.
    recorded: Option<(Capture, Shown)>,
}

impl Loaded {
    /// What was recorded, and the machine made of it; `None` for a board file.
    pub fn recorded(&self) -> Option<(&Capture, &Shown)> {
        self.recorded.as_ref().map(|(capture, shown)| (capture, shown))
    }

    /// What suspend and resume took as a whole, with firmware, CPUs and tasks: the
    /// medians that `show` prints of the same cycles, and whether the log has a hole
    /// there, so that they are at least so long. Zero where that is not known.
    pub fn whole(&self) -> [(Ns, bool); 2] {
        let Some((capture, _)) = &self.recorded else { return Default::default() };
        let cycles = chosen_cycles(capture);
        if cycles.iter().any(|c| c.outcome != Outcome::Slept || c.mode == Mode::Disk) {
            return Default::default();
        }
        let rows: Vec<Rows> = cycles.iter().map(|c| Rows::of(c)).collect();
        [Direction::Suspend, Direction::Resume].map(|d| {
            let mut times: Vec<Ns> = rows.iter().map(|r| r.counted(d)).collect();
            let least = cycles.iter().any(|c| c.has_hole(d));
            (Spread::of(&mut times).unwrap_or_default().median, least)
        })
    }

    /// The recording simulated as it was; empty for a board file.
    pub fn fidelity(&self, settings: &Settings) -> Fidelity {
        let recorded = self.recorded.as_ref();
        recorded.map_or(Fidelity::default(), |(capture, shown)| shown.check(capture, settings))
    }
}

/// Reads a machine; a recording by the rules of the kernel `asked` for, if
/// there is one. Of hibernations the first trip.
///
/// # Errors
/// If the input cannot be read, holds no cycle, or holds several machines; if
/// the kernel asked for is not known.
pub fn load(given: &Given, asked: Option<&str>) -> Result<Loaded> {
    // There is at least one.
    Ok(load_trips(given, asked)?.swap_remove(0))
}

/// The same for every trip that the recording shows: of a hibernation those that
/// make the image, power off and restore are machines of their own.
///
/// # Errors
/// As [`load`].
pub fn load_trips(given: &Given, asked: Option<&str>) -> Result<Vec<Loaded>> {
    let asked = asked.map(|a| scheduler(a).map_err(Usage)).transpose()?;
    let [input] = given.paths() else { bail!("give one recording or board file") };
    let path = input.display();
    if !input.is_dir() {
        let bytes = given.raw(input)?;
        if let Some(text) = board_text(&bytes) {
            let board = dormouse_board::parse(text).map_err(|e| anyhow!("{path}: {e}"))?;
            let mut derived = Derived { board, ..Derived::default() };
            derived.assumptions.extend(Assumed::times(derived.board.times));
            let release = String::new();
            return Ok(vec![Loaded { derived, release, shown: None, recorded: None }]);
        }
    }
    let read = given.sleep()?;
    let mut captures: Vec<&Capture> =
        read.captures.iter().map(|c| &**c).filter(|c| !c.cycles.is_empty()).collect();
    if captures.len() > 1 {
        let named = captures.iter().all(|c| !c.machine.host.is_empty());
        match (captures.len(), named) {
            (n, true) => bail!("{path} holds recordings of {n} machines; give one of them"),
            (n, false) => bail!(
                "{path} holds {n} recordings that may be of as many machines, because they name \
                 neither a host nor the same kernel; give one of them"
            ),
        }
    }
    let Some(capture) = captures.pop() else {
        return Err(nothing_in(given, read.captures.iter().map(|c| &**c)));
    };
    let parts = trips(capture).into_iter().map(|(_, part)| part).collect();
    let all = machines(parts, asked).map_err(|e| nothing_of(given.paths(), [capture], &e))?;
    let loaded = |(part, m): (Capture, Shown)| Loaded {
        derived: m.derived.clone(),
        release: m.release.clone(),
        shown: m.supported.as_ref().map(|_| m.scheduler),
        recorded: Some((part, m)),
    };
    Ok(all.into_iter().map(loaded).collect())
}

/// The machine that each part of one recording shows. Where none names the kernel, all
/// are read by the rules of a generation that explains every one of them, if one does.
fn machines(
    parts: Vec<Capture>,
    asked: Option<Scheduler>,
) -> Result<Vec<(Capture, Shown)>, String> {
    let shown = |part: Capture| evidence::machine(&part, asked).map(|m| (part, m));
    let mut all = parts.into_iter().map(shown).collect::<Result<Vec<_>, String>>()?;
    let guesses: Vec<_> = all.iter().filter_map(|(_, m)| m.supported.as_ref()).collect();
    let fit = generation::common(&guesses);
    if guesses.len() == all.len() && !fit.is_empty() {
        for (part, m) in &mut all {
            if m.supported.as_ref().is_some_and(|s| s.all.len() > fit.len()) {
                *m = evidence::machine_among(part, asked, &fit)?;
            }
        }
    }
    Ok(all)
}

/// The machines that are recorded: those with cycles.
///
/// # Errors
/// If an input cannot be read, or none holds a cycle.
pub fn recordings(given: &Given) -> Result<Vec<Arc<Capture>>> {
    let read = given.sleep()?;
    let captures: Vec<Arc<Capture>> =
        read.captures.iter().filter(|c| !c.cycles.is_empty()).cloned().collect();
    if captures.is_empty() {
        return Err(nothing_in(given, read.captures.iter().map(|c| &**c)));
    }
    Ok(captures)
}

/// That the machine sleeps at all: what comes after a failed suspend is short,
/// and nothing that anybody wants to be shorter.
///
/// # Errors
/// If a callback of `board` ends its way down, or the kernel would hang.
pub fn sleeps(board: &Board, by: Scheduler, settings: &Settings) -> Result<()> {
    let o = outlook(board, by, settings).map_err(|e| Usage(hang(board, &e)))?;
    let Outcome::AbortedByDevice { device, errno } = o.run.cycle.outcome else { return Ok(()) };
    let device = device.and_then(|d| board.graph.devices.get(d.index()));
    let name = device.map_or("a device", |d| board.names.get(d.name));
    Err(Nothing(format!(
        "the suspend fails: a callback of {name} returns {errno}, so this machine does not sleep \
         and there is no time to shorten. Mend that driver first, or take ret={errno} out of the \
         board to see what would come after"
    ))
    .into())
}

/// The rules of the kernel the machine runs now: see [`Now::of`].
///
/// # Errors
/// [`Usage`], if the kernel asked for is not known.
pub(crate) fn kernel_now(asked: Option<&str>, release: &str) -> Result<Now> {
    Ok(Now::of(asked, release).map_err(Usage)?)
}

/// What `plan` and `tune` start from.
#[derive(Debug)]
pub struct Machine {
    /// The devices.
    pub board: Board,
    /// The laboratory, if it is to confirm the answer.
    pub lab: Option<Lab>,
    /// The rules of the kernel.
    pub now: Now,
    /// Costs, complete for this board and kernel.
    pub settings: Settings,
    /// How well the recording is reproduced; empty for a board file.
    pub fidelity: Fidelity,
    /// What is assumed of it.
    pub assumptions: Vec<Assumed>,
    /// What was recorded, and the machine made of it; `None` for a board file.
    pub recorded: Option<(Capture, Shown)>,
}

/// A budget of each half that has one.
pub(crate) type Budgets<'a> = &'a [(Direction, Option<Ns>)];

/// That all machines which explain the recording answer alike of `changes` in the
/// halves `asked` about, or all meet its budget, or that the user wants an answer
/// all the same. What is left open within the budgets, by half.
///
/// # Errors
/// [`NotReproduced`], unless `force`: how far the answers are apart, and what
/// recording would tell.
pub fn certain(
    recorded: Option<&(Capture, Shown)>,
    fidelity: &Fidelity,
    (by, settings): (Scheduler, &Settings),
    (changes, asked): (&[Change], Budgets<'_>),
    force: bool,
) -> Result<Vec<(Direction, (Ns, Ns))>> {
    if let Some((half, _)) = asked.iter().find(|(d, _)| !force && !fidelity.has(*d)) {
        return Err(NotReproduced(format!(
            "nothing of {} is in the recording, so what it takes is not known; give a log with \
             all of the cycle",
            half.name()
        ))
        .into());
    }
    let Some((capture, shown)) = recorded.filter(|_| !force && !changes.is_empty()) else {
        return Ok(Vec::new());
    };
    let found = shown.doubt(capture, by, changes, settings);
    let open = asked.iter().filter_map(|&(d, budget)| Some((d, budget, found.open(d)?)));
    let (met, missed): (Vec<_>, Vec<_>) =
        open.partition(|(_, budget, (_, high))| budget.is_some_and(|b| *high <= b));
    if missed.is_empty() {
        return Ok(met.into_iter().map(|(d, _, range)| (d, range)).collect());
    }
    let halves: Vec<String> =
        missed.iter().map(|(d, _, range)| open_half(*d, &found, *range)).collect();
    Err(NotReproduced(format!(
        "the recording leaves open what {} would bring, of the device phases:\n  {}\n  {}\n  --force answers all the \
         same, for one machine that explains the recording",
        asked_for(changes),
        halves.join("\n  "),
        doubts(&found, fidelity).join("\n  ")
    ))
    .into())
}

/// Changes in words, those of one kind together: `removing a and b`.
fn asked_for(changes: &[Change]) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for c in changes {
        let (what, name) = match c {
            Change::Without(name) => ("removing".to_string(), name),
            Change::Async(name) => ("async for".into(), name),
            Change::Sync(name) => ("sync for".into(), name),
            Change::Scale(name, ratio) => (format!("{} of the time for", ratio.text()), name),
            other => return format!("`{}`", safe(&other.text())),
        };
        let name = safe(name).into_owned();
        match kinds.iter_mut().find(|k| k.0 == what) {
            Some(kind) => kind.1.push(name),
            None => kinds.push((what, vec![name])),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(k, all)| format!("{k} {}", names(all))).collect();
    kinds.join(" and ")
}

/// Reads the machine and opens the laboratory if it is asked for.
///
/// # Errors
/// If the input or the profile cannot be read, the kernel is not known, the
/// laboratory is asked for and not to be had, or the machine does not sleep;
/// [`NotReproduced`], unless `force`.
pub fn open(
    given: &Given,
    kernel: Option<&str>,
    profile_name: &str,
    force: bool,
    verify: Option<How>,
) -> Result<Machine> {
    let loaded = load(given, None)?;
    let lab = verify.map(|how| Lab::open(how, kernel, &loaded.release)).transpose()?;
    let now = kernel_now(lab.as_ref().map(Lab::release).or(kernel), &loaded.release)?;
    let now = now.or(loaded.shown);
    let mut settings = crate::settings::settings(profile_name, None)?;
    let fidelity = loaded.fidelity(&settings);
    reproduced(&fidelity, &loaded.derived.board, loaded.whole(), force)?;
    let mut assumptions = loaded.derived.assumptions;
    assumptions.push(Assumed::Overhead(settings.profile.name.clone()));
    for line in now.by.cautions(&loaded.derived.board) {
        if !assumptions.contains(&line) {
            assumptions.push(line);
        }
    }
    if now.guessed {
        assumptions.push(Assumed::NewestKernel(Some("--kernel V")));
    }
    if let Some(guest) = loaded.recorded.as_ref().and_then(|(c, _)| c.guest()) {
        assumptions.push(Assumed::Said(emulated(guest)));
    }
    let (board, recorded) = (loaded.derived.board, loaded.recorded);
    settings.complete(board.cpus, now.by.kernel.as_ref());
    sleeps(&board, now.by, &settings)?;
    Ok(Machine { board, lab, now, settings, fidelity, assumptions, recorded })
}

/// That the times of `board` were measured, so that a budget can be held against them, or
/// that the user wants an answer all the same.
///
/// # Errors
/// [`NotReproduced`], unless `force`.
pub fn measured(board: &Board, force: bool) -> Result<()> {
    if force || board.times != Times::Assumed {
        return Ok(());
    }
    Err(NotReproduced(
        "every time of this board is assumed, not measured (drawn by class), so whether a budget \
         is met is not known; give a recording of the machine (dormouse record)\n  --force answers \
         all the same, for the machine that is assumed"
            .into(),
    )
    .into())
}

/// That the simulation reproduces the recording that `board` was made of, or
/// that the user wants an answer all the same. What was measured as a [`Loaded::whole`] is
/// said in any case.
///
/// # Errors
/// [`NotReproduced`], unless `force`: which phases, why, and what would help.
pub fn reproduced(
    fidelity: &Fidelity,
    board: &Board,
    whole: [(Ns, bool); 2],
    force: bool,
) -> Result<()> {
    let mut reasons = reasons(fidelity, board);
    if reasons.is_empty() || force {
        return Ok(());
    }
    let halves =
        [Direction::Suspend, Direction::Resume].into_iter().zip(whole).filter(|h| h.1.0 > Ns::ZERO);
    reasons.extend(halves.map(|(d, (t, least))| {
        format!("Recorded as it is: {}{} {t}.", d.name(), if least { " at least" } else { "" })
    }));
    let about = match fidelity.not_reproduced().is_empty() {
        true => "",
        false => ", so any answer would be about another machine",
    };
    Err(NotReproduced(format!(
        "{}{about}:\n  {}\n  --force answers all the same; dormouse predict shows the self-check",
        refusal(fidelity),
        reasons.join("\n  ")
    ))
    .into())
}

/// The devices whose whole name matches `pattern`.
///
/// # Errors
/// [`Usage`], if there is none.
pub fn matching(board: &Board, pattern: &str) -> Result<Vec<DeviceId>> {
    let name = |d: &DeviceId| board.names.get(board.graph.get(*d).name);
    let found: Vec<DeviceId> = board.graph.ids().filter(|d| glob(pattern, name(d))).collect();
    if found.is_empty() {
        let text = format!("no device matches `{pattern}`; patterns match the whole name");
        return Err(Usage(text).into());
    }
    Ok(found)
}
