//! `dormouse compare --only storage`: simulated loads beside what kernels measured.

use crate::terminal;
use anyhow::Result;
use clap::Args;
use dormouse_app::failure::NotMet;
use dormouse_app::storage::verify;
use dormouse_storage::verdict::Row;
use dormouse_words::storage::verdict::verdicts;
use std::path::PathBuf;

/// Hold simulated loads against what kernels measured.
///
/// Takes folders that `dormouse lab run --only storage` wrote, each of one kernel. A load called
/// `software` gives the one figure that is fitted: what the kernel adds to a request.
/// Exit code 4: a load missed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab run --only storage software.disk ufs.disk -o measured/\n  dormouse compare --only storage measured/"
)]
pub(crate) struct VerifyArgs {
    /// Folders with what was measured.
    #[arg(required = true)]
    folder: Vec<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let all = verify(&args.folder)?;
    let kernels: Vec<(&str, i64, &[Row])> =
        all.iter().map(|v| (v.kernel.as_str(), v.software, v.rows.as_slice())).collect();
    terminal::print(&verdicts(&kernels, terminal::wants_colour()))?;
    if kernels.iter().flat_map(|k| k.2).all(Row::met) {
        return Ok(());
    }
    Err(NotMet("not every simulated load is right".into()).into())
}
