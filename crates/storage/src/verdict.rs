//! A simulated load beside what a kernel measured of it.

use crate::simulate::disk::Outcome;
use crate::summary::Latency;

/// A mean or a 99th percentile is right within so many percent of the kernel's.
pub const RELATIVE: i64 = 5;
/// Or within so many ns.
pub const DELAY: i64 = 10_000;
/// A share of time is right within so many hundredths of a percent.
pub const SHARE: i64 = 200;

/// What a kernel measured (`dormouse lab storage`), ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Release.
    pub kernel: String,
    /// From the first request to the end of the last.
    pub span: i64,
    /// Changes of the clock.
    pub changes: u64,
    /// With all disks asleep, resume included.
    pub asleep: i64,
    /// With the clock gated.
    pub gated: i64,
    /// At each clock, Hz.
    pub at: Vec<(u64, i64)>,
    /// Latency of each request, in order of time.
    pub latencies: Vec<i64>,
}

/// Two figures that shall be alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Simulated.
    pub foretold: i64,
    /// Measured.
    pub measured: i64,
}

impl Pair {
    /// Whether a latency is right.
    pub fn near(self) -> bool {
        let off = (self.foretold - self.measured).abs();
        off <= DELAY || off.saturating_mul(100) <= self.measured.saturating_mul(RELATIVE)
    }

    /// Whether a share is right.
    pub fn close(self) -> bool {
        (self.foretold - self.measured).abs() <= SHARE
    }
}

/// One load on one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Of the disk.
    pub name: String,
    /// Requests that are compared.
    pub requests: usize,
    /// Mean latency, ns.
    pub mean: Pair,
    /// 99th percentile, ns.
    pub p99: Pair,
    /// Share of time asleep, in hundredths of a percent.
    pub asleep: Pair,
    /// Gated.
    pub gated: Pair,
    /// Awake at the fastest clock.
    pub fastest: Pair,
}

impl Row {
    /// The first request is left out on both sides: what the disk does before a load
    /// is not part of it, and it may sleep.
    pub fn of(name: &str, o: &Outcome, m: &Measured) -> Row {
        let latency = |list: &[i64]| Latency::of(&mut list.get(1..).unwrap_or_default().to_vec());
        let (is, was) = (latency(&o.latencies), latency(&m.latencies));
        let share = |part: i64, of: i64| {
            if of <= 0 { 0 } else { (i128::from(part) * 10_000 / i128::from(of)) as i64 }
        };
        let pair =
            |is: i64, was: i64| Pair { foretold: share(is, o.span), measured: share(was, m.span) };
        let t = &o.times;
        let top = t.busy.len().saturating_sub(1);
        Row {
            name: name.into(),
            requests: was.requests as usize,
            mean: Pair { foretold: is.mean, measured: was.mean },
            p99: Pair { foretold: is.p99, measured: was.p99 },
            asleep: pair(t.suspend[1] + t.suspend[2], m.asleep),
            gated: pair(t.gate.iter().sum(), m.gated),
            fastest: pair(t.at_clock(top), m.at.iter().max().map_or(0, |a| a.1)),
        }
    }

    /// Whether all of it is right.
    pub fn met(&self) -> bool {
        self.mean.near() && self.p99.near() && self.states_met()
    }

    /// Whether the shares of time are.
    pub fn states_met(&self) -> bool {
        self.asleep.close() && self.gated.close() && self.fastest.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::disk::Times;

    fn both() -> (Outcome, Measured) {
        let times = Times { busy: vec![0, 40], idle: vec![40, 0], ..Times::default() };
        let o = Outcome {
            latencies: vec![9, 100_000, 100_000],
            times: Times { suspend: [0, 10, 10], ..times },
            span: 100,
            ..Outcome::default()
        };
        let m = Measured {
            span: 1_000,
            asleep: 210,
            at: vec![(1, 390), (2, 400)],
            latencies: vec![5_000_000, 100_000, 119_000],
            ..Measured::default()
        };
        (o, m)
    }

    #[test]
    fn what_is_near_is_right_and_the_first_request_does_not_count() {
        let (o, mut m) = both();
        let r = Row::of("a", &o, &m);
        assert_eq!((r.requests, r.mean.measured, r.asleep.measured), (2, 109_500, 2_100));
        assert!(r.mean.near() && !r.p99.near() && r.states_met() && !r.met());
        m.latencies = vec![1, 100_000, 109_000];
        assert!(Row::of("a", &o, &m).met());
        m.asleep = 240;
        assert!(!Row::of("a", &o, &m).met());
    }
}
