//! JSON that is written while it is made: no tree of values, no allocation a
//! value, one buffer.

use std::io;

/// How much is collected before it is written.
const FULL: usize = 64 << 10;

/// Longest plain value but a string: a number of 20 digits or its sign.
const LONGEST: usize = 24;

/// Writes JSON to `out`. The methods stand for the brackets, so what comes out
/// is always whole.
pub(crate) struct Emit<'a> {
    room: Room<'a>,
    /// A value was written in this list or object, so the next needs a comma.
    comma: bool,
}

impl<'a> Emit<'a> {
    /// Nothing written yet.
    pub(super) fn to(out: &'a mut dyn io::Write) -> Emit<'a> {
        let room = Room { out, bytes: vec![0; FULL], at: 0, error: None };
        Emit { room, comma: false }
    }

    /// Ends the document with a line break.
    ///
    /// # Errors
    /// If something could not be written.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.room.byte(b'\n');
        self.room.spill();
        self.room.error.map_or(Ok(()), Err)
    }

    /// Whether writing failed, so that the rest need not be made.
    pub(super) fn failed(&self) -> bool {
        self.room.error.is_some()
    }

    /// An object; `inner` writes its fields.
    pub(super) fn object(&mut self, inner: impl FnOnce(&mut Self)) {
        self.between(b'{', b'}', inner);
    }

    /// A list; `inner` writes its values.
    pub(super) fn array(&mut self, inner: impl FnOnce(&mut Self)) {
        self.between(b'[', b']', inner);
    }

    /// The name of a field; its value comes next.
    pub(super) fn key(&mut self, name: &str) {
        self.next();
        self.room.text(name);
        self.room.byte(b':');
        self.comma = false;
    }

    /// One value of a list.
    #[inline]
    pub(super) fn value(&mut self, value: impl Value) {
        self.next();
        value.put(&mut self.room);
    }

    /// A field with a plain value.
    pub(super) fn field(&mut self, name: &str, value: impl Value) {
        self.key(name);
        self.value(value);
    }

    /// A field with a list of plain values.
    pub(super) fn values<T: Value>(&mut self, name: &str, list: impl IntoIterator<Item = T>) {
        self.key(name);
        self.array(|w| list.into_iter().for_each(|v| w.value(v)));
    }

    /// A field with a list of objects.
    pub(crate) fn objects<T>(
        &mut self,
        name: &str,
        list: impl IntoIterator<Item = T>,
        mut fields: impl FnMut(&mut Self, T),
    ) {
        self.key(name);
        self.array(|w| {
            list.into_iter().for_each(|item| w.object(|w| fields(w, item)));
        });
    }

    /// A field with a list of rows, each a list of values.
    pub(super) fn rows<T>(
        &mut self,
        name: &str,
        list: impl IntoIterator<Item = T>,
        mut cells: impl FnMut(&mut Self, T),
    ) {
        self.key(name);
        self.array(|w| {
            list.into_iter().for_each(|item| w.array(|w| cells(w, item)));
        });
    }

    #[inline]
    fn between(&mut self, open: u8, close: u8, inner: impl FnOnce(&mut Self)) {
        self.next();
        self.room.byte(open);
        self.comma = false;
        inner(self);
        self.room.byte(close);
        self.comma = true;
    }

    #[inline]
    fn next(&mut self) {
        if self.comma {
            self.room.byte(b',');
        }
        self.comma = true;
    }
}

/// Bytes on their way out.
pub(crate) struct Room<'a> {
    out: &'a mut dyn io::Write,
    bytes: Vec<u8>,
    /// How many of them are used.
    at: usize,
    error: Option<io::Error>,
}

impl Room<'_> {
    #[cold]
    fn spill(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.bytes[..self.at]).err();
        }
        self.at = 0;
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if self.at == self.bytes.len() {
            self.spill();
        }
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    /// Appends the first `len` of `bytes`: a copy of fixed length is quicker.
    #[inline]
    fn short(&mut self, bytes: &[u8; LONGEST], len: usize) {
        if self.at + LONGEST > self.bytes.len() {
            self.spill();
        }
        self.bytes[self.at..self.at + LONGEST].copy_from_slice(bytes);
        self.at += len;
    }

    fn slice(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.at == self.bytes.len() {
                self.spill();
            }
            let n = bytes.len().min(self.bytes.len() - self.at);
            self.bytes[self.at..self.at + n].copy_from_slice(&bytes[..n]);
            self.at += n;
            bytes = &bytes[n..];
        }
    }

    /// A number in decimal, from the last digits to the first.
    #[inline]
    fn digits(&mut self, mut n: u64) {
        if n < 10 {
            return self.byte(b'0' + n as u8);
        }
        let mut room = [0u8; 2 * LONGEST];
        let mut at = LONGEST;
        // Division by a constant is quicker in 32 bits, so eight digits go at once; and
        // two divisions that do not wait for one another are quicker than one after
        // the other.
        while n > u64::from(u32::MAX) {
            let eight = (n % 100_000_000) as u32;
            n /= 100_000_000;
            four(&mut room, at - 8, eight / 10_000);
            four(&mut room, at - 4, eight % 10_000);
            at -= 8;
        }
        let mut n = n as u32;
        while n >= 10_000 {
            at -= 4;
            four(&mut room, at, n % 10_000);
            n /= 10_000;
        }
        while n >= 10 {
            at -= 2;
            room[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
            n /= 100;
        }
        if n > 0 {
            at -= 1;
            room[at] = b'0' + n as u8;
        }
        let digits: &[u8; LONGEST] = room[at..].first_chunk().expect("the room is twice as long");
        self.short(digits, LONGEST - at);
    }

    /// A string in quotes. Most need no escapes, so runs are copied.
    fn text(&mut self, text: &str) {
        self.byte(b'"');
        let mut rest = text.as_bytes();
        let plain = |b: &u8| *b >= 0x20 && *b != b'"' && *b != b'\\';
        while let Some(i) = rest.iter().position(|b| !plain(b)) {
            self.slice(&rest[..i]);
            match rest[i] {
                b'"' => self.slice(b"\\\""),
                b'\\' => self.slice(b"\\\\"),
                b'\n' => self.slice(b"\\n"),
                b'\t' => self.slice(b"\\t"),
                b => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    self.slice(b"\\u00");
                    self.byte(HEX[usize::from(b >> 4)]);
                    self.byte(HEX[usize::from(b & 15)]);
                }
            }
            rest = &rest[i + 1..];
        }
        self.slice(rest);
        self.byte(b'"');
    }
}

/// Writes the four digits of `n` at `at`.
#[inline]
fn four(room: &mut [u8; 2 * LONGEST], at: usize, n: u32) {
    let pairs = [PAIRS[(n / 100 % 100) as usize], PAIRS[(n % 100) as usize]];
    room[at..at + 4].copy_from_slice(pairs.as_flattened());
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// A short word, and how long it is.
const fn word(text: &[u8]) -> ([u8; LONGEST], usize) {
    let mut room = [0; LONGEST];
    let mut i = 0;
    while i < text.len() {
        room[i] = text[i];
        i += 1;
    }
    (room, text.len())
}

const NULL: ([u8; LONGEST], usize) = word(b"null");
const TRUE: ([u8; LONGEST], usize) = word(b"true");
const FALSE: ([u8; LONGEST], usize) = word(b"false");

/// What has a plain JSON value.
pub(super) trait Value {
    /// Appends it.
    fn put(self, out: &mut Room<'_>);
}

macro_rules! unsigned {
    ($($t:ty),*) => {$(
        impl Value for $t {
            #[inline]
            fn put(self, out: &mut Room<'_>) {
                out.digits(self as u64);
            }
        }
    )*};
}

unsigned!(u32, u64, usize);

impl Value for i64 {
    #[inline]
    fn put(self, out: &mut Room<'_>) {
        if self < 0 {
            out.byte(b'-');
        }
        out.digits(self.unsigned_abs());
    }
}

impl Value for i32 {
    fn put(self, out: &mut Room<'_>) {
        i64::from(self).put(out);
    }
}

impl Value for bool {
    #[inline]
    fn put(self, out: &mut Room<'_>) {
        let (word, len) = if self { &TRUE } else { &FALSE };
        out.short(word, *len);
    }
}

impl Value for &str {
    fn put(self, out: &mut Room<'_>) {
        out.text(self);
    }
}

impl Value for &String {
    fn put(self, out: &mut Room<'_>) {
        out.text(self);
    }
}

impl<T: Value> Value for Option<T> {
    #[inline]
    fn put(self, out: &mut Room<'_>) {
        match self {
            Some(value) => value.put(out),
            None => out.short(&NULL.0, NULL.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(fill: impl FnOnce(&mut Emit<'_>)) -> String {
        let mut out = Vec::new();
        let mut w = Emit::to(&mut out);
        fill(&mut w);
        w.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn commas_and_brackets() {
        let text = written(|w| {
            w.object(|w| {
                w.field("a", 1u32);
                w.rows("b", [1i64, -2], |w, n| {
                    w.value(n);
                    w.value(None::<bool>);
                });
                w.objects("c", 0..2usize, |w, n| w.field("n", n));
                w.values("d", Vec::<&str>::new());
            });
        });
        assert_eq!(
            text,
            "{\"a\":1,\"b\":[[1,null],[-2,null]],\"c\":[{\"n\":0},{\"n\":1}],\"d\":[]}\n"
        );
    }

    #[test]
    fn numbers_of_every_length() {
        let tens = (0..20).map(|e| 10u64.pow(e));
        let list: Vec<u64> =
            tens.flat_map(|p| [p - 1, p, p + 1, p.saturating_mul(4)]).chain([u64::MAX]).collect();
        let text = written(|w| w.array(|w| list.iter().for_each(|&n| w.value(n))));
        let want: Vec<String> = list.iter().map(u64::to_string).collect();
        assert_eq!(text, format!("[{}]\n", want.join(",")));
    }

    #[test]
    fn more_than_the_buffer_holds() {
        let text = written(|w| w.object(|w| w.rows("n", 0..40_000u32, |w, n| w.value(n))));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["n"].as_array().unwrap().len(), 40_000);
        assert!(text.len() > 3 * FULL && json["n"][39_999][0] == 39_999);
    }

    #[test]
    fn a_writer_that_fails_is_told_of() {
        struct Full;
        impl io::Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full;
        let mut w = Emit::to(&mut full);
        w.object(|w| w.rows("n", 0..40_000u32, |w, n| w.value(n)));
        assert!(w.failed());
        assert_eq!(w.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    proptest! {
        #[test]
        fn every_value_comes_back(n: i64, u: u64, s in ".*", c in "[\\x00-\\x1f\"\\\\]*") {
            let text = written(|w| w.array(|w| {
                w.value(n);
                w.value(u);
                w.value(s.as_str());
                w.value(Some(&c));
            }));
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back, serde_json::json!([n, u, s, c]));
        }
    }
}
