//! Text of ftrace: `trace`, `trace_pipe`, and `trace-cmd report`.
//!
//! A line is `TASK-PID [(TGID)] [CPU] [FLAGS] TIME: EVENT: TEXT`. Columns come
//! and go with tracer options, so they are recognised by shape, not position.
//! Nothing is allocated per line, and lines of other events are left as soon
//! as their event name is known.

mod beside;
mod callback;
pub(crate) mod line;
mod untold;
mod uses;

use crate::event::{EventSink, Kind, Known, Stamp, TraceEvent, Unused, is_kept};
use crate::track::Tracker;
pub(crate) use beside::Beside;
use dormouse_base::complete::LostKind;
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::time::Ns;
use line::{Columns, HEAD, Line, Raw, Task, Unit};
pub(crate) use untold::without_callbacks;
use uses::{Use, Uses};

/// How far the clocks of two CPUs may lie apart.
const JUMP: Ns = Ns(100_000_000);

/// Reads a text trace.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    let mut assembler = Assembler::begin(bytes, tracker, None);
    let unread = scan(bytes, &mut assembler);
    assembler.finish(&unread);
}

/// The same, and hands to `others` what they want; what was lost of that.
pub(crate) fn parse_with(
    bytes: &[u8],
    tracker: &mut Tracker,
    others: &mut dyn EventSink,
) -> Losses {
    let mut assembler = Assembler::begin(bytes, tracker, Some(others));
    let unread = scan(bytes, &mut assembler);
    let damaged = assembler.lost_of_others;
    assembler.finish(&unread);
    let mut losses = Losses::default();
    losses.add("damaged_line", damaged, Severity::Warning, DAMAGED, None);
    losses
}

const DAMAGED: &str =
    "lines of known events that cannot be understood: compare them with the original";

/// Hands the events of a text trace to `sink` as the lines come. Lines that
/// cannot be understood are losses; lines that are no events are none.
pub fn events(bytes: &[u8], sink: &mut dyn EventSink, losses: &mut Losses) {
    let mut plain = Plain { sink, last: Ns::ZERO, damaged: 0 };
    let unread = scan(bytes, &mut plain);
    let Plain { sink, damaged, .. } = plain;
    unread.unused.tell(sink);
    losses.add("damaged_line", damaged + unread.columns, Severity::Warning, DAMAGED, None);
}

/// The lines of a text trace that matter, in order: what can be found without
/// knowing anything of other inputs, so on another thread.
#[derive(Debug)]
pub struct Scanned<'a> {
    items: Vec<Item<'a>>,
    unread: Unread,
}

/// Finds the lines that matter.
pub(crate) fn scanned(bytes: &[u8]) -> Scanned<'_> {
    let mut items = Vec::new();
    let unread = scan(bytes, &mut items);
    Scanned { items, unread }
}

/// Does with the lines of `bytes` what [`parse`] does.
pub fn assemble(bytes: &[u8], scanned: Scanned<'_>, tracker: &mut Tracker) {
    let mut assembler = Assembler::begin(bytes, tracker, None);
    for item in scanned.items {
        match item {
            Item::Event { line, at, event } => assembler.event(&line, at, event),
            Item::Lost { cpu, count, at } => assembler.lost(cpu, count, at),
            Item::Platform { rest, at } => assembler.platform(rest, at),
            Item::Damaged { cut, at } => assembler.damaged(cut, at),
        }
    }
    assembler.finish(&scanned.unread);
}

/// Who takes the lines that matter.
trait Take<'a> {
    /// Whether events of this name beside system sleep are.
    fn wants(&self, name: &[u8]) -> bool;
    fn event(&mut self, line: &Line<'a>, at: u64, event: TraceEvent<'a>);
    fn lost(&mut self, cpu: u32, count: Option<u64>, at: u64);
    /// What stands behind `# platform-`.
    fn platform(&mut self, rest: &'a [u8], at: u64);
    /// An event that cannot be understood; `cut` if the input ends in it.
    fn damaged(&mut self, cut: bool, at: u64);
    /// A line that is no event. Whether it was of use.
    fn text(&mut self, _line: &'a [u8], _at: u64) -> bool {
        false
    }
    /// A line that is an event and a line of the kernel's log as well.
    fn logged(&mut self, _line: &'a [u8], _at: u64) {}
    /// A line that is an event but for its columns. Whether it was of use.
    fn broken(&mut self, line: &'a [u8], at: u64) -> bool {
        self.text(line, at)
    }
}

impl<'a> Take<'a> for Vec<Item<'a>> {
    fn wants(&self, name: &[u8]) -> bool {
        is_kept(name)
    }
    fn event(&mut self, line: &Line<'a>, at: u64, event: TraceEvent<'a>) {
        self.push(Item::Event { line: *line, at, event });
    }
    fn lost(&mut self, cpu: u32, count: Option<u64>, at: u64) {
        self.push(Item::Lost { cpu, count, at });
    }
    fn platform(&mut self, rest: &'a [u8], at: u64) {
        self.push(Item::Platform { rest, at });
    }
    fn damaged(&mut self, cut: bool, at: u64) {
        self.push(Item::Damaged { cut, at });
    }
}

/// A call of [`Take`], kept.
#[derive(Clone, Copy, Debug)]
enum Item<'a> {
    Event { line: Line<'a>, at: u64, event: TraceEvent<'a> },
    Lost { cpu: u32, count: Option<u64>, at: u64 },
    Platform { rest: &'a [u8], at: u64 },
    Damaged { cut: bool, at: u64 },
}

/// Lines that are no trace events.
#[derive(Clone, Copy, Debug, Default)]
struct Unread {
    count: u64,
    first: u64,
    /// Those among them that are events but for their columns.
    columns: u64,
    /// Events that nobody wants.
    unused: Unused,
}

impl Unread {
    fn add(&mut self, at: u64) {
        self.count += 1;
        if self.first == 0 {
            self.first = at;
        }
    }
}

/// Hands the lines that matter to `out`.
fn scan<'a>(bytes: &'a [u8], out: &mut impl Take<'a>) -> Unread {
    let mut columns = Columns::default();
    let mut uses = Uses::default();
    let mut task = Task::default();
    let mut unread = Unread::default();
    let mut at = 0u64;
    let mut rest = bytes;
    while !rest.is_empty() {
        at += 1;
        let same = columns.same(rest);
        let from = if same { HEAD } else { 0 };
        let end = memchr::memchr(b'\n', &rest[from..]).map(|e| from + e);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[][..], |e| &rest[e + 1..]);
        if same && let Some(name_end) = columns.name_end(line) {
            let named = uses.of(&line[columns.name..name_end], |name| use_of(name, out));
            if let Use::None(kind) = named {
                unread.unused.add(kind, 1);
                continue;
            }
            let raw = columns.cut(line, name_end);
            take(&raw, named, line, at, end.is_none(), &mut task, &mut unread, out);
            continue;
        }
        if line.first() == Some(&b'#') {
            out.text(line, at);
            if let Some(rest) = line.strip_prefix(b"# platform-") {
                out.platform(rest, at);
            }
            continue;
        }
        match columns.search(line) {
            Some(raw) => {
                let named = use_of(raw.event, out);
                if raw.is_printed() {
                    out.logged(line, at);
                }
                take(&raw, named, line, at, end.is_none(), &mut task, &mut unread, out);
            }
            None => {
                if let Some((cpu, count)) = line::lost(line) {
                    out.lost(cpu, count, at);
                } else if !line.trim_ascii().is_empty()
                    && !line.starts_with(b"cpus=")
                    && !out.text(line, at)
                {
                    unread.add(at);
                }
            }
        }
    }
    unread
}

/// What `out` does with events of that name.
fn use_of<'a>(name: &[u8], out: &impl Take<'a>) -> Use {
    match name {
        b"device_pm_callback_start" => Use::Start,
        b"device_pm_callback_end" => Use::End,
        b"suspend_resume" => Use::Step,
        _ if name == b"console" || name.starts_with(b"rpm_") => Use::Log(out.wants(name)),
        _ if out.wants(name) => Use::Other,
        _ => Use::None(Kind::of(name)),
    }
}

/// Hands one line to `out`; `cut` if the input ends in it.
#[allow(clippy::too_many_arguments)]
fn take<'a>(
    raw: &Raw<'a>,
    named: Use,
    whole: &'a [u8],
    at: u64,
    cut: bool,
    task: &mut Task<'a>,
    unread: &mut Unread,
    out: &mut impl Take<'a>,
) {
    if let Use::Log(_) = named {
        out.logged(whole, at);
    }
    let event = match named {
        Use::None(kind) => return unread.unused.add(kind, 1),
        Use::Log(false) => return unread.unused.add(Kind::of(raw.event), 1),
        Use::Start => callback::start(raw.text),
        Use::End => callback::end(raw.text),
        Use::Step => callback::step(raw.text),
        Use::Other | Use::Log(true) => Some(TraceEvent::Other { name: raw.event, text: raw.text }),
    };
    let Some(event) = event else { return out.damaged(cut, at) };
    match raw.line(task) {
        Some(line) => out.event(&line, at, event),
        None if out.broken(whole, at) => {}
        None => {
            unread.add(at);
            unread.columns += 1;
        }
    }
}

/// Hands the lines of one input to the tracker.
struct Assembler<'t> {
    tracker: &'t mut Tracker,
    others: Option<&'t mut dyn EventSink>,
    last: Ns,
    /// Lines whose clock is a bare counter.
    ticks: u64,
    backwards: u64,
    /// The CPU that came out of the last sleep, as long as it alone has spoken.
    alone: Option<u32>,
    /// Who wants what: the tracker, and the others.
    known: Known,
    /// Lines that the others could not use and should have.
    lost_of_others: u64,
}

impl Assembler<'_> {
    fn begin<'t>(
        bytes: &[u8],
        tracker: &'t mut Tracker,
        others: Option<&'t mut dyn EventSink>,
    ) -> Assembler<'t> {
        tracker.set_split_by_blank();
        crate::pmgraph::header(bytes, tracker);
        Assembler {
            tracker,
            others,
            last: Ns(i64::MIN),
            ticks: 0,
            backwards: 0,
            alone: None,
            known: Known::default(),
            lost_of_others: 0,
        }
    }

    fn finish(self, unread: &Unread) {
        unread.unused.tell(self.tracker);
        if let Some(others) = self.others {
            unread.unused.tell(others);
        }
        let losses = self.tracker.losses();
        losses.add(
            "unread_line",
            unread.count,
            Severity::Info,
            "lines that are no trace events; harmless if they are text around the trace",
            Some(unread.first),
        );
        losses.add(
            "time_backwards",
            self.backwards,
            Severity::Warning,
            "time stamps run backwards: use the boot clock (echo boot > trace_clock)",
            None,
        );
        losses.add(
            "clock_without_unit",
            self.ticks,
            Severity::Warning,
            "the times are bare numbers and are taken as nanoseconds, which is right for the boot clock in trace-cmd report and wrong for x86-tsc or counter: record with the boot clock",
            None,
        );
    }
}

impl<'a> Take<'a> for Assembler<'_> {
    fn wants(&self, name: &[u8]) -> bool {
        is_kept(name) || self.others.as_ref().is_some_and(|o| o.wants(name))
    }

    fn event(&mut self, line: &Line<'a>, at: u64, event: TraceEvent<'a>) {
        let time = line.time;
        if line.unit == Unit::Ticks {
            self.ticks += 1;
        }
        if self.alone != Some(line.cpu) {
            self.alone = None;
        }
        if matches!(
            event,
            TraceEvent::SuspendResume { action: b"machine_suspend", begin: false, .. }
        ) {
            self.alone = Some(line.cpu);
        }
        if time < self.last {
            self.backwards += 1;
            // CPUs disagree by microseconds. A jump is another trace pasted
            // behind the first, unless a clock was reset in the middle of sleep.
            if self.tracker.clock_fell(self.last, time, self.alone.is_some()) {
                self.backwards -= 1;
                self.last = time;
            } else {
                if self.last - time > JUMP && !self.tracker.in_whole_cycle() {
                    self.tracker.close_cycle();
                    self.last = time;
                }
                self.tracker.lose_of_cycle(None, LostKind::Order, 1);
            }
        }
        self.last = self.last.max(time);
        let stamp = Stamp { time, pid: line.pid, comm: line.comm, cpu: line.cpu, at };
        let Some(others) = &mut self.others else { return self.tracker.event(stamp, event) };
        let name = event.name();
        let power = !matches!(event, TraceEvent::Other { .. });
        let mask = || u32::from(power || is_kept(name)) | u32::from(others.wants(name)) << 1;
        let (mask, kind) = self.known.of(name, mask);
        match mask & 1 {
            1 => self.tracker.event(stamp, event),
            _ => self.tracker.unused(kind, 1),
        }
        match mask & 2 {
            2 => others.event(stamp, event),
            _ => others.unused(kind, 1),
        }
    }

    fn lost(&mut self, cpu: u32, count: Option<u64>, at: u64) {
        let time = Ns::ZERO.max(self.last);
        let stamp = Stamp { time, pid: 0, comm: b"", cpu, at };
        self.tracker.event(stamp, TraceEvent::Lost { count });
        if let Some(others) = &mut self.others {
            others.event(stamp, TraceEvent::Lost { count });
        }
    }

    fn platform(&mut self, rest: &'a [u8], at: u64) {
        crate::pmgraph::footer(rest, at, self.tracker);
    }

    fn broken(&mut self, line: &'a [u8], at: u64) -> bool {
        if let Some(others) = &mut self.others {
            self.lost_of_others += u64::from(!others.text(line, at));
        }
        false
    }

    fn text(&mut self, line: &'a [u8], at: u64) -> bool {
        // What others make of prose is no event of system sleep.
        if let Some(others) = &mut self.others {
            others.text(line, at);
        }
        false
    }

    fn logged(&mut self, line: &'a [u8], at: u64) {
        if let Some(others) = &mut self.others {
            others.logged(line, at);
        }
    }

    fn damaged(&mut self, cut: bool, at: u64) {
        self.lost_of_others += 1;
        let (kind, advice) = if cut {
            ("cut_line", "the input ends in the middle of a line: copy the file again")
        } else {
            (
                "damaged_line",
                "a line of a known event cannot be understood: compare it with the original",
            )
        };
        self.tracker.losses().add(kind, 1, Severity::Warning, advice, Some(at));
    }
}

/// Hands lines to a sink without a tracker.
struct Plain<'s> {
    sink: &'s mut dyn EventSink,
    last: Ns,
    damaged: u64,
}

impl<'a> Take<'a> for Plain<'_> {
    fn wants(&self, name: &[u8]) -> bool {
        self.sink.wants(name)
    }

    fn event(&mut self, line: &Line<'a>, at: u64, event: TraceEvent<'a>) {
        self.last = line.time;
        // Of other events the reader asked when it met the name.
        if !matches!(event, TraceEvent::Other { .. }) && !self.sink.wants(event.name()) {
            return self.sink.unused(Kind::of(event.name()), 1);
        }
        let (time, pid, comm, cpu) = (line.time, line.pid, line.comm, line.cpu);
        self.sink.event(Stamp { time, pid, comm, cpu, at }, event);
    }

    fn lost(&mut self, cpu: u32, count: Option<u64>, at: u64) {
        let stamp = Stamp { time: self.last, pid: 0, comm: b"", cpu, at };
        self.sink.event(stamp, TraceEvent::Lost { count });
    }

    fn platform(&mut self, _: &'a [u8], _: u64) {}

    fn text(&mut self, line: &'a [u8], at: u64) -> bool {
        self.sink.text(line, at)
    }

    fn logged(&mut self, line: &'a [u8], at: u64) {
        self.sink.logged(line, at);
    }

    fn damaged(&mut self, _: bool, _: u64) {
        self.damaged += 1;
    }
}
