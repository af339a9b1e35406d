//! devfreq: looks of the governor, limits, and the change of the clock
//! (`update_devfreq`, `devfreq_monitor`, drivers/devfreq/devfreq.c, 6.12).

use super::ondemand::{MOST, Status, wanted};
use super::settings::{Devfreq, Drive, Governor, IdleStop};

/// Never.
pub(super) const NEVER: i64 = i64::MAX;

pub(super) struct Clock<'a> {
    drive: &'a Drive,
    set: Devfreq,
    /// The level in force.
    pub level: usize,
    /// The level that was asked for last.
    target: usize,
    /// When the change that is under way ends.
    pub change: i64,
    /// A change waits for what is being served.
    pub wanted: bool,
    /// When the next look is due.
    pub look: i64,
    /// Begin of the window since the last look; `None`: the next look only opens
    /// one, and the governor sees a window of length 0.
    window: Option<i64>,
    /// Time at work in it.
    pub busy: i64,
    /// Quality of service that a look has seen.
    pub raised: bool,
    /// Changes.
    pub changes: u64,
}

impl<'a> Clock<'a> {
    pub(super) fn new(drive: &'a Drive, set: Devfreq) -> Clock<'a> {
        let look = if set.poll > 0 && matches!(set.governor, Governor::SimpleOndemand(_)) {
            set.after_poll(0)
        } else {
            NEVER
        };
        let start = drive.start.min(drive.levels.len() - 1);
        let mut c = Clock {
            drive,
            set,
            level: start,
            target: start,
            change: NEVER,
            wanted: false,
            look,
            window: Some(0),
            busy: 0,
            raised: false,
            changes: 0,
        };
        // A governor that starts, and a limit that is written, are looked at at once.
        let begin = match set.governor {
            Governor::SimpleOndemand(_) => drive.levels[start],
            Governor::Performance => MOST,
            Governor::Powersave => 0,
        };
        c.level = c.allowed(begin);
        c.target = c.level;
        c
    }

    pub(super) fn hz(&self) -> u64 {
        self.drive.levels[self.level]
    }

    /// Whether requests wait for a change.
    pub(super) fn blocks(&self) -> bool {
        self.drive.waits && (self.wanted || self.change != NEVER)
    }

    /// The level for a wish, within the limits: the lowest that is not below it
    /// (`devfreq_recommended_opp`).
    fn allowed(&self, wish: u64) -> usize {
        let levels = &self.drive.levels;
        let last = levels.len() - 1;
        let up = |hz| levels.iter().position(|l| *l >= hz).unwrap_or(last);
        let top = levels.iter().rposition(|l| *l <= self.set.most).unwrap_or(0);
        // What quality of service asks for does not pass the upper limit either.
        let least = if self.raised { MOST } else { self.set.least };
        up(wish.max(least)).min(top)
    }

    /// One look at time `at`; `serving` says whether a request is being served.
    fn decide(&mut self, at: i64, serving: bool) {
        let wish = match self.set.governor {
            Governor::Performance => MOST,
            Governor::Powersave => 0,
            Governor::SimpleOndemand(t) => {
                let total = self.window.map_or(0, |w| (at - w).max(0) as u64);
                let busy = self.busy.max(0) as u64;
                let current = self.drive.levels[self.level];
                wanted(t, Status { total, busy, current }).unwrap_or(current)
            }
        };
        self.window = Some(at);
        self.busy = 0;
        let level = self.allowed(wish);
        if level != self.target {
            self.target = level;
            self.changes += 1;
            if self.drive.waits && serving {
                self.wanted = true;
            } else {
                self.begin(at);
            }
        }
    }

    /// A change begins.
    pub(super) fn begin(&mut self, at: i64) {
        self.wanted = false;
        self.change = at.saturating_add(self.drive.change);
    }

    /// It ended.
    pub(super) fn changed(&mut self) {
        self.change = NEVER;
        self.level = self.target;
    }

    /// The look that was due; `busy`: requests are under way.
    pub(super) fn looked(&mut self, at: i64, serving: bool, busy: bool) {
        self.look = self.set.after_poll(at);
        self.target(at, serving, busy);
    }

    /// A decision, whoever asked for it; one that finds no request under way may stop
    /// the looks (`ufshcd_devfreq_target`).
    pub(super) fn target(&mut self, at: i64, serving: bool, busy: bool) {
        self.decide(at, serving);
        let stop = match self.set.idle_stop {
            IdleStop::Never => false,
            IdleStop::UnlessRaised => self.target + 1 < self.drive.levels.len(),
            IdleStop::Always => true,
        };
        if stop && !busy {
            self.stop();
        }
    }

    /// Looks stop.
    pub(super) fn stop(&mut self) {
        self.look = NEVER;
    }

    /// Looks begin anew, one interval from now. After UFS stopped them the first
    /// only opens a window.
    pub(super) fn restart(&mut self, at: i64) {
        if self.look != NEVER || self.set.poll <= 0 {
            return;
        }
        if !matches!(self.set.governor, Governor::SimpleOndemand(_)) {
            return;
        }
        self.look = self.set.after_poll(at);
        self.window = (self.set.idle_stop == IdleStop::Never).then_some(at);
        self.busy = 0;
    }

    /// Whether looks wait for the next request.
    pub(super) fn deferrable(&self) -> bool {
        self.set.deferrable
    }
}
