//! `dormouse sync`: write what sleep would sync, before it.

use super::restore;
use crate::exit::{self, Ended};
use crate::recording::{observer, restore_on_panic};
use crate::terminal::{print, wrote};
use anyhow::{Context, Result};
use clap::Args;
use dormouse_base::time::Ns;
use dormouse_machine::journal;
use dormouse_machine::presync::flush::{self, Done, Program};
use dormouse_machine::presync::mount::Why;
use dormouse_machine::presync::{self, Ask, End, Error, Outcome, Seen, Until, Watched};
use dormouse_machine::process::{is_root, make_executable, stop_on_signal};
use dormouse_machine::root::Root;
use dormouse_words::presync as written;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Write data before a sleep, so that its own sync is short (root).
///
/// It never sleeps itself, and loses nothing: the kernel's own sync stays on. A wakeup or Ctrl-C
/// ends it within 0.2 s. It does not touch file systems that need a server. Its one setting is put
/// back at the end; after `kill -9`, `dormouse restore` does it. Exit code 6: a wakeup came; 7: not
/// ready in time; 8: data cannot be written; 9: it cannot work here.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse sync --dry-run\n  dormouse sync --budget 10s --until 4MiB --arm"
)]
pub struct SyncArgs {
    /// All the time that it may take; with 0 nothing is written.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    budget: Duration,
    /// Call it short when every disk has so much left: a time, or bytes on all
    /// together, such as 4MiB.
    #[arg(long, value_name = "TIME|BYTES", default_value = "200ms", value_parser = until)]
    until: Until,
    /// At the end, let wakeups since the start end the next sleep.
    #[arg(long)]
    arm: bool,
    /// Write the files to DIR that run this before each sleep, and do nothing else.
    #[arg(long, value_name = "DIR")]
    hook: Option<PathBuf>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Folder of the journal of changed settings; keep it off disks that sleep.
    #[arg(long, value_name = "DIR", hide = true, default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
    /// Sync the file system of standard input: what a child does.
    #[arg(long, hide = true)]
    child: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    dormouse_board::parse_duration(text).map(|t| Duration::from_nanos(t.0.unsigned_abs()))
}

fn until(text: &str) -> Result<Until, String> {
    const UNITS: [(&str, u64); 6] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let Some((number, unit)) =
        UNITS.iter().find_map(|(u, n)| Some((text.strip_suffix(u)?.trim_end(), n)))
    else {
        return time(text).map(Until::Time);
    };
    let bytes = number.parse().ok().and_then(|n: u64| n.checked_mul(*unit));
    bytes
        .map(Until::Bytes)
        .ok_or_else(|| "write a time such as 200ms, or bytes such as 4MiB".into())
}

/// Runs the verb.
///
/// # Errors
/// What went wrong, which has a code of [`crate::exit`].
pub fn run(args: &SyncArgs) -> Result<()> {
    if args.child {
        // The number of an error, all of which fit (errno(3)).
        return match u8::try_from(flush::child()).unwrap_or(u8::MAX) {
            0 => Ok(()),
            code => Err(Ended(code).into()),
        };
    }
    if let Some(dir) = &args.hook {
        return hook(dir);
    }
    let root = Root::below(&args.root);
    if args.dry_run {
        return asked(args, &presync::look(&root)?);
    }
    if args.root == Path::new("/") && !is_root() {
        return Err(Error::NotRoot.into());
    }
    let ask = Ask {
        budget: args.budget,
        until: args.until,
        arm: args.arm,
        journal: args.journal.clone(),
        child: Program(["/proc/self/exe", "sync", "--child"].map(String::from).to_vec()),
    };
    let stop = stop_on_signal().context("cannot watch for Ctrl-C")?;
    restore_on_panic(&root, &ask.journal);
    let outcome = presync::run(&root, &ask, &stop, &mut *observer()?)?;
    say(args, &outcome)?;
    restore::complain(&outcome.restored)?;
    match code(&outcome) {
        exit::SUCCESS => Ok(()),
        code => Err(Ended(code).into()),
    }
}

fn code(o: &Outcome) -> u8 {
    if o.write_error() {
        return exit::NOT_WRITTEN;
    }
    match o.end {
        End::Short | End::Nothing => exit::SUCCESS,
        End::Wakeup(_) | End::Signal => exit::WOKEN,
        End::Spent | End::Stuck { .. } => exit::SPENT,
    }
}

fn ns(d: Duration) -> Ns {
    Ns(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

fn left(w: &Why) -> written::Left {
    match w {
        Why::Server => written::Left::Server,
        Why::Below => written::Left::Below,
        Why::NotOpened => written::Left::NotOpened,
    }
}

fn disk(w: &Watched) -> written::Disk<'_> {
    let ms = |n: u64| Ns::from_ms(i64::try_from(n).unwrap_or(i64::MAX / 1_000_000));
    written::Disk {
        name: &w.disk.name,
        before: w.disk.first.left(),
        written: w.disk.written(),
        left: w.disk.last.left(),
        busy: ms(w.disk.busy_until),
        rest: ms(w.disk.ms_left()),
        mounts: &w.mounts,
    }
}

fn say(args: &SyncArgs, o: &Outcome) -> Result<()> {
    let disks: Vec<_> = o.disks.iter().map(disk).collect();
    let why = |n: &i32| io::Error::from_raw_os_error(*n).to_string();
    let failed: Vec<String> = o
        .flushed
        .iter()
        .map(|f| if let Done::Failed(n) = &f.done { why(n) } else { String::new() })
        .collect();
    let flushed: Vec<(&str, written::Flushed<'_>)> = o
        .flushed
        .iter()
        .zip(&failed)
        .map(|(f, why)| {
            let done = match f.done {
                Done::Written(d) => written::Flushed::Written(ns(d)),
                Done::Running => written::Flushed::Running,
                Done::Failed(_) => written::Flushed::Failed(why),
            };
            (f.mount.at.as_str(), done)
        })
        .collect();
    let skipped: Vec<_> =
        o.skipped.iter().map(|s| (&s.at[..], &s.kind[..], left(&s.why))).collect();
    print(&written::presynced(&written::Presynced {
        end: match &o.end {
            End::Short => written::End::Short,
            End::Wakeup(who) => written::End::Wakeup(who),
            End::Signal => written::End::Signal,
            End::Spent => written::End::Spent,
            End::Stuck { disk, written, dirtied } => written::End::Stuck(disk, *written, *dirtied),
            End::Nothing => written::End::Nothing,
        },
        disks: &disks,
        flushed: &flushed,
        skipped: &skipped,
        took: ns(o.took),
        budget: ns(args.budget),
        apart: o.apart,
        counted: o.counted,
        armed: o.armed,
    }))
}

fn asked(args: &SyncArgs, seen: &Seen) -> Result<()> {
    let disks: Vec<_> = seen.disks.iter().map(disk).collect();
    let flushed: Vec<_> =
        seen.chosen.iter().map(|m| (m.at.as_str(), written::Flushed::Asked)).collect();
    let skipped: Vec<_> =
        seen.skipped.iter().map(|s| (&s.at[..], &s.kind[..], left(&s.why))).collect();
    print(&written::presynced(&written::Presynced {
        end: written::End::Asked,
        disks: &disks,
        flushed: &flushed,
        skipped: &skipped,
        took: Ns::ZERO,
        budget: ns(args.budget),
        apart: seen.apart,
        counted: true,
        armed: false,
    }))
}

/// Writes the files that run this before each sleep.
fn hook(dir: &Path) -> Result<()> {
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    for (name, text, executable) in written::hooks(&program.display().to_string()) {
        let path = dir.join(name);
        let failed = || format!("cannot write {}", path.display());
        std::fs::write(&path, text).with_context(failed)?;
        if executable {
            make_executable(&path).with_context(failed)?;
        }
        wrote(&path, "; its head says how to install and undo it.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_is_a_time_or_bytes() {
        assert_eq!(until("200ms"), Ok(Until::Time(Duration::from_millis(200))));
        assert_eq!(until("4MiB"), Ok(Until::Bytes(4 << 20)));
        assert_eq!(until("4 MB"), Ok(Until::Bytes(4_000_000)));
        for bad in ["", "MiB", "4M", "-1MB", "99999999999999GiB", "1.5MiB"] {
            assert!(until(bad).is_err(), "{bad}");
        }
    }
}
