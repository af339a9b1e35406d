//! What services, firmware and people say of a whole wake-up: the wait and who owns it, and
//! no more than the text proves.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

fn findings(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

fn one(text: &str, id: &str) -> Finding {
    let all = findings(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    all.into_iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{id} is not in {ids:?}"))
}

/// Seconds behind seven, and lines of a journal.
fn journal(lines: &[(&str, &str)]) -> String {
    lines.iter().map(|(s, text)| format!("Feb 03 07:00:{s} elm {text}\n")).collect()
}

const BACK: (&str, &str) =
    ("00.100000", "systemd-sleep[700]: System returned from sleep operation 'suspend'.");

#[test]
fn a_wait_behind_the_kernel_is_named_by_its_lines() {
    let text = journal(&[
        BACK,
        ("00.300000", "systemd-sleep[700]: Successfully thawed unit 'user.slice'."),
        ("31.300000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
    ]);
    let f = one(&text, "way-wait");
    assert_eq!((f.level, f.confidence), (Level::Slow, Confidence::Certain));
    assert!(f.sentence.starts_with("31.0 s pass between"), "{}", f.sentence);
    assert!(f.sentence.contains("No line says what ran in between"), "{}", f.sentence);
}

#[test]
fn a_quick_wake_up_is_not_slow() {
    let text = journal(&[
        BACK,
        ("00.300000", "systemd-sleep[700]: Successfully thawed unit 'user.slice'."),
        ("00.400000", "systemd[1]: Finished systemd-suspend.service - System Suspend."),
    ]);
    let all = findings(&text);
    assert!(all.iter().all(|f| f.level >= Level::Note), "{all:?}");
    assert!(one(&text, "way-rows").sentence.contains("nothing in it is slow"));
}

#[test]
fn who_holds_the_sleep_back_is_a_task() {
    let text = journal(&[
        ("10.000000", "systemd-logind[1]: The system will suspend now!"),
        (
            "15.000000",
            "systemd-logind[1]: Delay lock is active (UID 1000/kim, PID 812/backupd) but inhibitor timeout is reached.",
        ),
        ("15.100000", "systemd-sleep[700]: Performing sleep operation 'suspend'..."),
    ]);
    let f = one(&text, "way-delay-lock");
    assert!(f.sentence.starts_with("backupd held a delay lock"), "{}", f.sentence);
}

#[test]
fn what_people_measured_is_told_and_no_cause() {
    let text = "Time from lid open to usable after suspend\n\n| hook | resume |\n|---|---|\n\
                | with fan hook | 41.2 s |\n| without | 90 ms |\n";
    let f = one(text, "way-table");
    assert!(f.sentence.contains("41.2 s") && f.sentence.contains("90 ms"), "{}", f.sentence);
    assert_eq!((f.level, f.confidence), (Level::Note, Confidence::Likely));
    assert!(findings("The recipe takes 40 seconds and tastes of nothing.\n").is_empty());
}

/// Newer Androids do not say how long all of it took.
#[test]
fn a_screen_that_was_held_back_is_on_by_its_stamp() {
    let text = "03-02 10:00:00.500  900  912 I PowerManagerService: Waking up from Dozing (uid=1000, reason=WAKE_REASON_LID, details=lid)...\n\
        03-02 10:00:00.540  900  930 I DisplayPowerController[0]: Blocking screen on until initial contents have been drawn.\n\
        03-02 10:00:02.240  900  930 I DisplayPowerController[0]: Unblocked screen on after 1700 ms\n";
    let f = one(text, "way-screen");
    assert_eq!(f.level, Level::Slow);
    assert!(
        f.sentence.contains("on 1.7 s after") && f.sentence.contains("1.7 s of them"),
        "{}",
        f.sentence
    );
}
