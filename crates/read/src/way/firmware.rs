//! Marks of a firmware: `cbmem -t` (coreboot, util/cbmem) in us, FPDT
//! (drivers/acpi/acpi_fpdt.c, 5.12) in ns, also as pm-graph writes it above a recording.

use super::shown::shown;
use dormouse_doctor::way::{Mark, Table};

pub(super) fn read(text: &str) -> Vec<Mark> {
    let mut out = Vec::new();
    if !["timestamp", "FPDT", "_ns", "fwresume"].iter().any(|w| text.contains(w)) {
        return out;
    }
    for (line, raw) in (1..).zip(text.lines()) {
        let words = raw.trim_start_matches(['>', ' ', '\t', '`', '|']);
        let above = words.strip_prefix('#').map(str::trim).map(str::as_bytes);
        if let Some((down, up)) = above.and_then(crate::pmgraph::firmware) {
            let of = |(name, ns): (&str, i64)| {
                let (name, text) = (name.into(), shown(raw));
                Mark { line, text, name, ns, of: Table::Above }
            };
            out.extend([("fwsuspend", down.0), ("fwresume", up.0)].map(of));
            continue;
        }
        let found = cbmem(words)
            .map(|(name, ns)| (name, ns, Table::Cbmem))
            .or_else(|| fpdt(words).map(|(name, ns)| (name, ns, Table::Fpdt)))
            .or_else(|| sysfs(words).map(|(name, ns)| (name, ns, Table::Sleep)));
        if let Some((name, ns, of)) = found {
            out.push(Mark { line, text: shown(raw), name, ns, of });
        }
    }
    out
}

/// `   3:after ram initialization      89,931,234 (89,856,887)`: how long it took.
fn cbmem(line: &str) -> Option<(String, i64)> {
    let (id, rest) = line.split_once(':')?;
    id.trim().parse::<u32>().ok()?;
    let (rest, took) = rest.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let (name, at) = rest.trim_end().rsplit_once(char::is_whitespace)?;
    let number = |t: &str| t.replace(',', "").parse::<i64>().ok();
    number(at)?;
    let name = name.trim();
    (!name.is_empty()).then_some(())?;
    Some((name.into(), number(took)?.checked_mul(1_000)?))
}

/// `FPDT: Boot Performance - ResetEnd  = 68719476758`.
fn fpdt(line: &str) -> Option<(String, i64)> {
    let (name, value) = line.split_once("FPDT:")?.1.split_once('=')?;
    let name = name.rsplit(" - ").next()?.trim();
    Some((name.into(), value.trim().parse().ok()?))
}

/// Names of the folders `suspend` and `resume` of /sys/firmware/acpi/fpdt.
const NAMES: [&str; 4] = ["suspend_start_ns", "suspend_end_ns", "resume_prev_ns", "resume_avg_ns"];

/// `…/fpdt/resume/resume_prev_ns:1234`, `resume_prev_ns 1234`.
fn sysfs(line: &str) -> Option<(String, i64)> {
    let name = NAMES.iter().find(|n| line.contains(**n))?;
    let rest = line.split_once(*name)?.1.trim_start_matches([':', '=', ' ', '\t', '|', '*', '`']);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(((*name).into(), digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_firmware_have_the_units_of_their_tables() {
        let text = "> 4 entries total:\n>    0:1st timestamp      1,100\n\
            >   3:after ram initialization   31,200,350 (31,190,007)\n\
            FPDT: Boot Performance - ResetEnd     = 77\n\
            /sys/firmware/acpi/fpdt/resume/resume_prev_ns:812000000\n\
            # fwsuspend 31000000 fwresume 1204000000\n";
        let all = read(text);
        let short: Vec<_> = all.iter().map(|m| (m.name.as_str(), m.ns, m.line)).collect();
        assert_eq!(
            short,
            [
                ("after ram initialization", 31_190_007_000, 3),
                ("ResetEnd", 77, 4),
                ("resume_prev_ns", 812_000_000, 5),
                ("fwsuspend", 31_000_000, 6),
                ("fwresume", 1_204_000_000, 6)
            ]
        );
    }
}
