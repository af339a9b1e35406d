//! `dormouse watch`: every sleep of this machine is kept, and since when they are worse.

use crate::terminal;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dormouse_app::failure::{Nothing, Usage};
use dormouse_base::say::plural;
use dormouse_capture::schema::Clocks;
use dormouse_history::columns::{Cell, columns, object};
use dormouse_history::hooks::{self, is_hooked};
use dormouse_history::store::{Error, History, Store};
use dormouse_history::{FOLDER, Kept, Night, Row, SPARE, Since, judged, of_logs};
use dormouse_machine::measure;
use dormouse_machine::process::is_root;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_read::container::Bytes;
use dormouse_read::detect::is_database;
use dormouse_words::document::{WATCH, document, section};
use dormouse_words::history::{self as written, Shown};
use dormouse_words::wording::next;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Keep every sleep of this machine, and say since when they are worse (needs root).
///
/// Without options it shows the nights that are kept. --install makes hooks that keep a row
/// a sleep in /var/lib/dormouse/history.db: times, depth, what woke it, batteries, failures,
/// versions; no name of a host and no serial number. It traces nothing. docs/history.md says
/// how changes are found, and how often by chance.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse watch --install\n  dormouse watch --past journal.export"
)]
pub(crate) struct WatchArgs {
    /// Say which hooks would be made; with --yes make them.
    #[arg(long, group = "what")]
    install: bool,
    /// Say what would be removed: hooks and all that is kept; with --yes remove it.
    #[arg(long, group = "what")]
    uninstall: bool,
    /// Really install or uninstall.
    #[arg(long, hide = true)]
    yes: bool,
    /// Fill the past from logs: journalctl -k -o export, or any log whose lines have a year.
    #[arg(long, value_name = "LOG", num_args = 1.., group = "what")]
    past: Vec<PathBuf>,
    /// What a hook calls before a sleep: it has it read, and waits 40 ms at most for that.
    #[arg(long, group = "what", hide = true)]
    before: bool,
    /// What a hook calls after a sleep: it keeps the row.
    #[arg(long, group = "what", hide = true)]
    after: bool,
    /// Everything, for programs (docs/history.md).
    #[arg(long)]
    json: bool,
    /// Look for all files below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
    /// Clocks of --before and --after, ns: monotonic,boot,real (for tests).
    #[arg(long, value_name = "NS,NS,NS", hide = true, value_parser = clocks)]
    at: Option<Clocks>,
    /// Read in this process, however long it takes: --before starts itself so, with the clocks
    /// of its own start.
    #[arg(long, value_name = "NS,NS,NS", hide = true, value_parser = clocks)]
    here: Option<Clocks>,
}

/// `show` of a file that `watch` keeps.
#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A database of SQLite.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Everything, for programs (docs/history.md).
    #[arg(long, group = "form")]
    json: bool,
    /// One line a sleep, for spreadsheets.
    #[arg(long, group = "form")]
    csv: bool,
}

fn clocks(text: &str) -> Result<Clocks, String> {
    let all: Option<Vec<i64>> = text.split(',').map(|n| n.parse().ok()).collect();
    match all.as_deref() {
        Some(&[monotonic_before, boottime_before, realtime_before]) => {
            Ok(Clocks { monotonic_before, boottime_before, realtime_before, ..Clocks::default() })
        }
        _ => Err("give three numbers".into()),
    }
}

/// So long a reading before a sleep is waited for (chosen: nobody feels it). To start two
/// processes comes on top, and on a busy machine that is more.
const BUDGET: Duration = Duration::from_millis(40);

/// Runs the verb.
pub(crate) fn run(args: &WatchArgs) -> Result<()> {
    let root = Root::below(&args.root);
    if args.before {
        let Some(begun) = args.here else {
            return bounded(args.at.unwrap_or_else(measure::clocks));
        };
        return dormouse_history::before(&root, begun, args.at)
            .context("what was read before this sleep cannot be kept");
    }
    if args.after {
        dormouse_history::after(&root, args.at).context("this sleep cannot be kept")?;
        return Ok(());
    }
    if args.install || args.uninstall {
        let done = hooked(args, &root);
        let next = match (args.install, args.yes) {
            (true, false) => "watch --install --yes",
            (false, false) => "watch --uninstall --yes",
            (true, true) => "watch",
            (false, true) => "check",
        };
        return terminal::print(&written::installed(&done?, !args.yes, next));
    }
    let past = if args.past.is_empty() { None } else { Some(told_by(&args.past)?) };
    if past.is_none() && [FOLDER, SPARE].iter().all(|f| holds_nothing(&root, f)) {
        let begin = match is_hooked(&root) {
            true => "the hooks wait for the first one",
            false => "dormouse watch --install begins",
        };
        bail!(Nothing(format!("no sleep of this machine is kept; {begin}")));
    }
    let mut kept = match Kept::open(&root, past.is_some()) {
        Err(Error::Sqlite(why)) if !is_root() => {
            bail!("the history belongs to root, which alone may read it: {why}; try sudo")
        }
        other => other?,
    };
    let mut remarks = std::mem::take(&mut kept.remarks);
    if let Some((rows, undated)) = past {
        let (new, all) = (kept.add_past(&rows)?, plural(rows.len(), "sleep"));
        remarks.push(format!("The logs tell of {all}; {new} of them were not kept yet."));
        if undated > 0 {
            remarks.push(format!("Further {undated} have no date: {YEAR}."));
        }
    }
    let next = if is_hooked(&root) { "check" } else { "watch --install" };
    let history = kept.history()?;
    remarks.extend(unread(&history));
    let known = known(&history);
    let shown = known.shown(&remarks, next);
    terminal::print(&match args.json {
        true => document(WATCH, "sleep", json(&shown)),
        false => written::text(&shown, terminal::wants_colour()),
    })
}

/// Whether a folder is not there or empty; of one that may not be looked into nobody knows.
fn holds_nothing(root: &Root, folder: &str) -> bool {
    !root.exists(folder)
        || std::fs::read_dir(root.resolve(folder)).is_ok_and(|mut all| all.next().is_none())
}

/// Installs or uninstalls.
fn hooked(args: &WatchArgs, root: &Root) -> Result<hooks::Done> {
    let done = if args.install {
        let program = std::env::current_exe().context("cannot tell where this program lies")?;
        hooks::install(root, &program, &next::word(&program.display().to_string()), args.yes)
    } else {
        hooks::uninstall(root, args.yes)
    };
    done.map_err(|e| match e {
        hooks::Error::Refused(why) => anyhow::Error::new(Usage(why)),
        e => e.into(),
    })
}

/// Which logs tell when.
const YEAR: &str = "a log whose lines have a year is needed: journalctl -k -o export";

/// The sleeps of logs, and how many have no date.
fn told_by(logs: &[PathBuf]) -> Result<(Vec<Row>, usize)> {
    let (rows, undated) = of_logs(&Given::new(logs))?;
    let what = match undated {
        0 => "no sleep with an end in it",
        _ => "the sleeps of the log have no date",
    };
    ensure!(!rows.is_empty(), Nothing(format!("{what}; {YEAR}")));
    Ok((rows, undated))
}

/// Lets another process read, and leaves it alone if it takes too long: a gauge that does not
/// answer holds whoever waits for it, and may not let go. The other is frozen with all tasks then;
/// by the clocks of `before` it knows later that the machine slept meanwhile.
fn bounded(before: Clocks) -> Result<()> {
    let begun = Instant::now();
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    let mut words: Vec<_> = terminal::arguments();
    let Clocks { monotonic_before, boottime_before, realtime_before, .. } = before;
    words.push("--here".into());
    words.push(format!("{monotonic_before},{boottime_before},{realtime_before}").into());
    let mut child = Command::new(program).args(words).stdin(Stdio::null()).spawn()?;
    while begun.elapsed() < BUDGET {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The bytes of an input, if it is a database; no folder and no archive is looked into.
fn database(given: &Given, path: &std::path::Path) -> Option<std::sync::Arc<Bytes>> {
    if path.is_dir() {
        return None;
    }
    given.raw(path).ok().filter(|b| is_database(b))
}

/// Whether one of the inputs is a database.
pub(crate) fn holds(given: &Given) -> bool {
    given.paths().iter().any(|p| database(given, p).is_some())
}

/// Shows the histories that are given.
pub(crate) fn show(args: &ShowArgs, given: &Given) -> Result<()> {
    let of = |p: &PathBuf| Some((p.display().to_string(), database(given, p)?));
    let all: Vec<_> = args.inputs.iter().filter_map(of).collect();
    if all.is_empty() {
        bail!(Nothing("no history of sleeps (dormouse watch keeps one)".into()));
    }
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for (name, bytes) in all {
        let history = Store::of_bytes(&bytes).and_then(|s| s.history());
        let history = history.with_context(|| format!("{name} cannot be shown"))?;
        let damaged = history.damage.as_ref();
        let damaged =
            damaged.map(|why| format!("It is damaged ({why}); this is what can be read of it."));
        let remarks: Vec<String> = damaged.into_iter().chain(unread(&history)).collect();
        let command = format!("show --json {}", next::typed(&name));
        if args.csv {
            rows.extend(history.rows);
            continue;
        }
        let known = known(&history);
        let shown = known.shown(&remarks, &command);
        match args.json {
            true => parts.push(json(&shown)),
            false => terminal::print(&written::text(&shown, terminal::wants_colour()))?,
        }
    }
    if args.csv {
        return terminal::print(&csv(&rows));
    }
    // Of several each is one of a list.
    match parts.pop() {
        None => Ok(()),
        Some(one) if parts.is_empty() => terminal::print(&section(one)),
        Some(last) => {
            parts.push(last);
            terminal::print(&section(parts))
        }
    }
}

/// What is said of lines that hold nothing.
fn unread(history: &History) -> Option<String> {
    let lines = plural(history.unread, "line");
    (history.unread > 0).then(|| format!("Of {lines} of its tables nothing can be made."))
}

/// A history, and what follows from it.
struct Known<'a> {
    rows: &'a [Row],
    nights: Vec<Night>,
    since: Vec<Since>,
    faults: Vec<(i64, String)>,
}

fn known(history: &History) -> Known<'_> {
    let (nights, since) = judged(history);
    let faults = history.faults.iter().map(|f| (f.at_ms, f.what.clone())).collect();
    Known { rows: &history.rows, nights, since, faults }
}

impl Known<'_> {
    fn shown<'a>(&'a self, remarks: &'a [String], next: &'a str) -> Shown<'a> {
        let Known { rows, nights, since, faults } = self;
        Shown { rows, nights, since, remarks, faults, next }
    }
}

fn json(shown: &Shown<'_>) -> serde_json::Value {
    written::json(shown, shown.rows.iter().map(object).collect())
}

fn csv(rows: &[Row]) -> String {
    let all = columns();
    let names: Vec<&str> = all.iter().map(|c| c.name).collect();
    let cells = |r| {
        let cell = |c: &dormouse_history::columns::Column| match (c.get)(r) {
            Cell::None => String::new(),
            Cell::Number(n) => n.to_string(),
            Cell::Text(t) => t,
        };
        all.iter().map(cell).collect()
    };
    written::csv(&names, rows.iter().map(cells))
}
