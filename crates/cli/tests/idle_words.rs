//! What the screens of idle states say is true.

use super::reality::data;
use super::screens::{SLEEPS, STATES};
use super::words::{said, words};
use crate::ran::root;

/// The number in the column that ends at `end`, of the line that begins with `title`.
fn cell(text: &str, title: &str, end: usize) -> f64 {
    let line = text.lines().find(|l| l.starts_with(title));
    let line = line.unwrap_or_else(|| panic!("{title}: {text}"));
    let word = line.get(..end).unwrap_or(line).split_whitespace().last().expect("a number");
    word.replace(',', "").parse().unwrap_or_else(|_| panic!("{word}: {line}"))
}

#[test]
fn bounds_of_idle_energy_are_bounds_and_the_sleeps_add_up() {
    // Energy alone may go up: ticks end sleeps, so that one wish to sleep is many.
    for limit in ["50us", "150us", "90us"] {
        let (_, text) = said(&["idle", "predict", SLEEPS, STATES, "--latency-limit", limit], "");
        let energy = |title| cell(&text, title, 62);
        let [run, knows, early] = [
            energy("changed "),
            energy("knows the future, obeys"),
            energy("the same, wakes before"),
        ];
        assert!(early <= knows && knows <= run, "{text}");
        for end in [48, 69] {
            // The table has two columns of sleeps by state; the rows below are further right.
            let parts: f64 =
                ["POLL", "C1 ", "C6 ", "C8 "].map(|s| cell(&text, s, end)).iter().sum();
            assert_eq!(cell(&text, "total", end), parts, "{text}");
        }
        let ends = ["ended by an event", "ended by the tick", "ended by the limit of polling"];
        let ended: f64 = ends.map(|e| cell(&text, e, 80)).iter().sum();
        assert_eq!(ended, cell(&text, "total", 69), "{text}");
        // One unit, in the head; and what a delay is.
        assert_eq!(text.matches("of P0").count(), 2, "{text}");
        assert!(words(&["idle", "predict", SLEEPS, STATES], "").contains("Wake-up delay: from"));
    }
}

#[test]
fn a_limit_names_the_cpus_that_it_keeps_from_a_state() {
    // CPU 1 leaves its deepest state within 80 us, CPU 0 takes 200.
    let states = std::fs::read_to_string(root().join(STATES)).expect("the fixture");
    let cpu1 = "cpu1/cpuidle/state3/";
    let states = states
        .replace(&format!("{cpu1}latency:200"), &format!("{cpu1}latency:80"))
        .replace("cpu1/cpuidle/state2/latency:85", "cpu1/cpuidle/state2/latency:70");
    assert!(states.contains("latency:80") && states.contains("latency:70"), "{states}");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("states.txt");
    std::fs::write(&path, states).expect("written");
    let path = path.to_str().expect("UTF-8");
    let text = words(&["idle", "tune", SLEEPS, path, "--p99", "100us"], "");
    assert!(text.contains("Set limit 85 us on CPU 0:"), "{text}");
}

/// Two kinds of cores, whose deep states firmware refuses: more often in all on three
/// CPUs, more often for each on the one.
fn refusing() -> String {
    let mut text = String::new();
    for (cpu, name, refused, entered) in [
        (0, "off-m", 2_000, 3),
        (1, "off-m", 2_000, 3),
        (2, "off-m", 2_000, 2),
        (3, "off-b", 5_000, 0),
    ] {
        let at = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for (state, name, usage, rejected) in [(0, "WFI", 900, 0), (1, name, entered, refused)] {
            for (file, value) in [
                ("name", name.to_string()),
                ("latency", (state * 100 + 1).to_string()),
                ("residency", (state * 900 + 1).to_string()),
                ("usage", usage.to_string()),
                ("time", (usage * 100).to_string()),
                ("above", "0".into()),
                ("below", "0".into()),
                ("rejected", rejected.to_string()),
            ] {
                text += &format!("{at}/state{state}/{file}:{value}\n");
            }
        }
    }
    text
}

#[test]
fn the_state_that_is_refused_most_for_each_cpu_comes_first() {
    let text = words(&["idle", "show", "-"], &refusing());
    let first = "off-b of CPU 3 was refused 5,000 times and entered 0 times, most of all for each \
                 CPU: firmware or driver do not let CPUs into it. 1 more state was refused more \
                 often than entered.";
    assert!(text.starts_with(first), "{text}");
    // What was entered now and then is not shut.
    let seldom = words(&["idle", "show", "-"], &refusing().replace("off-b", "off-m"));
    assert!(
        seldom.contains("and entered 8 times: firmware or driver refuse most attempts"),
        "{seldom}"
    );
}

#[test]
fn one_cpu_is_named_where_the_text_names_it_and_no_count_is_claimed() {
    let dump = "\
CPUidle driver: intel_idle
CPUidle governor: menu
analyzing CPU 28:

Number of idle states: 2
POLL:
Flags/Description: CPUIDLE CORE POLL IDLE
Latency: 0
Usage: 7448
Duration: 207170
C1E:
Flags/Description: MWAIT 0x01
Latency: 10
Usage: 18468
Duration: 11399999
";
    let text = words(&["idle", "show", "-"], dump);
    let said = "Counters of CPU 28 since boot, driver intel_idle, governor menu; misses were not \
                counted.";
    assert!(text.contains(said), "{text}");
    assert!(!text.contains("kernel's own count"), "{text}");
    let posted =
        "State  Avg(ms)  Count  Over-pred  Under-pred\nC1  0.82  187  0.0% (0)  61.5% (115)\n";
    let text = words(&["idle", "show", "-"], posted);
    assert!(
        // A table in a mail may be of a test; it does not say since when it counts.
        text.contains(
            "Counters of 1 CPU (since when is not said); misses are the kernel's own count."
        ),
        "{text}"
    );
}

/// Shared recordings, or `None` after saying so.
fn idle(names: &[&str]) -> Option<Vec<String>> {
    let path = |n: &&str| Some(data(&format!("idle/{n}"))?.to_str()?.to_owned());
    names.iter().map(path).collect()
}

/// By hand: all sleeps of a state sorted, and the element at ceil(p * n) taken.
#[test]
fn percentiles_of_sleeps_are_sleeps() {
    let Some(lisa) = idle(&["traces/lisa-sched_load.dat"]) else { return };
    let text = words(&["idle", "show", &lisa[0]], "");
    assert!(
        text.contains("state 0 190 31,493 ") && text.contains("state 2 1,270 121,170"),
        "{text}"
    );
    assert!(text.contains("for 0.38 s of the 0.43 s of the trace"), "{text}");
    let names = ["real/mt8196-612sleep.dat", "real/mt8196-612sleep-after.txt.gz"];
    let Some(both) = idle(&names) else { return };
    let text = words(&["idle", "show", &both[0], &both[1]], "");
    for row in ["cpuoff-b 5,413 5,413 CPU 7", "cpuoff-l 10,305 31,954 CPUs 0-3"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    // More than are kept one by one; said with three digits, and what that is.
    assert!(text.contains("~: of more sleeps than are kept one by one"), "{text}");
}

/// A folder with dumps of many machines, and a trace of one of them.
#[test]
fn a_trace_is_judged_by_the_table_of_its_machine_or_by_none() {
    let names = ["real", "real/mt8196-612sleep.dat", "real/m-idle-info-residency.txt"];
    let Some(all) = idle(&names) else { return };
    let text = words(&["idle", "show", &all[0]], "");
    assert!(text.starts_with("cpuoff-l of CPUs 0-3 is too shallow for 912 of its 1,424"), "{text}");
    // Its table is of CPU 12, and the trace has eight.
    let text = words(&["idle", "show", &all[1], &all[2]], "");
    assert!(!text.contains("pays us"), "{text}");
    assert!(text.contains("tables of other machines: the tables of states here are of"), "{text}");
}

#[test]
fn two_dumps_without_a_difference_say_why() {
    let (after, before) =
        ("rpl0-sys-cpuidle.after.raw.txt.gz", "rpl0-sys-cpuidle.before.raw.txt.gz");
    let names = [after, before].map(|n| format!("stats-collect/{n}"));
    let Some(files) = idle(&[&names[0], &names[1]]) else { return };
    let text = words(&["idle", "show", &files[0], &files[1]], "");
    for said in [format!("From {after}."), format!("From {before}.")] {
        assert!(text.contains(&said), "{text}");
    }
    let said = "No difference is made of the two dumps: counters of the second are smaller";
    assert!(text.contains(said), "{text}");
    let text = words(&["idle", "show", &files[1], &files[0]], "");
    assert!(text.contains("between two dumps") && !text.contains("No difference"), "{text}");
    let Some(csv) = idle(&["pepc-cpuidle-tables.csv"]) else { return };
    let text = words(&["idle", "show", &csv[0]], "");
    let said = "turin0 has the largest share of sleeps in a wrong state: 79 % of 1,673,044. \
                Counters (since when is not said);";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_limit_is_the_latency_of_a_state_that_may_be_entered() {
    let names = ["real/mt8196-612sleep.dat", "real/mt8196-612sleep-after.txt.gz"];
    let Some(both) = idle(&names) else { return };
    let ask = ["idle", "tune", &both[0], &both[1], "--p99", "60us"];
    let text = words(&ask, "");
    assert!(text.contains("give --from-governor menu, teo, ladder or haltpoll"), "{text}");
    let text = words(&[&ask[..], &["--from-governor", "menu"]].concat(), "");
    assert!(text.starts_with("Set limit 1 us on CPUs 0-3,5-7, cpuoff-l disabled: p99"), "{text}");
    assert!(text.contains("Caution: the budget is missed if the governor foresees no"), "{text}");
    let sweep = ["--from-governor", "menu", "--sweep", "limit"];
    let text = words(&[&["idle", "predict", &both[0], &both[1]], &sweep[..]].concat(), "");
    assert!(text.starts_with("6 limits make a difference: p99 from 1 us"), "{text}");
}

#[test]
fn a_little_of_a_package_state_is_not_nothing() {
    let table = "CPU\tBusy%\tCPU%c1\tPkg%pc2\tPkg%pc3\tPkg%pc6\n\
                 -\t5.00\t90.00\t30.40\t0.02\t0.00\n\
                 0\t5.00\t90.00\t30.40\t0.02\t0.00\n";
    let text = words(&["idle", "show", "-"], table);
    let said = "The deepest package state reached is Pkg%pc3, for <0.1 % of the time";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("Pkg%pc3 <0.1 %") && text.contains("Pkg%pc6 0.0 %"), "{text}");
}

/// The energy of one thing is one number in every table.
#[test]
fn energy_is_the_same_in_all_tables() {
    let (_, text) = said(&["idle", "predict", SLEEPS, STATES, "--latency-limit", "90us"], "");
    assert_eq!(cell(&text, "energy, ms of P0", 77), cell(&text, "changed ", 62), "{text}");
}

/// What `show --only idle` says of a text.
fn shown(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    words(&["show", "--only", "idle", file.path().to_str().expect("a path")], "")
}

#[test]
fn a_package_that_never_slept_is_explained_by_what_the_table_shows() {
    let head = "Busy% Bzy_MHz C1% C6% CPU%c1 CPU%c6 Pkg%pc2 Pkg%pc6 PkgWatt";
    let shallow = shown(&format!("{head}\n0.90 2600 98.80 0.00 99.10 0.00 0.00 0.00 60.00\n"));
    assert!(shallow.contains("60.00 W: no CPU was in a state deeper than C1."), "{shallow}");
    let deep = shown(&format!("{head}\n0.90 2600 8.80 90.00 9.10 90.00 0.00 0.00 60.00\n"));
    assert!(deep.contains("what kept it awake, a core, a device or firmware,"), "{deep}");
    let head = head.replace("Pkg%pc2", "Any%C0 Pkg%pc2");
    let awake = shown(&format!("{head}\n9.00 2600 1.00 90.00 1.00 90.00 99.70 0.00 0.00 60.00\n"));
    assert!(awake.contains("some core was awake for 99.7 % of the time"), "{awake}");
    let half = shown(&format!("{head}\n9.00 2600 1.00 90.00 1.00 90.00 45.00 9.00 40.00 20.00\n"));
    assert!(half.contains("the package could sleep for 55.0 % of it at most"), "{half}");
}

#[test]
fn misses_without_a_count_of_sleeps_are_no_verdict() {
    let row = |state: u32, file: &str, n: u64| {
        format!("/sys/devices/system/cpu/cpu4/cpuidle/state{state}/{file}:{n}\n")
    };
    let text = row(0, "above", 0)
        + &row(1, "above", 38_000)
        + &row(0, "below", 70_000)
        + &row(1, "below", 240_000);
    let screen = shown(&text);
    let rows = |state: u32, name: &str, disable: u32, below: u64| {
        let of = |file: &str, value: &str| {
            format!("/sys/devices/system/cpu/cpu3/cpuidle/state{state}/{file}:{value}\n")
        };
        of("name", name)
            + &of("disable", &disable.to_string())
            + &of("latency", &(10 + 90 * state).to_string())
            + &of("residency", &(20 + 580 * state).to_string())
            + &of("usage", "800000")
            + &of("time", "400000000")
            + &of("above", "100")
            + &of("below", &below.to_string())
    };
    let shut = shown(&(rows(0, "C1", 0, 500_000) + &rows(1, "C6", 1, 0)));
    assert!(shut.contains("would have paid, and it is disabled: echo 0 >"), "{shut}");
    let open = shown(&(rows(0, "C1", 0, 500_000) + &rows(1, "C6", 0, 0)));
    assert!(open.contains("would have paid.") && !open.contains("it is disabled"), "{open}");
    assert!(
        screen.starts_with("state 1 was too deep 38,000 times and too shallow 240,000 times,"),
        "{screen}"
    );
}

#[test]
fn two_tables_of_turbostat_are_compared_by_what_changed_most() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut paths = Vec::new();
    for (name, row) in
        [("a.txt", "2.00 900 8.00 90.00 3.10"), ("b.txt", "2.50 900 20.50 77.00 4.25")]
    {
        let path = dir.path().join(name);
        let text = format!("Busy% Bzy_MHz CPU%c1 CPU%c6 PkgWatt\n{row}\n");
        std::fs::write(&path, text).expect("written");
        paths.push(path.to_str().expect("UTF-8").to_owned());
    }
    let text = words(&["compare", &paths[0], &paths[1]], "");
    assert!(
        text.starts_with("What changed most is CPU%c6: 90.00 % -> 77.00 % of the time"),
        "{text}"
    );
    assert!(text.contains("(-13.00 points). Power of the package: 3.10 -> 4.25 W."), "{text}");
    let (_, json) = said(&["compare", "--json", &paths[0], &paths[1]], "");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["beside"]["moved"][0]["name"], "CPU%c6");
    assert_eq!(json["beside"]["power_thousandths"], serde_json::json!([3_100, 4_250]));
}
