//! Where the log of a sleep ends that never came back: what a kernel kept over a restart.

use super::calls::{self, Line};
use super::marks;
use super::phase;
use super::{Item, records};
use crate::text;
use dormouse_base::cycle::Last;
use dormouse_base::phase::Phase;

/// The last words of the last sleep of a log; none if it came back, or if there is none.
pub fn last_words(bytes: &[u8]) -> Option<Last> {
    let (mut inside, mut phase, mut overdue) = (false, None, None);
    let mut running: Vec<Box<[u8]>> = Vec::new();
    records(bytes, &mut |item, _| {
        let Item::Record(r) = item else { return };
        let said = r.text.strip_prefix(b"PM: ").unwrap_or(r.text);
        if let Some(next) = behind(said) {
            if next == Phase::Sync {
                inside = true;
                running.clear();
            }
            phase = Some(next);
        }
        inside &= !(said.starts_with(b"suspend exit") || said.ends_with(b"hibernation exit"));
        match calls::of(&r) {
            Some(Line::Call { device, function, .. }) => {
                // No callback runs before.
                let now = phase.filter(|p| *p > Phase::Suspend).unwrap_or(Phase::Suspend);
                phase = Some(phase::of(function, now, false));
                running.retain(|d| **d != *device);
                running.push(device.into());
            }
            Some(Line::Return { owner, .. }) => {
                running.retain(|d| **d != *calls::split(owner).1);
            }
            _ => {}
        }
        // `tg3 0000:04:00.0: **** DPM device timeout ****` (dpm_watchdog_handler of
        // drivers/base/power/main.c, 6.12).
        if let Some(at) = text::find_known(r.text, &r.pairs, b": **** DPM device timeout") {
            overdue = Some(calls::split(&r.text[..at]).1.into());
        }
    });
    let device = overdue.or_else(|| running.pop().filter(|_| inside));
    let device = device.map(|d| String::from_utf8_lossy(&d).into_owned());
    (inside || device.is_some()).then_some(Last { phase, device })
}

/// What begins behind a message of a sleep: kernel/power/suspend.c, hibernate.c, process.c,
/// drivers/base/power/main.c, kernel/cpu.c, drivers/acpi/sleep.c, 6.12.
fn behind(said: &[u8]) -> Option<Phase> {
    let begins = |word: &[u8]| said.starts_with(word);
    if let Some(at) = text::find(said, b" of devices complete") {
        return Some(match phase::named(&said[..at])?.0 {
            Phase::Noirq => Phase::Asleep,
            // `start suspend` is prepare and suspend together.
            Phase::Prepare => Phase::Late,
            over => phase::after(over, false),
        });
    }
    Some(match () {
        () if begins(b"suspend entry") || marks::hibernates(said) => Phase::Sync,
        // One line says that it begins, another or the end of it that it is done.
        () if begins(b"Freezing user space processes") => {
            match text::find(said, b"elapsed").is_some() {
                true => Phase::FreezeKernel,
                false => Phase::FreezeUser,
            }
        }
        () if begins(b"Freezing remaining freezable tasks") => {
            match text::find(said, b"elapsed").is_some() {
                true => Phase::Prepare,
                false => Phase::FreezeKernel,
            }
        }
        () if text::find(said, b"uspending console(s)").is_some() => Phase::Suspend,
        () if begins(b"Disabling non-boot CPUs") => Phase::CpuOff,
        () if begins(b"Enabling non-boot CPUs") => Phase::CpuOn,
        // acpi_pm_finish, which suspend_enter calls behind the CPUs and before the devices.
        () if text::find(said, b"Waking up from system sleep state").is_some() => {
            Phase::ResumeNoirq
        }
        () if begins(b"Restarting tasks") => Phase::Thaw,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(Option<Phase>, Option<String>)> {
        last_words(text.as_bytes()).map(|l| (l.phase, l.device))
    }

    #[test]
    fn a_sleep_ends_in_the_callback_that_did_not_return() {
        let log = "<6>[  5.100000] PM: suspend entry (s2idle)\n\
                   <6>[  5.200000] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)\n\
                   <6>[  5.300000] xhci_hcd 0000:00:14.0: PM: calling pci_pm_suspend_noirq @ 9, parent: pci0000:00\n\
                   <6>[  5.300100] nvme 0000:01:00.0: PM: calling pci_pm_suspend_noirq @ 8, parent: 0000:00:06.0\n\
                   <6>[  5.300200] nvme 0000:01:00.0: PM: pci_pm_suspend_noirq returned 0 after 90 usecs\n";
        assert_eq!(of(log), Some((Some(Phase::Noirq), Some("0000:00:14.0".into()))));
        let back = format!("{log}<6>[  6.000000] PM: suspend exit\n");
        assert_eq!(of(&back), None);
        let again = format!("{back}<6>[  9.000000] PM: suspend entry (s2idle)\n");
        assert_eq!(of(&again), Some((Some(Phase::Sync), None)));
    }

    /// What lies behind a message is the next step of the kernel, not the one that is over.
    #[test]
    fn a_sleep_without_callbacks_ends_behind_its_last_message() {
        let begin = "[    5.000000] PM: suspend entry (deep)\n";
        for (said, phase) in [
            ("Freezing user space processes", Phase::FreezeUser),
            (
                "Freezing user space processes completed (elapsed 0.001 seconds)",
                Phase::FreezeKernel,
            ),
            (
                "Freezing user space processes ... (elapsed 0.001 seconds) done.",
                Phase::FreezeKernel,
            ),
            ("PM: suspend of devices complete after 8.000 msecs", Phase::Late),
            ("PM: start suspend of devices complete after 9.000 msecs", Phase::Late),
            ("PM: noirq suspend of devices complete after 2.000 msecs", Phase::Asleep),
            ("PM: end suspend of devices complete after 3.000 msecs", Phase::Sync),
            ("Enabling non-boot CPUs ...", Phase::CpuOn),
            ("ACPI: PM: Waking up from system sleep state S3", Phase::ResumeNoirq),
        ] {
            let log = format!("{begin}[    6.000000] {said}\n");
            assert_eq!(of(&log), Some((Some(phase), None)), "{said}");
        }
    }

    #[test]
    fn a_hibernation_ends_behind_the_phase_that_it_told() {
        let log = "[    5.100000] PM: hibernation: hibernation entry\n\
                   [    5.200000] PM: late freeze of devices complete after 0.7 msecs\n";
        assert_eq!(of(log), Some((Some(Phase::Noirq), None)));
        assert_eq!(of("[    5.100000] usb 1-2: new high-speed USB device number 4\n"), None);
    }
}
