//! What is done with the events of a name, remembered: a trace has a few dozen
//! names and millions of lines.

use crate::event::Kind;

/// What is done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// `device_pm_callback_start`.
    Start,
    /// `device_pm_callback_end`.
    End,
    /// `suspend_resume`.
    Step,
    /// It is handed on as text.
    Other,
    /// It is read as a line of the kernel's log as well: its text is one
    /// (include/trace/events/printk.h), or the doctor judges it (runtime PM). Whether it is
    /// handed on too.
    Log(bool),
    /// Nobody wants it.
    None(Kind),
}

/// Answers of one trace.
#[derive(Debug)]
pub(crate) struct Uses {
    slots: [Slot; SLOTS],
}

/// More than a trace has names, nearly always; a power of two.
const SLOTS: usize = 64;

/// Three words cover every name of this length.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=24;

/// A name in three words that may overlap, and the answer. No name is empty, so
/// an empty slot fits none.
#[derive(Clone, Copy, Debug)]
struct Slot {
    length: usize,
    words: [u64; 3],
    answer: Use,
}

impl Default for Uses {
    fn default() -> Uses {
        let empty = Slot { length: 0, words: [0; 3], answer: Use::Other };
        Uses { slots: [empty; SLOTS] }
    }
}

impl Uses {
    /// The answer for `name`; `ask` gives it, always the same for one name.
    #[inline(always)]
    pub(super) fn of(&mut self, name: &[u8], ask: impl FnOnce(&[u8]) -> Use) -> Use {
        let length = name.len();
        if !LENGTHS.contains(&length) {
            return ask(name);
        }
        let word = |from: usize| {
            let chunk = name.get(from..).and_then(|n| n.first_chunk::<8>());
            chunk.map_or(0, |c| u64::from_le_bytes(*c))
        };
        let words = [word(0), word((length - 8).min(8)), word(length - 8)];
        let mixed = (words[0] ^ words[2].rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> 58) as usize % SLOTS];
        if slot.length != length || slot.words != words {
            *slot = Slot { length, words, answer: ask(name) };
        }
        slot.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_keeps_its_answer_whatever_came_between() {
        let names: Vec<String> = (0..500)
            .flat_map(|i| {
                let middle = format!("abcdefgh{i:03}_________xy");
                [format!("event_{i}"), middle, format!("{i}"), "a".repeat(i % 40)]
            })
            .collect();
        let answer = |name: &[u8]| {
            Use::None(Kind::ALL[name.iter().map(|&b| b as usize).sum::<usize>() % 17])
        };
        let mut uses = Uses::default();
        for round in 0..3 {
            for name in names.iter().map(String::as_bytes) {
                assert_eq!(uses.of(name, answer), answer(name), "round {round}: {name:?}");
                assert_eq!(uses.of(name, |_| unreachable(name)), answer(name), "{name:?}");
            }
        }
    }

    /// A name of a fit length is asked for once while nothing else takes its slot.
    fn unreachable(name: &[u8]) -> Use {
        assert!(!LENGTHS.contains(&name.len()), "{name:?} is asked for again");
        Use::None(Kind::ALL[name.iter().map(|&b| b as usize).sum::<usize>() % 17])
    }
}
