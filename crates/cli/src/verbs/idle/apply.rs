//! `tune --apply`: tries a setting on this machine and keeps it if it helps.

use super::asked::time;
use crate::asked::{again, without_option};
use crate::number::{any, number};
use crate::recording::{Terminal, observer, restore_on_panic};
use crate::verbs::restore;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_app::idle::apply::{Aim, Host, Reason, Trial, attempt, is_of_this_machine};
use dormouse_app::idle::{Budget, Present, Tuned, Watts};
use dormouse_machine::guard::Restored;
use dormouse_machine::journal;
use dormouse_machine::process::is_root;
use dormouse_machine::root::Root;
use dormouse_sleep::acceptance::{LEAST_PAIRS, order};
use dormouse_words::idle::apply as written;
use dormouse_words::idle::handover::Change;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to try the setting.
#[derive(Args)]
#[command(next_help_heading = "With --apply")]
pub(crate) struct ApplyArgs {
    /// Set it on this machine, record the machine with and without it while it works
    /// as usual, and keep it only if that helps (p < 0.01); otherwise everything is
    /// put back. The machine stays awake. Needs root, --yes and --p99, and a recording
    /// of this machine as input.
    #[arg(long)]
    pub apply: bool,
    /// Recordings without it, and as many with it, in pairs; a coin says which is
    /// first.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "apply",
          value_parser = number(LEAST_PAIRS as u32, 1_000))]
    pairs: u32,
    /// Length of each recording.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", requires = "apply",
          value_parser = long)]
    span: i64,
    /// Number that the coin is made of [default: another one each time, and printed].
    #[arg(long, value_name = "N", requires = "apply", value_parser = any)]
    order_seed: Option<u64>,
    /// Keep the recordings in this folder.
    #[arg(long, value_name = "DIR", requires = "apply")]
    keep_recordings: Option<PathBuf>,
    /// Really do it. Without, only say what would be written.
    #[arg(long, requires = "apply")]
    yes: bool,
    /// Folder of the journal of changed settings.
    #[arg(long, value_name = "DIR", default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /proc below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
}

/// A second or more.
fn long(text: &str) -> Result<i64, String> {
    time(text).and_then(|ns| {
        let fits = (1_000_000_000..=3_600_000_000_000).contains(&ns);
        fits.then_some(ns).ok_or_else(|| "from 1s to 3600s".into())
    })
}

/// What came of it, for a terminal and for JSON.
pub(crate) type Applied = (String, Value);

impl ApplyArgs {
    /// Whether the setting can be tried; called before anything is computed.
    ///
    /// # Errors
    /// [`Usage`] if it shall be, and cannot.
    pub(super) fn check(&self, budget: Budget) -> Result<()> {
        if !self.apply {
            return Ok(());
        }
        if matches!(budget, Budget::Power(_)) {
            let advice = "--apply measures delays, not power: give --p99 instead of --power";
            return Err(Usage(advice.into()).into());
        }
        if self.yes && self.root == Path::new("/") && !is_root() {
            let advice = "--apply writes to /sys: run it as root (sudo dormouse tune …)";
            return Err(Usage(advice.into()).into());
        }
        Ok(())
    }

    /// Tries what was found.
    ///
    /// # Errors
    /// If it is not of this machine, or a recording fails. Everything is as it was
    /// then.
    pub(super) fn run(
        &self,
        t: &Tuned,
        change: &Change,
        watts: Option<&Watts>,
        present: &Present,
        budget: Budget,
    ) -> Result<Applied> {
        let Budget::P99(p99) = budget else { unreachable!("checked before") };
        let root = Root::below(&self.root);
        let words = change.command_line();
        if !words.is_empty() {
            let why = format!("--apply: {words} needs a restart: leave out --boot");
            return Err(Usage(why).into());
        }
        let writes = change.writes();
        is_of_this_machine(&root, &t.machine, &writes)?;
        if !self.yes {
            let lines: String = writes
                .iter()
                .map(|(path, value)| {
                    let was = root.read(path).unwrap_or_default();
                    format!("echo '{value}' > '{path}'   # was {:?}\n", was.trim_end())
                })
                .collect();
            say!("\n# This would be tried. Nothing was done.\n{}", lines.trim_end());
            let what = format!("add --yes to try it in {} recordings", 2 + 2 * self.pairs);
            return Err(Usage(what).into());
        }
        restore_on_panic(&root, &self.journal);
        let mut observer = observer()?;
        let seed = self.order_seed.unwrap_or_else(crate::apply::any_seed);
        let with_first = order(self.pairs as usize, seed);
        let mut watch = Terminal::new(2 + 2 * self.pairs)?;
        let host = Host {
            root: &root,
            journal: &self.journal,
            span: Duration::from_nanos(self.span.unsigned_abs()),
            observer: &mut *observer,
            watch: &mut watch,
        };
        let trial = Trial {
            writes: &writes,
            p99,
            watts,
            present,
            with_first: &with_first,
            save: self.keep_recordings.as_deref(),
        };
        let attempt = attempt(host, &trial)?;
        watch.bar.finish_and_clear();
        restore::complain(&Restored { failed: attempt.failed, ..Restored::default() })?;
        let j = attempt.judged?;
        let more = format!("{} --pairs {}", without_option(&again(), "--pairs"), 2 * self.pairs);
        let page = written::Trial {
            why: match j.reason {
                Reason::Helps => written::Why::Helps,
                Reason::NotShown => written::Why::NotShown,
                Reason::OverBudget => written::Why::OverBudget,
                Reason::TooFewPairs => written::Why::TooFewPairs,
            },
            for_delay: j.aim == Aim::Delay,
            delay: &j.delay,
            energy: &j.energy,
            pairs: j.pairs,
            kept: j.kept,
            p99,
            span: self.span.unsigned_abs() / 1_000_000_000,
            order: (&with_first, seed),
            more: &more,
        };
        let mut value = written::json(&page);
        let saved: Vec<String> = attempt.saved.iter().map(|p| p.display().to_string()).collect();
        value["recordings"] = json!(saved);
        Ok((format!("\n{}", written::text(&page)), value))
    }
}
