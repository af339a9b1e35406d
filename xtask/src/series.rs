//! What each step of a series of patches changed: the same boards on a kernel without
//! patches and on one built after each (`dormouse lab build --each`).
//!
//! `series [--cycles N] KERNEL KERNEL… [-- BOARD…]`: the first kernel is the one without, the
//! last the one with all of kernel/upstream, whose times are foretold too.

use crate::decide::read_board;
use crate::missed::MISSED;
use crate::order;
use anyhow::{Context, Result, anyhow, bail, ensure};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_lab::kernels;
use dormouse_lab::plan::{Record, Sleep};
use dormouse_lab::qemu::{Accel, Arch, Machine, usual_cpus};
use dormouse_lab::run::{Boot, Job, run as boot};
use dormouse_lab::trace::{Intervals, cycles};
use dormouse_sleep::simulate::policy::{G4, SERIES};
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// A boot that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(3_000);
/// Phases that are not shown where all kernels need less, but of the first board.
const SHORT: Ns = Ns(1_000_000);
/// Phases, as a mail has room for them.
const SHOWN: [(Phase, &str); 6] = [
    (Phase::Suspend, "suspend"),
    (Phase::Late, "late"),
    (Phase::Noirq, "noirq"),
    (Phase::ResumeNoirq, "res. noirq"),
    (Phase::ResumeEarly, "early"),
    (Phase::Resume, "resume"),
];
/// What a patch saves in a phase is foretold if it is off by less than this share.
const OFF: i64 = 2;

/// Words of a kernel's log that stand for a fault.
const FAULTS: [&str; 6] = ["WARNING:", "BUG:", "Oops", "Call Trace", "INFO: task", "refcount_t"];

/// Chains of asynchronous devices, and an asynchronous device behind a child without
/// callbacks; then a machine.
fn usual_boards() -> Result<Vec<(String, Board)>> {
    let mut chains = String::from("board 1\ncpus 4\n");
    for i in 0..20 {
        for k in 0..10 {
            let parent = if k == 0 { String::new() } else { format!("parent=c{i}_{} ", k - 1) };
            chains += &format!("device c{i}_{k} {parent}async suspend=2ms resume=2ms\n");
        }
    }
    let chains = dormouse_board::parse(&chains).map_err(|e| anyhow!("chains: {e}"))?;
    let mut out = vec![("chains".to_owned(), chains)];
    for path in ["boards/cases/c25.board", "boards/am335x.board"] {
        out.push(read_board(Path::new(path))?);
    }
    Ok(out)
}

/// More devices than the queue of the asynchronous workers holds (1,024 items): parents
/// without callbacks above a short and a long branch, beside a slow synchronous device;
/// and 5,000 of each kind.
fn crowds() -> Result<Vec<(String, Board)>> {
    let mut queue = String::from("board 1\ncpus 4\n");
    for i in 0..1_100 {
        queue += &format!("device p{i}\ndevice short{i} parent=p{i} async suspend=10us\n");
        queue += &format!("device long{i} parent=p{i} async suspend=100us\n");
    }
    queue += "device slow sync suspend=200ms\n";
    let mut many = String::from("board 1\ncpus 4\n");
    let all = "suspend=20us late=2us noirq=2us resume_noirq=2us early=2us resume=20us";
    for i in 0..5_000 {
        many += &format!("device i{i}\ndevice a{i} parent=i{i} async {all}\n");
        many += &format!("device s{i} parent=a{i} sync suspend=3us resume=3us\n");
        many += &format!("device c{i} parent=s{i} class\n");
    }
    let board = |name: &str, text: &str| {
        let board = dormouse_board::parse(text).map_err(|e| anyhow!("{name}: {e}"))?;
        Ok::<_, anyhow::Error>((name.to_owned(), board))
    };
    Ok(vec![board("queue", &queue)?, board("many", &many)?])
}

/// `12.34`: milliseconds.
fn ms(t: Ns) -> String {
    format!("{:.2}", t.0 as f64 / 1e6)
}

/// One kernel's boot.
struct Step {
    name: String,
    release: String,
    boot: Boot,
}

impl Step {
    fn run(name: &str, boards: &[(String, Board)], cycles: u32) -> Result<Step> {
        let kernel = kernels::get(Arch::Amd64, name)?;
        let largest = boards.iter().map(|(_, b)| b).max_by_key(|b| b.cpus);
        let cpus = usual_cpus(Accel::Icount, &kernel, largest);
        let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
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
        let boot = boot(&kernel, &machine, &jobs, LIMIT).with_context(|| name.to_owned())?;
        Ok(Step { name: name.into(), release: kernel.release, boot })
    }

    /// Times of a phase of board `index`: cold, and the median of the warm ones.
    fn times(&self, index: usize, phase: Phase) -> Result<(Ns, Ns)> {
        let all = cycles(&self.boot.outcomes[index].trace);
        ensure!(all.len() > 1, "{}: the trace holds {} cycles", self.name, all.len());
        let mut times: Vec<Ns> =
            all.iter().map(|c| c.phases.get(&phase).copied().unwrap_or_default()).collect();
        let cold = times.remove(0);
        times.sort_unstable();
        Ok((cold, times[times.len() / 2]))
    }

    /// Orders that are wrong, callbacks that differ from `first`'s, complaints.
    fn faults(&self, boards: &[(String, Board)], first: &Step) -> (usize, Vec<String>) {
        let mut relations = 0;
        let mut out = Vec::new();
        for (i, (name, board)) in boards.iter().enumerate() {
            let outcome = &self.boot.outcomes[i];
            let stock: Vec<Intervals> = cycles(&first.boot.outcomes[i].trace);
            for cycle in cycles(&outcome.trace) {
                let checked = order::check(board, &outcome.description, &cycle);
                relations += checked.relations;
                out.extend(checked.wrong.iter().map(|w| format!("{name}: {w}")));
                if order::called(&cycle) != order::called(&stock[0]) {
                    out.push(format!("{name}: other callbacks than {}", first.name));
                }
            }
        }
        let complaints = self.boot.log.lines().filter(|l| FAULTS.iter().any(|f| l.contains(f)));
        out.extend(complaints.map(str::to_owned));
        (relations, out)
    }
}

/// The rows of `step` beside those of `first`, for a mail.
fn table(first: &Step, step: &Step, boards: &[(String, Board)]) -> Result<String> {
    let mut out = format!("{:18} {:>17} {:>17}\n", "", "without series", "this patch");
    out += &format!(
        "{:7} {:10} {:>8} {:>8} {:>8} {:>8}\n",
        "board", "phase, ms", "cold", "warm", "cold", "warm"
    );
    for (i, (name, _)) in boards.iter().enumerate() {
        for (phase, title) in SHOWN {
            let (a, b) = (first.times(i, phase)?, step.times(i, phase)?);
            // Short phases say the same of every board.
            if i > 0 && [a.0, a.1, b.0, b.1].iter().all(|t| *t < SHORT) {
                continue;
            }
            out += &format!(
                "{name:7} {title:10} {:>8} {:>8} {:>8} {:>8}\n",
                ms(a.0),
                ms(a.1),
                ms(b.0),
                ms(b.1)
            );
        }
    }
    Ok(out)
}

/// What the model says that the series saves in each phase of `board`.
fn foretold(board: &Board) -> Result<impl Fn(Phase) -> Ns> {
    let settings = Settings { profile: Profile::x86(), ..Settings::zero_cost() };
    let run = |policy| {
        let by = Scheduler { policy, kernel: None };
        outlook(board, by, &settings).map_err(anyhow::Error::msg)
    };
    let (before, after) = (run(&G4)?, run(&SERIES)?);
    Ok(move |phase| before.phase(phase) - after.phase(phase))
}

/// What the whole series saves, beside what was foretold: lines, how many phases, and how
/// many of them right.
fn savings(first: &Step, last: &Step, boards: &[(String, Board)]) -> Result<(String, [usize; 2])> {
    let mut out = String::from("Saved by all patches, warm, ms:    done  foretold\n");
    let (mut all, mut right) = (0, 0);
    for (i, (name, board)) in boards.iter().enumerate() {
        let foretold = foretold(board)?;
        for (phase, title) in SHOWN {
            let (done, said) =
                (first.times(i, phase)?.1 - last.times(i, phase)?.1, foretold(phase));
            if done.0.abs().max(said.0.abs()) < SHORT.0 {
                continue;
            }
            let near = (done - said).0.abs() * 100 <= done.0.abs() * OFF;
            all += 1;
            right += usize::from(near);
            let mark = if near { "" } else { "  off" };
            out += &format!("{name:12} {title:14} {:>12} {:>9}{mark}\n", ms(done), ms(said));
        }
    }
    Ok((out, [all, right]))
}

/// Prints what each kernel changed; [`MISSED`] if one is wrong or complains.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (mut names, mut boards, mut count) = (Vec::new(), Vec::new(), 3);
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--cycles" => count = value()?.parse().context("--cycles takes a number")?,
            "--" => {
                for path in args.by_ref() {
                    boards.push(read_board(Path::new(path))?);
                }
            }
            _ if word.starts_with('-') => bail!("{word}: write --cycles or --"),
            _ => names.push(word.clone()),
        }
    }
    ensure!(names.len() > 1, "name a kernel without patches and one with");
    if boards.is_empty() {
        boards = usual_boards()?;
    }
    boards.extend(crowds()?);
    let first = Step::run(&names[0], &boards, count)?;
    let (mut wrong, mut last) = (0, None);
    for name in names.iter().skip(1) {
        let step = Step::run(name, &boards, count)?;
        println!("\n{} boots; beside {}:\n", step.release, first.release);
        let text = table(&first, &step, &boards)?;
        print!("{text}");
        let (relations, faults) = step.faults(&boards, &first);
        println!("Order relations: {relations}, faults {}.", faults.len());
        for f in faults.iter().take(5) {
            println!("  {f}");
        }
        wrong += faults.len();
        last = Some(step);
    }
    if let Some(last) = last {
        let (text, [all, right]) = savings(&first, &last, &boards)?;
        println!("\n{text}Foretold within {OFF} %: {right} of {all}.");
    }
    println!("{}", if wrong == 0 { "PASS" } else { "MISSED" });
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}
