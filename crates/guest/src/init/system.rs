//! Small dealings with the guest's kernel.

use crate::plan::DISK_MODULES;
use rustix::mount::{MountFlags, mount};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What went wrong in the guest, in words.
pub(super) type Result<T> = std::result::Result<T, String>;

const BOARD: &str = "/sys/kernel/debug/dormouse/board";

/// Mounts what the guest needs. Mount points are in the initramfs or made.
pub(crate) fn mount_all() -> Result<()> {
    for (what, at, kind) in [
        ("proc", "/proc", "proc"),
        ("sysfs", "/sys", "sysfs"),
        ("devtmpfs", "/dev", "devtmpfs"),
        ("debugfs", "/sys/kernel/debug", "debugfs"),
        ("tracefs", "/sys/kernel/tracing", "tracefs"),
        ("tmpfs", "/tmp", "tmpfs"),
    ] {
        let _ = fs::create_dir_all(at);
        match mount(what, at, kind, MountFlags::empty(), None) {
            // The kernel mounts devtmpfs itself if it is configured so.
            Ok(()) | Err(rustix::io::Errno::BUSY) => {}
            Err(e) => return Err(format!("mount {at}: {e}")),
        }
    }
    Ok(())
}

/// Whole file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Text of a small file without the line end; empty if it cannot be read.
pub(crate) fn read_text(path: &str) -> String {
    fs::read_to_string(path).map(|s| s.trim_end().to_owned()).unwrap_or_default()
}

/// One write of the whole text.
pub(super) fn write(path: &str, text: &str) -> Result<()> {
    let say = |e: std::io::Error| format!("{path}: {e} (writing {text})");
    let mut f = OpenOptions::new().write(true).open(path).map_err(say)?;
    f.write_all(text.as_bytes()).map_err(say)
}

/// Loads the module in `path`.
pub(crate) fn load_module(path: &Path) -> Result<()> {
    load_module_with(path, "")
}

/// Loads the module in `path` with these parameters.
pub(crate) fn load_module_with(path: &Path, parameters: &str) -> Result<()> {
    let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let file = File::open(path).map_err(|e| say(&e))?;
    let parameters = CString::new(parameters).map_err(|e| say(&e))?;
    rustix::system::finit_module(&file, &parameters, 0).map_err(|e| say(&e))
}

/// The guest's only disk.
pub(super) const DISK: &str = "/dev/vda";

/// Loads the driver of the disk, where it is no part of the kernel, and waits for the
/// disk.
pub(super) fn disk(dir: &Path) -> Result<()> {
    for i in 0.. {
        let driver = dir.join(format!("{DISK_MODULES}{i}.ko"));
        if !driver.exists() {
            break;
        }
        load_module(&driver)?;
    }
    // The driver is asked in the background whether it knows the device.
    for _ in 0..500 {
        if Path::new(DISK).exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{DISK}: it does not come up"))
}

/// Unloads a module.
pub(crate) fn unload_module(name: &str) -> Result<()> {
    let c = CString::new(name).map_err(|e| e.to_string())?;
    rustix::system::delete_module(&c, rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .map_err(|e| format!("unload {name}: {e}"))
}

/// Gives a description to the module in one write, as it wants it.
pub(crate) fn build_board(text: &[u8]) -> Result<()> {
    let mut f = OpenOptions::new().write(true).open(BOARD).map_err(|e| format!("{BOARD}: {e}"))?;
    match f.write(text) {
        Ok(n) if n == text.len() => Ok(()),
        Ok(n) => Err(format!("{BOARD}: took {n} of {} bytes", text.len())),
        Err(e) => Err(format!("board refused: {} ({e})", read_text(BOARD))),
    }
}

/// Devices of the board module that sysfs shows now.
pub(crate) fn board_devices() -> usize {
    ["/sys/bus/dormouse/devices", "/sys/class/dormouse"]
        .iter()
        .filter_map(|d| fs::read_dir(d).ok())
        .map(Iterator::count)
        .sum()
}

/// Runs a program to its end and gives what it printed.
pub(super) fn program(path: &str, args: &[&str]) -> Result<String> {
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

/// What the kernel has logged so far.
pub(crate) fn kernel_log() -> Vec<u8> {
    let mut log = Vec::new();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open("/dev/kmsg");
    let Ok(mut file) = file else { return log };
    // One read is one record; 8 KB is the longest the kernel gives.
    let mut record = vec![0; 8192];
    loop {
        match file.read(&mut record) {
            Ok(n) if n > 0 => log.extend_from_slice(&record[..n]),
            // Records were overwritten before they were read: go on.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            _ => return log,
        }
    }
}

/// Ends the guest.
pub(crate) fn power_off() -> ! {
    rustix::fs::sync();
    let e = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    println!("dormouse guest: power off: {e:?}");
    loop {
        std::thread::park();
    }
}
