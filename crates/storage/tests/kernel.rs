//! The simulator against kernels: decisions of devfreq's governor, and loads on
//! the disk of a virtual machine.
// Tests read files; the crate itself does not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dormouse_storage::simulate::disk::simulate;
use dormouse_storage::simulate::load::Load;
use dormouse_storage::simulate::ondemand::{Status, Thresholds, wanted};
use dormouse_storage::simulate::settings::{Drive, Qos, Settings, laboratory};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file of the data beside the repository; `None`, said loudly, without it.
fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn every_decision_of_simple_ondemand_is_the_kernels() {
    let Some(path) = data("idle/governor-vectors/simple_ondemand-7.2.jsonl.gz") else { return };
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut seen = 0;
    for line in text.lines() {
        let v: Value = serde_json::from_str(line).unwrap();
        let n = |key: &str| v[key].as_u64().unwrap_or_else(|| panic!("{key}: {line}"));
        // Without thresholds the kernel has its own; zero stands for them too.
        let or = |key: &str, own: u64| if n("data") == 0 || n(key) == 0 { own } else { n(key) };
        let t = Thresholds { up: or("up", 90), down: or("down", 5) };
        let s = Status { total: n("total"), busy: n("busy"), current: n("cur") };
        let want = (v["ret"].as_i64() == Some(0)).then(|| n("freq"));
        assert_eq!(wanted(t, s), want, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 3_000);
}

/// `mean` and `p50` of a load in a file of results, us.
fn measured(text: &str, load: &str) -> (f64, f64) {
    let line = text.lines().find(|l| l.split(' ').next() == Some(load)).expect("a load");
    let figure = |key: &str| {
        let word = line.split(' ').find_map(|w| w.strip_prefix(key)).expect("a figure");
        word.parse().expect("a number")
    };
    (figure("mean="), figure("p50="))
}

/// The disk of the experiment, with the software's cost left to be fitted.
fn disk(software: i64, qos: Qos, least: u64, autosuspend: Option<i64>) -> (Drive, Settings) {
    let (mut drive, mut settings) = laboratory();
    drive.law.software = software;
    settings.devfreq.least = least;
    settings.qos = qos;
    settings.autosuspend = autosuspend;
    (drive, settings)
}

const MS: i64 = 1_000_000;

/// One request at once, then, after a long rest, one every `period`.
fn rested(count: i64, period: i64) -> Load {
    let later = (0..count).map(|i| 1_000 * MS + i * period);
    Load::Open([0].into_iter().chain(later).map(|t| (t, 65_536)).collect())
}

#[test]
fn loads_on_a_kernels_disk_are_foretold() {
    let host = Qos::Host { timeout: 30 * MS };
    let lun = Qos::Disk { timeout: 30 * MS };
    let sleep = Some(100 * MS);
    let loads = [
        ("B", host, 0, None, Load::paced(400, 1, 6_250_000)),
        ("C", lun, 0, None, Load::paced(400, 1, 6_250_000)),
        ("D", Qos::Off, 400_000_000, None, Load::paced(400, 1, 6_250_000)),
        ("F", Qos::Off, 0, None, Load::paced(120, 8, 200 * MS)),
        ("G", host, 0, None, Load::paced(120, 8, 200 * MS)),
        ("H", lun, 0, None, Load::paced(120, 8, 200 * MS)),
        ("I", Qos::Off, 0, None, Load::paced(3_000, 3_000, MS)),
        ("J", host, 0, None, Load::paced(3_000, 3_000, MS)),
        ("K", Qos::Off, 0, sleep, rested(20, 300 * MS)),
        ("L", Qos::Off, 0, sleep, rested(50, 20 * MS)),
    ];
    let mut worst = 0.0_f64;
    println!("\n| boot | load | figure | model us | kernel us | off |\n|---|---|---|---|---|---|");
    for file in ["icr1", "icr2", "icr3", "icr4", "icr5", "ic72r1", "ic72r2"] {
        let Some(path) = data(&format!("storage/vm-results/{file}.txt")) else { return };
        let text = std::fs::read_to_string(path).unwrap();
        // One figure is fitted, on one load: what the kernel adds to a request.
        let software = (measured(&text, "E").1 * 1e3) as i64 - 444_000;
        for (name, qos, least, sleep, load) in &loads {
            // On 7.2 the queue's work came late in load B: its p90 is 724 us. The
            // rule has no such tail, and K's first request slept in one of the
            // boots alone; both are named in docs/storage.md.
            if file.starts_with("ic72") && matches!(*name, "B" | "K") {
                continue;
            }
            let (drive, settings) = disk(software, *qos, *least, *sleep);
            let mut o = simulate(&drive, &settings, load);
            if sleep.is_some() {
                // The disk slept when the load began: a request long before it.
                o.latencies.remove(0);
            }
            let l = o.latency();
            let (mean, p50) = measured(&text, name);
            for (what, is, was) in [("mean", l.mean, mean), ("p50", l.p50, p50)] {
                let off = (is as f64 / 1e3 - was) / was;
                println!(
                    "| {file} | {name} | {what} | {:.0} | {was:.0} | {:+.1} % |",
                    is as f64 / 1e3,
                    off * 100.0
                );
                worst = worst.max(off.abs());
                assert!(off.abs() <= 0.05, "{file} {name} {what}: {is} ns against {was} us");
            }
        }
    }
    println!("worst: {:.1} %", worst * 100.0);
}
