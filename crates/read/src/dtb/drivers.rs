//! Which drivers a kernel has for nodes: `modules.alias` (written by depmod) and
//! `modules.builtin.modinfo` of its folder of modules. Aliases of device trees are
//! `of:N<name>T<type>C<compatible>`, with stars (scripts/mod/file2alias.c:do_of_entry).

use dormouse_domains::fw_devlink::boot::{Driver, Drivers};
use dormouse_domains::fw_devlink::early::Early;
use dormouse_domains::fw_devlink::machine::Machine;
use dormouse_domains::tree::text;
use std::collections::HashMap;

/// Modules by what they match.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// By compatible; empty for built in.
    compatible: HashMap<String, String>,
    /// By the name of a client: `i2c:lm75`.
    client: HashMap<String, String>,
}

impl Modules {
    /// Reads the two files.
    pub fn read(alias: &[u8], builtin: &[u8]) -> Modules {
        let mut m = Modules::default();
        for line in String::from_utf8_lossy(alias).lines() {
            let mut words = line.split_whitespace();
            if let (Some("alias"), Some(a), Some(module)) =
                (words.next(), words.next(), words.next())
            {
                m.add(a, module);
            }
        }
        for entry in builtin.split(|&b| b == 0) {
            let entry = String::from_utf8_lossy(entry);
            if let Some(("alias", a)) =
                entry.split_once('.').and_then(|(_, rest)| rest.split_once('='))
            {
                m.add(a, "");
            }
        }
        m
    }

    fn add(&mut self, alias: &str, module: &str) {
        if let Some(rest) = alias.strip_prefix("of:N*T*C") {
            let compatible = rest.strip_suffix("C*").unwrap_or(rest);
            let known = self.compatible.entry(compatible.into()).or_insert_with(|| module.into());
            // What is built in comes first.
            if module.is_empty() {
                known.clear();
            }
        } else if alias.starts_with("i2c:") || alias.starts_with("spi:") {
            self.client.entry(alias.into()).or_insert_with(|| module.into());
        }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.compatible.is_empty()
    }

    /// The module for a device, or an empty name if its driver is built in.
    pub fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Option<&str> {
        let d = &machine.devices[device];
        let node = &machine.tree.nodes[d.node?];
        let names = || node.strings("compatible").map(text);
        let direct = names().find_map(|c| self.compatible.get(&c));
        let client = || {
            let bus = match d.bus {
                "i2c" => "i2c",
                "spi" => "spi",
                _ => return None,
            };
            let first = names().next()?;
            let name = first.rsplit(',').next().unwrap_or(&first).to_owned();
            self.client.get(&format!("{bus}:{name}"))
        };
        direct.or_else(client).map(String::as_str)
    }
}

/// Drivers as a user describes them.
pub struct Described<'m> {
    /// Of a kernel; none stands for all that there could be.
    pub modules: Option<&'m Modules>,
    /// Devices, compatibles or modules without a driver, by name.
    pub without: &'m [String],
    /// What the kernel initialises early.
    pub early: &'m Early,
}

impl Drivers for Described<'_> {
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver {
        let d = &machine.devices[device];
        let Some(n) = d.node else { return Driver::None };
        let node = &machine.tree.nodes[n];
        let named = |w: &String| *w == d.name || node.is(w);
        if self.without.iter().any(named) {
            return Driver::None;
        }
        let binds = Driver::Binds { children: true };
        // PHYs have a driver for all, and AMBA devices are matched by what they say.
        if matches!(d.bus, "mdio_bus" | "amba") {
            return binds;
        }
        let mut names = node.strings("compatible");
        let bus = |c: &[u8]| matches!(c, b"simple-bus" | b"simple-mfd" | b"isa" | b"arm,amba-bus");
        if names.next().is_some_and(bus) {
            return Driver::Binds { children: false };
        }
        match self.modules {
            None if self.early.is_timer(node) => Driver::None,
            None => binds,
            Some(m) => match m.of(machine, device) {
                Some(module) if !self.without.iter().any(|w| w == module) => binds,
                _ => Driver::None,
            },
        }
    }
}
