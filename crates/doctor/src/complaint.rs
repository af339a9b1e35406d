//! Whether a sentence of a writer complains of a sleep: that the machine does not sleep or wake,
//! wakes by itself, drains, or comes back with something that is dead. Found by what words stand
//! together, because people say each of these in a hundred ways.

use crate::case::Case;
use crate::message::{Message, Trust};
use crate::tongue;

/// What sleeps and wakes a machine.
const SLEEP: &str = "suspend|sleep|standby|s2idle|s0ix|hibernat|lid closed|closing the lid|closed the lid|power down|powers down";
/// Words of a machine that comes back.
const WAKES: [&str; 11] = [
    "wake", "wakes", "woke", "woken", "waking", "wakeup", "resume", "resumes", "resumed",
    "resuming", "turns",
];
/// That nobody asked for it, or not so soon.
const BY_ITSELF: &str = "by itself|on its own|immediately|instantly|right away|straight away|at once|right after|as soon as|spontaneously|randomly|at random|for no reason|out of nowhere|seconds later|second later|again and again|every few";
/// Somebody did ask for it.
const BY_HAND: &str =
    "press|button|keyboard|a key|any key|open the lid|opening the lid|open it|click|touch|works";
/// Words that something did not come to be.
const NEVER: [&str; 14] = [
    "won't", "doesn't", "don't", "didn't", "can't", "cannot", "not", "never", "fails", "failed",
    "fail", "refuses", "unable", "wouldn't",
];
/// What is wrong with a thing that is there.
const DEAD: [&str; 19] = [
    "dead",
    "gone",
    "missing",
    "unusable",
    "broken",
    "frozen",
    "black",
    "blank",
    "garbled",
    "corrupted",
    "unresponsive",
    "disappears",
    "disappeared",
    "disappear",
    "flickers",
    "flickering",
    "crashes",
    "crashed",
    "freezes",
];
/// When it is.
const AFTER: &str = "after resum|after suspend|after sleep|after wak|after s2idle|after s3|after a suspend|after hibernat|after a sleep|on resume|on wake|upon resume|upon wak|when resum|when wak|when it wakes|following suspend|from suspend|from sleep|from s3|from hibernat|post-resume|post-suspend";
/// So many words further on stands what did not come to be.
const FAR: usize = 7;

fn has(lower: &str, any: &str) -> bool {
    any.split('|').any(|w| lower.contains(w))
}

fn words(lower: &str) -> Vec<&str> {
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '\'';
    lower.split(word).filter(|w| !w.is_empty()).collect()
}

/// Words of a sentence that is of another time, machine or person, wishes, mends, or praises.
const ELSEWHERE: &str = "?|no longer|any more|anymore|fix|solved|resolved|used to|if |would|last year|years ago|other laptop|other machine|other pc|another machine|windows|macos|wrote|says that|said that|claims|works|thanks|[patch|hasn't|haven't|phone|app ";

/// That something no longer does what it did.
const STOPS: [&str; 4] = ["stop", "stops", "stopped", "quits"];
/// What things do.
const DOES: [&str; 7] =
    ["work", "working", "respond", "responding", "function", "functioning", "react"];
/// It comes, but late.
const LATE: &str = "takes forever|takes ages|takes minutes|takes a minute|takes several minutes|painfully slow|extremely slow|super slow|so slow|very slow";

/// Whether something "stops working" or "does not respond".
fn is_idle(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, w)| {
        let near = if STOPS.contains(w) { 1 } else { 2 };
        let never = STOPS.contains(w) || NEVER.contains(w);
        let denied = at > 0 && NEVER.contains(&words[at - 1]);
        never && !denied && words[at + 1..].iter().take(near).any(|w| DOES.contains(w))
    })
}

/// Whether a sentence, in small letters, says that something is dead behind a sleep.
fn is_dead(lower: &str) -> bool {
    let words = words(lower);
    if has(lower, AFTER) && is_idle(&words) {
        return true;
    }
    let at = words.iter().position(|w| DEAD.contains(w));
    let denied =
        |at: usize| words[at.saturating_sub(3)..at].iter().any(|w| NEVER.contains(w) || *w == "no");
    // A fault that is gone is none.
    let fault = "bug|flicker|problem|issue|error|noise|warning|message|theme|delay|lag";
    let gone = at.is_some_and(|at| words[at] == "gone") && has(lower, fault);
    at.is_some_and(|at| !denied(at)) && !gone && has(lower, AFTER)
}

/// The sentence of a writer that says so, and its line.
pub(crate) fn of_return(case: &Case) -> Option<(&Message, &str)> {
    let said = case.messages.iter().filter(|m| m.trust == Trust::Prose);
    said.flat_map(|m| m.text.split(['.', ',', ';']).map(move |s| (m, s.trim()))).find(|(_, s)| {
        let lower = s.to_ascii_lowercase();
        is_dead(&lower) && !has(&lower, ELSEWHERE) || tongue::is_dead(s)
    })
}

/// Whether a writer says in the end that nothing was wrong.
pub(crate) fn is_calmed(case: &Case) -> bool {
    const CALM: &str = "nothing is broken|nothing is wrong|nothing was wrong|nothing was broken|false alarm|not a bug after all|works as intended|it's fine, actually|everything is fine|all is fine|nothing to complain";
    case.messages.iter().filter(|m| m.trust == Trust::Prose).any(|m| {
        m.text.split(['.', ';']).any(|s| {
            let lower = s.to_ascii_lowercase();
            has(&lower, CALM) && !has(&lower, "?|if |whether|says that|claims")
        })
    })
}

/// That a battery is used up.
const DRAINS: &str = "drain|loses|lost|losing|is empty|was empty|is dead|was dead|went from|goes from|dropped|drops|fell from|falls from|down to|went down";

/// Whether a sentence, in small letters, complains.
pub(crate) fn complains(lower: &str) -> bool {
    if tongue::complains(lower) {
        return true;
    }
    if has(lower, ELSEWHERE) {
        return false;
    }
    let words = words(lower);
    let is = |all: &[&str]| words.iter().any(|w| all.contains(w));
    let sleeps = has(lower, SLEEP);
    let wakes = sleeps
        && is(&WAKES)
        && has(lower, BY_ITSELF)
        && !has(lower, BY_HAND)
        && !words.contains(&"never");
    let of_sleep = |w: &str| {
        ["suspend", "sleep", "resum", "hibernat", "wake", "waking", "standby"]
            .iter()
            .any(|s| w.starts_with(s))
    };
    let never = words.iter().enumerate().any(|(at, w)| {
        let mut next = words[at + 1..].iter().take(FAR);
        NEVER.contains(w) && next.any(|w| of_sleep(w))
    });
    let battery = lower.contains("batter") || lower.contains('%');
    let drains = battery
        && has(lower, DRAINS)
        && (sleeps || has(lower, "overnight|over night|in the bag|in my bag|in a bag"));
    // "Suspend not working", "sleep is broken".
    let broken = sleeps && (is_idle(&words) || is(&["broken"]));
    let late = has(lower, LATE) && (sleeps || words.iter().any(|w| of_sleep(w)));
    wakes || is_dead(lower) || never || drains || late || broken
}

#[cfg(test)]
mod tests {
    use super::complains;

    #[test]
    fn complaints_are_heard_in_many_words() {
        for said in [
            "whenever i suspend my computer, it instantly wakes up again",
            "as soon as it powers down it begins the process of waking back up",
            "pc resumes right after suspend, every time",
            "it goes to sleep and turns on by itself a minute later",
            "wifi after s2idle is dead",
            "the display stays black on wake",
            "i'm unable to put my laptop to sleep",
            "it refuses to suspend since the update",
            "the board fails to resume from standby",
            "lost 34% overnight",
            "the battery drains while suspended",
            "my touchpad is gone after waking",
            "bluetooth stops working after suspend",
            "the keyboard doesn't respond after resume",
            "waking up from sleep takes forever",
            "suspend not working on nissa",
            "the battery went from 100 % to 0 % overnight",
        ] {
            assert!(complains(said), "{said}");
        }
    }

    #[test]
    fn what_is_no_complaint_is_none() {
        for said in [
            "it wakes instantly when i open the lid after a night of sleep",
            "suspend and resume take a second",
            "the screen comes back after resume at once",
            "the battery is at 80 % before the sleep",
            "this patch adds a black list of devices",
            "the disk is a dead weight in my old box",
            "i press a key and it wakes immediately from sleep",
            "the battery went down to 90 % while i was typing",
        ] {
            assert!(!complains(said), "{said}");
        }
    }
}
