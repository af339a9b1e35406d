//! What stands in the text of a trace beside its events: its head, prose of a mail, a log
//! of the kernel that somebody put there, tables.

use super::line;
use crate::babeltrace;
use crate::event::{EventSink, Stamp, TraceEvent};
use dormouse_base::loss::Losses;

/// Takes lines that are no events. They keep their numbers: events leave empty lines.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    text: Vec<u8>,
    /// The lines that `text` has.
    lines: u64,
}

impl Beside {
    /// Whether a text begins with the lines of a trace, of ftrace or of LTTng.
    pub(crate) fn is_trace(bytes: &[u8]) -> bool {
        let mut lines = bytes[..bytes.len().min(4096)].split(|&b| b == b'\n').take(8);
        lines.any(|l| line::scan(l).is_some_and(|raw| !raw.is_printed()) || babeltrace::is_event(l))
    }

    /// What stands beside the events of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Vec<u8> {
        let mut beside = Beside::default();
        if babeltrace::begins_as_babeltrace(bytes) {
            for (at, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
                if !babeltrace::is_event(line) {
                    beside.logged(line, at);
                }
            }
        } else {
            super::events(bytes, &mut beside, &mut Losses::default());
        }
        beside.text
    }

    /// The text.
    pub(crate) fn text(self) -> Vec<u8> {
        self.text
    }
}

impl EventSink for Beside {
    fn wants(&self, _: &[u8]) -> bool {
        false
    }

    fn event(&mut self, _: Stamp<'_>, _: TraceEvent<'_>) {}

    fn text(&mut self, line: &[u8], at: u64) -> bool {
        self.logged(line, at);
        false
    }

    fn logged(&mut self, line: &[u8], at: u64) {
        for _ in self.lines + 1..at {
            self.text.push(b'\n');
        }
        // A line may be told of twice.
        if self.lines < at {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
        }
        self.lines = self.lines.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_events_keep_their_places() {
        let text = "# tracer: nop\n\
            \n\
            it hung after this:\n\
            > kworker/u8:2-91 [002] .....  12.000001: rpm_idle: 1.i2c flags-4 cnt-0\n\
            kworker/u8:2-91 [002] .....    12.000002: cpu_idle: state=1 cpu_id=2\n\
            sh-7 [000] d..1.    12.250000: console: [   12.250000] PM: suspend entry (deep)\n\
            sh-7 [000] .....    12.300000: suspend_resume: dpm_prepare[2] begin\n\
            [   12.300000] rpm_reset: the controller does not answer\n\
            last";
        let beside = String::from_utf8(Beside::of(text.as_bytes())).unwrap();
        let expected: Vec<&str> = text
            .lines()
            .map(|l| match l.contains("cpu_idle: ") || l.contains("dpm_prepare") {
                true => "",
                false => l,
            })
            .collect();
        assert_eq!(beside.lines().collect::<Vec<_>>(), expected);
        let lttng = "[00:00:01.000000001] (+0.1) box rpm_idle: { cpu_id = 1 }, { flags = 12 }\nfoo";
        assert_eq!(Beside::of(lttng.as_bytes()), b"\nfoo\n");
        assert!(Beside::is_trace(lttng.as_bytes()));
        assert!(Beside::is_trace(
            b"cpus=2\n kworker/2-91 [002]    12.1: cpu_idle: state=1 cpu_id=2"
        ));
        assert!(!Beside::is_trace(b"[   12.300000] rpm_reset: the controller is reset\n"));
        assert_eq!(Beside::of(b"kworker/2-91 [002] ..... 12.1: cpu_idle: state=1 cpu_id=2\n"), b"");
    }
}
