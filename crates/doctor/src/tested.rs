//! What somebody says of a change that he tried: with it the machine sleeps. What a text shows
//! besides is of a machine without it.

use crate::case::Case;
use crate::finding::{Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::sentence;

/// How a change is named behind "with" or "after".
const CHANGE: [&str; 11] = [
    "patch",
    "applied",
    "series",
    "change",
    "fix",
    "revert",
    "commit",
    "v2",
    "v3",
    "v4",
    "workaround",
];

/// That it works then.
const WORKS: [&str; 16] = [
    "works",
    "worked",
    "working",
    "passed",
    "pass ",
    "passes",
    "suspends and resumes",
    "sleeps and wakes",
    "no longer",
    "successfully",
    "survived",
    "reliably",
    "is gone",
    "are gone",
    "no failure",
    "without a failure",
];

/// With one of these a sentence says something else.
const UNLESS: [&str; 19] = [
    " not ",
    "n't ",
    "if ",
    "unless",
    "whether",
    "should",
    "would",
    "hope",
    "?",
    "still",
    "but ",
    "came back",
    "then the",
    "returned",
    "except",
    "until",
    "only ",
    "other board",
    "other machine",
];

/// So many bytes of such a sentence are quoted.
const QUOTED: usize = 140;

/// Words of a sentence that is of sleeps.
const SLEEP: [&str; 7] = ["suspend", "resum", "sleep", "wake", "hibernat", "s2idle", "cycle"];

/// Whether a sentence says that it works with a change.
fn says(sentence: &str) -> bool {
    let lower = format!(" {} ", sentence.trim().to_ascii_lowercase());
    let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
    let behind = ["with ", "after ", "since "].iter().find_map(|w| {
        let at = lower.find(&format!(" {w}"))?;
        Some(&lower[at + w.len() + 1..])
    });
    let near = |rest: &str| {
        let end = rest.match_indices(' ').nth(4).map_or(rest.len(), |m| m.0);
        CHANGE.iter().any(|w| rest[..end].contains(w))
    };
    let with = behind.is_some_and(near) && (has(&WORKS) || all_of(&lower)) && has(&SLEEP);
    (with || has(&MENDS) && changes(&lower) || is_tag(sentence)) && !has(&UNLESS)
}

/// What somebody says of what he changed, ahead of it or behind it.
const MENDS: [&str; 12] = [
    "fixes it",
    "fixed it",
    "fixes this",
    "fixed this",
    "solves it",
    "solved it",
    "did the trick",
    "problem is gone",
    "issue is gone",
    "work again",
    "makes it work",
    "works again",
];

/// Whether a sentence is of a change.
fn changes(lower: &str) -> bool {
    const OF: [&str; 8] = [
        "patch",
        "that did",
        "revert",
        "changing ",
        "this change",
        "your change",
        "commit",
        "series",
    ];
    OF.iter().any(|w| lower.contains(w))
}

/// `Tested-by: …`, by which somebody answers for a patch
/// (Documentation/process/submitting-patches.rst).
fn is_tag(sentence: &str) -> bool {
    sentence.trim().strip_prefix("Tested-by: ").is_some_and(|who| who.contains('@'))
}

/// `50 cycles out of 50`, `20 of 20 suspends`: all of them.
fn all_of(lower: &str) -> bool {
    let words: Vec<&str> = lower.split([' ', ',', '.', '/']).filter(|w| !w.is_empty()).collect();
    let number = |w: Option<&&str>| w.and_then(|w| w.parse::<u32>().ok()).filter(|n| *n > 0);
    words.iter().enumerate().any(|(at, w)| {
        let of = number(words.get(at + 1)).filter(|_| *w == "of");
        let count = words[..at].iter().rev().take(3).find_map(|w| number(Some(w)));
        of.is_some() && of == count
    })
}

/// What the answer to a mail says of a change that was tried on what the mail shows.
pub(crate) fn answered(case: &Case) -> Option<(String, &Message)> {
    if case.quoted.is_empty() {
        return None;
    }
    let own = |m: &Message| case.quoted.binary_search(&m.line).is_err();
    sentence::first(case, QUOTED, &own, &|s, _| says(s))
}

/// What the text of a patch says of the kernel with it.
pub(crate) fn with_the_patch(case: &Case) -> Option<(String, &Message)> {
    sentence::first(case, QUOTED, &|_| true, &|s, _| says(s))
}

/// Lowers a finding of quoted lines that whoever answers tried a change on.
pub(crate) fn lower(f: &mut Finding, words: &str, m: &Message) {
    f.confidence = Confidence::Guess;
    f.level = f.level.max(Level::Risk);
    f.sentence += &format!(
        " Its lines are of the writer that is quoted, without the change that was tried: who answers says \"{words}\"."
    );
    f.evidence.push(Evidence { doubtful: true, ..Evidence::from(m) });
}

#[cfg(test)]
mod tests {
    use super::says;

    #[test]
    fn who_says_that_it_works_with_a_change_is_known() {
        for s in [
            "With v2 applied on top of 6.9-rc7 it suspends and resumes here",
            "with the series applied the board resumes, 20 of 20 times in suspend tests",
            "With this change 1000 cycles of the stress test passed on two boards.",
            "After the revert it sleeps, 50 cycles out of 50",
            "Since the fix the hang on resume is gone",
            "This patch fixes it for me, thanks.",
            "I tested your patch and the problem is gone.",
            "Reverting commit 1234567890ab makes suspend work again.",
            "Yep, that did the trick.",
            "Tested-by: Ada <ada@example.org>",
        ] {
            assert!(says(s), "{s}");
        }
        for s in [
            "With the patch it does not suspend",
            "With this patch it still hangs on resume",
            "I hope that with the patch it works after resume",
            "With the lid closed it suspends and resumes",
            "With the patch applied the disk works",
            "3 of 20 suspends with the patch went well",
            "With v2 suspend worked for two cycles, then the error came back",
            "With the patch it works on my other board after suspend",
            "Would it work with the patch after resume?",
            "This patch does not make it work again",
            "A reboot fixes it",
            "With this laptop suspend works",
            "After this it suspends and resumes, 2 of 2 times",
            "It works again after an hour",
        ] {
            assert!(!says(s), "{s}");
        }
    }
}
