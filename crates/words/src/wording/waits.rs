//! Waits that a log tells without callbacks, in words.

use crate::Explained;
use crate::doctor::headline;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;
use dormouse_doctor::waits::{Cause, Wait};

/// What times between lines are worth.
pub const BETWEEN_LINES: &str = "At most: between two lines other devices may have been waited \
                                 for too, which say nothing.";

/// A wait in words, for a page that is made of words.
#[derive(Clone, Debug)]
pub struct Told {
    /// How long.
    pub time: Ns,
    /// As one of the list.
    pub entry: String,
    /// What its time is worth; empty if the kernel counted it.
    pub bound: &'static str,
}

/// What a log without callbacks says of a cycle, for such a page.
#[derive(Clone, Debug)]
pub struct Silent {
    /// Its answer: a finding or the longest wait, if there is one.
    pub answer: Option<String>,
    /// Its waits.
    pub waits: Vec<Told>,
}

/// Cycle `i` in words.
pub fn told(e: &Explained, i: usize) -> Silent {
    let one = |w: &Wait| Told {
        time: w.time,
        entry: entry(w),
        bound: if w.counted { "" } else { BETWEEN_LINES },
    };
    let list = e.waits_of(i);
    Silent {
        answer: e.answer_of(i).map(headline).or_else(|| list.first().map(answer)),
        waits: list.iter().map(one).collect(),
    }
}

/// `ata5 on resume, at most 4.1 s (its link; likely)`.
pub fn answer(w: &Wait) -> String {
    format!(
        "No device callbacks in this log. Its own lines tell the longest wait of {}, {} ({}; {}).",
        who(w),
        bound(w),
        cause(w.cause),
        w.confidence.name()
    )
}

fn who(w: &Wait) -> String {
    match w.direction {
        Some(d) => format!("{} for {}", d.name(), say::device(&w.device)),
        None => format!("the sleep for {}", say::device(&w.device)),
    }
}

fn bound(w: &Wait) -> String {
    let at_most = if w.counted { "" } else { "at most " };
    format!("{at_most}{}", say::span(w.time))
}

/// One of the list.
pub fn entry(w: &Wait) -> String {
    let way = w.direction.map_or("either half", Direction::name);
    format!(
        "{way}, {}: {}, {}: \"{}\"",
        say::device(&w.device),
        cause(w.cause),
        if w.counted { "counted by the kernel".to_owned() } else { w.confidence.name().to_owned() },
        w.text.trim()
    )
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::NotReady => "it was not ready",
        Cause::Link => "its link came up late",
        Cause::Reset => "it was reset",
        Cause::Timeout => "it did not answer in time",
        Cause::Firmware => "its firmware was started",
        Cause::Disk => "a disk stopped or spun up",
        Cause::Silence => "it spoke next after silence",
    }
}
