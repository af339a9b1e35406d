//! From inputs to captures.

use crate::container::{self, Source};
use crate::detect::{Format, detect};
use crate::error::ReadError;
use crate::track::Tracker;
use dormouse_model::capture::Capture;
use dormouse_model::loss::Severity;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input, written `-` on a command line.
    Stdin,
    /// A file, or a folder that is searched recursively.
    Path(PathBuf),
}

impl Input {
    /// `-` is standard input, everything else a path.
    pub fn from_arg(arg: impl Into<PathBuf>) -> Input {
        let path = arg.into();
        if path.as_os_str() == "-" { Input::Stdin } else { Input::Path(path) }
    }
}

/// Bounds that keep a hostile input from eating the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that one compressed input may unpack to, and that standard
    /// input may deliver.
    pub unpacked: u64,
    /// Most times its packed size an input may unpack to, once it is beyond
    /// 64 MB. Logs compress 5 to 100 times; a bomb 1,000 times and more.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { unpacked: 2 << 30, ratio: 200 }
    }
}

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bounds.
    pub limits: Limits,
}

/// All that was read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// One capture per machine. All cycles of a machine share one device graph
    /// and stand in order of path, then of time; captures stand in order of
    /// their first input. Inputs without anything to analyse leave a capture
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
    let mut machines = Machines::default();
    for input in inputs {
        container::for_each(input, &options.limits, &mut |source| machines.add(source))?;
    }
    Ok(machines.finish())
}

/// Reads bytes that are already in memory, shown as `name`. They may be
/// compressed.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Reading, ReadError> {
    let mut machines = Machines::default();
    let unpacked = container::unpack(std::path::Path::new(name), bytes, &options.limits)?;
    machines.add(Source {
        name,
        group: "",
        bytes: unpacked.bytes.as_deref().unwrap_or(bytes),
        damage: unpacked.damage,
    });
    Ok(machines.finish())
}

/// A machine whose inputs are still coming, or one that came whole.
enum Slot {
    Tracker(Box<Tracker>),
    /// A capture file describes its machine alone.
    Whole(Box<Capture>),
}

/// One slot per machine, in order of first appearance.
#[derive(Default)]
struct Machines {
    slots: Vec<Slot>,
    by_key: BTreeMap<String, usize>,
}

impl Machines {
    fn add(&mut self, source: Source<'_>) {
        let format = detect(source.bytes);
        if format == Format::CaptureFile {
            let capture = crate::capture_file::capture(source.name, source.bytes, source.damage);
            self.slots.push(Slot::Whole(Box::new(capture)));
            return;
        }
        let host = crate::detect::host(source.bytes);
        // Inputs that do not name their host belong together if the caller named
        // them, and by folder if they were found.
        let key = match host {
            Some(h) => format!("host {}", String::from_utf8_lossy(h)),
            None => format!("group {}", source.group),
        };
        let slots = &mut self.slots;
        let at = *self.by_key.entry(key).or_insert_with(|| {
            slots.push(Slot::Tracker(Box::default()));
            slots.len() - 1
        });
        let Slot::Tracker(tracker) = &mut self.slots[at] else { return };
        tracker.begin_source(source.name);
        if let Some(damage) = source.damage {
            tracker.losses().add("damaged_input", 1, Severity::Error, damage, None);
        }
        parse_one(format, source.bytes, tracker);
        tracker.end_source();
    }

    fn finish(self) -> Reading {
        let finish = |slot| match slot {
            Slot::Tracker(t) => t.finish(),
            Slot::Whole(c) => *c,
        };
        Reading { captures: self.slots.into_iter().map(finish).collect() }
    }
}

/// The one place that knows all formats.
fn parse_one(format: Format, bytes: &[u8], tracker: &mut Tracker) {
    match format {
        Format::Ftrace => crate::ftrace::parse(bytes, tracker),
        Format::KernelLog => crate::klog::parse(bytes, tracker),
        Format::TraceDat => crate::tracedat::parse(bytes, tracker),
        Format::Perfetto => crate::perfetto::parse(bytes, tracker),
        // A capture file has a tracker of its own, see above.
        Format::CaptureFile | Format::Unknown => {}
    }
}
