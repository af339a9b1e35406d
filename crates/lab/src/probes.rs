//! Drivers for the devices of a grafted tree, registered in the order that the tree
//! tells (kernel/probes): a kernel tries to bind them.

use crate::graft::{self, Grafted};
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{base, pack};
use crate::{Result, kmod};
use dormouse_guest::plan::{PROBES_MODULE, Task};
use std::time::Duration;

/// Boots `kernel` with `tree`, registers its drivers, and leaves the kernel alone for
/// `seconds` before the guest says what came of it.
///
/// # Errors
/// When the module cannot be built, or the guest fails.
pub fn run(
    kernel: &Kernel,
    machine: &Machine,
    tree: Vec<u8>,
    seconds: u64,
    limit: Duration,
) -> Result<Grafted> {
    let mut archive = base(machine.arch)?;
    pack(&mut archive, &kmod::probes(kernel)?, PROBES_MODULE)?;
    graft::boot(kernel, machine, tree, archive, vec![Task::Drivers(seconds)], limit)
}
