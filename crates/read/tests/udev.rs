//! Device lists become boards: by a sample made by hand, and by the dumps of 20
//! real machines where those are at hand.

use dormouse_base::device::LinkKind;
use dormouse_base::loss::Severity;
use dormouse_board::{parse, print, summary::summarize};
use dormouse_read::udev;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

const SAMPLE: &str = "\
P: /devices/pci0000:00/0000:00:1f.2
E: DEVPATH=/devices/pci0000:00/0000:00:1f.2
E: SUBSYSTEM=pci
E: DRIVER=ahci

P: /devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0
E: SUBSYSTEM=scsi
E: DEVTYPE=scsi_device
E: DRIVER=sd

P: /devices/pci0000:00/0000:00:1f.2/ata1/host0
E: SUBSYSTEM=scsi
E: DEVTYPE=scsi_host

P: /devices/pci0000:00/0000:00:14.0/usb1
E: SUBSYSTEM=usb
E: DEVTYPE=usb_device
E: DRIVER=usb

P: /devices/pci0000:00/0000:00:14.0
E: SUBSYSTEM=pci
E: DRIVER=xhci_hcd

P: /devices/pci0000:00/0000:00:14.0/usb1/1-0:1.0
E: SUBSYSTEM=usb
E: DEVTYPE=usb_interface
E: DRIVER=hub

P: /devices/pci0000:00/0000:00:14.0/wakeup/wakeup3
E: SUBSYSTEM=wakeup

P: /devices/platform/Fixed MDIO bus.0
E: SUBSYSTEM=platform

P: /devices/virtual/block/cciss!c0d0
E: SUBSYSTEM=block

P: /devices/system/cpu/cpu0
E: SUBSYSTEM=cpu

P: /devices/system/cpu/cpu1
E: SUBSYSTEM=cpu

P: /devices/virtual/devlink/pci:0000:00:1f.2--pci:0000:00:14.0
E: SUBSYSTEM=devlink

P: /devices/virtual/devlink/platform:gone--pci:0000:00:14.0
E: SUBSYSTEM=devlink

P: /module/ahci
E: SUBSYSTEM=module
this is no line of such a dump
";

#[test]
fn a_dump_becomes_a_board() {
    assert!(udev::recognise(b"P: /devices/a\nE: DEVPATH=/devices/a\n"));
    assert!(!udev::recognise(b"# tracer: nop\n"));
    let made = udev::read(SAMPLE.as_bytes(), 1);
    let b = &made.board;
    let device = |name: &str| {
        let i = b.graph.devices.iter().position(|d| b.names.get(d.name) == name);
        i.unwrap_or_else(|| panic!("{name} is missing"))
    };
    let parent =
        |name: &str| b.graph.devices[device(name)].parent.map(|p| b.names.get(b.graph.get(p).name));
    assert_eq!(parent("0000:00:1f.2"), Some("pci0000:00"));
    // A port has no bus, so no dump lists it; `host0` is below it.
    assert_eq!(parent("ata1"), Some("0000:00:1f.2"));
    assert_eq!(parent("host0"), Some("ata1"));
    // `target0:0:0` is not listed here: the next device above is the parent.
    assert_eq!(parent("0:0:0:0"), Some("host0"));
    assert_eq!(parent("1-0:1.0"), Some("usb1"));
    assert_eq!(parent("Fixed MDIO bus.0"), Some("platform"));
    assert_eq!(parent("cciss/c0d0"), None);
    assert_eq!(b.cpus, 2);
    let xhci = device("0000:00:14.0");
    assert!(b.devices[xhci].wakeup);
    assert_eq!(b.graph.devices[xhci].async_flag, Some(true));
    assert_eq!(b.graph.devices[device("cpu0")].async_flag, Some(false));
    assert!(b.devices[xhci].work[3].is_some(), "PCI devices have noirq callbacks");
    assert!(b.devices[device("1-0:1.0")].no_callbacks());
    // The link moved its consumer, and what is below, behind the supplier.
    assert_eq!(b.graph.links.len(), 1);
    assert_eq!(b.graph.links[0].kind, LinkKind::Active);
    assert!(device("0000:00:1f.2") < xhci && xhci < device("usb1"));
    assert_eq!(made.losses.count("link_without_devices"), 1);
    assert_eq!(made.losses.count("line_not_understood"), 1);
    assert_eq!(b.graph.devices.len(), 10 + ["pci0000:00", "ata1", "platform"].len());
    let again = udev::read(SAMPLE.as_bytes(), 1);
    assert_eq!(print(&again.board, ""), print(b, ""));
    assert_ne!(print(&udev::read(SAMPLE.as_bytes(), 2).board, ""), print(b, ""));
}

#[test]
fn damage_is_counted_and_never_panics() {
    let long = format!("P: /devices/{}\n", "x/".repeat(4000));
    assert_eq!(udev::read(long.as_bytes(), 1).losses.count("path_too_long"), 1);
    for cut in 0..SAMPLE.len() {
        udev::read(&SAMPLE.as_bytes()[..cut], 1);
        udev::read(&SAMPLE.as_bytes()[cut..], 1);
    }
    udev::read(b"P: /devices/\nE: SUBSYSTEM=cpu\n\nP: /devices//a\xff\nE: x\n", 1);
}

fn dumps() -> Option<Vec<PathBuf>> {
    let data = env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(list) = fs::read_dir(data.join("topologies/udevadm")) else {
        println!("SKIPPED: no device lists at {}; set DORMOUSE_DATA", data.display());
        return None;
    };
    Some(list.map(|e| e.expect("an entry").path()).collect())
}

/// The paths of a dump and how many records have each subsystem, read again in
/// the plainest way.
fn plain(text: &str) -> BTreeMap<&str, &str> {
    let mut out = BTreeMap::new();
    for record in text.split("\n\n") {
        let field = |p: &str| record.lines().find_map(|l| l.strip_prefix(p));
        if let Some(path) = field("P: ").filter(|p| p.starts_with("/devices/")) {
            out.entry(path).or_insert(field("E: SUBSYSTEM=").unwrap_or(""));
        }
    }
    out
}

#[test]
fn real_machines_become_boards() {
    let Some(files) = dumps() else { return };
    assert!(files.len() >= 20);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let made = udev::read(&bytes, 1);
        let b = &made.board;
        let expected = plain(&text);
        let listed = |s: &str| expected.values().filter(|&&v| v == s).count();
        let devices = expected.len() - listed("devlink") - listed("wakeup");
        let added = b.graph.devices.iter().filter(|d| d.subsystem.is_empty()).count();
        assert!(added < 30, "{}: {added} added", file.display());
        assert_eq!(b.graph.devices.len() - added, devices, "{}", file.display());
        // Every parent is a directory above, and the nearest that is a device.
        for d in &b.graph.devices {
            let path = b.names.get(d.facts.devpath);
            let above: Vec<&str> =
                path.match_indices('/').skip(1).map(|(i, _)| &path[..i]).collect();
            let nearest = above
                .iter()
                .rev()
                .find(|p| expected.get(**p).is_some_and(|s| !matches!(*s, "devlink" | "wakeup")));
            let parent = d.parent.map(|p| b.names.get(b.graph.get(p).facts.devpath));
            match parent {
                Some(p) if expected.contains_key(p) => assert_eq!(Some(&p), nearest, "{path}"),
                Some(p) => assert!(above.contains(&p), "{path}: {p}"),
                None => assert_eq!(nearest, None, "{path}"),
            }
        }
        let wakeup = b.devices.iter().filter(|d| d.wakeup).count();
        assert!(wakeup <= listed("wakeup"));
        let links = listed("devlink") as u64;
        assert_eq!(b.graph.links.len() as u64 + made.losses.count("link_without_devices"), links);
        assert!(made.losses.list.iter().all(|l| l.severity < Severity::Error));
        let s = summarize(b);
        assert!(s.early_children.is_empty() && s.early_consumers.is_empty());
        let printed = print(b, "");
        assert_eq!(parse(&printed).unwrap().graph.links, b.graph.links);
        assert_eq!(print(&parse(&printed).unwrap(), ""), printed);
    }
}
