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

/// What sleeps and wakes inside of a machine that runs on: the scheduler's things, and people.
const OTHERS: [&str; 34] = [
    "task",
    "tasks",
    "thread",
    "threads",
    "kthread",
    "kthreads",
    "process",
    "processes",
    "cpu",
    "cpus",
    "core",
    "cores",
    "worker",
    "workers",
    "waiter",
    "waiters",
    "queue",
    "queues",
    "timer",
    "timers",
    "call",
    "calls",
    "function",
    "lock",
    "mutex",
    "kid",
    "kids",
    "child",
    "children",
    "wife",
    "husband",
    "people",
    "baby",
    "thread's",
];
/// What says of a resume that it is of one device while the machine runs.
const AT_RUN_TIME: [&str; 5] = ["runtime", "auto", "autosuspend", "rpm", "selective"];
/// What may stand between a word of a sleep and what sleeps: "waking up the worker threads".
const BETWEEN: usize = 3;

/// Whether the word at a place is of a sleep of the machine.
fn is_of_machine(words: &[&str], at: usize) -> bool {
    // "Wakeup latency of tasks", "the sleeping thread"; behind "after" another thing begins.
    let ends = |w: &&&str| !SLOW.contains(w) && !IS.contains(w) && !JOINS.contains(w);
    let mut next = words[at + 1..].iter().take(BETWEEN).take_while(ends);
    let before = at.checked_sub(1).is_some_and(|b| OTHERS.contains(&words[b]));
    let others = before || next.any(|w| OTHERS.contains(w));
    let run_time = words[at.saturating_sub(2)..at].iter().any(|w| AT_RUN_TIME.contains(w))
        || words[at].starts_with("autosus");
    is_of_sleep(words[at]) && !others && !run_time
}

/// Behind such a word stands what a sleep does not take.
const JOINS: [&str; 11] =
    ["after", "until", "because", "as", "while", "and", "when", "takes", "took", "needs", "on"];

/// Whether a word of a part of a clause is of a sleep of the machine.
fn names_it(words: &[&str], mut part: std::ops::Range<usize>) -> bool {
    part.any(|at| is_of_machine(words, at))
}

/// Whether the words of a clause, in small letters, say so.
pub(crate) fn is_told(words: &[&str]) -> bool {
    takes_long(words) || is_slow(words) || is_waited_for(words)
}

/// Whether the words of a clause bound a time from above, or are of no sleep of the machine.
pub(crate) fn is_bounded_or_elsewhere(words: &[&str]) -> bool {
    let sleeps = words.iter().any(|w| is_of_sleep(w));
    is_bounded(words) || sleeps && !names_it(words, 0..words.len())
}

/// "At most", "not more than a minute".
fn is_bounded(words: &[&str]) -> bool {
    words.windows(2).any(|w| matches!(w, ["at", "most"] | ["at", "worst"] | ["no" | "not", "more"]))
}

/// Whether a time of a second or more stands among words.
fn has_seconds(words: &[&str]) -> bool {
    let unit = |u: &str| {
        u.starts_with("second")
            || u.starts_with("minute")
            || matches!(u, "s" | "sec" | "secs" | "min" | "mins")
    };
    let number = |w: &str| w.parse::<u32>().is_ok_and(|n| n > 0);
    let glued = |w: &str| {
        let digits = w.bytes().take_while(u8::is_ascii_digit).count();
        number(&w[..digits]) && unit(&w[digits..])
    };
    let is_many = |w: &str| matches!(w, "seconds" | "minutes");
    let named =
        |w: &str| number(w) || matches!(w, "a" | "one" | "two" | "few" | "several" | "many");
    // `0.4 s` comes here as three words.
    let whole = |at: usize| at == 0 || words[at - 1] != "0";
    let counts = |(at, w): (usize, &&str)| {
        let told = named(w) && words.get(at + 1).is_some_and(|u| unit(u));
        whole(at) && (glued(w) || told) || at > 0 && !number(words[at - 1]) && is_many(w)
    };
    words.iter().enumerate().any(counts)
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
        let behind = at + 1..words.len().min(at + 1 + BEHIND);
        let next = behind.clone().find(|n| !LITTLE.contains(&words[*n]));
        let from = at.saturating_sub(BEFORE);
        let subject = (from..at).rev().find(|n| is_of_sleep(words[*n]));
        let is = |n: usize| is_of_machine(words, n) && words[n..at].iter().any(|w| IS.contains(w));
        let told = next.is_some_and(|n| is_of_machine(words, n)) || subject.is_some_and(is);
        // What is delayed for as long as nobody notices is not slow.
        let counted = words[at] != "delayed" || has_seconds(&words[at..]);
        told && counted && !is_undone(words, at)
    })
}

/// "Long delay resuming from suspend".
fn is_waited_for(words: &[&str]) -> bool {
    const NEAR: usize = 5;
    words.iter().enumerate().filter(|(_, w)| WAITS.contains(w)).any(|(at, _)| {
        let long = words[at.saturating_sub(2)..at].iter().any(|w| LONG.contains(w));
        let near = at.saturating_sub(NEAR)..words.len().min(at + 1 + NEAR);
        long && names_it(words, near) && !is_bounded(words) && !is_undone(words, at)
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
        let behind = from + long;
        let until = words.get(behind).is_some_and(|w| matches!(*w, "until" | "till" | "before"));
        let far = if until { UNTIL } else { BEHIND };
        let near = names_it(words, at.saturating_sub(BEFORE)..at)
            || names_it(words, behind..words.len().min(behind + far));
        near && !is_bounded(words)
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
            "resume is delayed by 20 seconds",
            "resume is delayed by a few seconds",
            "waking the laptop takes 40 seconds",
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
            "a woken task is delayed until its next slice",
            "waking a kthread is slow here",
            "the sleeping worker is slow to get its cpu",
            "runtime resume of the panel is delayed by 9 us",
            "runtime resume is slow",
            "waking my children takes 40 minutes",
            "resume takes a minute at most",
            "resume is delayed by 12 us",
            "resume is delayed by 0 4 s",
            "resume is delayed by 0 4 seconds",
            "a thread wakeup is slow",
            "the wakeup of a thread takes 10 seconds",
        ] {
            assert!(!complains(said), "{said}");
        }
    }
}
