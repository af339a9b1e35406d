//! Callbacks in the wrong phase and syncs that were given up, in words.

use super::doctor::{device, told};
use super::modes::span;
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
        Misplaced::NotAbortable(kernel, worst) => format!(
            "Nothing can end a sync before a sleep on {kernel}, and one took {}: a wakeup meanwhile waits.",
            span(*worst)
        ),
    }
}

/// What to do.
pub fn advice(m: &Misplaced) -> &'static str {
    match m {
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
    }
}
