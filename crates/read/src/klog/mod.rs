//! Kernel logs: what `dmesg`, syslog, a journal or a mail keeps of a cycle.
//!
//! A log names callbacks (`initcall_debug`, `pm_print_times`) and steps; most
//! phases only have a line at their end. What a line proves is used, what it
//! only suggests is replaced as soon as a later line proves it.

mod calls;
mod clock;
mod died;
mod doubled;
mod dress;
mod example;
mod firmware;
mod freeze;
mod grain;
mod halves;
mod heading;
mod held;
mod hosts;
mod image;
mod journal;
mod last;
mod marks;
mod missed;
mod next;
mod number;
mod order;
mod pasted;
mod per_cycle;
mod phase;
mod prefix;
mod pulled;
mod ranking;
mod refusal;
mod release;
mod reply;
mod restore;
mod stamp;
mod state;
mod steps;
mod told;
mod unfrozen;
mod unit;
mod vendor;
mod wrap;

use crate::text;
use crate::track::{Kind, Tracker};
use dormouse_base::complete::LostKind;
use dormouse_base::loss::Severity;
use dormouse_base::time::Ns;
pub(crate) use dress::is_shown;
pub(crate) use example::Examples;
pub(crate) use hosts::one_by_one;
use journal::{Collector, Step};
pub(crate) use journal::{as_lines, by_lines};
pub use last::last_words;
pub(crate) use order::{MARKS, is_stamped, turned};
pub use prefix::Record;
pub(crate) use prefix::quotes;
pub(crate) use reply::again;
pub(crate) use stamp::civil_days;
pub use stamp::order_of;
use state::Log;
pub use wrap::may_go_on;
use wrap::{MAX_LINE, elided};
pub(crate) use wrap::{goes_on, is_rest};

/// Reads a kernel log.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    parse_heard(bytes, &Examples::of(bytes), tracker, &mut |_, _| {});
}

/// Reads a kernel log, and hands on all that stands in it. Gives the attempts to sleep
/// that were refused because another was under way: lines of begin and end. Examples are of
/// no attempt.
pub(crate) fn parse_heard(
    bytes: &[u8],
    examples: &Examples,
    tracker: &mut Tracker,
    hear: &mut dyn FnMut(Item<'_>, u64),
) -> Vec<(u64, u64)> {
    tracker.set_kind(Kind::Log);
    tracker.set_split_by_blank();
    let release = crate::pmgraph::header(bytes, tracker);
    let first = tracker.cycles();
    let mut log = Log::new(tracker);
    if let Some(release) = release {
        log.set_version(release);
    }
    let mut reader = Reader { log, cut: None, torn: [0; 2], first_torn: [0; 2], host: Vec::new() };
    let newest_first = records(bytes, &mut |item, at| {
        if matches!(item, Item::Record(r) if !r.fresh && example::is_source(r.text)) {
            return;
        }
        hear(item, at);
        if !matches!(item, Item::Record(r) if examples.has(at, r.fresh)) {
            reader.item(item, at);
        } else if let Item::Record(r) = item {
            // What is told of a measurement is no example of one.
            reader.log.part(r.text);
        }
    });
    if newest_first {
        reader.log.t.losses().add("newest_first", 1, Severity::Info, NEWEST_FIRST, None);
    }
    let refused = std::mem::take(&mut reader.log.refusals);
    let order = reader.finish();
    tracker.sort_logs(first, &order);
    refused
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
    let twice = doubled::is_doubled(bytes).then(doubled::Pair::default);
    let quoted = bytes.starts_with(b">") || memchr::memmem::find(bytes, b"\n>").is_some();
    let replies = quoted.then(reply::Replies::default);
    let mut pulled = pulled::pulled(bytes);
    pulled.extend(pasted::pasted(bytes));
    pulled.sort_unstable();
    let mut lines = Splitter { twice, replies, pulled, ..Splitter::default() };
    let newest_first = order::newest_first(bytes);
    if newest_first {
        order::backwards(bytes, &mut |text, at| lines.text(text, at, take));
    } else if let Some(blocks) = hosts::apart(bytes) {
        blocks.into_iter().for_each(|(text, at)| lines.text(text, at, take));
    } else {
        lines.text(bytes, 1, take);
    }
    let last = lines.journal.finish();
    lines.entry(last, lines.at, take);
    newest_first
}

/// What [`records`] says to a reader of a log that it read from its end.
pub(crate) const NEWEST_FIRST: &str =
    "the newest line stands first (journalctl --reverse): the log was read from its end";

/// So many lines below one another change places.
const MOVED: usize = 4;

/// A line that stands out of order by more is of another log, or was put there late.
const OUT_OF_ORDER: Ns = Ns(1_000_000_000);

/// Takes lines apart.
#[derive(Default)]
struct Splitter {
    journal: Collector,
    joiner: wrap::Joiner,
    /// So many years began since the first line, of stamps that do not name theirs.
    years: i64,
    /// The time of the last line, and the times that `dmesg --reltime` counts on from.
    last: Option<Ns>,
    relative: Option<Ns>,
    boot: String,
    recent: Recent,
    /// A separator counts between two records of the kernel: mails end with one.
    timed: bool,
    left_out: Option<u64>,
    /// Every line stands there twice.
    twice: Option<doubled::Pair>,
    /// Some lines are quoted.
    replies: Option<reply::Replies>,
    /// Lines that are shown once more beside the log that has them.
    pulled: Vec<u64>,
    /// Lines that came before one above them, and were taken there.
    swapped: Vec<u64>,
    at: u64,
}

/// Whether a line that begins as a comment of a trace is the prompt of root, with a command
/// that reads a file or writes one.
fn is_prompt(line: &[u8]) -> bool {
    let commands: [&[u8]; 8] = [
        b"# cat /",
        b"# more /",
        b"# less /",
        b"# head /",
        b"# tail /",
        b"# grep ",
        b"# echo ",
        b"# ethtool ",
    ];
    commands.iter().any(|c| line.starts_with(c))
}

/// Whether a line is a heading of Markdown with words of a person, and no comment of a trace:
/// `# Suspend is broken since 6.8`. Commands begin small, and have signs and few words.
fn is_heading(line: &[u8]) -> bool {
    const WORDS: usize = 2;
    const MANY: usize = 4;
    let marks = line.iter().take_while(|b| **b == b'#').count();
    let Some(title) = line[marks..].strip_prefix(b" ").filter(|_| marks <= 6) else { return false };
    let word = |w: &&[u8]| w.len() > 1 && w.iter().all(|b| b.is_ascii_alphabetic());
    let large = title.first().is_some_and(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let signs = title.iter().any(|b| b"/|<>$=;*{}#&\\".contains(b)) || title.starts_with(b" ");
    let words = title.split(|b| *b == b' ').filter(word).count();
    large && words >= WORDS || !signs && words >= MANY
}

impl Splitter {
    /// Whether `step` was of a journal.
    fn entry(&mut self, step: Step, at: u64, take: &mut dyn FnMut(Item<'_>, u64)) -> bool {
        match step {
            Step::NotMine => return false,
            Step::Taken | Step::Foreign(_) => {}
            Step::Damaged => take(Item::Damaged, at),
            Step::Whole(entry) => {
                if !self.boot.is_empty() && !entry.boot.is_empty() && self.boot != entry.boot {
                    take(Item::Boot, at);
                }
                self.boot = entry.boot;
                let text = entry.message.unwrap_or_default();
                let text = &text[..text.len().min(MAX_LINE)];
                let (time, beside) = (entry.time, &entry.kept[..]);
                let record = Record { time, beside, fresh: true, ..Record::default() };
                take(Item::Record(record.saying(text)), at);
            }
        }
        true
    }

    /// Lines of a text, the first of which has the number `first`.
    fn text(&mut self, text: &[u8], first: u64, take: &mut dyn FnMut(Item<'_>, u64)) {
        let (mut at, mut rest) = (first, text);
        let after = |rest: &[u8]| memchr::memchr(b'\n', rest).map_or(rest.len(), |e| e + 1);
        let mut joiner = std::mem::take(&mut self.joiner);
        while !rest.is_empty() {
            let end = after(rest);
            let line = rest[..end].strip_suffix(b"\n").unwrap_or(&rest[..end]);
            let before = &text[..text.len() - rest.len()];
            rest = &rest[end..];
            match joiner.whole(before, line, rest) {
                Some((whole, count)) => {
                    for _ in 0..count {
                        rest = &rest[after(rest)..];
                    }
                    self.line(whole, at, rest, take);
                    at += count + 1;
                }
                None => {
                    self.line(line, at, rest, take);
                    at += 1;
                }
            }
        }
        self.joiner = joiner;
    }

    fn line(&mut self, line: &[u8], at: u64, rest: &[u8], take: &mut dyn FnMut(Item<'_>, u64)) {
        self.at = at;
        if let Some(replies) = &mut self.replies {
            replies.line(line);
        }
        let whole = self.journal.is_idle() && line.len() <= MAX_LINE;
        if let Some(record) = prefix::of_dmesg(line).filter(|_| whole) {
            return self.record(record, rest, at, take);
        }
        let glued = || prefix::next_stamp(line, 0).is_some();
        if line.first() == Some(&b'#') && !is_prompt(line) && !is_heading(line) && !glued() {
            return;
        }
        let step = self.journal.line(prefix::quotes(line));
        if self.entry(step, at, take) {
            return;
        }
        let line = &line[..line.len().min(MAX_LINE)];
        if let Some((heading, message)) = dress::measured(line) {
            self.record(Record::default().saying(heading), rest, at, take);
            return self.record(Record::default().saying(message), rest, at, take);
        }
        let plain = dress::plain(line);
        let line = plain.as_deref().unwrap_or(line);
        match line.trim_ascii() {
            l if b"--" == l || elided(prefix::quotes(l)) => {
                self.left_out = self.timed.then_some(at)
            }
            b"" => {}
            // `-- Boot 0123… --` and the older `-- Reboot --` of a journal.
            l if l.starts_with(b"-- Boot ") || l == b"-- Reboot --" => take(Item::Boot, at),
            _ => {
                for piece in Pieces(Some(line)) {
                    self.record(prefix::strip(piece), rest, at, take);
                }
            }
        }
    }

    fn record(
        &mut self,
        record: Record<'_>,
        rest: &[u8],
        at: u64,
        take: &mut dyn FnMut(Item<'_>, u64),
    ) {
        if let Some(place) = self.swapped.iter().position(|line| *line == at) {
            self.swapped.swap_remove(place);
            return;
        }
        for (below, earlier) in self.earlier(&record, rest) {
            self.whole_record(earlier, rest, at + below, take);
            self.swapped.push(at + below);
        }
        self.whole_record(record, rest, at, take);
    }

    /// Lines below, as far as they come before this on the way of an attempt, by their words and
    /// their times: they changed places. With how far below they stand.
    fn earlier<'a>(&self, record: &Record<'_>, rest: &'a [u8]) -> Vec<(u64, Record<'a>)> {
        let (Some(way), Some(time)) = (marks::way(record.text), record.time) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for (line, below) in rest.split(|b| *b == b'\n').take(MOVED).zip(1u64..) {
            let next = prefix::strip(&line[..line.len().min(MAX_LINE)]);
            let Some(at) = next.time.filter(|t| *t < time + OUT_OF_ORDER) else { break };
            let back = at < time && time - at < OUT_OF_ORDER;
            let fits = self.last.is_none_or(|last| last <= at);
            let earlier = || marks::way(next.text).or_else(|| marks::way_of_a_cpu(next.text));
            let taken = self.swapped.contains(&(self.at + below));
            if back && fits && !taken && earlier().is_some_and(|w| w < way) {
                out.push((below, next));
            }
        }
        out.sort_by_key(|(_, r)| r.time);
        out
    }

    fn whole_record(
        &mut self,
        record: Record<'_>,
        rest: &[u8],
        at: u64,
        take: &mut dyn FnMut(Item<'_>, u64),
    ) {
        if self.twice.as_mut().is_some_and(|pair| pair.had(&record)) {
            return take(Item::Doubled(record), at);
        }
        let record = self.timed(record, rest);
        self.piece(record, at, take);
    }

    /// `record` with the time that it has only beside others: what `dmesg --reltime`
    /// counts from line to line, and a line that stands out of order among its neighbours
    /// has theirs.
    fn timed<'a>(&mut self, mut record: Record<'a>, rest: &[u8]) -> Record<'a> {
        if let Some(since) = record.since {
            // Nobody knows how long a minute that begins anew is since the last line.
            let time = self.relative.map_or(OUT_OF_ORDER, |t| t + since);
            (self.relative, record.time) = (Some(time), Some(time));
        }
        record.time = record.time.map(|time| self.in_its_year(time));
        if let (Some(time), Some(last)) = (record.time, self.last)
            && time + OUT_OF_ORDER < last
        {
            let next = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len()).min(MAX_LINE)];
            if prefix::strip(next).time.is_some_and(|t| t >= last) {
                record.time = Some(last);
            }
        }
        self.last = record.time.or(self.last);
        record
    }

    /// Stamps without a year are of 2000, and begin again on January 1st.
    fn in_its_year(&mut self, time: Ns) -> Ns {
        const DAY: i64 = 86_400_000_000_000;
        const YEAR: Ns = Ns(366 * DAY);
        const FIRST: Ns = Ns(946_684_800_000_000_000);
        // So long before its end a log may have been silent.
        const SILENT: Ns = Ns(7 * DAY);
        if time < FIRST || time >= FIRST + YEAR {
            return time;
        }
        let time = time + Ns(self.years * YEAR.0);
        let back = self.last.map_or(Ns::ZERO, |last| last - time);
        if back <= YEAR - SILENT || back > YEAR {
            return time;
        }
        self.years += 1;
        time + YEAR
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
        let pulled = self.pulled.binary_search(&at).is_ok();
        if pulled
            || self.recent.had(&record)
            || self.replies.as_mut().is_some_and(|r| r.quotes(&record))
        {
            take(Item::Doubled(record), at);
        } else {
            take(Item::Record(record), at);
        }
    }
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
            let has = |word: &[u8]| text::find(part, word).is_some();
            // Before 5.18 a console says in front of a message how many it lost.
            has(b" returned ") || has(b": calling ") || has(b" messages dropped **")
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
    /// Words without a time stand behind the last of them.
    parted: bool,
}

impl Recent {
    /// Whether the same text came with the same time just before.
    fn had(&mut self, record: &Record<'_>) -> bool {
        if record.time.is_none() || record.text.is_empty() {
            self.parted |= !record.text.is_empty();
            return false;
        }
        if std::mem::take(&mut self.parted) && marks::begins(record.text) {
            // Another log that begins alike: the same boot does not begin a sleep twice at once.
            self.last = Default::default();
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

/// Hands what stands in a log to the state machine.
struct Reader<'t> {
    log: Log<'t>,
    /// The line of a callback that breaks off.
    cut: Option<u64>,
    /// Lines whose rest is missing: wrapped ones, and those that go on in the middle
    /// of a later one. The first line of each.
    torn: [u64; 2],
    first_torn: [u64; 2],
    /// The machine whose lines come.
    host: Vec<u8>,
}

impl Reader<'_> {
    /// Another machine goes on with no sleep of the one before.
    fn comes_from(&mut self, host: &[u8]) {
        if !prefix::is_host(host) || self.host == host {
            return;
        }
        if !self.host.is_empty() && self.log.t.open_serial() != 0 {
            self.log.boot();
        }
        self.host.clear();
        self.host.extend_from_slice(host);
    }

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
            Item::Doubled(r) if matches!(calls::of(&r), None | Some(calls::Line::Cut)) => {
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
        // Bytes are missing where another record stands in the same line.
        let hole = self.cut == Some(at) && record.fresh;
        self.count(hole);
        self.comes_from(record.host);
        let known = self.log.line(&record, at);
        if !known && self.log.cut && (record.has(b"calling ") || record.has(b" returned ")) {
            self.cut = Some(at);
        }
    }

    /// The rest of a line never came.
    fn count(&mut self, hole: bool) {
        let Some(at) = self.cut.take() else { return };
        let kind = usize::from(hole);
        self.torn[kind] += 1;
        if self.first_torn[kind] == 0 {
            self.first_torn[kind] = at;
        }
        self.log.lose(if hole { LostKind::Holes } else { LostKind::Lines }, 1);
    }

    fn finish(mut self) -> Vec<u32> {
        self.count(false);
        let losses = self.log.t.losses();
        losses.add(
            "cut_line",
            self.torn[0],
            Severity::Warning,
            "callback lines are cut off or torn apart: save the log with dmesg > FILE and attach it",
            Some(self.first_torn[0]),
        );
        losses.add(
            "log_hole",
            self.torn[1],
            Severity::Warning,
            "a line breaks off and goes on in the middle of a later one; what lay between is lost: record again",
            Some(self.first_torn[1]),
        );
        self.log.finish()
    }
}
