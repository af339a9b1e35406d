//! Cycles recorded as on any machine, with the recorder's own library.

use super::system::Result;
use super::system::read_text;
use crate::plan::{Record, Sleep, Step};
use dormouse_machine::guard::NoObserver;
use dormouse_machine::options::{Options, State, Wake};
use dormouse_machine::recorder::{NoWatch, record};
use dormouse_machine::root::Root;
use std::path::Path;
use std::time::Duration;

/// How long suspend-to-idle lasts before the board module ends it; armed, it also
/// undoes a hibernation that is about to power off.
const WAKE: &str = "/sys/kernel/debug/dormouse/wake_ns";
const WAKE_NS: &str = "200000000";

/// How long the machine sleeps where a module of ours is its firmware (kernel/deep).
const DEEP: &str = "/sys/module/dormouse_deep/parameters/sleep_ms";
const DEEP_MS: &str = "50";

/// Seconds to the alarm that the recorder wants before suspend-to-RAM. QEMU
/// wakes the guest before (`crate::qemu`); later than the way down of any board
/// in the zoo.
const ALARM_S: u32 = 60;

/// Runs the cycles of a step and gives the bytes of a capture file.
pub(super) fn capture(step: &Step) -> Result<Vec<u8>> {
    let deep = read_text("/sys/power/mem_sleep").contains("deep");
    let (state, mem_sleep) = match step.sleep {
        Sleep::Hibernate | Sleep::Rollback => (State::Disk, None),
        Sleep::S2idle => (State::Freeze, None),
        Sleep::Deep if !deep => return Err("this guest has no suspend-to-RAM".into()),
        _ if deep => (State::Mem, Some("deep".to_owned())),
        _ => (State::Freeze, None),
    };
    let options = Options {
        cycles: step.cycles,
        state,
        mem_sleep,
        disk: step.sleep.disk().map(str::to_owned),
        pm_test: step.sleep.is_test().then(|| step.sleep.pm_test().to_owned()),
        wake: match step.sleep {
            Sleep::S2idle | Sleep::Rollback => {
                Wake::Timer { path: WAKE.into(), value: WAKE_NS.into(), armed: WAKE_NS.into() }
            }
            Sleep::Deep if Path::new(DEEP).exists() => {
                Wake::Timer { path: DEEP.into(), value: DEEP_MS.into(), armed: DEEP_MS.into() }
            }
            _ => Wake::Rtc { seconds: ALARM_S },
        },
        interval: Duration::ZERO,
        detail: step.detail.clone(),
        phases_only: step.record == Record::Phases,
        pm_async: Some(step.pm_async),
        buffer_kib: Some(u64::from(step.buffer_kb)),
        ..Options::default()
    };
    let outcome = record(&Root::real(), &options, &mut NoObserver, &mut NoWatch)
        .map_err(|e| e.to_string())?;
    if let Some(e) = outcome.error {
        return Err(e.to_string());
    }
    dormouse_machine::file::encode(&outcome.recording, Vec::new()).map_err(|e| e.to_string())
}
