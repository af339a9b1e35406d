//! Kernel logs: what `dmesg`, syslog, a journal or a mail keeps of a cycle.
//!
//! A log names callbacks (`initcall_debug`, `pm_print_times`) and steps; most
//! phases only have a line at their end. What a line proves is used, what it
//! only suggests is replaced as soon as a later line proves it.

mod calls;
mod freeze;
mod phase;
mod prefix;
mod state;
mod steps;

use crate::track::{Kind, Tracker};
use dormouse_model::loss::Severity;
use prefix::Record;
use state::Log;

/// A line is joined with at most this many that follow.
const MAX_JOINS: usize = 3;

/// Longest line that is looked at in full.
const MAX_LINE: usize = 8 << 10;

/// U+00A0: some mail programs put it for one of two blanks.
const NO_BREAK_SPACE: &[u8] = b"\xc2\xa0";

fn without_no_break_spaces(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest, NO_BREAK_SPACE) {
        plain.extend_from_slice(&rest[..at]);
        plain.push(b' ');
        rest = &rest[at + NO_BREAK_SPACE.len()..];
    }
    plain.extend_from_slice(rest);
    plain
}

/// Reads a kernel log.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    tracker.set_kind(Kind::Log);
    tracker.set_split_by_blank();
    let release = crate::pmgraph::header(bytes, tracker);
    let mut log = Log::new(tracker);
    if let Some(release) = release {
        log.set_version(release);
    }
    let mut pending: Option<Pending> = None;
    let mut cut = 0u64;
    let mut first_cut = 0u64;
    let mut at = 0u64;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[][..], |e| &rest[e + 1..]);
        at += 1;
        if line.first() == Some(&b'#') {
            continue;
        }
        let line = &line[..line.len().min(MAX_LINE)];
        let plain;
        let line = if memchr::memmem::find(line, NO_BREAK_SPACE).is_some() {
            plain = without_no_break_spaces(line);
            &plain[..]
        } else {
            line
        };
        let record = prefix::strip(line);
        if let Some(mut p) = pending.take() {
            if p.take(&record) {
                match calls::parse(&p.text) {
                    Some(calls::Line::Cut) if p.joined < MAX_JOINS => {
                        pending = Some(p);
                        continue;
                    }
                    // If they make no sense together, the line stands alone.
                    _ if log.line(&p.record(), p.at) => continue,
                    _ => {}
                }
            }
            p.count(&mut cut, &mut first_cut);
        }
        if !log.line(&record, at) && calls::parse(record.text) == Some(calls::Line::Cut) {
            pending = Some(Pending::new(&record, at));
        }
    }
    if let Some(p) = pending {
        p.count(&mut cut, &mut first_cut);
    }
    log.finish();
    tracker.losses().add(
        "cut_line",
        cut,
        Severity::Warning,
        "callback lines are cut off or torn apart: save the log with dmesg > FILE and attach it",
        Some(first_cut),
    );
}

/// A line that breaks off, waiting for the rest.
struct Pending {
    time: Option<dormouse_model::time::Ns>,
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

    fn count(&self, cut: &mut u64, first: &mut u64) {
        if self.certain {
            *cut += 1;
            if *first == 0 {
                *first = self.at;
            }
        }
    }
}

/// `FN+0x0/0x10 returned …` without an owner is the rest of a line.
fn starts_as_rest(text: &[u8]) -> bool {
    let word = text.split(|&b| b == b' ').next().unwrap_or(text);
    !word.ends_with(b":") && memchr::memmem::find(text, b": ").is_none()
}
