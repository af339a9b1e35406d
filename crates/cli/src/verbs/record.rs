//! `dormouse record`: record sleep cycles of this machine.

use super::restore;
use crate::number::number;
use crate::recording::{
    Print, SleepArgs, Terminal, bit, detail, observer, restore_on_panic, what_it_does,
};
use anyhow::{Context, Result, ensure};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_record::options::{Detail, Options};
use dormouse_record::recorder::{self, Outcome};
use dormouse_record::root::Root;
use dormouse_record::watch::{self, Ask, Until};
use dormouse_write::wording::next::{next, word};
use dormouse_write::wording::plural;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Let this machine sleep and record it (needs root and --yes).
///
/// What happens goes into one capture file (docs/capture-format.md). Every setting that it changes is put back
/// at the end, on errors and on Ctrl-C; after `kill -9`, `dormouse restore`
/// does it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse record --yes -o recording.tar.gz\n  dormouse record --yes --pm-test devices --cycles 5 -o recording.tar.gz"
)]
pub struct RecordArgs {
    /// How many cycles. Ctrl-C ends after the current one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 100_000))]
    cycles: u32,
    #[command(flatten)]
    sleep: SleepArgs,
    /// More events, separated by commas: sched, workqueue, rpm, idle, storage,
    /// freeze, sync.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = detail)]
    with: Vec<Detail>,
    /// Only when each phase begins and ends: no devices and callbacks, and next
    /// to no cost. Compared with a full recording it tells what that one cost.
    #[arg(long)]
    phases: bool,
    /// Set /sys/power/pm_async while recording.
    #[arg(long, value_name = "0|1", value_parser = bit)]
    pm_async: Option<bool>,
    /// Set power/async of a device while recording; may be repeated.
    #[arg(long, value_name = "/sys/devices/…=0|1", value_parser = device_async)]
    device_async: Vec<(String, bool)>,
    /// Record the machine awake for this long, such as 10s: it never sleeps.
    #[arg(long = "for", value_name = "TIME", value_parser = time, conflicts_with_all = SLEEPS)]
    span: Option<Duration>,
    /// The capture file [default: HOST-KERNEL.tar.gz, which must not exist].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record the machine awake while this command runs: it never sleeps.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = SLEEPS)]
    command: Vec<String>,
}

/// Options that ask for sleep, or say how; none goes with `--for` or a command.
const SLEEPS: [&str; 12] = [
    "cycles",
    "mode",
    "mem_sleep",
    "pm_test",
    "wake",
    "interval",
    "sync_on_suspend",
    "phases",
    "pm_async",
    "device_async",
    "verbose_console",
    "yes",
];

fn time(text: &str) -> Result<Duration, String> {
    let ns = dormouse_board::parse_duration(text)?;
    match u64::try_from(ns.0) {
        Ok(ns) if ns > 0 => Ok(Duration::from_nanos(ns)),
        _ => Err("the time must be longer than nothing".into()),
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
    let root = args.sleep.root();
    if let Some(until) = until(&args)? {
        return watched(&args, &root, until);
    }
    let options = Options {
        detail: args.with,
        phases_only: args.phases,
        pm_async: args.pm_async,
        device_async: args.device_async,
        ..args.sleep.options(args.cycles)
    };
    if args.sleep.dry_run || !args.sleep.yes {
        return rehearse(&root, &options, args.sleep.dry_run);
    }
    if !args.sleep.may_write() {
        let advice = "recording writes to /sys: run it as root (sudo dormouse record …)";
        return Err(Usage(advice.into()).into());
    }
    let path = output(&root, args.output)?;
    restore_on_panic(&root, &options.journal);
    let mut watch = Terminal::new(options.cycles)?;
    let outcome = recorder::record(&root, &options, &mut *observer()?, &mut watch)?;
    watch.bar.finish_and_clear();
    finish(outcome, &path)
}

/// When a recording without sleep ends; `None` if the machine is to sleep.
fn until(args: &RecordArgs) -> Result<Option<Until>> {
    let command = || args.command.clone();
    let until = match (args.span, args.command.is_empty()) {
        (None, true) => return Ok(None),
        (Some(d), true) => Until::After(d),
        (None, false) => Until::Ends(command()),
        (Some(d), false) => Until::EndsWithin(command(), d),
    };
    if args.with.is_empty() {
        return Err(Usage("say what to record awake: --with idle, storage, rpm, …".into()).into());
    }
    Ok(Some(until))
}

/// Records the machine awake.
fn watched(args: &RecordArgs, root: &Root, until: Until) -> Result<()> {
    let ask = Ask {
        with: args.with.clone(),
        until,
        buffer_kib: args.sleep.buffer(),
        journal: args.sleep.journal().into(),
    };
    if args.sleep.dry_run {
        let mut print = Print::default();
        if let Some(e) = watch::rehearse(root, &ask, &mut print)?.error {
            return Err(e.into());
        }
        say!("# {} writes, then the instance is removed. Nothing was done.", print.writes);
        return Ok(());
    }
    if !args.sleep.may_write() {
        let advice = "recording writes to tracefs: run it as root (sudo dormouse record …)";
        return Err(Usage(advice.into()).into());
    }
    let path = output(root, args.output.clone())?;
    restore_on_panic(root, &ask.journal);
    let mut terminal = Terminal::new(1)?;
    let Outcome { recording, restored, error } =
        watch::record(root, &ask, &mut *observer()?, &mut terminal)?;
    terminal.bar.finish_and_clear();
    restore::complain(&restored)?;
    if let Some(e) = error {
        return Err(e).context("nothing was recorded; every setting was put back");
    }
    recording.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let stats = recording.cycles().next().context("nothing was recorded")??.stats;
    let watched = stats.watched.unwrap_or_default();
    say!("Wrote {}: {:.1} s, the machine stayed awake.", path.display(), watched.ns as f64 / 1e9);
    match watched.exit {
        Some(0) | None => {}
        Some(code) => say!("The command ended with exit code {code}."),
    }
    let lost: u64 = stats.lost_events.values().sum();
    if lost > 0 {
        say!("{}", lost_events(lost));
    }
    for loss in &recording.file.document.losses {
        say!("{}: {}", loss.kind, loss.advice);
    }
    Ok(())
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

fn rehearse(root: &Root, options: &Options, asked: bool) -> Result<()> {
    let mut print = Print::default();
    let outcome = recorder::rehearse(root, options, &mut print)?;
    if let Some(e) = outcome.error {
        return Err(e.into());
    }
    say!(
        "# {} writes a first cycle; then {} put back, in reverse order.\n# Nothing was done.",
        print.writes,
        match print.knobs {
            1 => "1 change is".into(),
            n => format!("{n} changes are"),
        }
    );
    if asked {
        return Ok(());
    }
    let what = what_it_does(options, options.cycles);
    Err(Usage(format!("the above would {what}: add --yes to do it")).into())
}

/// Saves what there is, says what was seen, and then what went wrong.
fn finish(outcome: Outcome, path: &Path) -> Result<()> {
    let Outcome { recording, restored, error } = outcome;
    if !recording.is_empty() {
        recording.save(path).with_context(|| format!("cannot write {}", path.display()))?;
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        say!(
            "Wrote {}: {}, {}, {}, {} KB.",
            path.display(),
            plural(recording.len(), "cycle"),
            plural(recording.file.devices.len(), "device"),
            plural(recording.file.links.len(), "link"),
            size.div_ceil(1_024)
        );
        say_what_was_seen(&recording)?;
        say!("{}", next(&format!("show {}", word(&path.display().to_string()))));
    }
    let complaint = restore::complain(&restored);
    match error {
        Some(e) if complaint.is_ok() => {
            Err(e).context("the recording ended early; every setting was put back")
        }
        Some(e) => complaint.context(e.to_string()),
        None => {
            complaint?;
            ensure!(!recording.is_empty(), "stopped before the first cycle: nothing was recorded");
            Ok(())
        }
    }
}

fn lost_events(n: u64) -> String {
    let were = if n == 1 { "1 trace event was".into() } else { format!("{n} trace events were") };
    format!("{were} lost: record again with a larger --buffer.")
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
        say!("{}", lost_events(lost));
    }
    say!(
        "CLOCK_MONOTONIC stood still in {still} of {} (the trace uses the boot clock).",
        plural(recording.len(), "cycle")
    );
    for loss in &recording.file.document.losses {
        say!("{}: {}", loss.kind, loss.advice);
    }
    Ok(())
}
