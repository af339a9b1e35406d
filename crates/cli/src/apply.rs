//! `tune --apply`: tries flags on this machine and keeps them if they help.

use crate::recording::{Print, SleepArgs, Terminal, observer, restore_on_panic, what_it_does};
use crate::terminal;
use crate::verbs::restore;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dormouse_app::compare::refused;
use dormouse_app::failure::Usage;
use dormouse_board::Board;
use dormouse_read::{Options as Reader, read_bytes};
use dormouse_record::apply::{self, Flags, Measured};
use dormouse_record::guard::Restored;
use dormouse_record::options::Options;
use dormouse_record::recording::Recording;
use dormouse_record::root::Root;
use dormouse_sleep::acceptance::{Judgement, judge};
use dormouse_sleep::analyse::explain;
use dormouse_sleep::compare::{Subject, compare};
use dormouse_sleep::tune::Tuned;
use dormouse_write::comparison::{json as compared, text as written};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// How to try the flags.
#[derive(Args)]
#[command(next_help_heading = "With --apply")]
pub struct ApplyArgs {
    /// Set the flags on this machine, let it sleep with and without them, and
    /// keep them only if it is faster beyond doubt; otherwise every flag is put
    /// back. Needs root and --yes, and a recording of this machine as input.
    #[arg(long)]
    apply: bool,
    /// Sleeps without the flags, and as many with them.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "apply",
          value_parser = clap::value_parser!(u32).range(5..=10_000))]
    sleeps: u32,
    /// Save the recordings of both sides in this folder.
    #[arg(short, long, value_name = "FOLDER", requires = "apply")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sleep: SleepArgs,
}

/// What came of it.
pub struct Applied {
    /// The flags stay.
    pub kept: bool,
    /// For a terminal.
    pub text: String,
    /// For JSON.
    pub json: Value,
}

impl ApplyArgs {
    /// Whether the flags shall be tried. Called before anything is computed.
    ///
    /// # Errors
    /// If they shall, but that is not possible here.
    pub fn is_asked(&self, json: bool) -> Result<bool> {
        let sleep = &self.sleep;
        if !self.apply {
            if sleep.yes || sleep.dry_run {
                let advice = "--yes and --dry-run are for --apply: add it to try the flags here";
                return Err(Usage(advice.into()).into());
            }
            return Ok(false);
        }
        if json && (sleep.dry_run || !sleep.yes) {
            return Err(Usage("a dry run prints commands: leave out --json".into()).into());
        }
        if sleep.yes && !sleep.dry_run && !sleep.may_write() {
            let advice = "--apply writes to /sys: run it as root (sudo dormouse tune …)";
            return Err(Usage(advice.into()).into());
        }
        Ok(true)
    }

    /// Tries what `tuned` proposes for `board`. `None` after a dry run.
    ///
    /// # Errors
    /// If the flags are not those of this machine, or recording fails. Every
    /// flag is as it was then.
    pub fn run(&self, board: &Board, tuned: &Tuned) -> Result<Option<Applied>> {
        let root = self.sleep.root();
        let options = self.sleep.options(self.sleeps);
        let flags = flags(board, tuned)?;
        let pending = flags.pending(&root).map_err(|e| Usage(e.to_string()))?;
        if pending.is_empty() {
            let why = "this machine has every flag like that already, nothing to try".to_string();
            return Ok(Some(Applied {
                kept: false,
                json: json!({ "kept": false, "why": why, "comparison": null }),
                text: format!("\nNot tried: {why}.\n"),
            }));
        }
        if self.sleep.dry_run || !self.sleep.yes {
            return self.rehearse(&root, &options, &flags).map(|()| None);
        }
        if let Some(folder) = &self.output {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        restore_on_panic(&root, &options.journal);
        let mut observer = observer()?;
        // Two recordings a side, so an odd number is rounded up.
        let mut watch = Terminal::new(self.sleeps.div_ceil(2) * 4)?;
        let measured = apply::measure(&root, &options, &flags, &mut *observer, &mut watch)?;
        watch.bar.finish_and_clear();
        if let Some(folder) = &self.output {
            save(folder, &measured)?;
        }
        whole(&measured)?;
        let (judgement, text, comparison) = compared_sides(&measured)?;
        let mut kept = 0;
        if judgement.keep {
            kept = apply::keep(&root, &options.journal, &flags, &mut *observer)
                .context("it is faster, but the flags could not be kept; they were put back")?;
        }
        Ok(Some(Applied {
            kept: judgement.keep,
            text: format!("\n{text}\n{}", verdict(&judgement, kept)),
            json: json!({
                "kept": judgement.keep,
                "why": judgement.why,
                "comparison": comparison,
            }),
        }))
    }

    fn rehearse(&self, root: &Root, options: &Options, flags: &Flags) -> Result<()> {
        let mut print = Print::default();
        apply::rehearse(root, options, flags, &mut print)?;
        say!(
            "# {} writes: a first cycle without the flags, one with them (every change is put back \
             after\n# each recording), and the flags to stay, if it is faster. Nothing was done.",
            print.writes
        );
        if self.sleep.dry_run {
            return Ok(());
        }
        let what = what_it_does(options, self.sleeps.div_ceil(2) * 4);
        Err(Usage(format!("the above would {what}: add --yes to do it")).into())
    }
}

/// The flags as paths of this machine.
fn flags(board: &Board, tuned: &Tuned) -> Result<Flags> {
    let mut flags = Flags { pm_async: tuned.pm_async, devices: Vec::new() };
    for f in &tuned.flips {
        let d = board.graph.get(f.device);
        let path = board.names.get(d.facts.devpath);
        if path.is_empty() {
            return Err(Usage(format!(
                "--apply: the input does not say where {} is in sysfs: record this machine with \
                 `dormouse record` and tune that",
                board.names.get(d.name)
            ))
            .into());
        }
        let path = if path.starts_with("/sys/") { path.into() } else { format!("/sys{path}") };
        flags.devices.push((path, f.to_async));
    }
    Ok(flags)
}

/// An error unless every cycle was recorded and every knob put back.
fn whole(measured: &Measured) -> Result<()> {
    restore::complain(&Restored { failed: measured.failed.clone(), ..Restored::default() })?;
    if let Some(e) = &measured.error {
        bail!("{e}; the flags were not kept, and every knob was put back");
    }
    ensure!(!measured.stopped, "stopped: the flags were not kept, and every knob was put back");
    Ok(())
}

fn save(folder: &Path, measured: &Measured) -> Result<()> {
    for (label, side) in [("before", &measured.before), ("after", &measured.after)] {
        for (n, recording) in side.iter().filter(|r| !r.is_empty()).enumerate() {
            let path = folder.join(format!("{label}-{}.tar.gz", n + 1));
            recording.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// What the recordings say: the judgement, and the comparison as text and JSON.
fn compared_sides(measured: &Measured) -> Result<(Judgement, String, Value)> {
    let read = |label: &str, side: &[Recording]| -> Result<Vec<_>> {
        let mut captures = Vec::new();
        for r in side {
            let bytes = dormouse_record::file::encode(r, Vec::new())?;
            captures.extend(read_bytes(label, &bytes, &Reader::default())?.captures);
        }
        Ok(captures)
    };
    let sides = [read("before", &measured.before)?, read("after", &measured.after)?];
    let views = sides.each_ref().map(|s| s.iter().map(explain).collect::<Vec<_>>());
    let subjects: Vec<Subject<'_>> = ["before", "after"]
        .into_iter()
        .zip(&sides)
        .zip(&views)
        .map(|((label, captures), views)| Subject {
            label: label.into(),
            captures: captures.iter().zip(views).map(|(c, v)| (c, v.as_slice())).collect(),
        })
        .collect();
    let comparison = compare(&subjects, false).map_err(refused)?;
    Ok((judge(&comparison), written::text(&comparison), compared::json(&comparison)))
}

fn verdict(judgement: &Judgement, kept: usize) -> String {
    let why = &judgement.why;
    if !judgement.keep {
        return terminal::wrapped(&format!("Put back: {why}. Every flag is as it was."));
    }
    let flags = if kept == 1 { "One flag is".to_string() } else { format!("{kept} flags are") };
    terminal::wrapped(&format!(
        "Kept: {why}. {flags} set until the next start; `dormouse restore --kept` puts them back \
         before that."
    ))
}
