//! Values of sysfs, procfs and debugfs files that a text shows, either as
//! `grep` prints them (`/sys/…/control:auto`) or after the command that read
//! them (`cat /sys/…`, and the value in the next line).

use crate::message::Message;

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

impl Value {
    /// Name of the file without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The folder.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(f, _)| f)
    }
}

/// The file that a command with `/sys/…` at its end reads.
fn read_by(text: &str) -> Option<&str> {
    let at = text.find("/sys/")?;
    let command = text[..at].trim_end();
    let reads = ["cat", "more", "less", "head"].iter().any(|c| {
        command.strip_suffix(c).is_some_and(|b| b.is_empty() || b.ends_with([' ', '$', '#']))
    });
    let path = &text[at..];
    (reads && !path.contains([' ', '*', ':'])).then_some(path)
}

/// The folder of a prompt that runs `grep`: `root@h:/sys/power$ grep -r "" *`.
fn grepped(text: &str) -> Option<&str> {
    let (prompt, _) = text.split_once(" grep ")?;
    let at = prompt.rfind(":/sys/")? + 1;
    let folder = prompt[at..].trim_end_matches(['$', '#', ' ']);
    (!folder.contains([' ', ':', '*'])).then_some(folder)
}

/// Path and value of a line of `grep`. Names of devices have colons, those of files have
/// none, so the colon after the last slash parts them; a value seldom has a slash.
fn parts(text: &str) -> Option<(&str, &str)> {
    let file = text.rfind('/')?;
    let colon = text[file..].find(':').map(|at| file + at).or_else(|| text.find(':'))?;
    Some((&text[..colon], &text[colon + 1..]))
}

/// What `messages` show.
pub fn shown(messages: &[Message]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut waiting: Option<&str> = None;
    // Where a `grep` was run: it prints names of that folder.
    let mut folder: Option<&str> = None;
    for m in messages {
        let text = m.text.trim();
        folder = grepped(text).or(folder.filter(|_| !text.is_empty()));
        if let (Some(at), Some((name, value))) = (folder, text.split_once(':'))
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_/-.".contains(&b))
            && !name.starts_with('/')
        {
            let path = [at, name].join("/");
            out.push(Value { line: m.line, path, value: value.trim().to_string() });
            continue;
        }
        if let Some(path) = waiting.take()
            && !text.contains(' ')
        {
            out.push(Value { line: m.line, path: path.to_string(), value: text.to_string() });
            continue;
        }
        if text.starts_with("/sys/") {
            if let Some((path, value)) = parts(text)
                && !path.contains(' ')
            {
                let (path, value) = (path.to_string(), value.trim().to_string());
                out.push(Value { line: m.line, path, value });
            }
        } else {
            waiting = read_by(text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Trust;

    #[test]
    fn both_forms_and_no_others() {
        let lines = [
            "$ sudo more /sys/kernel/debug/pmc_core/slp_s0_residency_usec",
            "0",
            "/sys/bus/usb/devices/1-3/power/control:auto",
            "echo 1 > /sys/power/pm_debug_messages",
            "1",
            "see /sys/power/wakeup_count",
            "/sys/devices/pci0000:00/0000:00:14.0/power/wakeup:enabled",
            "/sys/power/resume:/dev/sda2",
            "root@h:/sys/power# grep -r . *",
            "pm_test:none [freezer]",
            "grep: pm_wakeup_irq: No data available",
            "",
            "note:this is none",
        ];
        let messages: Vec<Message> = lines
            .iter()
            .map(|t| Message {
                line: 1,
                time: None,
                second: None,
                text: t.to_string(),
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
                ("wakeup".to_string(), "enabled".to_string()),
                ("resume".to_string(), "/dev/sda2".to_string()),
                ("pm_test".to_string(), "none [freezer]".to_string()),
                ("grep".to_string(), "pm_wakeup_irq: No data available".to_string()),
            ]
        );
    }
}
