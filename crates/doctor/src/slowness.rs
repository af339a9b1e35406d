//! Whether a writer complains that a sleep, or its end, is slow: by how words of time stand to
//! words of a sleep in one clause. What was, what is denied and what is mended is none.

/// How something is that takes long.
const SLOW: [&str; 7] = ["slow", "slower", "slowly", "sluggish", "sluggishly", "laggy", "delayed"];
/// What joins such a word and the sleep behind it: `slow to wake`, `slow when coming back from
/// suspend`.
const LITTLE: [&str; 20] = [
    "to", "at", "when", "on", "in", "the", "my", "a", "it", "coming", "comes", "back", "from",
    "after", "while", "and", "out", "of", "during", "upon",
];
/// That it is so.
const IS: [&str; 18] = [
    "is", "are", "was", "were", "gets", "got", "becomes", "became", "become", "feels", "felt",
    "seems", "has", "turned", "remains", "stays", "works", "went",
];
/// What takes long.
const WAITS: [&str; 7] = ["delay", "delays", "pause", "pauses", "wait", "lag", "lags"];
/// How long it is then.
const LONG: [&str; 14] = [
    "long",
    "longer",
    "huge",
    "big",
    "large",
    "massive",
    "noticeable",
    "significant",
    "considerable",
    "terrible",
    "annoying",
    "extreme",
    "very",
    "insane",
];
/// Words before it that undo it.
const UNDO: [&str; 24] = [
    "no", "not", "never", "isn't", "aren't", "wasn't", "weren't", "doesn't", "don't", "didn't",
    "without", "nothing", "hardly", "less", "avoid", "avoids", "avoiding", "prevent", "prevents",
    "against", "nor", "hasn't", "won't", "cannot",
];

/// Whether a word, in small letters, is of a sleep.
pub(crate) fn is_of_sleep(w: &str) -> bool {
    ["suspend", "sleep", "resum", "hibernat", "wake", "waking", "standby"]
        .iter()
        .any(|s| w.starts_with(s))
}

/// Whether the words of a clause, in small letters, say so.
pub(crate) fn is_told(words: &[&str]) -> bool {
    takes_long(words) || is_slow(words) || is_waited_for(words)
}

/// Whether what stands at a place is denied, or was so once.
fn is_undone(words: &[&str], at: usize) -> bool {
    const BEFORE: usize = 4;
    let before = &words[at.saturating_sub(BEFORE)..at];
    let was = before.iter().any(|w| matches!(*w, "was" | "were" | "been" | "had"));
    before.iter().any(|w| UNDO.contains(w)) || was && was_once(words)
}

/// Whether the words of a clause, in small letters, are of another time: "was slow before the
/// patch".
pub(crate) fn was_once(words: &[&str]) -> bool {
    let once = |w: &&str| {
        matches!(*w, "before" | "previously" | "until" | "earlier" | "formerly" | "once")
    };
    let was = words.iter().position(|w| matches!(*w, "was" | "were" | "been" | "had"));
    was.is_some_and(|was| words[was..].iter().any(once) || words[..was].contains(&"previously"))
}

/// "Slow wake up from sleep", "waking the machine is really sluggish".
fn is_slow(words: &[&str]) -> bool {
    const BEHIND: usize = 5;
    const BEFORE: usize = 8;
    words.iter().enumerate().filter(|(_, w)| SLOW.contains(w)).any(|(at, _)| {
        let next = words[at + 1..].iter().take(BEHIND).find(|w| !LITTLE.contains(w));
        let from = at.saturating_sub(BEFORE);
        let subject = words[from..at].iter().rposition(|w| is_of_sleep(w));
        let is = |n: usize| words[from + n..at].iter().any(|w| IS.contains(w));
        let told = next.is_some_and(|w| is_of_sleep(w)) || subject.is_some_and(is);
        told && !is_undone(words, at)
    })
}

/// "Long delay resuming from suspend".
fn is_waited_for(words: &[&str]) -> bool {
    const NEAR: usize = 5;
    words.iter().enumerate().filter(|(_, w)| WAITS.contains(w)).any(|(at, _)| {
        let long = words[at.saturating_sub(2)..at].iter().any(|w| LONG.contains(w));
        let near = &words[at.saturating_sub(NEAR)..words.len().min(at + 1 + NEAR)];
        long && near.iter().any(|w| is_of_sleep(w)) && !is_undone(words, at)
    })
}

/// What may stand between the verb and the number.
const ABOUT: [&str; 17] = [
    "about",
    "around",
    "roughly",
    "nearly",
    "almost",
    "over",
    "approximately",
    "approx",
    "up",
    "to",
    "at",
    "least",
    "some",
    "like",
    "more",
    "than",
    "another",
];

/// Whether ten seconds or more stand there: how many words that takes.
fn long_time(words: &[&str]) -> Option<usize> {
    const TENS: [&str; 6] = ["ten", "twenty", "thirty", "forty", "fifty", "sixty"];
    const FEW: [&str; 9] = ["a", "one", "two", "three", "four", "five", "several", "few", "couple"];
    let number = |w: &str| w.parse::<u32>().ok();
    let is_long = |n: Option<u32>, unit: &str| match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => n.is_some_and(|n| n >= 10),
        "min" | "mins" | "minute" | "minutes" => true,
        _ => false,
    };
    let (first, second) = (*words.first()?, words.get(1).copied().unwrap_or_default());
    // `40s`, `2min`.
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && digits < first.len() {
        return is_long(number(&first[..digits]), &first[digits..]).then_some(1);
    }
    // `30-40 seconds`.
    if let (Some(_), Some(most)) = (number(first), number(second)) {
        return is_long(Some(most), words.get(2)?).then_some(3);
    }
    if let Some(n) = number(first) {
        return is_long(Some(n), second).then_some(2);
    }
    if TENS.contains(&first) {
        return is_long(Some(10), second).then_some(2);
    }
    // `half a minute`, `a few minutes`.
    let few = |w: &&&str| FEW.contains(*w) || matches!(**w, "half" | "of" | "whole" | "full");
    let skipped = words.iter().take(3).take_while(few).count();
    let unit = words.get(skipped)?;
    (skipped > 0 && unit.starts_with("min") && is_long(None, unit)).then_some(skipped + 1)
}

/// Whether a sleep or its end takes ten seconds and more: it is what takes so long, or what
/// follows the time.
fn takes_long(words: &[&str]) -> bool {
    const BEFORE: usize = 4;
    const BEHIND: usize = 5;
    /// `until the screen is back after suspend`
    const UNTIL: usize = 9;
    let takes = |w: &str| matches!(w, "takes" | "took" | "needs" | "taking");
    words.iter().enumerate().filter(|(_, w)| takes(w)).any(|(at, _)| {
        let about = words[at + 1..].iter().take(4).take_while(|w| ABOUT.contains(w)).count();
        let from = at + 1 + about;
        let Some(long) = words.get(from..).and_then(long_time) else { return false };
        let rest = &words[from + long..];
        let until = rest.first().is_some_and(|w| matches!(*w, "until" | "till" | "before"));
        let near = words[at.saturating_sub(BEFORE)..at].iter();
        let next = rest.iter().take(if until { UNTIL } else { BEHIND });
        near.chain(next).any(|w| is_of_sleep(w))
    })
}

#[cfg(test)]
mod tests {
    fn complains(said: &str) -> bool {
        super::is_told(&said.split([' ', '-']).collect::<Vec<_>>())
    }

    #[test]
    fn slowness_is_heard_by_how_words_of_time_stand_to_a_sleep() {
        for said in [
            "elm 7: long delay resuming from suspend",
            "there is a noticeable pause when i wake it",
            "it needs about 50 seconds until the picture is there after suspend",
            "resume takes up to a minute",
            "waking takes almost 30-40 seconds",
            "takes 45s to wake up",
            "takes half a minute to resume",
            "slow wake up from sleep on 6.11",
            "the box is slow to wake",
            "it is slow when coming back from suspend",
            "waking the tablet is really sluggish since the update",
            "resuming has become awfully slow",
            "the laptop is laggy after resume",
        ] {
            assert!(complains(said), "{said}");
        }
    }

    #[test]
    fn what_was_slow_or_is_slow_no_more_or_is_no_sleep_is_no_complaint() {
        for said in [
            "resume is no longer slow",
            "resume isn't slow at all",
            "waking up was really slow before the patch",
            "resume takes only 12 seconds",
            "resume takes about 2 seconds",
            "the clock switches to its slow rate in suspend",
            "this avoids a long delay on resume",
            "the long delay of my mail was annoying",
            "the disk is slow",
            "the copy takes 40 seconds and then i send it to sleep",
            "there is no noticeable delay on wake",
        ] {
            assert!(!complains(said), "{said}");
        }
    }
}
