//! `dormouse record`: record sleep cycles of this machine.

use super::{campaign, restore};
use crate::number::number;
use crate::recording::{
    Print, SleepArgs, Terminal, bit, detail, observer, restore_on_panic, what_it_does,
};
use crate::terminal::{print, program};
use anyhow::{Context, Result, ensure};
use clap::Args;
use dormouse_base::failure::Usage;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
use dormouse_capture::schema;
use dormouse_machine::apply::power_async;
use dormouse_machine::campaign::Limits;
use dormouse_machine::options::{Detail, Inside, Options};
use dormouse_machine::recorder::{self, Outcome};
use dormouse_machine::recording::Recording;
use dormouse_machine::root::Root;
use dormouse_machine::watch::{self, Ask, Until};
use dormouse_words::recorded::{self as written, Cost, Failed, Probed, Recorded, Watched};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    /// domains, freeze, sync.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = detail)]
    with: Vec<Detail>,
    /// Also what callbacks wait for: sleeps, contended locks, completions, firmware, buses and
    /// ACPI methods, with who called them. By function probes, whose cost is said.
    /// With `=all` also completions without a limit, for which the kernel asks at every device:
    /// short phases are longer then.
    #[arg(long, value_name = "all", value_parser = inside, num_args = 0..=1, require_equals = true,
        default_missing_value = "waits", conflicts_with = "phases")]
    inside: Option<Inside>,
    /// Only when each phase starts and ends: no devices and no callbacks, at
    /// next to no cost. Compared with a full recording it tells what that one cost.
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
    /// Keep each cycle in this folder, and go on with those that it lacks: a campaign, which
    /// outlives hangs and power cuts.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    campaign: Option<PathBuf>,
    /// Begin no further cycle of a campaign after this long, such as 24h.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "campaign")]
    within: Option<Duration>,
    /// Wait so long between cycles of a campaign, drawn anew each time.
    #[arg(long, value_name = "5s..60s", value_parser = range, requires = "campaign")]
    random: Option<(Duration, Duration)>,
    /// End a campaign after so many failures (exit code 4).
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 100_000), requires = "campaign")]
    stop_after: Option<u32>,
    /// The capture file [default: HOST-KERNEL.tar.gz, which must not exist].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record the machine awake while this command runs: it never sleeps.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = SLEEPS)]
    command: Vec<String>,
}

/// Options that ask for sleep, or say how; none goes with `--for` or a command.
const SLEEPS: [&str; 14] = [
    "campaign",
    "cycles",
    "mode",
    "mem_sleep",
    "pm_test",
    "wake",
    "interval",
    "sync_on_suspend",
    "phases",
    "inside",
    "pm_async",
    "device_async",
    "verbose_console",
    "yes",
];

fn time(text: &str) -> Result<Duration, String> {
    for (unit, seconds) in [("min", 60), ("h", 3_600)] {
        if let Some(n) =
            text.strip_suffix(unit).and_then(|n| n.parse::<u32>().ok()).filter(|n| *n > 0)
        {
            return Ok(Duration::from_secs(u64::from(n) * seconds));
        }
    }
    let none = |_| format!("`{text}` is no time: write a number and h, min, s, ms or us: 90min");
    let ns = dormouse_board::parse_duration(text).map_err(none)?;
    match u64::try_from(ns.0) {
        Ok(ns) if ns > 0 => Ok(Duration::from_nanos(ns)),
        _ => Err("the time must be longer than nothing".into()),
    }
}

fn range(text: &str) -> Result<(Duration, Duration), String> {
    let (low, high) = text.split_once("..").ok_or("use LEAST..MOST, such as 5s..60s")?;
    let (low, high) = (time(low)?, time(high)?);
    if low > high { Err("the first time must be the shorter".into()) } else { Ok((low, high)) }
}

fn inside(text: &str) -> Result<Inside, String> {
    match text {
        "waits" => Ok(Inside::Waits),
        "all" => Ok(Inside::All),
        _ => Err("write --inside, or --inside=all".into()),
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
///
/// # Errors
/// What went wrong, which has a code of [`crate::exit`].
pub fn run(args: RecordArgs) -> Result<()> {
    let root = args.sleep.root();
    if let Some(until) = until(&args)? {
        return watched(&args, &root, until);
    }
    let options = Options {
        detail: args.with,
        phases_only: args.phases,
        inside: args.inside.unwrap_or_default(),
        pm_async: args.pm_async,
        set: args.device_async.iter().map(|(device, on)| power_async(device, *on)).collect(),
        ..args.sleep.options(args.cycles)
    };
    if args.sleep.dry_run || !args.sleep.yes {
        return rehearse(&root, &options, args.sleep.dry_run);
    }
    if !args.sleep.may_write() {
        return Err(needs_root("/sys"));
    }
    if let Some(folder) = &args.campaign {
        let limits = Limits {
            within: args.within,
            stop_after: args.stop_after,
            pause: args.random.map(drawn),
        };
        return campaign::record(&root, &options, limits, folder);
    }
    let path = output(&root, args.output)?;
    restore_on_panic(&root, &options.journal);
    let mut watch = Terminal::new(options.cycles)?;
    let outcome = recorder::record(&root, &options, &mut *observer()?, &mut watch)?;
    watch.bar.finish_and_clear();
    finish(outcome, &path)
}

/// Times between two, drawn anew each time.
fn drawn((low, high): (Duration, Duration)) -> Box<dyn FnMut() -> Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut random = Random::new(now.as_nanos() as u64);
    let span = u64::try_from((high - low).as_millis()).unwrap_or(u64::MAX - 1);
    Box::new(move || low + Duration::from_millis(random.below(span + 1)))
}

fn needs_root(place: &str) -> anyhow::Error {
    let program = program();
    Usage(format!("recording writes to {place}: run it as root (sudo {program} record …)")).into()
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
        set: Vec::new(),
    };
    if args.sleep.dry_run {
        let meanwhile = match &ask.until {
            Until::After(d) => format!("wait {} s", d.as_secs_f64()),
            Until::Ends(command) => format!("run {} to its end", command.join(" ")),
            Until::EndsWithin(command, d) => {
                format!("run {}, for at most {} s", command.join(" "), d.as_secs_f64())
            }
        };
        let mut print = Print::new(meanwhile);
        if let Some(e) = watch::rehearse(root, &ask, &mut print)?.error {
            return Err(e.into());
        }
        print.show(&format!(
            "This would record the machine awake: {} writes, then the instance is removed. \
             Nothing was done.",
            print.writes
        ));
        return Ok(());
    }
    if !args.sleep.may_write() {
        return Err(needs_root("tracefs"));
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
    let cycle = recording.cycles().next().context("nothing was recorded")??;
    let (trace, stats) = (cycle.trace, cycle.stats);
    let watched = stats.watched.unwrap_or_default();
    let losses = losses_of(&recording);
    print(&written::watched(&Watched {
        path: &path.display().to_string(),
        time: Ns(i64::try_from(watched.ns).unwrap_or(i64::MAX)),
        exit: watched.exit,
        lost_events: stats.lost_events.values().sum(),
        losses: &losses,
        idle: args.with.contains(&Detail::Idle),
        cost: cost(&trace, &watched, recording.file.document.machine.topology.len()),
    }))
}

/// What went wrong while recording: kind and advice.
fn losses_of(recording: &Recording) -> Vec<(&str, &str)> {
    let list = &recording.file.document.losses;
    list.iter().map(|l| (l.kind.as_str(), l.advice.as_str())).collect()
}

/// What the recording cost: its events, at what one of them took on this machine
/// just before. `None` if that was not measured.
fn cost(trace: &[u8], watched: &schema::Watched, cpus: usize) -> Option<Cost> {
    let event_ns = watched.event_ns.or(watched.probe_ns)?;
    let probe_ns = watched.probe_ns.unwrap_or(event_ns);
    let lines = trace.split(|b| *b == b'\n').filter(|l| l.first().is_some_and(|b| *b != b'#'));
    let (mut events, mut probes) = (0u64, 0u64);
    for line in lines {
        // Probes of governors are the only events with such names.
        let is_probe = line.windows(7).any(|w| w == b": idle_");
        *(if is_probe { &mut probes } else { &mut events }) += 1;
    }
    let spent = events * event_ns + probes * probe_ns;
    let all = watched.ns.max(1).saturating_mul(cpus.max(1) as u64);
    let share = u128::from(spent) * 10_000 / u128::from(all);
    Some(Cost { share: share as u64, events: (events, event_ns), probes: (probes, probe_ns) })
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
    let meanwhile = match options.really_sleeps() {
        true => "the machine sleeps in the write above, and is awake here",
        false => "the test runs in the write above, and is over here",
    };
    let mut print = Print::new(meanwhile.into());
    let outcome = recorder::rehearse(root, options, &mut print)?;
    if let Some(e) = outcome.error {
        return Err(e.into());
    }
    let what = what_it_does(options, options.cycles);
    print.show(&format!(
        "This would {what}. A first cycle makes {} writes; then {} put back, in reverse order. \
         Nothing was done.",
        print.writes,
        match print.knobs {
            1 => "1 change is".into(),
            n => format!("{n} changes are"),
        }
    ));
    if asked {
        return Ok(());
    }
    Err(Usage(format!("add --yes to {what}")).into())
}

/// Saves what there is, says what was seen, and then what went wrong.
fn finish(outcome: Outcome, path: &Path) -> Result<()> {
    let Outcome { recording, restored, error } = outcome;
    if !recording.is_empty() {
        recording.save(path).with_context(|| format!("cannot write {}", path.display()))?;
        say!("{}", what_was_recorded(&recording, path)?.trim_end());
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

/// What was seen while recording, for a terminal.
fn what_was_recorded(recording: &Recording, path: &Path) -> Result<String> {
    let (mut failed, mut lost, mut still) = (Vec::new(), 0, 0);
    let (mut probed, mut awake) = (None, 0);
    for cycle in recording.cycles() {
        let stats = cycle.context("a recorded cycle cannot be unpacked")?.stats;
        if stats.result != 0 {
            let why = io::Error::from_raw_os_error(-stats.result).to_string();
            let device = stats.suspend_stats_changed.get("last_failed_dev").cloned();
            failed.push((stats.number, why, device));
        }
        lost += stats.lost_events.values().sum::<u64>();
        if let Some(p) = stats.probes {
            let sum = probed.get_or_insert(schema::ProbeCost::default());
            sum.hits += p.hits;
            sum.missed += p.missed;
            sum.each_ns = p.each_ns;
            awake += stats.clocks.monotonic_after - stats.clocks.monotonic_before;
        }
        // Readings are some microseconds apart; a second of sleep is not.
        if stats.clocks.monotonic_stood_still() > 1_000_000 {
            still += 1;
        }
    }
    let failed: Vec<Failed<'_>> = failed
        .iter()
        .map(|(cycle, why, device)| Failed { cycle: *cycle, why, device: device.as_deref() })
        .collect();
    let losses = losses_of(recording);
    Ok(written::recorded(&Recorded {
        path: &path.display().to_string(),
        cycles: recording.len(),
        devices: recording.file.devices.len(),
        links: recording.file.links.len(),
        bytes: std::fs::metadata(path).map_or(0, |m| m.len()),
        failed: &failed,
        lost_events: lost,
        stood_still: still,
        probes: probed.map(|p| Probed {
            hits: p.hits,
            missed: p.missed,
            each: p.each_ns.map(|ns| Ns(i64::try_from(ns).unwrap_or(i64::MAX))),
            awake: Ns(awake),
        }),
        losses: &losses,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_costs_is_its_events_times_what_one_takes() {
        let trace = b"# tracer: nop\n a [000] 1.0: cpu_idle: state=1 cpu_id=0\n a [000] 1.1: idle_sel: (x) idx=1\n";
        let watched = schema::Watched {
            ns: 10_000,
            event_ns: Some(100),
            probe_ns: Some(300),
            ..schema::Watched::default()
        };
        let want = Cost { share: 200, events: (1, 100), probes: (1, 300) };
        assert_eq!(cost(trace, &watched, 2), Some(want));
        assert_eq!(cost(trace, &schema::Watched::default(), 2), None);
    }
}
