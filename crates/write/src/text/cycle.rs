//! One cycle.

use super::page::{Ink, Page, WIDTH};
use super::safe::{fit, fit_end, left, right, safe};
use crate::words::{self, device, name, percent, plural};
use crate::{Explained, Selection};
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Cycle, Mode, Outcome};
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;
use dormouse_sleep::analyse::path::{Reason, Segment};
use dormouse_sleep::analyse::rows::{Row, What};
use dormouse_sleep::analyse::stall::Place;
use dormouse_sleep::analyse::{CycleView, per_mille};

/// Everything about one cycle.
pub fn show(
    page: &mut Page,
    e: &Explained,
    i: usize,
    selection: &Selection,
    number: Option<usize>,
) {
    let (capture, cycle, view) = (&e.capture, &e.capture.cycles[i], &e.views[i]);
    head(page, capture, cycle, view, number);
    answer(page, capture, view);
    table(page, cycle, view);
    paths(page, capture, cycle, view, selection);
    ranking(page, capture, view, selection);
    stalls(page, capture, view, selection);
    counts(page, capture, cycle, view, selection);
}

fn head(
    page: &mut Page,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    number: Option<usize>,
) {
    let source = capture.names.get(cycle.source);
    let number = number.map_or(String::new(), |n| format!("cycle {n}: "));
    page.line(&[(Ink::Strong, &number), (Ink::Strong, &fit_end(source, WIDTH - number.len()))]);
    let host = match capture.names.get(capture.machine.host) {
        // What the kernel calls a machine without a name.
        "" | "(none)" => String::new(),
        h => format!("{}, ", safe(h)),
    };
    page.paragraph(0, &(host + &facts(capture, cycle)));
    let mut time = Vec::new();
    if let Some(t) = cycle.suspend_time() {
        time.push(format!("suspend {t}"));
    }
    if let Some(t) = cycle.resume_time() {
        time.push(format!("resume {t}"));
    }
    if time.is_empty() {
        time.push(format!("{} seen", view.rows.total));
    }
    if let Some(t) = cycle.asleep_elsewhere {
        time.push(format!("asleep {t}, not counted"));
    } else if view.rows.not_counted > Ns::ZERO {
        time.push(format!("asleep {}, not counted", view.rows.not_counted));
    }
    time.push(plural(view.counts.callbacks as usize, "callback"));
    page.paragraph(0, &time.join(", "));
}

/// Kernel, mode and outcome in one line.
pub fn facts(capture: &Capture, cycle: &Cycle) -> String {
    let kernel = match capture.names.get(cycle.kernel) {
        "" => "kernel unknown".to_string(),
        k => format!("kernel {}", safe(k)),
    };
    let first = if cycle.first_after_boot { ", first after boot" } else { "" };
    format!("{kernel}, {}, {}{first}", state(cycle.mode), outcome(capture, cycle))
}

/// The sleep state, where "unknown" alone would not say what.
pub fn state(mode: Mode) -> &'static str {
    if mode == Mode::Unknown { "sleep state unknown" } else { mode.name() }
}

/// How it ended, in words.
pub fn outcome(capture: &Capture, cycle: &Cycle) -> String {
    match cycle.outcome {
        Outcome::Slept => "slept".into(),
        Outcome::AbortedByDevice { device, errno } => {
            let by = device.map_or("a device", |d| name(capture, d));
            let errno = if errno == 0 { String::new() } else { format!(" (error {errno})") };
            format!("aborted by {}{errno}", safe(by))
        }
        Outcome::AbortedByWakeup => "aborted by a wakeup event".into(),
        Outcome::FreezeFailed { errno: 0 } => "tasks would not freeze".into(),
        Outcome::FreezeFailed { errno } => format!("tasks would not freeze (error {errno})"),
        Outcome::Partial => "only part of a cycle".into(),
    }
}

fn answer(page: &mut Page, capture: &Capture, view: &CycleView) {
    let halves = [view.answer.suspend, view.answer.resume];
    if halves.iter().all(Option::is_none) {
        return;
    }
    page.heading("What to attack first");
    halves_in_words(page, 2, capture, view);
}

/// The answer without its heading.
pub fn halves_in_words(page: &mut Page, indent: usize, capture: &Capture, view: &CycleView) {
    for half in [view.answer.suspend, view.answer.resume].iter().flatten() {
        page.paragraph(indent, &safe(&words::answer(capture, view, half)));
    }
}

/// The last lines of a long page: what to attack first.
pub fn verdict(page: &mut Page, e: &Explained, i: usize) {
    if let Some(text) = words::verdict(&e.capture, &e.views[i]) {
        page.blank();
        page.wrapped(Ink::Strong, 0, 2, &safe(&text));
    }
}

const BAR: usize = 20;

fn table(page: &mut Page, cycle: &Cycle, view: &CycleView) {
    let rows = &view.rows;
    if rows.list.is_empty() {
        return;
    }
    page.heading("Where the time went                        time    share  callbacks");
    for direction in [Direction::Suspend, Direction::Resume] {
        let total = rows.counted(direction);
        let any = rows.list.iter().any(|r| r.direction == direction);
        if !any {
            continue;
        }
        line(page, direction.name(), total, total, None, Ink::Strong);
        let mut small = (0usize, Ns::ZERO);
        let mut after: Vec<&Row> = Vec::new();
        let list: Vec<&Row> = rows.list.iter().filter(|r| r.direction == direction).collect();
        let mut k = 0;
        while k < list.len() {
            let r = list[k];
            k += 1;
            match r.what {
                What::Phase(i) => {
                    let phase = cycle.phases[i as usize].phase;
                    if matches!(phase, Phase::CpuOff | Phase::CpuOn) {
                        // Many cores would be many rows; what lies between
                        // them is counted with them.
                        let (n, time, next) = cpus(cycle, &list, k - 1, phase);
                        k = next;
                        let label = format!("  {} ({})", phase.name(), plural(n, "CPU"));
                        line(page, &label, time, total, None, Ink::Plain);
                        continue;
                    }
                    let count = Some(view.phases[i as usize].completed).filter(|&n| n > 0);
                    let inside = if r.nested { "    inside: " } else { "  " };
                    let label = format!("{inside}{}", phase.name());
                    line(page, &label, r.counted, total, count, Ink::Plain);
                }
                What::Gap { .. } if per_mille(r.counted, total) < 2 => {
                    small = (small.0 + 1, small.1 + r.counted);
                }
                What::Gap { .. } => {
                    let label = format!("  {}", words::row(r.what, &cycle.phases));
                    line(page, &label, r.counted, total, None, Ink::Plain);
                }
                What::Asleep { .. } | What::Turn => after.push(r),
            }
        }
        if small.0 > 0 {
            let label = format!("  {}", plural(small.0, "short gap"));
            line(page, &label, small.1, total, None, Ink::Plain);
        }
        for r in after {
            let label = words::row(r.what, &cycle.phases);
            let elsewhere = cycle.asleep_elsewhere.filter(|_| r.what != What::Turn);
            let time = elsewhere.unwrap_or(r.end.since(r.start)).to_string();
            let text = format!("{}{}   not counted", left(&label, 36), right(&time, 11));
            page.line(&[(Ink::Faint, &text)]);
        }
    }
}

/// A run of CPU rows and the gaps between them: how many CPUs, how long, and
/// the first row after.
fn cpus(cycle: &Cycle, list: &[&Row], from: usize, phase: Phase) -> (usize, Ns, usize) {
    let is_cpu =
        |r: &Row| matches!(r.what, What::Phase(i) if cycle.phases[i as usize].phase == phase);
    let mut last = from;
    for (k, r) in list.iter().enumerate().skip(from) {
        match r.what {
            _ if is_cpu(r) => last = k,
            What::Gap { .. } => {}
            _ => break,
        }
    }
    let run = &list[from..=last];
    let n = run.iter().filter(|r| is_cpu(r)).count();
    (n, run.iter().map(|r| r.counted).sum(), last + 1)
}

fn line(page: &mut Page, label: &str, time: Ns, total: Ns, callbacks: Option<u32>, ink: Ink) {
    let share = per_mille(time, total);
    let count = callbacks.map_or(String::new(), |c| c.to_string());
    let text = format!(
        "{}{}{}{}  ",
        left(label, 36),
        right(&time.to_string(), 11),
        right(&percent(time, total), 9),
        right(&count, 5)
    );
    let filled = (share as usize * (BAR - 3) + 500) / 1000;
    let bar = if ink == Ink::Strong { String::new() } else { "█".repeat(filled.min(BAR - 3)) };
    let hot = if share >= 300 { Ink::Hot } else { Ink::Plain };
    page.line(&[(ink, &text), (hot, &bar)]);
}

/// Phases whose path is worth printing: chosen, or at least 5 % of their half.
fn paths(
    page: &mut Page,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    selection: &Selection,
) {
    for r in &view.rows.list {
        let What::Phase(i) = r.what else { continue };
        let span = &cycle.phases[i as usize];
        let total = view.rows.counted(r.direction);
        let chosen = if selection.phases.is_empty() {
            span.phase.has_devices() && per_mille(r.counted, total) >= 50
        } else {
            selection.phases.contains(&span.phase)
        };
        if chosen && !view.phases[i as usize].callbacks.is_empty() {
            let time = span.duration();
            page.heading(&format!("Critical path of {} ({time})", words::phase(span.phase)));
            path(page, capture, cycle, &view.phases[i as usize].path, time, selection.top);
        }
    }
}

/// The longest segments in order of time; what lies between them in one line.
fn path(page: &mut Page, capture: &Capture, cycle: &Cycle, path: &[Segment], time: Ns, top: usize) {
    let mut by: Vec<usize> = (0..path.len()).collect();
    by.sort_by_key(|&i| (std::cmp::Reverse(path[i].duration()), i));
    // Below half a percent nobody looks.
    let worth = |i: &usize| {
        let s = &path[*i];
        let explained = s.is_gap() && s.reason != Reason::Unexplained;
        per_mille(s.duration(), time) >= if explained { 50 } else { 5 }
    };
    let mut keep: Vec<usize> = by.into_iter().take(top.max(1)).filter(worth).collect();
    keep.sort_unstable();
    let mut at = 0;
    for i in keep.into_iter().chain([path.len()]) {
        folded(page, &path[at..i], time);
        if let Some(s) = path.get(i) {
            segment(page, capture, cycle, s, time);
        }
        at = i + 1;
    }
}

fn folded(page: &mut Page, path: &[Segment], time: Ns) {
    let sum: Ns = path.iter().map(Segment::duration).sum();
    let callbacks = path.iter().filter(|s| !s.is_gap()).count();
    if per_mille(sum, time) < if callbacks == 0 { 5 } else { 1 } {
        return;
    }
    let what = match callbacks {
        0 => "between".to_string(),
        n => plural(n, "shorter callback"),
    };
    let text = format!("{}{}  {what}", right(&sum.to_string(), 11), right(&percent(sum, time), 9));
    page.line(&[(Ink::Faint, &text)]);
}

fn segment(page: &mut Page, capture: &Capture, cycle: &Cycle, s: &Segment, time: Ns) {
    let share = percent(s.duration(), time);
    let front = format!("{}{}  ", right(&s.duration().to_string(), 11), right(&share, 9));
    let room = WIDTH - front.len();
    let hot = if per_mille(s.duration(), time) >= 300 { Ink::Hot } else { Ink::Plain };
    let Some(d) = s.device.filter(|_| !s.is_gap()) else {
        let text = if s.is_gap() { words::reason(capture, s) } else { "unknown device".into() };
        page.line(&[(hot, &front), (Ink::Plain, &fit(&text, room))]);
        return;
    };
    page.line(&[(hot, &front), (Ink::Strong, &fit(&device(capture, d), room))]);
    let main = s.thread.and_then(|t| cycle.threads.get(usize::from(t.0))).map(|t| t.is_main);
    let place = match main.flatten() {
        Some(true) if s.reason != Reason::MainThread => ", on the main thread",
        _ => "",
    };
    let why = format!("{}{place}", words::reason(capture, s));
    page.wrapped(Ink::Faint, front.len() + 2, front.len() + 2, &safe(&why));
}

fn ranking(page: &mut Page, capture: &Capture, view: &CycleView, selection: &Selection) {
    let r = &view.ranking;
    // The longest of both orders, in order of the path.
    let mut list: Vec<u32> = Vec::new();
    let half = selection.top.div_ceil(2);
    for i in r.by_path.iter().take(half).chain(r.by_time.iter().take(selection.top)) {
        if !list.contains(i) && list.len() < selection.top {
            list.push(*i);
        }
    }
    // Below half a percent nobody looks; but somebody is always first.
    let total = view.rows.total;
    let worth = |i: u32| {
        let d = &r.devices[i as usize];
        per_mille(d.total_busy().max(d.total_on_path()), total) >= 5
    };
    if list.iter().any(|&i| worth(i)) {
        list.retain(|&i| worth(i));
    } else {
        list.truncate(1);
    }
    list.retain(|&i| r.devices[i as usize].total_busy() > Ns::ZERO);
    if list.is_empty() {
        return;
    }
    list.sort_by_key(|&i| {
        let d = &r.devices[i as usize];
        std::cmp::Reverse((d.total_on_path(), d.total_busy()))
    });
    page.heading("Devices                                 own time    on path  gain without it");
    for i in list {
        let d = &r.devices[i as usize];
        let label = device(capture, d.device);
        let times = format!(
            "{}{}{}",
            right(&d.total_busy().to_string(), 11),
            right(&d.total_on_path().to_string(), 11),
            right(&d.total_gain().to_string(), 17)
        );
        page.line(&[(Ink::Plain, "  "), (Ink::Strong, &left(&label, 35)), (Ink::Plain, &times)]);
        if let Some(why) = difference(capture, d) {
            page.wrapped(Ink::Faint, 4, 4, &safe(&why));
        }
    }
}

/// Why a device's own time is not its time on the path.
fn difference(capture: &Capture, d: &dormouse_sleep::analyse::rank::DeviceTime) -> Option<String> {
    let off = d.total_busy().since(d.total_on_path());
    if off.0 * 10 < d.total_busy().0 || off < Ns::from_us(100) {
        return None;
    }
    let h = d.hidden?;
    Some(match h.behind {
        Some(b) => format!(
            "{} of {} cost nothing: it ran beside {}, which took longer",
            h.time,
            words::phase(h.phase),
            name(capture, b)
        ),
        None => {
            format!("{} of {} cost nothing: nothing waited for it", h.time, words::phase(h.phase))
        }
    })
}

fn stalls(page: &mut Page, capture: &Capture, view: &CycleView, selection: &Selection) {
    if view.stalls.is_empty() {
        return;
    }
    page.heading("Long waits");
    let name = |d| name(capture, d);
    for s in view.stalls.iter().take(selection.top) {
        let waited = s.waited_for.map(name);
        let text = match s.place {
            Place::Between { after, before } => words::gap(after, before),
            Place::OnPath { phase, next } => {
                let why = match s.reason {
                    Some(Reason::Unexplained) => "nothing in this log explains it",
                    Some(Reason::WorkerStart) => "a worker thread was starting",
                    Some(Reason::MainThread) => "the main thread went through the list",
                    _ => "start or end of the phase",
                };
                match next {
                    Some(d) => format!("{} before {}: {why}", words::phase(phase), name(d)),
                    None => format!("end of {}: {why}", words::phase(phase)),
                }
            }
            Place::MainThread { phase, next, .. } => match waited {
                Some(w) => format!(
                    "{}: main thread waited for {w} before {}",
                    words::phase(phase),
                    name(next)
                ),
                None => format!(
                    "{}: main thread stood still before {}, not explained by this log",
                    words::phase(phase),
                    name(next)
                ),
            },
        };
        let front = right(&s.duration().to_string(), 11);
        page.entry(&format!("{front}  "), &safe(&text));
    }
}

fn counts(
    page: &mut Page,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    selection: &Selection,
) {
    let c = &view.counts;
    if c.callbacks == 0 && cycle.freeze_delays.is_empty() {
        return;
    }
    page.heading("Behind the times");
    if let Some(main) = c.threads.iter().find(|t| t.main) {
        let rest: u32 = c.threads.iter().filter(|t| !t.main).map(|t| t.callbacks).sum();
        let mut text = format!(
            "The main thread ran {} of {} callbacks",
            main.callbacks,
            main.callbacks + rest
        );
        if rest > 0 {
            text.push_str(&format!(
                "; {} ran {rest}, at most {} at the same moment",
                plural(c.workers as usize, "worker"),
                c.workers_at_once
            ));
        }
        page.paragraph(2, &(text + "."));
    }
    let traced = &cycle.counts;
    if let (Some(waits), Some(parked)) = (traced.blocked_waits, traced.parked_at_once) {
        page.paragraph(
            2,
            &format!(
                "{} blocked, at most {} at the same moment; {} created.",
                plural(waits as usize, "wait"),
                plural(parked as usize, "worker"),
                plural(traced.workers_created.unwrap_or(0) as usize, "worker"),
            ),
        );
    }
    if c.waits > 0 {
        page.paragraph(
            2,
            &format!(
                "{} started just after a device they depend on.",
                plural(c.waits as usize, "callback")
            ),
        );
    }
    if c.failed > 0 {
        page.paragraph(2, &format!("{} returned an error.", plural(c.failed as usize, "callback")));
    }
    if let Some(list) = c.skipped.as_deref().filter(|l| !l.is_empty()) {
        let text = format!(
            "{} left asleep (direct-complete), though suspended in other cycles: {}.",
            plural(list.len(), "device"),
            some(capture, list, selection.top)
        );
        page.paragraph(2, &safe(&text));
    }
    if let Some(list) = c.resumed_to_suspend.as_deref().filter(|l| !l.is_empty()) {
        let text = format!(
            "{} woken from runtime suspend only to be suspended: {}.",
            plural(list.len(), "device"),
            some(capture, list, selection.top)
        );
        page.paragraph(2, &safe(&text));
    }
    if c.contradictions > 0 {
        let text = format!(
            "{} of the log contradict its own times and were not used.",
            plural(c.contradictions as usize, "dependency").replace("ys", "ies")
        );
        page.paragraph(2, &text);
    }
    if let Some(b) = cycle.counts.dirty_bytes.filter(|&b| b > 0) {
        page.paragraph(2, &format!("{b} bytes were dirty before the sync."));
    }
    if !cycle.freeze_delays.is_empty() {
        let list: Vec<&str> =
            cycle.freeze_delays.iter().take(selection.top).map(|&s| capture.names.get(s)).collect();
        page.paragraph(2, &safe(&format!("Tasks that delayed freezing: {}.", list.join(", "))));
    }
}

fn some(capture: &Capture, list: &[dormouse_model::device::DeviceId], top: usize) -> String {
    let mut text: Vec<String> =
        list.iter().take(top).map(|&d| name(capture, d).to_string()).collect();
    if list.len() > top {
        text.push(format!("and {} more", list.len() - top));
    }
    text.join(", ")
}
