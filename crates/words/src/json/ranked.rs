//! `ranked` of `show --json`: durations without a schedule.

use super::emit::Emit;
use super::table::{Devices, text};
use dormouse_base::ranked::Ranking;

/// Columns of a callback.
pub(crate) const CALLBACK: [&str; 6] =
    ["device", "function", "direction", "phase", "duration_ns", "error"];

/// Columns of what a device saves at most.
pub(super) const DEVICE: [&str; 2] = ["device", "saves_at_most_ns"];

/// One list.
pub(super) fn fields(w: &mut Emit<'_>, devices: &Devices<'_>, list: &Ranking) {
    let capture = devices.capture;
    w.field("source", text(capture, list.source));
    w.field("kernel", text(capture, list.kernel));
    w.field("line", list.at);
    w.rows("callbacks", &list.rows, |w, r| {
        w.value(devices.place(r.device));
        w.value(text(capture, r.function));
        w.value(r.direction.map(|d| d.name()));
        w.value(r.phase.map(|p| p.name()));
        w.value(r.took.0);
        w.value(r.error);
    });
    w.rows("devices", list.devices(), |w, (id, bound)| {
        w.value(devices.place(id));
        w.value(bound.0);
    });
}
