//! Which wait costs most over all requests of a disk.

use crate::recording::Woken;
use crate::request::{Disk, Operation, Request};
use crate::wait::{CAUSES, Cause, Family, Slices, Span, Timeline, Watched, slices};
use serde::Serialize;
use std::collections::BTreeMap;

/// A disk that had no request for so long was idle, ns: five times the shortest
/// delay after which UFS gates its clock (10 ms, drivers/ufs/core/ufshcd.c).
pub const IDLE_GAP: i64 = 50_000_000;

/// Ends of the classes of [`DiskSummary::spread`], ns: a decade has two.
pub const CLASSES: [i64; 7] =
    [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 100_000_000, i64::MAX];

/// The class of a time.
fn class(time: i64) -> usize {
    CLASSES.iter().position(|end| time < *end).unwrap_or(CLASSES.len() - 1)
}

/// Percent of all latency that a wait must cost to be named before the drive.
const WORTH: i128 = 10;

/// One cause over the requests of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Latency {
    /// How many.
    pub requests: u64,
    /// Mean, rounded down.
    pub mean: i64,
    /// Middle.
    pub p50: i64,
    /// 99 of 100 are at most this.
    pub p99: i64,
    /// Longest.
    pub max: i64,
}

/// With fewer requests 99 of 100 are all of them, and `p99` is the longest.
const ENOUGH_FOR_P99: u64 = 100;

impl Latency {
    /// What 99 of 100 do not exceed, ns, where that is not the longest of them.
    pub fn tail(&self) -> Option<i64> {
        (self.requests >= ENOUGH_FOR_P99).then_some(self.p99)
    }

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
            requests: n as u64,
            mean: (sum / n as i128) as i64,
            p50: at(50),
            p99: at(99),
            max: sample[n - 1],
        }
    }
}

/// A request with its slices.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Taken {
    /// The request.
    #[serde(flatten)]
    pub request: Request,
    /// Its latency by cause.
    pub slices: Slices,
    /// Its latency, ns: the sum of its slices.
    #[serde(rename = "latency")]
    pub total: i64,
    /// It came after the disk had been idle for [`IDLE_GAP`]; `None` for the first of a
    /// trace that says nothing of the time before it.
    pub after_idle: Option<bool>,
}

/// What happened on one disk.
#[derive(Clone, Debug, Serialize)]
pub struct DiskSummary {
    /// Which.
    pub disk: Disk,
    /// Complete requests, taken apart, in order of completion.
    pub requests: Vec<Taken>,
    /// Flushes that the block layer made for requests which wait for them: their time
    /// is in those requests, and not counted again.
    pub flushes_beside: Latency,
    /// Requests without a completion.
    pub open: u64,
    /// Completions without anything before them.
    pub unbegun: u64,
    /// Requests that ended with an error, those among them of which the trace has the end
    /// alone.
    pub errors: u64,
    /// Requests that the driver put back at least once.
    pub refused: u64,
    /// By cause, those that cost most first; without those that cost nothing.
    #[serde(rename = "causes")]
    pub shares: Vec<Share>,
    /// Requests of which it is known whether they waited, in the order of [`CAUSES`].
    #[serde(skip)]
    pub known: [u64; CAUSES.len()],
    /// How many waited how long for each cause, by [`CLASSES`]; the whole latency last.
    #[serde(skip)]
    pub spread: [[u64; CLASSES.len()]; CAUSES.len() + 1],
    /// Of all complete requests.
    pub all: Latency,
    /// Of those after an idle gap.
    pub after_idle: Latency,
    /// Of those that waited for a resume or an ungated clock: the first ones after each
    /// sleep.
    pub after_sleep: Latency,
    /// Of those that are known not to have come after an idle gap.
    pub busy: Latency,
    /// By operation.
    pub operations: BTreeMap<Operation, Latency>,
    /// Bytes of complete requests.
    pub bytes: u64,
    /// From the first moment to the last, ns.
    #[serde(skip)]
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
        self.shares.iter().map(|s| s.total).fold(0, i64::saturating_add)
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

/// Sums up the requests of each disk; disks with most latency first. `begin` is when the
/// trace began: until the first request of a disk it had none.
pub fn summarise(
    requests: &[Request],
    spans: &[Span],
    watched: Watched,
    cpus: Cpus<'_>,
    begin: Option<i64>,
) -> Vec<DiskSummary> {
    // Disks are few, and neighbours mostly of one.
    let mut disks: Vec<(Disk, Vec<&Request>)> = Vec::new();
    let mut last = 0;
    for r in requests {
        if disks.get(last).is_none_or(|d| d.0 != r.disk) {
            last = disks.iter().position(|d| d.0 == r.disk).unwrap_or_else(|| {
                disks.push((r.disk, Vec::new()));
                disks.len() - 1
            });
        }
        disks[last].1.push(r);
    }
    disks.sort_by_key(|d| d.0);
    let mut lines: BTreeMap<Family, Timeline> = BTreeMap::new();
    let mut out: Vec<DiskSummary> = Vec::new();
    for (disk, list) in disks {
        let family = Family::of_disk(disk);
        if let Some(f) = family {
            lines.entry(f).or_insert_with(|| Timeline::of(spans, f));
        }
        out.push(one(disk, &list, family.and_then(|f| lines.get(&f)), watched, cpus, begin));
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
    trace: Option<i64>,
) -> DiskSummary {
    let mut begun: Vec<(i64, i64)> =
        list.iter().filter_map(|r| Some((r.begin()?, r.completed?))).collect();
    begun.sort_unstable();
    // Begins of requests before which no request was under way for long.
    let mut rested = Vec::new();
    let first = begun.first().map(|b| b.0);
    // What was recorded before the first request shows the rest before it.
    let mut busy_until: Option<i64> = trace.filter(|t| first.is_some_and(|f| *t < f));
    let unknown = if busy_until.is_some_and(|t| first.is_some_and(|f| f - t >= IDLE_GAP)) {
        None
    } else {
        first
    };
    for &(begin, end) in &begun {
        if busy_until.is_some_and(|t| begin.saturating_sub(t) >= IDLE_GAP) {
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
    let mut requests = Vec::with_capacity(list.len());
    let mut beside = Vec::new();
    let (mut open, mut unbegun, mut errors) = (0, 0, 0);
    let mut sums = Sums::default();
    for r in list {
        errors += u64::from(r.completed.is_some() && r.error != 0);
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
                let after_idle =
                    (unknown != Some(begin)).then(|| rested.binary_search(&begin).is_ok());
                let total = sums.add(r, &slices, after_idle);
                requests.push(Taken { request: **r, slices, total, after_idle });
            }
            (Some(_), None) => open += 1,
            _ => unbegun += 1,
        }
    }
    let first = begun.first().map_or(0, |b| b.0);
    let last = begun.iter().map(|b| b.1).max().unwrap_or(first);
    let [all, after_idle, busy, after_sleep, operations @ ..] = sums.latencies();
    let operations =
        OPERATIONS.into_iter().zip(operations).filter(|(_, l)| l.requests > 0).collect();
    let mut shares = sums.shares.to_vec();
    shares.retain(|s| s.total > 0);
    shares.sort_by_key(|s| (std::cmp::Reverse(s.total), s.cause));
    DiskSummary {
        disk,
        flushes_beside: Latency::of(&mut beside),
        open,
        unbegun,
        errors,
        refused: sums.refused,
        shares,
        known: sums.shares.map(|s| s.known),
        spread: sums.spread,
        all,
        after_idle,
        after_sleep,
        busy,
        operations,
        bytes: sums.bytes,
        span: last.saturating_sub(first),
        requests,
    }
}

/// Every operation, in the order of their numbers.
const OPERATIONS: [Operation; 5] =
    [Operation::Read, Operation::Write, Operation::Discard, Operation::Flush, Operation::Other];

/// Groups of requests whose latencies are told: all, after a rest, without one, after a
/// sleep, and each operation.
const GROUPS: usize = 4 + OPERATIONS.len();

/// What is summed up while requests are taken apart: a trace has millions of them, and
/// each pass over all costs as much as reading them.
struct Sums {
    shares: [Share; CAUSES.len()],
    spread: [[u64; CLASSES.len()]; CAUSES.len() + 1],
    /// Latency of each, and the groups that it is of, a bit each.
    totals: Vec<(i64, u16)>,
    bytes: u64,
    refused: u64,
}

impl Default for Sums {
    fn default() -> Sums {
        let none = |cause| Share { cause, requests: 0, known: 0, total: 0, longest: 0 };
        Sums {
            shares: CAUSES.map(none),
            spread: Default::default(),
            totals: Vec::new(),
            bytes: 0,
            refused: 0,
        }
    }
}

impl Sums {
    /// Adds a request, and says what it took.
    fn add(&mut self, r: &Request, slices: &Slices, after_idle: Option<bool>) -> i64 {
        let mut total = 0_i64;
        for (s, spread) in self.shares.iter_mut().zip(&mut self.spread) {
            let Some(time) = slices.get(s.cause) else { continue };
            s.known += 1;
            total = total.saturating_add(time);
            if time > 0 {
                s.requests += 1;
                s.total = s.total.saturating_add(time);
                s.longest = s.longest.max(time);
                spread[class(time)] += 1;
            }
        }
        if total > 0 {
            self.spread[CAUSES.len()][class(total)] += 1;
        }
        let bit = |n: usize, set: bool| u16::from(set) << n;
        let groups = bit(0, true)
            | bit(1, after_idle == Some(true))
            | bit(2, after_idle == Some(false))
            | bit(3, slices.woke())
            | bit(4 + r.operation as usize, true);
        self.totals.push((total, groups));
        self.bytes += u64::from(r.sectors) * 512;
        self.refused += u64::from(r.issues > 1);
        total
    }

    /// Latencies of each group: sorted once, and passed twice.
    fn latencies(&mut self) -> [Latency; GROUPS] {
        self.totals.sort_unstable();
        let mut out = [Latency::default(); GROUPS];
        let mut sums = [0_i128; GROUPS];
        let each = |groups: u16| (0..GROUPS).filter(move |n| groups >> n & 1 == 1);
        for &(total, groups) in &self.totals {
            for n in each(groups) {
                out[n].requests += 1;
                sums[n] += i128::from(total);
                out[n].max = total;
            }
        }
        let mut passed = [0_u64; GROUPS];
        let at = |count: u64, percent: u64| (count * percent).div_ceil(100).max(1);
        for &(total, groups) in &self.totals {
            for n in each(groups) {
                passed[n] += 1;
                if passed[n] == at(out[n].requests, 50) {
                    out[n].p50 = total;
                }
                if passed[n] == at(out[n].requests, 99) {
                    out[n].p99 = total;
                }
            }
        }
        for (l, sum) in out.iter_mut().zip(sums) {
            l.mean = i64::try_from(sum / i128::from(l.requests.max(1))).unwrap_or(i64::MAX);
        }
        out
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
        let all = summarise(&l.finish(), &[span], watched, Cpus::default(), None);
        let [d] = &all[..] else { panic!() };
        assert_eq!((d.after_idle.requests, d.after_idle.mean), (1, 1_000));
        assert_eq!((d.after_sleep.requests, d.after_sleep.max), (1, 1_000));
        assert_eq!((d.busy.requests, d.busy.max), (2, 100), "of the first nothing is known");
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
        let all = summarise(&l.finish(), &[], Watched::default(), Cpus::default(), None);
        let [d] = &all[..] else { panic!() };
        assert_eq!((d.flushes_beside.requests, d.flushes_beside.max), (1, 200));
        assert_eq!((d.all.requests, d.total()), (2, 300 + 400), "what users waited for, once");
        let slices = d.requests[0].slices;
        let of = |c| slices.get(c);
        assert_eq!(
            (of(Cause::Queue), of(Cause::Flush), of(Cause::Served)),
            (Some(10), Some(200), Some(90))
        );
    }

    #[test]
    fn the_first_request_came_after_a_rest_if_the_trace_shows_one() {
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
        for at in [100_000_000, 101_000_000, 190_000_000] {
            l.issue(e(at, at as u64));
            l.complete(e(at + 500, at as u64), 0, 0);
        }
        let list = l.finish();
        let of = |begin| {
            let all = summarise(&list, &[], Watched::default(), Cpus::default(), begin);
            (all[0].after_idle.requests, all[0].busy.requests)
        };
        assert_eq!(of(Some(20_000_000)), (2, 1));
        assert_eq!(of(Some(90_000_000)), (1, 1), "a trace that began just before says nothing");
        assert_eq!(of(None), (1, 1));
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
            let all = summarise(&list, &[], watched, Cpus { woken: &woken, exits }, None);
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
        assert_eq!((l.requests, l.mean, l.p50, l.p99, l.max), (200, 100, 100, 198, 200));
        assert_eq!(Latency::of(&mut []), Latency::default());
    }
}
