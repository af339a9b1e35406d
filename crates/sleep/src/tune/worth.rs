//! When a gain is worth a change of the machine: files are written, and the change is
//! advised, only then.

use super::{Cost, Tuned};
use crate::analyse::per_mille;
use crate::evidence::Fidelity;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// A gain below this is no news: machines differ by more from cycle to cycle.
const NEWS: Ns = Ns::from_us(100);

/// A gain below this share of both halves is none, in tenths of a percent.
const SMALL: u32 = 10;

/// Why a gain is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooSmall {
    /// Less than 1 % of both halves.
    Share,
    /// No more than the model is off for the machine as it was, which is this much.
    WithinError(Ns),
    /// Less than cycles of one machine differ by themselves.
    Unseen,
}

/// What a gain must exceed: what a prediction is off for the machine as it was.
pub fn error(f: &Fidelity) -> Ns {
    let all = Phase::DEVICE.into_iter().filter_map(|p| f.phase(p));
    all.map(|c| Ns(c.difference().0.abs())).sum()
}

/// Whether `gain` of `all` is large enough to be told.
fn is_news(gain: Ns, all: Ns) -> bool {
    per_mille(gain, all) >= SMALL && gain >= NEWS
}

/// What another kernel saves: where it is news and beyond what the model is off.
pub fn saves(now: Cost, then: Cost, f: &Fidelity) -> Option<Ns> {
    let less = now.total() - then.total();
    (less > error(f) && is_news(less, now.total())).then_some(less)
}

/// Why the flags that were found are not worth a change; `None` if they are.
pub fn too_small(t: &Tuned, f: &Fidelity) -> Option<TooSmall> {
    let (gain, all) = (t.before.total() - t.after.total(), t.before.total());
    let error = error(f);
    if per_mille(gain, all) < SMALL {
        Some(TooSmall::Share)
    } else if gain <= error {
        Some(TooSmall::WithinError(error))
    } else {
        (gain < NEWS).then_some(TooSmall::Unseen)
    }
}
