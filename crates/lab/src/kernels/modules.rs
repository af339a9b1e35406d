//! Single modules of a fetched kernel. Packages hold thousands; what a guest
//! needs is taken out when it is first asked for.

use super::apt::Apt;
use super::cache::cache;
use super::kernel::{Kernel, OWN};
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// No module of a kernel is larger.
const LARGEST: u64 = 256 << 20;

/// The bytes of module `name` (such as `virtio_blk`) of `kernel`, not
/// compressed; from the cache, else from the archive. None if it is built in, as the
/// tree says that the kernel was built in.
///
/// # Errors
/// If the kernel is not from the archive, or the archive no longer has its
/// release, or that has no such module.
pub fn module(kernel: &Kernel, name: &str) -> Result<Option<Vec<u8>>> {
    if is_built_in(kernel, name) {
        return Ok(None);
    }
    let dir = cache()?.join("drivers").join(format!("{}-{}", kernel.arch.name(), kernel.release));
    let path = dir.join(format!("{name}.ko"));
    if let Ok(bytes) = fs::read(&path) {
        return Ok(Some(bytes));
    }
    if kernel.series == OWN {
        return Err(Error::other(format!(
            "{} is a kernel of your own: its {name} must lie in {}",
            kernel.release,
            path.display()
        )));
    }
    fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    let mut asked = None;
    for (one, bytes) in fetch(kernel, name)? {
        // Two may fetch at once: the file appears when it is complete.
        let fresh = dir.join(format!("{one}-{}", std::process::id()));
        fs::write(&fresh, &bytes).map_err(Error::file(&fresh))?;
        let path = dir.join(format!("{one}.ko"));
        fs::rename(&fresh, &path).map_err(Error::file(&path))?;
        asked = asked.or(Some(bytes));
    }
    Ok(asked)
}

/// Names and bytes of modules with those that they depend on, in the order in which they
/// load; those that are built in are left out.
///
/// # Errors
/// As [`module`].
pub fn all(kernel: &Kernel, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut out = Vec::new();
    for name in names {
        with_dependencies(kernel, name, &mut out)?;
    }
    Ok(out)
}

/// What the guest's disk needs, in the order in which it loads: nothing where all of it
/// is built in. Where virtio is a module (6.1), the bus that it comes over is one too.
///
/// # Errors
/// As [`module`].
pub fn disk(kernel: &Kernel) -> Result<Vec<Vec<u8>>> {
    let mut out: Vec<(String, Vec<u8>)> = Vec::new();
    with_dependencies(kernel, "virtio_blk", &mut out)?;
    if out.iter().any(|m| m.0 == "virtio") {
        with_dependencies(kernel, "virtio_pci", &mut out)?;
    }
    Ok(out.into_iter().map(|m| m.1).collect())
}

/// Adds a module behind those that it depends on.
fn with_dependencies(kernel: &Kernel, name: &str, out: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    if out.iter().any(|m| m.0 == name) {
        return Ok(());
    }
    let Some(bytes) = module(kernel, name)? else { return Ok(()) };
    for needed in dependencies(&bytes) {
        with_dependencies(kernel, &needed, out)?;
    }
    out.push((name.to_owned(), bytes));
    Ok(())
}

/// Modules that a module names in its `depends=` (scripts/mod/modpost.c).
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|w| w == KEY) else { return Vec::new() };
    let rest = &module[at + KEY.len()..];
    let text = &rest[..rest.iter().position(|b| *b == 0).unwrap_or(0)];
    let names = text.split(|b| *b == b',').filter(|n| !n.is_empty());
    names.map(|n| String::from_utf8_lossy(n).into_owned()).collect()
}

/// `modules.builtin` names what a module would be, had it not been built in
/// (scripts/modules-check.sh and Makefile of the kernel).
fn is_built_in(kernel: &Kernel, name: &str) -> bool {
    let list = kernel.headers.as_ref().map(|tree| tree.join("modules.builtin"));
    let text = list.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let file = format!("/{name}.ko");
    text.lines().any(|l| l.ends_with(&file))
}

/// The module, and behind it those that it depends on: the package is large, so it is
/// fetched once. From 6.19 on modules are in `linux-modules-*`, before in
/// `linux-image-*`.
fn fetch(kernel: &Kernel, name: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let apt = Apt::open(kernel.arch)?;
    let mut package = None;
    for prefix in ["linux-modules", "linux-image"] {
        let candidate = format!("{prefix}-{}", kernel.release);
        if package.is_none() && apt.show(&candidate)?.is_some() {
            package = Some(candidate);
        }
    }
    let Some(package) = package else {
        return Err(Error::NoKernel(format!(
            "the archive no longer has {}, whose {name} is needed; fetch the series {} again",
            kernel.release, kernel.series
        )));
    };
    let dir = tempfile::tempdir().map_err(Error::file(std::env::temp_dir()))?;
    let debs = apt.download(std::slice::from_ref(&package), dir.path())?;
    let mut out: Vec<(String, Vec<u8>)> = Vec::new();
    let mut todo = vec![name.to_owned()];
    while let Some(name) = todo.pop() {
        for deb in &debs {
            unpack(deb, dir.path(), &name)?;
        }
        let missing = || Error::other(format!("{package} has no module {name}"));
        let bytes = find(dir.path(), &name).ok_or_else(missing)??;
        let wanted = |n: &String| !is_built_in(kernel, n) && !out.iter().any(|m| m.0 == *n);
        todo.extend(dependencies(&bytes).into_iter().filter(wanted));
        out.push((name, bytes));
    }
    Ok(out)
}

/// Unpacks the files of module `name` from `deb` into `dir`.
fn unpack(deb: &Path, dir: &Path, name: &str) -> Result<()> {
    let mut tar = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Error::file("dpkg-deb"))?;
    let stdin = tar.stdout.take().expect("stdout is piped");
    let out = Command::new("tar")
        .args(["-x", "--wildcards", "-C"])
        .arg(dir)
        .arg(format!("*/{name}.ko*"))
        .stdin(stdin)
        .output()
        .map_err(Error::file("tar"))?;
    let status = tar.wait().map_err(Error::file("dpkg-deb"))?;
    if status.success() && out.status.success() {
        return Ok(());
    }
    Err(Error::Program {
        what: format!("taking {name} out of {}", deb.display()),
        output: tail(&String::from_utf8_lossy(&out.stderr), 5),
    })
}

/// The module below `dir`, unpacked.
fn find(dir: &Path, name: &str) -> Option<Result<Vec<u8>>> {
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
            continue;
        }
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(packing) = file.strip_prefix(name).and_then(|r| r.strip_prefix(".ko")) else {
            continue;
        };
        let packed = fs::read(&path).map_err(Error::file(&path));
        return Some(packed.and_then(|bytes| match packing {
            "" => Ok(bytes),
            ".xz" => {
                let mut out = Vec::new();
                lzma_rust2::XzReader::new(&bytes[..], true)
                    .take(LARGEST)
                    .read_to_end(&mut out)
                    .map_err(Error::file(&path))?;
                Ok(out)
            }
            other => Err(Error::other(format!("{file}: compression {other} is not known"))),
        }));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn a_module_says_what_it_depends_on() {
        assert_eq!(dependencies(b"x\0depends=virtio,virtio_ring\0y"), ["virtio", "virtio_ring"]);
        assert!(dependencies(b"x\0depends=\0retpoline=Y\0").is_empty());
        assert!(dependencies(b"\0depends=cut").is_empty());
    }
}
