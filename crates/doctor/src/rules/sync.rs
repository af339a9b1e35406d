//! Writing of dirty data before the sleep (kernel/power/main.c:ksys_sync_helper).

use super::{found, lines};
use crate::attempt::Attempt;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::phases::{self, ABORTABLE, Misplaced, cannot, release};
use crate::{Case, median, stack};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use dormouse_model::time::Ns;

/// From here on the median sync is worth a finding.
const LONG: Ns = Ns(500_000_000);

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    hung(case, out);
    long(case, out);
    aborted(case, out);
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
    if let Some((kernel, v)) = kernel(case).filter(|k| worst >= phases::LONG && k.0.1 < ABORTABLE) {
        let mut evidence = lines([&case.messages[syncs[0].1]]);
        evidence.push(v);
        out.push(cannot(&kernel.0, worst, evidence));
    }
}

/// A release in words, and its first two numbers.
type Kernel = (String, (u32, u32));

/// The release of the kernel, and what says it: a file, or the first line of its log.
fn kernel(case: &Case) -> Option<(Kernel, Evidence)> {
    let file = case.values.iter().find(|v| v.path == "/proc/sys/kernel/osrelease");
    if let Some(v) = file {
        return Some(((v.value.clone(), release(&v.value)?), super::value(v)));
    }
    let said = |m: &Message| {
        let text = m.text.strip_prefix("Linux version ")?.split(' ').next()?;
        Some(((text.to_string(), release(text)?), Evidence::from(m)))
    };
    // Of several boots the last one is the one that sleeps.
    case.messages.iter().rev().filter(|m| m.trust.is_of_a_kernel()).find_map(said)
}

/// From 6.19 on: an attempt of which the log has begin and end, and neither a sync nor a
/// freezing between them. A notifier that refuses looks the same.
fn aborted(case: &Case, out: &mut Vec<Finding>) {
    let Some((_, v)) = kernel(case).filter(|k| k.0.1 >= ABORTABLE) else { return };
    let nothing = |a: &&Attempt| {
        a.closed
            && a.entry.is_some()
            && matches!(a.mode.as_str(), "s2idle" | "deep" | "shallow")
            && !case.of(a).iter().any(|m| m.says("Filesystems sync") || m.says("Freezing "))
            && !a.devices
    };
    let list: Vec<&Attempt> = case.attempts.iter().filter(nothing).collect();
    if list.is_empty() {
        return;
    }
    let mut evidence = lines(list.iter().map(|a| &case.messages[a.first]));
    evidence.push(v);
    out.push(found(
        ("sync-aborted", Area::Sync, Level::Note),
        Confidence::Guess,
        Fact::Misplaced(Misplaced::SyncAborted(list.len())),
        evidence,
    ));
}
