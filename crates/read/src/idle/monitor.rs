//! Tables of `cpupower monitor`: groups of columns, a line for each CPU. Their shares
//! are those of turbostat's tables.

use super::between::{Between, between, host, plain, quotes};
use super::column::thousandths;
use crate::grams::Asked;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::turbostat::{Interval, Row, Run};

/// Whether a text has such a table.
pub(crate) fn is_monitor(text: &str, asked: &Asked<'_>) -> bool {
    asked.has_any(&["||", "|Idle_Stats", "| Idle_Stats", "|Mperf", "| Mperf"])
        && text.lines().any(|l| head(plain(l)).is_some() || only_monitor(plain(l)).is_some())
}

/// The one group that stands above the head of a table: `cpupower monitor -m Idle_Stats`. Those
/// that count are the kernel's own and the share of work; other groups are hardware's.
fn only_monitor(line: &str) -> Option<&'static str> {
    let rest = line.trim_start().trim_start_matches("PKG|CORE").trim();
    let name = rest.strip_prefix('|')?.trim();
    ["Idle_Stats", "Mperf"].into_iter().find(|n| *n == name)
}

/// The columns below the name of an only group: `CPU | POLL | C1`.
fn columns_of(group: &str, line: &str) -> Option<Vec<String>> {
    let names = cells(line);
    let at = names.iter().position(|n| *n == "CPU").filter(|at| *at <= 2)?;
    let one = |(i, n): (usize, &&str)| match *n {
        n if i <= at => n.to_owned(),
        n if group == "Idle_Stats" => format!("{n}%"),
        "C0" => "Busy%".into(),
        "Freq" => "Bzy_MHz".into(),
        n => n.to_owned(),
    };
    (names.len() > at + 1).then(|| names.iter().enumerate().map(one).collect())
}

/// Cells of a line with groups: `0| 1|| 2`, without marks that a page puts around one.
fn cells(line: &str) -> Vec<&str> {
    let mark = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '_' | '~');
    line.split('|').map(|c| c.trim_matches(mark)).filter(|c| !c.is_empty()).collect()
}

/// Columns of `PKG|CORE| CPU| C3 || C0 | Cx | Freq || POLL | C1`, in turbostat's
/// words: the first names are the hardware's, those of the last group the kernel's.
fn head(line: &str) -> Option<Vec<String>> {
    if !line.contains("||") {
        return None;
    }
    let names = cells(line);
    let at = names.iter().position(|n| *n == "CPU")?;
    if at > 2 {
        return None;
    }
    let groups: Vec<&str> = line.split("||").collect();
    let kernel = cells(groups.last()?);
    let hardware = names.len() - kernel.len();
    let one = |(i, n): (usize, &&str)| match *n {
        _ if i <= at => (*n).to_owned(),
        _ if i >= hardware => format!("{n}%"),
        "C0" => "Busy%".into(),
        "Freq" => "Bzy_MHz".into(),
        n if n.starts_with("PC") => format!("Pkg%pc{}", &n[2..]),
        n if n.starts_with('C') && n != "Cx" => format!("CPU%{}", n.to_lowercase()),
        n => n.to_owned(),
    };
    Some(names.iter().enumerate().map(one).collect())
}

/// The columns of the last group: those of hardware bear no `%` at their end but the
/// share of work.
fn kernel_states(columns: &[String]) -> Vec<String> {
    columns.iter().filter(|c| c.ends_with('%') && *c != "Busy%").cloned().collect()
}

/// The line of the machine: means of its CPUs.
fn machine(columns: &[String], cpus: &[Row]) -> Row {
    let n = cpus.len() as i128;
    let mean = |c: &String| {
        let sum: i128 = cpus.iter().filter_map(|r| r.get(c)).map(|v| i128::from(*v)).sum();
        (c.clone(), (2 * sum + n).div_euclid(2 * n) as i64)
    };
    columns.iter().map(mean).collect()
}

/// What is read of one text.
struct Reading<'a> {
    name: &'a str,
    columns: Vec<String>,
    cpus: Vec<Row>,
    /// Prose, a command or another caption since the last line of a table.
    apart: bool,
    caption: Option<String>,
    /// The machine of the last prompt.
    host: Option<String>,
    /// Marks of a mail before its head.
    quotes: usize,
    cut: bool,
    /// Lines of this table that do not fit its head.
    lost: u64,
}

impl Reading<'_> {
    /// A table is over: an interval of the run before it, or a run of its own.
    fn keep(&mut self, out: &mut Vec<Run>, first: usize) {
        if !self.cpus.is_empty() {
            let cpus = std::mem::take(&mut self.cpus);
            let interval = Interval { machine: machine(&self.columns, &cpus), cpus };
            let same = out.len() > first && !self.apart;
            match out.last_mut().filter(|r| same && r.columns == self.columns) {
                Some(run) => {
                    run.intervals.push(interval);
                    run.lost += self.lost;
                    run.cut |= self.cut;
                }
                None => out.push(Run {
                    label: self.name.to_owned(),
                    caption: self.caption.take(),
                    host: self.host.clone(),
                    quotes: self.quotes,
                    columns: self.columns.clone(),
                    intervals: vec![interval],
                    lost: self.lost,
                    cut: self.cut,
                    kernel: kernel_states(&self.columns),
                    ..Run::default()
                }),
            }
            (self.apart, self.caption) = (false, None);
        }
        (self.lost, self.cut) = (0, false);
    }
}

/// Reads such tables. Tables with words between them are measurements of their own.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Run>, losses: &mut Losses) {
    let first = out.len();
    let mut unread = 0;
    let mut r = Reading {
        name,
        columns: Vec::new(),
        cpus: Vec::new(),
        apart: false,
        caption: None,
        host: None,
        quotes: 0,
        cut: false,
        lost: 0,
    };
    let mut only = None;
    for whole in text.lines() {
        let line = plain(whole);
        if let Some(name) = host(line) {
            // What stands above the prompt is of the machine before it.
            r.keep(out, first);
            (r.host, r.apart) = (Some(name.to_owned()), true);
            r.columns.clear();
        }
        let above = std::mem::replace(&mut only, only_monitor(line));
        if let Some(found) = head(line).or_else(|| columns_of(above?, line)) {
            r.keep(out, first);
            r.quotes = quotes(whole);
            r.columns = found;
            continue;
        }
        if !line.contains('|') {
            match between(line) {
                Between::Nothing | Between::Message => continue,
                Between::Gap => r.cut = true,
                Between::Apart(caption) => {
                    r.keep(out, first);
                    r.columns.clear();
                    r.apart = true;
                    r.caption = caption.or(r.caption.take());
                }
            }
            continue;
        }
        let values = cells(line);
        if r.columns.is_empty() || line.contains("*is offline") || values.is_empty() {
            continue;
        }
        let row: Option<Row> = (values.len() == r.columns.len())
            .then(|| {
                r.columns.iter().cloned().zip(&values).map(|(c, v)| Some((c, thousandths(v)?)))
            })
            .and_then(Iterator::collect);
        match row {
            Some(row) => r.cpus.push(row),
            // The names of groups above the next head are no line of a CPU.
            None if values.iter().all(|v| thousandths(v).is_none()) => {}
            None => {
                unread += 1;
                r.lost += 1;
            }
        }
    }
    r.keep(out, first);
    let advice = "lines of a cpupower monitor table that do not fit its head: they are left out";
    losses.add("unread_line", unread, Severity::Warning, advice, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_one_monitor_is_read_with_commas_too() {
        let text = "    |Idle_Stats\n CPU| POLL | C1-S | C6-S\n   0|  0,00|  0,19| 96,23\n   \
            4|  0,00|  0.00| 99.90\n\n";
        assert!(is_monitor(text, &Asked::of(text.as_bytes())));
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("x", text, &mut out, &mut losses);
        assert_eq!(out[0].kernel, ["POLL%", "C1-S%", "C6-S%"]);
        let cpus = &out[0].intervals[0].cpus;
        assert_eq!(
            (cpus.len(), cpus[0].get("C6-S%"), losses.list.is_empty()),
            (2, Some(&96_230), true)
        );
        let work = "  | Mperf\nCPU| C0 | Cx | Freq\n 0| 1.50| 98.50| 2400\n";
        read("x", work, &mut out, &mut losses);
        assert_eq!(out[1].columns, ["CPU", "Busy%", "Cx", "Bzy_MHz"]);
    }
}
