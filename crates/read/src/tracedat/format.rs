//! Event formats: the texts of `events/*/*/format`, which the file carries.
//!
//! Every kernel describes its own records, so nothing here assumes an offset:
//!
//! ```text
//! name: device_pm_callback_end
//! ID: 150
//! format:
//!         field:unsigned short common_type;  offset:0;  size:2;  signed:0;
//!         field:__data_loc char[] device;    offset:8;  size:4;  signed:0;
//!
//! print fmt: "%s %s, err=%d", __get_str(driver), __get_str(device), REC->error
//! ```

use super::bytes::{Endian, until_nul};

/// How the bytes of a field are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number (or an address) of 1, 2, 4 or 8 bytes.
    Number,
    /// `const char *`: the address of a text that only the kernel has; known
    /// ones are listed in `printk_formats`.
    TextAddress,
    /// `char x[N]`.
    Chars,
    /// Numbers in a row, each of this many bytes.
    Array(u32),
    /// `__data_loc`: 16 bits of length, 16 bits of offset from the begin of
    /// the record.
    DataLoc,
    /// `__rel_loc` (5.17 and later): the offset counts from the field's end.
    RelLoc,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Bytes from the begin of the record.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Whether the number is signed.
    pub signed: bool,
    /// How to take it.
    pub kind: Kind,
}

impl Field {
    /// The bytes of the field itself.
    fn raw<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The number, sign extended.
    pub(super) fn number(&self, endian: Endian, record: &[u8]) -> Option<i64> {
        let n = endian.number(self.raw(record)?)?;
        Some(match (self.signed, self.size) {
            (true, 1) => i64::from(n as i8),
            (true, 2) => i64::from(n as i16),
            (true, 4) => i64::from(n as i32),
            _ => n as i64,
        })
    }

    /// The bytes of an array, wherever they lie.
    pub(super) fn bytes<'r>(&self, endian: Endian, record: &'r [u8]) -> Option<&'r [u8]> {
        let base = match self.kind {
            Kind::DataLoc => 0,
            Kind::RelLoc => self.offset.checked_add(self.size)?,
            // One without a size is as long as the record: what programs write, `char buf[]`.
            Kind::Chars if self.size == 0 => return record.get(self.offset..),
            _ => return self.raw(record),
        };
        let loc = endian.number(self.raw(record)?)? as u32;
        let start = base.checked_add((loc & 0xffff) as usize)?;
        record.get(start..start.checked_add((loc >> 16) as usize)?)
    }

    /// The text of a character field, without the NUL.
    pub(super) fn text<'r>(&self, endian: Endian, record: &'r [u8]) -> Option<&'r [u8]> {
        self.bytes(endian, record).map(until_nul)
    }
}

/// One event of the kernel that was traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    /// Its name, such as `suspend_resume`.
    pub name: Box<str>,
    /// Its number, the first field of every record.
    pub id: u16,
    /// Fields in the order of the text, common ones first.
    pub fields: Vec<Field>,
    /// What follows `print fmt:`.
    pub print: Box<str>,
    /// Fields beyond [`MAX_FIELDS`].
    pub dropped_fields: u64,
}

/// No event of any kernel has half as many; the bound keeps the time for a
/// record independent of what a hostile file claims.
pub(crate) const MAX_FIELDS: usize = 128;

impl EventFormat {
    /// The field called `name`.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| &*f.name == name)
    }
}

/// The name in a format text, without reading the rest.
pub(super) fn name_of(text: &[u8]) -> Option<&[u8]> {
    let line = text.split(|&b| b == b'\n').next()?;
    line.strip_prefix(b"name:").map(<[u8]>::trim_ascii)
}

/// The number in a format text, without reading the rest.
pub(crate) fn id_of(text: &[u8]) -> Option<u16> {
    let line = text.split(|&b| b == b'\n').find_map(|l| l.strip_prefix(b"ID:"))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

/// Reads a format text; `None` if it has no name or no number.
pub(super) fn parse(text: &[u8]) -> Option<EventFormat> {
    let (mut name, mut id, mut print) = (None, None, String::new());
    let (mut fields, mut dropped_fields) = (Vec::new(), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii();
        if let Some(n) = line.strip_prefix(b"name:") {
            name = Some(text_of(n));
        } else if let Some(n) = line.strip_prefix(b"ID:") {
            id = text_of(n).parse::<u16>().ok();
        } else if let Some(f) = line.strip_prefix(b"field:") {
            if fields.len() < MAX_FIELDS {
                fields.extend(parse_field(f));
            } else {
                dropped_fields += 1;
            }
        } else if let Some(p) = rest.trim_ascii_start().strip_prefix(b"print fmt:") {
            // A literal may contain a line break: all the rest belongs to it.
            print = text_of(p);
            break;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Some(EventFormat { name: name?.into(), id: id?, fields, print: print.into(), dropped_fields })
}

/// Bytes as trimmed text.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii()).into_owned()
}

/// Reads `DECLARATION; offset:N; size:N; signed:N;`.
pub(crate) fn parse_field(line: &[u8]) -> Option<Field> {
    let mut parts = line.split(|&b| b == b';').map(<[u8]>::trim_ascii);
    let declaration = std::str::from_utf8(parts.next()?).ok()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for p in parts {
        let p = std::str::from_utf8(p).ok()?;
        if let Some(n) = p.strip_prefix("offset:") {
            offset = n.trim().parse().ok();
        } else if let Some(n) = p.strip_prefix("size:") {
            size = n.trim().parse().ok();
        } else if let Some(n) = p.strip_prefix("signed:") {
            // Kernels before 2.6.32 did not say; their formats have no key.
            signed = n.trim() != "0";
        }
    }
    let (offset, size) = (offset?, size?);
    let (name, kind) = parse_declaration(declaration, size)?;
    Some(Field { name: name.into(), offset, size, signed, kind })
}

/// Splits a C declaration into name and kind.
fn parse_declaration(declaration: &str, size: usize) -> Option<(&str, Kind)> {
    let d = declaration.trim();
    let dynamic = if d.starts_with("__data_loc") {
        Some(Kind::DataLoc)
    } else if d.starts_with("__rel_loc") {
        Some(Kind::RelLoc)
    } else {
        None
    };
    if let Some(kind) = dynamic {
        // `__data_loc char[] name`, in some kernels `__data_loc char name[]`.
        let name = d.rsplit([' ', '\t', ']']).find(|w| !w.is_empty())?;
        return Some((name.trim_end_matches("[]").trim_end_matches('['), kind));
    }
    if let Some((head, len)) = d.strip_suffix(']').and_then(|h| h.rsplit_once('[')) {
        let at = head.rfind([' ', '\t', '*']).map_or(0, |i| i + 1);
        let (of, name) = head.split_at(at);
        let is_char = of.split_whitespace().any(|w| w == "char") && !of.contains('*');
        if is_char {
            return Some((name, Kind::Chars));
        }
        // The length may be an enum's name; the size then cannot be divided.
        let each = match len.trim().parse::<usize>() {
            Ok(n) if n > 0 && size.is_multiple_of(n) => size / n,
            _ => 1,
        };
        return Some((name, Kind::Array(each as u32)));
    }
    let at = d.rfind([' ', '\t', '*']).map_or(0, |i| i + 1);
    let (of, name) = d.split_at(at);
    let text = of.contains('*')
        && of.matches('*').count() == 1
        && of.split([' ', '\t', '*']).any(|w| w == "char");
    Some((name, if text { Kind::TextAddress } else { Kind::Number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &[u8] = b"name: device_pm_callback_start\nID: 151\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:__data_loc char[] device;\toffset:8;\tsize:4;\tsigned:0;\n\
\tfield:__rel_loc char[] driver;\toffset:12;\tsize:4;\tsigned:0;\n\
\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\
\tfield:const char * action;\toffset:32;\tsize:8;\tsigned:0;\n\
\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n\n\
print fmt: \"%s\", __get_str(device)\n";

    #[test]
    fn a_format_text_is_read() {
        let f = parse(START).unwrap();
        assert_eq!((&*f.name, f.id), ("device_pm_callback_start", 151));
        let kinds: Vec<_> = f.fields.iter().map(|f| (&*f.name, f.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("common_type", Kind::Number),
                ("common_pid", Kind::Number),
                ("device", Kind::DataLoc),
                ("driver", Kind::RelLoc),
                ("comm", Kind::Chars),
                ("action", Kind::TextAddress),
                ("args", Kind::Array(8)),
            ]
        );
        assert_eq!(&*f.print, "\"%s\", __get_str(device)");
        assert!(f.field("common_pid").unwrap().signed);
    }

    #[test]
    fn dynamic_texts_are_found_from_either_base() {
        let f = parse(START).unwrap();
        let mut rec = vec![0u8; 24];
        rec[8..12].copy_from_slice(&(16u32 | 4 << 16).to_le_bytes());
        rec[12..16].copy_from_slice(&(4u32 | 4 << 16).to_le_bytes());
        rec[16..20].copy_from_slice(b"dev\0");
        rec[20..24].copy_from_slice(b"drv\0");
        let get = |n: &str| f.field(n).unwrap().text(Endian::Little, &rec);
        assert_eq!(get("device"), Some(&b"dev"[..]));
        assert_eq!(get("driver"), Some(&b"drv"[..]));
        // A location beyond the record is no text, and no panic.
        rec[8..12].copy_from_slice(&(0xffffu32 | 0xffff << 16).to_le_bytes());
        assert_eq!(f.field("device").unwrap().text(Endian::Little, &rec), None);
    }

    #[test]
    fn fields_are_bounded() {
        let mut t = b"name: x\nID: 1\nformat:\n".to_vec();
        for i in 0..1000 {
            t.extend_from_slice(
                format!("\tfield:int f{i};\toffset:{i};\tsize:4;\tsigned:1;\n").as_bytes(),
            );
        }
        let f = parse(&t).unwrap();
        assert_eq!((f.fields.len(), f.dropped_fields), (MAX_FIELDS, 1000 - MAX_FIELDS as u64));
    }
}
