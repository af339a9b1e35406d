//! Interned names: every device, driver, function and thread name once.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

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
#[derive(Clone, Debug)]
pub struct Names {
    text: Vec<Box<str>>,
    index: BTreeMap<Box<str>, Sym>,
}

impl Default for Names {
    fn default() -> Names {
        let mut n = Names { text: Vec::new(), index: BTreeMap::new() };
        n.add("");
        n
    }
}

impl Names {
    /// The id of `text`, which is added if it is new.
    pub fn add(&mut self, text: &str) -> Sym {
        if let Some(&s) = self.index.get(text) {
            return s;
        }
        let s = Sym(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        self.text.push(text.into());
        self.index.insert(text.into(), s);
        s
    }

    /// The id of bytes from a log.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Sym {
        match core::str::from_utf8(bytes) {
            Ok(s) => self.add(s),
            Err(_) => {
                let mut s = String::new();
                for chunk in bytes.utf8_chunks() {
                    s.push_str(chunk.valid());
                    for b in chunk.invalid() {
                        s.push_str(&alloc::format!("\\x{b:02x}"));
                    }
                }
                self.add(&s)
            }
        }
    }

    /// The text of `s`; empty for an id of another table.
    pub fn get(&self, s: Sym) -> &str {
        self.text.get(s.0 as usize).map_or("", |t| t)
    }

    /// The id of `text` if it is known.
    pub fn find(&self, text: &str) -> Option<Sym> {
        self.index.get(text).copied()
    }

    /// How many names there are, the empty one included.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Never true: the empty name is always there.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
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
}
