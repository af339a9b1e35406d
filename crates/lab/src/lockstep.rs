//! Keeps QEMU's threads in step (`lockstep.c` says why), where a C compiler is
//! at hand; the board module needs one as well.

use crate::error::tail;
use crate::kernels::cache;
use crate::{Error, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = include_str!("lockstep.c");

/// The library to load into QEMU; compiled once.
///
/// # Errors
/// When there is no compiler, or it fails.
pub fn library() -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    SOURCE.hash(&mut hash);
    let dir = cache()?.join("lockstep");
    let library = dir.join(format!("{:016x}.so", hash.finish()));
    if library.exists() {
        return Ok(library);
    }
    fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    // Names of its own until it is complete: two may build at once.
    let source = dir.join(format!("{}.c", std::process::id()));
    let built = dir.join(format!("{}.so", std::process::id()));
    fs::write(&source, SOURCE).map_err(Error::file(&source))?;
    let out = Command::new("cc")
        .args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&built, &source])
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "cc",
                advice: "install a C compiler (tools/setup lab does)".into(),
            },
            _ => Error::file("cc")(e),
        })?;
    let _ = fs::remove_file(&source);
    if !out.status.success() {
        return Err(Error::Program {
            what: "compiling lockstep.c".into(),
            output: tail(&String::from_utf8_lossy(&out.stderr), 20),
        });
    }
    fs::rename(&built, &library).map_err(Error::file(&library))?;
    Ok(library)
}
