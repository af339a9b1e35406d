//! A bus that is used while it is suspended, and devices that do not come back.

use super::{found, lines};
use crate::Case;
use crate::fact::{Device, Fact, User};
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::phases::Misplaced;
use crate::stack;
use dormouse_base::time::Ns;

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    transfers(case, out);
    timeouts(case, out);
    unfinished(case, out);
    lost(case, out);
    traced(case, out);
    unordered(case, out);
}

/// A device that failed, and the kernel had said that it could make no link from it to
/// what its node names (drivers/base/core.c:fw_devlink_create_devlink, 6.12): nothing puts
/// the two in order then.
fn unordered(case: &Case, out: &mut Vec<Finding>) {
    let failed = |f: &Finding| match &f.fact {
        Fact::DeviceFailed { device, error, .. } => {
            Some((device.clone(), *error, f.evidence.clone()))
        }
        Fact::DevicesNotResumed { devices, error } => {
            Some((devices.first()?.clone(), *error, f.evidence.clone()))
        }
        _ => None,
    };
    let list: Vec<_> = out.iter().filter_map(failed).filter(|f| f.1 < 0 && f.1 != -16).collect();
    for (device, error, mut evidence) in list {
        let refused = |m: &&Message| {
            let owner = m.text.split_once(": Failed to create device link").map(|x| x.0);
            owner.is_some_and(|o| o.rsplit(' ').next() == Some(&device.name))
        };
        let Some(m) = case.messages.iter().find(refused) else { continue };
        let Some((_, name)) = m.text.split_once(" with ") else { continue };
        let name = name.strip_prefix("supplier ").unwrap_or(name);
        let supplier = name.split(' ').next().unwrap_or(name).trim_end_matches([',', '.']);
        evidence.truncate(2);
        evidence.extend(lines([m]));
        let supplier = Device { name: supplier.to_string(), driver: "".to_string() };
        out.push(found(
            ("phase-supplier-order", Area::Phase, Level::Broken),
            Confidence::Likely,
            Fact::Misplaced(Misplaced::SupplierOff { device, supplier, error }),
            evidence,
        ));
    }
}

/// `pm_trace_notify`, drivers/base/power/trace.c, prints this after a sleep in which
/// `generate_pm_trace` wrote a hash of each device to the clock of the machine.
fn traced(case: &Case, out: &mut Vec<Finding>) {
    let said = |m: &&Message| m.has("incorrect RTC due to pm_trace");
    let Some(m) = case.messages.iter().filter(said).find(|m| m.trust.is_of_a_kernel()) else {
        return;
    };
    out.push(found(
        ("phase-pm-trace", Area::Phase, Level::Slow),
        Confidence::Certain,
        Fact::TraceWasOn,
        lines([m]),
    ));
}

/// Functions of a bus itself: the first one that is none of these used it.
fn is_of_the_bus(f: &str) -> bool {
    let bus = ["__i2c", "i2c_", "_regmap", "regmap_", "spi_", "__spi", "__dev"];
    bus.iter().any(|b| f.starts_with(b)) || stack::is_of_a_report(f)
}

/// Whether a message stands inside an attempt to sleep.
fn inside(case: &Case, at: usize) -> bool {
    case.attempts.iter().any(|a| (a.first..a.end).contains(&at))
}

/// `i2c i2c-2: Transfer while suspended` (drivers/i2c/i2c-core.h:__i2c_check_suspended).
fn transfers(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &Message| m.has("Transfer while suspended") || m.has("call while suspended");
    let mut seen: Vec<(&str, Vec<usize>)> = Vec::new();
    for (i, m) in case.messages.iter().enumerate().filter(|(_, m)| is(m)) {
        let Some((device, _)) = m.text.rsplit_once(": ") else { continue };
        let device = device.rsplit(' ').next().unwrap_or(device).trim_matches('"');
        match seen.iter_mut().find(|s| s.0 == device) {
            Some(s) => s.1.push(i),
            None => seen.push((device, Vec::from([i]))),
        }
    }
    for (device, at) in seen {
        // A line with a call trace tells more than one that a person quotes.
        let first =
            *at.iter().find(|i| case.messages[**i].trust.is_of_a_kernel()).unwrap_or(&at[0]);
        // The worker is named before the functions, or the line before it.
        let near = &case.messages[first.saturating_sub(3)..case.messages.len().min(first + 40)];
        // Callbacks of asynchronous devices run in a worker of the core's own.
        let worker = near
            .iter()
            .find_map(|m| m.text.strip_prefix("Workqueue: ").map(|w| (m, w)))
            .filter(|(_, w)| !w.contains("async_run_entry_fn"));
        let frames = stack::frames(&case.messages, first, 80);
        let user = frames.iter().find(|f| !is_of_the_bus(f));
        let mut evidence = lines([&case.messages[first]]);
        let user = match (worker, user) {
            (Some((m, w)), _) => {
                evidence.extend(lines([m]));
                User::Work(w.split_whitespace().nth(1).unwrap_or(w).to_string())
            }
            _ if frames.contains(&"i2c_acpi_space_handler") => User::Firmware,
            (None, Some(f)) => User::Function(f.to_string()),
            (None, None) => User::Unknown,
        };
        // Mails rarely have the whole sleep around a warning.
        let awake = !case.attempts.is_empty() && !inside(case, first)
            || case.attempts.is_empty()
                && frames.iter().any(|f| f.starts_with("drm_mode") || f.ends_with("_shutdown"));
        out.push(found(
            ("phase-noirq-bus-gone", Area::Phase, Level::Broken),
            Confidence::Certain,
            Fact::BusUsed { bus: device.to_string(), user, awake },
            evidence,
        ));
    }
}

/// A bus that times out in noirq or while CPUs go or come back: interrupts of devices
/// are off from the end of late until the end of noirq resume
/// (kernel/irq/pm.c:suspend_device_irqs).
fn timeouts(case: &Case, out: &mut Vec<Finding>) {
    let mut off = false;
    let mut late: Vec<&Message> = Vec::new();
    for m in &case.messages {
        let cpus = m.has("Enabling non-boot CPUs") || m.has("Disabling non-boot CPUs");
        let back = ["noirq resume of", "early resume of", "resume of", "suspend entry"];
        let bus = ["i2c", "spi"].iter().any(|b| m.text.starts_with(b)) || m.has("ransfer");
        if cpus || m.says("late suspend of devices complete") {
            off = true;
        } else if m.has("suspend exit")
            || m.has("Restarting tasks")
            || back.iter().any(|w| m.says(w))
        {
            off = false;
        } else if off && bus && (m.has("timed out") || m.has("timeout")) {
            late.push(m);
        }
    }
    let Some(m) = late.first() else { return };
    let device = m.text.split(": ").next().unwrap_or("").rsplit(' ').next().unwrap_or("");
    out.push(found(
        ("phase-noirq-bus-gone", Area::Phase, Level::Broken),
        Confidence::Likely,
        Fact::BusTimedOut { device: device.to_string(), times: late.len() },
        lines(late),
    ));
}

/// A sleep that begins before the disks of the last resume are back.
fn unfinished(case: &Case, out: &mut Vec<Finding>) {
    let link = |m: &Message| {
        let name = m.text.split(':').next()?;
        (m.text.starts_with("ata") && m.has("SATA link up")).then(|| name.to_string())
    };
    for pair in case.attempts.windows(2) {
        let [a, b] = pair else { continue };
        let (Some(exit), Some(entry)) = (a.exit, b.entry) else { continue };
        if entry < exit || entry.0 - exit.0 > 5_000_000_000 {
            continue;
        }
        let up: Vec<String> = case.messages[a.first..b.first].iter().filter_map(link).collect();
        let messages = case.of(b);
        let down =
            messages.iter().position(|m| m.has("suspend devices took")).unwrap_or(messages.len());
        let late = messages[..down].iter().find(|m| link(m).is_some_and(|n| !up.contains(&n)));
        if let Some(m) = late {
            let disk = m.text.split(':').next().unwrap_or("a disk").to_string();
            out.push(found(
                ("phase-resume-unfinished", Area::Phase, Level::Risk),
                Confidence::Likely,
                Fact::DiskNotBack { gap: Ns(entry.0 - exit.0), disk },
                lines([&case.messages[a.end - 1], &case.messages[b.first], m]),
            ));
            return;
        }
    }
}

/// What the driver of a drive prints that cannot be pulled out
/// (drivers/nvme/host/pci.c:nvme_warn_reset, drivers/nvme/host/core.c:nvme_wait_ready, 6.12).
/// A USB controller of Thunderbolt dies in a sleep whenever nothing is plugged in.
const DEAD: [&str; 2] = ["controller is down; will reset", "Device not ready; aborting "];

/// Messages that say that a device or its driver is gone.
const GONE: [&str; 9] = [
    "detected stalls on CPUs",
    "I/O error, dev",
    "rejecting I/O to offline device",
    "HC died",
    "not responding, assume dead",
    DEAD[0],
    DEAD[1],
    "Host not accessible, reset failed",
    "blocked for more than",
];

/// How long after a sleep such a message counts as its consequence.
const AFTER: i64 = 300_000_000_000;

fn lost(case: &Case, out: &mut Vec<Finding>) {
    let gone = |m: &Message| GONE.iter().any(|w| m.has(w));
    // A machine that had it before did not get it from sleeping.
    let Some(first) = case.messages.iter().position(gone) else { return };
    for a in &case.attempts {
        // Between the last line before devices go down and the exit sticks and docks go and
        // come back; a drive's controller does not.
        let messages = case.of(a);
        let down = messages.iter().position(|m| m.has("Suspending console(s)"));
        let dead = DEAD.iter().any(|w| case.messages[first].has(w));
        let inside = down.filter(|d| dead && a.first + d < first && first < a.end);
        if inside.is_some() && case.messages[first].trust.is_of_a_kernel() {
            out.push(found(
                ("phase-device-lost", Area::Phase, Level::Broken),
                Confidence::Likely,
                Fact::DeviceLost { after_s: -1, reported: None },
                lines([&case.messages[first]]),
            ));
            return;
        }
        let Some(exit) = a.exit else { continue };
        let after = &case.messages[a.end..];
        let next =
            after.iter().position(|m| m.says("suspend entry") || m.says("hibernation entry"));
        let after = &after[..next.unwrap_or(after.len())];
        let near = |m: &Message| m.time.is_some_and(|t| t >= exit && t.0 - exit.0 < AFTER);
        let Some(at) = after.iter().position(|m| near(m) && gone(m)) else { continue };
        if a.end + at != first {
            return;
        }
        let m = &after[at];
        let after_s = m.time.map_or(0, |t| (t.0 - exit.0) / 1_000_000_000);
        // The last driver that reported errors before it.
        let driver =
            after[..at].iter().rev().take(30).find(|m| m.has("error handler") || m.has("reset"));
        let mut evidence = lines([m]);
        evidence.extend(lines(driver));
        out.push(found(
            ("phase-device-lost", Area::Phase, Level::Broken),
            Confidence::Likely,
            Fact::DeviceLost { after_s, reported: driver.map(|d| d.text.clone()) },
            evidence,
        ));
        return;
    }
}
