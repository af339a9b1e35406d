//! Writing of dirty data before the sleep (kernel/power/main.c:ksys_sync_helper).

use super::{found, lines};
use crate::Case;
use crate::finding::{Advice, Area, Confidence, Finding, Level};
use alloc::format;
use alloc::vec::Vec;
use dormouse_model::time::Ns;

/// From here on the median sync is worth a finding.
const LONG: Ns = Ns(500_000_000);

fn s(t: Ns) -> alloc::string::String {
    format!("{}.{} s", t.0 / 1_000_000_000, t.0 % 1_000_000_000 / 100_000_000)
}

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut syncs: Vec<(Ns, usize)> = case.attempts.iter().filter_map(|a| a.sync).collect();
    syncs.sort_by_key(|s| core::cmp::Reverse(s.0));
    let Some(&(worst, _)) = syncs.first() else { return };
    let median = syncs[syncs.len() / 2].0;
    if median < LONG {
        return;
    }
    let mut f = found(
        ("sync-share", Area::Sync, Level::Slow),
        Confidence::Certain,
        format!(
            "Writing dirty data took {} before a sleep in the median of {} (at most {}); the text does not say which disk.",
            s(median),
            syncs.len(),
            s(worst)
        ),
        lines(syncs.iter().map(|s| &case.messages[s.1])),
    )
    .with(Advice::look(
        "Write it before: a unit ordered before sleep.target that calls sync. The kernel's own sync stays on and is short then.",
    ));
    f.costs = Some(median);
    out.push(f);
}
