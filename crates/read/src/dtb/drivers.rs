//! Which drivers a kernel has for nodes: `modules.alias` (written by depmod) and
//! `modules.builtin.modinfo` of its folder of modules. Aliases of device trees are
//! `of:N<name>T<type>C<compatible>`, with stars (scripts/mod/file2alias.c:do_of_entry).
//! Drivers that are built in have aliases there in late kernels alone; before, the
//! tables of the kernel's image say which there are.

use super::image;
use dormouse_power::fw_devlink::boot::{Driver, Drivers};
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::machine::Machine;
use dormouse_power::tree::{Tree, text};
use std::collections::{BTreeSet, HashMap};

/// Modules by what they match.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// By compatible; empty for built in.
    compatible: HashMap<String, String>,
    /// By the name of a client: `i2c:lm75`.
    client: HashMap<String, String>,
    /// What is built in is known too.
    whole: bool,
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
                m.whole |= a.starts_with("of:");
                m.add(a, "");
            }
        }
        m
    }

    /// Adds the drivers that are built into an image that is not compressed. Whether it
    /// has tables of drivers.
    pub fn add_image(&mut self, image: &[u8]) -> bool {
        let found = image::compatibles(image);
        for c in &found {
            self.compatible.entry((*c).into()).or_default().clear();
        }
        self.whole |= !found.is_empty();
        !found.is_empty()
    }

    /// The modules that a kernel loads for the nodes of a tree.
    pub fn loaded_for<'m>(&'m self, tree: &Tree<'_>) -> BTreeSet<&'m str> {
        let names = tree.nodes.iter().flat_map(|n| n.strings("compatible"));
        let of = |c: &[u8]| self.compatible.get(&text(c)).map(String::as_str);
        names.filter_map(of).filter(|m| !m.is_empty()).collect()
    }

    /// Adds what a module drives and has no alias for: a driver that comes along with
    /// another one of its module, and would not have the module loaded.
    pub fn add_tables(&mut self, module: &str, file: &[u8]) {
        for c in image::compatibles(file) {
            self.compatible.entry(c.into()).or_insert_with(|| module.into());
        }
    }

    /// Whether it is known what is built in. If not, nobody can say that a driver is
    /// missing.
    pub fn is_whole(&self) -> bool {
        self.whole
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
                Some(module) if self.without.iter().any(|w| w == module) => Driver::None,
                Some(module) if module.is_empty() && self.early.is_timer(node) => Driver::None,
                None if m.is_whole() || self.early.is_timer(node) => Driver::None,
                _ => binds,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of `struct of_device_id`.
    fn entry(compatible: &str) -> Vec<u8> {
        let mut e = vec![0; 64];
        e.extend_from_slice(compatible.as_bytes());
        e.resize(192, 0);
        e.extend_from_slice(&[8, 7, 6, 5, 4, 3, 2, 1]);
        e
    }

    #[test]
    fn what_is_built_in_is_read_from_an_image() {
        let alias = b"alias of:N*T*Ca,modC* a_mod\nalias of:N*T*Ca,both b_mod\n";
        let mut m = Modules::read(alias, b"x.license=GPL\0");
        assert!(!m.is_whole() && !m.is_empty());
        assert!(!m.add_image(b"\x7fELF of nothing, a,fake"), "a word alone is no table");
        let image = [vec![1; 40], entry("a,built-in"), entry("a,both"), vec![0; 200]].concat();
        assert!(m.add_image(&image) && m.is_whole());
        let of = |c: &str| m.compatible.get(c).map(String::as_str);
        assert_eq!(
            (of("a,mod"), of("a,both"), of("a,built-in")),
            (Some("a_mod"), Some(""), Some(""))
        );
        assert_eq!(of("a,fake"), None);
        m.add_tables("a_mod", &[entry("a,inside"), entry("a,built-in"), vec![0; 200]].concat());
        let of = |c: &str| m.compatible.get(c).map(String::as_str);
        assert_eq!((of("a,inside"), of("a,built-in")), (Some("a_mod"), Some("")));
        assert!(Modules::read(b"", b"y.alias=of:N*T*Cb,c\0").is_whole());
    }
}
