//! What the file says about itself before its pages: byte order, page layout,
//! event formats, names of threads, and where every CPU's data lie.
//!
//! Version 6 is one run of blocks in fixed order, read here. Version 7 holds
//! the same blocks in sections that options point to; see [`super::sections`].

use super::bytes::{Cursor, Endian};
use super::error::TraceDatError;
use super::format::{self, EventFormat, Field, Kind};
use super::unpack::{Codec, UnpackError};
use crate::event;
use dormouse_base::loss::{Losses, Severity};
use std::borrow::Cow;
use std::collections::HashMap;

/// Whether events of a name are of use to somebody.
pub(crate) type Wants<'w> = &'w dyn Fn(&[u8]) -> bool;

/// First bytes of every trace.dat.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Where the parts of a ring buffer page lie (`events/header_page`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageFormat {
    /// Offset of the 64-bit time stamp.
    pub timestamp: usize,
    /// Offset of `commit`: bytes used, and the flags for lost events.
    pub commit: usize,
    /// Size of `commit`, the kernel's `long`.
    pub long: usize,
    /// Offset of the first event.
    pub data: usize,
    /// The whole page.
    pub size: usize,
}

/// The data of one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuData<'a> {
    /// Number of the CPU.
    pub cpu: u32,
    /// Pages, or compressed chunks of them.
    pub data: &'a [u8],
    /// Where `data` begins in the file.
    pub at: u64,
    /// How it is compressed.
    pub codec: Codec,
    /// Size of a page.
    pub page_size: usize,
}

/// How counts of the time stamp counter become nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tsc {
    /// Multiplied with,
    pub mult: u32,
    /// shifted right by,
    pub shift: u32,
}

/// All of the file but the pages.
#[derive(Debug)]
pub(super) struct Header<'a> {
    /// Byte order.
    pub endian: Endian,
    /// Page layout.
    pub page: PageFormat,
    /// Formats of the events we read.
    pub events: Vec<EventFormat>,
    /// What the others are of, by their numbers.
    pub unwanted: HashMap<u16, event::Kind>,
    /// `common_type`, the same in every record.
    pub common_type: Field,
    /// `common_pid`.
    pub common_pid: Field,
    /// Texts by address in the kernel (`printk_formats`).
    pub texts: HashMap<u64, Box<[u8]>>,
    /// Thread names by id (`saved_cmdlines`).
    pub comms: HashMap<i32, Box<[u8]>>,
    /// `/proc/kallsyms` as the file has it, perhaps still compressed.
    pub kallsyms: Packed<'a>,
    /// Data of every CPU and instance.
    pub cpus: Vec<CpuData<'a>>,
    /// The clock's name; empty if the file does not say.
    pub clock: String,
    /// `uname` of the machine; empty if the file does not say.
    pub uname: String,
    /// To be added to every time stamp, nanoseconds.
    pub offset: i64,
    /// Conversion of the time stamp counter.
    pub tsc: Option<Tsc>,
    /// A `trace` text instead of (or beside) binary pages.
    pub text: Option<Cow<'a, [u8]>>,
}

/// A block that may be compressed and is unpacked only when needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    /// Bytes in the file.
    pub data: &'a [u8],
    /// How they are compressed.
    pub codec: Codec,
    /// Their size when unpacked.
    pub size: u64,
}

/// A damaged or missing part: counted where the rest is still useful.
pub(crate) fn count_unpack_error(e: UnpackError, losses: &mut Losses, at: u64) {
    let (kind, advice) = match e {
        UnpackError::Damaged => (
            "tracedat_damaged_compression",
            "part of the trace could not be decompressed; copy the file again or record it again",
        ),
        UnpackError::TooLarge => (
            "tracedat_too_large",
            "part of the trace unpacks to more than any real trace; the file is damaged or hostile",
        ),
    };
    losses.add(kind, 1, Severity::Error, advice, Some(at + 1));
}

/// A page of 4 GB would make us look for events in anything.
pub(crate) fn plausible_page(size: u32) -> Result<usize, TraceDatError> {
    match size {
        64..=0x100_0000 => Ok(size as usize),
        _ => Err(TraceDatError::Implausible { what: "page size", value: size.into() }),
    }
}

pub(super) fn number_field(name: &str, offset: usize, size: usize, signed: bool) -> Field {
    Field { name: name.into(), offset, size, signed, kind: Kind::Number }
}

/// Blocks of version 6, in their order.
pub(super) fn read_v6<'a>(
    c: &mut Cursor<'a>,
    header: &mut Header<'a>,
    wants: Wants<'_>,
    losses: &mut Losses,
) -> Result<(), TraceDatError> {
    let data = c.data;
    let cut = |what| TraceDatError::Truncated { what, at: data.len() as u64 };
    read_header_info(c, header)?;
    read_ftrace_formats(c, header, wants)?;
    read_event_formats(c, header, wants, losses)?;
    let n = c.u32().ok_or(cut("kallsyms"))?;
    let symbols = c.take(n.into()).ok_or(cut("kallsyms"))?;
    header.kallsyms = Packed { data: symbols, codec: Codec::None, size: n.into() };
    let n = c.u32().ok_or(cut("printk formats"))?;
    read_texts(c.take(n.into()).ok_or(cut("printk formats"))?, header);
    let n = c.u64().ok_or(cut("thread names"))?;
    read_comms(c.take(n).ok_or(cut("thread names"))?, header);
    let mut cpus = c.u32().ok_or(cut("number of CPUs"))?;

    let mut instances = Vec::new();
    let mut has_clock = false;
    let mut kind = c.take(10).ok_or(cut("kind of data"))?;
    if kind == b"options  \0" {
        loop {
            let id = c.u16().ok_or(cut("options"))?;
            if id == 0 {
                break;
            }
            let size = c.u32().ok_or(cut("options"))?;
            let body = c.take(size.into()).ok_or(cut("options"))?;
            let mut o = Cursor { data: body, at: 0, endian: c.endian };
            match id {
                3 => instances.extend(o.u64()),
                4 => has_clock = true,
                8 => cpus = o.u32().unwrap_or(cpus),
                _ => read_option(id, o, header, losses),
            }
        }
        kind = c.take(10).ok_or(cut("kind of data"))?;
    }
    read_v6_buffer(c, kind, cpus, header, losses)?;
    // The option announces the clock; its text follows the table of CPUs.
    if has_clock && let Some(n) = c.u64() {
        header.clock = chosen_clock(c.take(n).unwrap_or_default());
    }
    for at in instances {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(data.len());
        let mut b = Cursor { data, at, endian: c.endian };
        let kind = b.take(10).unwrap_or_default();
        read_v6_buffer(&mut b, kind, cpus, header, losses)?;
    }
    Ok(())
}

/// The table of one instance: where each CPU's pages lie.
fn read_v6_buffer<'a>(
    c: &mut Cursor<'a>,
    kind: &[u8],
    cpus: u32,
    header: &mut Header<'a>,
    losses: &mut Losses,
) -> Result<(), TraceDatError> {
    match kind {
        b"latency  \0" => header.text = Some(Cow::Borrowed(&c.data[c.at..])),
        b"flyrecord\0" => {
            for cpu in 0..cpus {
                let (Some(at), Some(size)) = (c.u64(), c.u64()) else {
                    let at = c.data.len() as u64;
                    return Err(TraceDatError::Truncated { what: "table of CPUs", at });
                };
                let page_size = header.page.size;
                add_cpu(c, header, cpu, (at, size), Codec::None, page_size, losses);
            }
        }
        _ => count_truncated(losses, c.at as u64),
    }
    Ok(())
}

/// Notes the data of one CPU, as far as the file has them.
pub(crate) fn add_cpu<'a>(
    c: &Cursor<'a>,
    header: &mut Header<'a>,
    cpu: u32,
    (at, size): (u64, u64),
    codec: Codec,
    page_size: usize,
    losses: &mut Losses,
) {
    if size == 0 {
        return;
    }
    let mut d = Cursor { at: usize::try_from(at).unwrap_or(usize::MAX), ..*c };
    // trace-cmd does not count the number of chunks that stands before them.
    let more = if codec == Codec::None { 0 } else { 4 };
    let (data, _) = d.take_up_to(size.saturating_add(more));
    if (data.len() as u64) < size {
        count_truncated(losses, c.data.len() as u64);
    }
    if !data.is_empty() {
        header.cpus.push(CpuData { cpu, data, at, codec, page_size });
    }
}

/// Data that the file announces and does not have.
pub(crate) fn count_truncated(losses: &mut Losses, at: u64) {
    let advice = "the file ends before the data it announces; it was cut while being written or \
                  copied: copy it again, or record again and let trace-cmd finish";
    losses.add("tracedat_truncated", 1, Severity::Error, advice, Some(at + 1));
}

/// CPUs do not share bytes. A table that says so (many CPUs that all point at
/// one place) would multiply the work, so what exceeds the file is dropped.
pub(super) fn limit_cpu_data(header: &mut Header<'_>, len: usize, losses: &mut Losses) {
    let mut left = len;
    let before = header.cpus.len();
    header.cpus.retain(|c| {
        let fits = c.data.len() <= left;
        left -= if fits { c.data.len() } else { 0 };
        fits
    });
    let dropped = (before - header.cpus.len()) as u64;
    let advice = "several CPUs claim the same bytes of the file; it is damaged, record again";
    losses.add("tracedat_overlapping_cpus", dropped, Severity::Error, advice, None);
}

/// `header_page` and `header_event`.
pub(crate) fn read_header_info(
    c: &mut Cursor<'_>,
    header: &mut Header<'_>,
) -> Result<(), TraceDatError> {
    let end = c.data.len() as u64;
    let cut = |what| TraceDatError::Truncated { what, at: end };
    for (word, is_page) in [(&b"header_page\0"[..], true), (&b"header_event\0"[..], false)] {
        let what = if is_page { "header_page" } else { "header_event" };
        let got = c.take(word.len() as u64).ok_or(cut(what))?;
        if got != word {
            return Err(TraceDatError::Missing { what });
        }
        let n = c.u64().ok_or(cut(what))?;
        let text = c.take(n).ok_or(cut(what))?;
        if is_page {
            read_page_format(text, header)?;
        } else if !text.is_empty() && memchr::memmem::find(text, b"type_len").is_none() {
            // Kernels before 2.6.30 packed events in another way.
            return Err(TraceDatError::OldRingBuffer);
        }
    }
    Ok(())
}

fn read_page_format(text: &[u8], header: &mut Header<'_>) -> Result<(), TraceDatError> {
    let page = &mut header.page;
    let implausible = |what, value: usize| TraceDatError::Implausible { what, value: value as u64 };
    for line in text.split(|&b| b == b'\n').take(64) {
        let Some(f) = line.trim_ascii().strip_prefix(b"field:").and_then(format::parse_field)
        else {
            continue;
        };
        match &*f.name {
            "timestamp" => page.timestamp = f.offset,
            "commit" if matches!(f.size, 4 | 8) => (page.commit, page.long) = (f.offset, f.size),
            "commit" => return Err(implausible("size of commit", f.size)),
            "data" => {
                page.data = f.offset;
                // Sub-buffers can be larger than a page (6.8 and later).
                let whole = f.offset.saturating_add(f.size);
                if whole > page.size {
                    page.size = plausible_page(u32::try_from(whole).unwrap_or(u32::MAX))?;
                }
            }
            _ => {}
        }
    }
    // The time stamp and the count lie before the events in every kernel.
    let fits = |at: usize, n: usize| at.checked_add(n).is_some_and(|e| e <= page.data);
    if !fits(page.timestamp, 8) || !fits(page.commit, page.long) || page.data >= page.size {
        return Err(implausible("offset of page data", page.data));
    }
    Ok(())
}

/// Formats of ftrace's own events: what programs wrote (`print`) is of interest where somebody
/// wants it, and each tells where the common fields are.
pub(crate) fn read_ftrace_formats(
    c: &mut Cursor<'_>,
    header: &mut Header<'_>,
    wants: Wants<'_>,
) -> Result<(), TraceDatError> {
    let end = c.data.len() as u64;
    let cut = || TraceDatError::Truncated { what: "ftrace formats", at: end };
    let count = c.u32().ok_or_else(cut)?;
    for i in 0..count {
        let n = c.u64().ok_or_else(cut)?;
        let text = c.take(n).ok_or_else(cut)?;
        if i == 0 {
            take_common(text, header);
        }
        if format::name_of(text).is_some_and(wants) {
            header.events.extend(format::parse(text));
        }
    }
    Ok(())
}

/// Formats of all systems' events; those that somebody wants are kept.
pub(crate) fn read_event_formats(
    c: &mut Cursor<'_>,
    header: &mut Header<'_>,
    wants: Wants<'_>,
    losses: &mut Losses,
) -> Result<(), TraceDatError> {
    let end = c.data.len() as u64;
    let cut = || TraceDatError::Truncated { what: "event formats", at: end };
    let systems = c.u32().ok_or_else(cut)?;
    let mut first = true;
    for _ in 0..systems {
        c.c_str().ok_or_else(cut)?;
        let events = c.u32().ok_or_else(cut)?;
        for _ in 0..events {
            let n = c.u64().ok_or_else(cut)?;
            let at = c.at as u64;
            let text = c.take(n).ok_or_else(cut)?;
            if first {
                take_common(text, header);
                first = false;
            }
            let name = format::name_of(text);
            if !name.is_some_and(wants) {
                let of =
                    name.zip(format::id_of(text)).map(|(name, id)| (id, event::Kind::of(name)));
                header.unwanted.extend(of);
                continue;
            }
            match format::parse(text) {
                Some(f) => {
                    let advice = "an event has more fields than any kernel's; the rest is ignored";
                    let n = f.dropped_fields;
                    losses.add("tracedat_fields", n, Severity::Warning, advice, Some(at + 1));
                    header.events.push(f);
                }
                None => {
                    let advice = "an event's format text cannot be read; its events are missing";
                    losses.add("tracedat_format", 1, Severity::Warning, advice, Some(at + 1));
                }
            }
        }
    }
    Ok(())
}

/// Every format lists the common fields first; any will do.
fn take_common(text: &[u8], header: &mut Header<'_>) {
    let Some(f) = format::parse(text) else { return };
    for (name, slot) in
        [("common_type", &mut header.common_type), ("common_pid", &mut header.common_pid)]
    {
        if let Some(field) = f.field(name) {
            *slot = field.clone();
        }
    }
}

/// `0xADDRESS : "text"`, one a line.
pub(crate) fn read_texts(text: &[u8], header: &mut Header<'_>) {
    for line in text.split(|&b| b == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let address = std::str::from_utf8(&line[..colon]).unwrap_or_default().trim();
        let digits = address.strip_prefix("0x").unwrap_or(address);
        let Ok(address) = u64::from_str_radix(digits, 16) else { continue };
        let quoted = line[colon + 1..].trim_ascii();
        let inner = quoted.strip_prefix(b"\"").and_then(|q| q.strip_suffix(b"\""));
        header.texts.insert(address, inner.unwrap_or(quoted).into());
    }
}

/// `PID NAME`, one a line; the name may contain blanks.
pub(crate) fn read_comms(text: &[u8], header: &mut Header<'_>) {
    for line in text.split(|&b| b == b'\n') {
        let Some(blank) = memchr::memchr(b' ', line) else { continue };
        let pid = std::str::from_utf8(&line[..blank]).ok().and_then(|p| p.parse().ok());
        if let Some(pid) = pid {
            header.comms.insert(pid, super::bytes::until_nul(&line[blank + 1..]).into());
        }
    }
}

/// `local [global] counter`: the one in brackets.
fn chosen_clock(text: &[u8]) -> String {
    let t = String::from_utf8_lossy(super::bytes::until_nul(text));
    let chosen = t.split_once('[').and_then(|(_, r)| r.split_once(']')).map(|(w, _)| w);
    chosen.unwrap_or(&t).trim().to_string()
}

/// Options that mean the same in both versions.
pub(crate) fn read_option(
    id: u16,
    mut o: Cursor<'_>,
    header: &mut Header<'_>,
    losses: &mut Losses,
) {
    let text = |o: &Cursor<'_>| {
        String::from_utf8_lossy(super::bytes::until_nul(o.data)).trim().to_string()
    };
    match id {
        // Option 1, the date, is left out on purpose: it moves the trace from
        // the clock of the machine (which its kernel log uses too) to the date.
        2 => count_overrun(&text(&o), losses),
        5 => header.uname = text(&o),
        7 => header.offset = header.offset.saturating_add(parse_offset(&text(&o))),
        14 => {
            if let (Some(mult), Some(shift)) = (o.u32(), o.u32())
                && mult != 0
            {
                header.tsc = Some(Tsc { mult, shift: shift.min(63) });
            }
        }
        _ => {}
    }
}

/// Decimal or `0x` with sign, as `strtoll` reads it.
fn parse_offset(text: &str) -> i64 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(d) => (true, d),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let n = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0) as i64,
        None => digits.parse().unwrap_or(0),
    };
    if negative { n.wrapping_neg() } else { n }
}

/// `overrun: N` of a CPU's statistics: events overwritten before they were
/// read, so the begin of the trace is missing.
fn count_overrun(stats: &str, losses: &mut Losses) {
    let n = stats.lines().find_map(|l| l.trim().strip_prefix("overrun:"));
    let n = n.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    let advice = "the kernel's buffer was too small and old events were overwritten: record with \
                  a larger one (trace-cmd record -b KILOBYTES)";
    losses.add("tracedat_overrun", n, Severity::Warning, advice, None);
}
