//! Drivers that say themselves that a part of their device did not resume.

use super::unnamed::speaker;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::refusal;
use crate::stage::Stages;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// So many lines of one device are shown.
const SHOWN: usize = 4;

/// A driver resumes its device block by block, and prints which of them failed, with its error:
/// `DRIVER DEVICE: … resume … failed … -N` (drivers/base/core.c:dev_err), or
/// `[drm:FUNCTION [MODULE]] *ERROR* …` (drivers/gpu/drm/drm_print.c:__drm_err, 6.1 to 6.12). The
/// core tells of the device by its own words (drivers/base/power/main.c:pm_dev_err), where a text
/// has them, and only if the callback hands the error on.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut said = case.messages.having("resume").filter_map(|(at, m)| Some((at, m, error(m)?)));
    let Some(first) = said.next() else { return };
    let stages = Stages::new(&case.messages);
    let mut devices: Vec<(Device, i32, Vec<&Message>)> = Vec::new();
    for (at, m, error) in [first].into_iter().chain(said) {
        // On the way down a device that sleeps at run time may be woken first.
        let up = stages.at(at, &[]).is_some_and(|s| s.direction == Direction::Resume);
        let Some(by) = speaker(m).filter(|_| up) else { continue };
        let same = |d: &Device| {
            d.driver == by.driver && (d.name == by.name || d.name.is_empty() || by.name.is_empty())
        };
        match devices.iter_mut().find(|d| same(&d.0)) {
            Some(d) => {
                if d.0.name.is_empty() {
                    d.0.name = by.name;
                }
                d.2.push(m);
            }
            None => devices.push((by, error, vec![m])),
        }
    }
    for (device, error, said) in devices {
        let known = |d: &Device| d.driver == device.driver || d.name == device.name;
        if out.iter().any(|f| f.area == Area::Abort && f.about.devices.iter().any(known)) {
            continue;
        }
        let who = match device.name.is_empty() {
            true => format!("A device of {}", device.driver),
            false => say::device(&device),
        };
        out.push(
            Finding::new(("device-not-resumed", Area::Abort, Level::Broken), Confidence::Likely)
                .says(format!(
                    "{who} did not resume whole: {}. Its driver says: \"{}\".",
                    say::told(error),
                    said[0].text.trim()
                ))
                .look("Look at what the driver says before that line: the first error is nearest to the cause. Who maintains the driver wants all of them.")
                .of_devices(Some(device).filter(|d| !d.name.is_empty()))
                .of_error(error)
                .when(Some(Direction::Resume), None)
                .shown_by(lines(said.into_iter().take(SHOWN))),
        );
    }
}

/// The error with which a driver says that a resume failed; nothing of what the core says, and of
/// a device that wakes at run time.
fn error(m: &Message) -> Option<i32> {
    let lower = m.text.to_ascii_lowercase();
    let own = m.trust.is_of_a_kernel()
        && lower.contains("fail")
        && !lower.contains("runtime")
        && !m.has("PM: ")
        && refusal::of_device(&m.text).is_none();
    let word = m.text.trim_end_matches(['.', '!', ' ', '\n']).rsplit([' ', '(', '=']).next()?;
    let error: i32 = word.trim_end_matches(')').parse().ok()?;
    (own && (-4_095..0).contains(&error)).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(log: &[(i64, &str)]) -> Vec<Finding> {
        let mut out = Vec::new();
        super::super::abort::judge(&Case::of_log(log), &mut out);
        judge(&Case::of_log(log), &mut out);
        out
    }

    const UP: (i64, &str) = (900, "PM: noirq resume of devices complete after 3.100 msecs");
    const BLOCK: (i64, &str) = (950, "elm 0000:0c:00.0: elm: resume of block <oak> failed -62");

    #[test]
    fn a_block_that_a_driver_did_not_resume_is_told() {
        let sum = (951, "elm 0000:0c:00.0: elm: elm_ip_resume failed (-62).");
        let found = judged(&[UP, BLOCK, sum]);
        assert_eq!((found.len(), found[0].id, found[0].row), (1, "device-not-resumed", "resume"));
        assert!(
            found[0].sentence.starts_with("0000:0c:00.0 (elm) did not resume whole: error -62")
        );
        assert_eq!(found[0].evidence.len(), 2);
        let drm = (949, "[drm:elm_ip_resume_two [elm]] *ERROR* resume of block <oak> failed -62");
        let found = judged(&[UP, drm, sum]);
        assert_eq!((found.len(), found[0].about.devices.len()), (1, 1), "{found:?}");
        assert!(judged(&[UP, drm])[0].sentence.starts_with("A device of elm did not resume"));
    }

    #[test]
    fn what_the_core_tells_and_what_is_no_sleep_is_not_told_here() {
        let core = (952, "elm 0000:0c:00.0: PM: failed to resume async: error -62");
        let found = judged(&[UP, BLOCK, core]);
        assert_eq!((found.len(), found[0].confidence), (1, Confidence::Certain), "{found:?}");
        for log in [
            vec![BLOCK],
            vec![UP, (940, "PM: suspend exit"), BLOCK],
            vec![(900, "PM: suspend entry (deep)"), BLOCK],
            vec![UP, (950, "elm 0000:0c:00.0: runtime resume failed -13")],
            vec![UP, (950, "elm 0000:0c:00.0: resume of block <oak> done 0")],
        ] {
            assert!(judged(&log).is_empty(), "{log:?}");
        }
    }
}
