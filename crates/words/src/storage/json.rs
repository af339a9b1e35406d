//! The same as JSON (docs/storage-json.md). Times are ns, unless a key says
//! otherwise.

use super::Page;
use dormouse_storage::levels::{ByItself, Entered};
use dormouse_storage::recording::Trace;
use dormouse_storage::summary::DiskSummary;
use serde_json::{Value, json};

fn disk(d: &DiskSummary) -> Value {
    let mut out = json!(d);
    out["worst"] = json!(d.worst().map(|s| s.cause));
    out
}

fn trace(t: &Trace, disks: &[DiskSummary]) -> Value {
    let devices: Vec<Value> = t
        .runtime
        .devices
        .iter()
        .map(|d| {
            json!({
                "name": d.name,
                "events": d.events(),
                "resumes": d.resumes,
                "already_awake": d.already_awake,
                "usage": d.usage,
                "errors": d.errors.iter().map(|((f, e), n)| json!({
                    "function": f.name(), "error": e, "count": n,
                })).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "source": t.name,
        "part": t.part,
        "timeless": t.timeless,
        "issued": t.issues,
        "completed": t.completions,
        "completed_without_issue": t.unissued,
        "events": t.events,
        "unused_events": t.unused,
        "ungates": t.ungates,
        "disks": disks.iter().map(disk).collect::<Vec<_>>(),
        "devices": devices,
        "clock_changes": t.changes,
    })
}

/// Everything that was read.
pub fn json(page: &Page<'_>) -> Value {
    json!({
        "traces": page.traces.iter().zip(page.disks).map(|(t, d)| trace(t, d)).collect::<Vec<_>>(),
        "drives": page.drives.iter().map(|d| json!({
            "name": d.name,
            "limit_us": d.limit,
            "states": d.states.iter().zip(d.by_kernel()).map(|(s, e)| {
                let (word, ms) = match e {
                    Entered::Serves => ("serves", None),
                    Entered::After(ms) => ("entered", Some(ms)),
                    Entered::TooSlow => ("too_slow", None),
                    Entered::Passed => ("passed", None),
                    Entered::Unable => ("unable", None),
                };
                let mut state = json!(s);
                state["by_kernel"] = word.into();
                state["by_kernel_after_ms"] = ms.into();
                state
            }).collect::<Vec<_>>(),
            "falls": d.falls,
            "now": d.now,
            "apst": d.apst,
            "apst_entries": d.entries,
            "by_itself": d.by_itself().map(|b| match b {
                ByItself::Falls => "falls",
                ByItself::On => "on",
                ByItself::EmptyTable => "empty_table",
                ByItself::Off => "off",
                ByItself::Unable => "unable",
            }),
            "off_us": d.off[0], "on_us": d.off[1],
            "doubts": d.doubts().into_iter().map(crate::wording::storage::doubt).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "devfreq": page.transitions.iter().map(|t| json!({
            "name": t.name,
            "total": t.total,
            "counted": t.counted(),
            "levels": t.levels,
        })).collect::<Vec<_>>(),
        "fio": page.jobs.iter().map(|j| json!({
            "name": j.name, "direction": j.direction, "requests": Some(j.requests).filter(|n| *n > 0),
            "bytes_per_second": j.bandwidth, "mean": j.mean, "min": j.least, "max": j.most,
            "submission": j.submission,
            "sync": j.sync.map(|(mean, p99)| json!({ "mean": mean, "p99": p99 })),
            "p50": j.quantiles[0], "p99": j.quantiles[1], "p999": j.quantiles[2],
            "iops": j.rate.map(|r| r.saturating_add(500) / 1_000),
            "depth": j.depth, "threads": j.threads,
            "queue": j.queue(),
        })).collect::<Vec<_>>(),
        "contradictions": page.knobs.conflicts().iter().map(dormouse_storage::knobs::Conflict::says)
            .collect::<Vec<_>>(),
        "links": page.knobs.links, "clocks_follow_load": page.knobs.scaled,
        "drive_states": page.knobs.spinning,
        "losses": page.losses,
    })
}
