//! Why power domains are on, in words.

use super::number::names;
use dormouse_power::domain::{Domain, Dump, Held, Status};

/// Why a domain is on: `ffbe0000.ethernet is active, 3 devices without runtime PM`.
pub fn held(dump: &Dump, d: &Domain, h: &Held) -> String {
    if d.status != Status::On {
        return String::new();
    }
    let of = |places: &[usize]| -> Vec<String> {
        places.iter().map(|&i| d.devices[i].name().to_string()).collect()
    };
    let mut out = Vec::new();
    if !h.active.is_empty() {
        out.push(format!("in use: {}", names(&of(&h.active))));
    }
    if !h.children_on.is_empty() {
        let children: Vec<String> =
            h.children_on.iter().map(|&i| dump.domains[i].name.clone()).collect();
        out.push(format!("on inside it: {}", names(&children)));
    }
    if !h.unsupported.is_empty() {
        out.push(format!("no runtime PM: {}", names(&of(&h.unsupported))));
    }
    if !h.failed.is_empty() {
        out.push(format!("in error: {}", names(&of(&h.failed))));
    }
    if out.is_empty() && h.unseen && !d.devices.is_empty() {
        let asleep: Vec<String> = d.devices.iter().map(|d| d.name().to_string()).collect();
        let of = if asleep.len() == 1 { "1 device" } else { "devices" };
        out.push(format!("{of} shown, asleep: {}; others may be left out", names(&asleep)));
    }
    if out.is_empty() {
        out.push(if h.unseen { "users not shown".into() } else { "no user shown".into() });
    }
    out.join("; ")
}
