//! A cycle cut into rows that add up.
//!
//! Brackets may nest: `resume_early` runs inside `late` when late suspend is
//! aborted, and kernel logs bracket user and kernel freezing inside `freeze`.
//! Every moment is counted once, in the innermost bracket that holds it, or in
//! a gap if none does.

use dormouse_base::cycle::{Began, Cycle, Mode, Outcome, PhaseSpan};
use dormouse_base::image::ImageWork;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A phase: index into [`Cycle::phases`].
    Phase(u32),
    /// Time between brackets, with the phases around it.
    Gap {
        /// The phase that ended before; `None` at the start of the cycle.
        after: Option<Phase>,
        /// The phase that began after; `None` at the end of the cycle.
        before: Option<Phase>,
    },
    /// From the first turn into the sleep state to the last one out of it:
    /// never counted.
    Asleep {
        /// How often the machine went to sleep: more than once for
        /// suspend-to-idle with wakeups that were not meant for it.
        turns: u32,
    },
    /// Between the last suspend and the first resume phase: `pm_test` waits
    /// here, and where the source does not show when the machine slept, the
    /// sleep lies here. Never counted.
    Turn,
    /// After the last phase of a log that breaks off.
    Rest,
    /// A test level never sleeps, yet its clock jumped over this time: the RTC
    /// counts whole seconds, and what it seems to have counted is added to the
    /// clock. Never counted.
    ClockJump,
    /// What a hibernation does with its image.
    Image(ImageWork),
}

/// One line of the table of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Phase or gap.
    pub what: What,
    /// Which half it is counted in.
    pub direction: Direction,
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
    /// What this row adds to its half: `end - start` without nested brackets
    /// and without time asleep. The counted times of all rows add up to
    /// [`Rows::total`].
    pub counted: Ns,
    /// Begins inside another phase.
    pub nested: bool,
}

/// All rows of a cycle in order of start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows.
    pub list: Vec<Row>,
    /// `end - start` of the cycle without [`Rows::not_counted`].
    pub total: Ns,
    /// Time asleep, or spent turning round, or jumped over by the clock.
    pub not_counted: Ns,
    /// How far the clock of a test level jumped; zero if it did not.
    pub clock_jump: Ns,
}

impl Rows {
    /// Cuts `cycle` into rows.
    pub fn of(cycle: &Cycle) -> Rows {
        let begin = cycle.start;
        let end = cycle.end.max(begin);
        let hole = hole(cycle, begin, end);
        let mut list: Vec<Row> = Vec::new();
        for (i, p) in cycle.phases.iter().enumerate() {
            let inside = hole.is_some_and(|h| p.start >= h.start && p.end <= h.end && h.asleep());
            if p.phase == Phase::Asleep || inside {
                continue;
            }
            list.push(Row {
                what: What::Phase(i as u32),
                direction: p.phase.direction(),
                start: p.start.max(begin).min(end),
                end: p.end.max(p.start).max(begin).min(end),
                counted: Ns::ZERO,
                nested: false,
            });
        }
        // A trace may begin after the first steps that its log tells of.
        let steps = cycle.image.iter().filter(|s| s.end > begin && s.start < end);
        list.extend(steps.map(|step| Row {
            what: What::Image(step.work),
            direction: match step.work {
                ImageWork::Allocate | ImageWork::Copy | ImageWork::Write => Direction::Suspend,
                ImageWork::Read | ImageWork::Quiesce => Direction::Resume,
            },
            start: step.start.max(begin).min(end),
            end: step.end.max(step.start).max(begin).min(end),
            counted: Ns::ZERO,
            nested: false,
        }));
        list.sort_by_key(|r| (r.start, std::cmp::Reverse(r.end)));
        let mut gaps = count(&mut list, cycle, begin, end, hole);
        let rest = take_rest(cycle, &mut gaps);
        list.extend(gaps);
        if let Some(h) = hole {
            list.push(Row {
                what: h.what,
                direction: Direction::Suspend,
                start: h.start,
                end: h.end,
                counted: Ns::ZERO,
                nested: false,
            });
        }
        list.sort_by_key(|r| (r.start, order(r), std::cmp::Reverse(r.end)));
        let clock_jump = take_clock_jump(cycle, &mut list);
        let not_counted = hole.map_or(Ns::ZERO, |h| h.end.since(h.start)) + rest + clock_jump;
        Rows { list, total: end.since(begin) - not_counted, not_counted, clock_jump }
    }

    /// The time of one half, which every screen prints: what its rows add up
    /// to. `None` if the source shows no phase of it.
    pub fn half(&self, direction: Direction) -> Option<Ns> {
        let seen = |r: &Row| r.direction == direction && matches!(r.what, What::Phase(_));
        self.list.iter().any(seen).then(|| self.counted(direction))
    }

    /// How long the machine slept, where that is known.
    pub fn asleep(&self, cycle: &Cycle) -> Option<Ns> {
        if matches!(cycle.mode, Mode::PmTest(_) | Mode::Simulated) || hole_in_sleep(cycle) {
            return None;
        }
        // What a hibernation brackets is the copying of its image; then it is off.
        let asleep = cycle.asleep.filter(|_| cycle.mode != Mode::Disk);
        let bracket = asleep.map(|(down, up)| up.since(down));
        let bracket = bracket.filter(|_| self.not_counted > Ns::ZERO && !stood_still(cycle));
        let known = cycle.asleep_elsewhere.or(bracket)?;
        (known >= SHORTEST_SLEEP || cycle.mode == Mode::S2idle).then_some(known)
    }

    /// What the rows of one half add up to.
    pub fn counted(&self, direction: Direction) -> Ns {
        self.list.iter().filter(|r| r.direction == direction).map(|r| r.counted).sum()
    }
}

/// A real sleep is longer: the firmware alone takes more. A bracket that is
/// shorter was timed by a clock that stops during sleep.
const SHORTEST_SLEEP: Ns = Ns::from_ms(10);

/// Whether the clock of the log stood while the machine slept: a sleep that switched CPUs off
/// stops the kernel's own (kernel/time/sched_clock.c:sched_clock_suspend,
/// arch/x86/kernel/tsc.c:tsc_restore_sched_clock_state, 3.8 to 7.3), and what its stamps show
/// between the two ways is work of the last CPU. Of a log that does not show its CPUs (one that
/// somebody searched for a word) the firmware's own sleep says so, unless it took too long for
/// work: the clocks of some vendors' kernels run on.
fn stood_still(cycle: &Cycle) -> bool {
    let of_log =
        cycle.lines.first > 0 && cycle.when == Began::Stamped && cycle.start < Ns::CALENDAR;
    let short = cycle.asleep.is_some_and(|(down, up)| up.since(down) < LONGEST_WORK);
    let deep = cycle.mode == Mode::Deep && short;
    of_log && (deep || cycle.phases.iter().any(|p| p.phase == Phase::CpuOff))
}

/// What the last CPU does between the two ways takes less. Ours.
const LONGEST_WORK: Ns = Ns::from_ms(1_000);

/// Whether the log has a hole that holds the end of one way and the begin of the
/// other: what is taken for sleep is the hole.
pub fn hole_in_sleep(cycle: &Cycle) -> bool {
    let guessed = |p: &PhaseSpan| p.phase == Phase::Asleep && !p.complete;
    cycle.has_hole(Direction::Suspend)
        && cycle.has_hole(Direction::Resume)
        && cycle.phases.iter().any(guessed)
}

/// Takes the time after the last phase out of the gaps of a cycle whose log
/// breaks off: it may be sleep, or belong to another excerpt. A whole cycle ends
/// with what the log says of its end.
fn take_rest(cycle: &Cycle, gaps: &mut [Row]) -> Ns {
    if cycle.outcome != Outcome::Partial {
        return Ns::ZERO;
    }
    let Some(last) = cycle.phases.iter().map(|p| p.end).max() else { return Ns::ZERO };
    let mut rest = Ns::ZERO;
    for g in gaps.iter_mut().filter(|g| g.start >= last) {
        if matches!(g.what, What::Gap { before: None, .. }) {
            rest += g.counted;
            (g.what, g.counted) = (What::Rest, Ns::ZERO);
        }
    }
    rest
}

/// Takes the time that a test level's clock jumped over out of the row that
/// holds it (`syscore_resume` runs `timekeeping_resume`), and gives it a row of
/// its own. A jump that no such row is long enough for did not show in this
/// clock.
fn take_clock_jump(cycle: &Cycle, list: &mut Vec<Row>) -> Ns {
    let (Mode::PmTest(_), Some(jump)) = (cycle.mode, cycle.asleep_elsewhere) else {
        return Ns::ZERO;
    };
    let holds = |r: &Row| match r.what {
        What::Phase(i) => cycle.phases[i as usize].phase == Phase::SyscoreResume,
        _ => false,
    };
    let at = list.iter().position(|r| holds(r) && r.counted >= jump);
    let (Some(at), true) = (at, jump > Ns::ZERO) else { return Ns::ZERO };
    list[at].counted -= jump;
    let row = list[at];
    let start = (row.end - jump).max(row.start);
    list.insert(
        at + 1,
        Row { what: What::ClockJump, start, counted: Ns::ZERO, nested: true, ..row },
    );
    jump
}

/// A gap that begins with a phase of no length is printed after it.
fn order(r: &Row) -> u8 {
    match r.what {
        What::Phase(_) | What::Image(_) => 0,
        What::Gap { .. } => 1,
        What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump => 2,
    }
}

/// The part of the cycle that is not latency.
#[derive(Clone, Copy)]
struct Hole {
    what: What,
    start: Ns,
    end: Ns,
}

impl Hole {
    fn asleep(self) -> bool {
        matches!(self.what, What::Asleep { .. })
    }
}

fn hole(cycle: &Cycle, begin: Ns, end: Ns) -> Option<Hole> {
    if let Some((down, up)) = cycle.asleep {
        let turns = cycle.phases.iter().filter(|p| p.phase == Phase::Asleep).count().max(1) as u32;
        let start = down.max(begin).min(end);
        return Some(Hole { what: What::Asleep { turns }, start, end: up.max(start).min(end) });
    }
    let down = cycle.phases.iter().filter(|p| p.phase.direction() == Direction::Suspend);
    let up = cycle.phases.iter().filter(|p| p.phase.direction() == Direction::Resume);
    let down = down.map(|p| p.end).max()?.max(begin).min(end);
    let up = up.map(|p| p.start).min()?.max(begin).min(end);
    // A test level waits there, and a log without the bracket of the sleep hides
    // it there. In an aborted cycle the way back is part of what the user waits
    // for.
    let hidden = matches!(cycle.outcome, Outcome::Slept | Outcome::Partial);
    (up > down && hidden).then_some(Hole { what: What::Turn, start: down, end: up })
}

/// Fills `counted` and `nested` by sweeping over all begins and ends; returns
/// the gaps.
fn count(list: &mut [Row], cycle: &Cycle, begin: Ns, end: Ns, hole: Option<Hole>) -> Vec<Row> {
    // At one moment ends come before begins; a row without length opens and
    // closes by itself.
    let mut edges: Vec<(Ns, u8, u32)> = Vec::with_capacity(list.len() * 2 + 2);
    for (i, r) in list.iter().enumerate() {
        edges.push((r.start, 1, i as u32));
        edges.push((r.end, if r.end == r.start { 2 } else { 0 }, i as u32));
    }
    const HOLE: u32 = u32::MAX;
    if let Some(h) = hole {
        edges.push((h.start, 1, HOLE));
        edges.push((h.end, if h.end == h.start { 2 } else { 0 }, HOLE));
    }
    edges.sort_unstable();

    let phase_of = |r: &Row| match r.what {
        What::Phase(i) => Some(cycle.phases[i as usize].phase),
        _ => None,
    };
    let mut open: Vec<u32> = Vec::new();
    let mut closed = std::vec![false; list.len()];
    let mut in_hole = false;
    let mut past_hole = false;
    let mut last: Option<Phase> = None;
    let mut gaps: Vec<Row> = Vec::new();
    // A gap waits here until the phase that ends it is known.
    let mut gap: Option<Row> = None;
    let mut at = begin;
    for (t, kind, i) in edges.into_iter().chain([(end, 3, HOLE)]) {
        let span = t.since(at);
        if span > Ns::ZERO && !in_hole {
            while open.last().is_some_and(|&o| closed[o as usize]) {
                open.pop();
            }
            match open.last() {
                Some(&o) => list[o as usize].counted += span,
                None => match &mut gap {
                    Some(g) => {
                        g.end = t;
                        g.counted += span;
                    }
                    None => {
                        gap = Some(Row {
                            what: What::Gap { after: last, before: None },
                            direction: Direction::Suspend,
                            start: at,
                            end: t,
                            counted: span,
                            nested: false,
                        });
                    }
                },
            }
        }
        at = at.max(t);
        let entered = match (kind, i) {
            (3, _) => None,
            (1, HOLE) => {
                in_hole = true;
                Some(Phase::Asleep)
            }
            (_, HOLE) => {
                in_hole = false;
                past_hole = true;
                last = Some(Phase::Asleep);
                None
            }
            (1, i) => {
                while open.last().is_some_and(|&o| closed[o as usize]) {
                    open.pop();
                }
                list[i as usize].nested = !open.is_empty();
                open.push(i);
                phase_of(&list[i as usize])
            }
            (_, i) => {
                closed[i as usize] = true;
                last = phase_of(&list[i as usize]);
                None
            }
        };
        if (entered.is_some() || kind == 3)
            && let Some(mut g) = gap.take()
        {
            let back = past_hole || entered.is_some_and(|p| p.direction() == Direction::Resume);
            let after_up = last.is_some_and(|p| p.direction() == Direction::Resume);
            if back || after_up {
                g.direction = Direction::Resume;
            }
            if let What::Gap { after, .. } = g.what {
                g.what = What::Gap { after, before: entered };
            }
            gaps.push(g);
        }
    }
    gaps
}

/// What the kernel does between two phases, for the gaps that have a known
/// content (kernels 3.15 to 7.3).
pub fn gap_content(mode: Mode, after: Option<Phase>, before: Option<Phase>) -> &'static str {
    use Phase::*;
    match (after, before) {
        // hibernate_preallocate_memory() runs here (kernel/power/snapshot.c).
        (Some(FreezeUser), Some(FreezeKernel)) if mode == Mode::Disk => "image memory allocated",
        (Some(FreezeUser), Some(FreezeKernel)) if mode == Mode::Unknown => "between phases",
        (None, Some(Sync)) => "before sync",
        (None | Some(Sync), Some(Freeze | FreezeUser)) => "console switch, PM notifiers",
        (Some(FreezeUser), Some(FreezeKernel)) => "OOM killer off",
        (Some(Freeze | FreezeKernel), Some(Prepare)) => "platform begin, console suspend",
        (Some(Freeze | FreezeKernel), Some(Suspend)) => "platform begin, console, prepare",
        (Some(Prepare), Some(Suspend)) => "between prepare and suspend",
        (Some(Suspend), Some(Late)) => "platform prepare",
        (Some(Late), Some(Noirq)) => "device interrupts off",
        (Some(Noirq), Some(CpuOff)) => "platform prepare late",
        (Some(Noirq), Some(SyscoreSuspend | Asleep)) => "platform prepare late",
        (Some(CpuOff), Some(CpuOff)) => "between CPUs",
        (Some(CpuOff), Some(SyscoreSuspend)) => "interrupts off",
        (Some(CpuOff), Some(Asleep)) => "to the sleep state",
        (Some(SyscoreSuspend), Some(Asleep)) => "to the sleep state",
        (Some(Asleep), Some(SyscoreResume)) => "from the sleep state",
        (Some(SyscoreResume), Some(CpuOn)) => "interrupts on",
        (Some(CpuOn), Some(CpuOn)) => "between CPUs",
        (Some(CpuOn | SyscoreResume | Asleep), Some(ResumeNoirq)) => "platform wake (firmware)",
        (Some(ResumeNoirq), Some(ResumeEarly)) => "device interrupts on",
        (Some(ResumeEarly), Some(Resume)) => "platform finish",
        (Some(Resume), Some(Complete)) => "between resume and complete",
        (Some(Complete | Resume), Some(Console)) => "before the console",
        (Some(Complete | Console | Resume), Some(Thaw)) => "platform end, console",
        // What a source leaves out.
        (Some(Freeze | FreezeKernel), Some(CpuOff | SyscoreSuspend | Asleep))
        | (Some(CpuOn | SyscoreResume | Asleep), Some(Thaw)) => "all devices, not shown",
        (Some(Suspend), Some(CpuOff | SyscoreSuspend | Asleep)) => "late and noirq, not shown",
        (Some(CpuOn | SyscoreResume | Asleep), Some(Resume)) => "noirq and early, not shown",
        (Some(Thaw), None) => "after thaw",
        (None, None) => "no phase in this log",
        _ => "between phases",
    }
}
