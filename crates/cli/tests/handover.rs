//! The files that `plan` and `tune` hand over, given to the programs that
//! read them on a machine.

use dormouse_core::decide::plan::handover::udev_rules;
use dormouse_core::device::DeviceId;
use dormouse_core::simulate::infer::machine;
use dormouse_lab::plan::{Record, Sleep};
use dormouse_lab::run::{Job, run as run_in_guest};
use dormouse_lab::udev::{Flags, try_rules};
use dormouse_read::{Options, read_bytes};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn dormouse(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
    let out = command.args(args).current_dir(root()).output().expect("dormouse runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out
}

/// Whether a program can be started; says so loudly if not.
fn is_there(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    let found = command.status().is_ok();
    if !found {
        println!("SKIPPED: {program} is not installed (tools/setup handover)");
    }
    found
}

fn run(program: &str, args: &[&str], folder: &Path) -> String {
    let out = Command::new(program).args(args).current_dir(folder).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{program} {args:?}: {said}");
    assert!(!said.to_lowercase().contains("error"), "{program} {args:?}: {said}");
    String::from_utf8(out.stdout).expect("text")
}

/// Three devices side by side that any budget below must take away one after
/// the other.
const BOARD: &str = "board 1\ncpus 4\ndevice ocp of=/ocp\n\
    device 47401000.usb parent=ocp async of=/ocp/usb@47400000/usb@47401000 resume=109ms\n\
    device 48060000.mmc parent=ocp async of=/ocp/mmc@48060000 resume=61ms\n\
    device 4a100000.ethernet parent=ocp async of=/ocp/ethernet@4a100000 resume=58ms\n\
    device 4a101000.mdio parent=4a100000.ethernet of=/ocp/ethernet@4a100000/mdio@4a101000\n\
    device 49000000.edma parent=ocp essential=dma of=/ocp/edma@49000000 resume=9ms\n";

/// A device tree of such a processor, written apart from the board.
const BASE: &str = r#"/dts-v1/;
/ {
    compatible = "ti,am33xx";
    #address-cells = <1>;
    #size-cells = <1>;
    ocp {
        #address-cells = <1>;
        #size-cells = <1>;
        ranges;
        edma@49000000 { reg = <0x49000000 0x10000>; status = "okay"; };
        usb@47400000 {
            reg = <0x47400000 0x1000>;
            #address-cells = <1>;
            #size-cells = <1>;
            ranges;
            status = "okay";
            usb-phy@47401300 { reg = <0x47401300 0x100>; status = "okay"; };
            usb@47401000 { reg = <0x47401000 0x1000>; status = "okay"; };
        };
        mmc@48060000 { reg = <0x48060000 0x1000>; status = "okay"; };
        ethernet@4a100000 {
            reg = <0x4a100000 0x800>;
            #address-cells = <1>;
            #size-cells = <1>;
            ranges;
            mdio@4a101000 { reg = <0x4a101000 0x100>; };
        };
        lcdc@4830e000 { reg = <0x4830e000 0x1000>; status = "okay"; };
    };
};
"#;

#[test]
fn overlays_compile_and_disable_their_nodes_in_a_device_tree() {
    if !is_there("dtc", "--version") || !is_there("fdtoverlay", "--help") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    std::fs::write(dir.join("base.dts"), BASE).expect("written");
    run("dtc", &["-q", "-@", "-I", "dts", "-O", "dtb", "-o", "base.dtb", "base.dts"], dir);
    let path = dir.to_str().expect("a path");
    let board = dir.join("small.board");
    std::fs::write(&board, BOARD).expect("written");
    let board = board.to_str().expect("a path");
    for (budget, changes) in [("100ms", 1), ("60ms", 2), ("20ms", 3)] {
        let rest = ["--allow", "remove", "--resume", budget, "-o", path];
        dormouse(&[&["plan", board, "--kernel", "6.12"][..], &rest[..]].concat());
        let source = std::fs::read_to_string(dir.join("dormouse.dtso")).expect("an overlay");
        let targets: Vec<&str> = source
            .lines()
            .filter_map(|l| l.trim().strip_prefix("target-path = \"")?.strip_suffix("\";"))
            .collect();
        assert_eq!(targets.len(), changes, "{budget}: {targets:?}");
        // As the file says.
        run("dtc", &["-@", "-I", "dts", "-O", "dtb", "-o", "dormouse.dtbo", "dormouse.dtso"], dir);
        run("fdtoverlay", &["-i", "base.dtb", "-o", "new.dtb", "dormouse.dtbo"], dir);
        for node in
            ["/ocp/edma@49000000", "/ocp/usb@47400000", "/ocp/mmc@48060000"].iter().chain(&targets)
        {
            let status = run("fdtget", &["new.dtb", node, "status"], dir);
            let want = if targets.contains(node) { "disabled" } else { "okay" };
            assert_eq!(status.trim(), want, "{budget}: {node}");
        }
    }
}

/// Rules of a tuned board, some with names that udev must take literally.
fn rules(folder: &Path) -> PathBuf {
    let rules = folder.join("90-dormouse-async.rules");
    let to = rules.to_str().expect("a path");
    dormouse(&[
        "tune",
        "boards/phone.board",
        "--kernel",
        "6.12",
        "--simulations",
        "50",
        "--udev",
        to,
    ]);
    rules
}

#[test]
fn udev_rules_pass_udevadm_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = rules(folder.path());
    let text = std::fs::read_to_string(&rules).expect("the rules");
    let set: Vec<&str> = text.lines().filter(|l| l.starts_with("ACTION")).collect();
    assert!(set.len() > 100, "{}", set.len());
    // What udev requires of every line, for machines without udevadm.
    for line in &set {
        let tokens: Vec<&str> = line.split(", ").collect();
        assert_eq!(tokens[0], "ACTION==\"add|change\"", "{line}");
        let last = tokens[tokens.len() - 1];
        assert!(
            ["enabled", "disabled"].iter().any(|v| last == format!("ATTR{{power/async}}=\"{v}\"")),
            "{line}"
        );
        for token in &tokens[1..tokens.len() - 1] {
            let (key, value) = token.split_once("==\"").expect("a match");
            assert!(["DEVPATH", "SUBSYSTEM", "KERNEL"].contains(&key), "{line}");
            assert!(value.ends_with('"') && !value[..value.len() - 1].contains('"'), "{line}");
        }
    }
    let verify = |args: &[&str]| Command::new("udevadm").arg("verify").args(args).output();
    match verify(&["--help"]) {
        Err(e) => println!("SKIPPED: udevadm: {e} (make lab-verify brings its own)"),
        Ok(out) if !out.status.success() => println!(
            "SKIPPED: udevadm here cannot verify, it can from systemd 254 on (make lab-verify \
             brings its own)"
        ),
        Ok(_) => {
            let out = verify(&[rules.to_str().expect("a path")]).expect("it runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
    }
}

/// With Debian 13's udev, whatever this machine has: `make lab-verify`.
#[test]
#[ignore = "fetches udev and needs chroot: `make lab-verify` runs it, and `make test` with it"]
fn udev_rules_pass_udevadm_verify_of_debian_13() {
    let udev = dormouse_lab::udev::root().expect("udev");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(rules(folder.path()), udev.join("tmp/dormouse.rules")).expect("copied");
    let bad = "ACTION==\"add\", KERNEL==\"x\" ATTR{power/async}=\"enabled\n";
    std::fs::write(udev.join("tmp/bad.rules"), bad).expect("written");
    let verify = |file: &str| {
        // A namespace of its own lets an ordinary user change the root.
        let mut c = Command::new("unshare");
        c.args(["--map-root-user", "chroot"]).arg(&udev).args(["udevadm", "verify", file]);
        let out = c.output().expect("unshare runs");
        println!("{}", String::from_utf8_lossy(&out.stdout));
        out.status.success()
    };
    assert!(verify("/tmp/dormouse.rules"));
    assert!(!verify("/tmp/bad.rules"), "it finds what is wrong");
}

/// The whole way on a kernel: what its devices do is recorded, tuned, and
/// handed over as rules; udev runs in the guest, and every device that the
/// rules name must have the flag that was chosen, and no other device another
/// one. Rules for names and for the guest's own devices beside that.
#[test]
#[ignore = "boots guests: `make lab-verify` runs it, and `make test` with it"]
fn udev_rules_set_the_flags_in_a_guest() {
    for series in ["6.12", "7"] {
        rules_at_work(series);
    }
}

fn rules_at_work(series: &str) {
    use dormouse_lab::qemu::{Accel, Arch, Machine};
    let limit = std::time::Duration::from_secs(600);
    let kernel = dormouse_lab::kernels::get(Arch::Amd64, series).expect("a kernel");
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();

    // Recorded without the map of names: to it the guest is the machine.
    let text = std::fs::read_to_string(root().join("boards/am335x.board")).expect("a board");
    let board = dormouse_core::board::parse(&text).expect("a board");
    let job = Job {
        name: "recorded".into(),
        board: Some(&board),
        waits: &[],
        sleep: Sleep::Platform,
        pm_async: true,
        cycles: 2,
        record: Record::Full,
        phases: false,
        detail: Vec::new(),
    };
    let boot = run_in_guest(&kernel, &machine, &[job], limit).expect("a recording");
    std::fs::write(file("guest.tar.gz"), &boot.outcomes[0].capture).expect("written");
    let tune = |input: &str, name: &str| -> String {
        let rest = ["--bold", "--simulations", "300", "--udev", &file(name)];
        dormouse(&[&["tune", input, "--kernel", &kernel.release][..], &rest[..]].concat());
        std::fs::read_to_string(file(name)).expect("rules")
    };
    let by_path = tune(&file("guest.tar.gz"), "path.rules");
    // A board file with the guest's names has no paths, so rules match names.
    let named = "board 1\ncpus 4\ndevice d00000 subsystem=dormouse\n\
        device d00001 parent=d00000 subsystem=dormouse resume=30ms\n\
        device d00002 parent=d00000 subsystem=dormouse resume=30ms\n";
    std::fs::write(file("names.board"), named).expect("written");
    let by_name = tune(&file("names.board"), "name.rules");
    let wrong = by_path.replace("/devices/", "/devices/nowhere/");
    let every = every_flag(&boot.outcomes[0].capture);

    let all = ["# none\n", &wrong, &by_name, &by_path, &every];
    let tried = try_rules(&kernel, &machine, &board, &all, limit).expect("udev ran");
    for line in tried.iter().flat_map(|t| t.said.lines()) {
        assert!(line.starts_with("Starting systemd-udevd"), "udev complains: {line}");
    }
    let [none, wrong, by_name_did, by_path_did, every_did] = &tried[..] else { panic!("five") };
    assert_eq!(none.appeared, none.triggered);
    assert_eq!(wrong.triggered, none.triggered, "rules for other paths change nothing");

    let wanted = set_by(&by_path);
    for (path, now) in &by_path_did.triggered {
        let want = wanted.get(path).unwrap_or(&none.triggered[path]);
        assert_eq!(now, want, "{path} on {}", kernel.release);
        if path.starts_with("/devices/d0") {
            assert_eq!(&by_path_did.appeared[path], want, "{path} as it appeared");
        }
    }
    let missing: Vec<&String> =
        wanted.keys().filter(|p| !by_path_did.triggered.contains_key(*p)).collect();
    assert!(missing.is_empty(), "no such devices: {missing:?}");
    let changed = |a: &Flags, b: &Flags| a.iter().filter(|(p, f)| b.get(*p) != Some(f)).count();
    let flipped = changed(&none.triggered, &by_path_did.triggered);
    assert_eq!(flipped, wanted.len(), "each rule changes a flag");
    let names = by_name.lines().filter(|l| l.starts_with("ACTION")).count();
    assert_eq!(changed(&none.triggered, &by_name_did.triggered), names, "{by_name}");
    assert!(names >= 2 && by_name.contains("SUBSYSTEM==\"dormouse\", KERNEL==\"d00001\""));
    // The guest's own devices, which are no sort of test device.
    let turned = set_by(&every);
    let own = turned.keys().filter(|p| !p.starts_with("/devices/d0")).count();
    for (path, want) in &turned {
        assert_eq!(every_did.triggered.get(path), Some(want), "{path} on {}", kernel.release);
    }
    assert!(own > 100, "{own}");
    println!(
        "{}: {} rules by path and {names} by name set power/async in the guest, of {} devices \
         with that flag; without rules or with other paths nothing changes; {own} more rules turn \
         the flags of the guest's own devices",
        kernel.release,
        wanted.len(),
        none.triggered.len()
    );
}

/// Rules that turn the flag of every device in a capture.
fn every_flag(capture: &[u8]) -> String {
    let reading = read_bytes("guest", capture, &Options::default()).expect("a capture");
    let (derived, _) = machine(&reading.captures[0]).expect("a board");
    let board = &derived.board;
    let all: Vec<(DeviceId, bool)> =
        board.graph.ids().filter_map(|d| Some((d, !board.graph.get(d).async_flag?))).collect();
    udev_rules(board, &all).expect("rules").text
}

/// What rules by path should set, read apart from what wrote them.
fn set_by(rules: &str) -> Flags {
    let between = |line: &str, before: &str| -> Option<String> {
        Some(line.split_once(before)?.1.split_once('"')?.0.to_owned())
    };
    let lines = rules.lines().filter(|l| l.starts_with("ACTION"));
    lines
        .map(|l| {
            let path = between(l, "DEVPATH==\"").unwrap_or_else(|| panic!("no path: {l}"));
            (path, between(l, "power/async}=\"").unwrap_or_else(|| panic!("no value: {l}")))
        })
        .collect()
}
