//! Values of `/sys/devices/system/cpu/cpu*/cpuidle`, in the dresses that people
//! post: `PATH:VALUE` (grep, also with line numbers or colours), `PATH VALUE`,
//! `PATH:` with the value below, `==> PATH <==` (head), several values a line, any
//! folder in front, quoted by a mail.

use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::snapshot::{Counters, Snapshot, StateSeen};
use std::collections::BTreeMap;

/// Attributes of a state that are read or known to be of no use.
const ATTRIBUTES: [&str; 14] = [
    "above",
    "below",
    "default_status",
    "desc",
    "disable",
    "latency",
    "name",
    "power",
    "rejected",
    "residency",
    "s2idle/time",
    "s2idle/usage",
    "time",
    "usage",
];

/// Whether a path ends in an attribute of cpuidle.
pub(crate) fn names_attribute(path: &str) -> bool {
    find(path).is_some()
}

/// Whether a text has such paths.
pub(crate) fn is_sysfs(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at + 5).is_some_and(u8::is_ascii_digit);
    let plain = without_colours(text);
    // Most texts have no name of a state at all.
    if plain.is_none() && !memchr::memmem::find_iter(bytes, b"state").any(digit) {
        return false;
    }
    plain
        .as_deref()
        .unwrap_or(text)
        .lines()
        .any(|l| find(l).is_some_and(|f| matches!(f.what, What::State { .. })))
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What<'a> {
    State { cpu: Option<u32>, state: u32, attribute: &'a str },
    Driver,
    Governor,
    Governors,
}

/// A path in a line.
struct Found<'a> {
    /// What stands before the machine's own part: a folder of somebody's.
    prefix: &'a str,
    what: What<'a>,
    /// What follows the path.
    rest: &'a str,
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The first path of a line that names something of cpuidle and may have a value.
fn find(line: &str) -> Option<Found<'_>> {
    let found = path(line)?;
    let before = &line[..found.start];
    let words = before.trim_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '|' | '+'));
    // What is written into a file is not what it holds.
    if words.ends_with("echo") || before.contains("echo ") {
        return None;
    }
    // A listing has the path last, and no value; a command has its output below.
    let rest = found.found.rest.trim();
    if rest.is_empty() && !words.is_empty() {
        let shown = ["cat", "head", "tail", "more", "less", "==>", "$", "#"];
        if !shown.iter().any(|s| before.contains(s)) {
            return None;
        }
    }
    // Behind a blank stands a value, or a sentence goes on.
    if found.found.rest.starts_with([' ', '\t']) && !rest.starts_with(['<', ':', '=']) {
        let is_value = match found.found.what {
            What::State { attribute: "name" | "desc" | "default_status", .. } => words.is_empty(),
            What::State { .. } => rest.split_whitespace().next().is_some_and(is_number),
            _ => words.is_empty(),
        };
        if !is_value {
            return None;
        }
    }
    Some(found.found)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// A path and where it begins.
struct At<'a> {
    found: Found<'a>,
    start: usize,
}

fn path(line: &str) -> Option<At<'_>> {
    let is_edge = |c: &(usize, char)| c.1.is_whitespace() || c.1 == '>';
    let start = |at: usize| {
        let edge = line[..at].char_indices().rev().find(is_edge);
        edge.map_or(0, |(i, c)| i + c.len_utf8())
    };
    for (word, what) in [
        ("cpuidle/current_driver", What::Driver),
        ("cpuidle/current_governor_ro", What::Governor),
        ("cpuidle/current_governor", What::Governor),
        ("cpuidle/driver/name", What::Driver),
        ("cpuidle/available_governors", What::Governors),
    ] {
        if let Some(at) = line.find(word) {
            let rest = &line[at + word.len()..];
            if ends(rest) {
                let found = Found { prefix: prefix(&line[start(at)..at]), what, rest };
                return Some(At { found, start: start(at) });
            }
        }
    }
    let mut from = 0;
    while let Some(at) = line[from..].find("state").map(|i| from + i) {
        from = at + 5;
        let before = &line[start(at)..at];
        if !(before.is_empty() || before.ends_with('/')) {
            continue;
        }
        let Some((state, rest)) = number(&line[from..]) else { continue };
        let Some(rest) = rest.strip_prefix('/') else { continue };
        let named = |a: &&&str| rest.strip_prefix(**a).is_some_and(ends);
        let Some(attribute) = ATTRIBUTES.iter().find(named) else { continue };
        let cpu = before.rfind("cpu").and_then(|_| {
            let folder = before.strip_suffix("cpuidle/")?.strip_suffix('/')?;
            let digits = folder.rfind("cpu").map(|i| &folder[i + 3..])?;
            number(digits).filter(|(_, left)| left.is_empty()).map(|(n, _)| n)
        });
        let what = What::State { cpu, state, attribute };
        let found = Found { prefix: prefix(before), what, rest: &rest[attribute.len()..] };
        return Some(At { found, start: start(at) });
    }
    None
}

/// The CPU in whose folder a shell stands: `box:/sys/devices/system/cpu/cpu2/cpuidle# grep …`,
/// `cd /sys/devices/system/cpu/cpu2/cpuidle`.
fn stands_in(line: &str) -> Option<u32> {
    let (before, rest) = line.split_once("/cpuidle")?;
    let (cpu, left) = number(&before[before.rfind("/cpu")? + 4..])?;
    let ends = rest.trim_start_matches('/');
    let is_folder =
        ends.is_empty() || ends.starts_with(['#', '$', '%', '>', ']', ' ', ';', '&', ')']);
    (left.is_empty() && is_folder).then_some(cpu)
}

/// A path ends where no further name follows.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([':', '=', ' ', '\t', '\r'])
}

/// What of a path is not the machine's own.
fn prefix(path: &str) -> &str {
    let end = path.find("sys/devices/system/cpu").or_else(|| path.find("cpu")).unwrap_or(0);
    path[..end].trim_end_matches('/')
}

/// Whether a value that comes again is of another moment: what never changes says so
/// only where it differs, because people list names beside each counter in turn.
fn is_another(s: &Snapshot, cpu: u32, state: u32, attribute: &str, value: &str) -> bool {
    let Some(known) = s.cpus.get(&cpu).and_then(|c| c.get(&state)) else { return false };
    let is_counter = !matches!(
        attribute,
        "name" | "desc" | "latency" | "residency" | "disable" | "power" | "default_status"
    );
    let mut same = known.clone();
    set(&mut same, attribute, value);
    is_counter || same != *known
}

/// Reads a text of paths and values into one snapshot for each folder that the
/// paths stand in; a counter that comes a second time begins a new one.
pub(super) fn parse(name: &str, text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    let plain = without_colours(text);
    let text = plain.as_deref().unwrap_or(text);
    // Only where no path has a CPU the values are those of one.
    let named = text
        .lines()
        .any(|l| find(l).is_some_and(|f| matches!(f.what, What::State { cpu: Some(_), .. })));
    let first = out.len();
    let mut by_prefix: BTreeMap<String, usize> = BTreeMap::new();
    let (mut nameless, mut unread) = (0, 0);
    let mut lines = text.lines().peekable();
    let mut seen: BTreeMap<(usize, u32, u32), u32> = BTreeMap::new();
    // The snapshot of the moment before, by number.
    let mut earlier: BTreeMap<usize, usize> = BTreeMap::new();
    // States that came up first once names of the same snapshot came again: if that turns out to
    // be another moment, they are of it alone.
    let mut late: Vec<(usize, u32, u32)> = Vec::new();
    let mut repeats: Vec<usize> = Vec::new();
    // The folder of a CPU that the last prompt or command stands in.
    let mut folder = None;
    while let Some(line) = lines.next() {
        let mut rest = line;
        folder = stands_in(line).or(folder);
        while let Some(found) = find(rest) {
            let value = value(found.rest, &mut lines);
            // Several a line: the next path begins behind a blank.
            let (value, next) =
                match value.find("state").filter(|&i| i > 0).and_then(|_| split(value)) {
                    Some((value, next)) => (value, next),
                    None => (value, ""),
                };
            let mut at = *by_prefix.entry(found.prefix.to_owned()).or_insert_with(|| {
                let label = label(name, found.prefix);
                out.push(Snapshot { label, since_boot: true, ..Snapshot::default() });
                out.len() - 1
            });
            match found.what {
                What::Driver => {
                    out[at].driver.get_or_insert_with(|| value.to_owned());
                }
                What::Governor => {
                    out[at].governor.get_or_insert_with(|| value.to_owned());
                }
                What::Governors => {
                    out[at].governors = value.split_whitespace().map(str::to_owned).collect();
                }
                What::State { cpu: None, .. } if named && folder.is_none() => nameless += 1,
                What::State { cpu, state, attribute } => {
                    let cpu = cpu.or(folder);
                    nameless += u64::from(cpu.is_none());
                    let cpu = cpu.unwrap_or(0);
                    let bit = 1u32 << ATTRIBUTES.iter().position(|a| *a == attribute).unwrap_or(0);
                    let again = seen.get(&(at, cpu, state)).is_some_and(|s| s & bit != 0);
                    if again && is_another(&out[at], cpu, state, attribute, value) {
                        // What does not change stays known where the values go on.
                        let before = at;
                        let cpus = BTreeMap::new();
                        out.push(Snapshot { cpus, ..out[at].clone() });
                        at = out.len() - 1;
                        by_prefix.insert(found.prefix.to_owned(), at);
                        earlier.insert(at, before);
                        for (_, cpu, state) in late.extract_if(.., |l| l.0 == before) {
                            let states = out[before].cpus.entry(cpu).or_default();
                            if let Some(s) = states.remove(&state) {
                                out[at].cpus.entry(cpu).or_default().insert(state, s);
                            }
                        }
                    } else if again && !repeats.contains(&at) {
                        repeats.push(at);
                    }
                    *seen.entry((at, cpu, state)).or_default() |= bit;
                    if !out[at].cpus.get(&cpu).is_some_and(|c| c.contains_key(&state)) {
                        if repeats.contains(&at) {
                            late.push((at, cpu, state));
                        }
                        let known =
                            earlier.get(&at).and_then(|b| out[*b].cpus.get(&cpu)?.get(&state));
                        let kept =
                            known.map(|s| StateSeen { counters: Counters::default(), ..s.clone() });
                        let states = out[at].cpus.entry(cpu).or_default();
                        states.insert(state, kept.unwrap_or_default());
                    }
                    let s = out[at].cpus.entry(cpu).or_default().entry(state).or_default();
                    unread += u64::from(!set(s, attribute, value));
                }
            }
            rest = next;
        }
    }
    // A folder that only said a driver, or nothing.
    let mut i = first;
    while i < out.len() {
        if out[i].cpus.is_empty() {
            out.remove(i);
        } else {
            i += 1;
        }
    }
    let count = out.len() - first;
    if count > 1 {
        for (i, s) in out[first..].iter_mut().enumerate() {
            s.label = format!("{} ({} of {count})", s.label, i + 1);
        }
    }
    let advice = if named {
        "values of states without a CPU in their path are left out: give whole paths (grep -r . /sys/devices/system/cpu/cpu*/cpuidle)"
    } else {
        "no path names a CPU, so all values are shown as CPU 0: give whole paths (grep -r . /sys/devices/system/cpu/cpu*/cpuidle)"
    };
    losses.add("unnamed_cpu", nameless, Severity::Warning, advice, None);
    let gone = |states: &BTreeMap<u32, StateSeen>| states.keys().zip(0..).any(|(s, i)| *s != i);
    let cpus = out[first..].iter().flat_map(|s| s.cpus.values());
    losses.add(
        "missing_states",
        cpus.filter(|c| gone(c)).count() as u64,
        Severity::Warning,
        "states of a lower number are not in the text: shares are of the states that it shows, not of all idle time",
        None,
    );
    let advice = "values that are no numbers where one belongs: compare them with the original";
    losses.add("unread_value", unread, Severity::Warning, advice, None);
}

fn label(name: &str, prefix: &str) -> String {
    let prefix = prefix.trim_start_matches("./");
    if prefix.is_empty() { name.to_owned() } else { format!("{name} {prefix}") }
}

/// The value behind a path: on its line, or on the next that is not blank and
/// names no path.
fn value<'a>(rest: &'a str, lines: &mut std::iter::Peekable<std::str::Lines<'a>>) -> &'a str {
    let here = rest.trim_start_matches([':', '=', ' ', '\t']).trim();
    if !here.is_empty() && here != "<==" {
        return here;
    }
    while lines.next_if(|l| l.trim().is_empty()).is_some() {}
    lines.next_if(|l| find(l).is_none()).map_or("", str::trim)
}

/// A value and the next path on the same line.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut blanks = text.match_indices(char::is_whitespace).map(|(i, b)| (i, i + b.len()));
    let (end, next) = blanks.find(|(_, next)| find(&text[*next..]).is_some())?;
    Some((text[..end].trim(), &text[next..]))
}

/// The text without the sequences that colour a terminal, if it has any.
fn without_colours(text: &str) -> Option<String> {
    if !text.contains('\u{1b}') {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |i| i + 1);
        rest = &rest[end..];
    }
    Some(out + rest)
}

/// A value without the number of its line, which `grep -n` puts in front.
fn without_line(value: &str) -> &str {
    value.strip_prefix("1:").unwrap_or(value)
}

/// Sets one value; false if it is no number where one belongs.
fn set(s: &mut StateSeen, attribute: &str, value: &str) -> bool {
    let value = without_line(value);
    let n: Option<u64> = value.parse().ok();
    let c = &mut s.counters;
    let place = match attribute {
        "name" => {
            s.name = Some(value.to_owned());
            return true;
        }
        "desc" => {
            s.desc = Some(value.to_owned());
            return true;
        }
        // What the kernel did at the start, and a figure that no driver means.
        "default_status" | "power" => return true,
        "disable" => {
            s.disabled = n.map(|n| n != 0);
            return n.is_some();
        }
        "latency" => &mut s.latency,
        "residency" => &mut s.residency,
        "usage" => &mut c.usage,
        "time" => &mut c.time,
        "above" => &mut c.above,
        "below" => &mut c.below,
        "rejected" => &mut c.rejected,
        "s2idle/usage" => &mut c.s2idle_usage,
        "s2idle/time" => &mut c.s2idle_time,
        _ => return false,
    };
    *place = n;
    n.is_some()
}

/// What `cat cpu*/cpuidle/state*/*` of a kernel does not print: folders, and what
/// older and older kernels lack beside.
const LACKING: [&[&str]; 5] = [
    &["s2idle/time", "s2idle/usage"],
    &["rejected"],
    &["default_status"],
    &["above", "below"],
    &["residency"],
];

/// Orders of values of such a state, that of today's kernels first.
fn orders() -> impl Iterator<Item = Vec<&'static str>> {
    let has = |lacking: &[&[&str]], a: &str| !lacking.iter().any(|l| l.contains(&a));
    (1..=LACKING.len())
        .map(move |n| ATTRIBUTES.into_iter().filter(|a| has(&LACKING[..n], a)).collect())
}

/// One state of bare values, or `None` if the lines are something else.
fn bare_state(order: &[&str], lines: &[&str]) -> Option<StateSeen> {
    let mut s = StateSeen::default();
    let fits = |(attribute, line): (&&str, &&str)| {
        let value = line.trim();
        match *attribute {
            "default_status" => matches!(value, "enabled" | "disabled"),
            "name" | "desc" => !is_number(value) && set(&mut s, attribute, value),
            "power" => is_number(value),
            _ => set(&mut s, attribute, value),
        }
    };
    (lines.len() >= order.len() && order.iter().zip(lines).all(fits)).then_some(s)
}

/// The order in which a text has its values, if it is bare values.
fn order(lines: &[&str]) -> Option<Vec<&'static str>> {
    orders().find(|order| {
        let next = lines.get(order.len()..).unwrap_or_default();
        bare_state(order, lines).is_some()
            && (next.len() < order.len() || bare_state(order, next).is_some())
    })
}

/// Whether a text is bare values, as `cat` of all attributes prints them.
pub(crate) fn is_bare(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().take(2 * ATTRIBUTES.len()).collect();
    order(&lines).is_some()
}

/// Reads bare values. CPUs are not named, so they are numbered in order; a CPU
/// begins where the name of the first state comes again.
pub(super) fn bare(name: &str, text: &str, out: &mut Vec<Snapshot>, losses: &mut Losses) {
    let lines: Vec<&str> = text.lines().collect();
    let Some(order) = order(&lines) else { return };
    let mut snapshot = Snapshot { label: name.to_owned(), since_boot: true, ..Snapshot::default() };
    let (mut cpu, mut state, mut at) = (0, 0, 0);
    let mut first: Option<String> = None;
    while let Some(s) = lines.get(at..).and_then(|l| bare_state(&order, l)) {
        at += order.len();
        if first.is_none() {
            first.clone_from(&s.name);
        } else if s.name == first {
            (cpu, state) = (cpu + 1, 0);
        }
        snapshot.cpus.entry(cpu).or_default().insert(state, s);
        state += 1;
    }
    let left = lines.len() - at;
    losses.add(
        "unread_line",
        left as u64,
        Severity::Warning,
        "values after the last whole state: the text is cut, or has other attributes than a state",
        Some(at as u64 + 1),
    );
    losses.add(
        "unnamed_cpu",
        1,
        Severity::Info,
        "bare values name no CPU: they are numbered in the order of the text, which is that of cat, not of the machine",
        None,
    );
    out.push(snapshot);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_the_second_dump_alone_has_is_of_that_one() {
        let dump = |names: &[&str], usage: u64| {
            let file = |at: usize, file: &str, value: &str| {
                format!("/sys/devices/system/cpu/cpu0/cpuidle/state{at}/{file}:{value}\n")
            };
            let each = |what: &dyn Fn(usize, &str) -> String| -> String {
                names.iter().enumerate().map(|(at, n)| what(at, n)).collect()
            };
            each(&|at, n| file(at, "name", n))
                + &each(&|at, _| file(at, "latency", &at.to_string()))
                + &each(&|at, _| file(at, "usage", &(usage + at as u64).to_string()))
        };
        let text =
            dump(&["POLL", "ELM1"], 500) + "\nThe other:\n" + &dump(&["POLL", "ELM1", "ELM6"], 70);
        let mut out = Vec::new();
        parse("x", &text, &mut out, &mut Losses::default());
        let counts =
            |s: &Snapshot| s.cpus[&0].values().map(|s| s.counters.usage).collect::<Vec<_>>();
        assert_eq!(
            out.iter().map(counts).collect::<Vec<_>>(),
            [vec![Some(500), Some(501)], vec![Some(70), Some(71), Some(72)]]
        );
        let deep = &out[1].cpus[&0][&2];
        assert_eq!((deep.name.as_deref(), deep.latency), (Some("ELM6"), Some(2)));
    }
}
