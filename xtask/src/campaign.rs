//! Campaigns whose machine loses its power: QEMU is killed at a random moment, again and again,
//! and the next guest goes on with the same disk and the same memory. No cycle that had ended
//! may be lost, and the one that was cut is named with its place, its phase and its device.
//!
//! What is true stands on the console of the killed guest, which no disk holds. The kernel's last
//! words are kept by ramoops, in memory that is a file of the host, so that it outlives QEMU as
//! memory outlives a reset.

mod console;
mod told;

use crate::archive::{self, read};
use crate::disks::{self, Image};
use anyhow::{Context, Result, bail, ensure};
use console::{Console, Mark, Point};
use dormouse_base::say::tail;
use dormouse_base::stats::random::Random;
use dormouse_lab::kernels::Kernel;
use dormouse_lab::kernels::build::{self, Config, Order};
use dormouse_lab::kmod;
use dormouse_lab::qemu::{Accel, Arch, Attend, Machine, Output, boot};
use dormouse_read::Options;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use told::{Place, Told, Verdict};

/// Wall time after which a guest is given up.
const LIMIT: Duration = Duration::from_secs(1_200);
/// From which word of the console on the power fails, and at most so many ms later: anywhere in
/// the first cycles, and around a sleep, which is the shortest part of a cycle.
const MOMENTS: [(&str, u64); 2] = [("] CAMPAIGN", 10_000), ("] LIST {\"what\":\"asleep\"", 1_000)];

/// What a small kernel lacks for last words, of which Debian's have no console, and for the
/// devices of kernel/trouble; and what costs a build minutes and no guest needs here.
const OPTIONS: [&str; 9] = [
    "CONFIG_MISC_FILESYSTEMS=y",
    "CONFIG_PSTORE=y",
    "CONFIG_PSTORE_CONSOLE=y",
    "CONFIG_PSTORE_RAM=y",
    "CONFIG_I2C=y",
    "CONFIG_DEBUG_INFO_NONE=y",
    "CONFIG_BPF_SYSCALL=n",
    "CONFIG_NET=n",
    "CONFIG_HIBERNATION=n",
];
const MEMORY_MB: u32 = 512;
/// Ramoops has the middle of the memory: a kernel and its archive lie at the ends. All levels go
/// to the console, with times.
const WORDS: &str = "loglevel=8 printk.time=1 printk.devkmsg=on oops=panic memmap=1M$256M \
    ramoops.mem_address=0x10000000 ramoops.mem_size=0x100000 ramoops.console_size=0x80000 \
    ramoops.record_size=0x20000";

/// What the table calls them.
const PLACES: [(Place, &str); 4] = [
    (Place::Whole, "between two cycles"),
    (Place::Before, "before the write that sleeps"),
    (Place::Asleep, "in it"),
    (Place::After, "after it"),
];

/// `campaign PROGRAMS SERIES KILLS [SEED]`: PROGRAMS is the folder with the static
/// `dormouse-record` and the examples. False if a finished cycle was lost, or a cut one was not named right.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let (programs, series, kills, seed) = match args {
        [programs, series, kills] => (programs, series, kills, "1"),
        [programs, series, kills, seed] => (programs, series, kills, seed.as_str()),
        _ => bail!("use: campaign PROGRAMS SERIES KILLS [SEED]"),
    };
    let kills: u32 = kills.parse().context("KILLS is a number")?;
    let seed: u64 = seed.parse().context("SEED is a number")?;
    ensure!((1..=700).contains(&kills), "KILLS is a number from 1 to 700");
    let bench = Bench::open(programs.into(), series)?;
    println!(
        "{}, small, with ramoops: QEMU killed {kills} times, half of them at most {} s after the campaign went on, half at most {} s after it began to sleep; seed {seed}",
        bench.kernel.release,
        MOMENTS[0].1 / 1_000,
        MOMENTS[1].1 / 1_000
    );
    let killed = bench.kill(kills, seed)?;
    let disk = Disk::read(&bench.disk())?;
    Ok(show(&killed, &disk))
}

struct Bench {
    kernel: Kernel,
    trouble: Vec<u8>,
    programs: PathBuf,
    /// A file system, which the killed guests write.
    image: Image,
    /// The guests' memory.
    memory: tempfile::TempDir,
}

/// A kill, and what the next start made of it.
struct Killed {
    verdict: Verdict,
    /// Mode of sleep.
    mode: &'static str,
    /// Cycles that had ended: by the console of this guest, and the one before it went on.
    ended: Vec<u32>,
}

impl Bench {
    fn open(programs: PathBuf, series: &str) -> Result<Bench> {
        let options = OPTIONS.map(String::from);
        let order = Order {
            name: &format!("campaign-{series}"),
            source: series,
            config: Config::Small,
            options: &options,
            patches: &[],
            jobs: 2,
        };
        let kernel = build::build(&order, |what| eprintln!("{what}"))?.kernel;
        let trouble = read(&kmod::trouble(&kernel)?)?;
        let image = Image::make(512, &["-N", "16384"])?;
        let memory = tempfile::tempdir().context("a folder for memory")?;
        Ok(Bench { kernel, trouble, programs, image, memory })
    }

    fn disk(&self) -> PathBuf {
        self.image.path()
    }

    /// Kills so often; the last guest comes to its end.
    fn kill(&self, kills: u32, seed: u64) -> Result<Vec<Killed>> {
        let mut random = Random::new(seed);
        let mut out: Vec<Killed> = Vec::new();
        let mut before: Option<(Console, Killed)> = None;
        for n in 0..=kills {
            let mode = ["s2idle", "deep"][usize::from(random.below(2) == 1)];
            let (word, within) = MOMENTS[(n % 2) as usize];
            let later = Duration::from_millis(random.below(within));
            let output = self.boot(n, mode, (n < kills).then_some((word, later)))?;
            let context = || format!("guest {n} ({mode}): {}", tail(&output.console, 30));
            ensure!(!output.console.contains("] NOT: "), "{}", context());
            let sent = String::from_utf8_lossy(&output.results);
            let told = Told::of(&sent).with_context(context)?;
            if let Some((console, mut killed)) = before.take() {
                killed.verdict = told.judge(&console);
                for fault in &killed.verdict.faults {
                    println!("kill {n} ({}): {fault}", killed.mode);
                }
                out.push(killed);
            }
            let whole = told.recorded().with_context(context)?;
            if n == kills {
                ensure!(output.console.lines().any(|l| l.trim() == "PASSED"), "{}", context());
                break;
            }
            let console = Console::of(&output.console, whole)
                .with_context(|| format!("no campaign went on in {}", context()))?;
            let ended = [vec![whole], console.ended.clone()].concat();
            before = Some((console, Killed { verdict: Verdict::default(), mode, ended }));
        }
        Ok(out)
    }

    fn boot(&self, n: u32, mode: &str, cut: Option<(&str, Duration)>) -> Result<Output> {
        let mut archive = archive::of(&self.programs, "dormouse-record", "campaign_guest")?;
        archive.file("/trouble.ko", 0o644, &self.trouble);
        let rest = if cut.is_some() { "killed" } else { "last" };
        archive.file("/mode", 0o644, format!("{mode} {rest}").as_bytes());
        let memory = format!(
            "memory-backend-file,id=ram,size={MEMORY_MB}M,mem-path={},share=on",
            self.memory.path().join("memory").display()
        );
        // Each guest begins an hour after the last: a clock does not go back over a reset.
        let begin = format!("base=2026-01-{:02}T{:02}:00:00,clock=vm", n / 24 + 1, n % 24);
        let hardware = ["-object", &memory, "-machine", "memory-backend=ram", "-rtc", &begin];
        let machine = Machine {
            words: WORDS.into(),
            memory_mb: MEMORY_MB,
            hardware: hardware.map(String::from).to_vec(),
            ..Machine::new(Arch::Amd64, Accel::Icount, 1, &self.kernel.release)
        };
        // What the guest flushes need not reach this machine's disk.
        let drive = format!("file={},format=raw,cache=unsafe", self.disk().display());
        let attend = Attend { wake: true, cut, disk_mb: None, drives: &[drive], limit: LIMIT };
        Ok(boot(&machine, &self.kernel.image, &archive.finish(), attend)?)
    }
}

/// What the disk holds in the end.
struct Disk {
    /// Cycles whose files can be read and hold one cycle with callbacks.
    whole: BTreeSet<u32>,
    /// Names of other files.
    damaged: Vec<String>,
    /// Cycles that ended by the list.
    ended: BTreeSet<u32>,
    /// Cycles that began, in the order of the list.
    begun: Vec<u32>,
    /// `e2fsck` finds nothing to mend.
    clean: bool,
}

impl Disk {
    fn read(image: &Path) -> Result<Disk> {
        let dir = tempfile::tempdir().context("a folder for what was recorded")?;
        let words = format!("rdump /night {}", dir.path().display());
        let out = Command::new("debugfs").args(["-R", &words]).arg(image).output();
        let out = out.context("debugfs, of the package e2fsprogs, cannot be started")?;
        let night = dir.path().join("night");
        let said = || format!("debugfs: {}", String::from_utf8_lossy(&out.stderr));
        let list = fs::read_to_string(night.join("campaign.jsonl")).with_context(said)?;
        let lines: Vec<Value> = list
            .lines()
            .map(|l| serde_json::from_str(l).with_context(|| format!("a line of the list: {l}")))
            .collect::<Result<_>>()?;
        let points = || lines.iter().filter_map(Point::of);
        let of = |mark: Mark| points().filter(move |p| p.mark == mark).map(|p| p.cycle);
        let (mut whole, mut damaged) = (BTreeSet::new(), Vec::new());
        for entry in fs::read_dir(night.join("cycles")).with_context(said)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let number = name.strip_prefix("cycle-").and_then(|n| n.strip_suffix(".tar.gz"));
            match number.and_then(|n| n.parse().ok()) {
                Some(number) if holds_a_cycle(&path)? => _ = whole.insert(number),
                _ => damaged.push(name),
            }
        }
        Ok(Disk {
            whole,
            damaged,
            ended: of(Mark::End).collect(),
            begun: of(Mark::Begin).collect(),
            clean: disks::is_clean(image)?,
        })
    }
}

fn holds_a_cycle(path: &Path) -> Result<bool> {
    let Ok(reading) = dormouse_read::read_bytes("cycle", &read(path)?, &Options::default()) else {
        return Ok(false);
    };
    let cycles: Vec<_> = reading.captures.iter().flat_map(|c| &c.cycles).collect();
    Ok(matches!(cycles[..], [one] if !one.callbacks.is_empty() && !one.phases.is_empty()))
}

/// Prints the tables; whether all is right.
fn show(killed: &[Killed], disk: &Disk) -> bool {
    let lost = |k: &Killed| k.ended.iter().filter(|n| !disk.whole.contains(n)).count();
    println!(
        "| the campaign was cut | kills | of them in deep | finished cycles | of them lost | named right | in a sleep by the console | phase and device as there | of them without its last line |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut phases: BTreeMap<usize, (&str, usize, usize)> = BTreeMap::new();
    for (place, what) in PLACES {
        let of: Vec<&Killed> = killed.iter().filter(|k| k.verdict.place == place).collect();
        let count = |is: &dyn Fn(&Killed) -> bool| of.iter().filter(|k| is(k)).count();
        println!(
            "| {what} | {} | {} | {} | {} | {} | {} | {} | {} |",
            of.len(),
            count(&|k| k.mode == "deep"),
            of.iter().map(|k| k.ended.len()).sum::<usize>(),
            of.iter().map(|k| lost(k)).sum::<usize>(),
            count(&|k| k.verdict.faults.is_empty()),
            count(&|k| k.verdict.words.is_some()),
            count(&|k| k.verdict.words.is_some() && k.verdict.faults.is_empty()),
            count(&|k| k.verdict.behind)
        );
        for words in of.iter().filter_map(|k| k.verdict.words.as_ref()) {
            let row = phases.entry(words.order()).or_insert((&words.phase, 0, 0));
            row.1 += 1;
            row.2 += usize::from(words.device.is_some());
        }
    }
    println!("\n| the console ends in | kills | with a device |");
    println!("|---|---|---|");
    for (phase, kills, named) in phases.values() {
        println!("| {phase} | {kills} | {named} |");
    }
    let all: u32 = disk.begun.last().copied().unwrap_or(0);
    let in_a_row = disk.begun.iter().copied().eq(1..=all);
    println!(
        "\n{all} cycles began{}; {} ended by the list, and {} files hold a cycle that can be read. {} files hold none{}. e2fsck finds {} to mend.",
        if in_a_row { ", numbered in a row" } else { ", NOT numbered in a row" },
        disk.ended.len(),
        disk.whole.len(),
        disk.damaged.len(),
        disk.damaged.iter().map(|n| format!(" {n}")).collect::<String>(),
        if disk.clean { "nothing" } else { "SOMETHING" }
    );
    let good = killed.iter().all(|k| k.verdict.faults.is_empty() && lost(k) == 0)
        && in_a_row
        && disk.damaged.is_empty()
        && disk.clean
        && disk.ended == disk.whole;
    println!("{}", if good { "PASSED" } else { "FAILED" });
    good
}
