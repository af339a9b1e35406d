//! A trace clock that was put back while the machine slept, or while a hibernation's
//! image was made.

use super::Tracker;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;

/// Clocks of CPUs disagree by less.
const FALL: Ns = Ns(1_000_000);
/// Nothing that no event tells of takes longer.
const MAY_RUN: Ns = Ns(20_000_000);

impl Tracker {
    /// Takes out what the ring buffer added to its clock. Newer kernels (7.3)
    /// read the clock while the image is copied or the machine asleep, and the resumed timekeeping goes
    /// back to where it was halted. The ring buffer never goes back: it counts on
    /// from the later time ("Ring buffer clock went backwards",
    /// `rb_add_timestamp`, kernel/trace/ring_buffer.c) until its next page says
    /// the true time. So all that was stamped since `machine_suspend` is late by
    /// the same amount. It is at least so much that `last`, the stamp before the
    /// fall, is not after `time`, the stamp behind it, and that is taken, unless
    /// the time that the copying took is a little more: then it is that, because
    /// something may have run between the two. (The time asleep that the resumed
    /// timekeeping adds makes the fall shorter than the copying.)
    ///
    /// Each CPU has a buffer of its own, and only the one that slept counts on so.
    /// `alone` says that no other has spoken since: else nobody knows which times are
    /// late. (Of a hibernation, which comes back with one CPU, that is not asked.)
    ///
    /// False if this is no such fall.
    pub(crate) fn clock_fell(&mut self, last: Ns, time: Ns, alone: bool) -> bool {
        let Some(c) = self.current.as_deref_mut().filter(|c| (c.disk || alone) && !c.over) else {
            return false;
        };
        let copied = c.cycle.phases.iter().rposition(|p| p.phase == Phase::Asleep);
        let Some((at, from, copying)) = copied.and_then(|at| {
            let span = &c.cycle.phases[at];
            span.complete.then_some((at, span.end, span.end - span.start))
        }) else {
            return false;
        };
        let fell = last - time;
        // Behind a suspend another trace may have been pasted, which begins at any time.
        if !c.disk && (copying - fell).0.abs() > MAY_RUN.0 {
            return false;
        }
        let by = if copying - fell > MAY_RUN { fell } else { copying.max(fell) };
        // The true time is after the image was made.
        if copying == Ns::ZERO || fell < FALL || time < from - by {
            return false;
        }
        let shift = |t: &mut Ns| {
            if *t >= from {
                *t -= by;
            }
        };
        for span in &mut c.cycle.phases[at + 1..] {
            shift(&mut span.start);
            shift(&mut span.end);
        }
        let span = &mut c.cycle.phases[at];
        span.end = span.start.max(from - by);
        for call in &mut c.cycle.callbacks {
            shift(&mut call.start);
            shift(&mut call.end);
            // One that began before the clock was put back ends no earlier.
            call.end = call.end.max(call.start);
        }
        for event in &mut c.cycle.events {
            shift(&mut event.time);
        }
        let (begin, mut previous) = (c.cycle.phases[at].end, Ns::ZERO);
        // The clock may have been halted a moment before the copying.
        for span in &mut c.cycle.phases[at + 1..] {
            span.start = span.start.max(begin).max(previous);
            span.end = span.end.max(span.start);
            previous = span.start;
        }
        c.last = time;
        true
    }
}
