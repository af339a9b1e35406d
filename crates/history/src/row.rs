//! The row of a sleep, of what was read before it and after it.

use dormouse_doctor::depth::in_range;
use dormouse_doctor::history::{Battery, Row};
use dormouse_doctor::night::charge::Gauge;
use dormouse_machine::natural::{After, Charge, Reading};
use dormouse_machine::root::Root;
use dormouse_read::{Options, read_bytes};

/// Who tells of rows that hooks wrote.
pub(crate) const HOOK: &str = "hook";
/// The wall clock is said to be set if it ran so many ms more or less than the others.
const SET: i64 = 2_000;

/// Milliseconds of ns.
fn ms(ns: i64) -> i64 {
    ns / 1_000_000
}

/// The sleep that began at `before` and ended at `now`.
pub(crate) fn slept(root: &Root, before: &Reading, now: &Reading, after: &After) -> Row {
    let number = |r: &Reading, name: &str| r.stats.get(name)?.parse::<i64>().ok();
    let grew = |name: &str| {
        Some(number(now, name)?.saturating_sub(number(before, name).unwrap_or(0)).max(0))
    };
    let span = now.boottime.saturating_sub(before.boottime).max(0);
    let stood = span.saturating_sub(now.monotonic.saturating_sub(before.monotonic)).max(0);
    let wall = now.realtime.saturating_sub(before.realtime);
    let set = ms(wall.saturating_sub(span));
    let failed = grew("fail");
    let failure = |name: &str| {
        let text = now.stats.get(name).filter(|_| failed.is_some_and(|n| n > 0));
        text.cloned().unwrap_or_default()
    };
    let (waker, waker_irq, sources) = wakers(before, now, after);
    let (mode, suspend_ms, resume_ms) = told(after.log.as_deref());
    let us = |name: &str| grew(name).map(|us| us.saturating_mul(1_000));
    let most = number(now, "max_hw_sleep").and_then(|n| u64::try_from(n).ok());
    let hardware = us("total_hw_sleep").map(dormouse_base::time::Ns);
    let hardware = in_range(hardware, dormouse_base::time::Ns(stood), most);
    Row {
        ended_ms: Some(ms(before.realtime) + ms(span)),
        mode: mode.unwrap_or_else(|| before.mem_sleep.clone()),
        slept_ms: Some(ms(stood)),
        span_ms: Some(ms(span)),
        suspend_ms,
        resume_ms,
        hardware_ms: hardware.map(|h| ms(h.0)),
        hardware_works: number(now, "total_hw_sleep").map(|n| i64::from(n > 0)),
        cpus_ms: before.s2idle.end(root).and_then(|us| i64::try_from(us / 1_000).ok()),
        waker,
        waker_irq,
        sources,
        succeeded: grew("success"),
        failed,
        failed_device: failure("last_failed_dev"),
        failed_step: failure("last_failed_step"),
        failed_errno: failure("last_failed_errno").parse::<i64>().ok().map(i64::abs),
        mains: before.mains.max(now.mains).map(i64::from),
        clock_set_ms: (set.abs() > SET).then_some(set),
        batteries: batteries(before, Some(now)),
        versions: after.versions.clone(),
        ..began(before)
    }
}

/// The sleep that began at `before`, of whose end nothing is known.
pub(crate) fn began(before: &Reading) -> Row {
    Row {
        boot: before.boot.clone(),
        began_ms: ms(before.realtime),
        source: HOOK.into(),
        mode: before.mem_sleep.clone(),
        mains: before.mains.map(i64::from),
        batteries: batteries(before, None),
        ..Row::default()
    }
}

fn batteries(before: &Reading, now: Option<&Reading>) -> Vec<Battery> {
    // Thousandths of a per cent.
    let scale = |c: &Charge| if c.gauge == "capacity" { 1_000 } else { 1 };
    let was = |c: &Charge| (!before.torn).then_some(c.now * scale(c));
    let battery = |c: &Charge| {
        let same = |n: &&Charge| n.name == c.name && n.gauge == c.gauge;
        let later = now.filter(|n| !n.torn).and_then(|n| n.batteries.iter().find(same));
        Some(Battery {
            name: c.name.clone(),
            gauge: match c.gauge.as_str() {
                "energy" => Gauge::Energy,
                "charge" => Gauge::Charge,
                "capacity" => Gauge::Percent,
                _ => return None,
            },
            before: was(c),
            after: later.map(|l| l.now * scale(l)),
            full: c.full.map(|f| f * scale(c)),
        })
    };
    before.batteries.iter().filter_map(battery).collect()
}

/// What woke it: the owner of the line, or the one source that counted where the line belongs
/// to all of ACPI or nobody knows it; its number, and all sources that counted.
fn wakers(before: &Reading, now: &Reading, after: &After) -> (String, Option<i64>, String) {
    let irq = after.wake_line.iter().find(|f| f.0.ends_with("/pm_wakeup_irq"));
    let owner = after.wake_line.iter().find(|f| f.0.ends_with("/actions"));
    let owner = owner.map_or("", |f| f.1.strip_suffix(":wakeup").unwrap_or(&f.1));
    let rose = |(folder, (_, n)): &(&String, &(String, u64))| {
        *n > before.sources.get(*folder).map_or(0, |b| b.1)
    };
    let mut sources: Vec<&str> =
        now.sources.iter().filter(rose).map(|(_, (name, _))| name.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    let waker = match (owner, &sources[..]) {
        ("acpi" | "", [one]) => (*one).to_string(),
        (owner, _) => owner.to_string(),
    };
    (waker, irq.and_then(|f| f.1.parse().ok()), sources.join(", "))
}

/// Mode, and times of suspend and resume, by the messages of the last attempt.
fn told(log: Option<&[u8]>) -> (Option<String>, Option<i64>, Option<i64>) {
    let read = log.and_then(|l| read_bytes("log", l, &Options::default()).ok());
    let cycle = read.and_then(|r| r.captures.into_iter().next()?.cycles.pop());
    let Some(c) = cycle else { return (None, None, None) };
    let mode = Some(c.mode.name().to_string()).filter(|m| !m.is_empty() && m != "unknown");
    let time = |t: Option<dormouse_base::time::Ns>| t.map(|t| ms(t.0)).filter(|t| *t > 0);
    (mode, time(c.suspend_time()), time(c.resume_time()))
}
