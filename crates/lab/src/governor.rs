//! Decisions of a kernel's own governor of power domains (kernel/governor).

use crate::Result;
use crate::kernels::Kernel;
use crate::qemu::Machine;
use crate::run::{base, play};
use dormouse_guest::plan::Task;
use std::time::Duration;

/// Boots `kernel` once and gives what the module wrote down for each of `parameters`.
///
/// # Errors
/// When the module cannot be had, or the guest fails.
pub fn decisions(
    kernel: &Kernel,
    machine: &Machine,
    parameters: &[String],
    limit: Duration,
) -> Result<Vec<String>> {
    let archive = base(machine.arch)?;
    let tasks = vec![Task::Governor(parameters.to_vec())];
    let (answer, _) = play(kernel, machine, archive, tasks, limit)?;
    Ok((0..parameters.len()).map(|n| answer.text(&format!("governor {n}"))).collect())
}
