//! What the guest's machinery costs, the kernel's and that of the livepatch: fitted to
//! boards of their own and kept in target/schedulers.

use super::boards;
use super::guest::recordings;
use anyhow::{Context, Result, bail};
use dormouse_board::derive::derive;
use dormouse_lab::kernels::Kernel;
use dormouse_sleep::simulate::calibrate::calibrate;
use dormouse_sleep::simulate::planned::{Plan, guest};
use dormouse_sleep::simulate::{Profile, profile};
use std::fs;
use std::path::Path;

/// Cycles of each recording; the first is cold.
const CYCLES: u32 = 2;

/// The costs, and what the guest's own devices do.
pub(crate) struct Known {
    pub profile: Profile,
    pub alone: Plan,
    /// How the fit came out, for a person.
    pub told: String,
}

/// Of `kernel`, as they were fitted before, or fitted now.
pub(crate) fn known(kernel: &Kernel, seed: u64, folder: &Path) -> Result<Known> {
    let boards = boards::calibration(seed);
    let folder = folder.join(format!("costs-{}-{seed}", kernel.release));
    let [kept, told] = ["profile", "fit"].map(|n| folder.join(n));
    let first = folder.join(format!("{}-off.tar.gz", boards[0].0));
    if !kept.exists() {
        let all = recordings(kernel, &boards, CYCLES, &folder)?;
        let made: Vec<_> = all.iter().map(|(_, b)| boards[*b].1.clone()).collect();
        let captures: Vec<_> = all.into_iter().map(|(c, _)| c).collect();
        let name = format!("guest, {}", kernel.release);
        let fit =
            calibrate(&captures, &made, &Profile::x86(), &name).map_err(anyhow::Error::msg)?;
        if !fit.skipped.is_empty() {
            bail!("{} cycles cannot be used: {}", fit.skipped.len(), fit.skipped[0]);
        }
        let text = format!(
            "{} cycles of {} boards: phases {} off, starts {}",
            fit.cycles,
            boards.len(),
            fit.after.phase,
            fit.after.start
        );
        fs::write(&told, text)?;
        fs::write(&kept, profile::print(&fit.profile))?;
    }
    let text = fs::read_to_string(&kept)?;
    let profile = profile::parse(&text).with_context(|| kept.display().to_string())?;
    let capture = crate::accuracy::recorded::capture(&first.display().to_string())?;
    let derived = derive(&capture).map_err(anyhow::Error::msg)?;
    let alone = guest(&derived.board, &Plan::new());
    Ok(Known { profile, alone, told: fs::read_to_string(&told)? })
}
