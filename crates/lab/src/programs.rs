//! Programs of Debian's, unpacked below the cache: to check files with them, and
//! to let them run in a guest. Nothing of them is installed or configured.

use crate::initramfs::Initramfs;
use crate::kernels::apt::sources;
use crate::kernels::cache;
use crate::kernels::mirror::mirrors;
use crate::system::symlink;
use crate::{Error, Result};
use dormouse_base::say::tail;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The suite they are from: the first whose `udevadm` can verify rules.
const SUITE: &str = "trixie";

/// What is unpacked, with all that it is linked with.
const PACKAGES: &str =
    "udev,kmod,dash,coreutils,grep,e2fsprogs,fio,rt-tests,rtla,systemd-standalone-tmpfiles";

/// Stands for [`PACKAGES`] in the name of the folder: with others, another number.
const EDITION: u32 = 3;

/// systemd as process 1, which is another machine: the packages above have parts of it
/// that stand alone.
const SYSTEMD: &str = "systemd,dash";
const SYSTEMD_EDITION: u32 = 1;

/// What systemd needs of itself to let a guest sleep.
const OF_SYSTEMD: &[(&str, &[&str])] = &[
    ("usr/bin/dash", &["/bin/sh"]),
    ("usr/bin/systemctl", &["/usr/bin/systemctl"]),
    ("usr/lib/systemd/systemd", &["/usr/lib/systemd/systemd"]),
    ("usr/lib/systemd/systemd-executor", &["/usr/lib/systemd/systemd-executor"]),
    ("usr/lib/systemd/systemd-sleep", &["/usr/lib/systemd/systemd-sleep"]),
];

/// Its units that a sleep and a plain service need.
const UNITS: [&str; 13] = [
    "basic.target",
    "local-fs.target",
    "paths.target",
    "shutdown.target",
    "sleep.target",
    "slices.target",
    "sockets.target",
    "swap.target",
    "sysinit.target",
    "systemd-suspend.service",
    "timers.target",
    "umount.target",
    "user.slice",
];

/// What a script of a guest can call ([`pack_for_scripts`]): where it lies below
/// [`root`], and how it is called.
const FOR_SCRIPTS: &[(&str, &[&str])] = &[
    ("usr/bin/dash", &["/bin/sh"]),
    ("usr/bin/cat", &["/bin/cat"]),
    ("usr/bin/od", &["/bin/od"]),
    ("usr/bin/grep", &["/bin/grep"]),
    ("usr/bin/sleep", &["/bin/sleep"]),
    ("usr/bin/ls", &["/bin/ls"]),
    ("usr/bin/mkdir", &["/bin/mkdir"]),
    ("usr/bin/rm", &["/bin/rm"]),
    ("usr/bin/kmod", &["/sbin/insmod", "/sbin/rmmod"]),
    ("usr/bin/udevadm", &["/usr/lib/systemd/systemd-udevd", "/usr/bin/udevadm"]),
    ("usr/bin/systemd-tmpfiles", &["/usr/bin/systemd-tmpfiles"]),
    ("usr/sbin/mkfs.ext4", &["/sbin/mkfs.ext4"]),
    ("usr/bin/fio", &["/usr/bin/fio"]),
    ("usr/bin/cyclictest", &["/usr/bin/cyclictest"]),
    ("usr/bin/rtla", &["/usr/bin/rtla"]),
];

/// A directory with the programs and the libraries they need, made now if it is not in
/// the cache.
///
/// # Errors
/// If mmdebstrap is missing, or the packages cannot be had.
pub fn root() -> Result<PathBuf> {
    unpacked(&format!("programs-{EDITION}"), "extract", PACKAGES, "usr/bin/udevadm")
}

/// `packages` and what they need in a folder of the cache, where `sign` shows that they are
/// there: a `variant` of mmdebstrap, of which `extract` configures nothing.
pub(crate) fn unpacked(name: &str, variant: &str, packages: &str, sign: &str) -> Result<PathBuf> {
    let root = cache()?.join("chroot").join(format!("{SUITE}-{name}"));
    if root.join(sign).exists() {
        return Ok(root);
    }
    let parent = root.parent().unwrap_or(&root);
    fs::create_dir_all(parent).map_err(Error::file(parent))?;
    let new = parent.join(format!("{SUITE}-{name}-new-{}", std::process::id()));
    let out = Command::new("mmdebstrap")
        .args([format!("--variant={variant}"), format!("--include={packages}")])
        .args(["--architectures=amd64", SUITE])
        .arg(&new)
        .arg(sources(&mirrors()?, &[(SUITE, false)]).trim_end())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program: "mmdebstrap",
                advice: "it unpacks programs for guests; tools/setup lab installs it".into(),
            },
            _ => Error::file(&new)(e),
        })?;
    if !out.status.success() {
        return Err(Error::Program {
            what: format!("unpacking {packages} of {SUITE}"),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // Made by a package's script, which was not run.
    for name in ["lib", "lib64", "bin", "sbin"] {
        let link = new.join(name);
        if !link.exists() {
            symlink(format!("usr/{name}"), &link).map_err(Error::file(&link))?;
        }
    }
    for name in ["tmp", "proc"] {
        let dir = new.join(name);
        fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    }
    if fs::rename(&new, &root).is_err() && !root.join(sign).exists() {
        return Err(Error::other(format!("cannot put programs at {}", root.display())));
    }
    Ok(root)
}

/// Puts a program of Debian's under each of `names`, what it is linked with, and
/// the folder of its configuration into the archive; none of Debian's own
/// configuration, which loads drivers and makes names.
pub(crate) fn pack(
    archive: &mut Initramfs,
    program: &str,
    names: &[&str],
    configuration: &str,
) -> Result<()> {
    pack_all(archive, &root()?, &[(program, names)], &[configuration])
}

/// Puts systemd, with all that it needs to let a guest sleep, into the archive.
///
/// # Errors
/// As [`root`].
pub fn pack_systemd(archive: &mut Initramfs) -> Result<()> {
    let root = unpacked(
        &format!("systemd-{SYSTEMD_EDITION}"),
        "extract",
        SYSTEMD,
        "usr/lib/systemd/systemd",
    )?;
    let units = "usr/lib/systemd/system";
    let folders = [format!("/{units}"), "/usr/lib/systemd/system-sleep".into()];
    let folders = [&folders[0], &folders[1], "/etc/systemd/system", "/etc/systemd/sleep.conf.d"];
    pack_all(archive, &root, OF_SYSTEMD, &folders)?;
    for unit in UNITS {
        let path = root.join(units).join(unit);
        let text = fs::read(&path).map_err(Error::file(&path))?;
        archive.file(&format!("/{units}/{unit}"), 0o644, &text);
    }
    Ok(())
}

/// Puts all that a script may call into the archive, and folders for the
/// configuration of udev and tmpfiles.
pub(crate) fn pack_for_scripts(archive: &mut Initramfs) -> Result<()> {
    pack_all(archive, &root()?, FOR_SCRIPTS, &["/etc/udev/rules.d", "/etc/tmpfiles.d"])
}

fn pack_all(
    archive: &mut Initramfs,
    root: &Path,
    programs: &[(&str, &[&str])],
    configurations: &[&str],
) -> Result<()> {
    let read = |path: &Path| fs::read(path).map_err(Error::file(path));
    let loader = "usr/lib64/ld-linux-x86-64.so.2";
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    files.insert("/lib64/ld-linux-x86-64.so.2".into(), read(&root.join(loader))?);
    for (program, names) in programs {
        let program = root.join(program);
        let bytes = read(&program)?;
        files.extend(names.iter().map(|n| ((*n).to_owned(), bytes.clone())));
        for path in libraries(root, &program, loader)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(format!("/lib/x86_64-linux-gnu/{name}"), read(&path)?);
        }
    }
    files.insert("/etc/passwd".into(), b"root:x:0:0::/:/bin/false\n".to_vec());
    files.insert("/etc/group".into(), b"root:x:0:\n".to_vec());
    let mut made: BTreeSet<PathBuf> = BTreeSet::new();
    let folders = files.keys().filter_map(|f| Path::new(f).parent());
    for dir in folders.chain(configurations.iter().map(Path::new)) {
        let above: Vec<&Path> = dir.ancestors().filter(|d| d.parent().is_some()).collect();
        for d in above.into_iter().rev() {
            if made.insert(d.to_owned()) {
                archive.directory(&d.to_string_lossy());
            }
        }
    }
    for (path, content) in files {
        archive.file(&path, 0o755, &content);
    }
    Ok(())
}

/// The libraries that `program` needs, as its own loader finds them in `root`.
fn libraries(root: &Path, program: &Path, loader: &str) -> Result<Vec<PathBuf>> {
    let dir = root.join("usr/lib/x86_64-linux-gnu");
    let search = format!("{0}:{0}/systemd:{0}/ceph", dir.display());
    let out = Command::new(root.join(loader))
        .args(["--library-path", &search, "--list"])
        .arg(program)
        .output()
        .map_err(Error::file(program))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if !out.status.success() {
        return Err(Error::Program {
            what: format!("listing the libraries of {}", program.display()),
            output: tail(&String::from_utf8_lossy(&out.stderr), 10),
        });
    }
    // `libc.so.6 => /path/libc.so.6 (0x…)`; the kernel's own has no path.
    let path = |line: &str| Some(PathBuf::from(line.split_once("=> ")?.1.rsplit_once(" (")?.0));
    Ok(text.lines().filter_map(path).filter(|p| p.starts_with(&dir)).collect())
}
