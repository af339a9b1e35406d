//! The first tick of a CPU that has just come up.
//!
//! Until then its timers are of low resolution: `tick_setup_device`
//! (kernel/time/tick-common.c) starts it with a periodic tick, and
//! `hrtimer_run_queues` (kernel/time/hrtimer.c, 6.12) switches over at the first
//! of them. So a callback of resume noirq that sleeps on such a CPU sleeps until
//! that tick. On which CPU a worker runs is chance, and no line of a log says
//! it. The main thread comes up on the first CPU, which never went.

use super::expected::{Recorded, Seen};
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::threads::main_threads;

/// CONFIG_HZ=250.
const DEBIAN: Ns = Ns(4_000_000);

/// CONFIG_HZ=100, the slowest that machines are built with which sleep.
const SLOWEST: Ns = Ns(10_000_000);

/// Sleeps that are shorter than this are not told apart from the machinery.
const SHORT: Ns = Ns(200_000);

/// A tick, and whether its length is only assumed.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// How long it is.
    pub length: Ns,
    /// No line says it.
    pub assumed: bool,
}

impl Tick {
    /// The tick of the kernel `release`, where `said` is what the source says. Debian
    /// builds for amd64 with CONFIG_HZ=250 (debian/config/config, 6.1 to 7.3); where
    /// nothing tells it may be as long as any.
    pub fn of(said: Option<Ns>, release: &str) -> Tick {
        let debian = release.ends_with("-amd64").then_some(DEBIAN);
        let known = said.or(debian);
        Tick { length: known.unwrap_or(SLOWEST), assumed: known.is_none() }
    }
}

/// How long after the begin of resume noirq a CPU may still wait for its first
/// `tick`; `None` if no CPU came up, or the last did so a tick ago.
pub(super) fn latest(cycles: &[&Cycle], tick: Tick) -> Option<Ns> {
    let one = |cycle: &&Cycle| {
        let noirq = cycle.phase(Phase::ResumeNoirq)?.start;
        let up = cycle.phases.iter().filter(|s| s.phase == Phase::CpuOn && s.end <= noirq);
        Some(up.map(|s| s.end).max()? + tick.length - noirq)
    };
    cycles.iter().filter_map(one).max().filter(|t| *t > Ns::ZERO)
}

/// Callbacks of resume noirq that may have slept until the tick that came at the
/// `latest` then, in one of `phases`, and what they took at the least.
pub(super) fn held(latest: Option<Ns>, phases: &[Recorded]) -> Vec<(u32, Ns)> {
    let Some(latest) = latest else { return Vec::new() };
    let held = |s: &Seen| !s.main && s.complete && s.end <= latest && s.end - s.start > SHORT;
    let noirq = phases.iter().filter(|r| r.phase == Phase::ResumeNoirq);
    let all = noirq.flat_map(|r| r.seen.iter().enumerate());
    all.filter(|(_, s)| s.as_ref().is_some_and(held)).map(|(d, _)| (d as u32, SHORT)).collect()
}

/// At most so many callbacks of one machine are held, one after the other.
const ROUNDS: usize = 8;

/// How long resume noirq of `board` takes where some of its callbacks sleep until a
/// tick at a time drawn up to `latest`. `run` simulates a board; the first result is
/// `cycle`.
pub(super) fn late(
    board: &Board,
    cycle: &Cycle,
    latest: Ns,
    r: &mut Random,
    run: impl Fn(&Board) -> Option<Cycle>,
) -> Option<Ns> {
    let index = Phase::ResumeNoirq.device_index()?;
    let tick = Ns(r.between(1, latest.0 as u64) as i64);
    let (mut board, mut cycle) = (board.clone(), cycle.clone());
    let mut decided: Vec<DeviceId> = Vec::new();
    // In order of time: what is held delays what comes after it.
    for _ in 0..ROUNDS {
        let begin = cycle.phase(Phase::ResumeNoirq)?.start;
        let mains = main_threads(&cycle);
        let mut next = None;
        for c in cycle.callbacks.iter().filter(|c| c.phase == Phase::ResumeNoirq) {
            let main = mains.get(usize::from(c.thread.0)) == Some(&true);
            if main || c.end - begin >= tick || decided.contains(&c.device) {
                continue;
            }
            decided.push(c.device);
            if r.chance(1, 2) {
                next = Some((c.device, begin + tick - c.end));
                break;
            }
        }
        let Some((device, by)) = next else { break };
        if let Some(w) = board.devices[device.index()].work[index].as_mut() {
            w.sleep += by;
        }
        cycle = run(&board)?;
    }
    Some(cycle.phase(Phase::ResumeNoirq)?.duration())
}
