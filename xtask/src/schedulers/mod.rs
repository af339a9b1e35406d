//! Who starts devices: the kernel's own walk beside the readiness scheduler of
//! `kernel/scheduler`, on the same boards and kernels.
//!
//! `schedulers [--kernels LIST] [--cycles N] [--drawn N] [--seed S] [BOARD…]`: each
//! board on each kernel, three times: the kernel alone, the scheduler, and the
//! scheduler that takes the next ready synchronous device (`conserve`). The first
//! cycle of a board is cold; the others are warm. Every cycle's order is checked.
//! `no less` is the schedule of the simulator for the same rules without any cost.

pub mod order;

use crate::MISSED;
use crate::decide::read_board;
use anyhow::{Context, Result, anyhow, bail, ensure};
use dormouse_board::Board;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::{Record, Sleep};
use dormouse_lab::qemu::{Accel, Arch, Machine, usual_cpus};
use dormouse_lab::run::{Boot, Job, run as boot};
use dormouse_lab::trace::{Intervals, cycles};
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_sleep::simulate::policy::DC;
use dormouse_sleep::simulate::{Settings, simulate};
use dormouse_stats::random::Random;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// A boot that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(900);
/// Phases that the table shows.
const SHOWN: [Phase; 6] = [
    Phase::Suspend,
    Phase::Late,
    Phase::Noirq,
    Phase::ResumeNoirq,
    Phase::ResumeEarly,
    Phase::Resume,
];
/// A phase may last this much longer than the kernel's own: so many percent, or
/// less than this.
const PERCENT: i64 = 2;
const FLOOR: Ns = Ns(100_000);
/// Words of the kernel log that stand for a fault.
const FAULTS: [&str; 7] =
    ["WARNING:", "BUG:", "Oops", "Call Trace", "INFO: task", "lockdep", "refcount_t"];

/// Who schedules: a word for the table, and the module's parameters.
const WAYS: [(&str, Option<&str>); 3] =
    [("kernel", None), ("ready", Some("")), ("conserve", Some("conserve=1"))];

/// Where `no less` is longer than this, the scheduler may last so many percent and
/// this much longer than that.
const LONG: Ns = Ns(20_000_000);
const OVER_PERCENT: i64 = 5;
const OVER: Ns = Ns(300_000);
/// Boards of one boot; the guest's memory holds the results.
const PER_BOOT: usize = 12;

struct Args {
    kernels: Vec<String>,
    cycles: u32,
    drawn: usize,
    seed: u64,
    boards: Vec<(String, Board)>,
}

fn parse(args: &[String]) -> Result<Args> {
    let mut a = Args {
        kernels: vec!["6.12".into(), "7.3".into()],
        cycles: 3,
        drawn: 0,
        seed: 1,
        boards: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--kernels" => a.kernels = value()?.split(',').map(str::to_owned).collect(),
            "--cycles" => a.cycles = value()?.parse().context("--cycles takes a number")?,
            "--drawn" => a.drawn = value()?.parse().context("--drawn takes a number")?,
            "--seed" => a.seed = value()?.parse().context("--seed takes a number")?,
            _ if word.starts_with('-') => {
                bail!("{word}: write --kernels, --cycles, --drawn, --seed or a board")
            }
            _ => a.boards.push(read_board(Path::new(word))?),
        }
    }
    ensure!(a.cycles > 1, "--cycles: the first is cold, so give two or more");
    a.boards.extend((0..a.drawn as u64).map(|n| drawn(a.seed, n)));
    if a.boards.is_empty() {
        a.boards = extremes()?;
        for name in ["am335x", "phone", "laptop", "server"] {
            a.boards.push(read_board(Path::new(&format!("boards/{name}.board")))?);
        }
    }
    Ok(a)
}

/// Board number `n` of `seed`: 20 to 4,000 devices of all shapes, links of every kind.
fn drawn(seed: u64, n: u64) -> (String, Board) {
    let seed = seed.wrapping_mul(1_000) + n;
    let mut random = Random::new(seed);
    // Most boards are small: the size is drawn by its logarithm.
    let devices = (20.0 * 200_f64.powf(random.below(1_000) as f64 / 1_000.0)) as u32;
    let mut percent = |most: u64| random.below(most + 1) as u32;
    let board = generate(&Options {
        seed,
        devices,
        cpus: 4,
        depth: 2 + percent(6),
        fan_out: 2 + percent(6),
        links: percent(60),
        dormant: percent(20),
        sync_state_only: percent(20),
        async_share: percent(100),
        class_children: percent(40),
        late: percent(40),
        noirq: percent(40),
        direct_complete: percent(20),
        durations: Durations { low: Ns::from_us(5), high: Ns::from_ms(10) },
        ..Options::default()
    });
    (format!("drawn{seed}-{devices}"), board)
}

/// Boards on which schedulers differ most: many devices that wait for nobody,
/// asynchronous ones behind children without callbacks, long chains.
fn extremes() -> Result<Vec<(String, Board)>> {
    let mut flat = String::from("board 1\ncpus 4\n");
    let mut gated = String::from("board 1\ncpus 4\n");
    let mut chains = String::from("board 1\ncpus 4\n");
    for i in 0..200 {
        flat += &format!("device f{i} async suspend=2ms resume=2ms\n");
    }
    for i in 0..60 {
        gated += &format!("device g{i} async suspend=20ms resume=20ms\n");
        gated += &format!("device g{i}c parent=g{i} sync class\n");
    }
    for i in 0..10 {
        gated += &format!("device s{i} sync suspend=5ms resume=5ms\n");
    }
    for i in 0..20 {
        for k in 0..10 {
            let parent = if k == 0 { String::new() } else { format!("parent=c{i}_{} ", k - 1) };
            chains += &format!("device c{i}_{k} {parent}async suspend=2ms resume=2ms\n");
        }
    }
    [("flat", flat), ("gated", gated), ("chains", chains)]
        .into_iter()
        .map(|(name, text)| {
            let board = dormouse_board::parse(&text).map_err(|e| anyhow!("{name}: {e}"))?;
            Ok((name.to_owned(), board))
        })
        .collect()
}

/// One boot of `kernel` with these boards.
fn play(
    kernel: &Kernel,
    boards: &[(String, Board)],
    cycles: u32,
    scheduler: Option<&str>,
) -> Result<Boot> {
    let largest = boards.iter().map(|(_, b)| b).max_by_key(|b| b.cpus);
    let cpus = usual_cpus(Accel::Icount, kernel, largest);
    let mut machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
    machine.scheduler = scheduler.map(str::to_owned);
    let jobs: Vec<Job<'_>> = boards
        .iter()
        .map(|(name, board)| Job {
            name: name.clone(),
            board: Some(board),
            waits: &[],
            sleep: Sleep::Platform,
            pm_async: board.pm_async,
            cycles,
            detail: Vec::new(),
            record: Record::No,
            phases: false,
        })
        .collect();
    Ok(boot(kernel, &machine, &jobs, LIMIT)?)
}

#[derive(Default)]
struct Score {
    relations: usize,
    wrong: usize,
    callbacks: usize,
    cycles: usize,
    faults: usize,
    phases: usize,
    worse: Vec<String>,
    long: usize,
    over: Vec<String>,
}

/// `12.34`: milliseconds.
fn ms(t: Ns) -> String {
    format!("{:.2}", t.0 as f64 / 1e6)
}

/// Cold, then the median of the warm ones.
fn cold_and_warm(all: &[Intervals], phase: Phase) -> (Ns, Ns) {
    let mut times: Vec<Ns> =
        all.iter().map(|c| c.phases.get(&phase).copied().unwrap_or_default()).collect();
    let cold = times.remove(0);
    times.sort_unstable();
    (cold, times[times.len() / 2])
}

fn judge(
    title: &str,
    board: &Board,
    ways: &[(&str, &Boot)],
    index: usize,
    all_rows: bool,
    score: &mut Score,
) -> Result<()> {
    let seen: Vec<Vec<Intervals>> =
        ways.iter().map(|(_, b)| cycles(&b.outcomes[index].trace)).collect();
    for ((way, boot), all) in ways.iter().zip(&seen) {
        ensure!(all.len() > 1, "{title}, {way}: the trace holds {} cycles", all.len());
        for (n, cycle) in all.iter().enumerate() {
            let checked = order::check(board, &boot.outcomes[index].description, cycle);
            score.cycles += 1;
            score.relations += checked.relations;
            score.wrong += checked.wrong.len();
            for w in checked.wrong.iter().take(3) {
                println!("WRONG ORDER {title}, {way}, cycle {}: {w}", n + 1);
            }
            // What still runs after a failure is a matter of time.
            let fails = board.devices.iter().flat_map(|d| d.work).flatten().any(|w| w.ret < 0);
            let same = fails || order::called(cycle) == order::called(&seen[0][0]);
            score.callbacks += usize::from(!same);
            if !same {
                println!("OTHER CALLBACKS {title}, {way}, cycle {}", n + 1);
            }
        }
    }
    // The same rules without any cost, and without the guest's own devices.
    let ideal =
        simulate(board, &DC, &Settings::zero_cost()).map_err(|e| anyhow!("{title}: {e}"))?;
    for phase in SHOWN {
        let times: Vec<(Ns, Ns)> = seen.iter().map(|all| cold_and_warm(all, phase)).collect();
        let (kernel, ready) = (times[0], times[1]);
        if times.iter().all(|(c, w)| *c < FLOOR && *w < FLOOR) {
            continue;
        }
        let least = ideal.cycle.phase(phase).map(|s| s.duration()).unwrap_or_default();
        let mut row = format!("{title:20} {:13} {:>8}", phase.title(), ms(least));
        for (cold, warm) in &times {
            row += &format!(" {:>8} {:>8}", ms(*cold), ms(*warm));
        }
        let gain = kernel.1 - ready.1;
        if all_rows || gain.0.abs() > OVER.0 && gain.0.abs() * 100 > kernel.1.0 * OVER_PERCENT {
            println!("{row}");
        }
        if least > LONG {
            score.long += 1;
            let most = least.0 * (100 + OVER_PERCENT) / 100 + OVER.0;
            if ready.0.0.max(ready.1.0) > most {
                score.over.push(format!(
                    "{title} {}: {} and {} ms, no less than {}",
                    phase.title(),
                    ms(ready.0),
                    ms(ready.1),
                    ms(least)
                ));
            }
        }
        for (kind, k, r) in [("cold", kernel.0, ready.0), ("warm", kernel.1, ready.1)] {
            score.phases += 1;
            let over = r - k;
            if over > FLOOR && over.0 * 100 > k.0 * PERCENT {
                score.worse.push(format!(
                    "{title} {} {kind}: {} instead of {} ms",
                    phase.title(),
                    ms(r),
                    ms(k)
                ));
            }
        }
    }
    Ok(())
}

/// The boards on the kernel with each scheduler, a boot each.
fn compare(
    series: &str,
    kernel: &Kernel,
    boards: &[(String, Board)],
    cycles: u32,
    all_rows: bool,
    score: &mut Score,
) -> Result<()> {
    let boots: Vec<Boot> = WAYS
        .iter()
        .map(|(way, scheduler)| {
            play(kernel, boards, cycles, *scheduler).with_context(|| format!("{series}, {way}"))
        })
        .collect::<Result<_>>()?;
    let ways: Vec<(&str, &Boot)> = WAYS.iter().zip(&boots).map(|((way, _), b)| (*way, b)).collect();
    for (way, b) in &ways {
        for line in b.log.lines().filter(|l| FAULTS.iter().any(|f| l.contains(f))) {
            score.faults += 1;
            println!("KERNEL {series}, {way}: {line}");
        }
    }
    for (i, (name, board)) in boards.iter().enumerate() {
        judge(&format!("{name} {series}"), board, &ways, i, all_rows, score)?;
    }
    // What the scheduler says of the last warm cycle.
    for (i, (name, _)) in boards.iter().enumerate().filter(|_| all_rows) {
        let said = &boots[1].scheduler[i];
        let of = |key: &str| {
            let line = said.lines().find_map(|l| l.strip_prefix(&format!("{key} ")));
            line.unwrap_or("?").to_owned()
        };
        println!(
            "{name} {series}: suspend has {} relays, {} in the pool, {} on the caller; graph {} \
             us, then {} us a phase; workers {}, at once {}; longest wait {} us for {}",
            of("suspend/relays"),
            of("suspend/pool"),
            of("suspend/main"),
            us(&of("suspend/graph_ns")),
            us(&of("resume_early/graph_ns")),
            of("workers"),
            of("peak"),
            us(&of("suspend/wait_ns")),
            of("suspend/waited_for"),
        );
    }
    Ok(())
}

/// Prints the table; [`MISSED`] if the scheduler is slower or wrong anywhere.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let a = parse(args)?;
    let mut score = Score::default();
    println!(
        "{} boards, {} of them drawn with seed {}; {} cycles of each.",
        a.boards.len(),
        a.drawn,
        a.seed,
        a.cycles
    );
    println!("{:43} {:>17} {:>17} {:>17}", "", "kernel", "ready", "conserve");
    println!(
        "{:20} {:13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "board and kernel", "phase, ms", "no less", "cold", "warm", "cold", "warm", "cold", "warm"
    );
    let few = a.boards.len() <= PER_BOOT;
    if !few {
        println!(
            "Rows where the scheduler differs by more than {OVER_PERCENT} % and {} ms:",
            ms(OVER)
        );
    }
    for series in &a.kernels {
        let kernel = kernels::get(Arch::Amd64, series)?;
        for boards in a.boards.chunks(PER_BOOT) {
            compare(series, &kernel, boards, a.cycles, few, &mut score)?;
        }
    }
    println!(
        "\nCycles: {}. Order relations: {}, wrong {}. Cycles with other callbacks than the \
         kernel's: {}. Faults in kernel logs: {}.",
        score.cycles, score.relations, score.wrong, score.callbacks, score.faults
    );
    println!(
        "Phases of the scheduler at most {PERCENT} % or {} ms longer than the kernel's: {} of {}.",
        ms(FLOOR),
        score.phases - score.worse.len(),
        score.phases
    );
    for w in &score.worse {
        println!("  longer: {w}");
    }
    println!(
        "Phases of more than {} ms at most {OVER_PERCENT} % and {} ms longer than no less: {} of {}.",
        ms(LONG),
        ms(OVER),
        score.long - score.over.len(),
        score.long
    );
    for o in &score.over {
        println!("  longer: {o}");
    }
    let missed = score.worse.len() + score.over.len();
    let met = score.wrong + score.callbacks + score.faults + missed == 0 && score.phases > 0;
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// Nanoseconds in text as microseconds.
fn us(ns: &str) -> String {
    ns.parse::<u64>().map_or_else(|_| ns.to_owned(), |n| (n / 1_000).to_string())
}
