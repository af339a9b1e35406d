//! Whether a phone slept while its screen was off, by Android's own counts.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::night::android::{Battery, Kind};
use crate::night::{Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A shorter time with the screen off is no night, in ms.
const NIGHT: u64 = 3_600_000;
/// A phone that rests is awake for a few per cent; from this share on it hardly slept. Per
/// cent.
const AWAKE: u64 = 25;
/// What the power manager holds for all apps together: those name the app.
const OF_APPS: &str = "PowerManagerService.WakeLocks";

fn span(ms: u64) -> String {
    say::span(Ns(i64::try_from(ms).unwrap_or(i64::MAX / 1_000_000).saturating_mul(1_000_000)))
}

/// So many of a list are named.
const NAMED: usize = 3;

/// Who holds a partial wake lock for so long does not let the phone sleep, in s. Android itself calls
/// one long from a minute on. Ours.
const LOCKED: u64 = 600;

/// `3h12m4s`, as Android prints how long something was (frameworks/base, TimeUtils.java:
/// formatDurationLocked), in s.
fn duration(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['-', '+']);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (mut seconds, mut number) = (0u64, String::new());
    let mut letters = text[..end].chars().peekable();
    while let Some(c) = letters.next() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let n: u64 = std::mem::take(&mut number).parse().ok()?;
        let unit = match c {
            'd' => 86_400,
            'h' => 3_600,
            'm' if letters.peek() == Some(&'s') => return Some(seconds),
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(n.checked_mul(unit)?)?;
    }
    number.is_empty().then_some(seconds)
}

/// Partial wake locks that are held since long, as `dumpsys power` lists them (frameworks/base,
/// PowerManagerService.java, WakeLock.toString: `PARTIAL_WAKE_LOCK 'NAME' ACQ=-3h12m4s (uid=…`).
fn locks(case: &Case, out: &mut Vec<Finding>) {
    const WORD: &str = "PARTIAL_WAKE_LOCK";
    let of = |m: &'_ Message| {
        let rest = m.text.trim_start().strip_prefix(WORD)?.trim_start().strip_prefix('\'')?;
        let (name, rest) = rest.split_once('\'')?;
        let held = duration(rest.split_once("ACQ=")?.1)?;
        let uid = rest.split_once("uid=").map(|u| u.1);
        let digit = |c: char| !c.is_ascii_digit();
        let uid = uid.and_then(|u| u.split(digit).next()).filter(|u| !u.is_empty());
        Some((held, name.to_string(), uid.map(String::from)))
    };
    let said = case.messages.having(WORD).map(|(_, m)| m);
    let mut all: Vec<_> =
        said.filter_map(|m| Some((of(m)?, m))).filter(|l| l.0.0 >= LOCKED).collect();
    all.sort_by_key(|l| std::cmp::Reverse(l.0.0));
    let Some(((held, name, uid), first)) = all.first() else { return };
    let uid = uid.as_ref().map_or(String::new(), |u| format!(" (uid {u})"));
    let more: Vec<String> = all
        .iter()
        .skip(1)
        .take(NAMED - 1)
        .map(|((held, name, _), _)| format!("{name}, {}", span(held.saturating_mul(1_000))))
        .collect();
    let more = match more.is_empty() {
        true => String::new(),
        false => format!(" Others that were held for long: {}.", more.join("; ")),
    };
    out.push(
        Finding::new(("night-lock-held", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!(
                "{name}{uid} holds a partial wake lock, for {} when it was looked at. While one is held Android does not suspend.{more}",
                span(held.saturating_mul(1_000))
            ))
            .look("Ask the app of that uid (dumpsys package, uid), or stop it: am force-stop PACKAGE. What plays or loads may need it.")
            .times(all.len())
            .shown_by(lines([*first])),
    );
}

/// What woke it, and what ended tries to sleep, as Android counts them since the last charge.
fn reasons(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(&Item, &str, u64, u64)> = case
        .night
        .items
        .iter()
        .filter_map(|i| match &i.fact {
            Fact::Android(Battery::Held { kind: Kind::Reason, name, ms, times }) => {
                Some((i, name.as_str(), *ms, *times))
            }
            _ => None,
        })
        .collect();
    let (mut aborts, mut wakes): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|r| r.1.starts_with("Abort"));
    if wakes.len() + aborts.len() < 2 {
        return;
    }
    wakes.sort_by_key(|r| std::cmp::Reverse(r.3));
    aborts.sort_by_key(|r| std::cmp::Reverse(r.3));
    let list = |of: &[(&Item, &str, u64, u64)]| {
        let one = |r: &(&Item, &str, u64, u64)| format!("{} ({} times)", r.1, say::grouped(r.3));
        of.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ")
    };
    let mut words = String::new();
    if !wakes.is_empty() {
        words += &format!("What woke it most often, as Android counts: {}.", list(&wakes));
    }
    let longest = wakes.iter().max_by_key(|r| r.2).filter(|l| l.1 != wakes[0].1);
    if let Some(l) = longest {
        words += &format!(" It stayed awake longest after {}: {} in all.", l.1, span(l.2));
    }
    if !aborts.is_empty() {
        let plain: Vec<_> = aborts
            .iter()
            .map(|r| (r.0, r.1.trim_start_matches("Abort:").trim(), r.2, r.3))
            .collect();
        words += &format!(" Tries to sleep that were given up: {}.", list(&plain));
    }
    // A device that would not go down, by the words of the core that Android keeps.
    let refused: Vec<_> =
        aborts.iter().filter_map(|r| Some((r, refuses(r.1)?))).take(NAMED).collect();
    let one = |(r, (device, error)): &(&(&Item, &str, u64, u64), (&str, i32))| {
        format!("{device} ({}, {} times)", say::told(*error), say::grouped(r.3))
    };
    if !refused.is_empty() {
        let list: Vec<String> = refused.iter().map(one).collect();
        words += &format!(" Tries that a device refused: {}.", list.join(", "));
    }
    // Of how long a time these are, the text need not say: so many wake a phone in any.
    let held = wakes.iter().chain(&aborts).map(|r| r.2).max().unwrap_or(0);
    let bad = held >= HELD || wakes.first().is_some_and(|w| w.3 >= MANY);
    let level = if bad { Level::Risk } else { Level::Note };
    let refused: Vec<_> = refused.iter().map(|r| Evidence::from(r.0.0)).collect();
    out.push(
        Finding::new(("night-wake-reasons", Area::Mode, level), if bad { Confidence::Likely } else { Confidence::Certain })
            .says(words.trim_start())
            .because("The counts are since the last reset of these statistics; a number of an interrupt stands before the names of its users.")
            .look("Compare two dumps a night apart: dumpsys batterystats --reset, then again.")
            .shown_by(wakes.iter().take(NAMED).chain(aborts.iter().take(NAMED)).map(|r| Evidence::from(r.0)))
            .shown_by(refused),
    );
}

/// What woke it, by the lines of the history alone: who read them cut the counts off.
fn history(case: &Case, out: &mut Vec<Finding>) {
    let woke = case.night.items.iter().filter_map(|i| match &i.fact {
        Fact::Android(Battery::Woke(name)) => Some((i, name.as_str())),
        _ => None,
    });
    let mut names: Vec<(&str, usize, &Item)> = Vec::new();
    for (item, name) in woke {
        match names.iter_mut().find(|n| n.0 == name) {
            Some(n) => n.1 += 1,
            None => names.push((name, 1, item)),
        }
    }
    if names.is_empty() || out.iter().any(|f| f.id == "night-wake-reasons") {
        return;
    }
    names.sort_by_key(|n| std::cmp::Reverse(n.1));
    let one = |n: &(&str, usize, &Item)| format!("{} ({})", n.0, say::once(n.1));
    let list: Vec<String> = names.iter().take(NAMED).map(one).collect();
    out.push(
        Finding::new(("night-wake-reasons", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("What woke it, by the lines of Android's history: {}.", list.join(", ")))
            .because("A number of an interrupt stands before the names of its users.")
            .look("The counts of a whole night stand in the same dump: dumpsys batterystats, \"Wakeup reason\".")
            .shown_by(names.iter().take(NAMED).map(|n| Evidence::from(n.2))),
    );
}

/// One reason that held a phone awake for so long, in ms, or woke it so often, cost a night.
const HELD: u64 = 3_600_000;
const MANY: u64 = 1_000;

/// `Callback failed on alarmtimer in platform_pm_suspend+0x0 returned -16`
/// (kernel/power/wakeup_reason.c of Android's common kernels): the device and its error.
fn refuses(reason: &str) -> Option<(&str, i32)> {
    let (device, rest) = reason.split_once("Callback failed on ")?.1.split_once(" in ")?;
    let error: i32 = rest.split_once("returned ")?.1.split([' ', '`']).next()?.parse().ok()?;
    (error < 0).then_some((device, error))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    locks(case, out);
    held(case, out);
    longest(case, out);
    if !out.iter().any(|f| f.id == "night-awake") {
        reasons(case, out);
        history(case, out);
    }
}

/// A wake lock that was held for less keeps no phone awake, in ms.
const LONG: u64 = 1_800_000;

/// The kernel's wake locks, where the text does not say for how long the screen was off.
fn longest(case: &Case, out: &mut Vec<Finding>) {
    let facts = || {
        case.night.items.iter().filter_map(|i| match &i.fact {
            Fact::Android(b) => Some((i, b)),
            _ => None,
        })
    };
    if facts().any(|f| matches!(f.1, Battery::ScreenOff { .. })) {
        return;
    }
    let of = |wanted: Kind| {
        let rows = facts().filter_map(|(i, b)| match b {
            Battery::Held { kind, name, ms, times } if *kind == wanted => {
                Some((i, name.as_str(), *ms, *times))
            }
            _ => None,
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|r| std::cmp::Reverse(r.2));
        rows
    };
    let (kernel, apps) = (of(Kind::Kernel), of(Kind::App));
    let Some(first) = kernel.first().filter(|k| k.2 >= LONG) else { return };
    let one = |r: &(&Item, &str, u64, u64)| match r.3 {
        0 => format!("{}, {} (counted 0 times: held since before the count began)", r.1, span(r.2)),
        n => format!(
            "{}, {} ({})",
            r.1,
            span(r.2),
            say::plural(usize::try_from(n).unwrap_or(0), "time")
        ),
    };
    let list: Vec<String> = kernel.iter().take(NAMED).map(one).collect();
    let app = apps
        .first()
        .map_or(String::new(), |a| format!(" Of the apps the longest is {}, {}.", a.1, span(a.2)));
    out.push(
        Finding::new(("night-wakelocks", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!(
                "The wake lock that the kernel held longest is {}. While one is held the phone does not sleep.{app} Of how long a time these counts are, no line that was read says.",
                list.join("; then ")
            ))
            .look("Compare two dumps a night apart: dumpsys batterystats --reset, then again; the driver that has the lock is the one to ask.")
            .shown_by([Evidence::from(first.0)])
            .shown_by(kernel.iter().skip(1).take(NAMED - 1).map(|k| Evidence::from(k.0))),
    );
}

fn held(case: &Case, out: &mut Vec<Finding>) {
    let all = || {
        case.night.of(|f| match f {
            Fact::Android(b) => Some(b),
            _ => None,
        })
    };
    let off = all().find_map(|(i, b)| match b {
        Battery::ScreenOff { ms, awake } => Some((i, *ms, *awake)),
        _ => None,
    });
    let Some((item, ms, awake)) = off.filter(|o| o.1 >= NIGHT) else { return };
    let share = awake.saturating_mul(100) / ms;
    if share < AWAKE {
        return;
    }
    let most = |kind: Kind, by: fn(u64, u64) -> u64| {
        let of = all().filter_map(|(i, b)| match b {
            Battery::Held { kind: k, name, ms, times } if *k == kind => {
                Some((by(*ms, *times), i, name.as_str(), *ms, *times))
            }
            _ => None,
        });
        // Of equal ones the first.
        of.max_by_key(|h| (h.0, std::cmp::Reverse(h.1.line)))
    };
    let kernel = most(Kind::Kernel, |ms, _| ms);
    let app = most(Kind::App, |ms, _| ms).filter(|_| kernel.is_none_or(|k| k.2 == OF_APPS));
    let reason = most(Kind::Reason, |_, times| times);
    let mut shown: Vec<&Item> = vec![item];
    let mut words = String::new();
    match app.or(kernel) {
        Some((_, i, name, held, times)) if held.saturating_mul(2) >= awake => {
            words += &format!(
                " {name} held it for {} ({}).",
                span(held),
                say::plural(usize::try_from(times).unwrap_or(0), "time")
            );
            shown.push(i);
        }
        Some((_, i, name, held, _)) => {
            words += &format!(
                " No wake lock explains it: the longest, {name}, was held for {}.",
                span(held)
            );
            shown.push(i);
        }
        None => words += " What held it, no line that was read says.",
    }
    if let Some((_, i, name, _, times)) = reason {
        words += &format!(
            " The wake-up reason that came most often is {name} ({} times).",
            say::grouped(times)
        );
        shown.push(i);
    }
    let used = all().find_map(|(i, b)| match b {
        Battery::Discharged(n) => Some((i, *n)),
        _ => None,
    });
    if let Some((i, n)) = used {
        let an_hour = n.saturating_mul(36_000_000) / ms;
        words +=
            &format!(" It took {n} % of the battery, {}.{} % an hour.", an_hour / 10, an_hour % 10);
        shown.push(i);
    }
    let f = Finding::new(("night-awake", Area::Mode, Level::Risk), Confidence::Certain)
        .says(format!("Of {} with the screen off on battery the machine was awake for {}, {share} %: it hardly slept.{words}", span(ms), span(awake)))
        .look("Compare two dumps a night apart (dumpsys batterystats --reset, then again); dumpsys power lists the wake locks that are held now.")
        .shown_by(shown.into_iter().map(Evidence::from));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn judged(list: Vec<Battery>) -> Vec<Finding> {
        let items = (1..).zip(list).map(|(line, b)| Item {
            line,
            text: format!("line {line}"),
            fact: Fact::Android(b),
        });
        let night = Night { items: items.collect(), ..Night::default() };
        let mut out = Vec::new();
        judge(&Case { night, ..Case::default() }, &mut out);
        out
    }

    #[test]
    fn a_phone_that_is_held_awake_names_what_held_it() {
        let held = |kind, name: &str, minutes: u64, times| Battery::Held {
            kind,
            name: name.into(),
            ms: minutes * 60_000,
            times,
        };
        let off = |minutes: u64, awake: u64| Battery::ScreenOff {
            ms: minutes * 60_000,
            awake: awake * 60_000,
        };
        let night = |awake| {
            vec![
                off(600, awake),
                held(Kind::Kernel, "baro_wl", 310, 9),
                held(Kind::Kernel, "nfc_wl", 2, 800),
                held(Kind::App, "u0a3 sync", 5, 2),
                held(Kind::Reason, "31:baro", 4, 9),
            ]
        };
        let found = judged(night(400));
        let words = &found[0].sentence;
        assert!(words.contains("66 %: it hardly slept. baro_wl held it for 5 h 10 min"), "{words}");
        assert!(words.contains("31:baro (9 times)") && !words.contains("sync"), "{words}");
        assert!(judged(night(60)).is_empty(), "a tenth awake is a good night");
        let reason = |name: &str, times| held(Kind::Reason, name, times, times);
        let found =
            judged(vec![reason("9 lid", 4), reason("31 nfc", 40), reason("Abort: Pending x", 7)]);
        let words = &found[0].sentence;
        assert!(
            words.contains("most often, as Android counts: 31 nfc (40 times), 9 lid (4 times)"),
            "{words}"
        );
        assert!(words.contains("given up: Pending x (7 times)"), "{words}");
        assert_eq!(found[0].level, Level::Note);
        let refused = "Abort: Callback failed on elm-oak in platform_pm_suspend+0x0 returned -16";
        let found = judged(vec![reason("9 lid", 4), reason("31 nfc", 1_200), reason(refused, 7)]);
        let words = &found[0].sentence;
        assert!(words.contains("a device refused: elm-oak (error -16 (EBUSY"), "{words}");
        assert_eq!(found[0].level, Level::Risk, "so many wake-ups are no rest");
        assert!(judged(vec![off(30, 30)]).is_empty(), "half an hour is no night");
        let apps = vec![
            off(120, 100),
            held(Kind::Kernel, OF_APPS, 90, 9),
            held(Kind::App, "u0a3 sync", 80, 2),
        ];
        assert!(judged(apps)[0].sentence.contains("u0a3 sync held it"));
        let none = vec![off(120, 100), held(Kind::Kernel, "wl", 9, 9)];
        assert!(judged(none)[0].sentence.contains("No wake lock explains it"));
    }

    #[test]
    fn a_partial_wake_lock_that_is_held_for_long_is_told() {
        let told = |rows: &[&str]| {
            let mut out = Vec::new();
            locks(&Case::shown(rows), &mut out);
            out.pop().map(|f| f.sentence)
        };
        let long =
            "  PARTIAL_WAKE_LOCK              'oak.sync' ACQ=-2h7m3s450ms LONG (uid=10077 pid=7)";
        let short = "  PARTIAL_WAKE_LOCK              'elm' ACQ=-2s (uid=1041 pid=0)";
        let said = told(&[short, long]).expect("told");
        assert!(said.starts_with("oak.sync (uid 10077) holds a partial wake lock, for 2 h 7 min"));
        assert!(!said.contains("elm"), "{said}");
        assert_eq!(told(&[short]), None);
        let screen = "  SCREEN_BRIGHT_WAKE_LOCK        'oak' ACQ=-2h7m3s (uid=10077 pid=7)";
        assert_eq!(told(&[screen, "I hold a PARTIAL_WAKE_LOCK for 3h"]), None);
        assert_eq!(duration("-1d2h"), Some(93_600));
        assert_eq!((duration("-450ms"), duration("-x")), (Some(0), None));
    }
}
