//! A sentence that tells how long the way down or up took before a change and after it.

use crate::rules::grid::{Figure, figure};

/// Verbs of a time that is another one now.
const CHANGES_BY: [&str; 21] = [
    "goes",
    "went",
    "go",
    "drops",
    "dropped",
    "drop",
    "falls",
    "fell",
    "reduces",
    "reduced",
    "reduce",
    "improves",
    "improved",
    "decreases",
    "decreased",
    "shrinks",
    "cuts",
    "cut",
    "rises",
    "rose",
    "increased",
];

/// Words of a sentence that says only what may be, what another says, or what is not so.
const UNSURE: [&str; 36] = [
    "if",
    "unless",
    "whether",
    "not",
    "never",
    "no",
    "cannot",
    "nor",
    "neither",
    "hardly",
    "reject",
    "rejects",
    "rejected",
    "revert",
    "reverts",
    "reverted",
    "reverting",
    "would",
    "could",
    "should",
    "might",
    "may",
    "claim",
    "claims",
    "claimed",
    "supposed",
    "supposedly",
    "allegedly",
    "wrong",
    "false",
    "untrue",
    "hope",
    "hopes",
    "doubt",
    "wish",
    "assume",
];

/// Whether a sentence has such a word, or asks.
pub(super) fn is_unsure(sentence: &str) -> bool {
    let lower = sentence.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'');
    lower.contains('?') || words.any(|w| UNSURE.contains(&w) || w.ends_with("n't"))
}

/// Words of the way down or up, as words begin.
const WAY: [&str; 6] = ["suspend", "resum", "wake", "waking", "hibernat", "s2idle"];

/// A sentence that tells a time before a change and after it: `the total resume time goes down
/// from 1.9s to 0.7s`.
pub(super) fn from_to(sentence: &str) -> Option<(String, [Figure; 2])> {
    let lower = sentence.to_ascii_lowercase();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let plain = |w: &str| w.to_ascii_lowercase().trim_matches([',', '(', ')']).to_owned();
    let verb = words.iter().position(|w| CHANGES_BY.contains(&plain(w).as_str()))?;
    let timed = ["time", "latency", "took", "takes", "duration"];
    if is_unsure(sentence) || lower.contains("timeout") || !timed.iter().any(|w| lower.contains(w))
    {
        return None;
    }
    let at = words.iter().position(|w| plain(w) == "from").filter(|at| *at > verb)?;
    // `1.9s`, `1.9 s`, and what ends a sentence.
    let time = |at: usize| {
        let one = words.get(at)?.trim_end_matches(['.', ',', ';', ')']);
        let two = words.get(at + 1).map(|u| format!("{one} {}", plain(u).trim_end_matches('.')));
        let is = |f: &Figure| f.kind == "time";
        figure(one)
            .filter(is)
            .map(|f| (f, at + 1))
            .or_else(|| Some((figure(&two?).filter(is)?, at + 2)))
    };
    let (was, next) = time(at + 1)?;
    let (is, _) = words.get(next).filter(|w| **w == "to").and_then(|_| time(next + 1))?;
    // The subject: what stands before the verb, of the clause that it is in.
    // "The resume time of the board" begins with its first article.
    let joins = |w: &str| matches!(w, "of" | "on" | "in" | "for" | "with" | "at");
    let from = (0..verb).rev().find(|i| {
        let begins = matches!(plain(words[*i]).as_str(), "the" | "our" | "my" | "its");
        let joined = *i > 1 && joins(&plain(words[*i - 1]));
        begins && !joined || words[*i].ends_with([',', ':'])
    });
    let subject = &words[from.map_or(0, |f| f + 1)..verb];
    let of_the_way = |w: &&str| WAY.iter().any(|way| plain(w).starts_with(way));
    let name = subject.join(" ");
    subject.iter().any(of_the_way).then_some((name, [was, is]))
}
