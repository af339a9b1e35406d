//! The example of a SoC PM driver (kernel/soc9000) in a guest: the tree of its chip lies
//! beside the nodes of QEMU's arm64 machine.

use crate::kernels::Kernel;
use crate::qemu::{Machine, own_tree};
use crate::run::{base, pack, play};
use crate::{Error, Result, kmod};
use dormouse_guest::plan::{SOC_MODULE, Task};
use dormouse_read::dtb::blob;
use dormouse_read::dtb::fdt;
use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = include_str!("../../../kernel/soc9000/soc9000.dts");

/// What a boot gave.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its events and phases of sleep, as text.
    pub trace: String,
    /// The kernel's log, a record a line as in `/dev/kmsg`.
    pub log: String,
    /// `devices_deferred` before the first sleep.
    pub waits: String,
    /// `pm_genpd_summary` before the first sleep.
    pub domains: String,
    /// `clk_summary` before the first sleep.
    pub clocks: String,
}

/// Boots `kernel` once with these parameters of the module: its devices probe, then it
/// sleeps twice with `pm_async` 0 and twice with 1, `deep`.
///
/// # Errors
/// When the module or the tree cannot be made, or the guest fails.
pub fn run(kernel: &Kernel, machine: &Machine, parameters: &str, limit: Duration) -> Result<Seen> {
    let read = |bytes| fdt::tree(bytes).map_err(|e| Error::other(e.to_string()));
    let (own, chip) = (own_tree(machine)?, chip()?);
    let tree = blob::beside(&read(&own)?, &read(&chip)?).map_err(Error::other)?.blob();
    let mut machine = Machine { tree, ..machine.clone() };
    machine.words = format!("log_buf_len=8M initcall_debug {}", machine.words).trim_end().into();
    let mut archive = base(machine.arch)?;
    pack(&mut archive, &kmod::soc9000(kernel)?, SOC_MODULE)?;
    let tasks = vec![Task::Soc(parameters.to_owned())];
    let (answer, _) = play(kernel, &machine, archive, tasks, limit)?;
    Ok(Seen {
        trace: answer.text("soc trace"),
        log: answer.text("log"),
        waits: answer.text("soc waits"),
        domains: answer.text("soc domains"),
        clocks: answer.text("soc clocks"),
    })
}

/// The chip's tree as a blob.
fn chip() -> Result<Vec<u8>> {
    let dir = tempfile::tempdir().map_err(Error::file(std::env::temp_dir()))?;
    let source = dir.path().join("soc9000.dts");
    fs::write(&source, SOURCE).map_err(Error::file(&source))?;
    let out = Command::new("dtc").args(["-I", "dts", "-O", "dtb"]).arg(&source).output().map_err(
        |e| match e.kind() {
            ErrorKind::NotFound => Error::Missing {
                program: "dtc",
                advice: "it compiles the device tree; tools/setup arm64 installs it".into(),
            },
            _ => Error::file("dtc")(e),
        },
    )?;
    if out.status.success() {
        return Ok(out.stdout);
    }
    let output = String::from_utf8_lossy(&out.stderr).into_owned();
    Err(Error::Program { what: "compiling soc9000.dts".into(), output })
}
