//! What would shorten each half of a cycle, and how far that may be trusted.
//!
//! Devices are ranked by what their half would gain without them, never by
//! their time on the critical path: a device may be on it for most of a phase
//! while another way is nearly as long.

use super::PhaseView;
use super::path::{Reason, Segment};
use super::rank::{DeviceTime, Ranking};
use super::rows::{Rows, What};
use super::share::{is_below, per_mille};
use dormouse_base::complete::LostKind;
use dormouse_base::cycle::{Began, Cycle, Mode, Outcome, PhaseSpan};
use dormouse_base::device::DeviceId;
use dormouse_base::image::ImageWork;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// A saving below this share of its half, in tenths of a percent, is no help:
/// two cycles of one machine differ by as much.
pub const HELPS: u32 = 10;

/// A saving below this share of its half does not help much.
pub const HELPS_MUCH: u32 = 50;

/// A figure of which this share rests on a guessed end is not known.
pub(crate) const RESTS: u32 = 100;

/// A callback below this share of its half is short.
pub const SHORT: u32 = 20;

/// A device of the critical path of one half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The device.
    pub device: DeviceId,
    /// The phase that all its time on the path is in; `None` if several.
    pub phase: Option<Phase>,
    /// Its time on critical paths of this half.
    pub on_path: Ns,
    /// What the half would gain without it.
    pub gain: Ns,
    /// What would be the bottleneck in its stead.
    pub next: Option<DeviceId>,
    /// What waited for it, and how: the next callback of the path.
    pub waiter: Option<(DeviceId, Reason)>,
    /// How long after the start of the phase it started.
    pub delay: Ns,
    /// Its longest piece of the path: the view of its phase, and the index into
    /// that view's path.
    pub segment: (u32, u32),
}

/// Time of a half that is no device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// A gap between phases.
    Gap {
        /// Before it.
        after: Option<Phase>,
        /// After it.
        before: Option<Phase>,
    },
    /// A phase without devices (sync, freeze, CPUs, thaw).
    Phase(Phase),
    /// What a hibernation does with its image: all such steps of the half together.
    Image(ImageWork),
    /// Time inside a phase of devices that no callback explains: all such pieces
    /// of its critical path together.
    Unexplained(Phase),
}

/// How far the total of a half is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// As the source shows it.
    Whole,
    /// The source shows only part of the cycle, or has a hole in it.
    AtLeast,
    /// The machine slept, and the source shows neither its devices nor when it
    /// slept: what is shown is the smaller part.
    WithoutDevices,
    /// It rests on a callback whose end is not in the log: most of it, or the log
    /// ends there.
    Not {
        /// That callback: index into [`Cycle::callbacks`].
        callback: u32,
    },
}

impl Known {
    /// Whether the sum of the rows is a figure of the half.
    pub fn is_figure(self) -> bool {
        matches!(self, Known::Whole | Known::AtLeast)
    }
}

/// One half of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Which half.
    pub direction: Direction,
    /// What its rows add up to.
    pub total: Ns,
    /// How far that is known.
    pub known: Known,
    /// Callbacks of this half that completed.
    pub completed: u32,
    /// Callbacks of this half whose end is not in the log: how many, and the
    /// first. They are no suspects.
    pub open: Option<(u32, u32)>,
    /// The device without which the half would gain most.
    pub best: Option<Suspect>,
    /// The device that is longest on the path, if it is another.
    pub busiest: Option<Suspect>,
    /// The longest time that is no device's.
    pub other: Option<(Other, Ns)>,
    /// Callbacks of the path on the main thread that are short: how many, and
    /// their time.
    pub crowd: (u32, Ns),
}

impl Half {
    /// The best suspect, if it saves at least [`HELPS`].
    pub fn bottleneck(&self) -> Option<&Suspect> {
        let known = self.known.is_figure();
        self.best.as_ref().filter(|b| known && per_mille(b.gain, self.total) >= HELPS)
    }

    /// The time that is no device's, where it is longer than what the best
    /// device saves and at least a tenth of the half.
    pub fn elsewhere(&self) -> Option<(Other, Ns)> {
        let gain = self.bottleneck().map_or(Ns::ZERO, |b| b.gain);
        let known = self.known != Known::WithoutDevices;
        self.other.filter(|&(_, t)| known && t > gain && per_mille(t, self.total) >= 100)
    }

    /// What could be saved at most by mending one thing.
    pub fn saving(&self) -> Ns {
        let elsewhere = self.elsewhere().map_or(Ns::ZERO, |o| o.1);
        self.bottleneck().map_or(Ns::ZERO, |b| b.gain).max(elsewhere)
    }
}

/// The answer, for each half that took time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// On the way down.
    pub suspend: Option<Half>,
    /// On the way up.
    pub resume: Option<Half>,
}

impl Answer {
    /// Chooses by saving; between equals, what comes first.
    pub fn of(cycle: &Cycle, rows: &Rows, phases: &[PhaseView], ranking: &Ranking) -> Answer {
        let calls = (0..).zip(&cycle.callbacks);
        let open: Vec<u32> = calls.filter(|c| !c.1.complete).map(|c| c.0).collect();
        let half = |d| half(cycle, rows, phases, ranking, &open, d);
        Answer { suspend: half(Direction::Suspend), resume: half(Direction::Resume) }
    }

    /// Both halves, the one with the larger saving first.
    pub fn halves(&self) -> impl Iterator<Item = &Half> {
        let saving = |h: &Option<Half>| {
            h.as_ref().map(|h| (!matches!(h.known, Known::Not { .. }), h.saving(), h.total))
        };
        let swap = saving(&self.resume) > saving(&self.suspend);
        let (a, b) =
            if swap { (&self.resume, &self.suspend) } else { (&self.suspend, &self.resume) };
        a.iter().chain(b.iter())
    }

    /// The device of both halves that saves most, with its half.
    pub fn bottleneck(&self) -> Option<(&Half, &Suspect)> {
        let of = |h: &'_ Option<Half>| h.as_ref().and_then(Half::bottleneck).map(|b| b.gain);
        let half = if of(&self.resume) > of(&self.suspend) { &self.resume } else { &self.suspend };
        let half = half.as_ref()?;
        Some((half, half.bottleneck()?))
    }
}

fn half(
    cycle: &Cycle,
    rows: &Rows,
    phases: &[PhaseView],
    ranking: &Ranking,
    open: &[u32],
    direction: Direction,
) -> Option<Half> {
    let total = rows.half(direction).filter(|&t| t > Ns::ZERO)?;
    let of_half = |c: &u32| cycle.callbacks[*c as usize].phase.direction() == direction;
    let open: Vec<u32> = open.iter().copied().filter(of_half).collect();
    let is_open = |d: DeviceId| open.iter().any(|&c| cycle.callbacks[c as usize].device == d);
    let at = direction as usize;
    let suspect = |d: &DeviceTime| suspect(cycle, phases, d, direction);
    let (mut best, mut busiest): (Option<&DeviceTime>, Option<&DeviceTime>) = (None, None);
    // Devices come in the order of the list: between equals, the first stays.
    for d in ranking.devices.iter().filter(|d| d.on_path[at] > Ns::ZERO && !is_open(d.device)) {
        let saves = |d: &DeviceTime| (d.gain[at], d.on_path[at]);
        best = best.filter(|b| saves(b) >= saves(d)).or(Some(d));
        busiest = busiest.filter(|b| b.on_path[at] >= d.on_path[at]).or(Some(d));
    }
    let busiest = busiest.filter(|d| best.is_none_or(|b| b.device != d.device));

    let of_phases = || {
        let all = cycle.phases.iter().zip(phases);
        all.filter(|(span, _)| span.phase.direction() == direction)
    };
    let completed = of_phases().map(|(_, v)| v.completed).sum();
    // Where lines were left out, an end that is missing tells of no hang.
    let thinned = cycle.lost.iter().any(|l| l.kind == LostKind::Places);
    let rests = open.iter().copied().filter(|&c| {
        let cb = &cycle.callbacks[c as usize];
        let unseen = |(span, _): (&dormouse_base::cycle::PhaseSpan, &PhaseView)| {
            span.phase == cb.phase && !span.complete
        };
        // A log that ends in a callback was cut there, or the machine hung there.
        let is_last = |o: &dormouse_base::cycle::Callback| o.start <= cb.start && o.end <= cb.start;
        // The core begins no phase before all callbacks of the one before it have returned
        // (drivers/base/power/main.c:dpm_resume_noirq and its like, 6.12).
        let later = |o: &dormouse_base::cycle::Callback| {
            o.start > cb.start && o.phase > cb.phase && o.phase.direction() == direction
        };
        let ended = cycle.callbacks.iter().any(later);
        let others = cycle.callbacks.iter().enumerate().filter(|o| o.0 != c as usize);
        (per_mille(cb.duration(), total) >= RESTS || { others }.all(|o| is_last(o.1)))
            && of_phases().any(unseen)
            && !ended
            && !thinned
    });
    let longest = rests.max_by_key(|&c| cycle.callbacks[c as usize].duration());
    let known = match longest {
        Some(callback) => Known::Not { callback },
        None if shows_first_steps(cycle, direction) => Known::WithoutDevices,
        None if is_part(cycle, direction) => Known::AtLeast,
        None if hides_devices(cycle, direction) => Known::WithoutDevices,
        None => Known::Whole,
    };
    let short = |s: &&Segment| {
        let main = s.thread.and_then(|t| cycle.threads.get(usize::from(t.0)));
        let main = main.is_none_or(|t| t.is_main != Some(false));
        !s.is_gap() && main && is_below(s.duration(), total, SHORT)
    };
    let mut crowd = (0, Ns::ZERO);
    for s in of_phases().flat_map(|(_, v)| &v.path).filter(short) {
        crowd = (crowd.0 + 1, crowd.1 + s.duration());
    }
    Some(Half {
        direction,
        total,
        known,
        completed,
        open: open.first().map(|&c| (open.len() as u32, c)),
        best: best.and_then(suspect),
        busiest: busiest.and_then(suspect),
        other: other(cycle, rows, phases, direction),
        crowd,
    })
}

/// Whether the source shows a part of this half, and of that no device: a share of it is none of
/// the half.
fn shows_first_steps(cycle: &Cycle, direction: Direction) -> bool {
    let devices = |p: &PhaseSpan| p.phase.has_devices() && p.phase.direction() == direction;
    let went_on = matches!(cycle.outcome, Outcome::Partial | Outcome::AbortedByDevice { .. });
    // Devices come when all tasks are frozen.
    let frozen = |p: &PhaseSpan| p.phase == Phase::FreezeKernel && p.complete;
    // Or the text begins where they are back.
    let mut up = cycle.phases.iter().filter(|p| p.phase.direction() == Direction::Resume);
    let back = direction == Direction::Resume && cycle.asleep.is_none();
    let back = back && up.all(|p| p.phase == Phase::Thaw);
    let went_on = went_on && cycle.image.is_empty();
    let went_on = went_on && (back || cycle.phases.iter().any(frozen));
    // What goes down behind the devices, and up before them, tells how long they took at most.
    let core = |p: &PhaseSpan| match direction {
        Direction::Suspend => matches!(p.phase, Phase::CpuOff | Phase::SyscoreSuspend),
        Direction::Resume => matches!(p.phase, Phase::CpuOn | Phase::SyscoreResume),
    };
    let shown = |p: &PhaseSpan| devices(p) || core(p);
    is_part(cycle, direction) && went_on && !cycle.phases.iter().any(shown)
}

/// Whether the source shows a part of this half only.
pub(crate) fn is_part(cycle: &Cycle, direction: Direction) -> bool {
    // Of times that are laid out from durations the gaps are missing.
    if cycle.has_hole(direction) || cycle.when != Began::Stamped {
        return true;
    }
    let (Some(first), Some(last)) = (cycle.phases.first(), cycle.phases.last()) else {
        return cycle.outcome == Outcome::Partial;
    };
    if cycle.outcome == Outcome::Partial {
        // Of a cycle that is cut on one side, the other half may be all there.
        let begins = matches!(first.phase, Phase::Sync | Phase::Freeze | Phase::FreezeUser);
        let whole = cycle.asleep.is_some()
            && match direction {
                Direction::Suspend => begins && first.complete,
                Direction::Resume => last.phase == Phase::Thaw && last.complete,
            };
        return !whole;
    }
    // The source begins or ends inside a phase of devices.
    let cut =
        |p: &PhaseSpan| !p.complete && p.phase.has_devices() && p.phase.direction() == direction;
    cut(first) && cycle.start >= first.start || cut(last) && cycle.end <= last.end
}

/// Whether the totals of a cycle are figures that may be compared with another's.
pub fn is_comparable(cycle: &Cycle) -> bool {
    let hidden = |d: Direction| hides_devices(cycle, d);
    let whole = |d: Direction| !hidden(d) && !cycle.has_hole(d);
    cycle.outcome == Outcome::Slept && whole(Direction::Suspend) && whole(Direction::Resume)
}

/// The machine slept, and the source shows no phase of devices on this way, nor
/// the sleep that would bound them: kernel logs without `pm_debug_messages`.
fn hides_devices(cycle: &Cycle, direction: Direction) -> bool {
    let devices = |p: &PhaseSpan| p.phase.has_devices() && p.phase.direction() == direction;
    cycle.outcome == Outcome::Slept
        && !matches!(cycle.mode, Mode::PmTest(_))
        && cycle.asleep.is_none()
        && !cycle.phases.iter().any(devices)
}

/// The longest time that is no device's.
fn other(
    cycle: &Cycle,
    rows: &Rows,
    phases: &[PhaseView],
    direction: Direction,
) -> Option<(Other, Ns)> {
    let mut longest: Option<(Other, Ns)> = None;
    let mut offer = |o: Other, t: Ns| {
        if t > Ns::ZERO && longest.is_none_or(|l| t > l.1) {
            longest = Some((o, t));
        }
    };
    let mut plain = [Ns::ZERO; Phase::ALL.len()];
    let mut image = ImageWork::ALL.map(|work| (work, Ns::ZERO));
    for r in rows.list.iter().filter(|r| r.direction == direction) {
        match r.what {
            What::Gap { after, before } => offer(Other::Gap { after, before }, r.counted),
            What::Phase(i) => {
                let phase = cycle.phases[i as usize].phase;
                let view = &phases[i as usize];
                if !phase.has_devices() {
                    plain[phase as usize] += r.counted;
                } else {
                    // Brackets without any device event count as a phase.
                    offer(Other::Unexplained(phase), unexplained(view).min(r.counted));
                }
            }
            What::Image(work) => image[work as usize].1 += r.counted,
            What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump => {}
        }
    }
    for (work, took) in image {
        offer(Other::Image(work), took);
    }
    for p in Phase::ALL {
        offer(Other::Phase(p), plain[p as usize]);
    }
    longest
}

fn unexplained(view: &PhaseView) -> Ns {
    let pieces = view.path.iter().filter(|s| s.is_gap() && s.reason == Reason::Unexplained);
    pieces.fold(Ns::ZERO, |sum, s| sum + s.duration())
}

fn suspect(
    cycle: &Cycle,
    phases: &[PhaseView],
    d: &DeviceTime,
    direction: Direction,
) -> Option<Suspect> {
    let at = direction as usize;
    let mut place: Option<(Ns, (u32, u32))> = None;
    let mut seen: Option<Phase> = None;
    let mut several = false;
    for (p, (span, view)) in cycle.phases.iter().zip(phases).enumerate() {
        if span.phase.direction() != direction {
            continue;
        }
        for (i, s) in view.path.iter().enumerate().filter(|(_, s)| s.device == Some(d.device)) {
            several |= seen.is_some_and(|x| x != span.phase);
            seen = Some(span.phase);
            if place.is_none_or(|p| s.duration() > p.0) {
                place = Some((s.duration(), (p as u32, i as u32)));
            }
        }
    }
    let (_, (p, i)) = place?;
    let (span, view) = (&cycle.phases[p as usize], &phases[p as usize]);
    let after = view.path[i as usize + 1..].iter().find(|s| s.device.is_some());
    let rival = view.rival.filter(|r| r.0 == d.device && r.1 != d.device);
    Some(Suspect {
        device: d.device,
        phase: seen.filter(|_| !several),
        on_path: d.on_path[at],
        gain: d.gain[at],
        next: rival.map(|r| r.1),
        waiter: after.and_then(|n| n.device.map(|x| (x, n.reason))),
        delay: view.path[i as usize].start.since(span.start),
        segment: (p, i),
    })
}
