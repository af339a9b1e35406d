//! The recorder: sets the machine up, runs the cycles, puts everything back.

use crate::guard::{self, Guard, Observer, Restored};
use crate::journal::Entry;
use crate::kmsg::Kmsg;
use crate::options::{Detail, Inside, Options};
use crate::recording::Recording;
use crate::root::Root;
use crate::tracing::{self, Instance};
use crate::{devices, inside, knob, look, machine, measure, suppliers, wake, wakers};
use dormouse_capture::schema::{
    CaptureFile, CycleMembers, CycleStats, DeviceRow, Document, FORMAT, KnobChange, RecordedLoss,
    Settings, VERSION, WaitingTask,
};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// What happens, for a progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Devices were listed and knobs are set.
    Ready {
        /// Devices of the machine.
        devices: usize,
        /// Device links.
        links: usize,
    },
    /// This cycle begins (from 1): the machine goes to sleep next.
    Begin(u32),
    /// This cycle is recorded.
    End {
        /// Which.
        cycle: u32,
        /// 0 or the negative errno of the attempt.
        result: i32,
        /// Events lost in it.
        lost: u64,
    },
    /// The pause between cycles.
    Pause(Duration),
}

/// Who is told of progress, and who may ask to stop.
pub trait Watch {
    /// Something happened.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }
    /// A cycle begins; an error stops it before anything is done.
    fn begin(&mut self, cycle: u32) -> io::Result<()> {
        let _ = cycle;
        Ok(())
    }
    /// Takes a cycle to where it outlives this process; gives it back if it is to stay in
    /// memory.
    fn keep(
        &mut self,
        file: &CaptureFile,
        cycle: CycleMembers,
    ) -> io::Result<Option<CycleMembers>> {
        let _ = file;
        Ok(Some(cycle))
    }
    /// How long to wait before the next cycle.
    fn pause(&mut self, usual: Duration) -> Duration {
        usual
    }
    /// Whether to end after the cycle in hand.
    fn stop(&self) -> bool {
        false
    }
}

/// Says nothing and never stops.
#[derive(Debug)]
pub struct NoWatch;
impl Watch for NoWatch {}

fn not_offered(path: &str, asked: &str, offered: &str) -> String {
    if offered.is_empty() {
        return format!(
            "cannot suspend: {path} is empty. This kernel has no suspend support, or this is a \
             container or a virtual machine"
        );
    }
    format!("cannot suspend: {asked:?} is not in {path}, which has: {offered}")
}

/// Why nothing could be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no such sleep state.
    #[error("{}", not_offered(path, asked, offered))]
    NotOffered {
        /// File.
        path: &'static str,
        /// What was asked.
        asked: String,
        /// What there is.
        offered: String,
    },
    /// The test level did not read back, so the machine would really sleep.
    #[error("/sys/power/pm_test was set to {asked:?} but reads {found:?}: not suspending")]
    TestNotSet {
        /// What was asked.
        asked: String,
        /// What was read.
        found: String,
    },
    /// The mode of hibernation did not read back, so the machine would power off.
    #[error("/sys/power/disk was set to {asked:?} but reads {found:?}: not hibernating")]
    DiskNotSet {
        /// What was asked.
        asked: String,
        /// What was read.
        found: String,
    },
    /// No safe way to wake up.
    #[error(transparent)]
    Wake(#[from] wake::Error),
    /// A knob could not be set.
    #[error(transparent)]
    Guard(#[from] guard::Error),
    /// The trace could not be read, or memory for it not be had.
    #[error("the trace cannot be read: {0}")]
    Trace(std::io::Error),
    /// A cycle could not be kept.
    #[error("what was recorded cannot be kept: {0}")]
    Kept(std::io::Error),
    /// The command of a watch could not be started.
    #[error("cannot run {command}: {source}")]
    Command {
        /// The program.
        command: String,
        /// Why.
        source: std::io::Error,
    },
}

/// How a recording ended.
#[derive(Debug)]
pub struct Outcome {
    /// What was recorded, also if `error` ended it early.
    pub recording: Recording,
    /// What was put back at the end.
    pub restored: Restored,
    /// Why it ended before all cycles were done.
    pub error: Option<Error>,
}

/// Records `options.cycles` cycles. Whatever happens, every knob is put back
/// before this returns; cycles that were complete before an error are kept.
///
/// # Errors
/// If not a single step could be done: the sleep state does not exist, another
/// recorder is at work, or the journal cannot be written.
pub fn record(
    root: &Root,
    options: &Options,
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    check_offered(root, options)?;
    let guard = Guard::begin(root, &options.journal, observer)?;
    Ok(with_guard(root, options, guard, watch))
}

/// Shows `observer` every step that [`record`] would take, and takes none.
///
/// # Errors
/// As [`record`].
pub fn rehearse(
    root: &Root,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    check_offered(root, options)?;
    let guard = Guard::dry(root, &options.journal, observer);
    Ok(with_guard(root, options, guard, &mut NoWatch))
}

fn check_offered(root: &Root, options: &Options) -> Result<(), Error> {
    let mut wanted = vec![("/sys/power/state", options.state.name())];
    if let Some(m) = &options.mem_sleep {
        wanted.push(("/sys/power/mem_sleep", m));
    }
    if let Some(d) = &options.disk {
        wanted.push(("/sys/power/disk", d));
    }
    if let Some(l) = &options.pm_test {
        wanted.push(("/sys/power/pm_test", l));
    }
    for (path, asked) in wanted {
        let offered = root.read(path).unwrap_or_default();
        if !knob::offers(&offered, asked) {
            return Err(Error::NotOffered { path, asked: asked.into(), offered });
        }
    }
    Ok(())
}

fn with_guard(
    root: &Root,
    options: &Options,
    mut guard: Guard<'_>,
    watch: &mut dyn Watch,
) -> Outcome {
    let mut recording = Recording::default();
    recording.file = describe(root, options);
    let error = run(root, options, &mut guard, watch, &mut recording).err();
    let document = &mut recording.file.document;
    document.suspend_stats_after = machine::suspend_stats(root);
    document.knobs_changed = changes(guard.changes());
    let restored = guard.end();
    Outcome { recording, restored, error }
}

/// Everything that is read before anything is changed.
pub(crate) fn describe(root: &Root, options: &Options) -> CaptureFile {
    let (mut devices, unreadable) = devices::devices(root);
    devices::mark_essential(root, &mut devices);
    let mut losses = Vec::new();
    let domains = suppliers::dump(root, &devices, &mut losses);
    let tree = suppliers::tree(root, &mut losses);
    if unreadable > 0 {
        losses.push(RecordedLoss {
            kind: "devices_unreadable".into(),
            count: unreadable,
            advice: "folders of sysfs vanished or could not be read: record again when no device comes or goes".into(),
        });
    }
    CaptureFile {
        document: Document {
            format: FORMAT.into(),
            version: VERSION,
            recorder: concat!("dormouse ", env!("CARGO_PKG_VERSION")).into(),
            machine: machine::machine(root),
            kernel: machine::kernel(root),
            settings: settings(options),
            knobs_found: machine::knobs(root),
            suspend_stats_before: machine::suspend_stats(root),
            trace_clock: tracing::CLOCK.into(),
            losses,
            ..Document::default()
        },
        devices,
        links: devices::links(root),
        domains,
        tree,
        ..CaptureFile::default()
    }
}

fn settings(o: &Options) -> Settings {
    Settings {
        state: o.state.name().into(),
        mem_sleep: o.mem_sleep.clone().unwrap_or_default(),
        pm_test: o.pm_test.clone().unwrap_or_default(),
        wake: if o.must_be_woken() { o.wake.name() } else { String::new() },
        interval_s: o.interval.as_secs(),
        cycles: o.cycles,
        detail: o
            .detail
            .iter()
            .map(|d| d.name())
            .chain(match o.inside {
                Inside::Nothing => None,
                Inside::Waits => Some("inside"),
                Inside::All => Some("inside=all"),
            })
            .map(String::from)
            .collect(),
        phases_only: o.phases_only,
    }
}

pub(crate) fn changes(entries: &[Entry]) -> Vec<KnobChange> {
    entries
        .iter()
        .filter_map(|e| match e {
            Entry::Write { path, old, new } => {
                Some(KnobChange { path: path.clone(), old: old.clone(), new: new.clone() })
            }
            Entry::MakeDir { .. } | Entry::Probe { .. } | Entry::Unbind { .. } => None,
        })
        .collect()
}

/// Makes the instance, and notes the events that this kernel lacks.
pub(crate) fn instance(
    root: &Root,
    options: &Options,
    guard: &mut Guard<'_>,
    recording: &mut Recording,
) -> Result<Instance, Error> {
    let devices = recording.file.devices.len();
    let instance = Instance::make(guard, root, options, devices)?;
    if !instance.missing.is_empty() {
        recording.file.document.losses.push(RecordedLoss {
            kind: "trace_unavailable".into(),
            count: instance.missing.len() as u64,
            advice: format!(
                "this kernel, or the drivers that are loaded, lack these events: {}. The rest was \
                 recorded",
                instance.missing.join(", ")
            ),
        });
    }
    Ok(instance)
}

fn run(
    root: &Root,
    options: &Options,
    guard: &mut Guard<'_>,
    watch: &mut dyn Watch,
    recording: &mut Recording,
) -> Result<(), Error> {
    let devices = recording.file.devices.clone();
    let instance = instance(root, options, guard, recording)?;
    let probe_ns = inside::cost(guard, instance.path(), &instance.inside)?;
    set_knobs(root, options, guard)?;
    let mut kmsg = Kmsg::open(root);
    if kmsg.is_none() && !guard.is_dry() {
        recording.file.document.losses.push(RecordedLoss {
            kind: "log_unavailable".into(),
            count: 1,
            advice: "/dev/kmsg cannot be read, so the kernel log is missing".into(),
        });
    }
    watch.progress(Progress::Ready { devices: devices.len(), links: recording.file.links.len() });
    for number in options.first..options.first.saturating_add(options.cycles) {
        if watch.stop() {
            break;
        }
        if number > options.first && !guard.is_dry() {
            let interval = watch.pause(options.interval);
            if !pause(interval, watch) {
                break;
            }
        }
        watch.progress(Progress::Begin(number));
        watch.begin(number).map_err(Error::Kept)?;
        let probed = inside::hits(root, &instance.inside);
        let mut cycle = cycle(root, options, guard, &instance, kmsg.as_mut(), &devices, number)?;
        if options.inside != Inside::Nothing && !guard.is_dry() {
            let after = inside::hits(root, &instance.inside);
            cycle.stats.probes = Some(inside::spent(probed, after, &cycle.trace, probe_ns));
        }
        if guard.is_dry() {
            // The others would write the same.
            break;
        }
        let end = Progress::End {
            cycle: number,
            result: cycle.stats.result,
            lost: cycle.stats.lost_events.values().sum(),
        };
        if let Some(cycle) = watch.keep(&recording.file, cycle).map_err(Error::Kept)? {
            recording.push(&cycle).map_err(Error::Trace)?;
        }
        watch.progress(end);
    }
    Ok(())
}

/// Waits; `false` if asked to stop meanwhile.
pub fn pause(interval: Duration, watch: &mut dyn Watch) -> bool {
    watch.progress(Progress::Pause(interval));
    let begin = Instant::now();
    while let Some(left) = interval.checked_sub(begin.elapsed()).filter(|l| !l.is_zero()) {
        if watch.stop() {
            return false;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
    !watch.stop()
}

fn set_knobs(root: &Root, o: &Options, guard: &mut Guard<'_>) -> Result<(), Error> {
    let bit = |b: bool| if b { "1" } else { "0" };
    if !o.callback_lines {
        guard.set_if_there("/sys/power/pm_print_times", "0")?;
    }
    guard.set_if_there("/sys/power/pm_debug_messages", bit(o.debug_messages))?;
    if let Some(on) = o.console_suspend {
        let word = if on { "Y" } else { "N" };
        guard.set("/sys/module/printk/parameters/console_suspend", word)?;
    }
    if let Some(level) = o.console_level {
        console_level(root, guard, level)?;
    }
    if let Some(on) = o.pm_async {
        guard.set("/sys/power/pm_async", bit(on))?;
    }
    for (path, value) in &o.set {
        guard.set(path, value)?;
    }
    for (driver, device) in &o.unbind {
        guard.unbind(driver, device)?;
    }
    if let Some(on) = o.sync {
        guard.set("/sys/power/sync_on_suspend", bit(on))?;
    }
    if let Some(m) = &o.mem_sleep {
        guard.set("/sys/power/mem_sleep", m)?;
    }
    if let Some(d) = &o.disk {
        guard.set("/sys/power/disk", d)?;
    }
    match &o.pm_test {
        Some(level) => {
            // The pause of 5 s before coming back tells nothing.
            for test in ["suspend", "hibernate"] {
                let delay = format!("/sys/module/{test}/parameters/pm_test_delay");
                guard.set_if_there(&delay, "0")?;
            }
            guard.set("/sys/power/pm_test", level)?;
        }
        // A test level left by someone else would turn a sleep into a test.
        None => {
            guard.set_if_there("/sys/power/pm_test", "none")?;
        }
    }
    Ok(())
}

/// Lowers the first of the four numbers in `/proc/sys/kernel/printk`.
fn console_level(root: &Root, guard: &mut Guard<'_>, level: u8) -> Result<(), Error> {
    const PATH: &str = "/proc/sys/kernel/printk";
    let text = root.read(PATH).unwrap_or_default();
    let mut numbers: Vec<&str> = text.split_whitespace().collect();
    let Some(now) = numbers.first().and_then(|n| n.parse::<u8>().ok()) else { return Ok(()) };
    if now > level {
        let level = level.to_string();
        numbers[0] = &level;
        guard.set(PATH, &numbers.join("\t"))?;
    }
    Ok(())
}

fn cycle(
    root: &Root,
    options: &Options,
    guard: &mut Guard<'_>,
    instance: &Instance,
    kmsg: Option<&mut Kmsg>,
    devices: &[DeviceRow],
    number: u32,
) -> Result<CycleMembers, Error> {
    let before = machine::suspend_stats(root);
    let mut stats = CycleStats {
        number,
        suspends_before: machine::suspends(&before),
        state: options.state.name().into(),
        mem_sleep: in_force(root, "/sys/power/mem_sleep"),
        pm_test: in_force(root, "/sys/power/pm_test"),
        pm_async: root.read("/sys/power/pm_async").map(|v| v == "1"),
        ..CycleStats::default()
    };
    let mut kmsg = kmsg;
    if let Some(k) = kmsg.as_mut() {
        k.drain();
    }
    let lost_before = instance.lost(root);
    let wakeups_before = machine::wakeup_counts(root, "wakeup_count");
    instance.start(guard)?;
    if options.must_be_woken() {
        wake::arm(guard, root, &options.wake, devices)?;
    }
    stats.dirty_bytes = machine::meminfo(root, "Dirty");
    stats.writeback_bytes = machine::meminfo(root, "Writeback");
    let counts = measure::Counts::begin(root);
    if !guard.is_dry() {
        check_comes_back(root, options, devices)?;
    }
    let idle = measure::S2idle::begin(root);
    if options.detail.contains(&Detail::Freeze) && !guard.is_dry() {
        stats.waiting = waiting(root);
    }
    let clocks = measure::clocks();
    let slept = guard.write("/sys/power/state", options.state.name());
    stats.clocks = measure::since(clocks);
    if options.detail.contains(&Detail::Rpm) && !guard.is_dry() {
        // What is suspended again at run time now was woken for nothing.
        std::thread::sleep(LINGERS);
    }
    instance.stop(guard)?;
    stats.counts = counts.end(root);
    stats.s2idle_us = idle.end(root);
    stats.result = match slept {
        Ok(()) => 0,
        Err(guard::Error::Write { source, .. }) if source.raw_os_error().is_some() => {
            -source.raw_os_error().unwrap_or(0)
        }
        Err(e) => return Err(e.into()),
    };
    stats.wakeup_irq = root.read_number("/sys/power/pm_wakeup_irq");
    stats.wakeup_sources = machine::wakeup_counts(root, "wakeup_count")
        .into_iter()
        .filter(|(source, count)| wakeups_before.get(source).is_none_or(|b| count > b))
        .filter(|(_, count)| *count > 0)
        .map(|((_, name), _)| name)
        .collect();
    let mut line = Vec::new();
    wakers::line(root, &mut line);
    stats.wake_line = line.into_iter().collect();
    let after = machine::suspend_stats(root);
    stats.suspend_stats_changed =
        after.into_iter().filter(|(k, v)| before.get(k) != Some(v)).collect();
    if guard.is_dry() {
        return Ok(CycleMembers { stats, ..CycleMembers::default() });
    }
    let trace = instance.text(root).map_err(Error::Trace)?;
    stats.lost_events = newly_lost(&lost_before, instance.lost(root));
    let log = kmsg.map(|k| k.drain()).unwrap_or_default();
    stats.log_records_lost = log.lost;
    Ok(CycleMembers { trace, dmesg: log.text, stats, ..CycleMembers::default() })
}

/// How long runtime power management is watched after a sleep.
const LINGERS: Duration = Duration::from_secs(2);

/// Tasks of users that wait where they cannot be frozen.
fn waiting(root: &Root) -> Vec<WaitingTask> {
    let mut found = BTreeMap::new();
    look::tasks(root, &mut found, &mut BTreeMap::new());
    let task = |w: look::Waiter| WaitingTask {
        pid: i32::try_from(w.pid).unwrap_or(0),
        name: w.name,
        function: w.function.unwrap_or_default(),
    };
    found.into_values().map(task).collect()
}

/// Asked right before the write that sleeps: the machine will wake up.
fn check_comes_back(root: &Root, options: &Options, devices: &[DeviceRow]) -> Result<(), Error> {
    match &options.pm_test {
        Some(asked) if !options.really_sleeps() => {
            let found = in_force(root, "/sys/power/pm_test");
            if found == *asked {
                Ok(())
            } else {
                Err(Error::TestNotSet { asked: asked.clone(), found })
            }
        }
        _ if !options.must_be_woken() => {
            // Any other mode would power the machine off.
            let (asked, found) = ("test_resume".into(), in_force(root, "/sys/power/disk"));
            if found == asked { Ok(()) } else { Err(Error::DiskNotSet { asked, found }) }
        }
        _ => Ok(wake::check(root, &options.wake, devices)?),
    }
}

fn in_force(root: &Root, path: &str) -> String {
    knob::in_force(&root.read(path).unwrap_or_default()).into()
}

/// Emptying a buffer resets its counters on some kernels only, so a counter
/// that went down counts from zero.
pub(crate) fn newly_lost(
    before: &BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    after
        .into_iter()
        .map(|(cpu, n)| {
            let old = before.get(&cpu).copied().unwrap_or(0);
            let new = if n >= old { n - old } else { n };
            (cpu, new)
        })
        .filter(|(_, n)| *n > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_those_of_the_cycle() {
        let map = |n: u64| BTreeMap::from([("cpu0".to_string(), n)]);
        assert_eq!(newly_lost(&map(3), map(5)), map(2));
        assert_eq!(newly_lost(&map(3), map(1)), map(1));
        assert!(newly_lost(&map(3), map(3)).is_empty());
    }
}
