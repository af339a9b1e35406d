//! Alarms and clocks (kernel/time/alarmtimer.c:alarmtimer_suspend).

use super::abort::failed;
use super::{found, lines};
use crate::Case;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use alloc::vec::Vec;

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
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
