//! What only an operating system has. The page that reads is built without one (`wasm32-wasip1`):
//! there nobody is root, no signal comes, and nothing was started that could be ended. All else
//! in this crate is the same for both.

#[cfg(not(unix))]
pub(crate) use none::*;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(unix)]
mod unix {
    use rustix::fs::{AtFlags, OFlags, StatxFlags};
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, geteuid, getpid, kill_process};
    use rustix::time::{ClockId, clock_gettime};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Child, ExitStatus};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    pub(crate) fn is_root() -> bool {
        geteuid().is_root()
    }

    /// Sets `flag` at Ctrl-C, `kill` and the end of the terminal.
    pub(crate) fn flag_on_signals(flag: &Arc<AtomicBool>) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
        Ok(())
    }

    /// The call that costs the kernel least.
    pub(crate) fn call() {
        let _ = rustix::process::getppid();
    }

    /// Ends this process at once.
    pub(crate) fn die() {
        let _ = kill_process(getpid(), Signal::KILL);
    }

    /// Asks a child to end.
    pub(crate) fn ask_to_end(child: &Child) {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// The signal that ended a child.
    pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
        status.signal()
    }

    pub(crate) fn make_executable(path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }

    /// Options for a file whose reads do not wait.
    pub(crate) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags(OFlags::NONBLOCK.bits() as i32)
    }

    /// The folder at `place`, and the number of its mount where the kernel says it (since 5.8).
    pub(crate) fn folder(place: &Path) -> Option<(File, Option<u64>)> {
        let flags = OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let flags = flags.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(place).ok()?;
        let seen = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
        let told = seen.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Some((file, told.then_some(seen.stx_mnt_id)))
    }

    /// Syncs the file system of standard input.
    pub(crate) fn sync_standard_input() -> io::Result<()> {
        Ok(rustix::fs::syncfs(rustix::stdio::stdin())?)
    }

    pub(crate) const INTERRUPTED: i32 = Errno::INTR.raw_os_error();
    pub(crate) const INVALID: i32 = Errno::INVAL.raw_os_error();

    pub(crate) fn page_size() -> u64 {
        rustix::param::page_size() as u64
    }

    /// The number of a file; sysfs gives it in the order in which files were made.
    pub(crate) fn number_of(file: &Metadata) -> u64 {
        file.ino()
    }

    fn now(clock: ClockId) -> i64 {
        let t = clock_gettime(clock);
        t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec)
    }

    pub(crate) fn monotonic() -> i64 {
        now(ClockId::Monotonic)
    }

    pub(crate) fn boottime() -> i64 {
        now(ClockId::Boottime)
    }

    pub(crate) fn realtime() -> i64 {
        now(ClockId::Realtime)
    }
}

#[cfg(not(unix))]
mod none {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;
    use std::process::{Child, ExitStatus};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    pub(crate) fn is_root() -> bool {
        false
    }

    pub(crate) fn flag_on_signals(_: &Arc<AtomicBool>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn call() {}

    pub(crate) fn die() {}

    pub(crate) fn ask_to_end(_: &Child) {}

    pub(crate) fn signal_of(_: ExitStatus) -> Option<i32> {
        None
    }

    pub(crate) fn make_executable(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(crate) fn folder(_: &Path) -> Option<(File, Option<u64>)> {
        None
    }

    pub(crate) fn sync_standard_input() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) const INTERRUPTED: i32 = 4;
    pub(crate) const INVALID: i32 = 22;

    pub(crate) fn page_size() -> u64 {
        4_096
    }

    pub(crate) fn number_of(_: &Metadata) -> u64 {
        0
    }

    pub(crate) fn monotonic() -> i64 {
        0
    }

    pub(crate) fn boottime() -> i64 {
        0
    }

    pub(crate) fn realtime() -> i64 {
        0
    }
}
