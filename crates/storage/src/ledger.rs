//! Requests from the block layer's events.
//!
//! A request has no number in a trace: its events are joined by disk and first
//! sector. Only the driver's side must be recorded; what comes before it (bio,
//! admission, insertion) is taken where it is there.

use crate::request::{Disk, Operation, Request};
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

/// What an event of the block layer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns.
    pub time: i64,
    /// The disk.
    pub disk: Disk,
    /// What the request does.
    pub operation: Operation,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Sectors of 512 bytes.
    pub sectors: u32,
    /// It asks for a flush before or after its data.
    pub flush: bool,
}

/// Sector of a request that has none: -1 as the kernel prints it.
pub const NO_SECTOR: u64 = u64::MAX;

/// An error comes right behind its completion (`blk_update_request`, block/blk-mq.c,
/// 6.12): at most so much later, ns.
const BESIDE: i64 = 50_000;

/// Bios that were split and are remembered: of a trace that never ends them there are
/// as many as it has splits.
const MOST_WHOLES: usize = 4_096;

/// What carries data, what carries none (the request that asked for a flush),
/// flushes and commands of the driver, which have no sector: found apart from
/// each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    Data,
    Empty,
    Flush,
    Command,
}

/// Where requests are found again.
type Place = (Disk, Load, u64);

/// Requests that are open, by their place. Lists that ran empty are used again: a trace
/// has millions of requests, of which few are open at once.
#[derive(Clone, Debug, Default)]
struct Open {
    at: BTreeMap<Place, Vec<Request>>,
    spare: Vec<Vec<Request>>,
}

impl Open {
    /// The requests at a place, of which none may be there yet.
    fn list(&mut self, at: Place) -> &mut Vec<Request> {
        let spare = &mut self.spare;
        self.at.entry(at).or_insert_with(|| spare.pop().unwrap_or_default())
    }

    /// Takes the one that `which` finds in the list of a place.
    fn take(
        &mut self,
        at: Place,
        which: impl FnOnce(&[Request]) -> Option<usize>,
    ) -> Option<Request> {
        let Entry::Occupied(mut list) = self.at.entry(at) else { return None };
        let at = which(list.get())?;
        let r = list.get_mut().remove(at);
        if list.get().is_empty() {
            self.spare.push(list.remove());
        }
        Some(r)
    }
}

/// A bio that is no request yet.
fn waits(r: &Request) -> bool {
    r.admitted.is_none() && r.issues == 0
}

/// Whether `e` lies in the bio `w`.
fn part_of(e: &Event, w: &Request) -> bool {
    let Some(begin) = w.sector else { return false };
    let end = begin.saturating_add(u64::from(w.sectors));
    w.disk == e.disk && (begin..end).contains(&e.sector)
}

fn place(e: &Event) -> Place {
    match e.operation {
        Operation::Flush => (e.disk, Load::Flush, NO_SECTOR),
        Operation::Other if e.sectors == 0 => (e.disk, Load::Command, NO_SECTOR),
        _ if e.sectors == 0 => (e.disk, Load::Empty, e.sector),
        _ => (e.disk, Load::Data, e.sector),
    }
}

/// Joins events to requests.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    open: Open,
    /// Bios that came from a volume or a partition and were not admitted yet.
    moved: BTreeSet<Place>,
    /// Bios that were split, as they were asked for: a device that makes no requests
    /// ends the whole by itself (`bio_chain_endio`, block/bio.c, 6.12).
    wholes: Vec<Request>,
    /// Requests that the driver put back and that were not issued since.
    put_back: Vec<Place>,
    /// Whether requests are seen from their begin on.
    admits: bool,
    done: Vec<Request>,
    /// `block_rq_issue` events.
    pub issues: u64,
    /// `block_rq_complete` events.
    pub completions: u64,
    /// Completions of requests whose issue is not in the trace.
    pub unissued: u64,
}

impl Ledger {
    /// `block_bio_queue`.
    pub fn queue(&mut self, e: Event) {
        // Older kernels queue a bio of a volume again on the disk below: it began when
        // it was first asked for (`generic_make_request_checks`, block/blk-core.c, 4.4).
        if self.moved.remove(&place(&e)) {
            return;
        }
        let mut r = blank(&e);
        r.queued = Some(e.time);
        self.open.list(place(&e)).push(r);
    }

    /// `block_bio_backmerge` and `block_bio_frontmerge`: the bio at `e` is now
    /// part of a request that starts elsewhere.
    pub fn merge(&mut self, e: Event) {
        self.open.take(place(&e), |list| list.iter().position(waits));
        // The request that grew: one that ends where this begins, or begins
        // where this ends.
        let end = e.sector.saturating_add(u64::from(e.sectors));
        if let Some(r) = self.open.take((e.disk, Load::Data, end), |_| Some(0)) {
            let (sectors, merged) = (r.sectors.saturating_add(e.sectors), r.merged + 1);
            let r = Request { sector: Some(e.sector), sectors, merged, ..r };
            self.open.list((e.disk, Load::Data, e.sector)).push(r);
            return;
        }
        let before =
            self.open.at.range_mut((e.disk, Load::Data, 0)..(e.disk, Load::Data, e.sector)).rev();
        for (_, list) in before.take(8) {
            let grows = |r: &&mut Request| {
                r.sector.is_some_and(|s| s.checked_add(u64::from(r.sectors)) == Some(e.sector))
                    && r.issues == 0
            };
            if let Some(r) = list.iter_mut().find(grows) {
                r.sectors = r.sectors.saturating_add(e.sectors);
                r.merged += 1;
                return;
            }
        }
    }

    /// `block_bio_remap`: the bio at `from` of another disk, such as a partition or a
    /// volume, goes on at `e`. Only one that was not admitted there moves: it is no
    /// request of that disk.
    pub fn remap(&mut self, e: Event, disk: Disk, from: u64) {
        let there = place(&Event { disk, sector: from, ..e });
        let Some(r) = self.open.take(there, |list| list.iter().position(waits)) else { return };
        let moved = Request { queued: r.queued, ..blank(&e) };
        self.open.list(place(&e)).push(moved);
        self.moved.remove(&there);
        self.moved.insert(place(&e));
    }

    /// `block_split`: the bio at `e` ends at `at`, and another begins there.
    pub fn split(&mut self, e: Event, at: u64) {
        let Some(list) = self.open.at.get_mut(&(e.disk, Load::Data, e.sector)) else { return };
        let Some(r) = list.iter_mut().find(|r| waits(r)) else { return };
        let Some(first) = at.checked_sub(e.sector).and_then(|n| u32::try_from(n).ok()) else {
            return;
        };
        let rest = r.sectors.saturating_sub(first);
        if rest > 0 && self.wholes.len() < MOST_WHOLES {
            self.wholes.push(*r);
        }
        r.sectors = first;
        if rest > 0 {
            let r = Request { sector: Some(at), sectors: rest, ..*r };
            self.open.list((e.disk, Load::Data, at)).push(r);
        }
    }

    /// `block_getrq`.
    pub fn admit(&mut self, e: Event) {
        self.admits = true;
        self.moved.remove(&place(&e));
        // Its parts are requests of their own.
        if !self.wholes.is_empty() {
            self.wholes.retain(|w| !part_of(&e, w));
        }
        self.step(e, |r| &mut r.admitted);
    }

    /// `block_rq_insert`.
    pub fn insert(&mut self, e: Event) {
        let at = place(&e);
        // One that was put back goes through the scheduler again and stays the same
        // request (`blk_mq_requeue_work`, block/blk-mq.c, 6.12).
        if self.put_back.contains(&at) {
            return;
        }
        // Without that event: where requests are seen from their begin on, what was
        // issued and has no other begin was put back.
        if self.admits
            && let Some(list) = self.open.at.get(&at)
            && !list.iter().any(|r| r.issues == 0 && r.inserted.is_none())
            && list.iter().any(|r| r.issues > 0 && r.sectors == e.sectors)
        {
            return;
        }
        self.step(e, |r| &mut r.inserted);
    }

    /// `block_rq_requeue`: the driver put it back, and it will be issued again.
    pub fn requeue(&mut self, e: Event) {
        let at = place(&e);
        let known = self.open.at.get(&at).is_some_and(|l| l.iter().any(|r| r.issues > 0));
        if known && !self.put_back.contains(&at) {
            self.put_back.push(at);
        }
    }

    /// `block_rq_issue`.
    pub fn issue(&mut self, e: Event) {
        self.issues += 1;
        let at = place(&e);
        if !self.wholes.is_empty() {
            self.wholes.retain(|w| !part_of(&e, w));
        }
        let back = self.put_back.iter().position(|p| *p == at).map(|n| self.put_back.remove(n));
        let list = self.open.list(at);
        // One that the driver put back, else one that waits to be issued. What is issued
        // again at the same or an earlier time is of another recording, as in a mail
        // that quotes two.
        let again = |r: &Request| r.issues > 0 && r.sectors == e.sectors && r.taken < Some(e.time);
        let fresh = |r: &Request| r.issues == 0 && r.sectors == e.sectors;
        let at = back
            .and_then(|_| list.iter().position(again))
            .or_else(|| list.iter().position(fresh))
            .or_else(|| list.iter().position(|r| r.issues == 0))
            .or_else(|| list.iter().position(again));
        let at = at.unwrap_or_else(|| {
            list.push(blank(&e));
            list.len() - 1
        });
        let r = &mut list[at];
        r.issued.get_or_insert(e.time);
        r.taken = Some(e.time);
        r.issues += 1;
        r.sectors = e.sectors;
    }

    /// `block_rq_complete` with its error (a negative errno, or 0), on a CPU.
    pub fn complete(&mut self, e: Event, error: i32, cpu: u32) {
        self.completions += 1;
        let Some(mut r) = self.ended(&e) else {
            // A part of a bio that goes on, or what began before the trace.
            if self.part(&e) {
                return;
            }
            self.unissued += 1;
            self.done.push(Request { completed: Some(e.time), error, cpu, ..blank(&e) });
            return;
        };
        // A part of a bio: the whole ends with its own end, or with the last of its parts.
        if waits(&r)
            && let Some(w) = self
                .wholes
                .iter_mut()
                .find(|w| part_of(&e, w) && w.queued == r.queued && w.sectors != e.sectors)
        {
            w.ended = w.ended.saturating_add(e.sectors);
            (w.completed, w.cpu) = (w.completed.max(Some(e.time)), cpu);
            w.error = if error == 0 { w.error } else { error };
            return;
        }
        self.unissued += u64::from(r.issues == 0);
        (r.completed, r.error, r.cpu) = (Some(e.time), error, cpu);
        self.done.push(r);
    }

    /// `block_rq_error` (since 5.18): beside the completion, if that is recorded too.
    pub fn fail(&mut self, e: Event, error: i32, cpu: u32) {
        let same = |r: &&Request| {
            let place = r.disk == e.disk && r.sector.unwrap_or(NO_SECTOR) == e.sector;
            place && r.sectors == e.sectors && r.error != 0
        };
        let soon = |r: &&Request| r.completed.is_some_and(|t| e.time - t <= BESIDE);
        if !self.done.iter().rev().take(8).any(|r| same(&r) && soon(&r)) {
            self.complete(e, error, cpu);
        }
    }

    /// The open request that ends with `e`: of its own range alone.
    fn ended(&mut self, e: &Event) -> Option<Request> {
        let at = place(e);
        let data = at.1 == Load::Data;
        let best = |list: &[Request]| {
            let fits = |i: &usize| {
                let r = &list[*i];
                !data || r.sectors == e.sectors || r.issues == 0 && r.sectors < e.sectors
            };
            let key = |&i: &usize| {
                let r = &list[i];
                let taken = r.issues > 0 && r.taken <= Some(e.time);
                (taken, r.issues > 0, r.sectors == e.sectors, std::cmp::Reverse(i))
            };
            (0..list.len()).filter(fits).max_by_key(key)
        };
        if let Some(r) = self.open.take(at, best) {
            if r.issues > 1 {
                self.put_back.retain(|p| *p != at);
            }
            return Some(r);
        }
        if !data {
            return None;
        }
        // A bio that was split ends as a whole when all its parts have.
        let whole =
            |w: &Request| (w.disk, w.sector, w.sectors) == (e.disk, Some(e.sector), e.sectors);
        if let Some(n) = self.wholes.iter().position(whole) {
            let w = self.wholes.remove(n);
            self.drop_parts(&w);
            return Some(Request { ended: 0, ..w });
        }
        // Discards are merged into one request that says where its last range ends
        // (`blk_discard_mergable`, include/linux/blk-mq.h, 6.12).
        if e.operation == Operation::Discard {
            let end = e.sector.saturating_add(u64::from(e.sectors));
            let ends = |r: &Request| {
                let to = r.sector.map(|s| s.saturating_add(u64::from(r.sectors)));
                r.operation == Operation::Discard && r.issues > 0 && to == Some(end)
            };
            let all = (e.disk, Load::Data, 0)..=(e.disk, Load::Data, u64::MAX);
            let found = self.open.at.range(all).find(|(_, l)| l.iter().any(ends))?;
            let there = *found.0;
            return self.open.take(there, |list| list.iter().position(ends));
        }
        None
    }

    /// Whether `e` ends a part of something: of a request that goes on with the rest
    /// (`blk_update_request`, block/blk-mq.c, 6.12), or of a bio that was split.
    fn part(&mut self, e: &Event) -> bool {
        let at = place(e);
        if at.1 != Load::Data {
            return false;
        }
        let longer = |r: &Request| r.sectors > e.sectors;
        let Some(mut r) = self.open.take(at, |list| list.iter().position(longer)) else {
            return false;
        };
        if r.issues == 0 {
            self.open.list(at).push(r);
            return true;
        }
        // What is left is found where it begins; its own begin is kept beside it.
        r.sectors -= e.sectors;
        let begin = e.sector.saturating_add(u64::from(e.sectors));
        r.ended = r.ended.saturating_add(e.sectors);
        self.open.list((e.disk, at.1, begin)).push(r);
        true
    }

    /// Parts of a bio that ended as a whole and were no requests themselves.
    fn drop_parts(&mut self, whole: &Request) {
        let begin = whole.sector.unwrap_or(0);
        let end = begin.saturating_add(u64::from(whole.sectors));
        let range = (whole.disk, Load::Data, begin)..(whole.disk, Load::Data, end);
        let places: Vec<Place> = self.open.at.range(range).map(|(p, _)| *p).collect();
        let own = |r: &Request| waits(r) && r.queued == whole.queued;
        for p in places {
            while self.open.take(p, |list| list.iter().position(own)).is_some() {}
        }
        self.wholes.retain(|w| w.queued != whole.queued || w.disk != whole.disk);
    }

    /// Requests in the order of their completion, then those that are open.
    pub fn finish(mut self) -> Vec<Request> {
        // A bio whose parts are open is open once.
        for w in std::mem::take(&mut self.wholes) {
            let whole = w.ended >= w.sectors;
            let w = Request { ended: 0, completed: w.completed.filter(|_| whole), ..w };
            self.drop_parts(&w);
            match whole {
                true => self.done.push(w),
                false => self.open.list((w.disk, Load::Data, w.sector.unwrap_or(0))).push(w),
            }
        }
        let mut out = self.done;
        out.extend(self.open.at.into_values().flatten());
        // As it was issued.
        for r in out.iter_mut().filter(|r| r.ended > 0) {
            r.sectors = r.sectors.saturating_add(std::mem::take(&mut r.ended));
        }
        out
    }

    /// Notes a moment before the issue, for the first request that lacks it.
    fn step(&mut self, e: Event, moment: impl Fn(&mut Request) -> &mut Option<i64>) {
        let list = self.open.list(place(&e));
        let at = list.iter_mut().position(|r| r.issues == 0 && moment(r).is_none());
        let at = at.unwrap_or_else(|| {
            list.push(blank(&e));
            list.len() - 1
        });
        *moment(&mut list[at]) = Some(e.time);
    }
}

fn blank(e: &Event) -> Request {
    let nowhere = matches!(place(e).1, Load::Flush | Load::Command) || e.sector == NO_SECTOR;
    Request {
        disk: e.disk,
        operation: e.operation,
        sector: (!nowhere).then_some(e.sector),
        sectors: e.sectors,
        flush: e.flush,
        queued: None,
        admitted: None,
        inserted: None,
        issued: None,
        taken: None,
        issues: 0,
        completed: None,
        error: 0,
        merged: 0,
        ended: 0,
        cpu: u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: i64, operation: Operation, sector: u64, sectors: u32) -> Event {
        Event { time, disk: Disk { major: 8, minor: 0 }, operation, sector, sectors, flush: false }
    }

    #[test]
    fn a_request_that_the_driver_put_back_is_one_request() {
        let mut l = Ledger::default();
        for t in [10, 20, 30, 40] {
            l.issue(event(t, Operation::Read, 100, 8));
        }
        l.complete(event(50, Operation::Read, 100, 8), 0, 1);
        assert_eq!((l.issues, l.completions, l.unissued), (4, 1, 0));
        let all = l.finish();
        let [r] = &all[..] else { panic!("{all:?}") };
        assert_eq!((r.issued, r.taken, r.issues, r.latency()), (Some(10), Some(40), 4, Some(40)));
    }

    #[test]
    fn a_flush_is_found_again_though_its_sector_is_not() {
        let mut l = Ledger::default();
        l.queue(event(1, Operation::Write, 0, 0));
        l.admit(event(2, Operation::Write, 0, 0));
        l.issue(event(3, Operation::Flush, 0, 0));
        l.complete(event(4, Operation::Flush, NO_SECTOR, 0), 0, 1);
        l.complete(event(5, Operation::Write, 0, 0), -5, 1);
        assert_eq!(l.unissued, 1, "the request that asked for the flush is never issued itself");
        let all = l.finish();
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].operation, all[0].sector, all[0].latency()),
            (Operation::Flush, None, Some(1))
        );
        assert_eq!((all[1].error, all[1].latency()), (-5, Some(4)));
    }

    #[test]
    fn a_bio_of_a_volume_is_a_request_of_the_disk_below() {
        let mut l = Ledger::default();
        let volume = Disk { major: 253, minor: 0 };
        l.queue(Event { disk: volume, ..event(1, Operation::Read, 64, 8) });
        l.remap(event(2, Operation::Read, 1_064, 8), volume, 64);
        // Nobody asked for this one in the trace.
        l.remap(event(2, Operation::Read, 9_064, 8), volume, 8_000);
        l.queue(event(2, Operation::Read, 1_064, 8));
        l.admit(event(3, Operation::Read, 1_064, 8));
        l.issue(event(4, Operation::Read, 1_064, 8));
        l.complete(event(9, Operation::Read, 1_064, 8), 0, 0);
        let all = l.finish();
        let [r] = &all[..] else { panic!("{all:?}") };
        assert_eq!((r.disk.major, r.queued, r.latency()), (8, Some(1), Some(8)));
    }

    #[test]
    fn merged_and_split_bios() {
        let mut l = Ledger::default();
        l.queue(event(1, Operation::Write, 0, 8));
        l.admit(event(2, Operation::Write, 0, 8));
        l.queue(event(3, Operation::Write, 8, 8));
        l.merge(event(4, Operation::Write, 8, 8));
        l.issue(event(5, Operation::Write, 0, 16));
        l.complete(event(9, Operation::Write, 0, 16), 0, 0);
        l.queue(event(10, Operation::Write, 100, 32));
        l.split(event(11, Operation::Write, 100, 0), 116);
        for s in [100, 116] {
            l.admit(event(12, Operation::Write, s, 16));
            l.issue(event(13, Operation::Write, s, 16));
            l.complete(event(20, Operation::Write, s, 16), 0, 0);
        }
        assert_eq!(l.unissued, 0);
        let all = l.finish();
        let seen: Vec<_> = all.iter().map(|r| (r.queued, r.sectors, r.merged)).collect();
        assert_eq!(seen, [(Some(1), 16, 1), (Some(10), 16, 0), (Some(10), 16, 0)]);
    }
}
