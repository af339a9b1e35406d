//! Lists of what one phase took on several kernels: `6.1.90 : 812.4 msecs`, a line a kernel.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// So many lines above a list say what it is of.
const ABOVE: usize = 4;
/// From here on the longer one is slow: so many times, and so much more.
const TIMES: i64 = 2;
const MORE: i64 = 200_000_000;
/// No sleep takes longer.
const LONGEST: i64 = 3_600_000_000_000;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    // A line with the prefix of a log is no row.
    let all = case.messages.iter().filter(|m| m.trust != Trust::Logged);
    let all: Vec<&Message> = all.collect();
    let mut at = 0;
    while at < all.len() {
        let rows: Vec<(&str, Ns, &Message)> =
            all[at..].iter().map_while(|m| row(&m.text).map(|(v, t)| (v, t, *m))).collect();
        if rows.len() > 1
            && let Some(what) = above(&all[at.saturating_sub(ABOVE)..at])
        {
            tell(what, &rows, out);
        }
        at += rows.len().max(1);
    }
}

/// A kernel and a time, and nothing else.
fn row(text: &str) -> Option<(&str, Ns)> {
    let (version, rest) = text.trim().trim_start_matches(['-', '*', ' ']).split_once(':')?;
    let version = version.trim();
    let number = version.trim_start_matches("Linux ").trim_start_matches('v');
    let is = number.split('.').count() >= 2
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !number.contains(' ')
        && number
            .split(['.', '-'])
            .take(2)
            .all(|p| p.bytes().all(|b| b.is_ascii_digit()) && !p.is_empty());
    let (value, unit) = rest.trim().trim_end_matches('.').split_once(' ')?;
    let unit = match unit.trim() {
        "msecs" | "msec" | "ms" => 1_000_000,
        "seconds" | "secs" | "sec" | "s" => 1_000_000_000,
        _ => return None,
    };
    let thousandths = crate::message::thousandths(value)
        .filter(|_| value.bytes().all(|b| b.is_ascii_digit() || b == b'.'))?;
    let ns = i64::try_from(thousandths).ok()?.checked_mul(unit)? / 1_000;
    (is && (1..LONGEST).contains(&ns)).then_some((version, Ns(ns)))
}

/// What the lines above say that it is of: words in quotes, or of a sleep at all.
fn above<'a>(lines: &[&'a Message]) -> Option<&'a str> {
    const WORDS: [&str; 3] = ["suspend", "resume", "hibernat"];
    let speaks = |text: &str| {
        let lower = text.to_ascii_lowercase();
        WORDS.iter().any(|w| lower.contains(w))
    };
    let spoken: Vec<&str> =
        lines.iter().rev().map(|m| m.text.as_str()).filter(|t| speaks(t)).collect();
    let quoted = |t: &&'a str| t.split(['`', '"']).nth(1).filter(|q| speaks(q));
    spoken.iter().find_map(quoted).or(spoken.first().map(|_| ""))
}

fn tell(what: &str, rows: &[(&str, Ns, &Message)], out: &mut Vec<Finding>) {
    let (Some(least), Some(most)) =
        (rows.iter().min_by_key(|r| r.1), rows.iter().max_by_key(|r| r.1))
    else {
        return;
    };
    let slow = most.1.0 / TIMES >= least.1.0 && most.1.0 - least.1.0 >= MORE;
    let level = if slow { Level::Slow } else { Level::Note };
    let name = if what.is_empty() { String::new() } else { format!(" of \"{}\"", what.trim()) };
    let tenths = most.1.0.saturating_mul(10) / least.1.0.max(1);
    let each: Vec<String> = rows.iter().map(|r| format!("{} on {}", say::span(r.1), r.0)).collect();
    let mut f = Finding::new(("phase-versions", Area::Phase, level), Confidence::Likely)
        .says(format!(
            "The writer lists times{name} on {} kernels: {}; the longest is {}.{} times the shortest.",
            rows.len(),
            say::names(&each),
            tenths / 10,
            tenths % 10
        ))
        .shown_by(lines([least.2, most.2]));
    // Whoever made the list is sure of his figures.
    f.evidence.iter_mut().for_each(|e| e.doubtful = false);
    out.push(match slow {
        true => f.look("Between the two the kernel changed: git bisect finds the commit, and dormouse compare of a log of each tells which device it is."),
        false => f,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[&str]) -> Option<(Level, String)> {
        let mut out = Vec::new();
        judge(&Case::shown(text), &mut out);
        out.pop().map(|f| (f.level, f.sentence))
    }

    #[test]
    fn two_kernels_with_a_time_each_are_compared() {
        let list = [
            "median of `PM: suspend of devices complete`:",
            "  6.1.90   :  300.0 msecs",
            "  v6.6-rc2 : 2400.0 msecs",
        ];
        let (level, text) = said(&list).expect("a list");
        assert_eq!(level, Level::Slow);
        assert!(text.contains("of \"PM: suspend of devices complete\" on 2 kernels"), "{text}");
        assert!(text.ends_with("the longest is 8.0 times the shortest."), "{text}");
        let near = ["resume took", "6.1 : 300 ms", "6.6 : 310 ms"];
        assert_eq!(said(&near).map(|s| s.0), Some(Level::Note));
        for none in [
            ["compiling took", "6.1 : 300 ms", "6.6 : 310 ms"],
            ["resume took", "6.1 : 300 ms", "then : 310 ms"],
            ["resume at", "10.04.05 : 3 times", "10.05.06 : 4 times"],
        ] {
            assert!(said(&none).is_none(), "{none:?}");
        }
    }
}
