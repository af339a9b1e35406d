//! Whether a machine is ready for its next sleep, by its files: idle states for
//! s2idle, attempts that failed, sources that are active, the way to wake up, room
//! for an image, tasks that freezing would wait for.

use super::knob::chosen;
use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level, OLD, Task};
use crate::now::{Shallow, Waiting};
use crate::value::Value;
use dormouse_base::capture::MOST_CPUS;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use std::collections::BTreeMap;

/// Looks in which a task must be in state D: fewer are a read of a disk.
const LOOKS: u32 = 5;

/// From here on dirty data is worth a word: a second of a slow disk, bytes.
const DIRTY: u64 = 64 << 20;

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    if no_state(case, out) {
        // What a sleep would wait for or find is of no interest.
        return;
    }
    s2idle(case, out);
    failed(case, out);
    alarms(case, out);
    image(case, out);
    waiting(case, out);
    spinning(case, out);
    servers(case, out);
    dirty(case, out);
    fuse(case, out);
}

/// The value of the file with this path.
fn of<'a>(case: &'a Case, path: &str) -> Option<&'a Value> {
    case.values.iter().find(|v| v.path == path)
}

/// Its last value, of a text that shows it before and after.
fn last_of<'a>(case: &'a Case, path: &str) -> Option<&'a Value> {
    case.values.iter().rfind(|v| v.path == path)
}

/// The rule of a kernel that offers no state at all.
pub const NO_STATE: &str = "mode-none";

/// `state` lists what the kernel offers (kernel/power/main.c:state_show, 6.12): in
/// virtual machines and containers often nothing.
fn no_state(case: &Case, out: &mut Vec<Finding>) -> bool {
    let Some(state) = of(case, "/sys/power/state").filter(|v| v.value.is_empty()) else {
        return false;
    };
    let mut evidence = value(state);
    evidence.text.push_str("(empty)");
    let f = Finding::new((NO_STATE, Area::Mode, Level::Broken), Confidence::Certain)
        .says("This machine cannot sleep: /sys/power/state is empty.")
        .look("A kernel offers sleep if it was built for it (CONFIG_SUSPEND) and the platform has a way to do it; virtual machines and containers often have none.")
        .shown_by([evidence]);
    out.push(f);
    true
}

/// `/sys/devices/system/cpu/cpu3/cpuidle/state2/disable`: CPU, state, rest.
fn idle_file(path: &str) -> Option<(u32, u32, &str)> {
    let rest = path.strip_prefix("/sys/devices/system/cpu/cpu")?;
    let (cpu, rest) = rest.split_once("/cpuidle/state")?;
    let (state, file) = rest.split_once('/')?;
    Some((cpu.parse().ok()?, state.parse().ok()?, file))
}

/// CPUs that have no idle state which s2idle can use.
pub(crate) struct Lacking {
    /// Their numbers; none if all have one.
    pub cpus: Vec<u32>,
    /// Of so many.
    pub of: usize,
    /// Why.
    pub why: Shallow,
    /// What shows it.
    pub evidence: Vec<Evidence>,
}

/// A state that s2idle can use has a folder `s2idle`, is not the first and is not
/// switched off (drivers/cpuidle/sysfs.c:cpuidle_add_s2idle_attr_group,
/// drivers/cpuidle/cpuidle.c:cpuidle_find_deepest_state, 6.12). A CPU without one
/// idles as usual, and its tick keeps every clock running. `None`: no file tells.
pub(crate) fn lacking(case: &Case) -> Option<Lacking> {
    #[derive(Default)]
    struct State<'a> {
        name: Option<&'a Value>,
        fit: bool,
        disabled: Option<&'a Value>,
    }
    let mut cpus: BTreeMap<u32, BTreeMap<u32, State<'_>>> = BTreeMap::new();
    for v in &case.values {
        let Some((cpu, state, file)) = idle_file(&v.path) else { continue };
        let s = cpus.entry(cpu).or_default().entry(state).or_default();
        match file {
            "name" => s.name = Some(v),
            "disable" if v.value != "0" => s.disabled = Some(v),
            _ if file.starts_with("s2idle/") => s.fit = true,
            _ => {}
        }
    }
    let driver = of(case, "/sys/devices/system/cpu/cpuidle/current_driver");
    if cpus.is_empty() && driver.is_none_or(|d| d.value != "none") {
        return None;
    }
    let online = of(case, "/sys/devices/system/cpu/online").map_or(0, |v| count(&v.value));
    let mut lacking: Vec<u32> = Vec::new();
    let mut off: Option<(&Value, String)> = None;
    for (&cpu, states) in &cpus {
        let usable = |(i, s): (&u32, &State<'_>)| *i > 0 && s.fit && s.disabled.is_none();
        if states.iter().any(usable) {
            continue;
        }
        lacking.push(cpu);
        let switched = states.iter().rev().find(|(i, s)| **i > 0 && s.fit && s.disabled.is_some());
        if let (None, Some((i, s))) = (&off, switched) {
            let name = s.name.map_or_else(|| format!("state{i}"), |n| n.value.clone());
            off = s.disabled.map(|v| (v, name));
        }
    }
    if cpus.is_empty() {
        lacking = (0..online as u32).collect();
    }
    let mut evidence: Vec<Evidence> = driver.map(value).into_iter().collect();
    let why = match off {
        Some((v, name)) => {
            evidence.push(value(v));
            Shallow::Disabled(name)
        }
        None => Shallow::Driver(driver.map_or_else(String::new, |d| d.value.clone())),
    };
    Some(Lacking { cpus: lacking, of: cpus.len().max(online), why, evidence })
}

fn s2idle(case: &Case, out: &mut Vec<Finding>) {
    let Some(mode) = of(case, "/sys/power/mem_sleep") else { return };
    if chosen(&mode.value).as_deref() != Some("s2idle") {
        return;
    }
    let Some(l) = lacking(case).filter(|l| !l.cpus.is_empty()) else { return };
    let mut evidence = Vec::from([value(mode)]);
    evidence.extend(l.evidence);
    out.push(shallow(&l.cpus, l.of, &l.why).shown_by(evidence));
}

/// CPUs without an idle state for s2idle, of so many.
fn shallow(cpus: &[u32], of: usize, why: &Shallow) -> Finding {
    let (because, f) = match why {
        Shallow::Disabled(state) => (
            format!("its state {state} is switched off"),
            Finding::new(MONO_RUNS, Confidence::Likely).change(
                "echo 0 > the state's file disable, for s2idle obeys it too.",
                OLD,
                "Whoever switched it off for its latency gets that latency back.",
            ),
        ),
        Shallow::Driver(d) => (
            if d.is_empty() { "the driver has none".into() } else { format!("the driver {d} has none") },
            Finding::new(MONO_RUNS, Confidence::Likely).look(
                "See which driver could serve these CPUs (intel_idle, acpi_idle, psci_idle), and whether idle=, max_cstate= or the firmware forbids its states. Where there is no such state, choose deep.",
            ),
        ),
    };
    let verb = if cpus.len() == 1 { "has" } else { "have" };
    f.says(format!(
        "s2idle will be shallow: {} {verb} no idle state for it ({because}). The CPUs idle as usual and their clocks run on.",
        say::cpus(cpus, of)
    ))
}

/// The rule of CPUs whose clocks run on in s2idle.
const MONO_RUNS: (&str, Area, Level) = ("clock-mono-runs", Area::Mode, Level::Risk);

/// Numbers in a list such as `0-3,8`, at most as many as a kernel can have.
fn count(list: &str) -> usize {
    let mut n = 0usize;
    for part in list.split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(a), Ok(b)) = (a.trim().parse::<usize>(), b.trim().parse::<usize>()) {
            n = n.saturating_add(b.saturating_sub(a).saturating_add(1));
        }
    }
    n.min(MOST_CPUS as usize)
}

/// Counters of attempts since boot (kernel/power/main.c, `suspend_stats`). The
/// device and step are of the last failure that had one: a sync that was aborted
/// and a notifier leave them as they were, so they are told only if a phase of
/// devices or the freezer failed at all.
fn failed(case: &Case, out: &mut Vec<Finding>) {
    let stat = |name: &str| last_of(case, &format!("/sys/power/suspend_stats/{name}"));
    let number = |name: &str| stat(name).and_then(Value::count);
    let Some((fail, failed)) = stat("fail").zip(number("fail")) else { return };
    let slept = number("success").unwrap_or(0);
    let phases: u64 = case
        .values
        .iter()
        .filter(|v| v.folder() == "/sys/power/suspend_stats" && v.name().starts_with("failed_"))
        .filter_map(Value::count)
        .fold(0, u64::saturating_add);
    let mut evidence = Vec::from([value(fail)]);
    evidence.extend(stat("success").map(value));
    let mut text = |name: &str| match stat(name).filter(|_| phases > 0) {
        Some(v) if !v.value.is_empty() => {
            evidence.push(value(v));
            v.value.clone()
        }
        _ => String::new(),
    };
    let (step, device) = (text("last_failed_step"), text("last_failed_dev"));
    // A freezer names no device.
    let device = if step == "freeze" { String::new() } else { device };
    let error = text("last_failed_errno").parse().unwrap_or(0);
    if failed == 0 {
        // Devices that do not come back fail no attempt (drivers/base/power/main.c:
        // dpm_save_failed_dev of device_resume, 6.12).
        let halves = ["", "_early", "_noirq"].iter();
        let back = halves.filter_map(|half| stat(&format!("failed_resume{half}")));
        let back: Vec<&Value> = back.filter(|v| v.count().is_some_and(|n| n > 0)).collect();
        if !back.is_empty() && step.starts_with("resume") {
            out.push(not_back(&back, &device, error).shown_by(evidence));
        }
        return;
    }
    out.push(attempts_failed(failed, slept, &device, error, &step).shown_by(evidence));
}

/// Devices that did not come back since boot, though no attempt failed; the last of them.
fn not_back(counts: &[&Value], device: &str, error: i32) -> Finding {
    let times = counts.iter().filter_map(|v| v.count()).fold(0, u64::saturating_add);
    let who = if device.is_empty() { "a device" } else { device };
    let f = Finding::new(("device-not-back", Area::Abort, Level::Risk), Confidence::Certain)
        .says(format!(
            "Since boot a device failed to resume {}, though no sleep failed for it. The last one was {who}, error {error}.",
            say::once(usize::try_from(times).unwrap_or(usize::MAX))
        ))
        .look("Give the log of such a return: journalctl -k > log.txt; dormouse check log.txt")
        .when(Some(Direction::Resume), None)
        .at("resume");
    if device.is_empty() {
        return f;
    }
    f.of_devices([Device { name: device.into(), driver: String::new() }]).of_error(error)
}

/// Attempts that failed since boot; the last device, its error and the step, if the kernel
/// tells.
fn attempts_failed(failed: u64, slept: u64, device: &str, error: i32, step: &str) -> Finding {
    let of = failed.saturating_add(slept);
    let last = match (step.is_empty(), device.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(" The last one failed in step {step}, error {error}."),
        (false, false) => {
            format!(" The last one failed in step {step}, at {device}, error {error}.")
        }
    };
    let level = if slept == 0 { Level::Broken } else { Level::Risk };
    let f = Finding::new(("attempts-failed", Area::Abort, level), Confidence::Certain)
        .says(format!(
            "{failed} of {} to sleep failed since boot.{last}",
            say::plural(of as usize, "attempt")
        ))
        .look("Give the log of a failed attempt: journalctl -k > log.txt; dormouse check log.txt");
    if device.is_empty() {
        return f;
    }
    f.of_devices([Device { name: device.into(), driver: String::new() }]).of_error(error)
}

/// Real-time clocks whose `wakeup` is off: `rtcwake` refuses, an alarm does not end
/// a sleep. Only where all of them are so.
fn alarms(case: &Case, out: &mut Vec<Finding>) {
    let clocks: Vec<&Value> = case
        .values
        .iter()
        .filter(|v| {
            v.path.starts_with("/sys/class/rtc/") && v.path.ends_with("/device/power/wakeup")
        })
        .collect();
    if clocks.is_empty() || clocks.iter().any(|v| v.value != "disabled") {
        return;
    }
    let name = |v: &&Value| v.path.split('/').nth(4).unwrap_or("rtc").to_string();
    let names: Vec<String> = clocks.iter().map(name).collect();
    let first = names.first().map_or("rtc0", |n| n);
    let f = Finding::new(("clock-no-wake", Area::Clock, Level::Note), Confidence::Certain)
        .says(format!(
            "No alarm can end a sleep: {} may not wake the machine (power/wakeup is disabled).",
            say::names(&names)
        ))
        .change(
            format!("echo enabled > /sys/class/rtc/{first}/device/power/wakeup"),
            "echo disabled to the same file",
            "",
        )
        .shown_by(clocks.iter().map(|v| value(v)));
    out.push(f);
}

/// Room for an image of hibernation and a device to resume from
/// (kernel/power/hibernate.c, snapshot.c).
fn image(case: &Case, out: &mut Vec<Finding>) {
    let power = |name: &str| of(case, &format!("/sys/power/{name}"));
    let (Some(disk), Some(state)) = (power("disk"), power("state")) else { return };
    let allowed = chosen(&disk.value).is_some_and(|c| c != "disabled")
        && state.value.split(' ').any(|s| s == "disk");
    if !allowed {
        return;
    }
    if let Some(v) = power("resume").filter(|v| v.value == "0:0") {
        let f = Finding::new(("hib-no-resume", Area::Hibernation, Level::Note), Confidence::Likely)
            .says("Hibernation may not come back: the kernel knows no device to resume from (resume is 0:0).")
            .look("Put resume= (and resume_offset= of a swap file) on the kernel command line, unless systemd keeps the place in an EFI variable.")
            .shown_by([value(v)]);
        out.push(f);
    }
    let bytes = |name: &str| {
        let v = of(case, &format!("/proc/meminfo/{name}"))?;
        let kb: u64 = v.value.split(' ').next()?.parse().ok()?;
        Some((v, kb.saturating_mul(1_024)))
    };
    let (Some((v, free)), Some((_, total)), Some((_, spare))) =
        (bytes("SwapFree"), bytes("MemTotal"), bytes("MemFree"))
    else {
        return;
    };
    let Some(wish) = power("image_size") else { return };
    let Ok(most) = wish.value.parse::<u64>() else { return };
    let image = most.min(total.saturating_sub(spare));
    if free < image {
        let text = match free {
            0 => "Hibernation has nowhere to write: there is no free swap.".into(),
            _ => format!(
                "Hibernation may not fit: {} of swap are free, and the image may be {} before it is compressed.",
                say::megabytes(free),
                say::megabytes(image)
            ),
        };
        let rule = ("hib-swap-small", Area::Hibernation, Level::Note);
        let f = Finding::new(rule, Confidence::Likely)
            .says(text)
            .look("Add swap as large as the memory in use, or ask for a smaller image_size.")
            .shown_by([value(v), value(wish)]);
        out.push(f);
    }
}

/// Tasks of users that wait where they cannot be frozen
/// (kernel/power/process.c:try_to_freeze_tasks waits for them).
fn waiting(case: &Case, out: &mut Vec<Finding>) {
    for w in case.waiting.iter().filter(|w| w.looks.0 >= LOOKS.min(w.looks.1)) {
        let place = w.function.as_ref().map_or(String::new(), |f| format!(", in {f}"));
        let rule = ("freeze-candidate", Area::Freezer, Level::Risk);
        let f = Finding::new(rule, Confidence::Likely)
            .says(format!(
                "{} (pid {}) waits where it cannot be frozen (state D, {} of {} looks{place}): a sleep now would wait for it.",
                w.name, w.pid, w.looks.0, w.looks.1
            ))
            .look("See what it waits for: cat /proc/PID/stack as root; a disk, a network share or a FUSE server that does not answer.")
            .of_tasks([Task { name: w.name.clone(), pid: w.pid }])
            .of_function(w.function.as_deref())
            .shown_by([seen(w)]);
        out.push(f);
    }
}

fn seen(w: &Waiting) -> Evidence {
    let within = w.function.as_ref().map_or(String::new(), |f| format!(", in {f}"));
    Evidence {
        line: 0,
        time: None,
        text: format!(
            "/proc/{}/stat: ({}) D in {} of {} looks{within}",
            w.pid, w.name, w.looks.0, w.looks.1
        ),
        doubtful: false,
    }
}

/// A task that never pauses and that others cannot take the CPU from: what has to run on
/// that CPU to reach the freezer waits (kernel/sched/rt.c).
fn spinning(case: &Case, out: &mut Vec<Finding>) {
    for w in case.spinning.iter().filter(|w| w.looks.0 == w.looks.1 && w.looks.1 >= LOOKS) {
        let text = format!(
            "/proc/{}/stat: ({}) R in all of {} looks, real-time",
            w.pid, w.name, w.looks.1
        );
        let f = Finding::new(("freeze-starved", Area::Freezer, Level::Risk), Confidence::Likely)
            .says(format!(
                "{} (pid {}) runs without a pause under a real-time policy: a task that has to run on that CPU to be frozen may not get there.",
                w.name, w.pid
            ))
            .look("Stop it before a sleep, or give it pauses.")
            .of_tasks([Task { name: w.name.clone(), pid: w.pid }])
            .shown_by([Evidence { line: 0, time: None, text, doubtful: false }]);
        out.push(f);
    }
}

/// Servers of FUSE below the user's session, which systemd 256 and later freezes first:
/// a task outside of it that waits for one then cannot be frozen.
fn servers(case: &Case, out: &mut Vec<Finding>) {
    let is = |v: &&Value| {
        v.path.starts_with("/proc/") && v.name() == "cgroup" && v.value.contains("/user.slice")
    };
    let list: Vec<&Value> = case.values.iter().filter(is).collect();
    if list.is_empty() {
        return;
    }
    let server = |v: &&Value| {
        let pid = v.path.split('/').nth(2)?.parse::<u32>().ok()?;
        let name = of(case, &format!("{}/comm", v.folder())).map_or("?", |n| n.value.as_str());
        Some(Task { name: name.to_string(), pid })
    };
    let servers: Vec<Task> = list.iter().filter_map(server).collect();
    let (noun, verb) = if servers.len() == 1 { ("server", "is") } else { ("servers", "are") };
    let f = Finding::new(("freeze-fuse-server", Area::Freezer, Level::Note), Confidence::Guess)
        .says(format!(
            "FUSE {noun} {} {verb} in the user's session. systemd 256 and later freezes that first; a task outside of it that waits for one cannot be frozen then.",
            say::tasks(&servers)
        ))
        .look("If freezing ever fails at such a task: run the server as a system service outside user.slice, or unmount before sleep.")
        .of_tasks(servers)
        .shown_by(list.iter().take(3).map(|v| value(v)));
    out.push(f);
}

fn dirty(case: &Case, out: &mut Vec<Finding>) {
    let of = |name: &str| of(case, &format!("/proc/meminfo/{name}"));
    let kb = |v: &Value| v.value.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    let both: Vec<&Value> = ["Dirty", "Writeback"].iter().filter_map(|n| of(n)).collect();
    let bytes: u64 = both.iter().filter_map(|v| kb(v)).fold(0, u64::saturating_add);
    let bytes = bytes.saturating_mul(1_024);
    if bytes >= DIRTY {
        let f = Finding::new(("sync-dirty", Area::Sync, Level::Note), Confidence::Certain)
            .says(format!(
                "{} wait to be written: a sleep now would write them first.",
                say::megabytes(bytes)
            ))
            .look("Write it before: dormouse sync.")
            .shown_by(both.into_iter().map(value));
        out.push(f);
    }
}

/// From 6.18 on fuseblk answers a sync by asking its server, which a frozen
/// session does not let answer (fs/fuse/inode.c:fuse_sync_fs).
fn fuse(case: &Case, out: &mut Vec<Finding>) {
    let Some(release) = of(case, "/proc/sys/kernel/osrelease") else { return };
    let mut numbers = release.value.split(['.', '-']).map_while(|p| p.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let mounts: Vec<&Value> =
        case.values.iter().filter(|v| v.path == "/proc/self/mountinfo/fuseblk").collect();
    if version < (6, 18) || mounts.is_empty() {
        return;
    }
    let mut evidence: Vec<Evidence> = mounts.iter().take(3).map(|v| value(v)).collect();
    evidence.push(value(release));
    let names: Vec<String> = mounts.iter().map(|v| v.value.clone()).collect();
    let f = Finding::new(("sync-fuse-deadlock", Area::Sync, Level::Risk), Confidence::Guess)
        .says(format!(
            "The sync before sleep asks the server of {}. If that server is frozen with the user's session first, it never answers.",
            say::names(&names)
        ))
        .look("Unmount it before sleep, or run its server as a system service outside user.slice.")
        .shown_by(evidence);
    out.push(f);
}
