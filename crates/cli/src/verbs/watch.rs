//! `dormouse watch`: every sleep of this machine is kept, and since when they are worse.

use crate::terminal;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dormouse_app::failure::{Nothing, Usage};
use dormouse_base::say::plural;
use dormouse_history::columns::{Cell, columns, object};
use dormouse_history::store::{Error, History, Store};
use dormouse_history::{FOLDER, Kept, Row, judged, of_logs, traces};
use dormouse_machine::process::is_root;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_read::capture_file::schema::Clocks;
use dormouse_read::container::Bytes;
use dormouse_read::detect::is_database;
use dormouse_words::document::{WATCH, document, section};
use dormouse_words::history::{self as written, Hook, Shown, UNIT, WANTED};
use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    /// What a hook calls before a sleep: it reads, and is back within 50 ms.
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
    /// Read in this process, however long it takes: --before starts itself so.
    #[arg(long, hide = true)]
    here: bool,
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

/// What a reading before a sleep may take: with the start of two processes it is 50 ms.
const BUDGET: Duration = Duration::from_millis(40);

/// Runs the verb.
pub(crate) fn run(args: &WatchArgs) -> Result<()> {
    let root = Root::below(&args.root);
    if args.before && !args.here {
        return bounded();
    }
    if args.before {
        return dormouse_history::before(&root, args.at)
            .context("what was read before this sleep cannot be kept");
    }
    if args.after {
        dormouse_history::after(&root, args.at).context("this sleep cannot be kept")?;
        return Ok(());
    }
    if args.install || args.uninstall {
        let done = if args.install { install(&root, args.yes) } else { uninstall(&root, args.yes) };
        let next = match (args.install, args.yes) {
            (true, false) => "watch --install --yes",
            (false, false) => "watch --uninstall --yes",
            (true, true) => "watch",
            (false, true) => "check",
        };
        return terminal::print(&written::installed(&done?, !args.yes, next));
    }
    let past = if args.past.is_empty() { None } else { Some(told_by(&args.past)?) };
    if past.is_none() && !root.exists(FOLDER) {
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
    print(&kept.history(), &remarks, (args.json, false), next, |v| document(WATCH, "sleep", v))
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

/// Whether hooks of ours are there.
fn is_hooked(root: &Root) -> bool {
    written::hooks("").iter().any(|h| root.exists(h.path))
}

/// Lets another process read, and leaves it alone if it takes too long: a disk that does not
/// answer holds whoever waits for it, and cannot be made to let go.
fn bounded() -> Result<()> {
    let begun = Instant::now();
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    let mut words: Vec<_> = terminal::arguments();
    words.push("--here".into());
    let mut child = Command::new(program).args(words).stdin(Stdio::null()).spawn()?;
    while begun.elapsed() < BUDGET {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn is_real(root: &Root) -> bool {
    root.resolve("/") == std::path::Path::new("/")
}

fn may(root: &Root) -> Result<()> {
    ensure!(
        !is_real(root) || is_root(),
        Usage("only root may change the hooks: sudo dormouse watch …".into())
    );
    Ok(())
}

/// The hooks for what runs this machine.
fn hooks(root: &Root) -> Result<Vec<Hook>> {
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    let private = ["/home", "/root", "/tmp", "/var/tmp", "/run"];
    let is_private = is_real(root) && private.iter().any(|p| program.starts_with(p));
    let why = format!(
        "a hook cannot rely on {}: copy dormouse to /usr/local/bin, and install it from there",
        program.display()
    );
    ensure!(!is_private, Usage(why));
    let folders = |of: &str| match of {
        "systemd" => vec!["/run/systemd/system"],
        "elogind" => {
            vec!["/etc/elogind", "/usr/lib/elogind", "/lib/elogind", "/usr/libexec/elogind"]
        }
        _ => vec!["/etc/pm/sleep.d"],
    };
    let mut all = written::hooks(&program.display().to_string());
    all.retain(|h| folders(h.of).iter().any(|f| root.exists(f)));
    // One is enough: elogind takes the place of systemd, and pm-utils is older than both.
    all.truncate(1);
    let why = "neither systemd, elogind nor pm-utils runs this machine; let whatever sends it to \
               sleep call dormouse watch --before, and --after when it is back";
    ensure!(!all.is_empty(), Usage(why.into()));
    Ok(all)
}

/// The first line of a hook of ours.
const OURS: &str = "Made by dormouse watch --install";

type Done = Vec<(String, &'static str)>;

fn install(root: &Root, yes: bool) -> Result<Done> {
    let mut done = Done::new();
    let hooks = hooks(root)?;
    if yes {
        may(root)?;
    }
    for h in hooks {
        let place = root.resolve(h.path);
        let there = fs::read_to_string(&place).unwrap_or_default();
        ensure!(
            there.is_empty() || there.contains(OURS),
            Usage(format!("{} is there, and none of ours: it is left alone", h.path))
        );
        done.push((
            h.path.to_string(),
            if h.runs { "write the program" } else { "write the unit" },
        ));
        if !yes {
            for line in h.text.lines() {
                done.push((format!("| {line}"), ""));
            }
        }
        let link = root.resolve(WANTED);
        let is_unit = h.path == UNIT;
        if is_unit {
            done.push((WANTED.into(), "link it from"));
        }
        if !yes {
            continue;
        }
        let failed = || format!("cannot write {}", place.display());
        if let Some(above) = place.parent() {
            fs::create_dir_all(above).with_context(failed)?;
        }
        fs::write(&place, &h.text).with_context(failed)?;
        let mode = fs::Permissions::from_mode(if h.runs { 0o755 } else { 0o644 });
        fs::set_permissions(&place, mode).with_context(failed)?;
        if is_unit {
            if let Some(above) = link.parent() {
                fs::create_dir_all(above).with_context(failed)?;
            }
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink("../dormouse-history.service", &link)
                .with_context(failed)?;
            reload(root);
        }
    }
    Ok(done)
}

/// Lets systemd see the unit, of the machine itself.
fn reload(root: &Root) {
    if is_real(root) {
        let _ = Command::new("systemctl").arg("daemon-reload").stdin(Stdio::null()).status();
    }
}

fn uninstall(root: &Root, yes: bool) -> Result<Done> {
    let ours = |path: &&str| fs::read_to_string(root.resolve(path)).is_ok_and(|t| t.contains(OURS));
    let hooks = written::hooks("");
    let files: Vec<&str> = hooks.iter().map(|h| h.path).filter(ours).collect();
    // What it points to may be gone.
    let linked = root.resolve(WANTED).is_symlink();
    let mut paths: Vec<String> = linked.then(|| WANTED.to_string()).into_iter().collect();
    paths.extend(files.into_iter().map(String::from));
    paths.extend(traces(root));
    if yes {
        may(root)?;
        for path in &paths {
            let place = root.resolve(path);
            let gone = match place.is_dir() && !place.is_symlink() {
                true => fs::remove_dir(&place),
                false => fs::remove_file(&place),
            };
            gone.with_context(|| format!("cannot remove {}", place.display()))?;
        }
        let wants = root.resolve(WANTED);
        // Not empty, if others want something of a sleep too.
        if let Some(above) = wants.parent().filter(|_| linked) {
            let _ = fs::remove_dir(above);
            reload(root);
        }
    }
    Ok(paths.into_iter().map(|p| (p, "remove")).collect())
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
    for (name, bytes) in all {
        let store = Store::of_bytes(&bytes);
        let history = store.with_context(|| format!("{name} cannot be shown"))?.history();
        let damaged = history.damage.as_ref();
        let damaged =
            damaged.map(|why| format!("It is damaged ({why}); this is what can be read of it."));
        let remarks: Vec<String> = damaged.into_iter().collect();
        let next = format!("show --json {}", dormouse_words::wording::next::typed(&name));
        print(&history, &remarks, (args.json, args.csv), &next, section)?;
    }
    Ok(())
}

fn print(
    history: &History,
    remarks: &[String],
    (json, csv): (bool, bool),
    next: &str,
    whole: impl Fn(serde_json::Value) -> String,
) -> Result<()> {
    let (nights, since) = judged(history);
    let faults: Vec<(i64, String)> =
        history.faults.iter().map(|f| (f.at_ms, f.what.clone())).collect();
    let (rows, since, faults) = (&history.rows[..], &since[..], &faults[..]);
    let shown = Shown { rows, nights: &nights, since, remarks, faults, next };
    if csv {
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
        return terminal::print(&written::csv(&names, history.rows.iter().map(cells)));
    }
    if json {
        return terminal::print(&whole(written::json(&shown, rows.iter().map(object).collect())));
    }
    terminal::print(&written::text(&shown, terminal::wants_colour()))
}
