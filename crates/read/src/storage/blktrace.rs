//! Binary files of blktrace: one for each CPU, records of 48 bytes and what
//! follows them (include/uapi/linux/blktrace_api.h).

use dormouse_base::loss::{Losses, Severity};
use dormouse_storage::ledger::{Event, Ledger};
use dormouse_storage::recording::Trace;
use dormouse_storage::request::{Disk, Operation};

/// First 24 bits of every record; the other 8 are the version.
const MAGIC: u32 = 0x6561_7400;
/// The version with records of 48 bytes.
const VERSION: u32 = 7;
/// Bytes of a record.
const RECORD: usize = 48;

/// Whether bytes begin with a record, in either byte order.
pub(crate) fn is_blktrace(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

fn order(bytes: &[u8]) -> Option<Order> {
    let first: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(first) & !0xff == MAGIC {
        Some(Order::Little)
    } else if u32::from_be_bytes(first) & !0xff == MAGIC {
        Some(Order::Big)
    } else {
        None
    }
}

/// The name of a series of files: without the number of the CPU.
pub(super) fn series(name: &str) -> String {
    match name.rsplit_once(".blktrace.") {
        Some((base, cpu)) if cpu.bytes().all(|b| b.is_ascii_digit()) => format!("{base}.blktrace"),
        _ => name.into(),
    }
}

/// One record that matters.
#[derive(Clone, Copy, Debug)]
struct Record {
    sequence: u32,
    action: u32,
    event: Event,
    split: u64,
    /// The eight bytes behind it.
    from: u64,
    error: i32,
    cpu: u32,
}

/// Records of all files of a series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    list: Vec<Record>,
    seen: u64,
}

impl Records {
    /// Adds the records of one file.
    pub(super) fn read(&mut self, bytes: &[u8], losses: &mut Losses) {
        let Some(order) = order(bytes) else { return };
        let word = |at: usize| -> Option<u32> {
            let b = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(if order == Order::Little { u32::from_le_bytes(b) } else { u32::from_be_bytes(b) })
        };
        let long = |at: usize| -> Option<u64> {
            let b = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(if order == Order::Little { u64::from_le_bytes(b) } else { u64::from_be_bytes(b) })
        };
        let half = |at: usize| -> Option<u16> {
            let b = bytes.get(at..at + 2)?.try_into().ok()?;
            Some(if order == Order::Little { u16::from_le_bytes(b) } else { u16::from_be_bytes(b) })
        };
        let mut at = 0;
        while at < bytes.len() {
            let fields = || {
                if word(at)? != MAGIC | VERSION {
                    return None;
                }
                Some((
                    word(at + 4)?,
                    long(at + 8)?,
                    long(at + 16)?,
                    word(at + 24)?,
                    word(at + 28)?,
                    word(at + 36)?,
                    word(at + 40)?,
                    half(at + 44)?,
                    half(at + 46)?,
                ))
            };
            let Some((sequence, time, sector, size, action, device, cpu, error, extra)) = fields()
            else {
                let advice = if word(at).is_some_and(|w| w & !0xff == MAGIC) {
                    "records of another version of blktrace: convert them with blkparse"
                } else {
                    "the file of blktrace is cut or damaged here: copy it again"
                };
                losses.add("damaged_input", 1, Severity::Error, advice, Some(at as u64));
                return;
            };
            let pdu = at + RECORD;
            self.seen += 1;
            // What is below zero is wrapped; what is out of reach is no time.
            let time = time.cast_signed();
            if time.unsigned_abs() <= MOST_TIME {
                self.list.push(Record {
                    sequence,
                    action: action & 0xffff,
                    event: Event {
                        time,
                        disk: Disk { major: device >> 20, minor: device & 0xf_ffff },
                        operation: operation(action >> 16),
                        sector,
                        sectors: size / 512,
                        // With a write it asks for a flush before, or FUA after.
                        flush: (action >> 16) & WRITE != 0 && (action >> 16) & (FLUSH | FUA) != 0,
                    },
                    // A split says its place behind the record, big endian.
                    split: bytes
                        .get(pdu..pdu + 8)
                        .and_then(|b| b.try_into().ok())
                        .map_or(0, u64::from_be_bytes),
                    from: bytes
                        .get(pdu + 8..pdu + 16)
                        .and_then(|b| b.try_into().ok())
                        .map_or(0, u64::from_be_bytes),
                    error: -i32::from(error),
                    cpu,
                });
            }
            at = pdu + usize::from(extra);
        }
    }

    /// Requests of all records, in order of time.
    pub(super) fn trace(mut self, name: String) -> Trace {
        self.list.sort_by_key(|r| (r.event.time, r.cpu, r.sequence));
        let mut ledger = Ledger::default();
        for r in &self.list {
            match r.action {
                1 => ledger.queue(r.event),
                2 | 3 => ledger.merge(r.event),
                4 => ledger.admit(r.event),
                6 => ledger.requeue(r.event),
                7 => ledger.issue(r.event),
                8 => ledger.complete(r.event, r.error, r.cpu),
                12 => ledger.insert(r.event),
                13 => ledger.split(r.event, r.split),
                // Devices from and to, big endian, then the sector there
                // (`struct blk_io_trace_remap`, include/uapi/linux/blktrace_api.h, 6.12).
                15 => {
                    let device = (r.split >> 32) as u32;
                    let disk = Disk { major: device >> 20, minor: device & 0xf_ffff };
                    ledger.remap(r.event, disk, r.from);
                }
                _ => {}
            }
        }
        let (issues, completions, unissued) = (ledger.issues, ledger.completions, ledger.unissued);
        Trace {
            name,
            requests: ledger.finish(),
            issues,
            completions,
            unissued,
            events: [("blktrace".to_string(), self.seen)].into(),
            ..Trace::default()
        }
    }
}

/// Longest time from zero that is one, ns: differences of two are numbers too.
const MOST_TIME: u64 = 1 << 62;

/// Categories of a record (`enum blktrace_cat`, include/uapi/linux/blktrace_api.h, 6.12).
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const FUA: u32 = 1 << 15;

/// The operation in the upper half of an action (`BLK_TC_*`).
fn operation(category: u32) -> Operation {
    const READ: u32 = 1;
    const DISCARD: u32 = 1 << 13;
    const PASSTHROUGH: u32 = 1 << 9;
    if category & DISCARD != 0 {
        Operation::Discard
    } else if category & PASSTHROUGH != 0 {
        Operation::Other
    } else if category & WRITE != 0 {
        Operation::Write
    } else if category & FLUSH != 0 {
        Operation::Flush
    } else if category & READ != 0 {
        Operation::Read
    } else {
        Operation::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sequence: u32, time: u64, action: u32, cpu: u32, big: bool) -> Vec<u8> {
        let words = |w: u32| if big { w.to_be_bytes() } else { w.to_le_bytes() };
        let longs = |w: u64| if big { w.to_be_bytes() } else { w.to_le_bytes() };
        let mut out = Vec::new();
        out.extend(words(MAGIC | VERSION));
        out.extend(words(sequence));
        out.extend(longs(time));
        out.extend(longs(800));
        out.extend(words(4096));
        out.extend(words(1 << 16 | action));
        out.extend(words(42));
        out.extend(words(259 << 20 | 1));
        out.extend(words(cpu));
        out.extend([0; 4]);
        out
    }

    #[test]
    fn a_request_that_ends_on_another_cpu() {
        for big in [false, true] {
            let mut r = Records::default();
            let mut losses = Losses::default();
            r.read(&record(1, 900, 8, 1, big), &mut losses);
            r.read(&[record(1, 100, 1, 0, big), record(2, 300, 7, 0, big)].concat(), &mut losses);
            let t = r.trace("x".into());
            assert_eq!(losses.list, []);
            let [q] = &t.requests[..] else { panic!("{:?}", t.requests) };
            assert_eq!((q.queued, q.issued, q.completed), (Some(100), Some(300), Some(900)));
            assert_eq!((q.sectors, q.disk.to_string()), (8, "259,1".into()));
        }
        assert_eq!(series("a/sda.blktrace.12"), "a/sda.blktrace");
        assert_eq!(series("a/sda"), "a/sda");
    }

    #[test]
    fn a_cut_file_is_a_counted_loss() {
        let mut r = Records::default();
        let mut losses = Losses::default();
        let whole = record(1, 900, 8, 1, false);
        r.read(&[&whole[..], &whole[..20]].concat(), &mut losses);
        assert_eq!((r.list.len(), losses.count("damaged_input")), (1, 1));
    }
}
