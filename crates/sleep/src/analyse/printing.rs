//! What printing a kernel log cost while it was written.

use super::answer::Half;
use super::path::Segment;
use super::{CycleView, per_mille};
use dormouse_base::cycle::{Cycle, PhaseSpan};
use dormouse_base::time::Ns;
use dormouse_board::printing::lines;
use dormouse_board::threads::main_threads;

/// Printing is told from this share of a half on, in tenths of a percent …
const SHARE: u32 = 200;

/// … and from this time on.
const WORTH: Ns = Ns::from_ms(5);

/// Waits that have the length of a line are apart by at most this part of it.
const APART: i64 = 4;

/// How long a printed line takes, where callbacks of the phase that most of the
/// half goes into are apart by about the same time, whatever they do: for half of the
/// phase and at least four times, or twice where they are very much alike.
pub fn slow_console(cycle: &Cycle, view: &CycleView, h: &Half) -> Option<Ns> {
    let of_half = |p: &PhaseSpan| p.phase.direction() == h.direction && p.phase.has_devices();
    let longest = cycle.phases.iter().enumerate().filter(|(_, p)| of_half(p));
    let (at, span) = longest.max_by_key(|(_, p)| p.duration())?;
    if per_mille(span.duration(), h.total) < 500 {
        return None;
    }
    let mut waits: Vec<Ns> = view.phases[at]
        .path
        .iter()
        .filter(|s| s.is_gap() && s.duration() >= Ns::from_ms(1))
        .map(Segment::duration)
        .collect();
    waits.sort_unstable();
    let sum: Ns = waits.iter().copied().sum();
    let middle = *waits.get(waits.len() / 2)?;
    // A log that begins there has one line before the first callback.
    let near = |w: Ns| (w - middle).0.abs() * APART <= middle.0;
    let alike = waits.iter().all(|w| near(*w) || near(Ns(w.0.saturating_mul(2))));
    if !sum.is_share_of(50, span.duration()) || waits.len() < if alike { 2 } else { 4 } {
        return None;
    }
    // Two lines lie between two callbacks: the end of one, the start of the next.
    Some(Ns(middle.0 / 2))
}

/// What the lines of all callbacks that the main thread ran cost a half together, if
/// that is much of it: they lie between the callbacks, and no device explains them. How
/// many callbacks, and their time.
pub fn lines_cost(cycle: &Cycle, h: &Half) -> Option<(u64, Ns)> {
    let (cost, mains) = (lines(cycle), main_threads(cycle));
    let (mut count, mut sum) = (0u64, Ns::ZERO);
    for c in cycle.callbacks.iter().filter(|c| c.phase.direction() == h.direction) {
        if let Some(i) = c.phase.device_index()
            && mains.get(usize::from(c.thread.0)) == Some(&true)
        {
            count += u64::from(cost[i] > Ns::ZERO);
            sum += cost[i];
        }
    }
    let much = sum >= WORTH && sum < h.total && per_mille(sum, h.total) >= SHARE;
    much.then_some((count, sum))
}
