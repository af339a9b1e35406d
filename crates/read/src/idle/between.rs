//! What stands between the lines of tables that people post: nothing, a message, what
//! says that lines were left out, or words, which make what follows another
//! measurement.

/// A line that is no line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// A blank line, a rule.
    Nothing,
    /// A message of the kernel or of the program itself.
    Message,
    /// Lines were left out.
    Gap,
    /// A command, a fence, or words, with the words if they can be a caption: what
    /// follows was measured apart from what stands above.
    Apart(Option<String>),
}

/// A line without the marks of a mail that quotes it.
pub(super) fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' '])
}

/// How many such marks.
pub(super) fn quotes(line: &str) -> usize {
    line[..line.len() - plain(line).len()].matches('>').count()
}

/// What people write for lines that they left out.
const LEFT_OUT: [&str; 8] =
    ["snip", "cut", "skipped", "truncated", "trimmed", "omitted", "deleted", "8<"];

fn is_gap(line: &str) -> bool {
    let inside = line.trim_matches(|c: char| "[](){}<>-*=~".contains(c) || c.is_whitespace());
    let dots =
        |s: &str| s.chars().count() >= 2 && s.chars().all(|c| c == '.' || c == '…') || s == "…";
    dots(inside)
        || (inside.len() < line.len() && LEFT_OUT.contains(&inside.to_lowercase().as_str()))
}

fn is_message(line: &str) -> bool {
    let stamp = line.strip_prefix('[').map(|l| l.trim_start());
    stamp.is_some_and(|l| l.starts_with(|c: char| c.is_ascii_digit()))
        || line.contains(" kernel: ")
        || line.starts_with("turbostat: ")
        || line == "^C"
}

/// Programs that print traces and tables, or that people run before them.
const PROGRAMS: [&str; 16] = [
    "cat",
    "cpupower",
    "dmesg",
    "echo",
    "grep",
    "head",
    "less",
    "perf",
    "sleep",
    "sudo",
    "tail",
    "time",
    "trace-cmd",
    "turbostat",
    "watch",
    "zcat",
];

/// Whether a line is a prompt with a command, with or without user, host and folder
/// before it: `$ cat trace`, `user@host:~# ...`, `~ # cat trace`.
pub(crate) fn is_command(line: &str) -> bool {
    let line = plain(line).trim();
    let Some(at) = line.find(['$', '#', '%']) else { return false };
    let (before, rest) = (&line[..at], line[at + 1..].trim_start());
    let program = rest.split_whitespace().next().unwrap_or("");
    let program = program.rsplit('/').next().unwrap_or(program);
    let known = PROGRAMS.contains(&program) || rest.starts_with("./");
    let gap = line[at + 1..].starts_with(' ');
    match before.trim_end() {
        "" => gap && (known || line.starts_with('$')),
        // A folder, or user and host.
        b if !b.contains(' ') => gap && (known || b.contains('@') || b.contains(['~', ':'])),
        // `[user@host folder]`.
        b => gap && b.starts_with('[') && b.ends_with(']') && b.contains('@'),
    }
}

/// The machine that a prompt names: `root@box:~# …`, `[me@box dir]$ …`, `box:~ # …`.
pub(super) fn host(line: &str) -> Option<&str> {
    if !is_command(line) {
        return None;
    }
    let line = plain(line).trim().trim_start_matches('[');
    let prompt = &line[..line.find(['$', '#', '%'])?];
    let name = match prompt.split_once('@') {
        Some((_, rest)) => rest,
        None => prompt.split_once(":~").or_else(|| prompt.split_once(":/"))?.0,
    };
    let end = name.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    Some(&name[..end.unwrap_or(name.len())]).filter(|n| !n.is_empty())
}

/// What may introduce a table: a few words, no command, no value.
fn caption(line: &str) -> Option<String> {
    // A heading of Markdown may name a setting: a value stands alone.
    let heading = line.starts_with("##") || line.starts_with("**");
    let line = line.trim_matches(|c: char| "*=_# \t".contains(c));
    let words = line.trim_end_matches([':', '.', ',']);
    // One word is a caption with a colon behind it, or as a version alone: `6.8.9`.
    let version = || words.matches('.').count() > 1 && words.bytes().any(|b| b.is_ascii_digit());
    let is_words = line.starts_with(|c: char| c.is_alphanumeric())
        && (words.contains(' ') || line.ends_with(':') || version())
        && (heading && words.contains(' ') || !words.contains([':', '\t', '=', '/']))
        && words.chars().count() <= 100;
    is_words.then(|| words.to_owned())
}

/// The caption that goes on in `line`: a second line of it stands in brackets.
pub(super) fn joined(caption: &str, line: &str) -> Option<String> {
    let words = line.trim_matches(|c: char| "*=_# \t".contains(c));
    let is_rest = words.starts_with('(') && words.ends_with(')') && words.chars().count() <= 60;
    is_rest.then(|| format!("{caption} {words}"))
}

/// What `line` is, which is no line of a table.
pub(super) fn between(line: &str) -> Between {
    let line = line.trim();
    if is_gap(line) {
        return Between::Gap;
    }
    if line.starts_with("```") || line.starts_with("~~~") {
        return Between::Apart(None);
    }
    if !line.chars().any(char::is_alphanumeric) {
        return Between::Nothing;
    }
    if is_message(line) {
        return Between::Message;
    }
    if is_command(line) {
        return Between::Apart(None);
    }
    Between::Apart(caption(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_name_their_machine() {
        for (line, name) in [
            ("root@dell-a: $ cpupower monitor", Some("dell-a")),
            ("> [me@n1.lan ~]$ sudo turbostat", Some("n1.lan")),
            ("box:~ # turbostat", Some("box")),
            ("$ turbostat", None),
            ("mail me@box.org $ 5", None),
            ("# before", None),
        ] {
            assert_eq!(host(line), name, "{line}");
        }
    }

    #[test]
    fn words_part_tables_and_messages_do_not() {
        let apart = |s: &str| Between::Apart(Some(s.into()));
        for (line, what) in [
            ("", Between::Nothing),
            ("-----", Between::Nothing),
            ("[ ... ]", Between::Gap),
            ("<snip>", Between::Gap),
            ("....", Between::Gap),
            ("[  312.5] usb 1-2: new device", Between::Message),
            ("host kernel: usb 1-2: new device", Between::Message),
            ("user@box:~$ turbostat -S", Between::Apart(None)),
            ("# turbostat -S", Between::Apart(None)),
            ("~ # cat /sys/kernel/tracing/trace", Between::Apart(None)),
            ("```", Between::Apart(None)),
            ("With the new firmware:", apart("With the new firmware")),
            ("## On battery", apart("On battery")),
            ("10.004 sec", apart("10.004 sec")),
            ("### 6.12, pcie_aspm=force", apart("6.12, pcie_aspm=force")),
            ("pcie_aspm=force now", Between::Apart(None)),
            ("current_driver: acpi_idle", Between::Apart(None)),
        ] {
            assert_eq!(between(line), what, "{line}");
        }
    }
}
