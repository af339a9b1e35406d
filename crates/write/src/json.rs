//! `show --json`: everything, for programs. The schema is documented in
//! `docs/show-json.md`; a test holds the two together.
//!
//! Times are integer nanoseconds of the source's clock; what the source does
//! not say is `null`. Cycles are written one after another, so memory does not
//! grow with their number.

use crate::ranked;
use crate::wording::{self, bottleneck, trust};
use crate::{Explained, Selection};
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Callback, Cycle, Outcome};
use dormouse_model::device::DeviceId;
use dormouse_model::image::ImageStep;
use dormouse_model::loss::Losses;
use dormouse_model::names::Sym;
use dormouse_model::phase::Direction;
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::answer::{Half, Known, Other};
use dormouse_sleep::analyse::path::Segment;
use dormouse_sleep::analyse::rows::{What, gap_content};
use dormouse_sleep::analyse::spread::{self, DeviceKey, groups};
use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeStruct, Serializer};
use std::io;

/// The schema's name and version. A new field does not change it; a field that
/// goes or changes its meaning does.
pub const SCHEMA: &str = "dormouse-show/1";

/// Writes one JSON object and a line break.
///
/// # Errors
/// If `out` cannot be written.
pub fn show(all: &[Explained], selection: &Selection, out: &mut dyn io::Write) -> io::Result<()> {
    let document = Document { all, selection };
    serde_json::to_writer(&mut *out, &document).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

struct Document<'a> {
    all: &'a [Explained],
    selection: &'a Selection,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut d = s.serialize_struct("document", 5)?;
        d.serialize_field("schema", SCHEMA)?;
        d.serialize_field("cycles", &Cycles(self))?;
        d.serialize_field("groups", &group_list(self.all))?;
        d.serialize_field("ranked", &ranked::list(self.all))?;
        d.serialize_field("losses", &loss_list(self.all))?;
        d.end()
    }
}

struct Cycles<'a>(&'a Document<'a>);

impl Serialize for Cycles<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut seq = s.serialize_seq(None)?;
        for (number, e, i) in self.0.selection.cycles(self.0.all) {
            let cycle = cycle(&e.capture, &e.capture.cycles[i], &e.views[i], self.0.selection);
            seq.serialize_element(&CycleOut { number, ..cycle })?;
        }
        seq.end()
    }
}

#[derive(Serialize)]
struct CycleOut<'a> {
    number: usize,
    source: Option<&'a str>,
    host: Option<&'a str>,
    kernel: Option<&'a str>,
    mode: &'static str,
    outcome: &'static str,
    outcome_device: Option<&'a str>,
    outcome_errno: Option<i32>,
    first_after_boot: bool,
    start_ns: i64,
    end_ns: i64,
    suspend_ns: Option<i64>,
    resume_ns: Option<i64>,
    asleep_ns: Option<i64>,
    total_ns: i64,
    not_counted_ns: i64,
    callbacks: u32,
    verdict: Option<String>,
    clock_jump_ns: i64,
    answer: Vec<AnswerOut<'a>>,
    rows: Vec<RowOut>,
    phases: Vec<PhaseOut<'a>>,
    devices: Vec<DeviceOut<'a>>,
    stalls: Vec<StallOut<'a>>,
    image: Vec<ImageOut>,
    counts: CountsOut<'a>,
}

#[derive(Serialize)]
struct ImageOut {
    work: &'static str,
    start_ns: i64,
    duration_ns: i64,
    bytes: u64,
}

#[derive(Serialize)]
struct AnswerOut<'a> {
    direction: &'static str,
    total_ns: i64,
    known: &'static str,
    kind: &'static str,
    device: Option<&'a str>,
    phase: Option<&'static str>,
    time_ns: i64,
    gain_ns: Option<i64>,
    text: String,
}

#[derive(Serialize)]
struct RowOut {
    kind: &'static str,
    name: &'static str,
    direction: &'static str,
    start_ns: i64,
    end_ns: i64,
    counted_ns: i64,
    nested: bool,
    turns: Option<u32>,
}

#[derive(Serialize)]
struct PhaseOut<'a> {
    name: &'static str,
    direction: &'static str,
    event: &'static str,
    cpu: Option<u32>,
    start_ns: i64,
    duration_ns: i64,
    complete: bool,
    whole: bool,
    missing: u64,
    printed_ns: Option<i64>,
    callbacks: u32,
    workers_at_once: u32,
    critical_path: Vec<SegmentOut<'a>>,
}

#[derive(Serialize)]
struct SegmentOut<'a> {
    device: Option<&'a str>,
    driver: Option<&'a str>,
    thread: Option<&'a str>,
    start_ns: i64,
    end_ns: i64,
    reason: &'static str,
    proven: bool,
    waited_for: Option<&'a str>,
    through_silent: bool,
    after: Option<&'a str>,
}

#[derive(Serialize)]
struct DeviceOut<'a> {
    device: &'a str,
    driver: Option<&'a str>,
    parent: Option<&'a str>,
    meaning: Option<String>,
    #[serde(rename = "async")]
    is_async: Option<bool>,
    time_ns: i64,
    critical_ns: i64,
    gain_ns: i64,
    suspend: HalfOut,
    resume: HalfOut,
    hidden: Option<HiddenOut<'a>>,
}

#[derive(Serialize)]
struct HalfOut {
    time_ns: i64,
    critical_ns: i64,
    gain_ns: i64,
}

#[derive(Serialize)]
struct HiddenOut<'a> {
    phase: &'static str,
    direction: &'static str,
    time_ns: i64,
    behind: Option<&'a str>,
}

#[derive(Serialize)]
struct StallOut<'a> {
    place: &'static str,
    phase: Option<&'static str>,
    direction: &'static str,
    start_ns: i64,
    end_ns: i64,
    reason: Option<&'static str>,
    content: Option<&'static str>,
    before: Option<&'a str>,
    waited_for: Option<&'a str>,
}

#[derive(Serialize)]
struct CountsOut<'a> {
    workers: u32,
    workers_at_once: u32,
    waits: u32,
    failed: u32,
    contradictions: u32,
    skipped: Option<Vec<&'a str>>,
    resumed_to_suspend: Option<Vec<&'a str>>,
    threads: Vec<ThreadOut<'a>>,
    freeze_delays: Vec<&'a str>,
    workers_created: Option<u64>,
    workers_at_once_traced: Option<u64>,
    parked_at_once: Option<u64>,
    blocked_waits: Option<u64>,
    wakeups: Option<u64>,
    context_switches: Option<u64>,
    dirty_bytes: Option<u64>,
    writeback_bytes: Option<u64>,
}

#[derive(Serialize)]
struct ThreadOut<'a> {
    name: Option<&'a str>,
    pid: Option<i32>,
    main: bool,
    callbacks: u32,
    busy_ns: i64,
}

#[derive(Serialize)]
struct LossOut {
    kind: &'static str,
    count: u64,
    severity: &'static str,
    advice: String,
    first_at: Option<u64>,
}

#[derive(Serialize)]
struct GroupOut {
    kernel: Option<String>,
    mode: &'static str,
    cycles: Vec<usize>,
    first_after_boot: Vec<usize>,
    suspend: SpreadOut,
    resume: SpreadOut,
    phases: Vec<PhaseSpreadOut>,
    devices: Vec<DeviceSpreadOut>,
    outliers: Vec<OutlierOut>,
}

#[derive(Serialize)]
struct SpreadOut {
    count: u32,
    min_ns: i64,
    median_ns: i64,
    p95_ns: i64,
    max_ns: i64,
    mad_ns: i64,
}

#[derive(Serialize)]
struct PhaseSpreadOut {
    name: &'static str,
    direction: &'static str,
    #[serde(flatten)]
    time: SpreadOut,
}

#[derive(Serialize)]
struct KeyOut {
    device: String,
    driver: Option<String>,
    parent: Option<String>,
    nth: u32,
}

#[derive(Serialize)]
struct DeviceSpreadOut {
    #[serde(flatten)]
    key: KeyOut,
    led: u32,
    time: SpreadOut,
    critical_suspend: SpreadOut,
    critical_resume: SpreadOut,
    gain_suspend: SpreadOut,
    gain_resume: SpreadOut,
}

#[derive(Serialize)]
struct OutlierOut {
    cycle: usize,
    direction: &'static str,
    time_ns: i64,
    over_ns: i64,
    devices_missing: bool,
    phase: Option<&'static str>,
    phase_over_ns: Option<i64>,
    device: Option<KeyOut>,
    device_over_ns: Option<i64>,
}

/// `None` for an empty name.
fn text(capture: &Capture, s: Sym) -> Option<&str> {
    Some(capture.names.get(s)).filter(|t| !t.is_empty())
}

fn some(s: &str) -> Option<String> {
    (!s.is_empty()).then(|| s.to_string())
}

fn name(capture: &Capture, id: DeviceId) -> &str {
    capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.name))
}

fn driver(capture: &Capture, id: DeviceId) -> Option<&str> {
    capture.graph.devices.get(id.index()).and_then(|d| text(capture, d.driver))
}

/// Name of the parent, as the graph or the source has it.
pub(crate) fn parent(capture: &Capture, id: DeviceId) -> Option<&str> {
    let d = capture.graph.devices.get(id.index())?;
    let graph = d.parent.map(|p| name(capture, p));
    graph.filter(|n| !n.is_empty()).or_else(|| text(capture, d.parent_name))
}

/// Name of the thread of `cb`; `pid N` if the source has no name.
pub(crate) fn thread(capture: &Capture, cycle: &Cycle, cb: &Callback) -> (Option<String>, i32) {
    let Some(t) = cycle.threads.get(usize::from(cb.thread.0)) else { return (None, 0) };
    (text(capture, t.name).map(str::to_string), t.pid)
}

fn cycle<'a>(
    capture: &'a Capture,
    cycle: &'a Cycle,
    view: &'a CycleView,
    selection: &Selection,
) -> CycleOut<'a> {
    let (device, errno) = match cycle.outcome {
        Outcome::AbortedByDevice { device, errno } => (device, Some(errno)),
        Outcome::FreezeFailed { errno } => (None, Some(errno)),
        _ => (None, None),
    };
    CycleOut {
        number: 0,
        source: text(capture, cycle.source),
        host: text(capture, capture.machine.host),
        kernel: text(capture, cycle.kernel),
        mode: cycle.mode.name(),
        outcome: cycle.outcome.name(),
        outcome_device: device.map(|d| name(capture, d)),
        outcome_errno: errno.filter(|&e| e != 0),
        first_after_boot: cycle.first_after_boot,
        start_ns: cycle.start.0,
        end_ns: cycle.end.0,
        suspend_ns: view.rows.half(Direction::Suspend).map(|t| t.0),
        resume_ns: view.rows.half(Direction::Resume).map(|t| t.0),
        asleep_ns: trust::asleep(cycle, view).map(|t| t.0),
        total_ns: view.rows.total.0,
        not_counted_ns: view.rows.not_counted.0,
        callbacks: view.counts.callbacks,
        verdict: verdict(capture, cycle, view),
        clock_jump_ns: view.rows.clock_jump.0,
        answer: [view.answer.suspend, view.answer.resume]
            .into_iter()
            .flatten()
            .map(|h| answer(capture, cycle, view, &h))
            .collect(),
        rows: view.rows.list.iter().map(|r| row(cycle, r)).collect(),
        phases: cycle
            .phases
            .iter()
            .zip(&view.phases)
            .enumerate()
            .filter(|(_, (s, _))| {
                selection.phases.is_empty() || selection.phases.contains(&s.phase)
            })
            .map(|(i, (span, v))| (cycle.completeness(i), span, v))
            .map(|(known, span, v)| PhaseOut {
                name: span.phase.name(),
                direction: span.phase.direction().name(),
                event: span.event.name(),
                cpu: matches!(span.phase.name(), "cpu_off" | "cpu_on").then_some(span.cpu),
                start_ns: span.start.0,
                duration_ns: span.duration().0,
                complete: span.complete,
                whole: known.is_complete(),
                missing: known.unfinished + known.unstarted + known.lost,
                printed_ns: span.printed.map(|t| t.0),
                callbacks: v.completed,
                workers_at_once: v.workers_at_once,
                critical_path: v.path.iter().map(|s| segment(capture, cycle, s)).collect(),
            })
            .collect(),
        devices: devices(capture, view),
        stalls: stalls(capture, cycle, view),
        image: cycle.image.iter().map(image).collect(),
        counts: counts(capture, cycle, view),
    }
}

fn image(step: &ImageStep) -> ImageOut {
    ImageOut {
        work: step.work.name(),
        start_ns: step.start.0,
        duration_ns: step.end.since(step.start).0,
        bytes: step.bytes,
    }
}

/// The sentences of the half whose device saves most.
fn verdict(capture: &Capture, cycle: &Cycle, view: &CycleView) -> Option<String> {
    let (half, _) = view.answer.bottleneck()?;
    let open = bottleneck::Open { cycle, known: half.known };
    Some(bottleneck::half(capture, cycle.mode, view, half, open).join(" ").trim_end().into())
}

fn answer<'a>(capture: &'a Capture, cycle: &Cycle, view: &CycleView, half: &Half) -> AnswerOut<'a> {
    let open = bottleneck::Open { cycle, known: half.known };
    let text = bottleneck::half(capture, cycle.mode, view, half, open).join(" ");
    let best = half.bottleneck();
    let (kind, phase, time) = match (half.elsewhere(), best) {
        (Some((Other::Gap { .. }, t)), _) => ("gap", None, t),
        (Some((Other::Phase(p), t)), _) => ("phase", Some(p), t),
        (Some((Other::Unexplained(p), t)), _) => ("unexplained", Some(p), t),
        (None, Some(b)) => ("device", b.phase, b.on_path),
        (None, None) => ("none", None, Ns::ZERO),
    };
    AnswerOut {
        direction: half.direction.name(),
        total_ns: half.total.0,
        known: match half.known {
            Known::Whole => "whole",
            Known::AtLeast => "at_least",
            Known::Not { .. } => "unknown",
        },
        kind,
        device: best.map(|b| name(capture, b.device)),
        phase: phase.map(|p| p.name()),
        time_ns: time.0,
        gain_ns: best.map(|b| b.gain.0),
        text: text.trim_end().into(),
    }
}

fn row(cycle: &Cycle, r: &dormouse_sleep::analyse::rows::Row) -> RowOut {
    let (kind, name, turns) = match r.what {
        What::Phase(i) => ("phase", cycle.phases[i as usize].phase.name(), None),
        What::Gap { after, before } => ("gap", gap_content(cycle.mode, after, before), None),
        What::Asleep { turns } => ("asleep", "asleep", Some(turns)),
        What::Turn => ("turn", "pm_test waits", None),
        What::Rest => ("rest", "after the last phase of the log", None),
        What::ClockJump => ("clock_jump", "clock jump of the RTC", None),
        What::Image(work) => ("image", work.name(), None),
    };
    RowOut {
        kind,
        name,
        direction: r.direction.name(),
        start_ns: r.start.0,
        end_ns: r.end.0,
        counted_ns: r.counted.0,
        nested: r.nested,
        turns,
    }
}

fn segment<'a>(capture: &'a Capture, cycle: &'a Cycle, s: &Segment) -> SegmentOut<'a> {
    let thread = s.thread.and_then(|t| cycle.threads.get(usize::from(t.0)));
    SegmentOut {
        device: s.device.map(|d| name(capture, d)),
        driver: s.device.and_then(|d| driver(capture, d)),
        thread: thread.and_then(|t| text(capture, t.name)),
        start_ns: s.start.0,
        end_ns: s.end.0,
        reason: s.reason.name(),
        proven: s.proven,
        waited_for: s.waited_for.map(|d| name(capture, d)),
        through_silent: s.through_silent,
        after: s.after.map(|d| name(capture, d)),
    }
}

fn devices<'a>(capture: &'a Capture, view: &'a CycleView) -> Vec<DeviceOut<'a>> {
    let half = |d: &dormouse_sleep::analyse::rank::DeviceTime, way: Direction| HalfOut {
        time_ns: d.busy[way as usize].0,
        critical_ns: d.on_path[way as usize].0,
        gain_ns: d.gain[way as usize].0,
    };
    view.ranking
        .by_time
        .iter()
        .map(|&i| &view.ranking.devices[i as usize])
        .map(|d| DeviceOut {
            device: name(capture, d.device),
            driver: driver(capture, d.device),
            parent: parent(capture, d.device),
            meaning: wording::meaning(capture, d.device),
            is_async: capture.graph.devices.get(d.device.index()).and_then(|d| d.async_flag),
            time_ns: d.total_busy().0,
            critical_ns: d.total_on_path().0,
            gain_ns: d.total_gain().0,
            suspend: half(d, Direction::Suspend),
            resume: half(d, Direction::Resume),
            hidden: d.hidden.filter(|h| h.time > Ns::ZERO).map(|h| HiddenOut {
                phase: h.phase.name(),
                direction: h.phase.direction().name(),
                time_ns: h.time.0,
                behind: h.behind.map(|b| name(capture, b)),
            }),
        })
        .collect()
}

fn stalls<'a>(capture: &'a Capture, cycle: &Cycle, view: &CycleView) -> Vec<StallOut<'a>> {
    use dormouse_sleep::analyse::stall::Place;
    let stall = |s: &dormouse_sleep::analyse::stall::Stall| {
        let (place, phase, content, before) = match s.place {
            Place::Between { after, before } => {
                ("between_phases", None, Some(gap_content(cycle.mode, after, before)), None)
            }
            Place::OnPath { phase, next } => ("critical_path", Some(phase), None, next),
            Place::MainThread { phase, next, .. } => ("main_thread", Some(phase), None, Some(next)),
        };
        StallOut {
            place,
            phase: phase.map(|p| p.name()),
            direction: s.direction.name(),
            start_ns: s.start.0,
            end_ns: s.end.0,
            reason: s.reason.map(|r| r.name()),
            content,
            before: before.map(|d| name(capture, d)),
            waited_for: s.waited_for.map(|d| name(capture, d)),
        }
    };
    view.stalls.iter().map(stall).collect()
}

fn counts<'a>(capture: &'a Capture, cycle: &'a Cycle, view: &'a CycleView) -> CountsOut<'a> {
    let c = &view.counts;
    let names = |list: &Option<Vec<DeviceId>>| {
        list.as_ref().map(|l| l.iter().map(|&d| name(capture, d)).collect::<Vec<_>>())
    };
    CountsOut {
        workers: c.workers,
        workers_at_once: c.workers_at_once,
        waits: c.waits,
        failed: c.failed,
        contradictions: c.contradictions,
        skipped: names(&c.skipped),
        resumed_to_suspend: names(&c.resumed_to_suspend),
        threads: c
            .threads
            .iter()
            .map(|t| {
                let thread = &cycle.threads[usize::from(t.thread.0)];
                ThreadOut {
                    name: text(capture, thread.name),
                    pid: (thread.pid != 0).then_some(thread.pid),
                    main: t.main,
                    callbacks: t.callbacks,
                    busy_ns: t.busy.0,
                }
            })
            .collect(),
        freeze_delays: cycle.freeze_delays.iter().map(|&s| capture.names.get(s)).collect(),
        workers_created: cycle.counts.workers_created,
        workers_at_once_traced: cycle.counts.workers_at_once,
        parked_at_once: cycle.counts.parked_at_once,
        blocked_waits: cycle.counts.blocked_waits,
        wakeups: cycle.counts.wakeups,
        context_switches: cycle.counts.context_switches,
        dirty_bytes: cycle.counts.dirty_bytes,
        writeback_bytes: cycle.counts.writeback_bytes,
    }
}

fn loss_list(all: &[Explained]) -> Vec<LossOut> {
    let mut merged = Losses::default();
    for e in all {
        merged.merge(e.capture.losses.clone());
    }
    merged
        .list
        .into_iter()
        .map(|l| LossOut {
            kind: l.kind,
            count: l.count,
            severity: l.severity.name(),
            advice: l.advice.into_owned(),
            first_at: l.first_at,
        })
        .collect()
}

fn group_list(all: &[Explained]) -> Vec<GroupOut> {
    let pairs: Vec<(&Capture, &[CycleView])> =
        all.iter().map(|e| (&e.capture, e.views.as_slice())).collect();
    let mut first = vec![1usize];
    for e in all {
        first.push(first[first.len() - 1] + e.views.len());
    }
    let number = |c: &spread::CycleIndex| first[c.0 as usize] + c.1 as usize;
    let key = |k: &DeviceKey<'_>| KeyOut {
        device: k.name.to_string(),
        driver: some(k.driver),
        parent: some(k.parent),
        nth: k.nth,
    };
    groups(&pairs)
        .iter()
        .map(|g| GroupOut {
            kernel: some(g.kernel),
            mode: g.mode.name(),
            cycles: g.cycles.iter().map(number).collect(),
            first_after_boot: g.first.iter().map(number).collect(),
            suspend: spread_out(&g.suspend),
            resume: spread_out(&g.resume),
            phases: g
                .phases
                .iter()
                .map(|p| PhaseSpreadOut {
                    name: p.phase.name(),
                    direction: p.phase.direction().name(),
                    time: spread_out(&p.time),
                })
                .collect(),
            devices: g
                .devices
                .iter()
                .map(|d| DeviceSpreadOut {
                    key: key(&d.key),
                    led: d.led,
                    time: spread_out(&d.busy),
                    critical_suspend: spread_out(&d.on_path[0]),
                    critical_resume: spread_out(&d.on_path[1]),
                    gain_suspend: spread_out(&d.gain[0]),
                    gain_resume: spread_out(&d.gain[1]),
                })
                .collect(),
            outliers: g
                .outliers
                .iter()
                .map(|o| OutlierOut {
                    cycle: number(&o.cycle),
                    direction: o.direction.name(),
                    time_ns: o.time.0,
                    over_ns: o.over.0,
                    devices_missing: o.devices_missing,
                    phase: o.phase.map(|p| p.0.map_or("gaps", |p| p.name())),
                    phase_over_ns: o.phase.map(|p| p.1.0),
                    device: o.device.as_ref().map(|d| key(&d.0)),
                    device_over_ns: o.device.as_ref().map(|d| d.1.0),
                })
                .collect(),
        })
        .collect()
}

fn spread_out(s: &spread::Spread) -> SpreadOut {
    SpreadOut {
        count: s.count,
        min_ns: s.min.0,
        median_ns: s.median.0,
        p95_ns: s.p95.0,
        max_ns: s.max.0,
        mad_ns: s.mad.0,
    }
}
