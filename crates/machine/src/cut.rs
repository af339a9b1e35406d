//! What is known of a cycle that never ended: by the recorder's own marks, and by what kernels
//! keep over a restart.

use crate::root::Root;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

/// A cycle that never ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its number.
    pub cycle: u32,
    /// Where, by the recorder's marks.
    pub place: Place,
    /// The machine was started again meanwhile; if not, only the recorder was ended.
    pub restarted: bool,
    /// The phase in which the kernel's last words stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The device that came last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What told phase and device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_by: Option<String>,
}

/// Where a cycle was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before the write that sleeps.
    #[default]
    Before,
    /// In it: on the way down, asleep, or on the way up.
    Asleep,
    /// After it, before the cycle was on disk.
    After,
}

/// Where kernels and systemd-pstore keep what was said last.
const PSTORE: [&str; 2] = ["/sys/fs/pstore", "/var/lib/systemd/pstore"];

/// When a cycle began that never ended.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// Seconds of the epoch.
    pub at: u64,
    /// The boot that it was in.
    pub boot_id: String,
    /// `/sys/power/pm_trace` was 1.
    pub pm_trace: bool,
}

/// Adds what was kept over the restart of a cycle that began so.
pub(crate) fn told(root: &Root, cut: Cut, begun: &Begun) -> Cut {
    let logs = PSTORE.iter().flat_map(|folder| kept(root, folder, begun.at));
    let texts = logs.chain(journal(root, &begun.boot_id));
    for (by, text) in texts {
        if let Some((phase, device)) = last_words(&text) {
            return Cut { phase, device, told_by: Some(by), ..cut };
        }
    }
    // Without pm_trace the clock holds a time, whose hash fits some device by chance
    // (show_dev_hash of drivers/base/power/trace.c, 6.12).
    let traced =
        root.read("/sys/power/pm_trace_dev_match").filter(|t| begun.pm_trace && !t.is_empty());
    match traced {
        Some(text) => Cut {
            device: Some(text.lines().collect::<Vec<_>>().join(", ")),
            told_by: Some("pm_trace".into()),
            ..cut
        },
        None => cut,
    }
}

/// Logs in a folder of pstore that are not older than the cycle, newest first.
fn kept(root: &Root, folder: &str, at: u64) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_string()];
    while let Some(folder) = folders.pop() {
        folders.extend(root.folders(&folder));
        for name in root.list(&folder).into_iter().filter(|n| is_log(n)) {
            files.push(format!("{folder}/{name}"));
        }
    }
    let mut found: Vec<_> = files
        .into_iter()
        .filter_map(|path| {
            let place = root.resolve(&path);
            let written = fs::metadata(&place).ok()?.modified().ok()?;
            (written >= UNIX_EPOCH + Duration::from_secs(at)).then_some(())?;
            Some((written, path, fs::read(&place).ok()?))
        })
        .collect();
    found.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    found.into_iter().map(|(_, path, text)| (path, text)).collect()
}

fn is_log(name: &str) -> bool {
    name.starts_with("dmesg") || name.starts_with("console")
}

/// The log of the kernel of a boot, from systemd's journal; none of a made-up machine.
fn journal(root: &Root, boot_id: &str) -> Option<(String, Vec<u8>)> {
    let boot_id: String = boot_id.chars().filter(char::is_ascii_hexdigit).collect();
    if root.resolve("/") != Path::new("/") || boot_id.len() != 32 {
        return None;
    }
    let words = ["-b", &boot_id, "-k", "-o", "short-monotonic", "--no-pager", "-n", "4000"];
    let out = Command::new("journalctl").args(words).stdin(Stdio::null()).output().ok()?;
    (out.status.success() && !out.stdout.is_empty()).then(|| ("the journal".into(), out.stdout))
}

/// What begins behind each message of a sleep, in the words of `Phase::label`: kernel/power/
/// suspend.c, process.c, drivers/base/power/main.c, kernel/cpu.c, drivers/acpi/sleep.c, 6.12.
const MESSAGES: [(&str, &str); 14] = [
    ("PM: suspend entry", "sync"),
    ("Freezing user space processes", "freeze"),
    ("Freezing remaining freezable tasks", "prepare"),
    ("uspending console(s)", "suspend"),
    ("suspend of devices complete", "late suspend"),
    ("late suspend of devices complete", "noirq suspend"),
    ("noirq suspend of devices complete", "firmware or asleep"),
    ("Disabling non-boot CPUs", "CPUs off"),
    ("Waking up from system sleep state", "CPUs on"),
    ("Enabling non-boot CPUs", "CPUs on"),
    ("noirq resume of devices complete", "early resume"),
    ("early resume of devices complete", "resume"),
    ("resume of devices complete", "complete"),
    ("Restarting tasks", "thaw"),
];

/// The phase and the device that a log of a sleep ends in; none if its last sleep came back, or
/// if it has none.
fn last_words(text: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let (mut inside, mut phase) = (false, None);
    let (mut open, mut overdue) = (Vec::new(), None);
    for line in String::from_utf8_lossy(text).lines() {
        // The longest message that fits: `noirq resume …` ends as `resume …` does.
        let said = MESSAGES.iter().filter(|(m, _)| line.contains(m)).max_by_key(|(m, _)| m.len());
        if let Some((message, next)) = said {
            if *message == MESSAGES[0].0 {
                inside = true;
                open.clear();
            }
            phase = Some((*next).to_string());
        }
        inside &= !line.contains("PM: suspend exit");
        if let Some((device, function)) = call(line) {
            open.retain(|d| *d != device);
            if let Some(function) = function {
                open.push(device);
                phase = phase_of(function).map(str::to_string).or(phase);
            }
        }
        // `mmc0: **** DPM device timeout ****` (dpm_watchdog_handler of
        // drivers/base/power/main.c, 6.12).
        if let Some((head, _)) = line.split_once(": **** DPM device timeout") {
            overdue = head.rsplit(' ').next().map(str::to_string);
        }
    }
    (inside || overdue.is_some()).then(|| (phase, overdue.or(open.pop())))
}

/// The device of a line of initcall_debug, and the function that is called, if it did not
/// return. `DRIVER NAME: PM: calling FUNCTION @ PID, parent: P` and `DRIVER NAME: PM: FUNCTION
/// returned 0 after N usecs` since 4.17, before that `calling  NAME+ @ PID, parent: P` and `call
/// NAME+ returned 0 after …`.
fn call(line: &str) -> Option<(String, Option<&str>)> {
    let returned = line.contains(" returned ") && line.contains(" after ");
    let called = line.contains("calling ") && line.contains(", parent: ");
    if !returned && !called {
        return None;
    }
    let name = match line.split_once(": PM: ") {
        Some((head, _)) => head.rsplit(' ').next()?,
        None => line.split_once("+ ")?.0.rsplit(' ').next()?,
    };
    let function = line.split_once("calling ").map(|(_, f)| f.split(" @ ").next().unwrap_or(f));
    Some((name.to_string(), function.filter(|_| !returned)))
}

/// The phase of a callback, by the name that its kind has everywhere (include/linux/pm.h, 6.12).
fn phase_of(function: &str) -> Option<&'static str> {
    let of = [
        ("suspend_noirq", "noirq suspend"),
        ("suspend_late", "late suspend"),
        ("resume_noirq", "noirq resume"),
        ("resume_early", "early resume"),
        ("suspend", "suspend"),
        ("resume", "resume"),
        ("prepare", "prepare"),
        ("complete", "complete"),
    ];
    of.into_iter().find(|(kind, _)| function.ends_with(kind)).map(|(_, phase)| phase)
}
