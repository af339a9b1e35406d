//! What ended an attempt: a device, a wakeup, or it cannot be told.

use super::cpu;
use super::ended::device_failed;
use super::host::NEAR;
use super::inner;
use super::libc::{EBUSY, is_code};
use super::source::is_of_a_program;
use super::{host, stuck, thaw};
use crate::attempt::{Attempt, TWICE};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::refusal::{self, in_phase};
use crate::stage::{self, passed};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// A device that failed ([`refusal::of_device`]).
pub(crate) struct Failed<'a> {
    pub device: &'a str,
    /// Its driver; empty if the line does not say.
    pub driver: &'a str,
    /// 0 where the text ends inside of it.
    pub error: i32,
    /// It failed on the way up, which ends no sleep.
    up: bool,
}

impl Failed<'_> {
    /// Whether it failed on the way up.
    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    /// Where the text ends inside of the error: with that of what was said just before.
    fn with_error_of<'m>(self, mut before: impl Iterator<Item = &'m Message>) -> Self {
        let same = |m: &Message| returned(m).filter(|r| r.device == self.device).map(|r| r.error);
        let known = if self.error == 0 { before.find_map(same) } else { None };
        Failed { error: known.unwrap_or(self.error), ..self }
    }
}

pub(crate) fn failed(m: &Message) -> Option<Failed<'_>> {
    let r = refusal::of_device(&m.text)?;
    let known = !r.device.is_empty() && !r.device.contains(' ');
    known.then_some(Failed { device: r.device, driver: r.driver, error: r.error, up: r.is_up() })
}

/// A callback that returned an error, which main.c tells once more in the words of
/// [`failed`]: `DRIVER DEVICE: PM: pci_pm_suspend(): hcd_pci_suspend returns -16`
/// (drivers/base/power/main.c:__suspend_report_result, 6.12).
pub(crate) fn returned(m: &Message) -> Option<Failed<'_>> {
    let (owner, rest) = m.text.split_once(": PM: ")?;
    let (callback, rest) = rest.split_once("(): ")?;
    let (function, error) = rest.split_once(" returns ")?;
    let error = error.trim().parse().ok().filter(|&e: &i32| e < 0)?;
    let is = |words: &[&str]| words.iter().any(|w| callback.contains(w) || function.contains(w));
    let up = is(&["resume", "restore", "thaw"]);
    (up || is(&["suspend", "freeze", "poweroff", "prepare"])).then_some(())?;
    // A time of day or a program may stand before.
    let mut words = owner.rsplit(' ');
    let device = words.next().filter(|d| !d.is_empty())?;
    Some(Failed { device, driver: words.next().unwrap_or(""), error, up })
}

/// A USB host controller or its root hub: they return EBUSY while a port below
/// has a wakeup pending (drivers/usb/core/hcd-pci.c:suspend_common,
/// drivers/usb/core/hcd.c:hcd_bus_suspend).
fn is_usb(g: &Group<'_>) -> bool {
    let bus = g.device.strip_prefix("usb");
    let controllers = ["xhci", "ehci", "ohci", "uhci"];
    bus.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        || controllers.iter().any(|c| g.driver.starts_with(c))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    devices(case, out);
    wakeups(case, out);
    retries(case, out);
    stuck::judge(case, out);
    cpu::judge(case, out);
    core(case, out);
    no_way_back(case, out);
}

/// Between the last device and the thawing of tasks lies `dpm_complete`, which takes
/// milliseconds (drivers/base/power/main.c, 6.12).
const THAWED_BY: Ns = Ns(1_000_000_000);

/// Devices that came back, and no line of what kernel/power/suspend.c:suspend_finish
/// does next (kernel/power/process.c:thaw_processes prints two lines).
fn no_way_back(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &Message, words: &[&str]| words.iter().any(|w| m.has(w));
    for a in case.attempts.iter().filter(|a| !a.closed) {
        let mut last = None;
        let of_log = |m: &&Message| {
            let same = !crate::logs::is_another(last, m);
            last = m.time.or(last);
            same
        };
        let said: Vec<&Message> =
            case.of(a).iter().filter(|m| m.trust.is_of_a_kernel()).take_while(of_log).collect();
        let Some(down) = said
            .iter()
            .position(|m| is(m, &["suspend devices took", "suspend of devices complete"]))
        else {
            continue;
        };
        let up = said[down..].iter().position(|m| {
            let says = m.says("resume of devices complete") || m.says("resume devices took");
            says || is(m, &["SATA link up", " activated"])
        });
        let Some(up) = up.map(|at| down + at) else { continue };
        // What goes down again is of another sleep, whose beginning was left out.
        let again =
            |m: &&Message| stage::begins(m).is_some_and(|s| s.phase != Some(Phase::Complete));
        let (again, up) = (said[up + 1..].iter().any(again), said[up]);
        let thawed = said.iter().any(|m| is(m, &["OOM killer enabled", "Restarting tasks"]));
        // Lines that somebody searched for (`grep PM:`) are none of the thawing.
        let sought = ["PM:", "suspend", "Suspend", "resume", "wake"];
        let whole = said.iter().any(|m| !is(m, &sought));
        let Some(&end) = said.last() else { continue };
        // A text that ends sooner was cut.
        let lasted = passed(up, end).is_some_and(|t| t >= THAWED_BY);
        if !thawed && !again && whole && lasted {
            let evidence =
                lines([said[0], up].into_iter().chain((up.line != end.line).then_some(end)));
            let text = format!(
                "The sleep of line {} has no end in the text: devices came back, and no line says that tasks were started again. The machine hung there, or the text was cut.",
                said[0].line
            );
            let rule = ("resume-no-end", Area::Abort, Level::Broken);
            let f = Finding::new(rule, Confidence::Guess)
                .says(text)
                .look("If it hung: boot with no_console_suspend and a serial or net console, repeat it, and send SysRq-W: it lists the tasks that wait and where.")
                .when(Some(Direction::Resume), None)
                .shown_by(evidence);
            out.push(f);
        }
    }
}

/// How the bus of PCI says that a device is in no other state
/// (drivers/pci/pci.c:pci_power_up, 6.12).
pub(super) const CHANGE: &str = " change power state from ";

/// The device that a line speaks of, and its driver: `DRIVER DEVICE: …`.
pub(crate) fn owner(text: &str) -> Device {
    // include/net/bluetooth/bluetooth.h:bt_dev_err names the controller behind the subsystem.
    let text = text.strip_prefix("Bluetooth: ").unwrap_or(text);
    let owner = text.split(": ").next().unwrap_or("");
    let owner = owner.split(CHANGE).next().unwrap_or("");
    let owner = owner.trim_end_matches(" Unable to").trim_end_matches(" can't");
    // What subsystems put before a message of that weight, such as ACPICA, is none either.
    if ["Error", "Warning", "Error (bug)", "ERROR", "error"].iter().any(|w| owner.ends_with(w)) {
        return Device::default();
    }
    // net/core/dev.c:__netdev_printk names the interface behind driver and device.
    let mut words = owner.split(' ');
    if let (Some(driver), Some(name), Some(_), None) =
        (words.next(), words.next(), words.next(), words.next())
        && is_address(name)
    {
        return Device { name: name.to_string(), driver: driver.to_string() };
    }
    let (driver, name) = owner.rsplit_once(' ').unwrap_or(("", owner));
    let driver = driver.rsplit(' ').next().unwrap_or("");
    // What vendors put before a message is no driver.
    let driver = if driver.ends_with(']') { "" } else { driver };
    Device { name: name.to_string(), driver: driver.to_string() }
}

/// Whether a word is a device of a bus with numbers, as `0000:02:00.0`, `1-3:1.0` and
/// `50a0000.mac` are, and no time, date, version or number of a bug, which people type.
pub(crate) fn is_address(word: &str) -> bool {
    let count = |c: char| word.matches(c).count();
    let front = word.split([':', '-', '.']).next().unwrap_or_default();
    let known = !front.is_empty()
        && front.len() < word.len()
        && front.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b":-._".contains(&b));
    let numbers = word.bytes().all(|b| b.is_ascii_digit() || b":-.".contains(&b));
    let time = numbers && (1..=2).contains(&count(':')) && count('.') == 0 && count('-') == 0;
    let date = numbers && count('-') == 2 && count(':') == 0;
    let behind = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let version = behind.len() < word.len()
        && behind.strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    known && !time && !date && !version
}

/// What the system core does with interrupts off, and without devices, failed
/// (drivers/base/syscore.c:syscore_suspend).
fn core(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "System core suspend callback ";
    let said = case.messages.having(WORDS).map(|(_, m)| m);
    let said: Vec<&Message> = said.filter(|m| m.says(WORDS)).collect();
    let function = said.first().and_then(|m| m.after(WORDS)?.split([' ', '+']).next());
    let Some(function) = function else { return };
    let rule = ("core-not-suspended", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!(
            "{function} of the system core ended the sleep, after all devices and CPUs had gone down."
        ))
        .look("No line that was read says its error: look at what that function does, and at the lines before.")
        .of_function(Some(function))
        .at("syscore")
        .when(Some(Direction::Suspend), None)
        .shown_by(lines(said));
    out.push(f);
}

/// Failures of one device with one error.
struct Group<'a> {
    device: &'a str,
    driver: &'a str,
    error: i32,
    up: bool,
    /// The place of the first message.
    at: usize,
    messages: Vec<&'a Message>,
}

fn devices(case: &Case, out: &mut Vec<Finding>) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, i32, bool), usize> = BTreeMap::new();
    // What main.c says in the end says it all.
    let told: BTreeSet<&str> = case
        .messages
        .having_any(&["failed to ", "for power transition: code"])
        // One that breaks off says nothing.
        .filter(|(_, m)| m.has("error") || m.has(": code"))
        .flat_map(|(_, m)| m.text.split(' ').map(|w| w.trim_matches([':', ',', '"'])))
        .collect();
    let twice = |f: &Failed<'_>| told.contains(f.device);
    for (i, m) in case.messages.having_any(&["for power transition: ", "failed to ", " returns "]) {
        // Callbacks call each other, and each is told; others print between.
        let inner = |f: &Failed<'_>| {
            let near = case.messages[i.saturating_sub(NEAR)..i].iter().rev();
            let own = |b: &Message| returned(b).is_some_and(|b| b.device == f.device);
            near.take_while(|b| !b.says("suspend e")).any(own)
        };
        let alone = || returned(m).filter(|f| !inner(f) && !twice(f));
        let Some(f) = failed(m).or_else(alone) else { continue };
        let before = case.messages[i.saturating_sub(NEAR)..i].iter().rev();
        let f = f.with_error_of(before);
        // Alarms have rules of their own.
        if f.device.starts_with("alarmtimer") {
            continue;
        }
        let at = *places.entry((f.device, f.error, f.up)).or_insert(groups.len());
        if at == groups.len() {
            let messages = Vec::new();
            let driver = || driver_of(&case.messages[i.saturating_sub(NEAR)..i], f.device);
            groups.push(Group {
                device: f.device,
                driver: if f.driver.is_empty() { driver() } else { f.driver },
                error: f.error,
                up: f.up,
                at: i,
                messages,
            });
        }
        // Android says it once more.
        if groups[at].messages.is_empty() || !m.says("Abort: ") {
            groups[at].messages.push(m);
        }
    }
    for g in groups.iter().filter(|g| !g.up) {
        out.push(ended(case, g));
    }
    lost(case, &groups, out);
}

/// The driver of a device, by what it said of it just before; empty if nothing.
fn driver_of<'a>(before: &'a [Message], device: &str) -> &'a str {
    let is = |word: &&str| {
        let name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        !word.is_empty() && word.bytes().all(name)
    };
    let own = format!(" {device}: ");
    let kernel = before.iter().rev().filter(|m| m.trust.is_of_a_kernel());
    let mut said = kernel.filter_map(|m| m.text.split_once(&own)?.0.rsplit(' ').next());
    said.find(is).unwrap_or_default()
}

fn device(g: &Group<'_>) -> Device {
    Device { name: g.device.to_string(), driver: g.driver.to_string() }
}

/// A device that ended an attempt.
fn ended(case: &Case, g: &Group<'_>) -> Finding {
    let awake = if is_usb(g) { awake(case, g) } else { None };
    let mut evidence = lines(awake.map(|a| a.0));
    evidence.extend(lines(g.messages.iter().copied()));
    let awake = awake.map(|a| a.1);
    let before = &case.messages[g.at.saturating_sub(NEAR)..g.at];
    let callback = inner::callback(before, g.error).filter(|_| g.driver.is_empty());
    let driver = callback.as_ref().map_or(g.driver, |(_, f)| &f.module);
    let device = Device { driver: driver.to_string(), ..device(g) };
    let mut f = device_failed(device, g.error, g.messages.len(), is_usb(g), awake);
    if let Some((m, frame)) = &callback {
        f.sentence += &format!(" Its driver's callback is {}.", frame.function);
        f = f.of_function(Some(&frame.function));
        evidence.extend(lines([*m]));
    }
    let port = if awake.is_none() && g.error == -EBUSY { port(before, g) } else { None };
    let f = match port {
        Some((m, port)) => at_port(f, m, port),
        None => f,
    };
    reasoned(case, in_phase(f, &g.messages).shown_by(evidence), g.messages.first().copied())
}

/// `Port change event, 1-10, id 15, portsc: 0x202a0`: the port of a host controller that had
/// an event before the controller refused (drivers/usb/host/xhci-ring.c:handle_port_status).
fn port<'a>(before: &'a [Message], g: &Group<'_>) -> Option<(&'a Message, &'a str)> {
    before.iter().rev().find_map(|m| {
        let (who, rest) = m.text.split_once(": Port change event, ")?;
        let port = rest.split([',', ' ']).next()?;
        (who.ends_with(g.device) && port.contains('-')).then_some((m, port))
    })
}

/// A command of a disk times out after 30 s, one of a controller after 60.
const JUST: Ns = Ns(60_000_000_000);

/// Whether two names are addresses on a bus, and not the same: drivers of a bus (`usb 1-2`)
/// speak of many devices. `nvme0` may be another name of `0000:01:00.0`.
fn is_another(a: &str, b: &str) -> bool {
    let address = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    address(a) && address(b) && a != b
}

/// Adds what the failed device or its driver said just before, in the log or in the same quote
/// of it: that is the reason. Details follow the line that says what failed.
fn reasoned(case: &Case, f: Finding, failure: Option<&Message>) -> Finding {
    let Some(device) = f.about.devices.first().cloned() else { return f };
    let Some(at) = failure.and_then(|m| case.messages.iter().position(|x| x.line == m.line)) else {
        return f;
    };
    let own = |m: &&Message| {
        let of = owner(&m.text);
        (m.trust.is_of_a_kernel() || m.trust == case.messages[at].trust)
            && (of.name == device.name
                || !of.driver.is_empty()
                    && of.driver == device.driver
                    && !is_another(&of.name, &device.name)
                // A card's name begins with that of its host: `mmc0:0001`.
                || device.name.strip_prefix(&of.name).is_some_and(|r| r.starts_with(':'))
                // `NVRM: GPU 0000:01:00.0: …`
                || device.name.contains(':') && m.has(&format!(" {}: ", device.name)))
            // What the core says of it is what is told already.
            && !m.has("PM: ")
            && failed(m).is_none()
    };
    let code = |m: &&Message| f.about.error.is_some_and(|e| is_code(m, e)) && failed(m).is_none();
    let said = case.messages[at.saturating_sub(NEAR)..at].iter().filter(|m| own(m) || code(m));
    // What it said of an earlier sleep is no reason.
    let just = |m: &&Message| passed(m, &case.messages[at]).is_none_or(|t| t <= JUST);
    let said: Vec<&Message> = said.filter(just).collect();
    let fails = |m: &&Message| m.text.to_ascii_lowercase().contains("fail");
    let (two, failing) = (said.len().saturating_sub(2), said.iter().rposition(fails));
    let last = &said[failing.unwrap_or(two).min(two)..];
    if last.is_empty() {
        return f;
    }
    let words: Vec<String> = last.iter().map(|m| format!("\"{}\"", m.text.trim())).collect();
    let (codes, mut f) = (said.iter().any(code), f);
    if codes {
        f.advice.clear();
        f = f.look("The number is a code of the device, which its driver printed just before and hands on as if it were an error of the kernel: look up what it means for that device. The driver should return an error below 0, or 0.");
    }
    // What failed with the same error above that, as in the resume before, made it fail now.
    let same = |m: &&&Message| fails(m) && f.about.error.is_some_and(|e| ends_with(&m.text, e));
    let earlier = said[..said.len() - last.len()].iter().find(same).copied();
    let began = earlier.map_or(String::new(), |m| {
        format!(" It had failed with that error before: \"{}\".", m.text.trim())
    });
    f.because(format!("Just before, its driver says: {}.{began}", words.join(", ")))
        .shown_by(lines(last.iter().copied().chain(earlier)))
}

/// Whether a message ends with an error of the kernel: `… -110`.
fn ends_with(text: &str, error: i32) -> bool {
    let word = text.trim_end().rsplit([' ', ':', '(', '=']).next().unwrap_or("");
    error < 0 && word.trim_end_matches([')', '.']).parse() == Ok(error)
}

/// A host controller that refused right after an event at one of its ports.
fn at_port(mut f: Finding, m: &Message, port: &str) -> Finding {
    let who = f.about.devices.first().map_or(String::new(), say::device);
    let often = say::times(f.about.times.unwrap_or(1));
    f.advice.clear();
    f.says(format!("{who} ended the sleep{often}: error -{EBUSY} (EBUSY). Just before, its port {port} had an event: what is plugged in there, or its wakeup, keeps the controller awake."))
        .look(format!("Unplug what is at port {port} (lsusb -t, /sys/bus/usb/devices/{port}/product), or switch its power/wakeup off, and try again."))
        .shown_by(lines([m]))
}

/// `usb 4-1-port2: device 4-1.2 not suspended yet`: a hub went down above a
/// device that had not (drivers/usb/core/hub.c:hub_suspend).
fn awake<'a>(case: &'a Case, g: &Group<'_>) -> Option<(&'a Message, &'a str)> {
    let at =
        case.messages.iter().position(|m| g.messages.first().is_some_and(|f| f.line == m.line))?;
    case.messages[at.saturating_sub(NEAR)..at].iter().rev().find_map(|m| {
        let rest = m.text.strip_suffix(" not suspended yet")?;
        Some((m, rest.rsplit_once(": device ")?.1))
    })
}

/// Devices that failed on the way up, one finding an error.
fn lost(case: &Case, groups: &[Group<'_>], out: &mut Vec<Finding>) {
    let mut errors: Vec<i32> = groups.iter().filter(|g| g.up).map(|g| g.error).collect();
    errors.sort_unstable();
    errors.dedup();
    for error in errors {
        let same: Vec<&Group<'_>> = groups.iter().filter(|g| g.up && g.error == error).collect();
        let devices = same.iter().map(|g| device(g)).collect();
        let evidence = lines(same.iter().flat_map(|g| g.messages.iter().copied()));
        let f = not_resumed(devices, error).shown_by(evidence);
        let first = same.first().and_then(|g| Some((g.device, *g.messages.first()?)));
        out.push(match first.and_then(|(device, m)| host::dead(case, device, m)) {
            Some(m) => f
                .because(format!("Just before, the controller died: \"{}\".", m.text.trim()))
                .shown_by(lines([m])),
            None => match first.and_then(|(_, m)| thaw::thawed(case, m)) {
                Some((why, m)) => {
                    let said = f.sentence.replace("to resume", "to thaw");
                    f.says(said).because(why).shown_by(lines(m))
                }
                None => reasoned(case, f, first.map(|f| f.1)),
            },
        });
    }
}

/// Devices that failed on the way up, all with one error.
pub(crate) fn not_resumed(devices: Vec<Device>, error: i32) -> Finding {
    Finding::new(("device-not-resumed", Area::Abort, Level::Broken), Confidence::Certain)
        .says(format!("{} failed to resume: {}.", say::devices(&devices), say::told(error)))
        .look("Look at the messages of their drivers before those lines; a device that was found anew afterwards works again.")
        .of_devices(devices)
        .of_error(error)
        .when(Some(Direction::Resume), None)
        .at("resume")
}

/// `PM: Wakeup pending, aborting suspend` and the sources that were active
/// (drivers/base/power/wakeup.c:pm_wakeup_pending, pm_print_active_wakeup_sources).
///
/// kernel/cpu.c:freeze_secondary_cpus prints a text of its own, and Android
/// (drivers/base/power/wakeup.c:pm_get_active_wakeup_sources) another.
/// Android counts tries that were given up; no row of that table is a line of one.
pub(super) fn pending(m: &Message) -> bool {
    let says = |w: &&str| m.says(w);
    let is = PENDING[..3].iter().any(says) || m.has(PENDING[3]) || m.has(PENDING[4]);
    is && !m.has(" times) realtime") && !m.text.trim_start().starts_with('|')
}

/// `active wakeup source: eth1`, `last active wakeup source: eth1`, which the core prints with
/// the line that it gives up, or alone.
pub(super) fn names_source(m: &Message) -> bool {
    m.says(SOURCES[0]) || m.says(SOURCES[1])
}

const PENDING: [&str; 5] = [
    "Wakeup pending, aborting",
    "Wakeup pending. Abort CPU freeze",
    "Pending Wakeup Sources: ",
    "Abort: Pending Wakeup Sources: ",
    "Abort: Last active Wakeup Source: ",
];

/// What stands before the name of a source.
const SOURCES: [&str; 4] = [
    "last active wakeup source: ",
    "active wakeup source: ",
    "Pending Wakeup Sources: ",
    "Last active Wakeup Source: ",
];

fn wakeups(case: &Case, out: &mut Vec<Finding>) {
    // Before 3.15 pm_wakeup_pending names the sources alone, and what follows gives up.
    let alone = !case.messages.has("akeup pending");
    let gives_up = |m: &Message| refusal::of_core(&m.text).is_some();
    let bare = |i: usize| {
        let own = |m: &&Message| failed(m).is_none() && returned(m).is_none();
        let mut near = case.messages[i + 1..].iter().take(NEAR).take_while(own);
        alone && names_source(&case.messages[i]) && near.any(gives_up)
    };
    let ends = |m: &Message| pending(m) || m.says("Freezing ") && m.has("aborted after");
    // One that ends a restore ends no sleep.
    let (mut restores, mut sleeps) = (Vec::new(), Vec::new());
    let mut restoring = false;
    let words: Vec<&str> =
        [&PENDING[..], &RESTORES, &SLEEPS, &[BANNER, "aborted after", SOURCES[1]]].concat();
    for (i, m) in case.messages.having_any(&words) {
        restoring = restores_from(m).unwrap_or(restoring);
        match ends(m) || bare(i) {
            true if restoring || lost_an_image(&case.messages[i..]) => restores.push(m),
            true => sleeps.push(m),
            false => {}
        }
    }
    wakeup(case, sleeps, woken, out);
    let lost = |sources: &[&str], _, confidence| restore_woken(sources, confidence);
    wakeup(case, restores, lost, out);
}

/// Whether the kernel that reads an image gives it up behind the first of these messages, in
/// a text that does not show how it began.
fn lost_an_image(from: &[Message]) -> bool {
    let near = from.iter().take(NEAR).take_while(|m| stage::begins(m).is_none());
    let gives_up =
        |m: &Message| m.says("Failed to load image") || m.says("Failed to load hibernation image");
    near.into_iter().any(gives_up)
}

/// Whether from this message on the kernel that reads an image is at work
/// (kernel/power/hibernate.c:software_resume), and not the one that made it; nothing if it
/// does not tell.
pub(super) fn restores_from(m: &Message) -> Option<bool> {
    if RESTORES.iter().any(|w| m.says(w)) {
        Some(true)
    } else {
        let other = SLEEPS.iter().any(|w| m.says(w));
        (other || m.text.starts_with(BANNER)).then_some(false)
    }
}

const RESTORES: [&str; 7] = [
    "Image successfully loaded",
    "Image loading done",
    "resume from hibernation",
    "Loading and decompressing image",
    "Loading image data pages",
    "Starting manual resume",
    "Image signature found, resuming",
];
const SLEEPS: [&str; 4] =
    ["suspend entry", "hibernation entry", "suspend exit", "hibernation exit"];
const BANNER: &str = "Linux version ";

/// A wakeup that ended a restore: what the image held is lost
/// (kernel/power/hibernate.c:load_image_and_restore frees it).
fn restore_woken(sources: &[&str], confidence: Confidence) -> Finding {
    let which = match sources {
        [] => "No line that was read names its source.".to_string(),
        [one] => format!("Its source is {one}."),
        many => format!("Its sources are {}.", many.join(", ")),
    };
    let source = |s: &&str| Device { name: s.to_string(), driver: String::new() };
    Finding::new(("hib-restore-woken", Area::Hibernation, Level::Broken), confidence)
        .says(format!(
            "A wakeup cut the restore short: the image of the hibernation was read, and then not restored, so the machine booted afresh and what it held is lost. {which}"
        ))
        .look("Keep that source from waking while the image is restored: its power/wakeup off in the initrd, or a lid or button left alone until the desktop is back.")
        .of_devices(sources.iter().map(source))
        .when(Some(Direction::Resume), None)
}

/// What a wakeup did that these messages tell of.
fn wakeup(
    case: &Case,
    said: Vec<&Message>,
    words: impl Fn(&[&str], bool, Confidence) -> Finding,
    out: &mut Vec<Finding>,
) {
    if said.is_empty() {
        return;
    }
    let mut sources: Vec<&str> = Vec::new();
    let mut evidence = lines(said.iter().copied());
    // Those that were active then follow at once; others held the machine awake at
    // another time.
    let mine: BTreeSet<u64> = said.iter().map(|m| m.line).collect();
    let near: Vec<&Message> = case
        .messages
        .having_any(&[&PENDING[..], &SOURCES[1..2]].concat())
        .filter(|(_, m)| mine.contains(&m.line) && (pending(m) || names_source(m)))
        .flat_map(|(i, _)| {
            case.messages[i..].iter().take(NEAR).take_while(|m| !m.says("suspend exit"))
        })
        .filter(|m| SOURCES.iter().any(|w| m.has(w)))
        .collect();
    let everywhere = || case.messages.having_any(&SOURCES).map(|(_, m)| m).collect();
    for m in if near.is_empty() { everywhere() } else { near } {
        let name = SOURCES.iter().find_map(|word| m.after(word));
        let name = name.map(source_name);
        if let Some(name) = name
            && !sources.contains(&name)
        {
            sources.push(name);
            if evidence.iter().all(|e| e.line != m.line) {
                evidence.extend(lines([m]));
            }
        }
    }
    // Some name the interrupt alone, when it is over.
    let at = |m: &Message| mine.contains(&m.line);
    let spans = case.attempts.iter().map(|a| case.of(a)).filter(|of| of.iter().any(at));
    let named: Vec<String> = match sources.is_empty() {
        true => spans.flat_map(super::irq::named_in).collect(),
        false => Vec::new(),
    };
    sources.extend(named.iter().map(String::as_str));
    // A source that a driver's own suspend callback sets off is its fault.
    let own = case.messages.has("pm_wakeup_ws_event") || case.messages.has("pm_wakeup_dev_event");
    let in_callback =
        own && (case.messages.has("device_suspend") || case.messages.has("dpm_run_callback"));
    let f = words(&sources, in_callback, Confidence::Certain);
    let f = match given_up_in(case, &mine) {
        Some((name, phase, m)) if f.about.direction == Some(Direction::Suspend) => {
            evidence.extend(lines([m]));
            f.because(format!("It was in its {name} phase then: \"{}\".", m.text.trim()))
                .when(Some(Direction::Suspend), Some(phase))
        }
        _ => f,
    };
    out.push(f.shown_by(evidence));
}

/// The phase that the core gives up behind a wakeup: `noirq suspend of devices failed`
/// (kernel/power/suspend.c:suspend_enter, 6.12), where all that are meant were in the same one.
fn given_up_in<'a>(
    case: &'a Case,
    of: &BTreeSet<u64>,
) -> Option<(&'static str, Phase, &'a Message)> {
    let pending = case.messages.having_any(&PENDING).filter(|(_, m)| of.contains(&m.line));
    let ended = |m: &&Message| {
        m.trust.is_of_a_kernel()
            && (m.has("suspend of devices failed") || m.has("suspend of devices aborted"))
    };
    let phase = |i: usize| {
        let rest = case.messages[i + 1..].iter().take(NEAR);
        let m = rest.take_while(|m| !m.says("suspend e")).find(ended)?;
        let (name, phase) = match () {
            () if m.has("noirq suspend") => ("noirq", Phase::Noirq),
            () if m.has("late suspend") => ("late", Phase::Late),
            () => return None,
        };
        Some((name, phase, m))
    };
    let mut all = pending.filter(|(_, m)| self::pending(m)).map(|(i, _)| phase(i));
    let first = all.next()??;
    all.all(|p| p.is_some_and(|p| p.1 == first.1)).then_some(first)
}

/// The name of a source: names of a device tree have commas, so what vendors add to one begins
/// with a comma and a blank. Android's table of wakeups counts each reason behind a colon.
fn source_name(said: &str) -> &str {
    let name = said.split(", ").next().unwrap_or(said).trim().trim_end_matches(['"', ',']);
    let counted = name.rsplit_once(": ").filter(|c| c.1.bytes().all(|b| b.is_ascii_digit()));
    counted.map_or(name, |c| c.0).trim()
}

/// A wakeup that ended a sleep on its way, perhaps set off inside a suspend callback.
pub(crate) fn woken(sources: &[&str], in_callback: bool, confidence: Confidence) -> Finding {
    let which = match sources {
        [] => "no line that was read names its source (switch pm_debug_messages on).".to_string(),
        [one] => format!("wakeup source {one}."),
        many => format!("wakeup sources {}.", many.join(", ")),
    };
    let whose = if in_callback {
        " The functions listed show that it was set off inside a driver's suspend callback."
    } else {
        ""
    };
    let source = |s: &&str| Device { name: s.to_string(), driver: String::new() };
    Finding::new(("abort-wakeup", Area::Abort, Level::Risk), confidence)
        .says(format!(
            "A wakeup ended the sleep on its way: {which}{whose}"
        ))
        .look(if !sources.is_empty() && sources.iter().all(|s| is_of_a_program(s)) {
            "A program holds it, no device. grep -l 'clockid: [89]' /proc/*/fdinfo/* lists who has a timer that wakes; the others watch a file with EPOLLWAKEUP."
        } else {
            "If nobody touched the machine: look at that source's driver, or switch its power/wakeup off."
        })
        .of_devices(sources.iter().map(source))
        .when(Some(Direction::Suspend), None)
}

/// Whether a message gives an attempt up before it slept: tasks that do not freeze, devices
/// that refuse, a wakeup (drivers/base/power/main.c:dpm_show_time tells of whole phases), an
/// image that finds no memory.
pub(crate) fn gives_up(m: &Message) -> bool {
    let ended = || m.has("failed after") || m.has("aborted after");
    failed(m).is_some_and(|f| !f.up)
        || refusal::of_core(&m.text).is_some()
        || pending(m)
        || m.says("Abort: ")
        || (m.says("Freezing ") || m.has(" of devices ")) && ended()
        || m.has("pages short")
}

/// Whether the attempt failed before it slept.
pub(crate) fn ended_early(case: &Case, a: &Attempt) -> bool {
    case.of(a).iter().any(gives_up)
}

/// Somebody tried again in another mode within a second: systemd's
/// `SuspendState=mem standby freeze` does (sleep.c:write_state).
fn retries(case: &Case, out: &mut Vec<Finding>) {
    for pair in case.attempts.windows(2) {
        let [a, b] = pair else { continue };
        let (last, first) = (&case.messages[a.end - 1], &case.messages[b.first]);
        // A log of whole seconds has both in one, and nothing between them.
        let (gap, confidence) = match (a.exit, b.entry) {
            (Some(exit), Some(entry)) => (Ns(entry.0 - exit.0), Confidence::Certain),
            _ if b.first.saturating_sub(a.end) > TWICE || last.second.is_none() => continue,
            _ if last.second == first.second => (Ns::ZERO, Confidence::Likely),
            _ => continue,
        };
        let soon = (0..1_000_000_000).contains(&gap.0);
        if !soon || b.inside || a.mode == b.mode || a.mode.is_empty() || !ended_early(case, a) {
            continue;
        }
        let slept = !ended_early(case, b);
        let evidence = lines([last, first]);
        let text = format!(
            "The sleep as {} failed, and {} the machine was put to sleep as {} instead{}.",
            a.mode,
            if gap > Ns::ZERO { format!("{} ms later", say::ms(gap)) } else { "at once".into() },
            b.mode,
            if slept { "" } else { ", which failed too" }
        );
        let f = Finding::new(("sync-retry-s2idle", Area::Abort, Level::Risk), confidence);
        // systemd's list of states is for suspend alone.
        let f = if a.mode == "hibernation" {
            f.look("See who asked for the second sleep: the lines before it, and the journal of systemd and the desktop.")
        } else {
            f.change(
                "If it shall only sleep as deep: SuspendState=mem in sleep.conf of systemd.",
                "Remove the line again.",
                "A failed attempt then leaves the machine awake.",
            )
        };
        out.push(f.says(text).shown_by(evidence));
        break;
    }
    let twice: Vec<&Attempt> = case.attempts.iter().filter(|a| a.inside).collect();
    if !twice.is_empty() {
        let f = Finding::new(("two-writers", Area::Abort, Level::Risk), Confidence::Certain)
            .says("A second sleep was asked for while one was under way: two programs write to /sys/power/state.")
            .look("Let one program decide: logind, or the script, not both.")
            .shown_by(lines(twice.iter().map(|a| &case.messages[a.first])));
        out.push(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bus_says_of_another_device_is_no_reason() {
        let reason = |before: &str, failed: &str| {
            let case = Case::of_log(&[(10, before), (20, failed)]);
            let mut out = Vec::new();
            judge(&case, &mut out);
            out.pop().map(|f| f.why).expect("it failed")
        };
        let failed = "usb 5-2.3: PM: failed to suspend late: error -110";
        assert_eq!(
            reason("usb 5-1: new full-speed USB device number 9 using xhci_hcd", failed),
            ""
        );
        assert!(reason("usb 5-2.3: device descriptor read/64, error -110", failed).contains("64"));
        let failed = "nvme 0000:01:00.0: PM: failed to suspend: error -16";
        assert!(reason("nvme nvme0: I/O tag 7 timeout", failed).contains("timeout"));
    }
}
