//! Tables of idle states that programs print.

use super::between::host;
use crate::grams::Asked;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::snapshot::{Counters, Snapshot, StateSeen};

/// Whether a text has lines of `cpupower idle-info`.
pub(crate) fn is_idle_info(text: &str, asked: &Asked<'_>) -> bool {
    let told = |l: &str| l.starts_with("Flags/Description:") || old_state(l).is_some();
    asked.has_any(&["Flags/Description:", "type["])
        && (text.lines().map(plain).any(told) || is_beside(text))
}

/// What each dump begins with.
const DRIVER: &str = "CPUidle driver:";

/// Whether several dumps stand side by side, with bars between them.
fn is_beside(text: &str) -> bool {
    text.lines().any(|l| l.split('|').filter(|c| c.contains(DRIVER)).count() > 1)
}

/// Dumps that stand side by side, each as a text of its own, with the machine that its prompt
/// names.
fn beside(text: &str) -> Vec<(Option<String>, String)> {
    let head = text.lines().find(|l| is_beside(l)).unwrap_or_default();
    let n = head.split('|').filter(|c| c.contains(DRIVER)).count();
    let fits = |l: &&str| l.split('|').count() == n;
    let column = |at: usize| {
        let cells = text.lines().filter(fits).map(|l| l.split('|').nth(at).unwrap_or("").trim());
        let host = cells.clone().find_map(|c| host(c)).map(str::to_owned);
        // People shorten what does not fit between the bars.
        let rows = cells.map(|c| c.replace("Flags/Desc:", "Flags/Description:") + "\n");
        (host, rows.collect())
    };
    (0..n).map(column).collect()
}

/// One state as `cpupower idle-info --proc` prints it, like the file of ACPI that
/// old kernels had: `C2: type[C2] promotion[--] latency[001] usage[00000219]
/// duration[00000000000000013370]`.
fn old_state(line: &str) -> Option<StateSeen> {
    let (name, rest) = line.split_once(':')?;
    let value = |key: &str| -> Option<&str> {
        let at = rest.find(key)? + key.len();
        rest[at..].strip_prefix('[')?.split(']').next()
    };
    value("type")?;
    let n = |key: &str| value(key)?.parse().ok();
    Some(StateSeen {
        name: Some(name.trim_start_matches('*').trim().to_owned()),
        latency: n("latency"),
        residency: n("residency"),
        counters: Counters { usage: n("usage"), time: n("duration"), ..Counters::default() },
        ..StateSeen::default()
    })
}

/// A line without the marks of a mail that quotes it.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t', '+']).trim_end()
}

/// Reads `cpupower idle-info`; each `CPUidle driver:` begins a snapshot.
pub(crate) fn idle_info(name: &str, text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    if is_beside(text) {
        for (i, (host, column)) in (1..).zip(beside(text)) {
            let host = host.unwrap_or_else(|| format!("column {i}"));
            idle_info(&format!("{name} ({host})"), &column, out, losses);
        }
        return;
    }
    let first = out.len();
    let mut snapshot = Snapshot { label: name.to_owned(), since_boot: true, ..Snapshot::default() };
    let mut cpu: Option<u32> = None;
    let (mut nameless, mut unread) = (0, 0);
    let mut state: Option<StateSeen> = None;
    let mut previous = "";
    // Each CPU of each dump has a list of its own.
    let mut lists: Vec<(usize, u32, Vec<&str>)> = Vec::new();
    // The last words with a colon behind them that are the name of no state.
    let mut heading = false;
    // What stands between two CPUs tells whether they are of one call.
    let mut apart = false;
    let mut keep = |snapshot: &mut Snapshot, cpu: Option<u32>, state: Option<StateSeen>| {
        let Some(s) = state else { return };
        nameless += u64::from(cpu.is_none());
        let states = snapshot.cpus.entry(cpu.unwrap_or(0)).or_default();
        states.insert(states.len() as u32, s);
    };
    for line in text.lines() {
        let line = plain(line);
        let after = |key: &str| line.strip_prefix(key).map(str::trim);
        if let Some(driver) = after("CPUidle driver:") {
            keep(&mut snapshot, cpu, state.take());
            apart |= heading;
            // With several CPUs the driver is named before each.
            if !apart && snapshot.driver.as_deref() == Some(driver) && !snapshot.cpus.is_empty() {
                cpu = None;
                continue;
            }
            if !snapshot.cpus.is_empty() {
                out.push(std::mem::take(&mut snapshot));
            }
            apart = false;
            snapshot = Snapshot {
                label: name.to_owned(),
                driver: Some(driver.to_owned()),
                since_boot: true,
                ..Snapshot::default()
            };
            cpu = None;
        } else if let Some(governor) = after("CPUidle governor:") {
            snapshot.governor = Some(governor.to_owned());
        } else if let Some(names) = after("Available idle states:") {
            lists.push((out.len(), cpu.unwrap_or(0), names.split_whitespace().collect()));
        } else if let Some(n) = after("analyzing CPU").or(after("Analyzing CPU")) {
            keep(&mut snapshot, cpu, state.take());
            cpu = n.trim_end_matches(':').parse().ok();
            // The same CPU again: another moment.
            if cpu.is_some_and(|cpu| snapshot.cpus.contains_key(&cpu)) {
                let next = Snapshot { cpus: Default::default(), ..snapshot.clone() };
                out.push(std::mem::replace(&mut snapshot, next));
            }
        } else if let Some(s) = old_state(line) {
            keep(&mut snapshot, cpu, state.take());
            keep(&mut snapshot, cpu, Some(s));
        } else if let Some(desc) = after("Flags/Description:") {
            keep(&mut snapshot, cpu, state.take());
            heading = false;
            let (name, disabled) = match previous.trim_end_matches([':', ' ']) {
                n if n.ends_with("(DISABLED)") => (n.trim_end_matches("(DISABLED)").trim(), true),
                n => (n, false),
            };
            state = Some(StateSeen {
                name: Some(name.to_owned()),
                desc: Some(desc.to_owned()),
                disabled: Some(disabled),
                ..StateSeen::default()
            });
        } else if let Some(s) = &mut state {
            let place = match line.split_once(':').map(|(k, _)| k) {
                Some("Latency") => &mut s.latency,
                Some("Residency") => &mut s.residency,
                Some("Usage") => &mut s.counters.usage,
                Some("Duration") => &mut s.counters.time,
                _ => {
                    apart |= !line.is_empty() && !line.ends_with(':');
                    heading = line.ends_with(':') || heading && line.is_empty();
                    previous = line;
                    continue;
                }
            };
            *place = line.split_once(':').and_then(|(_, v)| v.trim().parse().ok());
            unread += u64::from(place.is_none());
        }
        previous = line;
    }
    keep(&mut snapshot, cpu, state);
    if !snapshot.cpus.is_empty() {
        out.push(snapshot);
    }
    for (at, snapshot) in out.iter_mut().enumerate().skip(first) {
        complete(snapshot, &lists.iter().filter(|l| l.0 == at).collect::<Vec<_>>());
    }
    let count = out.len() - first;
    if count > 1 {
        for (i, s) in out[first..].iter_mut().enumerate() {
            s.label = format!("{} ({} of {count})", s.label, i + 1);
        }
    }
    let advice = "states of which the text does not say the CPU, or how many stand before them: they are shown as CPU 0, numbered from 0";
    losses.add("unnamed_cpu", nameless, Severity::Warning, advice, None);
    let advice = "values that are no numbers where one belongs: compare them with the original";
    losses.add("unread_value", unread, Severity::Warning, advice, None);
}

/// Adds the states that the list of a CPU names and that the text has no block of: it was cut, and
/// no share of time can be told. A CPU without a list has that of the first one beside it.
fn complete(snapshot: &mut Snapshot, lists: &[&(usize, u32, Vec<&str>)]) {
    let mut whole = !lists.is_empty();
    for (cpu, states) in &mut snapshot.cpus {
        let Some(list) = lists.iter().rfind(|l| l.1 == *cpu).or(lists.first()) else { continue };
        let known = |name: &str| states.values().any(|s| s.name.as_deref() == Some(name));
        let listed = |s: &StateSeen| s.name.as_deref().is_some_and(|n| list.2.contains(&n));
        if !states.values().all(listed) {
            whole = false;
            continue;
        }
        let missing: Vec<&&str> = list.2.iter().filter(|n| !known(n)).collect();
        for name in missing {
            let state = StateSeen { name: Some((*name).to_owned()), ..StateSeen::default() };
            states.insert(states.len() as u32, state);
        }
    }
    snapshot.whole = whole;
}

/// What a column of such a table holds, by the words that people write above it.
fn column(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "count" | "usage" | "entries" | "sleeps" => "usage",
        "over-pred" | "above" => "above",
        "under-pred" | "below" => "below",
        "rejected" => "rejected",
        "avg(ms)" => "mean",
        "time(us)" | "time_us" | "duration(us)" | "time" => "time",
        "latency" | "latency(us)" | "latency_us" | "exit(us)" => "latency",
        "residency" | "residency(us)" | "residency_us" => "residency",
        "disable" | "disabled" => "disable",
        "name" => "name",
        "state" => "state",
        _ => "",
    }
}

/// Whether a line is the head of a table that people make of the counters:
/// `State Ratio Avg(ms) Count Over-pred Under-pred`, `state name usage time(us) above below`,
/// `cpu0 State Name Disabled Latency Residency Time Usage`.
/// The file `idle_states` of a power domain counts ms.
fn is_posted_head(line: &str) -> bool {
    let (_, line) = whose(line);
    let mut words = line.split_whitespace();
    let first = words.next().is_some_and(|w| matches!(column(w), "state" | "name"));
    let has = |what: &[&str]| line.split_whitespace().any(|w| what.contains(&column(w)));
    let counts = has(&["above", "below", "mean"]) || has(&["time"]) && has(&["residency"]);
    first && has(&["usage"]) && counts && !line.contains("Time(ms)")
}

/// The CPU that stands before the head of such a table, and the head.
fn whose(line: &str) -> (Option<u32>, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let cpu = word.strip_prefix("cpu").or(word.strip_prefix("CPU")).and_then(|n| n.parse().ok());
    cpu.map_or((None, line), |cpu| (Some(cpu), rest))
}

/// Governors, one of which people write above such a table.
const GOVERNORS: [&str; 4] = ["menu", "teo", "ladder", "haltpoll"];

/// Whether a text has such a table.
pub(crate) fn is_posted(text: &str, asked: &Asked<'_>) -> bool {
    let words = ["Over-pred", "Under-pred", "Avg(ms)", "above", "Above", "esidency"];
    asked.has_any(&words) && text.lines().any(|l| is_posted_head(plain(l)))
}

/// Reads such tables, each a snapshot of one CPU; a share with a number in
/// brackets is that number.
pub(super) fn posted(name: &str, text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    let first = out.len();
    let mut columns: Vec<&str> = Vec::new();
    let mut unread = 0;
    let mut above: Option<&str> = None;
    let mut cpu = 0;
    for line in text.lines().map(plain) {
        if is_posted_head(line) {
            let (named, head) = whose(line);
            columns = head.split_whitespace().map(column).collect();
            cpu = named.unwrap_or(0);
            let governor = above.take().map(str::to_owned);
            // The next CPU of the same moment.
            let goes_on = |s: &Snapshot| s.sum_of == 0 && !s.cpus.contains_key(&cpu);
            if named.is_some() && out[first..].last().is_some_and(goes_on) {
                continue;
            }
            // Without a name it is of one CPU, and nobody says which.
            let sum_of = u32::from(named.is_none());
            let label = name.to_owned();
            out.push(Snapshot { label, governor, sum_of, ..Snapshot::default() });
            continue;
        }
        let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
        if !line.is_empty() {
            above = GOVERNORS.iter().find(|g| bare.eq_ignore_ascii_case(g)).copied();
        }
        if line.is_empty() || line.bytes().all(|b| b == b'-') {
            // A blank line ends a table that has begun.
            if out[first..].last().is_some_and(|s| !s.cpus.is_empty()) && line.is_empty() {
                columns.clear();
            }
            continue;
        }
        let Some(snapshot) = out[first..].last_mut().filter(|_| !columns.is_empty()) else {
            continue;
        };
        match posted_state(&columns, line) {
            Some(s) => {
                let states = snapshot.cpus.entry(cpu).or_default();
                let of = columns.iter().position(|c| *c == "state");
                let number = of.and_then(|at| line.split_whitespace().nth(at)?.parse().ok());
                let next = states.len() as u32;
                states.insert(number.filter(|n| *n < MOST_STATES).unwrap_or(next), s);
            }
            None => unread += 1,
        }
    }
    let mut i = 0;
    out.retain(|s| {
        i += 1;
        i <= first || !s.cpus.is_empty()
    });
    let count = out.len() - first;
    if count > 1 {
        for (i, s) in out[first..].iter_mut().enumerate() {
            s.label = format!("{} ({} of {count})", s.label, i + 1);
        }
    }
    let advice = "lines of a table of states that do not fit its head: they are left out";
    losses.add("unread_line", unread, Severity::Warning, advice, None);
}

/// Linux has no more (CPUIDLE_STATE_MAX, include/linux/cpuidle.h, 6.12).
pub(crate) const MOST_STATES: u32 = 10;

fn posted_state(columns: &[&str], line: &str) -> Option<StateSeen> {
    // `52.7% (89450)` is one cell, and so is `30.4%  (7)`.
    let mut cells: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        match word.strip_prefix('(').and_then(|w| w.strip_suffix(')')) {
            Some(n) => *cells.last_mut()? = n,
            None => cells.push(word),
        }
    }
    if cells.len() != columns.len() {
        return None;
    }
    let cell = |key: &str| columns.iter().position(|c| *c == key).map(|i| cells[i]);
    let n = |key: &str| cell(key).and_then(|c| c.replace(',', "").parse::<u64>().ok());
    let usage = n("usage")?;
    let hundredths = cell("mean").and_then(|c| {
        let (whole, part) = c.split_once('.').unwrap_or((c, ""));
        format!("{whole}{:0<2}", part.get(..2).unwrap_or(part)).parse::<u64>().ok()
    });
    let by_mean = hundredths.and_then(|h| h.checked_mul(10)?.checked_mul(usage));
    Some(StateSeen {
        name: Some(cell("name").unwrap_or(cells[0]).to_owned()),
        latency: n("latency"),
        residency: n("residency"),
        disabled: n("disable").map(|n| n > 0),
        counters: Counters {
            usage: Some(usage),
            time: n("time").or(by_mean),
            above: n("above"),
            below: n("below"),
            rejected: n("rejected"),
            ..Counters::default()
        },
        ..StateSeen::default()
    })
}

/// Columns of a table with a line for each state of a machine.
const COLUMNS: [&str; 15] = [
    "machine",
    "driver",
    "governor",
    "cpus",
    "state",
    "name",
    "latency_us",
    "residency_us",
    "default_status",
    "cpus_disabled",
    "usage",
    "time_us",
    "above",
    "below",
    "rejected",
];

/// Whether a text begins with those columns.
pub(crate) fn is_csv(text: &str) -> bool {
    text.lines().next().is_some_and(|l| l.trim_end().split(',').eq(COLUMNS))
}

/// Reads such a table: a snapshot for each machine, whose figures are sums over
/// its CPUs.
pub(super) fn csv(text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    let (mut damaged, mut first) = (0, None);
    for (at, line) in text.lines().enumerate().skip(1) {
        let cells: Vec<&str> = line.trim_end().split(',').collect();
        let n = |i: usize| cells.get(i).and_then(|c| c.parse::<u64>().ok());
        let state = n(4).and_then(|n| u32::try_from(n).ok());
        let (true, Some(state)) = (cells.len() == COLUMNS.len(), state) else {
            damaged += 1;
            first.get_or_insert(at as u64 + 1);
            continue;
        };
        if out.last().is_none_or(|s| s.label != cells[0]) {
            let said = |c: &str| (!c.is_empty()).then(|| c.to_owned());
            out.push(Snapshot {
                label: cells[0].to_owned(),
                driver: said(cells[1]),
                governor: said(cells[2]),
                sum_of: n(3).and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
                ..Snapshot::default()
            });
        }
        let Some(snapshot) = out.last_mut() else { continue };
        snapshot.cpus.entry(0).or_default().insert(
            state,
            StateSeen {
                name: Some(cells[5].to_owned()),
                desc: None,
                latency: n(6),
                residency: n(7),
                disabled: n(9).map(|n| n > 0),
                counters: Counters {
                    usage: n(10),
                    time: n(11),
                    above: n(12),
                    below: n(13),
                    rejected: n(14),
                    ..Counters::default()
                },
            },
        );
    }
    let advice = "lines with another number of cells than the head: compare them with the original";
    losses.add("damaged_line", damaged, Severity::Warning, advice, first);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_table_with_a_head_of_the_counters_is_a_snapshot_of_its_governor() {
        let text = "### teo\nstate    name    usage   time(us)  above  below\n\
                    state0   WFI     40      9000      0      7\nstate1   ret     11      8000      4      0\n";
        assert!(is_posted(text, &Asked::of(text.as_bytes())));
        let mut out = Vec::new();
        posted("x", text, &mut out, &mut Losses::default());
        let [s] = &out[..] else { panic!("{out:?}") };
        assert_eq!(s.governor.as_deref(), Some("teo"));
        let deep = &s.cpus[&0][&1];
        let c = deep.counters;
        assert_eq!(
            (deep.name.as_deref(), c.usage, c.time, c.above),
            (Some("ret"), Some(11), Some(8_000), Some(4))
        );
        // A listing that was cut tells no share of time.
        let cut = "Available idle states: POLL ELM1 ELM2\nPOLL:\nFlags/Description: POLL\nUsage: 3\nDuration: 5\n\
                   ELM1:\nFlags/Description: FFH 0x0\nUsage: 9\nDuration: 700\n";
        let mut out = Vec::new();
        idle_info("x", cut, &mut out, &mut Losses::default());
        let states = &out[0].cpus[&0];
        assert_eq!((states.len(), states[&2].counters.time), (3, None));
        // Each dump has a list of its own, and words above it part them.
        let dump = |cpu: u32, names: &[&str]| {
            let head = format!(
                "CPUidle driver: elm_idle\nanalyzing CPU {cpu}:\n\nAvailable idle states: {}\n",
                names.join(" ")
            );
            let state = |n: &&str| {
                format!("{n}:\nFlags/Description: {n}\nLatency: 3\nUsage: 7\nDuration: 90\n")
            };
            head + &names.iter().map(state).collect::<String>()
        };
        let two = format!(
            "Old kernel:\n\n{}\nNew kernel:\n\n{}",
            dump(5, &["doze"]),
            dump(6, &["doze", "nap", "deep"])
        );
        let mut out = Vec::new();
        idle_info("x", &two, &mut out, &mut Losses::default());
        let states = |s: &Snapshot| s.cpus.values().map(BTreeMap::len).collect::<Vec<_>>();
        assert_eq!(out.iter().map(states).collect::<Vec<_>>(), [vec![1], vec![3]], "{out:?}");
        assert!(out.iter().all(|s| s.whole));
        let one = dump(5, &["doze", "nap"]) + &dump(6, &["doze", "nap"]);
        let mut out = Vec::new();
        idle_info("x", &one, &mut out, &mut Losses::default());
        assert_eq!(out.iter().map(states).collect::<Vec<_>>(), [vec![2, 2]], "one call");
        // Several side by side are one a machine.
        let sides = [dump(5, &["doze"]), dump(5, &["doze", "nap"])]
            .map(|d| "me@elm:~$ cpupower idle-info\n".to_owned() + &d);
        let mut cells = sides.each_ref().map(|s| s.lines());
        let mut rows = String::new();
        while let [Some(b), a] = [cells[1].next(), cells[0].next()] {
            rows += &format!("{:<40} | {}\n", a.unwrap_or(""), b.replace("Description", "Desc"));
        }
        let rows = rows.replacen("me@elm", "me@oak", 1);
        assert!(is_idle_info(&rows, &Asked::of(rows.as_bytes())));
        let mut out = Vec::new();
        idle_info("x", &rows, &mut out, &mut Losses::default());
        assert_eq!(out.iter().map(states).collect::<Vec<_>>(), [vec![1], vec![2]], "{out:?}");
        assert_eq!(out[0].label, "x (oak)");
        // Tables that a script printed of each CPU; the same CPU again is another moment.
        let each = "cpu0 State  Name  Disabled  Latency  Residency  Time  Usage\n\
                    0  POLL  0  0  0  90  3\n1  ELM1  1  2  2  7000  40\n";
        let text = format!("{each}{}\nnow:\n{each}", each.replace("cpu0", "cpu1"));
        assert!(is_posted(&text, &Asked::of(text.as_bytes())));
        let mut out = Vec::new();
        posted("x", &text, &mut out, &mut Losses::default());
        assert_eq!(out.iter().map(|s| s.cpus.len()).collect::<Vec<_>>(), [2, 1]);
        let elm = &out[0].cpus[&1][&1];
        assert_eq!((elm.disabled, elm.counters.usage), (Some(true), Some(40)));
        // A power domain's own file counts ms.
        let ms = "State          Time(ms)       Usage      Rejected   Above      Below\n";
        assert!(!is_posted(ms, &Asked::of(ms.as_bytes())));
    }
}
