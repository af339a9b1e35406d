//! Alarms and clocks (kernel/time/alarmtimer.c:alarmtimer_suspend).

use super::abort::failed;
use super::{found, lines};
use crate::Case;
use crate::finding::{Advice, Area, Confidence, Finding, Level};
use crate::message::Message;
use alloc::string::ToString;
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
        out.push(
            found(
                ("clock-alarm-abort", Area::Clock, Level::Note),
                Confidence::Certain,
                "An alarm was due within 2 s, so the alarm timer refused the sleep (EBUSY). No driver is at fault.".to_string(),
                lines(busy),
            )
            .with(Advice::look("Find who holds it (clockid 8 or 9 in /proc/*/fdinfo), or try again after it.")),
        );
    }
    let invalid = of(-22);
    if !invalid.is_empty() {
        let limit: Vec<&Message> =
            case.messages.iter().filter(|m| m.has("Alarms can be up to")).collect();
        let mut sentence =
            "The alarm timer refused the sleep: the RTC took no alarm for the time asked (EINVAL)."
                .to_string();
        let confidence = Confidence::Certain;
        if limit.is_empty() {
            sentence += " Why it takes none is not in the text.";
        } else {
            sentence += " The RTC says that the alarm lies too far ahead for it.";
        }
        out.push(
            found(
                ("clock-alarm-refused", Area::Clock, Level::Broken),
                confidence,
                sentence,
                lines(invalid.into_iter().chain(limit)),
            )
            .with(Advice::look("Look for a far alarm (timerfd with an ALARM clock), and whether the RTC has an alarm at all: /sys/class/rtc/rtc0/wakealarm.")),
        );
    }
}
