//! What settings that contradict each other say, for whoever tells of them.

use crate::knobs::Conflict;

impl Conflict {
    /// As a sentence.
    pub fn says(&self) -> String {
        match self {
            Conflict::AutosuspendBelowPoll { device, delay, devfreq, poll } => format!(
                "{device} is suspended {delay} ms after a request, and {devfreq} looks every {poll} ms, \
                 anew after each resume: rare requests are never served at a high clock \
                 (autosuspend_delay_ms, polling_interval)."
            ),
            Conflict::ControlOn { device, delay } => format!(
                "{device} has an autosuspend_delay_ms of {delay}, and its power/control is on: it is never \
                 suspended."
            ),
            Conflict::NeverSleeps { device, latency: true } => format!(
                "{device} may be suspended by power/control, and pm_qos_resume_latency_us is n/a, which \
                 forbids it."
            ),
            Conflict::NeverSleeps { device, latency: false } => format!(
                "{device} may be suspended by power/control, and autosuspend_delay_ms is below zero, which \
                 means never."
            ),
            Conflict::OneClock { devfreq, clock } => format!(
                "{devfreq} has the governor simple_ondemand, and min_freq and max_freq leave it {} MHz alone.",
                clock / 1_000_000
            ),
            Conflict::LimitUnreached { devfreq, upper, limit } => format!(
                "{devfreq} has a {} of {} MHz, which none of its clocks reaches.",
                if *upper { "max_freq" } else { "min_freq" },
                limit / 1_000_000
            ),
            Conflict::NoSpinDown { disk, timer, level } => format!(
                "{disk} has a standby timer of {timer} (hdparm -S), and its APM level {level} permits no \
                 spin-down (hdparm -B)."
            ),
            Conflict::QosUnheard { disk, timeout } => format!(
                "{disk} asks for its fastest clock until {timeout} ms after a request \
                 (dev_freq_timeout_ms), and devfreq listens to the host: it acts at the next look, too late \
                 for a short burst."
            ),
            Conflict::GateAfterSuspend { host, gate, delay } => format!(
                "{host} gates its clock {gate} ms after a request, and is suspended after {delay} ms: the \
                 clock is never gated by itself."
            ),
        }
    }
}
