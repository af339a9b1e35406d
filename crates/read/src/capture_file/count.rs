//! Counts what the machinery did from the scheduler's and the workqueue's own
//! events, where a trace has them (`--with sched,workqueue`).

use crate::ftrace::line::{Line, Task, scan};
use std::collections::{HashMap, HashSet};

/// The function of a work item that suspends or resumes one device (and of
/// every other item of the kernel's async code).
const ITEM: &[u8] = b"async_run_entry_fn";

/// What the kernel did inside the phases of devices, `dpm_prepare` to
/// `dpm_complete`. A count is `None` if the trace has none of the events it is
/// made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machinery {
    /// Threads that became workers of an unbound pool.
    pub workers_created: Option<u64>,
    /// Most workers with an item at once.
    pub workers_at_once: Option<u64>,
    /// Most of those that waited at once, outside of a callback.
    pub parked_at_once: Option<u64>,
    /// Waits outside of a callback, of workers with an item and of the main
    /// thread: for a device or a mutex.
    pub blocked_waits: Option<u64>,
    /// Wake-ups of workers of unbound pools and of the main thread.
    pub wakeups: Option<u64>,
    /// How often these gave up their CPU to wait.
    pub switches: Option<u64>,
}

/// A thread that suspends devices.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    item: bool,
    callback: bool,
    parked: bool,
}

#[derive(Default)]
struct Counter {
    main: Option<i32>,
    inside: bool,
    sched: bool,
    items: bool,
    threads: HashMap<i32, Thread>,
    /// Threads made by kthreadd that have not shown what they are.
    forked: HashSet<i32>,
    with_item: u64,
    parked: u64,
    created: u64,
    at_once: u64,
    parked_at_once: u64,
    waits: u64,
    wakeups: u64,
    switches: u64,
}

/// Counts in the text of a trace.
pub(super) fn machinery(trace: &[u8]) -> Machinery {
    let mut counter = Counter::default();
    let mut rest = trace;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        counter.line(&rest[..end.unwrap_or(rest.len())]);
        rest = end.map_or(&[][..], |e| &rest[e + 1..]);
    }
    counter.counts()
}

impl Counter {
    fn line(&mut self, line: &[u8]) {
        let Some(raw) = scan(line) else { return };
        let of = || raw.line(&mut Task::default());
        match raw.event {
            b"suspend_resume" if raw.text.starts_with(b"dpm_") => {
                self.inside = raw.text.ends_with(b" begin");
                self.main = of().map(|l: Line<'_>| l.pid).or(self.main);
            }
            b"sched_process_fork" => {
                self.sched = true;
                if self.inside {
                    self.forked.extend(pid(raw.text, b"child_pid="));
                }
            }
            b"sched_waking" | b"sched_switch" => {
                self.sched = true;
                if self.inside {
                    self.scheduled(raw.event, raw.text);
                }
            }
            b"workqueue_execute_start" => {
                self.items = true;
                if raw.text.ends_with(ITEM)
                    && let Some(line) = of().filter(|_| self.inside)
                {
                    self.begin_item(line.pid);
                }
            }
            b"workqueue_execute_end" => {
                if let Some(line) = of() {
                    self.end_item(line.pid);
                }
            }
            b"device_pm_callback_start" | b"device_pm_callback_end" => {
                if let Some(line) = of() {
                    let begins = raw.event.ends_with(b"start");
                    self.threads.entry(line.pid).or_default().callback = begins;
                }
            }
            _ => {}
        }
    }

    fn begin_item(&mut self, pid: i32) {
        let thread = self.threads.entry(pid).or_default();
        if !std::mem::replace(&mut thread.item, true) {
            self.with_item += 1;
            self.at_once = self.at_once.max(self.with_item);
        }
    }

    fn end_item(&mut self, pid: i32) {
        self.unpark(pid);
        let Some(thread) = self.threads.get_mut(&pid) else { return };
        thread.callback = false;
        if std::mem::take(&mut thread.item) {
            self.with_item -= 1;
        }
    }

    fn unpark(&mut self, pid: i32) {
        if let Some(thread) = self.threads.get_mut(&pid)
            && std::mem::take(&mut thread.parked)
        {
            self.parked -= 1;
        }
    }

    fn scheduled(&mut self, event: &[u8], text: &[u8]) {
        if event == b"sched_waking" {
            if let Some(pid) = pid(text, b" pid=").filter(|p| self.ours(text, b"comm=", *p)) {
                self.wakeups += 1;
                self.unpark(pid);
            }
            return;
        }
        // A new thread says that it is a worker when it first leaves a CPU.
        let Some(pid) = pid(text, b"prev_pid=").filter(|p| self.ours(text, b"prev_comm=", *p))
        else {
            return;
        };
        let state = after(text, b"prev_state=").and_then(|s| s.first());
        // Runnable: another thread only had its turn.
        if state.is_none_or(|s| *s == b'R') {
            return;
        }
        self.switches += 1;
        let main = self.main == Some(pid);
        let thread = self.threads.entry(pid).or_default();
        if state == Some(&b'D') && !thread.callback && (main || thread.item) {
            self.waits += 1;
            if !main && !std::mem::replace(&mut thread.parked, true) {
                self.parked += 1;
                self.parked_at_once = self.parked_at_once.max(self.parked);
            }
        }
    }

    /// The main thread, or a worker of an unbound pool by its name.
    fn ours(&mut self, text: &[u8], name: &[u8], pid: i32) -> bool {
        let worker = after(text, name).is_some_and(|n| n.starts_with(b"kworker/u"));
        if worker && self.forked.remove(&pid) {
            self.created += 1;
        }
        worker || self.main == Some(pid)
    }

    fn counts(&self) -> Machinery {
        let sched = |n: u64| self.sched.then_some(n);
        let both = |n: u64| (self.sched && self.items).then_some(n);
        Machinery {
            workers_created: sched(self.created),
            workers_at_once: self.items.then_some(self.at_once),
            parked_at_once: both(self.parked_at_once),
            blocked_waits: both(self.waits),
            wakeups: sched(self.wakeups),
            switches: sched(self.switches),
        }
    }
}

/// The rest of `text` behind `field`.
fn after<'a>(text: &'a [u8], field: &[u8]) -> Option<&'a [u8]> {
    memchr::memmem::find(text, field).map(|at| &text[at + field.len()..])
}

/// The number behind `field`.
fn pid(text: &[u8], field: &[u8]) -> Option<i32> {
    let rest = after(text, field)?;
    let end = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker is made, waits for a device, and runs a callback that sleeps; the
    /// main thread waits for the worker. Another worker has other work.
    const TRACE: &[u8] = b"\
 init-1 [000] ..... 1.000: sched_switch: prev_comm=init prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
 init-1 [000] ..... 1.001: suspend_resume: dpm_suspend[2] begin\n\
 kthreadd-2 [000] ..... 1.002: sched_process_fork: comm=kthreadd pid=2 child_comm=kthreadd child_pid=40\n\
 kworker/u8:1-40 [001] d..2. 1.003: sched_switch: prev_comm=kworker/u8:1 prev_pid=40 prev_prio=120 prev_state=I ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
 init-1 [000] d..3. 1.004: sched_waking: comm=kworker/u8:1 pid=40 prio=120 target_cpu=001\n\
 kworker/u8:1-40 [001] ..... 1.005: workqueue_execute_start: work struct 0: function async_run_entry_fn\n\
 kworker/u8:1-40 [001] d..2. 1.006: sched_switch: prev_comm=kworker/u8:1 prev_pid=40 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
 kworker/u8:2-41 [001] ..... 1.006: workqueue_execute_start: work struct 0: function flush_to_ldisc\n\
 kworker/u8:2-41 [001] ..... 1.006: workqueue_execute_end: work struct 0: function flush_to_ldisc\n\
 init-1 [000] d..2. 1.007: sched_switch: prev_comm=init prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
 <idle>-0 [001] d..3. 1.008: sched_waking: comm=kworker/u8:1 pid=40 prio=120 target_cpu=001\n\
 kworker/u8:1-40 [001] ..... 1.009: device_pm_callback_start: dormouse a, parent: b, type [suspend]\n\
 kworker/u8:1-40 [001] d..2. 1.010: sched_switch: prev_comm=kworker/u8:1 prev_pid=40 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
 <idle>-0 [001] d..3. 1.011: sched_waking: comm=kworker/u8:1 pid=40 prio=120 target_cpu=001\n\
 kworker/u8:1-40 [001] ..... 1.012: device_pm_callback_end: dormouse a, err=0\n\
 kworker/u8:1-40 [001] d..3. 1.013: sched_waking: comm=init pid=1 prio=120 target_cpu=000\n\
 kworker/u8:1-40 [001] ..... 1.014: workqueue_execute_end: work struct 0: function async_run_entry_fn\n\
 init-1 [000] ..... 1.015: suspend_resume: dpm_suspend[2] end\n\
 <idle>-0 [001] d..3. 1.016: sched_waking: comm=kworker/u8:1 pid=40 prio=120 target_cpu=001\n";

    #[test]
    fn what_happens_between_phases_and_to_other_work_does_not_count() {
        let got = machinery(TRACE);
        let expected = Machinery {
            workers_created: Some(1),
            workers_at_once: Some(1),
            parked_at_once: Some(1),
            blocked_waits: Some(2),
            wakeups: Some(4),
            switches: Some(4),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn without_the_events_nothing_is_counted() {
        let bare = b" a-1 [000] ..... 1.0: suspend_resume: dpm_suspend[2] begin\n";
        assert_eq!(machinery(bare), Machinery::default());
    }
}
