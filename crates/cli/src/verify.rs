//! `--verify lab`: a real kernel runs the machine before and after a change.

use crate::exit::Usage;
use crate::machine;
use crate::verbs::compare::short_refusal;
use crate::verbs::lab::usual_cpus;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dormouse_board::Board;
use dormouse_lab::capture::{Wish, capture};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine, installed};
use dormouse_model::time::Ns;
use dormouse_read::{Options, Reading, read_bytes};
use dormouse_record::recording::Recording;
use dormouse_sleep::analyse::explain;
use dormouse_sleep::compare::{Subject, compare};
use dormouse_sleep::simulate::kernel::Kernel as Release;
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, draws};
use dormouse_sleep::simulate::{Cpus, Policy};
use dormouse_sleep::validate::hold;
use dormouse_write::comparison::text as written;
use dormouse_write::decision::hold as held_text;
use serde_json::Value;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to verify.
#[derive(Args)]
pub struct VerifyArgs {
    /// Let a real kernel run the machine before and after, and say whether the
    /// prediction held. Needs --kernel or a recording that names one.
    #[arg(long, value_name = "lab", value_parser = ["lab"])]
    verify: Option<String>,
    /// Boots on each side, each with another seed.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    boots: u32,
    /// Cycles of each boot; the first ones are left out, because they are slower.
    #[arg(long, value_name = "N", default_value_t = 8, requires = "verify",
          value_parser = clap::value_parser!(u32).range(2..=1_000))]
    cycles: u32,
    /// CPUs of the guest; as many as the machine has, at most 4, if absent.
    #[arg(long, value_name = "N", requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: Option<u32>,
    /// Guests at the same time, 1 or 2.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=2))]
    jobs: u32,
    /// Keep the two recordings in this folder.
    #[arg(long, value_name = "FOLDER", requires = "verify")]
    keep_recordings: Option<PathBuf>,
}

/// A laboratory that is ready: its kernel is there.
pub struct Lab<'a> {
    args: &'a VerifyArgs,
    kernel: Kernel,
}

/// What the kernel did, beside what was predicted.
pub struct Verified {
    /// For a terminal.
    pub text: String,
    /// For JSON.
    pub json: Value,
}

impl VerifyArgs {
    /// The laboratory, if it was asked for, with the kernel that `asked` or the
    /// recorded `release` names. Called before anything is computed, so that
    /// whoever cannot verify hears it at once.
    ///
    /// # Errors
    /// If the kernel is no release, or cannot be had, or QEMU is missing.
    pub fn open(&self, asked: Option<&str>, release: &str) -> Result<Option<Lab<'_>>> {
        if self.verify.is_none() {
            return Ok(None);
        }
        let series = series(asked.unwrap_or(release)).ok_or_else(|| {
            let said = match asked {
                Some(a) => format!("\"{a}\" is none"),
                None => "the input names none".into(),
            };
            Usage(format!("--verify lab needs a kernel release such as --kernel 6.12; {said}"))
        })?;
        let cannot = || "--verify lab is not possible here";
        installed(Arch::Amd64).with_context(cannot)?;
        let kernel = match kernels::cached(Arch::Amd64, &series).with_context(cannot)? {
            Some(k) => k,
            None => kernels::get(Arch::Amd64, &series).map_err(|e| {
                // Of apt's many lines the first says what and the next why.
                let why: Vec<String> = e.to_string().lines().take(2).map(String::from).collect();
                anyhow!(
                    "{}: kernel {series} is not in the cache and cannot be fetched ({})",
                    cannot(),
                    why.join(": ")
                )
            })?,
        };
        if kernel.headers.is_none() {
            return Err(anyhow!(
                "{}: for {} there are no headers, so no board can be built on it",
                cannot(),
                kernel.release
            ));
        }
        Ok(Some(Lab { args: self, kernel }))
    }
}

/// The series of a release, as kernels are fetched: `6.12` of 6.12.117; `7`
/// stays, it is the newest 7.x.
fn series(text: &str) -> Option<String> {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return Some(text.into());
    }
    Policy::find(text).is_none().then(|| Release::parse(text)).flatten().map(|k| {
        // Series are two numbers.
        format!("{}.{}", k.major, k.minor)
    })
}

impl Lab<'_> {
    /// The exact release.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Lets the kernel run `before` and `after`. Both are predicted with the
    /// costs of `profile` and the guest's CPUs.
    ///
    /// # Errors
    /// If a guest fails.
    pub fn verify(&self, before: &Board, after: &Board, profile: &str) -> Result<Verified> {
        let args = self.args;
        let cpus =
            args.cpus.unwrap_or_else(|| usual_cpus(Accel::Icount, &self.kernel, Some(before)));
        let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &self.kernel.release);
        let by = machine::scheduler(&self.kernel.release)?;
        let [predicted_before, predicted_after] =
            [before, after].map(|b| self.predict(b, by, profile, cpus));
        let (predicted_before, predicted_after) = (predicted_before?, predicted_after?);
        let [a, b] = self.run_both(&machine, before, after)?;
        let differences = differences(&a);
        let readings = [("before", &a), ("after", &b)].map(|(label, r)| -> Result<Reading> {
            if let Some(folder) = &args.keep_recordings {
                keep(folder, label, r)?;
            }
            let bytes = dormouse_record::file::encode(r, Vec::new())?;
            Ok(read_bytes(label, &bytes, &Options::default())?)
        });
        let [a, b] = readings;
        let (a, b) = (a?, b?);
        let views = [&a, &b].map(|r| r.captures.iter().map(explain).collect::<Vec<_>>());
        let subjects: Vec<Subject<'_>> = ["before", "after"]
            .into_iter()
            .zip([&a, &b])
            .zip(&views)
            .map(|((label, r), v)| Subject {
                label: label.into(),
                captures: r.captures.iter().zip(v).map(|(c, v)| (c, v.as_slice())).collect(),
            })
            .collect();
        let comparison = compare(&subjects, false).map_err(short_refusal)?;
        let held = hold(&predicted_before, &predicted_after, &comparison);
        let place = held_text::Place {
            kernel: self.kernel.release.clone(),
            cpus,
            boots: args.boots,
            cycles: args.cycles,
            sleep: SLEEP.name(),
            differences,
        };
        let text = format!(
            "\n{}\n{}\n{}",
            held_text::heading(&place),
            written::text(&comparison),
            held_text::text(&held, &place)
        );
        Ok(Verified { text, json: held_text::json(&held, &place) })
    }

    fn predict(
        &self,
        board: &Board,
        by: Scheduler,
        profile: &str,
        cpus: u32,
    ) -> Result<Vec<Outlook>> {
        let mut settings = machine::settings(profile, None)?;
        if settings.profile.cpus.is_none() {
            settings.profile.cpus = Some(Cpus::equal(cpus));
        }
        // No CPU goes down at this level of sleep.
        settings.profile.first_tick = (Ns::ZERO, Ns::ZERO);
        settings.complete(board, by.kernel.as_ref());
        draws(board, by, &settings).map_err(|e| anyhow!("{e}"))
    }

    fn run_both(&self, machine: &Machine, before: &Board, after: &Board) -> Result<[Recording; 2]> {
        let run = |label: &str, board: &Board| -> Result<Recording> {
            if std::io::stderr().is_terminal() {
                eprintln!(
                    "dormouse: {label}: {} boots of {}",
                    self.args.boots, self.kernel.release
                );
            }
            let wish = Wish {
                board: Some(board),
                waits: &[],
                sleep: SLEEP,
                pm_async: board.pm_async,
                cycles: self.args.cycles,
                detail: Vec::new(),
                samples: self.args.boots,
                limit: LIMIT,
            };
            capture(&self.kernel, machine, &wish).with_context(|| format!("the run {label}"))
        };
        let (a, b) = if self.args.jobs > 1 {
            rayon::join(|| run("before", before), || run("after", after))
        } else {
            (run("before", before), run("after", after))
        };
        Ok([a?, b?])
    }
}

/// The shallowest that has all device phases; nothing below them changes.
const SLEEP: Sleep = Sleep::Platform;

/// Long, because a busy machine may run a guest ten times slower.
const LIMIT: Duration = Duration::from_secs(900);

fn differences(r: &Recording) -> Vec<String> {
    let list = r.file.document.lab.as_ref().and_then(|l| l.get("differences"));
    let list = list.and_then(|d| d.as_array()).into_iter().flatten();
    list.filter_map(|d| d.as_str()).map(String::from).collect()
}

fn keep(folder: &Path, label: &str, recording: &Recording) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{label}.tar.gz"));
    recording.save(&path).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_name_series_and_policies_do_not() {
        for (text, want) in [
            ("6.12", Some("6.12")),
            ("6.12.117+deb12-amd64", Some("6.12")),
            ("7", Some("7")),
            ("G4", None),
            ("", None),
            ("new", None),
        ] {
            assert_eq!(series(text).as_deref(), want, "{text}");
        }
    }
}
