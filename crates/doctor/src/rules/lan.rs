//! Network cards that may wake the machine, as ethtool shows them.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, Trust};
use dormouse_base::say;

/// What each letter of `Wake-on:` means (ethtool(8); include/uapi/linux/ethtool.h, WAKE_*).
const LETTERS: [(char, &str); 8] = [
    ('p', "a change of the link"),
    ('u', "frames to its own address"),
    ('m', "multicasts"),
    ('b', "broadcasts"),
    ('a', "ARP"),
    ('g', "magic packets"),
    ('s', "magic packets with a password"),
    ('f', "frames that fit a filter"),
];

/// So many lines above one of `Wake-on:` its card is named at most: ethtool prints a page.
const ABOVE: usize = 60;

/// The letters of a row, if it is one of what is switched on.
fn letters(m: &Message) -> Option<&str> {
    let said = m.text.trim().strip_prefix("Wake-on:")?.trim();
    let known = |c: char| LETTERS.iter().any(|l| l.0 == c);
    (!said.is_empty() && said.chars().all(known)).then_some(said)
}

/// The card that a line above names: `Settings for eth0:`, or the command.
fn card(case: &Case, at: usize) -> Option<&str> {
    case.messages[at.saturating_sub(ABOVE)..at].iter().rev().find_map(|m| {
        let text = m.text.trim();
        if let Some(name) = text.strip_prefix("Settings for ") {
            return name.strip_suffix(':');
        }
        let (_, rest) = text.split_once("ethtool ")?;
        rest.split_whitespace().find(|w| !w.starts_with('-') && w.len() > 1 && *w != "|")
    })
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having("Wake-on:").filter(|(_, m)| m.trust != Trust::Quoted);
    let all: Vec<(usize, &Message, &str)> =
        said.filter_map(|(at, m)| Some((at, m, letters(m)?))).collect();
    // Of one card that was looked at again the last state holds.
    let Some(&(at, m, on)) = all.last() else { return };
    let words: Vec<String> =
        LETTERS.iter().filter(|l| on.contains(l.0)).map(|l| l.1.to_string()).collect();
    let card = card(case, at);
    let who = card.map_or("A network card".into(), |c| format!("The network card {c}"));
    let traffic = on.chars().any(|c| "pumbaf".contains(c));
    let suspect = match traffic {
        true => {
            "What others send on the network is enough for that: a suspect where nobody woke it."
        }
        false => "Only a packet that is made for that does so.",
    };
    let name = card.unwrap_or("DEVICE");
    out.push(
        Finding::new(("wake-lan", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!(
                "{who} may wake the machine: {} (Wake-on: {on}). {suspect}",
                say::names(&words)
            ))
            .change(
                match traffic {
                    true => format!(
                        "ethtool -s {name} wol g leaves magic packets alone, wol d nothing."
                    ),
                    false => format!("ethtool -s {name} wol d"),
                },
                format!("ethtool -s {name} wol {on}"),
                "Nobody can wake the machine by the network any more.",
            )
            .of_devices(card.map(|c| Device { name: c.into(), driver: String::new() }))
            .shown_by(lines([m])),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[&str]) -> Option<String> {
        let mut out = Vec::new();
        judge(&Case::shown(rows), &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn what_may_wake_a_network_card_is_told_in_words() {
        let said = told(&["# ethtool elm0 | grep Wake", "Supports Wake-on: pumbg", "Wake-on: ug"]);
        let said = said.expect("told");
        assert!(said.starts_with("The network card elm0 may wake the machine: frames to its own"));
        assert!(said.contains("a suspect"), "{said}");
        let magic = told(&["Settings for oak7:", "\tWake-on: g"]).expect("told");
        assert!(magic.contains("oak7") && magic.contains("made for that"), "{magic}");
        assert_eq!(told(&["# ethtool elm0", "Supports Wake-on: pumbg", "Wake-on: d"]), None);
        assert_eq!(told(&["Wake-on: LAN is on"]), None);
    }
}
