//! One boot of a guest that probes a set of devices: predicted, and made.

use super::drivers::{Registered, boot_in_order};
use super::tree::{self, Set};
use anyhow::{Context, Result};
use dormouse_lab::graft::Grafted;
use dormouse_lab::kernels::Kernel;
use dormouse_lab::probes;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::compare::{Comparison, Observed, compare};
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_read::dtb::blob::GRAFT;
use dormouse_read::dtb::fdt;
use std::collections::BTreeMap;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1_200);

pub(super) fn machine(kernel: &Kernel, words: &str) -> Machine {
    let mut machine = Machine::new(Arch::Arm64, Accel::Icount, 2, &kernel.release);
    machine.words = words.into();
    machine
}

/// One boot, predicted and made.
pub(super) struct Boot {
    pub(super) blob: Vec<u8>,
    pub(super) grafted: Grafted,
    pub(super) compared: Comparison,
    /// Attempts with the worker last, and with the worker first.
    pub(super) predicted: [Vec<(String, i32)>; 2],
}

impl Boot {
    /// Devices; those that have other numbers of attempts than both ends and all
    /// between; of them, those of which both ends say the same.
    pub(super) fn devices(&self) -> [usize; 3] {
        let counts = |list: &[(String, i32)]| {
            let mut all: BTreeMap<String, usize> = BTreeMap::new();
            list.iter().for_each(|(name, _)| *all.entry(name.clone()).or_default() += 1);
            all
        };
        let kernel = counts(&self.grafted.attempts);
        let [a, b] = [0, 1].map(|n| counts(&self.predicted[n]));
        let (mut outside, mut agreed, mut all) = (0, 0, 0);
        // From 6.17 on a power domain is itself a device (bus genpd_provider).
        for (name, n) in kernel.iter().filter(|(name, _)| !name.starts_with("dormouse-")) {
            all += 1;
            let [a, b] = [&a, &b].map(|c| c.get(name).copied().unwrap_or(0));
            let other = !(a.min(b)..=a.max(b)).contains(n);
            outside += usize::from(other);
            agreed += usize::from(other && a == b);
        }
        [all, outside, agreed]
    }
}

/// Makes and predicts it; `over` says that the time for drivers ends before the guest does.
pub(super) fn boot(
    kernel: &Kernel,
    board: &[u8],
    mode: Mode,
    set: &Set,
    words: &str,
    seconds: u64,
    over: bool,
) -> Result<Boot> {
    let rules = Rules::of(&kernel.release).context("a kernel without a number")?;
    let machine = machine(kernel, format!("fw_devlink={} {words}", mode.name()).trim_end());
    let blob = tree::tree(&machine, board, rules, set)?;
    let grafted = probes::run(kernel, &machine, blob.clone(), seconds, LIMIT)?;
    let tree = fdt::tree(&blob).context("cannot read the grafted tree")?;
    let wish = Wish { rules, mode, strict: false, early: Early::usual(rules), timed_out: over };
    let drivers = Registered::of(&tree);
    let [last, first] = [false, true].map(|eager| boot_in_order(&tree, &wish, &drivers, eager));
    let below = tree.find(GRAFT).context("the tree has no graft")?;
    let observed = Observed {
        links: grafted.links.clone(),
        devices: grafted.devices.clone(),
        cycles: grafted.cycles.clone(),
        attempts: grafted.attempts.clone(),
    };
    let compared = compare(&last, &first, below, &observed);
    let predicted = [&last, &first].map(|b| {
        let name = |d: usize| b.machine.devices[d].name.clone();
        b.attempts.iter().map(|a| (name(a.device), a.outcome.code())).collect()
    });
    Ok(Boot { blob, grafted, compared, predicted })
}
