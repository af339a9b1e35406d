//! What a text tells as of an earlier time: the log of an older kernel, of a machine before
//! its update, of a fault that is mended. It is no state of the machine now.

use crate::case::Case;
use crate::denied;
use crate::finding::{Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::reason::NONE;
use crate::remedy::{self, cut};
use crate::tested;
use std::collections::HashMap;

/// So many sentences above an excerpt say what it is, and so many below it.
const ABOVE: usize = 2;
const BELOW: usize = 3;

/// So many lines of a log may stand between a line of it and those sentences.
const EXCERPT: usize = 400;

/// Said ahead of what was seen once.
const AHEAD: [&str; 22] = [
    "what i had then",
    "what i had before",
    "it looked like on",
    "it looked like before",
    "it looked like then",
    "from my first post",
    "used to see",
    "used to get",
    "used to have",
    "used to fail",
    "used to hang",
    "used to crash",
    "used to happen",
    "used to print",
    "no longer happen",
    "no longer occur",
    "no longer see",
    "old kernel",
    "older kernel",
    "before the update",
    "before updating",
    "before the fix",
];

/// Said behind it. What helps for a while, such as a reboot, mends nothing.
const BEHIND: [&str; 21] = [
    "'s fixed",
    "'s resolved",
    "'s solved",
    "is fixed",
    "was fixed",
    "been fixed",
    "got fixed",
    "now fixed",
    "is resolved",
    "was resolved",
    "been resolved",
    "is solved",
    "was solved",
    "no longer happen",
    "no longer occur",
    "no longer see",
    "cannot reproduce",
    "can't reproduce",
    "not reproduce it any",
    "was the old kernel",
    "was an old kernel",
];

/// A sentence with one of these in front of such words says something else.
const UNLESS: [&str; 12] = [
    " not ", "n't ", "still", "until", "if ", "unless", "should", "would", "hope", "claim",
    "whether", "never",
];

/// What worked once is no fault of then.
const WORKED: [&str; 5] = ["work", "fine", " good", "no problem", "no issue"];

/// Whether the words are there, said as a fact.
fn has(sentence: &str, words: &[&str]) -> bool {
    let lower = sentence.to_ascii_lowercase();
    let fact = |at: usize| !UNLESS.iter().any(|u| lower[..at].contains(u));
    // One of two is over, or it was believed to be.
    let rest = ["thought", "remain", ", only ", "but without", "but i ", "but it"]
        .iter()
        .any(|w| lower.contains(w));
    let said = words.iter().any(|w| lower.find(w).is_some_and(fact));
    said && !rest && !lower.trim_end().ends_with('?')
}

/// Parts that somebody changed, and how he says that it was that: `New cable, gone since a week`.
const CHANGED: [&str; 7] =
    ["new ", "other ", "another ", "different ", "replac", "swapp", "exchang"];
const PARTS: [&str; 4] = ["cable", "psu", "power supply", "adapter"];
const SINCE: [&str; 4] = ["gone since", "gone for", "no errors since", "fine since"];

/// Whether a part was changed, and that mended it.
fn mended(sentence: &str) -> bool {
    let lower = sentence.to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
    has(&CHANGED)
        && has(&PARTS)
        && has(&SINCE)
        && !UNLESS.iter().any(|w| lower.contains(w) && *w != "never")
        && !lower.trim_end().ends_with('?')
}

/// What is gone, and since what: `With the new firmware it is gone`. What is gone behind a sleep
/// is another matter.
fn gone(sentence: &str) -> bool {
    const GONE: [&str; 8] = [
        "it is gone",
        "this is gone",
        "that is gone",
        "it's gone",
        "problem is gone",
        "issue is gone",
        "error is gone",
        "bug is gone",
    ];
    const BY: [&str; 6] = ["with ", "since ", "after updat", "after upgrad", "now ", "updated"];
    const SLEEP: [&str; 4] = ["resum", "wak", "after suspend", "after sleep"];
    let lower = sentence.to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
    has(&GONE)
        && has(&BY)
        && !has(&SLEEP)
        && !UNLESS.iter().any(|w| lower.contains(w))
        && !lower.trim_end().ends_with('?')
}

/// Whether lines of text above an excerpt, the nearest first, or below it say that it is of an
/// earlier time.
pub fn tells_of_then(above: &[String], below: &[String]) -> bool {
    let over = |t: &String| has(t, &BEHIND) || mended(t) || gone(t);
    above.iter().any(|t| has(t, &AHEAD)) || below.iter().any(over)
}

/// Whether somebody says something in words.
fn is_sentence(m: &Message) -> bool {
    !m.trust.is_of_a_kernel() && m.text.trim().contains(' ')
}

/// The sentence that says that the excerpt around a place is of an earlier time.
fn said(case: &Case, at: usize) -> Option<&Message> {
    let logged = |m: &&Message| m.trust.is_of_a_kernel();
    let above = case.messages[..at].iter().rev().take(EXCERPT);
    let above = above.skip_while(logged).take(ABOVE).filter(|m| is_sentence(m));
    let above: Vec<&Message> = above.collect();
    let below = case.messages[at + 1..].iter().take(EXCERPT);
    let mut below = below.skip_while(logged).take(BELOW).filter(|m| is_sentence(m));
    let worked = |m: &Message| {
        let lower = m.text.to_ascii_lowercase();
        WORKED.iter().any(|w| lower.contains(w))
    };
    let ahead = above.iter().find(|m| has(&m.text, &AHEAD) && !worked(m));
    let wrapped = || {
        let [low, high] = above[..] else { return None };
        has(&joined(high, low), &AHEAD).then_some(low)
    };
    let ahead = ahead.copied().or_else(wrapped);
    ahead.or_else(|| below.find(|m| has(&m.text, &BEHIND) || mended(&m.text) || gone(&m.text)))
}

/// The words with which the writer closes his whole report: it is over, whatever its logs show.
/// A line begins so, or says so of something; names and addresses are resolved too.
pub(crate) fn closed(case: &Case) -> Option<&Message> {
    const OVER: [&str; 8] = [
        " is solved",
        " is resolved",
        " was solved",
        " was resolved",
        "now solved",
        "now resolved",
        "been solved",
        "been resolved",
    ];
    let over = |m: &&Message| {
        let said = m.text.to_ascii_lowercase();
        let mut words = said.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        let mut first = words.next().unwrap_or_default();
        let mut edited = false;
        if matches!(first.trim_end_matches(|c: char| c.is_ascii_digit()), "edit" | "update") {
            first = words.next().unwrap_or_default();
            edited = true;
        }
        let next = words.next().unwrap_or_default();
        // `Solved the keyboard layout` is of something else.
        let bare = ["", "by", "with", "in", "this", "it", "via", "using", "thanks", "after", "and"];
        let of_sleep = ["suspend", "sleep", "resum", "wake", "hibernat", "s2idle"];
        let mine = bare.contains(&next)
            || ["now", "see", "writing", "for", "on", "thank"].contains(&next)
            || of_sleep.iter().any(|w| said.contains(w));
        let begins = match first {
            "solved" | "resolved" => mine,
            "closing" => matches!(next, "this" | "it"),
            "confirmed" => matches!(next, "fixed" | "solved" | "resolved"),
            "fixed" => matches!(next, "in" | "by" | "with" | "on" | "upstream"),
            "works" => edited && next == "now",
            "never" => next == "mind" && said.contains("closing"),
            _ => false,
        };
        // What was changed is pointed at, and nothing is left.
        let changed = ["without that", "with that", "without this", "after that", "works now"];
        let partly = [
            "before",
            "only",
            "sometimes",
            "half",
            "friend",
            "hope",
            "need",
            "advance",
            "any help",
            "hang",
            "fail",
            "n't",
            "not",
            "know",
            "him",
            "her ",
            "except",
        ];
        let has = |list: &[&str]| list.iter().any(|w| said.contains(w));
        let works = has(&of_sleep) && said.contains("works") && has(&changed) && !has(&partly);
        // Names and addresses are resolved, too.
        let what = ["this", "it ", "it's", "issue", "problem", "bug", "that", "thread", "case"];
        let of_it = || what.iter().any(|w| said.contains(w));
        let says = begins || works || OVER.iter().any(|w| said.contains(w)) && of_it();
        // One of two troubles is over, and the other is not.
        let open = [
            "not ",
            "n't ",
            "never ",
            "?",
            "until",
            " if ",
            "when",
            " but ",
            "still",
            "however",
            "except",
            "partly",
            "partially",
            "another",
            "windows",
            " says",
            " said",
            "wrote",
            "thought",
            "remain",
            "reproduce",
            "stale",
            "inactiv",
        ];
        // A thread is marked so, whatever its title was.
        let marked = ["[solved]", "[resolved]", "[fixed]"];
        if marked.iter().any(|w| said.trim_start().starts_with(w)) {
            return true;
        }
        // What follows a comma says how it was.
        let clause = if begins { said.split([',', ';']).next().unwrap_or(&said) } else { &said };
        says && !said.starts_with("if ") && !open.iter().any(|w| clause.contains(w))
    };
    let prose = || case.messages.iter().filter(|m| m.trust == Trust::Prose);
    let found = prose().find(over)?;
    // It came again.
    const BACK: [&str; 7] = [
        "it is back",
        "it's back",
        "happens again",
        "happened again",
        "not solved",
        "not fixed",
        "still happens",
    ];
    let back = |m: &Message| {
        let said = m.text.to_ascii_lowercase();
        m.line > found.line && BACK.iter().any(|w| said.contains(w))
    };
    (!prose().any(back)).then_some(found)
}

/// So many bytes of such a sentence are quoted.
const QUOTED: usize = 100;

/// Makes of a finding what it was: a fault of then, that something helped against.
fn close(case: &Case, f: &mut Finding, m: &Message) {
    let helped = remedy::told(case);
    let words = match &helped {
        Some((words, by)) if by.line != m.line => {
            format!(" What helped, in the writer's words: \"{words}\".")
        }
        _ => String::new(),
    };
    // Who says what helped names what it was.
    if let Some(at) = f.sentence.find(NONE).filter(|_| helped.is_some()) {
        let end = f.sentence[at..].find('.').map_or(f.sentence.len(), |e| at + e + 1);
        f.sentence.replace_range(at..end, "");
        f.sentence = f.sentence.replace("  ", " ").trim_end().to_string();
    }
    (f.level, f.over) = (Level::Note, true);
    f.sentence = format!(
        "The writer says that it is over: \"{}\".{words} What it was: {}",
        quoted(m),
        f.sentence
    );
    let by = helped.map(|h| h.1).filter(|by| by.line != m.line);
    for m in [Some(m), by].into_iter().flatten() {
        f.evidence.push(Evidence { doubtful: true, ..Evidence::from(m) });
    }
    // Nobody need look for it any more.
    f.advice.clear();
}

/// Lowers what all its lines tell of an earlier time, and quotes who says that it is over.
pub(crate) fn lower(case: &Case, findings: &mut [Finding]) {
    let denial = denied::said(case);
    let speaks = |m: &Message| {
        let over = |text| has(text, &AHEAD) || has(text, &BEHIND) || mended(text) || gone(text);
        is_sentence(m) && over(&m.text)
    };
    let wraps = |m: &[Message]| m.iter().all(is_sentence) && has(&joined(&m[0], &m[1]), &AHEAD);
    let past = case.messages.iter().any(speaks) || case.messages.windows(2).any(wraps);
    let over = closed(case);
    let tried = tested::answered(case);
    if !past && over.is_none() && denial.is_none() && tried.is_none() {
        return;
    }
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (at, m) in case.messages.iter().enumerate() {
        places.entry(m.line).or_insert(at);
    }
    for f in findings.iter_mut().filter(|f| f.level != Level::Note) {
        let of = |e: &Evidence| said(case, *places.get(&e.line)?);
        // What somebody says of it is no line of it.
        let own = f.evidence.iter().any(|e| !e.doubtful);
        let its = f.evidence.iter().filter(|e| !own || !e.doubtful);
        let told: Option<Vec<&Message>> = its.map(of).collect();
        let first = told.as_ref().and_then(|t| t.first()).copied();
        // What is said to be of then is; a denial alone is of another machine.
        if let Some((words, m)) = &denial
            && first.is_none_or(|f| f.line == m.line)
            && denied::is_quoted(case, f)
        {
            denied::lower(f, words, m);
            continue;
        }
        if let Some((words, m)) = &tried
            && denied::is_quoted(case, f)
        {
            tested::lower(f, words, m);
            continue;
        }
        match (first, over) {
            (Some(m), _) => {
                f.confidence = Confidence::Guess;
                f.level = f.level.max(Level::Risk);
                let words = quoted(m);
                // What a rule quoted is not quoted again.
                f.sentence += &match f.sentence.contains(&words) {
                    true => " The text tells that as of an earlier time.".to_string(),
                    false => format!(" The text tells that as of an earlier time: \"{words}\"."),
                };
                if f.evidence.iter().all(|e| e.line != m.line) {
                    f.evidence.push(Evidence { doubtful: true, ..Evidence::from(m) });
                }
            }
            (None, Some(m)) => close(case, f, m),
            (None, None) => {}
        }
    }
}

/// The beginning of a sentence, to quote.
fn quoted(m: &Message) -> String {
    cut(m.text.trim().trim_end_matches([':', '.']), QUOTED)
}

/// A sentence that goes on in the next line.
fn joined(high: &Message, low: &Message) -> String {
    format!("{} {}", high.text.trim_end(), low.text.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_once_is_told_so() {
        for past in [
            "On the old kernel every resume said:",
            "Here I used to see, each time:",
            "It's resolved with 6.99, thanks.",
            "Since the new firmware it no longer happens.",
        ] {
            assert!(has(past, &AHEAD) || has(past, &BEHIND), "{past}");
        }
        assert!(gone("With the new firmware it is GONE, this is from today:"));
        assert!(
            !gone("The wifi is gone since the update")
                && !gone("With 6.99 it is gone after resume")
        );
        assert!(mended("New cable, gone since a week. LPM was off."));
        assert!(!mended("The wifi is gone since the update.") && !mended("Is a new cable fine?"));
        for now in [
            "This is not fixed in 6.99:",
            "I hope that is fixed soon.",
            "Is that fixed?",
            "It is still there, until it is fixed.",
            "The machine no longer resumes:",
            "After a reboot it works again.",
            "Loading the module anew fixed it.",
            "I thought it was fixed on main.",
            "I no longer see the warning, only the failure.",
            "My wifi is fixed, this one remains.",
        ] {
            assert!(!has(now, &AHEAD) && !has(now, &BEHIND), "{now}");
        }
    }
}
