//! The board module in a real kernel: what it refuses, and how large it can
//! go. Boots guests, so ignored by default: `make prove SUBJECT=cases` runs it too.

use dormouse_base::device::DeviceId;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_board::parse;
use dormouse_lab::describe::guest_number;
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::{Record, Sleep};
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::{Job, probe, run};
use dormouse_lab::trace;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(900);

fn kernel(series: &str) -> (Kernel, Machine) {
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 1, &kernel.release);
    (kernel, machine)
}

/// The kernel log must not hold a stack dump or the like.
fn assert_quiet(log: &str) {
    let bad: Vec<&str> = log
        .lines()
        .filter(|l| {
            ["WARNING:", "BUG:", "Oops", "Call Trace", "sysfs:"].iter().any(|w| l.contains(w))
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Descriptions after the header line, and what the module must say: the line,
/// a part of the reason, and how many devices exist afterwards.
const PROBES: [(&str, &str, &str, usize); 37] = [
    ("device a\ndevice b parent=0 async bound\nend\n", "", "built", 2),
    ("device a class suspend=1,2,-5,3 wakeup\nend\n", "", "built", 1),
    ("device a bound\ndevice b bound\nlink 1 0 active pm_runtime\nend\n", "", "built", 2),
    ("device a\ndevice b\nlink 1 0 dormant\nend\n", "", "built", 2),
    (
        "device a bound\ndevice b\nlink 1 0 available\nlink 1 0 stateless\nend\n",
        "line 5",
        "status",
        0,
    ),
    ("device a\ndevice a\nend\n", "line 3", "second device", 0),
    ("device a\ndevice b parent=1\nend\n", "line 3", "not a device above", 0),
    ("device a parent=-1\nend\n", "line 2", "not a device above", 0),
    ("device\nend\n", "line 2", "without a name", 0),
    ("device a/b\nend\n", "line 2", "sysfs", 0),
    ("device ..\nend\n", "line 2", "not a name", 0),
    ("device a frobnicate\nend\n", "line 2", "frobnicate", 0),
    ("device a suspend=\nend\n", "line 2", "not a number", 0),
    ("device a suspend=1,2,3,4,5\nend\n", "line 2", "four fields", 0),
    ("device a suspend=1 suspend=2\nend\n", "line 2", "twice", 0),
    ("device a resume=3600000000001\nend\n", "line 2", "hour", 0),
    ("device a suspend=1,1,1\nend\n", "line 2", "cannot return", 0),
    ("device a prepare=1,1,-11\nend\n", "line 2", "for ever", 0),
    ("device a complete=1,1,-5\nend\n", "line 2", "returns nothing", 0),
    ("device a suspend=1,1,0,65537\nend\n", "line 2", "lock", 0),
    ("device a class bound\nend\n", "line 2", "class device", 0),
    ("device a no_pm suspend=1\nend\n", "line 2", "no_pm", 0),
    ("device a\ndevice b\nlink 1 0 active\nend\n", "line 4", "status", 0),
    ("device a\ndevice b\nlink 1 1 stateless\nend\n", "line 4", "two different", 0),
    ("device a\ndevice b parent=0\nlink 0 1 stateless\nend\n", "line 4", "refuses", 0),
    (
        "domain p state=1,2 rpm_always_on\ndomain q parent=0 state=1,2 state=3,4 off=1\n\
         device a domain=0 suspend=1 noirq=2\ndevice b domain=1 runtime wakeup async\nend\n",
        "",
        "built",
        2,
    ),
    ("domain p\nend\n", "line 2", "without a state", 0),
    ("domain p parent=0 state=1,2\nend\n", "line 2", "not a domain above", 0),
    ("domain p state=1\nend\n", "line 2", "OFF,ON", 0),
    ("domain p state=1,2 off=1\nend\n", "line 2", "not a state", 0),
    ("domain p state=1,2 off=0 always_on\nend\n", "line 2", "starts on", 0),
    ("domain p state=1,2 off=0 rpm_always_on\nend\n", "line 2", "starts on", 0),
    ("device a domain=0\nend\n", "line 2", "not one above", 0),
    ("domain p state=1,2\ndevice a class domain=0\nend\n", "line 3", "class device", 0),
    ("device a runtime\nend\n", "line 2", "in a domain", 0),
    ("device a\n", "line 2", "cut", 0),
    ("end\n", "line 2", "no device", 0),
];

fn refuses_with_the_line(series: &str) {
    let (kernel, machine) = kernel(series);
    let texts: Vec<String> =
        PROBES.iter().map(|(text, ..)| format!("dormouse-board 1\n{text}")).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.push("nonsense\n");
    let (said, log) = probe(&kernel, &machine, &texts, LIMIT).unwrap_or_else(|e| panic!("{e}"));
    for ((text, line, reason, left), said) in PROBES.iter().zip(&said) {
        assert!(said.contains(line) && said.contains(reason), "{text:?}: {said}");
        assert!(said.ends_with(&format!("; {left} devices")), "{text:?}: {said}");
    }
    let last = said.last().unwrap();
    assert!(last.contains("line 1: does not begin") && last.ends_with("; 0 devices"), "{last}");
    assert_quiet(&log);
    println!("{}: {} descriptions", kernel.release, texts.len());
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn bad_descriptions_are_refused_with_the_line_on_6_1() {
    refuses_with_the_line("6.1");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn bad_descriptions_are_refused_with_the_line_on_6_12() {
    refuses_with_the_line("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn bad_descriptions_are_refused_with_the_line_on_7_3() {
    refuses_with_the_line("7.3");
}

/// Ten thousand devices suspend and resume, and the module unloads.
#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn ten_thousand_devices_sleep_and_wake() {
    let (kernel, machine) = kernel("6.12");
    let board = generate(&Options {
        devices: 10_000,
        links: 5,
        durations: Durations { low: Ns(5_000), high: Ns(100_000) },
        ..Options::default()
    });
    let job = Job {
        name: "large".into(),
        board: Some(&board),
        waits: &[],
        sleep: Sleep::Devices,
        pm_async: true,
        cycles: 1,
        detail: Vec::new(),
        record: Record::No,
        phases: false,
    };
    let boot = run(&kernel, &machine, &[job], LIMIT).unwrap_or_else(|e| panic!("{e}"));
    assert_quiet(&boot.log);
    let cycles = trace::cycles(&boot.outcomes[0].trace);
    let made = board.graph.devices.len();
    let seen = cycles[0].list.iter().filter(|n| n.starts_with("d0")).count();
    assert_eq!(seen, made, "devices in the prepare phase");
    println!("{}: {made} devices in {:.1} s", kernel.release, boot.took.as_secs_f64());
}

/// The boards of the repository, several in one boot, each whole.
fn zoo(series: &str) {
    let (kernel, machine) = kernel(series);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../boards");
    let boards: Vec<_> = ["am335x", "phone", "laptop", "server"]
        .into_iter()
        .map(|name| {
            let text = std::fs::read_to_string(folder.join(format!("{name}.board"))).unwrap();
            (name, parse(&text).unwrap_or_else(|e| panic!("{name}: {e}")))
        })
        .collect();
    let jobs: Vec<Job<'_>> = boards
        .iter()
        .map(|(name, board)| Job {
            name: (*name).into(),
            board: Some(board),
            waits: &[],
            sleep: Sleep::Platform,
            pm_async: board.pm_async,
            cycles: 1,
            detail: Vec::new(),
            record: Record::No,
            phases: false,
        })
        .collect();
    let boot = run(&kernel, &machine, &jobs, LIMIT).unwrap_or_else(|e| panic!("{e}"));
    assert_quiet(&boot.log);
    println!("{}: the zoo in {:.1} s", kernel.release, boot.took.as_secs_f64());
    for ((name, board), outcome) in boards.iter().zip(&boot.outcomes) {
        let cycles = trace::cycles(&outcome.trace);
        assert_eq!(cycles.len(), 1, "{name}");
        let visited = |id: &DeviceId| !board.graph.get(*id).facts.no_pm;
        let expected = outcome.description.devices.iter().filter(|id| visited(id)).count();
        let seen = cycles[0].list.iter().filter(|n| guest_number(n).is_some()).count();
        println!(
            "  {name}: {} devices, {seen} met by the PM core, suspend {}, resume {}",
            board.graph.devices.len(),
            cycles[0].phases[&Phase::Suspend],
            cycles[0].phases[&Phase::Resume],
        );
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn the_zoo_sleeps_and_wakes_on_6_12() {
    zoo("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn the_zoo_sleeps_and_wakes_on_7_3() {
    zoo("7.3");
}
