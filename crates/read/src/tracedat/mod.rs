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
mod error;
mod expr;
mod format;
mod header;
mod merge;
mod opened;
mod printfmt;
mod ring;
mod sections;
mod symbols;
mod unpack;
mod word;

pub use error::TraceDatError;

use crate::event::{EventSink, Fan, of_system_sleep};
use crate::track::Tracker;
use dormouse_base::loss::{Losses, Severity};
use std::borrow::Cow;

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
pub(crate) fn is_trace_dat(head: &[u8]) -> bool {
    head.starts_with(header::MAGIC)
}

/// Reads a whole file into cycles. A file that cannot be read at all is a loss
/// like any other damage.
pub fn parse(bytes: &[u8], tracker: &mut Tracker) {
    whole(bytes, tracker, None);
}

/// The same, and hands to `others` what they want; what was lost.
pub(crate) fn parse_with(
    bytes: &[u8],
    tracker: &mut Tracker,
    others: &mut dyn EventSink,
) -> Losses {
    whole(bytes, tracker, Some(others))
}

fn whole(bytes: &[u8], tracker: &mut Tracker, mut others: Option<&mut dyn EventSink>) -> Losses {
    let mut losses = Losses::default();
    let wants =
        |name: &[u8]| of_system_sleep(name) || others.as_ref().is_some_and(|o| o.wants(name));
    match TraceDat::open_for(bytes, &wants, &mut losses) {
        Ok(file) => {
            let info = file.info().clone();
            // `Linux HOST RELEASE MACHINE`, as uname(2) has them.
            if let Some(release) = info.uname.split_whitespace().nth(2) {
                tracker.set_kernel(release.as_bytes());
            }
            match &mut others {
                Some(o) => file.events(&mut Fan::new(&mut [tracker, &mut **o]), &mut losses),
                None => file.events(tracker, &mut losses),
            }
            match (info.text, others) {
                (Some(text), Some(o)) => _ = crate::ftrace::parse_with(&text, tracker, o),
                (Some(text), None) => crate::ftrace::parse(&text, tracker),
                (None, _) => {}
            }
        }
        Err(e) => {
            losses.add("unreadable_trace_dat", 1, Severity::Error, e.to_string(), None);
        }
    }
    tracker.losses().merge(losses.clone());
    losses
}

/// A file whose tables were read.
pub struct TraceDat<'a> {
    info: TraceInfo<'a>,
    readers: Vec<ring::CpuReader<'a>>,
    decoder: decode::Decoder<'a>,
    budget: unpack::Budget,
}

impl<'a> TraceDat<'a> {
    /// Reads the tables of a file.
    ///
    /// # Errors
    /// If the file is another one, or its tables are cut or damaged.
    pub fn open(data: &'a [u8], losses: &mut Losses) -> Result<TraceDat<'a>, TraceDatError> {
        TraceDat::open_for(data, &of_system_sleep, losses)
    }

    /// The same, for events that somebody `wants`.
    ///
    /// # Errors
    /// As [`TraceDat::open`].
    pub(crate) fn open_for(
        data: &'a [u8],
        wants: &dyn Fn(&[u8]) -> bool,
        losses: &mut Losses,
    ) -> Result<TraceDat<'a>, TraceDatError> {
        let mut header = opened::read(data, wants, losses)?;
        let mut budget = unpack::Budget::for_file(data.len());
        let decoder = decode::Decoder::new(&mut header, &mut budget, losses);
        let counts_time = !matches!(&*header.clock, "counter" | "x86-tsc" | "ppc-tb");
        if !counts_time && header.tsc.is_none() {
            let advice = "the trace clock is a counter, so times are shown as if a tick were 1 ns: \
                          use the boot clock (trace-cmd record -C boot)";
            losses.add("clock_without_unit", 1, Severity::Error, advice, None);
        }
        let readers = (header.cpus.iter())
            .map(|c| ring::CpuReader::new(c, header.endian, header.page, header.tsc))
            .collect();
        let info = TraceInfo { clock: header.clock, uname: header.uname, text: header.text };
        Ok(TraceDat { info, readers, decoder, budget })
    }

    /// What the file says beside its events.
    pub fn info(&self) -> &TraceInfo<'a> {
        &self.info
    }

    /// Hands all events to `sink` in order of time.
    pub fn events(mut self, sink: &mut dyn EventSink, losses: &mut Losses) {
        let (mut latest, mut backwards) = (0, 0);
        let decoder = &mut self.decoder;
        merge::merge(&mut self.readers, &mut self.budget, losses, |r, losses| {
            let current = r.current();
            backwards += u64::from(current.time < latest);
            latest = latest.max(current.time);
            let at = r.file_offset();
            if let Some(count) = current.lost {
                decoder.lost(current.time, r.cpu, at, count, sink);
            }
            decoder.record(r.record(), (current.time, r.cpu, at), sink, losses);
        });
        let advice = "time stamps run backwards: use the boot clock (trace-cmd record -C boot)";
        losses.add("time_backwards", backwards, Severity::Warning, advice, None);
    }
}
