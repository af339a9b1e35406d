//! What the doctor says of a recording, a log or the running guest, and a row of the table.

use crate::common::dormouse;
use crate::disk;
use serde_json::Value;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// A finding.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub id: String,
    pub level: String,
    pub sentence: String,
    pub costs_ns: i64,
    /// Time of the first evidence.
    pub time_ns: i64,
}

/// What `dormouse doctor` finds; nothing at all if it finds no sleep.
pub(crate) fn doctor(args: &[&str]) -> Vec<Found> {
    let mut all = vec!["doctor", "--json"];
    all.extend_from_slice(args);
    let ran = dormouse(&all, None);
    let Some(at) = ran.text.find('{') else {
        println!("NOT: the doctor says: {}", ran.text);
        return Vec::new();
    };
    // What is said beside it stands before or after.
    let mut list = serde_json::Deserializer::from_str(&ran.text[at..]).into_iter::<Value>();
    let Some(Ok(json)) = list.next() else {
        println!("NOT: the doctor says: {}", ran.text);
        return Vec::new();
    };
    let texts = json["texts"].as_array().cloned().unwrap_or_default();
    let findings = texts.iter().flat_map(|t| t["findings"].as_array().cloned().unwrap_or_default());
    let word = |v: &Value| v.as_str().unwrap_or_default().to_string();
    findings
        .map(|f| Found {
            id: word(&f["id"]),
            level: word(&f["level"]),
            sentence: word(&f["sentence"]),
            costs_ns: f["costs_ns"].as_i64().unwrap_or(0),
            time_ns: f["evidence"][0]["time_ns"].as_i64().unwrap_or(0),
        })
        .collect()
}

static RECORDING: AtomicU32 = AtomicU32::new(0);

/// Records a test of a sleep and gives the file.
pub(crate) fn record(more: &[&str]) -> String {
    let number = RECORDING.fetch_add(1, Ordering::Relaxed);
    let file = format!("/tmp/{number}.tar.gz");
    let mut args = vec!["record", "--yes", "-o", &file, "--mode", "freeze"];
    args.extend_from_slice(more);
    let ran = dormouse(&args, None);
    if fs::metadata(&file).is_err() {
        println!("NOT: a recording: {}", ran.text);
    }
    file
}

/// The kernel's log since `mark`, as `dmesg` prints it, in a file.
pub(crate) fn log_since(mark: &str) -> String {
    let path = format!("/tmp/{}.log", RECORDING.fetch_add(1, Ordering::Relaxed));
    let mut out = String::new();
    let all = disk::log();
    let lines = all.lines().skip_while(|l| !l.contains(mark)).skip(1);
    for line in lines {
        // `6,123,456789,-;text`; lines that begin with a blank are dictionaries.
        let Some((head, text)) = line.split_once(';') else { continue };
        let Some(us) = head.split(',').nth(2).and_then(|n| n.parse::<u64>().ok()) else { continue };
        out += &format!("[{:5}.{:06}] {text}\n", us / 1_000_000, us % 1_000_000);
    }
    fs::write(&path, out).unwrap();
    path
}

/// A line of the kernel's log to begin at.
pub(crate) fn mark(text: &str) -> String {
    let mark = format!("guest: {text} {}", RECORDING.fetch_add(1, Ordering::Relaxed));
    fs::write("/dev/kmsg", &mark).unwrap();
    mark
}

/// The findings of an id.
pub(crate) fn of<'a>(found: &'a [Found], id: &str) -> Vec<&'a Found> {
    found.iter().filter(|f| f.id == id).collect()
}

/// What is above a note, by id.
pub(crate) fn above_note(found: &[Found], areas: &[&str]) -> Vec<String> {
    let counts = |f: &&Found| f.level != "note" && areas.iter().any(|a| f.id.starts_with(a));
    found.iter().filter(counts).map(|f| f.id.clone()).collect()
}

/// Prints a row; the number of things that are not as they should be.
pub(crate) fn row(
    test: &str,
    setup: &str,
    expected: &str,
    found: &str,
    right: bool,
    twin: &[String],
) -> usize {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let series: Vec<&str> = release.trim().split('.').take(2).collect();
    let verdict = if right { "" } else { " (WRONG)" };
    let twin_said = match twin {
        [] => "silent".to_string(),
        list => format!("{} (WRONG)", list.join(" ")),
    };
    println!(
        "| {test} | {} | {setup} | {expected} | {found}{verdict} | {twin_said} |",
        series.join(".")
    );
    usize::from(!right) + twin.len()
}
