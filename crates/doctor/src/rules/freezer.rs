//! Who would not freeze, and why (kernel/power/process.c:try_to_freeze_tasks).

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level, Task as Named};
use crate::message::{Message, Trust, seconds};
use crate::stack::{self, Task};
use crate::trouble::{Kind, Trouble, troubles};
use crate::way;
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
pub(super) enum Wait {
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
    pub(super) fn words(self) -> &'static str {
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
            Wait::Disk => {
                "waited for a read or write that did not end in time (of a disk, a card or a file server)"
            }
            Wait::KernelLoop => {
                "is a thread of the kernel that never asks to be frozen: a fault of its driver"
            }
            Wait::Uninterruptible => "waited where it cannot be frozen (state D)",
            Wait::Running => "ran and did not leave the kernel in time",
            Wait::KernelThread => "is a thread of the kernel that did not reach the freezer",
            Wait::Unknown => "did not reach the freezer",
        }
    }

    /// What to do about such a task.
    pub(super) fn advice(self) -> &'static str {
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
    (&["uevent_show"], Wait::DeviceLock),
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

/// Modules of network file systems and of what carries them.
const NETWORK: [&str; 10] =
    ["nfs", "nfsv3", "nfsv4", "sunrpc", "cifs", "smbfs", "ceph", "9p", "9pnet", "afs"];

pub(super) fn wait(t: &Task, kernel: bool) -> Wait {
    let has =
        |names: &&[&str]| t.frames.iter().any(|f| names.iter().any(|n| f.function.starts_with(n)));
    let of = |modules: &[&str]| t.frames.iter().any(|f| modules.contains(&f.module.as_str()));
    let known = WAITS.iter().filter(|(names, _)| has(names)).map(|w| w.1);
    let known = known.into_iter().find(|w| *w != Wait::DeviceLock || stands_in_its_lock(t));
    match known {
        // What waits for a page or a disk waits for the server that has it.
        None | Some(Wait::Disk | Wait::PageFault | Wait::Writeback) if of(&NETWORK) => {
            return Wait::NetworkFiles;
        }
        None | Some(Wait::Disk | Wait::PageFault | Wait::Writeback) if of(&["fuse"]) => {
            return Wait::Fuse;
        }
        Some(w) => return w,
        None => {}
    }
    match t.state {
        'D' => Wait::Uninterruptible,
        'R' => Wait::Running,
        _ if kernel => Wait::KernelThread,
        _ => Wait::Unknown,
    }
}

/// Whether a task stands in the lock of a device that `uevent` takes (drivers/base/core.c:
/// uevent_show, 6.12), and not in what a driver adds to it.
fn stands_in_its_lock(t: &Task) -> bool {
    let mut inner = t.frames.iter().take_while(|f| f.function != "uevent_show");
    inner.all(|f| stack::is_of_waiting(&f.function))
}

/// The function to name: the first of a module, which a driver or a file system is; else the
/// one that tells what was waited for; else the first above the scheduler.
pub(super) fn place(t: &Task) -> Option<&stack::Frame> {
    let waits = |f: &&stack::Frame| !stack::is_of_waiting(&f.function);
    let known = |f: &&stack::Frame| {
        WAITS.iter().any(|(names, _)| names.iter().any(|n| f.function.starts_with(n)))
    };
    let of_a_module = t.frames.iter().filter(waits).find(|f| !f.module.is_empty());
    of_a_module
        .or_else(|| t.frames.iter().filter(waits).find(known))
        .or_else(|| stack::waits_in(&t.frames))
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

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
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
    let reports = troubles(&case.messages);
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
            .says(refused(&first, &same, &tasks, why, &behind, unnamed))
            .look(match (why, place(&first.task)) {
                (Wait::Uninterruptible, Some(_)) => {
                    "Look at what that function waits for: its driver's lines just before may say why it does not end."
                }
                _ => why.advice(),
            })
            .of_function(place(&first.task).map(|f| f.function.as_str()))
            .times(first.times)
            .shown_by(evidence);
        let mine: Vec<Named> = tasks.iter().chain(&behind).cloned().collect();
        let f = explained(f, stood_before(case, first.at, &mine, &reports));
        out.push(f.of_tasks(tasks));
    }
    for f in failures.iter().filter(|f| f.workqueue) {
        let found = workqueue(case, f);
        out.push(explained(found, stood_before(case, f.at, &[], &reports)));
    }
    // Failures whose tasks the text does not list.
    let bare: Vec<&Failure> =
        failures.iter().filter(|f| f.tasks.is_empty() && !f.workqueue).collect();
    if let Some(f) = bare.first() {
        let (what, which) =
            if f.refusing == 1 { ("task", "which") } else { ("tasks", "which ones") };
        let text = format!(
            "{} {what} did not freeze in {}{}; no line that was read shows {which}.",
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
    of_a_module(case, out);
    aborted(case, out);
    user_slice(case, out);
    slow(case, out);
}

/// Says of tasks that did not freeze that no sleep is there, where the writer's words are of a
/// module or of kexec and the text shows no attempt: those freeze tasks too
/// (kernel/power/process.c:freeze_processes, kernel/kexec_core.c:kernel_kexec).
fn of_a_module(case: &Case, out: &mut [Finding]) {
    const WORDS: [&str; 5] = ["rmmod ", "insmod ", "modprobe ", " unload", "kexec"];
    let named = |m: &Message| m.trust == Trust::Prose && WORDS.iter().any(|w| m.has(w));
    if !case.attempts.is_empty() || !case.parts.is_empty() || !case.messages.iter().any(named) {
        return;
    }
    for f in out.iter_mut().filter(|f| matches!(f.id, "freeze-failed" | "freeze-retry-loop")) {
        f.sentence += " The text shows no sleep: a module that is loaded or unloaded may freeze tasks too, and kexec does.";
    }
}

/// Freezing that a wakeup ended after so long was held up by somebody.
pub(super) const HELD_UP: Ns = Ns::from_ms(1_000);
/// So many tasks of its dump are told.
pub(super) const LISTED: usize = 4;

/// Freezing that a wakeup ended, with those that had not frozen until then
/// (kernel/power/process.c:try_to_freeze_tasks lists them with pm_debug_messages, kernels of
/// vendors always).
fn aborted(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having("aborted after ").filter(|(_, m)| m.says("Freezing "));
    let tried =
        said.filter_map(|(at, m)| Some((at, m, m.after("aborted after ").and_then(seconds)?)));
    for (at, m, after) in tried.filter(|t| t.2 >= HELD_UP) {
        let tasks = stack::tasks(&case.messages, at + 1, LISTED);
        let Some(first) = tasks.first() else { continue };
        let why = wait(first, false);
        let named = |t: &Task| Named { name: t.name.clone(), pid: t.pid };
        let names: Vec<Named> = tasks.iter().map(named).collect();
        let stood = place(first).map_or(String::new(), |f| format!(" It stood in {}.", f.words()));
        out.push(
            Finding::new(("freeze-aborted", Area::Freezer, Level::Broken), Confidence::Likely)
                .says(format!(
                    "The machine did not sleep: freezing was given up after {}, when a wakeup came, and until then {} had not frozen. The first {}.{stood}",
                    say::seconds(after),
                    say::tasks(&names),
                    why.words()
                ))
                .look(why.advice())
                .of_function(place(first).map(|f| f.function.as_str()))
                .shown_by(lines([m].into_iter().chain(tasks.iter().map(|t| &case.messages[t.at]))))
                .of_tasks(names),
        );
        return;
    }
}

/// The sentence of tasks that refused together for one reason; of those that waited
/// `behind` them for the lock of a device, and how many more the text does not show.
fn refused(
    first: &Refusal,
    same: &[Refusal],
    tasks: &[Named],
    why: Wait,
    behind: &[Named],
    unnamed: u64,
) -> String {
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
        1 => " 1 more task refused, which no line that was read shows.".into(),
        n => format!(" {n} more tasks refused, which no line that was read shows."),
    };
    let (who, did) = (say::tasks(tasks), why.words());
    // The function is named whether or not a rule knows it.
    let place = match place(&first.task) {
        Some(f) if tasks.len() == 1 => format!(". It stood in {}", f.words()),
        Some(_) if stand_apart(first, same) => {
            let each =
                |r: &Refusal| Some(format!("{} in {}", r.task.name, place(&r.task)?.words()));
            let all: Vec<String> =
                std::iter::once(first).chain(same).take(LISTED).filter_map(each).collect();
            format!(". They stood apart: {}", say::names(&all))
        }
        Some(f) => format!(". The first stood in {}", f.words()),
        None if why == Wait::Uninterruptible => "; its functions are not in the text".into(),
        None => String::new(),
    };
    format!("{who} did not freeze in {after}{times}{each} {did}{place}.{behind}{unnamed}")
}

/// Whether tasks that refused together for one reason stood in functions that differ: then each
/// waited for something of its own.
fn stand_apart(first: &Refusal, same: &[Refusal]) -> bool {
    let of = |r: &Refusal| place(&r.task).map(stack::Frame::words);
    let own = of(first);
    same.iter().any(|r| of(r).is_some_and(|f| own.as_ref() != Some(&f)))
}

/// A task or a queue that stood still before, other than those that refused: what they wait
/// for may be the same (kernel/hung_task.c:check_hung_task).
fn stood_before<'a>(
    case: &'a Case,
    at: usize,
    but: &[Named],
    troubles: &'a [Trouble<'a>],
) -> Option<(&'a Trouble<'a>, Evidence)> {
    let hung = |t: &&Trouble<'_>| {
        let named = t.task.as_ref().filter(|_| t.kind == Kind::Hung && t.at < at);
        named.is_some_and(|(name, pid)| !but.iter().any(|b| b.name == *name && b.pid == *pid))
    };
    let t = troubles.iter().rev().find(hung)?;
    // Another boot or a task that stood long ago says nothing of it.
    let near = crate::stage::passed(&case.messages[t.at], &case.messages[at])
        .is_none_or(|p| (Ns::ZERO..=STOOD).contains(&p));
    near.then(|| (t, Evidence::from(&case.messages[t.at])))
}

/// A task that hung so long before a freezing may be why it failed: reports come every 120 s,
/// ten of them in all.
const STOOD: Ns = Ns(1_200_000_000_000);

/// Says of a finding that a task stood still before.
fn explained(f: Finding, by: Option<(&Trouble<'_>, Evidence)>) -> Finding {
    let Some((t, evidence)) = by else { return f };
    let Some((name, pid)) = &t.task else { return f };
    let who = say::task(&Named { name: name.clone(), pid: *pid });
    let place = stack::waits_in(&t.frames).map_or(String::new(), |p| format!(" in {}", p.words()));
    f.because(format!(
        "{who} had stood still{place} before that already: most likely both wait for the same."
    ))
    .shown_by([evidence])
}

/// The same task was reported as hung before.
fn hung(case: &Case, t: &Task) -> Option<Evidence> {
    let name = format!("task {}:{} blocked for more than", t.name, t.pid);
    case.messages.first_having(&name).map(Evidence::from)
}

/// A queue of the list that follows (kernel/workqueue.c:show_freezable_workqueues).
struct Queue<'a> {
    message: &'a Message,
    name: &'a str,
    /// Functions that run, with the number of their worker.
    works: Vec<&'a str>,
    /// It has work that runs.
    runs: bool,
    /// It takes part in the freezing, as far as its flags tell: others block nothing, and
    /// kernels before 5.16 list them too (kernel/workqueue.c:show_workqueue_state).
    freezes: bool,
}

/// `WQ_FREEZABLE` of include/linux/workqueue.h, 2.6.36 to 7.3.
const FREEZABLE: u64 = 4;

/// `in-flight: 230:disk_events_workfn, 99:other_fn BAR(7)`; the functions with the numbers
/// of their workers.
fn works(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|w| !w.is_empty()).collect()
}

/// Queues that a dump lists: those with work in flight before those with work that waits for a
/// worker, and these before work that is not yet due.
fn queues(dump: &[Message]) -> Vec<Queue<'_>> {
    let mut out: Vec<Queue<'_>> = Vec::new();
    for m in dump {
        let text = m.text.trim_start();
        if let Some(rest) = text.strip_prefix("workqueue ") {
            let name = rest.split(':').next().unwrap_or(rest);
            let flags = rest.split_once("flags=0x").map(|f| f.1.split(' ').next().unwrap_or(f.1));
            let flags = flags.and_then(|f| u64::from_str_radix(f, 16).ok());
            let freezes = flags.is_none_or(|f| f & FREEZABLE != 0);
            out.push(Queue { message: m, name, works: Vec::new(), runs: false, freezes });
        } else if let Some(q) = out.last_mut() {
            if let Some(list) = text.strip_prefix("in-flight: ") {
                q.works.extend(works(list));
                q.runs = true;
            }
            q.runs |= m.after("active=").is_some_and(|n| !n.starts_with('0'));
        }
        if m.says("Restarting tasks") || m.says("OOM killer enabled") {
            break;
        }
    }
    out.sort_by_key(|q| (q.works.is_empty(), !q.runs));
    out
}

/// A workqueue that was busy.
fn workqueue(case: &Case, f: &Failure) -> Finding {
    let dump = &case.messages[f.at..case.messages.len().min(f.at + 200)];
    let mut list = queues(dump);
    let listed: Vec<String> = list.iter().take(3).map(|q| q.name.to_string()).collect();
    list.retain(|q| q.freezes);
    // The one that is meant was left out.
    let hidden = list.is_empty() && !listed.is_empty();
    let begin = case.messages[..f.at].iter().rposition(|m| m.says("Freezing "));
    let between = &case.messages[begin.map_or(f.at, |b| b + 1)..f.at];
    let timeout = between.iter().find(|m| m.has("error -110") || m.has("timed out"));
    let mut evidence = lines([&case.messages[f.at]]);
    let busy = list.iter().any(|q| q.runs);
    let shown = list.iter().filter(|q| q.runs || !busy).take(3);
    evidence.extend(shown.map(|q| Evidence::from(q.message)));
    evidence.extend(timeout.map(Evidence::from));
    let timed_out = timeout.map(|m| m.text.split(':').next().unwrap_or("a device"));
    let confidence = if timed_out.is_some() { Confidence::Likely } else { Confidence::Certain };
    let function = |w: &&str| {
        let rest = w.split_once(':').map_or(*w, |(_, r)| r);
        rest.split([' ', '(']).next().unwrap_or(rest).to_string()
    };
    let first = list.first();
    let which = first.map_or("A workqueue".into(), |q| format!("Workqueue {}", q.name));
    let running = |q: &Queue<'_>| {
        let mut running: Vec<String> = q.works.iter().map(function).collect();
        let mut named = std::collections::BTreeSet::new();
        running.retain(|w| named.insert(w.clone()));
        running
    };
    let with = |q: &Queue<'_>| match &running(q)[..] {
        [] => String::new(),
        all => format!(" with {}", say::names(all)),
    };
    let others = list.iter().skip(1).filter(|q| q.runs);
    let others: Vec<String> = others.map(|q| q.name.to_string() + &with(q)).collect();
    let of = first.map_or(Vec::new(), running);
    let with = first.map_or(String::new(), with);
    let others = match others.len() {
        0 if hidden => format!(
            " No line that was read shows which: it lists {}, which no freezing waits for.",
            say::names(&listed)
        ),
        0 => String::new(),
        _ => format!(" Busy too: {}.", say::names(&others)),
    };
    let meanwhile = timed_out.map_or(String::new(), |d| format!("; meanwhile {d} timed out"));
    Finding::new(("freeze-failed", Area::Freezer, Level::Broken), confidence)
        .says(format!(
            "{which} was still busy{with} after {}, so its work could not be frozen{meanwhile}.{others}",
            say::seconds(f.after)
        ))
        .look("Look at the device whose work it is: unplug it, or fix its timeout.")
        .of_function(of.first().map(String::as_str))
        .shown_by(evidence)
}

/// How long systemd waited for a unit to freeze, by the stamps of that line and the one before.
fn waited(case: &Case) -> String {
    let steps = &case.way.steps;
    let at = steps.iter().position(|s| s.kind == way::Kind::NotFrozen);
    let pair = at.and_then(|at| Some((steps.get(at.checked_sub(1)?)?, &steps[at])));
    let Some((a, b)) = pair.filter(|(a, b)| a.run == b.run && b.ms - a.ms >= WAITED) else {
        return String::new();
    };
    let long = say::span(Ns((b.ms - a.ms).saturating_mul(1_000_000)));
    format!("{long} passed between the line before it (\"{}\") and its word.", a.text)
}

/// A shorter wait than this is none, in ms.
const WAITED: i64 = 1_000;

/// systemd's own freezing of the session (systemd 256 on).
fn user_slice(case: &Case, out: &mut Vec<Finding>) {
    let said: Vec<&Message> = case.messages.all_having("Failed to freeze unit");
    if let Some(last) = said.last() {
        // Not all that was frozen is a sleep that failed: the kernel freezes what is left.
        let slept = |a: &crate::attempt::Attempt| {
            case.messages[a.first].line > last.line
                && a.closed
                && !super::abort::ended_early(case, a)
        };
        let went_on = case.attempts.iter().any(slept);
        let level = if went_on { Level::Risk } else { Level::Broken };
        let so = if went_on { " The sleep went on all the same." } else { "" };
        // A line that is shown twice is one.
        let stamp = |m: &Message| (m.time, m.second, m.text.to_string());
        let mut times: Vec<_> = said.iter().map(|m| stamp(m)).collect();
        times.sort();
        times.dedup();
        let times = times.len();
        let rule = ("freeze-user-slice", Area::Freezer, level);
        let f = Finding::new(rule, Confidence::Certain)
            .says(format!(
                "systemd could not freeze the user's session before sleep{}.{so}",
                say::and_times(times)
            ))
            .times(times)
            .because(waited(case))
            .look("After such a sleep look whether the session is still frozen: systemctl thaw user.slice.")
            .shown_by(lines(said));
        out.push(f);
    }
}

/// Freezing that succeeded and took long.
fn slow(case: &Case, out: &mut Vec<Finding>) {
    let mut worst: Option<(Ns, &Message)> = None;
    let mut n = 0;
    for (_, m) in case.messages.having("elapsed ") {
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
            "Freezing took up to {} ({slow} of {of} sleeps over 1 s); no line that was read says which task was last.",
            say::seconds(worst)
        ))
        .look("Record sched:sched_switch during one freezing: the last task to switch out is the one.")
        .costs(worst)
}
