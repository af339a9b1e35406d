//! `show --csv`: one line for each callback (RFC 4180).

use crate::{Explained, Selection};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::device::DeviceId;
use dormouse_sleep::analyse::CycleView;
use std::collections::HashMap;
use std::io;

/// The columns, in order.
pub(crate) const COLUMNS: [&str; 19] = [
    "cycle",
    "source",
    "kernel",
    "mode",
    "phase",
    "direction",
    "device",
    "driver",
    "parent",
    "async",
    "function",
    "thread",
    "pid",
    "start_ns",
    "end_ns",
    "error",
    "complete",
    "critical_ns",
    "reason",
];

/// Writes a heading and one line a callback.
///
/// # Errors
/// If `out` cannot be written.
pub fn show(all: &[Explained], selection: &Selection, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{}\r", COLUMNS.join(","))?;
    for (number, e, i) in selection.cycles(all) {
        cycle(number, &e.capture, &e.capture.cycles[i], &e.views[i], selection, out)?;
    }
    Ok(())
}

fn cycle(
    number: usize,
    capture: &Capture,
    cycle: &Cycle,
    view: &CycleView,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let path: HashMap<u32, _> = view
        .phases
        .iter()
        .flat_map(|p| &p.path)
        .filter_map(|s| s.callback.map(|c| (c, s)))
        .collect();
    for (c, cb) in cycle.callbacks.iter().enumerate() {
        if !selection.phases.is_empty() && !selection.phases.contains(&cb.phase) {
            continue;
        }
        let on = path.get(&(c as u32));
        let (thread, pid) = thread(capture, cycle, cb);
        let device = capture.graph.devices.get(cb.device.index());
        let fields = [
            number.to_string(),
            cell(capture.names.get(cycle.source)),
            cell(capture.names.get(cycle.kernel)),
            cycle.mode.name().to_string(),
            cb.phase.name().to_string(),
            cb.phase.direction().name().to_string(),
            cell(name(capture, cb.device)),
            cell(device.map_or("", |d| capture.names.get(d.driver))),
            cell(parent(capture, cb.device).unwrap_or("")),
            device.and_then(|d| d.async_flag).map_or(String::new(), |a| a.to_string()),
            cell(capture.names.get(cb.function).trim_end()),
            cell(thread),
            if pid == 0 { String::new() } else { pid.to_string() },
            cb.start.0.to_string(),
            cb.end.0.to_string(),
            cb.error.to_string(),
            cb.complete.to_string(),
            on.map_or(0, |s| s.duration().0).to_string(),
            on.map_or(String::new(), |s| s.reason.name().to_string()),
        ];
        writeln!(out, "{}\r", fields.join(","))?;
    }
    Ok(())
}

fn name(capture: &Capture, id: DeviceId) -> &str {
    capture.graph.devices.get(id.index()).map_or("", |d| capture.names.get(d.name))
}

/// Name of the parent, as the graph or the source has it.
fn parent(capture: &Capture, id: DeviceId) -> Option<&str> {
    let d = capture.graph.devices.get(id.index())?;
    let graph = d.parent.map(|p| name(capture, p));
    graph.filter(|n| !n.is_empty()).or_else(|| Some(capture.names.get(d.parent_name)))
}

/// Name and pid of the thread of `cb`; empty and 0 if the source has none.
fn thread<'a>(capture: &'a Capture, cycle: &Cycle, cb: &Callback) -> (&'a str, i32) {
    let thread = cycle.threads.get(usize::from(cb.thread.0));
    thread.map_or(("", 0), |t| (capture.names.get(t.name), t.pid))
}

/// Quoted where it must be. A name that a spreadsheet would run as a formula
/// is quoted with an apostrophe in front, as spreadsheets themselves do.
pub(crate) fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_string() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(cell("usb1"), "usb1");
        assert_eq!(cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(cell("=cmd()"), "'=cmd()");
    }
}
