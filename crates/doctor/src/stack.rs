//! Tasks and the functions they wait in, as sched_show_task and dump_stack
//! print them.

use crate::message::Message;

/// A function of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// The module that it is of; empty if it is of the kernel itself.
    pub module: String,
}

impl Frame {
    /// `sr_block_open (sr_mod)`.
    pub fn words(&self) -> String {
        match self.module.as_str() {
            "" => self.function.clone(),
            module => format!("{} ({module})", self.function),
        }
    }
}

/// A task of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its name, at most 15 characters.
    pub name: String,
    /// Its number; 0 if the text does not say.
    pub pid: u32,
    /// `D`, `S`, `R`…
    pub state: char,
    /// Functions, innermost first, without those that are only guessed (`?`).
    pub frames: Vec<Frame>,
    /// The message that names it.
    pub at: usize,
}

/// The state that a word is, and what stands glued to it.
fn state_of(w: &str) -> Option<(char, &str)> {
    let (first, rest) = (*w.as_bytes().first()?, w.get(1..)?);
    let digits = rest.bytes().all(|b| b.is_ascii_digit());
    (b"RSDTtXZPI".contains(&first) && digits).then_some((char::from(first), rest))
}

/// The task that a line names: `task:NAME state:D stack:0 pid:12 …` (5.11 on),
/// `NAME D 0 1301 1273 0x00000004` before (kernel/sched/core.c:sched_show_task): stack,
/// number, number of the parent, flags. A stack of five digits leaves no blank before it.
pub fn task(text: &str) -> Option<Task> {
    if let Some(rest) = text.strip_prefix("task:") {
        let (name, rest) = rest.split_once(" state:")?;
        let pid = rest.split_once(" pid:").or_else(|| rest.split_once("pid:"));
        let pid = pid.map(|(_, p)| p.trim_start());
        let pid = pid.and_then(|p| p.split(' ').next()?.parse().ok()).unwrap_or(0);
        let state = rest.chars().next()?;
        return Some(Task { name: name.trim().to_string(), pid, state, ..Task::default() });
    }
    let words: Vec<&str> = text.split(' ').filter(|w| !w.is_empty()).collect();
    let digits = |w: &str| w.bytes().all(|b| b.is_ascii_digit());
    // A name has at most 15 characters, and may have blanks.
    let at = (1..words.len()).find(|&i| state_of(words[i]).is_some())?;
    let name = words[..at].join(" ");
    let (state, glued) = state_of(words[at])?;
    let rest = &words[at + 1..];
    let rest = rest.strip_prefix(&["running", "task"][..]).unwrap_or(rest);
    let flags = rest.iter().position(|w| w.starts_with("0x"));
    let stack = *Some(glued).filter(|g| !g.is_empty()).as_ref().or(rest.first())?;
    let is_stack = digits(stack) && (flags.is_some() || stack == "0")
        || stack.len() >= 8 && stack.bytes().all(|b| b.is_ascii_hexdigit());
    let numbers: Vec<&&str> =
        rest[..flags.unwrap_or(rest.len())].iter().filter(|w| digits(w)).collect();
    let pid = match numbers.len() {
        0 | 1 => return None,
        n if flags.is_some() => numbers[n - 2],
        _ => numbers[usize::from(glued.is_empty())],
    };
    let pid = pid.parse().ok()?;
    (is_stack && name.len() <= 16).then(|| Task { name, pid, state, ..Task::default() })
}

/// The module behind a function: `[fuse]`, `[fuse 3c9a1e]` with what the build is called by.
fn module(text: &str) -> &str {
    let Some(rest) = text.trim_start().strip_prefix('[') else { return "" };
    rest.split([']', ' ']).next().unwrap_or("")
}

fn is_name(text: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || b"_.$".contains(&b);
    !text.is_empty() && text.bytes().all(byte) && !text.as_bytes()[0].is_ascii_digit()
}

/// The last function with its place that a line names, wherever it stands in it: of
/// `RIP: 0010:xe_pm_get+0x30/0x60 [xe]`, of `pc : `, of `PC is at `, of a WARNING.
pub fn place(text: &str) -> Option<Frame> {
    let at = text.rmatch_indices("+0x").map(|m| m.0).find(|&at| {
        let rest = &text[at + 3..];
        rest.split([' ', ',', ')', ']']).next().is_some_and(|w| w.contains("/0x"))
    })?;
    let begin = text[..at].rfind([' ', ':', '(', '\t']).map_or(0, |b| b + 1);
    let function = &text[begin..at];
    let rest = text[at..].split_once([' ', ')']).map_or("", |(_, r)| r);
    is_name(function).then(|| Frame {
        function: function.to_string(),
        module: module(rest.trim_start_matches([',', ' '])).to_string(),
    })
}

/// The frame that a line is: `schedule+0x2f/0x90 [mod]`, `(schedule) from [<c0>]`.
pub fn whole_frame(text: &str) -> Option<Frame> {
    let text = text.trim_start();
    if text.starts_with('?') {
        return None;
    }
    // 32-bit Arm: `[<c1049bec>] (__schedule) from [<c104a0d4>] (schedule+0x48/0xd0)`;
    // `__schedule from schedule+0x48/0xd0` from 5.16 on.
    // A page of the web takes the blank for its own.
    let named = |text: &str| {
        let end = text.find(['+', ' ', ')'])?;
        let rest = text[end..].trim_start_matches(|c| c != '[');
        is_name(&text[..end])
            .then(|| Frame { function: text[..end].to_string(), module: module(rest).to_string() })
    };
    if let Some((_, rest)) = text.split_once("] (").or_else(|| text.split_once("]("))
        && let Some((own, _)) = rest.split_once(" from ")
    {
        return named(own);
    }
    if let Some((own, from)) = text.split_once(" from ")
        && is_name(own.split(' ').next()?)
        && (own.split(' ').count() == 1 || own.contains('['))
        && place(from).is_some()
    {
        return named(&format!("{own} "));
    }
    // `[<ffffffff81>] schedule+0x29/0x70`, as kernels before 4.9 print it.
    let text = match text.strip_prefix("[<").and_then(|t| t.split_once(">]")) {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    };
    // Functions of the first ABI of 64-bit PowerPC begin with a dot.
    let text = without_addresses(text);
    let (name, rest) = text.strip_prefix('.').unwrap_or(text).split_once("+0x")?;
    let (place, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    (is_name(name) && place.contains("/0x"))
        .then(|| Frame { function: name.to_string(), module: module(rest).to_string() })
}

/// A frame without what PowerPC prints before it: its place on the stack and in the kernel,
/// `[c00000003a4b7960] [c00000000001b3a4] schedule+0x74/0x140`
/// (arch/powerpc/kernel/process.c:__show_stack, 2.6 to 7.3).
fn without_addresses(mut text: &str) -> &str {
    while let Some((address, rest)) = text.strip_prefix('[').and_then(|t| t.split_once("] ")) {
        if address.len() < 8 || !address.bytes().all(|b| b.is_ascii_hexdigit()) {
            break;
        }
        text = rest;
    }
    text
}

/// The function of a frame: `schedule+0x2f/0x90`, `(schedule) from [<c0>]`.
#[cfg(test)]
fn frame(text: &str) -> Option<String> {
    whole_frame(text).map(|f| f.function)
}

/// Functions of the scheduler, of locks and of waiting itself: who waits is the first that
/// is none of these.
pub(crate) fn is_of_waiting(f: &str) -> bool {
    let front = [
        "__schedule",
        "schedule",
        "__switch_to",
        "context_switch",
        "preempt_schedule",
        "__cond_resched",
        "_cond_resched",
        "io_schedule",
        "__mutex",
        "mutex_",
        "__down",
        "down",
        "rwsem_",
        "__rwsem",
        "rt_mutex",
        "__rt_mutex",
        "wait_for_",
        "__wait_for",
        "do_wait_for_common",
        "wait_on_bit",
        "__wait_on_bit",
        "out_of_line_wait_on",
        "bit_wait",
        "msleep",
        "usleep_range",
        "do_nanosleep",
        "hrtimer_nanosleep",
        "_raw_spin",
        "__raw_spin",
        "native_queued_spin",
        "queued_spin",
        "__refrigerator",
        "percpu_rwsem_wait",
        "__percpu_down",
        "prepare_to_wait",
        "swait_",
        "__swait",
        "ww_mutex",
        "__ww_mutex",
        // Condition variables of ZFS (module/os/linux/spl/spl-condvar.c, 2.2).
        "cv_wait",
        "__cv_wait",
        "cv_timedwait",
        "__cv_timedwait",
    ];
    front.iter().any(|w| f.starts_with(w))
}

/// Functions that lead from the outside to what is meant, or are of no use in a sentence.
fn is_of_the_way_in(f: &str) -> bool {
    let front = [
        "ret_from",
        "kthread",
        "worker_thread",
        "process_one_work",
        "do_syscall",
        "entry_",
        "__x64_sys",
        "__se_sys",
        "__arm64_sys",
        "el0",
        "invoke_syscall",
        "start_secondary",
        "cpu_startup_entry",
        "x64_sys_call",
    ];
    front.iter().any(|w| f.starts_with(w))
}

/// Who of these frames waits: the first that is none of the scheduler's.
pub(crate) fn waits_in(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|f| !is_of_waiting(&f.function) && !is_of_the_way_in(&f.function))
}

/// Whether a function tells of a crash or a warning, or leads to it, and is not the one
/// that is meant.
pub(crate) fn is_of_a_report(f: &str) -> bool {
    let front = [
        "dump_",
        "show_",
        "__show",
        "panic",
        "__warn",
        "warn_",
        "report_bug",
        "kasan_",
        "__kasan",
        // What finds a fault of its caller (kernel/sched/core.c, lib/ubsan.c, kernel/locking/lockdep.c).
        "__might_",
        "___might_",
        "ubsan_",
        "__ubsan_",
        "lockdep_",
        "kfence_",
        "print_report",
        "die",
        "__die",
        "oops_",
        "do_",
        "__do_",
        "el0",
        "el1",
        "bad_",
        "__bad_",
        "exc_",
        "asm_exc",
        "invalid_op",
        "page_fault",
        "no_context",
        "fault_",
        "mem_abort",
        "nmi_",
        "arm64_",
        "handle_",
        "fixup_",
        "unwind",
        "ret_from",
        "kthread",
        "worker_thread",
        "process_one_work",
        "process_scheduled",
    ];
    front.iter().any(|w| f.starts_with(w))
}

/// Lines of a dump that belong to no task's list of functions end it after this
/// many in a row.
const GAP: usize = 40;

/// A task whose line a console printed in two: `NAME D`, and `0 1301 1273 0x00000004` (pieces of
/// `sched_show_task` without a newline between them, before 4.9).
fn in_two(text: &str, next: &str) -> Option<Task> {
    let state = text.trim_end().rsplit(' ').next()?;
    let is = state.len() == 1 && state_of(state).is_some();
    let goes_on =
        next.contains(" 0x") && next.trim_start().starts_with(|c: char| c.is_ascii_digit());
    task(&format!("{} {}", text.trim_end(), next.trim())).filter(|_| is && goes_on)
}

/// Tasks dumped from `from` on, at most `count`.
pub fn tasks(messages: &[Message], from: usize, count: usize) -> Vec<Task> {
    let mut out: Vec<Task> = Vec::new();
    let mut gap = 0;
    for (i, m) in messages.iter().enumerate().skip(from) {
        let next = messages.get(i + 1);
        if let Some(t) = task(&m.text).or_else(|| in_two(&m.text, &next?.text)) {
            if out.len() == count {
                break;
            }
            // Somebody left the one that tells on the same line.
            let frames = place(&m.text).into_iter().collect();
            out.push(Task { at: i, frames, ..t });
            gap = 0;
        } else if let Some(f) = whole_frame(&m.text) {
            if let Some(t) = out.last_mut() {
                t.frames.push(f);
            }
            gap = 0;
        } else if m.text.trim_start().starts_with('?') {
            gap = 0;
        } else {
            gap += 1;
        }
        let over =
            m.says("Restarting tasks") || m.says("OOM killer enabled") || m.says("suspend e");
        if gap > GAP || over {
            break;
        }
    }
    out
}

/// Frames of the first dump at or after `from`, at most `within` messages on.
pub fn dump(messages: &[Message], from: usize, within: usize) -> Vec<Frame> {
    let mut out = Vec::new();
    for m in messages.iter().skip(from).take(within) {
        if m.has("end trace") || (!out.is_empty() && m.has("cut here")) {
            break;
        }
        out.extend(whole_frame(&m.text));
    }
    out
}

/// Their functions alone.
pub fn frames(messages: &[Message], from: usize, within: usize) -> Vec<String> {
    dump(messages, from, within).into_iter().map(|f| f.function).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_both_generations() {
        let t =
            task("task:systemd-journal state:D stack:0     pid:474   tgid:474   ppid:1").unwrap();
        assert_eq!((t.name.as_str(), t.pid, t.state), ("systemd-journal", 474, 'D'));
        let t = task("task:IndexedDB #19 state:D stack: 0 pid: 3350 ppid: 1393").unwrap();
        assert_eq!((t.name.as_str(), t.pid), ("IndexedDB #19", 3350));
        let t = task("syncthing       D    0  1301   1273 0x00000004").unwrap();
        assert_eq!((t.name.as_str(), t.pid, t.state), ("syncthing", 1301, 'D'));
        let t = task("mount.nfs       D ffff88007c1b2f10     0  1234      1 0x00000004").unwrap();
        assert_eq!((t.name.as_str(), t.pid), ("mount.nfs", 1234));
        assert_eq!(task("Freezing user space processes ... "), None);
        let t = task("gvfsd-mtp       D14208  3377   2901 0x00000000").unwrap();
        assert_eq!((t.name.as_str(), t.pid, t.state), ("gvfsd-mtp", 3377, 'D'));
        let t = task("Web Content     S    0  4410   4107 0x00000000").unwrap();
        assert_eq!((t.name.as_str(), t.pid, t.state), ("Web Content", 4410, 'S'));
        let t = task("spi3            R  running task        0    97      2 0x00000028").unwrap();
        assert_eq!((t.name.as_str(), t.pid, t.state), ("spi3", 97, 'R'));
        assert_eq!(task("CPU2 is up"), None);
        assert_eq!(task("a sentence with R in it and 12 or 13 more"), None);
    }

    #[test]
    fn frames_without_guesses() {
        assert_eq!(
            frame("  request_wait_answer+0xaa/0x1f0 [fuse]"),
            Some("request_wait_answer".into())
        );
        assert_eq!(frame("  ? wait_woken+0x80/0x80"), None);
        assert_eq!(
            frame("[<c1049bec>] (__schedule) from [<c104a0d4>] (schedule+0x48/0xd0)"),
            Some("__schedule".into())
        );
        assert_eq!(
            frame("[<c1049bec>](__schedule+0x840/0x928) from [<c104a0d4>](schedule+0x48/0xd0)"),
            Some("__schedule".into())
        );
        assert_eq!(frame("a sentence with +0x in it"), None);
        assert_eq!(
            frame("[c00000003a4b7960] [c00000000001b3a4] elm_wait+0x204/0x350 [elm]"),
            Some("elm_wait".into())
        );
        assert_eq!(
            frame(" dump_backtrace from show_stack+0x20/0x24"),
            Some("dump_backtrace".into())
        );
        assert_eq!(frame("a mail from somebody"), None);
        assert_eq!(frame(" [<ffffffff8168b3a9>] schedule+0x29/0x70"), Some("schedule".into()));
    }

    #[test]
    fn who_waits_is_behind_the_means_of_waiting() {
        let of = |list: &[&str]| {
            let frames = list.iter().map(|f| Frame { function: (*f).into(), ..Frame::default() });
            waits_in(&frames.collect::<Vec<_>>()).map(|f| f.function.clone())
        };
        let pool = ["__schedule", "schedule", "cv_wait_common", "__cv_wait_io", "elm_txg_sync"];
        assert_eq!(of(&pool), Some("elm_txg_sync".into()));
        assert_eq!(of(&["__schedule", "cvs_commit"]), Some("cvs_commit".into()));
    }

    #[test]
    fn the_place_of_a_crash_is_read_wherever_it_stands() {
        let of = |text: &str| place(text).map(|f| (f.function, f.module));
        let named = |f: &str, m: &str| Some((f.to_string(), m.to_string()));
        assert_eq!(of("RIP: 0010:nv_get+0x30/0x60 [nouveau]"), named("nv_get", "nouveau"));
        assert_eq!(
            of("RIP: 0010:[<ffffffffa01>]  [<ffffffffa01>] nv_get+0x30/0x60 [nouveau]"),
            named("nv_get", "nouveau")
        );
        assert_eq!(of("PC is at clk_core_disable+0x1c/0x90"), named("clk_core_disable", ""));
        assert_eq!(
            of("WARNING: drivers/a/b.c:7 at b_suspend+0x8/0xa0 [b], CPU#2: kworker/1:3/98"),
            named("b_suspend", "b")
        );
        assert_eq!(of("a +0x sentence"), None);
    }
}
