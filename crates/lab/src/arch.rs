//! Which processor a kernel is for.

use serde::{Deserialize, Serialize};

/// Processor architecture of a guest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86-64.
    #[default]
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// Debian's name.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// First part of a compiler's target.
    pub fn machine(self) -> &'static str {
        match self {
            Arch::Amd64 => "x86_64",
            Arch::Arm64 => "aarch64",
        }
    }

    /// The terminal that takes the results.
    pub fn results(self) -> &'static str {
        match self {
            Arch::Amd64 => "/dev/ttyS1",
            // `virt` has one UART of its own; this one is on the PCI bus.
            Arch::Arm64 => "/dev/ttyS0",
        }
    }
}
