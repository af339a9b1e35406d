//! `show --json` against its documentation and its own laws.

use crate::example;
use crate::rows::{device, expanded};

use dormouse_base::capture::Capture;
use dormouse_base::inside::{self, Inside};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Confidence, Device, Finding, Level};
use dormouse_doctor::waits::{Cause, Wait};
use dormouse_words::{Selection, json};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The same with a function that was probed inside a callback.
fn probed(mut capture: Capture) -> Capture {
    let function = capture.names.add("wibble_reset");
    let cycle = capture.cycles.iter_mut().find(|c| !c.callbacks.is_empty()).expect("callbacks");
    let (device, phase) = (cycle.callbacks[0].device, cycle.callbacks[0].phase);
    let (own, long) = (Ns::from_ms(2), Ns::ZERO);
    cycle.inside.push(Inside {
        device,
        phase,
        function,
        total: own,
        own,
        long,
        calls: 3,
        missed: 1,
    });
    cycle.waits.push(inside::Wait {
        device,
        phase,
        function,
        caller: function,
        what: function,
        holder: function,
        holds_for: Some(device),
        calls: 3,
        missed: 1,
        total: own,
        least: Ns(10_000),
        most: own,
    });
    capture
}

/// A wait that a log without callbacks tells.
fn disk_not_ready() -> Wait {
    Wait {
        device: Device { name: "0:0:0:0".into(), driver: "sd".into() },
        direction: Some(Direction::Resume),
        cause: Cause::NotReady,
        time: Ns::from_ms(1_023),
        counted: true,
        confidence: Confidence::Certain,
        line: 12,
        text: "pci 0000:02:00.0: not ready 1023ms after resume; waiting".into(),
    }
}

fn output(selection: &Selection) -> Value {
    let mut all = example::explained(probed(example::with_domain()));
    all[0].findings.push(example::slow_sync());
    all[0].waits = all[0].views.iter().map(|_| vec![disk_not_ready()]).collect();
    let mut out = Vec::new();
    json::show(&all, selection, &mut out).unwrap();
    assert_eq!(out.last(), Some(&b'\n'));
    let document: Value = serde_json::from_slice(&out).unwrap();
    let head: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(
        head,
        [
            "columns",
            "cycles",
            "devices",
            "findings",
            "groups",
            "losses",
            "ranked",
            "reasons",
            "schema",
            "unused_events"
        ]
    );
    expanded(document)
}

/// The same of a log that times no device: a finding answers.
fn answered() -> Value {
    let mut capture = example::with_domain();
    capture.cycles.iter_mut().for_each(|c| c.callbacks.clear());
    let mut all = example::explained(capture);
    all[0].findings.push(Finding { level: Level::Broken, ..example::slow_sync() });
    let mut out = Vec::new();
    json::show(&all, &Selection::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Path and JSON type of everything below `value`.
fn paths(value: &Value, at: &str, out: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(_) => "float",
        Value::String(_) => "string",
        Value::Array(list) => {
            for v in list {
                paths(v, &format!("{at}[]"), out);
            }
            "array"
        }
        Value::Object(map) => {
            for (k, v) in map {
                let at = if at.is_empty() { k.clone() } else { format!("{at}.{k}") };
                paths(v, &at, out);
            }
            "object"
        }
    };
    out.entry(at.to_string()).or_default().insert(kind);
}

/// The rows of the table of fields: path to types.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/show-json.md");
    let text = std::fs::read_to_string(file).expect("docs/show-json.md");
    let mut out = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let path = cells[0].trim_start_matches("| ").trim_matches('`');
        let types = cells[1].replace(',', "");
        let types = types.split(" or ").map(|t| t.trim().to_string()).collect();
        assert!(out.insert(path.to_string(), types).is_none(), "{path} is there twice");
    }
    out
}

const SPREAD: [&str; 6] = ["count", "min_ns", "median_ns", "p95_ns", "max_ns", "mad_ns"];

#[test]
fn the_documentation_is_the_output() {
    let doc = documented();
    let mut real = BTreeMap::new();
    paths(&output(&Selection::default()), "", &mut real);
    let spreads = [
        "groups[].suspend",
        "groups[].resume",
        "groups[].phases[]",
        "groups[].devices[].time",
        "groups[].devices[].critical_suspend",
        "groups[].devices[].critical_resume",
        "groups[].devices[].gain_suspend",
        "groups[].devices[].gain_resume",
    ];
    let mut seen = BTreeSet::new();
    for (path, kinds) in &real {
        let container = kinds.iter().all(|k| matches!(*k, "array" | "object"));
        let in_spread = path
            .rsplit_once('.')
            .is_some_and(|(parent, leaf)| spreads.contains(&parent) && SPREAD.contains(&leaf));
        let key = path.starts_with("groups[].outliers[].device.");
        if in_spread || key || (container && !doc.contains_key(path)) {
            continue;
        }
        // A list of plain values is documented with its brackets.
        let list = format!("{path}[]");
        let name = if doc.contains_key(&list) { list } else { path.clone() };
        let types = doc.get(&name).unwrap_or_else(|| panic!("{path} is not documented"));
        for kind in kinds {
            let kind = if *kind == "array" { "array of" } else { kind };
            assert!(
                types.iter().any(|t| t == kind || t.starts_with("array of")),
                "{path} is {kind}, documented as {types:?}"
            );
        }
        seen.insert(name);
    }
    let missing: Vec<&String> = doc.keys().filter(|p| !seen.contains(*p)).collect();
    // `reason` words and the like are tables of their own.
    assert!(missing.iter().all(|p| !p.contains(['.', '[']) && *p != "schema"), "{missing:?}");
}

#[test]
fn no_field_is_always_null_in_the_example() {
    let mut real = BTreeMap::new();
    paths(&output(&Selection::default()), "", &mut real);
    paths(&answered(), "", &mut real);
    let empty: Vec<_> = real.iter().filter(|(_, k)| k.len() == 1 && k.contains("null")).collect();
    assert!(empty.is_empty(), "the example does not show {empty:?}");
}

#[test]
fn documented_reasons_are_all_reasons() {
    use dormouse_sleep::analyse::path::Reason;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/show-json.md");
    let text = std::fs::read_to_string(file).unwrap();
    for (number, r) in Reason::ALL.into_iter().enumerate() {
        assert_eq!(r as usize, number, "the place in the list is the number");
        assert!(text.contains(&format!("`{}`", r.name())), "{}", r.name());
    }
}

#[test]
fn segments_partition_phases_and_rows_add_up() {
    let out = output(&Selection::default());
    let ns = |v: &Value| v.as_i64().unwrap();
    for c in out["cycles"].as_array().unwrap() {
        for p in c["phases"].as_array().unwrap() {
            if p["name"] == "asleep" {
                continue;
            }
            let path = p["critical_path"].as_array().unwrap();
            let sum: i64 = path.iter().map(|s| ns(&s["duration_ns"])).sum();
            assert_eq!(sum, ns(&p["duration_ns"]));
        }
        if c["outcome"] == "slept" {
            for (way, total) in [("suspend", "suspend_ns"), ("resume", "resume_ns")] {
                let rows = c["rows"].as_array().unwrap().iter();
                let sum: i64 =
                    rows.filter(|r| r["direction"] == way).map(|r| ns(&r["counted_ns"])).sum();
                assert_eq!(sum, ns(&c[total]));
            }
        }
    }
}

#[test]
fn the_choice_of_a_cycle_and_a_phase() {
    let mut selection = Selection { cycle: Some(2), ..Selection::default() };
    selection.phases = Selection::phases_called("resume:resume");
    let out = output(&selection);
    assert_eq!(out["cycles"].as_array().unwrap().len(), 1);
    assert_eq!(out["cycles"][0]["number"], 2);
    let phases = out["cycles"][0]["phases"].as_array().unwrap();
    assert!(phases.iter().all(|p| p["name"] == "resume") && phases.len() == 1);
    assert!(out["groups"].as_array().unwrap()[0]["cycles"].as_array().unwrap().len() > 1);
    assert_eq!(Selection::phases_called("noirq").len(), 2);
    assert!(Selection::phases_called("resume:late").is_empty());
}

#[test]
fn the_outlier_names_the_device_that_made_it() {
    let out = output(&Selection::default());
    let outliers = out["groups"][0]["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 1);
    assert_eq!(outliers[0]["device"]["device"], "0:0:0:0");
    assert_eq!(outliers[0]["direction"], "suspend");
    assert_eq!(outliers[0]["cycle"], 6);
    assert_eq!(out["groups"][0]["first_after_boot"][0], 1);
    let named = |place: &Value| device(&out, place).to_string();
    assert_eq!(named(&out["cycles"][2]["counts"]["skipped"][0]), "0:0:0:0");
    assert_eq!(named(&out["cycles"][1]["counts"]["resumed_to_suspend"][0]), "0:0:0:0");
}
