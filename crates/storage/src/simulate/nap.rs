//! Falling asleep after a delay and waking for a request: clock gating
//! (`ufshcd_release`, `ufshcd_ungate_work`, drivers/ufs/core/ufshcd.c, 6.12) and
//! runtime suspend (`rpm_suspend`, `rpm_resume`, drivers/base/power/runtime.c,
//! 6.12) are the same automaton with other times.

use super::devfreq::NEVER;
use super::settings::Nap;

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Awake,
    Entering,
    Asleep,
    Waking,
}

pub(super) struct Sleeper {
    times: Nap,
    /// Delay after the last request; `None`: never.
    delay: Option<i64>,
    pub state: State,
    /// When the next step is due.
    pub at: i64,
    /// A request waits for the end of `Entering`.
    wanted: bool,
    /// Times that it was woken.
    pub wakes: u64,
}

impl Sleeper {
    pub fn new(times: Nap, delay: Option<i64>, slack: u8) -> Sleeper {
        let delay = delay.map(|d| {
            let late = i128::from(d) * i128::from(slack) / 100;
            d.saturating_add(i64::try_from(late).unwrap_or(i64::MAX))
        });
        Sleeper { times, delay, state: State::Awake, at: NEVER, wanted: false, wakes: 0 }
    }

    pub fn awake(&self) -> bool {
        self.state == State::Awake
    }

    /// The last request ended.
    pub fn idle(&mut self, now: i64) {
        if let (State::Awake, Some(delay)) = (self.state, self.delay) {
            self.at = now.saturating_add(delay);
        }
    }

    /// A request came: whether it finds it awake.
    pub fn need(&mut self, now: i64) -> bool {
        match self.state {
            State::Awake => {
                self.at = NEVER;
                return true;
            }
            State::Entering => self.wanted = true,
            State::Asleep => self.wake(now),
            State::Waking => {}
        }
        false
    }

    fn wake(&mut self, now: i64) {
        self.wakes += 1;
        self.state = State::Waking;
        self.at = now.saturating_add(self.times.wake);
    }

    /// What was due happens.
    pub fn step(&mut self, now: i64) {
        match self.state {
            State::Awake => {
                self.state = State::Entering;
                self.at = now.saturating_add(self.times.enter);
                if self.times.enter == 0 {
                    self.step(now);
                }
            }
            State::Entering => {
                self.state = State::Asleep;
                self.at = NEVER;
                if core::mem::take(&mut self.wanted) {
                    self.wake(now);
                }
            }
            State::Asleep => self.at = NEVER,
            State::Waking => {
                self.state = State::Awake;
                self.at = NEVER;
            }
        }
    }

    /// It sleeps deeper elsewhere: this one forgets, and is awake after that.
    pub fn reset(&mut self) {
        self.state = State::Awake;
        self.at = NEVER;
        self.wanted = false;
    }
}
