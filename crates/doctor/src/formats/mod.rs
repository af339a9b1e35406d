//! The messages that kernels print around sleep, each by its format.
//!
//! `table.txt` is made by `tools/formats.py` of the sources of Linux; what each message of
//! the core means is written there by hand. A message is recognised by the format that it
//! was printed with: which part of the kernel says it, how bad it is, what it means, which
//! kernels print it, and what was put in.

pub mod draw;
mod meaning;
mod pattern;

use crate::words::Words;
pub use meaning::Meaning;
use pattern::{Kind, Piece, parameters, pieces};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

const TABLE: &str = include_str!("table.txt");

/// How a format is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it is.
    Plain,
    /// Behind a driver and a device (drivers/base/core.c:__dev_printk).
    Device,
    /// Behind a driver, a device and an interface (net/core/dev.c:__netdev_printk).
    Interface,
    /// Below the line of a WARNING.
    Warning,
    /// The rest of a line that something else began.
    Rest,
    /// In a file of sysfs or debugfs.
    File,
}

/// One format.
#[derive(Debug)]
pub struct Format {
    /// Part of the kernel.
    pub subject: &'static str,
    /// Of the part of the kernel that sleep is made of: its meaning is known.
    pub core: bool,
    /// The newest kernel's file that has it.
    pub file: &'static str,
    /// Which kernels have it: a bit each, in the order of [`Formats::kernels`].
    kernels: u8,
    /// Level of printk, 0 the worst; a file has none.
    pub severity: Option<u8>,
    /// How it is printed.
    pub how: How,
    /// What it means; nothing is known of one that is not of the core.
    pub meaning: Option<Meaning>,
    /// As the source has it; a tab is `\t`.
    pub text: String,
    pieces: Vec<Piece>,
    /// Bytes of its text that are always the same.
    fixed: usize,
}

impl Format {
    /// Whether the two print the same, but for what is put in.
    pub(crate) fn reads_as(&self, other: &Format) -> bool {
        self.fixed == other.fixed
            && self.pieces.iter().map(literal).eq(other.pieces.iter().map(literal))
    }

    /// Whether it is a message of its own, and has enough fixed text to be told from others.
    pub fn is_telling(&self) -> bool {
        let marks = self.pieces.iter().filter_map(literal).flatten();
        let marks = marks.filter(|&&b| b != b' ' && b != b':').count();
        if self.pieces.iter().all(|p| !matches!(p, Piece::Parameter(Kind::Any))) {
            return self.is_message() && marks >= MARKS_OF_NUMBERS;
        }
        let letters: usize = fixed_words(self).into_iter().map(<[u8]>::len).sum();
        let first = self.pieces.first().and_then(literal).unwrap_or_default();
        let named = first.iter().take_while(|b| b.is_ascii_alphabetic()).count() >= MARKS;
        let of_device = matches!(self.how, How::Device | How::Interface);
        let needed = match (of_device, self.core) {
            (true, true) if !named => OWN_CORE,
            (true, false) => OWN,
            (false, _) if first.is_empty() => OWN,
            _ => 0,
        };
        self.is_message() && marks >= MARKS && letters >= needed
    }

    /// Whether it is a message of its own: lines of files are read with their tables, and
    /// what ends a line is none.
    pub fn is_message(&self) -> bool {
        !matches!(self.how, How::File | How::Rest)
    }

    /// Whether the kernel at `place` of [`Formats::kernels`] has it.
    pub fn is_of(&self, place: usize) -> bool {
        self.kernels >> place & 1 == 1
    }

    /// Whether it tells of something that went wrong.
    pub(crate) fn is_error(&self) -> bool {
        self.severity.is_some_and(|s| s <= 3)
    }
}

/// A message whose format is known.
#[derive(Clone, Debug)]
pub struct Known<'m> {
    /// Its format.
    pub format: &'static Format,
    /// Driver and device that stand before it, if it is said of a device.
    pub device: Option<(&'m str, &'m str)>,
    /// What was put in, in order; texts side by side are one.
    pub parameters: Vec<&'m str>,
    /// Kernels that print it, a bit each: also where another part of them does.
    kernels: u8,
}

impl Known<'_> {
    /// Releases that print it, of those whose sources were read.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        let bits = self.kernels;
        all().kernels.iter().enumerate().filter(move |(i, _)| bits >> i & 1 == 1).map(|(_, k)| *k)
    }
}

/// All formats, ready to look a message up.
#[derive(Debug, Default)]
pub struct Formats {
    /// Releases whose sources were read, oldest first.
    pub kernels: Vec<&'static str>,
    /// In order of the table.
    pub list: Vec<Format>,
    /// Formats by the rarest word that each always has.
    words: Index,
    /// Those that have none, but enough else.
    wordless: Vec<usize>,
}

type Index = HashMap<Vec<u8>, Vec<usize>, BuildHasherDefault<Quick>>;

/// A hash of words that nobody outside chooses, eight letters at a time: each word of each
/// message is looked up.
#[derive(Debug, Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, word: &[u8]) {
        for letters in word.chunks(8) {
            let number = letters.iter().fold(0, |n, b| n << 8 | u64::from(*b));
            // An odd number near 2^64 over the golden ratio spreads the bits.
            self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The table.
pub fn all() -> &'static Formats {
    static ALL: OnceLock<Formats> = OnceLock::new();
    ALL.get_or_init(|| Formats::new(TABLE))
}

/// Words shorter than this tell nothing.
const SHORTEST: usize = 2;

/// A format tells nothing that has less fixed text besides blanks and colons.
const MARKS: usize = 3;

/// The same of one that is all numbers: `%x => %x`.
const MARKS_OF_NUMBERS: usize = 2;

/// Nor does one that begins with a parameter and has fewer letters in words of its own: any
/// driver may say `%s: status %d`.
const OWN: usize = 8;

/// The same of what the core says of a device, which others do not say by chance.
const OWN_CORE: usize = 5;

impl Formats {
    fn new(table: &'static str) -> Formats {
        let mut out = Formats::default();
        let (mut subject, mut core, mut file) = ("", false, "");
        for line in table.lines() {
            if let Some(names) = line.strip_prefix("# kernels: ") {
                out.kernels = names.split(' ').collect();
            } else if let Some(head) = line.strip_prefix('=') {
                let mut words = head.split('|');
                subject = words.next().unwrap_or("");
                core = words.next() == Some("core");
                file = words.next().unwrap_or("");
            } else if !line.starts_with('#') {
                out.list.extend(row(line).map(|f| Format { subject, core, file, ..f }));
            }
        }
        (out.words, out.wordless) = by_word(&out.list);
        out
    }

    /// The format of a message, if it is known. Of several that fit the one with the most
    /// fixed text is meant.
    pub fn recognise<'m>(&'static self, message: &'m Words) -> Option<Known<'m>> {
        let listed = |word| self.words.get(word).into_iter().flatten();
        let mut best = self.best(words(message.as_bytes()).flat_map(listed), message);
        if best.is_none() {
            best = self.best(self.wordless.iter(), message);
        }
        best
    }

    fn best<'m>(
        &'static self,
        places: impl Iterator<Item = &'static usize>,
        message: &'m Words,
    ) -> Option<Known<'m>> {
        let mut best: Option<Known<'m>> = None;
        for format in places.map(|&i| &self.list[i]) {
            if best.as_ref().is_some_and(|b| format.fixed < b.format.fixed) {
                continue;
            }
            let Some(mut new) = known(format, message) else { continue };
            match &mut best {
                Some(b) if b.format.fixed == format.fixed => {
                    new.kernels |= b.kernels;
                    b.kernels = new.kernels;
                    // In the same words of the core and of others: the core's is meant.
                    if format.core && !b.format.core {
                        best = Some(new);
                    }
                }
                _ => best = Some(new),
            }
        }
        best
    }
}

/// A line of the table.
fn row(line: &'static str) -> Option<Format> {
    let mut words = line.splitn(5, ' ');
    let kernels = words.next()?.bytes().rev().fold(0, |n, b| n << 1 | u8::from(b == b'1'));
    let severity = words.next()?.parse().ok();
    let how = match words.next()? {
        "d" => How::Device,
        "n" => How::Interface,
        "w" => How::Warning,
        "+" => How::Rest,
        "f" => How::File,
        _ => How::Plain,
    };
    let meaning = Meaning::named(words.next()?);
    let text = words.next()?.replace("\\t", "\t");
    // Readers of logs take blanks before a message for part of its prefix.
    let pieces = pieces(text.trim_start());
    let fixed = pieces.iter().filter_map(literal).map(<[u8]>::len).sum();
    Some(Format {
        subject: "",
        core: false,
        file: "",
        kernels,
        severity,
        how,
        meaning,
        text,
        pieces,
        fixed,
    })
}

fn literal(piece: &Piece) -> Option<&[u8]> {
    match piece {
        Piece::Literal(l) => Some(l),
        Piece::Parameter(_) => None,
    }
}

fn is_letter(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

/// Words of `text`.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| !is_letter(b)).filter(|w| w.len() >= SHORTEST)
}

/// Words that every message of a format has: those that touch no parameter.
fn fixed_words(format: &Format) -> Vec<&[u8]> {
    let mut out = Vec::new();
    for (i, piece) in format.pieces.iter().enumerate() {
        let Piece::Literal(l) = piece else { continue };
        let mut part = &l[..];
        if i > 0 {
            part = &part[part.iter().take_while(|&&b| is_letter(b)).count()..];
        }
        if i + 1 < format.pieces.len() {
            part = &part[..part.len() - part.iter().rev().take_while(|&&b| is_letter(b)).count()];
        }
        out.extend(words(part));
    }
    out
}

/// Formats by that word of each which the fewest have, and those without a word.
fn by_word(list: &[Format]) -> (Index, Vec<usize>) {
    let mut count: HashMap<&[u8], usize> = HashMap::new();
    for word in list.iter().flat_map(fixed_words) {
        *count.entry(word).or_default() += 1;
    }
    let (mut named, mut wordless) = (Index::default(), Vec::new());
    for (i, format) in list.iter().enumerate().filter(|(_, f)| f.is_telling()) {
        match fixed_words(format).into_iter().min_by_key(|w| (count[w], *w)) {
            Some(word) => named.entry(word.to_vec()).or_default().push(i),
            None => wordless.push(i),
        }
    }
    (named, wordless)
}

/// `message` as one of `format`, if it is.
fn known<'m>(format: &'static Format, message: &'m Words) -> Option<Known<'m>> {
    let text = message.as_bytes();
    // Most formats that share a word with a message end otherwise, or have other words too.
    let ends = format.pieces.last().and_then(literal).is_none_or(|end| text.ends_with(end));
    if !ends || !format.pieces.iter().filter_map(literal).all(|l| message.may_have(l)) {
        return None;
    }
    let put = |found: Vec<(usize, usize)>| {
        found.into_iter().map(|(a, b)| message.get(a..b).unwrap_or("")).collect()
    };
    if !matches!(format.how, How::Device | How::Interface) {
        let blanks = text.len() - text.trim_ascii_start().len();
        let found = parameters(&format.pieces, text, blanks)?;
        return Some(Known {
            format,
            device: None,
            parameters: put(found),
            kernels: format.kernels,
        });
    }
    let head = &text[..message.floor_char_boundary(HEAD)];
    let mut colons = (1..head.len()).filter(|&at| head[at] == b' ' && head[at - 1] == b':');
    colons.find_map(|blank| {
        let (colon, begin) = (blank - 1, blank + 1);
        let begin = begin + text[begin..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if let Some(Piece::Literal(l)) = format.pieces.first()
            && !text[begin..].starts_with(l)
        {
            return None;
        }
        // A driver, or a bus, always stands before the device.
        let device = message[..colon].rsplit_once(' ')?;
        let found = parameters(&format.pieces, text, begin)?;
        Some(Known {
            format,
            device: Some(device),
            parameters: put(found),
            kernels: format.kernels,
        })
    })
}

/// Driver and device are not longer.
const HEAD: usize = 120;

#[cfg(test)]
mod tests;
