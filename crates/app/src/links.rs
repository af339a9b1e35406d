//! Device trees: what a kernel makes of one, and whether a kernel of the laboratory
//! agrees.

use anyhow::{Context, Result, anyhow};
use dormouse_lab::graft::{Grafted, graft};
use dormouse_lab::kernels::Kernel;
use dormouse_lab::qemu::Machine;
pub use dormouse_power::fw_devlink::Wish as TreeWish;
pub use dormouse_power::fw_devlink::compare::Comparison;
use dormouse_power::fw_devlink::compare::{self, Observed};
use dormouse_power::fw_devlink::early::Early;
pub use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_power::fw_devlink::{BusesAlone, Wish, boot, boot_with};
use dormouse_read::dtb::blob::GRAFT;
use dormouse_read::dtb::fdt;
use std::time::Duration;

/// What a kernel initialises before devices, from its image.
///
/// # Errors
/// When the image has no tables, as a compressed one.
pub fn early_of(image: &[u8]) -> Result<Early> {
    dormouse_read::dtb::image::early(image).context(
        "no tables of early clocks, timers and interrupt controllers; an arm64 image that is not compressed has them",
    )
}

/// Boots a grafted tree, and holds the prediction against it.
///
/// # Errors
/// When the tree cannot be read, or the guest fails.
pub fn check(
    kernel: &Kernel,
    machine: &Machine,
    board: &[u8],
    mode: Mode,
    limit: Duration,
) -> Result<(Grafted, Comparison)> {
    let mut machine = machine.clone();
    machine.words = format!("fw_devlink={} {}", mode.name(), machine.words).trim_end().into();
    let grafted = graft(kernel, &machine, board, limit)?;
    let compared = compare(&kernel.release, mode, &grafted)?;
    Ok((grafted, compared))
}

/// Holds the prediction for a grafted tree against what the kernel made of it.
///
/// # Errors
/// When the tree cannot be read.
pub fn compare(release: &str, mode: Mode, grafted: &Grafted) -> Result<Comparison> {
    let rules = Rules::of(release).ok_or_else(|| anyhow!("kernel {release} has no number"))?;
    let tree = fdt::tree(&grafted.tree).context("cannot read the grafted tree")?;
    let early = Early::usual(rules);
    let wish = Wish { rules, mode, strict: false, early, timed_out: false };
    let booted = boot(&tree, &wish, &BusesAlone);
    let below = tree.find(&format!("/{GRAFT}")).context("the tree has no graft")?;
    let observed = Observed {
        links: grafted.links.clone(),
        devices: grafted.devices.clone(),
        cycles: grafted.cycles.clone(),
        attempts: grafted.attempts.clone(),
    };
    let eager = boot_with(&tree, &wish, &BusesAlone, true);
    Ok(compare::compare(&booted, &eager, below, &observed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_lab::kernels::get;
    use dormouse_lab::qemu::Arch;
    use std::collections::BTreeSet;

    #[test]
    #[ignore = "fetches kernels: `make prove SUBJECT=links` runs it"]
    fn images_initialise_early_what_the_tables_say() {
        for (series, rules) in [("6.1", Rules::K6_1), ("6.12", Rules::K6_12), ("7", Rules::K7_3)] {
            let kernel = get(Arch::Arm64, series).unwrap();
            let image = std::fs::read(&kernel.image).unwrap();
            let (read, known) = (early_of(&image).unwrap(), Early::usual(rules));
            for (what, read, known) in [
                ("interrupt controllers", read.interrupts, known.interrupts),
                ("clocks", read.clocks, known.clocks),
                ("timers", read.timers, known.timers),
            ] {
                let set = |list: Vec<String>| list.into_iter().collect::<BTreeSet<_>>();
                let (read, known) = (set(read), set(known));
                println!("{}: {} early {what}, as known", kernel.release, read.len());
                assert_eq!(read, known, "{}: {what}", kernel.release);
            }
        }
    }
}
