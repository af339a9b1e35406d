//! One pass over inputs: of each, one look by every subject that is wanted.

use crate::around;
use crate::capture_file;
use crate::cut;
use crate::detect::Format;
use crate::doctor::Heard;
use crate::domains::{self, PowerPass};
use crate::event::{EventSink, Fan};
use crate::events::events;
use crate::ftrace::Beside;
use crate::grams::Asked;
use crate::idle::{IdleReading, Keep, Traces};
use crate::klog;
use crate::part::Part;
use crate::posted;
use crate::shell;
use crate::storage::{StoragePass, StorageReading};
use crate::text::Text;
use crate::track::Tracker;
use crate::way::{self, Traced};
use crate::wrapped;
use dormouse_base::capture::Capture;
use dormouse_base::loss::{Losses, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a caller wants of its inputs: it pays for nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Cycles of system sleep.
    pub sleep: bool,
    /// With them, what logs and capture files say besides times.
    pub heard: bool,
    /// What each text says by itself, as a kernel log.
    pub said: bool,
    /// CPU idle states, and what is kept of their traces.
    pub idle: Option<Keep>,
    /// Storage and runtime power management.
    pub storage: bool,
    /// Power domains and probing.
    pub power: bool,
}

impl Wanted {
    /// System sleep alone.
    pub const SLEEP: Wanted =
        Wanted { sleep: true, heard: false, said: false, idle: None, storage: false, power: false };

    /// Everything that is in the inputs, but for what is said in words once more.
    pub const ALL: Wanted = Wanted {
        heard: true,
        idle: Some(Keep::Counts),
        storage: true,
        power: true,
        ..Wanted::SLEEP
    };
}

/// All that was read: what was not wanted is empty.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// One capture per machine; of inputs that do not name their host, one per kernel, and
    /// one per input that does not name its kernel either. All cycles of a machine share
    /// one device graph and stand in order of path, then of time; captures stand in order
    /// of their first input. Inputs without anything to analyse leave a capture
    /// without cycles, so that their losses are not silent.
    pub captures: Vec<Capture>,
    /// What logs and capture files say besides times.
    pub heard: Vec<Heard>,
    /// What each text says by itself.
    pub said: Vec<Text<Arc<dormouse_doctor::JudgedCase>>>,
    /// CPU idle states.
    pub idle: IdleReading,
    /// Storage and runtime power management.
    pub storage: StorageReading,
    /// Power domains and probing, a text each.
    pub power: Vec<Text<dormouse_power::Case>>,
}

impl Reading {
    /// Whether there is nothing to analyse.
    pub fn is_empty(&self) -> bool {
        self.captures.iter().all(|c| c.cycles.is_empty() && c.ranked.is_empty())
    }
}

/// Every subject that is wanted, fed with one input after another.
pub(crate) struct Pass {
    wanted: Wanted,
    /// Whether one file is all that there is.
    alone: bool,
    machines: Machines,
    storage: StoragePass,
    power: PowerPass,
    /// How many inputs came, and those whose idle traces wait for tables.
    count: usize,
    pub(crate) idle_later: BTreeSet<usize>,
    pub(crate) out: Reading,
}

impl Pass {
    pub(crate) fn of(wanted: Wanted, alone: bool) -> Pass {
        let idle = IdleReading::keeping(wanted.idle.unwrap_or_default());
        Pass {
            wanted,
            alone,
            machines: Machines::default(),
            storage: StoragePass::default(),
            power: PowerPass::default(),
            count: 0,
            idle_later: BTreeSet::new(),
            out: Reading { idle, ..Reading::default() },
        }
    }

    /// Whether the lines of text traces are of use before their turn.
    pub(crate) fn wants_lines(&self) -> bool {
        self.wanted.sleep
    }

    /// Shows `part` to every subject; `lines` are those of a text trace that matter for
    /// system sleep, if they were found already.
    pub(crate) fn add(&mut self, part: Part<'_>, lines: Option<crate::ftrace::Scanned<'_>>) {
        let text = part.format == Format::KernelLog && part.taken.is_none();
        if let Some(marked) = text.then(|| cut::marked(part.source.bytes)).flatten() {
            return self.add(part.with(&marked), lines);
        }
        if let Some(plain) = text.then(|| around::plain(part.source.bytes)).flatten() {
            return self.add(part.with(&plain), lines);
        }
        let trace = text || part.format == Format::Ftrace;
        if let Some(whole) = trace.then(|| wrapped::whole(part.source.bytes)).flatten() {
            return self.add_text(&part.with(&whole), text, None);
        }
        if let Some(plain) = text.then(|| klog::by_lines(part.source.bytes)).flatten() {
            return self.add_text(&part.with(&plain), true, lines);
        }
        match text.then(|| shell::whole(part.source.bytes)).flatten() {
            Some(whole) => self.add_text(&part.with(&whole), true, lines),
            None => self.add_text(&part, text, lines),
        }
    }

    fn add_text(&mut self, part: &Part<'_>, text: bool, lines: Option<crate::ftrace::Scanned<'_>>) {
        match text.then(|| posted::plain(part.source.bytes)).flatten() {
            Some(plain) => self.add_with(part, &part.with(&plain), lines),
            None => self.add_with(part, part, lines),
        }
    }

    /// The doctor reads the text as it was `posted`: it has readers of commands of its own.
    fn add_with(
        &mut self,
        posted: &Part<'_>,
        part: &Part<'_>,
        lines: Option<crate::ftrace::Scanned<'_>>,
    ) {
        let wanted = self.wanted;
        let mut traces = Traces::None;
        if wanted.idle.is_some() {
            // A member of an archive is not all that there is.
            let alone = self.alone && part.source.group.is_empty();
            traces = self.out.idle.add(part, alone);
            if traces == Traces::Later {
                self.idle_later.insert(self.count);
            }
        }
        self.count += 1;
        let requests = wanted.storage && self.storage.add(part);
        // Events of a trace are no messages and no tables. One without system sleep looks
        // like any text.
        let bytes = posted.source.bytes;
        let words = wanted.said || wanted.power;
        let of_trace = part.format == Format::Ftrace && (words || traces != Traces::None);
        let beside = of_trace.then(Beside::default);
        let of_log = part.format == Format::KernelLog && (words || wanted.sleep);
        let quotes = of_log && Beside::is_trace(bytes);
        let quoted = quotes.then(|| Beside::of(bytes));
        let log = quoted.as_deref().map(|text| part.with(text));
        let log = log.as_ref().unwrap_or(posted);
        let beside = self.events(part, log, traces, requests, lines, beside);
        let beside = beside.or(quoted);
        let said = beside.as_deref().unwrap_or(posted.source.bytes);
        if wanted.power {
            let beside = beside.as_deref().map(Asked::of);
            self.power.add(part, beside.as_ref().unwrap_or(&part.asked));
        }
        if wanted.said {
            // A log was read for its cycles and its words.
            let log = self.out.heard.last().filter(|h| wanted.heard && h.is_log);
            self.out.said.push(match log.filter(|_| part.format == Format::KernelLog) {
                Some(log) => log.text().of(&part.source),
                None => crate::doctor::read_part(posted, said),
            });
        }
    }

    /// Reads the events of `part`, in one pass for those subjects for which that is
    /// possible; `log` is what the doctor reads: the text of a log that quotes a trace. What stands `beside` them.
    fn events(
        &mut self,
        part: &Part<'_>,
        log: &Part<'_>,
        traces: Traces,
        requests: bool,
        lines: Option<crate::ftrace::Scanned<'_>>,
        mut beside: Option<Beside>,
    ) -> Option<Vec<u8>> {
        let sleeps = traces == Traces::Now;
        let tables = if sleeps { self.out.idle.tables_beside(part) } else { None };
        let mut idle = tables.as_ref().map(|t| (t, self.out.idle.sink(part, t)));
        let mut storage = if requests { self.storage.sink(part) } else { None };
        let system = self.wanted.sleep && lines.is_none() && part.format.is_trace();
        let mut losses = Losses::default();
        // Where its places are no lines it may be packed, so that no look at the bytes tells.
        let binary = part.format != Format::Ftrace;
        let marks = part.format.is_trace() && (binary || way::has_marks(part.source.bytes));
        let mut traced = (self.wanted.heard && marks).then(|| Traced::of(binary));
        {
            let mut sinks: Vec<&mut dyn EventSink> = Vec::new();
            if let Some((_, sink)) = &mut idle {
                sinks.push(sink);
            }
            if let Some(sink) = &mut storage {
                sinks.push(sink);
            }
            if let Some(sink) = &mut beside {
                sinks.push(sink);
            }
            if let Some(sink) = &mut traced {
                sinks.push(sink);
            }
            let heard = self.wanted.heard.then_some(&mut self.out.heard);
            match (&mut sinks[..], system) {
                ([], _) if self.wanted.sleep => {
                    self.machines.add(log, lines, heard, None);
                }
                ([], _) => {}
                ([one], true) => losses = self.machines.add(part, None, heard, Some(*one)),
                (several, true) => {
                    losses = self.machines.add(part, None, heard, Some(&mut Fan::new(several)));
                }
                (several, false) => {
                    match several {
                        [one] => events(part.source.bytes, *one, &mut losses),
                        _ => events(part.source.bytes, &mut Fan::new(several), &mut losses),
                    }
                    if self.wanted.sleep {
                        self.machines.add(log, lines, heard, None);
                    }
                }
            }
        }
        let steps = traced.map(Traced::steps).unwrap_or_default();
        self.out.heard.extend(Heard::of_marks(part.source.name, steps));
        let beside = beside.map(Beside::text);
        let text = beside.as_deref().filter(|_| traces != Traces::None);
        let states = text.is_some_and(|text| self.out.idle.beside(part, text));
        match idle {
            Some((tables, sink)) if !states => {
                self.out.idle.take(part, (tables, sink), losses.clone());
            }
            // The tables that stand beside it were not known.
            _ if sleeps => self.out.idle.traces_of(part),
            _ => {}
        }
        match storage {
            Some(sink) => self.storage.take(part, sink, losses),
            None if requests => self.storage.trace(part),
            None => {}
        }
        beside
    }

    pub(crate) fn finish(mut self) -> Reading {
        self.out.captures = self.machines.finish();
        self.out.storage = self.storage.finish();
        self.out.power = self.power.finish();
        for c in &self.out.captures {
            let source = c.cycles.first().map_or("", |x| c.names.get(x.source));
            let of = |t: &&mut Text<dormouse_power::Case>| {
                source.strip_prefix(&*t.name).is_some_and(|r| r.is_empty() || r.starts_with('#'))
            };
            if let Some(t) = self.out.power.iter_mut().find(of) {
                t.case.switched = domains::switched(c);
            }
        }
        self.out
    }
}

/// A machine whose inputs are still coming, or one that came whole.
enum Slot {
    /// With whether its inputs name their host: else they may be of several machines.
    Tracker(Box<Tracker>, bool),
    /// A capture file describes its machine alone.
    Whole(Box<Capture>),
}

/// One slot per machine, in order of first appearance.
#[derive(Default)]
pub(crate) struct Machines {
    slots: Vec<Slot>,
    by_key: BTreeMap<String, usize>,
}

impl Machines {
    /// Adds what `part` says of system sleep, and what it says in words if somebody
    /// listens.
    pub(crate) fn add(
        &mut self,
        part: &Part<'_>,
        lines: Option<crate::ftrace::Scanned<'_>>,
        heard: Option<&mut Vec<Heard>>,
        others: Option<&mut dyn EventSink>,
    ) -> Losses {
        let mut lost = Losses::default();
        let source = &part.source;
        if let Some(taken) = &part.taken {
            if let (Some(list), Some(file)) = (heard, part.file()) {
                list.push(crate::doctor::heard(source.name, file));
            }
            let capture = capture_file::capture(source.name, taken, source.damage.clone());
            self.slots.push(Slot::Whole(Box::new(capture)));
            return lost;
        }
        let host = crate::detect::host(source.bytes);
        // Inputs that do not name their host are read together if the caller named
        // them, and by folder if they were found: a log and a trace may be of one cycle.
        let known = host.is_some();
        let key = match host {
            Some(h) => format!("host {}", String::from_utf8_lossy(h)),
            None => format!("group {}", source.group),
        };
        let slots = &mut self.slots;
        let at = *self.by_key.entry(key).or_insert_with(|| {
            slots.push(Slot::Tracker(Box::default(), known));
            slots.len() - 1
        });
        let Slot::Tracker(tracker, _) = &mut self.slots[at] else { return lost };
        tracker.begin_source(source.name);
        if let Some(damage) = source.damage.clone() {
            tracker.losses().add("damaged_input", 1, Severity::Error, damage, None);
        }
        match (lines, heard) {
            (Some(lines), _) => crate::ftrace::assemble(source.bytes, lines, tracker),
            (_, Some(list)) if part.format == Format::KernelLog => {
                let text = crate::doctor::read_beside(source.name, &part.asked, tracker);
                list.push(Heard::of_log(text));
            }
            _ => lost = parse_one(part.format, source.bytes, tracker, others),
        }
        tracker.end_source();
        lost
    }

    pub(crate) fn finish(self) -> Vec<Capture> {
        let finish = |slot| match slot {
            Slot::Tracker(t, known) => t.finish_apart(known),
            Slot::Whole(c) => vec![*c],
        };
        self.slots.into_iter().flat_map(finish).collect()
    }
}

/// The one place that knows all formats. What was lost of what `others` want.
fn parse_one(
    format: Format,
    bytes: &[u8],
    tracker: &mut Tracker,
    others: Option<&mut dyn EventSink>,
) -> Losses {
    match (format, others) {
        (Format::Ftrace, Some(o)) => return crate::ftrace::parse_with(bytes, tracker, o),
        (Format::TraceDat, Some(o)) => return crate::tracedat::parse_with(bytes, tracker, o),
        (Format::Perfetto, Some(o)) => return crate::perfetto::parse_with(bytes, tracker, o),
        (Format::Ftrace, None) => crate::ftrace::parse(bytes, tracker),
        (Format::KernelLog, _) => crate::klog::parse(bytes, tracker),
        (Format::TraceDat, None) => crate::tracedat::parse(bytes, tracker),
        (Format::Perfetto, None) => crate::perfetto::parse(bytes, tracker),
        // A capture file has a tracker of its own, see above.
        (Format::CaptureFile | Format::Blktrace | Format::DeviceTree | Format::Unknown, _) => {}
    }
    Losses::default()
}
