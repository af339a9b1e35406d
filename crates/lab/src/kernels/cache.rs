//! Where what was fetched or built is kept.

use crate::{Error, Result};
use std::fs;
use std::path::PathBuf;

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
