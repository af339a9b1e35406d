//! Sleeps in a trace.

use super::between::is_command;
use super::causes::{Causes, is_awake};
use super::decisions::Decisions;
use crate::babeltrace;
use crate::event::{EventSink, Kind, Stamp, TraceEvent, number, word};
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::state::{StateSet, Table};
use dormouse_idle::tally::{Sleeps, Tally, Woke};
use dormouse_idle::wake::Episode;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Time may run back by so much within one trace, ns: clocks of CPUs differ, and
/// buffers are merged late.
const BACKWARDS: i64 = 1_000_000_000;

/// Tables by CPU, with the states that are disabled.
pub(super) type Tables = BTreeMap<u32, (Table, StateSet)>;

/// Counts the sleeps of a text or file: one trace, or several one after another.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    tables: &Tables,
    keep: Keep,
    losses: &mut Losses,
) -> Vec<Sleeps> {
    let mut sink = Sink::of(name, bytes, tables, keep);
    let unescaped = inside_json(bytes);
    let bytes = unescaped.as_deref().unwrap_or(bytes);
    if babeltrace::is_babeltrace(bytes) {
        babeltrace::events(bytes, &mut sink, losses);
    } else if crate::tracedat::is_trace_dat(bytes) || crate::perfetto::is_perfetto(head(bytes)) {
        crate::events(bytes, &mut sink, losses);
    } else {
        for part in parts(bytes) {
            crate::events(part, &mut sink, losses);
            sink.next();
        }
    }
    sink.end(losses)
}

/// Whether a text is one trace, and its lines are the text's: then its events may be read
/// beside those of other subjects.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    inside_json(bytes).is_none() && !babeltrace::is_babeltrace(bytes) && parts(bytes).len() == 1
}

/// How many CPUs the machine has: `#P:8` in the head of a trace
/// (`print_event_info`, kernel/trace/trace.c, 6.12), or trace-cmd's `cpus=8`.
fn machine_cpus(bytes: &[u8]) -> Option<u32> {
    let head = head(bytes);
    let number = |at: usize| {
        let digits = head[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        std::str::from_utf8(&head[at..at + digits]).ok()?.parse().ok()
    };
    let processors = memchr::memmem::find(head, b"#P:").and_then(|at| number(at + 3));
    let begin = |at: usize| at == 0 || head[at - 1] == b'\n';
    let cpus = memchr::memmem::find_iter(head, b"cpus=").find(|at| begin(*at));
    processors.or_else(|| cpus.and_then(|at| number(at + 5)))
}

/// As much as formats are told apart by.
fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(64 << 10)]
}

/// Traces that were written one behind another: a head begins the next one if
/// the one before has sleeps.
fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut begin = 0;
    for at in memchr::memmem::find_iter(bytes, b"\n# tracer:") {
        if memchr::memmem::find(&bytes[begin..at], b"cpu_idle: ").is_some() {
            out.push(&bytes[begin..=at]);
            begin = at + 1;
        }
    }
    out.push(&bytes[begin..]);
    out
}

/// The text of ftrace inside a JSON trace of a browser, where it is one string.
fn inside_json(bytes: &[u8]) -> Option<Vec<u8>> {
    const KEY: &[u8] = b"\"systemTraceEvents\"";
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let at = memchr::memmem::find(bytes, KEY)? + KEY.len();
    let open = at + memchr::memchr(b'"', &bytes[at..])? + 1;
    let mut out = Vec::with_capacity(bytes.len() - open);
    let mut rest = bytes[open..].iter();
    while let Some(&b) = rest.next() {
        match b {
            b'"' => break,
            b'\\' => out.push(match rest.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                other => *other,
            }),
            b => out.push(b),
        }
    }
    Some(out)
}

/// One trace.
#[derive(Default)]
struct Part {
    out: Sleeps,
    numbers: HashMap<Vec<u8>, u32>,
    /// Task switches were recorded.
    switches: bool,
    /// The latest time, ns.
    last: Option<i64>,
    /// CPUs whose open sleep a timer has ended already.
    timer_in: BTreeSet<u32>,
    /// Why a CPU was sent an interrupt that is still to come, as a cause.
    raised: BTreeMap<u32, Vec<u8>>,
    /// CPUs that [`SLEEPER`] has just woken, for a task that is not known yet.
    for_task: BTreeSet<u32>,
    causes: Causes,
    decisions: Decisions,
    /// CPUs that are in the firmware: since when, in which state, and whether for s2idle.
    asked: BTreeMap<u32, (i64, u64, bool)>,
}

impl Part {
    fn new(name: &str, tables: &Tables) -> Part {
        let tally = Tally::with_tables(tables.clone());
        let causes = Causes::new(tables.clone());
        let out = Sleeps { name: name.into(), tally, ..Sleeps::default() };
        Part { out, causes, ..Part::default() }
    }

    /// Where task switches were recorded, sleeps without one had none.
    fn finish(mut self) -> Sleeps {
        if self.switches {
            for e in self.out.episodes.values_mut().flatten() {
                e.ran.get_or_insert(false);
            }
        }
        self.out.wakes = self.causes.finish();
        self.out.steps = self.decisions.steps;
        self.out
    }
}

pub(crate) struct Sink<'a> {
    name: &'a str,
    tables: &'a Tables,
    keep: bool,
    part: Part,
    done: Vec<Sleeps>,
    damaged: u64,
    lost: u64,
    /// Events that stand in the trace twice.
    repeated: u64,
    /// Lines that are no events since the last event.
    apart: Option<Apart>,
    /// How many CPUs the machine has.
    machine: Option<u32>,
}

/// What stands between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// Words: another recording follows if the clock says so too.
    Words,
    /// A command: what follows is its output.
    Command,
}

/// No machine sleeps on all CPUs for so long between two events while somebody
/// writes words into its trace, ns: timers of the kernel itself come every few
/// seconds (`vmstat_update`, mm/vmstat.c; `wb_workfn`, fs/fs-writeback.c).
const PAUSE: i64 = 10_000_000_000;

impl<'a> Sink<'a> {
    pub(super) fn of(name: &'a str, bytes: &[u8], tables: &'a Tables, keep: Keep) -> Sink<'a> {
        Sink {
            name,
            tables,
            keep: keep == Keep::Episodes,
            part: Part::new(name, tables),
            done: Vec::new(),
            damaged: 0,
            lost: 0,
            repeated: 0,
            apart: None,
            machine: machine_cpus(bytes),
        }
    }

    /// Every trace, when all events came.
    pub(super) fn end(mut self, losses: &mut Losses) -> Vec<Sleeps> {
        self.damaged += std::mem::take(&mut self.part.decisions.damaged);
        let advice =
            "lines of idle events that cannot be understood: compare them with the original";
        losses.add("damaged_line", self.damaged, Severity::Warning, advice, None);
        let advice =
            "the trace buffer was too small: enlarge it (buffer_size_kb), or record fewer events";
        losses.add("lost_events", self.lost, Severity::Error, advice, None);
        let advice = "lines of idle events that stand in the text twice: each counts once";
        losses.add("repeated_line", self.repeated, Severity::Info, advice, None);
        self.finish()
    }
}

impl Sink<'_> {
    /// Anything on a CPU while `pid` is its current task: if that is not the
    /// idle task, the CPU left the idle loop after its last sleep.
    fn task(&mut self, cpu: u32, pid: i32, event: &[u8]) {
        self.part.switches |= event == b"sched_switch";
        if pid <= 0 {
            return;
        }
        if let Some(e) = self.part.out.episodes.get_mut(&cpu).and_then(|l| l.last_mut()) {
            e.ran = Some(true);
        }
    }

    /// What follows is another trace.
    fn next(&mut self) {
        let part = std::mem::replace(&mut self.part, Part::new(self.name, self.tables));
        self.damaged += part.decisions.damaged;
        let sleeps = part.finish();
        if sleeps.tally.cpus.is_empty() {
            // Nothing but what stands around a trace.
            self.part.out.events = sleeps.events;
        } else {
            self.done.push(sleeps);
        }
    }

    /// Every trace; those that are the CPUs of one machine are joined.
    fn finish(mut self) -> Vec<Sleeps> {
        let rest = std::mem::take(&mut self.part).finish();
        let mut out: Vec<Sleeps> = Vec::new();
        let machine = self.machine;
        for s in self.done.into_iter().chain([rest]) {
            if s.tally.cpus.is_empty() && !out.is_empty() {
                out[0].events += s.events;
                continue;
            }
            match out.last_mut().filter(|o| is_other_cpu(o, &s)) {
                Some(o) => join(o, s),
                None => out.push(s),
            }
        }
        let count = out.len();
        for s in &mut out {
            // A table of more CPUs than the trace shows tells of them.
            let table = s.tally.tables().len() as u32;
            s.machine_cpus = machine.max(Some(table).filter(|n| *n > s.tally.cpus.len() as u32));
        }
        if count > 1 {
            for (i, s) in out.iter_mut().enumerate() {
                s.name = format!("{} ({} of {count})", s.name, i + 1);
            }
        }
        out
    }

    /// The number of a cause.
    fn number(&mut self, cause: &[u8]) -> u32 {
        if let Some(&n) = self.part.numbers.get(cause) {
            return n;
        }
        let next = self.part.numbers.len() as u32;
        self.part.numbers.insert(cause.to_vec(), next);
        self.part.out.wakers.push(String::from_utf8_lossy(cause).into_owned());
        next
    }

    /// The first thing that a CPU does after a sleep is taken for what woke it.
    fn waker(&mut self, cpu: u32, cause: &[u8]) {
        let number = self.number(cause);
        self.part.out.has_wakers = true;
        let woke = self.part.out.tally.woken_by(cpu, number);
        if woke != Woke::No && cause == SLEEPER {
            self.part.for_task.insert(cpu);
        }
        if !self.keep || memchr::memmem::find(cause, b"timer").is_none() {
            return;
        }
        match woke {
            Woke::No => {}
            Woke::Open => {
                self.part.timer_in.insert(cpu);
            }
            Woke::Last => {
                if let Some(e) = self.part.out.episodes.get_mut(&cpu).and_then(|l| l.last_mut()) {
                    e.timer = true;
                }
            }
        }
    }
}

/// The text in the last brackets.
fn in_brackets(text: &[u8]) -> Option<&[u8]> {
    let from = memchr::memrchr(b'(', text)? + 1;
    let to = memchr::memrchr(b')', text)?;
    text.get(from..to)
}

/// CPUs of a mask as the kernel prints it: `00000000,00000002`.
fn cpus_of(mask: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let digits = mask.iter().rev().filter(|d| d.is_ascii_hexdigit()).take(2_048);
    (0..).zip(digits).flat_map(|(n, &d): (u32, &u8)| {
        let bits = (d as char).to_digit(16).unwrap_or(0);
        (0..4).filter(move |b| bits >> b & 1 == 1).map(move |b| 4 * n + b)
    })
}

/// A timer that wakes the task which sleeps for it: the task says more.
const SLEEPER: &[u8] = b"timer hrtimer_wakeup";

/// CPU and state of a `cpu_idle`; no state if the CPU is awake. The kernel has room for
/// ten states; a driver numbers them.
fn idle_of(event: &TraceEvent<'_>) -> Option<(u32, Option<u32>)> {
    let TraceEvent::Other { name: b"cpu_idle", text } = *event else { return None };
    let text = text.strip_suffix(b"\\n\\").unwrap_or(text);
    let cpu = u32::try_from(number(text, b"cpu_id")?).ok()?;
    if word(text, b"state").is_some_and(is_awake) {
        return Some((cpu, None));
    }
    let state = number(text, b"state").filter(|s| *s < 64)?;
    Some((cpu, Some(state as u32)))
}

/// CPU, state and whether it is s2idle of `cpu_id=2 state=0x41000044 is_s2idle=no`
/// (include/trace/events/power.h:psci_domain_idle, 7.3).
fn asked_of(text: &[u8]) -> Option<(u32, u64, bool)> {
    let cpu = u32::try_from(number(text, b"cpu_id")?).ok()?;
    let state = std::str::from_utf8(word(text, b"state")?).ok()?.strip_prefix("0x")?;
    let s2idle = word(text, b"is_s2idle")? == b"yes";
    Some((cpu, u64::from_str_radix(state, 16).ok()?, s2idle))
}

/// Whether `b` is of other CPUs than `a`, at the same time: the buffers of one
/// machine, written one behind another.
fn is_other_cpu(a: &Sleeps, b: &Sleeps) -> bool {
    let (Some((a0, a1)), Some((b0, b1))) = (a.tally.span, b.tally.span) else { return false };
    let disjoint = b.tally.cpus.keys().all(|cpu| !a.tally.cpus.contains_key(cpu));
    disjoint && a0 <= b1 && b0 <= a1
}

/// Adds the CPUs of `b` to `a`.
fn join(a: &mut Sleeps, mut b: Sleeps) {
    let offset = a.wakers.len() as u32;
    for c in b.tally.cpus.values_mut() {
        c.wakers =
            std::mem::take(&mut c.wakers).into_iter().map(|(n, k)| (n + offset, k)).collect();
    }
    a.wakers.append(&mut b.wakers);
    a.episodes.append(&mut b.episodes);
    a.wakes.append(&mut b.wakes);
    a.steps.append(&mut b.steps);
    for (state, more) in b.asked {
        let asked = a.asked.entry(state).or_default();
        asked.count += more.count;
        asked.ns = asked.ns.saturating_add(more.ns);
        asked.s2idle += more.s2idle;
    }
    a.events += b.events;
    a.has_misses |= b.has_misses;
    a.has_wakers |= b.has_wakers;
    a.tally.join(b.tally);
}

impl EventSink for Sink<'_> {
    fn wants(&self, event: &[u8]) -> bool {
        // Whatever a task does shows that a CPU left the idle loop.
        self.keep
            || matches!(
                event,
                b"cpu_idle"
                    | b"cpu_idle_miss"
                    | b"psci_domain_idle_enter"
                    | b"psci_domain_idle_exit"
                    | b"irq_handler_entry"
                    | b"ipi_entry"
                    | b"ipi_raise"
                    | b"local_timer_entry"
                    | b"reschedule_entry"
                    | b"call_function_entry"
                    | b"call_function_single_entry"
                    | b"hrtimer_expire_entry"
                    | b"sched_waking"
                    | b"sched_switch"
                    | b"tick_stop"
            )
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn unused(&mut self, _: Kind, count: u64) {
        self.part.out.events += count;
    }

    fn text(&mut self, line: &[u8], _: u64) -> bool {
        let line = line.trim_ascii_start();
        let tracer = line.starts_with(b"# tracer:");
        let command = tracer || is_command(&String::from_utf8_lossy(line));
        // Lines of a head are comments; a prompt of the root looks like one.
        if line.starts_with(b"#") && !command {
            return false;
        }
        let found = if command { Apart::Command } else { Apart::Words };
        if self.apart != Some(Apart::Command) {
            self.apart = Some(found);
        }
        false
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if let TraceEvent::Lost { count } = event {
            self.lost += count.unwrap_or(1);
            self.part.out.tally.lost((stamp.cpu != u32::MAX).then_some(stamp.cpu));
            return;
        }
        let now = stamp.time.0;
        let apart = match self.apart.take() {
            Some(Apart::Command) => self.part.last.is_some(),
            Some(Apart::Words) => self.part.last.is_some_and(|l| now < l || now - l > PAUSE),
            None => false,
        };
        if apart || self.part.last.is_some_and(|last| now.saturating_add(BACKWARDS) < last) {
            self.next();
        }
        let sleep = idle_of(&event);
        if let Some((cpu, state)) = sleep
            && self.part.out.tally.repeats(cpu, now, state)
        {
            self.repeated += 1;
            return;
        }
        self.part.last = Some(self.part.last.map_or(now, |last| last.max(now)));
        self.part.out.events += 1;
        if self.keep {
            self.part.causes.event(stamp, event);
            self.part.decisions.event(stamp, event);
        }
        if self.keep && Kind::of(event.name()) != Kind::Idle {
            self.task(stamp.cpu, stamp.pid, event.name());
        }
        let TraceEvent::Other { name, text } = event else { return };
        let time = stamp.time.0;
        // Lines of a string of a script, as early systraces have them.
        let text = text.strip_suffix(b"\\n\\").unwrap_or(text);
        match name {
            b"cpu_idle" => match sleep {
                Some((cpu, None)) => {
                    self.part.out.tally.seen(time);
                    let slept = self.part.out.tally.exit(cpu, time);
                    if let Some((state, enter)) = slept.filter(|_| self.keep) {
                        let timer = self.part.timer_in.remove(&cpu);
                        let e = Episode { enter, exit: time, state, timer, ran: None };
                        self.part.out.episodes.entry(cpu).or_default().push(e);
                    }
                }
                Some((cpu, Some(state))) => {
                    self.part.out.tally.seen(time);
                    self.part.for_task.remove(&cpu);
                    self.part.out.tally.enter(cpu, time, state);
                }
                None => self.damaged += 1,
            },
            // While a governor is exchanged CPUs sleep without one.
            b"idle_en" => self.part.out.episodes.clear(),
            b"cpu_idle_miss" => {
                let above = word(text, b"type").map(|w| w == b"above");
                match (number(text, b"state"), number(text, b"cpu_id"), above) {
                    (Some(state), Some(cpu), Some(above)) if state < 64 => {
                        self.part.out.has_misses = true;
                        self.part.out.tally.miss(cpu as u32, state as u32, above);
                    }
                    _ => self.damaged += 1,
                }
            }
            b"psci_domain_idle_enter" => match asked_of(text) {
                Some((cpu, state, s2idle)) => {
                    self.part.asked.insert(cpu, (time, state, s2idle));
                }
                None => self.damaged += 1,
            },
            b"psci_domain_idle_exit" => match asked_of(text) {
                Some((cpu, state, _)) => {
                    let begun = self.part.asked.remove(&cpu).filter(|b| b.1 == state);
                    if let Some((since, _, s2idle)) = begun {
                        let a = self.part.out.asked.entry(state).or_default();
                        a.count += 1;
                        a.ns = a.ns.saturating_add(time.saturating_sub(since).max(0));
                        a.s2idle += u64::from(s2idle);
                    }
                }
                None => self.damaged += 1,
            },
            b"irq_handler_entry" => {
                let name = word(text, b"name").unwrap_or(b"?");
                let raised =
                    if name == b"IPI" { self.part.raised.remove(&stamp.cpu) } else { None };
                self.waker(stamp.cpu, &raised.unwrap_or_else(|| [b"irq ", name].concat()));
            }
            b"ipi_entry" => {
                let name = text.trim_ascii().trim_ascii_start();
                let name = name.strip_prefix(b"(").unwrap_or(name);
                let name = name.strip_suffix(b")").unwrap_or(name);
                self.waker(stamp.cpu, &[b"ipi ", name].concat());
            }
            // Arm has one interrupt for all of them, and says here what for.
            b"ipi_raise" => {
                if let Some((mask, reason)) = word(text, b"target_mask").zip(in_brackets(text)) {
                    for cpu in cpus_of(mask) {
                        self.part.raised.insert(cpu, [b"ipi ", reason].concat());
                    }
                }
            }
            b"local_timer_entry" => self.waker(stamp.cpu, b"local timer"),
            b"reschedule_entry" => self.waker(stamp.cpu, b"ipi reschedule"),
            b"call_function_entry" | b"call_function_single_entry" => {
                self.waker(stamp.cpu, b"ipi call function");
            }
            b"tick_stop" => {
                let success = word(text, b"success") == Some(b"1");
                self.part.out.tally.ticks.stop(stamp.cpu, time, success);
            }
            b"sched_waking" if self.part.for_task.remove(&stamp.cpu) => {
                if let Some(comm) = word(text, b"comm") {
                    let cause = [SLEEPER, b" of ", comm].concat();
                    let number = self.number(&cause);
                    self.part.out.tally.renamed(stamp.cpu, number);
                }
            }
            // Another CPU may wake one that watches for it without an interrupt.
            b"sched_switch" if number(text, b"prev_pid") == Some(0) => {
                self.part.for_task.remove(&stamp.cpu);
                self.part.out.tally.ticks.task(stamp.cpu, time);
                if let Some(comm) = word(text, b"next_comm") {
                    self.waker(stamp.cpu, &[b"task ", comm].concat());
                }
            }
            b"hrtimer_expire_entry" => {
                let function = word(text, b"function").unwrap_or(b"?");
                if function.starts_with(b"tick_") {
                    self.part.out.tally.ticks.tick(stamp.cpu, time);
                }
                self.waker(stamp.cpu, &[b"timer ", function].concat());
            }
            _ => {}
        }
    }
}

/// What is kept of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Counts: memory does not grow with the trace.
    #[default]
    Counts,
    /// Every sleep too.
    Episodes,
}
