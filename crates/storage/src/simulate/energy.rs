//! What states and transitions of a disk cost, as somebody gave it.

use super::disk::Outcome;
use super::settings::Drive;
use serde::Serialize;

/// A state of a disk. Clocks are indices of [`Drive::levels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Serving at a clock.
    Busy(usize),
    /// Awake and not serving at a clock.
    Idle(usize),
    /// Clock gating: under way, done, being undone.
    Gate(usize),
    /// Runtime suspend: under way, done, being undone.
    Suspend(usize),
}

/// Time in each state, ns, in an order that does not change.
pub fn states(o: &Outcome) -> Vec<(State, i64)> {
    let t = &o.times;
    let of = |list: &[i64], make: fn(usize) -> State| -> Vec<(State, i64)> {
        list.iter().enumerate().map(|(n, t)| (make(n), *t)).collect()
    };
    let mut out = of(&t.busy, State::Busy);
    out.extend(of(&t.idle, State::Idle));
    out.extend(of(&t.gate, State::Gate));
    out.extend(of(&t.suspend, State::Suspend));
    out
}

/// Powers, uW, and energies of transitions, nJ; `None` where nobody gave one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    /// Serving, at each clock.
    pub busy: Vec<Option<u64>>,
    /// Awake and not serving, at each clock.
    pub idle: Vec<Option<u64>>,
    /// Being gated, gated, being ungated.
    pub gate: [Option<u64>; 3],
    /// Being suspended, suspended, being resumed.
    pub suspend: [Option<u64>; 3],
    /// Of one change of the clock.
    pub change: Option<u64>,
    /// Of gating and ungating together.
    pub ungate: Option<u64>,
    /// Of suspending and resuming together.
    pub resume: Option<u64>,
}

impl Powers {
    /// Of a disk with so many clocks, nothing known.
    pub fn unknown(levels: usize) -> Powers {
        Powers { busy: vec![None; levels], idle: vec![None; levels], ..Powers::default() }
    }

    /// Power in a state, uW. The energy of a transition stands for the powers of its
    /// ways.
    pub fn power(&self, state: State) -> Option<u64> {
        let way = |list: &[Option<u64>; 3], n: usize, energy: Option<u64>| {
            list[n].or((n != 1 && energy.is_some()).then_some(0))
        };
        match state {
            State::Busy(n) => *self.busy.get(n)?,
            State::Idle(n) => *self.idle.get(n)?,
            State::Gate(n) => way(&self.gate, n, self.ungate),
            State::Suspend(n) => way(&self.suspend, n, self.resume),
        }
    }

    /// Whether anything is known.
    pub fn any(&self) -> bool {
        let all = self.busy.iter().chain(&self.idle).chain(&self.gate).chain(&self.suspend);
        all.flatten().next().is_some()
    }

    /// Energy of an outcome, uJ.
    ///
    /// # Errors
    /// The first state in which time was spent and whose power is not known.
    pub fn energy(&self, o: &Outcome) -> Result<u64, State> {
        let mut femto: u128 = 0;
        for (state, time) in states(o) {
            if time > 0 {
                let power = self.power(state).ok_or(state)?;
                femto += u128::from(power) * u128::from(time.unsigned_abs());
            }
        }
        for (count, each) in
            [(o.changes, self.change), (o.ungates, self.ungate), (o.resumes, self.resume)]
        {
            femto += u128::from(count) * u128::from(each.unwrap_or(0)) * 1_000_000;
        }
        Ok(u64::try_from(femto / 1_000_000_000).unwrap_or(u64::MAX))
    }
}

/// Times in a deeper state that pay for going there and back, ns, counted from the
/// end of the last request; `None`: it never pays, or is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BreakEven {
    /// The slowest clock.
    pub clock: Option<i64>,
    /// The clock gated.
    pub gate: Option<i64>,
    /// Suspended.
    pub suspend: Option<i64>,
}

/// A rest of the storage: what it costs whatever its length, fJ, and what each ns
/// costs, uW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Going there and back, fJ, over what the same time in the state costs.
    pub once: i128,
    /// uW.
    pub power: u64,
    /// Time of going there and back, ns.
    pub ways: i64,
}

/// Awake at the fastest clock, at the slowest, gated, suspended: `None` where a
/// power is not known or the disk has no such state.
pub fn rests(drive: &Drive, p: &Powers) -> Option<[Option<Rest>; 4]> {
    let top = drive.levels.len() - 1;
    let stay = p.power(State::Idle(top))?;
    let rest = |state, ways: [(State, i64); 2], energy: Option<u64>| -> Option<Rest> {
        let power = p.power(state)?;
        let mut once = i128::from(energy.unwrap_or(0)) * 1_000_000;
        for (way, time) in ways {
            if time > 0 {
                let over = i128::from(p.power(way)?) - i128::from(power);
                once += over * i128::from(time);
            }
        }
        Some(Rest { once, power, ways: ways.iter().map(|w| w.1).sum() })
    };
    let nap = |make: fn(usize) -> State, times: super::settings::Nap, energy| {
        rest(make(1), [(make(0), times.enter), (make(2), times.wake)], energy)
    };
    let slow = (top > 0)
        .then(|| {
            let way = (State::Idle(top), drive.change);
            // The energy of a change is of each of the two.
            rest(State::Idle(0), [way, way], p.change.map(|e| e.saturating_mul(2)))
        })
        .flatten();
    Some([
        Some(Rest { once: 0, power: stay, ways: 0 }),
        slow,
        nap(State::Gate, drive.gate, p.ungate),
        nap(State::Suspend, drive.suspend, p.resume),
    ])
}

impl BreakEven {
    /// Of powers: the lower envelope of what each rest costs by its length.
    pub fn of(rests: &[Option<Rest>; 4]) -> BreakEven {
        let mut at = [None; 4];
        let Some(mut here) = rests[0] else { return BreakEven::default() };
        loop {
            // The first of the deeper ones that becomes cheaper than this.
            let mut best: Option<(i64, usize, Rest)> = None;
            for (n, r) in rests.iter().enumerate().filter_map(|(n, r)| Some((n, (*r)?))) {
                if r.power >= here.power {
                    continue;
                }
                let saved = i128::from(here.power - r.power);
                let t = ((r.once - here.once).max(0) + saved - 1) / saved;
                let t = i64::try_from(t).unwrap_or(i64::MAX).max(r.ways);
                if best.is_none_or(|b| (t, r.power) < (b.0, b.2.power)) {
                    best = Some((t, n, r));
                }
            }
            let Some((t, n, r)) = best else { break };
            at[n] = Some(t);
            here = r;
        }
        BreakEven { clock: at[1], gate: at[2], suspend: at[3] }
    }

    /// Without powers: a rest pays when it is longer than going there and back.
    pub fn of_times(drive: &Drive) -> BreakEven {
        let ways = |n: super::settings::Nap| (n.wake > 0).then(|| n.enter.saturating_add(n.wake));
        BreakEven {
            clock: (drive.levels.len() > 1).then(|| drive.change.saturating_mul(2)),
            gate: ways(drive.gate),
            suspend: ways(drive.suspend),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::settings::{Nap, laboratory};

    fn drive() -> Drive {
        let (mut d, _) = laboratory();
        d.gate = Nap { enter: 100_000, wake: 1_000_000 };
        d
    }

    fn powers() -> Powers {
        Powers {
            busy: vec![Some(300_000), Some(900_000)],
            idle: vec![Some(60_000), Some(100_000)],
            gate: [None, Some(20_000), None],
            suspend: [None, Some(2_000), None],
            change: Some(10_000),
            ungate: Some(200_000),
            resume: Some(6_000_000),
        }
    }

    #[test]
    fn energy_is_power_times_time_and_transitions_apart() {
        let o = Outcome {
            changes: 3,
            ungates: 2,
            resumes: 1,
            times: super::super::disk::Times {
                busy: vec![0, 1_000_000],
                idle: vec![2_000_000, 0],
                gate: [0, 5_000_000, 7],
                suspend: [0; 3],
            },
            ..Outcome::default()
        };
        // 0.9 W for 1 ms, 60 mW for 2 ms, 20 mW for 5 ms: 900 + 120 + 100 uJ; 30 + 400
        // + 6,000 uJ for transitions.
        assert_eq!(powers().energy(&o), Ok(900 + 120 + 100 + 30 + 400 + 6_000));
        let without = Powers { gate: [None; 3], ..powers() };
        assert_eq!(without.energy(&o), Err(State::Gate(1)), "no watt is invented");
    }

    #[test]
    fn a_rest_pays_where_its_line_crosses_the_one_before() {
        let r = rests(&drive(), &powers()).unwrap();
        let b = BreakEven::of(&r);
        // Slow clock: 2 * 10 uJ and 2 * 0.5 ms at 100 instead of 60 mW, 40 mW saved.
        assert_eq!(b.clock, Some(1_500_000));
        assert!(b.clock < b.gate && b.gate < b.suspend, "{b:?}");
        // Suspended for that long is as dear as gated.
        let cost = |r: Rest, t: i64| r.once + i128::from(r.power) * i128::from(t);
        let [_, _, Some(gate), Some(suspend)] = r else { panic!() };
        let t = b.suspend.unwrap();
        assert!(cost(suspend, t) <= cost(gate, t) && cost(suspend, t - 2) > cost(gate, t - 2));
        assert_eq!(BreakEven::of_times(&drive()).gate, Some(1_100_000));
    }
}
