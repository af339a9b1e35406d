//! Packs the sources of the kernel's modules into the crate, so that an installed
//! `dormouse` needs no repository: one compressed archive, a third of the text.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Below the root of the repository; the names in the archive are relative to it.
const KERNEL: &str = "../../kernel";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let archive = fs::File::create(out.join("kernel.tar.gz")).expect("OUT_DIR can be written");
    let mut archive = tar::Builder::new(GzEncoder::new(archive, Compression::best()));
    // The same sources make the same bytes: no time, no owner, names in order.
    archive.mode(tar::HeaderMode::Deterministic);
    println!("cargo::rerun-if-changed={KERNEL}");
    for name in sources() {
        archive
            .append_path_with_name(Path::new(KERNEL).join(&name), &name)
            .expect("a source can be read");
    }
    let packed = archive.into_inner().and_then(GzEncoder::finish);
    packed.expect("OUT_DIR can be written");
}

/// What a build needs of `kernel/` itself and of each folder in it.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in list(Path::new("")) {
        if Path::new(KERNEL).join(&name).is_dir() {
            found.extend(list(&name).into_iter().filter(|n| is_source(n)));
        } else if is_source(&name) {
            found.push(name);
        }
    }
    found
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let at = Path::new(KERNEL).join(folder);
    let mut names: Vec<PathBuf> = fs::read_dir(&at)
        .unwrap_or_else(|e| panic!("{}: {e}", at.display()))
        .map(|entry| folder.join(entry.expect("a folder can be read").file_name()))
        .collect();
    names.sort();
    names
}

fn is_source(name: &Path) -> bool {
    let file = name.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    matches!(file, "Kbuild" | "Makefile" | "COPYING")
        || file.ends_with(".c")
        || file.ends_with(".h")
}
