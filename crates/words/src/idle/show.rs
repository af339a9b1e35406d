//! What `dormouse show --only idle` prints.

use super::dumps;
use super::numbers::{percent, seconds, us};
use super::used::name;
use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::next::{next as next_line, run};
use crate::wording::number::grouped;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::absent::Absent;
use dormouse_idle::beside::Beside;
use dormouse_idle::contrast::{contrast, pairs};
use dormouse_idle::cpulist;
use dormouse_idle::cpulist::named as cpus;
use dormouse_idle::doubt::Doubt;
use dormouse_idle::governors::Kind;
use dormouse_idle::late::{Beside as Late, Test};
use dormouse_idle::limit::CpuLimit;
use dormouse_idle::pack::Packed;
use dormouse_idle::section::{Finding, Row, Section, finding, of_snapshot, of_trace, totals};
use dormouse_idle::snapshot::Snapshot;
use dormouse_idle::state::ONLY_S2IDLE;
use dormouse_idle::tally::{Coverage, Quantile, Sleeps, Waker, Woken};
use dormouse_idle::ticks::Ticks;
use dormouse_idle::turbostat::Run;
use std::fmt::Write as _;

/// With more snapshots than this each has one line.
const FEW: usize = 3;

/// Of fewer sleeps nothing is predicted: one that the model takes for another state is more than
/// its error may be. Ours.
const PREDICTED: u64 = 20;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Snapshots, none if `difference` stands for them.
    pub snapshots: &'a [Snapshot],
    /// What was counted between two snapshots.
    pub difference: Option<&'a Snapshot>,
    /// Traces.
    pub traces: &'a [Sleeps],
    /// Answers that there are no idle states.
    pub absent: &'a [Absent],
    /// Lines that name what may keep CPUs from deeper states.
    pub limits: &'a [(u64, String)],
    /// Latencies that CPUs are allowed at most.
    pub latencies: &'a [CpuLimit],
    /// Runs of turbostat.
    pub runs: &'a [Run],
    /// Two measurements of one kind beside each other.
    pub beside: Option<&'a Beside>,
    /// Tests of how late wake-ups come.
    pub late: &'a [Test],
    /// Two of them beside each other.
    pub late_beside: Option<&'a Late>,
    /// What could not be read.
    pub losses: &'a Losses,
    /// What the work of all CPUs would come to on fewer of them, by trace; none if
    /// not asked for.
    pub packed: &'a [Vec<Packed>],
    /// Most entries in a list.
    pub top: usize,
    /// The input as it was typed.
    pub input: &'a str,
}

/// The page: an answer, how far to trust it, tables, what to do next.
pub fn show(page: &Page) -> String {
    let mut out = String::new();
    let (mut parts, mut later): (Vec<String>, Vec<String>) = Default::default();
    let named = page.losses.count("unnamed_cpu") == 0;
    // Among many machines, and beside a trace, one that has none is not the subject.
    let few = page.traces.is_empty() && page.snapshots.len() <= FEW;
    let others = !(page.snapshots.is_empty() && page.runs.is_empty() && page.late.is_empty());
    parts.extend(super::absent::text(page.absent, others).filter(|_| few));
    for (i, t) in page.traces.iter().enumerate().filter(|(_, t)| t.tally.sleeps() > 0) {
        let packed = page.packed.get(i).map_or(String::new(), |p| super::pack::text(p));
        parts.push(trace(t, page.top) + &packed + &measured(t, page.runs));
    }
    if let Some(d) = page.difference {
        parts.push(snapshot(d, true, named, false));
    } else if let Some(c) = contrast(&pairs(page.snapshots)) {
        parts.push(super::contrast::text(&c));
    } else if page.snapshots.len() > FEW {
        parts.push(dumps::list(page.snapshots));
    } else {
        // Beside a trace a dump only says the table.
        let only_tables = page.traces.iter().any(|t| t.tally.sleeps() > 0);
        let several = page.snapshots.len() > 1;
        // Where a table measures how they were used, a dump without counters says the states.
        let measured = |s: &&Snapshot| page.runs.is_empty() || counts(s);
        let dumps = || page.snapshots.iter().filter(|_| !only_tables);
        parts.extend(dumps().filter(measured).map(|s| snapshot(s, false, named, several)));
        later.extend(
            dumps().filter(|s| !measured(s)).map(|s| without_answer(s, false, named, several)),
        );
        if let ([before, after], false) = (page.snapshots, only_tables) {
            parts.extend(dumps::apart(before, after));
        }
    }
    let of_cpus = super::limit::text(page.latencies, page.snapshots);
    let run = |r| super::turbostat::text(r, page.limits, of_cpus.as_deref());
    parts.extend(page.runs.iter().map(run));
    parts.extend(of_cpus.clone().filter(|_| page.runs.is_empty()));
    // Of two what changed is the answer.
    parts.extend(page.late_beside.map(super::late::beside));
    let pair = page.late_beside.is_some();
    parts.extend((page.late.len() > 2).then(|| super::late::overview(page.late)));
    parts.extend(page.late.iter().map(|t| super::late::text(t, page.top, pair)));
    parts.extend(later);
    parts.extend(page.beside.map(super::turbostat::beside));
    parts.extend(super::absent::text(page.absent, false).filter(|_| !few));
    out += &parts.join("\n");
    for s in page.snapshots.iter().take(FEW).filter(|_| !page.traces.is_empty()) {
        out += &doubts(&of_snapshot(s));
    }
    for l in page.losses.list.iter().filter(|l| l.severity > Severity::Info) {
        let kind = l.kind.replace('_', " ");
        let count = if l.count > 1 { format!(" ({})", grouped(l.count)) } else { String::new() };
        out += &wrap(&format!("{}: {kind}{count}: {}.", l.severity.name(), safe(&l.advice)));
    }
    out += &follow(page);
    out
}

/// A residency in microseconds: as measured, or `~10,300` with three digits.
fn about(q: Quantile) -> String {
    if q.exact {
        return us(q.ns);
    }
    let mut unit = 1_000;
    while q.ns / unit >= 1_000 {
        unit *= 10;
    }
    format!("~{}", us((q.ns + unit / 2) / unit * unit))
}

/// The first line: what is worth attacking.
///
/// `listed`: the states are those that the kernel lists, not those that a trace met.
fn answer(sections: &[Section], listed: bool) -> String {
    let all = totals(sections);
    let row = |at: (usize, usize)| name(&sections[at.0].states[at.1]);
    // Cores of two kinds may both have a state of this name.
    let of = |at: (usize, usize)| match sections.len() {
        1 => String::new(),
        _ => format!(" of {}", cpus(&sections[at.0].cpus)),
    };
    let text = match finding(sections) {
        Finding::TooDeep { at, count, of: sleeps, .. } => format!(
            "{}{} is too deep for {} of its {} sleeps ({}): they ended before it paid.{}",
            row(at),
            of(at),
            grouped(count),
            grouped(sleeps),
            percent(count, sleeps),
            untimed(&sections[at.0].states[at.1])
        ),
        Finding::TooShallow { at, count, of: sleeps, .. } => format!(
            "{}{} is too shallow for {} of its {} sleeps ({}): the next state would have paid{}.{}",
            row(at),
            of(at),
            grouped(count),
            grouped(sleeps),
            percent(count, sleeps),
            match sections[at.0].disabled_below(at.1) {
                Some(next) => format!(
                    ", and it is disabled: echo 0 > …/cpuidle/state{}/disable allows it",
                    next.state
                ),
                None => String::new(),
            },
            untimed(&sections[at.0].states[at.1])
        ),
        Finding::Rejected { at, count, of: sleeps, others } => {
            let most = if sections.len() > 1 { ", most of all for each CPU" } else { "" };
            let others = match others {
                0 => String::new(),
                1 => " 1 more state was refused more often than entered.".into(),
                n => format!(" {n} more states were refused more often than entered."),
            };
            let how = match sleeps {
                0 => "do not let CPUs into it",
                _ => "refuse most attempts",
            };
            format!(
                "{}{} was refused {} times and entered {} times{most}: firmware or driver {how}.{others}",
                row(at),
                of(at),
                grouped(count),
                grouped(sleeps)
            )
        }
        Finding::Disabled { at } => {
            let most = sections[at.0].states.iter().max_by_key(|r| r.time_ns);
            let of = &sections[at.0];
            let whole = of.has_all_times() && !(listed && of.lacks_lower());
            let spent = most.filter(|r| whole && r.time_ns > Some(0)).map_or(String::new(), |r| {
                let of = totals(std::slice::from_ref(&sections[at.0])).time;
                let share = percent(r.time_ns.unwrap_or(0), of);
                format!(" CPUs spent {share} of their idle time in {}.", name(r))
            });
            // Each CPU has such a file: of others the table says nothing.
            let cpus = &sections[at.0].cpus;
            let enter = if cpus.len() == 1 { "it does" } else { "they do" };
            format!(
                "{}, the deepest state, is disabled on {}, so {enter} not enter it: echo 0 > \
                 …/cpuidle/state{}/disable allows it.{spent}",
                row(at),
                cpulist::named(cpus),
                sections[at.0].states[at.1].state
            )
        }
        Finding::Counted { at, too_deep, too_shallow } => {
            let known = &sections[at.0].states[at.1];
            let deep = known.too_deep.map(|_| format!("too deep {} times", grouped(too_deep)));
            let shallow =
                known.too_shallow.map(|_| format!("too shallow {} times", grouped(too_shallow)));
            let missed: Vec<String> = deep.into_iter().chain(shallow).collect();
            format!(
                "{}{} was {}, more than any other; how often and how long CPUs were in it this \
                 input does not say.",
                row(at),
                of(at),
                missed.join(" and ")
            )
        }
        Finding::Fits
            if sections.iter().flat_map(|s| &s.states).all(|r| r.too_shallow.is_none()) =>
        {
            format!(
                "No state costs much: {} of {} sleeps were too deep, less than 1 % of idle time; which were too shallow the input does not say.",
                grouped(all.too_deep),
                grouped(all.sleeps)
            )
        }
        Finding::Fits => format!(
            "No state costs much: {} of {} sleeps were too deep and {} too shallow, less than 1 % of idle time each.",
            grouped(all.too_deep),
            grouped(all.sleeps),
            grouped(all.too_shallow)
        ),
        Finding::Unknown => super::used::text(sections, listed),
    };
    wrap(&text)
}

/// What is said of a state whose time nobody counted.
fn untimed(r: &Row) -> &'static str {
    match r.time_ns.is_none() && r.missed_time.is_none() {
        true => " How long CPUs were in it this input does not say.",
        false => "",
    }
}

/// `named`: the input says which CPUs it tells of; `label`: it is one of several.
fn snapshot(s: &Snapshot, difference: bool, named: bool, label: bool) -> String {
    answer(&of_snapshot(s), true) + &without_answer(s, difference, named, label)
}

/// Whether anything of it was counted.
fn counts(s: &Snapshot) -> bool {
    let counted = |r: &Row| r.sleeps.or(r.time_ns).or(r.too_deep).or(r.rejected).is_some();
    of_snapshot(s).iter().any(|s| s.states.iter().any(counted))
}

fn without_answer(s: &Snapshot, difference: bool, named: bool, label: bool) -> String {
    let sections = of_snapshot(s);
    let each: usize = sections.iter().map(|x| x.cpus.len()).sum();
    let count = if s.sum_of > 0 { s.sum_of as usize } else { each };
    let mut out = String::new();
    let said = |key: &str, v: &Option<String>| {
        v.as_ref().map_or(String::new(), |v| format!(", {key} {}", safe(v)))
    };
    let when = match (difference, s.since_boot) {
        (true, _) => "between two dumps",
        (false, true) => "since boot",
        (false, false) => "(since when is not said)",
    };
    let counted =
        sections.iter().any(|s| s.states.iter().any(|r| r.sleeps.or(r.time_ns).is_some()));
    let judged = sections.iter().any(|s| s.states.iter().any(|r| r.too_deep.is_some()));
    let whose = match &sections[..] {
        [one] if count == 1 && s.sum_of == 0 && named => cpus(&one.cpus),
        _ => format!("{count} CPU{}", if count == 1 { "" } else { "s" }),
    };
    let (what, misses) = match (counted, judged) {
        (true, true) => (format!("Counters of {whose}"), "; misses are the kernel's own count"),
        (true, false) => (format!("Counters of {whose}"), "; misses were not counted"),
        (false, _) => (format!("States of {whose}"), "; no counters"),
    };
    let when = if counted { format!(" {when}") } else { String::new() };
    out += &wrap(&format!(
        "{what}{when}{}{}{misses}.",
        said("driver", &s.driver),
        said("governor", &s.governor)
    ));
    if label {
        out += &wrap(&format!("From {}.", safe(s.label.rsplit('/').next().unwrap_or(&s.label))));
    }
    for section in &sections {
        out.push('\n');
        if sections.len() > 1 {
            let _ = writeln!(out, "{}", cpus(&section.cpus));
        }
        out += &table(section);
    }
    out + &doubts(&sections)
}

/// A target residency; drivers give the largest number to a state that only
/// suspend-to-idle may enter.
fn pays(us: u64) -> String {
    if us >= ONLY_S2IDLE { "never".into() } else { grouped(us) }
}

/// States with their figures; a column that nobody filled is left out.
fn table(section: &Section) -> String {
    let all = totals(std::slice::from_ref(section));
    let whole = section.has_all_times();
    let number = |v: Option<u64>| v.map_or("-".into(), grouped);
    type Cell<'a> = (&'a str, usize, Box<dyn Fn(&Row) -> Option<String> + 'a>);
    let columns: Vec<Cell> = vec![
        ("exit us", 9, Box::new(move |r| r.exit_latency_us.map(grouped))),
        ("pays us", 9, Box::new(move |r| r.target_residency_us.map(pays))),
        ("sleeps", 12, Box::new(move |r| r.sleeps.map(grouped))),
        ("time s", 12, Box::new(|r| r.time_ns.map(seconds))),
        ("share", 7, Box::new(move |r| r.time_ns.filter(|_| whole).map(|t| percent(t, all.time)))),
        ("too deep", 10, Box::new(|r| r.too_deep.map(grouped))),
        ("shallow", 10, Box::new(|r| r.too_shallow.map(grouped))),
    ];
    let used: Vec<&Cell> =
        columns.iter().filter(|c| section.states.iter().any(|r| (c.2)(r).is_some())).collect();
    let mut out = format!("{:<11}", "State");
    for c in &used {
        let _ = write!(out, "{:>w$}", c.0, w = c.1);
    }
    out.push('\n');
    for r in &section.states {
        let off = if r.disabled_on_cpus > 0 { "*" } else { "" };
        let _ = write!(out, "{:<11}", fit(&format!("{}{off}", name(r)), 10));
        for c in &used {
            let mut cell = (c.2)(r).unwrap_or_else(|| "-".into());
            // Billions have no room for their commas.
            if cell.len() >= c.1 {
                cell.retain(|c| c != ',');
            }
            let room = if cell.len() >= c.1 { cell.len() + 1 } else { c.1 };
            let _ = write!(out, "{cell:>room$}");
        }
        out.push('\n');
    }
    let off: Vec<String> = section
        .states
        .iter()
        .filter(|r| r.disabled_on_cpus > 0)
        .map(|r| match section.cpus.len() {
            1 => name(r),
            n => format!("{} on {} of {n} CPUs", name(r), r.disabled_on_cpus),
        })
        .collect();
    if !off.is_empty() {
        out += &wrap(&format!("* disabled: {}.", off.join(", ")));
    }
    for r in section.states.iter().filter(|r| r.rejected > Some(0)) {
        out += &wrap(&format!("{} was refused {} times.", name(r), number(r.rejected)));
    }
    out
}

/// One line for each doubt, named.
fn doubts(sections: &[Section]) -> String {
    let mut out = String::new();
    for s in sections {
        let name =
            |n: u32| s.states.iter().find(|r| r.state == n).map_or(format!("state {n}"), name);
        for d in &s.doubts {
            let text = match *d {
                Doubt::ResidencyBelowLatency { state } => format!(
                    "Impossible table: {} is said to pay before it can be left (target residency below exit latency).",
                    name(state)
                ),
                Doubt::LatencyOrder { shallow, deep } => format!(
                    "Impossible table: {} is deeper than {} and said to be quicker to leave.",
                    name(deep),
                    name(shallow)
                ),
                Doubt::ResidencyOrder { shallow, deep } => format!(
                    "Impossible table: {} is deeper than {} and said to pay earlier.",
                    name(deep),
                    name(shallow)
                ),
                Doubt::SameFigures { shallow, deep } => format!(
                    "{} and {} have the same figures: no governor can choose between them.",
                    name(shallow),
                    name(deep)
                ),
                Doubt::SameResidency { shallow, deep } => format!(
                    "{} and {} are said to pay from the same time on, though {} is the deeper one: \
                     that is no measurement, and {} is never the better choice.",
                    name(shallow),
                    name(deep),
                    name(deep),
                    name(shallow)
                ),
                Doubt::Multiple { factor } => format!(
                    "Target residencies are {factor} times the exit latencies: ACPI's rule, not measured. \
                     Too deep and too shallow are nominal."
                ),
            };
            out += &wrap(&text);
        }
    }
    out
}

/// What CPUs asked the firmware of Arm for.
fn asked(t: &Sleeps) -> String {
    if t.asked.is_empty() {
        return String::new();
    }
    let mut out = "\nFirmware state        Times      Mean us  In s2idle\n".to_string();
    for (state, a) in &t.asked {
        let mean = a.ns / i64::try_from(a.count).unwrap_or(i64::MAX).max(1);
        let _ = writeln!(
            out,
            "{:<14}{:>13}{:>13}{:>11}",
            format!("0x{state:08x}"),
            grouped(a.count),
            us(mean),
            grouped(a.s2idle)
        );
    }
    out + "One number is a CPU alone, another its cluster too: the device tree says which.\n"
}

fn trace(t: &Sleeps, top: usize) -> String {
    let sections = of_trace(t);
    let mut out = answer(&sections, false);
    let judged = if t.has_misses {
        "misses are the kernel's own events"
    } else if sections.iter().all(|s| s.states.iter().all(|r| r.target_residency_us.is_some())) {
        "misses are computed from time stamps around each sleep"
    } else {
        "no target residencies are known, so no sleep can be judged"
    };
    let span = t.tally.span.map_or(0, |(a, b)| b.saturating_sub(a).max(0).unsigned_abs());
    let count = t.tally.cpus.len();
    out += &wrap(&format!(
        "{} sleeps of {count} CPU{} in {} s, {}; {judged}.",
        grouped(t.tally.sleeps()),
        if count == 1 { "" } else { "s" },
        seconds(span),
        safe(t.name.rsplit('/').next().unwrap_or(&t.name))
    ));
    let cut: u64 = t.tally.cpus.values().map(|c| c.unbegun + u64::from(c.open.is_some())).sum();
    let overlaps: u64 = t.tally.cpus.values().map(|c| c.overlaps).sum();
    if overlaps > 0 {
        out += &wrap(&format!(
            "warning: {} sleeps have no end: events are missing. Enlarge the trace buffer.",
            grouped(overlaps)
        ));
    }
    let torn: u64 = t.tally.cpus.values().map(|c| c.torn).sum();
    if torn > 0 {
        out += &wrap(&format!(
            "warning: {} sleeps were open where the tracer lost events, and are left out.",
            grouped(torn)
        ));
    }
    for section in &sections {
        out.push('\n');
        if sections.len() > 1 {
            let _ = writeln!(out, "{}", cpus(&section.cpus));
        }
        out += &table(section);
    }
    out += "\nResidency          p50 us      p99 us\n";
    let mut rounded = false;
    for section in &sections {
        for r in &section.states {
            let Some((p50, p99)) = r.residencies else { continue };
            rounded |= !p50.exact || !p99.exact;
            let of = match sections.len() {
                1 => String::new(),
                _ => format!("  {}", cpus(&section.cpus)),
            };
            let _ =
                writeln!(out, "{:<13}{:>12}{:>12}{of}", fit(&name(r), 12), about(p50), about(p99));
        }
    }
    if rounded {
        out += "~: of more sleeps than are kept one by one; at most 2 % off.\n";
    }
    if let Some((p50, p99, max)) = t.tally.latency_paid() {
        out += &wrap(&format!(
            "Exit latency of the states entered: p50 {} us, p99 {} us, at most {} us.",
            us(p50),
            us(p99),
            us(max)
        ));
    }
    out += &best(t);
    out += &ticks(&t.tally.ticks);
    out += &together(t);
    out += &asked(t);
    if t.has_wakers {
        out += &wakers(t, top);
    }
    if cut > 0 {
        out += &wrap(&format!(
            "{} sleeps are cut by the start or the end of the trace and left out.",
            grouped(cut)
        ));
    }
    out
}

/// How many sleeps another state had served with less energy.
fn best(t: &Sleeps) -> String {
    let known: Vec<_> = t.tally.cpus.iter().filter(|c| t.tally.table(*c.0).is_some()).collect();
    let states = || known.iter().flat_map(|c| c.1.states.values());
    let (deep, shallow) = states().fold((0, 0), |n, s| (n.0 + s.too_deep, n.1 + s.too_shallow));
    if known.is_empty() {
        return String::new();
    }
    if deep + shallow == 0 {
        return "No choice of other states would have saved energy.\n".into();
    }
    wrap(&format!(
        "A choice that knows when the CPU is woken and saves most energy would be shallower for {} \
         sleeps and deeper for {}.",
        grouped(deep),
        grouped(shallow)
    ))
}

/// Ticks that were kept or stopped wrongly, if the trace says which were stopped.
fn ticks(t: &Ticks) -> String {
    if !t.known {
        return String::new();
    }
    let kept = match t.kept_wrongly {
        0 => "No tick ended a sleep for nothing".to_owned(),
        n => format!("Ticks ended {} sleeps for nothing: kept wrongly", grouped(n)),
    };
    let stopped = match t.stopped_wrongly() {
        Some((length, short)) => format!(
            "; of {} stops of the tick {} were shorter than a tick ({} us): stopped wrongly.",
            grouped(t.stopped),
            grouped(short),
            us(length)
        ),
        None => ".".into(),
    };
    wrap(&(kept + &stopped))
}

/// What woke CPUs, and what that cost.
fn wakers(t: &Sleeps, top: usize) -> String {
    let list = t.wakers();
    let sum = |list: &[Waker]| {
        list.iter().fold(Woken::default(), |mut sum, w| {
            sum.add(w.woken);
            sum
        })
    };
    let all = sum(&list);
    let sleeps = t.tally.sleeps();
    let costs = all.energy > 0;
    let mut out = String::from("\nWoken by (first after a sleep)     wake-ups   share");
    out += if costs { "   delay ms  energy\n" } else { "\n" };
    let mut line = |name: &str, w: Woken| {
        let _ = write!(
            out,
            "{:<32}{:>11}{:>8}",
            fit(name, 31),
            grouped(w.count),
            percent(w.count, sleeps)
        );
        if costs {
            let thousandth = |e: i128| u64::try_from(e / 1_000).unwrap_or(0);
            let part = percent(thousandth(w.energy), thousandth(all.energy).max(1));
            let _ = write!(out, "{:>11}{part:>8}", us(w.delay / 1_000));
        }
        out.push('\n');
    };
    for w in list.iter().take(top) {
        line(&safe(w.name.unwrap_or("nothing that was recorded")), w.woken);
    }
    if list.len() > top {
        line(&format!("{} others", list.len() - top), sum(&list[top..]));
    }
    if costs {
        out += &wrap(
            "delay: exit latencies, by the table; energy: share of what it costs to enter and \
             leave the states that were ended (power assumed).",
        );
    }
    out
}

/// What the hardware counted, beside what the trace says.
fn measured(t: &Sleeps, runs: &[Run]) -> String {
    let all = &t.tally.together;
    let [run] = runs else { return String::new() };
    let whole = !matches!(t.coverage(), Coverage::Part(_)) && all.cpus() > 1 && all.span() > 0;
    let Some(slept) = run.package_asleep().filter(|_| whole) else {
        return String::new();
    };
    let ns = |n: i64| n.max(0).unsigned_abs();
    wrap(&format!(
        "The CPUs of the trace slept at once for {} of it; turbostat counted {} in package states{}.",
        percent(ns(all.all), ns(all.span())),
        dormouse_idle::turbostat::percent(slept),
        if i128::from(slept) * i128::from(all.span()) < i128::from(all.all) * 90_000 {
            ": a device or firmware kept the package awake, or the sleeps were too short"
        } else {
            ""
        }
    ))
}

/// When all CPUs slept at once, and which of them prevented it.
fn together(t: &Sleeps) -> String {
    let all = &t.tally.together;
    if all.cpus() < 2 || all.span() == 0 {
        return String::new();
    }
    let ns = |n: i64| n.max(0).unsigned_abs();
    let (who, what_follows, of) = match t.coverage() {
        Coverage::Machine => (
            format!("All {} CPUs", all.cpus()),
            ": only then can the package sleep.".to_owned(),
            "most of all CPUs",
        ),
        Coverage::Part(n) => (
            format!("The {} CPUs of this excerpt", all.cpus()),
            format!(". The machine has {n} or more, so this says nothing of its package."),
            "most of these",
        ),
        Coverage::Unknown => (
            format!("The {} CPUs that are seen here", all.cpus()),
            ". Whether the machine has others the input does not say; a package sleeps only while \
             all its CPUs do."
                .into(),
            "most of these",
        ),
    };
    let mut text = format!(
        "{who} slept at once for {} s of the {} s of the trace ({}), {} times, {} us at \
         most{what_follows}",
        seconds(ns(all.all)),
        seconds(ns(all.span())),
        percent(ns(all.all), ns(all.span())),
        grouped(all.times),
        us(all.longest)
    );
    if let Some((cpu, time)) = all.preventer().filter(|p| p.1 > 0) {
        text += &format!(" CPU {cpu} alone was awake for {} s, {of}.", seconds(ns(time)));
    }
    wrap(&text)
}

/// The last line: what to do next.
fn follow(page: &Page) -> String {
    let known = page.traces.iter().any(|t| t.tally.latency_paid().is_some());
    let only_late = page.snapshots.is_empty() && page.runs.is_empty() && page.absent.is_empty();
    let text = if page.traces.is_empty() && only_late && !page.late.is_empty() {
        // Which settings of a machine may delay such threads.
        next_line("check --realtime")
    } else if page.traces.is_empty() {
        run("trace-cmd record -e cpu_idle -e cpu_idle_miss -e irq sleep 10")
    } else if !known {
        run("grep -r . /sys/devices/system/cpu/cpu*/cpuidle > states.txt")
    } else if page.traces.iter().all(|t| t.tally.sleeps() < PREDICTED) {
        next_line("record --with idle --for 10s -o idle.tar.gz")
    } else {
        // A trace does not say who decided, and a dump need not.
        let mut dumps = page.snapshots.iter().chain(page.difference);
        let said = dumps.any(|s| s.governor.as_deref().and_then(Kind::named).is_some());
        let from = if said { "" } else { " --from-governor menu" };
        next_line(&format!("predict {} --sweep limit{from}", page.input))
    };
    format!("\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::snapshot::{Counters, StateSeen};
    use std::collections::BTreeMap;

    fn snapshot(states: &[(&str, u64, u64, u64, u64, u64, u64)]) -> Snapshot {
        let seen = |&(name, latency, residency, usage, time, above, below): &_| {
            let name: &str = name;
            StateSeen {
                name: Some(name.into()),
                latency: Some(latency),
                residency: Some(residency),
                disabled: Some(name == "C1"),
                counters: Counters {
                    usage: Some(usage),
                    time: Some(time),
                    above: Some(above),
                    below: Some(below),
                    rejected: Some(0),
                    ..Counters::default()
                },
                ..StateSeen::default()
            }
        };
        let states: BTreeMap<u32, StateSeen> = (0..).zip(states.iter().map(seen)).collect();
        Snapshot {
            since_boot: true,
            label: "x".into(),
            driver: Some("acpi_idle".into()),
            cpus: BTreeMap::from([(0, states.clone()), (1, states)]),
            ..Snapshot::default()
        }
    }

    fn page(snapshots: &[Snapshot]) -> String {
        let losses = Losses::default();
        show(&Page {
            snapshots,
            difference: None,
            traces: &[],
            absent: &[],
            late: &[],
            late_beside: None,
            limits: &[],
            latencies: &[],
            runs: &[],
            beside: None,
            packed: &[],
            losses: &losses,
            top: 8,
            input: "x",
        })
    }

    #[test]
    fn the_answer_comes_first_and_the_next_command_last() {
        let s = snapshot(&[
            ("POLL", 0, 0, 10, 100, 0, 4),
            ("C1", 1, 2, 500, 40_000, 100, 20),
            ("C2", 400, 800, 1_000, 900_000, 600, 0),
        ]);
        let want = "\
C2 is too deep for 1,200 of its 2,000 sleeps (60 %): they ended before it paid.
Counters of 2 CPUs since boot, driver acpi_idle; misses are the kernel's own
  count.

State        exit us  pays us      sleeps      time s  share  too deep   shallow
POLL               0        0          20        0.00 <0.1 %         0         8
C1*                1        2       1,000        0.08    4 %       200        40
C2               400      800       2,000        1.80   96 %     1,200         0
* disabled: C1 on 2 of 2 CPUs.
Target residencies are 2 times the exit latencies: ACPI's rule, not measured.
  Too deep and too shallow are nominal.

Next: trace-cmd record -e cpu_idle -e cpu_idle_miss -e irq sleep 10
";
        assert_eq!(page(&[s]), want);
    }

    #[test]
    fn an_impossible_table_is_named() {
        let s = snapshot(&[("C1", 2, 1, 5, 5, 0, 0), ("C6", 1, 0, 5, 5, 0, 0)]);
        let text = page(&[s]);
        for words in [
            "Impossible table: C1 is said to pay before it can be left",
            "Impossible table: C6 is deeper than C1 and said to be quicker to leave.",
            "Impossible table: C6 is deeper than C1 and said to pay earlier.",
        ] {
            assert!(text.replace("\n  ", " ").contains(words), "{words}\n{text}");
        }
        assert!(text.lines().all(|l| l.chars().count() <= crate::text::WIDTH), "{text}");
    }
}
