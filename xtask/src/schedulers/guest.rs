//! Boards in guests: one boot for several boards and every way to start devices.

use super::boards::Named;
use crate::accuracy::recorded;
use anyhow::{Context, Result, bail};
use dormouse_base::capture::Capture;
use dormouse_lab::capture::of_outcome;
use dormouse_lab::describe::Description;
use dormouse_lab::kernels::Kernel;
use dormouse_lab::plan::{Record, Sleep, Turn};
use dormouse_lab::qemu::{Accel, Arch, Machine, usual_cpus};
use dormouse_lab::run::{Job, Outcome, run_in_turn};
use dormouse_lab::trace::{Intervals, cycles};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A boot that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(3_000);
/// After so many seconds the kernel has ended its idle workers.
const REST: u64 = 400;
/// Words of the kernel log that stand for a fault.
const FAULTS: [&str; 7] =
    ["WARNING:", "BUG:", "Oops", "Call Trace", "INFO: task", "lockdep", "refcount_t"];

/// A way to start devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Its word in tables; the simulator's policy is called so.
    pub name: &'static str,
    /// Parameters of the livepatch; none is the kernel itself.
    pub parameters: Option<&'static str>,
}

/// What a board did on a kernel in one way: the first cycle is cold.
pub(crate) struct Seen {
    pub cycles: Vec<Intervals>,
    /// What the livepatch said of the last cycle.
    pub said: String,
}

/// What a board did in every way.
pub(crate) struct Played {
    /// The devices as the guest called them.
    pub description: Description,
    /// As the kernel's own walk was recorded.
    pub capture: Capture,
    pub ways: Vec<Seen>,
}

/// What a boot gave.
pub(crate) struct Done {
    pub boards: Vec<Played>,
    /// Lines of the kernel log that stand for a fault.
    pub faults: Vec<String>,
    pub took: Duration,
}

fn job<'a>(name: String, board: &'a Named, pm_async: bool, cycles: u32, full: bool) -> Job<'a> {
    Job {
        name,
        board: Some(&board.1),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async,
        cycles,
        detail: Vec::new(),
        record: if full { Record::Full } else { Record::No },
        phases: false,
    }
}

fn turn(parameters: Option<&str>, rest: u64) -> Turn {
    Turn { scheduler: parameters.map(str::to_owned), rest }
}

fn machine(kernel: &Kernel, boards: &[Named]) -> Machine {
    let largest = boards.iter().map(|(_, b)| b).max_by_key(|b| b.cpus);
    let cpus = usual_cpus(Accel::Icount, kernel, largest);
    Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release)
}

/// The recording of an outcome, by way of a file, as any other.
fn read(outcome: &Outcome, board: &Named, folder: &Path) -> Result<Capture> {
    let file = folder.join(format!("{}.tar.gz", outcome.name));
    of_outcome(outcome, &board.1)?.save(&file)?;
    recorded::capture(file.to_str().context("a name that is no text")?)
}

/// One boot of `kernel`: every board in every way, `cycles` of each. The first way is
/// the kernel's own walk.
pub(crate) fn play(
    kernel: &Kernel,
    boards: &[Named],
    ways: &[Way],
    cycles_of_each: u32,
    folder: &Path,
) -> Result<Done> {
    fs::create_dir_all(folder)?;
    let mut jobs = Vec::new();
    let mut turns = Vec::new();
    for board in boards {
        for (n, way) in ways.iter().enumerate() {
            // By number too: a way may be taken several times.
            let name = format!("{}-{n}-{}", board.0, way.name);
            jobs.push(job(name, board, board.1.pm_async, cycles_of_each, n == 0));
            turns.push(turn(way.parameters, REST));
        }
    }
    let boot = run_in_turn(kernel, &machine(kernel, boards), &jobs, &turns, LIMIT)?;
    let mut out = Vec::new();
    for (b, board) in boards.iter().enumerate() {
        let of = |w: usize| b * ways.len() + w;
        let capture = read(&boot.outcomes[of(0)], board, folder)?;
        let description = boot.outcomes[of(0)].description.clone();
        let mut seen =
            vec![Seen { cycles: recorded_cycles(&boot.outcomes[of(0)])?, said: String::new() }];
        for w in 1..ways.len() {
            let cycles = cycles(&boot.outcomes[of(w)].trace);
            seen.push(Seen { cycles, said: boot.scheduler[of(w)].clone() });
        }
        for (way, s) in ways.iter().zip(&seen) {
            if s.cycles.len() != cycles_of_each as usize {
                bail!("{}, {}: the trace holds {} cycles", board.0, way.name, s.cycles.len());
            }
        }
        out.push(Played { description, capture, ways: seen });
    }
    let faults = boot.log.lines().filter(|l| FAULTS.iter().any(|f| l.contains(f)));
    Ok(Done { boards: out, faults: faults.map(str::to_owned).collect(), took: boot.took })
}

/// The cycles of a recording, read from the text of its traces.
fn recorded_cycles(outcome: &Outcome) -> Result<Vec<Intervals>> {
    let traces = dormouse_lab::capture::traces(outcome)?;
    Ok(traces.iter().flat_map(|text| cycles(text)).collect())
}

/// Recordings for a fit: each board with `pm_async` off and on, and with the livepatch.
pub(crate) fn recordings(
    kernel: &Kernel,
    boards: &[Named],
    cycles_of_each: u32,
    folder: &Path,
) -> Result<Vec<(Capture, usize)>> {
    fs::create_dir_all(folder)?;
    let mut jobs = Vec::new();
    let mut turns = Vec::new();
    let forms = [("off", false, None), ("on", true, None), ("ready", true, Some(""))];
    for (word, pm_async, parameters) in forms {
        for board in boards {
            jobs.push(job(format!("{}-{word}", board.0), board, pm_async, cycles_of_each, true));
            turns.push(turn(parameters, REST));
        }
    }
    let boot = run_in_turn(kernel, &machine(kernel, boards), &jobs, &turns, LIMIT)?;
    let n = boards.len();
    let all = boot.outcomes.iter().enumerate();
    all.map(|(i, o)| Ok((read(o, &boards[i % n], folder)?, i % n))).collect()
}
