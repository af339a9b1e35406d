//! Power domains that were switched inside callbacks.

use super::doctor::{Advice, look};
use super::number::ms;
use super::phase;
use dormouse_base::device::DeviceId;
use dormouse_doctor::fact::Fact;
use dormouse_doctor::switch::Cause;

/// The heading of the list.
pub const HEADING: &str = "Power domains switched in callbacks";

/// What is to be said of one; `name` names a device.
pub fn cause(c: &Cause, domain: Option<&str>, name: impl Fn(DeviceId) -> String) -> String {
    let device = c.device.map(&name);
    let Some(domain) = domain else {
        return format!(
            "at least, inferred: the power domain of {}, {}; its callback is so much longer than \
             others with a domain",
            device.unwrap_or_default(),
            phase(c.phase)
        );
    };
    let mut text = format!("{domain} {}, {}", way(c.on), phase(c.phase));
    if let Some(d) = device {
        text += &format!("; {}: {d}", place(c.on));
    }
    text += used(c.unused, c.idle_after.is_some());
    let waited: Vec<String> = c.waited.iter().map(|d| name(*d)).collect();
    text + &others(&waited)
}

fn way(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn place(on: bool) -> &'static str {
    if on { "first of it" } else { "last of it" }
}

fn used(unused: bool, idle_after: bool) -> &'static str {
    match (unused, idle_after) {
        (true, true) => "; nobody used it before or after",
        (true, false) => "; nobody used it before",
        (false, _) => "",
    }
}

fn others(waited: &[String]) -> String {
    match waited {
        [] => String::new(),
        [one] => format!("; {one} waited meanwhile"),
        [one, rest @ ..] => format!("; {one} and {} more waited meanwhile", rest.len()),
    }
}

/// The same as a finding; empty of another one.
pub fn sentence(f: &Fact) -> String {
    let Fact::DomainSwitched { domain, on, time, device, unused, idle_after, waited } = f else {
        return String::new();
    };
    let (way, took) = (way(*on), ms(*time));
    let device = device.as_ref().map_or("", |d| d.name.as_str());
    let Some(domain) = domain else {
        return format!(
            "The power domain of {device} most likely switched {way} in its noirq callback, which \
             took {took} ms longer than those of other devices with a domain."
        );
    };
    let first =
        if device.is_empty() { String::new() } else { format!(", {} {device}", place(*on)) };
    let used = used(*unused, idle_after.is_some());
    format!("Power domain {domain} switched {way}: {took} ms{first}{used}{}.", others(waited))
}

/// What to do about it.
pub fn advice(f: &Fact) -> Vec<Advice> {
    let Fact::DomainSwitched { domain, on, unused, .. } = f else { return Vec::new() };
    let Some(domain) = domain else {
        return vec![look(RECORD)];
    };
    let mut out = Vec::new();
    if *unused {
        out.push(Advice {
            text: format!(
                "If no device of {domain} is needed, unbind the drivers of all of them: a domain \
                 without bound devices is not switched in a sleep."
            ),
            undo: "bind them again",
            risk: "One device that stays bound keeps the domain in the cycle, and nothing is gained.",
        });
    }
    out.push(look(format!(
        "The time is that of the domain's own switch, not of a driver: look at what its provider \
         waits for when it switches {domain} {} (a regulator's ramp, a reset, firmware).",
        way(*on)
    )));
    out
}

/// How to record it.
pub const RECORD: &str = "Domains were not recorded: --with domains names them.";
