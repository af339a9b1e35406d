//! Callbacks in the wrong phase and syncs that were given up, as a recording shows them.

use crate::evidence::{cycles, device, seen};
use crate::finding::{Area, Confidence, Evidence, Finding, Level, OLD};
use crate::rules::phase::{BUS_GONE, supplier_off};
use crate::value::Value;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::{DeviceId, Link, LinkKind};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

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
    evidence.push(crate::evidence::value(knob));
    Some(frozen(worst, evidence))
}

/// The file of the setting.
pub(crate) const FREEZE_FILES: &str = "/sys/power/freeze_filesystems";

/// The finding of file systems that were frozen for so long.
pub(crate) fn frozen(worst: Ns, evidence: Vec<Evidence>) -> Finding {
    Finding::new(("sync-freeze-fs", Area::Sync, Level::Slow), Confidence::Likely)
        .says(format!(
            "Freezing file systems (freeze_filesystems) took up to {} between the sync and the tasks. It writes dirty data too, and no wakeup can end it.",
            say::span(worst)
        ))
        .look("Write the data before, while a wakeup can still end it: dormouse sync --hook DIR makes the unit.")
        .change(
            "Or do not freeze them: echo 0 > /sys/power/freeze_filesystems",
            OLD,
            "What writes by itself in a sleep, such as a loop device, meets a file system that is not frozen.",
        )
        .costs(worst)
        .shown_by(evidence)
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
            let f = supplier_off(device, supplier, x.error)
                .when(Some(x.phase.direction()), Some(x.phase))
                .shown_by([seen(capture, at, x.end, &text)]);
            out.push(f);
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
            let who = say::device(&d);
            let f = if is_behind_a_bus(capture, x.device) {
                Finding::new(BUS_GONE, Confidence::Certain)
                    .says(format!(
                        "{who} failed in noirq behind a bus: {}. Its bus was suspended already, or needs interrupts, which are off there.",
                        say::told(x.error)
                    ))
                    .look("Suspend the bus's host in noirq, or the device in suspend, and add the device link from the device to the host.")
            } else if x.error == TIMED_OUT && is_round(took) {
                let rule = ("phase-noirq-needs-irq", Area::Phase, Level::Broken);
                Finding::new(rule, Confidence::Likely)
                    .says(format!(
                        "{who} timed out in noirq after {}: it most likely waited for its own interrupt, and interrupts of devices are off there.",
                        say::span(took)
                    ))
                    .look("Poll there, or do that work in suspend or late, where interrupts are on.")
            } else {
                continue;
            };
            let f = f
                .of_devices([d])
                .of_error(x.error)
                .when(Some(x.phase.direction()), Some(x.phase))
                .at("noirq")
                .shown_by([seen(capture, at, x.end, &what)]);
            out.push(f);
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
    let evidence = list.iter().take(LINES).map(|(at, c)| seen(capture, *at, c.start, text));
    out.push(given_up(list.len(), Confidence::Likely).shown_by(evidence));
}

/// Sleeps whose sync was given up.
pub(crate) fn given_up(n: usize, confidence: Confidence) -> Finding {
    let times = if n == 1 { "A sleep".into() } else { format!("{n} sleeps") };
    Finding::new(("sync-aborted", Area::Sync, Level::Note), confidence)
        .says(format!(
            "{times} ended before any task was frozen: most likely a wakeup ended the waiting for the sync (from 6.19 on). The sync itself went on."
        ))
        .look("See which source woke: the difference of /sys/kernel/debug/wakeup_sources. The next attempt waits for the rest of that sync.")
        .times(n)
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
    Finding::new(("sync-not-abortable", Area::Sync, Level::Note), Confidence::Certain)
        .says(format!(
            "Nothing can end a sync before a sleep on {kernel}, and one took {}: a wakeup meanwhile waits.",
            say::span(worst)
        ))
        .look("Write the data before, with dormouse sync, which can be ended; or take 6.19 and arm wakeup_count.")
        .shown_by(evidence)
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
