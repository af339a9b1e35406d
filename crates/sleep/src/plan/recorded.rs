//! What was recorded, beside what the model says of the machine as it is. A budget is met
//! only if the recording would meet it: what the model leaves out stays when something
//! changes, so it is added to every figure of the changed machine.

use super::goal::{Goal, Reached, Slower};
use super::ready;
use crate::analyse::rows::Rows;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_board::Board;

/// The machine as it is, twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// By the model.
    pub model: Reached,
    /// As recorded: medians of its cycles, each by itself.
    pub recorded: Reached,
    /// Recorded cycles.
    pub cycles: usize,
    /// How many of them meet every budget.
    pub meet: usize,
}

impl Judged {
    /// Of the `cycles` of a recording, whose devices stand on `board` where `place` says,
    /// by their number. `None` without a cycle.
    pub fn of(
        board: &Board,
        cycles: &[&Cycle],
        place: &[u32],
        goal: &Goal,
        model: Reached,
    ) -> Option<Judged> {
        let mut on_board: Vec<Option<DeviceId>> = vec![None; board.devices.len()];
        for (i, &at) in place.iter().enumerate() {
            if let (Some(slot), Ok(i)) = (on_board.get_mut(at as usize), u32::try_from(i)) {
                *slot = Some(DeviceId(i));
            }
        }
        let each: Vec<Reached> =
            cycles.iter().map(|c| reached(board, c, &on_board, goal)).collect();
        let median = |of: &dyn Fn(&Reached) -> Ns| {
            let mut all: Vec<Ns> = each.iter().map(of).filter(|t| *t > Ns::ZERO).collect();
            middle(&mut all, Ns::mean).unwrap_or_default()
        };
        let recorded = Reached {
            suspend: median(&|r| r.suspend),
            resume: median(&|r| r.resume),
            ready: (0..goal.ready.len()).map(|i| median(&|r| r.ready[i])).collect(),
        };
        let meet = each.iter().filter(|r| r.excess(goal) <= 0).count();
        (!each.is_empty()).then_some(Judged { model, recorded, cycles: each.len(), meet })
    }

    /// What the model leaves out of this machine.
    pub fn slower(&self) -> Slower {
        let over = |recorded: Ns, model: Ns| (recorded - model).max(Ns::ZERO);
        let ready = self.recorded.ready.iter().zip(&self.model.ready);
        Slower {
            suspend: over(self.recorded.suspend, self.model.suspend),
            resume: over(self.recorded.resume, self.model.resume),
            ready: ready.map(|(r, m)| over(*r, *m)).collect(),
        }
    }
}

/// What one recorded cycle reached.
fn reached(board: &Board, cycle: &Cycle, place: &[Option<DeviceId>], goal: &Goal) -> Reached {
    // All that was recorded of a half, as `check` judges it: whoever waits for it waits for
    // CPUs and tasks too, and not for a clock that was moved.
    let rows = Rows::of(cycle);
    let half = |d: Direction| rows.half(d).unwrap_or_default();
    let spans = || cycle.phases.iter().filter(|p| p.phase != Phase::Asleep);
    let up = spans().filter(|p| p.phase > Phase::Asleep).map(|p| p.start).min();
    let ready = goal.ready.iter().map(|(d, _)| {
        let end = ready::last(cycle, &ready::needs(board, *d), place);
        end.zip(up).map_or(Ns::ZERO, |((end, ..), up)| end.since(up))
    });
    Reached {
        suspend: half(Direction::Suspend),
        resume: half(Direction::Resume),
        ready: ready.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{plan, unchanged};
    use super::*;
    use crate::simulate::Settings;
    use crate::simulate::policy::KERNELS;
    use crate::simulate::predict::{Scheduler, outlook};
    use dormouse_board::parse;

    /// The phase in which devices resume takes so much more time.
    fn longer(cycle: &mut Cycle, by: Ns) {
        for p in cycle.phases.iter_mut().filter(|p| p.phase >= Phase::Resume) {
            p.start += if p.phase == Phase::Resume { Ns::ZERO } else { by };
            p.end += by;
        }
        cycle.end += by;
    }

    #[test]
    fn a_budget_that_only_the_model_meets_is_not_met() {
        let board = parse(
            "board 1\ncpus 2\ndevice a suspend=5ms resume=40ms\ndevice b suspend=1ms resume=30ms\n",
        )
        .unwrap();
        let (policy, settings) = (KERNELS[0], Settings::zero_cost());
        let mut goal = Goal { resume: Some(Ns::from_ms(72)), ..Goal::default() };
        let model = unchanged(&board, policy, &settings, &goal).unwrap();
        // The machine took 5 ms more in one of three cycles, and 8 in the others.
        let by = Scheduler { policy, kernel: None };
        let cycles: Vec<Cycle> = [5, 8, 8]
            .map(|more| {
                let mut cycle = outlook(&board, by, &settings).unwrap().run.cycle;
                longer(&mut cycle, Ns::from_ms(more));
                cycle
            })
            .into();
        let cycles: Vec<&Cycle> = cycles.iter().collect();
        let judged = Judged::of(&board, &cycles, &[0, 1], &goal, model.clone()).unwrap();
        assert_eq!((judged.cycles, judged.meet), (3, 0));
        assert_eq!(judged.slower().resume, Ns::from_ms(8));
        assert!(plan(&board, policy, &settings, &goal, &[], 1).unwrap().met, "by the model alone");
        goal.slower = judged.slower();
        let p = plan(&board, policy, &settings, &goal, &[], 1).unwrap();
        assert!(!p.met);
        assert_eq!(p.before.resume, model.resume + Ns::from_ms(8));
        goal.resume = Some(Ns::from_ms(76));
        assert_eq!(Judged::of(&board, &cycles, &[0, 1], &goal, model).unwrap().meet, 1);
    }
}
