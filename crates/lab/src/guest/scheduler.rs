//! The readiness scheduler in the place of the kernel's own walk of devices.

use super::system::Result;
use super::system::{load_module_with, read_text, unload_module, write};
use crate::plan::SCHEDULER_MODULE;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "dormouse_scheduler";
const PATCH: &str = "/sys/kernel/livepatch/dormouse_scheduler";
const FIGURES: &str = "/sys/kernel/dormouse_scheduler";

/// Files of each phase, and of the whole.
const PHASES: [&str; 6] =
    ["suspend", "suspend_late", "suspend_noirq", "resume_noirq", "resume_early", "resume"];
const OF_PHASE: [&str; 8] =
    ["devices", "relays", "pool", "main", "serial", "graph_ns", "wait_ns", "waited_for"];
const OF_ALL: [&str; 5] = ["builds", "reuses", "walks", "workers", "peak"];

/// Looks for the end of a transition this often, and gives up after so many looks.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 3_000;

/// Waits until every task runs the new functions, or the old ones again.
fn settled(done: impl Fn() -> bool) -> Result<()> {
    for _ in 0..LOOKS {
        if done() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(format!("{PATCH}: the transition does not end"))
}

/// Loads it and waits until it is in force.
pub(super) fn on(dir: &Path, parameters: &str) -> Result<()> {
    load_module_with(&dir.join(SCHEDULER_MODULE), parameters)?;
    settled(|| read_text(&format!("{PATCH}/transition")) == "0")
}

/// Takes it out of force and unloads it.
pub(super) fn off() -> Result<()> {
    write(&format!("{PATCH}/enabled"), "0")?;
    settled(|| !Path::new(PATCH).exists())?;
    unload_module(NAME)
}

/// What it says of the last cycle, a line a figure.
pub(super) fn figures() -> String {
    let of_phase = PHASES.iter().flat_map(|p| OF_PHASE.iter().map(move |f| format!("{p}/{f}")));
    let all = of_phase.chain(OF_ALL.iter().map(|f| (*f).to_owned()));
    all.map(|f| format!("{f} {}\n", read_text(&format!("{FIGURES}/{f}")))).collect()
}
