//! Before and after: a board, the same board changed, both simulated.

use super::cause;
use super::change::{Change, Changed, apply};
use super::note::{Limit, Note};
pub use super::outlook::{Outlook, Scheduler, hang, outlook};
pub use super::piece::{Piece, critical_path};
use super::resample::Resampling;
use super::{Settings, Stuck};
use crate::evidence::{Doubt, Fidelity};
use crate::tolerance;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::assumed::Assumed;
use dormouse_board::derive::Derived;

/// A device whose part in a phase changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Number on the board before.
    pub device: DeviceId,
    /// In which phase.
    pub phase: Phase,
    /// Begin and end before, relative to the phase.
    pub before: (Ns, Ns),
    /// And after.
    pub after: (Ns, Ns),
}

/// The answer to a what-if.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The machine as it is.
    pub before: Outlook,
    /// The machine as changed.
    pub after: Outlook,
    /// The changed board.
    pub changed: Changed,
    /// The critical path after the change.
    pub path: Vec<Piece>,
    /// Devices that start elsewhere, by how much, the largest first.
    pub moved: Vec<Moved>,
    /// What was changed and why the result is what it is.
    pub notes: Vec<Note>,
    /// What was assumed.
    pub assumptions: Vec<Assumed>,
    /// How well the recording is reproduced.
    pub fidelity: Fidelity,
    /// What other machines answer that explain the recording too.
    pub doubt: Doubt,
    /// The same without the lines of the kernel log, where they cost something.
    pub quiet: Option<Quiet>,
    /// Median of each device phase as recorded, by [`Phase::device_index`].
    pub observed: [Option<Ns>; 8],
}

/// A machine that prints nothing: the halves before and after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// Down and up, as the machine is.
    pub before: [Ns; 2],
    /// And as changed.
    pub after: [Ns; 2],
}

/// Lines that cost a phase less than this altogether are not worth a word.
pub const PRINTING: Ns = Ns(5_000_000);

impl Prediction {
    /// The device phases of a half as recorded, medians; zero for a board file.
    pub fn recorded(&self, direction: Direction) -> Ns {
        let phases = Phase::DEVICE.iter().filter(|p| p.direction() == direction);
        phases.filter_map(|p| p.device_index().and_then(|i| self.observed[i])).sum()
    }

    /// What the model takes for the device phases of a half that were recorded: others,
    /// such as prepare in most logs, have nothing to be held against.
    pub fn modelled(&self, direction: Direction) -> Ns {
        let phases = Phase::DEVICE.iter().filter(|p| p.direction() == direction);
        let seen = |x: &&Phase| x.device_index().is_some_and(|i| self.observed[i].is_some());
        phases.filter(seen).map(|x| self.before.phase(*x)).sum()
    }

    /// By how much the model misses the recording of a half, if that is too much to
    /// predict from: no figure of the half is claimed then.
    pub fn missed(&self, direction: Direction) -> Option<Ns> {
        let seen = self.recorded(direction);
        let off = self.modelled(direction) - seen;
        (seen > Ns::ZERO && !tolerance::TRUSTED.allows(off, seen)).then_some(off)
    }

    /// Time of `phase` after the change: what is right for all machines that
    /// explain the recording, if one answer is.
    pub fn changed_to(&self, phase: Phase) -> Ns {
        (self.after.phase(phase) + self.doubt.shift(phase)).max(Ns::ZERO)
    }

    /// Whether the time of `phase` after the change is claimed: all machines that
    /// explain the recording answer alike, the phase is reproduced, and it changes by
    /// more than it is off and than these machines are apart, or not at all.
    pub fn claims(&self, phase: Phase) -> bool {
        let change = self.changed_to(phase) - self.before.phase(phase);
        let guess = self.fidelity.blind && self.after.pm_async != self.before.pm_async;
        let missed = self.fidelity.misses(phase) || self.missed(phase.direction()).is_some();
        let sure = self.doubt.agrees(phase) && !missed;
        let beyond = || self.fidelity.allows(phase, change) && self.is_beyond_doubt(phase);
        sure && (change == Ns::ZERO || !guess && beyond())
    }

    /// Whether no machine that explains the recording answers that `phase` stays as
    /// it is or changes the other way, and what is said of it is not below what no
    /// schedule beats.
    fn is_beyond_doubt(&self, phase: Phase) -> bool {
        let range = phase.device_index().and_then(|i| self.doubt.range[i]);
        let was = self.before.phase(phase);
        let stays = range.is_some_and(|(low, high)| low < high && low <= was && was <= high);
        let least = self.after.bounds.phase(phase).map_or(Ns::ZERO, |b| b.path);
        !stays && (self.doubt.shift(phase) >= Ns::ZERO || self.changed_to(phase) >= least)
    }

    /// Phases of a half that may become anything: machines that explain the
    /// recording differ there, or it is not reproduced, or the flags are not
    /// known. Only those of more than one hundredth of the half. A change that
    /// is within the model's error is none of them: the phase stays as it is.
    pub fn open(&self, direction: Direction) -> Vec<Phase> {
        let recorded = |p: Phase| self.fidelity.phase(p).map_or(Ns::ZERO, |c| c.recorded);
        let half = Phase::DEVICE.into_iter().filter(|p| p.direction() == direction);
        let seen: Ns = half.clone().map(recorded).sum();
        let whole = self.after.half(direction).max(self.before.half(direction)).max(seen);
        let open = |p: &Phase| {
            let (was, is) = (self.before.phase(*p), self.after.phase(*p));
            let guess = self.fidelity.blind && self.after.pm_async != self.before.pm_async;
            let missed = self.fidelity.misses(*p);
            let unknown = !self.doubt.agrees(*p) || missed || was != is && guess;
            unknown && was.max(is).max(recorded(*p)).is_share_of(1, whole)
        };
        half.filter(open).collect()
    }

    /// Time of the device phases of one direction after the change, if it is
    /// claimed: no phase of it is open. A half, and phases, whose change is within the
    /// model's error stay as they are, unless their sum would then be less than
    /// what no schedule beats.
    pub fn claimed(&self, direction: Direction) -> Option<Ns> {
        let seen = self.fidelity.has(direction) && self.missed(direction).is_none();
        if !seen || self.doubt.open(direction).is_some() || !self.open(direction).is_empty() {
            return None;
        }
        let phases = Phase::DEVICE.into_iter().filter(|p| p.direction() == direction);
        let taken = |p| if self.claims(p) { self.changed_to(p) } else { self.before.phase(p) };
        let all: Vec<(Ns, Ns)> = phases.map(|p| (taken(p), self.after.phase(p))).collect();
        let phases: Ns = all.iter().map(|(taken, _)| *taken).sum();
        let apart = phases - all.iter().map(|(_, after)| *after).sum();
        let claimed = self.after.half(direction) + apart;
        let bounds = &self.after.bounds;
        let least = bounds.path(direction).max(bounds.order(direction));
        let claimed = (apart >= Ns::ZERO || claimed >= least).then_some(claimed)?;
        let was = self.before.half(direction);
        let known = (claimed - was).0.abs() > self.fidelity.off(direction).0.abs();
        Some(if known { claimed } else { was })
    }
}

/// What to predict.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The board, its cycles and its assumptions. A board that is not derived
    /// has no cycles.
    pub derived: &'a Derived,
    /// What runs it now.
    pub now: Scheduler,
    /// What shall run it.
    pub then: Scheduler,
    /// Changes of the machine.
    pub changes: &'a [Change],
    /// Costs; where it says nothing of CPUs, the board's count.
    pub settings: &'a Settings,
    /// How well the recording is reproduced; empty for a board file. No gain
    /// is claimed beyond it.
    pub fidelity: &'a Fidelity,
    /// What other machines answer that explain the recording too; empty for a
    /// board file.
    pub doubt: &'a Doubt,
    /// Seed of the resampling.
    pub seed: u64,
    /// How often to resample; 0 for no range.
    pub samples: u32,
}

/// Answers `q`.
///
/// # Errors
/// A sentence: a pattern without device, a board that is no machine, a graph
/// on which the kernel would hang.
pub fn predict(q: &Question<'_>) -> Result<Prediction, String> {
    let board = &q.derived.board;
    let changed = apply(board, q.changes)?;
    let mut before = outlook(board, q.now, q.settings).map_err(|e| hang(board, &e))?;
    let mut after =
        outlook(&changed.board, q.then, q.settings).map_err(|e| hang(&changed.board, &e))?;
    if q.samples > 0 && q.derived.cycles.len() > 1 {
        before.range = Some(range(q, q.now, &[])?);
        after.range = Some(range(q, q.then, q.changes)?);
    }
    let mut moved = moved(&before.run.cycle, &after.run.cycle, &changed.origin);
    let unknown: Vec<Phase> = q.fidelity.not_reproduced().iter().map(|c| c.phase).collect();
    moved.retain(|m| !unknown.contains(&m.phase));
    let path = critical_path(&changed.board, &after);
    let was = critical_path(board, &before);
    let notes = notes(q, &before, &after, &changed, [&was, &path]);
    let assumptions = assumptions(q);
    let (fidelity, doubt) = (q.fidelity.clone(), q.doubt.clone());
    let quiet = quiet(q);
    let told = Prediction {
        before,
        after,
        changed,
        path,
        moved,
        notes,
        assumptions,
        fidelity,
        doubt,
        quiet,
        observed: q.derived.observed,
    };
    Ok(told)
}

/// What `q` is answered of a machine that prints nothing; `None` if its lines cost
/// nothing worth a word.
fn quiet(q: &Question<'_>) -> Option<Quiet> {
    let d = q.derived;
    let costs = |cycle| (0..8).any(|index| d.printed(cycle, index) >= PRINTING);
    (0..d.printing.len()).find(|cycle| costs(*cycle))?;
    let board = d.without_printing().board;
    let changed = apply(&board, q.changes).ok()?.board;
    let halves = |board, by| {
        let o = outlook(board, by, q.settings).ok()?;
        Some([Direction::Suspend, Direction::Resume].map(|d| o.half(d)))
    };
    Some(Quiet { before: halves(&board, q.now)?, after: halves(&changed, q.then)? })
}

/// Cycles simulated for one prediction where chance decides a part of it.
const DRAWS: u64 = 31;

/// Runs `board` as often as chance asks for, whose medians are the prediction:
/// in an emulator with other starting CPUs and another first tick
/// each time, else once.
///
/// # Errors
/// [`Stuck`].
pub fn draws(board: &Board, by: Scheduler, settings: &Settings) -> Result<Vec<Outlook>, Stuck> {
    if settings.profile.emulator.is_none() {
        return Ok(vec![outlook(board, by, settings)?]);
    }
    let mut settings = settings.clone();
    (1..=DRAWS)
        .map(|draw| {
            if let Some(emulator) = &mut settings.profile.emulator {
                emulator.draw = draw;
            }
            outlook(board, by, &settings)
        })
        .collect()
}

fn range(q: &Question<'_>, by: Scheduler, changes: &[Change]) -> Result<[(Ns, Ns); 2], String> {
    let mut r = Resampling::new(q.seed);
    for _ in 0..q.samples {
        r.step(q.derived, by, changes, q.settings)?;
    }
    Ok(r.range().unwrap_or_default())
}

fn moved(before: &Cycle, after: &Cycle, origin: &[DeviceId]) -> Vec<Moved> {
    let n = before.callbacks.iter().map(|c| c.device.index() + 1).max().unwrap_or(0);
    let mut times: Vec<[Option<(Ns, Ns)>; 8]> = vec![[None; 8]; n];
    for c in &before.callbacks {
        let (Some(i), Some(span)) = (c.phase.device_index(), before.phase(c.phase)) else {
            continue;
        };
        times[c.device.index()][i] = Some((c.start - span.start, c.end - span.start));
    }
    let mut list = Vec::new();
    for c in after.callbacks.iter().filter(|c| c.phase.may_be_async()) {
        let (Some(i), Some(span)) = (c.phase.device_index(), after.phase(c.phase)) else {
            continue;
        };
        let Some(&device) = origin.get(c.device.index()) else { continue };
        let Some(was) = times.get(device.index()).and_then(|t| t[i]) else { continue };
        let is = (c.start - span.start, c.end - span.start);
        if (is.0 - was.0).0.abs() >= 50_000 {
            list.push(Moved { device, phase: c.phase, before: was, after: is });
        }
    }
    list.sort_by_key(|m| (-(m.after.0 - m.before.0).0.abs(), m.device, m.phase));
    list
}

fn notes(
    q: &Question<'_>,
    before: &Outlook,
    after: &Outlook,
    changed: &Changed,
    [was, is]: [&[Piece]; 2],
) -> Vec<Note> {
    let mut notes = changed.notes.clone();
    let (now, then) = (q.now.policy, q.then.policy);
    if now.name != then.name {
        notes.push(Note::Scheduling(now, then));
    }
    for direction in [Direction::Suspend, Direction::Resume] {
        let (old, new) = (before.half(direction), after.half(direction));
        let known = q.fidelity.not_reproduced().iter().all(|c| c.phase.direction() != direction);
        // Nothing was asked, or nothing is claimed.
        if old == Ns::ZERO || !known || q.changes.is_empty() && now.name == then.name {
            continue;
        }
        if (new - old).0.abs() * 100 < old.0 {
            let (floor, order) = (after.bounds.path(direction), after.bounds.order(direction));
            notes.push(why_not(direction, after, floor, order));
        } else {
            let board = &q.derived.board;
            notes.extend(cause::of(direction, board, was, is, &changed.origin));
        }
    }
    notes
}

/// Why a half changes by less than 1 %.
fn why_not(half: Direction, after: &Outlook, floor: Ns, order: Ns) -> Note {
    let is = after.half(half);
    let why = if floor.is_share_of(97, is) {
        Limit::Chain(floor)
    } else if order.is_share_of(97, is) {
        Limit::Synchronous(order)
    } else {
        Limit::OffPath
    };
    Note::Hardly { half, is, why }
}

fn assumptions(q: &Question<'_>) -> Vec<Assumed> {
    let mut list = q.derived.assumptions.clone();
    list.push(Assumed::Overhead(q.settings.profile.name.clone()));
    let board = &q.derived.board;
    for line in q.now.cautions(board).into_iter().chain(q.then.cautions(board)) {
        if !list.contains(&line) {
            list.push(line);
        }
    }
    list
}
