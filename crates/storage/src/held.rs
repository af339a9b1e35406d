//! What keeps devices awake at run time, and what wakes them for nothing: from
//! events of a trace, and from settings of sysfs.

use crate::knobs::{Knobs, Power, Status};
use crate::runtime::{Device, Function, Runtime};
use serde::Serialize;

/// Why a device stays awake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// `power/control` is `on`.
    Forbidden,
    /// `pm_qos_resume_latency_us` is `n/a`, or `autosuspend_delay_ms` below zero.
    Never {
        /// It is the latency.
        latency: bool,
    },
    /// Somebody uses it: the usage count, and the threads that took it more often than
    /// they gave it back, with how often.
    Used {
        /// The count.
        count: u64,
        /// Threads of the trace.
        by: Vec<(String, u64)>,
    },
    /// So many children are awake.
    Children {
        /// How many.
        count: u64,
        /// Names of those that are known, themselves held.
        names: Vec<String>,
    },
    /// It is awake, and what was read says nothing that keeps it so.
    Unexplained {
        /// It has never slept.
        never: bool,
        /// `runtime_suspended_time`, ms.
        slept_ms: Option<u64>,
        /// `runtime_active_time`, ms.
        active_ms: Option<u64>,
        /// `runtime_usage` and `runtime_active_kids` were read too, and are 0.
        unused: bool,
    },
}

/// A device that slept for at least so long in all, ms, and for no less than a third of its time,
/// sleeps where nobody needs it.
const RESTED: u64 = 60_000;
const SHARE: u64 = 3;

impl Why {
    /// How long a device that is awake now slept before, ms, where that shows that it sleeps when
    /// it may: the kernel counts both times since its runtime power management was set up
    /// (drivers/base/power/runtime.c:update_pm_runtime_accounting, 6.12).
    pub fn rested(&self) -> Option<u64> {
        let Why::Unexplained { slept_ms, active_ms, .. } = self else { return None };
        let asleep = slept_ms.filter(|ms| *ms >= RESTED)?;
        let all = asleep.saturating_add(active_ms.unwrap_or(0));
        (asleep.saturating_mul(SHARE) >= all).then_some(asleep)
    }
}

/// What is wrong with the runtime power management of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Its status is `error`.
    Error,
    /// A call failed, and the device has not run since.
    Failed {
        /// What failed first.
        function: Function,
        /// Its error, a negative errno.
        error: i32,
        /// Calls that failed since, with it.
        times: u64,
    },
    /// Something does not end.
    Stuck {
        /// A resume or a suspend.
        function: Function,
        /// So long, ns, if the source has times.
        since: Option<i64>,
        /// So often it was read like that.
        seen: u32,
    },
}

impl Wrong {
    /// Whether a single look fell into a call: that proves no call without end.
    pub fn seen_once(&self) -> bool {
        matches!(self, Wrong::Stuck { since: None, seen: 0 | 1, .. })
    }
}

/// A device whose runtime power management is broken: it is neither held awake nor at
/// rest by anybody's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub name: String,
    /// How.
    pub wrong: Wrong,
}

/// A device that would not be suspended, for a reason that passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its name.
    pub device: String,
    /// The answer, a negative errno.
    pub error: i32,
    /// So often.
    pub times: u64,
}

/// A device that is held awake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: Why,
}

/// A device that was resumed and then suspended again before it had been awake for as
/// long as its resume took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pointless {
    /// Its name.
    pub device: String,
    /// So often.
    pub times: u64,
    /// Of so many resumes whose suspend is in the trace.
    pub of: u64,
    /// What those resumes took, ns.
    pub cost: i64,
}

/// A device that slept for less than its break-even time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Short {
    /// Its name.
    pub device: String,
    /// So often.
    pub times: u64,
    /// Of so many sleeps whose length is known.
    pub of: u64,
    /// The break-even time, ns: as given, or what its waking took on average.
    pub break_even: i64,
}

/// A device below another: the path has that of the other in it.
fn below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether `name` is a device of USB right below another: ports stand behind the number of the
/// bus, whose root hub is `usb1` (drivers/usb/core/usb.c:usb_alloc_dev, 6.12).
fn is_usb_child(name: &str, parent: &str) -> bool {
    let port = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let Some((bus, ports)) = name.split_once('-') else { return false };
    if !port(bus) || !ports.split('.').all(port) {
        return false;
    }
    match name.rsplit_once('.') {
        Some((hub, _)) => hub == parent,
        None => parent.strip_prefix("usb") == Some(bus),
    }
}

/// What hangs on a hub that is active, where no file counts it, and is active too.
fn awake_on(knobs: &Knobs, hub: &Power) -> Option<Vec<String>> {
    let active = |p: &Power| p.is_active() == Some(true);
    let below = |p: &&Power| is_usb_child(p.name(), hub.name()) && active(p);
    let names = knobs.power.values().filter(below).map(|p| p.name().to_string());
    let names: Vec<String> = names.filter(|_| active(hub) && hub.children.is_none()).collect();
    (!names.is_empty()).then_some(names)
}

/// Devices that settings say are awake, and why: those that hold themselves first.
pub fn by_settings(knobs: &Knobs) -> Vec<Held> {
    let mut out = Vec::new();
    // What is asleep, broken or not managed is not held awake.
    let awake = |p: &&Power| p.status.is_none_or(|s| s == Status::Active);
    for p in knobs.power.values().filter(awake) {
        let usage = p.usage.unwrap_or(0);
        let why = if p.allowed == Some(false) {
            Why::Forbidden
        } else if p.forbidden || p.autosuspend.is_some_and(|d| d < 0) {
            Why::Never { latency: p.forbidden }
        } else if usage > 0 {
            Why::Used { count: usage, by: Vec::new() }
        } else if let Some(count) = p.children.filter(|n| *n > 0) {
            let awake = |q: &&Power| below(&q.path, &p.path) && q.is_active() == Some(true);
            let list: Vec<_> = knobs.power.values().filter(awake).collect();
            // Children alone, and not theirs.
            let own = |q: &&&Power| !list.iter().any(|r| below(&q.path, &r.path));
            let names = list.iter().filter(own).map(|q| q.name().to_string()).collect();
            Why::Children { count, names }
        } else if let Some(names) = awake_on(knobs, p) {
            Why::Children { count: names.len() as u64, names }
        } else if p.is_active() == Some(true) {
            let never = p.times[1] == Some(0);
            let unused = p.usage.is_some() && p.children.is_some();
            Why::Unexplained { never, slept_ms: p.times[1], active_ms: p.times[0], unused }
        } else {
            continue;
        };
        out.push(Held { name: p.name().to_string(), why });
    }
    out.sort_by(|a, b| (rank(&a.why), &a.name).cmp(&(rank(&b.why), &b.name)));
    out
}

/// Devices that settings say are broken, or were found in the middle of a call.
pub fn broken_by_settings(knobs: &Knobs) -> Vec<Broken> {
    let one = |p: &Power| {
        let stuck = |function| Wrong::Stuck { function, since: None, seen: p.status_seen };
        let wrong = match p.status? {
            Status::Error => Wrong::Error,
            Status::Resuming => stuck(Function::Resume),
            Status::Suspending => stuck(Function::Suspend),
            Status::Active | Status::Suspended | Status::Unsupported => return None,
        };
        Some(Broken { name: p.name().to_string(), wrong })
    };
    knobs.power.values().filter_map(one).collect()
}

/// Devices of a trace whose last call failed, or does not return.
pub fn broken_by_events(runtime: &Runtime, until: i64) -> Vec<Broken> {
    let failed = runtime.devices.iter().filter_map(|d| {
        let f = d.failed?;
        let wrong = Wrong::Failed { function: f.function, error: f.error, times: f.times };
        Some(Broken { name: d.name.clone(), wrong })
    });
    let mut out: Vec<Broken> = failed.collect();
    for s in runtime.stuck(until) {
        let since = Some(until.saturating_sub(s.since));
        let wrong = Wrong::Stuck { function: s.function, since, seen: 1 };
        if !out.iter().any(|b| b.name == s.device) {
            out.push(Broken { name: s.device, wrong });
        }
    }
    out
}

/// Devices that would not be suspended and were not later, in the order of their names.
pub fn refused(runtime: &Runtime) -> Vec<Refused> {
    let one = |d: &Device| {
        let (error, times) = d.refused().filter(|_| d.suspends == 0 && d.failed.is_none())?;
        Some(Refused { device: d.name.clone(), error, times })
    };
    let mut out: Vec<Refused> = runtime.devices.iter().filter_map(one).collect();
    out.sort_by(|a, b| a.device.cmp(&b.device));
    out
}

fn rank(why: &Why) -> u8 {
    match why {
        Why::Used { .. } => 0,
        Why::Forbidden => 1,
        Why::Never { .. } => 2,
        Why::Children { .. } => 3,
        Why::Unexplained { .. } => 4,
    }
}

/// Events of a device that say how it is used: a call and its return alone do not.
pub const ENOUGH: u64 = 2;

/// Devices that every event of a trace found in use, or with a child awake.
pub fn by_events(runtime: &Runtime) -> Vec<Held> {
    // One that a failed call left where it was is not held awake by its users.
    let seen = |d: &&Device| {
        (d.events() > ENOUGH || d.found_in_use()) && d.usage.is_some() && d.failed.is_none()
    };
    let held = |d: &Device| {
        let positive = |n: Option<i32>| n.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        let why = if let (true, Some(count)) = (d.always_used, positive(d.usage)) {
            let mut by: Vec<(String, u64)> = d
                .takers
                .iter()
                .filter(|(_, (get, put))| get > put)
                .map(|(comm, (get, put))| (comm.clone(), get - put))
                .collect();
            by.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            Why::Used { count, by }
        } else if let (true, Some(count)) = (d.always_children, positive(d.children)) {
            Why::Children { count, names: Vec::new() }
        } else {
            return None;
        };
        Some(Held { name: d.name.clone(), why })
    };
    let mut out: Vec<Held> = runtime.devices.iter().filter(seen).filter_map(held).collect();
    out.sort_by(|a, b| (rank(&a.why), &a.name).cmp(&(rank(&b.why), &b.name)));
    out
}

/// Devices that were resumed only to be suspended, those that cost most first.
pub fn pointless(runtime: &Runtime) -> Vec<Pointless> {
    let one = |d: &Device| {
        let brief = || d.awake.iter().filter(|(took, awake)| awake < took);
        Pointless {
            device: d.name.clone(),
            times: brief().count() as u64,
            of: d.awake.len() as u64,
            cost: brief().map(|a| a.0).fold(0, i64::saturating_add),
        }
    };
    let mut out: Vec<Pointless> = runtime.devices.iter().map(one).filter(|p| p.times > 0).collect();
    out.sort_by(|a, b| b.cost.cmp(&a.cost).then(a.device.cmp(&b.device)));
    out
}

/// Devices that slept for less than `even` ns, or, without it, for less than their own
/// waking took.
pub fn short(runtime: &Runtime, even: Option<i64>) -> Vec<Short> {
    let one = |d: &Device| {
        let n = d.resumes.len() as i64;
        let waking =
            d.resumes.iter().map(|r| r.end - r.asked).fold(0, i64::saturating_add) / n.max(1);
        let even = even.unwrap_or(waking);
        let sleeps = || d.resumes.iter().filter_map(|r| r.asleep);
        Short {
            device: d.name.clone(),
            times: sleeps().filter(|t| *t < even).count() as u64,
            of: sleeps().count() as u64,
            break_even: even,
        }
    };
    let mut out: Vec<Short> = runtime.devices.iter().map(one).filter(|s| s.times > 0).collect();
    out.sort_by(|a, b| b.times.cmp(&a.times).then(a.device.cmp(&b.device)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Function;

    #[test]
    fn a_device_that_slept_long_and_is_awake_now_is_rested() {
        let of = |slept_ms, active_ms| {
            Why::Unexplained { never: false, slept_ms, active_ms, unused: false }.rested()
        };
        assert_eq!(of(Some(7_200_000), None), Some(7_200_000));
        assert_eq!(of(Some(7_200_000), Some(3_600_000)), Some(7_200_000));
        assert_eq!(of(Some(1_203), Some(8_120_911)), None);
        assert_eq!(of(Some(100_000), Some(8_120_911)), None);
        assert_eq!(of(None, Some(1)), None);
        assert_eq!(Why::Forbidden.rested(), None);
    }

    #[test]
    fn settings_say_who_holds_whom() {
        let mut k = Knobs::default();
        let host = "/sys/devices/pci0000:00/0000:00:17.0";
        for (device, file, value) in [
            ("", "control", "auto"),
            ("", "runtime_status", "active"),
            ("", "runtime_usage", "0"),
            ("", "runtime_active_kids", "1"),
            ("/ata1", "runtime_status", "active"),
            ("/ata1", "runtime_active_kids", "1"),
            ("/ata1/host0", "runtime_status", "active"),
            ("/ata1/host0", "runtime_usage", "2"),
            ("/ata2", "runtime_status", "suspended"),
        ] {
            k.take(&std::format!("{host}{device}/power/{file}"), value);
        }
        let children = |names: &[&str]| Why::Children {
            count: 1,
            names: names.iter().map(|n| n.to_string()).collect(),
        };
        let held = |name: &str, why| Held { name: name.into(), why };
        assert_eq!(
            by_settings(&k),
            [
                held("host0", Why::Used { count: 2, by: vec![] }),
                held("0000:00:17.0", children(&["ata1"])),
                held("ata1", children(&["host0"])),
            ]
        );
    }

    #[test]
    fn a_hub_of_usb_is_kept_awake_by_what_hangs_on_it() {
        let mut k = Knobs::default();
        for (device, file, value) in [
            ("usb3", "runtime_status", "active"),
            ("3-2", "runtime_status", "active"),
            ("3-2.4", "runtime_status", "active"),
            ("3-2.4", "control", "on"),
            ("usb4", "runtime_status", "active"),
        ] {
            k.take(&std::format!("/sys/bus/usb/devices/{device}/power/{file}"), value);
        }
        let of = |name: &str| by_settings(&k).into_iter().find(|h| h.name == name).map(|h| h.why);
        let child = |name: &str| Some(Why::Children { count: 1, names: vec![name.to_string()] });
        assert_eq!((of("usb3"), of("3-2")), (child("3-2"), child("3-2.4")));
        assert_eq!(of("3-2.4"), Some(Why::Forbidden));
        assert!(matches!(of("usb4"), Some(Why::Unexplained { .. })));
    }

    #[test]
    fn what_is_broken_or_awake_for_no_reason_is_not_held_awake() {
        let mut k = Knobs::default();
        for (device, file, value) in [
            ("a", "runtime_status", "error"),
            ("b", "runtime_status", "resuming"),
            ("b", "runtime_status", "resuming"),
            ("b", "runtime_usage", "1"),
            ("c", "runtime_status", "active"),
            ("c", "runtime_usage", "0"),
            ("c", "runtime_active_kids", "0"),
            ("c", "runtime_suspended_time", "0"),
            ("d", "runtime_status", "unsupported"),
        ] {
            k.take(&std::format!("/sys/devices/{device}/power/{file}"), value);
        }
        let why =
            Why::Unexplained { never: true, slept_ms: Some(0), active_ms: None, unused: true };
        assert_eq!(by_settings(&k), [Held { name: "c".into(), why }]);
        let stuck = Wrong::Stuck { function: Function::Resume, since: None, seen: 2 };
        let broken = |name: &str, wrong| Broken { name: name.into(), wrong };
        assert_eq!(broken_by_settings(&k), [broken("a", Wrong::Error), broken("b", stuck)]);
    }

    #[test]
    fn a_failed_resume_is_told_by_its_first_error() {
        let mut r = Runtime::default();
        let mut call = |t, device: &str, error: Option<i32>| {
            r.call(t, 7, Function::Resume, device, 4, Some(1));
            if let Some(error) = error {
                r.returned(t + 1, 7, Function::Resume, device, error);
            }
        };
        call(10, "1-0042", Some(-121));
        call(20, "1-0042", Some(-22));
        call(30, "1-0042", Some(-22));
        call(40, "2-0001", Some(-5));
        call(50, "2-0001", Some(0));
        call(60, "dp", None);
        let failed = Wrong::Failed { function: Function::Resume, error: -121, times: 3 };
        let stuck =
            Wrong::Stuck { function: Function::Resume, since: Some(2_000_000_000), seen: 1 };
        let broken = |name: &str, wrong| Broken { name: name.into(), wrong };
        let all = broken_by_events(&r, 2_000_000_060);
        assert_eq!(all, [broken("1-0042", failed), broken("dp", stuck)]);
        assert!(by_events(&r).iter().all(|h| h.name != "1-0042"));
    }

    #[test]
    fn one_look_that_was_refused_says_that_a_device_is_in_use() {
        let mut r = Runtime::default();
        r.call(10, 7, Function::Idle, "elm0", 1, Some(3));
        r.returned(11, 7, Function::Idle, "elm0", -11);
        r.call(12, 7, Function::Idle, "oak0", 1, Some(3));
        r.returned(13, 7, Function::Idle, "oak0", 0);
        let [held] = &by_events(&r)[..] else { panic!("{:?}", by_events(&r)) };
        assert_eq!((held.name.as_str(), &held.why), ("elm0", &Why::Used { count: 3, by: vec![] }));
    }

    #[test]
    fn events_say_who_took_it_and_what_was_for_nothing() {
        let mut r = Runtime::default();
        for t in [10, 20, 30] {
            r.note(Function::Resume, "mmc0", 4, "app", Some(0));
            r.call(t, 7, Function::Resume, "mmc0", 4, Some(1));
            r.returned(t, 7, Function::Resume, "mmc0", 1);
        }
        // A sleep of 90, a resume of 100, awake for 40, and down again.
        r.call(110, 9, Function::Suspend, "sda", 10, Some(0));
        r.returned(112, 9, Function::Suspend, "sda", 0);
        r.call(200, 9, Function::Resume, "sda", 4, Some(1));
        r.returned(300, 9, Function::Resume, "sda", 0);
        r.call(340, 9, Function::Suspend, "sda", 10, Some(0));
        r.call(341, 9, Function::Idle, "host0", 1, Some(0));
        r.returned(342, 9, Function::Idle, "host0", 0);
        r.returned(350, 9, Function::Suspend, "sda", 0);
        let [held] = &by_events(&r)[..] else { panic!("{:?}", by_events(&r)) };
        assert_eq!(held.name, "mmc0");
        assert_eq!(held.why, Why::Used { count: 1, by: vec![("app".into(), 3)] });
        let [p] = &pointless(&r)[..] else { panic!() };
        assert_eq!((p.device.as_str(), p.times, p.of, p.cost), ("sda", 1, 1, 100));
        let [s] = &short(&r, None)[..] else { panic!() };
        assert_eq!((s.times, s.of, s.break_even), (1, 1, 100));
        assert_eq!(short(&r, Some(50)), []);
    }
}
