//! Process 1 of a guest that writes a thousand files and then loses its power, and of
//! the guest that looks at the disks afterwards. Run by `tools/check-cuts`; does
//! nothing outside such a guest.
//!
//! `/mode` says what happens before the power fails, and on which word of the
//! console: `CUT`, or what the kernel says when its own sync has ended. With `judge`
//! every disk is looked at, and a line a disk is printed.

#[allow(dead_code, reason = "shared with other guests")]
mod common;
#[path = "common/disk.rs"]
mod disk;

use common::dormouse;
use disk::{insert, mount_at, suspend};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

const MNT: &str = "/mnt";
/// Files that are on the disk before anything else happens.
const OLD: u64 = 200;
/// Files that are closed, and dirty, when it begins.
const NEW: u64 = 1_000;
const BYTES: usize = 20 << 10;

fn main() {
    common::run(check);
}

fn check() -> usize {
    let mode = fs::read_to_string("/mode").unwrap_or_default();
    let begun = insert("", c"").and_then(|()| fs::create_dir_all(MNT));
    let done = begun.and_then(|()| match mode.trim() {
        "judge" => judge(),
        mode => cut(mode),
    });
    if let Err(e) = done {
        println!("{mode}: {e}");
        return 1;
    }
    0
}

/// What file `i` holds: the same in every guest, and like no other file.
fn content(i: u64) -> Vec<u8> {
    let mut state = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(BYTES);
    while out.len() < BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out
}

fn name(i: u64) -> String {
    let folder = if i < OLD { "old" } else { "new" };
    format!("{MNT}/{folder}/{i}")
}

fn write(files: std::ops::Range<u64>) -> io::Result<()> {
    files.into_iter().try_for_each(|i| fs::write(name(i), content(i)))
}

fn cut(mode: &str) -> io::Result<()> {
    mount_at("ext4", "/dev/vda", MNT, None)?;
    for folder in ["old", "new"] {
        fs::create_dir(format!("{MNT}/{folder}"))?;
    }
    write(0..OLD)?;
    rustix::fs::syncfs(File::open(MNT)?)?;
    write(OLD..OLD + NEW)?;
    match mode {
        "presync" => {
            presync()?;
            println!("CUT");
        }
        // The kernel says it.
        "kernel" => fs::write("/proc/sys/kernel/printk", "7")?,
        "during" => {
            println!("CUT");
            presync()?;
        }
        "unprotected" => {
            fs::write("/sys/power/sync_on_suspend", "0")?;
            println!("CUT");
        }
        other => return Err(io::Error::other(format!("no such mode: {other}"))),
    }
    // It does not come back from here.
    suspend()?;
    std::thread::sleep(Duration::from_secs(3_600));
    Ok(())
}

fn presync() -> io::Result<()> {
    let ran = dormouse(&["sync", "--budget", "600s"], None);
    match ran.code {
        Some(0) => Ok(()),
        code => Err(io::Error::other(format!("sync ends with {code:?}: {}", ran.text))),
    }
}

/// A line a disk: whether it can be mounted, and how many files are not whole.
fn judge() -> io::Result<()> {
    for letter in 'a'..='z' {
        let disk = format!("/dev/vd{letter}");
        if !Path::new(&disk).exists() {
            break;
        }
        let mounted = mount_at("ext4", &disk, MNT, None);
        let lost = |files: std::ops::Range<u64>| {
            files.filter(|&i| fs::read(name(i)).ok().is_none_or(|b| b != content(i))).count()
        };
        let (old, new) = (lost(0..OLD), lost(OLD..OLD + NEW));
        println!("JUDGED {} {old} {new}", if mounted.is_ok() { "mounted" } else { "refused" });
        if mounted.is_ok() {
            rustix::mount::unmount(MNT, rustix::mount::UnmountFlags::empty())?;
        }
    }
    Ok(())
}
