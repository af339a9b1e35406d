//! Callbacks in the wrong phase and syncs that were given up, as a recording shows them.

use crate::fact::{Device, Fact};
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::recorded::{cycles, device, seen};
use crate::value::Value;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

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
    /// A line of interrupts that one of its owners wants never suspended, and another does
    /// not know of; the function that asked for it, if the text says.
    NeverSuspended(Device),
    /// File systems were frozen after the sync and before the tasks, for at most so long.
    FilesFrozen(Ns),
    /// The kernel lost data that it was to write: of this disk or file system.
    WriteError(String),
    /// `dormouse sync` was told of a write error by this file system.
    SyncError(String),
    /// A device failed while another that its node names was suspended, and no device
    /// link puts them in order.
    SupplierOff {
        /// Whose callback failed.
        device: Device,
        /// What it needs.
        supplier: Device,
        /// What the callback returned.
        error: i32,
    },
    /// A callback of runtime PM asks for its own device, and waits for itself.
    SelfWait(String),
    /// A suspend callback takes as long as the runtime one of the same device does.
    Twin(Device, Ns, Ns),
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
    unordered(capture, &mut out);
    out
}

/// From here on freezing file systems is worth a finding.
pub(crate) const FROZEN: Ns = Ns(50_000_000);

/// The time between sync and freezing of tasks, where the setting `knob` says that file
/// systems are frozen there (kernel/power/suspend.c:suspend_prepare, 7.3). No mark of the
/// trace tells of it.
pub fn files_frozen(capture: &Capture, knobs: &[Value]) -> Option<Finding> {
    let knob = knobs.iter().find(|v| v.path == FREEZE_FILES && v.value == "1")?;
    let gap = |c: &Cycle| {
        let sync = c.phases.iter().find(|p| p.phase == Phase::Sync && p.complete)?;
        let next = c.phases.iter().find(|p| p.start >= sync.end)?;
        let freezes = matches!(next.phase, Phase::Freeze | Phase::FreezeUser);
        freezes.then(|| (sync.end, next.start.since(sync.end)))
    };
    let gaps = cycles(capture).filter_map(|(at, c)| Some((gap(c)?, at)));
    let ((from, worst), at) = gaps.max_by_key(|g| g.0.1).filter(|g| g.0.1 >= FROZEN)?;
    let text = format!("{} us between sync_filesystems and freeze_processes", worst.0 / 1_000);
    let mut evidence = Vec::from([seen(capture, at, from, &text)]);
    evidence.push(crate::rules::value(knob));
    Some(frozen(worst, evidence))
}

/// The file of the setting.
pub(crate) const FREEZE_FILES: &str = "/sys/power/freeze_filesystems";

/// The finding of file systems that were frozen for so long.
pub(crate) fn frozen(worst: Ns, evidence: Vec<Evidence>) -> Finding {
    Finding {
        id: "sync-freeze-fs",
        area: Area::Sync,
        level: Level::Slow,
        fact: Fact::Misplaced(Misplaced::FilesFrozen(worst)),
        evidence,
        costs: Some(worst),
        saves: None,
        confidence: Confidence::Likely,
    }
}

/// `EBUSY`: mostly a wakeup, no supplier.
const BUSY: i32 = -16;

/// Whether `above` is `d` or stands above it.
fn is_above(capture: &Capture, above: DeviceId, d: DeviceId) -> bool {
    let mut at = Some(d);
    // No graph is deeper, and a damaged one may go round.
    for _ in 0..64 {
        match at {
            Some(id) if id == above => return true,
            Some(id) => at = capture.graph.get(id).parent,
            None => return false,
        }
    }
    false
}

/// Devices that failed while another that their node names was off, and nothing puts the
/// two in order (drivers/base/power/main.c:dpm_wait_for_suppliers waits for links alone).
fn unordered(capture: &Capture, out: &mut Vec<Finding>) {
    if !capture.graph.links_known {
        return;
    }
    let linked = |consumer, supplier| {
        let orders = |kind| matches!(kind, LinkKind::Stateless | LinkKind::Active);
        let is = |l: &&Link| l.consumer == consumer && l.supplier == supplier && orders(l.kind);
        capture.graph.links.iter().any(|l| is(&l))
    };
    let needs = |d| {
        let all = capture.graph.needs.iter().filter(move |n| n.0 == d).map(|n| n.1);
        all.filter(move |&s| !is_above(capture, s, d) && !linked(d, s))
    };
    let mut told: Vec<DeviceId> = Vec::new();
    for (at, c) in cycles(capture) {
        for x in c.callbacks.iter().filter(|x| x.error < 0 && x.error != BUSY) {
            let down = x.phase.direction() == Direction::Suspend;
            let is_off = |s: DeviceId| {
                let mut own = c.callbacks.iter().filter(|y| y.device == s);
                if down {
                    let ended = |y: &Callback| {
                        y.phase.direction() == Direction::Suspend
                            && y.phase != Phase::Prepare
                            && y.complete
                            && y.end <= x.start
                    };
                    own.any(ended)
                } else {
                    // It comes back later, and nothing of it was back.
                    let mut up = own.filter(|y| y.phase.direction() == Direction::Resume);
                    up.next().is_some_and(|y| y.start >= x.start)
                }
            };
            let Some(s) = needs(x.device).find(|&s| is_off(s)) else { continue };
            if told.contains(&x.device) {
                continue;
            }
            told.push(x.device);
            let (device, supplier) = (device(capture, x.device), device(capture, s));
            let text = format!(
                "{} of {} returned {}; {} was suspended, and no link joins them",
                x.phase.title(),
                device.name,
                x.error,
                supplier.name
            );
            let fact = Misplaced::SupplierOff { device, supplier, error: x.error };
            out.push(Finding {
                id: "phase-supplier-order",
                area: Area::Phase,
                level: Level::Broken,
                fact: Fact::Misplaced(fact),
                evidence: Vec::from([seen(capture, at, x.end, &text)]),
                costs: None,
                saves: None,
                confidence: Confidence::Likely,
            });
        }
    }
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
                saves: None,
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
        saves: None,
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
        saves: None,
        confidence: Confidence::Certain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_base::cycle::{PhaseSpan, ThreadId};
    use dormouse_base::device::Device as Known;
    use dormouse_base::phase::PmEvent;

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

    /// A consumer that fails and its supplier, which stands first or last.
    fn order(supplier_first: bool, linked: bool, error: i32) -> Vec<&'static str> {
        let mut c = Capture::default();
        for name in ["panel", "regulator"] {
            let name = c.names.add(name);
            c.graph.push(Known { name, ..Known::default() });
        }
        let (panel, regulator) = (DeviceId(0), DeviceId(1));
        c.graph.links_known = true;
        c.graph.needs = vec![(panel, regulator)];
        if linked {
            let kind = LinkKind::Active;
            let link = Link { consumer: panel, supplier: regulator, kind, pm_runtime: false };
            c.graph.links.push(link);
        }
        let failing = Callback { start: Ns(5 * MS), ..callback(Phase::Suspend, 8, error) };
        let at = if supplier_first { 0 } else { 9 };
        let supplier = Callback {
            device: regulator,
            start: Ns(at * MS),
            end: Ns((at + 1) * MS),
            ..callback(Phase::Suspend, 1, 0)
        };
        c.cycles = vec![Cycle { callbacks: vec![failing, supplier], ..Cycle::default() }];
        judge(&c).iter().map(|f| f.id).collect()
    }

    #[test]
    fn a_supplier_that_was_off_is_named_unless_a_link_orders_it() {
        assert_eq!(order(true, false, -110), ["phase-supplier-order"]);
        assert!(order(false, false, -110).is_empty(), "the supplier was on");
        assert!(order(true, true, -110).is_empty(), "the link waits");
        assert!(order(true, false, 0).is_empty() && order(true, false, -16).is_empty());
    }

    #[test]
    fn file_systems_that_are_frozen_for_long_are_told_with_the_setting_alone() {
        let found = |gap: i64, value: &str| {
            let span = |phase, start: i64, end: i64| PhaseSpan {
                phase,
                event: PmEvent::Suspend,
                start: Ns(start * MS),
                end: Ns(end * MS),
                cpu: 0,
                complete: true,
                printed: None,
            };
            let freeze = span(Phase::Freeze, 10 + gap, 12 + gap);
            let phases = vec![span(Phase::Sync, 0, 10), freeze];
            let cycles = vec![Cycle { phases, ..Cycle::default() }];
            let c = Capture { cycles, ..Capture::default() };
            let knob = Value { line: 0, path: FREEZE_FILES.into(), value: value.into() };
            files_frozen(&c, &[knob]).map(|f| f.costs)
        };
        assert_eq!(found(1_600, "1"), Some(Some(Ns(1_600 * MS))));
        assert_eq!(found(1_600, "0"), None, "notifiers may take that long too");
        assert_eq!(found(20, "1"), None);
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
