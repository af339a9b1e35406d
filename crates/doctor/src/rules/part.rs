//! A part of a device that its own driver says did not resume, with the error: the core hears of it
//! late, as an error of the whole device, or never.

use super::lost::device;
use crate::aftermath::{LINES, SOON, is_asked_in_vain};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::refusal;
use crate::said;
use crate::stage::{Stages, Work, begins, passed};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// So many devices are named.
const NAMED: usize = 3;

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

/// Whether the driver tries something else, or asked for what need not be there.
fn goes_on(m: &Message, error: i32) -> bool {
    const WORDS: [&str; 5] = ["falling back", "fall back", "retry", "trying", "optional"];
    let lower = m.text.to_ascii_lowercase();
    // Numbers as in the list of `is_asked_in_vain`, however they are written.
    matches!(error, -2 | -95 | -517 | -524)
        || WORDS.iter().any(|w| lower.contains(w))
        || is_asked_in_vain(&lower)
}

/// Whether a line tells that something works.
fn works(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let word = |w: &str| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|x| x == w);
    let up =
        lower.trim_end_matches(['.', '!', ' ']).ends_with(" up") || has(&["is up", "up again"]);
    let is = up || word("done") || word("ready") || word("recovered");
    is && !word("not")
        && !has(&["n't ", "fail", "unable", "gave up", "giv"])
        && !said::complains(text)
}

/// Whether the message `at` is of a way up: for sure, or as far as its words tell. Nothing if it is
/// of none.
fn of_resume(
    case: &Case,
    stages: &Stages<'_>,
    marks: &[(usize, Direction)],
    at: usize,
) -> Option<bool> {
    let m = &case.messages[at];
    let next = case.attempts.partition_point(|a| a.first <= at);
    let a = case.attempts[..next].last()?;
    // Where the freezing failed no device went down.
    let slept = !a.failed || a.devices;
    if at >= a.end {
        let end = case.messages[..a.end].last()?;
        let near = passed(end, m).is_some_and(|t| (Ns::ZERO..=SOON).contains(&t));
        return (a.closed && near && at - a.end <= LINES).then_some(slept);
    }
    let stage = stages.at(at, &[]).filter(|s| s.work != Some(Work::ImageRead));
    if stage.is_some_and(|s| s.direction == Direction::Resume) {
        return Some(slept);
    }
    // The way down goes on behind it.
    let behind = marks.get(marks.partition_point(|x| x.0 <= at));
    let down = behind.is_some_and(|x| x.0 < a.end && x.1 == Direction::Suspend);
    (!down).then_some(false)
}

/// Places of lines behind one of `errors` that tell that a device works.
fn worked(case: &Case, errors: &[(usize, &Message, i32)]) -> BTreeMap<Device, Vec<usize>> {
    let mut all: BTreeMap<Device, Vec<usize>> = BTreeMap::new();
    let mut from = 0;
    for (at, ..) in errors {
        // No line is looked at twice.
        let to = (at + 1 + LINES).min(case.messages.len());
        for i in from.max(at + 1)..to {
            let m = &case.messages[i];
            if !m.trust.is_of_a_kernel() || !works(&m.text) {
                continue;
            }
            let d = device(&m.text);
            if !d.name.is_empty() {
                let nameless = Device { name: String::new(), driver: d.driver.clone() };
                all.entry(nameless).or_default().push(i);
            }
            all.entry(d).or_default().push(i);
        }
        from = from.max(to);
    }
    all
}

/// A device with its lines.
struct Part<'a> {
    device: Device,
    said: Vec<(&'a Message, i32)>,
    /// One of them is of a way up for sure.
    sure: bool,
}

/// A device in words.
fn who(d: &Device) -> String {
    match (d.name.is_empty(), d.driver.is_empty()) {
        (true, true) => "a device".into(),
        (true, false) => format!("the device of {}", d.driver),
        _ => say::device(d),
    }
}

/// Devices of which a line says so, each once, and none of which it is told already.
fn parts<'a>(case: &'a Case, out: &[Finding]) -> Vec<Part<'a>> {
    let said = case.messages.having("esume").filter(|(_, m)| m.trust.is_of_a_kernel());
    let errors = said.filter_map(|(at, m)| Some((at, m, error(m)?)));
    let errors: Vec<(usize, &Message, i32)> = errors.filter(|e| !goes_on(e.1, e.2)).collect();
    if errors.is_empty() || case.attempts.is_empty() {
        return Vec::new();
    }
    let stages = Stages::new(&case.messages);
    let kernel = case.messages.iter().enumerate().filter(|(_, m)| m.trust.is_of_a_kernel());
    let marks: Vec<(usize, Direction)> =
        kernel.filter_map(|(i, m)| Some((i, begins(m)?.direction))).collect();
    let worked = worked(case, &errors);
    // The core says it of the whole device, or another rule more.
    let known = out.iter().filter(|f| f.level == Level::Broken).flat_map(|f| &f.about.devices);
    let names: BTreeSet<&str> = known.clone().map(|d| d.name.as_str()).collect();
    let drivers: BTreeSet<&str> = known.map(|d| d.driver.as_str()).collect();
    let mut all: Vec<Part<'a>> = Vec::new();
    let mut places: BTreeMap<Device, usize> = BTreeMap::new();
    for (at, m, error) in errors {
        let Some(sure) = of_resume(case, &stages, &marks, at) else { continue };
        let device = device(&m.text);
        let is_known = match device.name.is_empty() {
            true => drivers.contains(device.driver.as_str()),
            false => names.contains(device.name.as_str()),
        };
        let next = case.attempts.partition_point(|a| a.first <= at);
        let limit = case.attempts.get(next).map_or(usize::MAX, |a| a.first).min(at + 1 + LINES);
        let again = worked.get(&device).filter(|_| device != Device::default());
        let again = again.and_then(|w| w.get(w.partition_point(|x| *x <= at)));
        if is_known || again.is_some_and(|x| *x < limit) {
            continue;
        }
        let place = *places.entry(device.clone()).or_insert(all.len());
        if place == all.len() {
            all.push(Part { device, said: Vec::new(), sure: false });
        }
        all[place].said.push((m, error));
        all[place].sure |= sure;
    }
    // A line that names the driver alone is of the device that another one names.
    let named = all.iter().filter(|p| !p.device.name.is_empty());
    let named: BTreeSet<String> = named.map(|p| p.device.driver.clone()).collect();
    all.retain(|p| {
        let driver = &p.device.driver;
        !p.device.name.is_empty() || driver.is_empty() || !named.contains(driver)
    });
    all.sort_by_key(|p| !p.sure);
    all
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = parts(case, out);
    let Some(part) = all.first() else { return };
    let Some((first, error)) = part.said.first() else { return };
    let mut name = who(&part.device);
    // A name of the kernel is written as it is.
    if part.device.name.is_empty() {
        name[..1].make_ascii_uppercase();
    }
    let others: Vec<String> = all[1..].iter().take(NAMED - 1).map(|p| who(&p.device)).collect();
    let more = match all.len().saturating_sub(NAMED) {
        _ if others.is_empty() => String::new(),
        0 => format!(" The same is said of {}.", say::names(&others)),
        n => format!(
            " The same is said of {} and {} more.",
            others.join(", "),
            say::grouped(n as u64)
        ),
    };
    let (level, unsure) = match part.sure {
        true => (Level::Broken, ""),
        false => (Level::Risk, " Whether that was on the way up, no line of the core says."),
    };
    let devices = all.iter().take(NAMED).map(|p| p.device.clone()).filter(|d| !d.name.is_empty());
    let shown = part.said.iter().chain(all[1..].iter().flat_map(|p| p.said.first())).map(|s| s.0);
    out.push(
        Finding::new(("part-not-resumed", Area::Phase, level), Confidence::Likely)
            .says(format!(
                "{name} did not resume as a whole, by its driver's own words: \"{}\": {}.{unsure}{more}",
                first.text.trim().trim_end_matches('.'),
                say::told(*error)
            ))
            .look("Look at what that driver says before that line, and whether the device works afterwards.")
            .times(all.iter().map(|p| p.said.len()).sum())
            .of_devices(devices)
            .of_error(*error)
            .at("resume")
            .when(Some(Direction::Resume), None)
            .shown_by(lines(shown.take(3))),
    );
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

    fn found(log: &[(i64, &str)], ends: usize) -> Vec<Finding> {
        let attempt = Attempt { end: ends, closed: true, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(log) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out
    }

    const FAILS: (i64, &str) = (4_000, "oak 7-003c: vex_resume failed (-5).");

    #[test]
    fn lines_of_the_way_down_are_none_and_those_of_an_unknown_way_a_risk() {
        let down = (5_000, "PM: suspend of devices complete after 90.000 msecs");
        let up = (3_000, "PM: noirq resume of devices complete after 9.000 msecs");
        assert!(found(&[ENTRY, FAILS, down, EXIT], 4).is_empty());
        let level = |log: &[(i64, &str)]| found(log, log.len())[0].level;
        assert_eq!(level(&[ENTRY, up, FAILS, EXIT]), Level::Broken);
        assert_eq!(level(&[ENTRY, FAILS, EXIT]), Level::Risk);
    }

    #[test]
    fn another_try_and_a_device_that_works_behind_it_are_no_failure() {
        for line in [
            "oak 7-003c: vex_resume failed (-2)",
            "oak 7-003c: vex_resume failed, falling back to polling: -5",
            "oak 7-003c: vex_resume failed, will retry: -5",
            "oak 7-003c: failed to resume the optional vex: -5",
        ] {
            assert_eq!(told(line, 4_000), None, "{line}");
        }
        let behind = |line| found(&[ENTRY, FAILS, (5_000, line), EXIT], 4).len();
        assert_eq!(behind("oak 7-003c: vex recovered"), 0);
        assert_eq!(behind("oak 7-003d: vex recovered"), 1, "another device");
        assert_eq!(behind("oak 7-003c: vex is not ready"), 1);
    }

    #[test]
    fn many_devices_are_one_finding() {
        let line = |n: i64| format!("oak 7-000{n}: vex_resume failed (-5)");
        let text: Vec<String> = (1..=5).map(line).collect();
        let mut log = vec![ENTRY];
        log.extend(text.iter().map(|t| (4_000, t.as_str())));
        log.push(EXIT);
        let all = found(&log, log.len());
        assert_eq!((all.len(), all[0].about.devices.len()), (1, 3));
        let words = &all[0].sentence;
        assert!(
            words.starts_with("7-0001 (oak) did not") && words.contains("and 2 more"),
            "{words}"
        );
    }
}
