//! Commands as drivers see them, for traces without the block layer's events:
//! `scsi_dispatch_cmd_*` (include/trace/events/scsi.h), `nvme_setup_cmd` and
//! `nvme_complete_rq` (drivers/nvme/host/trace.h), `ufshcd_command`
//! (drivers/ufs/core/ufs_trace.h), 4.4 to 7.3.

use crate::event::word;
use dormouse_storage::request::{Disk, Operation, Request};
use std::collections::HashMap;

/// Requests made of commands.
#[derive(Default)]
pub(crate) struct Commands {
    /// Commands under way, by the driver's own key.
    open: HashMap<Vec<u8>, Request>,
    done: Vec<Request>,
    /// Commands that were sent, and that ended.
    pub sent: u64,
    /// As above.
    pub ended: u64,
    /// Those that ended and were not sent in the trace.
    pub unsent: u64,
}

/// What a command does, and where.
struct Command {
    operation: Operation,
    sector: Option<u64>,
    bytes: u64,
}

impl Commands {
    /// Whether an event is one of these.
    pub(super) fn wants(name: &[u8]) -> bool {
        matches!(
            name,
            b"scsi_dispatch_cmd_start"
                | b"scsi_dispatch_cmd_done"
                | b"scsi_dispatch_cmd_error"
                | b"scsi_dispatch_cmd_timeout"
                | b"nvme_setup_cmd"
                | b"nvme_complete_rq"
                | b"ufshcd_command"
        )
    }

    /// One of them; `None` if it cannot be understood.
    pub(super) fn take(&mut self, time: i64, cpu: u32, name: &[u8], text: &[u8]) -> Option<()> {
        match name {
            b"scsi_dispatch_cmd_start" => {
                let (key, disk) = scsi(text)?;
                self.begin(time, key, disk, &scsi_command(text)?);
            }
            b"scsi_dispatch_cmd_done" => {
                let (key, disk) = scsi(text)?;
                let good = contains(text, b"status=SAM_STAT_GOOD")
                    || contains(text, b"status=0x0)")
                    || contains(text, b"result=GOOD");
                self.end(time, cpu, &key, disk, if good { 0 } else { -5 });
            }
            b"nvme_setup_cmd" => {
                let (key, disk) = nvme(text)?;
                let at = memchr::memmem::find(text, b"cmd=(")? + 5;
                let command = &text[at..];
                // Admin commands are no requests of a disk.
                if command.starts_with(b"nvme_admin_") {
                    return Some(());
                }
                let blocks = number(command, b"len").map_or(0, |n| n.saturating_add(1));
                let operation = match command {
                    c if c.starts_with(b"nvme_cmd_read") => Operation::Read,
                    c if c.starts_with(b"nvme_cmd_write_zeroes") => Operation::Other,
                    c if c.starts_with(b"nvme_cmd_write") => Operation::Write,
                    c if c.starts_with(b"nvme_cmd_zone_append") => Operation::Write,
                    c if c.starts_with(b"nvme_cmd_flush") => Operation::Flush,
                    c if c.starts_with(b"nvme_cmd_dsm") => Operation::Discard,
                    _ => Operation::Other,
                };
                // The length is in blocks of the drive, whose size is not said: 512.
                let bytes = blocks.saturating_mul(512);
                let sector = number(command, b"slba");
                self.begin(time, key, disk, &Command { operation, sector, bytes });
            }
            b"nvme_complete_rq" => {
                let (key, disk) = nvme(text)?;
                // Of an admin queue nothing was begun.
                if number(text, b"qid") == Some(0) {
                    return Some(());
                }
                let good = word(text, b"status").is_none_or(|s| s.trim_ascii() == b"0x0");
                self.end(time, cpu, &key, disk, if good { 0 } else { -5 });
            }
            b"ufshcd_command" => return self.ufs(time, cpu, text),
            _ => {}
        }
        Some(())
    }

    /// `send_req: 1d84000.ufshc: tag: 12, DB: 0x0, size: 4096, IS: 0, LBA: 8, opcode: 0x2a
    /// (WRITE_10), …`; until 4.x the address stood before the tag as `NAME: tag:`.
    fn ufs(&mut self, time: i64, cpu: u32, text: &[u8]) -> Option<()> {
        let text = text.trim_ascii();
        let colon = memchr::memchr(b':', text)?;
        let (what, rest) = (&text[..colon], &text[colon + 1..]);
        let tag_at = memchr::memmem::find(rest, b"tag:")?;
        let device = rest[..tag_at].trim_ascii().strip_suffix(b":").unwrap_or(b"ufs");
        let value = |key: &[u8]| -> Option<&[u8]> {
            let at = memchr::memmem::find(rest, key)? + key.len();
            let v = rest[at..].trim_ascii_start();
            let end = v.iter().position(|b| *b == b',' || b.is_ascii_whitespace());
            Some(&v[..end.unwrap_or(v.len())])
        };
        let decimal = |v: &[u8]| std::str::from_utf8(v).ok()?.parse::<i64>().ok();
        let tag = decimal(value(b"tag:")?)?;
        let key = [b"u", device, b" ", tag.to_string().as_bytes()].concat();
        let text = std::str::from_utf8(device).ok()?;
        let mut address = text.split(':').map(|p| p.parse::<u32>().ok());
        let disk = match (address.next(), address.next(), address.next(), address.next()) {
            (Some(Some(host)), Some(_), Some(Some(id)), Some(Some(lun))) => {
                Disk::scsi(host, id, lun)
            }
            _ => Disk::scsi(0, 0, 0),
        };
        match what {
            b"send_req" | b"send" => {
                let opcode = value(b"opcode:")?;
                let code = opcode.strip_prefix(b"0x").unwrap_or(opcode);
                let code = u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?;
                let size = decimal(value(b"size:")?)?.max(0).unsigned_abs();
                let sector = std::str::from_utf8(value(b"LBA:")?).ok()?.parse::<u64>().ok();
                let operation = of_opcode(code);
                // What is no command of a disk has no opcode.
                if code == 0 && size == 0 {
                    return Some(());
                }
                let bytes = if operation == Operation::Flush { 0 } else { size };
                self.begin(time, key, disk, &Command { operation, sector, bytes });
            }
            b"complete_rsp" | b"complete" | b"cmd_complete_rsp" => {
                if value(b"opcode:").is_some_and(|o| o == b"0x0") {
                    return Some(());
                }
                self.end(time, cpu, &key, disk, 0);
            }
            _ => {}
        }
        Some(())
    }

    fn begin(&mut self, time: i64, key: Vec<u8>, disk: Disk, c: &Command) {
        self.sent += 1;
        let sector = c.sector.filter(|s| *s != u64::MAX && c.operation != Operation::Flush);
        let sectors = u32::try_from(c.bytes / 512).unwrap_or(u32::MAX);
        let r = Request::command(disk, c.operation, sector, sectors, time);
        // A key that is used again: the end of the one before was lost.
        self.done.extend(self.open.insert(key, r));
    }

    fn end(&mut self, time: i64, cpu: u32, key: &[u8], disk: Disk, error: i32) {
        self.ended += 1;
        let Some(mut r) = self.open.remove(key) else {
            self.unsent += 1;
            return;
        };
        // Of the done event the address may be the better one.
        if r.disk != disk {
            r.disk = disk;
        }
        (r.completed, r.error, r.cpu) = (Some(time), error, cpu);
        self.done.push(r);
    }

    /// All of them, those without an end last.
    pub(super) fn finish(self) -> Vec<Request> {
        let mut out = self.done;
        let mut open: Vec<Request> = self.open.into_values().collect();
        open.sort_by_key(|r| (r.issued, r.disk, r.sector));
        out.extend(open);
        out.sort_by_key(|r| (r.completed.is_none(), r.completed, r.issued));
        out
    }
}

/// The number after `key=`, perhaps before a comma or a bracket.
fn number(text: &[u8], key: &[u8]) -> Option<u64> {
    let digits = word(text, key)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(text, what).is_some()
}

/// `host_no=0 channel=0 id=0 lun=3 … tag=14`: the key, and the disk.
fn scsi(text: &[u8]) -> Option<(Vec<u8>, Disk)> {
    let small = |key: &[u8]| u32::try_from(number(text, key)?).ok();
    let (host, id, lun) = (small(b"host_no")?, small(b"id")?, small(b"lun")?);
    // Older kernels print no tag: then commands of a disk are told apart by their place.
    let tag = number(text, b"driver_tag").or_else(|| number(text, b"tag"));
    let tag = tag.or_else(|| number(text, b"lba")).unwrap_or(0);
    Some((format!("s{host}:{id}:{lun} {tag}").into_bytes(), Disk::scsi(host, id, lun)))
}

/// `cmnd=(READ_10 lba=8 txlen=8 …)`.
fn scsi_command(text: &[u8]) -> Option<Command> {
    let at = memchr::memmem::find(text, b"cmnd=(").map(|n| n + 6);
    let at = at.or_else(|| memchr::memmem::find(text, b"opcode=").map(|n| n + 7))?;
    let name = &text[at..];
    let operation = match name {
        n if n.starts_with(b"READ_CAPACITY") => Operation::Other,
        n if n.starts_with(b"READ_6")
            || n.starts_with(b"READ_1")
            || n.starts_with(b"READ_32")
            || n.starts_with(b"READ(") =>
        {
            Operation::Read
        }
        n if n.starts_with(b"WRITE_SAME") => Operation::Other,
        n if n.starts_with(b"WRITE_6")
            || n.starts_with(b"WRITE_1")
            || n.starts_with(b"WRITE_32")
            || n.starts_with(b"WRITE(") =>
        {
            Operation::Write
        }
        n if n.starts_with(b"SYNCHRONIZE_CACHE") => Operation::Flush,
        n if n.starts_with(b"UNMAP") => Operation::Discard,
        _ => Operation::Other,
    };
    let blocks = number(text, b"txlen").unwrap_or(0);
    let data = matches!(operation, Operation::Read | Operation::Write);
    Some(Command {
        operation,
        sector: number(text, b"lba"),
        bytes: if data { blocks.saturating_mul(512) } else { 0 },
    })
}

/// `nvme0: disk=nvme0n1, qid=1, cmdid=57664, …`.
fn nvme(text: &[u8]) -> Option<(Vec<u8>, Disk)> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"nvme")?;
    let end = digits.iter().position(|b| !b.is_ascii_digit())?;
    let controller: u32 = std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?;
    let plain = |key: &[u8]| number(text, key);
    let (queue, id) = (plain(b"qid")?, plain(b"cmdid")?);
    // The name says the namespace on both ends; `nsid` only where it begins.
    let name = word(text, b"disk").map_or(&b""[..], |w| w.strip_suffix(b",").unwrap_or(w));
    let space = name.iter().rposition(|b| *b == b'n').map_or(1, |at| {
        std::str::from_utf8(&name[at + 1..]).ok().and_then(|n| n.parse().ok()).unwrap_or(1)
    });
    let key = format!("n{controller} {queue} {id}").into_bytes();
    Some((key, Disk::nvme(controller, space)))
}

/// Operation codes of SCSI (SBC): reads, writes, flush, unmap.
fn of_opcode(code: u8) -> Operation {
    match code {
        0x08 | 0x28 | 0x88 | 0xa8 => Operation::Read,
        0x0a | 0x2a | 0x8a | 0xaa => Operation::Write,
        0x35 | 0x91 => Operation::Flush,
        0x42 => Operation::Discard,
        _ => Operation::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of lines `time name text`.
    fn requests(lines: &[(i64, &str, &str)]) -> (Commands, Vec<Request>) {
        let mut c = Commands::default();
        for (time, name, text) in lines {
            assert!(Commands::wants(name.as_bytes()));
            assert!(c.take(*time, 3, name.as_bytes(), text.as_bytes()).is_some(), "{text}");
        }
        let counts =
            Commands { sent: c.sent, ended: c.ended, unsent: c.unsent, ..Default::default() };
        (counts, c.finish())
    }

    #[test]
    fn commands_of_scsi_with_and_without_two_tags() {
        let (c, list) = requests(&[
            (
                10,
                "scsi_dispatch_cmd_start",
                "host_no=0 channel=0 id=0 lun=3 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL tag=14 cmnd=(WRITE_10 lba=4922384 txlen=16 protect=0 raw=2a 00)",
            ),
            (
                12,
                "scsi_dispatch_cmd_start",
                "host_no=0 channel=0 id=0 lun=3 data_sgl=0 prot_sgl=0 prot_op=0x0 driver_tag=15 scheduler_tag=1 cmnd=(SYNCHRONIZE_CACHE - raw=35 00)",
            ),
            (
                50,
                "scsi_dispatch_cmd_done",
                "host_no=0 channel=0 id=0 lun=3 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL tag=14 cmnd=(WRITE_10 lba=4922384 txlen=16 protect=0 raw=2a 00) result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_GOOD)",
            ),
            (
                70,
                "scsi_dispatch_cmd_done",
                "host_no=0 channel=0 id=0 lun=3 driver_tag=15 scheduler_tag=1 cmnd=(SYNCHRONIZE_CACHE - raw=35 00) result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_CHECK_CONDITION)",
            ),
            (
                80,
                "scsi_dispatch_cmd_done",
                "host_no=0 channel=0 id=0 lun=3 driver_tag=9 result=(status=SAM_STAT_GOOD)",
            ),
        ]);
        assert_eq!((c.sent, c.ended, c.unsent), (2, 3, 1));
        let seen: Vec<_> =
            list.iter().map(|r| (r.operation, r.sectors, r.latency(), r.error)).collect();
        assert_eq!(
            seen,
            [(Operation::Write, 16, Some(40), 0), (Operation::Flush, 0, Some(58), -5)]
        );
        assert_eq!(list[0].disk.to_string(), "0:0:3");
    }

    #[test]
    fn commands_of_nvme_and_ufs() {
        let (c, list) = requests(&[
            (
                1,
                "nvme_setup_cmd",
                "nvme0: qid=0, cmdid=9, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_identify cns=1, ctrlid=0)",
            ),
            (
                2,
                "nvme_setup_cmd",
                "nvme0: disk=nvme0n1, qid=11, cmdid=57664, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=918149376, len=25, ctrl=0x8000, dsmgmt=7, reftag=0)",
            ),
            (
                4,
                "nvme_complete_rq",
                "nvme0: qid=0, cmdid=9, res=0x0, retries=0, flags=0x2, status=0x0",
            ),
            (
                9,
                "nvme_complete_rq",
                "nvme0: disk=nvme0n1, qid=11, cmdid=57664, res=0x0, retries=0, flags=0x0, status=0x0",
            ),
            (
                20,
                "ufshcd_command",
                "send_req: 1d84000.ufshc: tag: 31, DB: 0x0, size: 4096, IS: 0, LBA: 77, opcode: 0x28 (READ_10), group_id: 0x0, hwq_id: 7",
            ),
            (
                25,
                "ufshcd_command",
                "send_req: 0:0:0:4: tag: 31, DB: 0x7ffffbff, size: 524288, IS: 0, LBA: 1085538, opcode: 0x8a (WRITE_16), group_id: 0x0",
            ),
            (
                26,
                "ufshcd_command",
                "send_req: ff3b0000.ufs: tag: 28, DB: 0x0, size: -1, IS: 0, LBA: 18446744073709551615, opcode: 0x0 (0x0), group_id: 0x0",
            ),
            (
                30,
                "ufshcd_command",
                "complete_rsp: 1d84000.ufshc: tag: 31, DB: 0x0, size: 4096, IS: 0, LBA: 77, opcode: 0x28 (READ_10), group_id: 0x0, hwq_id: 7",
            ),
            (
                40,
                "ufshcd_command",
                "complete_rsp: 0:0:0:4: tag: 31, DB: 0x0, size: 524288, IS: 0, LBA: 1085538, opcode: 0x8a (WRITE_16), group_id: 0x0",
            ),
        ]);
        assert_eq!((c.sent, c.ended, c.unsent), (3, 3, 0));
        let seen: Vec<_> =
            list.iter().map(|r| (r.disk.to_string(), r.sector, r.sectors, r.latency())).collect();
        let want = [
            ("nvme0n1", 918_149_376, 26, 7),
            ("0:0:0", 77, 8, 10),
            ("0:0:4", 1_085_538, 1_024, 15),
        ];
        assert_eq!(seen, want.map(|(d, s, n, l)| (d.to_string(), Some(s), n, Some(l))));
    }

    #[test]
    fn what_is_no_command_is_not_understood() {
        for (name, text) in [
            ("scsi_dispatch_cmd_start", "host_no=x"),
            ("nvme_setup_cmd", "nvmex: qid=1, cmdid=2, cmd=(nvme_cmd_read)"),
            ("nvme_complete_rq", "nvme0"),
            ("ufshcd_command", "send_req: a: tag: x"),
            ("ufshcd_command", ""),
        ] {
            let mut c = Commands::default();
            assert_eq!(c.take(1, 0, name.as_bytes(), text.as_bytes()), None, "{text}");
        }
    }
}
