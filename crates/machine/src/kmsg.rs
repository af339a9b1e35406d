//! The kernel log of a cycle, from `/dev/kmsg`.
//!
//! Each read gives one record: `priority,sequence,microseconds,flags;text` and
//! lines with a leading blank for its fields. Sequence numbers show what was
//! overwritten before it was read.

use crate::root::Root;
use crate::system::without_waiting;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};

/// Largest record the kernel hands out.
const RECORD: usize = 16 << 10;
/// Most text kept of one cycle.
const LIMIT: usize = 16 << 20;

/// An open kernel log, positioned after what is of no interest.
#[derive(Debug)]
pub(crate) struct Kmsg {
    file: File,
    next: Option<u64>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Lines in the form of `dmesg`.
    pub text: Vec<u8>,
    /// Records that were overwritten before they could be read.
    pub lost: u64,
}

impl Kmsg {
    /// Opens the log at its present end; `None` where there is none.
    pub(crate) fn open(root: &Root) -> Option<Kmsg> {
        let mut kmsg = Kmsg::at_its_start(root)?;
        kmsg.file.seek(SeekFrom::End(0)).ok()?;
        Some(kmsg)
    }

    /// All that the kernel still has; `None` where it may not be read.
    pub(crate) fn whole(root: &Root) -> Option<Vec<u8>> {
        Some(Kmsg::at_its_start(root)?.drain().text)
    }

    fn at_its_start(root: &Root) -> Option<Kmsg> {
        let mut options = OpenOptions::new();
        let file = without_waiting(options.read(true)).open(root.resolve("/dev/kmsg")).ok()?;
        Some(Kmsg { file, next: None })
    }

    /// Everything since the last call.
    pub(crate) fn drain(&mut self) -> Log {
        let mut log = Log::default();
        let mut buffer = vec![0; RECORD];
        let mut overwritten = 0;
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    for line in buffer[..n].split(|&b| b == b'\n') {
                        self.line(line, &mut log);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // EPIPE: records were overwritten; the next read continues
                // with the oldest there is. A log that overflows faster than
                // it is read must not hold us forever.
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe && overwritten < 1_000 => {
                    overwritten += 1;
                }
                Err(_) => break,
            }
            if log.text.len() > LIMIT {
                break;
            }
        }
        log
    }

    fn line(&mut self, line: &[u8], log: &mut Log) {
        // Fields of a record begin with a blank.
        let Some(cut) = line.iter().position(|&b| b == b';').filter(|_| line[0] != b' ') else {
            return;
        };
        let (head, text) = (&line[..cut], &line[cut + 1..]);
        let head = String::from_utf8_lossy(head);
        let mut fields = head.split(',').skip(1);
        let sequence = fields.next().and_then(|s| s.parse::<u64>().ok());
        let time = fields.next().and_then(|s| s.parse::<u64>().ok());
        let (Some(sequence), Some(time)) = (sequence, time) else { return };
        if let Some(expected) = self.next {
            log.lost += sequence.saturating_sub(expected);
        }
        self.next = Some(sequence.saturating_add(1));
        let stamp = format!("[{:5}.{:06}] ", time / 1_000_000, time % 1_000_000);
        log.text.extend_from_slice(stamp.as_bytes());
        log.text.extend_from_slice(text);
        log.text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn records_become_lines_and_gaps_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        let path = dir.path().join("dev/kmsg");
        std::fs::write(&path, "6,9,1,-;before\n").unwrap();
        let mut kmsg = Kmsg::open(&Root::below(dir.path())).unwrap();
        let mut out = OpenOptions::new().append(true).open(&path).unwrap();
        out.write_all(
            b"6,10,1234567,-;PM: suspend entry (deep)\n SUBSYSTEM=x\n4,13,99000000,-;a;b\n",
        )
        .unwrap();
        let log = kmsg.drain();
        assert_eq!(
            String::from_utf8(log.text).unwrap(),
            "[    1.234567] PM: suspend entry (deep)\n[   99.000000] a;b\n"
        );
        assert_eq!(log.lost, 2);
        assert!(kmsg.drain().text.is_empty());
    }
}
