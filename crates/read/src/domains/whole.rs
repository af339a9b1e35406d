//! Files that are no text of their own: device trees, and folders with
//! copies of debugfs and sysfs, whose names say what they are.

use crate::container::Source;
use crate::dtb::fdt;
use crate::text::Text;
use dormouse_base::loss::Severity;
use dormouse_power::{Case, rail};

/// Larger files are no attributes.
const LARGEST: usize = 256 << 10;

/// Words of paths whose file says nothing without its path.
const NAMED: [&str; 9] = [
    "/pm_genpd/",
    "/devlink/",
    "/waiting_for_supplier",
    "/state_synced",
    "/devices_deferred",
    "/power_state",
    "/real_power_state",
    "/LNXPOWER:",
    "/power_resources_",
];

/// A device tree.
pub(super) fn of_tree(name: &str, bytes: &[u8]) -> Text<Case> {
    let mut text = Text { name: name.into(), ..Text::default() };
    tree(bytes, &mut text);
    text
}

pub(super) fn tree(bytes: &[u8], text: &mut Text<Case>) {
    match fdt::tree(bytes) {
        Ok(tree) => text.case.rails = rail::rails(&tree),
        Err(e) => text.losses.add("damaged_input", 1, Severity::Warning, e.to_string(), None),
    }
}

/// Small files of folders, as one text.
#[derive(Default)]
pub(super) struct Small {
    name: String,
    lines: Vec<u8>,
}

impl Small {
    /// Takes a file of a folder, if its path is needed to read it.
    pub(super) fn add(&mut self, source: &Source<'_>) -> bool {
        if source.group.is_empty()
            || source.bytes.len() > LARGEST
            || source.bytes.contains(&0)
            || !NAMED.iter().any(|w| source.name.contains(w))
        {
            return false;
        }
        if self.name.is_empty() {
            self.name = format!("{} and other small files", source.name);
        }
        let text = source.bytes.trim_ascii_end();
        if text.contains(&b'\n') || source.name.ends_with("/devices_deferred") {
            self.lines.extend_from_slice(format!("==> {} <==\n", source.name).as_bytes());
            self.lines.extend_from_slice(text);
            self.lines.push(b'\n');
        } else {
            self.lines.extend_from_slice(format!("{}:", source.name).as_bytes());
            self.lines.extend_from_slice(text);
        }
        self.lines.push(b'\n');
        true
    }

    /// Their name, and what they say.
    pub(super) fn text(self) -> Option<(String, Vec<u8>)> {
        (!self.lines.is_empty()).then_some((self.name, self.lines))
    }
}
