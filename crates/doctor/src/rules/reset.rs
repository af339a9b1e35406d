//! Machines that did not come back: another boot, or a boot loader, stands where the end of the
//! sleep should, or the writer tells it.

use super::hung::{self, NO_RETURN};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::formats;
use crate::logs::is_another;
use crate::message::Message;
use crate::stage;
use crate::way::Kind;
use dormouse_base::phase::Direction;
use std::cell::LazyCell;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let words = LazyCell::new(|| case.messages.iter().find(|m| hung::says_so(m)));
    let last = case.attempts.iter().rfind(|a| !a.inside).filter(|a| a.closed);
    out.extend(last.and_then(|a| started_anew(case, a)));
    for a in case.attempts.iter().filter(|a| !a.closed) {
        if a.mode == "hibernation" {
            no_image(case.of(a), out);
        } else if let Some(f) = rebooted(case, a).or_else(|| hung::told(case, a, &words)) {
            out.push(f);
        }
    }
    if out.iter().all(|f| f.id != NO_RETURN) {
        out.extend(parted(case));
    }
    if out.iter().all(|f| f.id != NO_RETURN) {
        out.extend(hung::of_part(case));
    }
    none_found(case, out);
}

/// A journal goes from the way into a sleep to its mark of another boot (`-- Reboot --`,
/// `-- Boot … --` from systemd 242 on): nothing tells that the machine came back.
fn parted(case: &Case) -> Option<Finding> {
    const NEAR: u64 = 1;
    let disk = |text: &str| text.to_ascii_lowercase().contains("hibernat");
    case.boots.iter().find_map(|boot| {
        let near = |line: u64| line < *boot && line + NEAR >= *boot;
        let begun = case.attempts.iter().rfind(|a| case.messages[a.first].line < *boot);
        let entry = begun.and_then(|a| {
            let last = case.of(a).iter().rfind(|m| m.line < *boot)?;
            let last = Some(last).filter(|m| near(m.line) && m.trust.is_of_a_kernel())?;
            (!a.closed && a.mode != "hibernation").then_some(last)
        });
        let step = case.way.steps.iter().rfind(|s| near(s.line));
        let step = step.filter(|s| s.kind == Kind::Sleeps && !disk(&s.text));
        let (line, shown) = match (entry, step) {
            (Some(m), _) => (m.line, Evidence::from(m)),
            (None, Some(s)) => (s.line, s.shown()),
            (None, None) => return None,
        };
        // Lines that were left out, or words of a writer between them, may hold its end.
        let parts = case.messages.iter().map(|m| m.line).chain(case.omitted.iter().copied());
        if parts.into_iter().any(|l| line < l && l < *boot) {
            return None;
        }
        let rule = (NO_RETURN, Area::Phase, Level::Risk);
        Some(
            Finding::new(rule, Confidence::Likely)
                .says(format!(
                    "The journal goes from the way into the sleep (line {line}) to another boot (line {boot}): the machine did not come back by itself. It hung, was switched off, or started anew."
                ))
                .look("journalctl -b -1 -e has the last words of that boot; with pm_trace or pstore the next one says where it was.")
                .shown_by([shown]),
        )
    })
}

/// So many messages before a sleep show that a log is whole.
const FEW: usize = 40;

/// Whether a machine that was off or reset says this first: boot loaders and firmware on a
/// console, and the kernel itself (init/main.c:start_kernel; arch/arm and arch/arm64
/// smp_setup_processor_id; efi stub).
fn boots(m: &Message) -> bool {
    const KERNEL: [&str; 2] = ["Linux version ", "Booting Linux on physical CPU "];
    KERNEL.iter().any(|w| m.text.starts_with(w)) || is_of_a_loader(m)
}

fn is_of_a_loader(m: &Message) -> bool {
    const LOADERS: [&str; 8] = [
        "U-Boot ",
        "Hit any key to stop autoboot",
        "NOTICE:  BL",
        "coreboot-",
        "OpenSBI v",
        "Starting kernel ...",
        "barebox ",
        "GNU GRUB ",
    ];
    // A console without stamps is one block.
    let stamped = m.trust.is_of_a_kernel() && m.time.is_some();
    !stamped && LOADERS.iter().any(|w| m.text.trim_start().starts_with(w))
}

/// The log of a boot ends in a sleep, and the next boot follows. A hibernation boots to come
/// back; `grep` leaves no other lines, and none of an end.
fn rebooted(case: &Case, a: &Attempt) -> Option<Finding> {
    let said = &case.messages[a.first..with_loader(case, a)];
    let at = said.iter().position(boots)?;
    // What a firmware says without a time stands before, and the next clock begins anew.
    let mut clock = None;
    let goes_on = |m: &&Message| {
        let same = !is_another(clock, m) && (m.time.is_some() || clock.is_none());
        clock = m.time.or(clock);
        same
    };
    let last = said[..at].iter().take_while(goes_on).last().unwrap_or(&said[0]);
    let before = case.messages[..a.first].iter().rev().take(FEW);
    let of_log = |m: &&Message| m.trust.is_of_a_kernel();
    let down = said[..at].iter().filter(of_log);
    let thawed = |m: &Message| m.has("Restarting tasks") || m.has("OOM killer enabled");
    let other =
        |m: &Message| !["PM: ", "suspend", "Suspend", "sleep", "resume"].iter().any(|w| m.has(w));
    let after = said[at..].iter().skip(1).take(3);
    if down.clone().any(thawed) || !down.chain(before).chain(after).any(other) {
        return None;
    }
    let (first, boot) = (&said[0], &said[at]);
    // What stood on lines that are no messages was left out, and may have been its end.
    let inside = first.line..boot.line;
    let left_out = case.omitted.iter().any(|l| inside.contains(l) && !case.boots.contains(l));
    // The kernel's own lines of work that goes on have dots, too.
    let own =
        |m: &Message| stage::begins(m).is_some() || formats::all().recognise(&m.text).is_some();
    let omits = |m: &Message| m.text.contains("...") && !m.trust.is_of_a_kernel() && !own(m);
    let omitted = said[..at].iter().any(|m| omits(m) && !is_of_a_loader(m));
    if left_out || omitted || boot.line <= first.line {
        return None;
    }
    let mode = hung::mode(a);
    let loader = said.iter().find(|m| is_of_a_loader(m));
    let follows = match loader {
        Some(_) => "a boot loader speaks next: the board was reset in it, or lost its power",
        None => {
            "another boot follows: the machine did not come back from it, or lost its power there"
        }
    };
    let cause = reset_cause(&said[at..]);
    let named = cause.map_or(String::new(), |(_, c)| {
        let c: String = c.chars().take(CAUSE).collect();
        format!(" It names the cause of its reset: {c}.")
    });
    let shown = [first].into_iter().chain((last.line != first.line).then_some(last)).chain([boot]);
    Some(
        Finding::new((NO_RETURN, Area::Phase, Level::Risk), Confidence::Likely)
            .says(format!(
                "The log of a boot ends in the sleep of line {}{mode}, and {follows}.{named} No line that was read shows how far it came after that.",
                first.line
            ))
            .look("A second time with no_console_suspend, or pm_trace (it sets the clock), tells where it stopped; a battery that ran empty tells nothing of the kernel.")
            .shown_by(lines(shown.chain(cause.map(|c| c.0)))),
    )
}

/// So many letters of a cause are shown.
const CAUSE: usize = 60;

/// Where the lines of an attempt end, with those of a boot loader right behind an attempt that
/// has no end: a console shows them without stamps.
fn with_loader(case: &Case, a: &Attempt) -> usize {
    let rest = &case.messages[a.end..];
    let at = rest.iter().take(FEW).position(is_of_a_loader).filter(|_| !a.closed);
    at.map_or(a.end, |at| a.end + (at + 1 + FEW).min(rest.len()))
}

/// What a boot loader says of why the board was reset: `Reset cause: WDOG` (U-Boot,
/// print_cpuinfo of several boards), `Reset Status: …`.
fn reset_cause(said: &[Message]) -> Option<(&Message, &str)> {
    said.iter().find_map(|m| {
        // arch/x86/kernel/cpu/amd.c:print_s5_reset_status_mmio (6.16).
        if let Some(rest) = m.after("Previous system reset reason [") {
            return rest.split_once("]: ").map(|(_, cause)| (m, cause.trim()));
        }
        let (name, cause) = m.text.trim().split_once(": ")?;
        let known = ["reset cause", "reset status", "reset reason", "boot reason"];
        let is = known.iter().any(|k| name.eq_ignore_ascii_case(k));
        (is && !cause.trim().is_empty()).then(|| (m, cause.trim()))
    })
}

/// What the boot says of an image that is not there (kernel/power/swap.c:swsusp_check,
/// kernel/power/hibernate.c:software_resume).
const NONE: [&str; 2] = ["Image not found (code -22)", "Hibernation image not present"];

/// Whether somebody asked for the machine to be switched off or started anew
/// (kernel/reboot.c, systemd's src/shutdown and units).
fn is_shutdown(m: &Message) -> bool {
    const WORDS: [&str; 12] = [
        "reboot: Power down",
        "reboot: Restarting system",
        "reboot: System halted",
        "systemd-shutdown",
        "Shutting down.",
        "System is powering down",
        "System is rebooting",
        "The system will power off",
        "The system will reboot",
        "Reached target Power",
        "Reached target Shutdown",
        "Reached target Reboot",
    ];
    WORDS.iter().any(|w| m.has(w))
}

/// A boot so soon after a machine was back, in s, without a word of who asked for it.
const SOON: i64 = 300;

/// A machine that was back, and was started anew a moment later: it hung or broke down, unless
/// somebody asked for that.
fn started_anew(case: &Case, a: &Attempt) -> Option<Finding> {
    let (end, first) = (&case.messages[a.end.checked_sub(1)?], &case.messages[a.first]);
    let rest = &case.messages[a.end..];
    let begins = |m: &Message| {
        let zero = m.time == Some(dormouse_base::time::Ns::ZERO) && m.trust.is_of_a_kernel();
        boots(m) || zero && end.time.is_some_and(|t| t.0 > 0)
    };
    let at = rest.iter().take(MOST_LINES).position(begins)?;
    let boot = &rest[at];
    let away = boot.second?.checked_sub(end.second?)?;
    if !(0..=SOON).contains(&away) || rest[..at].iter().any(is_shutdown) {
        return None;
    }
    // Whoever looked for words of sleep alone has none of the asking.
    let sought = |m: &Message| m.has("PM: ") || m.has("suspend") || m.has("resume");
    let all = rest[..at].iter().chain(case.of(a)).all(sought);
    let left = if all {
        " The text has lines of one word alone (grep), so who asked for it may be left out."
    } else {
        ""
    };
    let span =
        dormouse_base::say::span(dormouse_base::time::Ns(away.saturating_mul(1_000_000_000)));
    Some(
        Finding::new((NO_RETURN, Area::Phase, Level::Risk), Confidence::Guess)
            .says(format!(
                "The machine came back from the sleep of line {}, and {span} after its last line it was started anew; no line says that somebody asked for that. It may have hung after the wake-up.{left}",
                first.line
            ))
            .look("Give the whole journal between the wake-up and the boot, and say who started it anew; journalctl -b -1 -e has its last words.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines([first, end, boot])),
    )
}

/// So many lines behind a sleep the boot is looked for.
const MOST_LINES: usize = 400;

/// The boot behind a hibernation that found no image (kernel/power/swap.c:swsusp_check).
fn no_image(said: &[Message], out: &mut Vec<Finding>) {
    let none = |m: &&Message| {
        let kernel = m.trust.is_of_a_kernel() || m.text.starts_with("PM: ");
        kernel && NONE.iter().any(|w| m.says(w))
    };
    let Some(found) = said.iter().find(none) else { return };
    // A test of the way back looks for the image it has just written.
    let wrote = |m: &Message| m.says("Wrote ") && m.has(" kbytes in ");
    let boot = said.iter().position(|m| m.text.starts_with("Linux version "));
    let before = boot.is_none_or(|at| said[at].line > found.line);
    if before && said.iter().take_while(|m| m.line < found.line).any(wrote) {
        return;
    }
    let at = boot.filter(|_| !before).unwrap_or(0);
    // Whoever switched it off by hand lost what it held on purpose.
    let until = said.iter().take_while(|m| m.line < found.line);
    if until.into_iter().any(is_shutdown) {
        return;
    }
    out.push(
        Finding::new(("hib-no-image", Area::Hibernation, Level::Risk), Confidence::Likely)
            .says(format!(
                "The machine did not come back from the hibernation of line {}: the boot behind it found no image. It was not written to the end, or not where resume= points, and what it held is lost.",
                said[0].line
            ))
            .look("Give the last lines of the boot before: whether the image was written. Compare resume= (and resume_offset= of a swap file) with swapon --show.")
            .when(Some(Direction::Resume), None)
            .shown_by(lines([&said[0]].into_iter().chain((at > 0).then(|| &said[at])).chain([found]))),
    );
}

/// The rule that tells of a start that found no image, in a text that shows no hibernation.
pub(crate) const NOT_FOUND: &str = "hib-none-found";

/// A start that found no image, where no attempt stands before it: every start without a
/// hibernation before it says so too (kernel/power/swap.c:swsusp_check).
fn none_found(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "Image not found (code ";
    if !case.attempts.is_empty()
        || !case.parts.is_empty()
        || out.iter().any(|f| f.id.starts_with("hib-"))
    {
        return;
    }
    let said = case.messages.having(WORDS).map(|(_, m)| m);
    let said: Vec<(&Message, i32)> = said
        .filter(|m| m.trust.is_of_a_kernel() || m.text.starts_with("PM: "))
        .filter_map(|m| Some((m, m.after(WORDS)?.split(')').next()?.parse().ok()?)))
        .collect();
    let Some((_, first)) = said.first() else { return };
    let mut codes: Vec<String> = Vec::new();
    for told in said.iter().map(|s| dormouse_base::say::told(s.1)) {
        if !codes.contains(&told) {
            codes.push(told);
        }
    }
    let open = match first {
        -22 => " -22 says that the place had no mark of an image.",
        _ => "",
    };
    out.push(
        Finding::new((NOT_FOUND, Area::Hibernation, Level::Note), Confidence::Certain)
            .says(format!(
                "A boot looked for an image of a hibernation and found none: {}.{open} After a hibernation its session is lost; a boot that follows no hibernation says so too.",
                codes.join(", ")
            ))
            .look("Compare resume= and resume_offset= with swapon --show and filefrag -v of the swap file, and give the last lines of the boot before: whether the image was written.")
            .times(said.len())
            .of_error(*first)
            .shown_by(lines(said.iter().map(|s| s.0))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Place;
    use crate::message::Trust;

    /// Lines of a log that is one attempt, with what they are; times in ms, or none.
    fn judged(said: &[(Option<i64>, Trust, &str)]) -> Vec<Finding> {
        let message = |(i, (ms, trust, text)): (usize, &(Option<i64>, Trust, &str))| Message {
            line: i as u64 + 1,
            time: ms.map(dormouse_base::time::Ns::from_ms),
            second: None,
            text: (*text).into(),
            trust: *trust,
        };
        let place = Place { mode: "deep", first: 1, last: 3, begun: true, ..Place::default() };
        let case = Case::new(said.iter().enumerate().map(message).collect(), &[place]);
        let mut out = Vec::new();
        judge(&case, &mut out);
        out
    }

    const DOWN: [(Option<i64>, Trust, &str); 3] = [
        (Some(5_000), Trust::Logged, "PM: suspend entry (deep)"),
        (Some(5_100), Trust::Logged, "PM: noirq suspend of devices complete after 2.000 msecs"),
        (Some(5_110), Trust::Logged, "CPU1: shutdown"),
    ];

    #[test]
    fn a_boot_loader_behind_the_way_down_is_a_reset() {
        let loader = [
            (None, Trust::Prose, "DRAM: 2 GiB"),
            (None, Trust::Prose, "U-Boot 2099.01 (Jan 01 2099)"),
            (None, Trust::Prose, "Starting kernel ..."),
        ];
        let kernel = [(Some(0), Trust::Logged, "Linux version 6.6.1 (x@y)")];
        for rest in [&loader[..], &[&loader[..], &kernel].concat(), &kernel] {
            let found = judged(&[&DOWN[..], rest].concat());
            assert_eq!(found.len(), 1, "{rest:?}");
            assert_eq!((found[0].id, found[0].confidence), ("no-return", Confidence::Likely));
            assert_eq!(found[0].evidence[1].line, 3, "the last line of the sleep");
        }
        let back = [(Some(6_000), Trust::Logged, "Restarting tasks ... done.")];
        assert!(judged(&[&DOWN[..], &back, &loader, &kernel].concat()).is_empty());
    }

    #[test]
    fn a_writer_who_saw_no_return_is_heard() {
        let says = |text: &'static str| [(None, Trust::Prose, text)];
        let found = judged(&[&DOWN[..], &says("After that it never wakes up again.")].concat());
        assert_eq!((found[0].id, found[0].confidence), ("no-return", Confidence::Guess));
        assert!(judged(&[&DOWN[..], &says("All is well with it here.")].concat()).is_empty());
        // A journal ends with the entry.
        let entry = &DOWN[..1];
        let sync = [(Some(5_200), Trust::Logged, "Filesystems sync: 0.021 seconds")];
        let hangs = says("It does not wake up from sleep, so I hold the power button.");
        for log in [entry, &[entry, &sync].concat()] {
            let found = judged(&[log, &hangs].concat());
            assert_eq!((found[0].id, found[0].confidence), ("no-return", Confidence::Guess));
            assert!(found[0].sentence.contains("at its beginning"), "{}", found[0].sentence);
            assert!(
                judged(&[log, &says("The mouse is unresponsive in that game.")].concat())
                    .is_empty()
            );
            let other = (Some(9_000), Trust::Logged, "usb 3-1: new device");
            assert!(judged(&[log, &[other; hung::BEHIND + 1], &hangs].concat()).is_empty());
        }
        let back = [(Some(6_000), Trust::Logged, "Enabling non-boot CPUs ...")];
        assert!(judged(&[&DOWN[..], &back, &says("It hangs now and then.")].concat()).is_empty());
    }
}
