//! Kernel logs as people post them, for tests: what a log says is known, and so is what is
//! left of it.
//!
//! | step | file |
//! |---|---|
//! | a log of sleeps that go well or do not, and what is true of it | `story` |
//! | as whoever keeps it writes it down | `dress` |
//! | what mails, forums and hands do to it | `damage` |
//! | what befalls files | `bytes` |
//!
//! A log of a real kernel is taken in by [`lines_of`]. Same seed, same bytes.
#![forbid(unsafe_code)]

mod bytes;
mod damage;
mod dress;
mod story;

pub use bytes::torn;
pub use damage::Damage;
use dormouse_base::stats::random::Random;
use dormouse_base::time::Ns;
pub use dress::Dress;
pub use story::{Attempt, Kernel, Story, Trouble, story};

/// One message as a kernel prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Since the kernel's start, in whole microseconds.
    pub time: Ns,
    /// Level of printk.
    pub level: u8,
    /// Thread that printed it.
    pub thread: u32,
    /// User space stood still: a keeper of logs has it later.
    pub frozen: bool,
    /// Without stamp.
    pub text: String,
}

/// A log as somebody posted it, and what is left of what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What is read.
    pub bytes: String,
    /// How it was kept.
    pub dress: Dress,
    /// What was done to it, in this order.
    pub damages: Vec<Damage>,
    /// Whether each line of the log is still there.
    pub kept: Vec<bool>,
    /// A time between two stamps is known to this; nothing without stamps.
    pub exact: Option<Ns>,
}

/// The messages of a raw log, `[   12.345678] text`; other lines are left out.
pub fn lines_of(raw: &str) -> Vec<Line> {
    let mut frozen = false;
    raw.lines()
        .filter_map(|line| {
            let (stamp, text) = line.strip_prefix('[')?.split_once("] ")?;
            let (s, us) = stamp.trim().split_once('.')?;
            let us = us.parse::<i64>().ok().filter(|_| us.len() == 6)?;
            let time = Ns(s.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(us)? * 1_000);
            frozen |= text.starts_with("Freezing user space processes completed");
            frozen &= !text.starts_with("Restarting tasks");
            Some(Line { time, level: 6, thread: 1, frozen, text: text.into() })
        })
        .collect()
}

/// `log` in `dress`, damaged by `damages`, which come in the order in which they happen to
/// a text, whatever order they are given in.
pub fn posted(log: &[Line], dress: Dress, damages: &[Damage], random: &mut Random) -> Text {
    let mut damages = damages.to_vec();
    damages.sort_unstable();
    damages.dedup();
    let mut rows = dress.rows(log);
    for damage in &damages {
        damage.apply(&mut rows, dress, random);
    }
    let kept = (0..log.len()).map(|i| rows.iter().any(|r| r.of == Some(i))).collect();
    let mut bytes = String::new();
    for row in &rows {
        bytes.push_str(&row.text);
        bytes.push('\n');
    }
    Text { bytes, dress, damages, kept, exact: dress.exact() }
}

/// `log` in a drawn dress, with at most two drawn damages.
pub fn drawn(log: &[Line], random: &mut Random) -> Text {
    let one = |random: &mut Random, n: usize| random.below(n as u64) as usize;
    let dress = Dress::ALL[one(random, Dress::ALL.len())];
    let damages: Vec<Damage> =
        (0..one(random, 3)).map(|_| Damage::ALL[one(random, Damage::ALL.len())]).collect();
    posted(log, dress, &damages, random)
}

/// Any text with at most two drawn damages.
pub fn damaged(text: &str, random: &mut Random) -> String {
    let mut rows: Vec<Row> = text.lines().map(|l| Row { of: None, text: l.into() }).collect();
    let draw = |random: &mut Random| Damage::ALL[random.below(Damage::ALL.len() as u64) as usize];
    let mut damages: Vec<Damage> = (0..random.below(3)).map(|_| draw(random)).collect();
    damages.sort_unstable();
    for damage in damages {
        damage.apply(&mut rows, Dress::Raw, random);
    }
    rows.into_iter().flat_map(|r| [r.text, "\n".into()]).collect()
}

/// A line of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// Line of the log that it shows.
    of: Option<usize>,
    text: String,
}

#[cfg(test)]
mod tests;
