//! Marks of programs in a trace (`trace_marker`), and the sleeps that they stand behind.
//!
//! A trace has one clock, so that a mark stands behind the kernel's return as exactly as both
//! were recorded. A sleep is one that reached `machine_suspend`: what ended earlier has no way
//! back. The kernel begins with `suspend_enter` (hibernation: `freeze_processes`) and is back
//! as tasks are thawed (kernel/power/suspend.c:enter_state and kernel/power/process.c, 6.12).

use crate::event::{EventSink, Stamp, TraceEvent};
use dormouse_base::mark::Name;
use dormouse_doctor::way::{Kind, Step};

/// So many steps of one trace are kept.
const MOST: usize = 5_000;

/// What every mark has in its text.
const MARK: &[u8] = b"dormouse: mark ";

/// Whether a text has a mark at all: most have none, and pay for no more.
pub(crate) fn has_marks(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, MARK).is_some()
}

/// Whether somebody wrote a mark, behind at most the function that wrote it into the buffer
/// (`tracing_mark_write: `, or its address).
fn is_mark(text: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(text, MARK) else { return false };
    let by = text[..at].strip_suffix(b": ").is_some_and(|by| !by.contains(&b' '));
    let line = std::str::from_utf8(&text[at..]);
    (at == 0 || by) && line.is_ok_and(|l| Name::of_line(l).is_some())
}

/// Takes the events of one trace.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    steps: Vec<Step>,
    /// Where the sleep begins that is under way, and whether the machine slept in it.
    open: Option<(usize, bool)>,
    /// Places in the input are no lines.
    binary: bool,
    marked: bool,
}

impl Traced {
    /// Of text, or of a file whose places are no lines.
    pub(crate) fn of(binary: bool) -> Traced {
        Traced { binary, ..Traced::default() }
    }

    /// The steps; none where no program marked anything.
    pub(crate) fn steps(mut self) -> Vec<Step> {
        self.end(false);
        if self.marked { self.steps } else { Vec::new() }
    }

    fn put(&mut self, stamp: Stamp<'_>, kind: Kind, text: &[u8]) {
        if self.steps.len() >= MOST {
            return;
        }
        let ms = stamp.time.0.div_euclid(1_000_000);
        let text = String::from_utf8_lossy(text).trim_end().to_string();
        // Without lines the order counts, and the time leads to the event.
        let (line, text) = match self.binary {
            true => {
                let s = stamp.time.0.div_euclid(1_000_000_000);
                let us = stamp.time.0.rem_euclid(1_000_000_000) / 1_000;
                (self.steps.len() as u64 + 1, format!("{s}.{us:06} {text}"))
            }
            false => (stamp.at, text),
        };
        self.steps.push(Step { line, text, ms, grain: 1, run: 0, wall: false, kind });
    }

    /// Ends the sleep that is under way: one that never slept was none.
    fn end(&mut self, back: bool) {
        if let Some((at, slept)) = self.open.take()
            && !(slept && back)
        {
            self.steps.retain({
                let mut i = 0;
                move |s| {
                    i += 1;
                    i <= at || s.kind == Kind::App
                }
            });
        }
    }
}

impl EventSink for Traced {
    fn wants(&self, name: &[u8]) -> bool {
        matches!(name, b"suspend_resume" | b"print" | b"tracing_mark_write")
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        match event {
            TraceEvent::SuspendResume { action, begin, .. } => match (action, begin) {
                // The tasks of a sleep are frozen behind its begin.
                (b"freeze_processes", true) if self.open.is_some() => {}
                (b"suspend_enter" | b"freeze_processes", true) => {
                    self.end(false);
                    self.open = Some((self.steps.len(), false));
                    self.put(stamp, Kind::Entry, &[action, b" begins"].concat());
                }
                (b"machine_suspend", true) => {
                    if let Some(open) = &mut self.open {
                        open.1 = true;
                    }
                }
                (b"thaw_processes", false) => {
                    let slept = self.open.is_some_and(|o| o.1);
                    if slept {
                        self.put(stamp, Kind::Back, b"thaw_processes ends");
                    }
                    self.end(slept);
                }
                _ => {}
            },
            TraceEvent::Other { text, .. } if is_mark(text) => {
                self.marked = true;
                self.put(stamp, Kind::App, text);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftrace;
    use dormouse_base::loss::Losses;

    fn steps(text: &str) -> Vec<(u64, Kind, i64)> {
        let mut traced = Traced::of(false);
        ftrace::events(text.as_bytes(), &mut traced, &mut Losses::default());
        traced.steps().iter().map(|s| (s.line, s.kind, s.ms)).collect()
    }

    fn event(at: &str, text: &str) -> String {
        format!("  scand-812     [001] ..... {at}: {text}\n")
    }

    #[test]
    fn a_mark_stands_behind_the_return_of_its_sleep() {
        let text: String = [
            event("10.000000", "suspend_resume: suspend_enter[3] begin"),
            event("10.100000", "suspend_resume: freeze_processes[0] begin"),
            event("10.500000", "suspend_resume: machine_suspend[3] begin"),
            event("12.500000", "suspend_resume: machine_suspend[3] end"),
            event("12.600000", "suspend_resume: thaw_processes[0] begin"),
            event("12.604000", "suspend_resume: thaw_processes[0] end"),
            event("12.700000", "tracing_mark_write: B|812|scan"),
            event("12.852000", "tracing_mark_write: dormouse: mark scanner"),
        ]
        .concat();
        let expected =
            vec![(1, Kind::Entry, 10_000), (6, Kind::Back, 12_604), (8, Kind::App, 12_852)];
        assert_eq!(steps(&text), expected);
        let without = text.replace("dormouse: mark", "another's mark");
        assert_eq!(steps(&without), []);
        // Somebody speaks of a mark and makes none.
        let told = text.replace("dormouse: mark", "we wait for: dormouse: mark");
        assert_eq!(steps(&told), []);
    }

    #[test]
    fn what_never_slept_has_no_way_back() {
        let text: String = [
            event("10.000000", "suspend_resume: suspend_enter[3] begin"),
            event("10.200000", "tracing_mark_write: dormouse: mark early"),
            event("10.604000", "suspend_resume: thaw_processes[0] end"),
            event("11.000000", "suspend_resume: suspend_enter[3] begin"),
            event("11.852000", "tracing_mark_write: dormouse: mark scanner"),
        ]
        .concat();
        assert_eq!(steps(&text), [(2, Kind::App, 10_200), (5, Kind::App, 11_852)]);
    }
}
