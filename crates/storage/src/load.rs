//! What a load measured by itself: a job of fio, and whether its queue explains what it
//! measured.

use dormouse_base::beside::{Cell, Table};
use serde::Serialize;

/// One direction of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Name of the job, and of the file.
    pub name: String,
    /// `read`, `write` or `trim`.
    pub direction: String,
    /// Requests.
    pub requests: u64,
    /// Bytes a second.
    pub bandwidth: u64,
    /// Requests in a thousand seconds, if it says so.
    pub rate: Option<u64>,
    /// Requests that each of its threads keeps under way.
    pub depth: Option<u64>,
    /// Its threads.
    pub threads: Option<u64>,
    /// Mean latency of completion, ns.
    pub mean: u64,
    /// Least, ns.
    pub least: u64,
    /// Most, ns.
    pub most: u64,
    /// Latency of completion that 50, 99 and 99.9 % do not exceed, ns.
    pub quantiles: [Option<u64>; 3],
}

/// A queue explains a latency that is so near to what it makes of it: percent.
const EXPLAINS: u128 = 15;

/// What the number of requests under way makes of a latency (Little's law: requests under
/// way = requests a second * time of each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Requests under way on average, in thousandths: from rate and mean.
    #[serde(rename = "under_way_thousandths")]
    pub under_way: u64,
    /// Requests that the job wants under way: depth times threads.
    pub wanted: Option<u64>,
    /// What a request takes if that many are under way all the time, ns.
    pub expected: Option<u64>,
    /// That is what was measured: the queue explains the latency, and a request alone was
    /// not measured.
    pub explains: bool,
    /// How the number under way stands to the number wanted.
    #[serde(skip)]
    pub fits: Fits,
}

/// Whether rate, latency and queue depth fit together as Little's law wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fits {
    /// They do, or no depth is known.
    Yes,
    /// Fewer were under way than wanted: something before the drive held requests back.
    Starved,
    /// More than there can be: the figures are not of one run.
    Impossible,
}

impl Job {
    /// What its queue makes of its latency; `None` if its rate is not known.
    pub fn queue(&self) -> Option<Queue> {
        let rate = u128::from(self.rate.filter(|r| *r > 0)?);
        let narrow = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        let under_way = narrow(rate * u128::from(self.mean) / 1_000_000_000);
        let wanted = self.depth.map(|d| d.saturating_mul(self.threads.unwrap_or(1)));
        let expected = wanted.map(|n| narrow(u128::from(n) * 1_000_000_000_000 / rate));
        let near = |e: u64| {
            let (e, m) = (u128::from(e), u128::from(self.mean));
            e.abs_diff(m) * 100 <= m.max(1) * EXPLAINS
        };
        let explains = wanted.is_some_and(|n| n > 1) && expected.is_some_and(near);
        let fits = match wanted.map(|n| u128::from(n) * 1_000) {
            Some(n) if u128::from(under_way) * 100 > n * (100 + EXPLAINS) => Fits::Impossible,
            Some(n) if u128::from(under_way) * 100 < n * (100 - EXPLAINS) => Fits::Starved,
            _ => Fits::Yes,
        };
        Some(Queue { under_way, wanted, expected, explains, fits })
    }
}

/// Two jobs of one direction, measured one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Mean latency of the second as thousandths of that of the first.
    pub mean: Option<u64>,
    /// The same of what 99 % do not exceed.
    pub p99: Option<u64>,
    /// Of the rate; of bytes a second, if that is not known.
    pub rate: Option<u64>,
}

/// What changed from `a` to `b`.
pub fn change(a: &Job, b: &Job) -> Change {
    let ratio = |a: u64, b: u64| {
        let n = u128::from(b) * 1_000 / u128::from(a).max(1);
        (a > 0).then(|| u64::try_from(n).unwrap_or(u64::MAX))
    };
    let both = |x: Option<u64>, y: Option<u64>| x.zip(y).and_then(|(x, y)| ratio(x, y));
    Change {
        mean: ratio(a.mean, b.mean),
        p99: both(a.quantiles[1], b.quantiles[1]),
        rate: both(a.rate, b.rate).or_else(|| ratio(a.bandwidth, b.bandwidth)),
    }
}

/// Jobs as one table, a row a figure.
pub fn table(jobs: &[Job]) -> Table {
    let mut cells = Vec::new();
    for j in jobs {
        let mut cell = |what: &str, cell: Cell| {
            cells.push((format!("{} {}, {what}", j.name, j.direction), cell));
        };
        let us = |ns: u64| Cell::thousandths(i64::try_from(ns).unwrap_or(i64::MAX), "us");
        cell("mean latency", us(j.mean));
        if let Some(n) = j.quantiles[1] {
            cell("p99 latency", us(n));
        }
        cell("longest latency", us(j.most));
        if let Some(rate) = j.rate {
            cell("rate", Cell::thousandths(i64::try_from(rate).unwrap_or(i64::MAX), "IOPS"));
        }
        if j.bandwidth > 0 {
            let kilo = i64::try_from(j.bandwidth / 1_000).unwrap_or(i64::MAX);
            cell("bandwidth", Cell::thousandths(kilo, "MB/s"));
        }
        if let Some(n) = j.depth {
            cell("queue depth", Cell::whole(n, ""));
        }
    }
    Table { kind: "fio", label: String::new(), cells }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_explains_a_latency_or_does_not() {
        let job = Job {
            rate: Some(20_000_000),
            depth: Some(16),
            threads: Some(4),
            mean: 3_150_000,
            ..Job::default()
        };
        let q = job.queue().unwrap();
        assert_eq!((q.under_way, q.wanted, q.expected), (63_000, Some(64), Some(3_200_000)));
        assert!(q.explains);
        let idle = Job { mean: 500_000, ..job.clone() };
        assert!(!idle.queue().unwrap().explains, "it did not keep so many under way");
        assert_eq!(idle.queue().unwrap().fits, Fits::Starved);
        let slow = Job { mean: 9_000_000, ..job.clone() };
        assert_eq!(slow.queue().unwrap().fits, Fits::Impossible);
        assert_eq!(q.fits, Fits::Yes);
        let alone = Job { depth: Some(1), threads: Some(1), ..job.clone() };
        assert!(!alone.queue().unwrap().explains, "there is no queue");
        assert_eq!(Job::default().queue(), None);
    }

    #[test]
    fn two_jobs_side_by_side() {
        let a = Job { mean: 200, bandwidth: 10, ..Job::default() };
        let b = Job { mean: 150, bandwidth: 12, rate: Some(1), ..Job::default() };
        assert_eq!(change(&a, &b), Change { mean: Some(750), p99: None, rate: Some(1_200) });
    }
}
