//! Kernel messages and values of files in a text of any kind: a whole kernel
//! log, a part of one in a mail, a ticket with excerpts.

use crate::grams::Asked;
use crate::klog::{self, Examples, Item, MARKS, NEWEST_FIRST, order_of};
use crate::night;
use crate::noted;
use crate::part::Part;
use crate::text::{self, LONGEST, Text};
use crate::track::Tracker;
use crate::way;
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_capture::schema::{CaptureFile, CycleMembers};
use dormouse_doctor::attempt::Place;
use dormouse_doctor::depth::{Measured, in_range};
use dormouse_doctor::formats;
use dormouse_doctor::message::{Message, Trust};
use dormouse_doctor::night::{Fact, Item as Reading};
use dormouse_doctor::value::Value;
use dormouse_doctor::way::Step;
use dormouse_doctor::{Case, JudgedCase, Words};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a kernel log says in words, a capture file besides its traces, or programs in a trace.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// As the user named it.
    pub name: String,
    /// The kernel's messages, and settings that the recorder found.
    pub case: Arc<JudgedCase>,
    /// All settings that the recorder found; those that judge a cycle are in `case` too.
    pub knobs: Vec<Value>,
    /// It is of a log, and of no capture file.
    pub is_log: bool,
    /// What the recorder measured around each cycle; empty of a log.
    pub measured: Vec<Measured>,
    /// What of a log could not be read.
    losses: Losses,
}

impl Heard {
    /// Of a log.
    pub(crate) fn of_log(text: Text<Case>) -> Heard {
        let (name, case, losses) = (text.name, Arc::new(JudgedCase::new(text.case)), text.losses);
        Heard { name, case, losses, is_log: true, ..Heard::default() }
    }

    /// Of the marks in a trace, which is no log; nothing if it has none.
    pub(crate) fn of_marks(name: &str, steps: Vec<Step>) -> Option<Heard> {
        let mut case = Case::default();
        case.way.steps = steps;
        let case = (!case.way.is_empty()).then(|| Arc::new(JudgedCase::new(case)))?;
        Some(Heard { name: name.into(), case, ..Heard::default() })
    }

    /// What the log says by itself.
    pub(crate) fn text(&self) -> Text<Arc<JudgedCase>> {
        Text { name: self.name.clone(), case: Arc::clone(&self.case), losses: self.losses.clone() }
    }
}

/// What a capture file says besides its traces.
pub fn heard(name: &str, file: &CaptureFile) -> Heard {
    let log: Vec<u8> = file.cycles.iter().flat_map(|c| c.dmesg.iter().copied()).collect();
    let mut case = read_bytes(name, &log).case;
    let knob = |(path, value): (&String, &String)| Value {
        line: 0,
        path: path.clone(),
        value: value.clone(),
    };
    // What a sleep of another kind needs is no matter of these cycles.
    let other = ["state", "disk", "resume", "resume_offset", "image_size"];
    let knobs: Vec<Value> = file.document.knobs_found.iter().map(knob).collect();
    let of_cycles = knobs.iter().filter(|v| !other.contains(&v.name()));
    case.values.extend(of_cycles.cloned());
    // What a device counted is a sum: the last cycle has it all.
    let lines = file.cycles.iter().map(|c| &c.stats.wake_line);
    let last = lines.rev().find(|l| !l.is_empty());
    case.values.extend(last.into_iter().flatten().map(knob));
    let (name, case) = (name.to_string(), Arc::new(JudgedCase::new(case)));
    Heard { name, case, knobs, measured: measured(file), ..Heard::default() }
}

/// What the recorder's clocks and counters say of each cycle.
fn measured(file: &CaptureFile) -> Vec<Measured> {
    // The counter exists only where the firmware declares low-power idle
    // (kernel/power/main.c:suspend_attr_is_visible, 6.12).
    let known = |stats: &BTreeMap<String, String>| stats.contains_key("last_hw_sleep");
    let exists =
        known(&file.document.suspend_stats_before) || known(&file.document.suspend_stats_after);
    let most = |stats: &BTreeMap<String, String>| stats.get("max_hw_sleep")?.parse().ok();
    let most =
        most(&file.document.suspend_stats_after).or(most(&file.document.suspend_stats_before));
    let of = |c: &CycleMembers| {
        let s = &c.stats;
        let number = |name: &str| s.suspend_stats_changed.get(name)?.parse::<i64>().ok();
        let us = |us: i64| Ns(us.saturating_mul(1_000));
        // A sleep that is not counted leaves the sum as it was.
        let hardware = match (number("last_hw_sleep"), number("total_hw_sleep")) {
            (Some(n), _) => Some(us(n)),
            (None, None) if exists => Some(Ns::ZERO),
            _ => None,
        };
        let boot = s.clocks.boottime_after.saturating_sub(s.clocks.boottime_before);
        Measured {
            number: s.number,
            s2idle: s.state == "freeze" || s.state == "mem" && s.mem_sleep == "s2idle",
            test: !matches!(s.pm_test.as_str(), "" | "none"),
            slept: s.result == 0,
            length: Ns(boot.max(0)),
            stood: Ns(s.clocks.monotonic_stood_still()),
            hardware: in_range(hardware, Ns(boot.max(0)), most),
            in_states: s.s2idle_us.and_then(|n| i64::try_from(n).ok()).map(us),
        }
    };
    file.cycles.iter().filter(|c| c.stats.watched.is_none()).map(of).collect()
}

/// Reads an input by itself: its `text`, or what stands in it beside the events of a trace.
pub(crate) fn read_part(part: &Part<'_>, text: &[u8]) -> Text<Arc<JudgedCase>> {
    let source = &part.source;
    let none = text::none(source.name, source.bytes);
    let text = none.unwrap_or_else(|| read_bytes(source.name, text));
    Heard::of_log(text).text().of(source)
}

/// Reads bytes that are in memory and shown as `name`.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Text<Case> {
    read_beside(name, &Asked::of(bytes), &mut Tracker::new())
}

/// Reads a log for its cycles, which go to `tracker`, and for its messages: both have
/// the same attempts to sleep.
pub(crate) fn read_beside(name: &str, asked: &Asked<'_>, tracker: &mut Tracker) -> Text<Case> {
    let bytes = asked.bytes();
    if let Some(none) = text::none(name, bytes) {
        return none;
    }
    let first = tracker.cycles();
    let lines = Lines::new(bytes);
    // Most lines of a log are messages, and few are shorter than this.
    let messages = Vec::with_capacity(lines.ends.len().min(bytes.len() / 32) + 1);
    let examples = Examples::of(bytes);
    let mut listener = Listener {
        lines,
        examples: &examples,
        messages,
        noted: noted::comments(bytes),
        quotes: memchr::memmem::find(bytes, b"\n>").is_some() || bytes.starts_with(b">"),
        quoted: Vec::new(),
        doubled: Vec::new(),
        dated: Vec::new(),
        counted: false,
        boots: Vec::new(),
        damaged: 0,
        year: (0, 0),
    };
    let refused =
        klog::parse_heard(bytes, &examples, tracker, &mut |item, at| listener.item(item, at));
    tracker.close_cycle();
    let mut losses = Losses::default();
    let told = |kind: &str| kind == "newest_first";
    let newest_first = tracker.losses().list.iter().any(|l| told(l.kind));
    if newest_first {
        losses.add("newest_first", 1, Severity::Info, NEWEST_FIRST, None);
    }
    if listener.damaged > 0 {
        losses.add(
            "unread_entry",
            listener.damaged,
            Severity::Warning,
            "entries of the journal are damaged or kept as bytes: use journalctl -k -o short-monotonic",
            None,
        );
    }
    let omitted = listener.omitted();
    let quotes = listener.quotes;
    let Listener {
        mut messages, boots, noted, mut quoted, mut doubled, mut dated, counted, ..
    } = listener;
    dated.sort_unstable();
    quoted.sort_unstable();
    doubled.extend(if quotes { klog::again(bytes) } else { Vec::new() });
    doubled.sort_unstable();
    // Examples are quoted too, and are no log whatever stands in them.
    let reply = |m: &Message| quoted.binary_search(&m.line).is_ok() && !examples.has(m.line, false);
    whole_logs(&mut messages, reply);
    // The core's own words without their time, word for word.
    let told = |m: &Message| m.trust == Trust::Prose && m.text.starts_with("PM: ");
    let known = |m: &Message| formats::all().recognise(&m.text).is_some();
    messages.iter_mut().filter(|m| told(m) && known(m)).for_each(|m| m.trust = Trust::Shown);
    let attempts = tracker.cycles_from(first).iter().filter(|c| !c.reads_image).map(place);
    let second = |&(first, last): &(u64, u64)| Place {
        first,
        last,
        begun: true,
        closed: true,
        inside: true,
        ..Place::default()
    };
    let places: Vec<Place> = attempts.chain(refused.iter().map(second)).collect();
    let mut case = Case::new(messages, &places);
    (case.boots, case.omitted, case.noted, case.quoted) = (boots, omitted, noted, quoted);
    (case.counted, case.dated) = (counted, dated);
    // In what order its lines were written, where they stand in another.
    let ordered = match newest_first {
        true => Some(klog::turned(bytes)),
        false => klog::one_by_one(bytes),
    };
    let number = |line: u64, of: &[u64]| {
        let at = line.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| of.get(at)).copied().unwrap_or(line)
    };
    case.night = match &ordered {
        Some((bytes, numbers)) if !newest_first => {
            let mut night = night::read(bytes);
            night.items.iter_mut().for_each(|i| i.line = number(i.line, numbers));
            night
        }
        _ => night::read(bytes),
    };
    if newest_first {
        case.night.clocks_turn();
    }
    case.way = match (&ordered, crate::posted::plain(bytes)) {
        (Some((bytes, numbers)), _) => {
            let mut way = way::read(&Asked::of(bytes));
            way.renumber(|line| number(line, numbers));
            way
        }
        (None, Some(plain)) => way::read(&Asked::of(&plain)),
        (None, None) => way::read(asked),
    };
    // What is told twice happened once.
    let once = |line: &u64| doubled.binary_search(line).is_err();
    let told = |i: &Reading| !matches!(i.fact, Fact::Clock { .. } | Fact::Woke(_)) || once(&i.line);
    case.night.items.retain(told);
    case.way.steps.retain(|s| once(&s.line));
    if case.night.left_out > 0 {
        losses.add("left_out", case.night.left_out, Severity::Warning, LEFT_OUT, None);
    }
    Text { name: name.into(), case, losses }
}

const LEFT_OUT: &str =
    "the text has more readings of nights than are kept: cut it, and check the parts";

/// Where the attempt of a cycle is.
fn place(cycle: &Cycle) -> Place {
    let lines = cycle.lines;
    Place {
        mode: match cycle.mode {
            Mode::S2idle => "s2idle",
            Mode::Deep => "deep",
            Mode::Standby => "standby",
            Mode::Disk => "hibernation",
            Mode::PmTest(_) | Mode::Simulated | Mode::Unknown => "",
        },
        first: lines.first,
        last: lines.last,
        begun: lines.begun,
        closed: lines.closed,
        inside: false,
        failed: matches!(
            cycle.outcome,
            Outcome::AbortedByDevice { .. }
                | Outcome::AbortedByWakeup
                | Outcome::FreezeFailed { .. }
        ),
        clock_set: cycle.clock_set,
        sync: cycle.phase(Phase::Sync).map_or(Ns::ZERO, |p| p.duration()),
    }
}

/// Keeps the messages of a log.
struct Listener<'a> {
    lines: Lines<'a>,
    examples: &'a Examples,
    messages: Vec<Message>,
    noted: Vec<u64>,
    /// Some line begins like a quotation; which of the messages do.
    quotes: bool,
    quoted: Vec<u64>,
    /// Lines that stood there before.
    doubled: Vec<u64>,
    /// Lines that `dmesg -T` stamped.
    dated: Vec<u64>,
    /// Some record has only what passed since the one before.
    counted: bool,
    boots: Vec<u64>,
    damaged: u64,
    /// The second of the last stamp, and how many years began since the first one.
    year: (i64, i64),
}

impl Listener<'_> {
    /// Lines between two messages that are none, and not empty.
    fn omitted(&self) -> Vec<u64> {
        let between = |pair: &[Message]| {
            let (a, b) = (pair[0].line.min(pair[1].line), pair[0].line.max(pair[1].line));
            a + 1..b
        };
        let gaps = self.messages.windows(2).flat_map(between);
        gaps.filter(|at| !klog::quotes(self.lines.at(*at)).is_empty()).collect()
    }

    /// Stamps without a year begin again on January 1st; months have 31 days here.
    fn in_its_year(&mut self, second: i64, dated: bool) -> i64 {
        const DAY: i64 = 86_400;
        const YEAR: i64 = 12 * 31 * DAY;
        let (last, years) = self.year;
        let second = second + if dated { 0 } else { years * YEAR };
        let new = !dated && (YEAR - 7 * DAY..=YEAR).contains(&(last - second));
        let second = if new { second + YEAR } else { second };
        self.year = (second, years + i64::from(new));
        second
    }

    fn item(&mut self, item: Item<'_>, at: u64) {
        let record = match item {
            Item::Record(r) => r,
            Item::Damaged => {
                self.damaged += 1;
                return;
            }
            Item::Boot => return self.boots.push(at),
            Item::Doubled(_) => return self.doubled.push(at),
            Item::LeftOut => return,
        };
        self.counted |= record.since.is_some();
        let trust = if record.fresh { Trust::Logged } else { trust(self.lines.at(at)) };
        let fenced = trust == Trust::Prose && self.lines.is_fenced(at);
        // A comment of a configuration is no word to a reader.
        let noted = self.noted.binary_search(&at).is_ok();
        let trust = if fenced || noted && trust == Trust::Prose { Trust::Shown } else { trust };
        let trust = if self.examples.has(at, record.fresh) { Trust::Quoted } else { trust };
        if self.quotes && self.lines.at(at).starts_with(b">") {
            self.quoted.push(at);
        }
        // A diff or a patch program marks new lines with a plus.
        let text = record.text.strip_prefix(b"+").unwrap_or(record.text);
        let text = if noted { noted::uncommented(text) } else { text };
        let text = text::lossy(text[..text.len().min(LONGEST)].trim_ascii_end()).into_owned();
        // What was cut off only adds pairs.
        let text = Words::known(text, record.pairs);
        // What stands beside the kernel's own time tells how long two boots are apart.
        let order = order_of(record.said).or_else(|| order_of(record.beside));
        // Nobody else writes a day of the week, 24 letters and no more.
        let said = record.said;
        if record.time.is_none() && said.len() == 24 && said[0].is_ascii_alphabetic() {
            self.dated.push(at);
        }
        let second = order.map(|(dated, second)| self.in_its_year(second, dated));
        self.messages.push(Message { line: at, time: record.time, second, text, trust });
    }
}

/// Lines without a time that stand close together count as a log if enough of them are
/// what the core says once a sleep, which nobody types one below the other:
/// `dmesg --notime`, `journalctl -o cat`; and those from the first to the last of three with the
/// core's mark. Those of a `reply` do where they are all that the text has of a sleep.
fn whole_logs(messages: &mut [Message], reply: impl Fn(&Message) -> bool) {
    const MANY: usize = 3;
    const FRONT: [&str; 2] = ["PM: ", "Timekeeping suspended for "];
    let marked = |m: &Message| FRONT.iter().any(|f| m.text.starts_with(f)) || m.has(": PM: ");
    let core = |m: &Message| marked(m) || MARKS.iter().any(|mark| m.says(mark));
    let alone = !messages.iter().any(|m| core(m) && m.trust.is_of_a_kernel());
    let bare = |m: &Message| match m.trust {
        Trust::Prose => true,
        Trust::Quoted => alone && reply(m),
        _ => false,
    };
    for run in messages.chunk_by_mut(|a, b| bare(a) && bare(b) && a.line.abs_diff(b.line) == 1) {
        if !bare(&run[0]) {
            continue;
        }
        let said = MARKS.iter().filter(|mark| run.iter().any(|m| m.says(mark))).count();
        let whole = said >= MANY && run[0].trust == Trust::Prose;
        let (first, last) = (run.iter().position(core), run.iter().rposition(core));
        let block = match (first, last) {
            _ if whole => Some(0..run.len()),
            (Some(first), Some(last)) => {
                let many = run.iter().filter(|m| core(m)).count() >= MANY;
                many.then_some(first..last + 1)
            }
            _ => None,
        };
        for m in block.map(|b| &mut run[b]).into_iter().flatten() {
            m.trust = Trust::Shown;
        }
    }
}

/// What a line without the prefix of a log is.
fn trust(raw: &[u8]) -> Trust {
    let set_off = raw.starts_with(b"  ") || raw.starts_with(b"\t");
    match raw.first() {
        Some(b'>') => Trust::Quoted,
        // Another program's line in the log of the system is no word of a writer.
        _ if set_off || text::has_date(raw) || klog::is_shown(raw) => Trust::Shown,
        _ => Trust::Prose,
    }
}

/// Lines by their number.
struct Lines<'a> {
    bytes: &'a [u8],
    ends: Vec<usize>,
    /// Where fences of Markdown begin and end, in turns.
    fences: Vec<u64>,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Lines<'a> {
        let mut lines =
            Lines { bytes, ends: memchr::memchr_iter(b'\n', bytes).collect(), fences: Vec::new() };
        if memchr::memmem::find(bytes, b"```").is_some() {
            let count = lines.ends.len() as u64 + 1;
            let fences =
                (1..=count).filter(|n| lines.at(*n).trim_ascii_start().starts_with(b"```"));
            lines.fences = fences.collect();
        }
        lines
    }

    /// Whether line `at` stands between two fences; none of them is a line of what it fences.
    fn is_fenced(&self, at: u64) -> bool {
        if self.fences.binary_search(&at).is_ok() {
            return false;
        }
        let before = self.fences.partition_point(|f| *f < at);
        before % 2 == 1 && before < self.fences.len()
    }

    /// Line `at`, from 1; empty if there is none.
    fn at(&self, at: u64) -> &'a [u8] {
        let i = usize::try_from(at).unwrap_or(usize::MAX);
        let begin = match i {
            0 => return b"",
            1 => 0,
            _ => match self.ends.get(i - 2) {
                Some(e) => e + 1,
                None => return b"",
            },
        };
        let end = self.ends.get(i - 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[begin..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_are_one_and_prose_is_none_of_the_kernels() {
        let text = "did you see a line like this?\n\
            amd_pmc AMDI000A:00: Last suspend didn't reach deepest state\n\
            \n\
            [  102.441187] Freezing of tasks failed after 20.000 seconds (1 tasks\n\
            refusing to freeze, wq_busy=0):\n\
            > [   34.475130] PM: Device 6-002c failed to suspend: error -6\n\
            \x20   PM: Wakeup pending, aborting suspend\n";
        let case = read_bytes("mail", text.as_bytes()).case;
        let said: Vec<(&str, Trust)> =
            case.messages.iter().map(|m| (m.text.as_str(), m.trust)).collect();
        assert_eq!(said[1].1, Trust::Prose);
        assert_eq!(
            said[2],
            (
                "Freezing of tasks failed after 20.000 seconds (1 tasks refusing to freeze, wq_busy=0):",
                Trust::Logged
            )
        );
        assert_eq!(said[3], ("PM: Device 6-002c failed to suspend: error -6", Trust::Logged));
        assert_eq!(said[4], ("PM: Wakeup pending, aborting suspend", Trust::Shown));
    }

    #[test]
    fn a_binary_file_is_said_to_be_none() {
        let text = read_bytes("trace.dat", b"\x17\x08\x44tracing\0\0");
        assert!(text.case.messages.is_empty());
        assert_eq!(text.losses.list.len(), 1);
    }
}
