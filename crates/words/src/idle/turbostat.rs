//! What `dormouse idle show` prints of turbostat's tables.

use super::show::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::turbostat::{NotTold, Run, watts};
use std::fmt::Write as _;

/// Thousandths of a per cent as `12.3 %`; a little is not nothing.
pub(super) fn percent(thousandths: i64) -> String {
    if (1..50).contains(&thousandths) {
        return "<0.1 %".into();
    }
    let tenths = (thousandths.max(0) + 50) / 100;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// One run.
pub fn text(r: &Run) -> String {
    let n = r.intervals.len();
    let package: Vec<(&str, i64)> =
        r.package_states().into_iter().filter_map(|c| Some((c, r.mean(c)?))).collect();
    let deepest = package.iter().rfind(|p| p.1 > 0);
    let mut out = wrap(&match (deepest, package.is_empty()) {
        (Some((name, share)), _) => format!(
            "The deepest package state reached is {name}, for {} of the time{}.",
            percent(*share),
            r.mean("PkgWatt").map_or(String::new(), |w| format!(", at {} W", two(w)))
        ),
        (None, false) => {
            "The package never slept: some core was always awake, or firmware forbids it.".into()
        }
        (None, true) => match r.mean("Busy%") {
            Some(busy) => format!(
                "CPUs worked for {} of the time; no package states are measured.",
                percent(busy)
            ),
            None => "This table says neither work nor package states.".into(),
        },
    });
    out += &wrap(&format!(
        "{n} interval{} of turbostat, {}; shares are means over all CPUs, measured by hardware where a \
         name has %c or %pc.",
        if n == 1 { "" } else { "s" },
        safe(r.label.rsplit('/').next().unwrap_or(&r.label))
    ));
    if let (Some(slept), Some((cpu, busy))) = (r.package_asleep(), r.busiest()) {
        out += &wrap(&format!(
            "CPU {cpu} worked most, for {}: the package could sleep for {} of the time at most, and \
             did for {}.",
            percent(busy),
            percent(100_000 - busy),
            percent(slept)
        ));
    }
    let _ = writeln!(out, "\n{:<14}{:>10}{:>14}", "State", "share", "entries");
    let mut row = |name: &str, share: i64, entries: Option<i64>| {
        let entries = entries.map_or("-".into(), |e| grouped(e.max(0).unsigned_abs()));
        let _ = writeln!(out, "{:<14}{:>10}{entries:>14}", fit(name, 13), percent(share));
    };
    if let Some(busy) = r.mean("Busy%") {
        row("work", busy, None);
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
    for (c, share) in package {
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
