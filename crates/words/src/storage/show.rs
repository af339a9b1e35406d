//! What `dormouse show --only storage` prints.

use super::tables::{drives, jobs, tables};
use super::{FEW, Page as Shown};
use crate::idle::numbers::percent;
use crate::text::page::{Ink, Page};
use crate::text::{fit, safe};
use crate::wording::next;
use crate::wording::number::{grouped, plural};
use crate::wording::storage::{cure, error, ms3, row, time, waited_for};
use dormouse_base::loss::Severity;
use dormouse_base::say;
use dormouse_storage::knobs::Knobs;
use dormouse_storage::recording::Trace;
use dormouse_storage::request::Operation;
use dormouse_storage::runtime::harmless;
use dormouse_storage::summary::{CLASSES, DiskSummary, IDLE_GAP, Latency, Taken};
use dormouse_storage::wait::{CAUSES, Cause};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// With fewer requests each is told by itself.
const MANY: usize = 20;

/// How a trace with every moment of a request is recorded.
const RECORD: &str = "record --with storage --for 10s -o storage.tar.gz";

/// The page: an answer, how far to trust it, tables, what to do next.
pub fn show(shown: &Shown<'_>, colour: bool) -> String {
    let mut p = Page::new(colour);
    let mut first = true;
    if let Some(text) = overview(shown) {
        p.wrapped(Ink::Strong, 0, 2, &text);
        first = false;
    }
    let mut part = |p: &mut Page| {
        if !std::mem::take(&mut first) {
            p.blank();
        }
    };
    for (t, disks) in shown.traces.iter().zip(shown.disks).filter(|(t, _)| t.speaks()) {
        part(&mut p);
        trace(&mut p, t, disks, shown.top);
    }
    if !shown.drives.is_empty() {
        part(&mut p);
        drives(&mut p, shown.drives);
    }
    if !shown.transitions.is_empty() {
        part(&mut p);
        tables(&mut p, shown.transitions);
    }
    if !shown.jobs.is_empty() {
        part(&mut p);
        jobs(&mut p, shown.jobs);
    }
    if shown.knobs.any() {
        part(&mut p);
        contradictions(&mut p, shown.knobs);
    }
    for l in shown.losses.list.iter().filter(|l| l.severity > Severity::Info) {
        // What holds nothing is named by one example; other losses are counted things.
        let text = match (l.kind, l.count) {
            (_, 1) => format!("{}.", safe(&l.advice)),
            ("no_storage_data", n) => {
                format!("{}. {} like it.", safe(&l.advice), plural(n as usize - 1, "other file"))
            }
            ("damaged_line" | "damaged_table", n) => {
                format!("{} {}.", grouped(n), safe(&l.advice))
            }
            (_, n) => format!("{} ({} times).", safe(&l.advice), grouped(n)),
        };
        p.entry("Caution: ", &text);
    }
    p.blank();
    p.verbatim(Ink::Plain, &next_command(shown));
    p.finish()
}

/// Of several inputs: which wait cost most of all, and where.
fn overview(shown: &Shown<'_>) -> Option<String> {
    let traces = shown.traces.iter().zip(shown.disks).filter(|(t, _)| t.speaks());
    let traces: Vec<_> = traces.collect();
    if traces.len() < 2 {
        return None;
    }
    let all = traces.iter().flat_map(|(t, disks)| disks.iter().map(move |d| (t, d)));
    let sleeps = all.filter_map(|(t, d)| Some((t, d, d.worst().filter(|w| w.cause.is_sleep())?)));
    let short = |name: &str| safe(name.rsplit('/').next().unwrap_or(name)).into_owned();
    Some(match sleeps.max_by_key(|(_, _, w)| w.total) {
        Some((t, d, w)) => format!(
            "Of {} traces {} lost most to a sleep: {} of {} {}, {} in all.",
            traces.len(),
            short(&t.name),
            grouped(w.requests),
            plural(d.all.requests as usize, "request"),
            waited_for(w.cause),
            time(w.total)
        ),
        None => format!("{} traces; in none did requests lose most to a sleep.", traces.len()),
    })
}

/// The last line: a prediction where a sleep costs most, else a better recording.
fn next_command(shown: &Shown<'_>) -> String {
    let all =
        shown.traces.iter().zip(shown.disks).filter_map(|(t, d)| Some((t, d.first()?.worst()?)));
    let [gate, suspend] = shown.foretold;
    let option = |cause: Cause| match cause {
        Cause::Ungate | Cause::UngateWorker => gate.then_some("--gate-delay never"),
        Cause::Resume
        | Cause::ResumeWorker
        | Cause::ResumeSuspend
        | Cause::ResumeGrace
        | Cause::ResumeParents => suspend.then_some("--autosuspend never"),
        _ => None,
    };
    let found = all.filter_map(|(t, w)| Some((t, option(w.cause)?))).next();
    match found {
        Some((t, option)) if t.name != "-" => {
            next::next(&format!("predict {} {option}", next::word(&t.name)))
        }
        _ => next::next(RECORD),
    }
}

fn trace(p: &mut Page, t: &Trace, disks: &[DiskSummary], top: usize) {
    let name = safe(t.name.rsplit('/').next().unwrap_or(&t.name)).into_owned();
    let busy: Vec<&DiskSummary> = disks.iter().filter(|d| d.all.requests > 0).collect();
    match busy.first() {
        Some(d) => {
            p.wrapped(Ink::Strong, 0, 2, &answer(d, busy.len() > 1, t.unread));
            p.wrapped(Ink::Plain, 0, 2, &trust(t, disks, &name));
            for d in &busy {
                disk(p, d, top, t.unread);
            }
        }
        None if !t.requests.is_empty() => {
            p.wrapped(Ink::Strong, 0, 2, &incomplete(t));
            p.wrapped(Ink::Plain, 0, 2, &trust(t, disks, &name));
        }
        None => {
            p.wrapped(Ink::Strong, 0, 2, &sleeper(t));
            p.wrapped(Ink::Plain, 0, 2, &format!("From {name}; it has no requests of disks."));
        }
    }
    runtime(p, t, top);
    clocks(p, t);
}

/// The first line of a trace with complete requests.
fn answer(d: &DiskSummary, several: bool, unread: u64) -> String {
    let of = if several { format!(" of disk {}", d.disk) } else { String::new() };
    let Some(worst) = d.worst() else {
        if unread > 0 {
            // One of them may say what requests waited for.
            return format!(
                "{}{of} took {} on average; how much of that is the drive's own service is not \
                 known, because {} of events could not be read.",
                plural(d.all.requests as usize, "request"),
                time(d.all.mean),
                plural(unread as usize, "line"),
            );
        }
        let service = d.shares.iter().filter(|s| s.cause.is_service());
        let served = service.map(|s| s.total).fold(0, i64::saturating_add);
        return format!(
            "{}{of} took {} on average; {} of that is the drive's own service.",
            plural(d.all.requests as usize, "request"),
            time(d.all.mean),
            percent(served.unsigned_abs(), d.total().unsigned_abs()),
        );
    };
    if matches!(worst.cause, Cause::Slow | Cause::Unissued) {
        // They would have been served faster, and not in no time; or nobody knows.
        return format!(
            "{} of {}{of} {}, {} at most; requests took {} on average.",
            grouped(worst.requests),
            plural(d.all.requests as usize, "request"),
            waited_for(worst.cause),
            time(worst.longest),
            time(d.all.mean)
        );
    }
    let without = (d.total() - worst.total) / (d.all.requests.max(1) as i64);
    format!(
        "{} of {}{of} {}, {} at most. Without that wait requests would take {} on average, not {}.",
        grouped(worst.requests),
        plural(d.all.requests as usize, "request"),
        waited_for(worst.cause),
        time(worst.longest),
        time(without),
        time(d.all.mean)
    )
}

fn incomplete(t: &Trace) -> String {
    if t.completions == 0 {
        return format!(
            "{} issued and no completion is in this trace, so no latency is known.",
            were(t.issues)
        );
    }
    format!(
        "{} completed and none of them was issued in this trace, so no latency is known.",
        were(t.completions)
    )
}

/// `1 request was`, `26 requests were`.
fn were(n: u64) -> String {
    let verb = if n == 1 { "was" } else { "were" };
    format!("{} {verb}", plural(n as usize, "request"))
}

/// The first line of a trace with runtime power management alone.
fn sleeper(t: &Trace) -> String {
    // A child waits for its parent: the one that takes the time itself is named.
    let own = |r: &dormouse_storage::runtime::Resume| r.end - r.asked - r.parents;
    let worst = t
        .runtime
        .devices
        .iter()
        .filter_map(|d| d.resumes.iter().max_by_key(|r| own(r)).map(|r| (r, d)))
        .max_by_key(|(r, _)| own(r));
    match worst {
        Some((r, d)) => {
            let others = t.runtime.devices.iter().filter(|d| !d.resumes.is_empty()).count() > 1;
            format!(
                "{} took {} to resume at run time{}.",
                safe(&d.name),
                time(own(r)),
                if others { ", longer than any other device by itself" } else { "" }
            )
        }
        None if t.runtime.devices.is_empty() => {
            "Clocks changed, and no request was recorded.".into()
        }
        None => "No resume of a device has both of its ends in this trace.".into(),
    }
}

/// The second line: what the first rests on.
fn trust(t: &Trace, disks: &[DiskSummary], name: &str) -> String {
    let open: u64 = disks.iter().map(|d| d.open).sum();
    let has =
        |moment: fn(&dormouse_storage::request::Request) -> bool| t.requests.iter().any(moment);
    let mut text = format!("From {name}");
    if has(|r| r.queued.is_some()) {
        text += ", from the bio to the completion";
    } else if has(|r| r.issued.is_some()) {
        text += ", from the first issue to the completion: what came before is not recorded";
    }
    text.push('.');
    if open > 0 {
        let their = if open == 1 { "has" } else { "have" };
        text += &format!(
            " {} {their} no completion and no part in it.",
            plural(open as usize, "request")
        );
    }
    if t.unissued > 0 && !has(|r| r.queued.is_some()) {
        text += &format!(
            " {} no start in the trace.",
            if t.unissued == 1 {
                "1 completion has".to_string()
            } else {
                format!("{} completions have", grouped(t.unissued))
            }
        );
    }
    if !t.commands_by.is_empty() {
        let mut all: Vec<_> = t.commands_by.iter().collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let named = all.iter().take(3).map(|(by, n)| format!("{} ({})", safe(by), grouped(**n)));
        text += &format!(
            " Commands without a sector, such as queries, were issued by {}.",
            say::names(&named.collect::<Vec<_>>())
        );
    }
    if !t.watched.gating && !t.watched.runtime {
        text += " Events of clocks and runtime suspend are not in it: such waits are part of the \
                 other rows.";
    }
    text
}

/// The head of a table of latencies.
fn latency_head(p: &mut Page, title: &str) {
    p.line(&[(
        Ink::Strong,
        &format!(
            "{title:<34}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "requests", "mean ms", "p50", "p99", "max"
        ),
    )]);
}

fn latency(p: &mut Page, name: &str, l: &Latency) {
    let p99 = l.tail().map_or("-".into(), ms3);
    p.line(&[(
        Ink::Plain,
        &format!(
            "  {:<32}{:>9}{:>9}{:>9}{:>9}{:>9}",
            fit(name, 31),
            grouped(l.requests),
            ms3(l.mean),
            ms3(l.p50),
            p99,
            ms3(l.max)
        ),
    )]);
}

fn disk(p: &mut Page, d: &DiskSummary, top: usize, unread: u64) {
    p.blank();
    latency_head(p, &format!("Disk {}", d.disk));
    latency(p, "all requests", &d.all);
    if d.after_sleep.requests > 0 && d.after_sleep.requests < d.all.requests {
        latency(p, "waited for a sleeping storage", &d.after_sleep);
    }
    if d.after_idle.requests > 0 && d.busy.requests > 0 {
        let gap = IDLE_GAP / 1_000_000;
        latency(p, &format!("first after {gap} ms without any"), &d.after_idle);
        latency(p, "others", &d.busy);
    }
    if d.operations.len() > 1 {
        for (op, l) in &d.operations {
            latency(p, op.name(), l);
        }
    }
    if d.flushes_beside.requests > 0 {
        p.paragraph(
            2,
            &format!(
                "{} of the block layer's own, {} on average, {} part of the requests that asked for \
                 them and not counted again.",
                match d.flushes_beside.requests {
                    1 => "1 flush".to_string(),
                    n => format!("{} flushes", grouped(n)),
                },
                time(d.flushes_beside.mean),
                if d.flushes_beside.requests == 1 { "is" } else { "are" }
            ),
        );
    }
    if d.errors > 0 {
        p.paragraph(2, &format!("{} with an error.", ended(d.errors)));
    }
    p.blank();
    p.line(&[(
        Ink::Strong,
        &format!(
            "{:<38}{:>12}{:>7}{:>12}{:>10}",
            "Where the time went", "ms", "share", "requests", "max ms"
        ),
    )]);
    for s in &d.shares {
        p.line(&[(
            Ink::Plain,
            &format!(
                "  {:<36}{:>12}{:>7}{:>12}{:>10}",
                row(s.cause),
                ms3(s.total),
                percent(s.total.unsigned_abs(), d.total().unsigned_abs()),
                grouped(s.requests),
                ms3(s.longest)
            ),
        )]);
    }
    if unread > 0 {
        let text = format!(
            "{} of events could not be read: the row of the drive's own service is an upper bound.",
            plural(unread as usize, "line")
        );
        p.paragraph(2, &text);
    }
    // Moments that no event of the trace tells of.
    let unknown: Vec<Cause> = CAUSES
        .into_iter()
        // Who asks for a flush is known where requests are.
        .filter(|c| !matches!(c, Cause::Flush | Cause::Unissued))
        .filter(|c| d.known[c.index()] == 0)
        .collect();
    let resume = |c: &Cause| *c <= Cause::Resume;
    // All parts of a resume have one name where none of them was recorded.
    let whole = unknown.contains(&Cause::Resume);
    let parts = unknown.iter().filter(|c| !whole || !resume(c)).map(|c| row(*c));
    let unknown: Vec<&str> = whole.then_some("runtime resume").into_iter().chain(parts).collect();
    if !unknown.is_empty() {
        p.paragraph(2, &format!("Not recorded: {}.", unknown.join("; ")));
    }
    let woke = d.requests.len() as u64 - d.known[Cause::Cpu.index()];
    if woke > 0 && d.known[Cause::Cpu.index()] > 0 {
        p.paragraph(
            2,
            &format!(
                "{} woke a CPU from an idle state of unknown exit latency: that wait is part of the \
                 drive's row.",
                if woke == 1 { "1 completion".into() } else { format!("{woke} completions") }
            ),
        );
    }
    histogram(p, d);
    slowest(p, d, top);
    if let Some(text) = d.worst().and_then(|w| cure(w.cause)) {
        p.blank();
        p.entry("Do: ", text);
    }
}

/// Names of the classes of a histogram ([`CLASSES`]).
const NAMES: [&str; CLASSES.len()] = ["<0.1", "<0.3", "<1", "<3", "<10", "<100", "more"];

/// How many requests waited how long for each cause; of many requests alone.
fn histogram(p: &mut Page, d: &DiskSummary) {
    if d.requests.len() < MANY {
        return;
    }
    p.blank();
    let cells = |of: &dyn Fn(usize) -> String| -> String {
        (0..NAMES.len()).map(|n| format!("{:>7}", of(n))).collect()
    };
    let head = cells(&|n| NAMES[n].to_string());
    p.line(&[(Ink::Strong, &format!("{:<31}{head}", "Requests by time of a wait, ms"))]);
    let mut line = |name: &str, counts: &[u64; CLASSES.len()]| {
        let counts = cells(&|n| if counts[n] == 0 { "-".into() } else { grouped(counts[n]) });
        p.line(&[(Ink::Plain, &format!("  {:<29}{counts}", fit(name, 28)))]);
    };
    for s in &d.shares {
        line(row(s.cause), &d.spread[s.cause.index()]);
    }
    line("whole latency", &d.spread[CAUSES.len()]);
}

/// Which disks spin, by what `hdparm -C` said last (hdparm.c:do_checkpower, 9.65).
fn spins(knobs: &Knobs) -> Option<String> {
    let one = |(disk, state): (&String, &String)| match state.as_str() {
        // A text may end inside of it.
        s if s.starts_with("active") && knobs.stopped.contains(disk) => {
            format!("{disk} spins, though it was told to stand still (hdparm -y)")
        }
        s if s.starts_with("active") => format!("{disk} spins"),
        "standby" | "sleeping" => format!("{disk} stands still"),
        _ => format!("whether {disk} spins is not known: it did not say"),
    };
    let all: Vec<String> = knobs.spinning.iter().map(one).collect();
    let text = format!("{}.", all.join("; "));
    // A name stays as it is.
    let text = if text.starts_with("whether") { say::capital(&text) } else { text };
    (!all.is_empty()).then_some(text)
}

/// What may rest and what may not: links, clocks and platters.
fn rests(knobs: &Knobs) -> Vec<String> {
    let mut out = Vec::new();
    for (host, policy) in &knobs.links {
        // drivers/ata/libata-eh.c:ata_eh_set_lpm, 6.12.
        out.push(match policy.as_str() {
            "max_performance" => {
                format!("{host}: {policy}, so its SATA link never sleeps (link_power_management_policy).")
            }
            "keep_firmware_settings" => format!(
                "{host}: {policy}: whether its SATA link sleeps, the firmware chose \
                 (link_power_management_policy)."
            ),
            _ => format!("{host}: {policy}, so its SATA link may sleep (link_power_management_policy)."),
        });
    }
    for (host, scaled) in &knobs.scaled {
        out.push(match scaled {
            true => format!("{host}: its clocks follow the load (clkscale_enable 1)."),
            false => format!("{host}: its clocks do not follow the load (clkscale_enable 0)."),
        });
    }
    let disks = knobs.spinning.iter();
    out.extend(disks.map(|(disk, state)| format!("{disk}: {state}, by its own answer.")));
    // hdparm(8): levels from 1 to 127 permit that a disk spins down, others do not.
    out.extend(knobs.apm.iter().map(|(disk, level)| match level.parse::<u8>() {
        Ok(1..=127) => format!("{disk}: APM level {level}, which lets it spin down (hdparm -B)."),
        Ok(128..=254) => {
            format!("{disk}: APM level {level}, which does not let it spin down (hdparm -B).")
        }
        _ => format!("{disk}: APM level: {level} (hdparm -B)."),
    }));
    out
}

/// Settings that contradict each other.
fn contradictions(p: &mut Page, knobs: &Knobs) {
    let list = knobs.conflicts();
    let text = match list.len() {
        0 if knobs.comparable() => "No setting of storage here contradicts another.".to_string(),
        0 => match (spins(knobs), &rests(knobs)[..]) {
            (Some(text), _) => text,
            (None, [one]) => one.clone(),
            _ => "Settings of storage, no two of which could contradict each other.".into(),
        },
        1 => "1 setting of storage does not do what it says.".into(),
        n => format!("{n} settings of storage do not do what they say."),
    };
    p.wrapped(Ink::Strong, 0, 2, &safe(&text));
    if !knobs.power.is_empty() || !knobs.devfreq.is_empty() {
        let of = format!(
            "From sysfs: {} with runtime power management, {}.",
            plural(knobs.power.len(), "device"),
            plural(knobs.devfreq.len(), "devfreq device")
        );
        p.wrapped(Ink::Plain, 0, 2, &of);
    }
    for c in &list {
        p.paragraph(2, &safe(&c.says()));
    }
    for rest in rests(knobs).into_iter().filter(|r| *r != text) {
        p.paragraph(2, &safe(&rest));
    }
    for (disk, s) in &knobs.counters {
        let mean = |n: u64, ms: u64| {
            let ns = ms.saturating_mul(1_000_000).checked_div(n).unwrap_or(0);
            time(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        let scheduler =
            knobs.schedulers.get(disk).map_or(String::new(), |s| format!("; scheduler {s}"));
        let text = format!(
            "{disk} since it exists: {} of {} on average, {} of {}{scheduler}.",
            plural(s.reads as usize, "read"),
            mean(s.reads, s.read_ms),
            plural(s.writes as usize, "write"),
            mean(s.writes, s.write_ms)
        );
        p.paragraph(2, &safe(&text));
    }
}

/// `3 requests ended`.
fn ended(n: u64) -> String {
    format!("{} ended", plural(n as usize, "request"))
}

/// `read of 72 KiB at 5345064`.
fn what(t: &Taken) -> String {
    let r = &t.request;
    let size = u64::from(r.sectors) * 512;
    let size = match size {
        0 => String::new(),
        n if n % 1024 == 0 => format!(" of {} KiB", grouped(n / 1024)),
        n => format!(" of {} bytes", grouped(n)),
    };
    let place = match r.sector {
        Some(s) if r.operation != Operation::Flush && r.sectors > 0 => format!(" at {s}"),
        _ => String::new(),
    };
    format!("{}{size}{place}", r.operation.name())
}

/// A slow request: its time, then the earlier one, by when it began and its place.
type Slow = (i64, Reverse<Option<i64>>, Reverse<usize>);

fn slowest(p: &mut Page, d: &DiskSummary, top: usize) {
    if d.requests.len() < 2 || top == 0 {
        return;
    }
    // The few that are shown, of a list that is not sorted: it may have millions.
    let mut best: BinaryHeap<Reverse<Slow>> = BinaryHeap::new();
    for (at, t) in d.requests.iter().enumerate() {
        if best.len() == top && best.peek().is_some_and(|least| t.total < least.0.0) {
            continue;
        }
        best.push(Reverse((t.total, Reverse(t.request.begin()), Reverse(at))));
        if best.len() > top {
            best.pop();
        }
    }
    p.heading("Slowest requests");
    for Reverse((.., Reverse(at))) in best.into_sorted_vec() {
        let t = &d.requests[at];
        let mut parts: Vec<(i64, Cause)> = CAUSES
            .iter()
            .filter_map(|c| Some((t.slices.get(*c)?, *c)))
            .filter(|(n, _)| n.saturating_mul(100) >= t.total)
            .collect();
        parts.sort_by_key(|(n, c)| (std::cmp::Reverse(*n), *c));
        let why: Vec<String> =
            parts.iter().map(|(n, c)| format!("{} {}", ms3(*n), row(*c))).collect();
        let again = match t.request.issues {
            0 | 1 => String::new(),
            n => format!(" (issued {n} times)"),
        };
        let begin = t.request.begin().unwrap_or(0);
        let at = format!("{}.{:06}", begin / 1_000_000_000, begin % 1_000_000_000 / 1_000);
        p.entry(
            &format!("  {:>8} ms  ", ms3(t.total)),
            &format!("{}, at {at} s{again}: {}", what(t), why.join(", ")),
        );
    }
}

fn runtime(p: &mut Page, t: &Trace, top: usize) {
    let mut list: Vec<_> = t
        .runtime
        .devices
        .iter()
        .filter(|d| !d.resumes.is_empty() || d.errors.keys().any(|(f, e)| !harmless(*f, *e)))
        .collect();
    let longest = |d: &dormouse_storage::runtime::Device| {
        d.resumes.iter().map(|r| r.end - r.asked).max().unwrap_or(0)
    };
    list.sort_by_key(|d| (std::cmp::Reverse(longest(d)), d.name.clone()));
    let held: Vec<&str> = t
        .runtime
        .devices
        .iter()
        .filter(|d| d.always_used && d.usage.is_some() && d.events() > 2)
        .map(|d| d.name.as_str())
        .collect();
    if list.is_empty() && held.is_empty() {
        return;
    }
    p.blank();
    p.line(&[(
        Ink::Strong,
        &format!(
            "{:<34}{:>9}{:>9}{:>9}{:>9}{:>10}",
            "Runtime power management", "resumes", "mean ms", "max ms", "parents", "slept s"
        ),
    )]);
    for d in list.iter().take(top.max(1)) {
        let n = d.resumes.len() as i64;
        let sum = d.resumes.iter().map(|r| r.end - r.asked).fold(0, i64::saturating_add);
        let parents = d.resumes.iter().map(|r| r.parents).max().unwrap_or(0);
        let slept = d.resumes.iter().filter_map(|r| r.asleep).fold(0, i64::saturating_add);
        let known = d.resumes.iter().any(|r| r.asleep.is_some());
        let cell = |t: i64| if n == 0 { "-".into() } else { ms3(t) };
        p.line(&[(
            Ink::Plain,
            &format!(
                "  {:<32}{n:>9}{:>9}{:>9}{:>9}{:>10}",
                fit(&safe(&d.name), 31),
                cell(if n == 0 { 0 } else { sum / n }),
                cell(longest(d)),
                cell(parents),
                if known {
                    crate::idle::numbers::seconds(slept.max(0).unsigned_abs())
                } else {
                    "-".into()
                }
            ),
        )]);
        for ((f, e), n) in d.errors.iter().filter(|((f, e), _)| !harmless(*f, *e)) {
            let times = if *n == 1 { String::new() } else { format!(", {} times", grouped(*n)) };
            p.paragraph(4, &format!("{}{times}", error(*f, *e)));
        }
    }
    if list.len() > top.max(1) {
        p.paragraph(
            2,
            &format!(
                "and {} (all: --top {})",
                plural(list.len() - top.max(1), "other device"),
                list.len()
            ),
        );
    }
    if !held.is_empty() {
        let names: Vec<String> = held.iter().take(FEW).map(|n| safe(n).into_owned()).collect();
        let more = held.len().saturating_sub(FEW);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        p.paragraph(
            2,
            &format!("In use throughout, so never suspended: {}{rest}.", names.join(", ")),
        );
    }
}

fn clocks(p: &mut Page, t: &Trace) {
    let mut seen: std::collections::BTreeMap<&str, (u64, u64, u64)> = Default::default();
    for c in &t.changes {
        let e = seen.entry(&c.device).or_insert((0, u64::MAX, 0));
        e.0 += 1;
        e.1 = e.1.min(c.hz.min(c.hz_before));
        e.2 = e.2.max(c.hz.max(c.hz_before));
    }
    for (device, (n, least, most)) in seen.iter().take(FEW) {
        p.paragraph(
            0,
            &format!(
                "devfreq changed the clock of {} {}, between {} and {} MHz.",
                safe(device),
                if *n == 1 { "once".into() } else { format!("{} times", grouped(*n)) },
                least / 1_000_000,
                most / 1_000_000
            ),
        );
    }
}
