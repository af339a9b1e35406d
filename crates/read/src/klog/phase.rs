//! Which phase a callback line belongs to, while the line that would prove it
//! has not come yet.

use crate::text;
use dormouse_base::phase::{Direction, Phase, PmEvent};

/// What a function's name says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hint {
    direction: Option<Direction>,
    noirq: bool,
    /// `late` or `early`: drivers mix the two up, the direction decides.
    middle: bool,
}

fn hint(function: &[u8]) -> Hint {
    let has = |word: &[u8]| text::rfind(function, word);
    let down =
        [&b"suspend"[..], b"freeze", b"poweroff", b"hibernate"].into_iter().filter_map(has).max();
    let up = [&b"resume"[..], b"thaw", b"restore"].into_iter().filter_map(has).max();
    Hint {
        direction: match (down, up) {
            (None, None) => None,
            (down, up) if down > up => Some(Direction::Suspend),
            _ => Some(Direction::Resume),
        },
        noirq: has(b"noirq").is_some(),
        middle: has(b"_late").is_some() || has(b"_early").is_some(),
    }
}

/// The phase of a callback of `function`, if `now` is where the cycle was so
/// far. `proven` says that lines of this cycle name their phases, so that a
/// plain name decides nothing (`pm_runtime_force_suspend` serves three phases).
pub(super) fn of(function: &[u8], now: Phase, proven: bool) -> Phase {
    let hint = hint(function);
    let direction = hint.direction.unwrap_or(now.direction());
    match (direction, hint.noirq, hint.middle) {
        (Direction::Suspend, true, _) => Phase::Noirq,
        (Direction::Resume, true, _) => Phase::ResumeNoirq,
        (Direction::Suspend, _, true) => Phase::Late,
        (Direction::Resume, _, true) => Phase::ResumeEarly,
        (d, _, _) if d == now.direction() && (proven || hint.direction.is_none()) => now,
        // Phases do not go back: a plain name in late is one more of late.
        (Direction::Suspend, _, _) if now.direction() == Direction::Suspend => now,
        (Direction::Suspend, _, _) => Phase::Suspend,
        (Direction::Resume, _, _) => Phase::Resume,
    }
}

/// The event of hibernation that a function's name tells; `None` for the plain
/// words, which serve every event of their direction.
pub(super) fn event(function: &[u8]) -> Option<PmEvent> {
    [
        (&b"freeze"[..], PmEvent::Freeze),
        (b"thaw", PmEvent::Thaw),
        (b"poweroff", PmEvent::Hibernate),
        (b"restore", PmEvent::Restore),
    ]
    .into_iter()
    .filter_map(|(word, event)| text::rfind(function, word).map(|at| (at, event)))
    .max_by_key(|&(at, _)| at)
    .map(|(_, event)| event)
}

/// Whether a bus or the core calls a function so, whose names for the events
/// of hibernation mean just that.
pub(crate) fn is_of_a_bus(function: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 8] = [
        b"pci_pm_",
        b"usb_dev_",
        b"platform_pm_",
        b"scsi_bus_",
        b"ata_port_pm_",
        b"acpi_subsys_",
        b"pm_generic_",
        b"pnp_bus_",
    ];
    PREFIXES.iter().any(|p| function.starts_with(p))
}

/// What a function's name alone says of direction and phase. A plain name says
/// no phase: `pm_runtime_force_suspend` serves three.
pub(super) fn told(function: &[u8]) -> (Option<Direction>, Option<Phase>) {
    let hint = hint(function);
    let phase = match (hint.direction, hint.noirq, hint.middle) {
        (Some(Direction::Suspend), true, _) => Some(Phase::Noirq),
        (Some(Direction::Resume), true, _) => Some(Phase::ResumeNoirq),
        (Some(Direction::Suspend), _, true) => Some(Phase::Late),
        (Some(Direction::Resume), _, true) => Some(Phase::ResumeEarly),
        _ => None,
    };
    (hint.direction, phase)
}

/// The phase that follows when `phase` is over, or was given up.
pub(super) fn after(phase: Phase, aborted: bool) -> Phase {
    match (phase, aborted) {
        (Phase::Prepare, false) => Phase::Suspend,
        (Phase::Suspend, false) => Phase::Late,
        (Phase::Late, false) => Phase::Noirq,
        (Phase::Noirq, _) => Phase::ResumeNoirq,
        (Phase::Late, true) | (Phase::ResumeNoirq, _) => Phase::ResumeEarly,
        (Phase::Prepare | Phase::Suspend, true) | (Phase::ResumeEarly, _) => Phase::Resume,
        _ => Phase::Complete,
    }
}

/// `suspend`, `late suspend`, `noirq resume`, … of a "complete after" line.
/// `start suspend` is prepare and suspend together and gives `Prepare`.
pub(super) fn named(words: &[u8]) -> Option<(Phase, PmEvent)> {
    let (step, verb) = match memchr::memrchr(b' ', words) {
        Some(blank) => (&words[..blank], &words[blank + 1..]),
        None => (&b""[..], words),
    };
    let event = PmEvent::from_name(verb)?;
    let down = event.direction() == Direction::Suspend;
    let phase = match (step, down) {
        (b"", true) => Phase::Suspend,
        (b"", false) => Phase::Resume,
        (b"start", true) => Phase::Prepare,
        (b"late", true) => Phase::Late,
        (b"early", false) => Phase::ResumeEarly,
        // A log of a phone's 3.x kernel calls it so where a failed noirq phase goes back; only
        // the way up has such a phase (drivers/base/power/main.c:dpm_resume_early, 6.12).
        (b"early", true) => return Some((Phase::ResumeEarly, PmEvent::from_name(b"resume")?)),
        (b"noirq", true) => Phase::Noirq,
        (b"noirq", false) => Phase::ResumeNoirq,
        _ => return None,
    };
    Some((phase, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_is_of_the_way_up_whatever_it_is_called() {
        let found = named(b"early suspend").map(|(phase, event)| (phase, event.direction()));
        assert_eq!(found, Some((Phase::ResumeEarly, Direction::Resume)));
        assert_eq!(named(b"early suspend").map(|p| p.0), named(b"early resume").map(|p| p.0));
    }

    #[test]
    fn names_decide_only_where_nothing_better_does() {
        assert_eq!(of(b"pci_pm_suspend_noirq", Phase::Suspend, false), Phase::Noirq);
        assert_eq!(of(b"x_resume_late", Phase::ResumeNoirq, false), Phase::ResumeEarly);
        assert_eq!(of(b"pm_runtime_force_suspend", Phase::Late, true), Phase::Late);
        assert_eq!(of(b"platform_pm_resume", Phase::Suspend, false), Phase::Resume);
        assert_eq!(of(b"platform_pm_resume", Phase::ResumeNoirq, true), Phase::ResumeNoirq);
        assert_eq!(of(b"platform_pm_resume", Phase::ResumeEarly, false), Phase::Resume);
        assert_eq!(of(b"", Phase::Noirq, false), Phase::Noirq);
    }

    #[test]
    fn hibernation_has_its_own_words() {
        assert_eq!(event(b"pci_pm_poweroff_late"), Some(PmEvent::Hibernate));
        assert_eq!(event(b"usb_dev_thaw"), Some(PmEvent::Thaw));
        assert_eq!(event(b"platform_pm_suspend"), None);
        assert_eq!(
            told(b"pci_pm_restore_noirq"),
            (Some(Direction::Resume), Some(Phase::ResumeNoirq))
        );
        assert_eq!(told(b"pm_runtime_force_suspend"), (Some(Direction::Suspend), None));
        assert_eq!(told(b"x"), (None, None));
    }
}
