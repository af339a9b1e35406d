//! What a machine finds damaged right after a sleep: file systems, and programs that crash at once.
//! Whoever changed a disk or memory meanwhile, a restore from an image or a snapshot too.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::stage::{ends_sleep, is_over, passed};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Tasks run again for so long at most when the first damage is found.
const SOON: Ns = Ns(60_000_000_000);
/// Programs that crash of it do so at once.
const AT_ONCE: Ns = Ns(5_000_000_000);
/// The same where lines have no times.
const LINES: usize = 60;

/// How file systems tell that what they read contradicts itself (fs/ext4/super.c:__ext4_error,
/// fs/btrfs/messages.c, fs/xfs/xfs_error.c and xfs_fsops.c, fs/fat/misc.c:__fat_fs_error,
/// 3.0 to 7.3).
const DAMAGED: [&str; 9] = [
    "EXT4-fs error (device ",
    "EXT3-fs error (device ",
    "EXT2-fs error (device ",
    "EXT3-fs (",
    "BTRFS error (device ",
    "BTRFS critical (device ",
    "BTRFS: error (device ",
    "XFS (",
    "FAT-fs (",
];

/// How a kernel tells that a program crashed: `NAME[PID]: segfault at …`, `traps: NAME[PID]
/// general protection …` (arch/x86/mm/fault.c:show_signal_msg, arch/x86/kernel/traps.c).
const CRASHED: [&str; 3] = ["]: segfault at ", "] general protection", "] trap "];

/// The file system of which a message says that it is damaged.
fn damaged(m: &Message) -> Option<&str> {
    let word = DAMAGED.iter().find(|w| m.text.starts_with(w))?;
    let rest = &m.text[word.len()..];
    let name = rest.split([')', ' ', ',']).next()?;
    let is = match *word {
        "XFS (" => rest.contains("orruption") || rest.contains("Internal error"),
        "FAT-fs (" | "EXT3-fs (" => rest.contains(": error"),
        _ => true,
    };
    (is && !name.is_empty()).then_some(name)
}

/// How a kernel tells that a disk went away: what could not be read then was not damaged
/// (drivers/usb/core/hub.c:usb_disconnect and hub_port_init, drivers/scsi/scsi_lib.c, 6.12).
const AWAY: [&str; 6] = [
    "USB disconnect, device number",
    "device not accepting address",
    "DID_NO_CONNECT",
    "rejecting I/O to offline device",
    "I/O error, dev ",
    "I/O error on dev",
];

/// A disk that a sleep took away is missed so soon after it; later somebody may have pulled it.
const MISSED: Ns = Ns(3_000_000_000);

/// The program that crashed.
fn crashed(m: &Message) -> Option<&str> {
    let head = CRASHED.iter().find_map(|w| m.text.split_once(w))?.0;
    let head = head.strip_prefix("traps: ").unwrap_or(head);
    head.rsplit_once('[').map(|h| h.0)
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let kernel = |m: &Message| m.trust.is_of_a_kernel();
    let tells = |m: &Message| kernel(m) && (damaged(m).is_some() || crashed(m).is_some());
    // A machine that had it before did not get it from sleeping.
    let marks = [&DAMAGED[..], &CRASHED].concat();
    let mut marked = case.messages.having_any(&marks);
    let Some((first, _)) = marked.find(|(_, m)| tells(m)) else { return };
    let over = |at: &usize| is_over(&case.messages, *at) || ends_sleep(&case.messages[*at]);
    let from = first.saturating_sub(FAR);
    let Some(end) = (from..first).rev().filter(|at| kernel(&case.messages[*at])).find(over) else {
        return;
    };
    let end_line = &case.messages[end];
    let since = |m: &Message| passed(end_line, m);
    let near = |(at, m): &(usize, &Message), most: Ns| match since(m) {
        Some(t) => (Ns::ZERO..=most).contains(&t),
        None => at - end <= LINES,
    };
    if let Some(name) = damaged(&case.messages[first]) {
        match gone(case, (from, end, first), disk(name)) {
            Gone::No => {}
            Gone::Perhaps => return,
            Gone::It(away) => return lost(case, [end_line, away, &case.messages[first]], out),
        }
    }
    let behind = || (first..).zip(&case.messages[first..]).filter(|m| kernel(m.1));
    let systems: Vec<(&Message, &str)> =
        behind().filter(|m| near(m, SOON)).filter_map(|m| Some((m.1, damaged(m.1)?))).collect();
    let programs: Vec<(&Message, &str)> =
        behind().filter(|m| near(m, AT_ONCE)).filter_map(|m| Some((m.1, crashed(m.1)?))).collect();
    let mut names: Vec<String> = programs.iter().map(|p| p.1.to_string()).collect();
    names.sort();
    names.dedup();
    let after = |m: &Message| match since(m) {
        Some(t) => format!("{} after tasks ran again", say::span(t)),
        None => "right after tasks ran again".into(),
    };
    let besides = match names.len() {
        0 => String::new(),
        1 => format!(" {} crashed beside it.", names[0]),
        _ => format!(" {} crashed beside it.", say::names(&names)),
    };
    let (text, shown, what) = match (systems.first(), names.len()) {
        (Some((m, name)), _) => (
            format!(
                "The file system of {name} was found damaged {}, and the text tells of none before: \"{}\".{besides}",
                after(m),
                m.text.trim()
            ),
            lines([end_line, *m].into_iter().chain(programs.first().map(|p| p.0))),
            "Check it (fsck) before anything is written to it again. Look who changed the disk while the machine slept or was restored: another system that had it mounted, a snapshot or image older than the disk, a controller that lost its cache.",
        ),
        (None, 2..) => (
            format!(
                "{} programs crashed {}, and none before: {}. What they held in memory may not have come back whole.",
                names.len(),
                after(programs[0].0),
                say::names(&names)
            ),
            lines([end_line].into_iter().chain(programs.iter().map(|p| p.0))),
            "Sleep and wake again, and see whether it comes back: memory that lost its contents (a refresh that stood, a restore of another state) shows in programs at random.",
        ),
        _ => return,
    };
    out.push(
        Finding::new(("phase-damaged", Area::Phase, Level::Broken), Confidence::Likely)
            .says(text)
            .look(what)
            .when(Some(Direction::Resume), None)
            .at("resume")
            .shown_by(shown),
    );
}

/// The disk of a file system: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
fn disk(name: &str) -> &str {
    let whole = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match whole.strip_suffix('p').filter(|w| w.ends_with(|c: char| c.is_ascii_digit())) {
        Some(disk) => disk,
        None if name.starts_with("sd") || name.starts_with("vd") => whole,
        None => name,
    }
}

/// Whether a disk went away.
enum Gone<'a> {
    No,
    /// One went, and no line says whether it is this one.
    Perhaps,
    It(&'a Message),
}

/// Whether `disk` went away in the sleep that ended at the second place, or between it and the
/// third. What went before is another matter.
fn gone<'a>(case: &'a Case, (from, end, first): (usize, usize, usize), disk: &str) -> Gone<'a> {
    let of_it = |at: &usize| {
        *at > end || case.attempts.iter().any(|a| (a.first..a.end).contains(at) && a.end <= first)
    };
    let away = |m: &&Message| m.trust.is_of_a_kernel() && AWAY.iter().any(|w| m.has(w));
    let all = || (from..first).filter(of_it).map(|at| &case.messages[at]).filter(away);
    let named = |m: &&Message| {
        let mut words = m.text.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|w| w.strip_prefix(disk).is_some_and(|r| !r.starts_with(char::is_alphabetic)))
    };
    match (all().find(named), all().next()) {
        (Some(it), _) => Gone::It(it),
        // Disks of USB and SATA have such names.
        (None, Some(_)) if disk.starts_with("sd") => Gone::Perhaps,
        _ => Gone::No,
    }
}

/// A disk that was away when the machine was back: its file system fails.
fn lost(case: &Case, [end, away, fails]: [&Message; 3], out: &mut Vec<Finding>) {
    let inside = case.attempts.iter().any(|a| case.of(a).iter().any(|m| m.line == away.line));
    let soon = passed(end, away).is_some_and(|t| (Ns::ZERO..=MISSED).contains(&t));
    let told = out.iter().any(|f| f.id == "phase-device-lost");
    let Some(name) = damaged(fails).filter(|_| (inside || soon) && !told) else { return };
    out.push(
        Finding::new(("phase-device-lost", Area::Phase, Level::Broken), Confidence::Likely)
            .says(format!(
                "The disk of {name} did not survive the sleep: \"{}\", and its file system fails.",
                away.text.trim()
            ))
            .look("Look whether its port or hub lost power in the sleep, and whether it came back under another name; a file system on it was not unmounted.")
            .when(Some(Direction::Resume), None)
            .at("resume")
            .shown_by(lines([away, fails])),
    );
}

/// The end of a sleep stands no more messages before.
const FAR: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[(i64, &str)]) -> Vec<Finding> {
        let mut out = Vec::new();
        judge(&Case::of_log(lines), &mut out);
        out
    }

    const SLEEP: [(i64, &str); 4] = [
        (1_000, "PM: suspend entry (s2idle)"),
        (2_000, "PM: resume of devices complete after 80.000 msecs"),
        (2_100, "Restarting tasks ... done."),
        (2_110, "PM: suspend exit"),
    ];

    #[test]
    fn damage_that_is_found_right_after_a_sleep_is_told() {
        let found =
            said(&[&SLEEP[..], &[(4_000, "BTRFS error (device dm-7): bad tree block")]].concat());
        assert_eq!((found[0].id, found[0].level), ("phase-damaged", Level::Broken));
        assert!(found[0].sentence.contains("dm-7"), "{}", found[0].sentence);
        let crash = [
            (3_000, "foo[7]: segfault at 0 ip 0"),
            (3_010, "traps: bar[8] general protection fault ip:1"),
        ];
        let found = said(&[&SLEEP[..], &crash].concat());
        assert!(found[0].sentence.contains("bar and foo"), "{}", found[0].sentence);
        assert!(said(&[&SLEEP[..], &crash[..1]].concat()).is_empty(), "one program may crash");
    }

    #[test]
    fn a_disk_that_is_away_is_not_damaged() {
        let away = |ms| (ms, "sd 9:0:0:0: [sdq] Synchronize Cache(10) failed: DID_NO_CONNECT");
        let fails = (5_000, "EXT4-fs error (device sdq1): ext4_lookup:1: bad");
        let found = said(&[&SLEEP[..], &[away(2_500), fails]].concat());
        assert_eq!((found.len(), found[0].id), (1, "phase-device-lost"));
        assert!(found[0].sentence.contains("sdq1 did not survive"), "{}", found[0].sentence);
        // Somebody pulled it.
        let pulled = [away(40_000), (41_000, fails.1)];
        assert!(said(&[&SLEEP[..], &pulled].concat()).is_empty());
        // A device of USB went, and no line says that it is this disk; of another kind of disk it
        // is not.
        let usb = (2_500, "usb 9-3: USB disconnect, device number 4");
        assert!(said(&[&SLEEP[..], &[usb, fails]].concat()).is_empty());
        let other = (5_000, "EXT4-fs error (device nvme0n1p2): ext4_lookup:1: bad");
        assert_eq!(said(&[&SLEEP[..], &[usb, other]].concat())[0].id, "phase-damaged");
        assert_eq!(
            ["sdab12", "nvme0n1p2", "mmcblk1p7", "dm-0"].map(disk),
            ["sdab", "nvme0n1", "mmcblk1", "dm-0"]
        );
        // The same, before the sleep.
        let found = said(&[&[away(10)][..], &SLEEP, &[fails]].concat());
        assert_eq!(found[0].id, "phase-damaged");
    }

    #[test]
    fn damage_of_other_hours_is_none_of_a_sleep() {
        let error = "EXT4-fs error (device sdq1): ext4_lookup:1: bad";
        assert!(said(&[&SLEEP[..], &[(200_000, error)]].concat()).is_empty());
        let before = [&[(10, error)][..], &SLEEP, &[(3_000, error)]].concat();
        assert!(said(&before).is_empty());
        let mounted = "XFS (sdq1): Mounting V5 Filesystem";
        assert!(said(&[&SLEEP[..], &[(3_000, mounted)]].concat()).is_empty());
    }
}
