//! Power domains as causes of their own. A domain is switched inside the callback of
//! whichever device comes last on the way down or first on the way up
//! (`genpd_sync_power_off()`, `genpd_sync_power_on()` in drivers/pmdomain/core.c), so
//! its time belongs to no driver, and where devices run at the same time it is chance
//! which of them pays.

use alloc::vec::Vec;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Callback, Cycle};
use dormouse_model::device::DeviceId;
use dormouse_model::names::Sym;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_stats::describe::middle;

/// How traces call the callbacks of devices in a domain.
const OPERATION: &str = "noirq power domain";

/// Shorter is nothing to tell.
const LEAST: Ns = Ns(100_000);

/// A domain that was switched inside the callback of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which.
    pub domain: Sym,
    /// In which phase.
    pub phase: Phase,
    /// On, not off.
    pub on: bool,
    /// How long that took, without its parents.
    pub time: Ns,
    /// In whose callback it was.
    pub device: Option<DeviceId>,
    /// That device was suspended at run time when the cycle began.
    pub unused: bool,
    /// Devices with a domain whose callbacks stood still meanwhile, in other threads.
    pub waited: Vec<DeviceId>,
}

/// A callback that is so much longer than those of other devices in domains that it
/// has probably switched one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// Whose.
    pub device: DeviceId,
    /// In which phase.
    pub phase: Phase,
    /// How much longer it is than the median of the others: at least so long took the
    /// domain.
    pub time: Ns,
}

/// The domains that the recording shows, longest first.
pub fn causes(capture: &Capture, cycle: &Cycle) -> Vec<Cause> {
    let calls = in_domains(capture, cycle);
    let suspended = |d: &DeviceId| {
        let status = capture.graph.get(*d).facts.runtime_status;
        capture.names.get(status) == "suspended"
    };
    let mut out: Vec<Cause> = cycle
        .switches
        .iter()
        .filter(|s| s.complete && s.duration() >= LEAST)
        .filter_map(|s| {
            let phase = s.phase?;
            let stood_still = |c: &&&Callback| {
                c.phase == phase
                    && c.thread != s.thread
                    && c.end >= s.end
                    && s.end - c.start.max(s.start) >= LEAST
                    && !switched(cycle, c)
            };
            let mut waited: Vec<DeviceId> =
                calls.iter().filter(stood_still).map(|c| c.device).collect();
            waited.dedup();
            Some(Cause {
                domain: s.domain,
                phase,
                on: s.on,
                time: s.duration(),
                device: s.device,
                unused: s.device.as_ref().is_some_and(suspended),
                waited,
            })
        })
        .collect();
    out.sort_by_key(|c| core::cmp::Reverse(c.time));
    out
}

/// What durations alone suggest, where switches were not recorded: longest first.
pub fn inferred(capture: &Capture, cycle: &Cycle) -> Vec<Inferred> {
    if !cycle.switches.is_empty() {
        return Vec::new();
    }
    let calls = in_domains(capture, cycle);
    let mut out = Vec::new();
    for phase in [Phase::Noirq, Phase::ResumeNoirq] {
        let of: Vec<&&Callback> = calls.iter().filter(|c| c.phase == phase).collect();
        let mut times: Vec<Ns> = of.iter().map(|c| c.duration()).collect();
        // Of fewer there is no usual time.
        let Some(usual) = middle(&mut times, Ns::mean).filter(|_| of.len() > 2) else { continue };
        out.extend(of.iter().filter_map(|c| {
            let time = c.duration() - usual;
            let stands_out = time >= LEAST && time.0 > 2 * usual.0;
            stands_out.then_some(Inferred { device: c.device, phase, time })
        }));
    }
    out.sort_by_key(|c| core::cmp::Reverse(c.time));
    out
}

/// Callbacks of devices in domains.
fn in_domains<'a>(capture: &Capture, cycle: &'a Cycle) -> Vec<&'a Callback> {
    let domain = |c: &&Callback| c.complete && capture.names.get(c.function) == OPERATION;
    cycle.callbacks.iter().filter(domain).collect()
}

/// Whether `c` switched a domain itself.
fn switched(cycle: &Cycle, c: &Callback) -> bool {
    cycle.switches.iter().any(|s| s.thread == c.thread && s.start >= c.start && s.end <= c.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::fixture;
    use alloc::vec;
    use dormouse_model::cycle::{Switch, ThreadId};

    /// Devices 0 to 3 resume noirq in threads of their own; 1 switches for 8 ms.
    fn recorded(probes: bool) -> Capture {
        let mut capture =
            fixture::capture(&[("a", None), ("b", None), ("c", None), ("d", None)], 0);
        for (device, end) in (0..).zip([200_000, 8_200_000, 8_300_000, 150_000]) {
            let thread = u16::try_from(device).unwrap();
            fixture::callback(&mut capture, device, Phase::ResumeNoirq, thread, 0, end);
        }
        let operation = capture.names.add(OPERATION);
        let suspended = capture.names.add("suspended");
        let gpu = capture.names.add("gpu");
        capture.graph.devices[1].facts.runtime_status = suspended;
        let cycle = &mut capture.cycles[0];
        cycle.callbacks.iter_mut().for_each(|c| c.function = operation);
        if probes {
            cycle.switches = vec![Switch {
                domain: gpu,
                on: true,
                phase: Some(Phase::ResumeNoirq),
                device: Some(DeviceId(1)),
                thread: ThreadId(1),
                start: Ns(10_000),
                end: Ns(8_010_000),
                complete: true,
            }];
        }
        capture
    }

    #[test]
    fn a_domain_is_a_cause_and_its_sibling_waited() {
        let capture = recorded(true);
        let causes = causes(&capture, &capture.cycles[0]);
        let [c] = &causes[..] else { panic!("{causes:?}") };
        assert_eq!((c.time, c.device, c.unused), (Ns(8_000_000), Some(DeviceId(1)), true));
        assert_eq!(c.waited, [DeviceId(2)], "the others were done before");
        assert!(inferred(&capture, &capture.cycles[0]).is_empty(), "it is known");
    }

    #[test]
    fn without_probes_what_stands_out_is_inferred() {
        let mut capture = recorded(false);
        assert!(causes(&capture, &capture.cycles[0]).is_empty());
        // Two of four are long: the median lies between, so nothing stands out.
        assert!(inferred(&capture, &capture.cycles[0]).is_empty());
        capture.cycles[0].callbacks[2].end = Ns(210_000);
        let seen = inferred(&capture, &capture.cycles[0]);
        let [i] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!((i.device, i.time), (DeviceId(1), Ns(8_200_000 - 205_000)));
    }
}
