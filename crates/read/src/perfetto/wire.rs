//! The protobuf wire format: tags, numbers, and bytes with a length.

/// A field's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Wire type 0, and the fixed sizes 1 and 5.
    Number(u64),
    /// Wire type 2: text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// As a number; 0 if it is not one.
    pub(super) fn number(self) -> u64 {
        match self {
            Value::Number(n) => n,
            Value::Bytes(_) => 0,
        }
    }

    /// As bytes; none if it is a number.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Value::Number(_) => b"",
            Value::Bytes(b) => b,
        }
    }
}

/// The fields of a message, in their order. Stops at damage.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    data: &'a [u8],
    /// Bytes read so far.
    pub at: usize,
    /// The message is cut or damaged at `at`.
    pub damaged: bool,
}

impl<'a> Fields<'a> {
    /// The fields of `data`.
    pub(super) fn new(data: &'a [u8]) -> Fields<'a> {
        Fields { data, at: 0, damaged: false }
    }

    fn varint(&mut self) -> Option<u64> {
        let rest = self.data.get(self.at..)?;
        // Most tags and lengths are one byte.
        let mut value = 0u64;
        for (i, &b) in rest.iter().take(10).enumerate() {
            value |= u64::from(b & 0x7f) << (7 * i);
            if b < 0x80 {
                self.at += i + 1;
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, n: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(n).ok()?)?;
        let s = self.data.get(self.at..end)?;
        self.at = end;
        Some(s)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|&n| n != 0)?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let n = self.varint()?;
                Value::Bytes(self.take(n)?)
            }
            5 => Value::Number(u32::from_le_bytes(self.take(4)?.try_into().ok()?).into()),
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.damaged || self.at >= self.data.len() {
            return None;
        }
        let before = self.at;
        let field = self.field();
        if field.is_none() {
            (self.at, self.damaged) = (before, true);
        }
        field
    }
}

/// The first field of `data`, if it is `number` and has a length: as many of its
/// bytes as there are, its length, and what follows.
pub(crate) fn begin_of_field(data: &[u8], number: u32) -> Option<(&[u8], usize, &[u8])> {
    let mut f = Fields::new(data);
    if f.varint()? != u64::from(number) << 3 | 2 {
        return None;
    }
    let size = usize::try_from(f.varint()?).ok()?;
    let rest = &data[f.at..];
    let have = size.min(rest.len());
    Some((&rest[..have], size, &rest[have..]))
}

/// Whether the begin of a message of `size` bytes can be one: its fields follow
/// each other, and the last one seen ends within the message.
pub(crate) fn begins_message(begin: &[u8], size: usize) -> bool {
    let mut f = Fields::new(begin);
    f.by_ref().for_each(drop);
    if !f.damaged {
        return f.at > 0;
    }
    // The field that does not fit here must fit into the message.
    let at = f.at;
    match f.varint() {
        Some(tag) if tag & 7 == 2 && tag >> 3 != 0 => match f.varint() {
            Some(n) => usize::try_from(n).is_ok_and(|n| n <= size.saturating_sub(f.at)),
            None => at > 0,
        },
        Some(tag) => matches!(tag & 7, 0 | 1 | 5) && tag >> 3 != 0 && at > 0,
        None => at > 0,
    }
}

/// The numbers of a packed field.
pub(super) fn packed(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut f = Fields::new(bytes);
    std::iter::from_fn(move || if f.at < bytes.len() { f.varint() } else { None })
}

/// Writes a number field.
pub(crate) fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Writes a field with a length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_and_damage_stops() {
        let mut b = Vec::new();
        put_number(&mut b, 1, u64::MAX);
        put_bytes(&mut b, 504, b"abc");
        b.extend_from_slice(&[0x1d, 1, 0, 0, 0]); // field 3, fixed 32
        let all: Vec<_> = Fields::new(&b).collect();
        assert_eq!(
            all,
            [(1, Value::Number(u64::MAX)), (504, Value::Bytes(b"abc")), (3, Value::Number(1))]
        );
        for cut in 0..b.len() {
            let mut f = Fields::new(&b[..cut]);
            let n = f.by_ref().count();
            assert!(n < 3);
            assert_eq!(f.damaged, ![0, 11, 17].contains(&cut), "{cut}");
        }
    }

    #[test]
    fn packed_numbers_end_at_damage() {
        assert_eq!(packed(&[1, 0x80, 1, 0x80]).collect::<Vec<_>>(), [1, 128]);
    }
}
