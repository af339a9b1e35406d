//! What will become of `CLOCK_MONOTONIC` in s2idle (kernel/time/tick-common.c:tick_freeze,
//! kernel/time/timekeeping.c, 6.12).

use crate::case::Case;
use crate::now::Shallow;
use crate::rules::{knob, ready};

/// Whether time will stop in s2idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Every CPU has an idle state for it.
    Yes,
    /// These CPUs of so many have none, and why.
    No(Vec<u32>, usize, Shallow),
    /// Some may: a limit of so many us on their wake-up holds, which s2idle keeps too.
    Limited(u32),
    /// No file tells.
    NotKnown,
}

/// What will become of `CLOCK_MONOTONIC` in s2idle, by the files of the machine.
pub fn in_s2idle(case: &Case) -> Stands {
    match ready::lacking(case) {
        None => Stands::NotKnown,
        Some(l) if l.cpus.is_empty() => {
            knob::wakeup_limit(case).map_or(Stands::Yes, Stands::Limited)
        }
        Some(l) => Stands::No(l.cpus, l.of, l.why),
    }
}
