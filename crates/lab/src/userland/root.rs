//! Debian with systemd as a file system in memory: its packages as they are, configured, but for
//! what no sleep needs.

use crate::initramfs::Initramfs;
use crate::programs::unpacked;
use crate::system::permissions;
use crate::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// With what these need.
const PACKAGES: &str = "systemd-sysv,dbus,udev,iproute2,kmod";
/// Stands for [`PACKAGES`] in the name of the folder: with others, another number.
const EDITION: u32 = 1;

/// Words for people, and what only installs packages: unpacking costs instructions of the guest.
/// The folders of devices and of the kernel are filled by the guest.
const LEFT_OUT: [&str; 17] = [
    "boot",
    "dev",
    "proc",
    "sys",
    "run",
    "tmp",
    "usr/share/common-licenses",
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "usr/share/perl",
    "usr/share/perl5",
    "usr/share/zoneinfo",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/perl-base",
    "var",
];

/// Units that nobody waits for in a guest, or that wait for what it has not.
const MASKED: [&str; 12] = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty.target",
    "getty@.service",
    "serial-getty@.service",
    "systemd-hwdb-update.service",
    "systemd-pcrphase.service",
    "systemd-tpm2-setup-early.service",
];

/// Where units of the guest's own lie.
pub(super) const UNITS: &str = "/etc/systemd/system";

/// Puts the system into the archive.
///
/// # Errors
/// When mmdebstrap is missing, the packages cannot be had, or a file cannot be read.
pub(super) fn pack(archive: &mut Initramfs) -> Result<()> {
    let name = format!("userland-{EDITION}");
    let root = unpacked(&name, "essential", PACKAGES, "usr/lib/systemd/systemd-logind")?;
    for (dir, mode) in
        [("/dev", 0o755), ("/proc", 0o555), ("/sys", 0o555), ("/run", 0o755), ("/tmp", 0o1777)]
    {
        archive.directory_as(dir, mode);
    }
    for dir in ["/var", "/var/lib", "/var/log", "/var/log/journal", "/var/tmp"] {
        archive.directory(dir);
    }
    archive.link("/var/run", "/run");
    // The kernel opens it before anything mounts a file system of devices.
    archive.device("/dev/console", 5, 1);
    folder(archive, &root, &PathBuf::new())?;
    archive.link("/init", "usr/lib/systemd/systemd");
    for unit in MASKED {
        archive.link(&format!("{UNITS}/{unit}"), "/dev/null");
    }
    Ok(())
}

/// What lies in folder `inside` of `root`, by name, so that the same packages give the same bytes.
fn folder(archive: &mut Initramfs, root: &Path, inside: &Path) -> Result<()> {
    let here = root.join(inside);
    let mut names: Vec<_> = fs::read_dir(&here)
        .and_then(|entries| entries.map(|e| e.map(|e| e.file_name())).collect())
        .map_err(Error::file(&here))?;
    names.sort();
    for name in names {
        let path = inside.join(name);
        let text = path.to_string_lossy().into_owned();
        if LEFT_OUT.contains(&text.as_str()) || OURS.contains(&text.as_str()) {
            continue;
        }
        let at = root.join(&path);
        let about = fs::symlink_metadata(&at).map_err(Error::file(&at))?;
        if about.is_symlink() {
            let to = fs::read_link(&at).map_err(Error::file(&at))?;
            archive.link(&text, &to.to_string_lossy());
        } else if about.is_dir() {
            archive.directory_as(&text, permissions(&about));
            folder(archive, root, &path)?;
        } else if about.is_file() {
            let content = fs::read(&at).map_err(Error::file(&at))?;
            archive.file(&text, permissions(&about), &content);
        }
    }
    Ok(())
}

/// Files that the guest has from us.
const OURS: [&str; 3] = ["etc/fstab", "etc/hostname", "etc/machine-id"];
