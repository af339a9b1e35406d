//! Sleeps that a device or a wakeup ended, where the core does not say which of the two
//! (drivers/base/power/main.c:dpm_suspend, kernel/power/suspend.c:suspend_devices_and_enter).

use super::abort::{failed, names_source, owner, pending, returned};
use super::host::NEAR;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::refusal;
use crate::stage::{self, passed};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// `Some devices failed to suspend, or early wake event detected`, and nothing
/// that tells which of the two.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let tells = |m: &Message| {
        let device = failed(m).or_else(|| returned(m)).is_some();
        let step = refusal::cpu(&m.text).is_some() || m.says("System core suspend callback ");
        device || step || pending(m) || names_source(m)
    };
    let told = |a: &[Message]| a.iter().any(tells);
    let blind = |m: &&Message| refusal::of_core(&m.text).is_some();
    let spans = case.attempts.iter().map(|a| case.of(a)).filter(|a| !told(a));
    let mut said: Vec<&Message> = spans.flat_map(|a| a.iter().filter(blind)).collect();
    // A part of a log may have that line alone.
    if case.attempts.is_empty() && !told(&case.messages) {
        said = case.messages.iter().filter(|m| m.trust.is_of_a_kernel()).filter(blind).collect();
    }
    if said.is_empty() {
        return;
    }
    let which = match said.len() {
        1 => "A sleep was".to_string(),
        n => format!("{n} sleeps were"),
    };
    // A vendor's kernel may say it in words of its own.
    let own = said.iter().find_map(|s| own_words(case, s.line));
    let driver = said.iter().find_map(|s| driver(case, s.line)).filter(|_| own.is_none());
    let who = match (own, &driver) {
        (Some(m), _) => {
            format!("the kernel says why in its own words: \"{}\"", m.text.trim())
        }
        (None, Some(d)) => format!(
            "no line that was read says which, but right before it {} failed",
            say::device(&d.device)
        ),
        (None, None) => "no line that was read says which".into(),
    };
    let times = said.len();
    said.extend(own);
    let sure = if driver.is_some() { Confidence::Likely } else { Confidence::Certain };
    let f = Finding::new(("abort-unknown", Area::Abort, Level::Broken), sure)
        .says(format!("{which} ended by a device or a wakeup; {who}."))
        .look("Switch on what names it: echo 1 > /sys/power/pm_debug_messages.")
        .times(times)
        .when(Some(Direction::Suspend), None)
        .shown_by(lines(said));
    out.push(match driver {
        Some(d) => {
            let words: Vec<String> =
                d.said.iter().map(|m| format!("\"{}\"", m.text.trim())).collect();
            f.because(format!("Just before, its driver says: {}.", words.join(", ")))
                .of_devices([d.device])
                .shown_by(lines(d.said))
        }
        None => f,
    });
}

/// What a kernel says of an abort near line `at` in words that no other has.
fn own_words(case: &Case, at: u64) -> Option<&Message> {
    let at = case.messages.iter().position(|m| m.line == at)?;
    let is = |m: &&Message| {
        m.trust.is_of_a_kernel()
            && m.text.starts_with("PM: ")
            && m.has("abort")
            && !m.has(" of devices ")
    };
    let (before, after) = case.messages.split_at(at);
    let before = before.iter().rev().take(NEAR).take_while(|m| stage::begins(m).is_none());
    let after = after.iter().take(NEAR).take_while(|m| !stage::ends_sleep(m));
    before.chain(after).find(is)
}

/// What a driver says of its failure, and the device.
struct Driver<'a> {
    device: Device,
    said: Vec<&'a Message>,
}

/// From a driver's error to the core's line no more time passes: the core gives up at once.
const AT_ONCE: Ns = Ns(1_000_000_000);
/// Details stand before the line that says what failed, so many at most.
const DETAILS: usize = 3;

/// The error that a driver tells of right before the core gives up in line `at`:
/// `DRIVER DEVICE: …failed…` (drivers/base/core.c:dev_err) or `[drm:FUNCTION [MODULE]] *ERROR* …`
/// (drivers/gpu/drm/drm_print.c:__drm_err, 6.1 to 6.12, which names no device).
fn driver(case: &Case, at: u64) -> Option<Driver<'_>> {
    let at = case.messages.iter().position(|m| m.line == at)?;
    let core = |m: &Message| m.has(" of devices aborted after ") || m.says("Some devices failed");
    let before = || case.messages[..at].iter().rev().take(NEAR);
    let from = before().take_while(|m| core(m)).last().unwrap_or(&case.messages[at]);
    let near = |m: &&Message| {
        m.trust.is_of_a_kernel()
            && passed(m, from).is_none_or(|t| (Ns::ZERO..=AT_ONCE).contains(&t))
    };
    let mut said = before().skip_while(|m| core(m)).take_while(near);
    let last = said.next().filter(|m| is_error(m))?;
    let (mut device, mut said_of_it) = (speaker(last)?, vec![last]);
    for m in said {
        let Some(other) = speaker(m).filter(|o| o.driver == device.driver) else { break };
        if device.name.is_empty() {
            device.name = other.name;
        } else if !other.name.is_empty() && other.name != device.name {
            break;
        }
        if said_of_it.len() < DETAILS && is_error(m) {
            said_of_it.push(m);
        }
    }
    said_of_it.reverse();
    let named = !device.name.is_empty();
    named.then_some(Driver { device, said: said_of_it })
}

/// Whether a line tells of something that failed.
fn is_error(m: &Message) -> bool {
    let lower = m.text.to_ascii_lowercase();
    ["fail", "error", "timed out", "timeout"].iter().any(|w| lower.contains(w))
}

/// The driver that speaks, and the device; the device is empty where its line names none.
pub(super) fn speaker(m: &Message) -> Option<Device> {
    if let Some(rest) = m.text.strip_prefix("[drm:") {
        let module = rest.split_once(" [")?.1.split(']').next()?;
        return Some(Device { name: String::new(), driver: module.to_string() });
    }
    let of = owner(&m.text);
    let address = of.name.contains(|c: char| c.is_ascii_digit()) && !of.name.contains('[');
    let own = m.text.starts_with(&format!("{} {}: ", of.driver, of.name));
    (own && !of.driver.is_empty() && address && !m.has(": PM: ")).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(log: &[(i64, &str)]) -> Finding {
        let mut out = Vec::new();
        judge(&Case::of_log(log), &mut out);
        out.pop().expect("a finding")
    }

    const GAVE_UP: [(i64, &str); 2] = [
        (20_040, "PM: suspend of devices aborted after 19213.620 msecs"),
        (20_050, "PM: Some devices failed to suspend, or early wake event detected"),
    ];

    #[test]
    fn an_error_of_a_driver_right_before_is_the_likely_reason() {
        let drm = "[drm:elm_ip_suspend [elm]] *ERROR* suspend of block <oak> failed -62";
        let own = (20_000, "elm 0000:03:00.0: elm: Fail to disable features!");
        let f = judged(&[&[own, (20_001, drm)], &GAVE_UP[..]].concat());
        assert!(f.sentence.ends_with("right before it 0000:03:00.0 (elm) failed."), "{f:?}");
        assert!(f.why.contains("<oak> failed -62") && f.why.contains("Fail to"), "{}", f.why);
        assert_eq!((f.confidence, f.about.devices.len()), (Confidence::Likely, 1));
        // Long before, of nobody, or no error.
        for said in [
            [(10_000, "elm 0000:03:00.0: it failed"), (10_001, "oak 1-2: it failed")],
            [(20_000, "audit: it failed"), (20_001, "the lid failed")],
            [own, (20_002, "elm 0000:03:00.0: all is well")],
        ] {
            let f = judged(&[&said[..], &GAVE_UP[..]].concat());
            assert_eq!((f.confidence, &f.why[..]), (Confidence::Certain, ""), "{said:?}");
        }
    }
}
