//! What a kernel measures of a whole half: its devices down, or up.

use super::grain::TICK;
use super::number::seconds;
use super::state::Log;
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;

/// `suspend devices took 0.656 seconds`, `resume devices took …`
/// (kernel/power/suspend_test.c:suspend_test_finish, CONFIG_PM_TEST_SUSPEND): prepare
/// with suspend, and resume with complete, in whole jiffies. Unlike the lines of
/// the phases it needs no pm_debug_messages.
pub(super) fn took(text: &[u8]) -> Option<(Phase, Ns)> {
    [(&b"suspend devices took "[..], Phase::Suspend), (b"resume devices took ", Phase::Resume)]
        .into_iter()
        .find_map(|(words, phase)| Some((phase, seconds(text.strip_prefix(words)?)?)))
}

/// Such a line counts where the phase has no line of its own: what is over then.
pub(super) fn ends(log: &mut Log<'_>, (phase, took): (Phase, Ns)) -> Option<PmEvent> {
    let phases = log.t.current().map(|c| &c.cycle.phases);
    if phases.is_none_or(|list| list.iter().any(|p| p.phase == phase)) {
        // Its own line ended the phase; what came since is dpm_complete
        // (drivers/base/power/main.c:dpm_resume_end, 6.12).
        if phase == Phase::Resume && log.timed && log.c.phase == Some(Phase::Complete) {
            log.plain(Phase::Complete, log.c.covered, log.now, 0);
            log.c.covered = log.now;
        }
        return None;
    }
    if phase == Phase::Resume {
        log.turn();
    }
    if log.timed {
        let from = log.done_until();
        log.make_room(from, took, TICK);
    }
    Some(if phase == Phase::Suspend { PmEvent::Suspend } else { PmEvent::Resume })
}
