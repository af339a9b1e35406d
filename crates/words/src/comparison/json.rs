//! A comparison as JSON.

use crate::wording::comparison as say;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::compare::contrast::Contrast;
use dormouse_sleep::compare::figure::Figure;
use serde_json::{Value, json};

/// The whole comparison. Durations are nanoseconds.
pub fn json(c: &Comparison<'_>) -> Value {
    let sides: Vec<Value> = c
        .sides
        .iter()
        .map(|s| {
            json!({
                "label": s.label,
                "kernels": s.kernels,
                "machines": s.machines,
                "modes": s.modes.iter().map(|m| m.name()).collect::<Vec<_>>(),
                "cycles": s.used,
                "left_out_incomplete": s.incomplete,
                "left_out_warm_up": s.warm_up,
                "drift_suspend_tau": s.drift_suspend,
                "drift_resume_tau": s.drift_resume,
            })
        })
        .collect();
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
                    let mut v = contrast(k);
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
                "contrast": contrast(&d.contrast),
            })
        })
        .collect();
    json!({
        "sides": sides,
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

fn contrast(c: &Contrast) -> Value {
    json!({
        "cycles": [c.count_a, c.count_b],
        "median": [c.median_a, c.median_b],
        "difference": c.difference(),
        "percent": c.percent(),
        "interval_95": c.interval.map(|(low, high)| [low, high]),
        "welch": c.welch.map(|w| json!({"t": w.t, "df": w.df, "p": w.p})),
        "mann_whitney": c.mann_whitney.map(|m| json!({
            "u": m.u, "p": m.p, "exact": m.exact, "superiority": m.superiority
        })),
        "cohens_d": Some(c.effect).filter(|d| d.is_finite()),
        "detectable": c.detectable,
        "p_corrected": c.p_corrected,
        "verdict": c.verdict.name(),
    })
}
