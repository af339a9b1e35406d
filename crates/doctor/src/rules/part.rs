//! A part of a device that its own driver says did not resume, with the error: the core hears of it
//! late, as an error of the whole device, or never.

use super::lost::device;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::refusal;
use crate::stage::passed;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// So long behind a sleep such a line is still of it: devices resume in the background.
const SOON: Ns = Ns(20_000_000_000);
/// The same in lines.
const LINES: usize = 400;

/// The error of a line that says that something was not resumed: `resume of IP block <NAME> failed
/// -62` (drivers/gpu/drm/amd/amdgpu/amdgpu_device.c:amdgpu_device_ip_resume_phase2, 6.12), `NAME_resume
/// failed (-62)`, `failed to resume NAME: -62`. What the core says of devices is told as that.
fn error(m: &Message) -> Option<i32> {
    let lower = m.text.to_ascii_lowercase();
    let resumes = lower.contains("resume of ") && lower.contains(" failed")
        || lower.contains("_resume failed")
        || lower.contains(" resume failed")
        || lower.contains("failed to resume ");
    let other = lower.contains("runtime") || lower.contains("rpm_") || lower.contains(" returns ");
    if !resumes || other || m.has(": PM: ") || refusal::of_device(&m.text).is_some() {
        return None;
    }
    let word = m.text.trim_end().rsplit([' ', '=', ':']).next()?;
    let number = word.trim_matches(['(', ')', '.', ',', '!']);
    number.parse().ok().filter(|e| (-133..0).contains(e))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut said: Vec<(&Message, i32)> = Vec::new();
    for (at, m) in case.messages.having("esume").filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let Some(error) = error(m) else { continue };
        let of_sleep = case.attempts.iter().any(|a| {
            let behind = || {
                let end = case.messages[..a.end].last();
                let near = end.and_then(|e| passed(e, m)).is_some_and(|t| t <= SOON);
                a.closed && near && at >= a.end && at - a.end <= LINES
            };
            (a.first..a.end).contains(&at) || behind()
        });
        if of_sleep {
            said.push((m, error));
        }
    }
    let mut told = Vec::new();
    for (first, error) in &said {
        let device = device(&first.text);
        let key = (device.name.clone(), device.driver.clone());
        if told.contains(&key) {
            continue;
        }
        told.push(key);
        // The core says it of the whole device, or another rule more.
        let known = |f: &Finding| {
            f.level == Level::Broken
                && f.about.devices.iter().any(|d| {
                    d.name == device.name && !d.name.is_empty()
                        || device.name.is_empty() && d.driver == device.driver
                })
        };
        if out.iter().any(known) {
            continue;
        }
        let all: Vec<&Message> =
            said.iter().map(|s| s.0).filter(|m| self::device(&m.text) == device).collect();
        let who = match (device.name.is_empty(), device.driver.is_empty()) {
            (true, true) => "A device".into(),
            (true, false) => format!("The device of {}", device.driver),
            _ => say::device(&device),
        };
        out.push(
            Finding::new(("part-not-resumed", Area::Phase, Level::Broken), Confidence::Likely)
                .says(format!(
                    "{who} did not resume as a whole, by its driver's own words: \"{}\": {}.",
                    first.text.trim().trim_end_matches('.'),
                    say::told(*error)
                ))
                .look("Look at what that driver says before that line, and whether the device works afterwards.")
                .times(all.len())
                .of_devices((!device.name.is_empty()).then_some(device))
                .of_error(*error)
                .at("resume")
                .when(Some(Direction::Resume), None)
                .shown_by(lines(all.into_iter().take(3))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    const ENTRY: (i64, &str) = (0, "PM: suspend entry (deep)");
    const EXIT: (i64, &str) = (9_000, "PM: suspend exit");

    fn told(line: &str, at: i64) -> Option<String> {
        let log = match at < 9_000 {
            true => [ENTRY, (at, line), EXIT],
            false => [ENTRY, EXIT, (at, line)],
        };
        let end = if at < 9_000 { 3 } else { 2 };
        let attempt = Attempt { end, closed: true, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn a_part_that_its_driver_says_did_not_resume_is_told() {
        for (line, who) in [
            (
                "elmgpu 0000:0d:00.0: elmgpu: resume of block <vex> failed -62",
                "0000:0d:00.0 (elmgpu)",
            ),
            ("elmgpu: resume of block <vex> failed -62", "elmgpu did not"),
            (
                "[drm:elm_resume_2 [elmgpu]] *ERROR* resume of block <vex> failed -110",
                "The device of elmgpu",
            ),
            ("oak 7-003c: vex_resume failed (-5).", "7-003c (oak)"),
            ("oak 7-003c: failed to resume the vex: -5", "7-003c (oak)"),
        ] {
            for at in [4_000, 20_000] {
                let words = told(line, at).expect(line);
                assert!(words.starts_with(who), "{words}");
            }
            assert_eq!(told(line, 60_000), None, "{line}");
        }
        for other in [
            "oak 7-003c: PM: failed to resume async: error -5",
            "oak 7-003c: PM: dpm_run_callback(): oak_resume returns -5",
            "oak 7-003c: runtime resume failed: -5",
            "oak 7-003c: resume failed",
            "oak 7-003c: read failed: -5",
        ] {
            assert_eq!(told(other, 4_000), None, "{other}");
        }
    }
}
