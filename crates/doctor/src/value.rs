//! Values of sysfs, procfs and debugfs files that a text shows, either as
//! `grep` prints them (`/sys/…/control:auto`) or after the command that read
//! them (`cat /sys/…`, and the value in the next line).

use crate::message::{Message, Trust};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Line of the text, from 1.
    pub line: u64,
    /// Path of the file.
    pub path: String,
    /// Its content, one line.
    pub value: String,
}

/// A counter of a millisecond comes so far in 285,000 years, one of a microsecond in 285.
const MOST_COUNTED: u64 = 1 << 53;

impl Value {
    /// Name of the file without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The count that it is. What no counter of a machine reaches is damage, and would leave no
    /// room for sums and shares.
    pub fn count(&self) -> Option<u64> {
        self.value.parse().ok().filter(|n| *n < MOST_COUNTED)
    }

    /// Whether the file has to do with sleep, by a word of its path: power management, what wakes,
    /// idle states, batteries, and settings of the kernel and of its modules.
    pub fn is_of_sleep(&self) -> bool {
        const WORDS: [&str; 22] = [
            "power",
            "wake",
            "suspend",
            "sleep",
            "resum",
            "hibernat",
            "pm",
            "idle",
            "aspm",
            "d3cold",
            "swap",
            "acpi",
            "kernel",
            "module",
            "runtime",
            "rpm",
            "genpd",
            "rtc",
            "clocksource",
            "battery",
            "bat",
            "energy",
        ];
        let lower = self.path.to_ascii_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        !lower.starts_with("/sys/class/") && !lower.starts_with("/sys/devices/")
            || words.any(|w| WORDS.iter().any(|x| w.starts_with(x)))
    }

    /// The folder.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(f, _)| f)
    }
}

/// How the paths of files begin that a text may show: sysfs, and the few sysctls that are of
/// sleep alone (drivers/base/power/main.c:dpm_watchdog_sysctls, 7.3).
const FILES: [&str; 2] = ["/sys/", "/proc/sys/kernel/dpm_"];

/// `kernel.dpm_watchdog_timeout_secs = 60`, as sysctl prints it, as path and value.
fn sysctl(text: &str) -> Option<(String, String)> {
    let (name, value) = text.strip_prefix("kernel.")?.split_once('=')?;
    let (name, value) = (name.trim_end(), value.trim());
    let ours = name.starts_with("dpm_") && !name.contains(' ');
    let number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    (ours && number).then(|| (["/proc/sys/kernel/", name].concat(), value.to_string()))
}

/// The files that a line of commands reads, in their order, of which each has one line: nothing
/// where another command prints too.
fn read_by(text: &str) -> Vec<String> {
    if !FILES.iter().any(|f| text.contains(f)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for part in text.split([';', '&']).filter(|p| !p.trim().is_empty()) {
        match read_by_one(part) {
            Some(files) => out.extend(files),
            None => return Vec::new(),
        }
    }
    out
}

/// The files that a command with such paths at its end reads.
fn read_by_one(text: &str) -> Option<Vec<String>> {
    let at = FILES.iter().filter_map(|f| text.find(f)).min()?;
    let mut command = text[..at].trim_end();
    while let Some((before, word)) = command.rsplit_once(' ')
        && word.starts_with('-')
    {
        command = before.trim_end();
    }
    let reads = ["cat", "more", "less", "head", "tail"].iter().any(|c| {
        command.strip_suffix(c).is_some_and(|b| b.is_empty() || b.ends_with([' ', '$', '#']))
    });
    let paths = &text[at..];
    // Devices have colons in their names, and files have none.
    let file = |w: &str| !w.rsplit('/').next().is_some_and(|name| name.contains(':'));
    let known = |w: &str| FILES.iter().any(|f| w.starts_with(f)) && file(w);
    let fits = reads && paths.split_whitespace().all(known) && !paths.contains(['*', '|', '>']);
    fits.then(|| paths.split_whitespace().flat_map(braced).collect())
}

/// The words that a shell makes of one with braces: `/sys/a/{b,c}` is two files.
pub fn braced(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (list, tail))) = parts.filter(|p| p.1.0.contains(',')) else {
        return vec![word.to_string()];
    };
    list.split(',').map(|one| format!("{head}{one}{tail}")).take(MOST).collect()
}

/// So many files one word is at most.
const MOST: usize = 64;

/// The file that `head` and `tail` name above each of several, `==> /sys/a/b <==` (coreutils,
/// head.c:write_header).
pub fn heading(text: &str) -> Option<&str> {
    text.trim().strip_prefix("==> ")?.strip_suffix(" <==")
}

/// The folder of a prompt that runs `grep`: `root@h:/sys/power$ grep -r "" *`.
fn grepped(text: &str) -> Option<&str> {
    let (prompt, _) = text.split_once(" grep ")?;
    let at = prompt.rfind(":/sys/")? + 1;
    let folder = prompt[at..].trim_end_matches(['$', '#', ' ']);
    (!folder.contains([' ', ':', '*'])).then_some(folder)
}

/// The command of a sentence that announces what it printed: ``Output of `cat /sys/…`:``.
fn announced(text: &str) -> Option<String> {
    let (_, rest) = text.strip_suffix("`:")?.rsplit_once('`')?;
    rest.contains("/sys/").then(|| rest.into())
}

/// Path and value of a line of `grep`. Names of devices have colons, those of files have
/// none, so the colon after the last slash parts them; a value seldom has a slash.
fn parts(text: &str) -> Option<(&str, &str)> {
    let file = text.rfind('/')?;
    let colon = text[file..].find(':').map(|at| file + at).or_else(|| text.find(':'));
    if colon.is_none() {
        // As people write it.
        let (path, value) = text.split_once('=')?;
        let number = value.trim().bytes().all(|b| b.is_ascii_digit()) && !value.trim().is_empty();
        return number.then(|| (path.trim_end(), value));
    }
    let colon = colon?;
    Some((&text[..colon], &text[colon + 1..]))
}

/// A line that a program printed, without the marks of emphasis that a page of the web or a
/// mail puts around words.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['*', '`']) { text.replace(['*', '`'], "").into() } else { text.into() }
}

/// Whether a line is the next command of a terminal, not what the last one printed.
fn is_prompt(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['#', '$'])
        || text.contains(":~#")
        || text.contains(":~$")
        || text.contains("# cat /")
        || text.contains("$ cat /")
}

/// Whether a line that follows a command is what its file says: any line but a message of a
/// log, a further command and an error of the command.
fn is_content(m: &Message, text: &str) -> bool {
    let error = ["No such file", "Permission denied", "No data available", "command not found"];
    !text.is_empty()
        && m.trust != Trust::Logged
        && !is_prompt(text)
        && !error.iter().any(|e| text.contains(e))
}

/// Folder of the files that the table of debugfs sums up.
const STATS: &str = "/sys/power/suspend_stats";

/// A row of `suspend_stats` of debugfs (kernel/power/main.c:suspend_stats_show, 3.0 to 7.3):
/// `failed_freeze: 0`, `  last_failed_dev:\talx`. Further lines below such a one are older.
fn stat(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.trim().split_once(':')?;
    let known = name.starts_with("last_failed_") || name.starts_with("failed_");
    let known = known && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let value = value.trim();
    let counts = matches!(name, "success" | "fail") && !value.is_empty();
    let number = value.bytes().all(|b| b.is_ascii_digit());
    (known || counts && number).then_some((name, value))
}

/// The rows in a line: people put several side by side, and words of theirs behind them.
fn stats_of(text: &str) -> Vec<(&str, &str)> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    let mut named: Option<&str> = None;
    for part in text.split("  ").map(str::trim).filter(|p| !p.is_empty()) {
        let known = stat(part);
        match (named.take(), known) {
            (Some(name), None) => out.push((name, part)),
            (_, Some((name, ""))) => named = Some(name),
            (_, Some(row)) => out.push(row),
            (None, None) if matches!(part, "success:" | "fail:") => named = part.strip_suffix(':'),
            // What does not begin with a row has none.
            (None, None) if out.is_empty() => return out,
            (None, None) => {}
        }
    }
    out.extend(named.map(|name| (name, "")));
    out.retain(|(name, value)| {
        let number = value.bytes().all(|b| b.is_ascii_digit()) && !value.is_empty();
        number || !matches!(*name, "success" | "fail")
    });
    out
}

/// A message of a log shows a value only with one of these: a path, a command, or emphasis
/// that may hide them.
const MARKS: [&str; 6] = ["/sys/", "/proc/sys", "kernel.", " grep ", "*", "`"];

/// What `messages` show.
pub fn shown(messages: &[Message]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    // Where a `grep` was run: it prints names of that folder.
    let mut folder: Option<&str> = None;
    // The last row of the table of attempts, and so many rows in one piece: one is a word in
    // a sentence.
    let mut stats: Vec<Value> = Vec::new();
    let mut quiet = 0;
    for (i, m) in messages.iter().enumerate() {
        let nothing = folder.is_none() && waiting.is_empty() && stats.is_empty();
        if nothing && m.trust == Trust::Logged && !MARKS.iter().any(|w| m.has(w)) {
            quiet += 1;
            continue;
        }
        let text = m.text.trim();
        let marked = plain(text);
        let rows = if m.trust == Trust::Logged { Vec::new() } else { stats_of(&marked) };
        if !rows.is_empty() {
            stats.extend(rows.into_iter().map(|(name, value)| {
                let path = [STATS, name].join("/");
                Value { line: m.line, path, value: value.to_string() }
            }));
            quiet = 0;
            waiting.clear();
            continue;
        }
        // Older failures stand below the last one, and "failures:" above.
        quiet += 1;
        if quiet > 2 || m.trust == Trust::Logged {
            let whole = stats.len() >= ROWS;
            out.extend(stats.drain(..).filter(|_| whole));
        }
        folder = grepped(text).or(folder.filter(|_| !text.is_empty()));
        // What it could not read is of that file: `grep: pm_wakeup_irq: No data available`.
        let row = text.strip_prefix("grep: ").unwrap_or(text);
        if let (Some(at), Some((name, value))) = (folder, row.split_once(':'))
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_/-.".contains(&b))
            && !name.starts_with('/')
        {
            let path = [at, name].join("/");
            out.push(Value { line: m.line, path, value: value.trim().to_string() });
            continue;
        }
        if let Some(path) = heading(text).filter(|p| FILES.iter().any(|f| p.starts_with(f))) {
            waiting = vec![path.to_string()];
            continue;
        }
        if !waiting.is_empty() {
            // What a terminal asks for before the command runs is no content, nor is a fence.
            if text.starts_with("[sudo] ") || text.starts_with("```") {
                continue;
            }
            let path = waiting.remove(0);
            if is_content(m, text) {
                out.push(Value { line: m.line, path, value: text.to_string() });
                continue;
            }
            waiting.clear();
        }
        if let Some((path, value)) = sysctl(&marked) {
            out.push(Value { line: m.line, path, value });
        } else if FILES.iter().any(|f| marked.starts_with(f)) {
            if let Some((path, value)) = parts(&marked)
                && !path.contains(' ')
            {
                let (path, value) = (path.to_string(), value.trim().to_string());
                out.push(Value { line: m.line, path, value });
            }
        } else {
            waiting = read_by(&announced(text).unwrap_or(text.into()));
            // Of several files only their number tells which line is whose.
            if waiting.len() > 1 {
                let below = messages[i + 1..].iter().take(waiting.len() + 1);
                let lines = below.take_while(|m| is_content(m, m.text.trim())).count();
                if lines != waiting.len() {
                    waiting.clear();
                }
            }
        }
    }
    let whole = stats.len() >= ROWS;
    out.extend(stats.into_iter().filter(|_| whole));
    out.sort_by_key(|v| v.line);
    out
}

/// So many rows at least make a table of attempts.
const ROWS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_leaves_room_for_sums() {
        let of = |value: &str| Value { line: 1, path: "x".into(), value: value.into() }.count();
        assert_eq!((of("7"), of("18446744073709551615"), of("-1")), (Some(7), None, None));
    }

    #[test]
    fn counters_of_attempts_stand_side_by_side() {
        assert_eq!(
            stats_of("success: 31   fail: 4    <- too many"),
            [("success", "31"), ("fail", "4")]
        );
        assert_eq!(stats_of("last_failed_dev:\talx"), [("last_failed_dev", "alx")]);
        assert_eq!(stats_of("last_failed_errno:  -16   (-EBUSY)"), [("last_failed_errno", "-16")]);
        assert_eq!(stats_of("last_failed_dev:"), [("last_failed_dev", "")]);
        assert_eq!(stats_of("It was a success: it slept"), []);
        assert_eq!(stats_of("success: it slept"), []);
    }

    #[test]
    fn both_forms_and_no_others() {
        let lines = [
            "$ sudo more /sys/kernel/debug/pmc_core/slp_s0_residency_usec",
            "0",
            "/sys/bus/usb/devices/1-3/power/control:auto",
            "echo 1 > /sys/power/pm_debug_messages",
            "1",
            "see /sys/power/wakeup_count",
            "Output of `cat /sys/power/disk`:",
            "```",
            "[elm]",
            "/sys/devices/pci0000:00/0000:00:14.0/power/wakeup:enabled",
            "/sys/power/resume:/dev/sda2",
            "root@h:/sys/power# grep -r . *",
            "pm_test:none [freezer]",
            "grep: pm_wakeup_irq: No data available",
            "",
            "note:this is none",
            "# cat /sys/power/suspend_stats/success /sys/power/suspend_stats/last_hw_sleep",
            "8",
            "411000000",
            "$ cat /sys/power/mem_sleep /proc/loadavg",
            "[s2idle]",
        ];
        let messages: Vec<Message> = lines
            .iter()
            .map(|t| Message {
                line: 1,
                time: None,
                second: None,
                text: (*t).into(),
                trust: Trust::Prose,
            })
            .collect();
        let found: Vec<(String, String)> =
            shown(&messages).into_iter().map(|v| (v.name().to_string(), v.value)).collect();
        assert_eq!(
            found,
            [
                ("slp_s0_residency_usec".to_string(), "0".to_string()),
                ("control".to_string(), "auto".to_string()),
                ("disk".to_string(), "[elm]".to_string()),
                ("wakeup".to_string(), "enabled".to_string()),
                ("resume".to_string(), "/dev/sda2".to_string()),
                ("pm_test".to_string(), "none [freezer]".to_string()),
                ("pm_wakeup_irq".to_string(), "No data available".to_string()),
                ("success".to_string(), "8".to_string()),
                ("last_hw_sleep".to_string(), "411000000".to_string()),
            ]
        );
    }

    #[test]
    fn several_files_of_a_command_answer_in_their_order() {
        let of = |text: &str| -> Vec<(String, String)> {
            let message = |(i, t): (usize, &str)| Message {
                line: i as u64 + 1,
                time: None,
                second: None,
                text: t.to_string().into(),
                trust: Trust::Prose,
            };
            let messages: Vec<Message> = text.lines().enumerate().map(message).collect();
            let name = |v: Value| (v.path.rsplit_once("/sys/").map_or("", |p| p.1).into(), v.value);
            shown(&messages).into_iter().map(name).collect()
        };
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        let both = [pair("x/a", "3"), pair("x/b", "4")];
        let of_pci = [pair("x/0000:05:00.0/power/a", "3")];
        assert_eq!(of("$ cat /sys/x/0000:05:00.0/power/a\n3"), of_pci);
        assert!(of("cat /sys/x/a: Permission denied\n3").is_empty());
        assert_eq!(of("$ sudo cat /sys/x/a /sys/x/b\n3\n4\n$ "), both);
        assert_eq!(of("$ cat /sys/x/{a,b}\n3\n4"), both);
        assert_eq!(of("$ cat /sys/x/a; cat /sys/x/b\n3\n4\n\nthen"), both);
        assert_eq!(of("# head -n1 /sys/x/{a,b}\n==> /sys/x/a <==\n3\n\n==> /sys/x/b <==\n4"), both);
        // One of them has more lines than one.
        assert!(of("$ cat /sys/x/a /sys/x/b\n3\n4\n5").is_empty());
        assert!(of("$ uptime; cat /sys/x/a /sys/x/b\n1:00 up\n3\n4").is_empty());
    }

    #[test]
    fn values_in_lines_of_a_log_are_seen() {
        let log = |text: &str| {
            let text = text.into();
            let m = Message { line: 1, time: None, second: None, text, trust: Trust::Logged };
            shown(&[m]).into_iter().map(|v| (v.path, v.value)).next().unwrap_or_default()
        };
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(log("/sys/power/mem_sleep:deep"), pair("/sys/power/mem_sleep", "deep"));
        assert_eq!(log("/s*ys/power/mem_sleep:deep"), pair("/sys/power/mem_sleep", "deep"));
        let watchdog = pair("/proc/sys/kernel/dpm_watchdog_timeout_secs", "7");
        assert_eq!(log("/proc/sys/kernel/dpm_watchdog_timeout_secs:7"), watchdog);
        assert_eq!(log("kernel.dpm_watchdog_timeout_secs = 7"), watchdog);
        assert_eq!(log("`kernel`.dpm_watchdog_timeout_secs=7"), watchdog);
        assert_eq!(log("usb 1-1: reset"), pair("", ""));
    }
}
