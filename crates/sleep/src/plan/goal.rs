//! What must be met, and what a machine reaches of it.

use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use serde::Serialize;

/// What must be met. At least one should be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// The way down, all of it: what a recording has beside the device phases counts too.
    pub suspend: Option<Ns>,
    /// The way up, likewise.
    pub resume: Option<Ns>,
    /// Devices that must be ready (their last resume callback done, and that of
    /// everything they need) this long after the begin of the way up.
    pub ready: Vec<(DeviceId, Ns)>,
    /// By how much the machine as recorded is slower than its model: every figure of a plan
    /// is the model's and this.
    pub slower: Slower,
}

/// What one board does, as far as goals are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// The way down: of a board its device phases, of a recording all of it but the time
    /// asleep.
    #[serde(rename = "suspend_ns")]
    pub suspend: Ns,
    /// The way up, likewise.
    #[serde(rename = "resume_ns")]
    pub resume: Ns,
    /// When each device of [`Goal::ready`] was ready; zero if neither it nor what
    /// it needs has a callback on the way up.
    #[serde(rename = "ready_ns")]
    pub ready: Vec<Ns>,
}

impl Goal {
    /// The directions that a budget is about.
    pub fn directions(&self) -> Vec<Direction> {
        let mut list = Vec::new();
        if self.suspend.is_some() {
            list.push(Direction::Suspend);
        }
        if self.resume.is_some() || !self.ready.is_empty() {
            list.push(Direction::Resume);
        }
        list
    }
}

impl Reached {
    /// What the budgets are about: the halves that have one, and until when
    /// devices are ready where resume as a whole has none.
    pub fn counted(&self, goal: &Goal) -> Ns {
        let down = goal.suspend.map_or(Ns::ZERO, |_| self.suspend);
        let up = match goal.resume {
            Some(_) => self.resume,
            None => self.ready.iter().copied().sum(),
        };
        down + up
    }

    /// How far this is over the goal, every part counted; minus the slack if
    /// all parts are met. Nanoseconds.
    pub fn excess(&self, goal: &Goal) -> i64 {
        let mut over = 0i64;
        let mut slack = i64::MAX;
        let mut part = |is: Ns, want: Ns| {
            let d = (is - want).0;
            over = over.saturating_add(d.max(0));
            slack = slack.min((-d).max(0));
        };
        if let Some(t) = goal.suspend {
            part(self.suspend, t);
        }
        if let Some(t) = goal.resume {
            part(self.resume, t);
        }
        for ((_, t), &is) in goal.ready.iter().zip(&self.ready) {
            part(is, *t);
        }
        if over > 0 { over } else { -slack }
    }
}

/// By how much a machine as recorded is slower than its model; zero where it is faster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slower {
    /// On the way down; what CPUs, tasks and the sync took is part of it.
    pub suspend: Ns,
    /// On the way up, likewise.
    pub resume: Ns,
    /// Until each device of [`Goal::ready`] is ready.
    pub ready: Vec<Ns>,
}
