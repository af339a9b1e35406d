//! Power domains as causes of their own. A domain is switched inside the callback of
//! whichever device comes last on the way down or first on the way up
//! (`genpd_sync_power_off()`, `genpd_sync_power_on()` in drivers/pmdomain/core.c), so
//! its time belongs to no driver, and where devices run at the same time it is chance
//! which of them pays.

use crate::evidence::{cycles, device, seen};
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Switch};
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::say;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use std::collections::BTreeSet;

/// How traces call the callbacks of devices in a domain; logs have the function,
/// `genpd_resume_noirq` or `pm_genpd_resume_noirq`.
const OPERATION: &str = "noirq power domain";

/// Shorter is nothing to tell.
const LEAST: Ns = Ns(100_000);

/// From here on it is a finding.
const WORTH: Ns = Ns(1_000_000);

/// So many lines are shown.
const LINES: usize = 3;

/// A domain that was switched inside the callback of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which; not known where it is inferred: switches were not recorded, and the
    /// callback is so much longer than those of other devices in domains that it has
    /// probably switched one.
    pub domain: Option<Sym>,
    /// In which phase.
    pub phase: Phase,
    /// On, not off.
    pub on: bool,
    /// How long that took, without its parents; of an inferred one at least: how much
    /// longer the callback is than the median of the others.
    pub time: Ns,
    /// In whose callback it was.
    pub device: Option<DeviceId>,
    /// When it began, or the callback.
    pub start: Ns,
    /// Nobody used it before: it was off already when the devices went down.
    pub unused: bool,
    /// It was off again so much later in this cycle, and no device in a domain was
    /// resumed at run time until then.
    pub idle_after: Option<Ns>,
    /// Devices with a domain whose callbacks stood still meanwhile, in other threads.
    pub waited: Vec<DeviceId>,
}

/// The domains that the recording shows, longest first; or what durations alone
/// suggest, where switches were not recorded.
pub fn causes(capture: &Capture, cycle: &Cycle) -> Vec<Cause> {
    let calls = in_domains(capture, cycle);
    let mut out = if cycle.switches.is_empty() {
        if has_acpi(capture) { Vec::new() } else { inferred(&calls) }
    } else {
        let long = |s: &&Switch| s.complete && s.duration() >= LEAST;
        let list = cycle.switches.iter().filter(long);
        let resumes = resumes(capture, cycle, &calls);
        list.filter_map(|s| cause(cycle, &calls, resumes.as_deref(), s)).collect()
    };
    out.sort_by_key(|c| std::cmp::Reverse(c.time));
    out
}

fn cause(cycle: &Cycle, calls: &[&Callback], resumes: Option<&[Ns]>, s: &Switch) -> Option<Cause> {
    let phase = s.phase?;
    let stood_still = |c: &&&Callback| {
        c.phase == phase
            && c.thread != s.thread
            && c.end >= s.end
            && s.end - c.start.max(s.start) >= LEAST
            && !switched(cycle, c)
    };
    let mut waited: Vec<DeviceId> = calls.iter().filter(stood_still).map(|c| c.device).collect();
    waited.dedup();
    // Until complete nothing goes off at run time (genpd_prepare(): prepared_count), so
    // what was not switched off in noirq was off before.
    let whole = |p: Phase| cycle.phases.iter().any(|x| x.phase == p && x.complete);
    let other = |x: &&Switch| x.domain == s.domain && x.on != s.on;
    let went_off = cycle.switches.iter().filter(other).any(|x| x.start < s.start);
    let unused = s.on && phase == Phase::ResumeNoirq && whole(Phase::Noirq) && !went_off;
    Some(Cause {
        domain: Some(s.domain),
        phase,
        on: s.on,
        time: s.duration(),
        device: s.device,
        start: s.start,
        unused,
        idle_after: resumes.filter(|_| unused).and_then(|r| idle_after(cycle, r, s)),
        waited,
    })
}

/// When runtime PM resumed devices in domains, in order; `None` if it was not recorded.
fn resumes(capture: &Capture, cycle: &Cycle, calls: &[&Callback]) -> Option<Vec<Ns>> {
    let name = |c: &&Callback| capture.names.get(capture.graph.get(c.device).name);
    let devices: BTreeSet<&str> = calls.iter().map(name).collect();
    let mut recorded = false;
    let mut times = Vec::new();
    for e in &cycle.events {
        let event = capture.names.get(e.name);
        recorded |= event.starts_with("rpm_");
        let of = || capture.names.get(e.text).split(' ').next().unwrap_or("");
        if event == "rpm_resume" && devices.contains(of()) {
            times.push(e.time);
        }
    }
    times.sort_unstable();
    recorded.then_some(times)
}

/// How long after `on` the domain was off again, unused.
fn idle_after(cycle: &Cycle, resumes: &[Ns], on: &Switch) -> Option<Ns> {
    let off = |x: &&Switch| x.domain == on.domain && !x.on && x.start >= on.end;
    let off = cycle.switches.iter().find(off)?;
    let next = resumes.get(resumes.partition_point(|t| *t < on.end));
    next.is_none_or(|t| *t > off.start).then(|| off.start - on.end)
}

/// Whether ACPI describes the machine. Traces call the callbacks of its own PM domain the
/// same (drivers/acpi/device_pm.c:acpi_general_pm_domain, 6.12), and drivers such as mei_me
/// bring another; neither shares a switch with siblings.
fn has_acpi(capture: &Capture) -> bool {
    let of_acpi = |name: &str| ["PNP0", "ACPI0", "LNX"].iter().any(|p| name.starts_with(p));
    capture.graph.devices.iter().any(|d| of_acpi(capture.names.get(d.name)))
}

fn inferred(calls: &[&Callback]) -> Vec<Cause> {
    let mut out = Vec::new();
    for phase in [Phase::Noirq, Phase::ResumeNoirq] {
        let of: Vec<&&Callback> = calls.iter().filter(|c| c.phase == phase).collect();
        let mut times: Vec<Ns> = of.iter().map(|c| c.duration()).collect();
        // Of fewer there is no usual time.
        if of.len() < 3 {
            continue;
        }
        let usual = middle(&mut times, Ns::mean).unwrap_or_default();
        out.extend(of.iter().filter_map(|c| {
            let time = c.duration() - usual;
            let stands_out = time >= LEAST && time.0 > 2 * usual.0;
            stands_out.then_some(Cause {
                domain: None,
                phase,
                on: phase == Phase::ResumeNoirq,
                time,
                device: Some(c.device),
                start: c.start,
                unused: false,
                idle_after: None,
                waited: Vec::new(),
            })
        }));
    }
    out
}

/// Callbacks of devices in domains.
fn in_domains<'a>(capture: &Capture, cycle: &'a Cycle) -> Vec<&'a Callback> {
    let domain = |c: &&Callback| {
        let function = capture.names.get(c.function);
        c.complete && (function == OPERATION || function.contains("genpd_"))
    };
    cycle.callbacks.iter().filter(domain).collect()
}

/// Whether `c` switched a domain itself.
fn switched(cycle: &Cycle, c: &Callback) -> bool {
    cycle.switches.iter().any(|s| s.thread == c.thread && s.start >= c.start && s.end <= c.end)
}

/// A finding for each domain that took long on the way up, or down, of the cycle where it
/// took longest; of inferred ones for each device.
pub(crate) fn judge(capture: &Capture, out: &mut Vec<Finding>) {
    let mut by: Vec<Vec<(usize, Cause)>> = Vec::new();
    for (at, c) in cycles(capture) {
        for x in causes(capture, c).into_iter().filter(|x| x.time >= WORTH) {
            // Which device pays is chance.
            let key = |x: &Cause| (x.domain, x.on, x.device.filter(|_| x.domain.is_none()));
            match by.iter_mut().find(|b| key(&b[0].1) == key(&x)) {
                Some(b) => b.push((at, x)),
                None => by.push(Vec::from([(at, x)])),
            }
        }
    }
    for mut all in by {
        all.sort_by_key(|(_, x)| std::cmp::Reverse(x.time));
        let name = |d: DeviceId| device(capture, d).name;
        let line = |(at, x): &(usize, Cause)| -> Evidence {
            let of = x.domain.map_or("a callback of".into(), |d| {
                format!("domain {} in a callback of", capture.names.get(d))
            });
            let device = x.device.map_or("no device".into(), name);
            let text = format!("{} us in {}: {of} {device}", x.time.0 / 1_000, x.phase.name());
            seen(capture, *at, x.start, &text)
        };
        let x = &all[0].1;
        let (level, confidence) = match x.domain {
            Some(_) => (Level::Slow, Confidence::Certain),
            None => (Level::Note, Confidence::Guess),
        };
        let own = x.device.map(|d| device(capture, d));
        let waited: Vec<String> = x.waited.iter().map(|d| name(*d)).collect();
        let domain = x.domain.map(|d| capture.names.get(d));
        let f = Finding::new(("phase-domain", Area::Phase, level), confidence)
            .costs(x.time)
            .at("noirq")
            .shown_by(all.iter().take(LINES).map(line));
        out.push(told(f, x, domain, own.as_ref(), &waited).of_devices(own));
    }
}

/// The words of a power domain that was switched in the callback of this device. Without a
/// name it is inferred of that callback. `waited` are devices that waited meanwhile.
fn told(
    f: Finding,
    x: &Cause,
    domain: Option<&str>,
    own: Option<&Device>,
    waited: &[String],
) -> Finding {
    let (way, took) = (x.way(), say::ms(x.time));
    let device = own.map_or("", |d| d.name.as_str());
    let Some(domain) = domain else {
        return f
            .says(format!(
                "The power domain of {device} most likely switched {way} in its noirq callback, which took {took} ms longer than those of other devices with a domain."
            ))
            .look(RECORD);
    };
    let first = if device.is_empty() { String::new() } else { format!(", {} {device}", x.place()) };
    let f = f.says(format!(
        "Power domain {domain} switched {way}: {took} ms{first}{}{}.",
        x.used(),
        others(waited)
    ));
    let f = if x.unused {
        f.change(
            format!(
                "If no device of {domain} is needed, unbind the drivers of all of them: a domain without bound devices is not switched in a sleep."
            ),
            "bind them again",
            "One device that stays bound keeps the domain in the cycle, and nothing is gained.",
        )
    } else {
        f
    };
    f.look(format!(
        "The time is that of the domain's own switch, not of a driver: look at what its provider waits for when it switches {domain} {way} (a regulator's ramp, a reset, firmware)."
    ))
}

/// How to record it.
pub const RECORD: &str = "Domains were not recorded: --with domains names them.";

impl Cause {
    /// `on` or `off`.
    pub fn way(&self) -> &'static str {
        if self.on { "on" } else { "off" }
    }

    /// Where its device stands among those of the domain.
    pub fn place(&self) -> &'static str {
        if self.on { "first of it" } else { "last of it" }
    }

    /// Whether anybody used it, as the end of a sentence.
    pub fn used(&self) -> &'static str {
        match (self.unused, self.idle_after.is_some()) {
            (true, true) => "; nobody used it before or after",
            (true, false) => "; nobody used it before",
            (false, _) => "",
        }
    }
}

/// Devices that waited meanwhile, as the end of a sentence.
pub fn others(waited: &[String]) -> String {
    match waited {
        [] => String::new(),
        [one] => format!("; {one} waited meanwhile"),
        [one, rest @ ..] => format!("; {one} and {} more waited meanwhile", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::{PhaseSpan, SideEvent, ThreadId};
    use dormouse_base::device::Device as Known;
    use dormouse_base::phase::PmEvent;

    /// Devices 0 to 3 resume noirq in threads of their own; 1 switches for 8 ms, and a
    /// worker switches off 20 ms later.
    fn recorded(probes: bool) -> Capture {
        let mut capture = Capture::default();
        let operation = capture.names.add(OPERATION);
        let gpu = capture.names.add("gpu");
        let mut cycle = Cycle::default();
        for phase in [Phase::Noirq, Phase::ResumeNoirq] {
            cycle.phases.push(PhaseSpan {
                phase,
                event: PmEvent::Suspend,
                start: Ns(0),
                end: Ns(0),
                cpu: 0,
                complete: true,
                printed: None,
            });
        }
        for (i, (name, end)) in
            [("a", 200_000), ("b", 8_200_000), ("c", 8_300_000), ("d", 150_000)].iter().enumerate()
        {
            let known = Known { name: capture.names.add(name), ..Known::default() };
            cycle.callbacks.push(Callback {
                device: capture.graph.push(known),
                phase: Phase::ResumeNoirq,
                event: PmEvent::Resume,
                thread: ThreadId(u16::try_from(i).unwrap()),
                function: operation,
                start: Ns(0),
                end: Ns(*end),
                error: 0,
                complete: true,
            });
        }
        let on = Switch {
            domain: gpu,
            on: true,
            phase: Some(Phase::ResumeNoirq),
            device: Some(DeviceId(1)),
            thread: ThreadId(1),
            start: Ns(10_000),
            end: Ns(8_010_000),
            complete: true,
        };
        if probes {
            let (start, end) = (Ns(28_010_000), Ns(30_010_000));
            let off = Switch { on: false, phase: None, device: None, start, end, ..on };
            cycle.switches = vec![on, off];
        }
        capture.cycles = vec![cycle];
        capture
    }

    fn event(c: &mut Capture, time: i64, name: &str, text: &str) {
        let (name, text) = (c.names.add(name), c.names.add(text));
        let event = SideEvent { time: Ns(time), name, thread: ThreadId(0), cpu: 0, text };
        c.cycles[0].events.push(event);
    }

    #[test]
    fn a_domain_is_a_cause_and_its_sibling_waited() {
        let mut capture = recorded(true);
        let list = causes(&capture, &capture.cycles[0]);
        let [c] = &list[..] else { panic!("{list:?}") };
        assert_eq!((c.time, c.device, c.unused), (Ns(8_000_000), Some(DeviceId(1)), true));
        assert_eq!(c.waited, [DeviceId(2)], "the others were done before");
        assert_eq!(c.idle_after, None, "who was resumed at run time is not recorded");
        event(&mut capture, 1, "rpm_idle", "b flags-0");
        assert_eq!(causes(&capture, &capture.cycles[0])[0].idle_after, Some(Ns(20_000_000)));
        event(&mut capture, 9_000_000, "rpm_resume", "other flags-0");
        assert_eq!(causes(&capture, &capture.cycles[0])[0].idle_after, Some(Ns(20_000_000)));
        event(&mut capture, 9_000_000, "rpm_resume", "d flags-0");
        assert_eq!(causes(&capture, &capture.cycles[0])[0].idle_after, None);
        // Switched off on the way down: somebody used it.
        let off = Switch {
            on: false,
            phase: Some(Phase::Noirq),
            start: Ns(-9),
            end: Ns(-1),
            ..capture.cycles[0].switches[0]
        };
        capture.cycles[0].switches.insert(0, off);
        assert!(!causes(&capture, &capture.cycles[0])[0].unused);
    }

    #[test]
    fn a_log_without_the_way_down_does_not_say_that_nobody_used_it() {
        let mut capture = recorded(true);
        capture.cycles[0].phases[0].complete = false;
        assert!(!causes(&capture, &capture.cycles[0])[0].unused);
    }

    #[test]
    fn without_probes_what_stands_out_is_inferred() {
        let mut capture = recorded(false);
        // Two of four are long: the median lies between, so nothing stands out.
        assert!(causes(&capture, &capture.cycles[0]).is_empty());
        capture.cycles[0].callbacks[2].end = Ns(210_000);
        let list = causes(&capture, &capture.cycles[0]);
        let [c] = &list[..] else { panic!("{list:?}") };
        assert_eq!((c.domain, c.device), (None, Some(DeviceId(1))));
        assert_eq!(c.time, Ns(8_200_000 - 205_000));
        // A PC has callbacks of that name too, and no such domains.
        let fan = Known { name: capture.names.add("PNP0C0B:09"), ..Known::default() };
        capture.graph.push(fan);
        assert!(causes(&capture, &capture.cycles[0]).is_empty());
    }

    #[test]
    fn what_is_long_is_a_finding_and_what_is_inferred_a_guess() {
        let judged = |c: &Capture| {
            let mut out = Vec::new();
            judge(c, &mut out);
            out.into_iter().map(|f| (f.level, f.confidence, f.costs)).collect::<Vec<_>>()
        };
        let mut capture = recorded(true);
        let again = capture.cycles[0].clone();
        capture.cycles.push(again);
        let slow = (Level::Slow, Confidence::Certain, Some(Ns(8_000_000)));
        assert_eq!(judged(&capture), [slow], "one of both cycles");
        capture.cycles.iter_mut().for_each(|c| c.switches[0].end = Ns(900_000));
        assert!(judged(&capture).is_empty(), "too short to be told");
        let mut capture = recorded(false);
        capture.cycles[0].callbacks[2].end = Ns(210_000);
        let guess = (Level::Note, Confidence::Guess, Some(Ns(7_995_000)));
        assert_eq!(judged(&capture), [guess]);
    }
}
