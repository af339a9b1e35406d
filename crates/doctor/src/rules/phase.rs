//! A bus that is used while it is suspended, and devices that do not come back.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::Message;
use crate::rules::abort::owner;
use crate::rules::medium;
use crate::stack;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
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
    let failed = |f: &Finding| {
        let is = matches!(f.id, "device-failed" | "device-not-resumed");
        let first = f.about.devices.first().filter(|_| is)?;
        Some((first.clone(), f.about.error?, f.evidence.clone()))
    };
    let list: Vec<_> = out.iter().filter_map(failed).filter(|f| f.1 < 0 && f.1 != -16).collect();
    for (device, error, mut evidence) in list {
        let refused = |m: &&Message| {
            let owner = m.text.split_once(": Failed to create device link").map(|x| x.0);
            owner.is_some_and(|o| o.rsplit(' ').next() == Some(&device.name))
        };
        let mut said = case.messages.having(": Failed to create device link").map(|(_, m)| m);
        let Some(m) = said.find(refused) else { continue };
        let Some((_, name)) = m.text.split_once(" with ") else { continue };
        let name = name.strip_prefix("supplier ").unwrap_or(name);
        let supplier = name.split(' ').next().unwrap_or(name).trim_end_matches([',', '.']);
        evidence.truncate(2);
        evidence.extend(lines([m]));
        let supplier = Device { name: supplier.to_string(), driver: "".to_string() };
        out.push(supplier_off(device, supplier, error).shown_by(evidence));
    }
}

/// A device that failed while another that its node names was suspended, and no device
/// link puts them in order.
pub(crate) fn supplier_off(device: Device, supplier: Device, error: i32) -> Finding {
    Finding::new(("phase-supplier-order", Area::Phase, Level::Broken), Confidence::Likely)
        .says(format!(
            "{} failed: {}. {}, which its node names, was suspended then or not yet back, and no device link puts the two in order.",
            say::device(&device),
            say::told(error),
            say::device(&supplier)
        ))
        .look("Add the device link, not a later phase: the node must name the supplier so that fw_devlink makes it, or the driver calls device_link_add().")
        .of_devices([device, supplier])
        .of_error(error)
}

/// `pm_trace_notify`, drivers/base/power/trace.c, prints this after a sleep in which
/// `generate_pm_trace` wrote a hash of each device to the clock of the machine.
fn traced(case: &Case, out: &mut Vec<Finding>) {
    let mut said = case.messages.having("incorrect RTC due to pm_trace").map(|(_, m)| m);
    let Some(m) = said.find(|m| m.trust.is_of_a_kernel()) else { return };
    let f = Finding::new(("phase-pm-trace", Area::Phase, Level::Slow), Confidence::Certain)
        .says("pm_trace was on: the kernel set the clock of the machine at every device, so the sleep took longer and the clock is wrong after it.")
        .change("echo 0 > /sys/power/pm_trace", crate::finding::OLD, "")
        .shown_by(lines([m]));
    out.push(f);
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
    let words = ["Transfer while suspended", "call while suspended"];
    let mut seen: Vec<(&str, Vec<usize>)> = Vec::new();
    for (i, m) in case.messages.having_any(&words) {
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
        let user = frames.iter().map(String::as_str).find(|f| !is_of_the_bus(f));
        let mut evidence = lines([&case.messages[first]]);
        let work = worker.map(|(_, w)| w.split_whitespace().nth(1).unwrap_or(w));
        evidence.extend(worker.map(|(m, _)| Evidence::from(m)));
        let who = match (work, user) {
            (Some(name), _) => {
                format!("work item {name} used it, not a callback of power management")
            }
            _ if frames.iter().any(|f| f == "i2c_acpi_space_handler") => {
                "ACPI code used it (an operation region of the firmware)".into()
            }
            (None, Some(f)) => format!("{f} used it"),
            (None, None) => "no line that was read says who used it".into(),
        };
        // Mails rarely have the whole sleep around a warning.
        let awake = !case.attempts.is_empty() && !inside(case, first)
            || case.attempts.is_empty()
                && frames.iter().any(|f| f.starts_with("drm_mode") || f.ends_with("_shutdown"));
        let f = Finding::new(BUS_GONE, Confidence::Certain);
        let f = if awake {
            f.says(format!("Bus {device} was used while it was marked as suspended, outside any sleep: {who}."))
                .look("Something marked the bus as suspended and did not take it back (a shutdown callback, or a failed resume).")
        } else {
            f.says(format!("Bus {device} was used while it was suspended: {who}.")).look(if work.is_some() {
                "Put that work on a freezable workqueue (system_freezable_wq), or cancel it in the driver's suspend."
            } else {
                "Suspend the bus later (noirq) or its user earlier, and add the device link from the user to the bus."
            })
        };
        let bus = Device { name: device.to_string(), driver: String::new() };
        let f = f.of_devices([bus]).of_function(work.or(user)).at("noirq");
        out.push(f.shown_by(evidence));
    }
}

/// A bus that was suspended, or needs interrupts, where somebody used it.
pub(crate) const BUS_GONE: (&str, Area, Level) =
    ("phase-noirq-bus-gone", Area::Phase, Level::Broken);

/// A bus that times out in noirq or while CPUs go or come back: interrupts of devices
/// are off from the end of late until the end of noirq resume
/// (kernel/irq/pm.c:suspend_device_irqs).
const OFF: [&str; 10] = [
    "Enabling non-boot CPUs",
    "Disabling non-boot CPUs",
    "late suspend of devices complete",
    "noirq resume of",
    "early resume of",
    "resume of",
    "suspend e",
    "Restarting tasks",
    "timed out",
    "timeout",
];

fn timeouts(case: &Case, out: &mut Vec<Finding>) {
    let mut off = false;
    let mut late: Vec<&Message> = Vec::new();
    let mut users: Vec<&Message> = Vec::new();
    for (at, m) in case.messages.having_any(&OFF) {
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
            let next = case.messages.get(at + 1).filter(|n| uses(m, n));
            if let Some(next) =
                next.filter(|n| users.iter().all(|u| owner(&u.text) != owner(&n.text)))
            {
                users.push(next);
            }
        }
    }
    let Some(m) = late.first() else { return };
    let by = users.iter().map(|u| owner(&u.text)).collect::<Vec<_>>();
    let user = match &by[..] {
        [] => "so whoever used it then could not be served; no line that was read names the user."
            .into(),
        [..] => format!(
            "so {}, which complains right behind it, used it then and could not be served.",
            by.iter().map(say::device).collect::<Vec<_>>().join(" and ")
        ),
    };
    let device = m.text.split(": ").next().unwrap_or("").rsplit(' ').next().unwrap_or("");
    let f = Finding::new(BUS_GONE, Confidence::Likely)
        .says(format!(
            "{device} timed out {} in noirq, or while CPUs were switched off or on. Interrupts of devices are off there, {user}",
            say::once(late.len())
        ))
        .look("Look for what uses that bus there: a noirq callback of a device behind it, or what sets voltages or clocks when a CPU comes up (cpufreq, regulators).")
        .of_devices([Device { name: device.to_string(), driver: String::new() }].into_iter().chain(by))
        .times(late.len())
        .at("noirq")
        .shown_by(lines(late.into_iter().chain(users)));
    out.push(f);
}

/// Two messages that are so near are of one transfer, in ns: those of its bus and of its user.
const OF_ONE: i64 = 2_000_000;

/// Whether `next` is the word of a device that used the bus which timed out in `m`.
fn uses(m: &Message, next: &Message) -> bool {
    let (Some(a), Some(b)) = (m.time, next.time) else { return false };
    let (bus, user) = (owner(&m.text), owner(&next.text));
    let fails = ["error", "failed", "timeout", "timed out", "-110"].iter().any(|w| next.has(w));
    (0..OF_ONE).contains(&(b.0 - a.0))
        && fails
        && !user.name.is_empty()
        && !user.driver.is_empty()
        && user.name != bus.name
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
            let disk = m.text.split(':').next().unwrap_or("a disk");
            let rule = ("phase-resume-unfinished", Area::Phase, Level::Risk);
            let f = Finding::new(rule, Confidence::Likely)
                .says(format!(
                    "The next sleep began {} ms after the last one ended, while {disk} was still coming back. Disks resume in the background after `suspend exit`.",
                    Ns(entry.0 - exit.0).0 / 1_000_000
                ))
                .look("Wait for the disks between two sleeps (a test loop: 5 s), or look at the order of disk resume in this kernel.")
                .of_devices([Device { name: disk.to_string(), driver: String::new() }])
                .at("resume")
                .shown_by(lines([&case.messages[a.end - 1], &case.messages[b.first], m]));
            out.push(f);
            return;
        }
    }
}

/// What the driver of a drive prints that cannot be pulled out
/// (drivers/nvme/host/pci.c:nvme_warn_reset, drivers/nvme/host/core.c:nvme_wait_ready, 6.12).
/// A USB controller of Thunderbolt dies in a sleep whenever nothing is plugged in.
const DEAD: [&str; 2] = ["controller is down; will reset", "Device not ready; aborting "];

/// Messages that say that a device or its driver is gone.
const GONE: [&str; 10] = [
    "I/O error, dev",
    "rejecting I/O to offline device",
    "HC died",
    "not responding, assume dead",
    DEAD[0],
    DEAD[1],
    "Host not accessible, reset failed",
    "Remounting filesystem read-only",
    // drivers/ata/libata-eh.c, of a drive that is given up.
    ".00: disabled",
    ".00: disable device",
];

/// How long after a sleep such a message counts as its consequence.
const AFTER: i64 = 300_000_000_000;

fn lost(case: &Case, out: &mut Vec<Finding>) {
    let gone = |m: &Message| GONE.iter().any(|w| m.has(w));
    // A machine that had it before did not get it from sleeping.
    let Some((first, m)) = case.messages.having_any(&GONE).next() else { return };
    // A drive that says what it could not read is there.
    if medium::failed(&m.text).is_some_and(|f| medium::is_damaged(case, f.disk)) {
        return;
    }
    for a in &case.attempts {
        // Between the last line before devices go down and the exit sticks and docks go and
        // come back; a drive's controller does not.
        let messages = case.of(a);
        let down = messages.iter().position(|m| m.has("Suspending console(s)"));
        let dead = DEAD.iter().any(|w| case.messages[first].has(w));
        let inside = down.filter(|d| dead && a.first + d < first && first < a.end);
        if inside.is_some() && case.messages[first].trust.is_of_a_kernel() {
            out.push(device_lost("before its end", None, &case.messages[first]));
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
        out.push(device_lost(&format!("{after_s} s after it"), driver, m));
        return;
    }
}

/// A device that is gone since a sleep; a driver may have reported errors before.
fn device_lost(when: &str, reported: Option<&Message>, m: &Message) -> Finding {
    let near = reported.map_or(String::new(), |d| {
        format!(" Just before, this was reported: {}.", d.text.trim_end_matches('.'))
    });
    // `nvme nvme1: controller is down; …`; what names no driver may be no device.
    let device = owner(&m.text);
    // `EXT4-fs (sdk1): Remounting …` is of a disk too.
    let mounted = || device.name.strip_prefix('(')?.strip_suffix(')');
    let disk = medium::failed(&m.text).map(|f| f.disk).or_else(mounted);
    let disk = disk.map(|d| Device { name: d.into(), ..Device::default() });
    let named = !device.driver.is_empty() && m.text.contains(&format!("{}: ", device.name));
    let (device, named) = disk.map_or((device, named), |d| (d, true));
    let who = if named { say::device(&device) } else { "A device".into() };
    Finding::new(("phase-device-lost", Area::Phase, Level::Broken), Confidence::Likely)
        .says(format!(
            "{who} did not survive the sleep: {when} the kernel reports trouble that it had not before.{near}"
        ))
        .of_devices(named.then_some(device))
        .look("Look whether its driver has suspend and resume callbacks; unload it before sleep to try.")
        .when(Some(Direction::Resume), None)
        .at("resume")
        .shown_by(lines([m].into_iter().chain(reported)))
}
