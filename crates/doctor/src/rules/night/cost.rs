//! What a sleep cost: watts, per cent an hour, and how long the battery would last.

use super::required::{HOT, LEAST};
use super::turns;
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::night::asleep::Power;
use crate::night::charge::{Charge, Drain, Gauge, Side, Teller, Window};
use crate::night::report::Report;
use crate::night::{Count, Counts, Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// A day.
const DAY: i64 = 86_400;

/// What a sleep took.
struct Cost<'a> {
    of: Gauge,
    from: i64,
    to: i64,
    step: i64,
    seconds: Option<i64>,
    sure: Confidence,
    battery: &'a str,
    shown: [&'a Item; 2],
}

impl<'a> Cost<'a> {
    /// Whether both are of one sleep, by two batteries.
    fn is_beside(&self, other: &Cost<'_>) -> bool {
        let line = |c: &Cost<'_>| c.shown.map(|i| i.line);
        let ([a, b], [c, d]) = (line(self), line(other));
        let named = !self.battery.is_empty() && !other.battery.is_empty();
        named && self.battery != other.battery && a <= d && c <= b
    }

    /// What two batteries of one machine gave: shares of them do not add up, and the one that
    /// gave more tells.
    fn join(&mut self, other: Cost<'a>) {
        if self.of != Gauge::Percent {
            (self.from, self.to) = (self.from + other.from, self.to + other.to);
        } else if other.from - other.to > self.from - self.to {
            *self = other;
        }
    }
}

fn charges(case: &Case) -> Vec<(usize, &Item, &Charge)> {
    case.night
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, i)| match &i.fact {
            Fact::Charge(c) => Some((at, i, c)),
            _ => None,
        })
        .collect()
}

fn span(seconds: i64) -> String {
    say::span(Ns(seconds.saturating_mul(1_000_000_000)))
}

/// `8.6` of thousandths.
fn tenths(thousandths: i64) -> String {
    let t = thousandths.saturating_add(50) / 100;
    format!("{}.{}", t / 10, t % 10)
}

/// `1.51` of thousandths.
fn hundredths(thousandths: i64) -> String {
    let h = thousandths.saturating_add(5) / 10;
    format!("{}.{:02}", h / 100, h % 100)
}

/// `1.785` of thousandths.
fn thousandth(n: i64) -> String {
    format!("{}.{:03}", n / 1_000, n % 1_000)
}

/// What facts say that a sleep took, in s.
fn said(items: &[Item]) -> Option<i64> {
    items.iter().rev().find_map(|i| match i.fact {
        Fact::Slept(Some(s)) | Fact::Lasted(s) if s >= 60 => i64::try_from(s).ok(),
        _ => None,
    })
}

/// How long the sleep was, in s: said near the readings, else by the log.
fn length(case: &Case, first: usize, last: usize) -> Option<i64> {
    let items = &case.night.items;
    said(&items[first.saturating_sub(NEAR)..first])
        .or_else(|| {
            said(items.get(last + 1..(last + 1 + NEAR).min(items.len())).unwrap_or_default())
        })
        .or_else(|| {
            // What is said of the night is not of sleeps by day.
            let of_night = items[last].text.to_lowercase().contains("night");
            turns::longest_night(case).filter(|_| of_night)
        })
        .or_else(|| turns::asleep(case).map(|a| a.0))
}

/// So many facts around two readings may tell the length of their sleep.
const NEAR: usize = 4;

/// What each sleep took of which a gauge was read on both sides, by the finest gauge that was
/// read.
fn pairs(case: &Case) -> Vec<Cost<'_>> {
    let mut out: Vec<Cost<'_>> = Vec::new();
    let all = charges(case);
    let known = is_known(case);
    let one_night = turns::asleep(case).is_some_and(|a| a.1 == 1 && a.0 >= HOUR);
    let lasted = case.night.items.iter().any(|i| matches!(i.fact, Fact::Lasted(_)));
    for gauge in [Gauge::Energy, Gauge::Charge, Gauge::Percent] {
        if !out.is_empty() {
            break;
        }
        let of: Vec<_> = all.iter().filter(|c| c.2.of == gauge).collect();
        for (i, (at, item, c)) in of.iter().enumerate() {
            let next = of[i + 1..].iter().find(|n| {
                n.2.battery == c.battery || n.2.battery.is_empty() || c.battery.is_empty()
            });
            let Some((end, later, d)) = next else { continue };
            let slept =
                case.night.between(*at, *end).iter().any(|i| {
                    matches!(
                        i.fact,
                        Fact::Slept(_) | Fact::Lasted(_) | Fact::Clock { begins: true, .. }
                    )
                }) || case.attempts.iter().any(|a| {
                    let line = case.messages[a.first].line;
                    item.line < line && line < later.line
                }) || one_night && c.value > d.value && tells_a_night(case, item.line, later.line);
            let clocked = c.at.is_some() && d.at.is_some() && c.at != d.at;
            // Programs say before and after of many things, and people of more.
            let sides = (c.side, d.side) == (Some(Side::Before), Some(Side::After))
                && (known || c.of_sleep || d.of_sleep || lasted && c.by != Teller::Person);
            // Two readings at two times are both sides of a sleep once; of further ones something
            // says so.
            let spoken = clocked && c.by == Teller::Program && speaks(case);
            let clocked = clocked && (known || c.of_sleep || spoken);
            let clocked =
                clocked && (out.is_empty() || d.side == Some(Side::After) || is_twin(&out, item));
            let ordered = sides || (slept || clocked) && c.side != Some(Side::After);
            let again = d.side == Some(Side::Before);
            if !ordered || again || c.by != d.by || !are_alike(&item.text, &later.text) {
                continue;
            }
            let by_clock = match (c.at, d.at) {
                (Some(a), Some(b)) if b >= a => Some(b - a),
                // Times of day over midnight.
                (Some(a), Some(b)) if a < DAY && b < DAY => Some((b - a).rem_euclid(DAY)),
                _ => None,
            };
            let seconds = said(case.night.between(*at, *end))
                .or(by_clock.filter(|s| *s > 0))
                .or_else(|| length(case, *at, *end));
            let cost = Cost {
                of: gauge,
                from: c.value,
                to: d.value,
                step: c.step.max(d.step),
                seconds,
                sure: match c.by {
                    Teller::File => Confidence::Certain,
                    Teller::Program if sides || slept || known || c.of_sleep => Confidence::Likely,
                    _ => Confidence::Guess,
                },
                battery: &c.battery,
                shown: [item, later],
            };
            match out.iter_mut().find(|o| o.is_beside(&cost)) {
                Some(o) => o.join(cost),
                None => out.push(cost),
            }
        }
    }
    out
}

/// Whether what a person notes between two readings tells that the sleep of the text lies there:
/// the first is of the evening, the second of the morning.
fn tells_a_night(case: &Case, first: u64, last: u64) -> bool {
    const WORDS: [&str; 9] = [
        "morning",
        "overnight",
        "after the night",
        "lid opened",
        "opened the lid",
        "woke it",
        "after sleep",
        "after suspend",
        "after resum",
    ];
    if last - first > NOTES {
        return false;
    }
    let between = case.messages.iter().filter(|m| first < m.line && m.line < last);
    between.filter(|m| m.trust != Trust::Logged).any(|m| {
        let lower = m.text.to_lowercase();
        WORDS.iter().any(|w| lower.contains(w))
    })
}

/// Two readings of a night stand so many lines apart at most.
const NOTES: u64 = 30;

/// In s.
const HOUR: i64 = 3_600;

/// Whether a reading stands beside one of a sleep that is known: of another battery.
fn is_twin(out: &[Cost<'_>], item: &Item) -> bool {
    out.last().is_some_and(|o| o.shown[0].line.abs_diff(item.line) <= BESIDE)
}

/// Readings of two batteries stand so many lines apart at most.
const BESIDE: u64 = 40;

/// Whether somebody speaks of a sleep.
fn speaks(case: &Case) -> bool {
    const WORDS: [&str; 7] = ["suspend", "sleep", "standby", "s2idle", "doze", "(s3)", "schlaf"];
    let of = |i: &Item| match &i.fact {
        Fact::Words(w) => {
            let lower = w.to_lowercase();
            WORDS.iter().any(|s| lower.contains(s))
        }
        _ => false,
    };
    case.night.items.iter().any(of)
}

/// A reading of a battery has at best such steps, in uWh and uAh: 10 mWh of ACPI's gauges.
pub(crate) const FINEST: i64 = 10_000;

/// The step of two readings: no finer than their last digits show.
fn step(c: &Cost<'_>) -> i64 {
    let mut step = c.step.max(1);
    while c.of != Gauge::Percent
        && step < FINEST
        && c.from % (step * 10) == 0
        && c.to % (step * 10) == 0
    {
        step *= 10;
    }
    step
}

/// What each sleep drew, by gauges and programs; of a figure that a person tells nothing.
pub(in crate::rules) fn powers(case: &Case) -> Vec<Power> {
    let reported = case.night.items.iter().filter_map(|i| match &i.fact {
        Fact::Drain(Drain { energy: Some(e), seconds: Some(s), by_program: true, .. })
            if *s > 0 =>
        {
            let watts = e.saturating_mul(3_600) / s;
            Some(Power::Drawn { least: watts, about: watts, most: watts, line: i.line })
        }
        _ => None,
    });
    let told = case.night.items.iter().any(|i| matches!(i.fact, Fact::Drain(_)));
    let of = |c: &Cost<'_>| {
        let line = c.shown[1].line;
        let energy = match (c.of, full(case, Gauge::Energy)) {
            _ if c.sure == Confidence::Guess => return Power::Told,
            (Gauge::Energy, _) => |n: i64, _: i64| n,
            (Gauge::Percent, Some(_)) => |n: i64, full: i64| n.saturating_mul(full) / 100_000,
            _ => return Power::NoWatts,
        };
        let whole = full(case, Gauge::Energy).unwrap_or(0);
        let Some(seconds) = c.seconds.filter(|s| *s > 0) else { return Power::NoTime };
        let (used, step) = (c.from - c.to, step(c));
        if used + step <= 0 {
            return Power::Charged;
        }
        let watts = |n: i64| energy(n.max(0), whole).saturating_mul(3_600) / seconds;
        let [least, about, most] = [used - step, used, used + step].map(watts);
        Power::Drawn { least, about, most, line }
    };
    let mut out: Vec<Power> = pairs(case).iter().map(of).chain(reported).collect();
    if out.is_empty() && told {
        out.push(Power::Told);
    }
    out
}

/// Whether two labels can be of one battery: `laptop A` and `laptop B` are two.
fn are_alike(a: &str, b: &str) -> bool {
    let label = |t: &str| {
        let head = t.split_once(':').map_or("", |h| h.0).to_lowercase();
        head.rsplit(' ')
            .find(|w| w.len() == 1 && w.starts_with(char::is_alphabetic))
            .map(ToString::to_string)
    };
    label(a) == label(b)
}

/// Whether the text shows that the machine slept.
fn is_known(case: &Case) -> bool {
    let slept = |i: &Item| matches!(i.fact, Fact::Slept(_) | Fact::Clock { .. } | Fact::Report(_));
    !case.attempts.is_empty()
        || !case.parts.is_empty()
        || case.night.items.iter().any(slept)
        || counted(case)
}

/// Whether the hardware's own counter grew between two readings.
fn counted(case: &Case) -> bool {
    let system = || case.night.counts().map(|c| c.2).filter(|c| c.of == Counts::System);
    let last: HashMap<&str, u64> = system().map(|c| (c.name.as_str(), c.value)).collect();
    let grew =
        |c: &Count| last.get(c.name.as_str()).is_some_and(|v| v.saturating_sub(c.value) >= LEAST);
    system().any(grew)
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    refused(case, out);
    let all = pairs(case);
    out.extend(match &all[..] {
        [] => windows(case).or_else(|| claimed(case)),
        [one] => measured(case, one),
        _ => Some(several(&all)),
    });
}

/// So many rows are told.
const ROWS: usize = 4;

/// What rows say was used in the time of each.
fn windows(case: &Case) -> Option<Finding> {
    let all: Vec<(&Item, &Window)> = case
        .night
        .of(|f| match f {
            Fact::Window(w) => Some(w),
            _ => None,
        })
        .collect();
    let known = is_known(case) || all.iter().any(|w| w.1.of_sleep) || speaks(case);
    // Rows say what they are.
    let before = all.len();
    let sleeps = all.iter().any(|w| w.1.of_sleep);
    let all: Vec<(&Item, &Window)> =
        all.into_iter().filter(|w| !sleeps || w.1.of_sleep || !is_awake(&w.0.text)).collect();
    let awake = match before - all.len() {
        0 => String::new(),
        n => format!(
            " {} of an awake machine {} left out.",
            say::plural(n, "row"),
            if n == 1 { "is" } else { "are" }
        ),
    };
    let (first, _) = all.first().filter(|_| known)?;
    let words = |w: &Window| {
        let ma =
            w.charge.map(|c| format!("{} mA", tenths(c.saturating_mul(3_600) / w.seconds.max(1))));
        let watts = w.power.map(|p| format!("{} W", hundredths(p / 1_000)));
        let hour = w.hourly.map(|h| format!("{} % an hour", hundredths(h)));
        let list: Vec<String> = [watts, ma, hour].into_iter().flatten().collect();
        format!("{} in {}", list.join(", "), span(w.seconds))
    };
    let list: Vec<String> = all.iter().take(ROWS).map(|w| words(w.1)).collect();
    let more = all.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    let draws =
        || all.iter().filter_map(|w| Some(w.1.charge?.saturating_mul(3_600) / w.1.seconds.max(1)));
    let uneven = draws().max().zip(draws().min()).is_some_and(|(most, least)| most >= least * 2);
    let uneven = if uneven {
        " They differ by more than twice; what was different is not in these rows."
    } else {
        ""
    };
    let longest = all.iter().map(|w| w.1.seconds).max().unwrap_or(0);
    let short = if longest < SHORT { TOO_SHORT } else { "" };
    let start = if all.len() == 1 { "It drew" } else { "Row by row it drew" };
    Some(
        Finding::new(("night-cost", Area::Mode, Level::Note), Confidence::Likely)
            .says(format!("{start} {}{more}, by the figures of the text.{awake}{uneven}{short} No rule finds what cost it.", list.join("; ")))
            .shown_by([Evidence::from(*first)])
            .shown_by(all.iter().skip(1).take(ROWS - 1).map(|w| Evidence::from(w.0))),
    )
}

/// Whether a row says that its machine was awake.
fn is_awake(row: &str) -> bool {
    let lower = row.to_lowercase();
    let words = ["awake", "screen on", "in use", "idle on", "testing", "active use", "working"];
    words.iter().any(|w| lower.contains(w))
}

/// A rate in the unit of its gauge, of what was used in an hour.
fn rate(of: Gauge, an_hour: i64) -> String {
    match of {
        Gauge::Percent => format!("{} % an hour", tenths(an_hour)),
        Gauge::Charge => format!("{} mA", milliamperes(an_hour)),
        _ => format!("{} W", hundredths(an_hour / 1_000)),
    }
}

/// `8.5` of 8,500 uA: below 100 mA a digit more.
fn milliamperes(microamperes: i64) -> String {
    if microamperes < 100_000 {
        tenths(microamperes)
    } else {
        say::grouped(u64::try_from(microamperes / 1_000).unwrap_or(0))
    }
}

/// What several sleeps took, one after the other: none of them is the others' measure.
fn several(all: &[Cost<'_>]) -> Finding {
    let hourly = |c: &Cost<'_>| {
        let seconds = c.seconds.filter(|s| *s > 0)?;
        Some((c.from - c.to).saturating_mul(3_600) / seconds)
    };
    let words = |c: &Cost<'_>| {
        let used = c.from - c.to;
        let Some(seconds) = c.seconds.filter(|s| *s > 0) else {
            return format!("{} to {}", figure(c.of, c.from), figure(c.of, c.to));
        };
        let step = step(c);
        let of = match used {
            ..0 => "it was charged".to_string(),
            _ if used <= step => {
                let most = (used + step).saturating_mul(3_600) / seconds;
                format!("less than {}", rate(c.of, most))
            }
            _ => rate(c.of, used.saturating_mul(3_600) / seconds),
        };
        format!("{} in {} ({of})", figure(c.of, used.max(0)), span(seconds))
    };
    let list: Vec<String> = all.iter().take(ROWS).map(words).collect();
    let more = all.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    // The longest tells most of a night.
    let longest = all.iter().max_by_key(|c| c.seconds);
    let hot = longest.is_some_and(|c| {
        let least = c.from - c.to - step(c);
        let an_hour = c.seconds.map(|s| least.saturating_mul(3_600) / s.max(1));
        c.of == Gauge::Percent && c.seconds >= Some(SHORT) && an_hour >= Some(HOT)
    });
    let real = || all.iter().filter(|c| c.seconds >= Some(SHORT) && c.from >= c.to);
    let most = real().filter(|c| c.from - c.to > step(c)).filter_map(hourly).max();
    let least = real().filter_map(|c| {
        let seconds = c.seconds.filter(|s| *s > 0)?;
        Some((c.from - c.to + step(c)).saturating_mul(3_600) / seconds)
    });
    let uneven = most.zip(least.min()).is_some_and(|(most, least)| most >= least * 2);
    let uneven = if uneven {
        " They differ by more than twice: no one of them tells what a night costs, and what was different is not in these lines."
    } else {
        ""
    };
    let level = if hot { Level::Risk } else { Level::Note };
    let sure = all.iter().map(|c| c.sure).max().unwrap_or(Confidence::Likely);
    let f = Finding::new(("night-cost", Area::Mode, level), sure)
        .says(format!("Sleep by sleep the battery gave {}{more}.{uneven}", list.join("; ")))
        .shown_by(all.iter().take(ROWS).flat_map(|c| c.shown.map(Evidence::from)));
    if hot { f.look(HOW) } else { f }
}

/// A figure in the unit of its gauge.
fn figure(of: Gauge, value: i64) -> String {
    match of {
        Gauge::Percent => format!("{} %", tenths(value)),
        Gauge::Charge => format!("{} mAh", say::grouped(u64::try_from(value / 1_000).unwrap_or(0))),
        _ => format!(
            "{} Wh",
            if value < 10_000_000 { thousandth(value / 1_000) } else { hundredths(value / 1_000) }
        ),
    }
}

/// A whole of a battery, where the text has it.
fn full(case: &Case, of: Gauge) -> Option<i64> {
    let want = match of {
        Gauge::Energy => Gauge::EnergyFull,
        Gauge::Charge => Gauge::ChargeFull,
        _ => return None,
    };
    charges(case).iter().find(|c| c.2.of == want).map(|c| c.2.value).filter(|v| *v > 0)
}

/// What a full battery has, by the share that was read beside the first reading.
fn full_by_share(case: &Case, c: &Cost<'_>) -> Option<i64> {
    const BESIDE: u64 = 3;
    let share = |i: &Item| match &i.fact {
        Fact::Charge(s) if s.of == Gauge::Percent => Some(s.value),
        _ => None,
    };
    let near = |i: &&Item| i.line.abs_diff(c.shown[0].line) <= BESIDE;
    let share = case.night.items.iter().filter(near).find_map(share)?;
    let full = c.from.checked_mul(100_000)?.checked_div(share)?;
    (full >= c.from && share > 0).then_some(full)
}

fn measured(case: &Case, c: &Cost<'_>) -> Option<Finding> {
    let used = c.from - c.to;
    let mut shown = c.shown.map(Evidence::from).to_vec();
    shown.dedup_by_key(|e| e.line);
    let new = |level| Finding::new(("night-cost", Area::Mode, level), c.sure);
    if used < 0 {
        return Some(new(Level::Note).says(format!("The battery had more after the sleep than before ({} to {}): it was charged, or the gauge was set anew. Of what the sleep cost this says nothing.", figure(c.of, c.from), figure(c.of, c.to))).shown_by(shown));
    }
    let Some(seconds) = c.seconds.filter(|s| *s > 0) else {
        return Some(new(Level::Note).says(format!("The sleep took {} of the battery ({} to {}). How long it was, no line that was read says, so there is no figure for an hour.", figure(c.of, used), figure(c.of, c.from), figure(c.of, c.to))).shown_by(shown));
    };
    if used <= c.step && c.of == Gauge::Percent {
        let most = (used + c.step).saturating_mul(3_600) / seconds;
        return Some(new(Level::Note).says(format!("The gauge moved by {} in {}, which is no more than its step of {}: the sleep took less than {} % an hour, and more cannot be said.", figure(c.of, used), span(seconds), figure(c.of, c.step), tenths(most))).shown_by(shown));
    }
    let an_hour = used.saturating_mul(3_600) / seconds;
    let left = if an_hour > 0 { c.to.saturating_mul(3_600) / an_hour } else { 0 };
    // Thousandths of a per cent an hour.
    let share = match c.of {
        Gauge::Percent => Some(an_hour),
        of => full(case, of)
            .or_else(|| full_by_share(case, c))
            .map(|f| an_hour.saturating_mul(100_000) / f),
    };
    let rate = rate(c.of, an_hour);
    let of_full = match (c.of, share) {
        (Gauge::Percent, _) | (_, None) => String::new(),
        (_, Some(s)) => format!(", {} % of the battery an hour", tenths(s)),
    };
    let coarse = if c.of == Gauge::Percent && used < c.step * 5 {
        format!(
            " The gauge counts in steps of {}, so it may be {} % an hour more or less.",
            figure(c.of, c.step),
            tenths(c.step.saturating_mul(3_600) / seconds)
        )
    } else {
        String::new()
    };
    let hot = share.is_some_and(|s| s >= HOT) && seconds >= SHORT;
    let kind = if hot { "Asleep but hot: the" } else { "The" };
    let level = if hot { Level::Risk } else { Level::Note };
    let coarse = if seconds < SHORT { format!("{coarse}{TOO_SHORT}") } else { coarse };
    let f = new(level)
        .says(format!(
            "{kind} sleep took {} in {}: {rate}{of_full}. At that rate what is left ({}) would last {}.{coarse}",
            figure(c.of, used),
            span(seconds),
            figure(c.of, c.to),
            span(left)
        ))
        .shown_by(shown);
    Some(if hot { f.look(HOW) } else { f })
}

/// Of a shorter sleep a good part is entering and leaving, in s.
pub(crate) const SHORT: i64 = 600;
const TOO_SHORT: &str =
    " So short a sleep tells little of a night: entering and leaving cost more than sleeping.";

/// What to do about a battery that empties in a sleep.
const HOW: &str = "See whether the hardware slept: /sys/power/suspend_stats/last_hw_sleep after a sleep, against its length; then what kept it (dormouse check of the log with pm_debug_messages).";

/// A night has at least so many s.
const NIGHT: i64 = 4 * HOUR;

/// What somebody says that a sleep took, with the times of the log.
fn claimed(case: &Case) -> Option<Finding> {
    let all: Vec<(&Item, &Drain)> = case
        .night
        .of(|f| match f {
            Fact::Drain(d) => Some(d),
            _ => None,
        })
        .collect();
    // Who shows what `mem` means speaks of sleep.
    let modes = case.values.iter().any(|v| v.path.ends_with("/mem_sleep"));
    let known = is_known(case) || modes || speaks(case);
    let (item, d) = *all.iter().find(|d| known || d.1.of_sleep)?;
    let log = turns::asleep(case);
    let words = d.seconds.filter(|s| *s > 0);
    let about = if d.about { "about " } else { "" };
    let what = match (d.percent, d.energy) {
        (Some(p), _) => format!("{about}{} %", trimmed(p)),
        (None, Some(e)) => format!("{about}{}", figure(Gauge::Energy, e)),
        _ => return None,
    };
    let sure = if d.by_program { Confidence::Likely } else { Confidence::Guess };
    let writer = if d.by_program { "" } else { ", as the writer says," };
    let new = |level| {
        Finding::new(("night-cost", Area::Mode, level), sure).shown_by([Evidence::from(item)])
    };
    // A tool that has the time of its cycle and a rate that says another is not to be trusted
    // with hours.
    let cycle = || {
        let at = case.night.items.iter().position(|i| std::ptr::eq(i, item))?;
        case.night.items[..at].iter().rev().find_map(|i| match i.fact {
            Fact::Report(Report::Slept { ms, .. }) => i64::try_from(ms / 1_000).ok(),
            _ => None,
        })
    };
    if let (true, Some(by_rate), Some(slept)) = (d.by_program, words, cycle())
        && (by_rate >= slept.saturating_mul(2) || slept >= by_rate.saturating_mul(2))
    {
        return Some(new(Level::Note).says(format!("The report's rate and its time do not agree: what it lost, {what} of the battery, would take {} at that rate, and the cycle was {}. A gauge moves in steps, and so short a sleep is a step or two: no cost of a night follows from it.", span(by_rate), span(slept))));
    }
    // A gauge moves in steps: of a short cycle no figure of an hour follows.
    if let (true, Some(slept)) = (d.by_program, cycle().filter(|s| *s < SHORT)) {
        return Some(new(Level::Note).says(format!(
            "The report has {} of the battery for a cycle of {}: that is a step or two of its gauge, and entering and leaving. No cost of a night follows from it.",
            d.energy.map_or(what, |e| figure(Gauge::Energy, e)),
            span(slept)
        )));
    }
    // The log must cover what it is to prove.
    if let (Some(said), Some((logged, n))) = (words, log)
        && logged < said / 2
    {
        let rate = d.percent.map_or(String::new(), |p| {
            format!(
                " By the words alone it is {} % an hour.",
                tenths(p.saturating_mul(3_600) / said)
            )
        });
        return Some(new(Level::Note).says(format!("The log does not cover the drain: {what} in {} is claimed, and the {} of the text took {}.{rate} What cost it, this text cannot tell.", span(said), say::plural(n, "sleep"), span(logged))).look("Post the log of the whole time, from the sleep to the wake-up after it: journalctl -k --since."));
    }
    // A night is no sleep of an hour.
    let lower = item.text.to_lowercase();
    let of_night = ["overnight", "over night", "nacht", "nuit"].iter().any(|w| lower.contains(w));
    if let (None, Some((logged, n))) = (words, log.filter(|l| of_night && l.0 < NIGHT)) {
        return Some(new(Level::Note).says(format!("The log does not cover the night: {what} is claimed, and the {} of the text took {}. What cost it, this text cannot tell.", say::plural(n, "sleep"), span(logged))).look("Post the log of the whole time, from the sleep to the wake-up after it: journalctl -k --since."));
    }
    // A sleep that the text gives the length of, where the words do not.
    let told = said(&case.night.items);
    let (seconds, by) = match (log, words) {
        (Some((s, n)), _) if s >= 60 => (
            s,
            format!(
                "by the log {}",
                if n == 1 { "one sleep".to_string() } else { format!("{n} sleeps") }
            ),
        ),
        (_, Some(s)) if d.by_program => (s, "by its rate".into()),
        (_, Some(s)) => (s, "by the words of the writer".into()),
        (None, None) if told.is_some() => (told.unwrap_or(1), "by the times in the text".into()),
        _ => {
            return Some(new(Level::Note).says(format!("The writer says that a sleep took {what} of the battery; how long it was, no line that was read says.")));
        }
    };
    let Some(p) = d.percent else {
        let watts = d.energy?.saturating_mul(3_600) / seconds;
        return Some(new(Level::Note).says(format!(
            "The sleep took {what} in {}: {} W.",
            span(seconds),
            hundredths(watts / 1_000)
        )));
    };
    let an_hour = p.saturating_mul(3_600) / seconds;
    let lasts = if an_hour > 0 { 100_000i64.saturating_mul(3_600) / an_hour } else { 0 };
    let hot = an_hour >= HOT && seconds >= SHORT;
    let short = if seconds < SHORT { TOO_SHORT } else { "" };
    // A program has it from a gauge of whole per cents.
    let coarse = if d.by_program && p % 1_000 == 0 && p < 5_000 {
        let by = tenths(3_600_000 / seconds);
        format!(" A gauge of whole per cents may be wrong by {by} % an hour here.")
    } else {
        String::new()
    };
    let short = format!("{coarse}{short}");
    let kind = if hot { "Asleep but hot: the" } else { "The" };
    let level = if hot { Level::Risk } else { Level::Note };
    let f = new(level).says(format!(
        "{kind} sleep took {what} of the battery{writer} in {} ({by}): {} % an hour; a full battery would last {}. No rule finds what cost it.{short}",
        span(seconds),
        tenths(an_hour),
        span(lasts)
    ));
    Some(if hot { f.look(HOW) } else { f })
}

/// `80` of 80,000 thousandths, `9.3` of 9,250.
fn trimmed(thousandths: i64) -> String {
    if thousandths % 1_000 == 0 { (thousandths / 1_000).to_string() } else { tenths(thousandths) }
}

/// What systemd says when it cannot keep a rate of discharge (src/shared/battery-util.c and
/// src/sleep/sleep.c: a rate is a whole number of per cent an hour, from 1 to 199).
fn refused(case: &Case, out: &mut Vec<Finding>) {
    let words = "Failed to update battery discharge rate";
    // `BAT0: Failed …`, perhaps behind the program's name.
    let battery = |m: &'_ Message| -> Option<String> {
        let head = m.text.split_once(words)?.0.strip_suffix(": ")?;
        let name = head.rsplit(' ').next()?;
        let is = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
        (is && (name.len() == head.len() || head.contains("systemd-sleep"))).then(|| name.into())
    };
    let Some((m, battery)) = case.messages.having(words).find_map(|(_, m)| Some((m, battery(m)?)))
    else {
        return;
    };
    let range = m.has("out of range");
    let why = if range {
        "it keeps whole per cents an hour from 1 to 199, and this one was below or above. So little of a charge between two looks rounds to 0: that is a rate which it cannot keep, no fault of the battery, and it says nothing of a drain"
    } else {
        "the reason stands behind it"
    };
    let mut evidence = Evidence::from(m);
    evidence.doubtful = false;
    let f = Finding::new(("night-rate", Area::Mode, Level::Note), Confidence::Likely)
        .says(format!("systemd-sleep did not keep the rate of discharge of {battery}: {why}."))
        .look("Nothing has to be done; HibernateDelaySec= in sleep.conf sets a time that needs no rate.")
        .shown_by([evidence]);
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn judged(facts: Vec<Fact>) -> Option<Finding> {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let mut out = Vec::new();
        judge(&Case { night: Night { items, ..Night::default() }, ..Case::default() }, &mut out);
        out.pop()
    }

    fn charge(of: Gauge, value: i64, step: i64, side: Option<Side>) -> Fact {
        Fact::Charge(Charge {
            battery: String::new(),
            of,
            value,
            at: None,
            step,
            side,
            by: Teller::File,
            of_sleep: false,
        })
    }

    #[test]
    fn energy_over_a_known_time_is_watts_and_hours_left() {
        use Side::{After, Before};
        let f = judged(vec![
            Fact::Slept(Some(7_200)),
            charge(Gauge::Energy, 50_000_000, 1, Some(Before)),
            charge(Gauge::Energy, 48_000_000, 1, Some(After)),
        ])
        .expect("a finding");
        assert!(f.sentence.contains("2.000 Wh in 2 h 0 min: 1.00 W"), "{}", f.sentence);
        assert!(
            f.sentence.contains("would last 2 d 0 h") || f.sentence.contains("48 h"),
            "{}",
            f.sentence
        );
    }

    #[test]
    fn a_gauge_that_is_too_coarse_says_so() {
        let of = |to: i64| {
            judged(vec![
                charge(Gauge::Percent, 90_000, 1_000, None),
                Fact::Slept(Some(36_000)),
                charge(Gauge::Percent, to, 1_000, None),
            ])
        };
        assert!(of(89_000).expect("one").sentence.contains("no more than its step"));
        let hot = of(40_000).expect("one");
        assert!(
            hot.level == Level::Risk && hot.sentence.contains("5.0 % an hour"),
            "{}",
            hot.sentence
        );
        assert!(of(95_000).expect("one").sentence.contains("charged"));
    }

    #[test]
    fn words_alone_give_a_rate_and_no_reason() {
        let d = Drain {
            percent: Some(30_000),
            seconds: Some(21_600),
            of_sleep: true,
            ..Drain::default()
        };
        let f = judged(vec![Fact::Drain(d)]).expect("one");
        assert!(
            f.sentence.contains("5.0 % an hour") && f.sentence.contains("No rule finds"),
            "{}",
            f.sentence
        );
        assert_eq!(f.confidence, Confidence::Guess);
    }
}
