//! A device tree becomes a board.

use dormouse_base::device::LinkKind;
use dormouse_board::Board;
use dormouse_board::{parse, print};
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::version::Rules;
use dormouse_read::dtb;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dtb/sample.dtb")
}

fn usual() -> Wish {
    Wish::usual(Rules::K6_12)
}

fn name(b: &Board, i: usize) -> &str {
    b.names.get(b.graph.devices[i].name)
}

fn find(b: &Board, wanted: &str) -> usize {
    let mut all = (0..b.graph.devices.len()).filter(|&i| name(b, i) == wanted);
    all.next().unwrap_or_else(|| panic!("{wanted} is missing"))
}

#[test]
fn the_sample_is_what_dtc_makes_of_its_source() {
    let source = sample().with_extension("dts");
    let Ok(out) = Command::new("dtc").args(["-q", "-I", "dts", "-O", "dtb"]).arg(source).output()
    else {
        println!("SKIPPED: no dtc; install device-tree-compiler");
        return;
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stdout == fs::read(sample()).unwrap(), "sample.dtb is older than sample.dts");
}

#[test]
fn nodes_become_devices_with_the_kernels_names() {
    let made = dtb::read(&fs::read(sample()).unwrap(), 1, &usual()).unwrap();
    let b = &made.board;
    let mut devices: Vec<String> = (0..b.graph.devices.len())
        .map(|i| {
            let d = &b.graph.devices[i];
            let parent = d.parent.map_or("", |p| name(b, p.index()));
            format!("{} {} {parent}", name(b, i), b.names.get(d.subsystem))
        })
        .collect();
    devices.sort();
    // Addresses are those of the CPU: the bus maps 0x1000 to 0x40001000. No
    // CPU, memory, table of operating points, disabled device or its child.
    assert_eq!(
        devices,
        [
            "2-0048 i2c i2c-2",
            "40001000.interrupt-controller platform soc",
            "40002000.clocks platform soc",
            "40003000.serial amba soc",
            "40004000.i2c platform soc",
            "40005000.gpio platform soc",
            "40007000.ethernet platform soc",
            "40007000.ethernet:mdio mdio_bus 40007000.ethernet:mdio",
            "40007000.ethernet:mdio platform 40007000.ethernet",
            "40007000.ethernet:mdio:03 mdio_bus 40007000.ethernet:mdio",
            "i2c-2 i2c 40004000.i2c",
            "platform  ",
            "regulator-vdd platform platform",
            "soc platform platform",
            "soc:phy platform soc",
            "soc:pll platform soc",
        ]
    );
    assert_eq!(b.cpus, 2);
    assert!(b.devices[find(b, "2-0048")].wakeup);
    let console = &b.graph.devices[find(b, "40003000.serial")].facts;
    assert_eq!(b.names.get(console.essential), "console");
    assert_eq!(b.names.get(console.of_fullname), "/soc/serial@3000");
}

#[test]
fn references_become_links() {
    let made = dtb::read(&fs::read(sample()).unwrap(), 1, &usual()).unwrap();
    let b = &made.board;
    let mut links: Vec<String> = b
        .graph
        .links
        .iter()
        .map(|l| {
            let (c, s) = (name(b, l.consumer.index()), name(b, l.supplier.index()));
            format!("{c} -> {s} {}", l.kind.name())
        })
        .collect();
    links.sort();
    assert_eq!(
        links,
        [
            "2-0048 -> 40005000.gpio active",
            "2-0048 -> regulator-vdd active",
            "40003000.serial -> 40001000.interrupt-controller active",
            "40003000.serial -> 40002000.clocks active",
            "40004000.i2c -> 40002000.clocks active",
            "40005000.gpio -> 40004000.i2c active",
            "40007000.ethernet:mdio:03 -> 40002000.clocks active",
        ]
    );
    // An empty place ends a list: the UART has no link to the PLL behind it. What a
    // node below a device refers to counts until the device is bound.
    // The touch screen needs the GPIO, which needs the bus the screen is on:
    // no ring, as a parent is not its child's consumer.
    assert!(b.graph.links.iter().all(|l| l.kind == LinkKind::Active && l.supplier < l.consumer));
    // `nr-gpios` is a list of GPIOs to a kernel, which finds no cells there.
    let lost: Vec<_> = made.losses.list.iter().map(|l| (l.kind, l.count)).collect();
    assert_eq!(lost, [("reference_unread", 1)]);
    let text = print(b, "");
    assert_eq!(print(&parse(&text).unwrap(), ""), text);
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let blob = fs::read(sample()).unwrap();
    assert!(dtb::read(b"", 1, &usual()).is_err());
    assert!(dtb::read(b"board 1\n", 1, &usual()).is_err());
    for cut in 0..blob.len() {
        assert!(dtb::read(&blob[..cut], 1, &usual()).is_err(), "cut at {cut}");
    }
    // Each byte broken in turn: an error or some board, never a panic.
    let mut errors = 0;
    for at in 0..blob.len() {
        for bits in [0x01, 0x80, 0xff] {
            let mut broken = blob.clone();
            broken[at] ^= bits;
            errors += u32::from(dtb::read(&broken, 1, &usual()).is_err());
        }
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn what_nodes_name_is_listed_one_way() {
    let blob = fs::read(sample()).unwrap();
    let found = dtb::named::suppliers(&blob, "6.12.1").unwrap();
    let names = |a: &str, b: &str| found.contains(&(a.to_string(), b.to_string()));
    let touch = "/soc/i2c@4000/touch@48";
    assert!(names(touch, "/regulator-vdd") && names(touch, "/soc/gpio@5000"), "{found:?}");
    assert!(names("/soc/serial@3000", "/soc/clocks@2000"));
    assert!(!found.iter().any(|(a, b)| a.contains("off@6000") || names(b, a)), "{found:?}");
    assert!(dtb::named::suppliers(b"no blob", "6.12.1").is_err());
}
