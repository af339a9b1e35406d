//! Kernel logs: what `dmesg`, syslog, a journal or a mail keeps of a cycle.
//!
//! A log names callbacks (`initcall_debug`, `pm_print_times`) and steps; most
//! phases only have a line at their end. What a line proves is used, what it
//! only suggests is replaced as soon as a later line proves it.

mod calls;
mod dress;
mod freeze;
mod journal;
mod order;
mod phase;
mod prefix;
mod ranking;
mod refusal;
mod state;
mod steps;
mod tick;

use crate::track::{Kind, Tracker};
use dormouse_base::complete::LostKind;
use dormouse_base::loss::Severity;
use dormouse_base::time::Ns;
use journal::{Collector, Step};
pub(crate) use order::MARKS;
pub use prefix::{Record, order_of};
use state::Log;
pub use tick::tick;

/// A line is joined with at most this many that follow.
const MAX_JOINS: usize = 3;

/// Longest line that is looked at in full.
const MAX_LINE: usize = 8 << 10;

/// Reads a kernel log.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    tracker.set_kind(Kind::Log);
    tracker.set_split_by_blank();
    let release = crate::pmgraph::header(bytes, tracker);
    let first = tracker.cycles();
    let mut log = Log::new(tracker);
    if let Some(release) = release {
        log.set_version(release);
    }
    let mut joiner = Joiner { log, pending: None, cut: [0; 2], first_cut: [0; 2] };
    if records(bytes, &mut |item, at| joiner.item(item, at)) {
        joiner.log.t.losses().add("newest_first", 1, Severity::Info, NEWEST_FIRST, None);
    }
    let order = joiner.finish();
    tracker.sort_logs(first, &order);
}

/// What stands in a kernel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A message, or a line that may be the rest of one.
    Record(Record<'a>),
    /// Another boot begins here.
    Boot,
    /// `grep` (`--`) or a person (`...`) left lines out before the record that follows.
    LeftOut,
    /// A message that stood there just before.
    Doubled(Record<'a>),
    /// An entry of a journal that cannot be read.
    Damaged,
}

/// Hands everything that stands in a kernel log to `take`, with the number of
/// its line from 1, the oldest first. Records that a slow console fused into one line
/// come one by one. Says whether the newest line stands first.
pub fn records(bytes: &[u8], take: &mut dyn FnMut(Item<'_>, u64)) -> bool {
    let mut lines = Splitter::default();
    let newest_first = order::newest_first(bytes);
    if newest_first {
        order::backwards(bytes, &mut |line, at| lines.line(line, at, take));
    } else {
        let (mut at, mut rest) = (0, bytes);
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[][..], |e| &rest[e + 1..]);
            at += 1;
            lines.line(line, at, take);
        }
    }
    let last = lines.journal.finish();
    lines.entry(last, lines.at, take);
    newest_first
}

/// What [`records`] says to a reader of a log that it read from its end.
pub(crate) const NEWEST_FIRST: &str =
    "the newest line stands first (journalctl --reverse): the log was read from its end";

/// Takes lines apart.
#[derive(Default)]
struct Splitter {
    journal: Collector,
    boot: String,
    recent: Recent,
    /// A separator counts between two records of the kernel: mails end with one.
    timed: bool,
    left_out: Option<u64>,
    at: u64,
}

impl Splitter {
    /// Whether `step` was of a journal.
    fn entry(&mut self, step: Step, at: u64, take: &mut dyn FnMut(Item<'_>, u64)) -> bool {
        match step {
            Step::NotMine => return false,
            Step::Taken => {}
            Step::Damaged => take(Item::Damaged, at),
            Step::Whole(entry) => {
                if !self.boot.is_empty() && !entry.boot.is_empty() && self.boot != entry.boot {
                    take(Item::Boot, at);
                }
                self.boot = entry.boot;
                let text = entry.message.unwrap_or_default();
                let text = &text[..text.len().min(MAX_LINE)];
                let record = Record { time: entry.time, text, fresh: true, ..Record::default() };
                take(Item::Record(record), at);
            }
        }
        true
    }

    fn line(&mut self, line: &[u8], at: u64, take: &mut dyn FnMut(Item<'_>, u64)) {
        self.at = at;
        if line.first() == Some(&b'#') {
            return;
        }
        let step = self.journal.line(line);
        if self.entry(step, at, take) {
            return;
        }
        let line = &line[..line.len().min(MAX_LINE)];
        let plain = dress::plain(line);
        let line = plain.as_deref().unwrap_or(line);
        match line.trim_ascii() {
            l if b"--" == l || elided(l) => self.left_out = self.timed.then_some(at),
            b"" => {}
            // `-- Boot 0123… --` and the older `-- Reboot --` of a journal.
            l if l.starts_with(b"-- Boot ") || l == b"-- Reboot --" => take(Item::Boot, at),
            _ => {
                for piece in Pieces(Some(line)) {
                    self.piece(prefix::strip(piece), at, take);
                }
            }
        }
    }

    fn piece(&mut self, record: Record<'_>, at: u64, take: &mut dyn FnMut(Item<'_>, u64)) {
        self.timed = record.time.is_some();
        if self.timed && elided(record.text.trim_ascii()) {
            self.left_out = Some(at);
            return;
        }
        if let Some(at) = self.left_out.take().filter(|_| self.timed) {
            take(Item::LeftOut, at);
        }
        if self.recent.had(&record) {
            take(Item::Doubled(record), at);
        } else {
            take(Item::Record(record), at);
        }
    }
}

/// What people write where they left lines out.
fn elided(text: &[u8]) -> bool {
    matches!(text, b"..." | b"[...]" | b"...." | b"<snip>" | b"[snip]")
}

/// The records of one line: each begins at a time stamp of the kernel, the
/// first where the line begins.
struct Pieces<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0.take()?;
        let Some((first, time)) = prefix::next_stamp(line, 0) else { return Some(line) };
        let told = |part: &[u8]| {
            let has = |word: &[u8]| memchr::memmem::find(part, word).is_some();
            has(b" returned ") || has(b": calling ")
        };
        let cut = if first > 0 && told(&line[..first]) {
            Some(first)
        } else {
            // A message that quotes an earlier time is no other record.
            let second = prefix::next_stamp(line, first + 1);
            second.filter(|&(_, t)| t >= time).map(|(at, _)| at)
        };
        let Some(cut) = cut else { return Some(line) };
        self.0 = Some(&line[cut..]);
        Some(&line[..cut])
    }
}

/// The records that were read last. A console and a log kept side by side, or
/// two cuts of one log that overlap, say the same line twice.
#[derive(Default)]
struct Recent {
    last: [(Option<Ns>, Vec<u8>); 4],
    next: usize,
}

impl Recent {
    /// Whether the same text came with the same time just before.
    fn had(&mut self, record: &Record<'_>) -> bool {
        if record.time.is_none() || record.text.is_empty() {
            return false;
        }
        if self.last.iter().any(|(time, text)| *time == record.time && text == record.text) {
            return true;
        }
        let (time, text) = &mut self.last[self.next];
        *time = record.time;
        text.clear();
        text.extend_from_slice(record.text);
        self.next = (self.next + 1) % self.last.len();
        false
    }
}

/// Joins lines that were torn apart, and hands them to the state machine.
struct Joiner<'t> {
    log: Log<'t>,
    pending: Option<Pending>,
    /// Lines whose rest is missing: wrapped ones, and those that go on in the middle
    /// of a later one. The first line of each.
    cut: [u64; 2],
    first_cut: [u64; 2],
}

impl Joiner<'_> {
    fn item(&mut self, item: Item<'_>, at: u64) {
        let record = match item {
            Item::Record(record) => record,
            Item::Boot => return self.log.boot(),
            Item::LeftOut => {
                self.log.lose(LostKind::Places, 1);
                return self.log.t.losses().add(
                    "lines_left_out",
                    1,
                    Severity::Warning,
                    "lines were left out, as grep does: attach the whole log",
                    Some(at),
                );
            }
            Item::Doubled(r) if matches!(calls::parse(r.text), None | Some(calls::Line::Cut)) => {
                return;
            }
            Item::Doubled(_) => {
                return self.log.t.losses().add(
                    "doubled_line",
                    1,
                    Severity::Info,
                    "the same line stood there twice and was read once",
                    Some(at),
                );
            }
            Item::Damaged => {
                return self.log.t.losses().add(
                    "unread_entry",
                    1,
                    Severity::Warning,
                    "an entry of the journal is damaged or kept as bytes: use journalctl -k -o short-monotonic",
                    Some(at),
                );
            }
        };
        if let Some(mut p) = self.pending.take() {
            if p.take(&record) {
                match calls::parse(&p.text) {
                    Some(calls::Line::Cut) if p.joined < MAX_JOINS => {
                        self.pending = Some(p);
                        return;
                    }
                    // If they make no sense together, the line stands alone.
                    _ if self.log.line(&p.record(), p.at) => return,
                    _ => {}
                }
            }
            // Bytes are missing here: the line goes on with a later record.
            let hole = p.at == at && record.fresh;
            self.count(&p, hole);
        }
        if !self.log.line(&record, at) && calls::parse(record.text) == Some(calls::Line::Cut) {
            self.pending = Some(Pending::new(&record, at));
        }
    }

    /// A line whose rest never came.
    fn count(&mut self, p: &Pending, hole: bool) {
        if p.certain {
            let kind = usize::from(hole);
            self.cut[kind] += 1;
            if self.first_cut[kind] == 0 {
                self.first_cut[kind] = p.at;
            }
            self.log.lose(if hole { LostKind::Holes } else { LostKind::Lines }, 1);
        }
    }

    fn finish(mut self) -> Vec<u32> {
        if let Some(p) = self.pending.take() {
            self.count(&p, false);
        }
        let losses = self.log.t.losses();
        losses.add(
            "cut_line",
            self.cut[0],
            Severity::Warning,
            "callback lines are cut off or torn apart: save the log with dmesg > FILE and attach it",
            Some(self.first_cut[0]),
        );
        losses.add(
            "log_hole",
            self.cut[1],
            Severity::Warning,
            "a line breaks off and goes on in the middle of a later one; what lay between is lost: record again",
            Some(self.first_cut[1]),
        );
        self.log.finish()
    }
}

/// A line that breaks off, waiting for the rest.
struct Pending {
    time: Option<Ns>,
    pid: Option<i32>,
    text: Vec<u8>,
    at: u64,
    joined: usize,
    /// It certainly is a callback line.
    certain: bool,
}

impl Pending {
    fn new(record: &Record<'_>, at: u64) -> Pending {
        let has = |word: &[u8]| memchr::memmem::find(record.text, word).is_some();
        Pending {
            time: record.time,
            pid: record.pid,
            text: record.text.to_vec(),
            at,
            joined: 0,
            certain: has(b"calling ") || has(b" returned "),
        }
    }

    /// Appends `next` if it can be the rest: it has no prefix of its own, and
    /// is no callback line itself.
    fn take(&mut self, next: &Record<'_>) -> bool {
        let own = matches!(
            calls::parse(next.text),
            Some(calls::Line::Call { .. } | calls::Line::Return { .. })
        ) && !starts_as_rest(next.text);
        if next.fresh || next.text.is_empty() || own {
            return false;
        }
        self.text.push(b' ');
        self.text.extend_from_slice(next.text);
        self.joined += 1;
        true
    }

    fn record(&self) -> Record<'_> {
        Record { time: self.time, pid: self.pid, text: &self.text, ..Record::default() }
    }
}

/// `FN+0x0/0x10 returned …` without an owner is the rest of a line.
fn starts_as_rest(text: &[u8]) -> bool {
    let word = text.split(|&b| b == b' ').next().unwrap_or(text);
    !word.ends_with(b":") && memchr::memmem::find(text, b": ").is_none()
}
