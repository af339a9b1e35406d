//! Writing of dirty data before the sleep (kernel/power/main.c:ksys_sync_helper).

use super::{found, lines};
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::{Case, median, stack};
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
        [
            "ksys_sync",
            "sync_inodes_sb",
            "wb_wait_for_completion",
            "fuse_sync_fs",
            "folio_wait_writeback",
            "wait_on_page_writeback",
            "filemap_fdatawait_keep_errors",
        ]
        .contains(f)
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
        out.push(found(
            ("sync-hung", Area::Sync, Level::Broken),
            Confidence::Certain,
            Fact::SyncHung { fuse },
            lines([&messages[at]]),
        ));
        return;
    }
}

/// A sync that takes long.
fn long(case: &Case, out: &mut Vec<Finding>) {
    let mut syncs: Vec<(Ns, usize)> = case.attempts.iter().filter_map(|a| a.sync).collect();
    syncs.sort_by_key(|s| core::cmp::Reverse(s.0));
    let Some(&(worst, _)) = syncs.first() else { return };
    let median = median(&syncs);
    if median < LONG {
        return;
    }
    let mut f = found(
        ("sync-share", Area::Sync, Level::Slow),
        Confidence::Certain,
        Fact::SyncLong { median, of: syncs.len(), worst },
        lines(syncs.iter().map(|s| &case.messages[s.1])),
    );
    f.costs = Some(median);
    out.push(f);
}
