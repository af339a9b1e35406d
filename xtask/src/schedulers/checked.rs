//! What cycles of any scheduler must keep, and how near times are asked to be.

use super::boards::Named;
use super::foretell::median;
use super::guest::{Done, Played, Way};
use super::order;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_lab::trace::Intervals;

/// Phases that the table shows.
pub(crate) const SHOWN: [Phase; 6] = [
    Phase::Suspend,
    Phase::Late,
    Phase::Noirq,
    Phase::ResumeNoirq,
    Phase::ResumeEarly,
    Phase::Resume,
];

/// What two times may differ by: so many percent, or less than this.
pub(super) const PERCENT: i64 = 2;

pub(super) const FLOOR: Ns = Ns(100_000);

/// Every cycle's order and callbacks, whoever started devices.
#[derive(Default)]
pub(crate) struct Checked {
    cycles: usize,
    relations: usize,
    wrong: usize,
    others: usize,
    faults: usize,
}

impl Checked {
    /// Holds all cycles of a board against it and against the kernel's callbacks.
    pub(crate) fn check(&mut self, title: &str, board: &Named, played: &Played, ways: &[Way]) {
        let first = order::called(&played.ways[0].cycles[0]);
        // What still runs after a failure is a matter of time.
        let fails = board.1.devices.iter().flat_map(|d| d.work).flatten().any(|w| w.ret < 0);
        for (way, seen) in ways.iter().zip(&played.ways) {
            for (n, cycle) in seen.cycles.iter().enumerate() {
                let checked = order::check(&board.1, &played.description, cycle);
                self.cycles += 1;
                self.relations += checked.relations;
                self.wrong += checked.wrong.len();
                for w in checked.wrong.iter().take(3) {
                    println!("WRONG ORDER {title}, {}, cycle {}: {w}", way.name, n + 1);
                }
                if !fails && order::called(cycle) != first {
                    self.others += 1;
                    println!("OTHER CALLBACKS {title}, {}, cycle {}", way.name, n + 1);
                }
            }
        }
    }

    pub(crate) fn faults(&mut self, series: &str, done: &Done) {
        for line in &done.faults {
            self.faults += 1;
            println!("KERNEL {series}: {line}");
        }
    }

    /// Prints it; true if nothing is wrong.
    pub(crate) fn print(&self) -> bool {
        println!(
            "Cycles: {}. Order relations: {}, wrong {}. Cycles with other callbacks than the \
             kernel's: {}. Faults in kernel logs: {}.",
            self.cycles, self.relations, self.wrong, self.others, self.faults
        );
        self.wrong + self.others + self.faults == 0 && self.cycles > 0
    }
}

/// `12.34`: milliseconds.
pub(crate) fn ms(t: Ns) -> String {
    format!("{:.2}", t.0 as f64 / 1e6)
}

/// Of cycles, a cold one and then warm ones: the median of these.
pub(crate) fn phase(all: &[Intervals], cold: bool, phase: Phase) -> Ns {
    let of = if cold { &all[..1] } else { &all[1..] };
    median(of.iter().map(|c| c.phases.get(&phase).copied().unwrap_or_default()).collect())
}

/// Whether the two are as near as times of a phase are asked to be.
pub(crate) fn near(a: Ns, b: Ns) -> bool {
    let off = (a - b).0.abs();
    off <= FLOOR.0 || off * 100 <= b.0 * PERCENT
}

/// The longest that a phase of the livepatch may be beside one of the kernel.
pub(crate) fn most(kernel: Ns) -> Ns {
    Ns(kernel.0 + FLOOR.0.max(kernel.0 * PERCENT / 100))
}
