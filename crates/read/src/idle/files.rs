//! Small files of `/proc` and `/sys`: of this machine, of a copied tree, or from
//! a text of `PATH:VALUE` as grep prints them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Longest value that is read: no attribute of sysfs is longer than a page.
const LONGEST: u64 = 4_096;

/// Files that say how a machine keeps its CPUs free; `*` stands for one name.
const WANTED: [&str; 14] = [
    "proc/cmdline",
    "proc/irq/default_smp_affinity",
    "proc/irq/*/smp_affinity_list",
    "proc/irq/*/effective_affinity_list",
    "proc/sys/kernel/timer_migration",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/sched_rt_period_us",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpuidle/*",
    "sys/devices/system/cpu/*/power/pm_qos_resume_latency_us",
    "sys/devices/system/cpu/*/cpuidle/*/*",
    "sys/devices/system/cpu/*/topology/thread_siblings_list",
    "sys/devices/system/cpu/*/cache/*/level",
    "sys/devices/system/cpu/*/cache/*/shared_cpu_list",
];

/// The command that makes a text which [`of_text`] reads.
pub const SNAPSHOT: &str = "grep -rs . /proc/cmdline /proc/irq /proc/sys/kernel \
                            /sys/devices/system/cpu > snapshot.txt";

/// The files below `root`, by their usual path. What is not there is left out.
pub fn of_tree(root: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for pattern in WANTED {
        let parts: Vec<&str> = pattern.split('/').collect();
        walk(root, &parts, String::new(), &mut out);
    }
    out
}

fn walk(folder: &Path, parts: &[&str], path: String, out: &mut BTreeMap<String, String>) {
    let Some((part, rest)) = parts.split_first() else {
        let Ok(file) = fs::File::open(folder) else { return };
        let mut bytes = Vec::new();
        // A folder where a file belongs cannot be read, and is no value.
        if file.take(LONGEST).read_to_end(&mut bytes).is_ok() {
            out.insert(path, String::from_utf8_lossy(&bytes).trim_end().to_owned());
        }
        return;
    };
    if *part != "*" {
        return walk(&folder.join(part), rest, format!("{path}/{part}"), out);
    }
    let Ok(list) = fs::read_dir(folder) else { return };
    for entry in list.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        walk(&entry.path(), rest, format!("{path}/{name}"), out);
    }
}

/// Lines of `PATH:VALUE`. Lines without a path of `/proc` or `/sys` are counted.
pub fn of_text(text: &str) -> (BTreeMap<String, String>, u64) {
    let mut out = BTreeMap::new();
    let mut unread = 0;
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        // A folder of somebody's may stand in front.
        let start = line.find("/proc/").into_iter().chain(line.find("/sys/")).min();
        let Some((path, value)) = start.and_then(|at| line[at..].split_once(':')) else {
            unread += 1;
            continue;
        };
        if !path.contains(char::is_whitespace) {
            out.insert(path.to_owned(), value.trim().to_owned());
        }
    }
    (out, unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_and_its_text_say_the_same() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut text = String::from("grep: no such file\n");
        for (path, value) in [
            ("/proc/cmdline", "isolcpus=2 quiet"),
            ("/proc/irq/7/smp_affinity_list", "0-1"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state1/name", "C1"),
            ("/sys/devices/system/cpu/cpuidle/current_governor", "menu"),
        ] {
            let file = dir.path().join(&path[1..]);
            fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            fs::write(&file, format!("{value}\n")).expect("written");
            text += &format!("{path}:{value}\n");
        }
        let tree = of_tree(dir.path());
        assert_eq!(tree.len(), 4, "{tree:?}");
        assert_eq!(of_text(&text), (tree, 1));
    }
}
