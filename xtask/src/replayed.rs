//! Does the gain that a newer kernel is predicted to bring hold? The machine of
//! a log is predicted under the kernel it ran and under newer ones, and those
//! kernels then run the same devices in the laboratory.
//!
//! `replay KERNELS LOG…`: KERNELS is `6.12,7.3`; recordings are kept in
//! target/replay.

use crate::missed::MISSED;
use anyhow::{Context, Result, anyhow, ensure};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_lab::capture::{Wish, capture};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine, usual_cpus};
use dormouse_sleep::evidence;
use dormouse_sleep::simulate::kernel::Kernel as Release;
use dormouse_sleep::simulate::planned::{Key, keys};
use dormouse_sleep::simulate::predict::{Scheduler, outlook};
use dormouse_sleep::simulate::{Profile, Settings};
use dormouse_sleep::tolerance::RIGHT;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The phases in which a machine spends its time.
const PHASES: [Phase; 2] = [Phase::Suspend, Phase::Resume];
/// Devices with a shorter callback are counted, not listed.
const LISTED: Ns = Ns(5_000_000);
const KEPT: &str = "target/replay";

/// When each device's callback starts and how long it takes, by device; the
/// start counts from the first start of them all.
type Times = BTreeMap<Key, (Ns, Ns)>;

/// What a kernel is said to do, and what it did.
struct Column {
    label: String,
    predicted: [Times; 2],
    replayed: [Times; 2],
}

/// Prints all tables; [`MISSED`] if a gain does not hold.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (series, logs) = args.split_first().context("give KERNELS and logs")?;
    let kernels: Vec<Kernel> = series
        .split(',')
        .map(|s| kernels::get(Arch::Amd64, s))
        .collect::<Result<_, _>>()
        .context("kernels")?;
    ensure!(!logs.is_empty(), "give at least one log");
    let mut gains = (0, 0);
    for log in logs {
        let (held, all) = one(Path::new(log), &kernels).with_context(|| log.clone())?;
        gains = (gains.0 + held, gains.1 + all);
    }
    println!(
        "\nGains that hold within {} % of the phase or {} ms: {} of {}.",
        RIGHT.percent,
        RIGHT.floor.0 / 1_000_000,
        gains.0,
        gains.1
    );
    let met = gains.0 == gains.1;
    println!("{}", if met { "PASS" } else { "MISSED" });
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

fn one(log: &Path, kernels: &[Kernel]) -> Result<(usize, usize)> {
    let name = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let original = crate::accuracy::recorded::capture(&log.display().to_string())?;
    let cycle = middle(&original).context("no cycle")?.clone();
    let cycles = original.cycles.len();
    let original = Capture { cycles: vec![cycle], ..original };
    let cycle = &original.cycles[0];
    let machine = evidence::machine(&original, None).map_err(|e| anyhow!(e))?;
    let board = &machine.derived.board;
    println!(
        "\n== {name}, recorded on {}: {} devices, the middle one of {cycles} cycles",
        machine.release,
        board.devices.len()
    );
    let recorded = PHASES.map(|p| seen(&original, cycle, p));
    let by = machine.scheduler;
    let now = [told(board, by, PHASES[0])?, told(board, by, PHASES[1])?];
    let mut columns = Vec::new();
    for kernel in kernels {
        let release = Release::parse(&kernel.release).context("no kernel")?;
        let by = Scheduler { policy: release.policy(), kernel: Some(release) };
        let replayed = replay(&name, board, kernel)?;
        // Its first cycle is that of a kernel which has never slept.
        let warm = replayed.cycles.last().context("the replay has no cycle")?;
        columns.push(Column {
            label: kernel.series.clone(),
            predicted: [told(board, by, PHASES[0])?, told(board, by, PHASES[1])?],
            replayed: PHASES.map(|p| seen(&replayed, warm, p)),
        });
    }
    let mut gains = (0, 0);
    for (at, phase) in PHASES.into_iter().enumerate() {
        let (held, all) = table(phase, &recorded[at], &now[at], &columns, at);
        gains = (gains.0 + held, gains.1 + all);
        devices(phase, &recorded[at], &columns, at);
    }
    Ok(gains)
}

/// The cycle whose phases together take the median time: each prediction and each
/// replay is of one cycle's times.
fn middle(capture: &Capture) -> Option<&Cycle> {
    let mut all: Vec<&Cycle> = capture.cycles.iter().collect();
    all.sort_by_key(|c| PHASES.map(|p| span(&seen(capture, c, p))).into_iter().sum::<Ns>());
    all.get(all.len().saturating_sub(1) / 2).copied()
}

/// Phase by phase: predicted and replayed, and whether the gain holds.
fn table(
    phase: Phase,
    recorded: &Times,
    now: &Times,
    columns: &[Column],
    at: usize,
) -> (usize, usize) {
    let was = span(recorded);
    println!(
        "\n{} from first start to last end, ms: recorded {}, simulated as recorded {}",
        phase.title(),
        ms(was),
        ms(span(now))
    );
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>12}",
        "kernel", "predicted", "replayed", "gain claimed", "gain replayed"
    );
    let mut held = 0;
    for c in columns {
        let (predicted, replayed) = (span(&c.predicted[at]), span(&c.replayed[at]));
        // What is claimed is a difference of two simulations; what is true, of
        // the recording and the kernel.
        let (claimed, true_gain) = (span(now) - predicted, was - replayed);
        let near = Ns(was.0 * RIGHT.percent / 100).max(RIGHT.floor);
        let holds = Ns((claimed - true_gain).0.abs()) <= near;
        held += usize::from(holds);
        println!(
            "{:>8} {:>10} {:>10} {:>12} {:>12}  {}",
            c.label,
            ms(predicted),
            ms(replayed),
            ms(claimed),
            ms(true_gain),
            if holds { "holds" } else { "DOES NOT HOLD" }
        );
    }
    (held, columns.len())
}

/// Device by device: when each starts.
fn devices(phase: Phase, recorded: &Times, columns: &[Column], at: usize) {
    print!("\n{:34} {:>9} {:>9}", format!("{}, start in ms", phase.title()), "takes", "recorded");
    for c in columns {
        print!(" {:>9} {:>9}", format!("{} said", c.label), format!("{} did", c.label));
    }
    println!();
    let start = |t: &Times, key: &Key| t.get(key).map_or("-".to_owned(), |x| ms(x.0));
    let mut order: Vec<&Key> = recorded.keys().collect();
    order.sort_by_key(|k| recorded[*k].0);
    for key in order.into_iter().filter(|k| recorded[*k].1 >= LISTED) {
        let label: String = key.1.chars().take(34).collect();
        print!("{label:34} {:>9} {:>9}", ms(recorded[key].1), ms(recorded[key].0));
        for c in columns {
            print!(" {:>9} {:>9}", start(&c.predicted[at], key), start(&c.replayed[at], key));
        }
        println!();
    }
    for c in columns {
        let both: Vec<(&Key, Ns)> = c.predicted[at]
            .iter()
            .filter_map(|(k, p)| Some((k, p.0 - c.replayed[at].get(k)?.0)))
            .collect();
        let near = both.iter().filter(|(_, apart)| apart.0.abs() <= RIGHT.floor.0).count();
        let worst = both.iter().max_by_key(|(_, apart)| apart.0.abs());
        println!(
            "{}: {near} of {} devices start within 1 ms of what was predicted{}",
            c.label,
            both.len(),
            worst.map_or(String::new(), |(k, apart)| format!(
                "; farthest is {}, {} ms",
                k.1,
                ms(*apart)
            ))
        );
    }
}

/// The devices of `board` as `kernel` runs them.
fn replay(name: &str, board: &Board, kernel: &Kernel) -> Result<Capture> {
    let mut hash = DefaultHasher::new();
    dormouse_board::print(board, "").hash(&mut hash);
    let file = format!("{name}-on-{}-{:016x}.tar.gz", kernel.release, hash.finish());
    let path = PathBuf::from(KEPT).join(file);
    if !path.is_file() {
        let cpus = usual_cpus(Accel::Icount, kernel, Some(board));
        let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
        let wish = Wish {
            board: Some(board),
            waits: &[],
            sleep: Sleep::Platform,
            pm_async: board.pm_async,
            cycles: 2,
            detail: Vec::new(),
            samples: 1,
            limit: Duration::from_secs(900),
        };
        let recording = capture(kernel, &machine, &wish)?;
        std::fs::create_dir_all(KEPT).with_context(|| KEPT.to_owned())?;
        recording.save(&path).with_context(|| path.display().to_string())?;
    }
    crate::accuracy::recorded::capture(&path.display().to_string())
}

/// What is predicted of `phase`.
fn told(board: &Board, by: Scheduler, phase: Phase) -> Result<Times> {
    let mut settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    settings.complete(board.cpus, by.kernel.as_ref());
    let o = outlook(board, by, &settings)?;
    Ok(times(&keys(&board.names, &board.graph), &o.run.cycle, phase))
}

/// What was recorded of `phase`, without a guest's own devices.
fn seen(capture: &Capture, cycle: &Cycle, phase: Phase) -> Times {
    times(&keys(&capture.names, &capture.graph), cycle, phase)
}

fn times(keys: &[Key], cycle: &Cycle, phase: Phase) -> Times {
    let own = || cycle.callbacks.iter().filter(|c| c.phase == phase && !keys[c.device.index()].0);
    let first = own().map(|c| c.start).min().unwrap_or_default();
    own().map(|c| (keys[c.device.index()].clone(), (c.start - first, c.duration()))).collect()
}

fn span(times: &Times) -> Ns {
    times.values().map(|(start, took)| *start + *took).max().unwrap_or_default()
}

fn ms(t: Ns) -> String {
    format!("{:.2}", t.0 as f64 / 1e6)
}
