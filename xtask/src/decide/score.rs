//! What all judgements of a run come to.

use super::bench::Holds;
use dormouse_sleep::validate::{FLOOR, JUDGED, Outcome, TOLERANCE};
use std::fmt::{Display, Formatter, Result};

/// Judgements of all boards and kernels.
#[derive(Default)]
pub(crate) struct Score {
    /// Changes that were tried.
    pub changes: usize,
    /// Of which nothing is judged.
    pub unjudged: usize,
    /// Times that are judged.
    pub rows: usize,
    /// Of which the kernel went the other way.
    pub direction: usize,
    /// Which are right but for their size.
    pub size: usize,
    /// Which are right only because boots of the same thing are as far apart.
    pub on_spread: usize,
    /// Times that would be judged if the guest's own devices were left out.
    pub alone: usize,
    /// Of which held.
    pub alone_right: usize,
    /// Largest distance, in percent of the time before.
    pub worst: f64,
    /// Times of which too little is predicted to judge them.
    pub small: usize,
    /// And that would have missed.
    pub small_wrong: usize,
    /// Boards on which another setting is better than tune's.
    pub not_optimal: usize,
    /// Machines with an undeclared dependency of which too much was said.
    pub undeclared: usize,
    /// Boots that failed.
    pub failed: usize,
}

impl Score {
    /// Counts the judgements of one change.
    pub(crate) fn add(&mut self, holds: &Holds) {
        let alone = || holds.alone.rows.iter().filter(|r| r.is_judged());
        self.alone += alone().count();
        self.alone_right += alone().filter(|r| r.held()).count();
        let held = &holds.machine;
        self.changes += 1;
        self.unjudged += usize::from(held.outcome() == Outcome::NothingPredicted);
        for r in &held.rows {
            if r.is_judged() {
                self.rows += 1;
                self.direction += usize::from(!r.right_direction());
                self.size += usize::from(r.right_direction() && !r.held());
                self.on_spread += usize::from(r.rests_on_spread());
                self.worst = self.worst.max(r.off().abs());
            } else if r.predicted_change().abs() > JUDGED * r.predicted.0.0 as f64 {
                self.small += 1;
                self.small_wrong += usize::from(!(r.right_direction() && r.right_size()));
            }
        }
    }

    /// Whether anything was.
    pub(crate) fn missed(&self) -> bool {
        self.direction + self.size + self.not_optimal + self.undeclared + self.failed > 0
    }
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let (judged, tolerance) = (percent(JUDGED), percent(TOLERANCE));
        writeln!(
            f,
            "judged: {} times where more than {judged} and {FLOOR} was predicted ({} changes have none)",
            self.rows, self.unjudged
        )?;
        writeln!(f, "wrong direction: {}", self.direction)?;
        writeln!(
            f,
            "right direction, but more than {tolerance} of the phase and more than {FLOOR} apart: {}",
            self.size
        )?;
        writeln!(
            f,
            "right only because boots of the same board differ by more than that, within twice \
             their spread: {}",
            self.on_spread
        )?;
        writeln!(
            f,
            "(predicted for the board alone, without the guest's own devices: {} of {} right)",
            self.alone_right, self.alone
        )?;
        writeln!(f, "furthest apart: {:.1} % of the phase", self.worst)?;
        writeln!(
            f,
            "more than {judged} but less than {FLOOR}, so not judged: {}, of which {} would have \
             missed",
            self.small, self.small_wrong
        )?;
        writeln!(f, "tuned boards that are not the optimum: {}", self.not_optimal)?;
        writeln!(f, "boots that failed: {}", self.failed)?;
        writeln!(
            f,
            "undeclared locks and orders of which too much was said, or that were not found: {}",
            self.undeclared
        )
    }
}
