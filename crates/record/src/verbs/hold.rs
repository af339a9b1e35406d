//! `dormouse hold`: a limit while a command runs.

use super::restore;
use crate::exit::Ended;
use crate::number::{cpus, time};
use anyhow::Result;
use clap::Args;
use dormouse_idle::knob::{dma_latency, resume_latency};
use dormouse_machine::guard::NoObserver;
use dormouse_machine::hold::{Hold, MACHINE, WAKEUP_LIMIT, hold};
use dormouse_machine::journal;
use dormouse_machine::process::{code_of, stop_on_signal};
use dormouse_machine::root::Root;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Hold a limit on exit latencies while a command runs.
///
/// For the whole machine through /dev/cpu_dma_latency (with --s2idle through
/// /dev/cpu_wakeup_latency of kernel 7.x, which s2idle keeps too), or for the CPUs of a list
/// through their power/pm_qos_resume_latency_us, which are put back afterwards;
/// if this is killed, `dormouse restore` does it. Ends with the exit code of the
/// command, or 128 and the signal that ended it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse hold --latency 20us -- cyclictest -m -p 80 -D 60\n  dormouse hold --latency 0 --cpus 2-3 -- ./control"
)]
pub struct HoldArgs {
    /// Largest exit latency; 0 leaves state 0 only, which on x86 spins.
    #[arg(long, value_name = "TIME", value_parser = time)]
    latency: i64,
    /// CPUs that it holds for, such as 2-3,7; all if absent.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Let the limit hold in s2idle too.
    #[arg(long, hide = true, conflicts_with = "cpus")]
    s2idle: bool,
    /// The command.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Folder of the journal.
    #[arg(long, value_name = "DIR", hide = true, default_value = journal::FOLDER)]
    journal: String,
    /// Look for /sys and /dev below DIR (for tests).
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    root: PathBuf,
}

/// Runs the verb, which ends as its command did.
///
/// # Errors
/// If the limit cannot be held or put back, or the command failed.
pub fn run(args: &HoldArgs) -> Result<()> {
    let what = match &args.cpus {
        None => {
            let file = if args.s2idle { WAKEUP_LIMIT } else { MACHINE };
            Hold::Machine(file, dma_latency(args.latency))
        }
        Some(list) => {
            let usage = dormouse_base::failure::Usage;
            Hold::Cpus(cpus(list).map_err(usage)?, resume_latency(args.latency))
        }
    };
    let stop = stop_on_signal()?;
    let root = Root::below(&args.root);
    let (status, restored) =
        hold(&root, &args.journal, &what, &args.command, &stop, &mut NoObserver)?;
    if let Some(restored) = &restored {
        restore::complain(restored)?;
    }
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Ended(code).into()),
    }
}

/// As a shell says how a command ended: its exit code, or 128 and the signal
/// that ended it (POSIX, shell command language, 2.8.2).
fn exit_code(status: ExitStatus) -> u8 {
    let code = code_of(status);
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_command_that_a_signal_ends_has_the_code_that_a_shell_gives() {
        // wait(2): the low seven bits are the signal, the next eight the code.
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(2)), 130);
    }
}
