//! What the block layer and drives say of data that could not be read or written: a medium that
//! is damaged, which no power state does, and other errors of a disk.

use super::silent::{Place, first_near};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::stage::Stages;
use dormouse_base::say;

/// What the block layer says of a request that failed: `critical medium error, dev sdk, sector
/// 7712 op …` (block/blk-mq.c:blk_print_req_error, 6.12; before 5.18 with the name of the
/// function before it).
pub(super) struct Failed<'a> {
    /// `I/O`, `critical medium`.
    kind: &'a str,
    /// The disk.
    pub(super) disk: &'a str,
    /// Where on it.
    sector: Option<&'a str>,
}

/// Kinds of `blk_errors` (block/blk-core.c) that tell of a disk, and not of what it cannot do.
const KINDS: [&str; 5] = ["I/O", "critical medium", "timeout", "device offline", MISSED];
const MISSED: &str = "recoverable transport";

/// The request of which a message tells that it failed.
pub(super) fn failed(text: &str) -> Option<Failed<'_>> {
    let (before, rest) = text.split_once(" error, dev ")?;
    let kind = before.rsplit(": ").next()?.trim();
    let disk = rest.split([',', ' ']).next().filter(|d| !d.is_empty())?;
    let sector = rest.split_once("sector ").and_then(|r| r.1.split([' ', ',']).next());
    // A drive whose medium can be taken out may have none (Documentation/admin-guide/
    // devices.txt: floppies and optical drives).
    let number =
        |p: &str| disk.strip_prefix(p).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let empty = kind == "I/O" && (number("fd") || number("sr"));
    (KINDS.contains(&kind) && !empty).then_some(Failed { kind, disk, sector })
}

/// Words before which or behind which a drive names its medium.
const WORDS: [&str; 4] =
    [" error, dev ", "Sense Key : Medium Error", "Unrecovered read error", "(sct 0x2 / "];

/// The disk of which a message says that its medium failed.
fn of_medium(m: &Message) -> Option<&str> {
    if let Some(f) = failed(&m.text) {
        return (f.kind == "critical medium").then_some(f.disk);
    }
    // drivers/scsi/scsi_logging.c:scsi_log_print_sense_hdr: `sd 9:0:0:0: [sdk] tag#3 Sense Key :
    // Medium Error [current]`.
    if m.has(WORDS[1]) || m.has(WORDS[2]) {
        return m.after(": [")?.split(']').next();
    }
    // drivers/nvme/host/core.c:nvme_log_error, 6.12; type 2 is of media and data integrity.
    let (disk, rest) = m.text.split_once(": ")?;
    (rest.contains(WORDS[3]) && rest.contains(" @ LBA ")).then_some(disk)
}

/// Whether the text says of the medium of a disk that it failed.
pub(super) fn is_damaged(case: &Case, disk: &str) -> bool {
    let kernel = |m: &&Message| m.trust.is_of_a_kernel();
    let said = case.messages.having_any(&WORDS).map(|(_, m)| m).filter(kernel);
    said.filter_map(of_medium).any(|d| d == disk)
}

/// A message of a disk with its place.
type Line<'a> = (usize, &'a Message);

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut media: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
    let mut others: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
    let said = case.messages.having_any(&WORDS).filter(|(_, m)| m.trust.is_of_a_kernel());
    for (at, m) in said {
        let (disk, list) = match (of_medium(m), failed(&m.text)) {
            (Some(disk), _) => (disk, &mut media),
            (None, Some(f)) => (f.disk, &mut others),
            (None, None) => continue,
        };
        match list.iter_mut().find(|d| d.0 == disk) {
            Some(d) => d.1.push((at, m)),
            None => list.push((disk, vec![(at, m)])),
        }
    }
    if media.is_empty() && others.is_empty() {
        return;
    }
    let stages = Stages::new(&case.messages);
    for (disk, list) in &media {
        out.extend(damaged(case, &stages, disk, list));
    }
    // What a port or a link did is told of the port, and a disk that went away as gone.
    let told = |f: &&Finding| {
        matches!(f.id, "disk-silent" | "disk-given-up" | "drive-gone" | "phase-device-lost")
    };
    let devices = out.iter().filter(told).flat_map(|f| &f.about.devices);
    let devices: Vec<String> = devices.map(|d| d.name.clone()).collect();
    others.retain(|o| !devices.iter().any(|d| may_be_behind(o.0, d)));
    // Of a bad medium requests fail: what is new is an error behind a sleep.
    let near = |list: &[Line<'_>]| {
        first_near(case, &stages, list).is_some_and(|(_, place, _)| place.is_near())
    };
    others.retain(|o| {
        let medium = media.iter().find(|m| m.0 == o.0);
        medium.is_none_or(|m| !near(&m.1) && near(&o.1))
    });
    for (disk, list) in &others {
        out.extend(errors(case, &stages, disk, list));
    }
}

/// Whether a disk may hang on `device`: a drive, a port, a host, an address. Disks of other kinds
/// do not.
fn may_be_behind(disk: &str, device: &str) -> bool {
    const KINDS: [(&str, &str); 2] = [("nvme", "nvme"), ("mmcblk", "mmc")];
    let number = |name: &str| name.chars().take_while(char::is_ascii_digit).collect::<String>();
    let of = KINDS.iter().find_map(|(front, host)| Some((number(disk.strip_prefix(front)?), host)));
    let named = |front: &str| device.strip_prefix(front).map(number).filter(|n| !n.is_empty());
    match of {
        Some((own, &host)) => match named(host).or(named(&format!("{host}blk"))) {
            Some(other) => own == other,
            None => device.contains([':', '.']) && !device.starts_with("ata"),
        },
        None => KINDS.iter().all(|(front, host)| named(front).or(named(host)).is_none()),
    }
}

/// The medium of a disk failed.
fn damaged(case: &Case, stages: &Stages<'_>, disk: &str, list: &[Line<'_>]) -> Option<Finding> {
    let (shown, place, before) = first_near(case, stages, list)?;
    let rule = ("disk-medium", Area::Storage, Level::Risk);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!(
            "{disk} says that its medium failed{}{}.{}",
            at_sector(list),
            place.words(),
            earlier(before)
        ))
        .because(
            "It answered, and could not read or write what is stored there: no power state does \
             that. If it is a volume of another machine, it is that machine's disk.",
        )
        .look(format!("Save what it holds, and read what it counted: smartctl -x /dev/{disk}."));
    Some(told(f, disk, list, (shown, place)))
}

/// Requests to a disk failed, and its medium is not named.
fn errors(case: &Case, stages: &Stages<'_>, disk: &str, list: &[Line<'_>]) -> Option<Finding> {
    let (shown, place, before) = first_near(case, stages, list)?;
    let rule = ("disk-errors", Area::Storage, Level::Risk);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!(
            "{} to {disk} failed{}{}.{}",
            say::plural(list.len(), "request"),
            at_sector(list),
            place.words(),
            earlier(before)
        ))
        .because("Why, no line that was read says: a disk that was taken out or lost its power does that, and so does a bad one.")
        .look("Read the lines before it: a link, a host or a USB port that was reset says so there.");
    Some(told(f, disk, list, (shown, place)))
}

fn earlier(before: bool) -> &'static str {
    if before { " It did so before that sleep, too." } else { "" }
}

/// The first sector that is named.
fn at_sector(list: &[Line<'_>]) -> String {
    let sector = list.iter().find_map(|m| failed(&m.1.text)?.sector);
    sector.map_or(String::new(), |s| format!(", first at sector {s}"))
}

fn told(f: Finding, disk: &str, list: &[Line<'_>], (shown, place): (&Message, Place)) -> Finding {
    let more = list.iter().map(|m| m.1).filter(|m| m.line > shown.line).take(2);
    place.mark(
        f.of_devices([Device { name: disk.into(), driver: String::new() }])
            .times(list.len())
            .shown_by(lines([shown].into_iter().chain(more))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[(i64, &str)]) -> Vec<String> {
        let mut out = Vec::new();
        judge(&Case::of_log(lines), &mut out);
        out.into_iter().map(|f| format!("{}: {}", f.id, f.sentence)).collect()
    }

    #[test]
    fn a_medium_that_failed_is_told_with_its_sector() {
        let of_scsi = found(&[
            (1, "sd 7:0:0:0: [sdq] tag#3 Sense Key : Medium Error [current]"),
            (1, "sd 7:0:0:0: [sdq] tag#3 Add. Sense: Unrecovered read error"),
            (1, "blk_update_request: critical medium error, dev sdq, sector 88 op 0x0:(READ)"),
            (2, "I/O error, dev sdq, sector 96"),
        ]);
        let medium = "disk-medium: sdq says that its medium failed, first at sector 88.";
        assert_eq!(of_scsi, [medium]);
        let of_nvme = found(&[(
            1,
            "nvme7n1: Read(0x2) @ LBA 88, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81)",
        )]);
        assert_eq!(of_nvme, ["disk-medium: nvme7n1 says that its medium failed."]);
    }

    #[test]
    fn other_errors_are_of_the_disk_that_is_named() {
        let error = found(&[(1, "I/O error, dev sdq, sector 88 op 0x0:(READ)")]);
        assert_eq!(error, ["disk-errors: 1 request to sdq failed, first at sector 88."]);
        // What a disk cannot do is no error of it, and an empty drive none.
        let none = [
            "operation not supported error, dev sdq, sector 0 op 0x9:(WRITE_ZEROES)",
            "critical target error, dev sdq, sector 0 op 0x3:(DISCARD)",
            "I/O error, dev fd0, sector 0",
            "nvme7n1: Read(0x2) @ LBA 88, 8 blocks, Invalid Field in Command (sct 0x0 / sc 0x2)",
        ];
        assert!(found(&none.map(|t| (1, t))).is_empty());
    }

    #[test]
    fn errors_of_one_disk_do_not_hide_those_of_another() {
        for (device, hides) in [
            ("mmcblk1", &["mmcblk1", "mmcblk1boot0"][..]),
            ("mmc1", &["mmcblk1", "mmcblk1boot0"]),
            ("ata9.00", &["sdq", "sr0"]),
            ("nvme7", &["nvme7n1"]),
            ("0000:0b:00.0", &["mmcblk1", "mmcblk1boot0", "sdq", "sr0", "nvme7n1", "nvme8n1"]),
        ] {
            let disks = ["mmcblk1", "mmcblk1boot0", "sdq", "sr0", "nvme7n1", "nvme8n1"];
            let hidden: Vec<&str> =
                disks.into_iter().filter(|d| may_be_behind(d, device)).collect();
            assert_eq!(hidden, hides, "{device}");
        }
    }

    #[test]
    fn an_error_behind_a_sleep_is_told_though_there_was_one_before() {
        let lines = [
            (1_000, "I/O error, dev sdq, sector 88"),
            (9_000, "PM: suspend entry (deep)"),
            (11_000, "PM: suspend exit"),
            (12_000, "I/O error, dev sdq, sector 88"),
        ];
        let error = found(&lines);
        assert!(
            error[0].contains("failed, first at sector 88, 1.0 s after the resume."),
            "{error:?}"
        );
        assert!(error[0].ends_with("It did so before that sleep, too."), "{error:?}");
        let medium = (500, "sd 7:0:0:0: [sdq] tag#3 Add. Sense: Unrecovered read error");
        let error = found(&[&[medium][..], &lines[1..]].concat());
        assert!(error[0].starts_with("disk-medium: sdq"), "{error:?}");
        assert!(error[1].contains("1.0 s after the resume."), "{error:?}");
    }
}
