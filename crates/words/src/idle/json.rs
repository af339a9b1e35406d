//! `dormouse show --only idle --json` and `predict --json`, documented in
//! `docs/idle-json.md`.

use super::{Outlook, Page};
use dormouse_idle::contrast::{contrast, pairs};
use dormouse_idle::oracle::{Bound, Oracles};
use dormouse_idle::powertop::{Cause, Powertop};
use dormouse_idle::predict::{Account, Spent};
use dormouse_idle::section::{Finding, Section, finding, of_snapshot, of_trace, totals};
use dormouse_idle::snapshot::Snapshot;
use dormouse_idle::tally::{Coverage, Sleeps, Waker};
use dormouse_idle::turbostat::{Run, watts};
use serde_json::{Value, json};

/// Everything that `show --only idle` knows.
pub fn show(page: &Page) -> Value {
    json!({
        "snapshots": page.snapshots.iter().map(snapshot).collect::<Vec<_>>(),
        "difference": page.difference.map(snapshot),
        "contrast": contrast(&pairs(page.snapshots)).map(|c| {
            let mut both = json!(c);
            both["slower"] = json!(c.slower().map(|s| &c.sides[s]));
            both
        }),
        "traces": page.traces.iter().map(trace).collect::<Vec<_>>(),
        "packed": page.packed,
        "absent": page.absent,
        "turbostat": page.runs.iter().map(run).collect::<Vec<_>>(),
        "beside": page.beside,
        "wakeup_tests": page.late,
        "wakeup_tests_beside": page.late_beside,
        "losses": page.losses,
    })
}

fn run(r: &Run) -> Value {
    let means = r.columns.iter().filter_map(|c| Some((c.clone(), Value::from(r.mean(c)?))));
    json!({
        "label": r.label,
        "caption": r.caption,
        "intervals": r.intervals.len(),
        "lines_lost": r.lost,
        "lines_left_out": r.cut,
        "work_thousandths": r.work(),
        "not_reported": r.not_reported(),
        "impossible": r.cannot,
        "mean_thousandths": means.collect::<serde_json::Map<_, _>>(),
        "powertop": r.powertop.as_ref().map(powertop),
        "watts": watts(r).ok().map(|t| t.watts.into_iter().collect::<std::collections::BTreeMap<_, _>>()),
    })
}

fn powertop(p: &Powertop) -> Value {
    let cause = |c: &Cause| json!({ "name": c.name, "share_thousandths": c.share, "rate_thousandths": c.rate });
    json!({
        "wakeups_thousandths": p.wakeups,
        "interval_ms": p.interval,
        "battery_mw": p.watts,
        "mean_stay_us": p.stays.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "causes": p.causes.iter().map(cause).collect::<Vec<_>>(),
    })
}

fn snapshot(s: &Snapshot) -> Value {
    let sections = of_snapshot(s);
    json!({
        "label": s.label,
        "driver": s.driver,
        "governor": s.governor,
        "available_governors": s.governors,
        "sum_of_cpus": s.sum_of,
        "answer": answer(&sections),
        "sections": sections,
    })
}

fn trace(t: &Sleeps) -> Value {
    let sections = of_trace(t);
    let paid = t.tally.latency_paid();
    let cpu = |(n, c): (&u32, &dormouse_idle::tally::CpuTally)| {
        let states = c.states.iter().map(|(state, s)| {
            json!({
                "state": state,
                "sleeps": s.entries,
                "time_ns": s.time,
                "longest_ns": s.longest,
                "said_too_deep": s.said_above,
                "said_too_shallow": s.said_below,
                "computed_too_deep": s.above,
                "computed_too_shallow": s.below,
                "energy_too_deep": s.too_deep,
                "energy_too_shallow": s.too_shallow,
                "residency_ns": {
                    "p50": s.residencies.quantile(500).map(|q| q.ns),
                    "p99": s.residencies.quantile(990).map(|q| q.ns),
                    "exact": s.residencies.quantile(990).is_none_or(|q| q.exact),
                },
            })
        });
        json!({
            "cpu": n,
            "states": states.collect::<Vec<_>>(),
            "began_before_trace": c.unbegun,
            "open_at_end": c.open.map(|o| o.0),
            "without_end": c.overlaps,
            "repeated": c.repeated,
            "torn_by_lost_events": c.torn,
        })
    };
    json!({
        "name": t.name,
        "events": t.events,
        "span_ns": t.tally.span.map_or(0, |(a, b)| b.saturating_sub(a)),
        "sleeps": t.tally.sleeps(),
        "has_misses": t.has_misses,
        "has_wakers": t.has_wakers,
        "firmware_states": t.asked.iter().map(|(state, a)| json!({
            "state": state, "count": a.count, "total_ns": a.ns, "s2idle": a.s2idle,
        })).collect::<Vec<_>>(),
        "answer": answer(&sections),
        "sections": sections,
        "cpus": t.tally.cpus.iter().map(cpu).collect::<Vec<_>>(),
        "together": {
            "cpus": t.tally.together.cpus(),
            "whole_machine": match t.coverage() {
                Coverage::Machine => Some(true),
                Coverage::Part(_) => Some(false),
                Coverage::Unknown => None,
            },
            "span_ns": t.tally.together.span(),
            "all_asleep_ns": t.tally.together.all,
            "times": t.tally.together.times,
            "longest_ns": t.tally.together.longest,
            "alone_awake_ns": t.tally.together.alone,
        },
        "exit_latency_ns": paid.map(|(p50, p99, max)| json!({ "p50": p50, "p99": p99, "max": max })),
        "ticks": {
            "recorded": t.tally.ticks.known,
            "length_ns": t.tally.ticks.stopped_wrongly().map(|s| s.0),
            "kept_wrongly": t.tally.ticks.kept_wrongly,
            "stopped": t.tally.ticks.stopped,
            "stopped_wrongly": t.tally.ticks.stopped_wrongly().map(|s| s.1),
        },
        "wakers": t.wakers().iter().map(waker).collect::<Vec<_>>(),
    })
}

fn waker(w: &Waker) -> Value {
    json!({
        "name": w.name,
        "wakeups": w.woken.count,
        "exit_latency_ns": w.woken.delay,
        "energy": energy(false, w.woken.energy),
    })
}

fn answer(sections: &[Section]) -> Value {
    let all = totals(sections);
    let at = |kind: &str, (section, row): (usize, usize), count: u64, of: u64| {
        let r = &sections[section].states[row];
        json!({ "kind": kind, "cpus": sections[section].cpus, "state": r.state, "name": r.name,
                "count": count, "of": of })
    };
    match finding(sections) {
        Finding::TooDeep { at: place, count, of, .. } => at("too_deep", place, count, of),
        Finding::TooShallow { at: place, count, of, .. } => at("too_shallow", place, count, of),
        Finding::Rejected { at: place, count, of, .. } => at("rejected", place, count, of),
        Finding::Counted { at: (section, row), too_deep, too_shallow } => {
            let r = &sections[section].states[row];
            json!({ "kind": "counted", "cpus": sections[section].cpus, "state": r.state,
                    "name": r.name, "too_deep": too_deep, "too_shallow": too_shallow })
        }
        Finding::Disabled { at: (section, row) } => {
            let r = &sections[section].states[row];
            json!({ "kind": "disabled", "cpus": sections[section].cpus, "state": r.state,
                    "name": r.name })
        }
        Finding::Fits => {
            json!({ "kind": "fits", "count": all.too_deep + all.too_shallow, "of": all.sleeps })
        }
        Finding::Unknown => json!({ "kind": "unknown" }),
    }
}

/// Everything that `predict` knows.
pub fn predict(o: &Outlook) -> Value {
    let side = |i: usize| {
        json!({
            "governor": o.governors[i].0.name(),
            "governor_kernel": o.governors[i].1.name(),
            "model": account(o, &o.accounts[i]),
            "every_wakeup_foreseen": account(o, &o.bounds[i][0]),
            "no_wakeup_foreseen": account(o, &o.bounds[i][1]),
        })
    };
    let sweep = o.sweep.iter().map(|(limit, a)| {
        let limit = (*limit < dormouse_idle::knob::UNLIMITED).then_some(limit);
        json!({ "limit_ns": limit, "model": account(o, a) })
    });
    json!({
        "trusted": o.trusted(),
        "verdict": o.verdict(),
        "model_error": o.error.map(|(state, thousandths)| json!({
            "state": o.states.get(state), "thousandths_of_idle_time": thousandths,
        })),
        "measured": o.measured.map(|m| json!({
            "delay_p99_ns": m.p99, "energy": energy(o.power.is_some(), m.energy), "span_ns": m.span,
        })),
        "changed": o.changed,
        "cpus": o.cpus,
        "wakeups": o.wakes.0,
        "wakeups_by_timer": o.wakes.1,
        "energy_unit": if o.power.is_some() { "nJ" } else { "ns of the shallowest state" },
        "power_from": o.power,
        "recorded": spent(o, o.recorded),
        "now": side(0),
        "then": side(1),
        "best_static": { "setting": o.best.0, "model": account(o, o.best.1) },
        "sweep": sweep.collect::<Vec<_>>(),
    })
}

/// An energy as a whole number of the unit that is named beside it.
pub fn energy(given: bool, e: i128) -> Value {
    let e = e / if given { 1_000_000 } else { 1_000 };
    i64::try_from(e).map_or(Value::Null, Value::from)
}

/// Delays of wake-ups, ns.
pub(super) fn delays(a: &Account) -> Value {
    json!({ "p50": a.delay(500), "p99": a.delay(990), "p99.9": a.delay(999), "max": a.delay(1_000) })
}

fn spent(o: &Outlook, list: &[Spent]) -> Vec<Value> {
    let name = |i| o.states.get(i);
    let one = |(i, s): (usize, &Spent)| json!({ "state": name(i), "sleeps": s.sleeps, "time_ns": s.time });
    list.iter().enumerate().map(one).collect()
}

fn account(o: &Outlook, a: &Account) -> Value {
    let whole = |n: i128| i64::try_from(n).map_or(Value::Null, Value::from);
    let given = o.power.is_some();
    let bound = |b: Bound| json!({ "energy": energy(given, o.energy_of(a, b.energy)), "waited_ns": whole(b.waited) });
    json!({
        "states": spent(o, &a.states),
        "too_deep": a.too_deep,
        "too_shallow": a.too_shallow,
        "ended_by_tick": a.ticks,
        "wakeups_while_awake": a.awake,
        "delay_ns": delays(a),
        "waited_ns": whole(a.waited()),
        "energy": energy(given, o.energy_of(a, a.energy)),
        // Not computed for settings that were only tried.
        "bounds": (a.oracles != Oracles::default()).then(|| json!({
            "clairvoyant": bound(a.oracles.select),
            "clairvoyant_prewake": bound(a.oracles.prewake),
            "shallowest": bound(a.oracles.shallowest),
            "front": a.oracles.pareto().into_iter().map(bound).collect::<Vec<_>>(),
        })),
    })
}
