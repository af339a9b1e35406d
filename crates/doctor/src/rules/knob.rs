//! Settings of `/sys/power` that change what a sleep is (kernel/power/main.c,
//! Documentation/ABI/testing/sysfs-power, 6.12 and 7.3).

pub use crate::offered::bracketed as chosen;

use super::{found, value};
use crate::Case;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::now::{Knob, Now};
use crate::value::Value;

/// `pm_freeze_timeout` of a kernel that nobody changed, ms.
const FREEZE_TIMEOUT: u64 = 20_000;

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    for v in case.values.iter().filter(|v| v.folder() == "/sys/power") {
        let Some((id, area, level, knob)) = unusual(v) else { continue };
        // What such a setting cost was told already.
        if out.iter().any(|f| f.id == id) {
            continue;
        }
        out.push(found(
            (id, area, level),
            Confidence::Certain,
            Fact::Now(Now::Knob(knob)),
            Vec::from([value(v)]),
        ));
    }
}

fn unusual(v: &Value) -> Option<(&'static str, Area, Level, Knob)> {
    let on = v.value == "1";
    Some(match v.name() {
        "pm_test" => {
            let level = chosen(&v.value).filter(|l| l != "none")?;
            ("knob-pm-test", Area::Mode, Level::Broken, Knob::Test(level))
        }
        "pm_trace" if on => ("knob-pm-trace", Area::Phase, Level::Risk, Knob::Trace),
        "pm_async" if v.value == "0" => {
            ("knob-pm-async", Area::Phase, Level::Slow, Knob::Synchronous)
        }
        "pm_freeze_timeout" => {
            let ms = v.value.parse().ok().filter(|&ms: &u64| ms != FREEZE_TIMEOUT)?;
            ("knob-freeze-timeout", Area::Freezer, Level::Note, Knob::FreezeTimeout(ms))
        }
        "pm_print_times" if on => ("knob-print-times", Area::Phase, Level::Note, Knob::PrintTimes),
        "sync_on_suspend" if v.value == "0" => ("sync-off", Area::Sync, Level::Risk, Knob::SyncOff),
        "freeze_filesystems" if on => {
            ("sync-freeze-fs", Area::Sync, Level::Note, Knob::FreezeFiles)
        }
        "autosleep" if !matches!(v.value.as_str(), "off" | "") => {
            ("knob-autosleep", Area::Mode, Level::Note, Knob::Autosleep(v.value.clone()))
        }
        _ => return None,
    })
}
