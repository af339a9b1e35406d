//! One cycle of `show --json`.

use super::emit::Emit;
use super::table::{Devices, text};
use crate::wording::bottleneck;
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_doctor::switch::{Cause, causes};
use dormouse_sleep::analyse::answer::{Half, Known, Other};
use dormouse_sleep::analyse::path::Segment;
use dormouse_sleep::analyse::rank::DeviceTime;
use dormouse_sleep::analyse::rows::{Row, What, gap_content};
use dormouse_sleep::analyse::stall::{Place, Stall};
use dormouse_sleep::analyse::{CycleView, PhaseView};

/// Columns of a segment of a critical path.
pub(crate) const SEGMENT: [&str; 7] =
    ["device", "thread", "duration_ns", "reason", "proven", "waited_for", "through_silent"];

/// Columns of what a device took.
pub(super) const DEVICE: [&str; 11] = [
    "device",
    "suspend_time_ns",
    "suspend_critical_ns",
    "suspend_gain_ns",
    "resume_time_ns",
    "resume_critical_ns",
    "resume_gain_ns",
    "hidden_phase",
    "hidden_direction",
    "hidden_time_ns",
    "hidden_behind",
];

/// Columns of a long wait.
pub(crate) const STALL: [&str; 9] = [
    "place",
    "phase",
    "direction",
    "start_ns",
    "end_ns",
    "reason",
    "content",
    "before",
    "waited_for",
];

/// The cycle at place `at` of a capture, with the number that users see.
pub(super) fn fields(
    w: &mut Emit<'_>,
    devices: &Devices<'_>,
    number: usize,
    at: usize,
    explained: &Explained,
    selection: &Selection,
) {
    let capture = &explained.capture;
    let (cycle, view) = (&capture.cycles[at], &explained.views[at]);
    let (device, errno) = match cycle.outcome {
        Outcome::AbortedByDevice { device, errno } => (device, Some(errno)),
        Outcome::FreezeFailed { errno } => (None, Some(errno)),
        _ => (None, None),
    };
    w.field("number", number);
    w.field("source", text(capture, cycle.source));
    w.field("host", text(capture, capture.host_of(cycle)));
    w.field("model", text(capture, capture.machine.model));
    w.field("kernel", text(capture, cycle.kernel));
    w.field("mode", cycle.mode.name());
    w.field("outcome", cycle.outcome.name());
    w.field("outcome_device", device.and_then(|d| devices.place(d)));
    w.field("outcome_errno", errno.filter(|&e| e != 0));
    w.field("first_after_boot", cycle.first_after_boot);
    w.field("wall_clock_ns", cycle.wall_clock().map(|t| t.0));
    match &cycle.wakers {
        Some(all) => w.values("wakers", all.iter().map(|&s| capture.names.get(s))),
        None => w.field("wakers", None::<&str>),
    }
    w.field("start_ns", cycle.start.0);
    w.field("end_ns", cycle.end.0);
    w.field("suspend_ns", view.rows.half(Direction::Suspend).map(|t| t.0));
    w.field("resume_ns", view.rows.half(Direction::Resume).map(|t| t.0));
    w.field("asleep_ns", view.rows.asleep(cycle).map(|t| t.0));
    w.field("clock_jump_ns", view.rows.clock_jump.0);
    w.field("total_ns", view.rows.total.0);
    w.field("not_counted_ns", view.rows.not_counted.0);
    w.field("callbacks", view.counts.callbacks);
    w.field("verdict", verdict(capture, cycle, view).as_ref());
    let halves = [view.answer.suspend, view.answer.resume].into_iter().flatten();
    w.objects("answer", halves, |w, half| answer(w, devices, cycle, view, &half));
    w.objects("rows", &view.rows.list, |w, r| row(w, cycle, r));
    let threads = threads(cycle, view);
    let spans = cycle.phases.iter().zip(&view.phases).enumerate();
    let chosen = spans.filter(|(_, (span, _))| {
        selection.phases.is_empty() || selection.phases.contains(&span.phase)
    });
    w.objects("phases", chosen, |w, (i, (_, phase))| {
        span(w, cycle, i, phase);
        w.rows("critical_path", &phase.path, |w, s| segment(w, devices, &threads, s));
    });
    let by_time = view.ranking.by_time.iter().map(|&i| &view.ranking.devices[i as usize]);
    w.rows("devices", by_time, |w, d| device_time(w, devices, d));
    w.rows("stalls", &view.stalls, |w, s| stall(w, devices, cycle, s));
    w.objects("domains", causes(capture, cycle), |w, c| switch(w, devices, &c));
    w.field("answered_by", explained.answer_of(at).map(|f| f.id));
    w.objects("waits", explained.waits_of(at), |w, wait| {
        w.field("device", &*wait.device.name);
        w.field("driver", Some(&*wait.device.driver).filter(|d| !d.is_empty()));
        w.field("direction", wait.direction.map(Direction::name));
        w.field("cause", wait.cause.name());
        w.field("time_ns", wait.time.0);
        w.field("counted", wait.counted);
        w.field("confidence", wait.confidence.name());
        w.field("line", wait.line);
        w.field("text", &*wait.text);
    });
    w.objects("inside", &dormouse_sleep::analyse::inside::callbacks(cycle), |w, c| {
        w.field("device", devices.place(c.device));
        w.field("phase", c.phase.name());
        w.field("time_ns", c.time.0);
        w.field("outside_ns", c.outside().0);
        w.field("long_ns", c.long().0);
        w.objects("functions", &c.functions, |w, i| {
            w.field("function", capture.names.get(i.function));
            w.field("own_ns", i.own.0);
            w.field("total_ns", i.total.0);
            w.field("calls", i.calls);
            w.field("missed_returns", i.missed);
            w.field("long_ns", i.long.0);
            w.field("share_per_mille", c.share(i.own));
        });
        w.objects("waits", &c.waits, |w, wait| {
            let name = |s| Some(capture.names.get(s)).filter(|n| !n.is_empty());
            w.field("function", capture.names.get(wait.function));
            w.field("caller", name(wait.caller));
            w.field("what", name(wait.what));
            w.field("calls", wait.calls);
            w.field("missed_returns", wait.missed);
            w.field("total_ns", wait.total.0);
            w.field("least_ns", wait.least.0);
            w.field("most_ns", wait.most.0);
            w.field("holder", name(wait.holder));
            w.field("holder_device", wait.holds_for.and_then(|d| devices.place(d)));
        });
    });
    w.objects("image", &cycle.image, |w, step| {
        w.field("work", step.work.name());
        w.field("start_ns", step.start.0);
        w.field("duration_ns", step.end.since(step.start).0);
        w.field("bytes", (step.bytes > 0).then_some(step.bytes));
    });
    w.key("counts");
    w.object(|w| counts(w, devices, cycle, view));
}

fn switch(w: &mut Emit<'_>, devices: &Devices<'_>, c: &Cause) {
    w.field("domain", c.domain.map(|d| devices.capture.names.get(d)));
    w.field("inferred", c.domain.is_none());
    w.field("on", c.on);
    w.field("phase", c.phase.name());
    w.field("start_ns", c.start.0);
    w.field("time_ns", c.time.0);
    w.field("device", c.device.and_then(|d| devices.place(d)));
    w.field("unused", c.unused);
    w.field("idle_after_ns", c.idle_after.map(|t| t.0));
    w.values("waited", c.waited.iter().filter_map(|d| devices.place(*d)));
}

/// The sentences of the half whose device saves most.
fn verdict(capture: &Capture, cycle: &Cycle, view: &CycleView) -> Option<String> {
    let (half, _) = view.answer.bottleneck()?;
    Some(sentences(capture, cycle, view, half))
}

fn sentences(capture: &Capture, cycle: &Cycle, view: &CycleView, half: &Half) -> String {
    let open = bottleneck::Open { cycle, known: half.known };
    let text = bottleneck::half(capture, cycle.mode, view, half, open).join(" ");
    text.trim_end().into()
}

fn answer(w: &mut Emit<'_>, devices: &Devices<'_>, cycle: &Cycle, view: &CycleView, half: &Half) {
    let best = half.bottleneck();
    let (kind, phase, time) = match (half.elsewhere(), best) {
        (Some((Other::Gap { .. }, t)), _) => ("gap", None, t),
        (Some((Other::Phase(p), t)), _) => ("phase", Some(p), t),
        (Some((Other::Image(_), t)), _) => ("image", None, t),
        (Some((Other::Unexplained(p), t)), _) => ("unexplained", Some(p), t),
        (None, Some(b)) => ("device", b.phase, b.on_path),
        (None, None) => ("none", None, Ns::ZERO),
    };
    let known = match half.known {
        Known::Whole => "whole",
        Known::AtLeast => "at_least",
        Known::WithoutDevices | Known::Not { .. } => "unknown",
    };
    w.field("direction", half.direction.name());
    w.field("total_ns", half.total.0);
    w.field("known", known);
    w.field("kind", kind);
    w.field("device", best.and_then(|b| devices.place(b.device)));
    w.field("phase", phase.map(|p| p.name()));
    w.field("time_ns", time.0);
    w.field("gain_ns", best.map(|b| b.gain.0));
    w.field("text", &sentences(devices.capture, cycle, view, half));
}

fn row(w: &mut Emit<'_>, cycle: &Cycle, r: &Row) {
    let (kind, name, turns) = match r.what {
        What::Phase(i) => ("phase", cycle.phases[i as usize].phase.name(), None),
        What::Gap { after, before } => ("gap", gap_content(cycle.mode, after, before), None),
        What::Asleep { turns } => ("asleep", "asleep", Some(turns)),
        What::Turn if matches!(cycle.mode, Mode::PmTest(_)) => ("turn", "pm_test waits", None),
        What::Turn => ("turn", "between the halves", None),
        What::Rest => ("rest", "after the last phase of the log", None),
        What::ClockJump => ("clock_jump", "clock jump of the RTC", None),
        What::Image(work) => ("image", work.name(), None),
    };
    w.field("kind", kind);
    w.field("name", name);
    w.field("direction", r.direction.name());
    w.field("start_ns", r.start.0);
    w.field("end_ns", r.end.0);
    w.field("counted_ns", r.counted.0);
    w.field("nested", r.nested);
    w.field("turns", turns);
}

fn span(w: &mut Emit<'_>, cycle: &Cycle, i: usize, view: &PhaseView) {
    let (span, known) = (&cycle.phases[i], cycle.completeness(i));
    let name = span.phase.name();
    w.field("name", name);
    w.field("direction", span.phase.direction().name());
    w.field("event", span.event.name());
    w.field("cpu", matches!(name, "cpu_off" | "cpu_on").then_some(span.cpu));
    w.field("start_ns", span.start.0);
    w.field("duration_ns", span.duration().0);
    w.field("complete", span.complete);
    w.field("whole", known.is_complete());
    w.field("missing", known.unfinished + known.unstarted + known.lost);
    w.field("printed_ns", span.printed.map(|t| t.0));
    w.field("callbacks", view.completed);
    w.field("workers_at_once", view.workers_at_once);
}

/// The place of each thread in `counts.threads`.
fn threads(cycle: &Cycle, view: &CycleView) -> Vec<Option<u32>> {
    let mut places = vec![None; cycle.threads.len()];
    for (place, load) in (0..).zip(&view.counts.threads) {
        places[usize::from(load.thread.0)] = Some(place);
    }
    places
}

fn segment(w: &mut Emit<'_>, devices: &Devices<'_>, threads: &[Option<u32>], s: &Segment) {
    w.value(s.device.and_then(|d| devices.place(d)));
    w.value(s.thread.and_then(|t| threads.get(usize::from(t.0)).copied().flatten()));
    w.value(s.duration().0);
    w.value(s.reason as u32);
    w.value(s.proven);
    w.value(s.waited_for.and_then(|d| devices.place(d)));
    w.value(s.through_silent);
}

fn device_time(w: &mut Emit<'_>, devices: &Devices<'_>, d: &DeviceTime) {
    w.value(devices.place(d.device));
    for way in [Direction::Suspend as usize, Direction::Resume as usize] {
        w.value(d.busy[way].0);
        w.value(d.on_path[way].0);
        w.value(d.gain[way].0);
    }
    let hidden = d.hidden.filter(|h| h.time > Ns::ZERO);
    w.value(hidden.map(|h| h.phase.name()));
    w.value(hidden.map(|h| h.phase.direction().name()));
    w.value(hidden.map(|h| h.time.0));
    w.value(hidden.and_then(|h| h.behind).and_then(|b| devices.place(b)));
}

fn stall(w: &mut Emit<'_>, devices: &Devices<'_>, cycle: &Cycle, s: &Stall) {
    let (place, phase, content, before) = match s.place {
        Place::Between { after, before } => {
            ("between_phases", None, Some(gap_content(cycle.mode, after, before)), None)
        }
        Place::OnPath { phase, next } => ("critical_path", Some(phase), None, next),
        Place::MainThread { phase, next, .. } => ("main_thread", Some(phase), None, Some(next)),
    };
    w.value(place);
    w.value(phase.map(|p| p.name()));
    w.value(s.direction.name());
    w.value(s.start.0);
    w.value(s.end.0);
    w.value(s.reason.map(|r| r as u32));
    w.value(content);
    w.value(before.and_then(|d| devices.place(d)));
    w.value(s.waited_for.and_then(|d| devices.place(d)));
}

fn counts(w: &mut Emit<'_>, devices: &Devices<'_>, cycle: &Cycle, view: &CycleView) {
    let (capture, c) = (devices.capture, &view.counts);
    w.field("workers", c.workers);
    w.field("workers_at_once", c.workers_at_once);
    w.field("waits", c.waits);
    w.field("failed", c.failed);
    w.field("contradictions", c.contradictions);
    places(w, "skipped", devices, c.skipped.as_deref());
    places(w, "resumed_to_suspend", devices, c.resumed_to_suspend.as_deref());
    w.objects("threads", &c.threads, |w, t| {
        let thread = &cycle.threads[usize::from(t.thread.0)];
        w.field("name", text(capture, thread.name));
        w.field("pid", (thread.pid != 0).then_some(thread.pid));
        w.field("main", t.main);
        w.field("callbacks", t.callbacks);
        w.field("busy_ns", t.busy.0);
    });
    w.values("freeze_delays", cycle.freeze_delays.iter().map(|&s| capture.names.get(s)));
    w.field("workers_created", cycle.counts.workers_created);
    w.field("workers_at_once_traced", cycle.counts.workers_at_once);
    w.field("parked_at_once", cycle.counts.parked_at_once);
    w.field("blocked_waits", cycle.counts.blocked_waits);
    w.field("wakeups", cycle.counts.wakeups);
    w.field("context_switches", cycle.counts.context_switches);
    w.field("dirty_bytes", cycle.counts.dirty_bytes);
    w.field("writeback_bytes", cycle.counts.writeback_bytes);
}

/// A list of devices, or `null` where the source does not show it.
fn places(w: &mut Emit<'_>, name: &str, devices: &Devices<'_>, list: Option<&[DeviceId]>) {
    match list {
        Some(list) => w.values(name, list.iter().map(|&d| devices.place(d))),
        None => w.field(name, None::<u32>),
    }
}
