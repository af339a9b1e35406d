//! From inputs to captures.

use crate::ahead;
use crate::container::{self, Source};
use crate::detect::{Format, detect};
use crate::doctor::Heard;
use crate::error::ReadError;
use crate::event::EventSink;
use crate::input::{Input, MOST_THREADS, Options};
use crate::perfetto::PerfettoTrace;
use crate::tracedat::TraceDat;
use crate::track::Tracker;
use dormouse_base::capture::Capture;
use dormouse_base::loss::{Losses, Severity};
use std::collections::BTreeMap;

/// All that was read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// One capture per machine; of inputs that do not name their host, one per kernel, and
    /// one per input that does not name its kernel either. All cycles of a machine share
    /// one device graph and stand in order of path, then of time; captures stand in order
    /// of their first input. Inputs without anything to analyse leave a capture
    /// without cycles, so that their losses are not silent.
    pub captures: Vec<Capture>,
}

impl Reading {
    /// Whether there is nothing to analyse.
    pub fn is_empty(&self) -> bool {
        self.captures.iter().all(|c| c.cycles.is_empty() && c.ranked.is_empty())
    }
}

/// Reads `inputs` and assembles what belongs together.
///
/// # Errors
/// If an input named by the caller cannot be read or unpacked. Files found
/// inside a folder that cannot be read are counted as losses instead.
pub fn read(inputs: &[Input], options: &Options) -> Result<Reading, ReadError> {
    Ok(read_into(Machines::default(), inputs, options)?.finish())
}

/// Reads `inputs`, and what kernel logs and capture files among them say in words, in
/// one pass.
///
/// # Errors
/// As [`read`].
pub fn read_heard(inputs: &[Input], options: &Options) -> Result<(Reading, Vec<Heard>), ReadError> {
    let listening = Machines { heard: Some(Vec::new()), ..Machines::default() };
    let mut machines = read_into(listening, inputs, options)?;
    let heard = machines.heard.take().unwrap_or_default();
    Ok((machines.finish(), heard))
}

fn read_into(
    mut machines: Machines,
    inputs: &[Input],
    options: &Options,
) -> Result<Machines, ReadError> {
    let mut files = Vec::new();
    for input in inputs {
        files.extend(container::files(input)?);
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    };
    if threads.min(files.len()) < 2 {
        for file in &files {
            file.open(&options.limits, &mut |source| machines.add(source, None))?;
        }
    } else {
        ahead::read(&files, &options.limits, threads.min(MOST_THREADS), &mut machines)?;
    }
    Ok(machines)
}

/// Reads `inputs`, one after another, and hands the events of every trace to
/// `others` too: one pass serves several subjects.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    inputs: &[Input],
    options: &Options,
    others: &mut dyn EventSink,
) -> Result<Reading, ReadError> {
    let mut machines = Machines::default();
    for input in inputs {
        container::for_each(input, &options.limits, &mut |source| {
            machines.add_with(source, None, Some(&mut *others));
        })?;
    }
    Ok(machines.finish())
}

/// Reads bytes that are already in memory, shown as `name`. They may be
/// compressed.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Reading, ReadError> {
    let unpacked = container::unpack(std::path::Path::new(name), bytes, &options.limits)?;
    Ok(read_source(Source {
        name,
        group: "",
        bytes: unpacked.bytes.as_deref().unwrap_or(bytes),
        damage: unpacked.damage,
    }))
}

/// Reads what a container handed on, by itself.
pub fn read_source(source: Source<'_>) -> Reading {
    let mut machines = Machines::default();
    machines.add(source, None);
    machines.finish()
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
    /// What was said in words, if somebody listens.
    heard: Option<Vec<Heard>>,
}

impl Machines {
    /// Adds what `source` says; `found` is what [`look`] found in it, if that
    /// was done already.
    pub(crate) fn add(&mut self, source: Source<'_>, found: Option<Found<'_>>) {
        self.add_with(source, found, None);
    }

    fn add_with(
        &mut self,
        source: Source<'_>,
        found: Option<Found<'_>>,
        others: Option<&mut dyn EventSink>,
    ) {
        let Found { format, content } = found.unwrap_or_else(|| recognise(&source));
        if let Some(list) = &mut self.heard {
            list.extend(crate::doctor::heard(format, &source));
        }
        if let Content::Whole(capture) = content {
            self.slots.push(Slot::Whole(capture));
            return;
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
        let Slot::Tracker(tracker, _) = &mut self.slots[at] else { return };
        tracker.begin_source(source.name);
        if let Some(damage) = source.damage {
            tracker.losses().add("damaged_input", 1, Severity::Error, damage, None);
        }
        match (content, &mut self.heard) {
            (Content::Trace(lines), _) => crate::ftrace::assemble(source.bytes, lines, tracker),
            (_, Some(list)) if format == Format::KernelLog => {
                let case = crate::doctor::read_beside(source.name, source.bytes, tracker).case;
                list.push(Heard { name: source.name.to_string(), case, ..Heard::default() });
            }
            _ => parse_one(format, source.bytes, tracker, others),
        }
        tracker.end_source();
    }

    fn finish(self) -> Reading {
        let finish = |slot| match slot {
            Slot::Tracker(t, known) => t.finish_apart(known),
            Slot::Whole(c) => vec![*c],
        };
        Reading { captures: self.slots.into_iter().flat_map(finish).collect() }
    }
}

/// What can be said of a source without knowing the others.
pub(crate) struct Found<'a> {
    format: Format,
    content: Content<'a>,
}

enum Content<'a> {
    /// Nothing yet: its bytes are read in its turn.
    Bytes,
    /// The lines of a text trace that matter.
    Trace(crate::ftrace::Scanned<'a>),
    /// A capture file describes its machine alone.
    Whole(Box<Capture>),
}

fn recognise<'a>(source: &Source<'a>) -> Found<'a> {
    let format = detect(source.bytes);
    let content = if format == Format::CaptureFile {
        let damage = source.damage.clone();
        let capture = crate::capture_file::capture(source.name, source.bytes, damage);
        Content::Whole(Box::new(capture))
    } else {
        Content::Bytes
    };
    Found { format, content }
}

/// Does as much of the work on a source as needs no other source.
pub(crate) fn look<'a>(source: &Source<'a>) -> Found<'a> {
    let mut found = recognise(source);
    if found.format == Format::Ftrace {
        found.content = Content::Trace(crate::ftrace::scanned(source.bytes));
    }
    found
}

/// The one place that knows all formats.
fn parse_one(
    format: Format,
    bytes: &[u8],
    tracker: &mut Tracker,
    others: Option<&mut dyn EventSink>,
) {
    match (format, others) {
        (Format::Ftrace, None) => crate::ftrace::parse(bytes, tracker),
        (Format::Ftrace, Some(o)) => crate::ftrace::parse_with(bytes, tracker, o),
        (Format::KernelLog, _) => crate::klog::parse(bytes, tracker),
        (Format::TraceDat, None) => crate::tracedat::parse(bytes, tracker),
        (Format::TraceDat, Some(o)) => crate::tracedat::parse_with(bytes, tracker, o),
        (Format::Perfetto, None) => crate::perfetto::parse(bytes, tracker),
        (Format::Perfetto, Some(o)) => crate::perfetto::parse_with(bytes, tracker, o),
        // A capture file has a tracker of its own, see above.
        (Format::CaptureFile | Format::Unknown, _) => {}
    }
}

/// Hands the events of a trace to `sink`, whatever its format; nothing if
/// `bytes` are none. For a subject that wants no cycles of system sleep.
pub fn events(bytes: &[u8], sink: &mut dyn EventSink, losses: &mut Losses) {
    match detect(bytes) {
        Format::TraceDat => {
            let opened = TraceDat::open_for(bytes, &|name| sink.wants(name), losses);
            match opened {
                Ok(file) => file.events(sink, losses),
                Err(e) => {
                    losses.add("unreadable_trace_dat", 1, Severity::Error, e.to_string(), None);
                }
            }
        }
        Format::Perfetto => {
            let all_times = sink.wants_all_times();
            let wants = |name: &[u8]| sink.wants(name);
            let trace = PerfettoTrace::open_for(bytes, &wants, all_times, losses);
            trace.events(sink, losses);
        }
        // Traces without system sleep look like any text.
        Format::Ftrace | Format::KernelLog => crate::ftrace::events(bytes, sink, losses),
        Format::CaptureFile | Format::Unknown => {}
    }
}
