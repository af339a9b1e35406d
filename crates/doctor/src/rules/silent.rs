//! Disks that do not answer, or whose link does not: their own errors, which say nothing of a
//! cause, and where they stand beside the sleeps of a text.

use super::abort::owner;
use super::sata;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::Message;
use crate::stage::{self, Stages, Work, passed};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::collections::BTreeSet;

/// So long behind a sleep an error of a disk may come of it: disks come back in the background,
/// and a command may wait for minutes before it is given up.
pub(crate) const BEHIND: Ns = Ns(300_000_000_000);
/// The same in lines, where they have no times.
const LINES: usize = 200;
/// So soon a link may still come up.
const COMES_UP: Ns = Ns(10_000_000_000);

/// Where a message stands beside the sleeps of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The text has no sleep.
    Alone,
    /// Before the first, or long behind the last one before it.
    Apart,
    /// In the attempt of this line, which has no end in the text.
    Entered(u64),
    /// In the attempt of this line, which is over; which way it went, no line tells.
    Within(u64),
    /// On its way in a sleep.
    Inside(Direction),
    /// So long behind the end of a sleep; unknown where lines have no times.
    Behind(Option<Ns>),
}

impl Place {
    /// Whether it has to do with a sleep, as far as time tells.
    pub(super) fn is_near(self) -> bool {
        !matches!(self, Place::Alone | Place::Apart)
    }

    /// As it stands behind a sentence.
    pub(super) fn words(self) -> String {
        match self {
            Place::Alone => String::new(),
            Place::Apart => ", apart from the sleeps of the text".into(),
            Place::Entered(line) => {
                format!(", behind the entry of line {line}, whose end is not in the text")
            }
            Place::Within(line) => format!(", inside the sleep of line {line}"),
            Place::Inside(Direction::Suspend) => ", on the way into a sleep".into(),
            Place::Inside(Direction::Resume) => ", on the way out of a sleep".into(),
            Place::Behind(Some(t)) => format!(", {} after the resume", say::span(t)),
            Place::Behind(None) => ", right after the resume".into(),
        }
    }

    /// The finding at this place of a sleep.
    pub(super) fn mark(self, f: Finding) -> Finding {
        match self {
            Place::Inside(Direction::Resume) | Place::Behind(_) => {
                f.at("resume").when(Some(Direction::Resume), None)
            }
            Place::Inside(d) => f.when(Some(d), None),
            Place::Alone | Place::Apart | Place::Entered(_) | Place::Within(_) => f,
        }
    }
}

/// Where message `at` stands.
pub(super) fn place(case: &Case, stages: &Stages<'_>, at: usize) -> Place {
    let m = &case.messages[at];
    if let Some(a) = case.attempts.iter().rfind(|a| (a.first..a.end).contains(&at)) {
        let line = case.messages[a.first].line;
        return match stages.at(at, &[]).filter(|_| a.closed) {
            Some(s) if s.direction == Direction::Suspend && s.work == Some(Work::Unproven) => {
                Place::Within(line)
            }
            Some(s) => Place::Inside(s.direction),
            None => Place::Entered(line),
        };
    }
    let apart = if case.attempts.is_empty() { Place::Alone } else { Place::Apart };
    let near = |e: &&Message| match passed(e, m) {
        Some(t) => t <= BEHIND,
        None => e.time.is_none() || m.time.is_none(),
    };
    let timed = m.time.or(m.second.map(Ns)).is_some();
    let most = if timed { usize::MAX } else { LINES };
    let before = case.messages[..at].iter().rev().filter(|m| m.trust.is_of_a_kernel());
    match before.take(most).take_while(near).find(|m| stage::ends(m)) {
        Some(e) if stage::ends_sleep(e) => Place::Behind(passed(e, m).filter(|t| t.0 >= 0)),
        _ => apart,
    }
}

/// Of messages that say the same, the one to tell with its place: the first that stands near
/// a sleep, or the first of all; and whether the text has one before that sleep.
pub(super) fn first_near<'a>(
    case: &Case,
    stages: &Stages<'_>,
    all: &[(usize, &'a Message)],
) -> Option<(&'a Message, Place, bool)> {
    let places = all.iter().take(LINES).map(|&(at, m)| (m, place(case, stages, at)));
    let mut first = None;
    for (m, p) in places {
        if p.is_near() {
            return Some((m, p, first.is_some()));
        }
        first = first.or(Some((m, p, false)));
    }
    first
}

/// What is printed of a disk that does not answer, or whose link does not.
struct Sign {
    /// Words of the message.
    words: &'static str,
    /// Further ones.
    and: &'static str,
    /// What that is.
    what: &'static str,
    /// A power state is part of it.
    sleeps: bool,
}

const fn sign(words: &'static str, and: &'static str, what: &'static str) -> Sign {
    Sign { words, and, what, sleeps: false }
}

const SIGNS: [Sign; 16] = [
    // drivers/ufs/core/ufshcd.c:ufshcd_uic_hibern8_enter, 6.12.
    Sign {
        sleeps: true,
        ..sign("hibern8 enter failed", "", "could not put its link to sleep (hibern8)")
    },
    Sign { sleeps: true, ..sign("hibern8 exit failed", "", "could not wake its link (hibern8)") },
    // drivers/ata/libata-core.c:ata_wait_ready, libata-sata.c:sata_link_hardreset, 6.12.
    sign("COMRESET failed (errno=", "", "did not answer a reset of its link (COMRESET)"),
    // drivers/ata/libata-eh.c:ata_eh_link_report.
    sign("failed command: ", "", "failed a command"),
    // drivers/ata/libahci.c:ahci_error_intr.
    sign(CHANGED, "", "lost its link, or its link left a power state (PHY RDY changed)"),
    // drivers/ata/libata-eh.c:ata_eh_link_report, of a link or of a command that is not named.
    sign("exception Emask 0x", "", "had an error of a command or of its link (exception)"),
    // drivers/mmc/core/block.c, drivers/mmc/core/core.c, drivers/mmc/host/sdhci.c.
    sign("sending status command", "error -", "did not answer (status command)"),
    sign("sending stop command", "error -", "did not answer (stop command)"),
    sign(STARTS, "error -", "could not be started"),
    sign("Timeout waiting for hardware interrupt", "", "did not answer (no interrupt)"),
    sign("Timeout waiting for hardware cmd interrupt", "", "did not answer (no interrupt)"),
    sign("Internal clock never stabilised", "", "has a host whose clock did not start"),
    sign("never completed.", "Reset 0x", "has a host that could not be reset"),
    sign("Card stuck being busy!", "", "stayed busy"),
    // drivers/nvme/host/pci.c:nvme_timeout, 4.12 to 7.3.
    sign(" timeout, ", " QID ", "did not answer a command in time"),
    // drivers/nvme/host/core.c:nvme_configure_apst, 4.12 to 7.3.
    sign("failed to set APST feature (", "", "did not take its table of power states (APST)"),
];

/// Whether the exception at `at` is of a link on which something was plugged or woke: the next
/// message of that port says what the host saw.
fn changes_link(case: &Case, at: usize) -> bool {
    const NEXT: usize = 6;
    let m = &case.messages[at];
    let port = m.text.split(['.', ':']).next().unwrap_or_default();
    let mut below = case.messages[at + 1..].iter().take(NEXT);
    let own = below.find(|m| m.text.strip_prefix(port).is_some_and(|r| r.starts_with([':', '.'])));
    m.has("exception Emask 0x")
        && own.is_some_and(|m| m.has("connection status changed") || m.has("PHY RDY changed"))
}

const STARTS: &str = " whilst initialising ";

/// Of an error it ends its line; of a boot of old kernels the number of the interrupt follows.
const CHANGED: &str = ", PHY RDY changed";

/// The number of an error that follows `words` of those that print it.
fn code(text: &str) -> Option<i32> {
    let error = |w: &str| {
        let end = w.find(|c: char| !c.is_ascii_digit()).unwrap_or(w.len());
        w[..end].parse::<i32>().ok().map(|n| -n)
    };
    let words = ["error -", "errno=-", "ret = -", "ret=-", "feature (-"];
    words.iter().find_map(|w| error(text.split_once(w)?.1))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut stages = None;
    let mut told: BTreeSet<String> = BTreeSet::new();
    for sign in &SIGNS {
        for (at, first) in case.messages.having(sign.words) {
            let device = owner(&first.text);
            // `ata5.00` is a drive of the port `ata5`, `mmcblk1` a card of the host `mmc1`.
            let stem = device.name.split('.').next().unwrap_or(&device.name);
            let key = if device.driver.is_empty() { stem } else { &device.name };
            let named = first.text.len() > device.name.len() + 2;
            let at_start = sign.words == CHANGED && !first.text.trim_end().ends_with(CHANGED);
            if at_start
                || !first.has(sign.and)
                || !first.trust.is_of_a_kernel()
                || !named
                || told.contains(key)
            {
                continue;
            }
            let stages = stages.get_or_insert_with(|| Stages::new(&case.messages));
            let begin = first.text.split(": ").next().unwrap_or("");
            let same =
                |m: &Message| m.has(sign.words) && m.has(sign.and) && m.text.starts_with(begin);
            let all: Vec<(usize, &Message)> =
                (at..).zip(&case.messages[at..]).filter(|m| same(m.1)).collect();
            let Some((shown, place, before)) = first_near(case, stages, &all) else { continue };
            // A link that comes up changes, and libata may see that as an error of it.
            let changes = sign.words == CHANGED || changes_link(case, at);
            let up = match place {
                Place::Inside(_) => true,
                Place::Behind(t) => t.is_none_or(|t| t <= COMES_UP),
                _ => false,
            };
            // What a sleep did to it is told by others.
            let known = |f: &Finding| {
                f.about.devices.iter().any(|d| [stem, &device.name].contains(&d.name.as_str()))
            };
            // An empty slot is looked into at each start of a machine.
            let boot = sign.words == STARTS && matches!(place, Place::Apart);
            if changes && up || boot || out.iter().any(known) {
                continue;
            }
            told.insert(key.to_owned());
            let stem = stem.to_owned();
            out.push(silent(case, sign, (device, &stem), &all, (shown, place, before)));
        }
    }
}

/// The finding of one disk: its messages, which of them is told, where it stands, and whether
/// there was one before that sleep.
fn silent(
    case: &Case,
    sign: &Sign,
    (device, stem): (Device, &str),
    all: &[(usize, &Message)],
    (shown, place, before): (&Message, Place, bool),
) -> Finding {
    let code = code(&shown.text);
    let often = if all.len() > 1 { format!(" {} times", all.len()) } else { String::new() };
    let said = code.map_or(String::new(), |e| format!(": {}", say::told(e)));
    let level = if sign.sleeps { Level::Broken } else { Level::Risk };
    let link = sata::of_drive(case, stem).or_else(|| sata::said(case, stem));
    let resets = sata::resets(case, stem);
    let again = resets.as_ref().map_or("", |r| &r.0);
    let tried = sata::tried(case);
    let tells = tried
        .as_ref()
        .map_or(String::new(), |(words, _)| format!(" The writer says: \"{words}\"."));
    let (what, at) = (sign.what, place.words());
    let too = if before { " It did so before that sleep, too." } else { "" };
    let mut f = Finding::new(("disk-silent", Area::Storage, level), Confidence::Certain)
        .says(format!("{} {what}{often}{said}{at}.{too}{again}{tells}", say::device(&device)))
        .because(match (&link, sign.sleeps) {
            (_, true) => {
                "The link did not change its power state; why, no line that was read says."
            }
            (Some(link), _) => &link.words,
            (None, false) => {
                "Whether a power state of the disk or of its link is the reason, no line \
                 of the kernel that was read says: a bad cable, supply or disk looks the \
                 same."
            }
        })
        .of_devices([device])
        .shown_by(lines(
            [shown]
                .into_iter()
                .chain(all.iter().map(|m| m.1).filter(|m| m.line > shown.line).take(1))
                .chain(link.as_ref().map(|l| l.line)),
        ))
        .shown_by(lines(resets.iter().map(|r| r.1)))
        .shown_by(tried.map(|(_, m)| Evidence { doubtful: true, ..Evidence::from(m) }));
    f.about.error = code;
    place.mark(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{self, Attempt};

    fn found(case: &Case) -> Vec<String> {
        let mut out = Vec::new();
        judge(case, &mut out);
        out.into_iter().map(|f| format!("{}: {}", f.id, f.sentence)).collect()
    }

    fn ids(texts: &[&str]) -> Vec<String> {
        let lines: Vec<(i64, &str)> = (1..).zip(texts.iter().copied()).collect();
        found(&Case::of_log(&lines))
    }

    /// What is told of a log with a sleep of 5 s in lines 1 to 4, and more.
    fn slept(more: &[(i64, &str)]) -> Vec<String> {
        let mut lines = vec![
            (100_000, "PM: suspend entry (deep)"),
            (101_000, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            (104_000, "ACPI: PM: Waking up from system sleep state S3"),
            (105_000, "PM: suspend exit"),
        ];
        lines.extend_from_slice(more);
        lines.sort_by_key(|l| l.0);
        let first = lines.iter().position(|l| l.1.contains("entry")).unwrap_or(0) as u64 + 1;
        let last = lines.iter().position(|l| l.1.contains("exit")).unwrap_or(0) as u64 + 1;
        let messages = Case::of_log(&lines).messages.iter().cloned().collect();
        let sleep = attempt::Place {
            mode: "deep",
            first,
            last,
            begun: true,
            closed: true,
            ..attempt::Place::default()
        };
        found(&Case::new(messages, &[sleep]))
    }

    #[test]
    fn disks_that_do_not_answer_are_told_beside_sleeps_too() {
        let command = |at: i64| slept(&[(at, "ata9.00: failed command: WRITE DMA")]);
        for (at, words) in [
            (50_000, "ata9.00 failed a command, apart from the sleeps of the text."),
            (102_000, "ata9.00 failed a command, on the way into a sleep."),
            (104_500, "ata9.00 failed a command, on the way out of a sleep."),
            (107_000, "ata9.00 failed a command, 2.0 s after the resume."),
            (400_000, "ata9.00 failed a command, 4 min 55 s after the resume."),
            (900_000, "ata9.00 failed a command, apart from the sleeps of the text."),
        ] {
            let found = command(at);
            assert_eq!(found, [format!("disk-silent: {words}")], "{at}");
        }
        // Of several the one behind the sleep is told, and that it is not the first.
        let both = slept(&[
            (50_000, "nvme nvme7: I/O 12 QID 2 timeout, reset controller"),
            (107_000, "nvme nvme7: I/O 13 QID 2 timeout, reset controller"),
            (108_000, "mmcblk7: error -110 sending status command"),
        ]);
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].contains("mmcblk7 did not answer (status command)"), "{both:?}");
        let of_nvme = "nvme7 (nvme) did not answer a command in time 2 times, 2.0 s after the \
                       resume. It did so before that sleep, too.";
        assert!(both[1].contains(of_nvme), "{both:?}");
        for line in [
            "mmc7: Timeout waiting for hardware cmd interrupt.",
            "mmc7: Internal clock never stabilised.",
            "mmc7: Reset 0x4 never completed.",
            "mmc7: error -110 whilst initialising SD card",
            "mmcblk7: error -110 sending stop command, card status 0xc00",
            "ata9.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0 frozen",
            "nvme nvme7: failed to set APST feature (-19)",
        ] {
            assert_eq!(slept(&[(106_000, line)]).len(), 1, "{line}");
            assert_eq!(ids(&[line]).len(), 1, "{line}");
        }
        let both = [
            (106_000, "ata9: exception Emask 0x10 SAct 0x0 SErr 0x4050000 action 0xe frozen"),
            (106_000, "usb 7-1: new high-speed USB device number 7 using xhci_hcd"),
            (106_000, "ata9: irq_stat 0x00400040, connection status changed"),
        ];
        assert!(slept(&both).is_empty());
        // A link that comes up changes; later it does not of itself.
        let changed = "ata9: irq_stat 0x00400000, PHY RDY changed";
        assert!(slept(&[(106_000, changed)]).is_empty());
        assert!(slept(&[(190_000, changed)])[0].contains("1 min 25 s after the resume"));
        assert!(slept(&[(106_000, "ata9: SATA link up 6.0 Gbps")]).is_empty());
    }

    #[test]
    fn an_attempt_without_an_end_proves_no_way() {
        let lines =
            [(100_000, "PM: suspend entry (deep)"), (107_000, "ata9: COMRESET failed (errno=-16)")];
        let mut case = Case::of_log(&lines);
        case.attempts = vec![Attempt { end: 2, ..Attempt::default() }];
        let found = found(&case);
        assert!(found[0].contains("behind the entry of line 1, whose end is not"), "{found:?}");
    }

    #[test]
    fn disks_that_do_not_answer_are_told_where_the_text_has_no_sleep() {
        let ufs = "ufshcd-mtk 112b0000.ufshci: ufshcd_uic_hibern8_enter: hibern8 enter failed. \
                   ret = -110";
        let found = ids(&[ufs, ufs]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(
            one.starts_with("disk-silent: 112b0000.ufshci (ufshcd-mtk) could not put"),
            "{one}"
        );
        assert!(one.contains("2 times") && one.contains("-110"), "{one}");
        // The port and its drive are one; the reset in vain says more than the command.
        let found = ids(&[
            "ata3.00: failed command: READ FPDMA QUEUED",
            "ata3: COMRESET failed (errno=-16)",
            "ata3: COMRESET failed (errno=-16)",
            "mmcblk2: error -110 sending status command, aborting",
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("ata3 did not answer a reset") && found[0].contains("2 times"));
        assert!(found[1].contains("mmcblk2 did not answer"), "{found:?}");
        // What the link says of itself, and not that of another port.
        let why = |flags: &str| {
            let link = format!("ata3: SError: {{ {flags} }}");
            let other = "ata4: SError: { DevExch }";
            let command = "ata3.00: failed command: READ DMA";
            let all = [link.as_str(), other, command].map(|l| (1, l));
            let mut out = Vec::new();
            judge(&Case::of_log(&all), &mut out);
            out[0].why.clone()
        };
        assert!(why("UnrecovData BadCRC").contains("damaged over it (UnrecovData, BadCRC)"));
        assert!(why("CommWake").contains("it changed (CommWake): it left a power state"));
        assert!(why("PHYRdyChg 10B8B").contains("(PHYRdyChg) and that data came damaged"));
        assert!(why("").contains("no line of the kernel that was read says"), "{}", why(""));
        assert!(ids(&["ata3: SATA link up 6.0 Gbps", "mmc2: new HS400 MMC card"]).is_empty());
    }
}
