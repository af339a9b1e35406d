//! Waits inside a sleep that a driver counts in a message of its own.

use super::pause::SLOW;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Trust;
use crate::waits;
use dormouse_base::say;

/// Words of messages that count a wait. Who says that he is ready is told by another rule.
const COUNTS: [&str; 3] = [" ms delay", " took ", " waited "];

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = case.messages.having_any(&COUNTS).filter(|(_, m)| m.trust == Trust::Logged);
    let all = all.filter_map(|(at, m)| {
        let (device, time) = waits::counts(&m.text).filter(|c| c.1.0 >= SLOW)?;
        let begun = &case.messages
            [case.attempts.iter().find(|a| !a.inside && (a.first..a.end).contains(&at))?.first];
        // No wait is longer than the sleep that it is in has run.
        let ran = begun.time.zip(m.time).is_none_or(|(a, b)| time <= b.since(a) + waits::LEAST);
        ran.then_some((time, device, m, begun.line))
    });
    let Some((time, device, m, begun)) = all.max_by_key(|w| w.0) else { return };
    if out.iter().any(|f| f.about.devices.iter().any(|d| d.name == device.name)) {
        return;
    }
    // Which way it went, lines of whoever keeps whole seconds do not prove.
    out.push(
        Finding::new(("device-delay", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!(
                "{} waited {} in the sleep of line {}, by its own count: \"{}\".",
                say::device(&device),
                say::span(time),
                begun,
                m.text.trim()
            ))
            .look("Its line says what it waited for. Whether that wait has a limit, or can be left out, its driver's parameters tell: modinfo -p DRIVER.")
            .of_devices([device])
            .costs(time)
            .shown_by(lines([m])),
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
