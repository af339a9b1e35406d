//! Inhibitor locks: a table of `systemd-inhibit --list`, and requests that logind refused
//! because of one.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level, Task};
use crate::message::Message;
use dormouse_base::say;

/// What a lock may be of, as systemd writes it between colons (systemd-inhibit(1)).
const WHAT: [&str; 9] = [
    "shutdown",
    "sleep",
    "idle",
    "handle-power-key",
    "handle-suspend-key",
    "handle-hibernate-key",
    "handle-lid-switch",
    "handle-reboot-key",
    "handle-reboot",
];

/// A row of the table.
struct Lock<'a> {
    who: String,
    task: Task,
    what: &'a str,
    why: String,
    blocks: bool,
    message: &'a Message,
}

/// `vlc 1000 ana 5521 vlc sleep:idle Playing some media. block`: a lock, which blocks or delays.
fn lock<'a>(m: &'a Message) -> Option<Lock<'a>> {
    const MODES: [&str; 3] = ["block", "block-weak", "delay"];
    if !MODES.iter().any(|mode| m.text.trim_end().ends_with(mode)) {
        return None;
    }
    let words: Vec<&str> = m.text.split_whitespace().collect();
    let is_what = |w: &str| w.split(':').all(|p| WHAT.contains(&p));
    let at = words.iter().position(|w| is_what(w)).filter(|at| *at >= 4)?;
    let mode = *words.last().filter(|w| MODES.contains(w))?;
    let pid = words[at - 2].parse().ok()?;
    words[at - 4].parse::<u32>().ok()?;
    Some(Lock {
        who: words[..at - 4].join(" "),
        task: Task { name: words[at - 1].into(), pid },
        what: words[at],
        why: words[at + 1..words.len() - 1].join(" "),
        blocks: mode != "delay",
        message: m,
    })
}

/// What a refusal of a sleep says of who holds the lock:
/// `Refusing suspend operation, sleep is inhibited by UID 1000/ada, PID 2100/oak.`; nothing of
/// a refusal of anything else.
fn refuses(text: &str) -> Option<Option<Task>> {
    let (_, rest) = text.split_once("Refusing ")?;
    let (operation, rest) = rest.split_once("operation")?;
    let sleeps = ["", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "sleep"];
    if !sleeps.contains(&operation.trim()) {
        return None;
    }
    let who = rest.split_once("PID ").and_then(|(_, r)| r.split_once('/'));
    Some(who.and_then(|(pid, name)| {
        let name = name.trim_end_matches('.').split([' ', ',']).next()?;
        Some(Task { name: name.to_owned(), pid: pid.parse().ok()? })
    }))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having("nhibited").map(|(_, m)| m);
    let refused: Vec<&Message> =
        said.filter(|m| m.has("logind") && refuses(&m.text).is_some()).collect();
    let holder = refused.iter().rev().find_map(|m| refuses(&m.text)?);
    let lid = case.messages.has("Lid closed");
    let of_sleep = |l: &Lock<'_>| {
        let of = |what: &str| l.what.split(':').any(|w| w == what);
        // A desktop that handles the lid itself holds that lock all the time.
        of("sleep") || lid && !refused.is_empty() && of("handle-lid-switch")
    };
    let all: Vec<Lock<'_>> = case.messages.iter().filter_map(lock).collect();
    let locks: Vec<&Lock<'_>> = all.iter().filter(|l| l.blocks && of_sleep(l)).collect();
    let mut named: Vec<String> = locks.iter().map(|l| l.told("blocks")).collect();
    let delays = delays(&all);
    let mut tasks: Vec<Task> = locks.iter().map(|l| l.task.clone()).collect();
    // The refusal itself may name him.
    if let Some(task) = holder.filter(|h| tasks.iter().all(|t| t.pid != h.pid)) {
        named.insert(0, format!("{} (PID {}) holds it", task.name, task.pid));
        tasks.insert(0, task);
    }
    let asked = say::times(refused.len());
    let (level, sure, mut text) = match (refused.is_empty(), named.is_empty()) {
        (true, true) => return out.extend(harmless(&all, &delays)),
        (false, false) => (
            Level::Broken,
            Confidence::Likely,
            format!(
                "logind refused to put the machine to sleep{asked}, because a lock inhibits it: {}.",
                named.join("; ")
            ),
        ),
        (false, true) => (
            Level::Broken,
            Confidence::Certain,
            format!(
                "logind refused to put the machine to sleep{asked}, because a lock inhibits it. Whose, no line that was read says."
            ),
        ),
        (true, false) => (
            Level::Risk,
            Confidence::Certain,
            format!(
                "While a lock blocks it the machine is not put to sleep: {}.",
                named.join("; ")
            ),
        ),
    };
    if !delays.is_empty() && refused.is_empty() {
        text += &format!(" Besides, {delays}.");
    }
    out.push(
        Finding::new(("way-locked", Area::Abort, level), sure)
            .says(text)
            .look("systemd-inhibit --list names who holds a lock while the machine is awake; end that program, or tell it to let go.")
            .times(refused.len().max(1))
            .of_tasks(tasks)
            .shown_by(lines(refused.into_iter().chain(locks.iter().map(|l| l.message)))),
    );
}

impl Lock<'_> {
    /// `oak (PID 70) blocks sleep, because: "a call"`.
    fn told(&self, does: &str) -> String {
        let why = match self.why.as_str() {
            "" => String::new(),
            why => format!(", because: \"{why}\""),
        };
        let who = if self.who.is_empty() { &self.task.name } else { &self.who };
        format!("{who} (PID {}) {does} {}{why}", self.task.pid, self.what)
    }
}

/// So many locks that delay a sleep are named.
const DELAYS: usize = 3;

/// Who delays a sleep, and for how long at most; nothing if nobody does.
fn delays(all: &[Lock<'_>]) -> String {
    let of_sleep = |l: &&Lock<'_>| !l.blocks && l.what.split(':').any(|w| w == "sleep");
    let all: Vec<String> = all.iter().filter(of_sleep).map(|l| l.told("delays")).collect();
    let more = match all.len().saturating_sub(DELAYS) {
        0 => String::new(),
        n => format!("; {n} more do"),
    };
    let named = all.iter().take(DELAYS).map(String::as_str).collect::<Vec<_>>().join("; ");
    let each = if all.len() == 1 { "" } else { "each " };
    match all.len() {
        0 => String::new(),
        // logind.conf(5): InhibitDelayMaxSec.
        _ => format!(
            "{named}{more}, {each}until it lets go or InhibitDelayMaxSec is over, 5 s where nobody set another"
        ),
    }
}

/// What a table says in which no lock blocks a sleep.
fn harmless(all: &[Lock<'_>], delays: &str) -> Option<Finding> {
    let of = |l: &&Lock<'_>, what: &str| l.what.split(':').any(|w| w == what);
    let lid: Vec<&Lock<'_>> =
        all.iter().filter(|l| l.blocks && of(l, "handle-lid-switch")).collect();
    let first = all.first()?;
    let delays = if delays.is_empty() { String::new() } else { format!("; {delays}") };
    let left = lid.first().map_or(String::new(), |l| {
        let why = if l.why.is_empty() { String::new() } else { format!(" (\"{}\")", l.why) };
        let who = if l.who.is_empty() { &l.task.name } else { &l.who };
        format!(
            " {who} ({}, PID {}) blocks handle-lid-switch{why}: what the closed lid does is left to it.",
            l.task.name, l.task.pid
        )
    });
    let shown = lid.iter().map(|l| l.message).chain([first.message]);
    let rule = ("way-locks", Area::Abort, Level::Note);
    Some(
        Finding::new(rule, Confidence::Certain)
            .says(format!("No lock of this table blocks a sleep{delays}.{left}"))
            .of_tasks(lid.iter().map(|l| l.task.clone()))
            .shown_by(lines(shown)),
    )
}
