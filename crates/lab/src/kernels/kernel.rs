//! A kernel in the cache, and one from elsewhere.

use super::cache::cache;
use crate::arch::Arch;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Such as `6.12`.
    pub series: String,
    /// `uname -r`, such as `6.12.117+deb12-amd64`.
    pub release: String,
    /// Architecture.
    pub arch: Arch,
    /// The image that QEMU boots.
    pub image: PathBuf,
    /// Directory with the headers, where there are any.
    pub headers: Option<PathBuf>,
    /// Exact packages, as `name version`.
    pub packages: Vec<String>,
}

/// File of a kernel's directory that holds its [`Kernel`].
pub(super) const RECORD: &str = "kernel.json";

pub(super) fn directory(arch: Arch, series: &str) -> Result<PathBuf> {
    Ok(cache()?.join("kernels").join(arch.name()).join(series))
}

/// The kernel of `series` in the cache, if it was fetched.
pub fn cached(arch: Arch, series: &str) -> Result<Option<Kernel>> {
    let path = directory(arch, series)?.join(RECORD);
    match fs::read(&path) {
        Ok(bytes) => {
            let k: Kernel = serde_json::from_slice(&bytes).map_err(|e| {
                Error::other(format!("{}: {e}; remove it and fetch again", path.display()))
            })?;
            Ok(k.image.exists().then_some(k))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::file(&path)(e)),
    }
}

/// The series of a kernel that is not from the archive.
pub const OWN: &str = "own";

/// A kernel of one's own: an image that QEMU boots, and headers if boards are
/// to be built.
pub fn own(arch: Arch, image: &Path, headers: Option<&Path>) -> Result<Kernel> {
    let absolute = |p: &Path| std::path::absolute(p).map_err(Error::file(p));
    let image = absolute(image)?;
    let bytes = fs::read(&image).map_err(Error::file(&image))?;
    let headers = headers.map(absolute).transpose()?;
    let release = match (&headers, release_of(&bytes)) {
        (Some(h), _) if h.join("include/config/kernel.release").exists() => {
            let path = h.join("include/config/kernel.release");
            fs::read_to_string(&path).map_err(Error::file(&path))?.trim().to_owned()
        }
        (_, Some(release)) => release,
        _ => "own".into(),
    };
    Ok(Kernel { series: OWN.into(), release, arch, image, headers, packages: Vec::new() })
}

/// The release in the header of a bzImage (Documentation/arch/x86/boot.rst:
/// `kernel_version` at 0x20e points to it, counted from 0x200).
fn release_of(image: &[u8]) -> Option<String> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let at = u16::from_le_bytes([*image.get(0x20e)?, *image.get(0x20f)?]);
    let text = image.get(usize::from(at) + 0x200..)?;
    let end = text.iter().take(256).position(|&b| b == b' ' || b == 0)?;
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}
