//! Which row of a cycle a finding concerns.

use dormouse_doctor::fact::Fact;
use dormouse_doctor::finding::{Area, Finding};
use dormouse_doctor::phases::Misplaced;

/// The row of a cycle that a finding concerns, as `show` calls it.
pub fn row(f: &Finding) -> &'static str {
    match (&f.fact, f.area) {
        (Fact::Misplaced(Misplaced::BusGone(..) | Misplaced::WaitedForInterrupt(..)), _) => "noirq",
        (Fact::DomainSwitched { .. }, _) => "noirq",
        (Fact::WaitsInNoirq { .. } | Fact::BusUsed { .. } | Fact::BusTimedOut { .. }, _) => "noirq",
        (Fact::ClockStepped { .. } | Fact::DevicesNotResumed { .. }, _) => "resume",
        (Fact::NotPowered { .. } | Fact::DeviceLost { .. } | Fact::DiskNotBack { .. }, _) => {
            "resume"
        }
        (Fact::CpuStayedOn { .. }, _) => "CPUs off",
        (_, Area::Sync) => "sync",
        (_, Area::Freezer) => "freeze",
        (_, Area::Mode | Area::Clock) => "asleep",
        (_, Area::Hibernation) => "image",
        (_, Area::Abort | Area::Phase | Area::Rpm) => "suspend",
    }
}
