//! A real kernel runs the machine before and after a change, in the laboratory.

use crate::compare::{self, Side};
use crate::failure::Usage;
use crate::kernels::scheduler;
use crate::settings::settings;
use anyhow::{Context, Result, anyhow};
use dormouse_board::Board;
use dormouse_lab::capture::{Wish, capture};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine, installed, usual_cpus};
use dormouse_machine::recording::Recording;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::simulate::kernel::Kernel as Release;
use dormouse_sleep::simulate::predict::{Outlook, Scheduler, draws};
use dormouse_sleep::simulate::{Cpus, Policy};
use dormouse_sleep::validate::{Held, hold};
use dormouse_words::decision::hold::Place;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to verify.
#[derive(Clone, Debug)]
pub struct How {
    /// Boots on each side, each with another seed.
    pub boots: u32,
    /// Cycles of each boot; the first ones are left out, because they are
    /// slower.
    pub cycles: u32,
    /// CPUs of the guest; as many as the machine has, at most 4, if `None`.
    pub cpus: Option<u32>,
    /// Guests at the same time, 1 or 2.
    pub jobs: u32,
    /// Keep the two recordings in this folder.
    pub keep: Option<PathBuf>,
    /// Says that the kernel of this series is about to be fetched.
    pub fetches: fn(Arch, &str),
}

/// A laboratory that is ready: its kernel is there.
#[derive(Debug)]
pub struct Lab {
    how: How,
    kernel: Kernel,
}

/// What the kernel did, beside what was predicted.
#[derive(Debug)]
pub struct Verified {
    /// The two sides as the kernel ran them.
    pub sides: [Side; 2],
    /// Where they ran.
    pub place: Place,
    predicted: [Vec<Outlook>; 2],
}

impl Verified {
    /// The measured difference, and whether the prediction held.
    ///
    /// # Errors
    /// If a side has nothing to compare.
    pub fn judge(&self) -> Result<(Comparison<'_>, Held)> {
        let comparison = compare::sides(&self.sides, false)?;
        let held = hold(&self.predicted[0], &self.predicted[1], &comparison);
        Ok((comparison, held))
    }
}

impl Lab {
    /// The laboratory with the kernel that `asked` or the recorded `release`
    /// names. Called before anything is computed, so that whoever cannot verify
    /// hears it at once.
    ///
    /// # Errors
    /// If the kernel is no release, or cannot be had, or QEMU is missing.
    pub fn open(how: How, asked: Option<&str>, release: &str) -> Result<Lab> {
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
            None => {
                (how.fetches)(Arch::Amd64, &series);
                kernels::get(Arch::Amd64, &series)
            }
            .map_err(|e| {
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
        Ok(Lab { how, kernel })
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

impl Lab {
    /// The exact release.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Lets the kernel run `before` and `after`. Both are predicted with the
    /// costs of `profile` and the guest's CPUs. `progress` hears the label of
    /// each side when it starts, and how many boots of which kernel it takes.
    ///
    /// # Errors
    /// If a guest fails.
    pub fn verify(
        &self,
        before: &Board,
        after: &Board,
        profile: &str,
        progress: Progress<'_>,
    ) -> Result<Verified> {
        let how = &self.how;
        let cpus =
            how.cpus.unwrap_or_else(|| usual_cpus(Accel::Icount, &self.kernel, Some(before)));
        let machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &self.kernel.release);
        let by = scheduler(&self.kernel.release).map_err(Usage)?;
        let predicted =
            [self.predict(before, by, profile, cpus)?, self.predict(after, by, profile, cpus)?];
        let recordings = self.run_both(&machine, before, after, progress)?;
        let differences = differences(&recordings[0]);
        if let Some(folder) = &how.keep {
            for (label, r) in LABELS.into_iter().zip(&recordings) {
                keep(folder, label, r)?;
            }
        }
        let side = |i: usize| Side::of_recordings(LABELS[i], std::slice::from_ref(&recordings[i]));
        let place = Place {
            kernel: self.kernel.release.clone(),
            cpus,
            boots: how.boots,
            cycles: how.cycles,
            sleep: SLEEP.name(),
            differences,
        };
        Ok(Verified { sides: [side(0)?, side(1)?], place, predicted })
    }

    fn predict(
        &self,
        board: &Board,
        by: Scheduler,
        profile: &str,
        cpus: u32,
    ) -> Result<Vec<Outlook>> {
        let mut settings = settings(profile, None)?;
        if settings.profile.cpus.is_none() {
            settings.profile.cpus = Some(Cpus::equal(cpus));
        }
        // No CPU goes down at this level of sleep.
        settings.profile.keep_cpus();
        settings.complete(board.cpus, by.kernel.as_ref());
        draws(board, by, &settings).map_err(|e| anyhow!("{e}"))
    }

    fn run_both(
        &self,
        machine: &Machine,
        before: &Board,
        after: &Board,
        progress: Progress<'_>,
    ) -> Result<[Recording; 2]> {
        let run = |label: &str, board: &Board| -> Result<Recording> {
            progress(label, self.how.boots, &self.kernel.release);
            let wish = Wish {
                board: Some(board),
                waits: &[],
                sleep: SLEEP,
                pm_async: board.pm_async,
                cycles: self.how.cycles,
                detail: Vec::new(),
                samples: self.how.boots,
                limit: LIMIT,
            };
            capture(&self.kernel, machine, &wish).with_context(|| format!("the run {label}"))
        };
        let (a, b) = if self.how.jobs > 1 {
            rayon::join(|| run(LABELS[0], before), || run(LABELS[1], after))
        } else {
            (run(LABELS[0], before), run(LABELS[1], after))
        };
        Ok([a?, b?])
    }
}

/// Hears which side starts, how many boots it takes, and of which kernel.
pub(crate) type Progress<'a> = &'a (dyn Fn(&str, u32, &str) + Sync);

const LABELS: [&str; 2] = ["before", "after"];

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
