//! Perfetto traces: protobuf, of which only ftrace events matter here.
//!
//! 1. [`wire`]: the protobuf wire format, a field at a time;
//! 2. [`scan`]: passes packets by their length, lists events of power
//!    management; then a second time the others, but only those that lie
//!    between the first and the last of the former;
//! 3. [`events`]: sorts by time (bundles are by CPU) and decodes.
//!
//! No schema is compiled in: a handful of field numbers, fixed by Perfetto's
//! public protos, is all that is needed, and traces with gigabytes of other
//! packets are passed at the speed of memory.

mod events;
mod scan;
mod text;
mod wire;

use crate::event::{EventSink, Fan, is_kept};
use crate::track::Tracker;
use dormouse_base::loss::Losses;

/// Whether a file that begins with `head` is a Perfetto trace.
///
/// The format has no magic number: a file is a sequence of packets, each tag 1
/// with a length. So the first packets must be whole messages themselves; text
/// that begins with a line break, the byte of that tag, is not.
pub fn is_perfetto(head: &[u8]) -> bool {
    /// Packets looked at.
    const ENOUGH: usize = 4;
    let mut rest = head;
    for i in 0..ENOUGH {
        if rest.is_empty() {
            return i > 0;
        }
        let Some((packet, size, after)) = wire::begin_of_field(rest, 1) else { return false };
        if packet.len() < size {
            // Cut, or longer than what is looked at.
            return wire::begins_message(packet, size);
        }
        let mut fields = wire::Fields::new(packet);
        if size == 0 || fields.by_ref().count() == 0 || fields.damaged {
            return false;
        }
        rest = after;
    }
    true
}

/// A trace whose events were found.
#[derive(Debug)]
pub struct PerfettoTrace<'a> {
    file: &'a [u8],
    found: scan::Found,
}

impl<'a> PerfettoTrace<'a> {
    /// Finds the events in a trace that matter for system sleep. Damage is
    /// counted, never fatal.
    pub fn open(file: &'a [u8], losses: &mut Losses) -> PerfettoTrace<'a> {
        PerfettoTrace::open_for(file, &is_kept, false, losses)
    }

    /// Finds the events of power management and those beside it that somebody
    /// `wants`; between the first and the last of the former, or at `all_times`.
    pub(crate) fn open_for(
        file: &'a [u8],
        wants: &dyn Fn(&[u8]) -> bool,
        all_times: bool,
        losses: &mut Losses,
    ) -> PerfettoTrace<'a> {
        let mut found = scan::Found::default();
        scan::scan(file, &scan::Look::Power, &mut found, losses);
        let times = found.items.iter().map(|i| i.time);
        let times = match (times.clone().min(), times.max()) {
            _ if all_times => Some(0..=u64::MAX),
            (Some(first), Some(last)) => Some(first..=last),
            _ => None,
        };
        if let Some(times) = times {
            let wanted = text::wanted(wants);
            scan::scan(file, &scan::Look::Side { times, wanted, all_times }, &mut found, losses);
        }
        PerfettoTrace { file, found }
    }

    /// The kernel release; empty if the trace does not say.
    pub fn release(&self) -> &[u8] {
        &self.found.release
    }

    /// Hands all events to `sink` in order of time.
    pub fn events(mut self, sink: &mut dyn EventSink, losses: &mut Losses) {
        self.found.unused().tell(sink);
        events::emit(&mut self.found, self.file, sink, losses);
    }
}

/// Reads a whole trace into cycles.
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

fn whole(bytes: &[u8], tracker: &mut Tracker, others: Option<&mut dyn EventSink>) -> Losses {
    let mut losses = Losses::default();
    let wants = |name: &[u8]| is_kept(name) || others.as_ref().is_some_and(|o| o.wants(name));
    let all_times = others.as_ref().is_some_and(|o| o.wants_all_times());
    let trace = PerfettoTrace::open_for(bytes, &wants, all_times, &mut losses);
    if !trace.release().is_empty() {
        tracker.set_kernel(trace.release());
    }
    match others {
        Some(others) => trace.events(&mut Fan::new(&mut [tracker, others]), &mut losses),
        None => trace.events(tracker, &mut losses),
    }
    tracker.losses().merge(losses.clone());
    losses
}
