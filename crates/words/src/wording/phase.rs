//! Phases, the gaps between them, and the kernels that walk them.

use dormouse_base::cycle::{Mode, PhaseSpan};
use dormouse_base::phase::{Direction, Phase};
use dormouse_sleep::analyse::rows::{What, gap_content};
use dormouse_sleep::simulate::Kernel;
use dormouse_sleep::simulate::predict::Scheduler;

/// `6.12.117 (G1)`, or where only rules are named the kernels that have them: `6.17.8 to
/// 7.3 (G4)`.
pub fn kernel(s: Scheduler) -> String {
    match s.kernel {
        Some(k) => {
            let with = if k.series { " with kernel/upstream" } else { "" };
            format!("{}{with} ({})", Kernel { series: false, ..k }, s.policy.name)
        }
        None => format!("{} ({})", s.policy.kernels, s.policy.name),
    }
}

/// As the kernel prints it, with its half where the name alone is not enough:
/// `noirq suspend`, `early resume`.
pub fn phase(p: Phase) -> String {
    match p {
        Phase::CpuOff => "CPUs off".into(),
        Phase::CpuOn => "CPUs on".into(),
        p => p.title().to_string(),
    }
}

/// What a row is called in a table.
pub fn row(what: What, mode: Mode, phases: &[PhaseSpan]) -> String {
    match what {
        What::Phase(i) => {
            let span = &phases[i as usize];
            match span.phase {
                Phase::CpuOff | Phase::CpuOn => format!("{} {}", span.phase.name(), span.cpu),
                p => phase(p),
            }
        }
        What::Gap { after, before } => match gap_content(mode, after, before) {
            "between phases" => format!("gap{}", between(after, before)),
            known => format!("gap: {known}"),
        },
        What::Asleep { turns: 1 } => "asleep".into(),
        What::Asleep { turns } => format!("asleep, {turns} turns"),
        What::Turn if matches!(mode, Mode::PmTest(_)) => "pm_test waits".into(),
        What::Rest => "after the last phase of the log".into(),
        What::Turn if phases.iter().any(|p| p.phase.has_devices()) => "between the halves".into(),
        What::Turn => "devices and sleep, not told apart".into(),
        What::ClockJump => "clock jump of the RTC".into(),
        What::Image(work) => format!("image: {}", work.name()),
    }
}

/// `between sync and freeze_user: console switch and PM notifiers`.
pub fn gap(mode: Mode, after: Option<Phase>, before: Option<Phase>) -> String {
    let place = between(after, before);
    let place = place.trim_start();
    match gap_content(mode, after, before) {
        "between phases"
        | "before sync"
        | "between CPUs"
        | "after thaw"
        | "between prepare and suspend"
        | "between resume and complete" => place.to_string(),
        known => format!("{place}: {known}"),
    }
}

/// ` between X and Y`, as far as both are known.
pub fn between(after: Option<Phase>, before: Option<Phase>) -> String {
    match (after, before) {
        (Some(Phase::CpuOff), Some(Phase::CpuOff)) => " between two CPUs going off".into(),
        (Some(Phase::CpuOn), Some(Phase::CpuOn)) => " between two CPUs coming on".into(),
        (Some(a), Some(b)) if a == b => format!(" between two spans of {}", phase(a)),
        (Some(a), Some(b)) => format!(" between {} and {}", phase(a), phase(b)),
        (Some(a), None) => format!(" after {}", phase(a)),
        (None, Some(b)) => format!(" before {}", phase(b)),
        (None, None) => String::new(),
    }
}

/// `Suspend` or `Resume`.
pub fn capitalised(d: Direction) -> &'static str {
    match d {
        Direction::Suspend => "Suspend",
        Direction::Resume => "Resume",
    }
}
