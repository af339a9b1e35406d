//! Disks of a guest: modules, file systems, and the sleep that comes after.

use rustix::mount::{MountFlags, mount};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Loads the modules of `/modules` in their order: up to the one called `last`, or
/// those that come after what was loaded before.
pub(crate) fn insert(last: &str, words: &CStr) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir("/modules")?.flatten().map(|e| e.path()).collect();
    names.sort();
    for path in names {
        let is_last = path.to_string_lossy().ends_with(&format!("-{last}.ko"));
        let file = File::open(&path)?;
        match rustix::system::finit_module(&file, if is_last { words } else { c"" }, 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(io::Error::other(format!("{}: {e}", path.display()))),
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Mounts.
pub(crate) fn mount_at(kind: &str, what: &str, at: &str, data: Option<&str>) -> io::Result<()> {
    let data = data.map(CString::new).transpose()?;
    mount(what, at, kind, MountFlags::empty(), data.as_deref()).map_err(io::Error::from)
}

/// Size of a block of `/fs.blocks`.
const BLOCK: usize = 4_096;

/// Writes what a file system's making leaves on a disk: blocks, each behind its number.
#[allow(dead_code, reason = "one guest has a disk that is made outside")]
pub(crate) fn lay_out(blocks: &Path, disk: &Path) -> io::Result<()> {
    let bytes = fs::read(blocks)?;
    let disk = File::options().write(true).open(disk)?;
    for one in bytes.chunks_exact(8 + BLOCK) {
        let (number, block) = one.split_at(8);
        let number = u64::from_le_bytes(number.try_into().expect("eight bytes"));
        disk.write_all_at(block, number * BLOCK as u64)?;
    }
    disk.sync_all()
}

/// The kernel's log.
#[allow(dead_code, reason = "one guest does not read it")]
pub(crate) fn log() -> String {
    let mut out = String::new();
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let Ok(fd) = rustix::fs::open("/dev/kmsg", flags, rustix::fs::Mode::empty()) else {
        return out;
    };
    let mut file = File::from(fd);
    let mut buffer = vec![0; 16 << 10];
    while let Ok(n) = file.read(&mut buffer) {
        if n == 0 {
            break;
        }
        out += &String::from_utf8_lossy(&buffer[..n]);
    }
    out
}

/// Asks for a sleep; what comes of it depends on `pm_test`.
pub(crate) fn suspend() -> io::Result<()> {
    File::options().write(true).open("/sys/power/state")?.write_all(b"freeze")
}
