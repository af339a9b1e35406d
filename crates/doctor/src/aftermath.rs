//! Errors of devices right behind the end of a sleep, by the grammar of their lines: a driver, its
//! device and words of failure (drivers/base/core.c:__dev_printk, net/core/dev.c:__netdev_printk,
//! include/drm/drm_print.h:DRM_ERROR, 3.0 to 7.3). No line ties them to the sleep, so they are
//! told and not judged; but a sleep with them is none of which nothing is wrong.

use crate::case::Case;
use crate::message::Message;
use crate::said::{self, Unjudged};
use crate::stage::{self, passed};
use dormouse_base::time::Ns;
use std::collections::BTreeSet;

/// So long behind the end of a sleep. A frame of a display is waited for 10 s
/// (drivers/gpu/drm/drm_atomic_helper.c:drm_atomic_helper_wait_for_flip_done), and such waits
/// follow each other.
pub(crate) const SOON: Ns = Ns(20_000_000_000);
/// The same in lines, and where they have no times.
pub(crate) const LINES: usize = 400;
const UNTIMED: usize = 20;

/// Errors that devices report right behind the sleeps of a text, and not before the first; those
/// right before an end too, where the text has nothing of its sleep.
pub(crate) fn told(case: &Case) -> Vec<(&Message, Unjudged)> {
    let ends = ends(case);
    let mut errors: Vec<(&Message, Unjudged)> = Vec::new();
    let mut first = usize::MAX;
    let error = |m| Some((m, said::unjudged_words(m)?));
    for &end in &ends {
        let from = &case.messages[end - 1];
        let near = |n: usize, m: &Message, passed: Option<Ns>| match passed {
            Some(t) => (Ns::ZERO..=SOON).contains(&t),
            None => m.time.is_none() && m.second.is_none() && n < UNTIMED,
        };
        let behind = case.messages[end..].iter().take(LINES).take_while(|m| !begins(m));
        let behind = behind.enumerate().filter(|(n, m)| near(*n, m, passed(from, m)));
        errors.extend(behind.map(|n| n.1).filter(|m| is_failure(m)).filter_map(error));
        first = first.min(end);
        if is_alone(case, end - 1) {
            let before = case.messages[..end - 1].iter().rev().take(LINES);
            let before = before.take_while(|m| !begins(m) && !stage::ends(m)).enumerate();
            let before = before.take_while(|(n, m)| near(*n, m, passed(m, from)));
            let before: Vec<&Message> = before.map(|n| n.1).collect();
            first = first.min(end - 1 - before.len());
            errors.extend(before.into_iter().filter(|m| is_failure(m)).filter_map(error));
        }
    }
    if errors.is_empty() {
        return errors;
    }
    let begins = case.attempts.iter().map(|a| a.first).chain(case.parts.iter().map(|p| p.0));
    let before = begins.min().unwrap_or(usize::MAX).min(first);
    let before = case.messages[..before].iter().filter(|m| m.trust.is_of_a_kernel());
    let usual: BTreeSet<String> = before.map(|m| said::kind(&m.text)).collect();
    errors.retain(|e| !usual.contains(&said::kind(&e.0.text)));
    errors.sort_by_key(|e| e.0.line);
    errors.dedup_by_key(|e| e.0.line);
    errors
}

fn begins(m: &Message) -> bool {
    ["suspend entry", "hibernation entry", "Freezing user space"].iter().any(|w| m.says(w))
}

/// Whether message `at`, the end of a sleep, is all that the text has of it.
pub(crate) fn is_alone(case: &Case, at: usize) -> bool {
    let part = |p: &(usize, bool)| p.0 <= at;
    !case.attempts.iter().any(|a| (a.first..a.end).contains(&at)) && !case.parts.iter().any(part)
}

/// Places behind the last message of each sleep.
fn ends(case: &Case) -> BTreeSet<usize> {
    let closed = case.attempts.iter().filter(|a| a.closed && a.end > 0).map(|a| a.end);
    let said = case.messages.having_any(&["exit", "Finishing wakeup"]);
    let said = said.filter(|(_, m)| m.trust.is_of_a_kernel() && stage::ends_sleep(m));
    closed.chain(said.map(|s| s.0 + 1)).collect()
}

/// How long before message `m` the last sleep ended, if it did so near it.
pub(crate) fn since(case: &Case, m: &Message) -> Option<Ns> {
    let at = case.messages.iter().position(|x| x.line == m.line)?;
    let end = *ends(case).range(..=at).next_back()?;
    passed(&case.messages[end - 1], m).filter(|t| (Ns(1)..=SOON).contains(t))
}

/// Whether the line is one of a device or a graphics driver, and tells of a failure.
pub(crate) fn is_failure(m: &Message) -> bool {
    let lower = m.text.to_ascii_lowercase();
    let fails = said::complains(&m.text) || crashes(&lower) || cannot(&lower);
    fails
        && !is_asked_in_vain(&lower)
        && !is_mended(&lower)
        && (m.has("*ERROR*") || said::names_a_device(&m.text))
}

/// Words of success, or of what is done instead: the device goes on.
fn is_mended(lower: &str) -> bool {
    const WORDS: [&str; 7] = [
        "recovered",
        "with success",
        "succeeded",
        "trying default",
        "using default",
        "failed 0 times",
        "falling back",
    ];
    const DENIED: [&str; 6] = ["not ", "n't ", "never ", "unable ", "nothing ", "none "];
    let said = |w: &&str| lower.find(*w);
    let denied = |at: usize| DENIED.iter().any(|d| lower[..at].contains(d));
    // `could not be read, falling back`: only that it was done can be denied.
    let mut done = WORDS[..3].iter().filter_map(said);
    let done = done.any(|at| !denied(at) && !lower[..at].ends_with("un"));
    done || WORDS[3..].iter().any(|w| lower.contains(w))
}

/// `firmware crashed!`, and not that something is ready for one.
fn crashes(lower: &str) -> bool {
    lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == "crashed")
}

/// A number of an error behind a word that something was not done.
fn cannot(lower: &str) -> bool {
    const WORDS: [&str; 7] =
        [" fail", " failure", "unable to ", "cannot ", "can't ", "could not ", "couldn't "];
    said::has_errno(lower) && WORDS.iter().any(|w| lower.contains(w))
}

/// That something is not there or not supported is found out by asking for it: -ENOENT of an
/// optional firmware, -EOPNOTSUPP, -EPROBE_DEFER, -ENOTSUPP (include/uapi/asm-generic/errno.h,
/// include/linux/errno.h).
pub(crate) fn is_asked_in_vain(lower: &str) -> bool {
    let number = |w: &str| {
        let w = w.rsplit('=').next().unwrap_or_default();
        matches!(w.trim_matches(['(', ')', '.', ',', ':', ';']), "-2" | "-95" | "-517" | "-524")
    };
    lower.contains("optional")
        || lower.contains("not supported")
        || lower.split_whitespace().any(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;

    const ENTRY: (i64, &str) = (10_000, "PM: suspend entry (deep)");
    const EXIT: (i64, &str) = (60_000, "PM: suspend exit");

    /// Lines that are told of a log with a sleep and `behind` it.
    fn lines(before: &[(i64, &str)], behind: &[(i64, &str)]) -> Vec<u64> {
        let log = [before, &[ENTRY, EXIT], behind].concat();
        let first = before.len();
        let attempt = Attempt { first, end: first + 2, closed: true, ..Attempt::default() };
        let case = Case { attempts: vec![attempt], ..Case::of_log(&log) };
        told(&case).iter().map(|e| e.0.line).collect()
    }

    #[test]
    fn a_device_that_tells_of_a_failure_right_behind_a_sleep_is_told() {
        for words in [
            "oaksnd 0000:0b:1f.3: error: vex timed out for 0x7010000 size 7",
            "elmnet 0000:0c:00.0 eth7: Hardware Error",
            "elmwifi 0000:0c:00.0: Failed to send VEX_CMD (action:7): -5",
            "elmwifi 0000:0c:00.0: mac start fail, ret: -110",
            "elmwifi 0000:0c:00.0: firmware crashed! (guid n/a)",
            "elmwifi 0000:0c:00.0: driver own failed",
            "elmgpu 0000:0d:00.0: [drm] *ERROR* [CRTC:77:pipe B] flip_done timed out",
            "[drm:vex_init [elmgpu]] *ERROR* no answer of the vex, timed out",
            "Bluetooth: hci7: Opcode 0x2077 failed: -19",
            "usb 7-3: device descriptor read/64, error -71",
            "elmwifi 0000:0c:00.0: mac start timed out, could not be recovered",
        ] {
            assert_eq!(lines(&[], &[(62_000, words)]), [3], "{words}");
            assert!(lines(&[], &[(90_000, words)]).is_empty(), "half a minute later: {words}");
            assert!(lines(&[(1_000, words)], &[(62_000, words)]).is_empty(), "usual: {words}");
        }
    }

    #[test]
    fn words_of_programs_and_what_is_asked_for_in_vain_are_no_failure_of_a_device() {
        for words in [
            "elmd[77]: vex7: connection failed (-110)",
            "elmwifi 0000:0c:00.0: Direct firmware load for elm-77.bin failed with error -2",
            "elmwifi 0000:0c:00.0: firmware: failed to load elm-77.bin (-2)",
            "elmbt elm0: could not load optional vex: failed with -5",
            "elmnet 0000:0c:00.0 eth7: vex not supported, failed",
            "elmnet 0000:0c:00.0 eth7: Link is Up, no errors",
            "Error of oak: the vex failed",
            "usb 7-3: reset high-speed USB device number 7 using xhci_hcd",
            "PM: suspend exit failed",
            "elm 77: failed",
            "elmwifi 0000:0c:00.0: mac start timed out, recovered",
            "elmwifi 0000:0c:00.0: reset after an error succeeded",
            "elmwifi 0000:0c:00.0: vex failed 0 times",
            "elmnet 0000:0c:00.0 eth7: failed to enable MSI-X, falling back to MSI: -28",
            "elmwifi 0000:0c:00.0: failed to read vex (-5), using default",
        ] {
            assert!(lines(&[], &[(62_000, words)]).is_empty(), "{words}");
        }
    }

    #[test]
    fn the_end_of_a_sleep_alone_and_the_end_of_a_part_of_one_are_ends() {
        let error = (61_000, "elmwifi 0000:0c:00.0: mac start fail, ret: -110");
        let before = (59_000, error.1);
        assert_eq!(told(&Case::of_log(&[before, EXIT])).len(), 1, "inside of it");
        assert!(told(&Case::of_log(&[(9_000, error.1), EXIT])).is_empty(), "long before");
        let case = Case::of_log(&[EXIT, error]);
        let all = told(&case);
        assert_eq!(all.len(), 1);
        assert_eq!(since(&case, all[0].0), Some(Ns::from_ms(1_000)));
        let next = [EXIT, (60_500, ENTRY.1), error];
        assert!(told(&Case::of_log(&next)).is_empty(), "the next sleep has begun");
    }
}
