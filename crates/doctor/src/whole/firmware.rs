//! What a firmware says that it took, as part of the sleep that it is of.
//!
//! `/sys/firmware/acpi/fpdt` tells of the last sleep to memory alone (ACPI 6.5, 5.2.24.5; both
//! records are of S3), so a value is of the last such sleep that stands before it. pm-graph
//! writes the same above a recording: that is of the first one behind it.

use super::{Firmware, Mark, Row, WholeWay};
use crate::case::Case;
use crate::way::{Step, Table};
use dormouse_base::time::Ns;

/// The sleeps of a text, with what it has of their firmware.
pub(crate) fn ways(case: &Case) -> Vec<WholeWay> {
    let mut ways = super::of(case);
    if !case.way.marks.is_empty() {
        attach(case, &mut ways);
    }
    ways
}

fn attach(case: &Case, ways: &mut [WholeWay]) {
    let steps = &case.way.steps;
    for (took_ns, line) in read_after(case) {
        let before = |w: &&mut WholeWay| until_back(w).is_some_and(|r| r.line < line);
        let Some(way) = ways.iter_mut().rev().find(before) else { continue };
        // A sleep that has no rows may have come in between.
        let back = until_back(way).map_or(0, |r| r.line);
        let other =
            |s: &Step| (back + 1..line).contains(&s.line) && Mark::of(s) == Some(Mark::Kernel);
        if !steps.iter().any(other) {
            give(steps, way, took_ns, line);
        }
    }
    let above: Vec<_> = case.way.marks.iter().filter(|m| m.of == Table::Above).collect();
    for pair in above.chunks(2) {
        let (line, took) = (pair[0].line, pair.iter().map(|m| Ns(m.ns)).sum());
        let next = above.iter().map(|m| m.line).find(|l| *l > line).unwrap_or(u64::MAX);
        let behind = |w: &&mut WholeWay| (line..next).contains(&w.line);
        if let Some(way) = ways.iter_mut().find(behind) {
            give(steps, way, took, line);
        }
    }
}

/// The values of each reading of the files, and its last line: a name that comes again begins
/// another.
fn read_after(case: &Case) -> Vec<(Ns, u64)> {
    let mut out = Vec::new();
    let mut of: Vec<&crate::way::Mark> = Vec::new();
    let mut put = |of: &mut Vec<&crate::way::Mark>| {
        let value = |name: &str| of.iter().find(|m| m.name == name).map(|m| m.ns);
        let down = value("suspend_end_ns").zip(value("suspend_start_ns")).map(|(b, a)| b - a);
        // Without the way up it is no time of a sleep.
        if let Some(up) = value("resume_prev_ns").filter(|up| *up > 0) {
            let line = of.last().map_or(0, |m| m.line);
            out.push((Ns(up.saturating_add(down.unwrap_or(0).max(0))), line));
        }
        of.clear();
    };
    for m in case.way.marks.iter().filter(|m| m.of == Table::Sleep) {
        if of.iter().any(|x| x.name == m.name) {
            put(&mut of);
        }
        of.push(m);
    }
    put(&mut of);
    out
}

fn until_back(way: &WholeWay) -> Option<&Row> {
    way.rows.iter().find(|r| r.until == Mark::Back)
}

/// Only a sleep to memory goes through a firmware, and none takes longer than its row.
fn give(steps: &[Step], way: &mut WholeWay, took_ns: Ns, line: u64) {
    let Some(back) = until_back(way).map(|r| r.line) else { return };
    let mut mine = steps.iter().filter(|s| (way.line..=back).contains(&s.line));
    let deep = mine.any(|s| s.text.contains("suspend entry (deep)"));
    let inside = steps.iter().any(|s| s.line == back && s.wall);
    let grain = way.grain_ns;
    let row = way.rows.iter_mut().find(|r| r.until == Mark::Back);
    let fits = |r: &Row| !inside || took_ns.0 <= r.took_ns.0.saturating_add(grain.0);
    if let Some(row) = row.filter(|r| deep && fits(r)) {
        row.firmware = Some(Firmware { took_ns, inside, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::{self, Kind};

    /// Sleeps of ten minutes each, with values of a firmware behind the lines that are named.
    fn firmware(entry: &str, values: &[(u64, &str, i64)], wall: bool) -> Vec<Option<Firmware>> {
        let mut case = Case::new(Vec::new(), &[]);
        for night in 0..2_u64 {
            let all = [
                (0, Kind::Entry, entry),
                (60_000, Kind::Back, "PM: suspend exit"),
                (60_400, Kind::Ended, "Finished systemd-suspend.service"),
            ];
            for (i, (ms, kind, text)) in (1..).zip(all) {
                let ms = ms + night as i64 * 600_000;
                let (line, text) = (night * 100 + i * 10, text.into());
                case.way.steps.push(Step { line, text, ms, grain: 1, run: 0, wall, kind });
            }
        }
        for (line, name, ns) in values {
            let of = if name.starts_with("fw") { Table::Above } else { Table::Sleep };
            let (name, text) = ((*name).into(), String::new());
            case.way.marks.push(way::Mark { line: *line, text, name, ns: *ns, of });
        }
        let all = ways(&case);
        all.iter().map(|w| until_back(w).and_then(|r| r.firmware.clone())).collect()
    }

    const DEEP: &str = "PM: suspend entry (deep)";

    #[test]
    fn a_value_is_of_the_last_sleep_to_memory_before_it() {
        let up = |line| (line, "resume_prev_ns", 800_000_000);
        let part =
            |line, ms: i64, inside| Some(Firmware { took_ns: Ns(ms * 1_000_000), inside, line });
        assert_eq!(firmware(DEEP, &[up(90)], true), [part(90, 800, true), None]);
        let down = [(140, "suspend_start_ns", 5), (141, "suspend_end_ns", 20_000_005)];
        let all = [&down[..], &[up(142)]].concat();
        assert_eq!(firmware(DEEP, &all, true), [None, part(142, 820, true)]);
        assert_eq!(
            firmware(DEEP, &[up(90), up(140)], false),
            [part(90, 800, false), part(140, 800, false)]
        );
        // Before any sleep, of suspend to idle, and of more than the row it is of none.
        assert_eq!(firmware(DEEP, &[up(5)], true), [None, None]);
        assert_eq!(firmware("PM: suspend entry (s2idle)", &[up(140)], true), [None, None]);
        let long = (140, "resume_prev_ns", 90_000_000_000);
        assert_eq!(firmware(DEEP, &[long], true), [None, None]);
        let above = [(1, "fwsuspend", 10_000_000), (1, "fwresume", 500_000_000)];
        assert_eq!(firmware(DEEP, &above, true), [part(1, 510, true), None]);
    }
}
