//! Our modules for storage in the archive of a guest.

use crate::initramfs::Initramfs;
use crate::kernels::{Kernel, modules};
use crate::{Error, Result, kmod};
use dormouse_guest::plan::{COUNT_MODULE, DIRECTORY, FQOS_MODULE, ONDEMAND_MODULE, PDISK_MODULE};
use std::fs;

/// Puts our modules for storage into the archive, and the governor they need.
pub(crate) fn pack(kernel: &Kernel, archive: &mut Initramfs) -> Result<()> {
    for (name, ko) in [
        (PDISK_MODULE, kmod::pdisk(kernel)?),
        (FQOS_MODULE, kmod::fqos(kernel)?),
        (COUNT_MODULE, kmod::count(kernel)?),
    ] {
        let bytes = fs::read(&ko).map_err(Error::file(&ko))?;
        archive.file(&format!("{DIRECTORY}/{name}"), 0o644, &bytes);
    }
    let name = ONDEMAND_MODULE.trim_end_matches(".ko");
    if let Some(bytes) = modules::module(kernel, name)? {
        archive.file(&format!("{DIRECTORY}/{ONDEMAND_MODULE}"), 0o644, &bytes);
    }
    Ok(())
}
