//! Hibernations from which a start of the kernel did not come back, by its last word of it.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::phase::Direction;
use dormouse_base::say;

/// `PM: resume from hibernation failed (-16)` up to 5.5, `PM: hibernation: resume failed (-16)`
/// since (kernel/power/hibernate.c:software_resume, 4.14 to 7.3); `PM: Error -14 resuming`,
/// where the kernel was there already (create_image). A driver that resumes has no such mark.
pub(super) fn error(m: &Message) -> Option<i32> {
    let new = || m.text.strip_prefix("PM: hibernation: resume failed (");
    let old = || m.after("resume from hibernation failed (");
    let last = || m.after("Error ").and_then(|r| r.strip_suffix(" resuming"));
    let number = new().or_else(old).and_then(|r| r.trim().strip_suffix(')')).or_else(last)?;
    let error = number.trim().parse().ok().filter(|n: &i32| *n < 0)?;
    (m.trust.is_of_a_kernel() || m.text.starts_with("PM: ")).then_some(error)
}

/// Each of those messages has one of these.
pub(super) const WORDS: [&str; 3] =
    ["resume failed (", "resume from hibernation failed (", "Error -"];

/// Judges it. A finding that tells more of the same is enough.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    const TOLD: [&str; 5] = [
        "hib-other-kernel",
        "hib-device-refused",
        "hib-load-failed",
        "hib-restore-woken",
        "hib-disk-error",
    ];
    let said = case.messages.having_any(&WORDS[..2]);
    let said = said.filter_map(|(at, m)| Some((at, m, error(m)?)));
    let said: Vec<(usize, &Message, i32)> = said.collect();
    let Some(&(at, first, error)) = said.first() else { return };
    if out.iter().any(|f| TOLD.contains(&f.id)) {
        return;
    }
    // Back to where that kernel began with it, tasks that do not freeze are its reason.
    let begins = |m: &Message| {
        m.says("resume from hibernation") || m.says("Image signature found, resuming")
    };
    let before = case.messages[..at].iter().rev();
    let from = before.take_while(|m| !begins(m)).take(NEAR).last().map_or(first.line, |m| m.line);
    let freezing = out.iter().find(|f| {
        let here = |line: u64| (from..first.line).contains(&line);
        f.area == Area::Freezer && f.evidence.first().is_some_and(|e| here(e.line))
    });
    let f = Finding::new(("hib-restore-failed", Area::Hibernation, Level::Broken), Confidence::Certain)
        .says(format!(
            "The restore from hibernation failed{}: {}. So the machine booted afresh, and the session of the image is lost.",
            say::times(said.len()),
            say::told(error)
        ));
    let f = match freezing {
        Some(r) => f
            .because(format!("The reason stands before it: {}", r.sentence))
            .look("Keep that task from running before the image is read: start it behind the resume of the initrd."),
        None => f.look(
            "Give the lines before it, from \"resume from hibernation\" on: what the kernel gave up at stands there.",
        ),
    };
    let f = f.of_error(error).when(Some(Direction::Resume), None);
    out.push(f.shown_by(lines(said.iter().map(|s| s.1))));
}

/// So many messages lie between the two at most: the dump of a task has many.
const NEAR: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restore_that_fails_is_told_once_with_its_reason() {
        let judged = |log: &[(i64, &str)]| {
            let mut out = Vec::new();
            let case = Case::of_log(log);
            super::super::freezer::judge(&case, &mut out);
            super::super::hibernation::judge(&case, &mut out);
            judge(&case, &mut out);
            out
        };
        for last in
            ["PM: resume from hibernation failed (-16)", "PM: hibernation: resume failed (-16)"]
        {
            let alone = judged(&[(100, last)]);
            assert_eq!((alone.len(), alone[0].id), (1, "hib-restore-failed"));
            assert!(
                alone[0].sentence.starts_with("The restore from hibernation failed: error -16")
            );
            assert_eq!(alone[0].why, "");
            let tasks = "Freezing of tasks failed after 20.002 seconds (1 tasks refusing to freeze, wq_busy=0):";
            let all = [
                (10, "PM: resume from hibernation"),
                (90, tasks),
                (91, "elmd            D    0   592    368 0x00004006"),
                (99, "Restarting tasks ... done."),
                (100, last),
            ];
            let all = judged(&all);
            let f = all.iter().find(|f| f.id == "hib-restore-failed").expect("a restore");
            assert!(f.why.contains("elmd (pid 592) did not freeze"), "{}", f.why);
            let other = judged(&[(90, "PM: Image mismatch: version"), (100, last)]);
            assert!(other.iter().all(|f| f.id != "hib-restore-failed"));
        }
        for none in ["PM: hibernation: resume failed (0)", "elm 1-2: resume failed (-16)"] {
            assert!(judged(&[(100, none)]).is_empty(), "{none}");
        }
    }
}
