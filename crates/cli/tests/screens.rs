//! Every screen as it was reviewed, and the rules that hold for all of them.

use super::doctor::{SICK, WELL};
use super::domains::TEXT as DOMAINS;
use super::sums;
use super::words::{AM335X, CLOCK, HANG, LAPTOP, said, silent};
use crate::ran::{output, root};
use std::collections::HashMap;
use std::fs;

pub(crate) const SMALL: &str = "captures/am335x-6.12.tar.gz";

/// A log whose main thread stands still for no reason that it names.
pub(crate) const STANDS_STILL: &str = "\
[    1.000000] PM: suspend entry (deep)
[    1.033000] PM: Filesystems sync: 0.033 seconds
[    1.100000] drv a: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.100100] drv a: PM: f_suspend+0x0/0x10 returned 0 after 50 usecs
[    1.180000] drv b: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.180100] drv b: PM: f_suspend+0x0/0x10 returned 0 after 50 usecs
[    1.260000] drv c: PM: calling f_suspend+0x0/0x10 @ 7, parent: platform
[    1.260100] drv c: PM: f_suspend+0x0/0x10 returned 0 after 50 usecs
[    1.270000] PM: suspend of devices complete after 180.000 msecs
[    2.000000] PM: suspend exit
";

/// The lines of a log without any time, as mail clients leave them.
pub(crate) const NO_TIMES: &str = "\
PM: suspend entry (deep)
calling  a+ @ 9, parent: platform
call a+ returned 0 after 50 usecs
PM: suspend exit
";

/// Idle states of two CPUs, and a trace in which one is woken by a timer and
/// one by its network card.
pub(crate) const STATES: &str = "crates/cli/tests/fixtures/idle-states.txt";
pub(crate) const FIO: &str = "crates/cli/tests/fixtures/fio-shallow.json";
pub(crate) const SLEEPS: &str = "crates/cli/tests/fixtures/idle-trace.txt";
const DISK: &str = "crates/cli/tests/fixtures/laboratory.disk";
const SYSFS: &str = "crates/cli/tests/fixtures/storage-sysfs.txt";
const REQUESTS: &str = "crates/cli/tests/fixtures/storage-trace.txt";

/// Every screen that needs no kernel: its name, its arguments and its standard
/// input.
fn screens() -> Vec<(&'static str, Vec<&'static str>, String)> {
    let silent = silent();
    let list: Vec<(&str, &[&str], &str)> = vec![
        ("show one cycle", &["show", "--cycle", "2", SMALL], ""),
        ("show many cycles", &["show", SMALL], ""),
        ("show a test level", &["show", CLOCK], ""),
        ("show with warnings", &["show", "--cycle", "3", LAPTOP], ""),
        ("show a phase", &["show", "--cycle", "2", "--phase", "noirq", LAPTOP], ""),
        ("show markdown", &["show", "--markdown", "--cycle", "2", SMALL], ""),
        ("show no callbacks", &["show", "-"], &silent),
        ("show a hang", &["show", "-"], HANG),
        ("show whole milliseconds", &["show", "-"], STANDS_STILL),
        ("show no times", &["show", "-"], NO_TIMES),
        ("show no file", &["show", "no/such/file"], ""),
        ("show a board", &["show", AM335X], ""),
        ("show no log", &["show", "README.md"], ""),
        ("show nothing", &["show", "-"], ""),
        ("show phase of many", &["show", "--phase", "resume", SMALL], ""),
        ("show no such cycle", &["show", "--cycle", "9", SMALL], ""),
        ("show cycle zero", &["show", "--cycle", "0", SMALL], ""),
        ("predict without", &["predict", SMALL, "--without", "usb1"], ""),
        ("predict async", &["predict", SMALL, "--async", "musb*"], ""),
        ("predict kernel", &["predict", CLOCK, "--kernel", "7.3", "--scale", "phy0=0.5"], ""),
        ("predict nothing", &["predict", SMALL], ""),
        ("predict all kernels", &["predict", CLOCK, "--all-kernels"], ""),
        ("predict a board", &["predict", AM335X, "--kernel", "6.12", "--cpus", "2"], ""),
        ("predict not reproduced", &["predict", "-", "--without", "b"], STANDS_STILL),
        ("predict no device", &["predict", SMALL, "--without", "nosuch"], ""),
        ("predict no callbacks", &["predict", "-"], &silent),
        ("predict unknown kernel", &["predict", SMALL, "--kernel", "99x"], ""),
        (
            "plan met",
            &["plan", AM335X, "--kernel", "6.12", "--resume", "90ms", "--offer", "usb1"],
            "",
        ),
        ("plan not met", &["plan", AM335X, "--kernel", "6.12", "--resume", "80ms"], ""),
        ("plan met already", &["plan", AM335X, "--kernel", "6.12", "--resume", "200ms"], ""),
        (
            "plan ready",
            &["plan", AM335X, "--kernel", "6.12", "--ready", "4a100000.ethernet=50ms"],
            "",
        ),
        ("plan no budget", &["plan", AM335X, "--kernel", "6.12"], ""),
        ("plan not reproduced", &["plan", "-", "--suspend", "50ms"], STANDS_STILL),
        ("tune", &["tune", "boards/cases/c25.board", "--kernel", "7.3", "--profile", "zero"], ""),
        ("tune nothing", &["tune", "boards/cases/c25.board", "--kernel", "7.3", "--deny", "*"], ""),
        ("tune apply", &["tune", AM335X, "--kernel", "7.3", "--apply", "--dry-run"], ""),
        ("tune yes alone", &["tune", AM335X, "--kernel", "7.3", "--yes"], ""),
        ("tune keep nothing", &["tune", AM335X, "--kernel", "7.3", "--keep-recordings", "x"], ""),
        ("compare", &["compare", CLOCK, LAPTOP], ""),
        ("compare same", &["compare", SMALL, SMALL], ""),
        ("calibrate", &["calibrate", CLOCK], ""),
        ("calibrate no log", &["calibrate", "README.md"], ""),
        ("evaluate", &["evaluate", CLOCK], ""),
        ("evaluate not met", &["evaluate", CLOCK, "--ask", "99"], ""),
        ("board check", &["board", "check", AM335X], ""),
        ("board check no board", &["board", "check", "Cargo.toml"], ""),
        ("export table", &["export", SMALL, "--to", "csv", "--table", "phases"], ""),
        ("export no cycle", &["export", SMALL, "--to", "csv", "--cycle", "9"], ""),
        ("report no log", &["report", "README.md"], ""),
        ("replay a board", &["replay", AM335X], ""),
        ("doctor", &["doctor", "-"], SICK),
        ("doctor healthy", &["doctor", "-"], WELL),
        ("doctor a recording", &["doctor", SMALL], ""),
        ("doctor nothing", &["doctor", "-"], "Dear list,\n"),
        ("domains show", &["domains", "show", "-"], DOMAINS),
        ("domains show nothing", &["domains", "show", "-"], "hello\n"),
        ("storage show", &["storage", "show", REQUESTS], ""),
        ("storage show nothing", &["storage", "show", "README.md"], ""),
        ("storage predict", &["storage", "predict", REQUESTS, "--gate-delay", "1s"], ""),
        ("storage predict no wait", &["storage", "predict", REQUESTS, "--autosuspend", "1s"], ""),
        (
            "storage predict clock",
            &["storage", "predict", REQUESTS, "--governor", "performance"],
            "",
        ),
        ("storage predict disk", &["storage", "predict", "--disk", DISK], ""),
        (
            "storage predict disk raised",
            &[
                "storage",
                "predict",
                "--disk",
                DISK,
                "--qos",
                "parent",
                "--timeout",
                "30ms",
                "--autosuspend",
                "100ms",
            ],
            "",
        ),
        ("rpm show", &["rpm", "show", REQUESTS, SYSFS], ""),
        ("rpm show nothing", &["rpm", "show", "README.md"], ""),
        ("storage tune", &["storage", "tune", REQUESTS, "--p99", "1ms"], ""),
        ("storage tune disk", &["storage", "tune", "--disk", DISK, "--p99", "400us"], ""),
        (
            "storage tune disk energy",
            &["storage", "tune", "--disk", DISK, "--least-energy", "--thresholds"],
            "",
        ),
        ("storage tune disk not met", &["storage", "tune", "--disk", DISK, "--p99", "10us"], ""),
        ("storage tune not met", &["storage", "tune", REQUESTS, "--p99", "10us"], ""),
        (
            "storage tune energy",
            &["storage", "tune", REQUESTS, "--least-energy", "--break-even", "2s"],
            "",
        ),
        ("idle show states", &["idle", "show", STATES], ""),
        ("idle show sleeps", &["idle", "show", SLEEPS, STATES], ""),
        ("idle show pack", &["idle", "show", SLEEPS, STATES, "--pack"], ""),
        ("idle show nothing", &["idle", "show", "README.md"], ""),
        ("idle predict", &["idle", "predict", SLEEPS, STATES, "--latency-limit", "50us"], ""),
        ("idle predict nothing", &["idle", "predict", SLEEPS, STATES], ""),
        ("idle predict sweep", &["idle", "predict", SLEEPS, STATES, "--sweep", "limit"], ""),
        ("idle predict no states", &["idle", "predict", SLEEPS], ""),
        ("idle tune", &["idle", "tune", SLEEPS, STATES, "--p99", "60us"], ""),
        ("idle tune not met", &["idle", "tune", SLEEPS, STATES, "--power", "1mW"], ""),
        (
            "idle tune apply elsewhere",
            &["idle", "tune", SLEEPS, STATES, "--p99", "60us", "--apply", "--root", "docs"],
            "",
        ),
        (
            "idle tune apply power",
            &["idle", "tune", SLEEPS, STATES, "--power", "1W", "--apply"],
            "",
        ),
        ("idle reads", &["idle", "reads", FIO, STATES, "--shallow", "C1", "--seen", "32k=10"], ""),
        (
            "idle reads measured",
            &["idle", "reads", FIO, STATES, "--disable", "C8", "--measured", FIO],
            "",
        ),
        ("idle reads nothing", &["idle", "reads", STATES, STATES], ""),
        ("lab rerun no capture", &["lab", "rerun", "README.md"], ""),
    ];
    list.into_iter().map(|(name, args, input)| (name, args.to_vec(), input.into())).collect()
}

/// The rules that hold for each line of each screen.
fn rules(name: &str, text: &str) {
    for line in text.lines() {
        let columns = line.chars().count();
        // A table for an issue is as wide as it is.
        // And a write is one line, that it may be copied.
        let write = line.starts_with("echo '") || line.starts_with("mkdir '");
        // Nor is a path broken.
        let path = !line.trim().contains(' ');
        let free = path || write || name.contains("markdown");
        assert!(columns <= 80 || free, "{name}: {columns} columns: {line}");
        // Idle states are told in microseconds, everywhere.
        let us = line.contains(" us ") && !name.contains("idle_");
        assert!(!line.contains(" 0 ns") && !us, "{name}: {line}");
        assert!(!line.contains("-0.00 "), "{name}: {line}");
        for old in [
            "attack",
            "in the middle",
            "gained",
            "decides",
            "as it were",
            "taken away",
            "knob",
            "held against",
            "not held",
            "per cent",
            "the zoo",
        ] {
            assert!(!line.to_lowercase().contains(old), "{name}: {old}: {line}");
        }
        plural(name, line);
    }
}

/// One is one: `1 devices` and `2 device` are wrong, in any place of a line.
fn plural(name: &str, line: &str) {
    let nouns = [
        "device",
        "cycle",
        "callback",
        "worker",
        "flag",
        "change",
        "phase",
        "link",
        "root",
        "line",
        "message",
        "event",
        "boot",
        "CPU",
        "warning",
        "simulation",
        "candidate",
        "kernel",
        "start",
        "neighbour",
        "machine",
        "second",
        "wake-up",
        "column",
        "write",
        "level",
    ];
    let words: Vec<&str> = line
        .split_whitespace()
        .map(|w| w.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        .collect();
    // `1 free flags` too.
    let adjectives = ["free", "further", "other", "short", "shorter", "trace", "log", "worker"];
    let near = |at: usize| {
        let next = words.get(at + 1)?;
        let noun = if adjectives.contains(next) { words.get(at + 2)? } else { next };
        Some((words[at], *noun))
    };
    for (number, word) in (0..words.len()).filter_map(near) {
        let Ok(n) = number.replace(',', "").parse::<u64>() else { continue };
        for noun in nouns {
            let many = format!("{noun}s");
            assert!(n != 1 || word != many, "{name}: {n} {word}: {line}");
        }
    }
}

/// Rows of a table of phases add up to their total, up to their rounding.
fn totals(name: &str, text: &str) -> usize {
    let value = |line: &str| -> Option<f64> {
        let rest: String = line.chars().skip(38).collect();
        rest.split_whitespace().next()?.parse().ok()
    };
    let head = |l: &&str| l.starts_with("Phase  ") && l.contains("share");
    let mut lines = text.lines().skip_while(|l| !head(l)).skip(1).peekable();
    let mut tables = 0;
    while let Some(total) = lines.next().filter(|l| l.starts_with("total ")) {
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|l| l.starts_with("  ")) {
            rows.push(value(row).unwrap_or_else(|| panic!("{name}: {row}")));
        }
        if total.contains("not known") {
            continue;
        }
        let (sum, total) = (rows.iter().sum::<f64>(), value(total).expect("a total"));
        let rounding = 0.005 * (rows.len() + 1) as f64 + 1e-9;
        assert!((sum - total).abs() <= rounding, "{name}: {sum} is not {total}");
        tables += 1;
    }
    tables
}

/// The columns of a prediction add up, and line 1 says what they say.
fn predictions(name: &str, text: &str) -> usize {
    let Some(head) = text.lines().find(|l| l.starts_with("ms  ") && l.contains("sync floor"))
    else {
        return 0;
    };
    let ends: Vec<(String, usize)> =
        ["recorded", "model", "changed", "diff", " floor", "sync floor"]
            .iter()
            .filter_map(|c| head.find(c).map(|at| (c.to_string(), at + c.len())))
            .collect();
    let cells = |line: &str| -> Vec<String> {
        let mut from = 15;
        let chars: Vec<char> = line.chars().collect();
        let mut out = Vec::new();
        for (_, end) in &ends {
            let cell: String = chars.iter().take(*end).skip(from).collect();
            out.push(cell.trim().to_string());
            from = *end;
        }
        out
    };
    let column = |name: &str| ends.iter().position(|(c, _)| c == name);
    let (model, changed, diff) =
        (column("model").expect("a model"), column("changed"), column("diff"));
    let number = |row: &[String], at: usize| -> f64 {
        match row[at].trim_start_matches('>') {
            // What is not claimed stays as it is.
            "-" if Some(at) == changed => row[model].parse().expect("a time"),
            "" | "=" | "-" => 0.0,
            text => text.parse().unwrap_or_else(|e| panic!("{name}: {text}: {e}")),
        }
    };
    let start = text.lines().position(|l| l == head).expect("the table") + 1;
    let rows: Vec<&str> = text.lines().skip(start).take_while(|l| !l.is_empty()).collect();
    let down = ["prepare", "suspend", "late suspend", "noirq suspend"];
    let mut found = 0;
    for half in ["suspend", "resume"] {
        let total = rows.iter().find(|l| l.starts_with(&format!("total {half}")));
        let Some(total) = total.map(|l| cells(l)) else { continue };
        if total[model] == "-" {
            // No figure, and none that could be added up.
            let first = text.lines().next().unwrap_or_default().to_lowercase();
            assert!(first.contains(&format!("{half}: no figure")), "{name}: {first}");
            continue;
        }
        let phases: Vec<Vec<String>> = rows
            .iter()
            .filter(|l| !l.starts_with("total ") && !l.starts_with("image "))
            .filter(|l| {
                let name: String = l.chars().take(15).collect();
                down.contains(&name.trim()) == (half == "suspend")
            })
            .map(|l| cells(l))
            .collect();
        for (at, (column, _)) in ends.iter().enumerate() {
            if total[at] == "-" {
                continue;
            }
            let sum: f64 = phases.iter().map(|r| number(r, at)).sum();
            let rounding = 0.005 * (phases.len() + 1) as f64 + 1e-9;
            let said = number(&total, at);
            assert!((sum - said).abs() <= rounding, "{name}: {half} {}: {sum}, not {said}", column);
        }
        if let (Some(changed), Some(diff)) = (changed, diff) {
            let first = text.split("Device phases only").next().unwrap_or_default();
            let first = first.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            if total[changed] == "-" {
                // A phase of it is open: line 1 has no figure either.
                let told = first.contains(&format!("{half} stays"));
                assert!(
                    !told && !first.contains(&format!("{half} {} ms ->", total[model])),
                    "{first}"
                );
                found += 1;
                continue;
            }
            for floor in ["sync floor", " floor"] {
                let least = number(&total, column(floor).expect("a floor"));
                let is = number(&total, changed);
                assert!(is + 0.011 >= least, "{name}: {half}: {is} is less than{floor} {least}");
            }
            let by = number(&total, changed) - number(&total, model);
            assert!((by - number(&total, diff)).abs() <= 0.011, "{name}: {half}: {total:?}");
            // The first sentence: `resume 112.5 ms -> 77.9 ms`.
            let words: Vec<&str> = first.split(' ').collect();
            let arrow = words.windows(6).find(|w| w[0] == half && w[3] == "->");
            match arrow {
                Some(w) => {
                    // Three digits of the figures in the table.
                    for (text, at) in [(w[1], model), (w[4], changed)] {
                        let said: f64 = text.parse().expect("a time");
                        let exact = number(&total, at);
                        let digits = if exact >= 10.0 { 0.05 } else { 0.005 };
                        assert!((said - exact).abs() <= digits + 0.006, "{name}: {first}");
                    }
                }
                None => {
                    let none = ["stays at", "no change", "no figure"];
                    assert!(none.iter().any(|n| first.contains(n)), "{name}: {first}");
                }
            }
        }
        found += 1;
    }
    found
}

/// `both` of a table of `tune` is suspend plus resume.
fn both(name: &str, text: &str) -> usize {
    let mut lines = text.lines().skip_while(|l| !l.starts_with("Model, device phases, ms"));
    let rows: Vec<&str> = lines.by_ref().skip(1).take_while(|l| l.starts_with("  ")).collect();
    for row in &rows {
        let mut cells = row.split_whitespace().rev().map(|c| c.parse::<f64>().expect("a time"));
        let mut next = || cells.next().expect("a cell");
        let (both, resume, suspend) = (next(), next(), next());
        assert!((suspend + resume - both).abs() <= 0.011, "{name}: {row}");
    }
    rows.len()
}

#[test]
fn the_next_command_names_a_governor_where_the_dump_does_not() {
    let whole = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(STATES),
    )
    .expect("the dump");
    let silent: Vec<&str> = whole.lines().filter(|l| !l.contains("governor")).collect();
    assert!(silent.len() < whole.lines().count(), "the dump names one");
    for (dump, options) in [(whole.as_str(), ""), (&silent.join("\n"), " --from-governor menu")] {
        let (_, text) = said(&["show", "--only", "idle", SLEEPS, "-"], dump);
        let next = text.split("Next: ").nth(1).unwrap_or_default().replace(" \\\n ", "");
        assert!(next.trim_end().ends_with(&format!("--sweep limit{options}")), "{next}");
        let mut args = vec!["predict", SLEEPS, "-", "--sweep", "limit"];
        args.extend(options.split_whitespace());
        let (code, text) = said(&args, dump);
        assert!(code != Some(2), "{text}");
    }
}

#[test]
fn every_screen_is_as_reviewed() {
    for (name, args, input) in screens() {
        let (code, text) = said(&args, &input);
        let name = name.replace(' ', "_");
        insta::assert_snapshot!(
            name,
            format!("$ dormouse {}\n{text}exit {code:?}", args.join(" "))
        );
    }
}

/// Over all golden files, those of other tests too.
#[test]
fn the_rules_hold_on_every_golden_screen() {
    let folder = root().join("crates/cli/tests/snapshots");
    let (mut files, mut tables, mut predicted, mut tuned) = (0, 0, 0, 0);
    let mut subjects = [0; 4];
    for entry in fs::read_dir(folder).expect("golden files").flatten() {
        let whole = fs::read_to_string(entry.path()).expect("text");
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = whole.splitn(3, "---\n").nth(2).expect("a golden file");
        // The first line is the command, where there is one.
        let command = text.starts_with("$ dormouse");
        let screen = if command { text.split_once('\n').map_or("", |t| t.1) } else { text };
        rules(&name, screen);
        tables += totals(&name, screen);
        predicted += predictions(&name, screen);
        tuned += both(&name, screen);
        let found = sums::all(&name, screen);
        subjects.iter_mut().zip(found).for_each(|(all, one)| *all += one);
        files += 1;
    }
    println!(
        "{files} golden files, {tables} tables of phases, {predicted} predicted halves, {tuned} rows of tune"
    );
    println!("of idle, storage, doctor and domains: {subjects:?}");
    assert!(files >= 50 && tables >= 6 && predicted >= 10 && tuned >= 5);
    assert!(subjects.iter().all(|n| *n > 0), "{subjects:?}");
}

/// What the first lines of `show` say that a device saves: its half, its name and
/// how many ms.
fn savings(text: &str) -> Vec<(&'static str, String, f64)> {
    let head = text.split("\nPhase").next().unwrap_or_default();
    let flow = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut starts: Vec<(usize, &'static str)> = Vec::new();
    for (title, half) in [("Resume", "resume"), ("Suspend", "suspend")] {
        for way in [format!("{title}, median "), format!("{title} ")] {
            let digit = |at: &usize| {
                let next = flow[at + way.len()..].chars().next();
                next.is_some_and(|c| c.is_ascii_digit())
            };
            starts.extend(flow.match_indices(&way).map(|m| m.0).filter(digit).map(|at| (at, half)));
        }
    }
    starts.sort_unstable();
    let mut out = Vec::new();
    for (i, &(at, half)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(flow.len(), |s| s.0);
        let part = &flow[at..end];
        let first = |text: &str| text.split(' ').next().unwrap_or_default().to_string();
        let device = match part.find("The best is ") {
            Some(at) => first(&part[at + "The best is ".len()..]),
            None if part.contains(" is the bottleneck") => {
                first(part.split_once(": ").map_or("", |p| p.1))
            }
            None => continue,
        };
        // `(-34.5 ms)`, `without it, 4.08 ms less`.
        let less = ["(-", "ithout it, "].iter().find_map(|mark| {
            let rest = &part[part.find(mark)? + mark.len()..];
            first(rest).parse::<f64>().ok()
        });
        let device = device.trim_end_matches(':').to_string();
        out.push((half, device, less.unwrap_or_else(|| panic!("no saving: {part}"))));
    }
    out
}

/// What a golden screen of `show` says a device saves is what the simulator says
/// of the same file: its callbacks take no time, all else stays.
#[test]
fn the_saving_of_a_headline_is_the_simulators() {
    let folder = root().join("crates/cli/tests/snapshots");
    let mut simulated: HashMap<(String, String), serde_json::Value> = HashMap::new();
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("golden files").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // A screen that differs is kept beside it for a moment.
        if !name.ends_with(".snap") {
            continue;
        }
        let whole = fs::read_to_string(entry.path()).expect("text");
        let Some((_, text)) = whole.split_once("\n$ dormouse show ") else { continue };
        let (command, screen) = text.split_once('\n').expect("a screen");
        let Some(file) = command.split(' ').find(|w| w.starts_with("captures/")) else { continue };
        for (half, device, ms) in savings(screen) {
            let json = simulated.entry((file.into(), device.clone())).or_insert_with(|| {
                let scale = format!("{device}=0");
                let args = ["predict", file, "--scale", &scale, "--json", "--resamples", "0"];
                serde_json::from_str(&said(&args, "").1).expect("JSON")
            });
            let time = |at: &str| json[at][format!("{half}_ns")].as_i64().expect("a time");
            let (all, saved) = (time("before") as f64, (time("before") - time("after")) as f64);
            // `show` tells of the recording, the simulator of its median cycle.
            let apart = (saved - ms * 1e6).abs() / all;
            assert!(apart < 0.005, "{name}: {half}: {device}: {ms} ms, simulated {saved} ns");
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} savings");
}

/// Help: 80 columns, no jargon, a summary of one line.
#[test]
fn the_rules_hold_in_help() {
    let help = |args: &[&str]| {
        let out = output([args, &["--help"]].concat());
        String::from_utf8(out.stdout).expect("text")
    };
    let list = |text: &str| -> Vec<String> {
        let list = text.lines().take_while(|l| *l != "Options:");
        list.filter(|l| l.starts_with("  ")).map(String::from).collect()
    };
    let main = help(&[]);
    rules("help", &main);
    let all = list(&main);
    assert!((16..=22).contains(&all.len()), "{main}");
    for line in &all {
        assert!(!line.starts_with("   "), "a summary takes two lines: {line}");
        let words: Vec<&str> = line.trim().split("  ").next().expect("words").split(' ').collect();
        rules(&words.join(" "), &help(&words));
    }
}

/// Each file that is written is confirmed.
#[test]
fn every_file_written_is_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_string();
    let out = ["a.html", "a.csv", "a.pb", "a.board", "a.profile", "a.rules", "plan", "b.board"];
    let [report, csv, trace, board, profile, rules, plan, made] = out.map(file);
    let commands: [(&str, Vec<&str>); 8] = [
        (&report, vec!["report", SMALL, "-o", &report]),
        (&csv, vec!["export", SMALL, "--to", "csv", "-o", &csv]),
        (&trace, vec!["export", SMALL, "--to", "perfetto", "-o", &trace]),
        (&board, vec!["board", "from", SMALL, "-o", &board]),
        (&profile, vec!["calibrate", SMALL, "-o", &profile]),
        (&rules, vec!["tune", AM335X, "--kernel", "7.3", "-o", &rules]),
        (
            &plan,
            vec![
                "plan", AM335X, "--kernel", "6.12", "--resume", "90ms", "--offer", "usb1", "-o",
                &plan,
            ],
        ),
        (&made, vec!["board", "generate", "--devices", "5", "-o", &made]),
    ];
    for (path, args) in commands {
        let (code, text) = said(&args, "");
        if text.contains("built without the page of the report") {
            println!("SKIPPED: the page is not built (make web)");
            continue;
        }
        assert_eq!(code, Some(0), "{args:?}: {text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let confirmed =
            text.contains(&format!("Wrote {path}")) || text.contains(&format!("Wrote to {path}"));
        assert!(confirmed, "{args:?}: {text}");
        assert!(fs::metadata(path).is_ok(), "{path}");
    }
}
