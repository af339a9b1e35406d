//! Letting this machine sleep as `record` and `tune --apply` do: how it sleeps,
//! what is said meanwhile, and the ways out.

use crate::number::{any, number};
use crate::terminal;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dormouse_machine::guard::{self, NoObserver, Observer, Step};
use dormouse_machine::journal::{self, Entry};
use dormouse_machine::options::{Detail, Options, State, Wake};
use dormouse_machine::process::{CrashAt, is_root, stop_on_signal};
use dormouse_machine::recorder::{Progress, Watch};
use dormouse_machine::root::Root;
use dormouse_words::text::page::Page;
use indicatif::{ProgressBar, ProgressStyle};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to sleep.
#[derive(Args)]
pub struct SleepArgs {
    /// Sleep state: what is written to /sys/power/state.
    #[arg(long, value_enum, default_value_t = Mode::Mem)]
    mode: Mode,
    /// What `mem` means: deep or s2idle [default: as the machine has it].
    #[arg(long, value_name = "NAME")]
    mem_sleep: Option<String>,
    /// Come back by itself at this point instead of sleeping: freezer, devices,
    /// platform, processors or core.
    #[arg(long, value_name = "LEVEL")]
    pm_test: Option<String>,
    /// What wakes the machine: rtc, rtc:SECONDS, external (a key, a lid, …), or
    /// external:DEVICE to enable that device of /sys/devices for it.
    #[arg(long, value_name = "SOURCE", default_value = "rtc:15", value_parser = wake)]
    wake: Wake,
    /// Seconds between cycles [default: 5, with --pm-test 1].
    #[arg(long, value_name = "S", value_parser = any)]
    interval: Option<u64>,
    /// Set /sys/power/sync_on_suspend while recording.
    #[arg(long, value_name = "0|1", value_parser = bit)]
    sync_on_suspend: Option<bool>,
    /// Leave the console's log level alone, and the lines of each callback
    /// (pm_print_times). A slow console costs milliseconds a line, but shows
    /// where a machine hangs, as does one in pstore.
    #[arg(long)]
    verbose_console: bool,
    /// Trace buffer of each CPU in KiB [default: enough for the devices].
    #[arg(long, value_name = "KIB", value_parser = number::<u64>(64, 4_194_304))]
    buffer: Option<u64>,
    /// Really do it. Without, only say what would be done.
    #[arg(long)]
    pub yes: bool,
    /// Print every write that would be made, and make none.
    #[arg(long)]
    pub dry_run: bool,
    /// Folder of the journal of changed settings; keep it off disks that sleep.
    #[arg(long, value_name = "DIR", default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// What mem_sleep says: suspend-to-RAM or suspend-to-idle.
    Mem,
    /// Suspend-to-idle.
    Freeze,
    /// Standby.
    Standby,
}

fn wake(text: &str) -> Result<Wake, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match (kind, rest) {
        ("rtc", "") => Ok(Wake::Rtc { seconds: 15 }),
        ("rtc", s) => match s.parse() {
            Ok(seconds) if (2..=86_400).contains(&seconds) => Ok(Wake::Rtc { seconds }),
            _ => Err("seconds must be a number from 2 to 86400".into()),
        },
        ("external", "") => Ok(Wake::External { enable: Vec::new() }),
        ("external", d) if d.starts_with("/sys/devices/") => {
            Ok(Wake::External { enable: vec![d.into()] })
        }
        ("external", _) => Err("the device must be given as /sys/devices/…".into()),
        _ => Err("use rtc, rtc:SECONDS, external or external:/sys/devices/…".into()),
    }
}

/// A group of events.
///
/// # Errors
/// The groups there are.
pub fn detail(text: &str) -> Result<Detail, String> {
    let all = Detail::ALL.map(Detail::name).join(", ");
    Detail::find(text).ok_or_else(|| format!("use one or more of: {all}"))
}

/// `0` or `1`.
pub(crate) fn bit(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("use 0 or 1".into()),
    }
}

impl SleepArgs {
    /// Where the kernel's files are.
    pub fn root(&self) -> Root {
        Root::below(&self.root)
    }

    /// Trace buffer of each CPU in KiB, if asked for.
    pub fn buffer(&self) -> Option<u64> {
        self.buffer
    }

    /// Folder of the journal.
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Whether this process may write the kernel's files.
    pub fn may_write(&self) -> bool {
        self.root != Path::new("/") || is_root()
    }

    /// The recorder's options.
    pub fn options(&self, cycles: u32) -> Options {
        let interval = self.interval.unwrap_or(if self.pm_test.is_some() { 1 } else { 5 });
        Options {
            cycles,
            state: match self.mode {
                Mode::Mem => State::Mem,
                Mode::Freeze => State::Freeze,
                Mode::Standby => State::Standby,
            },
            mem_sleep: self.mem_sleep.clone(),
            pm_test: self.pm_test.clone(),
            wake: self.wake.clone(),
            interval: Duration::from_secs(interval),
            sync: self.sync_on_suspend,
            console_level: (!self.verbose_console).then_some(3),
            callback_lines: self.verbose_console,
            buffer_kib: self.buffer,
            journal: self.journal.clone(),
            ..Options::default()
        }
    }
}

/// What an observer of really made steps does: nothing, or as a test aid kill
/// this process where DORMOUSE_CRASH_AT says, see `tests/` of the recorder.
pub fn observer() -> Result<Box<dyn Observer>> {
    Ok(match std::env::var("DORMOUSE_CRASH_AT") {
        Ok(n) => {
            let at = CrashAt::parse(&n).context("DORMOUSE_CRASH_AT must be N or JOURNAL.N")?;
            Box::new(at)
        }
        Err(_) => Box::new(NoObserver),
    })
}

/// A panic aborts the release build, so nothing is dropped.
pub fn restore_on_panic(root: &Root, folder: &str) {
    let (root, folder) = (root.clone(), folder.to_string());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        if let Ok(r) = guard::restore_own(&root, &folder) {
            eprintln!("dormouse: settings put back: {}", r.done.len());
        }
    }));
}

/// Collects steps as the shell commands that would do the same.
#[derive(Default)]
pub struct Print {
    was: Option<String>,
    lines: String,
    /// Changes that would be put back.
    pub knobs: usize,
    /// Writes.
    pub writes: usize,
    /// What happens while the trace is on, said where it happens; a machine that
    /// sleeps does so where its state is written.
    meanwhile: String,
    on: bool,
}

impl Print {
    /// Nothing yet; `meanwhile` is said where the trace is on.
    pub fn new(meanwhile: String) -> Print {
        Print { meanwhile, ..Print::default() }
    }

    /// Prints the answer as a comment, and the commands below it.
    pub fn show(&self, answer: &str) {
        let mut page = Page::new(false);
        page.entry("# ", answer);
        // Every line of a comment begins like the first.
        let comment = page.finish().replace("\n  ", "\n# ");
        say!("{comment}{}", self.lines.trim_end());
    }
}

impl Observer for Print {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Announce(Entry::Write { old, .. }) => {
                self.was = Some(old.clone());
                self.knobs += 1;
            }
            Step::Announce(_) => self.knobs += 1,
            Step::Write { path, value } => {
                self.writes += 1;
                let was = match self.was.take() {
                    Some(old) => format!("   # was {old:?}"),
                    None => String::new(),
                };
                let off = path.ends_with("/tracing_on") && value == "0";
                if off && std::mem::take(&mut self.on) && !self.meanwhile.is_empty() {
                    self.lines += &format!("# {}\n", self.meanwhile);
                }
                self.on |= path.ends_with("/tracing_on") && value == "1";
                // A list that is written from its start forgets everybody's events.
                let to = if path.ends_with("/dynamic_events") { ">>" } else { ">" };
                self.lines += &format!("echo '{value}' {to} '{path}'{was}\n");
            }
            Step::MakeDir(path) => self.lines += &format!("mkdir '{path}'\n"),
            Step::RemoveDir(path) => self.lines += &format!("rmdir '{path}'\n"),
            Step::Flush(path) => self.lines += &format!("sync -f '{path}'\n"),
            Step::OpenJournal | Step::CloseJournal | Step::KeepJournal => {}
        }
        Ok(())
    }
}

/// `put this machine to sleep 3 times`, for the request to add --yes.
pub fn what_it_does(options: &Options, cycles: u32) -> String {
    let what =
        if options.really_sleeps() { "put this machine to sleep" } else { "test suspending" };
    match cycles {
        1 => format!("{what} once"),
        n => format!("{what} {n} times"),
    }
}

/// A bar on a terminal, silence in a pipe.
pub struct Terminal {
    /// The bar.
    pub bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Terminal {
    /// For so many cycles.
    ///
    /// # Errors
    /// If signals cannot be watched.
    pub fn new(cycles: u32) -> Result<Terminal> {
        let bar = if terminal::shows_progress() {
            ProgressBar::new(u64::from(cycles)).with_style(
                ProgressStyle::with_template("{bar:24} {pos}/{len} cycles  {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        } else {
            ProgressBar::hidden()
        };
        Ok(Terminal { bar, stop: stop_on_signal().context("cannot watch for Ctrl-C")? })
    }
}

impl Watch for Terminal {
    fn progress(&mut self, progress: Progress) {
        match progress {
            Progress::Ready { devices, links } => {
                self.bar.set_message(format!("{devices} devices, {links} links"));
                self.bar.tick();
            }
            Progress::Begin(n) => self.bar.set_message(format!("cycle {n}: going to sleep")),
            Progress::End { cycle, result, lost } => {
                self.bar.inc(1);
                self.bar.set_message(match (result, lost) {
                    (0, 0) => format!("cycle {cycle} recorded"),
                    (0, lost) => format!("cycle {cycle} recorded, {lost} events lost"),
                    (e, _) => {
                        format!("cycle {cycle} failed ({})", io::Error::from_raw_os_error(-e))
                    }
                });
            }
            Progress::Pause(d) => self.bar.set_message(format!("pause of {} s", d.as_secs())),
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
