//! File systems for guests, made on this machine as files, and the modules that they
//! need.

use anyhow::{Context, Result, bail};
use dormouse_lab::kernels::{Kernel, modules};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of a guest: where, and what.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// Modules of `kernel` as files of a guest's `/modules`, in the order in which they load.
pub(crate) fn modules(kernel: &Kernel, names: &[&str]) -> Result<Files> {
    let mut names = names.to_vec();
    // ext4 asks for it by another name, so it is no dependency of its.
    if names.contains(&"ext4") && kernel.release.starts_with("6.") {
        names.insert(0, "crc32c_generic");
    }
    let all = modules::all(kernel, &names)?;
    let numbered = all.into_iter().enumerate();
    Ok(numbered.map(|(i, (name, bytes))| (format!("/modules/{i:02}-{name}.ko"), bytes)).collect())
}

/// An ext4 file system in a file.
pub(crate) struct Image {
    dir: tempfile::TempDir,
}

/// Size of the blocks that a guest is given.
const BLOCK: usize = 4_096;

impl Image {
    /// Of so many MiB, with more words for `mke2fs`.
    pub(crate) fn make(mb: u64, words: &[&str]) -> Result<Image> {
        let image = Image { dir: tempfile::tempdir().context("a folder for a disk")? };
        let file = fs::File::create(image.path()).context("a disk")?;
        file.set_len(mb << 20).context("a disk")?;
        let out = Command::new("mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-E", "nodiscard"])
            .args(words)
            .arg(image.path())
            .output()
            .context("mke2fs, of the package e2fsprogs, cannot be started")?;
        if !out.status.success() {
            bail!("mke2fs: {}", String::from_utf8_lossy(&out.stderr));
        }
        Ok(image)
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("disk")
    }

    /// Its blocks that are not empty, each behind its number.
    pub(crate) fn blocks(&self) -> Result<Vec<u8>> {
        let bytes = fs::read(self.path()).context("the disk")?;
        let mut out = Vec::new();
        for (i, block) in bytes.chunks(BLOCK).enumerate() {
            if block.iter().any(|b| *b != 0) {
                out.extend_from_slice(&(i as u64).to_le_bytes());
                out.extend_from_slice(block);
            }
        }
        Ok(out)
    }
}

/// A copy of `image` at `place`.
pub(crate) fn copy(image: &Image, place: &Path) -> Result<()> {
    fs::copy(image.path(), place).map(drop).context("cannot copy a disk")
}

/// Whether `e2fsck` finds nothing to mend.
pub(crate) fn is_clean(place: &Path) -> Result<bool> {
    let out = Command::new("e2fsck").arg("-fn").arg(place).output();
    Ok(out.context("e2fsck, of the package e2fsprogs, cannot be started")?.status.success())
}
