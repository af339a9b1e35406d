//! udev at work: rules, the daemon, and what they make of `power/async`.

use super::out::Out;
use super::system::Result;
use super::system::{self, program};
use crate::plan::Trial;
use std::fs;
use std::path::Path;

const RULES: &str = "/etc/udev/rules.d/90-dormouse-async.rules";
const DAEMON: &str = "/usr/lib/systemd/systemd-udevd";
const ADMIN: &str = "/usr/bin/udevadm";
const ANNOUNCE: &str = "/sys/kernel/debug/dormouse/uevents";

/// Starts udev with the rules of `trial`, lets its board appear, triggers, and
/// sends the flags after each; then ends udev and takes the board away.
pub(super) fn run(trial: &Trial, dir: &Path, out: &mut Out) -> Result<()> {
    let rules = system::read(&dir.join(&trial.rules))?;
    fs::write(RULES, rules).map_err(|e| format!("{RULES}: {e}"))?;
    let mut said = program(DAEMON, &["--daemon"])?;
    system::write(ANNOUNCE, "1")?;
    system::build_board(&system::read(&dir.join(&trial.description))?)?;
    said += &program(ADMIN, &["settle"])?;
    out.send(&format!("appeared {}", trial.name), flags().as_bytes())?;
    said += &program(ADMIN, &["trigger", "--action=add"])?;
    said += &program(ADMIN, &["settle"])?;
    out.send(&format!("triggered {}", trial.name), flags().as_bytes())?;
    out.send(&format!("drivers {}", trial.name), drivers().as_bytes())?;
    said += &program(ADMIN, &["control", "--exit"])?;
    out.send(&format!("udev {}", trial.name), said.as_bytes())?;
    system::build_board(b"clear")?;
    system::write(ANNOUNCE, "0")
}

/// A line for each device that has the flag: its path below `/sys`, a tab, the
/// flag.
fn flags() -> String {
    of_devices(|dir| Some(fs::read_to_string(dir.join("power/async")).ok()?.trim_end().to_owned()))
}

/// A line for each device that has a driver: its path below `/sys`, a tab, the
/// driver.
pub(super) fn drivers() -> String {
    of_devices(|dir| {
        let driver = fs::read_link(dir.join("driver")).ok()?;
        Some(driver.file_name()?.to_string_lossy().into_owned())
    })
}

/// What is to be said of each device, by path.
fn of_devices(say: impl Fn(&Path) -> Option<String>) -> String {
    let mut lines = Vec::new();
    let mut left = vec![Path::new("/sys/devices").to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                left.push(entry.path());
            }
        }
        if let Some(word) = say(&dir) {
            let path = dir.to_string_lossy();
            lines.push(format!("{}\t{word}\n", path.trim_start_matches("/sys")));
        }
    }
    lines.sort_unstable();
    lines.concat()
}
