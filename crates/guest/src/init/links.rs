//! Device links, and devices that have a node of the device tree.

use super::system::read_text;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const LINKS: &str = "/sys/class/devlink";
const TREE: &str = "/sys/firmware/devicetree/base";

/// A line for each link: its name, the nodes of supplier and consumer, status,
/// auto_remove_on, runtime_pm and sync_state_only, with tabs between.
pub(super) fn links() -> String {
    let mut lines = Vec::new();
    for entry in fs::read_dir(LINKS).into_iter().flatten().flatten() {
        let dir = entry.path();
        let mut line = entry.file_name().to_string_lossy().into_owned();
        for end in ["supplier", "consumer"] {
            let _ = write!(line, "\t{}", node(&dir.join(end)));
        }
        for attribute in ["status", "auto_remove_on", "runtime_pm", "sync_state_only"] {
            let _ = write!(line, "\t{}", text(&dir.join(attribute)));
        }
        lines.push(line + "\n");
    }
    lines.sort_unstable();
    lines.concat()
}

/// A line for each device of a node: the node, its bus, its name,
/// waiting_for_supplier, driver and state_synced, with tabs between; a dash for what
/// it has not.
pub(super) fn devices() -> String {
    let mut lines = Vec::new();
    for bus in fs::read_dir("/sys/bus").into_iter().flatten().flatten() {
        let devices = bus.path().join("devices");
        for entry in fs::read_dir(devices).into_iter().flatten().flatten() {
            let dir = entry.path();
            let node = node(&dir);
            if node == "-" {
                continue;
            }
            let driver = fs::read_link(dir.join("driver")).ok();
            let driver = driver.and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
            lines.push(format!(
                "{node}\t{}\t{}\t{}\t{}\t{}\n",
                bus.file_name().to_string_lossy(),
                entry.file_name().to_string_lossy(),
                text(&dir.join("waiting_for_supplier")),
                driver.unwrap_or("-".into()),
                text(&dir.join("state_synced")),
            ));
        }
    }
    lines.sort_unstable();
    lines.concat()
}

/// Path of a device's node in the tree.
fn node(device: &Path) -> String {
    let path = fs::canonicalize(device.join("of_node")).ok();
    let path = path.and_then(|p| Some(format!("/{}", p.strip_prefix(TREE).ok()?.display())));
    path.unwrap_or("-".into())
}

fn text(path: &Path) -> String {
    Some(read_text(&path.to_string_lossy())).filter(|t| !t.is_empty()).unwrap_or("-".into())
}
