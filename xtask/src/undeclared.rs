//! Machines with a dependency that nobody declared: what the tools say of it,
//! and what a kernel does.
//!
//! The laboratory builds the dependency; the tools see a recording, in which it
//! is not written down.

use crate::decide::Bench;
use anyhow::{Context, Result, anyhow};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::assumed::Assumed;
use dormouse_board::{Board, parse};
use dormouse_read::Reading;
use dormouse_sleep::evidence;
use dormouse_sleep::tune::{Cost, Options, Tuned};

/// A machine, and what of it is in no recording.
struct Case {
    what: &'static str,
    /// `lock=1` is in no recording; `FLAG` is the flag of the devices that are
    /// asked for.
    board: &'static str,
    /// Who waits inside its callbacks on the way up, and for whom.
    waits: Option<(&'static str, &'static str)>,
    /// Devices that are known to share a lock where both modes are recorded.
    locked: usize,
}

/// Six sensors share a mutex in firmware.
const LOCK: Case = Case {
    what: "An undeclared lock: six sensors that exclude one another",
    board: "board 1\ncpus 4\npm_async 1\n\
        device soc\n\
        device rail parent=soc async suspend=0.1ms resume=0.2ms\n\
        device disk parent=soc async suspend=9ms resume=35ms\n\
        device light parent=soc FLAG suspend=6ms,lock=1 resume=9ms,lock=1\n\
        device heat parent=soc FLAG suspend=7ms,lock=1 resume=8ms,lock=1\n\
        device motion parent=soc FLAG suspend=8ms,lock=1 resume=11ms,lock=1\n\
        device sound parent=soc FLAG suspend=6ms,lock=1 resume=10ms,lock=1\n\
        device tilt parent=soc FLAG suspend=9ms,lock=1 resume=12ms,lock=1\n\
        device touch parent=soc FLAG suspend=7ms,lock=1 resume=9ms,lock=1\n\
        link light rail stateless\nlink heat rail stateless\n\
        link motion rail stateless\nlink sound rail stateless\n\
        link tilt rail stateless\nlink touch rail stateless\n",
    waits: None,
    locked: 6,
};

/// A controller waits for its companion, which comes late because of a hub.
const ORDER: Case = Case {
    what: "An undeclared order: a controller that waits for its companion in its callback",
    board: "board 1\ncpus 4\npm_async 1\n\
        device soc\n\
        device rail parent=soc async suspend=0.1ms resume=0.2ms\n\
        device hub parent=soc async suspend=2ms resume=18ms\n\
        device companion parent=hub FLAG suspend=4ms resume=12ms\n\
        device controller parent=soc FLAG suspend=6ms resume=26ms\n\
        device codec parent=soc FLAG suspend=7ms resume=10ms\n\
        link companion rail stateless\nlink controller rail stateless\n\
        link codec rail stateless\n",
    waits: Some(("controller", "companion")),
    locked: 0,
};

/// A claim and what a kernel did may be so far apart, as a share of the time
/// before.
const NEAR: f64 = 0.05;

impl Case {
    fn machine(&self, flag: &str) -> Result<Board> {
        parse(&self.board.replace("FLAG", flag)).map_err(|e| anyhow!("{e}"))
    }

    fn waits(&self, board: &Board) -> Vec<(DeviceId, DeviceId)> {
        let pair = self.waits.and_then(|(a, b)| Some((named(board, a)?, named(board, b)?)));
        pair.into_iter().collect()
    }
}

/// Prints what is said and what is so; gives how many of the machines are said
/// to gain what the kernel does not give.
///
/// # Errors
/// If a guest fails.
pub(crate) fn run(bench: &Bench<'_>) -> Result<usize> {
    let mut missed = 0;
    for case in [&LOCK, &ORDER] {
        missed += usize::from(!one(bench, case)?);
    }
    Ok(missed)
}

fn one(bench: &Bench<'_>, case: &Case) -> Result<bool> {
    println!("\n{}", case.what);
    let real = case.machine("sync")?;
    let waits = case.waits(&real);
    let recorded = bench.record(&[&real], &waits)?;
    let (seen, sentences) = as_seen(&recorded[0])?;
    println!("\n1. Recorded synchronous: nothing shows it.");
    sentences.iter().for_each(|s| println!("   {s}"));
    let first = judge(bench, &seen, (&real, &waits), &recorded[0])?;

    println!("\n2. Recorded asynchronous, with pm_async 1 and 0.");
    let on = case.machine("async")?;
    let off = Board { pm_async: false, ..on.clone() };
    let both = bench.record_as_one(&[&on, &off], &waits)?;
    let (mut seen, sentences) = as_seen(&both)?;
    sentences.iter().for_each(|s| println!("   {s}"));
    let locked = seen
        .devices
        .iter()
        .filter(|d| d.in_phase(Phase::Resume).is_some_and(|w| w.lock > 0))
        .count();
    let linked = case.waits.is_none_or(|(waiter, awaited)| {
        let is = |d: DeviceId, n: &str| seen.names.get(seen.graph.get(d).name) == n;
        seen.graph.links.iter().any(|l| is(l.consumer, waiter) && is(l.supplier, awaited))
    });
    let found = locked == case.locked && linked;
    println!("   it is {}", if found { "found" } else { "MISSED: not found" });
    // Asked again whether these devices should be asynchronous.
    for d in real.graph.ids() {
        let name = real.names.get(real.graph.get(d).name);
        set(&mut seen, name, real.graph.get(d).async_flag);
    }
    seen.pm_async = true;
    let second = judge(bench, &seen, (&real, &waits), &recorded[0])?;
    Ok(first && second && found)
}

/// The board that a recording shows, and what it says of dependencies.
fn as_seen(recorded: &Reading) -> Result<(Board, Vec<String>)> {
    let capture =
        recorded.captures.iter().find(|c| !c.cycles.is_empty()).context("a recorded cycle")?;
    let derived = evidence::machine(capture, None).map_err(|e| anyhow!("{e}"))?.derived;
    let said = derived
        .assumptions
        .iter()
        .filter(|a| {
            matches!(
                a,
                Assumed::Lock { .. }
                    | Assumed::WorksAfter { .. }
                    | Assumed::Waits { .. }
                    | Assumed::WaitsAlways { .. }
            )
        })
        .map(|a| format!("{a:?}"));
    Ok((derived.board.clone(), said.collect()))
}

fn named(board: &Board, name: &str) -> Option<DeviceId> {
    board.graph.ids().find(|d| board.names.get(board.graph.get(*d).name) == name)
}

fn set(board: &mut Board, name: &str, flag: Option<bool>) {
    if let Some(d) = named(board, name) {
        board.graph.devices[d.index()].async_flag = flag;
    }
}

/// Tunes what is `seen`, does that to the `real` machine, and compares.
fn judge(
    bench: &Bench<'_>,
    seen: &Board,
    (real, waits): (&Board, &[(DeviceId, DeviceId)]),
    before: &Reading,
) -> Result<bool> {
    let tuned = bench.tune(seen, &Options::new(seen))?;
    let claimed = tuned.before.total() - tuned.after.total();
    let left = |c: Option<Cost>| c.map(|c| tuned.before.total() - c.total());
    let (locked, ordered) = (left(tuned.if_exclusive), left(tuned.if_ordered));
    println!("   tune: {} flags, {} less claimed", tuned.flips.len(), claimed);
    if let (Some(locked), Some(ordered)) = (locked, ordered) {
        println!(
            "   and: if their drivers share a lock, {locked} of that is left; if each needs the \
             one before it, {ordered}"
        );
    }
    let after = done(real, seen, &tuned);
    let recorded = bench.record(&[&after], waits)?;
    let time = |r: &Reading| median_total(r).context("a recording without cycles");
    let (a, b) = (time(before)?, time(&recorded[0])?);
    println!("   the kernel: {} instead of {}, {} less", b, a, a - b);
    let gained = (a - b).0 as f64;
    let near = NEAR * a.0 as f64;
    let low = [locked, ordered].into_iter().flatten().fold(claimed, Ns::min).0 as f64;
    let inside = gained >= low - near && gained <= claimed.0 as f64 + near;
    println!(
        "   {}",
        if inside {
            "what was said holds: the kernel gives no less than the said rest"
        } else {
            "MISSED: the kernel gives less than what was said"
        }
    );
    Ok(inside)
}

/// `real` with what `tuned` proposes for the board `seen`.
fn done(real: &Board, seen: &Board, tuned: &Tuned) -> Board {
    let mut out = real.clone();
    for f in &tuned.flips {
        let name = seen.names.get(seen.graph.get(f.device).name);
        set(&mut out, name, Some(f.to_async));
    }
    out.pm_async = tuned.pm_async.unwrap_or(real.pm_async);
    out
}

/// Median over cycles of suspend plus resume, device phases only.
fn median_total(r: &Reading) -> Option<Ns> {
    let capture = r.captures.first()?;
    let mut all: Vec<Ns> = capture
        .cycles
        .iter()
        .map(|c| c.phases.iter().filter(|p| p.phase.has_devices()).map(|p| p.duration()).sum())
        .collect();
    middle(&mut all, Ns::mean)
}
