//! What a battery said, by files, by programs and by people.

use dormouse_doctor::night::Fact;
use dormouse_doctor::night::charge::{Charge, Drain, Gauge, Side};

/// Files of /sys/class/power_supply (drivers/power/supply/power_supply_sysfs.c), and names in
/// its uevent.
const FILES: [(&str, Gauge); 6] = [
    ("energy_now", Gauge::Energy),
    ("charge_now", Gauge::Charge),
    ("energy_full", Gauge::EnergyFull),
    ("charge_full", Gauge::ChargeFull),
    ("voltage_now", Gauge::Voltage),
    ("power_now", Gauge::Power),
];

/// A whole per cent, in thousandths.
const PER_CENT: i64 = 1_000;

/// The battery that a text names: `BAT0`, `macsmc-battery`.
fn battery(text: &str) -> String {
    let at = text
        .find("BAT")
        .filter(|&at| text[at + 3..].starts_with(|c: char| c.is_ascii_alphanumeric()));
    let word = at.map(|at| {
        let end =
            text[at..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(text.len(), |e| at + e);
        &text[at..end]
    });
    word.unwrap_or("").into()
}

/// A decimal number with groups of three, in thousandths, and what follows.
fn decimal(text: &str) -> Option<(i64, &str)> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.')).unwrap_or(text.len());
    let word = text[..end].trim_end_matches([',', '.']);
    let rest = &text[word.len()..];
    let groups = |w: &str| {
        let mut parts = w.split(',');
        let first = parts.next().unwrap_or("");
        (1..=3).contains(&first.len()) && parts.clone().count() > 0 && parts.all(|p| p.len() == 3)
    };
    let (whole, part) = match word.split_once('.') {
        Some(p) => p,
        None if groups(word) => (word, ""),
        None => word.split_once(',').unwrap_or((word, "")),
    };
    let whole: i64 = whole.replace(',', "").parse().ok()?;
    let part: i64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    Some((whole.checked_mul(1_000)?.checked_add(part)?, rest))
}

/// A figure with a unit: what it is of, its value in the gauge's unit, its step.
fn quantity(text: &str) -> Option<(Gauge, i64, i64, &str)> {
    let (n, rest) = decimal(text)?;
    let after = rest.trim_start();
    let units: [(&str, Gauge, i64); 11] = [
        ("µWh", Gauge::Energy, 1),
        ("μWh", Gauge::Energy, 1),
        ("uWh", Gauge::Energy, 1),
        ("mWh", Gauge::Energy, 1_000),
        ("Wh", Gauge::Energy, 1_000_000),
        ("µAh", Gauge::Charge, 1),
        ("uAh", Gauge::Charge, 1),
        ("mAh", Gauge::Charge, 1_000),
        ("Ah", Gauge::Charge, 1_000_000),
        ("mW", Gauge::Power, 1_000),
        ("W", Gauge::Power, 1_000_000),
    ];
    if let Some(rest) = after.strip_prefix('%').or_else(|| after.strip_prefix("percent")) {
        let step = if text[..text.len() - rest.len()].contains('.') { 10 } else { PER_CENT };
        return Some((Gauge::Percent, n, step, rest));
    }
    let (unit, gauge, scale) = units.into_iter().find(|u| {
        let end = after.strip_prefix(u.0);
        end.is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric()))
    })?;
    let value = n.checked_mul(scale)? / 1_000;
    Some((gauge, value, scale, &after[unit.len()..]))
}

/// Every figure with a unit on a line, with where it begins and ends.
fn quantities(text: &str) -> Vec<(usize, usize, Gauge, i64, i64)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(digit) = text[at..].find(|c: char| c.is_ascii_digit()).map(|d| at + d) else {
            break;
        };
        let inside = text[..digit].ends_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_');
        match quantity(&text[digit..]).filter(|_| !inside) {
            Some((gauge, value, step, rest)) => {
                let end = text.len() - rest.len();
                out.push((digit, end, gauge, value, step));
                at = end;
            }
            None => {
                let skip =
                    text[digit..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - digit);
                at = digit + skip;
            }
        }
    }
    out
}

/// Seconds of the day, `23:10`, `23:10:05`; where it begins and ends.
fn clock(text: &str) -> Option<(usize, usize, i64)> {
    let b = text.as_bytes();
    for at in 0..b.len().saturating_sub(4) {
        let digits = |i: usize| b.get(i..i + 2).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
        let begins = at == 0 || !b[at - 1].is_ascii_digit() && b[at - 1] != b':';
        if !(begins && digits(at) && b[at + 2] == b':' && digits(at + 3)) {
            continue;
        }
        let n = |i: usize| i64::from(b[i] - b'0') * 10 + i64::from(b[i + 1] - b'0');
        let (h, m) = (n(at), n(at + 3));
        let s = (b.get(at + 5) == Some(&b':') && digits(at + 6)).then(|| n(at + 6));
        if h < 24 && m < 60 {
            let end = at + if s.is_some() { 8 } else { 5 };
            return Some((at, end, h * 3_600 + m * 60 + s.unwrap_or(0)));
        }
    }
    None
}

/// All times of day on a line.
fn clocks(text: &str) -> Vec<i64> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, end, t)) = clock(rest) {
        out.push(t);
        rest = &rest[end..];
    }
    out
}

/// Seconds of the days since some year: a date and a time of day in ISO form, or the time of
/// day alone.
fn stamp(text: &str) -> Option<i64> {
    let (at, _, t) = clock(text)?;
    Some(days(text[..at].trim_end_matches([' ', 'T'])).map_or(t, |d| d * 86_400 + t))
}

/// Days of the civil calendar that a text ends with: `2031-02-03`.
fn days(before: &str) -> Option<i64> {
    let date = before.get(before.len().checked_sub(10)?..)?;
    let mut parts = date.split('-').map(|p| p.parse::<i64>().ok());
    let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
    let known = y > 1970 && (1..=12).contains(&m) && (1..=31).contains(&d);
    // From March on.
    let (y, m) = if m <= 2 { (y - 1, m + 9) } else { (y, m - 3) };
    known.then(|| y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + d)
}

/// The first length of time on a line, in seconds: `9 h 19 min`, `5 hours`, `70 min 43 s`,
/// `70-minute`, `8h12m`, `30 minutes`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let units: [(&str, i64); 15] = [
        ("hours", 3_600),
        ("hour", 3_600),
        ("hrs", 3_600),
        ("hr", 3_600),
        ("h", 3_600),
        ("minutes", 60),
        ("minute", 60),
        ("mins", 60),
        ("min", 60),
        ("m", 60),
        ("seconds", 1),
        ("second", 1),
        ("secs", 1),
        ("sec", 1),
        ("s", 1),
    ];
    let mut found: Option<i64> = None;
    let mut last = i64::MAX;
    let mut at = 0;
    while let Some(digit) = text[at..].find(|c: char| c.is_ascii_digit()).map(|d| at + d) {
        let glued = text[..digit]
            .ends_with(|c: char| c.is_alphabetic() && found.is_none() || c == '.' || c == ':');
        let (n, rest) = decimal(&text[digit..]).unwrap_or((0, &text[digit + 1..]));
        let after = rest.trim_start_matches([' ', '-', '+']);
        let word = after.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
        let ends = !after[word.len()..].starts_with(|c: char| {
            c.is_ascii_digit() && word.len() == 1 && found.is_none() && rest.starts_with(' ')
        });
        let unit =
            units.iter().find(|u| u.0 == word).filter(|_| ends && !glued && !rest.starts_with(':'));
        match unit {
            Some((_, scale)) if *scale < last => {
                found = Some(found.unwrap_or(0) + n.checked_mul(*scale).unwrap_or(0) / 1_000);
                last = *scale;
                at = text.len() - after.len() + word.len();
            }
            _ if found.is_some() => break,
            _ => at = text.len() - rest.len().min(text.len() - digit - 1),
        }
    }
    found
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|w| text.contains(w))
}

/// Which side of a sleep a line is of.
fn side(lower: &str) -> Option<Side> {
    let before = [
        "before",
        "at sleep",
        "at suspend",
        "pre-suspend",
        "pre suspend",
        "presuspend",
        "at the start",
        "going to sleep",
        "closed",
        "put it to sleep",
        "went to sleep",
        "on suspend",
        "at entry",
        "(pre)",
    ];
    let after = [
        "after",
        "at wake",
        "at resume",
        "post-suspend",
        "post suspend",
        "on resume",
        "on wake",
        "at the end",
        "woke",
        "wakeup",
        "opened",
        "in the morning",
        "this morning",
        "(post)",
    ];
    match (has(lower, &before), has(lower, &after)) {
        (true, false) => Some(Side::Before),
        (false, true) => Some(Side::After),
        _ => None,
    }
}

/// `energy_now: 123`, `/sys/class/power_supply/BAT0/energy_now:123`,
/// `POWER_SUPPLY_ENERGY_NOW=123`; per cent of `capacity`.
fn file(text: &str) -> Option<Charge> {
    let lower = text.to_ascii_lowercase();
    let known = FILES.iter().find_map(|f| Some((f.1, lower.find(f.0)? + f.0.len())));
    let capacity = || {
        let at = lower
            .find("capacity")
            .filter(|_| has(&lower, &["/capacity", "power_supply_capacity"]))?;
        Some((Gauge::Percent, at + "capacity".len()))
    };
    let (of, end) = known.or_else(capacity)?;
    let rest = text.get(end..)?;
    let value = rest.trim_start_matches([':', '=', ' ', '\t', '|', '"']);
    if value.len() == rest.len() {
        return None;
    }
    let (n, rest) = decimal(value)?;
    let rest = rest.trim_start();
    if !(rest.is_empty() || rest.starts_with([',', ';', '|', '"', '(', 'µ', 'u', '%'])) {
        return None;
    }
    let value = match of {
        Gauge::Percent => n,
        // Millivolts.
        Gauge::Voltage => n / 1_000_000,
        _ => n / 1_000,
    };
    let at = stamp(text.get(..end)?);
    let step = if of == Gauge::Percent { PER_CENT } else { 1 };
    Some(Charge { battery: battery(text), of, value, at, step, side: side(&lower) })
}

/// Whether a line speaks of a battery at all.
fn is_of_battery(lower: &str) -> bool {
    has(
        lower,
        &[
            "batter",
            "bat0",
            "bat1",
            "energy",
            "charge",
            "capacity",
            "percent",
            "drain",
            "discharg",
            "consumed",
            "lost",
            "loses",
            "losing",
            "level",
            "dropped from",
            "went from",
        ],
    ) && !has(lower, &["rc6", "cpu%", "residency", "completed", "progress", "pc10", "s0ix"])
}

/// What a program or a person says was left at a moment: `Energy at sleep | 64,516,000 µWh`,
/// `Battery 0: Discharging, 85%`, `percentage: 62%`, `from 95% to 71%`.
fn told(text: &str, lower: &str) -> Vec<Charge> {
    let all = quantities(text);
    let stored = |g: Gauge| matches!(g, Gauge::Energy | Gauge::Charge | Gauge::Percent);
    let list: Vec<_> = all.iter().filter(|q| stored(q.2)).collect();
    let charge = |q: &(usize, usize, Gauge, i64, i64), at: Option<i64>, side: Option<Side>| {
        Charge { battery: battery(text), of: q.2, value: q.3, at, step: q.4, side }
    };
    // Two figures of one kind with `to` between them.
    if let [first, second, ..] = list[..]
        && first.2 == second.2
    {
        let middle = text[first.1..second.0].to_lowercase();
        let arrow = has(&middle, &["->", "→", "=>", " to ", "down to"]) || middle.trim() == "to";
        if arrow
            && has(
                &text[..first.0].to_lowercase(),
                &["from", "batter", "bat", "energy", "charge", "went", "dropped", ":"],
            )
        {
            let times = clocks(text);
            let (a, b) = match times[..] {
                [a, b] => (Some(a), Some(b)),
                _ => (None, None),
            };
            return vec![
                charge(first, a, Some(Side::Before)),
                charge(second, b, Some(Side::After)),
            ];
        }
    }
    let [one] = list[..] else { return Vec::new() };
    let consumed = [
        "consumed",
        "lost",
        "used",
        "drain",
        "burn",
        "rate",
        "discharge rate",
        "per hour",
        "/h",
        "full",
        "design",
    ];
    if has(lower, &consumed) {
        return Vec::new();
    }
    let side = side(lower);
    let labelled = has(
        lower,
        &[
            "percentage:",
            "discharging,",
            "energy:",
            "charging,",
            "battery level",
            "battery at",
            "battery:",
            "charge:",
            "charge percentage",
        ],
    );
    if side.is_none() && !labelled {
        return Vec::new();
    }
    vec![charge(one, stamp(text), side)]
}

/// What somebody says that a sleep took: `80% of the battery overnight`, `drained ~20% in ~5
/// hours`, `Battery BAT0 lost 4500 µWh (10.1%)`.
fn drain(text: &str, lower: &str) -> Option<Drain> {
    let verbs = [
        "burn",
        "lost",
        "lose",
        "losing",
        "drain",
        "consumed",
        "used",
        "dropped",
        "drop of",
        "battery loss",
        "discharged",
    ];
    let begins = |at: &usize| !lower[..*at].ends_with(|c: char| c.is_alphanumeric());
    let at = verbs.iter().filter_map(|v| lower.find(v).filter(begins)).min()?;
    let all = quantities(text);
    if has(lower, &["if ", "should", "less than", "expected", "normal"]) {
        return None;
    }
    // A rate is a drain of an hour.
    if has(lower, &["per hour", "/h", "an hour", "% hourly"]) {
        let (_, _, _, percent, _) = *all.iter().find(|q| q.2 == Gauge::Percent)?;
        return Some(Drain {
            percent: Some(percent),
            energy: None,
            seconds: Some(3_600),
            about: true,
        });
    }
    // Two figures with `to` between them are readings.
    let percent = all.iter().find(|q| q.2 == Gauge::Percent);
    let energy = all.iter().find(|q| q.2 == Gauge::Energy);
    let near = percent.or(energy)?;
    if near.0.abs_diff(at) > 60 {
        return None;
    }
    let about = text[..near.0].ends_with('~')
        || has(lower, &["about", "around", "almost", "roughly", "nearly"]);
    let seconds = rate(text, energy.map(|q| q.3)).or_else(|| duration(text));
    Some(Drain { percent: percent.map(|q| q.3), energy: energy.map(|q| q.3), seconds, about })
}

/// `lost 270000 µWh (0.81%) [Average rate 2.23W]`: the energy and its rate tell the time.
fn rate(text: &str, energy: Option<i64>) -> Option<i64> {
    let (_, rest) = text.split_once("Average rate ")?;
    let (gauge, watts, _, _) = quantity(rest)?;
    (gauge == Gauge::Power && watts > 0)
        .then(|| energy?.checked_mul(3_600)?.checked_div(watts))
        .flatten()
}

/// Everything about batteries on a line, sentence by sentence.
pub(crate) fn read(text: &str) -> Vec<Fact> {
    let about = is_of_battery(&text.to_lowercase());
    if text.matches('%').count() < 2 {
        return sentence(text, about);
    }
    text.split_inclusive(". ").flat_map(|s| sentence(s, about)).collect()
}

fn sentence(text: &str, of_battery: bool) -> Vec<Fact> {
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    if let Some(c) = file(text) {
        return vec![Fact::Charge(c)];
    }
    if !(text.contains('%')
        || text.contains("Wh")
        || text.contains("Ah")
        || text.contains("percent"))
    {
        return Vec::new();
    }
    let lower = text.to_lowercase();
    if !of_battery {
        return Vec::new();
    }
    let told = told(text, &lower);
    if !told.is_empty() {
        return told.into_iter().map(Fact::Charge).collect();
    }
    drain(text, &lower).map(Fact::Drain).into_iter().collect()
}

/// What a file of one number says.
pub(crate) fn of_file(path: &str, text: &str) -> Option<Fact> {
    let named = format!("{path}:{}", text.trim());
    file(&named).map(Fact::Charge)
}

/// `70-minute suspend (09:05:48 → 10:16:31)`: how long a sleep was, by the times of day that a
/// line gives, else in words.
pub(crate) fn slept(text: &str) -> Option<i64> {
    let lower = text.to_lowercase();
    if !has(&lower, &["suspend", "sleep", "asleep", "slept", "overnight", "closed"]) {
        return None;
    }
    let times = clocks(text);
    if let [first, last] = times[..]
        && has(&lower, &["→", "->", " to ", "until", "–", " - "])
    {
        return Some((last - first).rem_euclid(86_400));
    }
    duration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charges(text: &str) -> Vec<(Gauge, i64, Option<Side>)> {
        let of = |f: Fact| match f {
            Fact::Charge(c) => Some((c.of, c.value, c.side)),
            _ => None,
        };
        read(text).into_iter().filter_map(of).collect()
    }

    #[test]
    fn gauges_are_read_in_every_form() {
        use Gauge::{Energy, Percent};
        use Side::{After, Before};
        assert_eq!(
            charges("/sys/class/power_supply/BAT1/energy_now:31220000"),
            [(Energy, 31_220_000, None)]
        );
        assert_eq!(charges("POWER_SUPPLY_ENERGY_NOW=5"), [(Energy, 5, None)]);
        assert_eq!(charges("/sys/class/power_supply/BAT0/capacity:88"), [(Percent, 88_000, None)]);
        assert_eq!(
            charges("| Energy at sleep | 12,500,000 µWh |"),
            [(Energy, 12_500_000, Some(Before))]
        );
        assert_eq!(charges("Energy after resume: 11.25 Wh"), [(Energy, 11_250_000, Some(After))]);
        assert_eq!(
            charges("Battery went from 97% to 61% over the night"),
            [(Percent, 97_000, Some(Before)), (Percent, 61_000, Some(After))]
        );
        assert_eq!(
            charges("Battery 0: Discharging, 85%, 03:12:34 remaining"),
            [(Percent, 85_000, None)]
        );
        assert_eq!(charges("    percentage:          62%"), [(Percent, 62_000, None)]);
        assert!(charges("S0ix residency was 98% of the suspend, battery fine").is_empty());
    }

    #[test]
    fn drains_and_lengths_are_read_from_words() {
        let sides = "I closed the lid at 22:30 with 88% battery. When I opened it at 08:00 the battery was at 41%.";
        let all = charges(sides);
        assert_eq!(
            all,
            [
                (Gauge::Percent, 88_000, Some(Side::Before)),
                (Gauge::Percent, 41_000, Some(Side::After))
            ]
        );
        let of = |t: &str| match read(t).pop() {
            Some(Fact::Drain(d)) => Some((d.percent, d.energy, d.seconds)),
            _ => None,
        };
        assert_eq!(
            of("it lost about 33% of the battery in 7 hours"),
            Some((Some(33_000), None, Some(25_200)))
        );
        assert_eq!(
            of("Battery BAT0 lost 4500000 µWh (9.25%) [Average rate 0.61W]"),
            Some((Some(9_250), Some(4_500_000), Some(26_557)))
        );
        assert_eq!(of("battery drains 2% per hour"), Some((Some(2_000), None, Some(3_600))));
        assert_eq!(of("it should lose less than 2% per hour"), None);
        assert_eq!(duration("after 9 h 19 min"), Some(33_540));
        assert_eq!(duration("a 70-minute suspend"), Some(4_200));
        assert_eq!(duration("8h12m"), Some(29_520));
        assert_eq!(duration("kernel 6.9.2 h"), None);
        assert_eq!(slept("asleep (23:50:00 → 06:20:30)"), Some(23_430));
        assert_eq!(
            stamp("2031-02-03 00:00:10").zip(stamp("2031-02-02 23:00:10")).map(|(a, b)| a - b),
            Some(3_600)
        );
    }
}
