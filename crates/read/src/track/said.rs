//! What one source alone says.

use dormouse_base::capture::Machine;
use dormouse_base::loss::Losses;

/// What one source alone says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub losses: Losses,
    pub machine: Machine,
}

impl Said {
    /// Adds what a later source of the same machine says.
    pub(super) fn add(&mut self, other: Said) {
        let (m, o) = (&mut self.machine, other.machine);
        for (ours, theirs) in
            [(&mut m.host, o.host), (&mut m.model, o.model), (&mut m.command_line, o.command_line)]
        {
            if !theirs.is_empty() {
                *ours = theirs;
            }
        }
        m.cpus = o.cpus.or(m.cpus);
        m.pm_async = o.pm_async.or(m.pm_async);
        m.tick = o.tick.or(m.tick);
        self.losses.merge(other.losses);
    }
}
