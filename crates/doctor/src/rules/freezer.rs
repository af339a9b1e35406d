//! Who would not freeze, and why (kernel/power/process.c:try_to_freeze_tasks).

use super::lines;
use crate::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level, Task as Named};
use crate::message::{Message, seconds};
use crate::stack::{self, Task};
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// A freezing that failed.
struct Failure {
    at: usize,
    after: Ns,
    refusing: u64,
    workqueue: bool,
    kernel: bool,
    tasks: Vec<Task>,
}

/// `Freezing … failed after 20.003 seconds (2 tasks refusing to freeze, wq_busy=0):`,
/// `Freezing of tasks failed after …` before 6.3.
fn failure(case: &Case, at: usize) -> Option<Failure> {
    let m = &case.messages[at];
    if !m.says("Freezing ") {
        return None;
    }
    let rest = m.after("failed after ")?;
    let after = seconds(rest)?;
    let refusing = rest.split_once('(').map_or("", |(_, r)| r);
    let refusing = refusing.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let stage = case.messages[..at].iter().rev().take(400).find(|m| m.says("Freezing "));
    let kernel =
        m.says("Freezing remaining") || stage.is_some_and(|s| s.says("Freezing remaining"));
    let count = usize::try_from(refusing).unwrap_or(0).min(64);
    let tasks = stack::tasks(&case.messages, at + 1, count);
    Some(Failure { at, after, refusing, workqueue: rest.contains("wq_busy=1"), kernel, tasks })
}

/// What a task that did not freeze was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// A request to the server of a FUSE file system.
    Fuse,
    /// A request to the server of a network file system.
    NetworkFiles,
    /// Trimming of a file system.
    Trim,
    /// A fast commit of ext4.
    FastCommit,
    /// An automatic mount.
    Automount,
    /// A page of a file, in a page fault.
    PageFault,
    /// A device that a module looks for (`async_synchronize_full`).
    ModuleLoad,
    /// A device that answers a probe.
    Probe,
    /// The lock of a device that is being probed.
    DeviceLock,
    /// Dirty data.
    Writeback,
    /// A file system that somebody froze.
    FrozenFiles,
    /// A disk.
    Disk,
    /// Nothing: a thread of the kernel that never asks to be frozen.
    KernelLoop,
    /// State D, and the text does not show why.
    Uninterruptible,
    /// It ran in the kernel.
    Running,
    /// A thread of the kernel; nothing more is known.
    KernelThread,
    /// Nothing is known.
    Unknown,
}

impl Wait {
    /// Ends the sentence "NAME …".
    fn words(self) -> &'static str {
        match self {
            Wait::Fuse => {
                "waited for the server of a FUSE file system; if that server was frozen first, nobody answers"
            }
            Wait::NetworkFiles => "waited for the server of a network file system",
            Wait::Trim => "was trimming a file system (fstrim), which did not look at the freezer",
            Wait::FastCommit => "waited for a fast commit of ext4 that never ended",
            Wait::Automount => "waited for an automatic mount",
            Wait::PageFault => "was in a page fault and waited for a page of a file",
            Wait::ModuleLoad => {
                "loaded a module and waited for a device to be found (async_synchronize), which did not end"
            }
            Wait::Probe => "loaded a driver whose probe waited for a device",
            Wait::DeviceLock => {
                "read an attribute of a device and waited for its lock, which a probe holds"
            }
            Wait::Writeback => "waited until dirty data was written",
            Wait::FrozenFiles => "waited for a frozen file system",
            Wait::Disk => "waited for a disk that did not answer in time",
            Wait::KernelLoop => {
                "is a thread of the kernel that never asks to be frozen: a fault of its driver"
            }
            Wait::Uninterruptible => {
                "waited where it cannot be frozen (state D); the text does not show for what"
            }
            Wait::Running => "ran and did not leave the kernel in time",
            Wait::KernelThread => "is a thread of the kernel that did not reach the freezer",
            Wait::Unknown => "did not reach the freezer",
        }
    }

    /// What to do about such a task.
    fn advice(self) -> &'static str {
        match self {
            Wait::Fuse => {
                "Stop the server or its user before sleep, or run the server as a system service outside user.slice."
            }
            Wait::NetworkFiles => {
                "Unmount the share before sleep, or see that the network goes down after the freezing."
            }
            Wait::Trim => {
                "Take a kernel in which trimming can be interrupted (ext4: 6.7 on), or do not sleep while fstrim runs."
            }
            Wait::FastCommit => "Switch the feature off: tune2fs -O ^fast_commit DEVICE.",
            Wait::Automount => "Mount the file system before sleep, or not automatically.",
            Wait::PageFault => {
                "Find the file's server or disk: an AppImage, a FUSE mount or a network share whose server is frozen never answers."
            }
            Wait::ModuleLoad => {
                "Look for the device that does not answer in the lines before (resets, timeouts); unplug it before sleep."
            }
            Wait::Probe => {
                "Look for the device that does not answer in the lines before; unplug it before sleep."
            }
            Wait::DeviceLock => "Look for the device whose probe does not end.",
            Wait::Writeback => "Write it before sleep: dormouse sync --hook DIR makes the unit.",
            Wait::FrozenFiles => "Thaw the file system before sleep (fsfreeze -u).",
            Wait::Disk => "Look for errors, resets or timeouts of the disk in the lines before.",
            Wait::KernelLoop => {
                "The driver must call try_to_freeze in its loop, or not be freezable; unload it before sleep."
            }
            Wait::Uninterruptible => {
                "Give the whole log: the functions under the task's name say what it waits for."
            }
            Wait::Running => {
                "See what it does: perf record -g -p PID, or echo l > /proc/sysrq-trigger."
            }
            Wait::KernelThread => "Find the driver that owns the thread; unload it before sleep.",
            Wait::Unknown => "Stop it before sleep.",
        }
    }
}

/// Functions that tell what a task waited for; the first row that matches
/// counts. Each is a wait that the freezer cannot enter: block I/O, page faults,
/// requests that a FUSE server took, sync.
const WAITS: [(&[&str], Wait); 13] = [
    (&["request_wait_answer", "fuse_simple_request", "fuse_get_req"], Wait::Fuse),
    (
        &["nfs_wait_bit_killable", "rpc_wait_bit_killable", "__rpc_execute", "nfs4_proc_", "cifs_"],
        Wait::NetworkFiles,
    ),
    (
        &[
            "ext4_trim_fs",
            "ext4_try_to_trim_range",
            "btrfs_trim_fs",
            "xfs_ioc_trim",
            "f2fs_trim_fs",
        ],
        Wait::Trim,
    ),
    (&["ext4_fc_"], Wait::FastCommit),
    (&["autofs_wait", "autofs_mount_wait", "autofs4_"], Wait::Automount),
    (&["filemap_fault", "__do_fault", "do_swap_page"], Wait::PageFault),
    (&["async_synchronize_cookie_domain", "async_synchronize_full"], Wait::ModuleLoad),
    (&["usb_probe_interface", "do_init_module", "load_module", "really_probe"], Wait::Probe),
    (&["uevent_show", "dev_attr_show"], Wait::DeviceLock),
    (
        &["wb_wait_for_completion", "sync_inodes_sb", "__sync_filesystem", "ksys_sync"],
        Wait::Writeback,
    ),
    (&["percpu_rwsem_wait", "__sb_start_write"], Wait::FrozenFiles),
    (
        &[
            "io_schedule",
            "submit_bio_wait",
            "folio_wait_bit_common",
            "wait_on_page_bit",
            "blk_execute_rq",
        ],
        Wait::Disk,
    ),
    (&["smpboot_thread_fn", "kthread_worker_fn"], Wait::KernelLoop),
];

fn wait(t: &Task, kernel: bool) -> Wait {
    let has = |names: &&[&str]| t.frames.iter().any(|f| names.iter().any(|n| f.starts_with(n)));
    if let Some((_, w)) = WAITS.iter().find(|(names, _)| has(names)) {
        return *w;
    }
    match t.state {
        'D' => Wait::Uninterruptible,
        'R' => Wait::Running,
        _ if kernel => Wait::KernelThread,
        _ => Wait::Unknown,
    }
}

/// How sure the functions make it. A disk may be slow for a reason of somebody
/// else, and a state alone names no cause.
fn confidence(w: Wait) -> Confidence {
    match w {
        Wait::Disk | Wait::Uninterruptible | Wait::Running | Wait::KernelThread | Wait::Unknown => {
            Confidence::Likely
        }
        _ => Confidence::Certain,
    }
}

/// A task that refused.
struct Refusal {
    times: usize,
    after: Ns,
    task: Task,
    /// The message of the first failure.
    at: usize,
    kernel: bool,
    /// Tasks that refused with it and that the text does not show.
    unnamed: u64,
}

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    let failures: Vec<Failure> =
        (0..case.messages.len()).filter_map(|i| failure(case, i)).collect();
    // One finding a task, however often it refused.
    let mut tasks: BTreeMap<(String, u32), Refusal> = BTreeMap::new();
    for f in &failures {
        for t in &f.tasks {
            let new = || Refusal {
                times: 0,
                after: f.after,
                task: t.clone(),
                at: f.at,
                kernel: f.kernel,
                unnamed: f.refusing.saturating_sub(f.tasks.len() as u64),
            };
            let slot = tasks.entry((t.name.clone(), t.pid)).or_insert_with(new);
            slot.times += 1;
            slot.after = slot.after.max(f.after);
        }
    }
    let mut rest: Vec<Refusal> = tasks.into_values().collect();
    // Those in a probe before those that wait for one.
    let waits = |r: &Refusal| wait(&r.task, r.kernel) == Wait::DeviceLock;
    rest.sort_by_key(|r| (r.at, waits(r), r.task.at));
    let mut told = None;
    while !rest.is_empty() {
        let first = rest.remove(0);
        // Once for each failure.
        let unnamed = if told == Some(first.at) { 0 } else { first.unnamed };
        told = Some(first.at);
        let why = wait(&first.task, first.kernel);
        // Tasks that refused together for one reason are one finding.
        let (same, other): (Vec<Refusal>, Vec<Refusal>) = rest.into_iter().partition(|r| {
            r.at == first.at && r.times == first.times && wait(&r.task, r.kernel) == why
        });
        // Who waits for a device's lock waits for the probe that holds it.
        let (behind, other): (Vec<Refusal>, Vec<Refusal>) = other.into_iter().partition(|r| {
            let probe = matches!(why, Wait::ModuleLoad | Wait::Probe);
            probe && r.at == first.at && wait(&r.task, r.kernel) == Wait::DeviceLock
        });
        rest = other;
        let mut evidence = lines([&case.messages[first.at], &case.messages[first.task.at]]);
        evidence.extend(lines(same.iter().map(|r| &case.messages[r.task.at])));
        evidence.extend(lines(behind.iter().map(|r| &case.messages[r.task.at])));
        evidence.extend(hung(case, &first.task));
        let id = if first.times > 1 { "freeze-retry-loop" } else { "freeze-failed" };
        let all = std::iter::once(&first).chain(&same);
        let named = |r: &Refusal| Named { name: r.task.name.clone(), pid: r.task.pid };
        let tasks: Vec<Named> = all.map(named).collect();
        let behind: Vec<Named> = behind.iter().map(named).collect();
        let f = Finding::new((id, Area::Freezer, Level::Broken), confidence(why))
            .says(refused(&first, &tasks, why, &behind, unnamed))
            .look(why.advice())
            .of_tasks(tasks)
            .times(first.times)
            .shown_by(evidence);
        out.push(f);
    }
    for f in failures.iter().filter(|f| f.workqueue) {
        out.push(workqueue(case, f));
    }
    // Failures whose tasks the text does not list.
    let bare: Vec<&Failure> =
        failures.iter().filter(|f| f.tasks.is_empty() && !f.workqueue).collect();
    if let Some(f) = bare.first() {
        let (what, which) =
            if f.refusing == 1 { ("task", "which") } else { ("tasks", "which ones") };
        let text = format!(
            "{} {what} did not freeze in {}{}; the text does not show {which}.",
            f.refusing,
            say::seconds(f.after),
            say::and_times(bare.len())
        );
        let f = Finding::new(("freeze-failed", Area::Freezer, Level::Broken), Confidence::Certain)
            .says(text)
            .look("Give the whole log: the tasks and what they wait for follow that line.")
            .times(bare.len())
            .shown_by(lines(bare.iter().map(|f| &case.messages[f.at])));
        out.push(f);
    }
    user_slice(case, out);
    slow(case, out);
}

/// The sentence of tasks that refused together for one reason; of those that waited
/// `behind` them for the lock of a device, and how many more the text does not show.
fn refused(first: &Refusal, tasks: &[Named], why: Wait, behind: &[Named], unnamed: u64) -> String {
    let each = if tasks.len() == 1 { ": it" } else { "; each" };
    let (after, times) = (say::seconds(first.after), say::and_times(first.times));
    let behind = match behind.len() {
        0 => String::new(),
        _ => format!(
            " {} waited for the lock of a device, most likely the one that is being probed.",
            say::tasks(behind)
        ),
    };
    let unnamed = match unnamed {
        0 => String::new(),
        1 => " 1 more task refused, which the text does not show.".into(),
        n => format!(" {n} more tasks refused, which the text does not show."),
    };
    let (who, did) = (say::tasks(tasks), why.words());
    format!("{who} did not freeze in {after}{times}{each} {did}.{behind}{unnamed}")
}

/// The same task was reported as hung before.
fn hung(case: &Case, t: &Task) -> Option<Evidence> {
    let name = format!("task {}:{} blocked for more than", t.name, t.pid);
    case.messages.iter().find(|m| m.has(&name)).map(Evidence::from)
}

/// A workqueue that was busy (kernel/workqueue.c:show_freezable_workqueues).
fn workqueue(case: &Case, f: &Failure) -> Finding {
    let dump = &case.messages[f.at..case.messages.len().min(f.at + 200)];
    let queue =
        |m: &'_ Message| Some(m.text.strip_prefix("workqueue ")?.split(':').next()?.to_string());
    // Of those listed, some have only work that is not due yet: one that runs comes first.
    let runs = |m: &Message| {
        m.text.trim_start().starts_with("in-flight: ")
            || m.after("active=").is_some_and(|n| !n.starts_with('0'))
    };
    let mut last = None;
    let mut running = None;
    for m in dump {
        match queue(m) {
            Some(name) => last = Some((m, name)),
            None if running.is_none() && runs(m) => running = last.clone(),
            None => {}
        }
    }
    let named = running.or_else(|| dump.iter().find_map(|m| Some((m, queue(m)?))));
    let begin = case.messages[..f.at].iter().rposition(|m| m.says("Freezing "));
    let between = &case.messages[begin.map_or(f.at, |b| b + 1)..f.at];
    let timeout = between.iter().find(|m| m.has("error -110") || m.has("timed out"));
    let mut evidence = lines([&case.messages[f.at]]);
    evidence.extend(named.iter().map(|(m, _)| Evidence::from(*m)));
    evidence.extend(timeout.map(Evidence::from));
    let timed_out = timeout.map(|m| m.text.split(':').next().unwrap_or("a device").to_string());
    let confidence = if timed_out.is_some() { Confidence::Likely } else { Confidence::Certain };
    let which = named.as_ref().map_or("A workqueue".into(), |(_, n)| format!("Workqueue {n}"));
    let meanwhile = timed_out.map_or(String::new(), |d| format!("; meanwhile {d} timed out"));
    Finding::new(("freeze-failed", Area::Freezer, Level::Broken), confidence)
        .says(format!(
            "{which} was still busy after {}, so its work could not be frozen{meanwhile}.",
            say::seconds(f.after)
        ))
        .look("Look at the device whose work it is: unplug it, or fix its timeout.")
        .shown_by(evidence)
}

/// systemd's own freezing of the session (systemd 256 on).
fn user_slice(case: &Case, out: &mut Vec<Finding>) {
    let said: Vec<&Message> =
        case.messages.iter().filter(|m| m.has("Failed to freeze unit")).collect();
    if !said.is_empty() {
        let rule = ("freeze-user-slice", Area::Freezer, Level::Broken);
        let f = Finding::new(rule, Confidence::Certain)
            .says("systemd could not freeze the user's session before sleep.")
            .look("After such a sleep look whether the session is still frozen: systemctl thaw user.slice.")
            .shown_by(lines(said));
        out.push(f);
    }
}

/// Freezing that succeeded and took long.
fn slow(case: &Case, out: &mut Vec<Finding>) {
    let mut worst: Option<(Ns, &Message)> = None;
    let mut n = 0;
    for m in &case.messages {
        let Some(took) =
            m.says("Freezing ").then(|| m.after("elapsed ")).flatten().and_then(seconds)
        else {
            continue;
        };
        if took >= Ns(1_000_000_000) {
            n += 1;
            if worst.is_none_or(|w| took > w.0) {
                worst = Some((took, m));
            }
        }
    }
    if let Some((took, m)) = worst {
        out.push(took_long(took, n, case.attempts.len().max(n)).shown_by([Evidence::from(m)]));
    }
}

/// Freezing that took long: at most so long, in how many sleeps of how many.
pub(crate) fn took_long(worst: Ns, slow: usize, of: usize) -> Finding {
    Finding::new(("freeze-slow", Area::Freezer, Level::Slow), Confidence::Certain)
        .says(format!(
            "Freezing took up to {} ({slow} of {of} sleeps over 1 s); the text does not say which task was last.",
            say::seconds(worst)
        ))
        .look("Record sched:sched_switch during one freezing: the last task to switch out is the one.")
        .costs(worst)
}
