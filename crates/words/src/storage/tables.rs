//! Tables of storage: power states of drives, clocks of devfreq, jobs of fio, and each
//! beside the one before it.

use super::FEW;
use crate::idle::numbers::percent;
use crate::text::page::{Ink, Page, WIDTH};
use crate::text::{fit, safe};
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{by_itself, doubt, entered, ms3, time};
use dormouse_storage::levels::{ByItself, Drive, PowerState, Transitions, differs, shift};
use dormouse_storage::load::{Fits, Job, change};

/// uW as W with the digits that it has.
fn watts(uw: Option<u64>) -> String {
    match uw {
        None => "-".into(),
        Some(n) if n % 1_000 == 0 => format!("{}.{:03}", n / 1_000_000, n % 1_000_000 / 1_000),
        Some(n) => format!("{}.{:06}", n / 1_000_000, n % 1_000_000).trim_end_matches('0').into(),
    }
}

pub(super) fn drives(p: &mut Page, drives: &[Drive]) {
    let odd: Vec<&Drive> = drives.iter().filter(|d| !d.doubts().is_empty()).collect();
    // Whoever enters nothing by itself never has to wake.
    let still =
        |d: &Drive| d.by_itself().is_some_and(|b| !matches!(b, ByItself::Falls | ByItself::On));
    // Without a table of states what it does by itself is all that there is.
    let told = |d: &&Drive| d.by_itself().is_some_and(|b| b != ByItself::Falls);
    let all = drives.iter().find(|d| still(d)).or(drives.iter().find(told));
    let asleep = all.and_then(Drive::by_itself);
    let worst = drives
        .iter()
        .filter_map(|d| Some((d.deepest(d.limit.unwrap_or(u64::MAX))?, d)))
        .max_by_key(|(s, _)| s.exit_us);
    let exit =
        |s: &PowerState| time(i64::try_from(s.exit_us.saturating_mul(1_000)).unwrap_or(i64::MAX));
    let limited = drives.iter().any(|d| d.limit.is_some());
    let text = match worst {
        Some(_) if drives.iter().all(still) => by_itself(asleep.expect("each is so")).into(),
        Some((s, d)) => format!(
            "Waking takes up to {} by the drive's own table: from state {} of {}{}.{}",
            exit(s),
            s.number,
            safe(&d.name),
            if limited { ", the deepest within the kernel's limit" } else { "" },
            match d.deepest_entered() {
                Some(used) if used.number != s.number => format!(
                    " {} no deeper than state {}, which takes {}.",
                    if d.falls.is_empty() {
                        "The kernel's usual rule goes"
                    } else {
                        "Its APST goes"
                    },
                    used.number,
                    exit(used)
                ),
                _ => String::new(),
            }
        ),
        None if limited && drives.iter().any(|d| d.states.iter().any(|s| !s.operational)) => {
            "The kernel's limit lets no drive here sleep by itself.".into()
        }
        None if drives.iter().all(|d| d.states.is_empty()) && asleep.is_some() => {
            let same = |d: &&Drive| d.by_itself() == asleep;
            let of: Vec<_> = drives.iter().filter(same).map(|d| safe(&d.name)).collect();
            let whose = match of.len() == drives.len() {
                true => String::new(),
                false => format!("{}: ", of.join(", ")),
            };
            format!("{whose}{}", by_itself(asleep.expect("it was just seen")))
        }
        None if drives.iter().all(|d| d.states.is_empty()) => {
            "The text says what drives do by themselves, and not how long their states take.".into()
        }
        None if drives.iter().all(|d| d.cut_of().is_some()) => {
            "The text shows no state that saves power without serving, and not all states.".into()
        }
        None if drives.iter().any(|d| d.cut_of().is_some()) => {
            "No drive whose table is whole has a state that saves power without serving.".into()
        }
        None => "No drive here has a state that saves power without serving.".into(),
    };
    p.wrapped(Ink::Strong, 0, 2, &text);
    for d in drives {
        if let Some(all) = d.cut_of() {
            let shown = d.states.len();
            p.wrapped(
                Ink::Plain,
                0,
                2,
                &format!(
                    "{}: the table is cut. It shows {shown} of {all} states (npss {}); of the \
                     other{} nothing is known.",
                    safe(&d.name),
                    all - 1,
                    if all as usize - shown == 1 { "" } else { "s" }
                ),
            );
        }
    }
    let says = if odd.is_empty() {
        "The drives' own figures; the kernel takes them as they are.".to_string()
    } else {
        format!(
            "The drives' own figures; the kernel takes them as they are. {} in an order that cannot \
             be right.",
            if odd.len() == 1 { "1 table is".into() } else { format!("{} tables are", odd.len()) }
        )
    };
    p.wrapped(Ink::Plain, 0, 2, &says);
    for d in drives {
        p.blank();
        p.line(&[(Ink::Strong, &fit(&safe(&d.name), WIDTH))]);
        if let Some(b) = d.by_itself().filter(|b| *b != ByItself::Falls) {
            p.paragraph(2, by_itself(b));
        }
        for f in &d.falls {
            let text = format!("From state {} into {} after {} ms idle.", f.from, f.to, f.after_ms);
            p.paragraph(2, &text);
        }
        if let Some(now) = d.now {
            p.paragraph(2, &format!("It was in state {now}."));
        }
        if d.states.is_empty() {
            continue;
        }
        // Beside what was read of the drive it is what a kernel would set, and not what is set.
        let read = d.by_itself().is_some_and(|b| !matches!(b, ByItself::Falls | ByItself::On));
        let kernel = match d.named_limit {
            Some(_) => "by default limits",
            None if read => "the kernel would set",
            None => "by the kernel's APST",
        };
        p.line(&[(
            Ink::Plain,
            &format!(
                "  {:<10}{:>10}{:>12}{:>12}{:>12}  {kernel}",
                "State", "most W", "entry us", "exit us", "idle W"
            ),
        )]);
        for (s, e) in d.states.iter().zip(d.by_kernel()) {
            p.line(&[(
                Ink::Plain,
                &format!(
                    "  {:<10}{:>10}{:>12}{:>12}{:>12}  {}",
                    s.number,
                    watts(s.most_uw),
                    grouped(s.entry_us),
                    grouped(s.exit_us),
                    watts(s.idle_uw),
                    // The kernel fills its table from the deepest state up.
                    match d.cut_of() {
                        Some(_) if !s.operational => "not known: the table is cut".into(),
                        _ => entered(e),
                    }
                ),
            )]);
        }
        match d.limit {
            Some(0) => {
                p.paragraph(2, "default_ps_max_latency_us is 0: the kernel sends it nowhere.")
            }
            Some(us) => p.paragraph(
                2,
                &format!(
                    "No exit may take longer than {} us (default_ps_max_latency_us).",
                    grouped(us)
                ),
            ),
            None => {}
        }
        if let Some(us) = d.named_limit {
            p.paragraph(
                2,
                &format!(
                    "The text names default_ps_max_latency_us={us}, and no line shows that it was \
                     set: {}.",
                    match us {
                        0 => "with it the kernel sends the drive nowhere".into(),
                        us => format!("with it no exit may take longer than {} us", grouped(us)),
                    }
                ),
            );
        }
        if d.by_itself() == Some(ByItself::EmptyTable) && d.limit.is_none() {
            p.paragraph(2, OLDER);
        }
        let off = [d.off[0], d.off[1]].map(|t| t.filter(|us| *us > 0));
        if let [Some(down), Some(up)] = off {
            let ns = |us: u64| time(i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX));
            let text = format!(
                "Switched off at run time (RTD3) every state is left: {} to go, {} to come back, by \
                 the drive's own word.",
                ns(down),
                ns(up)
            );
            p.paragraph(2, &text);
        }
        for (a, b) in d.useless() {
            let text = format!(
                "State {} draws as much as state {} ({} W) and takes {} us to leave instead of {}: by \
                 the drive's own figures it saves nothing.",
                b.number,
                a.number,
                watts(b.most_uw),
                grouped(b.exit_us),
                grouped(a.exit_us)
            );
            p.paragraph(2, &text);
        }
        for x in d.doubts() {
            p.paragraph(2, &format!("Doubtful: {}.", doubt(x)));
        }
    }
    drives_beside(p, drives);
}

/// drivers/nvme/host/core.c:nvme_configure_apst, 4.11 and 4.13.
const OLDER: &str = "The last column goes by the default of kernels since 4.13: an exit of 100,000 \
                     us at most. 4.11 allowed 25,000 us for entry and exit together.";

pub(super) fn tables(p: &mut Page, list: &[Transitions]) {
    let stuck = list.iter().filter(|t| t.stuck().is_some()).count();
    let text = match stuck {
        0 => match list.iter().find_map(|t| Some((t, t.mostly()?))) {
            Some((t, l)) => format!(
                "{} was at {} MHz for {} of the time, with {}.",
                safe(&t.name),
                l.hz / 1_000_000,
                percent(l.ms, t.time()),
                plural(t.changes() as usize, "change")
            ),
            None => "Every clock here was changed by devfreq.".to_string(),
        },
        n if n == list.len() && n == 1 => "The clock was never changed by devfreq.".into(),
        n => format!("{n} of {} were never changed by devfreq.", plural(list.len(), "clock")),
    };
    p.wrapped(Ink::Strong, 0, 2, &text);
    p.wrapped(Ink::Plain, 0, 2, "Counted by the kernel since the device exists (trans_stat).");
    for t in list {
        let all = t.time();
        p.blank();
        let total = t.changes();
        let counted = if t.counted() == total {
            String::new()
        } else {
            format!("; the table shows {} of them", grouped(t.counted()))
        };
        p.wrapped(
            Ink::Strong,
            0,
            2,
            &format!("{}: {}{counted}", safe(&t.name), plural(total as usize, "change")),
        );
        for l in t.levels.iter().filter(|l| l.ms > 0) {
            p.line(&[(
                Ink::Plain,
                &format!(
                    "  {:>12} MHz{:>14} s{:>9}{}",
                    format!("{}.{}", l.hz / 1_000_000, l.hz % 1_000_000 / 100_000),
                    seconds(l.ms),
                    percent(l.ms, all),
                    if l.now { "  now" } else { "" }
                ),
            )]);
        }
    }
    tables_beside(p, list);
}

pub(super) fn jobs(p: &mut Page, jobs: &[Job]) {
    let slowest = jobs.iter().max_by_key(|j| j.whole()).expect("there is one");
    let ns = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    p.wrapped(
        Ink::Strong,
        0,
        2,
        &format!(
            "{}, {}: {} on average{}{}.",
            safe(&slowest.name),
            slowest.direction,
            // Where submission is no news, completion is what the table below has.
            time(ns(slowest.submitting().map_or(slowest.mean, |_| slowest.whole()))),
            match slowest.requests {
                0 => String::new(),
                n => format!(" over {}", plural(n as usize, "request")),
            },
            match slowest.submitting() {
                Some(part) => format!(
                    ", {} of it before the request was submitted (slat)",
                    percent(part, 1_000)
                ),
                None => String::new(),
            }
        ),
    );
    p.wrapped(
        Ink::Plain,
        0,
        2,
        "As fio measured it; it does not know what the drive or the clock did.",
    );
    p.blank();
    p.line(&[(
        Ink::Strong,
        &format!(
            "{:<26}{:>10}{:>9}{:>11}{:>11}{:>12}",
            "Completion latency of", "requests", "MB/s", "mean ms", "p99 ms", "max ms"
        ),
    )]);
    for j in jobs {
        p.line(&[(
            Ink::Plain,
            &format!(
                "{:<26}{:>10}{:>9}{:>11}{:>11}{:>12}",
                fit(&format!("{} {}", safe(&j.name), j.direction), 25),
                if j.requests == 0 { "-".into() } else { grouped(j.requests) },
                match j.bandwidth {
                    0 => "-".into(),
                    b => super::model::bandwidth(b),
                },
                ms3(ns(j.mean)),
                j.quantiles[1].map_or("-".into(), |n| ms3(ns(n))),
                ms3(ns(j.most))
            ),
        )]);
    }
    for j in jobs {
        if let Some((mean, p99)) = j.sync {
            let p99 =
                p99.map_or(String::new(), |n| format!(", 99 % of them at most {}", time(ns(n))));
            let text =
                format!("{}: each sync took {} on average{p99}.", safe(&j.name), time(ns(mean)));
            p.paragraph(2, &text);
        }
        let Some(q) = j.queue() else { continue };
        let name = format!("{} {}", safe(&j.name), j.direction);
        let rate = j.rate.map_or(String::new(), |r| grouped(r.saturating_add(500) / 1_000));
        let tenths = q.under_way.saturating_add(50) / 100;
        let under_way = format!("{}.{}", grouped(tenths / 10), tenths % 10);
        let text = match (q.wanted, q.expected) {
            (Some(n), Some(e)) if q.full => {
                let all = plural(n as usize, "request");
                let (own, others) = match j.others > 0 {
                    true => {
                        (format!("{under_way} of {all}"), ", the others of its other directions,")
                    }
                    false => (all, ""),
                };
                format!(
                    "{name}: {rate} IOPS with {own} under way all the time{others} make {} of each. \
                     Fewer would each take less if the drive is what limits the rate; only a run \
                     with another depth shows it.",
                    time(ns(e))
                )
            }
            (Some(1), _) if q.fits == Fits::Yes => format!(
                "{name}: one request at a time, so {rate} IOPS are all that this latency allows."
            ),
            (Some(n), _) => format!(
                "{name}: {rate} IOPS and this latency are {under_way} requests under way, of {} that \
                 {}{}.",
                grouped(n),
                if j.others > 0 { "all its directions want together" } else { "it wants" },
                match q.fits {
                    Fits::Yes => "",
                    Fits::Starved =>
                        ": its queue was never full for long, so something before the drive held \
                         requests back",
                    Fits::Paced =>
                        ": its own options let time pass between requests (thinktime, rate)",
                    Fits::Impossible =>
                        ", which is more than there can be: these figures are not of one run",
                }
            ),
            (None, _) => format!(
                "{name}: {rate} IOPS and this latency are {under_way} requests under way on average."
            ),
        };
        p.paragraph(2, &text);
    }
    beside(p, jobs);
}

/// Tables of the same levels, each against the one before it.
fn tables_beside(p: &mut Page, list: &[Transitions]) {
    let mut first = true;
    for pair in list.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        let Some((n, before, after)) = shift(a, b) else { continue };
        if std::mem::take(&mut first) {
            p.blank();
        }
        let mhz = a.levels[n].hz / 1_000_000;
        let text = match before == after {
            true => {
                format!("From {} to {} no share of the time changed.", safe(&a.name), safe(&b.name))
            }
            false => format!(
                "From {} to {}: {mhz} MHz went from {}.{} to {}.{} % of the time, more than any other \
                 clock; {} and {}.",
                safe(&a.name),
                if a.name == b.name { "the table below it".into() } else { safe(&b.name) },
                before / 10,
                before % 10,
                after / 10,
                after % 10,
                plural(usize::try_from(a.total.unwrap_or(a.counted())).unwrap_or(0), "change"),
                grouped(b.total.unwrap_or(b.counted()))
            ),
        };
        p.paragraph(2, &text);
    }
}

/// Drives, each against the one before it.
fn drives_beside(p: &mut Page, list: &[Drive]) {
    for pair in list.windows(2).take(FEW) {
        let (a, b) = (&pair[0], &pair[1]);
        let state = |d: &Drive, n: u32| d.states.iter().find(|s| s.number == n).copied();
        let Some(n) = differs(a, b) else { continue };
        let (Some(x), Some(y)) = (state(a, n), state(b, n)) else { continue };
        let text = format!(
            "{} against {}: state {n} is the first that differs: {} and {} W, exit {} and {} us.",
            safe(&a.name),
            safe(&b.name),
            watts(x.most_uw),
            watts(y.most_uw),
            grouped(x.exit_us),
            grouped(y.exit_us)
        );
        p.blank();
        p.paragraph(2, &text);
    }
}

/// Jobs of one direction, each against the one before it.
fn beside(p: &mut Page, jobs: &[Job]) {
    let part = |n: Option<u64>| match n {
        None => "-".to_string(),
        Some(n) => {
            let diff = i64::try_from(n).unwrap_or(i64::MAX) - 1_000;
            let (sign, diff) = if diff < 0 { ('-', -diff) } else { ('+', diff) };
            format!("{sign}{}.{} %", diff / 10, diff % 10)
        }
    };
    for direction in ["read", "write", "trim"] {
        let list: Vec<&Job> = jobs.iter().filter(|j| j.direction == direction).collect();
        for pair in list.windows(2).take(FEW) {
            let c = change(pair[0], pair[1]);
            let text = format!(
                "{direction}: from {} to {} the mean changed by {}, p99 by {}, the rate by {}.",
                safe(&pair[0].name),
                match pair[0].name == pair[1].name {
                    true => "the row below it".into(),
                    false => safe(&pair[1].name),
                },
                part(c.mean),
                part(c.p99),
                part(c.rate)
            );
            p.paragraph(2, &text);
        }
    }
}

/// `1 234.5` of milliseconds.
fn seconds(ms: u64) -> String {
    let tenths = ms / 100 + u64::from(ms % 100 >= 50);
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}
