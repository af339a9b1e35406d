//! USB controllers that die in a sleep, or have lost what they knew behind it.

use super::abort::{failed, owner};
use super::host::{NEAR, is_behind};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::stage::Stages;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// What a controller says that is dead: drivers/usb/host/xhci-ring.c:xhci_hc_died and
/// drivers/usb/core/hcd.c:usb_hc_died, 6.12.
const DIED: [&str; 2] = ["HC died; cleaning up", "host controller not responding, assume dead"];
/// What one says that has lost what it knew over the sleep, or does not stop to begin anew
/// (drivers/usb/host/xhci.c:xhci_resume and xhci_halt, 6.12).
const LOST: [&str; 2] = ["xHC error in resume", "Host halt failed"];

/// What its driver says of a controller that is taken away, as a dock is that is unplugged: it
/// does not answer either (drivers/usb/core/hcd.c:usb_remove_hcd, 6.12).
const TAKEN: &str = "remove, state ";
/// So many messages lie between both at most.
const APART: usize = 64;

/// Controllers that died in a sleep, or came back without what they knew. All that hangs behind
/// one is gone with it, or found anew: it is told before those devices.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let words = [DIED[0], DIED[1], LOST[0], LOST[1]];
    let said: Vec<(usize, &Message)> = case.messages.having_any(&words).collect();
    if said.is_empty() {
        return;
    }
    let stages = Stages::new(&case.messages);
    // A device behind it that does not resume right below tells the same of a part of a log.
    let way = |at: usize| {
        let mut next = case.messages[at..].iter().take(NEAR);
        match stages.at(at, &[]) {
            Some(stage) => Some(stage.direction),
            None => next.any(|m| failed(m).is_some_and(|f| f.is_up())).then_some(Direction::Resume),
        }
    };
    let is_taken = |at: usize, name: &str| {
        let near = at.saturating_sub(APART)..(at + APART).min(case.messages.len());
        case.messages[near].iter().any(|m| m.has(TAKEN) && owner(&m.text).name == name)
    };
    let mut hosts: Vec<(String, Direction, Vec<&Message>)> = Vec::new();
    for (at, m) in said.into_iter().filter(|(_, m)| m.trust.is_of_a_kernel()) {
        let name = owner(&m.text).name;
        let Some(way) = way(at).filter(|_| !name.is_empty() && !is_taken(at, &name)) else {
            continue;
        };
        match hosts.iter_mut().find(|h| h.0 == name) {
            Some(h) => h.2.push(m),
            None => hosts.push((name, way, vec![m])),
        }
    }
    for (name, way, said) in hosts {
        // One that ended the sleep, or did not resume itself, is told by its error.
        let of_it = |f: &Finding| f.about.devices.iter().any(|d| d.name == name);
        if out.iter().any(|f| f.area == Area::Abort && of_it(f)) {
            continue;
        }
        let died = said.iter().any(|m| DIED.iter().any(|w| m.has(w)));
        let (device, up) = (owner(&said[0].text), way == Direction::Resume);
        let when = if up { "while the machine came back" } else { "in the sleep" };
        let at = case.messages.partition_point(|m| m.line < said[0].line);
        let mut next = case.messages[at..].iter().take(NEAR);
        let lost = next.any(|m| failed(m).is_some_and(|f| f.is_up() && is_behind(f.device)));
        let halts = said.iter().any(|m| m.has(LOST[1]));
        let (level, text) = match died {
            true => (Level::Broken, format!("died {when}, and what hangs behind it went with it.")),
            false => (
                match (lost, halts) {
                    (true, _) => Level::Broken,
                    (false, true) => Level::Risk,
                    (false, false) => Level::Note,
                },
                format!(
                    "had an error {when}, so the kernel sets it up anew: \"{}\". {}",
                    said[0].text.trim(),
                    if lost {
                        "USB devices did not resume right behind that."
                    } else {
                        "What hangs behind it is found anew."
                    }
                ),
            ),
        };
        out.push(
            Finding::new(("host-died", Area::Abort, level), Confidence::Certain)
                .says(format!("The USB controller {} {text}", say::device(&device)))
                .look("What hangs behind it is not at fault. To have it back, write its address to unbind and then to bind, in the folder of its driver below /sys/bus/pci/drivers.")
                .of_devices([device])
                .when(Some(way).filter(|_| up), None)
                .shown_by(lines(said)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(log: &[(i64, &str)]) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_log(log), &mut out);
        out
    }

    const ENTRY: (i64, &str) = (0, "PM: suspend entry (deep)");
    const UP: (i64, &str) = (900, "PM: noirq resume of devices complete after 3.100 msecs");
    const DIED: (i64, &str) = (1_000, "xhci_hcd 0000:0c:00.3: HC died; cleaning up");

    #[test]
    fn a_controller_that_dies_in_a_sleep_is_told_itself() {
        let found = judged(&[ENTRY, UP, DIED, (1_001, "usb 6-2: USB disconnect, device number 3")]);
        assert_eq!(
            (found[0].id, found[0].level, found[0].row),
            ("host-died", Level::Broken, "resume")
        );
        assert!(found[0].sentence.contains("0000:0c:00.3 (xhci_hcd) died while the machine came"));
        // A part of a log: a device behind it tells where it stands.
        let below = (1_001, "usb 6-2: PM: failed to resume async: error -19");
        assert_eq!(judged(&[DIED, below]).len(), 1);
        let lost = (1_000, "xhci_hcd 0000:0c:00.3: xHC error in resume, USBSTS 0x411, Reinit");
        assert_eq!(judged(&[ENTRY, UP, lost])[0].level, Level::Note);
        assert_eq!(judged(&[ENTRY, UP, lost, below])[0].level, Level::Broken);
        let halt = (1_000, "xhci_hcd 0000:0c:00.3: Host halt failed, -110");
        assert_eq!(judged(&[ENTRY, UP, halt])[0].level, Level::Risk);
        assert_eq!(judged(&[ENTRY, UP, lost, DIED])[0].level, Level::Broken);
        let taken = (1_002, "xhci_hcd 0000:0c:00.3: remove, state 1");
        assert!(judged(&[ENTRY, UP, DIED, taken]).is_empty(), "somebody unplugged it");
    }

    #[test]
    fn one_that_dies_in_use_is_none_of_a_sleep() {
        assert!(judged(&[DIED]).is_empty());
        assert!(judged(&[ENTRY, UP, (950, "PM: suspend exit"), (90_000, DIED.1)]).is_empty());
    }
}
