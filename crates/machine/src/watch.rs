//! Recording a machine that stays awake: for a time, or while a command runs.
//!
//! Nothing here writes to `/sys/power`; the recorder's own tracefs instance is made
//! and removed, and what the caller wants set is, through the same guard and journal
//! as for a sleep.

use crate::guard::{Guard, Observer};
use crate::options::{Detail, Options};
use crate::recorder::{
    Error, NoWatch, Outcome, Progress, Watch, changes, describe, instance, newly_lost,
};
use crate::recording::Recording;
use crate::root::Root;
use crate::system;
use crate::{idle, measure, storage};
use dormouse_capture::schema::{CycleMembers, CycleStats, RecordedLoss, Watched};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// When a watch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// After a time.
    After(Duration),
    /// When a command ends: program and arguments.
    Ends(Vec<String>),
    /// When a command ends, but after this time at the latest; the command is
    /// then ended.
    EndsWithin(Vec<String>, Duration),
}

/// What to watch.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Groups of events.
    pub with: Vec<Detail>,
    /// When it ends.
    pub until: Until,
    /// Trace buffer of each CPU in KiB; `None` for what the groups need.
    pub buffer_kib: Option<u64>,
    /// Folder of the journal.
    pub journal: String,
    /// Files and what is written to each before the trace begins; put back when it
    /// ends.
    pub set: Vec<(String, String)>,
}

impl Ask {
    /// As options of the recorder: no callback is recorded.
    fn options(&self) -> Options {
        Options {
            cycles: 0,
            detail: self.with.clone(),
            phases_only: true,
            buffer_kib: self.buffer_kib,
            journal: self.journal.clone(),
            console_level: None,
            debug_messages: false,
            ..Options::default()
        }
    }
}

/// Records until the watch ends, or `watch` asks to stop. The instance is gone
/// when this returns.
///
/// # Errors
/// If not a single step could be done, as [`crate::recorder::record`].
pub fn record(
    root: &Root,
    ask: &Ask,
    observer: &mut dyn Observer,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    let options = ask.options();
    let guard = Guard::begin(root, &options.journal, observer)?;
    Ok(with_guard(root, ask, &options, guard, watch))
}

/// Shows `observer` every step that [`record`] would take, and takes none.
///
/// # Errors
/// As [`record`].
pub fn rehearse(root: &Root, ask: &Ask, observer: &mut dyn Observer) -> Result<Outcome, Error> {
    let options = ask.options();
    let guard = Guard::dry(root, &options.journal, observer);
    Ok(with_guard(root, ask, &options, guard, &mut NoWatch))
}

fn with_guard(
    root: &Root,
    ask: &Ask,
    options: &Options,
    mut guard: Guard<'_>,
    watch: &mut dyn Watch,
) -> Outcome {
    let mut recording = Recording::default();
    recording.file = describe(root, options);
    // No sleep was asked for.
    recording.file.document.settings.state = String::new();
    recording.file.document.settings.wake = String::new();
    let error = run(root, ask, options, &mut guard, watch, &mut recording).err();
    recording.file.document.knobs_changed = changes(guard.changes());
    let restored = guard.end();
    Outcome { recording, restored, error }
}

fn run(
    root: &Root,
    ask: &Ask,
    options: &Options,
    guard: &mut Guard<'_>,
    watch: &mut dyn Watch,
    recording: &mut Recording,
) -> Result<(), Error> {
    // First, because the probes are those of the governor in use.
    for (path, value) in &ask.set {
        guard.set(path, value)?;
    }
    let instance = instance(root, options, guard, recording)?;
    let file = &recording.file;
    watch.progress(Progress::Ready { devices: file.devices.len(), links: file.links.len() });
    let lost_before = instance.lost(root);
    let idle = ask.with.contains(&Detail::Idle);
    let cost = match idle && !guard.is_dry() {
        true => idle::cost(guard, root, instance.path(), &instance.probes)?,
        false => idle::Cost::default(),
    };
    instance.start(guard)?;
    let before = if idle { idle::dump(root) } else { Vec::new() };
    if !instance.probes.events.is_empty() && !idle::forget(guard, root)? {
        recording.file.document.losses.push(RecordedLoss {
            kind: "history_unknown".into(),
            count: 1,
            advice: "this kernel has one idle governor, so what it remembers at the start of the \
                     recording cannot be emptied: its first decisions cannot be made again"
                .into(),
        });
    }
    if guard.is_dry() {
        return instance.stop(guard).map_err(Error::from);
    }
    let counts = measure::Counts::begin(root);
    let clocks = measure::clocks();
    let begin = Instant::now();
    let exit = wait(&ask.until, begin, watch);
    let clocks = measure::since(clocks);
    // The trace ends here, whatever became of the command.
    instance.stop(guard)?;
    let exit = exit?;
    let command = match &ask.until {
        Until::After(_) => Vec::new(),
        Until::Ends(c) | Until::EndsWithin(c, _) => c.clone(),
    };
    let watched = (clocks.boottime_after - clocks.boottime_before).unsigned_abs();
    let stats = CycleStats {
        number: 1,
        clocks,
        counts: counts.end(root),
        lost_events: newly_lost(&lost_before, instance.lost(root)),
        watched: Some(Watched {
            ns: watched,
            command,
            exit,
            event_ns: cost.event,
            probe_ns: cost.probe,
        }),
        ..CycleStats::default()
    };
    let after = if idle { idle::dump(root) } else { Vec::new() };
    let trace = instance.text(root).map_err(Error::Trace)?;
    let asks = |d| ask.with.contains(&d);
    let told = asks(Detail::Storage) || asks(Detail::Rpm);
    let sysfs = if told { storage::dump(root) } else { Vec::new() };
    let idle = [before, after];
    let members = CycleMembers { trace, stats, idle, sysfs, ..CycleMembers::default() };
    recording.push(&members).map_err(Error::Trace)
}

/// How often a command and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for the end. Returns the command's exit code, if it had one.
fn wait(until: &Until, begin: Instant, watch: &mut dyn Watch) -> Result<Option<i32>, Error> {
    let limit = match until {
        Until::After(d) | Until::EndsWithin(_, d) => Some(*d),
        Until::Ends(_) => None,
    };
    let mut child = match until {
        Until::After(_) => None,
        Until::Ends(c) | Until::EndsWithin(c, _) => Some(start(c)?),
    };
    loop {
        if let Some(running) = &mut child
            && let Some(status) = running.try_wait().map_err(Error::Trace)?
        {
            return Ok(status.code());
        }
        let left = limit.map(|d| d.saturating_sub(begin.elapsed()));
        if watch.stop() || left == Some(Duration::ZERO) {
            return Ok(child.map(end).unwrap_or_default());
        }
        std::thread::sleep(left.unwrap_or(LOOK).min(LOOK));
    }
}

/// Starts a command that reads nothing.
fn start(command: &[String]) -> Result<Child, Error> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    Command::new(program)
        .args(&command[1..])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|source| Error::Command { command: program.into(), source })
}

/// Ends a command that is still running: asks it, and kills it after a second.
fn end(mut child: Child) -> Option<i32> {
    system::ask_to_end(&child);
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(1) {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => std::thread::sleep(LOOK),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    child.wait().ok().and_then(|s| s.code())
}
