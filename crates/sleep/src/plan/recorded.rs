//! What was recorded, beside what the model says of the machine as it is. A budget is met
//! only if the recording would meet it: what the model leaves out stays when something
//! changes, so it is added to every figure of the changed machine.

use super::goal::{Goal, Reached, Slower};
use super::ready;
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
    /// All of each half as recorded, CPUs and tasks too; no device of its own.
    pub whole: Reached,
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
        let whole = |d: Direction| {
            let mut all: Vec<Ns> = cycles.iter().map(|c| whole(c, d)).collect();
            all.retain(|t| *t > Ns::ZERO);
            middle(&mut all, Ns::mean).unwrap_or_default()
        };
        let whole = Reached {
            suspend: whole(Direction::Suspend),
            resume: whole(Direction::Resume),
            ready: Vec::new(),
        };
        let meet = each.iter().filter(|r| r.excess(goal) <= 0).count();
        (!each.is_empty()).then_some(Judged { model, recorded, whole, cycles: each.len(), meet })
    }

    /// The halves, suspend and resume, whose device phases meet the budget with what saves
    /// `before` less `after`, and which as a whole do not: how long they stay.
    pub fn over_as_a_whole(
        &self,
        goal: &Goal,
        before: &Reached,
        after: &Reached,
    ) -> [Option<Ns>; 2] {
        let over = |budget: Option<Ns>, whole: Ns, saved: Ns, after: Ns| {
            let left = whole - saved;
            budget.is_some_and(|b| after <= b && left > b).then_some(left)
        };
        [
            over(goal.suspend, self.whole.suspend, before.suspend - after.suspend, after.suspend),
            over(goal.resume, self.whole.resume, before.resume - after.resume, after.resume),
        ]
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

/// From the begin of a recorded half to its end; zero if nothing of it was recorded.
fn whole(cycle: &Cycle, direction: Direction) -> Ns {
    let of = || {
        let half = cycle.phases.iter().filter(|p| p.phase != Phase::Asleep);
        half.filter(|p| p.phase.direction() == direction)
    };
    let ends = of().map(|p| p.start).min().zip(of().map(|p| p.end).max());
    ends.map_or(Ns::ZERO, |(start, end)| end.since(start))
}

/// What one recorded cycle reached.
fn reached(board: &Board, cycle: &Cycle, place: &[Option<DeviceId>], goal: &Goal) -> Reached {
    let spans = || cycle.phases.iter().filter(|p| p.phase.has_devices());
    let half =
        |d: Direction| spans().filter(|p| p.phase.direction() == d).map(|p| p.duration()).sum();
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
                let last = cycle.phases.iter_mut().find(|p| p.phase == Phase::Resume).unwrap();
                last.end += Ns::from_ms(more);
                cycle
            })
            .into();
        let cycles: Vec<&Cycle> = cycles.iter().collect();
        let judged = Judged::of(&board, &cycles, &[0, 1], &goal, model.clone()).unwrap();
        assert_eq!((judged.cycles, judged.meet), (3, 0));
        assert_eq!(judged.slower().resume, Ns::from_ms(8));
        // What CPUs take between the phases counts for the half, and for no device.
        let wide = Judged {
            whole: Reached { resume: Ns::from_ms(90), ..Reached::default() },
            ..judged.clone()
        };
        let (wish, now) =
            (Goal { resume: Some(Ns::from_ms(85)), ..Goal::default() }, &judged.recorded);
        assert_eq!(wide.over_as_a_whole(&wish, now, now), [None, Some(Ns::from_ms(90))]);
        assert_eq!(judged.over_as_a_whole(&wish, now, now), [None, None]);
        assert!(plan(&board, policy, &settings, &goal, &[], 1).unwrap().met, "by the model alone");
        goal.slower = judged.slower();
        let p = plan(&board, policy, &settings, &goal, &[], 1).unwrap();
        assert!(!p.met);
        assert_eq!(p.before.resume, model.resume + Ns::from_ms(8));
        goal.resume = Some(Ns::from_ms(76));
        assert_eq!(Judged::of(&board, &cycles, &[0, 1], &goal, model).unwrap().meet, 1);
    }
}
