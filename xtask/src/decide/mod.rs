//! What `make prove SUBJECT=decide` prints: tune and plan on boards, predicted and then run
//! on a real kernel.

mod bench;
mod score;

pub(crate) use bench::Bench;

use anyhow::{Context, Result, anyhow, bail};
use bench::{Holds, Measuring, ProfileFile};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::{self, Board};
use dormouse_read::Reading;
use dormouse_sleep::plan::candidate::{Candidate, apply};
use dormouse_sleep::tune::evidence::evidence;
use dormouse_sleep::tune::{Options, Tuned};
use dormouse_sleep::validate::{Held, Part};
use score::Score;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Devices that one boot takes: so many that starting the kernel does not
/// dominate, so few that a failure does not cost everything.
const DEVICES: usize = 500;

/// One change of one board.
struct Change {
    what: String,
    after: Board,
}

/// `decide [--profile SERIES:CPUS=FILE]… --kernel SERIES… [--jobs N] [--boots N] [--keep FOLDER]
/// [--exhaustive BOARD]… BOARD…`.
/// True if everything held.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let mut kernels: Vec<String> = Vec::new();
    let mut profiles: Vec<ProfileFile> = Vec::new();
    let mut small: Vec<PathBuf> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let mut jobs = 1;
    let mut measuring = Measuring { boots: 3, kept: None };
    let mut args = args.iter();
    while let Some(a) = args.next() {
        let mut value = || args.next().with_context(|| format!("{a} needs a value"));
        match a.as_str() {
            "--kernel" => kernels.push(value()?.clone()),
            "--profile" => profiles.push(ProfileFile::parse(value()?)?),
            "--jobs" => jobs = value()?.parse()?,
            "--boots" => measuring.boots = value()?.parse()?,
            "--keep" => measuring.kept = Some(value()?.into()),
            "--exhaustive" => small.push(value()?.into()),
            _ => files.push(a.into()),
        }
    }
    let boards: Vec<(String, Board)> =
        files.iter().map(|f| read_board(f)).collect::<Result<_>>()?;
    let small: Vec<(String, Board)> = small.iter().map(|f| read_board(f)).collect::<Result<_>>()?;
    let mut score = Score::default();
    for series in &kernels {
        let bench = Bench::open(series, &profiles, &measuring)?;
        println!("\n== {}, costs: {}", bench.kernel.release, bench.costs());
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
    print!("{score}");
    println!("{}", if score.missed() { "MISSED" } else { "held" });
    Ok(!score.missed())
}

/// A board file with the name of the board.
pub(crate) fn read_board(path: &Path) -> Result<(String, Board)> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let board = dormouse_board::parse(&text).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), board))
}

/// Tune beside a loop over every setting, written apart from its search.
fn optimum(bench: &Bench<'_>, boards: &[(String, Board)], score: &mut Score) -> Result<()> {
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
    bench: &Bench<'_>,
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
    let tasks: Vec<(usize, u32)> = (0..boots.len())
        .flat_map(|g| (1..=bench.boots(&boots[g][0].0.1)).map(move |boot| (g, boot)))
        .collect();
    let next = AtomicUsize::new(0);
    let (send, receive) = channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, 2) {
            let (send, next, boots, tasks) = (send.clone(), &next, &boots, &tasks);
            scope.spawn(move || {
                while let Some(&(group, boot)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let recorded = record(bench, &boots[group], boot);
                    let _ = send.send((group, boot, recorded));
                }
            });
        }
        drop(send);
        let mut done: BTreeMap<(usize, u32), Result<Vec<Reading>>> = BTreeMap::new();
        let mut shown = 0;
        for (group, boot, recorded) in receive {
            done.insert((group, boot), recorded);
            while let Some(group) = boots.get(shown) {
                let wanted = bench.boots(&group[0].0.1);
                if done.range((shown, 0)..(shown + 1, 0)).count() < wanted as usize {
                    break;
                }
                let all: Result<Vec<_>> =
                    (1..=wanted).filter_map(|b| done.remove(&(shown, b))).collect();
                show(all.and_then(|all| judge(bench, group, &all)), score);
                shown += 1;
            }
        }
    });
    Ok(())
}

/// Boards of one boot, with their changes.
type Group<'a> = Vec<(&'a (String, Board), Vec<Change>)>;

/// A line, and what it says of a change.
type Judged = (String, Option<Holds>);

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
fn changes(bench: &Bench<'_>, board: &Board) -> Result<Vec<Change>> {
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

/// Runs a few boards in one boot, each before and after its changes.
fn record(bench: &Bench<'_>, group: &Group<'_>, boot: u32) -> Result<Vec<Reading>> {
    let all: Vec<&Board> = group
        .iter()
        .flat_map(|((_, b), changes)| [b].into_iter().chain(changes.iter().map(|c| &c.after)))
        .collect();
    let names = || group.iter().map(|((n, _), _)| n.as_str()).collect::<Vec<_>>().join(", ");
    bench.record_boot(&all, boot).with_context(names)
}

/// A line a change, from what each boot gave of each board of the group.
fn judge(bench: &Bench<'_>, group: &Group<'_>, recorded: &[Vec<Reading>]) -> Result<Vec<Judged>> {
    let mut number = 0..;
    let mut of_next = || -> Vec<&Reading> {
        let i = number.next().unwrap_or(0);
        recorded.iter().filter_map(|boot| boot.get(i)).collect()
    };
    let mut lines: Vec<Judged> = Vec::new();
    for ((name, board), changes) in group {
        let before = of_next();
        if changes.is_empty() {
            let line = format!("{name:<10}{:>7}  nothing to change", board.devices.len());
            lines.push((line, None));
        }
        for c in changes {
            let held = bench.hold([board, &c.after], [&before, &of_next()])?;
            lines.push((line(name, board, c, &held.machine), Some(held)));
        }
    }
    Ok(lines)
}

/// How far the tuned board is above what no schedule can beat, as a share.
fn gap(bench: &Bench<'_>, board: &Board, tuned: &Tuned) -> Result<f64> {
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
                r.measured.median[0] / 1e6,
                r.predicted_change() / 1e6,
                r.measured.difference / 1e6
            ),
            None => format!("{:>24}", "-"),
        };
        out.push_str(&cell);
    }
    let judged = held.rows.iter().filter(|r| r.is_judged());
    let worst = judged.map(|r| r.off().abs()).fold(0.0, f64::max);
    out.push_str(&format!("{:>7}", format!("{worst:.1} %")));
    for r in &held.rows {
        let word = match (r.held(), r.rests_on_spread()) {
            (false, _) => "MISSED",
            (true, true) => "within the spread",
            (true, false) => continue,
        };
        let part = match r.part {
            Part::All(d) => d.name().to_string(),
            Part::One(p) => p.title().into(),
        };
        out.push_str(&format!(
            "\n    {word}: {part}, {:.2} ms, predicted {:+.2}, real {:+.2}, boots differ by {:.2}, \
             draws by {:.2}",
            r.measured.median[0] / 1e6,
            r.predicted_change() / 1e6,
            r.measured.difference / 1e6,
            r.spread / 1e6,
            r.drawn / 1e6
        ));
    }
    out
}
