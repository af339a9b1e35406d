//! How far predictions are from recordings of real machines.
//!
//! Every cycle is predicted twice: from its own callback times, which tests the
//! scheduling model alone, and from the medians of the other cycles, which is
//! what a user gets.

use super::observed;
use super::order::TIE;
use anyhow::{Context, Result, bail};
use dormouse_board::Board;
use dormouse_board::derive::{Derived, derive};
use dormouse_model::capture::Capture;
use dormouse_model::cycle::Cycle;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_read::{Input, Options};
use dormouse_sleep::simulate::infer;
use dormouse_sleep::simulate::kernel::Kernel;
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, outlook, phase_words};
use dormouse_sleep::simulate::{Profile, Settings, profile};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Errors of one phase over all cycles.
#[derive(Default)]
struct Errors {
    /// Error in parts per million of the observed time, and in time.
    relative: Vec<i64>,
    absolute: Vec<i64>,
}

impl Errors {
    fn add(&mut self, predicted: Ns, observed: Ns) {
        let off = (predicted - observed).0.abs();
        self.absolute.push(off);
        self.relative.push(off.saturating_mul(1_000_000) / observed.0.max(1));
    }

    fn line(&mut self) -> String {
        self.relative.sort_unstable();
        self.absolute.sort_unstable();
        let at = |v: &[i64], percent: usize| v[(v.len() - 1) * percent / 100];
        format!(
            "{:>8.2} {:>8.2} {:>11} {:>11}",
            at(&self.relative, 50) as f64 / 1e4,
            at(&self.relative, 95) as f64 / 1e4,
            Ns(at(&self.absolute, 50)).to_string(),
            Ns(at(&self.absolute, 95)).to_string()
        )
    }
}

/// `accuracy [--profile FILE] [INPUT…]`.
pub fn run(args: &[String]) -> Result<()> {
    let mut costs = Profile::x86();
    let mut inputs: Vec<PathBuf> = Vec::new();
    let mut args = args.iter();
    while let Some(a) = args.next() {
        if a == "--profile" {
            let file = args.next().context("--profile needs a file")?;
            costs = match Profile::find(file) {
                Some(p) => p,
                None => profile::parse(&fs::read_to_string(file)?)?,
            };
        } else {
            inputs.push(a.into());
        }
    }
    if inputs.is_empty() {
        let data = std::env::var("DORMOUSE_DATA").unwrap_or_else(|_| "../shared/data".into());
        let folder = PathBuf::from(data).join("logs/pm-graph/multitest-5.3");
        if !folder.exists() {
            println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", folder.display());
            return Ok(());
        }
        inputs.push(folder);
    }
    for input in &inputs {
        println!("== {}, costs: {}", input.display(), costs.name);
        let reading = dormouse_read::read(&[Input::from_arg(input)], &Options::default())?;
        for capture in &reading.captures {
            if !capture.cycles.is_empty() {
                judge(capture, &costs)?;
            }
        }
    }
    Ok(())
}

fn show(errors: &mut BTreeMap<Phase, Errors>) {
    println!("{:<15}{:>8} {:>8} {:>11} {:>11}", "", "median %", "p95 %", "median", "p95");
    for (phase, e) in errors.iter_mut() {
        println!("{:<15}{}", phase_words(*phase), e.line());
    }
}

fn show_order(pairs: u64, wrong: u64, mut starts: Vec<i64>) {
    starts.sort_unstable();
    if let Some(&m) = starts.get(starts.len() / 2) {
        println!(
            "starts of {} callbacks: median error {}, p95 {}",
            starts.len(),
            Ns(m),
            Ns(starts[(starts.len() - 1) * 95 / 100])
        );
        println!(
            "order: {wrong} of {pairs} neighbours in order of start are the other way round \
             (ties of 50 us left out)"
        );
    }
    println!();
}

fn judge(capture: &Capture, costs: &Profile) -> Result<()> {
    let settings = Settings { profile: costs.clone(), pm_async: None, wakeup_at: None };
    let all = derive(capture).map_err(anyhow::Error::msg)?;
    let mut linked = all.clone();
    let release =
        capture.cycles.iter().map(|c| capture.names.get(c.kernel)).find(|k| !k.is_empty());
    if let Some(kernel) = release.and_then(Kernel::parse) {
        let by = Scheduler { policy: kernel.policy(), kernel: Some(kernel) };
        let n = infer::links(capture, &mut linked, by);
        println!("{n} links inferred from the times of all cycles");
        for a in linked.assumptions.iter().rev().take(n).rev() {
            println!("  {a}");
        }
    }
    let mut own: BTreeMap<Phase, Errors> = BTreeMap::new();
    let mut others: BTreeMap<Phase, Errors> = BTreeMap::new();
    let (mut pairs, mut wrong, mut starts) = (0u64, 0u64, Vec::new());
    let mut used = 0;
    for (i, cycle) in capture.cycles.iter().enumerate() {
        let Some(kernel) = Kernel::parse(capture.names.get(cycle.kernel)) else {
            bail!("the recording names no kernel");
        };
        let by = Scheduler { policy: kernel.policy(), kernel: Some(kernel) };
        let mut alone = derive(&only(capture, |n| n == i)).map_err(anyhow::Error::msg)?;
        alone.board.graph.links = linked.board.graph.links.clone();
        let o = predict(&alone.board, by, &settings)?;
        compare(&o, cycle, &mut own);
        order(&o, &alone, cycle, &mut pairs, &mut wrong, &mut starts);
        if all.cycles.len() > 1 {
            let mut rest = derive(&only(capture, |n| n != i)).map_err(anyhow::Error::msg)?;
            rest.board.graph.links = linked.board.graph.links.clone();
            compare(&predict(&rest.board, by, &settings)?, cycle, &mut others);
        }
        used += 1;
    }
    println!("{used} cycles");
    for (title, errors) in
        [("own callback times", &mut own), ("medians of the other cycles", &mut others)]
    {
        if errors.is_empty() {
            continue;
        }
        println!("from {title}: error of the phase time");
        show(errors);
    }
    show_order(pairs, wrong, starts);
    Ok(())
}

fn only(capture: &Capture, keep: impl Fn(usize) -> bool) -> Capture {
    let mut c = Capture { cycles: Vec::new(), ..capture.clone() };
    c.cycles = capture
        .cycles
        .iter()
        .enumerate()
        .filter(|(i, _)| keep(*i))
        .map(|(_, c)| c.clone())
        .collect();
    c
}

fn predict(board: &Board, by: Scheduler, settings: &Settings) -> Result<Outlook> {
    Ok(outlook(board, by, settings)?)
}

fn compare(o: &Outlook, cycle: &Cycle, errors: &mut BTreeMap<Phase, Errors>) {
    for span in cycle.phases.iter().filter(|s| s.complete && s.phase.has_devices()) {
        errors.entry(span.phase).or_default().add(o.phase(span.phase), observed(span).0);
    }
}

/// Neighbours in the observed order of starts that the prediction has the other
/// way round, and how far starts are off.
fn order(
    o: &Outlook,
    derived: &Derived,
    cycle: &Cycle,
    pairs: &mut u64,
    wrong: &mut u64,
    starts: &mut Vec<i64>,
) {
    for span in cycle.phases.iter().filter(|s| s.phase.may_be_async() && s.complete) {
        let Some(simulated) = o.run.cycle.phase(span.phase) else { continue };
        if observed(span).1 {
            continue;
        }
        let mut at = vec![None; derived.board.devices.len()];
        for c in o.run.cycle.callbacks.iter().filter(|c| c.phase == span.phase) {
            at[c.device.index()] = Some(c.start - simulated.start);
        }
        let mut last: Option<(Ns, Ns)> = None;
        for c in cycle.callbacks.iter().filter(|c| c.phase == span.phase) {
            let Some(&d) = derived.place.get(c.device.index()) else { continue };
            let Some(predicted) = at[d as usize].take() else { continue };
            let seen = c.start - span.start;
            starts.push((predicted - seen).0.abs());
            if let Some((seen_before, predicted_before)) = last
                && seen - seen_before > TIE
            {
                *pairs += 1;
                *wrong += u64::from(predicted_before - predicted > TIE);
            }
            last = Some((seen, predicted));
        }
    }
}
