//! Machines of which a log shows the way down alone, and whose writer says that they did not come
//! back; and what such a log tells of how far they came.

use super::abort::{gives_up, owner};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::complaint;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::formats;
use crate::message::{Message, Trust};
use crate::stage::{self, Stage};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use std::cell::LazyCell;

/// The rule of a machine that did not come back from a sleep in which its log ends.
pub(crate) const NO_RETURN: &str = "no-return";

/// What people write of a machine that does not come back.
const WORDS: [&str; 37] = [
    "not wake",
    "n't wake",
    "never wakes",
    "never woke",
    "not resume",
    "n't resume",
    "never resumes",
    "never resumed",
    "not come back",
    "n't come back",
    "never comes back",
    "never came back",
    "no reaction",
    "not react",
    "n't react",
    "not respond",
    "n't respond",
    "unresponsive",
    "watchdog",
    "board resets",
    "machine resets",
    "system resets",
    "board reboots",
    "machine reboots",
    "system reboots",
    "power cycle",
    "hangs",
    "reboots on ",
    "reboots when",
    "restarts on ",
    "triggers a reboot",
    "hold the power",
    "holding the power",
    "held the power",
    "hard reset",
    "hard reboot",
    "hard power",
];

/// Only a machine wakes; a machine comes back, and devices behind a sleep do; what follows up to
/// the last mark is said of anything.
const WAKE: usize = 4;
const OF_ALL: usize = 12;
const OF_ANY: usize = 18;

/// Whether a line is a sentence that tells it.
pub(super) fn says_so(m: &Message) -> bool {
    is_sentence(m) && {
        let text = m.text.to_ascii_lowercase();
        let said = |words: &[&str]| words.iter().any(|w| text.contains(w));
        // A device that is silent behind a sleep belongs to a machine that is back.
        let it = || text.split(|c: char| !c.is_alphanumeric()).any(|w| w == "it");
        let behind =
            complaint::is_behind_a_sleep(&text) && !complaint::names_a_machine(&text) && !it();
        let told = said(&WORDS[..WAKE])
            || said(&WORDS[OF_ANY..])
            || said(&WORDS[WAKE..OF_ANY]) && !behind
            || complaint::tells_of_the_end(&text);
        told && !text.contains("no longer")
    }
}

/// The same of a sentence that speaks of the machine or of its sleep: where a text does not show
/// that a sleep began, a device may be meant.
fn says_so_of_the_machine(m: &Message) -> bool {
    says_so(m) && {
        let text = m.text.to_ascii_lowercase();
        let whole =
            WORDS[..OF_ALL].iter().any(|w| text.contains(w)) || complaint::tells_of_the_end(&text);
        (whole || of_sleep(m) || complaint::names_a_machine(&text)) && !complaint::praises(&text)
    }
}

fn is_sentence(m: &Message) -> bool {
    let prose = m.trust == Trust::Prose && m.text.split_whitespace().count() >= 4;
    prose && stage::begins(m).is_none()
}

fn of_sleep(m: &Message) -> bool {
    let text = m.text.to_ascii_lowercase();
    ["sleep", "suspend", "resum", "wak", "woke"].iter().any(|w| text.contains(w))
}

/// The kernel's lines of `said`. A console that is posted without stamps goes on right below a
/// line of the core.
pub(crate) fn of_the_kernel(said: &[Message]) -> Vec<&Message> {
    let mut line = None;
    let mut own = |m: &&Message| {
        let below = || line.is_some_and(|l| m.line == l + 1) && goes_on(m);
        let own = m.trust.is_of_a_kernel() || stage::begins(m).is_some() || below();
        if own {
            line = Some(m.line);
        }
        own
    };
    said.iter().filter(|m| own(m)).collect()
}

/// Whether a line looks like a message: somebody speaks, of something with a number.
fn goes_on(m: &Message) -> bool {
    const WORDY: usize = 4;
    let plain = |w: &&str| w.chars().all(char::is_alphabetic);
    let few = m.text.split_whitespace().filter(plain).count() < WORDY;
    let message = m.has(": ") && few && m.text.bytes().any(|b| b.is_ascii_digit());
    m.trust == Trust::Prose
        && (message || goes_off(m) || formats::all().recognise(&m.text).is_some())
}

/// Whether a callback of the way back begins.
pub(crate) fn calls_up(m: &Message) -> bool {
    let called = m.after("calling ").and_then(|r| r.trim_start().split_once(" @ "));
    let function = called.and_then(|(token, _)| token.split('+').next());
    function.is_some_and(|f| stage::goes(f) == Some(Direction::Resume))
}

/// Whether a message is of the way back, or ends a sleep.
pub(super) fn is_up(m: &Message) -> bool {
    calls_up(m)
        || stage::begins(m).is_some_and(|s| s.direction == Direction::Resume)
        || stage::ends(m)
}

/// Whether devices are through with a step of the way down, or CPUs go off.
fn is_down(m: &Message) -> bool {
    m.has("suspend of devices complete") || is_through(m)
}

/// Whether no device has anything left to do on the way down (kernel/power/suspend.c:
/// suspend_enter, 3.0 to 7.3).
pub(super) fn is_through(m: &Message) -> bool {
    let after = |s: Stage| {
        s.work.is_none()
            && s.direction == Direction::Suspend
            && matches!(s.phase, None | Some(Phase::CpuOff))
    };
    stage::begins(m).is_some_and(after) || goes_off(m)
}

/// Whether a CPU goes off, which a sleep does when devices are down (arch/x86/kernel/smpboot.c:
/// native_cpu_die, arch/arm and arch/arm64 smp.c, drivers/firmware/psci/psci.c, 3.0 to 7.3).
fn goes_off(m: &Message) -> bool {
    let cpu = m.text.strip_prefix("smpboot: ").or_else(|| m.text.strip_prefix("psci: "));
    let Some(rest) = cpu.unwrap_or(&m.text).strip_prefix("CPU") else { return false };
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    [": shutdown", " is now offline", " killed"].iter().any(|w| rest.starts_with(w))
}

/// How far a way down came, by the kernel's lines of it.
pub(crate) enum Reached<'a> {
    /// Callbacks that began and show no end: those lines, what ran, and whose it is.
    Open(Vec<(&'a Message, &'a str, Device)>),
    /// Every device had suspended, by this line; the last line.
    Through(&'a Message, &'a Message),
    /// The lines tell of a step at most.
    Unknown,
}

/// So many callbacks that are open are named.
const NAMED: usize = 3;

impl<'a> Reached<'a> {
    /// `kernel` are the lines of a sleep that has no way up in the text.
    pub(crate) fn of(kernel: &[&'a Message]) -> Reached<'a> {
        // What began before the way back is over, though a line of its end is missing.
        let up = kernel.iter().position(|m| calls_up(m)).unwrap_or(0);
        let open = open(&kernel[up..]);
        if !open.is_empty() {
            return Reached::Open(open);
        }
        let through = kernel.iter().find(|m| is_through(m)).zip(kernel.last());
        through.map_or(Reached::Unknown, |(by, last)| Reached::Through(by, last))
    }

    /// As a sentence behind another one.
    pub(crate) fn words(&self) -> String {
        match self {
            Reached::Open(open) => {
                let one = |(m, what, device): &(&Message, &str, Device)| {
                    format!("{what} of {} (line {})", say::device(device), m.line)
                };
                let list: Vec<String> = open.iter().rev().take(NAMED).map(one).collect();
                let list = list.join(", ");
                match open.len() {
                    1 => format!(" {list} began, and no line says that it ended."),
                    n => format!(
                        " {n} callbacks began, and no line says that they ended; the last of them: {list}."
                    ),
                }
            }
            Reached::Through(by, last) if by.line == last.line => {
                format!(" All devices had suspended by its last line (line {}).", last.line)
            }
            Reached::Through(by, last) => format!(
                " All devices had suspended by then (line {}), and the last line is \"{}\" (line {}).",
                by.line,
                last.text.trim(),
                last.line
            ),
            Reached::Unknown => String::new(),
        }
    }

    /// What to do about a machine that did not come back.
    fn look(&self) -> &'static str {
        match self {
            Reached::Open(_) => {
                "Unbind the driver of that device, or unload it, and try again: if the machine comes back then, that callback does not end. A console that stays on (no_console_suspend) shows what it says."
            }
            Reached::Through(..) => {
                "What follows that line are the CPUs, the firmware, and the first steps of the way back, of which a console that is switched off shows nothing. Repeat it with no_console_suspend, and write processors, then core to /sys/power/pm_test: if the machine comes back from both, look at the firmware and at what is to wake the machine."
            }
            Reached::Unknown => {
                "No line that was read shows what ran last, and a journal keeps none from behind the freezing of its own writer: repeat it with no_console_suspend, and see with pm_test (devices, platform, processors, core) up to which step it still comes back."
            }
        }
    }

    fn devices(&self) -> Vec<Device> {
        match self {
            Reached::Open(open) => open.iter().rev().take(NAMED).map(|o| o.2.clone()).collect(),
            Reached::Through(..) | Reached::Unknown => Vec::new(),
        }
    }

    /// The lines that tell it.
    pub(crate) fn shown(&self) -> Vec<&'a Message> {
        match self {
            Reached::Open(open) => open.iter().rev().take(NAMED).map(|o| o.0).collect(),
            Reached::Through(by, last) => Vec::from([*by, *last]),
            Reached::Unknown => Vec::new(),
        }
    }
}

/// Callbacks that began and have no end, in their order, with what ran and whose it is:
/// `DRIVER DEVICE: calling FUNCTION @ PID, parent: NAME` and `… FUNCTION returned N after M usecs`
/// (drivers/base/power/main.c:initcall_debug_start and initcall_debug_report, 5.0 to 7.3), or
/// `calling  DEVICE+ @ PID, parent: NAME` and `call DEVICE+ returned …` before that.
fn open<'a>(kernel: &[&'a Message]) -> Vec<(&'a Message, &'a str, Device)> {
    let mut open: Vec<(&Message, &str, &str, Device)> = Vec::new();
    for m in kernel {
        let text = m.text.as_str();
        if let Some((who, rest)) = text.split_once("calling ") {
            let Some((token, _)) = rest.trim_start().split_once(" @ ") else { continue };
            let token = token.split(' ').next().unwrap_or(token);
            if let Some(name) = token.strip_suffix('+') {
                let device = Device { name: name.into(), driver: String::new() };
                open.push((m, token, "a callback", device));
            } else if who.contains(": ") {
                let function = token.split('+').next().unwrap_or(token);
                open.push((m, token, function, owner(who)));
            }
        } else if let Some((call, _)) = text.split_once(" returned ") {
            let device = owner(call).name;
            let same = |o: &(&Message, &str, &str, Device)| {
                call.split(' ').any(|w| w == o.1) && (o.1.ends_with('+') || o.3.name == device)
            };
            if let Some(at) = open.iter().rposition(same) {
                open.remove(at);
            }
        }
    }
    open.into_iter().map(|(m, _, what, device)| (m, what, device)).collect()
}

/// As it stands behind a sleep.
pub(super) fn mode(a: &Attempt) -> String {
    if a.mode.is_empty() { String::new() } else { format!(" ({})", a.mode) }
}

/// A log that ends on the way down, in a text whose writer says that the machine did not come
/// back.
pub(super) fn told<'a>(
    case: &'a Case,
    a: &Attempt,
    words: &LazyCell<Option<&'a Message>, impl FnOnce() -> Option<&'a Message>>,
) -> Option<Finding> {
    let said = case.of(a);
    let kernel = of_the_kernel(said);
    if kernel.iter().any(|m| is_up(m)) || said.iter().any(gives_up) {
        return None;
    }
    let reached = Reached::of(&kernel);
    let down = kernel.iter().any(|m| is_down(m)) || matches!(reached, Reached::Open(_));
    let (m, last) = match down {
        true => ((**words)?, *kernel.last()?),
        false => entered(case, a)?,
    };
    let place = if down { "on the way down" } else { "at its beginning" };
    let first = &said[0];
    let which = format!("in the sleep of line {}{}, {place}", first.line, mode(a));
    Some(finding(&which, m, &[first, last], &reached))
}

/// The same of a part of a log that does not show how the sleep began.
pub(super) fn of_part(case: &Case) -> Option<Finding> {
    case.of_parts().zip(&case.parts).filter(|(_, p)| !p.1).find_map(|(said, _)| {
        let kernel = of_the_kernel(said);
        let ends = |m: &Message| is_up(m) || gives_up(m) || is_of_an_image(m);
        let reached = Reached::of(&kernel);
        // One line of a phase may be all that somebody showed of a sleep that went on.
        if kernel.iter().any(|m| ends(m)) || matches!(reached, Reached::Unknown) {
            return None;
        }
        let words = case.messages.iter().find(|m| says_so_of_the_machine(m))?;
        let (first, last) = (*kernel.first()?, *kernel.last()?);
        let which = format!(
            "on the way into a sleep whose beginning is not in the text (lines {} to {})",
            first.line, last.line
        );
        Some(finding(&which, words, &[first, last], &reached))
    })
}

/// Whether a message is of a hibernation: a machine that is off boots to come back.
fn is_of_an_image(m: &Message) -> bool {
    ["hibernat", "freeze of devices", "quiesce of devices", "poweroff of devices"]
        .iter()
        .any(|w| m.has(w))
}

fn finding(which: &str, said: &Message, ends: &[&Message; 2], reached: &Reached<'_>) -> Finding {
    let words: String = said.text.trim().trim_end_matches('.').chars().take(MOST).collect();
    let mut shown: Vec<&Message> = ends.to_vec();
    shown.extend(reached.shown());
    shown.sort_by_key(|m| m.line);
    shown.dedup_by_key(|m| m.line);
    Finding::new((NO_RETURN, Area::Phase, Level::Risk), Confidence::Guess)
        .says(format!(
            "The log ends {which}, and the writer's words fit a machine that did not come back: \"{words}\".{}",
            reached.words()
        ))
        .look(reached.look())
        .of_devices(reached.devices())
        .when(Some(Direction::Resume), None)
        .shown_by(lines(shown.into_iter().chain([said])))
}

/// So many messages stand behind the beginning of a sleep that a journal ends with: programs that
/// are not frozen yet.
pub(super) const BEHIND: usize = 6;

/// A log that ends with the beginning of its last sleep, as a journal does whose machine hangs
/// later: who writes it is frozen, and nothing more reaches the disk
/// (kernel/power/process.c:freeze_processes). The words of the writer about that sleep, and the
/// kernel's last line.
fn entered<'a>(case: &'a Case, a: &Attempt) -> Option<(&'a Message, &'a Message)> {
    let said = case.of(a);
    let core = |m: &&Message| m.trust.is_of_a_kernel() && stage::begins(m).is_some();
    let at = said.iter().rposition(|m| core(&m))?;
    let behind = case.messages[a.first + at + 1..].iter();
    let is_last = behind.filter(|m| m.trust.is_of_a_kernel()).count() <= BEHIND;
    let words = || case.messages.iter().filter(|m| says_so(m)).find(|m| of_sleep(m));
    is_last.then(words).flatten().map(|m| (m, &said[at]))
}

/// So many letters of a writer's sentence are quoted.
const MOST: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Place;

    /// A text without stamps of which the lines `first` to `last` are a sleep; empty lines part.
    fn judged(text: &str, first: u64, last: u64, begun: bool) -> Option<Finding> {
        let message = |(i, text): (usize, &str)| {
            let own = text.contains("PM: ");
            let trust = if own { Trust::Shown } else { Trust::Prose };
            Message { line: i as u64 + 1, time: None, second: None, text: text.into(), trust }
        };
        let messages = text.lines().enumerate().filter(|l| !l.1.is_empty()).map(message).collect();
        let place = Place { first, last, begun, ..Place::default() };
        let case = Case::new(messages, &[place]);
        let words = LazyCell::new(|| case.messages.iter().find(|m| says_so(m)));
        let whole = case.attempts.first().and_then(|a| told(&case, a, &words));
        whole.or_else(|| of_part(&case))
    }

    const DOWN: &str = "PM: suspend of devices complete after 31.002 msecs\n\
        PM: noirq suspend of devices complete after 1.200 msecs\n\
        Disabling non-boot CPUs ...\nCPU5: shutdown\n";

    #[test]
    fn a_hang_needs_no_line_of_the_entry() {
        for words in [
            "The board never wakes up from it again.",
            "My tablet is completely dead then, nothing on the screen.",
            "After echo mem nothing but a power cycle helps.",
            "I have to pull the plug each time.",
            "It does not come back after suspend.",
        ] {
            let f = judged(&format!("{words}\n\n{DOWN}"), 3, 6, false).expect(words);
            assert_eq!((f.id, f.confidence), ("no-return", Confidence::Guess), "{words}");
            for told in
                ["lines 3 to 6", "suspended by then (line 4)", "\"CPU5: shutdown\" (line 6)"]
            {
                assert!(f.sentence.contains(told), "{told}: {}", f.sentence);
            }
        }
        for words in [
            "Here is how my board goes to sleep.",
            "The touchpad is unresponsive in one game.",
            "The board no longer hangs on resume.",
            "I did not have to reset the board.",
            "The driver only has to reset the fifo there.",
            "The laptop was not stuck this time.",
            "After resume the touchscreen is unresponsive.",
            "The wifi does not come back after resume.",
        ] {
            assert!(judged(&format!("{words}\n\n{DOWN}"), 3, 6, false).is_none(), "{words}");
        }
        let one = "The machine hangs for a while.\n\nPM: suspend of devices complete after 5131.002 msecs\n";
        assert!(judged(one, 3, 3, false).is_none());
        let back = "Enabling non-boot CPUs ...\nCPU5 is up\n";
        let text = format!("The board never wakes up from it again.\n\n{DOWN}{back}");
        assert!(judged(&text, 3, 8, false).is_none());
        let image = DOWN.replace("suspend of devices", "poweroff of devices");
        let text = format!("The board never wakes up from it again.\n\n{image}");
        assert!(judged(&text, 3, 6, false).is_none());
    }

    #[test]
    fn cpus_that_go_off_show_that_devices_are_down() {
        for line in ["smpboot: CPU 3 is now offline", "psci: CPU2 killed (polled 0 ms)"] {
            let text = format!("PM: suspend entry (deep)\n{line}\n\nThe board hangs on suspend.");
            let f = judged(&text, 1, 2, true).expect("a hang");
            assert!(f.sentence.contains("All devices had suspended by its last line"), "{f:?}");
        }
        let other =
            "PM: suspend entry (deep)\nCPU2: thread -1, cpu 2\n\nThe board hangs on suspend.";
        assert!(judged(other, 1, 2, true).is_none_or(|f| !f.sentence.contains("All devices")));
    }

    #[test]
    fn a_line_below_the_log_is_no_last_word_of_the_kernel() {
        let text =
            format!("PM: suspend entry (deep)\n{DOWN}I think it hangs in 5 of 6 tries: bad.");
        let f = judged(&text, 1, 5, true).expect("a hang");
        assert!(f.sentence.contains("last line is \"CPU5: shutdown\" (line 5)"), "{}", f.sentence);
    }

    #[test]
    fn a_callback_without_an_end_ran_last() {
        let called = "PM: suspend entry (deep)\n\
            elm 1-1: PM: calling elm_suspend+0x0/0x20 [elm] @ 100, parent: usb1\n\
            elm 1-2: PM: calling elm_suspend+0x0/0x20 [elm] @ 101, parent: usb1\n\
            elm 1-1: PM: elm_suspend+0x0/0x20 [elm] returned 0 after 90 usecs\n";
        let words = "\nThe machine hangs on suspend every time.\n";
        let f = judged(&format!("{called}{words}"), 1, 4, true).expect("a hang");
        let told = "elm_suspend of 1-2 (elm) (line 3) began, and no line says that it ended";
        assert!(f.sentence.contains(told), "{}", f.sentence);
        assert_eq!(f.about.devices[0].name, "1-2");
        let old = "PM: suspend entry (deep)\nPM: calling  elm.0+ @ 100, parent: soc\n\
            PM: call elm.0+ returned 0 after 9 usecs\nPM: calling  oak.1+ @ 100, parent: soc\n";
        let f = judged(&format!("{old}{words}"), 1, 4, true).expect("a hang");
        assert!(f.sentence.contains("a callback of oak.1 (line 4) began"), "{}", f.sentence);
        // A callback of the way back is none of the way down.
        let back =
            format!("{called}elm 1-3: PM: calling elm_resume+0x0/0x20 [elm] @ 7, parent: usb1\n");
        assert!(judged(&format!("{back}{words}"), 1, 5, true).is_none());
        let ended =
            format!("{called}elm 1-2: PM: elm_suspend+0x0/0x20 [elm] returned 0 after 9 usecs\n");
        let said = judged(&format!("{ended}{words}"), 1, 5, true).map(|f| f.sentence);
        assert!(said.is_none_or(|s| !s.contains("began")));
    }
}
