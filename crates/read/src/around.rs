//! Marks that a page or a program put around each line of a log: `… \`, `| … |`, `"…",`, `…^M`,
//! `` `…` ``, cells of a table in quotes.
//! Messages that are known by their end hide behind them.

use crate::klog;
use std::borrow::Cow;

/// What may stand behind each line.
const BEHIND: [&[u8]; 8] = [b" \\", QUOTE, b"|", b"^M", b",", b"$", b";", b" *"];

/// Each line is a string, of a list or a table.
const QUOTE: &[u8] = b"\"";

/// Looked for in so many lines.
const LINES: usize = 400;
/// So many of a log tell.
const TELL: usize = 40;
/// Fewer are no log.
const LEAST: usize = 3;

/// The text without such marks; nothing if it has none. Lines stay lines.
pub(crate) fn plain(bytes: &[u8]) -> Option<Vec<u8>> {
    let lines = || bytes.split(|b| *b == b'\n');
    if let Some(rows) = table(bytes) {
        return Some(rows);
    }
    let with_ticks = lines().take(LINES).filter(|l| ticked(l).is_some()).take(LEAST).count();
    if with_ticks == LEAST
        && lines().take(LINES).all(|l| l.trim_ascii().is_empty() || ticked(l).is_some())
    {
        let inner = |l| ticked(l).unwrap_or(l).to_vec();
        return Some(lines().map(inner).collect::<Vec<_>>().join(&b'\n'));
    }
    let mark = *BEHIND.iter().find(|mark| is_around(&mut lines().take(LINES), mark))?;
    let mut out = Vec::with_capacity(bytes.len());
    for (at, line) in lines().enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        let whole = inner(line, mark);
        // A table beside the log keeps its bars.
        let is_row = mark == b"|" && !klog::is_stamped(&whole);
        out.extend_from_slice(if is_row { line } else { &whole });
    }
    Some(out)
}

/// A line that stands in Markdown's marks of code by itself.
fn ticked(line: &[u8]) -> Option<&[u8]> {
    let inner = line.trim_ascii().strip_prefix(b"`")?.strip_suffix(b"`")?;
    (!inner.is_empty() && !inner.contains(&b'`')).then_some(inner)
}

/// A log that was kept as a table of cells in quotes (RFC 4180), as lines with the stamp of a
/// kernel; nothing if it is none.
fn table(bytes: &[u8]) -> Option<Vec<u8>> {
    let lines = || bytes.split(|b| *b == b'\n');
    let parted = [b',', b';'].into_iter().find(|by| {
        let rows = lines().take(LINES).filter(|l| row(l, *by).is_some());
        rows.take(LEAST).count() >= LEAST
    })?;
    let mut out = Vec::with_capacity(bytes.len());
    for (at, line) in lines().enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(row(line, parted).as_deref().unwrap_or(line));
    }
    Some(out)
}

/// A row whose first cell is the kernel's time and whose last, in quotes, is a message.
fn row(line: &[u8], parted: u8) -> Option<Vec<u8>> {
    let text = line.trim_ascii().strip_suffix(QUOTE)?;
    let mut from = text.len();
    // A quotation mark of the message is doubled.
    let begin = loop {
        let at = memchr::memrchr(b'"', &text[..from])?;
        match text[..at].last() {
            Some(b'"') => from = at - 1,
            Some(b) if *b == parted => break at,
            _ => return None,
        }
    };
    let stamp = text[..begin].split(|b| *b == parted).next()?;
    let stamp = stamp.strip_prefix(QUOTE).and_then(|s| s.strip_suffix(QUOTE)).unwrap_or(stamp);
    let (whole, part) = stamp.split_at(memchr::memchr(b'.', stamp)?);
    let digits = |t: &[u8]| !t.is_empty() && t.iter().all(u8::is_ascii_digit);
    (digits(whole) && digits(&part[1..])).then(|| {
        let message = String::from_utf8_lossy(&text[begin + 1..]).replace("\"\"", "\"");
        [b"[", stamp, b"] ", message.as_bytes()].concat()
    })
}

/// Whether the lines of a log among `lines` have `mark` behind them.
fn is_around(lines: &mut dyn Iterator<Item = &[u8]>, mark: &[u8]) -> bool {
    let with: Vec<(bool, &[u8])> = lines.map(|l| (within(l, mark).is_some(), l)).collect();
    if with.iter().filter(|l| l.0).count() < LEAST {
        return false;
    }
    let of_log = with.iter().filter(|l| klog::is_stamped(&inner(l.1, mark))).take(TELL);
    let (mut all, mut ends) = (0, 0);
    of_log.for_each(|l| (all, ends) = (all + 1, ends + usize::from(l.0)));
    // The last item of a list has no comma.
    ends >= LEAST && ends + 1 >= all
}

/// `line` without the blanks around it, and without `mark` behind it if that stands there.
fn within<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let body = line.trim_ascii();
    if mark != QUOTE {
        return body.strip_suffix(mark);
    }
    let item = body.strip_suffix(b",");
    let text = item.unwrap_or(body).strip_suffix(QUOTE)?;
    // A message may end with a word in quotes; somebody may have cut the begin of a list's lines.
    text.strip_prefix(QUOTE).or(item.map(|_| text))
}

/// `line` without `mark`, and without what belongs to it before the line.
fn inner<'a>(line: &'a [u8], mark: &[u8]) -> Cow<'a, [u8]> {
    let Some(text) = within(line, mark) else { return Cow::Borrowed(line) };
    if mark == QUOTE {
        let text = String::from_utf8_lossy(text).replace("\",\"", ",").replace("\\\"", "\"");
        return Cow::Owned(text.into_bytes());
    }
    let Some(cells) = text.strip_prefix(b"|").filter(|_| mark == b"|") else {
        return Cow::Borrowed(text.trim_ascii_end());
    };
    // The kernel's stamp may have a cell of its own.
    let cell = cells.split(|b| *b == b'|').next().unwrap_or(cells);
    let number = |b: &u8| b.is_ascii_digit() || *b == b'.';
    // Times that somebody rounded for a table are rows of it.
    let decimals = |c: &[u8]| c.iter().rev().position(|b| *b == b'.').unwrap_or(0);
    let stamp = |c: &[u8]| c.iter().all(number) && !(1..=2).contains(&decimals(c));
    match cells.get(cell.len() + 1..).filter(|_| stamp(cell.trim_ascii())) {
        Some(rest) => Cow::Owned([b"[", cell.trim_ascii(), b"] ", rest.trim_ascii()].concat()),
        None => Cow::Borrowed(cells.trim_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: [&str; 3] = [
        "[   50.000000] PM: suspend entry (deep)",
        "[   50.006000] a \"b\"",
        "[   59.000000] PM: suspend exit",
    ];

    #[test]
    fn what_stands_around_each_line_of_a_log_goes() {
        for (before, behind) in
            [("", " \\"), ("", ","), ("", "^M"), ("", "$"), ("", ";"), ("", " *"), ("| ", " |")]
        {
            let text = LOG.map(|l| format!("{before}{l}{behind}")).join("\n");
            let plain = plain(format!("The log:\n{text}\nx\n").as_bytes()).expect("marks");
            let plain = String::from_utf8(plain).expect("text");
            assert_eq!(plain, format!("The log:\n{}\nx\n", LOG.join("\n")), "{behind}");
        }
        let rounded =
            "| 57.70 | elm: is up |\n| 57.90 | oak: is up |\n| 59.35 | PM: suspend exit |\n";
        assert_eq!(plain(rounded.as_bytes()), None, "rows of a table");
        let list = LOG.map(|l| format!("  \"{}\"", l.replace('"', "\\\""))).join(",\n");
        for list in [list.clone(), list.replace("  \"", "") + ","] {
            let read = plain(list.as_bytes()).expect("a list");
            assert_eq!(read, LOG.join("\n").as_bytes(), "{list}");
        }
    }

    #[test]
    fn a_stamp_may_have_a_cell_of_its_own() {
        let rows = LOG.map(|l| format!("| {} | {} |", &l[4..13], &l[15..])).join("\n");
        let text = format!("| time | text |\n|---|---|\n{rows}\n");
        let read = String::from_utf8(plain(text.as_bytes()).expect("rows")).expect("text");
        let want = LOG.map(|l| format!("[{}", &l[4..])).join("\n");
        assert_eq!(read, format!("| time | text |\n|---|---|\n{want}\n"));
        let quoted = LOG
            .map(|l| format!("\"{}\",\"kernel\",\"{}\"", &l[4..13], &l[15..].replace('"', "")))
            .join("\n");
        let read = String::from_utf8(plain(quoted.as_bytes()).expect("rows")).expect("text");
        assert!(read.starts_with("[50.000000] PM: suspend entry (deep)\n"), "{read}");
    }

    #[test]
    fn cells_in_quotes_are_lines_of_the_log() {
        let rows = |row: &dyn Fn(&str, &str) -> String| {
            let lines = LOG.map(|l| row(&l[3..13], &l[15..].replace('"', "\"\"")));
            format!("time,level,message\n{}\n", lines.join("\n"))
        };
        let want =
            format!("time,level,message\n{}\n", LOG.map(|l| l.replace("[  ", "[")).join("\n"));
        let want = want.replace("[ ", "[");
        for text in [
            rows(&|t, m| format!("{},\"{m}\"", t.trim())),
            rows(&|t, m| format!("\"{}\",\"6\",\"{m}\"", t.trim())),
            rows(&|t, m| format!("{};6;\"{m}\"\r", t.trim())),
        ] {
            let plain = plain(text.as_bytes()).expect("rows");
            assert_eq!(String::from_utf8(plain).expect("text"), want, "{text}");
        }
        assert_eq!(plain(b"a,\"b\"\nc,\"d\"\ne,\"f\"\n"), None);
    }

    #[test]
    fn lines_that_are_code_each_are_lines() {
        let text = LOG.map(|l| format!("`{l}`")).join("\n");
        assert_eq!(plain(text.as_bytes()).as_deref(), Some(LOG.join("\n").as_bytes()));
        assert_eq!(plain(b"`a` and `b`\n`c`\n"), None);
        for nothing in ["", "\n", "\n \n\n\n", "`a`\n"] {
            assert_eq!(plain(nothing.as_bytes()), None);
        }
    }

    #[test]
    fn a_log_whose_lines_end_as_they_like_stays() {
        let mut lines: Vec<String> = LOG.iter().map(|l| (*l).to_string()).collect();
        assert_eq!(plain(lines.join("\n").as_bytes()), None);
        lines.push("[   60.000000] a,".into());
        assert_eq!(plain(lines.join("\n").as_bytes()), None);
        let two = "[   50.000000] a,\n[   51.000000] b,";
        assert_eq!(plain(two.as_bytes()), None);
        assert_eq!(plain(b"| a | b |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |"), None);
    }
}
