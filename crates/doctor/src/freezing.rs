//! Who was last to freeze, and why, in a recording with scheduler events
//! (`record --with freeze`; kernel/power/process.c:try_to_freeze_tasks, 6.12 and 7.3).
//!
//! A task that enters the refrigerator is switched out in state D. The one that wrote
//! to `/sys/power/state` looks, and sleeps between two looks: in state D as well, for 1,
//! 2, 4, 8, 8, … ms, which begins anew when it comes to the threads of the kernel. So the
//! time of freezing is what a task took to get there, and what is left of the sleep
//! that it got there in, which is the kernel's own.

use crate::evidence::{cycles, seen};
use crate::finding::{Area, Confidence, Finding, Level, Task as Named};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// A task that everybody else waited for by this much is a finding.
const LAST_BY: Ns = Ns(10_000_000);
/// From here on it costs time; below it is good to know.
const SLOW: Ns = Ns(20_000_000);
/// Left of the kernel's sleep: this much is worth a word.
const POLLING: Ns = Ns(4_000_000);
/// Of a task that was told to freeze: a way out of the kernel that is long.
const LONG_WAY: Ns = Ns(5_000_000);
/// The longest sleep between two looks, and the shortest, with what a timer adds.
const LOOK: Ns = Ns(1_200_000);

/// Why a task took long to freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It waited in state D, and this woke it (an interrupt, if it is empty): I/O or a lock.
    Waited {
        /// Who woke it.
        waker: String,
    },
    /// It was told to, and took its time to leave the kernel.
    LongWay,
    /// It computed in the kernel all the time.
    Computed,
    /// It wanted to run, and this task had the CPU.
    Starved {
        /// Who ran.
        by: Named,
    },
}

/// What is known of one thread between begin and end of freezing.
#[derive(Default)]
struct Thread {
    name: String,
    /// Last time that it was switched out in state D: when it froze.
    frozen: Option<Ns>,
    /// First wake-up, and who did it.
    woken: Option<(Ns, i32, String)>,
    /// Since when it runs, or wants to.
    running: Option<Ns>,
    wanting: Option<Ns>,
    wanted: Ns,
}

/// Who is switched out: name, number and state.
type Out<'a> = (&'a str, i32, &'a str);

/// `prev_comm=NAME prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=NAME next_pid=2 …`.
/// A name may have blanks.
fn switch(text: &str) -> Option<(Out<'_>, (&str, i32))> {
    let (prev, next) = text.split_once(" ==> ")?;
    let (name, rest) = prev.strip_prefix("prev_comm=")?.rsplit_once(" prev_pid=")?;
    let pid = rest.split(' ').next()?.parse().ok()?;
    let state = rest.rsplit_once("prev_state=")?.1;
    let (next_name, rest) = next.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
    let next_pid = rest.split(' ').next()?.parse().ok()?;
    Some(((name, pid, state), (next_name, next_pid)))
}

/// `comm=NAME pid=7 prio=120 target_cpu=000`.
fn waking(text: &str) -> Option<i32> {
    text.rsplit_once(" pid=")?.1.split(' ').next()?.parse().ok()
}

/// Begin and end of freezing.
fn interval(c: &Cycle) -> Option<(Ns, Ns)> {
    const PHASES: [Phase; 3] = [Phase::Freeze, Phase::FreezeUser, Phase::FreezeKernel];
    let spans = c.phases.iter().filter(|s| PHASES.contains(&s.phase) && s.complete);
    spans.fold(None, |all, s| match all {
        None => Some((s.start, s.end)),
        Some((a, b)) => Some((a.min(s.start), b.max(s.end))),
    })
}

/// The threads, the sleeps of the writer between its looks, and who ran from when to when.
struct Seen {
    threads: BTreeMap<i32, Thread>,
    looks: Vec<(Ns, Ns)>,
    ran: Vec<(i32, Ns, Ns)>,
}

fn watch(capture: &Capture, c: &Cycle, writer: i32, (begin, end): (Ns, Ns)) -> Seen {
    let mut threads: BTreeMap<i32, Thread> = BTreeMap::new();
    let mut looks: Vec<(Ns, Ns)> = Vec::new();
    let mut slept: Option<Ns> = None;
    let mut all_ran = Vec::new();
    // Who runs on each CPU, since when.
    let mut cpus: BTreeMap<u32, (i32, Ns)> = BTreeMap::new();
    for e in c.events.iter().filter(|e| (begin..=end).contains(&e.time)) {
        let text = capture.names.get(e.text);
        match capture.names.get(e.name) {
            "sched_switch" => {
                let Some(((name, pid, state), (next_name, next))) = switch(text) else { continue };
                let (ran, since) = cpus.get(&e.cpu).copied().unwrap_or((pid, begin));
                if ran == pid {
                    all_ran.push((pid, since, e.time));
                }
                cpus.insert(e.cpu, (next, e.time));
                let t = threads.entry(pid).or_default();
                t.name = name.into();
                t.running = None;
                if state.starts_with('D') {
                    t.frozen = Some(e.time);
                }
                t.wanting = state.starts_with('R').then_some(e.time);
                if pid == writer && state.starts_with('D') {
                    slept = Some(e.time);
                }
                let n = threads.entry(next).or_default();
                n.name = next_name.into();
                if let Some(w) = n.wanting.take() {
                    n.wanted += e.time.since(w);
                }
                n.running = Some(e.time);
                if next == writer
                    && let Some(s) = slept.take()
                {
                    looks.push((s, e.time));
                }
            }
            "sched_waking" => {
                let Some(pid) = waking(text) else { continue };
                let by = c.threads.get(usize::from(e.thread.0));
                let t = threads.entry(pid).or_default();
                let first = t.woken.is_none() && t.running.is_none() && t.frozen.is_none();
                if let Some(by) = by.filter(|_| first) {
                    t.woken = Some((e.time, by.pid, capture.names.get(by.name).to_string()));
                }
                t.wanting.get_or_insert(e.time);
            }
            _ => {}
        }
    }
    Seen { threads, looks, ran: all_ran }
}

/// When the kernel came to its own threads: where its sleeps begin anew with the
/// shortest. A single sleep is of that part, which as a rule needs one.
fn second_part(looks: &[(Ns, Ns)], last: Option<Ns>, begin: Ns) -> (Ns, usize) {
    let long = |l: &(Ns, Ns)| l.1.since(l.0);
    let short = |i: usize| long(&looks[i]) <= LOOK;
    let anew = (1..looks.len()).rev().find(|&i| {
        // After 1 comes 2, 4, 8, 8, …: a short one can only be the first of a part.
        short(i)
    });
    match anew {
        Some(i) => (looks[i - 1].1, i),
        // Nobody froze before its only part of sleeps began: that was the second part.
        None if looks.first().is_none_or(|l| last.is_none_or(|r| r <= l.0)) => (begin, 0),
        None => (looks.last().map_or(begin, |l| l.1), looks.len()),
    }
}

fn why(seen: &Seen, pid: i32, writer: i32, begin: Ns, frozen: Ns) -> Why {
    let t = &seen.threads[&pid];
    let took = frozen.since(begin);
    if let Some((at, by, name)) = &t.woken {
        if *by != writer {
            let interrupt = *by == 0 || name == "<idle>";
            return Why::Waited { waker: if interrupt { String::new() } else { name.clone() } };
        }
        if frozen.since(*at) >= LONG_WAY && t.wanted.0 < frozen.since(*at).0 / 2 {
            return Why::LongWay;
        }
    }
    if t.wanted.0 <= took.0 / 2 {
        return Why::Computed;
    }
    let mut others: BTreeMap<i32, Ns> = BTreeMap::new();
    let mine = |r: &&(i32, Ns, Ns)| r.0 != pid && r.0 != 0 && r.1 < frozen;
    for &(other, from, to) in seen.ran.iter().filter(mine) {
        *others.entry(other).or_default() += to.min(frozen).since(from.max(begin));
    }
    let most = others.into_iter().max_by_key(|(_, t)| *t);
    let pid = most.map_or(0, |m| m.0);
    let name = seen.threads.get(&pid).map_or(String::new(), |n| n.name.clone());
    Why::Starved { by: Named { name, pid: u32::try_from(pid).unwrap_or(0) } }
}

/// The task that freezing waited for longest.
struct Blocker {
    pid: i32,
    gap: Ns,
    frozen: Ns,
    why: Why,
}

/// Judges the freezing of each cycle that has scheduler events.
pub(crate) fn judge(capture: &Capture, out: &mut Vec<Finding>) {
    let mut polling: Vec<(Ns, usize, Ns)> = Vec::new();
    for (at, c) in cycles(capture) {
        let Some((begin, end)) = interval(c) else { continue };
        let switches = |e: &dormouse_base::cycle::SideEvent| {
            e.time >= begin && e.time <= end && capture.names.get(e.name) == "sched_switch"
        };
        if !c.events.iter().any(switches) {
            continue;
        }
        let main = c.threads.iter().find(|t| t.is_main == Some(true));
        let writer = main.map_or(-1, |t| t.pid);
        let seen_here = watch(capture, c, writer, (begin, end));
        let threads = &seen_here.threads;
        // In the order in which they froze; the sleeps of the writer are no freezing.
        let mut order: Vec<(Ns, i32)> = threads
            .iter()
            .filter(|(pid, _)| **pid != writer && **pid != 0)
            .filter_map(|(pid, t)| Some((t.frozen?, *pid)))
            .collect();
        order.sort_unstable();
        let mut before = begin;
        let mut worst: Option<Blocker> = None;
        for &(frozen, pid) in &order {
            let gap = frozen.since(before);
            if worst.as_ref().is_none_or(|w| gap > w.gap) {
                let why = why(&seen_here, pid, writer, begin, frozen);
                worst = Some(Blocker { pid, gap, frozen, why });
            }
            before = frozen;
        }
        // The look that found it frozen: what is between is the kernel's sleep.
        let last = order.last().map(|o| o.0);
        let (boundary, _) = second_part(&seen_here.looks, last, begin);
        let left = |frozen: Ns| {
            let look = seen_here.looks.iter().find(|l| l.1 >= frozen && l.0 <= frozen);
            look.map_or(Ns::ZERO, |l| l.1.since(frozen))
        };
        if let Some(b) = worst.filter(|b| b.gap >= LAST_BY) {
            let after = left(b.frozen);
            out.push(blocker(capture, at, c, &b, after, threads));
            continue;
        }
        let users = order.iter().rev().find(|o| o.0 < boundary).map_or(begin, |o| o.0);
        let idle = left(users);
        if idle >= POLLING {
            polling.push((idle, at, users));
        }
    }
    let Some(&(worst, _, _)) = polling.iter().max_by_key(|p| p.0) else { return };
    let text = |&(t, at, time): &(Ns, usize, Ns)| {
        let text = format!("everything was frozen {} us before the kernel looked", t.0 / 1_000);
        seen(capture, at, time, &text)
    };
    let f = Finding::new(("freeze-polling", Area::Freezer, Level::Note), Confidence::Certain)
        .says(format!(
            "Everything was frozen up to {} ms before the kernel looked again: it sleeps up to 8 ms between two looks.",
            say::ms(worst)
        ))
        .look("Nothing: no setting changes how often the kernel looks.")
        .shown_by(polling.iter().take(3).map(text));
    out.push(f);
}

fn blocker(
    capture: &Capture,
    at: usize,
    c: &Cycle,
    b: &Blocker,
    after: Ns,
    threads: &BTreeMap<i32, Thread>,
) -> Finding {
    let name = threads[&b.pid].name.clone();
    let waiting = c.waiting.iter().find(|w| w.pid == b.pid);
    let function = waiting.map(|w| capture.names.get(w.function).to_string());
    let function = function.filter(|f| !f.is_empty());
    let text =
        format!("{name} (pid {}) froze {} us after everybody before it", b.pid, b.gap.0 / 1_000);
    let mut evidence = Vec::from([seen(capture, at, b.frozen, &text)]);
    if let Some((time, _, by)) = &threads[&b.pid].woken {
        let by = if by.is_empty() { "an interrupt" } else { by };
        evidence.push(seen(capture, at, *time, &format!("{by} woke it")));
    }
    if let Some(f) = &function {
        evidence.push(seen(capture, at, c.start, &format!("before, it waited in {f}")));
    }
    let task = Named { name, pid: u32::try_from(b.pid).unwrap_or(0) };
    let level = if b.gap >= SLOW { Level::Slow } else { Level::Note };
    let f = Finding::new(("freeze-blocker", Area::Freezer, level), Confidence::Likely)
        .says(format!(
            "{} was last to freeze, {} ms after everybody else: {}. The kernel looked {} ms later.",
            say::task(&task),
            say::ms(b.gap),
            b.why.words(function.as_deref()),
            say::ms(after)
        ))
        .costs(b.gap)
        .of_function(function.as_deref())
        .shown_by(evidence);
    advised(f, &task, &b.why, function.as_deref()).of_tasks([task])
}

/// What to do about a task that was last to freeze.
fn advised(f: Finding, task: &Named, why: &Why, function: Option<&str>) -> Finding {
    let name = say::task(task);
    let fuse = function.is_some_and(|f| f.starts_with("request_wait_answer"));
    match why {
        Why::Waited { .. } if fuse => f.look(format!(
            "Find the server of the FUSE file system that {name} uses; run it outside user.slice, or stop its users before sleep."
        )),
        Why::Waited { .. } => f.change(
            format!(
                "Stop {name} before sleep, in a hook: kill -STOP {}. Or see what makes its disk slow.",
                task.pid
            ),
            "kill -CONT with the same number, in the hook after sleep",
            "what it does stands still a little longer",
        ),
        Why::LongWay | Why::Computed => {
            f.look(format!("See what {name} does in the kernel: perf record -g -p {}.", task.pid))
        }
        Why::Starved { by } => f.look(format!(
            "Look at {}: a priority in real time, or too many tasks that compute on that CPU.",
            say::task(by)
        )),
    }
}

impl Why {
    /// Ends the sentence "TASK was last to freeze: …", of a task that waited in this
    /// function before.
    fn words(&self, function: Option<&str>) -> String {
        let place = function.map_or(String::new(), |f| format!(" in {f}"));
        match self {
            Why::Waited { waker } => {
                let waker = if waker.is_empty() { "an interrupt" } else { waker };
                format!("it waited{place} for I/O or a lock, until {waker} woke it")
            }
            Why::LongWay => "it was told to freeze and took long to leave the kernel".into(),
            Why::Computed => "it computed in the kernel; it did not wait for I/O".into(),
            Why::Starved { by } => format!(
                "it wanted to run and got no CPU, which {} had; it did not wait for I/O",
                say::task(by)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::{PhaseSpan, SideEvent, Thread as Known, ThreadId, Waiting};

    const US: i64 = 1_000;

    /// A freezing of 100 ms with these events: time in us, thread (0 is idle, 1 the
    /// writer, 2 a task), name, text.
    fn recording(events: &[(i64, u16, &str, &str)]) -> Capture {
        let mut c = Capture::default();
        let mut cycle = Cycle::default();
        for (pid, name) in [(0, "<idle>"), (1, "sh"), (7, "reader")] {
            let name = c.names.add(name);
            cycle.threads.push(Known { pid, name, is_main: Some(pid == 1) });
        }
        cycle.phases.push(PhaseSpan {
            phase: Phase::Freeze,
            event: dormouse_base::phase::PmEvent::Suspend,
            start: Ns(0),
            end: Ns(100_000 * US),
            cpu: 0,
            complete: true,
            printed: None,
        });
        for &(us, thread, name, text) in events {
            let (name, text) = (c.names.add(name), c.names.add(text));
            let time = Ns(us * US);
            cycle.events.push(SideEvent { time, name, thread: ThreadId(thread), cpu: 0, text });
        }
        let (name, function) = (c.names.add("reader"), c.names.add("folio_wait_bit"));
        cycle.waiting.push(Waiting { pid: 7, name, function });
        c.cycles.push(cycle);
        c
    }

    fn to_idle(pid: i32, name: &str, state: &str) -> String {
        format!(
            "prev_comm={name} prev_pid={pid} prev_prio=120 prev_state={state} ==> \
             next_comm=swapper/0 next_pid=0 next_prio=120"
        )
    }

    fn from_idle(pid: i32, name: &str) -> String {
        format!(
            "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
             next_comm={name} next_pid={pid} next_prio=120"
        )
    }

    fn found(c: &Capture) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(c, &mut out);
        out
    }

    /// The writer looks in vain, sleeps, and the reader's answer comes at 60 ms.
    #[test]
    fn a_reader_of_a_slow_disk_is_last_and_the_kernels_own_sleep_is_apart() {
        let (sleeps, wakes) = (to_idle(1, "sh", "D"), from_idle(1, "sh"));
        let (runs, freezes) = (from_idle(7, "a b"), to_idle(7, "a b", "D"));
        let c = recording(&[
            (10, 1, "sched_switch", &sleeps),
            (60_000, 0, "sched_waking", "comm=a b pid=7 prio=120 target_cpu=000"),
            (60_010, 0, "sched_switch", &runs),
            (60_020, 2, "sched_switch", &freezes),
            (66_000, 0, "sched_switch", &wakes),
            (66_010, 1, "sched_switch", &sleeps),
            (67_000, 0, "sched_switch", &wakes),
        ]);
        let all = found(&c);
        let [f] = &all[..] else { panic!("{all:?}") };
        assert_eq!((f.id, f.level), ("freeze-blocker", Level::Slow));
        assert_eq!((f.about.tasks[0].name.as_str(), f.about.tasks[0].pid), ("a b", 7));
        assert_eq!(f.costs, Some(Ns(60_020 * US)));
        assert_eq!(f.about.function.as_deref(), Some("folio_wait_bit"));
        assert_eq!(
            f.sentence,
            "a b (pid 7) was last to freeze, 60.02 ms after everybody else: it waited in folio_wait_bit for I/O or a lock, until an interrupt woke it. The kernel looked 5.98 ms later."
        );
    }

    #[test]
    fn a_task_that_runs_all_the_time_did_not_wait_and_a_quick_freezing_is_nothing() {
        let wakes = from_idle(1, "sh");
        let c = recording(&[
            (50_000, 2, "sched_switch", &to_idle(7, "reader", "D")),
            (50_100, 0, "sched_switch", &wakes),
        ]);
        let all = found(&c);
        assert!(all[0].sentence.contains("it computed in the kernel"), "{all:?}");
        // Told at once, the CPU is another's for 40 ms.
        let to_reader = "prev_comm=hog prev_pid=9 prev_prio=9 prev_state=R ==> next_comm=reader \
                         next_pid=7 next_prio=120";
        let c = recording(&[
            (10, 1, "sched_waking", "comm=reader pid=7 prio=120 target_cpu=000"),
            (40_000, 0, "sched_switch", to_reader),
            (40_010, 2, "sched_switch", &to_idle(7, "reader", "D")),
        ]);
        let all = found(&c);
        assert!(all[0].sentence.contains("got no CPU, which hog (pid 9) had"), "{all:?}");
        let c = recording(&[
            (10, 1, "sched_switch", &to_idle(1, "sh", "D")),
            (20, 0, "sched_switch", &to_idle(7, "reader", "D")),
            (900, 0, "sched_switch", &wakes),
        ]);
        assert!(found(&c).is_empty());
    }
}
