//! Reports of KernelCI's database (kcidb-io, schema 5.3): what is not known is `SKIP`.

use super::told::{SUITE, lines, measured};
use dormouse_base::gate::{Figure, Gate, NANO, Unit, Verdict};
use dormouse_sleep::budget::Gated;
use serde_json::{Value, json};

pub(super) fn print(answer: &Gated, inputs: &[String], build: &str) -> String {
    let origin = build.split(':').next().unwrap_or(build);
    let told = json!([build, inputs, answer.gates]).to_string();
    let run = digest(told.as_bytes());
    let of = |g: &Gate| {
        let status = match g.verdict {
            Verdict::Met => "PASS",
            Verdict::Missed => "FAIL",
            Verdict::Unknown => "SKIP",
        };
        let said = lines(g);
        let mut test = json!({
            "id": format!("{origin}:dormouse-{run:016x}-{}", g.name),
            "build_id": build,
            "origin": origin,
            "path": format!("{SUITE}.{}", g.name),
            "comment": said.first(),
            "status": status,
            "misc": { "limit": g.limit, "inputs": inputs, "said": said },
        });
        if let Some(f) = measured(g) {
            test["number"] = number(f);
        }
        test
    };
    let tests: Vec<Value> = answer.gates.iter().map(of).collect();
    let report = json!({ "version": { "major": 5, "minor": 3 }, "tests": tests });
    serde_json::to_string_pretty(&report).expect("an object with names as keys") + "\n"
}

/// A figure, with the letters of its unit.
fn number(f: Figure) -> Value {
    let value = f.nano as f64 / NANO as f64;
    match f.unit {
        Unit::Seconds => json!({ "value": value, "unit": "s", "prefix": "metric" }),
        Unit::Watts => json!({ "value": value, "unit": "W", "prefix": "metric" }),
        Unit::Percent => json!({ "value": value, "unit": "%" }),
        Unit::Findings => json!({ "value": value }),
    }
}

/// FNV-1a, 64 bits: the same answer of the same build is the same test run.
fn digest(bytes: &[u8]) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
