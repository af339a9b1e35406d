//! A comparison as JSON.

use crate::wording::comparison as say;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::compare::figure::Figure;
use serde_json::{Value, json};

/// The whole comparison. Durations are nanoseconds.
pub fn json(c: &Comparison<'_>) -> Value {
    let rows: Vec<Value> = c
        .rows
        .iter()
        .map(|r| {
            let mut row = figure(r.figure);
            row["against_first"] = r
                .contrasts
                .iter()
                .zip(&r.needed)
                .map(|(k, needed)| {
                    let mut v = json!(k);
                    v["cycles_for_2_percent"] = json!(needed);
                    v
                })
                .collect();
            row
        })
        .collect();
    let devices: Vec<Value> = c
        .devices
        .iter()
        .map(|d| {
            json!({
                "device": d.figure.device.name,
                "parent": d.figure.device.parent,
                "nth": d.figure.device.nth,
                "phase": d.figure.phase.name(),
                "direction": d.figure.phase.direction().name(),
                "side": d.side,
                "contrast": d.contrast,
            })
        })
        .collect();
    json!({
        "sides": c.sides,
        "different_machines": c.different_machines,
        "rows": rows,
        "accounts": c.accounts.iter().map(|a| super::account::json_of(a)).collect::<Vec<_>>(),
        "devices_tested": c.devices_tested,
        "devices": devices,
        "sentences": (1..c.sides.len()).map(|i| say::sentences(c, i)).collect::<Vec<_>>(),
        "cautions": say::cautions(c),
    })
}

fn figure(f: Figure) -> Value {
    match f {
        Figure::Total(d) => json!({"figure": "total", "direction": d.name(), "unit": "ns"}),
        Figure::Gaps(d) => json!({"figure": "gaps", "direction": d.name(), "unit": "ns"}),
        Figure::Phase(p) => json!({
            "figure": p.name(), "direction": p.direction().name(), "unit": "ns"
        }),
        Figure::Count(n) => json!({"figure": n.name(), "direction": null, "unit": "1"}),
    }
}
