//! Costs of the main thread, from recordings with `pm_async` 0.
//!
//! There one thread does everything, so the time from the end of a callback to
//! the start of the next is a sum of costs, each as often as the devices between
//! the two ask for it. The simulator says how often: the costs are those that
//! make its gaps closest to all recorded ones (least squares, gaps that are far
//! off counting less, because something else ran in them).

use super::sample::{Gap, Sample, settings};
use crate::simulate::cost::Profile;
use crate::simulate::run;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Costs that gaps tell.
const READ: [&str; N] = [
    "walk",
    "visit",
    "leaf",
    "wait",
    "look",
    "trigger",
    "runtime",
    "no_callback",
    "callback",
    "begin",
    "barrier",
];
const N: usize = 11;

/// A cost is tried with this, so that counts come out without rounding.
const UNIT: i64 = 1_000;

/// Fewer gaps tell nothing.
const ENOUGH: usize = 50;

/// An error of a gap that counts in full, in nanoseconds: traces have
/// microseconds.
const USUAL: f64 = 2_000.0;

/// The gaps of a cycle in which one thread did everything; `place` gives a
/// device's number.
pub(super) fn gaps(cycle: &Cycle, place: impl Fn(DeviceId) -> Option<u32>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for span in cycle.phases.iter().filter(|s| s.phase.may_be_async() && s.complete) {
        let inside = |c: &&dormouse_base::cycle::Callback| {
            c.phase == span.phase && c.start >= span.start && c.end <= span.end
        };
        let mut callbacks: Vec<_> = cycle.callbacks.iter().filter(inside).collect();
        callbacks.sort_by_key(|c| c.start);
        let (mut after, mut end) = (None, span.start);
        let mut add = |after, before, time: Ns| {
            // Overlaps are not of one thread.
            if time >= Ns::ZERO {
                gaps.push(Gap { phase: span.phase, after, before, time: time.0 });
            }
        };
        for c in callbacks {
            let Some(device) = place(c.device) else { continue };
            add(after, Some(device), c.start - end);
            (after, end) = (Some(device), c.end);
        }
        if after.is_some() {
            add(after, None, span.end - end);
        }
    }
    gaps
}

/// Sets the costs that the gaps of `samples` tell, and gives their names;
/// nothing without enough gaps.
pub(super) fn read(profile: &mut Profile, samples: &[Sample]) -> Vec<&'static str> {
    if samples.iter().map(|s| s.gaps.len()).sum::<usize>() < ENOUGH {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for s in samples.iter().filter(|s| !s.gaps.is_empty()) {
        count(profile, s, &mut rows);
    }
    // What no gap asks for cannot be read.
    let told: Vec<usize> = (0..N).filter(|&i| rows.iter().any(|r| r.0[i] != 0.0)).collect();
    let mut x = [0.0; N];
    for &i in &told {
        x[i] = profile.costs.field(READ[i]).map_or(0.0, |f| f.0 as f64);
    }
    solve(&rows, &told, &mut x);
    for &i in &told {
        if let Some(field) = profile.costs.field(READ[i]) {
            *field = Ns((x[i] + 0.5) as i64);
        }
    }
    told.into_iter().map(|i| READ[i]).collect()
}

/// How often each cost is in a gap, and what of the gap these costs are.
type Row = ([f64; N], f64);

/// Adds a row for each gap of `s`: how much longer it is when one cost is twice
/// as high.
fn count(profile: &Profile, s: &Sample, rows: &mut Vec<Row>) {
    let mut once = profile.clone();
    for name in READ {
        if let Some(field) = once.costs.field(name) {
            *field = Ns(UNIT);
        }
    }
    let Some(base) = simulated(&once, s) else { return };
    let mut with = Vec::new();
    for name in READ {
        let mut p = once.clone();
        if let Some(field) = p.costs.field(name) {
            *field = Ns(2 * UNIT);
        }
        let Some(times) = simulated(&p, s) else { return };
        with.push(times);
    }
    for (i, gap) in s.gaps.iter().enumerate() {
        let Some(all) = base[i] else { continue };
        let mut row = [0.0; N];
        let mut fixed = all;
        for (r, times) in row.iter_mut().zip(&with) {
            let more = times[i].unwrap_or(all) - all;
            *r = more as f64 / UNIT as f64;
            fixed -= more;
        }
        let rest = (gap.time - fixed) as f64;
        // The guest has devices that change places; a gap beside one of them is
        // not that of the simulation.
        if rest >= 0.0 && row.iter().all(|&r| r >= 0.0) {
            rows.push((row, rest));
        }
    }
}

/// The gaps of `s` as `profile` has them.
fn simulated(profile: &Profile, s: &Sample) -> Option<Vec<Option<i64>>> {
    let r = run(&s.topology, s.policy, &settings(profile, s)).ok()?;
    let times: BTreeMap<(Phase, u32), (i64, i64)> =
        r.cycle.callbacks.iter().map(|c| ((c.phase, c.device.0), (c.start.0, c.end.0))).collect();
    let gap = |g: &Gap| {
        let span = r.cycle.phase(g.phase)?;
        let from = match g.after {
            Some(d) => times.get(&(g.phase, d))?.1,
            None => span.start.0,
        };
        let to = match g.before {
            Some(d) => times.get(&(g.phase, d))?.0,
            None => span.end.0,
        };
        Some(to - from)
    };
    Some(s.gaps.iter().map(gap).collect())
}

/// Least squares over `told`, no cost below zero; rows that are far off count
/// less from one round to the next.
fn solve(rows: &[Row], told: &[usize], x: &mut [f64; N]) {
    for _ in 0..ROUNDS {
        let mut normal = [[0.0; N]; N];
        let mut right = [0.0; N];
        for (row, y) in rows {
            let error: f64 = y - told.iter().map(|&i| row[i] * x[i]).sum::<f64>();
            let off = if error < 0.0 { -error } else { error };
            let weight = if off > USUAL { (USUAL / off) * (USUAL / off) } else { 1.0 };
            for &i in told {
                right[i] += weight * row[i] * y;
                for &j in told {
                    normal[i][j] += weight * row[i] * row[j];
                }
            }
        }
        for _ in 0..SWEEPS {
            for &i in told {
                let others: f64 =
                    told.iter().filter(|&&j| j != i).map(|&j| normal[i][j] * x[j]).sum();
                if normal[i][i] > 0.0 {
                    x[i] = ((right[i] - others) / normal[i][i]).max(0.0);
                }
            }
        }
    }
}

const ROUNDS: u32 = 10;
const SWEEPS: u32 = 500;
