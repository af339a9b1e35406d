//! Lines of what people post: quote marks and emphasis gone, prompts told from words.

use crate::text::places;
use dormouse_doctor::value::braced;
use std::borrow::Cow;

/// Whether a text has any of these, which bars part.
pub(crate) fn has(text: &str, parts: &str) -> bool {
    parts.split('|').any(|p| text.contains(p))
}

/// Whether a text has a word, and not as a part of another.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    places(text, word).any(|at| {
        edge(text[..at].chars().next_back()) && edge(text[at + word.len()..].chars().next())
    })
}

/// Whether a sentence is about the sleep of a machine.
pub(crate) fn is_of_sleep(lower: &str) -> bool {
    let words = ["sleep", "sleeps", "asleep", "slept", "resume", "resumes", "standby", "s3"];
    let parts = "suspen|s2idle|s0ix|hibernat|rtcwake|lid closed|closed the lid";
    has(lower, parts) || words.iter().any(|w| has_word(lower, w))
}

/// Longer lines are no rows of a table.
const LONGEST: usize = 1_000;

/// Whether a kernel or its keeper stamped the line: those are messages.
fn is_stamped(line: &[u8]) -> bool {
    let line = quoted(line);
    matches!(line, [b'[', b' ' | b'0'..=b'9', ..])
        || memchr::memmem::find(&line[..line.len().min(80)], b" kernel: ").is_some()
}

/// Whether a line is an event of a trace: the words in it are names.
fn is_event(line: &[u8]) -> bool {
    crate::text::find(line, b": rpm_").is_some()
        && crate::ftrace::line::scan(line).is_some_and(|raw| !raw.is_printed())
}

/// A line behind the marks of mails that quote it.
fn quoted(mut line: &[u8]) -> &[u8] {
    while let [b'>' | b' ' | b'\t', rest @ ..] = line {
        line = rest;
    }
    line
}

/// A line as its program printed it; nothing of a message of a kernel, of code fences and of
/// what no table has.
pub(crate) fn plain(raw: &[u8]) -> Option<Cow<'_, str>> {
    let line = quoted(raw).trim_ascii_end();
    let none = line.is_empty() || line.len() > LONGEST || line.starts_with(b"```");
    if none || is_stamped(raw) || is_event(line) {
        return None;
    }
    let text = crate::text::lossy(line);
    let marks = |c: char| matches!(c, '`' | '\u{a0}' | '\u{2800}');
    if text.contains("**") || text.contains(marks) {
        let text = text.replace("**", "").replace('`', "").replace(marks, " ");
        return Some(Cow::Owned(text.trim().to_owned()));
    }
    Some(text)
}

/// Tables of which `grep` may print the name before each line.
const TABLES: [&str; 14] = [
    "ltr_show",
    "package_cstate_show",
    "substate_residencies",
    "substate_requirements",
    "substate_status_registers",
    "substate_live_status_registers",
    "slp_s0_debug_status",
    "pch_ip_power_gating_status",
    "pll_status",
    "mphy_core_lanes_power_gating_status",
    "smu_fw_info",
    "s0ix_stats",
    "wakeup_sources",
    "interrupts",
];

fn table(name: &str) -> Option<&'static str> {
    let name = name.rsplit('/').next().unwrap_or(name).trim();
    TABLES.iter().find(|t| **t == name).copied()
}

/// The table and a row of it, without the name of its file, which `grep -r` puts before it.
pub(crate) fn unnamed(text: &str) -> (Option<&'static str>, &str) {
    let named = text.split_once(':').and_then(|(file, rest)| Some((table(file)?, rest)));
    named.map_or((None, text), |(name, rest)| (Some(name), rest))
}

/// The table that a command reads.
pub(crate) fn table_of(command: &str) -> Option<&'static str> {
    command.split([' ', '"', '\'']).find_map(table)
}

/// The table that a line announces: its name alone, with a colon or between marks.
pub(crate) fn heading(text: &str) -> Option<&'static str> {
    let name =
        text.trim_matches(|c: char| matches!(c, '=' | '#' | '*' | '-' | '<' | '>' | ' ' | ':'));
    if name.contains(' ') { None } else { table(name) }
}

/// What follows the line, whole lines behind each other.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a> {
    bytes: &'a [u8],
}

impl<'a> Rest<'a> {
    /// The lines of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Rest<'a> {
        Rest { bytes }
    }

    /// The next line as it stands, and what follows.
    pub(crate) fn next(self) -> Option<(&'a [u8], Rest<'a>)> {
        if self.bytes.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.bytes);
        let line = &self.bytes[..end.unwrap_or(self.bytes.len())];
        let rest = end.map_or(&[][..], |e| &self.bytes[e + 1..]);
        Some((line, Rest { bytes: rest }))
    }

    /// The next lines that are no messages, at most `n`, blank ones left out.
    pub(crate) fn ahead(self, n: usize) -> Vec<Cow<'a, str>> {
        let mut out = Vec::new();
        let mut rest = self;
        let mut looked = 0;
        while let Some((line, after)) = rest.next() {
            rest = after;
            looked += 1;
            out.extend(plain(line));
            if out.len() >= n || looked >= 2 * n {
                break;
            }
        }
        out
    }
}

/// Programs that people run before they show what they print.
const PROGRAMS: [&str; 34] = [
    "acpi",
    "cat",
    "cd",
    "cpupower",
    "dmesg",
    "echo",
    "for",
    "fwts",
    "grep",
    "head",
    "journalctl",
    "less",
    "ls",
    "lspci",
    "lsusb",
    "modprobe",
    "more",
    "powertop",
    "rmmod",
    "rtcwake",
    "setpci",
    "sleep",
    "sudo",
    "systemctl",
    "tail",
    "tee",
    "turbostat",
    "upower",
    "watch",
    "while",
    "sh",
    "bash",
    "suspend_stress_test",
    "powerd_dbus_suspend",
];

fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    PROGRAMS.contains(&name) || word.starts_with("./")
}

/// Whether what stands before `$` or `#` can be a prompt: user and host, a folder, a shell.
fn is_prompt(before: &str) -> bool {
    let b = before.trim_end();
    b.chars().count() <= 80
        && b.split_whitespace().count() <= 3
        && (b.contains('@')
            || b.contains(":/")
            || b.ends_with('~')
            || b.contains(" /")
            || b.starts_with("sh-")
            || b.starts_with("bash-"))
}

/// Whether what stands before the mark is one word, as shells of boards show: `shell#`, `elm$`.
fn is_name(before: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !before.is_empty() && before.len() <= 40 && before.chars().all(letter)
}

/// The command that a line shows being typed.
pub(crate) fn command(text: &str) -> Option<&str> {
    let text = text.trim();
    let first = |t: &str| t.split_whitespace().next().unwrap_or("").to_owned();
    for (at, mark) in text.match_indices(['$', '#', '%', '➜', '❯']) {
        let (before, rest) = (&text[..at], text[at + mark.len()..].trim_start());
        let gap = text[at + mark.len()..].starts_with([' ', '\t']);
        let whole = rest.is_empty() && is_prompt(before);
        if whole {
            return Some("");
        }
        if !gap {
            continue;
        }
        let known = is_program(&first(rest));
        if before.is_empty() && (known || mark == "$")
            || is_prompt(before) && (known || mark != "%")
            || is_name(before) && known && mark != "%"
        {
            return Some(rest);
        }
    }
    // Typed from memory, without a prompt.
    let word = first(text);
    let bare = text.strip_prefix("sudo ").unwrap_or(text);
    let at_files = ["echo ", "cat ", "tee ", "grep "].iter().any(|c| bare.starts_with(c));
    let own = ["rtcwake ", "systemctl suspend", "lspci", "turbostat ", "suspend_stress_test "];
    let own =
        own.iter().any(|c| bare.starts_with(c)) && !text.ends_with('.') && !text.contains(": ");
    let loops = ["for ", "while "].iter().any(|c| text.starts_with(c)) && text.contains("; do ");
    (loops
        || is_program(&word)
            && (at_files && (text.contains("/sys/") || text.contains("/proc/acpi/wakeup")) || own))
        .then_some(text)
}

/// How a command sends a machine to sleep: for so many seconds, if it says.
pub(crate) fn sleeps(command: &str) -> Option<Option<u64>> {
    if command.contains("rtcwake") {
        if command.contains("-m no") || command.contains("-m on") {
            return None;
        }
        let mut words = command.split_whitespace().skip_while(|w| *w != "-s" && *w != "--seconds");
        return Some(words.nth(1).and_then(|n| n.trim_end_matches([';', ')', '"']).parse().ok()));
    }
    let state = command.contains("/sys/power/state")
        && ["echo mem", "echo freeze", "echo standby", "echo -n mem", "echo -n freeze"]
            .iter()
            .any(|e| command.contains(e));
    let asks = [
        "systemctl suspend",
        "loginctl suspend",
        "pm-suspend",
        "powerd_dbus_suspend",
        "sleepgraph",
    ];
    (state || asks.iter().any(|a| command.contains(a))).then_some(None)
}

/// `sleep 30`: so long it idled awake.
pub(crate) fn idles(command: &str) -> Option<u64> {
    let rest = command.strip_prefix("sleep ")?;
    rest.split([';', '&', ' ']).next()?.trim_end_matches('s').parse().ok()
}

/// Files that the commands of a line read, in their order, and how many of them before the
/// machine sleeps, if one of the commands sends it to sleep.
pub(crate) fn reads(command: &str) -> (Vec<String>, Option<usize>) {
    // What a loop prints comes again and again.
    let looped = command.contains("; do");
    let (mut all, mut before) = (Vec::new(), None);
    for part in command.split([';', '&']).take(if looped { 1 } else { usize::MAX }) {
        all.extend(reads_one(part).into_iter().flat_map(braced));
        before = before.or(sleeps(part).map(|_| all.len()));
    }
    (all, before)
}

/// Files that one command reads.
fn reads_one(command: &str) -> Vec<&str> {
    let body = command.trim().split(['|', '>']).next().unwrap_or("");
    let mut words = body.split_whitespace().filter(|w| *w != "sudo");
    let reads = ["cat", "more", "less", "head", "tail"];
    if !words.next().is_some_and(|w| reads.contains(&w)) {
        return Vec::new();
    }
    // What a remark behind it says is read by nobody.
    let words = words.take_while(|w| !w.starts_with('#'));
    words.filter(|w| !w.starts_with('-') && !w.bytes().all(|b| b.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_every_shell_are_known_and_headings_are_none() {
        for (line, what) in [
            ("$ cat /sys/a", Some("cat /sys/a")),
            ("# cat /sys/a", Some("cat /sys/a")),
            ("me@box:~$ sleep 30", Some("sleep 30")),
            ("root@box:/sys/kernel# cat b", Some("cat b")),
            ("localhost ~ # suspend_stress_test -c 4", Some("suspend_stress_test -c 4")),
            ("localhost /sys/kernel/debug/pmc_core # cat b |grep X", Some("cat b |grep X")),
            ("[me@box dir]$ lspci -t", Some("lspci -t")),
            ("board# rtcwake -m mem -s 9", Some("rtcwake -m mem -s 9")),
            ("see issue# 5 of it", None),
            ("sh-5.2# echo mem > /sys/power/state", Some("echo mem > /sys/power/state")),
            (
                "echo 3 | sudo tee /sys/kernel/debug/pmc_core/ltr_ignore",
                Some("echo 3 | sudo tee /sys/kernel/debug/pmc_core/ltr_ignore"),
            ),
            ("me@box:~$ ", Some("")),
            ("# With the dock", None),
            ("### Without it", None),
            ("it cost $ 5 or so", None),
            ("echo is a word", None),
            ("C1%    C6%", None),
        ] {
            assert_eq!(command(line), what, "{line}");
        }
    }

    #[test]
    fn rows_that_grep_prints_lose_the_name_of_their_file() {
        let package = (Some("package_cstate_show"), "Package C2 : 7");
        assert_eq!(unnamed("package_cstate_show:Package C2 : 7"), package);
        let file = "/sys/kernel/debug/pmc_core/ltr_show:XHCI  LTR: x";
        assert_eq!(unnamed(file), (Some("ltr_show"), "XHCI  LTR: x"));
        assert_eq!(unnamed("Package C2 : 7"), (None, "Package C2 : 7"));
        assert_eq!(heading("==> /sys/kernel/debug/pmc_core/pll_status <=="), Some("pll_status"));
        assert_eq!(table_of("sudo cat /d/pmc_core/pll_status | head"), Some("pll_status"));
    }

    #[test]
    fn commands_that_sleep_are_told_from_those_that_idle() {
        assert_eq!(sleeps("sudo rtcwake -m freeze -s 45"), Some(Some(45)));
        assert_eq!(sleeps("rtcwake -m no -s 45"), None);
        assert_eq!(sleeps("echo mem > /sys/power/state"), Some(None));
        assert_eq!(sleeps("cat /sys/power/state"), None);
        assert_eq!(
            (idles("sleep 30"), idles("sleep 5; cat x"), idles("asleep 5")),
            (Some(30), Some(5), None)
        );
        assert_eq!(reads("head -4 /a/{b,c}/d").0, ["/a/b/d", "/a/c/d"]);
        assert_eq!(reads("sudo cat /a/b /c").0, ["/a/b", "/c"]);
        assert_eq!(reads("cat /a |grep x").0, ["/a"]);
        assert_eq!(
            reads("date; cat /a && head -1 /b; grep x /c"),
            (vec!["/a".into(), "/b".into()], None)
        );
        assert_eq!(
            reads("cat /a; systemctl suspend; cat /b"),
            (vec!["/a".into(), "/b".into()], Some(1))
        );
        assert!(reads("echo /a").0.is_empty());
    }
}
