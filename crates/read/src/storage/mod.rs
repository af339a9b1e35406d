//! Storage: requests of the block layer with what disks did meanwhile, and
//! tables of their levels.
//!
//! | file | reads |
//! |---|---|
//! | `block` | the text of `block_*` events |
//! | `commands` | commands of SCSI, NVMe and UFS, for traces without `block_*` |
//! | `trace` | ftrace text, `trace.dat`, Perfetto: block, rpm, ufs, devfreq and clk events |
//! | `blktrace` | blktrace's binary files, one a CPU |
//! | `blkparse` | what blkparse prints |
//! | `parts` | several traces in one text, and lines that are quoted twice or broken |
//! | `loose` | events in lines without the columns of a trace |
//! | `lttng` | LTTng's events as babeltrace prints them |
//! | `nvme` | power states as `nvme id-ctrl` prints them |
//! | `devfreq` | `trans_stat` of devfreq devices |
//! | `fio` | JSON of fio, and its logs of latencies |
//! | `fiotext` | what fio prints for people |
//! | `knobs` | settings of sysfs |
//! | `described` | disks and loads that somebody described |
//! | `measured` | what a guest measured of such a load |

mod blkparse;
mod blktrace;
mod block;
mod commands;
pub mod described;
mod devfreq;
mod fio;
mod fiotext;
mod knobs;
pub(crate) mod loose;
mod lttng;
pub mod measured;
mod nvme;
mod parts;
mod trace;

use crate::container::Source;
use crate::detect::Format;
use crate::part::Part;
use crate::posted;
pub(crate) use blktrace::is_blktrace;
use dormouse_base::loss::{Losses, Severity};
use dormouse_capture::schema::CaptureFile;
use dormouse_storage::knobs::Knobs;
use dormouse_storage::levels::{Drive, Transitions};
use dormouse_storage::load::Job;
use dormouse_storage::recording::Trace;
pub(crate) use parts::Parts;
use std::collections::BTreeMap;

/// A text that quotes settings or tables somewhere has at most so many bytes; a longer
/// one is a trace, or begins with them.
const QUOTED: usize = 4 << 20;

/// What inputs say of storage.
#[derive(Clone, Debug, Default)]
pub struct StorageReading {
    /// Traces, in order of the inputs.
    pub traces: Vec<Trace>,
    /// NVMe drives.
    pub drives: Vec<Drive>,
    /// Tables of devfreq.
    pub transitions: Vec<Transitions>,
    /// Jobs of fio.
    pub jobs: Vec<Job>,
    /// Settings.
    pub knobs: Knobs,
    /// What could not be read, and what to do about it.
    pub losses: Losses,
}

impl StorageReading {
    /// Whether anything was found.
    pub fn speaks(&self) -> bool {
        self.traces.iter().any(Trace::speaks)
            || !self.drives.is_empty()
            || !self.transitions.is_empty()
            || !self.jobs.is_empty()
            || self.knobs.any()
    }
}

/// Takes inputs one after another.
#[derive(Default)]
pub(crate) struct StoragePass {
    out: StorageReading,
    /// blktrace writes a file a CPU: a request may end on another than it began.
    series: BTreeMap<String, blktrace::Records>,
    /// What was found before the input that is being read, and whether it has settings.
    before: [usize; 4],
    settings: bool,
}

impl StoragePass {
    /// Reads `part`, but for a trace in it: whether it may be one, to be read with
    /// [`StoragePass::trace`] or beside other subjects.
    pub(crate) fn add(&mut self, part: &Part<'_>) -> bool {
        let (name, bytes) = (part.source.name, part.source.bytes);
        let losses = &mut self.out.losses;
        if let Some(damage) = &part.source.damage {
            losses.add("damaged_input", 1, Severity::Error, damage.to_string(), None);
        }
        match (part.format, &part.taken) {
            (Format::Blktrace, _) => {
                let records = self.series.entry(blktrace::series(name)).or_default();
                records.read(bytes, losses);
            }
            (_, Some(Ok((file, _)))) => self.out.capture(name, file),
            (_, Some(Err(e))) => {
                losses.add("damaged_input", 1, Severity::Error, e.to_string(), None);
            }
            (format, None) => {
                self.before = self.out.count();
                let (trace, settings) = self.out.tables(name, bytes, format);
                self.settings = settings;
                return match trace && may_speak(part) {
                    true => true,
                    false => {
                        self.read(part);
                        false
                    }
                };
            }
        }
        false
    }

    /// Reads the trace of `part` by itself.
    pub(crate) fn trace(&mut self, part: &Part<'_>) {
        self.out.trace(part.source.name, part.source.bytes);
        self.read(part);
    }

    /// Takes requests of `part`, if they can be read beside other subjects.
    pub(crate) fn sink<'a>(&self, part: &'a Part<'_>) -> Option<Parts<'a>> {
        let bytes = part.source.bytes;
        let plain = part.format.is_binary() || !crate::babeltrace::begins_as_babeltrace(bytes);
        plain.then(|| Parts::of(part.source.name, bytes))
    }

    /// Takes what [`StoragePass::sink`] joined.
    pub(crate) fn take(&mut self, part: &Part<'_>, sink: Parts<'_>, mut losses: Losses) {
        let traces = sink.finish(&mut losses);
        self.out.traced(traces, losses);
        self.read(part);
    }

    /// Says so if nothing was found in `part`.
    fn read(&mut self, part: &Part<'_>) {
        if self.out.count() == self.before && !self.settings {
            self.out.nothing_in(part.source.name, part.source.bytes);
        }
    }

    pub(crate) fn finish(mut self) -> StorageReading {
        for (name, records) in self.series {
            self.out.traces.push(records.trace(name));
        }
        self.out
    }
}

/// Whether `part` may hold events of storage: a log that names none need not be read line by
/// line for them.
fn may_speak(part: &Part<'_>) -> bool {
    part.format != Format::KernelLog || part.asked.has_any(&trace::STEMS)
}

/// Reads bytes that are in memory and shown as `name`.
pub fn read_bytes(name: &str, bytes: &[u8]) -> StorageReading {
    let mut pass = StoragePass::default();
    let part = Part::of(Source { name, group: "", bytes, damage: None });
    if pass.add(&part) {
        pass.trace(&part);
    }
    pass.finish()
}

impl StorageReading {
    /// How much was found.
    fn count(&self) -> [usize; 4] {
        [self.traces.len(), self.drives.len(), self.transitions.len(), self.jobs.len()]
    }

    /// Reads what is no trace. Whether a trace may be there too, and whether settings were.
    fn tables(&mut self, name: &str, bytes: &[u8], format: Format) -> (bool, bool) {
        let dump = bytes.starts_with(b"/sys/");
        let small = bytes.len() <= QUOTED;
        let quotes = small && memchr::memmem::find(bytes, b"/sys/").is_some();
        let quotes = quotes || small && (posted::has_rows(bytes) || knobs::spins(bytes));
        let settings = (dump || quotes) && knobs::read(bytes, &mut self.knobs) > 0;
        if fio::is_fio(bytes) {
            fio::read(name, bytes, &mut self.jobs, &mut self.losses);
        } else if fio::is_log(name, bytes) {
            fio::read_log(name, bytes, &mut self.jobs, &mut self.losses);
        } else if matches!(format, Format::TraceDat | Format::Perfetto) {
            return (true, settings);
        } else {
            // A mail may quote a trace and a table; what is longer is one or the other.
            if small || dump {
                nvme::read(name, bytes, &mut self.drives, &mut self.losses);
                devfreq::read(name, bytes, &mut self.transitions, &mut self.losses);
            }
            if small && fiotext::is_fio_text(bytes) {
                fiotext::read(name, bytes, &mut self.jobs);
            }
            let blkparse = blkparse::is_blkparse(bytes);
            if blkparse {
                self.traces.extend(blkparse::read(name, bytes, &mut self.losses));
            }
            return (!blkparse || small, settings);
        }
        (false, settings)
    }

    /// What else an input is in which nothing was found.
    fn nothing_in(&mut self, name: &str, bytes: &[u8]) {
        let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        let advice = if has("r_await") || has("avgqu-sz") {
            format!(
                "{name} is of iostat, which prints averages alone: no wait can be seen in them. \
                     A trace with the events block shows each request"
            )
        } else if name.ends_with(":metadata") || name.ends_with("/metadata") {
            format!(
                "{name} is of a trace of LTTng in CTF, which is not read: give the text that \
                     babeltrace2 makes of it"
            )
        } else {
            format!(
                "{name} holds nothing about storage that is known here; known are traces with the \
                 events block, rpm, ufs or devfreq, blktrace, fio's JSON, nvme id-ctrl and devfreq's trans_stat"
            )
        };
        self.losses.add("no_storage_data", 1, Severity::Warning, advice, None);
    }

    /// The traces of a recording made by `dormouse record --with storage`, and what sysfs
    /// said before and after.
    fn capture(&mut self, name: &str, file: &CaptureFile) {
        let before = self.traces.len();
        for cycle in &file.cycles {
            for text in [&cycle.idle[0], &cycle.idle[1], &cycle.sysfs] {
                knobs::read(text, &mut self.knobs);
            }
            let number = cycle.stats.number;
            self.trace(&format!("{name}:cycle-{number:04}/trace.txt"), &cycle.trace);
        }
        if self.traces.len() == before {
            let advice = format!(
                "{name} holds no trace with events of storage: dormouse record --with storage makes one"
            );
            self.losses.add("no_storage_data", 1, Severity::Warning, advice, None);
        }
    }

    fn trace(&mut self, name: &str, bytes: &[u8]) {
        let mut losses = Losses::default();
        let traces = parts::read(name, bytes, &mut losses);
        self.traced(traces, losses);
    }

    fn traced(&mut self, traces: Vec<Trace>, losses: Losses) {
        if !traces.is_empty() {
            self.traces.extend(traces);
            self.losses.merge(losses);
        }
    }
}
