//! A machine held against the recipe for real-time CPUs: one fault a test line.

use dormouse_idle::knob::UNLIMITED;
use dormouse_idle::realtime::{Fault, Files, check};
use std::collections::BTreeSet;

const CPU: &str = "/sys/devices/system/cpu";

/// Four CPUs, two of them isolated as the recipe has it.
fn good() -> Files {
    let mut out = Files::new();
    let mut put = |path: String, value: &str| {
        out.insert(path, format!("{value}\n"));
    };
    let line = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 quiet";
    put("/proc/cmdline".into(), line);
    put("/proc/irq/default_smp_affinity".into(), "3");
    put("/proc/irq/24/smp_affinity_list".into(), "0-1");
    put("/proc/sys/kernel/timer_migration".into(), "1");
    put("/proc/sys/kernel/sched_rt_runtime_us".into(), "-1");
    put("/proc/sys/kernel/sched_rt_period_us".into(), "1000000");
    put(format!("{CPU}/online"), "0-3");
    put(format!("{CPU}/cpuidle/current_governor"), "menu");
    for cpu in 0..4 {
        let limit = if cpu < 2 { "0" } else { "5" };
        put(format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"), limit);
        let pair = if cpu < 2 { "0-1" } else { "2-3" };
        put(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), pair);
        put(format!("{CPU}/cpu{cpu}/cache/index0/level"), "1");
        put(format!("{CPU}/cpu{cpu}/cache/index0/shared_cpu_list"), pair);
        for (i, (name, latency)) in [("POLL", 0), ("C1", 2), ("C6", 133)].iter().enumerate() {
            put(format!("{CPU}/cpu{cpu}/cpuidle/state{i}/name"), name);
            put(format!("{CPU}/cpu{cpu}/cpuidle/state{i}/latency"), &latency.to_string());
            put(format!("{CPU}/cpu{cpu}/cpuidle/state{i}/disable"), "0");
        }
    }
    out
}

fn faults(change: &[(&str, &str)]) -> Vec<Fault> {
    let mut files = good();
    for (path, value) in change {
        files.insert(path.replace("CPU", CPU), value.to_string());
    }
    let report = check(&files, None, 10_000);
    assert!(report.unread.is_empty(), "{:?}", report.unread);
    report.faults
}

fn set<const N: usize>(list: [u32; N]) -> BTreeSet<u32> {
    BTreeSet::from(list)
}

#[test]
fn each_departure_from_the_recipe_is_one_fault() {
    assert_eq!(faults(&[]), []);
    let line = |l: &'static str| [("/proc/cmdline", l)];
    assert_eq!(
        faults(&line("isolcpus=2-3 nohz_full=2 rcu_nocbs=2")),
        [Fault::Tick(set([3])), Fault::RcuCallbacks(set([3]))]
    );
    assert_eq!(faults(&line("nohz_full=2-3")), [Fault::NotIsolated(set([2, 3]))]);
    let irq = faults(&[("/proc/irq/24/smp_affinity_list", "0-2")]);
    assert_eq!(irq, [Fault::Interrupt { irq: 24, cpus: set([2]) }]);
    // Where it goes is known, and that it may be moved.
    let both = |goes| {
        faults(&[
            ("/proc/irq/24/smp_affinity_list", "0-3"),
            ("/proc/irq/24/effective_affinity_list", goes),
        ])
    };
    assert_eq!(both("3"), [Fault::Interrupt { irq: 24, cpus: set([3]) }]);
    assert_eq!(both("0"), [Fault::Movable { irqs: set([24]), cpus: set([2, 3]) }]);
    // An interrupt that nobody asked for goes nowhere.
    assert_eq!(both(""), [Fault::Movable { irqs: set([24]), cpus: set([2, 3]) }]);
    assert_eq!(
        faults(&[("/proc/irq/default_smp_affinity", "f")]),
        [Fault::NewInterrupts(set([2, 3]))]
    );
    assert_eq!(
        faults(&[("CPU/cpu2/topology/thread_siblings_list", "1-2")]),
        [Fault::Sibling { cpu: 2, others: set([1]) }]
    );
    assert_eq!(
        faults(&[
            ("CPU/cpu3/cache/index1/level", "3"),
            ("CPU/cpu3/cache/index1/shared_cpu_list", "0-3")
        ]),
        [Fault::SharedCache { cpus: set([3]), level: 3, others: set([0, 1]) }]
    );
    assert_eq!(faults(&[("/proc/sys/kernel/timer_migration", "0")]), [Fault::TimersStay]);
    assert_eq!(
        faults(&[("/proc/sys/kernel/sched_rt_runtime_us", "950000")]),
        [Fault::Throttled { stopped: 50_000_000, period: 1_000_000_000 }]
    );
}

#[test]
fn only_some_flags_of_isolcpus_keep_tasks_away() {
    let of = |isolcpus: &'static str| {
        let line = format!("isolcpus={isolcpus} nohz_full=2-3 irqaffinity=0-1");
        faults(&[("/proc/cmdline", &line)])
    };
    let not = [Fault::NotIsolated(set([2, 3]))];
    for list in ["2-3", "domain,2-3", "nohz,domain,managed_irq,2-3", "unknown_flag,2-3"] {
        assert_eq!(of(list), [], "{list}");
    }
    for list in ["managed_irq,2-3", "nohz,2-3", "nohz,managed_irq,2-3"] {
        assert_eq!(of(list), not, "{list}");
    }
    // Both count, and `nohz` is what nohz_full is.
    assert_eq!(faults(&[("/proc/cmdline", "isolcpus=2-3 isolcpus=nohz,managed_irq,2-3")]), []);
}

#[test]
fn a_limit_of_0_is_none_and_the_deepest_state_counts() {
    let deep = |limit| Fault::DeepState {
        cpu: 2,
        state: "C6".into(),
        latency: 133_000,
        limit: Some(limit),
    };
    assert_eq!(faults(&[("CPU/cpu2/power/pm_qos_resume_latency_us", "0")]), [deep(UNLIMITED)]);
    assert_eq!(faults(&[("CPU/cpu2/power/pm_qos_resume_latency_us", "200")]), [deep(200_000)]);
    // A limit of nothing leaves POLL, and a state that is disabled is no danger.
    assert_eq!(faults(&[("CPU/cpu2/power/pm_qos_resume_latency_us", "n/a")]), []);
    assert_eq!(
        faults(&[
            ("CPU/cpu2/power/pm_qos_resume_latency_us", "0"),
            ("CPU/cpu2/cpuidle/state2/disable", "1")
        ]),
        []
    );
    // ladder enters its first rung whatever the limit.
    assert_eq!(
        faults(&[
            ("CPU/cpuidle/current_governor", "ladder"),
            ("CPU/cpu3/power/pm_qos_resume_latency_us", "1")
        ]),
        [Fault::LadderIgnoresLimit { cpu: 3, state: "C1".into(), latency: 2_000 }]
    );
}

#[test]
fn without_isolation_every_cpu_is_looked_at_and_the_worst_stands_first() {
    let list = faults(&[
        ("/proc/cmdline", "quiet"),
        ("CPU/cpu2/power/pm_qos_resume_latency_us", "0"),
        ("CPU/cpu3/power/pm_qos_resume_latency_us", "n/a"),
    ]);
    assert_eq!(list.iter().filter(|f| matches!(f, Fault::DeepState { .. })).count(), 3);
    assert!(matches!(list.last(), Some(Fault::NoneIsolated)));
}

#[test]
fn what_cannot_be_understood_is_named() {
    let mut files = good();
    files.insert("/proc/cmdline".into(), "isolcpus=domain,x-3".into());
    files.insert("/proc/irq/24/smp_affinity_list".into(), "?".into());
    files.remove("/proc/sys/kernel/timer_migration");
    let report = check(&files, Some(&set([2])), 10_000);
    assert_eq!(
        report.unread,
        ["/proc/cmdline: isolcpus=domain,x-3", "/proc/irq/24/smp_affinity_list: ?"]
    );
    assert_eq!(report.missing, ["/proc/sys/kernel/timer_migration"]);
}
