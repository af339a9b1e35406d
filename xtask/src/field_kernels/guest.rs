//! A guest that carries a plan out, and what it sends.

use super::plan::Sleep;
use anyhow::{Context, Result};
use dormouse_base::time::Ns;
use dormouse_dress::{Line, lines_of};
use dormouse_lab::initramfs::Initramfs;
use dormouse_lab::kernels;
use dormouse_lab::kmod;
use dormouse_lab::qemu::{Accel, Arch, Attend, Machine, boot as start};
use std::path::Path;
use std::time::Duration;

/// Wall time after which a guest is given up.
const LIMIT: Duration = Duration::from_secs(3_000);

/// A sleep, its log, and what the guest measured of it.
#[derive(Clone, Debug)]
pub(super) struct Slept {
    /// Its place in the plan.
    pub(super) id: usize,
    /// What it met.
    pub(super) sleep: Sleep,
    /// What the write to /sys/power/state gave: 0, or an error; nothing if it never came
    /// back.
    pub(super) code: Option<i32>,
    /// Steps of the kernel, with event and length.
    pub(super) measured: Vec<(String, i32, Ns)>,
    /// The log.
    pub(super) lines: Vec<Line>,
}

/// Boots a guest that carries `plan` out, and gives all that it sent.
pub(super) fn boot(programs: &str, series: &str, plan: &[Sleep]) -> Result<String> {
    let kernel = kernels::get(Arch::Amd64, series)?;
    let mut archive = Initramfs::default();
    for dir in ["/proc", "/sys", "/dev", "/run", "/tmp", "/modules"] {
        archive.directory(dir);
    }
    archive.device("/dev/console", 5, 1);
    let read = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    archive.file("/init", 0o755, &read(&Path::new(programs).join("examples/trouble_guest"))?);
    archive.file("/trouble.ko", 0o644, &read(&kmod::trouble(&kernel)?)?);
    let words: String = plan.iter().enumerate().map(|(i, s)| s.line(i)).collect();
    archive.file("/plan", 0o644, words.as_bytes());
    // Events of traces can be lines of the log.
    let words = "tp_printk".into();
    let machine = Machine { words, ..Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release) };
    let attend = Attend { wake: true, cut: None, disk_mb: None, drives: &[], limit: LIMIT };
    let output = start(&machine, &kernel.image, &archive.finish(), attend)?;
    eprintln!("a guest of {series}: {:.0} s", output.took.as_secs_f64());
    let sent = String::from_utf8_lossy(&output.results).replace('\r', "");
    let console = output.console.replace('\r', "");
    for line in console.lines().filter(|l| l.starts_with("NOT")) {
        eprintln!("{line}");
    }
    Ok(sent + &console)
}

/// The sleeps of `plan` of which the guest sent a log.
pub(super) fn slept(plan: &[Sleep], sent: &str) -> Vec<Slept> {
    let mut out: Vec<Slept> = Vec::new();
    let mut open = false;
    let mut frozen = false;
    let mut lines = sent.lines();
    while let Some(line) = lines.next() {
        if let Some(id) = line.strip_prefix("BEGIN ").and_then(|i| i.parse::<usize>().ok()) {
            let rest: Vec<&str> = lines.by_ref().collect();
            let log = lines_of(&rest.join("\n"));
            // A plan may be read anew with another number of sleeps.
            let Some(sleep) = plan.get(id).filter(|s| s.is_fatal()).cloned() else { break };
            out.push(Slept { id, sleep, code: None, measured: Vec::new(), lines: log });
            break;
        }
        if let Some(head) = line.strip_prefix('#') {
            let Some((id, code)) = head.split_once(' ') else { continue };
            let (Ok(id), Ok(code)) = (id.parse::<usize>(), code.parse()) else { continue };
            let Some(sleep) = plan.get(id).cloned() else { continue };
            let (measured, lines) = (Vec::new(), Vec::new());
            out.push(Slept { id, sleep, code: Some(code), measured, lines });
            (open, frozen) = (true, false);
        } else if line == "END" {
            open = false;
        } else if let Some(last) = out.last_mut().filter(|_| open) {
            if let Some(row) = line.strip_prefix("M ") {
                last.measured.extend(measured(row));
            } else if let Some(mut line) = line.strip_prefix("L ").and_then(logged) {
                frozen |= line.text.starts_with("Freezing user space processes completed");
                frozen &= !line.text.starts_with("Restarting tasks");
                line.frozen = frozen;
                last.lines.push(line);
            }
        }
    }
    out.retain(|s| !s.lines.is_empty());
    out
}

/// `dpm_suspend 2 BEGIN END`.
fn measured(row: &str) -> Option<(String, i32, Ns)> {
    let words: Vec<&str> = row.split(' ').collect();
    let [name, event, begin, end] = words[..] else { return None };
    let (begin, end) = (begin.parse::<i64>().ok()?, end.parse::<i64>().ok()?);
    (end > begin).then(|| Some((name.to_string(), event.parse().ok()?, Ns(end - begin))))?
}

/// `LEVEL MICROSECONDS TEXT`.
fn logged(row: &str) -> Option<Line> {
    let (level, rest) = row.split_once(' ')?;
    let (us, text) = rest.split_once(' ')?;
    let time = Ns(us.parse::<i64>().ok()? * 1_000);
    Some(Line { time, level: level.parse().ok()?, thread: 1, frozen: false, text: text.into() })
}
