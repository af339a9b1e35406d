//! A limit on exit latencies that holds while a command runs.

use crate::guard::{Error, Guard, Observer, Restored};
use crate::root::Root;
use crate::system;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where a limit for the whole machine is held (kernel/power/qos.c): as long as
/// the file is open.
pub const MACHINE: &str = "/dev/cpu_dma_latency";

/// The same, and s2idle keeps it too (kernel/sched/idle.c, 7.3).
pub use crate::machine::WAKEUP_LIMIT;

/// Where the limit of one CPU is set.
pub fn of_cpu(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// What is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Four bytes into [`MACHINE`] or [`WAKEUP_LIMIT`].
    Machine(&'static str, [u8; 4]),
    /// A text into the file of each CPU.
    Cpus(Vec<u32>, String),
}

/// Why nothing was held.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// The limit could not be set; what had been set is put back.
    #[error(transparent)]
    Guard(#[from] Error),
    /// The file of the machine cannot be opened or written.
    #[error("cannot hold a limit with {0}: {1}")]
    Machine(&'static str, io::Error),
    /// The command cannot be run.
    #[error("cannot run {command}: {source}")]
    Command {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
}

/// How often the command and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Holds the limit while `command` runs; `stop` asks it to end. Returns how it
/// ended, and what could be put back.
///
/// # Errors
/// If the limit cannot be set or the command not started.
pub fn hold(
    root: &Root,
    journal: &str,
    what: &Hold,
    command: &[String],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(ExitStatus, Option<Restored>), NotHeld> {
    match what {
        Hold::Machine(path, bytes) => {
            let open = machine(root, path, bytes).map_err(|e| NotHeld::Machine(path, e))?;
            let status = run(command, stop);
            drop(open);
            Ok((status?, None))
        }
        Hold::Cpus(cpus, text) => {
            let mut guard = Guard::begin(root, journal, observer)?;
            for &cpu in cpus {
                // A guard that is dropped puts back.
                guard.set(&of_cpu(cpu), text)?;
            }
            let status = run(command, stop);
            let restored = guard.end();
            Ok((status?, Some(restored)))
        }
    }
}

/// One write of four bytes: the kernel takes another length for text.
fn machine(root: &Root, path: &str, bytes: &[u8; 4]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(root.resolve(path))?;
    match file.write(bytes)? {
        4 => Ok(file),
        n => Err(io::Error::other(format!("{n} of 4 bytes were taken"))),
    }
}

fn run(command: &[String], stop: &AtomicBool) -> Result<ExitStatus, NotHeld> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let failed = |source| NotHeld::Command { command: program.into(), source };
    let mut child =
        Command::new(program).args(command.get(1..).unwrap_or_default()).spawn().map_err(failed)?;
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) && !asked {
            asked = true;
            system::ask_to_end(&child);
        }
        std::thread::sleep(LOOK);
    }
}
