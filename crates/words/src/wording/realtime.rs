//! What keeps a CPU from answering in time: sentences, and what mends it.

use super::number::grouped;
use crate::text::safe;
use dormouse_idle::cpulist;
use dormouse_idle::knob::{UNLIMITED, resume_latency};
use dormouse_idle::realtime::{Fault, Report};
use std::collections::BTreeSet;

/// `CPU 2`, `CPUs 2-3`.
pub fn named(set: &BTreeSet<u32>) -> String {
    format!("CPU{} {}", if set.len() == 1 { "" } else { "s" }, cpulist::text(set))
}

fn us(ns: i64) -> String {
    grouped((ns.max(0).unsigned_abs() + 500) / 1_000)
}

/// One sentence or two: what is wrong, and why that matters.
pub fn fault(f: &Fault) -> String {
    match f {
        Fault::NoneIsolated => "No CPU is isolated: any task and any interrupt may run anywhere. \
                                Name the CPUs with --cpus to see what to set."
            .into(),
        Fault::NotIsolated(c) => {
            format!("The scheduler may put any task on {}: not in isolcpus=.", named(c))
        }
        Fault::Tick(c) => format!(
            "The tick interrupts a single task on {} again and again: not in nohz_full=.",
            named(c)
        ),
        Fault::RcuCallbacks(c) => format!(
            "{} {} callbacks of RCU: not in rcu_nocbs=.",
            named(c),
            if c.len() == 1 { "runs" } else { "run" }
        ),
        Fault::NewInterrupts(c) => format!(
            "Interrupts of new devices may go to {}: irqaffinity= leaves them in.",
            named(c)
        ),
        Fault::Interrupt { irq, cpus } => format!("Interrupt {irq} may go to {}.", named(cpus)),
        Fault::Movable { irqs, cpus } => format!(
            "Interrupt{} {} may be moved to {}: {} now, but irqbalance or a CPU that goes \
             offline changes that.",
            if irqs.len() == 1 { "" } else { "s" },
            cpulist::text(irqs),
            named(cpus),
            if irqs.len() == 1 { "it goes elsewhere" } else { "they go elsewhere" },
        ),
        Fault::DeepState { cpu, state, limit, .. } => {
            let limit = match *limit {
                None => "what limits it is not in the input".into(),
                Some(UNLIMITED..) => {
                    "it has no limit (0 in pm_qos_resume_latency_us means none)".into()
                }
                Some(ns) => format!("its limit of {} us allows that", us(ns)),
            };
            format!("CPU {cpu} may sleep in {}: {limit}.", safe(state))
        }
        Fault::LadderIgnoresLimit { cpu, state, .. } => format!(
            "CPU {cpu} may sleep in {}: ladder enters its first state whatever the limit.",
            safe(state)
        ),
        Fault::Sibling { cpu, others } => {
            format!("CPU {cpu} shares its core with {}, which runs other work.", named(others))
        }
        Fault::SharedCache { cpus, level, others } => format!(
            "{} {} the level {level} cache with {}: other work may evict code and data.",
            named(cpus),
            if cpus.len() == 1 { "shares" } else { "share" },
            named(others)
        ),
        Fault::TimersStay => {
            "Timers stay on the CPU that started them: timer_migration is 0.".into()
        }
        Fault::Throttled { stopped, period } => format!(
            "Real-time tasks that do not sleep are stopped for {} us of each {} us.",
            us(*stopped),
            us(*period)
        ),
    }
}

/// `133 us`, `not known`.
pub fn worst(f: &Fault) -> String {
    f.worst().map_or("not known".into(), |ns| format!("{} us", us(ns)))
}

/// A file, and what to write into it.
pub type Write = (String, String);

/// What to write so that it is mended until the next start; nothing if only a
/// restart mends it.
pub fn mend(f: &Fault, r: &Report, budget: i64) -> Vec<Write> {
    let others = cpulist::text(&r.others);
    let cpu = |n: &u32, file: &str| format!("/sys/devices/system/cpu/cpu{n}/{file}");
    let affinity = |irq: &u32| (format!("/proc/irq/{irq}/smp_affinity_list"), others.clone());
    let sysctl = |name: &str, value: &str| (format!("/proc/sys/kernel/{name}"), value.into());
    match f {
        Fault::Interrupt { irq, .. } if !others.is_empty() => vec![affinity(irq)],
        Fault::Movable { irqs, .. } if !others.is_empty() => irqs.iter().map(affinity).collect(),
        Fault::DeepState { cpu: n, .. } => {
            vec![(cpu(n, "power/pm_qos_resume_latency_us"), resume_latency(budget))]
        }
        Fault::LadderIgnoresLimit { .. } => {
            vec![("/sys/devices/system/cpu/cpuidle/current_governor".into(), "menu".into())]
        }
        Fault::Sibling { others, .. } => {
            others.iter().map(|n| (cpu(n, "online"), "0".into())).collect()
        }
        Fault::TimersStay => vec![sysctl("timer_migration", "1")],
        Fault::Throttled { .. } => vec![sysctl("sched_rt_runtime_us", "-1")],
        _ => Vec::new(),
    }
}

/// One of them as a command.
pub fn command((path, value): &Write) -> String {
    format!("echo {value} > {path}")
}

/// Words for the kernel command line that mend what needs a restart; empty if
/// nothing does.
pub fn command_line(r: &Report) -> String {
    let (mine, others) = (cpulist::text(&r.cpus), cpulist::text(&r.others));
    let has = |f: fn(&Fault) -> bool| r.faults.iter().any(f);
    let mut out = Vec::new();
    if has(|f| matches!(f, Fault::NotIsolated(_))) {
        out.push(format!("isolcpus=managed_irq,domain,{mine}"));
    }
    if has(|f| matches!(f, Fault::Tick(_))) {
        out.push(format!("nohz_full={mine}"));
    }
    if has(|f| matches!(f, Fault::RcuCallbacks(_))) {
        out.push(format!("rcu_nocbs={mine}"));
    }
    if has(|f| matches!(f, Fault::NewInterrupts(_))) && !others.is_empty() {
        out.push(format!("irqaffinity={others}"));
    }
    out.join(" ")
}
