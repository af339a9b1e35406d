//! The kernel's ring buffer: pages of one CPU, and the events in them.
//!
//! A page starts with its time; every event adds the nanoseconds since the one
//! before. An event begins with a 32-bit word of 5 bits type and 27 bits time:
//!
//! | type | meaning |
//! |---|---|
//! | 0 | record; its length is the next word |
//! | 1..28 | record of that many words |
//! | 29 | padding: with time 0 to the end of the page, else the next word long |
//! | 30 | time extend: the next word holds further bits of the difference |
//! | 31 | absolute time of 59 bits (5.0 and later) |

use super::bytes::Endian;
use super::header::{CpuData, PageFormat, Tsc, count_unpack_error};
use super::unpack::{Budget, Codec, UnpackError, unpack};
use dormouse_base::loss::{Losses, Severity};

/// Top bit of `commit`: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// Their number stands behind the last event.
const MISSED_STORED: u64 = 1 << 30;
/// The rest of `commit` that is a count of bytes.
const COMMIT_MASK: u64 = (1 << 27) - 1;
/// Bits of a time stamp that an absolute time does not carry.
const TOP_BITS: u64 = 0xf8 << 56;

/// One record, as [`CpuReader::advance`] left it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// Time stamp, converted to nanoseconds if the file says how.
    pub time: u64,
    /// Events lost before this one: `Some(None)` if their number is unknown.
    pub lost: Option<Option<u64>>,
    start: usize,
    end: usize,
}

/// Reads the records of one CPU in order.
#[derive(Debug)]
pub(crate) struct CpuReader<'a> {
    /// Number of the CPU.
    pub cpu: u32,
    endian: Endian,
    page: PageFormat,
    tsc: Option<Tsc>,
    codec: Codec,
    /// Not yet read: pages or chunks.
    rest: &'a [u8],
    /// Offset of `rest` in the file.
    rest_at: u64,
    /// Chunks still to come.
    chunks: u32,
    /// The unpacked chunk, if packed.
    chunk: Vec<u8>,
    /// What the budget holds for it.
    held: u32,
    /// Pages at hand: of `chunk` if packed, else of the file itself.
    pages: &'a [u8],
    /// Offset in the file of the pages at hand.
    pages_at: u64,
    /// Begin of the next page within the pages at hand.
    next_page: usize,
    /// Next event, and end of the page's events.
    index: usize,
    limit: usize,
    time: u64,
    lost: Option<Option<u64>>,
    current: Current,
}

impl<'a> CpuReader<'a> {
    /// For the data of one CPU.
    pub(super) fn new(d: &CpuData<'a>, endian: Endian, page: PageFormat, tsc: Option<Tsc>) -> Self {
        let mut r = CpuReader {
            cpu: d.cpu,
            endian,
            page: PageFormat { size: d.page_size, ..page },
            tsc,
            codec: d.codec,
            rest: d.data,
            rest_at: d.at,
            chunks: 0,
            chunk: Vec::new(),
            held: 0,
            pages: &[],
            pages_at: d.at,
            next_page: 0,
            index: 0,
            limit: 0,
            time: 0,
            lost: None,
            current: Current::default(),
        };
        if r.codec == Codec::None {
            r.pages = r.rest;
            r.rest = &[];
        } else if let Some(n) = endian.u32_at(r.rest, 0) {
            r.chunks = n;
            r.skip(4);
        }
        r
    }

    /// The record that the last [`advance`](Self::advance) found.
    pub(super) fn current(&self) -> Current {
        self.current
    }

    /// Its bytes.
    pub(super) fn record(&self) -> &[u8] {
        self.at_hand().get(self.current.start..self.current.end).unwrap_or_default()
    }

    /// Where in the file it is (for packed data: where its chunk is).
    pub(crate) fn file_offset(&self) -> u64 {
        let within = if self.codec == Codec::None { self.current.start as u64 } else { 0 };
        self.pages_at.saturating_add(within)
    }

    fn at_hand(&self) -> &[u8] {
        if self.codec == Codec::None { self.pages } else { &self.chunk }
    }

    fn skip(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or_default();
        self.rest_at += n as u64;
    }

    /// Goes to the next record; false at the end.
    pub(crate) fn advance(&mut self, budget: &mut Budget, losses: &mut Losses) -> bool {
        loop {
            if self.index < self.limit {
                if self.next_event(losses) {
                    self.current.lost = self.lost.take();
                    return true;
                }
            } else if !self.open_page(losses) && !self.unpack_chunk(budget, losses) {
                return false;
            }
        }
    }

    /// Opens the next page at hand.
    fn open_page(&mut self, losses: &mut Losses) -> bool {
        let at = self.next_page;
        let all = self.at_hand();
        let page = all.get(at..).unwrap_or_default();
        let page = &page[..page.len().min(self.page.size)];
        let f = &self.page;
        if page.len() <= f.data {
            if !page.is_empty() {
                self.next_page = all.len();
                self.damaged(at, losses);
            }
            return false;
        }
        // Both lie before `data`: checked when the layout was read.
        let time = self.endian.number(&page[f.timestamp..f.timestamp + 8]).unwrap_or(0);
        let commit = self.endian.number(&page[f.commit..f.commit + f.long]).unwrap_or(0);
        let used = (commit & COMMIT_MASK) as usize;
        let mut limit = f.data.saturating_add(used);
        let lost = (commit & MISSED != 0).then(|| {
            let stored = page.get(limit..limit.saturating_add(f.long));
            let stored = stored.filter(|_| commit & MISSED_STORED != 0);
            stored.and_then(|s| self.endian.number(s))
        });
        let (len, size) = (page.len(), f.size);
        self.time = time;
        if limit > len {
            limit = len;
            self.damaged(at, losses);
        }
        self.next_page = at + size;
        self.index = at + self.page.data;
        self.limit = at + limit;
        if let Some(n) = lost {
            // A page without events passes its loss on to the next.
            self.lost = Some(match (self.lost.take(), n) {
                (None, n) => n,
                (Some(a), b) => a.zip(b).map(|(a, b)| a.saturating_add(b)),
            });
        }
        true
    }

    /// Unpacks the next chunk of pages.
    fn unpack_chunk(&mut self, budget: &mut Budget, losses: &mut Losses) -> bool {
        if self.codec == Codec::None || self.chunks == 0 {
            return false;
        }
        self.chunks -= 1;
        let at = self.rest_at;
        let sizes = (self.endian.u32_at(self.rest, 0), self.endian.u32_at(self.rest, 4));
        let (Some(packed), Some(size)) = sizes else {
            self.chunks = 0;
            count_unpack_error(UnpackError::Damaged, losses, at);
            return false;
        };
        self.skip(8);
        let n = (packed as usize).min(self.rest.len());
        let mut out = std::mem::take(&mut self.chunk);
        out.clear();
        let old = std::mem::replace(&mut self.held, size);
        let result = if budget.swap_chunk(old as usize, size.into()) {
            out.shrink_to(size as usize);
            unpack(self.codec, &self.rest[..n], size.into(), budget, &mut out)
        } else {
            self.held = 0;
            Err(UnpackError::TooLarge)
        };
        self.chunk = out;
        self.skip(n);
        (self.pages_at, self.next_page) = (at, 0);
        (self.index, self.limit) = (0, 0);
        if let Err(e) = result {
            count_unpack_error(e, losses, at);
            self.chunks = if e == UnpackError::TooLarge { 0 } else { self.chunks };
        }
        true
    }

    /// Reads one event word; true if it was a record.
    fn next_event(&mut self, losses: &mut Losses) -> bool {
        let at = self.index;
        let all = self.at_hand();
        let word = |i: usize| {
            let i = at.checked_add(i)?;
            if i + 4 > self.limit { None } else { self.endian.u32_at(all, i) }
        };
        let Some(head) = word(0) else {
            // Less than a word before the end of a full page is no event.
            self.index = self.limit;
            return false;
        };
        let (kind, delta) = match self.endian {
            Endian::Little => (head & 31, head >> 5),
            Endian::Big => (head >> 27, head & 0x7ff_ffff),
        };
        let delta = u64::from(delta);
        let next = word(4).map(u64::from);
        let (start, len) = match kind {
            0 => {
                // The length counts its own word.
                let n = next.map(|n| (n.saturating_sub(4) + 3) & !3);
                (8, n.filter(|_| next >= Some(4)))
            }
            1..=28 => (4, Some(u64::from(kind) * 4)),
            29 if delta == 0 => {
                self.index = self.limit;
                return false;
            }
            29 => (4, next),
            _ => (8, next.map(|_| 0)),
        };
        let end = len.and_then(|n| at.checked_add(start)?.checked_add(usize::try_from(n).ok()?));
        let Some(end) = end.filter(|&e| e <= self.limit) else {
            self.index = self.limit;
            self.damaged(at, losses);
            return false;
        };
        match (kind, next) {
            (30, Some(n)) => self.time = self.time.wrapping_add(delta.wrapping_add(n << 27)),
            (31, Some(n)) => {
                let mut t = (n << 27 | delta) & !TOP_BITS | self.time & TOP_BITS;
                // The 59 bits wrapped since the last known time.
                if t < self.time && self.time - t > 1 << 58 {
                    t = t.wrapping_add(1 << 59);
                }
                self.time = t;
            }
            _ => self.time = self.time.wrapping_add(delta),
        }
        self.index = end;
        if kind > 28 {
            return false;
        }
        self.current = Current { time: self.nanoseconds(), lost: None, start: at + start, end };
        true
    }

    fn nanoseconds(&self) -> u64 {
        match self.tsc {
            Some(t) => ((u128::from(self.time) * u128::from(t.mult)) >> t.shift) as u64,
            None => self.time,
        }
    }

    fn damaged(&self, at: usize, losses: &mut Losses) {
        let advice = "a page of the trace is cut or damaged, its remaining events are missing; \
                      copy the file again or record it again";
        let within = if self.codec == Codec::None { at as u64 } else { 0 };
        let at = self.pages_at.saturating_add(within).saturating_add(1);
        losses.add("tracedat_damaged_page", 1, Severity::Warning, advice, Some(at));
    }
}
