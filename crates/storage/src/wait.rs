//! What a disk was doing while requests waited, and the slices of a request.
//!
//! A slice that no event tells of is unknown, never zero. Those that are known
//! add up to the request's latency.

use crate::request::{Disk, Operation, Request};
use serde::{Serialize, Serializer};

/// Why a request was not being served, or that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Runtime resume of the disk or its host was asked for and a worker had not
    /// begun it.
    ResumeWorker,
    /// A grace period of RCU was under way in the suspend that had to end first: it
    /// closes the queue with one (`blk_pre_runtime_suspend`, block/blk-pm.c, 6.12).
    ResumeGrace,
    /// A suspend of it was in progress when its resume was asked for: it has to end
    /// first (`deferred_resume` in `rpm_resume`, drivers/base/power/runtime.c, 6.12).
    ResumeSuspend,
    /// Parents and suppliers of the disk or its host were being resumed.
    ResumeParents,
    /// The disk or its host was being resumed by its own driver.
    Resume,
    /// The work item that switches the UFS clocks on had not begun
    /// (`ufshcd_ungate_work`, drivers/ufs/core/ufshcd.c).
    UngateWorker,
    /// UFS clocks were being switched on.
    Ungate,
    /// The clock was being changed; new requests wait meanwhile
    /// (`ufshcd_devfreq_scale`).
    #[serde(rename = "clock_switch")]
    Switch,
    /// From `block_bio_queue` to `block_getrq`: no free request, or a queue that
    /// lets nobody in.
    Entry,
    /// From `block_getrq` to the first `block_rq_issue`: plugging, the scheduler.
    Queue,
    /// From the first to the last `block_rq_issue`: the driver put it back.
    Refused,
    /// From `block_getrq` to `block_rq_complete` of a request without data: it asked for a
    /// flush, is never issued itself and waits for that one (block/blk-flush.c, 6.12).
    Flush,
    /// From `block_bio_queue` or `block_getrq` to `block_rq_complete` of a request that nobody was
    /// seen to issue: md and dm pass their bios on and have no queue, or the events of an issue
    /// were not recorded.
    Unissued,
    /// The CPU that took the completion had to leave its idle state first: the exit
    /// latency of that state.
    Cpu,
    /// Served at a low clock, until the next look of devfreq raised it.
    Slow,
    /// From the last `block_rq_issue` to `block_rq_complete`.
    Served,
}

/// Every cause, in the order of a request's life.
pub const CAUSES: [Cause; 16] = [
    Cause::ResumeWorker,
    Cause::ResumeGrace,
    Cause::ResumeSuspend,
    Cause::ResumeParents,
    Cause::Resume,
    Cause::UngateWorker,
    Cause::Ungate,
    Cause::Switch,
    Cause::Entry,
    Cause::Queue,
    Cause::Refused,
    Cause::Flush,
    Cause::Unissued,
    Cause::Cpu,
    Cause::Slow,
    Cause::Served,
];

impl Cause {
    /// Its place in [`CAUSES`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the storage was asleep or changing its speed.
    pub fn is_sleep(self) -> bool {
        self <= Cause::Switch
    }

    /// Whether the drive itself was at work.
    pub fn is_service(self) -> bool {
        matches!(self, Cause::Flush | Cause::Served)
    }
}

/// Disks and hosts whose events belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// SCSI: UFS, SATA, USB.
    Scsi,
    /// MMC and SD cards.
    Mmc,
    /// NVMe.
    Nvme,
    /// The laboratory's own disk.
    Pdisk,
}

impl Family {
    /// By the major numbers of Documentation/admin-guide/devices.txt. NVMe disks
    /// have a dynamic number: 259, which others share.
    pub fn of_disk(disk: Disk) -> Option<Family> {
        match disk.address() {
            (true, _) => return Some(Family::Scsi),
            (_, true) => return Some(Family::Nvme),
            _ => {}
        }
        match disk.major {
            8 | 65..=71 | 128..=135 => Some(Family::Scsi),
            179 => Some(Family::Mmc),
            259 => Some(Family::Nvme),
            240..=254 => Some(Family::Pdisk),
            _ => None,
        }
    }

    /// By the name of a device in a trace.
    pub fn of_device(name: &str) -> Option<Family> {
        let has = |w: &str| name.contains(w);
        let scsi_address = || {
            name.split(':').count() == 4
                && name.split(':').all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
        };
        if has("pdisk") {
            Some(Family::Pdisk)
        } else if has("ufs")
            || has("sata")
            || has("ahci")
            || name.starts_with("ata")
            || numbered(name, "host")
            || numbered(name, "target")
            || scsi_address()
        {
            Some(Family::Scsi)
        } else if has("mmc") || has("sdhci") || has("sdhi") {
            Some(Family::Mmc)
        } else if has("nvme") {
            Some(Family::Nvme)
        } else {
            None
        }
    }
}

fn numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
}

/// Time in which the disks of a family could not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Whose.
    pub family: Family,
    /// From, ns.
    pub begin: i64,
    /// To, ns.
    pub end: i64,
    /// Why.
    pub cause: Cause,
}

/// Which kinds of events a recording has: what is not watched is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// `rpm_*`.
    pub runtime: bool,
    /// Grace periods of RCU.
    pub grace: bool,
    /// Gating of UFS clocks.
    pub gating: bool,
    /// The work item that switches them on.
    pub worker: bool,
    /// Changes of the clock.
    pub switching: bool,
    /// Looks of devfreq.
    pub looks: bool,
    /// Idle states of CPUs, and their exit latencies.
    pub cpus: bool,
}

/// Spans without overlap, in order of time, for one family.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
}

impl Timeline {
    /// Of the spans of `family`: where two overlap, the one that is nearer the
    /// beginning of [`CAUSES`] counts.
    pub fn of(spans: &[Span], family: Family) -> Timeline {
        let mut list: Vec<Span> =
            spans.iter().copied().filter(|s| s.family == family && s.end > s.begin).collect();
        list.sort_by_key(|s| (s.begin, s.cause, s.end));
        let mut edges: Vec<i64> = list.iter().flat_map(|s| [s.begin, s.end]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut out: Vec<Span> = Vec::new();
        let mut active: Vec<Span> = Vec::new();
        let mut next = 0;
        for pair in edges.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            active.retain(|s| s.end > a);
            while let Some(s) = list.get(next).filter(|s| s.begin <= a) {
                active.push(*s);
                next += 1;
            }
            let Some(s) = active.iter().min_by_key(|s| s.cause) else { continue };
            match out.last_mut() {
                Some(last) if last.end == a && last.cause == s.cause => last.end = b,
                _ => out.push(Span { begin: a, end: b, ..*s }),
            }
        }
        Timeline { spans: out }
    }

    /// Spans that overlap the time from `begin` to `end`, cut to it.
    fn within(&self, begin: i64, end: i64) -> impl Iterator<Item = Cut> {
        let first = self.spans.partition_point(|s| s.end <= begin);
        self.spans[first..].iter().take_while(move |s| s.begin < end).map(move |s| Cut {
            cause: s.cause,
            length: s.end.min(end) - s.begin.max(begin),
            whole_begin: s.begin,
        })
    }
}

/// The part of a span that lies in a stage.
struct Cut {
    cause: Cause,
    length: i64,
    whole_begin: i64,
}

/// The latency of a request by cause, and where no event tells, that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    // A trace has millions of requests: an `Option` of each would be twice as large.
    of: [i64; CAUSES.len()],
}

/// No event tells: no slice is that long, nor shorter than nothing.
const UNKNOWN: i64 = i64::MIN;

impl Default for Slices {
    fn default() -> Slices {
        Slices { of: [UNKNOWN; CAUSES.len()] }
    }
}

impl Serialize for Slices {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(CAUSES.map(|c| (c, self.get(c))))
    }
}

impl Slices {
    /// Time by `cause`, ns.
    pub fn get(&self, cause: Cause) -> Option<i64> {
        Some(self.of[cause.index()]).filter(|t| *t != UNKNOWN)
    }

    /// Sum of what is known, ns: the latency of the request.
    pub fn total(&self) -> i64 {
        self.of.iter().filter(|t| **t != UNKNOWN).fold(0, |n, t| n.saturating_add(*t))
    }

    /// So much more of `cause`, which is known then.
    fn add(&mut self, cause: Cause, time: i64) {
        let slot = &mut self.of[cause.index()];
        *slot = if *slot == UNKNOWN { time } else { slot.saturating_add(time) };
    }

    /// `time` of `from` is `to`'s instead, or as much of it as there is.
    pub fn shift(&mut self, from: Cause, to: Cause, time: i64) {
        let Some(own) = self.get(from) else { return };
        let time = time.min(own).max(0);
        self.of[from.index()] = own - time;
        self.add(to, time);
    }

    /// It is known that nothing was waited for by `cause`, unless something was.
    pub(crate) fn none_of(&mut self, cause: Cause) {
        self.add(cause, 0);
    }

    /// Whether it waited for a storage that was asleep.
    pub fn woke(&self) -> bool {
        CAUSES.iter().filter(|c| **c <= Cause::Ungate).any(|c| self.get(*c) > Some(0))
    }

    /// Time in which the storage slept or changed its speed, ns.
    pub fn asleep(&self) -> i64 {
        CAUSES
            .iter()
            .filter(|c| c.is_sleep())
            .filter_map(|c| self.get(*c))
            .fold(0, i64::saturating_add)
    }
}

/// Takes a completed request apart; `None` if it is not complete.
pub fn slices(r: &Request, timeline: Option<&Timeline>, watched: Watched) -> Option<Slices> {
    let end = r.completed?;
    let mut out = Slices::default();
    let known = [
        (Cause::ResumeWorker, watched.runtime),
        (Cause::ResumeSuspend, watched.runtime),
        (Cause::ResumeGrace, watched.grace),
        (Cause::ResumeParents, watched.runtime),
        (Cause::Resume, watched.runtime),
        (Cause::UngateWorker, watched.worker),
        (Cause::Ungate, watched.gating),
        (Cause::Switch, watched.switching),
        (Cause::Slow, watched.looks),
    ];
    for (cause, known) in known {
        if known {
            out.none_of(cause);
        }
    }
    let issued = r.issued.unwrap_or(end);
    // Where one moment is missing, the stage before it reaches to the next.
    let mut at = r.begin()?;
    let mut stage = |cause: Cause, to: i64, out: &mut Slices| {
        // Lines out of order may put the end before the begin.
        let to = to.min(end).max(at);
        let mut own = to.saturating_sub(at);
        for s in timeline.into_iter().flat_map(|t| t.within(at, to)) {
            // What the driver takes while clocks are being switched on finds
            // them on: the work item itself sends the requests that waited
            // (ufshcd_ungate_work), and goes on for a while.
            let slow = s.cause == Cause::Slow;
            if cause == Cause::Served && s.whole_begin < at && !slow {
                continue;
            }
            // At a low clock a request is served, and does not wait.
            if cause != Cause::Served && slow {
                continue;
            }
            out.add(s.cause, s.length);
            own -= s.length;
        }
        out.of[cause.index()] = own;
        at = to;
    };
    if let (Some(_), Some(admitted)) = (r.queued, r.admitted) {
        stage(Cause::Entry, admitted, &mut out);
    }
    let asks_for_a_flush = r.issues == 0 && r.sectors == 0 && r.operation == Operation::Write;
    if r.queued.or(r.admitted).or(r.inserted).is_some() {
        let cause = match r.issues {
            _ if asks_for_a_flush => Cause::Flush,
            0 => Cause::Unissued,
            _ => Cause::Queue,
        };
        stage(cause, issued, &mut out);
    }
    if r.issues > 0 {
        stage(Cause::Refused, r.taken.unwrap_or(issued), &mut out);
        stage(Cause::Served, end, &mut out);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(moments: [Option<i64>; 5], issues: u32) -> Request {
        let [queued, admitted, issued, taken, completed] = moments;
        Request {
            disk: Disk { major: 8, minor: 0 },
            operation: Operation::Read,
            sector: Some(0),
            sectors: 8,
            flush: false,
            queued,
            admitted,
            inserted: None,
            issued,
            taken,
            issues,
            completed,
            error: 0,
            merged: 0,
            ended: 0,
            cpu: 0,
        }
    }

    fn span(begin: i64, end: i64, cause: Cause) -> Span {
        Span { family: Family::Scsi, begin, end, cause }
    }

    #[test]
    fn a_wait_for_a_clock_is_cut_out_of_the_stage_that_it_lengthened() {
        let spans = [span(12, 20, Cause::UngateWorker), span(20, 60, Cause::Ungate)];
        let t = Timeline::of(&spans, Family::Scsi);
        let w = Watched { gating: true, ..Watched::default() };
        let r = request([None, None, Some(10), Some(55), Some(100)], 3);
        let s = slices(&r, Some(&t), w).unwrap();
        assert_eq!(s.get(Cause::UngateWorker), Some(8));
        assert_eq!(s.get(Cause::Ungate), Some(35));
        assert_eq!(s.get(Cause::Refused), Some(2));
        assert_eq!(s.get(Cause::Served), Some(45), "the work item's end is no wait");
        assert_eq!(
            (s.get(Cause::Entry), s.get(Cause::Queue), s.get(Cause::Resume)),
            (None, None, None)
        );
        assert_eq!((s.total(), s.asleep()), (90, 43));
    }

    #[test]
    fn a_request_without_data_waits_for_its_flush() {
        let asked = Request {
            operation: Operation::Write,
            sectors: 0,
            ..request([Some(0), Some(18), None, None, Some(261)], 0)
        };
        let s = slices(&asked, None, Watched::default()).unwrap();
        assert_eq!((s.get(Cause::Entry), s.get(Cause::Flush)), (Some(18), Some(243)));
        assert_eq!((s.get(Cause::Queue), s.get(Cause::Served)), (None, None));
        let data = Request { sectors: 8, ..asked };
        let s = slices(&data, None, Watched::default()).unwrap();
        assert_eq!((s.get(Cause::Unissued), s.get(Cause::Queue)), (Some(243), None));
    }

    #[test]
    fn of_two_reasons_at_once_the_deeper_one_counts() {
        let spans =
            [span(0, 50, Cause::Switch), span(10, 20, Cause::Resume), span(30, 70, Cause::Switch)];
        let t = Timeline::of(&spans, Family::Scsi);
        let seen: Vec<_> = t.spans.iter().map(|s| (s.begin, s.end, s.cause)).collect();
        assert_eq!(
            seen,
            [(0, 10, Cause::Switch), (10, 20, Cause::Resume), (20, 70, Cause::Switch)]
        );
    }

    #[test]
    fn names_of_devices() {
        for (name, want) in [
            ("1d84000.ufshc", Some(Family::Scsi)),
            ("0:0:0:49488", Some(Family::Scsi)),
            ("host0", Some(Family::Scsi)),
            ("ee140000.mmc", Some(Family::Mmc)),
            ("mmc0:0001", Some(Family::Mmc)),
            ("nvme0", Some(Family::Nvme)),
            ("hostess", None),
            ("usb1", None),
            ("1-0:1.0", None),
        ] {
            assert_eq!(Family::of_device(name), want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn slices_add_up(
            gaps in proptest::array::uniform5(0_i64..50),
            has in proptest::array::uniform2(any::<bool>()),
            issues in 0_u32..3,
            spans in proptest::collection::vec((0_i64..300, 1_i64..60, 0_usize..9), 0..12),
        ) {
            let mut t = 0;
            let mut at = gaps.map(|g| { t += g; Some(t) });
            for (moment, has) in at.iter_mut().zip(has) {
                if !has { *moment = None; }
            }
            if issues == 0 { at[2] = None; at[3] = None; }
            let spans: Vec<Span> =
                spans.into_iter().map(|(b, n, c)| span(b, b + n, if c < 8 { CAUSES[c] } else { Cause::Slow })).collect();
            let t = Timeline::of(&spans, Family::Scsi);
            let r = request(at, issues);
            if let Some(s) = slices(&r, Some(&t), Watched::default()) {
                if r.issues > 0 || r.begin().is_some() {
                    prop_assert_eq!(s.total(), r.latency().unwrap());
                }
                prop_assert!(CAUSES.iter().all(|c| s.get(*c) >= Some(0) || s.get(*c).is_none()));
            }
        }
    }
}
