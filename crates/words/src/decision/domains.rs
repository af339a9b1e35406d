//! What `dormouse tune` offers of power domains.

use super::device;
use crate::text::page::Page;
use crate::text::safe;
use crate::wording::offer as wording;
use dormouse_base::device::DeviceId;
use dormouse_board::Board;
use dormouse_sleep::tune::Cost;
use dormouse_sleep::tune::offer::Offer;
use serde_json::{Value, json};

/// So many are shown, and so many devices of each.
const SHOWN: usize = 8;

/// Each with what it saves and how to do it, for a terminal.
pub fn text(board: &Board, now: Cost, offers: &[Offer]) -> String {
    if offers.is_empty() {
        return String::new();
    }
    let mut page = Page::new(false);
    page.heading(wording::HEADING);
    for o in offers.iter().take(SHOWN) {
        let users: Vec<String> = o.devices.iter().map(|d| device(board, *d)).collect();
        let (suspend, resume) = ((now.suspend, o.after.suspend), (now.resume, o.after.resume));
        let unbound = o.unbind.then_some(&users[..]);
        let text = wording::sentence(&o.domain, unbound, o.saves, suspend, resume);
        page.entry("  ", &safe(&text));
        for line in how(board, o) {
            page.entry("    Do: ", &safe(&line));
        }
    }
    if offers.len() > SHOWN {
        page.entry("  ", &wording::rest(offers.len() - SHOWN));
    }
    format!("\n{}", page.finish())
}

/// How to do it, one line each.
fn how(board: &Board, o: &Offer) -> Vec<String> {
    if !o.unbind {
        return vec![wording::stay_on(&o.domain)];
    }
    let unbind = |d: &DeviceId| {
        let d = board.graph.get(*d);
        let (name, bus) = (board.names.get(d.name), board.names.get(d.subsystem));
        let bus = if bus.is_empty() { "platform" } else { bus };
        format!("echo {name} > /sys/bus/{bus}/devices/{name}/driver/unbind")
    };
    let mut out: Vec<String> = o.devices.iter().take(SHOWN).map(unbind).collect();
    if o.devices.len() > SHOWN {
        out.push(wording::more(o.devices.len() - SHOWN));
    }
    out
}

/// The same as JSON.
pub fn json(board: &Board, offers: &[Offer]) -> Value {
    let one = |o: &Offer| {
        json!({
            "domain": o.domain,
            "change": if o.unbind { "unbind" } else { "always_on" },
            "devices": o.devices.iter().map(|d| board.names.get(board.graph.get(*d).name)).collect::<Vec<_>>(),
            "suspend_ns": o.after.suspend.0,
            "resume_ns": o.after.resume.0,
            "saves_ns": o.saves.0,
            "how": how(board, o),
        })
    };
    offers.iter().map(one).collect()
}
