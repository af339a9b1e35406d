//! The row of a sleep, of what was read before it and after it.

use dormouse_doctor::depth::in_range;
use dormouse_doctor::history::{Battery, Row, TRIED};
use dormouse_doctor::night::charge::Gauge;
use dormouse_machine::natural::{After, Charge, Reading};
use dormouse_read::{Options, read_bytes};

/// Who tells of rows that hooks wrote.
pub(crate) const HOOK: &str = "hook";
/// The wall clock is said to be set if it ran so many ms more or less than the others.
pub(crate) const SET: i64 = 2_000;

/// Milliseconds of ns.
fn ms(ns: i64) -> i64 {
    ns / 1_000_000
}

/// The sleep that began at `before` and ended at `now`.
pub(crate) fn slept(before: &Reading, now: &Reading, after: &After) -> Row {
    // What was read while the machine slept is of before it or of after it: nobody knows. The
    // clocks were read first.
    let torn = before.torn() || now.torn();
    let number = |r: &Reading, name: &str| r.stats.get(name)?.parse::<i64>().ok();
    let grew = |name: &str| {
        let before = number(before, name).filter(|_| !torn)?;
        Some(number(now, name)?.saturating_sub(before).max(0))
    };
    let span = now.boottime.saturating_sub(before.boottime).max(0);
    let stood = span.saturating_sub(now.monotonic.saturating_sub(before.monotonic)).max(0);
    let wall = now.realtime.saturating_sub(before.realtime);
    let set = ms(wall.saturating_sub(span));
    let (succeeded, failed) = (grew("success"), grew("fail"));
    let failure = |name: &str| {
        let text = now.stats.get(name).filter(|_| failed.is_some_and(|n| n > 0));
        text.cloned().unwrap_or_default()
    };
    let (waker, waker_irq, sources) = wakers(before, now, after);
    let told = told(after.log.as_deref(), before.monotonic, now.monotonic);
    let us = |name: &str| grew(name).map(|us| us.saturating_mul(1_000));
    let most = number(now, "max_hw_sleep").and_then(|n| u64::try_from(n).ok());
    let hardware = us("total_hw_sleep").map(dormouse_base::time::Ns);
    let hardware = in_range(hardware, dormouse_base::time::Ns(stood), most);
    let cpus = before.s2idle.until(&now.s2idle).filter(|_| !torn);
    Row {
        ended_ms: Some(ms(before.realtime) + ms(span)),
        mode: told.mode.unwrap_or_else(|| counted(before, succeeded.zip(failed), ms(stood)).into()),
        slept_ms: Some(ms(stood)),
        span_ms: Some(ms(span)),
        suspend_ms: told.suspend_ms,
        resume_ms: told.resume_ms,
        hardware_ms: hardware.map(|h| ms(h.0)),
        hardware_works: number(now, "total_hw_sleep").map(|n| i64::from(n > 0)),
        cpus_ms: cpus.and_then(|us| i64::try_from(us / 1_000).ok()),
        waker,
        waker_irq,
        sources,
        succeeded,
        failed,
        failed_device: failure("last_failed_dev"),
        failed_step: failure("last_failed_step"),
        failed_errno: failure("last_failed_errno").parse::<i64>().ok().map(i64::abs),
        mains: match torn {
            false => before.mains.max(now.mains).map(i64::from),
            // It was there after; before, nobody knows.
            true => now.mains.filter(|there| *there).map(i64::from),
        },
        clock_set_ms: (set.abs() > SET).then_some(set),
        batteries: batteries(before, Some(now)),
        versions: after.versions.clone(),
        ..began(before)
    }
}

/// The mode by what the kernel counted, succeeded and failed, where no message tells it:
/// `pm_suspend` of kernel/power/suspend.c counts each of its attempts, `hibernate` of
/// kernel/power/hibernate.c none (6.12).
fn counted(before: &Reading, counts: Option<(i64, i64)>, stood_ms: i64) -> &str {
    match counts {
        Some((0, 0)) if stood_ms >= TRIED => "hibernation",
        Some((0, 0)) | None => "",
        // Whoever sends a machine to sleep writes `mem`; `freeze` is asked for by hand.
        Some(_) => &before.mem_sleep,
    }
}

/// The sleep that began at `before`, of whose end nothing is known but that the machine came
/// back, if it slept while that was read.
pub(crate) fn began(before: &Reading) -> Row {
    let back = before.torn().then_some(ms(before.stood));
    Row {
        boot: before.boot.clone(),
        began_ms: ms(before.realtime),
        ended_ms: back.map(|stood| ms(before.realtime) + stood),
        slept_ms: back,
        source: HOOK.into(),
        mains: before.mains.filter(|_| !before.torn()).map(i64::from),
        batteries: batteries(before, None),
        ..Row::default()
    }
}

fn batteries(before: &Reading, now: Option<&Reading>) -> Vec<Battery> {
    // Thousandths of a per cent.
    let scale = |c: &Charge| if c.gauge == "capacity" { 1_000 } else { 1 };
    let was = |c: &Charge| (!before.torn()).then_some(c.now * scale(c));
    let battery = |c: &Charge| {
        let same = |n: &&Charge| n.name == c.name && n.gauge == c.gauge;
        let later = now.filter(|n| !n.torn()).and_then(|n| n.batteries.iter().find(same));
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
    let (irq, owner) =
        after.wake_line.as_ref().map_or((None, None), |(i, o)| (Some(i), o.as_ref()));
    let owner = owner.map_or("", |o| o.strip_suffix(":wakeup").unwrap_or(o));
    let torn = before.torn() || now.torn();
    let rose = |(folder, (_, n)): &(&String, &(String, u64))| {
        !torn && *n > before.sources.get(*folder).map_or(0, |b| b.1)
    };
    let mut sources: Vec<&str> =
        now.sources.iter().filter(rose).map(|(_, (name, _))| name.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    let waker = match (owner, &sources[..]) {
        ("acpi" | "", [one]) => (*one).to_string(),
        (owner, _) => owner.to_string(),
    };
    (waker, irq.and_then(|n| n.parse().ok()), sources.join(", "))
}

/// What messages tell of an attempt.
#[derive(Default)]
struct Told {
    mode: Option<String>,
    suspend_ms: Option<i64>,
    resume_ms: Option<i64>,
}

/// What the messages tell of the last attempt that began between two times of
/// `CLOCK_MONOTONIC`, ns.
fn told(log: Option<&[u8]>, from: i64, to: i64) -> Told {
    let read = log.and_then(|l| read_bytes("log", l, &Options::default()).ok());
    let slack = APART + to / DRIFT;
    let meant = from.saturating_sub(slack)..=to.saturating_add(slack);
    let cycles = read.into_iter().flat_map(|r| r.captures).flat_map(|c| c.cycles);
    let Some(c) = cycles.filter(|c| !c.reads_image && meant.contains(&c.start.0)).last() else {
        return Told::default();
    };
    let mode = Some(c.mode.name().to_string()).filter(|m| !m.is_empty() && m != "unknown");
    let time = |t: Option<dormouse_base::time::Ns>| t.map(|t| ms(t.0)).filter(|t| *t > 0);
    Told { mode, suspend_ms: time(c.suspend_time()), resume_ms: time(c.resume_time()) }
}

/// Messages bear another clock (`local_clock`, kernel/printk/printk.c, 6.12) than
/// `CLOCK_MONOTONIC`: the two start within this of each other, ns (chosen), and
const APART: i64 = 1_000_000_000;
/// then part by one in so many: NTP slews the one by 500 ppm at most (MAXFREQ of
/// include/linux/timex.h, 6.12), and not the other.
const DRIFT: i64 = 2_000;
