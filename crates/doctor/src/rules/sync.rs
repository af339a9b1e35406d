//! Writing of dirty data before the sleep (kernel/power/main.c:ksys_sync_helper).

use super::{found, lines};
use crate::Case;
use crate::finding::{Advice, Area, Confidence, Finding, Level};
use crate::number::s;
use crate::stack;
use alloc::format;
use alloc::vec::Vec;
use dormouse_model::time::Ns;

/// From here on the median sync is worth a finding.
const LONG: Ns = Ns(500_000_000);

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    hung(case, out);
    long(case, out);
}

/// A sync that does not end: the task that writes, or since 6.19 a worker of the
/// queue `pm_fs_sync`, is reported as hung (kernel/hung_task.c).
fn hung(case: &Case, out: &mut Vec<Finding>) {
    let waits = |f: &&str| {
        ["ksys_sync", "sync_inodes_sb", "wb_wait_for_completion", "fuse_sync_fs"].contains(f)
    };
    for a in &case.attempts {
        let messages = case.of(a);
        let frozen = messages.iter().position(|m| m.says("Freezing ")).unwrap_or(messages.len());
        let at = messages[..frozen].iter().position(|m| m.has("blocked for more than"));
        let Some(at) = at else { continue };
        let frames = stack::frames(messages, at, 60);
        if !frames.iter().any(waits) {
            continue;
        }
        let fuse = frames.iter().any(|f| f.starts_with("fuse_"));
        let who = if fuse {
            " It waits for the server of a FUSE file system; a server that is frozen never answers."
        } else {
            ""
        };
        out.push(
            found(
                ("sync-hung", Area::Sync, Level::Broken),
                Confidence::Certain,
                format!("Writing dirty data before the sleep did not end in time.{who}"),
                lines([&messages[at]]),
            )
            .with(Advice::look(if fuse {
                "Unmount it before sleep, or run its server as a system service outside user.slice."
            } else {
                "Look for the disk or server that does not take the data (errors and resets in the lines around)."
            })),
        );
        return;
    }
}

/// A sync that takes long.
fn long(case: &Case, out: &mut Vec<Finding>) {
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
