//! The table of idle states that powertop 2.x shows: states of the package, of cores and of CPUs in
//! three columns, a block a core (src/cpu/cpu.cpp:show_data_states, report_display_cpu_cstates). It
//! is the same measurement as a table of turbostat, and is judged as one.

use super::column::thousandths;
use crate::grams::Asked;
use dormouse_idle::powertop::Powertop;
use dormouse_idle::turbostat::{Interval, Row, Run};
use std::collections::BTreeMap;

/// Columns with the sum of their shares and how many there were.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    sums: BTreeMap<String, (i64, i64)>,
    cut: bool,
}

impl Table {
    fn take(&mut self, column: String, shares: impl Iterator<Item = i64>) {
        for share in shares {
            let (sum, count) = self.sums.entry(column.clone()).or_insert_with(|| {
                self.columns.push(column.clone());
                (0, 0)
            });
            *sum = sum.saturating_add(share);
            *count += 1;
        }
    }

    fn end(self, name: &str, out: &mut Vec<Run>) {
        let package = self.columns.iter().any(|c| c.starts_with("Pk"));
        let cpus = self.columns.iter().any(|c| c.starts_with('C') && c.ends_with('%'));
        if self.cut || !package || !cpus || !self.sums.contains_key("Busy%") {
            return;
        }
        let mean = |(sum, count): &(i64, i64)| sum / (*count).max(1);
        let machine: Row = self.sums.iter().map(|(c, s)| (c.clone(), mean(s))).collect();
        // What powertop's order is, package first, is that of turbostat the other way round.
        let (own, rest): (Vec<String>, Vec<String>) =
            self.columns.into_iter().partition(|c| !c.starts_with("Pk"));
        out.push(Run {
            label: name.to_owned(),
            columns: own.into_iter().chain(rest).collect(),
            intervals: vec![Interval { machine, cpus: Vec::new() }],
            powertop: Some(Powertop::default()),
            ..Run::default()
        });
    }
}

/// Whether a text may have such a table.
pub(crate) fn is_table(asked: &Asked<'_>) -> bool {
    asked.has_any(&["CPU(OS)"])
}

/// `          Pkg(HW)  |            Core(HW) |            CPU(OS) 0   CPU(OS) 4`: whether a block
/// begins, and whether a table does.
fn head(line: &str) -> Option<bool> {
    let cells: Vec<&str> = line.split('|').collect();
    let is = cells.len() == 3 && cells[1].trim().starts_with("Core(");
    let is = is && cells[2].trim().starts_with("CPU(");
    is.then(|| cells[0].trim().starts_with("Pkg("))
}

/// The shares of a cell, behind its name: `C3_ACPI  0.0%    0.0 ms   1.2%    3.1 ms`.
fn shares(cell: &str) -> impl Iterator<Item = i64> {
    cell.split_whitespace().filter_map(|w| thousandths(w.strip_suffix('%')?))
}

/// The number in `C10 (pc10)  0.0%`, behind `mark`.
fn hardware(cell: &str, mark: &str) -> Option<u32> {
    let (_, rest) = cell.split_once(mark)?;
    rest.split_once(')')?.0.parse().ok()
}

/// Reads every whole table of a text as a run of its own.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Run>) {
    let mut open: Option<Table> = None;
    let end = |open: &mut Option<Table>, out: &mut Vec<Run>| {
        open.take().into_iter().for_each(|t| t.end(name, out));
    };
    for line in text.lines() {
        let line = line.trim_start_matches(['>', '#']);
        if let Some(first) = head(line) {
            if first {
                end(&mut open, out);
            }
            open.get_or_insert_default();
            continue;
        }
        let Some(table) = &mut open else { continue };
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let named = |c: &&str| !c.is_empty();
        match cells[..] {
            [package, core, cpu] => {
                // The name of a state without a share: the text breaks off there.
                table.cut |= cells.iter().filter(|c| named(c)).any(|c| !c.contains('%'));
                if let Some(n) = hardware(package, "(pc") {
                    let column = if n >= 10 { format!("Pk%pc{n}") } else { format!("Pkg%pc{n}") };
                    table.take(column, shares(package).take(1));
                }
                if let Some(n) = hardware(core, "(cc") {
                    table.take(format!("CPU%c{n}"), shares(core).take(1));
                }
                let state = cpu.split_whitespace().next().unwrap_or_default();
                let own = state.starts_with('C') && !cpu.contains("(cc");
                match state {
                    "C0" if cpu.contains("active") => table.take("Busy%".into(), shares(cpu)),
                    "POLL" => table.take("POLL%".into(), shares(cpu)),
                    _ if own => table.take(format!("{state}%"), shares(cpu)),
                    _ => {}
                }
            }
            _ if line.trim().is_empty() => {}
            _ => end(&mut open, out),
        }
    }
    // What stands last in a text may go on elsewhere.
    if !text.ends_with('\n') {
        open.iter_mut().for_each(|t| t.cut = true);
    }
    end(&mut open, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "          Pkg(HW)  |            Core(HW) |            CPU(OS) 0   CPU(OS) 2\n";

    fn runs(text: &str) -> Vec<Run> {
        let mut out = Vec::new();
        read("x", text, &mut out);
        out
    }

    #[test]
    fn three_columns_are_one_table_of_shares() {
        let rows = "                    |                     | C0 active   3.0%        1.0%\n\
            \x20                   |                     | C1_ACPI    96.0%    0.6 ms  98.0%    0.7 ms\n\
            C2 (pc2)    0.0%    | C3 (cc3)    0.0%    | C2_ACPI     0.0%    0.0 ms   0.0%    0.0 ms\n\
            C10 (pc10)  7.5%    | C6 (cc6)    0.4%    |\n";
        let next = "                    |            Core(HW) |            CPU(OS) 1\n\
            \x20                   |                     | C0 active   5.0%\n";
        let [run] = &runs(&format!("{HEAD}{rows}\n{next}That is all.\n"))[..] else {
            panic!("one")
        };
        assert_eq!((run.mean("Busy%"), run.mean("C1_ACPI%")), (Some(3_000), Some(97_000)));
        assert_eq!((run.mean("Pkg%pc2"), run.mean("Pk%pc10")), (Some(0), Some(7_500)));
        assert_eq!(run.mean("CPU%c6"), Some(400));
        assert_eq!(run.states(), ["C1_ACPI%", "C2_ACPI%"]);
        let two = format!("{HEAD}{rows}\n{HEAD}{rows}");
        assert_eq!(runs(&two).len(), 2);
    }

    #[test]
    fn a_table_that_breaks_off_or_has_no_work_is_none() {
        let rows = "C2 (pc2)    0.0%    |                     | C0 active   3.0%\n\
            C6 (pc6)    0.0%    |                     | C1_AC";
        assert!(runs(&format!("{HEAD}{rows}\n")).is_empty());
        assert!(
            runs(&format!("{HEAD}C2 (pc2)    0.0%    |                     | C0 active   3.0%"))
                .is_empty()
        );
        assert!(
            runs(&format!("{HEAD}C2 (pc2)    0.0%    | C3 (cc3) 1.0% | C1 99.0%\n")).is_empty()
        );
    }
}
