//! Kernels: which there are, where they lie in the cache, how they get there.

pub mod apt;
pub mod chroot;
pub mod fetch;
pub mod mirror;
pub mod release;

use crate::qemu::Arch;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

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
const RECORD: &str = "kernel.json";

/// Directory of everything that can be fetched or built again:
/// `$XDG_CACHE_HOME/dormouse`, else `~/.cache/dormouse`.
pub fn cache() -> Result<PathBuf> {
    let dir = std::env::var_os("XDG_CACHE_HOME")
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")))
        .ok_or_else(|| {
            Error::other("neither XDG_CACHE_HOME nor HOME is set: nowhere to keep kernels")
        })?
        .join("dormouse");
    fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    Ok(dir)
}

fn directory(arch: Arch, series: &str) -> Result<PathBuf> {
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

/// The kernel of `series`, fetched now if it is not in the cache. `7` means
/// the newest 7.x that has headers.
pub fn get(arch: Arch, series: &str) -> Result<Kernel> {
    if let Some(k) = cached(arch, series)? {
        return Ok(k);
    }
    fetch::fetch(arch, series)
}
