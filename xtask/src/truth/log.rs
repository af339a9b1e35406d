//! A recording of the laboratory as the kernel log that a user would have sent
//! of it: `initcall_debug` or `pm_print_times`, and the messages of the PM core.
//!
//! Kernels print a line before and after each callback of the six middle phases
//! (`dpm_run_callback` in drivers/base/power/main.c, 6.1 to 7.3) and none in
//! prepare and complete. So the log has no link, no flag, no list order, and no
//! device without callbacks but as the name of a parent. Times are cut to
//! microseconds, as printk and the callback timer do.

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use std::fmt::Write as _;

/// Where the clock of the log stands when the first cycle begins: a kernel does
/// not sleep before it has come up.
const UP: Ns = Ns(30_000_000_000);

/// Lines of one moment come in the order of their phases, those of the phase itself
/// after its callbacks: recordings have microseconds, and many callbacks take none.
struct Lines {
    list: Vec<(Ns, Phase, bool, String)>,
}

impl Lines {
    fn add(&mut self, at: Ns, phase: Phase, text: impl Into<String>) {
        self.list.push((at, phase, true, text.into()));
    }

    fn callback(&mut self, at: Ns, phase: Phase, text: String) {
        self.list.push((at, phase, false, text));
    }
}

/// The log of the cycles of `capture` that `keep` (asked for their number).
pub(crate) fn log(capture: &Capture, keep: impl Fn(usize) -> bool) -> String {
    let cycles = || capture.cycles.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, c)| c);
    let Some(first) = cycles().next() else { return String::new() };
    let (from, release) = (first.start, capture.names.get(first.kernel));
    let mut out = format!("[    0.000000] Linux version {release}\n");
    if let Some(cpus) = capture.machine.cpus {
        let _ = writeln!(out, "[    0.200000] smp: Brought up 1 node, {cpus} CPUs");
    }
    for cycle in cycles() {
        let mut lines = Lines { list: Vec::new() };
        entry(cycle, &mut lines);
        callbacks(capture, cycle, &mut lines);
        phases(cycle, &mut lines);
        lines.list.sort_by_key(|l| (l.0, l.1, l.2));
        for (at, _, _, text) in &lines.list {
            let us = (*at - from + UP).0 / 1000;
            let _ = writeln!(out, "[{:5}.{:06}] {text}", us / 1_000_000, us % 1_000_000);
        }
    }
    out
}

/// From the word of the user to the first callback.
fn entry(cycle: &Cycle, lines: &mut Lines) {
    lines.add(cycle.start, Phase::Sync, "PM: suspend entry (deep)");
    let devices = cycle.phases.iter().find(|p| p.phase.has_devices()).map(|p| p.start);
    let frozen = devices.unwrap_or(cycle.start);
    lines.add(frozen, Phase::Freeze, "Freezing user space processes");
    lines.add(
        frozen,
        Phase::Freeze,
        "Freezing user space processes completed (elapsed 0.000 seconds)",
    );
    lines.add(frozen, Phase::Freeze, "OOM killer disabled.");
    lines.add(frozen, Phase::Freeze, "Freezing remaining freezable tasks");
    lines.add(
        frozen,
        Phase::Freeze,
        "Freezing remaining freezable tasks completed (elapsed 0.000 seconds)",
    );
}

/// Both lines of each callback.
fn callbacks(capture: &Capture, cycle: &Cycle, lines: &mut Lines) {
    let name = |s| capture.names.get(s);
    for c in cycle.callbacks.iter().filter(|c| c.phase.may_be_async() && c.complete) {
        let device = capture.graph.get(c.device);
        let pid = cycle.threads.get(usize::from(c.thread.0)).map_or(0, |t| t.pid);
        let owner = format!("{} {}", name(device.driver), name(device.name));
        let parent = match name(device.parent_name) {
            "" => "none",
            parent => parent,
        };
        let function = function(c);
        lines.callback(
            c.start,
            c.phase,
            format!("{owner}: PM: calling {function} @ {pid}, parent: {parent}"),
        );
        let took = c.duration().0 / 1000;
        let returned = format!("{owner}: PM: {function} returned {} after {took} usecs", c.error);
        lines.callback(c.end, c.phase, returned);
    }
}

/// A name that says the phase, as most drivers' do.
fn function(c: &Callback) -> &'static str {
    match c.phase {
        Phase::Suspend => "device_suspend+0x0/0x40",
        Phase::Late => "device_suspend_late+0x0/0x40",
        Phase::Noirq => "device_suspend_noirq+0x0/0x40",
        Phase::ResumeNoirq => "device_resume_noirq+0x0/0x40",
        Phase::ResumeEarly => "device_resume_early+0x0/0x40",
        _ => "device_resume+0x0/0x40",
    }
}

/// What the PM core prints at the end of each phase (`dpm_show_time`), of each
/// CPU, and at the end.
fn phases(cycle: &Cycle, lines: &mut Lines) {
    let mut cpus = Vec::new();
    for span in &cycle.phases {
        if let Phase::CpuOff | Phase::CpuOn = span.phase
            && !cpus.contains(&span.phase)
        {
            cpus.push(span.phase);
            let doing = if span.phase == Phase::CpuOff { "Disabling" } else { "Enabling" };
            lines.add(span.start, span.phase, format!("{doing} non-boot CPUs ..."));
        }
        let what = match span.phase {
            Phase::Suspend => "suspend",
            Phase::Late => "late suspend",
            Phase::Noirq => "noirq suspend",
            Phase::ResumeNoirq => "noirq resume",
            Phase::ResumeEarly => "early resume",
            Phase::Resume => "resume",
            Phase::CpuOff => {
                lines.add(
                    span.end,
                    span.phase,
                    format!("smpboot: CPU {} is now offline", span.cpu),
                );
                continue;
            }
            Phase::CpuOn => {
                lines.add(span.end, span.phase, format!("CPU{} is up", span.cpu));
                continue;
            }
            _ => continue,
        };
        let us = span.duration().0 / 1000;
        let took = format!("{}.{:03}", us / 1000, us % 1000);
        lines.add(
            span.end,
            span.phase,
            format!("PM: {what} of devices complete after {took} msecs"),
        );
    }
    let up = |p: &&dormouse_base::cycle::PhaseSpan| p.phase.direction() == Direction::Resume;
    let end = cycle.phases.iter().filter(up).map(|p| p.end).max().unwrap_or(cycle.end);
    lines.add(end, Phase::Thaw, "OOM killer enabled.");
    lines.add(end, Phase::Thaw, "Restarting tasks ... done.");
    lines.add(end, Phase::Thaw, "PM: suspend exit");
}
