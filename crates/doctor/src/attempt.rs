//! Attempts to sleep: from `suspend entry` to `suspend exit`.
//!
//! kernel/power/suspend.c:pm_suspend (5.0 on) and hibernate.c:hibernate print
//! both lines. Where the first is missing an attempt begins with the freezing
//! of user space (power/process.c:freeze_processes).

use crate::message::{Message, seconds};
use crate::{Case, is_another};
use dormouse_base::time::Ns;

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// `s2idle`, `deep`, `hibernation`; empty if the text does not say.
    pub mode: String,
    /// Its first message.
    pub first: usize,
    /// Behind its last message.
    pub end: usize,
    /// Time of the entry line.
    pub entry: Option<Ns>,
    /// Time of the exit line.
    pub exit: Option<Ns>,
    /// The exit line is there.
    pub closed: bool,
    /// Another attempt was under way when this one began: two writers.
    pub inside: bool,
    /// What the kernel's sync took, and the message that says so.
    pub sync: Option<(Ns, usize)>,
    /// The console was switched off, so devices were on their way down.
    pub devices: bool,
}

/// The mode of an entry line.
fn entry(m: &Message) -> Option<String> {
    if let Some(rest) = m.says("suspend entry").then(|| m.after("suspend entry")).flatten() {
        let mode = rest.trim().trim_start_matches('(');
        return Some(mode.split(')').next().unwrap_or("").to_string());
    }
    m.says("hibernation entry").then(|| "hibernation".to_string())
}

/// Attempts of `messages`.
pub fn split(messages: &[Message]) -> Vec<Attempt> {
    let mut out: Vec<Attempt> = Vec::new();
    let mut open = false;
    // It has begun to freeze user space.
    let mut freezes = false;
    // An attempt that goes on while a second writer's is refused.
    let mut outer: Option<usize> = None;
    for (i, m) in messages.iter().enumerate() {
        if let Some(mode) = entry(m) {
            // Android prints the entry once more, with the date in place of the mode.
            if mode.starts_with(|c: char| c.is_ascii_digit()) {
                if !open {
                    out.push(Attempt { first: i, end: i + 1, entry: m.time, ..Attempt::default() });
                    open = true;
                }
                continue;
            }
            // The one with the date may come first.
            if let Some(a) = out
                .last_mut()
                .filter(|a| open && a.mode.is_empty() && a.entry.is_some() && i - a.first <= TWICE)
            {
                (a.mode, a.end) = (mode, i + 1);
                continue;
            }
            // Within a tenth of a second nobody got out again.
            let inside = open
                && out.last().is_some_and(|a| match (a.entry, m.time) {
                    (Some(a), Some(b)) => b >= a && b.0 - a.0 < 100_000_000,
                    _ => false,
                });
            if let Some(a) = out.last_mut().filter(|_| open) {
                a.end = i;
            }
            outer = inside.then(|| out.len() - 1);
            freezes = false;
            out.push(Attempt {
                mode,
                first: i,
                end: i + 1,
                entry: m.time,
                inside,
                ..Attempt::default()
            });
            open = true;
        } else if m.says("suspend exit") || m.says("hibernation exit") {
            if let Some(a) = out.last_mut().filter(|_| open) {
                (a.end, a.exit, a.closed) = (i + 1, m.time, true);
            }
            // The first one stands last again: it goes on.
            open = match outer.take() {
                Some(first) => {
                    let first = out.remove(first);
                    out.push(first);
                    true
                }
                None => false,
            };
        } else if m.says("resume from hibernation") {
            // A kernel that reads an image freezes tasks for that too
            // (kernel/power/hibernate.c:software_resume).
            if !open {
                let mode = "hibernation".to_string();
                out.push(Attempt { mode, first: i, end: i + 1, ..Attempt::default() });
                (open, freezes) = (true, false);
            }
        } else if m.says("Preparing system for ") && m.has(" sleep") && !open {
            // Before 5.0 nothing is said earlier (kernel/power/suspend.c:enter_state).
            let mode = if m.has("freeze") { "s2idle" } else { "" }.to_string();
            out.push(Attempt { mode, first: i, end: i + 1, entry: m.time, ..Attempt::default() });
            (open, freezes) = (true, false);
        } else if m.says("Freezing user space processes") && !(open && goes_on(m, freezes)) {
            if let Some(a) = out.last_mut().filter(|_| open) {
                a.end = i;
            }
            out.push(Attempt { first: i, end: i + 1, ..Attempt::default() });
            (open, freezes) = (true, true);
        } else if let Some(a) = out.last_mut().filter(|_| open) {
            a.end = i + 1;
            freezes |= m.says("Freezing user space processes");
            a.closed |= m.says("Finishing wakeup");
            if m.says("Filesystems sync: ") {
                a.sync = took(m, a.entry).map(|t| (t, i));
            }
            a.devices |= m.has("Suspending console(s)") || m.has("suspend of devices complete");
        }
    }
    out
}

/// Whether a line of the freezing of user space is of the attempt that is open, which has
/// begun to freeze or not: one attempt begins once.
fn goes_on(m: &Message, freezes: bool) -> bool {
    !freezes || ["completed", "failed", "aborted"].iter().any(|w| m.has(w))
}

/// What only the core prints inside a sleep: phases, callbacks, time that stood still.
fn is_of_sleep(m: &Message) -> bool {
    let callback = m.has(" calling ") || m.has(" returned ") && m.has(" usecs");
    let named = ["suspend", "resume", "freeze", "thaw", "restore"].iter().any(|w| m.has(w));
    // Calls of initialisation have no such word.
    m.has(": PM: calling")
        || callback && m.has("+0x") && named
        || m.has(" of devices complete after ")
        || m.says("Timekeeping suspended for ")
        || m.says("Suspended for ")
        || is_exit(m)
}

fn is_exit(m: &Message) -> bool {
    m.says("suspend exit") || m.says("hibernation exit")
}

/// So many messages at most between two lines of one entry or exit.
pub(crate) const TWICE: usize = 3;

/// Parts of sleeps whose beginning is not in the text: the first message of each, and
/// whether its end is there.
pub fn parts(case: &Case) -> impl Iterator<Item = (usize, bool)> {
    let mut out: Vec<(usize, bool)> = Vec::new();
    let mut open = false;
    let (mut up, mut last) = (false, None);
    // Android says the exit twice.
    let mut exit = None;
    let known = |i: usize| case.attempts.iter().any(|a| (a.first..a.end).contains(&i));
    for (i, m) in case.messages.iter().enumerate() {
        if !m.trust.is_of_a_kernel() {
            continue;
        }
        let other = is_another(last, m);
        last = m.time.or(last);
        let again = is_exit(m) && exit.is_some_and(|at| i - at <= TWICE);
        exit = is_exit(m).then_some(i).or(exit);
        if known(i) {
            open = false;
            continue;
        }
        if !is_of_sleep(m) || again {
            open &= !other;
            continue;
        }
        // What goes down after something came up is of another sleep.
        let down = !m.has("resume") && (m.has("_suspend") || m.has("suspend of devices"));
        if !open || other || up && down {
            out.push((i, false));
            (open, up) = (true, false);
        }
        up |= m.has("resume");
        if is_exit(m) {
            if let Some(part) = out.last_mut() {
                part.1 = true;
            }
            open = false;
        }
    }
    out.into_iter()
}

/// What a sync took. A line whose value is longer than the attempt so far is of
/// an earlier attempt (sync is abortable since 6.19 and goes on).
fn took(m: &Message, entry: Option<Ns>) -> Option<Ns> {
    let value = m.after("Filesystems sync: ").and_then(seconds)?;
    match (entry, m.time) {
        (Some(a), Some(b)) if b >= a && value.0 > b.0 - a.0 + 1_000_000 => None,
        _ => Some(value),
    }
}
