//! Writing of dirty data before the sleep (kernel/power/main.c:ksys_sync_helper).

use crate::attempt::{Attempt, Sync};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::phases::{self, ABORTABLE, cannot, release};
use crate::stack;
use crate::value::Value;
use dormouse_base::say;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;

/// From here on the median sync is worth a finding; one of several is from
/// [`phases::LONG`] on.
const LONG: Ns = Ns(500_000_000);

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    hung(case, out);
    long(case, out);
    aborted(case, out);
    files_frozen(case, out);
    write_errors(case, out);
    nobody_arms(case, out);
}

/// A time of day says when a line was read, by a program that was frozen meanwhile.
fn kernel_time(m: &Message) -> Option<Ns> {
    m.time.filter(|t| *t <= Ns::CALENDAR)
}

/// File systems that are frozen between the sync and the tasks: between the lines of both
/// (kernel/power/suspend.c:suspend_prepare, 7.3).
fn files_frozen(case: &Case, out: &mut Vec<Finding>) {
    let knob = |v: &&Value| v.path == phases::FREEZE_FILES && v.value == "1";
    let Some(knob) = case.values.iter().find(knob) else { return };
    let gap = |a: &Attempt| {
        let from = a.sync?.until;
        let to =
            from + 1 + case.messages[from + 1..a.end].iter().position(|m| m.says("Freezing "))?;
        let [b, e] = [from, to].map(|i| kernel_time(&case.messages[i]));
        Some((e?.since(b?), from, to))
    };
    let longest = case.attempts.iter().filter_map(gap).max_by_key(|g| g.0);
    let Some((worst, from, to)) = longest.filter(|g| g.0 >= phases::FROZEN) else { return };
    let mut evidence = lines([&case.messages[from], &case.messages[to]]);
    evidence.push(crate::evidence::value(knob));
    out.push(phases::frozen(worst, evidence));
}

/// What kernels say when data that a sync was to write is lost: the words, and what stands
/// between the front of the line and them names a disk or a file system
/// (fs/buffer.c:buffer_io_error, fs/ext4/inode.c:mpage_map_and_submit_extent,
/// fs/jbd2/commit.c, fs/xfs/xfs_aops.c:xfs_end_ioend, fs/btrfs/extent_io.c, 6.12).
const LOST: [&str; 7] = [
    // fs/ext4/page-io.c:ext4_end_bio.
    " writing to inode ",
    "lost async page write",
    "lost sync page write",
    "This should not happen!! Data will be lost",
    "Detected IO errors while flushing file data",
    "writeback error on inode",
    "failed to write out data",
];

/// The disk or file system that a line speaks of: `dev sdb1`, `on dm-0-8`, `(sda2)`.
fn named(text: &str) -> String {
    let word = |rest: &str| {
        let end = rest.find([',', ' ', ')', ':']).unwrap_or(rest.len());
        rest[..end].to_string()
    };
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| word(rest));
    let front = || text.split_once('(').map(|(_, rest)| word(rest));
    let named = after("(device ")
        .or_else(|| after(" dev "))
        .or_else(|| after("file data on "))
        .or_else(front);
    named.unwrap_or_default()
}

/// Data that was lost while a sync before a sleep wrote it; and what `dormouse sync` says
/// when `syncfs` returned an error.
fn write_errors(case: &Case, out: &mut Vec<Finding>) {
    let mut add = |text: String, evidence: Vec<Evidence>| {
        let f = Finding::new(("sync-write-error", Area::Sync, Level::Broken), Confidence::Certain)
            .says(text)
            .look("Look at the disk before anything else: dmesg --level=err,warn, its cable, smartctl -a, free space. Copy what matters; write again, and see that sync reports no error.")
            .shown_by(evidence);
        out.push(f);
    };
    for a in &case.attempts {
        let messages = case.of(a);
        let frozen = messages.iter().position(|m| m.says("Freezing ")).unwrap_or(messages.len());
        let lost = |m: &&Message| m.trust.is_of_a_kernel() && LOST.iter().any(|w| m.has(w));
        let list: Vec<&Message> = messages[..frozen].iter().filter(lost).collect();
        if let Some(first) = list.first() {
            let disk = named(&first.text);
            let disk = if disk.is_empty() { "a disk" } else { &disk };
            let text = format!(
                "Data was lost while it was written before the sleep: {disk} did not take it. The kernel's sync reports no error, so the sleep went on."
            );
            return add(text, lines(list));
        }
    }
    // crates/words/src/presync.rs words it so.
    let said = |m: &Message| {
        let front = m.text.split_once(" cannot be written: ")?.0;
        let at = front.rsplit(' ').next().filter(|at| at.starts_with('/'))?;
        let alone = front.len() == at.len() || front.contains("dormouse");
        alone.then(|| (at.to_string(), Evidence::from(m)))
    };
    let mut lines_of = case.messages.having(" cannot be written: ").map(|(_, m)| m);
    if let Some((at, evidence)) = lines_of.find_map(said) {
        let text = format!(
            "Not all of {at} could be written: syncfs returned an error. That data is at risk, whatever the sleep does."
        );
        add(text, Vec::from([evidence]));
    }
}

/// A kernel that gives up its sync for a wakeup, under a systemd that never writes
/// `wakeup_count`, and no hook that does. Autosleep arms by itself
/// (kernel/power/autosleep.c:try_to_suspend, 7.3).
fn nobody_arms(case: &Case, out: &mut Vec<Finding>) {
    let of = |path: &str| case.values.iter().find(|v| v.path == path);
    let Some(systemd) = of(SYSTEMD) else { return };
    let arms = case.values.iter().any(|v| v.path.ends_with("/system-sleep"))
        || of("/sys/power/autosleep").is_some_and(|v| v.value != "off");
    let sleeps = of("/sys/power/state").is_some_and(|v| !v.value.is_empty());
    let Some(((kernel, _), v)) = kernel(case).filter(|k| k.0.1 >= ABORTABLE && !arms && sleeps)
    else {
        return;
    };
    let f = Finding::new(("sync-abort-unused", Area::Sync, Level::Note), Confidence::Likely)
        .says(format!(
            "{kernel} gives up its sync when a wakeup comes, if sleep is armed (wakeup_count), and nothing here arms it: systemd does not, and no hook does."
        ))
        .change(
            "dormouse sync --hook DIR writes a hook that arms sleep at the last moment, and the setting that it needs.",
            "Remove the files; each says how.",
            "With several states in SuspendState= systemd answers each wakeup with a second sleep, not armed.",
        )
        .shown_by([v, crate::evidence::value(systemd)]);
    out.push(f);
}

/// Is there where systemd runs the machine.
const SYSTEMD: &str = "/run/systemd/system";

/// A sync that does not end: the task that writes, or since 6.19 a worker of the
/// queue `pm_fs_sync`, is reported as hung (kernel/hung_task.c).
fn hung(case: &Case, out: &mut Vec<Finding>) {
    let waits = |f: &String| {
        [
            "ksys_sync",
            "sync_inodes_sb",
            "wb_wait_for_completion",
            "fuse_sync_fs",
            "folio_wait_writeback",
            "wait_on_page_writeback",
            "filemap_fdatawait_keep_errors",
        ]
        .contains(&f.as_str())
    };
    for a in &case.attempts {
        let messages = case.of(a);
        let frozen = messages.iter().position(|m| m.says("Freezing ")).unwrap_or(messages.len());
        let at = messages[..frozen].iter().position(|m| m.has("blocked for more than"));
        let Some(at) = at else { continue };
        let frames = stack::frames(messages, at, 60);
        // That queue has no other work (kernel/power/main.c:pm_fs_sync_work_fn, 7.3).
        let near = messages[at..].iter().take(8);
        let queue =
            near.take_while(|m| !m.says("Freezing ")).any(|m| m.has("Workqueue: pm_fs_sync"));
        if !queue && !frames.iter().any(waits) {
            continue;
        }
        let fuse = frames.iter().any(|f| f.starts_with("fuse_"));
        let f = Finding::new(("sync-hung", Area::Sync, Level::Broken), Confidence::Certain);
        let f = if fuse {
            f.says("Writing dirty data before the sleep did not end in time. It waits for the server of a FUSE file system; a server that is frozen never answers.")
                .look("Unmount it before sleep, or run its server as a system service outside user.slice.")
        } else {
            f.says("Writing dirty data before the sleep did not end in time.")
                .look("Look for the disk or server that does not take the data (errors and resets in the lines around).")
        };
        out.push(f.shown_by(lines([&messages[at]])));
        return;
    }
}

/// A sync that takes long.
fn long(case: &Case, out: &mut Vec<Finding>) {
    let mut syncs: Vec<Sync> = case.attempts.iter().filter_map(|a| a.sync).collect();
    syncs.sort_by_key(|s| std::cmp::Reverse(s.took));
    let Some(&Sync { took: worst, at_most, .. }) = syncs.first() else { return };
    let mut times: Vec<Ns> = syncs.iter().map(|s| s.took).collect();
    let median = middle(&mut times, Ns::mean).unwrap_or_default();
    // Notifiers alone may take half a second.
    if (median < LONG || at_most) && worst < phases::LONG {
        return;
    }
    let mut shown: Vec<usize> = syncs.iter().flat_map(|s| [s.from, s.until]).collect();
    shown.dedup();
    let evidence = lines(shown.into_iter().map(|i| &case.messages[i]));
    let f = took_long(median, syncs.len(), worst).shown_by(evidence);
    out.push(if at_most { with_notifiers(f) } else { f });
    if let Some((kernel, v)) = kernel(case).filter(|k| worst >= phases::LONG && k.0.1 < ABORTABLE) {
        let mut evidence = lines([&case.messages[syncs[0].from]]);
        evidence.push(v);
        out.push(cannot(&kernel.0, worst, evidence));
    }
}

/// The same where no line tells when the sync ended.
fn with_notifiers(f: Finding) -> Finding {
    let f = Finding { confidence: Confidence::Likely, ..f };
    f.because("This kernel prints begin and end of the sync in one line, so that is the time until tasks were frozen: what drivers prepared in it is counted too.")
}

/// A sync that takes long: the median of so many, and the longest.
pub(crate) fn took_long(median: Ns, of: usize, worst: Ns) -> Finding {
    let (text, cost) = match of {
        1 => (format!("took {} before the sleep", say::seconds(median)), median),
        _ if median < LONG && worst >= phases::LONG => {
            (format!("took {} before one sleep of {of}", say::seconds(worst)), worst)
        }
        _ => (
            format!(
                "took {} before a sleep in the median of {of} (at most {})",
                say::seconds(median),
                say::seconds(worst)
            ),
            median,
        ),
    };
    Finding::new(("sync-share", Area::Sync, Level::Slow), Confidence::Certain)
        .says(format!("Writing dirty data {text}; no line that was read says which disk."))
        .look("Write it before: dormouse sync --hook DIR makes the unit. The kernel's own sync stays on and is short then.")
        .costs(cost)
}

/// A release in words, and its first two numbers.
type Kernel = (String, (u32, u32));

/// The release of the kernel, and what says it: a file, or the first line of its log.
fn kernel(case: &Case) -> Option<(Kernel, Evidence)> {
    let file = case.values.iter().find(|v| v.path == "/proc/sys/kernel/osrelease");
    if let Some(v) = file {
        return Some(((v.value.clone(), release(&v.value)?), crate::evidence::value(v)));
    }
    let said = |m: &Message| {
        let text = m.text.strip_prefix("Linux version ")?.split(' ').next()?;
        Some(((text.to_string(), release(text)?), Evidence::from(m)))
    };
    // Of several boots the last one is the one that sleeps.
    let banners = case.messages.having("Linux version ").map(|(_, m)| m);
    banners.rev().filter(|m| m.trust.is_of_a_kernel()).find_map(said)
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
    out.push(phases::given_up(list.len(), Confidence::Guess).shown_by(evidence));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(kernel: &str, hook: bool) -> usize {
        let value =
            |path: &str, value: &str| Value { line: 0, path: path.into(), value: value.into() };
        let mut values = vec![
            value("/proc/sys/kernel/osrelease", kernel),
            value(SYSTEMD, "there"),
            value("/sys/power/state", "freeze mem"),
        ];
        if hook {
            values.push(value("/etc/systemd/system-sleep", "arms"));
        }
        let case = Case { values, ..Case::default() };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.iter().filter(|f| f.id == "sync-abort-unused").count()
    }

    #[test]
    fn a_kernel_that_could_give_up_a_sync_and_is_not_asked_to_is_told() {
        assert_eq!(armed("7.3.4-amd64", false), 1);
        assert_eq!(armed("7.3.4-amd64", true), 0, "a hook arms");
        assert_eq!(armed("6.12.1", false), 0, "it cannot");
    }
}
