//! Energy of sleeps. Power by state is given or assumed; what it costs to go
//! into a state and back follows from its target residency.

use crate::state::{ONLY_S2IDLE, StateSet, Table};

/// Power of each state, in a unit of the caller's (mW, or thousandths of the
/// power of state 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powers {
    power: Vec<i64>,
    /// What entering and leaving costs more than state 0, power times ns.
    transition: Vec<i128>,
}

impl Powers {
    /// From the power of each state. `None` if there are not as many as states,
    /// or a deeper one has more: then no residency is a break-even point.
    pub fn given(table: &Table, power: &[i64]) -> Option<Powers> {
        let falls = power.windows(2).all(|p| p[1] <= p[0]) && power.iter().all(|&p| p >= 0);
        if power.len() != table.states().len() || !falls {
            return None;
        }
        // Two neighbours break even exactly at the target residency of the
        // deeper one: E_i = E_(i-1) + (P_(i-1) - P_i) * residency_i.
        let mut transition = std::vec![0i128];
        for (i, s) in table.states().iter().enumerate().skip(1) {
            let saved = i128::from(power[i - 1] - power[i]);
            transition.push(transition[i - 1] + saved * i128::from(s.residency));
        }
        Some(Powers { power: power.to_vec(), transition })
    }

    /// Assumed: 1,000 in state 0, and equal steps down to 0 in the deepest that can be
    /// used. States that are disabled, or that suspend-to-idle alone may enter, set no
    /// step: each has the power of the one before it.
    pub fn assumed(table: &Table, disabled: StateSet) -> Powers {
        let never = i64::try_from(ONLY_S2IDLE).unwrap_or(i64::MAX).saturating_mul(1_000);
        let used = |i: usize| i == 0 || !disabled.has(i) && table.states()[i].residency < never;
        let n = (0..table.states().len()).filter(|i| used(*i)).count() as i64 - 1;
        let mut step = -1;
        let power: Vec<i64> = (0..table.states().len())
            .map(|i| {
                step += i64::from(used(i));
                if n > 0 { 1_000 * (n - step) / n } else { 1_000 }
            })
            .collect();
        let empty = Powers { power: Vec::new(), transition: Vec::new() };
        Powers::given(table, &power).unwrap_or(empty)
    }

    /// Energy of `ns` in `state`, in and out: power times ns.
    pub fn of(&self, state: usize, ns: i64) -> i128 {
        match (self.power.get(state), self.transition.get(state)) {
            (Some(&p), Some(&e)) => e + i128::from(p) * i128::from(ns),
            _ => 0,
        }
    }

    /// Power of a state, in the caller's unit.
    pub fn power(&self, state: usize) -> i64 {
        self.power.get(state).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    #[test]
    fn states_that_nothing_uses_set_no_step() {
        let state = |us: i64| State { residency: us * 1_000, ..State::default() };
        let table = Table::new(Vec::from([0, 20, 50, 300, 90_000].map(state))).expect("a table");
        let powers = |disabled: StateSet| {
            let p = Powers::assumed(&table, disabled);
            Vec::from([0, 1, 2, 3, 4].map(|i| p.power(i)))
        };
        assert_eq!(powers(StateSet::NONE), [1_000, 750, 500, 250, 0]);
        assert_eq!(powers(StateSet::NONE.with(4)), [1_000, 666, 333, 0, 0]);
        assert_eq!(powers(StateSet::NONE.with(2).with(4)), [1_000, 500, 500, 0, 0]);
        let s2idle = Table::new(Vec::from([0, 20, ONLY_S2IDLE as i64].map(state))).expect("three");
        assert_eq!(Powers::assumed(&s2idle, StateSet::NONE).power(1), 0);
    }
}
