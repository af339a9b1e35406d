//! Lines of the next sleep where neither its entry nor the exit of the one before is in the log,
//! as `grep 'of devices'` leaves it.

use super::state::Log;
use dormouse_base::phase::{Phase, PmEvent};
use dormouse_base::time::Ns;

impl Log<'_> {
    /// Whether the end of a phase, which `took` so long, is of another sleep than what is open:
    /// the devices of that resumed already, and the core does that once a sleep
    /// (drivers/base/power/main.c:dpm_resume, 6.1 to 7.3). A hibernation thaws in between.
    pub(super) fn is_of_the_next(&mut self, event: PmEvent, took: Ns) -> bool {
        let Some(c) = self.t.current().filter(|c| !c.over) else { return false };
        let of_suspend = |e: PmEvent| matches!(e, PmEvent::Suspend | PmEvent::Resume);
        let resumed = c.cycle.phases.iter().rfind(|p| p.phase == Phase::Resume && p.complete);
        // The same line once more is a copy.
        resumed.is_some_and(|p| {
            of_suspend(p.event) && of_suspend(event) && p.printed.is_some_and(|t| t != took)
        })
    }
}
