//! One cycle of a side, as it is compared.

use crate::analyse::CycleView;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use std::collections::BTreeMap;

/// One cycle with everything known about it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Where it belongs.
    pub capture: &'a Capture,
    /// Which of the subject's captures that is.
    pub nth_capture: usize,
    /// The cycle.
    pub cycle: &'a Cycle,
    /// Its explanation.
    pub view: &'a CycleView,
}

/// Every device of a capture as it is recognised in others: by name, parent
/// and order. Not by driver: kernels print different things in its place.
pub(super) fn device_names(capture: &Capture) -> Vec<DeviceName<'_>> {
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let graph = &capture.graph;
    graph
        .devices
        .iter()
        .map(|d| {
            let parent = match d.parent.filter(|p| p.index() < graph.devices.len()) {
                Some(p) => graph.get(p).name,
                None => d.parent_name,
            };
            let (name, parent) = (capture.names.get(d.name), capture.names.get(parent));
            let nth = seen.entry((name, parent)).or_default();
            *nth += 1;
            DeviceName { name, parent, nth: *nth }
        })
        .collect()
}

/// A device as it is recognised on every side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceName<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its parent's name; empty for none.
    pub parent: &'a str,
    /// Which of the namesakes below that parent, from 1.
    pub nth: u32,
}
