//! Waits inside a sleep that a driver counts in a message of its own.

use super::pause::SLOW;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::waits::{self, Wait};
use dormouse_base::say;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let line = |at: usize| case.messages.get(at).map_or(0, |m| m.line);
    let closed = case.attempts.iter().filter(|a| !a.inside && a.end > a.first);
    let ranges: Vec<(u64, u64)> = closed.map(|a| (line(a.first), line(a.end - 1))).collect();
    let all = waits::waits(case, &ranges).into_iter().flatten();
    let longest = all.filter(|w| w.counted && w.time.0 >= SLOW).max_by_key(|w| w.time);
    let Some(Wait { device, time, line, text, .. }) = longest else { return };
    let known = |f: &Finding| f.about.devices.iter().any(|d| d.name == device.name);
    let Some(shown) = case.messages.iter().find(|m| m.line == line) else { return };
    if out.iter().any(known) {
        return;
    }
    // Which way it went, lines of whoever keeps whole seconds do not prove.
    let begun = ranges.iter().rfind(|r| r.0 <= line).map_or(0, |r| r.0);
    out.push(
        Finding::new(("device-delay", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!(
                "{} waited {} in the sleep of line {}, by its own count: \"{}\".",
                say::device(&device),
                say::span(time),
                begun,
                text.trim()
            ))
            .look("Its line says what it waited for. Whether that wait has a limit, or can be left out, its driver's parameters tell: modinfo -p DRIVER.")
            .of_devices([device])
            .costs(time)
            .shown_by(lines([shown])),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    fn told(ms: u32) -> Vec<String> {
        let line = format!("elm_thermal 0000:00:0b.0: board is cool [41C] after {ms} ms delay");
        let log = [
            (0, "PM: suspend entry (s2idle)"),
            (5, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            (9_905, line.as_str()),
            (20_000, "PM: suspend exit"),
        ];
        let attempt = Attempt { end: 4, closed: true, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn a_delay_of_seconds_is_slow() {
        let [said] = &told(9_800)[..] else { panic!() };
        assert!(
            said.starts_with("0000:00:0b.0 (elm_thermal) waited 9.8 s in the sleep of line 1"),
            "{said}"
        );
        assert!(told(1_900).is_empty());
    }
}
