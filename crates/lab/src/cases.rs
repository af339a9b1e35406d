//! The check of the laboratory against worked cases: what a kernel does with
//! a graph, beside what the rules of its generation say it must do.

use crate::describe::guest_name;
use crate::run::{Job, Outcome};
use crate::trace::cycles;
use crate::{Error, Result};
use dormouse_base::phase::Phase;
use dormouse_board::Board;
use dormouse_guest::plan::{Record, Sleep};
use dormouse_read::cases::Case;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Start and end in milliseconds by device. Beside the two directions the file
/// has totals, which are plain numbers.
#[derive(Debug, Deserialize)]
struct Tables {
    suspend: BTreeMap<String, [f64; 2]>,
    resume: BTreeMap<String, [f64; 2]>,
}

/// The file of cases: graphs, and what each generation does with them.
#[derive(Debug)]
pub struct Cases {
    /// The graphs.
    pub cases: Vec<Case>,
    /// By case and generation.
    expected: BTreeMap<String, BTreeMap<String, Tables>>,
}

/// The pair of phases in which a board's callbacks run. The walk is the same
/// in all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// suspend and resume.
    Normal,
    /// late and early.
    LateEarly,
    /// noirq and noirq.
    Noirq,
}

impl Pair {
    /// Phases on the way down and up.
    pub fn phases(self) -> (Phase, Phase) {
        match self {
            Pair::Normal => (Phase::Suspend, Phase::Resume),
            Pair::LateEarly => (Phase::Late, Phase::ResumeEarly),
            Pair::Noirq => (Phase::Noirq, Phase::ResumeNoirq),
        }
    }

    /// How deep a cycle must go to reach them.
    pub fn sleep(self) -> Sleep {
        match self {
            Pair::Normal => Sleep::Devices,
            Pair::LateEarly | Pair::Noirq => Sleep::Platform,
        }
    }
}

/// A callback that ran at another time than expected, or not, or unexpectedly.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Phase.
    pub phase: Phase,
    /// Device, in the case's words.
    pub device: String,
    /// Expected start and end in ms, if it was to run.
    pub expected: Option<[f64; 2]>,
    /// Seen start and end in ms, if it ran.
    pub seen: Option<[f64; 2]>,
}

/// Result of comparing one cycle.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Intervals that were compared.
    pub compared: usize,
    /// Largest deviation among intervals that agree, in ms.
    pub worst: f64,
    /// Those that do not agree.
    pub mismatches: Vec<Mismatch>,
}

impl Cases {
    /// Reads the file.
    pub fn parse(json: &[u8]) -> Result<Cases> {
        #[derive(Deserialize)]
        struct File {
            expected: BTreeMap<String, BTreeMap<String, Tables>>,
        }
        let say = |e: &dyn std::fmt::Display| Error::other(format!("cases: {e}"));
        let file: File = serde_json::from_slice(json).map_err(|e| say(&e))?;
        let cases = dormouse_read::cases::read(json).map_err(|e| say(&e))?;
        Ok(Cases { cases, expected: file.expected })
    }

    /// Compares the first cycle of `outcome` with what `generation` does.
    pub fn compare(
        &self,
        case: &Case,
        generation: &str,
        pair: Pair,
        outcome: &Outcome,
        tolerance: f64,
    ) -> Result<Verdict> {
        let table = self
            .expected
            .get(&case.id)
            .and_then(|c| c.get(generation))
            .ok_or_else(|| Error::other(format!("{}: no table for {generation}", case.id)))?;
        let cycles = cycles(&outcome.trace);
        let cycle = cycles
            .first()
            .ok_or_else(|| Error::other(format!("{}: the trace has no cycle", outcome.name)))?;
        let (down, up) = pair.phases();
        let mut v = Verdict::default();
        for (phase, expected) in [(down, &table.suspend), (up, &table.resume)] {
            for (i, device) in case.board.graph.devices.iter().enumerate() {
                let name = case.board.names.get(device.name);
                let seen = cycle
                    .of
                    .get(&(phase, guest_name(i)))
                    .map(|s| [s.start.as_ms_f64(), s.end.as_ms_f64()]);
                let expected = expected.get(name).copied();
                let off = match (expected, seen) {
                    (None, None) => continue,
                    (Some(e), Some(s)) => (e[0] - s[0]).abs().max((e[1] - s[1]).abs()),
                    _ => f64::INFINITY,
                };
                v.compared += 1;
                if off <= tolerance {
                    v.worst = v.worst.max(off);
                } else {
                    v.mismatches.push(Mismatch { phase, device: name.to_owned(), expected, seen });
                }
            }
        }
        Ok(v)
    }
}

/// Whether a callback of the case fails.
pub fn fails(case: &Case) -> bool {
    case.board.devices.iter().flat_map(|d| d.work).flatten().any(|w| w.ret < 0)
}

/// The board of a case with its callbacks in the phases of `pair`.
pub fn board(case: &Case, pair: Pair) -> Board {
    let mut board = case.board.clone();
    let place = |p: Phase| p.device_index().expect("pairs hold device phases");
    let (down, up) = pair.phases();
    for d in &mut board.devices {
        let work = d.work;
        d.work = [None; 8];
        d.work[place(down)] = work[place(Phase::Suspend)];
        d.work[place(up)] = work[place(Phase::Resume)];
    }
    board
}

/// The job that lets a kernel do a case.
pub fn job<'a>(case: &Case, board: &'a Board, pair: Pair, pm_async: bool) -> Job<'a> {
    Job {
        name: format!("{}-{pair:?}-async{}", case.id, u8::from(pm_async)),
        board: Some(board),
        waits: &[],
        sleep: pair.sleep(),
        pm_async,
        cycles: 1,
        detail: Vec::new(),
        record: Record::No,
        phases: false,
    }
}
