//! Lines that a writer shows once more beside the log that has them: `The line that matters is …`,
//! or the same part of a log a second time.

use super::order_of;
use super::prefix;
use crate::text;
use dormouse_base::time::Ns;
use dormouse_doctor::border;
use std::collections::HashMap;

/// So many lines somebody shows of a log at most before it is another part of one.
const SHOWN: usize = 3;
/// A log has more lines that stand one below the other.
const LOG: usize = 6;
/// So many bytes of a text are looked at: a letter is no longer.
pub(super) const LETTER: usize = 1 << 20;

/// A line of a log: when it was said, of which machine, and its words.
#[derive(PartialEq, Eq, Hash)]
struct Said<'a> {
    time: Option<Ns>,
    said: &'a [u8],
    host: &'a [u8],
    text: &'a [u8],
}

/// Lines of a log that stand one below the other.
#[derive(Default)]
struct Run<'a> {
    lines: Vec<(Said<'a>, u64)>,
    /// The places in time of its lines, if all of them name a day.
    order: Option<(i64, i64)>,
    /// So many marks stand above it that part logs: boots, headings of measurements.
    part: u32,
}

impl<'a> Run<'a> {
    fn push(&mut self, line: Said<'a>, at: u64) {
        let day = day(&line);
        self.order = match (self.order, day) {
            (None, Some(day)) if self.lines.is_empty() => Some((day, day)),
            (Some((from, to)), Some(day)) => Some((from.min(day), to.max(day))),
            _ => None,
        };
        self.lines.push((line, at));
    }

    /// Whether it is shown once more by `other` of the same text: lines that name a day, and
    /// between the two it goes back. In one second a kernel says the same twice, and a clock that
    /// begins with the boot gives two boots the same stamps.
    fn is_again(&self, other: &Run<'_>, earlier: bool) -> bool {
        let (Some(own), Some(others)) = (self.order, other.order) else { return false };
        let back = if earlier { own.0 < others.1 } else { others.0 < own.1 };
        self.part == other.part && back
    }
}

/// The place in time of a line that names its day, in seconds.
fn day(line: &Said<'_>) -> Option<i64> {
    const CLOCK: usize = 8;
    match line.time {
        Some(time) => (time > Ns::CALENDAR).then_some(time.0 / 1_000_000_000),
        None => order_of(line.said).filter(|_| line.said.len() > CLOCK).map(|o| o.1),
    }
}

/// Whether a line parts two logs.
pub(super) fn parts(line: &[u8]) -> bool {
    let plain = prefix::quotes(line).trim_ascii();
    let boot = plain.starts_with(b"-- Boot ") || plain == b"-- Reboot --";
    boot || text::find(line, b"Linux version ").is_some() || {
        let heading = plain.ends_with(b":") || plain.ends_with(b"*");
        let plain = text::lossy(plain);
        heading && (border::heading(&plain).is_some() || border::release(&plain).is_some())
    }
}

/// The numbers of such lines, in order. A text of a program has no words between its lines.
pub(super) fn pulled(bytes: &[u8]) -> Vec<u64> {
    if bytes.len() > LETTER {
        return Vec::new();
    }
    let (mut runs, mut open, mut part): (Vec<Run<'_>>, bool, u32) = (Vec::new(), false, 0);
    for (line, at) in bytes.split(|b| *b == b'\n').zip(1u64..) {
        part += u32::from(parts(line));
        let r = prefix::strip(prefix::quotes(line));
        let timed = r.time.is_some() || !r.said.is_empty();
        if !timed || !r.fresh || r.text.is_empty() {
            // Other programs write into the same journal.
            open &= text::has_date(prefix::quotes(line));
            continue;
        }
        if !std::mem::replace(&mut open, true) {
            runs.push(Run { part, ..Run::default() });
        }
        let said = Said { time: r.time, said: r.said, host: r.host, text: r.text.trim_ascii() };
        if let Some(run) = runs.last_mut() {
            run.push(said, at);
        }
    }
    if runs.len() < 2 {
        return Vec::new();
    }
    // Where each line stands: of a line that no other run has nothing is looked up.
    let mut places: HashMap<&Said<'_>, Vec<usize>> = HashMap::new();
    for (of, run) in runs.iter().enumerate() {
        for (line, _) in &run.lines {
            let places = places.entry(line).or_default();
            if places.last() != Some(&of) {
                places.push(of);
            }
        }
    }
    let mut out = Vec::new();
    for (of, run) in runs.iter().enumerate() {
        let timed = run.lines.iter().all(|l| l.0.time.is_some());
        let whole = |other: usize| {
            let (longer, log) = (&runs[other], runs[other].lines.len() >= LOG);
            let (mine, its) = (run.lines.len(), longer.lines.len());
            let first = its > mine || its == mine && other < of;
            timed && mine <= SHOWN && log || first && run.is_again(longer, other < of)
        };
        let has = |line: &Said<'_>| {
            places.get(line).is_some_and(|p| p.iter().any(|p| *p != of && whole(*p)))
        };
        if run.lines.iter().all(|l| has(&l.0)) {
            out.extend(run.lines.iter().map(|l| l.1));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_shown_once_more_is_one() {
        let log: String = (1..8).map(|n| format!("  [  {n}.000000] elm {n}: PM: step\n")).collect();
        let text = format!("The line is\n\n  [  3.000000] elm 3: PM: step\n\nof\n{log}");
        assert_eq!(pulled(text.as_bytes()), [3]);
        let after = format!("{log}\nwhere this matters:\n[  7.000000] elm 7: PM: step\n");
        assert_eq!(pulled(after.as_bytes()), [10]);
        let other = format!("The line is\n\n  [  3.500000] elm 3: PM: step\n\nof\n{log}");
        assert!(pulled(other.as_bytes()).is_empty() && pulled(log.as_bytes()).is_empty());
    }

    #[test]
    fn a_part_of_a_journal_that_is_shown_again_is_one() {
        let line = |s: u32, what: &str| format!("Feb 03 12:00:0{s} elm kernel: PM: {what}\n");
        let log = [line(1, "entry"), line(1, "fails"), line(3, "exit")].concat();
        let twice = |between: &str| pulled(format!("{log}{between}{log}").as_bytes());
        assert_eq!(twice("I see\n"), [5, 6, 7]);
        for other in ["-- Boot 12 --\n", "\nWith the patch:\n", "v6.12:\n"] {
            assert!(twice(other).is_empty(), "{other}");
        }
        // An excerpt above the log that has it, and one of a log that goes on.
        let above = format!("{}\nof\n{log}", line(3, "exit"));
        assert_eq!(pulled(above.as_bytes()), [1]);
        let on = format!("{log}\nand\n{}", line(3, "exit"));
        assert!(pulled(on.as_bytes()).is_empty(), "twice in one second");
        let clocks = log.replace("Feb 03 ", "").replace("elm kernel:", "");
        assert!(pulled(format!("{clocks}and\n{clocks}").as_bytes()).is_empty(), "of two days");
        // Another program between two attempts of one second.
        let systemd = "Feb 03 12:00:01 elm systemd-sleep[7]: again\n";
        let one = format!("{}{systemd}{}", line(1, "entry"), line(1, "entry"));
        assert!(pulled(one.as_bytes()).is_empty());
    }
}
