//! Who quotes the log of somebody else and says that his own machine does not do that.

use crate::case::Case;
use crate::finding::{Confidence, Evidence, Finding, Level};
use crate::message::Message;
use crate::sentence;

/// How people say that a fault is not there.
const DENIALS: [&str; 48] = [
    "can't confirm",
    "cannot confirm",
    "can not confirm",
    "unable to confirm",
    "never seen that",
    "never seen it",
    "never saw this",
    "never saw that",
    "not on my machine",
    "not on mine",
    "not on my box",
    // The same in German, French and Spanish.
    "nicht best\u{e4}tigen",
    "nicht nachvollziehen",
    "ne reproduis pas",
    "cannot reproduce",
    "can't reproduce",
    "can not reproduce",
    "could not reproduce",
    "couldn't reproduce",
    "unable to reproduce",
    "not able to reproduce",
    "not reproducible here",
    "no problem here",
    "no problems here",
    "no issue here",
    "no issues here",
    "no such problem",
    "no such issue",
    "don't see this",
    "do not see this",
    "don't see that",
    "do not see that",
    "not seeing this",
    "don't have this",
    "do not have this",
    "doesn't happen here",
    "does not happen here",
    "doesn't happen on my",
    "does not happen on my",
    "doesn't happen for me",
    "does not happen for me",
    "never happens here",
    "never happened here",
    "never seen this",
    "not affected here",
    "i'm not affected",
    "i am not affected",
    "all fine here",
];

/// How people say that it works, where that may be a fix of theirs.
const WORKS: [&str; 12] = [
    "works here",
    "works for me",
    "works fine here",
    "works fine for me",
    "works fine on my",
    "works on my",
    "works well here",
    "works just fine",
    "working here",
    "working fine here",
    "is fine here",
    "fine on my",
];

/// What works then is no machine without the fault.
const FIXES: [&str; 7] =
    ["patch", "workaround", "work around", "fix", "revert", "trick", "this change"];

/// With one of these in front of such words a sentence says something else.
const UNLESS: [&str; 8] = [" not ", "n't ", "never ", "if ", "unless", "whether", "nobody", "hope"];

/// Who says one of these beside it has it, too.
const HAS_IT: [&str; 8] = [
    "here too",
    "here, too",
    "came back",
    "but i do",
    "but without",
    "i do see",
    "exactly your",
    "same here",
];

/// So many bytes of such a sentence are quoted.
const QUOTED: usize = 120;

/// Whether a sentence says that the fault is not there.
fn denies(sentence: &str) -> bool {
    let lower = format!(" {}", sentence.to_ascii_lowercase());
    let fact =
        |w: &str| lower.find(w).is_some_and(|at| !UNLESS.iter().any(|u| lower[..at].contains(u)));
    let works = WORKS.iter().any(|w| fact(w)) && !FIXES.iter().any(|w| lower.contains(w));
    let denied = DENIALS.iter().any(|w| fact(w)) || works;
    denied && !lower.trim_end().ends_with('?')
}

/// The words with which the writer of a text with a quotation denies it for his machine, and
/// their line.
pub(crate) fn said(case: &Case) -> Option<(String, &Message)> {
    if case.quoted.is_empty() {
        return None;
    }
    let own = |m: &Message| case.quoted.binary_search(&m.line).is_err();
    let has_it = |text: &str| {
        let lower = text.to_ascii_lowercase();
        HAS_IT.iter().any(|w| lower.contains(w))
    };
    sentence::first(case, QUOTED, &own, &|s, text| denies(s) && !has_it(text))
}

/// Whether a finding is shown by quoted lines alone.
pub(crate) fn is_quoted(case: &Case, f: &Finding) -> bool {
    f.evidence.iter().all(|e| case.quoted.binary_search(&e.line).is_ok())
}

/// Lowers a finding of quoted lines that the writer denies, and says whose they are.
pub(crate) fn lower(f: &mut Finding, words: &str, m: &Message) {
    f.confidence = Confidence::Guess;
    f.level = f.level.max(Level::Risk);
    f.sentence += &format!(
        " Its lines are of the writer that is quoted, perhaps of another machine: who quotes them says \"{words}\"."
    );
    f.evidence.push(Evidence { doubtful: true, ..Evidence::from(m) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_that_it_is_not_there_is_known() {
        for s in [
            "I have the same one with 4.17 and cannot reproduce this",
            "Works here on the same model with 4.17-rc6.",
            "no problem here",
            "I don't see this on my machine",
            "Hm, that doesn't happen here",
        ] {
            assert!(denies(s), "{s}");
        }
        for s in [
            "The patch works here",
            "It never works here",
            "Does it happen if it works here?",
            "I can reproduce this",
            "No idea whether it works for me",
            "With the workaround it works fine here",
        ] {
            assert!(!denies(s), "{s}");
        }
    }
}
