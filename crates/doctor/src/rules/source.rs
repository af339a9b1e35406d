//! Wakeup sources: who is active now and so keeps a machine from sleeping, and who ended or
//! prevented sleeps. Of sysfs (drivers/base/power/wakeup_stats.c) and of the table in debugfs
//! (drivers/base/power/wakeup.c:wakeup_sources_stats_show, 3.0 to 7.3).

use crate::case::Case;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::value::Value;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// A source.
struct Source {
    /// Empty if the table gives none.
    name: String,
    /// How long it has been active, ms; 0 if it is not.
    active: u64,
    /// How often it ended a sleep, or may have.
    woke: u64,
    /// How often it had something to tell; of tables alone.
    events: u64,
    /// How long it kept a machine awake that sleeps by itself (autosleep), ms, where that is
    /// told.
    prevented: Option<u64>,
    /// How long it was active in all, ms, and when it changed last by the kernel's clock; of
    /// tables alone.
    held: (u64, u64),
    evidence: Evidence,
}

/// Whether a source stands for a file of a program: `[timerfd]`, `eventpoll`, and the names of
/// files that it watches in brackets (fs/eventpoll.c:ep_create_wakeup_source, 3.5 to 7.3).
pub(super) fn is_of_a_program(source: &str) -> bool {
    source == "eventpoll" || source.starts_with('[') && source.ends_with(']')
}

/// Longer than this no event is handled: somebody forgot to let go, or holds it by intent.
const HOLDS: u64 = 10_000;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut grew = Vec::new();
    let table = table(case, &mut grew);
    let (in_table, still) = (table.len(), grew.is_empty());
    let all: Vec<Source> = table.into_iter().chain(listed(case)).chain(dumped(case)).collect();
    active(&all, out);
    held(&all, out);
    between(case, grew, out);
    woke(&all, out);
    let speaks = |f: &Finding| f.id.starts_with("abort-source-");
    if in_table > 1 && still && !out.iter().any(speaks) {
        idle(&all[..in_table], out);
    }
}

/// A table in which nobody is active and nobody ended a sleep is an answer too.
fn idle(all: &[Source], out: &mut Vec<Finding>) {
    let f = Finding::new(("abort-source-idle", Area::Abort, Level::Note), Confidence::Certain)
        .says(format!(
            "Of {} wakeup sources none is active, and none is counted to have ended a sleep or kept the machine from one.",
            all.len()
        ))
        .look("What they did since the start is no reason for being awake now: look at who runs (powertop, or bugreport on Android).")
        .shown_by(all.iter().take(3).map(|s| s.evidence.clone()));
    out.push(f);
}

/// Whose count of ended sleeps grew between two tables; or, where none did and a sleep lies
/// between both, the one that had an event: the count is of armed attempts alone.
fn between(case: &Case, mut grew: Vec<Source>, out: &mut Vec<Finding>) {
    let counts = grew.iter().any(|s| s.woke > 0);
    grew.retain(|s| s.woke > 0 || !counts);
    let names: Vec<String> = grew.iter().map(|s| s.name.clone()).collect();
    if grew.is_empty() || out.iter().any(|f| f.id == "mode-wake-source") {
        return;
    }
    let slept = |s: &Source| {
        let before = |a: &&crate::attempt::Attempt| case.messages[a.first].line < s.evidence.line;
        case.attempts.iter().filter(|a| a.closed).find(before).is_some()
    };
    if !counts && (grew.len() > 1 || !slept(&grew[0])) {
        return;
    }
    let which = if grew.len() > 1 { " Each of them can have woken it." } else { "" };
    let what = if counts { "no other count of ended sleeps grew" } else { "no other had an event" };
    let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Likely)
        .says(format!(
            "Woken by {}: between the two tables of wakeup sources {what}.{which}",
            say::names(&names)
        ))
        .look("If nobody touched the machine: switch the power/wakeup of that device off to try.")
        .of_devices(grew.iter().map(device))
        .shown_by(grew.iter().take(3).map(|s| s.evidence.clone()));
    out.push(f);
}

/// Of `/sys/class/wakeup/wakeupN/`, in whatever order its files were read: of each the last
/// reading.
fn listed(case: &Case) -> Vec<Source> {
    let ours = |v: &&Value| v.path.starts_with("/sys/class/wakeup/");
    let mut folders: Vec<(&str, Vec<&Value>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for v in case.values.iter().filter(ours) {
        let at = *places.entry(v.folder()).or_insert(folders.len());
        if at == folders.len() {
            folders.push((v.folder(), Vec::new()));
        }
        folders[at].1.push(v);
    }
    let source = |(folder, files): &(&str, Vec<&Value>)| {
        let file = |name: &str| files.iter().rfind(|v| v.name() == name).copied();
        let count = |name: &str| file(name).and_then(Value::count);
        let name = file("name").map(|v| v.value.as_str());
        let name = name.unwrap_or(folder.rsplit('/').next().unwrap_or(folder));
        // From 7.x on: a source that was activated once more than it was relaxed is active
        // (drivers/base/power/wakeup.c:wakeup_source_deactivate).
        let relaxed = || {
            let begun = count("active_count")? > count("relax_count")?;
            Some((u64::from(begun), file("relax_count")?))
        };
        let active = count("active_time_ms").zip(file("active_time_ms")).or_else(relaxed);
        let woke = count("wakeup_count").zip(file("wakeup_count"));
        let shown = match (active, woke) {
            (Some((1.., v)), _) | (_, Some((1.., v))) => v,
            (Some((_, v)), _) | (_, Some((_, v))) => v,
            _ => return None,
        };
        Some(Source {
            name: name.to_string(),
            active: active.map_or(0, |a| a.0),
            woke: woke.map_or(0, |w| w.0),
            events: 0,
            prevented: count("prevent_suspend_time_ms"),
            held: (0, 0),
            evidence: crate::evidence::value(shown),
        })
    };
    folders.iter().filter_map(source).collect()
}

/// Columns of a row, where bars part them: `dumpsys suspend_control_internal` of Android
/// (system/hardware/interfaces/suspend, WakeLockEntryList.cpp).
fn barred(text: &str) -> Option<Vec<String>> {
    let row = text.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(row.split('|').map(|c| c.trim().to_lowercase().replace(' ', "_")).collect())
}

/// Of that table.
fn dumped(case: &Case) -> Vec<Source> {
    let mut out: Vec<Source> = Vec::new();
    let mut head: Vec<String> = Vec::new();
    for (_, m) in case.messages.having("|") {
        let Some(cells) = barred(&m.text) else { continue };
        if cells[0] == "name" && cells.iter().any(|c| c == "wakeup_count") {
            out.clear();
            head = cells;
            continue;
        }
        if head.is_empty() || cells.len() != head.len() {
            continue;
        }
        let of = |name: &str| head.iter().position(|h| h == name).map_or("", |at| &cells[at]);
        let name = m.text.trim().trim_start_matches('|').split('|').next().unwrap_or("");
        out.push(Source {
            name: name.trim().to_string(),
            active: u64::from(of("status") == "active"),
            woke: of("wakeup_count").parse().unwrap_or(0),
            events: 0,
            prevented: None,
            held: (0, 0),
            evidence: Evidence { doubtful: false, ..Evidence::from(m) },
        });
    }
    out
}

/// Of the table: a head that names its columns, a row a source. A name may be missing, be
/// `(null)`, or have blanks, so columns are counted from the right. `/proc/wakelocks` of old
/// Android kernels (kernel/power/wakelock.c, 2.6.27 to 3.3) has names of its own, a row a lock,
/// and counts nanoseconds. What grew since the same table before it goes to `grew`.
fn table(case: &Case, grew: &mut Vec<Source>) -> Vec<Source> {
    let mut out: Vec<Source> = Vec::new();
    let mut before: Vec<Source> = Vec::new();
    let mut head: Option<Vec<&str>> = None;
    // A row that a mail program wrapped, as far as it came.
    let mut begun: Vec<&str> = Vec::new();
    let mut first = None;
    for m in &case.messages {
        if m.has("/sys/class/wakeup") {
            if let Some(columns) = asked(&m.text) {
                before = std::mem::take(&mut out);
                head = Some(columns);
            }
            continue;
        }
        if head.is_none() && !m.has("event_count") && !m.has("wake_count") {
            continue;
        }
        let words: Vec<&str> = m.text.split_whitespace().collect();
        let counts = words.contains(&"event_count") || words.contains(&"wake_count");
        let is_head = words.first() == Some(&"name") && counts;
        if is_head {
            // A table that comes again is of a later moment.
            before = std::mem::take(&mut out);
            head = Some(words[1..].to_vec());
            begun.clear();
            continue;
        }
        let Some(columns) = &mut head else { continue };
        // The rest of a head that was wrapped, ahead of all rows.
        let is_column =
            |w: &&str| w.contains('_') && w.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if out.is_empty() && begun.is_empty() && words.len() > 1 && words.iter().all(is_column) {
            columns.extend(words);
            continue;
        }
        let number = |w: &&str| w.bytes().all(|b| b.is_ascii_digit());
        let rest = words.iter().all(&number);
        let begin = first.take().filter(|_| rest && !begun.is_empty());
        let mut words = match std::mem::take(&mut begun) {
            row if begin.is_some() => [row, words].concat(),
            _ => words,
        };
        let told = words.iter().rev().take_while(|w| number(w)).count();
        if (1..columns.len()).contains(&told) && words.len() > told {
            (begun, first) = (words, begin.or(Some(m)));
            continue;
        }
        if begin.is_some() {
            // A number that was broken is two.
            words.truncate(words.len() - told.saturating_sub(columns.len()));
        }
        let m = begin.unwrap_or(m);
        let numbers: Option<Vec<u64>> = words
            .len()
            .checked_sub(columns.len())
            .and_then(|first| words[first..].iter().map(|w| w.parse().ok()).collect());
        let Some(numbers) = numbers else {
            // Behind the table comes something else; a line that was cut is of it.
            if !m.text.trim().is_empty() && words.len() > columns.len() {
                head = None;
            }
            continue;
        };
        let told = |name: &str| columns.iter().position(|c| *c == name).map(|at| numbers[at]);
        let of = |name: &str| told(name).unwrap_or(0);
        let locks = columns.contains(&"wake_count") && columns.contains(&"sleep_time");
        let ms = |name: &str| if locks { of(name).div_ceil(1_000_000) } else { of(name) };
        let name = words[..words.len() - numbers.len()].join(" ");
        let name = name.trim_matches('"');
        if locks {
            // Of a lock that stands there twice the later row is what holds.
            out.retain(|s| s.name != name);
        }
        out.push(Source {
            name: if name == "(null)" { String::new() } else { name.into() },
            active: ms("active_since"),
            // Before 3.4 the column is `hit_count` (drivers/base/power/wakeup.c).
            woke: of("wakeup_count").max(of("wake_count")).max(of("hit_count")),
            events: of("event_count"),
            prevented: told("prevent_suspend_time"),
            held: (ms("total_time"), ms("last_change")),
            evidence: Evidence { doubtful: false, text: words.join(" "), ..Evidence::from(m) },
        });
    }
    for s in &out {
        let was = before.iter().find(|b| b.name == s.name && !s.name.is_empty());
        let by = was.map_or(0, |b| s.woke.saturating_sub(b.woke));
        let events = was.map_or(0, |b| s.events.saturating_sub(b.events));
        if by > 0 || events > 0 {
            let (name, evidence) = (s.name.clone(), s.evidence.clone());
            grew.push(Source {
                name,
                active: 0,
                woke: by,
                events,
                prevented: None,
                held: (0, 0),
                evidence,
            });
        }
    }
    out
}

/// The columns behind the name that a loop of a shell over `/sys/class/wakeup/` prints, one
/// source a line.
fn asked(command: &str) -> Option<Vec<&str>> {
    let (_, body) = command.split_once(" do ").or_else(|| command.split_once(";do "))?;
    let is_part = |c: char| !(c.is_ascii_lowercase() || c == '_' || c == '/');
    let file = |w: &&str| *w == "name" || w.ends_with("_count") || w.ends_with("_ms");
    let words = body.split(is_part).filter_map(|w| Some(w.rsplit_once('/')?.1)).filter(file);
    let mut files: Vec<&str> = words.collect();
    let named = files.first() == Some(&"name") && files.len() > 1;
    files.retain(|f| *f != "name");
    named.then_some(files)
}

/// A source as a sentence names it.
fn named(s: &Source) -> String {
    if s.name.is_empty() { "a source without a name".into() } else { s.name.clone() }
}

fn device(s: &Source) -> Device {
    Device { name: s.name.clone(), driver: String::new() }
}

/// Sources whose activity is not over: reading wakeup_count would wait for them, and an
/// armed attempt ends at once.
fn active(all: &[Source], out: &mut Vec<Finding>) {
    let mut active: Vec<&Source> = all.iter().filter(|s| s.active > 0).collect();
    active.sort_by_key(|s| std::cmp::Reverse(s.active));
    let Some(longest) = active.first().map(|s| s.active) else { return };
    let names: Vec<String> = active.iter().map(|s| named(s)).collect();
    let (verb, noun) = if names.len() == 1 { ("is", "source") } else { ("are", "sources") };
    let long = match longest {
        HOLDS.. => format!(
            " {} has been so for {}.",
            names[0],
            say::span(Ns(i64::try_from(longest).unwrap_or(0).saturating_mul(1_000_000)))
        ),
        _ => String::new(),
    };
    let f = Finding::new(("abort-source-active", Area::Abort, Level::Note), Confidence::Certain)
        .says(format!(
            "Wakeup {noun} {} {verb} active now: an attempt to sleep that is armed would end at once.{long}",
            say::names(&names)
        ))
        .look("If it stays active: look at its device, or switch its power/wakeup off.")
        .of_devices(active.iter().map(|s| device(s)))
        .shown_by(active.iter().take(3).map(|s| s.evidence.clone()));
    out.push(f);
}

/// A machine that was up for less tells nothing of a night, in ms.
const NIGHT: u64 = 3_600_000;

/// Sources that were active for most of the time that the kernel's clock ran, which stands in a
/// sleep of a phone: while one is, no such machine sleeps by itself, and what is armed ends at
/// once (drivers/base/power/wakeup.c: total_time and last_change are of ktime_get).
fn held(all: &[Source], out: &mut Vec<Finding>) {
    let up = all.iter().map(|s| s.held.1).max().unwrap_or(0);
    if up < NIGHT || out.iter().any(|f| f.id == "abort-source-active" && f.level != Level::Note) {
        return;
    }
    let most = |s: &&Source| s.held.0.saturating_mul(2) >= up && s.held.0 <= up.saturating_mul(2);
    let mut list: Vec<&Source> = all.iter().filter(most).collect();
    list.sort_by_key(|s| std::cmp::Reverse(s.held.0));
    let span = |ms: u64| say::span(Ns(i64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)));
    let words: Vec<String> = list
        .iter()
        .take(5)
        .map(|s| {
            format!("{} for {} ({} %)", named(s), span(s.held.0), s.held.0.saturating_mul(100) / up)
        })
        .collect();
    if words.is_empty() {
        return;
    }
    let (verb, noun) = if words.len() == 1 { ("was", "source") } else { ("were", "sources") };
    let uncounted = match list.iter().all(|s| s.prevented == Some(0)) {
        true => {
            " The kernel counted none of it as prevent_suspend_time, which it does only while it sleeps by itself (autosleep)."
        }
        false => "",
    };
    let f = Finding::new(("abort-source-held", Area::Abort, Level::Risk), Confidence::Likely)
        .says(format!(
            "Wakeup {noun} {} of the {} that the clock of the kernel ran {verb} active: as long as one is, no armed sleep begins.{uncounted}",
            say::names(&words),
            span(up)
        ))
        .look("Look at what lets it be held: its device, or the program behind it (dumpsys power, logcat on Android).")
        .of_devices(list.iter().map(|s| device(s)))
        .shown_by(list.iter().take(3).map(|s| s.evidence.clone()));
    out.push(f);
}

/// Who kept a machine awake that sleeps by itself, and for how long
/// (drivers/base/power/wakeup.c:update_prevent_sleep_time, CONFIG_PM_AUTOSLEEP).
fn prevented(all: &[Source]) -> String {
    let mut held: Vec<&Source> =
        all.iter().filter(|s| s.prevented.is_some_and(|t| t >= HOLDS)).collect();
    held.sort_by_key(|s| std::cmp::Reverse(s.prevented));
    let long = |s: &&&Source| {
        let ms = i64::try_from(s.prevented.unwrap_or(0)).unwrap_or(0);
        format!("{} for {}", named(s), say::span(Ns(ms.saturating_mul(1_000_000))))
    };
    let words: Vec<String> = held.iter().take(5).map(|s| long(&s)).collect();
    match &words[..] {
        [] => String::new(),
        _ => {
            format!(" By prevent_suspend_time the machine was kept awake by {}.", words.join(", "))
        }
    }
}

/// Sources that ended sleeps, or stood in their way, by what the kernel counted
/// (wakeup_source_report_event: only while attempts are armed).
fn woke(all: &[Source], out: &mut Vec<Finding>) {
    let mut woke: Vec<&Source> = all.iter().filter(|s| s.woke > 0).collect();
    woke.sort_by_key(|s| std::cmp::Reverse(s.woke));
    if woke.is_empty() {
        return;
    }
    let words: Vec<String> = woke
        .iter()
        .take(5)
        .map(|s| format!("{} {}", named(s), say::once(s.woke as usize)))
        .collect();
    let nameless = if woke.iter().any(|s| s.name.is_empty()) {
        " One without a name was made, or is gone, without the kernel keeping its name: its driver is to be found by what wakes."
    } else {
        ""
    };
    let f = Finding::new(("abort-source-woke", Area::Abort, Level::Note), Confidence::Certain)
        .says(format!(
            "Events that may have ended a sleep or kept the machine from one, by source: {}.{nameless}{}",
            words.join(", "),
            prevented(all)
        ))
        .look("If nobody wanted that: switch the power/wakeup of that device off to try.")
        .of_devices(woke.iter().map(|s| device(s)))
        .shown_by(woke.iter().take(3).map(|s| s.evidence.clone()));
    out.push(f);
}
