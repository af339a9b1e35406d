//! This process: who it is, what signals it got, and how it may end.

use crate::guard::{Observer, Step};
use crate::system;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether this process may write knobs.
pub fn is_root() -> bool {
    system::is_root()
}

/// A flag that becomes true at Ctrl-C, `kill` or the end of the terminal,
/// none of which then ends the process.
pub fn stop_on_signal() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    system::flag_on_signals(&flag)?;
    Ok(flag)
}

/// The exit code of a child as a shell has it: 128 and the number of the signal that ended it.
pub fn code_of(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| system::signal_of(status).map(|s| 128 + s))
}

/// Lets everybody execute a file.
///
/// # Errors
/// If it may not be changed.
pub fn make_executable(path: &Path) -> io::Result<()> {
    system::make_executable(path)
}

/// Test aid: kills this process with SIGKILL just before its step number `at`
/// (from 0), to show that `dormouse restore` puts everything back.
#[derive(Debug)]
pub struct CrashAt {
    journal: u64,
    step: u64,
    opened: u64,
    seen: u64,
}

impl CrashAt {
    /// Reads `STEP` or `JOURNAL.STEP`: dies before that step, from 0, after the
    /// journal was opened so many times; without it, of all steps.
    pub fn parse(text: &str) -> Option<CrashAt> {
        let (journal, step) = text.split_once('.').unwrap_or(("0", text));
        let (journal, step) = (journal.parse().ok()?, step.parse().ok()?);
        Some(CrashAt { journal, step, opened: 0, seen: 0 })
    }
}

impl Observer for CrashAt {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if self.opened >= self.journal {
            if self.seen == self.step {
                system::die();
            }
            self.seen += 1;
        }
        self.opened += u64::from(*step == Step::OpenJournal);
        Ok(())
    }
}
