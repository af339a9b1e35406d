//! Cycles that fit on a screen, for tests.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::*;
use dormouse_base::device::*;
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;

pub(crate) const MAIN: u16 = 0;

/// A capture with the devices `(name, parent)` in list order, a main thread and
/// `workers` worker threads, and one cycle without phases.
pub(crate) fn capture(devices: &[(&str, Option<usize>)], workers: u16) -> Capture {
    let mut c = Capture::default();
    for (name, parent) in devices {
        let name = c.names.add(name);
        let parent = parent.map(|p| DeviceId(p as u32));
        let parent_name = parent.map_or_else(Default::default, |p| c.graph.get(p).name);
        c.graph.push(Device { name, parent, parent_name, ..Device::default() });
    }
    c.graph.order_known = true;
    let mut cycle = Cycle { outcome: Outcome::Slept, ..Cycle::default() };
    for i in 0..=workers {
        let name = c.names.add(&std::format!("t{i}"));
        cycle.threads.push(Thread { pid: i.into(), name, is_main: Some(i == 0) });
    }
    cycle.kernel = c.names.add("6.12.0");
    c.cycles.push(cycle);
    c
}

pub(crate) fn phase(c: &mut Capture, phase: Phase, start: i64, end: i64) {
    let span = PhaseSpan {
        phase,
        event: PmEvent::Suspend,
        start: Ns(start),
        end: Ns(end),
        cpu: 0,
        complete: true,
        printed: None,
    };
    let cycle = &mut c.cycles[0];
    cycle.phases.push(span);
    cycle.phases.sort_by_key(|p| p.start);
    cycle.end = cycle.end.max(Ns(end));
}

pub(crate) fn callback(
    c: &mut Capture,
    device: usize,
    phase: Phase,
    thread: u16,
    start: i64,
    end: i64,
) {
    let cb = Callback {
        device: DeviceId(device as u32),
        phase,
        event: PmEvent::Suspend,
        thread: ThreadId(thread),
        function: Default::default(),
        start: Ns(start),
        end: Ns(end),
        error: 0,
        complete: true,
    };
    c.cycles[0].callbacks.push(cb);
    c.cycles[0].callbacks.sort_by_key(|cb| cb.start);
}
