//! `--verify lab` as options, and what it says meanwhile and at the end.

use crate::number::number;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::NotMet;
use dormouse_app::verify::{How, Verified};
use dormouse_lab::kernels;
use dormouse_lab::qemu::Arch;
use dormouse_sleep::validate::{Held, Outcome};
use dormouse_words::comparison::text as written;
use dormouse_words::decision::hold as held_text;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How to verify.
#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Let a real kernel run the machine before and after, and say whether the
    /// prediction held. Needs --kernel or a recording that names one.
    #[arg(long, value_name = "lab", value_parser = ["lab"])]
    verify: Option<String>,
    /// Boots on each side, each with another seed.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "verify",
          value_parser = number::<u32>(1, 100))]
    samples: u32,
    /// Cycles of each boot; the first ones are left out, because they are slower.
    #[arg(long, value_name = "N", default_value_t = 8, requires = "verify",
          value_parser = number::<u32>(2, 1_000))]
    lab_cycles: u32,
    /// CPUs of the guest; as many as the machine has, at most 4, if absent.
    #[arg(long, value_name = "N", requires = "verify",
          value_parser = number::<u32>(1, 64))]
    cpus: Option<u32>,
    /// Guests at the same time, 1 or 2.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "verify",
          value_parser = number::<u32>(1, 2))]
    jobs: u32,
    /// Keep the recordings of both sides in this folder.
    #[arg(long, value_name = "DIR")]
    keep_recordings: Option<PathBuf>,
}

impl VerifyArgs {
    /// Where the recordings of both sides are kept.
    pub(crate) fn keep_recordings(&self) -> Option<&Path> {
        self.keep_recordings.as_deref()
    }

    /// Whether a kernel is asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.verify.is_some()
    }

    /// How to verify, if it was asked for.
    pub(crate) fn how(&self) -> Option<How> {
        self.verify.as_ref().map(|_| How {
            boots: self.samples,
            cycles: self.lab_cycles,
            cpus: self.cpus,
            jobs: self.jobs,
            keep: self.keep_recordings.clone(),
            fetches,
        })
    }
}

/// Says what will be fetched.
pub(crate) fn fetches(arch: Arch, series: &str) {
    let name = arch.name();
    let into = kernels::cache().map(|c| c.display().to_string()).unwrap_or_default();
    terminal::remarked(&terminal::wrapped(&format!(
        "dormouse: fetching kernel {series} for {name} into {into}: Debian's packages of its image \
         and headers, by apt, this once"
    )));
}

/// Says on a terminal which side runs.
pub(crate) fn progress(label: &str, boots: u32, release: &str) {
    if terminal::shows_progress() {
        remark!("dormouse: {label}: {boots} boots of {release}");
    }
}

/// What the kernel did, in words.
pub(crate) struct Said {
    /// For a terminal.
    pub text: String,
    /// For JSON.
    pub json: Value,
    held: Held,
}

impl Said {
    /// An error if the kernel did something else than predicted.
    ///
    /// # Errors
    /// [`NotMet`].
    pub(crate) fn must_hold(&self) -> Result<()> {
        match self.held.outcome() {
            Outcome::Held | Outcome::NothingPredicted => Ok(()),
            Outcome::OtherDirection | Outcome::OtherSize => {
                Err(NotMet("the kernel did not confirm the prediction (--verify)".into()).into())
            }
        }
    }
}

/// What the kernel did, for a terminal and for JSON.
///
/// # Errors
/// If a side has nothing to compare.
pub(crate) fn said(verified: &Verified) -> Result<Said> {
    let (comparison, held) = verified.judge()?;
    let place = &verified.place;
    let text = format!(
        "\n{}\n{}\n{}",
        held_text::heading(place),
        written::text(&comparison, &[]),
        held_text::text(&held, place)
    );
    Ok(Said { text, json: held_text::json(&held, place), held })
}
