//! The files that `plan` and `tune` hand over, given to the programs that
//! read them on a machine.

use crate::ran::{output, root};
use dormouse_base::device::DeviceId;
use dormouse_board::Board;
use dormouse_lab::modprobe::{Booted, try_loads};
use dormouse_lab::plan::{Record, Sleep};
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::{Job, run as run_in_guest};
use dormouse_lab::udev::{Flags, try_rules};
use dormouse_read::{Options, read_bytes};
use dormouse_sleep::evidence::machine;
use dormouse_sleep::plan::candidate::{Candidate, Kind};
use dormouse_sleep::plan::handover::{files, pm_async_at_start, udev_rules};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn dormouse(args: &[&str]) -> Output {
    let out = output(args);
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
        let rest = ["--change", "remove", "--resume", budget, "-o", path];
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
        Err(e) => println!("SKIPPED: udevadm: {e} (make prove SUBJECT=verify brings its own)"),
        Ok(out) if !out.status.success() => println!(
            "SKIPPED: udevadm here cannot verify, it can from systemd 254 on (make prove SUBJECT=verify \
             brings its own)"
        ),
        Ok(_) => {
            let out = verify(&[rules.to_str().expect("a path")]).expect("it runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
    }
}

/// With Debian 13's udev, whatever this machine has: `make prove SUBJECT=verify`.
#[test]
#[ignore = "fetches udev and needs chroot: `make prove SUBJECT=verify` runs it"]
fn udev_rules_pass_udevadm_verify_of_debian_13() {
    let udev = dormouse_lab::programs::root().expect("udev");
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
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn udev_rules_set_the_flags_in_a_guest() {
    for series in ["6.12", "7"] {
        rules_at_work(series);
    }
}

fn rules_at_work(series: &str) {
    let limit = Duration::from_secs(600);
    let kernel = dormouse_lab::kernels::get(Arch::Amd64, series).expect("a kernel");
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();

    // Recorded without the map of names: to it the guest is the machine.
    let text = std::fs::read_to_string(root().join("boards/am335x.board")).expect("a board");
    let board = dormouse_board::parse(&text).expect("a board");
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

    let (unbind, taken) = unbind_own(&boot.outcomes[0].capture);

    let all = ["# none\n", &wrong, &by_name, &by_path, &every, &unbind];
    let tried = try_rules(&kernel, &machine, &board, &all, limit).expect("udev ran");
    for line in tried.iter().flat_map(|t| t.said.lines()) {
        assert!(line.starts_with("Starting systemd-udevd"), "udev complains: {line}");
    }
    let [none, wrong, by_name_did, by_path_did, every_did, unbind_did] = &tried[..] else {
        panic!("six")
    };
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
    // Drivers that are part of the kernel, and one that drives others too.
    assert_eq!(every_did.drivers, none.drivers, "flags take no device from its driver");
    for (path, driver) in &none.drivers {
        let bound = unbind_did.drivers.contains_key(path);
        // What is below a device goes with it.
        let goes = taken.iter().any(|t| path == t || path.starts_with(&format!("{t}/")));
        assert_eq!(bound, !goes, "{path} of {driver} on {}", kernel.release);
    }
    assert!(taken.iter().all(|t| none.drivers.contains_key(t)), "{taken:?}");
    println!(
        "{}: {} rules take devices from their drivers, {} other devices keep theirs",
        kernel.release,
        taken.len(),
        unbind_did.drivers.len()
    );
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
    let derived = machine(&reading.captures[0], None).expect("a board").derived;
    let board = &derived.board;
    let all: Vec<(DeviceId, bool)> =
        board.graph.ids().filter_map(|d| Some((d, !board.graph.get(d).async_flag?))).collect();
    udev_rules(board, &all).expect("rules").text
}

/// Drivers of the guest's kernel that allow unbinding, and some that do not, the
/// board module's among them.
const UNBINDS: [&str; 2] = ["atkbd", "alarmtimer"];
const STAYS: [&str; 3] = ["i8042 kbd", "i8042 aux", "dormouse"];

/// What is handed over to remove devices of these drivers, and the paths of those
/// that should lose theirs.
fn unbind_own(capture: &[u8]) -> (String, Vec<String>) {
    let reading = read_bytes("guest", capture, &Options::default()).expect("a capture");
    let derived = machine(&reading.captures[0], None).expect("a board").derived;
    let board = &derived.board;
    let device = |d: DeviceId| board.graph.get(d);
    let driver = |d: DeviceId| board.names.get(device(d).driver);
    // Newer kernels name a module for drivers that are part of them, too.
    let named = board.graph.ids().find(|&d| !board.names.get(device(d).facts.module).is_empty());
    assert_eq!(named, None, "modprobe has nothing to do with any driver of the guest");
    let of = |drivers: &[&str]| -> Vec<DeviceId> {
        board.graph.ids().filter(|&d| drivers.contains(&driver(d))).collect()
    };
    let (removed, stay) = (of(&UNBINDS), of(&STAYS));
    assert!(removed.len() >= 2 && stay.len() > 2, "{removed:?} {stay:?}");
    let (found, out_of_reach) = removing(board, &[&removed[..], &stay[..]].concat());
    assert!(out_of_reach.is_empty() && found.len() == 1, "{found:?}");
    let path = |d: &DeviceId| board.names.get(device(*d).facts.devpath).to_owned();
    let taken = removed.iter().map(path).collect();
    (found.into_iter().next().expect("rules").1, taken)
}

/// The files that remove devices, by name, and the devices that none reaches.
fn removing(board: &Board, devices: &[DeviceId]) -> (Vec<(&'static str, String)>, Vec<DeviceId>) {
    let changes: Vec<Candidate> =
        devices.iter().map(|&device| Candidate { device, kind: Kind::Remove }).collect();
    let (files, out_of_reach) = files(board, &changes);
    (files.into_iter().map(|f| (f.name, f.text)).collect(), out_of_reach)
}

/// The two ways that are handed over for a module on real kernels: a file for
/// modprobe, and words for the kernel command line. The module is the only one
/// that the guest has, the laboratory's own.
#[test]
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn modules_do_not_load_with_what_is_handed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    // Its file may be called with dashes; the kernel compares with underscores.
    let text = "board 1\ncpus 4\ndevice soc\n\
        device d1 parent=soc subsystem=pci driver=d module=dormouse-board resume=100ms\n";
    std::fs::write(path("small.board"), text).expect("written");
    let plan = ["plan", &path("small.board"), "--kernel", "6.12", "--resume", "50ms"];
    let said = dormouse(&[&plan[..], &["--change", "remove", "-o", &path("out")]].concat());
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // That file and no other: the list ends with its line.
    assert!(said.lines().any(|l| l.ends_with("out: dormouse.conf")), "{said}");
    let conf = std::fs::read_to_string(path("out/dormouse.conf")).expect("it is written");
    let word = |l: &str| {
        Some(l.trim_start_matches(['#', ' ']).to_owned())
            .filter(|w| w.starts_with("module_blacklist="))
    };
    let words = conf.lines().find_map(word).expect("words for the command line");
    for series in ["6.12", "7"] {
        let kernel = dormouse_lab::kernels::get(Arch::Amd64, series).expect("a kernel");
        let boot = |words: &str, configurations: &[&str]| -> Booted {
            let mut machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
            machine.words = words.into();
            try_loads(&kernel, &machine, configurations, Duration::from_secs(600)).expect("a boot")
        };
        // Of another module; and one that loads by way of a shell, which shows
        // that `install` lines are obeyed at all.
        let other = conf.replace("dormouse_board", "dormouse_lab");
        let by_shell = "install dormouse_board /sbin/modprobe --ignore-install dormouse_board && /bin/sh -c :\n";
        let free = boot("", &["", &other, by_shell, &conf]);
        let [nothing, other, by_shell, with_file] = &free.loads[..] else { panic!("four") };
        for loads in [nothing, other, by_shell] {
            assert_eq!(loads, "modprobe: loaded \nkernel: loaded \n", "{}", kernel.release);
        }
        let (modprobe, by_kernel) = with_file.split_once('\n').expect("two lines");
        assert!(modprobe.starts_with("modprobe: not loaded "), "{modprobe}");
        // A file of modprobe's says nothing to the kernel.
        assert_eq!(by_kernel, "kernel: loaded \n");

        // And a driver of the kernel that is not to start, by hand.
        let clock = free.drivers.iter().find(|(_, d)| *d == "rtc_cmos").expect("a clock").0;
        let initcall = initcall(&free.initcalls, "rtc_cmos");
        let held = boot(&format!("{words} initcall_blacklist={initcall}"), &["", by_shell]);
        for loads in &held.loads {
            let (modprobe, by_kernel) = loads.split_once('\n').expect("two lines");
            assert!(modprobe.starts_with("modprobe: not loaded "), "{modprobe}");
            assert!(by_kernel.starts_with("kernel: not loaded "), "{by_kernel}");
        }
        assert!(held.log.contains("Module dormouse_board is blacklisted"), "{}", held.log);
        assert!(!held.drivers.contains_key(clock), "{clock} has a driver");
        let others = free.drivers.iter().filter(|(path, _)| !path.starts_with(clock.as_str()));
        for (path, driver) in others {
            assert_eq!(held.drivers.get(path), Some(driver), "{path} on {}", kernel.release);
        }
        println!(
            "{}: with dormouse.conf modprobe does not load the module, with {words} the kernel \
             does not; with initcall_blacklist={initcall} rtc_cmos drives nothing",
            kernel.release
        );
    }
}

/// The function that starts a driver which is part of the kernel, found as the
/// rules say: `__initcall__kmod_MODULE__NUMBERS_FUNCTIONLEVEL`.
fn initcall(symbols: &str, module: &str) -> String {
    let found = symbols.lines().find_map(|l| {
        let rest = l.split_once(&format!("__initcall__kmod_{module}__"))?.1;
        Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').to_owned())
    });
    let found = found.unwrap_or_else(|| panic!("no initcall of {module}"));
    found.trim_end_matches(['s', '0', '1', '2', '3', '4', '5', '6', '7']).to_owned()
}

/// Lines for what belongs to no device, or to one that makes no events: systemd
/// writes them, here into a tree that stands for `/sys`.
#[test]
fn lines_of_tmpfiles_are_obeyed() {
    if !is_there("systemd-tmpfiles", "--version") {
        return;
    }
    let root = tempfile::tempdir().expect("a folder");
    let at = |path: &str| root.path().join(path);
    let mut board = dormouse_board::parse("board 1\ndevice pci0000:00\n").expect("a board");
    board.graph.devices[0].facts.devpath = board.names.add("/devices/pci0000:00");
    let rules = udev_rules(&board, &[(DeviceId(0), true)]).expect("rules").text;
    let line = rules.lines().find_map(|l| l.strip_prefix("# ").filter(|l| l.starts_with("w /")));
    let lines = format!("{}\n{}\n", line.expect("a line"), pm_async_at_start(false));
    for (file, text) in [
        ("etc/tmpfiles.d/dormouse.conf", &*lines),
        ("sys/power/pm_async", "1\n"),
        ("sys/devices/pci0000:00/power/async", "disabled\n"),
    ] {
        std::fs::create_dir_all(at(file).parent().expect("a folder")).expect("made");
        std::fs::write(at(file), text).expect("written");
    }
    let folder = root.path().to_str().expect("a path");
    run("systemd-tmpfiles", &["--create", "--root", folder, "dormouse.conf"], root.path());
    let now = |file: &str| std::fs::read_to_string(at(file)).expect("it is there");
    assert!(now("sys/power/pm_async").starts_with('0'));
    assert!(now("sys/devices/pci0000:00/power/async").starts_with("enabled"));
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
