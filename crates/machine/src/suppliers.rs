//! What sysfs and debugfs say of domains, suppliers and what waits for them, and the
//! device tree: read once, before anything is changed.
//!
//! Not read, because it may wait or wakes hardware: `real_power_state` asks the
//! firmware (drivers/acpi/device_sysfs.c), `clk_summary` resumes the providers of
//! clocks (drivers/clk/clk.c, 6.9 on), `regulator_summary` asks chips on a bus. The
//! files of genpd take the lock of a domain in a way that a signal ends.

use crate::root::Root;
use dormouse_capture::schema::{DeviceRow, RecordedLoss};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;

const DEBUG: &str = "/sys/kernel/debug";

/// Flattened tree of the firmware; root alone may read it.
const TREE: &str = "/sys/firmware/fdt";

/// Attributes of devices that tell of suppliers.
const WAITS: [&str; 2] = ["waiting_for_supplier", "state_synced"];

/// Attributes of ACPI devices that are only looked up.
const ACPI: [&str; 3] = ["path", "power_state", "resource_in_use"];

/// The text: a line `PATH:VALUE` for a file of one line, `==> PATH <==` before others.
pub fn dump(root: &Root, devices: &[DeviceRow], losses: &mut Vec<RecordedLoss>) -> Vec<u8> {
    let mut out = String::new();
    let mut add = |path: String| {
        let Some(text) = root.read(&path) else { return };
        let _ = if text.contains(['\n', '\t']) {
            writeln!(out, "==> {path} <==\n{text}\n")
        } else {
            writeln!(out, "{path}:{text}")
        };
    };
    add("/proc/cmdline".into());
    for d in devices {
        for file in WAITS {
            add(format!("/sys{}/{file}", d.devpath));
        }
    }
    for d in devices.iter().filter(|d| d.devpath.contains("/LNXSYSTM")) {
        let at = format!("/sys{}", d.devpath);
        let needs: Vec<String> =
            root.list(&at).into_iter().filter(|n| n.starts_with("power_resources_")).collect();
        let resource = d.name.starts_with("LNXPOWER:");
        // Hundreds of nodes of the firmware have a path and nothing to switch.
        if resource || !needs.is_empty() {
            ACPI.iter().for_each(|file| add(format!("{at}/{file}")));
        }
        for state in needs {
            for r in root.list(&format!("{at}/{state}")) {
                add(format!("{at}/{state}/{r}/resource_in_use"));
            }
        }
    }
    if root.may_list(DEBUG) {
        add(format!("{DEBUG}/devices_deferred"));
        let domains = format!("{DEBUG}/pm_genpd");
        add(format!("{domains}/pm_genpd_summary"));
        for domain in root.list(&domains) {
            for file in root.list(&format!("{domains}/{domain}")) {
                add(format!("{domains}/{domain}/{file}"));
            }
        }
    } else {
        losses.push(RecordedLoss {
            kind: "debugfs_unreadable".into(),
            count: 1,
            advice: "power domains and deferred probes are in debugfs, which root alone may read"
                .into(),
        });
    }
    out.into_bytes()
}

/// The device tree that the kernel was given; empty on a machine without.
pub fn tree(root: &Root, losses: &mut Vec<RecordedLoss>) -> Vec<u8> {
    match fs::read(root.resolve(TREE)) {
        Ok(tree) => return tree,
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(_) => losses.push(RecordedLoss {
            kind: "device_tree_unreadable".into(),
            count: 1,
            advice: format!("{TREE} cannot be read: root may"),
        }),
    }
    Vec::new()
}
