//! What Android's `dumpsys batterystats` says of the time since the last charge
//! (frameworks/base, BatteryStats.java:dumpLocked, Android 5 to 14).

use super::count::number;
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::android::{Battery, Kind};
use dormouse_doctor::night::charge::Window;

/// `8h 2m 1s 3ms` in ms, and what follows.
fn time(text: &str) -> Option<(u64, &str)> {
    let units = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let (mut ms, mut rest, mut any) = (0u64, text.trim_start(), false);
    while let Some((n, after)) = number(rest) {
        let Some((unit, scale)) = units.iter().find(|u| after.starts_with(u.0)) else { break };
        let after = &after[unit.len()..];
        if !(after.is_empty() || after.starts_with([' ', ','])) {
            break;
        }
        ms = ms.saturating_add(n.saturating_mul(*scale));
        (rest, any) = (after.trim_start(), true);
    }
    any.then_some((ms, rest))
}

/// A row of a list: who, how long, how often.
fn row(text: &str, kind: Kind) -> Option<Battery> {
    // Names have colons too.
    let (name, (ms, rest)) = text
        .rmatch_indices(": ")
        .find_map(|(at, mark)| Some((&text[..at], time(&text[at + mark.len()..])?)))?;
    let times = rest.strip_prefix('(').and_then(number).filter(|n| n.1.starts_with(" times)"));
    let times = times.map(|n| n.0)?;
    rest.ends_with("realtime").then(|| Battery::Held { kind, name: name.trim().into(), ms, times })
}

/// A row of a table that somebody made of these reasons: the name, and in any order behind it
/// a count and a time.
pub(super) fn cell(text: &str) -> Option<Fact> {
    let row = text.trim().strip_prefix('|')?.trim_end_matches('|').replace('*', "");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let (name, rest) = cells.split_first()?;
    // What is quoted is the name; words beside it are the writer's.
    let name = name.split('`').nth(1).unwrap_or(name);
    let count =
        |cell: &&str| number(&cell.replace(',', "")).filter(|n| n.1.is_empty()).map(|n| n.0);
    let held = |cell: &&str| {
        let mut cell = (*cell).to_owned();
        for unit in [" ms", " d", " h", " m", " s"] {
            cell = cell.replace(unit, unit.trim_start());
        }
        time(&cell).filter(|t| t.1.is_empty()).map(|t| t.0)
    };
    let (times, ms) = (rest.iter().find_map(count)?, rest.iter().find_map(held)?);
    (!name.is_empty())
        .then(|| Fact::Android(Battery::Held { kind: Kind::Reason, name: name.into(), ms, times }))
}

/// What woke it, by a line of the history (frameworks/base, BatteryStats.java:
/// HistoryPrinter.printNextItem): `01-31 22:10:05.120 087 +running wake_reason=0:"57 rtc"`. What
/// was given up begins with `Abort`.
fn reason(text: &str) -> Option<Battery> {
    let (_, rest) = text.split_once(" wake_reason=")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(":\"")?;
    let name = name.split_once('"')?.0.trim();
    (!name.is_empty() && !name.starts_with("Abort")).then(|| Battery::Woke(name.into()))
}

/// A line of it.
pub(super) fn read(text: &str) -> Option<Fact> {
    let text = text.trim();
    let one = || {
        if let Some(rest) = text.strip_prefix("Time on battery screen off:") {
            let (ms, rest) = time(rest)?;
            let (_, rest) = rest.split_once("realtime,")?;
            return Some(Battery::ScreenOff { ms, awake: time(rest)?.0 });
        }
        if let Some(rest) = text.strip_prefix("Amount discharged while screen off:") {
            return Some(Battery::Discharged(number(rest.trim_start())?.0));
        }
        let lists = [
            ("Kernel Wake lock ", Kind::Kernel),
            ("Wakeup reason ", Kind::Reason),
            ("Wake lock ", Kind::App),
        ];
        let listed = |(head, kind)| row(text.strip_prefix(head)?, kind);
        lists.into_iter().find_map(listed).or_else(|| reason(text))
    };
    one().map(Fact::Android)
}

/// A line of the history, `01-31 22:10:05.120 087 status=discharging plug=none charge=3120`, that says
/// whether the device is charged, and what its battery had.
pub(super) struct Plugged {
    /// Since some day.
    seconds: i64,
    /// Per cent.
    level: i64,
    /// mAh.
    charge: i64,
    charging: bool,
}

/// Days of a year at most, by months of 31.
const YEAR: i64 = 12 * 31;

/// Reads such a line.
pub(super) fn plugged(text: &str) -> Option<Plugged> {
    let mut words = text.split_whitespace();
    let (day, clock, level) = (words.next()?, words.next()?, words.next()?);
    let (m, d) = day.split_once('-').filter(|_| day.len() == 5)?;
    let days = (m.parse::<i64>().ok()? * 31 + d.parse::<i64>().ok()?).clamp(0, YEAR + 31);
    let time = crate::time_of_day::TimeOfDay::read(clock.as_bytes())?;
    let level = level.parse().ok().filter(|n| level.len() == 3 && (0..=100).contains(n))?;
    let of = |name: &str| words.clone().find_map(|w| w.strip_prefix(name));
    let charging = match of("status=")? {
        "discharging" => false,
        "charging" | "full" => true,
        _ => return None,
    };
    let charge = of("charge=")?.parse().ok().filter(|n| (1..1_000_000).contains(n))?;
    Some(Plugged { seconds: days * 86_400 + time.ms() / 1_000, level, charge, charging })
}

/// What the battery gave from a line to the one at which it is charged again.
pub(super) fn given(from: &Plugged, to: &Plugged) -> Option<Window> {
    let seconds = to.seconds - from.seconds;
    let used = from.charge - to.charge;
    let hourly = (from.level - to.level).max(0) * 1_000 * 3_600 / seconds.max(1);
    (!from.charging && to.charging && seconds >= 3_600 && used > 0).then(|| Window {
        seconds,
        charge: Some(used * 1_000),
        power: None,
        hourly: Some(hourly),
        of_sleep: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_batterystats_are_read_with_their_times() {
        let of = |t: &str| match read(t) {
            Some(Fact::Android(b)) => Some(b),
            _ => None,
        };
        let off = "  Time on battery screen off: 1d 2h 1m 2s 30ms (95.1%) realtime, 40m 5s 1ms (2.4%) uptime";
        assert_eq!(of(off), Some(Battery::ScreenOff { ms: 93_662_030, awake: 2_405_001 }));
        let row = |kind, name: &str, ms, times| {
            Some(Battery::Held { kind, name: name.into(), ms, times })
        };
        assert_eq!(
            of("  Kernel Wake lock a: b_wl: 2h 0m 1s 5ms (77 times) realtime"),
            row(Kind::Kernel, "a: b_wl", 7_201_005, 77)
        );
        assert_eq!(
            of("  Wake lock u0a7 *job*/org.x/.Y: 9s 12ms (3 times) max=620 realtime"),
            row(Kind::App, "u0a7 *job*/org.x/.Y", 9_012, 3)
        );
        assert_eq!(
            of("  Wakeup reason 57:smp2p:hub: 4m 1s 20ms (8 times) realtime"),
            row(Kind::Reason, "57:smp2p:hub", 241_020, 8)
        );
        let history = "  +3m53s120ms (2) 087 +running wake_reason=0:\"57:pmic_elm\" -wifi";
        assert_eq!(of(history), Some(Battery::Woke("57:pmic_elm".into())));
        assert_eq!(of("  01-31 22:10:05.120 087 wake_reason=0:\"Abort: Some device\""), None);
        assert_eq!(of("  Amount discharged while screen off: 24"), Some(Battery::Discharged(24)));
        assert_eq!(
            cell("| `31 pmic:9 nfc` - **NFC** | **1,204** | 2 h 3 m 4 s |"),
            Some(Fact::Android(Battery::Held {
                kind: Kind::Reason,
                name: "31 pmic:9 nfc".into(),
                ms: 7_384_000,
                times: 1_204
            }))
        );
        let other = cell("| `31 pmic:9 nfc` | 2 h 3 m 4 s | 4.1% | 1,204 | why |");
        assert_eq!(other, cell("| 31 pmic:9 nfc | 1204 | 2h 3m 4s |"));
        assert_eq!(cell("| wakeup reason | count | time |"), None);
        for none in ["Wake lock: the longest", "Kernel Wake lock x: (2 times) realtime", "8h 2m"] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
