//! The machine that `plan` and `tune` are asked about.

use crate::terminal;
use crate::verify::VerifyArgs;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_app::machine::{self, Machine};
use dormouse_read::Given;
use dormouse_words::wording::next::word;
use std::path::{Path, PathBuf};

/// A machine, the kernel it runs and what that costs.
#[derive(Args)]
pub(crate) struct AskedArgs {
    /// A capture or log, or a board file.
    input: PathBuf,
    /// Kernel release such as 6.12.100, or a series such as 6.12, which stands for
    /// its newest release. Or a way of scheduling by its name: G0 (pm_async off),
    /// G1 (up to 6.15), G1w (6.8 and its backports), G2 (6.16), G3 (6.17), G4 (from
    /// 6.17.8), GS and DC (never merged). By default the recorded one.
    #[arg(long, value_name = "V|POLICY")]
    kernel: Option<String>,
    /// Kernel overhead: a file of `dormouse calibrate`, or x86, phone, zero.
    #[arg(long, value_name = "FILE", default_value = "x86")]
    pub profile: String,
    /// Answer although the simulation does not reproduce the recording.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub verify: VerifyArgs,
}

impl AskedArgs {
    /// What was given.
    pub(crate) fn input(&self) -> &Path {
        &self.input
    }

    /// That recordings are kept only where there are some: `records` if this
    /// machine is recorded.
    ///
    /// # Errors
    /// If `--keep-recordings` would have no effect.
    pub(crate) fn check(&self, records: bool) -> Result<()> {
        if self.verify.keep_recordings().is_some() && !self.verify.is_asked() && !records {
            let text = "--keep-recordings has no effect: nothing is recorded without --verify lab";
            return Err(Usage(text.into()).into());
        }
        Ok(())
    }

    /// The kernel that was asked for.
    pub(crate) fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Whether an answer is wanted that the recording does not support.
    pub(crate) fn force(&self) -> bool {
        self.force
    }

    /// Reads the machine and opens the laboratory.
    ///
    /// # Errors
    /// As [`machine::open`].
    pub(crate) fn open(&self, given: &Given) -> Result<Machine> {
        let kernel = self.kernel.as_deref();
        machine::open(given, kernel, &self.profile, self.force, self.verify.how())
    }
}

/// This command line, quoted as a shell needs it, so that options may follow.
pub(crate) fn again() -> Vec<String> {
    let typed = terminal::arguments();
    continued(typed.iter().map(|a| a.to_string_lossy().into_owned()))
        .iter()
        .map(|a| word(a))
        .collect()
}

/// The words without the two dashes behind which none is an option.
fn continued(typed: impl Iterator<Item = String>) -> Vec<String> {
    let (mut out, mut inputs) = (Vec::new(), false);
    for a in typed {
        match a.as_str() {
            "--" if !inputs => inputs = true,
            _ if inputs && a.starts_with('-') => out.push(format!("./{a}")),
            _ => out.push(a),
        }
    }
    out
}

/// The command line without `option` and its value, however often it is given.
pub(crate) fn without_option(again: &[String], option: &str) -> String {
    without(again, option).join(" ")
}

/// The same in words.
pub(crate) fn without(again: &[String], option: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut words = again.iter();
    while let Some(w) = words.next() {
        match w.strip_prefix(option) {
            Some("") => _ = words.next(),
            Some(rest) if rest.starts_with('=') => {}
            _ => out.push(w.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_can_follow_what_was_typed() {
        let of = |typed: &str| continued(typed.split(' ').map(str::to_owned)).join(" ");
        assert_eq!(of("tune --resume=1s -- a.board"), "tune --resume=1s a.board");
        assert_eq!(of("show -- -a -- b"), "show ./-a ./-- b");
        assert_eq!(of("show -a b"), "show -a b");
    }
}
