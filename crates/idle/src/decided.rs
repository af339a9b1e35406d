//! Decisions of a real governor, made again from what it was told.

use crate::governors::{
    Carried, Decision, Governor, Kind, Outcome, Question, SleepLength, Version,
};
use crate::state::{StateSet, Table};
use std::collections::BTreeMap;

/// Something that a governor was told or did, on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It begins with an empty history, on every CPU.
    Forgets,
    /// It decided.
    Decides {
        /// Largest exit latency allowed, ns.
        limit: i64,
        /// The tick was stopped.
        tick_stopped: bool,
        /// What the timer code said, if it asked.
        sleep: Option<SleepLength>,
        /// The state that it chose.
        state: usize,
        /// Whether the tick may be stopped, if it says so.
        stop_tick: Option<bool>,
    },
    /// What became of it.
    Learns {
        /// The state that was entered; negative if work came first.
        entered: i64,
        /// How long the CPU slept, ns.
        residency: i64,
        /// Polling ended at its limit.
        poll_limit: bool,
        /// The tick woke the CPU.
        tick: bool,
    },
}

/// How many decisions were recorded, and how many of them are made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Decisions of a governor whose history is known from its begin.
    pub decisions: u64,
    /// Those that come out equal: state, tick, and whether timers were asked.
    pub equal: u64,
    /// Decisions before that.
    pub unknown: u64,
}

impl Again {
    /// Adds those of another recording.
    pub fn add(&mut self, other: &Again) {
        self.decisions += other.decisions;
        self.equal += other.equal;
        self.unknown += other.unknown;
    }
}

/// Rules, and what they are about.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Governor.
    pub kind: Kind,
    /// Its version.
    pub version: Version,
    /// Length of a tick, ns.
    pub tick: i64,
    /// Table of each CPU, and what is disabled.
    pub tables: &'a BTreeMap<u32, (Table, StateSet)>,
}

/// Governors that begin now on a CPU that slept so before.
///
/// Where its last sleep came before the recording, there is a governor for each case
/// that makes a difference: menu looks whether it was nothing, ladder whether it was
/// longer than the exit latency of the state that it begins in, teo whether it was
/// short. Those that decide otherwise than the kernel are dropped; one alone makes all
/// decisions.
pub fn candidates(
    kind: Kind,
    version: Version,
    table: &Table,
    before: Option<Carried>,
) -> Vec<Governor> {
    let first = table.states().iter().find(|s| !s.polls).map_or(0, |s| s.latency);
    let long = Carried { entered: table.deepest(), residency: i64::MAX / 2, poll_limit: false };
    let any = [
        Carried::default(),
        Carried { residency: first, ..Carried::default() },
        long,
        Carried { poll_limit: true, ..long },
    ];
    let cases = before.as_ref().map_or(&any[..], std::slice::from_ref);
    let one = |before: &Carried| {
        let mut new = Governor::new(kind, version, table);
        new.carry(before);
        new
    };
    cases.iter().map(one).collect()
}

/// Makes the decisions of `steps` (CPU and step, in order of time) again.
pub fn again(steps: &[(u32, Step)], rules: &Rules) -> Again {
    let mut out = Again::default();
    let mut governors: BTreeMap<u32, Vec<Governor>> = BTreeMap::new();
    let mut slept: BTreeMap<u32, Carried> = BTreeMap::new();
    let mut known = false;
    for (cpu, step) in steps {
        match *step {
            Step::Forgets => {
                governors.clear();
                known = true;
            }
            Step::Decides { .. } if !known => out.unknown += 1,
            Step::Decides { limit, tick_stopped, sleep, state, stop_tick } => {
                let Some((table, disabled)) = rules.tables.get(cpu) else {
                    out.unknown += 1;
                    continue;
                };
                let before = slept.get(cpu).copied();
                let begin = || candidates(rules.kind, rules.version, table, before);
                let open = governors.entry(*cpu).or_insert_with(begin);
                let question = Question {
                    table,
                    disabled: *disabled,
                    limit,
                    tick: rules.tick,
                    tick_stopped,
                    sleep: sleep.unwrap_or(SleepLength { timer: -1, event: -1 }),
                    now: 0,
                    // Only 6.1 looks, whose arguments no probe can read.
                    iowait: 0,
                };
                let same = |g: &mut Governor| {
                    let is = g.select(&question);
                    let stop_tick = stop_tick.unwrap_or(is.stop_tick);
                    is == Decision { state, stop_tick, asked: sleep.is_some() }
                };
                let agree: Vec<bool> = open.iter_mut().map(same).collect();
                out.decisions += 1;
                if agree.contains(&true) {
                    out.equal += 1;
                    let mut stays = agree.iter();
                    open.retain(|_| stays.next() == Some(&true));
                }
            }
            Step::Learns { entered, residency, poll_limit, tick } => {
                let before = slept.get(cpu).copied().unwrap_or_default();
                slept.insert(*cpu, before.and(entered, residency, poll_limit));
                for governor in governors.get_mut(cpu).into_iter().flatten() {
                    match usize::try_from(entered) {
                        Ok(entered) => {
                            let now = 0;
                            governor.reflect(&Outcome {
                                entered,
                                residency,
                                poll_limit,
                                tick,
                                now,
                            });
                        }
                        Err(_) => governor.reject(poll_limit),
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    #[test]
    fn only_what_follows_an_empty_history_is_judged() {
        let state = |latency, residency| State { latency, residency, ..State::default() };
        let table = Table::new(std::vec![state(0, 0), state(100_000, 400_000)]).expect("two");
        let tables = BTreeMap::from([(0, (table, StateSet::NONE))]);
        let rules =
            Rules { kind: Kind::Menu, version: Version::V6_12, tick: 4_000_000, tables: &tables };
        let decides = |state| {
            let sleep = Some(SleepLength { timer: 50_000_000, event: 50_000_000 });
            (
                0,
                Step::Decides {
                    limit: 2_000_000_000_000,
                    tick_stopped: false,
                    sleep,
                    state,
                    stop_tick: Some(true),
                },
            )
        };
        let steps = [decides(1), (0, Step::Forgets), decides(1), decides(0), (7, decides(1).1)];
        // The last is of a CPU without a table; the one before it is another state.
        assert_eq!(again(&steps, &rules), Again { decisions: 2, equal: 1, unknown: 2 });
    }

    /// A sleep before the recording may have been nothing or not, which menu takes
    /// into its intervals: the decisions tell, and each is right with one of both.
    #[test]
    fn what_came_before_the_recording_is_left_open() {
        let state =
            |latency, residency, polls| State { latency, residency, polls, ..State::default() };
        let states = std::vec![state(0, 0, true), state(5_000, 20_000, false)];
        let table = Table::new(states).expect("two");
        let tables = BTreeMap::from([(0, (table.clone(), StateSet::NONE))]);
        let rules =
            Rules { kind: Kind::Menu, version: Version::V6_12, tick: 4_000_000, tables: &tables };
        for slept in [0, 300_000] {
            let mut kernel = Governor::new(Kind::Menu, Version::V6_12, &table);
            kernel.carry(&Carried { residency: slept, ..Carried::default() });
            let mut steps = std::vec![(0, Step::Forgets)];
            for residency in
                [409_000, 68_000, 21_000, 21_000, 19_000, 22_000, 20_000, 21_000, 22_000]
            {
                let (limit, sleep) =
                    (2_000_000_000_000, SleepLength { timer: 411_000, event: 411_000 });
                let is = kernel.select(&Question {
                    table: &table,
                    disabled: StateSet::NONE,
                    limit,
                    tick: rules.tick,
                    tick_stopped: false,
                    sleep,
                    now: 0,
                    iowait: 0,
                });
                let sleep = is.asked.then_some(sleep);
                let (state, stop_tick) = (is.state, Some(is.stop_tick));
                steps.push((
                    0,
                    Step::Decides { limit, tick_stopped: false, sleep, state, stop_tick },
                ));
                let entered = state as i64;
                steps
                    .push((0, Step::Learns { entered, residency, poll_limit: false, tick: false }));
                let (poll_limit, tick, now) = (false, false, 0);
                kernel.reflect(&Outcome { entered: state, residency, poll_limit, tick, now });
            }
            let all = again(&steps, &rules);
            assert_eq!((all.decisions, all.equal), (9, 9), "{slept}");
            // One governor alone fails where it begins wrongly.
            let known = (
                0,
                Step::Learns {
                    entered: 1,
                    residency: 300_000 - slept,
                    poll_limit: false,
                    tick: false,
                },
            );
            steps.insert(0, known);
            let wrong = again(&steps, &rules);
            assert!(wrong.equal < wrong.decisions, "{slept}");
        }
    }
}
