//! What mails, forums and hands do to a log.

use crate::dress::Dress;
use crate::{Row, lines_of};
use dormouse_base::stats::random::Random;

/// One thing that is done to a text; the order is that in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// An older boot of the same machine stands before it.
    OlderBoot,
    /// A log of another machine follows.
    OtherMachine,
    /// `grep PM:`.
    Grepped,
    /// The first lines are gone.
    HeadCut,
    /// The last lines are gone.
    TailCut,
    /// `[...]` in place of some lines.
    LeftOut,
    /// Every line twice.
    Doubled,
    /// A person writes between the lines.
    Prose,
    /// Set off by four blanks.
    Indented,
    /// Wrapped at 70 to 80 columns.
    Wrapped,
    /// Quoted.
    Quoted,
    /// Quoted in a quote.
    QuotedTwice,
}

const OLDER: &str = "\
[    0.000000] Linux version 6.9.2-elm (build@yew) (gcc 13.2.0) #1 SMP
[   11.401183] usb 3-1: new high-speed USB device number 4 using xhci_hcd
[   22.118002] wlp1s0: associated
";

const OTHER: &str = "\
[    0.000000] Linux version 5.4.0-yew (root@fir) (gcc 9.4.0) #2 SMP
[    1.203317] ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
[    8.700121] EXT4-fs (sda2): mounted filesystem with ordered data mode
";

const PROSE: [&str; 4] = [
    "Then I closed the lid and waited for a while.",
    "Does anybody know what this is about?",
    "On my other laptop it works since last week.",
    "I marked what looks strange to me below.",
];

impl Damage {
    /// Each.
    pub const ALL: [Damage; 12] = [
        Damage::OlderBoot,
        Damage::OtherMachine,
        Damage::Grepped,
        Damage::HeadCut,
        Damage::TailCut,
        Damage::LeftOut,
        Damage::Doubled,
        Damage::Prose,
        Damage::Indented,
        Damage::Wrapped,
        Damage::Quoted,
        Damage::QuotedTwice,
    ];

    /// Whether all that the log said is still there: what it takes is taken, so that a
    /// figure may be missing or a bound.
    #[cfg(test)]
    pub(crate) fn keeps_all(self) -> bool {
        !matches!(self, Damage::Grepped | Damage::HeadCut | Damage::TailCut | Damage::LeftOut)
    }

    pub(crate) fn apply(self, rows: &mut Vec<Row>, dress: Dress, random: &mut Random) {
        let added = |text: &str| Row { of: None, text: text.to_string() };
        // It was kept in the same way.
        let another = |raw| {
            let rows = dress.rows(&lines_of(raw)).into_iter();
            rows.map(|r| Row { of: None, ..r })
        };
        let len = rows.len() as u64;
        match self {
            Damage::OlderBoot => {
                rows.splice(0..0, another(OLDER));
            }
            Damage::OtherMachine => rows.extend(another(OTHER)),
            Damage::Grepped => rows.retain(|r| r.text.contains("PM:")),
            Damage::HeadCut => {
                rows.drain(..random.below(len / 2 + 1) as usize);
            }
            Damage::TailCut => rows.truncate((len - random.below(len / 2 + 1)) as usize),
            Damage::LeftOut => {
                let from = random.below(len + 1) as usize;
                let to = (from + 1 + random.below(len / 3 + 1) as usize).min(rows.len());
                let mark = ["[...]", "...", "<snip>"][random.below(3) as usize];
                rows.splice(from.min(to)..to, [added(mark)]);
            }
            Damage::Doubled => {
                *rows = rows.drain(..).flat_map(|r| [r.clone(), r]).collect();
            }
            Damage::Prose => {
                let at = random.below(len + 1) as usize;
                let said = PROSE[random.below(PROSE.len() as u64) as usize];
                rows.splice(at..at, [added(""), added(said), added("")]);
            }
            Damage::Indented => rows.iter_mut().for_each(|r| r.text.insert_str(0, "    ")),
            Damage::Wrapped => {
                let width = 70 + random.below(11) as usize;
                *rows = rows.drain(..).flat_map(|r| wrapped(r, width)).collect();
            }
            Damage::Quoted => rows.iter_mut().for_each(|r| r.text.insert_str(0, "> ")),
            Damage::QuotedTwice => rows.iter_mut().for_each(|r| r.text.insert_str(0, "> > ")),
        }
    }
}

/// A row as a mail program sends it: broken at blanks.
fn wrapped(row: Row, width: usize) -> Vec<Row> {
    let mut out = Vec::new();
    let mut rest = &row.text[..];
    while rest.len() > width {
        let head = &rest[..rest.floor_char_boundary(width + 1)];
        // A word that is longer than a line is not broken.
        let Some(at) = head.rfind(' ').filter(|&at| !head[..at].trim().is_empty()) else { break };
        out.push(Row { of: row.of, text: rest[..at].trim_end().into() });
        rest = rest[at..].trim_start();
    }
    out.push(Row { of: row.of, text: rest.into() });
    out
}
