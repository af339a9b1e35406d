//! What the words of `suspend_resume` and of the ops column mean.

use dormouse_base::cycle::Mode;
use dormouse_base::phase::{Direction, Phase, PmEvent};

/// What a `suspend_resume` action brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `suspend_enter`: the cycle begins. Its end comes before any device work
    /// and means nothing more.
    Enter,
    /// A phase.
    Phase(Phase),
    /// Known, and inside another bracket or of no interest.
    Nested,
    /// Not known.
    Unknown,
}

/// The meaning of `action`, in kernels 3.15 to 7.3.
pub(super) fn step(action: &[u8]) -> Step {
    Step::Phase(match action {
        b"suspend_enter" => return Step::Enter,
        b"sync_filesystems" => Phase::Sync,
        b"freeze_processes" => Phase::Freeze,
        b"dpm_prepare" => Phase::Prepare,
        b"dpm_suspend" => Phase::Suspend,
        b"dpm_suspend_late" => Phase::Late,
        b"dpm_suspend_noirq" => Phase::Noirq,
        b"CPU_OFF" => Phase::CpuOff,
        b"syscore_suspend" => Phase::SyscoreSuspend,
        b"machine_suspend" => Phase::Asleep,
        b"syscore_resume" => Phase::SyscoreResume,
        b"CPU_ON" => Phase::CpuOn,
        b"dpm_resume_noirq" => Phase::ResumeNoirq,
        b"dpm_resume_early" => Phase::ResumeEarly,
        b"dpm_resume" => Phase::Resume,
        b"dpm_complete" => Phase::Complete,
        b"resume_console" | b"console_resume_all" => Phase::Console,
        b"thaw_processes" => Phase::Thaw,
        b"acpi_suspend" | b"timekeeping_freeze" | b"freeze_filesystems" | b"thaw_filesystems" => {
            return Step::Nested;
        }
        _ => return Step::Unknown,
    })
}

/// The sleep state of `suspend_enter[value]`. `mem` is the state after
/// `mem_sleep` was applied, so 1 is suspend-to-idle whatever was written.
pub(super) fn mode(value: i64) -> Mode {
    match value {
        1 => Mode::S2idle,
        2 => Mode::Standby,
        3 => Mode::Deep,
        4 => Mode::Disk,
        _ => Mode::Unknown,
    }
}

/// Whether the number of a device phase belongs to hibernation.
pub(crate) fn is_hibernation(event: PmEvent) -> bool {
    matches!(
        event,
        PmEvent::Freeze
            | PmEvent::Quiesce
            | PmEvent::Hibernate
            | PmEvent::Thaw
            | PmEvent::Restore
            | PmEvent::Recover
    )
}

/// The phase of a callback outside any bracket, from its ops text and event.
/// Kernel 3.15 wrote `preparing bus ` and `completing bus `; later ones leave
/// prepare and complete empty.
pub(crate) fn phase_of(ops: &[u8], event: PmEvent) -> Phase {
    let down = event.direction() == Direction::Suspend;
    if ops.starts_with(b"preparing ") {
        Phase::Prepare
    } else if ops.starts_with(b"completing ") {
        Phase::Complete
    } else if ops.starts_with(b"noirq ") {
        if down { Phase::Noirq } else { Phase::ResumeNoirq }
    } else if ops.starts_with(b"late ") {
        Phase::Late
    } else if ops.starts_with(b"early ") {
        Phase::ResumeEarly
    } else if ops.is_empty() {
        if down { Phase::Prepare } else { Phase::Complete }
    } else if down {
        Phase::Suspend
    } else {
        Phase::Resume
    }
}

/// Whether a callback that says of itself that it is of phase `said` began a
/// little before that phase, in the bracket of the one before: clocks of CPUs are
/// not always alike, and the worker's may be ahead of the main thread's.
pub(super) fn early(bracket: Phase, said: Phase, ops: &[u8]) -> bool {
    let next = |a: usize| matches!(said.device_index(), Some(b) if b == a + 1);
    // Without ops, or with those of a device that has none, it says nothing.
    !matches!(ops.trim_ascii(), b"" | b"none")
        && bracket.direction() == said.direction()
        && bracket.device_index().is_some_and(next)
}

/// The ops text without the words that only repeat the phase, so that
/// `noirq bus ` and `preparing bus ` are both `bus`.
pub(super) fn operation(ops: &[u8]) -> &[u8] {
    let mut ops = ops;
    for word in [&b"preparing "[..], b"completing ", b"noirq ", b"late ", b"early "] {
        ops = ops.strip_prefix(word).unwrap_or(ops);
    }
    ops.trim_ascii()
}

/// The event that a phase without devices is filed under.
pub(crate) fn plain_event(phase: Phase) -> PmEvent {
    match phase.direction() {
        Direction::Suspend => PmEvent::Suspend,
        Direction::Resume => PmEvent::Resume,
    }
}
