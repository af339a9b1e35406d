//! What a phase waited for: its critical path.

use super::page::{Ink, Page, WIDTH};
use super::safe::{fit, right, safe};
use crate::Selection;
use crate::wording::number::ms;
use crate::wording::{self, device, percent, plural, printing};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::path::{Reason, Segment};
use dormouse_sleep::analyse::rows::What;
use dormouse_sleep::analyse::{CycleView, per_mille};

/// Phases whose path is worth printing: chosen, or at least 5 % of their half.
pub(super) fn show(
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
            let what = wording::phase(span.phase);
            page.heading(&format!("Critical path of {what}: {} ms", ms(time)));
            let silence = printing::silence(capture, cycle, view, r.direction);
            one(
                page,
                capture,
                (cycle, silence),
                &view.phases[i as usize].path,
                time,
                selection.top,
            );
        }
    }
}

/// The longest segments in order of time; what lies between them in one line.
fn one(
    page: &mut Page,
    capture: &Capture,
    of: (&Cycle, &str),
    path: &[Segment],
    time: Ns,
    top: usize,
) {
    let mut by: Vec<usize> = (0..path.len()).collect();
    by.sort_by_key(|&i| (std::cmp::Reverse(path[i].duration()), i));
    let worth = |i: &usize| {
        let s = &path[*i];
        let explained = s.is_gap() && s.reason != Reason::Unexplained;
        per_mille(s.duration(), time) >= if explained { 50 } else { 10 }
    };
    let mut keep: Vec<usize> = by.into_iter().take(top.max(1)).filter(worth).collect();
    keep.sort_unstable();
    let mut at = 0;
    for i in keep.into_iter().chain([path.len()]) {
        folded(page, &path[at..i], time);
        if let Some(s) = path.get(i) {
            segment(page, capture, of, s, time);
        }
        at = i + 1;
    }
}

fn folded(page: &mut Page, path: &[Segment], time: Ns) {
    let sum: Ns = path.iter().map(Segment::duration).sum();
    let callbacks = path.iter().filter(|s| !s.is_gap()).count();
    if sum.hundredths_of_ms() == 0 {
        return;
    }
    let between: Ns = path.iter().filter(|s| s.is_gap()).map(Segment::duration).sum();
    let what = match callbacks {
        0 => "gap".to_string(),
        n if per_mille(between, time) < 10 => plural(n, "shorter callback"),
        n => format!("{}, gaps of {between}", plural(n, "shorter callback")),
    };
    let text = format!("{}{}  {what}", right(&ms(sum), 10), right(&percent(sum, time), 9));
    page.line(&[(Ink::Faint, &text)]);
}

/// `silence` says what lies between callbacks that nothing explains.
fn segment(
    page: &mut Page,
    capture: &Capture,
    (cycle, silence): (&Cycle, &str),
    s: &Segment,
    time: Ns,
) {
    let share = percent(s.duration(), time);
    let front = format!("{}{}  ", right(&ms(s.duration()), 10), right(&share, 9));
    let room = WIDTH - front.len();
    let hot = if per_mille(s.duration(), time) >= 300 { Ink::Hot } else { Ink::Plain };
    let Some(d) = s.device.filter(|_| !s.is_gap()) else {
        let text = match s.reason {
            _ if !s.is_gap() => "unknown device".into(),
            Reason::Unexplained => silence.into(),
            _ => wording::reason(capture, s),
        };
        page.line(&[(hot, &front), (Ink::Plain, &fit(&text, room))]);
        return;
    };
    let open =
        s.callback.and_then(|c| cycle.callbacks.get(c as usize)).is_some_and(|c| !c.complete);
    let mut label = device(capture, d);
    if open {
        label.push_str(": no end in this log");
    }
    page.line(&[(hot, &front), (Ink::Strong, &fit(&label, room))]);
    let main = s.thread.and_then(|t| cycle.threads.get(usize::from(t.0))).map(|t| t.is_main);
    let place = match main.flatten() {
        Some(true) if s.reason != Reason::MainThread => ", on the main thread",
        _ => "",
    };
    let why = format!("{}{place}", wording::reason(capture, s));
    page.wrapped(Ink::Faint, front.len() + 2, front.len() + 2, &safe(&why));
}
