//! Lines that a text gives as an example: what a manual says that one may find, what a patch
//! says that a kernel prints, what a diff changes. They stand there as a log's lines do, and no
//! machine printed them.

use super::prefix::{self, quotes};
use super::wrap::unquoted;

/// No mail and no manual is longer; a log of that size has no examples.
const LONGEST: usize = 1 << 20;

/// An example has so many lines at most: what is longer is a log, whoever announces it.
const FEW: usize = 12;

/// Examples of a text, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examples {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    first: u64,
    last: u64,
    /// Lines with a time are examples too.
    stamped: bool,
}

/// What announces an example.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cue {
    /// It may be one of many, and happened or not: `messages such as`.
    OneOfMany,
    /// It has not happened: `if you find`.
    Supposed,
}

impl Examples {
    /// Those of a text.
    pub(crate) fn of(text: &[u8]) -> Examples {
        const ANY: [&[u8]; 7] =
            [b"ou ", b"such as", b"xample", b"instance", b"e.g.", b"[PATCH", b"+++ "];
        let seeks = SEEKS.map(str::as_bytes);
        let words = || ANY.iter().chain(&WOULD).chain(&OTHERS).chain(&seeks);
        let any = || words().any(|w| memchr::memmem::find(text, w).is_some());
        if text.len() > LONGEST || !any() {
            return Examples::default();
        }
        let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
        let mut search = Search { lines: &lines, is_patch: false, blocks: Vec::new() };
        search.all();
        Examples { blocks: search.blocks }
    }

    /// Whether line `at` is one; it is `stamped` if it has the prefix of a log.
    pub(crate) fn has(&self, at: u64, stamped: bool) -> bool {
        let next = self.blocks.partition_point(|b| b.last < at);
        self.blocks.get(next).is_some_and(|b| b.first <= at && (b.stamped || !stamped))
    }
}

/// Whether a line without the prefix of a log is of a program's source: it has the string that
/// the program prints by, with a line end or a value that is to be put in.
pub(crate) fn is_source(text: &[u8]) -> bool {
    let Some(open) = memchr::memchr(b'"', text) else { return false };
    let string = &text[open + 1..];
    // Where the string begins in the line before, the end is here.
    let end = memchr::memchr(b'"', string).unwrap_or(string.len());
    let line_end = |part: &[u8]| part.ends_with(b"\\n");
    line_end(&text[..open]) || line_end(&string[..end]) || has_conversion(&string[..end])
}

/// Whether a value is put in as `printf` does it: `%s`, `%llu`, `%02x`, `%pe`.
fn has_conversion(string: &[u8]) -> bool {
    memchr::memchr_iter(b'%', string).any(|at| {
        let form = &string[at + 1..];
        let width = form.iter().take_while(|b| b"-0123456789.*#lhz".contains(b)).count();
        form.get(width).is_some_and(|b| b"sdiuxXpc".contains(b))
            && !form
                .get(width + 1)
                .is_some_and(|b| width == 0 && *b != b'e' && b.is_ascii_lowercase())
    })
}

/// The marks between which a page shows lines as they are.
fn is_fence(text: &[u8]) -> bool {
    const FENCES: [&[u8]; 6] = [b"```", b"~~~", b"{code", b"{noformat", b"[code", b"<pre"];
    const ENDS: [&[u8]; 2] = [b"[/code", b"</pre"];
    FENCES.iter().chain(&ENDS).any(|f| text.starts_with(f))
}

struct Search<'a> {
    lines: &'a [&'a [u8]],
    /// The text is a mail with a patch, and no answer to one.
    is_patch: bool,
    blocks: Vec<Block>,
}

impl Search<'_> {
    fn all(&mut self) {
        let mut said = String::new();
        let mut over = true;
        let mut at = 0;
        while at < self.lines.len() {
            let text = quotes(self.lines[at]).trim_ascii_end();
            if text.is_empty() {
                over = true;
                at += 1;
                continue;
            }
            self.is_patch |= is_patch(text);
            if let Some(end) = self.diff(at) {
                said.clear();
                at = end;
                continue;
            }
            let stamped = prefix::strip(self.lines[at]).fresh;
            let end = if is_fence(text) {
                Some((at + 1, self.fence(at + 1)))
            } else if stamped || self.is_set_off(at) {
                Some((at, self.while_set_off(at)))
            } else if said.ends_with(':') {
                let blank = |l: &&[u8]| quotes(l).is_empty();
                let rest = self.lines[at..].iter().position(blank);
                Some((at, rest.map_or(self.lines.len(), |n| at + n)))
            } else {
                None
            };
            let Some((first, end)) = end else {
                if std::mem::take(&mut over) || text.starts_with(b"#") {
                    said.clear();
                }
                said.push_str(&String::from_utf8_lossy(text));
                said.push(' ');
                if text.ends_with(b":") {
                    said.truncate(said.trim_end().len());
                }
                at += 1;
                continue;
            };
            let denied = || self.is_denied(end).then_some(Cue::Supposed);
            let cue = cue(&said).or(self.is_patch.then_some(Cue::OneOfMany)).or_else(denied);
            let filled = self.lines[first..end].iter().filter(|l| !l.trim_ascii().is_empty());
            if let Some(cue) = cue.filter(|_| filled.count() <= FEW) {
                self.add(first, end, cue == Cue::Supposed);
            }
            said.clear();
            // A fence ends with a line of its own.
            at = end.max(at) + 1;
        }
    }

    /// Whether the words behind line `end` say that the lines above them are of somebody else:
    /// `but that is not what I have`.
    fn is_denied(&self, end: usize) -> bool {
        let behind = self.lines[end.min(self.lines.len())..].iter().map(|l| quotes(l).trim_ascii());
        let mut behind = behind.skip_while(|l| l.is_empty() || is_fence(l));
        let said = behind.next().unwrap_or_default();
        let end = said.iter().position(|b| b".!?".contains(b)).unwrap_or(said.len());
        OTHERS.iter().any(|w| memchr::memmem::find(&said[..end], w).is_some())
    }

    fn add(&mut self, first: usize, end: usize, stamped: bool) {
        if first < end {
            self.blocks.push(Block { first: first as u64 + 1, last: end as u64, stamped });
        }
    }

    fn is_set_off(&self, at: usize) -> bool {
        let text = unquoted(self.lines[at]).1;
        text.starts_with(b"  ") || text.starts_with(b"\t")
    }

    /// The line that ends a fence, or the last.
    fn fence(&self, from: usize) -> usize {
        let end = self.lines[from..].iter().position(|l| is_fence(quotes(l)));
        end.map_or(self.lines.len(), |n| from + n)
    }

    /// The first line behind `at` that is set off no more.
    fn while_set_off(&self, at: usize) -> usize {
        let goes_on = |i: usize| self.is_set_off(i) || prefix::strip(self.lines[i]).fresh;
        (at + 1..self.lines.len()).find(|i| !goes_on(*i)).unwrap_or(self.lines.len())
    }

    /// Where a diff ends that begins in line `at`: what it changes is nothing that a machine
    /// printed, unless what it compares are logs.
    fn diff(&mut self, at: usize) -> Option<usize> {
        let text = quotes(self.lines[at]);
        let next = self.lines.get(at + 1).map_or(&b""[..], |l| quotes(l));
        let begins = text.starts_with(b"diff --git ")
            || text.starts_with(b"--- ") && next.starts_with(b"+++ ");
        if !begins {
            return None;
        }
        const MARKS: [&[u8]; 13] = [
            b"+",
            b"-",
            b"@@",
            b"\\ ",
            b"diff ",
            b"index ",
            b"new file",
            b"deleted file",
            b"old mode",
            b"new mode",
            b"similarity ",
            b"rename ",
            b"Binary ",
        ];
        let of_diff = |line: &&[u8]| {
            let marks = line.starts_with(b">");
            let line = if marks { unquoted(line).1 } else { line };
            line.starts_with(b" ") || MARKS.iter().any(|m| line.starts_with(m))
        };
        let count = self.lines[at..].iter().take_while(|l| l.is_empty() || of_diff(l)).count();
        let end = at + count.max(1);
        let names = self.lines[at..end.min(at + 6)].iter().map(|l| l.trim_ascii_end());
        const LOGS: [&[u8]; 4] = [b".log", b".txt", b".dmesg", b"dmesg"];
        let of_logs = names.clone().any(|n| LOGS.iter().any(|l| n.ends_with(l)));
        self.add(at, end, !of_logs);
        Some(end)
    }
}

/// The subject of a mail that brings a patch. Answers to one bring logs of who tried it.
fn is_patch(text: &[u8]) -> bool {
    let subject = text.strip_prefix(b"Subject: ").map(<[u8]>::trim_ascii_start);
    subject.is_some_and(|s| s.starts_with(b"[PATCH") || s.starts_with(b"[RFC PATCH"))
}

/// How people say that lines are not of their machine.
const OTHERS: [&[u8]; 9] = [
    b"not what I have",
    b"not what I see",
    b"not what I get",
    b"not what happens here",
    b"not on my machine",
    b"not on mine",
    b"not on this machine",
    b"not my case",
    b"not my problem",
];

const WOULD: [&[u8]; 5] =
    [b"would print", b"would look", b"would say", b"look like", b"healthy machine"];

/// What programs do with the words of a log.
const SEEKS: [&str; 9] = [
    "expects ",
    "matches ",
    "parses ",
    "looks for ",
    "searches for ",
    "greps for ",
    "waits for ",
    "filters for ",
    "triggers on ",
];

/// Whether a sentence says what a program looks for in a log: its words, and no log.
fn is_sought(said: &str) -> bool {
    const WORDS: [&str; 9] = [
        "string", "strings", "pattern", "patterns", "message", "messages", "line", "lines", "text",
    ];
    let behind = SEEKS.iter().find_map(|s| said.split_once(s)).map_or("", |s| s.1);
    behind.split(|c: char| !c.is_alphanumeric()).any(|w| WORDS.contains(&w))
}

/// What the last sentence of `said` announces. Who speaks of himself has seen it.
fn cue(said: &str) -> Option<Cue> {
    let said = said.to_lowercase().replace("e.g.", "for example");
    let said = said.trim_end();
    let ends = [". ", "! ", "? "].iter().filter_map(|e| said.rfind(e)).max();
    let said = ends.map_or(said, |e| &said[e + 2..]);
    if said.is_empty() || said.ends_with(['.', '!', '?']) {
        return None;
    }
    if is_sought(said) {
        return Some(Cue::OneOfMany);
    }
    let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '\'');
    // `If you have an idea, here is the log:` announces what happened.
    const SELF: [&str; 11] =
        ["i", "i'm", "i've", "i'll", "my", "me", "we", "our", "us", "here", "here's"];
    // What came often came.
    const OFTEN: [&str; 6] = ["often", "oftentimes", "usually", "sometimes", "always", "mostly"];
    if words.any(|w| SELF.contains(&w) || OFTEN.contains(&w)) {
        return None;
    }
    const SUPPOSED: [&str; 17] = [
        "if you see",
        "if you find",
        "if you get",
        "if you have",
        "if there is",
        "if there are",
        "when you see",
        "you would",
        "you should see",
        "you may see",
        "you might see",
        "you could see",
        "should look like",
        "on a healthy machine",
        "would print",
        "would look",
        "would say",
    ];
    const ONE: [&str; 5] =
        ["such as", "for example", "for instance", "might look like", "may look like"];
    if SUPPOSED.iter().any(|w| said.contains(w)) {
        return Some(Cue::Supposed);
    }
    ONE.iter().any(|w| said.contains(w)).then_some(Cue::OneOfMany)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `text` that are examples, with and without a stamp.
    fn lines(text: &str) -> (Vec<u64>, Vec<u64>) {
        let examples = Examples::of(text.as_bytes());
        let of = |stamped| {
            (1..=text.lines().count() as u64).filter(|n| examples.has(*n, stamped)).collect()
        };
        (of(false), of(true))
    }

    #[test]
    fn what_is_announced_as_an_example_is_one() {
        let none = (Vec::new(), Vec::new());
        let manual = "If you see one of these lines\n\n    foo 1-1: failed\n    bar failed\n\nask.";
        assert_eq!(lines(manual), (vec![3, 4], vec![3, 4]));
        let fenced = "A driver may print, e.g.:\n```\nfoo 1-1: failed\n```\nThat is all.\n  x";
        assert_eq!(lines(fenced), (vec![3], vec![]));
        let plain = "You should see this:\nfoo: done\nbar: done\n\nfoo: more";
        assert_eq!(lines(plain), (vec![2, 3], vec![2, 3]));
        let healthy =
            "and read the log, which on a healthy machine looks so:\n\n    [    1.000000] foo";
        assert_eq!(lines(healthy), (vec![3], vec![3]));
        let sought = "Our test looks for these lines and fails without:\n\nfoo 1-1: failed\n";
        assert_eq!(lines(sought).0, [3], "{sought}");
        let matched = "The parser matches this string\n\n    foo 1-1: failed\n\nin a journal.";
        assert_eq!(lines(matched), (vec![3], vec![]));
        assert_eq!(lines("The driver waits for the link:\n\n    foo 1-1: failed\n"), none);
        let others =
            "There are people with\n\n    foo 1-1: failed\n\nwhich is not what I have. Mine:\n";
        assert_eq!(lines(others), (vec![3], vec![3]));
        // Who speaks of himself has seen it, and a sentence that ends announces nothing.
        assert_eq!(lines("I get lines such as\n\n    foo 1-1: failed\n"), none);
        assert_eq!(lines("Often the log would print no more:\n\n    foo 1-1: failed\n"), none);
        assert_eq!(lines("For example 6.1 fails. The log:\n\n    foo 1-1: failed\n"), none);
        assert_eq!(lines("If you have an idea, here is the log:\n\n    foo 1-1: failed\n"), none);
        let long = "If you see this:\n".to_string() + &"    foo failed\n".repeat(FEW + 1);
        assert_eq!(lines(&long), none);
    }

    #[test]
    fn what_a_program_prints_by_is_no_message() {
        for source in [
            r#"dev_warn(dev, "CPU slept not (cnt=%llu)\n","#,
            r#"pr_info("PM: suspend entry (%s)","#,
            r#"      "went to sleep\n");"#,
            r#"which did not end\n", ret);"#,
        ] {
            assert!(is_source(source.as_bytes()), "{source}");
        }
        for message in [
            r#"usb 1-1: Product: "5% discount" mouse"#,
            r#"Command line: dyndbg="file main.c +p""#,
            "PM: suspend entry (deep)",
        ] {
            assert!(!is_source(message.as_bytes()), "{message}");
        }
    }

    #[test]
    fn lines_of_a_patch_are_none_of_a_machine() {
        let mail = "Subject: [PATCH 2/3] foo: speak\n\nToday it prints\n\n    foo: failed\n\n\
            --- a/foo.c\n+++ b/foo.c\n@@ -1,2 +1,2 @@\n-\tfoo\n+\tbar\n \tbaz\nBye\n    foo: failed\n";
        let (plain, stamped) = lines(mail);
        assert_eq!(plain, [5, 7, 8, 9, 10, 11, 12, 14]);
        assert_eq!(stamped, [7, 8, 9, 10, 11, 12]);
        let answer = mail.replace("Subject: [", "Subject: Re: [");
        assert_eq!(lines(&answer).0, [7, 8, 9, 10, 11, 12]);
        // Two logs may be compared.
        let logs = "--- good.log\n+++ bad.log\n@@ -1 +1 @@\n-[    1.000000] foo\n";
        assert_eq!(lines(logs), (vec![1, 2, 3, 4], vec![]));
    }
}
