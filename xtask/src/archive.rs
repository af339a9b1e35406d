//! The archive that every guest begins with: folders, a console, our programs.

use anyhow::{Context, Result};
use dormouse_lab::initramfs::Initramfs;
use std::fs;
use std::path::Path;

/// An archive with `init`, an example of `crates/machine`, as process 1, and with the static
/// `program`, which is called `/dormouse` there; `programs` is the folder with both.
pub(crate) fn of(programs: &Path, program: &str, init: &str) -> Result<Initramfs> {
    let mut archive = Initramfs::default();
    for dir in ["/proc", "/sys", "/dev", "/run", "/tmp", "/modules"] {
        archive.directory(dir);
    }
    archive.device("/dev/console", 5, 1);
    archive.file("/dormouse", 0o755, &read(&programs.join(program))?);
    archive.file("/init", 0o755, &read(&programs.join("examples").join(init))?);
    Ok(archive)
}

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
