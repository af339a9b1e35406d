//! One recorded cycle, ready to be simulated, and how it is run.

use crate::simulate::{Kernel, Policy, Profile, Settings, Topology};
use dormouse_base::phase::Phase;

/// One recorded cycle, ready to be simulated.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) topology: Topology,
    pub(super) policy: &'static Policy,
    pub(super) kernel: Option<Kernel>,
    pub(super) cpus: u32,
    /// Idle workers at its begin.
    pub(super) idle: u32,
    /// Which CPUs threads ran on before is chance: every cycle is another draw,
    /// or the fit would follow a single one.
    pub(super) draw: u64,
    /// Phase, its time, and the start of each callback after its begin, by
    /// device.
    pub(super) phases: Vec<(Phase, i64, Vec<Option<i64>>)>,
    pub(super) prepare: Option<i64>,
    pub(super) finish: Option<i64>,
    /// Between callbacks, where everything ran on the main thread.
    pub(super) gaps: Vec<Gap>,
}

pub(super) fn settings(profile: &Profile, s: &Sample) -> Settings {
    let mut profile = profile.clone();
    profile.idle_workers = s.idle;
    if let Some(emulator) = &mut profile.emulator {
        emulator.draw = s.draw;
    }
    let mut settings = Settings { profile, pm_async: None, wakeup_at: None };
    settings.complete(s.cpus, s.kernel.as_ref());
    settings
}

/// The time without callbacks between two callbacks of a phase, or between its
/// begin or end and a callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) phase: Phase,
    pub(super) after: Option<u32>,
    pub(super) before: Option<u32>,
    pub(super) time: i64,
}
