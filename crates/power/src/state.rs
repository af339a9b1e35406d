//! Idle states of one domain, as `idle_states` and `active_time` in its folder of
//! debugfs show them (drivers/pmdomain/core.c:idle_states_show).

use dormouse_base::time::Ns;

/// An idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Time in it, ms.
    pub ms: u64,
    /// How often it was entered.
    pub usage: u64,
    /// How often the switch refused.
    pub rejected: u64,
    /// Sleeps that were too short for it; known from 6.16 on.
    pub above: Option<u64>,
    /// Sleeps that were long enough for a deeper one.
    pub below: Option<u64>,
}

/// What the folder of one domain shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// The domain; empty if the text does not say.
    pub domain: String,
    /// States, shallow first.
    pub states: Vec<State>,
    /// What switching off to each state and back on takes in all, shallow first; known
    /// from 7.1 on (`idle_states_desc`). The kernel's own figure, not measured for states
    /// of the device tree.
    pub latencies: Vec<Ns>,
    /// Time on, ms.
    pub active_ms: Option<u64>,
    /// Time off, ms.
    pub idle_ms: Option<u64>,
}

impl Table {
    /// Whether it goes off and never deeper than its first state.
    pub(crate) fn shallow_only(&self) -> bool {
        match self.states.split_first() {
            Some((first, rest)) => {
                first.usage > 0 && !rest.is_empty() && rest.iter().all(|s| s.usage == 0)
            }
            None => false,
        }
    }
}
