//! What wakes a CPU, and when: the part of a recording that does not depend on
//! the idle state that was chosen.

use crate::state::{STATES_MAX, Table};

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

/// Something that wakes a CPU and the work that it brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// When the event comes, ns: for a timer, when the clock event is programmed.
    pub at: i64,
    /// So much earlier, ns, a timer may be served if a timer interrupt comes
    /// anyway (`softexpires`).
    pub slack: i64,
    /// How long the CPU then worked for it, ns.
    pub work: i64,
    /// The event was a timer.
    pub timer: bool,
    /// A timer of the timer wheel, which is served by the tick.
    pub wheel: bool,
    /// A timer of the wheel that may be deferred: it wakes no CPU whose tick is
    /// stopped, and the next tick serves it (`TIMER_DEFERRABLE`, kernel/time/timer.c).
    pub deferrable: bool,
    /// A task ran after it: the CPU left the idle loop, which starts a stopped
    /// tick again. After a handler alone it sleeps on without one.
    pub leaves: bool,
    /// The task that ran first for it, by a number; 0: nobody knows.
    pub task: u32,
    /// It came after the recording: what followed is not known, and a replay that
    /// gets there sooner ends.
    pub open: bool,
    /// When its work was over in the recording, ns; 0 if nothing came of it.
    pub done: i64,
    /// What it follows: no event comes before its cause.
    pub after: Option<After>,
}

/// The cause of an event: work that armed a timer, or asked a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Number of the wake-up whose work that was.
    pub wake: u32,
    /// The event moves with the end of that work: the timer was relative, or the
    /// disk answers after a time. Others come when they come.
    pub moves: bool,
}

/// A timer that was armed and did not wake the CPU, because it was cancelled or
/// is of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// From here on a governor knew of it, ns …
    pub from: i64,
    /// … up to here.
    pub until: i64,
    /// When it would have expired, ns.
    pub at: i64,
}

/// What the idle loop itself costs, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// From the end of a sleep until a task runs.
    pub begin: i64,
    /// From the last task until the CPU sleeps.
    pub end: i64,
    /// From the end of a sleep until the next, if no task runs.
    pub again: i64,
    /// Each further timer that one interrupt serves. Measured exits are without.
    pub more: i64,
}

/// The wake-ups of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// When the CPU first wanted to sleep, ns.
    pub start: i64,
    /// When the recording ends, ns; 0: with the last of them.
    pub end: i64,
    /// Each after its cause.
    pub list: Vec<Wake>,
    /// Timers that woke nobody, by [`Pending::from`].
    pub pending: Vec<Pending>,
    /// Time from an event until the CPU was awake as measured, ns, by number of
    /// the state, each in order; without [`Costs::more`].
    pub exits: Vec<Vec<i64>>,
    /// The same after ticks.
    pub tick_exits: Vec<Vec<i64>>,
    /// Time from an event other than the tick until the CPU was awake, ns: one for
    /// each sleep that it ended.
    pub delays: Vec<i64>,
    /// How long a task may run before others have their turn, ns, where the scheduler
    /// arms a timer for that and leaves the clock's event behind when the CPU gets idle:
    /// where several tasks ran, the first sleep after them may be ended by it. 0: not so.
    pub turn: i64,
    /// Interrupts are handled before the exit latency, as by a halt that they end
    /// themselves; else after it.
    pub handles_first: bool,
    /// A tick comes at this time, ns, and whole ticks before and after.
    pub phase: i64,
    /// The idle loop.
    pub costs: Costs,
}

impl Wakes {
    /// A CPU took `ns` to leave `state` after a tick or another event; numbers
    /// that no driver has are left out.
    pub fn measured(&mut self, state: u32, ns: i64, tick: bool) {
        let (i, lists) =
            (state as usize, if tick { &mut self.tick_exits } else { &mut self.exits });
        if i < STATES_MAX {
            lists.resize(lists.len().max(i + 1), Vec::new());
            lists[i].push(ns);
        }
    }
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
            done: next,
            ..Wake::default()
        }
    };
    Wakes {
        start: episodes.first().map_or(0, |e| e.enter),
        list: episodes.iter().enumerate().map(one).collect(),
        ..Wakes::default()
    }
}

/// Wake-ups may come with causes: timers with slack, turns of tasks, handlers before
/// the exit latency. The page of the report is given none, and its module is small.
pub(crate) const CAUSES: bool = cfg!(not(target_arch = "wasm32"));
