//! Devices of all captures in one table, and names that may be unknown.

use crate::Explained;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::names::Sym;

/// The devices of one capture, as the output numbers them.
#[derive(Clone, Copy)]
pub(super) struct Devices<'a> {
    pub(super) capture: &'a Capture,
    /// Devices of the captures before it.
    pub(super) before: u32,
}

/// One for each capture.
pub(super) fn tables(all: &[Explained]) -> Vec<Devices<'_>> {
    let mut before = 0;
    let mut tables = Vec::with_capacity(all.len());
    for Explained { capture, .. } in all {
        tables.push(Devices { capture, before });
        before += capture.graph.devices.len() as u32;
    }
    tables
}

impl<'a> Devices<'a> {
    /// Its place in `devices` of the output; `None` for a device that is not in
    /// the list.
    pub(super) fn place(&self, id: DeviceId) -> Option<u32> {
        (id.index() < self.capture.graph.devices.len()).then_some(self.before + id.0)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Devices<'a>, DeviceId)> + use<'a> {
        let table = *self;
        (0..table.capture.graph.devices.len() as u32).map(move |i| (table, DeviceId(i)))
    }
}

/// `None` for an empty name.
pub(super) fn text(capture: &Capture, s: Sym) -> Option<&str> {
    some(capture.names.get(s))
}

/// `None` for an empty text.
pub(super) fn some(s: &str) -> Option<&str> {
    Some(s).filter(|s| !s.is_empty())
}
