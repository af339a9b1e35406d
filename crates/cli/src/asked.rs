//! The machine that `plan` and `tune` are asked about.

use crate::machine;
use crate::verify::{Lab, VerifyArgs};
use anyhow::Result;
use clap::Args;
use dormouse_board::Board;
use dormouse_sleep::simulate::Settings;
use dormouse_sleep::simulate::predict::Scheduler;
use std::path::PathBuf;

/// A machine, the kernel it runs and what that costs.
#[derive(Args)]
pub struct AskedArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    /// Kernel release such as 6.12 or 7.3, or a policy such as G1; by default
    /// the recorded one.
    #[arg(long, value_name = "V|POLICY")]
    kernel: Option<String>,
    /// Costs of the machinery: a file of `dormouse calibrate`, or x86, phone,
    /// zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    pub profile: String,
    #[command(flatten)]
    verify: VerifyArgs,
}

/// What a question begins from.
pub struct Asked<'a> {
    /// The devices.
    pub board: Board,
    /// The laboratory, if it is to confirm the answer.
    pub lab: Option<Lab<'a>>,
    /// The rules of the kernel.
    pub by: Scheduler,
    /// What was assumed of it, if the input names none.
    pub guess: Option<&'static str>,
    /// Costs, complete for this board and kernel.
    pub settings: Settings,
}

impl AskedArgs {
    /// Reads the machine and opens the laboratory.
    ///
    /// # Errors
    /// If the input or the profile cannot be read, the kernel is not known, the
    /// laboratory is asked for and not to be had, or the machine does not sleep.
    pub fn open(&self) -> Result<Asked<'_>> {
        let (derived, release) = machine::load(&self.input)?;
        let board = derived.board;
        let lab = self.verify.open(self.kernel.as_deref(), &release)?;
        let kernel = lab.as_ref().map(|l| l.release()).or(self.kernel.as_deref());
        let (by, guess) = machine::kernel_now(kernel, &release)?;
        let mut settings = machine::settings(&self.profile, None)?;
        settings.complete(&board, by.kernel.as_ref());
        machine::sleeps(&board, by, &settings)?;
        Ok(Asked { board, lab, by, guess, settings })
    }
}
