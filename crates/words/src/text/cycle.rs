//! One cycle.

use super::page::{Ink, Page};
use super::safe::{left, right, safe};
use super::warned::sentences;
use super::{inside, path, silent, switches};
use crate::doctor::headline;
use crate::wording::number::ms;
use crate::wording::{
    self, bottleneck, device, losses, name, next, percent, plural, printing, trust,
};
use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::complete::{Edge, Lost, LostKind};
use dormouse_base::cycle::{Began, Cycle, Mode, Outcome, PhaseSpan};
use dormouse_base::image::ImageWork;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say::capital;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::answer::{Half, Known};
use dormouse_sleep::analyse::path::Reason;
use dormouse_sleep::analyse::printing::slow_console;
use dormouse_sleep::analyse::rows::{Row, What, hole_in_sleep};
use dormouse_sleep::analyse::stall::{Place, Stall};
use dormouse_sleep::analyse::{CycleView, per_mille};

/// Rows below this share of their half, in tenths of a percent, stand together.
const SHORT_ROW: u32 = 10;

/// Everything about one cycle: `number` of `of`, from 1.
pub(super) fn show(
    page: &mut Page,
    e: &Explained,
    i: usize,
    selection: &Selection,
    (number, of): (usize, usize),
) {
    let (capture, cycle, view) = (&*e.capture, &e.capture.cycles[i], &e.views[i]);
    answer(page, e, i);
    let at = match cycle.when {
        // Its place on the clock of the log helps nobody; a date does.
        Began::Stamped | Began::Unsaid => String::new(),
        Began::Words(_) => format!("{}, ", trust::began(capture, cycle)),
    };
    let cycle_of = if of > 1 { format!("Cycle {number} of {of}, {at}") } else { String::new() };
    let host = match capture.names.get(capture.machine.host) {
        // What the kernel calls a machine without a name.
        "" | "(none)" => String::new(),
        h => format!("{}, ", safe(h)),
    };
    let facts = trust::facts(capture, cycle, view);
    let failed = trust::not_resumed([(capture, cycle)]);
    if let Some(text) = &failed {
        page.wrapped(Ink::Hot, 0, 2, &safe(text));
    }
    let list = sentences(&trust::warnings_of(capture, i), &[capture], Some(cycle));
    let wrong = e.findings_of(i).any(dormouse_doctor::is_wrong);
    let wrong = wrong || failed.is_some() || trust::failed(capture, cycle).is_some();
    let warnings = trust::count_of_warnings(list.len(), wrong);
    let facts = format!("{cycle_of}{host}{facts}. {warnings}");
    page.wrapped(Ink::Plain, 0, 0, &capital(&facts));
    if let Some(text) = trust::unit_of_log(&[capture]) {
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    table(page, cycle, view, selection);
    image(page, cycle);
    parts(page, cycle);
    path::show(page, capture, cycle, view, selection);
    ranking(page, capture, cycle, view, selection);
    inside::show(page, capture, cycle, selection);
    silent::waits(page, e.waits_of(i), selection.top);
    stalls(page, capture, cycle, view, selection);
    switches::show(page, capture, cycle, selection);
    counts(page, capture, cycle, view, selection);
    if cycle.callbacks.is_empty() {
        let named = e.answer_of(i).is_some() || !e.waits_of(i).is_empty();
        silent::advice(page, &[capture], named, [(cycle, view)]);
    }
}

/// Line 1 answers; line 2 says how far to trust it.
fn answer(page: &mut Page, e: &Explained, i: usize) {
    let (capture, view, waits) = (&*e.capture, &e.views[i], e.waits_of(i));
    let cycle = &capture.cycles[i];
    let mut caution = trust::caution_of(capture, i);
    let doubt = e.doubt_of(i);
    let failed = trust::failed(capture, cycle);
    let said = doubt.filter(|_| failed.is_some());
    // Of a machine that did not come back nobody asks first how long its devices took.
    if let Some(f) = e.no_return_of(i).filter(|_| failed.is_none()) {
        page.wrapped(Ink::Strong, 0, 2, &safe(&headline(f)));
    }
    if let Some(text) = failed {
        // The first line carries what the findings doubt.
        let text = match doubt {
            Some(f) if f.over => headline(f),
            Some(_) => trust::suspected(&text),
            None => text,
        };
        page.wrapped(Ink::Strong, 0, 2, &safe(&text));
        if let Some(f) = doubt.filter(|f| !f.over) {
            page.wrapped(Ink::Strong, 0, 2, &safe(&headline(f)));
        }
    }
    if cycle.callbacks.is_empty() {
        let answer = e.answer_of(i).filter(|a| said.is_none_or(|d| d.id != a.id));
        silent::show(page, &[capture], answer, waits, [(cycle, view)]);
    }
    let crash = e.crash_of(i);
    if let Some(f) = crash {
        page.wrapped(Ink::Strong, 0, 2, &safe(&headline(f)));
    }
    // What was open as the kernel crashed did not hang.
    let told = |h: &&Half| crash.is_none() || !matches!(h.known, Known::Not { .. });
    for h in view.answer.halves().filter(told) {
        let open = bottleneck::Open { cycle, known: h.known };
        let [first, rest] = bottleneck::half(capture, cycle.mode, view, h, open);
        page.wrapped(Ink::Strong, 0, 2, &safe(&first));
        page.wrapped(Ink::Plain, 2, 2, &safe(&rest));
        // What is said of a half is said to its end.
        if let Some(c) = caution.take() {
            page.wrapped(Ink::Hot, 0, 2, &safe(&c));
        }
    }
    if let Some(c) = caution {
        page.wrapped(Ink::Hot, 0, 2, &safe(&c));
    }
    if view.answer.halves().next().is_none() {
        let seen = match view.rows.total {
            Ns::ZERO => String::new(),
            t => format!("; {t} seen"),
        };
        let text = format!("No phase of this cycle can be timed{seen}.");
        page.wrapped(Ink::Strong, 0, 2, &text);
    }
}

const BAR: usize = 16;

fn table(page: &mut Page, cycle: &Cycle, view: &CycleView, selection: &Selection) {
    let rows = &view.rows;
    let halves = [Direction::Suspend, Direction::Resume];
    let seen = |d: &Direction| rows.half(*d).is_some();
    let counts = |r: &Row| !matches!(r.what, What::Phase(_) | What::Gap { .. } | What::Image(_));
    if !halves.iter().any(seen) && !rows.list.iter().any(counts) {
        return;
    }
    page.heading(&format!("{}{:>9}{:>9}  callbacks", left("Phase", 38), "ms", "share"));
    let mut after: Vec<&Row> = Vec::new();
    for direction in [Direction::Suspend, Direction::Resume] {
        let total = rows.counted(direction);
        let list: Vec<&Row> = rows.list.iter().filter(|r| r.direction == direction).collect();
        after.extend(list.iter().filter(|r| {
            matches!(r.what, What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump)
        }));
        if rows.half(direction).is_none() {
            continue;
        }
        // A total that rests on a missing end is no figure.
        let half = view.answer.halves().find(|h| h.direction == direction);
        let name = direction.name();
        let missing = match half.map(|h| h.known) {
            Some(Known::Not { .. }) => "an end is missing",
            Some(Known::WithoutDevices) => "its devices are missing",
            // Stamps of whole seconds, or a log that was written at once.
            _ if total == Ns::ZERO => "its lines have one stamp",
            _ => "",
        };
        if missing.is_empty() {
            let least = half.is_some_and(|h| h.known == Known::AtLeast);
            let name = match direction == Direction::Resume && cycle.is_back_to_write() {
                true => "back to write the image",
                false => name,
            };
            let label = format!("total {name}{}", if least { ", at least" } else { "" });
            line(page, &Line::of(&label, total, None), Some(total), Ink::Strong);
        } else {
            let text = format!("total {name} not known: {missing}");
            page.line(&[(Ink::Strong, &text)]);
        }
        let lines = lines(cycle, view, &list);
        // Who asks for a phase, or for more, gets their rows.
        let asked = |l: &Line| {
            let p = |p: &dormouse_base::phase::Phase| l.label.trim() == wording::phase(*p);
            selection.top > Selection::default().top || selection.phases.iter().any(p)
        };
        let short = |l: &&Line| per_mille(l.time, total) < SHORT_ROW && !asked(l);
        let whole = missing.is_empty().then_some(total);
        let folded = lines.iter().filter(short).count();
        let told = |l: &&Line| total > Ns::ZERO || l.time > Ns::ZERO;
        for l in lines.iter().filter(told).filter(|l| folded < 2 || !short(l)) {
            line(page, l, whole, Ink::Plain);
        }
        if folded > 1 {
            let time = lines.iter().filter(short).map(|l| l.time).sum();
            let n: u32 = lines.iter().filter(short).filter_map(|l| l.callbacks).sum();
            let label = format!("  {}", plural(folded, "short row"));
            line(page, &Line::of(&label, time, (n > 0).then_some(n)), whole, Ink::Plain);
        }
    }
    for r in after.iter().filter(|r| r.end.since(r.start).hundredths_of_ms() > 0) {
        let label = wording::row(r.what, cycle.mode, &cycle.phases);
        let time = match r.what {
            What::Asleep { .. } => view.rows.asleep(cycle),
            _ => Some(r.end.since(r.start)),
        };
        let text = match time {
            Some(t) => {
                let mut line = Line::of("", t, None);
                line.whole = t > Ns::ZERO && t.0 % 1_000_000 == 0;
                format!("{}{}    not counted", left(&label, 38), right(&line.cell(), 9))
            }
            None => {
                let why = if hole_in_sleep(cycle) {
                    "the log has a hole"
                } else if cycle.mode == Mode::Disk && !is_back(cycle) {
                    "the log ends before the machine is off"
                } else if cycle.mode == Mode::Disk {
                    "the image was copied, then the machine was off"
                } else {
                    "this clock stops during sleep"
                };
                format!("{}    not known: {why}", left(&label, 14))
            }
        };
        page.line(&[(Ink::Faint, &text)]);
    }
    let after = cycle.exit.map(|exit| exit.since(cycle.end)).filter(|t| *t >= Ns::from_ms(1));
    if let Some(t) = after.filter(|_| cycle.outcome == Outcome::Slept) {
        let thawed = cycle.phases.iter().any(|p| p.phase == Phase::Thaw);
        let from = if thawed { "after thaw" } else { "way up" };
        let label = left(&format!("{from}, until suspend exit"), 38);
        page.line(&[(Ink::Faint, &format!("{label}{}    not counted", right(&ms(t), 9)))]);
    }
    if let Some(t) = around_sleep(cycle) {
        let label = left("before and after sleep", 38);
        let text = format!("{label}{}    in no row: no line tells", right(&ms(t), 9));
        page.line(&[(Ink::Faint, &text)]);
    }
}

/// Whether the log of a hibernation goes on after its image was written.
fn is_back(cycle: &Cycle) -> bool {
    let read = cycle.image.iter().any(|s| s.work == ImageWork::Read);
    read || cycle.exit.is_some() || cycle.phases.iter().any(|p| p.phase == Phase::Thaw)
}

/// What passed by the clock of a kernel log between its last line before the sleep and
/// its first line after it: the end of suspend, the start of resume and the firmware. A
/// trace brackets the sleep closely, with the system core around it.
fn around_sleep(cycle: &Cycle) -> Option<Ns> {
    let core = |p: &PhaseSpan| matches!(p.phase, Phase::SyscoreSuspend | Phase::SyscoreResume);
    let slept = cycle.mode == Mode::Deep && cycle.began.is_none();
    let (down, up) = cycle.asleep.filter(|_| slept && !cycle.phases.iter().any(core))?;
    let known = cycle.asleep_elsewhere.is_some();
    Some(up.since(down)).filter(|t| known && *t >= Ns::from_us(100))
}

/// A row as it is printed.
struct Line {
    label: String,
    time: Ns,
    callbacks: Option<u32>,
    /// The source says it in whole milliseconds.
    whole: bool,
}

impl Line {
    fn of(label: &str, time: Ns, callbacks: Option<u32>) -> Line {
        Line { label: label.into(), time, callbacks, whole: false }
    }

    /// The time without digits that the source lacks.
    fn cell(&self) -> String {
        if self.whole && self.time == Ns::ZERO {
            "< 1   ".into()
        } else if self.whole {
            format!("{}   ", self.time.0 / 1_000_000)
        } else {
            ms(self.time)
        }
    }
}

/// A kernel log has the time of these in words only, to a thousandth of a second
/// (`Filesystems sync: 0.033 seconds`), and no line where they end. A trace has
/// microseconds, of which one in a thousand is a whole millisecond.
fn is_in_whole_ms(phase: Phase, time: Ns) -> bool {
    matches!(phase, Phase::Sync | Phase::FreezeUser | Phase::FreezeKernel)
        && time.0 % 1_000_000 == 0
}

fn lines(cycle: &Cycle, view: &CycleView, list: &[&Row]) -> Vec<Line> {
    let mut out = Vec::new();
    let mut k = 0;
    while k < list.len() {
        let r = list[k];
        k += 1;
        match r.what {
            What::Phase(i) => {
                let phase = cycle.phases[i as usize].phase;
                if matches!(phase, Phase::CpuOff | Phase::CpuOn) {
                    // Many cores would be many rows; what lies between them is
                    // counted with them.
                    let (n, time, next) = cpus(cycle, list, k - 1, phase);
                    k = next;
                    let which = if phase == Phase::CpuOff { "off" } else { "on" };
                    out.push(Line::of(&format!("  CPUs {which} ({n})"), time, None));
                    continue;
                }
                let callbacks = Some(view.phases[i as usize].completed).filter(|&n| n > 0);
                let inside = if r.nested { "inside: " } else { "" };
                let label = format!("  {inside}{}", wording::phase(phase));
                let whole = is_in_whole_ms(phase, r.counted);
                out.push(Line { label, time: r.counted, callbacks, whole });
            }
            What::Gap { .. } | What::Image(_) => {
                let label = format!("  {}", wording::row(r.what, cycle.mode, &cycle.phases));
                // The log has hundredths of a second of the image in words only.
                let image = matches!(r.what, What::Image(_));
                let whole = image && r.counted.0 % 1_000_000 == 0;
                out.push(Line { whole, ..Line::of(&label, r.counted, None) });
            }
            What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump => {}
        }
    }
    out
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

/// A row; without a total it has no share.
fn line(page: &mut Page, l: &Line, total: Option<Ns>, ink: Ink) {
    let share = total.map_or(0, |t| per_mille(l.time, t));
    let count = l.callbacks.map_or(String::new(), |c| c.to_string());
    let text = format!(
        "{}{}{}{}  ",
        left(&l.label, 38),
        right(&l.cell(), 9),
        right(&total.map_or("-".into(), |t| percent(l.time, t)), 9),
        right(&count, 6)
    );
    let filled = (share as usize * BAR + 500) / 1000;
    let bar = if ink == Ink::Strong { String::new() } else { "█".repeat(filled.min(BAR)) };
    let hot = if share >= 300 { Ink::Hot } else { Ink::Plain };
    page.line(&[(ink, &text), (hot, &bar)]);
}

/// What a hibernation did with its image.
fn image(page: &mut Page, cycle: &Cycle) {
    if cycle.image.is_empty() {
        return;
    }
    page.heading("Hibernation image                            ms");
    for step in &cycle.image {
        // The log has its hundredths of a second in words only.
        let took = step.end.since(step.start);
        let whole = took > Ns::ZERO && took.0 % 1_000_000 == 0;
        let took = Line { whole, ..Line::of("", took, None) }.cell();
        let kib = match step.bytes {
            0 => "-".into(),
            bytes => format!("{} KiB", bytes / 1_024),
        };
        page.line(&[
            (Ink::Plain, "  "),
            (Ink::Plain, &left(step.work.name(), 34)),
            (Ink::Plain, &right(&took, 11)),
            (Ink::Plain, &right(&kib, 20)),
        ]);
    }
}

/// Phases of which the source shows a part only.
fn parts(page: &mut Page, cycle: &Cycle) {
    let mut list = Vec::new();
    // What was lost nobody knows where is said once, not of every phase.
    let nowhere = |l: &&Lost| l.phase.is_none();
    let of = |kind: LostKind| {
        let list = cycle.lost.iter().filter(nowhere).filter(|l| l.kind == kind);
        list.map(|l| l.count).sum::<u64>()
    };
    let places = of(LostKind::Places);
    let torn = of(LostKind::Lines) + of(LostKind::Messages);
    let anywhere = places + torn;
    let mut inferred = Vec::new();
    for (i, p) in cycle.phases.iter().enumerate().filter(|(_, p)| p.phase.has_devices()) {
        let c = cycle.completeness(i);
        if !p.complete && c.begin != Edge::Missing && c.end != Edge::Missing {
            inferred.push(wording::phase(p.phase));
        }
        let mut why = Vec::new();
        if c.begin == Edge::Missing {
            why.push("start not shown".to_string());
        }
        if c.end == Edge::Missing {
            why.push("end not shown".to_string());
        }
        for (n, what) in [(c.unfinished, "without an end"), (c.unstarted, "without a start")] {
            if n > 0 {
                why.push(format!("{} {what}", plural(n as usize, "callback")));
            }
        }
        if c.holes > 0 {
            why.push("the log has a hole here".into());
        }
        if c.lost > c.holes + anywhere {
            let n = c.lost - c.holes - anywhere;
            let s = if n == 1 { "" } else { "s" };
            why.push(format!("{n} line{s} or message{s} lost"));
        }
        if !why.is_empty() {
            list.push(format!("{}: {}", wording::phase(p.phase), why.join(", ")));
        }
    }
    if !inferred.is_empty() {
        inferred.dedup();
        list.push(format!(
            "{}: from the first callback to the last; no line says when a phase starts or ends",
            wording::number::names(&inferred)
        ));
    }
    if places > 0 {
        let n = plural(places as usize, "place");
        list.push(format!("all of the cycle: lines were left out at {n}"));
    }
    if torn > 0 {
        let s = if torn == 1 { "" } else { "s" };
        list.push(format!("all of the cycle: {torn} line{s} or message{s} lost, phase not known"));
    }
    if !list.is_empty() {
        page.heading("Shown in part only");
        for text in list {
            page.paragraph(2, &text);
        }
    }
}

fn ranking(
    page: &mut Page,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    selection: &Selection,
) {
    let r = &view.ranking;
    let total = view.rows.total;
    // What rests on a missing end or a guessed clock saves nobody knows what.
    let guessed = losses::guessed(&capture.losses);
    let halves = [Direction::Suspend, Direction::Resume];
    let saves = halves.map(|d| {
        let half = view.answer.halves().find(|h| h.direction == d);
        !guessed && half.is_none_or(|h| h.known.is_figure())
    });
    let worth = |i: &u32| {
        let d = &r.devices[*i as usize];
        per_mille(d.total_busy().max(d.total_on_path()), total) >= 10
    };
    let mut list: Vec<u32> = (0..r.devices.len() as u32).filter(worth).collect();
    list.sort_by_key(|&i| {
        let d = &r.devices[i as usize];
        std::cmp::Reverse((d.total_gain(), d.total_on_path(), d.total_busy()))
    });
    list.truncate(selection.top);
    if list.is_empty() {
        return;
    }
    // A zero says less than nothing does.
    let cell = |t: Ns| if t.hundredths_of_ms() == 0 { "-".into() } else { ms(t) };
    page.heading(&format!("{}{:>27}{:>27}", left("Devices", 26), "suspend, ms", "resume, ms"));
    let columns: String = ["own", "path", "saving"].map(|n| right(n, 9)).concat();
    page.line(&[(Ink::Faint, &format!("{}{columns}{columns}", left("", 26)))]);
    for i in list {
        let d = &r.devices[i as usize];
        let label = format!("  {}", device(capture, d.device));
        let times: String = halves
            .map(|half| {
                let h = half as usize;
                let open = cycle
                    .callbacks
                    .iter()
                    .any(|c| c.device == d.device && c.phase.direction() == half && !c.complete);
                // Its time is an upper limit, and its saving unknown.
                if open {
                    return ["no end", "-", "-"].map(|t| right(t, 9)).concat();
                }
                let gain = if saves[h] { d.gain[h] } else { Ns::ZERO };
                let cells = [d.busy[h], d.on_path[h], gain].map(cell);
                cells.map(|t| right(&t, 9)).concat()
            })
            .concat();
        page.line(&[(Ink::Strong, &left(&label, 26)), (Ink::Plain, &times)]);
        if let Some(why) = hidden(capture, cycle, d) {
            page.wrapped(Ink::Faint, 4, 4, &safe(&why));
        }
    }
    page.wrapped(Ink::Faint, 2, 2, bottleneck::OWN_PATH_SAVING);
}

/// Why a device's own time is not its time on the path.
fn hidden(
    capture: &Capture,
    cycle: &Cycle,
    d: &dormouse_sleep::analyse::rank::DeviceTime,
) -> Option<String> {
    let off = d.total_busy().since(d.total_on_path());
    if !off.is_share_of(10, d.total_busy()) || off < Ns::from_us(100) {
        return None;
    }
    let h = d.hidden?;
    let mut open = cycle.callbacks.iter().filter(|c| c.device == d.device && !c.complete);
    // What has no end is hidden behind nothing that is known.
    if open.any(|c| c.phase == h.phase) {
        return None;
    }
    Some(match h.behind {
        Some(b) => {
            format!("{} in {} hidden behind {}", h.time, wording::phase(h.phase), name(capture, b))
        }
        None => format!("{} in {}: no wait for it is known", h.time, wording::phase(h.phase)),
    })
}

fn stalls(
    page: &mut Page,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    selection: &Selection,
) {
    // The main thread's wait and the gap on the path are often the same time.
    let same = |a: &Stall, b: &Stall| a.end == b.end && a.direction == b.direction;
    let says_less = |s: &&Stall| {
        s.waited_for.is_none()
            && view.stalls.iter().take_while(|o| !std::ptr::eq(*o, *s)).any(|o| same(o, s))
            || s.waited_for.is_none()
                && view.stalls.iter().any(|o| o.waited_for.is_some() && same(o, s))
    };
    let list: Vec<&Stall> = view.stalls.iter().filter(|s| !says_less(s)).collect();
    if list.is_empty() {
        return;
    }
    page.heading(&format!("{:>10}  Long waits", "ms"));
    let name = |d| name(capture, d);
    for s in list.into_iter().take(selection.top) {
        let silence = printing::silence(capture, cycle, view, s.direction);
        let text = match s.place {
            Place::Between { after, before } => wording::gap(cycle.mode, after, before),
            Place::OnPath { phase, next } => {
                let why = match s.reason {
                    Some(Reason::Unexplained) => silence,
                    Some(Reason::WorkerStart) => "a worker thread was starting",
                    Some(Reason::MainThread) => "the main thread went through the list",
                    Some(Reason::PhaseBegin) => "before the first callback",
                    _ => "after the last callback",
                };
                match next {
                    Some(d) => format!("{}, before {}: {why}", wording::phase(phase), name(d)),
                    None => format!("end of {}: {why}", wording::phase(phase)),
                }
            }
            Place::MainThread { phase, next, .. } => {
                let why = match s.waited_for.map(name) {
                    Some(w) => format!("the main thread waited for {w}"),
                    None => silence.into(),
                };
                format!("{}, before {}: {why}", wording::phase(phase), name(next))
            }
        };
        page.entry(&format!("{}  ", right(&ms(s.duration()), 10)), &safe(&text));
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
    page.heading("Threads and counts");
    let open = cycle.callbacks.iter().filter(|c| !c.complete).count();
    let begun = if open > 0 { format!(", {} without an end", open) } else { String::new() };
    let mut text = format!("{} complete{begun}", plural(c.callbacks as usize, "callback"));
    if let Some(main) = c.threads.iter().find(|t| t.main) {
        let rest: u32 = c.threads.iter().filter(|t| !t.main).map(|t| t.callbacks).sum();
        let main = wording::number::grouped(u64::from(main.callbacks));
        text.push_str(&format!(": {main} on the main thread"));
        if rest > 0 {
            let at_once = match c.workers_at_once {
                0 | 1 => String::new(),
                n => format!(" (at most {n} busy at once)"),
            };
            let workers = plural(c.workers as usize, "worker thread");
            let rest = wording::number::grouped(u64::from(rest));
            text.push_str(&format!(", {rest} on {workers}{at_once}"));
        }
    }
    page.paragraph(2, &(text + "."));
    let traced = &cycle.counts;
    if let (Some(waits), Some(parked)) = (traced.blocked_waits, traced.parked_at_once) {
        page.paragraph(
            2,
            &format!(
                "{} blocked, at most {} at once; {} created.",
                plural(waits as usize, "wait"),
                plural(parked as usize, "worker"),
                plural(traced.workers_created.unwrap_or(0) as usize, "worker"),
            ),
        );
    }
    if c.failed > 0 {
        let list = cycle.callbacks.iter().filter(|c| c.error != 0).take(selection.top);
        let list: Vec<String> = list
            .map(|c| {
                format!("{} {} in {}", device(capture, c.device), c.error, wording::phase(c.phase))
            })
            .collect();
        let n = plural(c.failed as usize, "callback");
        let rest = c.failed as usize - list.len();
        let rest = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        page.paragraph(2, &safe(&format!("{n} returned an error: {}{rest}.", list.join(", "))));
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
        let n = c.contradictions as usize;
        let verb = if n == 1 { "contradicts" } else { "contradict" };
        let text = format!("{} {verb} the times and took no part.", plural(n, "dependency"));
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

fn some(capture: &Capture, list: &[dormouse_base::device::DeviceId], top: usize) -> String {
    let mut text: Vec<String> =
        list.iter().take(top).map(|&d| name(capture, d).to_string()).collect();
    if list.len() > top {
        text.push(format!("and {} more", list.len() - top));
    }
    text.join(", ")
}

/// The next command: what the best device is worth.
pub(super) fn next_command(e: &Explained, i: usize, selection: &Selection) -> Option<String> {
    let view = &e.views[i];
    let cycle = &e.capture.cycles[i];
    // What a prediction would start from is a log of printing, or a part of one.
    let printed = view.answer.halves().any(|h| slow_console(cycle, view, h).is_some());
    let thinned = e.capture.losses.count("lines_left_out") > 0;
    if e.capture.losses.count("pm_trace") > 0 {
        return Some(next::run("echo 0 > /sys/power/pm_trace"));
    }
    if printed {
        // `loglevel` of the console: the messages stay in the buffer.
        return Some(next::run("dmesg -n 1"));
    }
    if cycle.callbacks.is_empty() || thinned {
        return Some(next::next("record --yes -o recording.tar.gz"));
    }
    let source = e.capture.names.get(cycle.source);
    let file = next::input(&selection.typed, source, [&*e.capture]);
    let named = view.answer.bottleneck().filter(|_| !losses::guessed(&e.capture.losses));
    Some(match named {
        Some((_, b)) => next::next(&format!(
            "predict {file} --without {}",
            next::word(name(&e.capture, b.device))
        )),
        None => next::next(&format!("report {file} -o report.html")),
    })
}
