//! Lines of firmware's side of a sleep, where the core's are not in the text.

use super::number::seconds;
use super::state::Log;
use crate::event::Stamp;
use crate::text as bytes;
use dormouse_base::cycle::{Cycle, Mode};

/// A sleep of which a text kept the lines of ACPI alone, or of which it begins behind the
/// firmware: none is open where they come, or the open one is back already
/// (drivers/acpi/sleep.c:acpi_sleep_prepare, acpi_suspend_enter and acpi_pm_finish;
/// `Suspended for` is kernel/time/timekeeping_debug.c's of 4.13 to 5.x). S4 and S5 are of
/// hibernation and of switching off. Whether the line began one.
pub(super) fn begins(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>, said: bool) -> bool {
    let open = log.t.open_serial() != 0;
    if open && let Some(mode) = operation(text) {
        log.sync();
        log.c.operation = Some(mode);
    }
    let acpi = text.strip_prefix(b"ACPI: ").map(|t| t.strip_prefix(b"PM: ").unwrap_or(t));
    let to_memory = |rest: &[u8]| rest == b"S3" || rest == b"S2" || rest == b"S1";
    let state = |before: &[u8]| acpi.and_then(|t| t.strip_prefix(before)).filter(|r| to_memory(r));
    let mode = |state: &[u8]| if state == b"S3" { Mode::Deep } else { Mode::Standby };
    let woken = state(b"Waking up from system sleep state ");
    let low = acpi.is_some_and(|t| t.starts_with(b"Low-level resume complete"));
    let idle = text == b"resume from suspend-to-idle";
    let up = woken.map(mode).or(low.then_some(Mode::Deep)).or(idle.then_some(Mode::S2idle));
    // Firmware wakes once a sleep: what wakes again is of another, whose way down was left out.
    if woken.is_some() && open && std::mem::replace(&mut log.c.waking, true) {
        // Nobody quotes it twice.
        log.c.wakes_again = true;
        log.open(stamp, false);
        log.sync();
        (log.c.waking, log.c.wakes_again) = (true, true);
    }
    if let Some(mode) = up.filter(|_| open) {
        log.is_of(mode);
    }
    if let Some(state) = state(b"Preparing to enter system sleep state ") {
        if open && log.c.woke.is_none() && log.c.quiet.1.is_none() {
            log.is_of(mode(state));
            // Behind all devices (kernel/power/suspend.c:platform_suspend_prepare_noirq).
            log.c.down = Some(log.now);
            return true;
        }
        log.open(stamp, false);
        log.sync();
        log.t.set_mode(mode(state));
        log.c.sleep_from = Some(log.now);
        log.c.down = Some(log.now);
        return true;
    }
    let counted = ["Timekeeping suspended for ", "Suspended for "]
        .iter()
        .any(|t| text.strip_prefix(t.as_bytes()).and_then(seconds).is_some());
    if open {
        return counted && log.slept_otherwise(stamp);
    }
    // Nobody types a whole line of ACPI in a sentence.
    if !said && woken.is_none() {
        return false;
    }
    if up.is_none() && !counted {
        return false;
    }
    log.t.cycle_at(stamp);
    log.sync();
    log.c.waking = woken.is_some();
    if let Some(mode) = up {
        log.t.set_mode(mode);
    }
    true
}

/// Which mode systemd-sleep is about to enter (src/sleep/sleep.c:execute), of those that are no
/// mere suspend.
fn operation(text: &[u8]) -> Option<Mode> {
    const WORDS: &[u8] = b"Performing sleep operation '";
    let rest = &text[bytes::find(text, WORDS)? + WORDS.len()..];
    let hibernates = rest.starts_with(b"hibernate'") || rest.starts_with(b"hybrid-sleep'");
    hibernates.then_some(Mode::Disk)
}

impl Log<'_> {
    /// `ACPI: PM: Saving platform NVS memory` of S3 and S4 (drivers/acpi/nvs.c:suspend_nvs_save,
    /// called by drivers/acpi/sleep.c:acpi_pm_prepare, 6.12): all devices are down. What follows,
    /// if no line tells of CPUs, is the sleep.
    pub(super) fn saves_nvs(&mut self) {
        self.c.firmware = true;
        let now = self.now;
        let deep = self.t.current().is_some_and(|c| c.cycle.mode == Mode::Deep);
        if deep {
            self.c.sleep_from.get_or_insert(now);
        }
    }

    /// Time stood still in the open cycle already, and the service asked for another mode since
    /// then: this time is of a sleep of that mode, whose other lines are not there.
    fn slept_otherwise(&mut self, stamp: &Stamp<'_>) -> bool {
        let Some(mode) = self.c.operation.take() else { return false };
        let slept = |c: &Cycle| c.asleep_elsewhere.is_some() && c.mode != mode;
        if !self.t.current().is_some_and(|c| slept(&c.cycle)) {
            return false;
        }
        self.open(stamp, false);
        self.sync();
        self.t.set_mode(mode);
        true
    }

    /// A line proves the sleep state, which none named so far.
    pub(super) fn is_of(&mut self, mode: Mode) {
        if self.t.current().is_some_and(|c| c.cycle.mode == Mode::Unknown) {
            self.t.set_mode(mode);
        }
    }
}

/// The state that somebody asks for: `# echo freeze > /sys/power/state`, `board /sys/power# echo
/// standby > state`, or what rtcwake says
/// (`wakeup from "freeze" using /dev/rtc0`). `mem` is what the kernel makes of it.
pub(super) fn asked(text: &[u8]) -> Option<Mode> {
    let mode = |word: &[u8]| match word {
        b"freeze" => Some(Mode::S2idle),
        b"standby" => Some(Mode::Standby),
        b"mem" => Some(Mode::Deep),
        b"disk" => Some(Mode::Disk),
        _ => None,
    };
    let word = |t: &[u8]| t.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    if let Some(at) = bytes::find(text, b"wakeup from ") {
        // A log in JSON has a mark before the other.
        let rest = &text[at + b"wakeup from ".len()..];
        let rest = rest.strip_prefix(b"\\").unwrap_or(rest).strip_prefix(b"\"")?;
        return mode(&rest[..word(rest)]);
    }
    let at = bytes::find(text, b"echo ")?;
    let before = text[..at].trim_ascii_end();
    if !(before.is_empty() || before.ends_with(b"#") || before.ends_with(b"$")) {
        return None;
    }
    let rest = text[at + b"echo ".len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b"-n ").unwrap_or(rest);
    let (asks, rest) = rest.split_at(word(rest));
    let file = rest.trim_ascii().strip_prefix(b">")?.trim_ascii_start();
    let folder = before.trim_ascii_end().strip_suffix(b"#").or(before.strip_suffix(b"$"));
    let inside = folder.is_some_and(|f| f.trim_ascii_end().ends_with(b"/sys/power"));
    let is_file = file == b"/sys/power/state" || inside && file == b"state";
    is_file.then(|| mode(asks)).flatten()
}
