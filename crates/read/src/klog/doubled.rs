//! Texts in which every line stands twice: two keepers wrote into one file, or a console
//! echoed. Lines with a time of their own show it themselves; of lines that have none, or
//! whole seconds, only the whole text does, for a kernel may well say the same twice in a
//! second.

use super::prefix::Record;
use super::{Item, Splitter};

/// So much of a text is looked at.
const BEGINNING: usize = 16 << 10;

/// Fewer lines that stand twice are chance.
const FEW: u32 = 3;

/// A record that may stand there once more.
#[derive(Default)]
pub(super) struct Pair {
    open: bool,
    /// It has the prefix of a log.
    fresh: bool,
    key: Vec<u8>,
}

impl Pair {
    /// Whether `record` is the second of two that are alike.
    pub(super) fn had(&mut self, record: &Record<'_>) -> bool {
        let same = |key: &[u8]| {
            let said = key.strip_prefix(record.said).and_then(|k| k.strip_prefix(b"\n"));
            said == Some(record.text)
        };
        if self.open && same(&self.key) {
            self.open = false;
            return true;
        }
        // Words of a person stand once, wherever he put them.
        if self.open && self.fresh && !record.fresh {
            return false;
        }
        (self.open, self.fresh) = (true, record.fresh);
        self.key.clear();
        self.key.extend_from_slice(record.said);
        self.key.push(b'\n');
        self.key.extend_from_slice(record.text);
        false
    }
}

/// Whether three quarters of the records at the beginning stand there twice, and are not
/// one and the same.
pub(super) fn is_doubled(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(BEGINNING)];
    let (mut records, mut pairs) = (0u32, 0u32);
    let (mut first, mut differ) = (Vec::new(), false);
    let mut pair = Pair::default();
    let mut lines = Splitter::default();
    lines.text(head, 1, &mut |item, _| {
        let (Item::Record(record) | Item::Doubled(record)) = item else { return };
        records += 1;
        if pair.had(&record) {
            pairs += 1;
            differ |= pairs > 1 && first != record.text;
            first.clear();
            first.extend_from_slice(record.text);
        }
    });
    pairs >= FEW && differ && 8 * pairs >= 3 * records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(text: &str) -> String {
        text.lines().flat_map(|l| [l, "\n", l, "\n"]).collect()
    }

    #[test]
    fn only_a_text_that_is_doubled_throughout_is() {
        let log = "PM: suspend entry (deep)\nFreezing user space processes\n\
            Restarting tasks ... done.\nPM: suspend exit\n";
        assert!(is_doubled(twice(log).as_bytes()));
        assert!(!is_doubled(log.as_bytes()));
        assert!(!is_doubled(log.repeat(2).as_bytes()));
        let greped = "PM: suspend entry (deep)\n".repeat(12);
        assert!(!is_doubled(greped.as_bytes()), "six sleeps, or twelve");
        let errors = format!("{log}{log}usb 1-1: reset\nusb 1-1: reset\n");
        assert!(!is_doubled(errors.as_bytes()), "said twice by the kernel");
        let record = |text: &'static str, fresh| {
            Record { fresh, ..Record::default() }.saying(text.as_bytes())
        };
        let mut pair = Pair::default();
        let said = [("PM: a", true), ("I marked it.", false), ("PM: a", true), ("PM: a", true)];
        assert_eq!(said.map(|(t, fresh)| pair.had(&record(t, fresh))), [false, false, true, false]);
    }
}
