//! Everything of a `trace.dat` but its pages.

use super::bytes::{Cursor, Endian};
use super::error::TraceDatError;
use super::header::{
    Header, MAGIC, Packed, PageFormat, Wants, limit_cpu_data, number_field, plausible_page, read_v6,
};
use super::sections;
use super::unpack::Codec;
use dormouse_base::loss::Losses;
use std::collections::HashMap;

/// Reads everything but the pages.
pub(super) fn read<'a>(
    data: &'a [u8],
    wants: Wants<'_>,
    losses: &mut Losses,
) -> Result<Header<'a>, TraceDatError> {
    let mut c = Cursor { data, at: 0, endian: Endian::Little };
    if c.take(MAGIC.len() as u64) != Some(MAGIC) {
        return Err(TraceDatError::NotTraceDat);
    }
    let cut = |what| TraceDatError::Truncated { what, at: data.len() as u64 };
    let version = c.c_str().ok_or(cut("version"))?;
    let version = std::str::from_utf8(version).ok().and_then(|v| v.parse::<u32>().ok());
    let Some(version @ 6..=7) = version else {
        return Err(TraceDatError::Version(version.unwrap_or(0)));
    };
    c.endian = match c.take(1).ok_or(cut("byte order"))?[0] {
        0 => Endian::Little,
        1 => Endian::Big,
        n => return Err(TraceDatError::Implausible { what: "byte order", value: n.into() }),
    };
    let long = match c.take(1).ok_or(cut("word size"))?[0] {
        n @ (4 | 8) => usize::from(n),
        n => return Err(TraceDatError::Implausible { what: "word size", value: n.into() }),
    };
    let page_size = plausible_page(c.u32().ok_or(cut("page size"))?)?;
    let mut header = Header {
        endian: c.endian,
        page: PageFormat { timestamp: 0, commit: 8, long, data: 8 + long, size: page_size },
        events: Vec::new(),
        unwanted: HashMap::new(),
        common_type: number_field("common_type", 0, 2, false),
        common_pid: number_field("common_pid", 4, 4, true),
        texts: HashMap::new(),
        comms: HashMap::new(),
        kallsyms: Packed { data: &[], codec: Codec::None, size: 0 },
        cpus: Vec::new(),
        clock: String::new(),
        uname: String::new(),
        offset: 0,
        tsc: None,
        text: None,
    };
    if version == 6 {
        read_v6(&mut c, &mut header, wants, losses)?;
    } else {
        sections::read(&mut c, &mut header, wants, losses)?;
    }
    limit_cpu_data(&mut header, data.len(), losses);
    Ok(header)
}
