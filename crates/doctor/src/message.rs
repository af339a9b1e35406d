//! One message of a kernel, as a log, a mail or a ticket shows it.

use crate::words::Words;
use dormouse_base::time::Ns;

/// How sure it is that a kernel printed it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// With the prefix of a log.
    Logged,
    /// Without, but set off from the text around it.
    Shown,
    /// A line of text like any other: a person may have typed it.
    Prose,
    /// The same, quoted from an earlier mail; or a line that the text gives as an example.
    Quoted,
}

impl Trust {
    /// Whether it counts as the word of a kernel.
    pub fn is_of_a_kernel(self) -> bool {
        matches!(self, Trust::Logged | Trust::Shown)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Line of the text, from 1.
    pub line: u64,
    /// Time, if the line carries one.
    pub time: Option<Ns>,
    /// The whole second that whoever kept the log wrote, where the line has no `time`;
    /// months are of 31 days.
    pub second: Option<i64>,
    /// Without prefix; lines that a mail program wrapped are one.
    pub text: Words,
    /// Who says it.
    pub trust: Trust,
}

/// How a kernel begins to tell of its crash: lib/bug.c, kernel/panic.c, the faults of
/// arch/x86, arch/arm and arch/arm64, asynchronous errors of arm64
/// (arch/arm64/kernel/traps.c:do_serror; `Bad mode` before 5.12).
pub const CRASHES: [&str; 11] = [
    "Oops: ",
    "BUG: unable to handle",
    "BUG: kernel NULL pointer",
    "BUG: KASAN",
    "Unable to handle kernel",
    "Kernel panic",
    "Internal error: ",
    "general protection fault",
    "kernel BUG at ",
    "Bad mode in Error handler",
    "SError Interrupt on CPU",
];

impl Message {
    /// Whether a kernel begins here to tell of its crash.
    pub(crate) fn is_crash(&self) -> bool {
        self.trust.is_of_a_kernel() && CRASHES.iter().any(|w| self.text.starts_with(w))
    }

    /// What follows `word`, if the message has it.
    #[inline]
    pub fn after(&self, word: &str) -> Option<&str> {
        self.text.split_once(word).map(|(_, rest)| rest)
    }

    /// Whether the message has `word`.
    #[inline]
    pub fn has(&self, word: &str) -> bool {
        self.text.contains(word)
    }

    /// Whether the message is `word`, perhaps with `PM: ` or `PM: hibernation: `
    /// before it, and goes on as it likes.
    #[inline]
    pub fn says(&self, word: &str) -> bool {
        let (text, word) = (self.text.unmarked(), word.as_bytes());
        text.first() == word.first() && text.starts_with(word) || word.is_empty()
    }
}

/// The number that `text` begins with, in thousandths: `20.003 seconds`.
pub fn thousandths(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole: u64 = text[..end].parse().ok()?;
    let mut part = 0;
    if let Some(rest) = text[end..].strip_prefix('.') {
        let mut digits = rest.bytes().take_while(u8::is_ascii_digit);
        for _ in 0..3 {
            part = part * 10 + digits.next().map_or(0, |d| u64::from(d - b'0'));
        }
    }
    whole.checked_mul(1_000)?.checked_add(part)
}

/// `Timekeeping suspended for 759.694 seconds`, without its first word before 4.13
/// (kernel/time/timekeeping_debug.c:tk_debug_account_sleep_time, 3.10 to 7.3).
pub(crate) fn timekeeping(m: &Message) -> Option<Ns> {
    let old = || m.says("Suspended for ").then(|| m.after("Suspended for ")).flatten();
    m.after("Timekeeping suspended for ").or_else(old).and_then(seconds)
}

/// Seconds with a fraction, as a time.
pub fn seconds(text: &str) -> Option<Ns> {
    Some(Ns(i64::try_from(thousandths(text)?).ok()?.checked_mul(1_000_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages() {
        assert_eq!(thousandths("20.003 seconds"), Some(20_003));
        assert_eq!(thousandths(" 7 s"), Some(7_000));
        assert_eq!(thousandths("0.0105"), Some(10));
        assert_eq!(thousandths("x"), None);
        assert_eq!(thousandths("99999999999999999999.0"), None);
        assert_eq!(seconds("0.5"), Some(Ns(500_000_000)));
    }
}
