//! A board's device tree below a bus of the laboratory's machine: a kernel makes its
//! devices, links and cycles without the board. No driver matches any of them, as
//! every compatible but those of buses has a prefix.

use crate::initramfs::Initramfs;
use crate::kernels::Kernel;
use crate::qemu::{Machine, own_tree};
use crate::run::{base, play};
use crate::{Error, Result};
use dormouse_guest::plan::Task;
use dormouse_read::dtb::blob::{self, GRAFT};
use dormouse_read::dtb::fdt;
pub use dormouse_read::dtb::{Device, Link};
use std::time::Duration;

/// What a kernel made of a grafted tree. Paths of nodes begin at the graft.
#[derive(Clone, Debug, Default)]
pub struct Grafted {
    /// The tree that was booted, as a blob.
    pub tree: Vec<u8>,
    /// Links with an end in the graft, in order of their names.
    pub links: Vec<Link>,
    /// Devices of the graft, in order of their nodes.
    pub devices: Vec<Device>,
    /// Lines on cycles with an end in the graft, in order of the log.
    pub cycles: Vec<(String, String)>,
    /// Attempts to probe devices of the graft, in order, with what came of each.
    pub attempts: Vec<(String, i32)>,
    /// The kernel's log, a message a line.
    pub log: String,
    /// Wall time of the boot.
    pub took: Duration,
}

/// The tree that is booted: the machine's with `board` below a bus of it.
///
/// # Errors
/// When a blob cannot be read, or QEMU gives none.
pub fn tree(machine: &Machine, board: &[u8]) -> Result<Vec<u8>> {
    let read = |bytes| fdt::tree(bytes).map_err(|e| Error::other(e.to_string()));
    let own = own_tree(machine)?;
    let grafted = blob::graft(&read(&own)?, &read(board)?).map_err(Error::other)?;
    Ok(grafted.blob())
}

/// Boots `kernel` with `board` grafted.
///
/// # Errors
/// As [`crate::run::run`].
pub fn graft(kernel: &Kernel, machine: &Machine, board: &[u8], limit: Duration) -> Result<Grafted> {
    let tree = tree(machine, board)?;
    boot(kernel, machine, tree, base(machine.arch)?, Vec::new(), limit)
}

/// Boots `kernel` with a grafted tree, and has the guest say what came of it.
///
/// # Errors
/// As [`crate::run::run`].
pub(crate) fn boot(
    kernel: &Kernel,
    machine: &Machine,
    tree: Vec<u8>,
    archive: Initramfs,
    mut tasks: Vec<Task>,
    limit: Duration,
) -> Result<Grafted> {
    let mut machine = Machine { tree: tree.clone(), ..machine.clone() };
    machine.words = format!("log_buf_len=8M initcall_debug {}", machine.words).trim_end().into();
    tasks.push(Task::Links);
    let (answer, output) = play(kernel, &machine, archive, tasks, limit)?;
    let log = messages(&answer.text("log"));
    let inside = |node: &str| {
        node.strip_prefix(&format!("/{GRAFT}")).is_some_and(|r| r.is_empty() || r.starts_with('/'))
    };
    let links = answer.text("links");
    let links =
        links.lines().filter_map(link).filter(|l| inside(&l.supplier) || inside(&l.consumer));
    let devices = answer.text("devices");
    let devices = devices.lines().filter_map(device).filter(|d| inside(&d.node));
    let cycles = log.lines().filter_map(|l| l.split_once(": Fixed dependency cycle(s) with "));
    let cycles = cycles.filter(|(a, b)| inside(a) || inside(b));
    let devices: Vec<Device> = devices.collect();
    let attempts = log.lines().filter_map(attempt);
    let attempts = attempts.filter(|(name, _)| devices.iter().any(|d| d.name == *name));
    Ok(Grafted {
        tree,
        links: links.collect(),
        attempts: attempts.collect(),
        devices: devices.clone(),
        cycles: cycles.map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
        log,
        took: output.took,
    })
}

/// Messages of records of `/dev/kmsg`.
fn messages(records: &str) -> String {
    let text = records.lines().filter_map(|l| l.split_once(';'));
    text.map(|(_, message)| format!("{message}\n")).collect()
}

/// `probe of DEV returned R after N usecs`; 7.3 names the driver behind the device
/// (drivers/base/dd.c:really_probe_debug).
fn attempt(line: &str) -> Option<(String, i32)> {
    let (name, rest) = line.strip_prefix("probe of ")?.split_once(" returned ")?;
    let name = name.split(" with driver ").next().unwrap_or(name);
    Some((name.to_owned(), rest.split(' ').next()?.parse().ok()?))
}

fn link(line: &str) -> Option<Link> {
    let mut words = line.split('\t').map(str::to_owned);
    let (name, supplier, consumer) = (words.next()?, words.next()?, words.next()?);
    let (status, _) = (words.next()?, words.next()?);
    let (runtime_pm, sync_state_only) = (words.next()? == "1", words.next()? == "1");
    Some(Link { name, supplier, consumer, status, runtime_pm, sync_state_only })
}

fn device(line: &str) -> Option<Device> {
    let mut words = line.split('\t').map(str::to_owned);
    let (node, _bus, name) = (words.next()?, words.next()?, words.next()?);
    let waits = words.next()?;
    Some(Device { node, name, waits: (waits != "-").then(|| waits == "1") })
}
