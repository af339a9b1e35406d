//! Rows of `ltr_show`, and of turbostat for the machine.

use super::count::number;
use super::line::{Rest, plain};
use crate::idle::column::{Cell, cells, head, rest_of_head, thousandths};
use dormouse_doctor::night::table::{Latency, PLATFORM, Shares};
use std::borrow::Cow;

/// Tables are told apart by their numbers.
#[derive(Default)]
pub(crate) struct Tables {
    latencies: usize,
    /// Names of the rows of the table that is open.
    rows: Vec<String>,
    shares: usize,
    columns: Vec<String>,
    ms: Option<u64>,
    /// The row of the machine was read: what follows is of CPUs.
    machine: bool,
}

/// `4  PMC0:XHCI  LTR: RAW: 0x88a0  Non-Snoop(ns): 0  Snoop(ns): 163840  LTR_IGNORE: 0`; older
/// kernels print neither number nor unit, and some `Power_Ungated`.
fn latency(text: &str) -> Option<Latency> {
    let (name, values) = text.split_once("LTR: RAW:")?;
    let after = |word: &str| {
        let (_, rest) = values.split_once(word)?;
        number(rest.trim_start()).map(|n| n.0)
    };
    let non_snoop = after("Non-Snoop(ns):")?;
    let (_, rest) = values.split_once("Non-Snoop(ns):")?;
    let snoop = number(rest.split_once("Snoop(ns):")?.1.trim_start())?.0;
    let mut words = name.split_whitespace();
    let first = words.next()?;
    let (index, ip) = match (first.parse::<u32>(), words.next()) {
        (Ok(n), Some(ip)) => (Some(n), ip),
        _ => (None, first),
    };
    let ip = ip.rsplit_once(':').map_or(ip, |(_, ip)| ip);
    Some(Latency {
        index,
        ip: ip.into(),
        non_snoop,
        snoop,
        ignored: after("LTR_IGNORE:").is_some_and(|n| n > 0),
        table: 0,
    })
}

/// A row of `ltr_show`, joined with what a mail program broke off; how many lines that took.
pub(crate) fn ltr(text: &str, rest: Rest<'_>, tables: &mut Tables) -> Option<(Latency, usize)> {
    if !text.contains("LTR: RAW:") {
        return None;
    }
    let mut whole = text.to_owned();
    let mut rest = rest;
    for joined in 0..=2 {
        if let Some(mut row) = latency(&whole) {
            // The same name again begins the next table.
            let again = tables.rows.contains(&row.ip) && row.ip != "Reserved";
            if again || tables.rows.is_empty() {
                tables.latencies += usize::from(again);
                tables.rows.clear();
            }
            tables.rows.push(row.ip.clone());
            row.table = tables.latencies;
            return Some((row, joined));
        }
        let (next, after) = rest.next()?;
        let next = plain(next)?;
        if next.contains("LTR: RAW:") {
            return None;
        }
        whole.push(' ');
        whole.push_str(next.trim());
        rest = after;
    }
    None
}

/// What a line is of turbostat's.
pub(crate) enum Turbo {
    /// A head, with so many more lines of it.
    Head(usize),
    /// The row of the machine, with so many more lines of it.
    Row(Shares, usize),
    /// A row of a CPU.
    Other,
}

/// `10.931644 sec`, which turbostat prints when the command ended.
pub(crate) fn interval(text: &str) -> Option<u64> {
    let number = text.trim().strip_suffix(" sec")?;
    u64::try_from(thousandths(number)?).ok()
}

fn is_row(text: &str) -> Option<Vec<Cell>> {
    cells(text)
        .filter(|c| c.len() >= 2 && c.iter().all(|c| matches!(c, Cell::Number(..) | Cell::Dash)))
}

/// Reads a line of a table of turbostat.
pub(crate) fn turbostat(text: &str, rest: Rest<'_>, tables: &mut Tables) -> Option<Turbo> {
    if let Some(ms) = interval(text) {
        tables.ms = Some(ms);
        return Some(Turbo::Other);
    }
    let ahead = |n: usize| -> Vec<Cow<'_, str>> { rest.ahead(n) };
    if let Some(columns) = head(text) {
        let mut columns: Vec<String> = columns.into_iter().map(ToString::to_string).collect();
        let mut taken = 0;
        for next in ahead(3) {
            let names: Vec<&str> = columns.iter().map(String::as_str).collect();
            let Some(more) = rest_of_head(&names, &next) else { break };
            columns.extend(more.into_iter().map(ToString::to_string));
            taken += 1;
        }
        // turbostat prints its head anew after some intervals.
        tables.shares +=
            usize::from(columns != tables.columns || tables.machine && tables.ms.is_some());
        (tables.columns, tables.machine) = (columns, false);
        return Some(Turbo::Head(taken));
    }
    if tables.columns.is_empty() {
        return None;
    }
    let mut row = is_row(text)?;
    let mut taken = 0;
    for next in ahead(3) {
        if row.len() >= tables.columns.len() {
            break;
        }
        let Some(more) = is_row(&next) else { break };
        if row.len() + more.len() > tables.columns.len() {
            break;
        }
        row.extend(more);
        taken += 1;
    }
    let cpus = tables.columns.iter().any(|c| c == "CPU");
    let of_cpu = cpus && !row.contains(&Cell::Dash);
    // A row that was cut off tells of the columns that it has.
    let cut = row.len() < tables.columns.len()
        && rest.next().is_some_and(|(l, _)| !l.trim_ascii().is_empty());
    if of_cpu || row.len() > tables.columns.len() || cut || row.len() < 3 {
        return Some(Turbo::Other);
    }
    // A single measurement has a row of the machine, then one of each CPU.
    if tables.machine && tables.ms.is_some() {
        return Some(Turbo::Other);
    }
    let whole = row.len() == tables.columns.len();
    // The last cell of a row that was cut off may have lost digits.
    let known = if whole { row.len() } else { row.len() - 1 };
    let value = |(name, cell): (&String, &Cell)| match cell {
        Cell::Number(n, _) => Some((name.clone(), *n)),
        _ => None,
    };
    let columns = tables.columns.iter().zip(&row[..known]).filter_map(value).collect();
    let depth = |c: &String| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc") || c == PLATFORM;
    let cut = tables.columns[known..].iter().any(depth);
    tables.machine = true;
    Some(Turbo::Row(Shares { columns, table: tables.shares, ms: tables.ms, cut }, taken))
}

impl Tables {
    /// The next table of turbostat's is another measurement, even with the same head.
    pub(crate) fn apart(&mut self) {
        self.columns.clear();
        (self.machine, self.ms) = (false, None);
    }

    /// The number of a table of its own.
    pub(crate) fn next(&mut self) -> usize {
        self.shares += 1;
        self.columns.clear();
        self.shares
    }

    /// A command that shows latencies begins a new table of them.
    pub(crate) fn another(&mut self) {
        if !self.rows.is_empty() {
            self.rows.clear();
            self.latencies += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Shares> {
        let mut tables = Tables::default();
        let mut out = Vec::new();
        let mut rest = Rest::new(text.as_bytes());
        while let Some((line, after)) = rest.next() {
            rest = after;
            let Some(line) = plain(line) else { continue };
            let took = match turbostat(&line, rest, &mut tables) {
                Some(Turbo::Row(s, n)) => {
                    out.push(s);
                    n
                }
                Some(Turbo::Head(n)) => n,
                _ => 0,
            };
            for _ in 0..took {
                rest = rest.next().map_or(rest, |n| n.1);
            }
        }
        out
    }

    #[test]
    fn wrapped_heads_and_rows_keep_their_columns() {
        let text = "12.500000 sec\nCPU%c1\tCPU%c7\tPkg%pc2\tPkg%pc6\tPkg%pc8 \nPkg%pc9Pk%pc10\tSYS%LPI\n\
            1.00\t95.00\t2.00\t3.00\t90.00\t0.00\t4.00\t0.50\n1.10\t94.00\t2.00\t3.00\t90.00\t0.00\t4.00\t0.50\n";
        let all = rows(text);
        assert_eq!(all.len(), 1, "the second line is of a CPU");
        assert_eq!(
            (all[0].get("Pk%pc10"), all[0].system(), all[0].ms),
            (Some(4_000), Some(500), Some(12_500))
        );
        assert_eq!(all[0].deepest(), Some((10, 4_000)));
        let broken = "C10%    CPU%c7  Pkg%pc8 \nPk%pc10 SYS%LPI PkgWatt\n93.00 36.00 7.50 \n21.00 0.00 3.20\n93.00 36.00 7.50 \n22.00 9.00 1.20\n";
        let all = rows(broken);
        assert_eq!(all.iter().map(|r| r.system()).collect::<Vec<_>>(), [Some(0), Some(9_000)]);
    }

    #[test]
    fn latencies_are_read_wrapped_or_whole() {
        let text = "Non-Snoop(ns): 4096   Snoop(ns): 0\n";
        let mut tables = Tables::default();
        let (row, took) =
            ltr("7  PMC1:SOUTHPORT_F   LTR: RAW: 0x84 ", Rest::new(text.as_bytes()), &mut tables)
                .expect("a row");
        assert_eq!(
            (row.index, row.ip.as_str(), row.non_snoop, row.snoop, took),
            (Some(7), "SOUTHPORT_F", 4_096, 0, 1)
        );
        let whole = "CNV  LTR: RAW: 0x0  Non-Snoop(ns): 0  Snoop(ns): 71680  LTR_IGNORE: 1";
        let (row, took) = ltr(whole, Rest::new(b""), &mut tables).expect("a row");
        assert_eq!(
            (row.asked(), row.ignored, row.snoop, took, row.table),
            (None, true, 71_680, 0, 0)
        );
        let again = ltr(whole, Rest::new(b""), &mut tables).expect("a row");
        assert_eq!(again.0.table, 1, "the same name again is the next table");
    }
}
