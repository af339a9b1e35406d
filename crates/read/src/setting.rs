//! Settings that somebody wrote or read at a prompt right before a measurement: they name it.
//!
//! `echo VALUE > FILE`, `echo VALUE | sudo tee FILE`, and `cat FILE` with its value below.

use crate::night::line::command;

/// So many settings name one measurement, and so long may a value be.
const MOST: usize = 4;
const LONGEST: usize = 60;

/// The settings that hold at a line of a text, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    all: Vec<(String, String)>,
    /// The file of a `cat` in the line above.
    asked: Option<String>,
}

impl Settings {
    /// Takes a line; whether it is of a setting.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let asked = self.asked.take();
        let line = line.trim();
        let Some(typed) = command(line) else {
            let value = asked.zip(value(line));
            let known = value.is_some();
            value.into_iter().for_each(|(name, v)| self.set(name, v));
            return known;
        };
        let typed = typed.strip_prefix("sudo ").unwrap_or(typed).trim();
        if let Some(file) = typed.strip_prefix("cat ") {
            self.asked = name(file);
            return self.asked.is_some();
        }
        let Some((name, v)) = echoed(typed) else { return false };
        self.set(name, v);
        true
    }

    fn set(&mut self, name: String, value: String) {
        match self.all.iter().position(|s| s.0 == name) {
            Some(at) => self.all[at].1 = value,
            None if self.all.len() < MOST => self.all.push((name, value)),
            None => {}
        }
    }

    /// Them as words, what differs first: `max (power_policy), off (aspm)`.
    pub(crate) fn words(&self) -> Option<String> {
        let each: Vec<String> = self.all.iter().map(|(n, v)| format!("{v} ({n})")).collect();
        (!each.is_empty()).then(|| each.join(", "))
    }
}

/// The name of a file that holds a setting.
fn name(path: &str) -> Option<String> {
    let path = path.trim().trim_matches(['"', '\'']);
    let known = ["/sys/", "/proc/sys/", "/dev/cpu_"].iter().any(|p| path.starts_with(p));
    let one = !path.contains([' ', '|', '>', ';', '{']);
    let name = path.rsplit('/').next().filter(|n| !n.is_empty())?;
    (known && one).then(|| name.to_owned())
}

/// What a file says, by the choice that it marks.
fn value(line: &str) -> Option<String> {
    let marked = || line.split_once('[')?.1.split_once(']').map(|m| m.0);
    let value = marked().unwrap_or(line).trim();
    let plain = !value.is_empty() && value.len() <= LONGEST && !value.contains([':', '=']);
    plain.then(|| value.to_owned())
}

/// `echo VALUE > FILE`, `echo VALUE | sudo tee FILE`.
fn echoed(typed: &str) -> Option<(String, String)> {
    let rest = typed.strip_prefix("echo ")?;
    let (said, to) = match rest.split_once('>') {
        Some((said, to)) => (said, to.trim_start_matches('>')),
        None => {
            rest.split_once('|').and_then(|(said, to)| Some((said, to.split_once("tee ")?.1)))?
        }
    };
    let said = said.trim().trim_start_matches("-n ").trim_matches(['"', '\'']);
    let to = to.trim().trim_start_matches("-a ");
    Some((name(to.split(' ').next()?)?, value(said)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_and_read_at_a_prompt_names_what_follows() {
        let mut s = Settings::default();
        let lines = [
            ("# echo balanced > /sys/class/elm/host3/elm_policy", true),
            ("$ cat /sys/module/oak/parameters/policy", true),
            ("default [shallow] deep", true),
            ("$ echo 3 | sudo tee /proc/sys/vm/drop_caches", true),
            ("# fio --name=a", false),
            ("echo is a word > too", false),
            ("$ echo x > /tmp/y", false),
        ];
        for (line, known) in lines {
            assert_eq!(s.line(line), known, "{line}");
        }
        let all = "balanced (elm_policy), shallow (policy), 3 (drop_caches)";
        assert_eq!(s.words().as_deref(), Some(all));
        s.line("# echo wild > /sys/class/elm/host3/elm_policy");
        assert!(s.words().is_some_and(|w| w.starts_with("wild (elm_policy), ")));
    }
}
