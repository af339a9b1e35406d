//! What the lines of a kernel log cost while it was written.
//!
//! With `initcall_debug` or `pm_print_times` every callback prints a line
//! before and one after (`initcall_debug_start`, `initcall_debug_report`,
//! drivers/base/power/main.c), outside the time it reports. The thread that
//! prints waits for the console: microseconds for a ring buffer, milliseconds
//! for a serial line. Between two callbacks that the main thread runs one after
//! the other lie one line of each, and little else.

use super::threads::main_threads;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// Fewer pairs of callbacks say nothing of a phase.
const PAIRS: usize = 6;

/// What the two lines of a callback cost, by [`Phase::device_index`]: the
/// median time between callbacks that the main thread ran one after the other,
/// of the phase itself where it has enough of them, else of all phases of the
/// cycle, and then no more than any such time of the phase. Zero for a cycle that no
/// kernel log tells of.
pub fn lines(cycle: &Cycle) -> [Ns; 8] {
    let mut cost = [Ns::ZERO; 8];
    // Traces show prepare and complete, logs never do.
    let log = |c: &Cycle| {
        !c.callbacks.iter().any(|c| matches!(c.phase, Phase::Prepare | Phase::Complete))
    };
    if !log(cycle) {
        return cost;
    }
    let mains = main_threads(cycle);
    let gaps = |phase: Phase| -> Vec<Ns> {
        let main: Vec<_> = cycle
            .callbacks
            .iter()
            .filter(|c| c.phase == phase && c.complete)
            .filter(|c| mains.get(usize::from(c.thread.0)) == Some(&true))
            .collect();
        // A gap in which a worker's callback ended may be a wait for that one.
        let mut ends: Vec<Ns> = cycle
            .callbacks
            .iter()
            .filter(|c| c.phase == phase)
            .filter(|c| mains.get(usize::from(c.thread.0)) != Some(&true))
            .map(|c| c.end)
            .collect();
        ends.sort_unstable();
        let waited = |from: Ns, to: Ns| {
            ends.get(ends.partition_point(|e| *e < from)).is_some_and(|e| *e <= to)
        };
        let pairs = main.windows(2).map(|w| (w[0].end, w[1].start));
        pairs.filter(|&(from, to)| to >= from && !waited(from, to)).map(|(a, b)| b - a).collect()
    };
    let mut all: Vec<Ns> = Vec::new();
    let (mut own, mut least) = ([None; 8], [Ns::MAX; 8]);
    for (index, phase) in Phase::DEVICE.into_iter().enumerate() {
        let mut list = gaps(phase);
        all.extend(&list);
        least[index] = list.iter().copied().min().unwrap_or(Ns::MAX);
        if list.len() >= PAIRS {
            own[index] = middle(&mut list);
        }
    }
    let any = if all.len() >= PAIRS { middle(&mut all) } else { None };
    for (index, phase) in Phase::DEVICE.into_iter().enumerate() {
        if phase.may_be_async() {
            cost[index] = own[index].or(any.map(|t| t.min(least[index]))).unwrap_or_default();
        }
    }
    cost
}

fn middle(values: &mut [Ns]) -> Option<Ns> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
