//! How good is the model on the machine of a recording?

use crate::failure::Usage;
use crate::kernels::Now;
use crate::machine::recordings;
use crate::nothing::nothing_of;
use crate::predict::settings;
use anyhow::Result;
use dormouse_base::trip::Trip;
use dormouse_board::assumed::Assumed;
use dormouse_read::Given;
use dormouse_sleep::evaluate::{Evaluation, evaluate as judge};
use dormouse_sleep::evidence::{self, Machine};
use dormouse_sleep::simulate::Profile;
use dormouse_words::wording::next::file_of;

/// The answer for one machine.
#[derive(Debug)]
pub struct Evaluated {
    /// The host, or the input that it came from.
    pub name: String,
    /// The kernel release that was recorded; empty if none.
    pub release: String,
    /// Which callbacks: those of suspend and resume, or of a hibernation.
    pub trip: Trip,
    /// The answer.
    pub evaluation: Evaluation,
    /// The emulator that it was recorded in, if it was.
    pub guest: Option<&'static str>,
    /// What was assumed and inferred.
    pub assumptions: Vec<Assumed>,
}

/// Evaluates every machine in `inputs`, each trip of hibernations apart.
///
/// # Errors
/// If an input cannot be read or holds no cycle with callbacks, or the kernel
/// would hang on the board.
pub fn evaluate(
    given: &Given,
    profile: &Profile,
    from_kernel: Option<&str>,
) -> Result<Vec<Evaluated>> {
    let mut all = Vec::new();
    for capture in recordings(given)? {
        for (trip, part) in dormouse_board::trips::trips(&capture) {
            let machine = evidence::machine(&part, None);
            let Machine { derived, release, .. } =
                machine.map_err(|e| nothing_of(given.paths(), [&part], &e))?;
            let now = Now::of(from_kernel, &release).map_err(Usage)?;
            let settings = settings(profile.clone(), None);
            let evaluation = judge(&part, &derived, now.by, &settings).map_err(Usage)?;
            let mut assumptions = derived.assumptions;
            if now.guessed {
                assumptions.insert(0, Assumed::NewestKernel(Some("--from-kernel V")));
            }
            let name = match part.names.get(part.machine.host) {
                "" | "(none)" => {
                    part.cycles.first().map_or("", |c| file_of(part.names.get(c.source)))
                }
                host => host,
            };
            let name = name.to_owned();
            let guest = part.guest();
            all.push(Evaluated { name, release, trip, guest, evaluation, assumptions });
        }
    }
    Ok(all)
}
