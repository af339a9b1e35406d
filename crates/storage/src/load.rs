//! What a load measured by itself: a job of fio, and whether its queue was full.

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
    /// Its own options let time pass between its requests.
    pub paced: bool,
    /// The job goes in two directions, and the text shows this one alone.
    pub halved: bool,
    /// Which run of its text it is a direction of: reads and writes of one job share its
    /// threads and its depth.
    pub run: usize,
    /// Requests of the other directions under way on average, in thousandths.
    pub others: u64,
    /// Mean time until a request was submitted (`slat`), ns, if it says so.
    pub submission: Option<u64>,
    /// What each sync of the job took: mean and what 99 % do not exceed, ns.
    pub sync: Option<(u64, Option<u64>)>,
    /// Mean latency of completion, ns.
    pub mean: u64,
    /// Least, ns.
    pub least: u64,
    /// Most, ns.
    pub most: u64,
    /// Latency of completion that 50, 99 and 99.9 % do not exceed, ns.
    pub quantiles: [Option<u64>; 3],
}

/// Below this share of a request's time its submission is no news: percent.
const SUBMITS: u128 = 10;

/// Figures that are so near to each other are the same: percent.
const NEAR: u128 = 15;

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
    /// That is what was measured: so many were under way all the time. It says that the job
    /// kept its queue full, not what a request would take alone, nor what limits the rate.
    #[serde(rename = "explains")]
    pub full: bool,
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
    /// The same, and the load itself let time pass between its requests.
    Paced,
    /// More than there can be: the figures are not of one run.
    Impossible,
}

/// Tells directions of one run how many requests of the others are under way.
pub fn share(jobs: &mut [Job]) {
    for run in jobs.chunk_by_mut(|a, b| a.run == b.run && a.name == b.name) {
        let each: Vec<u64> = run.iter().map(|j| j.under_way().unwrap_or(0)).collect();
        let all = each.iter().fold(0, |n: u64, own| n.saturating_add(*own));
        for (j, own) in run.iter_mut().zip(each) {
            j.others = all.saturating_sub(own);
        }
    }
}

impl Job {
    /// Mean time of a request from its submission on, ns.
    pub fn whole(&self) -> u64 {
        self.mean.saturating_add(self.submission.unwrap_or(0))
    }

    /// The part of a request that went by before it was submitted, thousandths, where that is
    /// news.
    pub fn submitting(&self) -> Option<u64> {
        let (all, slat) = (u128::from(self.whole().max(1)), u128::from(self.submission?));
        (slat * 100 >= all * SUBMITS).then(|| u64::try_from(slat * 1_000 / all).unwrap_or(1_000))
    }

    /// Requests under way on average, in thousandths.
    fn under_way(&self) -> Option<u64> {
        let rate = u128::from(self.rate.filter(|r| *r > 0)?);
        Some(u64::try_from(rate * u128::from(self.whole()) / 1_000_000_000).unwrap_or(u64::MAX))
    }

    /// What its queue makes of its latency; `None` if its rate is not known, or not all that is
    /// in the queue.
    pub fn queue(&self) -> Option<Queue> {
        if self.halved {
            return None;
        }
        let rate = u128::from(self.rate.filter(|r| *r > 0)?);
        let narrow = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        let under_way = self.under_way()?;
        let wanted = self.depth.map(|d| d.saturating_mul(self.threads.unwrap_or(1)));
        let others = u128::from(self.others);
        let left = |n: u64| (u128::from(n) * 1_000).saturating_sub(others);
        let expected = wanted.map(|n| narrow(left(n) * 1_000_000_000 / rate));
        let near = |e: u64| {
            let (e, m) = (u128::from(e), u128::from(self.whole()));
            e.abs_diff(m) * 100 <= m.max(1) * NEAR
        };
        let full = wanted.is_some_and(|n| n > 1) && expected.is_some_and(near);
        let all = u128::from(under_way) + others;
        let fits = match wanted.map(|n| u128::from(n) * 1_000) {
            Some(n) if all * 100 > n * (100 + NEAR) => Fits::Impossible,
            // Between its writes it waited for its syncs.
            Some(n) if all * 100 < n * (100 - NEAR) && self.sync.is_none() => {
                if self.paced {
                    Fits::Paced
                } else {
                    Fits::Starved
                }
            }
            _ => Fits::Yes,
        };
        Some(Queue { under_way, wanted, expected, full, fits })
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
        let a = u128::from(a);
        let n = (u128::from(b) * 2_000 + a) / (2 * a.max(1));
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
        if let Some(n) = j.submission {
            cell("mean submission", us(n));
        }
        if let Some((mean, _)) = j.sync {
            cell("mean sync", us(mean));
        }
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
    fn a_queue_is_full_or_is_not() {
        let job = Job {
            rate: Some(20_000_000),
            depth: Some(16),
            threads: Some(4),
            mean: 3_150_000,
            ..Job::default()
        };
        let q = job.queue().unwrap();
        assert_eq!((q.under_way, q.wanted, q.expected), (63_000, Some(64), Some(3_200_000)));
        assert!(q.full);
        let idle = Job { mean: 500_000, ..job.clone() };
        assert!(!idle.queue().unwrap().full, "it did not keep so many under way");
        assert_eq!(idle.queue().unwrap().fits, Fits::Starved);
        let slow = Job { mean: 9_000_000, ..job.clone() };
        assert_eq!(slow.queue().unwrap().fits, Fits::Impossible);
        assert_eq!(q.fits, Fits::Yes);
        let alone = Job { depth: Some(1), threads: Some(1), ..job.clone() };
        assert!(!alone.queue().unwrap().full, "there is no queue");
        assert_eq!(Job::default().queue(), None);
    }

    #[test]
    fn directions_of_one_run_share_its_depth() {
        let job = |direction: &str, rate, mean| Job {
            direction: direction.into(),
            rate: Some(rate),
            depth: Some(32),
            mean,
            submission: Some(2_000),
            ..Job::default()
        };
        // 22.5 and 9.5 of 32.
        let mut jobs = [job("read", 40_000_000, 560_000), job("write", 13_300_000, 712_500)];
        assert_eq!(jobs[0].queue().unwrap().fits, Fits::Starved, "alone");
        share(&mut jobs);
        for j in &jobs {
            assert_eq!((j.queue().unwrap().fits, j.queue().unwrap().full), (Fits::Yes, true));
        }
        jobs[1].run = 1;
        share(&mut jobs);
        assert_eq!((jobs[0].others, jobs[0].queue().unwrap().fits), (0, Fits::Starved));
    }

    #[test]
    fn submission_and_sync_are_parts_of_a_request() {
        let job = Job {
            rate: Some(6_008_000),
            mean: 5_930,
            submission: Some(151_810),
            depth: Some(1),
            ..Job::default()
        };
        assert_eq!((job.submitting(), job.queue().unwrap().under_way), (Some(962), 947));
        assert_eq!(job.queue().unwrap().fits, Fits::Yes);
        let synced = Job { submission: None, sync: Some((488_200, None)), ..job.clone() };
        assert_eq!((synced.submitting(), synced.queue().unwrap().fits), (None, Fits::Yes));
        let quick = Job { submission: Some(100), ..job };
        assert_eq!(quick.submitting(), None);
    }

    #[test]
    fn two_jobs_side_by_side() {
        let a = Job { mean: 200, bandwidth: 10, ..Job::default() };
        let b = Job { mean: 150, bandwidth: 12, rate: Some(1), ..Job::default() };
        assert_eq!(change(&a, &b), Change { mean: Some(750), p99: None, rate: Some(1_200) });
        let long = Job { mean: 10_000, ..Job::default() };
        let short = Job { mean: 158, ..Job::default() };
        assert_eq!(change(&long, &short).mean, Some(16), "rounded, not cut");
    }
}
