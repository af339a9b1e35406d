//! Recordings of stock kernels under emulation, with every input of a governor
//! and every decision: each decision is made again and is equal.

use crate::data;
use dormouse_idle::governors::{Decision, Governor, Kind, Outcome, Question, SleepLength, Version};
use dormouse_idle::state::{State, StateSet, Table};

const TICK: i64 = 4_000_000;

/// The states of the synthetic driver which the recordings were made with:
/// exit latency and target residency in us. The recordings do not hold them:
/// the residencies of states 2 and 3 are those with which all decisions are
/// equal (`a_wrong_table_is_noticed`), state 1 has a residency below 10 us,
/// because polling ended after a sixteenth of a tick, and is not known better.
const TABLE: [(i64, i64); 4] = [(0, 0), (2, 4), (100, 400), (800, 3_000)];

fn table(states: &[(i64, i64)]) -> Table {
    let state = |(i, &(latency, residency)): (usize, &(i64, i64))| State {
        latency: latency * 1_000,
        residency: residency * 1_000,
        polls: i == 0,
        ..State::default()
    };
    Table::new(states.iter().enumerate().map(state).collect()).expect("four states")
}

/// One step of a recording.
#[derive(Clone, Debug)]
enum Step {
    Reset(Kind),
    Decision {
        limit: i64,
        tick_stopped: bool,
        sleep: Option<SleepLength>,
        state: usize,
        stop: Option<bool>,
    },
    Reflect {
        state: usize,
        residency: i64,
        poll_limit: bool,
        tick: bool,
    },
}

/// The number after `key=` in a line.
fn number(line: &str, key: &str) -> Option<i64> {
    let at = line.find(&format!(" {key}="))? + key.len() + 2;
    line[at..].split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
}

fn steps(text: &str) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    let (mut limit, mut tick_stopped, mut sleep) = (0, false, None);
    for line in text.lines() {
        let Some((_, event)) = line.split_once(": ") else { continue };
        let name = event.trim_start().split(':').next().unwrap_or("");
        match name {
            "enm" => out.push(Step::Reset(Kind::Menu)),
            "enl" => out.push(Step::Reset(Kind::Ladder)),
            "ent" | "lent" => (limit, tick_stopped, sleep) = (0, false, None),
            "lr" => limit = number(event, "ret").expect("a limit"),
            "ts" => tick_stopped = number(event, "ret") == Some(1),
            "sl" => {
                let timer = number(event, "ret").expect("a sleep length");
                sleep = Some(SleepLength { timer, event: number(event, "dt").expect("dt") });
            }
            "sel" | "lsel" => out.push(Step::Decision {
                limit,
                tick_stopped,
                sleep,
                state: number(event, "idx").expect("idx") as usize,
                stop: number(event, "stop").map(|s| s == 1),
            }),
            "refl" => out.push(Step::Reflect {
                state: number(event, "index").expect("index") as usize,
                residency: number(event, "res").expect("res"),
                poll_limit: number(event, "ptl") == Some(7),
                tick: false,
            }),
            // Asked by the governor in its reflection; the loop asks once more.
            "got" if event.contains("_reflect") => {
                if let Some(Step::Reflect { tick, .. }) = out.last_mut() {
                    *tick = number(event, "ret") == Some(1);
                }
            }
            _ => {}
        }
    }
    out
}

/// Decides again under `version`; how many decisions, and how many are equal.
fn replay(steps: &[Step], version: Version, table: &Table) -> (usize, usize) {
    let (mut decisions, mut equal) = (0, 0);
    let mut governor = None;
    for step in steps {
        match *step {
            Step::Reset(kind) => governor = Some(Governor::new(kind, version, table)),
            Step::Decision { limit, tick_stopped, sleep, state, stop } => {
                let Some(g) = &mut governor else { continue };
                let answer = g.select(&Question {
                    table,
                    disabled: StateSet::NONE,
                    limit,
                    tick: TICK,
                    tick_stopped,
                    sleep: sleep.unwrap_or(SleepLength { timer: -1, event: -1 }),
                    now: 0,
                    iowait: 0,
                });
                let want = Decision {
                    state,
                    stop_tick: stop.unwrap_or(answer.stop_tick),
                    asked: sleep.is_some(),
                };
                decisions += 1;
                equal += usize::from(answer == want);
            }
            Step::Reflect { state, residency, poll_limit, tick } => {
                if let Some(g) = &mut governor {
                    g.reflect(&Outcome { entered: state, residency, poll_limit, tick, now: 0 });
                }
            }
        }
    }
    (decisions, equal)
}

fn recording(version: &str) -> Option<Vec<Step>> {
    let path = data::idle(&format!("vm-cpuidle-{version}-menu-ladder.trace.txt.gz"))?;
    Some(steps(&data::text(&path)))
}

#[test]
fn every_recorded_decision_is_made_again() {
    let table = table(&TABLE);
    for (name, version, count) in [("612", Version::V6_12, 3_011), ("72", Version::V7_2, 3_083)] {
        let Some(steps) = recording(name) else { return };
        assert_eq!(replay(&steps, version, &table), (count, count), "{name}");
    }
}

#[test]
fn rules_of_another_kernel_are_told_apart() {
    let Some(steps) = recording("72") else { return };
    let (decisions, equal) = replay(&steps, Version::V6_12, &table(&TABLE));
    assert_eq!(decisions - equal, 11, "decisions of 7.2 that 6.12 would not make");
}

#[test]
fn a_wrong_table_is_noticed() {
    let Some(steps) = recording("612") else { return };
    for (state, residency) in [(2, 350), (2, 450), (3, 2_500), (3, 3_500)] {
        let mut states = TABLE;
        states[state].1 = residency;
        let (decisions, equal) = replay(&steps, Version::V6_12, &table(&states));
        assert!(equal < decisions, "residency {residency} us of state {state} fits as well");
    }
}
