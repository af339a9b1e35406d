//! Devices that come back late, or not: waits that the kernel counts itself, phases that it
//! says are long, errors that begin with a resume.

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, seconds, thousandths};
use crate::said::complains;
use crate::stage::{is_over, passed};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// From here on a phase of devices is long. Ours: a hard disk that spins up, the slowest thing
/// that a healthy resume waits for, needs less.
const LONG: Ns = Ns(10_000_000_000);

/// Errors of one device that come again so often are no chance.
const OFTEN: usize = 3;
/// The first of them comes so soon after a sleep: a command of a disk or a GPU times out
/// after 10 to 60 s.
const SOON: Ns = Ns(90_000_000_000);

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    not_ready(case, out);
    long(case, out);
    since(case, out);
    rebooted(case, out);
}

/// The log of a boot ends in a sleep, and the next boot follows. A hibernation boots to come
/// back; `grep` leaves no other lines, and none of an end.
fn rebooted(case: &Case, out: &mut Vec<Finding>) {
    for a in case.attempts.iter().filter(|a| !a.closed) {
        let said = case.of(a);
        if a.mode == "hibernation" {
            no_image(said, out);
            continue;
        }
        let Some(at) = said.iter().position(|m| m.text.starts_with("Linux version ")) else {
            continue;
        };
        let before = case.messages[..a.first].iter().rev().take(FEW);
        let of_log = |m: &&Message| m.trust.is_of_a_kernel();
        let down = said[..at].iter().filter(of_log);
        let thawed = |m: &Message| m.has("Restarting tasks") || m.has("OOM killer enabled");
        let other = |m: &Message| {
            !["PM: ", "suspend", "Suspend", "sleep", "resume"].iter().any(|w| m.has(w))
        };
        let after = said[at + 1..].iter().take(3);
        if down.clone().any(thawed) || !down.chain(before).chain(after).any(other) {
            continue;
        }
        let (first, banner) = (&said[0], &said[at]);
        let last = &said[at - 1];
        // What stood on lines that are no messages was left out, and may have been its end.
        let inside = first.line..banner.line;
        let parts = case.boots.iter().filter(|b| inside.contains(b)).count() + at;
        let omits = |m: &Message| m.text.contains("...") && !m.trust.is_of_a_kernel();
        if banner.line - first.line != parts as u64 || said[..at].iter().any(omits) {
            continue;
        }
        let mode = if a.mode.is_empty() { "" } else { &format!(" ({})", a.mode) };
        out.push(
            Finding::new(("no-return", Area::Phase, Level::Risk), Confidence::Likely)
                .says(format!(
                    "The log of a boot ends in the sleep of line {}{mode}, and another boot follows: the machine did not come back from it, or lost its power there. How far it came after the last line the text does not show.",
                    first.line
                ))
                .look("A second time with no_console_suspend, or pm_trace (it sets the clock), tells where it stopped; a battery that ran empty tells nothing of the kernel.")
                .shown_by(lines([first].into_iter().chain((last.line != first.line).then_some(last)).chain([banner]))),
        );
    }
}

/// The boot behind a hibernation that found no image (kernel/power/swap.c:swsusp_check).
fn no_image(said: &[Message], out: &mut Vec<Finding>) {
    let boot = said.iter().position(|m| m.text.starts_with("Linux version "));
    let none = |m: &&Message| m.trust.is_of_a_kernel() && m.says("Image not found (code -22)");
    let Some(at) = boot else { return };
    let Some(found) = said[at..].iter().find(none) else { return };
    out.push(
        Finding::new(("hib-no-image", Area::Hibernation, Level::Risk), Confidence::Likely)
            .says(format!(
                "The boot behind the hibernation of line {} found no image: it was not written to the end, or not where resume= points, and what it held is lost.",
                said[0].line
            ))
            .look("Give the last lines of the boot before: whether the image was written. Compare resume= (and resume_offset= of a swap file) with swapon --show.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines([&said[0], &said[at], found])),
    );
}

/// So many messages before a sleep show that a log is whole.
const FEW: usize = 40;

/// `sdhci-pci 0000:02:00.0: not ready 65535ms after resume; giving up`
/// (drivers/pci/pci.c:pci_dev_wait, 5.0 on): the kernel waits twice as long each time.
fn not_ready(case: &Case, out: &mut Vec<Finding>) {
    struct Wait<'a> {
        device: Device,
        longest: u64,
        gave_up: bool,
        last: &'a Message,
    }
    let mut all: Vec<Wait<'_>> = Vec::new();
    let said = case.messages.having("ms after ").map(|(_, m)| m);
    for m in said.filter(|m| m.trust.is_of_a_kernel()) {
        let Some((_, rest)) = m.text.split_once("ready ") else { continue };
        let Some((ms, why)) = rest.split_once("ms after ") else { continue };
        let Ok(ms) = ms.parse::<u64>() else { continue };
        // Resets at run time are no matter of a sleep.
        if !(why.starts_with("resume") || why.starts_with("PM D3")) {
            continue;
        }
        let device = owner(&m.text);
        if !all.iter().any(|w| w.device == device) {
            all.push(Wait { device: device.clone(), longest: 0, gave_up: false, last: m });
        }
        let Some(w) = all.iter_mut().find(|w| w.device == device) else { continue };
        w.gave_up |= why.contains("giving up");
        if ms >= w.longest {
            (w.longest, w.last) = (ms, m);
        }
    }
    for w in all {
        let took = Ns(i64::try_from(w.longest).unwrap_or(0).saturating_mul(1_000_000));
        let level = if w.gave_up { Level::Broken } else { Level::Slow };
        let end = if w.gave_up { ", and the kernel gave it up" } else { "" };
        let f = Finding::new(("device-not-ready", Area::Phase, level), Confidence::Certain)
            .says(format!(
                "{} was not ready {} after it was to come back ({} ms){end}.",
                say::device(&w.device),
                say::seconds(took),
                w.longest
            ))
            .look("Look at the port above it and at the device's firmware: its link did not come up, or it did not answer on it.")
            .of_devices([w.device])
            .when(Some(Direction::Resume), None)
            .at("resume")
            .costs(took)
            .shown_by(lines([w.last]));
        out.push(f);
    }
}

/// `PM: resume of devices complete after 48120.000 msecs`
/// (drivers/base/power/main.c:dpm_show_time), `PM: resume devices took 48.120 seconds`
/// (kernel/power/suspend_test.c:suspend_test_finish).
pub(super) fn phase(m: &Message) -> Option<(Direction, String, Ns)> {
    let way = |front: &str| {
        let up = ["resume", "thaw", "restore", "recover"].iter().any(|w| front.contains(w));
        let down = ["suspend", "freeze", "poweroff", "quiesce"].iter().any(|w| front.contains(w));
        (up || down).then_some(if up { Direction::Resume } else { Direction::Suspend })
    };
    if let Some((front, rest)) = m.text.split_once(" of devices complete after ") {
        let front = front.rsplit(": ").next().unwrap_or(front);
        let ns = i64::try_from(thousandths(rest)?).ok()?.checked_mul(1_000)?;
        return Some((way(front)?, front.to_string(), Ns(ns)));
    }
    let (front, rest) = m.text.split_once(" devices took ")?;
    let front = front.rsplit(": ").next().unwrap_or(front);
    Some((way(front)?, front.to_string(), seconds(rest)?))
}

fn long(case: &Case, out: &mut Vec<Finding>) {
    for direction in [Direction::Suspend, Direction::Resume] {
        let of = |m: &Message| phase(m).filter(|p| p.0 == direction && p.2 >= LONG);
        let said = case.messages.having_any(&[" of devices complete after ", " devices took "]);
        let kernel = said.map(|(_, m)| m).filter(|m| m.trust.is_of_a_kernel());
        let said: Vec<(&Message, String, Ns)> =
            kernel.filter_map(|m| of(m).map(|(_, name, t)| (m, name, t))).collect();
        let Some((m, name, t)) = said.iter().max_by_key(|s| s.2) else { continue };
        // Who it waited for stands elsewhere already.
        let cause = out.iter().find(|f| {
            matches!(f.id, "device-not-ready" | "device-slow")
                && f.about.direction.is_none_or(|d| d == direction)
        });
        let who = cause.and_then(|f| f.about.devices.first()).map(say::device);
        let who = who.map_or(String::new(), |w| format!(" {w} alone explains much of it."));
        let took = if t.0 % 10_000_000 == 0 {
            format!("{}.{:02} s", t.0 / 1_000_000_000, t.0 / 10_000_000 % 100)
        } else {
            say::seconds(*t)
        };
        let f = Finding::new(("phase-long", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!("The {name} of devices took {took}, says the kernel.{who}"))
            .look("See which callback it was: boot with initcall_debug, or dormouse record; without it the lines before that one (resets, timeouts, firmware) tell who was waited for.")
            .when(Some(direction), Some(if direction == Direction::Resume { Phase::Resume } else { Phase::Suspend }))
            .at(direction.name())
            .costs(*t)
            .shown_by(lines([*m]));
        out.push(f);
    }
}

/// A message without what changes from one to the next: numbers.
fn kind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if !(c == '0' && out.ends_with('0')) {
            out.push(c);
        }
    }
    out
}

/// A driver that reports the same error again and again from a sleep on, and never before.
/// One that reports it once after each sleep comes back late, and comes back.
fn since(case: &Case, out: &mut Vec<Finding>) {
    // A driver says who it is: `usb 1-1: …`, `amdgpu 0000:c4:00.0: …`.
    let of_a_driver = |m: &Message| {
        m.trust.is_of_a_kernel()
            && complains(&m.text)
            && !m.has("PM: ")
            && !m.has("]: ")
            && Some(owner(&m.text)).is_some_and(|of| !of.name.is_empty() && !of.driver.is_empty())
    };
    let begins = |m: &Message| {
        m.says("suspend entry") || m.says("hibernation entry") || m.says("Freezing user space")
    };
    let ends: Vec<usize> =
        (0..case.messages.len()).filter(|&i| is_over(&case.messages, i)).collect();
    let mut told: Vec<Device> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    let mut from = 0;
    for (n, &end) in ends.iter().enumerate() {
        let old = case.messages[from..end].iter().filter(|m| of_a_driver(m)).map(|m| kind(&m.text));
        before.extend(old);
        from = end;
        // Lines of one end stand together.
        let next = ends.get(n + 1).copied().unwrap_or(case.messages.len());
        let after = &case.messages[end..next];
        let until = after.iter().position(begins).unwrap_or(after.len());
        let mut groups: Vec<(Device, String, Vec<&Message>)> = Vec::new();
        for m in after[..until].iter().filter(|m| of_a_driver(m)) {
            let (device, kind) = (owner(&m.text), kind(&m.text));
            match groups.iter_mut().find(|g| g.0 == device && g.1 == kind) {
                Some(g) => g.2.push(m),
                None => groups.push((device, kind, Vec::from([m]))),
            }
        }
        for (device, kind, list) in groups {
            let (first, last) = (list[0], list[list.len() - 1]);
            let soon = passed(&case.messages[end], first);
            let spread = passed(first, last);
            let known = out.iter().any(|f| {
                f.id == "phase-device-lost"
                    || f.about.devices.contains(&device) && f.level == Level::Broken
            });
            if list.len() < OFTEN
                || before.contains(&kind)
                || soon.is_some_and(|p| !(Ns::ZERO..=SOON).contains(&p))
                || spread.is_some_and(|p| p < LASTS)
                || known
                || told.contains(&device)
            {
                continue;
            }
            told.push(device.clone());
            out.push(errors(device, &list, soon));
        }
    }
}

/// Errors that come again for less than this are of one try that went on well.
const LASTS: Ns = Ns(5_000_000_000);

fn errors(device: Device, list: &[&Message], soon: Option<Ns>) -> Finding {
    // As the kernel names it: `usb 1-1`.
    let (who, words) = list[0].text.split_once(": ").unwrap_or((&device.name, ""));
    let after = soon.map_or(String::new(), |p| format!(", first {} after it", say::span(p)));
    Finding::new(("device-errors-since", Area::Phase, Level::Broken), Confidence::Likely)
        .says(format!(
            "{who} reports errors since the sleep and had none before: \"{}\" {}{after}.",
            words.trim(),
            say::once(list.len())
        ))
        .look("It did not come back whole: unload and load its driver to see whether that helps, and look at what it says during the resume.")
        .of_devices([device])
        .when(Some(Direction::Resume), None)
        .times(list.len())
        .at("resume")
        .shown_by(lines(list.iter().copied()))
}
