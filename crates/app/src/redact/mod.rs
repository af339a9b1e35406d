//! What identifies a machine or its owner, replaced by words such as `host-1`: the same word
//! for the same thing, numbered in the order of the output. Figures, devices, functions and
//! kernels stay as they are, because only what is said is changed and nothing that is read.

mod context;
mod pattern;
#[cfg(test)]
mod tests;

use dormouse_base::names::Names;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// What is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Host,
    User,
    Serial,
    Mac,
    Ssid,
    Ip,
    Uuid,
    Mail,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Host,
        Kind::User,
        Kind::Serial,
        Kind::Mac,
        Kind::Ssid,
        Kind::Ip,
        Kind::Uuid,
        Kind::Mail,
    ];

    fn word(self) -> &'static str {
        match self {
            Kind::Host => "host",
            Kind::User => "user",
            Kind::Serial => "serial",
            Kind::Mac => "mac",
            Kind::Ssid => "ssid",
            Kind::Ip => "ip",
            Kind::Uuid => "uuid",
            Kind::Mail => "mail",
        }
    }
}

/// How sure it is that something is private, the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// It looks so, with nothing beside it that tells.
    Bare,
    /// What stands beside it says that it is a constant of firmware or of a standard.
    Public,
    /// What stands beside it says what it is.
    Named,
}

/// Something private in a text.
struct Found {
    at: Range<usize>,
    /// Leading bytes of it that say nothing of the owner and stay: `enx`.
    keep: usize,
    kind: Kind,
    seen: Seen,
    /// Whether the same letters mean the same thing wherever they stand.
    everywhere: bool,
}

/// How something private is written.
struct Form {
    text: Box<[u8]>,
    keep: usize,
    thing: usize,
}

struct Thing {
    kind: Kind,
    seen: Seen,
    /// From 1, when it was said first.
    number: Option<u32>,
    /// In place of the number.
    name: Option<String>,
}

/// What a host is called, by its name.
type HostName = Box<dyn Fn(&str) -> String>;

/// Replaces what is private.
#[derive(Default)]
pub struct Redactor {
    things: Vec<Thing>,
    known: HashMap<(Kind, String), usize>,
    forms: Vec<Form>,
    /// Forms by the letters and digits that they begin with.
    by_head: BTreeMap<Box<[u8]>, Vec<usize>>,
    counts: [u32; Kind::ALL.len()],
    /// What a host is called behind `host-`, by its name without its domain, in small letters.
    hosts: Option<HostName>,
}

/// A fragment shorter than this, beside the mark of a cut, may be anything.
const FRAGMENT: usize = 3;

/// The mark of a cut, U+2026.
const CUT: &[u8] = "…".as_bytes();

impl Redactor {
    /// With hosts called by what `name` makes of theirs, 32 digits of base 16, and not numbered.
    #[must_use]
    pub fn naming_hosts(self, name: impl Fn(&str) -> String + 'static) -> Redactor {
        Redactor { hosts: Some(Box::new(name)), ..self }
    }

    /// Learns what is private in a text that is not said itself.
    pub fn learn(&mut self, text: &[u8]) {
        for found in spans(text) {
            self.note(text, &found);
        }
    }

    /// A host name that no text tells.
    pub fn learn_host(&mut self, host: &str) {
        self.learn(format!("hostname={host}").as_bytes());
    }

    /// `text` without what is private.
    #[must_use]
    pub fn redacted(&mut self, text: &[u8]) -> Vec<u8> {
        let found = spans(text);
        let things: Vec<usize> = found.iter().map(|f| self.note(text, f)).collect();
        let mut spans = found.iter().zip(things).peekable();
        let mut out = Vec::with_capacity(text.len());
        let mut i = 0;
        while i < text.len() {
            while spans.next_if(|(f, _)| f.at.start < i).is_some() {}
            if let Some((f, thing)) = spans.next_if(|(f, _)| f.at.start == i)
                && self.is_private(thing)
            {
                i = self.say(thing, f.keep, text, f.at.clone(), &mut out);
                continue;
            }
            if !is_run(text[i]) {
                let n = step(&text[i..]);
                out.extend_from_slice(&text[i..i + n]);
                i += n;
                continue;
            }
            let end = run(text, i);
            if let Some((keep, thing, n)) = self.form_at(text, i, end) {
                i = self.say(thing, keep, text, i..i + n, &mut out);
                continue;
            }
            // What begins inside of a word was found by what stands around it.
            let next = spans.peek().map_or(end, |(f, _)| f.at.start.clamp(i + 1, end));
            out.extend_from_slice(&text[i..next]);
            i = next;
        }
        self.without_fragments(out)
    }

    /// The names of a capture without what is private, for forms that are no text.
    pub fn rename(&mut self, names: &mut Names) {
        *names = names
            .renamed(|text| String::from_utf8_lossy(&self.redacted(text.as_bytes())).into_owned());
    }

    fn is_private(&self, thing: usize) -> bool {
        self.things[thing].seen != Seen::Public
    }

    /// Remembers what was found, and gives its number.
    fn note(&mut self, text: &[u8], f: &Found) -> usize {
        let (whole, own) = (&text[f.at.clone()], &text[f.at.start + f.keep..f.at.end]);
        let key = key(f.kind, own);
        let next = self.things.len();
        let thing = match self.known.get(&(f.kind, key.clone())) {
            Some(&thing) => thing,
            None => {
                let name = self.hosts.as_ref().filter(|_| f.kind == Kind::Host).map(|n| n(&key));
                self.things.push(Thing { kind: f.kind, seen: f.seen, number: None, name });
                self.known.insert((f.kind, key), next);
                next
            }
        };
        let seen = &mut self.things[thing].seen;
        *seen = (*seen).max(f.seen);
        if f.everywhere {
            self.form(whole, f.keep, thing);
            if f.keep > 0 && f.kind == Kind::Serial && own.len() >= 6 {
                self.form(own, 0, thing);
            }
            if let (Kind::User, Some(first)) = (f.kind, own.first()) {
                let capital = [&[first.to_ascii_uppercase()], &own[1..]].concat();
                self.form(&capital, 0, thing);
            }
            let short = own.split(|b| *b == b'.').next().unwrap_or(own);
            if f.kind == Kind::Host && context::is_telling(short) {
                self.form(short, 0, thing);
            }
        }
        thing
    }

    fn form(&mut self, text: &[u8], keep: usize, thing: usize) {
        let head = &text[..run(text, 0)];
        let there = self.by_head.get(head).map_or(&[][..], Vec::as_slice);
        if head.is_empty() || there.iter().any(|&n| *self.forms[n].text == *text) {
            return;
        }
        self.by_head.entry(head.into()).or_default().push(self.forms.len());
        self.forms.push(Form { text: text.into(), keep, thing });
    }

    /// The longest form that stands at `i`, where a word ends at `end`: what of it stays, the
    /// thing, and its bytes in `text`.
    fn form_at(&self, text: &[u8], i: usize, end: usize) -> Option<(usize, usize, usize)> {
        let forms = self.by_head.get(&text[i..end])?.iter().map(|&n| &self.forms[n]);
        let fits = forms.filter(|f| self.is_private(f.thing)).filter_map(|f| {
            let n = length_of(&f.text, &text[i..])?;
            Some((f.keep, f.thing, n))
        });
        fits.max_by_key(|(_, _, n)| *n)
    }

    /// Writes the word of a thing that stands `at` a place, behind what of it stays, and gives
    /// where to go on. In a table, columns stay where they are.
    fn say(
        &mut self,
        thing: usize,
        keep: usize,
        text: &[u8],
        at: Range<usize>,
        out: &mut Vec<u8>,
    ) -> usize {
        let (begin, end) = (at.start + keep, at.end);
        out.extend_from_slice(&text[at.start..begin]);
        let word = self.word(thing);
        if keep > 0 && out.last().is_some_and(u8::is_ascii_alphanumeric) {
            out.push(b'-');
        }
        out.extend_from_slice(word.as_bytes());
        let blanks = text[end..].iter().take_while(|b| **b == b' ').count();
        let old = String::from_utf8_lossy(&text[begin..end]).chars().count();
        if blanks < 2 {
            return end;
        }
        out.resize(out.len() + old.saturating_sub(word.len()), b' ');
        end + word.len().saturating_sub(old).min(blanks - 2)
    }

    fn word(&mut self, thing: usize) -> String {
        let Thing { kind, number, name, .. } = &mut self.things[thing];
        if let Some(name) = name {
            return format!("{}-{name}", kind.word());
        }
        let count = &mut self.counts[*kind as usize];
        let number = *number.get_or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{}-{number}", kind.word())
    }

    /// What a screen cut short and marked, where the part that is left is of something private.
    fn without_fragments(&mut self, text: Vec<u8>) -> Vec<u8> {
        if !text.windows(CUT.len()).any(|w| w == CUT) {
            return text;
        }
        let mut out: Vec<u8> = Vec::with_capacity(text.len());
        let mut i = 0;
        while i < text.len() {
            if !text[i..].starts_with(CUT) {
                out.push(text[i]);
                i += 1;
                continue;
            }
            if let Some((n, thing)) = self.cut_form(|form| {
                (FRAGMENT..=form.len()).rev().find(|&k| {
                    out.ends_with(&form[..k])
                        && !out[..out.len() - k].last().is_some_and(|b| is_run(*b))
                })
            }) {
                out.truncate(out.len() - n);
                out.extend_from_slice(self.word(thing).as_bytes());
            }
            out.extend_from_slice(CUT);
            i += CUT.len();
            let rest = &text[i..];
            if let Some((n, thing)) = self.cut_form(|form| {
                (FRAGMENT..=form.len()).rev().find(|&k| {
                    rest.starts_with(&form[form.len() - k..])
                        && !rest.get(k).is_some_and(|b| is_run(*b))
                })
            }) {
                out.extend_from_slice(self.word(thing).as_bytes());
                i += n;
            }
        }
        out
    }

    /// The form of which `left` sees most, and how much.
    fn cut_form(&self, left: impl Fn(&[u8]) -> Option<usize>) -> Option<(usize, usize)> {
        let private = self.forms.iter().filter(|f| self.is_private(f.thing));
        private.filter_map(|f| Some((left(&f.text)?, f.thing))).max_by_key(|(n, _)| *n)
    }
}

/// What is private in `text`, in order, none within another.
fn spans(text: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut begin = 0;
    for line in text.split(|b| *b == b'\n') {
        let from = found.len();
        pattern::find(line, &mut found);
        context::find(line, &mut found);
        for f in &mut found[from..] {
            f.at = f.at.start + begin..f.at.end + begin;
        }
        begin += line.len() + 1;
    }
    found.sort_by_key(|f| (f.at.start, std::cmp::Reverse((f.at.end, f.seen))));
    let mut end = 0;
    found.retain(|f| {
        let apart = f.at.start >= end && !f.at.is_empty();
        if apart {
            end = f.at.end;
        }
        apart
    });
    found
}

/// What two ways to write the same thing share.
fn key(kind: Kind, own: &[u8]) -> String {
    let text = String::from_utf8_lossy(own).to_lowercase();
    match kind {
        Kind::Mac => text.chars().filter(char::is_ascii_hexdigit).collect(),
        Kind::Host => text.split('.').next().unwrap_or(&text).to_string(),
        Kind::Ip => match text.parse::<std::net::Ipv6Addr>() {
            Ok(address) => address.to_string(),
            Err(_) => text,
        },
        _ => text,
    }
}

/// How much of `text` is `form`: a blank in it is any white space, because screens wrap.
fn length_of(form: &[u8], text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for &b in form {
        if b == b' ' {
            let blank = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
            at += if blank == 0 { return None } else { blank };
        } else if text.get(at) == Some(&b) {
            at += 1;
        } else {
            return None;
        }
    }
    (!text.get(at).is_some_and(|b| is_run(*b))).then_some(at)
}

/// Letters, digits and `_`, which words are made of: 1; what joins them in addresses and
/// names: 2.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        class[b] = match byte {
            b'_' => 1,
            b':' | b'.' | b'@' | b'-' | b'+' | b'%' => 2,
            _ if byte.is_ascii_alphanumeric() => 1,
            _ => 0,
        };
        b += 1;
    }
    class
};

fn is_run(b: u8) -> bool {
    CLASS[usize::from(b)] == 1
}

/// Where the word at `i` ends.
fn run(text: &[u8], i: usize) -> usize {
    i + text[i..].iter().take_while(|b| is_run(**b)).count()
}

/// Bytes that stand before the next word: the letters of an escape are of none.
fn step(text: &[u8]) -> usize {
    match text {
        [b'\\', b'n' | b'r' | b't', ..] => 2,
        [0x1b, b'[', rest @ ..] => 3 + rest.iter().take_while(|b| !b.is_ascii_alphabetic()).count(),
        _ => 1,
    }
    .min(text.len())
}
