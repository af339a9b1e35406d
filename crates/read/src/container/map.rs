//! Mapping a file, the only unsafe code of the readers.

use memmap2::Mmap;
use std::fs::File;

/// Maps `file` for reading.
///
/// Why unsafe: if another process truncates the file while it is read, the
/// kernel raises SIGBUS and the process ends; if it writes, the bytes change
/// under us. Readers take every byte as untrusted and copy what they keep, so a
/// change can only give a wrong or lost line, as it would with `read`. Saved
/// logs are not truncated in practice, and mapping is what keeps the memory for
/// a trace of gigabytes at the size of its callbacks.
#[allow(unsafe_code)]
pub(super) fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: see above; the map is private to this process and read only.
    let map = unsafe { Mmap::map(file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
