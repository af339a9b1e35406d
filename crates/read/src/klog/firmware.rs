//! Lines of firmware's side of a sleep, where the core's are not in the text.

use super::number::seconds;
use super::state::Log;
use crate::event::Stamp;
use dormouse_base::cycle::Mode;

/// A sleep of which a text kept the lines of ACPI alone, or of which it begins behind the
/// firmware: none is open where they come, or the open one is back already
/// (drivers/acpi/sleep.c:acpi_sleep_prepare, acpi_suspend_enter and acpi_pm_finish;
/// `Suspended for` is kernel/time/timekeeping_debug.c's of 4.13 to 5.x). S4 and S5 are of
/// hibernation and of switching off. Whether the line began one.
pub(super) fn begins(log: &mut Log<'_>, text: &[u8], stamp: &Stamp<'_>, said: bool) -> bool {
    let open = log.t.open_serial() != 0;
    let acpi = text.strip_prefix(b"ACPI: ").map(|t| t.strip_prefix(b"PM: ").unwrap_or(t));
    let to_memory = |rest: &[u8]| rest == b"S3" || rest == b"S2" || rest == b"S1";
    let state = |before: &[u8]| acpi.and_then(|t| t.strip_prefix(before)).filter(|r| to_memory(r));
    let mode = |state: &[u8]| if state == b"S3" { Mode::Deep } else { Mode::Standby };
    if let Some(state) = state(b"Preparing to enter system sleep state ") {
        if open && log.c.woke.is_none() && log.c.quiet.1.is_none() {
            return false;
        }
        log.open(stamp, false);
        log.sync();
        log.t.set_mode(mode(state));
        log.c.sleep_from = Some(log.now);
        log.c.down = Some(log.now);
        return true;
    }
    if open || !said {
        return false;
    }
    let woken = state(b"Waking up from system sleep state ");
    let low = acpi.is_some_and(|t| t.starts_with(b"Low-level resume complete"));
    let counted = ["Timekeeping suspended for ", "Suspended for "]
        .iter()
        .any(|t| text.strip_prefix(t.as_bytes()).and_then(seconds).is_some());
    if woken.is_none() && !low && !counted {
        return false;
    }
    log.t.cycle_at(stamp);
    log.sync();
    if let Some(mode) = woken.map(mode).or(low.then_some(Mode::Deep)) {
        log.t.set_mode(mode);
    }
    true
}
