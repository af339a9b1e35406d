//! What `make decide` prints: tune and plan on boards, predicted and then run
//! on a real kernel.

use anyhow::{Context, Result, anyhow, bail};
use dormouse_core::board::{self, Board};
use dormouse_core::decide::compare::{Subject, compare};
use dormouse_core::decide::hold::{FLOOR, Held, JUDGED, Outcome, Part, TOLERANCE, hold};
use dormouse_core::decide::plan::candidate::{Candidate, Kind, apply, candidates, goes_with};
use dormouse_core::decide::plan::essential::{Wishes, essential};
use dormouse_core::decide::plan::{Goal, plan, shortlist};
use dormouse_core::decide::tune::evidence::evidence;
use dormouse_core::decide::tune::{Options, Tuned, tune};
use dormouse_core::device::DeviceId;
use dormouse_core::phase::Direction;
use dormouse_core::simulate::kernel::Kernel as Release;
use dormouse_core::simulate::predict::{Outlook, Scheduler, draws, outlook};
use dormouse_core::simulate::{Cpus, Profile, Settings, profile};
use dormouse_core::time::Ns;
use dormouse_core::understand::explain;
use dormouse_lab::capture::{Wish, captures};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_read::{Reading, read_bytes};
use dormouse_record::recording::Recording;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Cycles that are thrown away, and those that count, of each board in a boot.
const WARM_UP: u32 = 2;
const CYCLES: u32 = 3;

/// The plan is to take this share of the time of resume, in percent.
const BUDGET: i64 = 85;

/// Devices that one boot takes: so many that starting the kernel does not
/// dominate, so few that a failure does not cost everything.
const DEVICES: usize = 500;

/// Long, because a busy machine may run a guest ten times slower.
const LIMIT: Duration = Duration::from_secs(900);

/// Costs that were fitted on guests of a kernel: `SERIES:CPUS=FILE`.
pub struct ProfileFile {
    series: String,
    cpus: u32,
    path: PathBuf,
}

impl ProfileFile {
    fn parse(text: &str) -> Result<ProfileFile> {
        let parts = text.split_once('=').and_then(|(k, f)| Some((k.split_once(':')?, f)));
        let ((series, cpus), path) = parts.context("--profile SERIES:CPUS=FILE")?;
        Ok(ProfileFile { series: series.into(), cpus: cpus.parse()?, path: path.into() })
    }
}

/// A kernel of the laboratory, and how it is simulated.
pub struct Bench {
    /// The kernel.
    pub kernel: Kernel,
    by: Scheduler,
    /// Costs by number of CPUs of the guest they were fitted on.
    profiles: Vec<(u32, Profile)>,
}

impl Bench {
    /// The kernel of `series` with costs from files.
    ///
    /// # Errors
    /// If one of them cannot be had.
    pub fn open(series: &str, files: &[ProfileFile]) -> Result<Bench> {
        let kernel = kernels::get(Arch::Amd64, series)?;
        let release =
            Release::parse(&kernel.release).with_context(|| format!("{}?", kernel.release))?;
        let by = Scheduler { policy: release.policy(), kernel: Some(release) };
        let mut profiles = Vec::new();
        for f in files.iter().filter(|f| f.series == series) {
            let text = fs::read_to_string(&f.path).with_context(|| f.path.display().to_string())?;
            profiles.push((f.cpus, profile::parse(&text)?));
        }
        if profiles.is_empty() {
            profiles.push((0, Profile::x86()));
        }
        Ok(Bench { kernel, by, profiles })
    }

    /// CPUs of the guest for `board`.
    fn cpus(board: &Board) -> u32 {
        board.cpus.clamp(1, 4)
    }

    /// How `board` is simulated: as the guest runs it.
    pub fn settings(&self, board: &Board) -> Settings {
        let cpus = Self::cpus(board);
        let fits = self.profiles.iter().find(|(n, _)| *n == cpus);
        let mut profile = fits.unwrap_or(&self.profiles[0]).1.clone();
        profile.cpus = profile.cpus.or_else(|| Some(Cpus::equal(Self::cpus(board))));
        let mut settings = Settings { profile, pm_async: None, wakeup_at: None };
        settings.complete(board, self.by.kernel.as_ref());
        settings
    }

    /// Simulates `board`.
    ///
    /// # Errors
    /// If the kernel would hang.
    pub fn outlook(&self, board: &Board) -> Result<Outlook> {
        outlook(board, self.by, &self.settings(board)).map_err(|e| anyhow!("{e}"))
    }

    /// Careful flags for `board`.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub fn tune(&self, board: &Board, options: &Options) -> Result<Tuned> {
        tune(board, self.by.policy, &self.settings(board), options).map_err(|e| anyhow!("{e}"))
    }

    /// The smallest set of changes after which `board` resumes in [`BUDGET`]
    /// percent of the time.
    fn plan(&self, board: &Board) -> Result<Vec<Candidate>> {
        let settings = self.settings(board);
        let now = self.outlook(board)?.half(Direction::Resume);
        let goal = Goal { resume: Some(Ns(now.0 * BUDGET / 100)), ..Goal::default() };
        // Nobody takes a whole bus with most of the machine away.
        let n = board.devices.len();
        let keep = board.graph.ids().map(|d| goes_with(board, d).len() * 4 > n).collect();
        let stay = essential(board, &Wishes { keep, ..Wishes::default() });
        let kinds = [Kind::Remove, Kind::Async];
        let long = candidates(board, &kinds, &stay, &goal.directions(), 40);
        let policy = self.by.policy;
        let offered =
            shortlist(board, policy, &settings, &goal, &long, 8).map_err(|e| anyhow!("{e}"))?;
        let found =
            plan(board, policy, &settings, &goal, &offered, 2_000).map_err(|e| anyhow!("{e}"))?;
        Ok(found.steps.iter().map(|s| s.candidate).collect())
    }

    /// Records `boards`, one after the other in one boot; in each of them who
    /// waits for whom without being told to ([`Wish::waits`]).
    ///
    /// # Errors
    /// If the guest fails.
    pub fn record(
        &self,
        boards: &[&Board],
        waits: &[(DeviceId, DeviceId)],
    ) -> Result<Vec<Reading>> {
        self.boot(boards, waits)?.iter().map(reading).collect()
    }

    /// As [`Bench::record`], with the cycles of all boards in one recording:
    /// they are the same machine under other settings.
    ///
    /// # Errors
    /// If the guest fails.
    pub fn record_as_one(
        &self,
        boards: &[&Board],
        waits: &[(DeviceId, DeviceId)],
    ) -> Result<Reading> {
        let mut all = self.boot(boards, waits)?.into_iter();
        let mut one = all.next().context("no board")?;
        all.for_each(|r| one.append(r));
        reading(&one)
    }

    fn boot(&self, boards: &[&Board], waits: &[(DeviceId, DeviceId)]) -> Result<Vec<Recording>> {
        let wishes: Vec<Wish<'_>> = boards
            .iter()
            .map(|b| Wish {
                board: Some(b),
                waits,
                sleep: Sleep::Platform,
                pm_async: b.pm_async,
                cycles: CYCLES,
                detail: Vec::new(),
                samples: 1,
                limit: LIMIT,
            })
            .collect();
        let cpus = boards.first().map_or(1, |b| Self::cpus(b));
        let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &self.kernel.release);
        Ok(captures(&self.kernel, &machine, &wishes, WARM_UP)?.recordings)
    }

    /// Predicts `before` and `after` and holds that against recordings.
    ///
    /// # Errors
    /// If a recording has no cycle to compare.
    pub fn hold(&self, before: &Board, after: &Board, recorded: [&Reading; 2]) -> Result<Held> {
        let draws = |board: &Board| {
            draws(board, self.by, &self.settings(board)).map_err(|e| anyhow!("{e}"))
        };
        let (a, b) = (draws(before)?, draws(after)?);
        let views = recorded.map(|r| r.captures.iter().map(explain).collect::<Vec<_>>());
        let subjects: Vec<Subject<'_>> = ["before", "after"]
            .into_iter()
            .zip(recorded)
            .zip(&views)
            .map(|((label, r), v)| Subject {
                label: label.into(),
                captures: r.captures.iter().zip(v).map(|(c, v)| (c, v.as_slice())).collect(),
            })
            .collect();
        let c = compare(&subjects, false).map_err(|e| anyhow!("nothing to compare: {e:?}"))?;
        Ok(hold(&a, &b, &c))
    }
}

fn reading(r: &Recording) -> Result<Reading> {
    let bytes = dormouse_record::file::encode(r, Vec::new())?;
    Ok(read_bytes("lab", &bytes, &dormouse_read::Options::default())?)
}

/// One change of one board.
struct Change {
    what: String,
    after: Board,
}

/// Judgements of all boards and kernels.
#[derive(Default)]
struct Score {
    changes: usize,
    unjudged: usize,
    rows: usize,
    direction: usize,
    size: usize,
    worst: f64,
    small: usize,
    small_wrong: usize,
    not_optimal: usize,
    undeclared: usize,
    failed: usize,
}

impl Score {
    fn add(&mut self, held: &Held) {
        self.changes += 1;
        self.unjudged += usize::from(held.outcome() == Outcome::NothingPredicted);
        for r in &held.rows {
            if r.is_judged() {
                self.rows += 1;
                self.direction += usize::from(!r.right_direction());
                self.size += usize::from(r.right_direction() && !r.held());
                self.worst = self.worst.max(r.off().abs());
            } else if r.predicted_change().abs() > JUDGED * r.predicted.0.0 as f64 {
                self.small += 1;
                self.small_wrong += usize::from(!(r.right_direction() && r.right_size()));
            }
        }
    }

    fn missed(&self) -> bool {
        self.direction + self.size + self.not_optimal + self.undeclared + self.failed > 0
    }
}

/// `decide [--profile SERIES:CPUS=FILE]… --kernel SERIES… [--jobs N] [--exhaustive BOARD]… BOARD…`.
/// True if everything held.
pub fn run(args: &[String]) -> Result<bool> {
    let mut kernels: Vec<String> = Vec::new();
    let mut profiles: Vec<ProfileFile> = Vec::new();
    let mut small: Vec<PathBuf> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let mut jobs = 1;
    let mut args = args.iter();
    while let Some(a) = args.next() {
        let mut value = || args.next().with_context(|| format!("{a} needs a value"));
        match a.as_str() {
            "--kernel" => kernels.push(value()?.clone()),
            "--profile" => profiles.push(ProfileFile::parse(value()?)?),
            "--jobs" => jobs = value()?.parse()?,
            "--exhaustive" => small.push(value()?.into()),
            _ => files.push(a.into()),
        }
    }
    let boards: Vec<(String, Board)> =
        files.iter().map(|f| read_board(f)).collect::<Result<_>>()?;
    let small: Vec<(String, Board)> = small.iter().map(|f| read_board(f)).collect::<Result<_>>()?;
    let mut score = Score::default();
    for series in &kernels {
        let bench = Bench::open(series, &profiles)?;
        let names: Vec<&str> = bench.profiles.iter().map(|(_, p)| p.name.as_str()).collect();
        println!("\n== {}, costs: {}", bench.kernel.release, names.join("; "));
        optimum(&bench, &small, &mut score)?;
        on_kernel(&bench, &boards, jobs, &mut score)?;
        match crate::undeclared::run(&bench) {
            Ok(missed) => score.undeclared += missed,
            Err(e) => {
                println!("FAILED: {e:#}");
                score.failed += 1;
            }
        }
    }
    println!("\n== summary");
    println!("{} changes of {} boards on {} kernels", score.changes, boards.len(), kernels.len());
    println!(
        "judged: {} times where more than {:.0} % and {FLOOR} was predicted ({} changes have none)",
        score.rows,
        100.0 * JUDGED,
        score.unjudged
    );
    println!("wrong direction: {}", score.direction);
    println!(
        "right direction, but more than {:.0} % of the phase and more than {FLOOR} apart: {}",
        100.0 * TOLERANCE,
        score.size
    );
    println!("furthest apart: {:.1} % of the phase", score.worst);
    println!(
        "more than {:.0} % but less than {FLOOR}, so not judged: {}, of which {} would have missed",
        100.0 * JUDGED,
        score.small,
        score.small_wrong
    );
    println!("tuned boards that are not the optimum: {}", score.not_optimal);
    println!("boots that failed: {}", score.failed);
    println!(
        "undeclared locks and orders of which too much was said, or that were not found: {}",
        score.undeclared
    );
    println!("{}", if score.missed() { "MISSED" } else { "held" });
    Ok(!score.missed())
}

/// A board file with the name of the board.
pub fn read_board(path: &Path) -> Result<(String, Board)> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let board = board::parse(&text).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), board))
}

/// Tune beside a loop over every setting, written apart from its search.
fn optimum(bench: &Bench, boards: &[(String, Board)], score: &mut Score) -> Result<()> {
    let (mut exact, mut sets) = (0, 0u64);
    for (name, board) in boards {
        // Worked cases of aborted cycles have nothing to tune.
        if board.devices.iter().flat_map(|d| d.work).flatten().any(|w| w.ret < 0) {
            continue;
        }
        let options = Options { bold: true, worthwhile: Ns(1), ..Options::new(board) };
        let tuned = bench.tune(board, &options)?;
        let free: Vec<DeviceId> =
            board.graph.ids().zip(evidence(board)).filter_map(|(d, e)| e.map(|_| d)).collect();
        if free.len() > 12 {
            bail!("{name} has {} free flags; at most 12 can be looked at", free.len());
        }
        let mut best = tuned.before.total();
        let masks = (0..1u32 << free.len()).map(|m| (m, true));
        let without = [(0, false)].into_iter().filter(|_| board.pm_async);
        for (mask, on) in masks.chain(without) {
            let mut b = board.clone();
            b.pm_async &= on;
            for (i, d) in free.iter().enumerate() {
                b.graph.devices[d.index()].async_flag = Some(mask >> i & 1 == 1);
            }
            // A setting under which the kernel would hang is not an answer.
            if let Ok(o) = bench.outlook(&b) {
                best = best.min(o.half(Direction::Suspend) + o.half(Direction::Resume));
            }
            sets += 1;
        }
        if tuned.after.total() == best {
            exact += 1;
        } else {
            score.not_optimal += 1;
            println!("{name}: tuned {}, but {best} is possible", tuned.after.total());
        }
    }
    println!(
        "{exact} boards of at most 12 free flags: tune finds the optimum of all {sets} settings"
    );
    Ok(())
}

fn on_kernel(
    bench: &Bench,
    boards: &[(String, Board)],
    jobs: usize,
    score: &mut Score,
) -> Result<()> {
    println!(
        "\n{:<10}{:>7}  {:<26}{:>24}{:>24}{:>7}",
        "", "", "", "suspend (ms)", "resume (ms)", "apart"
    );
    println!(
        "{:<10}{:>7}  {:<26}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>7}",
        "board",
        "devices",
        "change",
        "before",
        "predict",
        "real",
        "before",
        "predict",
        "real",
        "max"
    );
    let mut rest: Vec<(&(String, Board), Vec<Change>)> = Vec::new();
    for named in boards {
        rest.push((named, changes(bench, &named.1)?));
    }
    // Boards with the same number of CPUs can share a boot.
    rest.sort_by_key(|((_, b), _)| Bench::cpus(b));
    let mut boots: Vec<Group<'_>> = Vec::new();
    while let Some(((_, first), _)) = rest.first() {
        let cpus = Bench::cpus(first);
        let mut devices = 0;
        let n = rest.iter().take_while(|((_, b), changes)| {
            let before = devices;
            devices += b.devices.len() * (1 + changes.len());
            Bench::cpus(b) == cpus && (before == 0 || devices <= DEVICES)
        });
        let later = rest.split_off(n.count());
        boots.push(std::mem::replace(&mut rest, later));
    }
    // Guests do not see one another; their lines come in the order of the boards.
    let next = AtomicUsize::new(0);
    let (send, receive) = channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, 2) {
            let (send, next, boots) = (send.clone(), &next, &boots);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = boots.get(number) else { break };
                    let _ = send.send((number, one_boot(bench, group)));
                }
            });
        }
        drop(send);
        let mut done: BTreeMap<usize, Result<Vec<Judged>>> = BTreeMap::new();
        let mut shown = 0;
        for (number, judged) in receive {
            done.insert(number, judged);
            while let Some(judged) = done.remove(&shown) {
                shown += 1;
                show(judged, score);
            }
        }
    });
    Ok(())
}

/// Boards of one boot, with their changes.
type Group<'a> = Vec<(&'a (String, Board), Vec<Change>)>;

/// A line, and what it says of a change.
type Judged = (String, Option<Held>);

fn show(judged: Result<Vec<Judged>>, score: &mut Score) {
    match judged {
        Ok(lines) => {
            for (line, held) in lines {
                println!("{line}");
                held.iter().for_each(|h| score.add(h));
            }
        }
        // What one boot costs need not cost the others.
        Err(e) => {
            println!("FAILED: {e:#}");
            score.failed += 1;
        }
    }
}

/// What tune and plan propose for `board`; nothing where nothing is to change.
fn changes(bench: &Bench, board: &Board) -> Result<Vec<Change>> {
    let mut out: Vec<Change> = Vec::new();
    let tuned = bench.tune(board, &Options::new(board))?;
    if !tuned.flips.is_empty() || tuned.pm_async.is_some() {
        let off = if tuned.pm_async.is_some() { ", pm_async 0" } else { "" };
        let gap = 100.0 * gap(bench, board, &tuned)?;
        out.push(Change {
            what: format!("tune {} flags{off}, gap {gap:.1} %", tuned.flips.len()),
            after: tuned.apply(board),
        });
    }
    let steps = bench.plan(board)?;
    if !steps.is_empty() {
        out.push(Change { what: words(board, &steps), after: apply(board, &steps).0 });
    }
    Ok(out)
}

/// Runs a few boards, each before and after its changes, and gives a line a
/// change.
fn one_boot(bench: &Bench, group: &Group<'_>) -> Result<Vec<Judged>> {
    let all: Vec<&Board> = group
        .iter()
        .flat_map(|((_, b), changes)| [b].into_iter().chain(changes.iter().map(|c| &c.after)))
        .collect();
    let names = || group.iter().map(|((n, _), _)| n.as_str()).collect::<Vec<_>>().join(", ");
    let recorded = bench.record(&all, &[]).with_context(names)?;
    let mut recorded = recorded.iter();
    let mut lines: Vec<Judged> = Vec::new();
    for ((name, board), changes) in group {
        let before = recorded.next().context("a recording for each board")?;
        if changes.is_empty() {
            let line = format!("{name:<10}{:>7}  nothing to change", board.devices.len());
            lines.push((line, None));
        }
        for c in changes {
            let after = recorded.next().context("a recording for each change")?;
            let held = bench.hold(board, &c.after, [before, after])?;
            lines.push((line(name, board, c, &held), Some(held)));
        }
    }
    Ok(lines)
}

/// How far the tuned board is above what no schedule can beat, as a share.
fn gap(bench: &Bench, board: &Board, tuned: &Tuned) -> Result<f64> {
    let b = bench.outlook(board)?.bounds;
    let bound = b.path(Direction::Suspend) + b.path(Direction::Resume);
    let total = tuned.after.total();
    Ok((total - bound).0 as f64 / total.0.max(1) as f64)
}

fn words(board: &Board, steps: &[Candidate]) -> String {
    let name = |c: &Candidate| board.names.get(board.graph.get(c.device).name).to_string();
    match steps {
        [] => "plan nothing".into(),
        [one] => format!("plan {} {}", one.kind.name(), name(one)),
        [first, rest @ ..] => {
            format!("plan {} {} +{}", first.kind.name(), name(first), rest.len())
        }
    }
}

fn line(name: &str, board: &Board, c: &Change, held: &Held) -> String {
    let mut out = format!(
        "{name:<10}{:>7}  {:<26}",
        board.devices.len(),
        c.what.chars().take(25).collect::<String>()
    );
    for d in [Direction::Suspend, Direction::Resume] {
        let cell = match held.rows.iter().find(|r| r.part == Part::All(d)) {
            Some(r) => format!(
                "{:>8.2}{:>+8.2}{:>+8.2}",
                r.measured.median_a / 1e6,
                r.predicted_change() / 1e6,
                r.measured.difference() / 1e6
            ),
            None => format!("{:>24}", "-"),
        };
        out.push_str(&cell);
    }
    let judged = held.rows.iter().filter(|r| r.is_judged());
    let worst = judged.map(|r| r.off().abs()).fold(0.0, f64::max);
    out.push_str(&format!("{:>7}", format!("{worst:.1} %")));
    for r in held.rows.iter().filter(|r| !r.held()) {
        let part = match r.part {
            Part::All(d) => d.name().to_string(),
            Part::One(p) => dormouse_core::simulate::predict::phase_words(p).into(),
        };
        out.push_str(&format!(
            "\n    MISSED {part}: {:.2} ms, predicted {:+.2}, real {:+.2}",
            r.measured.median_a / 1e6,
            r.predicted_change() / 1e6,
            r.measured.difference() / 1e6
        ));
    }
    out
}
