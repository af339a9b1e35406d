//! udev at work: rules, the daemon, and what they make of `power/async`.

use super::Result;
use super::out::Out;
use super::system;
use crate::plan::Trial;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const RULES: &str = "/etc/udev/rules.d/90-dormouse-async.rules";
const DAEMON: &str = "/usr/lib/systemd/systemd-udevd";
const ADMIN: &str = "/usr/bin/udevadm";
const ANNOUNCE: &str = "/sys/kernel/debug/dormouse/uevents";

/// Starts udev with the rules of `trial`, lets its board appear, triggers, and
/// sends the flags after each; then ends udev and takes the board away.
pub fn run(trial: &Trial, dir: &Path, out: &mut Out) -> Result<()> {
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
    said += &program(ADMIN, &["control", "--exit"])?;
    out.send(&format!("udev {}", trial.name), said.as_bytes())?;
    system::build_board(b"clear")?;
    system::write(ANNOUNCE, "0")
}

/// Runs a program to its end and gives what it printed.
fn program(path: &str, args: &[&str]) -> Result<String> {
    let say = |e: &dyn std::fmt::Display| format!("{path} {args:?}: {e}");
    // To a file: the daemon would hold a pipe open for as long as it lives.
    let log = "/run/said";
    let file = fs::File::create(log).map_err(|e| say(&e))?;
    let other = file.try_clone().map_err(|e| say(&e))?;
    let status = Command::new(path)
        .args(args)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(other)
        .status()
        .map_err(|e| say(&e))?;
    let text = fs::read_to_string(log).unwrap_or_default();
    if status.success() { Ok(text) } else { Err(say(&format!("{status}: {text}"))) }
}

/// A line for each device that has the flag: its path below `/sys`, and the
/// flag.
fn flags() -> String {
    let mut lines = Vec::new();
    let mut left = vec![Path::new("/sys/devices").to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                left.push(entry.path());
            }
        }
        if let Ok(flag) = fs::read_to_string(dir.join("power/async")) {
            let path = dir.to_string_lossy();
            lines.push(format!("{} {}\n", path.trim_start_matches("/sys"), flag.trim_end()));
        }
    }
    lines.sort_unstable();
    lines.concat()
}
