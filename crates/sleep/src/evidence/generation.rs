//! Which generation of scheduling a recording shows, where no line names the
//! kernel.

use super::late::late;
use crate::simulate::policy::{G1, G1W, G2, G3, G4, Policy};
use dormouse_base::cycle::Cycle;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;

/// A begin that is earlier or later than a generation explains by less than
/// this says nothing.
const LEAST: Ns = Ns(300_000);

/// What a recording says of the generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supported {
    /// The newest that explains as much as the best.
    pub policy: &'static Policy,
    /// All that do, the newest first.
    pub all: Vec<&'static Policy>,
}

/// Every generation, the newest first.
pub const ALL: [&Policy; 5] = [&G4, &G3, &G2, &G1, &G1W];

/// Those that explain each of several parts of one recording, if there are any: all
/// parts ran on one kernel.
pub fn common(parts: &[&Supported]) -> Vec<&'static Policy> {
    let fits = |p: &&Policy| parts.iter().all(|s| s.all.iter().any(|o| o.name == p.name));
    ALL.into_iter().filter(fits).collect()
}

/// Holds every kernel generation of `candidates` against the begins in `cycles`: one under
/// which callbacks begin before they could, or long after, explains less. Those
/// within a tenth of the best (or a millisecond) are told apart by nothing here.
pub(super) fn supported(
    cycles: &[&Cycle],
    derived: &Derived,
    candidates: &[&'static Policy],
) -> Supported {
    let unexplained = |policy: &Policy| -> i64 {
        let all = cycles.iter().enumerate().map(|(i, cycle)| {
            let line = derived.printing.get(i).copied().unwrap_or_default();
            let list = late(cycle, derived, policy, &line, LEAST);
            list.iter().map(|l| l.by.0.saturating_abs()).fold(0i64, i64::saturating_add)
        });
        all.fold(0, i64::saturating_add)
    };
    let sums: Vec<i64> = candidates.iter().map(|p| unexplained(p)).collect();
    let best = sums.iter().copied().min().unwrap_or(0);
    let limit = best.saturating_add((best / 10).max(1_000_000));
    let all: Vec<&'static Policy> = candidates
        .iter()
        .copied()
        .zip(&sums)
        .filter(|(_, s)| **s <= limit)
        .map(|(p, _)| p)
        .collect();
    Supported { policy: all.first().copied().unwrap_or(&G4), all }
}
