//! The range of a prediction: every device takes its times from a randomly
//! chosen cycle, again and again. In steps, so that a caller that must answer
//! in between (a page in a browser) can.

use super::Settings;
use super::change::{Change, apply};
use super::outlook::{Scheduler, hang, outlook};
use dormouse_base::phase::Direction;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;

/// Resampled cycles so far. The same seed and number of steps give the same
/// range.
#[derive(Clone, Debug)]
pub struct Resampling {
    random: Random,
    down: Vec<Ns>,
    up: Vec<Ns>,
}

impl Resampling {
    /// Nothing resampled yet.
    pub fn new(seed: u64) -> Resampling {
        Resampling { random: Random::new(seed), down: Vec::new(), up: Vec::new() }
    }

    /// Resamples once more.
    ///
    /// # Errors
    /// As [`super::predict::predict`].
    pub fn step(
        &mut self,
        derived: &Derived,
        by: Scheduler,
        changes: &[Change],
        settings: &Settings,
    ) -> Result<(), String> {
        let n = derived.cycles.len() as u64;
        let board = derived.with_cycles(|| self.random.below(n) as usize);
        let board = if changes.is_empty() { board } else { apply(&board, changes)?.board };
        let o = outlook(&board, by, settings).map_err(|e| hang(&board, &e))?;
        self.down.push(o.half(Direction::Suspend));
        self.up.push(o.half(Direction::Resume));
        Ok(())
    }

    /// How often it was resampled.
    pub fn samples(&self) -> usize {
        self.down.len()
    }

    /// 5th and 95th percentile of the way down and up; `None` before the first
    /// step.
    pub fn range(mut self) -> Option<[(Ns, Ns); 2]> {
        let last = self.down.len().checked_sub(1)?;
        let ends = |values: &mut Vec<Ns>| {
            values.sort_unstable();
            (values[last * 5 / 100], values[last - last * 5 / 100])
        };
        Some([ends(&mut self.down), ends(&mut self.up)])
    }
}
