//! Machines that look like real ones: a laptop, a phone and a server. Their
//! shape (which buses, how many devices, who is whose child) is written down in
//! one file each; their times are drawn by class ([`super::classes`]) with a seed.

mod drawn;
mod laptop;
mod pc;
mod phone;
mod server;

use super::Board;
use drawn::Machine;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// About 900 devices, 8 CPUs: ACPI, PCI, USB, few links.
    Laptop,
    /// About 800 devices, 8 CPUs: platform devices of a device tree, hundreds
    /// of links.
    Phone,
    /// About 4,000 devices, 128 CPUs: memory blocks, processors, PCI.
    Server,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Laptop, Kind::Phone, Kind::Server];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Laptop => "laptop",
            Kind::Phone => "phone",
            Kind::Server => "server",
        }
    }

    /// Makes a machine of this kind.
    pub fn make(self, seed: u64) -> Board {
        let mut m = Machine::new(seed);
        match self {
            Kind::Laptop => laptop::build(&mut m),
            Kind::Phone => phone::build(&mut m),
            Kind::Server => server::build(&mut m),
        }
        m.board
    }
}
