//! Clocks and counters around one cycle.

use crate::root::Root;
use crate::system::{boottime, monotonic, realtime};
use dormouse_capture::schema::{Clocks, KernelCounts};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Monotonic, boot and real time of one moment: the reading of several in which
/// the monotonic clock advanced least.
fn moment() -> (i64, i64, i64) {
    let mut best = (i64::MAX, (0, 0, 0));
    for _ in 0..5 {
        let first = monotonic();
        let boot = boottime();
        let last = monotonic();
        let width = last.saturating_sub(first);
        if width < best.0 {
            best = (width, (first + width / 2, boot, realtime()));
        }
    }
    best.1
}

/// The clocks now, as the readings before a cycle.
pub fn clocks() -> Clocks {
    let (monotonic_before, boottime_before, realtime_before) = moment();
    Clocks { monotonic_before, boottime_before, realtime_before, ..Clocks::default() }
}

/// Adds the readings after the cycle.
pub fn since(before: Clocks) -> Clocks {
    let (monotonic_after, boottime_after, realtime_after) = moment();
    Clocks { monotonic_after, boottime_after, realtime_after, ..before }
}

/// Time in idle states that s2idle alone enters, of each CPU, before a cycle
/// (drivers/cpuidle/cpuidle.c:enter_s2idle_proper, 6.12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct S2idle(BTreeMap<String, Option<u64>>);

impl S2idle {
    /// Reads them.
    pub fn begin(root: &Root) -> S2idle {
        S2idle(s2idle(root))
    }

    /// Reads them again: the time of the CPU that spent least there, us; `None` if no
    /// CPU has such a state.
    pub fn end(&self, root: &Root) -> Option<u64> {
        self.until(&S2idle::begin(root))
    }

    /// The same of a reading that was made `after` this one.
    pub fn until(&self, S2idle(after): &S2idle) -> Option<u64> {
        if after.values().all(Option::is_none) {
            return None;
        }
        let spent = |(cpu, us): (&String, &Option<u64>)| {
            us.unwrap_or(0).saturating_sub(self.0.get(cpu).copied().flatten().unwrap_or(0))
        };
        after.iter().map(spent).min()
    }
}

/// `cpuidle/state*/s2idle/time` of each CPU added up; `None` for one without.
fn s2idle(root: &Root) -> BTreeMap<String, Option<u64>> {
    const AT: &str = "/sys/devices/system/cpu";
    let mut out = BTreeMap::new();
    for cpu in root.list(AT) {
        let states = format!("{AT}/{cpu}/cpuidle");
        let is_cpu = cpu.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        // One that is switched off sleeps in none.
        if !is_cpu || root.read(&format!("{AT}/{cpu}/online")).as_deref() == Some("0") {
            continue;
        }
        let times = root.list(&states);
        let times = times
            .iter()
            .filter_map(|state| root.read_number::<u64>(&format!("{states}/{state}/s2idle/time")));
        out.insert(
            cpu,
            times.fold(None, |sum: Option<u64>, us| Some(sum.unwrap_or(0).saturating_add(us))),
        );
    }
    out
}

/// The kernel's own counters before a cycle.
#[derive(Debug)]
pub struct Counts {
    workers: BTreeSet<String>,
    switches: Option<u64>,
    tasks: Option<u64>,
}

impl Counts {
    /// Reads them.
    pub fn begin(root: &Root) -> Counts {
        Counts {
            workers: workers(root),
            switches: stat(root, "ctxt"),
            tasks: stat(root, "processes"),
        }
    }

    /// Reads them again and gives the differences.
    pub fn end(&self, root: &Root) -> KernelCounts {
        let switches = stat(root, "ctxt");
        let tasks = stat(root, "processes");
        let workers = workers(root);
        let difference = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_sub(b?));
        KernelCounts {
            workers_created: (!workers.is_empty())
                .then(|| workers.difference(&self.workers).count() as u64),
            workers: (!workers.is_empty()).then_some(workers.len() as u64),
            context_switches: difference(switches, self.switches),
            tasks_created: difference(tasks, self.tasks),
        }
    }
}

fn stat(root: &Root, name: &str) -> Option<u64> {
    let text = root.read("/proc/stat")?;
    text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

/// Process ids of all `kworker` threads.
fn workers(root: &Root) -> BTreeSet<String> {
    root.list("/proc")
        .into_iter()
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
        .filter(|n| root.read(&format!("/proc/{n}/comm")).is_some_and(|c| c.starts_with("kworker")))
        .collect()
}
