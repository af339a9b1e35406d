//! Sleeps in a trace.

use super::Keep;
use crate::event::{EventSink, Kind, Stamp, TraceEvent, number, word};
use dormouse_idle::tally::{Sleeps, Tally};
use dormouse_idle::wake::Episode;
use dormouse_model::loss::{Losses, Severity};
use std::collections::HashMap;

/// State of `cpu_idle` that says a CPU is awake (`PWR_EVENT_EXIT`, -1 as u32).
const AWAKE: u64 = 4_294_967_295;

/// Counts the sleeps of a trace.
pub fn read(name: &str, bytes: &[u8], tally: Tally, keep: Keep, losses: &mut Losses) -> Sleeps {
    let mut sink = Sink {
        keep: keep == Keep::Episodes,
        out: Sleeps { name: name.into(), tally, ..Sleeps::default() },
        ..Sink::default()
    };
    crate::events(bytes, &mut sink, losses);
    let advice = "lines of idle events that cannot be understood: compare them with the original";
    losses.add("damaged_line", sink.damaged, Severity::Warning, advice, None);
    let advice =
        "the trace buffer was too small: enlarge it (buffer_size_kb), or record fewer events";
    losses.add("lost_events", sink.lost, Severity::Error, advice, None);
    sink.finish()
}

#[derive(Default)]
struct Sink {
    keep: bool,
    out: Sleeps,
    numbers: HashMap<Vec<u8>, u32>,
    damaged: u64,
    lost: u64,
    /// Task switches were recorded.
    switches: bool,
}

impl Sink {
    /// Anything on a CPU while `pid` is its current task: if that is not the
    /// idle task, the CPU left the idle loop after its last sleep.
    fn task(&mut self, cpu: u32, pid: i32, event: &[u8]) {
        self.switches |= event == b"sched_switch";
        if pid == 0 {
            return;
        }
        if let Some(e) = self.out.episodes.get_mut(&cpu).and_then(|l| l.last_mut()) {
            e.ran = Some(true);
        }
    }

    /// Where task switches were recorded, sleeps without one had none.
    fn finish(mut self) -> Sleeps {
        if self.switches {
            for e in self.out.episodes.values_mut().flatten() {
                e.ran.get_or_insert(false);
            }
        }
        self.out
    }

    /// The first thing that a CPU does after a sleep is taken for what woke it.
    fn waker(&mut self, cpu: u32, cause: &[u8]) {
        let next = self.numbers.len() as u32;
        let number = match self.numbers.get(cause) {
            Some(&n) => n,
            None => {
                self.numbers.insert(cause.to_vec(), next);
                self.out.wakers.push(String::from_utf8_lossy(cause).into_owned());
                next
            }
        };
        self.out.has_wakers = true;
        let woke = self.out.tally.woken_by(cpu, number);
        if woke
            && self.keep
            && memchr::memmem::find(cause, b"timer").is_some()
            && let Some(e) = self.out.episodes.get_mut(&cpu).and_then(|l| l.last_mut())
        {
            e.timer = true;
        }
    }
}

impl EventSink for Sink {
    fn wants(&self, event: &[u8]) -> bool {
        // Whatever a task does shows that a CPU left the idle loop.
        self.keep
            || matches!(
                event,
                b"cpu_idle"
                    | b"cpu_idle_miss"
                    | b"irq_handler_entry"
                    | b"ipi_entry"
                    | b"local_timer_entry"
                    | b"reschedule_entry"
                    | b"call_function_entry"
                    | b"call_function_single_entry"
                    | b"hrtimer_expire_entry"
            )
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn unused(&mut self, count: u64) {
        self.out.events += count;
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if let TraceEvent::Lost { count } = event {
            self.lost += count.unwrap_or(1);
            return;
        }
        self.out.events += 1;
        if self.keep && Kind::of(event.name()) != Kind::Idle {
            self.task(stamp.cpu, stamp.pid, event.name());
        }
        let TraceEvent::Other { name, text } = event else { return };
        let time = stamp.time.0;
        match name {
            b"cpu_idle" => match (number(text, b"state"), number(text, b"cpu_id")) {
                (Some(AWAKE), Some(cpu)) => {
                    self.out.tally.seen(time);
                    let slept = self.out.tally.exit(cpu as u32, time);
                    if let Some((state, enter)) = slept.filter(|_| self.keep) {
                        let e = Episode { enter, exit: time, state, timer: false, ran: None };
                        self.out.episodes.entry(cpu as u32).or_default().push(e);
                    }
                }
                // The kernel has room for ten states; a driver numbers them.
                (Some(state), Some(cpu)) if state < 64 => {
                    self.out.tally.seen(time);
                    self.out.tally.enter(cpu as u32, time, state as u32);
                }
                _ => self.damaged += 1,
            },
            b"cpu_idle_miss" => {
                let above = word(text, b"type").map(|w| w == b"above");
                match (number(text, b"state"), number(text, b"cpu_id"), above) {
                    (Some(state), Some(cpu), Some(above)) if state < 64 => {
                        self.out.has_misses = true;
                        self.out.tally.miss(cpu as u32, state as u32, above);
                    }
                    _ => self.damaged += 1,
                }
            }
            b"irq_handler_entry" => {
                let name = word(text, b"name").unwrap_or(b"?");
                self.waker(stamp.cpu, &[b"irq ", name].concat());
            }
            b"ipi_entry" => {
                let name = text.trim_ascii().trim_ascii_start();
                let name = name.strip_prefix(b"(").unwrap_or(name);
                let name = name.strip_suffix(b")").unwrap_or(name);
                self.waker(stamp.cpu, &[b"ipi ", name].concat());
            }
            b"local_timer_entry" => self.waker(stamp.cpu, b"local timer"),
            b"reschedule_entry" => self.waker(stamp.cpu, b"ipi reschedule"),
            b"call_function_entry" | b"call_function_single_entry" => {
                self.waker(stamp.cpu, b"ipi call function");
            }
            b"hrtimer_expire_entry" => {
                let function = word(text, b"function").unwrap_or(b"?");
                self.waker(stamp.cpu, &[b"timer ", function].concat());
            }
            _ => {}
        }
    }
}
