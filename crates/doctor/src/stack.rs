//! Tasks and the functions they wait in, as sched_show_task and dump_stack
//! print them.

use crate::message::Message;

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
    pub frames: Vec<String>,
    /// The message that names it.
    pub at: usize,
}

/// The task that a line names: `task:NAME state:D stack:0 pid:12 …` (5.11 on),
/// `NAME D 0 1301 1273 0x00000004` before.
pub fn task(text: &str) -> Option<Task> {
    if let Some(rest) = text.strip_prefix("task:") {
        let (name, rest) = rest.split_once(" state:")?;
        let pid = rest.split_once(" pid:").or_else(|| rest.split_once("pid:"));
        let pid = pid.map(|(_, p)| p.trim_start());
        let pid = pid.and_then(|p| p.split(' ').next()?.parse().ok()).unwrap_or(0);
        let state = rest.chars().next()?;
        return Some(Task { name: name.trim().to_string(), pid, state, ..Task::default() });
    }
    let mut words = text.split(' ').filter(|w| !w.is_empty());
    let (name, state, stack) = (words.next()?, words.next()?, words.next()?);
    let state = match state.as_bytes() {
        [s] if b"RSDTtXZPI".contains(s) => char::from(*s),
        _ => return None,
    };
    let is_stack = stack == "0" || stack.len() >= 8 && stack.bytes().all(|b| b.is_ascii_hexdigit());
    let mut numbers = words.filter_map(|w| w.parse::<u32>().ok());
    // Older kernels print the free stack before the number of the task.
    let (first, second) = (numbers.next()?, numbers.next());
    let pid = if stack == "0" { first } else { second? };
    (is_stack && name.len() <= 16).then(|| Task {
        name: name.to_string(),
        pid,
        state,
        ..Task::default()
    })
}

/// The function of a frame: `schedule+0x2f/0x90`, `(schedule) from [<c0>]`.
pub fn frame(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if text.starts_with('?') {
        return None;
    }
    // 32-bit Arm: `[<c1049bec>] (__schedule) from [<c104a0d4>] (schedule+0x48/0xd0)`.
    // A page of the web takes the blank for its own.
    if let Some((_, rest)) = text.split_once("] (").or_else(|| text.split_once("]("))
        && rest.contains(" from ")
    {
        return rest.split(')').next()?.split('+').next();
    }
    let (name, rest) = text.split_once("+0x")?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"_.$".contains(&b);
    (!name.is_empty() && name.bytes().all(is_name) && rest.contains("/0x")).then_some(name)
}

/// Whether a function tells of a crash or a warning, or leads to it, and is not the one
/// that is meant.
pub fn is_of_a_report(f: &str) -> bool {
    let front = [
        "dump_",
        "show_",
        "__show",
        "panic",
        "__warn",
        "warn_",
        "report_bug",
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

/// Tasks dumped from `from` on, at most `count`.
pub fn tasks(messages: &[Message], from: usize, count: usize) -> Vec<Task> {
    let mut out: Vec<Task> = Vec::new();
    let mut gap = 0;
    for (i, m) in messages.iter().enumerate().skip(from) {
        if let Some(t) = task(&m.text) {
            if out.len() == count {
                break;
            }
            out.push(Task { at: i, ..t });
            gap = 0;
        } else if let Some(f) = frame(&m.text) {
            if let Some(t) = out.last_mut() {
                t.frames.push(f.to_string());
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

/// Functions of the first dump at or after `from`, at most `within` messages on.
pub fn frames(messages: &[Message], from: usize, within: usize) -> Vec<&str> {
    let mut out = Vec::new();
    for m in messages.iter().skip(from).take(within) {
        if m.has("end trace") || (!out.is_empty() && m.has("cut here")) {
            break;
        }
        out.extend(frame(&m.text));
    }
    out
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
    }

    #[test]
    fn frames_without_guesses() {
        assert_eq!(frame("  request_wait_answer+0xaa/0x1f0 [fuse]"), Some("request_wait_answer"));
        assert_eq!(frame("  ? wait_woken+0x80/0x80"), None);
        assert_eq!(
            frame("[<c1049bec>] (__schedule) from [<c104a0d4>] (schedule+0x48/0xd0)"),
            Some("__schedule")
        );
        assert_eq!(
            frame("[<c1049bec>](__schedule+0x840/0x928) from [<c104a0d4>](schedule+0x48/0xd0)"),
            Some("__schedule")
        );
        assert_eq!(frame("a sentence with +0x in it"), None);
    }
}
