//! Alarms and clocks (kernel/time/alarmtimer.c:alarmtimer_suspend).

use super::abort::{ended_early, failed, returned};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::timer::{SOON, Timer};
use dormouse_base::say;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    soon(case, out);
    let of = |error: i32| -> Vec<&Message> {
        let is = |m: &&Message| {
            let said = failed(m).or_else(|| returned(m));
            said.is_some_and(|f| f.device.starts_with("alarmtimer") && f.error == error)
        };
        case.messages.having("alarmtimer").map(|(_, m)| m).filter(is).collect()
    };
    let busy = of(-16);
    if !busy.is_empty() {
        let said = "An alarm was due within 2 s, so the alarm timer refused the sleep (EBUSY). No driver is at fault.";
        // One that comes upon an alarm is no fault; a machine that never sleeps for them is.
        let tries = || case.attempts.iter().filter(|a| !a.inside);
        let mut lines_of: Vec<u64> = busy.iter().map(|m| m.line).collect();
        lines_of.sort_unstable();
        let refused = |a: &Attempt| {
            let tells = |m: &Message| lines_of.binary_search(&m.line).is_ok();
            ended_early(case, a) && case.of(a).iter().any(tells)
        };
        let all = tries().count();
        let (level, said) = match all > 1 && tries().all(refused) {
            true => (Level::Risk, format!("None of the {all} attempts to sleep succeeded. {said}")),
            false => (Level::Note, said.to_owned()),
        };
        let f = Finding::new(("clock-alarm-abort", Area::Clock, level), Confidence::Certain)
            .says(said)
            .look("grep -l 'clockid: [89]' /proc/*/fdinfo/* lists the programs that have such an alarm; or try again after it.")
            .of_error(-16)
            .shown_by(lines(busy));
        out.push(f);
    }
    let invalid = of(-22);
    if !invalid.is_empty() {
        let limit: Vec<&Message> = case.messages.all_having("Alarms can be up to");
        let why = if limit.is_empty() {
            "Why it takes none is not in the text."
        } else {
            "The RTC says that the alarm lies too far ahead for it."
        };
        let rule = ("clock-alarm-refused", Area::Clock, Level::Broken);
        let f = Finding::new(rule, Confidence::Certain)
            .says(format!(
                "The alarm timer refused the sleep: the RTC took no alarm for the time asked (EINVAL). {why}"
            ))
            .look("Look for a far alarm (timerfd with an ALARM clock), and whether the RTC has an alarm at all: /sys/class/rtc/rtc0/wakealarm.")
            .of_error(-22)
            .shown_by(lines(invalid.into_iter().chain(limit)));
        out.push(f);
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
    let holders: Vec<String> = soon.iter().map(|t| t.name.clone()).collect();
    let f = Finding::new(("clock-alarm-abort", Area::Clock, Level::Note), Confidence::Likely)
        .says(format!(
            "An alarm of {} is due within 2 s: a sleep now would fail, and no driver would be at fault.",
            say::names(&holders)
        ))
        .look("Sleep after it, or stop that program.")
        .shown_by(soon.iter().take(3).map(line));
    out.push(f);
}
