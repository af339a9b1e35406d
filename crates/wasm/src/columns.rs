//! The callbacks of one cycle as columns.

use crate::names::NameTable;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_base::device::DeviceId;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::path::Reason;
use serde::Serialize;

/// Callbacks of one cycle, in order of start. Times are ticks of `unit`
/// nanoseconds from the start of the cycle.
#[derive(Debug, Serialize)]
pub struct CycleBlock {
    /// Nanoseconds of one tick.
    pub unit: i64,
    /// Threads.
    pub threads: Threads,
    /// Index of the device, less that of the callback before.
    pub device: Vec<i64>,
    /// Index of the phase.
    pub phase: Vec<u8>,
    /// Index of the thread.
    pub thread: Vec<u16>,
    /// Since the start of the previous callback.
    pub start: Vec<i64>,
    /// Duration.
    pub length: Vec<i64>,
    /// Name of the function.
    pub function: Vec<u32>,
    /// How many callbacks before it in this list the one stands that it waited
    /// for; 0 for none.
    pub cause: Vec<i64>,
    /// Why it did not start earlier.
    pub reason: Vec<u8>,
    /// Index and errno of those that failed.
    pub errors: Vec<(u32, i32)>,
    /// Those whose end was not seen.
    pub open: Vec<u32>,
    /// The critical path of every phase.
    pub path: Path,
}

/// Columns, one entry a thread.
#[derive(Debug, Default, Serialize)]
pub struct Threads {
    /// Process id; 0 if not known.
    pub pid: Vec<i32>,
    /// Name.
    pub name: Vec<u32>,
    /// 0 not known, 1 no, 2 yes.
    pub main: Vec<u8>,
}

/// Columns, one entry a segment of a critical path.
#[derive(Debug, Default, Serialize)]
pub struct Path {
    /// Index of the phase.
    pub phase: Vec<u8>,
    /// Index of the callback, less that of the callback before on the path
    /// (-1 at first); 0 for a gap.
    pub callback: Vec<i64>,
    /// Ticks from the end of the segment before.
    pub start: Vec<i64>,
    /// Duration in ticks.
    pub length: Vec<i64>,
    /// Why it did not start earlier: its place in [`Reason::ALL`].
    pub reason: Vec<u8>,
}

/// Which callbacks are on a critical path.
pub fn on_path(cycle: &Cycle, view: &CycleView) -> Vec<bool> {
    let mut on = vec![false; cycle.callbacks.len()];
    for s in view.phases.iter().flat_map(|p| &p.path) {
        if let Some(c) = s.callback.and_then(|c| on.get_mut(c as usize)) {
            *c = true;
        }
    }
    on
}

/// The block of `cycle` with the callbacks `list`; `number` says how a device
/// is called there.
pub fn block(
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    list: &[u32],
    number: &dyn Fn(DeviceId) -> Option<u32>,
    names: &mut NameTable,
) -> CycleBlock {
    let zero = cycle.start;
    let mut new = vec![0u32; cycle.callbacks.len()];
    for (k, &i) in list.iter().enumerate() {
        new[i as usize] = k as u32 + 1;
    }
    let at = |t: Ns| (t - zero).0;
    let mut unit = 0i64;
    for &i in list {
        let cb = &cycle.callbacks[i as usize];
        unit = gcd(gcd(unit, at(cb.start)), at(cb.end));
    }
    for s in view.phases.iter().flat_map(|p| &p.path) {
        unit = gcd(gcd(unit, at(s.start)), at(s.end));
    }
    let unit = unit.max(1);
    let mut b = CycleBlock {
        unit,
        threads: Threads::default(),
        device: Vec::with_capacity(list.len()),
        phase: Vec::with_capacity(list.len()),
        thread: Vec::with_capacity(list.len()),
        start: Vec::with_capacity(list.len()),
        length: Vec::with_capacity(list.len()),
        function: Vec::with_capacity(list.len()),
        cause: Vec::with_capacity(list.len()),
        reason: Vec::with_capacity(list.len()),
        errors: Vec::new(),
        open: Vec::new(),
        path: Path::default(),
    };
    for t in &cycle.threads {
        b.threads.pid.push(t.pid);
        b.threads.name.push(names.add(capture.names.get(t.name)));
        b.threads.main.push(t.is_main.map_or(0, |m| 1 + u8::from(m)));
    }
    let starts = dormouse_sleep::analyse::start::starts(capture, cycle, view);
    let mut before = 0;
    let mut last_device = 0;
    for (k, &i) in list.iter().enumerate() {
        let cb = &cycle.callbacks[i as usize];
        let start = at(cb.start) / unit;
        let device = i64::from(number(cb.device).unwrap_or(0));
        b.device.push(device - last_device);
        last_device = device;
        b.phase.push(cb.phase as u8);
        b.thread.push(cb.thread.0);
        b.start.push(start - before);
        b.length.push(at(cb.end).saturating_sub(at(cb.start)).max(0) / unit);
        b.function.push(names.add(capture.names.get(cb.function)));
        let s = starts.get(i as usize).copied().unwrap_or_default();
        let cause = s.after.map_or(0, |c| i64::from(new[c as usize]));
        b.cause.push(if cause == 0 { 0 } else { k as i64 + 1 - cause });
        b.reason.push(s.reason.unwrap_or(Reason::Unexplained) as u8);
        if cb.error != 0 {
            b.errors.push((k as u32, cb.error));
        }
        if !cb.complete {
            b.open.push(k as u32);
        }
        before = start;
    }
    let (mut last_callback, mut last_end) = (-1, 0);
    for (span, p) in cycle.phases.iter().zip(&view.phases) {
        for s in &p.path {
            b.path.phase.push(span.phase as u8);
            let callback = s.callback.map_or(0, |c| i64::from(new[c as usize])) - 1;
            b.path.callback.push(if callback < 0 { 0 } else { callback - last_callback });
            if callback >= 0 {
                last_callback = callback;
            }
            b.path.start.push(at(s.start) / unit - last_end);
            last_end = at(s.start) / unit + s.duration().0 / unit;
            b.path.length.push(s.duration().0 / unit);
            b.path.reason.push(s.reason as u8);
        }
    }
    b
}

/// The greatest common divisor; `gcd(0, n)` is `n`.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
