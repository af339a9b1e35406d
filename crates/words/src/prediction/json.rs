//! A prediction as JSON, and
//! `dormouse-predict-kernels/1`, described in docs/predict-json.md.

use super::KernelRow;
use crate::wording::{assumed, note};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_board::derive::Derived;
use dormouse_sleep::simulate::predict::{Outlook, Prediction};
use serde_json::{Value, json};

/// The whole prediction; nanoseconds.
pub fn json(p: &Prediction, derived: &Derived) -> Value {
    let name = |d: DeviceId| derived.board.names.get(derived.board.graph.get(d).name);
    let moved: Vec<Value> = p
        .moved
        .iter()
        .map(|m| {
            json!({
                "device": name(m.device),
                "phase": m.phase.name(),
                "direction": m.phase.direction().name(),
                "before_ns": [m.before.0.0, m.before.1.0],
                "after_ns": [m.after.0.0, m.after.1.0],
            })
        })
        .collect();
    let observed: Vec<Option<i64>> = derived.observed.iter().map(|o| o.map(|t| t.0)).collect();
    let path: Vec<Value> = p
        .path
        .iter()
        .map(|s| {
            json!({
                "phase": s.phase.name(),
                "direction": s.phase.direction().name(),
                "device": s.device.map(|d| p.changed.board.names.get(p.changed.board.graph.get(d).name)),
                "time_ns": s.time.0,
                "reason": s.reason.name(),
            })
        })
        .collect();
    let mut all = json!({
        "observed_ns": observed,
        "before": outlook(&p.before),
        "after": outlook(&p.after),
        "critical_path": path,
        "moved": moved,
        "notes": note::sentences(&p.notes),
        "assumptions": assumed::sentences(&p.assumptions),
        "doubt": doubt(p),
        "fidelity": crate::fidelity::json(&p.fidelity, &derived.board),
        "claimed": {
            "suspend_ns": p.claimed(Direction::Suspend).map(|t| t.0),
            "resume_ns": p.claimed(Direction::Resume).map(|t| t.0),
        },
    });
    if let Some(q) = p.quiet {
        let half = |i: usize| json!({ "before_ns": q.before[i].0, "after_ns": q.after[i].0 });
        all["without_printing"] = json!({ "suspend": half(0), "resume": half(1) });
    }
    let trip = derived.board.trip;
    if trip.hibernates() {
        let steps = derived.image.iter().map(|s| {
            let bytes = (s.bytes > 0).then_some(s.bytes);
            json!({ "work": s.work.name(), "time_ns": s.end.since(s.start).0, "bytes": bytes })
        });
        all["image"] = steps.collect();
        all["trip"] = json!({ "down": trip.down.name(), "up": trip.up.map(PmEvent::name) });
    }
    all
}

/// What machines that explain the recording too answer; nanoseconds.
fn doubt(p: &Prediction) -> Value {
    let phases = Phase::DEVICE.into_iter().filter_map(|phase| {
        let (low, high) = phase.device_index().and_then(|i| p.doubt.range[i])?;
        Some(json!({
            "phase": phase.name(),
            "direction": phase.direction().name(),
            "shortest_ns": low.0,
            "longest_ns": high.0,
            "alike": p.doubt.agrees(phase),
            "changed_ns": p.doubt.agrees(phase).then(|| p.changed_to(phase).0),
        }))
    });
    let phases: Vec<Value> = phases.collect();
    json!({ "machines": p.doubt.machines, "phases": phases })
}

/// All generations of kernels; nanoseconds.
pub fn kernels(rows: &[KernelRow]) -> Value {
    let list: Vec<Value> = rows
        .iter()
        .map(|(p, o)| match o {
            Ok(o) => outlook(o),
            Err(e) => json!({ "policy": p.name, "error": e.to_string() }),
        })
        .collect();
    json!({ "kernels": list })
}

fn outlook(o: &Outlook) -> Value {
    let phases: Vec<Value> = o
        .run
        .cycle
        .phases
        .iter()
        .map(|s| {
            let b = o.bounds.phase(s.phase);
            json!({
                "name": s.phase.name(),
                "direction": s.phase.direction().name(),
                "start_ns": s.start.0,
                "duration_ns": s.duration().0,
                "path_bound_ns": b.map(|b| b.path.0),
                "order_bound_ns": b.map(|b| b.order.0),
            })
        })
        .collect();
    let range = o.range.map(|r| {
        json!({
            "suspend_ns": [r[0].0.0, r[0].1.0],
            "resume_ns": [r[1].0.0, r[1].1.0],
        })
    });
    json!({
        "policy": o.scheduler.policy.name,
        "kernel": o.scheduler.kernel.map(|k| k.to_string()),
        "held_against_kernel": o.scheduler.policy.is_verified(),
        "outcome": o.run.cycle.outcome.name(),
        "suspend_ns": o.half(Direction::Suspend).0,
        "resume_ns": o.half(Direction::Resume).0,
        "range": range,
        "phases": phases,
        "counts": o.run.tally,
        "overlapped_bound_ns": [o.bounds.overlapped.0.0, o.bounds.overlapped.1.0],
        "parallel_prepare_complete_ns": [o.bounds.parallel_ends.0.0, o.bounds.parallel_ends.1.0],
    })
}
