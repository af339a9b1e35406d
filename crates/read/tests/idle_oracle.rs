//! The same recordings as a dozen programs print them: a program in another
//! language counts them on its own and dresses them anew.

use dormouse_idle::tally::Sleeps;
use dormouse_read::Given;
use dormouse_read::idle::{IdleReading, Keep};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The dressed recordings in a folder, with what each holds.
fn dressed() -> Option<(tempfile::TempDir, Value)> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let data = root.join("idle");
    if !data.join("real/truth.json").exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", data.display());
        return None;
    }
    let python = std::env::var("DORMOUSE_PYTHON").unwrap_or_else(|_| "python3".into());
    let out = tempfile::tempdir().expect("a folder");
    let script = format!("{}/tests/oracle/idle.py", env!("CARGO_MANIFEST_DIR"));
    let Ok(run) = Command::new(&python).arg(script).arg(&data).arg(out.path()).output() else {
        println!("SKIPPED: no {python} (set DORMOUSE_PYTHON)");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let expected = serde_json::from_slice(&run.stdout).expect("JSON");
    Some((out, expected))
}

/// What is wrong with the counts of a trace.
fn trace(sleeps: &Sleeps, want: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: String, got: u64, want: u64| {
        if got != want {
            wrong.push(format!("{what}: {got} instead of {want}"));
        }
    };
    let number = |v: &Value| v.as_u64().unwrap_or(0);
    let cpus = &sleeps.tally.cpus;
    for (&cpu, c) in cpus {
        for (&state, s) in c.states.iter().filter(|s| s.1.entries > 0) {
            let want = &want["cpus"][cpu.to_string()][state.to_string()];
            same(format!("CPU {cpu} state {state} sleeps"), s.entries, number(&want[0]));
            same(format!("CPU {cpu} state {state} ns"), s.time as u64, number(&want[1]));
        }
    }
    let all: u64 = want["cpus"]
        .as_object()
        .into_iter()
        .flat_map(|c| c.values())
        .flat_map(|c| c.as_object().into_iter().flat_map(|c| c.values()))
        .map(|s| number(&s[0]))
        .sum();
    same("sleeps".into(), sleeps.tally.sleeps(), all);
    let sum = |f: fn(&dormouse_idle::tally::CpuTally) -> u64| cpus.values().map(f).sum::<u64>();
    same("begun before".into(), sum(|c| c.unbegun), number(&want["unbegun"]));
    same("open".into(), sum(|c| u64::from(c.open.is_some())), number(&want["open"]));
    same("torn".into(), sum(|c| c.torn), number(&want["torn"]));
    same("without end".into(), sum(|c| c.overlaps), number(&want["overlaps"]));
    let said = |above: bool| {
        let states = cpus.values().flat_map(|c| c.states.values());
        states.map(|s| if above { s.said_above } else { s.said_below }).sum::<u64>()
    };
    same("above".into(), said(true), number(&want["above"]));
    same("below".into(), said(false), number(&want["below"]));
    wrong
}

/// What is wrong with the values of a dump.
fn dump(r: &IdleReading, want: &Value) -> Vec<String> {
    let [s] = &r.snapshots[..] else {
        return vec![format!("{} dumps", r.snapshots.len())];
    };
    let mut wrong = Vec::new();
    let cpus = want.as_object().expect("CPUs");
    if s.cpus.len() != cpus.len() {
        wrong.push(format!("{} CPUs instead of {}", s.cpus.len(), cpus.len()));
    }
    for (cpu, states) in cpus {
        for (state, values) in states.as_object().expect("states") {
            let at = |n: &String| n.parse::<u32>().expect("a number");
            let Some(got) = s.cpus.get(&at(cpu)).and_then(|c| c.get(&at(state))) else {
                wrong.push(format!("CPU {cpu} state {state} is missing"));
                continue;
            };
            let c = &got.counters;
            for (attribute, value) in values.as_object().expect("values") {
                let value = value.as_str().expect("text");
                let number = match attribute.as_str() {
                    "name" => {
                        if got.name.as_deref() != Some(value) {
                            wrong.push(format!("CPU {cpu} state {state}: {:?}", got.name));
                        }
                        continue;
                    }
                    "disable" => {
                        if got.disabled != Some(value != "0") {
                            wrong.push(format!("CPU {cpu} state {state}: {:?}", got.disabled));
                        }
                        continue;
                    }
                    "latency" => got.latency,
                    "residency" => got.residency,
                    "usage" => c.usage,
                    "time" => c.time,
                    "above" => c.above,
                    "below" => c.below,
                    _ => c.rejected,
                };
                if number.map(|n| n.to_string()).as_deref() != Some(value) {
                    wrong.push(format!("CPU {cpu} state {state} {attribute}: {number:?}, {value}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn recordings_in_every_dress_hold_the_same() {
    let Some((folder, expected)) = dressed() else { return };
    let mut failed = Vec::new();
    let files = expected.as_object().expect("files");
    for (name, want) in files {
        let input = folder.path().join(name);
        let r = Given::new(&[input]).idle(Keep::Counts).expect("a readable file");
        let wrong = match want["trace"].as_array() {
            Some(traces) if traces.len() != r.traces.len() => {
                vec![format!("{} traces instead of {}", r.traces.len(), traces.len())]
            }
            Some(traces) => r.traces.iter().zip(traces).flat_map(|(t, w)| trace(t, w)).collect(),
            None => dump(&r, &want["dump"]),
        };
        if let Some(first) = wrong.first() {
            failed.push(format!("{name}: {} wrong, {first}; {:?}", wrong.len(), r.losses.list));
        }
    }
    println!("{} recordings in {} dresses", 5, files.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
