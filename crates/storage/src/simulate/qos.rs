//! Quality of service asked for while requests are under way: one worker raises,
//! one drops, whatever comes between.

use super::devfreq::NEVER;
use super::settings::Qos;

pub(super) struct Raise {
    site: Qos,
    /// What the kernel needs until the worker runs, ns.
    worker: i64,
    /// It is asked for.
    pub held: bool,
    /// When the worker runs that raises.
    pub ask: i64,
    /// When it is dropped.
    pub drop: i64,
    /// Times that it was asked for.
    pub raises: u64,
}

impl Raise {
    pub(super) fn new(site: Qos, worker: i64) -> Raise {
        Raise { site, worker, held: false, ask: NEVER, drop: NEVER, raises: 0 }
    }

    /// A request came.
    pub(super) fn came(&mut self, now: i64) {
        let Some(timeout) = self.site.timeout() else { return };
        if !self.held {
            self.held = true;
            self.raises += 1;
            if self.on_host() {
                self.ask = now.saturating_add(self.worker);
            }
        }
        self.drop = now.saturating_add(timeout);
    }

    /// devfreq listens there.
    pub(crate) fn on_host(&self) -> bool {
        matches!(self.site, Qos::Host { .. })
    }

    /// It is dropped.
    pub(super) fn dropped(&mut self) {
        self.held = false;
        self.drop = NEVER;
        self.ask = NEVER;
    }
}
