//! Version 7: a chain of option sections says where everything else is.

use super::bytes::{Cursor, until_nul};
use super::error::TraceDatError;
use super::header::{self, Header, Packed, add_cpu, count_unpack_error, plausible_page};
use super::unpack::{Budget, Codec, unpack};
use dormouse_base::loss::Losses;
use std::borrow::Cow;

/// A file has one option section and one more for every instance.
const MAX_OPTION_SECTIONS: usize = 1024;
/// Far above what an instance for every CPU of a large machine needs.
const MAX_OPTIONS: usize = 100_000;
/// Bytes of all BUFFER options: 20 a CPU.
const MAX_BUFFER_BYTES: usize = 16 << 20;

/// Options that give the offset of a section, by number.
const HEADER_INFO: u16 = 16;
const FTRACE_FORMATS: u16 = 17;
const EVENT_FORMATS: u16 = 18;
const KALLSYMS: u16 = 19;
const PRINTK: u16 = 20;
const CMDLINES: u16 = 21;

/// Reads what follows the page size in a version 7 file.
pub(super) fn read<'a>(
    c: &mut Cursor<'a>,
    header: &mut Header<'a>,
    wants: header::Wants<'_>,
    losses: &mut Losses,
) -> Result<(), TraceDatError> {
    let end = c.data.len() as u64;
    let cut = |what| TraceDatError::Truncated { what, at: end };
    let name = c.c_str().ok_or(cut("compression"))?;
    c.c_str().ok_or(cut("compression"))?;
    let codec = Codec::find(name).ok_or_else(|| TraceDatError::Compression {
        name: String::from_utf8_lossy(name).into_owned(),
    })?;
    let mut next = c.u64().ok_or(cut("options"))?;

    let mut places = [None; 6];
    let mut buffers = Vec::new();
    let (mut seen, mut options, mut buffer_bytes) = (Vec::new(), 0, 0);
    // One budget for all sections: they may overlap in a hostile file.
    let mut budget = Budget::for_file(c.data.len());
    while next != 0 {
        // A chain that bites its own tail would never end.
        if seen.contains(&next) || seen.len() >= MAX_OPTION_SECTIONS {
            return Err(TraceDatError::OptionLoop { at: next });
        }
        seen.push(next);
        let packed = open(c, next, codec).ok_or(cut("options"))?;
        let body = unpacked(packed, next, &mut budget, losses);
        let mut o = Cursor { data: &body, at: 0, endian: c.endian };
        let at = next;
        next = 0;
        let mut complete = false;
        while let Some((id, data)) = next_option(&mut o) {
            options += 1;
            buffer_bytes += if matches!(id, 3 | 22) { data.len() } else { 0 };
            if options > MAX_OPTIONS || buffer_bytes > MAX_BUFFER_BYTES {
                return Err(TraceDatError::Implausible { what: "options", value: options as u64 });
            }
            let mut v = Cursor { data, at: 0, endian: c.endian };
            match id {
                0 => {
                    (next, complete) = (v.u64().unwrap_or(0), true);
                    break;
                }
                3 | 22 => buffers.push((id, data.to_vec())),
                4 if header.clock.is_empty() => {
                    header.clock = String::from_utf8_lossy(until_nul(data)).trim().to_string();
                }
                HEADER_INFO..=CMDLINES => places[usize::from(id - HEADER_INFO)] = v.u64(),
                _ => header::read_option(id, v, header, losses),
            }
        }
        if !complete {
            // Every section of options ends with option 0.
            header::count_truncated(losses, at);
        }
    }

    // Page layout and event formats are needed before any data.
    for id in [HEADER_INFO, FTRACE_FORMATS, EVENT_FORMATS, KALLSYMS, PRINTK, CMDLINES] {
        let Some(at) = places[usize::from(id - HEADER_INFO)] else {
            match id {
                EVENT_FORMATS => return Err(TraceDatError::Missing { what: "event formats" }),
                _ => continue,
            }
        };
        let packed = open(c, at, codec).ok_or(cut("a section"))?;
        if id == KALLSYMS {
            header.kallsyms = packed;
            continue;
        }
        let body = unpacked(packed, at, &mut budget, losses);
        let mut s = Cursor { data: &body, at: 0, endian: c.endian };
        match id {
            HEADER_INFO => header::read_header_info(&mut s, header)?,
            FTRACE_FORMATS => header::read_ftrace_formats(&mut s, header, wants)?,
            EVENT_FORMATS => header::read_event_formats(&mut s, header, wants, losses)?,
            PRINTK => {
                let n = s.u32().unwrap_or(0);
                header::read_texts(s.take_up_to(n.into()).0, header);
            }
            _ => {
                let n = s.u64().unwrap_or(0);
                header::read_comms(s.take_up_to(n).0, header);
            }
        }
    }
    for (id, option) in buffers {
        let mut v = Cursor { data: &option, at: 0, endian: c.endian };
        read_buffer(id, &mut v, c, codec, header, &mut budget, losses)?;
    }
    Ok(())
}

/// A section's content. Its header is: number, flags, name, size.
fn open<'a>(c: &Cursor<'a>, at: u64, codec: Codec) -> Option<Packed<'a>> {
    let mut s = Cursor { at: usize::try_from(at).ok()?, ..*c };
    let (_id, flags, _name, size) = (s.u16()?, s.u16()?, s.u32()?, s.u64()?);
    let (mut body, _) = s.take_up_to(size);
    if flags & 1 == 0 {
        return Some(Packed { data: body, codec: Codec::None, size: body.len() as u64 });
    }
    let mut b = Cursor { data: body, at: 0, endian: c.endian };
    let (packed, size) = (b.u32()?, b.u32()?);
    (body, _) = b.take_up_to(packed.into());
    Some(Packed { data: body, codec, size: size.into() })
}

/// Unpacks a section; what is readable of a damaged one counts.
pub(super) fn unpacked<'a>(
    p: Packed<'a>,
    at: u64,
    budget: &mut Budget,
    losses: &mut Losses,
) -> Cow<'a, [u8]> {
    if p.codec == Codec::None {
        return Cow::Borrowed(p.data);
    }
    let mut out = Vec::new();
    if let Err(e) = unpack(p.codec, p.data, p.size, budget, &mut out) {
        count_unpack_error(e, losses, at);
    }
    Cow::Owned(out)
}

/// Number and data of the next option.
fn next_option<'a>(o: &mut Cursor<'a>) -> Option<(u16, &'a [u8])> {
    let id = o.u16()?;
    let size = o.u32()?;
    Some((id, o.take(size.into())?))
}

/// A BUFFER option: one instance's clock, page size and data by CPU; or a
/// BUFFER_TEXT option: a `trace` text.
fn read_buffer<'a>(
    id: u16,
    v: &mut Cursor<'_>,
    c: &Cursor<'a>,
    codec: Codec,
    header: &mut Header<'a>,
    budget: &mut Budget,
    losses: &mut Losses,
) -> Result<(), TraceDatError> {
    let cut = TraceDatError::Truncated { what: "a buffer option", at: c.data.len() as u64 };
    let (Some(at), Some(_name), Some(clock)) = (v.u64(), v.c_str(), v.c_str()) else {
        return Err(cut);
    };
    if header.clock.is_empty() {
        header.clock = String::from_utf8_lossy(clock).trim().to_string();
    }
    if id == 22 {
        if let Some(p) = open(c, at, codec) {
            header.text = Some(unpacked(p, at, budget, losses));
        }
        return Ok(());
    }
    // The section's flags say whether the pages are compressed.
    let mut s = Cursor { at: usize::try_from(at).unwrap_or(usize::MAX), ..*c };
    let flags = s.u16().and_then(|_| s.u16()).unwrap_or(0);
    let codec = if flags & 1 == 1 { codec } else { Codec::None };
    let (Some(page_size), Some(cpus)) = (v.u32(), v.u32()) else { return Err(cut) };
    let page_size = plausible_page(page_size)?.max(header.page.size);
    for _ in 0..cpus {
        let (Some(cpu), Some(at), Some(size)) = (v.u32(), v.u64(), v.u64()) else {
            return Err(cut);
        };
        add_cpu(c, header, cpu, (at, size), codec, page_size, losses);
    }
    Ok(())
}
