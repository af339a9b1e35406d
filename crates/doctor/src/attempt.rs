//! Attempts to sleep, with what the messages of each say.
//!
//! The reader of the log finds them, once for all: where each begins and ends is the same
//! for cycles and for the doctor.

use crate::message::{Message, seconds};
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// Where the reader found an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `s2idle`, `deep`, `hibernation`; empty if the log does not say.
    pub mode: &'static str,
    /// Line of its first message.
    pub first: u64,
    /// Line of its last one.
    pub last: u64,
    /// The text has its beginning.
    pub begun: bool,
    /// The text has its end.
    pub closed: bool,
    /// Another attempt was under way when this one began.
    pub inside: bool,
    /// It was given up before the machine slept.
    pub failed: bool,
    /// How long it synced: less than the kernel prints where that is the sync of an
    /// earlier attempt, which went on (sync is abortable since 6.19).
    pub sync: Ns,
    /// How far somebody set the clock of the log on meanwhile.
    pub clock_set: Ns,
}

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
    /// It was given up before the machine slept.
    pub failed: bool,
    /// The kernel's sync.
    pub sync: Option<Sync>,
    /// The console was switched off, so devices were on their way down.
    pub devices: bool,
    /// How far somebody set the clock of the log on meanwhile: its stamps count that.
    pub clock_set: Ns,
}

/// The sync of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// What it took: at most, where its end has no message of its own.
    pub took: Ns,
    /// The message that says so, or that it begins.
    pub from: usize,
    /// The message by which it was over, the same one where the kernel measures.
    pub until: usize,
    /// That is the begin of the freezing: what notifiers took is in it.
    pub at_most: bool,
}

/// Attempts of `messages` at `places`, and the parts of some whose beginning is not in the
/// text: the first message of each, and whether its end is there.
pub fn attempts(messages: &[Message], places: &[Place]) -> (Vec<Attempt>, Vec<(usize, bool)>) {
    let mut at: HashMap<u64, usize> = places.iter().map(|p| (p.first, usize::MAX)).collect();
    at.extend(places.iter().map(|p| (p.last, usize::MAX)));
    for (i, m) in messages.iter().enumerate() {
        if let Some(known) = at.get_mut(&m.line).filter(|known| **known == usize::MAX) {
            *known = i;
        }
    }
    let known = |line: u64| at.get(&line).copied().filter(|i| *i < messages.len());
    let mut found: Vec<(usize, usize, &Place)> = places
        .iter()
        .filter_map(|p| Some((known(p.first)?, known(p.last).map_or(0, |l| l + 1), p)))
        .collect();
    found.sort_by_key(|f| (f.0, f.2.inside));
    let firsts: Vec<usize> = found.iter().filter(|f| !f.2.inside).map(|f| f.0).collect();
    let (mut out, mut parts) = (Vec::new(), Vec::new());
    for (first, end, place) in found {
        if !place.begun {
            parts.push((first, place.closed));
            continue;
        }
        // What follows an attempt without an end may tell why it has none.
        let next = firsts.partition_point(|f| *f <= first);
        let next = firsts.get(next).copied().unwrap_or(messages.len());
        let end = if place.closed || place.inside { end.max(first + 1) } else { next };
        let end = if place.inside { end } else { end.min(next) };
        out.push(attempt(messages, first, end, place));
    }
    (out, parts)
}

fn attempt(messages: &[Message], first: usize, end: usize, place: &Place) -> Attempt {
    let begin = &messages[first];
    // What was asked for: a test of a mode goes by its level.
    let asked = begin.says("suspend entry (").then(|| begin.after("suspend entry (")).flatten();
    let asked = asked.and_then(|r| r.split(')').next());
    // What it is called everywhere else (kernel/power/suspend.c:mem_sleep_labels).
    let asked = asked.map(|a| if a == "shallow" { "standby" } else { a });
    let entry = if begin.says("Freezing ") { None } else { begin.time };
    let is_exit = |m: &&Message| m.says("suspend exit") || m.says("hibernation exit");
    let inside = messages[first..end].iter();
    let sync = |(i, m): (usize, &Message)| {
        let value = m.says("Filesystems sync: ").then(|| m.after("Filesystems sync: "));
        let value = value.flatten().and_then(seconds);
        let at = first + i;
        let sync = |took| Sync { took, from: at, until: at, at_most: false };
        value.filter(|v| *v <= place.sync + LAST_DIGIT).map(sync)
    };
    let down = |m: &Message| m.has("Suspending console(s)") || m.has("suspend of devices complete");
    Attempt {
        mode: asked.unwrap_or(place.mode).to_string(),
        first,
        end,
        entry,
        exit: inside.clone().rev().find(is_exit).filter(|_| place.closed).and_then(|m| m.time),
        closed: place.closed,
        inside: place.inside,
        failed: place.failed,
        sync: inside
            .clone()
            .enumerate()
            .filter_map(sync)
            .next_back()
            .or_else(|| stamped_sync(messages, first, end)),
        devices: inside.clone().any(down),
        clock_set: place.clock_set,
    }
}

/// The sync of a kernel that does not measure it, by stamps of its own clock: `Syncing filesystems
/// ... ` begins it and `done.` ends it. Where both are one line it ends before tasks are frozen,
/// and notifiers run between (kernel/power/suspend.c:enter_state, suspend_prepare, 2.6.32 to 5.0).
/// A keeper with a clock of his own may be frozen before he reads the end.
fn stamped_sync(messages: &[Message], first: usize, end: usize) -> Option<Sync> {
    let time = |i: usize| messages[i].time.filter(|t| *t <= Ns::CALENDAR);
    let from = first + messages[first..end].iter().position(|m| m.says("Syncing filesystems"))?;
    let one_line = messages[from].text.trim_end().ends_with("done.");
    let ends = |m: &Message| {
        m.says("Freezing user space") || !one_line && m.text.trim_end().ends_with("done.")
    };
    let until = from + 1 + messages[from + 1..end].iter().position(ends)?;
    let at_most = messages[until].says("Freezing user space");
    Some(Sync { took: time(until)?.since(time(from)?), from, until, at_most })
}

/// So many messages at most between two lines of one entry or exit.
pub(crate) const TWICE: usize = 3;

/// Printed times of a sync have thousandths.
const LAST_DIGIT: Ns = Ns::from_ms(1);
