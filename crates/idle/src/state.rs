//! An idle state, and the table of them that a driver registers for a CPU.

/// Most states a driver can register (`CPUIDLE_STATE_MAX`, include/linux/cpuidle.h).
pub(crate) const STATES_MAX: usize = 10;

/// Target residency, in us, of a state that suspend-to-idle alone may enter:
/// drivers give it the largest number there is, and no sleep pays.
pub const ONLY_S2IDLE: u64 = u32::MAX as u64;

/// One idle state (`struct cpuidle_state`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// Name that the driver gave, as in sysfs: `POLL`, `C1E`, `WFI`.
    pub name: String,
    /// Exit latency in ns: how long the CPU takes to come back.
    pub latency: i64,
    /// Target residency in ns: from here on the state is said to pay.
    pub residency: i64,
    /// The CPU spins instead of sleeping (`CPUIDLE_FLAG_POLLING`).
    pub polls: bool,
    /// The local timer stops (`CPUIDLE_FLAG_TIMER_STOP`). Not visible in sysfs.
    pub stops_timer: bool,
}

/// The states of a CPU, shallowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Table {
    states: Vec<State>,
}

/// A table that no governor can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// A driver registers at least one state.
    Empty,
    /// The kernel has room for [`STATES_MAX`] states.
    TooMany(usize),
}

impl Table {
    /// A table of one to [`STATES_MAX`] states.
    pub fn new(states: Vec<State>) -> Result<Table, TableError> {
        match states.len() {
            0 => Err(TableError::Empty),
            n if n > STATES_MAX => Err(TableError::TooMany(n)),
            _ => Ok(Table { states }),
        }
    }

    /// The states, shallowest first; never empty.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Index of the deepest state.
    pub fn deepest(&self) -> usize {
        self.states.len() - 1
    }
}

/// A set of states by index: those that are disabled, for example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateSet(pub u16);

impl StateSet {
    /// No state.
    pub const NONE: StateSet = StateSet(0);

    /// Is state `i` in the set?
    pub const fn has(self, i: usize) -> bool {
        i < 16 && self.0 & (1 << i) != 0
    }

    /// The set with state `i` in it.
    #[must_use]
    pub const fn with(self, i: usize) -> StateSet {
        if i < 16 { StateSet(self.0 | 1 << i) } else { self }
    }
}
