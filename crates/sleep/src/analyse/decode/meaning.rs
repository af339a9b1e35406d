//! What a device name says.

/// What a device name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Bus or class such as `I2C`, `USB`, `PCI`, `ACPI`, `input`.
    pub bus: &'static str,
    /// Where on it; empty if the name has no address.
    pub address: String,
    /// What it is, as far as the name says; empty if it does not.
    pub class: &'static str,
}

impl Meaning {
    pub(super) fn new(
        bus: &'static str,
        address: impl Into<String>,
        class: &'static str,
    ) -> Meaning {
        Meaning { bus, address: address.into(), class }
    }

    /// In one line: `I2C bus 0, chip address 0x55`.
    pub fn text(&self) -> String {
        let mut out = String::from(self.bus);
        for part in [self.class, self.address.as_str()] {
            if !part.is_empty() {
                out.push(' ');
                out.push_str(part);
            }
        }
        out
    }
}
