//! What keeps a CPU from answering in time: settings of a machine held against
//! the recipe for real-time CPUs.

use crate::cpulist::{parse, parse_mask};
use crate::knob::{UNLIMITED, read_resume_latency};
use crate::state::ONLY_S2IDLE;
use std::collections::{BTreeMap, BTreeSet};

/// Files of `/proc` and `/sys` with what they hold.
pub type Files = BTreeMap<String, String>;

const CPUS: &str = "/sys/devices/system/cpu";

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The command line isolates no CPU, and the caller names none.
    NoneIsolated,
    /// CPUs that are not isolated from other tasks (`isolcpus=`).
    NotIsolated(BTreeSet<u32>),
    /// CPUs on which the tick runs on beside a single task (`nohz_full=`).
    Tick(BTreeSet<u32>),
    /// CPUs that run callbacks of RCU themselves (`rcu_nocbs=`).
    RcuCallbacks(BTreeSet<u32>),
    /// New interrupts may go to these CPUs (`irqaffinity=`).
    NewInterrupts(BTreeSet<u32>),
    /// An interrupt goes to these CPUs, or may where the files do not say where
    /// it goes.
    Interrupt {
        /// Its number.
        irq: u32,
        /// The CPUs.
        cpus: BTreeSet<u32>,
    },
    /// Interrupts that go elsewhere now, and may be moved to these CPUs.
    Movable {
        /// Their numbers.
        irqs: BTreeSet<u32>,
        /// The CPUs.
        cpus: BTreeSet<u32>,
    },
    /// A CPU may sleep so deep that it takes too long to wake.
    DeepState {
        /// The CPU.
        cpu: u32,
        /// Name of the deepest state that it may enter.
        state: String,
        /// What it takes to leave that, ns.
        latency: i64,
        /// Its own limit, ns; [`UNLIMITED`] if it has none, nothing if the files do not
        /// say.
        limit: Option<i64>,
    },
    /// ladder never holds its first rung to a limit but zero
    /// (`ladder_select_state`).
    LadderIgnoresLimit {
        /// The CPU.
        cpu: u32,
        /// Name of that state.
        state: String,
        /// What it takes to leave that, ns.
        latency: i64,
    },
    /// Another thread of the same core is not isolated.
    Sibling {
        /// The isolated CPU.
        cpu: u32,
        /// Threads beside it.
        others: BTreeSet<u32>,
    },
    /// The outermost cache is shared with CPUs that are not isolated.
    SharedCache {
        /// The isolated CPUs.
        cpus: BTreeSet<u32>,
        /// Level of the cache.
        level: u32,
        /// CPUs beside them.
        others: BTreeSet<u32>,
    },
    /// Timers stay where they were started (`timer_migration` is 0).
    TimersStay,
    /// Real-time tasks are stopped for a part of each period
    /// (`sched_rt_runtime_us`).
    Throttled {
        /// How long, ns.
        stopped: i64,
        /// Of each period, ns.
        period: i64,
    },
}

impl Fault {
    /// How late a CPU may be by this at worst, ns, where that is known.
    pub fn worst(&self) -> Option<i64> {
        match self {
            Fault::DeepState { latency, .. } | Fault::LadderIgnoresLimit { latency, .. } => {
                Some(*latency)
            }
            Fault::Throttled { stopped, .. } => Some(*stopped),
            _ => None,
        }
    }
}

/// What a machine's files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// CPUs that are to answer in time.
    pub cpus: BTreeSet<u32>,
    /// The others that are online.
    pub others: BTreeSet<u32>,
    /// What is wrong, by known worst case, then in the order of the list above.
    pub faults: Vec<Fault>,
    /// What the files do not say: paths.
    pub missing: Vec<String>,
    /// Values that could not be understood: paths.
    pub unread: Vec<String>,
}

struct Look<'a> {
    files: &'a Files,
    last: u32,
    report: Report,
}

/// Holds `files` against the recipe. `asked` names the CPUs; without it those
/// that the command line isolates. A state whose exit latency is above `budget`
/// (ns) is too deep.
pub fn check(files: &Files, asked: Option<&BTreeSet<u32>>, budget: i64) -> Report {
    let mut look = Look { files, last: 0, report: Report::default() };
    let numbers = files.keys().filter_map(|path| number_after(path, &format!("{CPUS}/cpu")));
    look.last = numbers.max().unwrap_or(0);
    let present: BTreeSet<u32> =
        files.keys().filter_map(|path| number_after(path, &format!("{CPUS}/cpu"))).collect();
    let online = look.list(&format!("{CPUS}/online")).unwrap_or(present);
    look.last = online.last().copied().unwrap_or(look.last);
    // Without it nobody knows what the kernel was told.
    let said = look.text("/proc/cmdline").map(ToString::to_string);
    let line = said.clone().unwrap_or_default();
    let option = |look: &mut Look, key: &str| -> BTreeSet<u32> {
        word(&line, key).map_or_else(BTreeSet::new, |text| look.option(key, text, text))
    };
    let mut full = option(&mut look, "nohz_full");
    let nocbs = option(&mut look, "rcu_nocbs");
    let mut isolated = BTreeSet::new();
    for text in words(&line, "isolcpus") {
        let (flags, list) = flags(text);
        let cpus = look.option("isolcpus", list, text);
        if flags.domain {
            isolated.extend(&cpus);
        }
        if flags.tick {
            full.extend(&cpus);
        }
    }
    let wanted = match asked {
        Some(cpus) => cpus.clone(),
        None => isolated.union(&full).copied().collect(),
    };
    let none = wanted.is_empty();
    // Without a choice every CPU is looked at for what can be told of it.
    let cpus = if none { online.clone() } else { wanted };
    look.report.others = online.difference(&cpus).copied().collect();
    look.report.cpus = cpus.clone();
    let without =
        |have: &BTreeSet<u32>| -> BTreeSet<u32> { cpus.difference(have).copied().collect() };
    let mut faults = Vec::new();
    if none {
        faults.extend(said.map(|_| Fault::NoneIsolated));
    } else {
        let mut add = |left: BTreeSet<u32>, make: fn(BTreeSet<u32>) -> Fault| {
            if !left.is_empty() && said.is_some() {
                faults.push(make(left));
            }
        };
        add(without(&isolated), Fault::NotIsolated);
        add(without(&full), Fault::Tick);
        // A CPU without a tick has its callbacks run elsewhere too.
        let either: BTreeSet<u32> = nocbs.union(&full).copied().collect();
        add(without(&either), Fault::RcuCallbacks);
        faults.extend(look.interrupts(&cpus));
        faults.extend(look.neighbours(&cpus));
    }
    faults.extend(look.states(&cpus, budget));
    faults.extend(look.kernel());
    faults.sort_by_key(|f| std::cmp::Reverse(f.worst()));
    look.report.faults = faults;
    look.report
}

impl Look<'_> {
    fn text(&mut self, path: &str) -> Option<&str> {
        let found = self.files.get(path);
        if found.is_none() {
            self.report.missing.push(path.into());
        }
        found.map(|t| t.trim())
    }

    /// A value that `read` understands; else it is noted.
    fn value<T>(&mut self, path: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?.to_string();
        let value = read(&text);
        if value.is_none() {
            self.report.unread.push(format!("{path}: {text}"));
        }
        value
    }

    fn list(&mut self, path: &str) -> Option<BTreeSet<u32>> {
        let last = self.last;
        self.value(path, |t| parse(t, last))
    }

    /// CPUs of an option of the command line, of which `list` names them.
    fn option(&mut self, key: &str, list: &str, text: &str) -> BTreeSet<u32> {
        parse(list, self.last).unwrap_or_else(|| {
            self.report.unread.push(format!("/proc/cmdline: {key}={text}"));
            BTreeSet::new()
        })
    }

    fn interrupts(&mut self, cpus: &BTreeSet<u32>) -> Vec<Fault> {
        let mut out = Vec::new();
        let shared =
            |set: &BTreeSet<u32>| -> BTreeSet<u32> { set.intersection(cpus).copied().collect() };
        if let Some(set) = self.value("/proc/irq/default_smp_affinity", parse_mask)
            && !shared(&set).is_empty()
        {
            out.push(Fault::NewInterrupts(shared(&set)));
        }
        let irqs: BTreeSet<u32> =
            self.files.keys().filter_map(|path| number_after(path, "/proc/irq/")).collect();
        let mut movable: (BTreeSet<u32>, BTreeSet<u32>) = Default::default();
        for irq in irqs {
            let mut of = |name: &str| {
                let path = format!("/proc/irq/{irq}/{name}");
                if self.files.contains_key(&path) { self.list(&path) } else { None }
            };
            let allowed = of("smp_affinity_list").unwrap_or_default();
            // Where it really goes, if said; what is allowed is more.
            let goes = of("effective_affinity_list");
            let now = shared(goes.as_ref().unwrap_or(&allowed));
            let later = shared(&allowed);
            if !now.is_empty() {
                out.push(Fault::Interrupt { irq, cpus: now });
            } else if !later.is_empty() {
                movable.0.insert(irq);
                movable.1.extend(later);
            }
        }
        if !movable.0.is_empty() {
            out.push(Fault::Movable { irqs: movable.0, cpus: movable.1 });
        }
        out
    }

    fn neighbours(&mut self, cpus: &BTreeSet<u32>) -> Vec<Fault> {
        let mut out = Vec::new();
        let mut caches: BTreeMap<(u32, BTreeSet<u32>), BTreeSet<u32>> = BTreeMap::new();
        let beside =
            |set: &BTreeSet<u32>| -> BTreeSet<u32> { set.difference(cpus).copied().collect() };
        for &cpu in cpus {
            let path = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
            if let Some(set) = self.list(&path)
                && !beside(&set).is_empty()
            {
                out.push(Fault::Sibling { cpu, others: beside(&set) });
            }
            let mut outermost: Option<(u32, BTreeSet<u32>)> = None;
            for index in 0..8 {
                let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
                if !self.files.contains_key(&format!("{folder}/level")) {
                    continue;
                }
                let level = self.value(&format!("{folder}/level"), |t| t.parse().ok());
                let set = self.list(&format!("{folder}/shared_cpu_list"));
                if let (Some(level), Some(set)) = (level, set)
                    && outermost.as_ref().is_none_or(|o| o.0 <= level)
                {
                    outermost = Some((level, beside(&set)));
                }
            }
            if let Some(key) = outermost.filter(|o| !o.1.is_empty()) {
                caches.entry(key).or_default().insert(cpu);
            }
        }
        let shared = |((level, others), cpus)| Fault::SharedCache { cpus, level, others };
        out.extend(caches.into_iter().map(shared));
        out
    }

    fn states(&mut self, cpus: &BTreeSet<u32>, budget: i64) -> Vec<Fault> {
        let mut out = Vec::new();
        let governor =
            self.text(&format!("{CPUS}/cpuidle/current_governor")).map(ToString::to_string);
        for &cpu in cpus {
            let path = format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us");
            let known = self.value(&path, read_resume_latency);
            let limit = known.unwrap_or(UNLIMITED);
            let mut allowed: Option<(String, i64)> = None;
            for i in 0.. {
                let folder = format!("{CPUS}/cpu{cpu}/cpuidle/state{i}");
                if !self.files.contains_key(&format!("{folder}/latency")) {
                    break;
                }
                let us = self.value(&format!("{folder}/latency"), |t| t.parse::<i64>().ok());
                let Some(latency) = us.and_then(|us| us.checked_mul(1_000)) else { continue };
                let residency = self.files.get(&format!("{folder}/residency"));
                let only_s2idle = residency
                    .and_then(|t| t.trim().parse().ok())
                    .is_some_and(|us: u64| us >= ONLY_S2IDLE);
                // A kernel without the file lets nobody disable a state; a dump without
                // it says nothing.
                let disable = format!("{folder}/disable");
                let off = match self.files.get(&disable) {
                    Some(t) => t.trim() != "0",
                    None => {
                        if i > 0 {
                            self.report.missing.push(disable);
                        }
                        i > 0
                    }
                };
                if off || only_s2idle {
                    continue;
                }
                let name = self.files.get(&format!("{folder}/name"));
                let name = name.map_or_else(|| format!("state{i}"), |t| t.trim().into());
                if i == 1 && governor.as_deref() == Some("ladder") && limit > 0 && latency > limit {
                    let state = name.clone();
                    out.push(Fault::LadderIgnoresLimit { cpu, state, latency });
                }
                if i == 0 || latency <= limit {
                    allowed = Some((name, latency));
                }
            }
            if let Some((state, latency)) = allowed.filter(|a| a.1 > budget) {
                out.push(Fault::DeepState { cpu, state, latency, limit: known });
            }
        }
        out
    }

    fn kernel(&mut self) -> Vec<Fault> {
        let mut out = Vec::new();
        let number = |t: &str| t.parse::<i64>().ok();
        if self.value("/proc/sys/kernel/timer_migration", number) == Some(0) {
            out.push(Fault::TimersStay);
        }
        let runtime = self.value("/proc/sys/kernel/sched_rt_runtime_us", number);
        let period = self.value("/proc/sys/kernel/sched_rt_period_us", number);
        if let (Some(runtime), Some(period)) = (runtime, period)
            && (0..period).contains(&runtime)
        {
            let ns = |us: i64| us.saturating_mul(1_000);
            out.push(Fault::Throttled { stopped: ns(period - runtime), period: ns(period) });
        }
        out
    }
}

/// The number that follows `prefix` in a path, up to the next `/`.
fn number_after(path: &str, prefix: &str) -> Option<u32> {
    let rest = path.strip_prefix(prefix)?;
    rest.split_once('/')?.0.parse().ok()
}

/// The values of an option of a command line.
fn words<'a>(line: &'a str, key: &str) -> impl DoubleEndedIterator<Item = &'a str> {
    line.split_whitespace().filter_map(move |w| w.strip_prefix(key)?.strip_prefix('='))
}

/// The value of an option of which the last one counts.
fn word<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    words(line, key).next_back()
}

/// What `isolcpus=` does to the CPUs of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    /// They are kept out of the scheduler's domains: no task is moved there.
    domain: bool,
    /// The tick stops beside a single task, as with `nohz_full=`.
    tick: bool,
}

/// Flags before the list, and the list: `nohz,domain,2-3`. Only without any known
/// flag the CPUs are isolated from the scheduler by default; a word that is no
/// flag is skipped (`housekeeping_isolcpus_setup`, kernel/sched/isolation.c, 6.12).
fn flags(text: &str) -> (Flags, &str) {
    let (mut out, mut any) = (Flags { domain: false, tick: false }, false);
    let mut rest = text;
    while rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && let Some((flag, more)) = rest.split_once(',')
        && flag.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    {
        match flag {
            "domain" => out.domain = true,
            "nohz" => out.tick = true,
            _ => {}
        }
        any |= matches!(flag, "domain" | "nohz" | "managed_irq");
        rest = more;
    }
    out.domain |= !any;
    (out, rest)
}
