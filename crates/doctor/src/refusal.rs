//! Lines in which the core says that a sleep is given up: by a device that refuses a step of
//! it, or by a step that no device has (2.6.32 to 7.3; kernels of Android say it once more
//! behind `Abort: `, kernel/power/wakeup_reason.c).

use crate::finding::Finding;
use crate::message::Message;
use crate::words::Words;
use dormouse_base::phase::{Direction, Phase};

/// A device that refuses (drivers/base/power/main.c:pm_dev_err, dpm_prepare).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// Its driver; empty before 5.10, where kernels do not name it.
    pub driver: &'a str,
    /// Its name; empty where somebody cut it off.
    pub device: &'a str,
    /// The error; 0 where the text ends inside of it.
    pub error: i32,
    /// What it refused; a phase of the way up ends no sleep.
    pub phase: Phase,
}

/// Each message of a device that refuses has one of these.
pub(crate) const WORDS: [&str; 2] = ["failed to ", " power transition: "];

/// What a message says of a device that refuses:
/// `DRIVER DEVICE: PM: failed to suspend async: error -16`,
/// `PM: Device DEVICE failed to suspend async: error -16` (before 5.10),
/// `DRIVER DEVICE: PM: not prepared for power transition: code -22`,
/// `PM: Device DEVICE not prepared for power transition: code -22` (3.0 to 5.11),
/// `PM: Failed to prepare device DEVICE for power transition: error -16` (2.6).
pub fn of_device(text: &Words) -> Option<Refusal<'_>> {
    refusal_in(text, phase)
}

/// The same of a device that does not stop for an image that was read:
/// `nvidia 0000:01:00.0: PM: failed to quiesce async: error -5`.
pub fn of_restore(text: &Words) -> Option<Refusal<'_>> {
    refusal_in(text, |way| way.starts_with("quiesce").then_some(Phase::Suspend))
}

fn refusal_in(text: &Words, phase: impl Fn(&str) -> Option<Phase>) -> Option<Refusal<'_>> {
    if !WORDS.iter().any(|w| text.contains(w)) || is_in_a_sentence(text) {
        return None;
    }
    let bare = bare(text);
    if let Some(rest) = bare.strip_prefix("Failed to prepare device ") {
        let (owner, error) = rest.split_once(" for power transition: error ")?;
        return refusal(("", owner), error, Phase::Prepare);
    }
    let (front, phase, error) =
        if let Some((front, error)) = bare.split_once("not prepared for power transition: code ") {
            (front, Phase::Prepare, error)
        } else {
            let (front, rest) = bare.split_once("failed to ")?;
            let (way, error) = rest.split_once(": error ")?;
            (front, phase(way)?, error)
        };
    let front = front.trim_end();
    if let Some(device) = front.strip_prefix("Device ") {
        return refusal(("", device), error, phase);
    }
    // Drivers say such things of themselves, without the core's mark.
    let marked = front.is_empty() && bare.len() < text.len();
    let owner = front.strip_suffix(": PM:").or(marked.then_some(""))?;
    refusal(owner.trim().rsplit_once(' ').unwrap_or(("", owner)), error, phase)
}

/// Whether a person quotes the message inside of a sentence: in quotation marks that do not
/// begin the line, or between words in front of it and behind its number.
fn is_in_a_sentence(text: &str) -> bool {
    const MARKS: [char; 6] = ['"', '`', '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}'];
    let Some(at) = WORDS.iter().find_map(|w| text.find(w)) else { return false };
    let (front, behind) = text.split_at(at);
    // A name may hold such a mark; a quotation begins behind a blank.
    let opens = |&(at, _): &(usize, &str)| front[..at].ends_with([' ', '(', '\t']);
    if front.rmatch_indices(MARKS).any(|m| opens(&m)) {
        return true;
    }
    let number = behind.find(": error ").or(behind.find(": code "));
    let tail = number.map_or("", |n| behind[n + 1..].trim_start_matches(|c| c != ' ').trim_start());
    let tail = tail.trim_start_matches("error ").trim_start_matches("code ");
    let tail = tail.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
    let goes_on = tail.starts_with(' ') && tail[1..].starts_with(|c: char| c.is_alphabetic());
    let words =
        |t: &str| t.split(' ').filter(|w| w.bytes().all(|b| b.is_ascii_alphabetic())).count();
    const SENTENCE: usize = 3;
    goes_on && words(front) >= SENTENCE
}

fn refusal<'a>(
    (driver, device): (&'a str, &'a str),
    error: &str,
    phase: Phase,
) -> Option<Refusal<'a>> {
    let error = error.trim();
    let end = error.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(error.len());
    let error = match error[end..].starts_with('…') {
        true => 0,
        false => error[..end].parse().ok().filter(|&e: &i32| e != 0)?,
    };
    Some(Refusal { driver: driver.trim(), device: device.trim(), error, phase })
}

/// `suspend noirq`, `freeze late async`: words of drivers/base/power/main.c:pm_verb, and what
/// pm_dev_err puts behind. Nothing of `quiesce`, which ends no sleep.
fn phase(way: &str) -> Option<Phase> {
    let is = |verbs: &[&str]| verbs.iter().any(|v| way.starts_with(v));
    let has = |word: &str| way.contains(word);
    if is(&["suspend", "freeze", "poweroff", "hibernate"]) {
        Some(match () {
            () if has(" noirq") => Phase::Noirq,
            () if has(" late") => Phase::Late,
            () => Phase::Suspend,
        })
    } else if is(&["prepare"]) {
        Some(Phase::Prepare)
    } else if is(&["resume", "restore", "thaw", "recover"]) {
        Some(match () {
            () if has(" noirq") => Phase::ResumeNoirq,
            () if has(" early") => Phase::ResumeEarly,
            () => Phase::Resume,
        })
    } else {
        None
    }
}

/// The phase in which the core gives a sleep up with such a line, which names no device:
/// kernel/power/suspend.c:suspend_devices_and_enter, suspend_enter; hibernate.c:create_image;
/// kernel/cpu.c:freeze_secondary_cpus; drivers/base/syscore.c:syscore_suspend. What gives a
/// restore up is none.
pub fn of_core(text: &str) -> Option<Phase> {
    const WORDS: [(&str, Phase); 5] = [
        ("Some devices failed to suspend", Phase::Suspend),
        ("Some devices failed to power down", Phase::Noirq),
        ("Some system devices failed to power down", Phase::SyscoreSuspend),
        ("Non-boot CPUs are not disabled", Phase::CpuOff),
        ("System core suspend callback ", Phase::SyscoreSuspend),
    ];
    let text = bare(text);
    if cpu(text).is_some() {
        return Some(Phase::CpuOff);
    }
    let said = WORDS.iter().find(|w| text.starts_with(w.0))?;
    (!text.ends_with("aborting resume")).then_some(said.1)
}

/// `Error -12 creating image`, `… creating hibernation image`: the error
/// (kernel/power/hibernate.c:create_image).
pub fn of_image(text: &str) -> Option<i32> {
    let (error, what) = bare(text).strip_prefix("Error ")?.split_once(' ')?;
    let is = matches!(what.trim_end(), "creating image" | "creating hibernation image");
    error.parse().ok().filter(|_| is)
}

/// `Error taking CPU3 down: -16`: which CPU, and the error.
pub fn cpu(text: &str) -> Option<(&str, i32)> {
    taking(text, " down: ")
}

/// `Error taking CPU3 up: -5`: which CPU, and the error.
pub fn cpu_up(text: &str) -> Option<(&str, i32)> {
    taking(text, " up: ")
}

fn taking<'a>(text: &'a str, way: &str) -> Option<(&'a str, i32)> {
    let (cpu, error) = bare(text).strip_prefix("Error taking ")?.split_once(way)?;
    Some((cpu, error.trim().parse().ok()?))
}

/// A message without the marks of the core.
fn bare(mut text: &str) -> &str {
    for mark in ["PM: ", "PM: ", "hibernation: ", "Abort: "] {
        text = text.strip_prefix(mark).unwrap_or(text);
    }
    text
}

/// A finding of a device that ended a sleep, with the phase that its messages name, where all of
/// them name one that is not the first with callbacks.
pub(crate) fn in_phase(f: Finding, messages: &[&Message]) -> Finding {
    let mut named = messages.iter().filter_map(|m| of_device(&m.text)).map(|r| r.phase);
    let Some(phase) = named.next().filter(|p| named.all(|n| n == *p)) else { return f };
    let (name, row) = match phase {
        Phase::Prepare => ("prepare", "suspend"),
        Phase::Late => ("late", "suspend"),
        Phase::Noirq => ("noirq", "noirq"),
        _ => return f.when(Some(Direction::Suspend), Some(phase)),
    };
    const ENDED: &str = " ended the sleep";
    let sentence = f.sentence.replacen(ENDED, &format!("{ENDED} in its {name} phase"), 1);
    Finding { sentence, ..f }.when(Some(Direction::Suspend), Some(phase)).at(row)
}

impl Refusal<'_> {
    /// It failed on the way up, which ends no sleep.
    pub fn is_up(&self) -> bool {
        self.phase.direction() == Direction::Resume
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_phase_that_all_messages_of_it_name() {
        let of = |ways: &[&str]| {
            let log: Vec<String> =
                ways.iter().map(|w| format!("oak elm.1: PM: failed to {w}: error -110")).collect();
            let log: Vec<(i64, &str)> = log.iter().map(|l| (0, l.as_str())).collect();
            let case = crate::Case::of_log(&log);
            let f = Finding::new(
                ("device-failed", crate::finding::Area::Abort, crate::finding::Level::Broken),
                crate::finding::Confidence::Certain,
            );
            let f = f.says("elm.1 ended the sleep: it failed.");
            let f = in_phase(f, &case.messages.iter().collect::<Vec<_>>());
            (f.sentence, f.row, f.about.phase)
        };
        let (sentence, row, phase) = of(&["suspend noirq", "suspend noirq"]);
        assert_eq!(sentence, "elm.1 ended the sleep in its noirq phase: it failed.");
        assert_eq!((row, phase), ("noirq", Some(Phase::Noirq)));
        let plain = of(&["suspend async"]);
        assert_eq!(
            plain,
            ("elm.1 ended the sleep: it failed.".into(), "suspend", Some(Phase::Suspend))
        );
        assert_eq!(of(&["suspend late", "suspend noirq"]).2, None);
    }

    #[test]
    fn a_message_inside_of_a_sentence_is_none() {
        let of = |text: &str| of_device(&Words::from(text)).map(|r| r.error);
        const OWN: &str = "heron 7-4: PM: failed to suspend async: error -71";
        assert_eq!(of(OWN), Some(-71));
        assert_eq!(of(&format!("\"{OWN}\"")), Some(-71), "a cell of a table");
        assert_eq!(of(&format!("{OWN} <--- here")), Some(-71));
        assert_eq!(of("heron usb<7>\"4: PM: failed to suspend async: error -71"), Some(-71));
        for sentence in [
            format!("Without that \"{OWN}\" may be printed."),
            format!("I do not see `{OWN}` on this machine"),
            format!(" * Otherwise \u{201c}{OWN}\u{201d} follows"),
            format!("it would not say {OWN} on this machine"),
        ] {
            assert_eq!(of(&sentence), None, "{sentence}");
        }
    }

    #[test]
    fn every_kernel_says_it_in_its_words() {
        fn of(text: &str) -> Option<(String, i32, Phase)> {
            let text = &Words::from(text);
            let owner = |r: &Refusal<'_>| format!("{} {}", r.driver, r.device).trim().to_string();
            of_device(text).map(|r| (owner(&r), r.error, r.phase))
        }
        fn said(owner: &str, error: i32, phase: Phase) -> Option<(String, i32, Phase)> {
            Some((owner.into(), error, phase))
        }
        assert_eq!(
            of("sdhci 4e000.mmc: PM: failed to suspend noirq: error -110"),
            said("sdhci 4e000.mmc", -110, Phase::Noirq)
        );
        for mark in ["PM: ", "PM: PM: ", "Abort: "] {
            let text = format!("{mark}Device 3-0050 failed to freeze late async: error -6");
            assert_eq!(of(&text), said("3-0050", -6, Phase::Late));
            let text = format!("{mark}Device 3-0050 not prepared for power transition: code -512");
            assert_eq!(of(&text), said("3-0050", -512, Phase::Prepare));
        }
        assert_eq!(
            of("PM: Failed to prepare device 5-2 for power transition: error -11"),
            said("5-2", -11, Phase::Prepare)
        );
        assert_eq!(
            of("hub 5-0:1.0: PM: not prepared for power transition: code -16"),
            said("hub 5-0:1.0", -16, Phase::Prepare)
        );
        assert_eq!(of("PM: failed to suspend: error -5"), said("", -5, Phase::Suspend));
        assert_eq!(
            of("PM: Device 3-0050 failed to thaw early: error -6").map(|r| r.2),
            Some(Phase::ResumeEarly)
        );
        // What drivers say of themselves, what ends a restore, and what is no failure.
        assert_eq!(of("foo 3-0050: failed to suspend: error -6"), None);
        let quiesce = "nvme nvme1: PM: failed to quiesce async: error -5";
        assert_eq!(of(quiesce), None);
        let quiesce = Words::from(quiesce);
        let restore = of_restore(&quiesce).map(|r| (r.driver, r.device, r.error));
        assert_eq!(restore, Some(("nvme", "nvme1", -5)));
        for mark in ["PM: ", "PM: hibernation: "] {
            assert_eq!(of_image(&format!("{mark}Error -12 creating image")), Some(-12));
        }
        assert_eq!(of_image("Error -12 creating a queue"), None);
        assert_eq!(of("PM: Device 3-0050 failed to suspend: error 0"), None);
    }

    #[test]
    fn steps_without_devices_fail_too() {
        assert_eq!(of_core("Error taking CPU5 down: -28"), Some(Phase::CpuOff));
        assert_eq!(cpu("Error taking CPU5 down: -28"), Some(("CPU5", -28)));
        assert_eq!(of_core("Non-boot CPUs are not disabled"), Some(Phase::CpuOff));
        let core = "PM: System core suspend callback gic_suspend+0x0/0x40 failed.";
        assert_eq!(of_core(core), Some(Phase::SyscoreSuspend));
        let image = "PM: hibernation: Some devices failed to power down, aborting";
        assert_eq!(of_core(image), Some(Phase::Noirq));
        assert_eq!(of_core(&format!("{image} resume")), None);
        assert_eq!(of_core("Error taking CPU5 up: -28"), None);
    }
}
