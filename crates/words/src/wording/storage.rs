//! Storage: causes of waits, and doubts about tables.

use super::number::{grouped, plural};
use dormouse_base::time::Ns;
use dormouse_storage::held::Wrong;
use dormouse_storage::levels::{ByItself, Doubt, Entered};
use dormouse_storage::runtime::Function;
use dormouse_storage::wait::Cause;

/// A cause as a row of a table.
pub fn row(cause: Cause) -> &'static str {
    match cause {
        Cause::ResumeWorker => "runtime resume, worker not started",
        Cause::ResumeSuspend => "runtime resume, suspend before it",
        Cause::ResumeGrace => "runtime resume, grace period of RCU",
        Cause::ResumeParents => "runtime resume of parents",
        Cause::Resume => "runtime resume by the driver",
        Cause::UngateWorker => "UFS clock off, worker not started",
        Cause::Ungate => "UFS clock being switched on",
        Cause::Switch => "clock being changed",
        Cause::Entry => "no free request",
        Cause::Queue => "plug and scheduler",
        Cause::Refused => "put back by the driver",
        Cause::Flush => "its flush, in the drive",
        Cause::Unissued => "no issue was recorded",
        Cause::Cpu => "CPU leaving its idle state",
        Cause::Slow => "low clock until devfreq looked",
        Cause::Served => "the drive's own service",
    }
}

/// What requests waited for: `… waited for the UFS clock to be switched on`.
pub(crate) fn waited_for(cause: Cause) -> &'static str {
    match cause {
        Cause::ResumeWorker => "waited for a worker to begin the runtime resume",
        Cause::ResumeSuspend => "waited for a runtime suspend to end before the resume",
        Cause::ResumeGrace => "waited for a grace period of RCU before the resume",
        Cause::ResumeParents => "waited for the runtime resume of the storage's parents",
        Cause::Resume => "waited for the runtime resume of the storage",
        Cause::UngateWorker => {
            "waited for the worker that switches the UFS clock on (ufshcd_ungate_work)"
        }
        Cause::Ungate => "waited for the UFS clock to be switched on (ufshcd_ungate_work)",
        Cause::Switch => "waited for a change of the clock",
        Cause::Entry => "waited for a free request",
        Cause::Queue => "waited in the plug or the scheduler",
        Cause::Refused => "were put back by the driver and issued again",
        Cause::Flush => "waited for the flush that they asked for",
        Cause::Unissued => "were not seen to be issued: where their time went was not recorded",
        Cause::Cpu => "waited for a CPU to leave its idle state",
        Cause::Slow => "were served at a low clock until devfreq looked again",
        Cause::Served => "were served",
    }
}

/// Wake-ups that no request waited for, which the model of requests does not have.
pub fn unasked(n: u64) -> Option<String> {
    (n > 0).then(|| {
        format!(
            "{} for no request of the recording, such as a query: the model has none of them.",
            match n {
                1 => "Once it woke".into(),
                n => format!("{} times it woke", grouped(n)),
            }
        )
    })
}

/// What can be done about a cause.
pub(crate) fn cure(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::ResumeWorker
        | Cause::ResumeSuspend
        | Cause::ResumeGrace
        | Cause::ResumeParents
        | Cause::Resume => {
            "Let the storage sleep later (power/autosuspend_delay_ms of the device): fewer requests \
             wait, and it costs energy. dormouse tune finds the delay for a limit."
        }
        Cause::UngateWorker | Cause::Ungate => {
            "Gate the clock later (clkgate_delay_ms of the UFS host): fewer requests wait, and it \
             costs energy. dormouse tune finds the delay for a limit."
        }
        Cause::Switch => {
            "Change the clock less often: raise min_freq or polling_interval of the devfreq device."
        }
        Cause::Cpu => {
            "Let CPUs sleep less deeply while requests are under way: power/pm_qos_resume_latency_us \
             of the CPUs. dormouse show --only idle says what that costs."
        }
        Cause::Slow => {
            "Let devfreq look sooner (polling_interval), or raise min_freq of its device. A request of \
             quality of service helps on the device that devfreq listens to, not on the disk."
        }
        Cause::Entry => "Allow more requests: raise queue/nr_requests of the disk.",
        Cause::Queue => "Compare with another scheduler: queue/scheduler of the disk.",
        Cause::Refused => {
            "Find out why the driver put them back: its clock was off, or it had no room. The events \
             ufs and workqueue tell."
        }
        Cause::Flush | Cause::Unissued | Cause::Served => return None,
    })
}

/// A doubt about the power states of a drive.
pub fn doubt(d: Doubt) -> String {
    match d {
        Doubt::Power { shallow, deep } => {
            format!("state {deep} takes more power than state {shallow}")
        }
        Doubt::Entry { shallow, deep } => {
            format!("state {deep} is said to be quicker to enter than state {shallow}")
        }
        Doubt::Exit { shallow, deep } => {
            format!("state {deep} is said to be quicker to leave than state {shallow}")
        }
        Doubt::Gap { number } => format!("state {number} is missing"),
    }
}

/// An error of runtime power management: `rpm_resume returned -5 (EIO)`.
pub fn error(function: Function, error: i32) -> String {
    format!("{} returned {}", function.name(), errno(error))
}

/// `-5 (EIO)`: the names of include/uapi/asm-generic/errno*.h that drivers answer.
pub fn errno(error: i32) -> String {
    let name = match error {
        -1 => "EPERM",
        -5 => "EIO",
        -6 => "ENXIO",
        -11 => "EAGAIN",
        -12 => "ENOMEM",
        -13 => "EACCES",
        -16 => "EBUSY",
        -19 => "ENODEV",
        -22 => "EINVAL",
        -38 => "ENOSYS",
        -62 => "ETIME",
        -71 => "EPROTO",
        -95 => "EOPNOTSUPP",
        -108 => "ESHUTDOWN",
        -110 => "ETIMEDOUT",
        -115 => "EINPROGRESS",
        -121 => "EREMOTEIO",
        -517 => "EPROBE_DEFER",
        _ => return error.to_string(),
    };
    format!("{error} ({name})")
}

/// What a drive does by itself, as a sentence.
pub fn by_itself(b: ByItself) -> &'static str {
    match b {
        ByItself::Falls => "It goes into states that save power by itself (APST).",
        ByItself::On => {
            "APST is on; which states the drive enters by itself, its table, is not in the text."
        }
        ByItself::EmptyTable => {
            "APST is on and every entry of its table is empty: the drive enters no state that \
             saves power by itself."
        }
        ByItself::Unable => {
            "It has no autonomous transitions (apsta 0), so the kernel sets none: it enters no \
             state that saves power by itself."
        }
        ByItself::Off => "APST is off: the drive enters no state that saves power by itself.",
    }
}

/// What the kernel's own setting would do with a state, as a cell.
pub fn entered(e: Entered) -> String {
    match e {
        Entered::Serves => "serves".into(),
        Entered::After(ms) => format!("after {} ms", grouped(ms)),
        Entered::TooSlow => "exit too slow".into(),
        Entered::Passed => "passed over".into(),
        Entered::Unable => "never: no APST".into(),
    }
}

/// `resume`, as a key and in a sentence.
pub fn function(function: Function) -> &'static str {
    match function {
        Function::Idle => "idle",
        Function::Suspend => "suspend",
        Function::Resume => "resume",
    }
}

/// What is wrong with a device.
pub fn wrong(w: &Wrong) -> String {
    match *w {
        Wrong::Error => "runtime_status is error: a callback failed, and the core calls none \
                         until that is cleared"
            .into(),
        Wrong::Failed { function: f, error: e, times } => {
            let more = times.saturating_sub(1);
            let again = match more {
                0 => String::new(),
                n => format!(", and {} after it failed too", plural(n as usize, "call")),
            };
            format!("{}{again}", error(f, e))
        }
        Wrong::Stuck { function: f, since, seen } => {
            let doing = if f == Function::Suspend { "suspending" } else { "resuming" };
            match (since, seen) {
                (Some(ns), _) => format!("{doing} for {} when the trace ended", time(ns)),
                (None, 1) => format!("runtime_status was {doing} when it was read"),
                (None, n) => format!("runtime_status was {doing} each of {n} times it was read"),
            }
        }
    }
}

/// `1.47`: us with two decimals would be noise; ms with three.
pub(crate) fn ms3(ns: i64) -> String {
    // From ten seconds on nobody asks for microseconds, and columns have no room for them.
    const LONG: i64 = 10_000_000_000;
    if ns >= LONG {
        return ((ns.unsigned_abs() + 500_000) / 1_000_000).to_string();
    }
    let us = (ns.max(0).unsigned_abs() + 500) / 1_000;
    format!("{}.{:03}", us / 1_000, us % 1_000)
}

/// In a sentence.
pub fn time(ns: i64) -> String {
    Ns(ns).to_string()
}
