//! Answers that there are no idle states: of cpupower, of sysfs, of a folder that is not
//! there, of a test that found none.

use super::between::{is_command, plain};
use crate::grams::Asked;
use dormouse_idle::absent::Absent;

/// Words of which each such answer has one.
const WORDS: [&str; 4] = ["cpuidle", "CPUidle", "No idle states", "devices/system/cpu/cpu"];

/// Files that every CPU has in its folder (drivers/base/cpu.c, drivers/base/cacheinfo.c): so
/// many of them, some behind `cpuidle` in the alphabet, and the listing was not cut before it.
const FILES: [&str; 9] = [
    "cache",
    "cpu_capacity",
    "cpufreq",
    "crash_notes",
    "crash_notes_size",
    "hotplug",
    "online",
    "topology",
    "uevent",
];
const ENOUGH: usize = 3;

/// A listing of a folder, as it is read.
struct Listing {
    cpu: Option<u32>,
    line: u64,
    text: String,
    names: Vec<String>,
}

impl Listing {
    /// What it says, if it is of a CPU and whole enough.
    fn end(self, label: &str) -> Option<Absent> {
        let known = self.names.iter().filter(|n| FILES.contains(&n.as_str())).count();
        let there = self.names.iter().any(|n| n == "cpuidle");
        let passed = self.names.iter().any(|n| FILES.contains(&n.as_str()) && &n[..] > "cpuidle");
        let (label, text) = (label.to_owned(), format!("{}: no cpuidle in it", self.text));
        let absent = Absent { label, line: self.line, text, cpu: self.cpu, governor: None };
        (known >= ENOUGH && passed && !there).then_some(absent)
    }
}

/// The CPU of `/sys/devices/system/cpu/cpu3`, and what follows.
fn of_cpu(text: &str) -> Option<(u32, &str)> {
    let (_, rest) = text.split_once("devices/system/cpu/cpu")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// Whether a command lists the folder of one CPU.
fn lists(line: &str) -> bool {
    let ls = || line.split_whitespace().any(|w| w == "ls");
    line.contains("ls ")
        && ls()
        && of_cpu(line).is_some_and(|(_, rest)| matches!(rest.trim(), "" | "/"))
}

/// Reads such answers.
pub(super) fn read(name: &str, text: &str, asked: &Asked<'_>) -> Vec<Absent> {
    if !asked.has_any(&WORDS) {
        return Vec::new();
    }
    let mut out: Vec<Absent> = Vec::new();
    let (mut cpu, mut governor) = (None, None);
    // The line of a program that names no driver, until it is known whether it has states.
    let mut none: Option<(u64, String)> = None;
    let mut listing: Option<Listing> = None;
    let mut driver_below = false;
    for (at, line) in (1..).zip(text.lines().map(|l| plain(l).trim())) {
        let absent = |text: &str, line: u64, cpu: Option<u32>, governor: &Option<String>| Absent {
            label: name.to_owned(),
            line,
            text: text.to_owned(),
            cpu,
            governor: governor.clone(),
        };
        if let Some(l) = &mut listing {
            let over = line.is_empty() || line.starts_with("```") || is_command(line);
            match over {
                true => out.extend(listing.take().and_then(|l| l.end(name))),
                // A link shows where it points to behind its name.
                false => {
                    let own = line.split(" -> ").next().unwrap_or(line);
                    let long = own.starts_with(['d', '-', 'l']) && own.contains("root");
                    let words = own.split_whitespace();
                    match long {
                        true => l.names.extend(words.last().map(String::from)),
                        false => l.names.extend(words.map(String::from)),
                    }
                    continue;
                }
            }
        }
        if lists(line) {
            let cpu = of_cpu(line).map(|c| c.0);
            listing = Some(Listing { cpu, line: at, text: line.into(), names: Vec::new() });
        } else if let Some(driver) = line.strip_prefix("CPUidle driver:") {
            out.extend(none.take().map(|(at, text)| absent(&text, at, cpu, &governor)));
            (cpu, governor) = (None, None);
            none = (driver.trim() == "none").then(|| (at, line.to_owned()));
        } else if let Some(by) = line.strip_prefix("CPUidle governor:") {
            governor = Some(by.trim().to_owned());
        } else if let Some(n) = line.strip_prefix("analyzing CPU") {
            cpu = n.trim().trim_end_matches(':').parse().ok();
        } else if line.starts_with("CPU ") && line.ends_with(": No idle states") {
            let of = line["CPU ".len()..].split(':').next().and_then(|n| n.parse().ok());
            out.push(absent(line, at, of.or(cpu), &governor));
            none = None;
        } else if line.starts_with("Number of idle states:") && !line.ends_with(": 0") {
            none = None;
        } else if std::mem::take(&mut driver_below) && line == "none" {
            out.push(absent("current_driver: none", at, None, &governor));
        } else if let Some((_, rest)) = line.split_once("cpuidle/current_driver") {
            driver_below = rest.is_empty();
            if rest.trim_start_matches([':', ' ']) == "none" {
                out.push(absent(line, at, None, &governor));
            }
        } else if refuses(line) {
            out.push(absent(line, at, of_cpu(line).map(|c| c.0), &governor));
        }
    }
    out.extend(none.map(|(at, text)| Absent {
        label: name.to_owned(),
        line: at,
        text,
        cpu,
        governor: governor.clone(),
    }));
    out.extend(listing.and_then(|l| l.end(name)));
    out
}

/// Whether a program says that it did not find the folder, or a CPU that has one.
fn refuses(line: &str) -> bool {
    // A deeper state may be missing where others are.
    let whole = |rest: &str| {
        let rest = rest.trim_start_matches('/');
        !rest.starts_with("state") || rest.starts_with("state0") || rest.starts_with("state*")
    };
    let folder = line.contains("devices/system/cpu/cpu")
        && line.split_once("/cpuidle").is_some_and(|(_, rest)| whole(rest));
    let missing = line.ends_with("No such file or directory");
    let found = || {
        let words = line.to_ascii_lowercase();
        let failed = words.contains("error") || words.contains("fail");
        failed && (words.contains("no cpus with cpuidle") || words.contains("not supported"))
    };
    folder && missing || !folder && line.contains("cpuidle") && found()
}
