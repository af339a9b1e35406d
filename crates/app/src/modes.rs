//! Which modes of sleep a machine has, what they really were, and which one pays.

use crate::doctor::{Looked, is_about_modes, looked, measured_of};
use crate::nothing::nothing_in;
use anyhow::Result;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Mode;
use dormouse_base::time::Ns;
use dormouse_doctor::JudgedCase;
use dormouse_doctor::depth::{self, Depth, Measured};
use dormouse_doctor::message::Message;
use dormouse_doctor::offered::{needs, offered};
use dormouse_doctor::value::Value;
use dormouse_machine::root::Root;
use dormouse_read::{Given, Options, read_bytes};
use dormouse_sleep::modes::{Powers, Way, cost, cpus, days, trips};
use dormouse_words::modes::{Image, Modes};
use std::sync::Arc;

/// The modes of the machine below `root`. Its cycles are those that its log still has.
pub fn live(root: &Root, powers: Powers) -> Modes {
    let Looked { text, log, .. } = looked(root);
    let case = JudgedCase::new(text.case);
    let captures = log.map_or_else(Vec::new, |log| {
        let reading = read_bytes("this machine", &log, &Options::default());
        reading.map_or_else(|_| Vec::new(), |r| r.captures.into_iter().map(Arc::new).collect())
    });
    let values = case.values.clone();
    of(true, &captures, &[&case], &values, Vec::new(), powers)
}

/// The modes of the machine that `inputs` are of.
///
/// # Errors
/// If an input cannot be read, or [`crate::failure::Nothing`] if it has no sleep.
pub fn of_inputs(given: &Given, powers: Powers) -> Result<Modes> {
    let read = given.heard()?;
    let (captures, told) = (&read.captures, &read.heard);
    let values: Vec<Value> =
        told.iter().flat_map(|h| h.knobs.iter().chain(&h.case.values)).cloned().collect();
    if captures.iter().all(|c| c.cycles.is_empty()) && offered(&values).is_none() {
        return Err(nothing_in(given, captures.iter().map(|c| &**c)));
    }
    let measured = captures.iter().flat_map(|c| measured_of(c, told)).collect();
    let cases: Vec<&JudgedCase> = told.iter().map(|h| &*h.case).collect();
    Ok(of(false, captures, &cases, &values, measured, powers))
}

fn of(
    live: bool,
    captures: &[Arc<Capture>],
    cases: &[&JudgedCase],
    values: &[Value],
    measured: Vec<Measured>,
    mut powers: Powers,
) -> Modes {
    let cycles = || captures.iter().flat_map(|c| &c.cycles);
    let booted = cases.iter().flat_map(|c| &c.messages).filter_map(startup).next_back();
    powers.boot = powers.boot.or(booted);
    // The kernel that reads an image puts nothing to sleep.
    let trips = trips(cycles().filter(|c| !c.reads_image));
    let costs = Way::ALL
        .into_iter()
        .filter_map(|way| Some((way, cost(way, trips.get(&way), &powers)?)))
        .collect();
    let mut depths: Vec<Depth> = depth::depths(&measured).into_iter().map(|d| d.1).collect();
    depths.extend(cases.iter().filter_map(|c| depth::said(c)));
    let said = cases.iter().flat_map(|c| &c.report().findings).filter(|f| is_about_modes(f));
    let measured = depth::judge(&measured).into_iter().filter(is_about_modes);
    let mut why: Vec<_> = said.cloned().chain(measured).collect();
    why.sort_by_key(|f| f.level);
    why.dedup_by_key(|f| f.id);
    let named = trips.iter().filter(|(way, _)| **way != Way::Unnamed);
    let most = named.max_by_key(|(_, t)| t.slept).filter(|(_, t)| t.slept > 0);
    let days = most.map(|(way, t)| (*way, days(*way, t, &powers)));
    let mut images: Vec<Image> = Vec::new();
    for s in cycles().flat_map(|c| &c.image).filter(|s| s.bytes > 0) {
        images.push(Image { work: s.work, bytes: s.bytes, time: s.end.since(s.start) });
    }
    let tests = cycles().filter(|c| matches!(c.mode, Mode::PmTest(_))).count();
    Modes {
        live,
        tests,
        offered: offered(values),
        costs,
        days,
        depths,
        why,
        images,
        cpus: cpus(cycles()),
        needs: needs(values),
        trips,
        powers,
    }
}

/// What systemd says of the boot: `Startup finished in 3.1s (kernel) + … = 18.4s.`
fn startup(m: &Message) -> Option<Ns> {
    let all = m.after("Startup finished in ")?.rsplit_once("= ")?.1;
    let mut sum = 0i64;
    for part in all.trim_end_matches('.').split_whitespace() {
        let at = part.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, unit) = part.split_at(at);
        let scale = match unit {
            "h" => 3_600_000,
            "min" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return None,
        };
        let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
        let thousandths: String = rest.chars().chain("000".chars()).take(3).collect();
        let n = whole.parse::<i64>().ok()?.checked_mul(1_000)?;
        let n = n.checked_add(thousandths.parse().ok()?)?;
        sum = sum.checked_add(n.checked_mul(scale)? / 1_000)?;
    }
    Some(Ns(sum.checked_mul(1_000_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_doctor::message::Trust;

    #[test]
    fn a_boot_takes_what_systemd_says() {
        let says = |t: &str| {
            startup(&Message {
                line: 1,
                time: None,
                second: None,
                text: t.into(),
                trust: Trust::Logged,
            })
        };
        let text = "systemd[1]: Startup finished in 3.1s (kernel) + 10.25s (userspace) = 13.350s.";
        assert_eq!(says(text), Some(Ns(13_350_000_000)));
        assert_eq!(says("Startup finished in 1s (kernel) = 1min 8.4s."), Some(Ns(68_400_000_000)));
        assert_eq!(says("Startup finished in 800ms (kernel) = 800ms."), Some(Ns(800_000_000)));
        assert_eq!(says("Startup finished in x = much."), None);
    }
}
