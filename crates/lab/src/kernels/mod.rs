//! Kernels: which there are, where they lie in the cache, how they get there.

pub mod apt;
pub mod build;
pub(crate) mod cache;
pub mod chroot;
pub mod fetch;
mod kernel;
pub(crate) mod mirror;
pub mod modules;
pub mod release;

pub use cache::cache;
pub use kernel::{Kernel, OWN, cached, own};

use crate::Result;
use crate::arch::Arch;

/// The kernel of `series`, fetched now if it is not in the cache. `7` means
/// the newest 7.x that has headers.
pub fn get(arch: Arch, series: &str) -> Result<Kernel> {
    if let Some(k) = cached(arch, series)? {
        return Ok(k);
    }
    fetch::fetch(arch, series)
}
