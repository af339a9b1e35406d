//! Lines that a writer shows once more beside the log that has them: `The line that matters is …`.

use super::prefix;
use std::collections::{HashMap, HashSet};

/// So many lines somebody shows of a log at most before it is another part of one.
const SHOWN: usize = 3;
/// A log has more lines that stand one below the other.
const LOG: usize = 6;
/// So many bytes of a text are looked at: a letter is no longer.
const LETTER: usize = 1 << 20;

/// The numbers of such lines, in order. A text of a program has no words between its lines.
pub(super) fn pulled(bytes: &[u8]) -> Vec<u64> {
    if bytes.len() > LETTER {
        return Vec::new();
    }
    let said = |line: &'_ [u8]| -> Option<(i64, Vec<u8>)> {
        let record = prefix::strip(prefix::quotes(line));
        let time = record.time.filter(|_| record.fresh && !record.text.is_empty())?;
        Some((time.0, record.text.trim_ascii().to_vec()))
    };
    let lines = bytes.split(|b| *b == b'\n').zip(1u64..).map(|(l, at)| (said(l), at));
    let (mut runs, mut open): (Vec<Vec<_>>, bool) = (Vec::new(), false);
    for (record, at) in lines {
        match record {
            Some(record) if open => runs.last_mut().into_iter().for_each(|r: &mut Vec<_>| {
                r.push((record.clone(), at));
            }),
            Some(record) => {
                runs.push(vec![(record, at)]);
                open = true;
            }
            None => open = false,
        }
    }
    if runs.len() < 2 {
        return Vec::new();
    }
    let logs = || runs.iter().filter(|r| r.len() >= LOG);
    let mut known: HashMap<&[u8], HashSet<i64>> = HashMap::new();
    for ((time, text), _) in logs().flatten() {
        known.entry(text).or_default().insert(*time);
    }
    let has = |(time, text): &(i64, Vec<u8>)| {
        known.get(&text[..]).is_some_and(|times| times.contains(time))
    };
    let shown = runs.iter().filter(|r| r.len() <= SHOWN && r.iter().all(|l| has(&l.0)));
    shown.flatten().map(|l| l.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_shown_once_more_is_one() {
        let log: String = (1..8).map(|n| format!("  [  {n}.000000] elm {n}: PM: step\n")).collect();
        let text = format!("The line is\n\n  [  3.000000] elm 3: PM: step\n\nof\n{log}");
        assert_eq!(pulled(text.as_bytes()), [3]);
        let after = format!("{log}\nwhere this matters:\n[  7.000000] elm 7: PM: step\n");
        assert_eq!(pulled(after.as_bytes()), [10]);
        let other = format!("The line is\n\n  [  3.500000] elm 3: PM: step\n\nof\n{log}");
        assert!(pulled(other.as_bytes()).is_empty() && pulled(log.as_bytes()).is_empty());
    }
}
