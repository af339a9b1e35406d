//! What would shorten a half: the sentence that every screen begins with.

use super::device::{device, name};
use super::inside::wait;
use super::losses::guessed;
use super::number::{change, grouped, have, share};
use super::phase::{capitalised, gap, phase};
use super::printing::{dominates, part};
use super::reason::late_start;
use dormouse_base::capture::Capture;
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Complaint, Cycle, Mode, PhaseSpan};
use dormouse_base::lost::Lost;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say::moment;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::answer::{HELPS_MUCH, Half, Known, Other, Suspect};
use dormouse_sleep::analyse::inside::longest;
use dormouse_sleep::analyse::path::{Reason, Segment};
use dormouse_sleep::analyse::printing::slow_console;
use dormouse_sleep::analyse::rows::What;
use dormouse_sleep::analyse::{CycleView, per_mille};

/// A device that saves less than this share of its half, in tenths of a percent,
/// does not stand out beside many short callbacks that take longer together.
const STANDS_OUT: u32 = 200;

/// A phase of this share of its half, in tenths of a percent, is worth naming where no
/// device can be.
pub const MOST: u32 = 300;

/// What the columns of a table of devices mean. `predict --without` says more:
/// it also removes what depends on the device.
pub(crate) const OWN_PATH_SAVING: &str = "own: its callbacks; path: on the critical path; saving: if its callbacks took no time \
     (predict --without also removes what depends on it).";

/// What is said of the half in which a machine comes back to write its image.
const BACK_TO_WRITE: &str = "Back to write the image,";

/// The first sentence of a half, and what follows from it.
pub fn half(
    capture: &Capture,
    mode: Mode,
    view: &CycleView,
    h: &Half,
    cb: Open<'_>,
) -> [String; 2] {
    let side = match h.direction == Direction::Resume && cb.cycle.is_back_to_write() {
        true => BACK_TO_WRITE.to_string(),
        false => capitalised(h.direction).to_string(),
    };
    let low = h.direction.name();
    let total = match h.known {
        Known::Not { .. } => {
            return [format!("{side} time unknown: {}", cb.unknown(capture)), String::new()];
        }
        Known::WithoutDevices => {
            let first =
                format!("{side} time unknown: the log shows neither its devices nor the sleep.");
            return [first, String::new()];
        }
        Known::AtLeast => format!("at least {}", h.total),
        Known::Whole => h.total.to_string(),
    };
    let suspect = h.bottleneck();
    if guessed(&capture.losses) {
        let first = match suspect {
            Some(b) => format!(
                "{side} {total}: {} took longest, {}.",
                device(capture, b.device),
                b.on_path
            ),
            None if h.completed == 0 => {
                format!("{side} {total}: {}", without_callbacks(capture, view, h, cb.cycle))
            }
            None => format!("{side} {total}: no bottleneck can be named."),
        };
        return [first, String::new()];
    }
    if let Some(each) = slow_console(cb.cycle, view, h) {
        let first = format!("{side} {total}: most of it is the printing of this log.");
        return [first, dominates(each)];
    }
    let mut rest = Vec::new();
    let first = match (h.elsewhere(), suspect) {
        (Some((Other::Unexplained(_), _)), None) if h.completed == 0 && h.open.is_none() => {
            format!("{side} {total}: {}", without_callbacks(capture, view, h, cb.cycle))
        }
        (Some((o, t)), best) => {
            if let Some(b) = best {
                rest.push(format!(
                    "The device that matters most is {}: without it, {} less ({}).",
                    device(capture, b.device),
                    b.gain,
                    share(b.gain, h.total)
                ));
            }
            format!(
                "{side} {total}: {}",
                elsewhere(
                    o,
                    t,
                    h.total,
                    mode,
                    &silence(capture, cb.cycle, h.direction),
                    &cb.cycle.phases
                )
            )
        }
        (None, None) => {
            if let Some(b) = &h.busiest {
                rest.push(on_path(capture, h, b));
            }
            match h.open {
                Some((n, _)) => {
                    rest.extend(longest_open(capture, view, h, cb.cycle));
                    rest.extend(longest_ended(capture, view, h, cb.cycle));
                    format!(
                        "{side} {total}: no bottleneck can be named; {} no end in this log.",
                        have(n as usize, "callback")
                    )
                }
                None if h.completed == 0 => {
                    format!("{side} {total}: {}", without_callbacks(capture, view, h, cb.cycle))
                }
                None => format!("{side} {total}: no single device helps.{}", crowd(h)),
            }
        }
        (None, Some(b)) if per_mille(b.gain, h.total) < STANDS_OUT && h.crowd.1 > b.gain => {
            rest.push(format!(
                "The best is {}: without it, {} less ({}).",
                device(capture, b.device),
                b.gain,
                share(b.gain, h.total)
            ));
            format!("{side} {total}: no single device stands out.{}", crowd(h))
        }
        (None, Some(b)) if per_mille(b.gain, h.total) < HELPS_MUCH => {
            rest.push(format!(
                "The best is {}: without it, {} less ({}).",
                device(capture, b.device),
                b.gain,
                share(b.gain, h.total)
            ));
            if let Some(other) = h.busiest.filter(|o| per_mille(o.on_path, h.total) >= 300) {
                rest.push(on_path(capture, h, &other));
            }
            format!("{side} {total}: no single device helps much.{}", crowd(h))
        }
        (None, Some(b)) => {
            let next = match b.next {
                Some(n) => format!("; {} comes next", name(capture, n)),
                None => String::new(),
            };
            rest.extend(waited(capture, cb.cycle, h.direction, b));
            let left = h.total - b.gain;
            rest.push(match left.hundredths_of_ms() {
                // What is left of a part is no figure of the whole.
                _ if h.known == Known::AtLeast => {
                    format!("Without it, {low} would be {} shorter{next}.", b.gain)
                }
                0 => format!("Nothing else of {low} is in the log."),
                _ => format!(
                    "Without it, {low} would take {left} ({}){next}.",
                    change(h.total, left)
                ),
            });
            let segment = view.phases.get(b.segment.0 as usize);
            let segment = segment.and_then(|v| v.path.get(b.segment.1 as usize));
            if let Some(s) = segment
                && per_mille(b.delay, h.total) >= 100
                && !matches!(s.reason, Reason::PhaseBegin | Reason::Unexplained)
            {
                let of = cb.cycle.phases.get(b.segment.0 as usize);
                let of = of.map_or(low, |p| p.phase.title());
                rest.push(late_start(capture, s, b.delay, of));
            }
            format!(
                "{side} {total}: {} is the bottleneck, {} ({}).",
                device(capture, b.device),
                b.on_path,
                share(b.on_path, h.total)
            )
        }
    };
    rest.extend(part(cb.cycle, h));
    [first, rest.join(" ")]
}

/// The callback without an end that a half rests on.
#[derive(Clone, Copy)]
pub struct Open<'a> {
    /// Its cycle.
    pub cycle: &'a Cycle,
    /// How far the half is known.
    pub known: Known,
}

impl Open<'_> {
    fn unknown(&self, capture: &Capture) -> String {
        let Known::Not { callback } = self.known else { return String::new() };
        let Some(cb) = self.cycle.callbacks.get(callback as usize) else { return String::new() };
        format!(
            "{} began its {} callback at {} and the log has no end for it (hang, or log cut).",
            device(capture, cb.device),
            cb.phase.name(),
            moment(cb.start, 6)
        ) + &self.said_after(capture, cb.start)
    }

    /// What the log says of failures from then on: the last two messages.
    fn said_after(&self, capture: &Capture, start: Ns) -> String {
        let list: Vec<&Complaint> =
            self.cycle.complaints.iter().filter(|c| c.time >= start).collect();
        let last = &list[list.len().saturating_sub(2)..];
        let said = |c: &&Complaint| {
            format!(" Line {}: {}.", c.line, capture.names.get(c.text).trim_end_matches('.'))
        };
        last.iter().map(said).collect()
    }
}

/// The phase that most of a half without callbacks went into, with what parts it from
/// the rest of its sentence.
fn longest_phase(view: &CycleView, h: &Half, cycle: &Cycle) -> String {
    let of_half = view.rows.list.iter().filter(|r| r.direction == h.direction);
    let longest = of_half
        .filter_map(|r| match r.what {
            What::Phase(i) => Some((r.counted, its_phase(cycle, i as usize))),
            What::Image(work) => Some((r.counted, format!("the image ({})", work.name()))),
            _ => None,
        })
        .max_by_key(|l| l.0);
    match longest.filter(|l| l.0 < h.total && per_mille(l.0, h.total) >= MOST) {
        Some((t, p)) => format!("{t} ({}) in {p}; ", share(t, h.total)),
        None => String::new(),
    }
}

/// A phase in words. Where no line ends the suspend of devices and the sleep went further, what
/// followed lies in the same time (kernel/power/suspend.c:suspend_enter): late, and noirq.
fn its_phase(cycle: &Cycle, at: usize) -> String {
    let span = &cycle.phases[at];
    let has = |list: &[Phase]| cycle.phases.iter().any(|p| list.contains(&p.phase));
    let further = [Phase::ResumeNoirq, Phase::ResumeEarly, Phase::Asleep];
    let open = span.phase == Phase::Suspend && !span.complete;
    match open && has(&further) && !has(&[Phase::Late, Phase::Noirq]) {
        true => "its suspend, late and noirq phases, which no line tells apart".into(),
        false => format!("its {} phase", phase(span.phase)),
    }
}

/// What is said of a half that has no callback with begin and end.
fn without_callbacks(capture: &Capture, view: &CycleView, h: &Half, cycle: &Cycle) -> String {
    let most = longest_phase(view, h, cycle);
    let ends = capture.ranked.iter().flat_map(|r| &r.rows);
    let ends = ends.filter(|r| r.phase.is_none_or(|p| p.direction() == h.direction));
    let of_half = |p: Option<Phase>| p.is_some_and(|p| p.direction() == h.direction);
    let torn = |l: &Lost| l.kind == LostKind::Starts && of_half(l.phase);
    match ends.count() {
        0 if cycle.lost.iter().any(torn) => {
            format!("{most}of device callbacks this log has the ends alone.")
        }
        0 => format!("{most}no device callback of it is in this log."),
        _ => format!("{most}of device callbacks this log has the ends alone, listed below."),
    }
}

/// The callback without an end that takes much of the critical path, at most.
fn longest_open(capture: &Capture, view: &CycleView, h: &Half, cycle: &Cycle) -> Option<String> {
    let spans = cycle.phases.iter().zip(&view.phases);
    let path = spans.filter(|(p, _)| p.phase.direction() == h.direction).flat_map(|p| &p.1.path);
    let is_open = |s: &&Segment| {
        s.callback.and_then(|c| cycle.callbacks.get(c as usize)).is_some_and(|c| !c.complete)
    };
    let s = path.filter(is_open).max_by_key(|s| s.duration())?;
    let (d, t) = (s.device?, s.duration());
    (per_mille(t, h.total) >= 100).then(|| {
        let of = share(t, h.total);
        format!("{} is one of these: it took at most {t} ({of}).", device(capture, d))
    })
}

/// The longest device whose callbacks of this half all ended, where that is
/// much of it.
fn longest_ended(capture: &Capture, view: &CycleView, h: &Half, cycle: &Cycle) -> Option<String> {
    let at = h.direction as usize;
    let open = |d| {
        let mut of = cycle.callbacks.iter().filter(|c| c.device == d && !c.complete);
        of.any(|c| c.phase.direction() == h.direction)
    };
    let ended = view.ranking.devices.iter().filter(|d| !open(d.device));
    let d = ended.max_by_key(|d| d.busy[at]).filter(|d| per_mille(d.busy[at], h.total) >= 100)?;
    Some(format!(
        "Of those that ended, {} took longest, {} ({}).",
        device(capture, d.device),
        d.busy[at],
        share(d.busy[at], h.total)
    ))
}

/// What is known of time without a callback, as the end of a sentence.
fn silence(capture: &Capture, cycle: &Cycle, half: Direction) -> String {
    if capture.losses.count("pm_trace") > 0 {
        return "passed between callbacks, where pm_trace set the clock".into();
    }
    if cycle.lost.iter().all(|l| l.kind != LostKind::Places) {
        return "have no cause in this log".into();
    }
    // A callback that only ended was longer than it shows.
    let alone = cycle
        .lost
        .iter()
        .filter(|l| l.kind == LostKind::Starts && l.phase.is_some_and(|p| p.direction() == half));
    let ends = match alone.map(|l| l.count).sum::<u64>() {
        0 => String::new(),
        n => format!(" ({} no start among them)", have(n as usize, "callback")),
    };
    format!("have no cause in the lines that are here{ends}")
}

fn elsewhere(o: Other, t: Ns, total: Ns, mode: Mode, silence: &str, open: &[PhaseSpan]) -> String {
    let part = share(t, total);
    match o {
        Other::Gap { after, before } => {
            let place = gap(mode, after, before);
            format!("{t} ({part}) passed {place}.")
        }
        Other::Phase(p) if open.iter().any(|s| s.phase == p && !s.complete) => {
            format!("at most {t} went into {}: no line tells its end.", phase(p))
        }
        Other::Phase(p) => format!("{t} ({part}) went into {}, which has no devices.", phase(p)),
        Other::Image(work) => format!("{t} ({part}) went into the image ({}).", work.name()),
        Other::Unexplained(p) => {
            // Of a half that is called like its phase the words must say which.
            format!("{t} ({part}) in its {} phase {silence}.", phase(p))
        }
    }
}

fn on_path(capture: &Capture, h: &Half, b: &Suspect) -> String {
    format!(
        "{} takes {} ({}), but without it {} would be only {} shorter.",
        device(capture, b.device),
        b.on_path,
        share(b.on_path, h.total),
        h.direction.name(),
        b.gain
    )
}

/// What its callbacks of this half wait for longest, where a recording says so and it is a tenth
/// of what they take.
fn waited(capture: &Capture, cycle: &Cycle, half: Direction, b: &Suspect) -> Option<String> {
    let w = longest(cycle, b.device, half).filter(|w| per_mille(w.total, b.on_path) >= 100)?;
    Some(format!("Of these: {}.", wait(capture, w)))
}

/// Many short callbacks, where they are what takes the time.
fn crowd(h: &Half) -> String {
    let (n, t) = h.crowd;
    if n < 10 || per_mille(t, h.total) < 200 {
        return String::new();
    }
    format!(
        " {} short callbacks on the main thread take {t} ({}).",
        grouped(u64::from(n)),
        share(t, h.total)
    )
}
