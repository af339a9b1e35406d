//! Callbacks in the wrong phase and syncs that were given up, in words.

use super::doctor::{Advice, device, look};
use super::errno::told;
use super::modes::span;
use super::now::OLD;
use dormouse_doctor::phases::Misplaced;

/// What was seen.
pub fn sentence(m: &Misplaced) -> String {
    match m {
        Misplaced::BusGone(d, error) => format!(
            "{} failed in noirq behind a bus: {}. Its bus was suspended already, or needs interrupts, which are off there.",
            device(d),
            told(*error)
        ),
        Misplaced::WaitedForInterrupt(d, took) => format!(
            "{} timed out in noirq after {}: it most likely waited for its own interrupt, and interrupts of devices are off there.",
            device(d),
            span(*took)
        ),
        Misplaced::SyncAborted(n) => {
            let times = if *n == 1 { "A sleep".into() } else { format!("{n} sleeps") };
            format!(
                "{times} ended before any task was frozen: most likely a wakeup ended the waiting for the sync (from 6.19 on). The sync itself went on."
            )
        }
        Misplaced::NeverSuspended(d) => format!(
            "{} asked for an interrupt line that another driver shares, and one of the two wants it never suspended (IRQF_NO_SUSPEND): in a sleep both handlers run, and a wakeup by that line may not end it.",
            if d.name.is_empty() { "A driver".into() } else { device(d) }
        ),
        Misplaced::FilesFrozen(worst) => format!(
            "Freezing file systems (freeze_filesystems) took up to {} between the sync and the tasks. It writes dirty data too, and no wakeup can end it.",
            span(*worst)
        ),
        Misplaced::WriteError(disk) => format!(
            "Data was lost while it was written before the sleep: {} did not take it. The kernel's sync reports no error, so the sleep went on.",
            if disk.is_empty() { "a disk" } else { disk }
        ),
        Misplaced::SyncError(at) => format!(
            "Not all of {at} could be written: syncfs returned an error. That data is at risk, whatever the sleep does."
        ),
        Misplaced::SupplierOff { device: d, supplier, error } => format!(
            "{} failed: {}. {}, which its node names, was suspended then or not yet back, and no device link puts the two in order.",
            device(d),
            told(*error),
            device(supplier)
        ),
        Misplaced::SelfWait(device) => format!(
            "{device} waits for itself: a callback of its runtime power management asks for the same device again, perhaps through one below it, and waits until that callback ends."
        ),
        Misplaced::Twin(d, system, runtime) => format!(
            "{} takes {} to suspend for a sleep and {} at run time: most likely both do the same work.",
            device(d),
            span(*system),
            span(*runtime)
        ),
        Misplaced::NotAbortable(kernel, worst) => format!(
            "Nothing can end a sync before a sleep on {kernel}, and one took {}: a wakeup meanwhile waits.",
            span(*worst)
        ),
    }
}

/// What to do.
pub fn advice(m: &Misplaced) -> Vec<Advice> {
    let one = match m {
        Misplaced::FilesFrozen(_) => {
            return vec![
                look(
                    "Write the data before, while a wakeup can still end it: dormouse sync --hook DIR makes the unit.",
                ),
                Advice {
                    text: "Or do not freeze them: echo 0 > /sys/power/freeze_filesystems".into(),
                    undo: OLD,
                    risk: "What writes by itself in a sleep, such as a loop device, meets a file system that is not frozen.",
                },
            ];
        }
        Misplaced::NeverSuspended(_) => {
            "The other driver must say that it can stand it (IRQF_COND_SUSPEND), or each must have a line of its own. One device alone must not ask for both: IRQF_NO_SUSPEND and wakeup by the same line."
        }
        Misplaced::WriteError(_) | Misplaced::SyncError(_) => {
            "Look at the disk before anything else: dmesg --level=err,warn, its cable, smartctl -a, free space. Copy what matters; write again, and see that sync reports no error."
        }
        Misplaced::SupplierOff { .. } => {
            "Add the device link, not a later phase: the node must name the supplier so that fw_devlink makes it, or the driver calls device_link_add()."
        }
        Misplaced::SelfWait(_) => {
            "Do not wait there for a device below: ask for it without waiting (pm_request_resume), or resume it from outside the callback."
        }
        Misplaced::Twin(..) => {
            "One pair does for both: pm_runtime_force_suspend() and pm_runtime_force_resume() as callbacks of system sleep, or DPM_FLAG_SMART_SUSPEND, which spares the second suspend of a device that is suspended."
        }
        Misplaced::BusGone(..) => {
            "Suspend the bus's host in noirq, or the device in suspend, and add the device link from the device to the host."
        }
        Misplaced::WaitedForInterrupt(..) => {
            "Poll there, or do that work in suspend or late, where interrupts are on."
        }
        Misplaced::SyncAborted(_) => {
            "See which source woke: the difference of /sys/kernel/debug/wakeup_sources. The next attempt waits for the rest of that sync."
        }
        Misplaced::NotAbortable(..) => {
            "Write the data before, with dormouse sync, which can be ended; or take 6.19 and arm wakeup_count."
        }
    };
    vec![look(one)]
}
