//! Nodes that a kernel initialises before there are devices: interrupt controllers
//! (drivers/of/irq.c:of_irq_init), clocks (drivers/clk/clk.c:of_clk_init) and timers
//! (drivers/clocksource/timer-probe.c). Which compatibles these are stands in tables
//! of the kernel's image; those of Debian's arm64 images are in [`super::tables`].

use super::machine::Machine;
use super::tables;
use super::version::Rules;
use crate::tree::Node;

/// Compatibles of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Early {
    /// `__irqchip_of_table`.
    pub interrupts: Vec<String>,
    /// `__clk_of_table`.
    pub clocks: Vec<String>,
    /// `__timer_of_table`.
    pub timers: Vec<String>,
}

/// What an early node is to the driver core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No device is made of it, and nobody waits for it.
    NoDevice,
    /// A device is made of it; nobody waits for it before a driver is bound.
    Device,
    /// A device is made of it, and consumers wait for its driver.
    Waits,
}

/// Interrupt controllers whose initialisation gives the device free again
/// (drivers/irqchip/irq-imx-gpcv2.c; from 6.12 on consumers wait for its driver).
const GIVES_BACK: [&str; 2] = ["fsl,imx7d-gpc", "fsl,imx8mq-gpc"];

impl Early {
    /// Of Debian's arm64 image of the kernel that the rules were read in.
    pub fn usual(rules: Rules) -> Early {
        let list = |all: &[(&str, &str)]| {
            let has = |kernels: &str| kernels.split(' ').any(|k| k == rules.name());
            let names = all.iter().filter(|(_, kernels)| has(kernels));
            names.map(|(name, _)| (*name).to_string()).collect()
        };
        Early {
            interrupts: list(&tables::INTERRUPTS),
            clocks: list(&tables::CLOCKS),
            timers: list(&tables::TIMERS),
        }
    }

    /// What a node is, if it is early.
    pub fn kind(&self, rules: Rules, node: &Node<'_>) -> Option<Kind> {
        let has = |list: &[String]| {
            node.strings("compatible").find(|c| list.iter().any(|l| l.as_bytes() == *c))
        };
        if node.get("interrupt-controller").is_some()
            && let Some(c) = has(&self.interrupts)
        {
            return Some(match GIVES_BACK.iter().any(|g| g.as_bytes() == c) {
                false => Kind::NoDevice,
                true if rules == Rules::K6_1 => Kind::Device,
                true => Kind::Waits,
            });
        }
        let c = has(&self.clocks)?;
        let kernels = |(name, kernels): &(&str, &str)| {
            name.as_bytes() == c && kernels.split(' ').any(|k| k == rules.name())
        };
        // CLK_OF_DECLARE_DRIVER gives the device free again.
        Some(match tables::CLOCKS_WITH_DEVICE.iter().any(kernels) {
            true => Kind::Device,
            false => Kind::NoDevice,
        })
    }

    /// Whether a timer of the kernel's own takes a node: it becomes a device to which
    /// no driver is bound.
    pub fn is_timer(&self, node: &Node<'_>) -> bool {
        node.strings("compatible").any(|c| self.timers.iter().any(|t| t.as_bytes() == c))
    }
}

impl Machine<'_, '_> {
    /// Initialises what comes before devices.
    pub fn initialise(&mut self, early: &Early) {
        for i in 1..self.tree.nodes.len() {
            let node = &self.tree.nodes[i];
            if !node.available() {
                continue;
            }
            let Some(kind) = early.kind(self.rules, node) else { continue };
            self.nodes[i].initialised = kind != Kind::Waits;
            self.nodes[i].populated = kind == Kind::NoDevice;
        }
    }
}
