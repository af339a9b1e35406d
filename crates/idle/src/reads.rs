//! Reads of a disk, one at a time, and the idle state that the CPU waits in.
//!
//! A read is work (submit it, handle the interrupt, hand over the data), a wait
//! for the device in which the CPU is idle, and the exit latency of its state.
//! Work and wait are measured with shallow states alone; what another choice of
//! states makes of the read follows.

use crate::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use crate::state::{State, StateSet, Table};

/// Reads of one size, as measured: means of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a read.
    pub block: u64,
    /// From one read to the next, ns.
    pub read: i64,
    /// Of that the CPU worked, ns.
    pub work: i64,
}

impl Cell {
    /// How long the device took, if the CPU needed `exit` ns to wake up.
    pub fn wait(&self, exit: i64) -> i64 {
        (self.read - self.work - exit).max(0)
    }
}

/// Time by size of a read: the line nearest to what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// ns of a read without data.
    pub fixed: i64,
    /// ns for each MiB.
    pub per_mib: i64,
    /// The measured time that is farthest from the line, ns.
    pub worst: i64,
}

/// The line of least squares through sizes and times; none of fewer than two
/// sizes.
pub fn line(points: &[(u64, i64)]) -> Option<Line> {
    let n = points.len() as i128;
    let sum = |f: fn(&(u64, i64)) -> i128| points.iter().map(f).sum::<i128>();
    let (x, y) = (sum(|p| i128::from(p.0)), sum(|p| i128::from(p.1)));
    let (xx, xy) =
        (sum(|p| i128::from(p.0) * i128::from(p.0)), sum(|p| i128::from(p.0) * i128::from(p.1)));
    let (up, down) = (n * xy - x * y, n * xx - x * x);
    if n < 2 || down == 0 {
        return None;
    }
    let at = |block: u64| (y * down + up * (n * i128::from(block) - x)) / (n * down);
    let worst = points.iter().map(|&(b, t)| (i128::from(t) - at(b)).abs()).max().unwrap_or(0);
    let ns = |v: i128| i64::try_from(v).unwrap_or(i64::MAX);
    Some(Line { fixed: ns(at(0)), per_mib: ns((up << 20) / down), worst: ns(worst) })
}

/// How states are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// States of the CPU.
    pub table: &'a Table,
    /// Those that may not be entered.
    pub disabled: StateSet,
    /// Largest exit latency allowed, ns.
    pub limit: i64,
    /// Length of a tick, ns.
    pub tick: i64,
    /// Governor.
    pub kind: Kind,
    /// Its version.
    pub version: Version,
    /// The device's interrupt is a timer that the governor can foresee.
    pub foreseen: bool,
}

/// What the CPU does while it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Sleeps of each state.
    pub sleeps: Vec<u64>,
    /// What a read pays for waking up, ns: the mean.
    pub paid: i64,
}

/// Reads before any is counted: the governors look at far fewer.
const WARM_UP: u32 = 256;
/// Reads that are counted.
const COUNTED: u32 = 1_024;
/// What a read may pay at most, ns: more than any state takes to leave.
const MOST_PAID: i64 = 1_000_000_000_000;
/// No timer but the tick: a second is longer than any state asks for.
const NO_TIMER: i64 = 1_000_000_000;

/// Lets a governor choose states for reads whose device takes `wait` ns, with
/// `work` ns of work between them.
pub fn waited(rules: &Rules, work: i64, wait: i64) -> Waited {
    let states = rules.table.states();
    let mut governor = Governor::new(rules.kind, rules.version, rules.table);
    let mut out = Waited { sleeps: vec![0; states.len()], paid: 0 };
    let (mut now, mut paid) = (0, 0);
    for n in 0..WARM_UP + COUNTED {
        let counts = n >= WARM_UP;
        // A table may say that leaving a state takes for ever.
        now = work.max(1).saturating_add(now);
        let ready = now.saturating_add(wait.max(1));
        let mut tick_stopped = false;
        // Sleeps until the device is ready; a tick may end one before.
        while now < ready {
            let left = ready - now;
            let timer = if rules.foreseen { left } else { NO_TIMER };
            let to_tick = rules.tick - now % rules.tick;
            let event = if tick_stopped { timer } else { timer.min(to_tick) };
            let choice = governor.select(&Question {
                table: rules.table,
                disabled: rules.disabled,
                limit: rules.limit,
                tick: rules.tick,
                tick_stopped,
                sleep: SleepLength { timer, event },
                now,
                // The reader itself.
                iowait: 1,
            });
            tick_stopped |= choice.stop_tick;
            let state = &states[choice.state];
            let spins = if state.polls { poll_limit(rules) } else { i64::MAX };
            let tick = if tick_stopped { i64::MAX } else { to_tick };
            let slept = left.min(tick).min(spins);
            let residency = slept.saturating_add(if state.polls { 0 } else { state.latency });
            now = now.saturating_add(residency);
            governor.reflect(&Outcome {
                entered: choice.state,
                residency,
                poll_limit: state.polls && slept == spins && slept < left,
                tick: slept == tick && slept < left,
                now,
            });
            if counts {
                out.sleeps[choice.state] += 1;
            }
        }
        if counts {
            paid = (now - ready).saturating_add(paid);
        }
    }
    out.paid = (paid / i64::from(COUNTED)).min(MOST_PAID);
    out
}

/// How long a polling state spins (`cpuidle_poll_time`, drivers/cpuidle/cpuidle.c,
/// 6.12).
fn poll_limit(rules: &Rules) -> i64 {
    let longest = (rules.tick / 16).max(1);
    let worth =
        |(i, s): &(usize, &State)| *i > 0 && !rules.disabled.has(*i) && s.residency >= 10_000;
    let found = rules.table.states().iter().enumerate().find(worth);
    found.map_or(longest, |(_, s)| s.residency.min(longest))
}

/// Exit latency above that of the shallow state with which reads of `cell` lose
/// `thousandths` of their bandwidth, ns.
pub fn exit_that_loses(cell: &Cell, thousandths: i64) -> i64 {
    let left = (1_000 - thousandths).max(1);
    cell.read * thousandths / left
}

/// Thousandths of bandwidth that are lost where a read takes `then` ns instead of
/// `now`; negative where it is won.
pub fn lost(now: i64, then: i64) -> i64 {
    ((i128::from(then) - i128::from(now)) * 1_000 / i128::from(then.max(1))) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(deep_pays: i64) -> Table {
        let state =
            |polls, latency, residency| State { polls, latency, residency, ..State::default() };
        Table::new(vec![
            state(true, 0, 0),
            state(false, 2_000, 2_000),
            state(false, 133_000, deep_pays),
        ])
        .expect("three states")
    }

    fn rules(table: &Table) -> Rules<'_> {
        Rules {
            table,
            disabled: StateSet::NONE,
            limit: crate::knob::UNLIMITED,
            tick: 4_000_000,
            kind: Kind::Menu,
            version: Version::V6_12,
            foreseen: false,
        }
    }

    #[test]
    fn a_state_is_taken_where_its_table_says_that_it_pays() {
        // Shortly before a tick a shallower state may be taken.
        let nearly = |rules: &Rules, paid: i64| {
            let found = waited(rules, 15_000, 100_000);
            assert!((paid * 97 / 100..=paid).contains(&found.paid), "{found:?}");
        };
        let honest = table(600_000);
        nearly(&rules(&honest), 2_000);
        // The same state, said to pay after 20 us.
        let wrong = table(20_000);
        nearly(&rules(&wrong), 133_000);
        nearly(&Rules { disabled: StateSet::NONE.with(2), ..rules(&wrong) }, 2_000);
        nearly(&Rules { limit: 50_000, ..rules(&wrong) }, 2_000);
    }

    #[test]
    fn a_state_that_takes_for_ever_to_leave_costs_no_more_than_that() {
        let mut states = table(20_000).states().to_vec();
        (states[2].latency, states[2].residency) = (i64::MAX, 0);
        let table = Table::new(states).expect("three states");
        let any = Rules { limit: i64::MAX, ..rules(&table) };
        assert!(waited(&any, 15_000, 100_000).paid <= MOST_PAID);
    }

    #[test]
    fn a_line_is_found_and_its_worst_miss_said() {
        // 80 us and 1 us for each KiB.
        let points: Vec<(u64, i64)> =
            [4u64, 32, 512].iter().map(|k| (k << 10, 80_000 + 1_000 * *k as i64)).collect();
        let found = line(&points).expect("three sizes");
        assert_eq!((found.fixed, found.per_mib, found.worst), (80_000, 1_024_000, 0));
        let bent = line(&[(0, 0), (1 << 20, 30), (2 << 20, 0)]).expect("three sizes");
        assert_eq!((bent.fixed, bent.per_mib, bent.worst), (10, 0, 20));
        assert_eq!(line(&[(4096, 1)]), None);
        assert_eq!(line(&[(4096, 1), (4096, 2)]), None);
    }

    #[test]
    fn what_an_exit_costs_and_the_exit_of_a_cost_agree() {
        let cell = Cell { block: 32 << 10, read: 117_000, work: 17_000 };
        let exit = exit_that_loses(&cell, 100);
        assert_eq!(exit, 13_000);
        assert_eq!(lost(cell.read, cell.read + exit), 100);
        assert_eq!(lost(100, 50), -1_000);
        assert_eq!(cell.wait(2_000), 98_000);
    }
}
