//! Settings of `/sys/power` that change what a sleep is (kernel/power/main.c,
//! Documentation/ABI/testing/sysfs-power, 6.12 and 7.3).

pub(super) use crate::offered::bracketed as chosen;

use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Finding, Level, OLD};
use crate::message::Message;
use crate::value::Value;

/// `pm_freeze_timeout` of a kernel that nobody changed, ms.
const FREEZE_TIMEOUT: u64 = 20_000;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    tested(case, out);
    for v in case.values.iter().filter(|v| v.folder() == "/sys/power") {
        let Some(f) = unusual(v) else { continue };
        // What such a setting cost was told already.
        if out.iter().any(|x| x.id == f.id) {
            continue;
        }
        out.push(f.shown_by([value(v)]));
    }
}

/// `PM: suspend debug: Waiting for 5 second(s).` (kernel/power/suspend.c:suspend_test),
/// `PM: hibernation debug: Waiting for 5 seconds.` (hibernate.c:hibernation_test): only a
/// test says so.
fn tested(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &&Message| {
        m.trust.is_of_a_kernel()
            && (m.has("suspend debug: Waiting for ") || m.has("hibernation debug: Waiting for "))
    };
    let said: Vec<&Message> = case.messages.iter().filter(is).collect();
    if said.is_empty() {
        return;
    }
    let sleeps = match said.len() {
        1 => "A sleep was".to_string(),
        n => format!("{n} sleeps were"),
    };
    let f = Finding::new(("knob-pm-test", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!(
            "{sleeps} only a test: pm_test was on, so the machine stopped half-way, stayed awake and came back by itself."
        ))
        .change("If that was not meant: echo none > /sys/power/pm_test", OLD, "")
        .times(said.len())
        .shown_by(crate::evidence::lines(said));
    out.push(f);
}

fn unusual(v: &Value) -> Option<Finding> {
    let on = v.value == "1";
    let (rule, text, usual, risk) = match v.name() {
        "pm_test" => {
            let level = chosen(&v.value).filter(|l| l != "none")?;
            (
                ("knob-pm-test", Area::Mode, Level::Broken),
                format!(
                    "A sleep now is only a test: pm_test is {level}, so the machine comes back by itself and never sleeps."
                ),
                "none",
                "",
            )
        }
        "pm_trace" if on => (
            ("knob-pm-trace", Area::Phase, Level::Risk),
            "pm_trace is on: each sleep overwrites the clock of the machine and suspends one device after the other.".into(),
            "0",
            "",
        ),
        "pm_async" if v.value == "0" => (
            ("knob-pm-async", Area::Phase, Level::Slow),
            "Devices suspend and resume one after the other: pm_async is 0.".into(),
            "1",
            "Somebody may have switched it off for a driver that needs an order nobody declared.",
        ),
        "pm_freeze_timeout" => {
            let ms = v.value.parse().ok().filter(|&ms: &u64| ms != FREEZE_TIMEOUT)?;
            (
                ("knob-freeze-timeout", Area::Freezer, Level::Note),
                format!(
                    "Tasks have {ms} ms to freeze (pm_freeze_timeout); the usual time is 20,000 ms."
                ),
                "20000",
                "",
            )
        }
        "pm_print_times" if on => (
            ("knob-print-times", Area::Phase, Level::Note),
            "Every callback is printed (pm_print_times), which costs time where the console is slow.".into(),
            "0",
            "",
        ),
        "sync_on_suspend" if v.value == "0" => (
            ("sync-off", Area::Sync, Level::Risk),
            "Dirty data is not written before sleep: sync_on_suspend is 0. It is lost if power fails or the machine does not resume.".into(),
            "1",
            "With a block device that is suspended below its file system (luksSuspend) sync never ends.",
        ),
        "freeze_filesystems" if on => (
            ("sync-freeze-fs", Area::Sync, Level::Note),
            "File systems are frozen before each sleep (freeze_filesystems). That writes dirty data in a step that no wakeup can end.".into(),
            "0",
            "",
        ),
        "autosleep" if !matches!(v.value.as_str(), "off" | "") => (
            ("knob-autosleep", Area::Mode, Level::Note),
            format!(
                "The machine goes to sleep by itself as {} whenever no wakeup source is active (autosleep).",
                v.value
            ),
            "off",
            "",
        ),
        _ => return None,
    };
    let change = format!("echo {usual} > {}", v.path);
    Some(Finding::new(rule, Confidence::Certain).says(text).change(change, OLD, risk))
}
