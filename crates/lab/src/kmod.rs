//! Builds the laboratory's modules for a kernel, once per kernel and source.

use crate::kernels::{Kernel, cache, chroot};
use crate::{Error, Result};
use dormouse_base::say::tail;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of all modules (`kernel/`, as build.rs packs them), so that an installed
/// `dormouse` needs no repository.
const SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.tar.gz"));

/// What modules share: it lies in `kernel/` itself.
const SHARED: [&str; 3] = ["Makefile", "COPYING", "stock.h"];

/// A module.
struct Source {
    name: &'static str,
    /// What is left to do on a kernel that it cannot be built for.
    without: &'static str,
    /// Where its sources lie in `kernel/`.
    folder: &'static str,
}

const BOARD: Source = Source {
    name: "dormouse_board",
    without: "it runs with the guest's own devices only (leave out --board)",
    folder: "",
};

const IDLE: Source = Source {
    name: "dormouse_idle",
    without: "idle states need a module; name another series with --kernel",
    folder: "idle",
};

const PDISK: Source = Source {
    name: "dormouse_pdisk",
    without: "a disk of chosen power states needs a module; name another series with --kernel",
    folder: "pdisk",
};

const GOVERNOR: Source = Source {
    name: "dormouse_governor",
    without: "decisions of its governor need a module; name another series with --kernel",
    folder: "governor",
};

const FQOS: Source = Source {
    name: "dormouse_fqos",
    without: "raising a disk's clock needs a module; name another series with --kernel",
    folder: "fqos",
};

const COUNT: Source = Source {
    name: "dormouse_count",
    without: "counting what a request costs needs a module; name another series with --kernel",
    folder: "count",
};

const SOC9000: Source = Source {
    name: "soc9000",
    without: "its drivers are a module; name another series with --kernel",
    folder: "soc9000",
};

const PROBES: Source = Source {
    name: "dormouse_probes",
    without: "drivers in an order are a module; name another series with --kernel",
    folder: "probes",
};

const TROUBLE: Source = Source {
    name: "dormouse_trouble",
    without: "trouble around a sleep needs a module; name another series with --kernel",
    folder: "trouble",
};

const DEEP: Source = Source {
    name: "dormouse_deep",
    without: "suspend to memory without firmware needs a module; name another series with --kernel",
    folder: "deep",
};

const BATTERY: Source = Source {
    name: "dormouse_battery",
    without: "a battery that is told what to say needs a module; name another series with --kernel",
    folder: "battery",
};

/// The board module for `kernel`; built if it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn module(kernel: &Kernel) -> Result<PathBuf> {
    build(&BOARD, kernel)
}

/// The module with idle states for `kernel`; built if it is not in the cache.
///
/// # Errors
/// When the kernel has no headers, or the build fails or warns: a warning of
/// the compiler here is an interface that changed.
pub fn idle(kernel: &Kernel) -> Result<PathBuf> {
    build(&IDLE, kernel)
}

/// What writes decisions of the governor of power domains down, for `kernel`; built if
/// it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn governor(kernel: &Kernel) -> Result<PathBuf> {
    build(&GOVERNOR, kernel)
}

/// The disk whose power states cost what they are told to, for `kernel`; built if it
/// is not in the cache.
///
/// # Errors
/// As [`idle`].
pub(crate) fn pdisk(kernel: &Kernel) -> Result<PathBuf> {
    build(&PDISK, kernel)
}

/// What raises a disk's clock while somebody waits, for `kernel`; built if it is not in
/// the cache.
///
/// # Errors
/// As [`idle`].
pub(crate) fn fqos(kernel: &Kernel) -> Result<PathBuf> {
    build(&FQOS, kernel)
}

/// What counts the cycles of a request on its way to a queue, for `kernel`; built if it
/// is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn count(kernel: &Kernel) -> Result<PathBuf> {
    build(&COUNT, kernel)
}

/// The drivers of SoC-9000 for `kernel`; built if they are not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn soc9000(kernel: &Kernel) -> Result<PathBuf> {
    build(&SOC9000, kernel)
}

/// Drivers in an order that the device tree tells, for `kernel`; built if they are not in
/// the cache.
///
/// # Errors
/// As [`idle`].
pub fn probes(kernel: &Kernel) -> Result<PathBuf> {
    build(&PROBES, kernel)
}

/// Suspend to memory for `kernel` where no firmware has it; built if it is not in the
/// cache.
///
/// # Errors
/// As [`idle`].
pub fn deep(kernel: &Kernel) -> Result<PathBuf> {
    build(&DEEP, kernel)
}

/// What makes trouble around a sleep, for `kernel`; built if it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn trouble(kernel: &Kernel) -> Result<PathBuf> {
    build(&TROUBLE, kernel)
}

/// A battery that says what it is told to, for `kernel`; built if it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn battery(kernel: &Kernel) -> Result<PathBuf> {
    build(&BATTERY, kernel)
}

impl Source {
    /// Its files by name: those of its folder, and what it shares.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let damaged = Error::file("the sources of the modules in this program");
        let read = || {
            let mut files = BTreeMap::new();
            let mut archive = tar::Archive::new(GzDecoder::new(SOURCES));
            for entry in archive.entries()? {
                let mut entry = entry?;
                let path = entry.path()?.into_owned();
                let folder = path.parent().unwrap_or(Path::new(""));
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let shared = SHARED.contains(&name.as_str());
                if folder == Path::new(if shared { "" } else { self.folder }) {
                    let mut text = Vec::new();
                    entry.read_to_end(&mut text)?;
                    files.insert(name, text);
                }
            }
            Ok(files)
        };
        read().map_err(damaged)
    }
}

fn build(source: &Source, kernel: &Kernel) -> Result<PathBuf> {
    let Some(headers) = &kernel.headers else {
        return Err(Error::other(format!(
            "no headers are left in the archive for {}: {}",
            kernel.release, source.without
        )));
    };
    let files = source.files()?;
    let mut hash = DefaultHasher::new();
    (source.name, &files).hash(&mut hash);
    let dir = cache()?.join("modules").join(format!(
        "{}-{}-{:016x}",
        kernel.arch.name(),
        kernel.release,
        hash.finish()
    ));
    let module = dir.join(format!("{}.ko", source.name));
    if !module.exists() {
        // A directory of its own until it is complete: two may build at once.
        let work = cache()?.join("modules").join(format!("building-{}", std::process::id()));
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(Error::file(&work))?;
        for (name, text) in &files {
            fs::write(work.join(name), text).map_err(Error::file(work.join(name)))?;
        }
        make(kernel, headers, &work)?;
        let _ = fs::remove_dir_all(&dir);
        match fs::rename(&work, &dir) {
            Ok(()) => {}
            Err(_) if module.exists() => {}
            Err(e) => return Err(Error::file(&dir)(e)),
        }
    }
    Ok(module)
}

fn make(kernel: &Kernel, headers: &Path, work: &Path) -> Result<()> {
    let tools = chroot::toolchain(kernel, headers)?;
    let mut command = match tools.chroot {
        None => {
            let mut c = Command::new("make");
            c.arg("-C").arg(work).arg(format!("KDIR={}", headers.display()));
            c.args(tools.compiler.map(|cc| format!("CC={cc}")));
            c
        }
        Some(root) => root.make(headers, work, tools.compiler.as_deref())?,
    };
    let out = command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Missing { program: "make", advice: "install it (tools/setup lab does)".into() }
        }
        _ => Error::file("make")(e),
    })?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let warned = said.lines().any(|l| l.contains(": warning: "));
    if out.status.success() && !warned {
        Ok(())
    } else {
        Err(Error::Program {
            what: format!("building a module for {}", kernel.release),
            output: tail(&said, 40),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kbuild names each object by its source; a source that was not packed would fail
    /// in the laboratory only.
    #[test]
    fn every_module_has_what_its_kbuild_names() {
        let all = [
            &BOARD, &IDLE, &PDISK, &GOVERNOR, &FQOS, &COUNT, &SOC9000, &PROBES, &TROUBLE, &DEEP,
            &BATTERY,
        ];
        for source in all {
            let files = source.files().unwrap();
            for name in ["Kbuild", "Makefile", "COPYING"] {
                assert!(files.contains_key(name), "{}: {name}", source.name);
            }
            let kbuild = String::from_utf8_lossy(&files["Kbuild"]);
            assert!(kbuild.contains(source.name), "{}: {kbuild}", source.name);
            let objects = kbuild.split_whitespace().filter_map(|w| w.strip_suffix(".o"));
            let own: Vec<&str> =
                objects.filter(|o| *o != source.name && !o.starts_with("CFLAGS_")).collect();
            assert!(!own.is_empty(), "{}", source.name);
            for object in own {
                assert!(files.contains_key(&format!("{object}.c")), "{}: {object}", source.name);
            }
        }
    }
}
