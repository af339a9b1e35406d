//! Who would not freeze, and why (kernel/power/process.c:try_to_freeze_tasks).

use super::{found, lines};
use crate::Case;
use crate::finding::{Advice, Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, seconds};
use crate::number::s;
use crate::stack::{self, Task};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use dormouse_model::time::Ns;

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

/// Why a task did not freeze, by the functions it waited in.
struct Cause {
    /// Ends the sentence "NAME …".
    why: &'static str,
    advice: &'static str,
    confidence: Confidence,
}

/// Functions that tell a cause; the first row that matches counts. Each is a
/// wait that the freezer cannot enter (spec of the freezer: not freezable in
/// block I/O, page faults, requests that a FUSE server took, sync).
const CAUSES: [(&[&str], Cause); 13] = [
    (
        &["request_wait_answer", "fuse_simple_request", "fuse_get_req"],
        Cause {
            why: "waited for the server of a FUSE file system; if that server was frozen first, nobody answers",
            advice: "Stop the server or its user before sleep, or run the server as a system service outside user.slice.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["nfs_wait_bit_killable", "rpc_wait_bit_killable", "__rpc_execute", "nfs4_proc_", "cifs_"],
        Cause {
            why: "waited for the server of a network file system",
            advice: "Unmount the share before sleep, or see that the network goes down after the freezing.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &[
            "ext4_trim_fs",
            "ext4_try_to_trim_range",
            "btrfs_trim_fs",
            "xfs_ioc_trim",
            "f2fs_trim_fs",
        ],
        Cause {
            why: "was trimming a file system (fstrim), which did not look at the freezer",
            advice: "Take a kernel in which trimming can be interrupted (ext4: 6.7 on), or do not sleep while fstrim runs.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["ext4_fc_"],
        Cause {
            why: "waited for a fast commit of ext4 that never ended",
            advice: "Switch the feature off: tune2fs -O ^fast_commit DEVICE.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["autofs_wait", "autofs_mount_wait", "autofs4_"],
        Cause {
            why: "waited for an automatic mount",
            advice: "Mount the file system before sleep, or not automatically.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["filemap_fault", "__do_fault", "do_swap_page"],
        Cause {
            why: "was in a page fault and waited for a page of a file",
            advice: "Find the file's server or disk: an AppImage, a FUSE mount or a network share whose server is frozen never answers.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["async_synchronize_cookie_domain", "async_synchronize_full"],
        Cause {
            why: "loaded a module and waited for a device to be found (async_synchronize), which did not end",
            advice: "Look for the device that does not answer in the lines before (resets, timeouts); unplug it before sleep.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["usb_probe_interface", "do_init_module", "load_module", "really_probe"],
        Cause {
            why: "loaded a driver whose probe waited for a device",
            advice: "Look for the device that does not answer in the lines before; unplug it before sleep.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["uevent_show", "dev_attr_show"],
        Cause {
            why: "read an attribute of a device and waited for its lock, which a probe holds",
            advice: "Look for the device whose probe does not end.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["wb_wait_for_completion", "sync_inodes_sb", "__sync_filesystem", "ksys_sync"],
        Cause {
            why: "waited until dirty data was written",
            advice: "Write it before sleep: sync in a unit ordered before sleep.target.",
            confidence: Confidence::Certain,
        },
    ),
    (
        &["percpu_rwsem_wait", "__sb_start_write"],
        Cause {
            why: "waited for a frozen file system",
            advice: "Thaw the file system before sleep (fsfreeze -u).",
            confidence: Confidence::Certain,
        },
    ),
    (
        &[
            "io_schedule",
            "submit_bio_wait",
            "folio_wait_bit_common",
            "wait_on_page_bit",
            "blk_execute_rq",
        ],
        Cause {
            why: "waited for a disk that did not answer in time",
            advice: "Look for errors, resets or timeouts of the disk in the lines before.",
            confidence: Confidence::Likely,
        },
    ),
    (
        &["smpboot_thread_fn", "kthread_worker_fn"],
        Cause {
            why: "is a thread of the kernel that never asks to be frozen: a fault of its driver",
            advice: "The driver must call try_to_freeze in its loop, or not be freezable; unload it before sleep.",
            confidence: Confidence::Certain,
        },
    ),
];

fn cause(t: &Task, kernel: bool) -> Cause {
    let has = |names: &&[&str]| t.frames.iter().any(|f| names.iter().any(|n| f.starts_with(n)));
    if let Some((_, c)) = CAUSES.iter().find(|(names, _)| has(names)) {
        return Cause { ..*c };
    }
    let (why, advice) = match t.state {
        'D' => (
            "waited where it cannot be frozen (state D); the text does not show for what",
            "Give the whole log: the functions under the task's name say what it waits for.",
        ),
        'R' => (
            "ran and did not leave the kernel in time",
            "See what it does: perf record -g -p PID, or echo l > /proc/sysrq-trigger.",
        ),
        _ if kernel => (
            "is a thread of the kernel that did not reach the freezer",
            "Find the driver that owns the thread; unload it before sleep.",
        ),
        _ => ("did not reach the freezer", "Stop it before sleep."),
    };
    Cause { why, advice, confidence: Confidence::Likely }
}

/// A task that refused.
struct Refusal {
    times: usize,
    after: Ns,
    task: Task,
    /// The message of the first failure.
    at: usize,
    kernel: bool,
}

fn who(t: &Task) -> String {
    if t.pid == 0 { t.name.clone() } else { format!("{} (pid {})", t.name, t.pid) }
}

fn times(n: usize) -> String {
    if n == 1 { String::new() } else { format!(", {n} times") }
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
            };
            let slot = tasks.entry((t.name.clone(), t.pid)).or_insert_with(new);
            slot.times += 1;
            slot.after = slot.after.max(f.after);
        }
    }
    let mut rest: Vec<Refusal> = tasks.into_values().collect();
    rest.sort_by_key(|r| (r.at, r.task.at));
    while !rest.is_empty() {
        let first = rest.remove(0);
        let c = cause(&first.task, first.kernel);
        // Tasks that refused together for one reason are one finding.
        let (same, other): (Vec<Refusal>, Vec<Refusal>) = rest.into_iter().partition(|r| {
            r.at == first.at && r.times == first.times && cause(&r.task, r.kernel).why == c.why
        });
        rest = other;
        let mut evidence = lines([&case.messages[first.at], &case.messages[first.task.at]]);
        evidence.extend(lines(same.iter().map(|r| &case.messages[r.task.at])));
        evidence.extend(hung(case, &first.task));
        let names = match &same[..] {
            [] => who(&first.task),
            [one] => format!("{} and {}", who(&first.task), who(&one.task)),
            many => format!("{} and {} others", who(&first.task), many.len()),
        };
        let id = if first.times > 1 { "freeze-retry-loop" } else { "freeze-failed" };
        let (after, times) = (s(first.after), times(first.times));
        out.push(
            found(
                (id, Area::Freezer, Level::Broken),
                c.confidence,
                if same.is_empty() {
                    format!("{names} did not freeze in {after}{times}: it {}.", c.why)
                } else {
                    format!("{names} did not freeze in {after}{times}; each {}.", c.why)
                },
                evidence,
            )
            .with(Advice::look(c.advice)),
        );
    }
    for f in failures.iter().filter(|f| f.workqueue) {
        out.push(workqueue(case, f));
    }
    // Failures whose tasks the text does not list.
    let bare: Vec<&Failure> =
        failures.iter().filter(|f| f.tasks.is_empty() && !f.workqueue).collect();
    if let Some(f) = bare.first() {
        let n = f.refusing;
        out.push(
            found(
                ("freeze-failed", Area::Freezer, Level::Broken),
                Confidence::Certain,
                format!(
                    "{n} {} did not freeze in {}{}; the text does not show {}.",
                    if n == 1 { "task" } else { "tasks" },
                    s(f.after),
                    times(bare.len()),
                    if n == 1 { "which" } else { "which ones" }
                ),
                lines(bare.iter().map(|f| &case.messages[f.at])),
            )
            .with(Advice::look(
                "Give the whole log: the tasks and what they wait for follow that line.",
            )),
        );
    }
    user_slice(case, out);
    slow(case, out);
}

/// The same task was reported as hung before.
fn hung(case: &Case, t: &Task) -> Option<Evidence> {
    let name = format!("task {}:{} blocked for more than", t.name, t.pid);
    case.messages.iter().find(|m| m.has(&name)).map(Evidence::from)
}

/// A workqueue that was busy (kernel/workqueue.c:show_freezable_workqueues).
fn workqueue(case: &Case, f: &Failure) -> Finding {
    let named = case.messages[f.at..].iter().take(200).find_map(|m| {
        let rest = m.text.strip_prefix("workqueue ")?;
        Some((m, rest.split(':').next()?))
    });
    let begin = case.messages[..f.at].iter().rposition(|m| m.says("Freezing "));
    let between = &case.messages[begin.map_or(f.at, |b| b + 1)..f.at];
    let timeout = between.iter().find(|m| m.has("error -110") || m.has("timed out"));
    let mut evidence = lines([&case.messages[f.at]]);
    evidence.extend(named.map(|(m, _)| Evidence::from(m)));
    evidence.extend(timeout.map(Evidence::from));
    let which = named.map_or(String::from("A workqueue"), |(_, n)| format!("Workqueue {n}"));
    let (why, confidence) = match timeout {
        Some(m) => {
            let device = m.text.split(':').next().unwrap_or("a device").to_string();
            (format!("; meanwhile {device} timed out"), Confidence::Likely)
        }
        None => (String::new(), Confidence::Certain),
    };
    found(
        ("freeze-failed", Area::Freezer, Level::Broken),
        confidence,
        format!(
            "{which} was still busy after {}, so its work could not be frozen{why}.",
            s(f.after)
        ),
        evidence,
    )
    .with(Advice::look("Look at the device whose work it is: unplug it, or fix its timeout."))
}

/// systemd's own freezing of the session (systemd 256 on).
fn user_slice(case: &Case, out: &mut Vec<Finding>) {
    let said: Vec<&Message> =
        case.messages.iter().filter(|m| m.has("Failed to freeze unit")).collect();
    if !said.is_empty() {
        out.push(
            found(
                ("freeze-user-slice", Area::Freezer, Level::Broken),
                Confidence::Certain,
                "systemd could not freeze the user's session before sleep.".to_string(),
                lines(said),
            )
            .with(Advice {
                text: "After such a sleep look whether the session is still frozen: systemctl thaw user.slice."
                    .to_string(),
                undo: "",
                risk: "",
            }),
        );
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
        let mut f = found(
            ("freeze-slow", Area::Freezer, Level::Slow),
            Confidence::Certain,
            format!(
                "Freezing took up to {} ({} of {} sleeps over 1 s); the text does not say which task was last.",
                s(took),
                n,
                case.attempts.len().max(n)
            ),
            vec![Evidence::from(m)],
        )
        .with(Advice::look(
            "Record sched:sched_switch during one freezing: the last task to switch out is the one.",
        ));
        f.costs = Some(took);
        out.push(f);
    }
}
