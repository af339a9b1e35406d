//! Lines of at most 80 columns, with or without colour.

use super::safe::{fit, width};

/// Columns of a page.
pub const WIDTH: usize = 80;

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// As it is.
    Plain,
    /// Stands out.
    Strong,
    /// Stands back.
    Faint,
    /// Costs most.
    Hot,
}

/// The words of `text`; a number and its unit are one.
fn words(text: &str) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    let mut start = 0;
    for (at, word) in text.split(' ').scan(0, |at, w| {
        let here = *at;
        *at += w.len() + 1;
        Some((here, w))
    }) {
        if word.is_empty() {
            continue;
        }
        let unit = word.trim_end_matches([')', ',', '.', ';', ':']);
        let number = out.last().is_some_and(|w: &&str| w.ends_with(|c: char| c.is_ascii_digit()));
        if matches!(unit, "ms" | "s" | "%" | "J") && number {
            out.pop();
        } else {
            start = at;
        }
        out.push(&text[start..at + word.len()]);
    }
    out
}

/// Text that grows line by line.
pub struct Page {
    out: String,
    colour: bool,
}

impl Page {
    /// An empty page.
    pub fn new(colour: bool) -> Page {
        Page { out: String::new(), colour }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.out
    }

    /// A line of pieces; what goes beyond the width is cut. Pieces must be
    /// safe.
    pub fn line(&mut self, pieces: &[(Ink, &str)]) {
        let mut room = WIDTH;
        let last = pieces.iter().rposition(|(_, t)| !t.trim_end().is_empty());
        for (i, (ink, text)) in pieces.iter().enumerate() {
            let text = if last == Some(i) { text.trim_end() } else { text };
            if last.is_none_or(|l| i > l) {
                break;
            }
            let text = fit(text, room);
            room -= width(&text).min(room);
            self.put(*ink, &text);
        }
        self.out.push('\n');
    }

    fn put(&mut self, ink: Ink, text: &str) {
        let code = match ink {
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Hot => "1;31",
            Ink::Plain => "",
        };
        if self.colour && !code.is_empty() && !text.is_empty() {
            self.out.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
        } else {
            self.out.push_str(text);
        }
    }

    /// Lines as they are, however wide: a command that is cut is another one.
    pub(crate) fn verbatim(&mut self, ink: Ink, text: &str) {
        for line in text.lines() {
            self.put(ink, line);
            self.out.push('\n');
        }
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// An empty line and a heading.
    pub fn heading(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.line(&[(Ink::Strong, text)]);
    }

    /// Words wrapped at the width, all lines indented; lines after the first by
    /// two more.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.wrapped(Ink::Plain, indent, indent + 2, text);
    }

    /// A front of fixed width and words beside it.
    pub fn entry(&mut self, front: &str, text: &str) {
        let indent = width(front);
        let mut rest = String::new();
        let mut lines = 0;
        let mut flush = |page: &mut Page, line: &str| {
            let front = if lines == 0 { front.to_string() } else { " ".repeat(indent) };
            page.line(&[(Ink::Plain, &front), (Ink::Plain, line)]);
            lines += 1;
        };
        for word in words(text) {
            if !rest.is_empty() && indent + width(&rest) + 1 + width(word) > WIDTH {
                flush(self, &rest);
                rest.clear();
            }
            if !rest.is_empty() {
                rest.push(' ');
            }
            rest.push_str(word);
        }
        flush(self, &rest);
    }

    /// Words wrapped at the width.
    pub fn wrapped(&mut self, ink: Ink, first: usize, rest: usize, text: &str) {
        let mut line = " ".repeat(first);
        let mut empty = true;
        for word in words(text) {
            if !empty && width(&line) + 1 + width(word) > WIDTH {
                self.line(&[(ink, &line)]);
                line = " ".repeat(rest);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        if !empty {
            self.line(&[(ink, &line)]);
        }
    }
}
