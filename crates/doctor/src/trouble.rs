//! Trouble that a kernel reports of itself: each report once, with the function that it
//! blames. Recognised by its own first line, whatever a log, a telephone or a mail put
//! before it.
//!
//! | kind | file of the kernel |
//! |---|---|
//! | oops, fault, BUG | lib/bug.c, arch/*/mm/fault.c, arch/*/kernel/traps.c |
//! | panic, WARNING | kernel/panic.c:panic, __warn; 7.3 has `file:line at function, CPU#n` |
//! | asynchronous error | arch/arm64/kernel/traps.c:arm64_serror_panic |
//! | order of locks | kernel/locking/lockdep.c |
//! | stuck task | kernel/hung_task.c:check_hung_task |
//! | stuck CPU | kernel/rcu/tree_stall.h, tree_exp.h, kernel/watchdog.c |

use crate::case::Case;
use crate::message::{Message, Trust};
use crate::messages::Messages;
use crate::stack::{self, Frame};
use crate::stage;

/// What is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel or a task of it cannot go on.
    Crash,
    /// Something that must not be, and the kernel goes on.
    Warning,
    /// A fault in the order or the use of locks.
    Locks,
    /// A task that waits for minutes.
    Hung,
    /// A CPU that does not get on.
    Stall,
}

/// One report.
#[derive(Clone, Debug)]
pub struct Trouble<'a> {
    /// What kind.
    pub kind: Kind,
    /// Its first line.
    pub at: usize,
    /// Behind its last line.
    pub end: usize,
    /// What the first line says, from the word that it is known by.
    pub words: &'a str,
    /// The function that the processor was in, or that the first line names.
    pub place: Option<Frame>,
    /// The first function of a module on the way there.
    pub by: Option<Frame>,
    /// All functions of its dump.
    pub frames: Vec<Frame>,
    /// The task, with its number, if the report names one.
    pub task: Option<(String, u32)>,
}

/// How reports begin. The first that fits counts.
const BEGINS: [(&str, Kind); 37] = [
    ("BUG: unable to handle", Kind::Crash),
    ("BUG: kernel NULL pointer", Kind::Crash),
    ("BUG: stack guard page was hit", Kind::Crash),
    ("BUG: KASAN", Kind::Crash),
    ("BUG: KFENCE", Kind::Crash),
    ("BUG: KMSAN", Kind::Crash),
    ("BUG: KCSAN", Kind::Warning),
    ("UBSAN: ", Kind::Warning),
    ("BUG: scheduling while atomic", Kind::Warning),
    ("BUG: sleeping function called from invalid context", Kind::Warning),
    ("BUG: workqueue lockup", Kind::Stall),
    ("BUG: soft lockup", Kind::Stall),
    ("watchdog: BUG: soft lockup", Kind::Stall),
    ("Watchdog detected hard LOCKUP", Kind::Stall),
    ("Unable to handle kernel", Kind::Crash),
    ("Internal error: ", Kind::Crash),
    ("general protection fault", Kind::Crash),
    ("kernel BUG at ", Kind::Crash),
    ("Oops: ", Kind::Crash),
    ("Oops[#", Kind::Crash),
    ("Oops - ", Kind::Crash),
    ("Oops [#", Kind::Crash),
    ("Kernel panic - not syncing", Kind::Crash),
    ("Bad mode in Error handler", Kind::Crash),
    ("SError Interrupt on CPU", Kind::Crash),
    ("Unhandled fault: ", Kind::Crash),
    ("divide error: 0000", Kind::Crash),
    ("invalid opcode: 0000", Kind::Crash),
    ("WARNING: possible ", Kind::Locks),
    ("WARNING: suspicious RCU usage", Kind::Locks),
    ("WARNING: inconsistent lock state", Kind::Locks),
    ("WARNING: bad unlock balance", Kind::Locks),
    ("WARNING: held lock freed", Kind::Locks),
    ("INFO: task ", Kind::Hung),
    ("WARNING: CPU: ", Kind::Warning),
    ("WARNING: at ", Kind::Warning),
    ("WARNING: ", Kind::Warning),
];

/// Each of them has one of these words, and few other lines have.
const MARKS: [&str; 15] = [
    "BUG",
    "LOCKUP",
    "Unable to",
    "Unhandled",
    "Internal error",
    "general protection",
    "Oops",
    "Kernel panic",
    "Bad mode",
    "SError",
    "divide error",
    "invalid opcode",
    "WARNING: ",
    "INFO: ",
    "UBSAN: ",
];

/// Words that stand before a stall: `rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:`.
const STALLS: [&str; 4] = [
    "detected stalls on",
    "self-detected stall on",
    "detected expedited stalls on",
    "detected stall,",
];

/// Where one of the words begins in a line: at its front, or behind what a log puts there.
fn begins(m: &Message) -> Option<(Kind, &str)> {
    if !MARKS.iter().any(|w| m.has(w)) {
        return None;
    }
    let text = m.text.as_str();
    if let Some(at) = m.text.find("INFO: ")
        && STALLS.iter().any(|w| text[at..].contains(w))
    {
        return Some((Kind::Stall, &text[at..]));
    }
    // A word counts at the front of a line, or behind what a log puts there.
    let mut front = true;
    let mut fits = None;
    for (at, b) in text.bytes().enumerate() {
        if b == b' ' {
            continue;
        }
        if front
            && let Some((_, kind)) =
                BEGINS.iter().find(|w| w.0.as_bytes()[0] == b && text[at..].starts_with(w.0))
        {
            fits = Some((at, *kind));
            break;
        }
        front = matches!(b, b':' | b']' | b'>' | b'!' | b'*' | b'|');
    }
    let (at, kind) = fits?;
    let words = &text[at..];
    let is = match kind {
        // What other programs warn of has no function and no CPU.
        Kind::Warning if words.starts_with("WARNING: ") => {
            words.starts_with("WARNING: CPU: ")
                || words.contains(", CPU#")
                || words.starts_with("WARNING: at ") && stack::place(words).is_some()
        }
        Kind::Hung => words.contains(" blocked for more than "),
        _ => true,
    };
    is.then_some((kind, words))
}

/// Whether a line may be the kernel's: one without the prefix of a log must have what
/// nobody types.
fn is_of_a_kernel(m: &Message, words: &str) -> bool {
    let typed =
        [" PID: ", ", CPU#", "[#", "blocked for more than", "detected stalls on CPUs/tasks:"];
    match m.trust {
        Trust::Logged | Trust::Shown => true,
        Trust::Prose | Trust::Quoted => typed.iter().any(|w| words.contains(w)),
    }
}

/// A report is no longer than this.
const LONGEST: usize = 120;

/// Lines that name the function that the processor was in.
const PLACES: [&str; 8] =
    ["RIP: ", "EIP: ", "IP: ", "pc : ", "PC is at ", "epc : ", "NIP [", "nip ["];

/// Functions that stand for those that called them.
fn is_of_everybody(f: &Frame) -> bool {
    let front = [
        "__list_",
        "list_",
        "mutex_",
        "__mutex",
        "_raw_",
        "__raw_",
        "native_",
        "refcount_",
        "mem",
        "__mem",
        "str",
        "kfree",
        "kmem_",
        "__kmalloc",
        "queued_",
        "__queue_work",
        "__flush_work",
        "check_flush",
        "rcu_",
        "read_",
        "write_",
        "ioread",
        "iowrite",
        "__raw",
        "warn_",
        "__warn",
    ];
    f.module.is_empty() && front.iter().any(|w| f.function.starts_with(w))
}

fn report<'a>(messages: &'a [Message], at: usize, kind: Kind, words: &'a str) -> Trouble<'a> {
    let limit = messages.len().min(at + LONGEST);
    let mut end = at + 1;
    // Checkers of memory name the function that they caught, and stand in their own.
    let names = kind == Kind::Warning || words.starts_with("BUG: K");
    let mut place = stack::place(words).filter(|_| names);
    let mut frames: Vec<Frame> = Vec::new();
    let mut task = None;
    let mut dry = 0;
    for (i, m) in messages.iter().enumerate().take(limit).skip(at) {
        let text = m.text.as_str();
        if i > at && begins(m).is_some_and(|(k, _)| k != Kind::Crash || kind != Kind::Crash)
            || i > at + 1 && text.contains("[ cut here ]")
            || is_of_the_core(m)
        {
            break;
        }
        if let Some(named) = whose(text) {
            task = task.or(Some(named));
        }
        let of_place = PLACES.iter().any(|w| text.contains(w));
        if of_place || kind == Kind::Locks && text.contains(", at: ") {
            place = place.or_else(|| stack::place(text));
        }
        let frame = stack::whole_frame(text);
        // Reports have registers, code and lists of modules between their frames; a log that
        // goes on has nothing of them for long.
        dry = if frame.is_some() || of_place { 0 } else { dry + 1 };
        if frame.is_some() || of_place || i == at {
            end = i + 1;
        }
        frames.extend(frame);
        if text.contains("end trace") || text.contains("end Kernel panic") || dry > 40 {
            end = end.max(if dry > 40 { end } else { i + 1 });
            break;
        }
    }
    // 32-bit Arm names the caller of the last one on its line.
    let last = messages[at..end].last().filter(|m| m.has(" from ") && !frames.is_empty());
    frames.extend(last.and_then(|m| stack::place(&m.text)));
    let own =
        |f: &&Frame| !stack::is_of_a_report(&f.function) && !stack::is_of_waiting(&f.function);
    let place = place.or_else(|| frames.iter().find(own).cloned());
    let generic = place.as_ref().is_none_or(is_of_everybody);
    let other = |f: &&Frame| place.as_ref() != Some(*f);
    let of_module = frames.iter().filter(other).find(|f| !f.module.is_empty());
    let by = match &place {
        Some(p) if !p.module.is_empty() => None,
        _ if of_module.is_some() => of_module.cloned(),
        _ if generic => {
            frames.iter().filter(other).filter(own).find(|f| !is_of_everybody(f)).cloned()
        }
        _ => None,
    };
    Trouble { kind, at, end, words, place, by, frames, task }
}

/// What only the core says between two steps of a sleep: no line of a report.
fn is_of_the_core(m: &Message) -> bool {
    let words =
        ["Restarting tasks", "OOM killer", "suspend exit", "hibernation exit", "suspend entry"];
    words.iter().any(|w| m.says(w)) || m.has(" of devices complete after ")
}

/// The task that a line of a report names.
fn whose(text: &str) -> Option<(String, u32)> {
    if let Some((_, rest)) = text.split_once("INFO: task ") {
        let (named, _) = rest.split_once(" blocked for more than ")?;
        let (name, pid) = named.rsplit_once(':')?;
        return Some((name.to_string(), pid.parse().ok()?));
    }
    // kernel/watchdog.c: `BUG: soft lockup - CPU#2 stuck for 22s! [name:4711]`.
    if text.contains("BUG: soft lockup - CPU#") {
        let (name, pid) =
            text.trim_end().strip_suffix(']')?.rsplit_once('[')?.1.rsplit_once(':')?;
        return Some((name.to_string(), pid.parse().ok()?));
    }
    // 7.x: `…, CPU#1: kworker/u32:9/771`.
    if let Some((_, rest)) = text.split_once(", CPU#") {
        let (name, pid) = rest.split_once(": ")?.1.rsplit_once('/')?;
        return Some((name.to_string(), pid.trim().parse().ok()?));
    }
    let pid = text.split_once("PID: ")?.1;
    let pid = pid.split(' ').next()?.parse().ok()?;
    let name = text.split_once(" Comm: ")?.1;
    let end = [" Not tainted", " Tainted"].iter().find_map(|w| name.find(w)).unwrap_or(name.len());
    Some((name[..end].trim().to_string(), pid))
}

/// A report at the begin of a text, whose first line was cut off: `CPU: 2 PID: 70 Comm: x Not
/// tainted …` and a place in the kernel below it, or no more than its end.
fn headless(messages: &Messages) -> Option<Trouble<'_>> {
    let head = |m: &Message| m.has(" PID: ") && m.has(" Comm: ") && m.has("ainted");
    let first: Vec<usize> = (0..messages.len().min(LONGEST)).collect();
    let known = |at: usize| begins(&messages[at]).is_some() || messages[at].has("cut here");
    let begin = first.iter().copied().take(EARLY).take_while(|&at| !known(at));
    let at =
        begin.into_iter().find(|&at| messages[at].trust == Trust::Logged && head(&messages[at]));
    let end = first
        .iter()
        .copied()
        .take_while(|&at| !known(at))
        .find(|&at| messages[at].has("---[ end trace"));
    let (at, words) = match (at, end) {
        (Some(at), _) => (at, HEADLESS[0]),
        (None, Some(_)) => (0, HEADLESS[1]),
        (None, None) => return None,
    };
    let t = report(messages, at, Kind::Warning, words);
    let in_kernel = t.place.is_some()
        && messages[at..t.end]
            .iter()
            .any(|m| m.has("RIP: 0010:") || m.has("pc : ") || m.has("PC is at "));
    (end.is_some() || in_kernel).then_some(t)
}

/// What is said of such a report in place of its first line.
const HEADLESS: [&str; 2] =
    ["the first lines of the report are cut off", "all but the end of the report is cut off"];

/// So early a report stands whose first line was cut off.
const EARLY: usize = 4;

/// All reports of a text, in its order.
pub(crate) fn troubles(messages: &Messages) -> Vec<Trouble<'_>> {
    let mut out: Vec<Trouble<'_>> = Vec::new();
    out.extend(headless(messages));
    for (at, m) in messages.having_any(&MARKS) {
        // A panic ends what an earlier line of the same crash began.
        if out.last().is_some_and(|t| at < t.end) {
            continue;
        }
        let Some((kind, words)) = begins(m) else { continue };
        // Nobody types the addresses of functions.
        let dumped = || {
            let near = messages[at + 1..].iter().take(3);
            near.into_iter().any(|m| m.text.trim_start().starts_with("[<"))
        };
        if !is_of_a_kernel(m, words) && !dumped() {
            continue;
        }
        let same =
            |t: &Trouble<'_>| kind == Kind::Crash && t.kind == Kind::Crash && at < t.end + 60;
        if out.last().is_some_and(same) {
            continue;
        }
        out.push(report(messages, at, kind, words));
    }
    out
}

/// What the kernel reports of itself first in a text, and the line.
pub fn first(case: &Case) -> Option<(&'static str, u64)> {
    let all = troubles(&case.messages);
    let t = all.first()?;
    let says = match t.kind {
        Kind::Crash => "the kernel crashed",
        Kind::Warning => "the kernel warned of itself",
        Kind::Locks => "the kernel's check of locks found a fault",
        Kind::Hung => "a task waited for minutes",
        Kind::Stall => "a CPU was stuck",
    };
    Some((says, case.messages.get(t.at)?.line))
}

impl Trouble<'_> {
    /// `in vc4_hdmi_suspend (vc4)`, `in __list_del, called by foo (bar)`, with the callback
    /// below which that is; empty if the report names no function.
    pub(crate) fn where_words(&self) -> String {
        let words = match (&self.place, &self.by) {
            (Some(p), Some(b)) => format!("in {}, called by {}", p.words(), b.words()),
            (Some(p), None) | (None, Some(p)) => format!("in {}", p.words()),
            (None, None) => return String::new(),
        };
        let named = |f: &&Frame| ![&self.place, &self.by].iter().any(|n| n.as_ref() == Some(*f));
        match stage::called(&self.frames).filter(named) {
            Some(callback) => format!("{words}, in the callback {}", callback.words()),
            None => words,
        }
    }

    /// Whether its first line was cut off.
    pub(crate) fn is_headless(&self) -> bool {
        HEADLESS.contains(&self.words)
    }

    /// The function to blame: that of the processor, unless everybody uses it.
    pub fn culprit(&self) -> Option<&Frame> {
        match (&self.place, &self.by) {
            (Some(p), Some(b)) if is_of_everybody(p) => Some(b),
            (Some(p), _) => Some(p),
            (None, b) => b.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_report_begins_without_a_mark() {
        let marked = |text: &str| MARKS.iter().any(|w| text.contains(w));
        for (words, _) in BEGINS {
            assert!(marked(words), "{words}");
        }
    }
}
