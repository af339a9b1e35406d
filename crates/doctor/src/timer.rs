//! Timers of tasks, as `/proc/PID/fdinfo` shows them (fs/timerfd.c:timerfd_show, 6.12).

use dormouse_base::time::Ns;

/// An alarm due this soon makes an attempt to sleep fail
/// (kernel/time/alarmtimer.c:alarmtimer_suspend, 6.12).
pub const SOON: Ns = Ns(2_000_000_000);

/// A clock that timers go by, with its number (include/uapi/linux/time.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// 0: jumps when somebody sets it.
    Realtime,
    /// 1: stands while time is stopped.
    Monotonic,
    /// 7: counts the sleep too.
    Boottime,
    /// 8: wakes the machine.
    RealtimeAlarm,
    /// 9: wakes the machine.
    BoottimeAlarm,
}

impl Clock {
    /// The clock of this number.
    pub fn find(number: u32) -> Option<Clock> {
        Some(match number {
            0 => Clock::Realtime,
            1 => Clock::Monotonic,
            7 => Clock::Boottime,
            8 => Clock::RealtimeAlarm,
            9 => Clock::BoottimeAlarm,
            _ => return None,
        })
    }

    /// As programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Realtime => "CLOCK_REALTIME",
            Clock::Monotonic => "CLOCK_MONOTONIC",
            Clock::Boottime => "CLOCK_BOOTTIME",
            Clock::RealtimeAlarm => "CLOCK_REALTIME_ALARM",
            Clock::BoottimeAlarm => "CLOCK_BOOTTIME_ALARM",
        }
    }

    /// Whether it wakes the machine.
    pub fn is_alarm(self) -> bool {
        matches!(self, Clock::RealtimeAlarm | Clock::BoottimeAlarm)
    }
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Whose.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// By which clock.
    pub clock: Clock,
    /// Due in this time.
    pub due: Ns,
}
