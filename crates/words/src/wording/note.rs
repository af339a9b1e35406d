//! What was changed on a machine and what that changes, as sentences.

use dormouse_base::time::Ns;
use dormouse_board::rest::Start;
use dormouse_sleep::simulate::note::{Limit, Note};

/// So many devices of a list are named.
const NAMED: usize = 6;

/// All of them as sentences.
pub fn sentences(list: &[Note]) -> Vec<String> {
    list.iter().map(note).collect()
}

/// One as a sentence.
pub fn note(n: &Note) -> String {
    match n {
        Note::PmAsync(on) => format!("pm_async is {}.", i32::from(*on)),
        Note::Cpus(n) => format!("The machine has {n} CPU{}.", if *n == 1 { "" } else { "s" }),
        Note::Flags { changed, on, pattern } => {
            let word = if *on { "asynchronous" } else { "synchronous" };
            match changed.len() {
                0 => format!("`{pattern}` was {word} already."),
                1 => format!("{} is now {word}.", names(changed)),
                _ => format!("{} are now {word}.", names(changed)),
            }
        }
        Note::NothingRunsAsync => "pm_async is 0, so no device runs asynchronously.".into(),
        Note::Scaled { devices, by } => {
            format!("Callback times of {}: multiplied by {}.", names(devices), by.text())
        }
        Note::ScaledInside { devices, function, by, was, is } => format!(
            "What callbacks of {} wait for in {function}: multiplied by {}, {was} become {is}.",
            names(devices),
            by.text()
        ),
        Note::Moved { devices, way } => format!(
            "Callbacks of {} move from {} to {}{}, and their times with them. Whether the driver \
             can do its work there is not known.",
            names(devices),
            way.from.title(),
            way.to.title(),
            if way.is_down() { ", and those of the way up likewise" } else { "" }
        ),
        Note::Domains { domains, words } => {
            format!("Power domain {}: {words}.", names(domains))
        }
        Note::Qos { devices, tolerance, held, domains, governed } => {
            qos(devices, *tolerance, held, domains, *governed)
        }
        Note::LeftSuspended { devices } => format!(
            "{}: suspended at run time, and left so where what depends on {} allows it. Whether the \
             driver can do that is not known.",
            names(devices),
            if devices.len() == 1 { "it" } else { "them" }
        ),
        Note::Removed { devices, also } if also.is_empty() => {
            format!("Removed: {}.", names(devices))
        }
        Note::Removed { devices, also } => format!(
            "Removed: {} and what depends on {} ({} more: {}).",
            names(devices),
            if devices.len() == 1 { "it" } else { "them" },
            also.len(),
            names(also)
        ),
        Note::Scheduling(now, then) => format!(
            "Scheduling: {} ({}: {}), then {} ({}: {}).",
            now.name, now.kernels, now.title, then.name, then.kernels, then.title
        ),
        Note::Hardly { half, is, why } => {
            let name = half.name();
            match why {
                Limit::Chain(t) => format!(
                    "{name} hardly changes: the longest chain of dependent devices takes {t} of \
                     its {is}; no scheduler can shorten it, only faster callbacks."
                ),
                Limit::Synchronous(t) => format!(
                    "{name} hardly changes: the synchronous devices, one after the other, need {t} \
                     of its {is}; marking slow ones asynchronous would help, a scheduler cannot."
                ),
                Limit::OffPath => format!(
                    "{name} hardly changes: nothing that was changed is long on its critical path."
                ),
            }
        }
        Note::Path(half, parts) => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("The critical path of {} changes: {}.", half.name(), parts.join(", "))
        }
        Note::NoLonger { half, device, awaited, turn, by } => format!(
            "In {}, {device} no longer {} {awaited} and starts {} {}.",
            half.name(),
            if *turn { "waits its turn behind" } else { "waits for" },
            Ns(by.0.abs()),
            if *by < Ns::ZERO { "earlier" } else { "later" }
        ),
    }
}

/// How long devices may take to wake, and what governors make of it before the sleep.
fn qos(
    devices: &[String],
    tolerance: Option<Ns>,
    held: &[String],
    domains: &[(String, Start, Start)],
    governed: bool,
) -> String {
    let mut out = match tolerance {
        None => format!("{} may take any time to wake.", names(devices)),
        Some(Ns(0)) => format!("{} may take no time to wake.", names(devices)),
        Some(t) => format!("{} may take {t} to wake.", names(devices)),
    };
    if !held.is_empty() {
        let word = if held.len() == 1 { "stays" } else { "stay" };
        out.push_str(&format!(" So {} {word} awake at run time.", names(held)));
    }
    let state = |s: &Start| match s.on {
        true => String::from("on"),
        false => format!("off in state {}", s.state),
    };
    for (name, was, is) in domains {
        out.push_str(&format!(
            " Power domain {name} is {} when the sleep begins, not {}.",
            state(is),
            state(was)
        ));
    }
    if domains.is_empty() {
        out.push_str(match governed {
            true => " No power domain begins the sleep otherwise.",
            false => " No domain of theirs has a governor, so none begins the sleep otherwise.",
        });
    }
    out
}

/// `usb1 leaves it (109.0 ms)`.
fn part((device, was, is): &(Option<String>, Ns, Ns)) -> String {
    let who = device.as_deref().unwrap_or("time between callbacks");
    match (*was, *is) {
        (t, Ns::ZERO) => format!("{who} leaves it ({t})"),
        (Ns::ZERO, t) => format!("{who} enters it ({t})"),
        (was, is) => format!("{who} {was} -> {is}"),
    }
}

/// `a, b and 3 more`.
fn names(list: &[String]) -> String {
    // Names are not unique: two devices of one name are not one device said twice.
    let mut all: Vec<(&String, usize)> = Vec::new();
    for name in list {
        match all.iter_mut().find(|(n, _)| *n == name) {
            Some((_, times)) => *times += 1,
            None => all.push((name, 1)),
        }
    }
    let said = |(name, times): &(&String, usize)| match times {
        1 => (*name).clone(),
        n => format!("{name} ({n} devices of that name)"),
    };
    let mut text = all.iter().take(NAMED).map(said).collect::<Vec<_>>().join(", ");
    let rest: usize = all.iter().skip(NAMED).map(|(_, times)| times).sum();
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    text
}
