//! A log that a text shows once more, in whatever dress: the same words at the same microseconds
//! of one boot are one moment.

use super::prefix;
use super::pulled::{LETTER, parts};
use dormouse_base::time::Ns;
use std::collections::HashMap;

/// So many lines of both agree at least: fewer are an excerpt, or chance.
const SHOWN: usize = 6;
/// So many of those have a time that is no whole millisecond: who makes up a log, or counts
/// each from its first line, writes round ones.
const EXACT: usize = 4;
/// So many runs of a text are held against each other. Who pastes a log pastes it once or twice;
/// pairs of runs grow by the square.
const RUNS: usize = 32;

/// A line with a time of the kernel's own clock.
struct Line<'a> {
    time: Ns,
    host: &'a [u8],
    text: &'a [u8],
    at: u64,
}

impl Line<'_> {
    /// Whether `other` is of the same moment: a mail may have broken one of the two, and not
    /// every dress names the machine.
    fn is(&self, other: &Line<'_>) -> bool {
        let begins = self.text.starts_with(other.text) || other.text.starts_with(self.text);
        let named = prefix::is_host(self.host) && prefix::is_host(other.host);
        begins && (!named || self.host == other.host)
    }
}

/// The numbers of such lines, in order.
pub(super) fn pasted(bytes: &[u8]) -> Vec<u64> {
    if bytes.len() > LETTER {
        return Vec::new();
    }
    // Parts of the text in which time goes on, each with the mark that it stands behind.
    let (mut runs, mut part): (Vec<(u32, Vec<Line<'_>>)>, u32) = (Vec::new(), 0);
    for (line, at) in bytes.split(|b| *b == b'\n').zip(1u64..) {
        part += u32::from(parts(line));
        let r = prefix::strip(prefix::quotes(line));
        let text = r.text.trim_ascii();
        let Some(time) = r.time.filter(|t| *t < Ns::CALENDAR && r.since.is_none()) else {
            continue;
        };
        if text.is_empty() {
            continue;
        }
        let line = Line { time, host: r.host, text, at };
        match runs.last_mut() {
            Some((own, run))
                if *own == part && run.last().is_none_or(|l| l.time <= time + BACK) =>
            {
                run.push(line);
            }
            _ => runs.push((part, vec![line])),
        }
    }
    // A log that stands the newest line first has a run a line: those are too short to show it.
    runs.retain(|(_, run)| run.len() >= SHOWN);
    runs.truncate(RUNS);
    let mut out = Vec::new();
    for (first, (of, earlier)) in runs.iter().enumerate() {
        let mut later = runs[first + 1..].iter().filter(|(part, _)| of == part).peekable();
        if later.peek().is_none() {
            continue;
        }
        let mut at: HashMap<Ns, Vec<&Line<'_>>> = HashMap::new();
        for line in earlier {
            at.entry(line.time).or_default().push(line);
        }
        at.values_mut().for_each(|all| all.sort_by_key(|l| l.text));
        later.for_each(|(_, later)| again(earlier, &at, later, &mut out));
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Lines change places by so much.
const BACK: Ns = Ns(1_000_000_000);

/// So many neighbours of a line, by its text, are held against it: the first lines of a boot all
/// have one stamp.
const BESIDE: usize = 8;

/// The lines of the shorter of two runs that the longer one has, if it has nearly all of those
/// that it could.
fn again(
    earlier: &[Line<'_>],
    at: &HashMap<Ns, Vec<&Line<'_>>>,
    later: &[Line<'_>],
    out: &mut Vec<u64>,
) {
    let had = |l: &&Line<'_>| {
        let all = at.get(&l.time)?;
        let (below, from) = all.split_at(all.partition_point(|e| e.text < l.text));
        let near = from.iter().take(BESIDE).chain(below.iter().rev().take(BESIDE));
        near.copied().find(|e| e.is(l))
    };
    let both: Vec<(&Line<'_>, &Line<'_>)> =
        later.iter().filter_map(|l| Some((had(&l)?, l))).collect();
    let exact = both.iter().filter(|b| b.0.time.0 % 1_000_000 != 0).count();
    if both.len() < SHOWN || exact < EXACT {
        return;
    }
    let times = || both.iter().map(|b| b.0.time);
    let (Some(from), Some(to)) = (times().min(), times().max()) else { return };
    let inside = |run: &[Line<'_>]| run.iter().filter(|l| from <= l.time && l.time <= to).count();
    let (one, two) = (inside(earlier), inside(later));
    if 8 * both.len() < 7 * one.min(two) {
        return;
    }
    out.extend(both.iter().map(|b| if one < two { b.0.at } else { b.1.at }));
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 7] = [
        "PM: suspend entry (deep)",
        "Freezing user space processes",
        "printk: Suspending console(s) (use no_console_suspend to debug)",
        "PM: suspend of devices complete after 51.204 msecs",
        "PM: resume of devices complete after 77.118 msecs",
        "Restarting tasks ... done.",
        "PM: suspend exit",
    ];

    fn log(dress: &dyn Fn(&str, &str) -> String, us: usize) -> String {
        let stamp = |n: usize| format!("{:>5}.{:06}", 412 + n, 30_417 * (n + 1) + us);
        (0..WORDS.len()).map(|n| dress(&stamp(n), WORDS[n]) + "\n").collect()
    }

    fn raw(time: &str, text: &str) -> String {
        format!("[{time}] {text}")
    }

    #[test]
    fn the_same_moments_in_another_dress_are_one_log() {
        type Dress = fn(&str, &str) -> String;
        let dresses: [Dress; 6] = [
            raw,
            |time, text| format!("[{time}] heron kernel: {text}"),
            |time, text| format!("<6>[{time}] {text}"),
            |time, text| format!("[{time}][  T812] {text}"),
            |time, text| format!("kern  :info  : [{time}] {text}"),
            |time, text| format!("Mar 09 21:14:07 heron kernel: [{time}] {text}"),
        ];
        for dress in dresses {
            for (a, b) in [(raw as Dress, dress), (dress, raw)] {
                let text = format!("{}\nand the journal of it\n\n{}", log(&a, 0), log(&b, 0));
                assert_eq!(pasted(text.as_bytes()), [11, 12, 13, 14, 15, 16, 17], "{text}");
            }
        }
        // A mail broke the lines of the second.
        let broken = log(&raw, 0).replace(" devices complete", "\ndevices complete");
        let text = format!("{}\nagain\n\n{broken}", log(&raw, 0));
        assert_eq!(pasted(text.as_bytes()).len(), 7, "{text}");
    }

    #[test]
    fn a_log_that_stands_the_newest_line_first_costs_no_pair_a_line() {
        let at = |n: usize| format!("[{:>6}.{:06}] oak: step {n}\n", 90_000 - 3 * n, 417 + n);
        let turned: String = (0..20_000).map(at).collect();
        // Pairs of runs would take minutes here.
        let begun = std::time::Instant::now();
        assert!(pasted(turned.as_bytes()).is_empty());
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        // A log that is shown twice behind such a one is seen still.
        let text = format!("{turned}\n{}\nagain\n\n{}", log(&raw, 0), log(&raw, 0));
        assert_eq!(pasted(text.as_bytes()).len(), 7);
        let many: String = (0..4_000).map(|n| format!("[    7.000000] oak: step {n}\n")).collect();
        let begun = std::time::Instant::now();
        assert!(pasted(many.repeat(2).as_bytes()).is_empty());
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn moments_that_differ_are_two_logs() {
        let two = |a: &str, between: &str, b: &str| pasted(format!("{a}{between}{b}").as_bytes());
        let own = log(&raw, 0);
        assert!(two(&own, "\nagain\n", &log(&raw, 1)).is_empty());
        assert!(two(&own, "-- Boot 77 --\n", &own).is_empty());
        assert!(two(&own, "\nWith the patch:\n", &own).is_empty());
        let round: String =
            (0..7).map(|n| raw(&format!("{n:>5}.250000"), WORDS[n]) + "\n").collect();
        assert!(two(&round, "\nagain\n", &round).is_empty());
        let host = |name: &'static str| {
            log(&move |time: &str, text: &str| format!("[{time}] {name} kernel: {text}"), 0)
        };
        assert!(two(&host("heron"), "\n", &host("egret")).is_empty());
    }
}
