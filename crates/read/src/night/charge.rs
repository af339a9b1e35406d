//! What a battery said, by files, by programs and by people.

use super::line::{has, has_word, is_of_sleep};
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::charge::{Charge, Drain, Gauge, Side, Teller, Window};

/// Files of /sys/class/power_supply (drivers/power/supply/power_supply_sysfs.c), and names in
/// its uevent.
const FILES: [(&str, Gauge); 4] = [
    ("energy_now", Gauge::Energy),
    ("charge_now", Gauge::Charge),
    ("energy_full", Gauge::EnergyFull),
    ("charge_full", Gauge::ChargeFull),
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
    let units: [(&str, Gauge, i64); 8] = [
        ("µWh", Gauge::Energy, 1),
        ("μWh", Gauge::Energy, 1),
        ("uWh", Gauge::Energy, 1),
        ("mWh", Gauge::Energy, 1_000),
        ("Wh", Gauge::Energy, 1_000_000),
        ("µAh", Gauge::Charge, 1),
        ("uAh", Gauge::Charge, 1),
        ("mAh", Gauge::Charge, 1_000),
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

/// Where a figure begins and ends, what it is of, its value and its step.
pub(crate) type Quantity = (usize, usize, Gauge, i64, i64);

/// Every figure with a unit on a line.
pub(crate) fn quantities(text: &str) -> Vec<Quantity> {
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

/// Seconds of the day, `23:10`, `23:10:05`, `11:10 pm`; where it begins and ends.
fn clock(text: &str) -> Option<(usize, usize, i64)> {
    let b = text.as_bytes();
    let digit = |i: usize| b.get(i).filter(|d| d.is_ascii_digit()).map(|d| i64::from(d - b'0'));
    let pair = |i: usize| Some(digit(i)? * 10 + digit(i + 1)?);
    for colon in memchr::memchr_iter(b':', b) {
        let at =
            if colon >= 2 && digit(colon - 2).is_some() { colon - 2 } else { colon.max(1) - 1 };
        let begins = at == 0 || !b[at - 1].is_ascii_digit() && b[at - 1] != b':';
        let hour = if colon - at == 2 { pair(at) } else { digit(at) };
        let (Some(h), Some(m), true) = (hour, pair(colon + 1), begins) else { continue };
        if is_zone(&text[..at]) {
            continue;
        }
        let s = (b.get(colon + 3) == Some(&b':')).then(|| pair(colon + 4)).flatten();
        let end = colon + if s.is_some() { 6 } else { 3 };
        let rest = text.get(end..).unwrap_or("").trim_start();
        let noon = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("am") => Some(0),
            Some("pm") => Some(12),
            _ => None,
        };
        // A time that is left is none of the day.
        let left = ["remaining", "until", "to full", "to empty", "left"];
        if left.iter().any(|w| rest.starts_with(w))
            || h > 23
            || m > 59
            || colon - at < 2 && noon.is_none()
        {
            continue;
        }
        let h = noon.map_or(h, |n| h % 12 + n);
        return Some((at, end, h * 3_600 + m * 60 + s.unwrap_or(0)));
    }
    None
}

/// Whether what follows is the zone of a time: behind `06:41:56+`, or a fraction and a sign.
fn is_zone(before: &str) -> bool {
    let fraction = |b: &str| b.ends_with(|c: char| c.is_ascii_digit()) && b.contains(['.', ',']);
    let word = before.rsplit(char::is_whitespace).next().unwrap_or("");
    let east = |b: &str| b.is_empty() || b.ends_with(|c: char| c.is_ascii_digit());
    word.strip_suffix('+').is_some_and(east) || word.strip_suffix('-').is_some_and(fraction)
}

/// All times of day on a line.
pub(crate) fn clocks(text: &str) -> Vec<i64> {
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
    (y > 1970 && (1..=12).contains(&m) && (1..=31).contains(&d))
        .then(|| crate::klog::civil_days(y, m, d))
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

/// Which side of a sleep a line is of.
fn side(lower: &str) -> Option<Side> {
    let before = "before|at sleep|at suspend|pre-suspend|pre suspend|presuspend|at the start|to sleep|closed|on suspend|at entry|(pre)";
    let after = "after|at wake|at resume|post-suspend|post suspend|on resume|on wake|at the end|woke|wakeup|opened|in the morning|this morning|(post)";
    match (has(lower, before), has(lower, after)) {
        (true, false) => Some(Side::Before),
        (false, true) => Some(Side::After),
        _ => None,
    }
}

/// `energy_now: 123`, `/sys/class/power_supply/BAT0/energy_now:123`,
/// `POWER_SUPPLY_ENERGY_NOW=123`, `energy_now = 40100 [mWh]` of tlp-stat; per cent of `capacity`.
fn file(text: &str, lower: &str) -> Option<Charge> {
    let known = FILES.iter().find_map(|f| Some((f.1, lower.find(f.0)? + f.0.len())));
    let capacity = || {
        let at =
            lower.find("capacity").filter(|_| has(lower, "/capacity|power_supply_capacity"))?;
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
    // A hook that logs them joins several: `BAT0/energy_now=5 BAT0/status=Full`.
    let assigned = || rest.split(' ').next().is_some_and(|w| w.contains('='));
    let ends = rest.starts_with([',', '|', '"', '(', '[', 'µ', 'u', '%']);
    if !(rest.is_empty() || ends || assigned()) {
        return None;
    }
    let value = match of {
        Gauge::Percent => n,
        _ if rest.starts_with("[m") => n,
        _ => n / 1_000,
    };
    let at = stamp(text.get(..end)?);
    let step = if of == Gauge::Percent { PER_CENT } else { 1 };
    let before = has_word(lower.get(..end)?, "pre");
    let word = if before { Side::Before } else { Side::After };
    let word = Some(word).filter(|_| before || has_word(&lower[..end], "post"));
    Some(Charge {
        battery: battery(text),
        of,
        value,
        at,
        step,
        side: side(lower).or(word),
        by: Teller::File,
        of_sleep: false,
    })
}

/// What a program or a person says was left at a moment: `Energy at sleep | 64,516,000 µWh`,
/// `Battery 0: Discharging, 85%`, `percentage: 62%`, `Battery before: 80%, after: 78%`, `from 95%
/// to 71% of the battery`.
fn told(text: &str, lower: &str, by: Teller) -> Vec<Charge> {
    let list = quantities(text);
    let of_sleep = is_of_sleep(lower);
    let charge = |q: &Quantity, at: Option<i64>, side: Option<Side>| Charge {
        battery: battery(text),
        of: q.2,
        value: q.3,
        at,
        step: q.4,
        side,
        by,
        of_sleep,
    };
    // Two figures of one kind: with `to` between them, or each with its side.
    if let [first, second] = &list[..]
        && first.2 == second.2
    {
        let (head, middle) = (&lower[..first.0], &lower[first.1..second.0]);
        let arrow = has(middle, "->|→|=>| to ");
        // `the battery had 81 % at 23:10 and 47 % at 07:02`.
        let timed = clocks(text).len() == 2 && has(lower, "batter|charge|level");
        let arrow = arrow || timed && first.3 >= second.3;
        let sides = (side(head), side(middle)) == (Some(Side::Before), Some(Side::After));
        if sides || arrow && (timed || has(head, "from|batter|bat|energy|charge|:")) {
            let (a, b) = match clocks(text)[..] {
                [a, b] => (Some(a), Some(b)),
                _ => (None, None),
            };
            return vec![
                charge(first, a, Some(Side::Before)),
                charge(second, b, Some(Side::After)),
            ];
        }
    }
    if let Some(all) = both_sides(text, lower, &list, &charge) {
        return all;
    }
    if let Some(all) = columns(text, &list, by, &charge) {
        return all;
    }
    // Each figure behind the name of its battery.
    let named: Vec<Charge> = list
        .windows(2)
        .map(|w| (w[0].1, &w[1]))
        .chain(list.first().map(|q| (0, q)))
        .map(|(from, q)| Charge {
            battery: battery(&text[from..q.0]),
            ..charge(q, stamp(text), None)
        })
        .filter(|c| !c.battery.is_empty())
        .collect();
    if named.len() > 1 && named.len() == list.len() && by == Teller::Program {
        return named;
    }
    let all: Vec<Charge> =
        labelled(text).iter().map(|q| charge(q, stamp(text), side(lower))).collect();
    if all.len() > 1 && by == Teller::Program {
        return all;
    }
    let [one] = &list[..] else { return Vec::new() };
    let used = "consum|lost|lose|used|drain|burn|rate|per hour|/h|full|design";
    if has(lower, used) {
        return Vec::new();
    }
    let side = side(lower);
    let labels =
        "percentage:|discharging,|energy:|charging,|battery level|battery at|battery:|charge:";
    if side.is_none() && (by == Teller::Person || !has(lower, labels)) {
        return Vec::new();
    }
    vec![charge(one, stamp(text), side)]
}

/// `percentage:  88%     percentage:  49%`: two blocks of upower beside each other, that of
/// before a sleep on the left. What a full battery has is no reading.
fn columns(text: &str, list: &[Quantity], by: Teller, charge: &Reading<'_>) -> Option<Vec<Charge>> {
    let [first, second] = list else { return None };
    let (left, right) = (text[..first.0].trim(), text[first.1..second.0].trim());
    let label = matches!(left, "energy:" | "percentage:" | "charge:");
    let are = by == Teller::Program && label && left == right && first.2 == second.2;
    let sides = [Side::Before, Side::After];
    are.then(|| {
        [first, second].into_iter().zip(sides).map(|(q, s)| charge(q, None, Some(s))).collect()
    })
}

/// A figure with its time and side.
type Reading<'a> = dyn Fn(&Quantity, Option<i64>, Option<Side>) -> Charge + 'a;

/// `before 22:40: 40.1 Wh, 80 %; after 06:10: 31 Wh, 62 %`: each gauge on both sides of a sleep.
fn both_sides(
    text: &str,
    lower: &str,
    list: &[Quantity],
    charge: &Reading<'_>,
) -> Option<Vec<Charge>> {
    let from = lower.find("before")?;
    let list: Vec<&Quantity> = list.iter().filter(|q| q.0 > from).collect();
    let half = list.len() / 2;
    let same = |at: usize| list[at].2 == list[at + half].2;
    (list.len().is_multiple_of(2) && half > 1 && (0..half).all(same)).then_some(())?;
    let (head, rest) = (&lower[from..list[half - 1].1], &lower[list[half - 1].1..]);
    let sides = (side(head), side(rest)) == (Some(Side::Before), Some(Side::After));
    let (a, b) = match clocks(&text[from..])[..] {
        [a, b] => (Some(a), Some(b)),
        _ => (None, None),
    };
    let before = list[..half].iter().map(|q| charge(q, a, Some(Side::Before)));
    let after = list[half..].iter().map(|q| charge(q, b, Some(Side::After)));
    sides.then(|| before.chain(after).collect())
}

/// `state: discharging energy: 31.2 Wh … percentage: 59%`: upower's block on one line.
fn labelled(text: &str) -> Vec<Quantity> {
    let labels = [" energy: ", " percentage: "].into_iter();
    let all = labels.filter_map(|label| {
        let at = text.find(label)? + label.len();
        let (of, value, step, rest) = quantity(text[at..].trim_start())?;
        Some((at, text.len() - rest.len(), of, value, step))
    });
    all.collect()
}

/// `BAT0: 1% was discharged in 2min. Estimating discharge rate...` of systemd
/// (src/sleep/sleep.c, 252 to 258).
fn discharged(text: &str) -> Option<Drain> {
    let (head, rest) = text.split_once("% was discharged in ")?;
    let word = head.rsplit([' ', ':']).next()?;
    let (percent, _) = decimal(word)?;
    let seconds = duration(rest.split(". ").next()?)?;
    Some(Drain {
        percent: Some(percent),
        seconds: Some(seconds),
        of_sleep: true,
        by_program: true,
        ..Drain::default()
    })
}

/// `2% battery discharged in 1053.000000 seconds time` of systemd (src/sleep/sleep.c, 252):
/// per cent and seconds.
pub(super) fn discharged_in(text: &str) -> Option<(i64, i64)> {
    let (head, rest) = text.split_once("% battery discharged in ")?;
    let (percent, _) = decimal(head.rsplit([' ', ':']).next()?)?;
    let seconds = duration(rest)?;
    (seconds > 0).then_some((percent, seconds))
}

/// `Battery BAT0 lost 270000 µWh (0.81%) [Average rate 2.23W]` of AMD's report
/// (amd-debug-tools, prerequisites and database, 0.1 to 0.2): energy and rate tell the time.
fn report(text: &str) -> Option<Drain> {
    let (head, rest) = text.split_once("[Average rate ")?;
    let (watts, rest) = decimal(rest)?;
    let list = quantities(head);
    let of = |gauge| list.iter().find(|q| q.2 == gauge).map(|q| q.3);
    let energy = of(Gauge::Energy)?;
    (head.contains(" lost ") && rest.starts_with('W') && watts > 0).then_some(())?;
    let seconds = energy.checked_mul(3_600)?.checked_div(watts.checked_mul(1_000)?);
    Some(Drain {
        percent: of(Gauge::Percent),
        energy: Some(energy),
        seconds,
        of_sleep: true,
        by_program: true,
        about: false,
    })
}

/// The number that stands before `unit` in brackets, `-9 (mAh)`, in thousandths.
fn bracketed(text: &str, unit: &str) -> Option<i64> {
    let (head, _) = text.split_once(&format!(" ({unit})"))?;
    let word = head.rsplit(' ').next()?;
    let (n, rest) = decimal(word.trim_start_matches('-'))?;
    rest.is_empty().then_some(if word.starts_with('-') { -n } else { n })
}

/// `(sleep) dT = 600 (s), dQ = -20 (mAh) = …, P = -1860 (mW)`, a sleep hook that logs what was used.
fn hook(text: &str, lower: &str) -> Option<Window> {
    let (head, _) = lower.split_once("dt = ")?;
    let seconds = bracketed(text, "s")? / 1_000;
    let charge = bracketed(text, "mAh")?;
    let power = bracketed(text, "mW").map(|p| p.abs());
    // More than before is a charge.
    (seconds > 0 && charge < 0).then_some(())?;
    // Its label says what the time was.
    let label = head.split_once('(').and_then(|h| h.1.split_once(')'));
    label.is_none_or(|l| is_of_sleep(l.0) || l.0.contains("night")).then_some(())?;
    let of_sleep = is_of_sleep(head);
    Some(Window { seconds, charge: Some(-charge), power, hourly: None, of_sleep })
}

/// A row of what was used in a time: `5.5h  410,000 uAh = 74.5 mA  (capacity 81% -> 77%)`, `| Airplane
/// mode | 31m12.5s | 120 mAh | 4.1%/h |`, `512 mAh consumed` with the time in the line `before`.
pub(crate) fn window(text: &str, lower: &str, before: &str, next: &str) -> Option<Window> {
    // A line of such a hook that is of no sleep is none of another form.
    if lower.contains("dt = ") && lower.contains("dq = ") {
        return hook(text, lower);
    }
    let none = "full charge|full capacity|fully|to full|design|combined|total|left|remain|expected|learned|since ";
    if has(lower, none) {
        return None;
    }
    let all = quantities(text);
    let mut used = all.iter().filter(|q| matches!(q.2, Gauge::Charge | Gauge::Energy));
    // Of a table the first; what follows are remarks.
    let row = text.trim_start().starts_with('|');
    let used = used.next().filter(|_| row || used.clone().next().is_none())?;
    let is_use = has(lower, "consum|discharg|used|lost|drain| ma |%") || lower.ends_with(" ma");
    let before_lower = before.to_ascii_lowercase();
    let above = || duration(before).filter(|_| is_of_sleep(&before_lower));
    let seconds = duration(&text[..used.0])
        .or_else(|| duration(&text[used.1..]).filter(|_| !lower[used.1..].contains("%/h")))
        .or_else(above)
        .filter(|s| *s >= 60 && is_use)?;
    let rate = |text: &str| {
        let list = quantities(text);
        let rates = |q: &&Quantity| {
            let rest = text[q.1..].trim_start();
            q.2 == Gauge::Percent
                && ["/h", "per hour", "an hour"].iter().any(|w| rest.starts_with(w))
        };
        list.iter().find(rates).map(|q| q.3)
    };
    let levels: Vec<i64> = all.iter().filter(|q| q.2 == Gauge::Percent).map(|q| q.3).collect();
    let fell = match levels[..] {
        [a, b] if a >= b => Some((a - b).saturating_mul(3_600) / seconds),
        _ => None,
    };
    let (charge, energy) = match used.2 {
        Gauge::Charge => (Some(used.3), None),
        _ => (None, Some(used.3)),
    };
    Some(Window {
        seconds,
        charge,
        power: energy.map(|e| e.saturating_mul(3_600) / seconds),
        hourly: rate(text).or(fell).or_else(|| rate(next)),
        of_sleep: is_of_sleep(lower) || is_of_sleep(&before_lower),
    })
}

/// `energy-full: 52.4 Wh` of upower.
fn full(text: &str, lower: &str) -> Option<Charge> {
    let rest = &text[text.len() - lower.trim_start().strip_prefix("energy-full:")?.len()..];
    let (gauge, value, step, _) = quantity(rest.trim_start())?;
    let of = Some(Gauge::EnergyFull).filter(|_| gauge == Gauge::Energy)?;
    let (battery, by) = (String::new(), Teller::Program);
    Some(Charge { battery, of, value, at: None, step, side: None, by, of_sleep: false })
}

/// Everything about batteries on a line of a program, or in a sentence.
pub(crate) fn read(text: &str, lower: &str, by: Teller) -> Vec<Fact> {
    let unit =
        text.contains('%') || text.contains("Wh") || text.contains("Ah") || has(lower, "percent");
    // Only batteries have ampere-hours.
    let hours = text.contains("mAh") && by == Teller::Program && is_of_sleep(lower);
    let named = FILES.iter().any(|f| lower.contains(f.0)) || has(lower, "capacity");
    if !(unit || named) {
        return Vec::new();
    }
    let file = || file(text, lower).or_else(|| full(text, lower));
    if let Some(c) = file().filter(|_| by != Teller::Person) {
        return vec![Fact::Charge(c)];
    }
    let rate = || {
        let (percent, seconds) = discharged_in(text)?;
        Some(Drain {
            percent: Some(percent),
            seconds: Some(seconds),
            of_sleep: true,
            by_program: true,
            ..Drain::default()
        })
    };
    if let Some(d) = report(text).or_else(|| discharged(text)).or_else(rate) {
        return vec![Fact::Drain(d)];
    }
    // A state of the platform has per cents too.
    let battery = has(lower, "batter|bat0|bat1|energy|charg|percentage:")
        && !has(lower, "residency|s0ix|awake|while i|?");
    // Of a car too: a sentence names the battery, or a sleep between two figures.
    let battery = battery && (by == Teller::Program || has(lower, "batter|bat0|bat1"));
    let both = || {
        let energy = text.matches("Wh").count() > 1 && has(lower, "before") && has(lower, "after");
        // What rises without the name of a battery is a share of something else.
        let falls = matches!(&quantities(text)[..], [a, b] if a.3 >= b.3);
        energy || is_of_sleep(lower) && falls && !has(lower, OTHER)
    };
    if !battery && !hours && !both() {
        return Vec::new();
    }
    told(text, lower, by).into_iter().map(Fact::Charge).collect()
}

/// What has per cents besides a battery, though a sentence on sleep names it.
const OTHER: &str = "residen|cpu|gpu|usage|busy|utili|load|package|pc10|s0i|memory|swap|faster|slower|improv|progress|bright|failure|success|hit rate";

/// What a file of one number says.
pub(crate) fn of_file(path: &str, text: &str) -> Option<Fact> {
    let named = format!("{path}:{}", text.trim());
    file(&named, &named.to_ascii_lowercase()).map(Fact::Charge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, by: Teller) -> Vec<Fact> {
        read(text, &text.to_ascii_lowercase(), by)
    }

    fn charges(text: &str) -> Vec<(Gauge, i64, Option<Side>)> {
        let of = |f: Fact| match f {
            Fact::Charge(c) => Some((c.of, c.value, c.side)),
            _ => None,
        };
        all(text, Teller::Program).into_iter().filter_map(of).collect()
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
    fn readings_of_both_sides_stand_on_one_line_or_two() {
        use Gauge::{Energy, Percent};
        use Side::{After, Before};
        for (text, unit, a, b) in [
            ("Battery before: 83%, after: 79%", Percent, 83_000, 79_000),
            (
                "Energy before suspend: 45.2 Wh, energy after: 40.1 Wh, slept 8h 30m",
                Energy,
                45_200_000,
                40_100_000,
            ),
            ("battery went from 66 % to 31 % over the night", Percent, 66_000, 31_000),
        ] {
            assert_eq!(charges(text), [(unit, a, Some(Before)), (unit, b, Some(After))], "{text}");
        }
        assert_eq!(
            charges("/sys/class/power_supply/BAT0/energy_now   =  40100 [mWh]"),
            [(Energy, 40_100_000, None)]
        );
        for none in [
            "The disk went from 71% to 93% full",
            "CPU went from 20% to 95%",
            "and s0ix residency in suspend goes from 0% to 91%",
            "after resume CPU usage went from 80% to 12%",
            "Deep Sleep (): 2 h 6 m 19 s 38,7% (-> should be 86.8%)",
            "Battery went from 97% to 61% while I was awake",
        ] {
            assert!(charges(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn times_of_day_are_told_from_times_that_are_left() {
        let first = |t: &str| clock(t).map(|c| c.2);
        assert_eq!(first("at 11:40 pm: 93%"), Some(85_200));
        assert_eq!(first("12:05 AM"), Some(300));
        assert_eq!(first("at 7:10 am"), Some(25_800));
        assert_eq!(first("at 07:10"), Some(25_800));
        assert_eq!(first("Discharging, 95%, 05:12:34 remaining"), None);
        assert_eq!(first("00:40:12 until charged"), None);
        assert_eq!(first("ratio 3:2"), None);
        let zones = ["2031-02-03T06:41:56.001530+01:00 zen x", "2031-02-03T06:41:56.1-05:00 zen x"];
        assert!(zones.iter().all(|t| clocks(t) == [24_116]));
        assert_eq!(clocks("from 23:10-06:41"), [83_400, 24_060]);
        let sides = stamp("2031-02-03 00:00:10").zip(stamp("2031-02-02 23:00:10"));
        assert_eq!(sides.map(|(a, b)| a - b), Some(3_600));
        assert_eq!(duration("after 9 h 19 min"), Some(33_540));
        assert_eq!(duration("a 70-minute suspend"), Some(4_200));
        assert_eq!(duration("8h12m"), Some(29_520));
        assert_eq!(duration("kernel 6.9.2 h"), None);
    }

    #[test]
    fn rows_of_what_was_used_are_windows() {
        let of = |before: &str, text: &str, next: &str| {
            let w = window(text, &text.to_ascii_lowercase(), before, next)?;
            Some((w.seconds, w.charge, w.power, w.hourly))
        };
        let row = "  2.50h   205,000 uAh  =  82.0 mA   (capacity 90% -> 85%)";
        assert_eq!(of("", row, ""), Some((9_000, Some(205_000), None, Some(2_000))));
        let cell = "| Bluetooth off | 20m30.250s | 61 mAh | 3.25%/h | as before |";
        assert_eq!(of("", cell, ""), Some((1_230, Some(61_000), None, Some(3_250))));
        let sleep = "(sleep) dT = 600 (s), dQ = -20 (mAh) = 310 (mWh), P = -1860 (mW)";
        assert_eq!(of("", sleep, ""), Some((600, Some(20_000), Some(1_860_000), None)));
        assert_eq!(of("", &sleep.replace("-20", "20"), ""), None, "it was charged");
        let above = "6h30m of deep sleep";
        let below = of(above, "402 mAh consumed", "~0.9 %/h");
        assert_eq!(below, Some((23_400, Some(402_000), None, Some(900))));
        for none in ["Battery 5000 mAh, 2h to full", "402 mAh consumed", "9h at 12 mAh design"] {
            assert_eq!(of("", none, ""), None, "{none}");
        }
    }

    #[test]
    fn a_report_tells_energy_and_time() {
        let text = "Battery BAT0 lost 4500000 µWh (9.25%) [Average rate 0.61W]";
        let Some(Fact::Drain(d)) = all(text, Teller::Program).pop() else { panic!("{text}") };
        assert_eq!((d.percent, d.energy, d.seconds), (Some(9_250), Some(4_500_000), Some(26_557)));
    }
}
