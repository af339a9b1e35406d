//! Alarms and clocks (kernel/time/alarmtimer.c:alarmtimer_suspend).

use super::abort::failed;
use super::{found, lines};
use crate::Case;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::now::Now;
use crate::timer::{SOON, Timer};

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    soon(case, out);
    let of = |error: i32| -> Vec<&Message> {
        let is = |m: &&Message| {
            failed(m).is_some_and(|f| f.device.starts_with("alarmtimer") && f.error == error)
        };
        case.messages.iter().filter(is).collect()
    };
    let busy = of(-16);
    if !busy.is_empty() {
        out.push(found(
            ("clock-alarm-abort", Area::Clock, Level::Note),
            Confidence::Certain,
            Fact::AlarmDue,
            lines(busy),
        ));
    }
    let invalid = of(-22);
    if !invalid.is_empty() {
        let limit: Vec<&Message> =
            case.messages.iter().filter(|m| m.has("Alarms can be up to")).collect();
        out.push(found(
            ("clock-alarm-refused", Area::Clock, Level::Broken),
            Confidence::Certain,
            Fact::AlarmRefused { too_far: !limit.is_empty() },
            lines(invalid.into_iter().chain(limit)),
        ));
    }
}

/// Alarms of the running machine that are due so soon that a sleep now would fail.
fn soon(case: &Case, out: &mut Vec<Finding>) {
    let soon: Vec<&Timer> =
        case.timers.iter().filter(|t| t.clock.is_alarm() && t.due < SOON).collect();
    if soon.is_empty() {
        return;
    }
    let line = |t: &&Timer| Evidence {
        line: 0,
        time: None,
        text: format!(
            "/proc/{}/fdinfo: ({}) {}, due in {} ms",
            t.pid,
            t.name,
            t.clock.name(),
            t.due.0 / 1_000_000
        ),
        doubtful: false,
    };
    out.push(found(
        ("clock-alarm-abort", Area::Clock, Level::Note),
        Confidence::Likely,
        Fact::Now(Now::AlarmSoon { holders: soon.iter().map(|t| t.name.clone()).collect() }),
        soon.iter().take(3).map(line).collect(),
    ));
}
