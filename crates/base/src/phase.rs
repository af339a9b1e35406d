//! The phases of a sleep cycle, one enumeration for all kernels.
//!
//! Order and names follow the kernel's own steps (kernel/power/suspend.c,
//! 6.1 to 7.3; older ones differ in text, not in order).

use serde::Serialize;
use std::fmt;

/// Which half of a cycle a phase belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// On the way down.
    Suspend,
    /// On the way up.
    Resume,
}

impl Direction {
    /// `suspend` or `resume`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Suspend => "suspend",
            Direction::Resume => "resume",
        }
    }
}

/// A step of the cycle, in the order in which the steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// File systems are written out.
    Sync,
    /// All tasks are frozen (one bracket in traces).
    Freeze,
    /// User tasks are frozen (kernel logs tell the two apart).
    FreezeUser,
    /// Freezable kernel threads are frozen.
    FreezeKernel,
    /// `->prepare` of every device, serially.
    Prepare,
    /// `->suspend` (or `->freeze`, `->poweroff`).
    Suspend,
    /// `->suspend_late`.
    Late,
    /// `->suspend_noirq`, device interrupts off.
    Noirq,
    /// One non-boot CPU is taken down.
    CpuOff,
    /// System core operations, one CPU, interrupts off.
    SyscoreSuspend,
    /// Asleep: never counted as latency. For hibernation, making the image.
    Asleep,
    /// System core operations on the way up.
    SyscoreResume,
    /// One non-boot CPU is brought up.
    CpuOn,
    /// `->resume_noirq`.
    ResumeNoirq,
    /// `->resume_early`.
    ResumeEarly,
    /// `->resume` (or `->thaw`, `->restore`).
    Resume,
    /// `->complete` of every device, serially.
    Complete,
    /// Consoles come back.
    Console,
    /// Tasks run again.
    Thaw,
}

impl Phase {
    /// Every phase in order.
    pub const ALL: [Phase; 19] = [
        Phase::Sync,
        Phase::Freeze,
        Phase::FreezeUser,
        Phase::FreezeKernel,
        Phase::Prepare,
        Phase::Suspend,
        Phase::Late,
        Phase::Noirq,
        Phase::CpuOff,
        Phase::SyscoreSuspend,
        Phase::Asleep,
        Phase::SyscoreResume,
        Phase::CpuOn,
        Phase::ResumeNoirq,
        Phase::ResumeEarly,
        Phase::Resume,
        Phase::Complete,
        Phase::Console,
        Phase::Thaw,
    ];

    /// The eight phases that run device callbacks, in order.
    pub const DEVICE: [Phase; 8] = [
        Phase::Prepare,
        Phase::Suspend,
        Phase::Late,
        Phase::Noirq,
        Phase::ResumeNoirq,
        Phase::ResumeEarly,
        Phase::Resume,
        Phase::Complete,
    ];

    /// The name in the kernel's words. `noirq` and `syscore` occur in both
    /// directions; [`Phase::direction`] tells them apart.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Sync => "sync",
            Phase::Freeze => "freeze",
            Phase::FreezeUser => "freeze_user",
            Phase::FreezeKernel => "freeze_kernel",
            Phase::Prepare => "prepare",
            Phase::Suspend => "suspend",
            Phase::Late => "late",
            Phase::Noirq | Phase::ResumeNoirq => "noirq",
            Phase::CpuOff => "cpu_off",
            Phase::SyscoreSuspend | Phase::SyscoreResume => "syscore",
            Phase::Asleep => "asleep",
            Phase::CpuOn => "cpu_on",
            Phase::ResumeEarly => "early",
            Phase::Resume => "resume",
            Phase::Complete => "complete",
            Phase::Console => "console",
            Phase::Thaw => "thaw",
        }
    }

    /// As the kernel prints it, with its half where the name alone is not
    /// enough: `noirq suspend`, `early resume`.
    pub fn title(self) -> &'static str {
        match self {
            Phase::Late => "late suspend",
            Phase::Noirq => "noirq suspend",
            Phase::SyscoreSuspend => "syscore suspend",
            Phase::SyscoreResume => "syscore resume",
            Phase::ResumeNoirq => "noirq resume",
            Phase::ResumeEarly => "early resume",
            other => other.name(),
        }
    }

    /// Which half of the cycle the phase belongs to (`Asleep` ends the first).
    pub fn direction(self) -> Direction {
        if self <= Phase::Asleep { Direction::Suspend } else { Direction::Resume }
    }

    /// Whether device callbacks run in this phase.
    pub fn has_devices(self) -> bool {
        self.device_index().is_some()
    }

    /// Position in [`Phase::DEVICE`]: 0 prepare … 7 complete.
    pub fn device_index(self) -> Option<usize> {
        Phase::DEVICE.iter().position(|&p| p == self)
    }

    /// Whether the kernel may run devices of this phase in worker threads;
    /// prepare and complete are strictly serial (drivers/base/power/main.c).
    pub fn may_be_async(self) -> bool {
        self.has_devices() && !matches!(self, Phase::Prepare | Phase::Complete)
    }

    /// The phase called `name` in `direction`, as in `show --phase`.
    pub fn find(name: &str, direction: Direction) -> Option<Phase> {
        Phase::ALL.into_iter().find(|p| p.name() == name && p.direction() == direction)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kernel's PM event: which family of callbacks a phase calls.
///
/// In `dpm_*` trace events the number in brackets; in device events the word in
/// brackets (include/trace/events/power.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PmEvent {
    /// System suspend.
    #[default]
    Suspend,
    /// Resume from system suspend.
    Resume,
    /// Quiesce before the hibernation image is made.
    Freeze,
    /// Quiesce before a hibernation image is restored.
    Quiesce,
    /// Power off after the image was written (`->poweroff`).
    Hibernate,
    /// Undo a freeze after the image was made.
    Thaw,
    /// Start again from a restored image.
    Restore,
    /// Undo after a failed transition.
    Recover,
    /// Plain power-off (6.19 and later).
    Poweroff,
}

impl PmEvent {
    /// The kernel's word, as in device trace events.
    pub fn name(self) -> &'static str {
        match self {
            PmEvent::Suspend => "suspend",
            PmEvent::Resume => "resume",
            PmEvent::Freeze => "freeze",
            PmEvent::Quiesce => "quiesce",
            PmEvent::Hibernate => "hibernate",
            PmEvent::Thaw => "thaw",
            PmEvent::Restore => "restore",
            PmEvent::Recover => "recover",
            PmEvent::Poweroff => "poweroff",
        }
    }

    /// From the number in `dpm_suspend[2]`.
    pub fn from_number(n: i64) -> Option<PmEvent> {
        Some(match n {
            1 => PmEvent::Freeze,
            2 => PmEvent::Suspend,
            4 => PmEvent::Hibernate,
            8 => PmEvent::Quiesce,
            16 => PmEvent::Resume,
            32 => PmEvent::Thaw,
            64 => PmEvent::Restore,
            128 => PmEvent::Recover,
            _ => return None,
        })
    }

    /// From the word in a device event.
    pub fn from_name(name: &[u8]) -> Option<PmEvent> {
        Some(match name {
            b"suspend" => PmEvent::Suspend,
            b"resume" => PmEvent::Resume,
            b"freeze" => PmEvent::Freeze,
            b"quiesce" => PmEvent::Quiesce,
            b"hibernate" => PmEvent::Hibernate,
            b"thaw" => PmEvent::Thaw,
            b"restore" => PmEvent::Restore,
            b"recover" => PmEvent::Recover,
            b"poweroff" => PmEvent::Poweroff,
            _ => return None,
        })
    }

    /// Which half of a cycle devices are in under this event.
    pub fn direction(self) -> Direction {
        match self {
            PmEvent::Suspend
            | PmEvent::Freeze
            | PmEvent::Quiesce
            | PmEvent::Hibernate
            | PmEvent::Poweroff => Direction::Suspend,
            PmEvent::Resume | PmEvent::Thaw | PmEvent::Restore | PmEvent::Recover => {
                Direction::Resume
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_direction_identify_a_phase() {
        for p in Phase::ALL {
            assert_eq!(Phase::find(p.name(), p.direction()), Some(p));
        }
    }

    #[test]
    fn numbers_of_events_are_the_kernels() {
        assert_eq!(PmEvent::from_number(2), Some(PmEvent::Suspend));
        assert_eq!(PmEvent::from_number(16), Some(PmEvent::Resume));
        assert_eq!(PmEvent::from_number(3), None);
    }
}
