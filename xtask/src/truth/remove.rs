//! A board without one of its devices: what a user would remove, so that a
//! kernel can say what comes of it.

use anyhow::{Context, Result, anyhow, bail};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::{Board, parse, print};
use dormouse_sleep::simulate::change::{dependents, remove};
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use std::fs;

/// `remove KERNEL BOARD OUT`: takes away the device that shortens the phases
/// most (with what depends on it), says which, and writes what is left.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [kernel, file, to] = args else { bail!("write: truth remove KERNEL BOARD OUT") };
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let board = parse(&text).map_err(|e| anyhow!("{file}: {e}"))?;
    let (policy, release) = choose(kernel).map_err(|e| anyhow!("{e}"))?;
    let by = Scheduler { policy, kernel: release };
    let (device, left) = most(&board, by)?;
    let what = format!("{file} without {}", board.names.get(board.graph.devices[device].name));
    println!("{what}: {to}");
    fs::write(to, print(&left, &what)).with_context(|| format!("cannot write {to}"))
}

/// Candidates that are simulated: those with the longest callbacks.
const TRIED: usize = 24;

fn most(board: &Board, by: Scheduler) -> Result<(usize, Board)> {
    let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    let total = |o: &Outlook| -> Ns { Phase::DEVICE.into_iter().map(|p| o.phase(p)).sum() };
    let before = total(&outlook(board, by, &settings)?);
    let mut order: Vec<(Ns, usize)> = board
        .devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.work.iter().flatten().map(|w| w.sleep + w.compute).sum(), i))
        .collect();
    order.sort_by_key(|&(time, i)| (-time.0, i));
    let mut best: Option<(Ns, usize, Board)> = None;
    for &(_, device) in order.iter().take(TRIED) {
        let gone = dependents(board, &[device]);
        // What takes half of the machine along is no removal of a device.
        if gone.iter().filter(|g| **g).count() * 10 > gone.len() {
            continue;
        }
        let mut left = board.clone();
        remove(&mut left, &gone);
        let gain = before - total(&outlook(&left, by, &settings)?);
        if best.as_ref().is_none_or(|b| gain > b.0) {
            best = Some((gain, device, left));
        }
    }
    best.map(|(_, device, left)| (device, left)).context("no device can be taken away")
}
