//! Paths that a session of a shell names from the folder in which it stands: behind `cd /sys/…`,
//! or at a prompt that shows its folder. Each is written whole, so that readers need to know no
//! folder; a line stays a line. Quotes around a whole path go: a shell takes them off, too.

use crate::night::line::command;
use memchr::memmem;

/// Programs that print files.
const READERS: [&str; 5] = ["cat", "more", "less", "head", "tail"];

/// Programs behind which another shell speaks, or another machine.
const LEAVE: [&str; 7] = ["ssh", "exit", "logout", "su", "chroot", "adb", "docker"];

/// Roots of files that say anything here.
const ROOTS: [&str; 2] = ["/sys/", "/proc/"];

/// What the lines below a command are.
enum Shape {
    /// What needs no change.
    Plain,
    /// Each names its file, of which the path begins with one of these.
    Named(Vec<String>),
    /// The same, and none of them was there yet: a blank line may stand above them.
    Awaited(Vec<String>),
    /// The value of this file, and no name.
    Single(String),
}

/// A session as it is read.
struct Session {
    folder: Option<String>,
    below: Shape,
}

/// The text with such paths whole; nothing if it has none.
pub(crate) fn whole(bytes: &[u8]) -> Option<Vec<u8>> {
    let named = |root: &[u8], is: &dyn Fn(&[u8]) -> bool| {
        memmem::find_iter(bytes, root).any(|at| is(&bytes[..at]))
    };
    let ends = |before: &[u8], marks: &[u8]| before.last().is_some_and(|b| marks.contains(b));
    if !named(b"/sys/", &|before| ends(before, b" :\"'"))
        && !named(b"/proc/", &|before| ends(before, b":\"'") || before.ends_with(b"cd "))
    {
        return None;
    }
    let mut session = Session { folder: None, below: Shape::Plain };
    let mut out = Vec::with_capacity(bytes.len() + 256);
    let mut changed = false;
    for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        let new = match std::str::from_utf8(line) {
            Ok(text) if text.len() <= LONGEST => session.line(text),
            _ => None,
        };
        changed |= new.is_some();
        out.extend_from_slice(new.as_ref().map_or(line, |n| n.as_bytes()));
    }
    changed.then_some(out)
}

/// Longest line that can be one.
const LONGEST: usize = 2_048;

impl Session {
    /// The line as it is to be read; nothing if it stays.
    fn line(&mut self, line: &str) -> Option<String> {
        let text = line.trim_start_matches(['>', ' ', '\t']);
        let marks = &line[..line.len() - text.len()];
        let text = text.trim_end();
        let typed_at = ["$ ", "# "].iter().filter_map(|p| text.rfind(p)).max();
        let program = typed_at.map_or("", |at| text[at + 2..].split(' ').next().unwrap_or(""));
        if LEAVE.contains(&program) {
            self.folder = None;
        }
        if let Some(typed) = self.typed(text) {
            let prompt = &text[..text.len() - typed.len()];
            if let Some(folder) = shown(prompt) {
                self.folder = folder;
            }
            self.below = Shape::Plain;
            let new = self.command(&unquoted(typed));
            return (new != typed).then(|| format!("{marks}{prompt}{new}"));
        }
        if text.contains("cd: ") || text.contains("can't cd to") {
            self.folder = None;
        }
        let folder = self.folder.as_deref()?;
        match &self.below {
            Shape::Awaited(_) if text.is_empty() => None,
            _ if text.is_empty() || text.starts_with("```") => {
                self.below = Shape::Plain;
                None
            }
            Shape::Plain => {
                let name = text.strip_prefix("==> ")?.strip_suffix(" <==")?;
                is_relative(name).then(|| format!("{marks}==> {} <==", join(folder, name)))
            }
            Shape::Named(begins) | Shape::Awaited(begins) => {
                let name = &text[..text.find(':')?];
                let known = begins.iter().any(|b| text.starts_with(b.as_str()));
                let new =
                    (known && is_relative(name)).then(|| format!("{marks}{}", join(folder, text)));
                if new.is_some() {
                    self.below = Shape::Named(begins.clone());
                }
                new
            }
            Shape::Single(path) => {
                let new = format!("{marks}{path}:{text}");
                self.below = Shape::Plain;
                Some(new)
            }
        }
    }

    /// The command of a line: behind a prompt, or typed without one.
    fn typed<'a>(&self, text: &'a str) -> Option<&'a str> {
        let bare = text.strip_prefix("sudo ").unwrap_or(text);
        let mut words = bare.split(' ');
        let first = words.next().unwrap_or("");
        let goes = first == "cd" && ROOTS.iter().any(|r| words.clone().any(|w| w.starts_with(r)));
        // Words of a sentence are no files.
        let file = |w: &str| w.contains(['/', '_', '*']) && !w.ends_with(['.', ',']);
        let reads = self.folder.is_some()
            && (READERS.contains(&first) || first == "grep")
            && words.all(|w| file(w) || w.starts_with('-') || matches!(w, "." | "\"\"" | "''"));
        command(text).filter(|c| !c.is_empty()).or_else(|| (goes || reads).then_some(text))
    }

    /// A command with its paths whole: what it changes of the folder, and what stands below it.
    fn command(&mut self, typed: &str) -> String {
        let mut out = String::with_capacity(typed.len() + 64);
        let mut rest = typed;
        // Loops name what no line shows.
        if ["for ", "while "].iter().any(|w| typed.starts_with(w)) {
            return typed.to_owned();
        }
        while !rest.is_empty() {
            let end = rest.find([';', '&']).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            let between = after.len() - after.trim_start_matches([';', '&', ' ']).len();
            let new = self.one(part);
            rest = &after[between..];
            // Behind a change of the folder the paths are whole: what it was is told by them.
            if !(part.trim_start().starts_with("cd ") && !rest.is_empty() && self.folder.is_some())
            {
                out += &new;
                out += &after[..between];
            }
        }
        out
    }

    fn one(&mut self, part: &str) -> String {
        let mut words = part.split_whitespace().skip_while(|w| *w == "sudo");
        let program = words.next().unwrap_or("");
        if program == "cd" {
            self.folder = self.goes_to(words.next().unwrap_or("~"));
            return part.to_owned();
        }
        let grep = program == "grep";
        let Some(folder) = self.folder.clone().filter(|_| grep || READERS.contains(&program))
        else {
            return part.to_owned();
        };
        let mut out = String::with_capacity(part.len() + 64);
        let (mut options, mut pattern, mut over) = (String::new(), !grep, false);
        let mut relative: Vec<String> = Vec::new();
        let mut files = 0;
        for (i, word) in part.split(' ').enumerate() {
            if i > 0 {
                out.push(' ');
            }
            over |= word.contains(['|', '>', '<']) || word.starts_with('#');
            let other = over || word.is_empty() || word == program || word == "sudo";
            if other {
                out += word;
            } else if let Some(letters) = word.strip_prefix('-') {
                options += letters;
                out += word;
            } else if !pattern {
                pattern = true;
                out += word;
            } else {
                files += 1;
                let bare = word.trim_matches(['"', '\'']);
                // `-n 5` of head.
                let number = bare.bytes().all(|b| b.is_ascii_digit());
                if number || !is_relative(bare) {
                    out += word;
                    continue;
                }
                relative.push(bare.to_owned());
                out += &join(&folder, bare);
            }
        }
        if grep {
            self.below = below(&folder, &options, &relative, files);
        }
        out
    }

    /// The folder behind `cd WHERE`; nothing if it is none that matters.
    fn goes_to(&self, to: &str) -> Option<String> {
        let to = to.trim_matches(['"', '\'']).trim_end_matches('/');
        let path = match to.starts_with('/') {
            true => to.to_owned(),
            false if to.starts_with(['~', '-', '$']) => return None,
            false => {
                let mut path = self.folder.clone()?;
                for step in to.split('/').filter(|s| !s.is_empty() && *s != ".") {
                    match step {
                        ".." => path.truncate(path.rfind('/')?),
                        _ => path = path + "/" + step,
                    }
                }
                path
            }
        };
        is_root(&path).then_some(path)
    }
}

/// A command without the quotes around whole paths of files. In quotes a shell makes no names of
/// a pattern or a variable: those stay.
fn unquoted(typed: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:/,@+".contains(c);
    let mut out = String::with_capacity(typed.len());
    let mut rest = typed;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let (mark, inner) = quoted.split_at(1);
        let Some(end) = inner.find(mark) else { break };
        let (path, behind) = (&inner[..end], &inner[end + 1..]);
        let whole = before.ends_with(' ')
            && (behind.is_empty() || behind.starts_with([' ', ';', '|', '&', ')']));
        let goes = whole && is_root(path) && path.chars().all(plain);
        out += before;
        out += if goes { path } else { &quoted[..end + 2] };
        rest = behind;
    }
    out + rest
}

fn is_root(path: &str) -> bool {
    ROOTS.iter().any(|r| path.starts_with(r) || path == r.trim_end_matches('/'))
}

/// What `grep` prints: names where it reads several files or is asked for them.
fn below(folder: &str, options: &str, relative: &[String], files: usize) -> Shape {
    let recursive = options.contains(['r', 'R']);
    if options.contains(['h', 'l', 'c', 'q']) {
        return Shape::Plain;
    }
    let glob = |w: &String| w.contains(['*', '?', '{', '[']);
    if recursive || options.contains('H') || files > 1 || relative.iter().any(glob) {
        let literal = |w: &String| {
            let end = w.find(['*', '?', '{', '[']).unwrap_or(w.len());
            // Of `-r .` what is printed begins with `./`.
            w[..end].to_owned()
        };
        let mut begins: Vec<String> = relative.iter().map(literal).collect();
        if begins.is_empty() && files == 0 {
            begins.push(String::new());
        }
        return Shape::Awaited(begins);
    }
    match relative {
        [one] => Shape::Single(join(folder, one)),
        _ => Shape::Plain,
    }
}

/// The folder that a prompt shows: `root@box:/sys/power#`, `localhost /sys/kernel #`. The inner
/// nothing: it shows another one.
fn shown(prompt: &str) -> Option<Option<String>> {
    let prompt = prompt.trim_end().trim_end_matches(['$', '#', '%', ']', ' ']);
    if prompt.contains('~') {
        return Some(None);
    }
    let at = prompt.find(['/'])?;
    let before = &prompt[..at];
    let path = prompt[at..].trim_end();
    let whole = before.ends_with([':', ' ', '[']) && !path.contains(' ');
    whole.then(|| is_root(path).then(|| path.to_owned()))
}

/// Whether a word is the path of a file from a folder.
fn is_relative(word: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-:/{},*?[]@+".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '*' | '{'))
        && word.chars().all(letter)
        && !word.starts_with("..")
}

fn join(folder: &str, path: &str) -> String {
    match path.trim_start_matches("./") {
        "." | "" => folder.to_owned(),
        path => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        whole(text.as_bytes()).map(|b| String::from_utf8(b).expect("text"))
    }

    #[test]
    fn paths_behind_cd_and_at_prompts_that_show_their_folder_are_whole() {
        let text = "> $ cd /sys/bus/usb/devices/1-4\n> $ grep . power/{control,runtime_status} \
            speed\n> power/control:on\n> power/runtime_status:active\n> speed:480\n\
            > $ cat power/runtime_usage\n> 3\nand power/control: it is on\n\
            me@box:/sys/power$ cat mem_sleep\ns2idle [deep]\n\
            me@box:~/src$ cat notes\nx\n";
        let want = "> $ cd /sys/bus/usb/devices/1-4\n> $ grep . \
            /sys/bus/usb/devices/1-4/power/{control,runtime_status} /sys/bus/usb/devices/1-4/speed\n\
            > /sys/bus/usb/devices/1-4/power/control:on\n\
            > /sys/bus/usb/devices/1-4/power/runtime_status:active\n\
            > /sys/bus/usb/devices/1-4/speed:480\n\
            > $ cat /sys/bus/usb/devices/1-4/power/runtime_usage\n> 3\n\
            and power/control: it is on\n\
            me@box:/sys/power$ cat /sys/power/mem_sleep\ns2idle [deep]\n\
            me@box:~/src$ cat notes\nx\n";
        assert_eq!(read(text).as_deref(), Some(want));
    }

    #[test]
    fn quotes_around_a_whole_path_go() {
        let text = "$ cat \"/sys/devices/a/0000:41:00.0/power/control\"\nauto\n\
            me@box:~$ sudo cat '/sys/power/mem_sleep'; uptime\n[s2idle] deep\n\
            cat \"/proc/acpi/wakeup\"\n";
        let want = "$ cat /sys/devices/a/0000:41:00.0/power/control\nauto\n\
            me@box:~$ sudo cat /sys/power/mem_sleep; uptime\n[s2idle] deep\n\
            cat /proc/acpi/wakeup\n";
        assert_eq!(read(text).as_deref(), Some(want));
        for other in [
            "$ cat \"/sys/class/*/name\"\nx\n",
            "$ sh -c \"cat /sys/power/state\"\nmem\n",
            "The file \"/sys/power/state\" lists them.\n",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_blank_line_may_stand_above_what_a_command_printed() {
        let text = "$ cd /sys/class/a; grep . b/*\n\nb/c:1\n\nb/d:2\n";
        let want = "$ grep . /sys/class/a/b/*\n\n/sys/class/a/b/c:1\n\nb/d:2\n";
        assert_eq!(read(text).as_deref(), Some(want));
    }

    #[test]
    fn steps_of_folders_single_files_and_headings() {
        let text = "# cd /sys/devices/a && cd b/../c; grep . power/control\non\n# cd power\n\
            # head *\n==> control <==\nauto\n# cd\n# cat control\n";
        let want = "# grep . /sys/devices/a/c/power/control\n\
            /sys/devices/a/c/power/control:on\n# cd power\n# head /sys/devices/a/c/power/*\n\
            ==> /sys/devices/a/c/power/control <==\nauto\n# cd\n# cat control\n";
        assert_eq!(read(text).as_deref(), Some(want));
        for other in [
            "$ cat /sys/power/state\nmem\n",
            "see /sys/power, then cat it\npower/control:on\n",
            "$ cd /home/me\n$ cat power/control\non\n# cd /sys/x\nnothing: more\n",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
