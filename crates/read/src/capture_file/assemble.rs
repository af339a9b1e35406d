//! From a capture file to a capture.

use super::count;
use super::merge;
use crate::merge::place_sleep;
use crate::part::Taken;
use crate::track::Tracker;
use dormouse_base::capture::Capture;
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::time::Ns;
use dormouse_capture::schema::CaptureFile;
use std::borrow::Cow;
use std::collections::HashMap;

/// What a capture file that was taken apart shows, with `name`. A file that cannot be
/// used gives a capture without cycles whose losses say why.
pub(crate) fn capture(name: &str, taken: &Taken, damage: Option<Cow<'static, str>>) -> Capture {
    let mut losses = Losses::default();
    if let Some(damage) = damage {
        losses.add("damaged_input", 1, Severity::Error, damage, None);
    }
    match taken {
        Ok((file, found)) => {
            losses.merge(found.clone());
            assemble(name, file, losses)
        }
        Err(e) => {
            losses.add("capture_unreadable", 1, Severity::Error, e.to_string(), None);
            Capture { losses, ..Capture::default() }
        }
    }
}

/// The cycles, devices and links of `file`.
pub fn assemble(name: &str, file: &CaptureFile, losses: Losses) -> Capture {
    let mut tracker = Tracker::new();
    tracker.losses().merge(losses);
    merge::add_devices(file, &mut tracker);
    // Cycles are known again by their source after the tracker ordered them.
    let mut numbers = HashMap::new();
    for cycle in &file.cycles {
        let number = cycle.stats.number;
        let trace = format!("{name}/cycle-{number:04}/trace.txt");
        let log = format!("{name}/cycle-{number:04}/dmesg.txt");
        // The clocks of the trace and the log part while the machine sleeps;
        // the stamp says that they are of one cycle.
        let stamp = format!("{name} {number}");
        let before = tracker.cycles();
        tracker.begin_source(&trace);
        tracker.set_stamp(stamp.as_bytes());
        crate::ftrace::parse(&cycle.trace, &mut tracker);
        tracker.end_source();
        if file.document.trace_clock == "boot" {
            // The kernel log says it too, cut to milliseconds.
            tracker.slept(before, Ns(cycle.stats.clocks.monotonic_stood_still()));
        }
        tracker.begin_source(&log);
        tracker.set_stamp(stamp.as_bytes());
        crate::klog::parse(&cycle.dmesg, &mut tracker);
        tracker.end_source();
        if tracker.cycles() == before {
            tracker.losses().add(
                "cycle_without_events",
                1,
                Severity::Warning,
                "an attempt to sleep left no trace events; its stats.json has the error number",
                Some(u64::from(number)),
            );
        }
        numbers.insert(trace, cycle);
        numbers.insert(log, cycle);
    }
    let mut capture = tracker.finish();
    let kernel = capture.names.add(&file.document.kernel.release);
    for cycle in &mut capture.cycles {
        if let Some(members) = numbers.get(capture.names.get(cycle.source)) {
            let stats = &members.stats;
            merge::apply_stats(stats, kernel, &mut capture.names, cycle);
            // A guest of the laboratory has a wall clock of its own.
            let real = file.document.lab.is_none() && stats.clocks.realtime_before > 0;
            cycle.began = real.then_some(Ns(stats.clocks.realtime_before));
            if file.document.trace_clock == "boot" {
                place_sleep(Ns(stats.clocks.monotonic_stood_still()), cycle);
            }
            let seen = count::machinery(&members.trace);
            let counts = &mut cycle.counts;
            // The recorder's own figure is of the whole system.
            counts.workers_created = seen.workers_created.or(counts.workers_created);
            counts.workers_at_once = seen.workers_at_once;
            counts.parked_at_once = seen.parked_at_once;
            counts.blocked_waits = seen.blocked_waits;
            counts.wakeups = seen.wakeups;
            counts.context_switches = seen.switches;
            cycle.source = capture.names.add(&format!("{name}#{}", stats.number));
        }
    }
    merge::merge(file, &mut capture);
    capture
}
