//! trace-cmd's binary `trace.dat`, versions 6 and 7.
//!
//! The file describes itself: byte order, word size, page layout and the
//! format of every event come from the kernel that was traced. Reading is
//!
//! 1. [`header`] (version 7: [`sections`]): tables, and where each CPU's data lie;
//! 2. [`ring`]: the records of one CPU, page by page (chunks unpacked on demand);
//! 3. [`merge`]: all CPUs in order of time;
//! 4. [`decode`]: a record becomes a [`crate::event::TraceEvent`]; events other
//!    than those of power management keep the text that `trace` shows
//!    ([`printfmt`]).
//!
//! Nothing is copied from an uncompressed file, and memory does not grow with
//! the number of records. The format is documented in trace-cmd.dat.v6(5) and
//! trace-cmd.dat.v7(5).

mod bytes;
mod decode;
mod expr;
mod format;
mod header;
mod merge;
mod printfmt;
mod ring;
mod sections;
mod symbols;
mod unpack;

use crate::event::EventSink;
use dormouse_core::loss::{Losses, Severity};
use std::borrow::Cow;

/// Why a file cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceDatError {
    /// The first bytes are not trace-cmd's.
    #[error("not a trace.dat file: it does not begin with trace-cmd's magic number")]
    NotTraceDat,
    /// Another version.
    #[error(
        "trace.dat version {0} is not supported (6 and 7 are): convert it with trace-cmd convert"
    )]
    Version(u32),
    /// The tables at the begin are incomplete.
    #[error(
        "trace.dat ends at byte {at} within its {what}: copy the file again or record it again"
    )]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Size of the file.
        at: u64,
    },
    /// A number no real file has.
    #[error("trace.dat is damaged: its {what} is {value}; copy the file again or record it again")]
    Implausible {
        /// What was being read.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// A part is not where it must be.
    #[error("trace.dat is damaged: its {what} is missing; copy the file again or record it again")]
    Missing {
        /// Which part.
        what: &'static str,
    },
    /// Packed with something else.
    #[error(
        "trace.dat is compressed with {name:?} (zlib and zstd are known): convert it with \
         trace-cmd convert --compression none"
    )]
    Compression {
        /// Name in the file.
        name: String,
    },
    /// Option sections refer to each other in a circle.
    #[error("trace.dat is damaged: its options at byte {at} refer back to themselves")]
    OptionLoop {
        /// Offset in the file.
        at: u64,
    },
    /// Kernels before 2.6.30.
    #[error("trace.dat is from a kernel before 2.6.30, whose ring buffer format is not supported")]
    OldRingBuffer,
}

/// What the file says beside its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo<'a> {
    /// The trace clock, such as `local` or `boot`; empty if not said.
    pub clock: String,
    /// `uname` of the machine; empty if not said.
    pub uname: String,
    /// A `trace` text in the file (latency tracers), for the reader of texts.
    pub text: Option<Cow<'a, [u8]>>,
}

/// Whether `head`, the begin of a file, is trace-cmd's.
pub fn is_trace_dat(head: &[u8]) -> bool {
    head.starts_with(header::MAGIC)
}

/// Whether events of this name are of use: power management, and what explains
/// the time between its callbacks.
pub fn is_kept(name: &[u8]) -> bool {
    matches!(
        name,
        b"suspend_resume" | b"device_pm_callback_start" | b"device_pm_callback_end" | b"cpu_idle"
    ) || [&b"sched_"[..], b"workqueue_", b"rpm_", b"block_"].iter().any(|p| name.starts_with(p))
}

/// Reads a whole file and hands its events to `sink` in order of time.
pub fn read<'a>(
    data: &'a [u8],
    sink: &mut dyn EventSink,
    losses: &mut Losses,
) -> Result<TraceInfo<'a>, TraceDatError> {
    let mut header = header::read(data, losses)?;
    let mut budget = unpack::Budget::for_file(data.len());
    let mut decoder = decode::Decoder::new(&mut header, &mut budget, losses)?;
    let counts_time = !matches!(&*header.clock, "counter" | "x86-tsc" | "ppc-tb");
    if !counts_time && header.tsc.is_none() {
        let advice = "the trace clock does not count nanoseconds, so all times are in its own \
                      unit: record with trace-cmd record -C boot";
        losses.add("clock_not_in_nanoseconds", 1, Severity::Error, advice, None);
    }
    let mut readers: Vec<_> = (header.cpus.iter())
        .map(|c| ring::CpuReader::new(c, header.endian, header.page, header.tsc))
        .collect();
    merge::merge(&mut readers, &mut budget, losses, |r, losses| {
        let current = r.current();
        let at = r.file_offset();
        if let Some(count) = current.lost {
            decoder.lost(current.time, r.cpu, at, count, sink);
        }
        decoder.record(r.record(), (current.time, r.cpu, at), sink, losses);
    });
    Ok(TraceInfo { clock: header.clock, uname: header.uname, text: header.text })
}
