//! Two readings of a counter: what grew between them, and what did not, with a sleep between
//! them or without.

use super::latency::is_named;
use super::required::{Depth, LEAST, depth_of, told_depth};
use super::turns;
use crate::case::Case;
use crate::evidence::value;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::night::asleep::Share;
use crate::night::{Count, Counts, Fact, Item};
use crate::rules::platform;
use crate::value::Value;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// Two readings of one counter, one after the other.
struct Pair<'a> {
    name: &'a str,
    of: Counts,
    /// By how much it grew.
    by: u64,
    slept: bool,
    /// Nobody but a person says that.
    told: bool,
    /// How long the sleep between them was, if the text says.
    length: Option<Length>,
    lines: [&'a Item; 2],
}

impl Pair<'_> {
    fn depth(&self) -> Depth {
        depth_of(self.by, self.length.map(|l| l.seconds))
    }

    /// ` of 1 h 0 min`.
    fn of_length(&self) -> String {
        self.length
            .map_or(String::new(), |l| format!(" of {}", time(l.seconds.saturating_mul(1_000_000))))
    }
}

/// How long a sleep was.
#[derive(Clone, Copy)]
struct Length {
    seconds: u64,
    /// So long it was to sleep: something may have woken it earlier.
    ordered: bool,
}

/// The length of what was slept among facts: by the clock on the wall, else as it was ordered.
fn length(between: &[Item]) -> Option<Length> {
    let mut begun = None;
    let mut wall = 0;
    for i in between {
        if let Fact::Clock { begins, ms, .. } = i.fact {
            wall += begun.filter(|_| !begins).map_or(0, |from: i64| (ms - from).max(0));
            begun = begins.then_some(ms);
        }
    }
    let seconds = u64::try_from(wall / 1_000).unwrap_or(0);
    if seconds > 0 {
        return Some(Length { seconds, ordered: false });
    }
    let told = |i: &Item| match i.fact {
        Fact::Slept(s) => s,
        Fact::Idled(s) | Fact::Lasted(s) => Some(s),
        _ => None,
    };
    let seconds = between.iter().filter_map(told).fold(0, u64::saturating_add);
    let reported = between.iter().any(|i| matches!(i.fact, Fact::Report(_) | Fact::Lasted(_)));
    (seconds > 0).then_some(Length { seconds: seconds.min(YEAR), ordered: !reported })
}

/// Readings may stand so many s apart from the sleep that they are of.
const SLACK: u64 = 60;

/// No sleep is longer, in s.
const YEAR: u64 = 366 * 86_400;

/// Sleeps that succeeded between the first and the last reading of `suspend_stats`.
fn succeeded(case: &Case) -> Option<(u64, [Evidence; 2])> {
    let mut of = case.values.iter().filter(|v| v.name() == "success" && v.count().is_some());
    let first = of.next()?;
    let last = of.rfind(|v| v.path == first.path)?;
    let by = last.count()?.checked_sub(first.count()?).filter(|n| *n > 0)?;
    Some((by, [value(first), value(last)]))
}

fn pairs(case: &Case) -> Vec<Pair<'_>> {
    let mut last: HashMap<(&str, Counts), (usize, &Item, &Count)> = HashMap::new();
    let mut out = Vec::new();
    let slept_once = succeeded(case).is_some();
    let lengths = turns::lengths(case);
    let seconds = |ms: i64| u64::try_from(ms / 1_000).ok().filter(|s| *s > 0);
    for (end, next, later) in case.night.counts() {
        let Some((at, item, c)) = last.insert((&later.name, later.of), (end, next, later)) else {
            continue;
        };
        // A counter that fell was started anew.
        let Some(by) = later.value.checked_sub(c.value) else { continue };
        let between = case.night.between(at, end);
        let logged = case.attempts.iter().filter(|a| {
            let line = case.messages[a.first].line;
            item.line < line && line < next.line
        });
        // It counts s2idle alone.
        let modes: Vec<&str> = logged.map(|a| a.mode.as_str()).collect();
        let other = !modes.is_empty() && modes.iter().all(|m| matches!(*m, "deep" | "hibernation"));
        let seen = slept_once
            || !modes.is_empty()
            || between.iter().any(|i| matches!(i.fact, Fact::Slept(_)));
        let told = !seen && between.iter().any(says_after);
        let logged = lengths.iter().filter(|l| item.line < l.0 && l.0 < next.line);
        let logged = seconds(logged.map(|l| l.1).sum());
        let length = length(between).or(logged.map(|seconds| Length { seconds, ordered: false }));
        // The one sleep of the text, whose log stands beside the readings.
        let beside = || match lengths[..] {
            [(line, ms)] if !(seen || item.line < line && line < next.line) => seconds(ms),
            _ => None,
        };
        let fits = |s: &u64| by >= LEAST && by <= s.saturating_add(SLACK).saturating_mul(1_000_000);
        let aside = length.is_none() || told;
        let beside = if aside { beside().filter(fits) } else { None };
        let length = beside.map(|seconds| Length { seconds, ordered: false }).or(length);
        let told = told || beside.is_some();
        out.push(Pair {
            name: &later.name,
            of: later.of,
            by,
            slept: (seen || told) && !other,
            told,
            length,
            lines: [item, next],
        });
    }
    out.sort_by_key(|p| (p.lines[0].line, p.lines[1].line));
    out
}

/// Whether words above a reading say that it was taken after a sleep: `After resume:`.
fn says_after(i: &Item) -> bool {
    let Fact::Words(words) = &i.fact else { return false };
    let last = words.rsplit(". ").next().unwrap_or(words).to_lowercase();
    let last = last.trim_start_matches(|c: char| !c.is_alphanumeric());
    let sleep = ["suspend", "resum", "sleep", "s2idle", "s0ix", "wak"];
    last.starts_with("after ") && sleep.iter().any(|w| last.contains(w))
}

fn time(us: u64) -> String {
    say::span(Ns(i64::try_from(us).unwrap_or(i64::MAX / 1_000).saturating_mul(1_000)))
}

/// The number of a package state.
fn depth(name: &str) -> u32 {
    name.strip_prefix("Package C").and_then(|n| n.parse().ok()).unwrap_or(0)
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let pairs = pairs(case);
    if !told_depth(out) && !substates(case, &pairs, out) {
        slept(case, &pairs, out);
    }
    awake(&pairs, out);
    never(case, out);
    since_the_start(case, &pairs, out);
    last(case, out);
    domains(&pairs, case, out);
}

/// What counters alone prove of a sleep that was deep.
pub(in crate::rules) fn proof(case: &Case) -> Option<Finding> {
    let mut out = Vec::new();
    judge(case, &mut out);
    out.into_iter().find(|f| f.id == rule(Depth::Whole).0)
}

/// The rule that says so.
pub(super) fn rule(depth: Depth) -> (&'static str, Area, Level) {
    match depth {
        Depth::Nothing => ("mode-name-only", Area::Mode, Level::Risk),
        Depth::Part => ("mode-partial", Area::Mode, Level::Risk),
        Depth::Whole => ("mode-hardware", Area::Mode, Level::Note),
    }
}

/// Shares of sleeps that a counter of the whole system counted, of the counter that counted
/// most; nothing of sleeps of which nobody says how long they were.
pub(in crate::rules) fn slept_shares(case: &Case) -> Vec<Share> {
    let pairs = pairs(case);
    let of = |p: &&Pair<'_>| p.slept && matches!(p.of, Counts::System | Counts::Substate);
    let Some(most) = pairs.iter().filter(of).max_by_key(|p| p.by) else {
        return last_share(case).into_iter().collect();
    };
    let same = pairs.iter().filter(of).filter(|p| (p.name, p.of) == (most.name, most.of));
    let share = |p: &Pair<'_>| {
        let length = p.length.filter(|l| l.seconds > 0)?;
        let all = i128::from(length.seconds) * 1_000_000;
        let thousandths = i64::try_from(i128::from(p.by) * 100_000 / all).ok()?;
        Some(Share { thousandths, ordered: length.ordered, line: p.lines[1].line })
    };
    same.filter_map(share).collect()
}

/// The share of the one sleep of a text that a counter of the last sleep has.
fn last_share(case: &Case) -> Option<Share> {
    let (seconds, _) = turns::asleep(case).filter(|a| a.1 == 1 && a.0 > 0)?;
    let last = case.night.counts().filter(|c| c.2.of == Counts::Last);
    let (_, item, c) = last.max_by_key(|c| c.2.value)?;
    let thousandths = i128::from(c.value) * 100_000 / (i128::from(seconds) * 1_000_000);
    let thousandths = i64::try_from(thousandths).ok().filter(|t| *t <= 101_000)?;
    Some(Share { thousandths, ordered: false, line: item.line })
}

/// Substates of S0ix, of which tables name the deepest last: it was entered, or one above it.
fn substates(case: &Case, pairs: &[Pair<'_>], out: &mut Vec<Finding>) -> bool {
    let all: Vec<(&Item, &Count)> =
        case.night.counts().filter(|c| c.2.of == Counts::Substate).map(|c| (c.1, c.2)).collect();
    let Some(&(item, last)) = all.last() else { return false };
    let twice = pairs.iter().any(|p| p.of == Counts::Substate);
    // Two tables: what grew between them. One: what was counted since the start.
    let grew = |name: &str| {
        let of = pairs.iter().filter(|p| p.of == Counts::Substate && p.name == name);
        let by = of.map(|p| p.by).fold(0, u64::saturating_add);
        if twice { by } else { all.iter().find(|c| c.1.name == name).map_or(0, |c| c.1.value) }
    };
    if grew(&last.name) >= LEAST {
        // How much of the sleep it was the pair tells.
        if twice && pairs.iter().any(|p| p.slept && p.name == last.name) {
            return false;
        }
        let f = Finding::new(rule(Depth::Whole), Confidence::Certain)
            .says(format!(
                "The hardware slept in its deepest state {}, for {}.",
                last.name,
                time(grew(&last.name))
            ))
            .shown_by([Evidence::from(item)]);
        out.push(f);
        return true;
    }
    let above = all.iter().rev().find(|c| c.1.name != last.name && grew(&c.1.name) >= LEAST);
    let Some((shown, c)) = above else { return false };
    let f = Finding::new(rule(Depth::Part), Confidence::Certain)
        .says(format!(
            "The hardware slept only in the shallower state {} ({}), never in its deepest, {}.",
            c.name,
            time(grew(&c.name)),
            last.name
        ))
        .look("substate_status_registers of pmc_core, read after the sleep, lists what the deeper state requires and did not get.")
        .shown_by([Evidence::from(*shown), Evidence::from(item)]);
    out.push(platform::because(case, f));
    true
}

/// What a sleep counted.
fn slept(case: &Case, pairs: &[Pair<'_>], out: &mut Vec<Finding>) {
    let evidence = |p: &Pair<'_>| p.lines.map(Evidence::from);
    let is_system = |p: &&Pair<'_>| matches!(p.of, Counts::System | Counts::Substate);
    // The processor's own counter grows in its deepest state alone.
    let processor =
        pairs.iter().find(|p| p.of == Counts::Package && depth(p.name) == 0 && p.by >= LEAST);
    let asleep = |p: &&Pair<'_>| p.slept || is_system(p) && processor.is_some();
    let package: Vec<&Pair<'_>> = pairs
        .iter()
        .filter(|p| p.slept && p.of == Counts::Package && depth(p.name) > 0 && p.by > 0)
        .collect();
    let deepest =
        package.iter().filter(|p| p.depth() != Depth::Nothing).max_by_key(|p| depth(p.name));
    let most = pairs.iter().filter(is_system).filter(asleep).max_by_key(|p| (p.depth(), p.by));
    if let Some(p) = most {
        let deep = p.depth();
        let unknown = if is_named(case) { "" } else { " No rule finds what kept it." };
        let side = match (deepest, processor) {
            (Some(d), _) if depth(d.name) >= 10 => format!(
                ", while the package was in C10 for {}: what keeps the platform awake is outside the processor",
                time(d.by)
            ),
            (Some(d), _) => format!(
                ", and the package went no deeper than C{}: what keeps it is on the processor's side",
                depth(d.name)
            ),
            (None, Some(d)) => format!(
                ", while the processor counted {} in its deepest package state: what keeps the platform awake is outside it",
                time(d.by)
            ),
            (None, None) => String::new(),
        };
        let success = succeeded(case);
        let times = match (&success, side.is_empty()) {
            (Some((n, _)), true) => format!(
                ", while {} succeeded",
                say::plural(usize::try_from(*n).unwrap_or(0), "sleep")
            ),
            _ => String::new(),
        };
        let ordered = if p.length.is_some_and(|l| l.ordered) { " that were ordered" } else { "" };
        let words = match (deep, p.by) {
            (Depth::Nothing, 0) => format!(
                "The machine slept in name only: the counter of the hardware ({}) did not grow over a sleep{side}{times}.{unknown}",
                p.name
            ),
            (Depth::Nothing, by) => format!(
                "The machine slept in name only: over the sleep the counter of the hardware ({}) grew by {}{}, which is entering and leaving{side}.{unknown}",
                p.name,
                time(by),
                p.of_length()
            ),
            (Depth::Part, by) => format!(
                "The hardware slept only a part of the time: {} grew by {}{}{ordered}{side}.{unknown}",
                p.name,
                time(by),
                p.of_length()
            ),
            (Depth::Whole, by) => format!(
                "The hardware slept: over the sleep its counter ({}) grew by {}{}.{}",
                p.name,
                time(by),
                p.of_length(),
                if p.length.is_none() {
                    " How long the sleep was, no line that was read says."
                } else {
                    ""
                }
            ),
        };
        // Something may have woken it before its time.
        let early = deep != Depth::Whole && p.by >= LEAST && p.length.is_some_and(|l| l.ordered);
        let sure = if early || p.told { Confidence::Likely } else { Confidence::Certain };
        let f = Finding::new(rule(deep), sure).says(words).shown_by(evidence(p));
        let f = f.shown_by(processor.filter(|_| deepest.is_none()).into_iter().flat_map(evidence));
        let f = f.shown_by(success.into_iter().flat_map(|s| s.1));
        out.push(if deep == Depth::Whole {
            f
        } else {
            platform::because(case, f.look(platform::CONSTRAINTS))
        });
        return;
    }
    // The text does not say that it slept; what counted so long was no idle moment.
    if let Some(p) = pairs.iter().filter(is_system).filter(|p| p.by >= LEAST).max_by_key(|p| p.by) {
        let fits = |s: u64| p.by <= s.saturating_add(SLACK).saturating_mul(1_000_000);
        let slept = turns::asleep(case)
            .and_then(|(s, n)| Some((u64::try_from(s).ok().filter(|s| fits(*s))?, n)));
        let length = slept.map_or_else(
            || "How long the sleep was, no line that was read says.".into(),
            |(s, n)| {
                let took = time(s.saturating_mul(1_000_000));
                match n {
                    1 => format!("The sleep of the text took {took}."),
                    n => format!("The {n} sleeps of the text took {took} together."),
                }
            },
        );
        let f = Finding::new(rule(Depth::Whole), Confidence::Likely)
            .says(format!(
                "The hardware slept: its counter ({}) grew by {} between the two times that the text shows it. {length}",
                p.name,
                time(p.by)
            ))
            .shown_by(evidence(p));
        out.push(f);
        return;
    }
    let Some(d) = deepest.or(package.iter().max_by_key(|p| depth(p.name))) else { return };
    let (n, by, of) = (depth(d.name), time(d.by), d.of_length());
    let deep = if n >= DEEP { d.depth() } else { Depth::Nothing };
    let words = match deep {
        Depth::Whole => format!(
            "Asleep the package reached C{n}: its counter grew by {by}{of} over the sleep. Of the platform itself the text shows no counter."
        ),
        Depth::Part => format!(
            "Asleep the package was in C{n} for a part of the time: its counter grew by {by}{of}. No rule finds what kept it."
        ),
        Depth::Nothing => format!(
            "Asleep the package went no deeper than C{n} ({by}{of}): no platform sleeps so. No rule finds what kept it."
        ),
    };
    let sure = if deep == Depth::Whole { Confidence::Certain } else { Confidence::Likely };
    let f = Finding::new(rule(deep), sure).says(words).shown_by(evidence(d));
    out.push(if deep == Depth::Whole { f } else { f.look(platform::CONSTRAINTS) });
}

/// Platforms that sleep have their package in one of these states or deeper.
const DEEP: u32 = 8;

/// A package in this state or above keeps its memory in use.
const SHALLOW: u32 = 3;

/// What the package did awake.
fn awake(pairs: &[Pair<'_>], out: &mut Vec<Finding>) {
    let all: Vec<&Pair<'_>> =
        pairs.iter().filter(|p| !p.slept && p.of == Counts::Package && depth(p.name) > 0).collect();
    let Some(d) = all.iter().filter(|p| p.by > 0).max_by_key(|p| depth(p.name)) else { return };
    let known = all.iter().map(|p| depth(p.name)).max().unwrap_or(0);
    if depth(d.name) >= known {
        return;
    }
    // Whoever types waits longer than he told the machine to.
    let fits = |l: &Length| d.by <= l.seconds.saturating_mul(1_000_000);
    let idle = d.length.filter(fits);
    let idle = idle.map_or(String::new(), |l| format!(" (idle for {} s)", l.seconds));
    // An idle machine with its screen on stays above C8; one that goes no deeper than C3 has
    // something that keeps its memory in use, whatever it does asleep.
    let shallow = d.length.is_some() && depth(d.name) <= SHALLOW && known >= DEEP;
    let level = if shallow { Level::Risk } else { Level::Note };
    let f = Finding::new(("block-package", Area::Mode, level), Confidence::Certain)
        .says(format!("Awake{idle} the package goes no deeper than C{}, where its counter grew by {}; the states below it up to C{known} did not count. What keeps it, the text does not prove.", depth(d.name), time(d.by)))
        .look("ltr_show of pmc_core lists what devices ask for; a display that is on keeps many machines above C8.")
        .shown_by(d.lines.map(Evidence::from));
    out.push(f);
}

/// Counters of all package states that never counted.
fn never(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(usize, &Item, &Count)> =
        case.night.counts().filter(|c| c.2.of == Counts::Package && depth(&c.2.name) > 0).collect();
    let states: Vec<u32> = all.iter().map(|c| depth(&c.2.name)).collect();
    if states.len() < 3 || all.iter().any(|c| c.2.value > 0) {
        return;
    }
    let system = case.night.counts().find(|c| c.2.of == Counts::System && c.2.value == 0);
    let also = system.map_or(String::new(), |s| format!(" So {} cannot count either.", s.2.name));
    let shallow = states.iter().min().copied().unwrap_or(0);
    let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!("The processor's package never idled: none of its states counted, not even C{shallow}.{also} What keeps it is on the processor's side (a busy CPU, graphics, a device that asks for a short latency), not a part of the platform that stays on; no line that was read names it."))
        .look("Look at turbostat for a CPU that never idles, at ltr_show, and whether these counters work on this machine at all.")
        .shown_by(all.iter().map(|c| Evidence::from(c.1)).take(2))
        .shown_by(system.map(|s| Evidence::from(s.1)));
    out.retain(|f| f.id != "mode-not-counted");
    if !told_depth(out) {
        out.push(f);
    }
}

/// Words of somebody who sent the machine to sleep, or looked after it.
const SENT: [&str; 6] = [
    "systemctl suspend",
    "rtcwake ",
    "> /sys/power/state",
    "after suspend",
    "after resume",
    "after sleep",
];

/// One reading of counters that run from the start on, in a text in which the machine was sent to
/// sleep: what they do not have, no sleep until then had.
fn since_the_start(case: &Case, pairs: &[Pair<'_>], out: &mut Vec<Finding>) {
    let of = |c: &&(usize, &Item, &Count)| c.2.of == Counts::Package && depth(&c.2.name) > 0;
    let all: Vec<(usize, &Item, &Count)> = case.night.counts().collect();
    let states: Vec<_> = all.iter().filter(of).collect();
    let Some(deepest) = states.iter().filter(|c| c.2.value > 0).max_by_key(|c| depth(&c.2.name))
    else {
        return;
    };
    let last = states.iter().map(|c| depth(&c.2.name)).max().unwrap_or(0);
    let system: Vec<_> = all.iter().filter(|c| c.2.of == Counts::System).collect();
    let none = !system.is_empty() && system.iter().all(|c| c.2.value == 0);
    let sent = case.night.slept_at_all()
        || !case.attempts.is_empty()
        || case.messages.having_any(&SENT).next().is_some();
    // Two readings tell more, and a state of the platform is needed for its sleep.
    let shallow = last >= DEEP && depth(&deepest.2.name) < DEEP;
    if !none || !shallow || !sent || !pairs.is_empty() || told_depth(out) {
        return;
    }
    let f = Finding::new(rule(Depth::Nothing), Confidence::Likely)
        .says(format!(
            "No sleep since the start was deep: the hardware's own counter ({}) stands at 0, and the package went no deeper than {} (C{last} stands at 0). What keeps it is on the processor's side or a device that asks for a short latency; no rule finds which in this text.",
            system[0].2.name,
            deepest.2.name.trim_start_matches("Package ")
        ))
        .look(platform::CONSTRAINTS)
        .shown_by([Evidence::from(deepest.1), Evidence::from(system[0].1)]);
    out.push(platform::because(case, f));
}

/// What one sleep counted: `last_hw_sleep`, AMD's tables.
fn last(case: &Case, out: &mut Vec<Finding>) {
    if told_depth(out) {
        return;
    }
    let parts = platform::kept(case).filter(|k| k.of_parts);
    // Before the first sleep of a boot all of it is as empty.
    let succeeded = |v: &Value| v.name() == "success" && v.count().is_some_and(|n| n > 0);
    let slept = case.night.items.iter().any(|i| matches!(i.fact, Fact::Slept(_)))
        || case.values.iter().any(succeeded)
        || parts.is_some()
        || case.attempts.iter().any(|a| a.mode != "deep" && a.mode != "hibernation");
    let counts = || case.night.counts().filter(|c| c.2.of == Counts::Last);
    let verdict = case.night.items.iter().rfind(|i| matches!(i.fact, Fact::Verdict { .. }));
    let deep = verdict.map(|v| matches!(v.fact, Fact::Verdict { deep: true }));
    let kept = || parts.as_ref().map_or(String::new(), |k| format!(" {}", k.words));
    let Some((_, item, c)) = counts().max_by_key(|c| c.2.value) else {
        if let (Some(v), Some(deep)) = (verdict, deep)
            && (deep || slept)
        {
            let f = if deep {
                Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Likely)
                    .says("The text says that the platform's deep sleep was reached.")
            } else {
                Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
                    .says(format!("The machine slept in name only, by the status that its power management unit gives.{}", kept()))
                    .look(platform::CONSTRAINTS)
                    .shown_by(parts.iter().flat_map(|k| k.evidence.clone()))
            };
            out.push(f.shown_by([Evidence::from(v)]));
        }
        return;
    };
    let failed = verdict.filter(|_| deep == Some(false));
    let f = match (c.value, failed) {
        (0, _) if !slept => return,
        (0, Some(v)) => Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!("The machine slept in name only: its power management unit says that the last entry failed, and counted no time in it.{}", kept()))
            .look(platform::CONSTRAINTS)
            .shown_by([Evidence::from(v), Evidence::from(item)])
            .shown_by(parts.iter().flat_map(|k| k.evidence.clone())),
        (0, None) => Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!("The machine slept in name only, or this counter does not work here: {} is 0 after a sleep. No rule finds what kept it.", c.name))
            .look(platform::CONSTRAINTS)
            .shown_by([Evidence::from(item)]),
        (us, _) => {
            // One sleep of a known length.
            let length = turns::asleep(case).filter(|a| a.1 == 1).and_then(|a| u64::try_from(a.0).ok());
            let deep = depth_of(us, length);
            let of = length.map_or(String::new(), |s| format!(" of {}", time(s.saturating_mul(1_000_000))));
            let how = match deep {
                Depth::Whole => "The hardware slept",
                Depth::Part => "The hardware slept only a part of the time",
                Depth::Nothing => "The machine slept in name only",
            };
            let sure = if deep == Depth::Whole { Confidence::Certain } else { Confidence::Likely };
            Finding::new(rule(deep), sure)
                .says(format!("{how}: {} counted {}{of}.", c.name, time(us)))
                .shown_by([Evidence::from(item)])
        }
    };
    out.push(f);
}

/// Power domains of Qualcomm's chips over a sleep.
fn domains(pairs: &[Pair<'_>], case: &Case, out: &mut Vec<Finding>) {
    let of = |p: &&Pair<'_>| p.of == Counts::Entries;
    let still: Vec<&Pair<'_>> = pairs.iter().filter(of).filter(|p| p.slept && p.by == 0).collect();
    let moved: Vec<&Pair<'_>> = pairs.iter().filter(of).filter(|p| p.by > 0).collect();
    let list = |l: &[&Pair<'_>]| {
        let times = |p: &&Pair<'_>| match usize::try_from(p.by).unwrap_or(0) {
            0 => p.name.to_string(),
            n => format!("{} ({})", p.name, say::once(n)),
        };
        l.iter().map(times).collect::<Vec<_>>().join(", ")
    };
    if still.is_empty() && moved.is_empty() {
        let zero: Vec<(usize, &Item, &Count)> =
            case.night.counts().filter(|c| c.2.of == Counts::Entries).collect();
        type Read<'a> = (usize, &'a Item, &'a Count);
        let (none, some): (Vec<Read<'_>>, Vec<Read<'_>>) =
            zero.into_iter().partition(|c| c.2.value == 0);
        if none.is_empty() || told_depth(out) {
            if let Some(c) = some.first() {
                out.push(
                    Finding::new(("block-domain", Area::Mode, Level::Note), Confidence::Certain)
                        .says(format!(
                            "These power domains entered their sleep since the start: {}.",
                            some.iter()
                                .map(|c| format!(
                                    "{} ({} times)",
                                    c.2.name,
                                    say::grouped(c.2.value)
                                ))
                                .collect::<Vec<_>>()
                                .join(", ")
                        ))
                        .shown_by([Evidence::from(c.1)]),
                );
            }
            return;
        }
        let names: Vec<&str> = none.iter().map(|c| c.2.name.as_str()).collect();
        let did = |c: &Read<'_>| {
            let times = usize::try_from(c.2.value).unwrap_or(usize::MAX);
            format!("{} did ({})", c.2.name, say::once(times))
        };
        let did: Vec<String> = some.iter().map(did).collect();
        let did = if did.is_empty() { String::new() } else { format!("; {}", did.join(", ")) };
        out.push(Finding::new(("block-domain", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!("These power domains never entered their sleep since the start: {}{did}. No rule finds what votes against them.", names.join(", ")))
            .look("Compare the counts before and after a sleep; regulators, interconnects and clocks that stay on vote against cxsd and aosd.")
            .shown_by(none.iter().take(3).map(|c| Evidence::from(c.1))));
        return;
    }
    let rule = if still.is_empty() {
        ("block-domain", Area::Mode, Level::Note)
    } else {
        ("block-domain", Area::Mode, Level::Risk)
    };
    let words = match (still.is_empty(), moved.is_empty()) {
        (true, _) => format!(
            "Between the two readings these power domains entered their sleep: {}.",
            list(&moved)
        ),
        (false, true) => format!(
            "Between the two readings no power domain entered its sleep ({}).",
            list(&still)
        ),
        (false, false) => format!(
            "Between the two readings {} entered sleep and {} did not.",
            list(&moved),
            list(&still)
        ),
    };
    let shown = still.iter().chain(&moved).take(3).flat_map(|p| p.lines.map(Evidence::from));
    out.push(Finding::new(rule, Confidence::Certain).says(words).shown_by(shown));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn count(name: &str, of: Counts, value: u64) -> Fact {
        Fact::Count(Count { name: name.into(), of, value })
    }

    fn judged(facts: Vec<Fact>) -> Vec<Finding> {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let mut out = Vec::new();
        judge(&Case { night: Night { items, ..Night::default() }, ..Case::default() }, &mut out);
        out
    }

    #[test]
    fn a_counter_over_a_sleep_tells_its_depth() {
        let s0 = |v| count("slp_s0_residency_usec", Counts::System, v);
        let ids = |f: Vec<Fact>| judged(f).iter().map(|f| f.id).collect::<Vec<_>>();
        assert_eq!(ids(vec![s0(5), Fact::Slept(Some(60)), s0(58_000_005)]), ["mode-hardware"]);
        assert_eq!(ids(vec![s0(5), Fact::Slept(Some(60)), s0(20_000_005)]), ["mode-partial"]);
        assert_eq!(ids(vec![s0(5), Fact::Slept(None), s0(5)]), ["mode-name-only"]);
        assert!(ids(vec![s0(5), s0(5)]).is_empty(), "nobody says that it slept");
        assert!(ids(vec![s0(5), Fact::Slept(None), s0(0)]).is_empty(), "started anew");
        let words = |w: &str| Fact::Words(w.into());
        let after = |w: &str| judged(vec![s0(7), words(w), s0(7)]).first().map(|f| f.confidence);
        assert_eq!(after("# After resume:"), Some(Confidence::Likely));
        assert_eq!(after("It took long. After suspending twice"), Some(Confidence::Likely));
        assert_eq!(after("Before suspend:"), None);
        assert_eq!(after("After an update:"), None);
        assert!(
            ids(vec![s0(7), Fact::Lasted(90), s0(7)]).is_empty(),
            "it may be a job that sleeps"
        );
    }

    #[test]
    fn the_package_awake_and_asleep_are_told_apart() {
        let p = |n: u32, v| count(&format!("Package C{n}"), Counts::Package, v);
        let found = judged(vec![
            p(3, 1),
            p(10, 0),
            Fact::Idled(40),
            p(3, 900),
            p(10, 0),
            Fact::Slept(None),
            p(3, 950),
            p(10, 80_000_000),
        ]);
        let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
        assert_eq!(ids, ["mode-hardware", "block-package"]);
        assert!(found[1].sentence.contains("no deeper than C3"), "{}", found[1].sentence);
        let never = judged(vec![p(2, 0), p(3, 0), p(10, 0)]);
        assert!(never[0].sentence.contains("not even C2"));
    }
}
