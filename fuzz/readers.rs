//! One function for every reader: feeds it bytes and checks what came out.
//! Both the fuzz targets and the replay of the corpora on stable Rust
//! (crates/read/tests/corpus.rs) run these.
#![allow(dead_code, reason = "every target uses one")]

use dormouse_base::capture::Capture;
use dormouse_base::loss::Losses;
use dormouse_read::event::{EventSink, Stamp, TraceEvent};
use dormouse_read::perfetto::PerfettoTrace;
use dormouse_read::tracedat::TraceDat;
use dormouse_read::track::Tracker;
use dormouse_read::{Limits, Options};
use dormouse_sleep::analyse::explain;
use std::path::Path;

/// Name and function of a reader.
pub(crate) type Reader = (&'static str, fn(&[u8]));

/// Every reader.
pub(crate) const ALL: [Reader; 14] = [
    ("container", container),
    ("ftrace", ftrace),
    ("pmgraph", pmgraph),
    ("klog", klog),
    ("tracedat", tracedat),
    ("perfetto", perfetto),
    ("capture_file", capture_file),
    ("udev", udev),
    ("board", board),
    ("any", any),
    ("idle", idle),
    ("storage", storage),
    ("domains", domains),
    ("dtb", dtb),
];

/// What the largest input may unpack to here: small, so that a bomb costs
/// little time.
const LIMITS: Limits = Limits { unpacked: 4 << 20, ratio: 200 };

/// gzip, xz, zstd.
pub(crate) fn container(data: &[u8]) {
    if let Ok(u) = dormouse_read::container::unpack(Path::new("fuzz"), data, &LIMITS)
        && let Some(bytes) = u.bytes
    {
        assert!(bytes.len() as u64 <= LIMITS.unpacked);
    }
}

fn track(read: impl FnOnce(&mut Tracker)) -> Capture {
    let mut tracker = Tracker::new();
    tracker.begin_source("fuzz");
    read(&mut tracker);
    tracker.end_source();
    tracker.finish()
}

/// Idle states: dumps, tables, turbostat, traces with idle events.
pub(crate) fn idle(data: &[u8]) {
    let r = dormouse_read::idle::read_bytes("fuzz", data);
    for s in &r.snapshots {
        assert!(!s.cpus.is_empty());
        let in_classes: usize = s.classes().iter().map(|c| c.cpus.len()).sum();
        assert_eq!(in_classes, s.cpus.len(), "every CPU is in one class");
        dormouse_idle::section::finding(&dormouse_idle::section::of_snapshot(s));
        dormouse_idle::contrast::Sums::of(s);
    }
    for t in &r.traces {
        dormouse_idle::section::finding(&dormouse_idle::section::of_trace(t));
        assert!(t.tally.together.all <= t.tally.together.span());
    }
    for run in &r.runs {
        assert!(!run.intervals.is_empty());
        let _ = dormouse_idle::turbostat::watts(run);
    }
    let mut losses = dormouse_base::loss::Losses::default();
    let cells = dormouse_read::idle::fio::cells("fuzz", data, &mut losses);
    assert!(cells.iter().all(|c| c.work <= c.read && c.wait(0) >= 0));
    dormouse_idle::reads::line(&cells.iter().map(|c| (c.block, c.read)).collect::<Vec<_>>());
    let (files, _) = dormouse_read::idle::files::of_text(&String::from_utf8_lossy(data));
    dormouse_idle::realtime::check(&files, None, 10_000);
    dormouse_idle::contrast::contrast(&dormouse_idle::contrast::pairs(&r.snapshots));
}

/// Device trees: blobs, and what kernels make of them.
pub(crate) fn dtb(data: &[u8]) {
    use dormouse_power::fw_devlink::machine::Status::Bound;
    use dormouse_power::fw_devlink::version::{Mode, Rules};
    use dormouse_power::fw_devlink::{Wish, verdict};
    use dormouse_read::dtb::{blob, drivers, fdt};
    let Ok(tree) = fdt::tree(data) else { return };
    let written = blob::Owned::of(&tree, 0).blob();
    let again = fdt::tree(&written).expect("what is written can be read");
    assert_eq!(blob::Owned::of(&again, 0), blob::Owned::of(&tree, 0));
    dormouse_read::dtb::image::early(data);
    for rules in Rules::ALL {
        for mode in Mode::ALL {
            let wish = Wish { mode, strict: mode == Mode::On, ..Wish::usual(rules) };
            let drivers = drivers::Described { modules: None, without: &[], early: &wish.early };
            let v = verdict::judge(&tree, &wish, &drivers);
            let m = &v.machine;
            for l in m.links.iter().filter(|l| l.alive) {
                assert!(l.consumer != l.supplier, "a device does not need itself");
                assert!(mode != Mode::Off && (mode != Mode::Permissive || l.sync_state_only));
            }
            for a in v.attempts {
                assert!(a >= m.devices.iter().filter(|d| d.status == Bound).count());
            }
        }
    }
    dormouse_read::dtb::read(data, 1, &Wish::usual(Rules::K7_3)).expect("it is a tree");
}

/// Storage: traces, blktrace, blkparse, fio, tables of drives and clocks, settings of
/// sysfs, disks that somebody described.
pub(crate) fn storage(data: &[u8]) {
    let r = dormouse_read::storage::read_bytes("fuzz", data);
    r.knobs.conflicts();
    let mut draft = dormouse_read::storage::described::Draft::default();
    if draft.read(&String::from_utf8_lossy(data)).is_ok()
        && let Ok(d) = draft.finish()
    {
        assert!(d.drive.start < d.drive.levels.len());
        d.drive.law.service(1 << 30, d.drive.levels[0], u64::MAX);
        if let Some(rests) = dormouse_storage::simulate::energy::rests(&d.drive, &d.powers) {
            dormouse_storage::simulate::energy::BreakEven::of(&rests);
        }
    }
    let exits = Some(&r.knobs.exits);
    for t in &r.traces {
        let cpus = dormouse_storage::summary::Cpus { woken: &t.woken, exits };
        for d in
            dormouse_storage::summary::summarise(&t.requests, &t.spans, t.watched, cpus, t.begin)
        {
            let shares: i64 = d.shares.iter().map(|s| s.total).sum();
            assert_eq!(shares, d.total(), "the causes add up");
            for x in &d.requests {
                assert_eq!(Some(x.slices.total()), x.request.latency(), "the slices add up");
            }
            d.worst();
        }
    }
    for d in &r.drives {
        assert!(!d.states.is_empty());
        d.doubts();
    }
    for t in &r.transitions {
        t.stuck();
    }
}

/// Power domains and probing: tables, small files, messages.
pub(crate) fn domains(data: &[u8]) {
    let text = dormouse_read::domains::read_bytes("fuzz", data);
    let report = dormouse_power::judge(&text.case);
    assert!(report.findings.iter().all(|f| !f.evidence.is_empty()), "no evidence, no finding");
    for (dump, held) in text.case.dumps.iter().zip(&report.held) {
        assert_eq!(dump.domains.len(), held.len());
        assert_eq!(dump.tree().len(), dump.domains.len(), "each domain stands once in the tree");
    }
}

/// Text of ftrace.
pub(crate) fn ftrace(data: &[u8]) {
    check(&track(|t| dormouse_read::ftrace::parse(data, t)));
}

/// pm-graph's header before a trace or a log, and its footer.
pub(crate) fn pmgraph(data: &[u8]) {
    check(&track(|t| {
        dormouse_read::pmgraph::header(data, t);
        for (at, line) in data.split(|&b| b == b'\n').enumerate() {
            let line = line.strip_prefix(b"# platform-").unwrap_or(line);
            dormouse_read::pmgraph::footer(line, at as u64 + 1, t);
        }
    }));
}

/// Kernel logs.
pub(crate) fn klog(data: &[u8]) {
    check(&track(|t| dormouse_read::klog::parse(data, t)));
}

/// Looks at every byte an event refers to, and hands it on.
struct Touch<'a> {
    tracker: &'a mut Tracker,
    sum: u64,
}

impl EventSink for Touch<'_> {
    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        let text = |b: &[u8]| b.iter().map(|&b| u64::from(b)).sum::<u64>();
        self.sum = self.sum.wrapping_add(text(stamp.comm)).wrapping_add(match event {
            TraceEvent::SuspendResume { action, .. } => text(action),
            TraceEvent::CallbackStart { driver, device, parent, ops, .. } => {
                text(driver) + text(device) + text(parent) + text(ops)
            }
            TraceEvent::CallbackEnd { driver, device, .. } => text(driver) + text(device),
            TraceEvent::Other { name, text: t } => text(name) + text(t),
            TraceEvent::Lost { .. } => 1,
        });
        self.tracker.event(stamp, event);
    }
}

/// trace-cmd's trace.dat.
pub(crate) fn tracedat(data: &[u8]) {
    check(&track(|tracker| {
        let mut losses = Losses::default();
        if let Ok(file) = TraceDat::open(data, &mut losses) {
            file.events(&mut Touch { tracker, sum: 0 }, &mut losses);
        }
    }));
}

/// Perfetto.
pub(crate) fn perfetto(data: &[u8]) {
    dormouse_read::perfetto::is_perfetto(data);
    check(&track(|tracker| {
        let mut losses = Losses::default();
        let trace = PerfettoTrace::open(data, &mut losses);
        trace.events(&mut Touch { tracker, sum: 0 }, &mut losses);
    }));
}

/// The capture file: a tar of texts.
pub(crate) fn capture_file(data: &[u8]) {
    if let Ok((file, losses)) = dormouse_capture::read(data) {
        check(&dormouse_read::capture_file::assemble("fuzz", &file, losses));
    }
}

/// `udevadm info --export-db`.
pub(crate) fn udev(data: &[u8]) {
    dormouse_read::udev::recognise(data);
    dormouse_read::udev::read(data, 1);
}

/// Board files: what is printed reads back as the same board.
pub(crate) fn board(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let Ok(board) = dormouse_board::parse(text) else { return };
    let printed = dormouse_board::print(&board, "");
    let again = dormouse_board::parse(&printed).expect("a printed board is readable");
    assert_eq!(dormouse_board::print(&again, ""), printed);
}

/// The whole way: containers, detection, reading, and the explanation.
pub(crate) fn any(data: &[u8]) {
    let options = Options { limits: LIMITS, ..Options::default() };
    let Ok(reading) = dormouse_read::read_bytes("fuzz", data, &options) else { return };
    for capture in &reading.captures {
        check(capture);
        explain(capture);
    }
}

/// What every capture must hold, whatever it was read from.
fn check(capture: &Capture) {
    let devices = capture.graph.devices.len();
    for cycle in &capture.cycles {
        assert!(cycle.end >= cycle.start, "a cycle ends before it begins");
        for c in &cycle.callbacks {
            assert!(c.device.index() < devices, "a callback of an unknown device");
            assert!(usize::from(c.thread.0) < cycle.threads.len(), "an unknown thread");
            assert!(c.end >= c.start, "a callback ends before it begins");
        }
        for p in &cycle.phases {
            assert!(p.end >= p.start, "a phase ends before it begins");
        }
        for e in &cycle.events {
            assert!(usize::from(e.thread.0) < cycle.threads.len(), "an unknown thread");
        }
    }
    for link in &capture.graph.links {
        assert!(link.consumer.index() < devices && link.supplier.index() < devices);
    }
}
