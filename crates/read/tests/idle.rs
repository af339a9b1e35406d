//! Idle states: small texts in every dress, and dumps and traces of real
//! machines with counts that were computed independently.

use dormouse_idle::doubt::Doubt;
use dormouse_idle::snapshot::{Counters, Snapshot};
use dormouse_idle::tally::{Sleeps, Waker};
use dormouse_read::Given;
use dormouse_read::idle::{IdleReading, Keep, read_bytes};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A file of the data beside the repository; `None`, said loudly, without it.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("idle").join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", path.display());
        return None;
    }
    Some(path)
}

pub(crate) fn load(path: &Path) -> Rc<IdleReading> {
    Given::new(&[path.into()]).idle(Keep::Counts).expect("a readable file")
}

/// A trace and the table of states of its machine, two files of one folder.
pub(crate) fn with_table(trace: &str, table: &str) -> Rc<IdleReading> {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.trace"), trace).expect("written");
    std::fs::write(dir.path().join("b.txt"), table).expect("written");
    load(dir.path())
}

pub(crate) fn text(text: &str) -> Vec<Snapshot> {
    read_bytes("text", text.as_bytes()).snapshots
}

#[test]
fn one_dump_in_three_dresses_is_one_dump() {
    let values = [
        ("name", "C1"),
        ("latency", "2"),
        ("residency", "20"),
        ("usage", "7"),
        ("time", "900"),
        ("above", "3"),
        ("below", "1"),
        ("disable", "1"),
    ];
    let path = |a: &str| format!("/sys/devices/system/cpu/cpu12/cpuidle/state1/{a}");
    let grep: String = values.iter().map(|(a, v)| format!("{}:{v}\n", path(a))).collect();
    let below: String = values.iter().map(|(a, v)| format!("{}:\n{v}\n\n", path(a))).collect();
    let head: String =
        values.iter().map(|(a, v)| format!("==> {} <==\n{v}\n\n", path(a))).collect();
    let quoted: String =
        values.iter().map(|(a, v)| format!("> > ./run-1{}:{v}\n", path(a))).collect();
    let first = text(&grep);
    assert_eq!(first.len(), 1);
    let s = &first[0].cpus[&12][&1];
    assert_eq!((s.latency, s.residency, s.disabled), (Some(2), Some(20), Some(true)));
    assert_eq!((s.counters.usage, s.counters.time), (Some(7), Some(900)));
    assert_eq!((s.counters.above, s.counters.below), (Some(3), Some(1)));
    for other in [below, head, quoted] {
        assert_eq!(text(&other)[0].cpus, first[0].cpus, "{other}");
    }
}

#[test]
fn a_value_that_comes_again_is_another_moment() {
    let one = "/sys/devices/system/cpu/cpu0/cpuidle/state0/usage:5\n\
               /sys/devices/system/cpu/cpu0/cpuidle/state0/time:100\n";
    let two = one.replace(":5", ":8").replace(":100", ":90");
    let both = text(&format!("{one}{two}"));
    assert_eq!(both.len(), 2);
    let (grown, backwards) = both[1].since(&both[0]).expect("one CPU is in both");
    assert_eq!(grown.cpus[&0][&0].counters.usage, Some(3));
    assert_eq!(grown.cpus[&0][&0].counters.time, None, "a counter that ran backwards is unknown");
    assert_eq!(backwards, 1);
}

#[test]
fn cpupower_idle_info_is_read() {
    let s = text(
        "CPUidle driver: intel_idle\nCPUidle governor: menu\nanalyzing CPU 3:\n\n\
         Number of idle states: 2\nAvailable idle states: POLL C6\nPOLL:\n\
         Flags/Description: CPUIDLE CORE POLL IDLE\nLatency: 0\nUsage: 4\nDuration: 50\n\
         C6 (DISABLED) :\nFlags/Description: MWAIT 0x20\nLatency: 85\nResidency: 200\n\
         Usage: 9\nDuration: 7000\n",
    );
    assert_eq!(s.len(), 1);
    assert_eq!(
        (s[0].driver.as_deref(), s[0].governor.as_deref()),
        (Some("intel_idle"), Some("menu"))
    );
    let c6 = &s[0].cpus[&3][&1];
    assert_eq!((c6.name.as_deref(), c6.latency, c6.residency), (Some("C6"), Some(85), Some(200)));
    assert_eq!(c6.disabled, Some(true));
    assert_eq!(s[0].cpus[&3][&0].residency, None);
}

#[test]
fn sleeps_of_a_trace_are_counted_and_judged() {
    let table = "cpu0/cpuidle/state0/latency:0\ncpu0/cpuidle/state0/residency:0\n\
                 cpu0/cpuidle/state1/latency:50\ncpu0/cpuidle/state1/residency:100\n";
    let trace = "\
          <idle>-0     [000] d..1.     1.000000: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000100: cpu_idle: state=1 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000180: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d.h1.     1.000190: irq_handler_entry: irq=24 name=eth0\n\
          <idle>-0     [000] d..1.     1.000200: cpu_idle: state=0 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000500: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000600: cpu_idle: state=0 cpu_id=0\n";
    let r = with_table(trace, table);
    assert_eq!(r.snapshots.len(), 1);
    let cpu = &r.traces[0].tally.cpus[&0];
    assert_eq!((cpu.unbegun, cpu.overlaps), (1, 0));
    assert_eq!(cpu.open, Some((0, 1_000_600_000)));
    let (poll, c1) = (&cpu.states[&0], &cpu.states[&1]);
    assert_eq!((poll.entries, poll.time), (1, 300_000));
    assert_eq!((c1.entries, c1.time), (1, 80_000));
    // 80 us are less than 100: too deep, by both rules.
    assert_eq!((c1.above, c1.too_deep, c1.below), (1, 1, 0));
    // 300 us would have paid for state 1.
    assert_eq!((poll.below, poll.too_shallow, poll.above), (1, 1, 0));
    let by: Vec<(&str, u64)> =
        cpu.wakers.iter().map(|(&n, &c)| (&*r.traces[0].wakers[n as usize], c.count)).collect();
    assert_eq!(by, [("irq eth0", 1)]);
}

#[test]
fn what_wakes_cpus_has_a_price_and_the_name_of_its_task() {
    let table = "cpu0/cpuidle/state0/latency:2\ncpu0/cpuidle/state0/residency:2\n\
                 cpu0/cpuidle/state1/latency:50\ncpu0/cpuidle/state1/residency:100\n";
    let trace = "\
          <idle>-0     [000] d..1.     1.000000: cpu_idle: state=1 cpu_id=0\n\
          <idle>-0     [000] d.h1.     1.000400: hrtimer_expire_entry: hrtimer=aa function=hrtimer_wakeup now=1000400000\n\
          <idle>-0     [000] d.h3.     1.000401: sched_waking: comm=pump pid=33 prio=120 target_cpu=000\n\
          <idle>-0     [000] d.h3.     1.000402: sched_waking: comm=other pid=34 prio=120 target_cpu=000\n\
          <idle>-0     [000] d..1.     1.000450: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d..2.     1.000460: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=pump next_pid=33 next_prio=120\n\
            pump-33    [000] d..2.     1.000480: sched_switch: prev_comm=pump prev_pid=33 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
          <idle>-0     [000] d..1.     1.000500: cpu_idle: state=0 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000550: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d.h1.     1.000555: hrtimer_expire_entry: hrtimer=ab function=hrtimer_wakeup now=1000550000\n\
          <idle>-0     [000] d.h3.     1.000556: sched_waking: comm=pump pid=33 prio=120 target_cpu=000\n\
          <idle>-0     [000] d..1.     1.000600: cpu_idle: state=0 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000650: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d..2.     1.000660: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=late next_pid=35 next_prio=120\n\
          <idle>-0     [000] d..1.     1.000700: cpu_idle: state=0 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000750: cpu_idle: state=4294967295 cpu_id=0\n\
          <idle>-0     [000] d..1.     1.000800: cpu_idle: state=0 cpu_id=0\n";
    let r = with_table(trace, table);
    let all = r.traces[0].wakers();
    let said: Vec<_> =
        all.iter().map(|w| (w.name, w.woken.count, w.woken.delay, w.woken.energy)).collect();
    // Between 1,000 and 0 of power the deeper state breaks even at 100 us.
    let expected = [
        (Some("timer hrtimer_wakeup of pump"), 2, 52_000, 100_000_000),
        (None, 1, 2_000, 0),
        (Some("task late"), 1, 2_000, 0),
    ];
    assert_eq!(said, expected);
}

#[test]
fn an_interrupt_that_a_cpu_sends_is_named_by_its_reason() {
    let trace = "\
          <idle>-0     [035] d..1.     1.000000: cpu_idle: state=1 cpu_id=35\n\
            task-9     [000] d..1.     1.000100: ipi_raise: target_mask=00000008,00000001 (Rescheduling interrupts)\n\
          <idle>-0     [035] d.h1.     1.000120: irq_handler_entry: irq=2 name=IPI\n\
          <idle>-0     [035] d..1.     1.000130: cpu_idle: state=4294967295 cpu_id=35\n\
          <idle>-0     [035] d..1.     1.000200: cpu_idle: state=1 cpu_id=35\n\
          <idle>-0     [035] d.h1.     1.000220: irq_handler_entry: irq=2 name=IPI\n\
          <idle>-0     [035] d..1.     1.000230: cpu_idle: state=4294967295 cpu_id=35\n";
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.trace"), trace).expect("written");
    let r = load(dir.path());
    let said: Vec<_> = r.traces[0].wakers().iter().map(|w| (w.name, w.woken.count)).collect();
    assert_eq!(said, [(Some("ipi Rescheduling interrupts"), 1), (Some("irq IPI"), 1)]);
}

/// Holds one trace against the counts of an independent program.
fn agrees(name: &str, sleeps: &Sleeps, truth: &Value) {
    let idle = &truth["idle"];
    let mut pairs = 0;
    let number = |v: &Value, cpu: u32, state: u32| {
        v[cpu.to_string()][state.to_string()].as_i64().unwrap_or(0)
    };
    let object = |v: &Value| v.as_object().map_or(0, serde_json::Map::len);
    for (&cpu, c) in &sleeps.tally.cpus {
        for (&state, s) in &c.states {
            let at = format!("{name}, CPU {cpu}, state {state}");
            assert_eq!(s.entries as i64, number(&idle["pairs"], cpu, state), "{at}: entries");
            assert_eq!(s.time, number(&idle["time_ns"], cpu, state), "{at}: time");
            pairs += s.entries;
            for (said, kind) in [(s.said_above, "above"), (s.said_below, "below")] {
                let want = idle["miss"][cpu.to_string()][format!("{state}/{kind}")].as_u64();
                assert_eq!(said, want.unwrap_or(0), "{at}: {kind}");
            }
        }
        let key = cpu.to_string();
        let unbegun = idle["exit_without_enter"][&key].as_u64().unwrap_or(0);
        assert_eq!(c.unbegun, unbegun, "{name}, CPU {cpu}: unbegun");
        let open = idle["open_at_end"][&key].as_u64();
        assert_eq!(c.open.map(|o| u64::from(o.0)), open, "{name}, CPU {cpu}: open");
        assert_eq!(c.overlaps, idle["enter_while_open"][&key].as_u64().unwrap_or(0));
    }
    assert_eq!(pairs, idle["total_pairs"].as_u64().expect("a total"), "{name}");
    assert_eq!(sleeps.tally.cpus.len(), object(&idle["pairs"]), "{name}: CPUs");
}

#[test]
fn traces_of_real_machines_are_counted_right() {
    let Some(truth) = data("real/truth.json") else { return };
    let truth: Value =
        serde_json::from_str(&std::fs::read_to_string(truth).expect("text")).expect("JSON");
    for name in [
        "mt8196-612sleep.report.txt.gz",
        "s-pixel-listjank.txt.gz",
        "s-trappy-sf.html",
        "s-xiaomi-launcher.txt.gz",
    ] {
        let Some(path) = data(&format!("real/{name}")) else { return };
        let r = load(&path);
        assert_eq!(r.traces.len(), 1, "{name}");
        let truth = &truth[format!("idle/{name}")];
        agrees(name, &r.traces[0], truth);
        assert_eq!(r.traces[0].events, truth["events"].as_u64().expect("events"), "{name}");
        assert_eq!(r.losses.count("damaged_line"), 0, "{name}");
    }
    // The binary form of the first: the same sleeps.
    let Some(path) = data("real/mt8196-612sleep.dat") else { return };
    let text = load(&data("real/mt8196-612sleep.report.txt.gz").expect("beside it"));
    let r = load(&path);
    assert_eq!(r.traces[0].wakers(), text.traces[0].wakers());
    let said = |w: &Waker| w.name == Some("ipi Rescheduling interrupts") && w.woken.count > 11_000;
    assert!(r.traces[0].wakers().iter().any(said));
    agrees("mt8196.dat", &r.traces[0], &truth["idle/mt8196-612sleep.report.txt.gz"]);
}

#[test]
fn dumps_of_real_machines_have_their_states() {
    for (name, cpus, states) in [
        ("mt8196-612sleep-before.txt.gz", 8, 32),
        ("mt8196-612sleep-after.txt.gz", 8, 32),
        ("mt8196-cpuidle_6_6.txt.gz", 8, 32),
        ("mt8196-cpuidle_6_12.txt.gz", 8, 32),
    ] {
        let Some(path) = data(&format!("real/{name}")) else { return };
        let r = load(&path);
        assert_eq!(r.snapshots.len(), 1, "{name}");
        let s = &r.snapshots[0];
        assert_eq!((s.cpus.len(), s.entries()), (cpus, states), "{name}");
        assert_eq!(s.driver.as_deref(), Some("psci_idle"), "{name}");
        for state in s.cpus.values().flat_map(|c| c.values()) {
            assert!(state.residency.is_some() && state.counters.usage.is_some(), "{name}");
        }
        assert_eq!(r.losses.count("unread_value"), 0, "{name}");
    }
}

#[test]
fn the_trace_of_the_chromebook_agrees_with_its_counters() {
    let names = ["before.txt.gz", "after.txt.gz", "report.txt.gz"];
    let mut inputs = Vec::new();
    for n in names {
        let dot = if n.starts_with("report") { "." } else { "-" };
        let Some(path) = data(&format!("real/mt8196-612sleep{dot}{n}")) else { return };
        inputs.push(path);
    }
    let r = Given::new(&inputs).idle(Keep::Counts).expect("readable files");
    let (grown, backwards) = r.snapshots[1].since(&r.snapshots[0]).expect("a pair");
    assert_eq!(backwards, 0);
    let tally = &r.traces[0].tally;
    let (mut said, mut again, mut deep) = ([0, 0], [0, 0], 0);
    for (cpu, c) in &tally.cpus {
        for (state, s) in &c.states {
            said = [said[0] + s.said_above, said[1] + s.said_below];
            again = [again[0] + s.above, again[1] + s.below];
            deep += s.too_deep;
            // The counters were read before the trace began and after it ended.
            let counted = grown.cpus[cpu][state].counters.usage.expect("usage");
            assert!(s.entries <= counted, "CPU {cpu} state {state}: {} > {counted}", s.entries);
        }
    }
    println!("kernel {said:?}, from time stamps {again:?}, too deep by energy {deep}");
    assert_eq!(said.iter().sum::<u64>(), 2_552, "as the trace has cpu_idle_miss");
}

#[test]
fn all_machines_of_the_table_are_read_and_doubted() {
    let Some(path) = data("pepc-cpuidle-tables.csv") else { return };
    let r = load(&path);
    assert!(r.losses.list.is_empty(), "{:?}", r.losses);
    // The file has a line for the head, and machines without cpuidle have none.
    assert_eq!(r.snapshots.len(), 45);
    let doubts = |name: &str| -> Vec<Doubt> {
        let s = r.snapshots.iter().find(|s| s.label == name).expect(name);
        s.classes().iter().flat_map(|c| dormouse_idle::doubt::doubts(&c.states)).collect()
    };
    assert!(doubts("milan0").contains(&Doubt::Multiple { factor: 2 }), "{:?}", doubts("milan0"));
    for s in &r.snapshots {
        let list = doubts(&s.label);
        println!("{:<24}{:<12}{list:?}", s.label, s.driver.as_deref().unwrap_or("-"));
    }
}

#[test]
fn pairs_before_and_after_have_differences() {
    let mut pairs = 0;
    for machine in ["adl0", "bdwup0", "genoa0", "knl0", "milan0", "rpl0", "snr0"] {
        let file = |when| data(&format!("stats-collect/{machine}-sys-cpuidle.{when}.raw.txt.gz"));
        let (Some(before), Some(after)) = (file("before"), file("after")) else { return };
        let (before, after) = (load(&before), load(&after));
        assert_eq!((before.snapshots.len(), after.snapshots.len()), (1, 1), "{machine}");
        let (grown, backwards) =
            after.snapshots[0].since(&before.snapshots[0]).expect("the same CPUs");
        assert_eq!(backwards, 0, "{machine}");
        assert_eq!(grown.cpus.len(), before.snapshots[0].cpus.len(), "{machine}");
        // A miss is a sleep. Over all states: the files of one state are not
        // read at one moment, so genoa0 has a state with 10 sleeps, 11 too short.
        let mut sum = Counters::default();
        grown.cpus.values().flat_map(|c| c.values()).for_each(|s| sum.add(s.counters));
        let misses = sum.above.unwrap_or(0) + sum.below.unwrap_or(0);
        assert!(misses <= sum.usage.expect("usage"), "{machine}: {sum:?}");
        pairs += 1;
    }
    assert_eq!(pairs, 7);
}

#[test]
fn bare_values_of_the_server_are_read_by_their_order() {
    let Some(path) = data("real/oracle-menu-before-after.tar.gz") else { return };
    let r = load(&path);
    // Four workloads, two kernels, before and after.
    assert_eq!(
        r.snapshots.len(),
        16,
        "{:?}",
        r.snapshots.iter().map(|s| &s.label).collect::<Vec<_>>()
    );
    let find = |end: &str| r.snapshots.iter().find(|s| s.label.ends_with(end)).expect(end);
    let before = find("fio/good-kernel/cpuidle_state.before");
    assert_eq!((before.cpus.len(), before.entries()), (64, 256));
    let c6 = &before.cpus[&0][&3];
    assert_eq!((c6.name.as_deref(), c6.latency, c6.residency), (Some("C6"), Some(92), Some(276)));
    assert_eq!((c6.counters.time, c6.counters.usage), (Some(138_291_811), Some(23_041)));
    let (_, backwards) = find("fio/good-kernel/cpuidle_state.after").since(before).expect("a pair");
    assert_eq!(backwards, 0);
}

#[test]
fn whatever_people_post_is_read_or_refused_aloud() {
    let Some(folder) = data("real") else { return };
    let mut with_states = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !(name.starts_with("m-") || name.starts_with("x-") || name.starts_with("ts-")) {
            continue;
        }
        let r = load(&path);
        let cpus: Vec<usize> = r.snapshots.iter().map(|s| s.entries()).collect();
        println!(
            "{name:<34}{cpus:?} {:?}",
            r.losses.list.iter().map(|l| (l.kind, l.count)).collect::<Vec<_>>()
        );
        let said = !r.snapshots.is_empty() || !r.runs.is_empty() || !r.losses.list.is_empty();
        assert!(said, "{name}: silence");
        with_states += usize::from(!r.snapshots.is_empty());
    }
    assert!(with_states >= 9, "{with_states} files with states");
}

#[test]
fn what_cpus_asked_of_the_firmware_is_counted_by_state() {
    let event = |us: u32, cpu: u32, what: &str, state: &str, s2idle: &str| {
        format!(
            "     <idle>-0     [00{cpu}] d..1.    90.{us:06}: psci_domain_idle_{what}: cpu_id={cpu} state=0x{state} is_s2idle={s2idle}\n"
        )
    };
    let idle = |us: u32, cpu: u32, state: &str| {
        format!(
            "     <idle>-0     [00{cpu}] d..1.    90.{us:06}: cpu_idle: state={state} cpu_id={cpu}\n"
        )
    };
    let text = [
        idle(100, 1, "1"),
        event(110, 1, "enter", "40000044", "no"),
        event(310, 2, "enter", "41000053", "yes"),
        event(910, 1, "exit", "40000044", "no"),
        idle(920, 1, "4294967295"),
        event(1_310, 2, "exit", "41000053", "yes"),
        // An exit whose enter is not in the trace, and an enter without exit.
        event(1_400, 3, "exit", "41000053", "no"),
        event(1_500, 1, "enter", "40000044", "no"),
    ]
    .concat();
    let traces = read_bytes("phone", text.as_bytes()).traces;
    let asked: Vec<_> =
        traces[0].asked.iter().map(|(s, a)| (*s, a.count, a.ns, a.s2idle)).collect();
    assert_eq!(asked, [(0x4000_0044, 1, 800_000, 0), (0x4100_0053, 1, 1_000_000, 1)]);
}

proptest::proptest! {
    /// Damage makes losses, never a panic.
    #[test]
    fn damaged_texts_do_not_panic(cut in 0usize..700, at in 0usize..700, byte in 0u8..=255) {
        let seed = "> ./a/sys/devices/system/cpu/cpu0/cpuidle/state1/latency:2 state2/name:C6\n\
            ==> cpu1/cpuidle/state0/usage <==\n99999999999999999999999\n\
            CPUidle driver: none\nanalyzing CPU 1:\nC6 (DISABLED) :\nFlags/Description: x\nLatency: y\n\
            a-1 [000] d..1. 1.000100: cpu_idle: state=1 cpu_id=0\n\
            a-1 [000] d..1. 0.000180: cpu_idle: state=4294967295 cpu_id=0\n\
            a-1 [000] d..1. 0.000190: cpu_idle_miss: cpu_id=7 state=99 type=above\n\
            0\n59\nenabled\nPOLL\n0\n0\nPOLL\n4294967295\n0\n0\n1150\n59\n";
        let mut bytes = seed.as_bytes().to_vec();
        let n = bytes.len();
        bytes[at % n] = byte;
        bytes.rotate_left(cut % n);
        bytes.truncate(n - cut % 50);
        for part in [&bytes[..], &bytes[cut.min(bytes.len())..]] {
            read_bytes("damaged", part);
        }
    }
}

#[test]
fn jasper_lake_before_and_after_the_revert() {
    let mut means = Vec::new();
    for name in ["base", "revert"] {
        let Some(path) = data(&format!("real/ts-jsl61-{name}.txt.gz")) else { return };
        let r = load(&path);
        let run = &r.runs[0];
        let mean = |c| run.mean(c).expect(c);
        println!("{name}: {} intervals, C3ACPI {}", run.intervals.len(), mean("C3ACPI%"));
        means.push((mean("C3ACPI%"), mean("C1ACPI%"), mean("PkgWatt")));
    }
    // With the commit reverted the deepest state is used more, at more power.
    assert!(means[1].0 > means[0].0 && means[1].1 < means[0].1 && means[1].2 > means[0].2);
}

#[test]
fn turbostat_in_mails_is_read_or_named() {
    for (name, runs) in [
        ("ts-rpl-throttle.txt", 1),
        ("ts-perf-on.txt", 1),
        ("m-turbostat-amd7840.txt", 1),
        ("m-turbostat-icl.txt", 1),
    ] {
        let Some(path) = data(&format!("real/{name}")) else { return };
        let r = load(&path);
        assert!(r.runs.len() >= runs, "{name}: {} runs, {:?}", r.runs.len(), r.losses);
    }
}

#[test]
fn the_worse_kernel_of_the_server_is_named_with_its_reason() {
    use dormouse_idle::contrast::{contrast, pairs};
    let Some(path) = data("real/oracle-menu-before-after.tar.gz") else { return };
    let r = load(&path);
    let pairs = pairs(&r.snapshots);
    assert_eq!(pairs.len(), 8);
    let c = contrast(&pairs).expect("two kernels under four workloads");
    assert_eq!(c.sides, ["bad-kernel", "good-kernel"]);
    // Sorted as the archive has them; sums by awk over the same files.
    let names: Vec<&str> = c.workloads.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names.len(), 4);
    let fio = c.workloads.iter().find(|w| w.name == "fio").expect("fio");
    assert_eq!((fio.sides[0].sleeps, fio.sides[0].in_deepest), (2_596_161, 2_455_784));
    assert_eq!((fio.sides[1].sleeps, fio.sides[1].in_deepest), (3_955_565, 3_209_648));
    assert_eq!((fio.sides[0].too_deep, fio.sides[1].too_deep), (573_713, 856_764));
    // The bad kernel takes C6 where the good one takes C1E, whatever runs.
    assert_eq!(c.slower(), Some(0));
    for w in &c.workloads {
        let share = |s: usize| w.sides[s].in_deepest * 1_000 / w.sides[s].sleeps;
        println!("{:<18} C6 {} and {} thousandths of sleeps", w.name, share(0), share(1));
        assert!(share(0) > share(1), "{}", w.name);
    }
}

#[test]
fn a_state_for_suspend_to_idle_alone_misleads_teo_of_6_12() {
    use dormouse_idle::energy::Powers;
    use dormouse_idle::governors::{Kind, Version};
    use dormouse_idle::predict::{Account, Setup, Timers, replay};
    use dormouse_idle::state::StateSet;
    use dormouse_idle::wake::wakes;
    let Some(trace) = data("real/mt8196-612sleep.report.txt.gz") else { return };
    let Some(dump) = data("real/mt8196-612sleep-before.txt.gz") else { return };
    let inputs = [trace, dump];
    let r = Given::new(&inputs).idle(Keep::Episodes).expect("readable files");
    let tables = dormouse_read::idle::tables(&r.snapshots);
    // Thousandths of idle time in WFI, on the same wake-ups.
    let shallow = |version, s2idle_counts: bool| {
        let mut all = Account::default();
        for (cpu, episodes) in &r.traces[0].episodes {
            let (table, disabled) = &tables[cpu];
            let disabled = if s2idle_counts { StateSet::NONE } else { *disabled };
            let setup = Setup {
                table,
                disabled,
                limit: 2_000_000_000_000,
                tick: 4_000_000,
                kind: Kind::Teo,
                version,
                periodic: false,
                oracles: true,
                draw: 0,
            };
            let powers = Powers::assumed(table, disabled);
            all.add(&replay(&wakes(episodes, table), &setup, Timers::Recorded, &powers));
        }
        all.states[0].time * 1_000 / all.time()
    };
    let [without, with] = [false, true].map(|s| shallow(Version::V6_12, s));
    let newer = shallow(Version::V7_2, true);
    let older = shallow(Version::V6_1, true);
    println!(
        "WFI, thousandths of idle time: 6.12 {without}, with s2idle as a candidate {with}, 7.2 {newer}, 6.1 {older}"
    );
    // 6.1 never looks at a state that the next timer does not ask for.
    assert!(older < with, "{older} {with}");
    // With a deepest state that no sleep can pay for, hits of the others count
    // against it: any early wake-up is a majority, and WFI is taken.
    assert!(without < 50 && with > 400 && newer < with, "{without} {with} {newer}");
    // The dumps of that machine since boot: WFI alone on 6.12, and refusals.
    for (name, mostly) in [("6_6", false), ("6_12", true)] {
        let Some(path) = data(&format!("real/mt8196-cpuidle_{name}.txt.gz")) else { return };
        let s = &load(&path).snapshots[0];
        let sum = |f: fn(&Counters) -> Option<u64>, wanted: fn(u32) -> bool| -> u64 {
            let states = s.cpus.values().flatten().filter(|(i, _)| wanted(**i));
            states.filter_map(|(_, s)| f(&s.counters)).sum()
        };
        let wfi = sum(|c| c.time, |i| i == 0) * 1_000 / sum(|c| c.time, |_| true);
        let s2idle = sum(|c| c.rejected, |i| i == 3);
        println!("{name}: WFI {wfi} thousandths, s2idle refused {s2idle} times");
        assert_eq!((wfi > 990, s2idle > 10_000), (mostly, mostly), "{name}");
    }
}

#[test]
fn tables_of_old_turbostats_and_of_cpupower_monitor_are_read() {
    let runs = |text: &str| {
        let r = read_bytes("t", text.as_bytes());
        assert_eq!(r.losses.count("unread_line"), 0, "{:?}", r.losses);
        r.runs
    };
    // 2013: blanks stand for places in the line of the machine.
    let old = "pk cor CPU    %c0  GHz  TSC    %c1    %c3    %c6   %pc3   %pc6\n\
               \x20              0.10 1.30 2.60   1.90   0.00  98.00   0.00  97.00\n\
               \x200   0   0   0.20 1.20 2.60   1.80   0.00  98.00   0.00  97.00\n\
               \x200   1   1   0.00 1.40 2.60   2.00   0.00  98.00\n";
    let r = &runs(old)[0];
    assert_eq!((r.intervals.len(), r.intervals[0].cpus.len()), (1, 2));
    assert_eq!((r.mean("Busy%"), r.mean("Pkg%pc6")), (Some(100), Some(97_000)));
    // 2014: other names.
    let v4 = "     CPU Avg_MHz   %Busy Bzy_MHz TSC_MHz  CPU%c1  Pkg_W\n\
              \x20      -       3    0.10    2800    2400   99.90   5.25\n\
              \x20      0       3    0.10    2800    2400   99.90   5.25\n";
    let r = &runs(v4)[0];
    assert_eq!((r.mean("Busy%"), r.mean("PkgWatt")), (Some(100), Some(5_250)));
    // A message of the kernel between lines, a counter that could not be read, a
    // column less; summaries alone (-S) are intervals.
    let mixed = "[    1.5] usb 1-1: new device\nturbostat version 2023.11.07\n\
                 Core\tCPU\tBusy%\tBzy_MHz\tTSC_MHz\tPkgWatt\n-\t-\t1.00\t900\t2400\t3.10\n\
                 0\t0\t1.50\t900\t2400\t3.10\n[   12.5] usb 1-1: gone\n1\t1\t0.50\t900\t2400\t3.00\n\
                 Core\tCPU\tBusy%\tBzy_MHz\tTSC_MHz\tPkgWatt\n-\t-\t2.00\t****\t2400\t3.30\n";
    let r = &runs(mixed)[0];
    assert_eq!(r.intervals.len(), 2);
    assert_eq!(
        (r.intervals[0].cpus.len(), r.mean("Busy%"), r.mean("PkgWatt")),
        (2, Some(1_500), Some(3_200))
    );
    let summary = "Busy% Bzy_MHz TSC_MHz PkgWatt\n1.00 900 2400 3.00\n2.00 900 2400 3.10\n";
    assert_eq!(runs(summary)[0].intervals.len(), 2);
    // Without a column for CPUs, a line that ends early tells that they are there;
    // some versions print the last two names as one.
    let few = "CPU%c1 CPU%c6 Pkg%pc8 Pkg%pc9Pk%pc10\n1.5 90 10 0 70\n1.4 91 10 0 70\n1.6\n";
    let r = &runs(few)[0];
    assert_eq!(
        (r.intervals.len(), r.intervals[0].cpus.len(), r.mean("Pk%pc10")),
        (1, 2, Some(70_000))
    );
    let monitor = "              | Nehalem     || Mperf              || Idle_Stats\n\
                   \x20PKG|CORE| CPU| C3   | PC6  || C0   | Cx   | Freq || POLL | C6\n\
                   \x20  0|   0|   0|  1.00|  4.00|| 80.00| 20.00|  2776||  0.02| 13.90\n\
                   \x20  0|   1|   1|  3.00|  6.00|| 10.00| 90.00|  2673||  0.04| 88.70\n";
    let r = &runs(monitor)[0];
    assert_eq!(
        (r.mean("Busy%"), r.mean("C6%"), r.mean("Pkg%pc6")),
        (Some(45_000), Some(51_300), Some(5_000))
    );
}

#[test]
fn cpupower_names_the_driver_before_each_cpu() {
    let one = |cpu: u32, usage: u32| {
        format!(
            "CPUidle driver: intel_idle\nCPUidle governor: menu\nanalyzing CPU {cpu}:\n\n\
             Number of idle states: 2\nAvailable idle states: POLL C1\nPOLL:\n\
             Flags/Description: CPUIDLE CORE POLL IDLE\nLatency: 0\nUsage: {usage}\nDuration: 7\n\
             C1 (DISABLED) :\nFlags/Description: MWAIT 0x00\nLatency: 2\nUsage: 9\nDuration: 8\n\n"
        )
    };
    let s = text(&(one(0, 3) + &one(1, 4)));
    assert_eq!(s.len(), 1);
    assert_eq!(s[0].cpus[&1][&0].counters.usage, Some(4));
    assert_eq!((s[0].cpus[&0].len(), s[0].cpus[&0][&1].disabled), (2, Some(true)));
    // The same CPU again is another moment, and another table after other words too.
    assert_eq!(text(&(one(0, 3) + &one(0, 5))).len(), 2);
    assert_eq!(text(&(one(0, 3) + "With the patch applied\n" + &one(1, 5))).len(), 2);
    let old = "CPU 0:\nactive state: C0\nstates:\n    C1:                  type[C1] \
               promotion[--] demotion[--] latency[001] usage[00000219] duration[00000000000000013370]\n";
    let s = text(old);
    let c = s[0].cpus[&0][&0].counters;
    assert_eq!((c.usage, c.time, s[0].cpus[&0][&0].latency), (Some(219), Some(13_370), Some(1)));
}

#[test]
fn tables_with_other_names_are_no_pair() {
    let dump = |name: &str, usage: u32| {
        let path = "/sys/devices/system/cpu/cpu0/cpuidle/state1";
        text(&format!("{path}/name:{name}\n{path}/usage:{usage}\n")).remove(0)
    };
    assert!(dump("C1", 5).since(&dump("C1", 2)).is_ok());
    assert!(dump("C1E", 5).since(&dump("C1", 2)).is_err());
}

#[test]
fn tables_of_corefreq_are_read_in_both_layouts() {
    let bars = "Index     |1      |2      |3      \nState     |POLL   |C1     |C8     \n\
                \x20         |CPUIDLE| SKL-C1| SKL-C8\nPower     |     -1|      0|      0\n\
                Latency   |      0|      2|    200\nResidency |      0|      2|    800\n";
    let blanks = "  |- Idle driver                [intel_idle]\n     |- States:         POLL    C1      C8\n\
                  \x20    |- Power:          -1      0       0\n     |- Latency:        0       2       200\n\
                  \x20    |- Residency:      0       2       800\n";
    for dressed in [bars, blanks] {
        let s = text(dressed);
        let states = &s[0].cpus[&0];
        let figures: Vec<_> = states.values().map(|s| (s.latency, s.residency)).collect();
        let want = [(0, 0), (2, 2), (200, 800)].map(|(l, r)| (Some(l), Some(r)));
        assert_eq!(figures, want, "{dressed}");
        assert_eq!(states[&2].name.as_deref(), Some("C8"));
    }
    assert_eq!(text(blanks)[0].driver.as_deref(), Some("intel_idle"));
    let r = read_bytes("t", bars.replace("|    800", "").as_bytes());
    assert_eq!(r.losses.count("unread_line"), 1);
}
