//! `trans_stat` of devfreq devices: a table of changes from clock to clock.

use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::levels::{Level, Transitions};

/// Reads every table of a text.
pub(super) fn read(name: &str, bytes: &[u8], out: &mut Vec<Transitions>, losses: &mut Losses) {
    if memchr::memmem::find(bytes, b"time(ms)").is_none() {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let short = name.rsplit('/').next().unwrap_or(name);
    let mut damaged = 0;
    // A path names the device, or a line of one word right above the table.
    let (mut said, mut above): (Option<String>, Option<String>) = (None, None);
    let mut open: Option<(Vec<u64>, Transitions)> = None;
    let first = out.len();
    for line in joined(&text) {
        let line = line.as_str();
        if let Some(device) = named(line) {
            said = Some(device.into());
        } else if line.starts_with("From") || line.is_empty() {
            // The head of a table, and what stands right above it.
        } else if open.is_none() && !line.starts_with(':') {
            above = alone(line).map(String::from);
        }
        // Some pages lose the blanks and the mark ahead of the clocks.
        let bare = || line.starts_with(|c: char| c.is_ascii_digit()).then_some(line);
        let head = line.strip_prefix(':').or_else(bare);
        if let Some(head) = head.filter(|l| l.ends_with("time(ms)") && !l.contains(':')) {
            finish(&mut open, out, &mut damaged);
            let words = head.split_whitespace().filter(|w| *w != "time(ms)");
            // Clocks of ten digits stand without a blank between them: then the rows name them.
            let glued = words.clone().any(|w| w.len() > LONGEST_CLOCK);
            let clocks: Option<Vec<u64>> = words.map(|w| w.parse().ok()).collect();
            let clocks = clocks.or(glued.then(Vec::new)).map(|c| if glued { vec![0] } else { c });
            let count = out.len() - first + 1;
            let said = said.take().or(above.take());
            let name = said.unwrap_or_else(|| match count {
                1 => short.into(),
                n => format!("{short}, table {n}"),
            });
            match clocks {
                Some(c) if !c.is_empty() => {
                    open = Some((c, Transitions { name, ..Transitions::default() }));
                }
                _ => damaged += 1,
            }
            continue;
        }
        let Some((clocks, table)) = &mut open else { continue };
        if let Some(total) = line.strip_prefix("Total transition") {
            table.total = total.trim_start_matches([' ', ':']).trim().parse().ok();
            finish(&mut open, out, &mut damaged);
        } else if let Some(l) = level(line, columns(line, clocks)) {
            if clocks[0] == 0 {
                clocks.resize(l.to.len(), 0);
            }
            table.levels.push(l);
        } else if !table.levels.is_empty() {
            // The table ended without its last line.
            finish(&mut open, out, &mut damaged);
        }
    }
    finish(&mut open, out, &mut damaged);
    let advice = "tables of devfreq that are not whole: compare them with the original";
    losses.add("damaged_table", damaged, Severity::Warning, advice, None);
}

/// The device of a path in a line: `/sys/class/devfreq/NAME`, `NAME/trans_stat`.
fn named(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| c.is_whitespace() || "\"';()".contains(c));
    let found = words.rfind(|w| w.contains("/devfreq/") || w.contains("/trans_stat"))?;
    let path = found.trim_end_matches([':', ',']);
    let device = match path.split_once("/devfreq/") {
        Some((_, rest)) => rest.split('/').next().unwrap_or(rest),
        None => path.split("/trans_stat").next()?.rsplit('/').next()?,
    };
    is_name(device).then_some(device)
}

/// A line of one word that can be the name of a device.
fn alone(line: &str) -> Option<&str> {
    let word = line.trim_matches(['=', '-', '<', '>', ' ', '\t']).trim_end_matches(':');
    // One word of a person's is none: devices have an address or a part of a name.
    let parts = |c: char| c.is_ascii_digit() || ".:@_-".contains(c);
    (is_name(word) && word.contains(parts)).then_some(word)
}

/// No variable of a shell, no pattern, no prompt.
fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:@_,+-".contains(c);
    word.len() > 2 && word.chars().all(plain) && word.contains(|c: char| c.is_ascii_alphabetic())
}

/// Lines without marks of mail, stamps of consoles and the path that `grep` puts
/// first; a row that a mail program wrapped is one again.
fn joined(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(['>', ' ', '\t']);
        let stamped = crate::text::unstamped(line.as_bytes()).len();
        let line = line[line.len() - stamped..].trim();
        let line = match line.split_once("/trans_stat:") {
            Some((device, row)) if !row.is_empty() => {
                if row.trim_start().starts_with("From") {
                    out.push(format!("{device}/trans_stat"));
                }
                row.trim()
            }
            _ => line,
        };
        // Only what was wrapped is numbers alone.
        let numbers = |l: &str| {
            let mut words = l.split_whitespace();
            words.clone().next().is_some_and(|w| w != "time(ms)")
                && words.all(|w| w == "time(ms)" || w.bytes().all(|b| b.is_ascii_digit()))
        };
        match out.last_mut() {
            Some(last)
                if numbers(line)
                    && last.contains(':')
                    && !["Total", "From"].iter().any(|w| last.starts_with(w)) =>
            {
                last.push(' ');
                last.push_str(line);
            }
            _ => out.push(line.into()),
        }
    }
    out
}

fn finish(
    open: &mut Option<(Vec<u64>, Transitions)>,
    out: &mut Vec<Transitions>,
    damaged: &mut u64,
) {
    let Some((clocks, table)) = open.take() else { return };
    let lines: Vec<u64> = table.levels.iter().map(|l| l.hz).collect();
    // A table that lost its first lines is still worth its times.
    let whole = lines == clocks || clocks[0] == 0 && lines.len() == clocks.len();
    *damaged += u64::from(!whole);
    if !table.levels.is_empty() {
        out.push(table);
    }
}

/// No clock in Hz has more digits.
const LONGEST_CLOCK: usize = 10;

/// How many clocks a row counts changes to: as many as the head names, or, where that is glued,
/// as the first row has numbers.
fn columns(line: &str, clocks: &[u64]) -> usize {
    match clocks {
        [0] => line.trim_start_matches(['*', ' ']).split_whitespace().count().saturating_sub(2),
        all => all.len(),
    }
}

/// `* 637500000:       640      1272         0   5186796`.
fn level(line: &str, columns: usize) -> Option<Level> {
    let now = line.starts_with('*');
    let (clock, rest) = line.trim_start_matches(['*', ' ']).split_once(':')?;
    let cells: Option<Vec<u64>> = rest.split_whitespace().map(|w| w.parse().ok()).collect();
    let mut cells = cells.filter(|c| columns > 0 && c.len() == columns + 1)?;
    let time = cells.pop()?;
    Some(Level { hz: clock.trim().parse().ok()?, to: cells, ms: time, now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_and_without_their_ends() {
        let text = b"\
root@target:~# cat /sys/class/devfreq/devfreq2/trans_stat
     From  :   To
           :  88700000 532000000   time(ms)
*  88700000:         0         1     77030
  532000000:         1         0    513100
Total transition : 2

> 543000000:         0         0     48970
           : 165000000 206000000   time(ms)
  206000000:         5         0     57780
";
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("mail.txt", text, &mut out, &mut losses);
        assert_eq!(out.len(), 2);
        assert_eq!(
            (out[0].name.as_str(), out[0].total, out[0].counted()),
            ("devfreq2", Some(2), 2)
        );
        assert!(out[0].levels[0].now && !out[0].levels[1].now);
        assert_eq!((out[1].name.as_str(), out[1].time()), ("mail.txt, table 2", 57_780));
        assert_eq!(losses.count("damaged_table"), 1, "the second lacks a line");
    }

    #[test]
    fn a_head_without_blanks_and_mark_is_told_by_its_rows() {
        let text = "From  :   To\n5000000 95900000010900000001211000000   time(ms)\n\
            5000000:  0  3  0  1  70\n* 959000000:  3  0  1  0  20\n1090000000:  1  0  0  0  5\n\
            1211000000:  0  1  0  0  9\nTotal transition : 10\n";
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("m.txt", text.as_bytes(), &mut out, &mut losses);
        assert_eq!((out.len(), losses.list.len()), (1, 0));
        assert_eq!(
            (out[0].levels[2].hz, out[0].counted(), out[0].time()),
            (1_090_000_000, 10, 104)
        );
        // A row of which the changes were cut off is none.
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read(
            "m.txt",
            b"From : To\n95900000010900000001 time(ms)\n5: 70\n5: 70\n",
            &mut out,
            &mut losses,
        );
        assert!(out.is_empty());
        // Prose that ends so is no head.
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("m.txt", b"From : To\nfoo 5 time(ms)\n5: 0 70\n", &mut out, &mut losses);
        assert!(out.is_empty());
    }

    #[test]
    fn the_line_above_a_table_names_its_device() {
        let table = "From : To\n: 5 9 time(ms)\n* 5: 0 1 70\n9: 1 0 30\nTotal transition : 2\n";
        let heads = [
            "for i in /sys/class/devfreq/*; do echo $i; cat $i/trans_stat; done\n\
             /sys/class/devfreq/soc@0:bus",
            "$ tail /sys/class/devfreq/soc@0:bus/trans_stat\n==> x/soc@0:bus/trans_stat <==",
            "soc@0:bus:",
            "--- soc@0:bus ---",
        ];
        for head in heads {
            let (mut out, mut losses) = (Vec::new(), Losses::default());
            read("m.txt", format!("{head}\n{table}").as_bytes(), &mut out, &mut losses);
            assert_eq!(out[0].name, "soc@0:bus", "{head}");
        }
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("m.txt", format!("the clocks:\n{table}").as_bytes(), &mut out, &mut losses);
        assert_eq!(out[0].name, "m.txt", "prose is no name");
    }

    #[test]
    fn tables_that_mails_consoles_and_grep_print() {
        let rows = [
            "From  :   To",
            ":  50000000 100000000   time(ms)",
            "*  50000000:         0         3     77030",
            "100000000:         3         0       524",
            "Total transition : 6",
        ];
        let with = |mark: &str| rows.map(|r| format!("{mark}{r}\n")).concat();
        let wrapped = "> > :  50000000\n> 100000000   time(ms)\n> > *  50000000:   0   3\n> 77030\n\
            > > 100000000:         3         0\n> 524\n> > Total transition : 6\n";
        for text in [
            with("> > > "),
            with("[10:11:12.123]     "),
            with("/sys/class/devfreq/soc:bus/trans_stat:"),
            wrapped.to_string(),
        ] {
            let (mut out, mut losses) = (Vec::new(), Losses::default());
            read("mail.txt", text.as_bytes(), &mut out, &mut losses);
            assert_eq!((out.len(), losses.list.len()), (1, 0), "{text}");
            let t = &out[0];
            assert_eq!((t.total, t.counted(), t.time()), (Some(6), 6, 77_554), "{text}");
            let named = if text.starts_with("/sys") { "soc:bus" } else { "mail.txt" };
            assert_eq!(t.name, named);
        }
    }
}
