//! Runtime power management, from the `power/` folders that a text shows
//! (Documentation/ABI/testing/sysfs-devices-power).

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::Message;
use crate::stack;
use crate::stage;
use crate::trouble::{Kind, troubles};
use crate::value::Value;
use dormouse_base::folder::device_of;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// The values of one dump of one folder.
struct Folder<'a> {
    path: &'a str,
    values: Vec<&'a Value>,
}

impl<'a> Folder<'a> {
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.values.iter().copied().find(|v| v.name() == name)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.value(name).is_some_and(|v| v.value == value)
    }
}

/// Dumps of `power/` folders; a value that comes again begins another dump.
fn folders(case: &Case) -> Vec<Folder<'_>> {
    let mut out: Vec<Folder<'_>> = Vec::new();
    for v in case.values.iter().filter(|v| v.folder().ends_with("/power")) {
        match out.last_mut() {
            Some(f) if f.path == v.folder() && f.value(v.name()).is_none() => f.values.push(v),
            _ => out.push(Folder { path: v.folder(), values: Vec::from([v]) }),
        }
    }
    out
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    faults(case, out);
    crash(case, out);
    failures(case, out);
    self_waits(case, out);
    states(case, out);
    held(case, out);
    driver_off(case, out);
}

/// A driver that says itself that its device stays on at run time: NVIDIA's, in
/// `/proc/driver/nvidia/gpus/ADDRESS/power` (its README, "PCI-Express Runtime D3 Power
/// Management").
fn driver_off(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "Runtime D3 status:";
    for (at, m) in case.messages.having(WORDS) {
        let Some(status) = m.after(WORDS).map(str::trim) else { continue };
        let may = !status.starts_with("Disabled") && !status.starts_with("Not supported");
        if may || status.len() > 60 {
            continue;
        }
        // The path stands before it, as `grep` prints it, or in the command above.
        let above = case.messages[at.saturating_sub(3)..=at].iter().rev();
        let address = |m: &Message| {
            let (_, rest) = m.text.split_once("/gpus/")?;
            rest.split_once("/power").map(|(a, _)| a.to_owned()).filter(|a| !a.contains(' '))
        };
        let device = above.into_iter().find_map(address);
        let whose = device.as_ref().map_or("a device".into(), |d| format!("device {d}"));
        let f = Finding::new(("rpm-driver-off", Area::Rpm, Level::Note), Confidence::Likely)
            .says(format!(
                "The driver of {whose} does not switch it off at run time: its \"Runtime D3 status\" is \"{status}\"."
            ));
        let f = match status.starts_with("Not") {
            true => f.look("The chip, the firmware or the driver cannot do it: no setting changes that."),
            false => f.change(
                "Set NVreg_DynamicPowerManagement=0x02 for the module nvidia (a line \"options nvidia …\" in /etc/modprobe.d), power/control of the device to auto, and start anew.",
                "Take the line away, and start anew.",
                "A chip for which the driver leaves it off may not come back.",
            ),
        };
        let name = device.unwrap_or_default();
        let named = Device { name, driver: "nvidia".into() };
        let f = f.of_devices((!named.name.is_empty()).then_some(named));
        out.push(f.shown_by(crate::evidence::lines([m])));
        return;
    }
}

/// What drivers/base/power/runtime.c complains of: the rule, the kernel's words, the end of
/// the sentence "DEVICE …", and what to do.
const FAULTS: [(&str, &str, &str, &str); 3] = [
    (
        "rpm-underflow",
        "Runtime PM usage count underflow!",
        "was put more often than it was got (pm_runtime_put without a pm_runtime_get): by its driver, its bus, or a subsystem that uses it; the line does not say by whom",
        "Look for an error path that puts without a get, in the driver first and then in what calls it.",
    ),
    (
        "rpm-parent-off",
        "runtime PM trying to activate child device",
        "was called active while its parent was suspended, so its state is not what the core thinks",
        "The driver must resume the parent first (pm_runtime_get_sync), then set the device active.",
    ),
    (
        "rpm-unbalanced",
        "Unbalanced pm_runtime_enable!",
        "had runtime power management enabled twice",
        "Look for a probe or resume that enables it a second time.",
    ),
];

fn faults(case: &Case, out: &mut Vec<Finding>) {
    for (id, words, fault, advice) in FAULTS {
        let said = case.messages.all_having(words);
        let named = || said.iter().filter_map(|m| Some((*m, device_before(m, words)?)));
        // What a person quotes names the device only where no kernel does.
        let own = named().any(|(m, _)| m.trust.is_of_a_kernel());
        let mut told: Vec<&str> = Vec::new();
        for (_, device) in named().filter(|(m, _)| !own || m.trust.is_of_a_kernel()) {
            if told.contains(&device) {
                continue;
            }
            told.push(device);
            let its = named().filter(|(_, d)| *d == device).map(|(m, _)| m);
            out.push(
                Finding::new((id, Area::Rpm, Level::Risk), Confidence::Certain)
                    .says(format!("{device} {fault}."))
                    .look(advice)
                    .of_devices([Device { name: device.to_string(), driver: String::new() }])
                    .shown_by(crate::evidence::lines(its)),
            );
        }
    }
}

/// The device that stands before `words`, as drivers/base/core.c:__dev_printk prints it. In a
/// sentence of a person nothing else stands before it, and its name is no plain word.
fn device_before<'a>(m: &'a Message, words: &str) -> Option<&'a str> {
    let owner = m.text.split_once(words)?.0.trim_end().strip_suffix(':')?;
    let owner = owner.strip_suffix(": PM").unwrap_or(owner);
    let device = owner.rsplit(' ').next().filter(|d| !d.is_empty())?;
    let plain = device.chars().all(char::is_alphabetic);
    let short = owner.split(' ').count() <= 2;
    (m.trust.is_of_a_kernel() || short && !plain).then_some(device)
}

/// A crash inside a callback that drivers/base/power/runtime.c:__rpm_callback runs.
fn crash(case: &Case, out: &mut Vec<Finding>) {
    for t in troubles(&case.messages) {
        let lines = &case.messages[t.at..t.end];
        // arch/arm64/kernel/traps.c and arch/arm/kernel/traps.c print code, the instruction of
        // the fault in brackets, where the kernel dies, and not where it warns.
        let dies = |m: &Message| {
            m.text.trim_start().starts_with("Code: ") && m.text.trim_end().ends_with(')')
        };
        let headless = t.is_headless();
        if t.kind != Kind::Crash && !(headless && lines.iter().any(dies)) {
            continue;
        }
        // The processor was in a function that its dump may not repeat.
        let mut frames = t.frames.clone();
        if let Some(place) = t.place.as_ref().filter(|p| !frames.contains(p)) {
            frames.insert(0, place.clone());
        }
        let core = frames.iter().position(|f| f.function.ends_with("rpm_callback"));
        // The last frame that is left may be the bus's own callback.
        let of_runtime = |f: &stack::Frame| stage::is_runtime(&f.function);
        let core = core.or_else(|| frames.iter().rposition(of_runtime));
        // Its workqueue names itself in the head of the dump, where the frames were cut off.
        let works = |m: &Message| m.has("Workqueue: pm pm_runtime_work");
        let at_work = core.is_none() && lines.iter().take(20).any(works);
        if core.is_none() && !at_work {
            continue;
        }
        // What the core calls is the bus's, or the power domain's; what that calls in turn is
        // the driver's: the outermost that is none of theirs.
        let own = &frames[..core.unwrap_or(0)];
        // Where the core's own frame was cut off, the last one may be the driver's.
        let last =
            core.map(|at| &frames[at]).filter(|f| of_runtime(f) && !is_of_a_bus(&f.function));
        let of_report = |f: &&stack::Frame| stack::is_of_a_report(&f.function);
        let mut drivers = own.iter().rev().filter(|f| !of_report(f));
        let callback = last.or_else(|| drivers.find(|f| !is_of_a_bus(&f.function)));
        let callback = callback.or_else(|| t.culprit()).or_else(|| own.last());
        let Some(callback) = callback else { continue };
        let inside = t.culprit().filter(|f| *f != callback && own.contains(f));
        let inside = inside.map_or(String::new(), |f| format!(", in {}", f.words()));
        let cut = if headless { " The first lines of the report are cut off." } else { "" };
        let f = Finding::new(("rpm-crash", Area::Rpm, Level::Broken), Confidence::Certain)
            .says(format!(
                "{} crashed the kernel as a callback of runtime power management{inside}.{cut}",
                callback.words()
            ))
            .look("Look whether its device was being removed: remove must end runtime power management (pm_runtime_disable, a get without a put) before it takes away what the callback uses.")
            .of_function(Some(&callback.function))
            .shown_by(crate::evidence::lines([&case.messages[t.at]]));
        out.push(f);
        return;
    }
}

/// Functions of the core of runtime PM, of buses and of power domains, which stand around the
/// callback of a driver (drivers/base/power/runtime.c, drivers/pci/pci-driver.c, drivers/usb/core/driver.c,
/// drivers/pmdomain/core.c, drivers/scsi/scsi_pm.c, drivers/base/power/generic_ops.c, 6.12).
fn is_of_a_bus(function: &str) -> bool {
    // Not `rpm_` alone: a Resource Power Manager is a device, with functions of that name.
    const FRONT: [&str; 26] = [
        "__pm_runtime_",
        "pm_runtime_",
        "__rpm_",
        "rpm_suspend",
        "rpm_resume",
        "rpm_idle",
        "rpm_callback",
        "rpm_get_",
        "pm_generic_",
        "genpd_",
        "__genpd_",
        "pm_clk_",
        "pci_pm_runtime_",
        "pci_pm_default_",
        "usb_runtime_",
        "usb_suspend_",
        "usb_resume_",
        "usb_autosuspend_",
        "usb_autoresume_",
        "platform_pm_",
        "acpi_subsys_",
        "acpi_dev_",
        "amba_pm_",
        "scsi_runtime_",
        "sdev_runtime_",
        "mmc_runtime_",
    ];
    FRONT.iter().any(|w| function.starts_with(w))
}

/// A call of runtime PM, or its return, as a trace in a text shows it.
struct Event<'a> {
    at: usize,
    time: u64,
    thread: &'a str,
    /// `rpm_suspend`, `rpm_resume`, `rpm_idle`.
    function: &'a str,
    device: &'a str,
    /// Flags of the call; `None` of a return.
    flags: Option<u32>,
    /// What a return says.
    ret: i32,
    /// A CPU and a time stand before it, so that no person typed it.
    traced: bool,
    /// It is a comment of function_graph, behind its number of a CPU
    /// (kernel/trace/trace_functions_graph.c:print_graph_comment).
    comment: bool,
}

/// `kworker/0:0-5 [000] d..1 144.830189: rpm_resume: NAME flags-2 cnt-1 …`, and
/// `…: rpm_return_int: rpm_resume+0x114/0x758:NAME ret=0` (include/trace/events/rpm.h);
/// printk writes the event alone behind its own time (`tp_printk`), function_graph as a
/// comment.
fn event(at: usize, m: &Message) -> Option<Event<'_>> {
    let text = m.text.as_str();
    let begin = text.find("rpm_").filter(|b| *b == 0 || text[..*b].ends_with([' ', ':']))?;
    let (front, rest) = (text[..begin].trim_end().trim_end_matches(':'), &text[begin + 4..]);
    let thread = front.split('[').next()?.trim();
    let stamp = || {
        let digits = front.rsplit(' ').next()?.split_once('.')?;
        let micros: u64 = digits.1.get(..6)?.parse().ok()?;
        digits.0.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)
    };
    let own = || u64::try_from(m.time?.0 / 1_000).ok();
    let time = stamp().or_else(own).unwrap_or(at as u64);
    let traced = front.contains('[') && stamp().is_some();
    let comment = front.ends_with("/*") && front.contains(") ") && front.contains('|');
    let (word, rest) = rest.split_once(": ")?;
    let rest = rest.trim_end().trim_end_matches("*/").trim_end();
    if word == "return_int" {
        let (function, rest) = rest.split_once('+')?;
        let (device, ret) = rest.split_once(':')?.1.split_once(" ret=")?;
        let ret = ret.split_whitespace().next()?.parse().ok()?;
        return Some(Event {
            at,
            time,
            thread,
            function,
            device,
            flags: None,
            ret,
            traced,
            comment,
        });
    }
    let function = match word {
        "resume" => "rpm_resume",
        "suspend" => "rpm_suspend",
        _ => return None,
    };
    let (device, rest) = rest.split_once(" flags-")?;
    let flags = u32::from_str_radix(rest.split(' ').next()?, 16).ok()?;
    Some(Event { at, time, thread, function, device, flags: Some(flags), ret: 0, traced, comment })
}

/// Events of runtime PM in the text, in order of time. What has a trace's columns is
/// one even where a person quotes it.
fn events(case: &Case) -> Vec<Event<'_>> {
    let all = case.messages.having("rpm_");
    let read = all.filter_map(|(at, m)| {
        let e = event(at, m)?;
        (e.traced || e.comment || m.trust.is_of_a_kernel()).then_some(e)
    });
    let mut out: Vec<Event<'_>> = read.collect();
    out.sort_by_key(|e| e.time);
    out
}

/// Errors that mean "not now": `EAGAIN`, `EACCES`, `EBUSY`, `EINPROGRESS`.
const NOT_NOW: [i32; 4] = [-11, -13, -16, -115];
/// What the core answers for a device of which a callback failed before (`EINVAL`,
/// `rpm_resume`, drivers/base/power/runtime.c, 6.12).
const REFUSED: i32 = -22;

/// Devices whose runtime resume or suspend failed, by events and by messages.
fn failures(case: &Case, out: &mut Vec<Finding>) {
    let all = events(case);
    let mut named: Vec<&str> = Vec::new();
    let returns = || all.iter().filter(|e| e.flags.is_none() && e.function != "rpm_idle");
    for e in returns() {
        let failed = e.ret < 0 && !NOT_NOW.contains(&e.ret);
        if !failed || named.contains(&e.device) {
            continue;
        }
        named.push(e.device);
        let own = || returns().filter(|o| o.device == e.device);
        let again = own().any(|o| o.time > e.time && o.ret >= 0 && o.function == e.function);
        let bad = own().filter(|o| o.ret < 0 && !NOT_NOW.contains(&o.ret));
        let mut evidence = crate::evidence::lines(bad.map(|o| &case.messages[o.at]));
        // Nobody types the columns of a trace.
        if e.traced || e.comment {
            evidence.iter_mut().for_each(|e| e.doubtful = false);
        }
        fail(e.device, e.function == "rpm_resume", e.ret, again, evidence, out);
    }
    for m in case.messages.iter().filter(|m| m.trust.is_of_a_kernel()) {
        let Some((device, resume, error)) = said(m) else { continue };
        if named.contains(&device) || NOT_NOW.contains(&error) {
            continue;
        }
        named.push(device);
        let same = |o: &&Message| said(o).is_some_and(|(d, ..)| d == device);
        let own = case.messages.iter().filter(|o| o.trust.is_of_a_kernel()).filter(same);
        fail(device, resume, error, false, crate::evidence::lines(own), out);
    }
}

fn fail(
    device: &str,
    resume: bool,
    error: i32,
    again: bool,
    evidence: Vec<Evidence>,
    out: &mut Vec<Finding>,
) {
    // An answer of the core alone says that something failed before.
    let sure = if error == REFUSED { Confidence::Likely } else { Confidence::Certain };
    let (what, half) = match resume {
        true => ("resume", Direction::Resume),
        false => ("suspend", Direction::Suspend),
    };
    let end = match again {
        true => "; later it did",
        false => {
            "; until somebody clears that error, the kernel refuses to wake it or to put it to sleep (error -22)"
        }
    };
    let level = if again { Level::Risk } else { Level::Broken };
    let f = Finding::new(("rpm-failed", Area::Rpm, level), sure)
        .says(format!("{device} failed to {what} at run time, with error {error}{end}."))
        .look(CLEAR)
        .of_devices([Device { name: device.to_string(), driver: String::new() }])
        .of_error(error)
        .when(Some(half), None)
        .shown_by(evidence);
    out.push(f);
}

/// What to do about a device whose callback failed.
const CLEAR: &str = "Look at what its driver's callback says just before; unbind and bind the driver to clear the error.";

/// A driver's own words for a failed runtime resume or suspend, with its device and the
/// error: `ufs_device_wlun 0:0:0:49488: ufshcd_wl_runtime_resume failed: -110`.
fn said(m: &Message) -> Option<(&str, bool, i32)> {
    // Words of buses: drivers/pci/pci-driver.c:pci_pm_runtime_suspend (the callback of the driver
    // and what it returned), drivers/spi/spi.c:__spi_pump_messages, 6.12.
    const BUSES: [&str; 2] = ["can't suspend (", "Failed to power device: "];
    if !m.has("runtime") && !BUSES.iter().any(|w| m.has(w)) {
        return None;
    }
    let (prefix, what) = m.text.split_once(": ")?;
    let device = prefix.rsplit(' ').next()?;
    let of_bus = BUSES.iter().position(|w| what.starts_with(w));
    let words = [
        "runtime_resume",
        "runtime resume",
        "pm_runtime_get",
        "runtime_suspend",
        "runtime suspend",
    ];
    let at = words.iter().position(|w| what.contains(w));
    let fails = what.contains("fail") || what.contains("error");
    let resumes = match of_bus {
        Some(bus) => bus == 1,
        None => at.filter(|_| fails)? < 3,
    };
    // The last number below zero.
    let dash = what.match_indices('-').rev().find_map(|(n, _)| {
        let before = n == 0 || what[..n].ends_with([' ', '=', '(', ':']);
        let digits = what[n + 1..].split(|c: char| !c.is_ascii_digit()).next()?;
        let error: i32 = digits.parse().ok()?;
        (before && (1..4_096).contains(&error)).then_some(-error)
    })?;
    (!device.is_empty()).then_some((device, resumes, dash))
}

/// Devices that sysfs says are broken, or never come out of a call.
fn states(case: &Case, out: &mut Vec<Finding>) {
    let mut seen: Vec<(&str, Vec<&Value>)> = Vec::new();
    for v in case.values.iter().filter(|v| v.name() == "runtime_status") {
        match seen.iter_mut().find(|s| s.0 == v.folder()) {
            Some(s) => s.1.push(v),
            None => seen.push((v.folder(), Vec::from([v]))),
        }
    }
    for (folder, values) in seen {
        let all = |word: &str| values.iter().all(|v| v.value == word);
        // One look may fall into a call; of two the call does not end.
        const AGAIN: &str = "Look again after some seconds: cat its power/runtime_status.";
        const STUCK: &str =
            "Look where its thread waits: echo w > /proc/sysrq-trigger, then dmesg.";
        let last = values.last().map_or("", |v| v.value.as_str());
        let (words, advice, level) = if last == "error" {
            (
                "has runtime_status error: a callback failed, and the core calls none until that is cleared",
                CLEAR,
                Level::Broken,
            )
        } else if values.len() > 1 && all("resuming") {
            (
                "was resuming at run time each time it was looked at: its resume does not end",
                STUCK,
                Level::Broken,
            )
        } else if values.len() > 1 && all("suspending") {
            (
                "was suspending at run time each time it was looked at: its suspend does not end",
                STUCK,
                Level::Broken,
            )
        } else if matches!(last, "resuming" | "suspending") {
            (
                "was in the middle of a call of runtime power management when it was looked at; one look does not tell whether the call ends",
                AGAIN,
                Level::Note,
            )
        } else {
            continue;
        };
        let device = device_of(folder);
        // A trace says more than one look.
        let told = |f: &Finding| f.about.devices.iter().any(|d| d.name == device);
        if level == Level::Note && out.iter().any(told) {
            continue;
        }
        let f = Finding::new(("rpm-status", Area::Rpm, level), Confidence::Certain)
            .says(format!("{device} {words}."))
            .look(advice)
            .of_devices([Device { name: device.to_string(), driver: String::new() }])
            .shown_by(values.into_iter().take(3).map(value));
        out.push(f);
    }
}

/// `RPM_ASYNC` and `RPM_NOWAIT`: such a call waits for nobody (include/linux/pm_runtime.h).
const NO_WAIT: u32 = 3;

/// A thread that asks for a device inside its own resume or suspend of that device waits
/// for what it does itself (drivers/base/power/runtime.c:rpm_resume: RPM_RESUMING).
/// Proof is that returns are traced, and that the thread is never seen again.
fn self_waits(case: &Case, out: &mut Vec<Finding>) {
    let events: Vec<Event<'_>> = events(case).into_iter().filter(|e| e.traced).collect();
    let Some(last) = events.last().map(|e| e.time) else { return };
    // Calls that did not return, in order.
    let mut open: Vec<&Event<'_>> = Vec::new();
    let mut waits: Vec<(&Event<'_>, &Event<'_>)> = Vec::new();
    for e in &events {
        waits.retain(|w| w.1.thread != e.thread);
        let same = |o: &&Event<'_>| o.thread == e.thread && o.device == e.device;
        match e.flags {
            None => {
                if let Some(i) = open.iter().rposition(|o| same(o) && o.function == e.function) {
                    // What the thread called inside is over too.
                    let mut place = 0..;
                    open.retain(|o| place.next() < Some(i) || o.thread != e.thread);
                }
            }
            Some(flags) => {
                if let Some(outer) =
                    open.iter().copied().find(same).filter(|_| flags & NO_WAIT == 0)
                {
                    waits.push((outer, e));
                }
                // What never returns must not grow for ever.
                if open.len() < 256 {
                    open.push(e);
                }
            }
        }
    }
    let returns = |d: &str| events.iter().any(|e| e.flags.is_none() && e.device == d);
    let Some((outer, inner)) = waits.into_iter().find(|w| returns(w.1.device)) else { return };
    let status = |v: &&Value| {
        let folder = v.folder().trim_end_matches("/power");
        v.name() == "runtime_status"
            && folder.rsplit('/').next() == Some(inner.device)
            && matches!(v.value.as_str(), "resuming" | "suspending")
    };
    let status = case.values.iter().find(status);
    // Without the state a trace that was cut just there looks the same.
    if status.is_none() && last.saturating_sub(inner.time) < CUT {
        return;
    }
    let mut evidence = crate::evidence::lines([&case.messages[outer.at], &case.messages[inner.at]]);
    evidence.extend(status.map(value));
    let confidence = if status.is_some() { Confidence::Certain } else { Confidence::Likely };
    let f = Finding::new(("rpm-self-wait", Area::Rpm, Level::Broken), confidence)
        .says(format!(
            "{} waits for itself: a callback of its runtime power management asks for the same device again, perhaps through one below it, and waits until that callback ends.",
            inner.device
        ))
        .look("Do not wait there for a device below: ask for it without waiting (pm_request_resume), or resume it from outside the callback.")
        .of_devices([Device { name: inner.device.to_string(), driver: String::new() }])
        .shown_by(evidence);
    out.push(f);
}

/// A trace that goes on so long after the call was not cut there, us.
const CUT: u64 = 1_000_000;

/// The risk of letting a device suspend at run time.
const NOT_READY: &str = "A device whose driver is not ready for it may stop working.";

/// So many devices are named one by one.
const FEW: usize = 3;

/// Devices that stay awake.
fn held(case: &Case, out: &mut Vec<Finding>) {
    let mut forbidden: Vec<Finding> = Vec::new();
    for f in folders(case) {
        let suspended: u64 = f.value("runtime_suspended_time").and_then(Value::count).unwrap_or(0);
        let active: u64 = f.value("runtime_active_time").and_then(Value::count).unwrap_or(0);
        // A device whose `control` is `on` is not "enabled" but "forbidden"
        // (drivers/base/power/sysfs.c:rtpm_enabled_show, 6.12 and 7.3).
        // Without that file the status says it: of a device that is not managed it is
        // "unsupported" (runtime_status_show).
        let enabled = f.value("runtime_enabled").is_none()
            || f.is("runtime_enabled", "enabled")
            || f.is("runtime_enabled", "forbidden");
        let awake = f.is("runtime_status", "active") && enabled;
        let delay = f.value("autosuspend_delay_ms").and_then(|v| v.value.parse::<i64>().ok());
        // A minute awake is no idle moment between two uses.
        let long =
            active > 60_000 && delay.is_none_or(|d| d >= 0 && active > 10 * d.unsigned_abs());
        if !(awake && long) || f.value("runtime_active_kids").is_some_and(|v| v.value != "0") {
            continue;
        }
        let device = device_of(f.path);
        let evidence = |names: &[&str]| -> Vec<Evidence> {
            let seen = names.iter().filter_map(|n| f.value(n));
            seen.map(value).collect()
        };
        let awake_percent = active * 100 / (active + suspended).max(1);
        let named = Device { name: device.to_string(), driver: String::new() };
        if f.is("control", "on") {
            let finding = Finding::new(("rpm-forbidden", Area::Rpm, Level::Risk), Confidence::Likely)
                .says(format!(
                    "Device {device} may not suspend at run time: its control is on. It was awake {awake_percent} % of its time."
                ))
                .change(
                    format!("echo auto > {}/control", f.path),
                    "echo on to the same file",
                    NOT_READY,
                )
                .of_devices([named])
                .shown_by(evidence(&["control", "runtime_status", "runtime_active_time"]));
            forbidden.push(finding);
        } else if f.is("control", "auto") {
            let usage = f.value("runtime_usage").filter(|v| v.value != "0");
            let why = match usage {
                Some(n) => format!("its usage count is {}: somebody holds it", n.value),
                // It was asleep as well: one look at it awake is no news.
                None if suspended > 0 => continue,
                None => "nobody holds it (usage 0, no active children), so its driver or a quirk keeps it awake".into(),
            };
            let finding = Finding::new(("rpm-usage-held", Area::Rpm, Level::Note), Confidence::Guess)
                .says(format!(
                    "Device {device} does not suspend at run time though it may: {why}. That is not by itself a leak."
                ))
                .look("Look at the device's quirks file and its driver: USB devices with the RESET_RESUME quirk that must wake the machine never suspend.")
                .of_devices([named])
                .shown_by(evidence(&[
                    "control",
                    "runtime_status",
                    "runtime_usage",
                    "runtime_active_time",
                ]));
            out.push(finding);
        }
    }
    // A kernel forbids by default, so a whole machine has many: they are one matter.
    if forbidden.len() > FEW {
        let devices: Vec<Device> =
            forbidden.iter().flat_map(|f| f.about.devices.iter().cloned()).collect();
        let first = forbidden.into_iter().take(3).filter_map(|f| f.evidence.into_iter().next());
        let f = Finding::new(("rpm-forbidden", Area::Rpm, Level::Note), Confidence::Likely)
            .says(format!(
                "{} are awake and may not suspend at run time (control is on): {}.",
                say::plural(devices.len(), "device"),
                say::devices(&devices)
            ))
            .change(
                "Allow it where a device is idle: echo auto > its power/control, best by a rule of udev.",
                "echo on to the same file",
                NOT_READY,
            )
            .of_devices(devices)
            .shown_by(first);
        out.push(f);
    } else {
        out.append(&mut forbidden);
    }
}
