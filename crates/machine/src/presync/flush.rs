//! File systems, opened at the start and synced by children: whoever calls `syncfs`
//! can neither be stopped nor killed until it returns, so it must not be this process.

use super::mount::{Mount, Skipped, Why};
use crate::root::Root;
use crate::system;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// All that opening may take together: the way to a mount may ask a server that is
/// not in the list of mounts.
const OPENING: Duration = Duration::from_millis(500);

/// A file system that a child can sync.
#[derive(Debug)]
pub struct Open {
    /// Its mount.
    pub mount: Mount,
    /// A folder of it. What could not be written since it was opened, `syncfs` on it
    /// reports (fs/sync.c:syncfs, errseq_check_and_advance, 6.12).
    file: File,
}

/// Opens each mount, by a thread that may hang.
pub fn open(root: &Root, mounts: Vec<Mount>, skipped: &mut Vec<Skipped>) -> Vec<Open> {
    let (tell, told) = mpsc::channel();
    let wanted: Vec<_> = mounts.iter().map(|m| (m.id, root.resolve(&m.at))).collect();
    thread::spawn(move || {
        for (i, (id, place)) in wanted.into_iter().enumerate() {
            if tell.send((i, open_one(&place, id))).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + OPENING;
    let mut files: Vec<Option<File>> = mounts.iter().map(|_| None).collect();
    for _ in 0..mounts.len() {
        match told.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((i, file)) => files[i] = file,
            Err(_) => break,
        }
    }
    let mut out = Vec::new();
    for (mount, file) in mounts.into_iter().zip(files) {
        match file {
            Some(file) => out.push(Open { mount, file }),
            None => {
                skipped.push(Skipped { at: mount.at, kind: mount.kind, why: Why::NotOpened });
            }
        }
    }
    out
}

/// The folder at `place`, if it is that of the mount with number `id`: another file system
/// may lie on top.
fn open_one(place: &Path, id: u64) -> Option<File> {
    let (file, mount) = system::folder(place)?;
    mount.is_none_or(|m| m == id).then_some(file)
}

/// How a child is started: the program and its first arguments. Standard input is the
/// folder, and the exit code is the error number.
#[derive(Clone, Debug)]
pub struct Program(pub Vec<String>);

/// What became of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It has not come back.
    Running,
    /// Everything is written, after so long.
    Written(Duration),
    /// Something was not: the error number.
    Failed(i32),
}

/// A child at work.
#[derive(Debug)]
pub struct Flush {
    /// The mount.
    pub mount: Mount,
    /// What became of it.
    pub done: Done,
    child: Option<Child>,
    begin: Instant,
}

impl Flush {
    /// Starts the child.
    pub fn start(open: Open, program: &Program) -> Flush {
        let begin = Instant::now();
        let (first, rest) = program.0.split_first().map_or(("", &[][..]), |(f, r)| (f, r));
        // Of what is ours it keeps the folder alone: whoever reads our output does not
        // wait for it.
        let child = Command::new(first)
            .args(rest)
            .stdin(Stdio::from(open.file))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let (child, done) = match child {
            Ok(child) => (Some(child), Done::Running),
            Err(e) => (None, Done::Failed(e.raw_os_error().unwrap_or(0))),
        };
        Flush { mount: open.mount, done, child, begin }
    }

    /// Looks whether it has come back.
    pub fn look(&mut self) {
        let Some(child) = &mut self.child else { return };
        let Ok(Some(status)) = child.try_wait() else { return };
        self.done = match status.code() {
            Some(0) => Done::Written(self.begin.elapsed()),
            Some(code) => Done::Failed(code),
            // Whoever killed it, its data may not be written.
            None => Done::Failed(system::INTERRUPTED),
        };
        self.child = None;
    }
}

/// What a child does: syncs the file system of standard input. The error number.
pub fn child() -> i32 {
    match system::sync_standard_input() {
        Ok(()) => 0,
        Err(e) => e.raw_os_error().unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{AtFlags, StatxFlags};

    fn mount(at: &str, id: u64) -> Mount {
        let [device, kind] = ["8:1", "ext4"].map(String::from);
        Mount { id, parent: 1, device, at: at.into(), kind, writable: true }
    }

    fn ends(program: &[&str]) -> Done {
        let dir = tempfile::tempdir().unwrap();
        let open = Open { mount: mount("/", 1), file: File::open(dir.path()).unwrap() };
        let program = Program(program.iter().map(ToString::to_string).collect());
        let mut flush = Flush::start(open, &program);
        let begin = Instant::now();
        while flush.done == Done::Running && begin.elapsed() < Duration::from_secs(20) {
            flush.look();
        }
        flush.done
    }

    #[test]
    fn a_child_tells_by_its_exit_code() {
        assert!(matches!(ends(&["/bin/true"]), Done::Written(_)));
        assert_eq!(ends(&["/bin/sh", "-c", "exit 28"]), Done::Failed(28));
        assert_eq!(ends(&["/bin/sh", "-c", "kill -9 $$"]), Done::Failed(4));
        assert_eq!(ends(&["/nowhere/at/all"]), Done::Failed(2));
        // Its input is the folder.
        assert!(matches!(ends(&["/bin/sh", "-c", "test -d /proc/self/fd/0"]), Done::Written(_)));
    }

    #[test]
    fn only_the_mount_that_is_meant_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let root = Root::below(dir.path());
        let file = File::open(dir.path()).unwrap();
        let seen = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).unwrap();
        let wanted =
            vec![mount("/a", seen.stx_mnt_id), mount("/a", u64::MAX), mount("/b", seen.stx_mnt_id)];
        let mut skipped = Vec::new();
        let open = open(&root, wanted, &mut skipped);
        assert_eq!(open.len(), 1);
        let skipped: Vec<_> = skipped.iter().map(|s| (s.at.as_str(), s.why)).collect();
        assert_eq!(skipped, [("/a", Why::NotOpened), ("/b", Why::NotOpened)]);
    }
}
