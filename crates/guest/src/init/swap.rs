//! Swap for a hibernation's image: the guest's only disk, empty at each boot.

#![expect(unsafe_code, reason = "no crate in use wraps swapon()")]

use super::system::Result;
use super::system::{DISK, disk};
use std::ffi::{CString, c_char, c_int};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const PAGE: u64 = 4096;

unsafe extern "C" {
    fn swapon(path: *const c_char, flags: c_int) -> c_int;
}

/// Loads the driver of the disk, marks the disk as swap and takes it into use.
pub(super) fn on(dir: &Path) -> Result<()> {
    disk(dir)?;
    mark(Path::new(DISK)).map_err(|e| format!("{DISK}: {e}"))?;
    enable(Path::new(DISK)).map_err(|e| format!("{DISK}: swapon: {e}"))
}

/// Writes the first page of a swap area (`union swap_header`,
/// include/linux/swap.h): version and last page after 1024 bytes, the name at the
/// end.
fn mark(disk: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(disk)?;
    let pages = file.seek(SeekFrom::End(0))? / PAGE;
    let last = u32::try_from(pages.saturating_sub(1)).unwrap_or(u32::MAX);
    let mut page = [0u8; PAGE as usize];
    page[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&last.to_ne_bytes());
    page[4086..].copy_from_slice(b"SWAPSPACE2");
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&page)?;
    file.sync_all()
}

fn enable(disk: &Path) -> std::io::Result<()> {
    let path = CString::new(disk.as_os_str().as_bytes())?;
    // SAFETY: the C library reads the path until its end and keeps nothing.
    match unsafe { swapon(path.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
