//! What became of attempts to probe (drivers/base/dd.c:really_probe,
//! call_driver_probe, driver_deferred_probe_check_state).

use dormouse_base::finding::Evidence;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A driver has it.
    Bound,
    /// `-517`: the core stopped it before the driver was asked; it costs 2 us.
    Blocked,
    /// `517`: the driver or its domain asked for another attempt.
    Deferred,
    /// Another error.
    Failed(i32),
    /// It gave up on a provider that never came.
    GaveUp,
}

/// What a device asked for that its attempt gave up on, or that it cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// A power domain.
    Domain,
    /// An IOMMU.
    Iommu,
    /// A pin controller.
    Pins,
    /// A clock.
    Clock,
    /// A regulator.
    Regulator,
    /// A reset line.
    Reset,
    /// An interrupt.
    Interrupt,
    /// A PHY.
    Phy,
    /// A path of an interconnect.
    Interconnect,
}

/// Beginnings of the functions by which a driver or the core asks for each, in the order
/// in which a stack is read: what asks for a domain also sets clocks.
const ASKED_BY: [(&str, Provider); 18] = [
    ("__genpd_", Provider::Domain),
    ("genpd_", Provider::Domain),
    ("dev_pm_domain_attach", Provider::Domain),
    ("of_iommu_", Provider::Iommu),
    ("iommu_", Provider::Iommu),
    ("pinctrl_", Provider::Pins),
    ("create_pinctrl", Provider::Pins),
    ("dt_to_map", Provider::Pins),
    ("of_clk_", Provider::Clock),
    ("clk_", Provider::Clock),
    ("regulator_", Provider::Regulator),
    ("reset_control_", Provider::Reset),
    ("__of_reset_control_", Provider::Reset),
    ("of_irq_", Provider::Interrupt),
    ("fwnode_mdiobus_phy_device_register", Provider::Interrupt),
    ("of_phy_", Provider::Phy),
    ("phy_get", Provider::Phy),
    ("of_icc_", Provider::Interconnect),
];

impl Provider {
    /// Of a function that stands in a stack below driver_deferred_probe_check_state.
    pub fn asked_by(function: &str) -> Option<Provider> {
        let bare = function.trim_start_matches("devm_");
        ASKED_BY.iter().find(|(begin, _)| bare.starts_with(begin)).map(|(_, p)| *p)
    }

    /// What it is, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Domain => "a power domain",
            Provider::Iommu => "an IOMMU",
            Provider::Pins => "a pin controller",
            Provider::Clock => "a clock",
            Provider::Regulator => "a regulator",
            Provider::Reset => "a reset line",
            Provider::Interrupt => "an interrupt",
            Provider::Phy => "a PHY",
            Provider::Interconnect => "a path of an interconnect",
        }
    }

    /// The property of a device tree that names it.
    pub fn property(self) -> &'static str {
        match self {
            Provider::Domain => "power-domains",
            Provider::Iommu => "iommus",
            Provider::Pins => "pinctrl-0",
            Provider::Clock => "clocks",
            Provider::Regulator => "its …-supply",
            Provider::Reset => "resets",
            Provider::Interrupt => "interrupts",
            Provider::Phy => "phys",
            Provider::Interconnect => "interconnects",
        }
    }
}

/// The end of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The device.
    pub device: String,
    /// Its driver; empty if the text does not say.
    pub driver: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it took, us, if the text says.
    pub took_us: Option<u64>,
    /// What it gave up on, and the function of the stack that says so.
    pub asked: Option<(Provider, String)>,
    /// The device of which it is a part, where that one's driver could not bind it
    /// (drivers/base/component.c:component_bind).
    pub part_of: Option<String>,
    /// The line.
    pub evidence: Evidence,
}

/// What drivers said of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// The device.
    pub device: String,
    /// The driver that spoke first.
    pub driver: String,
    /// Line of its first word.
    pub first: u64,
    /// Line of the last word.
    pub last: u64,
    /// The first message.
    pub evidence: Evidence,
    /// The first message of a failure.
    pub failure: Option<Evidence>,
}
