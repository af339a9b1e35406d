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
mod loose;
mod lttng;
pub mod measured;
mod nvme;
mod parts;
mod trace;

use crate::container;
use crate::{Input, Options, ReadError};
use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::knobs::Knobs;
use dormouse_storage::levels::{Drive, Transitions};
use dormouse_storage::load::Job;
use dormouse_storage::recording::Trace;
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

/// Reads `inputs`.
///
/// # Errors
/// If an input named by the caller cannot be read or unpacked.
pub fn read(inputs: &[Input], options: &Options) -> Result<StorageReading, ReadError> {
    let mut out = StorageReading::default();
    // blktrace writes a file a CPU: a request may end on another than it began.
    let mut parts: BTreeMap<String, blktrace::Records> = BTreeMap::new();
    for input in inputs {
        container::for_each(input, &options.limits, &mut |source| {
            if let Some(damage) = &source.damage {
                out.losses.add("damaged_input", 1, Severity::Error, damage.to_string(), None);
            }
            if container::is_tar(source.bytes) {
                out.archive(source.name, source.bytes);
            } else if blktrace::is_blktrace(source.bytes) {
                let part = parts.entry(blktrace::series(source.name)).or_default();
                part.read(source.bytes, &mut out.losses);
            } else {
                out.add(source.name, source.bytes);
            }
        })?;
    }
    for (name, records) in parts {
        out.traces.push(records.trace(name));
    }
    Ok(out)
}

/// Reads bytes that are in memory and shown as `name`.
pub fn read_bytes(name: &str, bytes: &[u8]) -> StorageReading {
    let mut out = StorageReading::default();
    if container::is_tar(bytes) {
        out.archive(name, bytes);
    } else if blktrace::is_blktrace(bytes) {
        let mut records = blktrace::Records::default();
        records.read(bytes, &mut out.losses);
        out.traces.push(records.trace(name.into()));
    } else {
        out.add(name, bytes);
    }
    out
}

impl StorageReading {
    fn add(&mut self, name: &str, bytes: &[u8]) {
        let before =
            (self.traces.len(), self.drives.len(), self.transitions.len(), self.jobs.len());
        let dump = bytes.starts_with(b"/sys/");
        let small = bytes.len() <= QUOTED;
        let quotes = small && memchr::memmem::find(bytes, b"/sys/").is_some();
        let settings = (dump || quotes) && knobs::read(bytes, &mut self.knobs) > 0;
        if fio::is_fio(bytes) {
            fio::read(name, bytes, &mut self.jobs, &mut self.losses);
        } else if fio::is_log(name, bytes) {
            fio::read_log(name, bytes, &mut self.jobs, &mut self.losses);
        } else if crate::tracedat::is_trace_dat(bytes)
            || crate::perfetto::is_perfetto(&bytes[..bytes.len().min(64 << 10)])
        {
            self.trace(name, bytes);
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
            if !blkparse || small {
                self.trace(name, bytes);
            }
        }
        let after = (self.traces.len(), self.drives.len(), self.transitions.len(), self.jobs.len());
        if before == after && !settings {
            let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
            let advice = if has("r_await") || has("avgqu-sz") {
                format!(
                    "{name} is of iostat, which prints averages alone: no wait can be seen in them. \
                     A trace with the events block shows each request"
                )
            } else {
                format!(
                    "{name} holds nothing about storage that is known here; known are traces with the \
                 events block, rpm, ufs or devfreq, blktrace, fio's JSON, nvme id-ctrl and devfreq's trans_stat"
                )
            };
            self.losses.add("no_storage_data", 1, Severity::Warning, advice, None);
        }
    }

    /// The traces of a recording made by `dormouse record --with storage`, or of
    /// another archive.
    fn archive(&mut self, name: &str, bytes: &[u8]) {
        let before = self.traces.len();
        let mut ctf = false;
        let mut archive = tar::Archive::new(bytes);
        for entry in archive.entries().into_iter().flatten() {
            let Ok(mut entry) = entry else {
                let advice = "a tar archive that ends early: copy it again";
                self.losses.add("damaged_input", 1, Severity::Error, advice, None);
                break;
            };
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !entry.header().entry_type().is_file() {
                continue;
            }
            // A trace in CTF: streams of packets, and a file that describes them.
            ctf |= path.rsplit('/').next() == Some("metadata");
            // What sysfs said before and after.
            let settings = path.ends_with("sysfs.txt") || path.contains("idle-");
            if !path.contains("trace") && !settings {
                continue;
            }
            let mut member = Vec::new();
            // A member is never longer than its archive.
            let mut room = std::io::Read::take(&mut entry, bytes.len() as u64);
            if std::io::Read::read_to_end(&mut room, &mut member).is_ok() {
                if settings {
                    knobs::read(&member, &mut self.knobs);
                } else {
                    self.trace(&format!("{name}:{path}"), &member);
                }
            }
        }
        if self.traces.len() == before {
            let advice = match ctf {
                true => format!(
                    "{name} is a trace of LTTng in CTF, which is not read: give the text that \
                     babeltrace2 makes of it"
                ),
                false => format!(
                    "{name} holds no trace with events of storage: dormouse record --with storage makes one"
                ),
            };
            self.losses.add("no_storage_data", 1, Severity::Warning, advice, None);
        }
    }

    fn trace(&mut self, name: &str, bytes: &[u8]) {
        let mut losses = Losses::default();
        let traces = trace::read(name, bytes, &mut losses);
        if !traces.is_empty() {
            self.traces.extend(traces);
            self.losses.merge(losses);
        }
    }
}
