//! Which wait costs most over all requests of a disk.

use crate::recording::Woken;
use crate::request::{Disk, Operation, Request};
use crate::wait::{CAUSES, Cause, Family, Slices, Span, Timeline, Watched, slices};
use std::collections::BTreeMap;

/// A disk that had no request for so long was idle, ns: five times the shortest
/// delay after which UFS gates its clock (10 ms, drivers/ufs/core/ufshcd.c).
pub const IDLE_GAP: i64 = 50_000_000;

/// Percent of all latency that a wait must cost to be named before the drive.
const WORTH: i128 = 10;

/// One cause over the requests of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which.
    pub cause: Cause,
    /// Requests that waited for it at all.
    pub requests: u64,
    /// Requests of which it is known whether they did.
    pub known: u64,
    /// Time, ns.
    pub total: i64,
    /// Longest, ns.
    pub longest: i64,
}

/// Latencies of some requests, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    /// Mean, rounded down.
    pub mean: i64,
    /// Middle.
    pub p50: i64,
    /// 99 of 100 are at most this.
    pub p99: i64,
    /// Longest.
    pub max: i64,
}

impl Latency {
    /// Of a sample, which is sorted on the way. Quantiles are values of the
    /// sample: the smallest that at least that share does not exceed.
    pub fn of(sample: &mut [i64]) -> Latency {
        sample.sort_unstable();
        Latency::of_sorted(sample)
    }

    /// Of a sample in order.
    fn of_sorted(sample: &[i64]) -> Latency {
        let n = sample.len();
        if n == 0 {
            return Latency::default();
        }
        let at = |percent: usize| sample[(n * percent).div_ceil(100).max(1) - 1];
        let sum: i128 = sample.iter().map(|x| i128::from(*x)).sum();
        Latency {
            count: n as u64,
            mean: (sum / n as i128) as i64,
            p50: at(50),
            p99: at(99),
            max: sample[n - 1],
        }
    }
}

/// A request with its slices.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The request.
    pub request: Request,
    /// Its latency by cause.
    pub slices: Slices,
    /// It came after the disk had been idle for [`IDLE_GAP`].
    pub after_idle: bool,
}

/// What happened on one disk.
#[derive(Clone, Debug)]
pub struct DiskSummary {
    /// Which.
    pub disk: Disk,
    /// Complete requests, taken apart, in order of completion.
    pub requests: Vec<Taken>,
    /// Flushes that the block layer made for requests which wait for them: their time
    /// is in those requests, and not counted again.
    pub beside: Latency,
    /// Requests without a completion.
    pub open: u64,
    /// Completions without anything before them.
    pub unbegun: u64,
    /// Requests that ended with an error.
    pub errors: u64,
    /// Requests that the driver put back at least once.
    pub refused: u64,
    /// By cause, those that cost most first; without those that cost nothing.
    pub shares: Vec<Share>,
    /// Of all complete requests.
    pub all: Latency,
    /// Of those after an idle gap.
    pub after_idle: Latency,
    /// Of those that waited for a resume or an ungated clock: the first ones after each
    /// sleep.
    pub after_sleep: Latency,
    /// Of those that did not come after an idle gap.
    pub busy: Latency,
    /// By operation.
    pub operations: BTreeMap<Operation, Latency>,
    /// Bytes of complete requests.
    pub bytes: u64,
    /// From the first moment to the last, ns.
    pub span: i64,
}

impl DiskSummary {
    /// The cause other than service that costs most, if it costs at least
    /// [`WORTH`] of all latency.
    pub fn worst(&self) -> Option<&Share> {
        let found = self.shares.iter().filter(|s| !s.cause.is_service());
        let worth = |s: &&Share| i128::from(s.total) * 100 >= i128::from(self.total()) * WORTH;
        found.max_by_key(|s| s.total).filter(worth)
    }

    /// Of all latency, ns: slices of a request add up to its latency.
    pub fn total(&self) -> i64 {
        self.shares.iter().map(|s| s.total).sum()
    }
}

/// What is known of CPUs that took completions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpus<'a> {
    /// Completions that woke their CPU, in order of time.
    pub woken: &'a [Woken],
    /// Exit latency of a CPU's idle state, ns.
    pub exits: Option<&'a BTreeMap<(u32, u32), i64>>,
}

impl Cpus<'_> {
    /// What leaving its idle state took the CPU that completed `r`: `None` if that
    /// is not known.
    fn wait(&self, r: &Request) -> Option<i64> {
        let at = r.completed?;
        let first = self.woken.partition_point(|w| w.completed < at);
        let mut here = self.woken[first..].iter().take_while(|w| w.completed == at);
        let Some(w) = here.find(|w| w.cpu == r.cpu) else { return Some(0) };
        Some((*self.exits?.get(&(w.cpu, w.state))?).min(w.slept.max(0)))
    }
}

/// Sums up the requests of each disk; disks with most latency first.
pub fn summarise(
    requests: &[Request],
    spans: &[Span],
    watched: Watched,
    cpus: Cpus<'_>,
) -> Vec<DiskSummary> {
    let mut disks: BTreeMap<Disk, Vec<&Request>> = BTreeMap::new();
    for r in requests {
        disks.entry(r.disk).or_default().push(r);
    }
    let mut lines: BTreeMap<Family, Timeline> = BTreeMap::new();
    let mut out: Vec<DiskSummary> = Vec::new();
    for (disk, list) in disks {
        let family = Family::of_disk(disk);
        if let Some(f) = family {
            lines.entry(f).or_insert_with(|| Timeline::of(spans, f));
        }
        out.push(one(disk, &list, family.and_then(|f| lines.get(&f)), watched, cpus));
    }
    out.sort_by_key(|d| (std::cmp::Reverse(d.total()), d.disk));
    out
}

/// Flushes of the block layer's own on a disk: when each was issued and ended. Where
/// requests have a beginning that is a bio's, those have none
/// (`blk_kick_flush`, block/blk-flush.c, 6.12).
fn own_flushes(list: &[&Request]) -> Vec<(i64, i64)> {
    if !list.iter().any(|r| r.queued.or(r.admitted).is_some()) {
        return Vec::new();
    }
    let own = |r: &&&Request| {
        r.operation == Operation::Flush && r.queued.or(r.admitted).or(r.inserted).is_none()
    };
    let mut out: Vec<(i64, i64)> =
        list.iter().filter(own).filter_map(|r| Some((r.issued?, r.completed?))).collect();
    out.sort_unstable();
    out
}

/// Whether a request waits for flushes, and until when it can: without data until its
/// end, with data until it is issued itself.
fn waits_for_flushes(r: &Request) -> Option<(i64, i64)> {
    let begin = r.queued.or(r.admitted).or(r.inserted)?;
    let empty = r.operation == Operation::Write && r.sectors == 0 && r.issues == 0;
    match (empty, r.flush) {
        (true, _) => Some((begin, r.completed?)),
        (false, true) if r.operation != Operation::Flush => Some((begin, r.issued?)),
        _ => None,
    }
}

/// The sum of what `flushes` cover of a time.
fn covered(flushes: &[(i64, i64)], begin: i64, end: i64) -> i64 {
    let first = flushes.partition_point(|f| f.1 <= begin);
    let (mut at, mut sum) = (begin, 0);
    for f in flushes[first..].iter().take_while(|f| f.0 < end) {
        let from = f.0.max(at);
        let to = f.1.min(end);
        sum += (to - from).max(0);
        at = at.max(to);
    }
    sum
}

fn one(
    disk: Disk,
    list: &[&Request],
    timeline: Option<&Timeline>,
    watched: Watched,
    cpus: Cpus<'_>,
) -> DiskSummary {
    let mut begun: Vec<(i64, i64)> =
        list.iter().filter_map(|r| Some((r.begin()?, r.completed?))).collect();
    begun.sort_unstable();
    // Begins of requests before which no request was under way for long.
    let mut rested = Vec::new();
    let mut busy_until: Option<i64> = None;
    for &(begin, end) in &begun {
        if busy_until.is_some_and(|t| begin - t >= IDLE_GAP) {
            rested.push(begin);
        }
        busy_until = Some(busy_until.map_or(end, |t| t.max(end)));
    }
    let flushes = own_flushes(list);
    let mut waited_for: Vec<(i64, i64)> =
        list.iter().filter_map(|r| waits_for_flushes(r)).collect();
    waited_for.sort_unstable();
    let asked = |begin: i64, end: i64| {
        let before = waited_for.partition_point(|w| w.0 <= begin);
        waited_for[..before].iter().rev().take(64).any(|w| w.1 >= end)
    };
    let mut requests = Vec::new();
    let mut beside = Vec::new();
    let (mut open, mut unbegun) = (0, 0);
    for r in list {
        match (r.begin(), r.completed) {
            (Some(begin), Some(end)) => {
                if r.operation == Operation::Flush
                    && r.issued == Some(begin)
                    && flushes.binary_search(&(begin, end)).is_ok()
                    && asked(begin, end)
                {
                    beside.push(end - begin);
                    continue;
                }
                let Some(mut slices) = slices(r, timeline, watched) else { continue };
                if let Some((from, to)) = waits_for_flushes(r)
                    && r.issues > 0
                {
                    slices.shift(Cause::Queue, Cause::Flush, covered(&flushes, from, to));
                }
                if let (true, Some(wait)) = (watched.cpus, cpus.wait(r)) {
                    slices.none_of(Cause::Cpu);
                    slices.shift(Cause::Served, Cause::Cpu, wait);
                }
                let after_idle = rested.binary_search(&begin).is_ok();
                requests.push(Taken { request: **r, slices, after_idle });
            }
            (Some(_), None) => open += 1,
            _ => unbegun += 1,
        }
    }
    // Sorted once: what is kept of it is in order.
    let mut totals: Vec<(i64, usize)> =
        requests.iter().enumerate().map(|(i, t)| (t.slices.total(), i)).collect();
    totals.sort_unstable();
    let latency = |keep: &dyn Fn(&Taken) -> bool| {
        let kept = totals.iter().filter(|(_, i)| keep(&requests[*i]));
        Latency::of_sorted(&kept.map(|(total, _)| *total).collect::<Vec<i64>>())
    };
    let none = |cause| Share { cause, requests: 0, known: 0, total: 0, longest: 0 };
    let mut shares = CAUSES.map(none).to_vec();
    for t in &requests {
        for s in &mut shares {
            let Some(time) = t.slices.get(s.cause) else { continue };
            s.known += 1;
            s.requests += u64::from(time > 0);
            s.total += time;
            s.longest = s.longest.max(time);
        }
    }
    shares.retain(|s| s.total > 0);
    shares.sort_by_key(|s| (std::cmp::Reverse(s.total), s.cause));
    let mut operations = BTreeMap::new();
    for r in &requests {
        let op = r.request.operation;
        operations.entry(op).or_insert_with(|| latency(&|t: &Taken| t.request.operation == op));
    }
    let first = begun.first().map_or(0, |b| b.0);
    let last = begun.iter().map(|b| b.1).max().unwrap_or(first);
    DiskSummary {
        disk,
        beside: Latency::of(&mut beside),
        open,
        unbegun,
        errors: requests.iter().filter(|t| t.request.error != 0).count() as u64,
        refused: requests.iter().filter(|t| t.request.issues > 1).count() as u64,
        shares,
        all: latency(&|_| true),
        after_idle: latency(&|t| t.after_idle),
        after_sleep: latency(&|t| t.slices.woke()),
        busy: latency(&|t| !t.after_idle),
        operations,
        bytes: requests.iter().map(|t| u64::from(t.request.sectors) * 512).sum(),
        span: last - first,
        requests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Event, Ledger};

    #[test]
    fn the_first_request_after_a_rest_is_apart() {
        let disk = Disk { major: 8, minor: 0 };
        let mut l = Ledger::default();
        let mut ask = |sector: u64, begin: i64, end: i64| {
            let e = Event {
                time: begin,
                disk,
                operation: Operation::Read,
                sector,
                sectors: 8,
                flush: false,
            };
            l.issue(e);
            l.complete(Event { time: end, ..e }, 0, 0);
        };
        ask(0, 0, 100);
        ask(8, 200, 300);
        ask(16, 300 + IDLE_GAP, 1_300 + IDLE_GAP);
        ask(24, 1_400 + IDLE_GAP, 1_500 + IDLE_GAP);
        let span = Span {
            family: Family::Scsi,
            begin: 310 + IDLE_GAP,
            end: 1_210 + IDLE_GAP,
            cause: Cause::Ungate,
        };
        let watched = Watched { gating: true, ..Watched::default() };
        let all = summarise(&l.finish(), &[span], watched, Cpus::default());
        let [d] = &all[..] else { panic!() };
        assert_eq!((d.after_idle.count, d.after_idle.mean), (1, 1_000));
        assert_eq!((d.after_sleep.count, d.after_sleep.max), (1, 1_000));
        assert_eq!((d.busy.count, d.busy.max), (3, 100));
        let worst = d.worst().unwrap();
        assert_eq!((worst.cause, worst.requests, worst.total), (Cause::Ungate, 1, 900));
        let sum: i64 = d.shares.iter().map(|s| s.total).sum();
        assert_eq!((sum, d.total()), (1_300, 1_300));
    }

    #[test]
    fn a_flush_is_counted_where_somebody_waits_for_it() {
        let disk = Disk { major: 8, minor: 0 };
        let mut l = Ledger::default();
        let write = |time, sectors, flush| Event {
            time,
            disk,
            operation: Operation::Write,
            sector: 64,
            sectors,
            flush,
        };
        let flush = |time| Event {
            time,
            disk,
            operation: Operation::Flush,
            sector: u64::MAX,
            sectors: 0,
            flush: false,
        };
        // Data that asks for a flush first: 10 in the queue, 200 flush, 90 data.
        l.queue(write(0, 8, true));
        l.admit(write(0, 8, true));
        l.issue(flush(10));
        l.complete(flush(210), 0, 0);
        l.issue(write(210, 8, true));
        l.complete(write(300, 8, true), 0, 0);
        // A flush that nobody asked for here.
        l.issue(flush(1_000));
        l.complete(flush(1_400), 0, 0);
        let all = summarise(&l.finish(), &[], Watched::default(), Cpus::default());
        let [d] = &all[..] else { panic!() };
        assert_eq!((d.beside.count, d.beside.max), (1, 200));
        assert_eq!((d.all.count, d.total()), (2, 300 + 400), "what users waited for, once");
        let slices = d.requests[0].slices;
        let of = |c| slices.get(c);
        assert_eq!(
            (of(Cause::Queue), of(Cause::Flush), of(Cause::Served)),
            (Some(10), Some(200), Some(90))
        );
    }

    #[test]
    fn a_cpu_that_had_to_wake_first_is_a_wait_if_its_exit_latency_is_known() {
        let disk = Disk { major: 8, minor: 0 };
        let mut l = Ledger::default();
        let e = |time, sector| Event {
            time,
            disk,
            operation: Operation::Read,
            sector,
            sectors: 8,
            flush: false,
        };
        for (at, cpu) in [(0, 1), (10_000, 2)] {
            l.issue(e(at, at as u64));
            l.complete(e(at + 500, at as u64), 0, cpu);
        }
        let list = l.finish();
        let woken = [Woken { completed: 500, cpu: 1, state: 2, slept: 400 }];
        let exits = [((1, 2), 120)].into_iter().collect();
        let watched = Watched { cpus: true, ..Watched::default() };
        let of = |exits, watched| -> Vec<_> {
            let all = summarise(&list, &[], watched, Cpus { woken: &woken, exits });
            all[0].requests.iter().map(|t| t.slices.get(Cause::Cpu)).collect()
        };
        assert_eq!(of(Some(&exits), watched), [Some(120), Some(0)]);
        assert_eq!(of(None, watched), [None, Some(0)], "not known is not zero");
        assert_eq!(of(Some(&exits), Watched::default()), [None, None]);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let mut x: Vec<i64> = (1..=200).rev().collect();
        let l = Latency::of(&mut x);
        assert_eq!((l.count, l.mean, l.p50, l.p99, l.max), (200, 100, 100, 198, 200));
        assert_eq!(Latency::of(&mut []), Latency::default());
    }
}
