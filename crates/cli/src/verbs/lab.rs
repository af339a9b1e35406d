//! `dormouse lab`: real kernels suspend boards in QEMU.

pub(crate) mod build;
pub(crate) mod compare;
pub(crate) mod graft;
pub(crate) mod storage;
pub(crate) mod userland;

use crate::number::{any, number};
use crate::recording::detail;
use crate::terminal::{self, print};
use crate::verify::fetches;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_board::{Board, parse};
use dormouse_lab::capture;
use dormouse_lab::capture::{Wish, captures, recipe};
use dormouse_lab::kernels::{self, Kernel, fetch};
use dormouse_lab::plan::{Idle, IdleSetting, Loops, Sleep, Work};
use dormouse_lab::qemu::{Accel, Arch, Disturbance, Machine, usual_cpus};
use dormouse_lab::repeat;
use dormouse_lab::run::program_checksum;
use dormouse_lab::script;
use dormouse_machine::options::Detail;
use dormouse_words::lab as written;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Bring kernels, headers and programs for guests into the cache; without any, list the kernel
/// series that Debian's archive has now.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab fetch\n  dormouse lab fetch 6.12 7\n  dormouse lab fetch --programs"
)]
pub(crate) struct FetchArgs {
    /// Series such as 6.12; 7 is the newest 7.x with headers.
    series: Vec<String>,
    /// Unpack the programs of Debian's that guests run: fio, cyclictest, rtla,
    /// mkfs, udev, modprobe. Without, they are fetched when they are first needed.
    #[arg(long)]
    programs: bool,
    /// Architecture of the guest.
    #[arg(long, value_parser = arch, default_value = "amd64")]
    arch: Arch,
}

/// The kernel and the virtual machine.
#[derive(Args, Clone)]
pub(crate) struct MachineArgs {
    /// Kernel series such as 6.12 (fetched if it is not in the cache); 7 is
    /// the newest 7.x with headers.
    #[arg(long, value_name = "K", default_value = "6.12")]
    pub kernel: String,
    /// A kernel of your own (bzImage) instead.
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Its headers (a folder prepared to build modules).
    #[arg(long, value_name = "DIR", requires = "image")]
    pub headers: Option<PathBuf>,
    /// Architecture of the guest.
    #[arg(long, value_parser = arch, default_value = "amd64")]
    pub arch: Arch,
    /// CPUs of the guest; as many as the board has, at most 4, if absent.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 64))]
    pub cpus: Option<u32>,
    /// icount counts time in instructions and repeats bit for bit; tcg and kvm
    /// take the host's time.
    #[arg(long, value_parser = accel, default_value = "icount", value_name = "icount|tcg|kvm")]
    pub accel: Accel,
    /// Draws another sample: seed of every random number the guest gets.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = any)]
    pub seed: u64,
    /// Seconds after which a boot that has not finished is ended.
    #[arg(long, default_value_t = 900, value_name = "S", value_parser = any)]
    pub limit: u64,
}

/// How the board sleeps.
#[derive(Args)]
pub(crate) struct SleepArgs {
    /// devices, platform and core are test levels (pm_test); s2idle and deep
    /// really sleep and wake up. hibernate writes an image to a swap disk and
    /// restores it; rollback is a hibernation undone by a wake-up at the end.
    #[arg(long, value_parser = sleep, default_value = "devices",
          value_name = "devices|platform|core|s2idle|deep|hibernate|rollback")]
    pub sleep: Sleep,
    /// /sys/power/pm_async; what the board says, if absent.
    #[arg(long, value_name = "0|1", value_parser = number::<u8>(0, 1))]
    pub pm_async: Option<u8>,
    /// Cycles of each boot; the first after a boot is slower than the others.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 10_000))]
    pub cycles: u32,
    /// Boots, each with the next seed, so that chance is part of the spread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 1_000))]
    pub samples: u32,
    /// More events, separated by commas, as for "dormouse record": sched,
    /// workqueue, rpm, idle, storage, domains, freeze, sync. Each event takes time.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = detail)]
    pub with: Vec<Detail>,
}

/// Let a kernel suspend and resume a board, and record it.
#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    sleep: SleepArgs,
    /// Board file (docs/board-format.md); several make several captures.
    /// Without, the guest's own devices.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    board: Vec<PathBuf>,
    /// Each board with pm_async 0 and with 1: captures NAME-async0 and
    /// NAME-async1 in a folder.
    #[arg(long, conflicts_with = "pm_async")]
    both_async: bool,
    /// Captures from one boot, which saves the time of booting. All but the
    /// first meet a kernel that has slept already; --warm-up 1 makes them alike.
    #[arg(long, default_value_t = 1, value_name = "N",
          value_parser = number::<u32>(1, 1_000))]
    per_boot: u32,
    /// Cycles before the recorded ones, thrown away: the first cycle with a
    /// board is slower than the others.
    #[arg(long, default_value_t = 0, value_name = "N",
          value_parser = number::<u32>(0, 100))]
    warm_up: u32,
    /// Boots at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1, 256))]
    jobs: u32,
    /// Capture file to write; with several boards a folder.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Record how the idle governors of a kernel decide on made-up states.
#[derive(Args)]
pub(crate) struct IdleArgs {
    #[command(flatten)]
    machine: MachineArgs,
    /// Idle states after polling: exit latency and target residency in
    /// microseconds.
    #[arg(long, value_name = "LAT:RES,…", default_value = "2:4,100:400,800:3000")]
    states: String,
    /// Exit latencies vary by so many percent up and down.
    #[arg(long, default_value_t = 20, value_name = "PERCENT",
          value_parser = number::<u32>(0, 100))]
    jitter: u32,
    /// Governors, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "menu,ladder")]
    governors: Vec<String>,
    /// Decisions of each governor, at least.
    #[arg(long, default_value_t = 3_000, value_name = "N",
          value_parser = number::<u64>(100, 1_000_000))]
    decisions: u64,
    /// Record work under each --setting instead, as dormouse record --with idle
    /// does: periodic, bursts, slack, disk, mixed.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = work)]
    work: Vec<Work>,
    /// Settings of these recordings, such as menu-limit150us or ladder-without2.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = setting,
          default_value = "menu,menu-limit150us,menu-without2,ladder", requires = "work")]
    setting: Vec<IdleSetting>,
    /// Run a shell script instead, and write what it prints. It may call fio,
    /// cyclictest, rtla, mkfs.ext4, udevadm, systemd-tmpfiles and insmod
    /// (docs/lab.md).
    #[arg(long, value_name = "FILE", conflicts_with = "work")]
    script: Option<PathBuf>,
    /// Drivers of the kernel for the script, beside it as NAME.ko.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "script")]
    drivers: Vec<String>,
    /// More words for the kernel command line.
    #[arg(long, value_name = "WORDS", requires = "script")]
    words: Option<String>,
    /// Length of each of these recordings, in milliseconds of the guest.
    #[arg(long, value_name = "MS", default_value_t = 10_000, requires = "work",
          value_parser = clap::value_parser!(u64).range(100..=600_000))]
    span: u64,
    /// File to write; with --work a folder.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn work(text: &str) -> Result<Work, String> {
    let names: Vec<&str> = Work::ALL.iter().map(|w| w.name()).collect();
    Work::find(text).ok_or_else(|| format!("write one of {}", names.join(", ")))
}

fn setting(text: &str) -> Result<IdleSetting, String> {
    let advice = "write a governor, and what is set: menu, menu-limit150us, ladder-without2";
    IdleSetting::find(text).ok_or_else(|| advice.into())
}

/// Make a capture of the laboratory again, from what it says of itself.
#[derive(Args)]
pub(crate) struct RerunArgs {
    /// A capture that dormouse lab made.
    capture: PathBuf,
    /// The kernel of your own (bzImage) that it was made on.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Its headers (a folder prepared to build modules).
    #[arg(long, value_name = "DIR", requires = "image")]
    headers: Option<PathBuf>,
    /// Write the new capture here.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Boot the same thing many times and count different recordings.
#[derive(Args)]
pub(crate) struct RepeatArgs {
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    sleep: SleepArgs,
    /// Board file; a generated board of 200 devices if absent.
    #[arg(long, value_name = "FILE")]
    board: Option<PathBuf>,
    /// Boots.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::<u32>(2, 1_000))]
    boots: u32,
    /// Disturb QEMU's threads on purpose in every boot but the first, as a busy
    /// machine does. It must make no difference.
    #[arg(long)]
    disturb: bool,
}

fn arch(text: &str) -> Result<Arch, String> {
    [Arch::Amd64, Arch::Arm64]
        .into_iter()
        .find(|a| a.name() == text)
        .ok_or_else(|| "write amd64 or arm64".into())
}

fn accel(text: &str) -> Result<Accel, String> {
    Accel::find(text).ok_or_else(|| "write icount, tcg or kvm".into())
}

fn sleep(text: &str) -> Result<Sleep, String> {
    Sleep::find(text).ok_or_else(|| {
        let names: Vec<&str> = Sleep::ALL.iter().map(|s| s.name()).collect();
        format!("write one of {}", names.join(", "))
    })
}

/// Runs the form.
pub(crate) fn run_fetch(a: &FetchArgs) -> Result<()> {
    if a.series.is_empty() && !a.programs {
        return kernels(a.arch);
    }
    for series in &a.series {
        print(&describe(&fetch::fetch(a.arch, series)?))?;
    }
    if a.programs {
        print(&format!("programs in {}\n", dormouse_lab::programs::root()?.display()))?;
    }
    Ok(())
}

/// Lists what there is.
fn kernels(arch: Arch) -> Result<()> {
    let offers = fetch::offers(arch)?;
    let offers: Vec<written::Offer<'_>> = offers
        .iter()
        .map(|o| written::Offer {
            series: &o.series,
            release: &o.release,
            boards: o.headers,
            cached: o.cached.as_deref(),
        })
        .collect();
    print(&written::kernels(&offers))
}

fn describe(k: &Kernel) -> String {
    let mut out = format!("{} {} in {}\n", k.series, k.release, k.image.display());
    for p in &k.packages {
        let _ = writeln!(out, "  {p}");
    }
    if k.headers.is_none() {
        out.push_str("  image only: it runs with the guest's own devices\n");
    }
    out
}

/// The kernel of `series`. What it fetches is said before.
pub(crate) fn kernel_of(arch: Arch, series: &str) -> Result<Kernel> {
    if kernels::cached(arch, series)?.is_none() {
        fetches(arch, series);
    }
    Ok(kernels::get(arch, series)?)
}

/// Whether these files can be read: said before a kernel is fetched for a minute.
fn are_there<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    for file in files {
        File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    Ok(())
}

/// The kernel that the arguments name.
pub(crate) fn find_kernel(a: &MachineArgs) -> Result<Kernel> {
    match &a.image {
        None => {
            remark!("dormouse: kernel {} for {}", a.kernel, a.arch.name());
            kernel_of(a.arch, &a.kernel)
        }
        Some(image) => Ok(kernels::own(a.arch, image, a.headers.as_deref())?),
    }
}

/// The machine that the arguments name, for `board`.
pub(crate) fn make_machine(a: &MachineArgs, kernel: &Kernel, board: Option<&Board>) -> Machine {
    let cpus = a.cpus.unwrap_or_else(|| usual_cpus(a.accel, kernel, board));
    let mut m = Machine::new(a.arch, a.accel, cpus, &kernel.release);
    m.seed = a.seed;
    m
}

/// What the arguments wish for `board`.
pub(crate) fn make_wish<'a>(m: &MachineArgs, s: &SleepArgs, board: Option<&'a Board>) -> Wish<'a> {
    Wish {
        board,
        waits: &[],
        sleep: s.sleep,
        pm_async: s.pm_async.map_or_else(|| board.is_none_or(|b| b.pm_async), |n| n == 1),
        cycles: s.cycles,
        detail: s.with.clone(),
        samples: s.samples,
        limit: Duration::from_secs(m.limit),
    }
}

fn read_board(path: &Path) -> Result<Board> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).map_err(|e| anyhow!("{}: {e}", path.display()))
}

/// A capture to be made.
struct Order {
    to: PathBuf,
    board: Option<Arc<Board>>,
    pm_async: Option<bool>,
}

/// What the arguments ask for: which board, how, and where to.
fn orders(a: &RunArgs) -> Result<Vec<Order>> {
    let folder = a.board.len() > 1 || a.both_async;
    if folder {
        fs::create_dir_all(&a.output)
            .with_context(|| format!("cannot make {}", a.output.display()))?;
    }
    let mut boards: Vec<(String, Option<Arc<Board>>)> = Vec::new();
    for path in &a.board {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if boards.iter().any(|(other, _)| *other == stem) {
            return Err(Usage(format!("two boards are called {stem}")).into());
        }
        boards.push((stem, Some(Arc::new(read_board(path)?))));
    }
    if boards.is_empty() {
        boards.push(("guest".into(), None));
    }
    let modes: &[Option<bool>] = if a.both_async { &[Some(false), Some(true)] } else { &[None] };
    let mut out = Vec::new();
    for (stem, board) in boards {
        for &pm_async in modes {
            let mode = pm_async.map_or(String::new(), |on| format!("-async{}", u8::from(on)));
            let to = if folder {
                a.output.join(format!("{stem}{mode}.tar.gz"))
            } else {
                a.output.clone()
            };
            out.push(Order { to, board: board.clone(), pm_async });
        }
    }
    Ok(out)
}

/// Runs the form.
pub(crate) fn run_boards(a: &RunArgs) -> Result<()> {
    let orders = orders(a)?;
    let kernel = find_kernel(&a.machine)?;
    // Only boards that want the same machine can share a boot.
    let mut boots: Vec<(Machine, Vec<&Order>)> = Vec::new();
    for order in &orders {
        let machine = make_machine(&a.machine, &kernel, order.board.as_deref());
        match boots.last_mut() {
            Some((m, shared)) if *m == machine && shared.len() < a.per_boot as usize => {
                shared.push(order);
            }
            _ => boots.push((machine, vec![order])),
        }
    }
    // Boots are independent: each worker takes the next one.
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        while let Some((machine, shared)) = boots.get(next.fetch_add(1, Ordering::Relaxed)) {
            run_boot(a, &kernel, machine, shared)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..(a.jobs as usize).min(boots.len())).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|_| Err(anyhow!("a boot panicked"))))
            .collect::<Result<Vec<()>>>()
    })?;
    Ok(())
}

fn run_boot(a: &RunArgs, kernel: &Kernel, machine: &Machine, orders: &[&Order]) -> Result<()> {
    let wishes: Vec<Wish<'_>> = orders
        .iter()
        .map(|o| {
            let mut wish = make_wish(&a.machine, &a.sleep, o.board.as_deref());
            wish.pm_async = o.pm_async.unwrap_or(wish.pm_async);
            wish
        })
        .collect();
    let names = || orders.iter().map(|o| o.to.display().to_string()).collect::<Vec<_>>().join(", ");
    let all = captures(kernel, machine, &wishes, a.warm_up).with_context(names)?;
    for (recording, order) in all.recordings.iter().zip(orders) {
        let to = order.to.display();
        recording.save(&order.to).with_context(|| format!("cannot write {to}"))?;
        let what = written::Ran {
            path: &to.to_string(),
            cycles: recording.len(),
            release: &kernel.release,
            cpus: machine.cpus,
        };
        let (out_of_step, differences) = of_guest(&recording.file.document.lab);
        terminal::remarked(&written::ran(&what, out_of_step, &differences, orders.len() == 1));
    }
    Ok(())
}

/// Runs the form.
pub(crate) fn run_idle(a: &IdleArgs) -> Result<()> {
    are_there(&a.script)?;
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, None);
    if !a.work.is_empty() {
        return run_loops(a, &kernel, &machine);
    }
    if let Some(path) = &a.script {
        return run_script(a, path, &kernel, machine);
    }
    let wish = Idle {
        name: "idle".into(),
        states: a.states.clone(),
        jitter: a.jitter,
        seed: a.machine.seed,
        governors: a.governors.clone(),
        decisions: a.decisions,
    };
    let limit = Duration::from_secs(a.machine.limit);
    let texts = dormouse_lab::idle::record(&kernel, &machine, &[wish], limit)?;
    let text = texts.first().map_or("", String::as_str);
    let to = a.output.display();
    fs::write(&a.output, text).with_context(|| format!("cannot write {to}"))?;
    let decisions = text.lines().filter(|l| l.starts_with("d ")).count();
    remark!("dormouse: {to}: {decisions} decisions of {} on {} CPUs", kernel.release, machine.cpus);
    Ok(())
}

fn run_loops(a: &IdleArgs, kernel: &Kernel, machine: &Machine) -> Result<()> {
    let wish = Loops {
        name: "idle".into(),
        states: a.states.clone(),
        jitter: a.jitter,
        seed: a.machine.seed,
        works: a.work.clone(),
        settings: a.setting.clone(),
        span_ms: a.span,
    };
    let limit = Duration::from_secs(a.machine.limit);
    let all = dormouse_lab::idle::loops(kernel, machine, &wish, limit)?;
    fs::create_dir_all(&a.output).with_context(|| format!("cannot make {}", a.output.display()))?;
    for one in &all {
        let to = a.output.join(format!("{}-{}.tar.gz", one.work.name(), one.setting.name()));
        fs::write(&to, &one.capture).with_context(|| format!("cannot write {}", to.display()))?;
        crate::terminal::wrote(&to, "");
    }
    Ok(())
}

fn run_script(a: &IdleArgs, path: &Path, kernel: &Kernel, machine: Machine) -> Result<()> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let idle = format!("states={} jitter={} seed={}", a.states, a.jitter, a.machine.seed);
    let drivers = a.drivers.clone();
    let wish = script::Wish { text, idle: Some(idle), drivers, ..script::Wish::default() };
    let machine = Machine { words: a.words.clone().unwrap_or_default(), ..machine };
    let limit = Duration::from_secs(a.machine.limit);
    let said = script::run(kernel, &machine, &wish, limit)?;
    fs::write(&a.output, said.text)
        .with_context(|| format!("cannot write {}", a.output.display()))?;
    crate::terminal::wrote(&a.output, "");
    Ok(())
}

/// Says what the guest does differently from the board, and if its recording may
/// not be the same again.
pub(crate) fn note_differences(lab: &Option<serde_json::Value>) {
    let (out_of_step, differences) = of_guest(lab);
    terminal::remarked(&written::as_asked(out_of_step, &differences));
}

/// Whether QEMU was out of step, and how the guest differs from the board.
fn of_guest(lab: &Option<serde_json::Value>) -> (bool, Vec<&str>) {
    let out_of_step = lab.as_ref().and_then(|l| l.get("out_of_step")).is_some_and(|v| v == true);
    let list = lab.as_ref().and_then(|l| l.get("differences")).and_then(|d| d.as_array());
    (out_of_step, list.into_iter().flatten().filter_map(|d| d.as_str()).collect())
}

/// Runs the form.
pub(crate) fn rerun(a: &RerunArgs) -> Result<()> {
    let path = a.capture.display();
    let old = fs::read(&a.capture).with_context(|| format!("cannot read {path}"))?;
    let r = recipe(&old).with_context(|| path.to_string())?;
    let kernel = match &a.image {
        Some(image) => kernels::own(r.machine.arch, image, a.headers.as_deref())?,
        None if r.series == kernels::OWN => {
            return Err(Usage(format!(
                "{path} was made on a kernel of your own ({}): name it with --image and --headers",
                r.release
            ))
            .into());
        }
        None => kernel_of(r.machine.arch, &r.series)?,
    };
    let other_program = program_checksum(r.machine.arch)? != r.program;
    let recording =
        capture::rerun(&kernel, &r, Duration::from_secs(900)).with_context(|| path.to_string())?;
    let new = dormouse_machine::file::encode(&recording, Vec::new())?;
    if let Some(to) = &a.output {
        recording.save(to).with_context(|| format!("cannot write {}", to.display()))?;
    }
    let to = a.output.as_ref().map(|p| p.display().to_string());
    let differ = kernel.release != r.release;
    print(&written::rerun(&written::Rerun {
        path: &path.to_string(),
        same: new == old,
        kernels: differ.then_some((r.release.as_str(), kernel.release.as_str())),
        other_program,
        output: to.as_deref(),
    }))
}

/// Runs the form.
pub(crate) fn run_repeat(a: &RepeatArgs) -> Result<()> {
    let board = match &a.board {
        Some(path) => read_board(path)?,
        None => repeat::board(),
    };
    let kernel = find_kernel(&a.machine)?;
    let machine = make_machine(&a.machine, &kernel, Some(&board));
    let wish = make_wish(&a.machine, &a.sleep, Some(&board));
    let shown = AtomicUsize::new(0);
    let disturbance = if a.disturb { Disturbance::Jitter } else { Disturbance::None };
    let r = repeat::repeat(&kernel, &machine, &wish, a.boots, disturbance, |so_far, boot| {
        // Printed as it is found: all boots together take minutes.
        for p in so_far.partings.iter().skip(shown.load(Ordering::Relaxed)) {
            let _ = print(&parting(p));
        }
        shown.store(so_far.partings.len(), Ordering::Relaxed);
        remark!("dormouse: boot {boot} of {}: {} differ", a.boots, so_far.different);
    })?;
    print(&written::repeated(&written::Repeated {
        release: &kernel.release,
        cpus: machine.cpus,
        sleep: a.sleep.sleep.name(),
        again: a.boots as usize - 1,
        different: r.different as usize,
        logs_different: r.logs_different as usize,
        lines: r.lines,
    }))?;
    if r.different == 0 { Ok(()) } else { Err(anyhow!("the recordings are not all the same")) }
}

/// Where a boot parts from the first one, quoted.
fn parting(p: &repeat::Parting) -> String {
    let mut out = String::new();
    for (what, d) in [("recording", &p.recording), ("kernel log", &p.log)] {
        if let Some(d) = d {
            let _ = writeln!(
                out,
                "  boot {}: the {what} parts in line {}:\n    was {}\n    is  {}",
                p.boot, d.line, d.was, d.is
            );
        }
    }
    out
}
