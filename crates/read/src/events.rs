//! The events of a trace, whatever its format.

use crate::detect::{Format, detect};
use crate::event::{EventSink, Fan};
use crate::perfetto::PerfettoTrace;
use crate::tracedat::TraceDat;
use dormouse_base::loss::{Losses, Severity};

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
            // Events of system sleep are found whether wanted or not.
            trace.events(&mut Fan::new(&mut [sink]), losses);
        }
        // Traces without system sleep look like any text.
        Format::Ftrace | Format::KernelLog => crate::ftrace::events(bytes, sink, losses),
        Format::CaptureFile | Format::Blktrace | Format::DeviceTree | Format::Unknown => {}
    }
}
