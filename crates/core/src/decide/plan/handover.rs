//! Changes as files that can be used as they are: device-tree overlay, udev
//! rules, modprobe configuration. Each says what it does and how to undo it.

use crate::board::Board;
use crate::device::{Device, DeviceId};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A file to hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Suggested name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// Text that is safe in a comment line: one line, no comment end.
fn remark(s: &str) -> String {
    s.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace("*/", "* /")
}

/// A string for udev between double quotes. `None` if udev cannot match it as
/// plain text.
fn udev_string(s: &str) -> Option<String> {
    let plain = |c: char| !c.is_control() && !"\"\\*?[]|{}$%".contains(c);
    (!s.is_empty() && s.chars().all(plain)).then(|| s.into())
}

/// udev rules that set `power/async` of each device. Devices that udev cannot
/// name are listed in a comment.
pub fn udev_rules(board: &Board, flags: &[(DeviceId, bool)]) -> Option<File> {
    if flags.is_empty() {
        return None;
    }
    let mut text = String::from(
        "# Sets power/async of devices, as chosen by dormouse.\n\
         # Install: copy to /etc/udev/rules.d/90-dormouse-async.rules, then\n\
         #   udevadm control --reload && udevadm trigger\n\
         # Undo: remove the file and restart (or write the old value into power/async).\n",
    );
    for &(id, on) in flags {
        let d = board.graph.get(id);
        let (name, was) = (board.names.get(d.name), word(d.async_flag == Some(true)));
        let value = word(on);
        let matches = rule_match(board, d);
        text.push_str(&format!("\n# {}: was {was}\n", remark(name)));
        match matches {
            Some(m) => text.push_str(&format!(
                "ACTION==\"add|change\", {m}, ATTR{{power/async}}=\"{value}\"\n"
            )),
            None if is_silent(board, d) => text.push_str(&format!(
                "# (the kernel tells udev nothing of a device without bus or class; a line for\n\
                 #  /etc/tmpfiles.d: w /sys{}/power/async - - - - {value})\n",
                remark(board.names.get(d.facts.devpath).trim_start_matches("/sys"))
            )),
            None => text.push_str("# (udev cannot match this name; write power/async by hand)\n"),
        }
    }
    Some(File { name: "90-dormouse-async.rules", text })
}

fn word(on: bool) -> &'static str {
    if on { "enabled" } else { "disabled" }
}

/// Whether the place of the device is known, and that it is of no subsystem:
/// such a device makes no events.
fn is_silent(board: &Board, d: &Device) -> bool {
    !board.names.get(d.facts.devpath).is_empty() && board.names.get(d.subsystem).is_empty()
}

fn rule_match(board: &Board, d: &Device) -> Option<String> {
    let get = |s| board.names.get(s);
    if is_silent(board, d) {
        return None;
    }
    let path = udev_string(get(d.facts.devpath).trim_start_matches("/sys"));
    if let Some(path) = path {
        return Some(format!("DEVPATH==\"{path}\""));
    }
    let name = udev_string(get(d.name))?;
    Some(match udev_string(get(d.subsystem)) {
        Some(subsystem) => format!("SUBSYSTEM==\"{subsystem}\", KERNEL==\"{name}\""),
        None => format!("KERNEL==\"{name}\""),
    })
}

/// A device-tree overlay that disables the nodes of `devices`; `None` if none
/// of them has a node.
pub fn overlay(board: &Board, devices: &[DeviceId]) -> Option<File> {
    let nodes: Vec<(&str, &str)> = devices
        .iter()
        .map(|&d| {
            let d = board.graph.get(d);
            (board.names.get(d.facts.of_fullname), board.names.get(d.name))
        })
        .filter(|(node, _)| is_node_path(node))
        .collect();
    if nodes.is_empty() {
        return None;
    }
    let mut text = String::from(
        "/dts-v1/;\n/plugin/;\n\n\
         /*\n * Disables devices, as chosen by dormouse.\n\
         \x20* Compile: dtc -@ -I dts -O dtb -o dormouse.dtbo dormouse.dtso\n\
         \x20* Apply:   fdtoverlay -i BOARD.dtb -o NEW.dtb dormouse.dtbo\n\
         \x20* Undo:    boot the old device tree again.\n */\n\n/ {\n",
    );
    for (i, (node, name)) in nodes.iter().enumerate() {
        text.push_str(&format!(
            "\t/* {} */\n\tfragment@{i} {{\n\t\ttarget-path = \"{node}\";\n\
             \t\t__overlay__ {{\n\t\t\tstatus = \"disabled\";\n\t\t}};\n\t}};\n",
            remark(name)
        ));
    }
    text.push_str("};\n");
    Some(File { name: "dormouse.dtso", text })
}

/// A path of node names as the device-tree specification allows them, so that
/// nothing of a log can end the string.
fn is_node_path(path: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || ",._+-@/".contains(c);
    path.len() > 1 && path.starts_with('/') && path.chars().all(legal)
}

/// modprobe configuration that keeps the modules of `devices` from loading;
/// `None` if none of them is driven by a module.
pub fn modprobe(board: &Board, devices: &[DeviceId]) -> Option<File> {
    let mut modules: Vec<&str> = devices
        .iter()
        .map(|&d| board.names.get(board.graph.get(d).facts.module))
        .filter(|m| {
            !m.is_empty() && m.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        })
        .collect();
    modules.sort_unstable();
    modules.dedup();
    if modules.is_empty() {
        return None;
    }
    let mut text = String::from(
        "# Keeps drivers from loading, as chosen by dormouse. A module drives every\n\
         # device of its kind: check that nothing else needs it.\n\
         # Install: copy to /etc/modprobe.d/dormouse.conf, rebuild the initramfs, restart.\n\
         # Without a file system: kernel command line modprobe.blacklist=MODULE[,MODULE].\n\
         # Undo: remove the file, rebuild the initramfs, restart.\n",
    );
    for m in &modules {
        text.push_str(&format!("blacklist {m}\ninstall {m} /bin/false\n"));
    }
    Some(File { name: "dormouse.conf", text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::parse;

    #[test]
    fn a_device_of_no_subsystem_gets_no_rule() {
        let mut board = parse("board 1\ndevice pci0000:00\ndevice nic subsystem=pci\n").unwrap();
        for (i, path) in
            ["/devices/pci0000:00", "/sys/devices/pci0000:00/0000:00:03.0"].into_iter().enumerate()
        {
            board.graph.devices[i].facts.devpath = board.names.add(path);
        }
        let flags: Vec<(DeviceId, bool)> = board.graph.ids().map(|d| (d, true)).collect();
        let text = udev_rules(&board, &flags).unwrap().text;
        let rules: Vec<&str> = text.lines().filter(|l| l.starts_with("ACTION")).collect();
        let path = "DEVPATH==\"/devices/pci0000:00/0000:00:03.0\"";
        assert_eq!(
            rules,
            [format!("ACTION==\"add|change\", {path}, ATTR{{power/async}}=\"enabled\"")]
        );
        let by_hand = "w /sys/devices/pci0000:00/power/async - - - - enabled";
        assert!(text.contains(by_hand), "{text}");
    }

    #[test]
    fn files_say_what_they_do_and_hostile_names_stay_text() {
        let board = parse(
            "board 1\ndevice \"x\\\" RUN+=\\\"sh\" subsystem=usb async\n\
             device wlan0 subsystem=sdio module=wl18xx of=/ocp/mmc@48060000/wlan@2\n\
             device bad of=\"/a\\\";evil\"\n",
        )
        .unwrap();
        let all: Vec<DeviceId> = board.graph.ids().collect();
        let rules = udev_rules(&board, &[(all[0], false), (all[1], true)]).unwrap().text;
        assert!(
            rules.contains("SUBSYSTEM==\"sdio\", KERNEL==\"wlan0\", ATTR{power/async}=\"enabled\"")
        );
        assert!(!rules.lines().any(|l| !l.starts_with('#') && l.contains("RUN")), "{rules}");
        let dts = overlay(&board, &all).unwrap().text;
        assert!(dts.contains("target-path = \"/ocp/mmc@48060000/wlan@2\";"));
        assert!(!dts.contains("evil"));
        assert!(modprobe(&board, &all).unwrap().text.contains("blacklist wl18xx\n"));
        assert_eq!(modprobe(&board, &all[..1]), None);
    }
}
