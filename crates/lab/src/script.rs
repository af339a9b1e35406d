//! Scripts of the shell in a guest, with Debian's programs.

use crate::kernels::{Kernel, modules};
use crate::plan::{DIRECTORY, Plan, Script};
use crate::programs::pack_for_scripts;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Result, storage};
use std::time::Duration;

/// Boots `kernel` once, with Debian's programs for scripts
/// ([`crate::programs`]), and gives what `text`, a script of the shell, prints.
/// `drivers` are modules of the kernel that it loads, by name: they lie beside it
/// as `NAME.ko`; with `disks` our modules for storage lie there too.
///
/// # Errors
/// When the guest fails, or the script ends with another code than 0.
pub fn run(
    kernel: &Kernel,
    machine: &Machine,
    wish: &Script,
    text: &[u8],
    drivers: &[String],
    disks: bool,
    limit: Duration,
) -> Result<String> {
    let mut archive = base(machine.arch)?;
    pack_for_scripts(&mut archive)?;
    archive.file(&format!("{DIRECTORY}/{}", wish.file), 0o644, text);
    for name in drivers {
        if let Some(bytes) = modules::module(kernel, name)? {
            archive.file(&format!("{DIRECTORY}/{name}.ko"), 0o644, &bytes);
        }
    }
    if disks {
        storage::pack(kernel, &mut archive)?;
    }
    let plan = Plan {
        results: machine.arch.results().into(),
        script: Some(wish.clone()),
        ..Plan::default()
    };
    let (answer, _) = play(kernel, machine, archive, &plan, limit)?;
    Ok(answer.text("script"))
}
