//! Devices that could not be brought into a power state.

use super::abort::{CHANGE, owner};
use super::drive;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, Trust};
use crate::said::shows_sleep;
use crate::stage;
use crate::trouble::troubles;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Judges them.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    unanswered(case, out);
    refused(case, out);
}

/// The devices that messages are of, each once.
fn owners(said: &[&Message]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for device in said.iter().map(|m| owner(&m.text)) {
        // Before a driver is bound it goes by the name of its bus.
        match devices.iter_mut().find(|d| d.name == device.name) {
            Some(same) if same.driver == BUS => *same = device,
            Some(same) if device == *same || device.driver == BUS => {}
            _ => devices.push(device),
        }
    }
    devices
}

/// What messages of a device without a driver begin with (drivers/base/core.c:dev_driver_string).
const BUS: &str = "pci";

/// What a device said instead of the state that was asked of it: `refused to change power state
/// from D0 to D3hot`, `Refused to change power state, currently in D3` before 5.9
/// (drivers/pci/pci.c:pci_raw_set_power_state, pci_set_low_power_state, 6.12): it answers, and
/// stays where it is.
fn refused(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "efused to change power state";
    // From where, and to where if a line says so: what is not in D0 was to come back.
    let states = |m: &Message| -> Option<(String, Option<String>)> {
        let rest = m.after(WORDS)?;
        let word = |t: &str| t.split([',', ' ', '.']).next().unwrap_or("").to_string();
        match rest.strip_prefix(" from ") {
            Some(rest) => rest.split_once(" to ").map(|(from, to)| (word(from), Some(word(to)))),
            None => rest.strip_prefix(", currently in ").map(|now| (word(now), None)),
        }
    };
    let asleep = case.attempts.iter().map(|a| a.first..a.end);
    let asleep: Vec<_> = asleep.collect();
    // Lines of the core tell where a part of an attempt goes on.
    let stages = (!case.parts.is_empty() && case.messages.has(WORDS))
        .then(|| stage::Stages::new(&case.messages));
    let half = |at: usize| stages.as_ref()?.at(at, &[]).map(|s| s.direction);
    for down in [true, false] {
        let way = if down { Direction::Suspend } else { Direction::Resume };
        let inside = |at: &usize| asleep.iter().any(|a| a.contains(at)) || half(*at) == Some(way);
        let said = case.messages.having(WORDS);
        let said = said.filter(|(at, m)| m.trust.is_of_a_kernel() && inside(at));
        let said: Vec<&Message> = said
            .map(|s| s.1)
            .filter(|m| states(m).is_some_and(|(from, _)| (from == "D0") == down))
            .collect();
        let Some((from, to)) = said.first().and_then(|m| states(m)) else { continue };
        let devices = owners(&said);
        let who = say::devices(&devices);
        let level = if down { Level::Risk } else { Level::Broken };
        let to = to.map_or_else(String::new, |to| format!(" for {to}"));
        let says = match down {
            true => format!(
                "{who} refused to leave {from}{to} when the machine went to sleep: it stays awake, and costs power."
            ),
            false => format!(
                "{who} refused to leave {from}{to} when the machine came back: it is not in D0."
            ),
        };
        let f = Finding::new(("power-state-refused", Area::Abort, level), Confidence::Likely)
            .of_devices(devices)
            .says(says)
            .look("Look in the lines before for errors of its driver, of its firmware or of the port above it.");
        out.push(f.when(Some(way), None).at(way.name()).shown_by(lines(said)));
    }
}

/// `DRIVER DEVICE: Unable to change power state from D3hot to D0, device inaccessible`
/// (drivers/pci/pci.c:pci_power_up, pci_set_low_power_state, 6.12): reads of the device gave
/// ones. From D0 it goes down, to D0 it comes back.
fn unanswered(case: &Case, out: &mut Vec<Finding>) {
    let states = |m: &Message| -> Option<(String, String)> {
        let rest = m.after(CHANGE)?;
        let (from, rest) = rest.split_once(" to ")?;
        let to = rest.split([',', ' ']).next()?;
        // `can't … (config space inaccessible)` from 5.5 to 5.17.
        rest.contains("e inaccessible").then(|| (from.to_string(), to.to_string()))
    };
    // Ports of Thunderbolt go away whenever their plug does.
    let port = |m: &Message| m.text.starts_with("pcieport ");
    let sleeps = shows_sleep(case) || resumes_in_a_dump(case);
    for down in [true, false] {
        let is = |m: &&Message| {
            (m.trust.is_of_a_kernel() || is_bare(m))
                && !port(m)
                && states(m).is_some_and(|(from, to)| (from == "D0" && to != "D0") == down)
        };
        let mut lines_of: Vec<(usize, &Message)> =
            case.messages.having(CHANGE).filter(|(_, m)| is(m)).collect();
        let method = lines_of.iter().find_map(|(at, _)| switched_on(case, *at));
        // What is pulled out is gone too; only inside a sleep nobody pulls, and where firmware
        // was asked to switch it on. A drive that is given up is told of as a drive.
        let apart = !sleeps && (down || method.is_none());
        if apart {
            lines_of.retain(|(at, _)| !is_pulled(case, *at) && !drive::is_told(case, *at));
        }
        let said: Vec<&Message> = lines_of.iter().map(|l| l.1).collect();
        // `unknown` is the state of a device that nobody brought into one yet.
        let known = said.iter().find(|m| states(m).is_some_and(|s| s.0 != "unknown"));
        let Some((from, to)) = known.or(said.first()).and_then(|m| states(m)) else { continue };
        let devices = owners(&said);
        // A port that did not answer either, right beside them: what goes away takes its port along.
        let near: Vec<&Message> = case
            .messages
            .having(CHANGE)
            .filter(|(at, m)| {
                m.trust.is_of_a_kernel()
                    && port(m)
                    && sleeps
                    && lines_of.iter().any(|l| l.0.abs_diff(*at) <= BESIDE)
            })
            .map(|(_, m)| m)
            .filter(|m| states(m).is_some_and(|(from, to)| (from == "D0" && to != "D0") == down))
            .collect();
        let ports: Vec<Device> = near.iter().map(|m| owner(&m.text)).collect();
        let beside = match ports.len() {
            0 => String::new(),
            1 => format!(" A port did not answer either: {}.", say::devices(&ports)),
            _ => format!(" Ports did not answer either: {}.", say::devices(&ports)),
        };
        let (who, half) =
            (say::devices(&devices), if down { Direction::Suspend } else { Direction::Resume });
        let level = if apart { Level::Risk } else { Level::Broken };
        let rule = ("device-not-powered", Area::Abort, level);
        let f = Finding::new(rule, Confidence::Likely).of_devices(devices);
        let above = match ports.first() {
            Some(p) => format!("the port {}, and what is above it (lspci -t)", p.name),
            None => "the port above it".into(),
        };
        let power = format!(
            "Look what cuts its power: {above}, a regulator, a reset line. As a test keep that port in D0: write 0 to its d3cold_allowed, or boot with pcie_port_pm=off."
        );
        let f = if apart {
            f.says(format!(
                "{who} does not answer: it could not be put from {from} to {to}, and the kernel has lost it. The text shows no sleep, and not what took it away; what is pulled out answers no more either.{beside}"
            ))
            .look(power)
        } else if down {
            f.says(format!(
                "{who} could not be put from {from} to {to} when the machine went to sleep: it did not answer, so it was gone before.{beside}"
            ))
            .look("Look what took it away before that: errors of its driver, of the link or of the port above it in the lines before.")
        } else {
            let when = if sleeps { "" } else { " at run time (the text shows no sleep)" };
            let f = match &method {
                Some((name, code)) => f.because(format!(
                    "Just before, the firmware's method {name}, which switches power on, was given up ({code})."
                )),
                None => f,
            };
            f.says(format!(
                "{who} could not be brought back from {from}{when}: it did not answer.{beside}"
            ))
            .look(power)
        };
        let f = if sleeps { f.when(Some(half), None).at(half.name()) } else { f };
        out.push(f.of_devices(ports).shown_by(lines(said)).shown_by(lines(near)));
    }
}

/// Whether a line of plain text is such a message and no more: a driver and an address before it.
/// That makes it a suspicion.
fn is_bare(m: &Message) -> bool {
    let owner = m.text.split_once(": ").map(|(owner, _)| owner.split(' ').collect::<Vec<_>>());
    m.trust == Trust::Prose && owner.is_some_and(|o| o.len() == 2 && o[1].matches(':').count() == 2)
}

/// Whether a dump close to such a message, of a crash or a warning, stands in the resume of a
/// device.
fn resumes_in_a_dump(case: &Case) -> bool {
    const NEAR: Ns = Ns(60_000_000_000);
    let near = |at: usize| {
        let mut lost = case.messages.having(CHANGE).map(|(_, m)| m);
        lost.any(|m| {
            stage::passed(m, &case.messages[at]).is_some_and(|p| (-NEAR..=NEAR).contains(&p))
        })
    };
    let resumes = |s: stage::Stage| s.direction == Direction::Resume;
    case.messages.has(CHANGE)
        && troubles(&case.messages)
            .iter()
            .any(|t| stage::of_dump(&t.frames).is_some_and(resumes) && near(t.at))
}

/// Whether a plug of PCI Express was pulled before message `at`
/// (drivers/pci/hotplug/pciehp_ctrl.c:pciehp_handle_presence_or_link_change, 4.19 to 7.3).
fn is_pulled(case: &Case, at: usize) -> bool {
    let before = case.messages[..at].iter().rev().take(8 * BESIDE);
    before.filter(|m| m.has("Slot(")).any(|m| m.has("Card not present") || m.has("Link Down"))
}

/// So many messages lie between a device that does not answer and its port that does not, at most.
const BESIDE: usize = 8;

/// The method of firmware that switches a power resource on and that was given up just before
/// message `at`, and why: `ACPI Error: Aborting method \_SB.PEG0._ON due to previous error
/// (AE_AML_LOOP_TIMEOUT)` (drivers/acpi/acpica/psparse.c:acpi_ps_parse_aml, 6.12).
fn switched_on(case: &Case, at: usize) -> Option<(String, String)> {
    const NEAR: usize = 8;
    case.messages[at.saturating_sub(NEAR)..at].iter().rev().find_map(|m| {
        let (method, rest) = m.after("Aborting method ")?.split_once(" due to previous error (")?;
        let code = rest.split(')').next()?;
        (m.trust.is_of_a_kernel() && method.ends_with("._ON")).then(|| (method.into(), code.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_does_not_answer_either_is_named_with_its_device() {
        let gone = "Unable to change power state from D3cold to D0, device inaccessible";
        let port = format!("pcieport 0000:0a:00.0: {gone}");
        let child = format!("elm 0000:0b:00.0: {gone}");
        let judged = |said: &[&str]| {
            let log: Vec<(i64, &str)> = said.iter().map(|s| (0, *s)).collect();
            let mut out = Vec::new();
            judge(&Case::of_log(&log), &mut out);
            out.pop()
        };
        let found = judged(&[&port, &child, "PM: suspend exit"]).expect("a finding");
        assert!(
            found.sentence.ends_with("A port did not answer either: 0000:0a:00.0 (pcieport)."),
            "{}",
            found.sentence
        );
        assert_eq!(found.about.devices.len(), 2);
        // A plug that was pulled takes its port along, and nothing else.
        assert!(judged(&[&port, "PM: suspend exit"]).is_none());
        let found = judged(&[&child]).expect("lost, behind a sleep or not");
        assert!(found.sentence.contains("The text shows no sleep"), "{}", found.sentence);
        let pulled = "pcieport 0000:0a:00.0: pciehp: Slot(9): Card not present";
        assert!(judged(&[pulled, &child]).is_none());
    }
}
