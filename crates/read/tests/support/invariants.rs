//! What must hold of every capture, however broken its input was.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::Outcome;

/// Panics if `capture` contradicts itself.
pub(crate) fn check(capture: &Capture, what: &str) {
    let devices = capture.graph.devices.len();
    for (i, d) in capture.graph.devices.iter().enumerate() {
        if let Some(p) = d.parent {
            assert!(p.index() < devices && p.index() != i, "{what}: parent of device {i}");
        }
    }
    for (n, c) in capture.cycles.iter().enumerate() {
        let what = format!("{what}: cycle {n}");
        assert!(c.start <= c.end, "{what}: it ends before it begins");
        assert!(c.phases.is_sorted_by_key(|p| p.start), "{what}: phases in order");
        assert!(c.callbacks.is_sorted_by_key(|b| b.start), "{what}: callbacks in order");
        for pair in c.phases.windows(2) {
            assert!(
                pair[0].end <= pair[1].start,
                "{what}: {:?} and {:?} overlap",
                pair[0],
                pair[1]
            );
        }
        for p in &c.phases {
            assert!(p.start <= p.end && c.start <= p.start, "{what}: {p:?}");
        }
        for b in &c.callbacks {
            assert!(b.start <= b.end && c.start <= b.start, "{what}: {b:?}");
            assert!(b.device.index() < devices, "{what}: device of {b:?}");
            assert!(usize::from(b.thread.0) < c.threads.len(), "{what}: thread of {b:?}");
            assert!(b.phase.has_devices(), "{what}: phase of {b:?}");
        }
        for e in &c.events {
            assert!(usize::from(e.thread.0) < c.threads.len(), "{what}: thread of {e:?}");
        }
        if let Outcome::AbortedByDevice { device: Some(d), .. } = c.outcome {
            assert!(d.index() < devices, "{what}: device of the outcome");
        }
    }
    for l in &capture.losses.list {
        assert!(l.count > 0 && l.advice.len() > 20, "{what}: loss {l:?}");
        assert!(l.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{what}: {l:?}");
    }
}
