//! Changes as files that can be used as they are: device-tree overlay, udev
//! rules, modprobe configuration. Each says what it does and how to undo it.

use super::candidate::{Candidate, Kind};
use crate::simulate::change::dependents;
use dormouse_base::device::{Device, DeviceId};
use dormouse_board::Board;

/// A file to hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Suggested name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// The files that make the changes of a plan, and the devices that none of them
/// reaches.
///
/// A device that is to go gets every way that leads there: its node in the
/// overlay; and its module in the modprobe configuration, or where its driver is
/// part of the kernel or drives others that stay, a rule that unbinds it.
pub fn files(board: &Board, changes: &[Candidate]) -> (Vec<File>, Vec<DeviceId>) {
    let of = |kind: Kind| -> Vec<DeviceId> {
        changes.iter().filter(|c| c.kind == kind).map(|c| c.device).collect()
    };
    let mut places: Vec<usize> = changes.iter().flat_map(|c| c.removes(board)).collect();
    places.sort_unstable();
    places.dedup();
    let removed: Vec<DeviceId> = places.iter().map(|&i| DeviceId(i as u32)).collect();
    let gone = dependents(board, &places);
    let modules = modules(board, &removed, &gone);
    let unbound: Vec<DeviceId> = removed
        .iter()
        .copied()
        .filter(|&d| !modules.contains(&module(board, d)) && unbinding(board, d).is_some())
        .collect();
    let out_of_reach = removed
        .iter()
        .copied()
        .filter(|&d| {
            !is_node_path(board.names.get(board.graph.get(d).facts.of_fullname))
                && !modules.contains(&module(board, d))
                && !unbound.contains(&d)
        })
        .collect();
    let flags: Vec<(DeviceId, bool)> = of(Kind::Async).into_iter().map(|d| (d, true)).collect();
    let files = [
        overlay(board, &removed),
        modprobe(&modules),
        unbind_rules(board, &unbound),
        udev_rules(board, &flags),
    ];
    (files.into_iter().flatten().collect(), out_of_reach)
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
            None => text.push_str(&match silent_path(board, d) {
                Some(path) => format!(
                    "# (the kernel tells udev nothing of a device without bus or class; a line for\n\
                     #  /etc/tmpfiles.d/dormouse.conf:)\n# {}\n",
                    at_start(&format!("{path}/power/async"), value)
                ),
                None => "# (udev cannot match this name; write power/async by hand)\n".into(),
            }),
        }
    }
    Some(File { name: "90-dormouse-async.rules", text })
}

/// udev rules that write `disabled` to a file of the folder `power` of each device, by the
/// device's path below `/sys` and its name. Devices that udev cannot name are listed in a comment.
pub fn off_rules(file: &str, devices: &[(&str, &str)]) -> String {
    let mut text = format!(
        "# Turns power/{file} of devices off, as found by dormouse search.\n\
         # Install: copy to /etc/udev/rules.d/92-dormouse-{file}.rules, then\n\
         #   udevadm control --reload && udevadm trigger --action=add\n\
         # Undo: remove the file and restart (or write enabled to power/{file}).\n"
    );
    for (path, name) in devices {
        text.push_str(&format!("\n# {}\n", remark(name)));
        match udev_string(path) {
            Some(path) => text.push_str(&format!(
                "ACTION==\"add|change\", DEVPATH==\"{path}\", ATTR{{power/{file}}}=\"{}\"\n",
                word(false)
            )),
            None => text.push_str(&format!(
                "# (udev cannot match this name; write power/{file} by hand)\n"
            )),
        }
    }
    text
}

fn word(on: bool) -> &'static str {
    if on { "enabled" } else { "disabled" }
}

/// A line of systemd's tmpfiles.d that writes `value` into a file of sysfs at
/// every start. The path must be plain ([`udev_string`]).
fn at_start(file: &str, value: &str) -> String {
    format!("w /sys{file} - - - - {value}")
}

/// The line of tmpfiles.d that makes a value of `/sys/power/pm_async` last.
pub fn pm_async_at_start(on: bool) -> String {
    at_start("/power/pm_async", if on { "1" } else { "0" })
}

/// Where a device is that makes no events, if a line of tmpfiles.d can name it.
fn silent_path(board: &Board, d: &Device) -> Option<String> {
    let path = udev_string(board.names.get(d.facts.devpath).trim_start_matches("/sys"))?;
    (is_silent(board, d) && !path.contains(char::is_whitespace)).then_some(path)
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

/// The module of a device's driver as the kernel spells it; empty if the driver
/// is part of the kernel image or not known.
fn module(board: &Board, device: DeviceId) -> String {
    let name = board.names.get(board.graph.get(device).facts.module);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    // A module's file may have dashes, the kernel knows it by underscores, and
    // compares `module_blacklist=` with that.
    if name.chars().all(plain) { name.replace('-', "_") } else { String::new() }
}

/// The modules of `devices` that drive nothing that stays.
fn modules(board: &Board, devices: &[DeviceId], gone: &[bool]) -> Vec<String> {
    let mut all: Vec<String> = devices.iter().map(|&d| module(board, d)).collect();
    all.sort_unstable();
    all.dedup();
    let stays = |m: &String| board.graph.ids().any(|d| !gone[d.index()] && module(board, d) == *m);
    all.retain(|m| !m.is_empty() && !stays(m));
    all
}

/// modprobe configuration that keeps `modules` from loading; `None` if there
/// are none.
fn modprobe(modules: &[String]) -> Option<File> {
    if modules.is_empty() {
        return None;
    }
    let mut text = format!(
        "# Keeps drivers from loading, as chosen by dormouse. They drive nothing that was\n\
         # there and stays; what is plugged in at other times may need them.\n\
         # Install: copy to /etc/modprobe.d/dormouse.conf, rebuild the initramfs, restart.\n\
         # Or, whatever loads modules there, on the kernel command line:\n\
         #   module_blacklist={}\n\
         # Undo: remove the file (or the words), rebuild the initramfs, restart.\n",
        modules.join(",")
    );
    for m in modules {
        // The first line for loading by what a device is, the second by name.
        text.push_str(&format!("blacklist {m}\ninstall {m} /bin/false\n"));
    }
    Some(File { name: "dormouse.conf", text })
}

/// What udev has to match and to write to take a device from its driver; `None`
/// if no driver is known, or udev cannot name it.
fn unbinding(board: &Board, device: DeviceId) -> Option<(String, String)> {
    let d = board.graph.get(device);
    let silent = |s| board.names.get(s).is_empty();
    // Only devices of a bus have drivers.
    if silent(d.driver) || silent(d.subsystem) || d.facts.class {
        return None;
    }
    Some((rule_match(board, d)?, udev_string(board.names.get(d.name))?))
}

/// udev rules that take each of `devices` from its driver, as soon as udev hears
/// of it; devices that udev cannot name are left out. `None` if none is left.
pub(crate) fn unbind_rules(board: &Board, devices: &[DeviceId]) -> Option<File> {
    let mut text = String::from(
        "# Takes devices from their drivers, as chosen by dormouse: their callbacks run no\n\
         # more, and devices below them go. For drivers that are part of the kernel, or\n\
         # that drive other devices too, which stay as they are.\n\
         # Install: copy to /etc/udev/rules.d/91-dormouse-unbind.rules, then\n\
         #   udevadm control --reload && udevadm trigger --action=add\n\
         # Some drivers cannot be unbound: see whether the link `driver` of the device\n\
         # is gone.\n\
         # Undo: remove the file and restart.\n\
         # A driver of the kernel does not even start with these words on the kernel\n\
         # command line: initcall_blacklist=FUNCTION. As root,\n\
         #   grep __initcall__kmod_ /proc/kallsyms\n\
         # lists MODULE__NUMBERS_FUNCTIONLEVEL, such as LEVEL 6 or 4s.\n",
    );
    let head = text.len();
    for &id in devices {
        let d = board.graph.get(id);
        let Some((matches, name)) = unbinding(board, id) else { continue };
        text.push_str(&format!(
            "\n# {}: driver {}\nACTION==\"add|change|bind\", {matches}, \
             TEST==\"driver/unbind\", ATTR{{driver/unbind}}=\"{name}\"\n",
            remark(board.names.get(d.name)),
            remark(board.names.get(d.driver)),
        ));
    }
    (text.len() > head).then_some(File { name: "91-dormouse-unbind.rules", text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_board::parse;

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
    fn what_is_turned_off_is_named_by_its_place() {
        let text = off_rules("wakeup", &[("/devices/pci0000:00/usb1", "usb1"), ("/de\"v", "x\ny")]);
        let rules: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        let rule = "ACTION==\"add|change\", DEVPATH==\"/devices/pci0000:00/usb1\", \
                    ATTR{power/wakeup}=\"disabled\"";
        assert_eq!(rules, ["", rule, ""]);
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
    }

    fn removing(board: &Board, devices: &[DeviceId]) -> (Vec<File>, Vec<DeviceId>) {
        let change = |&device: &DeviceId| Candidate { device, kind: Kind::Remove };
        files(board, &devices.iter().map(change).collect::<Vec<_>>())
    }

    #[test]
    fn modules_that_drive_what_stays_are_not_kept_from_loading() {
        let board = parse(
            "board 1\ndevice a subsystem=pci driver=sdhci-pci module=sdhci-pci\n\
             device b parent=a subsystem=pci driver=sdhci-pci module=sdhci-pci\n\
             device c subsystem=pci driver=sdhci-pci module=sdhci_pci\n\
             device d subsystem=pnp driver=rtc_cmos\ndevice e subsystem=mem\n",
        )
        .unwrap();
        let all: Vec<DeviceId> = board.graph.ids().collect();
        let text = |files: &[File]| -> String {
            let lines = files.iter().flat_map(|f| f.text.lines());
            lines.filter(|l| !l.starts_with("# ")).map(|l| format!("{l}\n")).collect()
        };
        // c stays and has the same driver: only a is unbound.
        let (one, out_of_reach) = removing(&board, &all[..1]);
        let rule = "ACTION==\"add|change|bind\", SUBSYSTEM==\"pci\", KERNEL==\"a\", \
            TEST==\"driver/unbind\", ATTR{driver/unbind}=\"a\"";
        assert_eq!(text(&one).trim(), rule);
        assert!(out_of_reach.is_empty());
        // b goes with a, so nothing is left that needs the module.
        let (all_of_it, _) = removing(&board, &[all[0], all[2]]);
        assert_eq!(text(&all_of_it), "blacklist sdhci_pci\ninstall sdhci_pci /bin/false\n");
        assert!(all_of_it[0].text.contains("\n#   module_blacklist=sdhci_pci\n"));
        // No module and no driver.
        let (builtin, out_of_reach) = removing(&board, &all[3..]);
        assert!(text(&builtin).contains("ATTR{driver/unbind}=\"d\"") && builtin.len() == 1);
        assert_eq!(out_of_reach, all[4..]);
    }
}
