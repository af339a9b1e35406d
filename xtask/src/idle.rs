//! Every decision of a kernel's idle governor, made again from what it was told.
//!
//! `idle FILE…` reads recordings of `dormouse lab idle` (their lines are
//! described in `dormouse_lab::idle`).

use crate::missed::MISSED;
use anyhow::{Context, Result, anyhow, bail, ensure};
use dormouse_idle::decided::candidates;
use dormouse_idle::governors::{
    Carried, Decision, Governor, Kind, Outcome, Question, SleepLength, Version,
};
use dormouse_idle::state::{State, StateSet, Table};
use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

/// What is kept of a kernel, a governor and what was set.
#[derive(Default)]
struct Score {
    decisions: u64,
    equal: u64,
    /// The first that differ: line, what was decided, what is.
    wrong: Vec<String>,
}

/// Prints how many decisions are equal; [`MISSED`] unless all are.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    ensure!(!args.is_empty(), "give recordings of dormouse lab idle");
    let mut all = (0, 0);
    println!("{:24} {:8} {:22} {:>10} {:>10}", "kernel", "governor", "set", "decisions", "equal");
    for file in args {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let (kernel, scores) = judge(&text).with_context(|| file.clone())?;
        for ((governor, set), s) in &scores {
            println!("{kernel:24} {governor:8} {set:22} {:>10} {:>10}", s.decisions, s.equal);
            for w in &s.wrong {
                println!("  {w}");
            }
            all = (all.0 + s.decisions, all.1 + s.equal);
        }
    }
    println!("\n{} of {} decisions are equal.", all.1, all.0);
    let met = all.0 > 0 && all.0 == all.1;
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

type Scores = BTreeMap<(String, String), Score>;

fn judge(text: &str) -> Result<(String, Scores)> {
    let mut lines = (1..).zip(text.lines());
    ensure!(lines.next().map(|l| l.1) == Some("dormouse-idle 1"), "no recording of version 1");
    ensure!(text.lines().last() == Some("end"), "the recording is cut");
    let (mut kernel, mut tick) = (String::new(), 0);
    let mut states: Vec<State> = Vec::new();
    let mut table = None;
    let mut kind = None;
    let (mut limit_us, mut disabled) = (String::new(), StateSet::NONE);
    let mut set = String::new();
    let mut governors: BTreeMap<u32, Vec<Governor>> = BTreeMap::new();
    let mut slept: BTreeMap<u32, Carried> = BTreeMap::new();
    let mut history = false;
    let mut scores = Scores::new();
    for (at, line) in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| -> Result<i64> {
            words.get(i).and_then(|w| w.parse().ok()).with_context(|| format!("line {at}: {line}"))
        };
        match words[0] {
            "kernel" => kernel = words[1..].concat(),
            "hz" => tick = 1_000_000_000 / number(1)?.max(1),
            "state" => states.push(State {
                name: words.get(2).copied().unwrap_or_default().into(),
                latency: number(3)? * 1_000,
                residency: number(4)? * 1_000,
                polls: states.is_empty(),
                ..State::default()
            }),
            "limit" => {
                limit_us = words[1..].concat();
                disabled = StateSet::NONE;
            }
            "disabled" => disabled = disabled.with(number(1)? as usize),
            "governor" => {
                let name = words[1..].concat();
                kind = Some(Kind::named(&name).with_context(|| format!("no governor {name}"))?);
                if table.is_none() {
                    let new = Table::new(std::mem::take(&mut states));
                    table = Some(new.map_err(|e| anyhow!("{e:?}"))?);
                }
                let off: Vec<String> =
                    (0..10).filter(|i| disabled.has(*i)).map(|i| i.to_string()).collect();
                set = match (limit_us.as_str(), off.is_empty()) {
                    ("0", true) => "nothing".into(),
                    (us, true) => format!("limit {us} us"),
                    (_, false) => format!("state {} disabled", off.join(" ")),
                };
                governors.clear();
                slept.clear();
                history = false;
            }
            "g" => {
                governors.clear();
                history = true;
            }
            // What came before the history began was decided by another governor;
            // the length of the last sleep is handed on.
            "d" if !history => {}
            "r" if !history => {
                let before = slept.entry(number(1)? as u32).or_default();
                *before = before.and(number(2)?, number(3)?, number(4)? == 1);
            }
            "d" => {
                let (table, kind) = (table.as_ref().context("no states")?, kind.context("none")?);
                let version = version(&kernel)?;
                let asked = words.get(4) != Some(&"-");
                let sleep = if asked {
                    SleepLength { timer: number(4)?, event: number(5)? }
                } else {
                    SleepLength { timer: -1, event: -1 }
                };
                let cpu = number(1)? as u32;
                let before = slept.get(&cpu).copied();
                let begin = || candidates(kind, version, table, before);
                let open = governors.entry(cpu).or_insert_with(begin);
                let question = Question {
                    table,
                    disabled,
                    limit: number(2)?,
                    tick,
                    tick_stopped: number(3)? == 1,
                    sleep,
                    now: 0,
                    iowait: match words.get(8) {
                        Some(_) => u32::try_from(number(8)?).unwrap_or(u32::MAX),
                        None => 0,
                    },
                };
                let (state, said) = (number(6)? as usize, words.get(7) != Some(&"-"));
                let told = if said { Some(number(7)? == 1) } else { None };
                let same = |is: Decision| {
                    let stop_tick = told.unwrap_or(is.stop_tick);
                    is == Decision { state, stop_tick, asked }
                };
                let all: Vec<Decision> = open.iter_mut().map(|g| g.select(&question)).collect();
                let right = all.iter().any(|is| same(*is));
                if right {
                    let mut each = all.iter();
                    open.retain(|_| each.next().is_some_and(|is| same(*is)));
                }
                let score = scores.entry((kind.name().to_owned(), set.clone())).or_default();
                score.decisions += 1;
                score.equal += u64::from(right);
                if !right && score.wrong.len() < 3 {
                    score.wrong.push(format!("line {at}: {line}: here {:?}", all.first()));
                }
            }
            "r" => {
                let (entered, residency) = (number(2)?, number(3)?);
                let (poll_limit, tick) = (number(4)? == 1, number(5)? == 1);
                for governor in governors.get_mut(&(number(1)? as u32)).into_iter().flatten() {
                    match usize::try_from(entered) {
                        Ok(entered) => governor.reflect(&Outcome {
                            entered,
                            residency,
                            poll_limit,
                            tick,
                            now: 0,
                        }),
                        Err(_) => governor.reject(poll_limit),
                    }
                }
            }
            "states" | "lost" | "end" => {}
            other => bail!("line {at}: {other} is not known"),
        }
    }
    Ok((kernel, scores))
}

/// The rules of a release. Those of 7.2 and 7.3 are taken to be the same; if they
/// are not, decisions differ.
fn version(kernel: &str) -> Result<Version> {
    match kernel {
        k if k.starts_with("6.1.") => Ok(Version::V6_1),
        k if k.starts_with("6.12.") => Ok(Version::V6_12),
        k if k.starts_with("7.2.") || k.starts_with("7.3.") => Ok(Version::V7_2),
        other => bail!("the governors of {other} are not known"),
    }
}
