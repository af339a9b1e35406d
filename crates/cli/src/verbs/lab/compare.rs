//! `dormouse compare`: the same boards on two kernels.

use super::{any, read_board, sleep};
use crate::number::number;
use crate::terminal::print;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dormouse_app::compare::{Side, is_slower, moved, sides};
use dormouse_app::failure::{NotMet, Usage};
use dormouse_board::Board;
use dormouse_lab::capture::{Wish, capture};
use dormouse_lab::kernels::Kernel;
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine, usual_cpus};
use dormouse_machine::recording::Recording;
use dormouse_words::comparison::order::{OfBoard, boards, starts};
use dormouse_words::comparison::text;
use dormouse_words::wording::next::{next, word};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Two kernels, boards, and how they sleep.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse compare plain mine --board boards/laptop.board\n  dormouse compare 6.12 7.3 --board boards/*.board --sleep s2idle"
)]
pub(crate) struct CompareArgs {
    /// A series such as 7.3, or the name of a kernel that lab build made.
    first: String,
    /// The kernel that is compared with it.
    second: String,
    /// Board files.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    board: Vec<PathBuf>,
    /// devices, platform and core are test levels (pm_test); s2idle and deep
    /// really sleep.
    #[arg(long, value_parser = sleep, default_value = "platform",
          value_name = "devices|platform|core|s2idle|deep")]
    sleep: Sleep,
    /// Boots of each board on each kernel, each with the next seed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1, 1_000))]
    samples: u32,
    /// Cycles of each boot; the first after a boot is slower than the others.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(1, 10_000))]
    cycles: u32,
    /// CPUs of the guest; as many as the board has, at most 4, if absent.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 64))]
    cpus: Option<u32>,
    /// Draws another sample: seed of every random number the guest gets.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = any)]
    seed: u64,
    /// Keep the recordings of both sides in this folder.
    #[arg(long, value_name = "DIR")]
    keep_recordings: Option<PathBuf>,
    /// Exit with code 4 if a total of a board is slower by more than this, beyond
    /// the 5 % level; for example 3%.
    #[arg(long, value_name = "PERCENT", value_parser = crate::verbs::compare::percent)]
    fail_if_slower: Option<f64>,
}

impl CompareArgs {
    /// The page of both sides, where they were kept; else how to keep them.
    fn next(&self, labels: [&str; 2]) -> String {
        match (&self.keep_recordings, &self.board[..]) {
            (Some(folder), [board, ..]) => {
                let name = board.file_stem().unwrap_or_default().to_string_lossy();
                let [a, b] = labels.map(|l| {
                    let path = folder.join(file_name(&name, l));
                    word(&path.display().to_string())
                });
                format!("report --compare {a} {b} -o report.html")
            }
            _ => {
                let boards = self.board.iter().map(|b| word(&b.display().to_string()));
                let boards = boards.collect::<Vec<_>>().join(" ");
                let [a, b] = labels.map(word);
                format!("compare {a} {b} --board {boards} --keep-recordings kept")
            }
        }
    }
}

fn file_name(board: &str, label: &str) -> String {
    format!("{board}-{label}.tar.gz")
}

/// A kernel, by the name it was asked for.
struct Contender {
    label: String,
    kernel: Kernel,
}

impl Contender {
    fn find(asked: &str) -> Result<Contender> {
        remark!("dormouse: kernel {asked}");
        Ok(Contender { label: asked.into(), kernel: super::kernel_of(Arch::Amd64, asked)? })
    }

    fn run(&self, a: &CompareArgs, board: &Board) -> Result<Recording> {
        let kernel = &self.kernel;
        let cpus = a.cpus.unwrap_or_else(|| usual_cpus(Accel::Icount, kernel, Some(board)));
        let mut machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
        machine.seed = a.seed;
        let wish = Wish {
            board: Some(board),
            waits: &[],
            sleep: a.sleep,
            pm_async: board.pm_async,
            cycles: a.cycles,
            detail: Vec::new(),
            samples: a.samples,
            limit: Duration::from_secs(900),
        };
        Ok(capture(kernel, &machine, &wish)?)
    }
}

/// Runs the verb.
pub(crate) fn run(a: &CompareArgs) -> Result<()> {
    if a.first == a.second {
        return Err(Usage(format!("both kernels are {}", a.first)).into());
    }
    let both = [Contender::find(&a.first)?, Contender::find(&a.second)?];
    let labels = [0, 1].map(|i: usize| both[i].label.as_str());
    let mut all: Vec<(String, [Side; 2])> = Vec::new();
    for path in &a.board {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let board = read_board(path)?;
        let mut made = Vec::new();
        for one in &both {
            remark!("dormouse: {name}: {} boots of {}", a.samples, one.kernel.release);
            let recording = one
                .run(a, &board)
                .with_context(|| format!("{} on {}", path.display(), one.label))?;
            if let Some(folder) = &a.keep_recordings {
                keep(folder, &name, &one.label, &recording)?;
            }
            made.push(Side::of_recordings(&one.label, std::slice::from_ref(&recording))?);
        }
        let pair = made.try_into().map_err(|_| anyhow!("two kernels have two sides"))?;
        all.push((name, pair));
    }
    let comparisons = all.iter().map(|(_, pair)| sides(pair, false)).collect::<Result<Vec<_>>>()?;
    let moves: Vec<_> = all.iter().map(|(_, [a, b])| moved(a, b)).collect();
    let mut out = String::new();
    if let ([comparison], [moves]) = (&comparisons[..], &moves[..]) {
        out.push_str(&text::text(comparison, &[]));
        out.push('\n');
        out.push_str(&starts(moves, labels));
    } else {
        let rows: Vec<OfBoard<'_>> = all
            .iter()
            .zip(comparisons.iter().zip(&moves))
            .map(|((board, _), (comparison, moves))| OfBoard {
                board,
                comparison,
                moved: moves.len(),
            })
            .collect();
        out.push_str(&boards(&rows, labels));
    }
    out.push('\n');
    out.push_str(&next(&a.next(labels)));
    print(&out)?;
    match a.fail_if_slower {
        Some(limit) if comparisons.iter().any(|c| is_slower(c, limit)) => Err(NotMet(format!(
            "a total is slower by more than {limit} %, beyond the 5 % level (--fail-if-slower)"
        ))
        .into()),
        _ => Ok(()),
    }
}

fn keep(folder: &Path, board: &str, label: &str, recording: &Recording) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let to = folder.join(file_name(board, label));
    recording.save(&to).with_context(|| format!("cannot write {}", to.display()))?;
    crate::terminal::wrote(&to, "");
    Ok(())
}
