//! Debian's udev, unpacked below the cache: to check rules with it, and to let
//! it run in a guest.

use crate::error::tail;
use crate::kernels::apt::sources;
use crate::kernels::cache;
use crate::kernels::mirror::mirrors;
use crate::{Error, Result};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The suite it is from: the first whose `udevadm` can verify rules.
const SUITE: &str = "trixie";

/// A directory with udev and the libraries it needs, made now if it is not in
/// the cache. Nothing of it is installed or configured.
///
/// # Errors
/// If mmdebstrap is missing, or the packages cannot be had.
pub fn root() -> Result<PathBuf> {
    let root = cache()?.join("chroot").join(format!("{SUITE}-udev"));
    if root.join("usr/bin/udevadm").exists() {
        return Ok(root);
    }
    let parent = root.parent().unwrap_or(&root);
    fs::create_dir_all(parent).map_err(Error::file(parent))?;
    let new = parent.join(format!("{SUITE}-udev-new-{}", std::process::id()));
    let out = Command::new("mmdebstrap")
        .args(["--variant=extract", "--include=udev", "--architectures=amd64", SUITE])
        .arg(&new)
        .arg(sources(&mirrors()?, &[(SUITE, false)]).trim_end())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "mmdebstrap",
                advice: "it unpacks udev; tools/setup lab installs it".into(),
            },
            _ => Error::file(&new)(e),
        })?;
    if !out.status.success() {
        return Err(Error::Program {
            what: format!("unpacking udev of {SUITE}"),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // Made by a package's script, which was not run.
    for name in ["lib", "lib64", "bin", "sbin"] {
        let link = new.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(format!("usr/{name}"), &link).map_err(Error::file(&link))?;
        }
    }
    for name in ["tmp", "proc"] {
        let dir = new.join(name);
        fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    }
    if fs::rename(&new, &root).is_err() && !root.join("usr/bin/udevadm").exists() {
        return Err(Error::other(format!("cannot put udev at {}", root.display())));
    }
    Ok(root)
}
