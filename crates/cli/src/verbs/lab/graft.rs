//! `dormouse lab run --only graft`: a kernel's own answer to a device tree.

use super::{MachineArgs, find_kernel, make_machine};
use crate::terminal;
use crate::verbs::board::mode;
use anyhow::{Context, Result};
use clap::Args;
use dormouse_app::failure::Usage;
use dormouse_app::links::{Comparison, Mode, Rules, check};
use dormouse_lab::graft;
use dormouse_lab::qemu::Arch;
use dormouse_words::links::{Grafted, grafted, heading, row};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Boots a board's device tree without the board: what links does the kernel make?
///
/// The tree lies below a bus of QEMU's arm64 machine, and no driver matches its
/// devices. The answer is held against the prediction.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse lab run --only graft rk3399-rock960.dtb --kernel 6.12\n  dormouse lab run --only graft board.dtb --kernel 7 --fw-devlink permissive -o answer.txt"
)]
pub(crate) struct GraftArgs {
    /// Device tree blobs; several make a table.
    #[arg(required = true, value_name = "TREE")]
    trees: Vec<PathBuf>,
    #[command(flatten)]
    machine: MachineArgs,
    /// What the kernel is told; what it does by itself, if absent.
    #[arg(long, value_name = "rpm|on|permissive|off", value_parser = mode)]
    fw_devlink: Option<Mode>,
    /// Also write the kernel's links, waiting devices and log here, for
    /// "dormouse show --only domains".
    #[arg(short, long, value_name = "FILE", conflicts_with = "summary")]
    output: Option<PathBuf>,
    /// Print a table, a line a tree, and fail if anything differs.
    #[arg(long)]
    summary: bool,
}

/// Runs the verb.
pub(crate) fn run(a: &GraftArgs) -> Result<()> {
    if a.output.is_some() && a.trees.len() > 1 {
        return Err(Usage("-o takes the answer to one tree".into()).into());
    }
    super::are_there(&a.trees)?;
    // There are no such machines of another kind.
    let wish = MachineArgs { arch: Arch::Arm64, ..a.machine.clone() };
    let kernel = find_kernel(&wish)?;
    let machine = make_machine(&wish, &kernel, None);
    let rules = Rules::of(&kernel.release).unwrap_or(Rules::K7_3);
    let mode = a.fw_devlink.unwrap_or(rules.usual_mode());
    let limit = Duration::from_secs(a.machine.limit);
    let table = a.summary || a.trees.len() > 1;
    let mut all = Comparison::default();
    for (n, path) in a.trees.iter().enumerate() {
        let blob = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (answer, compared) = check(&kernel, &machine, &blob, mode, limit)?;
        if let Some(to) = &a.output {
            let written = fs::write(to, text(&answer));
            written.with_context(|| format!("cannot write {}", to.display()))?;
            terminal::wrote(to, "");
        }
        let said = Grafted {
            tree: &path.display().to_string(),
            release: &kernel.release,
            mode: mode.name(),
            rules: rules.name(),
            compared: &compared,
        };
        let screen = match (table, n) {
            (false, _) => grafted(&said),
            (true, 0) => format!("{}{}", heading(&said), row(&said)),
            (true, _) => row(&said),
        };
        terminal::print(&screen)?;
        all = all.plus(&compared);
    }
    if table {
        let trees = format!("{} trees", a.trees.len());
        let said = Grafted {
            tree: &trees,
            release: &kernel.release,
            mode: mode.name(),
            rules: rules.name(),
            compared: &all,
        };
        terminal::print(&row(&said))?;
        if a.summary && !all.exact() {
            anyhow::bail!("a kernel made what was not predicted");
        }
    }
    Ok(())
}

/// The answer as `grep -r . /sys/class/devlink` and the kernel's log print it.
fn text(answer: &graft::Grafted) -> String {
    let mut out = String::new();
    for l in &answer.links {
        let dir = format!("/sys/class/devlink/{}", l.name);
        let _ = writeln!(out, "{dir}/status:{}", l.status);
        let _ = writeln!(out, "{dir}/runtime_pm:{}", u8::from(l.runtime_pm));
        let _ = writeln!(out, "{dir}/sync_state_only:{}", u8::from(l.sync_state_only));
    }
    for d in &answer.devices {
        if let Some(waits) = d.waits {
            let dir = format!("/sys/bus/platform/devices/{}", d.name);
            let _ = writeln!(out, "{dir}/waiting_for_supplier:{}", u8::from(waits));
        }
    }
    out + &answer.log
}
