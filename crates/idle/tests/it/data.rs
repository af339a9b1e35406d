//! Data of real machines, beside the repository: found by `DORMOUSE_DATA`.

use std::io::Read;
use std::path::{Path, PathBuf};

/// A file or folder of the idle data; `None`, said loudly, where it is absent.
pub(crate) fn idle(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("idle").join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder of data", path.display());
        return None;
    }
    Some(path)
}

/// Text of a file, unpacked if its name ends in `.gz`.
pub(crate) fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a readable file");
    if path.extension().is_some_and(|e| e == "gz") {
        let mut out = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut out).expect("gzip text");
        out
    } else {
        String::from_utf8(bytes).expect("text")
    }
}
