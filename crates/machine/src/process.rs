//! This process: who it is, what signals it got, and how it may end.

use crate::guard::{Observer, Step};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether this process may write knobs.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A flag that becomes true at Ctrl-C, `kill` or the end of the terminal,
/// none of which then ends the process.
pub fn stop_on_signal() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
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
                let me = rustix::process::getpid();
                let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
            }
            self.seen += 1;
        }
        self.opened += u64::from(*step == Step::OpenJournal);
        Ok(())
    }
}
