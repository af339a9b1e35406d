//! Files that a text shows with a command: `cat PATH`, and every line that it printed.

use crate::idle::column::thousandths;
use dormouse_base::beside::{Cell, Table};

/// What one command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The file.
    pub path: String,
    /// Line of the command, from 1.
    pub line: u64,
    /// Its lines: `NAME : VALUE`, or the line alone.
    pub rows: Vec<(String, String)>,
}

/// A table that `cat` prints is seldom longer.
const MOST: usize = 400;

impl Printed {
    /// Its rows as a table.
    pub fn table(&self) -> Table {
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        let cell = |(name, value): &(String, String)| {
            let cell = match thousandths(value) {
                Some(n) => Cell::thousandths(n, ""),
                None => Cell::Word(value.clone()),
            };
            (format!("{file}, {name}"), cell)
        };
        let label = format!("line {}", self.line);
        Table { kind: "files of sysfs", label, cells: self.rows.iter().map(cell).collect() }
    }
}

/// The file that a command prints alone: `cat PATH` behind a prompt or at the start of a line.
fn command(line: &str) -> Option<&str> {
    let at = line.find("cat /")?;
    let before = line[..at].trim_end();
    let before = before.strip_suffix("sudo").unwrap_or(before).trim_end();
    let prompt = before.is_empty() || before.ends_with(['#', '$', '>', '%']);
    let path = line[at + 4..].trim();
    let file = ["/sys/", "/proc/"].iter().any(|f| path.starts_with(f));
    (prompt && file && !path.contains([' ', '*', '|', ';'])).then_some(path)
}

/// Whether a line is a prompt: a command ends what the last one printed.
fn is_prompt(line: &str) -> bool {
    let who = line.split_whitespace().next().unwrap_or("");
    let host = who.contains('@') && who.contains(['$', '#']);
    host || line.starts_with(['$', '#']) || line.starts_with("```")
}

/// What a terminal asks for before a command runs is nothing that the file says.
fn is_asked(line: &str) -> bool {
    line.starts_with("[sudo] ") || line.starts_with("Password:")
}

/// Every file that `text` shows so, in its order; only those of more lines than one.
pub fn printed(text: &str) -> Vec<Printed> {
    let mut out: Vec<Printed> = Vec::new();
    let mut open = false;
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.trim_start_matches(['>', ' ']).trim_end();
        if let Some(path) = command(line) {
            out.push(Printed { path: path.into(), line: at, rows: Vec::new() });
            open = true;
        } else if line.trim().is_empty() || is_prompt(line) {
            open = false;
        } else if let Some(last) = out.last_mut().filter(|p| open && p.rows.len() < MOST)
            && !is_asked(line)
        {
            let row = line.split_once([':', '=']).filter(|(name, _)| !name.trim().is_empty());
            let (name, value) = row.unwrap_or((line, ""));
            last.rows.push((name.trim().into(), value.trim().into()));
        }
    }
    out.retain(|p| p.rows.len() > 1 && p.rows.iter().any(|r| !r.1.is_empty()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_file_is_of_it_and_a_prompt_is_not() {
        let text = "me@pc:~$ sudo cat /sys/kernel/debug/x/counts\n[sudo] password for me:\n\
                    deep : 12\nshallow : 7\nme@pc:~$ cat /sys/power/state\nmem\n\
                    me@pc:~$ cat /sys/kernel/debug/x/counts\ndeep : 40\nshallow : 7\n\nDone.\n";
        let all = printed(text);
        let row = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].rows, [row("deep", "12"), row("shallow", "7")]);
        assert_eq!((all[1].line, &all[1].rows[0]), (7, &row("deep", "40")));
        assert_eq!(all[1].table().cells[0], ("counts, deep".into(), Cell::whole(40, "")));
    }
}
