//! `dormouse board`: make, convert and check board files.

use crate::number::{any, number};
use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_app::links::{self, Mode, Rules, TreeWish};
use dormouse_app::machine;
use dormouse_base::time::Ns;
use dormouse_board::classes;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_board::machine::Kind;
use dormouse_board::summary::summarize;
use dormouse_board::{Board, parse, parse_duration, print};
use dormouse_read::Given;
use dormouse_read::udev::Imported;
use dormouse_words::board::described;
use dormouse_words::text::safe;
use dormouse_words::wording::assumed::sentences;
use dormouse_words::wording::next::{next, typed};
use dormouse_words::wording::plural;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Make a random board; the same options give the same bytes. Shares are percent.
#[derive(Args)]
pub(crate) struct GenerateArgs {
    /// Which of the boards with these properties.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = any)]
    seed: u64,
    /// Number of devices.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = number::<u32>(1, 1_000_000))]
    devices: u32,
    /// Number of CPUs.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(1, 65_536))]
    cpus: u32,
    /// Longest chain of parents.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = number::<u32>(1, 10_000))]
    depth: u32,
    /// Most children of a device (class children not counted).
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(1, u32::MAX))]
    fan_out: u32,
    /// Links for each 100 devices.
    #[arg(long, value_name = "PERCENT", default_value_t = 30, value_parser = number::<u32>(0, 1_000))]
    links: u32,
    /// Share of links that are dormant.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    dormant: u32,
    /// Share of links that are sync_state_only.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    sync_state_only: u32,
    /// Share of asynchronous devices.
    #[arg(long, value_name = "PERCENT", default_value_t = 60, value_parser = percent())]
    async_share: u32,
    /// Share of devices that are synchronous leaves without callbacks, such as
    /// net, input and block devices.
    #[arg(long, default_value_t = 20, value_parser = percent())]
    class_children: u32,
    /// Share of devices whose callbacks compute instead of sleeping.
    #[arg(long, default_value_t = 0, value_parser = percent())]
    computing: u32,
    /// Share of devices with a wakeup source.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = percent())]
    wakeup: u32,
    /// Share of devices with late and early callbacks.
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = percent())]
    late: u32,
    /// Share of devices with noirq callbacks.
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = percent())]
    noirq: u32,
    /// Share of devices with prepare and complete callbacks.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    prepare: u32,
    /// Share of devices that are runtime-suspended and ask for direct-complete.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    direct_complete: u32,
    /// Share of devices whose callbacks hold one of the locks.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = percent())]
    locked: u32,
    /// Number of locks.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(0, u32::MAX))]
    locks: u32,
    /// Time of each callback, drawn log-uniformly.
    #[arg(long, value_name = "LOW..HIGH", default_value = "5us..50ms", value_parser = durations)]
    durations: Durations,
    /// Where to write; the terminal if absent.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Make a machine that looks like a real one; times are drawn by class.
#[derive(Args)]
pub(crate) struct MachineArgs {
    /// laptop (about 900 devices), phone (800) or server (4,000).
    #[arg(value_parser = kind)]
    kind: Kind,
    /// Chooses the times.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = any)]
    seed: u64,
    /// Where to write; the terminal if absent.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Make a board from a file, recognised by its content.
///
/// Known are recordings and logs of sleep cycles (or a folder of them),
/// the output of `udevadm info --export-db`, device tree blobs, board
/// files, and the JSON of worked cases (then OUTPUT is a folder).
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse board from recording.tar.gz -o my.board\n  dormouse board from board.dtb --kernel 6.12 -o my.board"
)]
pub(crate) struct FromArgs {
    /// What to make it from; `-` reads standard input.
    input: PathBuf,
    /// Where to write; the terminal if absent.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Chooses the times where the input has none.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = any)]
    seed: u64,
    #[command(flatten)]
    tree: TreeArgs,
}

/// The kernel that a device tree is for.
#[derive(Args, Clone)]
pub(crate) struct TreeArgs {
    /// For a device tree: kernel whose links are made (6.1, 6.12, 7.3; others have
    /// the rules of the one before).
    #[arg(long, value_name = "V", default_value = "7.3")]
    pub kernel: String,
    /// For a device tree: what the kernel is told; what it does by itself, if absent.
    #[arg(long, value_name = "rpm|on|permissive|off", value_parser = mode)]
    pub fw_devlink: Option<Mode>,
    /// For a device tree: the kernel is told fw_devlink.strict=1.
    #[arg(long)]
    pub strict: bool,
    /// For a device tree: an arm64 kernel image, not compressed. What it initialises
    /// before devices is read from it; without, that of Debian's images is known.
    #[arg(long, value_name = "FILE")]
    pub early_of: Option<PathBuf>,
}

/// A word of `fw_devlink=`.
pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    Mode::find(text).ok_or_else(|| "write rpm, on, permissive or off".into())
}

impl TreeArgs {
    /// What is asked of a tree.
    ///
    /// # Errors
    /// When the kernel has no number, or the image no tables.
    pub(crate) fn wish(&self) -> Result<TreeWish> {
        let unknown = || Usage(format!("--kernel {}: write a release such as 6.12", self.kernel));
        let rules = Rules::of(&self.kernel).ok_or_else(unknown)?;
        let mut wish = TreeWish::usual(rules);
        wish.mode = self.fw_devlink.unwrap_or(wish.mode);
        wish.strict = self.strict;
        if let Some(path) = &self.early_of {
            wish.early = links::early_of(&read(path)?)
                .with_context(|| format!("cannot read {}", path.display()))?;
        }
        Ok(wish)
    }
}

/// Check a board file and say what is in it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse check my.board\n  dormouse check boards/laptop.board"
)]
pub(crate) struct CheckArgs {
    /// A board file; `-` reads standard input.
    file: PathBuf,
}

fn percent() -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync {
    number::<u32>(0, 100)
}

fn kind(text: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|k| k.name() == text);
    found.ok_or_else(|| "known are laptop, phone and server".into())
}

fn durations(text: &str) -> Result<Durations, String> {
    let (low, high) = text.split_once("..").ok_or("write a range, such as 5us..50ms")?;
    let durations = Durations { low: parse_duration(low)?, high: parse_duration(high)? };
    if durations.low < Ns(1) || durations.high < durations.low {
        return Err("the shorter time, at least 1ns, comes first: 5us..50ms".into());
    }
    Ok(durations)
}

/// Makes a random board.
pub(crate) fn random(a: &GenerateArgs) -> Result<()> {
    let options = options(a);
    write(a.output.as_deref(), &print(&generate(&options), &recipe(&options)))
}

/// Makes a machine that looks like a real one.
pub(crate) fn made(a: &MachineArgs) -> Result<()> {
    let comment = format!(
        "dormouse board make {} --seed {}\n\nAn invented machine with the shape of a real one.\n{}",
        a.kind.name(),
        a.seed,
        classes::assumption(a.seed)
    );
    write(a.output.as_deref(), &print(&a.kind.make(a.seed), &comment))
}

/// Says what is in a board.
pub(crate) fn checked(a: &CheckArgs) -> Result<()> {
    let board = read_board(&a.file, &read(&a.file)?)?;
    let text = described(&board, &summarize(&board));
    let file = typed(&a.file.display().to_string());
    let command = next(&format!("predict {file} --all-kernels"));
    write(None, &format!("{text}\n{command}"))
}

fn options(a: &GenerateArgs) -> Options {
    Options {
        seed: a.seed,
        devices: a.devices,
        cpus: a.cpus,
        depth: a.depth,
        fan_out: a.fan_out,
        links: a.links,
        dormant: a.dormant,
        sync_state_only: a.sync_state_only,
        async_share: a.async_share,
        class_children: a.class_children,
        computing: a.computing,
        wakeup: a.wakeup,
        late: a.late,
        noirq: a.noirq,
        prepare: a.prepare,
        direct_complete: a.direct_complete,
        locked: a.locked,
        locks: a.locks,
        durations: a.durations,
    }
}

/// The command that makes this board again, as the comment of its file.
fn recipe(o: &Options) -> String {
    let time = |t: Ns| {
        let mut s = String::new();
        dormouse_board::print_duration(t, &mut s);
        s
    };
    format!(
        "dormouse board make --seed {} --devices {} --cpus {} --depth {} --fan-out {} \\\n\
         \x20 --links {} --dormant {} --sync-state-only {} --async-share {} --class-children {} \\\n\
         \x20 --computing {} --wakeup {} --late {} --noirq {} --prepare {} \\\n\
         \x20 --direct-complete {} --locked {} --locks {} --durations {}..{}",
        o.seed,
        o.devices,
        o.cpus,
        o.depth,
        o.fan_out,
        o.links,
        o.dormant,
        o.sync_state_only,
        o.async_share,
        o.class_children,
        o.computing,
        o.wakeup,
        o.late,
        o.noirq,
        o.prepare,
        o.direct_complete,
        o.locked,
        o.locks,
        time(o.durations.low),
        time(o.durations.high)
    )
}

/// Makes a board from a file.
pub(crate) fn from(a: &FromArgs, given: &Given) -> Result<()> {
    if a.input.is_dir() {
        return recorded(a, given);
    }
    let bytes = given.raw(&a.input)?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        return cases(a, &bytes);
    }
    if dormouse_read::udev::recognise(&bytes) {
        let made = dormouse_read::udev::read(&bytes, a.seed);
        return imported(a, &made, "the output of udevadm info --export-db");
    }
    if dormouse_read::dtb::recognise(&bytes) {
        let made = dormouse_read::dtb::read(&bytes, a.seed, &a.tree.wish()?)
            .with_context(|| format!("cannot read {}", a.input.display()))?;
        return imported(a, &made, "a device tree blob");
    }
    if dormouse_app::subject::board_text(&bytes).is_none() {
        return recorded(a, given);
    }
    let board = read_board(&a.input, &bytes)?;
    write(a.output.as_deref(), &print(&board, ""))
}

/// Writes the board of a recording, with what it does not say.
fn recorded(a: &FromArgs, given: &Given) -> Result<()> {
    let machine::Loaded { derived, release, .. } = machine::load(given, None)?;
    let kernel = if release.is_empty() { "a kernel that it does not name".into() } else { release };
    let mut comment = format!(
        "Made from a recording of {kernel}: each time is the median of {}.\n",
        plural(derived.cycles.len(), "cycle")
    );
    for text in sentences(&derived.assumptions) {
        comment += &format!("Assumed: {text}\n");
    }
    // A log may name anything as its kernel.
    let comment: Vec<_> = comment.lines().map(safe).collect();
    write(a.output.as_deref(), &print(&derived.board, &comment.join("\n")))
}

/// Writes a board without measured times, and says so in the file and on the
/// terminal.
fn imported(a: &FromArgs, made: &Imported, source: &str) -> Result<()> {
    let mut comment = format!("Made from {source}.\n{}\n", classes::assumption(a.seed));
    for note in &made.notes {
        comment += &format!("{note}\n");
    }
    for l in &made.losses.list {
        let at = l.first_at.map_or(String::new(), |n| format!(" (first at line {n})"));
        let times = plural(l.count as usize, "time");
        let kind = l.kind.replace('_', " ");
        let text = format!("{}: {kind}, {times}{at}: {}", l.severity.name(), l.advice);
        remark!("dormouse: {text}");
        comment += &format!("{text}\n");
    }
    remark!("dormouse: the times in this board are assumed, not measured; see its first lines");
    write(a.output.as_deref(), &print(&made.board, &comment))
}

/// One board file for each worked case, in the folder OUTPUT.
fn cases(a: &FromArgs, json: &[u8]) -> Result<()> {
    let cases = dormouse_read::cases::read(json)
        .with_context(|| format!("cannot read {}", a.input.display()))?;
    let Some(folder) = &a.output else {
        let message = format!("{} cases make as many files; name a folder with -o", cases.len());
        return Err(Usage(message).into());
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for case in &cases {
        let text = print(&case.board, &format!("{}: {}", case.id, case.title));
        write(Some(&folder.join(format!("{}.board", case.id))), &text)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(bytes)
}

fn read_board(path: &Path, bytes: &[u8]) -> Result<Board> {
    let text = str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        anyhow::anyhow!("{}: line {line}: not UTF-8 text; is this a board file?", path.display())
    })?;
    parse(text).map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))
}

fn write(path: Option<&Path>, text: &str) -> Result<()> {
    match path {
        Some(p) => {
            fs::write(p, text).with_context(|| format!("cannot write {}", p.display()))?;
            terminal::wrote(p, "");
            Ok(())
        }
        None => terminal::print(text),
    }
}
