//! What `dormouse show --only idle` prints of turbostat's tables.

use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::beside::Beside;
use dormouse_idle::fault::contradicted;
use dormouse_idle::turbostat::{KeptUp, NotTold, Odd, Run, Unentered, percent, watts};
use std::fmt::Write as _;

/// The first line: how deep the package slept, or how much CPUs worked.
fn answer(r: &Run) -> String {
    let package: Vec<(&str, i64)> =
        r.package_states().into_iter().filter_map(|c| Some((c, r.mean(c)?))).collect();
    let at = r.power().map_or(String::new(), |w| format!(", at {} W", two(w)));
    // Deeper than any package state: all of the system, as the firmware counts it (LPIT).
    if let Some(share) = r.mean("SYS%LPI").filter(|s| *s > 0) {
        return format!(
            "The whole system was idle (SYS%LPI, S0ix) for {} of the time{at}.",
            percent(share)
        );
    }
    let deepest = package.iter().rfind(|p| p.1 > 0);
    if r.is_cut() {
        let shown = deepest.map_or("none was reached".into(), |(name, share)| {
            format!("{name} is the deepest, for {} of the time{at}", percent(*share))
        });
        return format!(
            "The table breaks off before its last package states: of those that it shows {shown}."
        );
    }
    match (deepest, package.is_empty()) {
        (Some((name, share)), _) => format!(
            "The deepest package state reached is {name}, for {} of the time{at}.",
            percent(*share)
        ),
        (None, _) if r.cannot.keys().any(|c| c.starts_with("Pk")) => {
            let column = r.cannot.keys().find(|c| c.starts_with("Pk")).map_or("", |c| c);
            format!(
                "Which package states were reached{at} is not known: {column} says what cannot be."
            )
        }
        (None, false) => {
            format!("No package state that this table has was reached{at}: {}.", kept_up(r))
        }
        (None, true) if r.contradicted().is_some() => "No package states are measured.".into(),
        (None, true) => match r.work() {
            Some(work) => format!(
                "CPUs worked for {} of the time{at}; no package states are measured.",
                percent(work)
            ),
            None => {
                let shares = r.states().into_iter().filter_map(|c| Some((c, r.mean(c)?)));
                match shares.max_by_key(|s| s.1) {
                    Some((c, share)) => format!(
                        "CPUs were in {} for {} of the time; neither work nor package states are \
                         measured.",
                        safe(c.trim_end_matches('%')),
                        percent(share)
                    ),
                    None => "This table says neither work nor package states.".into(),
                }
            }
        },
    }
}

/// That hardware stays shallower than the kernel asks: what it does is the answer then.
fn not_followed(r: &Run) -> Option<String> {
    let n = r.not_followed()?;
    let counted = n.counted.iter().map(|(c, s)| format!("{} {}", safe(c), percent(*s)));
    Some(format!(
        "The kernel asks for {} for {} of the time, and hardware is that deep for {} ({}). ",
        safe(&n.asked.0),
        percent(n.asked.1),
        percent(n.deep()),
        counted.collect::<Vec<_>>().join(", ")
    ))
}

/// The CPU that the means below hide.
fn odd(r: &Run) -> String {
    let Some(Odd { cpu, own, others: (state, [its, least]) }) = r.odd() else {
        return String::new();
    };
    wrap(&format!(
        "CPU {cpu} alone was in {} for {} of the time and in {} for {}; each other CPU was in that \
         for {} or more.",
        safe(&own.0),
        percent(own.1),
        safe(&state),
        percent(its),
        percent(least)
    ))
}

/// The state that nobody entered though CPUs were idle, and what the text says that may keep
/// them from it.
fn unentered(r: &Run, limits: &[(u64, String)]) -> String {
    let Some(Unentered { used, next, idlest: who }) = r.unentered() else { return String::new() };
    let whose = match who {
        Some((cpu, idle)) => format!("CPU {cpu}, idle for {},", percent(idle)),
        None => "No CPU".into(),
    };
    let was = if who.is_some() { "was in nothing" } else { "was in anything" };
    let mut out = wrap(&format!(
        "{whose} {was} deeper than {}, though the table has {}; why, it does not say.",
        safe(&used),
        safe(&next)
    ));
    // The likely one is told by itself.
    let likely = r.likely_limit(limits).map(|l| l.0.0);
    for (line, text) in limits.iter().filter(|l| Some(l.0) != likely).take(2) {
        out += &wrap(&format!("Line {line} names a limit: {}", safe(text)));
    }
    out
}

/// The line whose setting is the likely reason that CPUs stayed shallow.
fn likely(r: &Run, limits: &[(u64, String)]) -> String {
    let up = r.package_states().iter().all(|c| r.mean(c).unwrap_or(0) == 0);
    match r.likely_limit(limits).filter(|_| up) {
        Some(((line, text), setting)) => wrap(&format!(
            "The likely reason (a guess) is {}, which keeps CPUs in C1 or above; line {line} names \
             it: {}",
            safe(&setting),
            safe(text)
        )),
        None => String::new(),
    }
}

/// CPUs that work for this share leave no time to sleep, thousandths of a per cent.
const ALL: i64 = 95_000;

/// What the table shows of a package that never slept.
fn kept_up(r: &Run) -> String {
    let busy = r.busy();
    if let Some(work) = busy.filter(|w| *w >= ALL) {
        return format!(
            "CPUs were busy for {} of the time, and a package sleeps only while all of them idle",
            percent(work)
        );
    }
    let busy = busy
        .map_or(String::new(), |w| format!("CPUs were busy for {} of the time, and ", percent(w)));
    busy + &match r.kept_up() {
        KeptUp::Core(share) => format!("some core was awake for {} of the time", percent(share)),
        KeptUp::Busy(cpu, share) => format!(
            "CPU {cpu} was busy for {} of the time, and a package sleeps only while all of them idle",
            percent(share)
        ),
        KeptUp::Shallow(name) => format!("no CPU was in a state deeper than {}", safe(&name)),
        KeptUp::Odd(o) => {
            format!("CPU {} alone was in no state deeper than {}", o.cpu, safe(&o.own.0))
        }
        KeptUp::Unknown => {
            "what kept it awake, a core, a device or firmware, the table does not say".into()
        }
    }
}

/// What of the table could not be read, or cannot be.
fn doubts(r: &Run) -> String {
    let mut out = String::new();
    let left_out = match (r.lost, r.cut) {
        (0, false) => None,
        (0, true) => Some("Lines of this table were left out".into()),
        (n, cut) => Some(format!(
            "{} line{} of this table could not be read{}",
            grouped(n),
            if n == 1 { "" } else { "s" },
            if cut { ", and others were left out" } else { "" }
        )),
    };
    if let Some(text) = left_out {
        out += &wrap(&format!("{text}, so nothing is claimed of the CPU that was awake most."));
    }
    for (column, most) in &r.cannot {
        out += &wrap(&format!(
            "{} says {}, which no share of time can be: such cells are left out.",
            safe(column),
            percent(*most)
        ));
    }
    let silent = r.not_reported();
    if !silent.is_empty() {
        out += &wrap(&format!(
            "{} never counted anything: such power is not reported here, and is not known.",
            silent.join(", ")
        ));
    }
    out
}

/// One run.
pub(super) fn text(r: &Run, limits: &[(u64, String)], of_cpus: Option<&str>) -> String {
    let n = r.intervals.len();
    let package: Vec<(&str, i64)> =
        r.package_states().into_iter().filter_map(|c| Some((c, r.mean(c)?))).collect();
    // What the kernel asked for is no answer where hardware did something else.
    let words = r.powertop.as_ref().map_or(String::new(), super::powertop::text);
    if r.columns.is_empty() && !words.is_empty() {
        return words;
    }
    let measured = r.work().is_some() || !r.package_states().is_empty();
    let first = not_followed(r).or_else(|| Some(contradicted(r)?.sentence + " "));
    let second = if measured || first.is_none() { answer(r) } else { String::new() };
    // Of several machines each answer names its own.
    let whose = match (&r.host, &r.caption) {
        (Some(h), Some(c)) if c.starts_with(h.as_str()) => format!("{}: ", safe(h)),
        _ => String::new(),
    };
    let mut out = wrap(&(whose + &first.unwrap_or_default() + &second));
    out += &odd(r);
    out += of_cpus.unwrap_or_default();
    out += &likely(r, limits);
    out += &unentered(r, limits);
    out += &words;
    let of_powertop = r.powertop.is_some();
    out += &wrap(&format!(
        "{n} interval{} of {}, {}{}; shares are {}.",
        if n == 1 { "" } else { "s" },
        match r.kernel.is_empty() {
            true if of_powertop => "powertop",
            true => "turbostat",
            false => "cpupower monitor",
        },
        safe(r.label.rsplit('/').next().unwrap_or(&r.label)),
        r.caption.as_ref().map_or(String::new(), |c| format!(", \"{}\"", safe(c))),
        // turbostat says the machine's mean itself.
        match r.kernel.is_empty() || r.lost == 0 && !r.cut {
            true if of_powertop => "those that the kernel counts",
            true => "means over all CPUs, measured by hardware where a name has %c or %pc",
            false => "means over the CPUs shown, measured by hardware where a name has %c or %pc",
        }
    ));
    out += &doubts(r);
    if let (Some(slept), Some(busy)) = (r.package_asleep(), r.some_core()) {
        out += &wrap(&format!(
            "At least one core was awake for {} of the time (Any%C0): the package could sleep for \
             {} of it at most, and did for {}.",
            percent(busy),
            percent(100_000 - busy),
            percent(slept)
        ));
    } else if let (Some(slept), Some((cpu, busy))) = (r.package_asleep(), r.busiest()) {
        out += &wrap(&format!(
            "CPU {cpu} was awake most, for {}: the package could sleep for {} of the time at most, \
             and did for {}.",
            percent(busy),
            percent(100_000 - busy),
            percent(slept)
        ));
    }
    let smis = r.intervals.iter().filter_map(|i| i.machine.get("SMI"));
    let smis = smis.fold(0i64, |sum, n| sum.saturating_add(*n)) / 1_000;
    if smis > 0 {
        out += &wrap(&format!(
            "Firmware interrupted CPUs {} times, added up over all of them (SMI): no kernel can \
             prevent that, and each wakes what sleeps.",
            grouped(smis.unsigned_abs())
        ));
    }
    if let Some(poll) = r.polled().filter(|p| *p > 0) {
        out += &wrap(&format!(
            "CPUs polled for {} of the time{}: they waited in a loop, ready at once, and did no work.",
            percent(poll),
            // turbostat.c:format_counters: Busy% is all but the idle states of the hardware.
            match r.work() {
                Some(_) => ", which Busy% counts and the share of work does not",
                None => "",
            }
        ));
    }
    let _ = writeln!(out, "\n{:<14}{:>10}{:>14}", "State", "share", "entries");
    let mut row = |name: &str, share: i64, entries: Option<i64>| {
        let entries = entries.map_or("-".into(), |e| grouped(e.max(0).unsigned_abs()));
        let _ = writeln!(out, "{:<14}{:>10}{entries:>14}", fit(name, 13), percent(share));
    };
    if let Some(work) = r.work() {
        row("work", work, None);
    }
    for c in r.states() {
        if let Some(share) = r.mean(c) {
            row(c.trim_end_matches('%'), share, r.sum(c.trim_end_matches('%')));
        }
    }
    for c in r.columns.iter().filter(|c| c.starts_with("CPU%c")) {
        if let Some(share) = r.mean(c) {
            row(c, share, None);
        }
    }
    let platform = r.platform_states().into_iter().filter_map(|c| Some((c, r.mean(c)?)));
    for (c, share) in package.into_iter().chain(platform) {
        row(c, share, None);
    }
    out + &power(r)
}

/// Thousandths with two places.
fn two(thousandths: i64) -> String {
    let hundredths = (thousandths.max(0) + 5) / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Power by state, or why it cannot be told.
fn power(r: &Run) -> String {
    let why = match watts(r) {
        Ok(t) => {
            let list: Vec<String> = t
                .watts
                .iter()
                .map(|(c, w)| {
                    let name = if c == "Busy%" { "work" } else { c.trim_end_matches('%') };
                    format!("{} {w:.2}", safe(name))
                })
                .collect();
            return wrap(&format!(
                "Watts of the package with all CPUs in one state, by least squares: {}. Intervals \
                 that were not fitted on are off by {:.3} W (by {:.3} W if the mean of the others is \
                 taken).",
                list.join(", "),
                t.error,
                t.error_of_mean
            ));
        }
        Err(NotTold::NoColumns) => return String::new(),
        Err(NotTold::TooFew) => "there are fewer intervals than twice the unknowns",
        Err(NotTold::NoVariation) => {
            "the shares of states stay within 5 points, or change together"
        }
        Err(NotTold::NoBetterThanMean) => {
            "on intervals that were not fitted on, the mean of the others is no worse"
        }
        Err(NotTold::Nonsense) => "a deeper state would need more than a shallower one",
    };
    wrap(&format!("Watts per state cannot be told from this recording: {why}."))
}

/// Two measurements, and what changed most.
pub fn beside(b: &Beside) -> String {
    let mut out = String::new();
    let file = |l: &str| safe(l.rsplit('/').next().unwrap_or(l)).into_owned();
    let points = |n: i64| {
        let sign = if n < 0 { "-" } else { "+" };
        let hundredths = (n.unsigned_abs() + 5) / 10;
        format!("{sign}{}.{:02} points", hundredths / 100, hundredths % 100)
    };
    let cell = |n: i64| format!("{} %", two(n));
    let first = b.moved.first().filter(|m| m.change() != 0);
    let apart = b.of_two_writers || b.of_two_machines;
    let power = b.power.filter(|_| !apart).map_or(String::new(), |[was, is]| {
        format!(" Power of the package: {} -> {} W.", two(was), two(is))
    });
    if b.of_two_writers {
        out += &wrap(
            "One of these tables stands in a quote and the other does not: two people may have \
             measured two machines, so they are no before and after.",
        );
    }
    out += &wrap(&match first {
        Some(m) if b.of_two_machines => {
            let power = b.power.map_or(String::new(), |[a, z]| {
                format!(" Power of the packages: {} and {} W.", two(a), two(z))
            });
            format!(
                "{} and {} differ most in {}: {} and {} of the time.{power}",
                file(&b.labels[0]),
                file(&b.labels[1]),
                safe(&m.name),
                cell(m.shares[0]),
                cell(m.shares[1])
            )
        }
        Some(m) if b.of_two_writers || b.of_two_tables => {
            format!(
                "They differ most in {}: {} and {}.",
                safe(&m.name),
                cell(m.shares[0]),
                cell(m.shares[1])
            )
        }
        Some(m) => format!(
            "What changed most is {}: {} -> {} of the time ({}).{power}",
            safe(&m.name),
            cell(m.shares[0]),
            cell(m.shares[1]),
            points(m.change())
        ),
        None if apart => "No share of time differs.".into(),
        None => format!("No share of time changed.{power}"),
    });
    out += &wrap(&format!(
        "\"{}\" beside \"{}\": two {} once; whether they differ by chance they do not say.",
        file(&b.labels[0]),
        file(&b.labels[1]),
        if b.of_two_machines {
            "machines by their prompts, each measured"
        } else {
            "measurements, each"
        }
    ));
    if let Some(work) = b.load() {
        out += &wrap(&format!(
            "CPUs worked for {} and {} of the time: other states may follow from that alone.",
            cell(work.shares[0]),
            cell(work.shares[1])
        ));
    } else if let Some(core) = b.not_by_cpus().filter(|_| !b.of_two_machines) {
        out += &wrap(&format!(
            "CPUs slept alike ({} {} and {}): what keeps the package is none of them.",
            safe(&core.name),
            cell(core.shares[0]),
            cell(core.shares[1])
        ));
    }
    let (names, last) = match b.of_two_machines {
        true => {
            (b.labels.each_ref().map(|l| fit(&file(l), 11).trim_end().to_owned()), "difference")
        }
        false => (["first", "second"].map(String::from), "change"),
    };
    let [one, other] = names;
    let _ = writeln!(out, "\n{:<14}{one:>12}{other:>12}{last:>16}", "State");
    for m in &b.moved {
        let name = fit(&m.name, 13);
        let [was, is] = m.shares.map(cell);
        let _ = writeln!(out, "{name:<14}{was:>12}{is:>12}{:>16}", points(m.change()));
    }
    if !b.alone.is_empty() {
        let names: Vec<String> = b.alone.iter().map(|n| safe(n).into_owned()).collect();
        out += &wrap(&format!("In one of them alone: {}.", names.join(", ")));
    }
    out
}
