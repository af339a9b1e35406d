//! Tables of sleeps that a script made one after another, as CSV or with bars: a row a sleep, one
//! column with whether it came back.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use dormouse_base::say;

/// So many failures are shown, and words about them named.
const SHOWN: usize = 4;

/// Where a table has what.
struct Head {
    columns: usize,
    result: usize,
    mode: Option<usize>,
    notes: Option<usize>,
}

/// Rows of one table.
#[derive(Default)]
struct Table<'a> {
    rows: Vec<(bool, &'a Message)>,
    modes: Vec<String>,
    words: Vec<String>,
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut open: Option<(Head, char, Table<'_>)> = None;
    // A line with the prefix of a log is no row.
    for m in case.messages.iter().filter(|m| m.trust != Trust::Logged) {
        if let Some((head, mark, table)) = &mut open {
            let row = cells(&m.text, *mark);
            let rule = row.iter().all(|c| c.bytes().all(|b| b"-: ".contains(&b)));
            if row.len() == head.columns && (rule || table.take(head, &row, m)) {
                continue;
            }
        }
        if let Some((_, _, table)) = open.take() {
            table.tell(out);
        }
        open = [',', ';', '|', '\t'].into_iter().find_map(|mark| {
            let head = head(&cells(&m.text, mark))?;
            Some((head, mark, Table::default()))
        });
    }
    if let Some((_, _, table)) = open {
        table.tell(out);
    }
}

pub(super) fn cells(line: &str, mark: char) -> Vec<&str> {
    let line = line.trim();
    let line = if mark == '|' { line.trim_matches('|') } else { line };
    line.split(mark).map(|c| c.trim().trim_matches(['`', '*', '"'])).collect()
}

/// The head of such a table: one column counts, one says how it went, and something is said of
/// sleeps.
fn head(cells: &[&str]) -> Option<Head> {
    const COUNTS: [&str; 9] =
        ["cycle", "iteration", "iter", "run", "round", "attempt", "loop", "#", "n"];
    const RESULTS: [&str; 11] = [
        "resume_ok",
        "suspend_ok",
        "sleep_ok",
        "ok",
        "result",
        "status",
        "resumed",
        "success",
        "passed",
        "pass",
        "outcome",
    ];
    const NOTES: [&str; 6] = ["notes", "note", "error", "reason", "comment", "message"];
    let lower: Vec<String> = cells.iter().map(|c| c.to_ascii_lowercase()).collect();
    let at = |names: &[&str]| lower.iter().position(|c| names.contains(&c.as_str()));
    let (_, result) = (at(&COUNTS)?, at(&RESULTS)?);
    let mode = at(&["mode", "state", "target", "mem_sleep"]);
    let sleeps = ["suspend", "resume", "sleep", "s2idle"];
    let of_sleeps = mode.is_some() || lower.iter().any(|c| sleeps.iter().any(|s| c.contains(s)));
    (cells.len() >= 3 && of_sleeps).then(|| Head {
        columns: cells.len(),
        result,
        mode,
        notes: at(&NOTES),
    })
}

/// Whether a cell says that a sleep came back; nothing if it says neither.
fn came_back(cell: &str) -> Option<bool> {
    match cell.to_ascii_lowercase().as_str() {
        "yes" | "y" | "ok" | "true" | "pass" | "passed" | "success" | "1" => Some(true),
        "no" | "n" | "fail" | "failed" | "false" | "error" | "abort" | "aborted" | "0" => {
            Some(false)
        }
        _ => None,
    }
}

impl<'a> Table<'a> {
    /// A row; whether it is one.
    fn take(&mut self, head: &Head, row: &[&str], m: &'a Message) -> bool {
        let Some(ok) = came_back(row[head.result]) else { return false };
        let keep = |list: &mut Vec<String>, at: Option<usize>| {
            let cell = at.map_or("", |at| row[at]);
            if !cell.is_empty() && list.len() < SHOWN && !list.iter().any(|c| c == cell) {
                list.push(cell.to_owned());
            }
        };
        keep(&mut self.modes, head.mode);
        if !ok {
            keep(&mut self.words, head.notes);
        }
        self.rows.push((ok, m));
        true
    }

    fn tell(self, out: &mut Vec<Finding>) {
        const KNOWN: [&str; 8] =
            ["deep", "s2idle", "mem", "freeze", "standby", "disk", "hibernate", "s3"];
        let (all, failed) = (self.rows.len(), self.rows.iter().filter(|r| !r.0).count());
        // Numbers of a result column may be anything where no mode is named.
        let known = |m: &String| KNOWN.contains(&m.to_ascii_lowercase().as_str());
        if all < 2 || !self.modes.iter().all(known) {
            return;
        }
        let mode = match &self.modes[..] {
            [] => String::new(),
            modes => format!(" ({})", modes.join(", ")),
        };
        let by_turns = all > 3 && failed > 1 && self.rows.windows(2).all(|w| w[0].0 != w[1].0);
        let turns = if by_turns { ", each second one" } else { "" };
        let words = match &self.words[..] {
            [] => String::new(),
            words => format!(" It says of those: {}.", say::names(words)),
        };
        let (level, text) = match failed {
            0 => (Level::Note, format!("A table lists {all} sleeps{mode}: all of them came back.")),
            n => (
                Level::Broken,
                format!(
                    "A table lists {all} sleeps{mode}: {n} failed{turns}, {} came back.{words}",
                    all - n
                ),
            ),
        };
        let shown = self.rows.iter().filter(|r| failed == 0 || !r.0).take(SHOWN).map(|r| r.1);
        let mut f = Finding::new(("loop-table", Area::Abort, level), Confidence::Likely)
            .says(text)
            .times(failed)
            .shown_by(lines(shown));
        // Whoever made the table is sure of what it counts.
        f.evidence.iter_mut().for_each(|e| e.doubtful = false);
        out.push(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[&str]) -> Option<(Level, String)> {
        let mut out = Vec::new();
        judge(&Case::shown(text), &mut out);
        out.pop().map(|f| (f.level, f.sentence))
    }

    #[test]
    fn sleeps_of_a_loop_are_counted_with_what_became_of_them() {
        let csv = [
            "run,state,secs,result,reason",
            "1,mem,20,ok,",
            "2,mem,,fail,EBUSY",
            "3,mem,20,ok,",
            "4,mem,,fail,EBUSY",
        ];
        let (level, text) = said(&csv).expect("a table");
        assert_eq!(level, Level::Broken);
        let want = "A table lists 4 sleeps (mem): 2 failed, each second one, 2 came back. It says of those: EBUSY.";
        assert_eq!(text, want);
        let bars = [
            "| # | mode | resumed |",
            "|---|---|---|",
            "| 1 | s2idle | yes |",
            "| 2 | s2idle | yes |",
            "end",
        ];
        assert_eq!(said(&bars).map(|s| s.0), Some(Level::Note));
    }

    #[test]
    fn other_tables_are_no_sleeps() {
        assert!(said(&["run,disk,result", "1,sda,ok", "2,sda,fail"]).is_none());
        assert!(said(&["run,mode,result", "1,fast,ok", "2,slow,fail"]).is_none());
        assert!(said(&["cycle,mode,resume_ok", "1,deep,yes"]).is_none());
        assert!(said(&["a sentence, of a run, with a result"]).is_none());
    }
}
