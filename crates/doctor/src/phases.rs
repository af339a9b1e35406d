//! Callbacks in the wrong phase and syncs that were given up, as a recording shows them.

use crate::fact::{Device, Fact};
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::recorded::{cycles, device, seen};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Callback, Cycle};
use dormouse_model::device::DeviceId;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// A device behind a bus failed in noirq with this error: its bus was suspended, or
    /// could not do without interrupts.
    BusGone(Device, i32),
    /// A device timed out in noirq after a round time.
    WaitedForInterrupt(Device, Ns),
    /// Syncs that were given up so often.
    SyncAborted(usize),
    /// A kernel of this release cannot give up a sync that took this long at most.
    NotAbortable(String, Ns),
}

/// Errors of a device whose bus does not answer.
const GONE: [i32; 3] = [-108, -121, -110];
const TIMED_OUT: i32 = -110;
/// Time-outs of drivers are multiples of this, give or take a fiftieth.
const ROUND: i64 = 100_000_000;
/// From here on a sync that nobody can end is worth a word.
pub(crate) const LONG: Ns = Ns(2_000_000_000);
/// From this release on a wakeup ends the waiting for a sync
/// (kernel/power/main.c:pm_sleep_fs_sync, 7.3).
pub(crate) const ABORTABLE: (u32, u32) = (6, 19);
/// So many lines are shown.
const LINES: usize = 3;

/// `6.12` of `6.12.117+deb13-amd64`.
pub(crate) fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-', '+']).map_while(|p| p.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// What the cycles show.
pub fn judge(capture: &Capture) -> Vec<Finding> {
    let mut out = Vec::new();
    noirq(capture, &mut out);
    aborted(capture, &mut out);
    not_abortable(capture, &mut out);
    out
}

/// Whether the device is behind an I2C or SPI host.
fn is_behind_a_bus(capture: &Capture, d: DeviceId) -> bool {
    let mut at = Some(d);
    // No graph is deeper, and a damaged one may go round.
    for _ in 0..64 {
        let Some(id) = at else { return false };
        let known = capture.graph.get(id);
        let bus = capture.names.get(known.subsystem);
        let parent = capture.names.get(known.parent_name);
        let is_host = |n: &str| {
            ["i2c-", "spi"].iter().any(|h| {
                n.strip_prefix(h).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
            })
        };
        if matches!(bus, "i2c" | "spi") || is_host(capture.names.get(known.name)) || is_host(parent)
        {
            return true;
        }
        at = known.parent;
    }
    false
}

/// A time of a driver's choice, not of a device's: 100 ms, 1 s.
fn is_round(t: Ns) -> bool {
    let n = (t.0 + ROUND / 2) / ROUND;
    n > 0 && (t.0 - n * ROUND).abs() * 50 <= n * ROUND
}

/// Callbacks that failed where interrupts of devices are off.
fn noirq(capture: &Capture, out: &mut Vec<Finding>) {
    let off = |x: &&Callback| matches!(x.phase, Phase::Noirq | Phase::ResumeNoirq);
    let mut told: Vec<DeviceId> = Vec::new();
    for (at, c) in cycles(capture) {
        for x in c.callbacks.iter().filter(off).filter(|x| GONE.contains(&x.error)) {
            if told.contains(&x.device) {
                continue;
            }
            told.push(x.device);
            let d = device(capture, x.device);
            let took = x.duration();
            let what = format!(
                "{} of {} returned {} after {} us",
                x.phase.title(),
                d.name,
                x.error,
                took.0 / 1_000
            );
            let (id, confidence, fact) = if is_behind_a_bus(capture, x.device) {
                ("phase-noirq-bus-gone", Confidence::Certain, Misplaced::BusGone(d, x.error))
            } else if x.error == TIMED_OUT && is_round(took) {
                let fact = Misplaced::WaitedForInterrupt(d, took);
                ("phase-noirq-needs-irq", Confidence::Likely, fact)
            } else {
                continue;
            };
            out.push(Finding {
                id,
                area: Area::Phase,
                level: Level::Broken,
                fact: Fact::Misplaced(fact),
                evidence: Vec::from([seen(capture, at, x.end, &what)]),
                costs: None,
                confidence,
            });
        }
    }
}

/// A sync that began and has no end, before the next attempt. The last one of a
/// recording may be cut.
fn aborted(capture: &Capture, out: &mut Vec<Finding>) {
    let only_sync = |c: &Cycle| {
        matches!(c.phases[..], [p] if p.phase == Phase::Sync && !p.complete)
            && release(capture.names.get(c.kernel)).is_none_or(|r| r >= ABORTABLE)
    };
    let last = capture.cycles.len().saturating_sub(1);
    let list: Vec<(usize, &Cycle)> =
        cycles(capture).filter(|(at, c)| *at < last && only_sync(c)).collect();
    if list.is_empty() {
        return;
    }
    let text = "sync_filesystems began and has no end, and the next attempt follows";
    out.push(Finding {
        id: "sync-aborted",
        area: Area::Sync,
        level: Level::Note,
        fact: Fact::Misplaced(Misplaced::SyncAborted(list.len())),
        evidence: list
            .iter()
            .take(LINES)
            .map(|(at, c)| seen(capture, *at, c.start, text))
            .collect(),
        costs: None,
        confidence: Confidence::Likely,
    });
}

/// A long sync on a kernel that cannot give it up.
fn not_abortable(capture: &Capture, out: &mut Vec<Finding>) {
    let sync = |c: &Cycle| {
        c.phases.iter().filter(|p| p.phase == Phase::Sync && p.complete).map(|p| p.duration()).max()
    };
    let longest = cycles(capture).filter_map(|(at, c)| Some((sync(c)?, at, c))).max_by_key(|s| s.0);
    let Some((worst, at, c)) = longest.filter(|s| s.0 >= LONG) else { return };
    let kernel = capture.names.get(c.kernel);
    if release(kernel).is_some_and(|r| r < ABORTABLE) {
        let text = format!("sync_filesystems took {} us on {kernel}", worst.0 / 1_000);
        out.push(cannot(kernel, worst, Vec::from([seen(capture, at, c.start, &text)])));
    }
}

/// The finding of a sync that nobody can end.
pub(crate) fn cannot(kernel: &str, worst: Ns, evidence: Vec<Evidence>) -> Finding {
    Finding {
        id: "sync-not-abortable",
        area: Area::Sync,
        level: Level::Note,
        fact: Fact::Misplaced(Misplaced::NotAbortable(kernel.into(), worst)),
        evidence,
        costs: None,
        confidence: Confidence::Certain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use dormouse_model::cycle::{PhaseSpan, ThreadId};
    use dormouse_model::device::Device as Known;
    use dormouse_model::phase::PmEvent;

    const MS: i64 = 1_000_000;

    fn callback(phase: Phase, ms: i64, error: i32) -> Callback {
        Callback {
            device: DeviceId(0),
            phase,
            event: PmEvent::Suspend,
            thread: ThreadId(0),
            function: Default::default(),
            start: Ns(0),
            end: Ns(ms * MS),
            error,
            complete: true,
        }
    }

    fn ids(name: &str, parent: &str, x: Callback) -> Vec<&'static str> {
        let mut c = Capture::default();
        let known =
            Known { name: c.names.add(name), parent_name: c.names.add(parent), ..Known::default() };
        c.graph.push(known);
        c.cycles = vec![Cycle { callbacks: vec![x], ..Cycle::default() }];
        judge(&c).iter().map(|f| f.id).collect()
    }

    #[test]
    fn a_device_behind_a_bus_and_one_that_waits_for_its_interrupt_are_told_apart() {
        let gone = ["phase-noirq-bus-gone"];
        assert_eq!(ids("2-0048", "i2c-2", callback(Phase::Noirq, 3, -108)), gone);
        assert_eq!(ids("spi0.0", "spi0", callback(Phase::ResumeNoirq, 3, -121)), gone);
        // Elsewhere the same error says nothing of noirq.
        assert!(ids("2-0048", "i2c-2", callback(Phase::Suspend, 3, -108)).is_empty());
        assert!(ids("2-0048", "i2c-2", callback(Phase::Noirq, 3, -22)).is_empty());
        let timed_out = |ms| callback(Phase::Noirq, ms, -110);
        assert_eq!(ids("host", "soc", timed_out(1_005)), ["phase-noirq-needs-irq"]);
        assert!(ids("host", "soc", timed_out(340)).is_empty(), "no round time");
        assert!(ids("spinner", "soc", callback(Phase::Noirq, 1_000, -108)).is_empty());
    }

    #[test]
    fn a_sync_is_given_up_or_cannot_be() {
        let ids = |kernel: &str, complete: bool| -> Vec<&'static str> {
            let mut c = Capture::default();
            let kernel = c.names.add(kernel);
            let span = PhaseSpan {
                phase: Phase::Sync,
                event: PmEvent::Suspend,
                start: Ns(0),
                end: Ns(2_500 * MS),
                cpu: 0,
                complete,
                printed: None,
            };
            let one = Cycle { kernel, phases: vec![span], ..Cycle::default() };
            c.cycles = vec![one.clone(), one];
            judge(&c).iter().map(|f| f.id).collect()
        };
        assert_eq!(ids("7.3.4-amd64", false), ["sync-aborted"]);
        assert!(ids("6.12.1", false).is_empty(), "6.12 ends no sync");
        assert_eq!(ids("6.12.1", true), ["sync-not-abortable"]);
        assert!(ids("7.3.4", true).is_empty());
    }
}
