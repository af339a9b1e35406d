//! Test cycles and their bare trace: for checks that run dozens of boards in
//! one boot, where describing the machine each time would take longest. Also
//! the times of phases beside a recording, to see what recording costs.

use super::system::Result;
use super::system::{read, read_text, write};
use crate::plan::Step;
use std::fs;
use std::path::Path;

const INSTANCE: &str = "/sys/kernel/tracing/instances/bare";
const EVENTS: [&str; 3] = ["suspend_resume", "device_pm_callback_start", "device_pm_callback_end"];

/// What one step gives.
pub(super) struct Seen {
    /// The trace as text.
    pub trace: Vec<u8>,
    /// Lines `name value`.
    pub facts: Vec<u8>,
}

/// The own trace instance, at work.
pub(crate) struct Bare;

impl Bare {
    /// Makes the instance, where it is not there yet, and starts it empty.
    pub(super) fn start(step: &Step) -> Result<Bare> {
        fs::create_dir_all(INSTANCE).map_err(|e| format!("{INSTANCE}: {e}"))?;
        // `mono` stands still while timekeeping is suspended.
        write(&format!("{INSTANCE}/trace_clock"), "boot")?;
        for (n, event) in EVENTS.into_iter().enumerate() {
            let on = if n == 0 || !step.phases { "1" } else { "0" };
            write(&format!("{INSTANCE}/events/power/{event}/enable"), on)?;
        }
        write(&format!("{INSTANCE}/tracing_on"), "0")?;
        write(&format!("{INSTANCE}/buffer_size_kb"), &step.buffer_kb.to_string())?;
        clear()?;
        write(&format!("{INSTANCE}/tracing_on"), "1")?;
        Ok(Bare)
    }

    /// Stops it and gives the text.
    pub(super) fn stop(self) -> Result<Vec<u8>> {
        write(&format!("{INSTANCE}/tracing_on"), "0")?;
        read(Path::new(&format!("{INSTANCE}/trace")))
    }
}

/// Runs the cycles of a step.
pub(super) fn cycles(step: &Step) -> Result<Seen> {
    write("/sys/module/suspend/parameters/pm_test_delay", "0")?;
    write("/sys/power/pm_async", if step.pm_async { "1" } else { "0" })?;
    write("/sys/power/pm_test", step.sleep.pm_test())?;
    if !step.sleep.is_test() {
        return Err("a real sleep is recorded in full only".into());
    }
    let state = if read_text("/sys/power/mem_sleep").contains("deep") {
        write("/sys/power/mem_sleep", "deep")?;
        "mem"
    } else {
        "freeze"
    };
    let bare = Bare::start(step)?;
    let mut errors = String::new();
    for n in 0..step.cycles {
        // A board may hold a callback that fails on purpose, so a cycle that
        // fails is a result, not the end.
        if let Err(e) = write("/sys/power/state", state) {
            errors.push_str(&format!("cycle_error {n} {e}\n"));
        }
    }
    let trace = bare.stop()?;
    let facts = format!(
        "state {state}\nrelease {}\ncmdline {}\ncpus {}\nlost {}\n{errors}",
        read_text("/proc/sys/kernel/osrelease"),
        read_text("/proc/cmdline"),
        read_text("/sys/devices/system/cpu/online"),
        lost_events(),
    );
    Ok(Seen { trace, facts: facts.into_bytes() })
}

/// Empties the buffer: the kernel does it when the file is truncated.
fn clear() -> Result<()> {
    let path = format!("{INSTANCE}/trace");
    fs::File::create(&path).map(drop).map_err(|e| format!("{path}: {e}"))
}

/// Events that did not fit into the buffer, over all CPUs.
fn lost_events() -> u64 {
    let Ok(cpus) = fs::read_dir(format!("{INSTANCE}/per_cpu")) else { return 0 };
    cpus.flatten()
        .map(|cpu| fs::read_to_string(cpu.path().join("stats")).unwrap_or_default())
        .flat_map(|stats| {
            stats
                .lines()
                .filter(|l| l.starts_with("overrun:") || l.starts_with("dropped events:"))
                .filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok())
                .collect::<Vec<_>>()
        })
        .sum()
}
