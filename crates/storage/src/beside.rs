//! Requests of two traces beside each other, and what changed most.

use crate::summary::{DiskSummary, Latency};
use crate::wait::Cause;
use serde::Serialize;

/// Two traces, one disk of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// What they are called.
    pub labels: [String; 2],
    /// The disks.
    pub disks: [String; 2],
    /// Complete requests of each.
    pub requests: [u64; 2],
    /// Latencies of all of them, and of those after an idle gap.
    pub latencies: Vec<Figure>,
    /// What a request waited for on average, what changed most first.
    pub causes: Vec<Share>,
}

/// One figure of both, ns; `None` where a trace does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Which.
    pub name: &'static str,
    /// In the first and in the second.
    pub ns: [Option<i64>; 2],
}

/// A wait in both, ns a request over all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// For what.
    pub cause: Cause,
    /// In the first and in the second.
    pub mean_ns: [i64; 2],
}

impl Share {
    /// The second less the first.
    pub fn change(&self) -> i64 {
        self.mean_ns[1].saturating_sub(self.mean_ns[0])
    }
}

/// One disk of each side: the busiest that both have, else the busiest of each.
/// Nothing if a side has no complete request.
pub fn beside(sides: [&[DiskSummary]; 2], labels: [&str; 2]) -> Option<Beside> {
    let with = |s: &&DiskSummary| s.all.requests > 0;
    let busiest = |side: &'_ [DiskSummary]| {
        (0..side.len()).filter(|i| side[*i].all.requests > 0).max_by_key(|i| side[*i].all.requests)
    };
    let pair = |a: &usize| sides[1].iter().position(|b| b.disk == sides[0][*a].disk && with(&b));
    let both = (0..sides[0].len()).filter(|i| with(&&sides[0][*i]));
    let both = both
        .filter_map(|a| Some((a, pair(&a)?)))
        .max_by_key(|(a, b)| sides[0][*a].all.requests.saturating_add(sides[1][*b].all.requests));
    let (a, b) = match both {
        Some(pair) => pair,
        None => (busiest(sides[0])?, busiest(sides[1])?),
    };
    let of = [&sides[0][a], &sides[1][b]];
    let figure = |name, f: &dyn Fn(&DiskSummary) -> Option<i64>| Figure { name, ns: of.map(f) };
    let some = |l: Latency, value: i64| (l.requests > 0).then_some(value);
    let latencies = vec![
        figure("p50", &|d| some(d.all, d.all.p50)),
        figure("p99", &|d| d.all.tail()),
        figure("max", &|d| some(d.all, d.all.max)),
        figure("after_idle_p50", &|d| some(d.after_idle, d.after_idle.p50)),
        figure("after_sleep_p50", &|d| some(d.after_sleep, d.after_sleep.p50)),
    ];
    let mean = |d: &DiskSummary, cause: Cause| {
        let all = d.shares.iter().filter(|s| s.cause == cause).map(|s| s.total).sum::<i64>();
        all / i64::try_from(d.all.requests).unwrap_or(i64::MAX).max(1)
    };
    let mut causes: Vec<Cause> = of.iter().flat_map(|d| &d.shares).map(|s| s.cause).collect();
    causes.sort_unstable();
    causes.dedup();
    let mut causes: Vec<Share> = causes
        .into_iter()
        .map(|cause| Share { cause, mean_ns: of.map(|d| mean(d, cause)) })
        .collect();
    // Between equals the order of a request's life stays.
    causes.sort_by_key(|s| std::cmp::Reverse(s.change().unsigned_abs()));
    Some(Beside {
        labels: labels.map(String::from),
        disks: of.map(|d| d.disk.to_string()),
        requests: of.map(|d| d.all.requests),
        latencies: latencies.into_iter().filter(|f| f.ns.iter().any(Option::is_some)).collect(),
        causes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Disk, Operation, Request};
    use crate::summary::{Cpus, summarise};
    use crate::wait::Watched;

    /// Requests of a disk that wait so long before they are issued, and are served in 100 us.
    fn disk(minor: u32, waits: &[i64]) -> Vec<DiskSummary> {
        let one = |(i, wait): (usize, &i64)| {
            let at = i as i64 * 1_000_000_000;
            Request {
                disk: Disk { major: 8, minor },
                operation: Operation::Read,
                sector: Some(i as u64 * 8),
                sectors: 8,
                flush: false,
                queued: None,
                admitted: Some(at),
                inserted: Some(at),
                issued: Some(at + wait),
                taken: Some(at + wait),
                completed: Some(at + wait + 100_000),
                issues: 1,
                error: 0,
                merged: 0,
                ended: 8,
                cpu: 0,
            }
        };
        let requests: Vec<Request> = waits.iter().enumerate().map(one).collect();
        summarise(&requests, &[], Watched::default(), Cpus::default(), None)
    }

    #[test]
    fn what_changed_most_comes_first() {
        let (a, b) = (disk(0, &[5_000, 5_000]), disk(0, &[905_000, 5_000]));
        let found = beside([&a, &b], ["a", "b"]).expect("requests in both");
        assert_eq!((found.causes[0].cause, found.causes[0].change()), (Cause::Queue, 450_000));
        assert_eq!(found.latencies[0], Figure { name: "p50", ns: [Some(105_000); 2] });
        // So few requests have no tail.
        assert!(found.latencies.iter().all(|f| f.name != "p99"), "{found:?}");
        assert_eq!(beside([&a, &[]], ["a", "b"]), None);
    }

    #[test]
    fn a_disk_that_both_have_before_a_busier_one() {
        let mut a = disk(0, &[5_000]);
        a.extend(disk(16, &[5_000; 9]));
        let b = disk(0, &[7_000, 7_000]);
        let found = beside([&a, &b], ["a", "b"]).expect("requests in both");
        assert_eq!((found.disks[0].as_str(), found.requests), ("8,0", [1, 2]));
        let other = disk(32, &[7_000]);
        assert_eq!(beside([&a, &other], ["a", "b"]).expect("requests in both").requests, [9, 1]);
    }
}
