//! What forbids to say that nothing is wrong, though no rule found a fault: a log that ends on
//! the way down, or while a machine that wrote its image is shut down, and trouble that the
//! writer tells of and no finding explains.

use crate::attempt::Attempt;
use crate::case::Case;
use crate::complaint::{complains, is_calmed, praises};
use crate::earlier;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::rules::hung::{Reached, calls_up, of_the_kernel};
use crate::rules::night::{turns, woke};
use crate::rules::reset;
use crate::slowness::is_of_sleep;
use crate::stage;
use crate::way::{Kind, Step};
use dormouse_base::phase::Direction;

/// The name of the rule.
pub(crate) const DOUBT: &str = "no-all-clear";

/// How such a finding begins where all that it says is that nobody could read the writer's words.
const UNREAD: &str = "The writer's words";

/// Whether a finding says no more than that: what the lines show is said before.
pub(crate) fn is_unread(f: &Finding) -> bool {
    f.id == DOUBT && f.sentence.starts_with(UNREAD)
}

/// Findings that may be broken or a risk, and explain no machine that dies: how deep it slept and
/// what that cost, clocks, settings, wakeups, and devices that stay awake.
const NO_DEATH: [&str; 9] = [
    "mode-",
    "clock-",
    "knob-",
    "wake-",
    "night-",
    "abort-wakeup",
    "abort-source-",
    "rpm-forbidden",
    "rpm-usage-held",
];

/// What speaks against an all-clear where all that was found is good to know, and trouble of a
/// sort that nothing of what was found can explain.
pub(crate) fn judge(case: &Case, found: &[Finding]) -> Option<Finding> {
    // What is slow explains no failure.
    let mut grave = found.iter().filter(|f| !matches!(f.level, Level::Note | Level::Slow));
    let other = grave.clone().next().is_some();
    if !grave.all(|f| NO_DEATH.iter().any(|id| f.id.starts_with(id))) {
        return None;
    }
    let slow = other || found.iter().any(|f| f.level == Level::Slow);
    // Of what is over it was told how it ended.
    let over = found.iter().any(|f| f.over);
    let cut = case.attempts.iter().rfind(|a| !a.inside).filter(|_| !over && !slow);
    let cut = cut.and_then(|a| {
        let (first, last) = ends_down(case, a)?;
        // What ran last may have no end because the text has none.
        let reached = Some(Reached::of(&of_the_kernel(case.of(a))));
        Some((first, last, reached.filter(|r| matches!(r, Reached::Open(_)))))
    });
    // What a night cost was told with its figures.
    let cost = found.iter().any(|f| matches!(f.id, "night-cost" | "night-rate"));
    // Trouble of a machine that did not sleep is another matter.
    let slept = !case.attempts.is_empty()
        || !case.parts.is_empty()
        || case.night.slept_at_all()
        || found.iter().any(|f| {
            // A start that found no image tells what happened.
            let image = f.area == Area::Hibernation && f.id != reset::NOT_FOUND;
            f.area == Area::Mode || image || f.id == "wake-armed"
        });
    // Words alone are nothing to judge, and a start that found no image is told.
    let shows = !case.values.is_empty() || !found.is_empty() || case.night.speaks();
    let shows = shows && found.iter().all(|f| f.id != reset::NOT_FOUND);
    let told = trouble(case)
        .filter(|t| {
            slept || shows && names_a_sleep(t.1) && tells_of_death(t.1) && !t.1.contains('|')
        })
        .filter(|_| earlier::closed(case).is_none() && !is_calmed(case))
        .filter(|t| {
            let lower = t.1.to_ascii_lowercase();
            let of_cost = ["drain", "batter", "lost ", "loses", "losing", "%", "consum", "power"];
            !(cost && of_cost.iter().any(|w| lower.contains(w)))
        })
        .filter(|t| !other || tells_of_death(t.1))
        .filter(|t| other || !slow || tells_of_failure(t.1))
        // What a finding names is explained by it.
        .filter(|t| !names(t.1).any(|n| found.iter().any(|f| f.sentence.contains(n))));
    let mut words = Vec::new();
    if let Some((first, _, reached)) = &cut {
        let up = reached.is_some() && last_is_up(case);
        let place = if up { "breaks off while devices come back" } else { "ends on the way down" };
        words.push(format!(
            "The last attempt of the text (line {}) {place}: whether the machine came back from it is not there.{}",
            first.line,
            reached.as_ref().map_or(String::new(), Reached::words)
        ));
    }
    if let Some((_, said)) = told {
        let said: String = said.trim_end_matches('.').chars().take(MOST).collect();
        words.push(format!("The writer tells of trouble that no finding explains: \"{said}\"."));
    }
    let off = ends_off(case).filter(|_| !slow);
    if let Some((m, device)) = off {
        words.push(format!(
            "The text ends at the shutdown of {device} (line {}), after the image was written: whether the machine went off is not there.",
            m.line
        ));
    }
    // Last: only alone it begins the sentence.
    let foreign = is_foreign(case).filter(|_| slept && told.is_none() && !slow);
    if let Some(m) = foreign {
        words.push(format!(
            "{UNREAD} (line {}) are in a language that no rule reads: what he complains of is not known.",
            m.line
        ));
    }
    if words.is_empty() {
        return None;
    }
    let mut ends: Vec<&Message> = cut.iter().flat_map(|c| [c.0, c.1]).collect();
    ends.extend(cut.into_iter().filter_map(|c| c.2).flat_map(|r| r.shown()));
    ends.sort_by_key(|m| m.line);
    ends.dedup_by_key(|m| m.line);
    let shown = ends.into_iter();
    let shown = shown.chain(off.map(|o| o.0)).chain(told.map(|t| t.0)).chain(foreign);
    let rule = (DOUBT, Area::Abort, Level::Note);
    Some(
        Finding::new(rule, Confidence::Likely)
            .says(words.join(" "))
            .look("Give the lines that follow, or those of the moment when it happened: what the text has is no proof of health.")
            .shown_by(lines(shown)),
    )
}

/// So many letters of a sentence are quoted.
const MOST: usize = 160;

/// Whether a sentence says that a sleep failed, and not that it was slow.
fn tells_of_failure(said: &str) -> bool {
    let lower = said.to_ascii_lowercase();
    let slow = ["slow", "take", "took", "long", "delay", "second", "minute"];
    (lower.contains("fail") || tells_of_death(said)) && !slow.iter().any(|w| lower.contains(w))
}

/// Whether a sentence says that the machine died, or had to be switched off.
fn tells_of_death(said: &str) -> bool {
    const DIES: [&str; 17] = [
        "not resume",
        "n't resume",
        "not wake",
        "n't wake",
        "never wakes",
        "hang",
        "freez",
        "crash",
        "reboot",
        "panic",
        "black screen",
        "stays black",
        "goes black",
        "hard reset",
        "power button",
        "locks up",
        "power off",
    ];
    let lower = said.to_ascii_lowercase();
    DIES.iter().any(|w| lower.contains(w))
}

/// What a sentence names besides plain words: `foo-bar`, `baz.service`, `0000:00:14.0`.
fn names(said: &str) -> impl Iterator<Item = &str> {
    const LONG: usize = 6;
    let edge = |c: char| !c.is_alphanumeric();
    said.split([' ', '"', '`', '(', ')', ',']).map(move |w| w.trim_matches(edge)).filter(|w| {
        w.len() >= LONG
            && w.contains(['-', '_', ':', '.'])
            && w.contains(char::is_alphabetic)
            && !["non-", "s0i", "re-", "auto-", "post-", "pre-"].iter().any(|p| w.starts_with(p))
    })
}

/// So many lines may follow what the core says last of a way down: more are of a machine that
/// runs.
const FEW: usize = 40;

/// First and last line of an attempt of which a log shows the way down alone, and ends there.
fn ends_down<'a>(case: &'a Case, a: &Attempt) -> Option<(&'a Message, &'a Message)> {
    let of_kernel = |m: &&Message| m.trust.is_of_a_kernel();
    let more = case.messages[a.end..].iter().any(|m| of_kernel(&m));
    let back = woke::back(case, a).is_some() || turns::thawed(case, a).is_some();
    if a.closed || more || back {
        return None;
    }
    let mut said = case.of(a).iter().filter(of_kernel);
    let last = said.clone().rev().position(|m| stage::begins(m).is_some());
    if last.is_none_or(|n| n > FEW) {
        return None;
    }
    let up = |m: &Message| {
        stage::begins(m).is_some_and(|s| s.direction == Direction::Resume) || stage::ends_sleep(m)
    };
    let slept_or_booted = |m: &Message| {
        m.has("suspend-to-idle") || m.has("uspended for ") || m.text.starts_with("Linux version ")
    };
    let ended = said.clone().any(|m| up(m) || slept_or_booted(m));
    let first = said.next()?;
    // Services tell of it, too.
    let back = |s: &Step| matches!(s.kind, Kind::Back | Kind::Thawed | Kind::Ended);
    let ended = ended || case.way.steps.iter().any(|s| s.line > first.line && back(s));
    (!ended).then_some((first, said.next_back().unwrap_or(first)))
}

/// Whether callbacks of the way back began in the last attempt.
fn last_is_up(case: &Case) -> bool {
    let last = case.attempts.iter().rfind(|a| !a.inside);
    last.is_some_and(|a| case.of(a).iter().any(calls_up))
}

/// The last message of a log that ends while devices are shut down behind a written image, and
/// whose it is: `NAME: shutdown` (drivers/base/core.c:device_shutdown, 6.12, with
/// initcall_debug). The kernel's last words would be those of kernel/reboot.c.
fn ends_off(case: &Case) -> Option<(&Message, &str)> {
    let mut said = case.messages.iter().rev().filter(|m| m.trust.is_of_a_kernel());
    let last = said.next()?;
    let who = last.text.strip_suffix(": shutdown")?;
    let device = who.rsplit(' ').next().filter(|d| !d.is_empty())?;
    let written = |m: &Message| m.has("Image saving done") || m.has("Wrote ");
    let begins =
        |m: &&Message| !m.says("hibernation entry") && !m.text.starts_with("Linux version");
    said.take_while(begins).any(written).then_some((last, device))
}

/// Words for what a healthy sleep does not do.
const TROUBLE: [&str; 44] = [
    "reisub",
    "laptop is dead",
    "machine is dead",
    "force-power",
    "can't properly",
    "not wake up",
    "no matching",
    "not resume the",
    "doesn't accept input",
    "unrecoverable",
    "became unresponsive",
    "won't wake",
    "had to reboot",
    "have to reboot",
    "needed a reboot",
    "had to restart",
    "have to restart",
    "hard reset",
    "hard reboot",
    "forced to reboot",
    "force reboot",
    "power cycle",
    "still drain",
    "drains the battery",
    "drains my battery",
    "battery is empty",
    "battery was empty",
    "battery dead",
    "loses battery",
    "battery drain",
    "draining",
    "wakes by itself",
    "wakes up by itself",
    "wakes up immediately",
    "black screen",
    "never wakes",
    "does not wake",
    "doesn't wake",
    "force power off",
    "hard restart",
    "hangs",
    "stuck at",
    "gets stuck",
    "got stuck",
];

/// Words of a sentence that asks, wishes, or tells that it is over.
const NOT: [&str; 25] = [
    "?",
    "how to ",
    "in case ",
    "fixed",
    "fixes",
    " fix ",
    "solved",
    "resolved",
    "no battery drain",
    "not drain",
    "n't drain",
    "without",
    "if ",
    "whether",
    "would like",
    "would be",
    "would have",
    "would you",
    "should",
    "avoid",
    "prevent",
    "works",
    "previously",
    "used to",
    " less",
];

/// Whether a line is a sentence of a writer; a row of a table is none.
fn is_sentence(m: &Message) -> bool {
    let letters = |w: &&str| {
        // A colon is of a table.
        let bare = w.trim_end_matches(['.', ',', '!']);
        !bare.is_empty() && bare.chars().all(char::is_alphabetic)
    };
    let least = if m.text.starts_with("#") { TITLE } else { WORDY };
    m.trust == Trust::Prose && m.text.split_whitespace().filter(letters).count() >= least
}

/// Whether a person wrote sentences around what kernels and programs say.
pub(crate) fn is_letter(case: &Case) -> bool {
    case.messages.iter().any(is_sentence)
}

/// Whether a writer's words are in a script of which no rule knows a word. A sign of Chinese,
/// Japanese, Korean or Thai is half a word; of other scripts a name is none.
fn is_foreign(case: &Case) -> Option<&Message> {
    const SIGNS: usize = 4;
    const WORDS: usize = 4;
    let dense = |c: char| matches!(c as u32, 0x0e00..=0x0e7f | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af);
    let beyond = |c: char| c.is_alphabetic() && c > '\u{24f}';
    let word = |w: &&str| w.chars().filter(|c| beyond(*c)).count() > 1;
    let signs = |text: &str| text.chars().filter(|c| dense(*c)).count();
    let words = |text: &str| text.split_whitespace().filter(word).count();
    let foreign = |m: &&Message| {
        m.trust == Trust::Prose && (signs(&m.text) >= SIGNS || words(&m.text) >= WORDS)
    };
    case.messages.iter().find(foreign)
}

/// The sentence of the writer that says most plainly that something went wrong, and its line.
fn trouble(case: &Case) -> Option<(&Message, &str)> {
    let mut best: Option<(usize, &Message, &str, usize)> = None;
    for m in case.messages.iter().filter(|m| is_sentence(m)) {
        for said in m.text.split(". ") {
            let whole = said.to_ascii_lowercase();
            // What is comes behind what was.
            let lower = whole.rsplit(", but ").next().unwrap_or(&whole).to_owned();
            if praises(&lower) {
                continue;
            }
            // What was found says it more plainly than all words behind it in the list.
            let most = best.map_or(TROUBLE.len() + 1, |b| b.0);
            let plain = TROUBLE[..most.min(TROUBLE.len())].iter().enumerate();
            let found = plain.filter_map(|(rank, w)| Some((rank, lower.find(w)?, w.len())));
            let mut found = found.filter(|(_, at, _)| !is_denied(&lower[..*at]));
            let (rank, end) = match found.next() {
                Some((rank, at, len)) => (rank, at + len),
                None if most > TROUBLE.len() && complains(&lower) => (TROUBLE.len(), 0),
                None => continue,
            };
            // "It reboots instead of waking" tells what is.
            let wish =
                lower.split("instead of ").nth(1).is_some_and(|w| !is_of_sleep(first_word(w)));
            if !wish && !NOT.iter().any(|w| lower.contains(w)) {
                best = Some((rank, m, said, end));
            }
        }
    }
    // Of a long sentence the part that says it.
    best.map(|(_, m, said, end)| {
        let from = if end > MOST { said.floor_char_boundary(end - MOST / 2) } else { 0 };
        let from = said[from..].find(' ').filter(|_| from > 0).map_or(from, |b| from + b);
        (m, said[from..].trim())
    })
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Whether a sentence names a sleep, so that its trouble is of one.
fn names_a_sleep(said: &str) -> bool {
    said.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(is_of_sleep)
}

/// Whether what follows `before` is said not to be: a word of denial is one of the last.
fn is_denied(before: &str) -> bool {
    const DENIES: [&str; 5] = ["no", "not", "never", "zero", "nor"];
    const NEAR: usize = 3;
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '\'';
    let mut last = before.rsplit(word).filter(|w| !w.is_empty()).take(NEAR);
    last.any(|w| DENIES.contains(&w) || w.ends_with("n't"))
}

/// A sentence has so many words of letters alone; a row of a table has none.
const WORDY: usize = 4;

/// A heading has so many.
const TITLE: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Place;

    fn messages(said: &[(Trust, &str)]) -> Vec<Message> {
        let message = |(line, (trust, text)): (u64, &(Trust, &str))| Message {
            line,
            time: None,
            second: None,
            text: (*text).into(),
            trust: *trust,
        };
        (1..).zip(said).map(message).collect()
    }

    fn judged(said: &[(Trust, &str)], last: u64, closed: bool) -> Option<String> {
        let place = Place { first: 1, last, begun: true, closed, ..Place::default() };
        let case = Case::new(messages(said), &[place]);
        super::judge(&case, &[]).map(|f| f.sentence)
    }

    #[test]
    fn a_log_that_ends_on_the_way_down_is_no_all_clear() {
        let down = [
            (Trust::Logged, "PM: suspend entry (deep)"),
            (Trust::Logged, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            (Trust::Logged, "elm-oak 3-1: link is down"),
        ];
        assert!(
            judged(&down, 3, false).is_some_and(|s| s.contains("(line 1) ends on the way down"))
        );
        let up =
            [&down[..], &[(Trust::Logged, "PM: noirq resume of devices complete after 2.0 msecs")]];
        assert_eq!(judged(&up.concat(), 4, false), None);
        // What a machine leaves that never woke.
        assert!(judged(&[down[0]], 1, false).is_some());
    }

    #[test]
    fn a_log_that_ends_while_the_machine_is_shut_down_is_no_all_clear() {
        let written = (Trust::Logged, "PM: hibernation: Wrote 81920 kbytes in 0.80 seconds");
        let shut = (Trust::Logged, "elm_bus 3-1: shutdown");
        let told = judged(&[written, shut], 2, true);
        assert!(told.is_some_and(|s| s.contains("shutdown of 3-1 (line 2)")));
        assert_eq!(judged(&[shut], 1, true), None, "nothing was written");
        let off = (Trust::Logged, "reboot: Power down");
        assert_eq!(judged(&[written, shut, off], 3, true), None);
        let slept = [
            (Trust::Logged, "PM: suspend entry (deep)"),
            (Trust::Logged, "ACPI: PM: Preparing to enter system sleep state S3"),
        ];
        assert!(judged(&slept, 2, false).is_some_and(|s| s.contains("on the way down")));
    }

    #[test]
    fn trouble_of_which_the_writer_says_that_it_is_solved_is_over() {
        let said = |first: &str| {
            let entry = (Trust::Logged, "PM: suspend entry (deep)");
            let hung =
                (Trust::Prose, "The screen stayed off, and I had to reboot it by the button.");
            judged(&[(Trust::Prose, first), entry, hung], 2, true)
        };
        assert_eq!(said("**Solved by two parameters.** It wakes now"), None);
        assert!(said("Is this solved?").is_some() && said("It is not solved yet").is_some());
        assert!(said("It came from the resolved address, through systemd-resolved").is_some());
    }

    #[test]
    fn names_are_told_from_plain_words() {
        let all: Vec<&str> =
            names("`foo-hook` fails on every suspend on non-Elm hardware (0000:00:14.0).")
                .collect();
        assert_eq!(all, ["foo-hook"]);
        assert_eq!(names("It never wakes up at 10:15, post-resume.").count(), 0);
    }

    #[test]
    fn trouble_that_the_writer_tells_of_is_no_all_clear() {
        let with = |words: &str| {
            let said = [(Trust::Logged, "PM: suspend entry (deep)"), (Trust::Prose, words)];
            judged(&said, 1, true)
        };
        let told = with("The screen came on, and I had to reboot it by the button.");
        assert!(told.is_some_and(|s| s.contains("had to reboot")));
        assert!(with("Yet the battery still drains at 3 W in the night.").is_some());
        for fine in [
            "Fixed: I no longer have to reboot.",
            "Does it have a battery drain?",
            "Drains battery",
            "Power cycle: 3, had to reboot: 1",
            "This is not a battery drain, says the meter.",
            "There was no black screen this time, all is well.",
            "I want it to sleep instead of hangs by the dozen.",
        ] {
            assert_eq!(with(fine), None, "{fine}");
        }
    }

    #[test]
    fn a_finding_of_another_sort_hides_no_machine_that_dies() {
        let with = |words: &str, id: &'static str, level: Level| {
            let said = [(Trust::Logged, "PM: suspend entry (deep)"), (Trust::Prose, words)];
            let case = Case::new(messages(&said), &[]);
            let found = Finding::new((id, Area::Mode, level), Confidence::Certain);
            super::judge(&case, &[found]).is_some()
        };
        let dies = "My elm reboots instead of waking up from suspend, black screen.";
        for id in ["knob-pm-test", "mode-name-only", "abort-wakeup", "rpm-forbidden"] {
            assert!(with(dies, id, Level::Risk), "{id}");
        }
        assert!(with(dies, "clock-alarm-abort", Level::Note));
        assert!(!with(dies, "phase-crash", Level::Broken), "that explains it");
        assert!(!with(
            "Yet the battery still drains at 3 W in the night.",
            "mode-name-only",
            Level::Risk
        ));
    }
}
