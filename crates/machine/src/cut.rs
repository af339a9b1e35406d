//! What is known of a cycle that never ended: by the recorder's own marks, and by what kernels
//! keep over a restart.

use crate::root::Root;
use dormouse_base::cycle::Last;
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
pub struct Begun {
    /// Seconds of the epoch.
    pub at: u64,
    /// By then another boot ran, seconds of the epoch, if that is known.
    pub until: Option<u64>,
    /// The boot that it was in.
    pub boot_id: String,
    /// `/sys/power/pm_trace` was 1.
    pub pm_trace: bool,
}

/// What finds the last words in a log: nothing if its last sleep came back.
pub type LastWords = fn(&[u8]) -> Option<Last>;

/// Adds what was kept over the restart of a cycle that began so.
pub fn told(root: &Root, cut: Cut, begun: &Begun, last_words: LastWords) -> Cut {
    let logs = PSTORE.iter().flat_map(|folder| kept(root, folder, begun));
    let texts = logs.chain(journal(root, &begun.boot_id));
    for (by, text) in texts {
        if let Some(Last { phase, device }) = last_words(&text) {
            let phase = phase.map(|p| p.title().to_string());
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
fn kept(root: &Root, folder: &str, begun: &Begun) -> Vec<(String, Vec<u8>)> {
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
            let at = |s: u64| UNIX_EPOCH.checked_add(Duration::from_secs(s));
            let is_late = begun.until.and_then(at).is_some_and(|t| written > t);
            (written >= at(begun.at)? && !is_late).then_some(())?;
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
