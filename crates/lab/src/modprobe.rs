//! Debian's modprobe in a guest, with configuration for it and words for the
//! kernel command line: does the board module load?

use crate::initramfs::Initramfs;
use crate::kernels::Kernel;
use crate::programs::pack;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::udev::{Drivers, by_path};
use crate::{Error, Result, kmod};
use dormouse_guest::plan::{DIRECTORY, Load, MODULE, Task};
use std::fs;
use std::time::Duration;

/// What came of a boot.
#[derive(Clone, Debug)]
pub struct Booted {
    /// For each configuration two lines, `modprobe: ` and `kernel: `, that go on
    /// with `loaded` or `not loaded` and what was said: the module asked for by
    /// name, and its file given to the kernel itself.
    pub loads: Vec<String>,
    /// The driver of each of the guest's own devices.
    pub drivers: Drivers,
    /// Lines of `/proc/kallsyms` for what the kernel calls at its start.
    pub initcalls: String,
    /// The kernel log.
    pub log: String,
}

/// Boots `kernel` and tries to load the board module with each of
/// `configurations` as the only file in `/etc/modprobe.d`. Words for the kernel
/// command line are in [`Machine::words`].
///
/// # Errors
/// As [`crate::run::run`], and if modprobe cannot be had or does not run there.
pub fn try_loads(
    kernel: &Kernel,
    machine: &Machine,
    configurations: &[&str],
    limit: Duration,
) -> Result<Booted> {
    let mut archive: Initramfs = base(machine.arch)?;
    // One program that does as it is called.
    pack(&mut archive, "usr/bin/kmod", &["/sbin/modprobe", "/sbin/depmod"], "/etc/modprobe.d")?;
    // False is what `install` lines call, with a shell.
    pack(&mut archive, "usr/bin/dash", &["/bin/sh"], "/lib/modules")?;
    pack(&mut archive, "usr/bin/false", &["/bin/false"], "/lib/modules")?;
    let path = kmod::module(kernel)?;
    let module = fs::read(&path).map_err(Error::file(&path))?;
    archive.file(&format!("{DIRECTORY}/{MODULE}"), 0o644, &module);
    let mut loads = Vec::new();
    for (i, text) in configurations.iter().enumerate() {
        let configuration = format!("modprobe{i}");
        archive.file(&format!("{DIRECTORY}/{configuration}"), 0o644, text.as_bytes());
        loads.push(Load { name: format!("load{i}"), configuration });
    }
    let names: Vec<String> = loads.iter().map(|l| format!("load {}", l.name)).collect();
    let (answer, _) = play(kernel, machine, archive, vec![Task::Modprobe(loads)], limit)?;
    Ok(Booted {
        loads: names.iter().map(|n| answer.text(n)).collect(),
        drivers: by_path(&answer.text("drivers")),
        initcalls: answer.text("initcalls"),
        log: answer.text("log"),
    })
}
