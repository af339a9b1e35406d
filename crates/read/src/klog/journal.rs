//! Entries of `journalctl -o json`, `json-pretty`, `json-seq`, `json-sse`, `export` and
//! `verbose`: fields, of which only a few matter here.
//!
//! The fields are those of systemd.journal-fields(7). A kernel message keeps the
//! kernel's own time in `_SOURCE_MONOTONIC_TIMESTAMP`.

use super::marks;
use crate::text;
use dormouse_base::say::stamp;
use dormouse_base::time::Ns;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::fmt::Write as _;

/// Longest entry that is looked at; a kernel message has at most 1 KiB.
const MAX_ENTRY: usize = 64 << 10;

/// How lines begin that only `export` writes.
const FIELDS: [&[u8]; 5] = [
    b"__REALTIME_TIMESTAMP=",
    b"__MONOTONIC_TIMESTAMP=",
    b"_SOURCE_MONOTONIC_TIMESTAMP=",
    b"_TRANSPORT=",
    b"MESSAGE=",
];

/// One entry, as far as it matters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The message; `None` if it was kept in a form that is not read.
    pub message: Option<Vec<u8>>,
    /// The kernel's time, else the journal's.
    pub time: Option<Ns>,
    /// When it was kept, by the clock of the boot.
    received: Option<Ns>,
    /// When it was kept, in microseconds since 1970.
    pub kept: Vec<u8>,
    /// When a program wrote it, in the same.
    written: Option<i64>,
    /// The boot it belongs to; empty if not said.
    pub boot: String,
    /// Machine, program and process that wrote it.
    host: String,
    who: String,
    pid: String,
    /// Not the kernel's.
    foreign: bool,
    exact: bool,
}

/// What a line did to the entry that is being collected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The line is no part of an entry.
    NotMine,
    /// More to come, or nothing of the kernel.
    Taken,
    /// A message of the kernel.
    Whole(Entry),
    /// A message of a program.
    Foreign(Entry),
    /// An entry that cannot be read.
    Damaged,
}

/// Collects the lines of an entry.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    object: Option<Vec<u8>>,
    export: Option<Entry>,
    /// An entry of `export` that broke off before its message.
    torn: Option<Entry>,
    /// The last field was the message.
    in_message: bool,
    /// The entry is one of `verbose`, whose fields stand in from the margin.
    verbose: bool,
}

impl Collector {
    /// No entry is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.object.is_none() && self.export.is_none()
    }

    /// One line of the input.
    pub(super) fn line(&mut self, line: &[u8]) -> Step {
        // Text of other kinds has lone braces too.
        let key = line.trim_ascii().starts_with(b"\"");
        if !key && self.object.as_ref().is_some_and(|text| text.len() == 1) {
            self.object = None;
        }
        if let Some(text) = &mut self.object {
            let end = line.trim_ascii() == b"}" || line == b"},";
            text.extend_from_slice(line);
            if end || text.len() > MAX_ENTRY {
                let text = self.object.take().unwrap_or_default();
                return object(&text);
            }
            return Step::Taken;
        }
        if let Some(entry) = cursor(line) {
            self.verbose = true;
            return self.export.replace(entry).map_or(Step::Taken, Entry::done);
        }
        if self.export.is_some() {
            return self.field(if self.verbose { line.trim_ascii_start() } else { line });
        }
        let start = line.strip_prefix(b"\x1e").unwrap_or(line);
        let start = start.strip_prefix(b"data: ").unwrap_or(start).trim_ascii();
        if start == b"{" {
            self.object = Some(start.to_vec());
            return Step::Taken;
        }
        if start.starts_with(b"{\"") && text::find(start, b"\"MESSAGE\"").is_some() {
            return object(start);
        }
        if line.starts_with(b"__CURSOR=") {
            (self.verbose, self.export) = (false, Some(Entry::default()));
            return self.torn.take().map_or(Step::Taken, |_| Step::Damaged);
        }
        // Somebody wrote into the middle of an entry, or cut its beginning off.
        if FIELDS.iter().any(|f| line.starts_with(f)) {
            self.verbose = false;
            self.export = Some(self.torn.take().unwrap_or_default());
            return self.field(line);
        }
        Step::NotMine
    }

    /// What is left when the input ends.
    pub(super) fn finish(&mut self) -> Step {
        match self.export.take().or(self.torn.take()) {
            Some(entry) => entry.done(),
            None if self.object.take().is_some_and(|text| is_entry(&text)) => Step::Damaged,
            None => Step::NotMine,
        }
    }

    /// `KEY=value`; an empty line ends the entry.
    fn field(&mut self, line: &[u8]) -> Step {
        let Some(entry) = &mut self.export else { return Step::NotMine };
        if line.is_empty() {
            let Some(entry) = self.export.take() else { return Step::Taken };
            if entry.message.is_none() && !entry.foreign {
                self.torn = Some(entry);
                return Step::Taken;
            }
            return entry.done();
        }
        // A value with a line break or control characters is kept behind its
        // length in binary; its key stands alone on the line.
        let at = memchr::memchr(b'=', line).filter(|at| is_key(&line[..*at]));
        if let Some(at) = at {
            entry.set(&line[..at], &line[at + 1..]);
            self.in_message = line.starts_with(b"MESSAGE=");
        } else if let Some(message) = entry.message.as_mut().filter(|_| self.in_message) {
            // A mail program wrapped it.
            message.push(b' ');
            message.extend_from_slice(line.trim_ascii());
        }
        Step::Taken
    }
}

/// Whether a field may have this name (systemd.journal-fields(7)).
fn is_key(name: &[u8]) -> bool {
    name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

/// An entry as one JSON object.
fn object(text: &[u8]) -> Step {
    if !is_entry(text) {
        return Step::Taken;
    }
    let text = text.strip_suffix(b",").unwrap_or(text);
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(text) else {
        return Step::Damaged;
    };
    let mut entry = Entry::default();
    for (key, value) in &fields {
        match value {
            Value::String(value) => entry.set(key.as_bytes(), value.as_bytes()),
            // Bytes that are no UTF-8 are an array of numbers.
            Value::Array(list) => {
                let byte = |v: &Value| v.as_u64().and_then(|n| u8::try_from(n).ok());
                if let Some(bytes) = list.iter().map(byte).collect::<Option<Vec<u8>>>() {
                    entry.set(key.as_bytes(), &bytes);
                }
            }
            _ => {}
        }
    }
    entry.done()
}

/// Whether an object is of a journal, and not of another program that prints JSON.
fn is_entry(text: &[u8]) -> bool {
    [&b"\"MESSAGE\""[..], b"\"_"].iter().any(|key| text::find(text, key).is_some())
}

impl Entry {
    fn set(&mut self, key: &[u8], value: &[u8]) {
        let micros = || {
            let n: i64 = std::str::from_utf8(value).ok()?.parse().ok()?;
            n.checked_mul(1_000).map(Ns)
        };
        match key {
            b"MESSAGE" => self.message = Some(value.to_vec()),
            b"_TRANSPORT" => self.foreign |= value != b"kernel",
            b"_BOOT_ID" => self.boot = String::from_utf8_lossy(value).into_owned(),
            b"_SOURCE_MONOTONIC_TIMESTAMP" => {
                self.time = micros().or(self.time);
                self.exact = true;
            }
            b"__REALTIME_TIMESTAMP" => self.kept = value.to_vec(),
            b"_SOURCE_REALTIME_TIMESTAMP" => self.written = micros().map(|t| t.0 / 1_000),
            b"_HOSTNAME" => self.host = String::from_utf8_lossy(value).into_owned(),
            b"SYSLOG_IDENTIFIER" => self.who = String::from_utf8_lossy(value).into_owned(),
            b"_COMM" if self.who.is_empty() => {
                self.who = String::from_utf8_lossy(value).into_owned();
            }
            b"_PID" => self.pid = String::from_utf8_lossy(value).into_owned(),
            b"__MONOTONIC_TIMESTAMP" => {
                self.received = micros();
                if !self.exact {
                    self.time = self.received;
                }
            }
            _ => {}
        }
    }

    fn done(self) -> Step {
        match self.message {
            Some(_) if self.foreign => Step::Foreign(self),
            Some(_) => Step::Whole(self),
            None if self.foreign => Step::Taken,
            None => Step::Damaged,
        }
    }

    /// When it was kept, in microseconds since 1970.
    fn kept(&self) -> Option<i64> {
        std::str::from_utf8(&self.kept).ok()?.parse().ok()
    }

    /// The entry as `journalctl -o short-iso-precise --utc` writes it, at a time in microseconds
    /// since 1970.
    fn line(&self, time: i64) -> Option<String> {
        let message = String::from_utf8_lossy(self.message.as_deref()?);
        let host = if self.host.is_empty() { "host" } else { &self.host };
        let who = match (self.foreign, self.who.is_empty()) {
            (false, _) => "kernel".to_owned(),
            (true, true) => "unknown".to_owned(),
            (true, false) if self.pid.is_empty() => self.who.clone(),
            (true, false) => format!("{}[{}]", self.who, self.pid),
        };
        Some(format!("{} {host} {who}: {message}", stamp(time)))
    }
}

/// What `verbose` begins an entry with: a date and, in brackets, the cursor of the journal, whose
/// `t` and `m` are the time of day and the time since the start in microseconds, in hexadecimal
/// (systemd, src/libsystemd/sd-journal/sd-journal.c:sd_journal_get_cursor).
fn cursor(line: &[u8]) -> Option<Entry> {
    let at = text::find(line, b" [s=")?;
    let inside = line[at + 2..].strip_suffix(b"]")?;
    let field = |name: &[u8]| {
        let mut fields = inside.split(|b| *b == b';');
        fields.find_map(|f| std::str::from_utf8(f.strip_prefix(name)?).ok())
    };
    let micros = |name: &[u8]| i64::from_str_radix(field(name)?, 16).ok();
    let time = micros(b"m=").and_then(|m| m.checked_mul(1_000)).map(Ns);
    let kept = micros(b"t=")?.to_string().into_bytes();
    Some(Entry { time, kept, boot: field(b"b=")?.to_owned(), ..Entry::default() })
}

/// The form of a structured journal of which each line says one thing; nothing of other inputs.
pub(crate) fn by_lines(bytes: &[u8]) -> Option<Vec<u8>> {
    without_bytes(bytes).or_else(|| without_array(bytes)).or_else(|| of_dmesg(bytes))
}

/// `dmesg --json` (util-linux 2.38, sys-utils/dmesg.c), as dmesg prints the same without: a
/// message a line, so that lines count messages. A message whose time is none has none.
fn of_dmesg(bytes: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Log {
        dmesg: Vec<Map<String, Value>>,
    }
    let text = bytes.trim_ascii();
    let inside = text.strip_prefix(b"{")?.trim_ascii_start();
    if !inside.starts_with(b"\"dmesg\"") {
        return None;
    }
    let log: Log = serde_json::from_slice(text).ok()?;
    let mut out = String::with_capacity(bytes.len());
    for entry in &log.dmesg {
        let message = entry.get("msg").and_then(Value::as_str).unwrap_or_default();
        match entry.get("time").and_then(seconds) {
            Some(time) => {
                let _ = writeln!(out, "[{time:>12}] {}", message.replace('\n', " "));
            }
            None => {
                let _ = writeln!(out, "{}", message.replace('\n', " "));
            }
        }
    }
    (!log.dmesg.is_empty()).then(|| out.into_bytes())
}

/// A number, as a string or not, with six places, as dmesg prints seconds.
fn seconds(value: &Value) -> Option<String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |t: &str, most: usize| t.len() <= most && t.bytes().all(|b| b.is_ascii_digit());
    (!whole.is_empty() && digits(whole, 12) && digits(part, 20))
        .then(|| format!("{whole}.{:0<6.6}", part))
}

/// A journal as one JSON array on one line, as programs keep it, with an entry a line.
fn without_array(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = bytes.trim_ascii();
    let inside = text.strip_prefix(b"[")?.trim_ascii_start();
    let one_line = memchr::memchr(b'\n', text).is_none();
    if !one_line || !inside.starts_with(b"{\"") || !is_entry(text) {
        return None;
    }
    let entries: Vec<Map<String, Value>> = serde_json::from_slice(text).ok()?;
    let mut out = Vec::with_capacity(bytes.len() + entries.len());
    for entry in &entries {
        serde_json::to_writer(&mut out, entry).ok()?;
        out.push(b'\n');
    }
    Some(out)
}

/// A journal of `export` whose fields with line breaks stand behind their length in binary
/// (systemd's Journal Export Format), with such fields on lines as the others have them; nothing
/// of other inputs.
fn without_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(0, bytes)?;
    let begins = bytes.starts_with(b"__CURSOR=") || text::find(bytes, b"\n__CURSOR=").is_some();
    if !begins {
        return None;
    }
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, behind) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        out.extend_from_slice(line);
        let value = (!line.is_empty() && is_key(line)).then(|| in_binary(behind)).flatten();
        rest = match value {
            Some((value, after)) => {
                out.push(b'=');
                out.extend(value.iter().map(|b| if matches!(b, 0 | b'\n') { b' ' } else { *b }));
                after
            }
            None => behind,
        };
        out.push(b'\n');
    }
    Some(out)
}

/// A value behind its length in eight bytes, the lowest first, and what follows its line.
fn in_binary(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let value = bytes.get(8..end)?;
    let after = bytes.get(end..)?;
    Some((value, after.strip_prefix(b"\n").unwrap_or(after)))
}

/// Hands on each entry of a structured journal as a line of text, with the number of the line at
/// which it ends, from 1. Says whether there was any.
///
/// A journal takes the kernel's messages in when its own process runs: those of the way into a
/// sleep behind it, with the time of then. The kernel's own time is beside it
/// (`_SOURCE_MONOTONIC_TIMESTAMP`), and that of programs (`_SOURCE_REALTIME_TIMESTAMP`): lines
/// stand where these say.
pub(crate) fn as_lines(bytes: &[u8], take: &mut dyn FnMut(u64, &str)) -> bool {
    let mut collector = Collector::default();
    let mut lines = Lines::default();
    let mut at = 0;
    for line in bytes.split(|b| *b == b'\n') {
        at += 1;
        lines.step(collector.line(line), at, take);
    }
    lines.step(collector.finish(), at, take);
    lines.let_go(0, take);
    lines.any
}

/// Entries as lines, of which the last wait for what belongs before them.
#[derive(Default)]
struct Lines {
    any: bool,
    boot: String,
    /// What the last entries were kept at, by the clock of the boot, and what that of the day was
    /// ahead of it; it grows with each sleep, in which that of the boot stands still.
    clocks: VecDeque<(i64, i64)>,
    /// How much later than the kernel wrote them its last lines were kept. Its log has a clock of
    /// its own (kernel/printk/printk.c:vprintk_store takes local_clock), which nobody sets right:
    /// the least of these is what it is behind.
    behind: VecDeque<i64>,
    /// The kernel is on the way into a sleep.
    down: bool,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    at: u64,
    text: String,
    /// By the clock of the boot, in microseconds.
    time: Option<i64>,
}

impl Lines {
    /// So many lines are kept for those that belong before them.
    const MOST: usize = 64;
    /// A journal that runs has a line of a program so soon, in microseconds.
    const SOON: i64 = 5_000_000;

    fn step(&mut self, step: Step, at: u64, take: &mut dyn FnMut(u64, &str)) {
        let (Step::Whole(entry) | Step::Foreign(entry)) = step else { return };
        let Some(kept) = entry.kept() else { return };
        if entry.boot != self.boot && !entry.boot.is_empty() {
            self.let_go(0, take);
            self.clocks.clear();
            self.behind.clear();
            if self.any {
                take(at, "-- Boot --");
            }
        }
        let is_kernels = !entry.foreign;
        let received = entry.received.map(|t| t.0 / 1_000);
        let ahead = received.and_then(|t| kept.checked_sub(t));
        if let Some(n) = marks::way(entry.message.as_deref().unwrap_or_default()) {
            self.down = is_kernels && n < marks::ASLEEP;
        }
        let own = entry.time.filter(|_| is_kernels && entry.exact).map(|t| t.0 / 1_000);
        if let Some(late) = received.zip(own).and_then(|(a, b)| a.checked_sub(b)) {
            self.behind.push_back(late);
            if self.behind.len() > Self::MOST {
                self.behind.pop_front();
            }
        }
        let behind = self.behind.iter().min().copied().unwrap_or(0);
        let own = own.and_then(|t| t.checked_add(behind));
        let (time, own) = match (own, entry.written.filter(|t| *t <= kept)) {
            (Some(own), _) => {
                let then = |c: &&(i64, i64)| c.0 <= own;
                let ahead = self.ahead(then).filter(|_| self.down).or(ahead);
                (ahead.and_then(|a| own.checked_add(a)), Some(own))
            }
            (None, Some(written)) => {
                let then = |c: &&(i64, i64)| c.0.saturating_add(c.1) <= written;
                let late = kept.saturating_sub(written) > Self::SOON;
                let ahead = self.ahead(then).filter(|_| late).or(ahead);
                (Some(written), ahead.and_then(|a| written.checked_sub(a)))
            }
            (None, None) => (None, None),
        };
        // No line is newer than its entry.
        let Some(text) = entry.line(time.filter(|t| *t <= kept).unwrap_or(kept)) else { return };
        if let Some(clocks) = received.zip(ahead) {
            self.clocks.push_back(clocks);
            if self.clocks.len() > Self::MOST {
                self.clocks.pop_front();
            }
        }
        self.any = true;
        self.boot = entry.boot;
        let time = own.or(received);
        let later = |w: &&Waiting| w.time > time && time.is_some();
        let place = self.waiting.len() - self.waiting.iter().rev().take_while(later).count();
        self.waiting.insert(place, Waiting { at, text, time });
        self.let_go(Self::MOST, take);
    }

    /// What the clock of the day was ahead of that of the boot at the last entry that fits.
    fn ahead(&self, fits: impl Fn(&&(i64, i64)) -> bool) -> Option<i64> {
        self.clocks.iter().rev().find(fits).map(|c| c.1)
    }

    /// Hands on all lines but the last `keep`.
    fn let_go(&mut self, keep: usize, take: &mut dyn FnMut(u64, &str)) {
        while self.waiting.len() > keep {
            let Some(w) = self.waiting.pop_front() else { return };
            take(w.at, &w.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Step> {
        let mut c = Collector::default();
        let mut steps: Vec<Step> = text.split('\n').map(|l| c.line(l.as_bytes())).collect();
        steps.push(c.finish());
        steps.retain(|s| !matches!(s, Step::Taken | Step::NotMine));
        for step in &mut steps {
            if let Step::Whole(entry) = step {
                entry.received = None;
            }
        }
        steps
    }

    fn whole(message: &str, micros: i64) -> Step {
        Step::Whole(Entry {
            message: Some(message.into()),
            time: Some(Ns(micros * 1_000)),
            kept: Vec::new(),
            boot: "b1".into(),
            exact: true,
            ..Entry::default()
        })
    }

    #[test]
    fn an_array_on_one_line_is_an_entry_a_line() {
        let array = br#" [{"MESSAGE":"a","_TRANSPORT":"kernel"}, {"MESSAGE":"b"}]"#;
        let text = by_lines(array).expect("a journal");
        let messages: Vec<Step> =
            text.split(|b| *b == b'\n').map(|l| Collector::default().line(l)).collect();
        assert!(matches!(&messages[..], [Step::Whole(a), Step::Whole(b), Step::NotMine]
            if a.message.as_deref() == Some(b"a") && b.message.as_deref() == Some(b"b")));
        assert_eq!(by_lines(br#"[{"name":"b"}]"#), None, "of no journal");
        assert_eq!(by_lines(br#"[{"MESSAGE":"a"}"#), None, "it broke off");
    }

    #[test]
    fn times_of_an_entry_may_be_anything() {
        let times = ["-9000000000000000", "0", "9223372036854775807", "-9223372036854775808"];
        for kept in times {
            for other in times {
                let text = format!(
                    "__CURSOR=c\n__REALTIME_TIMESTAMP={kept}\n__MONOTONIC_TIMESTAMP={other}\n_SOURCE_REALTIME_TIMESTAMP={other}\n_TRANSPORT=journal\nMESSAGE=x\n\n\
                     __CURSOR=c\n__REALTIME_TIMESTAMP={other}\n__MONOTONIC_TIMESTAMP={kept}\n_SOURCE_MONOTONIC_TIMESTAMP={other}\n_TRANSPORT=kernel\nMESSAGE=PM: suspend entry (deep)\n\n"
                );
                assert!(as_lines(text.as_bytes(), &mut |_, _| {}));
            }
        }
    }

    #[test]
    fn dmesg_in_json_is_the_same_log() {
        let text = br#"{
           "dmesg": [
              {"pri": 6, "time": 55.0, "msg": "PM: suspend entry (deep)"},
              {"pri": 6, "time": 1055.0091, "msg": "x \"y\""}
           ]
        }"#;
        let plain = by_lines(text).expect("a log");
        assert_eq!(
            String::from_utf8_lossy(&plain),
            "[   55.000000] PM: suspend entry (deep)\n[ 1055.009100] x \"y\"\n"
        );
        let odd = br#"{"dmesg": [{"time": "soon", "msg": "a"}, {"time": "7.5", "msg": "b"}, {"pri": 1}]}"#;
        let plain = by_lines(odd).expect("a log");
        assert_eq!(String::from_utf8_lossy(&plain), "a\n[    7.500000] b\n\n");
        assert_eq!(by_lines(br#"{"dmesgs": []}"#), None);
    }

    #[test]
    fn json_in_all_its_forms() {
        let line = r#"{"MESSAGE":"PM: x","_TRANSPORT":"kernel","__MONOTONIC_TIMESTAMP":"9","_SOURCE_MONOTONIC_TIMESTAMP":"7","_BOOT_ID":"b1"}"#;
        assert_eq!(all(line), [whole("PM: x", 7)]);
        assert_eq!(all(&format!("\u{1e}{line}")), [whole("PM: x", 7)]);
        assert_eq!(all(&format!("data: {line}")), [whole("PM: x", 7)]);
        let pretty = line.replace("{", "{\n\t").replace(",\"", ",\n\t\"").replace("}", "\n}");
        assert_eq!(all(&pretty), [whole("PM: x", 7)]);
        let bytes = line.replace("\"PM: x\"", "[80,77,58,32,120]");
        assert_eq!(all(&bytes), [whole("PM: x", 7)]);
    }

    #[test]
    fn json_of_other_programs_is_no_damaged_entry() {
        let other = "{\n  \"version\" : \"x-1\",\n  \"jobs\" : [\n    {\n      \"name\" : \"a\"\n    }\n  ]\n}";
        assert!(all(other).is_empty());
        assert_eq!(all("{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESS"), [Step::Damaged]);
    }

    #[test]
    fn export_ends_with_an_empty_line_or_the_input() {
        let entry = "__CURSOR=c\n_SOURCE_MONOTONIC_TIMESTAMP=7\n__MONOTONIC_TIMESTAMP=9\n_BOOT_ID=b1\n_TRANSPORT=kernel\nMESSAGE=PM: x=y";
        assert_eq!(all(&format!("{entry}\n\n{entry}")), [whole("PM: x=y", 7), whole("PM: x=y", 7)]);
    }

    #[test]
    fn verbose_has_its_times_in_the_cursor() {
        let head = "Wed 2031-05-14 00:00:01.000007 UTC [s=ab;i=1;b=b1;m=f;t=10;x=ef]";
        let text =
            format!("{head}\n    _TRANSPORT=kernel\n    MESSAGE=PM: x\n{head}\n    MESSAGE=PM: y");
        let entry = |message: &str| {
            Step::Whole(Entry {
                message: Some(message.into()),
                time: Some(Ns(15_000)),
                kept: b"16".to_vec(),
                boot: "b1".into(),
                ..Entry::default()
            })
        };
        assert_eq!(all(&text), [entry("PM: x"), entry("PM: y")]);
        assert_eq!(all("x [s=a]\ny [s=;t=zz]\n [s=1;t=1]"), []);
    }

    #[test]
    fn fields_in_binary_become_lines() {
        let mut journal = b"__CURSOR=a\n_TRANSPORT=kernel\nMESSAGE\n".to_vec();
        journal.extend(7u64.to_le_bytes());
        journal.extend(b"PM: x\ny\n_SOURCE_MONOTONIC_TIMESTAMP=7\n\n");
        let text = without_bytes(&journal).expect("a journal");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text,
            "__CURSOR=a\n_TRANSPORT=kernel\nMESSAGE=PM: x y\n_SOURCE_MONOTONIC_TIMESTAMP=7\n\n"
        );
        assert_eq!(without_bytes(b"\0__CURSOR=a"), None);
        assert_eq!(without_bytes(b"__CURSOR=a\nMESSAGE=b\n"), None, "there is none");
        // A length beyond the end is none, and no panic.
        let torn = [&b"__CURSOR=a\nMESSAGE\n"[..], &u64::MAX.to_le_bytes(), b"x"].concat();
        assert!(without_bytes(&[&torn[..], b"\0"].concat()).is_some());
    }

    #[test]
    fn what_hands_and_mails_do_to_export_is_undone() {
        let head = "__CURSOR=c\n_SOURCE_MONOTONIC_TIMESTAMP=7\n_BOOT_ID=b1";
        let text = format!("{head}\n\nI wrote this.\n\n_TRANSPORT=kernel\nMESSAGE=PM: x\n\n");
        assert_eq!(all(&text), [whole("PM: x", 7)], "prose inside");
        let wrapped = format!("{head}\nMESSAGE=PM: x of\n(a=3) y\nPRIORITY=6\n\n");
        let Some(Step::Whole(entry)) = all(&wrapped).pop() else { panic!("no entry") };
        assert_eq!(entry.message.as_deref(), Some(&b"PM: x of (a=3) y"[..]));
        let cut =
            format!("_BOOT_ID=b1\n_TRANSPORT=kernel\nMESSAGE=PM: w\n\n{head}\nMESSAGE=PM: x\n");
        assert_eq!(all(&cut).len(), 2, "its first lines are gone");
    }

    #[test]
    fn lines_of_the_kernel_stand_where_its_own_clock_says() {
        let entry = |real: i64, mono: i64, more: &str, words: &str| {
            format!(
                "__CURSOR=c\n__REALTIME_TIMESTAMP={real}\n__MONOTONIC_TIMESTAMP={mono}\n_BOOT_ID=b\n{more}\nMESSAGE={words}\n\n"
            )
        };
        let kernel = |real: i64, mono: i64, own: i64, words: &str| {
            let more = format!("_TRANSPORT=kernel\n_SOURCE_MONOTONIC_TIMESTAMP={own}");
            entry(real, mono, &more, words)
        };
        let program =
            |real, mono, words: &str| entry(real, mono, "_TRANSPORT=journal\n_COMM=p", words);
        // An hour asleep, in which the clock of the boot stood still. The journal took most in
        // behind it.
        let hour = 3_600_000_000;
        // The kernel's own clock is 5 ms behind.
        let text = [
            kernel(900_000, 9_900_000, 9_895_000, "usb 1: new"),
            program(1_000_000, 10_000_000, "Performing sleep operation"),
            program(1_300_000 + hour, 10_300_000, "System returned"),
            kernel(1_310_000 + hour, 10_310_000, 9_996_000, "PM: suspend entry (deep)"),
            kernel(1_310_000 + hour, 10_310_000, 9_997_000, "sd 0: stops"),
            kernel(1_310_000 + hour, 10_310_000, 10_285_000, "OOM killer enabled."),
        ]
        .concat();
        let mut said = Vec::new();
        assert!(as_lines(text.as_bytes(), &mut |_, line| said.push(line.to_owned())));
        let short: Vec<(&str, &str)> =
            said.iter().map(|l| (&l[11..26], l.split_once(": ").map_or("", |l| l.1))).collect();
        assert_eq!(
            short,
            [
                ("00:00:00.900000", "usb 1: new"),
                ("00:00:01.000000", "Performing sleep operation"),
                ("00:00:01.001000", "PM: suspend entry (deep)"),
                ("00:00:01.002000", "sd 0: stops"),
                ("01:00:01.290000", "OOM killer enabled."),
                ("01:00:01.300000", "System returned"),
            ]
        );
    }

    #[test]
    fn what_is_not_the_kernels_is_left_and_damage_is_told() {
        let foreign = all(r#"{"MESSAGE":"hello","_TRANSPORT":"stdout"}"#);
        assert!(matches!(foreign[..], [Step::Foreign(_)]), "{foreign:?}");
        assert_eq!(all(r#"{"MESSAGE":"PM: "#), [Step::Damaged]);
        assert_eq!(all("{\n\"MESSAGE\":"), [Step::Damaged]);
        assert_eq!(all("{\n}\nvoid f()\n{\n\treturn;\n}\n{"), []);
        assert_eq!(all("__CURSOR=c\nMESSAGE\n_TRANSPORT=kernel\n"), [Step::Damaged]);
    }
}
