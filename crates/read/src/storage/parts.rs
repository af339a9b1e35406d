//! One text may hold several traces, and lines that are quoted twice or broken: what
//! stands between the events says which.

use super::loose::{self, Loose};
use super::lttng;
use super::trace::Sink;
use crate::babeltrace;
use crate::event::{EventSink, Kind, Stamp, TraceEvent};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::time::Ns;
use dormouse_storage::recording::Trace;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A gap behind which another trace begins, if something else stands in it, ns: what one
/// person records in one go is shorter.
const GAP: i64 = 600_000_000_000;

/// Times that go back by less are of two CPUs, ns.
const BACK: i64 = 1_000_000;

/// In a text of at most so many bytes a line that was quoted again is known again.
const QUOTED: usize = 1 << 20;

/// Lines that a broken one may go on over.
const MOST_LINES: u32 = 3;

/// What stood between two events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Nothing,
    /// Prose, or a prompt.
    Foreign,
    /// The head of a trace.
    Head,
}

/// An event whose text may go on in the next line.
struct Held {
    time: i64,
    pid: i32,
    comm: Vec<u8>,
    cpu: u32,
    at: u64,
    name: Vec<u8>,
    text: Vec<u8>,
    lines: u32,
}

/// Takes the events of an input, and makes a trace of each part.
pub(crate) struct Parts<'n> {
    name: &'n str,
    sink: Sink,
    done: Vec<Trace>,
    last: Option<i64>,
    between: Between,
    /// Of a text in which lines may be quoted twice: hashes of those seen.
    seen: Option<HashSet<u64>>,
    held: Option<Held>,
    /// Room for the next one that is held.
    spare: Option<Held>,
    /// The time of a line that was broken behind it.
    carried: Option<(i64, u32)>,
    damaged: u64,
    lost: u64,
}

impl<'n> Parts<'n> {
    pub(crate) fn of(name: &'n str, bytes: &[u8]) -> Parts<'n> {
        Parts {
            name,
            sink: Sink::default(),
            done: Vec::new(),
            last: None,
            between: Between::Nothing,
            seen: (bytes.len() <= QUOTED).then(HashSet::new),
            held: None,
            spare: None,
            carried: None,
            damaged: 0,
            lost: 0,
        }
    }

    /// The traces that say something, and what was lost of all.
    pub(crate) fn finish(mut self, losses: &mut Losses) -> Vec<Trace> {
        self.release();
        self.cut();
        let advice =
            "lines of storage events that cannot be understood: compare them with the original";
        losses.add("damaged_line", self.damaged, Severity::Warning, advice, None);
        let advice =
            "the trace buffer was too small: enlarge it (buffer_size_kb), or record fewer events";
        losses.add("lost_events", self.lost, Severity::Error, advice, None);
        if self.done.len() > 1 {
            for (n, t) in self.done.iter_mut().enumerate() {
                t.part = n as u32 + 1;
            }
        }
        self.done
    }

    /// Ends the trace that is under way.
    fn cut(&mut self) {
        let sink = std::mem::take(&mut self.sink);
        self.damaged += sink.damaged;
        self.lost += sink.lost;
        let trace = sink.finish(self.name);
        if trace.speaks() {
            self.done.push(trace);
        }
        self.last = None;
    }

    /// Hands on the event that waited for the rest of its line.
    fn release(&mut self) {
        let Some(h) = self.held.take() else { return };
        let stamp = Stamp { time: Ns(h.time), pid: h.pid, comm: &h.comm, cpu: h.cpu, at: h.at };
        self.whole(stamp, TraceEvent::Other { name: &h.name, text: &h.text });
        self.spare = Some(h);
    }

    /// Keeps an event until the next line says whether it goes on.
    fn hold(&mut self, stamp: &Stamp<'_>, name: &[u8], text: &[u8]) {
        let mut h = self.spare.take().unwrap_or(Held {
            time: 0,
            pid: 0,
            comm: Vec::new(),
            cpu: 0,
            at: 0,
            name: Vec::new(),
            text: Vec::new(),
            lines: 0,
        });
        (h.time, h.pid, h.cpu, h.at, h.lines) = (stamp.time.0, stamp.pid, stamp.cpu, stamp.at, 0);
        for (to, from) in [(&mut h.comm, stamp.comm), (&mut h.name, name), (&mut h.text, text)] {
            to.clear();
            to.extend_from_slice(from);
        }
        self.held = Some(h);
    }

    /// An event of which the whole text is there.
    fn whole(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if let (Some(seen), TraceEvent::Other { name, text }) = (&mut self.seen, event) {
            let mut hasher = DefaultHasher::new();
            (stamp.time.0, stamp.cpu, name, text.trim_ascii()).hash(&mut hasher);
            if !self.sink.timeless && !seen.insert(hasher.finish()) {
                return;
            }
        }
        let time = stamp.time.0;
        if self.sink.timeless && stamp.cpu != u32::MAX && !stamp.comm.is_empty() {
            // A line with all its columns is of a trace with times.
            self.cut();
        }
        if self.between != Between::Nothing
            && let Some(last) = self.last
        {
            let gap = time - last;
            let apart = !(-BACK..GAP).contains(&gap);
            if !self.sink.timeless && (apart || self.between == Between::Head) {
                self.cut();
            }
        }
        self.between = Between::Nothing;
        self.last = Some(self.last.map_or(time, |t| t.max(time)));
        self.sink.event(stamp, event);
    }

    /// An event found by its name; whether it is one.
    fn loose(&mut self, l: &Loose<'_>, at: u64) -> bool {
        let carried = self.carried.take();
        let time = l.time.or(carried.map(|c| c.0));
        // Without times the order is all that is known. Among events that have them it is
        // part of another trace.
        if time.is_none() != self.sink.timeless && self.last.is_some() {
            self.cut();
        }
        self.sink.timeless = time.is_none();
        let cpu = if l.cpu == u32::MAX { carried.map_or(l.cpu, |c| c.1) } else { l.cpu };
        let time = time.unwrap_or_else(|| i64::try_from(at).unwrap_or(0));
        let pid = if l.pid == 0 { i32::try_from(cpu).unwrap_or(0) } else { l.pid };
        let stamp = Stamp { time: Ns(time), pid, comm: b"", cpu, at };
        let known = self.sink.wants(l.name);
        if known {
            self.event(stamp, TraceEvent::Other { name: l.name, text: l.text });
        }
        known
    }
}

/// Whether the text of an event ends as the kernel ends it: another may go on in the next
/// line of a mail.
fn is_whole(name: &[u8], text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let has = |word: &[u8]| crate::text::rfind(text, word).is_some();
    match name {
        _ if name.starts_with(b"block_") => {
            memchr::memrchr(b']', text).is_some() || name.ends_with(b"plug") || has(b"<-")
        }
        b"rpm_return_int" => has(b" ret="),
        b"rpm_status" => has(b"status="),
        _ if name.starts_with(b"rpm_") => has(b"child-") || !has(b" dep-") && has(b" cnt-"),
        // include/trace/events/ufs.h, 4.16 to 6.12.
        b"ufshcd_clk_gating" => has(b" changed to "),
        b"ufshcd_command" => has(b" opcode:"),
        _ if name.starts_with(b"ufshcd_profile_") => has(b" err "),
        _ if name.starts_with(b"ufshcd_") => {
            let ends = |word: &[u8]| name.ends_with(word);
            let timed = ends(b"_suspend") || ends(b"_resume") || ends(b"_init");
            has(if timed { b" err " } else { b": " })
        }
        // include/trace/events/devfreq.h: the load is last; 5.4 has none.
        _ if name.starts_with(b"devfreq_") => has(b" prev_freq=") || has(b" polling_ms="),
        b"clock_enable" | b"clock_disable" | b"clock_set_rate" => has(b" cpu_id="),
        _ if name.starts_with(b"clk_") => !text.is_empty(),
        // include/trace/events/scsi.h and drivers/nvme/host/trace.h.
        b"scsi_dispatch_cmd_start" => has(b" raw="),
        b"scsi_dispatch_cmd_done" | b"scsi_dispatch_cmd_timeout" => has(b" result="),
        b"nvme_setup_cmd" => has(b" cmd=("),
        b"nvme_complete_rq" => has(b" status="),
        _ => true,
    }
}

impl EventSink for Parts<'_> {
    fn wants(&self, name: &[u8]) -> bool {
        self.sink.wants(name)
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn unused(&mut self, kind: Kind, count: u64) {
        self.sink.unused(kind, count);
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        if self.held.is_some() {
            self.release();
        }
        match event {
            TraceEvent::Other { name, text } if !is_whole(name, text) => {
                self.hold(&stamp, name, text);
            }
            _ => self.whole(stamp, event),
        }
    }

    fn text(&mut self, line: &[u8], at: u64) -> bool {
        let line = loose::unquoted(line);
        if line.is_empty() {
            return false;
        }
        if line.starts_with(b"#") {
            if memchr::memmem::find(line, b"tracer:").is_some() {
                self.release();
                self.between = Between::Head;
            }
            return false;
        }
        if let Some(l) = loose::event(line)
            && self.loose(&l, at)
        {
            return true;
        }
        if let Some(h) = &mut self.held {
            h.text.push(b' ');
            h.text.extend_from_slice(line);
            h.lines += 1;
            if h.lines == MOST_LINES || is_whole(&h.name, &h.text) {
                self.release();
            }
            return true;
        }
        // Broken between its time and its name.
        self.carried = line.strip_suffix(b":").and_then(loose::time).map(|t| (t, u32::MAX));
        self.between = self.between.max(Between::Foreign);
        self.carried.is_some()
    }
}

/// Reads the traces of an input of any format.
pub(super) fn read(name: &str, bytes: &[u8], losses: &mut Losses) -> Vec<Trace> {
    let mut parts = Parts::of(name, bytes);
    let is_text = !bytes[..bytes.len().min(4_096)].contains(&0);
    if crate::tracedat::is_trace_dat(bytes) || !is_text {
        crate::events(bytes, &mut parts, losses);
    } else if babeltrace::begins_as_babeltrace(bytes) {
        lttng::read(bytes, &mut parts, losses);
    } else if crate::perfetto::is_perfetto(&bytes[..bytes.len().min(64 << 10)]) {
        crate::events(bytes, &mut parts, losses);
    } else {
        crate::ftrace::events(bytes, &mut parts, losses);
    }
    parts.finish(losses)
}
