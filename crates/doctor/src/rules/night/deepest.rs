//! What AMD's power management unit counted of a sleep, where no line tells how long the sleep
//! was; and a timer that did not end it.

use super::counted;
use super::required::{LEAST, depth_of, told_depth};
use super::turns;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::night::report::Report;
use crate::night::{Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// drivers/platform/x86/amd/pmc/pmc.c:amd_pmc_validate_deepest, 6.12.
const COUNTED: &str = "Last suspend in deepest state for ";

/// So much later than its timer a machine may be awake, in ms. Ours.
const LATE: u64 = 60_000;

/// What the unit counted, in us.
fn counted_by(m: &Message) -> Option<u64> {
    let rest = m.after(COUNTED)?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[end..].starts_with("us").then(|| rest[..end].parse().ok())?
}

fn span(us: u64) -> String {
    say::span(Ns(i64::try_from(us).unwrap_or(i64::MAX / 1_000).saturating_mul(1_000)))
}

/// The sleeps that the unit counted.
fn all(case: &Case) -> Vec<(&Message, u64)> {
    let said = case.messages.having(COUNTED).map(|(_, m)| m);
    said.filter_map(|m| Some((m, counted_by(m)?))).collect()
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = all(case);
    past_its_timer(case, &all, out);
    let Some(&(m, us)) = all.iter().max_by_key(|c| c.1) else { return };
    if told_depth(out) || us < LEAST {
        return;
    }
    if all.len() > 1 {
        let list: Vec<String> = all.iter().take(6).map(|c| span(c.1)).collect();
        let f = Finding::new(counted::rule(depth_of(us, None)), Confidence::Certain);
        out.push(
            f.says(format!(
                "The hardware slept: its power management unit was in the deepest state for {}. How long each sleep was, no line that was read says.",
                list.join(", then ")
            ))
            .shown_by(lines(all.iter().take(6).map(|c| c.0))),
        );
        return;
    }
    let length = turns::slept(case).and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms >= 1_000);
    let words = match length {
        Some(ms) => format!("for {} of {}", span(us), span(ms.saturating_mul(1_000))),
        None => {
            format!("for {}. How long the whole sleep was, no line that was read says", span(us))
        }
    };
    let sure = if length.is_some() { Confidence::Likely } else { Confidence::Certain };
    out.push(
        Finding::new(counted::rule(depth_of(us, length.map(|ms| ms / 1_000))), sure)
            .says(format!(
                "The power management unit counted the deepest state of the hardware {words}."
            ))
            .shown_by(lines([m])),
    );
}

/// A timer that was over long before the machine woke.
fn past_its_timer(case: &Case, counted: &[(&Message, u64)], out: &mut Vec<Finding>) {
    let reports = || {
        case.night.of(|f| match f {
            Fact::Report(r) => Some(r),
            _ => None,
        })
    };
    let timers: Vec<(&Item, u64)> = reports()
        .filter_map(|(i, r)| match r {
            Report::Timer { ms } => Some((i, *ms)),
            _ => None,
        })
        .collect();
    let Some(&(item, timer)) = timers.first() else { return };
    if timers.iter().any(|t| t.1 != timer) {
        return;
    }
    let slept = reports().filter_map(|(i, r)| match r {
        Report::Slept { ms, .. } => Some((*ms, Evidence::from(i))),
        _ => None,
    });
    // Of several sleeps nobody knows which it was.
    let one = case.attempts.len() <= 1 && counted.len() == 1;
    let deep = counted.iter().filter(|_| one).map(|(m, us)| (us / 1_000, Evidence::from(*m)));
    let Some((ms, shown)) = slept.chain(deep).max_by_key(|s| s.0) else { return };
    if ms <= timer.saturating_add(LATE) {
        return;
    }
    out.push(
        Finding::new(("night-past-alarm", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!(
                "The timer did not wake the machine: it was programmed for {}, and the sleep went on for {} at least.",
                span(timer.saturating_mul(1_000)),
                span(ms.saturating_mul(1_000))
            ))
            .look("Try the alarm alone: rtcwake -m mem -s 60. See that /sys/class/rtc/rtc0/device/power/wakeup is enabled; if it is, firmware or the driver of the clock lost the alarm.")
            .shown_by([Evidence::from(item), shown]),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn judged(us: u64, reports: Vec<Report>) -> Vec<(&'static str, String)> {
        let said = format!("amd_pmc AMDI0005:00: {COUNTED}{us}us");
        let items = (1..).zip(reports).map(|(line, r)| Item {
            line,
            text: format!("line {line}"),
            fact: Fact::Report(r),
        });
        let night = Night { items: items.collect(), ..Night::default() };
        let case = Case { night, ..Case::of_log(&[(1, said.as_str())]) };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn a_unit_that_counted_tells_that_the_hardware_slept() {
        let found = judged(1_871_234_567, Vec::new());
        assert_eq!(found[0].0, "mode-hardware");
        assert!(found[0].1.contains("31 min 11 s. How long"), "{found:?}");
        assert!(judged(900, Vec::new()).is_empty());
    }

    #[test]
    fn a_timer_that_was_over_did_not_wake() {
        let timer = || Report::Timer { ms: 200_000 };
        let found = judged(1_871_234_567, vec![timer()]);
        assert!(found[0].1.contains("programmed for 3 min 20 s"), "{found:?}");
        let on_time = vec![timer(), Report::Slept { ms: 201_000, early: false }];
        assert!(judged(190_000_000, on_time).iter().all(|f| f.0 != "night-past-alarm"));
    }
}
