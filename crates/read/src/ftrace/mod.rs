//! Text of ftrace: `trace`, `trace_pipe`, and `trace-cmd report`.
//!
//! A line is `TASK-PID [(TGID)] [CPU] [FLAGS] TIME: EVENT: TEXT`. Columns come
//! and go with tracer options, so they are recognised by shape, not position.
//! Nothing is allocated per line, and lines of other events are left as soon
//! as their event name is known.

mod callback;
pub(crate) mod line;

use crate::event::{EventSink, Stamp, TraceEvent, is_side_event};
use crate::track::Tracker;
use dormouse_model::loss::Severity;
use dormouse_model::time::Ns;
use line::{Columns, Raw, Unit};

/// How far the clocks of two CPUs may lie apart.
const JUMP: Ns = Ns(100_000_000);

/// Reads a text trace.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    tracker.set_split_by_blank();
    crate::pmgraph::header(bytes, tracker);
    let mut reader = Reader {
        columns: Columns::default(),
        last: Ns(i64::MIN),
        ticks: 0,
        backwards: 0,
        unread: 0,
        first_unread: 0,
    };
    let mut at = 0u64;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        at += 1;
        reader.line(line, at, end.is_none(), tracker);
        rest = end.map_or(&[][..], |e| &rest[e + 1..]);
    }
    reader.finish(tracker);
}

struct Reader {
    columns: Columns,
    last: Ns,
    /// Lines whose clock is a bare counter.
    ticks: u64,
    backwards: u64,
    unread: u64,
    first_unread: u64,
}

impl Reader {
    fn line(&mut self, line: &[u8], at: u64, cut: bool, tracker: &mut Tracker) {
        if line.first() == Some(&b'#') {
            if let Some(rest) = line.strip_prefix(b"# platform-") {
                crate::pmgraph::footer(rest, at, tracker);
            }
            return;
        }
        let Some(raw) = self.columns.scan(line) else {
            if let Some(count) = line::lost(line) {
                let stamp =
                    Stamp { time: Ns::ZERO.max(self.last), pid: 0, comm: b"", cpu: u32::MAX, at };
                tracker.event(stamp, TraceEvent::Lost { count });
            } else if !line.trim_ascii().is_empty() && !line.starts_with(b"cpus=") {
                self.unread += 1;
                if self.first_unread == 0 {
                    self.first_unread = at;
                }
            }
            return;
        };
        let Some(event) = interesting(&raw, cut, at, tracker) else { return };
        let Some(parsed) = raw.line() else {
            self.unread += 1;
            if self.first_unread == 0 {
                self.first_unread = at;
            }
            return;
        };
        let time = parsed.time;
        if parsed.unit == Unit::Ticks {
            self.ticks += 1;
        }
        if time < self.last {
            self.backwards += 1;
            // CPUs disagree by microseconds. A jump is another trace pasted
            // behind the first, unless a clock was reset in the middle of sleep.
            if self.last - time > JUMP && !tracker.in_whole_cycle() {
                tracker.close_cycle();
                self.last = time;
            }
        }
        self.last = self.last.max(time);
        let stamp = Stamp { time, pid: parsed.pid, comm: parsed.comm, cpu: parsed.cpu, at };
        tracker.event(stamp, event);
    }

    fn finish(self, tracker: &mut Tracker) {
        let losses = tracker.losses();
        losses.add(
            "unread_line",
            self.unread,
            Severity::Info,
            "lines that are no trace events; harmless if they are text around the trace",
            Some(self.first_unread),
        );
        losses.add(
            "time_backwards",
            self.backwards,
            Severity::Warning,
            "time stamps run backwards: use the boot clock (echo boot > trace_clock)",
            None,
        );
        losses.add(
            "clock_without_unit",
            self.ticks,
            Severity::Warning,
            "the times are bare numbers and are taken as nanoseconds, which is right for the boot clock in trace-cmd report and wrong for x86-tsc or counter: record with the boot clock",
            None,
        );
    }
}

/// The event of a line, if it matters here.
fn interesting<'a>(
    line: &Raw<'a>,
    cut: bool,
    at: u64,
    tracker: &mut Tracker,
) -> Option<TraceEvent<'a>> {
    let event = match line.event {
        b"device_pm_callback_start" => callback::start(line.text),
        b"device_pm_callback_end" => callback::end(line.text),
        b"suspend_resume" => callback::step(line.text),
        name if is_side_event(name) => {
            return Some(TraceEvent::Other { name, text: line.text });
        }
        _ => return None,
    };
    if event.is_none() {
        let (kind, advice) = if cut {
            ("cut_line", "the input ends in the middle of a line: copy the file again")
        } else {
            (
                "damaged_line",
                "a line of a known event cannot be understood: compare it with the original",
            )
        };
        tracker.losses().add(kind, 1, Severity::Warning, advice, Some(at));
    }
    event
}
