//! Tables and values as people post them, laid out as the kernel prints them: the one place
//! that knows such dress, so that readers know the kernel's forms alone. A line stays a line,
//! so that what is read of it keeps its number.
//!
//! | posted | read |
//! |---|---|
//! | a table with bars (Markdown) | its cells with blanks between |
//! | one whose columns are files of `power` folders | `NAME: control=on …`, a row a device |
//! | `cat /sys/a/{b,c}`, and a line for each file | `/sys/a/b:VALUE`, as `grep` prints it |
//! | rows of a loop of a shell, or below a head, that name files of `power` folders | `NAME: control=on …` |
//! | `NAME: control=on status=active`, as loops of a shell print it | values of one device |
//! | lines that `cat -n` numbered | what stands behind the numbers |
//! | a table of which blanks became tabs | its cells with blanks between |
//! | rows of `tlp-stat`: `/sys/bus/pci/devices/…/power/control = on (0x…, class, driver)` | whether a device may sleep |
//! | tunables of powertop: `Bad;Autosuspend for USB device NAME;` | whether a device may sleep |

use crate::loops::FILES;
use crate::night::line::{command, reads};
use crate::text::unquoted;
use memchr::memmem;

/// The text with such tables and values as the kernel prints them; nothing if it has none.
pub(crate) fn plain(bytes: &[u8]) -> Option<Vec<u8>> {
    // Messages and traces have neither.
    let barred = memmem::find(bytes, b"\n|").is_some() || bytes.starts_with(b"|");
    let barred = barred || memmem::find(bytes, b"> |").is_some();
    let several = memmem::find(bytes, b"cat /").is_some();
    let listed = crate::loops::may_list(bytes);
    let head = |at: usize| TABBED.iter().any(|head| bytes[..=at].ends_with(head));
    let tabbed = memchr::memchr_iter(b'\t', bytes).any(head);
    let counted = numbered(bytes.split(|b| *b == b'\n').next().unwrap_or(bytes)).is_some();
    if !barred && !several && !listed && !tabbed && !counted {
        return None;
    }
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let mut own: Vec<Option<String>> = vec![None; lines.len()];
    if counted {
        numbers(&lines, &mut own);
    }
    if tabbed {
        tabs(&lines, &mut own);
    }
    if barred {
        tables(&lines, &mut own);
    }
    if several {
        files(&lines, &mut own);
    }
    if listed {
        crate::loops::rows(&lines, &mut own);
    }
    if own.iter().all(Option::is_none) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() + 256);
    for (at, (line, own)) in lines.iter().zip(&own).enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(own.as_ref().map_or(line, |o| o.as_bytes()));
    }
    Some(out)
}

/// First columns of tables of the kernel, with a tab behind.
const TABBED: [&[u8]; 3] = [b"domain\t", b"clock\t", b"regulator\t"];

/// Rows of a table whose head has tabs for blanks, up to an empty line.
fn tabs(lines: &[&[u8]], own: &mut [Option<String>]) {
    let mut inside = false;
    for (line, own) in lines.iter().zip(own) {
        let text = own.clone().or_else(|| std::str::from_utf8(line).ok().map(Into::into));
        let Some(text) = text else { continue };
        let trimmed = text.trim_start_matches(['>', ' ']).as_bytes();
        inside |= TABBED.iter().any(|head| trimmed.starts_with(head));
        inside &= !trimmed.trim_ascii().is_empty();
        if inside && text.contains('\t') {
            *own = Some(text.replace('\t', "    "));
        }
    }
}

/// The number before a line that `cat -n` printed, and what stands behind it.
fn numbered(line: &[u8]) -> Option<(u64, &str)> {
    let text = std::str::from_utf8(line).ok()?.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let rest = rest.strip_prefix('\t').or_else(|| rest.strip_prefix("  "))?;
    Some((text[..digits].parse().ok()?, rest))
}

/// Numbers that count the lines of the text, from the first on.
fn numbers(lines: &[&[u8]], own: &mut [Option<String>]) {
    let used = lines.iter().rposition(|l| !l.trim_ascii().is_empty()).map_or(0, |at| at + 1);
    let all: Option<Vec<_>> = lines[..used].iter().map(|l| numbered(l)).collect();
    let Some(all) = all.filter(|all| all.len() > 1) else { return };
    if all.windows(2).all(|two| two[0].0.checked_add(1) == Some(two[1].0)) {
        for ((_, text), own) in all.iter().zip(own) {
            *own = Some((*text).to_string());
        }
    }
}

/// The cells of a row that bars part; nothing if the line is none.
fn cells(line: &[u8]) -> Option<(&str, Vec<&str>)> {
    let (marks, text) = unquoted(line)?;
    let inner = text.strip_prefix('|')?.strip_suffix('|')?;
    let mark = |c: char| c.is_whitespace() || matches!(c, '`' | '*' | '\u{a0}');
    (!inner.contains("||"))
        .then(|| (marks, inner.split('|').map(|c| c.trim_matches(mark)).collect()))
}

fn is_rule(cells: &[&str]) -> bool {
    cells.iter().all(|c| !c.is_empty() && c.bytes().all(|b| matches!(b, b'-' | b':' | b' ')))
}

/// Whether the head of a table is that of one that the kernel prints: its first column, and
/// one that no other table has.
fn is_kernels(head: &[&str]) -> bool {
    let has = |part: &str| head[1..].iter().any(|c| c.to_ascii_lowercase().contains(part));
    match head.first().map(|c| c.to_ascii_lowercase()).as_deref() {
        Some("domain") => has("status"),
        Some("clock") => has("enable") || has("count"),
        Some("regulator") => has("use"),
        Some("state" | "name") => {
            has("usage") || has("count") || has("residency") || has("latency")
        }
        _ => false,
    }
}

/// The files of which the columns of a table are the values, a row a device; nothing if the
/// first column is one, or fewer than two are.
fn files_of_devices(head: &[&str]) -> Option<Vec<Option<&'static str>>> {
    let named = |c: &&str| FILES.iter().find(|f| f.0 == *c || f.1 == *c).map(|f| f.0);
    let columns: Vec<_> = head.iter().map(named).collect();
    (columns.first()?.is_none() && columns.iter().flatten().count() > 1).then_some(columns)
}

/// A row of such a table, as loops of a shell print it.
fn device(row: &[&str], columns: &[Option<&'static str>]) -> String {
    let values = row.iter().zip(columns).filter_map(|(cell, file)| {
        let whole = !cell.is_empty() && !cell.contains(char::is_whitespace);
        file.filter(|_| whole).map(|file| format!(" {file}={cell}"))
    });
    row.first().map_or("", |name| name).to_string() + ":" + &values.collect::<String>()
}

/// Tables with bars below a head and a rule.
fn tables(lines: &[&[u8]], own: &mut [Option<String>]) {
    let mut at = 0;
    while at + 1 < lines.len() {
        let head = cells(lines[at]);
        let files = head.as_ref().and_then(|(_, head)| files_of_devices(head));
        let head = head.filter(|(_, head)| files.is_some() || is_kernels(head));
        let rule = cells(lines[at + 1]).is_some_and(|(_, c)| is_rule(&c));
        let Some((marks, _)) = head.filter(|_| rule) else {
            at += 1;
            continue;
        };
        let count = lines[at..].iter().take_while(|l| cells(l).is_some()).count();
        for (n, (line, own)) in lines[at..at + count].iter().zip(&mut own[at..]).enumerate() {
            let Some((_, row)) = cells(line) else { continue };
            if let Some(columns) = &files {
                *own = (n > 1).then(|| marks.to_string() + &device(&row, columns));
                continue;
            }
            // A rule is as long as the kernel's.
            *own = Some(match is_rule(&row) {
                true => format!("{marks}{}", "-".repeat(40)),
                false => {
                    let full: Vec<&str> = row.into_iter().filter(|c| !c.is_empty()).collect();
                    let text = full.join("     ");
                    format!("{marks}{}", if n == 0 { text.to_ascii_lowercase() } else { text })
                }
            });
        }
        at += count;
    }
}

/// So many files of one command, at most, print a line each.
const MOST: usize = 64;

/// Files of a command that prints several, each of one line.
fn files(lines: &[&[u8]], own: &mut [Option<String>]) {
    for (at, line) in lines.iter().enumerate() {
        if memmem::find(line, b"cat /").is_none() {
            continue;
        }
        let Some((marks, text)) = unquoted(line) else { continue };
        let Some(typed) = command(text) else { continue };
        let one = typed.strip_prefix("sudo ").unwrap_or(typed);
        if !one.starts_with("cat /") || one.contains(['|', '>', '<', ';', '&', '$', '?']) {
            continue;
        }
        let (mut paths, _) = reads(one);
        let known = paths.iter().all(|p| p.starts_with("/sys/") || p.starts_with("/proc/sys/"));
        let stars = one.contains('*');
        if stars && !paths.iter().all(|p| is_of_states(p)) {
            continue;
        }
        let least = if stars { 1 } else { 2 };
        if !(least..=MOST).contains(&paths.len()) || !known {
            continue;
        }
        let values = lines[at + 1..].iter().map_while(|l| {
            let (own_marks, text) = unquoted(l)?;
            let ends = text.is_empty() || text.starts_with("```") || command(text).is_some();
            (!ends && own_marks.matches('>').eq(marks.matches('>'))).then_some(text)
        });
        let values: Vec<&str> = values.take(MOST + 1).collect();
        if stars {
            paths = states(&paths, values.len());
        }
        if values.len() != paths.len() {
            continue;
        }
        for ((path, value), own) in paths.iter().zip(values).zip(&mut own[at + 1..]) {
            *own = Some(format!("{marks}{path}:{value}"));
        }
    }
}

/// Whether a path means a file of each idle state of one CPU: `…/cpu0/cpuidle/state*/usage`.
fn is_of_states(path: &str) -> bool {
    path.matches('*').count() == 1 && path.contains("/cpuidle/state*/")
}

/// Such paths as a shell expands them, for so many values: of each file all states, by number.
fn states(paths: &[String], values: usize) -> Vec<String> {
    let count = values / paths.len();
    if count > crate::idle::MOST_STATES as usize {
        return Vec::new();
    }
    let of = |p: &String| {
        let p = p.clone();
        (0..count).map(move |n| p.replace("state*", &format!("state{n}")))
    };
    paths.iter().flat_map(of).collect()
}

/// A file of a word `KEY=VALUE`, and its value.
fn file(word: &str) -> Option<(&'static str, &str)> {
    let (key, value) = word.split_once('=')?;
    let value = value.trim_end_matches([',', ';']);
    let known = FILES.iter().find(|f| f.0 == key)?;
    (!value.is_empty()).then_some((known.1, value))
}

/// The device of `NAME: control=on status=active …`, and its files with their values; nothing
/// if the line is no such row.
fn listed(text: &str) -> Option<(&str, Vec<(&'static str, &str)>)> {
    let begin = text.split(' ').find(|w| file(w).is_some())?;
    // It is a part of the text, so this is where it begins.
    let at = begin.as_ptr() as usize - text.as_ptr() as usize;
    let name = text[..at].trim_end().trim_end_matches([':', '|', ',', '-']).trim();
    let words = text[at..].split_whitespace();
    let files: Vec<_> = words.map(file).collect::<Option<_>>()?;
    let tells = |f: &(&str, &str)| match f.0 {
        "control" => matches!(f.1, "on" | "auto"),
        "runtime_status" => matches!(f.1, "active" | "suspended" | "unsupported" | "error"),
        _ => false,
    };
    let row = !name.is_empty() && name.len() <= 80 && files.len() > 1 && files.iter().any(tells);
    row.then_some((name, files))
}

/// The device of a tunable of powertop (src/tuning/runtime.cpp and tuningusb.cpp, 2.15), and
/// whether it may sleep: `Bad;Autosuspend for USB device NAME;`, `>> Good   Runtime PM for
/// PCI Device NAME`.
fn tunable(text: &str) -> Option<(&str, bool)> {
    let text = text.trim_start_matches(['>', ' ', '\t', '*', '|']);
    let (good, rest) = match text.strip_prefix("Bad") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("Good")?),
    };
    let rest = rest.trim_start_matches([';', ' ', '\t', '|', ',']);
    let name = rest.strip_prefix("Autosuspend for USB device ");
    let bus = || rest.strip_prefix("Runtime PM for ")?.split_once(" Device ").map(|p| p.1);
    // powertop names the maker of a USB device in brackets, or its port.
    let name = name.or_else(bus)?.trim_end_matches([';', ' ', '|', '\t', '\r']);
    let short = name.split_once(" [").map_or(name, |(name, _)| name);
    (!short.is_empty()).then_some((short, good))
}

/// The device of a row of `tlp-stat -e` or `-u`, and the files of its `power` folder:
/// `/sys/bus/pci/devices/0000:00:14.0/power/control = auto (0x0c0330, USB controller, xhci_hcd)`,
/// `Bus 003 Device 004 ID 1234:5678 control = on,   autosuspend_delay_ms =  2000 -- NAME (usbhid)`.
fn of_tlp(text: &str) -> Option<(String, Vec<(&'static str, &str)>)> {
    let text = text.trim_start_matches(['>', ' ', '\t']).trim_end();
    let (path, rest) = text.split_once("control = ")?;
    let (value, rest) = rest.split_once([',', ' ', '(']).unwrap_or((rest, ""));
    let mut files = Vec::from([("control", value.trim())]);
    matches!(files[0].1, "on" | "auto").then_some(())?;
    if let Some(folder) = path.strip_suffix("/power/").filter(|p| p.starts_with("/sys/bus/")) {
        let device = folder.rsplit('/').next()?;
        // The driver is the last of three.
        let said = rest.trim().trim_start_matches('(').strip_suffix(')');
        let driver = said.and_then(|s| s.rsplit(", ").next());
        let driver = driver.filter(|d| *d != "no driver" && !d.is_empty() && !d.contains(' '));
        let name = driver.map_or(device.to_string(), |d| format!("{device} ({d})"));
        return Some((name, files));
    }
    let id = path.strip_prefix("Bus ")?.split_once(" ID ")?.1.trim();
    let delay = rest.split_once("autosuspend_delay_ms = ").map(|(_, r)| r.trim_start());
    let delay = delay.and_then(|d| d.split(' ').next()).filter(|d| d.parse::<i64>().is_ok());
    files.extend(delay.map(|d| ("autosuspend_delay_ms", d)));
    let name = rest.split_once(" -- ").map_or("", |(_, name)| name.trim());
    let name = if name.is_empty() { id.to_string() } else { format!("{id} {name}") };
    (!name.is_empty() && !name.contains('/')).then_some((name, files))
}

/// Whether a text may have such rows.
pub(crate) fn has_rows(bytes: &[u8]) -> bool {
    [
        &b"control="[..],
        b"status=",
        b"Autosuspend for USB device ",
        b"Runtime PM for ",
        b"control = ",
    ]
    .iter()
    .any(|w| memmem::find(bytes, w).is_some())
}

/// What a line says of one device: its name, and files of its `power` folder with values.
pub(crate) fn row(line: &str) -> Option<(String, Vec<(&'static str, &str)>)> {
    let of = |(name, good): (&str, bool)| {
        (name.to_string(), vec![("control", if good { "auto" } else { "on" })])
    };
    let listed = listed(line).map(|(name, files)| (name.to_string(), files));
    listed.or_else(|| tunable(line).map(of)).or_else(|| of_tlp(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let out = plain(text.as_bytes()).unwrap_or_else(|| text.into());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_table_with_bars_is_one_with_blanks_and_others_stay() {
        let text = "x\n| domain | status | device |\n|---|:--:|---|\n| pd_a | on | |\nend";
        let rule = "-".repeat(40);
        let want = format!("x\ndomain     status     device\n{rule}\npd_a     on\nend");
        assert_eq!(shown(text), want);
        let other = "| who | what |\n|---|---|\n| a | b |\n";
        assert_eq!(shown(other), other);
        let no_rule = "| domain | status |\n| a | on |\n";
        assert_eq!(shown(no_rule), no_rule);
    }

    #[test]
    fn lines_lose_their_numbers_and_tables_their_tabs() {
        let head = "domain\t\tstatus\tchildren\n";
        let text = format!("say\n{head}\t/device\tactive\na\ton\t0\n\n1.mmc\tmmc: no clock\n");
        let want = "say\ndomain        status    children\n    /device    active\na    on    0\n\n\
                    1.mmc\tmmc: no clock\n";
        assert_eq!(shown(&text), want);
        let rows = "  9\t# cat x\n 10\t1.mmc\tmmc: no clock\n 11\t\n";
        assert_eq!(shown(rows), "# cat x\n1.mmc\tmmc: no clock\n\n");
        for other in ["1  one\n3  three\n", "1  one\n2  two\nend\n", "1\tone\n"] {
            assert_eq!(shown(other), other);
        }
    }

    #[test]
    fn a_row_with_the_files_of_a_device_is_one_of_its_own() {
        let text = "| dev | product | control | runtime_status | power |\n|---|---|---|---|---|\n\
            | 3-2 | Big Reader | `on` | active | 5 |\n| 3-4 | x | auto | | |\n";
        let rows = "3-2: control=on status=active\n3-4: control=auto\n";
        assert!(shown(text).ends_with(rows), "{}", shown(text));
        let other = "| control | status |\n|---|---|\n| on | active |\n";
        assert_eq!(shown(other), other);
    }

    #[test]
    fn files_of_one_command_have_their_values_in_its_order() {
        let text =
            "me@pc:~$ cat /sys/a/power/{control,runtime_usage} /sys/b\nauto\n2\nmem disk\n$ ls\n";
        let want = "me@pc:~$ cat /sys/a/power/{control,runtime_usage} /sys/b\n\
            /sys/a/power/control:auto\n/sys/a/power/runtime_usage:2\n/sys/b:mem disk\n$ ls\n";
        assert_eq!(shown(text), want);
        let quoted = "> # cat /sys/a /sys/b\n> 1\n> 2\n";
        assert_eq!(shown(quoted), "> # cat /sys/a /sys/b\n> /sys/a:1\n> /sys/b:2\n");
        let each = "$ cat /sys/x/cpuidle/state*/{name,usage}\nPOLL\nC2\n7\n90\n";
        assert!(shown(each).ends_with(
            "\n/sys/x/cpuidle/state0/name:POLL\n/sys/x/cpuidle/state1/name:C2\n\
             /sys/x/cpuidle/state0/usage:7\n/sys/x/cpuidle/state1/usage:90\n"
        ));
        for other in [
            "$ cat /sys/x/cpuidle/state*/{name,usage}\nPOLL\nC2\n7\n",
            "$ cat /sys/*/cpuidle/state*/usage\n7\n",
            "$ cat /sys/a /sys/b\n1\n",
            "$ cat /sys/a /sys/b\n1\n2\n3\n",
            "$ cat /sys/a /sys/b | sort\n1\n2\n",
            "$ cat /sys/a\n1\n2\n",
        ] {
            assert_eq!(shown(other), other);
        }
    }

    #[test]
    fn rows_of_loops_and_tunables_say_what_one_device_may() {
        let (name, files) =
            row("2-4 Reader: control=on status=active active=90 suspended=0").expect("a row");
        assert_eq!(
            (name.as_str(), files[0], files[3]),
            ("2-4 Reader", ("control", "on"), ("runtime_suspended_time", "0"))
        );
        let said = |l: &'static str| row(l).map(|(name, files)| (name, files[0].1));
        assert_eq!(
            said("Bad;Autosuspend for USB device Reader [ACME];"),
            Some(("Reader".into(), "on"))
        );
        assert_eq!(
            said("   Good          Runtime PM for PCI Device ACME X1"),
            Some(("ACME X1".into(), "auto"))
        );
        assert_eq!(
            said(
                "/sys/bus/pci/devices/0000:02:00.0/power/control = on   (0x028000, Network controller, elmwifi)"
            ),
            Some(("0000:02:00.0 (elmwifi)".into(), "on"))
        );
        assert_eq!(
            said(
                "/sys/bus/pci/devices/0000:00:1f.3/power/control = auto (0x0c0500, SMBus, no driver)"
            ),
            Some(("0000:00:1f.3".into(), "auto"))
        );
        let usb = "Bus 001 Device 006 ID 1d6b:0104 control = on,   autosuspend_delay_ms =  2000 -- ACME Reader (usbhid)";
        let (name, files) = row(usb).expect("a row");
        assert_eq!(name, "1d6b:0104 ACME Reader (usbhid)");
        assert_eq!(files, [("control", "on"), ("autosuspend_delay_ms", "2000")]);
        for none in [
            "volume control = on, as I said",
            "Bad;VM writeback timeout;",
            "it has control=on",
            "a: control=on and status=active",
            "x: status=5 active=6",
        ] {
            assert_eq!(row(none), None, "{none}");
        }
    }
}
