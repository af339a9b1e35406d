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
    /// How late its timer may be; `None`: a delay that each request takes back and the
    /// last one begins anew, as of the clock's gate.
    slack: Option<i64>,
    pub state: State,
    /// When the next step is due.
    pub at: i64,
    /// From here on the timer goes off with any other interrupt.
    soft: i64,
    last_busy: i64,
    /// A request waits for the end of `Entering`.
    wanted: bool,
    /// Times that it was woken.
    pub wakes: u64,
}

impl Sleeper {
    /// The clock's gate.
    pub(super) fn gate(times: Nap, delay: Option<i64>) -> Sleeper {
        Sleeper {
            times,
            delay,
            slack: None,
            state: State::Awake,
            at: NEVER,
            soft: NEVER,
            last_busy: 0,
            wanted: false,
            wakes: 0,
        }
    }

    /// Runtime suspend, whose timer may be late by so many percent of the delay. It is
    /// armed once and then left alone, whatever requests come; when it goes off it
    /// looks at the last of them, and is armed again if that was too lately.
    pub(super) fn autosuspend(times: Nap, delay: Option<i64>, percent: u8) -> Sleeper {
        let late = i128::from(delay.unwrap_or(0)) * i128::from(percent) / 100;
        let slack = Some(i64::try_from(late).unwrap_or(i64::MAX));
        Sleeper { slack, ..Sleeper::gate(times, delay) }
    }

    fn arm(&mut self) {
        if let (Some(delay), Some(slack)) = (self.delay, self.slack) {
            self.soft = self.last_busy.saturating_add(delay);
            self.at = self.soft.saturating_add(slack);
        }
    }

    /// Whether an interrupt of now sets off a timer that is not yet late.
    pub(crate) fn goes_off(&self, now: i64) -> bool {
        self.state == State::Awake && self.soft <= now
    }

    pub(super) fn awake(&self) -> bool {
        self.state == State::Awake
    }

    /// The last request ended.
    pub(super) fn idle(&mut self, now: i64) {
        let State::Awake = self.state else { return };
        self.last_busy = now;
        match (self.delay, self.slack) {
            (Some(delay), None) => self.at = now.saturating_add(delay),
            (Some(_), Some(_)) if self.at == NEVER => self.arm(),
            _ => {}
        }
    }

    /// A request came: whether it finds it awake.
    pub(super) fn need(&mut self, now: i64) -> bool {
        match self.state {
            State::Awake => {
                if self.slack.is_none() {
                    self.at = NEVER;
                }
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

    /// What was due happens; `busy`: requests are under way.
    pub(super) fn step(&mut self, now: i64, busy: bool) {
        self.soft = NEVER;
        match self.state {
            State::Awake => {
                if self.slack.is_some() {
                    if busy {
                        // Refused, which counts as activity (`blk_pre_runtime_suspend`).
                        self.last_busy = now;
                        if self.delay == Some(0) {
                            // Nothing is left to wait for: the last request asks anew.
                            self.at = NEVER;
                            return;
                        }
                    }
                    if self.last_busy.saturating_add(self.delay.unwrap_or(0)) > now {
                        return self.arm();
                    }
                }
                self.state = State::Entering;
                self.at = now.saturating_add(self.times.enter);
                if self.times.enter == 0 {
                    self.step(now, busy);
                }
            }
            State::Entering => {
                self.state = State::Asleep;
                self.at = NEVER;
                if std::mem::take(&mut self.wanted) {
                    self.wake(now);
                }
            }
            State::Asleep => self.at = NEVER,
            State::Waking => {
                self.state = State::Awake;
                self.at = NEVER;
                self.last_busy = now;
                self.arm();
            }
        }
    }

    /// It sleeps deeper elsewhere: this one forgets, and is awake after that.
    pub(super) fn reset(&mut self) {
        self.state = State::Awake;
        self.at = NEVER;
        self.wanted = false;
    }
}
