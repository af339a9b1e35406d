//! Attempts to probe that ended badly or cost time.

use super::found::{Found, found};
use crate::case::Case;
use crate::name::provided;
use crate::probe::{Outcome, Provider};
use crate::report::Report;
use crate::root::Cause;
use crate::say::{error, verb};
use crate::supplier::{Consumer, Fate};
use dormouse_base::finding::{Area, Confidence, Finding, Level};
use dormouse_base::say::{names, plural};
use std::collections::{BTreeMap, BTreeSet};

/// An attempt that the core stops takes 2 us; one that switches a domain for nothing
/// takes milliseconds.
const COSTLY_US: u64 = 1_000;

/// `-ETIMEDOUT`: the device did not answer, or its provider never came.
const TIMED_OUT: i32 = -110;

/// `-ENODEV`, `-ENXIO`: the driver was asked and found that the device is not there, or is
/// none of its own; the core prints that for debugging alone.
const NO_DEVICE: i32 = -19;
const NO_ADDRESS: i32 = -6;

/// `-EPROBE_DEFER`.
const DEFERRED: i32 = -517;

pub(super) fn judge(case: &Case, report: &Report, out: &mut Vec<Found>) {
    gave_up(case, out);
    failed(case, report, out);
    costly(case, out);
}

/// Attempts that gave up on a provider, by what the stack says that it is.
fn gave_up(case: &Case, out: &mut Vec<Found>) {
    let timed_out: BTreeSet<&str> = case
        .probes
        .iter()
        .filter(|p| p.outcome == Outcome::Failed(TIMED_OUT))
        .map(|p| p.device.as_str())
        .collect();
    let mut seen = BTreeSet::new();
    let mut by: BTreeMap<Option<Provider>, Vec<usize>> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate().filter(|(_, p)| p.outcome == Outcome::GaveUp) {
        if seen.insert(p.device.as_str()) {
            by.entry(p.asked.as_ref().map(|(p, _)| *p)).or_default().push(i);
        }
    }
    for places in by.values() {
        let probes = || places.iter().map(|&i| &case.probes[i]);
        let devices: Vec<String> = probes().map(|p| p.device.clone()).collect();
        let failed = devices.iter().filter(|d| timed_out.contains(d.as_str())).count();
        let level = if failed > 0 { Level::Broken } else { Level::Risk };
        let asked = &case.probes[places[0]].asked;
        let on = match asked {
            Some((provider, by)) => {
                format!("{} that never came ({by} in the stack asked for it)", provider.name())
            }
            None => {
                "a provider that never came; which, no line that was read says (a power domain, an \
                     IOMMU, a pin controller)"
                    .into()
            }
        };
        let ended = match (failed, devices.len()) {
            (0, _) => String::new(),
            (1, 1) => format!("; its probe failed with {}", error(TIMED_OUT)),
            (n, _) => format!("; {n} of these probes failed with {}", error(TIMED_OUT)),
        };
        let finding = Finding::new(("provider-missing", Area::Probe, level), Confidence::Certain)
            .says(format!("{} gave up on {on}{ended}.", names(&devices)))
            .look(format!(
                "See what {} of these devices {}, and build that provider's driver in.",
                asked.as_ref().map_or("power-domains, iommus or pinctrl-0", |(p, _)| p.property()),
                if asked.is_some() { "names" } else { "name" }
            ))
            .shown_by(probes().take(3).map(|p| p.evidence.clone()));
        out.push(Found { finding, is_failure: failed > 0, weight: devices.len() as u64 });
    }
}

/// Probes that failed for good, beside those that a waiting device names. A time-out, a
/// part that its whole could not bind, and a provider or one whose driver complains before devices
/// that wait without a reason are faults; with another error the part may not be fitted, and of a driver that
/// only says that a device is none of its own (drivers/base/dd.c:call_driver_probe,
/// -ENODEV and -ENXIO) there is nothing to say.
fn failed(case: &Case, report: &Report, out: &mut Vec<Found>) {
    let told: BTreeSet<&str> = report
        .roots
        .iter()
        .filter_map(|r| match &r.cause {
            Cause::Device { name, .. } | Cause::Brother { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .chain(case.probes.iter().filter(|p| p.outcome == Outcome::GaveUp).map(|p| &*p.device))
        .collect();
    let unsaid = report.roots.iter().filter(|r| matches!(r.cause, Cause::Unsaid { hint: None }));
    // Of those behind them the text says what they wait for.
    let (waiting, behind) =
        unsaid.fold((0, 0), |(at, behind), r| (at + r.at.len(), behind + r.behind.len()));
    let of_parts = report.roots.iter().filter(|r| matches!(r.cause, Cause::Parts { .. }));
    let cards: Vec<String> = of_parts.flat_map(|r| r.at.iter().cloned()).collect();
    let cards = match cards.len() {
        0 => String::new(),
        n => format!(
            " {} {} for its parts; whether this is one, no line that was read says.",
            names(&cards),
            verb(n, "waits", "wait")
        ),
    };
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate() {
        match p.outcome {
            Outcome::Failed(_) => {
                // The core says once more of a part what its whole said.
                let of_a_part = |at: &usize| case.probes[*at].part_of.is_some();
                if !last.get(&*p.device).is_some_and(of_a_part) {
                    last.insert(&p.device, i);
                }
            }
            Outcome::Bound => drop(last.remove(p.device.as_str())),
            _ => {}
        }
    }
    let mut places: Vec<usize> = last.into_values().collect();
    places.sort_unstable();
    for p in places.into_iter().map(|i| &case.probes[i]).filter(|p| !told.contains(&*p.device)) {
        let Outcome::Failed(code) = p.outcome else { continue };
        // What others say that they miss: "get regulator failed" of a driver called
        // elm-regulator.
        let kind = [&p.device, &p.driver].into_iter().find_map(|name| provided(name));
        let asks = kind.map_or(Vec::new(), |kind| asking(report, kind));
        let needed = kind.is_some() && waiting > 0 || !asks.is_empty();
        let held = held_up(report, &p.device);
        let confidence = match code {
            // It asked for another attempt: that is none that failed.
            DEFERRED => continue,
            TIMED_OUT => Confidence::Certain,
            _ if p.part_of.is_some() => Confidence::Certain,
            _ if needed || !held.is_empty() => Confidence::Likely,
            NO_DEVICE | NO_ADDRESS => continue,
            _ => Confidence::Certain,
        };
        let own = case.lives.iter().find(|l| l.device == p.device).and_then(|l| l.failure.clone());
        let own = own.filter(|e| e.line != p.evidence.line);
        // What its driver complains of itself is there, and others wait without a reason.
        let complains = waiting > 0 && own.is_some();
        let certain = code == TIMED_OUT || p.part_of.is_some() || complains;
        let is_fault = certain || needed || !held.is_empty();
        let what = match &p.part_of {
            Some(whole) => format!("{} could not be bound as a part of {whole}", p.device),
            None if p.driver.is_empty() => format!("The probe of {} failed", p.device),
            None => format!("The probe of {} by {} failed", p.device, p.driver),
        };
        let more = match waiting {
            _ if !is_fault => cards.clone(),
            _ if !asks.is_empty() => format!(
                " {} {} for a {}; whether that is this one, no line that was read says.",
                names(&asks),
                verb(asks.len(), "waits", "wait"),
                kind.unwrap_or("device")
            ),
            0 if !held.is_empty() => format!(
                " {} {} for it, so what was on there at boot may stay on for good.",
                names(&held),
                verb(held.len(), "waits", "wait")
            ),
            0 => String::new(),
            n => format!(
                " {} {} too, and the kernel does not say for what.",
                plural(n, "device"),
                verb(n, "waits", "wait")
            ),
        };
        let level = match (is_fault, cards.is_empty()) {
            (true, _) => Level::Broken,
            (_, false) => Level::Risk,
            (_, true) => Level::Note,
        };
        let finding = Finding::new(("probe-failed", Area::Probe, level), confidence)
            .says(format!("{what} with error {}.{more}", error(code)))
            .look(format!(
                "Look for the first message about {} in the kernel log: what stands before the \
                 failure is its reason.",
                p.device
            ))
            .shown_by([p.evidence.clone()].into_iter().chain(own));
        out.push(Found {
            finding,
            is_failure: true,
            weight: 1 + (waiting + behind + asks.len() + held.len()) as u64,
        });
    }
}

/// Suppliers that are not told that all consumers have probed, because this one failed: what they
/// keep on since boot stays on (drivers/base/core.c:fw_devlink_dev_sync_state, 6.3 to 7.3).
fn held_up(report: &Report, device: &str) -> Vec<String> {
    let failed = |c: &Consumer| c.name == device && matches!(c.fate, Fate::Failed(_));
    let held = report.suppliers.iter().filter(|s| !s.forced && s.consumers.iter().any(failed));
    held.map(|s| s.name.clone()).collect()
}

/// Devices whose drivers say that they miss something of this kind.
fn asking(report: &Report, kind: &str) -> Vec<String> {
    let says = |c: &Cause| match c {
        Cause::Own { reason } => reason.to_ascii_lowercase().contains(kind),
        _ => false,
    };
    let roots = report.roots.iter().filter(|r| says(&r.cause));
    roots.flat_map(|r| r.at.iter().cloned()).collect()
}

fn costly(case: &Case, out: &mut Vec<Found>) {
    let mut by: BTreeMap<&str, (usize, u64, usize)> = BTreeMap::new();
    for (i, p) in case.probes.iter().enumerate() {
        if let (Outcome::Deferred, Some(us)) = (p.outcome, p.took_us) {
            let (n, sum, _) = by.entry(&p.device).or_insert((0, 0, i));
            *n += 1;
            *sum = sum.saturating_add(us);
        }
    }
    let mut costly: Vec<_> = by.into_iter().filter(|(_, (_, us, _))| *us >= COSTLY_US).collect();
    costly.sort_by_key(|(_, (_, us, _))| std::cmp::Reverse(*us));
    for (device, (attempts, us, first)) in costly.into_iter().take(3) {
        let f = Finding::new(("attempts-costly", Area::Probe, Level::Slow), Confidence::Certain)
            .says(format!(
                "{device} was sent back by its driver in {}, which took {us} us.",
                plural(attempts, "attempt")
            ))
            .shown_by([case.probes[first].evidence.clone()]);
        out.push(found(f));
    }
}
