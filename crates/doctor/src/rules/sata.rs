//! What a link of SATA says of itself, and what a writer says that he tried with it.

use crate::case::Case;
use crate::message::{Message, Trust};
use crate::remedy::cut;

/// Flags of the register of errors of a link, as libata prints them
/// (drivers/ata/libata-eh.c:ata_eh_link_report; include/linux/ata.h, SERR_*; 6.12): data that
/// came damaged over a link that was up.
const DATA: [&str; 7] =
    ["RecovData", "UnrecovData", "10B8B", "Dispar", "BadCRC", "Handshk", "UnrecFIS"];

/// The same: the link itself changed.
const LINK: [&str; 5] = ["PHYRdyChg", "PHYInt", "CommWake", "LinkSeq", "DevExch"];

/// What the register of errors of a link says.
pub(super) struct Said<'a> {
    /// Its line.
    pub(super) line: &'a Message,
    /// In words.
    pub(super) words: String,
}

/// What the drive of a port says of the command that failed: `ata7.00: error: { UNC }`
/// (drivers/ata/libata-eh.c:ata_eh_link_report, 6.12; ata_eh_analyze_tf takes UNC as an error of
/// the medium and ICRC as one of the bus).
pub(super) fn of_drive<'a>(case: &'a Case, port: &str) -> Option<Said<'a>> {
    let of_port = |m: &&Message| {
        m.trust.is_of_a_kernel() && m.text.split(['.', ':']).next().unwrap_or_default() == port
    };
    let has = |m: &Message, flag: &str| {
        let flags = m.after(": error: { ").unwrap_or_default().split(' ');
        flags.take_while(|f| *f != "}").any(|f| f == flag)
    };
    let said = || case.messages.having(": error: { ").map(|(_, m)| m).filter(of_port);
    let of = |flag: &str| said().find(|m| has(m, flag));
    let medium = "The drive says of itself that it could not read what is stored there (UNC): \
                  that is its medium, and no power state does it.";
    let bus = "The drive says that data came damaged over its link (ICRC): a cable, a plug or \
               the supply does that.";
    let of_medium = of("UNC").map(|line| Said { line, words: medium.into() });
    of_medium.or_else(|| of("ICRC").map(|line| Said { line, words: bus.into() }))
}

/// What the link of a port says of itself.
pub(super) fn said<'a>(case: &'a Case, port: &str) -> Option<Said<'a>> {
    let mut data: Vec<&str> = Vec::new();
    let mut link: Vec<&str> = Vec::new();
    let mut first = None;
    for (_, m) in case.messages.having("SError: { ") {
        let whose = m.text.split(['.', ':']).next().unwrap_or_default();
        if whose != port || !m.trust.is_of_a_kernel() {
            continue;
        }
        let flags = m.after("SError: { ").unwrap_or_default().split(' ');
        for f in flags.take_while(|f| *f != "}") {
            for (known, list) in [(&DATA[..], &mut data), (&LINK[..], &mut link)] {
                let f = known.iter().find(|k| k.eq_ignore_ascii_case(f));
                list.extend(f.filter(|f| !list.contains(f)).copied());
            }
        }
        first = first.or(Some(m));
    }
    let line = first?;
    let words = match (data.is_empty(), link.is_empty()) {
        (false, true) => format!(
            "The link says of itself that data came damaged over it ({}): a cable, a plug or the \
             supply does that. No flag of a link that changed its power state is among them.",
            data.join(", ")
        ),
        (true, false) => format!(
            "The link says of itself that it changed ({}): it left a power state, or it lost the \
             disk. A bad supply or a disk that stops looks the same.",
            link.join(", ")
        ),
        (false, false) => format!(
            "The link says of itself that it changed ({}) and that data came damaged over it \
             ({}). Both come of a bad cable or supply; a link that leaves a power state can do \
             the first.",
            link.join(", "),
            data.join(", ")
        ),
        (true, true) => return None,
    };
    Some(Said { line, words })
}

/// How often the link of a port was reset, and how fast it came back last (drivers/ata/
/// libata-eh.c:ata_eh_reset, libata-core.c:sata_print_link_status, 6.12); nothing of one reset.
pub(super) fn resets<'a>(case: &'a Case, port: &str) -> Option<(String, &'a Message)> {
    let of_port = |m: &&Message| {
        m.trust.is_of_a_kernel() && m.text.split(['.', ':']).next().unwrap_or_default() == port
    };
    let all = case.messages.having("hard resetting link").map(|(_, m)| m).filter(of_port);
    let all: Vec<&Message> = all.collect();
    let last = all.last()?;
    let up = case.messages.having("SATA link up ").map(|(_, m)| m).rfind(of_port);
    let speed = up.and_then(|m| m.after("SATA link up ")?.split(" (").next());
    let speed = speed.map_or(String::new(), |s| format!("; it came back at {}", s.trim()));
    (all.len() > 1).then(|| (format!(" Its link was reset {} times{speed}.", all.len()), *last))
}

/// Settings and parts that people try with a disk.
const TRIED: [&str; 17] = [
    "lpm",
    "link_power_management",
    "link power management",
    "linkpwr",
    "min_power",
    "med_power",
    "medium_power",
    "max_performance",
    "ncq",
    "libata.force",
    "pcie_aspm",
    "default_ps_max_latency",
    "new cable",
    "other cable",
    "another cable",
    "different cable",
    "replaced the cable",
];

/// How they say what came of it.
const CAME: [&str; 16] = [
    "not happen",
    "n't happen",
    "never",
    "always",
    "gone",
    "went away",
    "disappear",
    "no more",
    "no longer",
    "fixed",
    "fixes",
    "helps",
    "helped",
    "works",
    "still",
    "same",
];

/// So many bytes of what the writer says are quoted.
const QUOTED: usize = 200;

/// What the writer says of what he tried, and its first line.
pub(super) fn tried(case: &Case) -> Option<(String, &Message)> {
    let mut out: Option<(String, &Message)> = None;
    let prose = case.messages.iter().filter(|m| m.trust == Trust::Prose);
    for (m, s) in prose.flat_map(|m| m.text.split(". ").map(move |s| (m, s))) {
        let lower = s.to_ascii_lowercase();
        let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
        let says = has(&TRIED) && has(&CAME) && !lower.trim_end().ends_with('?');
        if !says || lower.starts_with("if ") {
            continue;
        }
        let words = s.trim().trim_end_matches('.');
        match &mut out {
            None => out = Some((words.to_string(), m)),
            Some((all, _)) if all.len() + words.len() < QUOTED => *all += &format!(". {words}"),
            Some(_) => break,
        }
    }
    out.map(|(words, m)| (cut(&words, QUOTED), m))
}
