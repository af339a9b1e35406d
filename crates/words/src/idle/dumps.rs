//! What is said of several dumps: a line a machine, and why two have no difference.

use super::numbers::percent;
use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::number::grouped;
use dormouse_idle::doubt::Doubt;
use dormouse_idle::fault::listed;
use dormouse_idle::section::{Section, of_snapshot, totals};
use dormouse_idle::snapshot::{NotAPair, Snapshot};
use std::fmt::Write as _;

/// One line a machine.
pub(super) fn list(snapshots: &[Snapshot]) -> String {
    let all: Vec<Vec<Section>> = snapshots.iter().map(of_snapshot).collect();
    let sums: Vec<_> = all.iter().map(|s| totals(s)).collect();
    let missed = |i: usize| sums[i].too_deep + sums[i].too_shallow;
    let worst = (0..snapshots.len())
        .filter(|&i| sums[i].sleeps > 0)
        .max_by_key(|&i| (u128::from(missed(i)) * 1_000_000 / u128::from(sums[i].sleeps), i));
    let mut out = match worst {
        Some(i) => wrap(&format!(
            "Of {} machines, {} has the largest share of sleeps in a wrong state: {} of {}.",
            snapshots.len(),
            safe(&snapshots[i].label),
            percent(missed(i), sums[i].sleeps),
            grouped(sums[i].sleeps)
        )),
        None => wrap("No machine here counts its sleeps."),
    };
    let when = match snapshots.iter().all(|s| s.since_boot) {
        true => "since boot",
        false => "(since when is not said)",
    };
    let _ = writeln!(out, "Counters {when}; misses are the kernel's own count.\n");
    let _ = writeln!(
        out,
        "{:<31}{:>16}{:>10}{:>10}  Table",
        "Machine", "sleeps", "too deep", "shallow"
    );
    for (i, s) in snapshots.iter().enumerate() {
        let t = sums[i];
        let doubtful = all[i].iter().flat_map(|s| &s.doubts).count();
        let impossible = all[i].iter().flat_map(|s| &s.doubts).any(|d| {
            !matches!(
                d,
                Doubt::Multiple { .. } | Doubt::SameFigures { .. } | Doubt::SameResidency { .. }
            )
        });
        let word = match (impossible, doubtful) {
            (true, _) => "impossible",
            (false, 0) => "",
            _ => "nominal",
        };
        let line = format!(
            "{:<31}{:>16}{:>10}{:>10}  {word}",
            fit(&safe(&s.label), 30),
            grouped(t.sleeps),
            percent(t.too_deep, t.sleeps),
            percent(t.too_shallow, t.sleeps)
        );
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Why two dumps have no difference, if both count, and which states only one of them lists.
pub(super) fn apart(before: &Snapshot, after: &Snapshot) -> Option<String> {
    let told = listed(before, after).map(|f| wrap(&safe(&f.sentence)));
    let why = match after.since(before) {
        Ok(_) => {
            "counters of the second are smaller, so it is the earlier one, or of another boot or machine"
        }
        Err(NotAPair::Driver(..)) => "they name different drivers",
        Err(NotAPair::NoCommonCpu) => "no CPU is in both",
        Err(NotAPair::Table(_)) if told.is_none() => {
            "their states have different names, so they are of two machines"
        }
        Err(NotAPair::Table(_) | NotAPair::States) => {
            "one lists states that the other does not, as of two boots or machines"
        }
        Err(NotAPair::NoCounters) => return told,
    };
    let why = wrap(&format!("No difference is made of the two dumps: {why}."));
    Some(told.unwrap_or_default() + &why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::snapshot::{Counters, StateSeen};
    use std::collections::BTreeMap;

    #[test]
    fn what_one_list_alone_has_is_said() {
        let dump = |names: &[&str], usage: u64| {
            let counters = Counters { usage: Some(usage), ..Counters::default() };
            let state =
                |n: &&str| StateSeen { name: Some((*n).into()), counters, ..StateSeen::default() };
            let states = (0..).zip(names.iter().map(state)).collect();
            Snapshot { cpus: BTreeMap::from([(0, states)]), ..Snapshot::default() }
        };
        let said = apart(&dump(&["POLL", "ELM1"], 9), &dump(&["POLL", "ELM1", "ELM6"], 90));
        let said = said.expect("they differ");
        assert!(
            said.starts_with("The second dump lists ELM6, the first does not.\nNo difference"),
            "{said}"
        );
        let grown = apart(&dump(&["POLL", "ELM1"], 90), &dump(&["POLL", "ELM1"], 9));
        assert!(grown.is_some_and(|s| s.contains("counters of the second are smaller")));
    }
}
