//! Function names by address, from the kernel's symbol table in the file.

use std::borrow::Cow;

/// `/proc/kallsyms` and where its lines are, by address.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'a> {
    text: Cow<'a, [u8]>,
    /// Address, begin and end of the name.
    sorted: Vec<(u64, u32, u32)>,
}

impl<'a> Symbols<'a> {
    /// Reads lines `ADDRESS TYPE NAME`, with `\t[module]` for modules.
    pub(super) fn new(text: Cow<'a, [u8]>) -> Symbols<'a> {
        let mut sorted = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
            let line = &text[at..end];
            let mut words = line.splitn(3, |&b| b == b' ');
            let address = words.next().and_then(|w| std::str::from_utf8(w).ok());
            let address = address.and_then(|w| u64::from_str_radix(w, 16).ok());
            // Addresses are zero where the reader had no right to see them.
            if let (Some(address @ 1..), Some([b't' | b'T' | b'w' | b'W']), Some(name)) =
                (address, words.next(), words.next())
                && let (Ok(b), Ok(e)) = (u32::try_from(end - name.len()), u32::try_from(end))
            {
                sorted.push((address, b, e));
            }
            at = end + 1;
        }
        // Stable: of several names at one address the first in the table wins.
        sorted.sort_by_key(|s| s.0);
        sorted.dedup_by_key(|s| s.0);
        Symbols { text, sorted }
    }

    /// Writes `function` or `function+0xOFFSET`, `[module]` behind it; the
    /// address itself if it is below all functions.
    pub(super) fn write(&self, address: u64, with_offset: bool, out: &mut Vec<u8>) {
        let i = self.sorted.partition_point(|s| s.0 <= address);
        let Some(&(start, b, e)) = i.checked_sub(1).and_then(|i| self.sorted.get(i)) else {
            out.extend_from_slice(format!("0x{address:x}").as_bytes());
            return;
        };
        let line = &self.text[b as usize..e as usize];
        let (name, module) = match memchr::memchr(b'\t', line) {
            Some(tab) => (&line[..tab], &line[tab + 1..]),
            None => (line, &b""[..]),
        };
        out.extend_from_slice(name);
        if with_offset && address != start {
            out.extend_from_slice(format!("+0x{:x}", address - start).as_bytes());
        }
        if !module.is_empty() {
            out.push(b' ');
            out.extend_from_slice(module);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_around_an_address_is_found() {
        let t = b"0000000000000000 T hidden\nff20 t second\t[mod]\nff00 T first\nff10 d data\n";
        let s = Symbols::new(Cow::Borrowed(&t[..]));
        let name = |a, o| {
            let mut v = Vec::new();
            s.write(a, o, &mut v);
            String::from_utf8(v).unwrap()
        };
        assert_eq!(name(0xff00, true), "first");
        assert_eq!(name(0xff18, true), "first+0x18");
        assert_eq!(name(0xff18, false), "first");
        assert_eq!(name(0xff24, true), "second+0x4 [mod]");
        assert_eq!(name(0x10, false), "0x10");
    }
}
