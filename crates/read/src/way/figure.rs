//! Times that people and tools measured around a sleep: tables, fwts.

use super::shown::shown;
use crate::night::is_of_sleep;
use dormouse_doctor::way::{Figure, Teller};

/// So many are kept.
const MOST: usize = 40;

pub(super) fn read(text: &str) -> Vec<Figure> {
    let mut out = Vec::new();
    if !is_of_sleep(&text.to_ascii_lowercase()) {
        return out;
    }
    let mut header: Vec<String> = Vec::new();
    for (line, raw) in (1..).zip(text.lines()) {
        if out.len() >= MOST {
            break;
        }
        let plain = raw.replace(['*', '`'], "");
        let plain = plain.trim_start_matches(['>', ' ', '\t']).trim_end();
        if let Some(row) = plain.strip_prefix('|') {
            let cells: Vec<String> =
                row.trim_end_matches('|').split('|').map(|c| c.trim().to_string()).collect();
            if header.is_empty() {
                header = cells;
                continue;
            }
            for (i, cell) in cells.iter().enumerate().skip(1) {
                let Some(value) = duration(cell) else { continue };
                // The whole cell is a time, perhaps with a remark behind it.
                if !cell.starts_with(&value) {
                    continue;
                }
                let name = header.get(i).map_or("", String::as_str);
                let what = match name {
                    "" => cells[0].clone(),
                    name => format!("{}, {name}", cells[0]),
                };
                let text = shown(raw);
                out.push(Figure { line, text, what, value: cell.clone(), by: Teller::Table });
            }
            continue;
        }
        header.clear();
        if let Some((what, value)) = fwts(plain) {
            out.push(Figure { line, text: shown(raw), what, value, by: Teller::Tool });
            continue;
        }
    }
    out
}

/// `Suspend: 1.241 seconds.`, `Resume:  3.269 seconds.`, `… returned 0 after 33 seconds.` (fwts,
/// src/acpi/s3/s3.c).
fn fwts(line: &str) -> Option<(String, String)> {
    let line = line.strip_suffix('.')?;
    if let Some((head, value)) = line.split_once(" returned 0 after ") {
        return value.ends_with("seconds").then(|| (format!("the whole {head}"), value.into()));
    }
    let (what, value) = line.split_once(':')?;
    let known = matches!(what, "Suspend" | "Resume") && value.ends_with(" seconds");
    known.then(|| (what.to_ascii_lowercase(), value.trim().into()))
}

/// The first `12.3 s`, `8-second`, `90 ms` of a text.
fn duration(text: &str) -> Option<String> {
    const UNITS: [&str; 13] = [
        "ms", "msec", "msecs", "us", "s", "sec", "secs", "second", "seconds", "min", "minute",
        "minutes", "µs",
    ];
    let b = text.as_bytes();
    let mut at = 0;
    while at < b.len() {
        if !b[at].is_ascii_digit()
            || at > 0 && (b[at - 1].is_ascii_alphanumeric() || b[at - 1] == b':')
        {
            at += 1;
            continue;
        }
        let end = at + b[at..].iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count();
        let rest = text.get(end..)?;
        let gap = rest.len() - rest.trim_start_matches([' ', '-', '~']).len();
        let unit: String = rest[gap..].chars().take_while(|c| c.is_alphabetic()).collect();
        if UNITS.contains(&unit.as_str()) {
            return Some(text[at..end + gap + unit.len()].to_string());
        }
        at = end.max(at + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_fwts_tell_times() {
        let text = "Time from suspend to resume\n\n| run | resume → usable |\n|---|---|\n\
            | old hook | **31.5 s** |\n| new hook | 12 ms |\n\
            The laptop needs almost 40 seconds to wake up from sleep.\n\
            \x20 Suspend: 2.101 seconds.\n[  12.1] PM: resume of devices took 3 seconds\n";
        let all: Vec<_> = read(text).into_iter().map(|f| (f.line, f.what, f.value, f.by)).collect();
        assert_eq!(all[0], (5, "old hook, resume → usable".into(), "31.5 s".into(), Teller::Table));
        assert_eq!(all[1].2, "12 ms");
        assert_eq!((all[2].1.as_str(), all[2].2.as_str()), ("suspend", "2.101 seconds"));
        assert_eq!(all.len(), 3, "a sentence is no measurement");
    }
}
