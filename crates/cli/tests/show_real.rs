//! `dormouse show` on logs of real machines, against counts made here.
//!
//! The logs are not part of the project: `DORMOUSE_DATA` names their folder
//! (by default `../shared/data`).

use crate::ran::output;
use crate::rows::{device, expanded};
use dormouse_read::{Options, read_bytes};
use dormouse_words::text::{WIDTH, width};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folder of logs, or `None` after saying so.
fn logs() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("DORMOUSE_DATA").map_or(root.join("../shared/data"), PathBuf::from);
    let logs = data.join("logs");
    if !logs.is_dir() {
        eprintln!("SKIPPED: no real logs at {}; set DORMOUSE_DATA", logs.display());
        return None;
    }
    Some(logs)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for e in std::fs::read_dir(dir).unwrap() {
        let path = e.unwrap().path();
        if path.is_dir() { out.extend(files(&path)) } else { out.push(path) }
    }
    out.sort();
    out
}

fn show(args: &[&str], input: &Path) -> (Option<i32>, String) {
    let args = ["show"].iter().chain(args).map(OsStr::new);
    let out = output(args.chain([input.as_os_str()]));
    (out.status.code(), String::from_utf8(out.stdout).unwrap())
}

fn json(input: &Path) -> Value {
    let (code, out) = show(&["--json"], input);
    assert_eq!(code, Some(0), "{}", input.display());
    expanded(serde_json::from_str(&out).unwrap())
}

fn ns(v: &Value) -> i64 {
    v.as_i64().unwrap_or_else(|| panic!("{v} is no integer"))
}

/// One file for a run of equal ones: the 40 runs are sampled.
fn sample(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let many = |p: &Path| p.to_string_lossy().contains("multitest");
    let mut n = 0;
    let mut keep = |p: &PathBuf| {
        n += usize::from(many(p));
        !many(p) || n % 16 < 2
    };
    files.into_iter().filter(|p| keep(p)).collect()
}

#[test]
fn every_file_is_explained_or_has_nothing_to_explain() {
    let Some(logs) = logs() else { return };
    let mut explained = 0;
    for file in sample(files(&logs)) {
        let (code, text) = show(&[], &file);
        assert!(matches!(code, Some(0 | 1)), "{}: exit code {code:?}", file.display());
        for line in text.lines() {
            // A word of the next command is not cut, however long a path is.
            let word = line.trim_end_matches(" \\") == file.display().to_string();
            assert!(width(line) <= WIDTH || word, "{}: {line}", file.display());
        }
        if code == Some(0) {
            explained += 1;
            laws(&file, &json(&file));
        }
    }
    assert!(explained > 20, "only {explained} files were explained");
}

/// Rows add up and segments partition, to the nanosecond.
fn laws(file: &Path, json: &Value) {
    let file = file.display();
    for c in json["cycles"].as_array().unwrap() {
        let rows = c["rows"].as_array().unwrap();
        let sum = |way: Option<&str>| -> i64 {
            let of = |r: &&Value| way.is_none_or(|w| r["direction"] == w);
            rows.iter().filter(of).map(|r| ns(&r["counted_ns"])).sum()
        };
        assert_eq!(sum(None), ns(&c["total_ns"]), "{file}");
        if c["outcome"] == "slept" && !c["suspend_ns"].is_null() && !c["resume_ns"].is_null() {
            assert_eq!(sum(Some("suspend")), ns(&c["suspend_ns"]), "{file}");
            assert_eq!(sum(Some("resume")), ns(&c["resume_ns"]), "{file}");
        }
        for p in c["phases"].as_array().unwrap().iter().filter(|p| p["name"] != "asleep") {
            let path = p["critical_path"].as_array().unwrap();
            let sum: i64 = path.iter().map(|s| ns(&s["duration_ns"])).sum();
            assert_eq!(sum, ns(&p["duration_ns"]), "{file}: {}", p["name"]);
        }
    }
}

/// Ends that have a start before them, by thread and by text: a second count
/// that shares nothing with the reader.
fn matched(text: &str) -> usize {
    let mut open: HashMap<(&str, &str), usize> = HashMap::new();
    let mut matched = 0;
    for line in text.lines() {
        let Some((head, _)) = line.split_once('[') else { continue };
        let pid = head.trim_end().rsplit('-').next().unwrap_or("");
        if let Some((_, rest)) = line.split_once("device_pm_callback_start:") {
            let Some((who, _)) = rest.rsplit_once(", parent: ") else { continue };
            *open.entry((pid, who.trim())).or_default() += 1;
        } else if let Some((_, rest)) = line.split_once("device_pm_callback_end:") {
            let Some((who, _)) = rest.rsplit_once(", err=") else { continue };
            if let Some(n) = open.get_mut(&(pid, who.trim())).filter(|n| **n > 0) {
                *n -= 1;
                matched += 1;
            }
        }
    }
    matched
}

#[test]
fn callbacks_are_as_many_as_matched_lines() {
    let Some(logs) = logs() else { return };
    let mut checked = 0;
    for file in sample(files(&logs)) {
        let packed = std::fs::read(&file).unwrap();
        let Ok(unpacked) = dormouse_read::container::unpack(&file, &packed, &Default::default())
        else {
            continue;
        };
        let bytes = unpacked.bytes.as_deref().unwrap_or(&packed);
        let text = String::from_utf8_lossy(bytes);
        let expected = matched(&text);
        if expected == 0 {
            continue;
        }
        checked += 1;
        let out = json(&file);
        let cycles = out["cycles"].as_array().unwrap();
        let callbacks: i64 = cycles.iter().map(|c| ns(&c["callbacks"])).sum();
        assert_eq!(callbacks, expected as i64, "{}", file.display());
    }
    assert!(checked > 10, "only {checked} traces were checked");
}

/// The kernel prints how long each phase took; its brackets differ from the
/// trace's by a printed line.
#[test]
fn phases_take_as_long_as_the_kernel_says() {
    let Some(logs) = logs() else { return };
    let (mut compared, mut worst) = (0, HashMap::<(bool, bool), i64>::new());
    let mut runs: Vec<PathBuf> =
        files(&logs.join("pm-graph")).iter().map(|f| f.parent().unwrap().to_owned()).collect();
    runs.dedup();
    for run in sample(runs) {
        for c in json(&run)["cycles"].as_array().unwrap() {
            let new = c["kernel"].as_str().is_some_and(|k| k.starts_with("5.3"));
            for p in c["phases"].as_array().unwrap().iter().filter(|p| !p["printed_ns"].is_null()) {
                let resume = p["name"] == "resume";
                let off = (ns(&p["duration_ns"]) - ns(&p["printed_ns"])).abs();
                let most = if !new {
                    2_000_000
                } else if resume {
                    200_000
                } else {
                    25_000
                };
                assert!(off <= most, "{}: {} is {off} ns off", run.display(), p["name"]);
                let w = worst.entry((new, resume)).or_default();
                *w = off.max(*w);
                compared += 1;
            }
        }
    }
    println!("{compared} phases compared; worst difference in ns by (5.3, resume): {worst:?}");
    assert!(compared > 20, "only {compared} phases had a printed time");
}

/// What a person who looks at these logs finds, so that a change of the
/// analysis does not lose it unseen.
#[test]
fn known_culprits_are_named() {
    let Some(logs) = logs() else { return };
    let culprit = |input: &str, way: &str| {
        let out = json(&logs.join(input));
        let answers = out["cycles"][0]["answer"].as_array().unwrap().clone();
        let a = answers.iter().find(|a| a["direction"] == way).unwrap().clone();
        device(&out, &a["device"]).to_string()
    };
    assert_eq!(culprit("mail/tegra30-5.5rc-ftrace.part1.trace.txt", "resume"), "drm");
    let run = "pm-graph/multitest-5.3/suspend-190921-145531";
    assert_eq!(culprit(run, "suspend"), "0000:00:02.0");
    assert_eq!(culprit(run, "resume"), "1-3");
    let dmesg = "mail/lenovo-2024-02-12.part1.i8042_suspend_resume_dmesg.txt";
    assert_eq!(culprit(dmesg, "suspend"), "MSFT0101:00");
}

/// Nothing but what the reader says in memory reaches the output.
#[test]
fn standard_input_and_memory_agree() {
    let Some(logs) = logs() else { return };
    let file = logs.join("mail/tegra30-5.5rc-ftrace.part1.trace.txt");
    let bytes = std::fs::read(&file).unwrap();
    let reading = read_bytes("x", &bytes, &Options::default()).unwrap();
    let count: usize = reading.captures.iter().map(|c| c.cycles.len()).sum();
    assert_eq!(count, json(&file)["cycles"].as_array().unwrap().len());
}

/// The sentence of docs/published-tables.md about the graphics driver, against all runs.
#[test]
fn the_graphics_driver_waits_as_the_published_tables_say() {
    let Some(logs) = logs() else { return };
    let runs = logs.join("pm-graph/multitest-5.3");
    let (mut took, mut long) = (Vec::new(), Vec::new());
    for run in std::fs::read_dir(runs).unwrap() {
        let (code, out) = show(&["--only", "sleep", "--json"], &run.unwrap().path());
        assert_eq!(code, Some(0));
        let doc = expanded(serde_json::from_str(&out).unwrap());
        let all = doc["cycles"][0]["inside"].as_array().unwrap();
        let graphics = "0000:00:02.0";
        let of = |i: &&Value| i["phase"] == "suspend" && device(&doc, &i["device"]) == graphics;
        let inside = all.iter().find(of).expect("probes inside the driver's callback");
        took.push(ns(&inside["time_ns"]));
        long.push(ns(&inside["long_ns"]));
        for i in all {
            let own: i64 =
                i["functions"].as_array().unwrap().iter().map(|f| ns(&f["own_ns"])).sum();
            assert!(own + ns(&i["outside_ns"]) >= ns(&i["time_ns"]), "{i}");
        }
    }
    assert_eq!(took.len(), 40);
    let middle = |list: &mut Vec<i64>| {
        list.sort_unstable();
        i64::midpoint(list[19], list[20]) / 1_000_000
    };
    let (took, long) = (middle(&mut took), middle(&mut long));
    let grouped = |n: i64| format!("{},{:03}", n / 1_000, n % 1_000);
    let said = format!("{} of {} ms", grouped(long), grouped(took));
    let doc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/published-tables.md");
    let doc = std::fs::read_to_string(doc).unwrap();
    assert!(doc.contains(&said), "{said}");
}
