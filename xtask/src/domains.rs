//! Power domains: a small SoC and boards drawn by seed, foretold and then slept
//! through by kernels.
//!
//! What the machinery of a kernel costs is fitted on a board without power domains, in
//! the same boot.
//!
//! `domains [--short] [SERIES…]`: of every board (in short: of the small SoC) the noirq phases with `pm_async` 0 and
//! 1, and what it changes that nobody uses its slowest domain. A prediction is right
//! within 2 % of what was measured or 100 us. Then the same from recordings with
//! switches alone (`record --with domains`): nothing but they says what a domain takes.

use crate::accuracy::recorded::{self, Machine};
use crate::missed::MISSED;
use anyhow::{Context, Result, anyhow};
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::derive::derive;
use dormouse_board::generate::{Durations, Options as PlainOptions, generate};
use dormouse_board::soc::{Options, soc};
use dormouse_board::{Board, parse};
use dormouse_lab::capture::{Wish, captures};
use dormouse_lab::kernels;
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine as Guest};
use dormouse_machine::options::Detail;
use dormouse_read::Options as ReadOptions;
use dormouse_sleep::simulate::Profile;
use dormouse_sleep::simulate::calibrate::calibrate;
use dormouse_sleep::simulate::change::{Change, apply};
use dormouse_sleep::simulate::planned::{Plan, apply as planned, apply_domains, guest, plan};
use dormouse_sleep::simulate::predict::draws;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

/// Domains of the boards; the seed of each is its place.
const DOMAINS: [u32; 10] = [3, 5, 8, 12, 16, 20, 25, 30, 35, 40];
/// What costs are fitted on: devices with noirq callbacks and no power domains.
fn plain() -> Board {
    generate(&PlainOptions {
        devices: 60,
        noirq: 80,
        durations: Durations { low: Ns(20_000), high: Ns(3_000_000) },
        ..PlainOptions::default()
    })
}

/// A GPU that nobody uses takes most of the time of resume noirq.
const SMALL: &str = "board 1
cpus 4
domain top on=1ms off=1ms
domain io parent=top on=2.5ms off=1.2ms
domain gpu parent=top on=8ms off=3ms
domain aon on=0.5ms off=0.5ms always_on
device soc
device dev{0..1} parent=soc domain=io async noirq=0.18ms resume_noirq=0.18ms
device dev{2..3} parent=soc domain=gpu async runtime_suspended noirq=0.18ms resume_noirq=0.18ms
device dev4 parent=soc domain=aon async noirq=0.18ms resume_noirq=0.18ms
";
/// Whether and how deep `gpu` goes at run time, and `top` with it, follows from how long
/// `dev2` may take to wake: the kernel's own governor decides it.
const GOVERNED: &str = "board 1
cpus 4
domain top on=20ms off=12ms governor=simple_qos
domain gpu parent=top state=1ms/2ms state=15ms/18ms governor=simple_qos
device soc
device dev2 parent=soc domain=gpu async runtime_suspended QOS noirq=0.18ms resume_noirq=0.18ms
device dev3 parent=soc domain=gpu async runtime_suspended noirq=0.18ms resume_noirq=0.18ms
";

/// What `dev2` tolerates: everything; a deep `gpu` and its parent; a deep one alone; a
/// shallow one; none; not even its own. All are well off the borders, since a kernel
/// counts the longest latencies that it has ever measured.
const TOLERANCES: [&str; 6] = ["", "qos=80ms", "qos=49ms", "qos=20ms", "qos=2ms", "qos=0"];

/// Cycles of each boot and board; all but the first are judged.
const CYCLES: u32 = 2;
const FLOOR: Ns = Ns(100_000);
const PERCENT: i64 = 2;
const PHASES: [Phase; 2] = [Phase::Noirq, Phase::ResumeNoirq];

/// Predicted and measured.
#[derive(Clone, Copy)]
struct Pair {
    predicted: Ns,
    measured: Ns,
}

impl Pair {
    fn apart(self) -> Ns {
        Ns((self.predicted - self.measured).0.abs())
    }

    /// Within [`PERCENT`] of `of`, or [`FLOOR`].
    fn right(self, of: Ns) -> bool {
        self.apart() <= FLOOR.max(Ns(of.0.abs() * PERCENT / 100))
    }
}

#[derive(Default)]
struct Score {
    right: usize,
    all: usize,
    worst: Ns,
}

impl Score {
    fn count(&mut self, pair: Pair, of: Ns) -> &'static str {
        self.all += 1;
        self.worst = self.worst.max(pair.apart());
        let right = pair.right(of);
        self.right += usize::from(right);
        if right { "yes" } else { "NO" }
    }

    fn line(&self, what: &str) -> String {
        format!("{what}: {} of {} right; the worst is {} off", self.right, self.all, self.worst)
    }
}

/// A board as it is, and without the users of its slowest domain.
struct Trial {
    name: String,
    board: Board,
    without: Option<(String, Board)>,
}

impl Trial {
    fn draw(seed: u64, domains: u32) -> Result<Trial> {
        let board = soc(&Options { seed, domains, cpus: 4 });
        Trial::of(format!("{domains} domains, seed {seed}"), board)
    }

    fn of(name: String, board: Board) -> Result<Trial> {
        let used = |n: usize| board.devices.iter().any(|d| d.domain == Some(n as u32));
        let slowest = (0..board.domains.len())
            .filter(|&n| used(n) && !board.domains[n].always_on)
            .max_by_key(|&n| board.domains[n].deepest().on);
        let without = match slowest {
            None => None,
            Some(n) => {
                let name = board.names.get(board.domains[n].name).to_owned();
                let change = Change::Without(format!("domain:{name}"));
                let changed = apply(&board, &[change]).map_err(anyhow::Error::msg)?;
                Some((name, changed.board))
            }
        };
        Ok(Trial { name, board, without })
    }
}

/// Prints the table; [`MISSED`] if a prediction is not right.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let short = args.iter().any(|a| a == "--short");
    let mut series: Vec<&str> =
        args.iter().filter(|a| !a.starts_with("--")).map(String::as_str).collect();
    if series.is_empty() {
        series = if short { vec!["6.12"] } else { vec!["6.12", "7.3"] };
    }
    let mut trials = vec![Trial::of("small SoC".into(), parse(SMALL)?)?];
    let tolerances = if short { &TOLERANCES[2..4] } else { &TOLERANCES[..] };
    let mut governed = Vec::new();
    for qos in tolerances {
        let board = parse(&GOVERNED.replace("QOS", qos))?;
        let name = if qos.is_empty() { "no qos" } else { qos };
        governed.push(Trial { name: format!("governed, {name}"), board, without: None });
    }
    if !short {
        for (seed, &n) in (1..).zip(&DOMAINS) {
            trials.push(Trial::draw(seed, n)?);
        }
    }
    let mut scores = Scores::default();
    for series in series {
        kernel(series, &trials, &mut scores)?;
        kernel(series, &governed, &mut scores)?;
    }
    let Scores { phases, changes, itself, alone } = scores;
    println!("\n{}", phases.line("noirq phases"));
    println!("{}", changes.line("changes of both phases without users of the slowest domain"));
    println!("{}", itself.line("noirq phases of a recording, from itself"));
    println!("{}", alone.line("the same changes, from a recording"));
    let all = [phases, changes, itself, alone].iter().all(|s| s.right == s.all);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// What is counted over all kernels.
#[derive(Default)]
struct Scores {
    phases: Score,
    changes: Score,
    itself: Score,
    alone: Score,
}

fn kernel(series: &str, trials: &[Trial], scores: &mut Scores) -> Result<()> {
    let kernel = kernels::get(Arch::Amd64, series)?;
    let machine = Guest::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    let wish = |board, pm_async, detail| Wish {
        board: Some(board),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async,
        cycles: CYCLES,
        detail,
        samples: 1,
        limit: Duration::from_secs(900),
    };
    // What the kernel's machinery costs, from a board without power domains.
    let plain = plain();
    let mut wishes: Vec<Wish<'_>> =
        [false, true].map(|pm_async| wish(&plain, pm_async, Vec::new())).into();
    for trial in trials {
        for board in [Some(&trial.board), trial.without.as_ref().map(|w| &w.1)] {
            let both = |b| [wish(b, false, Vec::new()), wish(b, true, Vec::new())];
            wishes.extend(board.into_iter().flat_map(both));
        }
    }
    let plainly = wishes.len();
    for trial in trials {
        let switches = |pm_async| wish(&trial.board, pm_async, vec![Detail::Domains]);
        wishes.extend([switches(false), switches(true)]);
    }
    let made = captures(&kernel, &machine, &wishes, 1)?;
    let all: Vec<Capture> = made.recordings.iter().map(read).collect::<Result<_>>()?;
    let (all, recorded) = all.split_at(plainly);
    let (fitted_on, judged) = all.split_at(2);
    let boards = [plain.clone(), plain.clone()];
    let fitted = calibrate(fitted_on, &boards, &Profile::x86(), "without power domains")
        .map_err(anyhow::Error::msg)?;
    let seen: Vec<Measured> = wishes[2..plainly]
        .iter()
        .zip(judged)
        .map(|(w, c)| measured(c, w.board.context("a board")?, w.pm_async, &fitted.profile))
        .collect::<Result<_>>()?;
    println!("\n{}: ms, predicted and measured", kernel.release);
    println!("{:<24}{:>6}{:>16}{:>18}   right", "board", "async", "noirq suspend", "noirq resume");
    let mut changed: Vec<Option<[(Measured, Measured); 2]>> = Vec::new();
    let mut seen = seen.into_iter();
    for trial in trials {
        let before: Vec<Measured> = seen.by_ref().take(2).collect();
        for (n, m) in before.iter().enumerate() {
            let words = PHASES.map(|p| scores.phases.count(m[&p], m[&p].measured));
            row(&trial.name, n, m, words);
        }
        let Some((domain, _)) = &trial.without else {
            changed.push(None);
            continue;
        };
        let after: Vec<Measured> = seen.by_ref().take(2).collect();
        for (n, (a, b)) in before.iter().zip(&after).enumerate() {
            let change = |p: Phase| Pair {
                predicted: b[&p].predicted - a[&p].predicted,
                measured: b[&p].measured - a[&p].measured,
            };
            let diff: Measured = PHASES.into_iter().map(|p| (p, change(p))).collect();
            let words = PHASES.map(|p| scores.changes.count(diff[&p], a[&p].measured));
            row(&format!("  change without {domain}"), n, &diff, words);
        }
        let [a, b]: [Measured; 2] = before.try_into().map_err(|_| anyhow!("not two"))?;
        let [c, d]: [Measured; 2] = after.try_into().map_err(|_| anyhow!("not two"))?;
        changed.push(Some([(a, c), (b, d)]));
    }
    println!("\nfrom recordings with switches alone, of {}:", kernel.release);
    for ((trial, captures), kernels) in trials.iter().zip(recorded.chunks(2)).zip(changed) {
        for (n, capture) in captures.iter().enumerate() {
            let machine = alone(capture, &trial.board, n == 1, &fitted.profile)?;
            let own = foretold(&machine, &machine.derived.board)?;
            let cycle = capture.cycles.last().context("no cycle")?;
            let pair = |p: Phase| -> Result<(Phase, Pair)> {
                let measured = cycle.phase(p).context("a phase is missing")?.measured().0;
                Ok((p, Pair { predicted: own[&p], measured }))
            };
            let itself: Measured = PHASES.into_iter().map(pair).collect::<Result<_>>()?;
            let words = PHASES.map(|p| scores.itself.count(itself[&p], itself[&p].measured));
            row(&trial.name, n, &itself, words);
            let (Some((domain, _)), Some(kernels)) = (&trial.without, &kernels) else { continue };
            let change = Change::Without(format!("domain:{domain}"));
            let board = apply(&machine.derived.board, &[change]).map_err(anyhow::Error::msg)?.board;
            let then = foretold(&machine, &board)?;
            let (before, after) = &kernels[n];
            let diff: Measured = PHASES
                .into_iter()
                .map(|p| {
                    let measured = after[&p].measured - before[&p].measured;
                    (p, Pair { predicted: then[&p] - own[&p], measured })
                })
                .collect();
            let words = PHASES.map(|p| scores.alone.count(diff[&p], before[&p].measured));
            row(&format!("  change without {domain}"), n, &diff, words);
        }
    }
    Ok(())
}

/// The machine as a recording alone says it. What the guest's own devices do is
/// computing.
fn alone(capture: &Capture, board: &Board, pm_async: bool, costs: &Profile) -> Result<Machine> {
    let cycle = capture.cycles.last().context("no cycle")?;
    let known = plan(board);
    let mut machine = recorded::machine(capture, cycle, &known, &Plan::new(), costs, 2)?;
    let one = Capture { cycles: vec![cycle.clone()], ..capture.clone() };
    let derived = derive(&one).map_err(anyhow::Error::msg)?;
    let own = guest(&derived.board, &known);
    machine.derived = derived;
    planned(&mut machine.derived.board, &[&own]);
    machine.derived.board.pm_async = pm_async;
    Ok(machine)
}

/// The noirq phases of a board.
fn foretold(machine: &Machine, board: &Board) -> Result<BTreeMap<Phase, Ns>> {
    let drawn = draws(board, machine.by, &machine.settings).map_err(|e| anyhow!("{e}"))?;
    PHASES
        .into_iter()
        .map(|p| {
            let mut times: Vec<Ns> = drawn.iter().map(|d| d.phase(p)).collect();
            Ok((p, middle(&mut times, Ns::mean).context("nothing was drawn")?))
        })
        .collect()
}

type Measured = BTreeMap<Phase, Pair>;

fn row(name: &str, pm_async: usize, m: &Measured, right: [&str; 2]) {
    let ms = |t: Ns| format!("{:.2}", t.0 as f64 / 1e6);
    let pair = |p: Phase| format!("{} {}", ms(m[&p].predicted), ms(m[&p].measured));
    println!(
        "{name:<24}{pm_async:>6}{:>16}{:>18}   {} {}",
        pair(Phase::Noirq),
        pair(Phase::ResumeNoirq),
        right[0],
        right[1]
    );
}

fn read(recording: &dormouse_machine::recording::Recording) -> Result<Capture> {
    let bytes = dormouse_machine::file::encode(recording, Vec::new())?;
    let reading = dormouse_read::read_bytes("recording", &bytes, &ReadOptions::default())?;
    reading.captures.into_iter().next().ok_or_else(|| anyhow!("the recording is empty"))
}

/// The noirq phases of the last cycle, and what the board says of them.
fn measured(capture: &Capture, board: &Board, pm_async: bool, costs: &Profile) -> Result<Measured> {
    let cycle = capture.cycles.last().context("no cycle")?;
    let mut machine = recorded::machine(capture, cycle, &plan(board), &Plan::new(), costs, 2)?;
    apply_domains(&mut machine.derived.board, board);
    machine.derived.board.pm_async = pm_async;
    let predicted = foretold(&machine, &machine.derived.board)?;
    PHASES
        .into_iter()
        .map(|p| {
            let measured = cycle.phase(p).context("a phase is missing")?.measured().0;
            Ok((p, Pair { predicted: predicted[&p], measured }))
        })
        .collect()
}
