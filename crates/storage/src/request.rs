//! A request to a disk, and the moments of its life.

use serde::{Serialize, Serializer};
use std::fmt;

/// A disk by its device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Disk {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// Majors that no device has: disks of which a trace says the address alone.
const SCSI: u32 = u32::MAX;
const NVME: u32 = u32::MAX - 1;

impl Disk {
    /// A disk by its SCSI host, target and unit.
    pub fn scsi(host: u32, target: u32, unit: u32) -> Disk {
        let minor = (host & 0xff) << 24 | (target & 0xff) << 16 | unit & 0xffff;
        Disk { major: SCSI, minor }
    }

    /// A disk by its NVMe controller and namespace.
    pub fn nvme(controller: u32, namespace: u32) -> Disk {
        Disk { major: NVME, minor: (controller & 0xffff) << 16 | namespace & 0xffff }
    }

    /// Whether it is known by an address of SCSI or NVMe.
    pub fn address(self) -> (bool, bool) {
        (self.major == SCSI, self.major == NVME)
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.minor;
        match self.major {
            SCSI => write!(f, "{}:{}:{}", m >> 24, m >> 16 & 0xff, m & 0xffff),
            NVME => write!(f, "nvme{}n{}", m >> 16, m & 0xffff),
            major => write!(f, "{major},{m}"),
        }
    }
}

impl Serialize for Disk {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards, or erases securely.
    Discard,
    /// Empties the drive's write cache.
    Flush,
    /// Anything else: zone commands, passthrough.
    Other,
}

/// Whether letters such as `FWS` or `WFS` ask for the drive's cache to be emptied
/// before or after the data (`REQ_PREFLUSH`, `REQ_FUA`).
pub fn asks_for_a_flush(letters: &[u8]) -> bool {
    match letters {
        [b'F', b'W' | b'R' | b'D' | b'F' | b'N', ..] => true,
        [b'W', rest @ ..] => rest.contains(&b'F'),
        _ => false,
    }
}

impl Operation {
    /// `read`, `write`, ….
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::Flush => "flush",
            Operation::Other => "other",
        }
    }

    /// The operation in the letters of a trace, such as `WFS` or `FF`
    /// (`blk_fill_rwbs`, kernel/trace/blktrace.c of 6.12): an optional `F` for a
    /// flush before it, the operation, then `F` (FUA), `A`, `S`, `M`.
    pub fn of(letters: &[u8]) -> Operation {
        let op = match letters {
            [b'F', op @ (b'W' | b'R' | b'D' | b'F' | b'N'), ..] => op,
            [op, ..] => op,
            [] => &b'N',
        };
        match op {
            b'R' => Operation::Read,
            b'W' => Operation::Write,
            b'D' => Operation::Discard,
            b'F' => Operation::Flush,
            _ => Operation::Other,
        }
    }
}

/// One request. Moments are ns of the trace's clock; `None` if the trace has no
/// event for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The disk.
    #[serde(skip)]
    pub disk: Disk,
    /// What it does.
    pub operation: Operation,
    /// First sector of 512 bytes; `None` for a flush, which has none.
    pub sector: Option<u64>,
    /// Sectors of 512 bytes.
    pub sectors: u32,
    /// It asks for a flush before or after its data.
    #[serde(skip)]
    pub flush: bool,
    /// `block_bio_queue`: somebody asked for it. It comes before the wait for a
    /// suspended queue.
    pub queued: Option<i64>,
    /// `block_getrq`: it may enter the queue and has a request.
    pub admitted: Option<i64>,
    /// `block_rq_insert`: a scheduler has it.
    pub inserted: Option<i64>,
    /// First `block_rq_issue`: the driver was asked to take it.
    pub issued: Option<i64>,
    /// Last `block_rq_issue`: the driver took it.
    pub taken: Option<i64>,
    /// How often it was issued: more than once if the driver put it back.
    pub issues: u32,
    /// `block_rq_complete`.
    pub completed: Option<i64>,
    /// Its error, a negative errno, or 0.
    pub error: i32,
    /// Bios that were merged into it.
    #[serde(skip)]
    pub merged: u32,
    /// Of its sectors those that ended before the last part did.
    #[serde(skip)]
    pub(crate) ended: u32,
    /// CPU of the completion; `u32::MAX` if the trace does not say.
    #[serde(skip)]
    pub cpu: u32,
}

impl Request {
    /// A command of a driver, sent at `time`.
    pub fn command(
        disk: Disk,
        operation: Operation,
        sector: Option<u64>,
        sectors: u32,
        time: i64,
    ) -> Request {
        Request {
            disk,
            operation,
            sector,
            sectors,
            flush: false,
            queued: None,
            admitted: None,
            inserted: None,
            issued: Some(time),
            taken: Some(time),
            issues: 1,
            completed: None,
            error: 0,
            merged: 0,
            ended: 0,
            cpu: u32::MAX,
        }
    }

    /// When its life begins: the first moment that was recorded.
    pub fn begin(&self) -> Option<i64> {
        self.queued.or(self.admitted).or(self.inserted).or(self.issued)
    }

    /// From its first recorded moment to its completion, ns.
    pub fn latency(&self) -> Option<i64> {
        Some(self.completed?.saturating_sub(self.begin()?).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;

    #[test]
    fn letters_of_the_block_layer() {
        let cases: [(&[u8], Operation); 12] = [
            (b"R", Operation::Read),
            (b"RA", Operation::Read),
            (b"FRS", Operation::Read),
            (b"W", Operation::Write),
            (b"WFS", Operation::Write),
            (b"FWFS", Operation::Write),
            (b"FF", Operation::Flush),
            (b"F", Operation::Flush),
            (b"FS", Operation::Flush),
            (b"DS", Operation::Discard),
            (b"DE", Operation::Discard),
            (b"N", Operation::Other),
        ];
        for (letters, want) in cases {
            assert_eq!(Operation::of(letters), want, "{letters:?}");
        }
    }
}
