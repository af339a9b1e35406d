//! `dormouse compare --only idle`: predictions of a change beside recordings of it.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::NotMet;
use dormouse_app::idle::verify::{Verified, verify};
use dormouse_words::idle::verdicts;
use std::path::PathBuf;

/// Check predictions of a changed setting by recordings of it.
///
/// Reads what `dormouse lab run --only idle --work` wrote: the same work recorded under
/// several settings. Each is predicted from the recording under the first
/// setting, which is predicted from its own wake-ups too.
#[derive(Args)]
#[command(
    after_help = "Example:\n  dormouse lab run --only idle --kernel 6.12 --cpus 2 --work bursts,mixed -o loops/\n  dormouse compare --only idle loops/"
)]
pub(crate) struct VerifyArgs {
    /// Folders of recordings; several of one kernel, each with another --seed of
    /// lab run --only idle, also say how far the kernel repeats itself.
    #[arg(required = true)]
    folder: Vec<PathBuf>,
    /// Setting that the others are predicted from.
    #[arg(long, value_name = "SETTING", default_value = "menu")]
    baseline: String,
}

/// Runs the verb.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let all = verify(&args.folder, &args.baseline)?;
    let kernels: Vec<_> =
        all.iter().map(|v| ((v.kernel.as_str(), v.cpus), &v.rows[..], v.again)).collect();
    terminal::print(&verdicts(&kernels))?;
    if all.iter().all(Verified::met) {
        return Ok(());
    }
    Err(NotMet("not every prediction is right".into()).into())
}
