//! Listings of `power` folders that loops of a shell print: a row a device, its columns in the
//! order in which the loop reads the files, or as a head names them.

use crate::night::line::{command, reads};
use crate::text::unquoted;
use memchr::memmem;

/// Names that loops give the files of a device's `power` folder, and the files.
pub(crate) const FILES: [(&str, &str); 14] = [
    ("control", "control"),
    ("status", "runtime_status"),
    ("runtime_status", "runtime_status"),
    ("active", "runtime_active_time"),
    ("active_time", "runtime_active_time"),
    ("runtime_active_time", "runtime_active_time"),
    ("suspended", "runtime_suspended_time"),
    ("suspended_time", "runtime_suspended_time"),
    ("runtime_suspended_time", "runtime_suspended_time"),
    ("usage", "runtime_usage"),
    ("active_kids", "runtime_active_kids"),
    ("runtime_active_kids", "runtime_active_kids"),
    ("runtime_usage", "runtime_usage"),
    ("autosuspend_delay_ms", "autosuspend_delay_ms"),
];

/// So many lines a loop has at most, so many rows its listing, and so many columns a row.
const LOOP: usize = 12;
const ROWS: usize = 400;
const COLUMNS: usize = 16;

/// The columns of a listing behind the name of the device: the file of each, if it is known.
type Columns = Vec<Option<&'static str>>;

/// Whether a text may have such a listing.
pub(crate) fn may_list(bytes: &[u8]) -> bool {
    let has = |word: &[u8]| memmem::find(bytes, word).is_some();
    let loops = has(b"do ") || has(b"do\n");
    loops && has(b"cat ") && has(b"power/") || has(b"control") && has(b"suspended")
}

/// The rows of each listing, as `NAME: control=on …`.
pub(crate) fn rows(lines: &[&[u8]], own: &mut [Option<String>]) {
    let mut at = 0;
    while at < lines.len() {
        let Some((_, text)) = unquoted(lines[at]) else {
            at += 1;
            continue;
        };
        let (columns, next) = match typed(lines, at, text) {
            Some((typed, next)) => (read_by(&typed), next),
            None => (head(text), at + 1),
        };
        at = next;
        let Some(columns) = columns else { continue };
        for (line, own) in lines[at..].iter().zip(&mut own[at..]).take(ROWS) {
            let Some((marks, text)) = unquoted(line) else { break };
            if text.is_empty() || text.starts_with("```") || command(text).is_some() {
                break;
            }
            if let Some(row) = row(text, &columns) {
                *own = Some(format!("{marks}{row}"));
            }
            at += 1;
        }
    }
}

/// A loop of a shell that begins in a line, and the line behind it.
fn typed(lines: &[&[u8]], at: usize, text: &str) -> Option<(String, usize)> {
    let typed = command(text).unwrap_or(text);
    let begins = ["for ", "while "].iter().any(|w| typed.starts_with(w));
    let piped = typed.contains("| while ") && typed.contains(" read ");
    let begins = begins && typed.contains(['/', '$', '*', ':']) || piped;
    if !begins {
        return None;
    }
    let over = |t: &str| t.split([' ', ';', '|', '\t']).any(|w| w == "done");
    let mut all = typed.to_owned();
    let mut next = at + 1;
    while !over(&all) {
        let (_, more) = unquoted(lines.get(next).filter(|_| next < at + LOOP)?)?;
        all = all + "; " + more;
        next += 1;
    }
    Some((all, next))
}

/// The columns of a loop: files that it reads, in their order, where each row has several.
fn read_by(typed: &str) -> Option<Columns> {
    let begins = ["do ", "do\t", "do;"].iter().filter_map(|d| typed.find(d)).min()?;
    let body = &typed[begins + 2..];
    // A key before each value says itself which it is.
    if body.contains("=$(") || body.contains("=`") {
        return None;
    }
    let mut files: Vec<String> = Vec::new();
    let mut rest = body;
    let marks = ["$(cat ", "`cat ", "$(< ", "$(<", "$(sudo cat "];
    let mark = |rest: &str| {
        let found = marks.iter().filter_map(|m| Some((rest.find(m)?, m.len())));
        found.min_by_key(|f| (f.0, std::cmp::Reverse(f.1)))
    };
    while let Some((at, len)) = mark(rest) {
        let inner = &rest[at + len..];
        let end = inner.find([')', '`'])?;
        files.extend(reads(&format!("cat {}", inner[..end].replace('"', ""))).0);
        rest = &inner[end + 1..];
    }
    if files.is_empty() {
        // `echo -n "$d "; cat $d/power/{a,b} | tr '\n' ' '` is a row too.
        let joined = ["tr ", "xargs", "paste "].iter().any(|w| body.contains(w));
        let at = body.find("cat ").filter(|_| joined)?;
        files.extend(reads(body[at..].split(';').next()?.replace('"', "").as_str()).0);
    }
    let file = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        FILES.iter().find(|f| f.1 == name).map(|f| f.1)
    };
    known(files.iter().map(file).collect())
}

/// The columns that a line names, behind that of the device.
fn head(text: &str) -> Option<Columns> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|w| w.trim_end_matches([':', ',']).to_ascii_lowercase())
        .collect();
    // Words of a sentence are no head: all but the names of the device and of few files are known.
    let file = |w: &String| {
        let name = w.rsplit('/').next().unwrap_or(w);
        FILES.iter().find(|f| f.0 == name || f.1 == name).map(|f| f.1)
    };
    let columns: Columns = words.get(1..)?.iter().map(file).collect();
    let unknown = columns.iter().filter(|c| c.is_none()).count();
    let first = words.first().is_some_and(|w| file(w).is_none());
    known(columns).filter(|c| first && unknown * 2 < c.len())
}

/// Columns of which two files or more are known, one of them of a choice that proves a row.
fn known(columns: Columns) -> Option<Columns> {
    let named = columns.iter().flatten();
    let proves = named.clone().any(|f| matches!(*f, "control" | "runtime_status"));
    (columns.len() <= COLUMNS && named.count() > 1 && proves).then_some(columns)
}

/// Whether a word may be what a file says (drivers/base/power/sysfs.c, 6.12).
fn fits(file: &str, word: &str) -> bool {
    let number = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
    match file {
        "control" => matches!(word, "on" | "auto"),
        "runtime_status" => matches!(
            word,
            "active" | "suspended" | "suspending" | "resuming" | "error" | "unsupported"
        ),
        "autosuspend_delay_ms" => number(word.strip_prefix('-').unwrap_or(word)),
        _ => number(word),
    }
}

/// A row of a listing: the device, and a value for each column.
fn row(text: &str, columns: &[Option<&'static str>]) -> Option<String> {
    let words: Vec<&str> = text.split([' ', '\t', '|', ',']).filter(|w| !w.is_empty()).collect();
    let from = words.len().checked_sub(columns.len())?;
    let take = |name: &[&str], values: &[&str]| {
        let pairs: Vec<(&'static str, &str)> =
            columns.iter().zip(values).filter_map(|(f, v)| Some(((*f)?, *v))).collect();
        let name = name.join(" ");
        let name = name.trim_end_matches([':', '=', '-']).trim_end_matches('/');
        let name = name.strip_suffix("/power").unwrap_or(name);
        let whole = !name.is_empty() && pairs.iter().all(|(f, v)| fits(f, v));
        let pairs = pairs.iter().map(|(f, v)| format!(" {f}={v}")).collect::<String>();
        whole.then(|| format!("{name}:{pairs}"))
    };
    // The name may stand behind its values.
    take(&words[..from], &words[from..])
        .or_else(|| take(&words[columns.len()..], &words[..columns.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let lines: Vec<&[u8]> = text.as_bytes().split(|b| *b == b'\n').collect();
        let mut own = vec![None; lines.len()];
        rows(&lines, &mut own);
        own.into_iter().flatten().collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn a_loop_names_the_columns_of_its_rows() {
        let one = "$ for d in 0000:00:1f.2 0000:09:00.0; do echo $d $(cat /sys/bus/pci/devices/$d/power/{control,runtime_status,runtime_suspended_time}); done\n0000:00:1f.2 auto suspended 99\n0000:09:00.0 on active 0\n\nand 4 on active 0\n";
        assert_eq!(
            shown(one),
            "0000:00:1f.2: control=auto runtime_status=suspended runtime_suspended_time=99\n0000:09:00.0: control=on runtime_status=active runtime_suspended_time=0"
        );
        let more = "> # for i in /sys/bus/usb/devices/*; do\n>   echo \"$(basename $i) $(<$i/power/control) $(cat $i/power/async) `cat $i/power/runtime_status 2>/dev/null`\"\n> done\n> 3-1\ton\tenabled\tactive\n> cat: elm: No such file\n";
        assert_eq!(shown(more), "> 3-1: control=on runtime_status=active");
    }

    #[test]
    fn a_head_names_the_columns_of_its_rows() {
        let text = "device        control  status     usage\n1-4 (oak cam) auto     suspended  0\n1-5           on       active     2\n";
        assert_eq!(
            shown(text),
            "1-4 (oak cam): control=auto runtime_status=suspended runtime_usage=0\n1-5: control=on runtime_status=active runtime_usage=2"
        );
    }

    #[test]
    fn other_loops_and_sentences_are_no_listing() {
        for text in [
            "for d in *; do echo $d; done\na on active\n",
            "The control and status of it:\nit on active\n",
            "$ for d in /sys/x/*; do echo $d control=$(cat $d/control) status=$(cat $d/runtime_status); done\na on active\n",
            "while it was suspended, it / was\nx on active 3\n",
        ] {
            assert_eq!(shown(text), "", "{text}");
        }
    }
}
