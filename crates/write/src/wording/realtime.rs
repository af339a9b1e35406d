//! What keeps a CPU from answering in time: sentences, and what mends it.

use super::number::grouped;
use crate::text::safe;
use dormouse_idle::knob::{UNLIMITED, resume_latency};
use dormouse_idle::realtime::{Fault, Report};
use std::collections::BTreeSet;

/// `0-3,8`.
pub fn cpus(set: &BTreeSet<u32>) -> String {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &n in set {
        match out.last_mut() {
            Some(r) if r.1 + 1 == n => r.1 = n,
            _ => out.push((n, n)),
        }
    }
    let one = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    out.iter().map(one).collect::<Vec<_>>().join(",")
}

/// `CPU 2`, `CPUs 2-3`.
pub fn named(set: &BTreeSet<u32>) -> String {
    format!("CPU{} {}", if set.len() == 1 { "" } else { "s" }, cpus(set))
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
        Fault::DeepState { cpu, state, limit, .. } => {
            let limit = match *limit {
                UNLIMITED.. => "it has no limit (0 in pm_qos_resume_latency_us means none)".into(),
                ns => format!("its limit of {} us allows that", us(ns)),
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

/// Command that mends it until the next start; none if only a restart does.
pub fn mend(f: &Fault, r: &Report, budget: i64) -> Option<String> {
    let others = cpus(&r.others);
    let limit = |cpu: &u32| {
        format!(
            "echo {} > /sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us",
            resume_latency(budget)
        )
    };
    Some(match f {
        Fault::Interrupt { irq, .. } if !others.is_empty() => {
            format!("echo {others} > /proc/irq/{irq}/smp_affinity_list")
        }
        Fault::DeepState { cpu, .. } => limit(cpu),
        Fault::LadderIgnoresLimit { .. } => {
            "echo menu > /sys/devices/system/cpu/cpuidle/current_governor".into()
        }
        Fault::Sibling { others, .. } => others
            .iter()
            .map(|n| format!("echo 0 > /sys/devices/system/cpu/cpu{n}/online"))
            .collect::<Vec<_>>()
            .join("; "),
        Fault::TimersStay => "sysctl kernel.timer_migration=1".into(),
        Fault::Throttled { .. } => "sysctl kernel.sched_rt_runtime_us=-1".into(),
        _ => return None,
    })
}

/// Words for the kernel command line that mend what needs a restart; empty if
/// nothing does.
pub fn command_line(r: &Report) -> String {
    let (mine, others) = (cpus(&r.cpus), cpus(&r.others));
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
