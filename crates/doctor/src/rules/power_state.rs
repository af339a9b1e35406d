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
    let bounds = if sleeps && case.messages.has(CHANGE) { bounds(case) } else { Vec::new() };
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
            let (away, rest): (Vec<_>, Vec<_>) =
                lines_of.into_iter().partition(|(at, _)| pulled(case, *at).is_some());
            lines_of = rest;
            if let Some(p) = away.first().and_then(|(at, _)| pulled(case, *at)) {
                let said: Vec<&Message> = away.iter().map(|l| l.1).collect();
                out.push(unplugged(case, &said, p));
            }
            lines_of.retain(|(at, _)| !drive::is_told(case, *at));
        } else if method.is_none() {
            // The same behind a sleep that is over.
            let (away, rest): (Vec<_>, Vec<_>) =
                lines_of.into_iter().partition(|(at, _)| left(case, &bounds, *at).is_some());
            lines_of = rest;
            if let Some(p) = away.first().and_then(|(at, _)| left(case, &bounds, *at)) {
                let said: Vec<&Message> = away.iter().map(|l| l.1).collect();
                out.push(unplugged(case, &said, p));
            }
        }
        let said: Vec<&Message> = lines_of.iter().map(|l| l.1).collect();
        // A port that did not answer either, right beside them: what goes away takes its port along.
        let of_port = |(at, m): &(usize, &Message)| {
            m.trust.is_of_a_kernel()
                && port(m)
                && states(m).is_some_and(|(from, to)| (from == "D0" && to != "D0") == down)
                && (!apart || pulled(case, *at).is_none())
        };
        let ports_of: Vec<(usize, &Message)> =
            case.messages.having(CHANGE).filter(of_port).collect();
        if said.is_empty() {
            // Docks come and go around sleeps: of a log of those it says nothing.
            let alone = case.attempts.is_empty() && out.is_empty();
            out.extend(ports_alone(&ports_of, down).filter(|_| alone));
            continue;
        }
        // `unknown` is the state of a device that nobody brought into one yet.
        let known = said.iter().find(|m| states(m).is_some_and(|s| s.0 != "unknown"));
        let Some((from, to)) = known.or(said.first()).and_then(|m| states(m)) else { continue };
        let devices = owners(&said);
        let beside = |p: &(usize, &Message)| lines_of.iter().any(|l| l.0.abs_diff(p.0) <= BESIDE);
        let mut near: Vec<&Message> = ports_of.into_iter().filter(beside).map(|(_, m)| m).collect();
        near.sort_by_key(|m| owner(&m.text).name);
        let ports = owners(&near);
        let (it, its, does) = match devices.len() + if apart { ports.len() } else { 0 } {
            1 => ("it", "its", "does"),
            _ => ("they", "their", "do"),
        };
        let (them, was) = if it == "it" { ("it", "was") } else { ("them", "were") };
        let beside = match ports.len() {
            _ if apart => String::new(),
            0 => String::new(),
            1 => format!(" A port did not answer either: {}.", say::devices(&ports)),
            _ => format!(" Ports did not answer either: {}.", say::devices(&ports)),
        };
        let (who, half) =
            (say::devices(&devices), if down { Direction::Suspend } else { Direction::Resume });
        let level = if apart { Level::Risk } else { Level::Broken };
        let rule = ("device-not-powered", Area::Abort, level);
        let f = Finding::new(rule, Confidence::Likely);
        let above = match ports.first() {
            Some(p) => format!("the port {}, and what is above it (lspci -t)", p.name),
            None => "the port above".into(),
        };
        let power = format!(
            "Look what cuts {its} power: {above}, a regulator, a reset line. As a test keep that port in D0: write 0 to its d3cold_allowed, or boot with pcie_port_pm=off."
        );
        let f = if apart {
            // A port has a higher bus number than what is above it (drivers/pci/probe.c:
            // pci_scan_bridge_extend numbers buses on the way down, 6.12).
            let (who, top) = match ports.first() {
                Some(top) => {
                    let (one, more) = match ports.len() {
                        1 => ("The port", "is the one that"),
                        _ => ("Of the ports", "is nearest to the root by its bus number, and"),
                    };
                    let all: Vec<Device> = ports.iter().chain(&devices).cloned().collect();
                    let top =
                        format!(" {one} {} {more} takes what is below along.", say::device(top));
                    (say::devices(&all), top)
                }
                None => (who, String::new()),
            };
            f.says(format!(
                "{who} {does} not answer: {it} could not be put from {from} to {to}, and the kernel has lost {them}.{top} The text shows no sleep, and not what took {them} away; what is pulled out answers no more either."
            ))
            .look(power)
        } else if down {
            f.says(format!(
                "{who} could not be put from {from} to {to} when the machine went to sleep: {it} did not answer, so {it} {was} gone before.{beside}"
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
                "{who} could not be brought back from {from}{when}: {it} did not answer.{beside}"
            ))
            .look(power)
        };
        let f = if sleeps { f.when(Some(half), None).at(half.name()) } else { f };
        let f = if apart {
            f.of_devices(ports).of_devices(devices).shown_by(lines(near)).shown_by(lines(said))
        } else {
            f.of_devices(devices).of_devices(ports).shown_by(lines(said)).shown_by(lines(near))
        };
        out.push(f);
    }
}

/// Ports that did not answer, and nothing below them that says so. Ports of Thunderbolt go away
/// whenever their plug does.
fn ports_alone(said: &[(usize, &Message)], down: bool) -> Option<Finding> {
    let said: Vec<&Message> = said.iter().map(|s| s.1).collect();
    let ports = owners(&said);
    let (does, them) = match ports.len() {
        0 => return None,
        1 => ("does", "it"),
        _ => ("do", "them"),
    };
    let half = if down { Direction::Suspend } else { Direction::Resume };
    let rule = ("port-gone", Area::Abort, Level::Note);
    let f = Finding::new(rule, Confidence::Likely)
        .says(format!(
            "{} {does} not answer: what is below {them} cannot be reached. No device below says that it was lost, and the text does not show whether a plug was pulled.",
            say::devices(&ports)
        ))
        .look("See what is below that port (lspci -t), and whether it works.")
        .of_devices(ports)
        .when(Some(half), None);
    Some(f.shown_by(lines(said)))
}

/// What a slot or a plug said around a device that was lost.
struct Pulled<'a> {
    first: &'a Message,
    at: usize,
}

/// Devices that somebody pulled out, or whose link went: no fault of their power.
fn unplugged(case: &Case, said: &[&Message], p: Pulled<'_>) -> Finding {
    let devices = owners(said);
    let port = owner(&p.first.text);
    // `Slot(5): Link Down`: the slot, and what it says.
    let slot = |m: &Message| {
        let (slot, rest) = m.after("Slot(")?.split_once("): ")?;
        Some((slot.to_string(), rest.trim().to_string()))
    };
    let of = slot(p.first);
    let next = |words: &str| {
        let behind = case.messages[p.at + 1..].iter().take(8 * BESIDE);
        let same = |m: &Message| slot(m).map(|s| s.0) == of.as_ref().map(|s| s.0.clone());
        behind.filter(|m| of.is_some() && same(m)).find(|m| m.has(words))
    };
    let (empty, up) = (next("Card not present"), next("Link Up"));
    let what = match &of {
        Some((slot, word)) => {
            let then = match (empty, up) {
                (Some(_), _) if word != "Card not present" => " and then \"Card not present\"",
                (_, Some(_)) => " and later \"Link Up\"",
                _ => "",
            };
            format!("slot {slot} of port {} said \"{word}\"{then}", port.name)
        }
        None => format!("{} said \"device disconnected\"", say::device(&port)),
    };
    let gone = of.as_ref().is_none_or(|s| s.1 == "Card not present") || empty.is_some();
    let why = match gone {
        true => "it was pulled out, or lost its link",
        false => "its link went",
    };
    let verb = if devices.len() == 1 { "does" } else { "do" };
    Finding::new(("device-unplugged", Area::Abort, Level::Note), Confidence::Likely)
        .says(format!(
            "{} {verb} not answer, and {what}: {why}. That is no fault of power management.",
            say::devices(&devices)
        ))
        .look("If nobody pulled it, look at the plug, the cable and the slot.")
        .of_devices(devices)
        .shown_by(lines([p.first].into_iter().chain(empty.or(up)).chain(said.first().copied())))
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

/// What tells that a plug was pulled around message `at`: a slot of PCI Express
/// (drivers/pci/hotplug/pciehp_ctrl.c:pciehp_handle_presence_or_link_change, 4.19 to 7.3), or
/// Thunderbolt (drivers/thunderbolt/switch.c:tb_switch_remove, 6.12). Whoever reads the device may
/// be told earlier than the port's interrupt runs.
fn pulled(case: &Case, at: usize) -> Option<Pulled<'_>> {
    let lost = &case.messages[at];
    let soon = |m: &Message| stage::passed(lost, m).is_none_or(|p| p.0.abs() <= SOON.0);
    plugs(case, at).find(|p| p.at < at || soon(p.first))
}

/// All that tells so around message `at`.
fn plugs(case: &Case, at: usize) -> impl Iterator<Item = Pulled<'_>> {
    let says = |m: &Message| {
        m.has("Slot(") && (m.has("): Card not present") || m.has("): Link Down"))
            || m.text.starts_with("thunderbolt ") && m.text.ends_with(": device disconnected")
    };
    let from = at.saturating_sub(8 * BESIDE);
    let to = case.messages.len().min(at + 8 * BESIDE);
    (from..to)
        .map(|i| Pulled { first: &case.messages[i], at: i })
        .filter(move |p| says(p.first) && p.first.trust.is_of_a_kernel())
}

/// Where sleeps begin and end, and whether they end there.
fn bounds(case: &Case) -> Vec<(usize, bool)> {
    const WORDS: [&str; 6] = [
        "suspend e",
        "hibernation e",
        "Finishing wakeup",
        "Freezing ",
        "Linux version ",
        "suspend-to-idle",
    ];
    let said = case.messages.having_any(&WORDS).filter(|(_, m)| m.trust.is_of_a_kernel());
    let bound = |(at, m): (usize, &Message)| match stage::ends(m) {
        true => Some((at, true)),
        false => stage::begins(m).map(|_| (at, false)),
    };
    said.filter_map(bound).collect()
}

/// What tells that a plug was pulled near message `at` in time, behind the end of a sleep. Of a
/// device that was lost in the sleep only that the slot is empty explains it: a link also goes
/// where the device has no power.
fn left<'a>(case: &'a Case, bounds: &[(usize, bool)], at: usize) -> Option<Pulled<'a>> {
    let over = |at: usize| {
        let before = bounds.partition_point(|b| b.0 < at).checked_sub(1);
        before.is_some_and(|b| bounds[b].1)
    };
    let lost = &case.messages[at];
    let near = |m: &Message| stage::passed(lost, m).is_some_and(|t| t.0.abs() <= SOON.0);
    let explains = |p: &Pulled<'_>| over(at) || !p.first.has("): Link Down");
    plugs(case, at).find(|p| over(p.at) && near(p.first) && explains(p))
}

/// A plug that was pulled explains what fails so near to it.
const SOON: Ns = Ns(10_000_000_000);

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
        let alone = judged(&[&port, "PM: suspend exit"]).expect("a note");
        assert_eq!((alone.id, alone.level), ("port-gone", Level::Note));
        let found = judged(&[&child]).expect("lost, behind a sleep or not");
        assert!(found.sentence.contains("The text shows no sleep"), "{}", found.sentence);
        let pulled = "pcieport 0000:0a:00.0: pciehp: Slot(9): Card not present";
        for said in [[pulled, &child], [&child, pulled]] {
            let away = judged(&said).expect("a note");
            assert_eq!((away.id, away.level), ("device-unplugged", Level::Note));
            assert_eq!(
                away.sentence,
                "0000:0b:00.0 (elm) does not answer, and slot 9 of port 0000:0a:00.0 said \"Card not present\": it was pulled out, or lost its link. That is no fault of power management."
            );
        }
        let down = "pcieport 0000:0a:00.0: pciehp: Slot(9): Link Down";
        let up = "pcieport 0000:0a:00.0: pciehp: Slot(9): Link Up";
        let back = judged(&[down, &child, up]).expect("a note").sentence;
        assert!(
            back.contains("said \"Link Down\" and later \"Link Up\": its link went."),
            "{back}"
        );
    }

    #[test]
    fn a_plug_that_is_pulled_behind_a_sleep_explains_what_is_lost() {
        let gone =
            "elm 0000:0b:00.0: Unable to change power state from D3cold to D0, device inaccessible";
        let pulled = "pcieport 0000:0a:00.0: pciehp: Slot(9): Card not present";
        let (entry, exit) = ("PM: suspend entry (deep)", "PM: suspend exit");
        let judged = |log: &[(i64, &str)]| {
            let mut out = Vec::new();
            judge(&Case::of_log(log), &mut out);
            out.pop().map(|f| f.id)
        };
        let log = |away: i64, lost: i64| {
            let mut log = vec![(1_000, entry), (9_000, exit), (away, pulled), (lost, gone)];
            log.sort_by_key(|l| l.0);
            judged(&log)
        };
        assert_eq!(log(70_000, 71_000), Some("device-unplugged"));
        assert_eq!(log(71_000, 70_000), Some("device-unplugged"));
        assert_eq!(log(30_000, 71_000), Some("device-not-powered"), "long before");
        assert_eq!(log(7_000, 8_000), Some("device-not-powered"), "inside of the sleep");
    }

    #[test]
    fn of_a_tree_that_is_lost_the_port_nearest_to_the_root_comes_first() {
        let gone = "Unable to change power state from D3hot to D0, device inaccessible";
        let said = ["oak 0000:45:00.0", "pcieport 0000:41:02.0", "pcieport 0000:3f:00.0"]
            .map(|d| format!("{d}: {gone}"));
        let log: Vec<(i64, &str)> = said.iter().map(|s| (0, s.as_str())).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        let [f] = &out[..] else { panic!("{out:?}") };
        assert!(
            f.sentence.starts_with(
                "0000:3f:00.0 (pcieport), 0000:41:02.0 (pcieport) and 0000:45:00.0 (oak) do not answer: they could not be put from D3hot to D0, and the kernel has lost them. Of the ports 0000:3f:00.0 (pcieport) is nearest to the root by its bus number, and takes what is below along."
            ),
            "{}",
            f.sentence
        );
    }
}
