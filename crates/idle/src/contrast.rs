//! Counters of two sides under several workloads: on which side CPUs wake from
//! deeper states.

use crate::snapshot::Snapshot;
use serde::Serialize;

/// What the counters of one run come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Sleeps.
    pub sleeps: u64,
    /// Those in the deepest state that was entered by any run of the pair.
    pub in_deepest: u64,
    /// Those that ended before they paid.
    pub too_deep: u64,
    /// Those in which a deeper state would have paid.
    pub too_shallow: u64,
    /// Mean exit latency of a wake-up.
    pub mean_exit_latency_ns: u64,
}

impl Sums {
    /// Of one snapshot's counters.
    pub fn of(s: &Snapshot) -> Sums {
        let mut out = Sums::default();
        let mut latency = 0;
        let states = || s.cpus.values().flatten();
        let deepest = states().filter(|s| s.1.counters.usage > Some(0)).map(|s| *s.0).max();
        for (&i, state) in states() {
            let c = &state.counters;
            let n = c.usage.unwrap_or(0);
            out.sleeps = out.sleeps.saturating_add(n);
            out.in_deepest = out.in_deepest.saturating_add(if Some(i) == deepest { n } else { 0 });
            out.too_deep = out.too_deep.saturating_add(c.above.unwrap_or(0));
            out.too_shallow = out.too_shallow.saturating_add(c.below.unwrap_or(0));
            latency += u128::from(n) * u128::from(state.latency.unwrap_or(0)) * 1_000;
        }
        let mean = u64::try_from(latency / u128::from(out.sleeps.max(1)));
        out.mean_exit_latency_ns = mean.unwrap_or(u64::MAX);
        out
    }
}

/// One workload on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// What the labels of both sides have in common.
    pub name: String,
    /// The two sides, in the order of [`Contrast::sides`].
    pub sides: [Sums; 2],
}

/// Two sides under the same workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contrast {
    /// Names of the sides, in the order of the alphabet.
    pub sides: [String; 2],
    /// In order of the input.
    pub workloads: Vec<Workload>,
}

impl Contrast {
    /// The side on which wake-ups are slower in every workload, if there is one.
    pub fn slower(&self) -> Option<usize> {
        let slow = |side: usize| {
            let mean = |w: &Workload, s: usize| w.sides[s].mean_exit_latency_ns;
            self.workloads.iter().all(|w| mean(w, side) > mean(w, 1 - side))
        };
        (0..2).find(|&s| slow(s))
    }
}

/// The label of a dump without the word that says when it was made, and whether
/// that was afterwards.
pub fn moment(label: &str) -> Option<(String, bool)> {
    let (head, tail) = match label.rfind('/') {
        Some(at) => label.split_at(at + 1),
        None => ("", label),
    };
    for (word, after) in [("before", false), ("after", true)] {
        if let Some(at) = tail.find(word) {
            let rest = [&tail[..at], &tail[at + word.len()..]].concat();
            return Some((head.to_string() + &rest, after));
        }
    }
    None
}

/// Differences of all dumps that come as a pair, before and after, by what their
/// labels have in common; pairs whose counters ran backwards are left out.
pub fn pairs(snapshots: &[Snapshot]) -> Vec<(String, Snapshot)> {
    let mut out = Vec::new();
    for before in snapshots {
        let Some((name, false)) = moment(&before.label) else { continue };
        let is_after = |s: &&Snapshot| moment(&s.label) == Some((name.clone(), true));
        if let Some(after) = snapshots.iter().find(is_after)
            && let Ok((grown, 0)) = after.since(before)
        {
            out.push((name, grown));
        }
    }
    out
}

/// Two sides of the same workloads, if the labels are made so: all but one of
/// their parts are the workload, and that one has two values.
pub fn contrast(pairs: &[(String, Snapshot)]) -> Option<Contrast> {
    let parts: Vec<Vec<&str>> = pairs.iter().map(|p| p.0.split('/').collect()).collect();
    let length = parts.first()?.len();
    if pairs.len() < 2 || parts.iter().any(|p| p.len() != length) {
        return None;
    }
    (0..length).find_map(|at| {
        let mut sides: Vec<&str> = parts.iter().map(|p| p[at]).collect();
        sides.sort_unstable();
        sides.dedup();
        let &[a, b] = &sides[..] else { return None };
        let mut workloads = Vec::new();
        for (i, p) in parts.iter().enumerate().filter(|(_, p)| p[at] == a) {
            let rest = |q: &Vec<&str>| {
                let keep = |(k, w): (usize, &&str)| (k != at).then(|| w.to_string());
                q.iter().enumerate().filter_map(keep).collect::<Vec<_>>()
            };
            let other = parts.iter().position(|q| q[at] == b && rest(q) == rest(p))?;
            let differ = |k: usize| k != at && parts.iter().any(|q| q[k] != parts[0][k]);
            let name: Vec<&str> = (0..length).filter(|&k| differ(k)).map(|k| p[k]).collect();
            workloads.push(Workload {
                name: name.join("/"),
                sides: [Sums::of(&pairs[i].1), Sums::of(&pairs[other].1)],
            });
        }
        (workloads.len() * 2 == pairs.len())
            .then(|| Contrast { sides: [a.to_string(), b.to_string()], workloads })
    })
}
