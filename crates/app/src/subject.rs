//! What inputs speak of, so that whoever finds nothing in them can say where to look.

use dormouse_read::Given;
use dormouse_read::idle::Keep;
use dormouse_words::text::safe;
use std::path::{Path, PathBuf};

/// Whether an input holds what `show --only domains` reads: another verb that found
/// nothing can say so.
pub fn speaks_of_domains(given: &Given) -> bool {
    given.power().is_ok_and(|all| all.iter().any(|t| t.case.speaks()))
}

/// Whether an input holds what `show --only storage` reads: another verb that found
/// nothing can say so.
pub fn speaks_of_storage(given: &Given) -> bool {
    given.storage().is_ok_and(|r| r.speaks())
}

/// Whether an input holds what `show --only idle` reads: another verb that found nothing can
/// say so.
pub fn speaks_of_idle(given: &Given) -> bool {
    given.idle(Keep::Counts).is_ok_and(|r| r.speaks())
}

/// Programs whose output people post and no reader here knows, each with words that one of its
/// lines has.
const UNREAD: [(&str, &[&str]); 5] = [
    ("rows of cyclictest that are cut", &["T: ", "Min:", "Act:"]),
    ("a report of stress-ng", &["stress-ng: info:"]),
    ("a table of PowerTOP", &["Package", "|", "CPU 0"]),
    ("a table of rtla", &["Operating System Noise"]),
    ("what turbostat prints before its table", &["MSR_", "pkg-cstate-limit"]),
];

/// What an input is of that no reader here knows.
pub(crate) fn unread(given: &Given, path: &Path) -> Option<&'static str> {
    let bytes = (!path.is_dir()).then(|| given.raw(path).ok()).flatten()?;
    let text = String::from_utf8_lossy(&bytes);
    let has = |words: &[&str]| text.lines().any(|l| words.iter().all(|w| l.contains(w)));
    UNREAD.iter().find(|(_, words)| has(words)).map(|(what, _)| *what)
}

/// What somebody can do who gave a table in which nothing was found, if one of the inputs is one: the
/// command above it, if there is one, and what is read.
pub(crate) fn of_table(given: &Given) -> Option<String> {
    let text = |path: &PathBuf| {
        let bytes = (!path.is_dir()).then(|| given.raw(path).ok()).flatten()?;
        Some(String::from_utf8_lossy(&bytes[..bytes.len().min(TABLE)]).into_owned())
    };
    // One that nobody reads was told of.
    if given.paths().iter().any(|p| unread(given, p).is_some()) {
        return None;
    }
    let command = given.paths().iter().filter_map(text).find_map(|t| table(&t))?;
    let of = match command.is_empty() {
        true => String::new(),
        false => format!(" below \"{}\"", safe(&command)),
    };
    Some(format!(
        "\n  it has a table{of}, and nothing in it says more of a sleep. Tables that are read: turbostat, \
         powertop, cpupower, cyclictest, rtla, hdparm, nvme, smartctl, ethtool, /proc/interrupts, \
         /proc/acpi/wakeup, wakeup_sources, suspend_stats, pm_genpd_summary. A kernel log beside it \
         (dmesg > FILE, journalctl -k) tells what happened"
    ))
}

/// So many bytes of an input are looked at for that.
const TABLE: usize = 1 << 16;

/// The command above the first table of a text: rows that stand one below the other, with as many
/// words, three or more, and figures among them.
fn table(text: &str) -> Option<String> {
    const ROWS: usize = 3;
    const WORDS: usize = 3;
    let lines: Vec<&str> = text.lines().map(|l| l.trim_start_matches(['>', ' '])).collect();
    let words = |l: &str| -> Option<usize> {
        let n = l.split_whitespace().count();
        let figure = |w: &str| w.bytes().filter(u8::is_ascii_digit).count() * 2 > w.len();
        (n >= WORDS && l.split_whitespace().any(figure)).then_some(n)
    };
    let like = |w: &[&str]| {
        let first = words(w[0]);
        first.is_some() && w.iter().all(|l| words(l) == first)
    };
    let at = lines.windows(ROWS).position(like)?;
    // A title in Markdown begins as the prompt of root does, and has words alone.
    let signs = |c: &str| c.contains(['/', '-', '|', '.']);
    let command = |l: &&&str| match (l.strip_prefix("$ "), l.strip_prefix("# ")) {
        (Some(c), _) => c.starts_with(|c: char| c.is_ascii_lowercase() || c == '/'),
        (None, Some(c)) => c.starts_with(|c: char| c.is_ascii_lowercase()) && signs(c),
        (None, None) => false,
    };
    let above = lines[..at].iter().rev().take(12).find(command);
    Some(above.map_or(String::new(), |l| l[2..].trim().chars().take(80).collect()))
}

/// The text of a board file, which begins with `board N`.
pub fn board_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'))?;
    first.strip_prefix("board")?.starts_with(char::is_whitespace).then_some(text)
}

/// Whether a file can be read and is a board file.
pub fn is_board_file(given: &Given, path: &Path) -> bool {
    let opened = (!path.is_dir()).then(|| given.raw(path).ok()).flatten();
    opened.is_some_and(|b| {
        board_text(String::from_utf8_lossy(&b[..b.len().min(4096)]).as_bytes()).is_some()
    })
}

/// The form that reads what another one found nothing in.
pub(crate) fn elsewhere(given: &Given) -> Option<String> {
    if speaks_of_domains(given) {
        return Some(
            "\n  it speaks of power domains or probing: dormouse show --only domains (before: domains show)".into(),
        );
    }
    if speaks_of_storage(given) {
        return Some(
            "\n  it speaks of storage: dormouse show --only storage (before: storage show)".into(),
        );
    }
    if speaks_of_idle(given) {
        return Some(
            "\n  it speaks of CPU idle: dormouse show --only idle (before: idle show)".into(),
        );
    }
    let boot = |path: &PathBuf| {
        let bytes = (!path.is_dir()).then(|| given.raw(path).ok()).flatten()?;
        is_boot(&bytes).then(|| longest_unit(&bytes))
    };
    let longest = given.paths().iter().find_map(boot)?;
    let longest = longest.map_or(String::new(), |(unit, took)| {
        format!(
            "; the unit that took longest in it is {}, {took} by systemd-analyze: others may have \
             run beside it",
            safe(&unit)
        )
    });
    Some(format!("\n  this is a boot, no sleep{longest}"))
}

/// The first row of `systemd-analyze blame`, which has the longest unit above the others:
/// `1min 68ms oak-wait.service`.
fn longest_unit(bytes: &[u8]) -> Option<(String, String)> {
    const UNITS: [&str; 7] =
        [".service", ".mount", ".device", ".socket", ".swap", ".target", ".automount"];
    let time = |w: &str| {
        let number = w.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let unit = &w[number.len()..];
        number.parse::<f64>().is_ok() && ["h", "min", "s", "ms", "us"].contains(&unit)
    };
    String::from_utf8_lossy(bytes).lines().find_map(|l| {
        let mut words: Vec<&str> = l.split_whitespace().collect();
        let unit = words.pop().filter(|u| UNITS.iter().any(|end| u.ends_with(end)))?;
        (!words.is_empty() && words.iter().all(|w| time(w)))
            .then(|| (unit.to_owned(), words.join(" ")))
    })
}

/// Whether a text without a sleep tells of a boot: `initcall FN returned 0 after N usecs`
/// (init/main.c:trace_initcall_finish_cb, 6.12), or what systemd-analyze prints.
fn is_boot(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|l| {
        l.contains("initcall ") && l.contains(" returned ") && l.contains(" usecs")
            || l.contains("Startup finished in ") && l.contains("(kernel)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_told_by_rows_that_are_alike_and_named_by_its_command() {
        let rows = "oak 7 on\nelm 9 off\nfir 12 on\n";
        assert_eq!(
            table(&format!("$ oakctl list\nname count state\n{rows}")).as_deref(),
            Some("oakctl list")
        );
        assert_eq!(table(rows).as_deref(), Some(""));
        assert_eq!(table(&format!("# what my oak said\n{rows}")).as_deref(), Some(""));
        assert_eq!(table("I saw this.\nThen I slept well.\nIt was fine then.\n"), None);
        assert_eq!(table("oak 7 on\nelm 9 off\n"), None);
    }

    #[test]
    fn the_unit_that_took_longest_stands_first() {
        let blame = b"$ systemd-analyze blame\n1min 68ms oak-wait.service\n 13.200s elm.mount\n";
        let told = longest_unit(blame).expect("a unit");
        assert_eq!((told.0.as_str(), told.1.as_str()), ("oak-wait.service", "1min 68ms"));
        assert_eq!(longest_unit(b"I have oak.service\nrestart elm.service\n"), None);
    }
}
