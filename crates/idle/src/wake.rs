//! What wakes a CPU, and when: the part of a recording that does not depend on
//! the idle state that was chosen.

use crate::state::Table;
use alloc::vec::Vec;

/// One sleep as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// When the CPU went to sleep, ns.
    pub enter: i64,
    /// When it was awake again, ns; its exit latency has passed.
    pub exit: i64,
    /// Number of the state.
    pub state: u32,
    /// A timer woke it. Without it, something else, or nobody knows.
    pub timer: bool,
    /// A task ran between this sleep and the next; `None` where the recording
    /// does not tell.
    pub ran: Option<bool>,
}

/// Work of at least this long is taken for that of a task where the recording
/// does not tell, ns: a handler alone is shorter.
pub const TASK: i64 = 100_000;

/// A wake-up and the work after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When the event came that woke the CPU, ns.
    pub at: i64,
    /// How long the CPU then worked before it wanted to sleep again, ns.
    pub work: i64,
    /// The event was a timer.
    pub timer: bool,
    /// A task ran after it: the CPU left the idle loop, which starts a stopped
    /// tick again. After a handler alone it sleeps on without one.
    pub leaves: bool,
}

/// The wake-ups of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// When the CPU first wanted to sleep, ns.
    pub start: i64,
    /// In order of time.
    pub list: Vec<Wake>,
}

/// Wake-ups behind recorded sleeps of one CPU, which are in order of time.
///
/// The event is taken to have come one exit latency before the CPU was awake,
/// and not before it fell asleep: what a state takes to leave is only known from
/// its table.
pub fn wakes(episodes: &[Episode], table: &Table) -> Wakes {
    let one = |(i, e): (usize, &Episode)| {
        let latency = table.states().get(e.state as usize).map_or(0, |s| s.latency);
        let next = episodes.get(i + 1).map_or(e.exit, |n| n.enter);
        let work = next.saturating_sub(e.exit).max(0);
        Wake {
            at: e.exit.saturating_sub(latency).max(e.enter),
            work,
            timer: e.timer,
            leaves: e.ran.unwrap_or(work >= TASK),
        }
    };
    Wakes {
        start: episodes.first().map_or(0, |e| e.enter),
        list: episodes.iter().enumerate().map(one).collect(),
    }
}
