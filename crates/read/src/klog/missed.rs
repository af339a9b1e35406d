//! How many messages a line says are missing: the console's own (kernel/printk/printk.c:
//! console_prepend_dropped, 6.12; before 5.18 in front of the next message) and the journal's
//! (systemd, src/journal/journald-kmsg.c:dev_kmsg_record).

use super::number::number;
use super::prefix::Record;
use crate::text;

/// The number; nothing of other lines.
pub(super) fn missed(r: &Record<'_>, text: &[u8]) -> Option<u64> {
    let end = text::find_known(text, &r.pairs, b" printk messages dropped **").or_else(|| {
        let end = text::find_known(text, &r.pairs, b" kernel messages")?;
        let digits = text[..end].iter().rev().take_while(|b| b.is_ascii_digit()).count();
        text[..end - digits].ends_with(b": Missed ").then_some(end)
    })?;
    let begin = text[..end].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |p| p + 1);
    Some(number(&text[begin..end]).and_then(|n| u64::try_from(n).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_and_the_journal_say_what_they_lost() {
        let of = |line: &[u8]| missed(&Record::default().saying(line), line);
        assert_eq!(of(b"** 27 printk messages dropped ** "), Some(27));
        assert_eq!(of(b"elm systemd-journald[410]: Missed 48 kernel messages"), Some(48));
        assert_eq!(of(b"elm mailer[7]: sent 3 kernel messages"), None);
    }
}
