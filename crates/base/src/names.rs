//! Interned names: every device, driver, function and thread name once.

use std::collections::BTreeMap;

/// An interned name, valid for the [`Names`] that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sym(pub u32);

impl Sym {
    /// The empty name, in every table.
    pub const EMPTY: Sym = Sym(0);

    /// Whether the name is empty (a source that does not say).
    pub fn is_empty(self) -> bool {
        self == Sym::EMPTY
    }
}

/// A table of names. Bytes that are not UTF-8 are kept as `\xNN`, so a name is
/// always text and two different names stay different.
///
/// All text lies in one piece, found by a hash table of indexes: a million
/// names cost a million times their length and 14 bytes, and adding one does
/// not slow down with their number. Names that would crowd one place of the
/// table (a hostile input can choose them so) go to an ordered map instead.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    /// Where each name ends in `text`.
    ends: Vec<u32>,
    /// The table: a byte of the hash of the name in each place, 0 where nothing
    /// is. A power of two. These bytes alone show that a name is new, and those
    /// of a million names fit a cache.
    marks: Vec<u8>,
    /// The name in each place.
    numbers: Vec<Sym>,
    crowded: BTreeMap<Box<str>, Sym>,
}

/// A name is looked for in so many places of the table.
const PROBES: usize = 32;

impl Default for Names {
    fn default() -> Names {
        let mut n = Names {
            text: String::new(),
            ends: Vec::new(),
            marks: std::vec![0; 64],
            numbers: std::vec![Sym::EMPTY; 64],
            crowded: BTreeMap::new(),
        };
        n.add("");
        n
    }
}

impl Names {
    /// The id of `text`, which is added if it is new. Beyond 4 GB of text,
    /// where an id could not tell names apart, the empty name.
    pub fn add(&mut self, text: &str) -> Sym {
        let hash = hash(text.as_bytes());
        if let Some(s) = self.search(text, hash) {
            return s;
        }
        let end = self.text.len().checked_add(text.len()).and_then(|e| u32::try_from(e).ok());
        let (Some(end), Ok(number)) = (end, u32::try_from(self.ends.len())) else {
            return Sym::EMPTY;
        };
        if number == u32::MAX {
            return Sym::EMPTY;
        }
        self.push(text, end, hash);
        Sym(number)
    }

    /// The same ids, with other texts for them.
    pub fn renamed(&self, mut text_of: impl FnMut(&str) -> String) -> Names {
        let mut out = Names::default();
        for n in 1..self.ends.len() as u32 {
            let mut text = text_of(self.get(Sym(n)));
            if out.text.len() + text.len() > u32::MAX as usize {
                text.clear();
            }
            out.push(&text, (out.text.len() + text.len()) as u32, hash(text.as_bytes()));
        }
        out
    }

    /// Adds a text, whether it is there or not.
    fn push(&mut self, text: &str, end: u32, hash: u32) {
        let number = Sym(self.ends.len() as u32);
        if self.ends.len() * 3 >= self.marks.len() * 2 {
            self.grow();
        }
        self.text.push_str(text);
        self.ends.push(end);
        self.place(hash, number);
    }

    /// The id of bytes from a log.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Sym {
        match std::str::from_utf8(bytes) {
            Ok(s) => self.add(s),
            Err(_) => {
                let mut s = String::new();
                for chunk in bytes.utf8_chunks() {
                    s.push_str(chunk.valid());
                    for b in chunk.invalid() {
                        s.push_str(&std::format!("\\x{b:02x}"));
                    }
                }
                self.add(&s)
            }
        }
    }

    /// The text of `s`; empty for an id of another table.
    pub fn get(&self, s: Sym) -> &str {
        let at = s.0 as usize;
        let Some(&end) = self.ends.get(at) else { return "" };
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.text.get(begin as usize..end as usize).unwrap_or("")
    }

    /// The bytes of [`Names::get`], which costs less.
    pub fn bytes(&self, s: Sym) -> &[u8] {
        let at = s.0 as usize;
        let Some(&end) = self.ends.get(at) else { return b"" };
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.text.as_bytes().get(begin as usize..end as usize).unwrap_or(b"")
    }

    /// The id of `text` if it is known.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.search(text, hash(text.as_bytes()))
    }

    /// How many names there are, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty name is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn search(&self, text: &str, hash: u32) -> Option<Sym> {
        let mask = self.marks.len() - 1;
        for probe in 0..PROBES {
            let at = (hash as usize + probe) & mask;
            match self.marks[at] {
                0 => return None,
                m if m == mark(hash) && self.bytes(self.numbers[at]) == text.as_bytes() => {
                    return Some(self.numbers[at]);
                }
                _ => {}
            }
        }
        self.crowded.get(text).copied()
    }

    fn place(&mut self, hash: u32, s: Sym) {
        let mask = self.marks.len() - 1;
        for probe in 0..PROBES {
            let at = (hash as usize + probe) & mask;
            if self.marks[at] == 0 {
                self.marks[at] = mark(hash);
                self.numbers[at] = s;
                return;
            }
        }
        let text = self.get(s).into();
        self.crowded.insert(text, s);
    }

    /// A search ends at an empty place, so a name may stay with the crowded ones
    /// only while all of its places are taken: all are placed anew.
    fn grow(&mut self) {
        let places = self.marks.len() * 2;
        self.marks = std::vec![0; places];
        self.numbers = std::vec![Sym::EMPTY; places];
        self.crowded.clear();
        for s in (0..self.ends.len() as u32).map(Sym) {
            self.place(hash(self.bytes(s)), s);
        }
    }
}

/// The bits of a hash that say least of the place.
fn mark(hash: u32) -> u8 {
    ((hash >> 24) as u8).max(1)
}

/// Eight bytes at a time, multiplied and folded. Not meant to withstand an
/// attacker: [`Names`] does that by bounding the search.
fn hash(bytes: &[u8]) -> u32 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = bytes.len() as u64 ^ K;
    let (words, rest) = bytes.as_chunks::<8>();
    for w in words {
        h = fold(h ^ u64::from_le_bytes(*w));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    h = fold(h ^ u64::from_le_bytes(last));
    (h ^ (h >> 32)) as u32
}

fn fold(x: u64) -> u64 {
    let m = u128::from(x ^ 0xa076_1d64_78bd_642f) * 0xe703_7ed1_a0b4_28db_u128;
    (m as u64) ^ ((m >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_bytes_stay_different() {
        let mut n = Names::default();
        assert_eq!(n.add("usb1"), n.add("usb1"));
        assert_ne!(n.add_bytes(b"a\xff"), n.add_bytes(b"a\xfe"));
        assert_eq!(n.get(Sym::EMPTY), "");
        let s = n.add_bytes(b"a\xff");
        assert_eq!(n.get(s), "a\\xff");
    }

    #[test]
    fn a_crowded_name_is_found_after_the_table_grew() {
        let mut n = Names::default();
        let mut ids: Vec<(String, Sym)> = Vec::new();
        let mut was_crowded = false;
        for i in 0..60_000u32 {
            let text = std::format!("serial8250:{}.{i}", i % 7);
            let s = n.add(&text);
            ids.push((text, s));
            was_crowded |= !n.crowded.is_empty();
            if n.ends.len() * 3 >= n.marks.len() * 2 - 3 {
                // The table grows with the next name: all stay known.
                n.add("one more");
                for (t, s) in &ids {
                    assert_eq!(n.find(t), Some(*s), "{t}");
                }
            }
        }
        assert!(was_crowded, "the names never crowd: the test shows nothing");
    }

    #[test]
    fn many_names_and_crowded_ones_are_all_found() {
        let mut n = Names::default();
        let all: Vec<String> = (0..5_000).map(|i| std::format!("dev{i}")).collect();
        let ids: Vec<Sym> = all.iter().map(|t| n.add(t)).collect();
        for (t, &s) in all.iter().zip(&ids) {
            assert_eq!(n.get(s), t);
            assert_eq!(n.find(t), Some(s));
            assert_eq!(n.add(t), s);
        }
        assert_eq!(n.find("nothing"), None);
        assert_eq!(n.len(), 1 + all.len());
        // As if a name had the hash of many others: it must not be lost.
        for _ in 0..PROBES {
            n.place(7, ids[0]);
        }
        assert!(n.crowded.contains_key("dev0"));
        assert_eq!(n.crowded.get("dev0"), Some(&ids[0]));
    }
}
