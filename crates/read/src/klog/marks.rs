//! Lines that begin and end an attempt, with what kernels and people put around their words.

use super::number::number;
use super::prefix::Record;
use crate::text;
use dormouse_base::time::Ns;

/// ` 2015-07-15 08:02:59.114579385 UTC`, which kernels of Android before 4.14 put behind entry
/// and exit (kernel/power/suspend.c:pm_suspend_marker).
fn dated(rest: &[u8]) -> bool {
    rest.first() == Some(&b' ') && rest.ends_with(b" UTC")
}

/// A message without what a person put behind it: no line of the core has two blanks.
fn uncommented(text: &[u8]) -> &[u8] {
    text::find(text, b"  ").map_or(text, |at| &text[..at])
}

/// A message without the full stop of whoever wrote it down: no such line of the core has one.
fn unstopped(text: &[u8]) -> &[u8] {
    let text = uncommented(text).trim_ascii_end();
    text.strip_suffix(b".").filter(|t| !t.ends_with(b".")).unwrap_or(text)
}

/// The first line of an attempt.
pub(super) fn begins(text: &[u8]) -> bool {
    let bare = message(text);
    entry(bare).is_some() || hibernates(text) || bare.starts_with(b"Syncing filesystems")
}

/// The last line of an attempt.
pub(super) fn is_exit(text: &[u8]) -> bool {
    let text = unstopped(text);
    text.strip_prefix(b"suspend exit").is_some_and(|rest| rest.is_empty() || dated(rest))
        || message(text) == b"hibernation exit"
}

/// A message of the core without its marks: `PM: `, `PM: hibernation: `.
pub(super) fn message(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"PM: ").unwrap_or(text);
    text.strip_prefix(b"hibernation: ").unwrap_or(text)
}

/// Whether a message ends an attempt because of a wakeup; kernels of Android have words of their
/// own, before tasks run again or behind (kernel/power/wakeup_reason.c:log_suspend_abort_reason).
pub(super) fn is_of_a_wakeup(message: &[u8]) -> bool {
    const SOURCES: [&[u8]; 2] = [b"Pending Wakeup Sources: ", b"Last active Wakeup Source: "];
    let android = message.strip_prefix(b"Abort: ").unwrap_or(message);
    message.starts_with(b"Wakeup pending") || SOURCES.iter().any(|w| android.starts_with(w))
}

/// How long a test waits where it turns round (kernel/power/suspend.c:suspend_test;
/// kernel/power/hibernate.c:hibernation_debug_sleep, with the core's mark before `debug` from 5.6
/// on).
pub(super) fn test_waits(message: &[u8]) -> Option<Ns> {
    let own = message.strip_prefix(b"suspend ").or(message.strip_prefix(b"hibernation "));
    let rest = own.unwrap_or(message).strip_prefix(b"debug: Waiting for ")?;
    Some(Ns::from_ms(number(rest).unwrap_or(0).saturating_mul(1_000)))
}

/// How far on its way an attempt is that switches a CPU off.
pub(super) fn way_of_a_cpu(text: &[u8]) -> Option<usize> {
    offline(text).and_then(|_| way(b"Disabling non-boot CPUs"))
}

/// `smpboot: CPU 3 is now offline`, `CPU3: shutdown`, `psci: CPU3 killed …`.
pub(super) fn offline(text: &[u8]) -> Option<u32> {
    let text = text.strip_prefix(b"smpboot: ").or(text.strip_prefix(b"psci: ")).unwrap_or(text);
    let rest = text.strip_prefix(b"CPU")?.trim_ascii_start();
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let tail = &rest[digits..];
    let known = tail.starts_with(b" is now offline")
        || tail.starts_with(b": shutdown")
        // arch/riscv/kernel/cpu-hotplug.c:arch_cpuhp_cleanup_dead_cpu.
        || tail == b": off"
        || tail.starts_with(b" killed");
    known.then(|| number(&rest[..digits])).flatten().and_then(|n| u32::try_from(n).ok())
}

/// The CPU whose switching on ends with a message, well or not: `CPU3 is up`,
/// `Error taking CPU3 up: -5` (kernel/cpu.c:thaw_secondary_cpus, 2.6.32 to 7.3).
pub(super) fn brought_up(text: &[u8]) -> Option<u32> {
    let cpu = match text.strip_prefix(b"Error taking CPU") {
        Some(rest) => &rest[..text::find(rest, b" up: ")?],
        None => text.strip_prefix(b"CPU")?.strip_suffix(b" is up")?,
    };
    u32::try_from(number(cpu)?).ok()
}

/// Whether a kernel says it: in a log, or at least with its mark, which nobody types in
/// a sentence.
pub(super) fn said(r: &Record<'_>) -> bool {
    r.fresh || r.text.starts_with(b"PM: ")
}

/// From this place of [`way`] on the kernel is on the way up.
pub(super) const ASLEEP: usize = 15;

/// Lines of which each attempt has one, in their order (kernel/power/suspend.c:enter_state,
/// kernel/power/process.c, drivers/base/power/main.c:dpm_show_time, 3.15 to 7.3). Longer words
/// stand behind those they begin with.
const WAY: [&[u8]; 26] = [
    b"suspend entry",
    b"Syncing filesystems",
    b"Filesystems sync: ",
    b"Freezing user space processes",
    b"Freezing user space processes completed",
    b"OOM killer disabled",
    b"Freezing remaining freezable tasks",
    b"Freezing remaining freezable tasks completed",
    b"Suspending console",
    b"suspend devices took ",
    b"suspend of devices complete",
    b"late suspend of devices complete",
    b"noirq suspend of devices complete",
    b"suspend-to-idle",
    b"Disabling non-boot CPUs",
    b"Enabling non-boot CPUs",
    b"resume from suspend-to-idle",
    b"noirq resume of devices complete",
    b"early resume of devices complete",
    b"resume of devices complete",
    b"resume devices took ",
    b"Finishing wakeup",
    b"OOM killer enabled",
    b"Restarting tasks",
    b"Restarting tasks: Done",
    b"suspend exit",
];

/// How far on its way an attempt is that prints this.
pub(super) fn way(text: &[u8]) -> Option<usize> {
    // Asked of each line of a log, most of which begin with none of these.
    const FIRST: &[u8] = b"sSFOlnDErRe";
    let text = message(text);
    if !text.first().is_some_and(|b| FIRST.contains(b)) {
        return None;
    }
    WAY.iter().rposition(|w| text.starts_with(w))
}

/// `suspend entry (deep)`: the mode and what follows; nothing of both where the date stands. A
/// source and its strings have `%s` there.
pub(super) fn entry(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"suspend entry")?;
    let mode = || rest.strip_prefix(b" (").filter(|mode| !mode.starts_with(b"%"));
    if dated(rest) { Some(b"") } else { mode() }
}

/// `hibernation entry`.
pub(super) fn hibernates(text: &[u8]) -> bool {
    let text = message(text);
    text.starts_with(b"hibernation entry") && unstopped(text) == b"hibernation entry"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_way_is_found_at_its_place() {
        for (at, line) in WAY.iter().enumerate() {
            assert_eq!(way(line), Some(at));
            assert_eq!(way(&[b"PM: ", *line].concat()), Some(at));
        }
        assert_eq!((way(b"usb 1-1: reset"), way(b"early bird"), way(b"")), (None, None, None));
    }
}
