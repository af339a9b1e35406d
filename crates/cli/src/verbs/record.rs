//! `dormouse record`: record sleep cycles of this machine.

use super::restore;
use crate::exit::Usage;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use dormouse_record::guard::{self, NoObserver, Observer, Step};
use dormouse_record::journal::{self, Entry};
use dormouse_record::options::{Detail, Options, State, Wake};
use dormouse_record::process::{CrashAt, is_root, stop_on_signal};
use dormouse_record::recorder::{self, Outcome, Progress, Watch};
use dormouse_record::root::Root;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Let this machine sleep and record what happens, into one capture file
/// (docs/capture-format.md). Needs root. Every knob that it changes is put back
/// at the end, on errors and on Ctrl-C; after `kill -9`, `dormouse restore`
/// does it.
#[derive(Args)]
pub struct RecordArgs {
    /// How many cycles. Ctrl-C ends after the current one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cycles: u32,
    /// Sleep state: what is written to /sys/power/state.
    #[arg(long, value_enum, default_value_t = Mode::Mem)]
    mode: Mode,
    /// What `mem` means: deep or s2idle [default: as the machine has it].
    #[arg(long, value_name = "NAME")]
    mem_sleep: Option<String>,
    /// Come back by itself at this point instead of sleeping: freezer, devices,
    /// platform, processors or core.
    #[arg(long, value_name = "LEVEL")]
    pm_test: Option<String>,
    /// What wakes the machine: rtc, rtc:SECONDS, external (a key, a lid, …), or
    /// external:DEVICE to enable that device of /sys/devices for it.
    #[arg(long, value_name = "SOURCE", default_value = "rtc:15", value_parser = wake)]
    wake: Wake,
    /// Seconds between cycles [default: 5, with --pm-test 1].
    #[arg(long, value_name = "S")]
    interval: Option<u64>,
    /// More events, separated by commas: sched, workqueue, rpm, cpu_idle,
    /// block.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = detail)]
    detail: Vec<Detail>,
    /// Set /sys/power/pm_async while recording.
    #[arg(long, value_name = "0|1", value_parser = bit)]
    pm_async: Option<bool>,
    /// Set power/async of a device while recording; may be repeated.
    #[arg(long, value_name = "/sys/devices/…=0|1", value_parser = device_async)]
    device_async: Vec<(String, bool)>,
    /// Set /sys/power/sync_on_suspend while recording.
    #[arg(long, value_name = "0|1", value_parser = bit)]
    sync: Option<bool>,
    /// Leave the console's log level alone. A slow console costs milliseconds
    /// a line, but shows where a machine hangs.
    #[arg(long)]
    verbose_console: bool,
    /// Trace buffer of each CPU in KiB [default: enough for the devices].
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(64..=4_194_304))]
    buffer: Option<u64>,
    /// The capture file [default: HOST-KERNEL.tar.gz, which must not exist].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Really do it. Without, only say what would be done.
    #[arg(long)]
    yes: bool,
    /// Print every write that would be made, and make none.
    #[arg(long)]
    dry_run: bool,
    /// Folder of the journal of changed knobs; keep it off disks that sleep.
    #[arg(long, value_name = "DIR", default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// What mem_sleep says: suspend-to-RAM or suspend-to-idle.
    Mem,
    /// Suspend-to-idle.
    Freeze,
    /// Standby.
    Standby,
}

fn wake(text: &str) -> Result<Wake, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match (kind, rest) {
        ("rtc", "") => Ok(Wake::Rtc { seconds: 15 }),
        ("rtc", s) => match s.parse() {
            Ok(seconds) if (2..=86_400).contains(&seconds) => Ok(Wake::Rtc { seconds }),
            _ => Err("seconds must be a number from 2 to 86400".into()),
        },
        ("external", "") => Ok(Wake::External { enable: Vec::new() }),
        ("external", d) if d.starts_with("/sys/devices/") => {
            Ok(Wake::External { enable: vec![d.into()] })
        }
        ("external", _) => Err("the device must be given as /sys/devices/…".into()),
        _ => Err("use rtc, rtc:SECONDS, external or external:/sys/devices/…".into()),
    }
}

fn detail(text: &str) -> Result<Detail, String> {
    let all = Detail::ALL.map(Detail::name).join(", ");
    Detail::find(text).ok_or_else(|| format!("use one or more of: {all}"))
}

fn bit(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("use 0 or 1".into()),
    }
}

fn device_async(text: &str) -> Result<(String, bool), String> {
    let (device, value) = text.rsplit_once('=').ok_or("use /sys/devices/…=0 or =1")?;
    if !device.starts_with("/sys/devices/") || device.contains("/../") {
        return Err("the device must be given as /sys/devices/…".into());
    }
    Ok((device.trim_end_matches('/').into(), bit(value)?))
}

/// Runs the verb.
pub fn run(args: RecordArgs) -> Result<()> {
    let root = Root::below(&args.root);
    let options = options(&args);
    if args.dry_run || !args.yes {
        return rehearse(&root, &options, args.dry_run);
    }
    if args.root == Path::new("/") && !is_root() {
        let advice = "recording writes to /sys: run it as root (sudo dormouse record …)";
        return Err(Usage(advice.into()).into());
    }
    let path = output(&root, args.output.clone())?;
    restore_on_panic(&root, &options.journal);
    let mut watch = Terminal::new(options.cycles)?;
    let mut none = NoObserver;
    let mut crash;
    let observer: &mut dyn Observer = match crash_at()? {
        Some(at) => {
            crash = CrashAt::new(at);
            &mut crash
        }
        None => &mut none,
    };
    let outcome = recorder::record(&root, &options, observer, &mut watch)?;
    watch.bar.finish_and_clear();
    finish(outcome, &path)
}

fn options(args: &RecordArgs) -> Options {
    let interval = args.interval.unwrap_or(if args.pm_test.is_some() { 1 } else { 5 });
    Options {
        cycles: args.cycles,
        state: match args.mode {
            Mode::Mem => State::Mem,
            Mode::Freeze => State::Freeze,
            Mode::Standby => State::Standby,
        },
        mem_sleep: args.mem_sleep.clone(),
        pm_test: args.pm_test.clone(),
        wake: args.wake.clone(),
        interval: Duration::from_secs(interval),
        detail: args.detail.clone(),
        pm_async: args.pm_async,
        device_async: args.device_async.clone(),
        sync: args.sync,
        console_level: (!args.verbose_console).then_some(3),
        buffer_kib: args.buffer,
        journal: args.journal.clone(),
        ..Options::default()
    }
}

/// Test aid: DORMOUSE_CRASH_AT=N kills the recorder with SIGKILL before its
/// step N, see `tests/` of the recorder.
fn crash_at() -> Result<Option<u64>> {
    match std::env::var("DORMOUSE_CRASH_AT") {
        Ok(n) => Ok(Some(n.parse().context("DORMOUSE_CRASH_AT must be a number")?)),
        Err(_) => Ok(None),
    }
}

/// A panic aborts the release build, so nothing is dropped.
fn restore_on_panic(root: &Root, folder: &str) {
    let (root, folder) = (root.clone(), folder.to_string());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        if let Ok(r) = guard::restore_own(&root, &folder) {
            eprintln!("dormouse: {} knobs were put back", r.done.len());
        }
    }));
}

/// Where the capture goes; checked before anything is done, because a
/// recording that cannot be saved is lost.
fn output(root: &Root, given: Option<PathBuf>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path,
        None => {
            let text = |p: &str| root.read(p).unwrap_or_else(|| "unknown".into());
            let name = format!(
                "{}-{}.tar.gz",
                text("/proc/sys/kernel/hostname"),
                text("/proc/sys/kernel/osrelease")
            );
            let path = PathBuf::from(name.replace(['/', '\0'], "_"));
            ensure!(!path.exists(), "{} exists: choose another file with -o", path.display());
            path
        }
    };
    ensure!(!path.is_dir(), "{} is a folder: give the name of a file", path.display());
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let probe = folder.join(format!(".dormouse.{}.part", std::process::id()));
    std::fs::write(&probe, "")
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
    Ok(path)
}

/// Prints steps as the shell commands that would do the same.
struct Print {
    was: Option<String>,
    knobs: usize,
    writes: usize,
}

impl Observer for Print {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Announce(Entry::Write { old, .. }) => {
                self.was = Some(old.clone());
                self.knobs += 1;
            }
            Step::Announce(Entry::MakeDir { .. }) => self.knobs += 1,
            Step::Write { path, value } => {
                self.writes += 1;
                let was = match self.was.take() {
                    Some(old) => format!("   # was {old:?}"),
                    None => String::new(),
                };
                say!("echo '{value}' > '{path}'{was}");
            }
            Step::MakeDir(path) => say!("mkdir '{path}'"),
            Step::RemoveDir(path) => say!("rmdir '{path}'"),
            Step::OpenJournal | Step::CloseJournal => {}
        }
        Ok(())
    }
}

fn rehearse(root: &Root, options: &Options, asked: bool) -> Result<()> {
    let mut print = Print { was: None, knobs: 0, writes: 0 };
    let outcome = recorder::rehearse(root, options, &mut print)?;
    if let Some(e) = outcome.error {
        return Err(e.into());
    }
    say!(
        "# {} writes a first cycle; then {} changes are put back, in reverse order. Nothing was done.",
        print.writes,
        print.knobs
    );
    if asked {
        return Ok(());
    }
    let what =
        if options.really_sleeps() { "put this machine to sleep" } else { "test suspending" };
    let times =
        if options.cycles == 1 { "once".into() } else { format!("{} times", options.cycles) };
    Err(Usage(format!("the above would {what} {times}: add --yes to do it")).into())
}

/// A bar on a terminal, silence in a pipe.
struct Terminal {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Terminal {
    fn new(cycles: u32) -> Result<Terminal> {
        let bar = if io::stderr().is_terminal() {
            ProgressBar::new(u64::from(cycles)).with_style(
                ProgressStyle::with_template("{bar:24} {pos}/{len} cycles  {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        } else {
            ProgressBar::hidden()
        };
        Ok(Terminal { bar, stop: stop_on_signal().context("cannot watch for Ctrl-C")? })
    }
}

impl Watch for Terminal {
    fn progress(&mut self, progress: Progress) {
        match progress {
            Progress::Ready { devices, links } => {
                self.bar.set_message(format!("{devices} devices, {links} links"));
                self.bar.tick();
            }
            Progress::Begin(n) => self.bar.set_message(format!("cycle {n}: going to sleep")),
            Progress::End { cycle, result, lost } => {
                self.bar.inc(1);
                self.bar.set_message(match (result, lost) {
                    (0, 0) => format!("cycle {cycle} recorded"),
                    (0, lost) => format!("cycle {cycle} recorded, {lost} events lost"),
                    (e, _) => {
                        format!("cycle {cycle} failed ({})", io::Error::from_raw_os_error(-e))
                    }
                });
            }
            Progress::Pause(d) => self.bar.set_message(format!("pause of {} s", d.as_secs())),
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Saves what there is, says what was seen, and then what went wrong.
fn finish(outcome: Outcome, path: &Path) -> Result<()> {
    let Outcome { recording, restored, error } = outcome;
    if !recording.is_empty() {
        recording.save(path).with_context(|| format!("cannot write {}", path.display()))?;
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        say!(
            "{}: {} cycles, {} devices, {} links, {} KB",
            path.display(),
            recording.len(),
            recording.file.devices.len(),
            recording.file.links.len(),
            size.div_ceil(1_024)
        );
        say_what_was_seen(&recording)?;
    }
    let complaint = restore::complain(&restored);
    match error {
        Some(e) if complaint.is_ok() => {
            Err(e).context("the recording ended early; every knob was put back")
        }
        Some(e) => complaint.context(e.to_string()),
        None => {
            complaint?;
            ensure!(!recording.is_empty(), "stopped before the first cycle: nothing was recorded");
            Ok(())
        }
    }
}

fn say_what_was_seen(recording: &dormouse_record::recording::Recording) -> Result<()> {
    let (mut failed, mut lost, mut still) = (Vec::new(), 0, 0);
    for cycle in recording.cycles() {
        let stats = cycle.context("a recorded cycle cannot be unpacked")?.stats;
        if stats.result != 0 {
            let why = io::Error::from_raw_os_error(-stats.result);
            let device = stats.suspend_stats_changed.get("last_failed_dev");
            let device = device.map_or(String::new(), |d| format!(", device {d}"));
            failed.push(format!("cycle {} failed: {why}{device}", stats.number));
        }
        lost += stats.lost_events.values().sum::<u64>();
        // Readings are some microseconds apart; a second of sleep is not.
        if stats.clocks.monotonic_stood_still() > 1_000_000 {
            still += 1;
        }
    }
    for line in failed {
        say!("{line}");
    }
    if lost > 0 {
        say!("{lost} trace events were lost: record again with a larger --buffer");
    }
    say!(
        "CLOCK_MONOTONIC stood still in {still} of {} cycles (the trace uses the boot clock)",
        recording.len()
    );
    for loss in &recording.file.document.losses {
        say!("{}: {}", loss.kind, loss.advice);
    }
    Ok(())
}
