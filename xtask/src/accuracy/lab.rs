//! Recordings of the laboratory, predicted from the board files they were made
//! from.

use super::order::{Start, out_of_order};
use super::recorded;
use super::verdict::{Sample, Table, spread};
use crate::decide::read_board;
use anyhow::{Context, Result, bail};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::derive::{Derived, derive};
use dormouse_sleep::evaluate::TIE;
use dormouse_sleep::simulate::planned::{Plan, guest, plan};
use dormouse_sleep::simulate::predict::{Outlook, draws};
use dormouse_sleep::simulate::{Profile, profile};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

struct Args {
    title: String,
    costs: Profile,
    guest: Plan,
    apart: bool,
    table: Option<String>,
    /// Show every callback of this phase.
    show: Option<String>,
    /// A board file and its recordings, one a boot.
    boards: Vec<(String, Vec<String>)>,
}

fn parse(args: &[String]) -> Result<Args> {
    let mut a = Args {
        title: String::new(),
        costs: Profile::x86(),
        guest: Plan::new(),
        apart: false,
        table: None,
        show: None,
        boards: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--title" => a.title = value()?.clone(),
            "--apart" => a.apart = true,
            "--table" => a.table = Some(value()?.clone()),
            "--show" => a.show = Some(value()?.clone()),
            "--profile" => {
                let file = value()?;
                let text =
                    fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
                a.costs = profile::parse(&text).with_context(|| file.clone())?;
            }
            "--guest" => {
                let derived = derive(&recorded::capture(value()?)?).map_err(anyhow::Error::msg)?;
                a.guest = guest(&derived.board, &Plan::new());
            }
            _ => match word.split_once('=') {
                Some((board, captures)) => {
                    a.boards.push((board.into(), captures.split(',').map(String::from).collect()))
                }
                None => bail!("{word}: write BOARD=CAPTURE[,CAPTURE…], one for each boot"),
            },
        }
    }
    Ok(a)
}

/// Predicts what is given and prints how far off that is.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let args = parse(args)?;
    let mut table = Table { title: args.title.clone(), judged: !args.apart, ..Table::default() };
    println!("== {}, costs: {}", args.title, args.costs.name);
    for (board, captures) in &args.boards {
        judge(board, captures, &args, &mut table)
            .with_context(|| format!("{board} and {}", captures.join(", ")))?;
    }
    let mut out = String::new();
    table.show(&mut out);
    println!("{out}");
    if let Some(file) = &args.table {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file)?;
        file.write_all(table.write().as_bytes())?;
    }
    Ok(())
}

/// One recorded cycle and its prediction.
struct Pair<'a> {
    /// Which boot it is of, and which cycle of that.
    boot: usize,
    number: usize,
    cycle: &'a Cycle,
    derived: Derived,
    /// Of each phase: how long it takes, and when each callback begins and ends.
    predicted: BTreeMap<Phase, (Ns, Times)>,
}

fn judge(file: &str, captures: &[String], args: &Args, table: &mut Table) -> Result<()> {
    let (name, board) = read_board(Path::new(file))?;
    let planned = plan(&board);
    let captures: Vec<Capture> =
        captures.iter().map(|c| recorded::capture(c)).collect::<Result<_>>()?;
    let mut pairs = Vec::new();
    for (boot, capture) in captures.iter().enumerate() {
        pairs.extend(predict(capture, boot, &planned, args)?);
    }
    println!(
        "{name}: {} devices, {} cycles of {} boots",
        board.devices.len(),
        pairs.len(),
        captures.len()
    );
    for phase in Phase::DEVICE {
        let times: Vec<(&Pair, Ns, Ns)> = pairs
            .iter()
            .filter_map(|p| {
                let span = p.cycle.phase(phase).filter(|s| s.complete)?;
                Some((p, p.predicted.get(&phase)?.0, span.measured().0))
            })
            .collect();
        let repeats = |cold: bool| {
            let alike = times.iter().filter(|t| t.0.cold(&pairs) == cold);
            spread(&alike.map(|t| t.2).collect::<Vec<_>>())
        };
        let (warm, cold) = (repeats(false), repeats(true));
        for &(pair, predicted, observed) in &times {
            // With one boot there is one cold cycle, which has no repeat.
            let spread = if pair.cold(&pairs) && captures.len() > 1 { cold } else { warm };
            let sample = Sample { predicted, observed, spread };
            if sample.beyond() {
                println!(
                    "  boot {}, cycle {}: {} took {observed}, predicted {predicted}, repeats within {spread}",
                    pair.boot + 1,
                    pair.number + 1,
                    phase.title()
                );
            }
            table.phases.entry(phase).or_default().push(sample);
        }
        if phase.may_be_async() {
            order(phase, &pairs, &board, table);
            if args.show.as_deref() == Some(phase.title()) {
                show(phase, &pairs);
            }
        }
    }
    Ok(())
}

fn predict<'a>(
    capture: &'a Capture,
    boot: usize,
    planned: &Plan,
    args: &Args,
) -> Result<Vec<Pair<'a>>> {
    let mut left = 2;
    let mut pairs = Vec::new();
    for (number, cycle) in capture.cycles.iter().enumerate() {
        let recorded::Machine { derived, by, settings } =
            recorded::machine(capture, cycle, planned, &args.guest, &args.costs, left)?;
        let draws = draws(&derived.board, by, &settings)?;
        let created = draws.iter().map(|d| d.run.tally.workers_created as i64);
        left = left.max(2 + median(created.map(Ns).collect()).0 as u32);
        pairs.push(Pair { boot, number, cycle, predicted: usual(&draws), derived });
    }
    Ok(pairs)
}

/// The medians of what was drawn.
fn usual(draws: &[Outlook]) -> BTreeMap<Phase, (Ns, Times)> {
    let mut all = BTreeMap::new();
    for phase in Phase::DEVICE {
        let mut seen: BTreeMap<u32, (Vec<Ns>, Vec<Ns>)> = BTreeMap::new();
        for draw in draws {
            for (device, (start, end)) in times(&draw.run.cycle, phase, |d| Some(d.0)) {
                let both = seen.entry(device).or_default();
                both.0.push(start);
                both.1.push(end);
            }
        }
        let time = median(draws.iter().map(|d| d.phase(phase)).collect());
        let times = seen.into_iter().map(|(d, (s, e))| (d, (median(s), median(e)))).collect();
        all.insert(phase, (time, times));
    }
    all
}

fn median(mut values: Vec<Ns>) -> Ns {
    middle(&mut values, Ns::mean).unwrap_or_default()
}

/// Begin and end of each device's callback in `phase` of `cycle`, relative to
/// the phase, by the number `place` gives.
fn times(cycle: &Cycle, phase: Phase, place: impl Fn(DeviceId) -> Option<u32>) -> Times {
    let Some(span) = cycle.phase(phase) else { return Times::new() };
    cycle
        .callbacks
        .iter()
        .filter(|c| c.phase == phase)
        .filter_map(|c| Some((place(c.device)?, (c.start - span.start, c.end - span.start))))
        .collect()
}

type Times = BTreeMap<u32, (Ns, Ns)>;

impl Pair<'_> {
    /// The first cycle after a boot has cold pools: it is no repeat of the
    /// others. With fewer than three there is nothing else to look at.
    fn cold(&self, pairs: &[Pair]) -> bool {
        self.number == 0 && pairs.iter().filter(|p| p.boot == self.boot).count() > 2
    }

    fn seen(&self, phase: Phase) -> Times {
        times(self.cycle, phase, |d| self.derived.place.get(d.index()).copied())
    }

    fn predicted(&self, phase: Phase) -> Times {
        self.predicted.get(&phase).map(|p| p.1.clone()).unwrap_or_default()
    }

    fn name(&self, d: u32) -> &str {
        let board = &self.derived.board;
        board.names.get(board.graph.get(DeviceId(d)).name)
    }
}

/// Counts and lists the devices of the board that start in another order than
/// predicted. The guest's own are left out: some move in the kernel's list from
/// one cycle to the next.
fn order(phase: Phase, pairs: &[Pair], board: &Board, table: &mut Table) {
    let warm: Vec<&Pair> = pairs.iter().filter(|p| !p.cold(pairs)).collect();
    let Some(&last) = warm.last() else { return };
    let seen: Vec<Times> = warm.iter().map(|p| p.seen(phase)).collect();
    let predicted = last.predicted(phase);
    let graph = &last.derived.board.graph;
    let starts: Vec<Start> = predicted
        .iter()
        .filter(|(device, _)| !graph.get(DeviceId(**device)).facts.guest)
        .filter_map(|(&device, &(start, _))| {
            let seen: Option<Vec<Ns>> = seen.iter().map(|s| Some(s.get(&device)?.0)).collect();
            Some(Start { device, seen: seen?, predicted: start })
        })
        .collect();
    let wrong = out_of_order(&starts);
    table.starts += starts.len() as u64;
    table.wrong += wrong.len() as u64;
    for w in wrong {
        let s = &starts[w];
        println!(
            "  {}: {} started at {}, predicted at {}: {}",
            phase.title(),
            last.name(s.device),
            s.usual(),
            s.predicted,
            reason(phase, s, &starts, last, board)
        );
    }
}

/// Why a device starts at another time than predicted, as far as the recording
/// tells.
fn reason(phase: Phase, s: &Start, starts: &[Start], last: &Pair, board: &Board) -> String {
    let off = s.usual() - s.predicted;
    let (seen, predicted) = (last.seen(phase), last.predicted(phase));
    let graph = &last.derived.board.graph;
    let d = DeviceId(s.device);
    let mut before: Vec<DeviceId> = Vec::new();
    match phase.direction() {
        Direction::Resume => {
            before.extend(graph.get(d).parent);
            before.extend(graph.links.iter().filter(|l| l.consumer == d).map(|l| l.supplier));
        }
        Direction::Suspend => {
            let children = (0..graph.devices.len() as u32).map(DeviceId);
            before.extend(children.filter(|&c| graph.get(c).parent == Some(d)));
            before.extend(graph.links.iter().filter(|l| l.supplier == d).map(|l| l.consumer));
        }
    }
    let latest = before
        .iter()
        .filter_map(|b| Some((b.0, seen.get(&b.0)?.1, predicted.get(&b.0)?.1)))
        .max_by_key(|b| b.1);
    if let Some((b, end, expected)) = latest
        && (end - expected).0.signum() == off.0.signum()
        && (end - expected).0.abs() * 2 > off.0.abs()
    {
        return format!("what it waits for, {}, ended {} off", last.name(b), end - expected);
    }
    let near = starts.iter().filter(|o| (o.usual() - s.usual()).0.abs() < 4 * TIE.0).count();
    if near > 4 {
        return format!(
            "{} of {} devices start within {} of it; the order in which CPUs and workers get to them is not known",
            near - 1,
            board.devices.len(),
            Ns(4 * TIE.0)
        );
    }
    "not explained".into()
}

/// Every callback of a phase in the last cycle, observed and predicted.
fn show(phase: Phase, pairs: &[Pair]) {
    for (i, pair) in pairs.iter().enumerate() {
        let predicted = pair.predicted(phase);
        let mut seen: Vec<_> = pair.seen(phase).into_iter().collect();
        seen.sort_by_key(|s| s.1.0);
        for (d, (start, end)) in seen {
            let Some(&(s, e)) = predicted.get(&d) else { continue };
            let us = |t: Ns| t.0 / 1000;
            println!(
                "    {} {:<14} start {:>7} {:>7} ({:>5})  end {:>7} {:>7}  longer {:>5}",
                i + 1,
                pair.name(d),
                us(start),
                us(s),
                us(start - s),
                us(end),
                us(e),
                us((end - start) - (e - s))
            );
        }
    }
}
