//! Units that failed between the request to sleep and the sleep: what they do before one was not
//! done, though systemd may go on all the same.

use super::quote::{span, words};
use super::unit::of_sleeps;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::rules::unit::is_a_sleep;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use std::collections::BTreeSet;

/// So long after the request at most, in ms: systemd gives a unit 90 s by itself
/// (src/core/manager.c: DefaultTimeoutStartSec, 257).
const LONGEST: i64 = 300_000;
/// The kernel is asked so long after a unit failed, in ms.
const THEN: i64 = 60_000;

/// What systemd says of a unit that failed (src/core/unit.c:unit_log_failure, service.c, 257), the
/// plainest words first; behind the second stands why.
const SIGNS: [(&str, &str); 4] = [
    (": Failed with result '", "'"),
    (": Main process exited, code=exited, status=", ""),
    (": start operation timed out", ""),
    (": Failed to execute ", ""),
];

/// The unit that a line calls failed, and its words.
fn unit<'a>(s: &'a Step, (words, end): (&str, &str)) -> Option<(&'a str, &'a str)> {
    let (name, rest) = s.text.split_once("]: ")?.1.split_once(words)?;
    let how = if end.is_empty() { rest } else { rest.split(end).next()? };
    let plain = !name.contains(' ') && name.contains('.') && !is_a_sleep(name);
    // 143 is what a program ends with that was asked to (SIGTERM).
    let well = how.starts_with("0/") || how.starts_with("143");
    (plain && !well).then_some((name, how))
}

/// So many lines around a failure are looked at.
const LINES: usize = 2_000;

/// Whether the unit `name`, of which line `at` says that it failed, was asked to end, or did what
/// it should all the same behind that line.
fn is_well(steps: &[Step], request: &Step, at: usize, name: &str) -> bool {
    let s = &steps[at];
    let of = |x: &Step, begin: &str, ends: &[&str]| {
        let rest = x.text.split_once("]: ").and_then(|t| t.1.strip_prefix(begin));
        let rest = rest.and_then(|r| r.strip_prefix(name));
        rest.is_some_and(|r| r.is_empty() || ends.iter().any(|e| r.starts_with(e)))
    };
    let ends = [": Deactivated successfully", ": Succeeded"];
    let done = |x: &Step| of(x, "", &ends) || of(x, "Finished ", &[" ", "."]);
    let behind = steps[at + 1..].iter().take(LINES);
    let mut behind =
        behind.take_while(|x| x.run == s.run && x.ms - s.ms <= LONGEST && x.kind != Kind::Back);
    let asked = [
        ": Main process exited, code=killed, status=15/TERM",
        ": Main process exited, code=exited, status=143",
    ];
    // What did not end in its time is sent that signal too.
    let plain = [": Failed with result 'signal'", ": Failed with result 'exit-code'"];
    let term = |x: &Step| of(x, "", &asked);
    let mut before = steps[..at].iter().rev().take(LINES);
    of(s, "", &plain) && before.by_ref().take_while(|x| x.line > request.line).any(term)
        || behind.any(done)
}

pub(super) fn judge(steps: &[Step], out: &mut Vec<Finding>) {
    let asked = |at: usize| {
        let s = &steps[at];
        let ends = [Kind::Back, Kind::Ended, Kind::Entry, Kind::Sleeps, Kind::Refused];
        // A lid or a key may ask for something else.
        let key = |x: &Step| x.text.contains("Lid closed") || x.text.contains("key pressed");
        let mut before = steps[..at].iter().rev().filter(|x| !key(x));
        let near = before.find(|x| x.kind == Kind::Asked || ends.contains(&x.kind))?;
        let of_it = near.kind == Kind::Asked && near.run == s.run && s.ms - near.ms <= LONGEST;
        of_it.then_some(near)
    };
    let mut all: Vec<(&str, usize, &Step)> = Vec::new();
    for sign in SIGNS {
        let found = steps.iter().enumerate().filter_map(|(at, s)| Some((unit(s, sign)?.0, at, s)));
        for (name, at, s) in found {
            // One unit has several of these lines.
            if all.iter().any(|u| u.0 == name) {
                continue;
            }
            if asked(at).is_some_and(|request| !is_well(steps, request, at, name)) {
                all.push((name, at, s));
            }
        }
    }
    all.sort_by_key(|u| (!of_sleeps(u.0), u.1));
    let Some(&(name, at, s)) = all.first() else { return };
    let Some(request) = asked(at) else { return };
    let own = of_sleeps(name);
    let between = steps[..at].iter().rev().take(LINES);
    let between = between.take_while(|x| x.run == s.run && x.line > request.line);
    let of_it = |x: &&Step| {
        let mut signs = SIGNS[1..].iter().filter_map(|sign| unit(x, *sign));
        x.line < s.line && signs.any(|u| u.0 == name)
    };
    let why = between.filter(of_it).last();
    let result = unit(s, SIGNS[0]).map_or(String::new(), |u| format!(" ({})", u.1));
    let names: BTreeSet<&str> = all.iter().map(|u| u.0).collect();
    let more = match names.len() - 1 {
        0 => String::new(),
        n => format!(" So did {}.", say::plural(n, "more unit")),
    };
    let so = match own {
        true => {
            " By its name it is of sleeps: what it does before one was not done, or not all of it."
        }
        false => " Whether it has to do with the sleep, no line says.",
    };
    let mut rest = steps[at + 1..].iter().take_while(|x| x.run == s.run && x.ms - s.ms <= THEN);
    let then = rest.find(|x| matches!(x.kind, Kind::Entry | Kind::Sleeps));
    let end = match then {
        Some(_) => " The machine was put to sleep all the same.",
        None => " No line behind it says that a kernel was asked to sleep.",
    };
    let level = if own { Level::Broken } else { Level::Note };
    let because = why.map(|w| format!("Before that: {}.", words(w)));
    out.push(
        Finding::new(("way-unit-before", Area::Phase, level), Confidence::Certain)
            .says(format!(
                "The unit {name} failed {} after the request to sleep{result}.{more}{so}{end}",
                span(s.ms - request.ms, s.grain)
            ))
            .because(because.unwrap_or_default())
            .look(format!(
                "journalctl -b -u {name} has what it said; systemctl cat {name} what it runs."
            ))
            .times(all.len())
            .when(Some(Direction::Suspend), None)
            .shown_by([request.shown()])
            .shown_by(why.map(|w| w.shown()))
            .shown_by([s.shown()])
            .shown_by(then.map(|t| t.shown())),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: (i64, &str, Kind) =
        (0, "systemd-logind[7]: The system will suspend now!", Kind::Asked);
    const ENTRY: (i64, &str, Kind) = (9_000, "kernel: PM: suspend entry (deep)", Kind::Entry);
    const FAILED: (i64, &str, Kind) =
        (4_000, "systemd[1]: oak-suspend.service: Failed with result 'timeout'.", Kind::Other);

    fn judged(lines: &[(i64, &str, Kind)]) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Step::of(lines), &mut out);
        out
    }

    #[test]
    fn a_unit_that_failed_before_the_sleep_is_told() {
        let alone = &judged(&[ASKED, FAILED])[0];
        assert_eq!((alone.id, alone.level), ("way-unit-before", Level::Broken));
        let words = &alone.sentence;
        assert!(words.starts_with("The unit oak-suspend.service failed 4.0 s after"), "{words}");
        assert!(words.contains("(timeout)") && words.contains("No line behind it"), "{words}");
        let gone = (
            3_000,
            "(oak.sh)[77]: oak-suspend.service: Failed to execute /opt/oak: No such file or directory",
            Kind::Other,
        );
        let exits = (
            3_500,
            "systemd[1]: oak-suspend.service: Main process exited, code=exited, status=203/EXEC",
            Kind::Other,
        );
        let went_on = judged(&[ASKED, gone, exits, FAILED, ENTRY]);
        assert_eq!(went_on.len(), 1, "one unit");
        assert!(went_on[0].sentence.contains("put to sleep all the same"));
        assert!(went_on[0].why.contains("Failed to execute /opt/oak"), "{}", went_on[0].why);
        let other = (4_000, "systemd[1]: oak.service: Failed with result 'signal'.", Kind::Other);
        assert_eq!(judged(&[ASKED, other, ENTRY])[0].level, Level::Note);
    }

    #[test]
    fn a_unit_that_was_asked_to_end_or_ended_well_behind_it_is_none() {
        let other = Kind::Other;
        let fails = |how: &'static str| (4_000, how, other);
        let code = fails("systemd[1]: oak-suspend.service: Failed with result 'exit-code'.");
        let asked = (
            3_000,
            "systemd[1]: oak-suspend.service: Main process exited, code=exited, status=143/n/a",
            other,
        );
        let well = (5_000, "systemd[1]: oak-suspend.service: Deactivated successfully.", other);
        let done = (5_000, "systemd[1]: Finished oak-suspend.service - Oak.", other);
        assert!(judged(&[ASKED, asked, code]).is_empty());
        assert!(judged(&[ASKED, FAILED, well]).is_empty());
        assert!(judged(&[ASKED, FAILED, done]).is_empty());
        // What is said behind it or before the request is no reason.
        let late = (5_000, "(oak)[7]: oak-suspend.service: Failed to execute /opt/oak: No", other);
        let early = (-900, late.1, other);
        for lines in [[ASKED, FAILED, late], [early, ASKED, FAILED]] {
            let found = judged(&lines);
            assert_eq!((found.len(), found[0].why.as_str()), (1, ""), "{lines:?}");
        }
    }

    #[test]
    fn a_unit_that_failed_at_another_time_is_not() {
        let late = (400_000, FAILED.1, Kind::Other);
        let back = (3_000, "kernel: PM: suspend exit", Kind::Back);
        let sleep = (
            4_000,
            "systemd[1]: systemd-suspend.service: Failed with result 'exit-code'.",
            Kind::Other,
        );
        let well = (
            4_000,
            "systemd[1]: oak-suspend.service: Main process exited, code=exited, status=0/SUCCESS",
            Kind::Other,
        );
        let lid = (0, "systemd-logind[7]: Lid closed.", Kind::Asked);
        for lines in [
            &[FAILED, ASKED][..],
            &[lid, FAILED],
            &[ASKED, late],
            &[ASKED, back, FAILED],
            &[ASKED, (1_000, ENTRY.1, Kind::Entry), FAILED],
            &[ASKED, sleep],
            &[ASKED, well, ENTRY],
        ] {
            assert!(judged(lines).is_empty(), "{lines:?}");
        }
    }
}
