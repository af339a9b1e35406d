//! Idle states as mails bring them: wrapped, cut, two of a kind, an excerpt.

use super::idle::{data, load, text};
use dormouse_idle::turbostat::Unentered;
use dormouse_read::idle::read_bytes;

#[test]
fn turbostat_is_read_and_what_does_not_fit_is_counted() {
    let text = "turbostat version 1\n\
        Core\tCPU\tAvg_MHz\tBusy%\tC1\tC1%\tCPU%c6\tPkg%pc2\tPkgWatt\tMSR\n\
        -\t-\t10\t1.50\t20\t2.25\t90.00\t44.10\t6.08\t0x01\n\
        0\t0\t10\t1.50\t20\t2.25\t90.00\t44.10\t6.08\t0x01\n\
        0\t1\t10\t1.50\t20\t2.25\n\
        1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\n";
    let r = read_bytes("t", text.as_bytes());
    assert_eq!((r.runs.len(), r.losses.count("unread_line")), (1, 1));
    let run = &r.runs[0];
    assert_eq!((run.intervals.len(), run.intervals[0].cpus.len()), (1, 2));
    assert_eq!(
        (run.mean("C1%"), run.sum("C1"), run.mean("PkgWatt")),
        (Some(2_250), Some(20), Some(6_080))
    );
    assert_eq!((run.states(), run.package_states()), (vec!["C1%"], vec!["Pkg%pc2"]));
    // The same wrapped by a mail client: the machine's line is joined.
    let wrapped = "> Core CPU Avg_MHz Busy% TSC_MHz C1%\n> CPU%c6 Pkg%pc2 PkgWatt\n\
        > - - 10 1.50 20 2.25\n> 90.00 44.10 6.08\n> 0 0 10 1.50 20 2.25\n> 90.00 44.10 6.08\n";
    let r = read_bytes("w", wrapped.as_bytes());
    assert_eq!((r.runs.len(), r.runs[0].intervals.len()), (1, 1));
    assert_eq!(r.runs[0].mean("PkgWatt"), Some(6_080));
    // A share that cannot be is named and left out; several are columns that moved.
    let odd = text.replace("2.25\t90.00", "2.25\t190.00");
    let r = read_bytes("o", odd.as_bytes());
    assert_eq!(r.losses.count("impossible_column"), 1, "{:?}", r.losses);
    assert_eq!((r.runs[0].mean("CPU%c6"), r.runs[0].mean("PkgWatt")), (None, Some(6_080)));
    assert_eq!(r.runs[0].cannot.get("CPU%c6"), Some(&190_000));
    let moved = odd.replace("44.10", "659.00");
    let r = read_bytes("o", moved.as_bytes());
    assert_eq!((r.runs.len(), r.losses.count("impossible_line")), (0, 3));
    // Words about it are no table.
    let r = read_bytes("n", b"Busy% and PkgWatt and CPU%c6 are columns.\nThey matter.\n");
    assert_eq!(r.runs.len(), 0);
}

/// Kinds of damage that mails do to tables, each on a table of its own.
#[test]
fn tables_of_mails_are_joined_parted_and_told_apart() {
    let read = |text: &str| read_bytes("m", text.as_bytes());
    let means = |text: &str, column: &str| -> Vec<Option<i64>> {
        read(text).runs.iter().map(|r| r.mean(column)).collect()
    };
    // Broken at another column than the head, CPUs that end early.
    let broken = "| Mail:\n> > Core CPU Avg_MHz Busy% Bzy_MHz IRQ C1 C6\n> > CPU%c1 CPU%c6 Pkg%pc6 PkgWatt\n\
        > > - - 21 1.75 1200 90 4 80 3.25\n> > 95.00 70.00 1.50\n> > 0 0 30 2.50 1200 50 2 40 4.50\n\
        > > 93.00 70.00 1.50\n> > 1 1 12 1.00 1200 40 2 40 2.00\n> > 97.00\n";
    let r = read(broken);
    assert_eq!((r.runs.len(), r.losses.list.len()), (1, 0), "{:?}", r.losses);
    let run = &r.runs[0];
    assert_eq!((run.intervals.len(), run.intervals[0].cpus.len()), (1, 2));
    assert_eq!((run.mean("CPU%c6"), run.busiest()), (Some(95_000), Some((0, 2_500))));
    assert_eq!(run.intervals[0].cpus[1].get("CPU%c6"), Some(&97_000));
    // Words part measurements, with the same head or without one; a message does not.
    let table = "Busy% Bzy_MHz PkgWatt CPU%c6\n";
    let two = format!("On battery\n\n{table}1.00 900 2.00 95.00\nOn mains:\n3.00 900 4.00 90.00\n");
    assert_eq!(means(&two, "PkgWatt"), [Some(2_000), Some(4_000)]);
    let captions: Vec<_> = read(&two).runs.iter().map(|r| r.caption.clone()).collect();
    assert_eq!(captions, [Some("On battery".into()), Some("On mains".into())]);
    for between in ["\n", "[  31.5] usb 2-1: reset\n", "", table] {
        let one = format!("{table}1.00 900 2.00 95.00\n{between}3.00 900 4.00 90.00\n");
        assert_eq!(means(&one, "PkgWatt"), [Some(3_000)], "{between}");
    }
    let prompt = format!("{table}1.00 900 2.00 95.00\n$ turbostat\n{table}3.00 900 4.00 90.00\n");
    assert_eq!(means(&prompt, "PkgWatt").len(), 2);
    // A reply in the middle of a table does not end it.
    let cpus =
        "CPU Busy% Bzy_MHz PkgWatt\n- 2.00 900 3.00\n0 1.00 900 3.00\nWhy so much?\n1 3.00 900\n";
    let r = read(cpus);
    assert_eq!((r.runs.len(), r.runs[0].intervals[0].cpus.len()), (1, 2));
    assert_eq!(r.runs[0].busiest(), Some((1, 3_000)));
    // No bound is told over lines that were lost, left out or not shown.
    for damage in ["1 3.00 900\n", "1 3.00900 2\n", "...\n"] {
        let r = read(&cpus.replace("Why so much?\n1 3.00 900\n", damage));
        assert_eq!(r.runs[0].busiest().is_some(), damage.starts_with("1 3.00 "), "{damage}");
    }
    // Means are rounded: 1.005 and 1.00 and 1.00.
    let r = read("Busy% Bzy_MHz PkgWatt\n1.00 9 1.01\n1.00 9 1.00\n1.00 9 1.00\n");
    assert_eq!(r.runs[0].mean("PkgWatt"), Some(1_003));
    // Tables of cpupower monitor with words between them, in a locale with commas.
    let monitor = "Idle:\n    || Idle_Stats\n CPU|| WFI  | ret  \n   0||  1,25| 97,50\n\
        Playing:\n    || Idle_Stats\n CPU|| WFI  | ret  \n   0||  9,75| 80,00\n   1|| 10,25|  x\n";
    assert_eq!(means(monitor, "WFI%"), [Some(1_250), Some(9_750)]);
    assert_eq!(read(monitor).runs[1].lost, 1);
    assert_eq!(read(monitor).runs[0].states(), ["WFI%", "ret%"]);
}

/// Traces as people cut, quote and put them together.
#[test]
fn traces_of_mails_are_read_parted_and_counted_once() {
    let event = |cpu: u32, time: &str, state: &str| {
        format!("[{cpu:03}] d..1.  {time}: cpu_idle: state={state} cpu_id={cpu}\n")
    };
    let awake = "4294967295";
    let sleeps = |text: &str| -> Vec<u64> {
        read_bytes("t", text.as_bytes()).traces.iter().map(|t| t.tally.sleeps()).collect()
    };
    let one = event(5, "80.100000", "2") + &event(5, "80.103000", awake);
    // Without the column of the task; in the kernel's log, with and without a caller.
    assert_eq!(sleeps(&one), [1]);
    for caller in ["", "[    C5]", "[  T812]"] {
        let log = format!(
            "[   80.100000]{caller} cpu_idle: state=2 cpu_id=5\n[   80.103000]{caller} cpu_idle: state={awake} cpu_id=5\n\
             [   80.104000]{caller} usb 1-1: new device: a=b\n"
        );
        assert_eq!(sleeps(&log), [1], "{caller}");
    }
    // A line twice, and lines again in a reply.
    let t = &read_bytes("t", format!("{one}{one}").as_bytes()).traces[0].tally;
    assert_eq!(
        (t.sleeps(), t.cpus[&5].overlaps, t.cpus[&5].unbegun, t.cpus[&5].repeated),
        (1, 0, 0, 2)
    );
    // Another recording: a prompt, or words and a long pause; words alone part nothing.
    let later = event(5, "80.104000", "2") + &event(5, "80.109000", awake);
    let much_later = event(5, "3680.0000", "2") + &event(5, "3680.001000", awake);
    assert_eq!(sleeps(&format!("{one}Here it goes on:\n{later}")), [2]);
    assert_eq!(sleeps(&format!("{one}$ cat trace\n{later}")), [1, 1]);
    assert_eq!(sleeps(&format!("{one}root@box:~# cat trace\n{later}")), [1, 1]);
    assert_eq!(sleeps(&format!("{one}# cat trace\n{later}")), [1, 1]);
    assert_eq!(sleeps(&format!("{one}An hour later:\n{much_later}")), [1, 1]);
    assert_eq!(sleeps(&format!("{one}{much_later}")), [2]);
    // States behind the trace are those of its CPUs, quoted or not.
    let table = "/sys/devices/system/cpu/cpu5/cpuidle/state";
    let states: String = [(0, 0, 0), (1, 2, 2), (2, 300, 4_000)]
        .iter()
        .map(|(i, l, r)| format!("> {table}{i}/latency:{l}\n> {table}{i}/residency:{r}\n"))
        .collect();
    let r = read_bytes("t", format!("{one}\n{states}").as_bytes());
    let s = &r.traces[0].tally.cpus[&5].states[&2];
    assert_eq!((s.above, s.time_of), (1, [3_000_000, 0]));
}

#[test]
fn an_excerpt_is_not_the_machine() {
    use dormouse_idle::tally::Coverage;
    let event = |cpu: u32, at: u32| {
        format!("<idle>-0 [{cpu:03}] d..1. 5.{at:06}: cpu_idle: state=1 cpu_id={cpu}\n")
    };
    let coverage = |head: &str, cpus: &[u32]| {
        let text: String = cpus.iter().map(|c| event(*c, *c)).collect();
        let exits = text.replace("state=1", "state=4294967295").replace(" 5.", " 6.");
        read_bytes("t", format!("{head}{text}{exits}").as_bytes()).traces[0].coverage()
    };
    assert_eq!(coverage("", &[0, 1]), Coverage::Unknown);
    assert_eq!(coverage("", &[0, 2]), Coverage::Part(3));
    assert_eq!(
        coverage("# entries-in-buffer/entries-written: 4/4   #P:2\n", &[0, 1]),
        Coverage::Machine
    );
    assert_eq!(
        coverage("# entries-in-buffer/entries-written: 4/4   #P:48\n", &[0, 1]),
        Coverage::Part(48)
    );
    assert_eq!(coverage("cpus=2\n", &[0, 1]), Coverage::Machine);
}

#[test]
fn listings_in_halves_are_one_table_and_counters_that_come_again_two() {
    let line = |state: u32, what: &str, value: &str| {
        format!("/sys/devices/system/cpu/cpu9/cpuidle/state{state}/{what}:{value}\n")
    };
    let names = line(0, "name", "WFI") + &line(1, "name", "ret");
    let usage = line(0, "usage", "7") + &line(1, "usage", "9");
    let time = line(0, "time", "70") + &line(1, "time", "900");
    let halves = text(&format!("{names}{usage}and then\n{names}{time}"));
    assert_eq!(halves.len(), 1);
    let ret = &halves[0].cpus[&9][&1];
    assert_eq!((ret.counters.usage, ret.counters.time), (Some(9), Some(900)));
    // The counters come again: another moment, whose names are those above.
    let moments =
        text(&format!("{names}{usage}{time}later\n{names}{}", usage.replace(":9", ":12")));
    assert_eq!(moments.len(), 2);
    let ret = &moments[1].cpus[&9][&1];
    assert_eq!(
        (ret.name.as_deref(), ret.counters.usage, ret.counters.time),
        (Some("ret"), Some(12), None)
    );
    // Another name: another machine.
    assert_eq!(text(&format!("{names}{usage}{}{time}", names.replace("ret", "off"))).len(), 2);
}

/// Mail programs put U+00A0 for a blank.
#[test]
fn paths_begin_behind_any_blank() {
    let of = |blank: &str| {
        let line = |n: u32, what: &str, value: &str| {
            format!("${blank}cat{blank}cpu0/cpuidle/state{n}/{what}:{value}\n")
        };
        let state = |n| [line(n, "name", "C1"), line(n, "usage", "7"), line(n, "time", "90")];
        let text: String = [0, 1].into_iter().flat_map(state).collect();
        read_bytes("t", text.as_bytes()).snapshots
    };
    assert_eq!(of("\u{a0}"), of(" "));
    assert_eq!(of(" ").len(), 1);
}

#[test]
fn polling_is_no_work_and_a_counter_at_zero_says_nothing() {
    let run = |text: &str| read_bytes("p", text.as_bytes()).runs.remove(0);
    let r =
        run("Busy% POLL% C1% C6% CPU%c1 PkgWatt RAMWatt\n80.00 75.00 5.00 14.00 9.00 0.00 1.00\n");
    assert_eq!((r.polled(), r.work()), (Some(75_000), Some(5_000)));
    assert_eq!((r.power(), r.not_reported()), (None, vec!["PkgWatt"]));
    // A table whose shares add up with polling beside the work.
    let r = run(
        "    || Mperf || Idle_Stats\n CPU| C0 | Cx || POLL | C1\n 0| 30.00| 70.00|| 20.00| 50.00\n",
    );
    assert_eq!((r.polled(), r.work()), (None, Some(30_000)));
}

#[test]
fn watts_of_states_are_told_only_where_they_can_be() {
    use dormouse_idle::turbostat::{NotTold, watts};
    // 20 W at work, 5 W in C1, 1 W in C6, a little noise.
    let table = |noise: fn(i64) -> i64| {
        let mut text = String::from("CPU Busy% C1% C6% PkgWatt Avg_MHz\n");
        for i in 0..24i64 {
            let (busy, c1) = (i * 7 % 24, i * 5 % 31);
            let c6 = 100 - busy - c1;
            let mw = 200 * busy + 50 * c1 + 10 * c6 + noise(i);
            text += &format!("- {busy} {c1} {c6} {}.{:03} 1\n", mw / 1_000, mw % 1_000);
        }
        let r = read_bytes("t", text.as_bytes());
        watts(&r.runs[0])
    };
    let told = table(|i| i % 3 * 10).expect("told");
    let near = |c: &str, w: f64| {
        let found = told.watts.iter().find(|t| t.0 == c).expect(c).1;
        assert!((found - w).abs() < 0.1, "{c}: {found}");
    };
    near("Busy%", 20.0);
    near("C1%", 5.0);
    near("C6%", 1.0);
    assert!(told.error < 0.02 && told.error_of_mean > 1.0, "{told:?}");
    // Power that has nothing to do with the shares.
    assert!(table(|i| 1_000_000 + i * 7_919 % 104_729 * 900).is_err());
    // All of it in every interval of an idle machine: nothing to tell.
    for name in ["adl0", "bdwup0", "genoa0", "knl0", "milan0", "snr0"] {
        let Some(path) = data(&format!("stats-collect/{name}-turbostat.raw.txt.gz")) else {
            return;
        };
        let r = load(&path);
        assert_eq!(r.losses.count("unread_line"), 0, "{name}");
        let run = &r.runs[0];
        assert!(run.intervals.len() >= 23, "{name}: {}", run.intervals.len());
        let answer = watts(run);
        println!("{name}: {answer:?}");
        assert_eq!(answer, Err(NotTold::NoVariation), "{name}");
    }
}

/// A shell that stands in the folder of a CPU prints names without it.
#[test]
fn a_prompt_names_the_cpu_of_what_follows() {
    let states = "state0/name:WFI\nstate0/usage:40\nstate0/time:9000\n";
    let cpus = |text: &str| -> Vec<u32> {
        let r = read_bytes("m", text.as_bytes());
        assert_eq!(r.losses.count("unnamed_cpu"), 0, "{:?}", r.losses);
        r.snapshots.iter().flat_map(|s| s.cpus.keys().copied()).collect()
    };
    let prompt = "root@box:/sys/devices/system/cpu/cpu5/cpuidle# grep . state0/{name,usage,time}\n";
    assert_eq!(cpus(&format!("{prompt}{states}")), [5]);
    assert_eq!(cpus(&format!("$ cd /sys/devices/system/cpu/cpu3/cpuidle\n{states}")), [3]);
    let r = read_bytes("m", states.as_bytes());
    assert_eq!(r.losses.count("unnamed_cpu"), 3);
}

#[test]
fn lines_below_one_measurement_are_of_cpus_and_no_intervals() {
    let head = "CPU%c1\tCPU%c7\tPkg%pc2\tPk%pc10\n";
    let rows = "1.00\t80.00\t9.00\t70.00\n1.20\t70.00\t9.00\t70.00\n0.80\t90.00\t9.00\t70.00\n";
    let of = |text: &str| {
        let r = read_bytes("t", text.as_bytes());
        let run = &r.runs[0];
        (run.intervals.len(), run.mean("CPU%c7"), run.intervals[0].cpus.len())
    };
    // turbostat says how long a command ran above the one table of it.
    assert_eq!(of(&format!("21.500000 sec\n{head}{rows}")), (1, Some(80_000), 2));
    // CPUs of one package have the same counters of it at one moment.
    assert_eq!(of(&format!("{head}{rows}")), (1, Some(80_000), 2));
    let apart = rows.replacen("9.00\t70.00", "8.00\t71.00", 1);
    assert_eq!(of(&format!("{head}{apart}")), (3, Some(80_000), 0));
}

#[test]
fn that_there_are_no_states_is_an_answer() {
    let absent = |text: &str| read_bytes("t", text.as_bytes()).absent;
    let info = "$ cpupower idle-info\nCPUidle driver: none\nCPUidle governor: ladder\n\
        analyzing CPU 2:\n\nCPU 2: No idle states\n";
    let found = absent(info);
    assert_eq!((found.len(), found[0].cpu, found[0].line), (1, Some(2), 6), "{found:?}");
    assert_eq!(found[0].governor.as_deref(), Some("ladder"));
    // Beside the table of another machine.
    let good = "CPUidle driver: acpi_idle\nCPUidle governor: menu\nanalyzing CPU 0:\n\n\
        Number of idle states: 2\nAvailable idle states: POLL C1\nPOLL:\n\
        Flags/Description: CPUIDLE CORE POLL IDLE\nLatency: 0\nUsage: 5\nDuration: 7\n";
    let both = read_bytes("t", format!("They have:\n{good}\nI have:\n{info}").as_bytes());
    assert_eq!((both.snapshots.len(), both.absent.len()), (1, 1));
    assert!(absent(good).is_empty());
    for none in [
        "cat: /sys/devices/system/cpu/cpu3/cpuidle/state0/name: No such file or directory\n",
        "ls: cannot access '/sys/devices/system/cpu/cpu3/cpuidle': No such file or directory\n",
        "$ ls /sys/devices/system/cpu/cpu3\ncache    crash_notes  online  topology\nuevent\n",
        "$ cat /sys/devices/system/cpu/cpuidle/current_driver\nnone\n",
        "FAIL: no CPUs with cpuidle were found\n",
    ] {
        assert_eq!(absent(none).len(), 1, "{none}");
    }
    for other in [
        "$ ls /sys/devices/system/cpu/cpu3\ncache  cpuidle  crash_notes  online  topology\n",
        // Cut before the place where it would stand.
        "$ ls -1 /sys/devices/system/cpu/cpu3\ncache\ncpu_capacity\ncpufreq\n...\n",
        "$ cat /sys/devices/system/cpu/cpuidle/current_driver\nintel_idle\n",
        "cat: /sys/devices/system/cpu/cpu0/cpuidle/state7/name: No such file or directory\n",
    ] {
        assert!(absent(other).is_empty(), "{other}");
    }
}

#[test]
fn a_table_that_a_page_drew_with_bars_is_one() {
    let text = "| CPU | C1% | C6% | CPU%c1 | CPU%c6 |\n|:---:|---|---|---|---|\n\
        | 0 | 4.00 | 90.00 | 80.00 | 10.00 |\n| 1 | 6.00 | 70.00 | 84.00 | 8.00 |\n";
    let r = read_bytes("t", text.as_bytes());
    // No line is of the machine: it is the mean of its CPUs.
    assert_eq!((r.runs.len(), r.runs[0].mean("C6%")), (1, Some(80_000)));
    let n = r.runs[0].not_followed().expect("hardware stays shallow");
    assert_eq!((n.deep(), n.asked), (9_000, ("C6".into(), 80_000)));
}

#[test]
fn what_the_kernel_asks_for_is_not_what_hardware_does() {
    let run = |c6: &str, hw1: &str, hw6: &str| {
        let text = format!(
            "Core\tCPU\tBusy%\tC1%\tC6%\tCPU%c1\tCPU%c6\n-\t-\t2.00\t3.00\t{c6}\t{hw1}\t{hw6}\n\
             0\t0\t2.00\t3.00\t{c6}\t{hw1}\t{hw6}\n"
        );
        read_bytes("t", text.as_bytes()).runs[0].not_followed()
    };
    assert!(run("94.00", "90.00", "7.00").is_some());
    assert!(run("94.00", "20.00", "77.00").is_none());
    assert!(run("94.00", "0.00", "0.00").is_none(), "nothing was counted");
    assert!(run("9.00", "97.00", "0.50").is_none(), "hardly asked for");
}

#[test]
fn a_state_that_idle_cpus_never_enter_is_named() {
    let text = "Core\tCPU\tBusy%\tPOLL\tC1\tC2\tPOLL%\tC1%\tC2%\n\
        -\t-\t3.00\t0\t700\t0\t0.00\t96.80\t0.00\n0\t0\t3.00\t0\t700\t0\t0.00\t96.80\t0.00\n";
    let r = read_bytes("t", text.as_bytes());
    let unentered = Unentered { used: "C1".into(), next: "C2".into(), idlest: None };
    assert_eq!(r.runs[0].unentered(), Some(unentered));
    let busy = text.replace("3.00", "98.00").replace("96.80", "1.80");
    assert_eq!(read_bytes("t", busy.as_bytes()).runs[0].unentered(), None);
    // What the text says of a limit is kept with its line.
    let asked = format!("Asking for a QoS of 40 us:\n{text}");
    assert_eq!(read_bytes("t", asked.as_bytes()).limits.len(), 1);
}

#[test]
fn a_table_is_called_by_the_nearest_line_above_it_and_knows_who_quotes_it() {
    let table = "Core\tCPU\tBusy%\tCPU%c7\tPk%pc10\tPkgWatt\n-\t-\t1.00\t97.00\t80.00\t0.90\n\
        0\t0\t1.00\t97.00\t80.00\t0.90\n";
    for (first, second) in [("5.10.3:", "5.11.0:"), ("OLD:", "NEW:"), ("v5.10.3", "v5.11.0")] {
        let text =
            format!("Since the last update it is warm.\n\n{first}\n{table}\n{second}\n{table}");
        let r = read_bytes("t", text.as_bytes());
        let all: Vec<&str> = r.runs.iter().filter_map(|r| r.caption.as_deref()).collect();
        assert_eq!(all, [first.trim_end_matches(':'), second.trim_end_matches(':')]);
    }
    let quoted: String = table.lines().map(|l| format!("> {l}\n")).collect();
    let text = format!("> On my box it is so:\n{quoted}\nMine on another CPU:\n\n{table}");
    let r = read_bytes("t", text.as_bytes());
    let all: Vec<usize> = r.runs.iter().map(|r| r.quotes).collect();
    assert_eq!(all, [1, 0]);
    let both = dormouse_idle::beside::just_two(&r.runs, &[], &[], false).expect("two");
    assert!(both.of_two_writers);
}
