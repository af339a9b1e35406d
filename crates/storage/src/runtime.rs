//! Runtime power management of devices, from the kernel's `rpm_*` events
//! (include/trace/events/rpm.h, drivers/base/power/runtime.c of 6.12).

use crate::wait::{Cause, Family, Span};
use serde::Serialize;
use std::collections::BTreeMap;

/// `RPM_ASYNC` of include/linux/pm_runtime.h: a worker is asked to do it.
const ASYNC: u32 = 1;

/// `RPM_GET_PUT`: the usage count goes up or down.
const GET_PUT: u32 = 4;

/// Which function was called or returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// `rpm_idle`.
    Idle,
    /// `rpm_suspend`.
    Suspend,
    /// `rpm_resume`.
    Resume,
}

impl Function {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Idle => "rpm_idle",
            Function::Suspend => "rpm_suspend",
            Function::Resume => "rpm_resume",
        }
    }
}

/// One time that a device was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resume {
    /// When it was first asked for, ns.
    pub asked: i64,
    /// When `rpm_resume` began the work, ns.
    pub begin: i64,
    /// When it returned, ns.
    pub end: i64,
    /// Until then a suspend of it was in progress, ns; `None`: none was.
    pub suspend_until: Option<i64>,
    /// Of the work, resuming parents and suppliers, ns.
    pub parents: i64,
    /// How long the device had been suspended, ns, if the trace has that.
    pub asleep: Option<i64>,
}

/// A device whose last call failed. Since then the core refuses every other with
/// `EINVAL` until somebody clears it (`runtime_error`, drivers/base/power/runtime.c, 6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// What failed first.
    pub function: Function,
    /// Its error, a negative errno.
    pub error: i32,
    /// When, ns.
    pub time: i64,
    /// Calls that failed since, with it.
    pub times: u64,
}

/// A call that had not returned when the trace ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The device.
    pub device: String,
    /// What does not end.
    pub function: Function,
    /// Since then, ns.
    pub since: i64,
}

/// A call that lasts so long at the end of a trace is stuck, ns: the longest delay that
/// drivers allow themselves for a device that starts up is of seconds, and nearly all
/// take less than one.
pub(crate) const STUCK: i64 = 1_000_000_000;

/// One device.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Each time it was resumed.
    pub resumes: Vec<Resume>,
    /// Times that it was suspended and, later in the trace, found suspended.
    pub suspends: u64,
    /// Calls of `rpm_resume` that found it awake.
    pub already_awake: u64,
    /// Errors that were returned, by function; see [`harmless`].
    pub errors: BTreeMap<(Function, i32), u64>,
    /// Usage count that the last event says.
    pub usage: Option<i32>,
    /// Usage count never was 0 in any event.
    pub always_used: bool,
    /// What each resume took, and how long the device was awake between it and the
    /// suspend after it, ns; of suspends that are known to be whole.
    pub awake: Vec<(i64, i64)>,
    /// Count of children that are awake, by the last event.
    pub children: Option<i32>,
    /// That count never was 0 in any event.
    pub always_children: bool,
    /// Threads that took the device (`RPM_GET_PUT` of a resume) and gave it back (of an
    /// idle or suspend), and how often.
    pub takers: BTreeMap<String, (u64, u64)>,
    /// Its last resume or suspend failed: which, how, and since when its calls fail.
    pub failed: Option<Failure>,
    events: u64,
    pending: Option<i64>,
    /// `rpm_suspend` is at work on it, and since then a resume was asked for.
    suspending: bool,
    deferred: bool,
    deferred_end: Option<i64>,
    suspended_at: Option<i64>,
    resumed_at: Option<i64>,
    resume_took: i64,
    resuming_at: Option<i64>,
    slept_at: Option<i64>,
    by_status: Vec<Resume>,
}

impl Device {
    /// `rpm_*` events of it.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether it is known to be broken now, or not any more.
    fn judge(&mut self, time: i64, function: Function, error: i32) {
        match (&mut self.failed, function) {
            (Some(f), Function::Resume | Function::Suspend) if error < 0 => {
                f.times += u64::from(!harmless(function, error));
            }
            (None, Function::Resume | Function::Suspend)
                if error < 0 && !harmless(function, error) =>
            {
                self.failed = Some(Failure { function, error, time, times: 1 });
            }
            (Some(_), Function::Resume) => self.failed = None,
            (Some(f), Function::Suspend) if f.function == Function::Suspend => self.failed = None,
            _ => {}
        }
    }

    /// Whether the kernel looked whether it may rest, and refused because of its users: one look
    /// is enough (drivers/base/power/runtime.c:rpm_check_suspend_allowed, 6.12).
    pub fn found_in_use(&self) -> bool {
        const EAGAIN: i32 = -11;
        self.always_used && self.errors.contains_key(&(Function::Idle, EAGAIN))
    }

    /// Suspends that were refused, which is no error: how often, and how.
    pub fn refused(&self) -> Option<(i32, u64)> {
        const EBUSY: i32 = -16;
        const EAGAIN: i32 = -11;
        let count = |e| self.errors.get(&(Function::Suspend, e)).map(|n| (e, *n));
        count(EBUSY).or_else(|| count(EAGAIN))
    }
}

/// Errors that mean "not now": a device in use, a timer not yet due, runtime PM
/// switched off. Idle answers them all the time.
pub fn harmless(function: Function, error: i32) -> bool {
    const EAGAIN: i32 = -11;
    const EACCES: i32 = -13;
    const EBUSY: i32 = -16;
    const EINPROGRESS: i32 = -115;
    match function {
        Function::Idle => matches!(error, EAGAIN | EACCES | EBUSY | EINPROGRESS),
        Function::Suspend => matches!(error, EAGAIN | EBUSY | EACCES | EINPROGRESS),
        Function::Resume => matches!(error, EACCES | EINPROGRESS),
    }
}

#[derive(Clone, Debug)]
struct Call {
    function: Function,
    device: u32,
    flags: u32,
    begin: i64,
    nested: i64,
    parent_idle: bool,
}

/// Builds devices from events in order of time.
#[derive(Clone, Debug, Default)]
pub struct Runtime {
    /// Devices in the order of their first event.
    pub devices: Vec<Device>,
    /// Returns without a call, as at the begin of a trace.
    pub uncalled: u64,
    /// Returns.
    returns: u64,
    /// Times in which a device was resumed because one below it was: whose work it
    /// lengthened, from, to.
    nested: Vec<(u32, i64, i64)>,
    numbers: BTreeMap<String, u32>,
    /// The device of the last event: the next is mostly of it.
    last: u32,
    /// What each thread is in; of one that is in nothing the list is empty.
    calls: BTreeMap<i32, Vec<Call>>,
}

impl Runtime {
    fn number(&mut self, name: &str) -> u32 {
        if self.devices.get(self.last as usize).is_some_and(|d| d.name == name) {
            return self.last;
        }
        if let Some(&n) = self.numbers.get(name) {
            self.last = n;
            return n;
        }
        let n = self.devices.len() as u32;
        self.numbers.insert(name.into(), n);
        self.devices.push(Device {
            name: name.into(),
            always_used: true,
            always_children: true,
            ..Device::default()
        });
        n
    }

    /// A function was called for `device` by thread `pid` with `flags` and the
    /// device's usage count.
    pub fn call(
        &mut self,
        time: i64,
        pid: i32,
        function: Function,
        device: &str,
        flags: u32,
        usage: Option<i32>,
    ) {
        let n = self.number(device);
        let d = &mut self.devices[n as usize];
        d.events += 1;
        d.usage = usage.or(d.usage);
        d.always_used &= usage.is_none_or(|u| u > 0);
        match function {
            Function::Suspend if flags & ASYNC == 0 => d.suspending = true,
            Function::Resume if d.suspending && flags & ASYNC != 0 => d.deferred = true,
            // The resume that the end of the suspend begins.
            Function::Resume if d.suspending && d.deferred => {
                d.suspending = false;
                d.deferred_end = Some(time);
            }
            _ => {}
        }
        let calls = self.calls.entry(pid).or_default();
        if function == Function::Idle
            && let Some(above) = calls.last_mut().filter(|c| c.device != n)
        {
            // A device that went to sleep tells its parent so.
            above.parent_idle |= above.function == Function::Suspend;
        }
        calls.push(Call { function, device: n, flags, begin: time, nested: 0, parent_idle: false });
    }

    /// What else the event of a call says: the thread's name, and how many children are
    /// awake.
    pub fn note(&mut self, f: Function, device: &str, flags: u32, comm: &str, kids: Option<i32>) {
        let n = self.number(device);
        let d = &mut self.devices[n as usize];
        d.children = kids.or(d.children);
        d.always_children &= kids.is_some_and(|k| k > 0);
        if flags & GET_PUT == 0 {
            return;
        }
        // Workers are many, and are one.
        let comm = if comm.starts_with("kworker") { "kworker" } else { comm };
        let resumes = f == Function::Resume;
        let (taken, given) = (u64::from(resumes), u64::from(!resumes));
        match d.takers.get_mut(comm) {
            Some(t) => *t = (t.0 + taken, t.1 + given),
            None => _ = d.takers.insert(comm.into(), (taken, given)),
        }
    }

    /// A function returned `error`, and the trace does not say which: the one
    /// that was called last for the device.
    pub fn returned_any(&mut self, time: i64, pid: i32, device: &str, error: i32) {
        let n = self.numbers.get(device).copied();
        let calls = self.calls.get(&pid).into_iter().flatten();
        let last = calls.rev().find(|c| Some(c.device) == n).map(|c| c.function);
        match last {
            Some(function) => self.returned(time, pid, function, device, error),
            None => self.uncalled += 1,
        }
    }

    /// `rpm_status` (since 6.3): a device is being resumed, or is awake.
    pub fn status(&mut self, time: i64, device: &str, status: &str) {
        let n = self.number(device);
        let d = &mut self.devices[n as usize];
        d.events += 1;
        match status {
            "RPM_RESUMING" => d.resuming_at = Some(time),
            "RPM_SUSPENDED" => (d.slept_at, d.resuming_at) = (Some(time), None),
            "RPM_ACTIVE" => {
                if let Some(begin) = d.resuming_at.take() {
                    let asleep = d.slept_at.take().map(|t| begin.saturating_sub(t));
                    d.by_status.push(Resume {
                        asked: begin,
                        begin,
                        end: time,
                        suspend_until: None,
                        parents: 0,
                        asleep,
                    });
                }
            }
            _ => {}
        }
    }

    /// Takes resumes from `rpm_status` for devices of which no call of
    /// `rpm_resume` was recorded.
    pub fn settle(&mut self) {
        for d in &mut self.devices {
            if d.resumes.is_empty() && d.already_awake == 0 {
                d.suspends = d.by_status.iter().filter(|r| r.asleep.is_some()).count() as u64;
                d.resumes = std::mem::take(&mut d.by_status);
            }
        }
    }

    /// The function returned `error`.
    pub fn returned(&mut self, time: i64, pid: i32, function: Function, device: &str, error: i32) {
        self.returns += 1;
        let n = self.number(device);
        let calls = self.calls.entry(pid).or_default();
        let at = calls.iter().rposition(|c| c.device == n && c.function == function);
        let call = at.map(|at| {
            // Calls above it lost their return.
            calls.truncate(at + 1);
            calls.pop().expect("it was just found")
        });
        if let (Some(call), Some(above)) = (&call, calls.last_mut())
            && above.device != n
            && call.function == Function::Resume
        {
            above.nested = above.nested.saturating_add(time.saturating_sub(call.begin));
            if error == 0 && call.flags & ASYNC == 0 {
                self.nested.push((above.device, call.begin, time));
            }
        }
        let d = &mut self.devices[n as usize];
        d.events += 1;
        if function == Function::Suspend {
            d.suspending = false;
        }
        if error < 0 {
            *d.errors.entry((function, error)).or_default() += 1;
        }
        d.judge(time, function, error);
        let Some(call) = call else {
            self.uncalled += 1;
            return;
        };
        match (function, error) {
            (Function::Resume, 0) if call.flags & ASYNC != 0 => {
                d.pending.get_or_insert(call.begin);
            }
            (Function::Resume, 0) => {
                let asleep = d.suspended_at.take().map(|t| call.begin.saturating_sub(t));
                d.suspends += u64::from(asleep.is_some());
                d.resumes.push(Resume {
                    asked: d.pending.take().unwrap_or(call.begin).min(call.begin),
                    begin: call.begin,
                    end: time,
                    suspend_until: d.deferred_end.take(),
                    parents: call.nested.min(time.saturating_sub(call.begin)).max(0),
                    asleep,
                });
                d.deferred = false;
                d.resumed_at = Some(time);
                d.resume_took = time.saturating_sub(call.begin);
            }
            (Function::Resume, 1) => {
                d.already_awake += 1;
                d.pending = None;
                // What looked like a suspend only set a timer.
                d.suspended_at = None;
            }
            (Function::Suspend, 0) if call.flags & ASYNC == 0 => {
                d.suspended_at = Some(time);
                if call.parent_idle
                    && let Some(t) = d.resumed_at.take()
                {
                    d.awake.push((d.resume_took, call.begin.saturating_sub(t)));
                }
            }
            _ => {}
        }
    }

    /// Keeps what the order of events says, and nothing that times say.
    pub fn forget_times(&mut self) {
        for d in &mut self.devices {
            d.resumes.clear();
            d.by_status.clear();
            d.awake.clear();
        }
        self.nested.clear();
        self.calls.clear();
    }

    /// Calls that had not returned at `until`, where a trace has returns.
    pub fn stuck(&self, until: i64) -> Vec<Stuck> {
        let long = |since: i64| until.saturating_sub(since) >= STUCK;
        let mut out: Vec<Stuck> = Vec::new();
        let calls = self.calls.values().flat_map(|stack| stack.last());
        let outermost = calls.filter(|c| {
            self.returns > 0
                && c.flags & ASYNC == 0
                && c.function != Function::Idle
                && long(c.begin)
        });
        for c in outermost {
            let device = self.devices.get(c.device as usize).map_or("", |d| &d.name);
            out.push(Stuck { device: device.into(), function: c.function, since: c.begin });
        }
        for d in &self.devices {
            if let Some(since) = d.resuming_at.filter(|t| long(*t))
                && !out.iter().any(|s| s.device == d.name)
            {
                out.push(Stuck { device: d.name.clone(), function: Function::Resume, since });
            }
        }
        out.sort_by(|a, b| (a.since, &a.device).cmp(&(b.since, &b.device)));
        out
    }

    /// Times in which disks and their hosts were being resumed.
    pub fn spans(&self) -> Vec<Span> {
        let mut out = Vec::new();
        for d in &self.devices {
            let Some(family) = Family::of_device(&d.name) else { continue };
            for r in &d.resumes {
                let mut add = |begin, end, cause| {
                    if end > begin {
                        out.push(Span { family, begin, end, cause });
                    }
                };
                let ended = r.suspend_until.unwrap_or(r.asked).clamp(r.asked, r.begin);
                add(r.asked, ended, Cause::ResumeSuspend);
                add(ended, r.begin, Cause::ResumeWorker);
                add(r.begin, r.end, Cause::Resume);
            }
        }
        for &(device, begin, end) in &self.nested {
            let name = self.devices.get(device as usize).map_or("", |d| &d.name);
            if let (Some(family), true) = (Family::of_device(name), end > begin) {
                out.push(Span { family, begin, end, cause: Cause::ResumeParents });
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_that_a_worker_did_and_a_parent_delayed() {
        let mut r = Runtime::default();
        // Somebody asks; a worker does it and resumes the host first.
        r.call(100, 7, Function::Resume, "0:0:0:0", ASYNC, Some(1));
        r.returned(101, 7, Function::Resume, "0:0:0:0", 0);
        r.call(150, 9, Function::Resume, "0:0:0:0", 2, Some(1));
        r.call(160, 9, Function::Resume, "host0", 0, Some(1));
        r.returned(400, 9, Function::Resume, "host0", 0);
        r.returned(500, 9, Function::Resume, "0:0:0:0", 0);
        let d = &r.devices[0];
        let want = Resume {
            asked: 100,
            begin: 150,
            end: 500,
            suspend_until: None,
            parents: 240,
            asleep: None,
        };
        assert_eq!(d.resumes, [want]);
        assert_eq!(r.devices[1].resumes.len(), 1);
        let spans = r.spans();
        let seen: Vec<_> = spans.iter().map(|s| (s.begin, s.end, s.cause)).collect();
        assert_eq!(
            seen,
            [
                (100, 150, Cause::ResumeWorker),
                (150, 500, Cause::Resume),
                (160, 400, Cause::Resume),
                (160, 400, Cause::ResumeParents)
            ]
        );
    }

    #[test]
    fn a_resume_that_had_to_wait_for_the_end_of_a_suspend() {
        let mut r = Runtime::default();
        r.call(100, 9, Function::Suspend, "0:0:0:0", 10, Some(0));
        r.call(130, 7, Function::Resume, "0:0:0:0", ASYNC, Some(1));
        r.returned(131, 7, Function::Resume, "0:0:0:0", 0);
        // The suspend ends and begins the resume itself.
        r.call(180, 9, Function::Resume, "0:0:0:0", 0, Some(1));
        r.returned(300, 9, Function::Resume, "0:0:0:0", 0);
        r.returned(301, 9, Function::Suspend, "0:0:0:0", -11);
        let seen: Vec<_> = r.spans().iter().map(|s| (s.begin, s.end, s.cause)).collect();
        assert_eq!(seen, [(130, 180, Cause::ResumeSuspend), (180, 300, Cause::Resume)]);
    }

    #[test]
    fn a_suspend_that_only_set_a_timer_is_none() {
        let mut r = Runtime::default();
        r.call(1, 7, Function::Suspend, "mmc0", 13, Some(0));
        r.returned(2, 7, Function::Suspend, "mmc0", 0);
        r.call(3, 7, Function::Resume, "mmc0", 4, Some(1));
        r.returned(4, 7, Function::Resume, "mmc0", 1);
        assert_eq!((r.devices[0].suspends, r.devices[0].already_awake), (0, 1));
        r.call(5, 7, Function::Suspend, "mmc0", 10, Some(0));
        r.call(6, 7, Function::Idle, "soc", 1, Some(0));
        r.returned(7, 7, Function::Idle, "soc", -13);
        r.returned(8, 7, Function::Suspend, "mmc0", 0);
        r.call(1_000, 7, Function::Resume, "mmc0", 4, Some(1));
        r.returned(3_000, 7, Function::Resume, "mmc0", 0);
        let d = &r.devices[0];
        assert_eq!(d.suspends, 1);
        assert_eq!(d.resumes[0].asleep, Some(992));
        assert!(harmless(Function::Idle, -13) && !harmless(Function::Resume, -5));
        assert_eq!(r.devices[1].errors[&(Function::Idle, -13)], 1);
    }

    #[test]
    fn states_stand_in_for_calls_that_were_not_recorded() {
        let mut r = Runtime::default();
        r.status(5, "nvme0", "RPM_SUSPENDED");
        r.status(100, "nvme0", "RPM_RESUMING");
        r.status(170, "nvme0", "RPM_ACTIVE");
        r.call(100, 1, Function::Resume, "mmc0", 0, Some(1));
        r.status(110, "mmc0", "RPM_RESUMING");
        r.status(160, "mmc0", "RPM_ACTIVE");
        r.returned_any(170, 1, "mmc0", 0);
        r.settle();
        let seen: Vec<_> = r
            .devices
            .iter()
            .map(|d| (d.resumes.len(), d.resumes[0].end, d.resumes[0].asleep))
            .collect();
        assert_eq!(seen, [(1, 170, Some(95)), (1, 170, None)]);
    }

    #[test]
    fn a_return_without_a_call_is_counted() {
        let mut r = Runtime::default();
        r.returned(5, 1, Function::Resume, "mmc0", 0);
        assert_eq!((r.uncalled, r.devices[0].resumes.len()), (1, 0));
    }
}
