//! Whether a sentence of a writer complains of a sleep: that the machine does not sleep or wake,
//! wakes by itself, drains, or comes back with something that is dead. Found by what words stand
//! together, because people say each of these in a hundred ways.

use crate::case::Case;
use crate::message::{Message, Trust};
use crate::slowness::{self, is_of_sleep};
use crate::tongue::{self, has};

/// What sleeps and wakes a machine.
const SLEEP: &str = "suspend|sleep|standby|s2idle|s0ix|hibernat|lid closed|closing the lid|closed the lid|power down|powers down";
/// Words of a machine that comes back.
const WAKES: [&str; 11] = [
    "wake", "wakes", "woke", "woken", "waking", "wakeup", "resume", "resumes", "resumed",
    "resuming", "turns",
];
/// That nobody asked for it, or not so soon.
const BY_ITSELF: &str = "by itself|on itself|on its own|immediately|instantly|right away|straight away|at once|right after|as soon as|spontaneously|randomly|at random|for no reason|out of nowhere|seconds later|second later|again and again|every few";
/// That nobody asked for it, whatever the sentence is of: of these a machine that is quick is not
/// praised.
const UNASKED: &str = "by itself|on itself|on its own|of its own accord|spontaneously|randomly|at random|for no reason|out of nowhere|seconds later|second later|moments later|moment later";
/// What a machine does that is there again.
const THERE_AGAIN: &str = "comes back|came back|coming back|is back|was back|on again|back on|up again|awake again|comes on|came on|turns on|turned on|switches on|switched on|powers on|powered on|starts up|started up|boots up|resumes|resumed|resuming|wakes|woke|waking up";
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
const AFTER: &str = "after resum|after suspend|after sleep|after wak|after s2idle|after s3|after a suspend|after hibernat|after a sleep|on resume|on wake|upon resume|upon wak|when resum|when wak|when it wakes|following suspend|following a suspend|following a sleep|following resume|woken up|from suspend|from sleep|from s3|from hibernat|post-resume|post-suspend";
/// Words for trouble of whatever kind, which behind a sleep is of it.
const TROUBLES: [&str; 12] = [
    "problem",
    "problems",
    "issue",
    "issues",
    "trouble",
    "troubles",
    "artifacts",
    "artefacts",
    "glitch",
    "glitches",
    "lost",
    "loses",
];
/// So many words further on stands what did not come to be.
const FAR: usize = 7;
/// Of what is so no more it stands beside.
const BESIDE: usize = 3;

fn words(lower: &str) -> Vec<&str> {
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '\'';
    lower.split(word).filter(|w| !w.is_empty()).collect()
}

/// Words of a sentence that is of another time, machine or person, wishes, mends, or praises.
const ELSEWHERE: &str = "?|unlike my|fix|solved|resolved|used to|if |would like|would be|would have|would you|would anyone|would love|last year|years ago|other laptop|other machine|old laptop|old machine|old pc|previous laptop|reproduce|how to |not a single|zero|other pc|another machine|windows|macos|wrote|says that|said that|claims|works|thanks|[patch|hasn't|haven't|phone|app ";

/// That something no longer does what it did.
const STOPS: [&str; 4] = ["stop", "stops", "stopped", "quits"];
/// What things do.
const DOES: [&str; 14] = [
    "work",
    "working",
    "respond",
    "responding",
    "function",
    "functioning",
    "react",
    "load",
    "initialize",
    "initialise",
    "reconnect",
    "appear",
    "resume",
    "wake",
];
/// It comes, but late.
const LATE: &str = "takes forever|takes ages|takes minutes|takes a minute|takes several minutes|takes too long|taking too long|takes very long|takes so long|takes a long time|takes a very long time|takes an eternity|painfully slow|extremely slow|super slow|so slow|very slow";

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
    if has(lower, AFTER) && (is_idle(&words) || is_missing(&words)) {
        return true;
    }
    let at = words.iter().position(|w| DEAD.contains(w));
    let denied =
        |at: usize| words[at.saturating_sub(3)..at].iter().any(|w| NEVER.contains(w) || *w == "no");
    // A fault that is gone is none.
    let fault = "bug|flicker|problem|issue|error|noise|warning|message|theme|delay|lag";
    let gone = at.is_some_and(|at| words[at] == "gone") && has(lower, fault);
    let over = |at: usize| {
        let mut next = words[at + 1..].iter().take(3);
        next.any(|w| NEVER.contains(w) || matches!(*w, "gone" | "away" | "over" | "went"))
    };
    let mut troubles = (0..words.len()).filter(|at| TROUBLES.contains(&words[*at]));
    let troubled = troubles.any(|at| !denied(at) && !over(at));
    (at.is_some_and(|at| !denied(at)) && !gone || troubled) && has(lower, AFTER)
}

/// What a writer calls his machine as a whole.
const MACHINES: [&str; 14] = [
    "board",
    "machine",
    "system",
    "laptop",
    "notebook",
    "computer",
    "pc",
    "box",
    "target",
    "tablet",
    "phone",
    "server",
    "desktop",
    "everything",
];
/// That it is so.
const IS: [&str; 16] = [
    "is", "was", "stays", "stayed", "remains", "remained", "goes", "went", "seems", "looks",
    "appears", "becomes", "became", "gets", "got", "just",
];
/// How it is then.
const LIES: [&str; 8] =
    ["dead", "hung", "hanging", "stuck", "frozen", "unresponsive", "bricked", "locked"];
/// What it does.
const DIES: [&str; 14] = [
    "freezes",
    "froze",
    "hangs",
    "hung",
    "crashes",
    "crashed",
    "reboots",
    "rebooted",
    "dies",
    "died",
    "resets",
    "restarts",
    "restarted",
    "locks",
];
/// That nothing else helps, or that somebody had to.
const NEEDS: [&str; 15] = [
    "only",
    "have to",
    "has to",
    "had to",
    "need",
    "needs",
    "needed",
    "must",
    "requires",
    "required",
    "until",
    "unless",
    "forced",
    "nothing but",
    "other than",
];
/// What somebody had to do.
const RESETS: [&str; 13] = [
    "battery pull",
    "pulling the",
    "reset",
    "reboot",
    "rebooting",
    "powercycle",
    "powercycled",
    "power cycle",
    "power off",
    "power button",
    "switch off",
    "pull the plug",
    "remove the battery",
];

/// Whether a sentence, in small letters, tells of a time behind a sleep.
pub(crate) fn is_behind_a_sleep(lower: &str) -> bool {
    has(lower, AFTER)
}

/// Whether a sentence, in small letters, speaks of the machine as a whole.
pub(crate) fn names_a_machine(lower: &str) -> bool {
    words(lower).iter().any(|w| MACHINES.contains(w))
}

/// Whether a sentence, in small letters, says that the machine is dead, or that nothing but a
/// reset helps.
pub(crate) fn tells_of_the_end(lower: &str) -> bool {
    const NEAR: usize = 5;
    let words = words(lower);
    let near = |at: usize| &words[at + 1..(at + 1 + NEAR).min(words.len())];
    let lies = (0..words.len()).filter(|at| MACHINES.contains(&words[*at])).any(|at| {
        let next = near(at);
        let denies = |w: &&str| NEVER.contains(w) || matches!(*w, "no" | "if" | "longer");
        let asked = words[at.saturating_sub(2)..at].iter();
        let asked = asked.into_iter().any(|w| matches!(*w, "if" | "whether"));
        let dies = next.iter().take(3).position(|w| DIES.contains(w));
        if dies.is_some_and(|d| !next[..d].iter().any(denies) && !asked) {
            return true;
        }
        // A fan is `dead silent`, a machine `stuck on` a release, and a screen is locked.
        let behind = |n: usize| words.get(at + 2 + n).copied().unwrap_or_default();
        let lies = |(n, w): (usize, &&str)| match *w {
            "locked" => behind(n) == "up",
            "stuck" => !matches!(behind(n), "on" | "with"),
            w => LIES.contains(&w) && !matches!(behind(n), "silent" | "quiet" | "slow" | "simple"),
        };
        let dead = next.iter().enumerate().position(lies);
        dead.is_some_and(|dead| {
            let before = &next[..dead];
            before.iter().any(|w| IS.contains(w)) && !before.iter().any(denies) && !asked
        })
    });
    // One word, or two that stand together.
    let is = |at: usize, list: &[&str]| {
        let parts = |what: &str| {
            let mut own = words[at..].iter();
            what.split(' ').all(|part| own.next() == Some(&part))
        };
        list.iter().find(|what| parts(what)).map(|what| what.split(' ').count())
    };
    let helps = (0..words.len()).any(|at| {
        let denied = || is_denied(&words, at);
        let Some(long) = is(at, &NEEDS).filter(|_| !denied()) else { return false };
        let next = (at + long..words.len()).take(NEAR);
        next.filter_map(|at| Some(at + is(at, &RESETS)?)).any(|behind| {
            // What is reset may be a part of it.
            let what = words.get(behind + 1).filter(|_| {
                matches!(words.get(behind), Some(&("the" | "its" | "a" | "my" | "this")))
            });
            what.is_none_or(|w| MACHINES.contains(w) || *w == "power")
        })
    });
    lies || helps
}

/// The sentence of a writer that says so, and its line.
pub(crate) fn of_return(case: &Case) -> Option<(&Message, &str)> {
    let said = case.messages.iter().filter(|m| m.trust == Trust::Prose);
    said.flat_map(|m| clauses(&m.text).map(move |s| (m, s))).find(|(_, s)| {
        let lower = s.to_ascii_lowercase();
        is_dead(&lower) && !has(&lower, ELSEWHERE) || tongue::is_dead(s)
    })
}

/// The clauses of a text: a mark inside of a word, as in `6.14.2`, ends none.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let ends = |w: &str| w.ends_with(['.', ',', ';']);
    let mut from = 0;
    let places = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]);
    places.filter_map(move |at| {
        let clause = &text[from..at];
        (ends(clause) || at == text.len()).then(|| {
            from = at;
            clause.trim().trim_end_matches(['.', ',', ';'])
        })
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

/// What is there again after a sleep.
const THERE: [&str; 30] = [
    "wifi",
    "wi",
    "wlan",
    "network",
    "networks",
    "networking",
    "internet",
    "sound",
    "audio",
    "display",
    "screen",
    "picture",
    "image",
    "video",
    "signal",
    "bluetooth",
    "touchpad",
    "trackpad",
    "touchscreen",
    "keyboard",
    "mouse",
    "camera",
    "webcam",
    "usb",
    "ethernet",
    "backlight",
    "output",
    "connection",
    "touch",
    "input",
];
/// What is no thing that is missing.
const FAULTS: [&str; 10] = [
    "problem", "problems", "issue", "issues", "error", "errors", "trouble", "drops", "loss",
    "failures",
];

/// "No wifi after resume".
fn is_missing(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, w)| {
        let mut next = words[at + 1..].iter().take(3);
        *w == "no"
            && next.clone().take(2).any(|w| THERE.contains(w))
            && !next.any(|w| FAULTS.contains(w))
    })
}

/// That a battery is used up.
const DRAINS: &str = "drain|loses|lost|losing|is empty|was empty|battery empty|battery dead|is dead|was dead|went from|goes from|dropped|drops|fell from|falls from|down to|went down";

/// What a machine does that did not sleep or wake well.
const BREAKS: [&str; 13] = [
    "freezes",
    "freeze",
    "froze",
    "hangs",
    "hang",
    "hung",
    "crashes",
    "crash",
    "crashed",
    "reboots",
    "locks",
    "overheats",
    "panics",
];

/// What is said of a sleep right behind its name.
const FAILS: [&str; 9] =
    ["fails", "failed", "failing", "fail", "broken", "slow", "regression", "timeout", "timeouts"];

/// What something does that does not answer, a few words before the sleep that it is in.
const TIMES_OUT: [&str; 4] = ["timeout", "timeouts", "times", "timed"];

/// Whether one of the three words before `at` denies.
fn is_denied(words: &[&str], at: usize) -> bool {
    words[at.saturating_sub(3)..at].iter().any(|w| NEVER.contains(w) || *w == "no")
}

/// Whether a sentence, in small letters, says that trouble never was, or is over.
pub(crate) fn praises(lower: &str) -> bool {
    const TROUBLE: [&str; 8] =
        ["fail", "problem", "issue", "trouble", "gone", "lost", "broken", "error"];
    let words = words(lower);
    let never = words.iter().enumerate().any(|(at, w)| {
        let mut next = words[at + 1..].iter().take(3);
        *w == "never"
            && next.any(|w| TROUBLE.iter().any(|t| w.starts_with(t)) || BREAKS.contains(w))
    });
    let fault = "bug|hang|problem|issue|freeze|crash|drain";
    let gone = has(lower, "is gone|are gone|went away|has gone") && has(lower, fault);
    let no_issue = has(
        lower,
        "not have any issue|n't have any issue|not have any problem|n't have any problem|not have an issue|no issues with|no problems with|no issue with|no problem with",
    );
    never || gone || no_issue || has(lower, "drain is zero|zero drain|no drain|at no time")
}

/// Whether what a sentence tells was while somebody used the machine: "while I was typing".
fn is_in_use(words: &[&str], lower: &str) -> bool {
    let does = words.iter().enumerate().filter(|(_, w)| **w == "while").any(|(at, _)| {
        let mut next = words[at + 1..].iter().take(3);
        next.any(|w| w.ends_with("ing") && !is_of_sleep(w))
    });
    does || has(lower, "not in sleep|not while asleep")
}

/// What is denied in these words failed nobody: `does not affect the wakeup`.
const NEUTRAL: [&str; 20] = [
    "affect",
    "affected",
    "change",
    "matter",
    "know",
    "mean",
    "depend",
    "touch",
    "include",
    "contain",
    "concern",
    "involve",
    "mention",
    "require",
    "need",
    "use",
    "care",
    "count",
    "want",
    "understand",
];

/// Whether one of so many words behind a denial is of a sleep, or of `others`.
fn denies(words: &[&str], far: usize, others: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, w)| {
        let mut next = words[at + 1..].iter().take(far);
        let neutral = match words.get(at + 1) {
            // `which do not have wakeup support`
            Some(&"have") => words.get(at + 2).is_some_and(|w| is_of_sleep(w)),
            Some(w) => NEUTRAL.contains(w),
            None => false,
        };
        NEVER.contains(w) && !neutral && next.any(|w| is_of_sleep(w) || others.contains(w))
    })
}

/// Whether a machine, and not a part of it, is there again unasked: by itself, so soon, or
/// "without me touching anything".
fn is_unasked(lower: &str, words: &[&str]) -> bool {
    const FAR: usize = 4;
    let hand = |w: &str| BY_HAND.split('|').any(|h| w.starts_with(h)) || w.starts_with("interact");
    let without = words.iter().enumerate().any(|(at, w)| {
        *w == "without" && words[at + 1..].iter().take(FAR).any(|w| hand(w) || *w == "input")
    });
    let part = |w: &&str| THERE.contains(w) || matches!(*w, "fan" | "fans" | "light" | "led");
    let asked = has(lower, BY_HAND) && !without;
    (has(lower, UNASKED) || without)
        && has(lower, THERE_AGAIN)
        && !asked
        && !words.iter().any(part)
        && !words.contains(&"never")
}

/// A sentence without what it shows as code.
fn without_code(lower: &str) -> String {
    let whole = lower.matches('`').count().is_multiple_of(2);
    lower.split('`').enumerate().filter(|(n, _)| !whole || n % 2 == 0).map(|(_, s)| s).collect()
}

/// Whether a sentence, in small letters, complains.
pub(crate) fn complains(lower: &str) -> bool {
    if tongue::complains(lower) {
        return true;
    }
    // What was is told before what is.
    if let Some((_, now)) = lower.split_once(", but ")
        && complains(now)
    {
        return true;
    }
    let words = words(lower);
    if has(lower, ELSEWHERE) || praises(lower) {
        return false;
    }
    let is = |all: &[&str]| words.iter().any(|w| all.contains(w));
    let sleeps = has(lower, SLEEP) || lower.contains("resum");
    let by_itself = has(lower, BY_ITSELF);
    let at_night = has(lower, "at night|overnight|over night|in the night|in my bag|in the bag");
    let wakes = (has(lower, SLEEP) || at_night)
        && is(&WAKES)
        && by_itself
        && !has(lower, BY_HAND)
        && !words.contains(&"never");
    let wakes = wakes || is_unasked(lower, &words);
    // "It never stays asleep", "the sleep does not last".
    let lasts = (sleeps || words.contains(&"asleep")) && denies(&words, BESIDE, &["last", "hold"]);
    let never = denies(&words, FAR, &["asleep"]) || lasts;
    // "It no longer suspends" is one, "it no longer wakes by itself" and "hangs" are none.
    let no_longer = words.windows(3).any(|w| w[0] == "no" && w[1] == "longer" && is_of_sleep(w[2]));
    if has(lower, "no longer|any more|anymore|any longer") {
        let near = denies(&words, BESIDE, &DOES);
        return (near || no_longer) && sleeps && !by_itself;
    }
    let battery = lower.contains("batter") || lower.contains('%');
    let drains = battery
        && has(lower, DRAINS)
        && (sleeps
            || has(
                lower,
                "overnight|over night|in the bag|in my bag|in a bag|every morning|each morning|next morning|by morning",
            ))
        && !is_in_use(&words, lower);
    let costly = sleeps
        && !has(lower, "no more|no longer|not |n't ")
        && has(lower, "consum|power draw|draws")
        && has(lower, "high|ton of|lots of|too much|a lot|excessive|huge")
        && !is_in_use(&words, lower);
    // "Suspend not working", "sleep is broken", "resume fails".
    let undenied = |list: &[&str]| {
        words.iter().enumerate().any(|(at, w)| list.contains(w) && !is_denied(&words, at))
    };
    let fails = words.iter().enumerate().any(|(at, w)| {
        let next: Vec<&&str> = words[at + 1..].iter().take(2).collect();
        let is = next.first().is_some_and(|w| matches!(**w, "is" | "are"));
        let said = if is { next.get(1) } else { next.first() };
        is_of_sleep(w) && said.is_some_and(|w| FAILS.contains(w))
    });
    // "Reset timeout during s2idle resume", "which times out on resume".
    let times_out = words.iter().enumerate().any(|(at, w)| {
        let out =
            !w.starts_with("time") || w.starts_with("timeout") || words.get(at + 1) == Some(&"out");
        let mut next = words[at + 1..].iter().take(FAR);
        let inside = next.clone().any(|w| matches!(*w, "during" | "on" | "in" | "after" | "upon"));
        TIMES_OUT.contains(w) && out && inside && next.any(|w| is_of_sleep(w))
    });
    let again = has(lower, "immediate suspend|immediate sleep|immediate wake|immediate resume");
    let broken = times_out
        || again
        || sleeps && (is_idle(&words) || undenied(&["broken"]) || undenied(&BREAKS))
        || has(lower, AFTER) && undenied(&BREAKS)
        || fails;
    let named = sleeps || words.iter().any(|w| is_of_sleep(w));
    // A command is called so, too.
    let plain = without_code(lower);
    let long = plain.split([',', ';']).any(|clause| slowness::is_told(&self::words(clause)));
    let late = |clause: &str| {
        let words = self::words(clause);
        let other = slowness::was_once(&words) || slowness::is_bounded_or_elsewhere(&words);
        has(clause, LATE) && !other
    };
    let late = named && (long || lower.split([',', ';']).any(late));
    // Hot or loud, though it sleeps.
    let awake = sleeps
        && has(
            lower,
            "keep spinning|keeps spinning|at full speed|stays hot|is hot|burning hot|fans run|fan runs|fans stay on|fan stays on",
        );
    wakes
        || awake && !is_in_use(&words, lower)
        || is_dead(lower)
        || never
        || drains
        || costly
        || late
        || broken
}

#[cfg(test)]
mod tests {
    use super::{clauses, complains, tells_of_the_end};

    #[test]
    fn what_sleeps_inside_of_the_machine_and_what_is_bounded_is_no_complaint() {
        for said in [
            "a woken task is delayed until its next slice",
            "waking my children takes 40 minutes",
            "waking my children takes a minute",
            "the wait for a resume takes a minute at most",
            "runtime suspend of the panel takes ages",
        ] {
            assert!(!complains(said), "{said}");
        }
        assert!(complains("resume takes a minute"));
    }

    #[test]
    fn a_version_is_no_end_of_a_clause() {
        let text = "On 6.14.2-x it is fine, on 7.1 not. That is all.";
        let want = ["On 6.14.2-x it is fine", "on 7.1 not", "That is all"];
        assert_eq!(clauses(text).collect::<Vec<_>>(), want);
        assert_eq!(clauses("no end").collect::<Vec<_>>(), ["no end"]);
    }

    #[test]
    fn who_has_nothing_left_but_a_reset_tells_of_the_end() {
        for said in [
            "after echo mem the system just hangs there and is dead, so the board is dead",
            "the laptop then is completely frozen",
            "only a hard reset brings it back",
            "i had to hold the power button",
            "it needs a power cycle",
            "i must pull the plug",
            "nothing happens until i reset the machine",
            "the phone froze and rebooted",
            "only a battery pull helps",
        ] {
            assert!(tells_of_the_end(said), "{said}");
        }
        for said in [
            "the board is not dead",
            "you do not have to reboot",
            "no need to reset anything",
            "the driver needs to reset its fifo",
            "i had to reset the bios settings",
            "if the system is stuck, press a key",
            "the system is no longer stuck",
            "my board never hangs",
            "the fan of the machine is dead silent",
            "the board is stuck on 4.9",
            "the laptop was locked when i came",
            "the board no longer reboots",
            "the reset line of the board is wired to gpio 5",
        ] {
            assert!(!tells_of_the_end(said), "{said}");
        }
    }

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
            "no wifi after resume, nothing in the log",
            "there is no sound after wake",
            "high power consumption in s2idle, about 5 w",
            "it consumes a ton of power while it sleeps",
            "my touchpad is gone after waking",
            "bluetooth stops working after suspend",
            "the keyboard doesn't respond after resume",
            "waking up from sleep takes forever",
            "suspend not working on nissa",
            "the battery went from 100 % to 0 % overnight",
            "my system freezes on suspend",
            "the laptop reboots instead of resuming",
            "resume is slow",
            "it no longer suspends when i close the lid",
            "when i ran systemctl suspend it would just woke up immediately",
            "touchscreen unresponsive following a suspend cycle",
            "bluetooth gone once woken up",
            "the laptop wakes up on its own at night",
            "my fans keep spinning while suspended",
            "i cannot suspend my laptop anymore",
            "suspend does not work anymore",
            "takes 40 seconds to wake up from sleep",
            "mt0e: no wi-fi after suspend",
            "the hang of 6.8 is solved, but now the wifi is gone after resume",
            "trackpad and touchscreen problems after hibernation",
            "issue with wifi after sleep",
            "bluetooth lost after suspend",
            "fan spins at full speed after resume",
            "weird display artifacts after wake",
            "i do not know why it does not wake up",
            "i don't have any sound, and it does not go to sleep",
            "battery empty every morning",
            "it resumes by itself right away",
            "it comes back at once, without me touching anything",
            "two seconds later it is on again",
            "the box is awake again of its own accord",
            "it turned on for no reason",
            "the machine never stays asleep",
            "it does not stay asleep",
            "the sleep does not last",
            "suspend won't hold",
            "it froze after wake",
            "it crashed on wake",
            "elm 7: long delay resuming from suspend",
            "resume from s2idle takes a long time",
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
            "i lost 20% of battery while watching a film before i sent it to sleep",
            "i never had a problem with suspend on this laptop",
            "my laptop has never failed to resume",
            "not a single failed resume in 300 cycles",
            "the bug where the laptop does not wake is gone",
            "i could not reproduce the hang on resume",
            "wifi was never gone after resume",
            "no wifi problems after resume",
            "the issue after suspend went away",
            "i lost my key after i had put it to sleep, on the train",
            "the fan spins at full speed while i compile",
            "no error in the log after suspend",
            "low power consumption in suspend",
            "no more high power consumption in suspend",
            "i do not have any issue with suspend",
            "unlike my old dell, which never resumed",
            "my old laptop did not wake from sleep",
            "suspend is not broken on this board",
            "it no longer hangs on resume",
            "the screen does not stay black after resume any more",
            "it no longer wakes by itself from sleep",
            "it takes 2 seconds to wake up from sleep",
            "`sleep 30` took 95 seconds by the clock, so it was asleep for 65 of them, suspended",
            "the build takes 40 minutes here, and then i let it suspend",
            "this change does not affect the wakeup of the keyboard",
            "i do not know how it goes to sleep",
            "it needs the elm driver, which does not have wakeup support",
            "it comes back at once",
            "it resumes instantly",
            "two seconds later the screen is on again",
            "the wifi comes back on its own",
            "the fan turns on by itself",
            "i press a key and two seconds later it is on again",
            "it resumes by itself when i touch the keyboard",
            "the last sleep was fine",
            "it never froze after wake",
            "it used to take 40 seconds to resume",
            "no long delay on resume any more",
            "resume was very slow before this release",
        ] {
            assert!(!complains(said), "{said}");
        }
    }
}
