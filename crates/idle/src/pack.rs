//! What becomes of the package if the work of all CPUs runs on fewer of them.
//!
//! The work itself stays: each piece begins when its wake-up came, or when the
//! CPU that now has to do it is done with the piece before. So packing never
//! makes the machine work less. It makes wake-ups fall together, leaves other
//! cores asleep for good, and delays what used to run side by side.

use crate::state::Table;
use crate::tally::Sleeps;
use crate::wake::{Wakes, wakes};
use serde::Serialize;

/// Without a table a sleep of the whole package counts as deep from here on, ns:
/// what the deepest states of today's CPUs must last.
const DEEP: i64 = 1_000_000;

/// What becomes of the work of a trace on fewer and fewer CPUs.
pub fn packed(t: &Sleeps) -> Vec<Packed> {
    let unknown = Table::default();
    let of = |cpu: u32| t.tally.table(cpu).map_or(&unknown, |t| &t.0);
    let all: Vec<Wakes> = t.episodes.iter().map(|(&cpu, e)| wakes(e, of(cpu))).collect();
    // The deepest state that a sleep alone can reach.
    let pays = |cpu: &u32| {
        let (table, off) = t.tally.table(*cpu)?;
        let states = table.states().iter().enumerate().filter(|(i, _)| !off.has(*i));
        states.map(|s| s.1.residency).max()
    };
    let pays = t.episodes.keys().filter_map(pays).max().unwrap_or(DEEP);
    steps(all.len()).into_iter().map(|n| pack(&all, n, pays)).collect()
}

/// The work of all CPUs on some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// CPUs that work.
    pub cpus: usize,
    /// Times that one of them wakes.
    pub wakeups: u64,
    /// Time with every CPU asleep.
    pub all_asleep_ns: i64,
    /// Such times that are at least as long as the deepest state must last.
    pub deep_ns: i64,
    /// The longest of them.
    pub longest_ns: i64,
    /// Pieces of work.
    pub pieces: u64,
    /// Those that have to wait for another.
    pub delayed: u64,
    /// Sum of what they wait.
    pub waited_ns: i64,
    /// The longest wait.
    pub longest_wait_ns: i64,
}

/// Runs the work of `all` on `cpus` of them: that of the CPU at place `i` goes to
/// the one at place `i` modulo `cpus`. A time asleep of `pays` (ns) or more is deep.
pub fn pack(all: &[Wakes], cpus: usize, pays: i64) -> Packed {
    let cpus = cpus.clamp(1, all.len().max(1));
    let mut out = Packed { cpus, ..Packed::default() };
    // From when every CPU was seen until the last of them was.
    let begin = all.iter().map(|w| w.start).max().unwrap_or(0);
    let end = |w: &Wakes| w.list.last().map_or(w.start, |l| l.at.saturating_add(l.work));
    let last = all.iter().map(end).min().unwrap_or(begin);
    let mut pieces: Vec<(i64, i64, usize)> = Vec::new();
    for (i, w) in all.iter().enumerate() {
        let inside = w.list.iter().filter(|p| p.at >= begin && p.at < last);
        pieces.extend(inside.map(|p| (p.at, p.work, i % cpus)));
    }
    pieces.sort_unstable();
    let mut free: Vec<i64> = std::vec![begin; cpus];
    // Until when some CPU is at work.
    let mut busy = begin;
    let mut asleep = |from: i64, to: i64| {
        let length = to.min(last).saturating_sub(from).max(0);
        out.all_asleep_ns = out.all_asleep_ns.saturating_add(length);
        out.longest_ns = out.longest_ns.max(length);
        if length >= pays {
            out.deep_ns = out.deep_ns.saturating_add(length);
        }
    };
    for &(at, work, cpu) in &pieces {
        let starts = at.max(free[cpu]);
        if starts > busy {
            asleep(busy, starts);
        }
        out.pieces += 1;
        let wait = starts - at;
        if wait > 0 {
            out.delayed += 1;
            out.waited_ns = out.waited_ns.saturating_add(wait);
            out.longest_wait_ns = out.longest_wait_ns.max(wait);
        } else {
            out.wakeups += 1;
        }
        free[cpu] = starts.saturating_add(work);
        busy = busy.max(free[cpu]);
    }
    if busy < last {
        asleep(busy, last);
    }
    out
}

/// Numbers of CPUs worth trying: all of them, and halves down to one.
pub fn steps(cpus: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut n = cpus;
    while n > 0 {
        out.push(n);
        n /= 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::Wake;

    fn wakes(list: &[(i64, i64)]) -> Wakes {
        let one = |&(at, work): &(i64, i64)| Wake { at, work, ..Wake::default() };
        Wakes { list: list.iter().map(one).collect(), ..Wakes::default() }
    }

    #[test]
    fn packing_keeps_the_work_and_delays_what_ran_side_by_side() {
        // Two CPUs: side by side at 100, and apart at 300 and 340; both end at 410.
        let all =
            [wakes(&[(100, 20), (300, 20), (400, 10)]), wakes(&[(110, 20), (340, 20), (400, 10)])];
        let two = pack(&all, 2, 60);
        // Asleep 0-100, 130-300, 320-340, 360-400.
        assert_eq!((two.all_asleep_ns, two.deep_ns, two.longest_ns), (330, 270, 170));
        assert_eq!((two.wakeups, two.delayed, two.pieces), (6, 0, 6));
        let one = pack(&all, 1, 60);
        // The piece at 110 waits until 120, that at 400 until 410.
        assert_eq!((one.delayed, one.waited_ns, one.longest_wait_ns, one.wakeups), (2, 20, 10, 4));
        assert_eq!((one.all_asleep_ns, one.longest_ns), (320, 160));
        assert_eq!(steps(8), [8, 4, 2, 1]);
        assert_eq!(pack(&[], 3, 0), Packed { cpus: 1, ..Packed::default() });
    }
}
